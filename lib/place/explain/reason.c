/* SPDX-License-Identifier: Apache-2.0 */
/* The reason of a refusal. Constraints are looked at in this order, each beside those before it,
 * and the first that fails is named: nodes for the tasks, wherever they lie; bounds, spreading and
 * subgroups; one domain; all groups of a set, and of the request, together. */
#include "place/explain/explain.h"

#include <string.h>

#include "base/error.h"
#include "core/nodes/nodes.h"
#include "place/explain/node_census.h"
#include "place/fit/fit_plan.h"
#include "place/fit/scope.h"
#include "place/pack/pack.h"
#include "place/record/running.h"
#include "place/search/domain_capacity.h"
#include "place/search/search.h"

int64_t gang__tasks_needed(const gang_request *q, uint32_t group)
{
    int64_t min = q->group[group].min;
    return min == 0 && q->group_count == 1 ? q->min : min;
}

static gang_result begin(const struct gang__question *a, bool empty)
{
    struct gang__plan *p = a->p;
    if (gang__plan_begin(p, a->c, a->q, empty) != GANG_OK)
        return GANG_ENOMEM;
    p->mode.worst_fit = true;
    if (!a->running)
        return GANG_OK;
    gang__plan_running(p, a->running);
    if (empty)
        gang__plan_own_tasks(p, a->running);
    return p->out.failed ? GANG_ENOMEM : GANG_OK;
}

static struct gang__reason new_finding(const struct gang__question *a, int32_t group, int32_t set,
                                       int64_t want)
{
    struct gang__reason f;
    memset(&f, 0, sizeof(f));
    f.group = group;
    f.set = set;
    f.more = a->running != NULL;
    f.want = f.best_want = want;
    f.why.kind = f.lack.kind = -1;
    f.level = GANG__NO_LEVEL;
    f.best = gang__scope_unbound();
    f.lack_group = -1;
    return f;
}

/* ---- each domain ----------------------------------------------------------------------------- */

struct each {
    struct gang__pack *k;
    struct gang__member m;
    struct gang__reason *f;
    struct gang__scope around; /* domains inside of this one */
    bool whole;                /* some scope holds the whole member, not only as many tasks */
};

/* Does each level that is required around a member have a domain around this one, equal to the
 * bound one if there is any? Binds them if `bind`. */
static bool lies_inside(struct each *e, const struct gang__scope *s, bool bind)
{
    struct gang__plan *p = e->k->p;
    const gang_request *q = e->k->q;
    struct gang__scope at;
    int32_t set = e->m.group >= 0 ? q->group[e->m.group].set : e->m.set;
    int32_t own = e->m.group >= 0 ? q->group[e->m.group].same : GANG__NO_LEVEL;
    if (own >= 0 && s->level >= own && !gang__scope_at(p, s, own, &at))
        return false;
    for (;; set = q->set[set].parent) {
        struct gang__member m = set < 0 ? gang__member_all() : gang__member_set(set);
        int32_t same = gang__member_same(q, m);
        /* A wider domain than is demanded here was looked at: what is inside chooses. */
        if (same >= 0 && s->level >= same &&
            (!gang__scope_at(p, s, same, &at) || (bind && !gang__bind(p, m, &at))))
            return false;
        if (set < 0)
            return true;
    }
}

/* The rule of a group that keeps tasks from where there is room for them. */
static struct gang__misfit bend_of(struct gang__pack *k, uint32_t group, int64_t want,
                                   const struct gang__scope *s, bool *skew)
{
    const struct gang__group *g = &k->q->group[group];
    struct gang__misfit m = {GANG_CONSTRAINT_NONE, -1};
    *skew = false;
    if (g->bounded || g->spread >= 0)
        m.why = GANG_CONSTRAINT_SPREAD;
    if (g->bounded && g->spread >= 0 && !g->subgroup_size) {
        size_t picks = k->p->tasks.count;
        *skew = gang__search(k->p, group, want, s, k->policy) == want;
        gang__plan_rollback(k->p, picks);
    } else {
        *skew = g->spread >= 0;
    }
    if (g->subgroup_size && g->subgroup_same >= 0)
        m.why = GANG_CONSTRAINT_SAME;
    return m;
}

