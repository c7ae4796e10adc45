/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes for one allocation alone: wholly free before, and wholly taken while it has a task there.
 *
 * A *holder* in the record of the allocation takes what the tasks leave of such a node, in the same
 * commit (place/record/holders.h). So one predicate, that of the commit, says that no other
 * allocation has anything of the node. */
#ifndef GANG__PLACE_EXCLUSIVE_H
#define GANG__PLACE_EXCLUSIVE_H

#include "place/fit/fit_plan.h"

/* Part of gang__plan_begin(). Nodes in use are excluded. On the nodes of the running allocation,
 * the plan sees as free what the holders have. GANG_ENOMEM. */
gang_result gang__exclusive_begin(struct gang__plan *p);

/* Is the node wholly free, by the words that were read of it, or does the allocation have it
 * already? */
bool gang__exclusive_admits(const struct gang__node_copy *copy, const uint64_t *was);

/* The copy of a node that the running allocation has exclusively; NULL: it has not. */
struct gang__node_copy *gang__exclusive_copy(const struct gang__plan *p, gang_node_id id);

#endif
