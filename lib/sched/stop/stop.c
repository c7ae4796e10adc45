/* SPDX-License-Identifier: Apache-2.0 */
/* Stops: the scheduler asks the host to stop tasks, or a whole gang.
 *
 * The tasks leave usage at once, but stay allocated until they have stopped: the host reports it,
 * or the grace of their queue has passed and the host has killed them (stop_ask.c). Then what they
 * held is released (give_back.c), or kept for the gang that preempted them (handover.c). */
#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "sched/order/order.h"
#include "sched/stop/stop_in.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- a stop ends ----------------------------------------------------------------------------- */

static void unlink_stop(struct gang__stop *stop)
{
    struct gang__stop **at = &stop->gang->stop.first;
    while (*at != stop)
        at = &(*at)->next;
    *at = stop->next;
}

/* Do tasks of the allocation stop still that were asked earlier or later, or are fenced? */
static bool some_stop_still(const struct gang__gang *g, gang_alloc_id alloc)
{
    const struct gang__stop *stop = g->stop.first;
    while (stop && stop->alloc != alloc)
        stop = stop->next;
    return stop != NULL;
}

/* All tasks of the stop have stopped: what they held is released, or kept for the handover. */
static void stopped_all(gang_sched *s, struct gang__stop *stop)
{
    struct gang__gang *g = stop->gang;
    stop->stopped = true;
    unlink_stop(stop);
    gang__stopping_out(stop);
    gang__order_unblock_queues(s, g->job->leaf);
    gang__wake_holding(s, g);
    if (stop->fenced)
        gang__fence_ended(s, stop);
    if (!some_stop_still(g, stop->alloc))
        s->stop.hooks->stopped(s, stop->alloc);
    stop->left = 0;
    if (stop->handover) {
        gang__stop_mark(s, stop);
    } else {
        gang__stop_release(s, stop);
        gang__stop_free(s, stop);
    }
    gang__wake_job(s, g->job, GANG__WAKE_STOPPED);
}

/* A task that is reported twice counts once. False: it does not count. */
static bool note_task_stopped(struct gang__stop *stop, int64_t task)
{
    int64_t *at =
        stop->left ? bsearch(&task, stop->still, stop->left, sizeof(task), gang__by_number) : NULL;
    if (!at)
        return false;
    stop->left--;
    memmove(at, at + 1, (stop->left - (size_t)(at - stop->still)) * sizeof(*at));
    return true;
}

/* Put the tasks that are of the stop last, ascending. Returns how many are before them. */
static size_t part_untold(const struct gang__stop *stop)
{
    struct gang__gang_untold *u = &stop->gang->untold;
    size_t others = 0;
    for (size_t i = 0; i < u->count; i++) {
        int64_t task = u->tasks[i];
        if (stop->own_count > 0 &&
            bsearch(&task, stop->own, stop->own_count, sizeof(task), gang__by_number))
            continue;
        u->tasks[i] = u->tasks[others];
        u->tasks[others++] = task;
    }
    if (others < u->count)
        qsort(u->tasks + others, u->count - others, sizeof(*u->tasks), gang__by_number);
    return others;
}

/* The tasks (which the host does not know yet) do not resume. Both lists ascend. */
static void forget_places(struct gang__gang *g, const int64_t *tasks, size_t count)
{
    struct gang__ascending list = {tasks, count, 0};
    int64_t kept = 0;
    for (int64_t i = 0; i < g->place_count; i++)
        if (!gang__ascending_has(&list, g->places[i].task))
            g->places[kept++] = g->places[i];
    g->place_count = kept;
}

/* The host stopped others for what it has not heard of, and another job gets it. */
static void log_passed_on(gang_sched *s, const struct gang__stop *stop)
{
    const struct gang__gang_untold *u = &stop->gang->untold;
    if (u->took && stop->because != GANG_ID_NONE)
        gang__log_job(s, GANG_LOG_PASSED_ON, stop->gang->job,
                      "what others freed for job %llu goes to job %llu",
                      (unsigned long long)stop->gang->job->id, (unsigned long long)stop->because);
}

/* Tasks that were added in this run, and of which the host has not heard, have stopped. */
static void stop_untold(gang_sched *s, struct gang__stop *stop)
{
    struct gang__gang_untold *u = &stop->gang->untold;
    size_t others = part_untold(stop), count = u->count - others;
    const int64_t *tasks = u->tasks + others;
    for (size_t i = 0; i < count; i++)
        (void)note_task_stopped(stop, tasks[i]);
    if (u->start || count > 0) {
        log_passed_on(s, stop);
        gang__untold_taken(s, stop, u->start ? NULL : tasks, count);
    }
    if (count > 0) {
        gang__stop_mark(s, stop); /* the host is not shown them either */
        if (stop->suspends)
            forget_places(stop->gang, tasks, count);
    }
    u->count = others;
}

