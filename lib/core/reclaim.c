/* SPDX-License-Identifier: Apache-2.0 */
/* Giving back what was unpublished: descriptions, tables, slots. All under the structure mutex, which
 * is let go while a grace period is waited for. Commits never wait for any of this. */
#include <string.h>

#include "base/rcu.h"
#include "core/commit.h"
#include "core/node.h"

enum { RETIRED_ENOUGH = 64 }; /* reclaim when so many pieces wait */

void gang__reap(gang_cluster *c)
{
    struct gang__node **link = &c->leaving;
    while (*link) {
        struct gang__node *node = *link;
        uint64_t payload[GANG__MAX_WORDS];
        gang__cell_read(c, node->slot, payload, gang__word_count(node->shape->layout));
        if (!gang__node_is_free(node, payload)) {
            link = &node->next_retired;
            continue;
        }
        *link = node->next_retired;
        gang__store(&gang__slot_at(gang__chunk_of(c, node->slot), node->slot)->node, NULL);
        node->next_retired = c->retired.nodes;
        c->retired.nodes = node;
        c->retired.count++;
    }
}

static void free_nodes(gang_cluster *c, struct gang__node *node, bool recycle)
{
    while (node) {
        struct gang__node *next = node->next_retired;
        if (recycle) /* room was made when the slot was first used */
            c->free_slots[c->free_slot_count++] = node->slot;
        gang__node_free(c, node);
        node = next;
    }
}

void gang__reclaim(gang_cluster *c)
{
    struct gang__retired r = c->retired;
    if (!r.count)
        return;
    memset(&c->retired, 0, sizeof(c->retired));
    /* Not under the mutex: a thread that is stopped for ever would stop all who take it. */
    pthread_mutex_unlock(&c->structure);
    gang__rcu_wait();
    pthread_mutex_lock(&c->structure);
    free_nodes(c, r.nodes, true);
    free_nodes(c, r.descriptions, false);
    while (r.members) {
        struct gang__members *m = r.members;
        r.members = m->next_retired;
        gang__release(&c->mem, m);
    }
    while (r.tables) {
        struct gang__table *t = r.tables;
        r.tables = t->next_retired;
        gang__release(&c->mem, t);
    }
}

void gang__reclaim_some(gang_cluster *c)
{
    if (c->manual_reclaim)
        return;
    if (c->leaving)
        gang__reap(c);
    bool full = c->free_slot_count == 0 && gang__load(&c->slot_end) > c->max_slots;
    if (c->retired.count >= RETIRED_ENOUGH || full)
        gang__reclaim(c);
}

gang_result gang_cluster_reclaim(gang_cluster *cluster)
{
    if (!cluster)
        return GANG_EINVAL;
    pthread_mutex_lock(&cluster->structure);
    gang__reap(cluster);
    gang__reclaim(cluster);
    pthread_mutex_unlock(&cluster->structure);
    return GANG_OK;
}
