/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file snapshot.h
 * @brief Snapshots: the whole cluster at one instant, for reports, planning and what-if questions.
 *
 * Caveats first
 *   - Taking a snapshot stops no thread: commits continue and never wait for it. While a snapshot
 *     is being taken, a commit first saves the nodes that it changes, each node at most once for
 *     each snapshot.
 *   - At most 16 threads may be inside gang_snapshot_take() at the same time; any number of
 *     snapshots may exist. A thread that stops for ever inside it keeps one of the 16 places and,
 *     as in any call, keeps removed nodes from being recycled.
 *   - A snapshot of nodes with 8 GPUs and 64 cores takes about 60 bytes a node, rounded up to a
 *     power of two. The cluster needs the same amount again for each snapshot that is being taken
 *     at the same time.
 *   - While a snapshot exists, the memory of removed nodes that it shows is not freed. Their slots
 *     may be reused.
 *   - Changing a snapshot changes nothing in the cluster. A snapshot records what is free, but not
 *     which allocation holds the rest.
 *
 * Life
 *   1. gang_snapshot_new() makes an empty snapshot; gang_snapshot_free() frees it.
 *   2. gang_snapshot_take() fills it, as often as needed.
 *   3. Read it with gang_snapshot_node_*() and gang_snapshot_totals().
 *   4. Ask "what if" with gang_snapshot_place() and the other functions below.
 *   5. The host frees all snapshots before it calls gang_cluster_free().
 */
#ifndef GANGSCHED_SNAPSHOT_H
#define GANGSCHED_SNAPSHOT_H

#include <gangsched/base.h>
#include <gangsched/core.h>

