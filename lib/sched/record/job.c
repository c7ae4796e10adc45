/* SPDX-License-Identifier: Apache-2.0 */
/* The table of jobs, and queries about one job: its state, its pauses, its time limit. */
#include "base/wide.h"
#include "sched/record/job_record.h"

_Static_assert(sizeof(struct gang__job) + sizeof(struct gang__gang) <= 1152,
               "what few jobs need belongs into a record of its own (job_state.h)");

const struct gang__job_options gang__no_job_options = {
    .begin_ns = INT64_MIN, .array_max_running = INT64_MAX, .array_name = ""};
const struct gang__restored_job gang__not_restored;

int gang__job_order(const struct gang__set_link *a, const struct gang__set_link *b, const void *ctx)
{
    gang_job_id x = GANG__OF(struct gang__job, by_id, a)->id,
                y = GANG__OF(struct gang__job, by_id, b)->id;
    (void)ctx;
    return x < y ? -1 : x > y;
}

struct gang__job *gang__job_of(const gang_sched *s, gang_job_id id)
{
    struct gang__hash_link *n = gang__hash_first(&s->jobs, id);
    for (; n; n = n->next) {
        struct gang__job *job = GANG__OF(struct gang__job, link, n);
        if (job->id == id)
            return job;
    }
    return NULL;
}

/* ---- states ---------------------------------------------------------------------------------- */

int32_t gang__job_state_now(const struct gang__job *job)
{
    bool runs = false, stops = false, suspended = false;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__gang *g = &job->gang[i];
        bool out = gang__slice_is_suspended(g);
        runs = runs || (g->alloc != GANG_ID_NONE && !out && !g->untold.start);
        suspended = suspended || g->places || g->untold.places || out;
        stops = stops || g->stop.first || g->stop.moving;
    }
    return job->end != GANG_END_NONE ? GANG_JOB_ENDED
           : runs                    ? GANG_JOB_RUNNING
           : stops                   ? GANG_JOB_STOPPING
           : suspended               ? GANG_JOB_SUSPENDED
                                     : GANG_JOB_PENDING;
}

int64_t gang__job_paused(const gang_sched *s, const struct gang__job *job)
{
    int64_t now = job->paused ? s->now_ns - job->paused_since_ns : 0;
    return gang__add_sat(job->paused_ns, now);
}

/* ---- time limits ----------------------------------------------------------------------------- */

int64_t gang__time_limit_run(const struct gang__job *job)
{
    /* a kept limit does not count: the other gangs of the job would be out of order */
    bool limited = job->time_limit_ns > 0 && !job->reserve.limit_kept;
    int64_t limit = limited ? job->time_limit_ns : INT64_MAX;
    return job->predicted_ns > 0 ? gang__min(job->predicted_ns, limit) : limit;
}

int64_t gang__time_limit_end(const struct gang__job *job, int64_t from_ns)
{
    int64_t end = job->options->deadline_ns > 0 ? job->options->deadline_ns : INT64_MAX;
    if (job->time_limit_ns > 0)
        end = gang__min(
            end, gang__add_sat(gang__add_sat(from_ns, job->time_limit_ns), job->extended_ns));
    return end;
}

int64_t gang__time_limit_expected(const struct gang__job *job, int64_t from_ns)
{
    int64_t end = gang__time_limit_end(job, from_ns);
    return job->expected_ns > 0 ? gang__min(end, gang__add_sat(from_ns, job->expected_ns)) : end;
}

int64_t gang__time_limit_from(const gang_sched *s, const struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count && job->state != GANG_JOB_RUNNING; i++)
        if (job->gang[i].alloc != GANG_ID_NONE && !gang__slice_has_run(&job->gang[i]))
            return s->now_ns; /* it starts now, and the host has not heard of it */
    return gang__add_sat(job->started_ns, gang__job_paused(s, job));
}
