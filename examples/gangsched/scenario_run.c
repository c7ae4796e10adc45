/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one case: makes its cluster and its scheduler, submits the jobs (scenario_submit.c), and
 * runs the scheduler once a second until nothing changes. */
#include "gangsched/scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"

/* From one pass to the next. */
#define STEP_NS INT64_C(1000000000)

/* No time passes in a case with run times: it describes one moment, and so does a forecast of
 * it. */
static int64_t step_of(const struct run *run)
{
    return run->at_once || run->scenario->time_count > 0 ? 0 : STEP_NS;
}

static void find_start(struct run *run)
{
    for (size_t i = 0; i < run->scenario->time_count; i++) {
        int64_t at = STEP_NS + run->scenario->times[i].ran_ns;
        run->start_ns = at > run->start_ns ? at : run->start_ns;
    }
}

/* ---- names ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct name_entry *left = a;
    const struct name_entry *right = b;
    return strcmp(left->name, right->name);
}

bool name_index_make(struct name_index *index, const char *const *first, size_t stride,
                     size_t count)
{
    index->count = count;
    index->entries = calloc(count + 1, sizeof *index->entries);
    if (index->entries == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const char *name;
        memcpy(&name, (const char *)first + i * stride, sizeof name);
        index->entries[i] = (struct name_entry){name, i};
    }
    qsort(index->entries, count, sizeof *index->entries, compare_entries);
    return true;
}

size_t name_index_find(const struct name_index *index, const char *name)
{
    struct name_entry key = {name, 0};
    struct name_entry *found =
        bsearch(&key, index->entries, index->count, sizeof key, compare_entries);
    return found != NULL ? found->at : SIZE_MAX;
}

/* ---- messages ---- */

int scenario_fail_job(const struct run *run, size_t job, const struct gang_error *error)
{
    return cli_failf(run->file, "case '%s': jobs[%zu]%s%s: %s", run->scenario->id, job,
                     error->path[0] != '\0' ? ": " : "", error->path,
                     error->text[0] != '\0' ? error->text : gang_strerror(error->code));
}

int scenario_fail_code(const struct run *run, size_t job, gang_result result)
{
    struct gang_error error = GANG_ERROR_INIT;
    error.code = result;
    return scenario_fail_job(run, job, &error);
}

/* A specification calls "groups" and "group_sets" what a file calls "tasks" and "groups", and has
 * them in a request. */
const char *scenario_spec_path(const struct gang_error *error, char *path, size_t size)
{
    static const char *const words[][2] = {{"groups", "tasks"}, {"group_sets", "groups"}};
    static const char request[] = "request.";
    const char *rest = error->path;
    const char *word = "";
    if (strncmp(rest, request, sizeof request - 1) == 0) {
        rest += sizeof request - 1;
    }
    for (size_t i = 0; i < 2 && word[0] == '\0'; i++) {
        size_t length = strlen(words[i][0]);
        if (strncmp(rest, words[i][0], length) == 0 &&
            (rest[length] == '[' || rest[length] == '\0')) {
            word = words[i][1];
            rest += length;
        }
    }
    snprintf(path, size, "%s%s", word, rest);
    return path;
}

/* ---- the cluster ---- */

