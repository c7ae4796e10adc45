/* SPDX-License-Identifier: Apache-2.0 */
/* Running jobs when tasks end, fail, fall silent or lose their nodes; roles and dependencies of
 * TonY. */
#include "sched/host.h"

static struct host h;

static void open_small(void)
{
    host_open(&h, 2, 4);
}

static void close_small(void)
{
    host_close(&h);
}

/* `count` tasks of one GPU each, at least `min`. */
static struct gang_group_spec gpus(const char *name, int64_t count, int64_t min)
{
    struct gang_group_spec g = group_of(count, 1000, 1000);
    g.name = name;
    g.min = min;
    return g;
}

static gang_job_id submit_gpus(int64_t count, int64_t min, int32_t loss)
{
    struct gang_group_spec g = gpus("worker", count, min);
    struct gang_job_spec job = host_job(&g, 1);
    job.loss = loss;
    return host_submit(&h, &job);
}

static gang_job_id submit_roles(const struct gang_group_spec *g, const int32_t *roles, size_t count)
{
    struct gang_job_spec job = host_job(g, count);
    job.roles = roles;
    return host_submit(&h, &job);
}

static int64_t gpus_free(void)
{
    int64_t sum = 0;
    for (gang_node_id n = gang_node_next(h.stage.c, GANG_ID_NONE); n;
         n = gang_node_next(h.stage.c, n))
        sum += stage_node(&h.stage, n).gpu_free;
    return sum / 1000;
}

/* ---- ends ---- */

START_TEST(a_job_has_succeeded_when_its_last_task_has)
{
    gang_job_id id = submit_gpus(3, 3, GANG_LOSS_COUNT);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    host_report(&h, id, 1, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    ck_assert_int_eq(gpus_free(), 6); /* at once */
    host_report_all(&h, id, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_SUCCESS);
    ck_assert_int_eq(host_ops(&h, id, "preempt"), 0);
    ck_assert_int_eq(gpus_free(), 8);
}
END_TEST

START_TEST(capacity_of_an_ended_task_is_used_in_the_same_run)
{
    gang_job_id first = submit_gpus(8, 8, GANG_LOSS_COUNT), next = submit_gpus(2, 2, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, next), GANG_JOB_PENDING);
    host_report(&h, first, 0, GANG_TASK_SUCCEEDED);
    host_report(&h, first, 7, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, next), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_tasks(&h, first), 6);
    ck_assert_int_eq(host_ops(&h, first, "grow"), 0); /* what ended does not come again */
}
END_TEST

START_TEST(a_job_fails_if_all_its_tasks_did_and_not_before)
{
    gang_job_id some = submit_gpus(2, 2, GANG_LOSS_COUNT), all = submit_gpus(2, 2, GANG_LOSS_COUNT);
    host_run(&h, 1);
    host_report(&h, some, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, some), GANG_JOB_RUNNING);
    host_report(&h, some, 1, GANG_TASK_SUCCEEDED);
    host_report_all(&h, all, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, some), GANG_END_SUCCESS);
    ck_assert_int_eq(host_end(&h, all), GANG_END_FAILED);
}
END_TEST

START_TEST(the_reported_end_of_a_job_ends_all_its_tasks)
{
    gang_job_id well = submit_gpus(2, 2, 0), badly = submit_gpus(2, 2, 0);
    host_run(&h, 1);
    MUST(gang_report_end(h.s, well, 1));
    MUST(gang_report_end(h.s, badly, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, well), GANG_END_SUCCESS);
    ck_assert_int_eq(host_end(&h, badly), GANG_END_FAILED);
    ck_assert_int_eq(host_ops(&h, well, "preempt"), 0);
    ck_assert_int_eq(gpus_free(), 8);
}
END_TEST

START_TEST(tasks_that_succeed_while_they_stop_have_succeeded)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "default";
    q.grace_ns = 60 * (int64_t)HOST_SECOND;
    MUST(gang_sched_set_queues(h.s, &q, 1, NULL));
    gang_job_id low = submit_gpus(8, 8, 0);
    host_run(&h, 1);
    struct gang_group_spec g = gpus("worker", 8, 8);
    struct gang_job_spec job = host_job(&g, 1);
    job.priority = 10;
    h.lingers = true;
    gang_job_id high = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    host_report_all(&h, low, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_SUCCESS);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
}
END_TEST

