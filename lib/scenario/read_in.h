/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of scenarios: one case from a tree of JSON values, checked. Each object of the format
 * has a read_*.c. The format: examples/man/gangsched-scenario.1. */
#ifndef GANG__SCENARIO_READ_IN_H
#define GANG__SCENARIO_READ_IN_H

#include <gangsched/scenario.h>

#include "base/json/json.h"
#include "model/specs.h"
#include "scenario/arena_in.h"
#include "scenario/fields_in.h"
#include "scenario/scenario_in.h"
#include "scenario/words_in.h"

/* Largest amount of memory of a task, in bytes; it is rounded up to pages. */
#define GANG__MAX_TASK_MEMORY (GANG_MAX_AMOUNT * GANG_PAGE_BYTES)
/* Largest amount of a quota, in units of its kind. */
#define GANG__MAX_QUOTA ((int64_t)1 << 60)
#define GANG__MAX_WEIGHT 1e15

enum {
    GANG__MAX_CASES = 1 << 20,
    GANG__MAX_NODES = 1048575,
    GANG__MAX_JOBS = 1 << 24,
    GANG__MAX_GROUPS = 4095,   /* task groups or sets of a job */
    GANG__MAX_TASKS = 1 << 24, /* tasks of a job */
    GANG__MAX_LIST = 65535,    /* labels, links, partitions, ... of one thing */
    GANG__MAX_COMMENT = 65535, /* bytes of `source` */
    GANG__MAX_ROUNDS = 1000000,
    GANG__MAX_JOB_LABELS = 64, /* and peer rules */
    GANG__MAX_RULES = 65535,   /* that map jobs to queues */
    GANG__MAX_RANKS = 64       /* GPU models in their order */
};

#define GANG__TRY(call)            \
    do {                           \
        gang_result try_ = (call); \
        if (try_ != GANG_OK)       \
            return try_;           \
    } while (0)

/* Of a text, and of `expect`. */
extern const struct gang__json_limits gang__scenario_limits;

/* Text that the reader has for the user though it has read the case. */
struct gang__warning {
    struct gang__warning *next;
    char text[256];
};
struct gang__warnings {
    struct gang__warning *first, **last;
    uint64_t seen; /* old keys, by bit */
};

struct gang__reader {
    struct gang__arena *keep;        /* lives as long as the scenarios */
    struct gang__arena scratch;      /* lives for one case */
    struct gang_scenario *out;       /* the case */
    struct gang__warnings *warnings; /* NULL: they are not kept */
    struct gang_kind_spec *kinds;
    struct gang__lookup nodes;
    struct gang__lookup queues;
    struct gang__lookup jobs;
    uint8_t *queue_inner; /* one a queue: 1 if it has children, or may get some */
    bool counts_tasks;    /* a node of the case has `max_tasks` */
    bool in_job;          /* what the scheduler refuses at submission is kept as it is */
    bool alone; /* one object without its case: names of other things are kept as they are */
    /* By number of GPUs: those of the last node in the short form, as most are alike. */
    const struct gang_gpu_spec *alike[GANG_MAX_GPUS + 1];
};

/* The constant of an optional member that is one of `words`; *number stays as it is if the member
 * is absent. */
gang_result gang__read_word(const struct gang__json *object, const char *key,
                            const struct gang__word_list *words, int32_t *number);
/* Memory and text that stay. NULL: out of memory, and the error says so at `at`. */
void *gang__keep(struct gang__reader *r, const struct gang__json *at, size_t count, size_t bytes);
/* `count` elements for the pointer `list`, or return from the function. */
#define GANG__KEEP(list, r, at, count)                            \
    do {                                                          \
        (list) = gang__keep((r), (at), (count), sizeof(*(list))); \
        if (!(list))                                              \
            return GANG_ENOMEM;                                   \
    } while (0)
/* An array of objects of one sort. */
struct gang__list {
    size_t max;              /* elements */
    size_t size;             /* of an element in memory */
    const char *const *keys; /* that an element may have; NULL: `read` checks them */
    size_t key_count;
    enum gang__object old_keys; /* whose older names of keys an element may use */
    /* Reads one element; it is all zero before. `owner` is what gang__read_list() was given. */
    gang_result (*read)(struct gang__reader *r, const struct gang__json *at, void *element,
                        const void *owner);
    const char *key; /* the member that holds the array, for gang__read_list_member() */
};
#define GANG__LIST(key, max, type, keys, old_keys, read)                \
    {                                                                   \
        max, sizeof(type), keys, GANG__COUNT(keys), old_keys, read, key \
    }
/* Reads an array; *count is 0, and *elements NULL, after an error. */
gang_result gang__read_list(struct gang__reader *r, const struct gang__json *at,
                            const struct gang__list *list, const void *owner, void **elements,
                            size_t *count);
/* The same of the optional member list->key of `object`; *elements is NULL if it is absent. */
gang_result gang__read_list_member(struct gang__reader *r, const struct gang__json *object,
                                   const struct gang__list *list, const void *owner,
                                   void **elements, size_t *count);
gang_result gang__keep_text(struct gang__reader *r, const struct gang__json *at, const char *text,
                            const char **out);
gang_result gang__read_name(struct gang__reader *r, const struct gang__json *at, const char **out);
/* An optional member: *out stays as it is if it is absent. */
gang_result gang__read_name_member(struct gang__reader *r, const struct gang__json *object,
                                   const char *key, const char **out);
/* The optional member "labels", an object of at most `max` texts: of a node, of a job. */
gang_result gang__read_label_map(struct gang__reader *r, const struct gang__json *object,
                                 size_t max, const struct gang_label **out, size_t *count);
/* An array of names, each once. */
gang_result gang__read_names(struct gang__reader *r, const struct gang__json *at, size_t max,
                             const char *const **out, size_t *count);
