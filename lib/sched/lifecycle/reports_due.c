/* SPDX-License-Identifier: Apache-2.0 */
/* What is due if no report arrives? A silent task is lost, a gang that was not refilled in time
 * fails its job, a gang that stays below its minimum is stopped as stale. */
#include "base/wide.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/record/state.h"

/* These tasks of a gang are silent. Those that were asked to stop are killed in time: the host is
 * not asked about them. False: try again later. */
static bool lose_tasks(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count)
{
    struct gang__report r = {.job = g->job, .gang = g};
    bool ok = gang__report_look_up(s, &r, tasks, count);
    r.stopping.count = 0;
    ok = ok && gang__reports_lost(s, &r, "no heartbeat came in time");
    gang__report_free(s, &r);
    return ok;
}

/* Tasks that are silent for too long are lost. False: try again later. */
static bool lose_silent(gang_sched *s, struct gang__job *job)
{
    int64_t tasks[64];
    uint32_t index;
    size_t count;
    while ((count = gang__heartbeat_late(s, job, &index, tasks, 64)) > 0) {
        struct gang__gang *g = gang__report_gang(job, index, GANG_ID_NONE);
        if (g && !lose_tasks(s, g, tasks, count))
            return false;
        for (size_t i = 0; i < count; i++)
            gang__heartbeat_forget(s, job, index, tasks[i]);
    }
    return true;
}

static int64_t stale_at(const struct gang__gang *g)
{
    return g->reports.below_min ? gang__add_sat(g->reports.below_min_ns, g->job->leaf->q->stale_ns)
                                : INT64_MAX;
}

void gang__reports_due(gang_sched *s, struct gang__job *job)
{
    if (!lose_silent(s, job))
        s->no_memory = true;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__gang *g = &job->gang[i];
        if (job->state != GANG_JOB_RUNNING || job->ending)
            return;
        if (g->reports.refill && g->reports.refill_ns <= s->now_ns)
            gang__reports_stop(s, job, GANG_REASON_LOSS, GANG_END_FAILED);
        else if (stale_at(g) <= s->now_ns)
            gang__reports_stop(s, job, GANG_REASON_STALE, GANG_END_NONE);
    }
}

int64_t gang__reports_next(const struct gang__job *job)
{
    int64_t next = gang__heartbeat_next(job);
    if (job->state != GANG_JOB_RUNNING || job->ending)
        return next;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__gang *g = &job->gang[i];
        if (g->reports.refill && g->reports.refill_ns < next)
            next = g->reports.refill_ns;
        if (stale_at(g) < next)
            next = stale_at(g);
    }
    return next;
}
