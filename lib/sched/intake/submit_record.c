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

/* Does the specification say anything of struct gang__job_options? */
static bool has_options(const struct gang__submit *m)
{
    const struct gang_job_spec *j = m->spec;
    const int64_t numbers = j->start_within_ns | j->heartbeat_ns | j->back_off_ns | j->begin_ns |
                            j->deadline_ns | j->restart_delay_ns | j->refill_ns | j->max_restarts |
                            j->parallelism | j->prefer_wait_ns | j->array_max_running;
    return numbers != 0 || j->after_count + j->group_after_count > 0 || j->announced ||
           j->protected_groups || j->roles || j->group_order || (j->array && j->array[0]) ||
           m->made[0];
}

static void set_options(struct gang__job_options *o, const struct gang_job_spec *j)
{
    o->start_within_ns = j->start_within_ns;
    o->heartbeat_ns = j->heartbeat_ns;
    o->back_off_ns = j->back_off_ns;
    o->begin_ns = j->begin_ns ? j->begin_ns : INT64_MIN;
    o->deadline_ns = j->deadline_ns;
    o->restart_delay_ns = j->restart_delay_ns;
    o->refill_ns = j->refill_ns;
    o->max_restarts = j->max_restarts;
    o->parallelism = j->parallelism;
    o->prefer_wait_ns = j->prefer_wait_ns;
    o->array_max_running = j->array_max_running ? j->array_max_running : INT64_MAX;
    o->after_count = j->after_count;
    o->group_after_count = j->group_after_count;
}

static const struct gang__job_options *lay_options(const struct gang__submit *m,
                                                   struct gang__block *b)
{
    const struct gang_job_spec *j = m->spec;
    size_t groups = j->request.group_count;
    if (!m->options)
        return &gang__no_job_options;
    struct gang__job_options *o = gang__block_alloc(b, sizeof(*o)), none = {.array_name = NULL};
    o = o ? o : &none;
    set_options(o, j);
    o->array_name = gang__block_text(b, j->array ? j->array : "");
    o->made_queue = m->made[0] ? gang__block_text(b, m->made) : NULL;
    o->protected_groups =
        j->protected_groups ? copy(b, j->protected_groups, groups * sizeof(int32_t)) : NULL;
    o->group_order = j->group_order ? copy(b, j->group_order, groups * sizeof(int64_t)) : NULL;
    o->roles = j->roles ? copy(b, j->roles, groups * sizeof(int32_t)) : NULL;
    struct gang__after *after = gang__block_alloc(b, j->after_count * sizeof(*after));
    o->group_after = copy(b, j->group_after, j->group_after_count * sizeof(*j->group_after));
    o->missing_of = j->announced ? gang__block_alloc(b, groups * sizeof(int64_t)) : NULL;
    o->after = after;
    for (size_t i = 0; after && i < j->after_count; i++)
        after[i] = (struct gang__after){j->after[i].job, j->after[i].when};
    for (size_t i = 0; o->missing_of && i < groups; i++)
        o->missing_of[i] = gang__submit_group(&j->request, i)->count;
    return b->base ? o : NULL;
}

/* Room for as much as the specification may say; set_places() and submit_stops.c fill it. */
static struct gang__restored_job *lay_restored(const struct gang_job_spec *j, struct gang__block *b)
{
    size_t places = j->past ? j->place_count : 0, kept = gang__submit_kept_places(j);
    if (j->place_count == 0 && !j->past)
        return NULL;
    struct gang__restored_job *r = gang__block_alloc(b, sizeof(*r)), none = {.places = NULL};
    r = r ? r : &none;
    memset(r, 0, sizeof(*r));
    r->places = gang__block_alloc(b, (j->place_count + kept) * sizeof(*r->places));
    r->past = j->past ? copy(b, j->past, sizeof(*r->past)) : NULL;
    r->stops = gang__block_alloc(b, j->past ? (j->stop_count + 1) * sizeof(*r->stops) : 0);
    struct gang__found_task *stop_tasks =
        gang__block_alloc(b, (j->past ? 4 * places + kept : 0) * sizeof(*stop_tasks));
    r->gone = gang__block_alloc(b, places * sizeof(*r->gone));
    r->promised = gang__block_alloc(b, places * sizeof(*r->promised));
    r->resumes = gang__block_alloc(b, places * sizeof(*r->resumes));
    if (r->past) {
        memset(r->stops, 0, (j->stop_count + 1) * sizeof(*r->stops));
        r->stops[0].task.task = stop_tasks;
    }
    return b->base ? r : NULL;
}

