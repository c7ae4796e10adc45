/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file scenario.h
 * @brief Clusters, queues and jobs as JSON text.
 *
 * A *scenario* is one JSON object: a cluster (levels, kinds, nodes), its queues, its jobs and, in a
 * test, the expected outcome. A *scenario file* holds one such object or an array of them. Reading
 * is strict: unknown keys, wrong types, duplicate keys and names, numbers out of range, cycles and
 * absurd sizes are errors that name their place ("[2].jobs[0].tasks[1].gpu"), and nothing is
 * returned. gangsched-scenario(1) lists every field. A job that gang_job_submit() would refuse, for
 * a queue or level that is not there or a minimum above its tasks, is read as it is.
 *
 * All pointers that the functions of this header return are borrowed: they live until
 * gang_scenarios_free(). The specs may be passed on to gang_node_add() and
 * gang_request_new(); gang_cluster_build() makes the whole cluster of a case.
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

/** The cases of one text; read-only after reading. */
typedef struct gang_scenarios gang_scenarios;

/** Limits of the readers; larger input is refused with GANG_ELIMIT before it is taken in. */
enum {
    GANG_JSON_MAX_BYTES = 268435456, /**< length of a text, 256 MiB */
    GANG_JSON_MAX_DEPTH = 64         /**< nesting of objects and arrays */
};

/**
 * Read a text of one case or an array of cases.
 * @param text       need not be NUL-terminated
 * @param scenarios  receives the cases; end them with gang_scenarios_free()
 * @return GANG_OK; GANG_EPARSE (not JSON, or a NUL byte; `error` has line and column), GANG_EINVAL
 *   (wrong type, unknown key, missing or contradicting member, a default queue that is no leaf),
 *   GANG_EPARSE also of a label expression (`error` has the path, and the byte in it as column),
 *   GANG_EEXIST (a name twice), GANG_ENOENT (a name that is not there), GANG_ECYCLE, GANG_ERANGE,
 *   GANG_ELIMIT, GANG_ENOMEM. `error` has the path.
 * Any thread. May allocate. O(length).
 */
GANG_API gang_result gang_scenarios_read(const char *text, size_t length,
                                         gang_scenarios **scenarios, struct gang_error *error)
    GANG_MUST_CHECK;

/** As gang_scenarios_read(), from a file ("-": standard input). Also GANG_EIO (cannot be opened or
 *  read; a directory). May block. */
GANG_API gang_result gang_scenarios_read_file(const char *path, gang_scenarios **scenarios,
                                              struct gang_error *error) GANG_MUST_CHECK;

/** End cases and everything that was borrowed from them. NULL is allowed. */
GANG_API void gang_scenarios_free(gang_scenarios *scenarios);

/** Warnings of the reader about a text that it accepted, such as a key with a newer name:
 *  "jobs[0]: 'a' is now 'b'". @return the warning, in the order of the text; NULL past the last
 *  one. Any thread; wait-free. Since 0.2. */
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

/** A job that waits for another job of the case: gang_job_spec.after, before there are ids. The
 *  `after` of the jobs themselves is empty. */
struct gang_scenario_after {
    size_t size;  /**< sizeof(struct gang_scenario_after) */
    size_t job;   /**< index of the job that waits */
    size_t after; /**< index of the job that comes first */
    int32_t when; /**< GANG_AFTER_* */
    int32_t reserved0;
};

#define GANG_SCENARIO_AFTER_INIT                       \
    {                                                  \
        sizeof(struct gang_scenario_after), 0, 0, 0, 0 \
    }

/** Times of a job of the case that a forecast needs, beside its limits (forecast.h). */
struct gang_scenario_time {
    size_t size;                /**< sizeof(struct gang_scenario_time) */
    size_t job;                 /**< index of the job */
    int64_t ran_ns;             /**< how long it has been running; 0: it begins now, or waits */
    const int64_t *run_time_ns; /**< how long it runs, each as likely; ascending; > 0 */
    size_t run_time_count;      /**< 0: not known */
};

