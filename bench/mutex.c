/* SPDX-License-Identifier: Apache-2.0 */
/* The peer that most would write: one mutex, an array of structs, first-fit from node 0,
 * rollback. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

struct cluster {
    pthread_mutex_t mutex;
    struct peer_node *nodes, *copy;
    int64_t count;
    struct bench_scene scene;
};

static void *mutex_open(const struct bench_scene *scene)
{
    struct cluster *k = bench_calloc(1, sizeof(*k));
    k->scene = *scene;
    if (pthread_mutex_init(&k->mutex, NULL))
        bench_die("mutex: cannot make a mutex");
    return k;
}

static int64_t mutex_build(void *cluster, bool bulk)
{
    (void)bulk;
    struct cluster *k = cluster;
    int64_t start = bench_now();
    size_t bytes = (size_t)k->scene.nodes * sizeof(*k->nodes);
    k->nodes = aligned_alloc(sizeof(*k->nodes), bytes);
    if (!k->nodes)
        bench_die("out of memory");
    memset(k->nodes, 0, bytes);
    for (int64_t i = 0; i < k->scene.nodes; i++)
        peer_node_init(&k->nodes[k->count++], &k->scene, i);
    return bench_now() - start;
}

static void mutex_close(void *cluster)
{
    struct cluster *k = cluster;
    pthread_mutex_destroy(&k->mutex);
    free(k->nodes);
    free(k->copy);
    free(k);
}

static void *mutex_worker(void *cluster, int64_t largest_gang)
{
    (void)largest_gang;
    return cluster;
}

static void mutex_worker_end(void *worker)
{
    (void)worker;
}

static void take(struct cluster *k, struct peer_alloc *a, int64_t node)
{
    peer_allocate(&k->nodes[node], (uint32_t)node, &a->request, &a->task[a->count++]);
}

static void give_all(struct cluster *k, struct peer_alloc *a)
{
    while (a->count) {
        const struct peer_task *task = &a->task[--a->count];
        peer_release(&k->nodes[task->node], task);
    }
}

/* All tasks of a gang are alike, so the search goes on where the one before was placed. */
static bool search(struct cluster *k, struct peer_alloc *a, int64_t tasks)
{
    for (int64_t i = 0; i < k->count && a->count < tasks; i++)
        while (a->count < tasks && peer_fits(&k->nodes[i], &a->request))
            take(k, a, i);
    return a->count == tasks;
}

/* The search of many simulators: node 0 first, for each task. */
static bool search_again(struct cluster *k, struct peer_alloc *a, int64_t tasks)
{
    while (a->count < tasks) {
        int64_t i = 0;
        while (i < k->count && !peer_fits(&k->nodes[i], &a->request))
            i++;
        if (i == k->count)
            return false;
        take(k, a, i);
    }
    return true;
}

static int mutex_place(void *worker, void *request, uint64_t *id)
{
    struct cluster *k = worker;
    const struct bench_request *want = request;
    struct peer_alloc *a = peer_alloc_new(want);
    pthread_mutex_lock(&k->mutex);
    bool placed = want->restart ? search_again(k, a, want->tasks) : search(k, a, want->tasks);
    if (!placed)
        give_all(k, a);
    pthread_mutex_unlock(&k->mutex);
    if (!placed) {
        free(a);
        return BENCH_REFUSED;
    }
    *id = (uintptr_t)a;
    return BENCH_PLACED;
}

static int mutex_place_at(void *worker, void *request, const uint32_t *nodes, int64_t count,
                          uint64_t *id)
{
    struct cluster *k = worker;
    struct peer_alloc *a = peer_alloc_new(request);
    pthread_mutex_lock(&k->mutex);
    for (int64_t i = 0; i < count && peer_fits(&k->nodes[nodes[i]], &a->request); i++)
        take(k, a, nodes[i]);
    bool placed = a->count == count;
    if (!placed)
        give_all(k, a);
    pthread_mutex_unlock(&k->mutex);
    if (!placed) {
        free(a);
        return BENCH_REFUSED;
    }
    *id = (uintptr_t)a;
    return BENCH_PLACED;
}

static bool mutex_give_back(void *worker, uint64_t id)
{
    struct cluster *k = worker;
    struct peer_alloc *a = (struct peer_alloc *)(uintptr_t)id;
    pthread_mutex_lock(&k->mutex);
    give_all(k, a);
    pthread_mutex_unlock(&k->mutex);
    free(a);
    return true;
}

static int mutex_grow(void *worker, uint64_t id)
{
    struct cluster *k = worker;
    struct peer_alloc *a = (struct peer_alloc *)(uintptr_t)id;
    pthread_mutex_lock(&k->mutex);
    bool grown = search(k, a, a->count + 1);
    pthread_mutex_unlock(&k->mutex);
    return grown ? BENCH_PLACED : BENCH_REFUSED;
}

static bool mutex_shrink(void *worker, uint64_t id, int64_t task)
{
    struct cluster *k = worker;
    struct peer_alloc *a = (struct peer_alloc *)(uintptr_t)id;
    pthread_mutex_lock(&k->mutex);
    struct peer_task *t = &a->task[task];
    peer_release(&k->nodes[t->node], t);
    *t = a->task[--a->count];
    pthread_mutex_unlock(&k->mutex);
    return true;
}

static bool mutex_set_state(void *worker, uint32_t node, bool up)
{
    struct cluster *k = worker;
    pthread_mutex_lock(&k->mutex);
    k->nodes[node].up = up;
    pthread_mutex_unlock(&k->mutex);
    return true;
}

static int64_t mutex_read(void *worker, uint32_t node)
{
    struct cluster *k = worker;
    pthread_mutex_lock(&k->mutex);
    struct peer_node copy = k->nodes[node];
    pthread_mutex_unlock(&k->mutex);
    return peer_free_milli(&copy);
}

/* One copy, overwritten by each call; the first call allocates it. */
static bool mutex_snapshot(void *worker)
{
    struct cluster *k = worker;
    size_t bytes = (size_t)k->count * sizeof(*k->nodes);
    pthread_mutex_lock(&k->mutex);
    if (!k->copy)
        k->copy = malloc(bytes);
    if (k->copy)
        memcpy(k->copy, k->nodes, bytes);
    pthread_mutex_unlock(&k->mutex);
    return k->copy != NULL;
}

static int64_t mutex_audit(void *cluster)
{
    struct cluster *k = cluster;
    int64_t taken = 0;
    for (int64_t i = 0; i < k->count; i++) {
        int64_t milli = peer_audit(&k->nodes[i], "mutex", i);
        if (milli < 0)
            return -1;
        taken += milli;
    }
    return taken;
}

static void mutex_count(void *cluster, struct bench_counters *counters)
{
    struct cluster *k = cluster;
    *counters = (struct bench_counters){0};
    counters->live_bytes = k->count * (int64_t)sizeof(*k->nodes);
}

const struct bench_impl bench_mutex = {
    .name = "mutex",
    .open = mutex_open,
    .build = mutex_build,
    .close = mutex_close,
    .worker = mutex_worker,
    .worker_end = mutex_worker_end,
    .request = peer_request,
    .request_end = peer_request_end,
    .place = mutex_place,
    .place_at = mutex_place_at,
    .give_back = mutex_give_back,
    .grow = mutex_grow,
    .newest = peer_newest,
    .shrink = mutex_shrink,
    .set_state = mutex_set_state,
    .read = mutex_read,
    .snapshot = mutex_snapshot,
    .audit = mutex_audit,
    .holds = peer_alloc_holds,
    .count = mutex_count,
};
