/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of the host about tasks, jobs and nodes, and what a job does then.
 *
 * When a task has ended, what it held is released at once, however many other tasks run on. The
 * task counts as done, and for the minimum of its gang as if it still ran. A lost task that is to
 * be refilled counts neither way. Tasks that were asked to stop have left usage already: after any
 * report about them, they are gone.
 *
 * A report takes effect as a whole, or not at all: if memory is short, or another thread reads the
 * allocation. Then these functions return false, and the caller repeats the report. */
#include <stdlib.h>
#include <string.h>

#include "base/wide.h"
#include "place/alloc/alloc.h"
#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/record/heartbeat.h"
#include "sched/record/job_record.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- the tasks that a report names ----------------------------------------------------------- */

struct report {
    struct gang__job *job;
    struct gang__gang *unit;
    struct gang__found run;    /* tasks that run */
    struct gang__found leaves; /* tasks that are still stopping */
};

static void report_free(gang_sched *s, struct report *r)
{
    gang__found_free(&r->run, &s->cluster->mem);
    gang__found_free(&r->leaves, &s->cluster->mem);
}

static bool is_leaving(const struct gang__gang *g, int64_t task)
{
    for (const struct gang__stop *stop = g->stop.first; stop; stop = stop->next)
        if (bsearch(&task, stop->still, stop->left, sizeof(task), gang__by_number))
            return true;
    return false;
}

/* Skips stops of an earlier allocation of the gang: its tasks have the same numbers. */
static bool is_own(const struct gang__stop *stop, const struct gang__gang *g, int64_t task)
{
    return stop->gang == g && !stop->released && stop->alloc == gang__gang_holds(g) &&
           bsearch(&task, stop->own, stop->own_count, sizeof(task), gang__by_number) != NULL;
}

/* The task has stopped after it was asked to, so it is no task any more. What it held is released
 * with other tasks, or kept for a handover. */
static bool is_gone(const gang_sched *s, const struct gang__gang *g, int64_t task)
{
    if (g->stop.unreleased == 0)
        return false;
    for (const struct gang__stop *stop = g->stop.first; stop; stop = stop->next)
        if (is_own(stop, g, task))
            return !bsearch(&task, stop->still, stop->left, sizeof(task), gang__by_number);
    for (const struct gang__handover *handover = s->stop.handovers; handover;
         handover = handover->next)
        for (const struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover)
            if (stop->stopped && is_own(stop, g, task))
                return true;
    for (const struct gang__stop *stop = s->stop.deferred; stop; stop = stop->next_of_handover)
        if (is_own(stop, g, task))
            return true;
    return false;
}

/* Separate running from stopping tasks; drop those that are gone. False: out of memory. */
static bool part(gang_sched *s, struct report *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->run.count; i++) {
        struct gang__found_task t = r->run.task[i];
        if (is_gone(s, r->unit, t.task))
            continue;
        if (!is_leaving(r->unit, t.task)) {
            r->run.task[kept++] = t;
            continue;
        }
        if (!gang__grow(&s->cluster->mem, (void **)&r->leaves.task, &r->leaves.room,
                        r->leaves.count + 1, sizeof(t)))
            return false;
        r->leaves.task[r->leaves.count++] = t;
    }
    r->run.count = kept;
    return true;
}

/* Look up the tasks of these numbers; NULL: all. False: try again later. */
static bool look_up(gang_sched *s, struct report *r, const int64_t *tasks, size_t count)
{
    gang_alloc_id alloc = gang__gang_holds(r->unit);
    int64_t *sorted = NULL;
    if (alloc == GANG_ID_NONE)
        return true;
    if (tasks && count > 1) {
        sorted = gang__zalloc(&s->mem, count, sizeof(*sorted));
        if (!sorted)
            return false;
        memcpy(sorted, tasks, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), gang__by_number);
        tasks = sorted;
    }
    gang_result found = gang__alloc_find(s->cluster, alloc, tasks, count, &r->run);
    gang__release(&s->mem, sorted);
    if (found != GANG_OK && found != GANG_ESTALE)
        return false;
    if (tasks && r->run.count < count)
        gang__log(s, 0, "a report about %zu tasks of job %llu that it does not have",
                  count - r->run.count, (unsigned long long)r->job->id);
    return part(s, r);
}

