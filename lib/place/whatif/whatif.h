/* SPDX-License-Identifier: Apache-2.0 */
/* What-if for a scheduler: plan on a private copy of the cluster, learn the exact places, commit
 * them.
 *
 *   1. Take a base with gang_snapshot_take(). gang__snapshot_copy() copies it to a scratch
 *      snapshot, and puts the scratch snapshot back later.
 *   2. Release the victims: gang_snapshot_release(), gang__snapshot_release_where(). Take some of
 *      them back to find those that can stay: gang__snapshot_retake(),
 *      gang__snapshot_retake_tasks().
 *   3. Learn the places: gang__snapshot_place_where(), gang__snapshot_grow_where().
 *   4. Commit: gang_alloc_free(), gang_alloc_shrink(); then gang_alloc_adopt() or
 *      gang__alloc_adopt_more() at these places.
 *
 * What adopting at these places keeps:
 *   - Nodes, devices and named cores are the planned ones. So GANG_NUMA_STRICT holds, and the cores
 *     of a task stay in the part of the node that `same` or `prefer` chose. Parts of devices,
 *     instances of profiles, amounts and pools come to the same. Without other commits it is not
 *     refused. Of a place that waits for victims, gang__handover_begin() keeps what is free: its
 *     exact cores, too.
 *   - Affinity, states of nodes and minima are not checked again.
 *
 * Planning on a snapshot evaluates affinity in the cluster as it is: jobs released in the snapshot
 * still count, jobs placed there do not. */
#ifndef GANG__PLACE_WHATIF_H
#define GANG__PLACE_WHATIF_H

#include <gangsched/place.h>

#include "core/cluster.h"
#include "place/alloc/alloc.h"
#include "place/whatif/timeshare.h"

/* Was it taken, of the cluster of the worker? */
static inline bool gang__snapshot_is_usable(const gang_snapshot *s, const gang_worker *w)
{
    return s && s->c == w->cluster && s->end > 0;
}

/* ---- release and retake ---------------------------------------------------------------------- */

/* Release in the snapshot the tasks with these numbers (gang_task.task), like
 * gang_snapshot_release(). Minima do not matter. A node of an exclusive allocation is released as a
 * whole, holders included, if one call names all its tasks there. Otherwise only their share of the
 * pool is released, as with gang_alloc_shrink().
 *   tasks  ascending, each once; NULL: all tasks, as gang_snapshot_release()
 *   at     the one node of all that was released; GANG_ID_NONE: several, or some of it is of a
 *          pool, or the allocation is exclusive, or an error
 * Returns as gang_snapshot_release(); GANG_ENOENT also: it has no such task; GANG_EINVAL also: not
 * ascending; GANG_ENOMEM (exclusive ones only). On any error the snapshot is as before. No
 * concurrent call on this snapshot. Lock-free. O(tasks of the allocation). */
gang_result gang__snapshot_release_where(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                         size_t count, gang_node_id *at);

/* gang__snapshot_release_where() of all tasks in the usual case, which an attempt to preempt meets
 * thousands of times: the worker keeps the allocation for itself, and all that it holds is one task
 * without pools and time sharing. False: it is not that case, or something is wrong with it; the
 * snapshot is as before. The thread of the worker; wait-free. */
bool gang__snapshot_release_kept(gang_snapshot *s, const gang_worker *w, gang_alloc_id id,
                                 gang_node_id *at);

/* The inverse of gang_snapshot_release(), and of gang__snapshot_release_where() with the same
 * tasks (count >= 1): take what the allocation holds now, at exactly the same places, whatever
 * the states of the nodes are. Returns GANG_OK; GANG_ENOFIT: some of it is not free in the snapshot
 * (placed over, or never released); GANG_ENOENT, GANG_ESTALE, GANG_EBUSY, GANG_EINVAL, GANG_ENOMEM
 * as above. On any error the snapshot is as before. No concurrent call on this snapshot. Lock-free.
 * O(tasks of the allocation). */