/* ---- roles ---- */

START_TEST(the_chief_ends_the_job)
{
    const struct gang_group_spec g[] = {gpus("chief", 1, 1), gpus("worker", 3, 3)};
    const int32_t roles[] = {GANG_ROLE_CHIEF, GANG_ROLE_MEMBER};
    gang_job_id a = submit_roles(g, roles, 2), b = submit_roles(g, roles, 2);
    host_run(&h, 1);
    for (int64_t task = 1; task < 4; task++)
        host_report(&h, a, task, task == 1 ? GANG_TASK_FAILED : GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_RUNNING); /* workers alone do not */
    host_report(&h, a, 0, GANG_TASK_SUCCEEDED);
    host_report(&h, b, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, a), GANG_END_SUCCESS);
    ck_assert_int_eq(host_end(&h, b), GANG_END_FAILED);
    ck_assert_int_eq(host_ops(&h, b, "preempt"), 1);
    ck_assert_int_eq(host_last(&h, b, "preempt")->reason, GANG_REASON_END);
}
END_TEST

START_TEST(a_critical_task_that_fails_ends_the_job)
{
    const struct gang_group_spec g[] = {gpus("critical", 2, 2), gpus("worker", 2, 2)};
    const int32_t roles[] = {GANG_ROLE_CRITICAL, GANG_ROLE_MEMBER};
    gang_job_id a = submit_roles(g, roles, 2);
    host_run(&h, 1);
    host_report(&h, a, 2, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_RUNNING);
    host_report(&h, a, 1, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, a), GANG_END_FAILED);
    ck_assert_int_eq(gpus_free(), 8);
}
END_TEST

START_TEST(a_job_ends_without_untracked_tasks_but_fails_if_one_fails)
{
    const struct gang_group_spec g[] = {gpus("ps", 2, 2), gpus("worker", 2, 2)};
    const int32_t roles[] = {GANG_ROLE_UNTRACKED, GANG_ROLE_MEMBER};
    gang_job_id a = submit_roles(g, roles, 2), b = submit_roles(g, roles, 2);
    host_run(&h, 1);
    host_report(&h, a, 2, GANG_TASK_SUCCEEDED);
    host_report(&h, a, 3, GANG_TASK_SUCCEEDED);
    host_report(&h, b, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, a), GANG_END_SUCCESS);
    ck_assert_int_eq(host_last(&h, a, "preempt")->reason, GANG_REASON_END); /* the servers */
    ck_assert_int_eq(host_end(&h, b), GANG_END_FAILED);
}
END_TEST

START_TEST(a_sidecar_neither_ends_nor_fails_the_job)
{
    const struct gang_group_spec g[] = {gpus("worker", 1, 1), gpus("tensorboard", 1, 1)};
    const int32_t roles[] = {GANG_ROLE_MEMBER, GANG_ROLE_SIDECAR};
    struct gang_job_spec job = host_job(g, 2);
    job.roles = roles;
    job.loss = GANG_LOSS_FAIL;
    gang_job_id crashed = host_submit(&h, &job), whole = host_submit(&h, &job);
    host_run(&h, 1);
    host_report(&h, crashed, 1, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, crashed), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_tasks(&h, crashed), 1);
    host_report(&h, crashed, 0, GANG_TASK_SUCCEEDED);
    host_report(&h, whole, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, crashed), GANG_END_SUCCESS);
    ck_assert_int_eq(host_end(&h, whole), GANG_END_SUCCESS);
    ck_assert_int_eq(gpus_free(), 8);
}
END_TEST

