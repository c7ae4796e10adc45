/* SPDX-License-Identifier: Apache-2.0 */
#include "place/search/search.h"

#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/bounds.h"
#include "place/fit/filter.h"
#include "place/fit/fit_plan.h"
#include "place/fit/keys.h"
#include "place/fit/scope.h"
#include "place/search/match_cache.h"
#include "place/search/policy.h"
#include "place/search/score.h"

struct search {
    struct gang__plan *p;
    uint32_t classes; /* that can hold the group */
    uint8_t class_id[GANG__GPU_CLASSES];
    bool alone;                       /* nodes have to be wholly free: */
    uint8_t whole[GANG__GPU_CLASSES]; /* the lowest bucket in which one of the class can be */
    uint32_t group;
    const struct gang__group *g;
    const struct gang__scope *scope;
    struct gang__tiers tiers;
    uint32_t tier;       /* that is searched now */
    bool look;           /* each node is to be asked whether it matches, */
    bool sorts;          /* and whether it is of the tier */
    uint32_t first, end; /* slots of the scope, if it is one row of them */
    int64_t want;        /* tasks still wanted */
    int64_t each;        /* at most so many a visit */
    int64_t nodes;       /* on so many nodes more */
    int64_t at_least;    /* see struct gang__walk */
    const struct gang__walk *walk;
    struct gang__match_cache *sieve; /* of the group; NULL: none */
    uint64_t missed;                 /* nodes that were met and do not match */
    size_t at, count;                /* of all_nodes(): the nodes in their order, in plan.word */
    bool listed;
};

/* May the group use the node, now? */
static bool node_is_due(struct search *s, const struct gang__node *node)
{
    struct gang__misfit misfit;
    if (!gang__node_matches(s->p, s->g, node, &misfit)) {
        s->missed++;
        return false;
    }
    return !s->sorts ||
           gang__node_in_tier(s->p, s->g, node, s->tiers, s->tier, s->p->mode.worst_fit);
}

/* May tasks of the group go to a node, now, if there is room? */
static inline bool admits(struct search *s, uint32_t slot)
{
    if (s->scope->level != GANG__NO_LEVEL || s->look) {
        struct gang__node *node = gang__plan_node(s->p, slot);
        if (!node || !gang__scope_has(s->scope, node) || (s->look && !node_is_due(s, node)))
            return false;
    }
    return s->at_least <= 1 || gang__plan_capacity(s->p, s->group, slot) >= s->at_least;
}

/* Plan tasks on one node; `gpus`: on these devices, 0: any. Returns how many. */
static inline int64_t visit_on(struct search *s, uint32_t slot, uint64_t gpus)
{
    struct gang__misfit misfit;
    if (!admits(s, slot))
        return 0;
    if (s->walk->offer) {
        if (s->walk->offer(s->walk->user, slot))
            s->want = 0;
        return s->want == 0;
    }
    int64_t most = s->want < s->each ? s->want : s->each;
    if (s->g->bounded) {
        const struct gang__node *node = gang__plan_node(s->p, slot);
        int64_t left = node ? gang__plan_allowance(s->p, s->group, node) : 0; /* removed */
        most = most < left ? most : left;
    }
    int64_t done = gang__plan_tasks(s->p, s->group, slot, most, gpus, &misfit);
    s->want -= done;
    if (done && --s->nodes == 0)
        s->want = 0;
    return done;
}

static int64_t visit(struct search *s, uint32_t slot)
{
    return visit_on(s, slot, 0);
}

/* Is it a score that decides? Nodes that are only offered come in the order of packing. */
static inline bool is_scored(const struct search *s)
{
    return gang__policy_of(s->walk->policy)->way == GANG__WAY_SCORE && !s->walk->offer;
}

/* ---- over the index -------------------------------------------------------------------------- */

