/* SPDX-License-Identifier: Apache-2.0 */
/* What if? The same fortnight of jobs on four machines of eight GPUs, under four policies: strict
 * order, EASY backfill, first fit (any job that fits), and the default of the library: first fit,
 * until a job has been passed for an hour. A gang of 32 GPUs comes now and then; compare what each
 * policy does to it. */
#include <gangsched/gangsched.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND INT64_C(1000000000)

static void check(gang_result result, const struct gang_error *error)
{
    if (result != GANG_OK) {
        fprintf(stderr, "%s: %s\n", gang_strerror(result), error->text);
        exit(1);
    }
}

static gang_cluster *make_cluster(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec node = GANG_NODE_SPEC_INIT;
    struct gang_gpu_spec gpus[8];
    gang_cluster *cluster;
    gang_worker *worker;
    char name[] = "n0";
    for (int i = 0; i < 8; i++) {
        gpus[i] = (struct gang_gpu_spec){.model = "H100", .numa = -1};
    }
    node.name = name;
    node.gpus = gpus;
    node.gpu_count = 8;
    check(gang_cluster_new(NULL, &cluster, &error), &error);
    check(gang_worker_new(cluster, &worker), &error);
    for (; name[1] < '4'; name[1]++) {
        check(gang_node_add(worker, &node, NULL, &error), &error);
    }
    gang_worker_free(worker);
    return cluster;
}

/* A job every ten minutes or so; numbers as they come out of a small generator. */
static gang_trace *make_trace(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    static const int64_t sizes[] = {1, 1, 1, 2, 2, 4, 8, 8, 16, 32};
    gang_trace *trace;
    uint32_t random = 1;
    int64_t at = 0;
    check(gang_trace_new(NULL, &trace), &error);
    for (int i = 0; i < 2000; i++) {
        struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
        struct gang_trace_job job = GANG_TRACE_JOB_INIT;
        random = random * 1664525 + 1013904223;
        group.count = group.min = sizes[(random >> 16) % 10];
        group.gpu_milli = 1000;
        random = random * 1664525 + 1013904223;
        at += (random >> 16) % 1200;
        job.submit_ns = at * SECOND;
        random = random * 1664525 + 1013904223;
        job.run_ns = (60 + (int64_t)(random >> 16) % 3600) * SECOND;
        job.limit_ns = 2 * job.run_ns; /* users are careful */
        job.groups = &group;
        job.group_count = 1;
        check(gang_trace_add(trace, &job, &error), &error);
    }
    return trace;
}

/* The longest that a gang of 32 waited, in seconds. */
static int64_t worst_of_wide(const gang_sim *sim, int64_t jobs)
{
    int64_t worst = 0;
    for (int64_t i = 0; i < jobs; i++) {
        struct gang_sim_job job = {.size = sizeof job};
        if (gang_sim_get_job(sim, (size_t)i, &job) == GANG_OK && job.tasks == 32 &&
            job.wait_ns > worst) {
            worst = job.wait_ns;
        }
    }
    return worst / SECOND;
}

static void simulate(const char *name, int32_t block, int32_t backfill, int64_t max_blocked_ns,
                     gang_trace *trace)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_queue_spec queue = GANG_QUEUE_SPEC_INIT;
    struct gang_sim_opts opts = GANG_SIM_OPTS_INIT;
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    struct gang_sim_stats stats = GANG_SIM_STATS_INIT;
    gang_cluster *cluster = make_cluster();
    gang_sim *sim;
    queue.name = "default";
    queue.order = GANG_ORDER_FIFO;
    queue.block = block;
    queue.backfill = backfill;
    queue.max_blocked_ns = max_blocked_ns;
    opts.queues = &queue;
    opts.queue_count = 1;
    check(gang_sim_new(cluster, &opts, NULL, NULL, &sim, &error), &error);
    check(gang_sim_add_trace(sim, trace, 0, &error), &error);
    check(gang_sim_run(sim, NULL, &info, &error), &error);
    check(gang_sim_get_stats(sim, NULL, &stats), &error);
    printf("%-16s  %6.0f s  %6.0f s  %8" PRId64 " s  %5.1f %%\n", name, stats.wait_s.mean,
           stats.wait_s.p95, worst_of_wide(sim, info.jobs), 100 * stats.gpu_utilisation);
    gang_sim_free(sim);
    gang_cluster_free(cluster);
}

int main(void)
{
    gang_trace *trace = make_trace();
    printf("                  mean wait    p95  worst of 32 GPUs  GPUs used\n");
    simulate("strict order", GANG_BLOCK_STRICT, GANG_BACKFILL_NONE, -1, trace);
    simulate("EASY backfill", GANG_BLOCK_NONE, GANG_BACKFILL_EASY, -1, trace);
    simulate("first fit", GANG_BLOCK_NONE, GANG_BACKFILL_NONE, -1, trace);
    simulate("default", GANG_BLOCK_NONE, GANG_BACKFILL_NONE, 0, trace); /* bounded wait */
    gang_trace_free(trace);
    return 0;
}
