/* SPDX-License-Identifier: Apache-2.0 */
/* Groups, sets and domains: which domain for whom.
 *
 * A request is a tree: sets of sets and groups, each of which may demand (`same`) or wish
 * (`prefer`) a common domain. Domains nest, so choose from the outside in: for a member with a
 * demand try the domains of that level inside the enclosing one, the tightest that could hold it
 * first, and in each place everything inside; the first that holds it is taken. A wish tries the
 * wished level, then wider ones, then goes without. */

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
    int32_t fill;  /* >= 0: not the member whole, but `want` more tasks of this group in it */
};
enum { NO_FILL = -1 };

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
        if (m.group >= 0 || m.fill >= 0)
            tasks = (int32_t)i == (m.fill >= 0 ? m.fill : m.group) ? m.want : 0;
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
    struct gang__crowd m = gang__plan_members(p, d);
    for (uint32_t i = 0; i < m.count; i++) {
        struct gang__view *v = gang__plan_view(p, gang__crowd_slot(&m, i));
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

static struct gang__domain *parent_of(gang_cluster *c, const struct gang__domain *d)
{
    return d->parent == GANG__NO_DOMAIN ? NULL
                                        : gang__load(&gang__load(&c->domains)->entry[d->parent]);
}

static bool domain_is_inside(gang_cluster *c, const struct gang__domain *d,
                             const struct gang__domain *outer)
{
    while (d && outer && d->level > outer->level)
        d = parent_of(c, d);
    return !outer || d == outer;
}

/* Does the domain lie in one of a level, itself or a wider one? */
static bool lies_in_level(gang_cluster *c, const struct gang__domain *d, int32_t level)
{
    while (d && (int32_t)d->level > level)
        d = parent_of(c, d);
    return d && (int32_t)d->level == level;
}

/* ---- which domain a member is bound to -------------------------------------------------------------- */

static struct gang__domain **bound(struct gang__plan *p, struct member m)
{
    return m.group >= 0 ? &p->domain_of_group[m.group]
           : m.set >= 0 ? &p->domain_of_set[m.set]
                        : &p->domain_of_request;
}

static bool bind(struct gang__plan *p, struct member m, struct gang__domain *d)
{
    struct gang__domain **where = bound(p, m);
    struct gang__bind before = {where, *where};
    if (!gang__grow(&p->c->mem, (void **)&p->bind, &p->bind_room, p->binds + 1, sizeof(*p->bind))) {
        p->failed = true;
        return false;
    }
    p->bind[p->binds++] = before;
    *where = d;
    return true;
}

/* Back to where the plan was when it had so many picks and binds. */
static void undo(struct gang__plan *p, size_t picks, size_t binds)
{
    gang__plan_rollback(p, picks);
    while (p->binds > binds) {
        const struct gang__bind *b = &p->bind[--p->binds];
        *b->where = b->was;
    }
}

static int32_t same_of(const gang_request *q, struct member m)
{
    return m.group >= 0 ? q->group[m.group].same : m.set >= 0 ? q->set[m.set].same : q->same;
}

static int32_t prefer_of(const gang_request *q, struct member m)
{
    return m.group >= 0 ? q->group[m.group].prefer : m.set >= 0 ? q->set[m.set].prefer : q->prefer;
}

static bool place_inside(struct pack *k, struct member m, struct gang__domain *d);

/* Bind a member to a domain and place it there. */
static bool place_bound(struct pack *k, struct member m, struct gang__domain *d)
{
    size_t picks = k->p->picks, binds = k->p->binds;
    if (bind(k->p, m, d) && place_inside(k, m, d))
        return true;
    undo(k->p, picks, binds);
    return false;
}

/* Try the domains of a level inside `scope`, the one with least room first (spread: with most). */
static bool try_level(struct pack *k, struct member m, uint32_t level, struct gang__domain *scope)
{
    struct gang__plan *p = k->p;
    struct amount need = least_need(k, m);
    int32_t same = same_of(k->q, m);
    uint32_t count = gang__domain_count(p->c, level);
    size_t at = gang__plan_take(p, count);
    size_t found = 0;
    for (uint32_t i = 0; i < count && !p->failed; i++) {
        struct gang__domain *d = gang__domain_at(p->c, level, i);
        if (!domain_is_inside(p->c, d, scope))
            continue;
        if (same >= 0 &&
            !lies_in_level(p->c, d, same)) /* a wish, outside of all that is demanded */
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
    if (found > 1)
        gang__sort_keys(p->word + at, found);
    for (size_t i = 0; i < found && !p->failed; i++) {
        uint32_t number = (uint32_t)(p->word[at + i] & 0xffffff);
        if (place_bound(k, m, gang__domain_at(p->c, level, number)))
            return true;
    }
    return false;
}

/* Place a member in the domain it wishes, or at least in the one it demands. */
static bool place(struct pack *k, struct member m, struct gang__domain *scope)
{
    int32_t same = same_of(k->q, m);
    int32_t inside = scope ? (int32_t)scope->level : -1;
    int32_t widest = same > inside ? same : inside;
    for (int32_t level = prefer_of(k->q, m); level > widest; level--)
        if (try_level(k, m, (uint32_t)level, scope))
            return true;
    if (same < 0)
        return place_inside(k, m, scope);
    if (same > inside)
        return try_level(k, m, (uint32_t)same, scope);
    /* A wider domain than the enclosing one was chosen from: there must be one. */
    return lies_in_level(k->p->c, scope, same) && place_bound(k, m, scope);
}

/* ---- inside a domain ------------------------------------------------------------------------------- */

int32_t gang__demanded_around(const gang_request *q, int32_t set)
{
    int32_t level = q->same;
    for (; set >= 0; set = q->set[set].parent)
        if (q->set[set].same > level)
            level = q->set[set].same;
    return level;
}

int32_t gang__demanded_level(const gang_request *q, int32_t group)
{
    int32_t around = gang__demanded_around(q, q->group[group].set);
    return around > q->group[group].same ? around : q->group[group].same;
}

/* The domain that binds a member from outside: that of an enclosing set, or the request's. */
static struct gang__domain *domain_around(const struct pack *k, int32_t set)
{
    for (; set >= 0; set = k->q->set[set].parent)
        if (k->p->domain_of_set[set])
            return k->p->domain_of_set[set];
    return k->p->domain_of_request;
}

/* The outermost of a group, its sets and the request that demands a domain and has none yet. */
static bool next_demand(const struct pack *k, uint32_t group, struct member *m)
{
    const gang_request *q = k->q;
    const struct gang__group *g = &q->group[group];
    bool found = g->same >= 0 && !k->p->domain_of_group[group];
    m->group = (int32_t)group;
    m->set = GANG__NO_SET;
    for (int32_t s = g->set; s >= 0; s = q->set[s].parent) {
        if (q->set[s].same >= 0 && !k->p->domain_of_set[s]) {
            m->group = -1;
            m->set = s;
            found = true;
        }
    }
    if (q->same >= 0 && !k->p->domain_of_request) {
        m->group = -1;
        m->set = GANG__NO_SET;
        found = true;
    }
    return found;
}

static int64_t add_tasks(struct pack *k, uint32_t group, int64_t want);

/* Choose a domain for a member that demands one, by the tasks of a group that are to go there: for
 * all of them if it can be, else for half, and so on. Adds them. */
static int64_t add_in_demand(struct pack *k, struct member m, uint32_t group, int64_t want)
{
    int32_t outer = m.group >= 0 ? k->q->group[group].set
                    : m.set >= 0 ? k->q->set[m.set].parent
                                 : GANG__NO_SET;
    bool whole = m.group < 0 && m.set < 0;
    struct gang__domain *scope = whole ? NULL : domain_around(k, outer);
    int32_t same = same_of(k->q, m);
    m.fill = (int32_t)group;
    for (m.want = want; m.want > 0 && !k->p->failed; m.want /= 2) {
        bool done = scope && (int32_t)scope->level >= same
                        ? lies_in_level(k->p->c, scope, same) && place_bound(k, m, scope)
                        : try_level(k, m, (uint32_t)same, scope);
        if (done)
            return m.want + (m.want < want ? add_tasks(k, group, want - m.want) : 0);
    }
    return 0;
}

/* In the domain that the group wishes, inside the one that binds it. */
static bool add_in_wish(struct pack *k, uint32_t group, int64_t want, struct gang__domain *d)
{
    const struct gang__group *g = &k->q->group[group];
    struct member m = {(int32_t)group, GANG__NO_SET, want, NO_FILL};
    int32_t widest = d ? (int32_t)d->level : -1;
    if (k->p->in_group[group] > 0)
        return false;
    for (int32_t level = g->prefer; level > widest; level--)
        if (try_level(k, m, (uint32_t)level, d))
            return true;
    return false;
}

/* Up to `want` more tasks of a group, where those it has are: in the domains that are bound, as far
 * as demanded; where a wish is the bound, then in wider ones. Domains that are demanded and not
 * chosen yet are chosen, from the outside in. */
static int64_t add_tasks(struct pack *k, uint32_t group, int64_t want)
{
    struct gang__plan *p = k->p;
    struct member m = {-1, GANG__NO_SET, 0, NO_FILL};
    if (next_demand(k, group, &m))
        return add_in_demand(k, m, group, want);
    struct gang__domain *d = p->domain_of_group[group];
    if (!d)
        d = domain_around(k, k->q->group[group].set);
    if (add_in_wish(k, group, want, d))
        return want;
    int32_t demanded = gang__demanded_level(k->q, (int32_t)group);
    for (int64_t done = 0;;) {
        done += gang__search(p, group, want - done, d, k->policy);
        if (done == want || !d || (int32_t)d->level <= demanded || p->failed)
            return done;
        d = parent_of(p->c, d);
    }
}

static int64_t tasks_inside(const struct pack *k, int32_t set)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < k->q->group_count; i++)
        if (set < 0 || set_is_inside(k->q, k->q->group[i].set, set))
            sum += k->p->in_group[i];
    return sum;
}

