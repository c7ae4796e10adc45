/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of devices for all tasks of a group (gang_group_spec.same_devices).
 *
 * A plan binds such a group to one set, in p->bound.devices: its tasks then take just that set, so
 * with whole devices one task fits on a node. What is left to decide is which set. */
#ifndef GANG__PLACE_SAME_DEVICES_H
#define GANG__PLACE_SAME_DEVICES_H

#include "place/fit/fit_plan.h"

/* Append to p->device_sets the sets of devices that enough nodes have free for the minimum of the
 * group, the best first: those that most nodes have free, up to the group's count; with the best
 * links; with the lowest numbers. At most GANG_MAX_DEVICE_SETS, of the first 2^16 in the order of
 * their numbers. Domains, and what else nodes lack, are not looked at. False: out of memory
 * (p->out.failed). O(nodes * sets). */
bool gang__device_sets_add(struct gang__plan *p, uint32_t group);

#endif
