/* SPDX-License-Identifier: Apache-2.0 */
/* Lost tasks of a group's minimum are placed again (GANG_LOSS_REFILL), though a target or an idle
 * gang leaves no room for more tasks, and though another group has more than its minimum. */
#include "sched/host.h"

static struct host h;
static gang_job_id job;

/* One to four tasks of group 0, numbers 0 to 3, and task 4, all of group 1. */
static void start_job(int64_t target)
{
    struct gang_group_spec group[] = {host_gpus(4, 1), host_gpus(1, 1)};
    static const int32_t roles[] = {GANG_ROLE_SIDECAR, GANG_ROLE_MEMBER};
    struct gang_job_spec spec = host_job(group, 2);
    host_open(&h, 2, 4);
    spec.loss = GANG_LOSS_REFILL;
    spec.roles = roles;
    job = host_submit(&h, &spec);
    MUST(gang_job_set_target(h.s, job, target));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, job), target);
}

/* Task 4 is lost, comes back alone, and the job ends. */
static void check_comes_back(int64_t others)
{
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_RUNNING);
    ck_assert_uint_eq(host_last(&h, job, "grow")->task_count, 1);
    ck_assert_int_eq(host_last(&h, job, "grow")->tasks[0], 4);
    ck_assert_int_eq(host_tasks(&h, job), others + 1);
    host_report_all(&h, job, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 0);
    ck_assert_int_eq(host_end(&h, job), GANG_END_SUCCESS);
    ck_assert_int_eq(host_gpus_free(&h), 8);
    host_close(&h);
}

START_TEST(a_lost_task_of_the_minimum_comes_back_before_tasks_of_other_groups)
{
    start_job(3);
    host_report(&h, job, 4, GANG_TASK_FAILED);
    host_run(&h, 0);
    check_comes_back(2);
}
END_TEST

START_TEST(a_lower_target_does_not_keep_it_away)
{
    start_job(4);
    host_report(&h, job, 4, GANG_TASK_FAILED);
    MUST(gang_job_set_target(h.s, job, 3));
    host_run(&h, 0);
    check_comes_back(3);
}
END_TEST

/* The host has no work for more tasks: "all are idle". */
START_TEST(an_idle_gang_below_its_minimum_gets_what_it_lacks_of_it)
{
    start_job(2);
    host_report(&h, job, 4, GANG_TASK_FAILED);
    host_report_all(&h, job, 0, GANG_TASK_IDLE);
    host_run(&h, 0);
    check_comes_back(1);
}
END_TEST

/* Its other tasks end meanwhile: it is not over, it waits for the one that was lost. */
START_TEST(a_job_that_lacks_its_minimum_is_not_over)
{
    start_job(2);
    for (int i = 0; i < 2; i++)
        MUST(gang_node_set_state(h.stage.w, host_node(&h, i), GANG_NODE_DRAINING));
    host_report(&h, job, 4, GANG_TASK_FAILED);
    host_report_all(&h, job, 0, GANG_TASK_IDLE);
    host_report(&h, job, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 0);
    for (int i = 0; i < 2; i++)
        MUST(gang_node_set_state(h.stage.w, host_node(&h, i), GANG_NODE_UP));
    host_run(&h, 0);
    check_comes_back(0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("minimum_kept");
    TCase *t = tcase_create("minimum_kept");
    tcase_add_test(t, a_lost_task_of_the_minimum_comes_back_before_tasks_of_other_groups);
    tcase_add_test(t, a_lower_target_does_not_keep_it_away);
    tcase_add_test(t, an_idle_gang_below_its_minimum_gets_what_it_lacks_of_it);
    tcase_add_test(t, a_job_that_lacks_its_minimum_is_not_over);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