#define GANG_SCENARIO_TIME_INIT                          \
    {                                                    \
        sizeof(struct gang_scenario_time), 0, 0, NULL, 0 \
    }

/** Tasks of an announced job (gang_job_spec.announced) that come during the case:
 *  gang_job_add_tasks(), or gang_job_complete(). */
struct gang_scenario_arrival {
    size_t size;   /**< sizeof(struct gang_scenario_arrival) */
    size_t job;    /**< index of the job */
    int64_t at_ns; /**< after the first scheduling pass; >= 0 */
    int64_t count; /**< tasks that come, negative: that go; 0: no more will come */
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
    const char *const *needs; /**< capabilities beyond plain allocation; names of `needs` */
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
    int64_t rounds;     /**< scheduling passes before comparing; default 1 */
    int32_t quota_only; /**< 1: the case has no nodes that matter, only quotas */
    int32_t reserved0;
    const char *expect; /**< the `expect` member as compact JSON text; NULL: none */
    int32_t policy;     /**< GANG_POLICY_* of the cluster, not _HOST; default GANG_POLICY_DEFAULT */
    int32_t reserved1;
    const struct gang_partition_spec *partitions; /**< partitions with a mode */
    size_t partition_count;
    const char *default_queue; /**< as in gang_sched_opts, like the following members; NULL: none */
    const struct gang_queue_rule *rules;
    size_t rule_count;
    const char *const *excluded_kinds; /**< "cpu", "memory", "gpu", or of `kinds` */
    size_t excluded_kind_count;
    int64_t half_life_ns;
    const struct gang_scenario_after *afters; /**< by `job`, without cycles */
    size_t after_count;
    const struct gang_scenario_time *times; /**< by `job`, at most one for each */
    size_t time_count;
    /** As gang_reservation_add() takes them; their `job` is GANG_ID_NONE. */
    const struct gang_reservation_spec *reservations;
    size_t reservation_count;
    const struct gang_scenario_arrival *arrivals; /**< by `job`, then by `at_ns` */
    size_t arrival_count;
};

#define GANG_SCENARIO_INIT                                                                      \
    {                                                                                           \
        sizeof(struct gang_scenario), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0,  \
            NULL, 0, 0, 0, 0, NULL, 0, 0, NULL, 0, NULL, NULL, 0, NULL, 0, 0, NULL, 0, NULL, 0, \
            NULL, 0, NULL, 0                                                                    \
    }

/** One case by number. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end). Any thread. */
GANG_API gang_result gang_scenarios_get(const gang_scenarios *scenarios, size_t index,
                                        struct gang_scenario *scenario) GANG_MUST_CHECK;

/**
 * Write a case in the same format, as one JSON object. Reading it again gives the same case. Files
 * have no ids, no gang_job_spec.cookie, and each group_after in the order of the groups.
 * @param indent  spaces a level, 0: one line
 * @return GANG_OK; GANG_EINVAL (the case cannot be expressed); GANG_EIO (the writer refused);
 *   GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_scenario_write(const struct gang_scenario *scenario, int32_t indent,
                                         gang_write_fn write, void *user, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * One object as JSON: a node, queue, job or reservation, with the keys that it has in a scenario (a
 * host that keeps its state; a message between programs). Names of other things (levels, kinds,
 * queues, nodes, reservations) are read as they are: gang_node_add(), gang_sched_set_queues(),
 * gang_job_submit() and gang_reservation_add() check them. All other checks are those of
 * gang_scenarios_read(); `max_tasks` of a node is an amount of the kind "tasks"; the default of
 * `submit` is -1. A job has no `after`, `arrivals`, `ran_s` or `run_time_s`.
 * @param keep  receives what the specification borrows from; ended with gang_scenarios_free()
 * @param spec  receives the specification
 * @return as gang_scenarios_read(), with the path in the object: "tasks[1].gpu". On an error *keep
 *   and *spec are NULL.
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
 * Write one object as JSON. Reading it again gives the same specification; what the format cannot
 * express is an error, and nothing is written: gang_job_spec.cookie, `after`, `id` and `past`;
 * numbers, groups and cores of tasks; a function of the host.
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
