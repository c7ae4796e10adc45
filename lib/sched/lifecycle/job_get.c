/* SPDX-License-Identifier: Apache-2.0 */
/* What do the public queries about jobs return? */
#include <string.h>

#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"

/* A start of which the host has not heard is not shown. */
static gang_alloc_id holds_for_host(const struct gang__gang *g)
{
    return g->untold.start ? GANG_ID_NONE : gang__gang_holds(g);
}

gang_result gang_job_get(gang_sched *sched, gang_job_id id, struct gang_job_info *info)
{
    struct gang_job_info out;
    if (!sched || !info)
        return GANG_EINVAL;
    const struct gang__job *job = gang__job_of(sched, id);
    if (!job)
        return GANG_ESTALE;
    memset(&out, 0, sizeof(out));
    out.size = info->size;
    out.id = id;
    out.queue = job->leaf->q->id;
    out.cookie = job->cookie;
    out.alloc = holds_for_host(&job->gang[0]);
    out.state = gang__job_state_now(job); /* as in the events of the run that is under way */
    out.end = job->end;
    out.held = job->held;
    out.preemptible = job->preemptible;
    out.priority = job->priority;
    out.multifactor_priority = job->leaf->q->order == GANG_ORDER_MULTIFACTOR ? job->score : 0;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        out.tasks += gang__tasks_told(&job->gang[i]);
        out.min += gang__gang_request(&job->gang[i])->min;
        out.count += job->gang[i].target;
    }
    for (uint32_t i = 0; i < job->gang_count && !out.slice_row; i++)
        out.slice_row = (int32_t)gang__slice_row(&job->gang[i]);
    out.suspended_ns = gang__job_paused(sched, job);
    out.submitted_ns = job->submitted_ns;
    out.started_ns = job->started_ns;
    out.restarts = job->restarts;
    out.preemptions = job->preemptions;
    out.name = job->name;
    out.user = job->user;
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].calendar.plan &&
            (!out.planned_ns || job->gang[i].calendar.planned_ns < out.planned_ns))
            out.planned_ns = job->gang[i].calendar.planned_ns;
    int64_t ends = job->state == GANG_JOB_RUNNING
                       ? gang__time_limit_end(job, gang__time_limit_from(sched, job))
                       : INT64_MAX;
    out.ends_ns = ends == INT64_MAX ? 0 : ends;
    out.predicted_ns = job->predicted_ns;
    out.missing = job->missing;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__gang *g = &job->gang[i];
        out.starved = out.starved || g->starved;
        out.bypassed = g->bypass.bypassed > out.bypassed ? g->bypass.bypassed : out.bypassed;
    }
    return gang__struct_out(info, info->size, offsetof(struct gang_job_info, user), &out,
                            sizeof(out));
}

/* Of several stops: that of the whole gang, or the one that ends first. Fences are none. */
static const struct gang__stop *first_stop(const struct gang__job *job)
{
    const struct gang__stop *first = NULL;
    for (uint32_t i = 0; i < job->gang_count; i++)
        for (const struct gang__stop *stop = job->gang[i].stop.first; stop; stop = stop->next)
            if (!stop->fenced &&
                (!first || (!stop->tasks && first->tasks) ||
                 (!stop->tasks == !first->tasks && stop->deadline_ns < first->deadline_ns)))
                first = stop;
    return first;
}

/* The gang has stopped, and is to start elsewhere; or lost tasks of it may still run. */
static const struct gang__stop *last_stop(const struct gang__job *job)
{
    const struct gang__stop *stop = NULL;
    for (uint32_t i = 0; i < job->gang_count && !stop; i++)
        stop = job->gang[i].stop.moving ? job->gang[i].stop.moving : job->gang[i].stop.first;
    return stop;
}

