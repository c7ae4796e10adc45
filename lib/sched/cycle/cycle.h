/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_CYCLE_H
#define GANG__SCHED_CYCLE_H

#include "sched/record/state.h"

/* Try to grant the unit whose turn it is. True: something was granted. */
bool gang__start_try(gang_sched *s, struct gang__gang *u);

/* As gang_sched_next(), but for turns of gangs that slice. */
int64_t gang__sched_due(gang_sched *s);

/* Take in what waits, at this time, and nothing more: the beginning of a run. */
gang_result gang__sched_take_in(gang_sched *s, int64_t now_ns);

#endif
