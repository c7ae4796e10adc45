/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses a domain of a level for a member: the one where it needs the fewest nodes, and of these
 * the one with the least capacity left.
 *
 * Domains are compared by their capacity for the member's hardest group, which the index gives
 * without reading a node (search/domain_capacity.c). Of many domains the first good ones suffice:
 * the best of SHORT_LIST, from a start that differs between workers. A refusal reads all
 * domains. */

#include "place/pack/pack.h"

#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/search/search.h"

enum {
    SHORT_LIST = 8,
    FEW_NODES = 64, /* tried for a preference that the policy implies */
    GROUPS = 4,     /* of a member that are looked at, the hardest ones */
    TRIALS = 8,     /* domains in which a member of several groups is tried to compare them */
    RANK_BITS = 28
};
#define MAX_COST ((INT64_C(1) << (64 - RANK_BITS)) - 1)

/* ---- what a domain must have ----------------------------------------------------------------- */

struct domain_choice {
    struct gang__pack *k;
    struct gang__member m;
    int32_t level;
    const struct gang__scope *scope;
    gang__take_fn take;
    void *user;
    bool taken;
    bool all;       /* offer all, not only the short list */
    uint32_t tries; /* nodes still to be offered */
    uint32_t groups;
    int64_t need[GROUPS];
    struct gang__capacity_query query[GROUPS];
};

static void init_queries(struct domain_choice *x)
{
    struct gang__plan *p = x->k->p;
    const gang_request *q = x->k->q;
    int64_t nodes = p->snap ? p->snap->count : (int64_t)gang__load_relaxed(&p->c->nodes.node_count);
    x->groups = 0;
    for (uint32_t i = 0; i < q->group_count && x->groups < GROUPS; i++) {
        int64_t need = gang__member_need(q, x->m, q->by_size[i]);
        if (need == 0)
            continue;
        x->need[x->groups] = need;
        gang__capacity_query_init(&x->query[x->groups++], p, q->by_size[i], nodes);
    }
}

/* What choosing a domain costs: nodes, then the capacity left; -1: it cannot hold the member. */
static int64_t cost_of(struct domain_choice *x, uint32_t i)
{
    struct gang__capacity capacity;
    int64_t nodes = 0, rest = 0;
    for (uint32_t g = 0; g < x->groups; g++) {
        gang__domain_capacity(&x->query[g], (uint32_t)x->level, i, &capacity);
        if (capacity.tasks < x->need[g])
            return -1;
        if (g)
            continue;
        rest = capacity.tasks - x->need[0];
        nodes = gang__capacity_nodes(&capacity, x->need[0]);
    }
    enum { REST = (1 << 20) - 1, NODES = (1 << 16) - 1 };
    rest = rest < REST ? rest : REST;
    if (x->k->policy == GANG_POLICY_SPREAD)
        return REST - rest;
    if (x->k->policy == GANG_POLICY_FIRST || x->k->policy == GANG__ORDER_PROOF)
        return 0;
    nodes = x->groups == 1 && nodes < NODES ? nodes : x->groups == 1 ? NODES : 0;
    return nodes << 20 | rest;
}

/* ---- domains of the site --------------------------------------------------------------------- */

static struct gang__scope scope_of(const struct domain_choice *x, uint32_t i)
{
    return gang__scope_domain(gang__domain_at(x->k->p->c, (uint32_t)x->level, i));
}

/* May the domain be chosen at all? A preferred one lies in the required one, too. */
static bool is_candidate(const struct domain_choice *x, const struct gang__scope *s)
{
    struct gang__scope around;
    int32_t same = gang__member_same(x->k->q, x->m);
    return (x->scope->level < 0 || gang__scope_is_inside(x->k->p, s, x->scope)) &&
           (same < 0 || gang__scope_at(x->k->p, s, same, &around));
}

/* The next domain that may hold the hardest group. */
static uint32_t next_domain(struct domain_choice *x, uint32_t from, uint32_t end)
{
    if (x->groups == 0)
        return from;
    return gang__domain_capacity_next(&x->query[0], x->scope, (uint32_t)x->level, from, end,
                                      x->need[0]);
}

/* Do the first good domains suffice? A proof reads all, and so does a search whose short list
 * failed. */
