/* SPDX-License-Identifier: Apache-2.0 */
/* A gang has got an allocation, or more tasks: usage and orders count it, and the host starts it.
 * What happens when the host refuses?
 *
 * A start     Nothing of the grant stays (gang__start_undo()): the tasks leave usage and the orders
 *             of victims, and the allocation is released. The job waits until `refused_ns` have
 *             passed (job->not_before_ns, a timer), then its gang waits in its order like before.
 *             The free capacity wakes other gangs in the same run.
 * To resume   The same. The places stay noted, so the gang resumes there later.
 * More tasks  Only these tasks are given back, and the job waits likewise before the next attempt.
 *             The gang runs on with the tasks that it had.
 * A handover  Its victims have stopped: the places are free for all (handover_finish.c).
 *
 * A start that limits, capacity or the calendar refuse comes to no grant: cycle/schedule_one.c. */
#include "sched/grant/grant.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* The usage of its user changed. */
static void note_user(gang_sched *s, const struct gang__job *job)
{
    if (job->leaf_user)
        gang__order_rekey_user(s, job->leaf, job->leaf_user);
}

bool gang__grant_start(gang_sched *s, struct gang__gang *g, gang_alloc_id alloc, int32_t reason)
{
    struct gang__job *job = g->job;
    bool as_before = g->places || reason == GANG_REASON_MOVE; /* with tasks above its minimum */
    gang__order_leave(s, g);
    gang__bypass_end(g);
    gang__usage_out(s, g);
    g->alloc = alloc;
    if (g->request_class->exact && !as_before) {
        g->tasks = 0;
        for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++)
            g->tasks += g->has[group] = g->request_class->gang_tasks[group];
    }
    if (!g->request_class->exact || as_before)
        gang__gang_count(s, g);
    g->started_ns = s->now_ns;
    g->served_ns = 0;
    if (reason != GANG_REASON_NONE) /* the calendar was not asked */
        gang__wake_calendar(s);
    gang__usage_in(s, g);
    if (!gang__gang_is_steady(g))
        gang__wake_shares(s);
    gang__victims_enter(s, g);
    gang__job_count(s, job);
    note_user(s, job);
    gang__wake_preemption(s);
    if (!g->sliced)
        return gang__grant_report(s, g, reason);
    job->ready_ns = -1;
    gang__bypass_count(s, g);
    gang__job_settle(s, job);
    return true;
}

bool gang__grant_report(gang_sched *s, struct gang__gang *g, int32_t reason)
{
    struct gang__job *job = g->job;
    bool resumes = g->places != NULL;
    struct gang_event e = gang__event_of(s, g, reason, resumes ? "resumed" : "started");
    e.state = GANG_JOB_RUNNING;
    int32_t (*op)(const struct gang_event *, void *) = resumes ? s->ops.resume : s->ops.start;
    if (op && op(&e, s->user) != 0) {
        gang__log(s, 0, "the host refused to start job %llu", (unsigned long long)job->id);
        gang__start_undo(s, g, gang__add_sat(s->now_ns, s->opts.refused_ns));
        return false;
    }
    gang__release(&s->mem, g->places);
    g->places = NULL;
    g->begun = true;
    job->next_back_off_ns = job->back_off_ns;
    job->ready_ns = -1;
    if (job->state != GANG_JOB_RUNNING) { /* no other gang of the job runs yet */
        gang__time_limit_begin(s, job);
        job->paused_ns = 0;
        job->paused = false;
    }
    g->started_ns = s->now_ns;
    g->served_ns = 0;
    s->info.started++;
    s->info.tasks_granted += g->tasks;
    if (!g->sliced)
        gang__bypass_count(s, g);
    if (g->preempt.took) /* it is spared no more */
        gang__wake_preemption(s);
    g->preempt.took = false;
    gang__reports_started(s, g);
    gang__job_state(s, job, reason, "started");
    gang__job_settle(s, job);
    gang__job_wake_waiters(s, job);
    if (resumes)
        gang__reports_trim(s, g);
    return true;
}

bool gang__grant_growth(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                        const int64_t *by_group, int32_t reason)
{
    uint32_t groups = gang__gang_request(g)->group_count;
    gang__order_leave(s, g);
    gang__usage_out(s, g);
    for (uint32_t group = 0; group < groups; group++) {
        g->has[group] += by_group[group];
        g->tasks += by_group[group];
    }
    gang__usage_in(s, g);
    if (!gang__gang_is_steady(g))
        gang__wake_shares(s);
    note_user(s, g->job);
    g->preempt.grown_at = s->preempt.stops;
    gang__wake_preemption(s);
    /* The first groups have more tasks now, so fewer tasks of the other groups are protected.
     * Gangs may wait for those. */
    if (groups > 1 && g->job->preemptible == GANG_SEMI_PREEMPTIBLE)
        gang__order_unblock_queues(s, g->job->leaf);
    struct gang_event e = gang__event_of(s, g, reason, "more tasks");
    e.tasks = tasks;
    e.task_count = count;
    if (s->ops.grow && s->ops.grow(&e, s->user) != 0) {
        gang__usage_out(s, g);
        for (uint32_t group = 0; group < groups; group++) {
            g->has[group] -= by_group[group];
            g->tasks -= by_group[group];
        }
        gang__usage_in(s, g);
        note_user(s, g->job);
        gang__give_back_or_defer(s, g, g->alloc, tasks, count);
        gang__log(s, 0, "the host refused more tasks of job %llu", (unsigned long long)g->job->id);
        g->job->not_before_ns = gang__add_sat(s->now_ns, s->opts.refused_ns);
        gang__wake_capacity_any(s);
        gang__order_unblock_queues(s, g->job->leaf);
        gang__job_settle(s, g->job);
        return false;
    }
    s->info.tasks_granted += (int64_t)count;
    gang__reports_note_minimum(s, g);
    gang__job_settle(s, g->job);
    return true;
}
