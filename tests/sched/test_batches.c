/* SPDX-License-Identifier: Apache-2.0 */
/* The host hears of all tasks that a gang gets in a run in one call: op grow, or op start of a job
 * that starts with its elastic tasks (gang_job_spec.start_full). */
#include "sched/host.h"

enum { GRACE = 60 };

static struct host h;

static void setup(void)
{
    host_open(&h, 2, 4);
}

static void teardown(void)
{
    host_close(&h);
}

static gang_job_id submit_full(int64_t count, int64_t min, int64_t priority)
{
    struct gang_job_spec *job = host_spec("", count, min, priority);
    job->start_full = 1;
    return host_submit(&h, job);
}

static size_t held(gang_job_id id)
{
    return stage_tasks(&h.stage, gang_job_alloc(h.s, id, 0))->count;
}

/* ---- growth ---- */

START_TEST(all_tasks_that_a_gang_gets_in_a_run_come_in_one_call)
{
    gang_job_id id = host_submit(&h, host_spec("", 6, 2, 0));
    struct gang_run_info info = host_run_info(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 1);
    const struct host_event *e = host_last(&h, id, "grow");
    ck_assert_uint_eq(e->task_count, 4);
    for (int64_t i = 0; i < 4; i++)
        ck_assert_int_eq(e->tasks[i], 2 + i);
    ck_assert_int_eq(info.tasks_granted, 6);
    ck_assert_int_eq(host_tasks(&h, id), 6);
}
END_TEST

START_TEST(gangs_that_grow_in_turn_hear_of_it_once_each)
{
    gang_job_id one = host_submit(&h, host_spec("", 8, 1, 0));
    gang_job_id two = host_submit(&h, host_spec("", 8, 1, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, one) + host_tasks(&h, two), 8);
    ck_assert_int_eq(host_ops(&h, one, "grow"), host_tasks(&h, one) > 1);
    ck_assert_int_eq(host_ops(&h, two, "grow"), host_tasks(&h, two) > 1);
}
END_TEST

