/* SPDX-License-Identifier: Apache-2.0 */
/* A gang has got an allocation, or more tasks: usage and orders count it, and the host starts it.
 * If the host refuses, the allocation is released and the gang waits for refused_ns. */
#include "sched/grant/grant.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/bypass.h"
#include "sched/order/wait_order.h"
#include "sched/record/job_record.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* The usage of its user changed. */
static void note_user(gang_sched *s, const struct gang__job *job)
{
    if (job->leaf_user)
        gang__order_user(s, job->leaf, job->leaf_user);
}

bool gang__grant_start(gang_sched *s, struct gang__gang *u, gang_alloc_id alloc, int32_t reason)
{
    struct gang__job *job = u->job;
    bool resumes = u->places != NULL;
    gang__order_leave(s, u);
    gang__bypass_over(u);
    gang__usage_out(s, u);
    u->alloc = alloc;
    if (u->request_class->exact) {
        u->tasks = 0;
        for (uint32_t g = 0; g < gang__gang_request(u)->group_count; g++)
            u->tasks += u->has[g] = u->request_class->gang_tasks[g];
    }
    if (!u->request_class->exact || resumes)
        gang__gang_count(s, u);
    u->started_ns = s->now_ns;
    u->served_ns = 0;
    if (reason != GANG_REASON_NONE) /* the calendar was not asked */
        gang__wake_calendar(s);
    gang__usage_in(s, u);
    s->wake.shares = s->wake.shares || !gang__gang_is_steady(u);
    gang__victims_enter(s, u);
    gang__job_count(s, job);
    note_user(s, job);
    s->wake.changes++;
    if (!u->sliced)
        return gang__grant_tell(s, u, reason);
    job->ready_ns = -1;
    gang__bypass_passed(s, u);
    gang__job_settle(s, job);
    return true;
}

bool gang__grant_tell(gang_sched *s, struct gang__gang *u, int32_t reason)
{
    struct gang__job *job = u->job;
    bool resumes = u->places != NULL;
    struct gang_event e = gang__event_of(s, u, reason, resumes ? "resumed" : "started");
    e.state = GANG_JOB_RUNNING;
    int32_t (*op)(const struct gang_event *, void *) = resumes ? s->ops.resume : s->ops.start;
    if (op && op(&e, s->user) != 0) {
        gang__log(s, 0, "the host refused to start job %llu", (unsigned long long)job->id);
        gang__start_undo(s, u, s->now_ns + s->opts.refused_ns);
        return false;
    }
    gang__release(&s->mem, u->places);
    u->places = NULL;
    u->begun = true;
    job->next_back_off_ns = job->back_off_ns;
    job->ready_ns = -1;
    if (job->state != GANG_JOB_RUNNING) { /* no other gang of the job runs yet */
        gang__time_limit_begin(s, job);
        job->paused_ns = 0;
        job->paused = false;
    }
    u->started_ns = s->now_ns;
    u->served_ns = 0;
    s->info.started++;
    s->info.tasks_granted += u->tasks;
    if (!u->sliced)
        gang__bypass_passed(s, u);
    gang__reports_started(s, u);
    gang__job_state(s, job, reason, "started");
    gang__job_settle(s, job);
    gang__job_wake(s, job);
    if (resumes)
        gang__reports_trim(s, u);
    return true;
}

bool gang__grant_growth(gang_sched *s, struct gang__gang *u, const int64_t *tasks, size_t count,
                        const int64_t *by_group)
{
    uint32_t groups = gang__gang_request(u)->group_count;
    gang__order_leave(s, u);
    gang__usage_out(s, u);
    for (uint32_t g = 0; g < groups; g++) {
        u->has[g] += by_group[g];
        u->tasks += by_group[g];
    }
    gang__usage_in(s, u);
    s->wake.shares = s->wake.shares || !gang__gang_is_steady(u);
    note_user(s, u->job);
    s->wake.changes++;
    /* The first groups have more tasks now, so fewer tasks of the other groups are protected.
     * Gangs may wait for those. */
    if (groups > 1 && u->job->preemptible == GANG_SEMI_PREEMPTIBLE)
        gang__eased(s, u->job->leaf);
    struct gang_event e = gang__event_of(s, u, GANG_REASON_NONE, "more tasks");
    e.tasks = tasks;
    e.task_count = count;
    if (s->ops.grow && s->ops.grow(&e, s->user) != 0) {
        gang__usage_out(s, u);
        for (uint32_t g = 0; g < groups; g++) {
            u->has[g] -= by_group[g];
            u->tasks -= by_group[g];
        }
        gang__usage_in(s, u);
        note_user(s, u->job);
        gang__give_surely(s, u, u->alloc, tasks, count);
        gang__log(s, 0, "the host refused more tasks of job %llu", (unsigned long long)u->job->id);
        u->job->not_before_ns = s->now_ns + s->opts.refused_ns;
        gang__wake_room_any(s);
        gang__eased(s, u->job->leaf);
        gang__job_settle(s, u->job);
        return false;
    }
    s->info.tasks_granted += (int64_t)count;
    gang__reports_short(s, u);
    gang__job_settle(s, u->job);
    return true;
}
