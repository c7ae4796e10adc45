/* SPDX-License-Identifier: Apache-2.0 */
/* Which domain of a level holds most tasks of a member, and what does it lack for the rest? */
#include "place/explain/best_domain.h"

#include "core/nodes/nodes.h"
#include "place/explain/node_census.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/search/search.h"

/* Has each level that is required around the member a domain around this one, equal to the bound
 * one if there is any? Binds them if `bind`. */
static bool lies_inside(struct gang__domain_search *e, const struct gang__scope *s, bool bind)
{
    struct gang__plan *p = e->k->p;
    const gang_request *request = e->k->request;
    struct gang__scope at;
    int32_t set = e->m.group >= 0 ? request->group[e->m.group].set : e->m.set;
    int32_t own = e->m.group >= 0 ? request->group[e->m.group].same : GANG__NO_LEVEL;
    if (own >= 0 && s->level >= own && !gang__scope_at(p, s, own, &at))
        return false;
    for (;; set = request->set[set].parent) {
        struct gang__member m = set < 0 ? gang__member_all() : gang__member_set(set);
        int32_t same = gang__member_same(request, m);
        /* A wider domain than is demanded here was looked at: what is inside chooses. */
        if (same >= 0 && s->level >= same &&
            (!gang__scope_at(p, s, same, &at) || (bind && !gang__bind(p, m, &at))))
            return false;
        if (set < 0)
            return true;
    }
}

struct gang__misfit gang__limiting_rule(struct gang__pack *k, uint32_t group, int64_t want,
                                        const struct gang__scope *s, bool *skew)
{
    const struct gang__group *g = &k->request->group[group];
    struct gang__misfit m = {GANG_CONSTRAINT_NONE, -1};
    *skew = false;
    if (g->bounded || g->spread >= 0)
        m.why = GANG_CONSTRAINT_SPREAD;
    if (g->bounded && g->spread >= 0 && !g->subgroup_size) {
        size_t tasks = k->p->tasks.count;
        *skew = gang__search(k->p, group, want, s, k->policy) == want;
        gang__plan_rollback(k->p, tasks);
    } else {
        *skew = g->spread >= 0;
    }
    if (g->subgroup_size && g->subgroup_same >= 0)
        m.why = GANG_CONSTRAINT_SAME;
    return m;
}

void gang__note_lack(struct gang__domain_search *e, uint32_t group, int64_t want, int64_t missing,
                     const struct gang__scope *s)
{
    struct gang__reason *f = e->f;
    struct gang__node_census census;
    bool skew;
    f->lack_group = (int32_t)group;
    gang__node_census_take(e->k->p, group, want, s, true, &census);
    f->lack = census.fit < want ? gang__node_census_reason(e->k->p->c, &census)
                                : gang__limiting_rule(e->k, group, want, s, &skew);
    if (f->lack.why == GANG_CONSTRAINT_NONE &&
        gang__demanded_level(e->k->request, (int32_t)group) >= 0)
        f->lack.why = GANG_CONSTRAINT_SAME;
    if (f->lack.kind >= 0)
        f->lack_amount = missing * gang__amount_asked(&e->k->request->group[group], f->lack.kind);
}

static bool is_in_member(const struct gang__domain_search *e, uint32_t group)
{
    const gang_request *request = e->k->request;
    return gang__set_is_inside(request, request->group[group].set, e->m.set);
}

/* Places as many tasks of a set or the request as go in a scope: what each group needs, the hardest
 * group first, then what the minimum lacks. `note`: records what the first group lacks that falls
 * short. */
static int64_t place_most(struct gang__domain_search *e, const struct gang__scope *s, bool note)
{
    struct gang__pack *k = e->k;
    const gang_request *request = k->request;
    int64_t done = 0;
    for (uint32_t i = 0; i < 2 * request->group_count && !k->p->out.failed; i++) {
        bool for_minimum = i >= request->group_count;
        uint32_t g = request->by_size[i % request->group_count];
        int64_t want = request->group[g].min, missing = e->f->want - done;
        if (for_minimum) {
            want = request->group[g].count - k->p->tasks.in_group[g];
            want = want < missing ? want : missing;
        }
        if (!is_in_member(e, g) || want <= 0)
            continue;
        int64_t here = gang__add_tasks(k, g, want);
        done += here;
        if (here < want && note && e->f->lack_group < 0 && !k->p->out.failed)
            gang__note_lack(e, g, want - here, want - here, s);
    }
    return done;
}