#ifdef __cplusplus
extern "C" {
#endif

/** All nodes and pools of a cluster as they were at one instant. */
typedef struct gang_snapshot gang_snapshot;

struct gang_request; /* place.h */

/* ---- taking ---------------------------------------------------------------------------- */

/**
 * Make a snapshot that shows no nodes yet.
 * @param snapshot receives the snapshot; free it with gang_snapshot_free()
 * @return GANG_OK; GANG_EINVAL; GANG_ENOMEM.
 * Any thread. May block (structure mutex), may allocate.
 */
GANG_API gang_result gang_snapshot_new(gang_cluster *cluster, gang_snapshot **snapshot)
    GANG_MUST_CHECK;

/** Free a snapshot. NULL is allowed. No concurrent call on this snapshot. May block (structure
 *  mutex). */
GANG_API void gang_snapshot_free(gang_snapshot *snapshot);

/**
 * Fill a snapshot, replacing its former content: all nodes and pools as they were at one instant
 * during the call. The snapshot contains each operation of any worker wholly or not at all. It
 * contains an operation that returned before the call began; it does not contain one that begins
 * after the call returned. If one operation returned before another began, the snapshot does not
 * contain the later one without the earlier one.
 * @return GANG_OK; GANG_EINVAL (also: a snapshot of another cluster); GANG_EBUSY (16 are being
 *   taken at this moment); GANG_ENOMEM. On an error the former content stays.
 * Owner of the worker, and no concurrent call on this snapshot. Lock-free; completes commits that
 * are under way. Allocates in the first call for a snapshot, and after the cluster has grown.
 * O(nodes).
 */
GANG_API gang_result gang_snapshot_take(gang_worker *worker, gang_snapshot *snapshot)
    GANG_MUST_CHECK;

/* ---- reading --------------------------------------------------------------------------- */

/** Number of nodes that were not removed; 0 if the snapshot was never taken or is NULL.
 *  No concurrent change of this snapshot; wait-free. */
GANG_API int64_t gang_snapshot_node_count(const gang_snapshot *snapshot);

/** Iterate over the nodes that gang_snapshot_node_count() counts, in the order of gang_node_next():
 *  GANG_ID_NONE gives the first node, the id of a node the next one; the result after the last is
 *  GANG_ID_NONE. No concurrent change of this snapshot; wait-free. */
GANG_API gang_node_id gang_snapshot_node_next(const gang_snapshot *snapshot, gang_node_id id);

/**
 * A node as it was. The snapshot also has removed nodes on which something was still allocated,
 * with the state GANG_NODE_REMOVED.
 * @param info info->size must be set
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE (the node did not exist at that instant).
 * No concurrent change of this snapshot; wait-free. O(1).
 */
GANG_API gang_result gang_snapshot_node_get(const gang_snapshot *snapshot, gang_node_id id,
                                            struct gang_node_info *info) GANG_MUST_CHECK;

/** Sums over the nodes of a snapshot that are not removed. */
struct gang_totals {
    size_t size;            /**< sizeof(struct gang_totals) */
    int64_t nodes;          /**< all nodes that are not removed */
    int64_t nodes_up;       /**< GANG_NODE_UP */
    int64_t nodes_draining; /**< GANG_NODE_DRAINING */
    int64_t nodes_down;     /**< GANG_NODE_DOWN */
    int64_t cpu_milli;      /**< capacity, millicores */
    int64_t cpu_free;       /**< free, in any state of the node */
    int64_t cpu_free_up;    /**< free on nodes that are up */
    int64_t memory_bytes;   /**< capacity, whole pages */
    int64_t memory_free;    /**< bytes; free, in any state of the node */
    int64_t memory_free_up; /**< bytes; free on nodes that are up */
    int64_t gpu_milli;      /**< capacity, milli-GPUs */
    int64_t gpu_free;       /**< milli-GPUs; free, in any state of the node */
    int64_t gpu_free_up;    /**< milli-GPUs; free on nodes that are up */
    int64_t gpus;           /**< devices */
    int64_t gpus_free;      /**< devices wholly free, in any state of the node */
    int64_t gpus_free_up;   /**< devices wholly free on nodes that are up */
};

#define GANG_TOTALS_INIT                                                           \
    {                                                                              \
        sizeof(struct gang_totals), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/** Add up all nodes. @param totals totals->size must be set. @return GANG_OK; GANG_EINVAL.
 *  No concurrent change of this snapshot; wait-free. O(nodes). */
GANG_API gang_result gang_snapshot_totals(const gang_snapshot *snapshot, struct gang_totals *totals)
    GANG_MUST_CHECK;

/* ---- what if --------------------------------------------------------------------------- */

/**
 * Place a gang in the snapshot: by the rules of gang_alloc(), on the snapshot's nodes. The gang
 * takes its resources in the snapshot, so that later calls see it: three calls answer "would these
 * three gangs fit together?". Among equally good nodes the choice may differ from that of
 * gang_alloc().
 * @return GANG_OK; GANG_ENOFIT: it does not fit on the snapshot as it is; GANG_ENEVER: it would not
 *   fit on its nodes even if all were up and empty; `error` as in gang_alloc(); GANG_EINVAL (also:
 *   never taken, or another cluster); GANG_ENOMEM. On an error the snapshot is unchanged.
 * Owner of the worker, and no concurrent call on this snapshot. May allocate. Waits for no other
 * thread. O(nodes * log(nodes) * groups).
 */
GANG_API gang_result gang_snapshot_place(gang_worker *worker, gang_snapshot *snapshot,
                                         struct gang_request *request, struct gang_error *error)
    GANG_MUST_CHECK;

/** Like gang_snapshot_place(), but the snapshot stays unchanged. */
GANG_API gang_result gang_snapshot_test(gang_worker *worker, gang_snapshot *snapshot,
                                        struct gang_request *request, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Release in the snapshot what an allocation holds *now* in the cluster. The answer is right if the
 * allocation held the same when the snapshot was taken.
 * @return GANG_OK; GANG_ERANGE: a node or pool of the snapshot would have more free than its
 *   capacity. Then the allocation, or a part of it, was made after the snapshot was taken, or was
 *   released in it before. (This is not detected if other allocations hold enough there.)
 *   GANG_ENOENT: the allocation has a task on a node that is not in the snapshot; GANG_ESTALE (the
 *   allocation has ended); GANG_EBUSY (another thread is changing it); GANG_EINVAL (also: never
 *   taken). On an error the snapshot is unchanged.
 * No concurrent call on this snapshot. Lock-free. O(tasks).
 */
GANG_API gang_result gang_snapshot_release(gang_snapshot *snapshot, gang_alloc_id id)
    GANG_MUST_CHECK;

/**
 * Set the state of a node in the snapshot: GANG_NODE_UP, GANG_NODE_DRAINING or GANG_NODE_DOWN.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE (not in the snapshot, or removed).
 * No concurrent call on this snapshot; wait-free.
 */
GANG_API gang_result gang_snapshot_set_state(gang_snapshot *snapshot, gang_node_id id,
                                             int32_t state) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
