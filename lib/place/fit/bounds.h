/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds on the tasks of a group in one node and in one domain. */
#ifndef GANG__PLACE_BOUNDS_H
#define GANG__PLACE_BOUNDS_H

#include "place/fit/fit_plan.h"

/* How many more tasks of a group its bounds allow on a node. O(tasks). */
int64_t gang__plan_allowance(const struct gang__plan *p, uint32_t group,
                             const struct gang__node *node);

/* Tasks of a group, planned and running, in the node's domain of a level (GANG__LEVEL_NODE: on it).
 * O(tasks). */
int64_t gang__plan_beside(const struct gang__plan *p, uint32_t group, const struct gang__node *node,
                          int32_t level);

#endif
