/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file scenario.h
 * @brief Scenarios: clusters, queues and jobs as JSON text.
 *
 * A *scenario*, also called a *case*, is one JSON object: a cluster (levels, kinds, nodes), its
 * queues, its jobs and, for tests, the expected outcome. A text contains one case or an array of
 * cases. Reading is strict: unknown keys, wrong types, duplicate keys and names, numbers out of
 * range, cycles and too large values are errors that name their place ("[2].jobs[0].tasks[1].gpu"),
 * and nothing is returned. gangsched-scenario(1) lists every field. Some mistakes are not found by
 * the reader, but later by gang_job_submit(): a job that names an unknown queue or level, or whose
 * minimum is larger than its number of tasks.
 *
 * All pointers that the functions of this header return are valid until gang_scenarios_free(). The
 * host may pass the specifications to gang_node_add(), gang_request_new() and the other calls that
 * take them; gang_cluster_build() makes the whole cluster of a case.
 */
#ifndef GANGSCHED_SCENARIO_H
#define GANGSCHED_SCENARIO_H

#include <gangsched/base.h>
#include <gangsched/job.h>
#include <gangsched/model.h>
#include <gangsched/plan.h>
#include <gangsched/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The cases of one text. They never change. */
typedef struct gang_scenarios gang_scenarios;

/** Limits of the readers. Larger input is refused with GANG_ELIMIT. */
enum {
    GANG_JSON_MAX_BYTES = 268435456, /**< bytes of a text: 256 MiB */
    GANG_JSON_MAX_DEPTH = 64         /**< nested objects and arrays */
};

/**
 * Read a text of one case or an array of cases.
 * @param text       need not be NUL-terminated
 * @param scenarios receives the cases; free them with gang_scenarios_free()
 * @return GANG_OK; GANG_EPARSE (not JSON, or a NUL byte; `error` has line and column), GANG_EPARSE
 *   (a wrong label expression; `error` has the path, and as column the byte in the expression),
 *   GANG_EINVAL (wrong type, unknown key, missing or contradicting member, a default queue that is
 *   not a leaf), GANG_EEXIST (a name twice), GANG_ENOENT (an unknown name), GANG_ECYCLE,
 *   GANG_ERANGE, GANG_ELIMIT, GANG_ENOMEM. `error` has the path.
 * Any thread. May allocate. O(length).
 */
GANG_API gang_result gang_scenarios_read(const char *text, size_t length,
                                         gang_scenarios **scenarios, struct gang_error *error)
    GANG_MUST_CHECK;

/** Like gang_scenarios_read(), from a file ("-": standard input). Also returns GANG_EIO (the file
 *  cannot be opened or read, or is a directory). May block. */
GANG_API gang_result gang_scenarios_read_file(const char *path, gang_scenarios **scenarios,
                                              struct gang_error *error) GANG_MUST_CHECK;

/** Free cases. All pointers that were obtained from them become invalid. NULL is allowed. */
GANG_API void gang_scenarios_free(gang_scenarios *scenarios);

/** Warning number `index` of the reader about a text that it accepted, in the order of the text,
 *  for example about a key that has a new name: "jobs[0]: 'a' is now 'b'". @return the warning;
 *  NULL: index is past the last one. Any thread; wait-free. Since 0.2. */
GANG_API const char *gang_scenarios_warning(const gang_scenarios *scenarios, size_t index);

/** Number of cases. Any thread; wait-free. */
GANG_API size_t gang_scenarios_count(const gang_scenarios *scenarios);

/** A kind of the site, as in gang_kind_add(). */
struct gang_kind_spec {
    size_t size; /**< sizeof(struct gang_kind_spec) */
    const char *name;
    const char *unit; /**< NULL: not given */
    int32_t scope;    /**< GANG_SCOPE_* */
    int32_t reserved0;
    int64_t capacity;
};

#define GANG_KIND_SPEC_INIT                                \
    {                                                      \
        sizeof(struct gang_kind_spec), NULL, NULL, 0, 0, 0 \
    }

/** A partition and its mode, as in gang_partition_set(). */
struct gang_partition_spec {
    size_t size; /**< sizeof(struct gang_partition_spec) */
    const char *name;
    int32_t mode; /**< GANG_PARTITION_* */
    int32_t reserved0;
};

