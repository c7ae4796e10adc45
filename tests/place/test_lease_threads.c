/* SPDX-License-Identifier: Apache-2.0 */
/* Leases among threads. A thread that grants, ends or breaks leases, or takes the same of equal
 * nodes, is stopped at each step in turn, and stays stopped while another one reads, places,
 * drains and takes snapshots. And threads that lease pairs of nodes run beside one that breaks the
 * leases: each snapshot shows pairs. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "chance.h"
#include "lease.h"
#include "place/alloc/equal_nodes.h"

enum { NODES = 4, MOST_COMINGS = 4 };

static gang_cluster *cluster;
static gang_worker *worker; /* of the thread that is not stopped */
static gang_node_id node[NODES];

static void setup(void)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    opts.manual_recycle = 1; /* reclaiming waits for the stopped thread: core.h */
    test_must(gang_cluster_new(&opts, &cluster, NULL));
    test_must(gang_worker_new(cluster, &worker));
    lease_machines(worker, node, NODES);
}

/* Is as much of the CPU free as of the GPUs? A node of whose CPU half was taken with all GPUs has
 * half of it left. */
static void check_parts(int64_t gpus, int64_t cpu, bool halves)
{
    int64_t more = cpu - gpus * (LEASE_CPU / LEASE_GPUS);
    ck_assert_int_ge(more, 0);
    ck_assert_int_eq(more % (LEASE_CPU / 2), 0);
    ck_assert(halves || more == 0);
}

static void check_books(int gpus)
{
    int64_t sum = 0;
    test_must(gang_cluster_check(cluster, NULL));
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = GANG_NODE_INFO_INIT;
        test_must(gang_node_get(cluster, node[i], &info));
        ck_assert_int_eq(info.gpus_free * (int64_t)(LEASE_CPU / LEASE_GPUS), info.cpu_free);
        ck_assert_int_eq(info.gpus_free * (LEASE_MEMORY / LEASE_GPUS), info.memory_free);
        sum += info.gpus_free;
    }
    ck_assert_int_eq(sum, gpus);
}

/* ---- a thread that stops --------------------------------------------------------------------- */

static _Thread_local bool is_victim;
static enum gang__step stop_at;
static int countdown;
static sem_t stopped, go;

static void stop(enum gang__step step)
{
    if (is_victim && step == stop_at && --countdown == 0) {
        sem_post(&stopped);
        sem_wait(&go);
    }
}

enum act { GRANT, GRANT_AGAIN, GRANT_HALVES, END, SHRINK, GROW_INTO, CHANGE, DRAIN, MARK, ACTS };

static struct victim {
    enum act act;
    gang_worker *w;
    gang_request *pair, *halves, *eighths, *nothing;
    gang_alloc_id held; /* of two leased nodes; for GROW_INTO and SHRINK, of one and an eighth */
    gang_snapshot *snapshot; /* of the other thread, made before: that takes a lock */
    _Atomic(bool) done;
} victim;

static void *act(void *user)
{
    struct victim *v = user;
    int64_t last = LEASE_GPUS;
    gang_alloc_id id;
    is_victim = true;
    switch (v->act) {
    case GRANT:
    case GRANT_AGAIN: /* without a plan: begin() */
        test_must(gang_alloc(v->w, v->pair, &id, NULL));
        test_must(gang_alloc_free(v->w, id));
        break;
    case GRANT_HALVES:
        test_must(gang_alloc(v->w, v->halves, &id, NULL));
        test_must(gang_alloc_free(v->w, id));
        break;
    case END:
        test_must(gang_alloc_free(v->w, v->held));
        v->held = GANG_ID_NONE;
        break;
    case SHRINK:
        test_must(gang_alloc_shrink(v->w, v->held, &last, 1, NULL));
        break;
    case GROW_INTO: /* a task of nothing on a leased node */
        test_must(gang_alloc(v->w, v->nothing, &id, NULL));
        test_must(gang_alloc_free(v->w, id));
        break;
    case CHANGE:
        test_must(lease_machine(v->w, "n0", LEASE_CPU, 0, &node[0]));
        break;
    case DRAIN:
        test_must(gang_node_set_state(v->w, node[0], GANG_NODE_DRAINING));
        break;
    case MARK:
        test_must(gang_gpu_set_state(v->w, node[0], 0, GANG_GPU_UNHEALTHY));
        break;
    default:
        break;
    }
    is_victim = false;
    atomic_store(&v->done, true);
    sem_post(&stopped);
    return NULL;
}