/* TonY, TestTaskScheduler: database 1; ps 4 after it; worker 2 after both. */
START_TEST(a_group_is_requested_at_the_last_completion_before_it)
{
    const struct gang_group_spec g[] = {gpus("db", 1, 1), gpus("ps", 4, 4), gpus("worker", 2, 2)};
    const struct gang_group_after after[] = {{1, 0, GANG_AFTER_SUCCESS, 0},
                                             {2, 0, GANG_AFTER_SUCCESS, 0},
                                             {2, 1, GANG_AFTER_SUCCESS, 0}};
    struct gang_job_spec job = host_job(g, 3);
    job.group_after = after;
    job.group_after_count = 3;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    ck_assert_int_eq(host_tasks(&h, id), 1);
    int32_t db = host_last(&h, id, "start")->part;
    host_report_part(&h, id, db, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "start"), 2);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    int32_t ps = host_last(&h, id, "start")->part;
    for (int64_t task = 1; task < 5; task++) { /* numbers go on from part to part */
        ck_assert_int_eq(host_ops(&h, id, "start"), 2);
        host_report_part(&h, id, ps, task, GANG_TASK_SUCCEEDED);
        host_run(&h, 1);
    }
    ck_assert_int_eq(host_ops(&h, id, "start"), 3);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    host_report_all(&h, id, host_last(&h, id, "start")->part, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_SUCCESS);
}
END_TEST

/* After a lowered target all remaining tasks of a group succeeded: the next group need not wait. */
START_TEST(a_group_ends_at_a_lowered_target)
{
    const struct gang_group_spec g[] = {gpus("prepare", 4, 2), gpus("worker", 2, 2)};
    const struct gang_group_after after[] = {{1, 0, GANG_AFTER_SUCCESS, 0}};
    struct gang_job_spec job = host_job(g, 2);
    job.group_after = after;
    job.group_after_count = 1;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    int32_t part = host_last(&h, id, "start")->part;
    MUST(gang_job_set_target(h.s, id, 0)); /* the minima */
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    host_report_all(&h, id, part, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "start"), 2);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    host_report_all(&h, id, host_last(&h, id, "start")->part, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_SUCCESS);
}
END_TEST

START_TEST(a_job_fails_if_a_group_depends_on_the_success_of_a_failed_group)
{
    const struct gang_group_spec g[] = {gpus("prepare", 2, 2), gpus("worker", 2, 2)};
    const struct gang_group_after after[] = {{1, 0, GANG_AFTER_SUCCESS, 0}};
    struct gang_job_spec job = host_job(g, 2);
    job.group_after = after;
    job.group_after_count = 1;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    int32_t part = host_last(&h, id, "start")->part;
    host_report_part(&h, id, part, 0, GANG_TASK_FAILED);
    host_report_part(&h, id, part, 1, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_FAILED);
    ck_assert_int_eq(gpus_free(), 8);
}
END_TEST

/* ---- losses ---- */

START_TEST(a_loss_can_fail_the_job)
{
    gang_job_id id = submit_gpus(4, 4, GANG_LOSS_FAIL);
    host_run(&h, 1);
    host_report(&h, id, 3, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_FAILED);
    ck_assert_int_eq(host_last(&h, id, "preempt")->reason, GANG_REASON_LOSS);
    ck_assert_int_eq(gpus_free(), 8);
}
END_TEST

START_TEST(a_restart_waits_and_avoids_the_node_where_it_failed)
{
    struct gang_group_spec g = gpus("worker", 2, 2);
    struct gang_job_spec job = host_job(&g, 1);
    job.loss = GANG_LOSS_RESTART;
    job.max_restarts = 2;
    job.restart_delay_ns = HOST_SECOND;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    gang_node_id bad = host_node_of(&h, id, 1);
    host_report(&h, id, 0, GANG_TASK_SUCCEEDED); /* which is of no use now */
    host_report(&h, id, 1, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_info(&h, id).restarts, 1);
    ck_assert_int_eq(gpus_free(), 8);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + HOST_SECOND);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    ck_assert_uint_ne(host_node_of(&h, id, 0), bad);
    ck_assert_uint_ne(host_node_of(&h, id, 1), bad);
    host_report_all(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    host_run(&h, HOST_SECOND); /* the delay has doubled */
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, id), 2); /* all nodes are bad: any of them */
    host_report(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_FAILED);
}
END_TEST

/* With least attained service, use before a failure counts: the job restarts behind one that had
 * nothing yet. The use of ended and released tasks counts, too. */
