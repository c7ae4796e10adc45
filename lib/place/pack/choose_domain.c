/* SPDX-License-Identifier: Apache-2.0 */
/* The domains of a level that may hold a member, the best first: where it needs the fewest nodes,
 * and of these the one with the least capacity left. For an elastic member a domain that holds more
 * of its tasks, up to its count, comes before all that hold fewer. try_domains.c takes one.
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
    bool elastic;
    int64_t all_tasks; /* of an elastic member: how many it has at most (on nodes: its lead); */
    int64_t most;      /* maximum of them that a domain still to be offered holds */
    int64_t least;     /* tasks of the hardest group that a domain must hold to be offered */
    uint32_t groups;
    int64_t need[GROUPS], count[GROUPS]; /* tasks of a group: that must fit, and at most */
    int64_t uncounted;                   /* tasks of groups that are not looked at */
    struct gang__capacity_query query[GROUPS];
};

static void init_queries(struct domain_choice *x)
{
    struct gang__plan *p = x->k->p;
    const gang_request *request = x->k->request;
    int64_t nodes = p->snap ? p->snap->count : (int64_t)gang__load_relaxed(&p->c->nodes.node_count);
    x->groups = 0;
    x->all_tasks = x->uncounted = 0;
    for (uint32_t i = 0; i < request->group_count; i++) {
        int64_t need = gang__member_need(request, x->m, request->by_size[i]);
        int64_t most = x->elastic ? gang__member_most(p, x->m, request->by_size[i]) : 0;
        int64_t count = most > need ? most : need;
        x->all_tasks += count;
        if (x->groups == GROUPS)
            x->uncounted += count;
        if (count == 0 || x->groups == GROUPS)
            continue;
        x->need[x->groups] = need;
        x->count[x->groups] = count;
        gang__capacity_query_init(&x->query[x->groups++], p, request->by_size[i], nodes);
    }
}

/* What choosing a domain costs: nodes, then the capacity left; -1: it cannot hold the member.
 * *tasks: of an elastic member, how many of its tasks the domain holds, if no group takes from
 * another. */