/* Lay the gangs out: counts of each group, five of each, and the groups of each gang. */
static void lay_gangs(const struct gang__submit *m, struct gang__job *job, int64_t *counts,
                      int32_t *group_of)
{
    size_t groups = m->spec->request.group_count;
    memset(counts, 0, 5 * groups * sizeof(*counts));
    for (uint32_t p = 0; p < m->gang_count; p++) {
        struct gang__gang *g = &job->gang[p];
        size_t n = 0;
        g->job = job;
        g->index = p;
        g->has = counts;
        for (size_t group = 0; group < groups; group++)
            if (m->gang_of[group] == p) {
                g->target += gang__submit_group(&m->spec->request, group)->count;
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
}

/* Lay the job out in one block: measured first, then made. */
static struct gang__job *lay_out(struct gang__submit *m, struct gang__block *b)
{
    const struct gang_job_spec *j = m->spec;
    size_t groups = j->request.group_count, gangs = m->gang_count * sizeof(struct gang__gang);
    struct gang__job *job = gang__block_alloc(b, sizeof(*job) + gangs), none;
    if (job)
        memset(job, 0, sizeof(*job) + gangs);
    else
        job = &none;
    int64_t *counts = gang__block_alloc(b, 5 * groups * sizeof(*counts));
    int32_t *group_of =
        m->gang_count == 1 ? NULL : gang__block_alloc(b, groups * sizeof(*group_of));
    job->name = gang__block_text(b, j->name ? j->name : "");
    job->user = gang__block_text(b, j->user ? j->user : "");
    job->options = lay_options(m, b);
    m->restored = lay_restored(j, b);
    if (!b->base)
        return NULL;
    job->restored = m->restored ? m->restored : &gang__not_restored;
    job->gang_count = m->gang_count;
    job->group_count = (uint32_t)groups;
    lay_gangs(m, job, counts, group_of);
    for (size_t group = 0; j->announced && group < groups; group++)
        job->missing += job->options->missing_of[group];
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
    job->next_back_off_ns = j->back_off_ns;
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
static gang_result set_place(const struct gang__submit *m, const struct gang_running_spec *at,
                             size_t i, size_t group, struct gang_error *error)
{
    struct gang__restored_job *restored = m->restored;
    bool promised = at->what == GANG_PLACE_PROMISED;
    bool resumes = at->what == GANG_PLACE_RESUMES && restored->past->state != GANG_JOB_SUSPENDED;
    struct gang_placement *p = promised  ? &restored->promised[restored->promised_count]
                               : resumes ? &restored->resumes[restored->resumes_count]
                                         : &restored->places[restored->place_count];
    *p = (struct gang_placement)GANG_PLACEMENT_INIT;
    gang_result r = gang_node_find(m->s->cluster, at->node, &p->node);
    if (r != GANG_OK || group >= m->spec->request.group_count)
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
        restored->stops[0].task.task[restored->stops[0].task.count++] =
            (struct gang__found_task){p->task, p->node, (uint32_t)p->group};
    restored->place_count += !promised && !resumes;
    restored->promised_count += promised;
    restored->resumes_count += resumes;
    return set_devices(at, i, p, error);
}

/* A task that has ended. Such a job has one gang. */
static gang_result set_ended(const struct gang__submit *m, struct gang__job *job,
                             const struct gang_running_spec *at, size_t i, size_t group,
                             struct gang_error *error)
{
    struct gang__restored_job *restored = m->restored;
    struct gang__gang *g = &job->gang[0];
    if (!restored->past || at->node || group >= job->group_count)
        return bad_place(error, GANG_EINVAL, i,
                         "a task that has ended, without a past, with a node, or no such task");
    int64_t number = at->numbered ? at->task : (int64_t)i;
    if (number < 0 || number >= g->target) /* of all its tasks: no target is set yet */
        return bad_place(error, GANG_ERANGE, i, "no such task");
    g->done[group]++;
    g->failed[group] += at->what == GANG_TASK_FAILED;
    g->ended++;
    restored->gone[restored->gone_count++] = number;
    return GANG_OK;
}

static gang_result set_places(const struct gang__submit *m, struct gang__job *job,
                              struct gang_error *error)
{
    const struct gang_job_spec *j = m->spec;
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
            r = set_ended(m, job, &at, i, own, error);
        else if (at.what != GANG_TASK_STARTED && !(stops && j->past))
            r = bad_place(error, GANG_EINVAL, i, "`what` is no such value, or has no past");
        else if (at.node)
            r = set_place(m, &at, i, own, error);
    }
    return r;
}

/* Nodes where the job failed, as far as they are there. */
static gang_result set_failed_nodes(gang_sched *s, struct gang__job *job, struct gang_error *error)
{
    struct gang_job_past *past = job->restored->past;
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
    m->options = has_options(m);
    (void)lay_out(m, &b);
    b.base = gang__alloc(&s->mem, b.used);
    if (!b.base)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    b.used = 0;
    struct gang__job *job = lay_out(m, &b);
    set_members(job, m->spec, m->q);
    gang_result r = gang__submit_make_requests(m, job, error);
    if (r == GANG_OK)
        r = gang__submit_is_known(m->spec) ? set_places(m, job, error) : GANG_OK;
    if (r == GANG_OK)
        r = gang__submit_make_stops(m, error);
    if (r == GANG_OK)
        r = set_failed_nodes(s, job, error);
    if (m->restored && m->restored->place_count == 0)
        m->restored->places = NULL;
    m->restored = NULL;
    if (r != GANG_OK) {
        gang__job_free(s, job);
        return r;
    }
    *out = job;
    return GANG_OK;
}