#define GANG_PARTITION_SPEC_INIT                       \
    {                                                  \
        sizeof(struct gang_partition_spec), NULL, 0, 0 \
    }

/** A dependency between jobs of the case. It stands for gang_job_spec.after, which needs ids: after
 *  submission the host sets it. gang_job_spec.after of the jobs of a case is empty. */
struct gang_scenario_after {
    size_t size;  /**< sizeof(struct gang_scenario_after) */
    size_t job;   /**< index of the job that waits */
    size_t after; /**< index of the job for which it waits */
    int32_t when; /**< GANG_AFTER_* */
    int32_t reserved0;
};

#define GANG_SCENARIO_AFTER_INIT                       \
    {                                                  \
        sizeof(struct gang_scenario_after), 0, 0, 0, 0 \
    }

/** Times of a job of the case, for forecasts (forecast.h). */
struct gang_scenario_time {
    size_t size;                /**< sizeof(struct gang_scenario_time) */
    size_t job;                 /**< index of the job */
    int64_t ran_ns;             /**< how long it has run already; 0: it starts now, or waits */
    const int64_t *run_time_ns; /**< possible run times, all equally likely; ascending; each > 0 */
    size_t run_time_count;      /**< 0: the run time is not known */
};

#define GANG_SCENARIO_TIME_INIT                          \
    {                                                    \
        sizeof(struct gang_scenario_time), 0, 0, NULL, 0 \
    }

/** A command for an announced job (gang_job_spec.announced): gang_job_add_tasks() or
 *  gang_job_complete(). */
struct gang_scenario_arrival {
    size_t size;   /**< sizeof(struct gang_scenario_arrival) */
    size_t job;    /**< index of the job */
    int64_t at_ns; /**< time after the first scheduling cycle; >= 0 */
    int64_t count; /**< > 0: tasks that come; < 0: tasks that go; 0: gang_job_complete() */
    int32_t group; /**< index of the group; 0 if `count` is 0 */
    int32_t reserved0;
};

#define GANG_SCENARIO_ARRIVAL_INIT                          \
    {                                                       \
        sizeof(struct gang_scenario_arrival), 0, 0, 0, 0, 0 \
    }

/** One case. */
struct gang_scenario {
    size_t size;              /**< sizeof(struct gang_scenario) */
    const char *id;           /**< "" if not given */
    const char *source;       /**< "" if not given */
    const char *const *needs; /**< names of the features that the case needs */
    size_t need_count;
    const char *const *levels;
    size_t level_count;
    const struct gang_kind_spec *kinds;
    size_t kind_count;
    const struct gang_node_spec *nodes;
    size_t node_count;
    const struct gang_queue_spec *queues;
    size_t queue_count;
    const struct gang_job_spec *jobs;
    size_t job_count;
    int64_t rounds;     /**< scheduling cycles before the outcome is compared; default 1 */
    int32_t quota_only; /**< 1: the case is about quotas only; its nodes do not matter */
    int32_t reserved0;
    const char *expect; /**< expected outcome, as compact JSON text; NULL: none */
    int32_t policy;     /**< gang_cluster_opts.policy: GANG_POLICY_*, not _HOST */
    int32_t reserved1;
    const struct gang_partition_spec *partitions; /**< partitions with a mode */
    size_t partition_count;
    /** this and the next members up to half_life_ns: as in gang_sched_opts; NULL: none */
    const char *default_queue;
    const struct gang_queue_rule *rules;
    size_t rule_count;
    const char *const *excluded_kinds; /**< "cpu", "memory", "gpu", or names in `kinds` */
    size_t excluded_kind_count;
    int64_t half_life_ns;
    const struct gang_scenario_after *afters; /**< dependencies, ordered by `job`, without cycles */
    size_t after_count;
    /** times, ordered by `job`, at most one for each job */
    const struct gang_scenario_time *times;
    size_t time_count;
    /** Reservations, for gang_reservation_add(); gang_reservation_spec.job is GANG_ID_NONE. */
    const struct gang_reservation_spec *reservations;
    size_t reservation_count;
    /** commands for announced jobs, ordered by `job`, then by `at_ns` */
    const struct gang_scenario_arrival *arrivals;
    size_t arrival_count;
};

