/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <stdlib.h>

void *peer_request(void *cluster, const struct bench_request *request)
{
    (void)cluster;
    struct bench_request *copy = bench_calloc(1, sizeof(*copy));
    *copy = *request;
    return copy;
}

void peer_request_end(void *request)
{
    free(request);
}

struct peer_alloc *peer_alloc_new(const struct bench_request *request)
{
    size_t cap = (size_t)(request->tasks + request->extra);
    struct peer_alloc *a = malloc(sizeof(*a) + cap * sizeof(a->task[0]));
    if (!a)
        bench_die("out of memory");
    a->request = *request;
    a->count = 0;
    return a;
}

void peer_node_init(struct peer_node *node, const struct bench_scene *scene, int64_t index)
{
    node->cores = UINT64_MAX;
    node->memory = NODE_MEMORY;
    node->gpus = UINT8_MAX;
    for (int i = 0; i < NODE_GPUS; i++)
        node->share[i] = 1000;
    node->up = 1;
    node->label = scene->rare && index % RARE_STRIDE == RARE_LABEL_AT;
    node->model = scene->rare && index % RARE_STRIDE == RARE_MODEL_AT;
}

/* A GPU with so much of it free, or -1. */
static int share_of(const struct peer_node *node, int32_t milli)
{
    for (int i = 0; i < NODE_GPUS; i++)
        if (node->share[i] >= milli)
            return i;
    return -1;
}

bool peer_fits(const struct peer_node *node, const struct bench_request *request)
{
    const struct bench_need *need = &bench_need[request->shape];
    if (need->gpu_milli >= 1000) {
        if (__builtin_popcount(node->gpus) < need->gpu_milli / 1000)
            return false;
    } else if (share_of(node, need->gpu_milli) < 0) {
        return false;
    }
    return node->up && __builtin_popcountll(node->cores) >= need->cores &&
           node->memory >= need->memory_bytes && (request->rare != RARE_LABEL || node->label) &&
           (request->rare != RARE_MODEL || node->model);
}

/* The lowest `count` bits of a mask. */
static uint64_t lowest(uint64_t mask, int count)
{
    if (__builtin_popcountll(mask) == count)
        return mask;
    uint64_t taken = 0;
    for (int i = 0; i < count; i++) {
        taken |= mask & (~mask + 1);
        mask &= mask - 1;
    }
    return taken;
}

void peer_allocate(struct peer_node *node, uint32_t index, const struct bench_request *request,
                   struct peer_task *task)
{
    const struct bench_need *need = &bench_need[request->shape];
    task->node = index;
    task->cores = lowest(node->cores, need->cores);
    task->memory = need->memory_bytes;
    if (need->gpu_milli >= 1000) {
        task->share = 1000;
        task->gpus = (uint8_t)lowest(node->gpus, need->gpu_milli / 1000);
    } else {
        task->share = (uint16_t)need->gpu_milli;
        task->gpus = (uint8_t)(1u << share_of(node, need->gpu_milli));
    }
    for (unsigned left = task->gpus; left; left &= left - 1)
        node->share[__builtin_ctz(left)] =
            (uint16_t)(node->share[__builtin_ctz(left)] - task->share);
    node->gpus &= (uint8_t)~task->gpus;
    node->cores &= ~task->cores;
    node->memory -= task->memory;
}

void peer_release(struct peer_node *node, const struct peer_task *task)
{
    for (unsigned left = task->gpus; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        node->share[i] = (uint16_t)(node->share[i] + task->share);
        if (node->share[i] == 1000)
            node->gpus |= (uint8_t)(1u << i);
    }
    node->cores |= task->cores;
    node->memory += task->memory;
}

int64_t peer_free_milli(const struct peer_node *node)
{
    int64_t milli = 0;
    for (int i = 0; i < NODE_GPUS; i++)
        milli += node->share[i];
    return milli;
}

int64_t peer_audit(const struct peer_node *node, const char *name, int64_t index)
{
    int64_t taken = NODE_GPUS * 1000 - peer_free_milli(node);
    bool agree = taken || (node->cores == UINT64_MAX && node->memory == NODE_MEMORY);
    for (int i = 0; i < NODE_GPUS; i++)
        agree &= (node->share[i] == 1000) == (node->gpus >> i & 1);
    if (agree && taken >= 0)
        return taken;
    fprintf(stderr, "gangsched-bench: %s: node %lld is out of order\n", name, (long long)index);
    return -1;
}

bool peer_newest(void *worker, uint64_t id, int64_t *tasks, int64_t count)
{
    (void)worker;
    const struct peer_alloc *a = (const struct peer_alloc *)(uintptr_t)id;
    for (int64_t i = 0; i < count; i++)
        tasks[i] = a->count - 1 - i;
    return a->count >= count;
}

bool peer_alloc_holds(void *worker, uint64_t id, const struct bench_request *request)
{
    (void)worker;
    const struct peer_alloc *a = (const struct peer_alloc *)(uintptr_t)id;
    const struct bench_need *need = &bench_need[request->shape];
    int gpus = need->gpu_milli >= 1000 ? need->gpu_milli / 1000 : 1;
    for (int64_t i = 0; i < a->count; i++)
        if (__builtin_popcount(a->task[i].gpus) != gpus ||
            __builtin_popcountll(a->task[i].cores) != need->cores)
            return false;
    return a->count == request->tasks;
}
