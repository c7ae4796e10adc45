/* SPDX-License-Identifier: Apache-2.0 */
/* Victims on the copy of the cluster, and in the books. */
#include "sched/on_copy.h"
#include "place/request.h"
#include "sched/may_take.h"
#include "sched/victims.h"

/* ---- taking and putting back, on the copy and the books -------------------------------------- */

void gang__evict_shift(struct gang__eviction *p, const struct gang__victim *v, int64_t sign)
{
    struct gang__unit *u = v->u;
    const struct gang__asked *ask = u->ask;
    for (uint32_t g = 0; g < gang__unit_request(u)->group_count; g++) {
        int64_t tasks = v->whole ? u->has[g] - u->taken[g] : (g == v->group);
        gang__books_shift(u->job->leaf, ask, g, sign * tasks);
        p->tasks -= sign * tasks;
    }
}

struct rest {
    gang_sched *s;
    const struct gang__unit *u;
    size_t count;
    bool failed;
};

static bool is_taken_alone(const gang_sched *s, const struct gang__unit *u, int64_t task)
{
    const struct gang__victims *v = s->victims;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].u == u && !v->list[i].whole && !v->list[i].stays && v->list[i].task == task)
            return true;
    return false;
}

static int32_t rest_task(const struct gang_task *task, void *user)
{
    struct rest *r = user;
    struct gang__victims *v = r->s->victims;
    if (is_taken_alone(r->s, r->u, task->task) || gang__leave_asked(r->s, r->u, task->task))
        return 0;
    if (!gang__grow(&r->s->mem, (void **)&v->tasks, &v->task_room, r->count + 1,
                    sizeof(*v->tasks))) {
        r->failed = true;
        return 1;
    }
    v->tasks[r->count++] = task->task;
    return 0;
}

static bool some_taken(const struct gang__unit *u)
{
    for (uint32_t g = 0; g < gang__unit_request(u)->group_count; g++)
        if (u->taken[g])
            return true;
    return false;
}

static gang_result on_copy(struct gang__eviction *p, const struct gang__victim *v, bool back)
{
    gang_sched *s = p->s;
    struct rest r = {s, v->u, 0, false};
    if (!v->whole)
        return back ? gang__snapshot_retake_tasks(s->scratch, v->u->alloc, &v->task, 1)
                    : gang__snapshot_release_tasks(s->scratch, v->u->alloc, &v->task, 1);
    if (!some_taken(v->u) && v->u->ungiven == 0)
        return back ? gang__snapshot_retake(s->scratch, v->u->alloc)
                    : gang_snapshot_release(s->scratch, v->u->alloc);
    (void)!gang_alloc_each(s->cluster, v->u->alloc, rest_task, &r);
    if (r.failed)
        return GANG_ENOMEM;
    if (r.count == 0)
        return GANG_OK;
    return back ? gang__snapshot_retake_tasks(s->scratch, v->u->alloc, s->victims->tasks, r.count)
                : gang__snapshot_release_tasks(s->scratch, v->u->alloc, s->victims->tasks, r.count);
}

bool gang__evict_take(struct gang__eviction *p, const struct gang__victim *v)
{
    struct gang__victims *vs = p->s->victims;
    gang_result r = GANG_ENOMEM;
    if (gang__grow(&p->s->mem, (void **)&vs->list, &vs->room, vs->count + 1, sizeof(*vs->list)))
        r = on_copy(p, v, false);
    vs->failed = vs->failed || r == GANG_ENOMEM;
    if (r != GANG_OK)
        return false;
    gang__evict_shift(p, v, -1);
    if (!v->whole)
        v->u->taken[v->group]++;
    vs->list[vs->count++] = *v;
    return true;
}

/* ---- placing the taker ----------------------------------------------------------------------- */

static gang_result grow_on_copy(struct gang__eviction *p)
{
    gang_sched *s = p->s;
    gang_result r = gang__growth_ended(s->worker, p->taker->done);
    if (r == GANG_OK)
        r = gang__snapshot_grow_told(s->worker, s->scratch, p->taker->alloc, p->grow_group, p->step,
                                     &s->told);
    (void)!gang__growth_ended(s->worker, NULL);
    return r;
}

bool gang__evict_place(struct gang__eviction *p)
{
    gang_sched *s = p->s;
    if (!gang__amounts_suffice(p) || !gang__quota_suffices(p))
        return false;
    gang_result r = p->grow_group >= 0 ? grow_on_copy(p)
                                       : gang__snapshot_place_told(s->worker, s->scratch,
                                                                   p->taker->ask->q, &s->told);
    s->victims->failed = s->victims->failed || r == GANG_ENOMEM;
    return r == GANG_OK;
}

/* ---- taking victims until he has a place ----------------------------------------------------- */

