/* SPDX-License-Identifier: Apache-2.0 */
/* Which tasks does a report name, and which of them still run?
 *
 * A task that was asked to stop has left usage already. After any report about it, it has stopped.
 * The same of a task that was lost and may still run, except for its heartbeat.
 * A report about a task that has stopped before says nothing new. */
#include <stdlib.h>
#include <string.h>

#include "place/alloc/alloc.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/record/state.h"
#include "sched/stop/stop.h"

void gang__report_free(gang_sched *s, struct gang__report *r)
{
    gang__found_free(&r->running, &s->cluster->mem);
    gang__found_free(&r->stopping, &s->cluster->mem);
    gang__found_free(&r->fenced, &s->cluster->mem);
}

static bool is_stopping(const struct gang__gang *g, int64_t task)
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

/* Was the task asked to stop, and has it stopped? What it held is released with other tasks, or
 * kept for a handover. */
static bool has_stopped(const gang_sched *s, const struct gang__gang *g, int64_t task)
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

/* Separate running from stopping and fenced tasks; drop those that have stopped. False: out of
 * memory. */
static bool separate(gang_sched *s, struct gang__report *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->running.count; i++) {
        struct gang__found_task t = r->running.task[i];
        if (has_stopped(s, r->gang, t.task))
            continue;
        if (!is_stopping(r->gang, t.task)) {
            r->running.task[kept++] = t;
            continue;
        }
        struct gang__found *f = gang__fence_has(r->gang, t.task) ? &r->fenced : &r->stopping;
        if (!gang__grow(&s->cluster->mem, (void **)&f->task, &f->cap, f->count + 1, sizeof(t)))
            return false;
        f->task[f->count++] = t;
    }
    r->running.count = kept;
    return true;
}

bool gang__report_look_up(gang_sched *s, struct gang__report *r, const int64_t *tasks, size_t count)
{
    gang_alloc_id alloc = gang__gang_holds(r->gang);
    int64_t *sorted = NULL;
    if (alloc == GANG_ID_NONE)
        return true;
    if (!gang__ended_tasks_reserve(s, r->gang))
        return false;
    if (tasks && count > 1) {
        sorted = gang__zalloc(&s->mem, count, sizeof(*sorted));
        if (!sorted)
            return false;
        memcpy(sorted, tasks, count * sizeof(*sorted));
        qsort(sorted, count, sizeof(*sorted), gang__by_number);
        tasks = sorted;
    }
    gang_result found = gang__alloc_find(s->cluster, alloc, tasks, count, &r->running);
    gang__release(&s->mem, sorted);
    if (found != GANG_OK && found != GANG_ESTALE)
        return false;
    if (tasks && r->running.count < count)
        gang__log_job(s, GANG_LOG_IGNORED, r->job,
                      "job %llu: a report names %zu tasks that the job does not have",
                      (unsigned long long)r->job->id, count - r->running.count);
    return separate(s, r);
}

int64_t *gang__report_numbers(gang_sched *s, const struct gang__found *f)
{
    int64_t *tasks = gang__zalloc(&s->mem, f->count ? f->count : 1, sizeof(*tasks));
    for (size_t i = 0; tasks && i < f->count; i++)
        tasks[i] = f->task[i].task;
    return tasks;
}

void gang__report_keep_node(const gang_sched *s, struct gang__found *f, gang_node_id node)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++)
        if (node == GANG__LOST_NODES ? gang__nodes_is_lost(s, f->task[i].node)
                                     : f->task[i].node == node)
            f->task[kept++] = f->task[i];
    f->count = kept;
}

struct gang__gang *gang__report_gang(struct gang__job *job, uint32_t index, gang_alloc_id alloc)
{
    struct gang__gang *g = index < job->gang_count ? &job->gang[index] : NULL;
    if (!g || job->state == GANG_JOB_ENDED || gang__gang_holds(g) == GANG_ID_NONE)
        return NULL;
    if (alloc == GANG_ID_NONE || alloc == g->alloc)
        return g;
    for (const struct gang__stop *stop = g->stop.first; stop; stop = stop->next)
        if (stop->alloc == alloc)
            return g;
    return NULL;
}
