/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: what a step of the run does. */
#ifndef GANG__SCHED_CYCLE_IN_H
#define GANG__SCHED_CYCLE_IN_H

#include "sched/cycle/cycle.h"

/* Try the gang that is the first in order, to start or to grow. True: something was granted. */
bool gang__schedule_one(gang_sched *s, struct gang__gang *g);
bool gang__grow_one(gang_sched *s, struct gang__gang *g);

/* Do queues and users allow these amounts to the gang? If not, its wait class is blocked. */
bool gang__within_limits(gang_sched *s, struct gang__gang *g, const struct gang__take *take,
                         uint32_t count);

/* Do they allow some choice of the tasks of unlike groups? g->choice is then what is to be placed,
 * or NULL: any. If not, the wait class of the gang is blocked. */
bool gang__choose_tasks(gang_sched *s, struct gang__gang *g);

/* It is unknown how much capacity is free: the next run tries the gang again. */
void gang__block_for_this_run(gang_sched *s, struct gang__gang *g, bool no_memory);

/* The gang was tried and got nothing: it preempts others, if that may help. `wait_class`: where it
 * waited. True: it preempts. */
bool gang__preempt_in_order(gang_sched *s, struct gang__gang *g,
                            struct gang__wait_class *wait_class);

/* Blocked gangs are tried with preemption: one a step, between begin and end. begin, false: there
 * is none. step, true: another one may follow. end, true: something was done, so that others may be
 * tried. */
bool gang__entitled_begin(gang_sched *s);
bool gang__entitled_step(gang_sched *s);
bool gang__entitled_end(gang_sched *s);

#endif