/* The numbers of the tasks. The caller frees them with gang__release(). NULL: out of memory. */
static int64_t *numbers_of(gang_sched *s, const struct gang__found *f)
{
    int64_t *tasks = gang__zalloc(&s->mem, f->count ? f->count : 1, sizeof(*tasks));
    for (size_t i = 0; tasks && i < f->count; i++)
        tasks[i] = f->task[i].task;
    return tasks;
}

/* ---- giving back ----------------------------------------------------------------------------- */

/* Capacity came free on a node: wake each wait class that could use it. If the gang
 * used cluster-wide amounts, or has labels or affinity rules, wake all classes: its end may help
 * on any node. */
static void note_freed(gang_sched *s, const struct gang__gang *g, gang_node_id node)
{
    const gang_request *q = gang__gang_request(g);
    struct gang_node_info n;
    n.size = sizeof(n);
    if (q->uses_pool || q->has_affinity) {
        gang__wake_capacity_any(s);
        return;
    }
    if (!s->order.blocked_requests) { /* no class waits for capacity */
        gang__wake_capacity(s, INT64_MAX, INT64_MAX, INT64_MAX);
        return;
    }
    if (gang_node_get(s->cluster, node, &n) != GANG_OK)
        return;
    gang__wake_capacity(s, n.cpu_free, n.memory_free / GANG_PAGE_BYTES, n.gpu_free);
}

/* The tasks hold nothing any more: forget their heartbeats, wake what waits for capacity. */
static void note_given(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    for (size_t i = 0; i < f->count; i++) {
        gang__heartbeat_forget(s, g->job, g->index, f->task[i].task);
        if (i == 0 || f->task[i].node != f->task[i - 1].node)
            note_freed(s, g, f->task[i].node);
    }
}

/* Release what running tasks hold. False: try again later, nothing was released. */
static bool give_back(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    if (f->count == 0)
        return true;
    int64_t *tasks = numbers_of(s, f);
    gang_result r = tasks ? gang__give_back_tasks(s, g->alloc, tasks, f->count) : GANG_ENOMEM;
    gang__release(&s->mem, tasks);
    if (r == GANG_OK)
        note_given(s, g, f);
    return r == GANG_OK;
}

/* How tasks left. */
enum fate { GOES, ENDS_WELL, ENDS_BADLY };

static void count_one(struct gang__gang *g, uint32_t group, bool ran, enum fate fate)
{
    g->has[group] -= ran;
    g->tasks -= ran;
    g->done[group] += fate != GOES;
    g->ended += fate != GOES;
    g->failed[group] += fate == ENDS_BADLY;
}

/* Demand changed, and the limits may allow more now. */
static void note_change(gang_sched *s, struct gang__gang *g)
{
    s->wake.shares = true;
    gang__order_unblock_queues(s, g->job->leaf);
    if (g->job->leaf_user)
        gang__order_rekey_user(s, g->job->leaf, g->job->leaf_user);
    gang__wake_queue(s, g->job->leaf);
}

/* A gang that waits to grow lies in an order that depends on what it has. It leaves the order for
 * the change; gang__job_settle() puts it back. */
static void count_out(gang_sched *s, struct gang__gang *g, const struct gang__found *f, bool ran,
                      enum fate fate)
{
    if (f->count == 0)
        return;
    gang__order_leave(s, g);
    gang__usage_out(s, g);
    for (size_t i = 0; i < f->count; i++)
        count_one(g, f->task[i].group, ran, fate);
    gang__usage_in(s, g);
    note_change(s, g);
}

/* Tasks that had been asked to stop have stopped. */
static void tell_gone(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    int64_t *tasks = f->count ? numbers_of(s, f) : NULL;
    if (tasks)
        gang__stop_tasks_gone(s, g, tasks, f->count);
    else if (f->count) /* one by one needs no memory */
        for (size_t i = 0; i < f->count; i++)
            gang__stop_tasks_gone(s, g, &f->task[i].task, 1);
    gang__release(&s->mem, tasks);
}

/* ---- is it over? ----------------------------------------------------------------------------- */

static int32_t role_of(const struct gang__gang *g, uint32_t group)
{
    const struct gang__job *job = g->job;
    if (!job->roles)
        return GANG_ROLE_MEMBER;
    return job->roles[g->group_of ? g->group_of[group] : (int32_t)group];
}

