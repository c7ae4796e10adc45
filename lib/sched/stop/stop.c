/* SPDX-License-Identifier: Apache-2.0 */
/* Stops: the scheduler asks the host to stop tasks, or a whole gang.
 *
 * The tasks leave usage at once, but stay allocated until they have stopped: the host reports it,
 * or the grace of their queue has passed and the host has killed them. A host that cannot stop
 * them now is asked again. Then what they held is released (give_back.c), or kept
 * for the gang that preempted them (handover.c). */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/stop/stop_in.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- stopping -------------------------------------------------------------------------------- */

static void unlink_stop(struct gang__stop *stop)
{
    struct gang__stop **at = &stop->gang->stop.first;
    while (*at != stop)
        at = &(*at)->next;
    *at = stop->next;
}

/* All tasks of the stop have stopped: what they held is released, or kept for the handover. */
static void stopped_all(gang_sched *s, struct gang__stop *stop)
{
    struct gang__gang *g = stop->gang;
    stop->stopped = true;
    unlink_stop(stop);
    gang__wake_holding(s, g);
    s->stop.hooks->stopped(s, stop->alloc);
    if (!stop->handover) {
        gang__stop_release(s, stop);
        gang__stop_free(s, stop);
    }
    gang__wake_job(s, g->job, GANG__WAKE_STOPPED);
}

/* A task that is reported twice counts once. */
static void note_task_stopped(struct gang__stop *stop, int64_t task)
{
    int64_t *at =
        stop->left ? bsearch(&task, stop->still, stop->left, sizeof(task), gang__by_number) : NULL;
    if (!at)
        return;
    stop->left--;
    memmove(at, at + 1, (stop->left - (size_t)(at - stop->still)) * sizeof(*at));
}

void gang__stop_tasks_gone(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count)
{
    struct gang__stop *next;
    for (struct gang__stop *stop = g->stop.first; stop; stop = next) {
        next = stop->next;
        for (size_t i = 0; tasks && i < count; i++)
            note_task_stopped(stop, tasks[i]);
        if (!tasks)
            stop->left = 0;
        if (stop->left == 0) {
            stopped_all(s, stop);
            next = g->stop.first; /* the list may have changed */
        }
    }
}

struct place_list {
    struct gang__gang *gang;
    const struct gang__stop *leave;
};

/* Skips tasks that were asked to stop earlier on their own: they do not resume. */
static int32_t add_place(const struct gang_task *task, void *user)
{
    const struct place_list *n = user;
    struct gang__gang *g = n->gang;
    if (!bsearch(&task->task, n->leave->own, n->leave->own_count, sizeof(task->task),
                 gang__by_number))
        return 0;
    struct gang_placement *p = &g->places[g->place_count++];
    *p = (struct gang_placement)GANG_PLACEMENT_INIT;
    p->group = task->group;
    p->node = task->node;
    p->gpus = task->gpus;
    p->any_devices = task->gpus == 0;
    return 0;
}

/* A suspended gang resumes on the same places: record them. False: out of memory. */
static bool note_places(gang_sched *s, struct gang__gang *g, const struct gang__stop *stop)
{
    struct place_list n = {g, stop};
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    g->place_count = 0;
    if (gang_alloc_get(s->cluster, g->alloc, &info) != GANG_OK || info.tasks == 0)
        return true;
    g->places = gang__zalloc(&s->mem, (size_t)info.tasks, sizeof(*g->places));
    if (!g->places)
        return false;
    if (gang_alloc_each(s->cluster, g->alloc, add_place, &n) != GANG_OK || g->place_count == 0) {
        gang__release(&s->mem, g->places);
        g->places = NULL;
    }
    return true;
}

static bool is_for_others(int32_t reason)
{
    return reason == GANG_REASON_PREEMPT || reason == GANG_REASON_RECLAIM;
}

/* The host's op for this stop: shrink for single tasks; otherwise suspend or preempt, as the
 * queue says. */
static int32_t (*op_for(const gang_sched *s,
                        const struct gang__stop *stop))(const struct gang_event *, void *)
{
    if (stop->tasks)
        return s->ops.shrink;
    return stop->suspends ? s->ops.suspend : s->ops.preempt;
}

/* List the tasks of a gang that stops as a whole, without those that were asked earlier. */
static bool name_all(gang_sched *s, struct gang__stop *stop)
{
    struct gang__found *f = &s->found;
    if (gang__alloc_find(s->cluster, stop->alloc, NULL, 0, f) != GANG_OK ||
        !gang__stop_alloc_tasks(s, stop, f->count))
        return false;
    for (size_t i = 0; i < f->count; i++)
        if (!gang__stop_asked(s, stop->gang, f->task[i].task))
            stop->own[stop->own_count++] = f->task[i].task;
    return true;
}

