/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_PREEMPT_H
#define GANG__SCHED_PREEMPT_H

#include "sched/record/state.h"

/* Make room for the unit, if the rules allow it and it then starts. True: it started, or its
 * victims are leaving. */
bool gang__preempt_for(gang_sched *s, struct gang__gang *u);

/* Could it help one that waits for this? Where there is room that is reserved, others may be elsewhere. */
static inline bool gang__preempt_helps(int32_t why)
{
    return why == GANG_WAIT_CAPACITY || why == GANG_WAIT_RESERVATION || why == GANG_WAIT_LIMIT ||
           why == GANG_WAIT_GUARANTEE || why == GANG_WAIT_LENDING;
}

/* Is it worth trying? Cheap. */
bool gang__preempt_may(gang_sched *s, struct gang__wait_class *bin);
void gang__preempt_free(gang_sched *s);

#endif
