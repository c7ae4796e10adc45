/* SPDX-License-Identifier: Apache-2.0 */
/* A host that is killed and made anew: what it keeps of one job, and how it gives that back. */
#ifndef GANG_TESTS_SCHED_RESTORED_HOST_H
#define GANG_TESTS_SCHED_RESTORED_HOST_H

#include "sched/host.h"

enum { KEPT_TASKS = 32, KEPT_STOPS = 16 };

/* What the host keeps of a job, beside its specification. */
struct restored {
    gang_cluster *from; /* of the scheduler that lived */
    struct gang_job_past past;
    size_t place_count, stop_count;
    struct gang_running_spec place[KEPT_TASKS];
    char node[KEPT_TASKS][GANG_MAX_NAME + 1];
    char number[KEPT_TASKS][8][4];
    const char *device[KEPT_TASKS][8];
    uint64_t cores[KEPT_TASKS][GANG_MAX_CORES / 64];
    struct gang_job_stop stop[KEPT_STOPS];
    int64_t task[KEPT_STOPS][KEPT_TASKS];
    struct gang_placement kept[KEPT_STOPS][KEPT_TASKS], target[KEPT_STOPS][KEPT_TASKS];
};

static inline struct gang_running_spec *restored_place(struct restored *k, gang_node_id node,
                                                       uint64_t gpus)
{
    struct gang_node_info info = {.size = sizeof(info)};
    size_t n = k->place_count++;
    ck_assert_uint_lt(n, KEPT_TASKS);
    MUST(gang_node_get(k->from, node, &info));
    snprintf(k->node[n], sizeof(k->node[n]), "%s", info.name);
    k->place[n] = (struct gang_running_spec){.node = k->node[n], .devices = k->device[n]};
    for (unsigned gpu = 0; gpu < 8; gpu++)
        if (gpus >> gpu & 1) {
            char *text = k->number[n][k->place[n].device_count];
            snprintf(text, 4, "%u", gpu);
            k->device[n][k->place[n].device_count++] = text;
        }
    return &k->place[n];
}

static inline int32_t restored_task(const struct gang_task *t, void *user)
{
    struct restored *k = user;
    struct gang_running_spec *at = restored_place(k, t->node, t->gpus);
    memcpy(k->cores[k->place_count - 1], t->cores, sizeof(t->cores));
    at->cores = k->cores[k->place_count - 1];
    at->numbered = at->grouped = 1;
    at->task = t->task;
    at->group = t->group;
    return 0;
}

static inline int32_t restored_promise(const struct gang_placement *p, void *user)
{
    struct gang_running_spec *at = restored_place(user, p->node, p->any_devices ? 0 : p->gpus);
    struct restored *k = user;
    memcpy(k->cores[k->place_count - 1], p->cores, sizeof(p->cores));
    at->cores = p->any_cores ? NULL : k->cores[k->place_count - 1];
    at->what = GANG_PLACE_PROMISED;
    at->numbered = p->task >= 0;
    at->task = p->task;
    at->grouped = 1;
    at->group = p->group;
    return 0;
}

static inline int32_t restored_resume(const struct gang_placement *p, void *user)
{
    struct restored *k = user;
    struct gang_running_spec *at = restored_place(k, p->node, p->gpus);
    memcpy(k->cores[k->place_count - 1], p->cores, sizeof(p->cores));
    at->cores = p->any_cores ? NULL : k->cores[k->place_count - 1];
    at->what = GANG_PLACE_RESUMES;
    at->numbered = at->grouped = 1;
    at->task = p->task;
    at->group = p->group;
    return 0;
}

static inline int32_t restored_stop(const struct gang_job_stop *stop, void *user)
{
    struct restored *k = user;
    size_t n = k->stop_count++;
    ck_assert_uint_lt(n, KEPT_STOPS);
    ck_assert_uint_le(stop->task_count, KEPT_TASKS);
    k->stop[n] = *stop;
    if (stop->task_count)
        memcpy(k->task[n], stop->tasks, stop->task_count * sizeof(*stop->tasks));
    k->stop[n].tasks = k->task[n];
    ck_assert_uint_le(stop->kept_count, KEPT_TASKS); /* the nodes of both have the same ids */
    if (stop->kept_count)
        memcpy(k->kept[n], stop->kept, stop->kept_count * sizeof(*stop->kept));
    k->stop[n].kept = k->kept[n];
    ck_assert_uint_le(stop->target_count, KEPT_TASKS);
    if (stop->target_count)
        memcpy(k->target[n], stop->targets, stop->target_count * sizeof(*stop->targets));
    k->stop[n].targets = k->target[n];
    return 0;
}

/* Keep what the host keeps. */
static inline void restored_keep(struct restored *k, struct host *from, gang_job_id id)
{
    gang_alloc_id alloc = gang_job_alloc(from->s, id, 0);
    memset(k, 0, sizeof(*k));
    k->from = from->stage.c;
    k->past = (struct gang_job_past)GANG_JOB_PAST_INIT;
    MUST(gang_job_get_past(from->s, id, &k->past));
    if (alloc != GANG_ID_NONE)
        MUST(gang_alloc_each(from->stage.c, alloc, restored_task, k));
    MUST(gang_job_suspended_each(from->s, id, restored_resume, k));
    MUST(gang_job_promised_each(from->s, id, restored_promise, k));
    MUST(gang_job_stop_each(from->s, id, restored_stop, k));
}

/* A task that has ended: the host lists it beside those that run. */
static inline void restored_ended(struct restored *k, int64_t task, int32_t what)
{
    ck_assert_uint_lt(k->place_count, KEPT_TASKS);
    k->place[k->place_count++] =
        (struct gang_running_spec){.what = what, .numbered = 1, .task = task, .grouped = 1};
}

/* Submit the job as it was. */
static inline void restored_submit(const struct restored *k, struct host *to, gang_job_id id,
                                   const struct gang_job_spec *was)
{
    struct gang_job_spec spec = *was;
    spec.id = id;
    spec.running = k->past.state != GANG_JOB_PENDING;
    spec.places = k->place;
    spec.place_count = k->place_count;
    spec.past = &k->past;
    spec.stops = k->stop;
    spec.stop_count = k->stop_count;
    ck_assert_uint_eq(host_submit(to, &spec), id);
}

#endif
