/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_PREEMPT_H
#define GANG__SCHED_PREEMPT_H

#include "sched/record/state.h"

/* Preempt others for the gang, if the rules allow it and it then starts. True: it started, or its
 * victims are stopping. */
bool gang__preempt_for(gang_sched *s, struct gang__gang *g);

/* Can preemption help a gang that waits for this reason? A gang that waits for a reservation may
 * fit where other gangs run. */
static inline bool gang__preempt_helps(int32_t why)
{
    return why == GANG_WAIT_CAPACITY || why == GANG_WAIT_RESERVATION || why == GANG_WAIT_LIMIT ||
           why == GANG_WAIT_GUARANTEE || why == GANG_WAIT_LENDING;
}

/* Is an attempt worth while for the head of the wait class, which waits for this reason? Cheap. */
bool gang__preempt_is_worthwhile(gang_sched *s, struct gang__wait_class *wait_class, int32_t why);
void gang__preempt_free(gang_sched *s);

/* Copy what the gang remembers of earlier stops (cooldown.c). False: out of memory. */
bool gang__cooldowns_copy(gang_sched *s, struct gang__gang *to, const struct gang__gang *from);

#endif