START_TEST(time_before_a_restart_counts_as_service)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_group_spec g = gpus("worker", 8, 8);
    struct gang_job_spec job = host_job(&g, 1);
    q.name = "default";
    q.order = GANG_ORDER_LEAST_SERVED;
    job.loss = GANG_LOSS_RESTART;
    job.max_restarts = 5;
    for (int how = 0; how < 3; how++) { /* the end of the job, of all tasks, of one of them */
        host_queues(&h, &q, 1);
        gang_job_id first = host_submit(&h, &job);
        host_run(&h, 1);
        gang_job_id second = host_submit(&h, &job);
        host_run(&h, INT64_C(100) * HOST_SECOND);
        ck_assert_int_eq(host_tasks(&h, first), 8);
        if (how == 0)
            MUST(gang_report_end(h.s, first, 0));
        else if (how == 1)
            host_report_all(&h, first, 0, GANG_TASK_FAILED);
        else
            host_report(&h, first, 0, GANG_TASK_FAILED);
        host_run(&h, 1);
        ck_assert_int_eq(host_tasks(&h, second), 8);
        ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_PENDING);
        MUST(gang_report_end(h.s, second, 1));
        host_run(&h, 1);
        MUST(gang_report_end(h.s, first, 1));
        host_run(&h, 1);
    }
}
END_TEST

START_TEST(a_restart_waits_for_slow_tasks_to_stop)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "default";
    q.grace_ns = 10 * (int64_t)HOST_SECOND;
    MUST(gang_sched_set_queues(h.s, &q, 1, NULL));
    struct gang_group_spec g = gpus("worker", 2, 2);
    struct gang_job_spec job = host_job(&g, 1);
    job.loss = GANG_LOSS_RESTART;
    job.max_restarts = 1;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    h.lingers = true;
    host_report(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    host_report(&h, id, 1, GANG_TASK_FAILED); /* gone, in whatever way; no second restart */
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_info(&h, id).restarts, 1);
}
END_TEST

START_TEST(lost_tasks_are_placed_again)
{
    gang_job_id id = submit_gpus(4, 4, GANG_LOSS_REFILL);
    host_run(&h, 1);
    host_report(&h, id, 0, GANG_TASK_SUCCEEDED);
    host_report(&h, id, 2, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    ck_assert_int_eq(host_ops(&h, id, "grow"), 1);
    ck_assert_uint_eq(host_last(&h, id, "grow")->task_count, 1);
    ck_assert_int_eq(host_last(&h, id, "grow")->tasks[0], 2); /* not 0: that has ended */
    host_report_all(&h, id, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_SUCCESS);
}
END_TEST

START_TEST(a_gang_that_is_not_refilled_in_time_fails)
{
    struct gang_group_spec g = gpus("worker", 8, 8);
    struct gang_job_spec job = host_job(&g, 1);
    job.loss = GANG_LOSS_REFILL;
    job.refill_ns = HOST_SECOND;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    MUST(gang_report_node_lost(h.s, host_node_of(&h, id, 0)));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + HOST_SECOND);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_end(&h, id), GANG_END_FAILED);
}
END_TEST

START_TEST(a_stale_gang_below_its_minimum_is_preempted)
{
    struct gang_group_spec g = gpus("worker", 8, 8);
    struct gang_job_spec job = host_job(&g, 1);
    job.loss = GANG_LOSS_REFILL;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    gang_node_id lost = host_node_of(&h, id, 0);
    MUST(gang_report_node_lost(h.s, lost));
    host_run(&h, 1);
    host_run(&h, 59 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    ck_assert_int_eq(host_last(&h, id, "preempt")->reason, GANG_REASON_STALE);
    MUST(gang_node_set_state(h.stage.w, lost, GANG_NODE_UP));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 8);
}
END_TEST

