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

/* Is the queue this leaf, or above it? */
static inline bool gang__queue_is_on_path(const struct gang__queue_state *q,
                                          const struct gang__queue_state *leaf)
{
    while (leaf && leaf != q)
        leaf = leaf->parent;
    return leaf != NULL;
}

/* Is an attempt worth while for the head of the wait class, which waits for this reason? Cheap. */
bool gang__preempt_is_worthwhile(gang_sched *s, struct gang__wait_class *wait_class, int32_t why);
/* Is it worth while for the classes that wait in the group? They ask for the same; only priority
 * and what was tried before tell them apart. FOR_SOME: perhaps; ask each. */
enum gang__worthwhile { GANG__WORTHWHILE_NOT, GANG__WORTHWHILE_FOR_SOME, GANG__WORTHWHILE_FOR_ALL };
enum gang__worthwhile gang__preempt_is_worthwhile_in(gang_sched *s,
                                                     const struct gang__class_group *group);
void gang__preempt_free(gang_sched *s);

/* Copy what the gang remembers of earlier stops (cooldown.c). False: out of memory. */
bool gang__cooldowns_copy(gang_sched *s, struct gang__gang *to, const struct gang__gang *from);

#endif
