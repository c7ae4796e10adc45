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

/* It is unknown how much capacity is free: the next run tries the gang again. */
void gang__block_for_this_run(gang_sched *s, struct gang__gang *g, bool no_memory);

/* Try blocked gangs with preemption. True: something was done, so that others may be tried. */
bool gang__preempt_for_entitled(gang_sched *s);

#endif
