/* SPDX-License-Identifier: Apache-2.0 */
/* What-if for a planner above this room: plan on a private copy of the cluster, learn the exact
 * places, and commit them.
 *
 *   1. gang_snapshot_take() a base; gang__snapshot_copy() it (core/commit/snapshot_save.h) to a
 *      scratch one, and again
 *      to put the scratch back.
 *   2. Release who would go: gang_snapshot_release(), gang__snapshot_release_tasks(). Take some of
 *      it
 *      again to find out who need not go: gang__snapshot_retake(), gang__snapshot_retake_tasks().
 *   3. gang__snapshot_place_where(), gang__snapshot_grow_where(): the places.
 *   4. For real: gang_alloc_free(), gang_alloc_shrink(); then gang_alloc_adopt() or
 *      gang__alloc_adopt_more() at the places that were told.
 * What adopting at these places keeps, and what not
 *   - Nodes and devices are the planned ones. Parts of devices, instances of profiles, amounts and
 *     pools
 *     come to the same. Without other commits it is not refused.
 *   - Cores are chosen again, in number as planned (there are always enough where the plan had
 *     enough):
 *     beside the task's devices as far as some are free there, else of as few NUMA domains as do. A
 *     plan's GANG_NUMA_STRICT decides the devices, but adopting does not enforce it for the cores,
 *     nor
 *     that the cores of a task without GPUs lie in the part of the node that `same` or `prefer`
 *     chose.
 *     They may thus be others than in the snapshot, which goes on with its own.
 *   - Rules on other jobs, states of nodes and minima are not checked again when adopting.
 *
 * Planning on a snapshot evaluates affinity in the cluster as it is: jobs released in the snapshot
 * still count, jobs placed there do not. */
#ifndef GANG__PLACE_WHATIF_H
#define GANG__PLACE_WHATIF_H

#include <gangsched/place.h>

#include "core/snapshot.h"
#include "place/alloc/alloc.h"

/* ---- some tasks of an allocation ---- */

/* What if these tasks were given back: as gang_snapshot_release(), of the tasks of these numbers
 * (gang_task.task) alone; minima do not matter. Of an exclusive allocation a node goes back as a whole, with
 * what is held beside the tasks, if all tasks that the allocation holds there are among these; else
 * nothing of the node does, only what they have of the pool (as with gang_alloc_shrink()). Each call stands
 * for itself: a node whose tasks go one by one, in several calls, does not go back.
 *   tasks  ascending, each once; count >= 1
 * Returns as gang_snapshot_release(); GANG_ENOENT also: it has no such task; GANG_EINVAL also: not
 * ascending, none; GANG_ENOMEM (exclusive ones only). On any error the snapshot is as before.
 * No concurrent call on this snapshot. Lock-free. O(tasks of the allocation). */
gang_result gang__snapshot_release_tasks(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                         size_t count);

/* The same, or gang_snapshot_release() where `tasks` is NULL, telling from where.
 *   at  the one node that all of it came from; GANG_ID_NONE: several, or some of it is of a pool, or
 *       the allocation is exclusive, or an error */
gang_result gang__snapshot_release_where(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                         size_t count, gang_node_id *at);

/* The inverse of gang_snapshot_release(), and of gang__snapshot_release_tasks() with the same tasks: take
 * what the allocation holds now, at exactly the same places, whatever the states of the nodes are.
 * Returns GANG_OK; GANG_ENOFIT: some of it is not free in the snapshot (placed over, or never released);
 * GANG_ENOENT, GANG_ESTALE, GANG_EBUSY, GANG_EINVAL, GANG_ENOMEM as above. On any error the snapshot is as
 * before.
 * No concurrent call on this snapshot. Lock-free. O(tasks of the allocation). */
gang_result gang__snapshot_retake(gang_snapshot *s, gang_alloc_id id);
gang_result gang__snapshot_retake_tasks(gang_snapshot *s, gang_alloc_id id, const int64_t *tasks,
                                        size_t count);

/* Hints to the processor, nothing else: an allocation is looked at soon; then, where its first task
 * is in the snapshot. */
void gang__alloc_expect(gang_cluster *c, gang_alloc_id id);
void gang__snapshot_expect(const gang_snapshot *s, gang_alloc_id id);

/* ---- placing, and telling where ---- */

/* As gang_snapshot_place(), but cheap when refused, and telling the places: of each task its group,
 * its node and, if it has any, its exact devices; in the order in which gang_alloc() numbers the
 * ranks, which gang_alloc_adopt() keeps.
 * Returns GANG_OK; GANG_ENOFIT: not on the snapshot as it is, possibly never; GANG_EINVAL (never
 * taken, another cluster); GANG_ENOMEM; with GANG_POLICY_HOST the result of its function. On any
 * error the snapshot is as before.
 * Owner of the worker, and no concurrent call on this snapshot. May allocate; never blocks. */
gang_result gang__snapshot_place_where(gang_worker *w, gang_snapshot *s, gang_request *q,
                                       struct gang__places *out);

/* The same question alone: nothing is taken. As gang__snapshot_place_where(). */
gang_result gang__snapshot_fits(gang_worker *w, gang_snapshot *s, gang_request *q);

/* Where up to `tasks` (>= 1) more tasks of a running allocation would go, by the rules of
 * gang_alloc_grow(): at least one; more than `tasks` where a group below its minimum comes back
 * whole, and to make whole slices. Its own tasks are those it holds now; an earlier growth in the
 * snapshot is not seen as its own, nor is a release: so put the snapshot back, or commit the growth
 * and renew the snapshot, before its next one. Of an exclusive allocation, what it holds beside its
 * tasks is there for the new ones, unless its nodes were released in the snapshot.
 *   group  index of the group; -1: any group, in order
 * Returns GANG_OK; GANG_ENOFIT: not one, on the snapshot as it is; GANG_ERANGE: the group has its
 * `count` already, or `tasks` < 1; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (another thread is changing
 * it); GANG_ENOMEM; with GANG_POLICY_HOST the result of its function. On any error the snapshot is
 * as before. Owner of the worker, and no concurrent call on this snapshot. May allocate; never
 * blocks. */
gang_result gang__snapshot_grow_where(gang_worker *w, gang_snapshot *s, gang_alloc_id id,
                                      int32_t group, int64_t tasks, struct gang__places *out);

/* What gang_snapshot_test() says, inside a read section: GANG_OK, GANG_ENOFIT, GANG_ENEVER or an error. */
gang_result gang__snapshot_verdict(gang_worker *w, gang_snapshot *s, const gang_request *q);

/* Find a plan on the snapshot of the worker's plan, without taking anything. Inside a read section. */
gang_result gang__whatif_plan(gang_worker *w, const gang_request *q, bool empty);

#endif