/* An optional member that is null or names a level: of the case, or one of the first `which`
 * built-in ones; in a job, any name. */
enum { GANG__LEVELS_SITE = 0, GANG__LEVELS_WIDE = 1, GANG__LEVELS_ALL = 5 };
gang_result gang__read_level(struct gang__reader *r, const struct gang__json *object,
                             const char *key, size_t which, const char **out);
/* Is it a built-in level of GPUs alone, by the text that gang__read_level() gave? */
bool gang__level_needs_gpus(const char *level);
/* Optional amount of memory, under a key in MiB or one in bytes. */
gang_result gang__read_memory(const struct gang__json *object, const char *mib_key,
                              const char *bytes_key, int64_t max, int64_t *bytes);
/* Optional member `amounts`; `on_node`: only kinds that a node has. The list has `more` unused
 * elements behind the last. */
gang_result gang__read_amounts(struct gang__reader *r, const struct gang__json *object,
                               bool on_node, size_t more, struct gang_amount **out, size_t *count);
/* Optional true or false. */
gang_result gang__read_bool(const struct gang__json *object, const char *key, int32_t *flag);
gang_result gang__read_int(const struct gang__json *object, const char *key, int64_t min,
                           int64_t max, int64_t *number);
gang_result gang__read_int32(const struct gang__json *object, const char *key, int32_t min,
                             int32_t max, int32_t *number);

const struct gang_kind_spec *gang__find_kind(const struct gang__reader *r, const char *name);
/* The same of the kind that the text at `at` names; without a case, one that is made for it. *kind
 * is NULL: there is none. */
gang_result gang__kind_named(struct gang__reader *r, const struct gang__json *at, const char *name,
                             const struct gang_kind_spec **kind);

/* ---- objects ---- */

gang_result gang__read_node(struct gang__reader *r, const struct gang__json *at,
                            struct gang_node_spec *node);
gang_result gang__read_queue(struct gang__reader *r, const struct gang__json *at,
                             struct gang_queue_spec *queue);
/* Parents, once all queues are there. */
gang_result gang__link_queues(struct gang__reader *r, const struct gang__json *queues,
                              const struct gang_queue_spec *list, size_t count);
/* A queue that takes jobs, or the name of one that can be made on demand. */
gang_result gang__read_leaf(struct gang__reader *r, const struct gang__json *at,
                            const char **queue);
/* `default_queue` and `rules`, once the queues are there. */
gang_result gang__read_mapping(struct gang__reader *r, const struct gang__json *at);
gang_result gang__read_job(struct gang__reader *r, const struct gang__json *at, size_t index,
                           struct gang_job_spec *job);
/* `reservations`, once the queues are there; the one that a job names. */
gang_result gang__read_reservations(struct gang__reader *r, const struct gang__json *at);
gang_result gang__read_reservation(struct gang__reader *r, const struct gang__json *at,
                                   struct gang_reservation_spec *out);
gang_result gang__read_reservation_name(struct gang__reader *r, const struct gang__json *job,
                                        const char **name);
/* `tasks` and `groups` of a job; adds the number of tasks to *tasks. */
gang_result gang__read_tasks(struct gang__reader *r, const struct gang__json *job,
                             struct gang_job_spec *out, int64_t *tasks);
/* A group of tasks of a reservation: no key that only a job gives a sense. */
gang_result gang__read_group(struct gang__reader *r, const struct gang__json *at,
                             struct gang_group_spec *group);
/* `after` of the tasks of a job, and of all jobs. */
gang_result gang__read_group_after(struct gang__reader *r, const struct gang__json *tasks,
                                   struct gang_job_spec *job);
/* A group of the job: the name of its tasks, or its index. */
gang_result gang__read_group_name(struct gang__reader *r, const struct gang__json *at,
                                  const struct gang_job_spec *job, int32_t *group);
gang_result gang__read_job_times(struct gang__reader *r, const struct gang__json *jobs);
gang_result gang__read_job_arrivals(struct gang__reader *r, const struct gang__json *jobs);
gang_result gang__read_job_after(struct gang__reader *r, const struct gang__json *jobs);
/* Of a task: `selector` and `where`; partition, devices, levels and bounds, once the number of
 * tasks and GPUs is known. Of a job: everything but tasks, sets and state. */
gang_result gang__read_labels(struct gang__reader *r, const struct gang__json *object,
                              struct gang_group_spec *group);
gang_result gang__read_demands(struct gang__reader *r, const struct gang__json *object,
                               struct gang_group_spec *group);
gang_result gang__read_job_demands(struct gang__reader *r, const struct gang__json *job,
                                   struct gang_request_spec *request);
gang_result gang__read_expect(struct gang__reader *r, const struct gang__json *expect);

/* `max_tasks` of a node counts tasks as a kind: before the nodes are read, after other kinds. */
void gang__count_tasks(struct gang__reader *r);

/* One object of this sort, without its case, into the list of `out` to which it belongs. */
gang_result gang__read_alone(struct gang__arena *keep, const struct gang__json *at,
                             struct gang__warnings *warnings, enum gang__object object,
                             struct gang_scenario *out);

/* One case. Memory of `out` and of the warnings is taken from `keep`; `warnings` may be NULL. */
gang_result gang__read_case(struct gang__arena *keep, const struct gang__json *at,
                            struct gang__warnings *warnings, struct gang_scenario *out);

/* ---- old keys ---- */

/* Gives the members of `at` their new keys, each with a warning. To be called before the keys are
 * checked. GANG_EINVAL (both keys are there), GANG_ENOMEM. */
gang_result gang__rename_old_keys(struct gang__reader *r, const struct gang__json *at,
                                  enum gang__object object);

#endif