START_TEST(a_gang_runs_on_with_fewer_tasks_down_to_its_minimum)
{
    gang_job_id id = submit_gpus(4, 2, GANG_LOSS_SHRINK);
    host_run(&h, 1);
    int grown = host_ops(&h, id, "grow");
    host_report(&h, id, 0, GANG_TASK_FAILED);
    host_report(&h, id, 1, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    ck_assert_int_eq(host_ops(&h, id, "grow"), grown);
    host_report(&h, id, 3, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_FAILED); /* no restart is left: as RESTART */
}
END_TEST

START_TEST(the_tasks_of_a_lost_node_fail)
{
    gang_job_id all = submit_gpus(4, 4, GANG_LOSS_FAIL), other = submit_gpus(4, 4, GANG_LOSS_FAIL);
    host_run(&h, 1);
    gang_node_id lost = host_node_of(&h, all, 0);
    MUST(gang_report_node_lost(h.s, lost));
    MUST(gang_report_node_lost(h.s, 12345));
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, all), GANG_END_FAILED);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_RUNNING);
    ck_assert_int_eq(stage_node(&h.stage, lost).state, GANG_NODE_DOWN);
    ck_assert_str_ne(h.log, "");
}
END_TEST

START_TEST(a_silent_task_is_lost)
{
    struct gang_group_spec g = gpus("worker", 3, 3);
    struct gang_job_spec job = host_job(&g, 1);
    job.heartbeat_ns = HOST_SECOND;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    host_run(&h, 5 * (int64_t)HOST_SECOND); /* none has started yet */
    ck_assert_int_eq(host_tasks(&h, id), 3);
    host_report_all(&h, id, 0, GANG_TASK_STARTED);
    host_run(&h, 1);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + HOST_SECOND);
    host_report(&h, id, 0, GANG_TASK_HEARTBEAT);
    host_report(&h, id, 2, GANG_TASK_HEARTBEAT);
    host_run(&h, HOST_SECOND - 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_end(&h, id), GANG_END_FAILED);
}
END_TEST

START_TEST(heartbeats_end_with_the_task)
{
    struct gang_group_spec g = gpus("worker", 2, 2);
    struct gang_job_spec job = host_job(&g, 1);
    job.heartbeat_ns = HOST_SECOND;
    job.loss = GANG_LOSS_RESTART;
    job.max_restarts = 1;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    host_report_all(&h, id, 0, GANG_TASK_STARTED);
    host_report(&h, id, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    host_report(&h, id, 1, GANG_TASK_HEARTBEAT);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, id), 1);
    host_run(&h, HOST_SECOND); /* the other one is silent: both start again */
    ck_assert_int_eq(host_tasks(&h, id), 2);
    ck_assert_int_eq(host_job_info(&h, id).restarts, 1);
    host_run(&h, 5 * (int64_t)HOST_SECOND); /* the old ones are not asked for */
    ck_assert_int_eq(host_tasks(&h, id), 2);
}
END_TEST

/* ---- fewer and more ---- */

/* HopsML: an idle trial's GPU serves another job at once. */
START_TEST(an_idle_task_is_released_and_placed_again_in_the_same_run)
{
    gang_job_id trials = submit_gpus(8, 2, 0);
    host_run(&h, 1);
    gang_job_id next = submit_gpus(1, 1, 0);
    ck_assert_int_eq(host_tasks(&h, trials), 8);
    host_report(&h, trials, 3, GANG_TASK_IDLE);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, trials), 7);
    ck_assert_int_eq(host_tasks(&h, next), 1);
    MUST(gang_report_end(h.s, next, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, trials), 7); /* it said that it needs no more */
    MUST(gang_job_set_target(h.s, trials, -1));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, trials), 8);
}
END_TEST

START_TEST(an_idle_task_of_the_minimum_is_kept)
{
    gang_job_id id = submit_gpus(4, 3, 0);
    host_run(&h, 1);
    host_report_all(&h, id, 0, GANG_TASK_IDLE);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
}
END_TEST

/* All tasks, at the minimum: no task is released and none comes, so the end need not wait for the
 * rest. */
