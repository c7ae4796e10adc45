/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file scenario.h
 * @brief Clusters, queues and jobs as JSON text.
 *
 * A *scenario* is one JSON object: a cluster (levels, kinds, nodes), its queues, its jobs and, in a
 * test, the expected outcome. A *scenario file* holds one such object or an array of them. Reading
 * is strict: unknown keys, wrong types, duplicate keys and names, numbers out of range, cycles and
 * absurd sizes are errors that name their place ("[2].jobs[0].tasks[1].gpu"), and nothing is
 * returned. ARCHITECTURE.md, "Formats", lists every field.
 *
 * All pointers that the functions of this header return are borrowed: they live until
 * gang_scenarios_free(). The specs may be passed on to gang_node_add() and
 * gang_request_new(); gang_cluster_build() makes the whole cluster of a case.
 */
#ifndef GANGSCHED_SCENARIO_H
#define GANGSCHED_SCENARIO_H

#include <gangsched/base.h>
#include <gangsched/model.h>

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
 *   (wrong type, unknown key, missing or contradicting member, a job in a queue that is no leaf),
 *   GANG_EPARSE also of a label expression (`error` has the path, and the byte in it as column),
 *   GANG_EEXIST (a name twice), GANG_ENOENT (a name that is not there), GANG_ECYCLE, GANG_ERANGE,
 *   GANG_ELIMIT, GANG_ENOMEM. `error` has the path.
 * Any thread. May allocate. O(length).
 */
GANG_API gang_result gang_scenarios_read(const char *text, size_t length,
                                         gang_scenarios **scenarios,
                                         struct gang_error *error) GANG_MUST_CHECK;

/** As gang_scenarios_read(), from a file ("-": standard input). Also GANG_EIO (cannot be opened or
 *  read; a directory). May block. */
GANG_API gang_result gang_scenarios_read_file(const char *path, gang_scenarios **scenarios,
                                              struct gang_error *error) GANG_MUST_CHECK;

/** End cases and everything that was borrowed from them. NULL is allowed. */
GANG_API void gang_scenarios_free(gang_scenarios *scenarios);

/** Number of cases. Any thread; wait-free. */
GANG_API size_t gang_scenarios_count(const gang_scenarios *scenarios);

/** A kind of the site, as in gang_kind_add(). */
struct gang_kind_spec {
    size_t size;       /**< sizeof(struct gang_kind_spec) */
    const char *name;
    const char *unit;  /**< NULL: not given */
    int32_t scope;     /**< GANG_SCOPE_* */
    int32_t reserved0;
    int64_t capacity;
};

/** A partition and its mode, as in gang_partition_set(). */
struct gang_partition_spec {
    size_t size;       /**< sizeof(struct gang_partition_spec) */
    const char *name;
    int32_t mode;      /**< GANG_PARTITION_* */
    int32_t reserved0;
};

/** No limit, in gang_quota. */
#define GANG_UNLIMITED ((int64_t)-1)

/** An amount per kind, for a queue; in the units of the kinds (millicores, bytes, milli-GPUs). */
struct gang_quota {
    const char *kind; /**< "cpu", "memory", "gpu" */
    int64_t amount;   /**< GANG_UNLIMITED or >= 0 */
};

/** Who may be displaced for a job (gang_queue_spec.within and .reclaim). */
enum {
    GANG_DISPLACE_DEFAULT = 0,
    GANG_DISPLACE_NEVER = 1,
    GANG_DISPLACE_LOWER = 2,          /**< lower priority */
    GANG_DISPLACE_LOWER_OR_NEWER = 3, /**< within only: or equal priority and newer */
    GANG_DISPLACE_ANY = 4             /**< reclaim only */
};

/** A guarantee with a shape: `count` whole domains of a level. */
struct gang_cell_spec {
    const char *level;
    int64_t count;
};

/** A queue, by value. */
struct gang_queue_spec {
    size_t size;         /**< sizeof(struct gang_queue_spec) */
    const char *name;
    const char *parent;  /**< NULL: top */
    const struct gang_quota *guaranteed;
    size_t guaranteed_count; /**< 0: nothing is guaranteed */
    const struct gang_quota *limit;
    size_t limit_count;  /**< 0: no limit */
    const struct gang_quota *lending_limit;
    size_t lending_limit_count;
    double weight;       /**< >= 0; share of what is left over, for kinds not in `weights` */
    const char *const *weight_kinds; /**< kinds with a weight of their own */
    const double *weights;
    size_t weight_count;
    int64_t priority;    /**< default 100 */
    int32_t within;      /**< GANG_DISPLACE_* */
    int32_t reclaim;     /**< GANG_DISPLACE_* */
    const struct gang_cell_spec *cells;
    size_t cell_count;
};

/** Where a task of a running job is, at the start of a scenario. */
struct gang_running_spec {
    const char *node;   /**< NULL: this task does not run */
    const char *const *devices; /**< labels of devices; the same label on a node is the same device */
    size_t device_count;
};

/** A job, by value. Its tasks are numbered through its groups in order. */
struct gang_job_spec {
    size_t size;         /**< sizeof(struct gang_job_spec) */
    const char *name;
    const char *queue;
    int64_t priority;    /**< higher first */
    int64_t submit;      /**< age order, 0 is the oldest */
    int32_t preemptible; /**< 0 or 1 */
    int32_t running;     /**< 1: runs at the start, see `places` */
    int32_t stale;       /**< 1: below its minimum for longer than its grace */
    int32_t never_preempts; /**< 1: waits rather than displace */
    struct gang_request_spec request;
    const struct gang_running_spec *places; /**< one a task; NULL: none */
    size_t place_count;
    const int32_t *protected_groups; /**< one a group: 1: never evicted */
    const int64_t *group_order;      /**< one a group: larger is given up later */
};

/** One case. */
struct gang_scenario {
    size_t size;        /**< sizeof(struct gang_scenario) */
    const char *id;     /**< "" if not given */
    const char *source; /**< "" if not given */
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
    const struct gang_partition_spec *partitions; /**< those whose mode is given */
    size_t partition_count;
};

#define GANG_SCENARIO_INIT                                                                      \
    {                                                                                           \
        sizeof(struct gang_scenario), NULL, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0,  \
            NULL, 0, 0, 0, 0, NULL, 0, 0, NULL, 0                                               \
    }

/** One case by number. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end). Any thread. */
GANG_API gang_result gang_scenarios_get(const gang_scenarios *scenarios, size_t index,
                                        struct gang_scenario *scenario) GANG_MUST_CHECK;

/**
 * Write a case in the same format, as one JSON object. Reading it again gives the same case.
 * @param indent  spaces a level, 0: one line
 * @return GANG_OK; GANG_EINVAL (the case cannot be expressed); GANG_EIO (the writer refused);
 *   GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_scenario_write(const struct gang_scenario *scenario, int32_t indent,
                                         gang_write_fn write, void *user,
                                         struct gang_error *error) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