/* Have all tasks of the group ended, with none to come? */
static bool group_over(const struct gang__gang *g, uint32_t group)
{
    if (g->over)
        return true;
    return gang__gang_holds(g) != GANG_ID_NONE && g->has[group] == 0 &&
           gang__gang_lacks(g, group) == 0;
}

/* The results of all groups of a role, over all gangs. */
struct tally {
    bool any, over;
    int64_t done, failed;
};

static void tally_up(struct tally *t, const struct gang__gang *g, uint32_t group)
{
    t->over = t->over && group_over(g, group);
    t->any = true;
    t->done += g->done[group];
    t->failed += g->failed[group];
}

/* A group waits for the success of one that is over and had failures. */
static bool waits_in_vain(const struct gang__job *job)
{
    bool vain = false;
    for (size_t i = 0; i < job->group_after_count; i++)
        for (uint32_t k = 0; k < job->gang_count; k++)
            for (uint32_t g = 0; g < gang__gang_request(&job->gang[k])->group_count; g++) {
                const struct gang__gang *gang = &job->gang[k];
                int32_t group = gang->group_of ? gang->group_of[g] : (int32_t)g;
                vain = vain || (job->group_after[i].after == group &&
                                job->group_after[i].when == GANG_AFTER_SUCCESS &&
                                gang->failed[g] > 0 && group_over(gang, g));
            }
    return vain;
}

/* How the job ended; GANG_END_NONE: it has not. Failed chiefs, critical and untracked tasks have
 * ended the job before this is called. */
static int32_t result_of(const struct gang__job *job)
{
    struct tally chiefs = {.over = true}, members = {.over = true}, all = {.over = true};
    for (uint32_t i = 0; i < job->gang_count; i++)
        for (uint32_t group = 0; group < gang__gang_request(&job->gang[i])->group_count; group++) {
            const struct gang__gang *g = &job->gang[i];
            int32_t role = role_of(g, group);
            tally_up(&all, g, group);
            if (role == GANG_ROLE_CHIEF)
                tally_up(&chiefs, g, group);
            if (role == GANG_ROLE_MEMBER || role == GANG_ROLE_CRITICAL)
                tally_up(&members, g, group);
        }
    /* If the target is low, groups that have not run yet may get no task. */
    if (chiefs.any && chiefs.over && chiefs.done > 0)
        return GANG_END_SUCCESS;
    if (waits_in_vain(job))
        return GANG_END_FAILED;
    const struct tally *those = members.any ? &members : &all;
    if (chiefs.any || !those->over || those->done == 0)
        return GANG_END_NONE;
    return members.done > 0 && members.failed == members.done ? GANG_END_FAILED : GANG_END_SUCCESS;
}

/* The allocation holds nothing any more: free it. */
static void let_go(gang_sched *s, struct gang__gang *g)
{
    gang_alloc_id alloc = g->alloc;
    gang__order_leave(s, g);
    gang__gang_clear(s, g);
    gang__give_back_unheld(s, alloc);
}

static bool holds_nothing(const struct gang__gang *g)
{
    return g->alloc != GANG_ID_NONE && g->tasks == 0 && !g->stop.first;
}

/* Gangs that hold nothing and want nothing are over. */
static void close_units(gang_sched *s, struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        if (holds_nothing(g) && g->ended > 0 && gang__gang_lacks_all(g) == 0) {
            let_go(s, g);
            g->over = true;
        }
    }
}

/* Stop the whole job. For a gang that holds nothing, the host is not asked. */
static void stop(gang_sched *s, struct gang__job *job, int32_t reason, int32_t end)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (holds_nothing(&job->gang[i]))
            let_go(s, &job->gang[i]);
    gang__job_stop(s, job, reason, end);
}

void gang__reports_reset(gang_sched *s, struct gang__gang *g)
{
    size_t bytes = gang__gang_request(g)->group_count * sizeof(*g->done);
    if (g->over || g->ended == 0)
        return;
    gang__order_leave(s, g); /* ended tasks count for its place; gang__job_settle() puts it back */
    gang__usage_out(s, g);
    memset(g->done, 0, bytes);
    memset(g->failed, 0, bytes);
    g->ended = 0;
    gang__usage_in(s, g);
    s->wake.shares = true;
}

