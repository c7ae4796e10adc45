/* SPDX-License-Identifier: Apache-2.0 */
/* gangsched scenario: run cases of clusters, queues and jobs. */
#include "gangsched/scenario_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gangsched/cli.h"
#include "gangsched/json_out.h"
#include "gangsched/page.h"

static bool check;
static bool as_json; /* the only format there is */

static const struct cli_option options[] = {
    {"check", NULL, &check}, {"json", NULL, &as_json}, {NULL, NULL, NULL}};

static const struct cli_command command = {
    "scenario", "[--check] [--json] FILE...",
    "Runs each case of the files through the scheduler and prints one JSON object a line.\n"
    "  --check   compare with what the cases expect; the last line tells how many passed\n"
    "  --json    accepted for symmetry: the output is always JSON\n"
    "  FILE      a scenario file; -: standard input\n",
    options};

/* Output so far. It is printed after all cases have run, so that nothing is printed if one of them
 * is wrong. */
struct results {
    size_t passed;
    size_t failed;
    struct page page;
};

/* ---- a case as JSON ---- */

static json_t *milli_json(int64_t milli)
{
    return milli % 1000 == 0 ? json_integer(milli / 1000) : json_real((double)milli / 1000);
}

static json_t *task_json(const struct ran_task *task)
{
    json_t *object = json_object();
    json_t *gpus = json_array();
    bool good = true;
    for (int i = 0; i < GANG_MAX_GPUS && good; i++) {
        if (task->gpus >> i & 1) {
            good = json_array_append_new(gpus, json_integer(i)) == 0;
        }
    }
    good = json_put(object, "task", json_integer(task->task)) && good;
    good = json_put(object, "node", json_string(task->node)) && good;
    good = json_put(object, "gpus", gpus) && good;
    good = json_put(object, "share", json_real(task->share / 1000.0)) && good;
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *job_json(const struct ran_job *job)
{
    json_t *object = json_object();
    json_t *placement = json_array();
    bool good = true;
    for (size_t i = 0; i < job->task_count && good; i++) {
        good = json_array_append_new(placement, task_json(&job->tasks[i])) == 0;
    }
    good = json_put(object, "state", json_string(job->state)) && good;
    good = (job->reason == NULL || json_put(object, "reason", json_string(job->reason))) && good;
    good = (job->warning == NULL || json_put(object, "warning", json_string(job->warning))) && good;
    good = json_put(object, "gpus", milli_json(job->gpu_milli)) && good;
    good = json_put(object, "tasks_running", json_integer((json_int_t)job->task_count)) && good;
    good = json_put(object, "placement", placement) && good;
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *queue_json(const struct ran_queue *queue)
{
    json_t *object = json_object();
    bool good = json_put(object, "gpus", milli_json(queue->gpu_milli));
    good = json_put(object, "tasks_running", json_integer((json_int_t)queue->task_count)) && good;
    if (!good) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static bool put_outcome(json_t *object, const struct ran_case *ran)
{
    json_t *jobs = json_object();
    json_t *queues = json_object();
    bool good = true;
    for (size_t i = 0; i < ran->job_count && good; i++) {
        good = json_put(jobs, ran->jobs[i].spec->name, job_json(&ran->jobs[i]));
    }
    for (size_t i = 0; i < ran->scenario->queue_count && good; i++) {
        good = json_put(queues, ran->scenario->queues[i].name, queue_json(&ran->queues[i]));
    }
    good = json_put(object, "jobs", jobs) && good;
    return json_put(object, "queues", queues) && good;
}

/* One line; `differences` is taken over, NULL: nothing was compared. */
static int add_case(const struct ran_case *ran, json_t *differences, struct results *results)
{
    json_t *object = json_object();
    bool good = json_put(object, "id", json_string(ran->scenario->id));
    good = put_outcome(object, ran) && good;
    if (differences != NULL) {
        good = json_put(object, "passed", json_boolean(json_array_size(differences) == 0)) && good;
        good = (json_array_size(differences) == 0 ||
                json_object_set(object, "differences", differences) == 0) &&
               good;
        json_decref(differences);
    }
    if (!good) {
        json_decref(object);
        return cli_no_memory();
    }
    page_json(&results->page, object);
    return results->page.failed ? cli_no_memory() : CLI_OK;
}

/* ---- the command ---- */

static int run_case(const char *file, const struct gang_scenario *scenario, struct results *results)
{
    struct ran_case ran;
    json_t *differences = NULL;
    int status = scenario_run(file, scenario, false, NULL, NULL, &ran);
    if (status == CLI_OK && check) {
        status = scenario_compare(&ran, &differences);
    }
    if (status == CLI_OK) {
        results->failed += differences != NULL && json_array_size(differences) > 0;
        results->passed += differences != NULL && json_array_size(differences) == 0;
        status = add_case(&ran, differences, results);
    }
    scenario_done(&ran);
    return status;
}

static int run_file(const char *file, const gang_scenarios *scenarios, struct results *results)
{
    int status = CLI_OK;
    for (size_t i = 0; i < gang_scenarios_count(scenarios) && status == CLI_OK; i++) {
        struct gang_scenario scenario = GANG_SCENARIO_INIT;
        gang_result result = gang_scenarios_get(scenarios, i, &scenario);
        status = result == GANG_OK ? run_case(file, &scenario, results)
                                   : cli_failf(file, "%s", gang_strerror(result));
    }
    return status;
}

int cmd_scenario(int argc, char **argv)
{
    struct results results = {0};
    int status = cli_parse(&command, &argc, argv);
    if (status != CLI_GO_ON) {
        return status;
    }
    if (argc < 2) {
        return cli_wrong_usage(&command, "no file is given");
    }
    gang_scenarios **files = calloc((size_t)argc, sizeof(gang_scenarios *));
    status = files != NULL ? CLI_OK : cli_no_memory();
    for (int i = 1; i < argc && status == CLI_OK; i++) {
        struct gang_error error = GANG_ERROR_INIT;
        if (cli_read_cases(argv[i], &files[i], &error) != GANG_OK) {
            status = cli_fail(argv[i], &error);
        }
    }
    for (int i = 1; i < argc && status == CLI_OK; i++) {
        status = run_file(argv[i], files[i], &results);
    }
    for (int i = 1; i < argc && files != NULL; i++) {
        gang_scenarios_free(files[i]);
    }
    free(files);
    status = page_finish(&results.page, status);
    if (status == CLI_OK && check) {
        cli_printf("%zu passed, %zu failed\n", results.passed, results.failed);
        status = results.failed > 0 ? CLI_FAILED : CLI_OK;
    }
    return status;
}
