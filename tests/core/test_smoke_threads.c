/* SPDX-License-Identifier: Apache-2.0 */
/* Threads allocate, grow, shrink and free random gangs on the same few nodes while nodes are added,
 * drained, described again and removed. At random instants all stop and the cluster is audited: the
 * sum of the grants is what the nodes say, and the index hides no node. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "chance.h"
#include "suite.h"

enum { MAX_THREADS = 8, LIVE = 24, NODES = 12, ROUNDS = 25, OPS = 250 };

struct shared {
    gang_cluster *c;
    gang_request *request[8];
    size_t requests;
    pthread_barrier_t barrier;
    _Atomic(int64_t) granted; /* operations that took effect */
    int audit_failed;
    struct gang_error error;
};

struct actor {
    struct shared *s;
    pthread_t thread;
    gang_worker *w;
    uint64_t seed;
    gang_alloc_id live[LIVE];
    int number;
};

static void yield_now_and_then(enum gang__step step)
{
    if (chance_of_thread() % 61 == (uint64_t)step)
        sched_yield();
}

/* ---- the cluster ----------------------------------------------------------------------------- */

static void node_spec(int number, int64_t cores, struct gang_node_spec *spec, char *name,
                      struct gang_label *place)
{
    static const struct gang_gpu_spec gpu = {"A", NULL, NULL, (int64_t)16 << 30, 0, 0, NULL, 0, 0};
    static struct gang_gpu_spec gpus[8];
    static const struct gang_numa_spec numa = {0, 0, (int64_t)64 << 30};
    static struct gang_core_spec core[64];
    static const struct gang_amount amount = {"nic", 4};
    for (int i = 0; i < 8; i++)
        gpus[i] = gpu;
    for (int i = 0; i < 64; i++)
        core[i] = (struct gang_core_spec){i, 0, 1, 0, NULL};
    *spec = (struct gang_node_spec)GANG_NODE_SPEC_INIT;
    snprintf(name, 32, "n%d", number);
    place->key = "rack";
    place->value = number % 2 ? "odd" : "even";
    spec->name = name;
    spec->cpu_milli = cores * 1000;
    spec->memory_bytes = (int64_t)64 << 30;
    spec->gpus = gpus;
    spec->gpu_count = 8;
    spec->numas = &numa;
    spec->numa_count = 1;
    spec->cores = core;
    spec->core_count = 64;
    spec->amounts = &amount;
    spec->amount_count = 1;
    spec->topology = place;
    spec->topology_count = 1;
}

static gang_result node_add(gang_worker *w, int number)
{
    struct gang_node_spec spec;
    struct gang_label place;
    char name[32];
    node_spec(number, 64, &spec, name, &place);
    return gang_node_add(w, &spec, NULL, NULL);
}

static gang_request *request_new(gang_cluster *c, int64_t count, int64_t min, int64_t cpu,
                                 int64_t gpu, const char *same)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_amount licence = {"licence", 1};
    g.count = count;
    g.min = min;
    g.cpu_milli = cpu;
    g.memory_bytes = 1 << 30;
    g.gpu_milli = gpu;
    g.same = same;
    g.amounts = &licence;
    g.amount_count = gpu == 500;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    spec.groups = &g;
    spec.group_count = 1;
    spec.policy = (int32_t)(count % 3);
    gang_request *r = NULL;
    ck_assert_int_eq(gang_request_new(c, &spec, &r, NULL), GANG_OK);
    return r;
}

static void shared_init(struct shared *s, int threads)
{
    static const char *const levels[] = {"rack"};
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_worker *w;
    memset(s, 0, sizeof(*s));
    s->error = (struct gang_error)GANG_ERROR_INIT;
    opts.levels = levels;
    opts.level_count = 1;
    ck_assert_int_eq(gang_cluster_new(&opts, &s->c, NULL), GANG_OK);
    ck_assert_int_eq(gang_worker_new(s->c, &w), GANG_OK);
    ck_assert_int_eq(gang_kind_add(w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL), GANG_OK);
    ck_assert_int_eq(gang_kind_add(w, "licence", NULL, GANG_SCOPE_CLUSTER, 20, NULL), GANG_OK);
    for (int i = 0; i < NODES; i++)
        ck_assert_int_eq(node_add(w, i), GANG_OK);
    gang_worker_free(w);
    s->request[s->requests++] = request_new(s->c, 3, 1, 8000, 1000, NULL);
    s->request[s->requests++] = request_new(s->c, 8, 4, 4000, 2000, NULL);
    s->request[s->requests++] = request_new(s->c, 4, 4, 16000, 8000, NULL);
    s->request[s->requests++] = request_new(s->c, 6, 2, 500, 250, NULL);
    s->request[s->requests++] = request_new(s->c, 4, 2, 1500, 500, NULL);
    s->request[s->requests++] = request_new(s->c, 5, 5, 2000, 4000, "rack");
    s->request[s->requests++] = request_new(s->c, 10, 3, 3000, 0, NULL);
    pthread_barrier_init(&s->barrier, NULL, (unsigned)threads);
}

/* ---- what threads do ------------------------------------------------------------------------- */

static int32_t note_task(const struct gang_task *task, void *user)
{
    int64_t *numbers = user;
    if (numbers[0] < 15)
        numbers[++numbers[0]] = task->task;
    return 0;
}