static int compare_nodes(const void *a, const void *b)
{
    const struct node *left = a;
    const struct node *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

static int make_cluster(struct run *run)
{
    struct gang_error error = GANG_ERROR_INIT;
    const struct gang_scenario *c = run->scenario;
    if (gang_cluster_build(c, NULL, &run->cluster, &error) != GANG_OK) {
        return cli_fail(run->file, &error);
    }
    run->ids = calloc(c->node_count + 1, sizeof *run->ids);
    run->nodes = calloc(c->node_count + 1, sizeof *run->nodes);
    run->labels = calloc(c->node_count + 1, sizeof *run->labels);
    if (run->ids == NULL || run->nodes == NULL || run->labels == NULL ||
        !name_index_make(&run->node_index, c->node_count > 0 ? &c->nodes[0].name : NULL,
                         sizeof c->nodes[0], c->node_count)) {
        return cli_no_memory();
    }
    for (size_t i = 0; i < c->node_count; i++) {
        gang_result result = gang_node_find(run->cluster, c->nodes[i].name, &run->ids[i]);
        if (result != GANG_OK) {
            return cli_failf(run->file, "%s: %s", c->nodes[i].name, gang_strerror(result));
        }
        run->nodes[i] = (struct node){run->ids[i], i};
    }
    qsort(run->nodes, c->node_count, sizeof *run->nodes, compare_nodes);
    return CLI_OK;
}

/* ---- the scheduler ---- */

/* Ended jobs are forgotten at once: what became of them must be noted here. */
static int32_t note_state(const struct gang_event *event, void *user)
{
    struct run *run = user;
    struct job *job = &run->jobs[event->cookie];
    if (event->state == GANG_JOB_ENDED) {
        job->end = event->end;
        job->refused = event->end == GANG_END_REFUSED;
        free(job->note);
        job->note = cli_copy(event->text);
        run->no_memory = run->no_memory || job->note == NULL;
    }
    return 0;
}

struct gang_sched_opts scenario_opts(const struct gang_scenario *scenario)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    opts.default_queue = scenario->default_queue;
    if (opts.default_queue == NULL && scenario->queue_count == 0) {
        opts.default_queue = "default"; /* the queue of a scheduler that was given none */
    }
    opts.rules = scenario->rules;
    opts.rule_count = scenario->rule_count;
    opts.excluded_kinds = scenario->excluded_kinds;
    opts.excluded_kind_count = scenario->excluded_kind_count;
    opts.half_life_ns = scenario->half_life_ns;
    return opts;
}

static int make_sched(struct run *run)
{
    const struct gang_scenario *c = run->scenario;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_sched_opts opts = scenario_opts(c);
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    ops.state = note_state;
    gang_result result = gang_sched_new(run->cluster, &opts, &ops, run, &run->sched, &error);
    if (result == GANG_OK && c->queue_count > 0) {
        result = gang_sched_set_queues(run->sched, c->queues, c->queue_count, &error);
    }
    if (result != GANG_OK) {
        return cli_failf(run->file, "case '%s': %s%s%s", c->id, error.path,
                         error.path[0] != '\0' ? ": " : "",
                         error.text[0] != '\0' ? error.text : gang_strerror(result));
    }
    return CLI_OK;
}

/* ---- jobs ---- */

static int make_jobs(struct run *run)
{
    const struct gang_scenario *c = run->scenario;
    run->jobs = calloc(c->job_count + 1, sizeof *run->jobs);
    run->first_after = calloc(c->job_count + 2, sizeof *run->first_after);
    run->arrived = calloc(c->arrival_count + 1, sizeof *run->arrived);
    if (run->jobs == NULL || run->first_after == NULL || run->arrived == NULL) {
        return cli_no_memory();
    }
    for (size_t i = 0; i < c->after_count; i++) { /* they are sorted by job */
        run->first_after[c->afters[i].job + 1]++;
    }
    for (size_t i = 0; i < c->job_count; i++) {
        run->first_after[i + 1] += run->first_after[i];
    }
    return CLI_OK;
}

/* ---- passes ---- */

static int pass(struct run *run, int64_t now_ns, bool *changed)
{
    struct gang_run_info info = GANG_RUN_INFO_INIT;
    gang_result result = gang_sched_run(run->sched, now_ns, NULL, &info);
    if (result != GANG_OK) {
        return cli_failf(run->file, "case '%s': %s", run->scenario->id, gang_strerror(result));
    }
    *changed = info.started > 0 || info.tasks_granted > 0 || info.tasks_preempted > 0 ||
               info.moved > 0 || info.ended > 0;
    return run->no_memory ? cli_no_memory() : CLI_OK;
}

static int run_passes(struct run *run, struct ran_case *ran)
{
    bool changed = true;
    int status = CLI_OK;
    for (int64_t i = 0; i < run->scenario->rounds && status == CLI_OK; i++) {
        bool left = false;
        run->now_ns = run->start_ns + i * step_of(run);
        status = scenario_arrive(run, &left);
        if (status == CLI_OK) {
            status = pass(run, run->now_ns, &changed);
        }
        if (!changed && !left && gang_sched_next(run->sched) == INT64_MAX) {
            break; /* nor would the next one change anything */
        }
    }
    if (status == CLI_OK) {
        status = scenario_check_start(run);
    }
    if (status == CLI_OK) {
        run->now_ns += step_of(run);
        status = pass(run, run->now_ns, &changed);
        ran->unsteady = changed;
    }
    return status;
}