START_TEST(a_gang_idle_at_its_minimum_grows_no_more)
{
    gang_job_id other = submit_gpus(5, 5, 0);
    gang_job_id id = submit_gpus(4, 3, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    host_report_all(&h, id, 0, GANG_TASK_IDLE);
    MUST(gang_report_end(h.s, other, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    host_report_all(&h, id, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_SUCCESS);
}
END_TEST

START_TEST(tasks_above_the_target_stop_last_groups_and_newest_first)
{
    const struct gang_group_spec g[] = {gpus("a", 4, 1), gpus("b", 4, 1)};
    struct gang_job_spec job = host_job(g, 2);
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 8);
    MUST(gang_job_set_target(h.s, id, 4));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    ck_assert_int_eq(host_last(&h, id, "shrink")->reason, GANG_REASON_TARGET);
    const struct task_list *list = stage_tasks(&h.stage, gang_job_alloc(h.s, id, 0));
    int64_t of_a = 0, newest_of_b = 0;
    for (size_t i = 0; i < list->count; i++) {
        of_a += list->task[i].group == 0;
        newest_of_b = list->task[i].group == 1 ? list->task[i].task : newest_of_b;
    }
    ck_assert_int_eq(of_a, 3);        /* b went down to its minimum first */
    ck_assert_int_eq(newest_of_b, 4); /* of it the first number stays */
    MUST(gang_job_set_target(h.s, id, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    MUST(gang_job_set_target(h.s, id, -1));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 8);
}
END_TEST

/* ---- stopping ---- */

static void set_grace(void)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "default";
    q.grace_ns = 60 * (int64_t)HOST_SECOND;
    MUST(gang_sched_set_queues(h.s, &q, 1, NULL));
    h.lingers = true;
}

START_TEST(a_task_reported_stopped_twice_counts_once)
{
    set_grace();
    gang_job_id id = submit_gpus(4, 4, 0);
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, id));
    for (int i = 0; i < 4; i++)
        host_report(&h, id, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    host_report(&h, id, 0, GANG_TASK_SUCCEEDED);
    host_report(&h, id, 1, GANG_TASK_FAILED);
    host_report(&h, id, 2, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    host_report(&h, id, 3, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_CANCELLED);
}
END_TEST

START_TEST(a_task_that_stops_alone_is_not_released_with_the_rest)
{
    set_grace();
    gang_job_id id = submit_gpus(8, 2, 0);
    host_run(&h, 1);
    MUST(gang_job_set_target(h.s, id, 6));
    host_run(&h, 1);
    ck_assert_uint_eq(host_last(&h, id, "shrink")->task_count, 2);
    MUST(gang_job_cancel(h.s, id));
    host_run(&h, 1);
    for (int64_t task = 0; task < 6; task++)
        host_report(&h, id, task, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    ck_assert_int_eq(gpus_free(), 6); /* tasks 6 and 7 still run */
    host_report(&h, id, 6, GANG_TASK_STOPPED);
    host_report(&h, id, 7, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_CANCELLED);
    ck_assert_int_eq(gpus_free(), 8);
}
END_TEST

/* A lower target leaves the stopping chief nothing to do; the chief has not ended by that. */
START_TEST(a_gang_that_has_not_run_has_not_succeeded)
{
    set_grace();
    const struct gang_group_spec g[] = {gpus("worker", 6, 3), gpus("chief", 2, 2)};
    static const int32_t roles[] = {GANG_ROLE_MEMBER, GANG_ROLE_CHIEF};
    struct gang_job_spec job = host_job(g, 2);
    job.roles = roles;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 8);
    struct gang_group_spec all = gpus("worker", 8, 8);
    struct gang_job_spec urgent = host_job(&all, 1);
    urgent.priority = 5;
    host_submit(&h, &urgent);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_STOPPING);
    MUST(gang_job_set_target(h.s, id, 0));
    host_run(&h, 1);
    host_report_all(&h, id, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
}
END_TEST

START_TEST(an_ended_victim_leaves_its_handover_intact)
{
    set_grace();
    gang_job_id a = submit_gpus(4, 4, 0), b = submit_gpus(4, 4, 0);
    host_run(&h, 1);
    struct gang_group_spec g = gpus("worker", 8, 8);
    struct gang_job_spec job = host_job(&g, 1);
    job.priority = 5;
    gang_job_id high = host_submit(&h, &job);
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, a));
    host_report_all(&h, a, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, a), GANG_END_CANCELLED);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_PENDING);
    host_run(&h, 1);
    host_report_all(&h, b, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, high), 8);
}
END_TEST

/* When the grace has passed, the timer of the job puts the gang back into its order before the stop
 * is drained, and only the drain forgets the tasks that ended. */
