/* SPDX-License-Identifier: Apache-2.0 */
/* In which order are nodes visited where the index does not help: on a snapshot, on an imagined
 * empty cluster, and in a domain of few or scattered nodes? */
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/search/search_in.h"
#include "place/search/visit.h"

enum { SLOT_BITS = 21 };
#define SLOT_MASK ((UINT32_C(1) << SLOT_BITS) - 1)
#define NOT_IN_INDEX UINT64_MAX /* the index would not show the node */

/* The place of a node in the walk over the index, see gang__index_walk(): the bucket and class of
 * the node, then its slot, counted round from p->start.slot. */
static uint64_t order_key(struct gang__node_search *s, const struct gang__node *node,
                          int32_t policy)
{
    const uint32_t slot = node->slot, from_start = (slot - s->p->start.slot) & SLOT_MASK;
    struct gang__layout layout = node->type->layout;
    const uint64_t *was;
    if (s->p->snap && !s->p->mode.empty) { /* makes no copy of each node */
        was = gang__snapshot_words(s->p->snap, slot);
    } else {
        struct gang__node_copy *v = gang__node_copy_at(s->p, slot);
        if (!v || policy == GANG_POLICY_FIRST)
            return from_start;
        was = gang__words_was(s->p, v);
    }
    struct gang__buckets levels = gang__buckets_of(layout, was);
    uint64_t level = s->g->gpu_level ? levels.gpu : levels.cpu;
    if (s->p->snap && !s->p->mode.empty &&
        level < (s->g->gpu_level ? s->g->gpu_level : s->g->cpu_level))
        return NOT_IN_INDEX;
    if (policy == GANG_POLICY_FIRST)
        return from_start;
    if (policy == GANG_POLICY_SPREAD || policy == GANG__ORDER_PROOF)
        level = UINT8_MAX - level;
    return (level << 8 | layout.class_id) << SLOT_BITS | from_start;
}

/* All nodes, sorted by order_key(). */
static void list_nodes(struct gang__node_search *s, int32_t policy)
{
    struct gang__plan *p = s->p;
    uint32_t end = gang__plan_end(p);
    s->listed = true;
    if (!gang__keys_push(p, end, &s->key_at))
        return;
    for (uint32_t slot = 1; slot < end && !p->out.failed; slot++) {
        const struct gang__node *node = gang__plan_node(p, slot);
        if (!node)
            continue;
        uint64_t key = order_key(s, node, policy);
        if (key != NOT_IN_INDEX)
            p->keys.key[s->key_at + s->key_count++] = key;
    }
    if (s->key_count > 1 && !p->out.failed)
        gang__sort_keys(p->keys.key + s->key_at, s->key_count);
}

/* On an imagined empty cluster, the order does not matter to a single group. */
int64_t gang__list_walk_all(struct gang__node_search *s, int32_t policy)
{
    struct gang__plan *p = s->p;
    int64_t done = 0;
    if (p->request->group_count == 1 && p->mode.empty) {
        uint32_t end = gang__plan_end(p);
        for (uint32_t slot = 1; slot < end && s->want && !p->out.failed; slot++)
            done += gang__search_visit(s, slot);
        return done;
    }
    uint32_t start = p->start.slot;
    if (policy == GANG_POLICY_FIRST)
        p->start.slot = 0;
    if (!s->listed)
        list_nodes(s, policy);
    for (size_t i = 0; i < s->key_count && s->want && !p->out.failed; i++)
        done += gang__search_visit(s, (uint32_t)(p->keys.key[s->key_at + i] + p->start.slot) &
                                          SLOT_MASK);
    p->start.slot = start;
    return done;
}

/* How empty a node is: free GPUs, or free cpu for a group without GPUs. */
static uint32_t emptiness(struct gang__node_search *s, uint32_t slot)
{
    struct gang__node_copy *v = gang__node_copy_at(s->p, slot);
    if (!v)
        return 0;
    const uint64_t *now = gang__words_now(s->p, v);
    if (s->g->devices == 0)
        return (uint32_t)gang__head_cpu(now[GANG__WORD_HEAD]);
    return gang__buckets_of(v->layout, now).gpu;
}

/* By emptiness up or down, or in slot order. */
int64_t gang__list_walk_domain(struct gang__node_search *s, int32_t policy)
{
    struct gang__plan *p = s->p;
    struct gang__node_list m = gang__plan_members(p, s->scope->domain);
    uint32_t count = 0;
    size_t at;
    if (!gang__keys_push(p, m.count, &at))
        return 0;
    for (uint32_t i = 0; i < m.count && !p->out.failed; i++) {
        uint32_t slot = gang__node_list_slot(&m, i);
        const struct gang__node *node = s->check_tier ? gang__plan_node(p, slot) : NULL;
        if (s->check_tier && (!node || !gang__search_matches(s, node)))
            continue;
        uint64_t key = policy == GANG_POLICY_FIRST ? 0 : emptiness(s, slot);
        if (policy == GANG_POLICY_SPREAD)
            key = UINT32_MAX - key;
        p->keys.key[at + count++] = key << 32 | slot;
    }
    if (count > 1)
        gang__sort_keys(p->keys.key + at, count);
    int64_t done = 0;
    for (uint32_t i = 0; i < count && s->want && !p->out.failed; i++)
        done += gang__search_visit(s, (uint32_t)p->keys.key[at + i]);
    gang__keys_pop(p, at);
    return done;
}
