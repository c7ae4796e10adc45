/* SPDX-License-Identifier: Apache-2.0 */
/* Describes this machine, or that of an hwloc XML file, from a topology that the program loads
 * itself; starts a gang of small tasks there; prints which cores each of them got.
 * Usage: hwloc_node [FILE.xml] */
#include <gangsched/gangsched.h>
#include <gangsched/hwloc.h>

#include <stdio.h>

static int load(hwloc_topology_t topology, const char *xml)
{
    if (xml && hwloc_topology_set_xml(topology, xml) != 0)
        return -1;
    /* Without this hwloc shows neither GPUs nor network cards. */
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    return hwloc_topology_load(topology);
}

/* The cluster numbers cores as the specification does. */
static int32_t print_task(const struct gang_task *task, void *user)
{
    const struct gang_node_spec *node = user;
    printf("task %d on %s, cores", (int)task->task, node->name);
    for (size_t i = 0; i < node->core_count; i++)
        if (task->cores[i / 64] >> i % 64 & 1)
            printf(" %zu (CPUs %s)", i, node->cores[i].cpuset);
    printf("\n");
    return 0;
}

int main(int argc, char **argv)
{
    hwloc_topology_t topology;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec *node = NULL;
    struct gang_group_spec tasks = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_cluster *cluster = NULL;
    gang_worker *worker = NULL;
    gang_request *request = NULL;
    gang_alloc_id id;
    if (hwloc_topology_init(&topology) != 0)
        return 1;
    if (load(topology, argc > 1 ? argv[1] : NULL) != 0) {
        fprintf(stderr, "hwloc cannot load the topology\n");
        hwloc_topology_destroy(topology);
        return 1;
    }
    int failed = gang_node_spec_from_hwloc(topology, NULL, &node, &error);
    hwloc_topology_destroy(topology); /* the description does not need it */
    if (!failed) {
        printf("%s: %zu cores, %zu NUMA domains, %zu GPUs\n", node->name, node->core_count,
               node->numa_count, node->gpu_count);
        tasks.count = tasks.min = node->core_count < 4 ? (int64_t)node->core_count : 4;
        tasks.cpu_milli = 1000; /* a whole core is a core of one's own */
        spec.groups = &tasks, spec.group_count = 1;
    }
    failed = failed || gang_cluster_new(NULL, &cluster, &error) ||
             gang_worker_new(cluster, &worker) || gang_node_add(worker, node, NULL, &error) ||
             gang_request_new(cluster, &spec, &request, &error) ||
             gang_alloc(worker, request, &id, &error) ||
             gang_alloc_each(cluster, id, print_task, node) || gang_alloc_free(worker, id);
    if (failed)
        fprintf(stderr, "%s %s\n", error.path, error.text);
    gang_request_free(request);
    gang_cluster_free(cluster);
    gang_node_spec_free(node);
    return failed;
}
