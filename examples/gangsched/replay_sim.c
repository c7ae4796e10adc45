/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L

#include "gangsched/replay_sim.h"

#include "gangsched/cli.h"
#include "gangsched/unpack.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)

enum { MAX_BYTES = 1 << 30 };

const struct replay_sim_policy *replay_sim_policy(const struct replay_sim_policy *list,
                                                  const char *name)
{
    for (; list->name != NULL; list++) {
        if (strcmp(list->name, name) == 0) {
            return list;
        }
    }
    cli_failf(NULL, "unknown policy '%s'", name);
    return NULL;
}

gang_trace *replay_sim_read(const char *path, const struct gang_trace_opts *opts)
{
    struct gang_error error = GANG_ERROR_INIT;
    size_t length;
    gang_trace *trace = NULL;
    char *text = unpack_file(path, MAX_BYTES, &length);
    if (text == NULL) {
        return NULL;
    }
    if (gang_trace_read(text, length, opts, &trace, &error) != GANG_OK) {
        cli_fail(path, &error);
    }
    free(text);
    return trace;
}

/* ---- starts ---- */

int replay_sim_open_starts(struct replay_sim *replay)
{
    if (replay->starts_path == NULL) {
        return CLI_OK;
    }
    replay->starts = fopen(replay->starts_path, "w");
    if (replay->starts == NULL) {
        return cli_fail_errno(replay->starts_path, errno);
    }
    fputs("job_id,start\n", replay->starts);
    return CLI_OK;
}

int replay_sim_close_starts(struct replay_sim *replay, int status)
{
    if (replay->starts == NULL) {
        return status;
    }
    int number = ferror(replay->starts) != 0 ? EIO : 0;
    if (fclose(replay->starts) != 0 && number == 0) {
        number = errno;
    }
    replay->starts = NULL;
    return number != 0 ? cli_fail_errno(replay->starts_path, number) : status;
}

static void write_seconds(FILE *file, int64_t ns)
{
    int64_t s = ns / SECOND, rest = ns % SECOND;
    if (rest == 0) {
        fprintf(file, "%" PRId64, s);
    } else {
        fprintf(file, "%s%" PRId64 ".%09" PRId64, ns < 0 ? "-" : "", s < 0 ? -s : s,
                rest < 0 ? -rest : rest);
    }
}

static void write_name(FILE *file, const char *name)
{
    if (strpbrk(name, ",\"\r\n") == NULL) {
        fputs(name, file);
        return;
    }
    fputc('"', file);
    for (; *name != '\0'; name++) {
        if (*name == '"') {
            fputc('"', file);
        }
        fputc(*name, file);
    }
    fputc('"', file);
}

static gang_result take_jobs(const gang_sim *sim, FILE *starts, struct replay_sim_run *run)
{
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    gang_result result = gang_sim_get_info(sim, &info);
    int64_t last_ns = INT64_MIN;
    for (size_t i = 0; result == GANG_OK && i < (size_t)info.jobs; i++) {
        struct gang_sim_job job = {.size = sizeof job};
        result = gang_sim_get_job(sim, i, &job);
        if (result == GANG_OK && job.end != GANG_END_REFUSED && job.end_ns > last_ns) {
            last_ns = job.end_ns;
        }
        if (result != GANG_OK || starts == NULL) {
            continue;
        }
        write_name(starts, job.name);
        fputc(',', starts);
        if (job.start_ns != GANG_TRACE_UNKNOWN) {
            write_seconds(starts, job.start_ns);
        }
        fputc('\n', starts);
    }
    run->last_end_s = last_ns != INT64_MIN ? (double)last_ns / 1e9 : 0;
    return result;
}

/* ---- running ---- */

static gang_result add_nodes(gang_cluster *cluster, const struct replay_sim_run *run,
                             struct gang_error *error)
{
    struct gang_gpu_spec gpus[GANG_MAX_GPUS];
    gang_worker *worker = NULL;
    gang_result result = gang_worker_new(cluster, &worker);
    for (size_t i = 0; i < run->gpus; i++) {
        gpus[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
    }
    for (int64_t i = 0; i < run->nodes && result == GANG_OK; i++) {
        struct gang_node_spec node = GANG_NODE_SPEC_INIT;
        gang_node_id id;
        char name[32];
        snprintf(name, sizeof name, "node%" PRId64, i);
        node.name = name;
        node.cpu_milli = run->cpu_milli;
        node.memory_bytes = (int64_t)1 << 30;
        node.gpus = gpus;
        node.gpu_count = run->gpus;
        result = gang_node_add(worker, &node, &id, error);
    }
    gang_worker_free(worker);
    return result;
}

static gang_result make_sim(gang_cluster *cluster, const struct replay_sim_run *run, gang_sim **sim,
                            struct gang_error *error)
{
    const struct replay_sim_policy *policy = run->policy;
    struct gang_sched_opts sched = GANG_SCHED_OPTS_INIT;
    struct gang_queue_spec queue = GANG_QUEUE_SPEC_INIT;
    struct gang_sim_opts opts = GANG_SIM_OPTS_INIT;
    struct gang_sim_ops ops = GANG_SIM_OPS_INIT;
    sched.no_preemption = 1; /* a policy names its victims itself */
    queue.name = "default";
    queue.order = GANG_ORDER_FIFO;
    queue.block = policy->block;
    queue.backfill = policy->backfill;
    queue.backfill_order = policy->backfill_order;
    queue.max_blocked_ns = -1; /* no published policy bounds the wait */
    opts.sched = &sched;
    opts.queues = &queue;
    opts.queue_count = 1;
    opts.know = run->know;
    opts.same_instant = run->same_instant;
    opts.policy = policy->policy;
    opts.pass_ns = policy->pass_s * SECOND;
    opts.linger_ns = policy->linger_s * SECOND;
    opts.place = run->consolidated ? GANG_SIM_PLACE_CONSOLIDATED : GANG_SIM_PLACE_CLUSTER;
    opts.preemptible = 1;
    ops.restart_ns = policy->restart_ns;
    return gang_sim_new(cluster, &opts, &ops, NULL, sim, error);
}

int replay_sim_run(const struct replay_sim *replay, struct replay_sim_run *run)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *cluster = NULL;
    gang_sim *sim = NULL;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    opts.policy = GANG_POLICY_FIRST;
    gang_result result = gang_cluster_new(&opts, &cluster, &error);
    if (result == GANG_OK) {
        result = add_nodes(cluster, run, &error);
    }
    if (result == GANG_OK) {
        result = make_sim(cluster, run, &sim, &error);
    }
    if (result == GANG_OK) {
        result = gang_sim_add_trace(sim, run->trace, 0, &error);
    }
    if (result == GANG_OK) {
        result = gang_sim_run(sim, NULL, NULL, &error);
    }
    if (result == GANG_OK) {
        run->stats = (struct gang_sim_stats)GANG_SIM_STATS_INIT;
        result = gang_sim_get_stats(sim, NULL, &run->stats);
    }
    if (result == GANG_OK) {
        result = take_jobs(sim, replay->starts, run);
    }
    gang_sim_free(sim);
    gang_cluster_free(cluster);
    if (result == GANG_OK) {
        return CLI_OK;
    }
    return error.code == result ? cli_fail(NULL, &error)
                                : cli_failf(NULL, "%s", gang_strerror(result));
}