START_TEST(growth_is_told_after_all_starts)
{
    gang_job_id block = host_gang(&h, "", 6, 0);
    gang_job_id id = host_submit(&h, host_spec("", 4, 1, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    MUST(gang_report_end(h.s, block, 1));
    gang_job_id late = host_gang(&h, "", 2, 0);
    h.count = 0;
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    ck_assert_ptr_nonnull(host_last(&h, late, "start"));
    test_assert(host_last(&h, late, "start") < host_last(&h, id, "grow"));
    host_end_job(&h, late);
}
END_TEST

START_TEST(all_tasks_of_a_refused_call_are_undone_and_go_to_others_in_the_same_run)
{
    h.refuse = "grow";
    gang_job_id id = host_submit(&h, host_spec("", 8, 2, 5));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    gang_job_id block = host_gang(&h, "", 6, 9);
    host_run(&h, 1);
    gang_job_id other = host_submit(&h, host_spec("", 6, 6, 0));
    h.now_ns += 10 * (int64_t)HOST_SECOND;
    MUST(gang_report_end(h.s, block, 1));
    struct gang_run_info info = host_run_info(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    ck_assert_int_eq(host_tasks(&h, other), 6);
    ck_assert_int_eq(info.tasks_granted, 6);
    h.refuse = NULL;
    host_end_job(&h, other);
    host_run(&h, 10 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, id), 8);
    ck_assert_uint_eq(host_last(&h, id, "grow")->task_count, 6);
}
END_TEST

/* The job that the callback `op` ends. */
static gang_job_id ended_during;

static void end_during(struct host *host, const struct host_event *e)
{
    if (e->job == ended_during && strcmp(e->op, "start") == 0)
        MUST(gang_report_end(host->s, e->job, 1));
}

START_TEST(a_gang_that_ends_before_it_hears_of_its_tasks_does_not_hear_of_them)
{
    h.during = end_during;
    ended_during = host_submit(&h, host_spec("", 6, 2, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, ended_during, "grow"), 0);
    ck_assert_int_eq(host_end(&h, ended_during), GANG_END_SUCCESS);
    ck_assert_int_eq(host_gpus_free(&h), 8);
}
END_TEST

static void shrink_during(struct host *host, const struct host_event *e)
{
    if (e->job == ended_during && strcmp(e->op, "start") == 0)
        MUST(gang_job_set_target(host->s, e->job, 3));
}

START_TEST(tasks_that_the_same_run_takes_back_are_not_reported)
{
    h.during = shrink_during;
    ended_during = host_submit(&h, host_spec("", 6, 2, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, ended_during), 3);
    ck_assert_int_eq(host_ops(&h, ended_during, "shrink"), 0);
    ck_assert_int_eq(host_ops(&h, ended_during, "grow"), 1);
    ck_assert_uint_eq(host_last(&h, ended_during, "grow")->task_count, 1);
    ck_assert_int_eq(host_gpus_free(&h), 5);
}
END_TEST

START_TEST(kill_after_shrink_names_the_tasks_that_have_not_stopped)
{
    struct gang_queue_spec q = host_default_queue(GRACE);
    host_queues(&h, &q, 1);
    h.lingers = true;
    gang_job_id id = host_submit(&h, host_spec("", 6, 2, 0));
    host_run(&h, 1);
    MUST(gang_job_set_target(h.s, id, 3));
    host_run(&h, 1);
    ck_assert_uint_eq(host_last(&h, id, "shrink")->task_count, 3);
    host_report(&h, id, 4, GANG_TASK_STOPPED);
    host_run(&h, 1);
    host_run(&h, GRACE);
    const struct host_event *kill = host_last(&h, id, "kill");
    ck_assert_uint_eq(kill->task_count, 2);
    ck_assert_int_eq(kill->tasks[0], 3);
    ck_assert_int_eq(kill->tasks[1], 5);
}
END_TEST

/* Queues "a" and "b" with half of the GPUs each, and eight jobs of "a". */
static void fill_from_a(void)
{
    static struct gang_quota half = {"gpu", 4000, NULL, 0, 0};
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    for (int i = 0; i < 2; i++) {
        q[i].name = i ? "b" : "a";
        q[i].guaranteed = &half;
        q[i].guaranteed_count = 1;
    }
    host_queues(&h, q, 2);
    for (int i = 0; i < 8; i++)
        host_gang(&h, "a", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_gpus_free(&h), 0);
}

static int preempted(void)
{
    int n = 0;
    for (size_t i = 0; i < h.count; i++)
        n += strcmp(h.event[i].op, "preempt") == 0;
    return n;
}

START_TEST(tasks_for_which_others_stopped_come_in_one_call)
{
    fill_from_a();
    gang_job_id id = host_submit(&h, host_spec("b", 4, 1, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    ck_assert_int_eq(preempted(), 4);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 1);
    ck_assert_uint_eq(host_last(&h, id, "grow")->task_count, 3);
}
END_TEST

START_TEST(a_start_with_all_tasks_takes_them_from_others_too)
{
    fill_from_a();
    struct gang_job_spec *job = host_spec("b", 4, 1, 0);
    job->start_full = 1;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 0);
}
END_TEST

START_TEST(others_do_not_stop_again_for_tasks_that_the_host_refused)
{
    fill_from_a();
    h.refuse = "grow";
    gang_job_id id = host_submit(&h, host_spec("b", 4, 1, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 1);
    int before = preempted();
    for (int i = 0; i < 5; i++)
        host_run(&h, 10 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(preempted(), before);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 1);
}
END_TEST

/* ---- a start with all tasks ---- */

static size_t held_at_start;

static void note_start(struct host *host, const struct host_event *e)
{
    if (strcmp(e->op, "start") == 0)
        held_at_start = stage_tasks(&host->stage, e->alloc)->count;
}

START_TEST(elastic_tasks_that_fit_arrive_with_the_start)
{
    h.during = note_start;
    gang_job_id id = submit_full(6, 2, 0);
    struct gang_run_info info = host_run_info(&h, 1);
    ck_assert_uint_eq(held_at_start, 6);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 0);
    ck_assert_int_eq(host_last(&h, id, "start")->state, GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert_int_eq(info.started, 1);
    ck_assert_int_eq(info.tasks_granted, 6);
}
END_TEST

START_TEST(a_start_with_what_fits_grows_later)
{
    gang_job_id block = host_gang(&h, "", 3, 0);
    host_run(&h, 1);
    h.during = note_start;
    gang_job_id id = submit_full(8, 2, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(held_at_start, 5);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 0);
    host_end_job(&h, block);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 1);
    ck_assert_uint_eq(host_last(&h, id, "grow")->task_count, 3);
}
END_TEST

START_TEST(it_takes_no_task_from_a_gang_that_could_start)
{
    h.during = note_start;
    gang_job_id id = submit_full(8, 2, 0), other = host_gang(&h, "", 5, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, other), 5);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    ck_assert_int_eq(host_ops(&h, id, "shrink") + host_ops(&h, id, "preempt"), 0);
}
END_TEST

START_TEST(a_refused_start_is_undone_with_all_tasks)
{
    h.refuse = "start";
    gang_job_id id = submit_full(6, 2, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    ck_assert_int_eq(host_ops(&h, id, "state"), 0);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    ck_assert_int_eq(host_gpus_free(&h), 8);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 0);
    h.refuse = NULL;
    host_run(&h, 10 * (int64_t)HOST_SECOND);
    ck_assert_uint_eq(held(id), 6);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 0);
}
END_TEST

START_TEST(it_starts_with_all_tasks_after_a_restart_too)
{
    struct gang_job_spec *job = host_spec("", 6, 2, 0);
    job->start_full = 1;
    job->loss = GANG_LOSS_RESTART;
    job->max_restarts = 1;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    host_report(&h, id, 0, GANG_TASK_FAILED);
    h.during = note_start;
    host_run(&h, 1);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_ops(&h, id, "start"), 2);
    ck_assert_uint_eq(held_at_start, held(id));
    ck_assert_uint_ge(held_at_start, 4); /* the node of the lost task is avoided */
    ck_assert_int_eq(host_ops(&h, id, "grow"), 0);
}
END_TEST

