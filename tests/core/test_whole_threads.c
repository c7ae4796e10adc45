/* SPDX-License-Identifier: Apache-2.0 */
/* Readers that go over all nodes all the time, while gangs over all of them come and go, never see
 * a part of one: once a node has shown that a gang is there, every node shows it, or what came
 * after it; and once a node has shown that it is gone, it is gone everywhere.
 *
 * Each gang of a writer takes another amount of the writer's own kinds, the same on each node and
 * of a cluster-wide one. So the history of a writer is a line: nothing, first gang, nothing, second
 * gang, ... and what a reader reads tells where on this line the node is. It must never go back,
 * whichever node is read next.
 *
 * A sum over nodes read one after the other belongs to no instant; a sum needs a snapshot. A
 * reader that takes one is one more function like read_nodes(), over the same writers. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "base/atomic.h"
#include "chance.h"
#include "suite.h"

enum { NODES = 6, WRITERS = 2, READERS = 2, AMOUNTS = 512, PLACES = NODES + 1 };

static struct world {
    gang_cluster *c;
    gang_node_id node[NODES];
    int32_t kind[WRITERS]; /* on each node */
    int32_t pool[WRITERS]; /* cluster-wide */
    gang_request *gang[WRITERS][AMOUNTS];
    _Atomic(int64_t) line[WRITERS]; /* how far a writer may be: raised before each call */
    _Atomic(int) readers_left;
    int64_t sweeps; /* of each reader */
} world;

/* Most where a commit is decided and not yet written. */
static void yield_now_and_then(enum gang__step step)
{
    bool is_half_written = step == GANG__STEP_WRITE || step == GANG__STEP_RELEASE;
    if (chance_of_thread() % (is_half_written ? 16 : 200) == 0)
        sched_yield();
}

/* ---- writers --------------------------------------------------------------------------------- */

static void write_gang(gang_worker *w, int writer)
{
    gang_alloc_id id;
    int64_t number = (atomic_fetch_add(&world.line[writer], 1) + 2) / 2;
    test_must(gang_alloc(w, world.gang[writer][number % AMOUNTS], &id, NULL));
    atomic_fetch_add(&world.line[writer], 1);
    test_must(gang_alloc_free(w, id));
}

static void *write_gangs(void *user)
{
    int writer = *(int *)user;
    gang_worker *w;
    test_must(gang_worker_new(world.c, &w));
    while (atomic_load(&world.readers_left))
        write_gang(w, writer);
    gang_worker_free(w);
    return NULL;
}

/* ---- readers --------------------------------------------------------------------------------- */

/* The n-th gang is there: 2n - 1; it is gone: 2n. The first place on the line, not before `least`,
 * at which the amount is taken. Amounts come again after AMOUNTS gangs. */
static int64_t place_of(int64_t amount, int64_t least)
{
    if (amount == 0)
        return least + least % 2;
    int64_t gang = (least + 1) / 2;
    return 2 * (gang + ((amount - 1 - gang) % AMOUNTS + AMOUNTS) % AMOUNTS) - 1;
}

/* What is taken of each writer's kind: of a node, or (place NODES) of the cluster. */
static void read_place(int place, int64_t *taken)
{
    struct gang_node_info info = {.size = sizeof(info)};
    if (place < NODES)
        test_must(gang_node_get(world.c, world.node[place], &info));
    for (int i = 0; i < WRITERS; i++) {
        struct gang_kind_info pool = GANG_KIND_INFO_INIT;
        if (place < NODES) {
            taken[i] = AMOUNTS - info.amount_free[world.kind[i]];
        } else {
            test_must(gang_kind_get(world.c, world.pool[i], &pool));
            taken[i] = AMOUNTS - pool.available;
        }
    }
}

struct reader {
    pthread_t thread;
    uint64_t seed;
    int64_t moved; /* how often something new was seen */
};

static void *read_nodes(void *user)
{
    struct reader *r = user;
    int64_t least[WRITERS] = {0};
    /* As many sweeps as were asked for, and more if the writers hardly came to run beside them. */
    for (int64_t n = 0; n < world.sweeps * PLACES ||
                        (r->moved < world.sweeps / 20 && n < 100 * world.sweeps * PLACES);
         n++) {
        int64_t taken[WRITERS];
        int place = (int)(chance_of(&r->seed) % PLACES);
        read_place(place, taken);
        for (int i = 0; i < WRITERS; i++) {
            int64_t at = place_of(taken[i], least[i]);
            int64_t most = atomic_load(&world.line[i]);
            if (at > most)
                ck_abort_msg("place %d shows %lld after %lld, most is %lld", place, (long long)at,
                             (long long)least[i], (long long)most);
            r->moved += at != least[i];
            least[i] = at;
        }
    }
    atomic_fetch_sub(&world.readers_left, 1);
    return NULL;
}

/* ---- the world ------------------------------------------------------------------------------- */

