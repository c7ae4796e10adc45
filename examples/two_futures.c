/* SPDX-License-Identifier: Apache-2.0 */
/* What if a machine failed at noon? A morning is simulated once; then it is forked, and both
 * futures begin at the same instant, with the same jobs to come. The table of jobs of the first
 * one is written while it runs. */
#include <gangsched/gangsched.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MINUTE INT64_C(60000000000)
#define HOUR (60 * MINUTE)

static void check(gang_result result, const struct gang_error *error)
{
    if (result != GANG_OK) {
        fprintf(stderr, "%s: %s\n", gang_strerror(result), error != NULL ? error->text : "");
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
    char name[] = "n1";
    for (int i = 0; i < 8; i++) {
        gpus[i] = (struct gang_gpu_spec){.numa = -1};
    }
    node.name = name;
    node.gpus = gpus;
    node.gpu_count = 8;
    check(gang_cluster_new(NULL, &cluster, &error), &error);
    check(gang_worker_new(cluster, &worker), NULL);
    for (; name[1] <= '4'; name[1]++) {
        check(gang_node_add(worker, &node, NULL, &error), &error);
    }
    gang_worker_free(worker);
    return cluster;
}

/* A gang of one to four machines every half hour. */
static gang_trace *make_trace(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_trace *trace;
    check(gang_trace_new(NULL, &trace), NULL);
    for (int64_t i = 0; i < 40; i++) {
        struct gang_group_spec machines = GANG_GROUP_SPEC_INIT;
        struct gang_trace_job job = GANG_TRACE_JOB_INIT;
        machines.count = machines.min = 1 + i * 7 % 4;
        machines.gpu_milli = 8000;
        job.submit_ns = i * 30 * MINUTE;
        job.run_ns = (20 + i * 13 % 40) * MINUTE;
        job.groups = &machines;
        job.group_count = 1;
        check(gang_trace_add(trace, &job, &error), &error);
    }
    return trace;
}

/* Two cores prepare data; 16 GPUs train on it when that has gone well. */
static size_t submit_in_turn(gang_sim *sim)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec groups[] = {GANG_GROUP_SPEC_INIT, GANG_GROUP_SPEC_INIT};
    const struct gang_group_after after[] = {{1, 0, GANG_AFTER_SUCCESS, 0}};
    const int64_t run_ns[] = {30 * MINUTE, 2 * HOUR};
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    size_t index;
    groups[0].name = "data";
    groups[0].gpu_milli = 1000;
    groups[1].name = "train";
    groups[1].count = groups[1].min = 16;
    groups[1].gpu_milli = 1000;
    job.name = "model";
    job.loss = GANG_LOSS_RESTART;
    job.max_restarts = 3;
    job.request.groups = groups;
    job.request.group_count = 2;
    job.group_after = after;
    job.group_after_count = 1;
    check(gang_sim_submit_groups(sim, &job, run_ns, 2, &index, &error), &error);
    return index;
}

static int to_file(const char *bytes, size_t length, void *file)
{
    return fwrite(bytes, 1, length, file) == length ? 0 : 1;
}

static int32_t tell(const struct gang_sim_event *event, void *label)
{
    if (event->what == GANG_SIM_NODE_DOWN || event->what == GANG_SIM_GANG_ENDED) {
        printf("%s: %s at %.1f h\n", (const char *)label, event->text,
               (double)event->now_ns / HOUR);
    }
    return 0;
}

static void tell_end(const char *label, gang_sim *sim, size_t index)
{
    struct gang_sim_job job = {.size = sizeof job};
    struct gang_sim_stats stats = GANG_SIM_STATS_INIT;
    check(gang_sim_get_stats(sim, NULL, &stats), NULL);
    printf("%s: %" PRId64 " jobs, mean wait %.0f min", label, stats.jobs, stats.wait_s.mean / 60);
    if (gang_sim_get_job(sim, index, &job) == GANG_OK) { /* GANG_ESTALE: it was written away */
        printf(", the model is there at %.1f h", (double)job.end_ns / HOUR);
    }
    printf("\n");
}

int main(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_sim_opts opts = GANG_SIM_OPTS_INIT;
    struct gang_sim_ops ops = GANG_SIM_OPS_INIT;
    struct gang_sim_bounds noon = GANG_SIM_BOUNDS_INIT;
    char as_it_is[] = "as it is", failed[] = "n1 fails";
    gang_cluster *cluster = make_cluster(), *copy;
    gang_trace *trace = make_trace();
    gang_sim *sim, *fork;
    gang_node_id node;
    FILE *table = tmpfile();

    opts.loss = GANG_LOSS_RESTART;
    ops.event = tell;
    check(gang_sim_new(cluster, &opts, &ops, as_it_is, &sim, &error), &error);
    check(gang_sim_add_trace(sim, trace, 0, &error), &error);
    noon.has_until = 1;
    noon.until_ns = 12 * HOUR;
    check(gang_sim_run(sim, &noon, NULL, &error), &error);
    size_t model = submit_in_turn(sim);

    check(gang_sim_fork(sim, &ops, failed, &copy, &fork, &error), &error);
    check(gang_node_find(copy, "n1", &node), NULL);
    check(gang_sim_set_node_state(fork, 13 * HOUR, node, GANG_NODE_DOWN), NULL);
    check(gang_sim_set_node_state(fork, 18 * HOUR, node, GANG_NODE_UP), NULL);
    check(gang_sim_run(fork, NULL, NULL, &error), &error);
    tell_end(failed, fork, model);

    if (table != NULL) { /* what has ended is written now, and then as it ends */
        check(gang_sim_stream(sim, GANG_SIM_JOBS_CSV, to_file, table), NULL);
    }
    check(gang_sim_run(sim, NULL, NULL, &error), &error);
    check(gang_sim_stream(sim, GANG_SIM_JOBS_CSV, NULL, NULL), NULL);
    tell_end(as_it_is, sim, model);
    if (table != NULL) {
        printf("the table of jobs has %s\n", ftell(table) > 0 ? "been written" : "nothing in it");
        fclose(table);
    }

    gang_sim_free(fork);
    gang_cluster_free(copy);
    gang_sim_free(sim);
    gang_cluster_free(cluster);
    gang_trace_free(trace);
    return 0;
}