/* So many of the `want` tasks of a group do not go in a scope, beside what is planned: why? */
static void note_lack(struct each *e, uint32_t group, int64_t want, int64_t missing,
                      const struct gang__scope *s)
{
    struct gang__reason *f = e->f;
    struct gang__node_census survey;
    bool skew;
    f->lack_group = (int32_t)group;
    gang__node_census_take(e->k->p, group, want, s, true, &survey);
    f->lack = survey.fit < want ? gang__node_census_reason(e->k->p->c, &survey)
                                : bend_of(e->k, group, want, s, &skew);
    if (f->lack.why == GANG_CONSTRAINT_NONE && gang__demanded_level(e->k->q, (int32_t)group) >= 0)
        f->lack.why = GANG_CONSTRAINT_SAME;
    if (f->lack.kind >= 0)
        f->lack_amount = missing * gang__amount_asked(&e->k->q->group[group], f->lack.kind);
}

static bool is_in_member(const struct each *e, uint32_t group)
{
    const gang_request *q = e->k->q;
    return gang__set_is_inside(q, q->group[group].set, e->m.set);
}

/* As many tasks of a set or the request as go in a scope: in the order of their size what each
 * group needs, then what the minimum lacks. `note`: record what the first short
 * group lacks. */
static int64_t hold(struct each *e, const struct gang__scope *s, bool note)
{
    struct gang__pack *k = e->k;
    const gang_request *q = k->q;
    int64_t done = 0;
    for (uint32_t i = 0; i < 2 * q->group_count && !k->p->out.failed; i++) {
        bool make_up = i >= q->group_count;
        uint32_t g = q->by_size[i % q->group_count];
        int64_t want = q->group[g].min, missing = e->f->want - done;
        if (make_up) {
            want = q->group[g].count - k->p->tasks.in_group[g];
            want = want < missing ? want : missing;
        }
        if (!is_in_member(e, g) || want <= 0)
            continue;
        int64_t here = gang__add_tasks(k, g, want);
        done += here;
        if (here < want && note && e->f->lack_group < 0 && !k->p->out.failed)
            note_lack(e, g, want - here, want - here, s);
    }
    return done;
}

static int64_t hold_member(struct each *e, const struct gang__scope *s, bool note)
{
    struct gang__plan *p = e->k->p;
    size_t picks = p->tasks.count, binds = p->bound.undos;
    if (!lies_inside(e, s, true))
        return -1;
    if (gang__place_inside(e->k, e->m, s)) {
        e->whole = true;
        return e->f->want;
    }
    gang__undo(p, picks, binds);
    return lies_inside(e, s, true) ? hold(e, s, note) : -1;
}

/* Tasks of a member that go in a scope; -1: it may not lie there at all. Nothing stays planned. */
static int64_t holds(struct each *e, const struct gang__scope *s, bool note)
{
    struct gang__pack *k = e->k;
    struct gang__plan *p = k->p;
    size_t picks = p->tasks.count, binds = p->bound.undos, views = p->nodes.count, words = p->words;
    int64_t done = -1;
    if (e->m.group < 0)
        done = hold_member(e, s, note);
    else if (lies_inside(e, s, false))
        done = e->m.subgroup ? gang__fill_few_nodes(k, (uint32_t)e->m.group, e->m.want, s)
                             : gang__place_group(k, (uint32_t)e->m.group, e->m.want, s);
    gang__undo(p, picks, binds);
    if (p->nodes.count == views) /* else words of theirs are among those used since */
        p->words = words;
    return done;
}

/* Returns true when the search is over. */
static bool try_scope(struct each *e, const struct gang__scope *s)
{
    struct gang__reason *f = e->f;
    struct gang__plan *p = e->k->p;
    if (e->around.level >= 0 && !gang__scope_is_inside(p, s, &e->around))
        return false;
    /* No more fit than what is free has room for. */
    if (e->m.group >= 0 && s->level >= GANG__LEVEL_NODE && gang__scope_is_bound(&f->best) &&
        gang__plan_capacity(p, (uint32_t)e->m.group, s->slot) <= f->best_holds)
        return false;
    int64_t tasks = holds(e, s, false);
    if (tasks < 0 || (gang__scope_is_bound(&f->best) && tasks <= f->best_holds))
        return p->out.failed;
    f->best = *s;
    f->best_holds = tasks;
    return p->out.failed || tasks >= f->best_want;
}

static bool try_node(struct each *e, uint32_t slot, int32_t level)
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

/* Domains of the site. What there is room for in each is known without planning there; of a group
 * that is the most that go. */
