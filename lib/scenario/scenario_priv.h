/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the scenario reader and writer share. The format is described at the head of
 * scenario_read.c. */
#ifndef GANG__MODEL_SCENARIO_PRIV_H
#define GANG__MODEL_SCENARIO_PRIV_H

#include <gangsched/scenario.h>

#include "base/json/json.h"
#include "model/node_spec.h"
#include "model/policy_words.h"
#include "model/spec_array.h"

#define GANG__MIB ((int64_t)1048576)
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

/* The kind that `max_tasks` stands for. */
#define GANG__TASKS "tasks"
/* `preemptible` besides true and false. */
#define GANG__ABOVE_MIN "above-min"
/* The level that a `cells` entry may name besides those of the case. */
#define GANG__NODE_LEVEL "node"

/* Of a text, and of `expect`. */
extern const struct gang__json_limits gang__scenario_limits;

/* Words of the format; an index is the number of the constant minus the first one given. */
extern const char *const gang__scope_words[2];     /* GANG_SCOPE_NODE ... */
extern const char *const gang__link_words[3];      /* GANG_LINK_NVLINK ... */
extern const char *const gang__state_words[3];     /* GANG_NODE_UP ... */
extern const char *const gang__op_words[8];        /* GANG_LABEL_IN ... */
extern const char *const gang__numa_words[3];      /* GANG_NUMA_PREFER ... */
extern const char *const gang__gpu_nodes_words[3]; /* GANG_GPU_NODES_AVOID ... */
extern const char *const gang__mode_words[3];      /* GANG_PARTITION_SHARED ... */
extern const char *const gang__within_words[3];    /* GANG_PREEMPT_NEVER ... */
extern const char *const gang__reclaim_words[3];   /* the numbers of gang__reclaim_numbers */
extern const int32_t gang__reclaim_numbers[3];
extern const char *const gang__when_words[3];     /* GANG_AFTER_START ... */
extern const char *const gang__role_words[5];     /* GANG_ROLE_MEMBER ... */
extern const char *const gang__match_words[5];    /* GANG_MATCH_ALL ... */
extern const char *const gang__fallback_words[3]; /* GANG_FALLBACK_SKIP ... */
#define GANG__COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define GANG__TRY(call)            \
    do {                           \
        gang_result try_ = (call); \
        if (try_ != GANG_OK)       \
            return try_;           \
    } while (0)

/* ---- memory ---- */

/* Memory that is given back all at once. */
struct gang__arena {
    const struct gang_mem *mem;
    struct gang__arena_chunk *chunks; /* the newest first */
};

/* Zeroed, aligned for any type; NULL: out of memory. */
void *gang__arena_get(struct gang__arena *arena, size_t count, size_t bytes);
void gang__arena_free(struct gang__arena *arena);

/* The first key of a text with an old name, and how many there are. */
struct gang__key_warning {
    size_t count;
    char text[256];
};

struct gang_scenarios {
    struct gang_mem mem;
    struct gang__arena arena;
    struct gang_scenario *cases;
    size_t count;
    struct gang__key_warning warning;
};

/* ---- names ---- */

struct gang__named_entry {
    const char *text;
    size_t index;
};

/* Sorted names, to find one and to find out that one is there twice. */
struct gang__lookup {
    struct gang__named_entry *list;
    size_t count;
};

/* Take `count` names: the first is at *first, the next `stride` bytes further. *twice: the lowest
 * index whose name is there before, or SIZE_MAX. false: out of memory. */
bool gang__lookup_build(struct gang__lookup *names, struct gang__arena *arena,
                        const char *const *first, size_t stride, size_t count, size_t *twice);
bool gang__lookup_find(const struct gang__lookup *names, const char *text, size_t *index);

/* ---- reading ---- */

struct gang__reader {
    struct gang__arena *keep;   /* lives as long as the scenarios */
    struct gang__arena scratch; /* lives for one case */
    struct gang_scenario *out;  /* the case */
    struct gang__key_warning *warning;
    struct gang_kind_spec *kinds;
    struct gang__lookup nodes;
    struct gang__lookup queues;
    struct gang__lookup jobs;
    uint8_t *queue_inner; /* one a queue: 1 if it has children, or may get some */
    bool counts_tasks;    /* a node of the case has `max_tasks` */
    /* The GPUs of the last node with so many of them in the short form: most are alike. */
    const struct gang_gpu_spec *alike[GANG_MAX_GPUS + 1];
};

