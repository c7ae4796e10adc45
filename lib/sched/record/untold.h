/* SPDX-License-Identifier: Apache-2.0 */
/* Grants that the host has not heard of: tasks added to gangs that run, and starts that wait for
 * the elastic tasks of the gang (gang_job_spec.start_full). They are in force: usage and orders
 * count them. sched/grant reports them at the end of a run, so between runs there are none. */
#ifndef GANG__SCHED_UNTOLD_H
#define GANG__SCHED_UNTOLD_H

#include "sched/record/sched_state.h"

/* Memory for `count` more tasks. False: out of memory. */
bool gang__untold_reserve(gang_sched *s, struct gang__gang *g, size_t count);

/* Note tasks of a gang, for which memory was reserved, or its start. A start reports all tasks: no
 * tasks are noted beside it. */
void gang__untold_add(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                      int32_t reason);
void gang__untold_start(gang_sched *s, struct gang__gang *g, int32_t reason);

/* The host has heard of all of it, or need not. */
void gang__untold_forget(gang_sched *s, struct gang__gang *g);

#endif
