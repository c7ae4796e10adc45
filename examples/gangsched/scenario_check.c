/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing what became of a case with what it expects. */
#include "gangsched/scenario_case.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"

/* A share by memory is rounded up to a thousandth of a device, for each task. */
static const double GPU_TOLERANCE = 0.0011;

struct comparing {
    const struct ran_case *ran;
    struct name_index jobs;
    json_t *expect;
    json_t *differences;
    bool no_memory;
};

__attribute__((format(printf, 2, 3))) static void differ(struct comparing *c, const char *format,
                                                         ...)
{
    char text[512]; /* holds a name */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (json_array_append_new(c->differences, json_string(text)) != 0) {
        c->no_memory = true;
    }
}

/* ---- jobs ---- */

static bool same_gpus(const json_t *expected, int64_t gpu_milli, size_t tasks)
{
    double slack = GPU_TOLERANCE * (double)(tasks > 0 ? tasks : 1);
    return expected == NULL ||
           fabs(json_number_value(expected) - (double)gpu_milli / 1000) <= slack;
}

static bool same_count(const json_t *expected, size_t count)
{
    return expected == NULL || (json_number_value(expected) >= (double)count &&
                                json_number_value(expected) <= (double)count);
}

static bool runs_on(const struct ran_job *job, const char *node)
{
    for (size_t i = 0; i < job->task_count; i++) {
        if (strcmp(job->tasks[i].node, node) == 0) {
            return true;
        }
    }
    return false;
}

/* Does the job run on all of these nodes and on no other? */
static bool same_nodes(const json_t *expected, const struct ran_job *job)
{
    size_t i;
    json_t *name;
    if (expected == NULL) {
        return true;
    }
    json_array_foreach (expected, i, name) {
        if (!runs_on(job, json_string_value(name))) {
            return false;
        }
    }
    for (size_t k = 0; k < job->task_count; k++) {
        bool listed = false;
        json_array_foreach (expected, i, name) {
            listed = listed || strcmp(json_string_value(name), job->tasks[k].node) == 0;
        }
        if (!listed) {
            return false;
        }
    }
    return true;
}

static bool same_state(const json_t *expected, const struct ran_job *job)
{
    return expected == NULL || strcmp(json_string_value(expected), job->state) == 0;
}

static bool same_job(const json_t *expected, const struct ran_job *job)
{
    return same_state(json_object_get(expected, "state"), job) &&
           same_gpus(json_object_get(expected, "gpus"), job->gpu_milli, job->task_count) &&
           same_count(json_object_get(expected, "tasks_running"), job->task_count) &&
           same_nodes(json_object_get(expected, "nodes"), job);
}

/* Say what is not as expected. */
static void explain_job(struct comparing *c, const char *name, const json_t *expected,
                        const struct ran_job *job)
{
    const json_t *state = json_object_get(expected, "state");
    const json_t *gpus = json_object_get(expected, "gpus");
    const json_t *tasks = json_object_get(expected, "tasks_running");
    if (!same_state(state, job)) {
        differ(c, "jobs.%s.state: %s, expected %s", name, job->state, json_string_value(state));
    }
    if (!same_gpus(gpus, job->gpu_milli, job->task_count)) {
        differ(c, "jobs.%s.gpus: %g, expected %g", name, (double)job->gpu_milli / 1000,
               json_number_value(gpus));
    }
    if (!same_count(tasks, job->task_count)) {
        differ(c, "jobs.%s.tasks_running: %zu, expected %.15g", name, job->task_count,
               json_number_value(tasks));
    }
    if (!same_nodes(json_object_get(expected, "nodes"), job)) {
        differ(c, "jobs.%s.nodes: other nodes than expected", name);
    }
}

/* Interchangeable jobs swap their roles until as many as possible match their expectation.
 * `role[i]` is the job that gives job i its expectation. */
static void exchange_roles(struct comparing *c, const json_t *names, size_t *role)
{
    const json_t *expected = json_object_get(c->expect, "jobs");
    size_t count = json_array_size(names);
    for (size_t i = 0; i < count; i++) {
        size_t a = name_index_find(&c->jobs, json_string_value(json_array_get(names, i)));
        for (size_t k = 0; k < count; k++) {
            size_t b = name_index_find(&c->jobs, json_string_value(json_array_get(names, k)));
            const json_t *a_role = json_object_get(expected, c->ran->jobs[role[a]].spec->name);
            const json_t *b_role = json_object_get(expected, c->ran->jobs[role[b]].spec->name);
            if (!same_job(a_role, &c->ran->jobs[a]) && same_job(b_role, &c->ran->jobs[a]) &&
                !same_job(b_role, &c->ran->jobs[b])) {
                size_t swap = role[a];
                role[a] = role[b];
                role[b] = swap;
            }
        }
    }
}

static void compare_jobs(struct comparing *c)
{
    const json_t *expected = json_object_get(c->expect, "jobs");
    const json_t *sets = json_object_get(c->expect, "interchangeable");
    size_t *role = calloc(c->ran->job_count + 1, sizeof *role);
    size_t i;
    json_t *names;
    if (role == NULL) {
        c->no_memory = true;
        return;
    }
    for (i = 0; i < c->ran->job_count; i++) {
        role[i] = i;
    }
    json_array_foreach (sets, i, names) {
        exchange_roles(c, names, role);
    }
    for (i = 0; i < c->ran->job_count; i++) {
        const char *name = c->ran->jobs[role[i]].spec->name;
        const json_t *one = json_object_get(expected, name);
        if (one != NULL) {
            explain_job(c, c->ran->jobs[i].spec->name, one, &c->ran->jobs[i]);
        }
    }
    free(role);
}

/* ---- queues ---- */

static void compare_queues(struct comparing *c)
{
    json_t *expected = json_object_get(c->expect, "queues");
    const char *name;
    json_t *one;
    json_object_foreach (expected, name, one) {
        const struct ran_queue *queue =
            &c->ran->queues[name_index_find(&c->ran->queue_index, name)];
        const json_t *gpus = json_object_get(one, "gpus");
        const json_t *count = json_object_get(one, "tasks_running");
        if (!same_gpus(gpus, queue->gpu_milli, queue->task_count)) {
            differ(c, "queues.%s.gpus: %g, expected %g", name, (double)queue->gpu_milli / 1000,
                   json_number_value(gpus));
        }
        if (!same_count(count, queue->task_count)) {
            differ(c, "queues.%s.tasks_running: %zu, expected %.15g", name, queue->task_count,
                   json_number_value(count));
        }
    }
}

int scenario_compare(const struct ran_case *ran, struct json_t **differences)
{
    const struct gang_scenario *scenario = ran->scenario;
    struct comparing c = {.ran = ran, .differences = json_array()};
    *differences = NULL;
    c.expect = json_loads(scenario->expect != NULL ? scenario->expect : "{}", 0, NULL);
    if (c.expect == NULL || c.differences == NULL ||
        !name_index_make(&c.jobs, scenario->job_count > 0 ? &scenario->jobs[0].name : NULL,
                         sizeof scenario->jobs[0], scenario->job_count)) {
        c.no_memory = true;
    } else {
        compare_jobs(&c);
        compare_queues(&c);
        if (ran->unsteady) {
            differ(&c, "another pass changes the outcome");
        }
    }
    json_decref(c.expect);
    free(c.jobs.entries);
    if (c.no_memory) {
        json_decref(c.differences);
        return cli_no_memory();
    }
    *differences = c.differences;
    return CLI_OK;
}
