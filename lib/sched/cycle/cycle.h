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

/* preempt_for_entitled.c: was the class blocked for a reason that preemption can remove for this
 * gang of it? */
bool gang__preempt_may_help(gang_sched *s, const struct gang__wait_class *wait_class,
                            struct gang__gang *g);

#endif