START_TEST(a_copy_and_a_cut_run_start_it_too)
{
    struct gang_host_ops none = GANG_HOST_OPS_INIT;
    struct gang_run_opts opts = GANG_RUN_OPTS_INIT;
    gang_cluster *c;
    gang_sched *copy;
    gang_job_id id = submit_full(6, 2, 0);
    MUST(gang_sched_copy(h.s, &none, NULL, &c, &copy, NULL));
    MUST(gang_sched_run(copy, 1, NULL, NULL));
    struct gang_job_info info = GANG_JOB_INFO_INIT;
    MUST(gang_job_get(copy, id, &info));
    ck_assert_int_eq(info.tasks, 6);
    ck_assert_int_eq(info.state, GANG_JOB_RUNNING);
    gang_sched_free(copy);
    gang_cluster_free(c);
    opts.max_steps = 2; /* the message, and one try */
    h.now_ns++;
    MUST(gang_sched_run(h.s, h.now_ns, &opts, NULL));
    host_check(&h);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 6);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
}
END_TEST

/* ---- ranks ---- */

static struct gang_rank rank[8];

static size_t read_ranks(gang_job_id id)
{
    size_t count = 0;
    MUST(gang_alloc_ranks(h.stage.c, gang_job_alloc(h.s, id, 0), -1, rank, sizeof(rank[0]), 8,
                          &count));
    return count;
}

START_TEST(a_refilled_task_with_the_number_of_the_lost_one_takes_its_rank)
{
    struct gang_job_spec *job = host_spec("", 5, 5, 0);
    job->loss = GANG_LOSS_REFILL;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    host_report(&h, id, 1, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_uint_eq(host_last(&h, id, "grow")->task_count, 1);
    ck_assert_int_eq(host_last(&h, id, "grow")->tasks[0], 1); /* the number of the lost one */
    ck_assert_uint_eq(read_ranks(id), 5);
    for (int64_t i = 0; i < 5; i++) {
        ck_assert_int_eq(rank[i].rank, i);
        ck_assert(i == 0 || rank[i].task > rank[i - 1].task);
        ck_assert_int_eq(rank[i].task, i); /* and no other rank changes */
    }
}
END_TEST

/* Of a job that runs so many tasks at a time these are all that fit at the start. */
START_TEST(a_full_start_brings_the_tasks_that_may_run_at_a_time)
{
    struct gang_job_spec *job = host_spec("", 6, 1, 0);
    job->start_full = 1;
    job->parallelism = 3;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_uint_eq(held(id), 3);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 0);
    host_report(&h, id, 0, GANG_TASK_SUCCEEDED); /* the next one comes alone */
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    ck_assert_uint_eq(host_last(&h, id, "grow")->task_count, 1);
    ck_assert_int_eq(host_last(&h, id, "grow")->tasks[0], 3);
    MUST(gang_job_requeue(h.s, id)); /* it starts again with those at a time that are left */
    host_run(&h, 1);
    host_run(&h, 60 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(host_ops(&h, id, "start"), 2);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 1);
    ck_assert_uint_eq(held(id), 3);
}
END_TEST

START_TEST(another_value_is_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    struct gang_job_spec *job = host_spec("", 2, 1, 0);
    job->start_full = 2;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_EINVAL, &error, "start_full",
                 "no such value");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batches");
    TCase *tests = tcase_create("batches");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, all_tasks_that_a_gang_gets_in_a_run_come_in_one_call);
    tcase_add_test(tests, gangs_that_grow_in_turn_hear_of_it_once_each);
    tcase_add_test(tests, growth_is_told_after_all_starts);
    tcase_add_test(tests, all_tasks_of_a_refused_call_are_undone_and_go_to_others_in_the_same_run);
    tcase_add_test(tests, a_gang_that_ends_before_it_hears_of_its_tasks_does_not_hear_of_them);
    tcase_add_test(tests, tasks_that_the_same_run_takes_back_are_not_reported);
    tcase_add_test(tests, kill_after_shrink_names_the_tasks_that_have_not_stopped);
    tcase_add_test(tests, tasks_for_which_others_stopped_come_in_one_call);
    tcase_add_test(tests, a_start_with_all_tasks_takes_them_from_others_too);
    tcase_add_test(tests, others_do_not_stop_again_for_tasks_that_the_host_refused);
    tcase_add_test(tests, elastic_tasks_that_fit_arrive_with_the_start);
    tcase_add_test(tests, a_start_with_what_fits_grows_later);
    tcase_add_test(tests, it_takes_no_task_from_a_gang_that_could_start);
    tcase_add_test(tests, a_refused_start_is_undone_with_all_tasks);
    tcase_add_test(tests, it_starts_with_all_tasks_after_a_restart_too);
    tcase_add_test(tests, a_copy_and_a_cut_run_start_it_too);
    tcase_add_test(tests, a_refilled_task_with_the_number_of_the_lost_one_takes_its_rank);
    tcase_add_test(tests, a_full_start_brings_the_tasks_that_may_run_at_a_time);
    tcase_add_test(tests, another_value_is_refused);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
