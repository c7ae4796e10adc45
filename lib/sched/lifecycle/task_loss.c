/* SPDX-License-Identifier: Apache-2.0 */
/* What does the loss of tasks mean for their job? The roles of their groups decide first, then the
 * loss policy of the job. Lost nodes and silent tasks are losses, too. */
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* The job avoids the nodes where it failed when it is placed again. Without memory for the list
 * it does not. */
static void avoid_nodes(gang_sched *s, struct gang__job *job, const struct gang__found *f)
{
    gang_node_id *bad = gang__zalloc(&s->mem, job->failed_node_count + f->count + 1, sizeof(*bad));
    if (!bad)
        return;
    size_t count = job->failed_node_count;
    if (count)
        memcpy(bad, job->failed_nodes, count * sizeof(*bad));
    for (size_t i = 0; i < f->count; i++) {
        size_t at = 0;
        while (at < count && bad[at] != f->task[i].node)
            at++;
        if (at == count)
            bad[count++] = f->task[i].node;
    }
    gang__release(&s->mem, job->failed_nodes);
    job->failed_nodes = bad;
    job->failed_node_count = count;
}

void gang__job_restart(gang_sched *s, struct gang__job *job, const struct gang__found *f)
{
    if (job->restarts >= job->options->max_restarts) {
        gang__reports_stop(s, job, GANG_REASON_LOSS, GANG_END_FAILED);
        return;
    }
    int64_t delay = job->options->restart_delay_ns;
    for (int64_t i = 0; i < job->restarts && delay < INT64_MAX && delay > 0; i++)
        delay = gang__add_sat(delay, delay);
    job->restarts++;
    if (delay > 0)
        job->not_before_ns = gang__add_sat(s->now_ns, delay);
    avoid_nodes(s, job, f);
    gang__reports_stop(s, job, GANG_REASON_LOSS, GANG_END_NONE);
}

bool gang__role_is_decisive(int32_t role)
{
    return role == GANG_ROLE_CHIEF || role == GANG_ROLE_CRITICAL || role == GANG_ROLE_UNTRACKED;
}

/* Lost tasks no longer count as tasks of the gang. If they are fenced, usage counts what they hold
 * all the same. Returns the strictest role among them. */
static int32_t count_lost(gang_sched *s, struct gang__gang *g, const struct gang__found *f,
                          bool fenced)
{
    int32_t strictest = GANG_ROLE_SIDECAR;
    gang__order_leave(s, g);
    gang__usage_out(s, g);
    for (size_t i = 0; i < f->count; i++) {
        int32_t role = gang__role_of(g, f->task[i].group);
        bool again = role == GANG_ROLE_MEMBER && g->job->loss == GANG_LOSS_REFILL;
        /* of a restored fence some tasks have stopped, and the host may list them as failed, too */
        bool counted = gang__ended_tasks_has(g, f->task[i].task);
        gang__task_count(g, &f->task[i], true,
                         again || counted ? GANG__TASK_END_NONE : GANG__TASK_END_FAILURE);
        g->stop.fenced[f->task[i].group] += fenced;
        g->stop.fenced_tasks += fenced;
        if (gang__role_is_decisive(role) ||
            (role == GANG_ROLE_MEMBER && !gang__role_is_decisive(strictest)))
            strictest = role;
    }
    gang__usage_in(s, g);
    gang__demand_changed(s, g);
    return strictest;
}

void gang__reports_refill(gang_sched *s, struct gang__gang *g)
{
    int64_t refill_ns = g->job->options->refill_ns;
    g->reports.refill_ns = refill_ns > 0 ? gang__add_sat(s->now_ns, refill_ns) : INT64_MAX;
    g->reports.refill = true; /* cleared by gang__reports_note_minimum() if the minimum runs */
}

void gang__fence_restore(gang_sched *s, struct gang__stop *fence,
                         const struct gang__kept_stop *kept)
{
    gang__fence_begin(s, fence, kept->next_ns);
    (void)count_lost(s, fence->gang, &kept->all, true);
    gang__alloc_mark_stopped(s->worker, fence->alloc, fence->own, fence->own_count, fence->still,
                             fence->left);
    gang__job_state(s, fence->gang->job, GANG_REASON_LOSS, "stopping"); /* between two quanta */
}

void gang__reports_restored(gang_sched *s, struct gang__gang *g)
{
    const struct gang_job_past *past = g->job->restored->past;
    gang__reports_note_minimum(s, g);
    if (g->reports.below_min && past->below_min_ns > 0)
        g->reports.below_min_ns = gang__min(past->below_min_ns, s->now_ns);
    g->reports.refill = past->refill_ns > 0;
    g->reports.refill_ns = past->refill_ns;
}

/* Members were lost: apply the loss policy of the job. */
static void lose_members(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    struct gang__job *job = g->job;
    switch (job->loss) {
    case GANG_LOSS_FAIL:
        gang__reports_stop(s, job, GANG_REASON_LOSS, GANG_END_FAILED);
        break;
    case GANG_LOSS_RESTART:
        gang__job_restart(s, job, f);
        break;
    case GANG_LOSS_REFILL:
        if (!g->reports.refill)
            gang__reports_refill(s, g);
        break;
    case GANG_LOSS_SHRINK:
        if (gang__below_minimum(g))
            gang__job_restart(s, job, f);
        break;
    default:
        break;
    }
}

void gang__reports_growth_refused(gang_sched *s, struct gang__gang *g)
{
    const struct gang__found none = {NULL, 0, 0};
    if (g->job->loss == GANG_LOSS_SHRINK && !g->job->ending && g->alloc != GANG_ID_NONE &&
        gang__below_minimum(g))
        gang__job_restart(s, g->job, &none);
}

