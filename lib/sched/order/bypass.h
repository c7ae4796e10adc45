/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded bypass: a job that waited for room for too long, or was passed too often, is *starved*; from then on
 * nothing passes it (gang_queue_spec.max_bypasses, max_wait_ns).
 *
 * In its leaf it is the first in turn, whatever the order, and while it is blocked for want of room it bars the leaf as
 * the head of a strict one does. Of other leaves those who do not stay inside their guarantee are placed as if the
 * nodes that it could use were down. A unit that does not wait in a bin, or that something else than room keeps
 * from starting, bars nobody. */
#ifndef GANG__SCHED_OVERDUE_H
#define GANG__SCHED_OVERDUE_H

#include "sched/record/state.h"

/* Is this what somebody waits for who waits for room? */
static inline bool gang__waits_for_room(int32_t why)
{
    return why == GANG_WAIT_CAPACITY || why == GANG_WAIT_PLANNED || why == GANG_WAIT_CELLS ||
           why == GANG_WAIT_STARVED;
}

/* One of another leaf, of whatever it now takes: has it to leave somebody starved his nodes? The first of those, or
 * NULL. */
const struct gang__gang *gang__bypass_before(const gang_sched *s, const struct gang__gang *u,
                                             const struct gang__take *take, uint32_t count);
/* Likewise, of its gang. */
const struct gang__gang *gang__bypass_concerns(const gang_sched *s, const struct gang__gang *u);
/* Close those nodes in a snapshot. GANG_OK; GANG_ENOMEM. */
gang_result gang__bypass_keep(gang_sched *s, const struct gang__gang *u, gang_snapshot *snapshot);
/* The places to which it would return are such nodes. */
bool gang__bypass_on(gang_sched *s, const struct gang__gang *u);

/* It has started: those before it in turn who wait for room were passed. */
void gang__bypass_passed(gang_sched *s, const struct gang__gang *u);
/* When one of its units becomes starved by waiting; and if that has come, it does. */
int64_t gang__bypass_next(const struct gang__job *job);
void gang__bypass_due(gang_sched *s, struct gang__job *job);
/* It starts, or is no more; it has left its bin. */
void gang__bypass_over(struct gang__gang *u);
/* Somebody starved does not bar others any more: they have their turn again. */
void gang__bypass_ease(gang_sched *s);

#endif
