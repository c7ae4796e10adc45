/* SPDX-License-Identifier: Apache-2.0 */
/* Victims on the copy of the cluster, and in the books. */
#include <string.h>

#include "place/request/request.h"
#include "sched/preempt/dry_run.h"
#include "sched/preempt/preempt_rules.h"
#include "sched/preempt/victims.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"

/* ---- taking and putting back, on the copy and the books -------------------------------------- */

static void shift(struct gang__preemption *p, const struct gang__victim *v, int64_t sign)
{
    struct gang__gang *u = v->u;
    const struct gang__request_class *ask = u->request_class;
    p->tasks -= sign * (v->whole ? u->tasks - u->victim.tentative_count : 1);
    if (!v->whole)
        gang__usage_shift(u->job->leaf, ask, v->group, sign);
    else if (ask->q->group_count == 1) /* most are such: spare them two more places in memory */
        gang__usage_shift(u->job->leaf, ask, 0, sign * (u->tasks - u->victim.tentative_count));
    else
        for (uint32_t g = 0; g < ask->q->group_count; g++)
            gang__usage_shift(u->job->leaf, ask, g, sign * (u->has[g] - u->victim.tentative_tasks[g]));
}

/* One that goes alone is counted as gone, or (-1) no more. */
static void count_taken(const struct gang__victim *v, int64_t sign)
{
    if (v->whole) {
        v->u->victim.tentative = sign > 0;
    } else {
        v->u->victim.tentative_tasks[v->group] += sign;
        v->u->victim.tentative_count += sign;
    }
}

struct rest {
    gang_sched *s;
    const struct gang__gang *u;
    size_t count;
    bool failed;
};

static bool is_taken_alone(const gang_sched *s, const struct gang__gang *u, int64_t task)
{
    const struct gang__victims *v = s->preempt.victims;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].u == u && !v->list[i].whole && !v->list[i].stays && v->list[i].task == task)
            return true;
    return false;
}

static int32_t rest_task(const struct gang_task *task, void *user)
{
    struct rest *r = user;
    struct gang__victims *v = r->s->preempt.victims;
    if (is_taken_alone(r->s, r->u, task->task) || gang__stop_asked(r->s, r->u, task->task))
        return 0;
    if (!gang__grow(&r->s->mem, (void **)&v->tasks, &v->task_room, r->count + 1,
                    sizeof(*v->tasks))) {
        r->failed = true;
        return 1;
    }
    v->tasks[r->count++] = task->task;
    return 0;
}

/* Release what its allocation holds, or take it back. */
static gang_result own_on_copy(struct gang__preemption *p, struct gang__victim *v, bool back)
{
    gang_sched *s = p->s;
    gang_alloc_id id = v->u->alloc;
    struct rest r = {s, v->u, 0, false};
    if (!v->whole)
        return back ? gang__snapshot_retake_tasks(s->scratch, id, &v->task, 1)
                    : gang__snapshot_release_told(s->scratch, id, &v->task, 1, &v->node);
    if (v->u->victim.tentative_count == 0 && v->u->stop.unreleased == 0)
        return back ? gang__snapshot_retake(s->scratch, id)
                    : gang__snapshot_release_told(s->scratch, id, NULL, 0, &v->node);
    (void)!gang_alloc_each(s->cluster, id, rest_task, &r);
    if (r.failed)
        return GANG_ENOMEM;
    if (r.count == 0)
        return GANG_OK;
    const int64_t *tasks = s->preempt.victims->tasks;
    return back ? gang__snapshot_retake_tasks(s->scratch, id, tasks, r.count)
                : gang__snapshot_release_told(s->scratch, id, tasks, r.count, &v->node);
}

/* The same with what it has of nodes that are shared in time. */
static gang_result on_copy(struct gang__preemption *p, struct gang__victim *v, bool back)
{
    bool shares = v->whole && v->u->sliced;
    gang_result r = shares && back ? gang__slice_copy_turn(p->s, v->u, true) : GANG_OK;
    if (r == GANG_OK)
        r = own_on_copy(p, v, back);
    else
        return r;
    if (shares && (r == GANG_OK) != back)
        (void)!gang__slice_copy_turn(p->s, v->u, false);
    if (shares)
        v->node = GANG_ID_NONE;
    return r;
}

