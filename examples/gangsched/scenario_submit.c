/* SPDX-License-Identifier: Apache-2.0 */
/* How the jobs and reservations of a case reach its scheduler: in which order, and with which
 * times. */
#include "gangsched/scenario_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"

/* When a time of the case is on the clock, which begins before the oldest of its jobs began:
 * times of a case are from its first pass on. 0, and less: none. */
static int64_t clock_of(const struct run *run, int64_t at_ns)
{
    if (at_ns <= 0) {
        return at_ns;
    }
    return at_ns < INT64_MAX - run->start_ns ? at_ns + run->start_ns : INT64_MAX;
}

/* ---- reservations ---- */

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

/* ---- one job ---- */

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

/* "PATH: TEXT", as the scheduler answers. NULL: out of memory. */
static char *reason_of(const struct gang_error *error)
{
    char path[sizeof error->path + 16];
    char text[sizeof path + sizeof error->text + 2];
    scenario_spec_path(error, path, sizeof path);
    snprintf(text, sizeof text, "%s%s%s", path, path[0] != '\0' ? ": " : "",
             error->text[0] != '\0' ? error->text : gang_strerror(error->code));
    return cli_copy(text);
}

/* A job that could never run waits; one that the scheduler refuses for another reason is refused.
 * Neither hides the other jobs. */
static int submit_spec(struct run *run, size_t number, const struct gang_job_spec *spec)
{
    struct job *job = &run->jobs[number];
    struct gang_error error = GANG_ERROR_INIT;
    gang_result result = gang_job_submit(run->sched, spec, &job->id, &error);
    if (result == GANG_OK) {
        return CLI_OK;
    }
    if (result == GANG_ENOMEM) {
        return scenario_fail_job(run, number, &error);
    }
    job->refused = result != GANG_ENEVER;
    job->note = job->refused ? reason_of(&error) : cli_copy(error.text);
    return job->note != NULL ? CLI_OK : cli_no_memory();
}

static int submit_as(struct run *run, size_t number, bool held)
{
    struct gang_job_spec spec = run->scenario->jobs[number];
    struct gang_job_after *after = NULL;
    struct places places = {NULL, NULL};
    int status = make_after(run, number, &after, &spec.after_count);
    if (status == CLI_OK && spec.running) {
        status = scenario_places(run, number, &places);
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

/* ---- order of arrival ---- */

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

/* Jobs that the case calls running must have been able to start, unless they were refused for what
 * they ask. */
int scenario_check_start(const struct run *run)
{
    for (size_t i = 0; i < run->scenario->job_count; i++) {
        const struct job *job = &run->jobs[i];
        bool runs = run->scenario->jobs[i].running != 0;
        if (runs && job->id == GANG_ID_NONE && !job->refused) {
            return cli_failf(run->file, "case '%s': jobs[%zu]: runs, but %s", run->scenario->id, i,
                             job->note);
        }
        if (runs && job->end == GANG_END_REFUSED) {
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
    int status = scenario_check_start(run);
    if (status == CLI_OK && c->reservation_count > 0) {
        gang_result result = gang_sched_run(run->sched, run->start_ns, NULL, NULL);
        status = result == GANG_OK
                     ? scenario_check_start(run)
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

enum arrival { NAMES_DEVICES, RUNS, WAITS };

static bool names_devices(const struct gang_job_spec *spec)
{
    for (size_t i = 0; i < spec->place_count; i++) {
        if (spec->places[i].device_count > 0) {
            return true;
        }
    }
    return false;
}

static enum arrival arrival_of(const struct gang_job_spec *spec)
{
    return !spec->running ? WAITS : names_devices(spec) ? NAMES_DEVICES : RUNS;
}

static int submit_arrivals(struct run *run, enum arrival arrival, bool *done, size_t *path,
                           size_t *next)
{
    const struct gang_scenario *c = run->scenario;
    int status = CLI_OK;
    for (size_t i = 0; i < c->job_count && status == CLI_OK; i++) {
        if (arrival_of(&c->jobs[i]) == arrival) {
            status = submit_behind(run, i, arrival != WAITS, done, path, next);
        }
    }
    return status;
}

/* Order of arrival: running jobs that name their devices, so that other jobs get the rest;
 * running jobs that name none; reservations without running members; waiting jobs. */
int scenario_submit(struct run *run)
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
    for (enum arrival arrival = NAMES_DEVICES; arrival <= RUNS && status == CLI_OK; arrival++) {
        status = submit_arrivals(run, arrival, done, path, next);
    }
    if (status == CLI_OK) {
        status = reserve_rest(run);
    }
    if (status == CLI_OK) {
        status = release_held(run);
    }
    if (status == CLI_OK) {
        status = submit_arrivals(run, WAITS, done, path, next);
    }
    free(done);
    free(path);
    free(next);
    return status;
}

/* ---- tasks of announced jobs ---- */

static gang_result arrive(const struct run *run, const struct gang_scenario_arrival *arrival)
{
    gang_job_id id = run->jobs[arrival->job].id;
    if (id == GANG_ID_NONE) {
        return GANG_OK; /* the job was refused */
    }
    return arrival->count != 0 ? gang_job_add_tasks(run->sched, id, arrival->group, arrival->count)
                               : gang_job_complete(run->sched, id);
}

int scenario_arrive(struct run *run, bool *left)
{
    const struct gang_scenario *c = run->scenario;
    for (size_t i = 0; i < c->arrival_count; i++) {
        bool due = c->arrivals[i].at_ns <= run->now_ns - run->start_ns;
        *left = *left || !due;
        if (run->arrived[i] || !due) {
            continue;
        }
        gang_result result = arrive(run, &c->arrivals[i]);
        if (result != GANG_OK) {
            return scenario_fail_code(run, c->arrivals[i].job, result);
        }
        run->arrived[i] = true;
    }
    return CLI_OK;
}
