/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing what was unpublished: descriptions, tables, slots. All under the structure mutex,
 * which is unlocked while a thread waits for a grace period. No commit waits for any of this. */
#include <string.h>

#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/nodes/health.h"
#include "core/nodes/node.h"
#include "core/nodes/node_type.h"
#include "core/nodes/partition.h"
#include "core/nodes/reclaim.h"
#include "core/nodes/topology.h"

enum { RETIRED_ENOUGH = 64 }; /* reclaim when this many pieces wait */

/* Is the node removed and wholly free? Notes since which snapshot number. */
static bool is_drained(gang_cluster *c, struct gang__node *node)
{
    uint64_t payload[GANG__MAX_WORDS];
    if (node->gone_at)
        return true;
    gang__cell_read(&c->commit, node->slot, payload, gang__word_count(node->type->layout));
    if (gang__node_is_free(node, payload))
        node->gone_at = gang__snapshot_number(&c->commit);
    return node->gone_at != 0;
}

void gang__drain_removed(gang_cluster *c)
{
    struct gang__node **link = &c->nodes.removed;
    while (*link) {
        struct gang__node *node = *link;
        if (!is_drained(c, node) || gang__snapshot_under_way(&c->commit, node->gone_at)) {
            link = &node->next_retired;
            continue;
        }
        *link = node->next_retired;
        gang__health_forget(c, node);
        gang__store(&gang__slot_at(gang__chunk_of(&c->commit, node->slot), node->slot)->node, NULL);
        node->next_retired = c->nodes.retired.nodes;
        c->nodes.retired.nodes = node;
        c->nodes.retired.count++;
        gang__add_seq(&c->nodes.epoch, 1);
    }
}

/* Does a snapshot with a lower number exist? A snapshot that is being taken for the first time
 * holds nothing yet; the read section of the taker keeps the nodes. */
static bool is_held(gang_cluster *c, uint64_t number)
{
    for (const struct gang__holder *h = c->nodes.holders; h; h = h->next)
        if (gang__load(&h->number) < number)
            return true;
    return false;
}

static void free_nodes(gang_cluster *c, struct gang__node *node, bool recycle)
{
    while (node) {
        struct gang__node *next = node->next_retired;
        if (recycle) /* space was made when the slot was first used */
            c->nodes.free_slots[c->nodes.free_slot_count++] = node->slot;
        if (is_held(c, node->gone_at)) {
            node->next_retired = c->nodes.held;
            c->nodes.held = node;
        } else {
            gang__node_free(c, node);
        }
        node = next;
    }
}

/* Frees those nodes that only snapshots kept and that no snapshot keeps any more. */
static void reclaim_held(gang_cluster *c)
{
    struct gang__node *node = c->nodes.held;
    c->nodes.held = NULL;
    free_nodes(c, node, false);
}

void gang__holder_add(gang_cluster *c, struct gang__holder *holder)
{
    gang__store(&holder->number, GANG__PENDING);
    holder->next = c->nodes.holders;
    c->nodes.holders = holder;
}

void gang__holder_remove(gang_cluster *c, struct gang__holder *holder)
{
    struct gang__holder **link = &c->nodes.holders;
    while (*link != holder)
        link = &(*link)->next;
    *link = holder->next;
    reclaim_held(c);
}

/* The thread that frees nodes reads one holder after the other. It could read this holder before
 * its number falls, and the holder that this one copies after that one was taken again. So a number
 * falls under the mutex. */
void gang__holder_set(gang_cluster *c, struct gang__holder *holder, uint64_t number)
{
    bool falls = number < gang__load(&holder->number);
    if (falls)
        gang__structure_lock(c);
    gang__store(&holder->number, number);
    if (falls)
        gang__structure_unlock(c);
}

static void free_retired(gang_cluster *c, struct gang__retired *r)
{
    free_nodes(c, r->nodes, true);
    free_nodes(c, r->descriptions, false);
    while (r->members) {
        struct gang__members *m = r->members;
        r->members = m->next_retired;
        gang__release(&c->mem, m);
    }
    while (r->tables) {
        struct gang__domain_table *t = r->tables;
        r->tables = t->next_retired;
        gang__release(&c->mem, t);
    }
    while (r->modes) {
        struct gang__modes *m = r->modes;
        r->modes = m->next_retired;
        gang__release(&c->mem, m);
    }
    while (r->blocks) {
        struct gang__rcu_block *s = r->blocks;
        r->blocks = s->next;
        gang__release(&c->mem, s);
    }
    memset(r, 0, sizeof(*r));
}

/* Not under the mutex: a thread stopped for ever in a read section would stop every caller. */
static void wait_unlocked(gang_cluster *c)
{
    gang__structure_unlock(c);
    gang__rcu_wait();
    gang__structure_lock(c);
}

/* Returns a batch of a thread that the fork did not keep, or a new one (*fresh) of all that is
 * retired. NULL: nothing is retired, or all batches are in use. */
static struct gang__grace_batch *batch_take(gang_cluster *c, bool *fresh)
{
    struct gang__grace_batch *unused = NULL;
    for (unsigned i = 0; i < GANG__GRACE_BATCHES; i++) {
        struct gang__grace_batch *b = &c->nodes.grace_batch[i];
        if (!b->retired.count)
            unused = b;
        else if (b->fork != gang__fork_count())
            return b;
    }
    if (!c->nodes.retired.count || !unused)
        return NULL;
    *fresh = true;
    unused->retired = c->nodes.retired;
    memset(&c->nodes.retired, 0, sizeof(c->nodes.retired));
    return unused;
}

/* Batches stay in the cluster, where the child of a fork finds those of threads that it does not
 * have. */
void gang__reclaim(gang_cluster *c)
{
    struct gang__grace_batch *b;
    bool fresh = false;
    reclaim_held(c);
    while (!fresh && ((b = batch_take(c, &fresh)) || c->nodes.retired.count)) {
        if (b)
            b->fork = gang__fork_count();
        wait_unlocked(c);
        if (b)
            free_retired(c, &b->retired);
    }
}

void gang__retire(gang_cluster *c, struct gang__rcu_block *block)
{
    block->next = c->nodes.retired.blocks;
    c->nodes.retired.blocks = block;
    c->nodes.retired.count++;
}

void gang__reclaim_some(gang_cluster *c)
{
    if (c->nodes.manual_recycle)
        return;
    if (c->nodes.removed)
        gang__drain_removed(c);
    bool full =
        c->nodes.free_slot_count == 0 && gang__load(&c->commit.slot_end) > c->nodes.max_slots;
    if (c->nodes.retired.count >= RETIRED_ENOUGH || full)
        gang__reclaim(c);
}

static bool drained_but_held(const gang_cluster *c)
{
    const struct gang__node *node = c->nodes.removed;
    while (node && !node->gone_at)
        node = node->next_retired;
    return node != NULL;
}

gang_result gang_cluster_recycle(gang_cluster *cluster)
{
    if (!cluster)
        return GANG_EINVAL;
    gang__structure_lock(cluster);
    gang__drain_removed(cluster);
    gang__reclaim(cluster);
    if (drained_but_held(cluster)) {
        wait_unlocked(cluster); /* snapshots that were being taken are read sections */
        gang__drain_removed(cluster);
        gang__reclaim(cluster);
    }
    gang__structure_unlock(cluster);
    return GANG_OK;
}
