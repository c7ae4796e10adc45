/* SPDX-License-Identifier: Apache-2.0 */
/* What counts for a limit: what tasks hold until they have stopped, and what is on its way to a
 * gang (queue.h). No queue ever holds more than its limit. */
#include "sched/holding_host.h"
#include "sched/leaf.h"

enum { GRACE = 100 };

static struct host h;
static struct gang_quota eight = {"gpu", 8000, NULL, 0, 0}, four = {"gpu", 4000, NULL, 0, 0},
                         none = {"gpu", 0, NULL, 0, 0};

static struct gang_queue_spec bounded(const char *name, const char *parent)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = name;
    q.parent = parent;
    q.grace_ns = GRACE;
    q.guaranteed = &none;
    q.guaranteed_count = 1;
    return q;
}

/* Four nodes of four GPUs; "top" has a limit of 8, "x" and "y" below it and "rest" beside it have
 * none. "y" is guaranteed 4. */
static void setup(void)
{
    struct gang_queue_spec q[4] = {bounded("top", NULL), bounded("x", "top"), bounded("y", "top"),
                                   bounded("rest", NULL)};
    q[0].limit = &eight;
    q[0].limit_count = 1;
    q[0].guaranteed = &eight;
    q[2].guaranteed = &four;
    host_open(&h, 4, 4);
    host_queues(&h, q, 4);
    h.lingers = true;
    host_run(&h, 1);
}

static void teardown(void)
{
    host_close(&h);
}

static bool runs(gang_job_id id)
{
    return host_job_state(&h, id) == GANG_JOB_RUNNING;
}

static int64_t held(const char *queue)
{
    return host_queue(&h, queue).held[GANG_KIND_GPU] / 1000;
}

static int64_t used(const char *queue)
{
    return host_queue(&h, queue).used[GANG_KIND_GPU] / 1000;
}

START_TEST(a_cancelled_job_counts_until_it_has_stopped)
{
    gang_job_id first = host_gang(&h, "x", 4, 0), other = host_gang(&h, "x", 4, 0);
    host_run(&h, 1);
    gang_job_id next = host_gang(&h, "x", 4, 0);
    MUST(gang_job_cancel(h.s, first));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_STOPPING);
    test_assert(runs(other) && !runs(next));
    ck_assert_int_eq(used("top"), 4);
    ck_assert_int_eq(held("top"), 8);
    leaf_explain(&h, next, GANG_WAIT_LIMIT);
    ck_assert_int_eq(reason.used, 8000);
    ck_assert_int_eq(reason.limit, 8000);
    test_assert(strstr(reason_text, "stopping"));
    host_report_all(&h, first, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(runs(next));
    ck_assert_int_eq(held("top"), 8);
}
END_TEST

START_TEST(the_grace_ends_the_wait_too)
{
    gang_job_id first = host_gang(&h, "x", 8, 0);
    host_run(&h, 1);
    gang_job_id next = host_gang(&h, "y", 4, 0);
    MUST(gang_job_cancel(h.s, first));
    host_run(&h, 1);
    test_assert(!runs(next));
    host_run(&h, GRACE);
    test_assert(runs(next));
    ck_assert_int_eq(held("top"), 4);
}
END_TEST

START_TEST(no_gang_is_preempted_for_a_limit_that_stopping_tasks_give_back)
{
    gang_job_id first = host_gang(&h, "x", 4, 0), other = host_gang(&h, "x", 4, 0);
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, first));
    gang_job_id next = host_gang(&h, "x", 4, 5);
    host_run(&h, 1);
    test_assert(runs(other) && !runs(next));
    host_report_all(&h, first, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(runs(other) && runs(next));
}
END_TEST

