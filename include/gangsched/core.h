/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file core.h
 * @brief The cluster, its nodes, and the workers: handles to change it with.
 *
 * Caveats first
 *   - Allocating, growing, shrinking, freeing, reading and changing the *state* of a node are
 *     lock-free: other threads finish these calls even if one thread stops for ever inside the
 *     library. Only the allocation that this thread was changing stays GANG_EBUSY.
 *   - The *structure mutex* of a cluster is held while a thread adds, changes, finds by name or
 *     removes nodes; registers or resizes kinds; sets modes of partitions or the task mix; makes or
 *     ends a snapshot; compiles a request with labels or affinity rules. No other call takes it.
 *     Calls that take it say "May block (structure mutex)".
 *   - A thread's first call registers it with liburcu (flavour bp), under a mutex of liburcu;
 *     liburcu ends the process if it finds no memory for that. Inside an RCU read section of that
 *     flavour the host must not add or remove nodes, nor wait for a thread that does: that thread
 *     may wait for a grace period, which cannot end before the read section does.
 *   - The memory of removed nodes is returned after an RCU grace period, see
 *     gang_cluster_recycle().
 *   - One thread at a time uses a worker. The worker may move from thread to thread. Threads may
 *     begin and end at any time; the library counts only worker handles.
 *   - No function may be called from a signal handler, except gang_version(), gang_strerror() and
 *     the other functions that return static text. A thread may be cancelled (deferred) while it is
 *     inside the library: no function of this header or of place.h contains a cancellation point,
 *     except in callbacks of the host.
 *   - The library starts no thread, reads no clock and prints nothing.
 *
 * Life of the objects
 *   1. gang_cluster_new() makes a cluster. gang_cluster_free() frees it with everything in it.
 *   2. gang_worker_new() makes a worker, the handle of one thread. At most
 *      gang_cluster_opts.max_workers exist at a time.
 *   3. gang_node_add() and the other node functions change the nodes, from any worker at any time.
 *   4. Allocations (place.h) belong to the cluster, not to the worker that made them.
 *   5. gang_worker_free() frees the worker. The allocations made with it stay.
 *   6. When gang_cluster_free() is called, no other call on this cluster may be under way.
 *      Afterwards its workers and ids are invalid.
 *
 * fork()
 *   The host needs to do nothing. Parent and child continue with independent copies, and each ends
 *   its own with gang_cluster_free(). The child has only the thread that forked. What the other
 *   threads were doing appears in the child as follows:
 *   1. A commit that was under way takes effect whole or not at all; the child completes it.
 *   2. An allocation that another thread was making, changing or reading stays GANG_EBUSY for ever,
 *      or does not exist. Resources that it had taken stay taken, and gang_cluster_check() may
 *      report them.
 *   3. The child must neither use nor free the other threads' workers, since a thread may have been
 *      inside a call. They count towards max_workers until the cluster ends, and a little memory
 *      may leak with them. The child makes new workers.
 *   4. Nodes and kinds are consistent: fork() waits until no thread holds the structure mutex (see
 *      caveats) or waits for an RCU grace period. So fork() may wait for the threads that are
 *      inside the library; if one of them is stopped for ever, fork() waits for ever.
 *   5. The child must not use a cluster that another thread was making or freeing.
 *   A thread may fork while it visits an allocation. It may also fork from the functions of a
 *   gang_mem, from a signal handler that interrupted the library, or inside an RCU read section of
 *   liburcu-bp of its own; but then the child must not use the library. vfork(), posix_spawn() and
 *   a raw clone() do not prepare the child; their children must not use the library either.
 *   A fork handler of the host may take a lock that the host also holds while it calls the library.
 *   Register such handlers after the first gang_cluster_new(), so that they run before the
 *   library's. Otherwise fork() and the lock holder deadlock.
 *   The library calls urcu_bp_before_fork() and its counterparts by pthread_atfork(), for the whole
 *   process. A host that uses flavour bp itself does not call them again. If it must, it calls
 *   urcu_bp_register_thread(), urcu_bp_before_fork() and urcu_bp_read_lock() before fork(), and
 *   urcu_bp_read_unlock() and the urcu_bp_after_fork_...() functions after it. The library
 *   recognises this by the read section. Handlers that wait for threads of bp
 *   (urcu_bp_call_rcu_before_fork) must be registered after the first gang_cluster_new(), so that
 *   they run before the library's. Other flavours of liburcu are not affected.
 *
 * Loading at run time
 *   dlclose() unloads neither the shared library nor liburcu-bp, because liburcu-bp keeps a record
 *   of each thread until the thread ends. A plugin that contains the static library must itself be
 *   linked with -z nodelete. Several copies of the library may be used in one process, but not in
 *   different namespaces of the linker (dlmopen()): there glibc mixes up the thread-local state of
 *   the two copies of liburcu.
 */
