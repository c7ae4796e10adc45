/* SPDX-License-Identifier: Apache-2.0 */
/* A gang has got an allocation, or more tasks: usage and orders count it, and the host starts it.
 * What happens when the host refuses?
 *
 * A start     Nothing of the grant stays (gang__start_undo()): the tasks leave usage and the orders
 *             of victims, and the allocation is released. The job waits until `refused_ns` have
 *             passed (job->not_before_ns, a timer), then its gang waits in its order like before.
 *             The free capacity wakes other gangs in the same run.
 * To resume   The same. The places stay noted, so the gang resumes there later.
 * More tasks  Only these tasks are given back, and the job waits likewise before the next attempt.
 *             The gang runs on with the tasks that it had.
 * A handover  Its victims have stopped: the places are free for all (handover_finish.c).
 *
 * A start that limits, capacity or the calendar refuse comes to no grant: cycle/schedule_one.c.
 *
 * The host hears of it when the run has decided: of starts, then of tasks that were added, of all
 * that a gang got in one call. What the run takes back before that, for a gang that is entitled to
 * it, the host does not hear of (record/untold.h). */
#include "sched/grant/grant.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* The usage of its user changed. */
static void note_user(gang_sched *s, const struct gang__job *job)
{
    if (job->leaf_user)
        gang__order_rekey_user(s, job->leaf, job->leaf_user);
}

void gang__grant_start(gang_sched *s, struct gang__gang *g, gang_alloc_id alloc, int32_t reason,
                       bool moved)
{
    struct gang__job *job = g->job;
    bool as_before = g->places || moved; /* with tasks above its minimum */
    gang__order_leave(s, g);
    if (g->sliced)
        gang__bypass_end(g);
    else
        gang__bypass_set_aside(g);
    g->untold.places = g->places;
    g->places = NULL;
    g->alloc = alloc;
    g->started_ns = s->now_ns;
    g->served_ns = 0;
    if (reason != GANG_REASON_NONE) /* the calendar was not asked */
        gang__wake_calendar(s);
    if (g->request_class->exact && !as_before) {
        gang__usage_start(s, g, g->request_class->gang_tasks);
    } else {
        gang__usage_out(s, g);
        gang__gang_count(s, g);
        gang__usage_in(s, g);
    }
    if (!gang__gang_is_steady(g))
        gang__wake_shares(s);
    gang__victims_enter(s, g);
    gang__job_count(s, job);
    note_user(s, job);
    gang__wake_preemption(s);
    if (!g->sliced)
        gang__untold_start(s, g, reason);
    job->ready_ns = -1;
    gang__bypass_count(s, g);
    gang__job_settle(s, job);
}

static bool has_begun(const struct gang__job *job)
{
    bool begun = false;
    for (uint32_t i = 0; i < job->gang_count; i++)
        begun = begun || job->gang[i].begun;
    return begun;
}

/* The host has heard of a start, or of more tasks. */
static void note_told(const gang_sched *s, struct gang__gang *g)
{
    g->preempt.told_in = s->runs;
    g->preempt.told_at = s->external_events + 1;
}

static void note_refusal(gang_sched *s, const struct gang__job *job, const char *fmt)
{
    gang__stats_add(job->leaf, GANG__STAT_REFUSALS, 1);
    gang__log_job(s, GANG_LOG_REFUSED, job, fmt, (unsigned long long)job->id);
}

/* Tasks that were added, as far as the gang still has them, are counted by group. */
struct still_there {
    struct gang__gang_untold *untold;
    struct gang__ascending tasks;
    size_t kept;
    int64_t *by_group;
};

/* Tasks come in the order of their numbers, so one pass over both lists finds them. */
static int32_t keep_task(const struct gang_task *task, void *user)
{
    struct still_there *t = user;
    if (gang__ascending_has(&t->tasks, task->task)) {
        t->untold->tasks[t->kept++] = task->task;
        t->tasks.next++;
        t->by_group[task->group]++;
    }
    return 0;
}

static void find_untold(gang_sched *s, struct gang__gang *g)
{
    struct gang__gang_untold *u = &g->untold;
    struct still_there t = {u, {u->tasks, u->count, 0}, 0, s->by_group};
    memset(s->by_group, 0, gang__gang_request(g)->group_count * sizeof(*s->by_group));
    qsort(u->tasks, u->count, sizeof(*u->tasks), gang__by_number);
    (void)!gang__alloc_each(s->cluster, g->alloc, keep_task, &t);
    u->count = t.kept;
}

/* Ask the host to start or resume the gang. It sees the tasks that the gang starts with: those that
 * were added since come with op grow, but with start_full. */
static int32_t ask_to_start(gang_sched *s, struct gang__gang *g, int32_t reason, bool resumes)
{
    struct gang_event e = gang__event_of(s, g, reason, resumes ? "resumed" : "started");
    int32_t (*op)(const struct gang_event *, void *) = resumes ? s->ops.resume : s->ops.start;
    e.state = GANG_JOB_RUNNING;
    if (g->untold.count > 0) {
        find_untold(s, g);
        gang__untold_hide(s, g, true);
    }
    int32_t answer = op ? op(&e, s->user) : GANG_OK;
    if (g->untold.count > 0)
        gang__untold_hide(s, g, false);
    return answer;
}

