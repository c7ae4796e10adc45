/* SPDX-License-Identifier: Apache-2.0 */
/* What changes when tasks end? What they held is released at once, however many other tasks run on,
 * and wakes what waits for capacity; usage, demand and the place of the gang in its order change.
 *
 * A task that ended counts as done, and for the minimum of its gang as if it still ran. */
#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* Capacity came free on a node: wake each wait class that could use it. If the gang
 * used cluster-wide amounts, or has labels or affinity rules, wake all classes: its end may help
 * on any node. */
static void wake_for_node(gang_sched *s, const struct gang__gang *g, gang_node_id node)
{
    const gang_request *request = gang__gang_request(g);
    struct gang__node_free n;
    if (request->uses_pool || request->has_affinity) {
        gang__wake_capacity_any(s);
        return;
    }
    if (!s->order.blocked_requests) { /* no class waits for capacity */
        gang__wake_capacity(s, INT64_MAX, INT64_MAX, INT64_MAX);
        return;
    }
    if (gang__node_free_get(s->cluster, node, &n))
        gang__wake_capacity(s, n.cpu_milli, n.pages, n.gpu_milli);
}

void gang__tasks_released(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    for (size_t i = 0; i < f->count; i++) {
        gang__heartbeat_forget(s, g->job, g->index, f->task[i].task);
        if (i == 0 || f->task[i].node != f->task[i - 1].node)
            wake_for_node(s, g, f->task[i].node);
    }
}

bool gang__tasks_release(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    if (f->count == 0)
        return true;
    int64_t *tasks = gang__report_numbers(s, f);
    gang_result r = tasks ? gang__give_back_tasks(s, g->alloc, tasks, f->count) : GANG_ENOMEM;
    gang__release(&s->mem, tasks);
    if (r == GANG_OK)
        gang__tasks_released(s, g, f);
    return r == GANG_OK;
}

void gang__demand_changed(gang_sched *s, struct gang__gang *g)
{
    gang__wake_shares(s);
    gang__order_unblock_queues(s, g->job->leaf);
    if (g->job->leaf_user)
        gang__order_rekey_user(s, g->job->leaf, g->job->leaf_user);
    gang__wake_queue(s, g->job->leaf);
}

void gang__tasks_count(gang_sched *s, struct gang__gang *g, const struct gang__found *f, bool ran,
                       enum gang__task_end end)
{
    if (f->count == 0)
        return;
    gang__order_leave(s, g);
    gang__usage_out(s, g);
    for (size_t i = 0; i < f->count; i++)
        gang__task_count(g, &f->task[i], ran, end);
    gang__usage_in(s, g);
    gang__demand_changed(s, g);
}

void gang__tasks_stopped(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    int64_t *tasks = f->count ? gang__report_numbers(s, f) : NULL;
    if (tasks)
        gang__stop_tasks_gone(s, g, tasks, f->count);
    else if (f->count) /* one by one needs no memory */
        for (size_t i = 0; i < f->count; i++)
            gang__stop_tasks_gone(s, g, &f->task[i].task, 1);
    gang__release(&s->mem, tasks);
}
