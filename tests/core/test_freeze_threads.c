/* SPDX-License-Identifier: Apache-2.0 */
/* A thread is stopped at each step of a commit in turn, and stays stopped while two others complete
 * many gang operations over the same nodes; and the same beside a thread that is stopped while it
 * takes a snapshot. Then they wake, and the books agree. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

#include "base/atomic.h"
#include "suite.h"

enum { NODES = 4, OTHERS = 2, OPS = 300 };

/* ---- freezing ---------------------------------------------------------------------------------- */

static _Thread_local int is_victim;
static struct {
    enum gang__step step;
    _Atomic(int) countdown; /* freezes when it reaches 0 */
    sem_t frozen, wake;
} freeze;

/* A thread that is stopped in the middle of a snapshot. */
static _Thread_local int is_taker;
static sem_t taker_frozen, taker_wake;

static void freeze_victim(enum gang__step step)
{
    if (is_taker && step == GANG__STEP_SCAN && --is_taker == 0) {
        sem_post(&taker_frozen);
        sem_wait(&taker_wake);
    }
    if (!is_victim || step != freeze.step || atomic_fetch_sub(&freeze.countdown, 1) != 1)
        return;
    sem_post(&freeze.frozen);
    sem_wait(&freeze.wake);
}

/* ---- the cluster --------------------------------------------------------------------------------- */

struct world {
    gang_cluster *c;
    gang_request *gang; /* one GPU on each node, four nodes */
    gang_node_id node[NODES];
    gang_alloc_id held; /* what the victim holds before */
    gang_worker *victim;
    int act;
    _Atomic(int) victim_done;
    int extra; /* node on which the held gang has two tasks */
};

enum act { ALLOC, FREE, GROW, SHRINK, DRAIN, ACT_COUNT };

static void world_init(struct world *w)
{
    struct gang_gpu_spec gpu[8];
    memset(gpu, 0, sizeof(gpu));
    for (int i = 0; i < 8; i++)
        gpu[i].numa = -1;
    ck_assert_int_eq(gang_cluster_new(NULL, &w->c, NULL), GANG_OK);
    ck_assert_int_eq(gang_worker_new(w->c, &w->victim), GANG_OK);
    for (int i = 0; i < NODES; i++) {
        struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        spec.name = name;
        spec.cpu_milli = 64000;
        spec.memory_bytes = (int64_t)1 << 36;
        spec.gpus = gpu;
        spec.gpu_count = 8;
        ck_assert_int_eq(gang_node_add(w->victim, &spec, &w->node[i], NULL), GANG_OK);
    }
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    g.count = 8;
    g.min = NODES;
    g.cpu_milli = 1000;
    g.gpu_milli = 1000;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    spec.groups = &g;
    spec.group_count = 1;
    spec.policy = GANG_POLICY_SPREAD;
    ck_assert_int_eq(gang_request_new(w->c, &spec, &w->gang, NULL), GANG_OK);
    ck_assert_int_eq(gang_alloc(w->victim, w->gang, &w->held, NULL), GANG_OK);
    ck_assert_int_eq(gang_alloc_grow(w->victim, w->held, 0, 1, NULL, NULL), GANG_OK);
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = {.size = sizeof(info)};
        ck_assert_int_eq(gang_node_get(w->c, w->node[i], &info), GANG_OK);
        if (info.gpus_free == 6)
            w->extra = i;
    }
}

static void *be_victim(void *user)
{
    struct world *w = user;
    gang_alloc_id id;
    int64_t last = NODES;
    is_victim = 1;
    switch (w->act) {
    case ALLOC:
        ck_assert_int_eq(gang_alloc(w->victim, w->gang, &id, NULL), GANG_OK);
        ck_assert_int_eq(gang_alloc_free(w->victim, id), GANG_OK);
        break;
    case FREE:
        ck_assert_int_eq(gang_alloc_free(w->victim, w->held), GANG_OK);
        w->held = GANG_ID_NONE;
        break;
    case GROW:
        ck_assert_int_eq(gang_alloc_grow(w->victim, w->held, 0, 2, NULL, NULL), GANG_OK);
        break;
    case SHRINK:
        ck_assert_int_eq(gang_alloc_shrink(w->victim, w->held, &last, 1, NULL), GANG_OK);
        break;
    default:
        ck_assert_int_eq(gang_node_set_state(w->victim, w->node[1], GANG_NODE_DRAINING), GANG_OK);
        ck_assert_int_eq(gang_node_set_state(w->victim, w->node[1], GANG_NODE_UP), GANG_OK);
        break;
    }
    is_victim = 0;
    atomic_store(&w->victim_done, 1);
    sem_post(&freeze.frozen); /* it may never have come to the step */
    return NULL;
}

