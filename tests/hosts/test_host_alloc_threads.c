/* SPDX-License-Identifier: Apache-2.0 */
/* A host without a scheduler: threads allocate, grow, shrink and free on one cluster while one of
 * them drains nodes. The books are one owner for each GPU, and for each core: a thread writes
 * itself there when it has got a task, and leaves before it gives the task back. */
#include <gangsched/gangsched.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "chance.h"
#include "suite.h"

enum { THREADS = 4, NODES = 6, GPUS = 4, CORES = 8, HELD = 12, MOST = 16 };

/* An allocation of a thread, with the tasks that the thread knows of. */
struct held {
    gang_alloc_id id;
    int64_t count, min;
    gang_request *request;
    size_t tasks;
    struct gang_task task[MOST];
};

struct thread {
    pthread_t thread;
    int number; /* from 1 */
    uint64_t chance;
    int64_t events, granted, refused, grown;
    gang_worker *worker;
    struct held held[HELD];
};

static gang_cluster *cluster;
static gang_node_id node[NODES];
static atomic_int gpu_owner[NODES][GPUS], core_owner[NODES][CORES];

static int64_t of(struct thread *t, int64_t n)
{
    return (int64_t)(chance_of(&t->chance) % (uint64_t)n);
}

static size_t node_index(gang_node_id id)
{
    size_t i = 0;
    while (i < NODES && node[i] != id)
        i++;
    test_assert(i < NODES);
    return i;
}

static void change(atomic_int *owner, int from, int to)
{
    test_assert(atomic_exchange(owner, to) == from);
}

/* The owner of all that a task has changes, from exactly this one. */
static void own(const struct gang_task *task, int from, int to)
{
    size_t n = node_index(task->node);
    for (int i = 0; i < GPUS; i++)
        if (task->gpus >> i & 1)
            change(&gpu_owner[n][i], from, to);
    for (int i = 0; i < CORES; i++)
        if (task->cores[0] >> i & 1)
            change(&core_owner[n][i], from, to);
}

struct reader {
    struct thread *t;
    struct held *h;
    size_t known, listed;
};

/* A task that is known lies where it lay; another one is new. */
static int32_t read_task(const struct gang_task *task, void *user)
{
    struct reader *r = user;
    r->listed++;
    test_assert(task->gpu_count == 1 && task->core_count == 1);
    for (size_t i = 0; i < r->known; i++)
        if (r->h->task[i].task == task->task) {
            test_assert(r->h->task[i].node == task->node && r->h->task[i].gpus == task->gpus);
            test_assert(r->h->task[i].cores[0] == task->cores[0]);
            return 0;
        }
    test_assert(r->h->tasks < MOST);
    own(task, 0, r->t->number);
    r->h->task[r->h->tasks++] = *task;
    return 0;
}

/* Each task that the thread knows is listed. */
static void read_all(struct thread *t, struct held *h)
{
    struct reader r = {t, h, h->tasks, 0};
    test_must(gang_alloc_each(cluster, h->id, read_task, &r));
    test_assert(r.listed == h->tasks);
    test_assert((int64_t)h->tasks >= h->min && (int64_t)h->tasks <= h->count);
}

static void allocate(struct thread *t, struct held *h)
{
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    group.count = 1 + of(t, 8);
    group.min = 1 + of(t, group.count);
    group.gpu_milli = group.cpu_milli = 1000;
    spec.groups = &group;
    spec.group_count = 1;
    test_must(gang_request_new(cluster, &spec, &h->request, NULL));
    gang_result r = gang_alloc(t->worker, h->request, &h->id, NULL);
    test_assert(r == GANG_OK || r == GANG_ENOFIT);
    t->granted += r == GANG_OK;
    t->refused += r != GANG_OK;
    h->count = group.count;
    h->min = group.min;
    h->tasks = 0;
    if (r == GANG_OK)
        read_all(t, h);
    else {
        gang_request_free(h->request);
        h->id = GANG_ID_NONE;
    }
}

static void free_all(struct thread *t, struct held *h)
{
    for (size_t i = 0; i < h->tasks; i++)
        own(&h->task[i], t->number, 0);
    test_must(gang_alloc_free(t->worker, h->id));
    gang_request_free(h->request);
    h->id = GANG_ID_NONE;
}