bool gang__preempt_take(struct gang__preemption *p, struct gang__victim *v)
{
    struct gang__victims *vs = p->s->preempt.victims;
    gang_result r = GANG_ENOMEM;
    if (gang__grow(&p->s->mem, (void **)&vs->list, &vs->room, vs->count + 1, sizeof(*vs->list)))
        r = on_copy(p, v, false);
    vs->failed = vs->failed || r == GANG_ENOMEM;
    if (r != GANG_OK)
        return false;
    shift(p, v, -1);
    count_taken(v, 1);
    vs->list[vs->count++] = *v;
    return true;
}

void gang__preempt_untake(struct gang__preemption *p, const struct gang__victim *v)
{
    count_taken(v, -1);
    shift(p, v, 1);
}

/* ---- placing the taker ----------------------------------------------------------------------- */

struct gang__where gang__preempt_where(const struct gang__preemption *p)
{
    gang_sched *s = p->s;
    return (struct gang__where){.s = s,
                                .u = p->taker,
                                .on = s->scratch,
                                .later_ns = gang__longest_grace(s),
                                .parts = true,
                                .charged = p->charged};
}

bool gang__preempt_place_in(struct gang__preemption *p, const struct gang__where *w)
{
    gang_sched *s = p->s;
    if (!gang__amounts_suffice(p) || !gang__quota_suffices(p))
        return false;
    gang_result r = p->grow_group >= 0
                        ? gang__where_grow(w, (uint32_t)p->grow_group, p->step, &s->placement)
                        : gang__where_place(w, &s->placement);
    s->preempt.victims->failed = s->preempt.victims->failed || r == GANG_ENOMEM;
    return r == GANG_OK;
}

bool gang__preempt_place(struct gang__preemption *p)
{
    struct gang__where w = gang__preempt_where(p);
    return gang__preempt_place_in(p, &w);
}

/* ---- kin ------------------------------------------------------------------------------------- */

/* Do they share a queue above them? Then the taker's branch gets emptier without it: others whom the
 * branch was too full for may be taken then. */
static bool is_kin(const struct gang__preemption *p, const struct gang__gang *victim)
{
    const struct gang__queue_state *a = p->taker->job->leaf, *b = victim->job->leaf;
    while (a->parent->parent)
        a = a->parent;
    while (b->parent->parent)
        b = b->parent;
    return a == b;
}

/* ---- taking victims until he has a place ----------------------------------------------------- */

static void open_victims(struct gang__preemption *p, bool own, bool others)
{
    if (!gang__victims_open(p->s, p->taker->job->leaf, own, others))
        p->s->preempt.victims->failed = true;
}

/* Take victims until the taker has a place. */
static bool take_some(struct gang__preemption *p, bool own, bool others)
{
    gang_sched *s = p->s;
    struct gang__victim v;
    size_t next = s->preempt.victims->count + 1, tested = 0;
    bool found = false, refused = false;
    open_victims(p, own, others);
    while (!found && gang__victims_next(s, &v)) {
        s->steps++; /* but a plan is not cut short: the next run could only begin it anew */
        enum gang__may may = gang__may_take(p, v.u);
        if (may == GANG__MAY_NONE)
            gang__victims_pass(s);
        if (may == GANG__MAY && v.u->preempt.preempted_others_run == s->runs) {
            p->deferred = true;
            break;
        }
        refused = refused || (may == GANG__MAY_NOT && !v.u->victim.tentative);
        if (may != GANG__MAY ||
            (p->again && !v.whole && v.u->victim.tentative_tasks[v.group] && is_taken_alone(s, v.u, v.task)))
            continue;
        if (!gang__preempt_take(p, &v))
            continue;
        if (refused && is_kin(p, v.u)) { /* from the first again */
            gang__victims_close(s);
            open_victims(p, own, others);
            p->again = true;
            refused = false;
        }
        if (s->preempt.victims->count < next || !gang__amounts_suffice(p) || !gang__quota_suffices(p))
            continue;
        found = gang__preempt_place(p);
        tested = s->preempt.victims->count;
        next = tested * 2;
    }
    gang__victims_close(s);
    if (p->deferred)
        return false;
    return found || (s->preempt.victims->count > tested && gang__preempt_place(p));
}

