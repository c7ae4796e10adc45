/* SPDX-License-Identifier: Apache-2.0 */
/* Why a request fits or does not, for hosts: one explanation a group, a set, and the request. */
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "place/alloc/alloc.h"
#include "place/explain/explain.h"
#include "place/fit/fit.h"
#include "place/record/record.h"
#include "place/state/records.h"
#include "place/whatif/whatif.h"

/* What the visitor gets: an explanation, and what it points to. */
struct row {
    struct gang_explanation e;
    int64_t refused[GANG__WHY_COUNT];
    struct gang_explanation_kind kind[GANG_MAX_KINDS];
    char text[512];
    char path[GANG__PATH_BYTES];
};

struct explainer {
    struct gang__question question;
    gang_snapshot *snap;
    gang_result answer;
    struct row *row;
    gang_explain_fn visit;
    void *user;
};

/* ---- from a finding to an explanation -------------------------------------------------------- */

static void fill_kinds(struct explainer *t, const struct gang__reason *f)
{
    const struct gang__group *g = &t->question.request->group[f->group];
    struct gang_explanation *e = &t->row->e;
    for (uint32_t kinds = gang__kinds_asked(g); kinds; kinds &= kinds - 1) {
        int32_t kind = __builtin_ctz(kinds);
        const struct gang__shortage *s = &f->census.kind[kind];
        struct gang_explanation_kind *k = &t->row->kind[e->kind_count++];
        *k = (struct gang_explanation_kind){
            kind, 0, gang__amount_asked(g, kind), s->most, s->nodes, s->could, s->full};
    }
    e->kinds = t->row->kind;
    memcpy(t->row->refused, f->census.refused, sizeof(t->row->refused));
    e->refused = t->row->refused;
    e->refused_count = GANG__WHY_COUNT;
    e->nodes_fit = f->census.fit_nodes;
}

/* The reason; of a request it may be that of a part of it. */
static void fill_reason(struct explainer *t, const struct gang__reason *f)
{
    struct gang_explanation *e = &t->row->e;
    e->constraint = f->why.why;
    e->kind = f->why.why == GANG_CONSTRAINT_SAME ? f->lack.kind : f->why.kind;
    e->requested = f->requested;
    e->available = f->available;
    gang__reason_text(&t->question, f, t->row->text, sizeof(t->row->text));
    e->text = t->row->text;
}

static void fill(struct explainer *t, const struct gang__reason *f)
{
    const gang_request *request = t->question.request;
    struct gang_explanation *e = &t->row->e;
    *e = (struct gang_explanation)GANG_EXPLANATION_INIT;
    e->answer = t->answer;
    e->result = f->code;
    e->group = f->group;
    e->group_set = f->set;
    e->name = f->group >= 0 ? request->group[f->group].name
              : f->set >= 0 ? request->set[f->set].name
                            : "";
    e->want = f->want;
    e->fit = f->fit;
    e->placed = f->placed;
    e->nodes = f->census.nodes;
    e->kind_size = sizeof(struct gang_explanation_kind);
    if (f->group >= 0)
        fill_kinds(t, f);
    if (f->level >= 0)
        e->level = gang__level_word(t->question.c, f->level);
    if (f->level >= 0 && gang__scope_is_bound(&f->best)) {
        gang__scope_path(t->question.p, &f->best, true, t->row->path, sizeof(t->row->path));
        e->domain = t->row->path;
        e->domain_want = f->best_want;
        e->domain_holds = f->best_holds;
    }
    e->lack_group = f->lack_group;
    e->lack_constraint = f->lack.why;
    e->lack_kind = f->lack.kind;
    e->lack_amount = f->lack_amount;
    fill_reason(t, f);
}

/* ---- one after the other --------------------------------------------------------------------- */

/* The visitor runs outside of read sections: each part is found in one of its own. */
static void enter(struct explainer *t)
{
    gang__rcu_enter();
    t->question.p->snap = t->snap;
}

static gang_result leave(struct explainer *t, gang_result r)
{
    t->question.p->snap = NULL;
    gang__rcu_leave();
    return r == GANG_OK ? t->visit(&t->row->e, t->user) : r;
}

/* As things are, unless it could never be. */
static gang_result find_group(struct explainer *t, uint32_t group, int64_t want,
                              struct gang__reason *f)
{
    struct gang__reason ever;
    gang_result r = gang__reason_of_group(&t->question, group, want, false, true, f);
    if (r != GANG_OK || f->code == GANG_OK)
        return r;
    r = gang__reason_of_group(&t->question, group, want, true, true, &ever);
    if (r == GANG_OK && ever.code == GANG_ENEVER)
        *f = ever;
    return r;
}

static gang_result explain_group(struct explainer *t, uint32_t group, int64_t want)
{
    struct gang__reason f;
    enter(t);
    gang_result r = find_group(t, group, want, &f);
    if (r == GANG_OK)
        fill(t, &f);
    return leave(t, r);
}

static gang_result explain_set(struct explainer *t, int32_t set)
{
    struct gang__reason f, ever;
    enter(t);
    bool fits = t->answer == GANG_OK; /* what is in a request that fits does, too */
    gang_result r = gang__reason_of_member(&t->question, set, fits, false, &f);
    if (r == GANG_OK && f.code != GANG_OK) {
        r = gang__reason_of_member(&t->question, set, false, true, &ever);
        if (r == GANG_OK && ever.code == GANG_ENEVER)
            f = ever;
    }
    if (r == GANG_OK)
        fill(t, &f);
    return leave(t, r);
}

