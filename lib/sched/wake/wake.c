/* SPDX-License-Identifier: Apache-2.0 */
/* The notes that are lists: jobs, candidates of backfill, holdings. */
#include "sched/wake/wake.h"

/* First noted, first drained: jobs settle in the order in which something happened to them. */
void gang__wake_job(gang_sched *s, struct gang__job *job, uint32_t causes)
{
    job->wake.causes |= causes;
    if (job->wake.at)
        return;
    if (!s->wake.jobs)
        s->wake.jobs_end = &s->wake.jobs;
    job->wake.next = NULL;
    job->wake.at = s->wake.jobs_end;
    *s->wake.jobs_end = job;
    s->wake.jobs_end = &job->wake.next;
}

void gang__wake_forget_job(gang_sched *s, struct gang__job *job)
{
    job->wake.causes = 0;
    if (!job->wake.at)
        return;
    *job->wake.at = job->wake.next;
    if (job->wake.next)
        job->wake.next->wake.at = job->wake.at;
    else
        s->wake.jobs_end = job->wake.at;
    job->wake.at = NULL;
}

/* Prefetches what is read of the next job, and of the one after it, if thousands were noted. The
 * next one was prefetched before. */
static void expect(const struct gang__job *next)
{
    const struct gang__job *after = next ? next->wake.next : NULL;
    if (next) {
        __builtin_prefetch(next->gang, 1);
        __builtin_prefetch(&next->gang->victim, 1);
        __builtin_prefetch(&next->gang->bypass, 1);
        __builtin_prefetch(&next->gang->reports, 1);
    }
    if (after) {
        __builtin_prefetch(after, 1);
        __builtin_prefetch(&after->gang, 1);
        __builtin_prefetch(&after->state, 1);
        __builtin_prefetch(&after->wake, 1);
    }
}

struct gang__job *gang__wake_next_job(gang_sched *s, uint32_t *causes)
{
    struct gang__job *job = s->wake.jobs;
    if (!job)
        return NULL;
    *causes = job->wake.causes;
    expect(job->wake.next);
    gang__wake_forget_job(s, job);
    return job;
}

void gang__wake_candidates(gang_sched *s, struct gang__queue_state *leaf)
{
    if (!leaf->backfill.all)
        return;
    leaf->wake.retry_candidates = true;
    if (leaf->wake.candidates)
        return;
    leaf->wake.candidates = true;
    leaf->wake.next_candidates = s->wake.candidates;
    s->wake.candidates = leaf;
}

void gang__wake_all_candidates(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        gang__wake_candidates(s, s->qs[i]);
}

/* A gang that is starting lies in the timeline already: as its plan, or as it was tried. */
void gang__wake_holding(gang_sched *s, struct gang__gang *g)
{
    if (!s->calendar ||
        (g->alloc == GANG_ID_NONE && !g->stop.first && !g->calendar.occupies && !g->wake.at))
        return;
    if (g == s->wake.starting && g->alloc == s->wake.started)
        return;
    if (g->calendar.occupies || g->wake.at)
        s->wake.plans |= GANG__PLANS_EARLIER;
    if (g->wake.at)
        return;
    g->wake.next = s->wake.holdings;
    g->wake.at = &s->wake.holdings;
    if (s->wake.holdings)
        s->wake.holdings->wake.at = &g->wake.next;
    s->wake.holdings = g;
}

void gang__wake_forget_holding(struct gang__gang *g)
{
    if (!g->wake.at)
        return;
    *g->wake.at = g->wake.next;
    if (g->wake.next)
        g->wake.next->wake.at = g->wake.at;
    g->wake.at = NULL;
}
