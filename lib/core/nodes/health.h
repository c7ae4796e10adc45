/* SPDX-License-Identifier: Apache-2.0 */
/* Health of devices: the last words of a cell, changed by commits like all words. So a device that
 * heals is given back like a task's device: the commit raises index and stamp while it claims the
 * cell, before the decision, and a search that refuses has met the node.
 *
 * nodes.unhealthy is at least the number of devices that are marked: gang__health_expect()
 * raises it before a commit that marks (seq_cst, so that all threads see it before the decision),
 * gang__health_unexpect() lowers it after one that unmarks (release). Both pair with the gang__load
 * of a planner: a planner that reads 0 need not read the health of any node. */
#ifndef GANG__CORE_HEALTH_H
#define GANG__CORE_HEALTH_H

#include "core/nodes/node.h"

/* The devices that the description of a node calls unhealthy. */
static inline uint64_t gang__health_described(const struct gang__node *node)
{
    return node->tags ? node->tags->unhealthy : 0;
}

/* Call expect() before a commit that marks devices, unexpect() if it was refused or found them
 * marked. */
static inline void gang__health_expect(gang_cluster *c, uint64_t devices)
{
    if (devices)
        gang__add_seq(&c->nodes.unhealthy, gang__popcount(devices));
}
static inline void gang__health_unexpect(gang_cluster *c, uint64_t devices)
{
    if (devices)
        gang__sub_release(&c->nodes.unhealthy, gang__popcount(devices));
}

/* Adds operations to a commit that set the health of a node to its description. Returns the number
 * of the first operation. */
uint32_t gang__health_set(gang_worker *w, const struct gang__node *node);

/* Call it after such a commit, for a node that was there before, with `first` as returned then. */
void gang__health_replaced(gang_worker *w, const struct gang__node *node, uint32_t first);

/* Call it when a removed node leaves the node table. */
void gang__health_forget(gang_cluster *c, const struct gang__node *node);

/* The devices of a node that are unhealthy. `exact`: at one instant, helping a commit under way;
 * otherwise words that were there during the call. Inside a read section. */
uint64_t gang__health_read(gang_cluster *c, uint32_t slot, struct gang__layout layout, bool exact);

#endif