/* How often back_off_ns was doubled. */
static int64_t attempts_of(const struct gang__job *job)
{
    int64_t attempts = 0;
    for (int64_t wait = job->options->back_off_ns; wait > 0 && wait < job->next_back_off_ns;
         attempts++)
        wait = wait > INT64_MAX / 2 ? INT64_MAX : wait * 2;
    return attempts;
}

gang_result gang_job_get_past(gang_sched *sched, gang_job_id id, struct gang_job_past *past)
{
    struct gang_job_past out = GANG_JOB_PAST_INIT;
    if (!sched || !past)
        return GANG_EINVAL;
    const struct gang__job *job = gang__job_of(sched, id);
    if (!job)
        return GANG_ESTALE;
    const struct gang__stop *stop = first_stop(job);
    out.state = job->state;
    if (!stop && job->state == GANG_JOB_STOPPING) /* only a move, or fences, are left */
        stop = last_stop(job);
    if (stop) {
        out.reason = stop->reason;
        out.end = job->ending ? job->end_wanted : GANG_END_NONE;
        out.deadline_ns = stop->deadline_ns;
        out.preemptor = stop->because;
    }
    out.submitted_ns = job->submitted_ns;
    out.started_ns = job->started_ns;
    out.suspended_ns = gang__job_paused(sched, job);
    out.restarts = job->restarts;
    out.preemptions = job->preemptions;
    out.extended_ns = job->extended_ns;
    out.attempts = attempts_of(job);
    out.not_before_ns = job->not_before_ns > 0 ? job->not_before_ns : 0;
    out.ready_ns = job->ready_ns;
    int64_t target = 0, count = 0;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        target += job->gang[i].target;
        count += gang__gang_request(&job->gang[i])->count;
    }
    out.target = target < count ? target : -1;
    const struct gang__gang_reports *reports =
        &job->gang[0].reports; /* only one gang is restored */
    out.below_min_ns = reports->below_min ? gang__max(reports->below_min_ns, 1) : 0;
    out.refill_ns = reports->refill ? reports->refill_ns : 0;
    gang__slice_past(sched, gang__gang_holds(&job->gang[0]), &out);
    out.size = past->size;
    return gang__struct_out(past, past->size, offsetof(struct gang_job_past, below_min_ns), &out,
                            sizeof(out));
}

gang_alloc_id gang_job_alloc(gang_sched *sched, gang_job_id id, int32_t gang)
{
    const struct gang__job *job = sched ? gang__job_of(sched, id) : NULL;
    return job && gang >= 0 && (uint32_t)gang < job->gang_count ? holds_for_host(&job->gang[gang])
                                                                : GANG_ID_NONE;
}

gang_result gang_job_gang_groups(gang_sched *sched, gang_job_id id, int32_t gang, int32_t *groups,
                                 size_t group_size, size_t *needed)
{
    if (needed)
        *needed = 0;
    if (!sched || (group_size && !groups))
        return GANG_EINVAL;
    const struct gang__job *job = gang__job_of(sched, id);
    if (!job)
        return GANG_ESTALE;
    if (gang < 0 || (uint32_t)gang >= job->gang_count)
        return GANG_ENOENT;
    const struct gang__gang *g = &job->gang[gang];
    uint32_t count = gang__gang_request(g)->group_count;
    if (needed)
        *needed = count;
    if (count > group_size)
        return GANG_ELIMIT;
    for (uint32_t group = 0; group < count; group++)
        groups[group] = gang__group_in_job(g, group);
    return GANG_OK;
}

static int before_id(const struct gang__set_link *n, const void *key)
{
    return GANG__OF(struct gang__job, by_id, n)->id <= *(const gang_job_id *)key ? -1 : 1;
}

gang_job_id gang_job_next(gang_sched *sched, gang_job_id id)
{
    struct gang__set_link *n = sched ? gang__set_lower_bound(&sched->by_id, before_id, &id) : NULL;
    return n ? GANG__OF(struct gang__job, by_id, n)->id : GANG_ID_NONE;
}
