/* SPDX-License-Identifier: Apache-2.0 */
/* Scoring every node that can take a task. The candidates of one search are the *candidates* of the
 * plan, in the order of their slots. */
#ifndef GANG__PLACE_SCORE_H
#define GANG__PLACE_SCORE_H

#include "place/search/policy.h"

/* No candidates. */
void gang__scored_nodes_begin(struct gang__plan *p);

/* Add a slot, higher than those before, if its node can take a task of the group. */
void gang__scored_node_add(struct gang__plan *p, uint32_t group, uint32_t slot);

/* The candidate of the next task. NULL: there is none, or p->out.failed. */
struct gang__scored_node *gang__scored_node_best(struct gang__plan *p, uint32_t group,
                                                 const struct gang__policy *policy);

/* The node of a candidate has changed: a task was planned on it, or (taken == false) does not go
 * there. */
void gang__scored_node_update(struct gang__plan *p, uint32_t group,
                              const struct gang__policy *policy,
                              struct gang__scored_node *candidate, bool taken);

#endif
