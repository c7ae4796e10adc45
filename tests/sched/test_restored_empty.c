/* SPDX-License-Identifier: Apache-2.0 */
/* A job may run without any task: some have ended, others were preempted or lost, and the gang
 * waits to grow. In a scheduler that is made anew it runs on, too: it is not started again. */
#include "sched/restored_host.h"

#define SECOND ((int64_t)HOST_SECOND)

static struct host h, anew;
static struct restored kept;
static struct gang_group_spec group;
static struct gang_job_spec spec;
static gang_job_id job;

static void open_one(struct host *host, int64_t quantum_ns)
{
    struct gang_queue_spec q = host_default_queue(0);
    host_open(host, 1, 4);
    q.quantum_ns = quantum_ns;
    q.quantum_gpus = quantum_ns > 0;
    host_queues(host, &q, 1);
    host->now_ns = h.now_ns ? h.now_ns : 1000 * SECOND;
}

/* One task, and up to two more, of one GPU. */
static void start_job(int32_t loss, int64_t gpus)
{
    group = group_of(3, 100, gpus * 1000);
    group.min = 1;
    spec = host_job(&group, 1);
    spec.queue = "default";
    spec.loss = loss;
    spec.time_limit_ns = 500 * SECOND;
    job = host_submit(&h, &spec);
    host_run(&h, SECOND);
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_RUNNING);
}

/* The manager is made anew from what its host kept, and knows the same; also if memory runs out
 * meanwhile. */
static void make_anew(int64_t quantum_ns, bool ended, bool is_short)
{
    struct gang_job_past now = GANG_JOB_PAST_INIT;
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_tasks(&h, job), 0);
    restored_keep(&kept, &h, job);
    if (ended)
        restored_ended(&kept, 0, GANG_TASK_SUCCEEDED);
    open_one(&anew, quantum_ns);
    MUST(gang_node_set_state(anew.stage.w, host_node(&anew, 0), GANG_NODE_DRAINING));
    restored_submit(&kept, &anew, job, &spec);
    if (is_short)
        host_run_short_of_memory(&anew);
    else
        host_run(&anew, 0);
    host_check(&anew);
    MUST(gang_job_get_past(anew.s, job, &now));
    ck_assert_mem_eq(&now, &kept.past, sizeof(now));
    ck_assert_int_eq(host_job_info(&anew, job).ends_ns, host_job_info(&h, job).ends_ns);
}

/* It gets tasks again as one that grows. */
static void check_grows(int64_t tasks)
{
    MUST(gang_node_set_state(anew.stage.w, host_node(&anew, 0), GANG_NODE_UP));
    host_run(&anew, SECOND);
    ck_assert_int_eq(host_ops(&anew, job, "start"), 0);
    ck_assert_int_eq(host_ops(&anew, job, "grow"), 1);
    ck_assert_int_eq(host_tasks(&anew, job), tasks);
    host_check(&anew);
    host_close(&h);
    host_close(&anew);
}

START_TEST(a_job_whose_other_tasks_were_preempted_runs_on)
{
    open_one(&h, 0);
    start_job(GANG_LOSS_COUNT, 1);
    host_report(&h, job, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, SECOND);
    gang_job_id high = host_gang(&h, "default", 4, 5);
    host_run(&h, SECOND);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    make_anew(0, true, _i);
    check_grows(2);
}
END_TEST

START_TEST(a_job_whose_tasks_are_to_be_placed_again_runs_on)
{
    open_one(&h, 0);
    start_job(GANG_LOSS_REFILL, 4);
    MUST(gang_node_set_state(h.stage.w, host_node(&h, 0), GANG_NODE_DRAINING));
    host_report(&h, job, 0, GANG_TASK_FAILED);
    host_run(&h, SECOND);
    make_anew(0, false, _i);
    check_grows(1);
}
END_TEST

/* In time slicing it also keeps its row. */
START_TEST(a_gang_without_tasks_keeps_its_row)
{
    open_one(&h, 100 * SECOND);
    start_job(GANG_LOSS_COUNT, 4);
    gang_job_id other = host_gang(&h, "default", 4, 0);
    host_run(&h, SECOND);
    ck_assert_int_gt(host_job_info(&h, other).slice_row, 0);
    MUST(gang_node_set_state(h.stage.w, host_node(&h, 0), GANG_NODE_DRAINING));
    host_report(&h, job, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, SECOND);
    ck_assert_int_eq(host_job_info(&h, job).slice_row, 1);
    make_anew(100 * SECOND, true, _i);
    ck_assert_int_eq(host_job_info(&anew, job).slice_row, 1);
    check_grows(1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("restored_empty");
    TCase *tc = tcase_create("restored_empty");
    tcase_add_loop_test(tc, a_job_whose_other_tasks_were_preempted_runs_on, 0, 2);
    tcase_add_loop_test(tc, a_job_whose_tasks_are_to_be_placed_again_runs_on, 0, 2);
    tcase_add_loop_test(tc, a_gang_without_tasks_keeps_its_row, 0, 2);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