/* What another thread does meanwhile; it waits for no one. */
static void go_round(gang_request *pair, gang_request *one)
{
    struct gang_totals totals = GANG_TOTALS_INIT;
    gang_alloc_id id;
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = GANG_NODE_INFO_INIT;
        test_must(gang_node_get(cluster, node[i], &info));
        check_parts(info.gpus_free, info.cpu_free, victim.act == GRANT_HALVES);
    }
    test_must(gang_snapshot_take(worker, victim.snapshot));
    test_must(gang_snapshot_totals(victim.snapshot, &totals));
    check_parts(totals.gpus_free, totals.cpu_free, victim.act == GRANT_HALVES);
    ck_assert(victim.act != GRANT_HALVES || totals.gpus_free % (2 * LEASE_GPUS) == 0);
    if (gang_alloc(worker, one, &id, NULL) == GANG_OK)
        test_must(gang_alloc_free(worker, id));
    if (gang_alloc(worker, pair, &id, NULL) == GANG_OK)
        test_must(gang_alloc_free(worker, id));
    for (int i = 1; i < NODES; i++) {
        test_must(gang_node_set_state(worker, node[i], GANG_NODE_DRAINING));
        test_must(gang_node_set_state(worker, node[i], GANG_NODE_UP));
    }
}

/* The victim's next gang of the request is placed without a plan. */
static void learn(gang_request *request)
{
    int64_t taken = gang__equal_nodes_taken;
    gang_alloc_id id;
    for (int i = 0; i < 2; i++) {
        test_must(gang_alloc(victim.w, request, &id, NULL));
        test_must(gang_alloc_free(victim.w, id));
    }
    ck_assert_int_eq(gang__equal_nodes_taken, taken + 1);
}

static void begin(enum act what)
{
    memset(&victim, 0, sizeof(victim));
    victim.act = what;
    setup();
    test_must(gang_worker_new(cluster, &victim.w));
    test_must(gang_snapshot_new(cluster, &victim.snapshot));
    victim.pair = lease_request(cluster, 2, 8);
    victim.halves = lease_halves(cluster, 2);
    victim.nothing = lease_request(cluster, 1, 0);
    victim.eighths = lease_elastic(cluster, 1, 2 * LEASE_GPUS, 1, 0);
    if (what == SHRINK) {
        test_must(gang_alloc(worker, victim.eighths, &victim.held, NULL));
        test_must(gang_alloc_grow_whole(worker, victim.held, 0, 2 * LEASE_GPUS - 1, NULL));
    } else if (what == GRANT_AGAIN || what == GRANT_HALVES) {
        learn(what == GRANT_AGAIN ? victim.pair : victim.halves);
    } else if (what != GRANT) {
        test_must(gang_alloc(worker, victim.pair, &victim.held, NULL));
    }
}

START_TEST(stopped_thread_stops_no_one)
{
    int comings = 0;
    for (int step = 0; step < GANG__STEP_COUNT; step++) {
        for (int coming = 1; coming <= MOST_COMINGS; coming++) {
            pthread_t thread;
            begin((enum act)_i);
            stop_at = (enum gang__step)step;
            countdown = coming;
            sem_init(&stopped, 0, 0);
            sem_init(&go, 0, 0);
            atomic_store(&gang__hook_now, stop);
            ck_assert_int_eq(pthread_create(&thread, NULL, act, &victim), 0);
            sem_wait(&stopped);
            bool was_done = atomic_load(&victim.done);
            gang_request *one = lease_request(cluster, 1, 1);
            for (int i = 0; i < 3; i++)
                go_round(victim.pair, one);
            ck_assert(was_done == atomic_load(&victim.done));
            sem_post(&go);
            pthread_join(thread, NULL);
            atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
            if (victim.held != GANG_ID_NONE)
                test_must(gang_alloc_free(worker, victim.held));
            check_books(NODES * LEASE_GPUS);
            gang_snapshot_free(victim.snapshot);
            lease_end(cluster);
            comings += !was_done;
            if (was_done)
                break;
        }
    }
    ck_assert_int_ge(comings, 8);
}
END_TEST

/* ---- pairs ----------------------------------------------------------------------------------- */

enum { PAIR_THREADS = 2 };
static _Atomic(bool) over;
static _Atomic(int64_t) pairs;

static void yield_now_and_then(enum gang__step step)
{
    bool is_half_written =
        step == GANG__STEP_WRITE || step == GANG__STEP_RELEASE || step == GANG__STEP_SAVE;
    if (chance_of_thread() % (is_half_written ? 16 : 100) == 0)
        sched_yield();
}

