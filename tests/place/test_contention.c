/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that meet on the fullest node go apart, for a while; a worker that meets none packs in
 * the order that the policy promises.
 *
 * One thread does it all: the hook at a step of one worker's call makes a call with another worker,
 * as if its thread had run just then. */
#include "base/atomic.h"
#include "lease.h"

enum { NODES = 256, FULLEST = 40, FULLEST_FREE = 6, APART = 1024, NODES_A_BUCKET = 64 };

static gang_cluster *cluster;
static gang_worker *worker, *other;
static gang_request *one;
static gang_node_id node[NODES];

/* Takes `gpus` of a node. */
static void fill(int at, int64_t gpus)
{
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_alloc_id id;
    place.node = node[at];
    for (int64_t i = 0; i < gpus; i++) {
        place.gpus = UINT64_C(1) << (LEASE_GPUS - 1 - i);
        test_must(gang_alloc_adopt(other, one, &place, 1, &id, NULL));
    }
}

static void setup(void)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    test_must(gang_cluster_new(&opts, &cluster, NULL));
    test_must(gang_worker_new(cluster, &worker));
    test_must(gang_worker_new(cluster, &other));
    lease_machines(worker, node, NODES);
    one = lease_elastic(cluster, 1, 1, 1, 0);
    fill(FULLEST, LEASE_GPUS - FULLEST_FREE);
}

static void teardown(void)
{
    atomic_store(&gang__hook_now, NULL);
    test_must(gang_cluster_check(cluster, NULL));
    gang_worker_free(worker);
    gang_worker_free(other);
    lease_end(cluster);
}

/* ---- what the other worker does in between --------------------------------------------------- */

static enum gang__step step_now;
static int countdown; /* the hook acts when it reaches 0 */
static gang_alloc_id got;

static void act(enum gang__step step)
{
    if (step != step_now || countdown == 0 || --countdown != 0)
        return;
    gang_worker *w = step == GANG__STEP_CLAIM ? other : worker;
    test_must(gang_alloc(w, one, &got, NULL));
}

static void at(enum gang__step step)
{
    step_now = step;
    countdown = 1;
    atomic_store(&gang__hook_now, act);
}

static int place_of(gang_alloc_id id)
{
    struct gang_task task = GANG_TASK_INIT;
    test_must(gang_alloc_task(cluster, id, 0, &task));
    for (int i = 0; i < NODES; i++)
        if (node[i] == task.node)
            return i;
    return -1;
}

/* Places one task; returns its node. */
static int place(gang_worker *w, gang_alloc_id *id)
{
    gang_alloc_id mine;
    test_must(gang_alloc(w, one, &mine, NULL));
    if (id)
        *id = mine;
    return place_of(mine);
}

static int place_and_free(gang_worker *w)
{
    gang_alloc_id id;
    int at_node = place(w, &id);
    test_must(gang_alloc_free(w, id));
    return at_node;
}

static struct gang_worker_stats stats_of(gang_worker *w)
{
    struct gang_worker_stats stats = GANG_WORKER_STATS_INIT;
    test_must(gang_worker_get_stats(w, &stats));
    return stats;
}

/* The worker has chosen the fullest node; before it claims the node the other worker takes the same
 * device. */
static int lose(void)
{
    at(GANG__STEP_CLAIM);
    return place(worker, NULL);
}

/* ---- tests ----------------------------------------------------------------------------------- */

START_TEST(alone_a_worker_packs)
{
    for (int i = 0; i < 2 * APART; i++)
        ck_assert_int_eq(place_and_free(i % 2 ? worker : other), FULLEST);
}
END_TEST

START_TEST(a_worker_that_loses_a_node_meets_the_other_once)
{
    int own = -1;
    for (int i = 0; i < FULLEST_FREE; i++) {
        int here = lose();
        ck_assert_int_eq(place_of(got), i < FULLEST_FREE - 1 ? FULLEST : place_of(got));
        if (i == 1)
            own = here;
        if (i > 0) {
            ck_assert_int_eq(here, own);
            ck_assert_int_ne(here, FULLEST);
        }
    }
    ck_assert_int_eq(stats_of(worker).conflicts, 1);
    ck_assert_int_eq(stats_of(worker).helps + stats_of(other).helps, 0);
}
END_TEST

