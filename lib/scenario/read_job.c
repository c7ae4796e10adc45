/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one job of a scenario. */
#include "scenario/read_in.h"

#include <inttypes.h>
#include <string.h>

static const char *const job_keys[] = {
    "name",         "queue",           "priority",      "preemptible",    "submit",
    "min",          "tasks",           "same",          "prefer",         "groups",
    "state",        "running_on",      "running_gpu",   "stale",          "never_preempts",
    "policy",       "labels",          "affinity",      "exclusive",      "gpu_nodes",
    "user",         "user_groups",     "time_limit_s",  "hold",           "loss",
    "max_restarts", "restart_delay_s", "refill_s",      "start_within_s", "back_off_s",
    "heartbeat_s",  "after",           "begin_s",       "deadline_s",     "ran_s",
    "run_time_s",   "reservation",     "prefer_wait_s", "array",          "array_max_running",
    "announced",    "arrivals",        "partitions",    "start_full",     "parallelism"};

/* ---- where it runs --------------------------------------------------------------------- */

/* Devices that a task of a group holds or shares. */
static size_t devices_of(const struct gang_group_spec *group)
{
    if (group->gpu_milli >= 1000)
        return (size_t)(group->gpu_milli / 1000);
    if (group->gpu_milli == 0 && group->gpu_memory_bytes == 0)
        return 0;
    return group->gpu_devices ? (size_t)group->gpu_devices : 1;
}

static gang_result read_devices(struct gang__reader *r, const struct gang__json *at,
                                const struct gang_group_spec *group,
                                struct gang_running_spec *place)
{
    if (!at->value || json_is_null(at->value))
        return GANG_OK;
    GANG__TRY(gang__read_names(r, at, GANG__MAX_LIST, &place->devices, &place->device_count));
    if (place->device_count > 0 && !place->node)
        return gang__json_fail(at, GANG_EINVAL, "the task does not run");
    if (place->device_count > 0 && place->device_count != devices_of(group))
        return gang__json_fail(at, GANG_EINVAL, "the task holds %zu devices", devices_of(group));
    return GANG_OK;
}

static gang_result read_node_name(struct gang__reader *r, const struct gang__json *at,
                                  const char **node)
{
    const char *text;
    size_t index;
    if (json_is_null(at->value))
        return GANG_OK;
    GANG__TRY(gang__json_name(at, 1, GANG_MAX_NAME, &text));
    if (r->alone)
        return gang__keep_text(r, at, text, node);
    if (!gang__lookup_find(&r->nodes, text, &index))
        return gang__json_fail(at, GANG_ENOENT, "no node '%s'", gang__printable(text).s);
    *node = r->out->nodes[index].name;
    return GANG_OK;
}

static gang_result read_places(struct gang__reader *r, const struct gang__json *job,
                               const struct gang__json *on, int64_t tasks,
                               struct gang_job_spec *out)
{
    struct gang__json gpus;
    struct gang_running_spec *list;
    size_t count;
    size_t device_lists = 0;
    bool runs = false;
    GANG__TRY(gang__json_array(on, GANG__MAX_TASKS, &count));
    if (count > (size_t)tasks)
        return gang__json_fail(on, GANG_EINVAL, "the job has only %" PRId64 " tasks", tasks);
    if (gang__json_get(job, "running_gpu", &gpus))
        GANG__TRY(gang__json_array(&gpus, GANG__MAX_TASKS, &device_lists));
    if (device_lists > count)
        return gang__json_fail(&gpus, GANG_EINVAL, "is longer than 'running_on'");
    GANG__KEEP(list, r, on, count);
    const struct gang_group_spec *group = out->request.groups;
    int64_t left = group->count;
    for (size_t i = 0; i < count; i++) {
        struct gang__json element = gang__json_element(on, i);
        for (; left == 0; left = group->count)
            group++;
        left--;
        GANG__TRY(read_node_name(r, &element, &list[i].node));
        runs = runs || list[i].node;
        if (i < device_lists) {
            struct gang__json devices = gang__json_element(&gpus, i);
            GANG__TRY(read_devices(r, &devices, group, &list[i]));
        }
    }
    if (!runs)
        return gang__json_fail(on, GANG_EINVAL, "a running job needs a task that runs");
    out->places = list;
    out->place_count = count;
    return GANG_OK;
}

static gang_result read_state(struct gang__reader *r, const struct gang__json *job, int64_t tasks,
                              struct gang_job_spec *out)
{
    static const char *const states[] = {"pending", "running"};
    struct gang__json at;
    size_t state = 0;
    if (gang__json_get(job, "state", &at))
        GANG__TRY(gang__json_choice(&at, states, GANG__COUNT(states), &state));
    out->running = (int32_t)state;
    if (out->running) {
        GANG__TRY(gang__json_need(job, "running_on", &at));
        return read_places(r, job, &at, tasks, out);
    }
    if (gang__json_get(job, "running_on", &at) || gang__json_get(job, "running_gpu", &at))
        return gang__json_fail(&at, GANG_EINVAL, "the job does not run");
    return GANG_OK;
}