static void *lease_pairs(void *user)
{
    gang_request *pair = user;
    gang_worker *w;
    test_must(gang_worker_new(cluster, &w));
    while (!atomic_load(&over)) {
        gang_alloc_id id;
        gang_result r = gang_alloc(w, pair, &id, NULL);
        if (r == GANG_OK) {
            atomic_fetch_add(&pairs, 1);
            if (chance_of_thread() % 4 == 0)
                sched_yield();
            test_must(gang_alloc_free(w, id));
        } else {
            ck_assert_int_eq(r, GANG_ENOFIT);
        }
    }
    gang_worker_free(w);
    return NULL;
}

/* Everything that breaks leases, on and on. */
static void *break_leases(void *user)
{
    gang_worker *w;
    (void)user;
    test_must(gang_worker_new(cluster, &w));
    for (int64_t i = 0; !atomic_load(&over); i++) {
        gang_node_id *at = &node[chance_of_thread() % NODES];
        char name[16];
        snprintf(name, sizeof(name), "n%d", (int)(at - node));
        switch (chance_of_thread() % 3) {
        case 0:
            test_must(gang_node_set_state(w, *at, GANG_NODE_DRAINING));
            test_must(gang_node_set_state(w, *at, GANG_NODE_UP));
            break;
        case 1:
            test_must(gang_gpu_set_state(w, *at, (int32_t)(i % LEASE_GPUS), GANG_GPU_UNHEALTHY));
            test_must(gang_gpu_set_state(w, *at, (int32_t)(i % LEASE_GPUS), GANG_GPU_OK));
            break;
        default:
            test_must(lease_machine(w, name, LEASE_CPU + 1000 * (i % 2), 0, at));
        }
    }
    gang_worker_free(w);
    return NULL;
}

static void check_pairs(gang_snapshot *snapshot)
{
    int full = 0;
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = GANG_NODE_INFO_INIT;
        test_must(gang_snapshot_node_get(snapshot, node[i], &info));
        ck_assert_msg(info.gpus_free == 0 || info.gpus_free == LEASE_GPUS, "%d GPUs are free",
                      info.gpus_free);
        int64_t taken = info.gpus_free ? 0 : LEASE_CPU;
        ck_assert_msg(info.cpu_free + taken == info.cpu_milli &&
                          info.memory_free == (info.gpus_free ? LEASE_MEMORY : 0),
                      "%d GPUs, %" PRId64 " of %" PRId64 " millicores, %" PRId64 " bytes are free",
                      info.gpus_free, info.cpu_free, info.cpu_milli, info.memory_free);
        full += info.gpus_free == 0;
    }
    ck_assert_msg(full % 2 == 0, "%d nodes of pairs are taken", full);
}

START_TEST(snapshots_show_pairs_while_leases_are_broken)
{
    const char *seconds = getenv("GANG_TEST_SECONDS");
    time_t end = time(NULL) + (seconds ? atoi(seconds) : 3);
    pthread_t thread[PAIR_THREADS], breaker;
    gang_snapshot *snapshot;
    int64_t snapshots = 0;
    setup();
    gang_request *pair = lease_request(cluster, 2, 8);
    atomic_store(&gang__hook_now, yield_now_and_then);
    for (int i = 0; i < PAIR_THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, lease_pairs, pair), 0);
    ck_assert_int_eq(pthread_create(&breaker, NULL, break_leases, NULL), 0);
    test_must(gang_snapshot_new(cluster, &snapshot));
    for (; time(NULL) < end; snapshots++) {
        test_must(gang_snapshot_take(worker, snapshot));
        check_pairs(snapshot);
    }
    atomic_store(&over, true);
    for (int i = 0; i < PAIR_THREADS; i++)
        pthread_join(thread[i], NULL);
    pthread_join(breaker, NULL);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    gang_snapshot_free(snapshot);
    ck_assert_int_gt(atomic_load(&pairs), 100);
    ck_assert_int_gt(snapshots, 10);
    for (int i = 0; i < NODES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        test_must(lease_machine(worker, name, LEASE_CPU, 0, &node[i]));
    }
    check_books(NODES * LEASE_GPUS);
    lease_end(cluster);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lease_threads");
    TCase *t = tcase_create("stopped"), *many = tcase_create("pairs");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, stopped_thread_stops_no_one, 0, ACTS);
    tcase_set_timeout(many, 300);
    tcase_add_test(many, snapshots_show_pairs_while_leases_are_broken);
    suite_add_tcase(suite, t);
    suite_add_tcase(suite, many);
    return run_suite(suite);
}
