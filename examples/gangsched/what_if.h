/* SPDX-License-Identifier: Apache-2.0 */
/* What if: changes of a forecast that the command line asks for. */
#ifndef GANGSCHED_WHAT_IF_H
#define GANGSCHED_WHAT_IF_H

#include <gangsched/gangsched.h>

#include <stdbool.h>

/* As given; NULL: not asked for. */
struct what_if {
    const char *add_nodes; /* how many */
    const char *like;      /* like this one; NULL: the last */
    const char *drain;     /* a node, or a domain of any level */
    const char *limit;     /* QUEUE.KIND=AMOUNT */
    const char *submit;    /* FILE/JOB */
};

/* A job that is submitted beside those of the case. */
struct what_if_job {
    gang_scenarios *file;
    struct gang_scenario scenario; /* the case that has it */
    size_t job;                    /* there; SIZE_MAX: none was asked for */
};

bool what_if_any(const struct what_if *what);

/* Read the job that is to be submitted. CLI_OK, or CLI_WRONG after a message. */
int what_if_open(const struct what_if *what, struct what_if_job *job);
void what_if_close(struct what_if_job *job);

/* What is changed: the forecast of a case. */
struct what_if_forecast {
    const char *file; /* for messages */
    const struct gang_scenario *scenario;
    gang_forecast *forecast;
    int64_t now_ns;
};

/* Makes the changes; the new job gets this cookie, and its times are from now_ns on. CLI_OK, or
 * CLI_WRONG after a message. */
int what_if_apply(const struct what_if *what, const struct what_if_job *job, uint64_t cookie,
                  const struct what_if_forecast *forecast);

#endif
