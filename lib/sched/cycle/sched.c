/* SPDX-License-Identifier: Apache-2.0 */
/* Making a scheduler and freeing it: options and ops of the host are copied and checked, every
 * folder gets its state, and what a lower folder calls in a higher one is set. */
#include <string.h>

#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/foreign/foreign.h"
#include "sched/grant/grant.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/preempt/preempt.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/view/views.h"
#include "sched/where/where.h"

static void start_first_quantum(gang_sched *s, struct gang__gang *g)
{
    (void)gang__grant_report(s, g, GANG_REASON_NONE);
}

static const struct gang__first_quantum first_quantum = {start_first_quantum, gang__start_undo};

/* What the order of classes asks of backfill, calendar and reservations. */
static const struct gang__order_hooks order_hooks = {
    .unplan = gang__calendar_unplan,
    .class_salt = gang__reserve_class_salt,
    .keep = gang__candidates_keep,
    .keep_again = gang__candidates_keep_again,
    .unkeep = gang__candidates_unkeep,
    .left_ready = gang__candidates_left_ready,
    .deferred = gang__candidates_deferred,
    .forget = gang__candidates_forget,
    .make_ready = gang__candidates_make_ready,
    .unkeep_all = gang__candidates_unkeep_all,
};

/* What stopping asks of time slices. */
static const struct gang__stop_hooks stop_hooks = {
    .detached = gang__slice_detached,
    .stopped = gang__slice_stopped,
    .released = gang__slice_released,
};

static gang_result take_opts(gang_sched *s, const struct gang_sched_opts *from,
                             struct gang_error *error)
{
    struct gang_sched_opts o = GANG_SCHED_OPTS_INIT;
    gang_result r =
        from ? gang__struct_in(&o, sizeof(o), offsetof(struct gang_sched_opts, saturation), from,
                               from->size)
             : GANG_OK;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "struct gang_sched_opts is not set up");
    if (o.half_life_ns < 0 || o.usage_weight < 0 || o.refused_ns < 0 || o.max_preempted_tasks < 0 ||
        o.max_moves < -1 || o.saturation < 0 || o.preempt_cooldown_ns < -1 || o.stop_again_ns < 0 ||
        o.kill_wait_ns < -1 || o.fence_ns < -1)
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
    s->opts.usage_weight = o.usage_weight ? o.usage_weight : GANG_WHOLE;
    s->opts.refused_ns = o.refused_ns ? o.refused_ns : INT64_C(10000000000);
    s->opts.max_moves = o.max_moves == 0 ? 16 : o.max_moves < 0 ? 0 : o.max_moves;
    s->opts.saturation = o.saturation ? o.saturation : GANG_WHOLE;
    s->opts.preempt_cooldown_ns =
        o.preempt_cooldown_ns ? o.preempt_cooldown_ns : INT64_C(600000000000);
    s->opts.stop_again_ns = o.stop_again_ns ? o.stop_again_ns : INT64_C(1000000000);
    s->opts.fence_ns = o.fence_ns ? o.fence_ns : INT64_C(300000000000);
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
        s->worker->keeps_allocs = true; /* a host cannot free or change what jobs hold */
        r = gang_snapshot_new(s->cluster, &s->scratch);
    }
    if (r == GANG_OK)
        r = gang_snapshot_new(s->cluster, &s->preempt.base);
    if (r == GANG_OK && (!gang__nodes_look(s) || !gang__queues_make_root(s)))
        r = GANG_ENOMEM;
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "%s", gang_strerror(r));
    return gang__queues_make_default(s, error);
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
    s->source[GANG__SOURCE_SLICE] = &gang__slice_source;
    s->source[GANG__SOURCE_RESERVE] = &gang__reserve_source;
    gang__where_register(s, &gang__reserve_veto);
    s->order.hooks = &order_hooks;
    s->stop.hooks = &stop_hooks;
    s->intake.next_queue = 1; /* 0 is GANG_ID_NONE */
    s->now_ns = INT64_MIN / 4;
    s->preempt.min_runtime_due_ns = INT64_MAX;
    gang__set_init(&s->by_id, gang__job_order, NULL);
    gang__set_init(&s->timers, gang__timer_order, NULL);
    gang__multifactor_init(s);
    gang__budgets_init(s);
    const struct gang__rules_source rules = {s->opts.rules, s->opts.rule_size, s->opts.rule_count,
                                             s->opts.default_queue};
    r = gang__rules_new(&s->mem, &rules, &s->rules, error);
    if (r == GANG_OK)
        r = open_parts(s, error);
    if (r != GANG_OK) {
        gang_sched_free(s);
        return r;
    }
    *sched = s;
    return GANG_OK;
}

static void free_handovers(gang_sched *s)
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
    memset(&s->ops, 0, sizeof(s->ops)); /* no more callbacks */
    free_handovers(s);
    free_jobs(s);
    gang__kept_drop(s, NULL);
    gang__deferred_releases_free(s);
    gang__foreign_free(s);
    gang__views_free(s);
    gang__inbox_free(s);
    gang__where_free(s);
    gang__calendar_free(s);
    gang__trial_free(s);
    gang__slice_free(s);
    gang__reserve_free(s);
    gang__queues_free_all(s);
    gang__preempt_free(s);
    gang__recent_free(s);
    gang__nodes_free(s);
    gang__rules_free(s->rules, &mem);
    gang__hash_free(&s->jobs, &mem);
    gang__hash_free(&s->arrays, &mem);
    gang__hash_free(&s->classes, &mem);
    gang__release(&mem, s->usage.gpu_memory.bytes);
    gang__release(&mem, s->usage.gpu_memory_next.bytes);
    gang__places_free(&s->placement, &s->cluster->mem);
    gang__found_free(&s->found, &s->cluster->mem);
    gang__release(&mem, s->numbers);
    gang__release(&mem, s->bypass.mask);
    gang__release(&mem, s->by_group);
    gang_snapshot_free(s->scratch);
    gang_snapshot_free(s->preempt.base);
    for (size_t i = 0; i < sizeof(s->intake.submit_worker) / sizeof(s->intake.submit_worker[0]);
         i++)
        gang_worker_free(s->intake.submit_worker[i]);
    gang_worker_free(s->worker);
    gang__release(&mem, s);
}

gang_cluster *gang_sched_cluster(const gang_sched *sched)
{
    return sched ? sched->cluster : NULL;
}
