/* SPDX-License-Identifier: Apache-2.0 */
/* Copying the scheduler: its settings, the tables of jobs, and the order of all steps (copy.h). */
#include "sched/copy/copy_in.h"

#include <string.h>

#include "core/cluster.h"
#include "place/record/record.h"
#include "place/request/request.h"
#include "place/state/records.h"
#include "sched/calendar/calendar.h"
#include "sched/foreign/foreign.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/preempt/preempt.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- jobs ------------------------------------------------------------------------------------ */

/* What is not in the block of the job: it changes while the job lives. False: out of memory. */
static bool copy_lists(gang_sched *s, struct gang__job *to, const struct gang__job *from)
{
    if (from->failed_node_count) {
        to->failed_nodes =
            gang__zalloc(&s->mem, from->failed_node_count, sizeof(*to->failed_nodes));
        if (!to->failed_nodes)
            return false;
        memcpy(to->failed_nodes, from->failed_nodes,
               from->failed_node_count * sizeof(*to->failed_nodes));
        to->failed_node_count = from->failed_node_count;
    }
    for (uint32_t i = 0; i < from->gang_count; i++) {
        const struct gang__gang *g = &from->gang[i];
        size_t count = (size_t)g->place_count;
        if (!gang__cooldowns_copy(s, &to->gang[i], g))
            return false;
        if (!gang__ended_tasks_copy(s, &to->gang[i], g))
            return false;
        if (!g->places)
            continue;
        to->gang[i].places = gang__zalloc(&s->mem, count + 1, sizeof(*g->places));
        if (!to->gang[i].places)
            return false;
        memcpy(to->gang[i].places, g->places, count * sizeof(*g->places));
        to->gang[i].place_count = g->place_count;
    }
    return true;
}

/* A gang with several partitions is in the same one as its original. */
static bool copy_request_class(struct gang__requests_copy *c, struct gang__gang *to,
                               const struct gang__gang *from)
{
    struct gang__request_class *waits_as = from->waits_as;
    to->request_class = gang__requests_copy_class(c, waits_as ? waits_as : from->request_class);
    if (!to->request_class || !waits_as)
        return to->request_class != NULL;
    to->waits_as = to->request_class;
    for (uint32_t i = 0; i < waits_as->partition_count; i++)
        if (from->request_class == waits_as->partition[i])
            gang__partition_try(to, i);
    return true;
}

static bool copy_requests(struct gang__requests_copy *c, struct gang__job *to,
                          const struct gang__job *from)
{
    gang_sched *s = c->to;
    for (uint32_t i = 0; i < from->gang_count; i++) {
        uint32_t groups = gang__gang_request(&from->gang[i])->group_count;
        if (!gang__grow(&s->mem, (void **)&s->by_group, &s->group_cap, groups,
                        sizeof(*s->by_group)))
            return false;
        if (!copy_request_class(c, &to->gang[i], &from->gang[i]))
            return false;
        if (!from->gang[i].later_class)
            continue;
        to->gang[i].later_class = gang__requests_copy_class(c, from->gang[i].later_class);
        if (!to->gang[i].later_class)
            return false;
    }
    return true;
}

/* Into the tables, and with all that it needs to enter the usage. */
static bool copy_job(struct gang__requests_copy *c, const struct gang__job *from)
{
    gang_sched *s = c->to;
    struct gang__job *job =
        gang__hash_reserve(&s->jobs, &s->mem) == GANG_OK ? gang__job_copy(s, from) : NULL;
    if (!job)
        return false;
    job->leaf = gang__queue_state_of(s, from->leaf->q->id);
    gang__hash_insert(&s->jobs, &job->link, job->id);
    gang__set_insert_end(&s->by_id, &job->by_id, 1);
    s->job_count++;
    return copy_lists(s, job, from) && copy_requests(c, job, from) && gang__array_enter(s, job) &&
           (!gang__queue_counts_users(job->leaf->q) || gang__user_of(s, job->leaf, job->user));
}

