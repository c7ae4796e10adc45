/* SPDX-License-Identifier: Apache-2.0 */
/* Is the job over, and how did it end? The roles of its groups decide. */
#include <string.h>

#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/order/order.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

int32_t gang__role_of(const struct gang__gang *g, uint32_t group)
{
    const struct gang__job *job = g->job;
    if (!job->options->roles)
        return GANG_ROLE_MEMBER;
    return job->options->roles[gang__group_in_job(g, group)];
}

/* Have all tasks of the group ended, with none to come? */
static bool group_over(const struct gang__gang *g, uint32_t group)
{
    if (g->over)
        return true;
    bool began = gang__gang_holds(g) != GANG_ID_NONE || g->places;
    return began && g->has[group] == 0 && gang__gang_to_come(g, group) == 0;
}

/* The results of all groups of a role, over all gangs. */
struct results {
    bool any, over;
    int64_t done, failed;
};

static void add_group(struct results *t, const struct gang__gang *g, uint32_t group)
{
    t->over = t->over && group_over(g, group);
    t->any = true;
    t->done += g->done[group];
    t->failed += g->failed[group];
}

/* Does a group wait for the success of a group that is over and had failures? */
static bool depends_on_failed_group(const struct gang__job *job)
{
    for (size_t i = 0; i < job->options->group_after_count; i++)
        for (uint32_t k = 0; k < job->gang_count; k++)
            for (uint32_t g = 0; g < gang__gang_request(&job->gang[k])->group_count; g++) {
                const struct gang__gang *gang = &job->gang[k];
                if (job->options->group_after[i].after == gang__group_in_job(gang, g) &&
                    job->options->group_after[i].when == GANG_AFTER_SUCCESS &&
                    gang->failed[g] > 0 && group_over(gang, g))
                    return true;
            }
    return false;
}

int32_t gang__job_result(const struct gang__job *job)
{
    struct results chiefs = {.over = true}, members = {.over = true}, all = {.over = true};
    for (uint32_t i = 0; i < job->gang_count; i++)
        for (uint32_t group = 0; group < gang__gang_request(&job->gang[i])->group_count; group++) {
            const struct gang__gang *g = &job->gang[i];
            int32_t role = gang__role_of(g, group);
            add_group(&all, g, group);
            if (role == GANG_ROLE_CHIEF)
                add_group(&chiefs, g, group);
            if (role == GANG_ROLE_MEMBER || role == GANG_ROLE_CRITICAL)
                add_group(&members, g, group);
        }
    /* If the target is low, groups that have not run yet may get no task. */
    if (chiefs.any && chiefs.over && chiefs.done > 0)
        return GANG_END_SUCCESS;
    if (depends_on_failed_group(job))
        return GANG_END_FAILED;
    const struct results *those = members.any ? &members : &all;
    if (chiefs.any || !those->over || those->done == 0)
        return GANG_END_NONE;
    return members.done > 0 && members.failed == members.done ? GANG_END_FAILED : GANG_END_SUCCESS;
}

/* The allocation holds nothing any more: free it. */
static void free_allocation(gang_sched *s, struct gang__gang *g)
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

bool gang__gangs_close(gang_sched *s, struct gang__job *job)
{
    int32_t result = gang__job_result(job);
    for (uint32_t i = 0; i < job->gang_count; i++) {
        struct gang__gang *g = &job->gang[i];
        if (holds_nothing(g) && g->ended > 0 && gang__gang_lacks_all(g) == 0) {
            free_allocation(s, g);
            g->over = true;
        }
    }
    if (result != GANG_END_NONE)
        gang__reports_stop(s, job, GANG_REASON_END, result);
    return result != GANG_END_NONE;
}

void gang__reports_stop(gang_sched *s, struct gang__job *job, int32_t reason, int32_t end)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (holds_nothing(&job->gang[i]))
            free_allocation(s, &job->gang[i]);
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
    gang__ended_tasks_clear(g);
    g->ended = 0;
    gang__usage_in(s, g);
    gang__wake_shares(s);
}

void gang__reports_continue(gang_sched *s, struct gang__job *job)
{
    if (job->state == GANG_JOB_ENDED || job->ending)
        return;
    if (gang__gangs_close(s, job))
        return;
    for (uint32_t i = 0; i < job->gang_count; i++)
        gang__reports_note_minimum(s, &job->gang[i]);
    gang__job_count(s, job);
    gang__job_state(s, job, GANG_REASON_NONE, "tasks ended");
    gang__job_settle(s, job);
}
