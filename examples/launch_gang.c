/* SPDX-License-Identifier: Apache-2.0 */
/* From an allocation to processes: the lines for horovodrun and mpirun, and the environment of
 * each rank. Four machines in two racks; a job of six workers with a GPU each, ranked as the
 * network lies, which stays away from machines with jobs that are noisy. */
#include <gangsched/gangsched.h>
#include <stdio.h>

enum { MACHINES = 4, GPUS = 4 };

static int print(const char *bytes, size_t length, void *file)
{
    return fwrite(bytes, 1, length, file) != length;
}

/* What a launcher sets for one process of PyTorch. */
static gang_result print_environment(gang_cluster *cluster, gang_alloc_id id,
                                     const struct gang_rank *rank)
{
    struct gang_node_info node = GANG_NODE_INFO_INIT;
    struct gang_task task = GANG_TASK_INIT;
    char gpus[256];
    gang_result result = gang_node_get(cluster, rank->node, &node);
    if (result == GANG_OK)
        result = gang_alloc_task(cluster, id, rank->task, &task);
    if (result == GANG_OK)
        result = gang_task_text(cluster, &task, GANG_TASK_TEXT_CUDA, gpus, sizeof gpus, NULL);
    if (result == GANG_OK)
        printf("%s: RANK=%d WORLD_SIZE=%d LOCAL_RANK=%d LOCAL_WORLD_SIZE=%d GROUP_RANK=%d "
               "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=%s\n",
               node.name, (int)rank->rank, (int)rank->world_size, (int)rank->local_rank,
               (int)rank->local_size, (int)rank->node_rank, gpus);
    return result;
}

/* The same for all processes; and before the first one of a node, what starts them all there. */
static gang_result print_ranks(gang_cluster *cluster, gang_alloc_id id)
{
    struct gang_rank ranks[6];
    size_t count;
    gang_result result = gang_alloc_ranks(cluster, id, -1, ranks, sizeof ranks[0], 6, &count);
    for (size_t i = 0; result == GANG_OK && i < count; i++) {
        if (ranks[i].local_rank == 0)
            printf("torchrun --nnodes=%d --node-rank=%d --nproc-per-node=%d train.py\n",
                   (int)ranks[i].nodes, (int)ranks[i].node_rank, (int)ranks[i].local_size);
        result = print_environment(cluster, id, &ranks[i]);
    }
    return result;
}

static gang_result add_machines(gang_worker *worker, struct gang_error *error)
{
    const struct gang_gpu_spec g = GANG_GPU_SPEC_INIT, gpus[GPUS] = {g, g, g, g};
    gang_result result = GANG_OK;
    for (int i = 0; i < MACHINES && result == GANG_OK; i++) {
        char name[] = "n1", rack[] = "r1";
        const struct gang_label place = {"rack", rack};
        struct gang_node_spec node = GANG_NODE_SPEC_INIT;
        name[1] = (char)('1' + i);
        rack[1] = (char)('1' + i % 2); /* neighbours in name stand in different racks */
        node.name = name, node.cpu_milli = 16000, node.gpus = gpus, node.gpu_count = GPUS;
        node.topology = &place, node.topology_count = 1;
        result = gang_node_add(worker, &node, NULL, error);
    }
    return result;
}

/* Place one job of `count` tasks with a GPU each. */
static gang_result place(gang_worker *worker, gang_cluster *cluster, struct gang_request_spec *spec,
                         int64_t count, gang_alloc_id *id, struct gang_error *error)
{
    struct gang_group_spec tasks = GANG_GROUP_SPEC_INIT;
    gang_request *request;
    tasks.count = tasks.min = count, tasks.gpu_milli = 1000, tasks.cpu_milli = 2000;
    spec->groups = &tasks, spec->group_count = 1;
    gang_result result = gang_request_new(cluster, spec, &request, error);
    if (result == GANG_OK)
        result = gang_alloc(worker, request, id, error);
    gang_request_free(request);
    return result;
}

int main(void)
{
    static const char *const levels[] = {"rack"};
    static const struct gang_label noisy = {"class", "noisy"};
    static const struct gang_affinity_rule quiet = {"class", "noisy", GANG_LEVEL_NODE, 0, 0};
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct gang_request_spec other = GANG_REQUEST_SPEC_INIT, job = GANG_REQUEST_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *cluster = NULL;
    gang_worker *worker = NULL;
    gang_alloc_id id;
    opts.levels = levels, opts.level_count = 1;
    other.labels = &noisy, other.label_count = 1;
    other.policy = GANG_POLICY_FIRST;
    job.affinity = &quiet, job.affinity_count = 1;
    job.policy = GANG_POLICY_SPREAD;
    int failed = gang_cluster_new(&opts, &cluster, &error) || gang_worker_new(cluster, &worker) ||
                 add_machines(worker, &error) || place(worker, cluster, &other, 1, &id, &error) ||
                 place(worker, cluster, &job, 6, &id, &error);
    if (!failed) {
        printf("horovodrun -np 6 -H ");
        failed = gang_alloc_write_hosts(cluster, id, -1, GANG_HOSTS_HOROVOD, print, stdout);
        printf("\nmpirun --hostfile with\n");
        failed = failed || gang_alloc_write_hosts(cluster, id, -1, GANG_HOSTS_MPI, print, stdout) ||
                 print_ranks(cluster, id);
    }
    if (failed)
        printf("%s\n", error.text);
    gang_cluster_free(cluster);
    return failed;
}
