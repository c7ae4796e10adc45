/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gangsched scenario`: running a case, and comparing what came out. */
#ifndef GANGSCHED_SCENARIO_CASE_H
#define GANGSCHED_SCENARIO_CASE_H

#include <gangsched/gangsched.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names in order, to find their places in an array. */
struct name_index {
    struct name_entry {
        const char *name;
        size_t at;
    } * entries;
    size_t count;
};

/* Index `count` names; the first is at *first, the next `stride` bytes further. */
bool name_index_make(struct name_index *index, const char *const *first, size_t stride,
                     size_t count);
/* SIZE_MAX if it is not there. */
size_t name_index_find(const struct name_index *index, const char *name);

/* One task that runs. */
struct ran_task {
    int64_t task; /* number in the job, through its groups in order */
    const char *node;
    uint64_t gpus; /* bit i: GPU i of the node */
    int32_t gpu_count;
    int32_t share; /* milli-GPUs of each */
};

/* What became of a job. */
struct ran_job {
    const struct gang_job_spec *spec;
    const char *state; /* "running", "pending" or "preempted" */
    bool started;      /* it got more than it had at the start */
    int64_t gpu_milli;
    struct ran_task *tasks;
    size_t task_count;
};

/* What became of a queue and those below it. */
struct ran_queue {
    size_t parent; /* SIZE_MAX: none */
    int64_t gpu_milli;
    size_t task_count;
};

/* What became of a case. */
struct ran_case {
    const struct gang_scenario *scenario;
    char skipped[640]; /* why it was not run; "" if it was. Holds two names */
    bool unsteady;     /* another pass after the last one still changed something */
    struct ran_job *jobs;
    size_t job_count;
    struct name_index queue_index;
    struct ran_queue *queues; /* as in the scenario */
};

/* What a case has come to, while its cluster is still there. */
struct case_end {
    const struct gang_scenario *scenario;
    gang_cluster *cluster;
    gang_worker *worker;
    gang_request *const *requests; /* of the jobs, as in the scenario */
    const gang_alloc_id *ids;      /* GANG_ID_NONE: does not run */
};

/* Called when all passes are over. Returns CLI_OK, or CLI_WRONG after a message. */
typedef int (*case_end_fn)(const struct case_end *end, void *user);

/* Run a case. CLI_OK, or CLI_WRONG after a message about `file`. In any case scenario_done() frees
 * what came out. */
int scenario_run(const char *file, const struct gang_scenario *scenario, struct ran_case *ran);
int scenario_run_then(const char *file, const struct gang_scenario *scenario, case_end_fn then,
                      void *user, struct ran_case *ran);
void scenario_done(struct ran_case *ran);

/* The queue of a job, SIZE_MAX: none; and the group that a task of a job belongs to. */
size_t ran_queue_of(const struct ran_case *ran, const struct ran_job *job);
int32_t scenario_group_of(const struct gang_job_spec *spec, int64_t task);

/* Fill `skipped` if a queue's limit or guarantee would have changed what came out. CLI_OK, or
 * CLI_WRONG after a message. */
int scenario_judge(struct ran_case *ran);

/* Compare with `expect`: CLI_OK, *differences is an array of text (empty: all as expected), which
 * the caller gives up with json_decref(); CLI_WRONG after a message. */
struct json_t;
int scenario_compare(const struct ran_case *ran, struct json_t **differences);

#endif