static void grow(struct thread *t, struct held *h)
{
    int64_t granted;
    gang_result r = gang_alloc_grow(t->worker, h->id, 0, 1 + of(t, 3), &granted, NULL);
    test_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ERANGE);
    t->grown += granted;
    size_t before = h->tasks;
    read_all(t, h);
    test_assert(h->tasks == before + (size_t)granted);
}

static void shrink(struct thread *t, struct held *h)
{
    size_t i = (size_t)of(t, (int64_t)h->tasks);
    struct gang_task task = h->task[i];
    bool may = (int64_t)h->tasks > h->min;
    if (may)
        own(&task, t->number, 0);
    gang_result r = gang_alloc_shrink(t->worker, h->id, &task.task, 1, NULL);
    test_assert(r == (may ? GANG_OK : GANG_ENOFIT));
    if (may)
        h->task[i] = h->task[--h->tasks];
    read_all(t, h);
}

static void *act(void *user)
{
    struct thread *t = user;
    for (int64_t i = 0; i < t->events; i++) {
        struct held *h = &t->held[of(t, HELD)];
        int64_t what = of(t, 5);
        if (t->number == 1 && of(t, 20) == 0)
            test_must(gang_node_set_state(t->worker, node[of(t, NODES)],
                                          of(t, 3) ? GANG_NODE_UP : GANG_NODE_DRAINING));
        else if (h->id == GANG_ID_NONE)
            allocate(t, h);
        else if (what < 2)
            free_all(t, h);
        else if (what < 4)
            grow(t, h);
        else
            shrink(t, h);
    }
    for (int i = 0; i < HELD; i++)
        if (t->held[i].id != GANG_ID_NONE)
            free_all(t, &t->held[i]);
    return NULL;
}

static void add_nodes(gang_worker *worker)
{
    struct gang_gpu_spec gpu[GPUS];
    struct gang_core_spec core[CORES];
    for (int i = 0; i < GPUS; i++)
        gpu[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
    for (int i = 0; i < CORES; i++)
        core[i] = (struct gang_core_spec){i, -1, 1, 0, NULL};
    for (int i = 0; i < NODES; i++) {
        struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        spec.name = name;
        spec.cpu_milli = CORES * 1000;
        spec.gpus = gpu;
        spec.gpu_count = GPUS;
        spec.cores = core;
        spec.core_count = CORES;
        test_must(gang_node_add(worker, &spec, &node[i], NULL));
    }
}

START_TEST(no_gpu_has_two_owners)
{
    static struct thread thread[THREADS];
    const char *given = getenv("GANG_EVENTS");
    int64_t events = given ? strtoll(given, NULL, 0) : 1000000, granted = 0, refused = 0, grown = 0;
    uint64_t seed = test_seed();
    test_must(gang_cluster_new(NULL, &cluster, NULL));
    for (int i = 0; i < THREADS; i++) {
        thread[i].number = i + 1;
        thread[i].chance = seed + (uint64_t)i * 7919;
        thread[i].events = events / THREADS;
        test_must(gang_worker_new(cluster, &thread[i].worker));
    }
    add_nodes(thread[0].worker);
    for (int i = 0; i < THREADS; i++)
        test_assert(pthread_create(&thread[i].thread, NULL, act, &thread[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        test_assert(pthread_join(thread[i].thread, NULL) == 0);
        granted += thread[i].granted;
        refused += thread[i].refused;
        grown += thread[i].grown;
        gang_worker_free(thread[i].worker);
    }
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = GANG_NODE_INFO_INIT;
        test_must(gang_node_get(cluster, node[i], &info));
        ck_assert_int_eq(info.gpu_free, GPUS * 1000);
    }
    test_must(gang_cluster_check(cluster, NULL));
    gang_cluster_free(cluster);
    printf("%" PRId64 " events: %" PRId64 " granted, %" PRId64 " refused, %" PRId64
           " tasks grown\n",
           events, granted, refused, grown);
    ck_assert_int_gt(granted, events / 100);
    ck_assert_int_gt(refused, events / 1000);
    ck_assert_int_gt(grown, events / 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_alloc_threads");
    TCase *t = tcase_create("host_alloc_threads");
    tcase_set_timeout(t, 3000);
    tcase_add_test(t, no_gpu_has_two_owners);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