/* Candidates lie in memory far apart: ask for all of one index word at once. */
static void fetch_ahead(gang_cluster *c, uint32_t base, uint32_t bits)
{
    struct gang__chunk *chunk = gang__chunk_of(&c->commit, base);
    for (; bits; bits &= bits - 1) {
        uint32_t i = (base + (uint32_t)__builtin_ctz(bits)) % GANG__CHUNK;
        __builtin_prefetch(&chunk->cell[i], 1);
        __builtin_prefetch(&chunk->slot[i]);
    }
}

/* The first candidate from `slot` on and before `end`, or GANG__NO_SLOT. *bits: it and those after
 * it in its index word, by their places in that. */
static inline uint32_t next_of(struct search *s, uint32_t class_id, unsigned bucket, uint32_t slot,
                               uint32_t end, uint32_t *bits)
{
    if (s->sieve)
        return gang__match_cache_next(s->sieve, s->p, s->g, class_id, bucket, slot, end, bits);
    uint32_t more;
    slot = gang__index_next(&s->p->c->commit, class_id, bucket, slot, &more);
    *bits = (more << 1 | 1) << slot % GANG__FAN;
    return slot < end ? slot : GANG__NO_SLOT;
}

/* The candidates among the slots of one index word. */
static int64_t walk_word(struct search *s, uint32_t class_id, unsigned bucket, uint32_t base,
                         uint32_t bits)
{
    int64_t done = 0;
    for (; bits && s->want && !s->p->out.failed; bits &= bits - 1) {
        uint32_t slot = base + (uint32_t)__builtin_ctz(bits);
        int64_t here = visit(s, slot);
        done += here;
        if (here == 0 && !s->p->out.met_claimed)
            gang__index_repair(&s->p->c->commit, class_id, slot, bucket);
        s->p->out.met_claimed = false;
    }
    return done;
}

/* Nodes in one bucket of one class, from p->start.slot round to it. */
static int64_t walk_bucket(struct search *s, uint32_t class_id, unsigned bucket)
{
    struct gang__plan *p = s->p;
    uint32_t first = UINT32_MAX << p->start.bit;
    int64_t done = 0;
    uint32_t start = p->start.slot > s->first && p->start.slot < s->end ? p->start.slot : s->first;
    int laps = start > s->first ? 2 : 1;
    for (int lap = 0; lap < laps; lap++) {
        uint32_t slot = lap ? s->first : start, bits;
        uint32_t end = lap ? start : s->end;
        while (s->want && !p->out.failed) {
            slot = next_of(s, class_id, bucket, slot, end, &bits);
            if (slot == GANG__NO_SLOT)
                break;
            uint32_t base = slot - slot % GANG__FAN;
            if (end - base < GANG__FAN)
                bits &= ((uint32_t)1 << (end - base)) - 1;
            if (s->want > 1)
                fetch_ahead(p->c, base, bits);
            done += walk_word(s, class_id, bucket, base, bits & first);
            done += walk_word(s, class_id, bucket, base, bits & ~first);
            slot = base + GANG__FAN;
        }
    }
    return done;
}

/* A search through all buckets that may hold the group rejects most of them; for wholly free nodes
 * it also reads buckets below all where they can stand. */
static inline bool may_be_in(const struct search *s, uint32_t k, unsigned bucket)
{
    return !gang__index_empty(&s->p->c->commit, s->class_id[k], bucket) &&
           (!s->alone || bucket >= s->whole[k]);
}

static inline int64_t look_in(struct search *s, uint32_t k, unsigned bucket)
{
    return may_be_in(s, k, bucket) ? walk_bucket(s, s->class_id[k], bucket) : 0;
}

/* The buckets that may hold it: [first, end). */
static void buckets_of(const struct search *s, unsigned *first, unsigned *end)
{
    const struct gang__group *g = s->g;
    if (g->gpu_level) {
        uint8_t level = g->gpu_level;
        if (s->at_least > 1 && g->share == 1000)
            level = gang__bucket_for_gpus((uint64_t)s->at_least * g->devices);
        *first = gang__gpu_row(level);
        *end = GANG__GPU_BUCKETS;
    } else {
        *first = gang__cpu_row(
            s->at_least > 1 ? gang__bucket_for_cpu((uint64_t)s->at_least * g->cpu) : g->cpu_level);
        *end = GANG__INDEX_ROWS;
    }
}

