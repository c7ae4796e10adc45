/* SPDX-License-Identifier: Apache-2.0 */
/* The peer with one lock a node; locks are taken in address order. Nodes of a gang stay locked
 * until the whole gang is placed, so no thread sees a part. A search first reads a word that is
 * written under the lock, and skips nodes that are visibly too full. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

struct locked_node {
    pthread_mutex_t mutex;
    _Atomic uint32_t peek; /* whole GPUs free | largest free share << 8 */
    _Alignas(64) struct peer_node node;
};

struct cluster {
    struct locked_node *nodes;
    int64_t count;
    struct bench_scene scene;
};

static void *locks_open(const struct bench_scene *scene)
{
    struct cluster *k = bench_calloc(1, sizeof(*k));
    k->scene = *scene;
    return k;
}

/* With the node's lock. */
static void show(struct locked_node *n)
{
    uint32_t largest = 0;
    for (int i = 0; i < NODE_GPUS; i++)
        if (n->node.share[i] > largest)
            largest = n->node.share[i];
    uint32_t whole = (uint32_t)__builtin_popcount(n->node.gpus);
    atomic_store_explicit(&n->peek, whole | largest << 8, memory_order_relaxed);
}

static int64_t locks_build(void *cluster, bool bulk)
{
    (void)bulk;
    struct cluster *k = cluster;
    int64_t start = bench_now();
    size_t bytes = (size_t)k->scene.nodes * sizeof(*k->nodes);
    k->nodes = aligned_alloc(_Alignof(struct locked_node), bytes);
    if (!k->nodes)
        bench_die("out of memory");
    memset(k->nodes, 0, bytes);
    for (int64_t i = 0; i < k->scene.nodes; i++) {
        struct locked_node *n = &k->nodes[k->count++];
        if (pthread_mutex_init(&n->mutex, NULL))
            bench_die("locks: cannot make a mutex");
        peer_node_init(&n->node, &k->scene, i);
        show(n);
    }
    return bench_now() - start;
}

static void locks_close(void *cluster)
{
    struct cluster *k = cluster;
    for (int64_t i = 0; i < k->count; i++)
        pthread_mutex_destroy(&k->nodes[i].mutex);
    free(k->nodes);
    free(k);
}

static void *locks_worker(void *cluster, int64_t largest_gang)
{
    (void)largest_gang;
    return cluster;
}

static void locks_worker_end(void *worker)
{
    (void)worker;
}

static bool looks_free(const struct locked_node *n, int32_t gpu_milli)
{
    uint32_t peek = atomic_load_explicit(&n->peek, memory_order_relaxed);
    return gpu_milli >= 1000 ? (peek & 255) * 1000 >= (uint32_t)gpu_milli
                             : peek >> 8 >= (uint32_t)gpu_milli;
}

static void take(struct cluster *k, struct peer_alloc *a, int64_t node)
{
    peer_allocate(&k->nodes[node].node, (uint32_t)node, &a->request, &a->task[a->count++]);
}

/* Unlock the nodes of the tasks from `first` on; tasks of one node follow each other. */
static void unlock_from(struct cluster *k, const struct peer_alloc *a, int64_t first)
{
    for (int64_t i = first; i < a->count; i++) {
        if (i > first && a->task[i].node == a->task[i - 1].node)
            continue;
        struct locked_node *n = &k->nodes[a->task[i].node];
        show(n);
        pthread_mutex_unlock(&n->mutex);
    }
}

static void roll_back(struct cluster *k, struct peer_alloc *a, int64_t first)
{
    for (int64_t i = first; i < a->count; i++)
        peer_release(&k->nodes[a->task[i].node].node, &a->task[i]);
    unlock_from(k, a, first);
    a->count = first;
}

static bool search(struct cluster *k, struct peer_alloc *a, int64_t tasks)
{
    int64_t first = a->count;
    int32_t gpu_milli = bench_need[a->request.shape].gpu_milli;
    for (int64_t i = 0; i < k->count && a->count < tasks; i++) {
        if (!looks_free(&k->nodes[i], gpu_milli))
            continue;
        int64_t before = a->count;
        pthread_mutex_lock(&k->nodes[i].mutex);
        while (a->count < tasks && peer_fits(&k->nodes[i].node, &a->request))
            take(k, a, i);
        if (a->count == before)
            pthread_mutex_unlock(&k->nodes[i].mutex);
    }
    if (a->count < tasks) {
        roll_back(k, a, first);
        return false;
    }
    unlock_from(k, a, first);
    return true;
}

