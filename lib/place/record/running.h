/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks that run already, in a plan for more of them. */
#ifndef GANG__PLACE_RUNNING_H
#define GANG__PLACE_RUNNING_H

#include "place/fit/fit.h"
#include "place/state/records.h"

/* Note in a new plan the running tasks of each group, and the domains that they are bound to. */
void gang__plan_running(struct gang__plan *p, const struct gang__alloc *a);

/* Take in the plan, which sees an empty cluster, what the tasks of this allocation hold. */
void gang__plan_take_running(struct gang__plan *p, const struct gang__alloc *a);

/* Tasks of a group that the allocation holds; -1: of all. */
int64_t gang__tasks_held(const struct gang__alloc *a, int32_t group);

/* Tasks of a group that the next step of growth would add; 0: it has all. */
int64_t gang__growth_step(const struct gang__alloc *a, uint32_t group);

#endif
