/* SPDX-License-Identifier: Apache-2.0 */
/* What does a report of the host about tasks, or about a whole job, change?
 *
 * A report takes effect as a whole, or not at all: if memory is short, or another thread reads the
 * allocation. Then these functions return false, and the caller repeats the report. */
#include <string.h>

#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"

/* ---- reports about tasks --------------------------------------------------------------------- */

/* Success counts also for tasks that were asked to stop: if the job is over then, it has succeeded,
 * and does not wait again. */
static bool report_succeeded(gang_sched *s, struct gang__report *r)
{
    struct gang__job *job = r->job;
    if (!gang__tasks_release(s, r->gang, &r->running))
        return false;
    gang__tasks_count(s, r->gang, &r->running, true, GANG__TASK_END_SUCCESS);
    gang__tasks_count(s, r->gang, &r->stopping, false, GANG__TASK_END_SUCCESS);
    if (r->stopping.count > 0)
        gang__suspended_forget(s, r->gang, &r->stopping);
    int32_t result =
        r->gang->alloc == GANG_ID_NONE ? gang__job_result(job) : (int32_t)GANG_END_NONE;
    if (result != GANG_END_NONE) /* first: a stopped job waits again */
        gang__job_stop(s, job, GANG_REASON_END, result);
    gang__tasks_stopped(s, r->gang, &r->stopping);
    gang__tasks_stopped(s, r->gang, &r->fenced);
    gang__reports_continue(s, job);
    return true;
}

/* A task that fails while it is being suspended is lost like one that runs. */
static bool report_failed(gang_sched *s, struct gang__report *r)
{
    gang__suspended_failed(s, r);
    return gang__reports_failed(s, r);
}

/* The gang has no work for the idle tasks: their capacity is released, and the target of the gang
 * drops to the tasks that are left. It grows again when the host sets a new target. If all tasks
 * are idle, the target drops even if no task can be spared, but never below the minimum. */
static bool report_idle(gang_sched *s, struct gang__report *r, bool all)
{
    struct gang__gang *g = r->gang;
    gang__keep_spare(g, &r->running);
    if (r->running.count == 0 && (!all || g->alloc == GANG_ID_NONE))
        return true;
    if (!gang__tasks_release(s, g, &r->running))
        return false;
    gang__order_leave(s, g);
    gang__tasks_count(s, g, &r->running, true, GANG__TASK_END_NONE);
    gang__usage_out(s, g);
    g->target = gang__max(g->tasks + g->ended, gang__gang_request(g)->min);
    gang__usage_in(s, g);
    gang__reports_continue(s, r->job);
    return true;
}

/* Heartbeats. A task that is known already needs no look-up. */
static bool report_alive(gang_sched *s, struct gang__report *r, const int64_t *tasks, size_t count)
{
    struct gang__job *job = r->job;
    if (job->options->heartbeat_ns <= 0 || gang__slice_is_suspended(r->gang))
        return true;
    if (tasks && count == 1 && gang__heartbeat_known(job, r->gang->index, tasks[0]))
        return gang__heartbeat_heard(s, job, r->gang->index, tasks[0]);
    if (!gang__report_look_up(s, r, tasks, count))
        return false;
    bool ok = true;
    for (size_t i = 0; i < r->running.count; i++)
        ok = gang__heartbeat_heard(s, job, r->gang->index, r->running.task[i].task) && ok;
    for (size_t i = 0; i < r->fenced.count; i++)
        gang__fence_renew(s, r->gang, r->fenced.task[i].task);
    if (gang__reports_next(job) < job->due_ns)
        gang__timer_set(s, job);
    return ok;
}

