/* SPDX-License-Identifier: Apache-2.0 */
/* The moments when a budget is used up (GANG_BUDGET_KILL) or renewed (gang_budget.period_ns). */
#include <string.h>

#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

static bool is_below(const struct gang__queue_state *leaf, const struct gang__queue_state *q)
{
    while (leaf && leaf != q)
        leaf = leaf->parent;
    return leaf == q;
}

static bool uses(const struct gang__job *job, const struct gang__budget_book *book)
{
    if (!is_below(job->leaf, book->timer.queue) ||
        (book->per_user && strcmp(book->user, job->user) != 0))
        return false;
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (gang__budget_amount(&job->gang[i], book->kind) > 0)
            return true;
    return false;
}

/* Stops all jobs that use the budget. A job that cannot be stopped for want of memory is stopped by
 * its own timer. */
static void used_up(gang_sched *s, struct gang__budget_book *book)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id), *next; n; n = next) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        next = gang__set_next(n);
        if (job->state != GANG_JOB_ENDED && !job->ending && uses(job, book))
            gang__job_stop(s, job, GANG_REASON_TIMEOUT, GANG_END_TIMEOUT);
    }
}

bool gang__budgets_step(gang_sched *s)
{
    if (gang__budgets_next(s) > s->now_ns || !gang__run_step(s))
        return false;
    struct gang__budget_timer *timer =
        GANG__OF(struct gang__budget_timer, link, gang__set_first(&s->budget_timers));
    struct gang__queue_state *q = timer->queue;
    if (!timer->book) {
        gang__order_unblock_queues(s, q);
        gang__budget_renewed(s, q);
        return true;
    }
    if (gang__budget_is_used_up(s, timer->book))
        used_up(s, timer->book);
    gang__budget_time(s, timer->book);
    return timer->due_ns > s->now_ns;
}

int64_t gang__budgets_next(const gang_sched *s)
{
    struct gang__set_link *n = gang__set_first(&s->budget_timers);
    return n ? GANG__OF(struct gang__budget_timer, link, n)->due_ns : INT64_MAX;
}
