/* SPDX-License-Identifier: Apache-2.0 */
/* Backtracking, when greedy placing fails: every choice of domains, and on few nodes every
 * distribution of the tasks, until one holds or a bounded number of steps is spent.
 *
 * Greedy placing misses a gang when a choice made early takes what a later one needs: two domains
 * of unlike size for two groups, nodes rich in cores for work that would fit elsewhere, parts of
 * devices that only go together one way. The request is written down as a list of choices (open a
 * domain for a member; fill a group into the scope it has; make up what a minimum is short of), and
 * gone through depth first. A fill is first tried as usual, and, where few nodes can take part,
 * then in every distribution: tasks of a group are alike, and so are nodes with the same words, so
 * that only what differs is tried. */

#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/bounds.h"
#include "place/fit/choose_devices.h"
#include "place/fit/fit_plan.h"
#include "place/fit/keys.h"
#include "place/fit/scope.h"
#include "place/pack/pack.h"
#include "place/search/domain_capacity.h"
#include "place/search/search.h"

enum {
    MOST_CHOICES = 64,
    MOST_GROUPS = 256, /* of a request: each is a frame or two of the stack, */
    MOST_PARTS = 256,  /* and so is each part of a device that is tried by itself */

    MOST_NODES = 24,        /* in a scope, for every distribution to be tried */
    MOST_LISTED = 64,       /* looked at for that, */
    MOST_SLOTS = 128,       /* among this many slots; most were given up */
    MOST_STEPS = 5000,      /* placements tried, where distributions are */
    IMPROVING_STEPS = 5000, /* for a better plan than there is */
    FEW_STEPS = 64,         /* where only domains are chosen: each is a search */
    WHOLE = 0               /* scope of the request */
};

enum what { OPEN, FILL, MAKE_UP };

struct todo {
    enum what what;
    struct gang__member
        m; /* OPEN: the member; FILL: the group and its tasks; MAKE_UP: the set or request */
    uint32_t outer; /* number of the scope around it */
    uint32_t scope; /* OPEN: number of the one that is chosen; else where it goes */
};

struct exhaust {
    struct gang__pack *k;
    struct gang__plan *p;
    int64_t steps;
    uint32_t count, scopes;
    struct todo todo[MOST_CHOICES];
    struct gang__scope scope[MOST_CHOICES + 1];
    bool too_many;
    struct gang__cost most; /* no plan that costs more */
};

/* The continuation after a choice. Lives on the stack. */
struct next {
    bool (*go)(struct exhaust *x, const struct next *n);
    uint32_t at;     /* of todo */
    uint32_t group;  /* MAKE_UP: the next group to ask */
    int64_t missing; /* and how many tasks are missing */
};

static bool solve(struct exhaust *x, uint32_t at);

static bool spent(struct exhaust *x)
{
    return x->steps-- <= 0 || x->p->out.failed;
}

/* ---- what a plan costs ----------------------------------------------------------------------- */

static bool is_dearer(struct gang__cost a, struct gang__cost b)
{
    return a.domains != b.domains ? a.domains > b.domains : a.nodes > b.nodes;
}

struct gang__cost gang__plan_cost(const struct gang__plan *p)
{
    struct gang__cost cost = {0, 0};
    uint32_t seen[MOST_NODES];
    int32_t level = (int32_t)p->c->nodes.level_count - 1;
    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct gang__node_copy *v = &p->nodes.copy[i];
        if (!v->node || !v->used)
            continue;
        cost.nodes++;
        uint32_t domain = level < 0 ? 0 : v->node->domain[level];
        int64_t k = 0;
        while (k < cost.domains && seen[k] != domain)
            k++;
        if (k == cost.domains && k < MOST_NODES)
            seen[cost.domains++] = domain;
    }
    return cost;
}

/* Is what is planned so far too dear already? It only gets dearer. */
static bool is_too_dear(const struct exhaust *x)
{
    return x->most.nodes < INT64_MAX && is_dearer(gang__plan_cost(x->p), x->most);
}

/* ---- the list of choices --------------------------------------------------------------------- */