static struct gang__stop *new_stop(gang_sched *s, struct gang__gang *g, const int64_t *tasks,
                                   size_t count)
{
    struct gang__stop *stop = gang__zalloc(&s->mem, 1, sizeof(*stop));
    if (!stop)
        return NULL;
    stop->gang = g;
    stop->alloc = g->alloc;
    if (!(tasks ? gang__stop_name_tasks(s, stop, tasks, count) : name_all(s, stop))) {
        gang__stop_free(s, stop);
        return NULL;
    }
    memcpy(stop->still, stop->own, stop->own_count * sizeof(*stop->still));
    stop->left = stop->own_count;
    stop->counted = true;
    g->stop.unreleased++;
    return stop;
}

struct task_count {
    const struct gang__stop *leave;
    int64_t *by_group;
    size_t next;
};

static int32_t count_task(const struct gang_task *task, void *user)
{
    struct task_count *t = user;
    while (t->next < t->leave->task_count && t->leave->tasks[t->next] < task->task)
        t->next++;
    if (t->next < t->leave->task_count && t->leave->tasks[t->next] == task->task)
        t->by_group[task->group]++;
    return 0;
}

/* The tasks leave usage; gangs that wait for usage to go down are woken. */
static void leave_usage(gang_sched *s, struct gang__gang *g, const struct gang__stop *stop)
{
    uint32_t groups = gang__gang_request(g)->group_count;
    gang__order_unblock_queues(s, g->job->leaf);
    if (!stop->tasks) {
        gang__gang_clear(s, g);
        return;
    }
    struct task_count t = {stop, s->by_group, 0};
    memset(s->by_group, 0, groups * sizeof(*s->by_group));
    (void)!gang_alloc_each(s->cluster, g->alloc, count_task, &t);
    gang__usage_out(s, g);
    for (uint32_t group = 0; group < groups; group++) {
        g->has[group] -= s->by_group[group];
        g->tasks -= s->by_group[group];
    }
    gang__usage_in(s, g);
    gang__wake_shares(s);
    if (g->job->leaf_user)
        gang__order_rekey_user(s, g->job->leaf, g->job->leaf_user);
}

struct gang__stop *gang__stop_new(gang_sched *s, struct gang__gang *g, const int64_t *tasks,
                                  size_t count, int32_t reason)
{
    struct gang__stop *stop = new_stop(s, g, tasks, count);
    if (!stop)
        return NULL;
    stop->reason = reason;
    stop->suspends =
        !tasks && is_for_others(reason) && g->job->leaf->q->preempt == GANG_PREEMPT_MODE_SUSPEND;
    if (stop->suspends && s->ops.suspend && !note_places(s, g, stop)) {
        gang__stop_free(s, stop);
        return NULL;
    }
    return stop;
}

void gang__stop_discard(gang_sched *s, struct gang__stop *stop)
{
    if (stop->suspends && stop->gang->alloc == stop->alloc) {
        gang__release(&s->mem, stop->gang->places);
        stop->gang->places = NULL;
    }
    gang__stop_free(s, stop);
}

int32_t gang__stop_tasks(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                         int32_t reason, int32_t end)
{
    struct gang__stop *stop = gang__stop_new(s, g, tasks, count, reason);
    return stop ? gang__stop_begin(s, stop, GANG_ID_NONE, NULL, end) : (int32_t)GANG_ENOMEM;
}

/* Count the tasks as preempted, unless the job itself is to end or to shrink. */
static void count_preempted(gang_sched *s, const struct gang__stop *stop)
{
    struct gang__job *job = stop->gang->job;
    bool all = !stop->tasks, for_others = is_for_others(stop->reason);
    if (!for_others && stop->reason != GANG_REASON_STALE && stop->reason != GANG_REASON_MOVE &&
        stop->reason != GANG_REASON_SLICE && stop->reason != GANG_REASON_REQUEUE &&
        stop->reason != GANG_REASON_DRAIN)
        return;
    s->info.tasks_preempted += (int64_t)stop->left;
    if (all)
        job->preemptions++;
    if (all || !stop->gang->demands) /* else it goes on to demand what it demanded */
        stop->gang->preempt.stopped =
            for_others || stop->reason == GANG_REASON_MOVE || stop->reason == GANG_REASON_SLICE;
    if (all && for_others && job->leaf->q->preempt == GANG_PREEMPT_MODE_CANCEL) {
        job->ending = true;
        job->end_wanted = GANG_END_PREEMPTED;
    }
}

/* ---- asking the host ------------------------------------------------------------------------- */

enum { REFUSED = 1 }; /* an answer like any other that is not 0 and has no meaning of its own */

static struct gang_event event_of(gang_sched *s, const struct gang__stop *stop, const char *text)
{
    struct gang_event e = gang__event_of(s, stop->gang, stop->reason, text);
    e.alloc = stop->alloc;
    e.tasks = stop->tasks;
    e.task_count = stop->task_count;
    e.state = gang__job_state_now(stop->gang->job);
    return e;
}

static bool is_refusal(int32_t answer)
{
    return answer != GANG_OK && answer != GANG_EBUSY && answer != GANG_ENOENT;
}

/* A gang that does not resume forgets its places. */
static void forget_places(gang_sched *s, struct gang__gang *g)
{
    gang__release(&s->mem, g->places);
    g->places = NULL;
    g->place_count = 0;
}