/* Those that nothing passes, in their order. */
static void copy_starved(gang_sched *s, const gang_sched *from)
{
    struct gang__gang **at = &s->bypass.starved;
    s->bypass.planned = from->bypass.planned;
    for (const struct gang__gang *g = from->bypass.starved; g; g = g->bypass.next) {
        *at = &gang__job_of(s, g->job->id)->gang[g->index];
        (*at)->bypass.at = at;
        at = &(*at)->bypass.next;
    }
    *at = NULL;
}

static bool copy_jobs(struct gang__requests_copy *c, const gang_sched *from)
{
    gang_sched *s = c->to;
    struct gang__set_link *n = gang__set_first(&from->by_id);
    for (; n; n = gang__set_next(n))
        if (!copy_job(c, GANG__OF(struct gang__job, by_id, n)))
            return false;
    for (n = gang__set_first(&s->by_id); n; n = gang__set_next(n))
        if (!gang__job_register_waiter(s, GANG__OF(struct gang__job, by_id, n)))
            return false;
    copy_starved(s, from);
    return gang__slices_copy(s, from) && gang__stops_copy(s, from);
}

/* Memory was short before they entered the usage. */
static void drop_jobs(gang_sched *s)
{
    struct gang__set_link *n;
    gang__slices_drop(s);
    while ((n = gang__set_first(&s->by_id)) != NULL) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        gang__hash_remove(&s->jobs, &job->link);
        gang__set_remove(&s->by_id, &job->by_id);
        gang__job_free(s, job);
    }
    s->job_count = 0;
    s->bypass.starved = NULL;
}

/* ---- the scheduler --------------------------------------------------------------------------- */

/* As it was made, on another cluster. */
static gang_result make(gang_cluster *cluster, const gang_sched *from,
                        const struct gang_host_ops *ops, void *user, gang_sched **made,
                        struct gang_error *error)
{
    struct gang__rules *rules = NULL;
    struct gang_sched_opts o = GANG_SCHED_OPTS_INIT;
    o.mem = &from->mem;
    o.half_life_ns = from->opts.half_life_ns;
    gang_result r = gang_sched_new(cluster, &o, ops, user, made, error);
    if (r != GANG_OK)
        return r;
    gang_sched *s = *made;
    s->opts = from->opts; /* as it was understood, not as it was given */
    memcpy(s->excluded, from->excluded, sizeof(s->excluded));
    s->now_ns = from->now_ns;
    s->runs = from->runs;
    s->age_high = from->age_high;
    gang__store_relaxed(&s->intake.next_job, gang__load_relaxed(&from->intake.next_job));
    r = gang__rules_copy(&s->mem, from->rules, &rules);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "out of memory");
    gang__rules_free(s->rules, &s->mem);
    s->rules = rules;
    return GANG_OK;
}

/* Jobs that were noted in the original: copying has noted others. */
static void copy_notes(gang_sched *s, const gang_sched *from)
{
    uint32_t causes;
    while (gang__wake_next_job(s, &causes))
        continue;
    for (const struct gang__job *job = from->wake.jobs; job; job = job->wake.next)
        gang__wake_job(s, gang__job_of(s, job->id), job->wake.causes);
    s->wake.run = from->wake.run;
}

/* What was counted by the copying itself. */
static void settle(gang_sched *s, const gang_sched *from)
{
    s->external_events = from->external_events;
    s->preempt.min_runtime_due_ns = from->preempt.min_runtime_due_ns;
    s->preempt.until_event = from->preempt.until_event;
    s->preempt.look_again = from->preempt.look_again;
    s->preempt.stops = from->preempt.stops;
    s->usage.restored = from->usage.restored;
    copy_notes(s, from);
    s->wake.retry = s->wake.retry || from->wake.retry;
    s->unfinished = from->unfinished;
    gang__gpu_memory_copy_end(s, from);
}

