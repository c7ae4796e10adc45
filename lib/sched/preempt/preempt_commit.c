/* SPDX-License-Identifier: Apache-2.0 */
/* Committing an attempt: first all that needs memory (stops, the handover), then the requests to
 * stop, which cannot fail. */
#include <stdlib.h>
#include <string.h>

#include "place/record/record.h"
#include "sched/grant/grant.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/preempt/preempt_in.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"

/* Numbers of the tasks of a gang that stop on their own, ascending. 0: out of memory. */
static size_t single_tasks(gang_sched *s, const struct gang__gang *g)
{
    struct gang__victims *v = s->preempt.victims;
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].g == g && !v->list[i].whole) {
            if (!gang__grow(&s->mem, (void **)&v->tasks, &v->task_cap, count + 1,
                            sizeof(*v->tasks)))
                return 0;
            v->tasks[count++] = v->list[i].task;
            v->list[i].named = true;
        }
    qsort(v->tasks, count, sizeof(*v->tasks), gang__by_number);
    return count;
}

static int32_t reason_of(const struct gang__preemption *p, const struct gang__victim *x)
{
    if (x->to.count > 0)
        return GANG_REASON_MOVE;
    return x->g->job->leaf == p->taker->job->leaf ? GANG_REASON_PREEMPT : GANG_REASON_RECLAIM;
}

static bool note_target(gang_sched *s, struct gang__stop *stop, const struct gang__places *to)
{
    if (to->count == 0)
        return true;
    stop->to = gang__zalloc(&s->mem, to->count, sizeof(*stop->to));
    if (!stop->to)
        return false;
    memcpy(stop->to, to->place, to->count * sizeof(*stop->to));
    stop->to_count = (int64_t)to->count;
    return true;
}

/* A gang that is preempted whole is asked once, also for tasks that were taken before. */
static bool make_stop(struct gang__preemption *p, struct gang__victim *x)
{
    gang_sched *s = p->s;
    size_t count = 0;
    if (x->named || (!x->whole && x->g->victim.tentative))
        return true;
    if (!x->whole && (count = single_tasks(s, x->g)) == 0)
        return false;
    if (!gang__cooldown_prepare(s, x->g))
        return false;
    x->stop = gang__stop_new(s, x->g, x->whole ? NULL : s->preempt.victims->tasks, count,
                             reason_of(p, x));
    return x->stop && note_target(s, x->stop, &x->to);
}

static bool make_stops(struct gang__preemption *p)
{
    struct gang__victims *v = p->s->preempt.victims;
    for (size_t i = 0; i < v->count; i++)
        if (!make_stop(p, &v->list[i]))
            return false;
    return true;
}

static void drop_stops(struct gang__preemption *p)
{
    struct gang__victims *v = p->s->preempt.victims;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].stop)
            gang__stop_discard(p->s, v->list[i].stop);
    v->failed = true;
}

/* A callback may have stopped a victim meanwhile. */
static void ask_to_stop(struct gang__preemption *p, struct gang__handover *handover)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->preempt.victims;
    for (size_t i = 0; i < v->count; i++) {
        struct gang__stop *stop = v->list[i].stop;
        if (stop && stop->gang->alloc == stop->alloc) {
            gang__cooldown_note(s, stop->gang, p->taker, v->list[i].whole);
            (void)!gang__stop_begin(s, stop, p->taker->job->id, handover, GANG_END_NONE);
        } else if (stop)
            gang__stop_discard(s, stop);
    }
}

/* Where preempted jobs end, a job ends with the first of its gangs: its other gangs are asked to
 * stop, too, for no taker. */
static void stop_rest(struct gang__preemption *p)
{
    struct gang__victims *v = p->s->preempt.victims;
    for (size_t i = 0; i < v->count; i++) {
        struct gang__job *job = v->list[i].g->job;
        if (job->ending && job->end_wanted == GANG_END_PREEMPTED)
            gang__job_stop(p->s, job, GANG_REASON_END, GANG_END_PREEMPTED);
    }
}

bool gang__preempt_commit(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->preempt.victims;
    struct gang__gang *taker = p->taker;
    int32_t reason = v->count ? reason_of(p, &v->list[v->count - 1]) : GANG_REASON_NONE;
    struct gang__handover *handover = NULL;
    if (make_stops(p))
        handover = gang__handover_new(s, taker, &s->placement, p->grow_group, reason);
    if (!handover) {
        drop_stops(p);
        return false;
    }
    s->preempt.preempted_tasks += p->tasks;
    gang__trial_drop(&p->trial); /* each victim leaves the usage when it is asked to stop */
    gang__handover_begin(s, handover);
    taker->preempt.preempted_others_run = s->runs;
    ask_to_stop(p, handover);
    stop_rest(p);
    gang__handovers_finish(s);
    gang__job_settle(s, taker->job);
    gang__wake_preemption(s);
    return true;
}