/* Tasks ended: end the job if it is over; otherwise the rest runs on. */
static void go_on(gang_sched *s, struct gang__job *job)
{
    if (job->state == GANG_JOB_ENDED || job->ending)
        return;
    int32_t result = result_of(job);
    close_units(s, job);
    if (result != GANG_END_NONE) {
        stop(s, job, GANG_REASON_END, result);
        return;
    }
    for (uint32_t i = 0; i < job->gang_count; i++)
        gang__reports_note_minimum(s, &job->gang[i]);
    gang__job_count(s, job);
    gang__job_state(s, job, GANG_REASON_NONE, "tasks ended");
    gang__job_settle(s, job);
}

/* ---- below the minimum ----------------------------------------------------------------------- */

static bool is_inside(const gang_request *q, int32_t set, uint32_t of)
{
    while (set >= 0 && set != (int32_t)of)
        set = q->set[set].parent;
    return set >= 0;
}

/* Is a group, a set or the gang below its minimum? */
static bool below_minimum(const struct gang__gang *g)
{
    const gang_request *q = gang__gang_request(g);
    int64_t all = 0;
    for (uint32_t group = 0; group < q->group_count; group++) {
        int64_t there = g->has[group] + gang__gang_ended_for_min(g, group);
        if (there < q->group[group].min)
            return true;
        all += there;
    }
    for (uint32_t i = 0; i < q->group_set_count; i++) {
        int64_t in_set = 0;
        for (uint32_t group = 0; group < q->group_count; group++)
            if (is_inside(q, q->group[group].set, i))
                in_set += g->has[group] + gang__gang_ended_for_min(g, group);
        if (in_set < q->set[i].min)
            return true;
    }
    return all < q->min;
}

void gang__reports_note_minimum(gang_sched *s, struct gang__gang *g)
{
    bool is_short = g->alloc != GANG_ID_NONE && !g->over && below_minimum(g);
    if (is_short && !g->reports.below_min)
        g->reports.below_min_ns = s->now_ns;
    if (!is_short)
        g->reports.refill = false;
    g->reports.below_min = is_short;
}

void gang__reports_started(gang_sched *s, struct gang__gang *g)
{
    gang__heartbeat_forget_part(s, g->job, g->index);
    g->reports.refill = g->reports.below_min = false;
    gang__reports_note_minimum(s, g);
}

/* ---- losses ---------------------------------------------------------------------------------- */

/* The job avoids the nodes where it failed when it is placed again. Without memory for the list
 * it does not. */
static void avoid(gang_sched *s, struct gang__job *job, const struct gang__found *f)
{
    gang_node_id *bad = gang__zalloc(&s->mem, job->failed_node_count + f->count + 1, sizeof(*bad));
    if (!bad)
        return;
    size_t count = job->failed_node_count;
    if (count)
        memcpy(bad, job->failed_nodes, count * sizeof(*bad));
    for (size_t i = 0; i < f->count; i++) {
        size_t at = 0;
        while (at < count && bad[at] != f->task[i].node)
            at++;
        if (at == count)
            bad[count++] = f->task[i].node;
    }
    gang__release(&s->mem, job->failed_nodes);
    job->failed_nodes = bad;
    job->failed_node_count = count;
}

static void restart(gang_sched *s, struct gang__job *job, const struct gang__found *f)
{
    if (job->restarts >= job->max_restarts) {
        stop(s, job, GANG_REASON_LOSS, GANG_END_FAILED);
        return;
    }
    int64_t delay = job->restart_delay_ns;
    for (int64_t i = 0; i < job->restarts && delay < INT64_MAX && delay > 0; i++)
        delay = gang__add_sat(delay, delay);
    job->restarts++;
    if (delay > 0)
        job->not_before_ns = gang__add_sat(s->now_ns, delay);
    avoid(s, job, f);
    stop(s, job, GANG_REASON_LOSS, GANG_END_NONE);
}

static bool is_decisive(int32_t role)
{
    return role == GANG_ROLE_CHIEF || role == GANG_ROLE_CRITICAL || role == GANG_ROLE_UNTRACKED;
}

