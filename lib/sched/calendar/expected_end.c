/* SPDX-License-Identifier: Apache-2.0 */
/* How long a gang runs, and when its allocation comes free. */
#include "sched/calendar/calendar_in.h"
#include "sched/record/state.h"

/* From when on its time counts, for a gang that starts at `start_ns`. */
static int64_t counts_from(const gang_sched *s, const struct gang__gang *g, int64_t start_ns)
{
    if (g->job->state == GANG_JOB_RUNNING || (g->sliced && gang__slice_has_run(g)))
        return gang__time_limit_from(s, g->job);
    return g->sliced ? s->now_ns : start_ns;
}

/* The end of a gang that has its nodes alone; if it shares them in time, it waits in between. */
static int64_t end_with_waits(const gang_sched *s, const struct gang__gang *g, int64_t end_ns)
{
    if (end_ns == INT64_MAX || !(g->sliced || s->queues->slices))
        return end_ns;
    int64_t left_ns = gang__max(end_ns - s->now_ns, 0);
    int64_t lasts_ns = s->source[GANG__SOURCE_SLICE]->lasts(s, g, left_ns);
    if (lasts_ns < 0)
        return end_ns;
    return g->job->options->deadline_ns > 0 ? gang__min(lasts_ns, g->job->options->deadline_ns)
                                            : lasts_ns;
}

/* When a gang that starts at `start_ns` has stopped: its expected end includes its grace. With
 * reservations the latest end counts, so that a wrong prediction cannot delay them. */
static int64_t gone_at(const gang_sched *s, const struct gang__gang *g, int64_t start_ns)
{
    const struct gang__job *job = g->job;
    int64_t from = counts_from(s, g, start_ns);
    int64_t end = gang__calendar_by_limit(s) ? gang__time_limit_end(job, from)
                                             : gang__time_limit_expected(job, from);
    int64_t until = GANG__NEVER;
    if (job->time_limit_ns <= 0 && g->reserve.inside_of)
        until = s->source[GANG__SOURCE_RESERVE]->until(g);
    end = gang__add_sat(end_with_waits(s, g, end), job->leaf->q->grace_ns);
    return end < until ? end : until;
}

int64_t gang__calendar_estimate(const gang_sched *s, const struct gang__gang *g)
{
    int64_t end = gone_at(s, g, s->now_ns);
    if (end == INT64_MAX)
        return GANG__NEVER;
    if (g->reserve.inside_of && g->job->time_limit_ns <= 0 &&
        end - s->now_ns <= g->job->leaf->q->grace_ns)
        return GANG__NEVER; /* not even time to stop */
    return end > s->now_ns ? end - s->now_ns : 1;
}

int64_t gang__calendar_end_from(const gang_sched *s, const struct gang__gang *g, int64_t start_ns)
{
    return gone_at(s, g, start_ns);
}

int64_t gang__calendar_end(const gang_sched *s, const struct gang__gang *g)
{
    int64_t end = INT64_MIN;
    if (g->alloc != GANG_ID_NONE) {
        end = gone_at(s, g, g->started_ns);
    } else {
        for (const struct gang__stop *stop = g->stop.first; stop; stop = stop->next)
            end = gang__max(end, gang__max(stop->deadline_ns, stop->next_ns));
    }
    return end == INT64_MAX  ? GANG__NEVER
           : end > s->now_ns ? end
                             : gang__add_sat(s->now_ns, GANG__OVERRUN_NS);
}