static void find_best_domain(struct each *e, uint32_t level)
{
    struct gang__plan *p = e->k->p;
    struct gang__capacity_query eyes;
    struct gang__capacity room;
    bool group = e->m.group >= 0;
    uint32_t count = gang__domain_count(p->c, level);
    if (group)
        gang__capacity_query_init(&eyes, p, (uint32_t)e->m.group, gang__scope_nodes(p, &e->around));
    for (uint32_t i = 0; i < count && !p->out.failed; i++) {
        struct gang__scope s = gang__scope_domain(gang__domain_at(p->c, level, i));
        if (group && gang__scope_is_bound(&e->f->best)) {
            gang__domain_capacity(&eyes, level, i, &room);
            if (room.tasks <= e->f->best_holds)
                continue;
        }
        if (try_scope(e, &s))
            return;
    }
}

/* The domain of the level in which most tasks go; the first of several. */
static void find_best(struct each *e, int32_t level)
{
    e->f->level = level;
    if (level < GANG__LEVEL_NODE) {
        find_best_domain(e, (uint32_t)level);
        return;
    }
    uint32_t end = gang__plan_end(e->k->p);
    for (uint32_t slot = 1; slot < end; slot++)
        if (try_node(e, slot, level))
            return;
}

/* ---- a group --------------------------------------------------------------------------------- */

/* Does more than the nodes say how many tasks go somewhere? */
static bool is_bent(const struct gang__group *g)
{
    return g->bounded || g->spread >= 0 || g->subgroup_size > 0;
}

/* The level at which the tasks of the group require a domain that is not chosen yet. If it is
 * chosen, *bound is that domain. */
static int32_t level_open(struct gang__pack *k, uint32_t group, struct gang__scope *bound)
{
    struct gang__member m;
    struct gang__scope around;
    int32_t level = gang__demanded_level(k->q, (int32_t)group);
    bool open = gang__next_demand(k, group, &m);
    *bound = k->p->bound.group[group];
    if (!gang__scope_is_bound(bound) || open)
        *bound = gang__scope_around(k, k->q->group[group].set);
    /* A wish binds, too, but gives way. */
    if (!open && gang__scope_at(k->p, bound, level, &around))
        *bound = around;
    return open ? level : GANG__NO_LEVEL;
}

/* How far bounds, spreading and subgroups let the tasks go anywhere. Returns with how many all of them
 * do. */
static int64_t find_bent(struct each *e, uint32_t group)
{
    struct gang__reason *f = e->f;
    const struct gang__group *g = &e->k->q->group[group];
    struct gang__plan *p = e->k->p;
    int64_t all = gang__place_group(e->k, group, f->want, &e->around), bent = all;
    gang__undo(p, 0, 0);
    /* Spreading is a matter inside the domain, if one is demanded: there it may be easier. */
    if (g->spread >= 0 && gang__demanded_level(e->k->q, (int32_t)group) >= 0) {
        bent = g->bounded ? gang__search(p, group, f->want, &e->around, e->k->policy) : f->fit;
        gang__undo(p, 0, 0);
    }
    f->bent = f->placed = bent < f->fit ? bent : f->fit;
    if (f->bent < f->want && f->why.why == GANG_CONSTRAINT_NONE)
        f->why = bend_of(e->k, group, f->want, &e->around, &f->skew);
    return all;
}

/* The domain that holds most, or what is bound already. `anywhere`: tasks that go without the
 * demand. */
static void find_domain(struct each *e, uint32_t group, int64_t anywhere)
{
    struct gang__reason *f = e->f;
    int32_t level = level_open(e->k, group, &e->around);
    if (level >= 0) {
        find_best(e, level);
    } else if (e->around.level >= 0) {
        f->level = e->around.level;
        f->best = e->around;
        f->best_holds = holds(e, &e->around, false);
    }
    if (f->level < 0)
        return;
    f->placed = f->best_holds < f->placed ? f->best_holds : f->placed;
    if (f->best_holds >= f->best_want || e->k->p->out.failed)
        return;
    if (gang__scope_is_bound(&f->best))
        note_lack(e, group, f->best_want, f->best_want - f->best_holds, &f->best);
    /* Neither in a domain, nor, without one, anywhere: then it is not for the domain. */
    bool bends = f->lack.why == GANG_CONSTRAINT_SPREAD && anywhere < f->want;
    if (f->why.why == GANG_CONSTRAINT_NONE) {
        f->why.why = bends ? GANG_CONSTRAINT_SPREAD : GANG_CONSTRAINT_SAME;
        f->inside = true;
    }
}