/* The lowest bucket, of those that count for the group, in which a wholly free node of a class
 * stands. */
static uint8_t lowest_whole(const struct search *s, uint32_t class_id)
{
    unsigned first, end;
    buckets_of(s, &first, &end);
    uint64_t whole = gang__load(&gang__load(&s->p->c->commit.gpu_class[class_id])->free_node_rows);
    unsigned lowest = s->g->gpu_level ? 0 : (unsigned)GANG__GPU_BUCKETS;
    whole = (whole & ((UINT64_C(1) << end) - 1)) >> lowest << lowest;
    return whole ? (uint8_t)__builtin_ctzll(whole) : (uint8_t)end;
}

static int64_t index_up(struct search *s)
{
    unsigned first, end;
    int64_t done = 0;
    buckets_of(s, &first, &end);
    for (unsigned bucket = first; bucket < end && s->want; bucket++)
        for (uint32_t k = 0; k < s->classes && s->want; k++)
            done += look_in(s, k, bucket);
    return done;
}

static int64_t index_down(struct search *s)
{
    unsigned first, end;
    int64_t done = 0;
    buckets_of(s, &first, &end);
    for (unsigned bucket = end; bucket-- > first && s->want;)
        for (uint32_t k = 0; k < s->classes && s->want; k++)
            done += look_in(s, k, bucket);
    return done;
}

/* In slot order: the lowest next slot over all buckets and classes. */
static int64_t index_first(struct search *s)
{
    unsigned first, end;
    int64_t done = 0;
    buckets_of(s, &first, &end);
    uint32_t slot = s->first;
    while (s->want && !s->p->out.failed) {
        uint32_t next = GANG__NO_SLOT, next_class = 0, bits;
        unsigned next_bucket = 0;
        for (uint32_t k = 0; k < s->classes; k++) {
            for (unsigned bucket = first; bucket < end; bucket++) {
                if (!may_be_in(s, k, bucket))
                    continue;
                uint32_t found = next_of(s, s->class_id[k], bucket, slot, s->end, &bits);
                if (found < next) {
                    next = found;
                    next_class = s->class_id[k];
                    next_bucket = bucket;
                }
            }
        }
        if (next == GANG__NO_SLOT)
            break;
        int64_t here = visit(s, next);
        done += here;
        if (here == 0 && !s->p->out.met_claimed)
            gang__index_repair(&s->p->c->commit, next_class, next, next_bucket);
        slot = next + 1;
    }
    return done;
}

/* ---- over lists ------------------------------------------------------------------------------ */

/* Where the search over the index would meet a node: see index_up() and its siblings. The lower
 * bits are its slot, counted round from p->start.slot. */
enum { SLOT_BITS = 21 };
#define NOWHERE UINT64_MAX /* the index would not show it */
static uint64_t place_in_order(struct search *s, const struct gang__node *node, int32_t policy)
{
    const uint32_t mask = (1u << SLOT_BITS) - 1, slot = node->slot;
    struct gang__layout layout = node->type->layout;
    const uint64_t *was;
    if (s->p->snap && !s->p->mode.empty) { /* without a view of each node */
        was = gang__snapshot_words(s->p->snap, slot);
    } else {
        struct gang__node_copy *v = gang__node_copy_at(s->p, slot);
        if (!v || policy == GANG_POLICY_FIRST)
            return (slot - s->p->start.slot) & mask;
        was = gang__words_was(s->p, v);
    }
    struct gang__buckets levels = gang__buckets_of(layout, was);
    uint64_t level = s->g->gpu_level ? levels.gpu : levels.cpu;
    if (s->p->snap && !s->p->mode.empty &&
        level < (s->g->gpu_level ? s->g->gpu_level : s->g->cpu_level))
        return NOWHERE;
    if (policy == GANG_POLICY_FIRST)
        return (slot - s->p->start.slot) & mask;
    if (policy == GANG_POLICY_SPREAD || policy == GANG__ORDER_PROOF)
        level = UINT8_MAX - level;
    return (level << 8 | layout.class_id) << SLOT_BITS | ((slot - s->p->start.slot) & mask);
}

