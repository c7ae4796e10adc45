/* SPDX-License-Identifier: Apache-2.0 */
/* Counting what happened, and reading it. One thread counts, so a counter is loaded and stored. */
#include "sched/record/stats.h"

#include "base/wide.h"
#include "sched/record/job_record.h"

/* Sums of waits stop at the largest number. */
static void add(struct gang__queue_state *q, uint32_t stat, int64_t n)
{
    int64_t now = (int64_t)gang__load_relaxed(&q->stat[stat]);
    gang__store_relaxed(&q->stat[stat], (uint64_t)gang__add_sat(now, n));
}

void gang__stats_add_all(gang_sched *s, uint32_t stat, int64_t n)
{
    add(&s->root, stat, n);
}

/* The root is above all. */
void gang__stats_add(struct gang__queue_state *q, uint32_t stat, int64_t n)
{
    for (; q; q = q->parent)
        add(q, stat, n);
}

static uint32_t bucket_of(int64_t wait_ns)
{
    return wait_ns > 0 ? 64u - (uint32_t)__builtin_clzll((uint64_t)wait_ns) : 0;
}

static void count_wait(struct gang__queue_state *leaf, int64_t wait_ns)
{
    gang__stats_add(leaf, GANG__STAT_FIRST_STARTS, 1);
    gang__stats_add(leaf, GANG__STAT_WAIT_SUM, wait_ns);
    gang__stats_add(leaf, GANG__STAT_WAITS + bucket_of(wait_ns), 1);
    for (struct gang__queue_state *q = leaf; q; q = q->parent)
        if (wait_ns > (int64_t)gang__load_relaxed(&q->stat[GANG__STAT_WAIT_MAX]))
            gang__store_relaxed(&q->stat[GANG__STAT_WAIT_MAX], (uint64_t)wait_ns);
}

void gang__stats_started(gang_sched *s, const struct gang__gang *g, bool resumed, bool first)
{
    struct gang__queue_state *leaf = g->job->leaf;
    gang__stats_add(leaf, GANG__STAT_STARTS, 1);
    gang__stats_add(leaf, GANG__STAT_TASKS_GRANTED, g->tasks - (int64_t)g->untold.count);
    if (resumed)
        gang__stats_add(leaf, GANG__STAT_RESUMES, 1);
    if (first)
        count_wait(leaf, s->now_ns - g->job->submitted_ns);
}

/* Stopped for other jobs before it was to be? */
static bool is_wasted(const gang_sched *s, const struct gang__gang *g, int32_t reason)
{
    int64_t least = g->job->leaf->q->min_runtime_ns, ran = s->now_ns - g->started_ns;
    bool for_others = reason == GANG_REASON_PREEMPT || reason == GANG_REASON_RECLAIM ||
                      reason == GANG_REASON_MOVE;
    return for_others && gang__slice_has_run(g) && (ran <= 0 || ran < least);
}

void gang__stats_stopped(gang_sched *s, const struct gang__gang *g, int32_t reason, int64_t tasks)
{
    struct gang__queue_state *leaf = g->job->leaf;
    if (tasks > 0) {
        gang__stats_add(leaf, GANG__STAT_TASKS_STOPPED + (uint32_t)reason, tasks);
        return;
    }
    gang__stats_add(leaf, GANG__STAT_GANGS_STOPPED + (uint32_t)reason, 1);
    if (is_wasted(s, g, reason))
        gang__stats_add(leaf, GANG__STAT_WASTED_STARTS, 1);
}

void gang__stats_ended(struct gang__queue_state *leaf, int32_t end)
{
    gang__stats_add(leaf, GANG__STAT_ENDS + (uint32_t)end, 1);
}

void gang__stats_copy(struct gang__queue_state *to, const struct gang__queue_state *from)
{
    for (uint32_t i = 0; i < GANG__STATS; i++)
        gang__store_relaxed(&to->stat[i], gang__load_relaxed(&from->stat[i]));
}

/* ---- public ---------------------------------------------------------------------------------- */

static gang_result read_stats(const struct gang__queue_state *q, struct gang_sched_stats *stats)
{
    struct {
        size_t size;
        int64_t stat[GANG__STATS];
    } out = {0, {0}};
    for (uint32_t i = 0; i < GANG__STATS; i++)
        out.stat[i] = (int64_t)gang__load_relaxed(&q->stat[i]);
    return gang__struct_out(stats, stats->size, sizeof(out), &out, sizeof(out));
}

gang_result gang_sched_stats(gang_sched *sched, struct gang_sched_stats *stats)
{
    return sched && stats ? read_stats(&sched->root, stats) : GANG_EINVAL;
}

gang_result gang_queue_stats(gang_sched *sched, gang_queue_id id, struct gang_sched_stats *stats)
{
    if (!sched || !stats)
        return GANG_EINVAL;
    const struct gang__queue_state *q = gang__queue_state_of(sched, id);
    return q ? read_stats(q, stats) : GANG_ESTALE;
}
