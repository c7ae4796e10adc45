/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a job: one block, measured first and then filled. */
#include <string.h>

#include "sched/intake/submit_in.h"
#include "sched/lifecycle/lifecycle.h"

static void *copy(struct gang__block *b, const void *from, size_t bytes)
{
    void *to = gang__block_alloc(b, bytes);
    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

/* Lay the job out in one block: measured first, then made. */
static struct gang__job *lay_out(const struct gang__submit *m, struct gang__block *b)
{
    const struct gang_job_spec *j = m->spec;
    size_t groups = j->request.group_count;
    struct gang__job *job = gang__block_alloc(b, sizeof(*job)), none;
    if (!job)
        job = &none;
    else
        memset(job, 0, sizeof(*job));
    job->gang = gang__block_alloc(b, m->gang_count * sizeof(struct gang__gang));
    size_t texts = j->prefer_wait_ns > 0 ? 2 * (size_t)m->gang_count : m->gang_count;
    job->request_text = gang__block_alloc(b, texts * sizeof(*job->request_text));
    int64_t *counts = gang__block_alloc(b, 5 * groups * sizeof(*counts));
    int32_t *group_of =
        m->gang_count == 1 ? NULL : gang__block_alloc(b, groups * sizeof(*group_of));
    job->name = gang__block_text(b, j->name ? j->name : "");
    job->user = gang__block_text(b, j->user ? j->user : "");
    job->array_name = gang__block_text(b, j->array ? j->array : "");
    job->made_queue = m->made[0] ? gang__block_text(b, m->made) : NULL;
    job->protected_groups =
        j->protected_groups ? copy(b, j->protected_groups, groups * sizeof(int32_t)) : NULL;
    job->group_order = j->group_order ? copy(b, j->group_order, groups * sizeof(int64_t)) : NULL;
    job->roles = j->roles ? copy(b, j->roles, groups * sizeof(int32_t)) : NULL;
    job->after = gang__block_alloc(b, j->after_count * sizeof(*job->after));
    job->group_after = copy(b, j->group_after, j->group_after_count * sizeof(*j->group_after));
    size_t kept = gang__submit_kept_places(j);
    job->places = gang__block_alloc(b, (j->place_count + kept) * sizeof(*job->places));
    job->past = j->past ? copy(b, j->past, sizeof(*job->past)) : NULL;
    job->stops = gang__block_alloc(b, j->past ? (j->stop_count + 1) * sizeof(*job->stops) : 0);
    struct gang__found_task *stop_tasks =
        gang__block_alloc(b, (j->past ? 4 * j->place_count + kept : 0) * sizeof(*stop_tasks));
    job->gone = gang__block_alloc(b, (j->past ? j->place_count : 0) * sizeof(*job->gone));
    job->promised = gang__block_alloc(b, (j->past ? j->place_count : 0) * sizeof(*job->promised));
    job->resumes = gang__block_alloc(b, (j->past ? j->place_count : 0) * sizeof(*job->resumes));
    job->missing_of = j->announced ? gang__block_alloc(b, groups * sizeof(int64_t)) : NULL;
    if (!b->base)
        return NULL;
    if (j->past) {
        memset(job->stops, 0, (j->stop_count + 1) * sizeof(*job->stops));
        job->stops[0].task.task = stop_tasks;
    }
    memset(job->gang, 0, m->gang_count * sizeof(*job->gang));
    memset(job->request_text, 0, texts * sizeof(*job->request_text));
    job->later_text = j->prefer_wait_ns > 0 ? job->request_text + m->gang_count : NULL;
    memset(counts, 0, 5 * groups * sizeof(*counts));
    job->gang_count = m->gang_count;
    job->group_count = (uint32_t)groups;
    for (uint32_t p = 0; p < m->gang_count; p++) {
        struct gang__gang *g = &job->gang[p];
        size_t n = 0;
        g->job = job;
        g->index = p;
        g->has = counts;
        for (size_t group = 0; group < groups; group++)
            if (m->gang_of[group] == p) {
                g->target += gang__submit_group(&j->request, group)->count;
                if (group_of)
                    group_of[n] = (int32_t)group;
                n++;
            }
        g->done = g->has + n;
        g->failed = g->done + n;
        g->victim.tentative_tasks = g->failed + n;
        g->stop.fenced = g->victim.tentative_tasks + n;
        counts += 5 * n;
        g->group_of = group_of;
        group_of = group_of ? group_of + n : NULL;
    }
    for (size_t group = 0; j->announced && group < groups; group++) {
        job->missing_of[group] = gang__submit_group(&j->request, group)->count;
        job->missing += job->missing_of[group];
    }
    for (size_t i = 0; i < j->after_count; i++)
        job->after[i] = (struct gang__after){j->after[i].job, j->after[i].when};
    job->after_count = j->after_count;
    job->group_after_count = j->group_after_count;
    return (struct gang__job *)(void *)b->base; /* it lies first */
}

/* The queue, the age and the time limit are those of the specification. */
static void set_past(struct gang__job *job, const struct gang_job_past *past)
{
    job->restarts = past->restarts;
    job->preemptions = past->preemptions;
    job->extended_ns = past->extended_ns;
    job->paused_ns = past->suspended_ns;
    job->ready_ns = past->ready_ns < 0 ? -1 : past->ready_ns;
    if (past->not_before_ns > 0)
        job->not_before_ns = past->not_before_ns;
    for (int64_t i = 0; i < past->attempts && job->next_back_off_ns > 0; i++)
        job->next_back_off_ns =
            job->next_back_off_ns > INT64_MAX / 2 ? INT64_MAX : job->next_back_off_ns * 2;
}

static void set_members(struct gang__job *job, const struct gang_job_spec *j,
                        const struct gang__queue *q)
{
    job->cookie = j->cookie;
    job->priority = j->priority;
    job->age = j->submit;
    job->time_limit_ns = j->time_limit_ns ? j->time_limit_ns : q->default_time_limit_ns;
    job->start_within_ns = j->start_within_ns;
    job->begin_ns = j->begin_ns ? j->begin_ns : INT64_MIN;
    job->deadline_ns = j->deadline_ns;
    job->back_off_ns = job->next_back_off_ns = j->back_off_ns;
    job->restart_delay_ns = j->restart_delay_ns;
    job->refill_ns = j->refill_ns;
    job->heartbeat_ns = j->heartbeat_ns;
    job->prefer_wait_ns = j->prefer_wait_ns;
    job->max_restarts = j->max_restarts;
    job->parallelism = j->parallelism;
    job->array_max_running = j->array_max_running ? j->array_max_running : INT64_MAX;
    job->due_ns = INT64_MAX;
    job->ready_ns = -1;
    job->not_before_ns = INT64_MIN;
    job->preemptible = j->preemptible;
    job->loss = j->loss;
    job->held = j->hold != 0;
    job->never_preempts = j->never_preempts != 0;
    job->start_full = j->start_full != 0;
    job->stale = j->stale != 0;
    job->queue_id = q->id;
    if (j->past)
        set_past(job, j->past);
}

/* ---- places of a job that runs already ------------------------------------------------------- */

static gang_result bad_place(struct gang_error *error, gang_result r, size_t i, const char *text)
{
    gang__error(error, r, NULL, "%s", text);
    return gang__error_at(error, r, "places[%zu]", i);
}

/* A place in the size that the library knows. */
static struct gang_running_spec place_of(const struct gang_job_spec *j, size_t i)
{
    size_t size = j->place_size ? j->place_size : offsetof(struct gang_running_spec, numbered);
    struct gang_running_spec place;
    memset(&place, 0, sizeof(place));
    memcpy(&place, (const char *)j->places + i * size, size < sizeof(place) ? size : sizeof(place));
    return place;
}

/* Numbers of devices to bits. */
static gang_result set_devices(const struct gang_running_spec *at, size_t i,
                               struct gang_placement *p, struct gang_error *error)
{
    p->any_devices = at->device_count == 0;
    for (size_t k = 0; k < at->device_count; k++) {
        const char *text = at->devices[k];
        int64_t number = 0;
        for (; *text >= '0' && *text <= '9' && number < GANG_MAX_GPUS; text++)
            number = number * 10 + (*text - '0');
        if (*text || number >= GANG_MAX_GPUS) {
            gang__error(error, GANG_EINVAL, NULL, "not the number of a device");
            return gang__error_at(error, GANG_EINVAL, "places[%zu].devices[%zu]", i, k);
        }
        p->gpus |= UINT64_C(1) << number;
    }
    return GANG_OK;
}

/* A task that holds its place. */
static gang_result set_place(gang_sched *s, struct gang__job *job,
                             const struct gang_running_spec *at, size_t i, size_t group,
                             struct gang_error *error)
{
    bool promised = at->what == GANG_PLACE_PROMISED;
    bool resumes = at->what == GANG_PLACE_RESUMES && job->past->state != GANG_JOB_SUSPENDED;
    struct gang_placement *p = promised  ? &job->promised[job->promised_count]
                               : resumes ? &job->resumes[job->resumes_count]
                                         : &job->places[job->place_count];
    *p = (struct gang_placement)GANG_PLACEMENT_INIT;
    gang_result r = gang_node_find(s->cluster, at->node, &p->node);
    if (r != GANG_OK || group >= job->group_count)
        return bad_place(error, r != GANG_OK ? r : GANG_EINVAL, i, "no such node, or no such task");
    p->group = (int32_t)group;
    p->task = promised ? -1 : (int64_t)i; /* a promised one gets its number when it starts */
    if (at->numbered) {
        if (at->task < 0 || at->task > INT64_C(1) << 31)
            return bad_place(error, GANG_ERANGE, i,
                             "the number of a task is negative or too large");
        p->task = at->task;
    }
    if (at->cores) {
        p->any_cores = 0;
        memcpy(p->cores, at->cores, sizeof(p->cores));
    }
    if (at->what == GANG_TASK_STOPPED)
        job->stops[0].task.task[job->stops[0].task.count++] =
            (struct gang__found_task){p->task, p->node, (uint32_t)p->group};
    job->place_count += !promised && !resumes;
    job->promised_count += promised;
    job->resumes_count += resumes;
    return set_devices(at, i, p, error);
}

/* A task that has ended. Such a job has one gang. */
static gang_result set_ended(struct gang__job *job, const struct gang_running_spec *at, size_t i,
                             size_t group, struct gang_error *error)
{
    struct gang__gang *g = &job->gang[0];
    if (!job->past || at->node || group >= job->group_count)
        return bad_place(error, GANG_EINVAL, i,
                         "a task that has ended, without a past, with a node, or no such task");
    int64_t number = at->numbered ? at->task : (int64_t)i;
    if (number < 0 || number >= g->target) /* of all its tasks: no target is set yet */
        return bad_place(error, GANG_ERANGE, i, "no such task");
    g->done[group]++;
    g->failed[group] += at->what == GANG_TASK_FAILED;
    g->ended++;
    job->gone[job->gone_count++] = number;
    return GANG_OK;
}

static gang_result set_places(gang_sched *s, struct gang__job *job, const struct gang_job_spec *j,
                              struct gang_error *error)
{
    size_t group = 0, task = 0;
    gang_result r = GANG_OK;
    for (size_t i = 0; i < j->place_count && r == GANG_OK; i++, task++) {
        struct gang_running_spec at = place_of(j, i);
        while (group < j->request.group_count &&
               task >= (size_t)gang__submit_group(&j->request, group)->count) {
            task -= (size_t)gang__submit_group(&j->request, group)->count;
            group++;
        }
        size_t own = at.grouped && at.group >= 0 ? (size_t)at.group : at.grouped ? SIZE_MAX : group;
        bool stops = at.what == GANG_TASK_STOPPED || at.what == GANG_PLACE_PROMISED ||
                     at.what == GANG_PLACE_RESUMES;
        if (at.what == GANG_TASK_SUCCEEDED || at.what == GANG_TASK_FAILED)
            r = set_ended(job, &at, i, own, error);
        else if (at.what != GANG_TASK_STARTED && !(stops && job->past))
            r = bad_place(error, GANG_EINVAL, i, "`what` is no such value, or has no past");
        else if (at.node)
            r = set_place(s, job, &at, i, own, error);
    }
    return r;
}

/* Nodes where the job failed, as far as they are there. */
static gang_result set_failed_nodes(gang_sched *s, struct gang__job *job, struct gang_error *error)
{
    struct gang_job_past *past = job->past;
    if (!past || past->failed_node_count == 0)
        return GANG_OK;
    if (!past->failed_nodes)
        return gang__submit_error(error, GANG_EINVAL, "past.failed_nodes", "missing");
    job->failed_nodes = gang__zalloc(&s->mem, past->failed_node_count, sizeof(*job->failed_nodes));
    if (!job->failed_nodes)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    for (size_t i = 0; i < past->failed_node_count; i++)
        job->failed_node_count +=
            past->failed_nodes[i] &&
            gang_node_find(s->cluster, past->failed_nodes[i],
                           &job->failed_nodes[job->failed_node_count]) == GANG_OK;
    past->failed_nodes = NULL; /* they are the caller's */
    past->failed_node_count = 0;
    return GANG_OK;
}

gang_result gang__submit_make_job(struct gang__submit *m, struct gang__job **out,
                                  struct gang_error *error)
{
    struct gang__block b = {NULL, 0};
    gang_sched *s = m->s;
    (void)lay_out(m, &b);
    b.base = gang__alloc(&s->mem, b.used);
    if (!b.base)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    b.used = 0;
    struct gang__job *job = lay_out(m, &b);
    set_members(job, m->spec, m->q);
    gang_result r = gang__submit_make_requests(m, job, error);
    if (r == GANG_OK)
        r = gang__submit_is_known(m->spec) ? set_places(s, job, m->spec, error) : GANG_OK;
    if (r == GANG_OK)
        r = gang__submit_make_stops(s, job, m->spec, error);
    if (r == GANG_OK)
        r = set_failed_nodes(s, job, error);
    if (job->place_count == 0)
        job->places = NULL;
    if (r != GANG_OK) {
        gang__job_free(s, job);
        return r;
    }
    *out = job;
    return GANG_OK;
}