START_TEST(a_preempted_gang_is_ordered_without_its_ended_tasks)
{
    set_grace();
    const struct gang_group_spec group[] = {gpus("worker", 3, 1), gpus("server", 1, 1)};
    struct gang_job_spec job = host_job(group, 2);
    gang_job_id older = host_submit(&h, &job);
    host_run(&h, 1);
    host_report(&h, older, 1, GANG_TASK_SUCCEEDED);
    host_report(&h, older, 2, GANG_TASK_SUCCEEDED); /* as many as its minimum */
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, NULL, 8, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, older), GANG_JOB_STOPPING);

    struct box box = {.name = "n2", .cpu = 4000, .memory = GIB, .gpus = 2};
    stage_add(&h.stage, &box);
    gang_job_id newer = submit_gpus(2, 2, 0);
    host_run(&h, 60 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, high), 8);
    ck_assert_int_eq(host_tasks(&h, older), 2);
    ck_assert_int_eq(host_tasks(&h, newer), 0);
}
END_TEST

/* ---- without memory ---- */

/* One run in which the n-th allocation fails, then one with enough memory. True: no allocation
 * failed. */
static bool run_short(long n)
{
    h.stage.mem.calls = 0;
    h.stage.mem.fail_at = n;
    h.now_ns++;
    gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
    bool reached = h.stage.mem.calls >= n;
    h.stage.mem.fail_at = 0;
    ck_assert(r == GANG_OK || r == GANG_ENOMEM);
    host_check(&h);
    host_run(&h, 1);
    host_run(&h, 1);
    return !reached;
}

START_TEST(no_report_is_lost_when_memory_is_short)
{
    const int64_t tasks[] = {3, 1, 0};
    bool done = false;
    for (long n = 1; !done; n++) {
        close_small();
        open_small();
        gang_job_id ends = submit_gpus(4, 4, 0), refills = submit_gpus(2, 2, GANG_LOSS_REFILL);
        struct gang_group_spec g = gpus("worker", 2, 2);
        struct gang_job_spec job = host_job(&g, 1);
        job.loss = GANG_LOSS_RESTART;
        job.max_restarts = 5;
        job.heartbeat_ns = HOST_SECOND;
        gang_job_id restarts = host_submit(&h, &job);
        host_run(&h, 1);
        host_report_all(&h, restarts, 0, GANG_TASK_STARTED);
        MUST(gang_report_tasks(h.s, ends, 0, GANG_ID_NONE, tasks, 3, GANG_TASK_SUCCEEDED));
        host_report(&h, refills, 1, GANG_TASK_FAILED);
        host_report(&h, restarts, 0, GANG_TASK_FAILED);
        done = run_short(n);
        ck_assert_int_eq(host_tasks(&h, ends), 1);
        ck_assert_int_eq(host_tasks(&h, refills), 2);
        ck_assert_int_eq(host_tasks(&h, restarts), 2);
        ck_assert_int_eq(host_job_info(&h, restarts).restarts, 1);
        MUST(gang_report_end(h.s, refills, 1));
        MUST(gang_job_set_target(h.s, ends, 4));
        MUST(gang_report_node_lost(h.s, host_node_of(&h, restarts, 0)));
        host_run(&h, 1);
        ck_assert_int_le(n, 500);
    }
}
END_TEST

/* ---- reports about nothing ---- */