/* From others, first from those above their fair shares: who keeps to his would take it back from
 * them, and more would be displaced than need be. */
bool gang__preempt_take_until(struct gang__preemption *p, bool own, bool others)
{
    p->fair = others;
    bool found = take_some(p, own, others);
    if (found || !others || p->deferred)
        return found;
    p->fair = false;
    p->again = true;
    found = take_some(p, own, others);
    p->again = false;
    return found;
}

/* Everybody back, in the books; the copy is thrown away. */
void gang__preempt_put_back(struct gang__preemption *p)
{
    struct gang__victims *v = p->s->preempt.victims;
    while (v->count > 0) {
        struct gang__victim *x = &v->list[--v->count];
        if (x->to.count == 0)
            gang__preempt_untake(p, x);
        else
            x->u->victim.tentative = false; /* in the books it is where it moves to */
        gang__places_free(&x->to, &p->s->cluster->mem);
    }
}

/* ---- who need not go ------------------------------------------------------------------------- */

static int32_t keep_node(const struct gang_task *task, void *user)
{
    const gang_sched *s = user;
    if ((uint32_t)task->node < s->scratch->end)
        s->preempt.victims->kept[(uint32_t)task->node] = true;
    return 0;
}

/* Where neither the taker comes, nor anybody was whose tasks are not all there, all are back at
 * once, and who stays there after all need not be looked at. False: out of memory. */
static bool put_back_others(gang_sched *s)
{
    struct gang__victims *v = s->preempt.victims;
    if (!gang__grow(&s->mem, (void **)&v->kept, &v->kept_room, s->scratch->end, sizeof(*v->kept)))
        return false;
    memset(v->kept, 0, s->scratch->end * sizeof(*v->kept));
    for (size_t i = 0; i < s->placement.count; i++)
        v->kept[(uint32_t)s->placement.place[i].node] = true;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].node == GANG_ID_NONE)
            (void)!gang_alloc_each(s->cluster, v->list[i].u->alloc, keep_node, s);
    gang__snapshot_put_back(s->scratch, s->preempt.base, v->kept);
    return true;
}

enum { AHEAD = 16 }; /* victims whose memory is asked for in time */

static void expect(const struct gang__victim *v)
{
    __builtin_prefetch(v->u, 1);
    __builtin_prefetch(&v->u->victim.tentative, 1);
}

/* With the taker and this one in the books: do the rules let it run, here or elsewhere? One of the
 * taker's own branch counts against what he may take from others. */
static bool may_keep(struct gang__preemption *p, const struct gang__victim *x)
{
    return gang__may_stay(p, x) && (!is_kin(p, x->u) || gang__still_entitled(p));
}

/* With the taker in the books: it stays, if it can. */
static bool stays(struct gang__preemption *p, struct gang__victim *x, bool is_back)
{
    struct gang__victims *v = p->s->preempt.victims;
    if (!x->whole && x->u->victim.tentative) /* it goes with the rest */
        return false;
    shift(p, x, 1);
    gang_result r = GANG_ENOFIT;
    if (may_keep(p, x))
        r = is_back ? GANG_OK : on_copy(p, x, true);
    v->failed = v->failed || r == GANG_ENOMEM;
    if (r == GANG_OK)
        count_taken(x, -1);
    else
        shift(p, x, -1);
    return r == GANG_OK;
}

/* Who stays is no victim any more. */
static void forget_spared(struct gang__victims *v)
{
    size_t left = 0;
    for (size_t i = 0; i < v->count; i++)
        if (!v->list[i].stays)
            v->list[left++] = v->list[i];
    v->count = left;
}

/* Many: who stays is decided for the place that was found. */
static void spare_many(struct gang__preemption *p)
{
    struct gang__victims *v = p->s->preempt.victims;
    if (!put_back_others(p->s)) {
        v->failed = true;
        return;
    }
    for (size_t i = v->count; i-- > 0;) {
        struct gang__victim *x = &v->list[i];
        if (i >= AHEAD)
            expect(&v->list[i - AHEAD]);
        bool is_back = x->node != GANG_ID_NONE && !v->kept[(uint32_t)x->node];
        x->stays = stays(p, x, is_back);
        if (is_back && !x->stays && on_copy(p, x, false) != GANG_OK)
            v->failed = true;
    }
    forget_spared(v);
}

