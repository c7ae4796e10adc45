/* SPDX-License-Identifier: Apache-2.0 */
/* Backtracking, when greedy placing fails: goes through every choice of domains, until one holds or
 * a bounded number of steps is spent.
 *
 * Greedy placing misses a gang when a choice made early takes what a later one needs: two domains
 * of unlike size for two groups, nodes rich in cores for work that would fit elsewhere, parts of
 * devices that only go together one way. The request is written down as a list of choices (a domain
 * for a member; nodes for the tasks of a group; groups for the tasks that a minimum is short of),
 * and gone through depth first. distribute.c chooses the nodes. */
#include "place/pack/backtrack.h"

#include "place/fit/fit.h"
#include "place/pack/pack.h"

enum {
    MAX_GROUPS = 256,      /* of a request: each is a frame or two of the stack */
    MAX_DOMAIN_STEPS = 64, /* where only domains are chosen: each is a search */
    WHOLE = 0              /* number of the request's scope */
};

static bool solve(struct gang__backtracking *x, uint32_t at);

/* ---- the list of choices --------------------------------------------------------------------- */

static struct gang__choice *add(struct gang__backtracking *x, enum gang__choice_kind kind,
                                struct gang__member m, uint32_t outer)
{
    if (x->count == GANG__MAX_CHOICES) {
        x->too_many = true;
        x->count = 0;
    }
    struct gang__choice *c = &x->choice[x->count++];
    *c = (struct gang__choice){kind, m, outer, outer};
    return c;
}

/* The number of the scope that a member goes to: one to be chosen, or the one around it. */
static uint32_t choose_domain_for(struct gang__backtracking *x, struct gang__member m,
                                  uint32_t outer)
{
    if (gang__member_same(x->k->request, m) < 0)
        return outer;
    struct gang__choice *c = add(x, GANG__CHOOSE_DOMAIN, m, outer);
    c->scope = x->scopes < GANG__MAX_CHOICES ? ++x->scopes : WHOLE;
    return c->scope;
}

static void list_group(struct gang__backtracking *x, uint32_t group, uint32_t outer)
{
    const struct gang__group *g = &x->k->request->group[group];
    uint32_t scope = choose_domain_for(x, gang__member_group(group, g->min), outer);
    if (!g->subgroup_size) {
        add(x, GANG__PLACE_TASKS, gang__member_group(group, g->min), scope);
        return;
    }
    for (int64_t i = 0; i < g->min / g->subgroup_size && !x->too_many; i++) {
        struct gang__member m = gang__member_group(group, g->subgroup_size);
        m.subgroup = true;
        add(x, GANG__PLACE_TASKS, m, choose_domain_for(x, m, scope));
    }
}

static void list_set(struct gang__backtracking *x, int32_t set, uint32_t outer)
{
    const gang_request *request = x->k->request;
    struct gang__member m = set < 0 ? gang__member_all() : gang__member_set(set);
    uint32_t scope = choose_domain_for(x, m, outer);
    for (uint32_t i = 0; i < request->group_set_count && !x->too_many; i++)
        if (request->set[i].parent == set && request->set[i].min > 0)
            list_set(x, (int32_t)i, scope);
    for (uint32_t i = 0; i < request->group_count && !x->too_many; i++)
        if (request->group[request->by_size[i]].set == set &&
            request->group[request->by_size[i]].min > 0)
            list_group(x, request->by_size[i], scope);
    add(x, GANG__REACH_MINIMUM, m, scope);
}

/* ---- a domain -------------------------------------------------------------------------------- */

struct domain_trial {
    struct gang__backtracking *x;
    uint32_t at;
};

static bool try_domain(void *user, const struct gang__scope *s, int64_t most)
{
    (void)most;
    struct domain_trial *trial = user;
    struct gang__backtracking *x = trial->x;
    const struct gang__choice *c = &x->choice[trial->at];
    size_t tasks = x->p->tasks.count, binds = x->p->bound.undos;
    if (gang__backtrack_spent(x))
        return false;
    x->scope[c->scope] = *s;
    if (gang__bind(x->p, c->m, s) && solve(x, trial->at + 1))
        return true;
    gang__undo(x->p, tasks, binds);
    return false;
}

static bool choose_domain(struct gang__backtracking *x, uint32_t at)
{
    const struct gang__choice *c = &x->choice[at];
    struct gang__scope outer = x->scope[c->outer], around;
    struct domain_trial trial = {x, at};
    int32_t same = gang__member_same(x->k->request, c->m);
    if (outer.level >= same)
        return gang__scope_at(x->p, &outer, same, &around) && try_domain(&trial, &outer, 0);
    return gang__choose_each(x->k, c->m, same, &outer, try_domain, &trial);
}

/* ---- a minimum ------------------------------------------------------------------------------- */

static int64_t tasks_missing(const struct gang__backtracking *x, int32_t set)
{
    const gang_request *request = x->k->request;
    int64_t missing = set < 0 ? request->min : request->set[set].min;
    for (uint32_t i = 0; i < request->group_count; i++)
        if (gang__set_is_inside(request, request->group[i].set, set))
            missing -= x->p->tasks.in_group[i];
    return missing;
}

