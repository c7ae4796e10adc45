/* SPDX-License-Identifier: Apache-2.0 */
/* Cooldowns: a gang is not stopped again and again for the same queue
 * (gang_sched_opts.preempt_cooldown_ns). */
#include "sched/host.h"

static const int64_t minute = (int64_t)60 * HOST_SECOND;

static struct host h;
static gang_job_id gang, old;    /* of queue b, and of queue a */
static gang_alloc_id in_the_way; /* held by the host itself */

static void open_with(int64_t cooldown_ns, int64_t min_runtime_ns)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota two = {"gpu", 2000, NULL, 0, 0};
    opts.preempt_cooldown_ns = cooldown_ns;
    host_open_with(&h, 1, 2, &opts, &ops);
    q[0].name = "a";
    q[0].guaranteed = &two;
    q[0].guaranteed_count = 1;
    q[1].name = "b";
    q[1].min_runtime_ns = min_runtime_ns;
    host_queues(&h, q, 2);
}

static void teardown(void)
{
    host_close(&h);
}

/* A job of queue a that needs the whole node. */
static gang_job_id submit_large(void)
{
    struct gang_group_spec all = group_of(1, 4000, 2000);
    struct gang_job_spec spec = host_job(&all, 1);
    spec.queue = "a";
    return host_submit(&h, &spec);
}

/* The gang of b is stopped for a job of a. That job ends, and the gang starts again, for an old job
 * of a does not fit: the host holds a core. Then the host frees the core. */
static void meet_again(void)
{
    struct gang_group_spec core = group_of(1, 1000, 0);
    in_the_way = stage_alloc_group(&h.stage, &core);
    gang = host_gang(&h, "b", 2, 0);
    host_run(&h, 1);
    host_run(&h, minute);
    gang_job_id first = host_gang(&h, "a", 2, 1);
    old = submit_large();
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, first), 2);
    ck_assert_int_eq(host_ops(&h, gang, "preempt"), 1);
    host_end_job(&h, first);
    ck_assert_int_eq(host_tasks(&h, gang), 2);
    MUST(gang_alloc_free(h.stage.w, in_the_way));
    host_run(&h, 0);
}

START_TEST(a_gang_is_not_stopped_twice_for_a_queue_within_the_cooldown)
{
    open_with(0, 0);
    meet_again();
    ck_assert_int_eq(host_tasks(&h, old), 0);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + 10 * minute);
    host_run(&h, 10 * minute - 1);
    ck_assert_int_eq(host_tasks(&h, gang), 2);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, old), 1);
    ck_assert_int_eq(host_tasks(&h, gang), 0);
}
END_TEST

START_TEST(the_minimum_run_time_of_the_queue_lengthens_the_cooldown)
{
    open_with(10, minute);
    meet_again();
    host_run(&h, minute - 1);
    ck_assert_int_eq(host_tasks(&h, old), 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, old), 1);
}
END_TEST

START_TEST(without_a_cooldown_it_is_stopped_each_time)
{
    open_with(-1, 0);
    meet_again();
    ck_assert_int_eq(host_tasks(&h, old), 1);
    ck_assert_int_eq(host_ops(&h, gang, "preempt"), 2);
}
END_TEST

START_TEST(new_demand_of_the_queue_ends_the_cooldown)
{
    open_with(0, 0);
    meet_again();
    gang_job_id later = submit_large(); /* the same as the old job, which goes first */
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, old), 1);
    ck_assert_int_eq(host_tasks(&h, later), 0);
}
END_TEST

START_TEST(a_job_that_is_held_and_released_is_new_demand)
{
    open_with(0, 0);
    meet_again();
    MUST(gang_job_hold(h.s, old));
    host_run(&h, 1);
    MUST(gang_job_release(h.s, old));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, old), 1);
}
END_TEST

START_TEST(a_change_of_queues_ends_the_cooldown)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    open_with(0, 0);
    meet_again();
    q.name = "b";
    q.weight = 2;
    EXPECT_RESULT(gang_queue_change(h.s, &q, &error), GANG_OK, &error);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, old), 1);
}
END_TEST

