/* SPDX-License-Identifier: Apache-2.0 */
/* When does waiting make a gang starved? gang_queue_spec.max_wait_ns counts from when the job could
 * start, max_blocked_ns from when it had its turn and found no capacity.
 *
 * The second is in force unless the queue says otherwise, so a gang must not close a cluster
 * without use: when its time has come, it becomes starved only if it would fit as soon as all
 * running jobs had ended. If it would not (a node is down or reserved, capacity belongs to others),
 * the time counts from the start when it is tried after the next change. Nor does it become starved
 * while its leaf has planned starts: these come one after the other, and backfill delays none of
 * them.
 * order/bypass.c has what follows for the other gangs. */
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/slice/slice.h"
#include "sched/where/where.h"

static bool waits(const struct gang__gang *g)
{
    return g->order.wait_class && g->alloc == GANG_ID_NONE;
}

/* The time for max_wait_ns; INT64_MAX: never. */
static int64_t bound_ns(const struct gang__gang *g)
{
    int64_t wait = g->job->leaf->q->max_wait_ns;
    if (wait <= 0 || !waits(g) || g->starved == GANG__STARVED_BOUND)
        return INT64_MAX;
    return gang__add_sat(g->job->ready_ns, wait);
}

/* The time for max_blocked_ns; INT64_MAX: never. */
static int64_t blocked_ns(const struct gang__gang *g)
{
    int64_t wait = g->job->leaf->q->max_blocked_ns;
    if (wait < 0 || !waits(g) || !g->bypass.had_turn || g->starved)
        return INT64_MAX;
    return gang__add_sat(gang__max(g->bypass.blocked_ns, g->job->ready_ns), wait);
}

int64_t gang__starve_next(const struct gang__job *job)
{
    int64_t next = INT64_MAX;
    for (uint32_t i = 0; i < job->gang_count && job->ready_ns >= 0; i++)
        next = gang__min(next, gang__min(bound_ns(&job->gang[i]), blocked_ns(&job->gang[i])));
    return next;
}

/* Returns to the snapshot what all jobs hold. */
static void release_jobs(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            if (job->gang[i].alloc != GANG_ID_NONE)
                (void)!gang_snapshot_release(s->scratch, job->gang[i].alloc);
    }
}

/* Does it fit on s->scratch, in one of its partitions? */
static bool fits(gang_sched *s, struct gang__gang *g)
{
    struct gang__where w = {.s = s, .g = g, .on = s->scratch, .soft = GANG__SOFT_LIFTED};
    uint32_t partitions = gang__partition_count(g);
    bool found = partitions == 0 && gang__where_fits(&w) == GANG_OK;
    for (uint32_t i = 0; i < partitions && !found; i++) {
        gang__partition_try(g, i);
        found = gang__where_fits(&w) == GANG_OK;
    }
    if (partitions > 0)
        gang__partition_try_end(g);
    return found;
}

/* Does it wait for running jobs alone? O(nodes + jobs). Out of memory: no, for now. */
static bool would_fit(gang_sched *s, struct gang__gang *g)
{
    if (gang__slice_concerns(g))
        return true;
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return false;
    release_jobs(s);
    return fits(s, g);
}

void gang__starve_due(gang_sched *s, struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count && job->ready_ns >= 0; i++) {
        struct gang__gang *g = &job->gang[i];
        if (bound_ns(g) <= s->now_ns)
            gang__bypass_starve(s, g, GANG__STARVED_BOUND);
        else if (blocked_ns(g) > s->now_ns)
            continue;
        else if (g->job->leaf->calendar.planned_count > 0)
            g->bypass.blocked_ns = s->now_ns;
        else if (would_fit(s, g))
            gang__bypass_starve(s, g, GANG__STARVED_BLOCKED);
        else
            gang__bypass_cannot_fit(s, g);
    }
}