static struct todo *add(struct exhaust *x, enum what what, struct gang__member m, uint32_t outer)
{
    if (x->count == MOST_CHOICES) {
        x->too_many = true;
        x->count = 0;
    }
    struct todo *t = &x->todo[x->count++];
    *t = (struct todo){what, m, outer, outer};
    return t;
}

/* The scope of a member: one to be opened, or that around it. */
static uint32_t open_for(struct exhaust *x, struct gang__member m, uint32_t outer)
{
    if (gang__member_same(x->k->q, m) < 0)
        return outer;
    struct todo *t = add(x, OPEN, m, outer);
    t->scope = x->scopes < MOST_CHOICES ? ++x->scopes : WHOLE;
    return t->scope;
}

static void write_group(struct exhaust *x, uint32_t group, uint32_t outer)
{
    const struct gang__group *g = &x->k->q->group[group];
    uint32_t scope = open_for(x, gang__member_group(group, g->min), outer);
    if (!g->slice) {
        add(x, FILL, gang__member_group(group, g->min), scope);
        return;
    }
    for (int64_t i = 0; i < g->min / g->slice && !x->too_many; i++) {
        struct gang__member m = gang__member_group(group, g->slice);
        m.slice = true;
        add(x, FILL, m, open_for(x, m, scope));
    }
}

static void write_set(struct exhaust *x, int32_t set, uint32_t outer)
{
    const gang_request *q = x->k->q;
    struct gang__member m = set < 0 ? gang__member_all() : gang__member_set(set);
    uint32_t scope = open_for(x, m, outer);
    for (uint32_t i = 0; i < q->group_set_count && !x->too_many; i++)
        if (q->set[i].parent == set && q->set[i].min > 0)
            write_set(x, (int32_t)i, scope);
    for (uint32_t i = 0; i < q->group_count && !x->too_many; i++)
        if (q->group[q->by_size[i]].set == set && q->group[q->by_size[i]].min > 0)
            write_group(x, q->by_size[i], scope);
    add(x, MAKE_UP, m, scope);
}

/* ---- opening --------------------------------------------------------------------------------- */

struct opening {
    struct exhaust *x;
    uint32_t at;
};

static bool open_here(void *user, const struct gang__scope *s)
{
    struct opening *o = user;
    struct exhaust *x = o->x;
    const struct todo *t = &x->todo[o->at];
    size_t picks = x->p->tasks.count, binds = x->p->bound.undos;
    if (spent(x))
        return false;
    x->scope[t->scope] = *s;
    if (gang__bind(x->p, t->m, s) && solve(x, o->at + 1))
        return true;
    gang__undo(x->p, picks, binds);
    return false;
}

static bool open_all(struct exhaust *x, uint32_t at)
{
    const struct todo *t = &x->todo[at];
    struct gang__scope outer = x->scope[t->outer], around;
    struct opening o = {x, at};
    int32_t same = gang__member_same(x->k->q, t->m);
    if (outer.level >= same)
        return gang__scope_at(x->p, &outer, same, &around) && open_here(&o, &outer);
    return gang__choose_each(x->k, t->m, same, &outer, open_here, &o);
}

/* ---- filling --------------------------------------------------------------------------------- */

struct filling {
    uint32_t group;
    const struct gang__scope *scope;
    const struct next *next;
    size_t at, count; /* slots, in plan.keys.key */
};

/* Nodes of the scope with room. False: too many to try every distribution. */
static bool list_nodes(struct exhaust *x, struct filling *f)
{
    struct gang__plan *p = x->p;
    uint32_t end = gang__plan_end(p);
    struct gang__node_list m = {end - 1, NULL, NULL};
    bool all = f->scope->level == GANG__NO_LEVEL;
    f->at = p->keys.count;
    f->count = 0;
    if (f->scope->level >= GANG__LEVEL_NODE)
        m.count = 1;
    else if (!all)
        m = gang__plan_members(p, f->scope->domain);
    if (m.count > (all ? MOST_SLOTS : MOST_LISTED) ||
        (all && gang__scope_nodes(p, f->scope) > MOST_LISTED))
        return false;
    uint64_t *key = gang__keys_push(p, MOST_NODES, &f->at);
    for (uint32_t i = 0; key && i < m.count; i++) {
        uint32_t slot = f->scope->level >= GANG__LEVEL_NODE ? f->scope->slot
                        : all                               ? i + 1
                                                            : gang__node_list_slot(&m, i);
        const struct gang__node *node = gang__plan_node(p, slot);
        if (!node || !gang__scope_has(f->scope, node) || !gang__plan_capacity(p, f->group, slot))
            continue;
        if (f->count == MOST_NODES)
            return false;
        key[f->count++] = slot;
    }
    return key != NULL && f->count > 0;
}

