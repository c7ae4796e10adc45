/* SPDX-License-Identifier: Apache-2.0 */
/* A hyper-parameter search starts with one GPU, takes more as other jobs finish, and gives back
 * the trials that lead nowhere: gang_alloc_grow() and gang_alloc_shrink(). */
#include <gangsched/gangsched.h>

#include <stdio.h>
#include <stdlib.h>

/* Ends the program if a call failed. A refusal is no failure; see grow(). */
static void check(gang_result result, const struct gang_error *error)
{
    if (result != GANG_OK) {
        fprintf(stderr, "%s: %s\n", gang_strerror(result), error != NULL ? error->text : "");
        exit(1);
    }
}

static int32_t print_task(const struct gang_task *task, void *user)
{
    (void)user;
    printf(" %d", (int)task->task);
    return 0;
}

static void show(gang_cluster *cluster, gang_alloc_id search, const char *event)
{
    printf("%-28s trials:", event);
    check(gang_alloc_each(cluster, search, print_task, NULL), NULL);
    printf("\n");
}

/* Take as many GPUs as there are; tell how many came. */
static void grow(gang_worker *worker, gang_alloc_id search)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t granted = 0;
    gang_result result = gang_alloc_grow(worker, search, 0, 8, &granted, &error);
    if (result != GANG_ENOFIT && result != GANG_ERANGE) { /* nothing free, or all it can use */
        check(result, &error);
    }
    printf("  grow: %d more (%s)\n", (int)granted, gang_strerror(result));
}

/* A request of `min` to `count` tasks of one GPU. */
static gang_request *request_gpus(gang_cluster *cluster, const char *name, int64_t min,
                                  int64_t count)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *request;
    group.name = name;
    group.min = min;
    group.count = count;
    group.gpu_milli = 1000;
    spec.groups = &group;
    spec.group_count = 1;
    check(gang_request_new(cluster, &spec, &request, &error), &error);
    return request;
}

int main(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec node = GANG_NODE_SPEC_INIT;
    struct gang_gpu_spec gpus[8];
    gang_cluster *cluster;
    gang_worker *worker;
    gang_alloc_id training[2];
    gang_alloc_id search;

    for (int i = 0; i < 8; i++) {
        gpus[i] = (struct gang_gpu_spec){.numa = -1};
    }
    node.name = "n1";
    node.gpus = gpus;
    node.gpu_count = 8;
    check(gang_cluster_new(NULL, &cluster, &error), &error);
    check(gang_worker_new(cluster, &worker), NULL);
    check(gang_node_add(worker, &node, NULL, &error), &error);

    /* Two trainings hold four and three of the eight GPUs. */
    gang_request *four = request_gpus(cluster, "training", 4, 4);
    gang_request *three = request_gpus(cluster, "training", 3, 3);
    check(gang_alloc(worker, four, &training[0], &error), &error);
    check(gang_alloc(worker, three, &training[1], &error), &error);

    /* The search can use six, and starts with one. */
    gang_request *trials = request_gpus(cluster, "trial", 1, 6);
    check(gang_alloc(worker, trials, &search, &error), &error);
    show(cluster, search, "one GPU is free");
    grow(worker, search);

    check(gang_alloc_free(worker, training[1]), NULL);
    grow(worker, search);
    show(cluster, search, "the second training ended");

    const int64_t hopeless[] = {0, 2};
    check(gang_alloc_shrink(worker, search, hopeless, 2, &error), &error);
    show(cluster, search, "trials 0 and 2 given back");

    check(gang_alloc_free(worker, training[0]), NULL);
    grow(worker, search);
    show(cluster, search, "the first training ended");

    check(gang_alloc_free(worker, search), NULL);
    gang_request_free(trials);
    gang_request_free(three);
    gang_request_free(four);
    gang_worker_free(worker);
    gang_cluster_free(cluster);
    return 0;
}
