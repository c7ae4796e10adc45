/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes does a gang of equal nodes take (equal_nodes.h)? Those that are as in the pattern, in
 * the order in which the search offers them.
 *
 * Several groups take the same of each node. A plan places one group after the other, and each
 * passes over the nodes of those before it. So one search finds the nodes of all groups: the first
 * ones are those of the first group.
 *
 * The index mostly tells which nodes are wholly free, and a lease is granted only on a node as in
 * the pattern. So a search for leases may go by the index alone and read no cell: if the commit
 * takes effect, the search would have found the same nodes by reading them. */
#ifndef GANG__PLACE_EQUAL_FIND_H
#define GANG__PLACE_EQUAL_FIND_H

#include "place/record/record.h"

/* The nodes of a gang, as slots. */
struct gang__equal_slots {
    size_t count;
    uint64_t *slot; /* ascending: the order of a commit */
    uint64_t *rank; /* by group, ascending in each: the order of the ranks */
};

/* How many of them does a group take? */
static inline size_t gang__equal_slots_of(const struct gang__equal_slots *n,
                                          const struct gang__node_pattern *m,
                                          const gang_request *request, uint32_t group)
{
    return request->group_count == 1 ? n->count : (size_t)request->group[group].min / m->per_node;
}

/* How the nodes are found. */
struct gang__equal_way {
    bool grows;    /* for more tasks of the only group, not for a new gang */
    bool by_index; /* cells are not read; only for leases anywhere */
};

/* Finds n->count nodes for a request that suits. The caller has reserved an order of as many keys
 * (gang__order_reserve()), and *n borrows it. False: this way does not lead to all of them; or out
 * of memory. Inside a read section. O(nodes). */
bool gang__equal_find(gang_worker *w, const gang_request *request, struct gang__equal_way way,
                      struct gang__equal_slots *n);

#endif