bool gang__grant_report(gang_sched *s, struct gang__gang *g, int32_t reason)
{
    struct gang__job *job = g->job;
    bool resumes = g->untold.places != NULL;
    gang__untold_start_told(s, g);
    if (ask_to_start(s, g, reason, resumes) != GANG_OK) {
        note_refusal(s, job, "the host refused to start job %llu");
        gang__start_undo(s, g, gang__add_sat(s->now_ns, s->opts.refused_ns));
        return false;
    }
    gang__untold_places_free(s, g);
    gang__stats_started(s, g, resumes, !has_begun(job));
    note_told(s, g);
    g->begun = true;
    job->next_back_off_ns = job->options->back_off_ns;
    job->ready_ns = -1;
    if (job->state != GANG_JOB_RUNNING) { /* no other gang of the job runs yet */
        gang__time_limit_begin(s, job);
        job->paused_ns = 0;
        job->paused = false;
    }
    g->started_ns = s->now_ns;
    g->served_ns = 0;
    s->info.started++;
    s->info.tasks_granted += g->tasks - (int64_t)g->untold.count;
    if (g->preempt.took || job->leaf->q->min_runtime_ns > 0)
        gang__wake_preemption(s); /* it is spared no more; or from now on, so others may move */
    g->preempt.took = false;
    gang__reports_started(s, g);
    gang__job_state(s, job, reason, "started");
    gang__job_settle(s, job);
    gang__job_wake_waiters(s, job);
    if (resumes)
        gang__reports_trim(s, g);
    return true;
}

/* ---- more tasks ------------------------------------------------------------------------------ */

/* `by_group` tasks of each group come (sign 1) or go (-1). */
static void count_tasks(gang_sched *s, struct gang__gang *g, const int64_t *by_group, int64_t sign)
{
    gang__usage_out(s, g);
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++) {
        g->has[group] += sign * by_group[group];
        g->tasks += sign * by_group[group];
    }
    gang__usage_in(s, g);
    note_user(s, g->job);
}

void gang__grant_growth(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                        const int64_t *by_group, int32_t reason)
{
    gang__order_leave(s, g);
    count_tasks(s, g, by_group, 1);
    if (!gang__gang_is_steady(g))
        gang__wake_shares(s);
    g->preempt.grown_at = s->preempt.stops;
    gang__wake_preemption(s);
    /* The first groups have more tasks now, so fewer tasks of the other groups are protected.
     * Gangs may wait for those. */
    if (gang__gang_request(g)->group_count > 1 && g->job->preemptible == GANG_SEMI_PREEMPTIBLE)
        gang__order_unblock_queues(s, g->job->leaf);
    gang__untold_add(s, g, tasks, count, reason);
    gang__job_settle(s, g->job);
}

/* The host refused the tasks: they are given back. */
static void undo_growth(gang_sched *s, struct gang__gang *g)
{
    gang__order_leave(s, g);
    count_tasks(s, g, s->by_group, -1);
    gang__give_back_or_defer(s, g, g->alloc, g->untold.tasks, g->untold.count);
    gang__untold_forget(s, g);
    note_refusal(s, g->job, "the host refused more tasks of job %llu");
    g->job->not_before_ns = gang__add_sat(s->now_ns, s->opts.refused_ns);
    gang__wake_capacity_any(s);
    gang__order_unblock_queues(s, g->job->leaf);
    gang__reports_growth_refused(s, g);
    gang__job_settle(s, g->job);
}

/* False: the host refused the tasks. */
static bool report_growth(gang_sched *s, struct gang__gang *g)
{
    find_untold(s, g);
    struct gang_event e = gang__event_of(s, g, g->untold.reason, "more tasks");
    e.tasks = g->untold.tasks;
    e.task_count = g->untold.count;
    if (e.task_count > 0 && s->ops.grow && s->ops.grow(&e, s->user) != 0) {
        undo_growth(s, g);
        return false;
    }
    s->info.tasks_granted += (int64_t)e.task_count;
    gang__stats_add(g->job->leaf, GANG__STAT_TASKS_GRANTED, (int64_t)e.task_count);
    note_told(s, g);
    gang__untold_forget(s, g);
    gang__reports_note_minimum(s, g);
    gang__job_settle(s, g->job);
    return true;
}

/* A run starts thousands of gangs: prefetches the next one while the host hears of this one. */
static void fetch_next(const struct gang__gang *g)
{
    const struct gang__gang *next = g->untold.next;
    if (!next)
        return;
    for (size_t at = offsetof(struct gang__job, waiters); at < sizeof(struct gang__job); at += 64)
        __builtin_prefetch((const char *)next->job + at, 1);
    for (size_t at = 0; at < sizeof(*next); at += 64)
        __builtin_prefetch((const char *)next + at, 1);
}

static void report(gang_sched *s, struct gang__gang *g)
{
    fetch_next(g);
    bool took = g->untold.took;
    bool accepted =
        g->untold.start ? gang__grant_report(s, g, g->untold.start_reason) : report_growth(s, g);
    if (!accepted && took) /* others were stopped for it without use */
        g->preempt.handover_failed_at = s->external_events + 1;
    s->untold.refused = s->untold.refused || !accepted;
}

/* Of the list. False: none is left in it. */
static bool report_first(gang_sched *s, const struct gang__untold_list *list)
{
    if (list->first)
        report(s, list->first);
    return list->first != NULL;
}

bool gang__grant_report_start(gang_sched *s)
{
    return report_first(s, &s->untold.starts);
}

bool gang__grant_report_growth(gang_sched *s)
{
    return report_first(s, &s->untold.growth);
}

bool gang__grant_report_sliced(gang_sched *s)
{
    struct gang__gang *g = s->untold.growth.first;
    while (g && !g->sliced)
        g = g->untold.next;
    if (g)
        report(s, g);
    return g != NULL;
}
