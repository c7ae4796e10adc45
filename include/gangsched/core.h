/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file core.h
 * @brief What is taken: the cluster, its nodes, and the workers that change it.
 *
 * Caveats first
 *   - Allocating, growing, shrinking, freeing, reading and changing the *state* of a node are
 *     lock-free: a thread that stops for ever anywhere inside the library does not keep other
 *     threads from finishing. (It does block the one allocation that it is changing: GANG_EBUSY.)
 *     *Adding, changing, finding by name and removing* nodes, and registering and resizing kinds,
 *     take a mutex that no other operation takes.
 *   - A thread's first call registers it with liburcu (flavour bp), under a mutex of liburcu;
 *     liburcu ends the process if it finds no memory for that. Do not call the library inside an
 *     RCU read section of that flavour of your own and then wait there for adding or removing
 *     nodes.
 *   - The memory of removed nodes is returned after an RCU grace period, see
 *     gang_cluster_recycle().
 *   - One thread at a time uses a worker. The worker may move from thread to thread. Threads may
 *     come and go freely; only handles are counted.
 *   - No function may be called from a signal handler, except gang_version(), gang_strerror() and
 *     the other functions that return static text. A thread may be cancelled (deferred) while it is
 *     inside the library: no function of this header or of place.h is a cancellation point, unless
 *     the host's own callbacks are.
 *   - The library starts no thread, reads no clock and prints nothing.
 *
 * Life of the objects
 *   1. gang_cluster_new() makes a cluster, gang_cluster_free() ends it and everything in it.
 *   2. gang_worker_new() gives a thread its handle; up to gang_cluster_opts.max_workers at a time.
 *   3. gang_node_add() and the other node functions change the nodes, from any worker at any time.
 *   4. Allocations (place.h) belong to the cluster, not to the worker that made them.
 *   5. gang_worker_free() returns the handle; the allocations made with it stay.
 *   6. Before gang_cluster_free() every worker must be out of the library; the handles and all ids
 *   end with the cluster.
 *
 * fork()
 *   The host needs to do nothing. Parent and child continue with independent copies, and each ends
 *   its own with gang_cluster_free(). The child has only the thread that forked. Of the other
 *   threads' work it has:
 *   1. Commits under way took effect whole or not at all; the child completes them.
 *   2. An allocation that another thread was making, changing or reading stays GANG_EBUSY, or does
 *   not appear at all; what it had taken stays taken, and gang_cluster_check() may report it.
 *   3. The other threads' handles must be neither used nor freed, since a thread may have been
 *   inside a call; they count until the cluster ends. Make new ones. A few pieces of memory may be
 *   lost with them.
 *   4. Nodes and kinds are whole: fork() waits for calls under the mutex (see caveats) and for RCU
 *   grace periods of other threads, hence for the threads inside the library. If one of those is
 *   stopped for ever, fork() waits for ever.
 *   5. A cluster that another thread was making or freeing must not be touched.
 *   A thread may fork while it visits an allocation. It may also fork from the functions of a
 *   gang_mem, from a signal handler that interrupted the library, or inside an RCU read section of
 *   liburcu-bp of its own; but then the child must not use the library. vfork(), posix_spawn() and
 *   a raw clone() do not prepare the child; their children must not use the library either.
 *   A fork handler of the host may take a lock that the host also holds while it calls the library.
 *   Register such handlers after the first gang_cluster_new(), so that they run before the
 *   library's. Otherwise fork() and the lock holder deadlock.
 *   The library calls urcu_bp_before_fork() and its counterparts by pthread_atfork(), for the whole
 *   process. A host that uses flavour bp itself does not call them again. If it must, it calls
 *   urcu_bp_register_thread() before urcu_bp_before_fork() and stays inside a read section of bp
 *   from there until after fork(); this tells the library. Handlers that wait for threads of bp
 *   (urcu_bp_call_rcu_before_fork) must be registered after the first gang_cluster_new(), so that
 *   they run before the library's. Other flavours do not matter.
 *
 * Loading at run time
 *   dlclose() unloads neither the shared library nor liburcu-bp, which remembers threads until they
 *   end. A plugin that contains the static library must itself be linked with -z nodelete. Several
 *   copies of the library in one process do not disturb each other, except in a namespace of its
 *   own (dlmopen): there glibc mixes up the thread-local state of the two liburcu copies.
 */
#ifndef GANGSCHED_CORE_H
#define GANGSCHED_CORE_H

