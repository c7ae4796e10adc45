/* SPDX-License-Identifier: Apache-2.0 */
/* Fences: tasks that are lost, and may still run.
 *
 * A fence is a stop of single tasks for which no op is called. It is listed with the stops of its
 * gang: its places stay allocated, the gang does not start again, and its job does not end, before
 * the fence has ended. A report of the host ends it, or its time. Usage counts its places. */
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/stop/stop_in.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

struct gang__stop *gang__fence_new(gang_sched *s, struct gang__gang *g,
                                   const struct gang__found *tasks)
{
    struct gang__stop *fence = gang__zalloc(&s->mem, 1, sizeof(*fence));
    if (!fence)
        return NULL;
    fence->gang = g;
    fence->alloc = gang__gang_holds(g);
    fence->held = gang__zalloc(&s->mem, gang__gang_request(g)->group_count, sizeof(*fence->held));
    if (!fence->held || !gang__stop_alloc_tasks(s, fence, tasks->count)) {
        gang__stop_free(s, fence);
        return NULL;
    }
    fence->tasks = fence->own;
    fence->own_count = fence->task_count = fence->left = tasks->count;
    for (size_t i = 0; i < tasks->count; i++) {
        fence->own[i] = fence->still[i] = tasks->task[i].task;
        fence->held[tasks->task[i].group]++;
    }
    fence->reason = GANG_REASON_LOSS;
    fence->fenced = true;
    return fence;
}

int64_t gang__fence_until(const gang_sched *s, const struct gang__gang *g)
{
    int64_t own = g->job->leaf->q->fence_ns, lasts = own ? own : s->opts.fence_ns;
    return lasts < 0 ? INT64_MAX : gang__add_sat(s->now_ns, lasts);
}

void gang__fence_begin(gang_sched *s, struct gang__stop *fence, int64_t until_ns)
{
    struct gang__gang *g = fence->gang;
    fence->deadline_ns = fence->next_ns = until_ns;
    fence->counted = true;
    g->stop.unreleased++;
    fence->next = g->stop.first;
    g->stop.first = fence;
    gang__wake_holding(s, g);
    gang__wake_job(s, g->job, GANG__WAKE_TIMER);
}

void gang__fence_ended(gang_sched *s, struct gang__stop *fence)
{
    struct gang__gang *g = fence->gang;
    gang__order_leave(s, g);
    gang__usage_out(s, g);
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++) {
        g->stop.fenced[group] -= fence->held[group];
        g->stop.fenced_tasks -= fence->held[group];
    }
    gang__usage_in(s, g);
    gang__wake_shares(s);
    gang__wake_slices(s); /* the next row may run there */
    gang__order_unblock_queues(s, g->job->leaf);
    if (g->job->leaf_user)
        gang__order_rekey_user(s, g->job->leaf, g->job->leaf_user);
    gang__wake_job(s, g->job, GANG__WAKE_SETTLE);
}

bool gang__fence_passed(gang_sched *s, const struct gang__stop *fence)
{
    gang__log(s, 0, "job %llu: %zu lost tasks were not reported over; their places are released",
              (unsigned long long)fence->gang->job->id, fence->left);
    return true;
}

struct gang__stop *gang__stop_not_fenced(const struct gang__gang *g)
{
    struct gang__stop *stop = g->stop.first;
    while (stop && stop->fenced)
        stop = stop->next;
    return stop;
}

static struct gang__stop *fence_with(const struct gang__gang *g, int64_t task)
{
    for (struct gang__stop *stop = g->stop.first; stop; stop = stop->next)
        if (stop->fenced && bsearch(&task, stop->still, stop->left, sizeof(task), gang__by_number))
            return stop;
    return NULL;
}

bool gang__fence_has(const struct gang__gang *g, int64_t task)
{
    return g->stop.fenced_tasks > 0 && fence_with(g, task);
}

void gang__fence_renew(gang_sched *s, struct gang__gang *g, int64_t task)
{
    struct gang__stop *fence = fence_with(g, task);
    if (!fence)
        return;
    fence->deadline_ns = fence->next_ns = gang__fence_until(s, g);
    gang__wake_holding(s, g);
    gang__wake_job(s, g->job, GANG__WAKE_TIMER);
}