static bool apply(gang_sched *s, struct gang__report *r, const int64_t *tasks, size_t count,
                  int32_t what)
{
    if (what == GANG_TASK_STARTED || what == GANG_TASK_HEARTBEAT)
        return report_alive(s, r, tasks, count);
    if (what == GANG_TASK_STOPPED) {
        if (!gang__slice_report(s, r->gang, tasks, count) && !r->gang->stop.first)
            gang__log_job(s, GANG_LOG_LATE, r->job,
                          "job %llu: tasks were reported stopped that do not stop any more",
                          (unsigned long long)r->job->id);
        gang__stop_tasks_gone(s, r->gang, tasks, count);
        return true;
    }
    if (!gang__report_look_up(s, r, tasks, count))
        return false;
    return what == GANG_TASK_SUCCEEDED ? report_succeeded(s, r)
           : what == GANG_TASK_FAILED  ? report_failed(s, r)
                                       : report_idle(s, r, tasks == NULL);
}

bool gang__reports_tasks(gang_sched *s, struct gang__job *job,
                         const struct gang__task_report *report)
{
    struct gang__report r;
    memset(&r, 0, sizeof(r));
    r.job = job;
    r.gang = gang__report_gang(job, report->gang, report->alloc);
    if (!r.gang) {
        gang__log_job(s, report->what != GANG_TASK_STOPPED ? GANG_LOG_IGNORED : GANG_LOG_LATE, job,
                      "job %llu: a report about tasks of an allocation that it does not hold",
                      (unsigned long long)job->id);
        return true;
    }
    bool ok = apply(s, &r, report->task, report->task ? report->count : 0, report->what);
    gang__report_free(s, &r);
    return ok;
}

/* ---- reports about a whole job --------------------------------------------------------------- */

/* No task of the gang stops or is kept for a handover, and the gang is not time-sliced: its
 * allocation is freed as a whole. */
static bool ends_as_a_whole(const struct gang__gang *g)
{
    return g->alloc != GANG_ID_NONE && g->stop.unreleased == 0 && !g->stop.first && !g->sliced;
}

/* End all tasks of a gang. False: try again later. */
static bool end_gang(gang_sched *s, struct gang__gang *g, bool success)
{
    struct gang__report r = {.job = g->job, .gang = g};
    bool at_once = ends_as_a_whole(g);
    bool ok = gang__report_look_up(s, &r, NULL, 0) &&
              (at_once ? gang__give_back_all(s, g->alloc) == GANG_OK
                       : gang__tasks_release(s, g, &r.running));
    if (ok && at_once) {
        gang__tasks_released(s, g, &r.running);
        gang__order_leave(s, g);
        gang__gang_clear(s, g);
    }
    if (ok) {
        gang__tasks_count(s, g, &r.running, !at_once,
                          success ? GANG__TASK_END_SUCCESS : GANG__TASK_END_FAILURE);
        gang__tasks_stopped(s, g, &r.stopping);
        gang__tasks_stopped(s, g, &r.fenced);
    }
    gang__report_free(s, &r);
    return ok;
}

bool gang__reports_end(gang_sched *s, struct gang__job *job, bool success)
{
    const struct gang__found nowhere = {NULL, 0, 0};
    bool runs = false, stops = job->ending || job->state == GANG_JOB_STOPPING;
    for (uint32_t i = 0; i < job->gang_count; i++)
        runs = runs || gang__gang_holds(&job->gang[i]) != GANG_ID_NONE;
    if (!runs || job->state == GANG_JOB_ENDED) {
        gang__log_job(s, GANG_LOG_IGNORED, job, "job %llu was reported ended, but does not run",
                      (unsigned long long)job->id);
        return true;
    }
    if (stops && success)
        gang__job_stop(s, job, GANG_REASON_END, GANG_END_SUCCESS);
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (!end_gang(s, &job->gang[i], success))
            return false;
    if (stops || job->state == GANG_JOB_ENDED)
        return true;
    if (!success && gang__job_may_restart(job)) {
        gang__job_restart(s, job, &nowhere);
        return true;
    }
    gang__reports_stop(s, job, GANG_REASON_END, success ? GANG_END_SUCCESS : GANG_END_FAILED);
    return true;
}
