/* SPDX-License-Identifier: Apache-2.0 */
/* Copying one job: the block of memory in which the job, its gangs, texts and lists lie, and what
 * the members of job and gangs keep. */
#include "sched/copy/copy_in.h"

#include <string.h>

#include "base/two_pass_block.h"
#include "place/request/request.h"
#include "sched/record/state.h"

static void *copy_bytes(struct gang__block *b, const void *from, size_t bytes)
{
    void *to = from ? gang__block_alloc(b, bytes) : NULL;
    if (to)
        memcpy(to, from, bytes);
    return to;
}

/* Also for a job that no run has accepted yet. */
static size_t groups_of(const struct gang__gang *g)
{
    return (g->request_class ? g->request_class->request : g->text->request)->group_count;
}

static const struct gang__job_options *lay_options(struct gang__block *b,
                                                   const struct gang__job *job)
{
    const struct gang__job_options *from = job->options;
    size_t groups = job->group_count;
    struct gang__job_options *to, none = {.array_name = NULL};
    if (from == &gang__no_job_options)
        return from;
    to = gang__block_alloc(b, sizeof(*to));
    to = to ? to : &none;
    *to = *from;
    to->array_name = gang__block_text(b, from->array_name);
    to->made_queue = job->leaf ? NULL : gang__block_text(b, from->made_queue);
    to->protected_groups = copy_bytes(b, from->protected_groups, groups * sizeof(int32_t));
    to->group_order = copy_bytes(b, from->group_order, groups * sizeof(int64_t));
    to->roles = copy_bytes(b, from->roles, groups * sizeof(int32_t));
    to->after = copy_bytes(b, from->after, from->after_count * sizeof(*to->after));
    to->group_after =
        copy_bytes(b, from->group_after, from->group_after_count * sizeof(*to->group_after));
    to->missing_of = copy_bytes(b, from->missing_of, groups * sizeof(int64_t));
    return b->base ? to : NULL;
}

/* What a job needs until a run accepts it. */
static const struct gang__restored_job *lay_restored(struct gang__block *b,
                                                     const struct gang__job *job)
{
    const struct gang__restored_job *from = job->restored;
    struct gang__restored_job *to, none = {.places = NULL};
    if (job->leaf || from == &gang__not_restored)
        return &gang__not_restored;
    to = gang__block_alloc(b, sizeof(*to));
    to = to ? to : &none;
    *to = *from;
    to->places = copy_bytes(b, from->places, from->place_count * sizeof(*to->places));
    to->past = copy_bytes(b, from->past, sizeof(*to->past));
    to->stops = copy_bytes(b, from->stops, from->kept_stop_count * sizeof(*to->stops));
    for (size_t i = 0; i < from->kept_stop_count; i++) {
        const struct gang__found *f = &from->stops[i].task;
        struct gang__found_task *task = copy_bytes(b, f->task, f->count * sizeof(*task));
        if (b->base)
            to->stops[i].task.task = task;
    }
    to->gone = copy_bytes(b, from->gone, from->gone_count * sizeof(*to->gone));
    to->promised = copy_bytes(b, from->promised, from->promised_count * sizeof(*to->promised));
    to->resumes = copy_bytes(b, from->resumes, from->resumes_count * sizeof(*to->resumes));
    return b->base ? to : NULL;
}

/* One block, measured first: the job, its gangs, texts and lists. */
static struct gang__job *lay_job(struct gang__block *b, const struct gang__job *from)
{
    size_t gangs = from->gang_count * sizeof(*from->gang);
    struct gang__job none = {.group_count = 0}, *job = gang__block_alloc(b, sizeof(*job) + gangs);
    if (job)
        memset(job, 0, sizeof(*job) + gangs);
    else
        job = &none;
    job->name = gang__block_text(b, from->name);
    job->user = gang__block_text(b, from->user);
    job->options = lay_options(b, from);
    job->restored = lay_restored(b, from);
    for (uint32_t i = 0; i < from->gang_count; i++) {
        const struct gang__gang *g = &from->gang[i];
        size_t own = groups_of(g);
        int64_t *counts = gang__block_alloc(b, 5 * own * sizeof(*counts));
        int32_t *group_of = copy_bytes(b, g->group_of, own * sizeof(*group_of));
        if (!b->base)
            continue;
        memset(counts, 0, 5 * own * sizeof(*counts));
        job->gang[i].has = memcpy(counts, g->has, own * sizeof(*counts));
        job->gang[i].done = memcpy(counts + own, g->done, own * sizeof(*counts));
        job->gang[i].failed = memcpy(counts + 2 * own, g->failed, own * sizeof(*counts));
        job->gang[i].victim.tentative_tasks = counts + 3 * own;
        job->gang[i].stop.fenced = memcpy(counts + 4 * own, g->stop.fenced, own * sizeof(*counts));
        job->gang[i].group_of = group_of;
    }
    return (struct gang__job *)(void *)b->base; /* it lies first */
}