void gang__stop_tasks_gone(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count)
{
    struct gang__stop *next;
    for (struct gang__stop *stop = g->stop.first; stop; stop = next) {
        bool some = false;
        next = stop->next;
        for (size_t i = 0; tasks && i < count; i++)
            some = note_task_stopped(stop, tasks[i]) || some;
        if (!tasks)
            stop->left = 0;
        if (some && stop->left > 0)
            gang__stop_mark(s, stop);
        if (stop->left == 0) {
            stopped_all(s, stop);
            next = g->stop.first; /* the list may have changed */
        }
    }
}

/* The end of a stop of the whole gang also ends earlier stops of single tasks. */
static void stop_ends(gang_sched *s, struct gang__stop *stop)
{
    struct gang__gang *g = stop->gang;
    bool all = !stop->tasks;
    do {
        stop->left = all ? 0 : stop->left;
        stopped_all(s, stop);
    } while (all && (stop = gang__stop_not_fenced(g)) != NULL);
}

static void stop_due(gang_sched *s, struct gang__stop *stop)
{
    struct gang__job *job = stop->gang->job;
    if (job->ending)
        stop->end = job->end_wanted;
    if (gang__stop_ask_again(s, stop))
        stop_ends(s, stop);
    else
        gang__wake_holding(s, stop->gang); /* the calendar expects the end later */
}

void gang__stop_due(gang_sched *s, struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__stop *stop = job->gang[i].stop.first;
        while (stop) {
            bool due = stop->next_ns <= s->now_ns;
            struct gang__stop *next = due ? NULL : stop->next;
            if (due) {
                stop_due(s, stop);
                next = job->state == GANG_JOB_ENDED ? NULL : job->gang[i].stop.first;
            }
            stop = next;
        }
    }
}

/* ---- a stop begins --------------------------------------------------------------------------- */

/* The running tasks of the gang leave usage. The caller frees the allocation. */
void gang__gang_clear(gang_sched *s, struct gang__gang *g)
{
    gang__usage_out(s, g);
    if (g->untold.start)
        gang__bypass_take_up(s, g);
    gang__untold_forget(s, g);
    memset(g->has, 0, gang__gang_request(g)->group_count * sizeof(*g->has));
    g->tasks = 0;
    g->preempt.took = false;
    g->alloc = GANG_ID_NONE;
    g->reports.below_min = g->reports.refill = false;
    gang__usage_in(s, g);
    gang__victims_leave(g);
    if (g->sliced)
        s->stop.hooks->detached(s, g);
    gang__wake_shares(s);
    if (g->job->leaf_user)
        gang__order_rekey_user(s, g->job->leaf, g->job->leaf_user);
}

struct task_count {
    struct gang__ascending tasks;
    int64_t *by_group;
};

static int32_t count_task(const struct gang_task *task, void *user)
{
    struct task_count *t = user;
    if (gang__ascending_has(&t->tasks, task->task))
        t->by_group[task->group]++;
    return 0;
}

/* The tasks leave usage; gangs that wait for usage to go down are woken. What the tasks hold counts
 * for limits alone from now on. */
static void leave_usage(gang_sched *s, struct gang__gang *g, struct gang__stop *stop)
{
    uint32_t groups = gang__gang_request(g)->group_count;
    gang__order_unblock_queues(s, g->job->leaf);
    gang__stopping_note_class(stop);
    if (!stop->tasks) {
        memcpy(stop->by_group, g->has, groups * sizeof(*g->has));
        gang__gang_clear(s, g);
        return;
    }
    struct task_count t = {{stop->tasks, stop->task_count, 0}, stop->by_group};
    (void)!gang__alloc_each(s->cluster, g->alloc, count_task, &t);
    gang__usage_out(s, g);
    for (uint32_t group = 0; group < groups; group++) {
        g->has[group] -= stop->by_group[group];
        g->tasks -= stop->by_group[group];
    }
    gang__usage_in(s, g);
    gang__wake_shares(s);
    if (g->job->leaf_user)
        gang__order_rekey_user(s, g->job->leaf, g->job->leaf_user);
}

/* Count the tasks as preempted, unless the job itself is to end or to shrink. A job that ends when
 * it is preempted waits as before if the host has not heard of its start, or of any of its
 * tasks. */
static void count_preempted(gang_sched *s, const struct gang__stop *stop, bool has_run)
{
    bool heard = has_run && (stop->left > 0 || stop->own_count == 0); /* 0: asked earlier */
    struct gang__job *job = stop->gang->job;
    bool all = !stop->tasks, for_others = gang__stop_is_for_others(stop->reason);
    if (!for_others && stop->reason != GANG_REASON_STALE && stop->reason != GANG_REASON_MOVE &&
        stop->reason != GANG_REASON_SLICE && stop->reason != GANG_REASON_REQUEUE &&
        stop->reason != GANG_REASON_DRAIN)
        return;
    if (!stop->untold)
        s->info.tasks_preempted += (int64_t)stop->left;
    if (all && !stop->untold)
        job->preemptions++;
    if (all || !stop->gang->demands) /* else it goes on to demand what it demanded */
        stop->gang->preempt.stopped =
            for_others || stop->reason == GANG_REASON_MOVE || stop->reason == GANG_REASON_SLICE;
    if (all && for_others && heard && job->leaf->q->preempt == GANG_PREEMPT_MODE_CANCEL) {
        job->ending = true;
        job->end_wanted = GANG_END_PREEMPTED;
    }
}

