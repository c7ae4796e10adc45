/* SPDX-License-Identifier: Apache-2.0 */
/* Commits bring the index up to date without reading their nodes again: no stale bit is left where
 * one thread works, no node is hidden where several do. A thread is stopped after its decision,
 * before it clears bits; or in its claims, so that another thread decides for it. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "suite.h"

enum { NODES = 40, GPUS = 8 }; /* more than a word of the index */

static gang_cluster *cluster;
static gang_worker *worker;
static gang_node_id node[NODES];
static gang_request *made[8];
static int made_count;

static gang_request *request_of(int64_t tasks, int64_t gpu_milli)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *request;
    g.count = g.min = tasks;
    g.gpu_milli = gpu_milli;
    g.cpu_milli = gpu_milli; /* 8000 for a node: both axes move */
    spec.groups = &g;
    spec.group_count = 1;
    test_must(gang_request_new(cluster, &spec, &request, NULL));
    return made[made_count++] = request;
}

static void setup(int nodes)
{
    struct gang_gpu_spec gpu[GPUS];
    memset(gpu, 0, sizeof(gpu));
    for (int i = 0; i < GPUS; i++)
        gpu[i].numa = -1;
    test_must(gang_cluster_new(NULL, &cluster, NULL));
    test_must(gang_worker_new(cluster, &worker));
    for (int i = 0; i < nodes; i++) {
        struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        spec.name = name;
        spec.cpu_milli = 8000;
        spec.gpus = gpu;
        spec.gpu_count = GPUS;
        test_must(gang_node_add(worker, &spec, &node[i], NULL));
    }
}

static void teardown(void)
{
    while (made_count > 0)
        gang_request_free(made[--made_count]);
    gang_cluster_free(cluster);
}

/* The nodes of a row, in all words. */
static int count_in_row(unsigned row)
{
    uint32_t slot = (uint32_t)node[0];
    uint32_t class_id = gang__layout_at(gang__chunk_of(&cluster->commit, slot), slot).class_id;
    int count = 0;
    for (uint32_t base = 0; base <= NODES; base += GANG__FAN)
        count += (int)gang__popcount(gang__index_word(&cluster->commit, class_id, row, base));
    return count;
}

/* Bits of all rows of one axis. */
static int bits_of_axis(unsigned first, unsigned end)
{
    int count = 0;
    for (unsigned row = first; row < end; row++)
        count += count_in_row(row);
    return count;
}

static void check_exact(int whole, int others)
{
    ck_assert_int_eq(gang_cluster_check(cluster, NULL), GANG_OK);
    ck_assert_int_eq(count_in_row(gang__gpu_row(gang__bucket_for_gpus(GPUS))), whole);
    ck_assert_int_eq(bits_of_axis(0, GANG__GPU_BUCKETS), whole + others);
    /* A full node stands in the lowest row of CPU. */
    ck_assert_int_eq(bits_of_axis(GANG__GPU_BUCKETS, GANG__INDEX_ROWS), NODES);
}

START_TEST(gang_leaves_no_stale_bit)
{
    gang_alloc_id id[3];
    setup(NODES);
    check_exact(NODES, 0);
    gang_request *most = request_of(NODES - 4, 8000), *half = request_of(3, 4000);
    test_must(gang_alloc(worker, most, &id[0], NULL));
    check_exact(4, 0);
    test_must(gang_alloc(worker, half, &id[1], NULL)); /* two on one node */
    check_exact(2, 1);
    test_must(gang_alloc_free(worker, id[0]));
    check_exact(NODES - 2, 1);
    test_must(gang_alloc(worker, request_of(1, 8000), &id[2], NULL));
    test_must(gang_alloc_free(worker, id[1]));
    check_exact(NODES - 1, 0);
    test_must(gang_alloc_free(worker, id[2]));
    check_exact(NODES, 0);
    teardown();
}
END_TEST

/* ---- a thread that stops --------------------------------------------------------------------- */

static _Thread_local int steps; /* of this step until it stops; 0: it does not */
static enum gang__step stop_at;
static sem_t stopped, go;

static void stop(enum gang__step step)
{
    if (steps && step == stop_at && --steps == 0) {
        sem_post(&stopped);
        sem_wait(&go);
    }
}

static gang_worker *other;
static gang_request *wanted;
static gang_alloc_id got;
static int countdown;

static void *place(void *user)
{
    (void)user;
    steps = countdown;
    test_must(gang_alloc(other, wanted, &got, NULL));
    steps = 0;
    return NULL;
}

static pthread_t place_and_stop(enum gang__step step, int count)
{
    pthread_t thread;
    stop_at = step;
    countdown = count;
    sem_init(&stopped, 0, 0);
    sem_init(&go, 0, 0);
    atomic_store(&gang__hook_now, stop);
    ck_assert_int_eq(pthread_create(&thread, NULL, place, NULL), 0);
    sem_wait(&stopped);
    return thread;
}

static void go_on(pthread_t thread)
{
    sem_post(&go);
    pthread_join(thread, NULL);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
}

/* The bit that the stopped thread is about to clear serves again. */
START_TEST(node_that_comes_back_is_not_hidden)
{
    gang_alloc_id half, again;
    setup(1);
    test_must(gang_worker_new(cluster, &other));
    gang_request *request = wanted = request_of(1, 4000);
    test_must(gang_alloc(worker, request, &half, NULL));
    pthread_t thread = place_and_stop(_i ? GANG__STEP_REPAIR : GANG__STEP_UPDATE, 1);
    test_must(gang_alloc_free(worker, half)); /* the node has four GPUs again, as before */
    go_on(thread);
    ck_assert_int_eq(gang_cluster_check(cluster, NULL), GANG_OK);
    test_must(gang_alloc(worker, request, &again, NULL));
    teardown();
}
END_TEST

/* Another thread decides the commit whose owner stopped before its second claim. */
START_TEST(owner_that_was_helped_reads_its_nodes)
{
    struct gang_node_info info = {.size = sizeof(info)};
    setup(NODES);
    test_must(gang_worker_new(cluster, &other));
    wanted = request_of(NODES, 8000);
    pthread_t thread = place_and_stop(GANG__STEP_CLAIM, 2);
    test_must(gang_node_get(cluster, node[0], &info));
    test_must(gang_node_get(cluster, node[NODES - 1], &info));
    ck_assert_int_eq(info.gpus_free, 0);
    go_on(thread);
    check_exact(0, 0);
    test_must(gang_alloc_free(worker, got));
    check_exact(NODES, 0);
    teardown();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index_move_threads");
    TCase *t = tcase_create("moves");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, gang_leaves_no_stale_bit);
    tcase_add_loop_test(t, node_that_comes_back_is_not_hidden, 0, 2);
    tcase_add_test(t, owner_that_was_helped_reads_its_nodes);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