/* Do two nodes make no difference? */
static bool are_alike(struct gang__plan *p, uint32_t a, uint32_t b)
{
    struct gang__node_copy *v = gang__node_copy_at(p, a);
    size_t at = v ? (size_t)(v - p->nodes.copy) : 0;
    struct gang__node_copy *w = gang__node_copy_at(p, b);
    if (!v || !w || p->out.failed)
        return false;
    v = &p->nodes.copy[at];
    return v->shape == w->shape && v->unhealthy == w->unhealthy && !v->node->tags &&
           !w->node->tags &&
           memcmp(v->node->domain, w->node->domain, p->c->nodes.level_count * sizeof(uint32_t)) ==
               0 &&
           memcmp(gang__words_now(p, v), gang__words_now(p, w), v->words * sizeof(uint64_t)) == 0;
}

/* `left` tasks on the nodes from the i-th on. `most`: on this one, since one like it before it got
 * as many. */
static bool share_out(struct exhaust *x, const struct filling *f, size_t i, int64_t left,
                      int64_t most)
{
    struct gang__plan *p = x->p;
    if (left == 0)
        return f->next->go(x, f->next);
    if (i == f->count || spent(x))
        return false;
    uint32_t slot = (uint32_t)p->keys.key[f->at + i];
    bool twin = i + 1 < f->count && are_alike(p, slot, (uint32_t)p->keys.key[f->at + i + 1]);
    struct gang__scope node = gang__scope_node(slot);
    const struct gang__scope *where = f->scope->level > GANG__LEVEL_NODE ? f->scope : &node;
    size_t picks = p->tasks.count, binds = p->bound.undos;
    int64_t here = left < most ? left : most;
    here = here ? gang__search(p, f->group, here, where, GANG__ORDER_PROOF) : 0;
    for (;; here--) {
        if (!is_too_dear(x) && share_out(x, f, i + 1, left - here, twin ? here : INT64_MAX))
            return true;
        if (here == 0)
            break;
        gang__undo(p, picks + (size_t)here - 1, binds);
    }
    gang__undo(p, picks, binds);
    return false;
}

/* Was a node like this one among those before it, from the `from`-th on? */
static bool is_known(struct gang__plan *p, const struct filling *f, size_t from, size_t i)
{
    for (size_t k = from; k < i; k++)
        if (are_alike(p, (uint32_t)p->keys.key[f->at + k], (uint32_t)p->keys.key[f->at + i]))
            return true;
    return false;
}

/* Is as much free of a device as of one before it, from the `from`-th on? Or can it not be used at
 * all? */
static bool is_like_before(struct gang__plan *p, const struct gang__group *g, uint32_t slot,
                           unsigned from, unsigned device)
{
    const struct gang__node_copy *v = gang__node_copy_at(p, slot);
    const uint64_t *now = v ? gang__words_now(p, v) + GANG__WORD_SHARES : NULL;
    uint64_t usable = v ? gang__usable_devices(g, v) : 0;
    uint32_t free[2] = {0, 0};
    if (!(usable >> device & 1))
        return true;
    for (unsigned d = from; now && d < device; d++) {
        if (!(usable >> d & 1))
            continue;
        free[0] = gang__share(now[d / GANG__SHARES_PER_WORD], d % GANG__SHARES_PER_WORD);
        free[1] = gang__share(now[device / GANG__SHARES_PER_WORD], device % GANG__SHARES_PER_WORD);
        if (free[0] == free[1])
            return true;
    }
    return false;
}

