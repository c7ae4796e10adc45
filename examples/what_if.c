/* SPDX-License-Identifier: Apache-2.0 */
/* "Would it start, and what if?" A gang of 16 GPUs waits. Two questions on a snapshot, in which
 * nothing is taken for real: what if the training were gone, what if n4 came back up. */
#include <gangsched/gangsched.h>

#include <stdio.h>
#include <stdlib.h>

static void check(gang_result result, const struct gang_error *error)
{
    if (result != GANG_OK) {
        fprintf(stderr, "%s: %s\n", gang_strerror(result), error != NULL ? error->text : "");
        exit(1);
    }
}

static gang_request *request_gpus(gang_cluster *cluster, int64_t tasks)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *request;
    group.count = group.min = tasks;
    group.gpu_milli = 1000;
    spec.groups = &group;
    spec.group_count = 1;
    check(gang_request_new(cluster, &spec, &request, &error), &error);
    return request;
}

static void ask(gang_worker *worker, gang_snapshot *snapshot, gang_request *gang, const char *what)
{
    struct gang_totals totals = GANG_TOTALS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_result result = gang_snapshot_test(worker, snapshot, gang, &error);
    if (result != GANG_ENOFIT)
        check(result, &error);
    check(gang_snapshot_totals(snapshot, &totals), NULL);
    printf("%-28s %2d of %d GPUs free: %s\n", what, (int)totals.gpus_free_up, (int)totals.gpus,
           result == GANG_OK ? "it starts" : error.text);
}

int main(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec node = GANG_NODE_SPEC_INIT;
    struct gang_gpu_spec gpus[8];
    char name[] = "n1";
    gang_cluster *cluster;
    gang_worker *worker;
    gang_snapshot *snapshot;
    gang_node_id last = GANG_ID_NONE;
    gang_alloc_id training;

    for (int i = 0; i < 8; i++) {
        gpus[i] = (struct gang_gpu_spec){.numa = -1};
    }
    node.name = name;
    node.gpus = gpus;
    node.gpu_count = 8;
    check(gang_cluster_new(NULL, &cluster, &error), &error);
    check(gang_worker_new(cluster, &worker), NULL);
    for (; name[1] <= '4'; name[1]++) {
        check(gang_node_add(worker, &node, &last, &error), &error);
    }
    check(gang_node_set_state(worker, last, GANG_NODE_DRAINING), NULL);

    gang_request *twelve = request_gpus(cluster, 12), *sixteen = request_gpus(cluster, 16);
    check(gang_alloc(worker, twelve, &training, &error), &error);

    check(gang_snapshot_new(cluster, &snapshot), NULL);
    check(gang_snapshot_take(worker, snapshot), NULL);
    ask(worker, snapshot, sixteen, "as it is");
    check(gang_snapshot_release(snapshot, training), NULL);
    ask(worker, snapshot, sixteen, "if the training were gone");
    check(gang_snapshot_take(worker, snapshot), NULL);
    check(gang_snapshot_set_state(snapshot, last, GANG_NODE_UP), NULL);
    ask(worker, snapshot, sixteen, "if n4 came back up");

    gang_snapshot_free(snapshot);
    check(gang_alloc_free(worker, training), NULL);
    gang_request_free(sixteen);
    gang_request_free(twelve);
    gang_worker_free(worker);
    gang_cluster_free(cluster);
    return 0;
}
