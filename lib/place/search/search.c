/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes does a search walk over, and how? By tiers, by rounds of one task a node, and by the
 * scope: a node, a part of one, a domain, the cluster. */
#include "core/commit/commit.h"
#include "place/fit/fit.h"
#include "place/search/search_in.h"
#include "place/search/visit.h"

bool gang__search_matches(struct gang__node_search *s, const struct gang__node *node)
{
    struct gang__misfit misfit;
    if (!gang__node_matches(s->p, s->g, node, &misfit)) {
        s->mismatches++;
        return false;
    }
    return !s->check_tier ||
           gang__node_in_tier(s->p, s->g, node, s->tiers, s->tier, s->p->mode.worst_fit);
}

/* Does a score decide? Nodes that are only offered come in the order of packing. */
static inline bool is_scored(const struct gang__node_search *s)
{
    return gang__policy_of(s->options->policy)->way == GANG__WAY_SCORE && !s->options->offer;
}

/* The node of the scope. A score may choose its devices. */
static int64_t visit_scope(struct gang__node_search *s)
{
    return is_scored(s) ? gang__score_walk(s) : gang__search_visit(s, s->scope->slot);
}

/* One node, or a part of one. */
static int64_t one_node(struct gang__node_search *s)
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

/* The nodes that the allocation has for itself already: the index shows them as full. */
static int64_t own_nodes(struct gang__node_search *s)
{
    const struct gang__affinity_state *o = &s->p->others;
    int64_t done = 0;
    for (size_t i = 0; i < o->owns && s->want && !s->p->out.failed; i++) {
        uint32_t slot = (uint32_t)s->p->word[o->own + i];
        const struct gang__node_copy *v = gang__node_copy_find(s->p, slot);
        done += v && v->own ? gang__search_visit(s, slot) : 0;
    }
    return done;
}

/* A domain, or the cluster. */
static int64_t walk_scope(struct gang__node_search *s, int32_t policy)
{
    bool by_index = gang__search_by_index(s);
    if (s->scope->domain && !(by_index && gang__index_covers_domain(s)))
        return gang__list_walk_domain(s, policy);
    if (!by_index)
        return gang__list_walk_all(s, policy);
    return gang__index_walk(s, gang__policy_of(policy)->way);
}

/* One walk over the nodes of a tier. */
static int64_t search_round(struct gang__node_search *s, int32_t policy)
{
    if (s->scope->level >= GANG__LEVEL_NODE)
        return one_node(s);
    if (is_scored(s))
        return gang__score_walk(s);
    int64_t done = s->whole_nodes ? own_nodes(s) : 0;
    return s->want ? done + walk_scope(s, policy) : done;
}

/* All rounds over the nodes of a tier. */
static int64_t search_tier(struct gang__node_search *s)
{
    int32_t policy = s->options->policy;
    if (!gang__policy_of(policy)->one_each || s->scope->level >= GANG__LEVEL_NODE)
        return search_round(s, policy);
    s->per_visit = 1; /* one task a node, then a second round */
    int64_t done = 0, here;
    while (s->want && (here = search_round(s, policy)) > 0)
        done += here;
    return done;
}

/* Tier by tier. A search with GANG__ORDER_PROOF, too, fills each node in the tier of the node, so
 * it finds capacity whenever there is any; but it counts a node with several models once. */
static int64_t search_tiers(struct gang__node_search *s)
{
    struct gang__plan *p = s->p;
    uint32_t count = gang__tier_count(s->tiers);
    size_t models = p->tier.models; /* of the search that offered this node, if any */
    int64_t done = 0;
    s->check_tier = s->tiers.lends || s->g->models_ranked || s->scope->level != GANG__NO_LEVEL ||
                    p->mode.empty || p->snap;
    s->check_match = s->check_match || s->check_tier;
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

static inline void search_init(struct gang__node_search *s, struct gang__plan *p, uint32_t group,
                               const struct gang__scope *scope,
                               const struct gang__search_options *options)
{
    s->p = p;
    s->group = group;
    s->g = &p->request->group[group];
    s->scope = scope;
    s->whole_nodes = p->request->exclusive;
    s->first = 0;
    s->end = GANG__NO_SLOT;
    s->per_visit = options->per_node;
    s->nodes_left = options->max_nodes;
    s->at_least = options->at_least;
    s->options = options;
    s->offer_word = NULL;
    s->key_at = s->key_count = 0;
    s->listed = s->check_tier = false;
    s->check_match = gang__group_filters(p, s->g);
    s->mismatches = 0;
    s->match.cache = s->check_match ? gang__match_cache_of(p, s->g) : NULL;
    s->match.p = p;
    s->match.g = s->g;
    s->tier = 0;
    s->tiers = gang__tiers_of(p, s->g);
    if (p->mode.empty && p->request->group_count == 1)
        s->tiers = (struct gang__tiers){1, false};
}

/* The usual search: all nodes, in one tier, by the index, in one round. */
static inline bool is_simple(const struct gang__node_search *s)
{
    const struct gang__policy *policy = gang__policy_of(s->options->policy);
    return s->scope->level == GANG__NO_LEVEL && !s->whole_nodes && gang__search_by_index(s) &&
           policy->way != GANG__WAY_SCORE && !policy->one_each;
}

static inline int64_t run_search(struct gang__node_search *s, int64_t want)
{
    struct gang__plan *p = s->p;
    size_t keys = p->keys.count;
    s->want = want;
    int64_t done = gang__tier_count(s->tiers) != 1 ? search_tiers(s)
                   : is_simple(s) ? gang__index_walk(s, gang__policy_of(s->options->policy)->way)
                                  : search_tier(s);
    gang__keys_pop(p, keys);
    if (s->mismatches)
        gang__match_cache_missed(s->g, s->mismatches);
    return done;
}

int64_t gang__search_with(struct gang__plan *p, uint32_t group, int64_t want,
                          const struct gang__scope *scope,
                          const struct gang__search_options *options)
{
    struct gang__node_search s;
    search_init(&s, p, group, scope, options);
    return run_search(&s, want);
}

int64_t gang__search_words(struct gang__plan *p, uint32_t group, int64_t want,
                           const struct gang__search_options *options, gang__offer_word *offer_word)
{
    struct gang__node_search s;
    struct gang__scope all = gang__scope_all();
    search_init(&s, p, group, &all, options);
    s.offer_word = offer_word;
    return run_search(&s, want);
}

int64_t gang__search(struct gang__plan *p, uint32_t group, int64_t want,
                     const struct gang__scope *scope, int32_t policy)
{
    struct gang__search_options options = {policy, INT64_MAX, INT64_MAX, 1, NULL, NULL};
    return gang__search_with(p, group, want, scope, &options);
}