/* All nodes in the order in which the search over the index would meet them. */
static void list_nodes(struct search *s, int32_t policy)
{
    struct gang__plan *p = s->p;
    uint32_t end = gang__plan_end(p);
    s->listed = true;
    if (!gang__keys_push(p, end, &s->at))
        return;
    for (uint32_t slot = 1; slot < end && !p->out.failed; slot++) {
        const struct gang__node *node = gang__plan_node(p, slot);
        if (!node)
            continue;
        uint64_t key = place_in_order(s, node, policy);
        if (key != NOWHERE)
            p->keys.key[s->at + s->count++] = key;
    }
    if (s->count > 1 && !p->out.failed)
        gang__sort_keys(p->keys.key + s->at, s->count);
}

/* All nodes, when the index does not count: on a snapshot; and for the question whether it could
 * ever fit, in the order in which they would be met if they were all empty; there, with one group,
 * the order does not matter. */
static int64_t all_nodes(struct search *s, int32_t policy)
{
    struct gang__plan *p = s->p;
    int64_t done = 0;
    if (p->q->group_count == 1 && p->mode.empty) {
        uint32_t end = gang__plan_end(p);
        for (uint32_t slot = 1; slot < end && s->want && !p->out.failed; slot++)
            done += visit(s, slot);
        return done;
    }
    uint32_t start = p->start.slot;
    if (policy == GANG_POLICY_FIRST)
        p->start.slot = 0;
    if (!s->listed)
        list_nodes(s, policy);
    for (size_t i = 0; i < s->count && s->want && !p->out.failed; i++)
        done +=
            visit(s, (uint32_t)(p->keys.key[s->at + i] + p->start.slot) & ((1u << SLOT_BITS) - 1));
    p->start.slot = start;
    return done;
}

/* How empty a node is on the axis that matters to the group. */
static uint32_t emptiness(struct search *s, uint32_t slot)
{
    struct gang__node_copy *v = gang__node_copy_at(s->p, slot);
    if (!v)
        return 0;
    const uint64_t *now = gang__words_now(s->p, v);
    if (s->g->devices == 0)
        return (uint32_t)gang__head_cpu(now[GANG__WORD_HEAD]);
    return gang__buckets_of(v->layout, now).gpu;
}