static bool reach_minimum(struct gang__backtracking *x, const struct gang__continuation *n);
static bool reach_minimum_with(struct gang__backtracking *x, const struct gang__continuation *n,
                               uint32_t group, int64_t want);

struct minimum_trial {
    struct gang__backtracking *x;
    struct gang__member m;
    const struct gang__continuation *next;
    uint32_t group;
    int64_t want;
};

static bool try_minimum_domain(void *user, const struct gang__scope *s, int64_t most)
{
    (void)most;
    struct minimum_trial *trial = user;
    struct gang__plan *p = trial->x->p;
    size_t tasks = p->tasks.count, binds = p->bound.undos;
    if (gang__backtrack_spent(trial->x))
        return false;
    if (gang__bind(p, trial->m, s) &&
        reach_minimum_with(trial->x, trial->next, trial->group, trial->want))
        return true;
    gang__undo(p, tasks, binds);
    return false;
}

/* Takes `want` of the missing tasks from one group, in the domains it demands: those that are
 * chosen, or chosen now, from the outside in. Later groups supply the other missing tasks. */
static bool reach_minimum_with(struct gang__backtracking *x, const struct gang__continuation *n,
                               uint32_t group, int64_t want)
{
    const gang_request *request = x->k->request;
    struct minimum_trial trial = {x, gang__member_all(), n, group, want};
    struct gang__scope s, around;
    if (gang__next_demand(x->k, group, &trial.m)) {
        int32_t same = gang__member_same(request, trial.m);
        s = gang__scope_outside(x->k, trial.m);
        trial.m.more_group = (int32_t)group;
        trial.m.want = want;
        if (s.level >= same)
            return gang__scope_at(x->p, &s, same, &around) && try_minimum_domain(&trial, &s, 0);
        return gang__choose_each(x->k, trial.m, same, &s, try_minimum_domain, &trial);
    }
    struct gang__continuation rest = {reach_minimum, n->at, n->group + 1, n->missing - want};
    s = x->p->bound.group[group];
    if (!gang__scope_is_bound(&s))
        s = gang__scope_around(x->k, request->group[group].set);
    return gang__distribute(x, gang__member_group(group, want), &s, &rest);
}

/* Takes the tasks that a minimum is short of from the groups in it, from the n->group-th on. */
static bool reach_minimum(struct gang__backtracking *x, const struct gang__continuation *n)
{
    const gang_request *request = x->k->request;
    int32_t set = x->choice[n->at].m.set;
    if (n->missing <= 0)
        return solve(x, n->at + 1);
    if (n->group == request->group_count || gang__backtrack_spent(x))
        return false;
    uint32_t group = request->by_size[n->group];
    int64_t most = request->group[group].count - x->p->tasks.in_group[group];
    if (!gang__set_is_inside(request, request->group[group].set, set))
        most = 0;
    int64_t want = most < n->missing ? most : n->missing;
    for (; want > 0 && x->steps > 0 && !x->p->out.failed; want--)
        if (reach_minimum_with(x, n, group, want))
            return true;
    struct gang__continuation rest = {reach_minimum, n->at, n->group + 1, n->missing};
    return reach_minimum(x, &rest);
}

/* ---- all choices ----------------------------------------------------------------------------- */

static bool go_on(struct gang__backtracking *x, const struct gang__continuation *n)
{
    return solve(x, n->at);
}

/* Makes the choices from number `at` on. */
static bool solve(struct gang__backtracking *x, uint32_t at)
{
    if (at == x->count)
        return true;
    const struct gang__choice *c = &x->choice[at];
    struct gang__continuation next = {go_on, at + 1, 0, 0};
    switch (c->kind) {
    case GANG__CHOOSE_DOMAIN:
        return choose_domain(x, at);
    case GANG__PLACE_TASKS:
        return gang__distribute(x, c->m, &x->scope[c->scope], &next);
    case GANG__REACH_MINIMUM:
        break;
    }
    next = (struct gang__continuation){reach_minimum, at, 0, tasks_missing(x, c->m.set)};
    return reach_minimum(x, &next);
}

bool gang__backtrack_all(struct gang__pack *k, int32_t set, struct gang__cost max_cost,
                         int64_t steps)
{
    struct gang__backtracking x;
    x.k = k;
    x.p = k->p;
    x.count = x.scopes = 0;
    x.too_many = false;
    x.max_cost = max_cost;
    x.steps = steps;
    x.scope[WHOLE] = gang__scope_all();
    list_set(&x, set, WHOLE);
    if (x.too_many || k->request->group_count > MAX_GROUPS)
        return false;
    bool found = solve(&x, 0);
    if (!found)
        gang__undo(k->p, 0, 0);
    return found;
}

bool gang__backtrack(struct gang__pack *k, struct gang__member m)
{
    struct gang__cost any = {INT64_MAX, INT64_MAX};
    return gang__backtrack_all(k, m.set, any,
                               gang__is_small_cluster(k->p) ? GANG__MAX_STEPS : MAX_DOMAIN_STEPS);
}