/* Lost tasks leave usage. Returns the strictest role among them. */
static int32_t count_lost(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    int32_t strictest = GANG_ROLE_SIDECAR;
    gang__order_leave(s, g);
    gang__usage_out(s, g);
    for (size_t i = 0; i < f->count; i++) {
        int32_t role = role_of(g, f->task[i].group);
        bool again = role == GANG_ROLE_MEMBER && g->job->loss == GANG_LOSS_REFILL;
        count_one(g, f->task[i].group, true, again ? GOES : ENDS_BADLY);
        if (is_decisive(role) || (role == GANG_ROLE_MEMBER && !is_decisive(strictest)))
            strictest = role;
    }
    gang__usage_in(s, g);
    note_change(s, g);
    return strictest;
}

/* Members were lost: apply the loss policy of the job. */
static void lose_members(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    struct gang__job *job = g->job;
    switch (job->loss) {
    case GANG_LOSS_FAIL:
        stop(s, job, GANG_REASON_LOSS, GANG_END_FAILED);
        break;
    case GANG_LOSS_RESTART:
        restart(s, job, f);
        break;
    case GANG_LOSS_REFILL:
        if (!g->reports.refill)
            g->reports.refill_ns =
                job->refill_ns > 0 ? gang__add_sat(s->now_ns, job->refill_ns) : INT64_MAX;
        g->reports.refill = true; /* cleared by gang__reports_note_minimum() if the minimum runs */
        break;
    case GANG_LOSS_SHRINK:
        if (below_minimum(g))
            restart(s, job, f);
        break;
    default:
        break;
    }
}

/* Tasks failed: the role of their groups decides first, then the loss policy. */
static bool take_failed(gang_sched *s, struct report *r)
{
    struct gang__gang *g = r->unit;
    if (!give_back(s, g, &r->run))
        return false;
    tell_gone(s, g, &r->leaves);
    if (r->run.count == 0 || r->job->state == GANG_JOB_ENDED)
        return true;
    int32_t role = count_lost(s, g, &r->run);
    if (is_decisive(role))
        stop(s, r->job, GANG_REASON_END, GANG_END_FAILED);
    else if (role == GANG_ROLE_MEMBER)
        lose_members(s, g, &r->run);
    go_on(s, r->job);
    return true;
}

/* ---- reports about tasks --------------------------------------------------------------------- */

/* Tasks that ended well while they were to be suspended do not resume. */
static void forget_places(gang_sched *s, struct gang__gang *g, const struct gang__found *f)
{
    for (size_t i = 0; g->places && i < f->count; i++)
        for (int64_t k = 0; k < g->place_count; k++)
            if (g->places[k].node == f->task[i].node &&
                g->places[k].group == (int32_t)f->task[i].group) {
                g->places[k] = g->places[--g->place_count];
                break;
            }
    if (g->places && g->place_count == 0) {
        gang__release(&s->mem, g->places);
        g->places = NULL;
    }
    g->over = g->over || (g->alloc == GANG_ID_NONE && gang__gang_lacks_all(g) == 0);
}

/* Tasks succeeded. This counts also for tasks that were asked to stop: if the job is over by
 * that, it has succeeded, and does not wait again. */
static bool take_succeeded(gang_sched *s, struct report *r)
{
    struct gang__job *job = r->job;
    if (!give_back(s, r->unit, &r->run))
        return false;
    count_out(s, r->unit, &r->run, true, ENDS_WELL);
    count_out(s, r->unit, &r->leaves, false, ENDS_WELL);
    if (r->leaves.count > 0)
        forget_places(s, r->unit, &r->leaves);
    int32_t result = r->unit->alloc == GANG_ID_NONE ? result_of(job) : (int32_t)GANG_END_NONE;
    if (result != GANG_END_NONE) /* first: a stopped job waits again */
        gang__job_stop(s, job, GANG_REASON_END, result);
    tell_gone(s, r->unit, &r->leaves);
    go_on(s, job);
    return true;
}

/* Keep in `f` only the tasks that the gang can spare: all minima hold without them. */
static void keep_idle(struct gang__gang *g, struct gang__found *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        g->has[f->task[i].group]--;
        if (below_minimum(g))
            g->has[f->task[i].group]++;
        else
            f->task[kept++] = f->task[i];
    }
    f->count = kept;
    for (size_t i = 0; i < kept; i++)
        g->has[f->task[i].group]++;
}

/* The gang has no work for the idle tasks: they go, and its target drops to the tasks that are
 * left. It grows again when the host sets a new target. If all tasks are idle, the target drops
 * even if none can go. */
