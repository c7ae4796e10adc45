/* SPDX-License-Identifier: Apache-2.0 */
/* "When will it start?" Three jobs wait behind a training that may run for two more hours. First
 * as things are, then with one more node, which is there in the forecast alone. */
#include <gangsched/gangsched.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MINUTE INT64_C(60000000000)

static void check(gang_result result, const struct gang_error *error)
{
    if (result != GANG_OK) {
        fprintf(stderr, "%s: %s\n", gang_strerror(result), error != NULL ? error->text : "");
        exit(1);
    }
}

static void add_node(gang_cluster *cluster, const char *name)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec node = GANG_NODE_SPEC_INIT;
    struct gang_gpu_spec gpus[8];
    gang_worker *worker;
    for (int i = 0; i < 8; i++) {
        gpus[i] = (struct gang_gpu_spec){.numa = -1};
    }
    node.name = name;
    node.gpus = gpus;
    node.gpu_count = 8;
    check(gang_worker_new(cluster, &worker), NULL);
    check(gang_node_add(worker, &node, NULL, &error), &error);
    gang_worker_free(worker);
}

static void submit(gang_sched *sched, const char *name, int64_t nodes, int64_t minutes)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    gang_job_id id;
    group.count = group.min = nodes;
    group.gpu_milli = 8000;
    job.name = name;
    job.queue = "default";
    job.request.groups = &group;
    job.request.group_count = 1;
    job.time_limit_ns = minutes * MINUTE;
    check(gang_job_submit(sched, &job, &id, &error), &error);
}

static int32_t print_start(const struct gang_expected *expected, void *sched)
{
    struct gang_job_info info = {.size = sizeof info};
    check(gang_job_get(sched, expected->job, &info), NULL);
    printf("  %-6s in %3" PRId64 " minutes\n", info.name, expected->start_ns / MINUTE);
    return 0;
}

int main(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *cluster;
    gang_sched *sched;
    gang_forecast *forecast;

    check(gang_cluster_new(NULL, &cluster, &error), &error);
    add_node(cluster, "n1");
    add_node(cluster, "n2");
    check(gang_sched_new(cluster, NULL, NULL, NULL, &sched, &error), &error);
    submit(sched, "train", 2, 120);
    check(gang_sched_run(sched, 0, NULL, NULL), NULL);
    submit(sched, "wide", 2, 60);
    submit(sched, "tune", 1, 45);
    submit(sched, "test", 1, 30);
    check(gang_sched_run(sched, 0, NULL, NULL), NULL);

    printf("as it is:\n");
    check(gang_forecast_all(sched, NULL, print_start, sched, &error), &error);

    printf("with a third node:\n");
    check(gang_forecast_new(sched, NULL, &forecast, &error), &error);
    add_node(gang_forecast_cluster(forecast), "n3");
    check(gang_forecast_run(forecast, &error), &error);
    check(gang_forecast_each(forecast, print_start, gang_forecast_sched(forecast)), NULL);

    gang_forecast_free(forecast);
    gang_sched_free(sched);
    gang_cluster_free(cluster);
    return 0;
}
