/* SPDX-License-Identifier: Apache-2.0 */
/* Exclusive nodes: wholly free before, and wholly taken while the allocation has a task there.
 *
 * A *holder* in the record takes the rest of such a node in the same commit. So the predicate of
 * the commit also proves that no other allocation has any part of the node. */
#ifndef GANG__PLACE_EXCLUSIVE_H
#define GANG__PLACE_EXCLUSIVE_H

#include "place/fit/node_plan.h"
#include "place/state/records.h"

/* Plans to take the rest of the nodes, too. The plan is closed after that. False: out of memory. */
bool gang__exclusive_hold(struct gang__plan *p);

/* Words of a record for the holders that are planned. */
size_t gang__exclusive_size(const struct gang__plan *p);

/* In a record that has room: drop the holders that the planned ones replace; add the planned
 * ones. */
void gang__exclusive_drop(struct gang__alloc *a, const struct gang__plan *p);
void gang__exclusive_append(struct gang__alloc *a, const struct gang__plan *p);

#endif
