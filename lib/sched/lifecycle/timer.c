/* SPDX-License-Identifier: Apache-2.0 */
/* Timers: each job has one, set to its earliest due time. */
#include <assert.h>

#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/reserve/reserve.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

static int64_t earliest(const gang_sched *s, const struct gang__job *job)
{
    int64_t due = INT64_MAX;
    if (job->state == GANG_JOB_ENDED)
        return due;
    if (job->undone && s->now_ns < INT64_MAX - 1) /* next run: memory is short */
        due = s->now_ns + 1;
    if (job->not_before_ns > s->now_ns)
        due = gang__min(due, job->not_before_ns);
    if (job->options->start_within_ns > 0 && job->ready_ns >= 0)
        due = gang__min(due, gang__add_sat(job->ready_ns, job->options->start_within_ns));
    if (job->state == GANG_JOB_RUNNING && !job->ending)
        due = gang__min(due, gang__reserve_stop_ns(job));
    due = gang__min(due, gang__time_limit_next(s, job));
    due = gang__min(due, gang__starve_next(job));
    due = gang__min(due, gang__prefer_wait_next(s, job));
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].calendar.plan && job->gang[i].calendar.planned_ns > s->now_ns)
            due = gang__min(due, job->gang[i].calendar.planned_ns);
    for (uint32_t i = 0; i < job->gang_count; i++)
        for (const struct gang__stop *stop = job->gang[i].stop.first; stop; stop = stop->next)
            due = stop->stopped ? due : gang__min(due, stop->next_ns);
    return gang__min(due, gang__reports_next(job));
}

/* Does nothing that the job does depend on time? This is so of most jobs that are taken in and
 * started: it saves them to look at all rules. */
static bool is_timeless(const struct gang__job *job)
{
    const struct gang__gang *g = &job->gang[0];
    const struct gang__queue *q = job->leaf->q;
    return job->gang_count == 1 && job->options == &gang__no_job_options && !job->undone &&
           job->not_before_ns == INT64_MIN && job->time_limit_ns <= 0 && job->predicted_ns <= 0 &&
           q->max_wait_ns <= 0 && (q->max_blocked_ns < 0 || !g->bypass.had_turn) &&
           !g->stop.first && !g->calendar.plan && !g->reserve.inside_of && !g->reports.below_min &&
           !g->reports.refill;
}

int64_t gang__timer_due(const gang_sched *s, const struct gang__job *job)
{
    bool never = is_timeless(job);
    assert(!never || earliest(s, job) == INT64_MAX);
    return never ? INT64_MAX : earliest(s, job);
}

int gang__timer_order(const struct gang__set_link *a, const struct gang__set_link *b,
                      const void *ctx)
{
    const struct gang__job *x = GANG__OF(struct gang__job, timer, a);
    const struct gang__job *y = GANG__OF(struct gang__job, timer, b);
    (void)ctx;
    if (x->due_ns != y->due_ns)
        return x->due_ns < y->due_ns ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

void gang__timer_clear(gang_sched *s, struct gang__job *job)
{
    if (job->due_ns != INT64_MAX)
        gang__set_remove(&s->timers, &job->timer);
    job->due_ns = INT64_MAX;
}

/* A timer that is due stays until it fires. For some events the due time is the only record. */
void gang__timer_set(gang_sched *s, struct gang__job *job)
{
    if (job->leaf->q->budgeted && gang__budget_retime(s, job))
        gang__order_unblock_queues(s, job->leaf);
    if (job->due_ns <= s->now_ns)
        return;
    int64_t due = gang__timer_due(s, job);
    if (due == job->due_ns)
        return;
    gang__timer_clear(s, job);
    job->due_ns = due;
    if (due != INT64_MAX)
        gang__set_insert(&s->timers, &job->timer);
}

/* The job could start for `start_within_ns`, and did not: it backs off, or ends. */
static void unstarted(gang_sched *s, struct gang__job *job)
{
    if (job->missing > 0 && gang__announced_times_out(s, job))
        return;
    if (job->options->back_off_ns <= 0) {
        gang__job_stop(s, job, GANG_REASON_END, GANG_END_UNSTARTED);
        return;
    }
    int64_t wait = job->next_back_off_ns > 0 ? job->next_back_off_ns : job->options->back_off_ns;
    job->next_back_off_ns = wait > INT64_MAX / 2 ? INT64_MAX : wait * 2;
    job->not_before_ns = gang__add_sat(s->now_ns, wait);
    job->ready_ns = -1;
}

static void do_due(gang_sched *s, struct gang__job *job)
{
    if (job->options->start_within_ns > 0 && job->ready_ns >= 0 &&
        s->now_ns >= gang__add_sat(job->ready_ns, job->options->start_within_ns))
        unstarted(s, job);
    gang__time_limit_due(s, job);
    if (job->state == GANG_JOB_RUNNING && !job->ending && s->now_ns >= gang__reserve_stop_ns(job))
        gang__job_stop(s, job, GANG_REASON_TIMEOUT, GANG_END_TIMEOUT);
    if (job->undone && job->ending)
        gang__job_stop(s, job, job->stop_reason, job->end_wanted);
    gang__stop_due(s, job);
    gang__calendar_note_due_plan(s, job);
    if (job->state != GANG_JOB_ENDED)
        gang__reports_due(s, job);
    if (job->state != GANG_JOB_ENDED)
        gang__job_settle(s, job);
    if (job->state != GANG_JOB_ENDED)
        gang__starve_due(s, job);
}

bool gang__timers_step(gang_sched *s)
{
    struct gang__set_link *n = gang__set_first(&s->timers);
    struct gang__job *job = n ? GANG__OF(struct gang__job, timer, n) : NULL;
    if (!job || job->due_ns > s->now_ns || !gang__run_step(s))
        return false;
    gang__timer_clear(s, job);
    do_due(s, job);
    gang__wake_job(s, job, GANG__WAKE_TIMER);
    return true;
}

int64_t gang__timers_next(const gang_sched *s)
{
    struct gang__set_link *n = gang__set_first(&s->timers);
    return n ? GANG__OF(struct gang__job, timer, n)->due_ns : INT64_MAX;
}
