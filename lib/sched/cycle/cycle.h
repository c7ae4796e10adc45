/* SPDX-License-Identifier: Apache-2.0 */
/* The cycle: which gang is tried next, and what happens to it. README.md draws the way of one
 * job. */
#ifndef GANG__SCHED_CYCLE_H
#define GANG__SCHED_CYCLE_H

#include "sched/record/state.h"

/* As gang_sched_next(), without the quanta of time slices. */
int64_t gang__cycle_due(gang_sched *s);

/* Take messages in, at this time, and do nothing more: the beginning of a run. */
gang_result gang__cycle_take_in(gang_sched *s, int64_t now_ns);

/* ---- schedule_one.c, grow_one.c -------------------------------------------------------------- */

/* Try the gang that is the first in order. True: something was granted. */
bool gang__schedule_one(gang_sched *s, struct gang__gang *g);
bool gang__grow_one(gang_sched *s, struct gang__gang *g);

/* Do queues and users allow these amounts to the gang? If not, its wait class is blocked. */
bool gang__within_limits(gang_sched *s, struct gang__gang *g, const struct gang__take *take,
                         uint32_t count);

/* It is unknown how much capacity is free: the next run tries the gang again. */
void gang__block_for_this_run(gang_sched *s, struct gang__gang *g, bool no_memory);

/* ---- preempt_for_entitled.c ------------------------------------------------------------------ */

/* Try blocked gangs with preemption. True: something was done, so that others may be tried. */
bool gang__preempt_for_entitled(gang_sched *s);

#endif