/* Parts of single devices: each task on each device that makes a difference, in rising order. */
static bool share_devices(struct exhaust *x, const struct filling *f, size_t from, unsigned device,
                          int64_t left)
{
    struct gang__plan *p = x->p;
    const struct gang__group *g = &x->k->q->group[f->group];
    bool alike = g->share && !g->model_count; /* devices that have as much free */
    if (left == 0)
        return f->next->go(x, f->next);
    for (size_t i = from; i < f->count; i++, device = 0) {
        uint32_t slot = (uint32_t)p->keys.key[f->at + i];
        const struct gang__node *node = gang__plan_node(p, slot);
        if (!node || is_known(p, f, from, i) ||
            (g->bounded && gang__plan_allowance(p, f->group, node) == 0))
            continue;
        for (unsigned d = device; d < node->type->layout.gpus; d++) {
            struct gang__misfit misfit;
            size_t picks = p->tasks.count, binds = p->bound.undos;
            if (alike && is_like_before(p, g, slot, device, d))
                continue;
            if (spent(x))
                return false;
            if (g->bounded && gang__plan_allowance(p, f->group, node) == 0)
                break;
            if (!gang__plan_task(p, f->group, slot, UINT64_C(1) << d, &misfit))
                continue;
            if (!is_too_dear(x) && share_devices(x, f, i, d, left - 1))
                return true;
            gang__undo(p, picks, binds);
        }
    }
    return false;
}

static bool fill(struct exhaust *x, uint32_t group, int64_t want, bool slice,
                 const struct gang__scope *scope, const struct next *next)
{
    struct gang__plan *p = x->p;
    const struct gang__group *g = &x->k->q->group[group];
    size_t picks = p->tasks.count, binds = p->bound.undos;
    if (spent(x))
        return false;
    int64_t done = slice ? gang__fill_few_nodes(x->k, group, want, scope)
                         : gang__place_group(x->k, group, want, scope);
    if (done == want && !is_too_dear(x) && next->go(x, next))
        return true;
    gang__undo(p, picks, binds);
    struct filling f = {group, scope, next, 0, 0};
    bool parts = g->devices == 1 && g->share != 1000 && scope->level <= GANG__LEVEL_NODE &&
                 want <= MOST_PARTS;
    if (g->spread >= 0 || (g->slice && !slice) || x->steps <= 0)
        return false;
    bool found = false;
    if (list_nodes(x, &f))
        found = parts ? share_devices(x, &f, 0, 0, want) : share_out(x, &f, 0, want, INT64_MAX);
    gang__keys_pop(p, f.at);
    return found;
}

/* ---- making up a minimum --------------------------------------------------------------------- */

static bool is_inside(const gang_request *q, int32_t set, int32_t outer)
{
    while (set >= 0 && set != outer)
        set = q->set[set].parent;
    return outer < 0 || set == outer;
}

static int64_t tasks_missing(const struct exhaust *x, int32_t set)
{
    const gang_request *q = x->k->q;
    int64_t missing = set < 0 ? q->min : q->set[set].min;
    for (uint32_t i = 0; i < q->group_count; i++)
        if (is_inside(q, q->group[i].set, set))
            missing -= x->p->tasks.in_group[i];
    return missing;
}

static bool make_up(struct exhaust *x, const struct next *n);
static bool make_up_with(struct exhaust *x, const struct next *n, uint32_t group, int64_t want);

struct making_up {
    struct exhaust *x;
    struct gang__member m;
    const struct next *next;
    uint32_t group;
    int64_t want;
};

static bool make_up_here(void *user, const struct gang__scope *s)
{
    struct making_up *u = user;
    struct gang__plan *p = u->x->p;
    size_t picks = p->tasks.count, binds = p->bound.undos;
    if (spent(u->x))
        return false;
    if (gang__bind(p, u->m, s) && make_up_with(u->x, u->next, u->group, u->want))
        return true;
    gang__undo(p, picks, binds);
    return false;
}

/* `want` tasks of one group, in the domains it demands: those that are chosen, or chosen now, from
 * the outside in. The rest is of the groups after it. */
