/* SPDX-License-Identifier: Apache-2.0 */
/* Changes allocations: place, grow, release, adopt exact places. */
#ifndef GANG__PLACE_ALLOC_H
#define GANG__PLACE_ALLOC_H

#include "core/cluster.h"
#include "place/alloc/hold.h"
#include "place/record/record.h"

/* The worker may place, and the request is of its cluster. GANG_EINVAL, GANG_ENOMEM. */
gang_result gang__check_call(gang_worker *w, const gang_request *request, struct gang_error *error);

/* Fills in the error for a result other than success or a refusal. Returns the result. */
gang_result gang__fail(const struct gang__plan *p, gang_result r, struct gang_error *error);

/* Where a worker's searches begin, so that workers keep apart. */
void gang__plan_start(struct gang__plan *p, gang_worker *w);

/* Like gang_alloc() without an error text; calls may() with the places (`out`) before the commit.
 * Any result but GANG_OK aborts and is returned. may() is called inside a read section, again after
 * a lost race; it must not use the worker and must not block.
 * Owner of the worker. May allocate; lock-free if may() is. */
typedef gang_result gang__alloc_may(const struct gang__places *places, void *user);
gang_result gang__alloc_if(gang_worker *w, gang_request *request, struct gang__places *out,
                           gang__alloc_may *may, void *user, gang_alloc_id *id);

/* The result of gang_alloc_test(): GANG_OK, GANG_ENOFIT, GANG_ENEVER or an error. */
gang_result gang__request_verdict(gang_worker *w, gang_request *request);

/* Is it a group of the allocation that has fewer tasks than its `count`? GANG_EINVAL,
 * GANG_ERANGE. */
gang_result gang__growth_check(const struct gang__alloc *a, int32_t group,
                               struct gang_error *error);

/* One search for more tasks, on the cluster or on the plan's snapshot: first with all preferences,
 * then in the order that finds capacity if there is any. GANG_OK and a plan, GANG_ENOFIT, or an
 * error. */
gang_result gang__growth_plan(gang_worker *w, const struct gang__alloc *a, int32_t group,
                              int64_t tasks);

/* Would gang_alloc_grow() add a task of a group? GANG_OK, GANG_ENOFIT, GANG_ENEVER or an error. The
 * record is only read. */
gang_result gang__growth_verdict(gang_worker *w, const struct gang__alloc *a, uint32_t group);

/* Tasks of a group that ended and do not come again count as if they were held, against `count` and
 * `min` of the group, in the growths of this worker (gang_alloc_grow(),
 * gang__snapshot_grow_where()) from now on. No new task gets the number of one of them, also not
 * from gang__alloc_adopt_more().
 *   ended  one a group of the request that is to grow, borrowed until the next call; NULL: none did
 *   tasks  their numbers, as bits, the first number of the request is bit 0; borrowed, too
 * GANG_OK; GANG_ENOMEM: a worker's first call. Owner of the worker. */
gang_result gang__growth_ended(gang_worker *w, const int64_t *ended, const uint64_t *tasks);

/* The numbers of the `count` tasks that the last gang_alloc_grow(), gang__alloc_adopt_more() or
 * gang__timeshare_grow() of this worker added; ascending. Before its next call of any sort. */
void gang__growth_numbers(const gang_worker *w, int64_t *tasks, size_t count);

/* These tasks do not count as held in gang__snapshot_grow_where() of this worker from now on: they
 * are to leave their places, and the growth replaces them.
 *   leaving  numbers (gang_task.task), ascending, borrowed until the next call; NULL: none do
 * GANG_OK; GANG_ENOMEM: a worker's first call. Owner of the worker. */
gang_result gang__growth_leaving(gang_worker *w, const int64_t *leaving, size_t count);

/* The plan of gang_alloc_adopt(), on the cluster or on the plan's snapshot. Returns GANG_OK, or as
 * that call refuses. Inside a read section. */
gang_result gang__adopt_plan(gang_worker *w, gang_request *request,
                             const struct gang_placement *places, int64_t count,
                             struct gang_error *error);

