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
    int32_t group;
    const char *node;
    uint64_t gpus; /* bit i: GPU i of the node */
    int32_t gpu_count;
    int32_t share; /* milli-GPUs of each */
};

/* What became of a job. */
struct ran_job {
    const struct gang_job_spec *spec;
    const char *state; /* "running", "pending", "preempted", "ended" or "refused" */
    char *reason;      /* of a refused job; NULL: it was taken */
    char *warning;     /* it runs where it should not; NULL: it does not */
    size_t queue;      /* in the scenario, or the one it was made below; SIZE_MAX: none */
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
    bool unsteady; /* another pass after the last one still changed something */
    struct ran_job *jobs;
    size_t job_count;
    struct name_index queue_index;
    struct ran_queue *queues; /* as in the scenario */
};

/* The state of a case while its scheduler still exists, by number of the job: */
struct case_end {
    const struct gang_scenario *scenario;
    gang_sched *sched;
    gang_worker *worker;         /* a free one, for explanations */
    const gang_job_id *ids;      /* GANG_ID_NONE: it was not taken */
    const bool *refused;         /* the scheduler refused its submission */
    const gang_alloc_id *allocs; /* of its first gang; GANG_ID_NONE: holds nothing */
    const char *const *notes;    /* why it was not taken, or has ended; NULL: neither */
    int64_t now_ns;              /* of the last pass */
};

/* Called when all passes are over. Returns CLI_OK, or CLI_WRONG after a message. */
typedef int (*case_end_fn)(const struct case_end *end, void *user);

/* Run a case; `then` may be NULL. `at_once`: its passes take no time, so that what it tells is
 * of the moment in which the case begins, from which on its times are. CLI_OK, or CLI_WRONG
 * after a message about `file`. In any case scenario_done() frees what came out. */
int scenario_run(const char *file, const struct gang_scenario *scenario, bool at_once,
                 case_end_fn then, void *user, struct ran_case *ran);
void scenario_done(struct ran_case *ran);

/* Run all cases of a file, or only the one of this name. As scenario_run(); CLI_WRONG also if
 * there is none. */
int scenario_run_each(const char *file, const gang_scenarios *scenarios, const char *only_case,
                      bool at_once, case_end_fn then, void *user);

/* The path of an error of gang_job_submit() or gang_request_new() in the words of a file: "" or
 * "tasks[0].same". Returns `path`. */
const char *scenario_spec_path(const struct gang_error *error, char *path, size_t size);

/* Options of the scheduler of a case; they point into it. */
struct gang_sched_opts scenario_opts(const struct gang_scenario *scenario);

/* Compare with `expect`: CLI_OK, *differences is an array of text (empty: all as expected), which
 * the caller gives up with json_decref(); CLI_WRONG after a message. */
struct json_t;
int scenario_compare(const struct ran_case *ran, struct json_t **differences);

#endif
