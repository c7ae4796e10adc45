/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler as an object, and the run: messages, what is due, then turns until nobody can
 * start; then room is made for those who are entitled to it, and whoever is helped by what came
 * free has his turn again. */
#include <string.h>

#include "core/nodes/nodes.h"
#include "sched/backfill/backfill.h"
#include "sched/backfill/candidates.h"
#include "sched/calendar/calendar.h"
#include "sched/calendar/trial.h"
#include "sched/cycle/cycle.h"
#include "sched/grant/grant.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/bypass.h"
#include "sched/order/wait_order.h"
#include "sched/preempt/preempt.h"
#include "sched/record/record.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/where/where.h"

/* ---- making and ending it -------------------------------------------------------------------- */

static void start_first_quantum(gang_sched *s, struct gang__gang *u)
{
    (void)gang__grant_tell(s, u, GANG_REASON_NONE);
}

static const struct gang__first_quantum first_quantum = {start_first_quantum, gang__start_undo};

/* What the order of classes asks of backfill, calendar and reservations. */
static const struct gang__order_hooks order_hooks = {
    .unplan = gang__calendar_unplan,
    .class_salt = gang__reserve_apart,
    .keep = gang__candidates_keep,
    .keep_again = gang__candidates_keep_again,
    .let_go = gang__candidates_let_go,
    .done = gang__candidates_done,
    .deferred = gang__candidates_late,
    .forget = gang__candidates_forget,
    .look = gang__candidates_look,
    .dissolve = gang__candidates_dissolve,
};

/* What stopping asks of time slices. */
static const struct gang__stop_hooks stop_hooks = {
    .detached = gang__slice_forsake,
    .stopped = gang__slice_quiet,
    .released = gang__slice_gave,
};

static gang_result take_opts(gang_sched *s, const struct gang_sched_opts *from,
                             struct gang_error *error)
{
    struct gang_sched_opts o = GANG_SCHED_OPTS_INIT;
    gang_result r =
        from ? gang__struct_in(&o, sizeof(o), offsetof(struct gang_sched_opts, saturation_milli),
                               from, from->size)
             : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "struct gang_sched_opts is not set up");
    if (o.half_life_ns < 0 || o.usage_weight_milli < 0 || o.refused_ns < 0 || o.max_evictions < 0 ||
        o.max_moves < -1 || o.saturation_milli < 0)
        return gang__error(error, GANG_ERANGE, NULL, "an option is negative");
    if (o.reserved0)
        return gang__error(error, GANG_EINVAL, "reserved0", "is not 0");
    r = gang__mem_init(&s->mem, o.mem);
    for (size_t i = 0; r == GANG_OK && i < o.excluded_kind_count; i++) {
        int32_t kind = o.excluded_kinds[i] ? gang__kind_find(s->cluster, o.excluded_kinds[i]) : -1;
        if (kind < 0) {
            gang__error(error, GANG_ENOENT, NULL, "no such kind");
            return gang__error_at(error, GANG_ENOENT, "excluded_kinds[%zu]", i);
        }
        s->excluded[kind] = true;
    }
    s->opts = o;
    s->opts.usage_weight_milli = o.usage_weight_milli ? o.usage_weight_milli : 1000;
    s->opts.refused_ns = o.refused_ns ? o.refused_ns : INT64_C(10000000000);
    s->opts.max_moves = o.max_moves == 0 ? 16 : o.max_moves < 0 ? 0 : o.max_moves;
    s->opts.saturation_milli = o.saturation_milli ? o.saturation_milli : 1000;
    return r;
}

static gang_result take_ops(gang_sched *s, const struct gang_host_ops *ops,
                            struct gang_error *error)
{
    if (!ops)
        return GANG_OK;
    gang_result r = gang__struct_in(&s->ops, sizeof(s->ops),
                                    sizeof(s->ops.size) + sizeof(s->ops.start), ops, ops->size);
    return r == GANG_OK ? r : gang__error(error, r, NULL, "struct gang_host_ops is not set up");
}

static gang_result open_parts(gang_sched *s, struct gang_error *error)
{
    gang_result r = gang_worker_new(s->cluster, &s->worker);
    if (r == GANG_OK) {
        s->worker->from_first = true; /* as in a copy and on a snapshot: one question, one answer */
        r = gang_snapshot_new(s->cluster, &s->scratch);
    }
    if (r == GANG_OK)
        r = gang_snapshot_new(s->cluster, &s->preempt.base);
    if (r == GANG_OK && !gang__config_root(s))
        r = GANG_ENOMEM;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "%s", gang_strerror(r));
    return gang__config_default(s, error);
}

