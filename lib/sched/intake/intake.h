/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_INTAKE_H
#define GANG__SCHED_INTAKE_H

#include "sched/record/state.h"

/* The job is on its way in, below the queue of this index. */
void gang__job_arrives(gang_sched *s, struct gang__job *job, uint32_t at);

/* Move all messages to the backlog, in the order in which they came. */
void gang__inbox_take_out(gang_sched *s);

/* Take in the first message of the backlog. False: there is none, no step is left, or not now. */
bool gang__inbox_step(gang_sched *s);
bool gang__inbox_waits(const gang_sched *s);
void gang__inbox_free(gang_sched *s);
/* False: another thread has it; nothing waits for the lock. Unlock: store 0. */
bool gang__recent_lock(struct gang__recent *at);
void gang__recent_free(gang_sched *s);
gang_result gang__queues_make_default(gang_sched *s, struct gang_error *error);
bool gang__queues_make_root(gang_sched *s); /* false: out of memory */
void gang__queues_free_all(gang_sched *s);

/* Copy the tree of another scheduler, with the same ids. Then each job in the table enters usage
 * and orders; its leaf is set. */
gang_result gang__queues_copy_tree(gang_sched *s, gang_sched *from, struct gang_error *error);
void gang__queues_enter_jobs(gang_sched *s);
void gang__queues_remove_idle(gang_sched *s); /* remove made queues that were idle long enough */
int64_t gang__queues_next_idle(const gang_sched *s);

#endif