static bool is_short(const struct domain_choice *x)
{
    return x->groups && x->query[0].by_index && x->k->policy != GANG__ORDER_PROOF && !x->all;
}

/* Keys of the candidates, best first. Returns how many. */
static size_t list_domains(struct domain_choice *x, uint64_t *key, uint32_t count)
{
    struct gang__plan *p = x->k->p;
    bool some = is_short(x);
    uint32_t end = gang__plan_end(p);
    uint32_t from =
        some && count > SHORT_LIST ? (uint32_t)((uint64_t)p->start.slot * count / end) : 0;
    size_t found = 0;
    for (int lap = 0; lap < (from ? 2 : 1); lap++) {
        uint32_t i = lap ? 0 : from, end_of_lap = lap ? from : count;
        for (; !p->out.failed; i++) {
            i = next_domain(x, i, end_of_lap);
            if (i == end_of_lap)
                break;
            struct gang__scope s = scope_of(x, i);
            int64_t q = is_candidate(x, &s) ? cost_of(x, i) : -1;
            if (q < 0)
                continue;
            key[found++] = (uint64_t)(q < MAX_COST ? q : MAX_COST) << RANK_BITS | i;
            if (some && found == SHORT_LIST)
                lap = 2;
            if (lap == 2)
                break;
        }
    }
    if (found > 1 && !p->out.failed)
        gang__sort_keys(key, found);
    return found;
}

static bool offer_domains(struct domain_choice *x)
{
    struct gang__plan *p = x->k->p;
    uint32_t count = gang__domain_count(p->c, (uint32_t)x->level);
    size_t at;
    uint64_t *key = gang__keys_push(p, count, &at);
    if (!key)
        return false;
    size_t found = list_domains(x, key, count);
    bool taken = false;
    for (size_t i = 0; i < found && !taken && !p->out.failed; i++) {
        struct gang__scope s = scope_of(x, (uint32_t)p->keys.key[at + i] & ((1u << RANK_BITS) - 1));
        taken = x->take(x->user, &s);
    }
    gang__keys_pop(p, at);
    /* No domain of the short list will do: offer all. */
    if (!taken && found == SHORT_LIST && !p->out.failed && is_short(x)) {
        x->all = true;
        if (x->k->policy != GANG_POLICY_HOST) /* the caller may leave some out */
            x->k->policy = GANG__ORDER_PROOF;
        taken = offer_domains(x);
    }
    return taken;
}

/* ---- nodes and their parts ------------------------------------------------------------------- */

/* The parts of one node that lie in the scope, the one with least capacity for the lead first. */
static bool offer_parts(struct domain_choice *x, uint32_t slot)
{
    struct gang__plan *p = x->k->p;
    const struct gang__node *node = gang__plan_node(p, slot);
    uint32_t lead = gang__member_lead(x->k->q, x->m);
    int64_t need = gang__member_need(x->k->q, x->m, lead);
    if (!node)
        return false;
    const struct gang__inner_domains *parts =
        gang__inner_domains_of(node->type, x->level - GANG__LEVEL_PACKAGE);
    const struct gang__group *g = &x->k->q->group[lead];
    if (g->share == 1000 && parts->max_gpus < (uint64_t)need * g->devices)
        return false;
    size_t at, found = 0;
    uint64_t *key = gang__keys_push(p, parts->count, &at);
    for (uint32_t i = 0; key && i < parts->count; i++) {
        struct gang__scope s = gang__scope_part(slot, x->level, i);
        if (!is_candidate(x, &s))
            continue;
        p->subset = gang__subset_of(node->type, parts, i);
        int64_t capacity = gang__plan_capacity(p, lead, slot);
        p->subset.on = false;
        if (capacity >= need)
            key[found++] = (uint64_t)(capacity < MAX_COST ? capacity : MAX_COST) << RANK_BITS | i;
    }
    if (found > 1)
        gang__sort_keys(key, found);
    bool taken = false;
    for (size_t i = 0; i < found && !taken && !p->out.failed; i++) {
        struct gang__scope s = gang__scope_part(
            slot, x->level, (uint32_t)p->keys.key[at + i] & ((1u << RANK_BITS) - 1));
        taken = x->take(x->user, &s);
    }
    gang__keys_pop(p, at);
    return taken;
}

