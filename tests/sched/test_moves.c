/* SPDX-License-Identifier: Apache-2.0 */
/* Moves of elastic gangs: whole, or the tasks above their minimum one by one. */
#include "sched/host.h"

static struct host h;
static gang_job_id elastic, large;

static void teardown(void)
{
    host_close(&h);
}

/* One task of so many GPUs. */
static gang_job_id submit_task(const char *queue, int64_t gpus)
{
    struct gang_group_spec g = group_of(1, 100, gpus * 1000);
    struct gang_job_spec spec = host_job(&g, 1);
    spec.queue = queue;
    return host_submit(&h, &spec);
}

/* Two nodes of four GPUs, and an elastic gang of two tasks, one on each. */
static void spread(const char *queue, int64_t min)
{
    gang_job_id first = submit_task(queue, 3);
    host_run(&h, 1);
    elastic = host_submit(&h, host_spec(queue, 2, min, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, elastic), 2);
    host_end_job(&h, first);
    h.count = 0;
}

static void open_tree(void)
{
    struct gang_queue_spec q[3] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT,
                                   GANG_QUEUE_SPEC_INIT};
    q[0].name = "root";
    q[1].name = "x";
    q[2].name = "y";
    q[1].parent = q[2].parent = "root";
    host_queues(&h, q, 3);
}

static int64_t node_free(const char *name)
{
    gang_node_id id;
    MUST(gang_node_find(h.stage.c, name, &id));
    return stage_node(&h.stage, id).gpu_free / 1000;
}

/* The elastic gang has both tasks on one node, the large job has the other. */
static void check_moved(void)
{
    ck_assert_int_eq(host_tasks(&h, large), 1);
    ck_assert_int_eq(host_tasks(&h, elastic), 2);
    ck_assert_int_eq(node_free("n0") + node_free("n1"), 2);
    test_assert(node_free("n0") == 0 || node_free("n1") == 0);
}

START_TEST(a_task_above_the_minimum_moves)
{
    host_open(&h, 2, 4);
    spread("default", 1);
    large = submit_task("default", 4);
    host_run(&h, 1);
    check_moved();
    ck_assert_int_eq(host_ops(&h, elastic, "preempt"), 0);
    ck_assert_int_eq(host_last(&h, elastic, "shrink")->reason, GANG_REASON_MOVE);
    ck_assert_uint_eq(host_last(&h, elastic, "shrink")->because, large);
    ck_assert_uint_eq(host_last(&h, elastic, "shrink")->task_count, 1);
    ck_assert_int_eq(host_last(&h, elastic, "grow")->reason, GANG_REASON_MOVE);
}
END_TEST

START_TEST(a_gang_at_its_minimum_moves_whole)
{
    host_open(&h, 2, 4);
    spread("default", 2);
    large = submit_task("default", 4);
    host_run(&h, 1);
    check_moved();
    ck_assert_int_eq(host_ops(&h, elastic, "shrink"), 0);
    ck_assert_int_eq(host_last(&h, elastic, "preempt")->reason, GANG_REASON_MOVE);
}
END_TEST

START_TEST(a_gang_moves_for_a_job_of_another_queue_below_the_same_root)
{
    host_open(&h, 2, 4);
    open_tree();
    spread("x", 1);
    large = submit_task("y", 4);
    host_run(&h, 1);
    check_moved();
}
END_TEST

START_TEST(the_large_job_starts_when_the_task_has_stopped)
{
    host_open_slow(&h, 2, 4, (int64_t)10 * HOST_SECOND);
    spread("default", 1);
    large = submit_task("default", 4);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, large), 0);
    ck_assert_int_eq(host_tasks(&h, elastic), 1);
    host_report(&h, elastic, host_last(&h, elastic, "shrink")->tasks[0], GANG_TASK_STOPPED);
    host_run(&h, 1);
    check_moved();
}
END_TEST

