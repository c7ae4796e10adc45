/* SPDX-License-Identifier: Apache-2.0 */
/* Workers whose gangs want the same nodes go apart: where few nodes are free and all of them lie
 * together, each begins at a place of its own among them, for a while.
 *
 * One thread does it all: the hook at a step of one worker's call makes a call with another worker,
 * as if its thread had run just then. */
#include "base/atomic.h"
#include "core/nodes/nodes.h"
#include "lease.h"

enum { NODES = 2500, TAKEN = 2100, GANG = 8, WORD = 32, GANGS_APART = 1024 };

static gang_cluster *cluster;
static gang_worker *worker, *other;
static gang_node_id node[NODES];

static void setup(void)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    test_must(gang_cluster_new(&opts, &cluster, NULL));
    test_must(gang_worker_new(cluster, &worker));
    test_must(gang_worker_new(cluster, &other));
    lease_machines(worker, node, NODES);
}

static void teardown(void)
{
    atomic_store(&gang__hook_now, NULL);
    test_must(gang_cluster_check(cluster, NULL));
    gang_worker_free(worker);
    gang_worker_free(other);
    lease_end(cluster);
}

static int number_of(gang_node_id id)
{
    for (int i = 0; i < NODES; i++)
        if (node[i] == id)
            return i;
    return -1;
}

/* Places a gang; the lowest and the highest of its nodes, by the order in which they were added. */
static gang_alloc_id place(gang_worker *w, gang_request *gang, int *lowest, int *highest)
{
    gang_alloc_id id;
    test_must(gang_alloc(w, gang, &id, NULL));
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    test_must(gang_alloc_get(cluster, id, &info));
    *lowest = NODES;
    *highest = -1;
    for (int64_t i = 0; i < info.tasks; i++) {
        struct gang_task task = GANG_TASK_INIT;
        test_must(gang_alloc_task(cluster, id, i, &task));
        int at = number_of(task.node);
        *lowest = at < *lowest ? at : *lowest;
        *highest = at > *highest ? at : *highest;
    }
    return id;
}

static int64_t conflicts_of(gang_worker *w)
{
    struct gang_worker_stats stats = GANG_WORKER_STATS_INIT;
    test_must(gang_worker_get_stats(w, &stats));
    return stats.conflicts;
}

/* Only the last nodes are free. */
static void keep_last(void)
{
    int lowest, highest;
    place(worker, lease_request(cluster, TAKEN, LEASE_GPUS), &lowest, &highest);
    ck_assert_int_eq(lowest, 0);
    ck_assert_int_eq(highest, TAKEN - 1);
}

static gang_request *wanted;

static void take_first(enum gang__step step)
{
    gang_alloc_id id;
    if (step != GANG__STEP_CLAIM)
        return;
    atomic_store(&gang__hook_now, NULL);
    test_must(gang_alloc(worker, wanted, &id, NULL));
}

/* The other worker has chosen its nodes; before it claims them the worker takes them. */
static void lose(gang_request *gang)
{
    int lowest, highest;
    int64_t before = conflicts_of(other);
    wanted = gang;
    atomic_store(&gang__hook_now, take_first);
    test_must(gang_alloc_free(other, place(other, gang, &lowest, &highest)));
    ck_assert_int_eq(conflicts_of(other), before + 1);
}

static bool are_apart(gang_request *gang)
{
    int lowest, highest, other_lowest, other_highest;
    gang_alloc_id id = place(worker, gang, &lowest, &highest);
    gang_alloc_id others = place(other, gang, &other_lowest, &other_highest);
    test_must(gang_alloc_free(worker, id));
    test_must(gang_alloc_free(other, others));
    return other_lowest > highest + WORD || lowest > other_highest + WORD;
}

/* The first gang that loses was planned, the second one was not. */
static void check(gang_request *gang)
{
    keep_last();
    for (int i = 0; i < 2; i++) {
        lose(gang);
        for (int k = 1; k < GANGS_APART; k++) /* the gang that lost was placed apart, too */
            ck_assert(are_apart(gang));
        ck_assert(!are_apart(gang));
    }
}

START_TEST(gangs_of_whole_nodes_go_apart_for_a_while)
{
    check(lease_request(cluster, GANG, LEASE_GPUS));
}
END_TEST

START_TEST(gangs_that_leave_cores_go_apart_for_a_while)
{
    check(lease_halves(cluster, GANG));
}
END_TEST

START_TEST(single_nodes_go_apart)
{
    gang_request *one = lease_request(cluster, 1, LEASE_GPUS);
    int lowest, highest;
    keep_last();
    test_must(gang_alloc_free(other, place(other, one, &lowest, &highest)));
    lose(one);
    ck_assert(are_apart(one));
}
END_TEST

static void place_beside(enum gang__step step)
{
    int lowest, highest;
    if (step != GANG__STEP_DECIDE)
        return;
    atomic_store(&gang__hook_now, NULL);
    test_must(gang_alloc_free(other, place(other, wanted, &lowest, &highest)));
}

/* The worker has claimed its nodes; the other one passes over them. */
START_TEST(gangs_that_pass_over_claimed_nodes_go_apart)
{
    int lowest, highest;
    wanted = lease_request(cluster, GANG, LEASE_GPUS);
    keep_last();
    ck_assert(!are_apart(wanted));
    atomic_store(&gang__hook_now, place_beside);
    test_must(gang_alloc_free(worker, place(worker, wanted, &lowest, &highest)));
    ck_assert_int_eq(lowest, TAKEN);
    ck_assert(are_apart(wanted));
}
END_TEST

START_TEST(apart_they_take_what_is_left_before_they_refuse)
{
    int lowest, highest;
    keep_last();
    gang_request *gang = lease_request(cluster, GANG, LEASE_GPUS);
    lose(gang);
    for (int i = 1; i < (NODES - TAKEN) / GANG; i++)
        place(other, gang, &lowest, &highest);
    gang_alloc_id id;
    ck_assert_int_eq(gang_alloc(other, gang, &id, NULL), GANG_ENOFIT);
}
END_TEST

START_TEST(a_new_owner_of_the_worker_begins_as_ever)
{
    gang_request *gang = lease_request(cluster, GANG, LEASE_GPUS);
    keep_last();
    lose(gang);
    gang_worker_free(other);
    test_must(gang_worker_new(cluster, &other));
    ck_assert(!are_apart(gang));
}
END_TEST

START_TEST(equal_questions_get_equal_answers)
{
    gang_request *gang = lease_request(cluster, GANG, LEASE_GPUS);
    keep_last();
    other->from_first = true; /* like a scheduler: its dry runs must agree with its starts */
    lose(gang);
    ck_assert(!are_apart(gang));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gangs apart");
    TCase *t = tcase_create("gangs apart");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, gangs_of_whole_nodes_go_apart_for_a_while);
    tcase_add_test(t, gangs_that_leave_cores_go_apart_for_a_while);
    tcase_add_test(t, single_nodes_go_apart);
    tcase_add_test(t, gangs_that_pass_over_claimed_nodes_go_apart);
    tcase_add_test(t, apart_they_take_what_is_left_before_they_refuse);
    tcase_add_test(t, a_new_owner_of_the_worker_begins_as_ever);
    tcase_add_test(t, equal_questions_get_equal_answers);
    suite_add_tcase(s, t);
    return run_suite(s);
}
