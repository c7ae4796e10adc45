/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the cycle: messages and timers first; then gangs in their order; then preemption
 * for those that are entitled to more; all over again until nothing is left to do.
 *
 * A run consists of stages, a stage of steps. Each step notes what it changes (sched/wake), and
 * run_stage() drains the noted jobs after it. A run is cut short after max_steps; the next run goes
 * on where it stopped. */
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/cycle/cycle_in.h"
#include "sched/foreign/foreign.h"
#include "sched/grant/grant.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/preempt/preempt.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- stages ---------------------------------------------------------------------------------- */

/* One step of a stage. True: another one may follow. */
typedef bool step_fn(gang_sched *s);

/* All steps of a stage. Only here noted jobs are drained: after each step, so that no step meets a
 * half-changed order. */
static inline void run_stage(gang_sched *s, step_fn *step)
{
    bool more;
    do {
        more = step(s);
        gang__jobs_drain(s);
    } while (more);
}

/* What the last run blocked for itself alone may be tried again. */
static void unblock_deferred(gang_sched *s)
{
    struct gang__wait_class *next;
    if (!s->wake.retry)
        return;
    s->wake.retry = false;
    s->wake.slices = s->slice.matrices != NULL;
    for (struct gang__wait_class *wait_class = s->order.blocked; wait_class; wait_class = next) {
        next = wait_class->next_blocked;
        if (wait_class->why == GANG_WAIT_NOT_TRIED)
            gang__order_unblock(s, wait_class);
    }
    gang__wake_preemption(s);
}

/* A gang has run for its minimum run time, or was told of in the last run: it may be preempted from
 * now on. */
static void note_min_runtime(gang_sched *s)
{
    bool due = s->preempt.min_runtime_due_ns <= s->now_ns;
    if (due)
        s->preempt.min_runtime_due_ns = INT64_MAX;
    if (due || s->preempt.look_again)
        gang__wake_preemption(s);
    s->preempt.look_again = false;
}

/* What the last run put off, and what became due meanwhile. */
static bool take_up_rest(gang_sched *s)
{
    unblock_deferred(s);
    gang__deferred_releases_run(s);
    gang__foreign_look(s);
    gang__gpu_memory_refresh(s);
    note_min_runtime(s);
    return false;
}

/* Messages that arrive during the stage wait for the next one. */
static void take_messages_in(gang_sched *s)
{
    if (!gang__inbox_waits(s))
        return;
    gang__inbox_take_out(s);
    run_stage(s, gang__inbox_step);
}

/* When all restored jobs are there. */
static bool go_on_with_past_use(gang_sched *s)
{
    if (!s->intake.backlog)
        gang__past_use_go_on(s);
    return false;
}

/* Before their grace may end. */
static bool restore_handovers(gang_sched *s)
{
    gang__handovers_restore(s);
    return false;
}

/* After the messages: a task that ended before its node went did not fail. */
static bool look_at_nodes(gang_sched *s)
{
    if (!gang__nodes_look(s))
        s->no_memory = true;
    return false;
}

/* All that can be finished. What this makes possible in turn is finished in the next round. */
static bool finish_handovers(gang_sched *s)
{
    gang__handovers_finish(s);
    return false;
}

/* The calendar may give plans up, or move gangs to other classes. */
static bool refresh_plans(gang_sched *s)
{
    gang__backfill_refresh(s);
    return false;
}

/* The gang that is first in order. */
static bool schedule_next(gang_sched *s)
{
    gang__preempt_note_tried(s);
    if (s->wake.shares)
        gang__order_refresh(s);
    if (s->wake.capacity) /* what other threads free is seen when the next round begins */
        gang__order_unblock_for_capacity(s);
    if (s->bypass.planned)
        gang__bypass_release_planned(s);
    struct gang__gang *g = gang__order_next(s);
    if (!g || !gang__run_step(s))
        return false;
    s->info.jobs_tried++;
    struct gang__wait_class *wait_class = g->order.wait_class;
    if (!gang__schedule_one(s, g))
        gang__preempt_in_order(s, g, wait_class);
    return true;
}

static bool rotate_slices(gang_sched *s)
{
    gang__slice_run(s);
    return false;
}

/* ---- the cycle ------------------------------------------------------------------------------- */

static bool steps_left(const gang_sched *s)
{
    return s->max_steps == 0 || s->steps < s->max_steps;
}

static bool work_left(gang_sched *s)
{
    return gang__order_next(s) || gang__calendar_has_work(s) || gang__slice_has_work(s);
}

/* Until nothing is left to decide. The host does not hear of gangs that are granted something
 * here, as others may turn out to be entitled to it. */
static void decide(gang_sched *s)
{
    do {
        if (s->calendar || s->reserve.all || gang__calendar_on(s))
            run_stage(s, refresh_plans);
        gang__order_unblock_for_capacity(s);
        gang__order_refresh(s);
        if (s->order.multifactor.count > 0)
            run_stage(s, gang__multifactor_step);
        run_stage(s, schedule_next);
        if (s->slice.matrices || s->wake.slices) {
            /* the host is to know what it is asked to suspend */
            run_stage(s, gang__grant_report_sliced);
            run_stage(s, rotate_slices);
        }
        take_messages_in(s); /* callbacks may have left some */
        if (s->nodes.drain_count > 0)
            run_stage(s, gang__nodes_step);
        if (s->stop.handovers)
            run_stage(s, finish_handovers);
    } while (steps_left(s) && (gang__entitled_unblock(s) || work_left(s)));
}

