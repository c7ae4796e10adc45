/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a node while a commit writes it: all numbers belong to one instant. The reader's
 * source is compiled into this program with a stop before and after each look at an owner word. */
#include "base/atomic.h"

static void at_look(void);
static inline uint64_t load_and_stop(gang__a64 *word)
{
    at_look();
    uint64_t owner = atomic_load_explicit(word, memory_order_seq_cst);
    at_look();
    return owner;
}
#undef gang__load_seq
#define gang__load_seq(word) load_and_stop(word)
#include "core/commit/cell_read.c"
#undef gang__load_seq

#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <sched.h>

#include "suite.h"

static gang_cluster *cluster;
static gang_worker *writer;
static gang_request *everything;
static _Atomic(int) round_wanted, round_done; /* commits the writer shall do, and has done */
static _Atomic(int) writes_left;              /* words it may write before it waits; -1: all */
static _Thread_local int looks;               /* of the reader; 0: another thread */
static _Thread_local int is_writer;

static void writer_step(enum gang__step step)
{
    if (!is_writer || step != GANG__STEP_WRITE || atomic_load(&writes_left) < 0)
        return;
    atomic_fetch_sub(&writes_left, 1);
    while (atomic_load(&writes_left) == 0)
        sched_yield();
}

static void *write_rounds(void *user)
{
    gang_alloc_id *id = user;
    while (!atomic_load(&round_wanted))
        sched_yield();
    is_writer = 1;
    ck_assert_int_eq(gang_alloc(writer, everything, id, NULL), GANG_OK);
    is_writer = 0;
    atomic_store(&round_done, 1);
    return NULL;
}

/* At one moment of the reader the writer claims, decides and writes one word; at the next the
 * rest. */
static void at_look(void)
{
    if (!looks)
        return;
    looks++;
    if (looks == 4) {
        atomic_store(&writes_left, 2); /* stops before the second word */
        atomic_store(&round_wanted, 1);
        while (atomic_load(&writes_left) != 0 && !atomic_load(&round_done))
            sched_yield();
    } else if (looks == 5) {
        atomic_store(&writes_left, -1);
        while (!atomic_load(&round_done))
            sched_yield();
    }
}

START_TEST(node_is_read_at_one_instant)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec r = GANG_REQUEST_SPEC_INIT;
    struct gang_node_info info = {.size = sizeof(info)};
    gang_node_id node;
    gang_alloc_id id;
    pthread_t thread;
    ck_assert_int_eq(gang_cluster_new(NULL, &cluster, NULL), GANG_OK);
    ck_assert_int_eq(gang_worker_new(cluster, &writer), GANG_OK);
    spec.name = "a";
    spec.cpu_milli = g.cpu_milli = 8000;
    spec.memory_bytes = g.memory_bytes = (int64_t)1 << 36;
    r.groups = &g;
    r.group_count = 1;
    ck_assert_int_eq(gang_node_add(writer, &spec, &node, NULL), GANG_OK);
    ck_assert_int_eq(gang_request_new(cluster, &r, &everything, NULL), GANG_OK);
    atomic_store(&writes_left, -1);
    atomic_store(&gang__hook_now, writer_step);
    pthread_create(&thread, NULL, write_rounds, &id);
    looks = _i; /* how early in the reading the writer comes in */
    ck_assert_int_eq(gang_node_get(cluster, node, &info), GANG_OK);
    looks = 0;
    atomic_store(&writes_left, -1);
    atomic_store(&round_wanted, 1);
    pthread_join(thread, NULL);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    /* All or nothing: both free, or both taken. */
    ck_assert_int_eq(info.cpu_free == 0, info.memory_free == 0);
    gang_request_free(everything);
    gang_cluster_free(cluster);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("read_threads");
    TCase *t = tcase_create("reading");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, node_is_read_at_one_instant, 1, 4);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