static void copy_members(struct gang__job *to, const struct gang__job *from)
{
    to->id = from->id;
    to->queue_id = from->queue_id;
    to->priority = from->priority;
    to->age = from->age;
    to->score = from->score;
    to->preemptible = from->preemptible;
    to->loss = from->loss;
    to->held = from->held;
    to->never_preempts = from->never_preempts;
    to->stale = from->stale;
    to->ending = from->ending;
    to->reserve.limit_kept = from->reserve.limit_kept;
    to->undone = from->undone;
    to->gang_count = from->gang_count;
    to->group_count = from->group_count;
    to->state = from->state;
    to->end = from->end;
    to->end_wanted = from->end_wanted;
    to->wait_why = from->wait_why;
    to->stop_reason = from->stop_reason;
    to->submitted_ns = from->submitted_ns;
    to->started_ns = from->started_ns;
    to->paused_ns = from->paused_ns;
    to->paused_since_ns = from->paused_since_ns;
    to->paused = from->paused;
    to->ready_ns = from->ready_ns;
    to->not_before_ns = from->not_before_ns;
    to->extended_ns = from->extended_ns;
    to->predicted_ns = from->predicted_ns;
    to->expected_ns = from->expected_ns;
    to->due_ns = INT64_MAX;
    to->time_limit_ns = from->time_limit_ns;
    to->next_back_off_ns = from->next_back_off_ns;
    to->cookie = from->cookie;
    to->start_full = from->start_full;
    to->missing = from->missing;
    to->attained = from->attained;
    to->served = from->served;
    to->restarts = from->restarts;
    to->preemptions = from->preemptions;
}

/* What it holds, not where it waits. */
static void copy_gang_state(struct gang__gang *to, const struct gang__gang *from,
                            struct gang__job *job)
{
    to->job = job;
    to->index = from->index;
    to->alloc = from->alloc;
    to->tasks = from->tasks;
    to->started_ns = from->started_ns;
    to->served_ns = from->served_ns;
    to->preempt.demand_at = from->preempt.demand_at;
    to->preempt.grown_at = from->preempt.grown_at;
    to->preempt.stopped = from->preempt.stopped;
    to->stop.unreleased = from->stop.unreleased;
    to->stop.fenced_tasks = from->stop.fenced_tasks;
    to->demands = from->demands;
    to->over = from->over;
    to->begun = from->begun;
    to->starved = from->starved;
    to->bypass.bypassed = from->bypass.bypassed;
    to->bypass.blocked_ns = from->bypass.blocked_ns;
    to->bypass.cannot_fit_at = from->bypass.cannot_fit_at;
    to->bypass.had_turn = from->bypass.had_turn;
    to->preempt.handover_failed_at = from->preempt.handover_failed_at;
    to->preempt.took = from->preempt.took;
    to->preempt.told_at = from->preempt.told_at;
    to->reports.below_min = from->reports.below_min;
    to->reports.refill = from->reports.refill;
    to->ended = from->ended;
    to->target = from->target;
    to->reports.below_min_ns = from->reports.below_min_ns;
    to->reports.refill_ns = from->reports.refill_ns;
}

struct gang__job *gang__job_copy(gang_sched *s, const struct gang__job *from)
{
    struct gang__block b = {NULL, 0};
    (void)lay_job(&b, from);
    b.base = gang__alloc(&s->mem, b.used);
    if (!b.base)
        return NULL;
    b.used = 0;
    struct gang__job *job = lay_job(&b, from);
    copy_members(job, from);
    for (uint32_t i = 0; i < from->gang_count; i++)
        copy_gang_state(&job->gang[i], &from->gang[i], job);
    return job;
}