static bool take_idle(gang_sched *s, struct report *r, bool all)
{
    struct gang__gang *g = r->unit;
    keep_idle(g, &r->run);
    if (r->run.count == 0 && (!all || g->alloc == GANG_ID_NONE))
        return true;
    if (!give_back(s, g, &r->run))
        return false;
    gang__order_leave(s, g);
    count_out(s, g, &r->run, true, GOES);
    gang__usage_out(s, g);
    g->target = g->tasks + g->ended;
    gang__usage_in(s, g);
    go_on(s, r->job);
    return true;
}

/* Heartbeats. A task that is known already needs no look-up. */
static bool take_alive(gang_sched *s, struct report *r, const int64_t *tasks, size_t count)
{
    struct gang__job *job = r->job;
    if (job->heartbeat_ns <= 0 || gang__slice_is_suspended(r->unit))
        return true;
    if (tasks && count == 1 && gang__heartbeat_known(job, r->unit->index, tasks[0]))
        return gang__heartbeat_heard(s, job, r->unit->index, tasks[0]);
    if (!look_up(s, r, tasks, count))
        return false;
    bool ok = true;
    for (size_t i = 0; i < r->run.count; i++)
        ok = gang__heartbeat_heard(s, job, r->unit->index, r->run.task[i].task) && ok;
    if (gang__reports_next(s, job) < job->due_ns)
        gang__timer_set(s, job);
    return ok;
}

static bool take(gang_sched *s, struct report *r, const int64_t *tasks, size_t count, int32_t what)
{
    if (what == GANG_TASK_STARTED || what == GANG_TASK_HEARTBEAT)
        return take_alive(s, r, tasks, count);
    if (what == GANG_TASK_STOPPED) {
        if (!gang__slice_report(s, r->unit, tasks, count) && !r->unit->stop.first)
            gang__log(s, 0, "tasks of job %llu were reported gone that nobody asked to stop",
                      (unsigned long long)r->job->id);
        gang__stop_tasks_gone(s, r->unit, tasks, count);
        return true;
    }
    if (!look_up(s, r, tasks, count))
        return false;
    return what == GANG_TASK_SUCCEEDED ? take_succeeded(s, r)
           : what == GANG_TASK_FAILED  ? take_failed(s, r)
                                       : take_idle(s, r, tasks == NULL);
}

/* The gang that a report is about. NULL: it holds nothing, or another allocation by now. */
static struct gang__gang *unit_of(struct gang__job *job, uint32_t part, gang_alloc_id alloc)
{
    struct gang__gang *g = part < job->gang_count ? &job->gang[part] : NULL;
    if (!g || job->state == GANG_JOB_ENDED || gang__gang_holds(g) == GANG_ID_NONE)
        return NULL;
    if (alloc == GANG_ID_NONE || alloc == g->alloc)
        return g;
    for (const struct gang__stop *stop = g->stop.first; stop; stop = stop->next)
        if (stop->alloc == alloc)
            return g;
    return NULL;
}

bool gang__reports_tasks(gang_sched *s, struct gang__job *job, uint32_t part, gang_alloc_id alloc,
                         const int64_t *tasks, size_t count, int32_t what)
{
    struct report r;
    memset(&r, 0, sizeof(r));
    r.job = job;
    r.unit = unit_of(job, part, alloc);
    if (count == SIZE_MAX)
        tasks = NULL;
    if (!tasks)
        count = 0;
    if (!r.unit) {
        gang__log(s, 0, "a report about tasks of job %llu that are gone",
                  (unsigned long long)job->id);
        return true;
    }
    bool ok = take(s, &r, tasks, count, what);
    report_free(s, &r);
    return ok;
}

/* ---- a whole job, a node --------------------------------------------------------------------- */

/* No task of the gang stops or is kept for a handover, and the gang is not time-sliced: its
 * allocation is freed as a whole. */
static bool ends_at_once(const struct gang__gang *g)
{
    return g->alloc != GANG_ID_NONE && g->stop.unreleased == 0 && !g->stop.first && !g->sliced;
}

