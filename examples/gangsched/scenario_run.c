/* SPDX-License-Identifier: Apache-2.0 */
/* Running one case: a scheduler takes its queues and jobs, and is asked what now, a second after
 * the other. */
#include "gangsched/scenario_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"

/* From one pass to the next. */
#define STEP_NS INT64_C(1000000000)

/* A case that tells run times is about a moment, and so is what is to come after it: no time
 * passes. */
static int64_t step_of(const struct run *run)
{
    return run->at_once || run->scenario->time_count > 0 ? 0 : STEP_NS;
}

/* When a time of the case is on the clock, which begins before the oldest of its jobs began:
 * times of a case are from its first pass on. 0, and less: none. */
static int64_t clock_of(const struct run *run, int64_t at_ns)
{
    if (at_ns <= 0) {
        return at_ns;
    }
    return at_ns < INT64_MAX - run->start_ns ? at_ns + run->start_ns : INT64_MAX;
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

/* ---- what is reserved ---- */

static int reserve(struct run *run, size_t number)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_reservation_spec spec = run->scenario->reservations[number];
    gang_reservation_id id;
    spec.arrival_ns = spec.arrival_ns == 0 ? run->start_ns : clock_of(run, spec.arrival_ns);
    spec.deadline_ns = clock_of(run, spec.deadline_ns);
    spec.until_ns = clock_of(run, spec.until_ns);
    spec.start_ns = spec.start_ns == 0 ? run->start_ns : clock_of(run, spec.start_ns);
    gang_result result = gang_reservation_add(run->sched, &spec, &id, NULL, &error);
    run->reserved[number] = true;
    if (result != GANG_OK) {
        return cli_failf(run->file, "case '%s': reservations[%zu]%s%s: %s", run->scenario->id,
                         number, error.path[0] != '\0' ? "." : "", error.path,
                         error.text[0] != '\0' ? error.text : gang_strerror(result));
    }
    return CLI_OK;
}

/* What a job names must be there before it. */
static int reserve_named(struct run *run, const char *name)
{
    const struct gang_scenario *c = run->scenario;
    for (size_t i = 0; i < c->reservation_count && name != NULL; i++) {
        if (!run->reserved[i] && strcmp(c->reservations[i].name, name) == 0) {
            return reserve(run, i);
        }
    }
    return CLI_OK;
}