START_TEST(a_copy_remembers_the_stops)
{
    struct gang_job_info info = {.size = sizeof(info)};
    gang_sched *copy;
    open_with(0, 0);
    meet_again();
    MUST(gang_sched_copy(h.s, NULL, NULL, &(gang_cluster *){NULL}, &copy, NULL));
    gang_cluster *cluster = gang_sched_cluster(copy);
    MUST(gang_sched_run(copy, h.now_ns + 10 * minute - 1, NULL, NULL));
    MUST(gang_job_get(copy, gang, &info));
    ck_assert_int_eq(info.tasks, 2);
    MUST(gang_sched_run(copy, h.now_ns + 10 * minute, NULL, NULL));
    MUST(gang_job_get(copy, gang, &info));
    ck_assert_int_eq(info.tasks, 0);
    gang_sched_free(copy);
    gang_cluster_free(cluster);
}
END_TEST

static gang_job_id submit_to(const char *queue, int64_t gpus, const char *where)
{
    struct gang_group_spec group = group_of(1, 1000, gpus * 1000);
    struct gang_job_spec spec = host_job(&group, 1);
    group.where = where;
    spec.queue = queue;
    return host_submit(&h, &spec);
}

/* On two nodes of two GPUs, two queues have a share of two. b uses three, and a job of a takes n0
 * from `gang`. The third of b ends; a gets a third GPU on n1, where `gang` may not run. So b may
 * take n0 back: from the job for which `gang` was stopped. */
static gang_job_id take_in_turns(int64_t cooldown_ns)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    opts.preempt_cooldown_ns = cooldown_ns;
    host_open_with(&h, 2, 2, &opts, &ops);
    q[0].name = "a";
    q[1].name = "b";
    host_queues(&h, q, 2);
    gang_job_id third = submit_to("b", 1, "node = n1");
    gang = submit_to("b", 2, "node = n0");
    host_run(&h, 1);
    gang_job_id taker = submit_to("a", 2, "node = n0");
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, taker), 1);
    ck_assert_int_eq(host_tasks(&h, gang), 0);
    host_end_job(&h, third);
    gang_job_id more = submit_to("a", 1, "node = n1");
    host_run(&h, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, more), 1);
    return taker;
}

START_TEST(a_gang_does_not_preempt_the_job_that_it_was_stopped_for)
{
    gang_job_id taker = take_in_turns(0);
    ck_assert_int_eq(host_tasks(&h, taker), 1);
    ck_assert_int_eq(host_tasks(&h, gang), 0);
    host_run(&h, 10 * minute);
    ck_assert_int_eq(host_tasks(&h, gang), 1);
}
END_TEST

START_TEST(without_a_cooldown_it_does)
{
    gang_job_id taker = take_in_turns(-1);
    ck_assert_int_eq(host_tasks(&h, taker), 0);
    ck_assert_int_eq(host_tasks(&h, gang), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cooldown");
    TCase *tests = tcase_create("cooldown");
    tcase_add_checked_fixture(tests, NULL, teardown);
    tcase_add_test(tests, a_gang_is_not_stopped_twice_for_a_queue_within_the_cooldown);
    tcase_add_test(tests, the_minimum_run_time_of_the_queue_lengthens_the_cooldown);
    tcase_add_test(tests, without_a_cooldown_it_is_stopped_each_time);
    tcase_add_test(tests, new_demand_of_the_queue_ends_the_cooldown);
    tcase_add_test(tests, a_job_that_is_held_and_released_is_new_demand);
    tcase_add_test(tests, a_change_of_queues_ends_the_cooldown);
    tcase_add_test(tests, a_copy_remembers_the_stops);
    tcase_add_test(tests, a_gang_does_not_preempt_the_job_that_it_was_stopped_for);
    tcase_add_test(tests, without_a_cooldown_it_does);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