/* End all tasks of a gang. False: try again later. */
static bool end_unit(gang_sched *s, struct gang__gang *g, bool success)
{
    struct report r = {g->job, g, {NULL, 0, 0}, {NULL, 0, 0}};
    bool at_once = ends_at_once(g);
    bool ok = look_up(s, &r, NULL, 0) &&
              (at_once ? gang__give_back_all(s, g->alloc) == GANG_OK : give_back(s, g, &r.run));
    if (ok && at_once) {
        note_given(s, g, &r.run);
        gang__order_leave(s, g);
        gang__gang_clear(s, g);
    }
    if (ok) {
        count_out(s, g, &r.run, !at_once, success ? ENDS_WELL : ENDS_BADLY);
        tell_gone(s, g, &r.leaves);
    }
    report_free(s, &r);
    return ok;
}

/* All tasks failed: does the job start again? The roles of its groups decide first. */
static bool starts_again(const struct gang__job *job)
{
    for (uint32_t group = 0; job->roles && group < job->group_count; group++)
        if (is_decisive(job->roles[group]))
            return false;
    return (job->loss == GANG_LOSS_RESTART || job->loss == GANG_LOSS_SHRINK) &&
           job->restarts < job->max_restarts;
}

bool gang__reports_end(gang_sched *s, struct gang__job *job, bool success)
{
    const struct gang__found nowhere = {NULL, 0, 0};
    bool runs = false, stops = job->ending || job->state == GANG_JOB_STOPPING;
    for (uint32_t i = 0; i < job->gang_count; i++)
        runs = runs || gang__gang_holds(&job->gang[i]) != GANG_ID_NONE;
    if (!runs || job->state == GANG_JOB_ENDED) {
        gang__log(s, 0, "job %llu was reported to have ended, but does not run",
                  (unsigned long long)job->id);
        return true;
    }
    if (stops && success)
        gang__job_stop(s, job, GANG_REASON_END, GANG_END_SUCCESS);
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (!end_unit(s, &job->gang[i], success))
            return false;
    if (stops || job->state == GANG_JOB_ENDED)
        return true;
    if (!success && starts_again(job)) {
        restart(s, job, &nowhere);
        return true;
    }
    stop(s, job, GANG_REASON_END, success ? GANG_END_SUCCESS : GANG_END_FAILED);
    return true;
}

static void keep_on(struct gang__found *f, gang_node_id node)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->task[i].node == node)
            f->task[kept++] = f->task[i];
    f->count = kept;
}

static bool lose_on(gang_sched *s, struct gang__gang *g, gang_node_id node)
{
    struct report r = {g->job, g, {NULL, 0, 0}, {NULL, 0, 0}};
    bool ok = look_up(s, &r, NULL, 0);
    keep_on(&r.run, node);
    keep_on(&r.leaves, node);
    if (ok && r.run.count + r.leaves.count > 0 && !gang__slice_has_run(g))
        gang__slice_undo_grant(s, g);
    else if (ok && r.run.count + r.leaves.count > 0)
        ok = take_failed(s, &r);
    report_free(s, &r);
    return ok;
}

/* Only gangs that hold an allocation can have tasks on the node. A failed task may end other
 * gangs of its job; the records of ended jobs stay until the run ends. */
bool gang__reports_node_lost(gang_sched *s, gang_node_id node)
{
    gang_result r = gang_node_set_state(s->worker, node, GANG_NODE_DOWN);
    if (r == GANG_ENOMEM)
        return false;
    if (r != GANG_OK) {
        gang__log(s, 0, "a node was reported lost that is not there");
        return true;
    }
    s->wake.changes++;
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count && job->state != GANG_JOB_ENDED; i++)
            if (gang__gang_holds(&job->gang[i]) != GANG_ID_NONE && !lose_on(s, &job->gang[i], node))
                return false;
    }
    return true;
}

/* ---- the target ------------------------------------------------------------------------------ */

/* Choose `surplus` running tasks to stop: the last groups first, in a group the newest first. A
 * chosen task is marked: its node is GANG_ID_NONE. Returns how many were chosen. */
static size_t choose(struct gang__gang *g, struct gang__found *f, int64_t surplus)
{
    size_t chosen = 0;
    for (uint32_t group = gang__gang_request(g)->group_count;
         group-- > 0 && (int64_t)chosen < surplus;)
        for (size_t i = f->count; i-- > 0 && (int64_t)chosen < surplus;) {
            if (f->task[i].group != group)
                continue;
            g->has[group]--;
            if (below_minimum(g)) {
                g->has[group]++;
                break; /* the gang cannot spare an older task of the group either */
            }
            f->task[i].node = GANG_ID_NONE;
            chosen++;
        }
    for (size_t i = 0; i < f->count; i++)
        g->has[f->task[i].group] += f->task[i].node == GANG_ID_NONE;
    return chosen;
}

