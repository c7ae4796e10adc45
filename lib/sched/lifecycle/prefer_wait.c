/* SPDX-License-Identifier: Apache-2.0 */
/* How long does a gang wait for its preferred domains (gang_job_spec.prefer_wait_ns)?
 *
 * Such a gang has two request classes. With the first, which *insists*, each `prefer` binds. The
 * second is that of the request as it was submitted. Both take the same amounts. The gang changes
 * from the first to the second when it next enters an order after the wait; a timer of the job
 * wakes a gang that lies in an order then. A class is shared by gangs that insist alike, whatever
 * their times are. */
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"

bool gang__prefer_wait_end(gang_sched *s, struct gang__gang *g)
{
    struct gang__request_class *before = g->request_class;
    if (!g->later_class || g->alloc != GANG_ID_NONE || s->now_ns < gang__prefer_until(g->job))
        return true;
    if (!gang__request_class_refresh(s, g->later_class))
        return false;
    gang__order_free_class(s, g);
    g->request_class = g->later_class;
    g->later_class = NULL;
    gang__request_class_unref(s, before);
    return true;
}

int64_t gang__prefer_wait_next(const gang_sched *s, const struct gang__job *job)
{
    bool some = false;
    if (job->options->prefer_wait_ns <= 0)
        return INT64_MAX;
    int64_t until = gang__prefer_until(job);
    for (uint32_t i = 0; i < job->gang_count; i++)
        some = some || (job->gang[i].later_class && job->gang[i].alloc == GANG_ID_NONE);
    return some && until > s->now_ns ? until : INT64_MAX;
}