/* _i: in one leaf, or between two below the limit */
START_TEST(a_handover_is_not_blocked_by_the_places_of_its_victims)
{
    gang_job_id low = host_gang(&h, "x", 4, 0), other = host_gang(&h, "x", 4, 1);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, _i ? "y" : "x", 4, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(held("top"), 8);
    ck_assert_int_eq(used("top"), 8);
    ck_assert_int_eq(held("x"), 8);
    ck_assert_int_eq(held("y"), _i ? 4 : 0); /* what is handed over counts for the taker, too */
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(runs(high) && runs(other));
    ck_assert_int_eq(held("top"), 8);
    ck_assert_int_eq(held("x"), _i ? 4 : 8);
}
END_TEST

START_TEST(two_handovers_below_one_limit_go_side_by_side)
{
    gang_job_id low[2] = {host_gang(&h, "x", 4, 0), host_gang(&h, "x", 4, 0)};
    host_run(&h, 1);
    gang_job_id high[2] = {host_gang(&h, "x", 4, 5), host_gang(&h, "x", 4, 5)};
    host_run(&h, 1);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(host_job_state(&h, low[i]), GANG_JOB_STOPPING);
    ck_assert_int_eq(held("top"), 8);
    for (int i = 0; i < 2; i++)
        host_report_all(&h, low[i], 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(runs(high[0]) && runs(high[1]));
}
END_TEST

/* The victim is larger than the taker: until it has stopped, all of it counts. */
START_TEST(a_larger_victim_counts_as_a_whole)
{
    gang_job_id low = host_gang(&h, "x", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "x", 4, 5);
    host_run(&h, 1);
    gang_job_id third = host_gang(&h, "x", 4, 5);
    host_run(&h, 1);
    ck_assert_int_eq(used("top"), 4);
    ck_assert_int_eq(held("top"), 8);
    test_assert(!runs(third));
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(runs(high) && runs(third));
}
END_TEST

START_TEST(a_taker_that_gives_up_leaves_its_victims_counted)
{
    gang_job_id low = host_gang(&h, "x", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "x", 4, 5);
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, high));
    gang_job_id third = host_gang(&h, "y", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(used("top"), 0);
    ck_assert_int_eq(held("top"), 8);
    test_assert(!runs(third));
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(runs(third));
}
END_TEST