/* A copy for a host also has the watched tasks. False: out of memory. */
static bool copy_heartbeats(gang_sched *s, const gang_sched *from)
{
    bool ok = true;
    struct gang__set_link *n = gang__set_first(&from->by_id);
    for (; n && ok; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        ok = gang__heartbeat_copy(s, gang__job_of(s, job->id), job);
    }
    return ok;
}

/* `whole`: with what only a host's has, see copy.h. */
static gang_result fill(gang_sched *s, gang_sched *from, bool whole, struct gang_error *error)
{
    struct gang__requests_copy c = {s, {NULL, 0, 0}};
    gang_result r = gang__queues_copy_tree(s, from, error);
    if (r == GANG_OK && (!gang__mixes_copy(s->cluster, from->cluster) ||
                         !gang__placer_copy(s->worker, from->worker)))
        r = GANG_ENOMEM;
    if (r == GANG_OK && !gang__gpu_memory_copy(s, from))
        r = GANG_ENOMEM;
    if (r == GANG_OK)
        r = gang__requests_copy(&c, from);
    if (r == GANG_OK && (!gang__recent_copy(&c, from) || !gang__nodes_copy(s, from)))
        r = GANG_ENOMEM;
    if (r == GANG_OK)
        r = gang__allocs_copy(s->worker, from->worker, gang__requests_copy_find, &c);
    if (r == GANG_OK && !gang__foreign_copy(s, from))
        r = GANG_ENOMEM;
    if (r == GANG_OK && (!gang__users_copy(s, from) || !gang__budgets_copy(s, from)))
        r = GANG_ENOMEM;
    if (r == GANG_OK && !gang__reserves_copy(s, from))
        r = GANG_ENOMEM;
    if (r == GANG_OK && whole && !gang__backlog_copy(&c, from))
        r = GANG_ENOMEM;
    if (r == GANG_OK && !copy_jobs(&c, from)) {
        drop_jobs(s);
        r = GANG_ENOMEM;
    }
    gang__requests_copy_end(&c);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "%s", gang_strerror(r));
    gang__reserve_members_copy(s, from);
    s->original = from;
    gang__queues_enter_jobs(s);
    s->original = NULL;
    gang__fair_copy(s, from);
    gang__order_apply_bounds(s);
    if (s->no_memory || (whole && !copy_heartbeats(s, from)) || !gang__calendar_copy(s, from))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang__order_copy(s, from);
    settle(s, from);
    return GANG_OK;
}

static gang_result copy(gang_sched *from, const struct gang_host_ops *ops, void *user, bool whole,
                        gang_sched **made, struct gang_error *error)
{
    gang_cluster *cluster;
    *made = NULL;
    gang_result r = gang__cluster_copy(from->cluster, &cluster, error);
    if (r != GANG_OK)
        return r;
    r = make(cluster, from, ops, user, made, error);
    if (r == GANG_OK)
        r = fill(*made, from, whole, error);
    if (r == GANG_OK)
        return r;
    gang_sched_free(*made);
    gang_cluster_free(cluster);
    *made = NULL;
    return r;
}

gang_result gang__sched_copy(gang_sched *from, const struct gang_host_ops *ops, void *user,
                             gang_sched **made, struct gang_error *error)
{
    return copy(from, ops, user, false, made, error);
}

gang_result gang_sched_copy(gang_sched *sched, const struct gang_host_ops *ops, void *user,
                            gang_cluster **cluster, gang_sched **made, struct gang_error *error)
{
    if (cluster)
        *cluster = NULL;
    if (made)
        *made = NULL;
    if (!sched || !cluster || !made)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler, or no place for the copy");
    if (sched->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang__inbox_take_out(sched); /* others may go on leaving messages: these are in both */
    gang_result r = copy(sched, ops, user, true, made, error);
    *cluster = gang_sched_cluster(*made);
    return r;
}
