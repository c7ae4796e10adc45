/* SPDX-License-Identifier: Apache-2.0 */
/* Which jobs and groups does a gang wait for, and does it ever start? */
#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/record/state.h"

static bool has_started(const struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].begun)
            return true;
    return false;
}

/* Here and below: 1: the condition holds; 0: not yet; -1: it never will. */
static int after_job(const gang_sched *s, const struct gang__after *after)
{
    const struct gang__job *job = gang__job_of(s, after->job);
    if (!job)
        return 1;
    if (job->state == GANG_JOB_ENDED)
        return after->when != GANG_AFTER_SUCCESS || job->end == GANG_END_SUCCESS ? 1 : -1;
    return after->when == GANG_AFTER_START && has_started(job);
}

static const struct gang__gang *gang_with_group(const struct gang__job *job, int32_t group,
                                                uint32_t *at)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        for (uint32_t g = 0; g < gang__gang_request(&job->gang[i])->group_count; g++)
            if (gang__group_in_job(&job->gang[i], g) == group) {
                *at = g;
                return &job->gang[i];
            }
    return NULL;
}

static bool has_group(const struct gang__gang *g, int32_t group)
{
    uint32_t at;
    return gang_with_group(g->job, group, &at) == g;
}

static int after_group(const struct gang__job *job, const struct gang_group_after *after)
{
    uint32_t group = 0;
    const struct gang__gang *g = gang_with_group(job, after->after, &group);
    int64_t count = gang__gang_request(g)->group[group].count;
    bool over = g->over || g->done[group] >= count; /* g->over: a lowered target was met */
    switch (after->when) {
    case GANG_AFTER_START:
        return over || (g->begun && g->has[group] + g->done[group] >= count);
    case GANG_AFTER_END:
        return over;
    default:
        return !over ? 0 : g->failed[group] == 0 ? 1 : -1;
    }
}

int gang__dependencies_check(const gang_sched *s, const struct gang__gang *g)
{
    const struct gang__job *job = g->job;
    int may = 1;
    for (size_t i = 0; i < job->options->after_count && may > 0; i++)
        may = after_job(s, &job->options->after[i]);
    for (size_t i = 0; i < job->options->group_after_count && may > 0; i++)
        if (has_group(g, job->options->group_after[i].group))
            may = after_group(job, &job->options->group_after[i]);
    return may;
}

gang_job_id gang__job_waits_for(const gang_sched *s, const struct gang__job *job)
{
    for (size_t i = 0; i < job->options->after_count; i++)
        if (after_job(s, &job->options->after[i]) <= 0)
            return job->options->after[i].job;
    return GANG_ID_NONE;
}

bool gang__job_register_waiter(gang_sched *s, struct gang__job *job)
{
    for (size_t i = 0; i < job->options->after_count; i++) {
        struct gang__job *first = gang__job_of(s, job->options->after[i].job);
        struct gang__waiter *w;
        if (!first || first == job || first->state == GANG_JOB_ENDED)
            continue;
        w = gang__zalloc(&s->mem, 1, sizeof(*w));
        if (!w)
            return false;
        w->job = job->id;
        w->next = first->waiters;
        first->waiters = w;
    }
    return true;
}

void gang__job_wake_waiters(gang_sched *s, struct gang__job *job)
{
    for (struct gang__waiter *w = job->waiters; w; w = w->next) {
        struct gang__job *waiting = gang__job_of(s, w->job);
        if (waiting && waiting->state != GANG_JOB_ENDED)
            gang__job_settle(s, waiting);
    }
}
