/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds by sums over all nodes: they cost little, and rule out most gangs that do not fit. */
#include <string.h>

#include "sched/calendar/calendar.h"
#include "sched/order/order.h"

/* Does it ask for instances that are not counted as GPUs? */
static bool has_instances(const gang_sched *s, const struct gang__gang *g)
{
    const gang_request *request = gang__gang_request(g);
    for (uint32_t i = 0; s->calendar->more.count > 0 && i < request->group_count; i++)
        if (gang__calendar_counts_instances(s->calendar, &request->group[i]))
            return true;
    return false;
}

/* The least that a gang takes of all nodes together. */
static void sums_of(const gang_sched *s, const struct gang__gang *g, int64_t need[GANG__FREE_DIMS])
{
    uint32_t count;
    const struct gang__take *take = gang__gang_takes(g, &count);
    memset(need, 0, GANG__FREE_DIMS * sizeof(*need));
    for (uint32_t i = 0; i < count; i++) {
        const struct gang__take *t = &take[i];
        const struct gang__dim *d = &s->queues->dim[t->dim];
        int k = d->partition                  ? -1
                : d->kind == GANG_KIND_CPU    ? GANG__FREE_CPU
                : d->kind == GANG_KIND_MEMORY ? GANG__FREE_MEMORY
                : d->kind == GANG_KIND_GPU    ? GANG__FREE_GPU
                                              : -1;
        if (k >= 0)
            need[k] = k == GANG__FREE_GPU && g->request_class->by_memory
                          ? g->request_class->gang_gpu
                          : t->amount;
    }
    if (need[GANG__FREE_GPU] > 0 && has_instances(s, g))
        need[GANG__FREE_GPU] = 0;
}

bool gang__calendar_fits_sums(const gang_sched *s, const struct gang__gang *g)
{
    int64_t need[GANG__FREE_DIMS], end = gang__add_sat(s->now_ns, gang__calendar_estimate(s, g));
    sums_of(s, g, need);
    return gang__timeline_fits_sum(gang__calendar_timeline_of(s, g), need, s->now_ns, end);
}

int64_t gang__calendar_free_ns(const gang_sched *s, const struct gang__gang *g)
{
    int64_t need[GANG__FREE_DIMS];
    sums_of(s, g, need);
    int64_t until = gang__timeline_until_sum(gang__calendar_timeline_of(s, g), need, s->now_ns);
    uint64_t free_ns = (uint64_t)until - (uint64_t)s->now_ns;
    return until == GANG__NEVER || free_ns > INT64_MAX ? GANG__NEVER : (int64_t)free_ns;
}

bool gang__calendar_is_earliest(const gang_sched *s, const struct gang__gang *g)
{
    int64_t need[GANG__FREE_DIMS], unused[GANG__FREE_DIMS];
    const struct gang__queue_state *leaf = g->job->leaf;
    if (!g->calendar.plan || g->calendar.planned_ns <= s->now_ns ||
        (s->wake.plans & GANG__PLANS_MISFIT))
        return false;
    if (leaf->q->backfill == GANG_BACKFILL_EASY && leaf->calendar.planned_count > 1)
        return false; /* plans of those behind it do not bind it */
    sums_of(s, g, need);
    (void)gang__timeline_sum_at(gang__calendar_timeline_of(s, g), g->calendar.planned_ns - 1,
                                unused);
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        if (need[k] > unused[k])
            return true;
    return false;
}