/* Stop tasks beyond the target. False: try again later. */
static bool stop_surplus(gang_sched *s, struct gang__gang *g)
{
    struct report r = {g->job, g, {NULL, 0, 0}, {NULL, 0, 0}};
    int64_t surplus = g->tasks + g->ended - g->target;
    if (g->alloc == GANG_ID_NONE || surplus <= 0)
        return true;
    bool ok = look_up(s, &r, NULL, 0);
    if (ok && choose(g, &r.run, surplus) > 0) {
        keep_on(&r.run, GANG_ID_NONE);
        int64_t *tasks = numbers_of(s, &r.run);
        ok = tasks && gang__stop_tasks(s, g, tasks, r.run.count, GANG_REASON_TARGET,
                                       GANG_END_NONE) != GANG_ENOMEM;
        gang__release(&s->mem, tasks);
    }
    report_free(s, &r);
    return ok;
}

void gang__reports_trim(gang_sched *s, struct gang__gang *g)
{
    if (!stop_surplus(s, g))
        s->no_memory = true;
}

/* Each gang gets its minimum; the rest of the target goes to the first gangs first. */
bool gang__reports_target(gang_sched *s, struct gang__job *job, int64_t target)
{
    int64_t min = 0, count = 0;
    if (job->state == GANG_JOB_ENDED)
        return true;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        min += gang__gang_request(&job->gang[i])->min;
        count += gang__gang_request(&job->gang[i])->count;
    }
    target = target < 0 || target > count ? count : target < min ? min : target;
    int64_t rest = target - min;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        const gang_request *q = gang__gang_request(g);
        int64_t more = q->count - q->min < rest ? q->count - q->min : rest;
        gang__order_leave(s, g);
        gang__usage_out(s, g);
        g->target = q->min + more;
        gang__usage_in(s, g);
        rest -= more;
        note_change(s, g);
        if (!stop_surplus(s, g)) {
            gang__job_settle(s, job);
            return false;
        }
    }
    go_on(s, job);
    return true;
}

/* ---- what is due ----------------------------------------------------------------------------- */

/* Tasks that are silent for too long are lost. False: try again later. */
static bool lose_silent(gang_sched *s, struct gang__job *job)
{
    int64_t tasks[64];
    uint32_t part_of;
    size_t count;
    while ((count = gang__heartbeat_late(s, job, &part_of, tasks, 64)) > 0) {
        if (unit_of(job, part_of, GANG_ID_NONE) &&
            !gang__reports_tasks(s, job, part_of, GANG_ID_NONE, tasks, count, GANG_TASK_FAILED))
            return false;
        for (size_t i = 0; i < count; i++)
            gang__heartbeat_forget(s, job, part_of, tasks[i]);
    }
    return true;
}

static int64_t stale_at(const struct gang__gang *g)
{
    return g->reports.below_min ? gang__add_sat(g->reports.below_min_ns, g->job->leaf->q->stale_ns)
                                : INT64_MAX;
}

void gang__reports_due(gang_sched *s, struct gang__job *job)
{
    if (!lose_silent(s, job))
        s->no_memory = true;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__gang *g = &job->gang[i];
        if (job->state != GANG_JOB_RUNNING || job->ending)
            return;
        if (g->reports.refill && g->reports.refill_ns <= s->now_ns)
            stop(s, job, GANG_REASON_LOSS, GANG_END_FAILED);
        else if (stale_at(g) <= s->now_ns)
            stop(s, job, GANG_REASON_STALE, GANG_END_NONE);
    }
}

int64_t gang__reports_next(const gang_sched *s, const struct gang__job *job)
{
    int64_t next = gang__heartbeat_next(job);
    if (job->state != GANG_JOB_RUNNING || job->ending)
        return next;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__gang *g = &job->gang[i];
        if (g->reports.refill && g->reports.refill_ns < next)
            next = g->reports.refill_ns;
        if (stale_at(g) < next)
            next = stale_at(g);
    }
    (void)s;
    return next;
}

void gang__reports_free(gang_sched *s, struct gang__job *job)
{
    gang__heartbeat_free(s, job);
}