static bool has_runners(const struct gang_scenario *c, const char *name)
{
    for (size_t i = 0; i < c->job_count; i++) {
        const struct gang_job_spec *spec = &c->jobs[i];
        if (spec->running && spec->reservation != NULL && strcmp(spec->reservation, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Reservations with running members are placed first; otherwise those members would block them. */
static int reserve_first(struct run *run)
{
    const struct gang_scenario *c = run->scenario;
    int status = CLI_OK;
    run->reserved = calloc(c->reservation_count + 1, sizeof *run->reserved);
    if (run->reserved == NULL) {
        return cli_no_memory();
    }
    for (size_t i = 0; i < c->reservation_count && status == CLI_OK; i++) {
        if (has_runners(c, c->reservations[i].name)) {
            status = reserve(run, i);
        }
    }
    return status;
}

/* ---- what runs at the start ---- */

/* The device that a label stands for: the one of that number if it can be, else the first that no
 * label stands for. -1: the node has not so many. -2: out of memory. */
static int device_of(struct run *run, size_t node, const char *name)
{
    int64_t number;
    int devices = (int)run->scenario->nodes[node].gpu_count;
    int device = 0;
    if (run->labels[node] == NULL) {
        run->labels[node] = calloc((size_t)devices + 1, sizeof *run->labels[node]);
    }
    const char **labels = run->labels[node];
    if (labels == NULL) {
        return -2;
    }
    for (int i = 0; i < devices; i++) {
        if (labels[i] != NULL && strcmp(labels[i], name) == 0) {
            return i;
        }
    }
    if (cli_parse_number(name, 0, devices - 1, &number) && labels[number] == NULL) {
        device = (int)number;
    }
    while (device < devices && labels[device] != NULL) {
        device++;
    }
    if (device >= devices) {
        return -1;
    }
    labels[device] = name;
    return device;
}

int32_t scenario_group_of(const struct gang_job_spec *spec, int64_t task)
{
    int32_t group = 0;
    while (task >= spec->request.groups[group].count) {
        task -= spec->request.groups[group].count;
        group++;
    }
    return group;
}

static const char *const numbers[GANG_MAX_GPUS] = {
    "0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10", "11", "12", "13", "14", "15",
    "16", "17", "18", "19", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29", "30", "31",
    "32", "33", "34", "35", "36", "37", "38", "39", "40", "41", "42", "43", "44", "45", "46", "47",
    "48", "49", "50", "51", "52", "53", "54", "55", "56", "57", "58", "59", "60", "61", "62", "63"};

/* The places of a job, with numbers of devices for their labels. */
struct places {
    struct gang_running_spec *list;
    const char **devices; /* of all of them */
};

static int make_place(struct run *run, size_t number, size_t task, const char **devices,
                      struct start_place *place)
{
    const struct gang_job_spec *spec = &run->scenario->jobs[number];
    const struct gang_running_spec *at = &spec->places[task];
    size_t node = name_index_find(&run->node_index, at->node);
    *place = (struct start_place){(int64_t)task, scenario_group_of(spec, (int64_t)task),
                                  run->ids[node], 0, at->device_count == 0};
    for (size_t i = 0; i < at->device_count; i++) {
        int device = device_of(run, node, at->devices[i]);
        if (device == -2) {
            return cli_no_memory();
        }
        if (device == -1) {
            return cli_failf(
                run->file, "case '%s': jobs[%zu].running_gpu[%zu]: node '%s' has only %zu devices",
                run->scenario->id, number, task, at->node, run->scenario->nodes[node].gpu_count);
        }
        place->gpus |= UINT64_C(1) << device;
        devices[i] = numbers[device];
    }
    return CLI_OK;
}

static int make_places(struct run *run, size_t number, struct places *places)
{
    const struct gang_job_spec *spec = &run->scenario->jobs[number];
    struct job *job = &run->jobs[number];
    size_t devices = 0;
    for (size_t i = 0; i < spec->place_count; i++) {
        devices += spec->places[i].device_count;
    }
    places->list = calloc(spec->place_count + 1, sizeof *places->list);
    places->devices = calloc(devices + 1, sizeof *places->devices);
    job->places = calloc(spec->place_count + 1, sizeof *job->places);
    if (places->list == NULL || places->devices == NULL || job->places == NULL) {
        return cli_no_memory();
    }
    const char **next = places->devices;
    for (size_t i = 0; i < spec->place_count; i++) {
        const struct gang_running_spec *at = &spec->places[i];
        if (at->node == NULL) {
            continue;
        }
        int status = make_place(run, number, i, next, &job->places[job->place_count++]);
        if (status != CLI_OK) {
            return status;
        }
        places->list[i] = (struct gang_running_spec){at->node, next, at->device_count};
        next += at->device_count;
    }
    return CLI_OK;
}

/* ---- submitting ---- */

/* The jobs that a job depends on, by id. A job that was refused never comes, nor do its
 * dependents. */
static int make_after(struct run *run, size_t number, struct gang_job_after **list, size_t *count)
{
    const struct gang_scenario_after *after = run->scenario->afters;
    size_t first = run->first_after[number];
    struct job *job = &run->jobs[number];
    *count = run->first_after[number + 1] - first;
    *list = calloc(*count + 1, sizeof **list);
    if (*list == NULL) {
        return cli_no_memory();
    }
    for (size_t i = 0; i < *count; i++) {
        (*list)[i].job = run->jobs[after[first + i].after].id;
        (*list)[i].when = after[first + i].when;
        if ((*list)[i].job == GANG_ID_NONE && job->note == NULL) {
            job->note = cli_copy("waits for a job that was not taken");
            if (job->note == NULL) {
                return cli_no_memory();
            }
        }
    }
    return CLI_OK;
}

/* A job that could never run stays where it is: waiting. */
static int submit_spec(struct run *run, size_t number, const struct gang_job_spec *spec)
{
    struct job *job = &run->jobs[number];
    struct gang_error error = GANG_ERROR_INIT;
    gang_result result = gang_job_submit(run->sched, spec, &job->id, &error);
    if (result == GANG_ENEVER) {
        job->note = cli_copy(error.text);
        return job->note != NULL ? CLI_OK : cli_no_memory();
    }
    return result == GANG_OK ? CLI_OK : scenario_fail_job(run, number, &error);
}

static int submit_as(struct run *run, size_t number, bool held)
{
    struct gang_job_spec spec = run->scenario->jobs[number];
    struct gang_job_after *after = NULL;
    struct places places = {NULL, NULL};
    int status = make_after(run, number, &after, &spec.after_count);
    if (status == CLI_OK && spec.running) {
        status = make_places(run, number, &places);
        spec.places = places.list;
    }
    if (status == CLI_OK) {
        status = reserve_named(run, spec.reservation);
    }
    if (status == CLI_OK && run->jobs[number].note == NULL) {
        spec.after = after;
        spec.begin_ns = clock_of(run, spec.begin_ns);
        spec.deadline_ns = clock_of(run, spec.deadline_ns);
        spec.cookie = number;
        run->jobs[number].held = held && !spec.hold;
        spec.hold = spec.hold || held;
        status = submit_spec(run, number, &spec);
    }
    free(after);
    free(places.list);
    free(places.devices);
    return status;
}

/* A job after all that it waits for, for it names them by their ids. */
static int submit_behind(struct run *run, size_t number, bool held, bool *done, size_t *path,
                         size_t *next)
{
    size_t depth = 1;
    int status = CLI_OK;
    path[0] = number;
    while (depth > 0 && status == CLI_OK) {
        size_t at = path[depth - 1];
        if (!done[at] && next[at] < run->first_after[at + 1]) {
            path[depth++] = run->scenario->afters[next[at]++].after;
            continue;
        }
        if (!done[at]) {
            status = submit_as(run, at, held);
        }
        done[at] = true;
        depth--;
    }
    return status;
}

static bool names_devices(const struct gang_job_spec *spec)
{
    for (size_t i = 0; i < spec->place_count; i++) {
        if (spec->places[i].device_count > 0) {
            return true;
        }
    }
    return false;
}

/* ---- what has been running for some time ---- */

static int older_first(const void *a, const void *b)
{
    const struct gang_scenario_time *left = a;
    const struct gang_scenario_time *right = b;
    if (left->ran_ns != right->ran_ns) {
        return left->ran_ns > right->ran_ns ? -1 : 1;
    }
    return left->job < right->job ? -1 : left->job > right->job;
}

/* It enters as long before the first pass as it has run. */
static int submit_one_aged(struct run *run, const struct gang_scenario_time *time)
{
    int status = submit_as(run, time->job, true);
    if (status == CLI_OK && run->jobs[time->job].id != GANG_ID_NONE) {
        gang_result result = gang_sched_run(run->sched, run->start_ns - time->ran_ns, NULL, NULL);
        status = result == GANG_OK ? CLI_OK : scenario_fail_code(run, time->job, result);
    }
    return status;
}

static int submit_aged(struct run *run, bool *done)
{
    size_t count = run->scenario->time_count;
    struct gang_scenario_time *times = calloc(count + 1, sizeof *times);
    int status = times != NULL ? CLI_OK : cli_no_memory();
    for (size_t i = 0; i < count && status == CLI_OK; i++) {
        times[i] = run->scenario->times[i];
    }
    if (status == CLI_OK && count > 0) {
        qsort(times, count, sizeof *times, older_first);
    }
    for (size_t i = 0; i < count && status == CLI_OK && times[i].ran_ns > 0; i++) {
        status = submit_one_aged(run, &times[i]);
        done[times[i].job] = true;
    }
    free(times);
    return status;
}

/* Jobs that the case calls running must have been able to start. */
static int check_start(const struct run *run)
{
    for (size_t i = 0; i < run->scenario->job_count; i++) {
        const struct job *job = &run->jobs[i];
        if (run->scenario->jobs[i].running && job->id == GANG_ID_NONE) {
            return cli_failf(run->file, "case '%s': jobs[%zu]: runs, but %s", run->scenario->id, i,
                             job->note);
        }
        if (job->end == GANG_END_REFUSED) {
            return cli_failf(run->file, "case '%s': jobs[%zu]: %s", run->scenario->id, i,
                             job->note);
        }
    }
    return CLI_OK;
}

/* The other reservations are placed after all running jobs, as in a live system; a reservation
 * that conflicts with a running job is refused. */
static int reserve_rest(struct run *run)
{
    const struct gang_scenario *c = run->scenario;
    int status = check_start(run);
    if (status == CLI_OK && c->reservation_count > 0) {
        gang_result result = gang_sched_run(run->sched, run->start_ns, NULL, NULL);
        status = result == GANG_OK
                     ? check_start(run)
                     : cli_failf(run->file, "case '%s': %s", c->id, gang_strerror(result));
    }
    for (size_t i = 0; i < c->reservation_count && status == CLI_OK; i++) {
        if (!run->reserved[i]) {
            status = reserve(run, i);
        }
    }
    return status;
}

/* All running jobs are there: now they may grow. */
static int release_held(struct run *run)
{
    int status = CLI_OK;
    for (size_t i = 0; i < run->scenario->job_count && status == CLI_OK; i++) {
        if (run->jobs[i].held && run->jobs[i].id != GANG_ID_NONE) {
            gang_result result = gang_job_release(run->sched, run->jobs[i].id);
            status = result == GANG_OK ? CLI_OK : scenario_fail_code(run, i, result);
        }
    }
    return status;
}

enum turn { NAMES_DEVICES, RUNS, WAITS };

static enum turn turn_of(const struct gang_job_spec *spec)
{
    return !spec->running ? WAITS : names_devices(spec) ? NAMES_DEVICES : RUNS;
}

static int submit_turn(struct run *run, enum turn turn, bool *done, size_t *path, size_t *next)
{
    const struct gang_scenario *c = run->scenario;
    int status = CLI_OK;
    for (size_t i = 0; i < c->job_count && status == CLI_OK; i++) {
        if (turn_of(&c->jobs[i]) == turn) {
            status = submit_behind(run, i, turn != WAITS, done, path, next);
        }
    }
    return status;
}

/* Order of arrival: running jobs that name their devices, so that other jobs get the rest;
 * running jobs that name none; reservations without running members; waiting jobs. */
static int submit_all(struct run *run)
{
    const struct gang_scenario *c = run->scenario;
    bool *done = calloc(c->job_count + 1, sizeof *done);
    size_t *path = calloc(c->job_count + 1, sizeof *path);
    size_t *next = calloc(c->job_count + 1, sizeof *next);
    int status = done != NULL && path != NULL && next != NULL ? CLI_OK : cli_no_memory();
    for (size_t i = 0; i < c->job_count && status == CLI_OK; i++) {
        next[i] = run->first_after[i];
    }
    if (status == CLI_OK) {
        status = reserve_first(run);
    }
    if (status == CLI_OK) {
        status = submit_aged(run, done);
    }
    for (enum turn turn = NAMES_DEVICES; turn <= RUNS && status == CLI_OK; turn++) {
        status = submit_turn(run, turn, done, path, next);
    }
    if (status == CLI_OK) {
        status = reserve_rest(run);
    }
    if (status == CLI_OK) {
        status = release_held(run);
    }
    if (status == CLI_OK) {
        status = submit_turn(run, WAITS, done, path, next);
    }
    free(done);
    free(path);
    free(next);
    return status;
}

static int make_jobs(struct run *run)
{
    const struct gang_scenario *c = run->scenario;
    run->jobs = calloc(c->job_count + 1, sizeof *run->jobs);
    run->first_after = calloc(c->job_count + 2, sizeof *run->first_after);
    if (run->jobs == NULL || run->first_after == NULL) {
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
        run->now_ns = run->start_ns + i * step_of(run);
        status = pass(run, run->now_ns, &changed);
        if (!changed && gang_sched_next(run->sched) == INT64_MAX) {
            break; /* nor would the next one change anything */
        }
    }
    if (status == CLI_OK) {
        status = check_start(run);
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
    int status = ids != NULL && allocs != NULL && notes != NULL ? CLI_OK : cli_no_memory();
    gang_result result = status == CLI_OK ? gang_worker_new(run->cluster, &worker) : GANG_OK;
    if (result != GANG_OK) {
        status = cli_failf(run->file, "%s", gang_strerror(result));
    }
    for (size_t i = 0; i < count && status == CLI_OK; i++) {
        ids[i] = run->jobs[i].id;
        notes[i] = run->jobs[i].note;
        if (ids[i] != GANG_ID_NONE) {
            allocs[i] = gang_job_alloc(run->sched, ids[i], 0);
        }
    }
    if (status == CLI_OK) {
        struct case_end end = {run->scenario, run->sched, worker, ids, allocs, notes, run->now_ns};
        status = then(&end, user);
    }
    gang_worker_free(worker);
    free(ids);
    free(allocs);
    free(notes);
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
        status = submit_all(&run);
    }
    if (status == CLI_OK) {
        status = run_passes(&run, ran);
    }
    if (status == CLI_OK) {
        status = scenario_collect(&run, ran);
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
