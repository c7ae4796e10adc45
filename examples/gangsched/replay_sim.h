/* SPDX-License-Identifier: Apache-2.0 */
/* Replays through the simulation: whole workloads under a scheduler, as others have published
 * them. Each function runs one format of `gangsched replay`, see gangsched-replay(1), and
 * returns the exit status. */
#ifndef GANGSCHED_REPLAY_SIM_H
#define GANGSCHED_REPLAY_SIM_H

#include <gangsched/gangsched.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct replay_sim {
    const char *tasks_path, *nodes_path, *starts_path; /* the last two may be NULL */
    const char *policy;                                /* as given; NULL: "fcfs" or "fifo" */
    bool original;                                     /* philly: which column of the nodes */
    bool clairvoyant;                                  /* jobs */
    int64_t processors;                                /* jobs */
    int64_t gpus_per_task;                             /* tiresias; 0: those of a node */
    bool json;
    FILE *starts; /* while it runs */
};

int replay_jobs(struct replay_sim *replay);
int replay_philly(struct replay_sim *replay);
int replay_tiresias(struct replay_sim *replay);

/* ---- what these share, replay_sim.c ---- */

/* A policy by the name it has in a format. */
struct replay_sim_policy {
    const char *name;
    int32_t policy; /* GANG_SIM_POLICY_* */
    int32_t block;  /* GANG_BLOCK_* */
    int32_t backfill, backfill_order;
    int64_t pass_s, linger_s;
    int64_t (*restart_ns)(size_t index, int64_t gpu_milli, void *user);
};

/* Of a list that ends with one without a name; NULL after a message. */
const struct replay_sim_policy *replay_sim_policy(const struct replay_sim_policy *list,
                                                  const char *name);

/* Jobs on a cluster of equal nodes. */
struct replay_sim_run {
    const struct replay_sim_policy *policy;
    gang_trace *trace;
    int64_t nodes, cpu_milli; /* of a node */
    size_t gpus;              /* of a node */
    bool consolidated;        /* as GANG_SIM_PLACE_CONSOLIDATED; else the first nodes that do */
    int32_t know, same_instant;

    struct gang_sim_stats stats; /* what came of it */
    double last_end_s;
};

/* The trace of a file, which the caller frees; NULL after a message. */
gang_trace *replay_sim_read(const char *path, const struct gang_trace_opts *opts);

/* Run it, and write the starts. Returns the exit status. */
int replay_sim_run(const struct replay_sim *replay, struct replay_sim_run *run);

int replay_sim_open_starts(struct replay_sim *replay);
int replay_sim_close_starts(struct replay_sim *replay, int status);

#endif