/* Subgroups do not find domains: which domain holds most of one? */
static void find_subgroup(struct each *e, uint32_t group)
{
    const struct gang__group *g = &e->k->q->group[group];
    struct gang__reason *f = e->f;
    e->m.subgroup = true;
    e->m.want = f->best_want = g->subgroup_size;
    f->subgroups = f->inside = true;
    find_best(e, g->subgroup_same);
    if (gang__scope_is_bound(&f->best) && f->best_holds < f->best_want && !e->k->p->out.failed)
        note_lack(e, group, f->best_want, f->best_want - f->best_holds, &f->best);
}

static void note_amounts(struct gang__reason *f, const struct gang__group *g)
{
    int32_t kind = f->why.kind;
    int64_t there = f->fit;
    if (f->inside && !f->subgroups) {
        kind = f->lack.kind;
        there = f->best_holds;
    }
    if (kind < 0)
        return;
    /* One task does not fit anywhere: what it asks, and the most that one node has. Else what all
     * of them ask, and what those that fit would take. */
    f->requested = gang__amount_asked(g, kind);
    f->available = f->survey.kind[kind].most;
    if (there > 0 || f->inside) {
        f->available = f->requested * there;
        f->requested *= f->want;
    }
}

gang_result gang__reason_of_group(const struct gang__question *a, uint32_t group, int64_t want,
                                  bool empty, bool whole, struct gang__reason *f)
{
    const struct gang__group *g = &a->q->group[group];
    struct gang__plan *p = a->p;
    struct gang__pack k = {p, a->q, a->q->by_size, GANG__ORDER_PROOF};
    *f = new_finding(a, (int32_t)group, GANG__NO_SET, want);
    struct each e = {&k, gang__member_group(group, want), f, gang__scope_all(), false};
    if (begin(a, empty) != GANG_OK)
        return GANG_ENOMEM;
    gang__node_census_take(p, group, want, &e.around, whole, &f->survey);
    f->fit = f->bent = f->placed = f->survey.fit;
    if (f->fit < want)
        f->why = gang__node_census_reason(a->c, &f->survey);
    int64_t anywhere = f->fit;
    if (is_bent(g) && f->fit && !p->out.failed)
        anywhere = find_bent(&e, group);
    if (f->fit >= want && f->why.why == GANG_CONSTRAINT_SAME)
        find_subgroup(&e, group);
    else if (f->why.why == GANG_CONSTRAINT_NONE || whole)
        find_domain(&e, group, anywhere);
    if (f->why.why != GANG_CONSTRAINT_NONE)
        f->code = empty ? GANG_ENEVER : GANG_ENOFIT;
    note_amounts(f, g);
    return p->out.failed ? GANG_ENOMEM : GANG_OK;
}

/* ---- a set, the request ---------------------------------------------------------------------- */

/* Is a domain demanded of a group or set inside? */
static bool has_demands(const gang_request *q)
{
    bool some = q->same >= 0;
    for (uint32_t i = 0; i < q->group_count; i++)
        some = some || q->group[i].same >= 0 || q->group[i].subgroup_same >= 0;
    for (uint32_t i = 0; i < q->group_set_count; i++)
        some = some || q->set[i].same >= 0;
    return some;
}

/* How far a member gets: in the best domain, or, if none is demanded, anywhere. */
static void find_room(struct each *e, int32_t level)
{
    struct gang__reason *f = e->f;
    const gang_request *q = e->k->q;
    if (level >= 0) {
        find_best(e, level);
        f->placed = f->best_holds;
        if (gang__scope_is_bound(&f->best) && !e->whole && !e->k->p->out.failed)
            holds(e, &f->best, true);
    } else {
        f->placed = holds(e, &e->around, true);
    }
    if (level >= 0)
        f->why.why = GANG_CONSTRAINT_SAME;
    else if (f->lack_group >= 0)
        f->why = f->lack;
    else
        f->why.why = has_demands(q) ? GANG_CONSTRAINT_SAME : GANG_CONSTRAINT_NONE;
    if (e->whole) /* it does fit: what was in the way has gone, or the host's scores were */
        f->why = (struct gang__misfit){GANG_CONSTRAINT_NONE, -1};
}