#include <gangsched/base.h>
#include <gangsched/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A cluster: nodes, kinds, and the record of what is taken. */
typedef struct gang_cluster gang_cluster;
/** A thread's handle on a cluster. */
typedef struct gang_worker gang_worker;

/* ---- cluster --------------------------------------------------------------------------- */

/** Options of a cluster; zero means the default. */
struct gang_cluster_opts {
    size_t size;               /**< sizeof(struct gang_cluster_opts) */
    const char *const *levels; /**< topology levels of the site, widest first, e.g. "zone","rack" */
    size_t level_count;        /**< <= GANG_MAX_LEVELS */
    const struct gang_mem *mem; /**< allocator, copied; NULL: malloc and free */
    /** Maximum of nodes, 1..1048575; 0: 1048575. Costs no memory. A removed node counts until
     *  nothing of it is allocated and its slot is recycled. */
    int64_t max_nodes;
    int32_t max_workers; /**< workers at a time, 1..2047; 0: 256 */
    /** 0: adding and removing nodes may occasionally wait for a grace period, that is for other
     *  threads to leave the library. 1: they never wait; the host calls gang_cluster_recycle(). */
    int32_t manual_recycle;
    int32_t policy;    /**< GANG_POLICY_* of requests that name none; not GANG_POLICY_HOST */
    int32_t reserved0; /**< 0 */
};

#define GANG_CLUSTER_OPTS_INIT                                         \
    {                                                                  \
        sizeof(struct gang_cluster_opts), NULL, 0, NULL, 0, 0, 0, 0, 0 \
    }

/**
 * Make an empty cluster.
 * @param opts     NULL: all defaults
 * @param cluster  receives the cluster; end it with gang_cluster_free()
 * @return GANG_OK; GANG_EINVAL (level name empty or twice, half an allocator, policy); GANG_E2BIG;
 *   GANG_ERANGE (max_nodes, max_workers); GANG_ELIMIT (too many levels); GANG_ENOMEM.
 * Any thread. May allocate.
 */
GANG_API gang_result gang_cluster_new(const struct gang_cluster_opts *opts, gang_cluster **cluster,
                                      struct gang_error *error) GANG_MUST_CHECK;

struct gang_scenario; /* scenario.h */

/**
 * Make the cluster of a case: its levels, kinds, modes of partitions, and nodes, added in topology
 * order.
 * @param scenario from scenario.h; `levels` of opts must be empty
 * @param opts NULL: all defaults. A policy given here overrides that of the case
 * @return GANG_OK and *cluster; the errors of gang_cluster_new(), gang_kind_add(),
 *   gang_partition_set(), gang_node_add().
 * Any thread. May allocate.
 */
GANG_API gang_result gang_cluster_build(const struct gang_scenario *scenario,
                                        const struct gang_cluster_opts *opts,
                                        gang_cluster **cluster, struct gang_error *error)
    GANG_MUST_CHECK;

/** End a cluster with its nodes, workers and allocations. NULL is allowed. No concurrent call on
 *  this cluster or anything of it. Waits for an RCU grace period. */
GANG_API void gang_cluster_free(gang_cluster *cluster);

/** Number of topology levels, and the name of one (0 is the widest; NULL past the end; valid while
 *  the cluster lives). Any thread; wait-free. */
GANG_API int32_t gang_cluster_level_count(const gang_cluster *cluster);
GANG_API const char *gang_cluster_level_name(const gang_cluster *cluster, int32_t level);

/**
 * Return the memory of removed nodes and of replaced tables, and make their slots usable again.
 * Waits until every other thread that is inside the library at this moment has left it once; if one
 * of them is stopped for ever, it waits for ever. Commits continue meanwhile.
 * @return GANG_OK. Any thread. May block.
 */
GANG_API gang_result gang_cluster_recycle(gang_cluster *cluster);

/**
 * Audit: compares every node's record with the sum of the live allocations, with its capacity, and
 * with the free-capacity index. For tests, and for hosts that want to be certain.
 * @return GANG_OK; GANG_EINVAL with the first discrepancy in `error`; GANG_ENOMEM.
 * No concurrent change of this cluster. O(nodes + tasks). May allocate.
 */
GANG_API gang_result gang_cluster_check(gang_cluster *cluster, struct gang_error *error)
    GANG_MUST_CHECK;

/* ---- workers --------------------------------------------------------------------------- */