static bool make_up_with(struct exhaust *x, const struct next *n, uint32_t group, int64_t want)
{
    const gang_request *q = x->k->q;
    struct making_up u = {x, gang__member_all(), n, group, want};
    struct gang__scope s, around;
    if (gang__next_demand(x->k, group, &u.m)) {
        int32_t outer = u.m.group >= 0 ? q->group[group].set
                        : u.m.set >= 0 ? q->set[u.m.set].parent
                                       : GANG__NO_SET;
        bool whole = u.m.group < 0 && u.m.set < 0;
        s = whole ? gang__scope_all() : gang__scope_around(x->k, outer);
        int32_t same = gang__member_same(q, u.m);
        u.m.fill = (int32_t)group;
        u.m.want = want;
        if (s.level >= same)
            return gang__scope_at(x->p, &s, same, &around) && make_up_here(&u, &s);
        return gang__choose_each(x->k, u.m, same, &s, make_up_here, &u);
    }
    struct next rest = {make_up, n->at, n->group + 1, n->missing - want};
    s = x->p->bound.group[group];
    if (!gang__scope_is_bound(&s))
        s = gang__scope_around(x->k, q->group[group].set);
    return fill(x, group, want, false, &s, &rest);
}

static bool make_up(struct exhaust *x, const struct next *n)
{
    const gang_request *q = x->k->q;
    int32_t set = x->todo[n->at].m.set;
    if (n->missing <= 0)
        return solve(x, n->at + 1);
    if (n->group == q->group_count || spent(x))
        return false;
    uint32_t group = q->by_size[n->group];
    int64_t most = q->group[group].count - x->p->tasks.in_group[group];
    if (!is_inside(q, q->group[group].set, set))
        most = 0;
    int64_t want = most < n->missing ? most : n->missing;
    for (; want > 0 && x->steps > 0 && !x->p->out.failed; want--)
        if (make_up_with(x, n, group, want))
            return true;
    struct next rest = {make_up, n->at, n->group + 1, n->missing};
    return make_up(x, &rest);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool go_on(struct exhaust *x, const struct next *n)
{
    return solve(x, n->at);
}

static bool solve(struct exhaust *x, uint32_t at)
{
    if (at == x->count)
        return true;
    const struct todo *t = &x->todo[at];
    struct next next = {go_on, at + 1, 0, 0};
    switch (t->what) {
    case OPEN:
        return open_all(x, at);
    case FILL:
        return fill(x, (uint32_t)t->m.group, t->m.want, t->m.slice, &x->scope[t->scope], &next);
    case MAKE_UP:
        break;
    }
    next = (struct next){make_up, at, 0, tasks_missing(x, t->m.set)};
    return make_up(x, &next);
}

static bool exhaust(struct gang__pack *k, int32_t set, struct gang__cost most, int64_t steps)
{
    struct exhaust x;
    x.k = k;
    x.p = k->p;
    x.count = x.scopes = 0;
    x.too_many = false;
    x.most = most;
    x.steps = steps;
    x.scope[WHOLE] = gang__scope_all();
    write_set(&x, set, WHOLE);
    if (x.too_many || k->q->group_count > MOST_GROUPS)
        return false;
    bool found = solve(&x, 0);
    if (!found)
        gang__undo(k->p, 0, 0);
    return found;
}

static bool is_small(const struct gang__plan *p)
{
    struct gang__scope all = gang__scope_all();
    return gang__scope_nodes((struct gang__plan *)p, &all) <= MOST_NODES;
}

bool gang__backtrack(struct gang__pack *k, struct gang__member m)
{
    struct gang__cost any = {INT64_MAX, INT64_MAX};
    return exhaust(k, m.set, any, is_small(k->p) ? MOST_STEPS : FEW_STEPS);
}

bool gang__improve(struct gang__pack *k)
{
    struct gang__cost best = gang__plan_cost(k->p), least = {best.domains, best.nodes};
    bool improved = false, found = true;
    if (!is_small(k->p) || (best.domains == 1 && best.nodes == 1))
        return true;
    while (found && !k->p->out.failed && (least.domains > 1 || least.nodes > 1)) {
        /* One node less in as many domains; or, on as many nodes, in one domain less. */
        struct gang__cost next = {least.domains, least.nodes - 1};
        gang__undo(k->p, 0, 0);
        found = exhaust(k, GANG__NO_SET, next, IMPROVING_STEPS);
        if (found) {
            least = gang__plan_cost(k->p);
            improved = true;
        }
    }
    if (found)
        return true;
    return improved ? exhaust(k, GANG__NO_SET, least, MOST_STEPS) : false;
}
