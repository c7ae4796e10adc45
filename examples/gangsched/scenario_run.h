/* SPDX-License-Identifier: Apache-2.0 */
/* A case while it runs: what scenario_run.c does and scenario_outcome.c reads. */
#ifndef GANGSCHED_SCENARIO_RUN_H
#define GANGSCHED_SCENARIO_RUN_H

#include "gangsched/scenario_case.h"

/* A task that ran at the start. */
struct start_place {
    int64_t task; /* number in the scenario */
    int32_t group;
    gang_node_id node;
    uint64_t gpus;
    bool any_devices; /* the library picked them */
};

struct job {
    gang_job_id id; /* GANG_ID_NONE: not taken */
    int32_t end;    /* GANG_END_* */
    bool refused;   /* the scheduler refused its submission: `note` says why */
    bool held;      /* until all running jobs are there */
    char *note;     /* why it was not taken, or has ended; or NULL */
    struct start_place *places;
    size_t place_count;
};

struct node {
    gang_node_id id;
    size_t at; /* in the scenario */
};

struct run {
    const char *file;
    const struct gang_scenario *scenario;
    gang_cluster *cluster;
    gang_sched *sched;
    struct name_index node_index;
    gang_node_id *ids;    /* of the scenario's nodes */
    struct node *nodes;   /* by id */
    const char ***labels; /* of each node, by device: the label that stands for it; or NULL */
    struct job *jobs;
    bool *reserved;      /* of each reservation of the case: it was added */
    bool *arrived;       /* of each arrival of the case: the scheduler knows of it */
    size_t *first_after; /* of each job, and behind the last: where its scenario.afters begin */
    bool at_once;        /* its passes take no time */
    int64_t start_ns;    /* of the first pass; what has run for long began before */
    int64_t now_ns;      /* of the last one */
    bool no_memory;      /* noticed in a callback */
};

/* "gangsched: FILE: case 'ID': jobs[3]: PATH: TEXT". Returns CLI_WRONG. */
int scenario_fail_job(const struct run *run, size_t job, const struct gang_error *error);
int scenario_fail_code(const struct run *run, size_t job, gang_result result);

/* The places of a running job, with numbers of devices for the labels of the case. */
struct places {
    struct gang_running_spec *list;
    const char **devices; /* of all of them */
};

/* Finds the places of a running job of the case. The caller frees the arrays, after errors too.
 * CLI_OK, or CLI_WRONG after a message. */
int scenario_places(struct run *run, size_t number, struct places *places);

/* The tasks come that are due by now_ns. Sets *left if others come later. CLI_OK, or CLI_WRONG
 * after a message. */
int scenario_arrive(struct run *run, bool *left);

/* Submits all jobs, and adds all reservations. CLI_OK, or CLI_WRONG after a message. */
int scenario_submit(struct run *run);
/* Checks that all jobs that the case calls running could start. CLI_OK, or CLI_WRONG after a
 * message. */
int scenario_check_start(const struct run *run);

/* Fill in what became of jobs and queues. CLI_OK, or CLI_WRONG after a message. */
int scenario_collect(const struct run *run, struct ran_case *ran);

/* Warns of each job that runs on a node that is reserved for others: on standard error, and in
 * ran_job.warning. CLI_OK, or CLI_WRONG after a message. */
int scenario_warn_reserved(const struct run *run, struct ran_case *ran);

#endif
