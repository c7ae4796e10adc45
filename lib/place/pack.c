/* SPDX-License-Identifier: Apache-2.0 */
/* Groups, sets and domains: which domain for whom.
 *
 * A request is a tree: sets of sets and groups, each of which may demand (`same`) or wish
 * (`prefer`) a common domain. Domains nest, so choose from the outside in: for a member with a
 * demand try the domains of that level inside the enclosing one, the tightest that could hold it
 * first, and in each place everything inside; the first that holds it is taken. A wish tries the
 * wished level, then wider ones, then goes without. */
#include <stdlib.h>

#include "core/node.h"
#include "place/search.h"

struct pack {
    struct gang__plan *p;
    const gang_request *q;
    const uint32_t *order; /* of the groups; NULL: as they come */
    int32_t policy;        /* of the searches */
};

/* What is placed inside a domain: a group (with a number of tasks), a set, or the request. */
struct member {
    int32_t group; /* >= 0: this group */
    int32_t set;   /* >= 0: this set; else the request */
    int64_t want;  /* of the group */
};

static bool place(struct pack *k, struct member m, struct gang__domain *scope);

/* ---- what a member needs at least, to leave out domains that cannot hold it ------------------------ */

struct amount {
    uint64_t gpu; /* milli */
    uint64_t cpu; /* milli */
};

static bool set_is_inside(const gang_request *q, int32_t set, int32_t outer)
{
    while (set >= 0 && set != outer)
        set = q->set[set].parent;
    return set == outer;
}

static struct amount least_need(const struct pack *k, struct member m)
{
    struct amount sum = {0, 0};
    for (uint32_t i = 0; i < k->q->group_count; i++) {
        const struct gang__group *g = &k->q->group[i];
        int64_t tasks = 0;
        if (m.group >= 0)
            tasks = (int32_t)i == m.group ? m.want : 0;
        else if (set_is_inside(k->q, g->set, m.set))
            tasks = g->min;
        sum.cpu += (uint64_t)tasks * g->cpu;
        sum.gpu += (uint64_t)tasks * g->devices * g->share;
    }
    return sum;
}

static struct amount free_in(struct gang__plan *p, struct gang__domain *d)
{
    struct amount sum = {0, 0};
    struct gang__members *m = gang__domain_members(d);
    uint32_t count = gang__load(&m->count);
    for (uint32_t i = 0; i < count; i++) {
        struct gang__view *v = gang__plan_view(p, gang__load(&m->slot[i]));
        if (!v || v->node->domain[d->level] != d->index)
            continue;
        const uint64_t *now = gang__view_now(p, v);
        if (gang__head_state(now[GANG__WORD_HEAD]) != GANG__STATE_UP)
            continue;
        sum.cpu += gang__head_cpu(now[GANG__WORD_HEAD]);
        for (unsigned gpu = 0; gpu < v->layout.gpus; gpu++)
            sum.gpu += gang__share(now[GANG__WORD_SHARES + gpu / GANG__SHARES_PER_WORD],
                                   gpu % GANG__SHARES_PER_WORD);
    }
    return sum;
}

/* ---- domains ------------------------------------------------------------------------------------- */

static bool domain_is_inside(gang_cluster *c, const struct gang__domain *d,
                             const struct gang__domain *outer)
{
    while (d && outer && d->level > outer->level)
        d = d->parent == GANG__NO_DOMAIN ? NULL
                                         : gang__load(&gang__load(&c->domains)->entry[d->parent]);
    return !outer || d == outer;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void bind(struct gang__plan *p, struct member m, struct gang__domain *d)
{
    if (m.group >= 0)
        p->domain_of_group[m.group] = d;
    else if (m.set >= 0)
        p->domain_of_set[m.set] = d;
    else
        p->domain_of_request = d;
}

static int64_t tasks_inside(const struct pack *k, int32_t set)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < k->q->group_count; i++)
        if (set < 0 || set_is_inside(k->q, k->q->group[i].set, set))
            sum += k->p->in_group[i];
    return sum;
}

/* After tasks were taken back: a member without tasks is bound to no domain. */
static void unbind_empty(struct pack *k)
{
    for (uint32_t i = 0; i < k->q->group_count; i++)
        if (k->p->in_group[i] == 0)
            k->p->domain_of_group[i] = NULL;
    for (uint32_t i = 0; i < k->q->set_count; i++)
        if (k->p->domain_of_set[i] && tasks_inside(k, (int32_t)i) == 0)
            k->p->domain_of_set[i] = NULL;
}

static bool place_inside(struct pack *k, struct member m, struct gang__domain *d);

/* Try the domains of a level inside `scope`, the one with least room first (spread: with most). */
static bool try_level(struct pack *k, struct member m, uint32_t level, struct gang__domain *scope)
{
    struct gang__plan *p = k->p;
    struct amount need = least_need(k, m);
    uint32_t count = gang__domain_count(p->c, level);
    size_t at = gang__plan_take(p, 2 * (size_t)count);
    size_t found = 0;
    for (uint32_t i = 0; i < count && !p->failed; i++) {
        struct gang__domain *d = gang__domain_at(p->c, level, i);
        if (!domain_is_inside(p->c, d, scope))
            continue;
        struct amount there = free_in(p, d);
        if (there.cpu < need.cpu || there.gpu < need.gpu)
            continue;
        uint64_t room = need.gpu ? there.gpu : there.cpu;
        if (room >= UINT64_C(1) << 40)
            room = (UINT64_C(1) << 40) - 1;
        if (k->policy == GANG_POLICY_SPREAD)
            room = (UINT64_C(1) << 40) - 1 - room;
        if (k->policy == GANG_POLICY_FIRST)
            room = 0;
        p->word[at + found++] = room << 24 | i; /* fewer than 2^24 domains: each has a node */
    }
    if (p->failed)
        return false;
    qsort(p->word + at, found, sizeof(uint64_t), by_key);
    for (size_t i = 0; i < found; i++) {
        struct gang__domain *d =
            gang__domain_at(p->c, level, (uint32_t)(p->word[at + i] & 0xffffff));
        size_t before = p->picks;
        bind(p, m, d);
        if (place_inside(k, m, d))
            return true;
        gang__plan_rollback(p, before);
        unbind_empty(k);
        if (p->failed)
            break;
    }
    bind(p, m, NULL);
    return false;
}