static int64_t place_most_of_set(struct gang__domain_search *e, const struct gang__scope *s,
                                 bool note)
{
    struct gang__plan *p = e->k->p;
    size_t tasks = p->tasks.count, binds = p->bound.undos;
    if (!lies_inside(e, s, true))
        return -1;
    if (gang__place_inside(e->k, e->m, s)) {
        e->whole = true;
        return e->f->want;
    }
    gang__undo(p, tasks, binds);
    return lies_inside(e, s, true) ? place_most(e, s, note) : -1;
}

int64_t gang__scope_holds(struct gang__domain_search *e, const struct gang__scope *s, bool note)
{
    struct gang__pack *k = e->k;
    struct gang__plan *p = k->p;
    size_t tasks = p->tasks.count, binds = p->bound.undos, copies = p->nodes.count,
           words = p->words;
    int64_t done = -1;
    if (e->m.group < 0)
        done = place_most_of_set(e, s, note);
    else if (lies_inside(e, s, false))
        done = e->m.subgroup ? gang__fill_few_nodes(k, (uint32_t)e->m.group, e->m.want, s)
                             : gang__place_group(k, (uint32_t)e->m.group, e->m.want, s);
    gang__undo(p, tasks, binds);
    if (p->nodes.count == copies) /* else words of new copies are among those used since */
        p->words = words;
    return done;
}

/* Compares a scope with the best one so far. True: the search is over. */
static bool try_scope(struct gang__domain_search *e, const struct gang__scope *s)
{
    struct gang__reason *f = e->f;
    struct gang__plan *p = e->k->p;
    if (e->around.level >= 0 && !gang__scope_is_inside(p, s, &e->around))
        return false;
    /* What is free bounds what fits. */
    if (e->m.group >= 0 && s->level >= GANG__LEVEL_NODE && gang__scope_is_bound(&f->best) &&
        gang__plan_capacity(p, (uint32_t)e->m.group, s->slot) <= f->best_holds)
        return false;
    int64_t tasks = gang__scope_holds(e, s, false);
    if (tasks < 0 || (gang__scope_is_bound(&f->best) && tasks <= f->best_holds))
        return p->out.failed;
    f->best = *s;
    f->best_holds = tasks;
    return p->out.failed || tasks >= f->best_want;
}

static bool try_node(struct gang__domain_search *e, uint32_t slot, int32_t level)
{
    const struct gang__node *node = gang__plan_node(e->k->p, slot);
    if (!node)
        return false;
    struct gang__scope s = gang__scope_node(slot);
    if (level == GANG__LEVEL_NODE)
        return try_scope(e, &s);
    uint32_t parts = gang__inner_domains_of(node->type, level - GANG__LEVEL_PACKAGE)->count;
    for (uint32_t i = 0; i < parts; i++) {
        s = gang__scope_part(slot, level, i);
        if (try_scope(e, &s))
            return true;
    }
    return false;
}

/* Domains of the site. The capacity of each is known without planning there; for a group it bounds
 * the tasks that fit. */
static void find_best_site_domain(struct gang__domain_search *e, uint32_t level)
{
    struct gang__plan *p = e->k->p;
    struct gang__capacity_query query;
    struct gang__capacity capacity;
    bool group = e->m.group >= 0;
    uint32_t count = gang__domain_count(p->c, level);
    if (group)
        gang__capacity_query_init(&query, p, (uint32_t)e->m.group,
                                  gang__scope_nodes(p, &e->around));
    for (uint32_t i = 0; i < count && !p->out.failed; i++) {
        struct gang__scope s = gang__scope_domain(gang__domain_at(p->c, level, i));
        if (group && gang__scope_is_bound(&e->f->best)) {
            gang__domain_capacity(&query, level, i, &capacity);
            if (capacity.tasks <= e->f->best_holds)
                continue;
        }
        if (try_scope(e, &s))
            return;
    }
}

void gang__best_domain(struct gang__domain_search *e, int32_t level)
{
    e->f->level = level;
    if (level < GANG__LEVEL_NODE) {
        find_best_site_domain(e, (uint32_t)level);
        return;
    }
    uint32_t end = gang__plan_end(e->k->p);
    for (uint32_t slot = 1; slot < end; slot++)
        if (try_node(e, slot, level))
            return;
}
