/* SPDX-License-Identifier: Apache-2.0 */
/* The reason of a refusal. Constraints are looked at in this order, each beside those before it,
 * and the first that fails is named: nodes for the tasks, wherever they lie; bounds, spreading and
 * subgroups; one domain; all groups of a set, and of the request, together. */
#include "place/explain/explain.h"

#include <string.h>

#include "base/error.h"
#include "core/nodes/nodes.h"
#include "place/explain/best_domain.h"
#include "place/explain/node_census.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/record/record.h"
#include "place/search/search.h"

int64_t gang__tasks_needed(const gang_request *request, uint32_t group)
{
    int64_t min = request->group[group].min;
    return min == 0 && request->group_count == 1 ? request->min : min;
}

static gang_result begin(const struct gang__question *a, bool empty)
{
    struct gang__plan *p = a->p;
    if (gang__plan_begin(p, a->c, a->request, empty) != GANG_OK)
        return GANG_ENOMEM;
    p->mode.worst_fit = true;
    if (!a->running)
        return GANG_OK;
    gang__plan_running(p, a->running);
    if (empty)
        gang__plan_take_running(p, a->running);
    return p->out.failed ? GANG_ENOMEM : GANG_OK;
}

static struct gang__reason new_reason(const struct gang__question *a, int32_t group, int32_t set,
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

/* ---- a group --------------------------------------------------------------------------------- */

/* Do bounds, spreading or subgroups limit the tasks, and not the nodes alone? */
static bool has_spread_rules(const struct gang__group *g)
{
    return g->bounded || g->spread >= 0 || g->subgroup_size > 0;
}

/* The level at which the tasks of the group require a domain that is not chosen yet. If it is
 * chosen, *bound is that domain. */
static int32_t level_open(struct gang__pack *k, uint32_t group, struct gang__scope *bound)
{
    struct gang__member m;
    struct gang__scope around;
    int32_t level = gang__demanded_level(k->request, (int32_t)group);
    bool open = gang__next_demand(k, group, &m);
    *bound = k->p->bound.group[group];
    if (!gang__scope_is_bound(bound) || open)
        *bound = gang__scope_around(k, k->request->group[group].set);
    /* A preferred domain binds, too, but gives way. */
    if (!open && gang__scope_at(k->p, bound, level, &around))
        *bound = around;
    return open ? level : GANG__NO_LEVEL;
}

/* Counts the tasks that bounds, spreading and subgroups allow anywhere. Returns how many all three
 * together allow. */
static int64_t find_allowed(struct gang__domain_search *e, uint32_t group)
{
    struct gang__reason *f = e->f;
    const struct gang__group *g = &e->k->request->group[group];
    struct gang__plan *p = e->k->p;
    int64_t all = gang__place_group(e->k, group, f->want, &e->around), allowed = all;
    gang__undo(p, 0, 0);
    /* Spreading is a matter inside the domain, if one is demanded: there it may be easier. */
    if (g->spread >= 0 && gang__demanded_level(e->k->request, (int32_t)group) >= 0) {
        allowed = g->bounded ? gang__search(p, group, f->want, &e->around, e->k->policy) : f->fit;
        gang__undo(p, 0, 0);
    }
    f->allowed = f->placed = allowed < f->fit ? allowed : f->fit;
    if (f->allowed < f->want && f->why.why == GANG_CONSTRAINT_NONE)
        f->why = gang__limiting_rule(e->k, group, f->want, &e->around, &f->skew);
    return all;
}

/* Finds the domain that holds most, or takes the one that is bound already. `anywhere`: tasks that
 * go somewhere if no domain is required. */
static void find_domain(struct gang__domain_search *e, uint32_t group, int64_t anywhere)
{
    struct gang__reason *f = e->f;
    int32_t level = level_open(e->k, group, &e->around);
    if (level >= 0) {
        gang__best_domain(e, level);
    } else if (e->around.level >= 0) {
        f->level = e->around.level;
        f->best = e->around;
        f->best_holds = gang__scope_holds(e, &e->around, false);
    }
    if (f->level < 0)
        return;
    f->placed = f->best_holds < f->placed ? f->best_holds : f->placed;
    if (f->best_holds >= f->best_want || e->k->p->out.failed)
        return;
    if (gang__scope_is_bound(&f->best))
        gang__note_lack(e, group, f->best_want, f->best_want - f->best_holds, &f->best);
    /* Tasks that go nowhere, in no domain either, do not fail because of the domain. */
    bool limits = f->lack.why == GANG_CONSTRAINT_SPREAD && anywhere < f->want;
    if (f->why.why == GANG_CONSTRAINT_NONE) {
        f->why.why = limits ? GANG_CONSTRAINT_SPREAD : GANG_CONSTRAINT_SAME;
        f->inside = true;
    }
}

/* Subgroups do not find domains: which domain holds most of one? */
static void find_subgroup(struct gang__domain_search *e, uint32_t group)
{
    const struct gang__group *g = &e->k->request->group[group];
    struct gang__reason *f = e->f;
    e->m.subgroup = true;
    e->m.want = f->best_want = g->subgroup_size;
    f->subgroups = f->inside = true;
    gang__best_domain(e, g->subgroup_same);
    if (gang__scope_is_bound(&f->best) && f->best_holds < f->best_want && !e->k->p->out.failed)
        gang__note_lack(e, group, f->best_want, f->best_want - f->best_holds, &f->best);
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
    f->available = f->census.kind[kind].most;
    if (there > 0 || f->inside) {
        f->available = f->requested * there;
        f->requested *= f->want;
    }
}

gang_result gang__reason_of_group(const struct gang__question *a, uint32_t group, int64_t want,
                                  bool empty, bool whole, struct gang__reason *f)
{
    const struct gang__group *g = &a->request->group[group];
    struct gang__plan *p = a->p;
    struct gang__pack k = {p,    a->request, a->request->by_size, GANG__ORDER_PROOF, GANG__NO_LEVEL,
                           false};
    *f = new_reason(a, (int32_t)group, GANG__NO_SET, want);
    struct gang__domain_search e = {&k, gang__member_group(group, want), f, gang__scope_all(),
                                    false};
    if (begin(a, empty) != GANG_OK)
        return GANG_ENOMEM;
    gang__node_census_take(p, group, want, &e.around, whole, &f->census);
    f->fit = f->allowed = f->placed = f->census.fit;
    if (f->fit < want)
        f->why = gang__node_census_reason(a->c, &f->census);
    int64_t anywhere = f->fit;
    if (has_spread_rules(g) && f->fit && !p->out.failed)
        anywhere = find_allowed(&e, group);
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

/* Does the request, a group or a set in it require a domain? */
static bool has_demands(const gang_request *request)
{
    bool some = request->same >= 0;
    for (uint32_t i = 0; i < request->group_count; i++)
        some = some || request->group[i].same >= 0 || request->group[i].subgroup_same >= 0;
    for (uint32_t i = 0; i < request->group_set_count; i++)
        some = some || request->set[i].same >= 0;
    return some;
}

/* Counts the tasks of a member that go in the best domain, or, if none is demanded, anywhere. */
static void find_placed(struct gang__domain_search *e, int32_t level)
{
    struct gang__reason *f = e->f;
    const gang_request *request = e->k->request;
    if (level >= 0) {
        gang__best_domain(e, level);
        f->placed = f->best_holds;
        if (gang__scope_is_bound(&f->best) && !e->whole && !e->k->p->out.failed)
            gang__scope_holds(e, &f->best, true);
    } else {
        f->placed = gang__scope_holds(e, &e->around, true);
    }
    if (level >= 0)
        f->why.why = GANG_CONSTRAINT_SAME;
    else if (f->lack_group >= 0)
        f->why = f->lack;
    else
        f->why.why = has_demands(request) ? GANG_CONSTRAINT_SAME : GANG_CONSTRAINT_NONE;
    if (e->whole) /* it does fit: what was in the way has gone, or the host's scores were */
        f->why = (struct gang__misfit){GANG_CONSTRAINT_NONE, -1};
    if (e->whole && request->same_devices) { /* which was not looked at */
        gang__undo(e->k->p, 0, 0);
        if (!gang__pack_member(e->k->p, e->m))
            f->why.why = GANG_CONSTRAINT_SAME_DEVICES;
        gang__undo(e->k->p, 0, 0);
    }
}

/* A set that requires a domain of its own beyond those around it; or the request, if it fits. */
static bool find_plan(struct gang__domain_search *e, int32_t level)
{
    struct gang__plan *p = e->k->p;
    struct gang__reason *f = e->f;
    if (gang__member_same(e->k->request, e->m) != level || !gang__pack_member(p, e->m))
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
    const gang_request *request = a->request;
    struct gang__plan *p = a->p;
    struct gang__member m = set < 0 ? gang__member_all() : gang__member_set(set);
    struct gang__pack k = {
        p, request, request->by_size, GANG__ORDER_PROOF, GANG__NO_LEVEL, request->insists};
    *f = new_reason(a, -1, set, set < 0 ? request->min : request->set[set].min);
    struct gang__domain_search e = {&k, m, f, gang__scope_all(), false};
    if (begin(a, empty) != GANG_OK)
        return GANG_ENOMEM;
    f->census.nodes = gang__scope_nodes(p, &e.around);
    f->level = gang__demanded_around(request, set);
    bool all = (set >= 0 || fits) && find_plan(&e, f->level);
    gang__undo(p, 0, 0);
    if (!all && !fits && !p->out.failed) {
        find_placed(&e, f->level);
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
    const gang_request *request = a->request;
    bool empty = code == GANG_ENEVER;
    for (uint32_t i = 0; i < request->group_count; i++) {
        int64_t want = gang__tasks_needed(request, request->by_size[i]);
        if (want == 0)
            continue;
        gang_result r = gang__reason_of_group(a, request->by_size[i], want, empty, false, f);
        if (r != GANG_OK || f->code != GANG_OK)
            return r;
    }
    for (uint32_t i = request->group_set_count; i-- > 0;) { /* a parent comes before its sets */
        if (request->set[i].min == 0)
            continue;
        gang_result r = gang__reason_of_member(a, (int32_t)i, false, empty, f);
        if (r != GANG_OK || f->code != GANG_OK)
            return r;
    }
    return gang__reason_of_member(a, GANG__NO_SET, false, empty, f);
}

static gang_result fill_error(const struct gang__question *a, const struct gang__reason *f,
                              gang_result code, struct gang_error *error)
{
    struct gang_error out = GANG_ERROR_INIT;
    out.code = code;
    out.constraint = f->why.why;
    out.group = f->group;
    out.kind = f->why.why == GANG_CONSTRAINT_SAME ? f->lack.kind : f->why.kind;
    out.requested = f->requested;
    out.available = f->available;
    out.nodes = f->census.nodes;
    gang__reason_text(a, f, out.text, sizeof(out.text));
    size_t size = error->size;
    memcpy(error, &out, sizeof(out));
    error->size = size;
    return code;
}

gang_result gang__explain(struct gang__plan *p, gang_cluster *c, const gang_request *request,
                          gang_result code, struct gang_error *error)
{
    struct gang__question a = {p, c, request, NULL};
    struct gang__reason f;
    if (!error || error->size < sizeof(*error) || gang__reason_find(&a, code, &f) != GANG_OK)
        return gang__error(error, code, NULL, "%s", gang_strerror(code));
    return fill_error(&a, &f, code, error);
}

gang_result gang__explain_growth(struct gang__plan *p, const struct gang__alloc *a, uint32_t group,
                                 int64_t tasks, gang_result code, struct gang_error *error)
{
    struct gang__question question = {p, a->request->cluster, a->request, a};
    struct gang__reason f;
    if (!error || error->size < sizeof(*error) ||
        gang__reason_of_group(&question, group, tasks, code == GANG_ENEVER, false, &f) != GANG_OK)
        return gang__error(error, code, NULL, "%s", gang_strerror(code));
    f.code = code;
    return fill_error(&question, &f, code, error);
}