static int locks_place(void *worker, void *request, uint64_t *id)
{
    const struct bench_request *want = request;
    struct peer_alloc *a = peer_alloc_new(want);
    if (!search(worker, a, want->tasks)) {
        free(a);
        return BENCH_REFUSED;
    }
    *id = (uintptr_t)a;
    return BENCH_PLACED;
}

/* Fills the cluster before anything runs beside: one node at a time. */
static int locks_place_at(void *worker, void *request, const uint32_t *nodes, int64_t count,
                          uint64_t *id)
{
    struct cluster *k = worker;
    struct peer_alloc *a = peer_alloc_new(request);
    for (int64_t i = 0; i < count; i++) {
        struct locked_node *n = &k->nodes[nodes[i]];
        pthread_mutex_lock(&n->mutex);
        if (peer_fits(&n->node, &a->request))
            take(k, a, nodes[i]);
        show(n);
        pthread_mutex_unlock(&n->mutex);
    }
    if (a->count < count)
        return BENCH_BROKEN;
    *id = (uintptr_t)a;
    return BENCH_PLACED;
}

static int by_node(const void *x, const void *y)
{
    const struct peer_task *a = x, *b = y;
    return (a->node > b->node) - (a->node < b->node);
}

static bool locks_give_back(void *worker, uint64_t id)
{
    struct cluster *k = worker;
    struct peer_alloc *a = (struct peer_alloc *)(uintptr_t)id;
    bool sorted = true;
    for (int64_t i = 1; i < a->count && sorted; i++)
        sorted = a->task[i - 1].node <= a->task[i].node;
    if (!sorted) /* after growing, and what the cluster was filled with */
        qsort(a->task, (size_t)a->count, sizeof(a->task[0]), by_node);
    for (int64_t i = 0; i < a->count; i++)
        if (i == 0 || a->task[i].node != a->task[i - 1].node)
            pthread_mutex_lock(&k->nodes[a->task[i].node].mutex);
    roll_back(k, a, 0);
    free(a);
    return true;
}

static int locks_grow(void *worker, uint64_t id)
{
    struct peer_alloc *a = (struct peer_alloc *)(uintptr_t)id;
    return search(worker, a, a->count + 1) ? BENCH_PLACED : BENCH_REFUSED;
}

static bool locks_shrink(void *worker, uint64_t id, int64_t task)
{
    struct cluster *k = worker;
    struct peer_alloc *a = (struct peer_alloc *)(uintptr_t)id;
    struct peer_task *t = &a->task[task];
    struct locked_node *n = &k->nodes[t->node];
    pthread_mutex_lock(&n->mutex);
    peer_release(&n->node, t);
    show(n);
    pthread_mutex_unlock(&n->mutex);
    *t = a->task[--a->count];
    return true;
}

static bool locks_set_state(void *worker, uint32_t node, bool up)
{
    struct cluster *k = worker;
    pthread_mutex_lock(&k->nodes[node].mutex);
    k->nodes[node].node.up = up;
    pthread_mutex_unlock(&k->nodes[node].mutex);
    return true;
}

static int64_t locks_read(void *worker, uint32_t node)
{
    struct cluster *k = worker;
    pthread_mutex_lock(&k->nodes[node].mutex);
    struct peer_node copy = k->nodes[node].node;
    pthread_mutex_unlock(&k->nodes[node].mutex);
    return peer_free_milli(&copy);
}

static int64_t locks_audit(void *cluster)
{
    struct cluster *k = cluster;
    int64_t taken = 0;
    for (int64_t i = 0; i < k->count; i++) {
        int64_t milli = peer_audit(&k->nodes[i].node, "locks", i);
        if (milli < 0)
            return -1;
        taken += milli;
    }
    return taken;
}

static void locks_count(void *cluster, struct bench_counters *counters)
{
    struct cluster *k = cluster;
    *counters = (struct bench_counters){0};
    counters->live_bytes = k->count * (int64_t)sizeof(*k->nodes);
}

const struct bench_impl bench_locks = {
    .name = "locks",
    .open = locks_open,
    .build = locks_build,
    .close = locks_close,
    .worker = locks_worker,
    .worker_end = locks_worker_end,
    .request = peer_request,
    .request_end = peer_request_end,
    .place = locks_place,
    .place_at = locks_place_at,
    .give_back = locks_give_back,
    .grow = locks_grow,
    .newest = peer_newest,
    .shrink = locks_shrink,
    .set_state = locks_set_state,
    .read = locks_read,
    .audit = locks_audit,
    .holds = peer_alloc_holds,
    .count = locks_count,
};