/* A set that requires a domain of its own beyond those around it; or the request, if it fits. */
static bool find_plan(struct each *e, int32_t level)
{
    struct gang__plan *p = e->k->p;
    struct gang__reason *f = e->f;
    if (gang__member_same(e->k->q, e->m) != level || !gang__pack_member(p, e->m))
        return false;
    if (level >= 0) {
        f->best = f->set < 0 ? p->bound.request : p->bound.set[f->set];
        f->best_holds = f->want;
    }
    return true;
}

gang_result gang__reason_of_member(const struct gang__question *a, int32_t set, bool fits,
                                   bool empty, struct gang__reason *f)
{
    const gang_request *q = a->q;
    struct gang__plan *p = a->p;
    struct gang__member m = set < 0 ? gang__member_all() : gang__member_set(set);
    struct gang__pack k = {p, q, q->by_size, GANG__ORDER_PROOF};
    *f = new_finding(a, -1, set, set < 0 ? q->min : q->set[set].min);
    struct each e = {&k, m, f, gang__scope_all(), false};
    if (begin(a, empty) != GANG_OK)
        return GANG_ENOMEM;
    f->survey.nodes = gang__scope_nodes(p, &e.around);
    f->level = gang__demanded_around(q, set);
    bool all = (set >= 0 || fits) && find_plan(&e, f->level);
    gang__undo(p, 0, 0);
    if (!all && !fits && !p->out.failed) {
        find_room(&e, f->level);
        all = set >= 0 && e.whole;
    }
    if (all || fits) {
        f->placed = f->want;
        f->why = (struct gang__misfit){GANG_CONSTRAINT_NONE, -1};
    } else {
        f->code = empty ? GANG_ENEVER : GANG_ENOFIT;
        f->placed = f->placed > 0 ? f->placed : 0;
    }
    f->fit = f->placed;
    return p->out.failed ? GANG_ENOMEM : GANG_OK;
}

/* ---- the refusal ----------------------------------------------------------------------------- */

gang_result gang__reason_find(const struct gang__question *a, gang_result code,
                              struct gang__reason *f)
{
    const gang_request *q = a->q;
    bool empty = code == GANG_ENEVER;
    for (uint32_t i = 0; i < q->group_count; i++) {
        int64_t want = gang__tasks_needed(q, q->by_size[i]);
        if (want == 0)
            continue;
        gang_result r = gang__reason_of_group(a, q->by_size[i], want, empty, false, f);
        if (r != GANG_OK || f->code != GANG_OK)
            return r;
    }
    for (uint32_t i = q->group_set_count; i-- > 0;) { /* a parent comes before its sets */
        if (q->set[i].min == 0)
            continue;
        gang_result r = gang__reason_of_member(a, (int32_t)i, false, empty, f);
        if (r != GANG_OK || f->code != GANG_OK)
            return r;
    }
    return gang__reason_of_member(a, GANG__NO_SET, false, empty, f);
}

static gang_result tell(const struct gang__question *a, const struct gang__reason *f,
                        gang_result code, struct gang_error *error)
{
    struct gang_error out = GANG_ERROR_INIT;
    out.code = code;
    out.constraint = f->why.why;
    out.group = f->group;
    out.kind = f->why.why == GANG_CONSTRAINT_SAME ? f->lack.kind : f->why.kind;
    out.requested = f->requested;
    out.available = f->available;
    out.nodes = f->survey.nodes;
    gang__reason_text(a, f, out.text, sizeof(out.text));
    size_t size = error->size;
    memcpy(error, &out, sizeof(out));
    error->size = size;
    return code;
}

gang_result gang__explain(struct gang__plan *p, gang_cluster *c, const gang_request *q,
                          gang_result code, struct gang_error *error)
{
    struct gang__question a = {p, c, q, NULL};
    struct gang__reason f;
    if (!error || error->size < sizeof(*error) || gang__reason_find(&a, code, &f) != GANG_OK)
        return gang__error(error, code, NULL, "%s", gang_strerror(code));
    return tell(&a, &f, code, error);
}

gang_result gang__explain_growth(struct gang__plan *p, const struct gang__alloc *a, uint32_t group,
                                 gang_result code, struct gang_error *error)
{
    struct gang__question ask = {p, a->q->cluster, a->q, a};
    struct gang__reason f;
    if (!error || error->size < sizeof(*error) ||
        gang__reason_of_group(&ask, group, gang__growth_step(a, group), code == GANG_ENEVER, false,
                              &f) != GANG_OK)
        return gang__error(error, code, NULL, "%s", gang_strerror(code));
    f.code = code;
    return tell(&ask, &f, code, error);
}
