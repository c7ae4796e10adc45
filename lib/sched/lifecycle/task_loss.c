/* SPDX-License-Identifier: Apache-2.0 */
/* What does the loss of tasks mean for their job? The roles of their groups decide first, then the
 * loss policy of the job. Lost nodes and silent tasks are losses, too. */
#include <string.h>

#include "base/wide.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"
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
    if (job->restarts >= job->max_restarts) {
        gang__reports_stop(s, job, GANG_REASON_LOSS, GANG_END_FAILED);
        return;
    }
    int64_t delay = job->restart_delay_ns;
    for (int64_t i = 0; i < job->restarts && delay < INT64_MAX && delay > 0; i++)
        delay = gang__add_sat(delay, delay);
    job->restarts++;
    if (delay > 0)
        job->not_before_ns = gang__add_sat(s->now_ns, delay);
    avoid_nodes(s, job, f);
    gang__reports_stop(s, job, GANG_REASON_LOSS, GANG_END_NONE);
}

static bool is_decisive(int32_t role)
{
    return role == GANG_ROLE_CHIEF || role == GANG_ROLE_CRITICAL || role == GANG_ROLE_UNTRACKED;
}

/* Lost tasks leave usage. Returns the strictest role among them. */
static int32_t count_lost(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    int32_t strictest = GANG_ROLE_SIDECAR;
    gang__order_leave(s, g);
    gang__usage_out(s, g);
    for (size_t i = 0; i < f->count; i++) {
        int32_t role = gang__role_of(g, f->task[i].group);
        bool again = role == GANG_ROLE_MEMBER && g->job->loss == GANG_LOSS_REFILL;
        gang__task_count(g, f->task[i].group, true,
                         again ? GANG__TASK_END_NONE : GANG__TASK_END_FAILURE);
        if (is_decisive(role) || (role == GANG_ROLE_MEMBER && !is_decisive(strictest)))
            strictest = role;
    }
    gang__usage_in(s, g);
    gang__demand_changed(s, g);
    return strictest;
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
            g->reports.refill_ns =
                job->refill_ns > 0 ? gang__add_sat(s->now_ns, job->refill_ns) : INT64_MAX;
        g->reports.refill = true; /* cleared by gang__reports_note_minimum() if the minimum runs */
        break;
    case GANG_LOSS_SHRINK:
        if (gang__below_minimum(g))
            gang__job_restart(s, job, f);
        break;
    default:
        break;
    }
}

bool gang__reports_failed(gang_sched *s, struct gang__report *r)
{
    struct gang__gang *g = r->gang;
    if (!gang__tasks_release(s, g, &r->running))
        return false;
    gang__tasks_stopped(s, g, &r->stopping);
    if (r->running.count == 0 || r->job->state == GANG_JOB_ENDED)
        return true;
    int32_t role = count_lost(s, g, &r->running);
    if (is_decisive(role))
        gang__reports_stop(s, r->job, GANG_REASON_END, GANG_END_FAILED);
    else if (role == GANG_ROLE_MEMBER)
        lose_members(s, g, &r->running);
    gang__reports_continue(s, r->job);
    return true;
}

bool gang__job_may_restart(const struct gang__job *job)
{
    for (uint32_t group = 0; job->roles && group < job->group_count; group++)
        if (is_decisive(job->roles[group]))
            return false;
    return (job->loss == GANG_LOSS_RESTART || job->loss == GANG_LOSS_SHRINK) &&
           job->restarts < job->max_restarts;
}

static bool lose_on_node(gang_sched *s, struct gang__gang *g, gang_node_id node)
{
    struct gang__report r = {g->job, g, {NULL, 0, 0}, {NULL, 0, 0}};
    bool ok = gang__report_look_up(s, &r, NULL, 0);
    gang__report_keep_node(s, &r.running, node);
    gang__report_keep_node(s, &r.stopping, node);
    if (ok && r.running.count + r.stopping.count > 0 && !gang__slice_has_run(g))
        gang__slice_undo_grant(s, g);
    else if (ok && r.running.count + r.stopping.count > 0)
        ok = gang__reports_failed(s, &r);
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
