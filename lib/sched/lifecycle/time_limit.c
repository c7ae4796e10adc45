/* SPDX-License-Identifier: Apache-2.0 */
/* How long a job may run, and is expected to run: time limit, deadline, extension after an
 * overrun, prediction. */
#include "sched/backfill/backfill.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/wake/wake.h"

/* The latest start at which the whole time limit fits before the deadline. */
static int64_t latest_start(const struct gang__job *job)
{
    if (job->options->deadline_ns <= 0)
        return INT64_MAX;
    return job->time_limit_ns > 0 ? job->options->deadline_ns - job->time_limit_ns
                                  : job->options->deadline_ns - 1;
}

/* A time-sliced job waits for its next quantum: it has started already, and is suspended. */
static bool is_between_quanta(const struct gang__job *job)
{
    bool some = false;
    for (uint32_t i = 0; i < job->gang_count; i++)
        some =
            some || (gang__slice_is_suspended(&job->gang[i]) && gang__slice_has_run(&job->gang[i]));
    return some && job->state != GANG_JOB_RUNNING;
}

static bool waits_to_run(const struct gang__job *job)
{
    return job->state != GANG_JOB_RUNNING && !job->ending && /* also a preempted or moved job */
           !is_between_quanta(job);
}

int64_t gang__time_limit_next(const gang_sched *s, const struct gang__job *job)
{
    int64_t next = INT64_MAX;
    if (job->options->begin_ns > s->now_ns)
        next = job->options->begin_ns;
    if (job->state == GANG_JOB_RUNNING) {
        if (job->time_limit_ns > 0 || job->options->deadline_ns > 0)
            next = gang__min(next, gang__time_limit_end(job, gang__time_limit_from(s, job)));
        if (s->calendar && job->predicted_ns > 0)
            next = gang__min(next, gang__time_limit_expected(job, gang__time_limit_from(s, job)));
    } else if (job->options->deadline_ns > 0 && waits_to_run(job)) {
        next = gang__min(next, gang__add_sat(latest_start(job), 1));
    } else if (job->options->deadline_ns > 0 && !job->ending && is_between_quanta(job)) {
        next = gang__min(next, job->options->deadline_ns);
    }
    return next;
}

/* Does any gang wait for capacity? */
static bool some_gang_waits(const gang_sched *s)
{
    for (const struct gang__wait_class *class = s->order.blocked; class;
         class = class->next_blocked)
        if (!class->grower && gang__waits_for_capacity(class->why))
            return true;
    for (const struct gang__request_class *request_class = s->order.blocked_requests; request_class;
         request_class = request_class->next_blocked)
        if (request_class->groups)
            return true;
    return gang__candidates_any_kept(s);
}

/* How much longer the job may run, now that its time limit is over. */
static int64_t more_for(gang_sched *s, struct gang__job *job)
{
    const struct gang__queue *q = job->leaf->q;
    if (q->budget_safe) /* it was promised no more */
        return 0;
    if (q->overrun == GANG_OVERRUN_EXTEND)
        return some_gang_waits(s) ? 0 : q->extend_ns;
    if (q->overrun != GANG_OVERRUN_ASK || !s->ops.overrun)
        return 0;
    struct gang_event e =
        gang__event_of(s, &job->gang[0], GANG_REASON_TIMEOUT, "ran for its time limit");
    return s->ops.overrun(&e, s->user);
}

/* The job runs longer than the planned starts assume: the calendar is updated. */
static void lasts_longer(gang_sched *s, struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        gang__wake_holding(s, &job->gang[i]);
    gang__wake_calendar(s);
}

/* The time limit is over: the job gets an extension, or stops. */
static void overrun(gang_sched *s, struct gang__job *job)
{
    int64_t more = job->options->deadline_ns > 0 && s->now_ns >= job->options->deadline_ns
                       ? 0
                       : more_for(s, job);
    if (more <= 0 || gang__reserve_is_reserved_until(s, job, gang__add_sat(s->now_ns, more))) {
        gang__job_stop(s, job, GANG_REASON_TIMEOUT, GANG_END_TIMEOUT);
        return;
    }
    int64_t over = s->now_ns - gang__add_sat(gang__time_limit_from(s, job), job->time_limit_ns);
    job->extended_ns = gang__add_sat(over, more);
    lasts_longer(s, job);
}

/* The job runs longer than expected: double the expected time until it lies ahead. */
static void expect_more(gang_sched *s, struct gang__job *job)
{
    while (gang__add_sat(gang__time_limit_from(s, job), job->expected_ns) <= s->now_ns)
        job->expected_ns = gang__add_sat(job->expected_ns, job->expected_ns);
    lasts_longer(s, job);
}

void gang__time_limit_due(gang_sched *s, struct gang__job *job)
{
    if (job->state == GANG_JOB_RUNNING) {
        if (s->now_ns >= gang__time_limit_end(job, gang__time_limit_from(s, job)))
            overrun(s, job);
        if (job->expected_ns > 0 &&
            s->now_ns >= gang__time_limit_expected(job, gang__time_limit_from(s, job)))
            expect_more(s, job);
    } else if (s->now_ns > latest_start(job) && waits_to_run(job)) {
        gang__job_stop(s, job, GANG_REASON_END, GANG_END_DEADLINE);
    } else if (job->options->deadline_ns > 0 && s->now_ns >= job->options->deadline_ns &&
               !job->ending && is_between_quanta(job)) {
        gang__job_stop(s, job, GANG_REASON_TIMEOUT, GANG_END_TIMEOUT);
    }
}

void gang__time_limit_predict(gang_sched *s, struct gang__job *job)
{
    if (!s->ops.predict)
        return;
    struct gang_event e =
        gang__event_of(s, &job->gang[0], GANG_REASON_NONE, "how long will it run");
    int64_t ns = s->ops.predict(&e, s->user);
    job->predicted_ns = job->expected_ns = ns > 0 ? ns : 0;
}

void gang__time_limit_begin(gang_sched *s, struct gang__job *job)
{
    job->started_ns = s->now_ns;
    job->extended_ns = 0;
    job->expected_ns = job->predicted_ns;
}
