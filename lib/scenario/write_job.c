/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one job. */
#include "scenario/write_in.h"

#include "scenario/fields_in.h"

static void write_places(struct gang__writer *w, json_t *object, const struct gang_job_spec *job)
{
    json_t *on = json_array();
    json_t *gpus = json_array();
    bool labelled = false;
    for (size_t i = 0; job->places && i < job->place_count; i++) {
        struct gang_running_spec place = gang__place_at(job, i);
        labelled = labelled || place.device_count > 0;
        gang__json_push(&w->maker, on,
                        place.node ? gang__json_new_text(&w->maker, place.node) : json_null());
        gang__json_push(&w->maker, gpus,
                        place.device_count ? gang__make_names(w, place.devices, place.device_count)
                                           : json_null());
    }
    if (!job->places && job->place_count > 0)
        gang__json_note(&w->maker, GANG_EINVAL);
    gang__write_value(w, object, "running_on", on);
    if (labelled)
        gang__write_value(w, object, "running_gpu", gpus);
    else
        json_decref(gpus);
}

static void write_peers(struct gang__writer *w, json_t *object,
                        const struct gang_request_spec *request)
{
    if (request->affinity_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < request->affinity_count; i++) {
        struct gang_affinity_rule peer;
        if (!gang__write_loaded(
                w, GANG__LOAD_BY(peer, soft, request->affinity, i, request->affinity_size)))
            break;
        json_t *item = json_object();
        gang__write_text(w, item, "key", peer.key);
        if (peer.value)
            gang__write_text(w, item, "value", peer.value);
        gang__write_given(w, item, "level", peer.level);
        gang__write_flag(w, item, "colocate", peer.colocate);
        gang__write_flag(w, item, "soft", peer.soft);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "affinity", list);
}

/* Requests of the job as a whole that are not the default. */
static void write_job_demands(struct gang__writer *w, json_t *object,
                              const struct gang_request_spec *request)
{
    gang__write_given(w, object, "same", request->same);
    gang__write_given(w, object, "prefer", request->prefer);
    if (request->policy != GANG_POLICY_DEFAULT) /* that of the host has a function */
        gang__write_word(w, object, "policy", &gang__place_policy_words, request->policy);
    if (request->gpu_nodes != GANG_GPU_NODES_AVOID)
        gang__write_word(w, object, "gpu_nodes", &gang__gpu_nodes_words, request->gpu_nodes);
    gang__write_flag(w, object, "exclusive", request->exclusive);
    if (request->label_count > 0)
        gang__write_labels(w, object, "labels", request->labels, request->label_count);
    write_peers(w, object, request);
}

static void write_preemptible(struct gang__writer *w, json_t *object, int32_t preemptible)
{
    if (preemptible == GANG_SEMI_PREEMPTIBLE)
        gang__write_text(w, object, "preemptible", GANG__ABOVE_MIN);
    else
        gang__write_value(w, object, "preemptible", json_boolean(preemptible));
}

void gang__write_job_after(struct gang__writer *w, json_t *object, const struct gang_scenario *c,
                           size_t job, size_t *next)
{
    struct gang_scenario_after after;
    struct gang_job_spec other;
    json_t *list = json_array();
    for (; *next < c->after_count; ++*next) {
        if (!GANG__WRITE_LOAD(w, after, reserved0, c->afters, *next) || after.job != job)
            break;
        json_t *item = gang__make_wait(w, after.when);
        if (after.after >= c->job_count)
            gang__json_note(&w->maker, GANG_EINVAL);
        else if (GANG__WRITE_LOAD(w, other, group_order, c->jobs, after.after))
            gang__write_text(w, item, "job", other.name);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_list(w, object, "after", list);
}

void gang__write_job_times(struct gang__writer *w, json_t *object, const struct gang_scenario *c,
                           size_t job, size_t *next)
{
    const int64_t second = 1000000000;
    struct gang_scenario_time time;
    if (*next >= c->time_count || !GANG__WRITE_LOAD(w, time, run_time_count, c->times, *next) ||
        time.job != job)
        return;
    ++*next;
    if (time.ran_ns)
        gang__json_put(&w->maker, object, "ran_s", gang__json_new_scaled(time.ran_ns, second));
    if (time.run_time_count == 1)
        gang__json_put(&w->maker, object, "run_time_s",
                       gang__json_new_scaled(time.run_time_ns[0], second));
    json_t *list = json_array();
    for (size_t i = 0; time.run_time_count > 1 && i < time.run_time_count; i++)
        gang__json_push(&w->maker, list, gang__json_new_scaled(time.run_time_ns[i], second));
    gang__write_list(w, object, "run_time_s", list);
}

void gang__write_job_arrivals(struct gang__writer *w, json_t *object, const struct gang_scenario *c,
                              size_t job, size_t *next)
{
    const int64_t second = 1000000000;
    struct gang_scenario_arrival a;
    json_t *list = json_array();
    for (; *next < c->arrival_count; ++*next) {
        if (!GANG__WRITE_LOAD(w, a, reserved0, c->arrivals, *next) || a.job != job)
            break;
        json_t *item = json_object();
        if (a.at_ns)
            gang__json_put(&w->maker, item, "at_s", gang__json_new_scaled(a.at_ns, second));
        if (a.group)
            gang__write_int(w, item, "group", a.group);
        if (a.count)
            gang__write_int(w, item, "count", a.count);
        else
            gang__write_value(w, item, "complete", json_true());
        gang__json_push(&w->maker, list, item);
    }
    gang__write_list(w, object, "arrivals", list);
}

json_t *gang__make_job(struct gang__writer *w, const struct gang_job_spec *job)
{
    json_t *object = json_object();
    gang__write_text(w, object, "name", job->name);
    if (job->queue)
        gang__write_text(w, object, "queue", job->queue);
    gang__write_int(w, object, "priority", job->priority);
    write_preemptible(w, object, job->preemptible);
    if (!w->alone || job->submit >= 0)
        gang__write_int(w, object, "submit", job->submit);
    gang__write_nonempty(w, object, "user", job->user);
    gang__write_names(w, object, "user_groups", job->user_groups, job->user_group_count);
    gang__write_names(w, object, "partitions", job->partitions, job->partition_count);
    if (job->request.min)
        gang__write_int(w, object, "min", job->request.min);
    gang__write_tasks(w, object, job);
    gang__write_sets(w, object, &job->request);
    write_job_demands(w, object, &job->request);
    gang__write_text(w, object, "state", job->running ? "running" : "pending");
    if (job->running)
        write_places(w, object, job);
    gang__fields_write(&w->maker, object, &gang__job_fields, job);
    gang__write_nonempty(w, object, "reservation", job->reservation);
    return object;
}