static void *be_taker(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    gang_snapshot *s;
    ck_assert_int_eq(gang_worker_new(w->c, &worker), GANG_OK);
    ck_assert_int_eq(gang_snapshot_new(w->c, &s), GANG_OK);
    is_taker = 2; /* the pool is behind it, the nodes before it */
    ck_assert_int_eq(gang_snapshot_take(worker, s), GANG_OK);
    for (int i = 0; i < NODES; i++) { /* as it was before all others: world_init() */
        struct gang_node_info info = {.size = sizeof(info)};
        ck_assert_int_eq(gang_snapshot_node_get(s, w->node[i], &info), GANG_OK);
        ck_assert_int_eq(info.state, GANG_NODE_UP);
        ck_assert_int_eq(info.gpu_count - info.gpus_free, i == w->extra ? 2 : 1);
    }
    gang_snapshot_free(s);
    gang_worker_free(worker);
    return NULL;
}

static void *be_other(void *user)
{
    struct world *w = user;
    gang_worker *worker;
    ck_assert_int_eq(gang_worker_new(w->c, &worker), GANG_OK);
    int placed = 0;
    for (int i = 0; i < OPS; i++) {
        gang_alloc_id id;
        struct gang_node_info info = {.size = sizeof(info)};
        gang_result r = gang_alloc(worker, w->gang, &id, NULL);
        ck_assert(r == GANG_OK || r == GANG_ENOFIT);
        ck_assert_int_eq(gang_node_get(w->c, w->node[i % NODES], &info), GANG_OK);
        if (r != GANG_OK)
            continue;
        placed++;
        ck_assert_int_eq(gang_alloc_grow(worker, id, 0, 1, NULL, NULL), GANG_OK);
        ck_assert_int_eq(gang_alloc_free(worker, id), GANG_OK);
    }
    /* There is room for five gangs: only a drain leaves less. */
    if (w->act != DRAIN)
        ck_assert_int_eq(placed, OPS);
    gang_worker_free(worker);
    return NULL;
}

/* Freeze at the n-th coming to a step. Returns whether the victim came there at all. */
static int freeze_at(enum act act, enum gang__step step, int n, bool beside_a_take)
{
    struct world w;
    pthread_t victim, taker, other[OTHERS];
    struct gang_error error = GANG_ERROR_INIT;
    memset(&w, 0, sizeof(w));
    world_init(&w);
    w.act = (int)act;
    freeze.step = step;
    atomic_store(&freeze.countdown, n);
    sem_init(&freeze.frozen, 0, 0);
    sem_init(&freeze.wake, 0, 0);
    atomic_store(&gang__hook_now, freeze_victim);
    sem_init(&taker_frozen, 0, 0);
    sem_init(&taker_wake, 0, 0);
    if (beside_a_take) {
        pthread_create(&taker, NULL, be_taker, &w);
        sem_wait(&taker_frozen);
    }
    pthread_create(&victim, NULL, be_victim, &w);
    sem_wait(&freeze.frozen);
    int came = !atomic_load(&w.victim_done);
    for (int i = 0; i < OTHERS; i++)
        pthread_create(&other[i], NULL, be_other, &w);
    for (int i = 0; i < OTHERS; i++)
        pthread_join(other[i], NULL);
    sem_post(&freeze.wake);
    pthread_join(victim, NULL);
    if (beside_a_take) {
        sem_post(&taker_wake);
        pthread_join(taker, NULL);
    }
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert_msg(gang_cluster_check(w.c, &error) == GANG_OK, "act %d step %d at %d: %s", act, step,
                  n, error.text);
    gang_request_put(w.gang);
    gang_cluster_free(w.c);
    sem_destroy(&freeze.frozen);
    sem_destroy(&freeze.wake);
    sem_destroy(&taker_frozen);
    sem_destroy(&taker_wake);
    return came;
}

START_TEST(a_frozen_thread_stops_nobody)
{
    int stops = 0;
    for (int step = 0; step < GANG__STEP_COUNT; step++) {
        for (int n = 1; n <= 6; n++) {
            if (!freeze_at((enum act)(_i / 2), (enum gang__step)step, n, _i % 2))
                break;
            stops++;
        }
    }
    /* Build, claim, agree, decide and release are steps of every commit. */
    ck_assert_int_ge(stops, _i % 2 ? 6 : 5); /* beside a take there is saving, too */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("freeze_threads");
    TCase *t = tcase_create("freeze");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, a_frozen_thread_stops_nobody, 0, 2 * ACT_COUNT);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