/* Place a member in the domain it demands or wishes. */
static bool place(struct pack *k, struct member m, struct gang__domain *scope)
{
    const gang_request *q = k->q;
    int32_t same = m.group >= 0 ? q->group[m.group].same
                   : m.set >= 0 ? q->set[m.set].same
                                : q->same;
    int32_t prefer = m.group >= 0 ? q->group[m.group].prefer
                     : m.set >= 0 ? q->set[m.set].prefer
                                  : q->prefer;
    int32_t inside = scope ? (int32_t)scope->level : -1;
    int32_t widest = same > inside ? same : inside;
    for (int32_t level = prefer; level > widest; level--)
        if (try_level(k, m, (uint32_t)level, scope))
            return true;
    if (same > inside)
        return try_level(k, m, (uint32_t)same, scope);
    return place_inside(k, m, scope);
}

/* ---- inside a domain ------------------------------------------------------------------------------- */

/* The domain that binds a group: its own, or that of an enclosing set, or the request's. */
static struct gang__domain *domain_for(const struct pack *k, uint32_t group)
{
    struct gang__plan *p = k->p;
    if (p->domain_of_group[group])
        return p->domain_of_group[group];
    for (int32_t s = k->q->group[group].set; s >= 0; s = k->q->set[s].parent)
        if (p->domain_of_set[s])
            return p->domain_of_set[s];
    return p->domain_of_request;
}

/* Up to `want` more tasks of a group: in its domain if it has one, else each where it can go. */
static int64_t add_tasks(struct pack *k, uint32_t group, int64_t want)
{
    const struct gang__group *g = &k->q->group[group];
    struct gang__domain *d = domain_for(k, group);
    bool free_choice = g->same < 0 && g->prefer < 0;
    if (free_choice || k->p->domain_of_group[group])
        return gang__search(k->p, group, want, d, k->policy);
    struct member one = {(int32_t)group, GANG__NO_SET, 1};
    int64_t done = 0;
    while (done < want && place(k, one, d))
        done++;
    return done;
}

/* A set or the request: its sets, its groups' minima, then more tasks up to its own minimum. */
static bool place_members(struct pack *k, int32_t set, struct gang__domain *d)
{
    const gang_request *q = k->q;
    for (uint32_t i = 0; i < q->set_count; i++) {
        struct member m = {-1, (int32_t)i, 0};
        if (q->set[i].parent == set && q->set[i].min > 0 && !place(k, m, d))
            return false;
    }
    for (uint32_t i = 0; i < q->group_count; i++) {
        uint32_t g = k->order ? k->order[i] : i;
        struct member m = {(int32_t)g, GANG__NO_SET, q->group[g].min};
        if (q->group[g].set == set && m.want > 0 && !place(k, m, d))
            return false;
    }
    int64_t min = set < 0 ? q->min : q->set[set].min;
    for (uint32_t i = 0; i < q->group_count; i++) {
        uint32_t g = k->order ? k->order[i] : i;
        int64_t missing = min - tasks_inside(k, set);
        int64_t most = q->group[g].count - k->p->in_group[g];
        if (missing <= 0)
            return true;
        if (most > 0 && (set < 0 || set_is_inside(q, q->group[g].set, set)))
            add_tasks(k, g, missing < most ? missing : most);
    }
    return tasks_inside(k, set) >= min;
}

static bool place_inside(struct pack *k, struct member m, struct gang__domain *d)
{
    if (m.group < 0)
        return place_members(k, m.set, d);
    return gang__search(k->p, (uint32_t)m.group, m.want, d, k->policy) == m.want;
}

bool gang__pack_request(struct gang__plan *p, bool proof)
{
    const gang_request *q = p->q;
    struct pack k = {p, q, q->by_size, proof ? GANG__ORDER_PROOF : q->policy};
    struct member all = {-1, GANG__NO_SET, 0};
    if (place(&k, all, NULL))
        return true;
    gang__plan_rollback(p, 0);
    if (q->group_count == 1 || p->failed)
        return false;
    unbind_empty(&k);
    k.order = NULL;
    if (place(&k, all, NULL))
        return true;
    gang__plan_rollback(p, 0);
    return false;
}

int64_t gang__pack_more(struct gang__plan *p, uint32_t group, int64_t want, bool proof)
{
    struct pack k = {p, p->q, p->q->by_size, proof ? GANG__ORDER_PROOF : p->q->policy};
    int64_t done = add_tasks(&k, group, want);
    /* A domain that was only wished is no bound for what comes later. */
    if (done == 0 && p->domain_of_group[group] && p->q->group[group].same < 0) {
        p->domain_of_group[group] = NULL;
        done = add_tasks(&k, group, want);
    }
    return done;
}
