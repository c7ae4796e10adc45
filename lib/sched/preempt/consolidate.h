/* SPDX-License-Identifier: Apache-2.0 */
/* Consolidation: a waiting unit starts where others were that move elsewhere. */
#ifndef GANG__SCHED_CONSOLIDATE_H
#define GANG__SCHED_CONSOLIDATE_H

#include "sched/preempt/preempt_in.h"

/* Move others so that the taker starts and nobody is lost. True: it was carried out. */
bool gang__preempt_consolidate(struct gang__preemption *p);

#endif
