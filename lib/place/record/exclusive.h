/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes for one allocation alone: wholly free before, and wholly taken while it has a task there.
 *
 * What its tasks leave of such a node a *holder* in its record takes, in the same commit; so the one
 * predicate of the commit also says that nobody else has anything of the node. */
#ifndef GANG__PLACE_EXCLUSIVE_H
#define GANG__PLACE_EXCLUSIVE_H

#include "place/fit/node_plan.h"
#include "place/state/records.h"

/* Plan to take what the tasks leave of their nodes too; nothing is planned any more after that. False:
 * out of memory. */
bool gang__exclusive_hold(struct gang__plan *p);

/* Words of a record for the holders that are planned. */
size_t gang__exclusive_size(const struct gang__plan *p);

/* In a record that has room: drop the holders that the planned ones replace; add the planned ones. */
void gang__exclusive_drop(struct gang__alloc *a, const struct gang__plan *p);
void gang__exclusive_append(struct gang__alloc *a, const struct gang__plan *p);

#endif