/* ---- the case ---- */

static void free_run(struct run *run)
{
    for (size_t i = 0; run->jobs != NULL && i < run->scenario->job_count; i++) {
        free(run->jobs[i].note);
        free(run->jobs[i].places);
    }
    for (size_t i = 0; run->labels != NULL && i < run->scenario->node_count; i++) {
        free(run->labels[i]);
    }
    gang_sched_free(run->sched);
    gang_cluster_free(run->cluster);
    free(run->jobs);
    free(run->first_after);
    free(run->reserved);
    free(run->arrived);
    free(run->labels);
    free(run->ids);
    free(run->nodes);
    free(run->node_index.entries);
}

/* Pass the end of a case to the observer, if there is one. */
static int show_end(const struct run *run, case_end_fn then, void *user)
{
    size_t count = run->scenario->job_count;
    gang_worker *worker = NULL;
    gang_job_id *ids = calloc(count + 1, sizeof *ids);
    gang_alloc_id *allocs = calloc(count + 1, sizeof *allocs);
    const char **notes = calloc(count + 1, sizeof *notes);
    bool *refused = calloc(count + 1, sizeof *refused);
    bool good = ids != NULL && allocs != NULL && notes != NULL && refused != NULL;
    int status = good ? CLI_OK : cli_no_memory();
    gang_result result = status == CLI_OK ? gang_worker_new(run->cluster, &worker) : GANG_OK;
    if (result != GANG_OK) {
        status = cli_failf(run->file, "%s", gang_strerror(result));
    }
    for (size_t i = 0; i < count && status == CLI_OK; i++) {
        ids[i] = run->jobs[i].id;
        notes[i] = run->jobs[i].note;
        refused[i] = run->jobs[i].refused;
        if (ids[i] != GANG_ID_NONE) {
            allocs[i] = gang_job_alloc(run->sched, ids[i], 0);
        }
    }
    if (status == CLI_OK) {
        struct case_end end = {run->scenario, run->sched, worker, ids,
                               refused,       allocs,     notes,  run->now_ns};
        status = then(&end, user);
    }
    gang_worker_free(worker);
    free(ids);
    free(allocs);
    free(notes);
    free(refused);
    return status;
}

int scenario_run(const char *file, const struct gang_scenario *scenario, bool at_once,
                 case_end_fn then, void *user, struct ran_case *ran)
{
    struct run run = {.file = file, .scenario = scenario, .at_once = at_once, .start_ns = STEP_NS};
    *ran = (struct ran_case){.scenario = scenario};
    find_start(&run);
    int status = make_cluster(&run);
    if (status == CLI_OK) {
        status = make_jobs(&run);
    }
    if (status == CLI_OK) {
        status = make_sched(&run);
    }
    if (status == CLI_OK) {
        status = scenario_submit(&run);
    }
    if (status == CLI_OK) {
        status = run_passes(&run, ran);
    }
    if (status == CLI_OK) {
        status = scenario_collect(&run, ran);
    }
    if (status == CLI_OK) {
        status = scenario_warn_reserved(&run, ran);
    }
    if (status == CLI_OK && then != NULL) {
        status = show_end(&run, then, user);
    }
    free_run(&run);
    return status;
}

int scenario_run_each(const char *file, const gang_scenarios *scenarios, const char *only_case,
                      bool at_once, case_end_fn then, void *user)
{
    int status = CLI_OK;
    bool some = false;
    for (size_t i = 0; i < gang_scenarios_count(scenarios) && status == CLI_OK; i++) {
        struct gang_scenario scenario = GANG_SCENARIO_INIT;
        struct ran_case ran;
        gang_result result = gang_scenarios_get(scenarios, i, &scenario);
        if (result != GANG_OK) {
            return cli_failf(file, "%s", gang_strerror(result));
        }
        if (only_case != NULL && strcmp(only_case, scenario.id) != 0) {
            continue;
        }
        some = true;
        status = scenario_run(file, &scenario, at_once, then, user, &ran);
        scenario_done(&ran);
    }
    if (status == CLI_OK && only_case != NULL && !some) {
        return cli_failf(file, "no case '%s'", only_case);
    }
    return status;
}
