/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the jobs and queues of a case. */
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"
#include "gangsched/scenario_run.h"

/* ---- tasks ---- */

struct collecting {
    const struct run *run;
    const struct job *job;
    struct ran_job *out;
    const int32_t *groups; /* of the gang under way, in the job */
    size_t cap;
    bool *taken;  /* of job->places: a task is there */
    bool *used;   /* numbers of tasks */
    size_t first; /* places before it are taken */
    bool failed;  /* out of memory */
};

static const char *node_name(const struct run *run, gang_node_id id)
{
    size_t low = 0;
    size_t high = run->scenario->node_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (run->nodes[middle].id == id) {
            return run->scenario->nodes[run->nodes[middle].at].name;
        }
        if (run->nodes[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return "";
}

/* The number that a task had at the start; -1: it was not there. */
static int64_t known_number(struct collecting *c, const struct gang_task *task, int32_t group)
{
    const struct job *job = c->job;
    while (c->first < job->place_count && c->taken[c->first]) {
        c->first++;
    }
    for (size_t i = c->first; i < job->place_count; i++) {
        const struct start_place *place = &job->places[i];
        if (!c->taken[i] && place->group == group && place->node == task->node &&
            (place->any_devices || place->gpus == task->gpus)) {
            c->taken[i] = true;
            return place->task;
        }
    }
    return -1;
}

static int32_t collect_task(const struct gang_task *task, void *user)
{
    struct collecting *c = user;
    if (!cli_grow((void **)&c->out->tasks, &c->cap, c->out->task_count, sizeof *c->out->tasks)) {
        c->failed = true;
        return 1;
    }
    struct ran_task *out = &c->out->tasks[c->out->task_count++];
    int32_t group = c->groups[task->group];
    *out = (struct ran_task){known_number(c, task, group),
                             group,
                             node_name(c->run, task->node),
                             task->gpus,
                             task->gpu_count,
                             task->gpu_count > 0 ? task->gpu_share : 0};
    if (out->task >= 0) {
        c->used[out->task] = true;
    }
    c->out->gpu_milli += (int64_t)out->gpu_count * out->share;
    return 0;
}

static int compare_tasks(const void *a, const void *b)
{
    const struct ran_task *left = a;
    const struct ran_task *right = b;
    return left->task < right->task ? -1 : left->task > right->task;
}

/* Those that were not there at the start get the first numbers of their groups that are free. */
static bool number_tasks(struct collecting *c)
{
    const struct gang_request_spec *request = &c->out->spec->request;
    int64_t *next = calloc(request->group_count + 1, sizeof *next);
    if (next == NULL) {
        return false;
    }
    for (size_t i = 1; i < request->group_count; i++) {
        next[i] = next[i - 1] + request->groups[i - 1].count;
    }
    for (size_t i = 0; i < c->out->task_count; i++) {
        struct ran_task *task = &c->out->tasks[i];
        if (task->task < 0) {
            while (c->used[next[task->group]]) {
                next[task->group]++;
            }
            task->task = next[task->group]++;
        }
    }
    free(next);
    if (c->out->task_count > 0) {
        qsort(c->out->tasks, c->out->task_count, sizeof *c->out->tasks, compare_tasks);
    }
    return true;
}

/* ---- gangs of a job ---- */

/* Do two groups of a job wait for the same groups? They are one gang then. */
static bool wait_alike(const struct gang_job_spec *spec, int32_t a, int32_t b)
{
    for (size_t i = 0; i < spec->group_after_count; i++) {
        const struct gang_group_after *x = &spec->group_after[i];
        bool found = x->group != a && x->group != b;
        for (size_t k = 0; k < spec->group_after_count && !found; k++) {
            const struct gang_group_after *y = &spec->group_after[k];
            found =
                y->group == (x->group == a ? b : a) && y->after == x->after && y->when == x->when;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

/* The groups of the gang that begins with `first`; 0: it is in one that began before. */
static size_t groups_of_gang(const struct gang_job_spec *spec, int32_t first, int32_t *groups)
{
    size_t count = 0;
    for (int32_t i = 0; i < first; i++) {
        if (wait_alike(spec, i, first)) {
            return 0;
        }
    }
    for (int32_t i = first; (size_t)i < spec->request.group_count; i++) {
        if (wait_alike(spec, first, i)) {
            groups[count++] = i;
        }
    }
    return count;
}

/* All gangs of the job: one, unless groups wait for each other. */
static gang_result collect_gangs(struct collecting *c, int32_t *groups)
{
    const struct gang_job_spec *spec = c->out->spec;
    int32_t part = 0;
    for (int32_t first = 0; (size_t)first < spec->request.group_count; first++) {
        if (groups_of_gang(spec, first, groups) == 0) {
            continue;
        }
        gang_alloc_id alloc = gang_job_alloc(c->run->sched, c->job->id, part++);
        c->groups = groups;
        gang_result result = GANG_OK;
        if (alloc != GANG_ID_NONE) {
            c->out->state = "running";
            result = gang_alloc_each(c->run->cluster, alloc, collect_task, c);
        }
        if (c->failed || result != GANG_OK) {
            return c->failed ? GANG_ENOMEM : result;
        }
        if (spec->group_after_count == 0) {
            break;
        }
    }
    return number_tasks(c) ? GANG_OK : GANG_ENOMEM;
}

static gang_result collect_tasks(const struct run *run, const struct job *job, struct ran_job *out)
{
    const struct gang_request_spec *request = &out->spec->request;
    size_t tasks = 0;
    for (size_t i = 0; i < request->group_count; i++) {
        tasks += (size_t)request->groups[i].count;
    }
    int32_t *groups = calloc(request->group_count + 1, sizeof *groups);
    struct collecting c = {.run = run,
                           .job = job,
                           .out = out,
                           .taken = calloc(job->place_count + 1, sizeof *c.taken),
                           .used = calloc(tasks + 1, sizeof *c.used)};
    gang_result result = GANG_ENOMEM;
    if (groups != NULL && c.taken != NULL && c.used != NULL) {
        result = collect_gangs(&c, groups);
    }
    free(groups);
    free(c.taken);
    free(c.used);
    return result;
}

/* ---- jobs and queues ---- */

/* The queue of the scenario: the job's, or that below which its queue was made. */
static size_t queue_of(const struct run *run, const struct ran_case *ran, gang_queue_id id)
{
    while (id != GANG_ID_NONE) {
        struct gang_queue_info info = {.size = sizeof info};
        if (gang_queue_get(run->sched, id, &info) != GANG_OK) {
            return SIZE_MAX;
        }
        size_t found = name_index_find(&ran->queue_index, info.name);
        if (found != SIZE_MAX) {
            return found;
        }
        id = info.parent;
    }
    return SIZE_MAX;
}

static int collect_job(const struct run *run, size_t number, struct ran_case *ran)
{
    struct ran_job *out = &ran->jobs[number];
    const struct job *job = &run->jobs[number];
    struct gang_job_info info = {.size = sizeof info};
    out->spec = &run->scenario->jobs[number];
    out->queue = SIZE_MAX;
    out->state = out->spec->running ? "preempted" : "pending";
    if (job->end != GANG_END_NONE && job->end != GANG_END_PREEMPTED) {
        out->state = "ended";
    }
    if (job->refused) {
        out->state = "refused";
        out->reason = cli_copy(job->note);
        return out->reason != NULL ? CLI_OK : cli_no_memory();
    }
    if (job->id == GANG_ID_NONE || job->end != GANG_END_NONE) {
        return CLI_OK;
    }
    gang_result result = gang_job_get(run->sched, job->id, &info);
    if (result == GANG_OK) {
        out->queue = queue_of(run, ran, info.queue);
        result = collect_tasks(run, job, out);
    }
    if (result == GANG_ENOMEM) {
        return cli_no_memory();
    }
    return result == GANG_OK ? CLI_OK : scenario_fail_code(run, number, result);
}

static int index_queues(struct ran_case *ran)
{
    const struct gang_scenario *c = ran->scenario;
    ran->queues = calloc(c->queue_count + 1, sizeof *ran->queues);
    if (ran->queues == NULL ||
        !name_index_make(&ran->queue_index, c->queue_count > 0 ? &c->queues[0].name : NULL,
                         sizeof c->queues[0], c->queue_count)) {
        return cli_no_memory();
    }
    for (size_t i = 0; i < c->queue_count; i++) {
        ran->queues[i].parent = c->queues[i].parent != NULL
                                    ? name_index_find(&ran->queue_index, c->queues[i].parent)
                                    : SIZE_MAX;
    }
    return CLI_OK;
}

static void sum_queues(struct ran_case *ran)
{
    for (size_t i = 0; i < ran->job_count; i++) {
        const struct ran_job *job = &ran->jobs[i];
        for (size_t q = job->queue; q != SIZE_MAX; q = ran->queues[q].parent) {
            ran->queues[q].gpu_milli += job->gpu_milli;
            ran->queues[q].task_count += job->task_count;
        }
    }
}

int scenario_collect(const struct run *run, struct ran_case *ran)
{
    struct gang_error error = GANG_ERROR_INIT;
    int status = index_queues(ran);
    ran->jobs = calloc(run->scenario->job_count + 1, sizeof *ran->jobs);
    if (status == CLI_OK && ran->jobs == NULL) {
        status = cli_no_memory();
    }
    for (size_t i = 0; i < run->scenario->job_count && status == CLI_OK; i++) {
        ran->job_count = i + 1;
        status = collect_job(run, i, ran);
    }
    if (status != CLI_OK) {
        return status;
    }
    sum_queues(ran);
    if (gang_cluster_check(run->cluster, &error) != GANG_OK ||
        gang_sched_check(run->sched, &error) != GANG_OK) {
        return cli_fail(run->file, &error);
    }
    return CLI_OK;
}

void scenario_done(struct ran_case *ran)
{
    for (size_t i = 0; ran->jobs != NULL && i < ran->job_count; i++) {
        free(ran->jobs[i].tasks);
        free(ran->jobs[i].reason);
        free(ran->jobs[i].warning);
    }
    free(ran->jobs);
    free(ran->queues);
    free(ran->queue_index.entries);
}