/* A gang of the victim's queue waits too, so that nothing is above the limit if the taker ends. */
START_TEST(a_victim_counts_for_its_queue_until_it_has_stopped)
{
    struct gang_queue_spec q[4] = {bounded("top", NULL), bounded("x", "top"), bounded("y", "top"),
                                   bounded("rest", NULL)};
    struct gang_quota twelve = {"gpu", 12000, NULL, 0, 0};
    q[0].guaranteed = q[2].guaranteed = &four;
    q[1].limit = &four;
    q[1].limit_count = 1;
    q[3].guaranteed = &twelve;
    host_queues(&h, q, 4);
    gang_job_id low = host_gang(&h, "x", 4, 0), rest = host_gang(&h, "rest", 12, 0);
    host_run(&h, 1);
    test_assert(runs(low) && runs(rest));
    gang_job_id taker = host_gang(&h, "y", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(held("x"), 4);
    ck_assert_int_eq(held("y"), 4);
    ck_assert_int_eq(held("top"), 4);
    MUST(gang_report_end(h.s, rest, 1));
    gang_job_id next = host_gang(&h, "x", 4, 5);
    host_run(&h, 1);
    test_assert(!runs(next));
    leaf_explain(&h, next, GANG_WAIT_LIMIT);
    MUST(gang_job_cancel(h.s, taker));
    host_run(&h, 1);
    test_assert(!runs(next));
    ck_assert_int_eq(held("x"), 4);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(runs(next));
    ck_assert_int_eq(held("x"), 4);
}
END_TEST

/* One victim is of the taker's queue and one beside it: each queue counts the larger of the promise
 * and of what victims hold below it, whichever is asked first. */
START_TEST(each_queue_above_the_taker_counts_its_own_victims)
{
    struct gang_queue_spec q[4] = {bounded("top", NULL), bounded("x", "top"), bounded("y", "top"),
                                   bounded("rest", NULL)};
    q[0].limit = q[0].guaranteed = q[2].guaranteed = &eight;
    q[0].limit_count = 1;
    host_queues(&h, q, 4);
    gang_job_id of_x = host_gang(&h, "x", 4, 0), of_y = host_gang(&h, "y", 4, 0);
    host_run(&h, 1);
    gang_job_id taker = host_gang(&h, "y", 8, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, of_x), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_job_state(&h, of_y), GANG_JOB_STOPPING);
    ck_assert_int_eq(held("x"), 4);
    ck_assert_int_eq(held("y"), 8);
    ck_assert_int_eq(held("top"), 8);
    host_report_all(&h, of_x, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(held("x"), 0);
    ck_assert_int_eq(held("y"), 8);
    MUST(gang_job_cancel(h.s, taker));
    host_run(&h, 1);
    test_assert(runs(of_x)); /* again, where its place was kept */
    ck_assert_int_eq(held("y"), 4);
    ck_assert_int_eq(held("top"), 8);
}
END_TEST

START_TEST(single_tasks_count_until_they_have_stopped)
{
    gang_job_id elastic = host_submit(&h, host_spec("x", 8, 2, 0));
    host_run(&h, 1);
    MUST(gang_job_set_target(h.s, elastic, 2));
    gang_job_id next = host_gang(&h, "x", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(used("top"), 2);
    ck_assert_int_eq(held("top"), 8);
    test_assert(!runs(next));
    host_run(&h, GRACE);
    test_assert(runs(next));
    ck_assert_int_eq(held("top"), 6);
}
END_TEST

/* A change of queues counts again; a copy counts the same. */
START_TEST(new_queues_and_copies_count_the_same)
{
    struct gang_queue_spec q[4] = {bounded("top", NULL), bounded("x", "top"), bounded("y", "top"),
                                   bounded("rest", NULL)};
    gang_job_id low = host_gang(&h, "x", 8, 0);
    gang_cluster *cluster;
    gang_sched *copy;
    host_run(&h, 1);
    (void)host_gang(&h, "x", 4, 5);
    host_run(&h, 1);
    for (int i = 0; i < 2; i++) {
        struct gang_queue_info info = {.size = sizeof(info)};
        gang_queue_id id;
        ck_assert_int_eq(held("top"), 8);
        ck_assert_int_eq(used("top"), 4);
        MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
        MUST(gang_sched_check(copy, NULL));
        MUST(gang_queue_find(copy, "top", &id));
        MUST(gang_queue_get(copy, id, &info));
        ck_assert_int_eq(info.held[GANG_KIND_GPU], 8000);
        gang_sched_free(copy);
        gang_cluster_free(cluster);
        q[0].limit = &eight;
        q[0].limit_count = 1;
        q[2].limit = &four; /* a new bound */
        q[2].limit_count = 1;
        host_queues(&h, q, 4);
    }
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(held("top"), 4);
}
END_TEST

/* ---- random ---------------------------------------------------------------------------------- */

/* _i: how often tasks that are to stop do so, in steps */
START_TEST(no_queue_holds_more_than_its_limit)
{
    static const int64_t seldom[] = {2, 6, 30};
    int64_t busy = 0, refused = 0, stops = 0;
    chance_state = test_seed();
    for (int world = 0; world < 12; world++) {
        holding_open();
        for (int step = 0; step < 1500; step++) {
            if (one_in(3))
                holding_submit();
            holding_some_stop(seldom[_i]);
            if (one_in(4))
                holding_one_ends();
            int64_t wait = gang_sched_timeout_ns(holding.h.s, holding.h.now_ns);
            int64_t pause = below(4) * HOST_SECOND;
            holding_run(wait > 0 && wait < pause ? wait : pause);
        }
        busy += holding.busy;
        refused += holding.refused;
        stops += holding.stops;
        host_close(&holding.h);
    }
    ck_assert_int_gt(busy, 100);
    ck_assert_int_gt(refused, 20);
    ck_assert_int_gt(stops, 500);
}
END_TEST

/* A job of 4 GPUs of one node, which a host restores while it stops. */
static gang_job_id restore_stopping(const char *queue, int32_t why, gang_job_id preemptor)
{
    struct gang_running_spec place[4];
    struct gang_job_past past = GANG_JOB_PAST_INIT;
    struct gang_job_spec *job = host_spec(queue, 4, 4, 0);
    for (int64_t i = 0; i < 4; i++)
        place[i] = (struct gang_running_spec){.node = "n0", .numbered = 1, .task = i};
    past.state = GANG_JOB_STOPPING;
    past.reason = why;
    past.end = why == GANG_REASON_CANCEL ? GANG_END_CANCELLED : GANG_END_NONE;
    past.preemptor = preemptor;
    past.deadline_ns = h.now_ns + GRACE;
    job->running = 1;
    job->places = place;
    job->place_count = 4;
    job->past = &past;
    return host_submit(&h, job);
}

START_TEST(a_restored_job_counts_until_it_has_stopped)
{
    gang_job_id first = restore_stopping("x", GANG_REASON_CANCEL, GANG_ID_NONE);
    gang_job_id next = host_gang(&h, "y", 8, 0);
    host_run(&h, 0);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_STOPPING);
    test_assert(!runs(next));
    ck_assert_int_eq(used("top"), 0);
    ck_assert_int_eq(held("top"), 4);
    host_report_all(&h, first, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(runs(next));
    ck_assert_int_eq(held("top"), 8);
}
END_TEST

/* Of nodes whose other GPUs are taken, so that the job has to wait for its victim. */
START_TEST(a_restored_promise_covers_what_its_victim_holds)
{
    gang_job_id taker = host_gang(&h, "rest", 12, 0) + 2;
    gang_job_id victim = restore_stopping("x", GANG_REASON_RECLAIM, taker);
    ck_assert_uint_eq(host_gang(&h, "y", 4, 0), taker);
    host_run(&h, 0);
    ck_assert_int_eq(host_job_state(&h, victim), GANG_JOB_STOPPING);
    test_assert(!runs(taker));
    ck_assert_int_eq(used("top"), 4); /* the promise */
    ck_assert_int_eq(held("y"), 4);
    ck_assert_int_eq(held("top"), 4);
    host_report_all(&h, victim, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(runs(taker));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("held");
    TCase *t = tcase_create("held");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, a_cancelled_job_counts_until_it_has_stopped);
    tcase_add_test(t, the_grace_ends_the_wait_too);
    tcase_add_test(t, no_gang_is_preempted_for_a_limit_that_stopping_tasks_give_back);
    tcase_add_loop_test(t, a_handover_is_not_blocked_by_the_places_of_its_victims, 0, 2);
    tcase_add_test(t, two_handovers_below_one_limit_go_side_by_side);
    tcase_add_test(t, a_larger_victim_counts_as_a_whole);
    tcase_add_test(t, a_taker_that_gives_up_leaves_its_victims_counted);
    tcase_add_test(t, a_victim_counts_for_its_queue_until_it_has_stopped);
    tcase_add_test(t, each_queue_above_the_taker_counts_its_own_victims);
    tcase_add_test(t, single_tasks_count_until_they_have_stopped);
    tcase_add_test(t, new_queues_and_copies_count_the_same);
    tcase_add_test(t, a_restored_job_counts_until_it_has_stopped);
    tcase_add_test(t, a_restored_promise_covers_what_its_victim_holds);
    suite_add_tcase(suite, t);
    TCase *random = tcase_create("random");
    tcase_set_timeout(random, 300);
    tcase_add_loop_test(random, no_queue_holds_more_than_its_limit, 0, 3);
    suite_add_tcase(suite, random);
    return run_suite(suite);
}
