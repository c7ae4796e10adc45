/* SPDX-License-Identifier: Apache-2.0 */
/* A course wants both machines from 14:00 to 16:00. A job that ends before then
 * starts, a job that would still run waits, and a job that names the reservation starts when it
 * begins. The clock is the program's own: minutes since noon. */
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

static void print_time(int64_t ns)
{
    printf("%02" PRId64 ":%02" PRId64, 12 + ns / MINUTE / 60, ns / MINUTE % 60);
}

static int32_t on_start(const struct gang_event *event, void *sched)
{
    struct gang_job_info info = {.size = sizeof info};
    check(gang_job_get(*(gang_sched **)sched, event->job, &info), NULL);
    print_time(event->now_ns);
    printf("  %s starts\n", info.name);
    return 0;
}

static int32_t on_reservation(const struct gang_reservation_event *event, void *sched)
{
    (void)sched;
    print_time(event->now_ns);
    printf("  %s: %s\n", event->name, event->text);
    return 0;
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

static void reserve(gang_sched *sched, int64_t start_ns)
{
    const char *const nodes[] = {"n1", "n2"};
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    struct gang_reservation_spec spec = GANG_RESERVATION_SPEC_INIT;
    gang_reservation_id id;
    int64_t when_ns;
    stage.nodes = nodes;
    stage.node_count = 2;
    spec.name = "course";
    spec.stages = &stage;
    spec.stage_count = 1;
    spec.start_ns = start_ns;
    spec.duration_ns = 120 * MINUTE;
    spec.notice_ns = 10 * MINUTE;
    gang_result result = gang_reservation_add(sched, &spec, &id, &when_ns, &error);
    if (result == GANG_ENOFIT) {
        print_time(start_ns);
        printf("  is refused, and ");
        print_time(when_ns);
        printf(" would do\n");
        return;
    }
    check(result, &error);
}

static void submit(gang_sched *sched, const char *name, int64_t gpus, int64_t minutes,
                   const char *reservation)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    gang_job_id id;
    group.count = group.min = gpus;
    group.gpu_milli = 1000;
    job.name = name;
    job.queue = "default";
    job.request.groups = &group;
    job.request.group_count = 1;
    job.time_limit_ns = minutes * MINUTE;
    job.reservation = reservation;
    check(gang_job_submit(sched, &job, &id, &error), &error);
}

int main(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    gang_cluster *cluster;
    gang_sched *sched;
    ops.start = on_start;
    ops.reservation = on_reservation;

    check(gang_cluster_new(NULL, &cluster, &error), &error);
    add_node(cluster, "n1");
    add_node(cluster, "n2");
    check(gang_sched_new(cluster, NULL, &ops, &sched, &sched, &error), &error);
    submit(sched, "short", 8, 90, NULL); /* over at 13:30 */
    check(gang_sched_run(sched, 0, NULL, NULL), NULL);
    reserve(sched, 60 * MINUTE); /* at 13:00 a node is still taken */
    reserve(sched, 120 * MINUTE);
    submit(sched, "long", 8, 180, NULL); /* would run into the course */
    submit(sched, "exercise", 16, 60, "course");
    check(gang_sched_run(sched, 0, NULL, NULL), NULL);
    for (int64_t now = 0, next; (next = gang_sched_next(sched)) < 300 * MINUTE;) {
        now = next > now ? next : now; /* it may be due at once */
        check(gang_sched_run(sched, now, NULL, NULL), NULL);
    }
    gang_sched_free(sched);
    gang_cluster_free(cluster);
    return 0;
}