gang_result gang__snapshot_retake(gang_snapshot *s, gang_alloc_id id);
gang_result gang__snapshot_retake_tasks(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                        size_t count);

/* Prefetches the cache lines of an allocation; the second, those of its first task in the snapshot,
 * if the worker keeps the allocation for itself. No other effect. */
void gang__alloc_prefetch(gang_cluster *c, gang_alloc_id id);
void gang__snapshot_prefetch(const gang_snapshot *s, const gang_worker *w, gang_alloc_id id);

/* ---- place and grow -------------------------------------------------------------------------- */

/* As gang_snapshot_place(), but cheap when refused, and telling the places: of each task its group,
 * its node and, if it has any, its exact devices; in the order in which gang_alloc() numbers the
 * ranks, which gang_alloc_adopt() keeps.
 * Returns GANG_OK; GANG_ENOFIT: not on the snapshot as it is, possibly never; GANG_EINVAL (never
 * taken, another cluster); GANG_ENOMEM; with GANG_POLICY_HOST the result of its function. On any
 * error the snapshot is as before.
 * Owner of the worker, and no concurrent call on this snapshot. May allocate; never blocks. */
gang_result gang__snapshot_place_where(gang_worker *w, gang_snapshot *s, gang_request *request,
                                       struct gang__places *out);

/* The same question alone: nothing is taken. As gang__snapshot_place_where(). */
gang_result gang__snapshot_fits(gang_worker *w, gang_snapshot *s, gang_request *request);

/* Where up to `tasks` (>= 1) more tasks of a running allocation would go, by the rules of
 * gang_alloc_grow(): at least one; more than `tasks` where a group below its minimum comes back
 * whole, and to make whole subgroups. Its own tasks are those it holds now; an earlier growth in
 * the snapshot is not seen as its own, nor is a release: so put the snapshot back, or commit the
 * growth and renew the snapshot, before its next one. Of an exclusive allocation, what it holds
 * beside its tasks is there for the new ones, unless its nodes were released in the snapshot.
 *   group  index of the group; -1: any group, in order
 * Returns GANG_OK; GANG_ENOFIT: not one, on the snapshot as it is; GANG_ERANGE: the group has its
 * `count` already, or `tasks` < 1; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (another thread is changing
 * it); GANG_ENOMEM; with GANG_POLICY_HOST the result of its function. On any error the snapshot is
 * as before. Owner of the worker, and no concurrent call on this snapshot. May allocate; never
 * blocks. */
gang_result gang__snapshot_grow_where(gang_worker *w, gang_snapshot *s, gang_alloc_id id,
                                      int32_t group, int64_t tasks, struct gang__places *out);

/* Takes exactly this place in the snapshot, as gang_alloc_adopt() would. Returns GANG_OK;
 * GANG_ENOFIT (taken), GANG_ESTALE (node), GANG_EINVAL, GANG_ERANGE, GANG_ENOMEM: the snapshot is
 * as before. Owner of the worker, and no concurrent call on this snapshot. */
gang_result gang__snapshot_adopt(gang_worker *w, gang_snapshot *s, gang_request *request,
                                 const struct gang_placement *place);

/* What one snapshot has free of a node and the other has not, as words of the node: more is taken
 * there. In the word of the head: millicores beside those of the named cores. False: nothing, or
 * one of them does not show the node. O(words of the node). */
bool gang__snapshot_lacks(const gang_snapshot *before, const gang_snapshot *after,
                          gang_node_id node, uint64_t *words);

/* What gang_snapshot_test() says, inside a read section: GANG_OK, GANG_ENOFIT, GANG_ENEVER or an
 * error. */
gang_result gang__snapshot_verdict(gang_worker *w, gang_snapshot *s, const gang_request *request);

/* Find a plan on the snapshot of the worker's plan, without taking anything. Inside a read
 * section. */
gang_result gang__whatif_plan(gang_worker *w, const gang_request *request, bool empty);

#endif