START_TEST(reports_about_unknown_jobs_and_tasks_are_dropped)
{
    gang_job_id id = submit_gpus(2, 2, 0), waits = submit_gpus(8, 8, 0);
    host_report(&h, id, 0, GANG_TASK_HEARTBEAT); /* not taken in yet, but will be by then */
    host_run(&h, 1);
    gang_alloc_id alloc = gang_job_alloc(h.s, id, 0);
    ck_assert_int_eq(gang_report_tasks(h.s, 99, 0, 0, NULL, 0, GANG_TASK_FAILED), GANG_ESTALE);
    const int64_t one = 0;
    MUST(gang_report_tasks(h.s, id, 0, alloc + 12345, &one, 1, GANG_TASK_FAILED));
    host_report(&h, id, 7, GANG_TASK_FAILED);
    host_report_part(&h, id, 3, 0, GANG_TASK_FAILED);
    host_report(&h, id, 0, GANG_TASK_STOPPED); /* not asked */
    host_report(&h, waits, 0, GANG_TASK_FAILED);
    MUST(gang_report_end(h.s, waits, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    ck_assert_int_eq(host_job_state(&h, waits), GANG_JOB_PENDING);
    MUST(gang_report_end(h.s, id, 1));
    host_report_all(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, id), GANG_END_SUCCESS);
    host_report_all(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_str_ne(h.log, "");
    ck_assert_int_eq(host_job_state(&h, waits), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(a_report_that_repeats_a_task_counts_it_once)
{
    gang_job_id id = submit_gpus(3, 3, 0);
    host_run(&h, 1);
    const int64_t tasks[] = {2, 0, 2};
    MUST(gang_report_tasks(h.s, id, 0, GANG_ID_NONE, tasks, 3, GANG_TASK_SUCCEEDED));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 1);
}
END_TEST

static void add_ends(TCase *t)
{
    tcase_add_test(t, a_job_has_succeeded_when_its_last_task_has);
    tcase_add_test(t, capacity_of_an_ended_task_is_used_in_the_same_run);
    tcase_add_test(t, a_job_fails_if_all_its_tasks_did_and_not_before);
    tcase_add_test(t, the_reported_end_of_a_job_ends_all_its_tasks);
    tcase_add_test(t, tasks_that_succeed_while_they_stop_have_succeeded);
    tcase_add_test(t, the_chief_ends_the_job);
    tcase_add_test(t, a_critical_task_that_fails_ends_the_job);
    tcase_add_test(t, a_job_ends_without_untracked_tasks_but_fails_if_one_fails);
    tcase_add_test(t, a_sidecar_neither_ends_nor_fails_the_job);
    tcase_add_test(t, a_group_is_requested_at_the_last_completion_before_it);
    tcase_add_test(t, a_job_fails_if_a_group_depends_on_the_success_of_a_failed_group);
    tcase_add_test(t, a_group_ends_at_a_lowered_target);
}

static void add_losses(TCase *t)
{
    tcase_add_test(t, a_loss_can_fail_the_job);
    tcase_add_test(t, a_restart_waits_and_avoids_the_node_where_it_failed);
    tcase_add_test(t, time_before_a_restart_counts_as_service);
    tcase_add_test(t, a_restart_waits_for_slow_tasks_to_stop);
    tcase_add_test(t, lost_tasks_are_placed_again);
    tcase_add_test(t, a_gang_that_is_not_refilled_in_time_fails);
    tcase_add_test(t, a_stale_gang_below_its_minimum_is_preempted);
    tcase_add_test(t, a_gang_runs_on_with_fewer_tasks_down_to_its_minimum);
    tcase_add_test(t, the_tasks_of_a_lost_node_fail);
    tcase_add_test(t, a_silent_task_is_lost);
    tcase_add_test(t, heartbeats_end_with_the_task);
}

int main(void)
{
    Suite *suite = suite_create("task_reports");
    TCase *t = tcase_create("task_reports");
    tcase_add_checked_fixture(t, open_small, close_small);
    add_ends(t);
    add_losses(t);
    tcase_add_test(t, an_idle_task_is_released_and_placed_again_in_the_same_run);
    tcase_add_test(t, an_idle_task_of_the_minimum_is_kept);
    tcase_add_test(t, a_gang_idle_at_its_minimum_grows_no_more);
    tcase_add_test(t, tasks_above_the_target_stop_last_groups_and_newest_first);
    tcase_add_test(t, a_task_reported_stopped_twice_counts_once);
    tcase_add_test(t, a_task_that_stops_alone_is_not_released_with_the_rest);
    tcase_add_test(t, an_ended_victim_leaves_its_handover_intact);
    tcase_add_test(t, a_preempted_gang_is_ordered_without_its_ended_tasks);
    tcase_add_test(t, a_gang_that_has_not_run_has_not_succeeded);
    tcase_add_test(t, no_report_is_lost_when_memory_is_short);
    tcase_add_test(t, reports_about_unknown_jobs_and_tasks_are_dropped);
    tcase_add_test(t, a_report_that_repeats_a_task_counts_it_once);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
