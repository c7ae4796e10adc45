/* SPDX-License-Identifier: Apache-2.0 */
/* Running one case by allocation alone: what runs is adopted where it is; then, pass by pass, waiting
 * jobs start by priority and age, and those above their minimum grow. */
#include "gangsched/scenario_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"

/* What a case may need and still be decided by allocation alone. The last three say which simpler
 * schedulers fail the case. */
static const char *const known_needs[] = {"gang",
                                          "elastic",
                                          "node-affinity",
                                          "topology",
                                          "priority",
                                          "anything-beyond-first-fit",
                                          "more-than-naive-fifo"};

struct job {
    gang_request *request;
    gang_alloc_id id; /* GANG_ID_NONE: does not run */
    int64_t tasks_at_start;
    struct known {
        int64_t number; /* gang_task.task */
        int64_t task;   /* number in the scenario */
    } * known;          /* the tasks it had at the start, by number */
    size_t known_count;
    bool full; /* cannot grow in this pass */
};

struct node {
    gang_node_id id;
    size_t at; /* in the scenario */
};

struct run {
    const char *file;
    const struct gang_scenario *scenario;
    gang_cluster *cluster;
    gang_worker *worker;
    struct name_index node_index;
    gang_node_id *ids;    /* of the scenario's nodes */
    struct node *nodes;   /* by id */
    const char ***labels; /* of each node, by device: the label that stands for it; or NULL */
    struct job *jobs;
    size_t *order; /* jobs by priority and age: how they grow */
    size_t *start; /* how they start: the same, or queue by queue */
    bool changed;  /* in this pass */
};

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

/* "gangsched: FILE: CASE: jobs[3]: TEXT" */
static int fail_job(const struct run *run, size_t job, const struct gang_error *error)
{
    return cli_failf(run->file, "case '%s': jobs[%zu]%s%s: %s", run->scenario->id, job,
                     error->path[0] != '\0' ? ": " : "", error->path,
                     error->text[0] != '\0' ? error->text : gang_strerror(error->code));
}

static int fail_job_code(const struct run *run, size_t job, gang_result result)
{
    struct gang_error error = GANG_ERROR_INIT;
    error.code = result;
    return fail_job(run, job, &error);
}

/* ---- what the case needs ---- */