gang_result gang_sched_new(gang_cluster *cluster, const struct gang_sched_opts *opts,
                           const struct gang_host_ops *ops, void *user, gang_sched **sched,
                           struct gang_error *error)
{
    gang_sched first, *s = &first;
    if (sched)
        *sched = NULL;
    if (!cluster || !sched)
        return gang__error(error, GANG_EINVAL, NULL, "no cluster, or no place for the scheduler");
    memset(&first, 0, sizeof(first));
    first.cluster = cluster;
    gang_result r = take_opts(&first, opts, error);
    if (r == GANG_OK)
        r = take_ops(&first, ops, error);
    if (r != GANG_OK)
        return r;
    s = gang__zalloc(&first.mem, 1, sizeof(*s));
    if (!s)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    memcpy(s, &first, sizeof(first));
    s->user = user;
    s->first_quantum = &first_quantum;
    gang__where_register(s, &gang__reserve_veto);
    s->order.hooks = &order_hooks;
    s->stop.hooks = &stop_hooks;
    s->next_queue = 1; /* 0 is GANG_ID_NONE */
    s->now_ns = INT64_MIN / 4;
    s->preempt.min_runtime_due_ns = INT64_MAX;
    gang__set_init(&s->by_id, gang__job_order, NULL);
    gang__set_init(&s->timers, gang__timer_order, NULL);
    r = gang__rules_new(&s->mem, s->opts.rules, s->opts.rule_size, s->opts.rule_count,
                        s->opts.default_queue, &s->rules, error);
    if (r == GANG_OK)
        r = open_parts(s, error);
    if (r != GANG_OK) {
        gang_sched_free(s);
        return r;
    }
    *sched = s;
    return GANG_OK;
}

static void free_claims(gang_sched *s)
{
    while (s->stop.handovers)
        gang__handover_give_up(s, s->stop.handovers);
}

static void free_jobs(gang_sched *s)
{
    struct gang__set_link *n;
    while ((n = gang__set_first(&s->by_id)) != NULL) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        gang__job_end(s, job, GANG_END_CANCELLED, "");
        gang__jobs_forget(s);
    }
}

void gang_sched_free(gang_sched *sched)
{
    gang_sched *s = sched;
    if (!s)
        return;
    struct gang_mem mem = s->mem;
    memset(&s->ops, 0, sizeof(s->ops)); /* nobody is called any more */
    free_claims(s);
    free_jobs(s);
    gang__deferred_releases_free(s);
    gang__inbox_free(s);
    gang__where_free(s);
    gang__calendar_free(s);
    gang__trial_free(s);
    gang__slice_free(s);
    gang__reserve_free(s);
    gang__config_free(s);
    gang__preempt_free(s);
    gang__recent_free(s);
    gang__rules_free(s->rules, &mem);
    gang__hash_free(&s->jobs, &mem);
    gang__hash_free(&s->classes, &mem);
    gang__release(&mem, s->usage.memories.bytes);
    gang__release(&mem, s->usage.memories_next.bytes);
    gang__places_free(&s->placement, &s->cluster->mem);
    gang__found_free(&s->found, &s->cluster->mem);
    gang__release(&mem, s->numbers);
    gang__release(&mem, s->bypass.mask);
    gang__release(&mem, s->by_group);
    gang_snapshot_free(s->scratch);
    gang_snapshot_free(s->preempt.base);
    for (size_t i = 0; i < sizeof(s->submit_worker) / sizeof(s->submit_worker[0]); i++)
        gang_worker_free(s->submit_worker[i]);
    gang_worker_free(s->worker);
    gang__release(&mem, s);
}

gang_cluster *gang_sched_cluster(const gang_sched *sched)
{
    return sched ? sched->cluster : NULL;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Use of late is an exact integral: it need not be told often, but before use changes. */
static void decay(gang_sched *s)
{
    if (s->opts.half_life_ns <= 0)
        return;
    for (uint32_t i = 0; i <= s->queues->count; i++) {
        struct gang__queue_state *q = i < s->queues->count ? s->qs[i] : &s->root;
        for (uint32_t d = 0; d < s->dims; d++)
            gang__decay_advance(&q->past_use[d], s->now_ns, q == &s->root ? s->total[d] : q->used[d],
                                s->opts.half_life_ns);
    }
    s->wake.shares = true;
    s->root.dims_changed = UINT64_MAX;
}

/* Turns until nobody can start, or no steps are left. */
static void take_turns(gang_sched *s)
{
    struct gang__gang *u;
    gang__calendar_refresh(s);
    gang__jobs_drain(s); /* refreshing may give plans up, or move gangs to other classes */
    gang__order_room(s);
    gang__order_refresh(s);
    while ((u = gang__order_next(s)) != NULL && gang__step(s)) {
        s->info.looked_at++;
        gang__start_try(s, u);
        gang__jobs_drain(s);
        if (s->wake.shares)
            gang__order_refresh(s);
        if (s->wake.room) /* what others free is seen when turns begin */
            gang__order_room(s);
    }
}

static bool is_over_somewhere(const gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue_state *q = s->qs[i];
        for (uint32_t d = 0; d < s->dims; d++)
            if (q->guarantee[d] != GANG__NO_BOUND &&
                (q->used[d] > q->share[d] || q->used[d] > q->guarantee[d]))
                return true;
    }
    return false;
}