/**
 * A handle to change the cluster with. Its memory is kept and reused until the cluster ends.
 * @return GANG_OK; GANG_EINVAL; GANG_ELIMIT (max_workers are in use); GANG_ENOMEM.
 * Any thread. May allocate; lock-free.
 */
GANG_API gang_result gang_worker_new(gang_cluster *cluster, gang_worker **worker) GANG_MUST_CHECK;

/** Return a handle. NULL is allowed. Owner of the worker. */
GANG_API void gang_worker_free(gang_worker *worker);

/** The cluster a worker belongs to. Any thread; wait-free. */
GANG_API gang_cluster *gang_worker_cluster(const gang_worker *worker);

/** Counters of a worker since gang_worker_new(); all in operations. */
struct gang_worker_stats {
    size_t size;       /**< sizeof(struct gang_worker_stats) */
    int64_t commits;   /**< operations that took effect */
    int64_t refusals;  /**< requests answered GANG_ENOFIT or GANG_ENEVER */
    int64_t conflicts; /**< commits that met a concurrent change and were planned again */
    int64_t helps;     /**< operations of other workers that this one completed */
};

#define GANG_WORKER_STATS_INIT                       \
    {                                                \
        sizeof(struct gang_worker_stats), 0, 0, 0, 0 \
    }

/** Read the counters. @return GANG_OK; GANG_EINVAL. Owner of the worker; wait-free. */
GANG_API gang_result gang_worker_get_stats(const gang_worker *worker,
                                           struct gang_worker_stats *stats);

/* ---- kinds ----------------------------------------------------------------------------- */

/** A resource kind. */
struct gang_kind_info {
    size_t size;       /**< sizeof(struct gang_kind_info) */
    int32_t kind;      /**< number of the kind, >= 0, constant while the cluster lives */
    int32_t scope;     /**< GANG_SCOPE_* */
    const char *name;  /**< valid while the cluster lives */
    const char *unit;  /**< e.g. "millicores", "bytes", "licences"; valid while the cluster lives */
    int64_t capacity;  /**< GANG_SCOPE_CLUSTER: size of the pool; else 0 */
    int64_t available; /**< GANG_SCOPE_CLUSTER: what is free of it; else 0 */
};

#define GANG_KIND_INFO_INIT                                   \
    {                                                         \
        sizeof(struct gang_kind_info), 0, 0, NULL, NULL, 0, 0 \
    }

/**
 * Register a kind of the site.
 * @param name      unique among kinds; 1..GANG_MAX_NAME bytes; not "gpu_memory"
 * @param unit      text for people; NULL or "": "units"
 * @param scope     GANG_SCOPE_*
 * @param capacity  of a cluster-wide pool, 0..GANG_MAX_AMOUNT; 0 for GANG_SCOPE_NODE
 * @param kind      receives the number; may be NULL
 * @return GANG_OK; GANG_EINVAL; GANG_EEXIST; GANG_ERANGE; GANG_ELIMIT (GANG_MAX_KINDS are there);
 *   GANG_ENOMEM.
 * Owner of the worker. May block (structure mutex), may allocate.
 */
GANG_API gang_result gang_kind_add(gang_worker *worker, const char *name, const char *unit,
                                   int32_t scope, int64_t capacity, int32_t *kind) GANG_MUST_CHECK;

/**
 * Change the size of a cluster-wide pool.
 * @return GANG_OK; GANG_EINVAL (no such cluster-wide kind); GANG_ERANGE; GANG_ENOMEM; GANG_EBUSY
 *   (more is taken than the new size; nothing changed).
 * Owner of the worker. May block (structure mutex).
 */
GANG_API gang_result gang_kind_resize(gang_worker *worker, int32_t kind, int64_t capacity)
    GANG_MUST_CHECK;

/** Number of a kind by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Any thread; wait-free. */
GANG_API gang_result gang_kind_find(const gang_cluster *cluster, const char *name, int32_t *kind)
    GANG_MUST_CHECK;

/** Describe a kind. While gang_kind_resize() is under way `capacity` may be that of before.
 *  @return GANG_OK; GANG_EINVAL; GANG_ENOENT (number past the last kind).
 *  Any thread; lock-free. */
GANG_API gang_result gang_kind_get(gang_cluster *cluster, int32_t kind, struct gang_kind_info *info)
    GANG_MUST_CHECK;

/* ---- partitions ------------------------------------------------------------------------ */

