/* SPDX-License-Identifier: Apache-2.0 */
/* Committing an attempt: first all that needs memory (stops, the handover), then the books of all
 * victims, then the requests to stop, which cannot fail. */
#include <stdlib.h>
#include <string.h>

#include "place/record/record.h"
#include "sched/grant/grant.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/preempt/preempt_in.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"

/* Numbers of the tasks of a gang that stop on their own, ascending: those that move, or those that
 * are lost. `to`: the places of the former. 0: out of memory. */
static size_t single_tasks(gang_sched *s, const struct gang__gang *g, bool moves,
                           struct gang__places *to)
{
    struct gang__victims *v = s->preempt.victims;
    size_t count = 0;
    for (size_t i = 0; i < v->count; i++) {
        struct gang__victim *x = &v->list[i];
        if (x->g != g || x->whole || x->moves != moves)
            continue;
        if (!gang__grow(&s->mem, (void **)&v->tasks, &v->task_cap, count + 1, sizeof(*v->tasks)) ||
            (moves && !gang__places_add(to, &s->cluster->mem, &x->to.place[0])))
            return 0;
        v->tasks[count++] = x->task;
        x->named = true;
    }
    qsort(v->tasks, count, sizeof(*v->tasks), gang__by_number);
    return count;
}

static int32_t reason_of(const struct gang__preemption *p, const struct gang__victim *x)
{
    if (x->moves)
        return GANG_REASON_MOVE;
    return p->mode == GANG__PREEMPT_ACROSS || x->g->job->leaf == p->taker->job->leaf
               ? GANG_REASON_PREEMPT
               : GANG_REASON_RECLAIM;
}

/* A stop of all single tasks of the gang that stop, or move, as the victim does. */
static bool make_task_stop(struct gang__preemption *p, struct gang__victim *x)
{
    gang_sched *s = p->s;
    struct gang__places to = {0};
    size_t count = single_tasks(s, x->g, x->moves, &to);
    if (count > 0)
        x->stop = gang__stop_new(s, x->g, s->preempt.victims->tasks, count, reason_of(p, x));
    bool ok = x->stop && gang__stop_note_target(s, x->stop, to.place, to.count);
    gang__places_free(&to, &s->cluster->mem);
    return ok;
}

/* A gang that is preempted whole is asked once, also for tasks that were taken before. */
static bool make_stop(struct gang__preemption *p, struct gang__victim *x)
{
    if (x->named || (!x->whole && x->g->victim.tentative))
        return true;
    if (!gang__cooldown_prepare(p->s, x->g))
        return false;
    if (!x->whole)
        return make_task_stop(p, x);
    x->stop = gang__stop_new(p->s, x->g, NULL, 0, reason_of(p, x));
    return x->stop && gang__stop_note_target(p->s, x->stop, x->to.place, x->to.count);
}

static bool make_stops(struct gang__preemption *p)
{
    struct gang__victims *v = p->s->preempt.victims;
    for (size_t i = 0; i < v->count; i++) {
        gang__victim_prefetch(v, i + GANG__VICTIMS_AHEAD);
        gang__victim_prefetch_alloc(p->s, i + GANG__VICTIMS_AHEAD / 2);
        if (!make_stop(p, &v->list[i]))
            return false;
    }
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

/* Prefetches what a stop reads of a victim's gang, which is cached, and of its job. */
static void expect(const struct gang__victim *x)
{
    const struct gang__gang *g = x->g;
    gang__set_prefetch_remove(&g->victim.link);
    __builtin_prefetch(x->stop, 1);
    __builtin_prefetch(g->preempt.cooldowns, 1);
    __builtin_prefetch(g->has, 1);
    __builtin_prefetch(&g->untold);
    __builtin_prefetch(&g->order, 1);
    __builtin_prefetch(&g->sliced);
    __builtin_prefetch(g->job, 1);
    __builtin_prefetch(&g->job->leaf_user, 1);
    __builtin_prefetch(&g->job->end, 1);
    __builtin_prefetch(&g->job->paused_since_ns);
    __builtin_prefetch(&g->job->cookie);
    __builtin_prefetch(&g->job->wake, 1);
    __builtin_prefetch(&g->job->preemptions, 1);
}

/* All victims leave the usage, which counts the taker. The host is not called. */
static void book_stops(struct gang__preemption *p, struct gang__handover *handover)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->preempt.victims;
    for (size_t i = 0; i < v->count; i++) {
        struct gang__stop *stop = v->list[i].stop;
        gang__victim_prefetch(v, i + GANG__VICTIMS_AHEAD);
        if (i + GANG__VICTIMS_AHEAD / 2 < v->count)
            expect(&v->list[i + GANG__VICTIMS_AHEAD / 2]);
        if (!stop)
            continue;
        gang__cooldown_note(s, &v->list[i], p->taker);
        gang__stop_book(s, stop, p->taker->job->id, handover, GANG_END_NONE);
    }
}

/* The host may be called, and reads the usage: it is right since all victims are booked. */
static void ask_to_stop(gang_sched *s)
{
    struct gang__victims *v = s->preempt.victims;
    for (size_t i = 0; i < v->count; i++)
        if (v->list[i].stop)
            (void)!gang__stop_request(s, v->list[i].stop);
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
    gang__trial_drop(&p->trial); /* each victim leaves the usage when it is booked */
    gang__partition_keep(s, taker);
    gang__handover_begin(s, handover);
    book_stops(p, handover);
    ask_to_stop(s);
    gang__slice_forget_views(s);
    stop_rest(p);
    gang__handovers_finish(s);
    gang__job_settle(s, taker->job);
    gang__wake_preemption(s);
    return true;
}
