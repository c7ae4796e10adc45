/* SPDX-License-Identifier: Apache-2.0 */
/* When may the gangs of a job wait in an order, and in which state is the job? How does a job stop
 * and end? */
#include <string.h>

#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- waiting --------------------------------------------------------------------------------- */

static bool may_start(const gang_sched *s, const struct gang__job *job, int32_t *why)
{
    *why = job->held                                       ? GANG_WAIT_HOLD
           : job->leaf->q->open_state == GANG_QUEUE_CLOSED ? GANG_WAIT_QUEUE
           : job->options->begin_ns > s->now_ns            ? GANG_WAIT_BEGIN
           : job->not_before_ns > s->now_ns                ? GANG_WAIT_BACK_OFF
           : !gang__reserve_may_try(s, job)                ? GANG_WAIT_RESERVATION
           : job->missing > 0                              ? GANG_WAIT_ANNOUNCED
                                                           : 0;
    return *why == 0;
}

static void set_demands(gang_sched *s, struct gang__gang *g, bool demands)
{
    if (g->demands == demands)
        return;
    bool lacks = gang__gang_lacks_all(g) > 0;
    if (demands && !g->preempt.stopped &&
        !g->sliced) /* in a row it demands more in its quanta only */
        g->preempt.demand_at = s->preempt.stops;
    g->preempt.stopped = g->preempt.stopped && !demands;
    if (lacks) {
        gang__usage_demand(s, g, demands);
        gang__wake_shares(s);
    }
    g->demands = demands;
    struct gang__user *user = g->job->leaf_user;
    if (!user)
        return;
    user->waiting += demands ? 1 : -1;
    if (user->waiting == 0)
        gang__order_rekey_user(s, g->job->leaf, user);
}

int64_t gang__lacks_now(const struct gang__gang *g, uint32_t group)
{
    bool again = g->job->loss == GANG_LOSS_REFILL && gang__role_of(g, group) == GANG_ROLE_MEMBER;
    return gang__gang_lacks(g, group) - (again ? g->stop.fenced[group] : 0);
}

/* Does the gang lack tasks that may be placed now? */
static bool lacks_any(const struct gang__gang *g)
{
    if (g->stop.fenced_tasks == 0)
        return gang__gang_lacks_all(g) > 0;
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++)
        if (gang__lacks_now(g, group) > 0)
            return true;
    return false;
}

/* Is the gang to wait in an order, to start or to grow? */
static bool waits(gang_sched *s, struct gang__gang *g, int *may)
{
    struct gang__job *job = g->job;
    int32_t why;
    *may = 1;
    if (g->over || g->stop.handover || g->stop.moving || job->ending)
        return false;
    if (g->alloc != GANG_ID_NONE) /* the gang grows, unless it is stopping */
        return may_start(s, job, &why) && lacks_any(g) &&
               (job->state == GANG_JOB_RUNNING || g->untold.start);
    if (g->stop.first) /* still stopping: cannot run twice */
        return false;
    *may = gang__dependencies(
        s, g); /* for held jobs, too: jobs that end are forgotten, with their result */
    return *may > 0 && may_start(s, job, &why);
}

bool gang__job_may_wait(gang_sched *s, struct gang__gang *g)
{
    int may;
    return waits(s, g, &may);
}

/* Victims stop for the gang, but the gang needs the handover no more. Either a dependency of the
 * gang does not hold any more, or its target was lowered and the group lacks no task. */
static bool handover_is_useless(const gang_sched *s, const struct gang__gang *g)
{
    int32_t group = g->stop.handover->grow_group;
    return group >= 0 ? gang__gang_lacks(g, (uint32_t)group) == 0 : gang__dependencies(s, g) <= 0;
}

/* Served time moves the job back in the order. No gang of the job may lie in the order while its
 * key changes. */
static void count_service(gang_sched *s, struct gang__job *job)
{
    bool ordered = job->leaf->q->order == GANG_ORDER_LEAST_SERVED;
    for (uint32_t i = 0; ordered && i < job->gang_count; i++)
        gang__order_leave(s, &job->gang[i]);
    job->attained = gang__add_sat(job->attained, job->served);
    job->served = 0;
}

/* If a job is held while its gang moves, the gang does not start at the new places. */
static void end_moves(gang_sched *s, struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].stop.moving) {
            gang__move_end(s, &job->gang[i]);
            gang__job_count(s, job);
            if (job->gang[i].alloc == GANG_ID_NONE)
                gang__job_state(s, job, GANG_REASON_NONE, "waits again");
        }
}

