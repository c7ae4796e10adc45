/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that allocate and free gangs on one cluster at the same time, each with a worker of its
 * own and without a lock; at the end the cluster audits itself. */
#include <gangsched/gangsched.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 8, GPUS = 8, THREADS = 4, ROUNDS = 20000, HELD = 4 };

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
    struct gang_gpu_spec gpus[GPUS];
    gang_cluster *cluster;
    gang_worker *worker;
    for (int i = 0; i < GPUS; i++) {
        gpus[i] = (struct gang_gpu_spec){.numa = -1};
    }
    node.gpus = gpus;
    node.gpu_count = GPUS;
    check(gang_cluster_new(NULL, &cluster, &error), &error);
    check(gang_worker_new(cluster, &worker), NULL);
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i + 1);
        node.name = name;
        check(gang_node_add(worker, &node, NULL, &error), &error);
    }
    gang_worker_free(worker);
    return cluster;
}

/* `tasks` tasks of two GPUs each. A request is immutable: all threads use the same ones. */
static gang_request *make_request(gang_cluster *cluster, int64_t tasks)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *request;
    group.count = group.min = tasks;
    group.gpu_milli = 2000;
    spec.groups = &group;
    spec.group_count = 1;
    check(gang_request_new(cluster, &spec, &request, &error), &error);
    return request;
}

struct thread {
    pthread_t thread;
    gang_cluster *cluster;
    gang_request *const *requests; /* of 1, 2, 3 and 4 tasks */
    struct gang_worker_stats stats;
};

/* Hold up to HELD gangs, always giving back the oldest before taking the next. */
static void *allocate_and_free(void *user)
{
    struct thread *self = user;
    gang_alloc_id held[HELD] = {GANG_ID_NONE};
    gang_worker *worker;
    check(gang_worker_new(self->cluster, &worker), NULL);
    for (int round = 0; round < ROUNDS + HELD; round++) {
        gang_alloc_id *slot = &held[round % HELD];
        if (*slot != GANG_ID_NONE) {
            check(gang_alloc_free(worker, *slot), NULL);
            *slot = GANG_ID_NONE;
        }
        if (round < ROUNDS) {
            gang_result result = gang_alloc(worker, self->requests[round % 4], slot, NULL);
            check(result == GANG_ENOFIT ? GANG_OK : result, NULL); /* full: try the next */
        }
    }
    self->stats.size = sizeof self->stats;
    check(gang_worker_get_stats(worker, &self->stats), NULL);
    gang_worker_free(worker);
    return NULL;
}

int main(void)
{
    struct thread threads[THREADS] = {0};
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *cluster = make_cluster();
    gang_request *requests[4];
    for (int i = 0; i < 4; i++) {
        requests[i] = make_request(cluster, i + 1);
    }
    for (int i = 0; i < THREADS; i++) {
        threads[i].cluster = cluster;
        threads[i].requests = requests;
        if (pthread_create(&threads[i].thread, NULL, allocate_and_free, &threads[i]) != 0) {
            fprintf(stderr, "cannot start a thread\n");
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i].thread, NULL);
        printf("thread %d: %lld commits, %lld refusals, %lld conflicts, %lld helps\n", i,
               (long long)threads[i].stats.commits, (long long)threads[i].stats.refusals,
               (long long)threads[i].stats.conflicts, (long long)threads[i].stats.helps);
    }
    check(gang_cluster_check(cluster, &error), &error);
    printf("audit of the cluster: OK\n");
    for (int i = 0; i < 4; i++) {
        gang_request_free(requests[i]);
    }
    gang_cluster_free(cluster);
    return 0;
}
