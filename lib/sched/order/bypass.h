/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded bypass: a gang that waited for capacity for too long, or was bypassed too often, is
 * *starved*. From then on no gang passes it (gang_queue_spec.max_bypasses, max_wait_ns).
 *
 * In its leaf a starved gang is the first, whatever the order. While it is blocked for want of
 * capacity, it bars the leaf like the head of a strict leaf. A gang of another leaf that does not
 * stay inside its guarantee is placed as if the nodes that the starved gang could use were down.
 * A starved gang bars no gang if it is in no wait class, or if something else than capacity keeps
 * it from starting. */
#ifndef GANG__SCHED_OVERDUE_H
#define GANG__SCHED_OVERDUE_H

#include "sched/record/state.h"

/* Does this reason to wait mean that the gang waits for capacity? */
static inline bool gang__waits_for_capacity(int32_t why)
{
    return why == GANG_WAIT_CAPACITY || why == GANG_WAIT_PLANNED || why == GANG_WAIT_CELLS ||
           why == GANG_WAIT_STARVED;
}

/* If this gang takes `take`, it must leave the nodes of starved gangs in other leaves alone: the
 * first such starved gang. NULL: none. */
const struct gang__gang *gang__bypass_first_starved(const gang_sched *s, const struct gang__gang *g,
                                                    const struct gang__take *take, uint32_t count);
/* The same, with the amounts that the gang asks for. */
const struct gang__gang *gang__bypass_concerns(const gang_sched *s, const struct gang__gang *g);
/* Closes the nodes that starved gangs of other leaves could use, in a snapshot. GANG_OK;
 * GANG_ENOMEM. */
gang_result gang__bypass_close_nodes(gang_sched *s, const struct gang__gang *g,
                                     gang_snapshot *snapshot);
/* Is a place to which the suspended gang would return on such a node? */
bool gang__bypass_returns_to_closed(gang_sched *s, const struct gang__gang *g);

/* The gang has started: counts a bypass for the head of each wait class of its leaf that goes
 * before it and waits for capacity. */
void gang__bypass_count(gang_sched *s, const struct gang__gang *g);
/* The time when a gang of the job becomes starved by waiting; INT64_MAX: never.
 * gang__bypass_due() makes its waiting gangs starved if that time has come. */
int64_t gang__bypass_next(const struct gang__job *job);
void gang__bypass_due(gang_sched *s, struct gang__job *job);
/* The gang starts or ends, and has left its wait class: it is no longer starved. */
void gang__bypass_end(struct gang__gang *g);
/* A starved gang no longer bars others: unblocks the wait classes that were blocked for it. */
void gang__bypass_unblock(gang_sched *s);

#endif
