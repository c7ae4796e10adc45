/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file snapshot.h
 * @brief The whole cluster at one instant: for reports, planning, and "what if".
 *
 * Caveats first
 *   - Taking a snapshot stops no thread: commits continue and never wait for it. While a snapshot
 *     is being taken, a commit saves the nodes it changes, each node once a snapshot.
 *   - At most 16 snapshots are *taken* at the same time; any number may exist. A thread that stops
 *     for ever inside gang_snapshot_take() permanently uses one of the 16, and, as in any call,
 *     keeps removed nodes from being recycled.
 *   - A snapshot of nodes with 8 GPUs and 64 cores takes about 60 bytes a node, rounded up to a
 *     power of two. The cluster keeps the same amount for each snapshot that is taken at the same
 *     time.
 *   - While a snapshot exists, removed nodes that it shows keep their memory, but not their slot.
 *   - Changes of a snapshot change nothing in the cluster. A snapshot knows what is free, not which
 *     allocation holds the rest.
 *
 * Life
 *   1. gang_snapshot_new() makes an empty one; gang_snapshot_free() ends it.
 *   2. gang_snapshot_take() fills it, as often as needed.
 *   3. Read it with gang_snapshot_node_*() and gang_snapshot_totals().
 *   4. Ask "what if" with gang_snapshot_place() and the other functions below.
 *   5. All snapshots are freed before gang_cluster_free().
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
 * @param snapshot  receives it; end it with gang_snapshot_free()
 * @return GANG_OK; GANG_EINVAL; GANG_ENOMEM.
 * Any thread. May block (structure mutex), may allocate.
 */
GANG_API gang_result gang_snapshot_new(gang_cluster *cluster, gang_snapshot **snapshot)
    GANG_MUST_CHECK;

/** End a snapshot. NULL is allowed. No concurrent call on this snapshot. May block (structure
 *  mutex). */
GANG_API void gang_snapshot_free(gang_snapshot *snapshot);

/**
 * Fill a snapshot, or fill it again: all nodes and pools as they were at one instant inside the
 * call. Each operation of any worker is in it wholly or not at all. An operation that returned
 * before the call began is in it; one that begins after the call returned is not. If one operation
 * returned before another began, the snapshot does not contain the later one without the earlier
 * one.
 * @return GANG_OK; GANG_EINVAL (also: a snapshot of another cluster); GANG_EBUSY (16 are being
 *   taken at this moment); GANG_ENOMEM. On any error the former content stays.
 * Owner of the worker, and no concurrent call on this snapshot. Lock-free; completes commits that
 * are under way. Allocates at first, and when the cluster grew. O(nodes).
 */
GANG_API gang_result gang_snapshot_take(gang_worker *worker, gang_snapshot *snapshot)
    GANG_MUST_CHECK;

/* ---- reading --------------------------------------------------------------------------- */

/** Nodes that were not removed; 0 of a snapshot that was never taken, or NULL.
 *  No concurrent change of this snapshot; wait-free. */
GANG_API int64_t gang_snapshot_node_count(const gang_snapshot *snapshot);

/** The next node after `id` in the cluster's order, GANG_ID_NONE first and after the last: those of
 *  gang_snapshot_node_count(). No concurrent change of this snapshot; wait-free. */
GANG_API gang_node_id gang_snapshot_node_next(const gang_snapshot *snapshot, gang_node_id id);

/**
 * A node as it was. A removed node of which something was still allocated is there, too, with the
 * state GANG_NODE_REMOVED.
 * @param info info->size must be set
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE (not there at that instant).
 * No concurrent change of this snapshot; wait-free. O(1).
 */
GANG_API gang_result gang_snapshot_node_get(const gang_snapshot *snapshot, gang_node_id id,
                                            struct gang_node_info *info) GANG_MUST_CHECK;

/** Sums over the nodes of a snapshot that are not removed. */
struct gang_totals {
    size_t size;            /**< sizeof(struct gang_totals) */
    int64_t nodes;          /**< not removed: those below together */
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

/** Sum up. @param totals  totals->size must be set. @return GANG_OK; GANG_EINVAL.
 *  No concurrent change of this snapshot; wait-free. O(nodes). */
GANG_API gang_result gang_snapshot_totals(const gang_snapshot *snapshot, struct gang_totals *totals)
    GANG_MUST_CHECK;

/* ---- what if --------------------------------------------------------------------------- */

/**
 * Place a gang in the snapshot: plans with the rules of gang_alloc() on the snapshot's nodes, and
 * takes what it needs there, so that later questions see it: "would these three fit together?"
 * Among equal choices the nodes may differ from those of gang_alloc().
 * @return GANG_OK; GANG_ENOFIT: not on the snapshot as it is; GANG_ENEVER: not on its nodes even if
 *   all were up and empty; `error` as of gang_alloc(); GANG_EINVAL (also: never taken, or another
 *   cluster); GANG_ENOMEM. On any error the snapshot is unchanged.
 * Owner of the worker, and no concurrent call on this snapshot. May allocate; waits for no other
 * thread. O(nodes * log(nodes) * groups).
 */
GANG_API gang_result gang_snapshot_place(gang_worker *worker, gang_snapshot *snapshot,
                                         struct gang_request *request, struct gang_error *error)
    GANG_MUST_CHECK;

/** The same question without taking anything. Results and rules as of gang_snapshot_place(). */
GANG_API gang_result gang_snapshot_test(gang_worker *worker, gang_snapshot *snapshot,
                                        struct gang_request *request, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * What if an allocation were released: returns to the snapshot what the allocation holds *now*.
 * Meant for an allocation that held the same when the snapshot was taken.
 * @return GANG_OK; GANG_ERANGE: some node or pool of the snapshot would have more free than its
 *   capacity. Then the allocation, or part of it, is younger than the snapshot, or was released in
 *   it already. (If other allocations hide this, it is not detected.) GANG_ENOENT: it has a task on
 *   a node that is not in the snapshot; GANG_ESTALE (the allocation has ended); GANG_EBUSY (another
 *   thread is changing it); GANG_EINVAL (also: never taken). On any error the snapshot is
 *   unchanged.
 * No concurrent call on this snapshot. Lock-free. O(tasks).
 */
GANG_API gang_result gang_snapshot_release(gang_snapshot *snapshot, gang_alloc_id id)
    GANG_MUST_CHECK;

/**
 * What if a node were GANG_NODE_UP, GANG_NODE_DRAINING or GANG_NODE_DOWN.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE (not there, or removed).
 * No concurrent call on this snapshot; wait-free.
 */
GANG_API gang_result gang_snapshot_set_state(gang_snapshot *snapshot, gang_node_id id,
                                             int32_t state) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