/* The whole lacks what a part lacks, or what all parts lack together. */
static gang_result fill_because(struct explainer *t)
{
    struct gang__reason f;
    gang_result r = gang__reason_find(&t->question, t->answer, &f);
    if (r != GANG_OK)
        return r;
    t->row->e.because_group = f.group;
    t->row->e.because_group_set = f.set;
    fill_reason(t, &f);
    return GANG_OK;
}

static gang_result explain_request(struct explainer *t)
{
    struct gang__reason f;
    bool fits = t->answer == GANG_OK, never = t->answer == GANG_ENEVER;
    enter(t);
    gang_result r = gang__reason_of_member(&t->question, GANG__NO_SET, fits, never, &f);
    if (r == GANG_OK) {
        f.code = t->answer;
        fill(t, &f);
        if (!fits)
            r = fill_because(t);
    }
    return leave(t, r);
}

static gang_result explain_all(struct explainer *t)
{
    const gang_request *request = t->question.request;
    gang_result r = GANG_OK;
    for (uint32_t i = 0; i < request->group_count && r == GANG_OK; i++)
        r = explain_group(t, i, gang__tasks_needed(request, i));
    for (uint32_t i = 0; i < request->group_set_count && r == GANG_OK; i++)
        r = explain_set(t, (int32_t)i);
    return r == GANG_OK ? explain_request(t) : r;
}

static bool is_answer(gang_result r)
{
    return r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENEVER;
}

static gang_result explain(gang_worker *w, gang_snapshot *snap, gang_request *request,
                           gang_explain_fn visit, void *user)
{
    struct gang__plan *p = gang__plan_of(w);
    struct explainer t = {{p, w->cluster, request, NULL}, snap, GANG_OK, NULL, visit, user};
    gang__rcu_enter();
    t.answer = snap ? gang__snapshot_verdict(w, snap, request) : gang__request_verdict(w, request);
    gang__rcu_leave();
    if (!is_answer(t.answer) || p->out.host) /* its function may return anything */
        return t.answer;
    t.row = gang__alloc(&w->cluster->mem, sizeof(*t.row));
    if (!t.row)
        return GANG_ENOMEM;
    gang_result r = explain_all(&t);
    gang__release(&w->cluster->mem, t.row);
    return r;
}

/* ---- public ---------------------------------------------------------------------------------- */

gang_result gang_request_explain(gang_worker *worker, gang_request *request, gang_explain_fn visit,
                                 void *user)
{
    if (!visit)
        return GANG_EINVAL;
    gang_result r = gang__check_call(worker, request, NULL);
    return r == GANG_OK ? explain(worker, NULL, request, visit, user) : r;
}

gang_result gang_snapshot_explain(gang_worker *worker, struct gang_snapshot *snapshot,
                                  gang_request *request, gang_explain_fn visit, void *user)
{
    if (!visit || !snapshot)
        return GANG_EINVAL;
    gang_result r = gang__check_call(worker, request, NULL);
    if (r == GANG_OK && !gang__snapshot_is_usable(snapshot, worker))
        r = GANG_EINVAL;
    return r == GANG_OK ? explain(worker, snapshot, request, visit, user) : r;
}

/* ---- growth ---------------------------------------------------------------------------------- */

static gang_result explain_growth(gang_worker *w, struct explainer *t, uint32_t group)
{
    const struct gang__alloc *a = t->question.running;
    struct gang__reason f;
    enter(t);
    t->question.p->others.running = a;
    t->question.p->out.host = 0;
    t->answer = gang__growth_verdict(w, a, group);
    gang_result r = is_answer(t->answer) && !t->question.p->out.host ? GANG_OK : t->answer;
    if (r == GANG_OK)
        r = gang__reason_of_group(&t->question, group, gang__growth_step(a, group),
                                  t->answer == GANG_ENEVER, true, &f);
    if (r == GANG_OK)
        fill(t, &f);
    t->question.p->others.running = NULL;
    return leave(t, r);
}

static gang_result explain_growths(gang_worker *w, struct explainer *t, int32_t group)
{
    const gang_request *request = t->question.request;
    gang_result r = GANG_ERANGE;
    if (group < -1 || group >= (int32_t)request->group_count)
        return GANG_EINVAL;
    for (uint32_t i = 0; i < request->group_count && (r == GANG_OK || r == GANG_ERANGE); i++)
        if ((group < 0 || (int32_t)i == group) && gang__growth_step(t->question.running, i) > 0)
            r = explain_growth(w, t, i);
    return r;
}

gang_result gang_alloc_explain(gang_worker *worker, gang_alloc_id id, int32_t group,
                               gang_explain_fn visit, void *user)
{
    if (!worker || !visit)
        return GANG_EINVAL;
    gang_cluster *c = worker->cluster;
    struct gang__placer *placer = gang__placer_of(worker);
    struct row *row = placer ? gang__alloc(&c->mem, sizeof(*row)) : NULL;
    struct gang__alloc *a;
    if (!row)
        return GANG_ENOMEM;
    gang_result r = gang__alloc_read(c, id, &a);
    if (r == GANG_OK) {
        struct explainer t = {{&placer->plan, c, a->request, a}, NULL, GANG_OK, row, visit, user};
        r = explain_growths(worker, &t, group);
        gang__alloc_read_end(a);
    }
    gang__release(&c->mem, row);
    return r;
}
