/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a forecast: forecast.c makes copies and reports results, forecast_run.c runs one
 * copy ahead. */
#ifndef GANG__SCHED_FORECAST_IN_H
#define GANG__SCHED_FORECAST_IN_H

#include <gangsched/forecast.h>

#include "sched/record/state.h"

/* One that waited when the run began. */
struct gang__expected {
    gang_job_id job;
    uint64_t cookie;
    int32_t what, wait; /* of the last sample in which it did not start */
};

/* A scheduler on its way: what the ops are called with. */
struct gang__forecast_run_state {
    gang_sched *s;
    struct gang_forecast *f; /* NULL: it is not run now, but changed by the host */
    int32_t sample;
    int64_t *start_ns; /* of each that waited; INT64_MAX: it has not started */
    size_t left;       /* that have neither started nor ended */
    bool no_memory;
    bool moved; /* a job has started, stopped or ended since the last look */
    int64_t
        round_ns; /* if no job starts by then, none ever will; INT64_MAX: other events are due */
    struct gang__hash_table stays; /* how long jobs run, by job */
    struct gang__ordered_set ends; /* of those that run, by time */
};

struct gang_forecast {
    struct gang_mem mem;
    struct gang_forecast_opts opts;      /* with its defaults */
    struct gang__forecast_run_state own; /* of the private scheduler */
    bool running;
    struct gang__expected *expected; /* by job */
    size_t count, cap;
    int64_t
        *start_ns; /* of each sample those of all, then sorted, of each job those of all samples */
    size_t start_cap;
};

extern const struct gang_host_ops gang__forecast_ops;

/* Run run->s ahead, for run->sample; run->start_ns and the others' reasons are noted. */
gang_result gang__forecast_run(struct gang__forecast_run_state *run);

#endif
