/* SPDX-License-Identifier: Apache-2.0 */
/* Demand that counts for fair shares: that of jobs that could run if no other queue used
 * anything. */
#include "sched/gpu_queues.h"

static struct host h;

/* Two nodes of four GPUs. */
static void open_nodes(void)
{
    queues = quotas = 0;
    host_open(&h, 2, 4);
}

static void close_nodes(void)
{
    host_close(&h);
}

static void set_queues(void)
{
    host_queues(&h, queue, queues);
}

/* A gang that needs `min` of `count` tasks of so many GPUs each; submission does not see that. */
static gang_job_id submit(const char *name, int64_t count, int64_t min, int64_t each,
                          int32_t preemptible)
{
    struct gang_group_spec group = group_of(count, 100, each * 1000);
    struct gang_job_spec job = host_job(&group, 1);
    group.min = 0;
    job.request.min = min;
    job.queue = name;
    job.preemptible = preemptible;
    return host_submit(&h, &job);
}

static void check(const char *name, int64_t demand, int64_t share)
{
    struct gang_queue_info info = host_queue(&h, name);
    ck_assert_msg(info.demand[GANG_KIND_GPU] == demand * 1000, "%s demands %lld, not %lld", name,
                  (long long)info.demand[GANG_KIND_GPU] / 1000, (long long)demand);
    ck_assert_msg(info.share[GANG_KIND_GPU] == share * 1000, "%s has a share of %lld, not %lld",
                  name, (long long)info.share[GANG_KIND_GPU] / 1000, (long long)share);
}

START_TEST(a_gang_larger_than_a_limit_is_no_demand)
{
    add_gpu_queue("root", NULL, -1, 3);
    add_gpu_queue("a", "root", -1, -1);
    add_gpu_queue("b", NULL, -1, -1);
    add_gpu_queue("c", NULL, -1, -1);
    set_queues();
    gang_job_id never = submit("a", 2, 2, 2, GANG_PREEMPTIBLE);
    submit("b", 8, 1, 1, GANG_PREEMPTIBLE);
    submit("c", 8, 1, 1, GANG_PREEMPTIBLE);
    host_run(&h, 0);
    check("root", 0, 0);
    check("a", 0, 0);
    check("b", 8, 4);
    check("c", 8, 4);
    queue[0].limit_count = 0; /* now it could run */
    set_queues();
    host_run(&h, 0);
    check("a", 4, 3); /* 8 / 3 each, and the oldest two get the units that remain */
    check("b", 8, 3);
    check("c", 8, 2);
    queue[0].limit_count = 1;
    set_queues();
    host_run(&h, 0);
    check("a", 0, 0);
    check("c", 8, 4);
    MUST(gang_job_cancel(h.s, never));
    check("a", 0, 0);
    host_run(&h, 0);
    check("a", 0, 0);
}
END_TEST

START_TEST(the_least_of_unlike_groups_is_compared_with_the_limit)
{
    struct gang_group_spec group[2] = {group_of(2, 100, 2000), group_of(2, 100, 1000)};
    add_gpu_queue("a", NULL, -1, 3);
    add_gpu_queue("b", NULL, -1, 3);
    set_queues();
    struct gang_job_spec job = host_job(group, 2);
    group[0].min = group[1].min = 0;
    job.queue = "a";
    job.request.min = 2; /* 1 and 1 are less than 3 */
    host_submit(&h, &job);
    job.queue = "b";
    job.request.min = 3; /* 1, 1 and 2 are more */
    host_submit(&h, &job);
    host_run(&h, 0);
    check("a", 3, 3);
    check("b", 0, 0);
}
END_TEST

START_TEST(a_limit_of_a_child_bounds_the_demand_of_its_parent)
{
    add_gpu_queue("root", NULL, -1, -1);
    add_gpu_queue("a", "root", -1, 1);
    add_gpu_queue("b", "root", -1, 2);
    add_gpu_queue("c", NULL, -1, -1);
    set_queues();
    submit("a", 8, 1, 1, GANG_PREEMPTIBLE);
    submit("b", 8, 1, 1, GANG_PREEMPTIBLE);
    submit("c", 8, 1, 1, GANG_PREEMPTIBLE);
    host_run(&h, 0);
    check("root", 3, 3);
    check("a", 1, 1);
    check("b", 2, 2);
    check("c", 8, 5);
}
END_TEST

START_TEST(non_preemptible_work_above_the_guarantee_is_no_demand)
{
    add_gpu_queue("a", NULL, 3, -1);
    add_gpu_queue("b", NULL, -1, -1);
    set_queues();
    submit("b", 8, 1, 1, GANG_PREEMPTIBLE);
    submit("a", 1, 1, 4, GANG_NOT_PREEMPTIBLE); /* never */
    submit("a", 2, 2, 2, GANG_NOT_PREEMPTIBLE); /* never */
    host_run(&h, 0);
    check("a", 0, 0);
    check("b", 8, 8);
    gang_job_id first = submit("a", 1, 1, 2, GANG_NOT_PREEMPTIBLE);
    gang_job_id second = submit("a", 1, 1, 2, GANG_NOT_PREEMPTIBLE);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, first), 1);
    check("a", 2, 2); /* 2 and 2 are more than 3 */
    check("b", 8, 6);
    MUST(gang_report_end(h.s, first, 1));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, second), 1);
    check("a", 2, 2);
}
END_TEST

START_TEST(non_preemptible_demand_counts_up_to_the_guarantee)
{
    add_gpu_queue("root", NULL, 4, -1);
    add_gpu_queue("a", "root", 3, -1);
    add_gpu_queue("b", "root", 1, -1);
    add_gpu_queue("c", NULL, -1, -1);
    set_queues();
    submit("c", 8, 8, 1, GANG_NOT_PREEMPTIBLE); /* nothing is guaranteed there */
    gang_job_id elastic = submit("a", 8, 1, 1, GANG_NOT_PREEMPTIBLE);
    submit("b", 8, 2, 1, GANG_SEMI_PREEMPTIBLE); /* its minimum is above the guarantee */
    submit("a", 2, 1, 1, GANG_PREEMPTIBLE);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, elastic), 3);
    check("a", 5, 5);
    check("b", 0, 0);
    check("root", 5, 5);
    check("c", 0, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("demand");
    TCase *tests = tcase_create("demand");
    tcase_add_checked_fixture(tests, open_nodes, close_nodes);
    tcase_add_test(tests, a_gang_larger_than_a_limit_is_no_demand);
    tcase_add_test(tests, the_least_of_unlike_groups_is_compared_with_the_limit);
    tcase_add_test(tests, a_limit_of_a_child_bounds_the_demand_of_its_parent);
    tcase_add_test(tests, non_preemptible_work_above_the_guarantee_is_no_demand);
    tcase_add_test(tests, non_preemptible_demand_counts_up_to_the_guarantee);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