/* If a job is held, a time-sliced gang that waits for its first quantum does not start either. */
static void end_grants(gang_sched *s, struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (!gang__slice_has_run(&job->gang[i]))
            gang__start_undo(s, &job->gang[i], job->not_before_ns);
}

/* Has a job with one gang all that it is to have? Most jobs have when they start. */
static bool is_complete(const struct gang__job *job)
{
    const struct gang__gang *g = &job->gang[0];
    return job->gang_count == 1 && g->alloc != GANG_ID_NONE && !job->counted_pending &&
           job->served == 0 && !job->reserve.limit_kept && !g->sliced && !g->stop.handover &&
           !g->stop.moving && g->stop.fenced_tasks == 0 && gang__gang_lacks_all(g) == 0;
}

/* The short way of gang__job_settle(): nothing of the job waits. Its timer is set when the host has
 * heard of its start; but budgets count up to the time limit from now on. */
static void settle_complete(gang_sched *s, struct gang__job *job)
{
    job->undone = job->undone && job->ending;
    job->wait_why = 0;
    job->ready_ns = -1;
    set_demands(s, &job->gang[0], false);
    gang__order_leave(s, &job->gang[0]);
    if (!job->gang[0].untold.start || job->leaf->q->budgeted)
        gang__timer_set(s, job);
}

void gang__job_settle(gang_sched *s, struct gang__job *job)
{
    bool never = false, some = false;
    if (job->state == GANG_JOB_ENDED)
        return;
    if (is_complete(job)) {
        settle_complete(s, job);
        return;
    }
    if (job->served > 0 && !s->original) /* a copy follows its original */
        count_service(s, job);
    job->undone = job->undone && job->ending;
    if (job->held)
        end_moves(s, job);
    if (job->reserve.limit_kept)
        gang__reserve_forget_end(s, job);
    if (job->held || job->leaf->q->open_state == GANG_QUEUE_CLOSED)
        end_grants(s, job);
    if (job->counted_pending)
        may_start(s, job, &job->wait_why);
    else
        job->wait_why = 0;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        int may = 1;
        int32_t why;
        if (g->stop.handover && (!may_start(s, job, &why) || handover_is_useless(s, g)))
            gang__handover_give_up(s, g->stop.handover);
        bool now = waits(s, g, &may);
        never = never || may < 0;
        if (may == 0 && job->counted_pending && !job->wait_why)
            job->wait_why = GANG_WAIT_AFTER;
        /* start_within_ns counts while nothing but announced tasks is missing */
        bool could = now || (may > 0 && job->wait_why == GANG_WAIT_ANNOUNCED);
        some = some || (could && g->alloc == GANG_ID_NONE);
        set_demands(s, g, now || g->stop.handover || g->stop.moving);
        if (!now)
            gang__order_leave(s, g);
        else if (!gang__prefer_wait_end(s, g) || !gang__partition_reset(s, g) ||
                 !gang__order_enter(s, g))
            s->no_memory = job->undone = true;
    }
    if (some && job->counted_pending && job->ready_ns < 0)
        job->ready_ns = s->now_ns;
    else if (!some)
        job->ready_ns = -1;
    if (never)
        gang__job_stop(s, job, GANG_REASON_END, GANG_END_CANCELLED);
    else
        gang__timer_set(s, job);
}

/* ---- states ---------------------------------------------------------------------------------- */

void gang__job_end(gang_sched *s, struct gang__job *job, int32_t end, const char *text)
{
    if (job->state == GANG_JOB_ENDED)
        return;
    job->ending = true;
    job->end = end; /* stops that finish now find the job ended */
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        gang__order_free_class(s, g);
        gang__bypass_end(g);
        if (g->stop.handover)
            gang__handover_give_up(s, g->stop.handover);
        gang__move_end(s, g);
        gang__stop_tasks_gone(s, g, NULL, 0);
        set_demands(s, g, false);
        gang_alloc_id alloc = g->alloc;
        if (alloc != GANG_ID_NONE) {
            gang__gang_clear(s, g);
            gang__give_back_unheld(s, alloc);
            gang__wake_capacity_any(s);
        }
        g->over = true;
    }
    gang__job_state(s, job, GANG_REASON_END, text);
    gang__timer_clear(s, job);
    gang__job_count(s, job);
    gang__order_unblock_queues(s, job->leaf);
    for (struct gang__queue_state *q = job->leaf; q; q = q->parent)
        q->jobs--;
    job->leaf->idle_since_ns = job->leaf->jobs == 0 ? s->now_ns : INT64_MAX;
    gang__wake_shares(s);
    gang__wake_event(s);
    s->info.ended++;
    gang__stats_ended(job->leaf, end);
    job->next = s->ended;
    s->ended = job;
    gang__reserve_leave(s, job);
    gang__job_wake_waiters(s, job);
}