/**
 * Set which requests may use the nodes of a partition; GANG_PARTITION_SHARED by default. Running
 * tasks stay. A search that is under way may still use the old mode.
 *   - A request that names a partition (gang_group_spec.partition) gets nodes of that partition
 *     only.
 *   - A node in exclusive partitions is for requests that name one of those, whatever other
 *     partitions it is in.
 *   - A node in lending partitions serves requests that name one of those like any other node.
 *     Other requests get it only if no other allowed node has free capacity, even a node of a less
 *     preferred GPU model, or one with GPUs for tasks without.
 *   - A scheduler (sched.h) gives nodes back: a job that names an exclusive or lending partition
 *     may preempt jobs of other queues that borrow its nodes, see gang_queue_spec.reclaim.
 * A refusal that the mode causes has GANG_CONSTRAINT_PARTITION, and is GANG_ENEVER as long as the
 * mode lasts.
 * @param name 1..GANG_MAX_NAME bytes; it may have no nodes yet. A name ever used here, by a node or
 *   by a request is kept until the cluster ends
 * @param mode GANG_PARTITION_*
 * @return GANG_OK; GANG_EINVAL (name, mode); GANG_ENOMEM.
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate.
 * O(partitions whose mode was set at any time).
 */
GANG_API gang_result gang_partition_set(gang_worker *worker, const char *name, int32_t mode)
    GANG_MUST_CHECK;

/** The mode of a partition; GANG_PARTITION_SHARED for an unknown name. @return GANG_OK;
 *  GANG_EINVAL. Any thread; lock-free. */
GANG_API gang_result gang_partition_get(gang_cluster *cluster, const char *name, int32_t *mode)
    GANG_MUST_CHECK;

/* ---- nodes ----------------------------------------------------------------------------- */

/**
 * Add a machine. With GANG_NODE_UP it accepts tasks from the moment the call takes effect.
 * @param spec copied
 * @param id receives the node's id; may be NULL
 * @return GANG_OK; the errors of gang_node_spec_check(); GANG_EEXIST (a node of this name);
 *   GANG_ENOENT (an amount names an unknown kind, topology names an unknown level); GANG_ELIMIT
 *   (max_nodes; or more than 255 GPU models, where a model counts separately as MIG partitions, as
 *   whole devices, and on nodes with both); GANG_ENOMEM.
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate. O(size of
 * the specification), on average, since tables double.
 */
GANG_API gang_result gang_node_add(gang_worker *worker, const struct gang_node_spec *spec,
                                   gang_node_id *id, struct gang_error *error) GANG_MUST_CHECK;

/**
 * Add many machines, or none: a refused one changes nothing. Faster than one by one. They come up
 * in the order given, not in one instant.
 * @param specs `count` of them beside each other, all of specs[0].size bytes; copied
 * @param ids receives `count` ids, GANG_ID_NONE on an error; may be NULL
 * @return as gang_node_add(); the error's path begins with "nodes[i]".
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate. O(sum of
 * the specifications).
 */