/* The running tasks of the report do not come back: roles and the loss policy decide. */
static void after_loss(gang_sched *s, struct gang__report *r, bool fenced)
{
    struct gang__gang *g = r->gang;
    if (r->running.count == 0 || r->job->state == GANG_JOB_ENDED)
        return;
    int32_t role = count_lost(s, g, &r->running, fenced);
    if (gang__role_is_decisive(role))
        gang__reports_stop(s, r->job, GANG_REASON_END, GANG_END_FAILED);
    else if (role == GANG_ROLE_MEMBER)
        lose_members(s, g, &r->running);
    gang__reports_continue(s, r->job);
}

bool gang__reports_failed(gang_sched *s, struct gang__report *r)
{
    if (!gang__tasks_release(s, r->gang, &r->running))
        return false;
    gang__tasks_stopped(s, r->gang, &r->stopping);
    gang__tasks_stopped(s, r->gang, &r->fenced);
    after_loss(s, r, false);
    return true;
}

/* ---- tasks out of reach ---------------------------------------------------------------------- */

/* The numbers of the tasks that run or stop. NULL: out of memory. */
static int64_t *numbers_of_both(gang_sched *s, const struct gang__report *r)
{
    size_t count = 0;
    int64_t *tasks = gang__zalloc(&s->mem, r->running.count + r->stopping.count, sizeof(*tasks));
    for (size_t i = 0; tasks && i < r->running.count; i++)
        tasks[count++] = r->running.task[i].task;
    for (size_t i = 0; tasks && i < r->stopping.count; i++)
        tasks[count++] = r->stopping.task[i].task;
    if (tasks)
        qsort(tasks, count, sizeof(*tasks), gang__by_number);
    return tasks;
}

/* Does none of the tasks run any more? */
static bool host_says_over(gang_sched *s, const struct gang__report *r, const int64_t *tasks,
                           const char *text)
{
    struct gang_event e = gang__event_of(s, r->gang, GANG_REASON_LOSS, text);
    e.alloc = gang__gang_holds(r->gang);
    e.tasks = tasks;
    e.task_count = r->running.count + r->stopping.count;
    e.deadline_ns = gang__fence_until(s, r->gang);
    int32_t answer = s->ops.lost ? s->ops.lost(&e, s->user) : (int32_t)GANG_EBUSY;
    return answer == GANG_OK || answer == GANG_ENOENT;
}

/* What tasks held on removed nodes went with them. */
static bool are_removed(const gang_sched *s, const struct gang__found *f)
{
    struct gang_node_info info = {.size = sizeof(info)};
    for (size_t i = 0; i < f->count; i++)
        if (gang_node_get(s->cluster, f->task[i].node, &info) == GANG_OK)
            return false;
    return true;
}

static void forget_heartbeats(gang_sched *s, const struct gang__report *r)
{
    for (size_t i = 0; i < r->running.count; i++)
        gang__heartbeat_forget(s, r->job, r->gang->index, r->running.task[i].task);
}

bool gang__reports_lost(gang_sched *s, struct gang__report *r, const char *text)
{
    struct gang__gang *g = r->gang;
    if (r->running.count + r->stopping.count == 0)
        return true;
    int64_t *tasks = numbers_of_both(s, r);
    struct gang__stop *fence = tasks ? gang__fence_new(s, g, &r->running) : NULL;
    if (!fence) {
        gang__release(&s->mem, tasks);
        return false;
    }
    bool over = host_says_over(s, r, tasks, text);
    gang__release(&s->mem, tasks);
    over = over || (are_removed(s, &r->running) && are_removed(s, &r->stopping));
    /* If another thread reads the allocation, the places are released a little later. */
    bool fenced = r->running.count > 0 && !(over && gang__tasks_release(s, g, &r->running));
    if (fenced)
        gang__fence_begin(s, fence, over ? s->now_ns : gang__fence_until(s, g));
    else
        gang__stop_discard(s, fence);
    forget_heartbeats(s, r);
    if (over)
        gang__tasks_stopped(s, g, &r->stopping);
    after_loss(s, r, fenced);
    return true;
}

bool gang__job_may_restart(const struct gang__job *job)
{
    for (uint32_t group = 0; job->options->roles && group < job->group_count; group++)
        if (gang__role_is_decisive(job->options->roles[group]))
            return false;
    return (job->loss == GANG_LOSS_RESTART || job->loss == GANG_LOSS_SHRINK) &&
           job->restarts < job->options->max_restarts;
}

static bool lose_on_node(gang_sched *s, struct gang__gang *g, gang_node_id node)
{
    struct gang__report r = {.job = g->job, .gang = g};
    bool ok = gang__report_look_up(s, &r, NULL, 0);
    gang__report_keep_node(s, &r.running, node);
    gang__report_keep_node(s, &r.stopping, node);
    gang__report_keep_node(s, &r.fenced, node);
    if (ok && r.running.count + r.stopping.count > 0 && !gang__slice_has_run(g))
        gang__slice_undo_grant(s, g);
    else if (ok)
        ok = gang__reports_lost(s, &r, "its node is down");
    if (ok && are_removed(s, &r.fenced))
        gang__tasks_stopped(s, g, &r.fenced);
    gang__report_free(s, &r);
    return ok;
}

/* Only gangs that hold an allocation can have tasks there. A failed task may end other gangs of its
 * job; the records of ended jobs stay until the run ends. */
bool gang__reports_nodes_lost(gang_sched *s, gang_node_id node)
{
    gang__wake_preemption(s);
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count && job->state != GANG_JOB_ENDED; i++)
            if (gang__gang_holds(&job->gang[i]) != GANG_ID_NONE &&
                !lose_on_node(s, &job->gang[i], node))
                return false;
    }
    return true;
}
