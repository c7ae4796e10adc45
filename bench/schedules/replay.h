/* SPDX-License-Identifier: Apache-2.0 */
/* A workload log of a flat machine, simulated (gangsched/sim.h) under a policy with a published
 * schedule.
 *
 * A log is CSV with a header: job_id, submit, run, procs, req_time (seconds), and any other
 * columns; those named wait_* hold the published waits. Rows are by time of submission. A job's
 * time limit is req_time, or, where the policy knows run times (clairvoyant), its run time.
 *
 * Events of one second come in the order of the references (pyss): GANG_SIM_ONE_BY_ONE. */
#ifndef SCHEDULES_REPLAY_H
#define SCHEDULES_REPLAY_H

#include <gangsched/gangsched.h>
#include <stdbool.h>
#include <stdio.h>

struct replay_policy {
    const char *name;
    const char *column;      /* of the published waits */
    int32_t backfill, order; /* GANG_BACKFILL_*, GANG_BACKFILL_ORDER_* */
    bool strict, clairvoyant;
};
/* Ended by one without a name. */
extern const struct replay_policy replay_policies[];

struct replay_job {
    int64_t submit_s, run_s, procs, limit_s;
    int64_t start_s; /* -1: not yet */
};

/* A log; ended by replay_free(). */
struct replay_log {
    struct replay_job *job;
    size_t count;
    int64_t *waits;      /* published: `count` for each column; NULL: none */
    char column[16][32]; /* their names */
    size_t columns;
    char error[128];
};

/* Read it, up to `max` jobs (0: all). False: log->error says why. */
bool replay_read(FILE *file, size_t max, struct replay_log *log);
/* The same `times` one after the other, the last submission of one and the first of the next a
 * second apart; without published waits. False: out of memory, or times * count is too large. */
bool replay_repeat(struct replay_log *log, int64_t times);
void replay_free(struct replay_log *log);

struct replay_result {
    double wait_s, published_s; /* averages; published_s < 0: none */
    size_t differing, compared; /* of those with a published wait */
    double cpu_s;               /* of the simulation, on one thread */
};

/* Run it. `cut`: the log goes on in truth; jobs that start after its last submission are not
 * compared. Returns what the first call that fails returned. */
gang_result replay_run(struct replay_log *log, int64_t processors,
                       const struct replay_policy *policy, bool cut, struct replay_result *result);

#endif