GANG_API gang_result gang_nodes_add(gang_worker *worker, const struct gang_node_spec *specs,
                                    size_t count, gang_node_id *ids, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Change the description of a machine. Name, GPUs, links, NUMA domains and cores must be as before
 * (to change those, remove and add the node). Capacities, amounts (of the same kinds), profiles,
 * labels, partitions, position in the topology, state and the GPUs' health may differ. cpu_milli
 * must stay on the same side of 1000 times the number of cores, since that decides whether cores
 * are assigned by name.
 * Running allocations stay. Capacity, state and health change in one step; gang_node_get(),
 * gang_node_get_spec() and snapshots see the rest change with them. A search that is under way may
 * still use the old labels and position.
 * @return GANG_OK; the errors of gang_node_add(); GANG_ESTALE; GANG_EINVAL (devices differ);
 *   GANG_EBUSY (more is taken than the new capacity; `error` names the kind; nothing changed).
 * Owner of the worker. May block, may allocate.
 */
GANG_API gang_result gang_node_change(gang_worker *worker, gang_node_id id,
                                      const struct gang_node_spec *spec, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Set the state: GANG_NODE_UP, GANG_NODE_DRAINING or GANG_NODE_DOWN. For the nodes of a scheduler
 * see also gang_report_node_lost() (sched.h): tasks of its jobs on a node that is down are lost.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM (only at a worker's first operation).
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_node_set_state(gang_worker *worker, gang_node_id id, int32_t state)
    GANG_MUST_CHECK;

/**
 * Mark a device (a GPU or a MIG partition) as GANG_GPU_UNHEALTHY, or as GANG_GPU_OK again. An
 * unhealthy device keeps its tasks, whole or shared, and accepts no new ones; only
 * gang_alloc_adopt() still uses it. It still counts in gpus_free and the other numbers. In the
 * question whether something could *ever* fit it counts as healthy, since it may be repaired. A
 * search that is under way may still place tasks on it. After the device is healthy again, only a
 * search that began before can still refuse because of it. gang_gpu_spec.state is the first state;
 * gang_node_change() sets it again.
 * @param gpu index of the device in the node's specification
 * @return GANG_OK, also if nothing changed; GANG_EINVAL (no such device or state); GANG_ESTALE;
 *   GANG_ENOMEM (only at a worker's first operation).
 * Owner of the worker. Lock-free. O(1).
 */
GANG_API gang_result gang_gpu_set_state(gang_worker *worker, gang_node_id id, int32_t gpu,
                                        int32_t state) GANG_MUST_CHECK;

/**
 * Remove a machine. From the moment the call takes effect no new task is placed there, its name is
 * free again, and its state is GANG_NODE_REMOVED. Allocations that hold part of it stay until they
 * are shrunk or freed; then the id becomes stale. A scheduler takes the tasks of its jobs there for
 * lost in its next run.
 * @return GANG_OK; GANG_ESTALE; GANG_ENOMEM.
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate. O(nodes
 * of its domains), in time and, until memory is next recycled, in memory.
 */
GANG_API gang_result gang_node_remove(gang_worker *worker, gang_node_id id) GANG_MUST_CHECK;

/** Id of a node by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Any thread. May block
 *  (structure mutex). O(1). */
GANG_API gang_result gang_node_find(gang_cluster *cluster, const char *name, gang_node_id *id)
    GANG_MUST_CHECK;

/** A node at one instant. */
struct gang_node_info {
    size_t size; /**< sizeof(struct gang_node_info) */
    gang_node_id id;
    int32_t state; /**< GANG_NODE_* */
    int32_t gpu_count;
    int32_t core_count;
    int32_t gpus_free;                      /**< wholly free GPUs, MIG partitions included */
    int64_t cpu_milli;                      /**< capacity */
    int64_t memory_bytes;                   /**< capacity, whole pages */
    int64_t cpu_free;                       /**< millicores */
    int64_t memory_free;                    /**< bytes */
    int64_t gpu_free;                       /**< milli-GPUs, over all devices */
    uint64_t gpu_mask;                      /**< bit i: GPU i is wholly free */
    int64_t amount[GANG_MAX_KINDS];         /**< capacity of each kind of the site, by number */
    int64_t amount_free[GANG_MAX_KINDS];    /**< free amount of it */
    uint16_t gpu_share_free[GANG_MAX_GPUS]; /**< milli-GPUs free of each device */
    char name[GANG_MAX_NAME + 1];
    uint64_t gpu_unhealthy; /**< bit i: GPU i is unhealthy */
};

#define GANG_NODE_INFO_INIT                                                                   \
    {                                                                                         \
        sizeof(struct gang_node_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}, {0}, 0 \
    }

/**
 * Read a node. All numbers belong to one instant.
 * @param info info->size must be set
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE.
 * Any thread. Lock-free; completes a commit under way on this node.
 */
GANG_API gang_result gang_node_get(gang_cluster *cluster, gang_node_id id,
                                   struct gang_node_info *info) GANG_MUST_CHECK;

/**
 * A copy of the node's last specification, with the same numbering of cores and GPUs; its
 * `topology` is in the order of the levels. Free it with gang_node_spec_free(). @return GANG_OK;
 * GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_node_get_spec(gang_cluster *cluster, gang_node_id id,
                                        struct gang_node_spec **spec) GANG_MUST_CHECK;

/**
 * The next node after `id` in the cluster's order (slots; near in the topology if they were added
 * so), GANG_ID_NONE first and after the last. Nodes added or removed meanwhile may be missed.
 * Any thread; lock-free.
 */
GANG_API gang_node_id gang_node_next(gang_cluster *cluster, gang_node_id id);

/** Nodes that are not removed. Any thread; wait-free. */
GANG_API int64_t gang_node_count(const gang_cluster *cluster);

#ifdef __cplusplus
}
#endif
#endif