START_TEST(a_task_that_does_not_stop_is_killed_and_moves)
{
    host_open_slow(&h, 2, 4, (int64_t)10 * HOST_SECOND);
    spread("default", 1);
    large = submit_task("default", 4);
    host_run(&h, 1);
    host_run(&h, (int64_t)10 * HOST_SECOND);
    ck_assert_int_eq(host_ops(&h, elastic, "kill"), 1);
    check_moved();
}
END_TEST

START_TEST(a_task_that_the_host_does_not_grow_again_waits)
{
    host_open(&h, 2, 4);
    spread("default", 1);
    large = submit_task("default", 4);
    h.refuse = "grow";
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, large), 1);
    ck_assert_int_eq(host_tasks(&h, elastic), 1);
    h.refuse = NULL;
    host_run(&h, (int64_t)3600 * HOST_SECOND);
    check_moved();
}
END_TEST

START_TEST(no_gang_moves_if_the_large_job_is_cancelled_meanwhile)
{
    host_open_slow(&h, 2, 4, (int64_t)10 * HOST_SECOND);
    spread("default", 1);
    large = submit_task("default", 4);
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, large));
    host_run(&h, 1);
    host_report(&h, elastic, host_last(&h, elastic, "shrink")->tasks[0], GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, elastic), 2);
}
END_TEST

/* It would start from the beginning. */
START_TEST(a_gang_of_which_a_task_has_succeeded_does_not_move)
{
    host_open(&h, 2, 4);
    gang_job_id first = submit_task("default", 3);
    host_run(&h, 1);
    elastic = host_submit(&h, host_spec("default", 3, 3, 0));
    host_run(&h, 1);
    host_end_job(&h, first);
    host_report(&h, elastic, 2, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    large = submit_task("default", 4);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, large), 0);
    ck_assert_int_eq(host_ops(&h, elastic, "preempt") + host_ops(&h, elastic, "shrink"), 0);
}
END_TEST

START_TEST(a_gang_below_its_minimum_does_not_move)
{
    host_open(&h, 2, 4);
    gang_job_id first = submit_task("default", 3);
    host_run(&h, 1);
    elastic = host_submit(&h, host_spec("default", 3, 3, 0));
    host_run(&h, 1);
    host_end_job(&h, first);
    host_report(&h, elastic, 2, GANG_TASK_FAILED); /* its loss is only counted */
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, elastic), 2);
    large = submit_task("default", 4);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, large), 0);
    ck_assert_int_eq(host_ops(&h, elastic, "preempt"), 0);
}
END_TEST

/* Queue b is above its guarantee. What a is owed lies on two nodes: a task of b that is in the way
 * moves to the other node, and none is lost. */
START_TEST(a_task_moves_while_its_queue_gives_up_nothing)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota four = {"gpu", 4000, NULL, 0, 0};
    host_open(&h, 2, 4);
    q[0].name = "a";
    q[1].name = "b";
    q[0].guaranteed = q[1].guaranteed = &four;
    q[0].guaranteed_count = q[1].guaranteed_count = 1;
    host_queues(&h, q, 2);
    spread("b", 1);
    large = submit_task("a", 4);
    host_run(&h, 1);
    check_moved();
    ck_assert_int_eq(host_last(&h, elastic, "shrink")->reason, GANG_REASON_MOVE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("moves");
    TCase *tests = tcase_create("moves");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, a_task_above_the_minimum_moves);
    tcase_add_test(tests, a_gang_at_its_minimum_moves_whole);
    tcase_add_test(tests, a_gang_moves_for_a_job_of_another_queue_below_the_same_root);
    tcase_add_test(tests, the_large_job_starts_when_the_task_has_stopped);
    tcase_add_test(tests, a_task_that_does_not_stop_is_killed_and_moves);
    tcase_add_test(tests, a_task_that_the_host_does_not_grow_again_waits);
    tcase_add_test(tests, no_gang_moves_if_the_large_job_is_cancelled_meanwhile);
    tcase_add_test(tests, a_gang_of_which_a_task_has_succeeded_does_not_move);
    tcase_add_test(tests, a_gang_below_its_minimum_does_not_move);
    tcase_add_test(tests, a_task_moves_while_its_queue_gives_up_nothing);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
