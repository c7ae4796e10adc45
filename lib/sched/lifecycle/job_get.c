/* SPDX-License-Identifier: Apache-2.0 */
/* What do the public queries about jobs return? */
#include <string.h>

#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/record/state.h"
#include "sched/slice/slice.h"

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
    out.alloc = gang__gang_holds(&job->gang[0]);
    out.state = gang__job_state_now(job); /* as in the events of the run that is under way */
    out.end = job->end;
    out.held = job->held;
    out.preemptible = job->preemptible;
    out.priority = job->priority;
    out.multifactor_priority = job->leaf->q->order == GANG_ORDER_MULTIFACTOR ? job->score : 0;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        out.tasks += job->gang[i].tasks;
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
        out.starved = out.starved || g->bypass.starved;
        out.bypassed = g->bypass.bypassed > out.bypassed ? g->bypass.bypassed : out.bypassed;
    }
    return gang__struct_out(info, info->size, offsetof(struct gang_job_info, user), &out,
                            sizeof(out));
}

gang_alloc_id gang_job_alloc(gang_sched *sched, gang_job_id id, int32_t gang)
{
    const struct gang__job *job = sched ? gang__job_of(sched, id) : NULL;
    return job && gang >= 0 && (uint32_t)gang < job->gang_count ? gang__gang_holds(&job->gang[gang])
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
