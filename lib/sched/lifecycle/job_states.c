/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: their dependencies, when their gangs may wait in an order, their stops and their states. */
#include <string.h>

#include "place/request/request.h"
#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/heartbeat.h"
#include "sched/record/job_record.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- freeing --------------------------------------------------------------------------------- */

void gang__job_free(gang_sched *s, struct gang__job *job)
{
    while (job->waiters) {
        struct gang__waiter *w = job->waiters;
        job->waiters = w->next;
        gang__release(&s->mem, w);
    }
    gang__wake_forget_job(s, job);
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        gang__calendar_forget(s, g);
        if (g->request_class)
            gang__request_class_unref(s, g->request_class);
        gang__request_text_unref(&s->mem, job->request_text[i]);
        gang__release(&s->mem, g->order.grow_class);
        gang__release(&s->mem, g->places);
    }
    gang__heartbeat_free(s, job);
    gang__release(&s->mem, job->failed_nodes);
    gang__release(&s->mem, job);
}

/* ---- dependencies ---------------------------------------------------------------------------- */

static bool has_started(const struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].begun)
            return true;
    return false;
}

/* 1: the condition holds; 0: not yet; -1: it never will. */
static int after_job(const gang_sched *s, const struct gang__after *after)
{
    const struct gang__job *job = gang__job_of(s, after->job);
    if (!job)
        return 1;
    if (job->state == GANG_JOB_ENDED)
        return after->when != GANG_AFTER_SUCCESS || job->end == GANG_END_SUCCESS ? 1 : -1;
    return after->when == GANG_AFTER_START && has_started(job);
}

static const struct gang__gang *gang_with(const struct gang__job *job, int32_t group, uint32_t *at)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        for (uint32_t g = 0; g < gang__gang_request(&job->gang[i])->group_count; g++)
            if ((job->gang[i].group_of ? job->gang[i].group_of[g] : (int32_t)g) == group) {
                *at = g;
                return &job->gang[i];
            }
    return NULL;
}

static bool has_group(const struct gang__gang *g, int32_t group)
{
    uint32_t at;
    return gang_with(g->job, group, &at) == g;
}

static int after_group(const struct gang__job *job, const struct gang_group_after *after)
{
    uint32_t group = 0;
    const struct gang__gang *g = gang_with(job, after->after, &group);
    int64_t count = gang__gang_request(g)->group[group].count;
    bool over = g->over || g->done[group] >= count; /* g->over: a lowered target was met */
    switch (after->when) {
    case GANG_AFTER_START:
        return over || (g->begun && g->has[group] + g->done[group] >= count);
    case GANG_AFTER_END:
        return over;
    default:
        return !over ? 0 : g->failed[group] == 0 ? 1 : -1;
    }
}

/* Like after_job(), for all dependencies of a gang. */
static int dependencies_of(const gang_sched *s, const struct gang__gang *g)
{
    const struct gang__job *job = g->job;
    int may = 1;
    for (size_t i = 0; i < job->after_count && may > 0; i++)
        may = after_job(s, &job->after[i]);
    for (size_t i = 0; i < job->group_after_count && may > 0; i++)
        if (has_group(g, job->group_after[i].group))
            may = after_group(job, &job->group_after[i]);
    return may;
}

/* The first job that this one waits for, if any; for explanations. */
gang_job_id gang__job_waits_for(const gang_sched *s, const struct gang__job *job)
{
    for (size_t i = 0; i < job->after_count; i++)
        if (after_job(s, &job->after[i]) <= 0)
            return job->after[i].job;
    return GANG_ID_NONE;
}

bool gang__job_register_waiter(gang_sched *s, struct gang__job *job)
{
    for (size_t i = 0; i < job->after_count; i++) {
        struct gang__job *first = gang__job_of(s, job->after[i].job);
        struct gang__waiter *w;
        if (!first || first == job || first->state == GANG_JOB_ENDED)
            continue;
        w = gang__zalloc(&s->mem, 1, sizeof(*w));
        if (!w)
            return false;
        w->job = job->id;
        w->next = first->waiters;
        first->waiters = w;
    }
    return true;
}

void gang__job_wake_waiters(gang_sched *s, struct gang__job *job)
{
    for (struct gang__waiter *w = job->waiters; w; w = w->next) {
        struct gang__job *waiting = gang__job_of(s, w->job);
        if (waiting && waiting->state != GANG_JOB_ENDED)
            gang__job_settle(s, waiting);
    }
}

/* ---- where its gangs belong ------------------------------------------------------------------ */

static bool may_start(const gang_sched *s, const struct gang__job *job, int32_t *why)
{
    *why = job->held                                       ? GANG_WAIT_HOLD
           : job->leaf->q->open_state == GANG_QUEUE_CLOSED ? GANG_WAIT_QUEUE
           : job->begin_ns > s->now_ns                     ? GANG_WAIT_BEGIN
           : job->not_before_ns > s->now_ns                ? GANG_WAIT_BACK_OFF
           : !gang__reserve_may_try(s, job)                ? GANG_WAIT_RESERVATION
                                                           : 0;
    return *why == 0;
}

static void set_demands(gang_sched *s, struct gang__gang *g, bool wanted)
{
    if (g->demands == wanted)
        return;
    bool lacks = gang__gang_lacks_all(g) > 0;
    if (lacks)
        gang__usage_out(s, g);
    g->demands = wanted;
    if (lacks)
        gang__usage_in(s, g);
    s->wake.shares = s->wake.shares || lacks;
    struct gang__user *user = g->job->leaf_user;
    if (!user)
        return;
    user->waiting += wanted ? 1 : -1;
    if (user->waiting == 0)
        gang__order_rekey_user(s, g->job->leaf, user);
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
        return may_start(s, job, &why) && gang__gang_lacks_all(g) > 0 &&
               job->state == GANG_JOB_RUNNING;
    if (g->stop.first) /* still stopping: cannot run twice */
        return false;
    *may = dependencies_of(
        s, g); /* for held jobs, too: jobs that end are forgotten, with their result */
    return *may > 0 && may_start(s, job, &why);
}

