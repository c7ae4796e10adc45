/* SPDX-License-Identifier: Apache-2.0 */
/* Four machines of eight GPUs: a chief and 16 workers with a GPU each start together, or none. */
#include <gangsched/gangsched.h>
#include <stdio.h>

static int32_t print_task(const struct gang_task *task, void *cluster)
{
    struct gang_node_info node = {.size = sizeof node};
    gang_result result = gang_node_get(cluster, task->node, &node);
    printf("task %2d on %s, GPUs 0x%02x\n", (int)task->task, node.name, (unsigned)task->gpus);
    return result;
}

int main(void)
{
    const struct gang_gpu_spec g = {.numa = -1}, gpus[] = {g, g, g, g, g, g, g, g};
    char name[] = "n1";
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec node = GANG_NODE_SPEC_INIT;
    struct gang_group_spec chief = GANG_GROUP_SPEC_INIT, workers = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_cluster *cluster = NULL;
    gang_worker *worker = NULL;
    gang_request *request = NULL;
    gang_alloc_id id;
    node.name = name, node.gpus = gpus, node.gpu_count = 8;
    workers.count = workers.min = 16, workers.gpu_milli = 1000;
    spec.groups = (struct gang_group_spec[]){chief, workers}, spec.group_count = 2;
    int failed = gang_cluster_new(NULL, &cluster, &error) || gang_worker_new(cluster, &worker);
    for (; !failed && name[1] <= '4'; name[1]++)
        failed = gang_node_add(worker, &node, NULL, &error);
    failed = failed || gang_request_new(cluster, &spec, &request, &error) ||
             gang_alloc(worker, request, &id, &error) ||
             gang_alloc_each(cluster, id, print_task, cluster) || gang_alloc_free(worker, id);
    printf("%s\n", failed ? error.text : "all given back");
    gang_request_free(request);
    gang_cluster_free(cluster);
    return failed;
}