/* A set or the request: its sets, its groups' minima, then more tasks up to its own minimum. */
static bool place_members(struct pack *k, int32_t set, struct gang__domain *d)
{
    const gang_request *q = k->q;
    for (uint32_t i = 0; i < q->set_count; i++) {
        struct member m = {-1, (int32_t)i, 0, NO_FILL};
        if (q->set[i].parent == set && q->set[i].min > 0 && !place(k, m, d))
            return false;
    }
    for (uint32_t i = 0; i < q->group_count; i++) {
        uint32_t g = k->order ? k->order[i] : i;
        struct member m = {(int32_t)g, GANG__NO_SET, q->group[g].min, NO_FILL};
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
    if (m.fill >= 0)
        return add_tasks(k, (uint32_t)m.fill, m.want) == m.want;
    if (m.group < 0)
        return place_members(k, m.set, d);
    return gang__search(k->p, (uint32_t)m.group, m.want, d, k->policy) == m.want;
}

/* One group, no domain. Packing need not take just this node and no other; if the nodes that others
 * are at would be needed, it waits for them after all. */
static bool place_plain(struct pack *k)
{
    struct gang__plan *p = k->p;
    int64_t want = k->q->min;
    p->shy = k->policy == GANG_POLICY_PACK;
    if (gang__search(p, 0, want, NULL, k->policy) == want)
        return true;
    if (!p->passed || p->failed)
        return false;
    undo(p, 0, 0);
    p->shy = false;
    return gang__search(p, 0, want, NULL, k->policy) == want;
}

bool gang__pack_request(struct gang__plan *p, bool proof)
{
    const gang_request *q = p->q;
    struct pack k = {p, q, q->by_size, proof ? GANG__ORDER_PROOF : q->policy};
    struct member all = {-1, GANG__NO_SET, 0, NO_FILL};
    p->even = proof || p->empty;
    p->settled = proof;
    p->shy = p->passed = false;
    if (q->plain ? place_plain(&k) : place(&k, all, NULL))
        return true;
    undo(p, 0, 0);
    if (q->group_count == 1 || p->failed)
        return false;
    k.order = NULL;
    if (place(&k, all, NULL))
        return true;
    undo(p, 0, 0);
    return false;
}

int64_t gang__pack_more(struct gang__plan *p, uint32_t group, int64_t least, int64_t want,
                        bool proof)
{
    struct pack k = {p, p->q, p->q->by_size, proof ? GANG__ORDER_PROOF : p->q->policy};
    size_t picks = p->picks, binds = p->binds;
    p->even = proof || p->empty;
    p->settled = proof;
    int64_t done = add_tasks(&k, group, want);
    if (done >= least)
        return done;
    undo(p, picks, binds);
    return 0;
}
