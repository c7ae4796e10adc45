/* SPDX-License-Identifier: Apache-2.0 */
/* From the plan to those who are asked to go. */
#ifndef GANG__SCHED_CARRY_OUT_H
#define GANG__SCHED_CARRY_OUT_H

#include "sched/preempt/preempt_in.h"

/* Ask the victims to go, for this taker and the place in sched.told. False: out of memory, nobody
 * was. */
bool gang__preempt_commit(struct gang__preemption *p);

#endif