/* Objects of a scenario that have keys with old names. */
enum gang__object {
    GANG__OBJECT_QUEUE,
    GANG__OBJECT_QUOTA,
    GANG__OBJECT_JOB,
    GANG__OBJECT_RULE,
    GANG__OBJECT_TASK,
    GANG__OBJECT_NODE,
    GANG__OBJECT_DEVICE,
    GANG__OBJECT_LINK,
    GANG__OBJECT_RESERVATION,
    GANG__OBJECT_STAGE
};

/* Gives the old keys of an object their new names and notes the first. Called before the keys are
 * checked. Old and new in one object: the old one stays, and is then an unknown key. */
gang_result gang__take_new_keys(struct gang__reader *r, const struct gang__json *at,
                                enum gang__object object);

/* One of `words`, by its index; *number stays as it is if the member is absent. */
gang_result gang__take_choice(const struct gang__json *object, const char *key,
                              const char *const *words, size_t count, int32_t *number);
/* Memory and text that stay. NULL: out of memory, and the error says so at `at`. */
void *gang__take(struct gang__reader *r, const struct gang__json *at, size_t count, size_t bytes);
/* `count` elements for the pointer `list`, or return from the function. */
#define GANG__TAKE(list, r, at, count)                            \
    do {                                                          \
        (list) = gang__take((r), (at), (count), sizeof(*(list))); \
        if (!(list))                                              \
            return GANG_ENOMEM;                                   \
    } while (0)
gang_result gang__take_copy(struct gang__reader *r, const struct gang__json *at, const char *text,
                            const char **out);
gang_result gang__take_name(struct gang__reader *r, const struct gang__json *at, const char **out);
/* An optional member: *out stays as it is if it is absent. */
gang_result gang__take_name_of(struct gang__reader *r, const struct gang__json *object,
                               const char *key, const char **out);
/* The optional member "labels", an object of at most 'most' texts: of a node, of a job. */
gang_result gang__take_labels(struct gang__reader *r, const struct gang__json *object, size_t most,
                              const struct gang_label **out, size_t *count);
/* An array of names, each once. */
gang_result gang__take_names(struct gang__reader *r, const struct gang__json *at, size_t most,
                             const char *const **out, size_t *count);
/* Optional member that is null or names a level: of the case, or a built-in one as far as `which`. */
enum { GANG__LEVELS_SITE = 0, GANG__LEVELS_WIDE = 1, GANG__LEVELS_ALL = 5 };
gang_result gang__take_level(struct gang__reader *r, const struct gang__json *object,
                             const char *key, size_t which, const char **out);
/* Is it a built-in level of GPUs alone, by the text that gang__take_level() gave? */
bool gang__level_needs_gpus(const char *level);
/* Optional amount of memory, under a key in MiB or one in bytes. */
gang_result gang__take_memory(const struct gang__json *object, const char *mib_key,
                              const char *bytes_key, int64_t most, int64_t *bytes);
/* Optional member `amounts`; `on_node`: only kinds that a node has. `more` elements of room stay
 * free behind the last. */
gang_result gang__take_amounts(struct gang__reader *r, const struct gang__json *object,
                               bool on_node, size_t more, struct gang_amount **out, size_t *count);
/* Optional true or false. */
gang_result gang__take_bool(const struct gang__json *object, const char *key, int32_t *flag);
gang_result gang__take_int(const struct gang__json *object, const char *key, int64_t least,
                           int64_t most, int64_t *number);
gang_result gang__take_int32(const struct gang__json *object, const char *key, int32_t least,
                             int32_t most, int32_t *number);

const struct gang_kind_spec *gang__find_kind(const struct gang__reader *r, const char *name);

/* ---- plain members ---- */

enum gang__field_type {
    GANG__FIELD_FLAG,    /* int32_t: true or false */
    GANG__FIELD_WORD,    /* int32_t: one of `words`, by number */
    GANG__FIELD_NUMBER,  /* int64_t in [least, most] */
    GANG__FIELD_MILLI,   /* int64_t in [least, most], thousandths of the number in the file */
    GANG__FIELD_SECONDS, /* int64_t in ns, in the file in seconds */
    GANG__FIELD_TEXT     /* const char *: NULL, or without control characters */
};