/* Asks the host to stop the tasks. Returns its answer. */
static int32_t ask(gang_sched *s, struct gang__stop *stop)
{
    struct gang__gang *g = stop->gang;
    struct gang_event e = event_of(s, stop, "asked to stop");
    e.deadline_ns = stop->deadline_ns;
    e.preemptor = stop->because;
    e.end = stop->end;
    int32_t (*op)(const struct gang_event *, void *) = op_for(s, stop);
    int32_t answer = op ? op(&e, s->user) : REFUSED;
    if (stop->suspends && is_refusal(answer) && g->places) { /* preempt it instead */
        stop->suspends = false;
        forget_places(s, g);
        answer = s->ops.preempt ? s->ops.preempt(&e, s->user) : REFUSED;
    }
    return answer;
}

/* The host does not know the tasks: they have stopped. A job that it does not know ends. */
static void unknown_to_host(gang_sched *s, struct gang__stop *stop)
{
    struct gang__job *job = stop->gang->job;
    gang__log(s, 0, "the host does not know what is to stop of job %llu",
              (unsigned long long)job->id);
    if (stop->tasks)
        return;
    if (stop->suspends)
        forget_places(s, stop->gang);
    gang__move_end(s, stop->gang);
    job->ending = true;
    if (job->end_wanted == GANG_END_NONE)
        job->end_wanted = GANG_END_FAILED;
}

/* The tasks are asked, or killed, once more. */
static void again_later(gang_sched *s, struct gang__stop *stop)
{
    stop->next_ns = gang__add_sat(s->now_ns, s->opts.stop_again_ns);
}

/* The grace has passed. Returns whether the tasks have stopped. */
static bool kill_tasks(gang_sched *s, struct gang__stop *stop)
{
    struct gang_event e = event_of(s, stop, "the grace has passed");
    int32_t answer = s->ops.kill ? s->ops.kill(&e, s->user) : GANG_OK;
    if (answer == GANG_EBUSY) {
        again_later(s, stop);
        return false;
    }
    if (answer == GANG_ENOENT)
        unknown_to_host(s, stop);
    if (answer == GANG_ENOENT || s->opts.kill_wait_ns == 0)
        return true;
    stop->killed = true;
    stop->next_ns =
        s->opts.kill_wait_ns < 0 ? INT64_MAX : gang__add_sat(s->now_ns, s->opts.kill_wait_ns);
    return false;
}

/* The host was asked to stop the tasks. Returns whether they have stopped. */
static bool take_answer(gang_sched *s, struct gang__stop *stop, int32_t answer)
{
    if (answer == GANG_EBUSY) {
        again_later(s, stop);
        return false;
    }
    if (answer == GANG_ENOENT)
        unknown_to_host(s, stop);
    if (answer != GANG_OK)
        return true;
    stop->next_ns = stop->deadline_ns;
    return stop->deadline_ns <= s->now_ns && kill_tasks(s, stop);
}

static void stop_ends(gang_sched *s, struct gang__stop *stop)
{
    if (stop->tasks)
        stopped_all(s, stop);
    else /* also ends earlier stops of single tasks */
        gang__stop_tasks_gone(s, stop->gang, NULL, 0);
}

static void stop_due(gang_sched *s, struct gang__stop *stop)
{
    struct gang__job *job = stop->gang->job;
    bool stopped;
    if (job->ending)
        stop->end = job->end_wanted;
    if (stop->killed)
        stopped = true;
    else if (stop->deadline_ns <= s->now_ns)
        stopped = kill_tasks(s, stop);
    else
        stopped = take_answer(s, stop, ask(s, stop));
    if (stopped)
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

int32_t gang__stop_begin(gang_sched *s, struct gang__stop *stop, gang_job_id because,
                         struct gang__handover *handover, int32_t end)
{
    struct gang__gang *g = stop->gang;
    struct gang__job *job = g->job;
    bool has_run = gang__slice_has_run(g);
    stop->because = because;
    stop->end = end;
    stop->deadline_ns = stop->next_ns = gang__add_sat(s->now_ns, job->leaf->q->grace_ns);
    stop->handover = handover;
    if (handover) {
        stop->next_of_handover = handover->stops;
        handover->stops = stop;
    }
    stop->next = g->stop.first;
    g->stop.first = stop;
    gang__order_leave(s, g);
    leave_usage(s, g, stop);
    if (stop->to && handover)
        gang__move_begin(s, stop);
    count_preempted(s, stop);
    /* The host is not asked if all tasks were asked earlier, one by one, or if the host has not
     * heard of the start. */
    if (stop->left == 0 || !has_run) {
        stopped_all(s, stop);
        return GANG_OK;
    }
    if (take_answer(s, stop, ask(s, stop))) {
        stop_ends(s, stop);
        return GANG_OK;
    }
    gang__job_state(s, job, stop->reason, "stopping");
    gang__wake_job(s, job, GANG__WAKE_SETTLE);
    return 1;
}

/* The running tasks of the gang leave usage. The caller frees the allocation. */
void gang__gang_clear(gang_sched *s, struct gang__gang *g)
{
    gang__usage_out(s, g);
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
