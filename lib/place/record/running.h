/* SPDX-License-Identifier: Apache-2.0 */
/* What runs of an allocation, for a plan. */
#ifndef GANG__PLACE_RUNNING_H
#define GANG__PLACE_RUNNING_H

#include "place/fit/node_plan.h"
#include "place/state/records.h"

/* Tell an (empty) plan what is running: tasks of each group, and the domains they are bound to. */
void gang__plan_running(struct gang__plan *p, const struct gang__alloc *a);

/* The views of an empty plan as they are with the tasks of this allocation alone. */
void gang__plan_alone(struct gang__plan *p, const struct gang__alloc *a);

/* Tasks of a group (-1: of all) that the allocation holds. */
int64_t gang__tasks_held(const struct gang__alloc *a, int32_t group);

/* Tasks of a group that the next step of growth would add; 0: it has all. */
int64_t gang__tasks_more(const struct gang__alloc *a, uint32_t group);

#endif
