/* SPDX-License-Identifier: Apache-2.0 */
#include "gangsched/what_if.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"

enum { MAX_NODES = 100000 };

bool what_if_any(const struct what_if *what)
{
    return what->add_nodes != NULL || what->drain != NULL || what->limit != NULL ||
           what->submit != NULL;
}

/* "gangsched: --OPTION VALUE: PATH: TEXT". */
static int wrong(const char *option, const char *value, gang_result result,
                 const struct gang_error *error)
{
    bool has_text = error != NULL && error->text[0] != '\0';
    return cli_failf(NULL, "%s %s: %s%s%s", option, value, has_text ? error->path : "",
                     has_text && error->path[0] != '\0' ? ": " : "",
                     has_text ? error->text : gang_strerror(result));
}

/* ---- nodes ---- */

static const struct gang_node_spec *find_node(const struct gang_scenario *scenario,
                                              const char *name)
{
    if (name == NULL) {
        return scenario->node_count > 0 ? &scenario->nodes[scenario->node_count - 1] : NULL;
    }
    for (size_t i = 0; i < scenario->node_count; i++) {
        if (strcmp(scenario->nodes[i].name, name) == 0) {
            return &scenario->nodes[i];
        }
    }
    return NULL;
}

/* One more; names that are taken are passed over. */
static gang_result add_one(gang_worker *worker, const struct gang_node_spec *like, int64_t *number,
                           struct gang_error *error)
{
    struct gang_node_spec spec = *like;
    char name[64];
    gang_result result;
    spec.name = name;
    spec.state = GANG_NODE_UP;
    do {
        snprintf(name, sizeof name, "new-%" PRId64, ++*number);
        result = gang_node_add(worker, &spec, NULL, error);
    } while (result == GANG_EEXIST);
    return result;
}

static int add_nodes(const struct what_if_forecast *c, const char *text, const char *like)
{
    int64_t count, number = 0;
    struct gang_error error = GANG_ERROR_INIT;
    gang_worker *worker;
    const struct gang_node_spec *spec = find_node(c->scenario, like);
    if (!cli_parse_number(text, 1, MAX_NODES, &count)) {
        return cli_failf(NULL, "--add-nodes %s: not a number from 1 to %d", text, MAX_NODES);
    }
    if (spec == NULL) {
        return like != NULL ? cli_failf(c->file, "--like %s: no such node", like)
                            : cli_failf(c->file, "--add-nodes %s: the case has no node", text);
    }
    gang_result result = gang_worker_new(gang_forecast_cluster(c->forecast), &worker);
    for (int64_t i = 0; i < count && result == GANG_OK; i++) {
        result = add_one(worker, spec, &number, &error);
    }
    gang_worker_free(worker);
    return result == GANG_OK ? CLI_OK : wrong("--add-nodes", text, result, &error);
}

static bool is_in(const struct gang_node_spec *spec, const char *name)
{
    for (size_t i = 0; i < spec->topology_count; i++) {
        if (strcmp(spec->topology[i].value, name) == 0) {
            return true;
        }
    }
    return strcmp(spec->name, name) == 0;
}

static int drain(const struct what_if_forecast *c, const char *name)
{
    gang_cluster *cluster = gang_forecast_cluster(c->forecast);
    gang_worker *worker;
    size_t drained = 0;
    gang_result result = gang_worker_new(cluster, &worker);
    for (gang_node_id id = gang_node_next(cluster, GANG_ID_NONE);
         id != GANG_ID_NONE && result == GANG_OK; id = gang_node_next(cluster, id)) {
        struct gang_node_spec *spec = NULL;
        result = gang_node_get_spec(cluster, id, &spec);
        if (result == GANG_OK && is_in(spec, name)) {
            result = gang_node_set_state(worker, id, GANG_NODE_DRAINING);
            drained++;
        }
        gang_node_spec_free(spec);
    }
    gang_worker_free(worker);
    if (result == GANG_OK && drained == 0) {
        return cli_failf(c->file, "--drain %s: no such node or domain", name);
    }
    return result == GANG_OK ? CLI_OK : wrong("--drain", name, result, NULL);
}

/* ---- a limit ---- */

/* What a scenario counts by, and the library: "gpu", "cpu", "mem_mib", or a kind of the site. */
static const char *kind_of(const char *word, double *unit)
{
    *unit = 1;
    if (strcmp(word, "gpu") == 0 || strcmp(word, "cpu") == 0) {
        *unit = 1000;
    }
    if (strcmp(word, "mem_mib") == 0) {
        *unit = 1024.0 * 1024.0;
        return "memory";
    }
    return word;
}

/* The queue with another limit of one kind, all its others as they are. */
static gang_result change_limit(gang_sched *sched, const struct gang_queue_spec *spec,
                                const char *kind, int64_t amount, struct gang_error *error)
{
    struct gang_queue_spec with = *spec;
    struct gang_quota *limit = calloc(spec->limit_count + 1, sizeof *limit);
    size_t count = 0;
    if (limit == NULL) {
        return GANG_ENOMEM;
    }
    for (size_t i = 0; i < spec->limit_count; i++) {
        if (strcmp(spec->limit[i].kind, kind) != 0 || spec->limit[i].partition != NULL) {
            limit[count++] = spec->limit[i];
        }
    }
    limit[count++] = (struct gang_quota){kind, amount, NULL, 0, 0};
    with.limit = limit;
    with.limit_count = count;
    gang_result result = gang_queue_change(sched, &with, error);
    free(limit);
    return result;
}