/* ---- the job --------------------------------------------------------------------------- */

/* Any queue: the scheduler refuses one that is not there, or has queues below it. */
static gang_result read_queue_name(struct gang__reader *r, const struct gang__json *job,
                                   const char **queue)
{
    const struct gang_scenario *c = r->out;
    struct gang__json at;
    bool mapped = c->queue_count == 0 || c->default_queue || c->rule_count > 0;
    if (!gang__json_get(job, "queue", &at) && mapped)
        return GANG_OK;
    GANG__TRY(gang__json_need(job, "queue", &at));
    return gang__read_name(r, &at, queue);
}

static gang_result read_preemptible(const struct gang__json *job, int32_t *preemptible)
{
    static const char *const words[] = {GANG__ABOVE_MIN};
    struct gang__json at;
    size_t index = 0;
    if (!gang__json_get(job, "preemptible", &at))
        return GANG_OK;
    if (!json_is_string(at.value))
        return gang__json_bool(&at, preemptible);
    GANG__TRY(gang__json_choice(&at, words, GANG__COUNT(words), &index));
    *preemptible = GANG_SEMI_PREEMPTIBLE;
    return GANG_OK;
}

/* Members of the job itself: name, queue, priority, user, times. */
static gang_result read_head(struct gang__reader *r, const struct gang__json *at,
                             struct gang_job_spec *job)
{
    struct gang__json member;
    GANG__TRY(gang__json_need(at, "name", &member));
    GANG__TRY(gang__read_name(r, &member, &job->name));
    GANG__TRY(read_queue_name(r, at, &job->queue));
    GANG__TRY(gang__read_int(at, "priority", INT64_MIN, INT64_MAX, &job->priority));
    GANG__TRY(gang__read_int(at, "submit", 0, INT64_MAX, &job->submit));
    GANG__TRY(read_preemptible(at, &job->preemptible));
    GANG__TRY(gang__read_name_member(r, at, "user", &job->user));
    if (gang__json_get(at, "user_groups", &member))
        GANG__TRY(gang__read_names(r, &member, GANG__MAX_LIST, &job->user_groups,
                                   &job->user_group_count));
    if (gang__json_get(at, "partitions", &member))
        GANG__TRY(gang__read_names(r, &member, GANG_MAX_JOB_PARTITIONS, &job->partitions,
                                   &job->partition_count));
    GANG__TRY(gang__read_reservation_name(r, at, &job->reservation));
    return gang__fields_read(r, at, &gang__job_fields, job);
}

/* Does a group or a set have a minimum? */
static bool minimum_inside(const struct gang_request_spec *request)
{
    bool found = false;
    for (size_t i = 0; i < request->group_count; i++)
        found = found || request->groups[i].min > 0;
    for (size_t i = 0; i < request->group_set_count; i++)
        found = found || request->group_sets[i].min > 0;
    return found;
}

static gang_result read_min(const struct gang__json *job, struct gang_request_spec *request)
{
    struct gang__json at;
    if (!gang__json_get(job, "min", &at)) {
        if (!minimum_inside(request))
            return gang__json_fail(&at, GANG_EINVAL, "missing: no task would have to run");
        return GANG_OK;
    }
    return gang__json_int(&at, 1, GANG__MAX_TASKS, &request->min);
}

/* What names other jobs of a case, or times of it. */
static gang_result check_alone(const struct gang__json *job)
{
    static const char *const keys[] = {"after", "ran_s", "run_time_s", "arrivals"};
    struct gang__json at;
    for (size_t i = 0; i < GANG__COUNT(keys); i++)
        if (gang__json_get(job, keys[i], &at))
            return gang__json_fail(&at, GANG_EINVAL, "has a sense in a whole case only");
    return GANG_OK;
}

/* A job that the scheduler would refuse is read all the same, so that it does not hide the others:
 * unknown levels and queues, minima above the tasks there are. */
gang_result gang__read_job(struct gang__reader *r, const struct gang__json *at, size_t index,
                           struct gang_job_spec *job)
{
    int64_t tasks = 0;
    *job = (struct gang_job_spec)GANG_JOB_SPEC_INIT;
    if (!r->alone)
        job->submit = (int64_t)index;
    GANG__TRY(gang__rename_old_keys(r, at, GANG__OBJECT_JOB));
    GANG__TRY(gang__json_object(at, job_keys, GANG__COUNT(job_keys)));
    if (r->alone)
        GANG__TRY(check_alone(at));
    r->in_job = true;
    GANG__TRY(read_head(r, at, job));
    GANG__TRY(gang__read_job_demands(r, at, &job->request));
    GANG__TRY(gang__read_tasks(r, at, job, &tasks));
    GANG__TRY(read_min(at, &job->request));
    r->in_job = false;
    return read_state(r, at, tasks, job);
}