/* No gang of the job runs or stops any more: the job ends, or waits again. */
static void all_stopped(gang_sched *s, struct gang__job *job)
{
    static const char *const text[] = {"",
                                       "succeeded",
                                       "failed",
                                       "cancelled",
                                       "preempted",
                                       "timed out",
                                       "not started in time",
                                       "refused",
                                       "cannot end by its deadline any more"};
    if (job->end_wanted != GANG_END_NONE) {
        gang__job_end(s, job, job->end_wanted, text[job->end_wanted]);
        return;
    }
    for (uint32_t i = 0; job->ending && i < job->gang_count; i++)
        gang__places_forget(s, &job->gang[i]); /* a job that stopped as a whole begins anew */
    job->ending = false;
    job->extended_ns = 0; /* the extension was for that run */
    job->expected_ns = job->predicted_ns;
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (!job->gang[i].places)
            gang__reports_reset(s, &job->gang[i]);
    gang__job_count(s, job);
    gang__job_state(s, job, GANG_REASON_NONE, "waits again");
    gang__job_settle(s, job);
}

static bool is_idle(const struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].alloc != GANG_ID_NONE || job->gang[i].stop.first)
            return false;
    return true;
}

void gang__job_stop(gang_sched *s, struct gang__job *job, int32_t reason, int32_t end)
{
    if (job->state == GANG_JOB_ENDED)
        return;
    if (job->end_wanted == GANG_END_NONE)
        job->end_wanted = end;
    job->ending = true;
    job->undone = false;
    job->stop_reason = reason;
    for (uint32_t i = 0; i < job->gang_count && job->state != GANG_JOB_ENDED; i++) {
        struct gang__gang *g = &job->gang[i];
        gang__order_leave(s, g);
        gang__move_end(s, g); /* otherwise it would start at its new places */
        set_demands(s, g, false);
        if (g->stop.handover)
            gang__handover_give_up(s, g->stop.handover);
        if (g->alloc != GANG_ID_NONE && gang__stop_tasks(s, g, NULL, 0, reason, end) == GANG_ENOMEM)
            s->no_memory = job->undone = true;
    }
    if (job->state == GANG_JOB_ENDED)
        return;
    if (is_idle(job)) {
        all_stopped(s, job);
        return;
    }
    gang__job_state(s, job, reason, "stopping"); /* also if all stops began earlier */
    gang__timer_set(s, job);
}

/* ---- draining -------------------------------------------------------------------------------- */

/* Does a gang run that was not asked to stop? */
static bool runs_still(const struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].alloc != GANG_ID_NONE)
            return true;
    return false;
}

/* Some gangs of the job, or some of their tasks, have stopped. */
static void continue_job(gang_sched *s, struct gang__job *job)
{
    if (job->end != GANG_END_NONE)
        return;
    if (job->ending && !job->undone && runs_still(job)) { /* the host did not know another gang */
        gang__job_stop(s, job, job->stop_reason, job->end_wanted);
        return;
    }
    if (job->ending && !is_idle(job)) { /* earlier stops may not be done */
        gang__job_state(s, job, job->stop_reason, "stopping");
        return;
    }
    /* a fence, or tasks beyond the target, may have been the last that a gang had */
    if (!job->ending && gang__gangs_close(s, job))
        return;
    if (job->ending || is_idle(job)) {
        all_stopped(s, job);
        return;
    }
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        if (g->alloc == GANG_ID_NONE && !g->stop.first && !g->places)
            gang__reports_reset(s, g);
    }
    gang__job_state(s, job, GANG_REASON_NONE, "");
    gang__job_settle(s, job);
}

void gang__jobs_drain_all(gang_sched *s)
{
    struct gang__job *job;
    uint32_t causes;
    while (s->running && (job = gang__wake_next_job(s, &causes)) != NULL) {
        if (job->state == GANG_JOB_ENDED)
            continue;
        if (causes & GANG__WAKE_STATE)
            gang__job_state(s, job, GANG_REASON_NONE, "waits again");
        if (causes & GANG__WAKE_STOPPED)
            continue_job(s, job);
        if (causes & GANG__WAKE_SETTLE)
            gang__job_settle(s, job);
        else if (causes & GANG__WAKE_TIMER)
            gang__timer_set(s, job);
    }
}