static bool is_known(const char *need)
{
    for (size_t i = 0; i < sizeof known_needs / sizeof known_needs[0]; i++) {
        if (strcmp(need, known_needs[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* "needs reclaim, guarantee"; "" if allocation is enough. */
static void missing_needs(const struct gang_scenario *scenario, char *text, size_t room)
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < scenario->need_count; i++) {
        const char *need = scenario->needs[i];
        if (is_known(need)) {
            continue;
        }
        if (used + strlen(need) + 16 > room) { /* never cut within a name */
            snprintf(text + used, room - used, ", ...");
            return;
        }
        used +=
            (size_t)snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "needs ", need);
    }
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
    gang_result result = gang_worker_new(run->cluster, &run->worker);
    if (result != GANG_OK) {
        return cli_failf(run->file, "%s", gang_strerror(result));
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
        result = gang_node_find(run->cluster, c->nodes[i].name, &run->ids[i]);
        if (result != GANG_OK) {
            return cli_failf(run->file, "%s: %s", c->nodes[i].name, gang_strerror(result));
        }
        run->nodes[i] = (struct node){run->ids[i], i};
    }
    qsort(run->nodes, c->node_count, sizeof *run->nodes, compare_nodes);
    return CLI_OK;
}

static int make_requests(struct run *run)
{
    const struct gang_scenario *c = run->scenario;
    run->jobs = calloc(c->job_count + 1, sizeof *run->jobs);
    if (run->jobs == NULL) {
        return cli_no_memory();
    }
    for (size_t i = 0; i < c->job_count; i++) {
        struct gang_error error = GANG_ERROR_INIT;
        if (gang_request_new(run->cluster, &c->jobs[i].request, &run->jobs[i].request, &error) !=
            GANG_OK) {
            return fail_job(run, i, &error);
        }
    }
    return CLI_OK;
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

static int make_place(struct run *run, size_t job, size_t task, struct gang_placement *place)
{
    const struct gang_job_spec *spec = &run->scenario->jobs[job];
    const struct gang_running_spec *at = &spec->places[task];
    size_t node = name_index_find(&run->node_index, at->node);
    *place = (struct gang_placement)GANG_PLACEMENT_INIT;
    place->group = scenario_group_of(spec, (int64_t)task);
    place->node = run->ids[node];
    place->any_devices = at->device_count == 0;
    for (size_t i = 0; i < at->device_count; i++) {
        int device = device_of(run, node, at->devices[i]);
        if (device == -2) {
            return cli_no_memory();
        }
        if (device == -1) {
            return cli_failf(
                run->file, "case '%s': jobs[%zu].running_gpu[%zu]: node '%s' has only %zu devices",
                run->scenario->id, job, task, at->node, run->scenario->nodes[node].gpu_count);
        }
        place->gpus |= UINT64_C(1) << device;
    }
    return CLI_OK;
}

/* Remembers which task of the allocation is which of the scenario. */
struct matching {
    struct job *job;
    const struct gang_placement *places;
    const int64_t *tasks; /* number in the scenario of each place */
    bool *taken;
    size_t count;
    size_t first; /* places before it are taken */
};

static int32_t match_task(const struct gang_task *task, void *user)
{
    struct matching *m = user;
    while (m->first < m->count && m->taken[m->first]) {
        m->first++;
    }
    for (size_t i = m->first; i < m->count; i++) {
        const struct gang_placement *place = &m->places[i];
        if (!m->taken[i] && place->group == task->group && place->node == task->node &&
            (place->any_devices || place->gpus == task->gpus)) {
            m->taken[i] = true;
            m->job->known[m->job->known_count++] = (struct known){task->task, m->tasks[i]};
            return 0;
        }
    }
    return 0;
}

static int adopt_places(struct run *run, size_t number, const struct gang_placement *places,
                        const int64_t *tasks, size_t count)
{
    struct job *job = &run->jobs[number];
    struct gang_error error = GANG_ERROR_INIT;
    if (gang_alloc_adopt(run->worker, job->request, places, (int64_t)count, &job->id, &error) !=
        GANG_OK) {
        return fail_job(run, number, &error);
    }
    job->tasks_at_start = (int64_t)count;
    job->known = calloc(count, sizeof *job->known);
    struct matching m = {job, places, tasks, calloc(count, sizeof *m.taken), count, 0};
    int status = CLI_OK;
    if (job->known == NULL || m.taken == NULL) {
        status = cli_no_memory();
    } else if (gang_alloc_each(run->cluster, job->id, match_task, &m) != GANG_OK) {
        status = fail_job_code(run, number, GANG_EINVAL);
    }
    free(m.taken);
    return status;
}

static int adopt_job(struct run *run, size_t number)
{
    const struct gang_job_spec *spec = &run->scenario->jobs[number];
    struct gang_placement *places = calloc(spec->place_count, sizeof *places);
    int64_t *tasks = calloc(spec->place_count, sizeof *tasks);
    size_t count = 0;
    int status = places != NULL && tasks != NULL ? CLI_OK : cli_no_memory();
    for (size_t i = 0; i < spec->place_count && status == CLI_OK; i++) {
        if (spec->places[i].node != NULL) {
            status = make_place(run, number, i, &places[count]);
            tasks[count++] = (int64_t)i;
        }
    }
    if (status == CLI_OK) {
        status = adopt_places(run, number, places, tasks, count);
    }
    free(places);
    free(tasks);
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

/* Those that name their devices first, so that the others get what is left. */
static int adopt_jobs(struct run *run)
{
    int status = CLI_OK;
    for (int unnamed = 0; unnamed < 2; unnamed++) {
        for (size_t i = 0; i < run->scenario->job_count && status == CLI_OK; i++) {
            const struct gang_job_spec *spec = &run->scenario->jobs[i];
            if (spec->running && names_devices(spec) == (unnamed == 0)) {
                status = adopt_job(run, i);
            }
        }
    }
    return status;
}

/* ---- passes ---- */

/* In which order the jobs start. The order between queues is not for allocation to decide: the last
 * two are tried to find out whether it matters. */
enum start { BY_PRIORITY, QUEUE_BY_QUEUE, QUEUES_BACKWARDS };

struct sort_key {
    int64_t queue; /* smaller first */
    int64_t priority;
    int64_t submit;
    size_t job;
};

static int compare_keys(const void *a, const void *b)
{
    const struct sort_key *left = a;
    const struct sort_key *right = b;
    if (left->queue != right->queue) {
        return left->queue < right->queue ? -1 : 1;
    }
    if (left->priority != right->priority) {
        return left->priority > right->priority ? -1 : 1;
    }
    if (left->submit != right->submit) {
        return left->submit < right->submit ? -1 : 1;
    }
    return left->job < right->job ? -1 : left->job > right->job;
}

/* The jobs of the case in an order; NULL: out of memory. */
static size_t *sort_jobs(const struct run *run, const struct name_index *queues, enum start start)
{
    const struct gang_scenario *c = run->scenario;
    struct sort_key *keys = calloc(c->job_count + 1, sizeof *keys);
    size_t *order = calloc(c->job_count + 1, sizeof *order);
    for (size_t i = 0; i < c->job_count && keys != NULL; i++) {
        const struct gang_job_spec *job = &c->jobs[i];
        int64_t queue = 0;
        if (start != BY_PRIORITY && job->queue != NULL) {
            queue = (int64_t)name_index_find(queues, job->queue);
        }
        keys[i] = (struct sort_key){start == QUEUES_BACKWARDS ? -queue : queue, job->priority,
                                    job->submit, i};
    }
    if (keys == NULL || order == NULL) {
        free(keys);
        free(order);
        return NULL;
    }
    qsort(keys, c->job_count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < c->job_count; i++) {
        order[i] = keys[i].job;
    }
    free(keys);
    return order;
}

/* A refusal is an answer, not a failure. */
static bool is_refusal(gang_result result)
{
    return result == GANG_ENOFIT || result == GANG_ENEVER;
}

/* A job that cannot start does not block those behind it. */
static int start_jobs(struct run *run)
{
    for (size_t i = 0; i < run->scenario->job_count; i++) {
        struct job *job = &run->jobs[run->start[i]];
        if (job->id != GANG_ID_NONE) {
            continue;
        }
        gang_result result = gang_alloc(run->worker, job->request, &job->id, NULL);
        if (result != GANG_OK && !is_refusal(result)) {
            return fail_job_code(run, run->start[i], result);
        }
        run->changed = run->changed || result == GANG_OK;
    }
    return CLI_OK;
}

/* Jobs of one priority take turns, a task each, until none of them can grow. */
static int grow_jobs(struct run *run, size_t first, size_t last)
{
    bool grown = true;
    while (grown) {
        grown = false;
        for (size_t i = first; i < last; i++) {
            struct job *job = &run->jobs[run->order[i]];
            if (job->id == GANG_ID_NONE || job->full) {
                continue;
            }
            gang_result result = gang_alloc_grow(run->worker, job->id, -1, 1, NULL, NULL);
            if (result == GANG_OK) {
                grown = run->changed = true;
            } else if (is_refusal(result) || result == GANG_ERANGE) {
                job->full = true;
            } else {
                return fail_job_code(run, run->order[i], result);
            }
        }
    }
    return CLI_OK;
}

static int pass(struct run *run)
{
    const struct gang_scenario *c = run->scenario;
    run->changed = false;
    for (size_t i = 0; i < c->job_count; i++) {
        run->jobs[i].full = false;
    }
    int status = start_jobs(run);
    size_t last;
    for (size_t first = 0; first < c->job_count && status == CLI_OK; first = last) {
        int64_t priority = c->jobs[run->order[first]].priority;
        for (last = first; last < c->job_count; last++) {
            if (c->jobs[run->order[last]].priority != priority) {
                break;
            }
        }
        status = grow_jobs(run, first, last);
    }
    return status;
}

/* ---- what came out ---- */

size_t ran_queue_of(const struct ran_case *ran, const struct ran_job *job)
{
    return job->spec->queue != NULL ? name_index_find(&ran->queue_index, job->spec->queue)
                                    : SIZE_MAX;
}

struct collecting {
    const struct run *run;
    const struct job *job;
    struct ran_job *out;
    int64_t *free_task; /* of each group, the next number that may be free */
};

static int compare_known(const void *a, const void *b)
{
    const struct known *left = a;
    const struct known *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

/* Did this task run at the start? */
static bool was_there(const struct gang_job_spec *spec, int64_t task)
{
    return (size_t)task < spec->place_count && spec->places[task].node != NULL;
}

/* The scenario's number of a task: the one it had at the start, or the first in its group that no
 * other task has. */
static int64_t number_task(struct collecting *c, const struct gang_task *task)
{
    struct known key = {task->task, 0};
    if (c->job->known_count > 0) { /* they were noted in the order of their numbers */
        struct known *known =
            bsearch(&key, c->job->known, c->job->known_count, sizeof key, compare_known);
        if (known != NULL) {
            return known->task;
        }
    }
    int64_t *next = &c->free_task[task->group];
    while (was_there(c->out->spec, *next)) {
        ++*next;
    }
    return (*next)++;
}

static int32_t collect_task(const struct gang_task *task, void *user)
{
    struct collecting *c = user;
    struct node key = {task->node, 0};
    struct node *node =
        bsearch(&key, c->run->nodes, c->run->scenario->node_count, sizeof key, compare_nodes);
    struct ran_task *out = &c->out->tasks[c->out->task_count++];
    out->task = number_task(c, task);
    out->node = node != NULL ? c->run->scenario->nodes[node->at].name : "";
    out->gpus = task->gpus;
    out->gpu_count = task->gpu_count;
    out->share = task->gpu_count > 0 ? task->gpu_share : 0;
    c->out->gpu_milli += (int64_t)out->gpu_count * out->share;
    return 0;
}

static int compare_tasks(const void *a, const void *b)
{
    const struct ran_task *left = a;
    const struct ran_task *right = b;
    return left->task < right->task ? -1 : left->task > right->task;
}

static int collect_job(struct run *run, size_t number, struct ran_job *out)
{
    const struct gang_job_spec *spec = &run->scenario->jobs[number];
    struct job *job = &run->jobs[number];
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    out->spec = spec;
    out->state = job->id != GANG_ID_NONE ? "running" : spec->running ? "preempted" : "pending";
    if (job->id == GANG_ID_NONE) {
        return CLI_OK;
    }
    gang_result result = gang_alloc_get(run->cluster, job->id, &info);
    if (result != GANG_OK) {
        return fail_job_code(run, number, result);
    }
    struct collecting c = {run, job, out, NULL};
    c.free_task = calloc(spec->request.group_count, sizeof *c.free_task);
    out->tasks = calloc((size_t)info.tasks + 1, sizeof *out->tasks);
    out->started = info.tasks > job->tasks_at_start;
    if (c.free_task == NULL || out->tasks == NULL) {
        free(c.free_task);
        return cli_no_memory();
    }
    for (size_t i = 1; i < spec->request.group_count; i++) {
        c.free_task[i] = c.free_task[i - 1] + spec->request.groups[i - 1].count;
    }
    result = gang_alloc_each(run->cluster, job->id, collect_task, &c);
    free(c.free_task);
    if (result != GANG_OK) {
        return fail_job_code(run, number, result);
    }
    qsort(out->tasks, out->task_count, sizeof *out->tasks, compare_tasks);
    return CLI_OK;
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
        for (size_t q = ran_queue_of(ran, job); q != SIZE_MAX; q = ran->queues[q].parent) {
            ran->queues[q].gpu_milli += job->gpu_milli;
            ran->queues[q].task_count += job->task_count;
        }
    }
}

static int collect(struct run *run, struct ran_case *ran)
{
    struct gang_error error = GANG_ERROR_INIT;
    int status = CLI_OK;
    ran->job_count = run->scenario->job_count;
    ran->jobs = calloc(ran->job_count + 1, sizeof *ran->jobs);
    if (ran->jobs == NULL) {
        return cli_no_memory();
    }
    for (size_t i = 0; i < ran->job_count && status == CLI_OK; i++) {
        status = collect_job(run, i, &ran->jobs[i]);
    }
    sum_queues(ran);
    if (status == CLI_OK && gang_cluster_check(run->cluster, &error) != GANG_OK) {
        status = cli_fail(run->file, &error);
    }
    return status;
}

/* ---- the case ---- */

static int run_passes(struct run *run, struct ran_case *ran, enum start start)
{
    int status = CLI_OK;
    run->order = sort_jobs(run, &ran->queue_index, BY_PRIORITY);
    run->start = sort_jobs(run, &ran->queue_index, start);
    if (run->order == NULL || run->start == NULL) {
        return cli_no_memory();
    }
    for (int64_t i = 0; i < run->scenario->rounds && status == CLI_OK; i++) {
        status = pass(run);
        if (!run->changed) {
            break; /* nor would the next one change anything */
        }
    }
    if (status == CLI_OK) {
        status = pass(run);
        ran->unsteady = run->changed;
    }
    return status;
}

static void free_run(struct run *run)
{
    for (size_t i = 0; run->jobs != NULL && i < run->scenario->job_count; i++) {
        gang_request_put(run->jobs[i].request);
        free(run->jobs[i].known);
    }
    for (size_t i = 0; run->labels != NULL && i < run->scenario->node_count; i++) {
        free(run->labels[i]);
    }
    gang_worker_free(run->worker);
    gang_cluster_free(run->cluster);
    free(run->jobs);
    free(run->order);
    free(run->start);
    free(run->labels);
    free(run->ids);
    free(run->nodes);
    free(run->node_index.entries);
}

/* Show the end of a case to whoever wants to see it. */
static int show_end(const struct run *run, case_end_fn then, void *user)
{
    size_t count = run->scenario->job_count;
    gang_request **requests = calloc(count + 1, sizeof(gang_request *));
    gang_alloc_id *ids = calloc(count + 1, sizeof *ids);
    int status = CLI_OK;
    if (requests == NULL || ids == NULL) {
        status = cli_no_memory();
    }
    for (size_t i = 0; i < count && status == CLI_OK; i++) {
        requests[i] = run->jobs[i].request;
        ids[i] = run->jobs[i].id;
    }
    if (status == CLI_OK) {
        struct case_end end = {run->scenario, run->cluster, run->worker, requests, ids};
        status = then(&end, user);
    }
    free(requests);
    free(ids);
    return status;
}

static int run_once(const char *file, const struct gang_scenario *scenario, enum start start,
                    case_end_fn then, void *user, struct ran_case *ran)
{
    struct run run = {.file = file, .scenario = scenario};
    *ran = (struct ran_case){.scenario = scenario};
    int status = index_queues(ran);
    if (status == CLI_OK) {
        status = make_cluster(&run);
    }
    if (status == CLI_OK) {
        status = make_requests(&run);
    }
    if (status == CLI_OK) {
        status = adopt_jobs(&run);
    }
    if (status == CLI_OK) {
        status = run_passes(&run, ran, start);
    }
    if (status == CLI_OK) {
        status = collect(&run, ran);
    }
    if (status == CLI_OK && then != NULL) {
        status = show_end(&run, then, user);
    }
    free_run(&run);
    return status;
}

/* Do jobs of several queues compete? */
static bool queues_compete(const struct ran_case *ran)
{
    const char *queue = NULL;
    for (size_t i = 0; i < ran->job_count; i++) {
        const struct gang_job_spec *spec = ran->jobs[i].spec;
        if (spec->running || spec->queue == NULL) {
            continue;
        }
        if (queue != NULL && strcmp(queue, spec->queue) != 0) {
            return true;
        }
        queue = spec->queue;
    }
    return false;
}

static bool same_outcome(const struct ran_case *a, const struct ran_case *b)
{
    for (size_t i = 0; i < a->job_count; i++) {
        if (a->jobs[i].task_count != b->jobs[i].task_count ||
            a->jobs[i].gpu_milli != b->jobs[i].gpu_milli) {
            return false;
        }
    }
    return true;
}

/* Skip the case if it matters which queue goes first. */
static int try_other_orders(const char *file, struct ran_case *ran)
{
    int status = CLI_OK;
    for (enum start start = QUEUE_BY_QUEUE; start <= QUEUES_BACKWARDS && status == CLI_OK;
         start++) {
        struct ran_case other;
        status = run_once(file, ran->scenario, start, NULL, NULL, &other);
        if (status == CLI_OK && !same_outcome(ran, &other)) {
            snprintf(ran->skipped, sizeof ran->skipped, "needs an order between queues");
        }
        scenario_done(&other);
    }
    return status;
}

int scenario_run(const char *file, const struct gang_scenario *scenario, struct ran_case *ran)
{
    return scenario_run_then(file, scenario, NULL, NULL, ran);
}

int scenario_run_then(const char *file, const struct gang_scenario *scenario, case_end_fn then,
                      void *user, struct ran_case *ran)
{
    *ran = (struct ran_case){.scenario = scenario};
    missing_needs(scenario, ran->skipped, sizeof ran->skipped);
    if (ran->skipped[0] != '\0') {
        return CLI_OK;
    }
    int status = run_once(file, scenario, BY_PRIORITY, then, user, ran);
    if (status == CLI_OK) {
        status = scenario_judge(ran);
    }
    if (status == CLI_OK && ran->skipped[0] == '\0' && queues_compete(ran)) {
        status = try_other_orders(file, ran);
    }
    return status;
}

void scenario_done(struct ran_case *ran)
{
    for (size_t i = 0; ran->jobs != NULL && i < ran->job_count; i++) {
        free(ran->jobs[i].tasks);
    }
    free(ran->jobs);
    free(ran->queues);
    free(ran->queue_index.entries);
}
