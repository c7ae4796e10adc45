/* SPDX-License-Identifier: Apache-2.0 */
/* The dry run: tentative victims leave a snapshot of the cluster and the usage of their queues, and
 * the taker is placed there. The list of victims is the record by which the trial undoes it. */
#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "place/request/request.h"
#include "sched/preempt/preempt_in.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"

/* ---- tentative victims ----------------------------------------------------------------------- */

int64_t gang__victim_tasks(const struct gang__victim *v, uint32_t group)
{
    const struct gang__gang *g = v->g;
    if (!v->whole)
        return v->group == group;
    if (g->request_class->request->group_count == 1) /* the usual case: spare it two cache misses */
        return g->tasks - g->victim.tentative_count;
    return g->has[group] - g->victim.tentative_tasks[group];
}

void gang__victim_shift(struct gang__preemption *p, const struct gang__victim *v, int64_t sign)
{
    const struct gang__gang *g = v->g;
    p->tasks -= sign * (v->whole ? g->tasks - g->victim.tentative_count : 1);
    if (!v->whole)
        gang__usage_shift(p->s, g, v->group, sign);
    else
        for (uint32_t group = 0; group < g->request_class->request->group_count; group++)
            gang__usage_shift(p->s, g, group, sign * gang__victim_tasks(v, group));
}

void gang__victim_count(const struct gang__victim *v, int64_t sign)
{
    if (v->whole) {
        v->g->victim.tentative = sign > 0;
    } else {
        v->g->victim.tentative_tasks[v->group] += sign;
        v->g->victim.tentative_count += sign;
    }
}

struct rest {
    gang_sched *s;
    const struct gang__gang *g;
    size_t count;
    bool failed;
};

bool gang__preempt_has_task(const gang_sched *s, const struct gang__gang *g, int64_t task)
{
    const struct gang__victims *v = s->preempt.victims;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].g == g && !v->list[i].whole && !v->list[i].spared && v->list[i].task == task)
            return true;
    return false;
}

static int32_t rest_task(const struct gang_task *task, void *user)
{
    struct rest *r = user;
    struct gang__victims *v = r->s->preempt.victims;
    if (gang__preempt_has_task(r->s, r->g, task->task) || gang__stop_asked(r->s, r->g, task->task))
        return 0;
    if (!gang__grow(&r->s->mem, (void **)&v->tasks, &v->task_cap, r->count + 1,
                    sizeof(*v->tasks))) {
        r->failed = true;
        return 1;
    }
    v->tasks[r->count++] = task->task;
    return 0;
}

/* Release what the allocation holds in the snapshot, or take it back. */
static gang_result release_own(struct gang__preemption *p, struct gang__victim *v, bool back)
{
    gang_sched *s = p->s;
    gang_alloc_id id = v->g->alloc;
    struct rest r = {s, v->g, 0, false};
    if (!v->whole)
        return back ? gang__snapshot_retake_tasks(s->scratch, id, &v->task, 1)
                    : gang__snapshot_release_where(s->scratch, id, &v->task, 1, &v->node);
    if (v->g->victim.tentative_count == 0 && v->g->stop.unreleased == 0) {
        if (back)
            return gang__snapshot_retake(s->scratch, id);
        return gang__snapshot_release_kept(s->scratch, s->worker, id, &v->node)
                   ? GANG_OK
                   : gang__snapshot_release_where(s->scratch, id, NULL, 0, &v->node);
    }
    (void)!gang__alloc_each(s->cluster, id, rest_task, &r);
    if (r.failed)
        return GANG_ENOMEM;
    if (r.count == 0)
        return GANG_OK;
    const int64_t *tasks = s->preempt.victims->tasks;
    return back ? gang__snapshot_retake_tasks(s->scratch, id, tasks, r.count)
                : gang__snapshot_release_where(s->scratch, id, tasks, r.count, &v->node);
}

gang_result gang__victim_release(struct gang__preemption *p, struct gang__victim *v, bool back)
{
    bool shares = v->whole && v->g->sliced;
    gang_result r = shares && back ? gang__slice_dry_run_victim(p->s, v->g, true) : GANG_OK;
    if (r == GANG_OK)
        r = release_own(p, v, back);
    else
        return r;
    if (shares && (r == GANG_OK) != back)
        (void)!gang__slice_dry_run_victim(p->s, v->g, false);
    if (shares)
        v->node = GANG_ID_NONE;
    return r;
}

bool gang__preempt_take(struct gang__preemption *p, struct gang__victim *v)
{
    struct gang__victims *vs = p->s->preempt.victims;
    gang_result r = GANG_ENOMEM;
    if (gang__grow(&p->s->mem, (void **)&vs->list, &vs->cap, vs->count + 1, sizeof(*vs->list)))
        r = gang__victim_release(p, v, false);
    vs->failed = vs->failed || r == GANG_ENOMEM;
    if (r != GANG_OK)
        return false;
    gang__victim_shift(p, v, -1);
    gang__victim_count(v, 1);
    vs->list[vs->count++] = *v;
    return true;
}

/* ---- placing the taker ----------------------------------------------------------------------- */

struct gang__where gang__preempt_where(const struct gang__preemption *p)
{
    gang_sched *s = p->s;
    return (struct gang__where){.s = s,
                                .g = p->taker,
                                .on = s->scratch,
                                .later_ns = gang__longest_grace(s),
                                .parts = true,
                                .charged = p->charged};
}

bool gang__preempt_place_in(struct gang__preemption *p, const struct gang__where *w)
{
    gang_sched *s = p->s;
    if (!gang__preempt_amounts_suffice(p) || !gang__preempt_quota_suffices(p))
        return false;
    gang_result r = p->grow_group >= 0
                        ? gang__where_grow(w, (uint32_t)p->grow_group, p->step, &s->placement)
                    : gang__slice_concerns(p->taker) ? gang__slice_dry_run_place(w, &s->placement)
                                                     : gang__where_place(w, &s->placement);
    s->preempt.victims->failed = s->preempt.victims->failed || r == GANG_ENOMEM;
    return r == GANG_OK;
}

bool gang__preempt_place(struct gang__preemption *p)
{
    struct gang__where w = gang__preempt_where(p);
    return gang__preempt_place_in(p, &w);
}
