/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that are out of reach, and may still run (op lost, fence_ns): their places are not given to
 * other tasks before the host says that they are over, or the time of the fence has passed. */
#include "sched/host.h"

enum { BEAT = 10, FENCE = 100 };

static struct host h;

static void open_fenced(int64_t fence_ns, bool has_op, size_t nodes)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.default_queue = "default";
    opts.fence_ns = fence_ns;
    ops.lost = has_op ? host_lost : NULL;
    host_open_with(&h, nodes, 4, &opts, &ops);
    h.refuse = "lost";
    h.answer = GANG_EBUSY;
}

/* A job with one GPU a task. Its task 0 becomes silent. */
static gang_job_id run_silent(int64_t count, int64_t min, int32_t loss, int64_t max_restarts)
{
    struct gang_job_spec *job = host_spec("default", count, min, 0);
    job->heartbeat_ns = BEAT;
    job->loss = loss;
    job->max_restarts = max_restarts;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    host_report(&h, id, 0, GANG_TASK_STARTED);
    host_run(&h, 1);
    host_run(&h, BEAT);
    return id;
}

static void check_event(gang_job_id id, int64_t deadline_ns)
{
    const struct host_event *e = host_last(&h, id, "lost");
    ck_assert_int_eq(host_ops(&h, id, "lost"), 1);
    ck_assert_uint_eq(e->task_count, 1);
    ck_assert_int_eq(e->tasks[0], 0);
    ck_assert_int_eq(e->reason, GANG_REASON_LOSS);
    ck_assert_int_eq(e->deadline_ns, deadline_ns);
    ck_assert_uint_ne(e->alloc, GANG_ID_NONE);
}

static const int32_t keep_on[] = {GANG_LOSS_COUNT, GANG_LOSS_SHRINK};

START_TEST(a_silent_task_keeps_its_gpu_until_it_is_reported_over)
{
    static const int32_t over[] = {GANG_TASK_STOPPED, GANG_TASK_FAILED, GANG_TASK_SUCCEEDED};
    open_fenced(-1, true, 1);
    gang_job_id id = run_silent(4, 1, keep_on[_i % 2], 0);
    check_event(id, INT64_MAX);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    gang_job_id other = host_gang(&h, "default", 1, 0);
    for (int i = 0; i < 5; i++) {
        host_run(&h, (int64_t)1000 * HOST_SECOND);
        ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
        ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_PENDING);
        ck_assert_int_eq(host_gpus_free(&h), 0);
    }
    host_report(&h, id, 0, over[_i / 2]);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    host_close(&h);
}
END_TEST

/* Without the op the tasks may still run: the host has not said that they are over. */
START_TEST(without_the_op_a_silent_task_is_fenced_for_five_minutes)
{
    open_fenced(0, false, 1);
    gang_job_id id = run_silent(4, 1, GANG_LOSS_COUNT, 0);
    gang_job_id other = host_gang(&h, "default", 1, 0);
    host_run(&h, INT64_C(300) * HOST_SECOND - 1);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_PENDING);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    test_assert(strstr(h.log, "were not reported over"));
    host_close(&h);
}
END_TEST

START_TEST(tasks_that_the_host_knows_to_be_over_are_released_at_once)
{
    open_fenced(-1, true, 1);
    h.answer = GANG_ENOENT;
    if (_i)
        h.refuse = NULL; /* 0 */
    gang_job_id id = run_silent(4, 1, GANG_LOSS_COUNT, 0);
    check_event(id, INT64_MAX);
    ck_assert_int_eq(host_gpus_free(&h), 1);
    host_close(&h);
}
END_TEST

/* No task runs twice: also where another device is free. Nothing is due meanwhile. */
START_TEST(a_lost_task_is_placed_again_when_its_fence_has_ended)
{
    open_fenced(FENCE, true, _i ? 2 : 1);
    gang_job_id id = run_silent(4, 4, GANG_LOSS_REFILL, 0);
    check_event(id, h.now_ns + FENCE);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + FENCE - 1);
    host_run(&h, FENCE - 2);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    host_close(&h);
}
END_TEST

/* An elastic gang grows beside its fence. */
START_TEST(a_gang_with_a_lost_task_gets_the_others_that_it_lacks)
{
    open_fenced(FENCE, true, 1);
    gang_job_id other = host_gang(&h, "default", 1, 1);
    gang_job_id id = run_silent(4, 2, GANG_LOSS_REFILL, 0);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    host_end_job(&h, other);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 2);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + FENCE);
    host_run(&h, FENCE);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    host_close(&h);
}
END_TEST

