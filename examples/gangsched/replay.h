/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gangsched replay`: replay.c reads the options, replay_run.c feeds the trace through
 * the allocator, replay_report.c prints what came of it. */
#ifndef GANGSCHED_REPLAY_H
#define GANGSCHED_REPLAY_H

#include "gangsched/arrivals.h"

#include <gangsched/gangsched.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    REPLAY_KINDS = 3, /* cpu, memory, gpu */
    REPLAY_SIZES = 8, /* classes of gangs by GPUs, see replay_size_name() */
    REPLAY_REASONS = 64
};

/* Gangs that were refused in a row when something ended, before the pass is given up. */
#define REPLAY_MAX_SKIPS 64

struct replay_amount {
    int64_t gangs;
    int64_t tasks;
    int64_t gpu_milli;
};

/* Why gangs were refused when they came. */
struct replay_reason {
    gang_result result; /* GANG_ENOFIT or GANG_ENEVER */
    int32_t constraint; /* GANG_CONSTRAINT_* */
    int32_t kind;       /* GANG_KIND_*, -1: none */
    struct replay_amount amount;
};

/* Used amount of a kind or of a GPU model, in the unit of the kind. */
struct replay_usage {
    int64_t capacity;
    int64_t taken;
    int64_t peak;
    double taken_us; /* integral of `taken` from the first to the last arrival; timed traces only */
};

struct replay_size {
    struct replay_amount arrived;
    struct replay_amount placed;
    int64_t waited; /* gangs placed later than they came */
    double wait_us; /* sum over the placed ones */
};

struct replay {
    gang_cluster *cluster;
    gang_worker *worker;
    struct trace_nodes nodes;
    struct trace_gangs gangs;
    const char *nodes_path;
    const char *tasks_path;
    const char *placements_path; /* NULL: none */
    FILE *placements;
    int32_t policy;

    bool interrupted;
    struct replay_amount arrived;
    struct replay_amount placed;
    struct replay_amount never;   /* refused for ever */
    struct replay_amount refused; /* did not fit, and is not tried again */
    struct replay_amount waiting; /* not placed when the replay ended */
    struct replay_reason reasons[REPLAY_REASONS];
    size_t reason_count;
    struct replay_size sizes[REPLAY_SIZES];
    struct replay_usage usage[REPLAY_KINDS];
    struct replay_usage *model_usage; /* of each nodes.models */

    int64_t decisions; /* calls of gang_alloc() */
    int64_t decision_ns;
    uint32_t *decision_samples; /* ns of each, sorted at the end */
    size_t sample_cap;

    int64_t first_us; /* first and last arrival so far, last end */
    int64_t last_us;
    int64_t end_us;
    int64_t *waits_us; /* of the placed gangs, sorted at the end; timed traces only */
};

/* Feed the trace through. Returns an exit status, after a message if it is CLI_WRONG. */
int replay_run(struct replay *replay);

void replay_print_text(const struct replay *replay);
int replay_print_json(const struct replay *replay);

/* "1", "2-4", ... by class; the class of a gang by its milli-GPUs. */
const char *replay_size_name(size_t size);
size_t replay_size_of(int64_t gpu_milli);

#endif