/* Few: who could come back so that the taker still has a place, wherever that is then. */
static void spare_few(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->preempt.victims;
    struct gang__where w = gang__preempt_where(p);
    bool ok = gang__snapshot_copy(s->scratch, s->preempt.base) == GANG_OK;
    gang__slice_copy_begin(s);
    for (size_t i = 0; ok && i < v->count; i++)
        ok = on_copy(p, &v->list[i], false) == GANG_OK;
    for (size_t i = v->count; ok && i-- > 0;) {
        struct gang__victim *x = &v->list[i];
        if (!stays(p, x, false))
            continue;
        gang_result r = gang__where_fits(&w);
        x->stays = r == GANG_OK;
        if (x->stays)
            continue;
        count_taken(x, 1);
        shift(p, x, -1);
        ok = r != GANG_ENOMEM && on_copy(p, x, false) == GANG_OK;
    }
    ok = ok && gang__where_place(&w, &s->placement) == GANG_OK;
    v->failed = v->failed || !ok; /* nothing of it can be refused but for want of memory */
    forget_spared(v);
}

enum { FEW = 32 };

void gang__preempt_spare(struct gang__preemption *p)
{
    const struct gang__victims *v = p->s->preempt.victims;
    bool tries = p->mode != GANG__EVICT_MOVE && p->grow_group < 0;
    if (!tries || v->count > FEW)
        spare_many(p);
    if (tries && v->count <= FEW)
        spare_few(p);
}

/* Find a place for a victim on the copy. It only gets fuller, so that what found none finds none
 * again, unless it goes by who is near. `full`: the ask that found none last. */
static bool fits_elsewhere(struct gang__preemption *p, struct gang__victim *x,
                           const struct gang__request_class **full)
{
    gang_sched *s = p->s;
    const struct gang__request_class *ask = x->u->request_class;
    if (ask == *full)
        return false;
    struct gang__where w = {.s = s,
                            .u = x->u,
                            .on = s->scratch,
                            .later_ns =
                                gang__add_sat(gang__longest_grace(s), x->u->job->leaf->q->grace_ns),
                            .parts = true,
                            .anew = true};
    gang_result r = gang__where_place(&w, &x->to);
    s->preempt.victims->failed = s->preempt.victims->failed || r == GANG_ENOMEM;
    if (r == GANG_ENOFIT && !ask->q->social && !gang__where_concerned(&w))
        *full = ask;
    return r == GANG_OK;
}

/* Does it run exactly what it starts with? What moves starts anew: tasks that have ended would run
 * again, tasks above its gang would be lost. */
static bool is_as_started(const struct gang__gang *u)
{
    if (u->ended > 0 || u->victim.tentative_count > 0 || u->tasks != gang__gang_request(u)->min)
        return false;
    for (uint32_t g = 0; u->request_class->exact && g < gang__gang_request(u)->group_count; g++)
        if (u->has[g] != u->request_class->gang_tasks[g])
            return false;
    return true;
}

/* Whole gangs that fit elsewhere move there. Returns whether anybody is lost; where nobody may be, the rest is
 * not looked at then. */
bool gang__preempt_move(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->preempt.victims;
    const struct gang__request_class *full = NULL;
    bool lost = false;
    int64_t moved = 0;
    if (p->mode == GANG__EVICT_MOVE && (uint64_t)v->count > (uint64_t)s->opts.max_moves)
        return true; /* more than may move: some would be lost */
    for (size_t i = 0; i < v->count; i++) {
        struct gang__victim *x = &v->list[i];
        if (i + AHEAD < v->count)
            expect(&v->list[i + AHEAD]);
        bool could = x->whole && !x->u->sliced && is_as_started(x->u) &&
                     moved < s->opts.max_moves &&
                     x->u->job->leaf->q->preempt != GANG_PREEMPT_CANCEL;
        if (could)
            shift(p, x, 1);
        if (could && may_keep(p, x) && fits_elsewhere(p, x, &full)) {
            moved++;
            continue;
        }
        if (could)
            shift(p, x, -1);
        lost = true;
        if (p->mode == GANG__EVICT_MOVE)
            break;
    }
    return lost;
}
