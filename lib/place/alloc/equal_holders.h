/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs of equal nodes (equal_nodes.h) that have their nodes for themselves: what the tasks leave
 * of a node is the node's holder (place/record/holders.h), equal on all nodes. */
#ifndef GANG__PLACE_EQUAL_HOLDERS_H
#define GANG__PLACE_EQUAL_HOLDERS_H

#include "place/record/record.h"

/* Notes the holder that a plan has on a node; none if the request is not exclusive. */
void gang__equal_holders_note(struct gang__node_pattern *m, const struct gang__plan *p,
                              const struct gang__node_copy *copy);

/* Adds the holders of these nodes to a record that has the capacity and all its tasks. O(nodes). */
void gang__equal_holders_write(const gang_worker *w, const struct gang__node_pattern *m,
                               const uint64_t *slot, size_t count, struct gang__alloc *a);

#endif