#define GANG_SCENARIO_INIT                                                                      \
    {                                                                                           \
        sizeof(struct gang_scenario), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0,  \
            NULL, 0, 0, 0, 0, NULL, 0, 0, NULL, 0, NULL, NULL, 0, NULL, 0, 0, NULL, 0, NULL, 0, \
            NULL, 0, NULL, 0                                                                    \
    }

/** Read one case by its index. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end). Any
 *  thread. */
GANG_API gang_result gang_scenarios_get(const gang_scenarios *scenarios, size_t index,
                                        struct gang_scenario *scenario) GANG_MUST_CHECK;

/**
 * Write a case as one JSON object. Reading it gives the same case again, except that ids and
 * gang_job_spec.cookie are not written, and each gang_job_spec.group_after is in the order of the
 * groups.
 * @param indent  spaces a level, 0: one line
 * @return GANG_OK; GANG_EINVAL (the format cannot express the case); GANG_EIO (`write` refused);
 *   GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_scenario_write(const struct gang_scenario *scenario, int32_t indent,
                                         gang_write_fn write, void *user, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Read one node, queue, job or reservation from JSON, with the keys that it has in a scenario: for
 * hosts that save their state, and for messages between programs. The reader does not check names
 * of other objects (levels, kinds, queues, nodes, reservations); gang_node_add(),
 * gang_sched_set_queues(), gang_job_submit() and gang_reservation_add() do. Other checks are those
 * of gang_scenarios_read(). `max_tasks` of a node is an amount of the kind "tasks". The default of
 * `submit` of a job is -1. The keys `after`, `arrivals`, `ran_s` and `run_time_s` of a job are
 * refused.
 * @param keep receives the owner of the specification's memory; free it with gang_scenarios_free()
 * @param spec  receives the specification
 * @return as for gang_scenarios_read(), with paths inside the object: "tasks[1].gpu". On an error
 *   *keep and *spec are NULL.
 * Any thread. May allocate. O(length).
 */
GANG_API gang_result gang_node_read(const char *text, size_t length, gang_scenarios **keep,
                                    const struct gang_node_spec **spec, struct gang_error *error)
    GANG_MUST_CHECK;
GANG_API gang_result gang_queue_read(const char *text, size_t length, gang_scenarios **keep,
                                     const struct gang_queue_spec **spec, struct gang_error *error)
    GANG_MUST_CHECK;
GANG_API gang_result gang_job_read(const char *text, size_t length, gang_scenarios **keep,
                                   const struct gang_job_spec **spec, struct gang_error *error)
    GANG_MUST_CHECK;
GANG_API gang_result gang_reservation_read(const char *text, size_t length, gang_scenarios **keep,
                                           const struct gang_reservation_spec **spec,
                                           struct gang_error *error) GANG_MUST_CHECK;

/**
 * Write one node, queue, job or reservation as JSON. Reading it gives the same specification again.
 * If the specification uses something that the format cannot express, the call returns GANG_EINVAL
 * and writes nothing: gang_job_spec.cookie, after, id and past; task numbers, groups and cores in
 * gang_running_spec; callbacks.
 * @param indent  spaces a level, 0: one line
 * @return as gang_scenario_write(). Any thread. May allocate.
 */
GANG_API gang_result gang_node_write(const struct gang_node_spec *spec, int32_t indent,
                                     gang_write_fn write, void *user, struct gang_error *error)
    GANG_MUST_CHECK;
GANG_API gang_result gang_queue_write(const struct gang_queue_spec *spec, int32_t indent,
                                      gang_write_fn write, void *user, struct gang_error *error)
    GANG_MUST_CHECK;
GANG_API gang_result gang_job_write(const struct gang_job_spec *spec, int32_t indent,
                                    gang_write_fn write, void *user, struct gang_error *error)
    GANG_MUST_CHECK;
GANG_API gang_result gang_reservation_write(const struct gang_reservation_spec *spec,
                                            int32_t indent, gang_write_fn write, void *user,
                                            struct gang_error *error) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
