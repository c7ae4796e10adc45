/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations that share cores or devices in time. The record of an allocation names its
 * *time-shared* parts, so that a launcher finds the cores and devices. The nodes do not count them,
 * a release does not return them, and snapshots do not show them. The caller holds them in an
 * allocation of its own and sees to it that two allocations with the same parts never run at the
 * same time. */
#ifndef GANG__PLACE_TIMESHARE_H
#define GANG__PLACE_TIMESHARE_H

#include "place/alloc/alloc.h"

/* Places a gang on a snapshot, where the time-shared parts are free, and commits the other parts.
 *   parts  GANG__TIMESHARE_* (place/fit/fit_plan.h): the time-shared ones
 * Returns GANG_OK; GANG_ENOFIT: not on the snapshot as it is, or what it shows was taken meanwhile;
 * GANG_EBUSY; GANG_EINVAL (no such snapshot, or the request is exclusive); GANG_ENOMEM; with
 * GANG_POLICY_HOST the result of its function. The snapshot stays as it is. Owner of the worker,
 * and no concurrent call on this snapshot. */
gang_result gang__timeshare_alloc(gang_worker *w, gang_snapshot *s, gang_request *request,
                                  uint32_t parts, gang_alloc_id *id);

/* The same at exact places, for a host that restores its state. GANG_ENOFIT: `error` names the
 * place; otherwise the results of gang_alloc_adopt(), too. */
struct gang__timeshare_adoption {
    gang_request *request;
    uint32_t parts;
    const struct gang_placement *places;
    int64_t count;
};
gang_result gang__timeshare_adopt(gang_worker *w, gang_snapshot *s,
                                  const struct gang__timeshare_adoption *adoption,
                                  gang_alloc_id *id, struct gang_error *error);

/* More tasks of a group of such an allocation. */
struct gang__timeshare_growth {
    gang_alloc_id id;
    int32_t group;
    uint32_t parts; /* as for gang__timeshare_alloc() */
    int64_t tasks;
};

/* The same for more tasks: as gang_alloc_grow(). */
gang_result gang__timeshare_grow(gang_worker *w, gang_snapshot *s,
                                 const struct gang__timeshare_growth *growth, int64_t *granted);

/* Take the shared capacity of an allocation in a snapshot. Returns as gang__snapshot_retake(). */
gang_result gang__timeshare_snapshot(gang_snapshot *s, gang_alloc_id id);

/* The shared capacity of an allocation, task by task in the order of their numbers.
 *   word, payload  of the node's cell (core/commit/word.h)
 * A result of the visitor other than 0 ends the visit. Returns GANG_OK; GANG_ESTALE; GANG_EBUSY;
 * the visitor's result. Any thread. */
typedef int32_t (*gang__timeshare_fn)(gang_node_id node, unsigned word, uint64_t payload,
                                      int64_t task, void *user);
gang_result gang__timeshare_each(gang_cluster *c, gang_alloc_id id, gang__timeshare_fn visit,
                                 void *user);

#endif