/* A member of a struct, under a key of the file. */
struct gang__field {
    const char *key;
    enum gang__field_type type;
    size_t offset;
    const char *const *words;
    size_t word_count;
    int64_t least;
    int64_t most;
    int64_t absent; /* what it is if the key is not there */
};
struct gang__fields {
    const struct gang__field *list;
    size_t count;
};
extern const struct gang__fields gang__queue_fields;
extern const struct gang__fields gang__job_fields;
extern const struct gang__fields gang__case_fields;
extern const struct gang__fields gang__reserve_fields;
extern const struct gang__fields gang__stage_fields;
/* Of gang_reservation_spec.flags, by bit. */
enum { gang__reserve_flag_count = 5 };
extern const char *const gang__reserve_flag_words[gang__reserve_flag_count];

/* What is not in the object stays as it is: `to` has the defaults. */
gang_result gang__fields_read(struct gang__reader *r, const struct gang__json *object,
                              const struct gang__fields *fields, void *to);
void gang__fields_put(struct gang__json_maker *maker, json_t *object,
                      const struct gang__fields *fields, const void *from);
bool gang__fields_equal(const struct gang__fields *fields, const void *a, const void *b);

/* ---- rooms ---- */

gang_result gang__read_node(struct gang__reader *r, const struct gang__json *at,
                            struct gang_node_spec *node);
gang_result gang__read_queue(struct gang__reader *r, const struct gang__json *at,
                             struct gang_queue_spec *queue);
/* Parents, once all queues are there. */
gang_result gang__link_queues(struct gang__reader *r, const struct gang__json *queues,
                              const struct gang_queue_spec *list, size_t count);
/* A queue that takes jobs, or the name of one that can be made on demand. */
gang_result gang__take_leaf(struct gang__reader *r, const struct gang__json *at,
                            const char **queue);
/* `default_queue` and `rules`, once the queues are there. */
gang_result gang__read_mapping(struct gang__reader *r, const struct gang__json *at);
gang_result gang__read_job(struct gang__reader *r, const struct gang__json *at, size_t index,
                           struct gang_job_spec *job);
/* `reservations`, once the queues are there; the one that a job names. */
gang_result gang__read_reservations(struct gang__reader *r, const struct gang__json *at);
gang_result gang__take_reservation(struct gang__reader *r, const struct gang__json *job,
                                   const char **name);
/* A task of a reservation: what says nothing of a job. */
gang_result gang__read_group(struct gang__reader *r, const struct gang__json *at,
                             struct gang_group_spec *group);
/* `after` of the tasks of a job, and of all jobs. */
gang_result gang__read_group_after(struct gang__reader *r, const struct gang__json *tasks,
                                   struct gang_job_spec *job);
gang_result gang__read_job_times(struct gang__reader *r, const struct gang__json *jobs);
gang_result gang__read_job_after(struct gang__reader *r, const struct gang__json *jobs);
/* Of a task: `selector` and `where`; partition, devices, levels and bounds, once it is known how many
 * tasks and GPUs there are. Of a job: all but its tasks, sets and state. */
gang_result gang__read_labels(struct gang__reader *r, const struct gang__json *object,
                              struct gang_group_spec *group);
gang_result gang__read_demands(struct gang__reader *r, const struct gang__json *object,
                               struct gang_group_spec *group);
gang_result gang__read_job_demands(struct gang__reader *r, const struct gang__json *job,
                                   struct gang_request_spec *request);
gang_result gang__check_expect(struct gang__reader *r, const struct gang__json *expect);

/* One case from a tree. */
gang_result gang__read_case(struct gang__arena *keep, const struct gang__json *at,
                            struct gang_scenario *out, struct gang__key_warning *warning);

/* gang_scenarios_read() with an allocator. */
gang_result gang__scenarios_read_mem(const struct gang_mem *mem, const char *text, size_t length,
                                     gang_scenarios **scenarios, struct gang_error *error);

/* ---- writing ---- */

/* gang_scenario_write() with an allocator. */
gang_result gang__scenario_write_mem(const struct gang_mem *mem,
                                     const struct gang_scenario *scenario, int32_t indent,
                                     gang_write_fn write, void *user, struct gang_error *error);

/* Do two cases say the same? If not, `where` tells the first place where they differ. */
struct gang__scenario_path {
    char path[64];
};
bool gang__scenario_equal(const struct gang_scenario *a, const struct gang_scenario *b,
                          struct gang__scenario_path *where);

#endif
