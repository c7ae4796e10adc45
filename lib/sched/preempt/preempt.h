/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_PREEMPT_H
#define GANG__SCHED_PREEMPT_H

#include "sched/record/state.h"

/* Preempt others for the gang, for which preemption is worth while, if the rules allow it and it
 * then starts. True: it started, or its victims are stopping. */
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
/* Why is no attempt made for a gang that waits for this reason (GANG_PREEMPTION_*)?
 * GANG_PREEMPTION_NEXT: nothing forbids one. Cheap. */
int32_t gang__preempt_bar(gang_sched *s, struct gang__gang *g, int32_t why);
/* Before the above is asked: sort the victims, and see whether any queue is above its share. */
void gang__preempt_look(gang_sched *s);
void gang__preempt_free(gang_sched *s);

/* ---- would_preempt.c: without effect --------------------------------------------------------- */

/* A gang that runs, and the rule that protects it from the gang that waits. */
struct gang__protected {
    const struct gang__gang *g;
    int32_t rule;                          /* GANG_PROTECTED_* */
    const struct gang__queue_state *queue; /* whose amounts or settings decide; NULL: none */
    int64_t until_ns;                      /* when the rule ends; 0: at no known time */
};

typedef void gang__protected_fn(const struct gang__protected *x, void *user);

/* What attempts would come to. */
struct gang__would {
    int32_t outcome; /* GANG_PREEMPTION_*: NEXT, or PROTECTED and above */
    int32_t moves;   /* GANG_MOVES_* */
    size_t together; /* most victims that the rules let one attempt take */
};

/* Visit each gang that runs, leaf by leaf, each in the order of victims; then make all attempts for
 * the blocked gang without effect. Call gang__preempt_look() first. `why`: what it waits for.
 * GANG_OK; GANG_ENOMEM. O(gangs that run) plus the attempts. */
gang_result gang__would_preempt(gang_sched *s, struct gang__gang *g, int32_t why,
                                gang__protected_fn *visit, void *user, struct gang__would *out);

/* The amounts for which preemption is tried, ascending by dimension. Returns their number; 0, too,
 * if the gang has all its places. */
uint32_t gang__preempt_request(gang_sched *s, struct gang__gang *g,
                               struct gang__take take[GANG__DIMS]);

/* ---- restore.c ---- */

/* After a host's jobs were restored: what stops for a job is handed over to it. Without memory the
 * next run goes on. O(jobs) for each such job. */
void gang__handovers_restore(gang_sched *s);

/* Copy what the gang remembers of earlier stops (cooldown.c). False: out of memory. */
bool gang__cooldowns_copy(gang_sched *s, struct gang__gang *to, const struct gang__gang *from);

#endif
