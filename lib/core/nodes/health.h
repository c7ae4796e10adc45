/* SPDX-License-Identifier: Apache-2.0 */
/* Health of devices: kept in the last words of a cell, and changed by commits like all of it. So a device
 * that heals is given back as a task's is: index and stamp are raised while the cell is claimed, before
 * the decision, and whoever refuses has met it.
 *
 * gang_cluster.unhealthy counts the devices that are marked, or more: it is raised before a commit that
 * marks, and lowered after one that unmarks. A planner that reads 0 need not look at any node's. */
#ifndef GANG__CORE_HEALTH_H
#define GANG__CORE_HEALTH_H

#include "core/nodes/node.h"

/* The devices that a node was described with as unhealthy. */
static inline uint64_t gang__health_described(const struct gang__node *node)
{
    return node->tags ? node->tags->unhealthy : 0;
}

/* Before a commit that marks devices, and when it was refused or found them marked. */
static inline void gang__health_expect(gang_cluster *c, uint64_t devices)
{
    if (devices)
        gang__add_seq(&c->nodes.unhealthy, gang__popcount(devices));
}
static inline void gang__health_unexpect(gang_cluster *c, uint64_t devices)
{
    if (devices)
        atomic_fetch_sub(&c->nodes.unhealthy, gang__popcount(devices));
}

/* Add operations to a commit that set the health of a node to what it is described with. Returns the
 * number of the first. */
uint32_t gang__health_set(gang_worker *w, const struct gang__node *node);

/* After such a commit, of a node that was there before: `first` as returned then. */
void gang__health_replaced(gang_worker *w, const struct gang__node *node, uint32_t first);

/* A node that nobody changes any more leaves. */
void gang__health_forget(gang_cluster *c, const struct gang__node *node);

/* The devices of a node that are unhealthy. `exact`: at one instant, helping a commit under way;
 * else words that were there during the call. Inside a read section. */
uint64_t gang__health_read(gang_cluster *c, uint32_t slot, struct gang__layout layout, bool exact);

#endif
