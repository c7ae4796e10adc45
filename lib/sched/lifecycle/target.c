/* SPDX-License-Identifier: Apache-2.0 */
/* How many tasks does each gang get of the target of its job, and which tasks stop when the target
 * falls? */
#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"

/* Choose `surplus` running tasks to stop: the last groups first, in a group the highest
 * numbers first. A
 * chosen task is marked: its node is GANG_ID_NONE. Returns how many were chosen. */
static size_t choose_surplus(struct gang__gang *g, struct gang__found *f, int64_t surplus)
{
    size_t chosen = 0;
    for (uint32_t group = gang__gang_request(g)->group_count;
         group-- > 0 && (int64_t)chosen < surplus;)
        for (size_t i = f->count; i-- > 0 && (int64_t)chosen < surplus;) {
            if (f->task[i].group != group)
                continue;
            g->has[group]--;
            if (gang__below_minimum(g)) {
                g->has[group]++;
                break; /* the gang cannot spare another task of the group either */
            }
            f->task[i].node = GANG_ID_NONE;
            chosen++;
        }
    for (size_t i = 0; i < f->count; i++)
        g->has[f->task[i].group] += f->task[i].node == GANG_ID_NONE;
    return chosen;
}

/* Stop tasks beyond the target. False: try again later. */
static bool stop_surplus(gang_sched *s, struct gang__gang *g)
{
    struct gang__report r = {.job = g->job, .gang = g};
    int64_t surplus = g->tasks + g->ended - g->target;
    if (g->alloc == GANG_ID_NONE || surplus <= 0)
        return true;
    bool ok = gang__report_look_up(s, &r, NULL, 0);
    if (ok && choose_surplus(g, &r.running, surplus) > 0) {
        gang__report_keep_node(s, &r.running, GANG_ID_NONE);
        int64_t *tasks = gang__report_numbers(s, &r.running);
        ok = tasks && gang__stop_tasks(s, g, tasks, r.running.count, GANG_REASON_TARGET,
                                       GANG_END_NONE) != GANG_ENOMEM;
        gang__release(&s->mem, tasks);
    }
    gang__report_free(s, &r);
    return ok;
}

void gang__reports_trim(gang_sched *s, struct gang__gang *g)
{
    if (!stop_surplus(s, g))
        s->no_memory = true;
}

/* What the minima leave of the target of a job. */
static int64_t beyond_minima(const struct gang__job *job, int64_t target)
{
    int64_t min = 0, count = 0;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        min += gang__gang_request(&job->gang[i])->min;
        count += gang__gang_request(&job->gang[i])->count;
    }
    return (target < 0 || target > count ? count : target < min ? min : target) - min;
}

/* The share of one gang; lowers *rest. */
static int64_t target_of(const struct gang__gang *g, int64_t *rest)
{
    const gang_request *request = gang__gang_request(g);
    int64_t more = gang__min(request->count - request->min, *rest);
    *rest -= more;
    return request->min + more;
}

void gang__reports_divide_target(struct gang__job *job, int64_t target)
{
    int64_t rest = beyond_minima(job, target);
    for (uint32_t i = 0; i < job->gang_count; i++)
        job->gang[i].target = target_of(&job->gang[i], &rest);
}

/* Each gang gets its minimum; the rest of the target goes to the first gangs first. */
bool gang__reports_target(gang_sched *s, struct gang__job *job, int64_t target)
{
    if (job->state == GANG_JOB_ENDED)
        return true;
    int64_t rest = beyond_minima(job, target);
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        gang__order_leave(s, g);
        gang__usage_out(s, g);
        g->target = target_of(g, &rest);
        gang__usage_in(s, g);
        gang__demand_changed(s, g);
        if (!stop_surplus(s, g)) {
            gang__job_settle(s, job);
            return false;
        }
    }
    gang__reports_continue(s, job);
    return true;
}