/* Count what the host is asked for; it is not if it has not heard of the start. */
static void count_stop(gang_sched *s, const struct gang__stop *stop)
{
    if (stop->left > 0 && gang__slice_has_run(stop->gang))
        gang__stats_stopped(s, stop->gang, stop->reason, stop->tasks ? (int64_t)stop->left : 0);
}

void gang__stop_book(gang_sched *s, struct gang__stop *stop, gang_job_id because,
                     struct gang__handover *handover, int32_t end)
{
    struct gang__gang *g = stop->gang;
    stop->untold = g->untold.start;
    stop->took = g->untold.took;
    stop->starts_as = g->untold.start_reason;
    stop->has_run = gang__slice_has_run(g);
    stop->because = because;
    stop->end = end;
    stop->deadline_ns = stop->next_ns = gang__add_sat(s->now_ns, g->job->leaf->q->grace_ns);
    stop->handover = handover;
    if (handover) {
        stop->next_of_handover = handover->stops;
        handover->stops = stop;
    }
    stop->next = g->stop.first;
    g->stop.first = stop;
    gang__order_leave(s, g);
    stop_untold(s, stop);
    count_stop(s, stop);
    leave_usage(s, g, stop);
    if (stop->to && handover)
        gang__move_begin(s, stop);
    gang__stopping_in(stop);
    count_preempted(s, stop, stop->has_run);
}

int32_t gang__stop_request(gang_sched *s, struct gang__stop *stop)
{
    struct gang__job *job = stop->gang->job;
    /* The host is not asked if all tasks were asked earlier, one by one, or if the host has not
     * heard of the start. */
    if (stop->left == 0 || !stop->has_run) {
        stopped_all(s, stop);
        return GANG_OK;
    }
    stop->asked = true;
    if (gang__stop_ask(s, stop)) {
        stop_ends(s, stop);
        return GANG_OK;
    }
    gang__job_state(s, job, stop->reason, "stopping");
    gang__wake_job(s, job, GANG__WAKE_SETTLE);
    return 1;
}

int32_t gang__stop_begin(gang_sched *s, struct gang__stop *stop, gang_job_id because,
                         struct gang__handover *handover, int32_t end)
{
    gang__stop_book(s, stop, because, handover, end);
    return gang__stop_request(s, stop);
}

gang_result gang__stop_unknown(gang_sched *s, struct gang__gang *g)
{
    struct gang__stop *stop = gang__stop_new(s, g, NULL, 0, GANG_REASON_END);
    if (!stop)
        return GANG_ENOMEM;
    gang__stop_book(s, stop, GANG_ID_NONE, NULL, GANG_END_FAILED);
    gang__stop_unknown_to_host(s, stop);
    stop_ends(s, stop);
    return GANG_OK;
}

void gang__stop_restore(gang_sched *s, struct gang__stop *stop, const struct gang__kept_stop *kept)
{
    struct gang__gang *g = stop->gang;
    struct gang__job *job = g->job;
    bool others = gang__stop_is_for_others(stop->reason) || stop->reason == GANG_REASON_MOVE;
    stop->because = kept->preemptor;
    stop->end = kept->end;
    stop->deadline_ns = kept->deadline_ns;
    stop->next_ns = kept->next_ns;
    stop->killed = kept->what == GANG_STOP_KILLED;
    stop->restored = kept->handover > 0 || kept->what != GANG_STOP_MOVED ? kept->handover : 1;
    stop->starts_as = kept->starts_as;
    stop->asked = !kept->unasked;
    s->stop.restored = s->stop.restored || stop->restored;
    stop->next = g->stop.first;
    g->stop.first = stop;
    gang__order_leave(s, g);
    leave_usage(s, g, stop);
    gang__stopping_in(stop);
    if (!stop->tasks && others && job->restored->past->end == GANG_END_NONE)
        g->preempt.stopped = true;
    else if (!stop->tasks)
        gang__job_ends_after(job, stop->reason);
    if (stop->left < stop->own_count)
        gang__stop_mark(s, stop);
    gang__job_state(s, job, stop->reason, "stopping");
}

void gang__job_ends_after(struct gang__job *job, int32_t reason)
{
    job->ending = true;
    job->end_wanted = job->restored->past->end;
    job->stop_reason = reason;
}

int32_t gang__stop_tasks(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                         int32_t reason, int32_t end)
{
    struct gang__stop *stop = gang__stop_new(s, g, tasks, count, reason);
    return stop ? gang__stop_begin(s, stop, GANG_ID_NONE, NULL, end) : (int32_t)GANG_ENOMEM;
}