/* The others stop at once, but no gang runs twice. */
START_TEST(a_gang_starts_again_or_ends_when_its_fence_has_ended)
{
    bool restarts = _i % 2;
    open_fenced(FENCE, true, 2);
    gang_job_id id = run_silent(4, 4, restarts ? GANG_LOSS_RESTART : GANG_LOSS_FAIL, 3);
    ck_assert_int_eq(host_ops(&h, id, "preempt"), 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    host_run(&h, 1);
    ck_assert_int_eq(host_gpus_free(&h), 7);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 1000);
    ck_assert_int_eq(host_queue(&h, "default").running, 1);
    if (_i / 2)
        host_report(&h, id, 0, GANG_TASK_STOPPED);
    else
        host_run(&h, FENCE - 2);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    host_run(&h, 1);
    if (restarts)
        ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    else
        ck_assert_int_eq(host_end(&h, id), GANG_END_FAILED);
    ck_assert_int_eq(host_gpus_free(&h), restarts ? 4 : 8);
    host_close(&h);
}
END_TEST

/* _i: the host reports the node lost, or takes it down with core.h. */
START_TEST(tasks_of_a_node_that_comes_back_may_still_run)
{
    open_fenced(-1, true, 1);
    gang_job_id id = host_submit(&h, host_spec("default", 4, 1, 0));
    host_run(&h, 1);
    gang_node_id node = host_node(&h, 0);
    if (_i)
        MUST(gang_node_set_state(h.stage.w, node, GANG_NODE_DOWN));
    else
        MUST(gang_report_node_lost(h.s, node));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "lost"), 1);
    ck_assert_uint_eq(host_last(&h, id, "lost")->task_count, 4);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING); /* all its tasks failed */
    MUST(gang_report_node_up(h.s, node));
    gang_job_id other = host_gang(&h, "default", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_PENDING);
    host_report_all(&h, id, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_RUNNING);
    test_assert(!host_has(&h, id));
    ck_assert_int_eq(host_end(&h, id), GANG_END_FAILED);
    host_close(&h);
}
END_TEST

START_TEST(a_removed_node_keeps_nothing)
{
    open_fenced(-1, true, 2);
    gang_job_id id = host_gang(&h, "default", 8, 0);
    host_run(&h, 1);
    gang_node_id node = host_node(&h, 0);
    if (_i) { /* it is lost before */
        MUST(gang_report_node_lost(h.s, node));
        host_run(&h, 1);
        ck_assert_int_eq(host_tasks(&h, id), 4);
    }
    MUST(gang_node_remove(h.stage.w, node));
    if (_i)
        host_report_all(&h, id, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    if (!_i)
        ck_assert_int_eq(host_tasks(&h, id), 4);
    MUST(gang_report_end(h.s, id, 1));
    host_run(&h, 1);
    test_assert(!host_has(&h, id));
    host_close(&h);
}
END_TEST

START_TEST(the_queue_may_have_its_own_fence)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    open_fenced(FENCE, true, 1);
    q[0].name = "top";
    q[0].fence_ns = _i ? 3 : -1;
    q[1].name = "default";
    q[1].parent = "top";
    host_queues(&h, q, 2);
    gang_job_id id = run_silent(4, 1, GANG_LOSS_COUNT, 0);
    check_event(id, _i ? h.now_ns + 3 : INT64_MAX);
    host_run(&h, 2);
    ck_assert_int_eq(host_gpus_free(&h), 0);
    host_run(&h, _i ? 1 : INT64_C(10000) * HOST_SECOND);
    ck_assert_int_eq(host_gpus_free(&h), _i);
    host_close(&h);
}
END_TEST

START_TEST(limits_count_what_lost_tasks_hold)
{
    struct gang_queue_spec q = host_default_queue(0);
    struct gang_quota four = {"gpu", 4000, NULL, 0, 0};
    open_fenced(FENCE, true, 2);
    q.limit = &four;
    q.limit_count = 1;
    host_queues(&h, &q, 1);
    gang_job_id id = run_silent(4, 4, GANG_LOSS_REFILL, 0);
    gang_job_id other = host_gang(&h, "default", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 4000);
    ck_assert_int_eq(host_queue(&h, "default").tasks, 3);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_PENDING);
    host_run(&h, FENCE);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 4000);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    host_close(&h);
}
END_TEST

START_TEST(a_heartbeat_of_a_lost_task_begins_its_fence_again)
{
    open_fenced(FENCE, true, 1);
    gang_job_id id = run_silent(4, 1, GANG_LOSS_COUNT, 0);
    host_run(&h, FENCE - 1);
    host_report(&h, id, 0, GANG_TASK_HEARTBEAT);
    host_run(&h, 0);
    host_run(&h, FENCE - 1);
    ck_assert_int_eq(host_gpus_free(&h), 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_gpus_free(&h), 1);
    ck_assert_int_eq(host_ops(&h, id, "lost"), 1);
    host_close(&h);
}
END_TEST