/* The host hears of what was granted: of starts, then of tasks that were added. If it refuses
 * some, leaves a message, or others wait for a job that starts now, there is more to decide. What
 * was told stays as it is then. */
static void tell(gang_sched *s)
{
    while (s->untold.starts.first || s->untold.growth.first) {
        s->untold.refused = false;
        if (s->untold.starts.first)
            run_stage(s, gang__grant_report_start);
        else
            run_stage(s, gang__grant_report_growth);
        if (steps_left(s) && (s->untold.refused || gang__inbox_waits(s) ||
                              gang__entitled_unblock(s) || work_left(s)))
            decide(s);
    }
}

static void cycle(gang_sched *s)
{
    run_stage(s, take_up_rest);
    take_messages_in(s);
    if (s->usage.restored)
        run_stage(s, go_on_with_past_use);
    if (s->stop.restored)
        run_stage(s, restore_handovers);
    run_stage(s, look_at_nodes);
    if (s->nodes.drain_count > 0)
        run_stage(s, gang__nodes_step);
    run_stage(s, gang__timers_step);
    if (s->budget_timers.count > 0)
        run_stage(s, gang__budgets_step);
    if (s->stop.handovers)
        run_stage(s, finish_handovers);
    gang__queues_remove_idle(s);
    /* Each run begins with the shares of what is used and demanded now, so that a question asked
     * before it changes nothing. Entitlement depends on them. */
    if (s->wake.share_dims)
        gang__wake_shares(s);
    if (s->wake.shares)
        gang__order_refresh(s);
    if (!s->unfinished) /* else the run goes on in the middle of a round, where max_steps cut it */
        (void)gang__entitled_unblock(s);
    decide(s);
    tell(s);
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Nodes may have changed since the last run. The whole run, and what is counted up to now, goes by
 * the new totals, guarantees and limits. So it is the same if a caller read figures between the
 * runs, which brings them up to date, too. */
static void refresh_bounds(gang_sched *s)
{
    gang__fair_refresh_bounds(s);
    if (s->wake.bounds)
        gang__order_apply_bounds(s);
}

static void begin(gang_sched *s, int64_t now_ns, int64_t max_steps)
{
    s->running = true;
    s->wake.run = false;
    s->runs++;
    s->now_ns = now_ns;
    s->steps = 0;
    s->max_steps = max_steps;
    s->preempt.preempted_tasks = 0;
    s->no_memory = false;
    memset(&s->info, 0, sizeof(s->info));
    refresh_bounds(s);
    gang__past_use_advance(s);
}

gang_result gang__cycle_take_in(gang_sched *s, int64_t now_ns)
{
    begin(s, now_ns, 0);
    take_messages_in(s);
    gang__jobs_forget(s);
    s->running = false;
    return s->no_memory ? GANG_ENOMEM : GANG_OK;
}

gang_result gang_sched_run(gang_sched *sched, int64_t now_ns, const struct gang_run_opts *opts,
                           struct gang_run_info *info)
{
    gang_sched *s = sched;
    struct gang_run_opts o = GANG_RUN_OPTS_INIT;
    if (!s)
        return GANG_EINVAL;
    gang_result r = opts ? gang__struct_in(&o, sizeof(o), sizeof(o), opts, opts->size) : GANG_OK;
    if (r != GANG_OK)
        return r;
    if (s->running)
        return GANG_EBUSY;
    if (o.max_steps < 0 || now_ns < s->now_ns || (info && info->size < sizeof(*info)))
        return GANG_EINVAL;
    begin(s, now_ns, o.max_steps);
    gang__stats_add_all(s, GANG__STAT_RUNS, 1);
    cycle(s);
    s->unfinished = !steps_left(s);
    if (s->no_memory)
        gang__wake_next_run(s);
    gang__jobs_forget(s);
    s->running = false;
    s->info.steps = s->steps;
    s->info.more = s->unfinished;
    if (info) {
        s->info.size = info->size;
        (void)!gang__struct_out(info, info->size, sizeof(s->info), &s->info, sizeof(s->info));
    }
    return s->no_memory ? GANG_ENOMEM : GANG_OK;
}

int64_t gang__cycle_due(gang_sched *s)
{
    if (gang__inbox_waits(s) || s->unfinished || s->wake.retry || s->wake.run || s->wake.jobs ||
        gang__order_next(s))
        return INT64_MIN;
    int64_t next = gang__min(gang__timers_next(s), gang__queues_next_idle(s));
    if (s->order.multifactor.count > 0)
        next = gang__min(next, gang__multifactor_next(s));
    if (s->budget_timers.count > 0)
        next = gang__min(next, gang__budgets_next(s));
    next = gang__min(next, gang__nodes_next(s));
    return gang__min(gang__min(next, gang__reserve_next(s)), s->preempt.min_runtime_due_ns);
}

int64_t gang_sched_next(gang_sched *sched)
{
    return sched ? gang__min(gang__cycle_due(sched), gang__slice_next(sched)) : INT64_MAX;
}

int64_t gang_sched_timeout_ns(gang_sched *sched, int64_t now_ns)
{
    int64_t next = gang_sched_next(sched), left;
    if (next == INT64_MAX)
        return -1;
    if (next <= now_ns)
        return 0;
    return __builtin_sub_overflow(next, now_ns, &left) ? INT64_MAX : left;
}