static int64_t cost_of(struct domain_choice *x, uint32_t i, int64_t *tasks)
{
    struct gang__capacity capacity;
    int64_t nodes = 0, rest = 0;
    *tasks = x->uncounted;
    for (uint32_t g = 0; g < x->groups; g++) {
        gang__domain_capacity(&x->query[g], (uint32_t)x->level, i, &capacity);
        if (capacity.tasks < x->need[g])
            return -1;
        *tasks += capacity.tasks < x->count[g] ? capacity.tasks : x->count[g];
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
    int32_t same = gang__member_same(x->k->request, x->m);
    return (x->scope->level < 0 || gang__scope_is_inside(x->k->p, s, x->scope)) &&
           (same < 0 || gang__scope_at(x->k->p, s, same, &around));
}

/* The next domain that may hold the hardest group. */
static uint32_t next_domain(struct domain_choice *x, uint32_t from, uint32_t end)
{
    if (x->groups == 0)
        return from;
    return gang__domain_capacity_next(&x->query[0], x->scope, (uint32_t)x->level, from, end,
                                      x->least);
}

/* Do the first good domains suffice? A proof reads all, and so does a search whose short list
 * failed. */
static bool is_short(const struct domain_choice *x)
{
    return x->groups && x->query[0].by_index && x->k->policy != GANG__ORDER_PROOF && !x->all;
}

/* A key that sorts by a cost, or by the tasks that are missing in a domain: {cost | domain}. */
static uint64_t key_of(int64_t cost, uint32_t i)
{
    return (uint64_t)(cost < MAX_COST ? cost : MAX_COST) << RANK_BITS | i;
}

static uint32_t domain_of(uint64_t key)
{
    return (uint32_t)key & ((1u << RANK_BITS) - 1);
}

/* Keys of the candidates, best first; for an elastic member by the tasks that do not fit. Returns
 * how many. */
static size_t list_domains(struct domain_choice *x, uint64_t *key, uint32_t count)
{
    struct gang__plan *p = x->k->p;
    bool some = is_short(x);
    uint32_t from =
        some && count > SHORT_LIST ? (uint32_t)((uint64_t)p->start.share * count >> 32) : 0;
    size_t found = 0;
    for (int lap = 0; lap < (from ? 2 : 1); lap++) {
        uint32_t i = lap ? 0 : from, end_of_lap = lap ? from : count;
        for (; !p->out.failed; i++) {
            i = next_domain(x, i, end_of_lap);
            if (i == end_of_lap)
                break;
            struct gang__scope s = scope_of(x, i);
            int64_t tasks, q = is_candidate(x, &s) ? cost_of(x, i, &tasks) : -1;
            if (q < 0)
                continue;
            key[found++] = key_of(x->elastic ? x->all_tasks - tasks : q, i);
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

/* Offers the domains of keys [at, end) in their order. */
static bool offer_listed(struct domain_choice *x, size_t at, size_t end)
{
    struct gang__plan *p = x->k->p;
    bool taken = false;
    for (; at < end && !taken && !p->out.failed; at++) {
        struct gang__scope s = scope_of(x, domain_of(p->keys.key[at]));
        taken = x->take(x->user, &s, x->most);
    }
    return taken;
}

/* Offers the domains of keys [at, end), sorted by the tasks that are missing: of those that hold
 * equally many the cheapest first. */
static bool offer_by_tasks(struct domain_choice *x, size_t at, size_t end)
{
    struct gang__plan *p = x->k->p;
    bool taken = false;
    while (at < end && !taken && !p->out.failed) {
        uint64_t *key = p->keys.key;
        uint64_t missing = key[at] >> RANK_BITS;
        size_t alike = at;
        for (; alike < end && key[alike] >> RANK_BITS == missing; alike++) {
            int64_t tasks, cost = cost_of(x, domain_of(key[alike]), &tasks);
            key[alike] = key_of(cost < 0 ? MAX_COST : cost, domain_of(key[alike]));
        }
        gang__sort_keys(key + at, alike - at);
        x->most = x->all_tasks - (int64_t)missing;
        taken = offer_listed(x, at, alike);
        at = alike;
    }
    return taken;
}

static bool offer_domains(struct domain_choice *x)
{
    struct gang__plan *p = x->k->p;
    uint32_t count = gang__domain_count(p->c, (uint32_t)x->level);
    size_t at;
    uint64_t *key = gang__keys_push(p, count, &at);
    if (!key)
        return false;
    if (x->groups)
        x->least = is_short(x) ? x->count[0] : x->need[0];
    size_t found = list_domains(x, key, count);
    bool taken = x->elastic ? offer_by_tasks(x, at, at + found) : offer_listed(x, at, at + found);
    gang__keys_pop(p, at);
    if (taken || p->out.failed || !is_short(x))
        return taken;
    /* No domain of the short list will do, or none holds all that an elastic member may have: offer
     * all. */
    if (found == SHORT_LIST || x->least > x->need[0]) {
        x->all = true;
        if (x->k->policy != GANG_POLICY_HOST && found == SHORT_LIST) /* a host may leave some out */
            x->k->policy = GANG__ORDER_PROOF;
        taken = offer_domains(x);
    }
    return taken;
}

/* ---- nodes and their parts ------------------------------------------------------------------- */

/* The parts of the level in a node of this type, which is read once: the node may be replaced or
 * removed at any time. NULL: surely none holds `least` tasks of the lead. */
static const struct gang__inner_domains *parts_of(struct domain_choice *x, uint32_t slot,
                                                  const struct gang__node_type **type)
{
    const struct gang__node *node = gang__plan_node(x->k->p, slot);
    const struct gang__group *g = &x->k->request->group[gang__member_lead(x->k->request, x->m)];
    if (!node)
        return NULL;
    *type = node->type;
    const struct gang__inner_domains *parts =
        gang__inner_domains_of(node->type, x->level - GANG__LEVEL_PACKAGE);
    bool none = g->share == 1000 && parts->max_gpus < (uint64_t)x->least * g->devices;
    return none ? NULL : parts;
}

static int64_t part_capacity(struct domain_choice *x, uint32_t slot,
                             const struct gang__node_type *type,
                             const struct gang__inner_domains *parts, uint32_t i)
{
    struct gang__plan *p = x->k->p;
    p->subset = gang__subset_of(type, parts, i);
    int64_t capacity = gang__plan_capacity(p, gang__member_lead(x->k->request, x->m), slot);
    p->subset.on = false;
    return capacity;
}

/* The parts of one node that lie in the scope, the one with least capacity for the lead first. */
static bool offer_parts(struct domain_choice *x, uint32_t slot)
{
    struct gang__plan *p = x->k->p;
    const struct gang__node_type *type = NULL;
    const struct gang__inner_domains *parts = parts_of(x, slot, &type);
    size_t at, found = 0;
    if (!parts)
        return false;
    uint64_t *key = gang__keys_push(p, parts->count, &at);
    for (uint32_t i = 0; key && i < parts->count; i++) {
        struct gang__scope s = gang__scope_part(slot, x->level, i);
        if (!is_candidate(x, &s))
            continue;
        int64_t capacity = part_capacity(x, slot, type, parts, i);
        if (capacity >= x->least)
            key[found++] = key_of(capacity, i);
    }
    if (found > 1)
        gang__sort_keys(key, found);
    bool taken = false;
    for (size_t i = 0; i < found && !taken && !p->out.failed; i++) {
        struct gang__scope s = gang__scope_part(slot, x->level, domain_of(p->keys.key[at + i]));
        taken = x->take(x->user, &s, x->most);
    }
    gang__keys_pop(p, at);
    return taken;
}

static bool offer_node(void *user, uint32_t slot)
{
    struct domain_choice *x = user;
    struct gang__scope s = gang__scope_node(slot);
    bool taken = x->level != GANG__LEVEL_NODE
                     ? offer_parts(x, slot)
                     : is_candidate(x, &s) && x->take(x->user, &s, x->most);
    x->taken = x->taken || taken;
    return taken || --x->tries == 0;
}

static bool offer_nodes_by(struct domain_choice *x, bool (*offer)(void *user, uint32_t slot))
{
    if (x->scope->level >= GANG__LEVEL_NODE)
        return offer(x, x->scope->slot);
    uint32_t lead = gang__member_lead(x->k->request, x->m);
    struct gang__search_options options = {x->k->policy, INT64_MAX, INT64_MAX, x->least, offer, x};
    gang__search_with(x->k->p, lead, 1, x->scope, &options);
    return x->taken;
}

/* Notes the most tasks of an elastic member's lead that a node, or a part of it, holds. */
static bool look_at_node(void *user, uint32_t slot)
{
    struct domain_choice *x = user;
    uint32_t lead = gang__member_lead(x->k->request, x->m);
    const struct gang__node_type *type = NULL;
    const struct gang__inner_domains *parts =
        x->level != GANG__LEVEL_NODE ? parts_of(x, slot, &type) : NULL;
    uint32_t ways = x->level == GANG__LEVEL_NODE ? 1 : parts ? parts->count : 0;
    for (uint32_t i = 0; i < ways && x->most < x->all_tasks; i++) {
        struct gang__scope s = parts ? gang__scope_part(slot, x->level, i) : gang__scope_node(slot);
        if (!is_candidate(x, &s))
            continue;
        int64_t capacity = parts ? part_capacity(x, slot, type, parts, i)
                                 : gang__plan_capacity(x->k->p, lead, slot);
        x->most = capacity > x->most ? capacity : x->most;
    }
    return x->most >= x->all_tasks;
}

/* How many tasks an elastic member has at most. */
static int64_t tasks_in_all(const struct domain_choice *x)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < x->k->request->group_count; i++)
        sum += gang__member_most(x->k->p, x->m, i);
    return sum;
}

/* Nodes, or parts of them, in the order of the policy. An elastic member is offered first those
 * that hold most of the tasks of its hardest group, then all that hold what it needs. */
static bool offer_nodes(struct domain_choice *x)
{
    uint32_t lead = gang__member_lead(x->k->request, x->m);
    int64_t need = gang__member_need(x->k->request, x->m, lead);
    x->least = need;
    if (x->elastic) {
        x->all_tasks = gang__member_most(x->k->p, x->m, lead);
        (void)offer_nodes_by(x, look_at_node);
        x->least = x->most < x->all_tasks ? x->most : x->all_tasks;
        x->least = x->least > need ? x->least : need;
        if (x->all_tasks < tasks_in_all(x)) /* other groups fit somewhere, too */
            x->most = INT64_MAX;
    }
    bool taken = offer_nodes_by(x, offer_node);
    if (taken || x->least == need || x->k->p->out.failed)
        return taken;
    x->least = need;
    return offer_nodes_by(x, offer_node);
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
    x.elastic = gang__member_is_elastic(k->p, m);
    x.most = x.least = 0;
    if (level >= GANG__LEVEL_NODE)
        return offer_nodes(&x);
    init_queries(&x);
    return offer_domains(&x);
}

bool gang__choose_cannot_fit(struct gang__plan *p)
{
    const gang_request *request = p->request;
    int32_t level = gang__demanded_level(request, 0);
    struct gang__scope all = gang__scope_all();
    struct gang__capacity_query query;
    gang__capacity_query_init(&query, p, 0, gang__scope_nodes(p, &all));
    if (!query.by_index || level < 0)
        return false;
    uint32_t count = gang__domain_count(p->c, (uint32_t)level);
    return gang__domain_capacity_next(&query, &all, (uint32_t)level, 0, count, request->min) ==
           count;
}
