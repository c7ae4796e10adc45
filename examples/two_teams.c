/* SPDX-License-Identifier: Apache-2.0 */
/* Two teams share two machines of eight GPUs; each is guaranteed half. While production is idle
 * research has it all; when production comes it gets its half back, and research is asked to stop
 * in time. */
#include <gangsched/gangsched.h>

#include <stdio.h>
#include <stdlib.h>

static const char *const job_name[] = {"sweep", "study", "model"}; /* by cookie */

static void check(gang_result result, const struct gang_error *error)
{
    if (result != GANG_OK) {
        fprintf(stderr, "%s: %s %s\n", gang_strerror(result), error != NULL ? error->path : "",
                error != NULL ? error->text : "");
        exit(1);
    }
}

/* A host launches processes here; this one prints. */
static int32_t start(const struct gang_event *event, void *user)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    check(gang_alloc_get(user, event->alloc, &info), NULL);
    printf("%3d s  start %s with %d tasks\n", (int)(event->now_ns / 1000000000),
           job_name[event->cookie], (int)info.tasks);
    return 0;
}

static int32_t grow(const struct gang_event *event, void *user)
{
    (void)user;
    printf("%3d s  %s gets task %d\n", (int)(event->now_ns / 1000000000), job_name[event->cookie],
           (int)event->tasks[0]);
    return 0;
}

/* Save and stop: it has until the deadline. Without a list of tasks all of them are meant. */
static int32_t stop(const struct gang_event *event, void *user)
{
    (void)user;
    printf("%3d s  ask ", (int)(event->now_ns / 1000000000));
    if (event->task_count > 0)
        printf("%d tasks of ", (int)event->task_count);
    printf("%s to stop by %d s\n", job_name[event->cookie], (int)(event->deadline_ns / 1000000000));
    return 0;
}

static int32_t why(const struct gang_wait *wait, void *user)
{
    (void)user;
    printf("       it waits: %s\n", wait->text);
    return 0;
}

static gang_job_id submit(gang_sched *sched, uint64_t number, const char *queue, int64_t min,
                          int64_t count)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    gang_job_id id;
    group.min = min;
    group.count = count;
    group.gpu_milli = 1000;
    job.name = job_name[number];
    job.cookie = number;
    job.queue = queue;
    job.request.groups = &group;
    job.request.group_count = 1;
    check(gang_job_submit(sched, &job, &id, &error), &error);
    return id;
}

static void run(gang_sched *sched, int64_t seconds)
{
    check(gang_sched_run(sched, seconds * 1000000000, NULL, NULL), NULL);
}

int main(void)
{
    const struct gang_gpu_spec g = {.numa = -1}, gpus[] = {g, g, g, g, g, g, g, g};
    const struct gang_quota half = {.kind = "gpu", .fraction = GANG_WHOLE / 2};
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec nodes[2] = {GANG_NODE_SPEC_INIT, GANG_NODE_SPEC_INIT};
    struct gang_queue_spec queues[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    gang_cluster *cluster;
    gang_worker *worker;
    gang_sched *sched;
    nodes[0].name = "n1", nodes[1].name = "n2";
    nodes[0].gpus = nodes[1].gpus = gpus, nodes[0].gpu_count = nodes[1].gpu_count = 8;
    queues[0].name = "research", queues[1].name = "production";
    queues[0].guaranteed = queues[1].guaranteed = &half;
    queues[0].guaranteed_count = queues[1].guaranteed_count = 1;
    queues[0].grace_ns = INT64_C(30000000000);
    ops.start = start, ops.grow = grow, ops.shrink = stop, ops.preempt = stop;
    check(gang_cluster_new(NULL, &cluster, &error), &error);
    check(gang_worker_new(cluster, &worker), NULL);
    check(gang_nodes_add(worker, nodes, 2, NULL, &error), &error);
    check(gang_sched_new(cluster, NULL, &ops, cluster, &sched, &error), &error);
    check(gang_sched_set_queues(sched, queues, 2, &error), &error);

    gang_job_id sweep = submit(sched, 0, "research", 8, 8); /* a gang */
    gang_job_id study = submit(sched, 1, "research", 1, 8); /* takes what comes */
    run(sched, 0);
    gang_job_id model = submit(sched, 2, "production", 6, 6);
    run(sched, 10);
    check(gang_job_explain(sched, model, why, NULL), NULL);
    run(sched, 40);                                /* the grace is over */
    check(gang_report_end(sched, sweep, 1), NULL); /* more trials fit */
    run(sched, 60);
    check(gang_job_cancel(sched, study), NULL);
    run(sched, 70);
    gang_sched_free(sched);
    gang_cluster_free(cluster);
    return 0;
}