static gang_request *request(int writer, int64_t amount)
{
    char node_kind[16], seat_kind[16], pool_kind[16];
    struct gang_amount amounts[3] = {{node_kind, amount}, {seat_kind, 1}, {pool_kind, amount}};
    struct gang_group_spec group[2] = {GANG_GROUP_SPEC_INIT, GANG_GROUP_SPEC_INIT};
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *request;
    snprintf(node_kind, sizeof(node_kind), "node%d", writer);
    snprintf(seat_kind, sizeof(seat_kind), "seat%d", writer);
    snprintf(pool_kind, sizeof(pool_kind), "pool%d", writer);
    /* A GPU on each node, which has one seat for it; and a task of the cluster-wide kind alone. */
    group[0].count = group[0].min = NODES;
    group[0].gpu_milli = 1000;
    group[0].amounts = amounts;
    group[0].amount_count = 2;
    group[1].count = group[1].min = 1;
    group[1].amounts = &amounts[2];
    group[1].amount_count = 1;
    spec.groups = group;
    spec.group_count = 2;
    spec.policy = GANG_POLICY_SPREAD;
    test_must(gang_request_new(world.c, &spec, &request, NULL));
    return request;
}

static void world_open(void)
{
    gang_worker *w;
    memset(&world, 0, sizeof(world));
    test_must(gang_cluster_new(NULL, &world.c, NULL));
    test_must(gang_worker_new(world.c, &w));
    struct gang_amount amounts[2 * WRITERS] = {
        {"node0", AMOUNTS}, {"node1", AMOUNTS}, {"seat0", 1}, {"seat1", 1}};
    for (int i = 0; i < WRITERS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "node%d", i);
        test_must(gang_kind_add(w, name, NULL, GANG_SCOPE_NODE, 0, &world.kind[i]));
        snprintf(name, sizeof(name), "seat%d", i);
        test_must(gang_kind_add(w, name, NULL, GANG_SCOPE_NODE, 0, NULL));
        snprintf(name, sizeof(name), "pool%d", i);
        test_must(gang_kind_add(w, name, NULL, GANG_SCOPE_CLUSTER, AMOUNTS, &world.pool[i]));
    }
    for (int i = 0; i < NODES; i++) {
        struct gang_gpu_spec gpu[WRITERS];
        struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
        char name[16];
        memset(gpu, 0, sizeof(gpu));
        for (int k = 0; k < WRITERS; k++)
            gpu[k].numa = -1;
        snprintf(name, sizeof(name), "n%d", i);
        spec.name = name;
        spec.gpus = gpu;
        spec.gpu_count = WRITERS;
        spec.amounts = amounts;
        spec.amount_count = 2 * WRITERS;
        test_must(gang_node_add(w, &spec, &world.node[i], NULL));
    }
    for (int i = 0; i < WRITERS; i++)
        for (int k = 0; k < AMOUNTS; k++)
            world.gang[i][k] = request(i, k + 1);
    gang_worker_free(w);
}

static void world_close(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    ck_assert_msg(gang_cluster_check(world.c, &error) == GANG_OK, "%s", error.text);
    for (int i = 0; i < WRITERS; i++)
        for (int k = 0; k < AMOUNTS; k++)
            gang_request_free(world.gang[i][k]);
    gang_cluster_free(world.c);
}

START_TEST(no_reader_sees_a_part_of_a_gang)
{
    pthread_t writer[WRITERS];
    struct reader reader[READERS];
    int number[WRITERS];
    uint64_t seed = test_seed();
    world_open();
    world.sweeps = getenv("GANG_TEST_QUICK") ? 2000 : 60000;
    atomic_store(&world.readers_left, READERS);
    atomic_store(&gang__hook_now, yield_now_and_then);
    for (int i = 0; i < WRITERS; i++) {
        number[i] = i;
        ck_assert_int_eq(pthread_create(&writer[i], NULL, write_gangs, &number[i]), 0);
    }
    for (int i = 0; i < READERS; i++) {
        reader[i] = (struct reader){.seed = seed + (uint64_t)i};
        ck_assert_int_eq(pthread_create(&reader[i].thread, NULL, read_nodes, &reader[i]), 0);
    }
    int64_t moved = 0;
    for (int i = 0; i < READERS; i++) {
        pthread_join(reader[i].thread, NULL);
        moved += reader[i].moved;
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writer[i], NULL);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    printf("%lld gangs, %lld sweeps at least, %lld times something new\n",
           (long long)(world.line[0] + world.line[1]) / 2, (long long)(READERS * world.sweeps),
           (long long)moved);
    ck_assert_int_gt(moved, 0);
    world_close();
}
END_TEST

START_TEST(line_of_a_writer_goes_on)
{
    ck_assert_int_eq(place_of(0, 0), 0);
    ck_assert_int_eq(place_of(2, 0), 1);
    ck_assert_int_eq(place_of(2, 1), 1);
    ck_assert_int_eq(place_of(0, 1), 2);
    ck_assert_int_eq(place_of(0, 2), 2);
    ck_assert_int_eq(place_of(3, 2), 3);
    ck_assert_int_eq(place_of(1, 2), 2 * AMOUNTS - 1);
    ck_assert_int_gt(place_of(2, 3), 2 * AMOUNTS); /* it went back: far off */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole_threads");
    TCase *t = tcase_create("readers");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, line_of_a_writer_goes_on);
    tcase_add_test(t, no_reader_sees_a_part_of_a_gang);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