#ifndef GANGSCHED_CORE_H
#define GANGSCHED_CORE_H

#include <gangsched/base.h>
#include <gangsched/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A cluster: nodes, kinds, and the record of which resources are allocated. */
typedef struct gang_cluster gang_cluster;
/** A thread's handle on a cluster. */
typedef struct gang_worker gang_worker;

/* ---- cluster --------------------------------------------------------------------------- */

/** Options of a cluster; zero means the default. */
struct gang_cluster_opts {
    size_t size;                /**< sizeof(struct gang_cluster_opts) */
    const char *const *levels;  /**< names of topology levels, widest first, e.g. "zone", "rack" */
    size_t level_count;         /**< <= GANG_MAX_LEVELS */
    const struct gang_mem *mem; /**< allocator, copied; NULL: malloc and free */
    /** Maximum number of nodes, 1..1048575; 0: 1048575. A high value costs no memory. A removed
     *  node counts until nothing on it is allocated and its slot is recycled. */
    int64_t max_nodes;
    int32_t max_workers; /**< workers at a time, 1..2047; 0: 256 */
    /** 0: calls that add or remove nodes may occasionally wait for an RCU grace period, that is
     *  until each thread that is inside the library has left it. 1: they never wait; the host calls
     *  gang_cluster_recycle() from time to time. */
    int32_t manual_recycle;
    /** GANG_POLICY_* for requests with GANG_POLICY_DEFAULT; not GANG_POLICY_HOST */
    int32_t policy;
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
 * Make the cluster that a scenario describes: its levels, kinds, modes of partitions, and nodes,
 * added in topology order.
 * @param scenario from scenario.h; `levels` of opts must be empty
 * @param opts NULL: all defaults. A policy given here overrides that of the scenario
 * @return GANG_OK and *cluster; the errors of gang_cluster_new(), gang_kind_add(),
 *   gang_partition_set(), gang_node_add().
 * Any thread. May allocate.
 */
GANG_API gang_result gang_cluster_build(const struct gang_scenario *scenario,
                                        const struct gang_cluster_opts *opts,
                                        gang_cluster **cluster, struct gang_error *error)
    GANG_MUST_CHECK;

/** Free a cluster with its nodes, workers and allocations. NULL is allowed. No concurrent call on
 *  this cluster, its workers or snapshots. Waits for an RCU grace period. Free its requests
 *  (gang_request_free()), snapshots and schedulers before. */
GANG_API void gang_cluster_free(gang_cluster *cluster);

/** Number of topology levels, and the name of one (0 is the widest; NULL past the end; valid while
 *  the cluster lives). Any thread; wait-free. */
GANG_API int32_t gang_cluster_level_count(const gang_cluster *cluster);
GANG_API const char *gang_cluster_level_name(const gang_cluster *cluster, int32_t level);

/**
 * Free the memory of removed nodes and of replaced tables, and make the nodes' slots usable again.
 * The call waits until every other thread that is inside the library at this moment has left it
 * once; if one of them is stopped for ever, the call never returns. Commits of other threads
 * continue meanwhile.
 * @return GANG_OK; GANG_EINVAL. Any thread. May block (structure mutex).
 */
GANG_API gang_result gang_cluster_recycle(gang_cluster *cluster);

/**
 * Audit, for tests of hosts: compares the record of each node with the sum of its live allocations,
 * with its capacity, and with the index of free capacity.
 * @return GANG_OK; GANG_EINVAL with the first discrepancy in `error`; GANG_ENOMEM.
 * No concurrent change of this cluster. O(nodes + tasks). May allocate.
 */
GANG_API gang_result gang_cluster_check(gang_cluster *cluster, struct gang_error *error)
    GANG_MUST_CHECK;

/* ---- workers --------------------------------------------------------------------------- */

/**
 * Make a worker, a handle to change the cluster with. gang_worker_free() keeps its memory for the
 * next worker; gang_cluster_free() frees it.
 * @return GANG_OK; GANG_EINVAL; GANG_ELIMIT (there are max_workers already); GANG_ENOMEM.
 * Any thread. May allocate; lock-free.
 */
GANG_API gang_result gang_worker_new(gang_cluster *cluster, gang_worker **worker) GANG_MUST_CHECK;

/** Free a worker. Allocations made with it stay. NULL is allowed. Owner of the worker. */
GANG_API void gang_worker_free(gang_worker *worker);

/** The cluster to which a worker belongs. Any thread; wait-free. */
GANG_API gang_cluster *gang_worker_cluster(const gang_worker *worker);

/** Counters of a worker since gang_worker_new(). */
struct gang_worker_stats {
    size_t size;       /**< sizeof(struct gang_worker_stats) */
    int64_t commits;   /**< operations of this worker that took effect */
    int64_t refusals;  /**< requests answered GANG_ENOFIT or GANG_ENEVER */
    int64_t conflicts; /**< operations planned again because another thread had changed a node */
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
    int32_t kind;      /**< number of the kind, >= 0; does not change while the cluster lives */
    int32_t scope;     /**< GANG_SCOPE_* */
    const char *name;  /**< valid while the cluster lives */
    const char *unit;  /**< e.g. "millicores", "bytes", "licences"; valid while the cluster lives */
    int64_t capacity;  /**< GANG_SCOPE_CLUSTER: size of the pool; else 0 */
    int64_t available; /**< GANG_SCOPE_CLUSTER: free part of the pool; else 0 */
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
 * @param capacity GANG_SCOPE_CLUSTER: size of the pool, 0..GANG_MAX_AMOUNT; GANG_SCOPE_NODE: 0
 * @param kind      receives the number; may be NULL
 * @return GANG_OK; GANG_EINVAL; GANG_EEXIST; GANG_ERANGE; GANG_ELIMIT (there are GANG_MAX_KINDS
 *   already); GANG_ENOMEM.
 * Owner of the worker. May block (structure mutex), may allocate.
 */
GANG_API gang_result gang_kind_add(gang_worker *worker, const char *name, const char *unit,
                                   int32_t scope, int64_t capacity, int32_t *kind) GANG_MUST_CHECK;

/**
 * Change the size of a cluster-wide pool.
 * @return GANG_OK; GANG_EINVAL (no such cluster-wide kind); GANG_ERANGE; GANG_ENOMEM; GANG_EBUSY
 *   (more than the new size is allocated).
 * Owner of the worker. May block (structure mutex).
 */
GANG_API gang_result gang_kind_resize(gang_worker *worker, int32_t kind, int64_t capacity)
    GANG_MUST_CHECK;

/** Number of a kind by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Any thread; wait-free. */
GANG_API gang_result gang_kind_find(const gang_cluster *cluster, const char *name, int32_t *kind)
    GANG_MUST_CHECK;

/** Describe a kind. While gang_kind_resize() is under way, `capacity` may be the old one.
 *  @return GANG_OK; GANG_EINVAL; GANG_ENOENT (number past the last kind).
 *  Any thread; lock-free. */
GANG_API gang_result gang_kind_get(gang_cluster *cluster, int32_t kind, struct gang_kind_info *info)
    GANG_MUST_CHECK;

/* ---- partitions ------------------------------------------------------------------------ */

/**
 * Set the mode of a partition: which requests may use its nodes. The default is
 * GANG_PARTITION_SHARED. Running tasks stay. A call that is searching for nodes at the same time
 * may still use the old mode.
 *   - A group that names a partition (gang_group_spec.partition) gets nodes of that partition only.
 *   - A node in exclusive partitions takes only tasks of groups that name one of these, whatever
 *     other partitions it is in.
 *   - A node in lending partitions is an ordinary node for groups that name one of these. Other
 *     groups get it only if no other node that they may use has free capacity. They take a node of
 *     a less preferred GPU model before it, and for tasks without GPUs a node with GPUs.
 *   - With a scheduler (sched.h) a job that names an exclusive or lending partition may preempt
 *     jobs of other queues that run on its nodes without naming it: gang_queue_spec.reclaim.
 * If the mode causes a refusal, the constraint is GANG_CONSTRAINT_PARTITION. The answer is
 * GANG_ENEVER until the mode changes.
 * @param name 1..GANG_MAX_NAME bytes; the partition may have no nodes yet. Each name used here, in
 *   a node or in a request takes memory until the cluster ends
 * @param mode GANG_PARTITION_*
 * @return GANG_OK; GANG_EINVAL (name, mode); GANG_ENOMEM.
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate.
 * O(partitions whose mode was ever set).
 */
GANG_API gang_result gang_partition_set(gang_worker *worker, const char *name, int32_t mode)
    GANG_MUST_CHECK;

/** The mode of a partition; GANG_PARTITION_SHARED for an unknown name. @return GANG_OK;
 *  GANG_EINVAL. Any thread; lock-free. */
GANG_API gang_result gang_partition_get(gang_cluster *cluster, const char *name, int32_t *mode)
    GANG_MUST_CHECK;

/* ---- nodes ----------------------------------------------------------------------------- */

/**
 * Add a node. With state GANG_NODE_UP it accepts tasks as soon as the call takes effect.
 * @param spec copied
 * @param id receives the node's id; may be NULL
 * @return GANG_OK; the errors of gang_node_spec_check(); GANG_EEXIST (a node of this name);
 *   GANG_ENOENT (an amount names an unknown kind, topology names an unknown level); GANG_ELIMIT
 *   (max_nodes; or more than 255 GPU models, where one model counts up to three times: on nodes
 *   with MIG partitions of it, with whole devices, and with both); GANG_ENOMEM.
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate. O(size of
 * the specification), amortised.
 */
GANG_API gang_result gang_node_add(gang_worker *worker, const struct gang_node_spec *spec,
                                   gang_node_id *id, struct gang_error *error) GANG_MUST_CHECK;

/**
 * Add several nodes: all, or none on an error. Faster than several calls of gang_node_add(). The
 * nodes appear one after the other in the order given, not at one instant.
 * @param specs array of `count` specifications, each of specs[0].size bytes; copied
 * @param ids receives `count` ids (GANG_ID_NONE on an error); may be NULL
 * @return as gang_node_add(); the error's path begins with "nodes[i]".
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate. O(sum of
 * the specifications).
 */
GANG_API gang_result gang_nodes_add(gang_worker *worker, const struct gang_node_spec *specs,
                                    size_t count, gang_node_id *ids, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Change the description of a node. Name, GPUs, links, NUMA domains, cores and the kinds of
 * `amounts` must be as before; to change those, remove the node and add it again. Capacities,
 * amounts, profiles, labels, partitions, position in the topology, state and the GPUs' health may
 * differ. cpu_milli decides whether tasks get named cores: it must stay at most 1000 * core_count
 * if it was, and above if it was above.
 * Running allocations stay. All parts change in one step, as seen by gang_node_get(),
 * gang_node_get_spec() and snapshots. A call that is searching for nodes at the same time may still
 * use the old labels, partitions and position.
 * @return GANG_OK; the errors of gang_node_add(); GANG_ESTALE; GANG_EINVAL (devices differ);
 *   GANG_EBUSY (more than the new capacity is allocated; `error` names the kind).
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate.
 */
GANG_API gang_result gang_node_change(gang_worker *worker, gang_node_id id,
                                      const struct gang_node_spec *spec, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Set the state of a node: GANG_NODE_UP, GANG_NODE_DRAINING or GANG_NODE_DOWN. Allocations stay. A
 * scheduler on this cluster treats the tasks of its jobs on a node that is down as lost, from its
 * next run on; see also gang_report_node_lost() (sched.h).
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM (only at a worker's first operation).
 * Owner of the worker. Lock-free.
 */
GANG_API gang_result gang_node_set_state(gang_worker *worker, gang_node_id id, int32_t state)
    GANG_MUST_CHECK;

/**
 * Mark a device (a GPU or a MIG partition) as GANG_GPU_UNHEALTHY, or as GANG_GPU_OK again. An
 * unhealthy device keeps its tasks and accepts no new ones, except by gang_alloc_adopt(). It still
 * counts in gpus_free and the other numbers of gang_node_info. GANG_ENEVER treats it as healthy,
 * since it may be repaired. A call that is searching for nodes at the same time may still place a
 * task on a device that becomes unhealthy, or refuse because of one that becomes healthy.
 * gang_gpu_spec.state is the initial state; gang_node_change() sets it again.
 * @param gpu index of the device in the node's specification
 * @return GANG_OK, also if nothing changed; GANG_EINVAL (no such device or state); GANG_ESTALE;
 *   GANG_ENOMEM (only at a worker's first operation).
 * Owner of the worker. Lock-free. O(1).
 */
GANG_API gang_result gang_gpu_set_state(gang_worker *worker, gang_node_id id, int32_t gpu,
                                        int32_t state) GANG_MUST_CHECK;

/**
 * Remove a node. As soon as the call takes effect, no new task is placed there, its name may be
 * used again, and its state is GANG_NODE_REMOVED. Allocations that hold part of it stay until they
 * are shrunk or freed; then the id becomes stale. A scheduler on this cluster treats the tasks of
 * its jobs there as lost, from its next run on.
 * @return GANG_OK; GANG_ESTALE; GANG_ENOMEM.
 * Owner of the worker. May block (structure mutex, and see manual_recycle), may allocate. O(nodes
 * in its domains), in time, and in memory until the next recycling.
 */
GANG_API gang_result gang_node_remove(gang_worker *worker, gang_node_id id) GANG_MUST_CHECK;

/** Id of a node by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Any thread. May block
 *  (structure mutex). O(1). */
GANG_API gang_result gang_node_find(gang_cluster *cluster, const char *name, gang_node_id *id)
    GANG_MUST_CHECK;

/** A node at one instant. Numbers of GPUs and cores are indexes into its specification. */
struct gang_node_info {
    size_t size; /**< sizeof(struct gang_node_info) */
    gang_node_id id;
    int32_t state; /**< GANG_NODE_* */
    int32_t gpu_count;
    int32_t core_count;
    int32_t gpus_free;              /**< GPUs that are wholly free, MIG partitions included */
    int64_t cpu_milli;              /**< capacity */
    int64_t memory_bytes;           /**< capacity, whole pages */
    int64_t cpu_free;               /**< millicores */
    int64_t memory_free;            /**< bytes */
    int64_t gpu_free;               /**< milli-GPUs, summed over all devices */
    uint64_t gpu_mask;              /**< bit i: GPU i is wholly free */
    int64_t amount[GANG_MAX_KINDS]; /**< capacity of each kind of the site, by number of the kind */
    int64_t amount_free[GANG_MAX_KINDS];    /**< free amount of each */
    uint16_t gpu_share_free[GANG_MAX_GPUS]; /**< milli-GPUs free of each device */
    char name[GANG_MAX_NAME + 1];
    uint64_t gpu_unhealthy; /**< bit i: GPU i is unhealthy */
};

#define GANG_NODE_INFO_INIT                                                                   \
    {                                                                                         \
        sizeof(struct gang_node_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}, {0}, 0 \
    }

/**
 * Read a node. All numbers are of the same instant.
 * @param info info->size must be set
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE.
 * Any thread. Lock-free. If a commit on this node is under way, the call completes it first.
 */
GANG_API gang_result gang_node_get(gang_cluster *cluster, gang_node_id id,
                                   struct gang_node_info *info) GANG_MUST_CHECK;

/**
 * A copy of the specification of a node that is in force, with the same numbering of cores and
 * GPUs. Its `topology` is in the order of gang_cluster_opts.levels. Free it with
 * gang_node_spec_free(). @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM. Any thread. May
 * allocate.
 */
GANG_API gang_result gang_node_get_spec(gang_cluster *cluster, gang_node_id id,
                                        struct gang_node_spec **spec) GANG_MUST_CHECK;

/**
 * Iterate over the nodes: GANG_ID_NONE gives the first node, the id of a node the next one; the
 * result after the last is GANG_ID_NONE. The order is that of slots: a new node gets a free slot,
 * so nodes that were added one after the other mostly follow each other. Nodes that are added or
 * removed during the iteration may be missed. Any thread; lock-free.
 */
GANG_API gang_node_id gang_node_next(gang_cluster *cluster, gang_node_id id);

/** Number of nodes that are not removed. Any thread; wait-free. */
GANG_API int64_t gang_node_count(const gang_cluster *cluster);

#ifdef __cplusplus
}
#endif
#endif
