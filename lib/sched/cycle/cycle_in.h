/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: what a step of the run does. */
#ifndef GANG__SCHED_CYCLE_IN_H
#define GANG__SCHED_CYCLE_IN_H

#include "sched/cycle/cycle.h"

/* Try the gang that is the first in order, to start or to grow. True: something was granted. */
bool gang__schedule_one(gang_sched *s, struct gang__gang *g);
bool gang__grow_one(gang_sched *s, struct gang__gang *g);

/* Allocate a gang where its request says. GANG_ENOFIT, GANG_ENEVER: it is blocked. */
gang_result gang__try_start(gang_sched *s, struct gang__gang *g, gang_alloc_id *id);

/* The same in one of its partitions. GANG_OK: its class is that of the partition. GANG_ENOFIT: it
 * is blocked, or victims stop for it. */
gang_result gang__try_partitions(gang_sched *s, struct gang__gang *g, gang_alloc_id *id);

/* Do queues and users allow these amounts to the gang? If not, its wait class is blocked. */
bool gang__within_limits(gang_sched *s, struct gang__gang *g, const struct gang__take *take,
                         uint32_t count);

/* Do they allow some choice of the tasks of unlike groups? g->choice is then what is to be placed,
 * or NULL: any. If not, the wait class of the gang is blocked. */
bool gang__choose_tasks(gang_sched *s, struct gang__gang *g);

/* The gang was tried and its wait class is BLOCKED: gangs are preempted for it at once, if it may
 * preempt and the rules allow that. True: it started, or victims stop for it. */
bool gang__preempt_here(gang_sched *s, struct gang__gang *g, struct gang__wait_class *wait_class);

/* It is unknown how much capacity is free: the next run tries the gang again. */
void gang__block_for_this_run(gang_sched *s, struct gang__gang *g, bool no_memory);

/* The gang was tried and got nothing: it preempts others, if that may help. `wait_class`: where it
 * waited. */
void gang__preempt_in_order(gang_sched *s, struct gang__gang *g,
                            struct gang__wait_class *wait_class);

/* The step that tried it has been drained. If the gang got nothing, its class is not tried again
 * until something changes; what the step itself noted counts as tried. */
void gang__preempt_note_tried(gang_sched *s);

/* Unblock the wait classes that preemption may help, if anything changed since that was asked last.
 * True: there is one. */
bool gang__entitled_unblock(gang_sched *s);

/* There is no capacity for this request class: block its READY classes that wait to start. */
void gang__block_request_class(gang_sched *s, struct gang__request_class *request_class);

#endif
