/* SPDX-License-Identifier: Apache-2.0 */
/* Strict order (GANG_BLOCK_STRICT) while the first job waits until another one has ended. */
#include "sched/host.h"

static struct host h;
static gang_job_id running, first, last;

/* One job of two tasks, one at a time, runs. Two jobs wait until it has ended: the first for all
 * GPUs, the last for one. The running job is behind the first and before the last, or behind
 * both. */
static void open_world(int64_t priority_of_last)
{
    struct gang_queue_spec q = host_default_queue(0);
    host_open(&h, 1, 4);
    q.block = GANG_BLOCK_STRICT;
    q.max_running = 1;
    q.within = GANG_PREEMPT_NEVER;
    host_queues(&h, &q, 1);
    struct gang_job_spec *job = host_spec("default", 2, 1, 0);
    job->parallelism = 1;
    running = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, running), 1);
    first = host_gang(&h, "default", 4, 5);
    last = host_gang(&h, "default", 1, priority_of_last);
    host_run(&h, 1);
}

/* Its first task has ended, and it has none: it can end only if it grows. */
START_TEST(a_running_job_grows_before_one_that_waits_for_its_end)
{
    open_world(_i == 0 ? 4 : -1);
    host_report(&h, running, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, running), 1);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, last), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

START_TEST(those_that_wait_start_in_order)
{
    open_world(_i == 0 ? 4 : -1);
    for (int64_t task = 0; task < 2; task++) {
        host_report(&h, running, task, GANG_TASK_SUCCEEDED);
        host_run(&h, 1);
    }
    ck_assert_int_eq(host_end(&h, running), GANG_END_SUCCESS);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, last), GANG_JOB_PENDING);
    host_report_all(&h, first, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, last), GANG_JOB_RUNNING);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("strict_order");
    TCase *t = tcase_create("strict_order");
    tcase_add_loop_test(t, a_running_job_grows_before_one_that_waits_for_its_end, 0, 2);
    tcase_add_loop_test(t, those_that_wait_start_in_order, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