START_TEST(a_worker_that_skips_a_claimed_node_stays_apart)
{
    at(GANG__STEP_AGREE); /* the other one has claimed the node */
    place(other, NULL);
    int own = place_of(got);
    ck_assert_int_ne(own, FULLEST);
    ck_assert_int_ne(own / 32, FULLEST / 32);
    for (int i = 1; i < LEASE_GPUS; i++)
        ck_assert_int_eq(place(worker, NULL), own);
    ck_assert_int_ne(place(worker, NULL), own);
    ck_assert_int_eq(stats_of(worker).helps, 0);
}
END_TEST

START_TEST(after_a_while_it_packs_again)
{
    lose();
    for (int i = 1; i < APART; i++)
        ck_assert_int_ne(place_and_free(worker), FULLEST);
    for (int i = 0; i < APART; i++)
        ck_assert_int_eq(place_and_free(worker), FULLEST);
}
END_TEST

START_TEST(the_order_chooses_each_few_nodes)
{
    enum { FULLER = 200 };
    lose();
    place(worker, NULL);
    fill(FULLER, LEASE_GPUS - 1); /* from now on the order says: this one */
    int before = 2;
    while (place(worker, NULL) != FULLER)
        ck_assert_int_lt(before++, NODES_A_BUCKET * LEASE_GPUS);
    ck_assert_int_eq(before, NODES_A_BUCKET * LEASE_GPUS);
}
END_TEST

START_TEST(what_it_avoids_it_takes_before_it_refuses)
{
    gang_alloc_id id;
    for (int i = 0; i < NODES; i++)
        if (i != FULLEST)
            fill(i, LEASE_GPUS);
    for (int i = 0; i < FULLEST_FREE / 2; i++)
        ck_assert_int_eq(lose(), FULLEST);
    ck_assert_int_ge(stats_of(worker).conflicts, 1);
    ck_assert_int_eq(gang_alloc(worker, one, &id, NULL), GANG_ENOFIT);
}
END_TEST

START_TEST(equal_questions_get_equal_answers)
{
    worker->from_first = true; /* like a scheduler: its dry runs must agree with its starts */
    lose();
    ck_assert_int_eq(place(worker, NULL), FULLEST);
    ck_assert_int_eq(stats_of(worker).conflicts, 1);
}
END_TEST

START_TEST(a_new_owner_of_the_worker_packs)
{
    lose();
    gang_worker_free(worker);
    test_must(gang_worker_new(cluster, &worker));
    ck_assert_int_eq(place(worker, NULL), FULLEST);
}
END_TEST

START_TEST(other_requests_pack)
{
    lose();
    place(worker, NULL);
    gang_request *equal = lease_elastic(cluster, 1, 1, 1, 0), *gang = one;
    one = equal;
    fill(200, LEASE_GPUS - 1);
    ck_assert_int_eq(place(worker, NULL), 200); /* the own node is that of the other request */
    one = gang;
}
END_TEST

int main(void)
{
    Suite *s = suite_create("contention");
    TCase *t = tcase_create("contention");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, alone_a_worker_packs);
    tcase_add_test(t, a_worker_that_loses_a_node_meets_the_other_once);
    tcase_add_test(t, a_worker_that_skips_a_claimed_node_stays_apart);
    tcase_add_test(t, after_a_while_it_packs_again);
    tcase_add_test(t, the_order_chooses_each_few_nodes);
    tcase_add_test(t, what_it_avoids_it_takes_before_it_refuses);
    tcase_add_test(t, equal_questions_get_equal_answers);
    tcase_add_test(t, a_new_owner_of_the_worker_packs);
    tcase_add_test(t, other_requests_pack);
    suite_add_tcase(s, t);
    return run_suite(s);
}