/* The nodes of a domain, by emptiness up or down, or in slot order. */
static int64_t members(struct search *s, int32_t policy)
{
    struct gang__plan *p = s->p;
    struct gang__node_list m = gang__plan_members(p, s->scope->domain);
    uint32_t count = 0;
    size_t at;
    if (!gang__keys_push(p, m.count, &at))
        return 0;
    for (uint32_t i = 0; i < m.count && !p->out.failed; i++) {
        uint32_t slot = gang__node_list_slot(&m, i);
        const struct gang__node *node = s->sorts ? gang__plan_node(p, slot) : NULL;
        if (s->sorts && (!node || !node_is_due(s, node)))
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
        done += visit(s, (uint32_t)p->keys.key[at + i]);
    gang__keys_pop(p, at);
    return done;
}

static int64_t by_score(struct search *s);

/* The node of the scope, as a policy has it. */
static int64_t visit_scope(struct search *s)
{
    return is_scored(s) ? by_score(s) : visit(s, s->scope->slot);
}

/* One node, or a part of one. */
static int64_t one_node(struct search *s)
{
    struct gang__plan *p = s->p;
    if (s->scope->level == GANG__LEVEL_NODE)
        return visit_scope(s);
    const struct gang__node *node = gang__plan_node(p, s->scope->slot);
    if (!node)
        return 0;
    const struct gang__inner_domains *parts =
        gang__inner_domains_of(node->type, s->scope->level - GANG__LEVEL_PACKAGE);
    uint32_t i = s->scope->part;
    if (i >= parts->count)
        return 0;
    p->subset = gang__subset_of(node->type, parts, i);
    int64_t done = visit_scope(s);
    p->subset.on = false;
    return done;
}

/* Are the nodes of a domain found faster by the index than by looking at each? */
static bool is_row(struct search *s)
{
    enum { FEW = 16 };
    const struct gang__domain *d = s->scope->domain;
    struct gang__spans spans = gang__domain_spans(s->p->c, d->level);
    uint64_t span = d->rank < spans.count ? gang__load(&spans.span[d->rank]) : 0;
    if (gang__span_count(span) <= FEW || !gang__span_is_dense(span))
        return false;
    s->first = gang__span_first(span);
    s->end = gang__span_last(span) + 1;
    return true;
}

/* The nodes that the allocation has for itself already: the index shows them as full. */
static int64_t own_nodes(struct search *s)
{
    const struct gang__affinity_state *o = &s->p->others;
    int64_t done = 0;
    for (size_t i = 0; i < o->owns && s->want && !s->p->out.failed; i++) {
        uint32_t slot = (uint32_t)s->p->word[o->own + i];
        const struct gang__node_copy *v = gang__node_copy_find(s->p, slot);
        done += v && v->own ? visit(s, slot) : 0;
    }
    return done;
}

/* Classes of nodes that can hold the group, in this tier. */
static void find_classes(struct search *s)
{
    uint32_t classes = gang__load(&s->p->c->commit.gpu_class_count);
    s->classes = 0;
    for (uint32_t k = 0; k < classes; k++)
        if (s->tiers.inner == 1 ? gang__class_matches(s->p->c, s->g, k)
                                : gang__class_in_tier(s->p->c, s->g, k, s->tiers, s->tier))
            s->class_id[s->classes++] = (uint8_t)k;
    for (uint32_t k = 0; s->alone && k < s->classes; k++)
        s->whole[k] = lowest_whole(s, s->class_id[k]);
}

static int64_t pass_over(struct search *s, int32_t policy)
{
    bool by_index = !s->p->mode.empty && !s->p->snap;
    if (s->scope->domain && !(by_index && is_row(s)))
        return members(s, policy);
    if (!by_index)
        return all_nodes(s, policy);
    find_classes(s);
    switch (gang__policy_of(policy)->way) {
    case GANG__WAY_UP:
    case GANG__WAY_SCORE: /* offers: see is_scored() */
        return index_up(s);
    case GANG__WAY_FIRST:
        return index_first(s);
    case GANG__WAY_DOWN:
        break;
    }
    return index_down(s);
}

/* ---- by score -------------------------------------------------------------------------------- */

static void mark(struct search *s, uint32_t slot)
{
    s->p->score.slot_set[slot / 64] |= UINT64_C(1) << slot % 64;
}

/* Slots that may have room, by the index: from the emptiest bucket down, as nodes go that are taken
 * from, so that none is missed (core/commit/commit.c, "A refusal is true"). */
static void mark_indexed(struct search *s, uint32_t end)
{
    unsigned first, last;
    buckets_of(s, &first, &last);
    find_classes(s);
    for (unsigned bucket = last; bucket-- > first;) {
        for (uint32_t k = 0; k < s->classes; k++) {
            uint32_t slot = s->first, bits;
            while ((slot = next_of(s, s->class_id[k], bucket, slot, end, &bits)) != GANG__NO_SLOT) {
                uint32_t base = slot - slot % GANG__FAN; /* 32 slots: in one word */
                s->p->score.slot_set[base / 64] |= (uint64_t)bits << base % 64;
                slot = base + GANG__FAN;
            }
        }
    }
    const struct gang__affinity_state *o = &s->p->others; /* see own_nodes() */
    for (size_t i = 0; s->alone && i < o->owns; i++)
        if ((uint32_t)s->p->word[o->own + i] < end)
            mark(s, (uint32_t)s->p->word[o->own + i]);
}

/* Where there may be room, as a set of slots. */
static void mark_slots(struct search *s, uint32_t end)
{
    struct gang__plan *p = s->p;
    bool by_index = !p->mode.empty && !p->snap;
    size_t bytes = (end / 64 + 1) * sizeof(*p->score.slot_set);
    memset(p->score.slot_set, 0, bytes);
    if (s->scope->level >= GANG__LEVEL_NODE) {
        if (s->scope->slot < end)
            mark(s, s->scope->slot);
    } else if (s->scope->domain && !(by_index && is_row(s))) {
        struct gang__node_list m = gang__plan_members(p, s->scope->domain);
        for (uint32_t i = 0; i < m.count && !p->out.failed; i++)
            if (gang__node_list_slot(&m, i) < end)
                mark(s, gang__node_list_slot(&m, i));
    } else if (by_index) {
        mark_indexed(s, s->end < end ? s->end : end);
    } else {
        memset(p->score.slot_set, 0xff, bytes);
    }
}

/* All nodes that can take a task, as candidates of the plan. */
static void fill_seats(struct search *s, uint32_t end)
{
    struct gang__plan *p = s->p;
    gang__scored_nodes_begin(p);
    for (uint32_t i = 0; i < end / 64 + 1; i++) {
        for (uint64_t bits = p->score.slot_set[i]; bits && !p->out.failed; bits &= bits - 1) {
            uint32_t slot = i * 64 + (uint32_t)__builtin_ctzll(bits);
            const struct gang__node *node = slot < end ? gang__plan_node(p, slot) : NULL;
            if (!node || (s->look && !node_is_due(s, node)) || !admits(s, slot) ||
                (s->g->bounded && gang__plan_allowance(p, s->group, node) == 0))
                continue;
            gang__scored_node_add(p, s->group, slot);
        }
    }
}

/* One task after the other, each on the node that scores best. Apart, so that others do not pay. */
static __attribute__((noinline)) int64_t by_score(struct search *s)
{
    struct gang__plan *p = s->p;
    const struct gang__policy *policy = gang__policy_of(s->walk->policy);
    uint32_t end = gang__plan_end(p);
    struct gang__scored_node *best;
    int64_t done = 0, each = s->each;
    if (!gang__grow(&p->c->mem, (void **)&p->score.slot_set, &p->score.slot_set_cap, end / 64 + 1,
                    sizeof(*p->score.slot_set))) {
        p->out.failed = true;
        return 0;
    }
    mark_slots(s, end);
    fill_seats(s, end);
    s->each = 1;
    while (s->want && (best = gang__scored_node_best(p, s->group, policy)) != NULL) {
        int64_t here = visit_on(s, best->slot, best->wanted);
        done += here;
        if (s->want)
            gang__scored_node_update(p, s->group, policy, best, here > 0);
    }
    s->each = each;
    return done;
}

static int64_t pass_tier(struct search *s, int32_t policy)
{
    if (s->scope->level >= GANG__LEVEL_NODE)
        return one_node(s);
    if (is_scored(s))
        return by_score(s);
    int64_t done = s->alone ? own_nodes(s) : 0;
    return s->want ? done + pass_over(s, policy) : done;
}

/* All passes over the nodes of a tier. */
static int64_t search_tier(struct search *s)
{
    int32_t policy = s->walk->policy;
    if (!gang__policy_of(policy)->one_each || s->scope->level >= GANG__LEVEL_NODE)
        return pass_tier(s, policy);
    s->each = 1; /* one a node, then a second round */
    int64_t done = 0, here;
    while (s->want && (here = pass_tier(s, policy)) > 0)
        done += here;
    return done;
}

/* Tier by tier. On the way to a proof, too, each node has its tier and is filled as far as it goes,
 * so that room is found whenever there is any; but a node with several models is then one node. */
static int64_t search_tiers(struct search *s)
{
    struct gang__plan *p = s->p;
    uint32_t count = gang__tier_count(s->tiers);
    size_t models = p->tier.models; /* of the walk that offered this node, if any */
    int64_t done = 0;
    s->sorts = s->tiers.lends || s->g->models_ranked || s->scope->level != GANG__NO_LEVEL ||
               p->mode.empty || p->snap;
    s->look = s->look || s->sorts;
    for (; s->tier < count && s->tier <= p->tier.limit && s->want && !p->out.failed; s->tier++) {
        if (!p->mode.worst_fit)
            p->tier.models = gang__models_in_tier(s->g, s->tiers, s->tier);
        done += search_tier(s);
        /* A node claimed by another commit is no reason to use a reluctant tier. */
        if (s->want && p->mode.skip_claimed && p->out.skipped && s->tier + 1 < count) {
            p->mode.skip_claimed = false;
            done += search_tier(s);
            p->mode.skip_claimed = true;
        }
    }
    p->tier.models = models;
    return done;
}

int64_t gang__search_walk(struct gang__plan *p, uint32_t group, int64_t want,
                          const struct gang__scope *scope, const struct gang__walk *walk)
{
    struct search s;
    size_t keys = p->keys.count;
    s.p = p;
    s.group = group;
    s.g = &p->q->group[group];
    s.scope = scope;
    s.alone = p->q->exclusive;
    s.first = 0;
    s.end = GANG__NO_SLOT;
    s.want = want;
    s.each = walk->each;
    s.nodes = walk->nodes;
    s.at_least = walk->at_least;
    s.walk = walk;
    s.at = s.count = 0;
    s.listed = s.sorts = false;
    s.look = gang__group_filters(p, s.g);
    s.missed = 0;
    s.sieve = s.look ? gang__match_cache_of(p, s.g) : NULL;
    s.tier = 0;
    s.tiers = gang__tiers_of(p, s.g);
    if (p->mode.empty && p->q->group_count == 1)
        s.tiers = (struct gang__tiers){1, false};
    int64_t done = gang__tier_count(s.tiers) == 1 ? search_tier(&s) : search_tiers(&s);
    gang__keys_pop(p, keys);
    if (s.missed)
        gang__match_cache_missed(s.g, s.missed);
    return done;
}

int64_t gang__search(struct gang__plan *p, uint32_t group, int64_t want,
                     const struct gang__scope *scope, int32_t policy)
{
    struct gang__walk walk = {policy, INT64_MAX, INT64_MAX, 1, NULL, NULL};
    return gang__search_walk(p, group, want, scope, &walk);
}

/* ---- too few at a glance --------------------------------------------------------------------- */

/* Nodes in a bucket of a class. */
static int64_t count_nodes(gang_cluster *c, uint32_t class_id, unsigned bucket, int64_t enough)
{
    int64_t nodes = 0;
    uint32_t more;
    for (uint32_t slot = 0; nodes < enough; slot += GANG__FAN - slot % GANG__FAN) {
        gang__hook(GANG__STEP_FIND);
        slot = gang__index_next(&c->commit, class_id, bucket, slot, &more);
        if (slot == GANG__NO_SLOT)
            break;
        nodes += 1 + gang__popcount(more);
    }
    return nodes;
}

bool gang__search_cannot_fit(gang_cluster *c, const struct gang__group *g, int64_t want)
{
    uint32_t classes = gang__load(&c->commit.gpu_class_count);
    int64_t most = 0;
    if (g->devices == 0 || g->share != 1000)
        return false;
    /* From the emptiest down, as nodes go that are taken from: none slips through. */
    for (unsigned bucket = GANG__GPU_BUCKETS; bucket-- > gang__gpu_row(g->gpu_level);) {
        gang__hook(GANG__STEP_FIND);
        /* The last bucket is for all that have so many and more. */
        uint32_t gpus = bucket + 1u - GANG__GPU_WHOLE;
        int64_t each = (bucket + 1 == GANG__GPU_BUCKETS ? GANG_MAX_GPUS : gpus) / g->devices;
        for (uint32_t k = 0; k < classes; k++)
            if (!gang__index_empty(&c->commit, k, bucket) && gang__class_matches(c, g, k))
                most += each * count_nodes(c, k, bucket, want - most);
        if (most >= want)
            return false;
    }
    return true;
}