/* Those who are blocked, and for whom it may be worth it, have a turn at having room made. */
static bool let_try(gang_sched *s)
{
    struct gang__wait_class *next, *chosen = NULL;
    s->preempt.some_over = is_over_somewhere(s);
    gang__victims_sort(s);
    for (struct gang__wait_class *bin = s->order.blocked; bin; bin = next) {
        next = bin->next_blocked;
        if (gang__preempt_may(s, bin)) {
            gang__order_unblock(s, bin);
            chosen = bin;
        }
    }
    return chosen != NULL;
}

/* One after the other, in turn. True: something was done, so that others may have their turn. */
static bool make_room(gang_sched *s)
{
    struct gang__gang *u;
    bool done = false;
    if ((s->wake.changes == s->wake.changes_done && !s->preempt.untried) || s->opts.no_preemption ||
        !s->order.blocked)
        return false;
    s->wake.changes_done = s->wake.changes;
    s->preempt.untried = false;
    if (!let_try(s))
        return false;
    s->preempt.running = true;
    while (!done && (u = gang__order_next(s)) != NULL && gang__step(s)) {
        struct gang__wait_class *bin = u->order.wait_class;
        done = gang__start_try(s, u); /* what was done for one before may help it */
        if (!done && u->order.wait_class == bin && bin && bin->state == GANG__CLASS_BLOCKED &&
            (gang__preempt_helps(bin->why) ||
             (bin->why == GANG_WAIT_PLANNED && gang__backfill_lacks_room(s, u))))
            done = gang__preempt_for(s, u);
        gang__jobs_drain(s);
        if (!done && u->order.wait_class == bin && bin)
            bin->tried = s->wake.changes + 1;
    }
    s->preempt.running = false;
    if (!done && gang__order_next(s)) /* cut short: the rest has its turn in the next run */
        s->wake.changes_done--;
    return done;
}

static void retry(gang_sched *s)
{
    if (!s->wake.retry)
        return;
    s->wake.retry = false;
    s->wake.slices = s->slice.matrices != NULL;
    struct gang__wait_class *next;
    for (struct gang__wait_class *bin = s->order.blocked; bin; bin = next) {
        next = bin->next_blocked;
        if (bin->why == GANG_WAIT_TURN)
            gang__order_unblock(s, bin);
    }
    s->wake.changes++;
}

/* Who was too young to be displaced may have come of age. */
static void grow_up(gang_sched *s)
{
    if (s->preempt.min_runtime_due_ns > s->now_ns)
        return;
    s->preempt.min_runtime_due_ns = INT64_MAX;
    s->wake.changes++;
}

static bool steps_left(const gang_sched *s)
{
    return s->max_steps == 0 || s->steps < s->max_steps;
}

static void cycle(gang_sched *s)
{
    gang__inbox_run(s);
    gang__timers_run(s);
    gang__handovers_finish(s);
    gang__jobs_drain(s);
    gang__config_idle(s);
    do {
        take_turns(s);
        gang__slice_run(s);
        gang__jobs_drain(s);
        gang__inbox_run(s);        /* callbacks may have left something, */
        gang__handovers_finish(s); /* also that the last one has gone who stood in the way */
        gang__jobs_drain(s);
    } while (steps_left(s) && (make_room(s) || gang__order_next(s) || gang__calendar_waits(s) ||
                               gang__slice_waits(s)));
}

static void begin(gang_sched *s, int64_t now_ns, int64_t max_steps)
{
    s->running = true;
    s->wake.run = false;
    s->runs++;
    s->now_ns = now_ns;
    s->steps = 0;
    s->max_steps = max_steps;
    s->preempt.evicted_tasks = 0;
    s->no_memory = false;
    memset(&s->info, 0, sizeof(s->info));
    decay(s);
}

gang_result gang__sched_take_in(gang_sched *s, int64_t now_ns)
{
    begin(s, now_ns, 0);
    gang__inbox_run(s);
    gang__jobs_drain(s);
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
    retry(s);
    gang__deferred_releases_run(s);
    gang__memories_refresh(s);
    grow_up(s);
    gang__jobs_drain(s);
    cycle(s);
    gang__jobs_drain(s);
    s->unfinished = !steps_left(s);
    s->wake.retry = s->wake.retry || s->no_memory;
    gang__jobs_forget(s);
    s->running = false;
    s->info.steps = s->steps;
    s->info.more = s->unfinished;
    if (info) {
        struct gang_run_info out = s->info;
        out.size = info->size;
        (void)!gang__struct_out(info, info->size, sizeof(out), &out, sizeof(out));
    }
    return s->no_memory ? GANG_ENOMEM : GANG_OK;
}

int64_t gang__sched_due(gang_sched *s)
{
    if (gang__inbox_waits(s) || s->unfinished || s->wake.retry || s->wake.run || s->wake.jobs ||
        gang__order_next(s))
        return INT64_MIN;
    int64_t next = gang__least(gang__timers_next(s), gang__config_next(s));
    return gang__least(gang__least(next, gang__reserve_next(s)), s->preempt.min_runtime_due_ns);
}

int64_t gang_sched_next(gang_sched *sched)
{
    return sched ? gang__least(gang__sched_due(sched), gang__slice_next(sched)) : INT64_MAX;
}