static void act_on_live(struct actor *a, size_t i, uint64_t dice)
{
    gang_result r = GANG_OK;
    if (dice % 4 == 0) {
        r = gang_alloc_grow(a->w, a->live[i], 0, 1 + (int64_t)(dice >> 8) % 3, NULL, NULL);
        ck_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ERANGE || r == GANG_ENEVER);
    } else if (dice % 4 == 1) {
        int64_t numbers[16] = {0};
        ck_assert_int_eq(gang_alloc_each(a->s->c, a->live[i], note_task, numbers), GANG_OK);
        int64_t pick = 1 + (int64_t)(dice >> 8) % numbers[0];
        r = gang_alloc_shrink(a->w, a->live[i], &numbers[pick], 1, NULL);
        ck_assert(r == GANG_OK || r == GANG_ENOFIT);
    } else {
        ck_assert_int_eq(gang_alloc_free(a->w, a->live[i]), GANG_OK);
        ck_assert_int_eq(gang_alloc_free(a->w, a->live[i]), GANG_ESTALE);
        a->live[i] = GANG_ID_NONE;
    }
    if (r == GANG_OK)
        atomic_fetch_add(&a->s->granted, 1);
}

static void act_on_nodes(struct actor *a, uint64_t dice)
{
    char name[32];
    gang_node_id id;
    int number = (int)(dice >> 8) % NODES;
    snprintf(name, sizeof(name), "n%d", number);
    if (gang_node_find(a->s->c, name, &id) != GANG_OK) {
        gang_result r = node_add(a->w, number);
        ck_assert(r == GANG_OK || r == GANG_EEXIST);
        return;
    }
    struct gang_node_spec spec;
    struct gang_label place;
    gang_result r;
    switch (dice % 5) {
    case 0:
        r = gang_node_remove(a->w, id);
        break;
    case 1:
        r = gang_node_set_state(a->w, id, GANG_NODE_DRAINING);
        break;
    case 2:
        node_spec(number, 32 + (int64_t)(dice >> 16) % 33, &spec, name, &place);
        place.value = dice >> 24 & 1 ? "odd" : "even";
        r = gang_node_change(a->w, id, &spec, NULL);
        break;
    default:
        r = gang_node_set_state(a->w, id, GANG_NODE_UP);
        break;
    }
    ck_assert(r == GANG_OK || r == GANG_ESTALE || r == GANG_EBUSY || r == GANG_EINVAL);
}

static void *act(void *user)
{
    struct actor *a = user;
    for (int round = 0; round < ROUNDS; round++) {
        for (int op = 0; op < OPS; op++) {
            uint64_t dice = chance_of(&a->seed);
            size_t i = (size_t)(dice >> 40) % LIVE;
            if (a->number == 0 && dice % 7 == 0) {
                act_on_nodes(a, dice >> 3);
            } else if (a->live[i]) {
                act_on_live(a, i, dice >> 3);
            } else {
                gang_request *request = a->s->request[(dice >> 20) % a->s->requests];
                struct gang_error error = GANG_ERROR_INIT;
                gang_result r = gang_alloc(a->w, request, &a->live[i], dice >> 63 ? &error : NULL);
                ck_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENEVER);
            }
        }
        pthread_barrier_wait(&a->s->barrier);
        if (a->number == 0 && gang_cluster_check(a->s->c, &a->s->error) != GANG_OK)
            a->s->audit_failed = 1;
        pthread_barrier_wait(&a->s->barrier);
    }
    for (size_t i = 0; i < LIVE; i++)
        if (a->live[i])
            ck_assert_int_eq(gang_alloc_free(a->w, a->live[i]), GANG_OK);
    gang_worker_free(a->w);
    return NULL;
}

static void check_nothing_is_taken(gang_cluster *c)
{
    struct gang_node_info info = {.size = sizeof(info)};
    for (gang_node_id id = gang_node_next(c, GANG_ID_NONE); id; id = gang_node_next(c, id)) {
        ck_assert_int_eq(gang_node_get(c, id, &info), GANG_OK);
        ck_assert_int_eq(info.gpus_free, info.gpu_count);
        ck_assert_int_eq(info.cpu_free, info.cpu_milli);
        ck_assert_int_eq(info.memory_free, info.memory_bytes);
    }
    ck_assert_uint_eq(gang_alloc_next(c, GANG_ID_NONE), GANG_ID_NONE);
}

static void run_with(int threads)
{
    struct shared s;
    struct actor actor[MAX_THREADS];
    uint64_t seed = test_seed();
    shared_init(&s, threads);
    atomic_store(&gang__hook_now, yield_now_and_then);
    memset(actor, 0, sizeof(actor));
    for (int i = 0; i < threads; i++) {
        actor[i].s = &s;
        actor[i].number = i;
        actor[i].seed = seed + (uint64_t)i;
        ck_assert_int_eq(gang_worker_new(s.c, &actor[i].w), GANG_OK);
    }
    for (int i = 0; i < threads; i++)
        ck_assert_int_eq(pthread_create(&actor[i].thread, NULL, act, &actor[i]), 0);
    for (int i = 0; i < threads; i++)
        pthread_join(actor[i].thread, NULL);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert_msg(!s.audit_failed, "%s", s.error.text);
    ck_assert_msg(gang_cluster_check(s.c, &s.error) == GANG_OK, "%s", s.error.text);
    check_nothing_is_taken(s.c);
    ck_assert_int_gt(atomic_load(&s.granted), threads * ROUNDS);
    for (size_t i = 0; i < s.requests; i++)
        gang_request_free(s.request[i]);
    pthread_barrier_destroy(&s.barrier);
    gang_cluster_free(s.c);
}

START_TEST(two_threads_keep_the_books)
{
    run_with(2);
}
END_TEST

START_TEST(four_threads_keep_the_books)
{
    run_with(4);
}
END_TEST

START_TEST(eight_threads_keep_the_books)
{
    run_with(8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("smoke_threads");
    TCase *t = tcase_create("threads");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, two_threads_keep_the_books);
    tcase_add_test(t, four_threads_keep_the_books);
    tcase_add_test(t, eight_threads_keep_the_books);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
