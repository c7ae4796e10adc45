/* SPDX-License-Identifier: Apache-2.0 */
/* A host adapter in small: describes this machine, or that of an hwloc XML file, starts a gang
 * of tasks there, and prints what each is to be launched with: the environment that shows it its
 * GPUs and network cards, and where to bind it. Where the machine is this one, it binds itself
 * to each task's cores and back. Usage: bind_task [FILE.xml] */
#include <gangsched/gangsched.h>
#include <gangsched/hwloc.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct host {
    gang_cluster *cluster;
    hwloc_topology_t topology;
    const struct gang_node_spec *node;
};

static int load(hwloc_topology_t topology, const char *xml)
{
    if (xml && hwloc_topology_set_xml(topology, xml) != 0)
        return -1;
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    return hwloc_topology_load(topology);
}

/* NAME=text, if there is any. */
static int print_text(const struct host *host, const struct gang_task *task, const char *name,
                      int32_t what)
{
    char small[64], *text = small;
    size_t needed;
    gang_result r = gang_task_text(host->cluster, task, what, small, sizeof(small), &needed);
    if (r == GANG_ELIMIT) { /* longer than that: now we know how long */
        text = malloc(needed);
        r = text ? gang_task_text(host->cluster, task, what, text, needed, NULL) : GANG_ENOMEM;
    }
    if (r == GANG_OK && text[0])
        printf("  %s=%s\n", name, text);
    if (text != small)
        free(text);
    return r;
}

/* What a launcher does in the child, before it starts the program. */
static int bind_here(const struct host *host, const struct gang_task *task)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc(), before = hwloc_bitmap_alloc();
    gang_result r = set && before ? gang_task_hwloc_cpuset(host->cluster, task, set) : GANG_ENOMEM;
    if (r == GANG_OK && !hwloc_bitmap_iszero(set) && hwloc_topology_is_thissystem(host->topology) &&
        hwloc_get_cpubind(host->topology, before, 0) == 0 &&
        hwloc_set_cpubind(host->topology, set, 0) == 0) {
        printf("  (can be bound here)\n");
        hwloc_set_cpubind(host->topology, before, 0);
    }
    hwloc_bitmap_free(set);
    hwloc_bitmap_free(before);
    return r;
}

static int32_t launch(const struct gang_task *task, void *user)
{
    const struct host *host = user;
    const char *model = task->gpus ? host->node->gpus[__builtin_ctzll(task->gpus)].model : NULL;
    int amd = model && (strstr(model, "Instinct") || strstr(model, "Radeon"));
    printf("task %d on %s\n", (int)task->task, host->node->name);
    gang_result r = GANG_OK;
    if (task->gpus && amd) {
        r = print_text(host, task, "ROCR_VISIBLE_DEVICES", GANG_TASK_TEXT_ROCR);
    } else if (task->gpus) {
        printf("  CUDA_DEVICE_ORDER=PCI_BUS_ID\n");
        r = print_text(host, task, "CUDA_VISIBLE_DEVICES", GANG_TASK_TEXT_CUDA);
    }
    if (r == GANG_OK)
        r = print_text(host, task, "network cards", GANG_TASK_TEXT_NICS);
    if (r == GANG_OK)
        r = print_text(host, task, "cpuset.cpus", GANG_TASK_TEXT_CPUSET);
    if (r == GANG_OK)
        r = print_text(host, task, "cpuset.mems", GANG_TASK_TEXT_NODESET);
    return r == GANG_OK ? bind_here(host, task) : r;
}

/* Two tasks that share the machine, each in one NUMA domain if it has the capacity. */
static struct gang_group_spec shape_of(const struct gang_node_spec *node)
{
    struct gang_group_spec tasks = GANG_GROUP_SPEC_INIT;
    tasks.name = "rank";
    tasks.count = 2;
    tasks.min = 1;
    tasks.gpu_milli = (int64_t)(node->gpu_count / 2) * 1000;
    tasks.near_nic = 1;
    tasks.numa = GANG_NUMA_PREFER;
    tasks.cpu_milli = node->core_count > 1 ? (int64_t)(node->core_count / 2) * 1000 : 1000;
    return tasks;
}

int main(int argc, char **argv)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec *node = NULL;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    struct gang_group_spec tasks;
    struct host host = {NULL, NULL, NULL};
    gang_worker *worker = NULL;
    gang_request *request = NULL;
    gang_alloc_id id;
    if (hwloc_topology_init(&host.topology) != 0)
        return 1;
    if (load(host.topology, argc > 1 ? argv[1] : NULL) != 0) {
        fprintf(stderr, "hwloc cannot load the topology\n");
        hwloc_topology_destroy(host.topology);
        return 1;
    }
    int failed = gang_node_spec_from_hwloc(host.topology, NULL, &node, &error);
    if (!failed) {
        host.node = node;
        tasks = shape_of(node);
        spec.groups = &tasks, spec.group_count = 1;
    }
    failed = failed || gang_cluster_new(NULL, &host.cluster, &error) ||
             gang_worker_new(host.cluster, &worker) || gang_node_add(worker, node, NULL, &error) ||
             gang_request_new(host.cluster, &spec, &request, &error) ||
             gang_alloc(worker, request, &id, &error);
    if (!failed) {
        gang_result more = gang_alloc_grow(worker, id, 0, 1, NULL, &error);
        failed = more != GANG_OK && more != GANG_ENOFIT && more != GANG_ENEVER;
    }
    failed =
        failed || gang_alloc_each(host.cluster, id, launch, &host) || gang_alloc_free(worker, id);
    if (failed)
        fprintf(stderr, "%s %s\n", error.path, error.text);
    gang_request_free(request);
    gang_cluster_free(host.cluster);
    gang_node_spec_free(node);
    hwloc_topology_destroy(host.topology);
    return failed;
}