/* As gang_alloc_adopt(). Without places (0) the allocation has no task, like one that all tasks
 * have left. */
gang_result gang__alloc_adopt(gang_worker *worker, gang_request *request,
                              const struct gang_placement *places, int64_t place_count,
                              gang_alloc_id *id, struct gang_error *error);

/* As gang_alloc_adopt(), for more tasks of an allocation that runs: exactly these places, all or
 * none. Places that name no tasks get numbers as in gang_alloc_grow(). Of an exclusive allocation a
 * node that it has already gives what is held there beside its tasks. Returns GANG_OK; GANG_ENOFIT
 * (taken already); GANG_ESTALE (allocation, node); GANG_EBUSY (another thread is changing it);
 * GANG_EINVAL; GANG_ERANGE (more tasks of a group than `count`); GANG_ENOMEM. Owner of the worker.
 * Lock-free. */
gang_result gang__alloc_adopt_more(gang_worker *w, gang_alloc_id id,
                                   const struct gang_placement *places, int64_t count);

/* An allocation that is to be freed. */
struct gang__to_free {
    gang_alloc_id id;
    void *of; /* the caller's */
    gang_result
        r; /* GANG_OK: it was freed; else it is as before, and gang_alloc_free() may free it */
};

/* Frees those that hold one task each, and nothing else, node by node: one commit for each node.
 * The list keeps its order. Owner of the worker. Lock-free; O(count log count). */
void gang__allocs_free(gang_worker *w, struct gang__to_free *list, size_t count);

/* Give back named tasks whatever minima say: as gang_alloc_shrink() otherwise. With the last one
 * the allocation does not end: it holds nothing then, and may grow again; gang_alloc_free() ends
 * it. Owner of the worker. Lock-free. */
gang_result gang__alloc_remove_tasks(gang_worker *w, gang_alloc_id id, const int64_t *tasks,
                                     size_t count);

/* A buffer that is used again; begin with all zero. Memory of the cluster's allocator. */
struct gang__found {
    struct gang__found_task {
        int64_t task;
        gang_node_id node;
        uint32_t group;
    } * task;
    size_t count, cap;
};
void gang__found_free(struct gang__found *found, const struct gang_mem *mem);

/* Finds the tasks of these numbers (ascending; NULL: all) that it holds, with their places;
 * ascending. Tasks that it does not hold are skipped.
 * GANG_OK; GANG_ESTALE; GANG_EBUSY (another thread is changing it); GANG_ENOMEM. Any thread. */
gang_result gang__alloc_find(gang_cluster *c, gang_alloc_id id, const int64_t *tasks, size_t count,
                             struct gang__found *out);

/* ---- was capacity released? ---- */

/* A number that never falls, and rises with everything after which a request that was refused might
 * fit: tasks given back, nodes that were added, came up, grew or were described again, devices that
 * healed, pools that grew, modes of partitions, and (for those with rules on others) labelled jobs
 * that came or withdrew. It rises before the capacity can be seen. So: read it, then call
 * gang_alloc(), gang_alloc_grow() or their dry runs. A refusal holds as long as the number reads
 * the same, since these calls end with a search that completes all commits it meets. A refusal on a
 * snapshot that was taken after the read holds as long, too, if no other thread was freeing
 * meanwhile. Otherwise the refusal misses releases that had raised the number but were decided
 * after the snapshot's instant. (Refusals after 64 disturbed searches, by exhausted searches over
 * several groups, or by a host's function, are not proved and need not hold.) Any thread.
 * Lock-free. O(workers). */
uint64_t gang__capacity_stamp(gang_cluster *c);

/* The part of it that operations of this worker raised, also when other threads completed them.
 * Each operation raises it by at least one. Changes of modes belong to no worker. Any thread;
 * wait-free. */
static inline uint64_t gang__worker_stamp(const gang_worker *w)
{
    return gang__load_seq(&w->commit.stamp);
}

#endif