static bool offer_node(void *user, uint32_t slot)
{
    struct domain_choice *x = user;
    struct gang__scope s = gang__scope_node(slot);
    bool taken = x->level != GANG__LEVEL_NODE ? offer_parts(x, slot)
                                              : is_candidate(x, &s) && x->take(x->user, &s);
    x->taken = x->taken || taken;
    return taken || --x->tries == 0;
}

static bool offer_nodes(struct domain_choice *x)
{
    if (x->scope->level >= GANG__LEVEL_NODE)
        return offer_node(x, x->scope->slot);
    uint32_t lead = gang__member_lead(x->k->q, x->m);
    int64_t need = gang__member_need(x->k->q, x->m, lead);
    struct gang__search_options options = {x->k->policy, INT64_MAX, INT64_MAX, need, offer_node, x};
    gang__search_with(x->k->p, lead, 1, x->scope, &options);
    return x->taken;
}

/* ---- choosing -------------------------------------------------------------------------------- */

bool gang__choose_each(struct gang__pack *k, struct gang__member m, int32_t level,
                       const struct gang__scope *scope, gang__take_fn take, void *user)
{
    struct gang__pack own = *k;
    struct domain_choice x;
    x.k = &own;
    x.m = m;
    x.level = level;
    x.scope = scope;
    x.take = take;
    x.user = user;
    x.taken = x.all = false;
    x.tries = m.implied ? FEW_NODES : UINT32_MAX;
    if (level >= GANG__LEVEL_NODE)
        return offer_nodes(&x);
    init_queries(&x);
    return offer_domains(&x);
}

struct placing {
    struct gang__pack *k;
    struct gang__member m;
    /* With several groups, trials find the domain that needs the fewest nodes. */
    uint32_t trials;
    int64_t best_nodes;
    struct gang__scope best;
};

static int64_t nodes_used(const struct gang__plan *p)
{
    int64_t nodes = 0;
    for (size_t i = 0; i < p->nodes.count; i++)
        nodes += p->nodes.copy[i].node && p->nodes.copy[i].used;
    return nodes;
}

static bool place_here(void *user, const struct gang__scope *s)
{
    struct placing *x = user;
    struct gang__plan *p = x->k->p;
    size_t tasks = p->tasks.count, binds = p->bound.undos;
    if (!gang__place_bound(x->k, x->m, s))
        return false;
    if (x->trials == 0)
        return true;
    int64_t nodes = nodes_used(p);
    if (nodes < x->best_nodes) {
        x->best_nodes = nodes;
        x->best = *s;
    }
    gang__undo(p, tasks, binds);
    return --x->trials == 0;
}

static bool has_many_groups(const struct gang__pack *k, struct gang__member m)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < k->q->group_count && groups < 2; i++)
        groups += gang__member_need(k->q, m, i) > 0;
    return groups > 1;
}

bool gang__choose_in_level(struct gang__pack *k, struct gang__member m, int32_t level,
                           const struct gang__scope *scope)
{
    struct placing x = {k, m, 0, INT64_MAX, gang__scope_unbound()};
    bool few = k->policy == GANG_POLICY_DEFAULT || k->policy == GANG_POLICY_TOPOLOGY;
    if (few && level < GANG__LEVEL_NODE && !k->p->mode.empty && has_many_groups(k, m)) {
        x.trials = TRIALS;
        gang__choose_each(k, m, level, scope, place_here, &x);
        return gang__scope_is_bound(&x.best) && !k->p->out.failed &&
               gang__place_bound(k, m, &x.best);
    }
    return gang__choose_each(k, m, level, scope, place_here, &x);
}

bool gang__choose_cannot_fit(struct gang__plan *p)
{
    const gang_request *q = p->q;
    int32_t level = gang__demanded_level(q, 0);
    struct gang__scope all = gang__scope_all();
    struct gang__capacity_query query;
    gang__capacity_query_init(&query, p, 0, gang__scope_nodes(p, &all));
    if (!query.by_index || level < 0)
        return false;
    uint32_t count = gang__domain_count(p->c, (uint32_t)level);
    return gang__domain_capacity_next(&query, &all, (uint32_t)level, 0, count, q->min) == count;
}