/* Take victims until the taker has a place. */
static bool take_some(struct gang__eviction *p, bool own, bool others)
{
    gang_sched *s = p->s;
    struct gang__victim v;
    size_t next = s->victims->count + 1, tested = 0;
    bool found = false;
    if (!gang__victims_open(s, p->taker->job->leaf, own, others))
        s->victims->failed = true;
    while (!found && gang__victims_next(s, &v)) {
        s->steps++; /* but a plan is not cut short: the next run could only begin it anew */
        enum gang__may may = gang__may_take(p, v.u);
        if (may == GANG__MAY_NONE)
            gang__victims_pass(s);
        if (may != GANG__MAY ||
            (p->again && !v.whole && v.u->taken[v.group] && is_taken_alone(s, v.u, v.task)))
            continue;
        if (!gang__evict_take(p, &v))
            continue;
        if (s->victims->count < next || !gang__amounts_suffice(p) || !gang__quota_suffices(p))
            continue;
        found = gang__evict_place(p);
        tested = s->victims->count;
        next = tested * 2;
    }
    gang__victims_close(s);
    return found || (s->victims->count > tested && gang__evict_place(p));
}

static void mark_whole(const struct gang__eviction *p, bool doomed)
{
    const struct gang__victims *v = p->s->victims;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].whole)
            v->list[i].u->doomed = doomed;
}

/* From others, first from those above their fair shares: who keeps to his would take it back from
 * them, and more would be displaced than need be. */
bool gang__evict_take_until(struct gang__eviction *p, bool own, bool others)
{
    p->fair = others;
    bool found = take_some(p, own, others);
    if (found || !others)
        return found;
    p->fair = false;
    p->again = true;
    mark_whole(p, true);
    found = take_some(p, own, others);
    mark_whole(p, false);
    p->again = false;
    return found;
}

/* Everybody back, in the books; the copy is thrown away. */
void gang__evict_put_back(struct gang__eviction *p)
{
    struct gang__victims *v = p->s->victims;
    while (v->count > 0) {
        struct gang__victim *x = &v->list[--v->count];
        if (!x->stays && x->to.count == 0) {
            if (!x->whole)
                x->u->taken[x->group]--;
            gang__evict_shift(p, x, 1);
        }
        gang__places_free(&x->to, &p->s->cluster->mem);
    }
}

/* ---- who need not go ------------------------------------------------------------------------- */

/* Is a whole gang among the victims, so that its single tasks are, too? */
bool gang__evict_falls_whole(const gang_sched *s, const struct gang__unit *u)
{
    for (size_t i = 0; i < s->victims->count; i++)
        if (s->victims->list[i].u == u && s->victims->list[i].whole && !s->victims->list[i].stays)
            return true;
    return false;
}

/* From the last to the first: who can stay does. */
void gang__evict_spare(struct gang__eviction *p)
{
    struct gang__victims *v = p->s->victims;
    for (size_t i = v->count; i-- > 0;) {
        struct gang__victim *x = &v->list[i];
        if (!x->whole && gang__evict_falls_whole(p->s, x->u))
            continue;
        bool own = p->mode == GANG__EVICT_BOTH && x->u->job->leaf == p->taker->job->leaf;
        gang__evict_shift(p, x, 1);
        gang_result r = GANG_ENOFIT;
        if (gang__may_stay(p, x) && (!own || gang__still_entitled(p)))
            r = on_copy(p, x, true);
        v->failed = v->failed || r == GANG_ENOMEM;
        if (r == GANG_OK) {
            x->stays = true;
            if (!x->whole)
                x->u->taken[x->group]--;
        } else {
            gang__evict_shift(p, x, -1);
        }
    }
}

/* Find a place for a victim on the copy. It only gets fuller, so that what found none finds none
 * again, unless it goes by who is near. `full`: the ask that found none last. */
static bool fits_elsewhere(struct gang__eviction *p, struct gang__victim *x,
                           const struct gang__asked **full)
{
    gang_sched *s = p->s;
    const struct gang__asked *ask = x->u->ask;
    if (ask == *full)
        return false;
    gang_result r = gang__snapshot_place_told(s->worker, s->scratch, ask->q, &x->to);
    s->victims->failed = s->victims->failed || r == GANG_ENOMEM;
    if (r == GANG_ENOFIT && !ask->q->social)
        *full = ask;
    return r == GANG_OK;
}

/* Whole gangs that fit elsewhere move there. Returns whether anybody is lost. */
bool gang__evict_move(struct gang__eviction *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->victims;
    const struct gang__asked *full = NULL;
    bool lost = false;
    int64_t moved = 0;
    for (size_t i = 0; i < v->count; i++) {
        struct gang__victim *x = &v->list[i];
        if (x->stays)
            continue;
        bool could = x->whole && !some_taken(x->u) && moved < s->opts.max_moves &&
                     x->u->tasks <= gang__unit_request(x->u)->min &&
                     x->u->job->leaf->q->preempt != GANG_PREEMPT_CANCEL;
        if (could)
            gang__evict_shift(p, x, 1);
        if (could && gang__may_stay(p, x) && fits_elsewhere(p, x, &full)) {
            moved++;
            continue;
        }
        if (could)
            gang__evict_shift(p, x, -1);
        lost = true;
    }
    return lost;
}