static int set_limit(const struct what_if_forecast *c, const char *text)
{
    gang_sched *sched = gang_forecast_sched(c->forecast);
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_queue_spec *spec = NULL;
    gang_queue_id id;
    double unit;
    char *name = cli_copy(text);
    char *equals = name != NULL ? strrchr(name, '=') : NULL;
    char *dot = NULL;
    char *end = NULL;
    if (name == NULL) {
        return cli_no_memory();
    }
    if (equals != NULL) {
        *equals = '\0';
        dot = strrchr(name, '.');
    }
    double amount = equals != NULL ? strtod(equals + 1, &end) : 0;
    if (dot == NULL || dot == name || end == equals + 1 || *end != '\0' || !(fabs(amount) < 1e12) ||
        (amount < 0 && amount != -1)) {
        free(name);
        return cli_failf(NULL, "--limit %s: not QUEUE.KIND=AMOUNT (-1: none)", text);
    }
    *dot = '\0';
    const char *kind = kind_of(dot + 1, &unit);
    int64_t units = amount < 0 ? GANG_UNLIMITED : (int64_t)llround(amount * unit);
    gang_result result = gang_queue_find(sched, name, &id);
    if (result == GANG_OK) {
        result = gang_queue_get_spec(sched, id, &spec);
    }
    if (result == GANG_OK) {
        result = change_limit(sched, spec, kind, units, &error);
    }
    int status = result == GANG_OK ? CLI_OK
                 : spec == NULL    ? cli_failf(c->file, "--limit %s: no queue '%s'", text, name)
                 : result == GANG_ENOMEM ? cli_no_memory()
                                         : wrong("--limit", text, result, &error);
    gang_queue_spec_free(spec);
    free(name);
    return status;
}

/* ---- a job more ---- */

static bool find_job(struct what_if_job *job, const char *name)
{
    for (size_t i = 0; i < gang_scenarios_count(job->file); i++) {
        job->scenario = (struct gang_scenario)GANG_SCENARIO_INIT;
        if (gang_scenarios_get(job->file, i, &job->scenario) != GANG_OK) {
            return false;
        }
        for (job->job = 0; job->job < job->scenario.job_count; job->job++) {
            if (strcmp(job->scenario.jobs[job->job].name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

int what_if_open(const struct what_if *what, struct what_if_job *job)
{
    struct gang_error error = GANG_ERROR_INIT;
    *job = (struct what_if_job){.job = SIZE_MAX};
    if (what->submit == NULL) {
        return CLI_OK;
    }
    char *file = cli_copy(what->submit);
    char *slash = file != NULL ? strrchr(file, '/') : NULL;
    int status = CLI_OK;
    if (file == NULL) {
        return cli_no_memory();
    }
    if (slash == NULL || slash == file || slash[1] == '\0') {
        status = cli_failf(NULL, "--submit %s: not FILE/JOB", what->submit);
    } else {
        *slash = '\0';
        if (gang_scenarios_read_file(file, &job->file, &error) != GANG_OK) {
            status = cli_fail(file, &error);
        } else if (!find_job(job, slash + 1)) {
            status = cli_failf(file, "no job '%s'", slash + 1);
        }
    }
    free(file);
    return status;
}

void what_if_close(struct what_if_job *job)
{
    gang_scenarios_free(job->file);
}

static int submit(const struct what_if_forecast *c, const char *text, const struct what_if_job *job,
                  uint64_t cookie)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_job_spec spec = job->scenario.jobs[job->job];
    gang_job_id id;
    spec.running = 0;
    spec.stale = 0;
    spec.places = NULL;
    spec.place_count = 0;
    spec.submit = -1;
    spec.cookie = cookie;
    spec.begin_ns += spec.begin_ns > 0 ? c->now_ns : 0; /* its times are from now on */
    spec.deadline_ns += spec.deadline_ns > 0 ? c->now_ns : 0;
    gang_result result = gang_job_submit(gang_forecast_sched(c->forecast), &spec, &id, &error);
    return result == GANG_OK ? CLI_OK : wrong("--submit", text, result, &error);
}

int what_if_apply(const struct what_if *what, const struct what_if_job *job, uint64_t cookie,
                  const struct what_if_forecast *forecast)
{
    int status = CLI_OK;
    if (what->add_nodes != NULL) {
        status = add_nodes(forecast, what->add_nodes, what->like);
    }
    if (status == CLI_OK && what->drain != NULL) {
        status = drain(forecast, what->drain);
    }
    if (status == CLI_OK && what->limit != NULL) {
        status = set_limit(forecast, what->limit);
    }
    if (status == CLI_OK && what->submit != NULL) {
        status = submit(forecast, what->submit, job, cookie);
    }
    return status;
}