/* The rest is preempted, and the place of the lost task stays: the taker needs all the others. */
START_TEST(the_rest_of_a_gang_can_be_preempted)
{
    open_fenced(-1, true, 1);
    gang_job_id id = run_silent(4, 4, GANG_LOSS_COUNT, 0);
    gang_job_id high = host_gang(&h, "default", 3, 1), higher = host_gang(&h, "default", 4, 2);
    struct gang_queue_spec q = host_default_queue(0);
    q.within = GANG_PREEMPT_LOWER;
    host_queues(&h, &q, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, higher), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    host_report(&h, id, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, higher), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

/* The host kills them in the end, whatever the answer. */
START_TEST(tasks_that_stop_on_a_lost_node_keep_their_deadline)
{
    open_fenced(-1, true, 1);
    struct gang_queue_spec q = host_default_queue(50);
    host_queues(&h, &q, 1);
    h.lingers = true;
    gang_job_id id = host_gang(&h, "default", 4, 0);
    host_run(&h, 1);
    MUST(gang_job_requeue(h.s, id));
    host_run(&h, 1);
    if (_i)
        h.refuse = NULL;
    MUST(gang_report_node_lost(h.s, host_node(&h, 0)));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "lost"), 1);
    ck_assert_int_eq(host_job_state(&h, id), _i ? GANG_JOB_PENDING : GANG_JOB_STOPPING);
    host_run(&h, 49);
    ck_assert_int_eq(host_ops(&h, id, "kill"), !_i);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

START_TEST(a_copy_has_the_same_fences)
{
    gang_cluster *cluster;
    gang_sched *copy;
    open_fenced(FENCE, true, 1);
    gang_job_id id = run_silent(4, 1, GANG_LOSS_COUNT, 0);
    gang_job_id other = host_gang(&h, "default", 1, 0);
    host_run(&h, 1);
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    MUST(gang_sched_check(copy, NULL));
    ck_assert_int_eq(gang_sched_next(copy), gang_sched_next(h.s));
    MUST(gang_sched_run(copy, h.now_ns + FENCE - 2, NULL, NULL));
    struct gang_job_info info = GANG_JOB_INFO_INIT;
    MUST(gang_job_get(copy, other, &info));
    ck_assert_int_eq(info.state, GANG_JOB_PENDING);
    MUST(gang_sched_run(copy, h.now_ns + FENCE, NULL, NULL));
    MUST(gang_job_get(copy, other, &info));
    ck_assert_int_eq(info.state, GANG_JOB_RUNNING);
    MUST(gang_sched_check(copy, NULL));
    gang_sched_free(copy);
    gang_cluster_free(cluster);
    test_assert(host_has(&h, id));
    host_close(&h);
}
END_TEST

START_TEST(a_fence_out_of_range_is_refused)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_queue_spec q = host_default_queue(0);
    struct gang_error error = GANG_ERROR_INIT;
    gang_sched *s;
    open_fenced(0, true, 1);
    opts.fence_ns = -2;
    ck_assert_int_eq(gang_sched_new(h.stage.c, &opts, NULL, NULL, &s, NULL), GANG_ERANGE);
    q.fence_ns = -2;
    EXPECT_ERROR(gang_sched_set_queues(h.s, &q, 1, &error), GANG_ERANGE, &error,
                 "queues[0].fence_ns", NULL);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lost");
    TCase *t = tcase_create("lost");
    tcase_add_loop_test(t, a_silent_task_keeps_its_gpu_until_it_is_reported_over, 0, 6);
    tcase_add_test(t, without_the_op_a_silent_task_is_fenced_for_five_minutes);
    tcase_add_loop_test(t, tasks_that_the_host_knows_to_be_over_are_released_at_once, 0, 2);
    tcase_add_loop_test(t, a_lost_task_is_placed_again_when_its_fence_has_ended, 0, 2);
    tcase_add_test(t, a_gang_with_a_lost_task_gets_the_others_that_it_lacks);
    tcase_add_loop_test(t, a_gang_starts_again_or_ends_when_its_fence_has_ended, 0, 4);
    tcase_add_loop_test(t, tasks_of_a_node_that_comes_back_may_still_run, 0, 2);
    tcase_add_loop_test(t, a_removed_node_keeps_nothing, 0, 2);
    tcase_add_loop_test(t, the_queue_may_have_its_own_fence, 0, 2);
    tcase_add_test(t, limits_count_what_lost_tasks_hold);
    tcase_add_test(t, a_heartbeat_of_a_lost_task_begins_its_fence_again);
    tcase_add_test(t, the_rest_of_a_gang_can_be_preempted);
    tcase_add_loop_test(t, tasks_that_stop_on_a_lost_node_keep_their_deadline, 0, 2);
    tcase_add_test(t, a_copy_has_the_same_fences);
    tcase_add_test(t, a_fence_out_of_range_is_refused);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