bool gang__job_may_wait(gang_sched *s, struct gang__gang *g)
{
    int may;
    return waits(s, g, &may);
}

/* Victims stop for the gang, but its handover has no use any more. Either a dependency of the
 * gang does not hold any more, or its target was lowered and the group lacks no task. */
static bool handover_is_useless(const gang_sched *s, const struct gang__gang *g)
{
    int32_t group = g->stop.handover->grow_group;
    return group >= 0 ? gang__gang_lacks(g, (uint32_t)group) == 0 : dependencies_of(s, g) <= 0;
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

void gang__job_settle(gang_sched *s, struct gang__job *job)
{
    bool never = false, some = false;
    if (job->state == GANG_JOB_ENDED)
        return;
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
        some = some || (now && g->alloc == GANG_ID_NONE);
        set_demands(s, g, now || g->stop.handover || g->stop.moving);
        if (!now)
            gang__order_leave(s, g);
        else if (!gang__order_enter(s, g))
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
    s->wake.shares = true;
    s->external_events++;
    s->info.ended++;
    job->next = s->ended;
    s->ended = job;
    gang__reserve_leave(s, job);
    gang__job_wake_waiters(s, job);
}

/* Handovers and deferred releases may still keep what gangs of the job held. */
static void forget_in_handovers(gang_sched *s, const struct gang__job *job)
{
    for (struct gang__handover *handover = s->stop.handovers; handover; handover = handover->next)
        for (struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover)
            if (stop->gang && stop->gang->job == job)
                stop->gang = NULL;
    for (struct gang__stop *stop = s->stop.deferred; stop; stop = stop->next_of_handover)
        if (stop->gang && stop->gang->job == job)
            stop->gang = NULL;
}

void gang__jobs_forget(gang_sched *s)
{
    while (s->ended) {
        struct gang__job *job = s->ended;
        s->ended = job->next;
        forget_in_handovers(s, job);
        gang__hash_remove(&s->jobs, &job->link);
        gang__set_remove(&s->by_id, &job->by_id);
        s->job_count--;
        gang__job_free(s, job);
    }
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

/* Some gangs of the job, or some of their tasks, have stopped. */
static void continue_job(gang_sched *s, struct gang__job *job)
{
    if (job->end != GANG_END_NONE)
        return;
    if (job->ending && !is_idle(job)) { /* earlier stops may not be done */
        gang__job_state(s, job, job->stop_reason, "stopping");
        return;
    }
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

/* ---- queries --------------------------------------------------------------------------------- */

gang_result gang_job_get(gang_sched *sched, gang_job_id id, struct gang_job_info *info)
{
    struct gang_job_info out;
    if (!sched || !info)
        return GANG_EINVAL;
    const struct gang__job *job = gang__job_of(sched, id);
    if (!job)
        return GANG_ESTALE;
    memset(&out, 0, sizeof(out));
    out.size = info->size;
    out.id = id;
    out.queue = job->leaf->q->id;
    out.cookie = job->cookie;
    out.alloc = gang__gang_holds(&job->gang[0]);
    out.state = job->state;
    out.end = job->end;
    out.held = job->held;
    out.preemptible = job->preemptible;
    out.priority = job->priority;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        out.tasks += job->gang[i].tasks;
        out.min += gang__gang_request(&job->gang[i])->min;
        out.count += job->gang[i].target;
    }
    for (uint32_t i = 0; i < job->gang_count && !out.slice_row; i++)
        out.slice_row = (int32_t)gang__slice_row(&job->gang[i]);
    out.suspended_ns = gang__job_paused(sched, job);
    out.submitted_ns = job->submitted_ns;
    out.started_ns = job->started_ns;
    out.restarts = job->restarts;
    out.preemptions = job->preemptions;
    out.name = job->name;
    out.user = job->user;
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].calendar.plan &&
            (!out.planned_ns || job->gang[i].calendar.planned_ns < out.planned_ns))
            out.planned_ns = job->gang[i].calendar.planned_ns;
    int64_t ends = job->state == GANG_JOB_RUNNING
                       ? gang__time_limit_end(job, gang__time_limit_from(sched, job))
                       : INT64_MAX;
    out.ends_ns = ends == INT64_MAX ? 0 : ends;
    out.predicted_ns = job->predicted_ns;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__gang *g = &job->gang[i];
        out.starved = out.starved || g->bypass.starved;
        out.bypassed = g->bypass.bypassed > out.bypassed ? g->bypass.bypassed : out.bypassed;
    }
    return gang__struct_out(info, info->size, offsetof(struct gang_job_info, user), &out,
                            sizeof(out));
}

gang_alloc_id gang_job_alloc(gang_sched *sched, gang_job_id id, int32_t part)
{
    const struct gang__job *job = sched ? gang__job_of(sched, id) : NULL;
    return job && part >= 0 && (uint32_t)part < job->gang_count ? gang__gang_holds(&job->gang[part])
                                                                : GANG_ID_NONE;
}

static int before_id(const struct gang__set_link *n, const void *key)
{
    return GANG__OF(struct gang__job, by_id, n)->id <= *(const gang_job_id *)key ? -1 : 1;
}

gang_job_id gang_job_next(gang_sched *sched, gang_job_id id)
{
    struct gang__set_link *n = sched ? gang__set_lower_bound(&sched->by_id, before_id, &id) : NULL;
    return n ? GANG__OF(struct gang__job, by_id, n)->id : GANG_ID_NONE;
}
