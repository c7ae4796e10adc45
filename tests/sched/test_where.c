/* SPDX-License-Identifier: Apache-2.0 */
/* Every path that places a gang keeps it away from the same nodes: those where it failed, those of
 * intact cells, those of starved gangs, those that are reserved. */
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

static struct gang_queue_spec queue[2];
static struct gang_quota four_gpus = {"gpu", 4000, NULL, 0, 0};
static struct gang_cell_spec node_cell = {"node", 1};

/* Queues "a" and "b" on two nodes of four GPUs; each is guaranteed one whole node. */
static void open_cells(int32_t backfill)
{
    host_open(&h, 2, 4);
    for (int i = 0; i < 2; i++) {
        queue[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        queue[i].name = i == 0 ? "a" : "b";
        queue[i].guaranteed = &four_gpus;
        queue[i].guaranteed_count = 1;
        queue[i].cells = &node_cell;
        queue[i].cell_count = 1;
        queue[i].backfill = backfill;
    }
    host_queues(&h, queue, 2);
    host_run(&h, 0);
}

static gang_job_id submit_restarting(const char *name, int64_t limit_s)
{
    struct gang_job_spec *job = host_spec(name, 2, 2, 0);
    job->loss = GANG_LOSS_RESTART;
    job->max_restarts = 5;
    job->time_limit_ns = limit_s * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

static gang_job_id submit_limited(const char *name, int64_t tasks, int64_t limit_s)
{
    struct gang_job_spec *job = host_spec(name, tasks, tasks, 0);
    job->time_limit_ns = limit_s * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

/* It fails where it is, and starts again. Returns the node where it failed. */
static gang_node_id fail_once(gang_job_id id)
{
    gang_node_id node = host_node_of(&h, id, 0);
    host_report(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    return node;
}

START_TEST(a_gang_that_restarts_beside_a_plan_avoids_the_node_where_it_failed)
{
    host_open_queue(&h, 3, _i ? GANG_BACKFILL_CONSERVATIVE : GANG_BACKFILL_EASY);
    submit_limited("q", 4, 100);
    gang_job_id id = submit_restarting("q", 10), head = submit_limited("q", 12, 50);
    ck_assert_int_gt(host_job_info(&h, head).planned_ns, 0);
    gang_node_id first = fail_once(id), second = host_node_of(&h, id, 0);
    ck_assert_uint_ne(second, first);
    fail_once(id); /* it has failed on all nodes where it fits: any of them */
    host_close(&h);
}
END_TEST

/* Tasks of one GPU on the node of this name. */
static gang_job_id submit_on(const char *queue_name, size_t node, int64_t tasks, int64_t limit_s)
{
    struct gang_group_spec g = host_gpus(tasks, tasks);
    char where[32];
    snprintf(where, sizeof(where), "node = n%zu", node);
    g.where = where;
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = queue_name;
    job.time_limit_ns = limit_s * SECOND;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 0);
    return id;
}

/* The node that placement prefers holds a plan of another queue; of the two others one is where the
 * gang failed. */
START_TEST(a_restart_that_plans_keep_from_the_best_node_still_avoids_where_it_failed)
{
    static const size_t others[3][2] = {{1, 2}, {0, 2}, {0, 1}};
    host_open(&h, 3, 4);
    for (int i = 0; i < 2; i++) {
        queue[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        queue[i].name = i == 0 ? "a" : "b";
        queue[i].backfill = i == 0 ? GANG_BACKFILL_NONE : GANG_BACKFILL_EASY;
    }
    host_queues(&h, queue, 2);
    size_t failed_on = (size_t)_i % 3, planned_on = others[failed_on][_i / 3];
    size_t left = 3 - failed_on - planned_on;
    gang_job_id filler[2] = {submit_on("a", planned_on, 4, 0), submit_on("a", left, 4, 0)};
    gang_job_id id = submit_restarting("a", 1000);
    MUST(gang_report_end(h.s, filler[0], 1));
    host_end_job(&h, filler[1]);
    submit_on("b", planned_on, 2, 100);
    submit_on("b", left, 1, 0);
    gang_job_id head = submit_on("b", planned_on, 4, 50);
    ck_assert_int_gt(host_job_info(&h, head).planned_ns, 0);
    gang_node_id first = fail_once(id);
    ck_assert_uint_ne(host_node_of(&h, id, 0), first);
    host_close(&h);
}
END_TEST

struct planned {
    gang_job_id job;
    gang_node_id node;
    int64_t start_ns;
};

static int32_t find_plan(const struct gang_plan_item *item, void *user)
{
    struct planned *p = user;
    if (item->what == GANG_PLAN_START && item->id == p->job) {
        p->node = item->nodes[0];
        p->start_ns = item->start_ns;
    }
    return 0;
}

/* The gang fails on the first node or (odd) on the second. Then both come free at 100 s; or
 * (_i > 1) the other one later: the plan is not later for it. */
START_TEST(a_planned_start_counts_on_nodes_where_the_gang_did_not_fail)
{
    host_open_queue(&h, 2, GANG_BACKFILL_EASY);
    gang_job_id first = _i % 2 ? submit_on("q", 0, 4, 0) : GANG_ID_NONE;
    struct gang_job_spec *job = host_spec("q", 1, 1, 0);
    job->loss = GANG_LOSS_RESTART;
    job->max_restarts = 5;
    job->restart_delay_ns = SECOND;
    job->time_limit_ns = 10 * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    gang_node_id node = host_node_of(&h, id, 0);
    host_report(&h, id, 0, GANG_TASK_FAILED);
    if (first != GANG_ID_NONE)
        host_end_job(&h, first);
    host_run(&h, 0);
    gang_job_id filler[2];
    for (size_t i = 0; i < 2; i++)
        filler[i] = submit_on("q", i, 4, _i > 1 && i != (size_t)_i % 2 ? 200 : 100);
    ck_assert_uint_eq(host_node_of(&h, filler[_i % 2], 0), node);
    host_run(&h, SECOND);
    struct planned plan = {id, GANG_ID_NONE, 0};
    MUST(gang_plan_each(h.s, find_plan, &plan));
    ck_assert_int_eq(plan.start_ns, host_job_info(&h, filler[0]).started_ns + 100 * SECOND);
    if (_i > 1)
        ck_assert_uint_eq(plan.node, node);
    else
        ck_assert_uint_ne(plan.node, node);
    host_close(&h);
}
END_TEST

static int64_t free_on(gang_node_id node)
{
    return stage_node(&h.stage, node).gpu_free / 1000;
}

/* Four jobs of "a", which is at its limit: two on either node. */
static void fill_to_the_limit(void)
{
    queue[0].limit = &four_gpus;
    queue[0].limit_count = 1;
    host_queues(&h, queue, 2);
    host_gang(&h, "a", 2, 0);
    host_run(&h, 1);
    gang_job_id filler = host_gang(&h, "b", 2, 0);
    host_run(&h, 1);
    gang_job_id one = host_gang(&h, "a", 1, 0), other = host_gang(&h, "a", 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(host_node_of(&h, one, 0), host_node_of(&h, other, 0));
    MUST(gang_report_end(h.s, filler, 1));
    host_run(&h, 1);
    ck_assert_int_eq(free_on(host_node_of(&h, one, 0)), 2);
}

static gang_job_id submit_fixed(const char *name, int64_t priority)
{
    struct gang_job_spec *job = host_spec(name, 1, 1, priority);
    job->preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    return id;
}

START_TEST(preemption_for_a_non_preemptible_job_keeps_other_cells_whole)
{
    open_cells(_i ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE);
    fill_to_the_limit();
    gang_job_id first = submit_fixed("a", 10);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING);
    gang_node_id node = host_node_of(&h, first, 0);
    gang_job_id elsewhere[8];
    size_t elsewhere_count = 0;
    while (host_gpus_free(&h) > 0) { /* jobs of "b" fill both nodes, and then the first one alone */
        gang_job_id filler = host_gang(&h, "b", 1, 0);
        host_run(&h, 1);
        elsewhere[elsewhere_count] = filler;
        elsewhere_count += host_node_of(&h, filler, 0) != node;
    }
    while (elsewhere_count > 0)
        MUST(gang_report_end(h.s, elsewhere[--elsewhere_count], 1));
    host_run(&h, 1);
    ck_assert_int_eq(free_on(node), 0);
    ck_assert_int_gt(host_gpus_free(&h), 0);
    gang_job_id second = submit_fixed("a", 10);
    if (host_job_state(&h, second) == GANG_JOB_RUNNING)
        ck_assert_uint_eq(host_node_of(&h, second, 0), node);
    host_close(&h);
}
END_TEST

/* The free GPUs lie in the cell of the other queue, so the gang has a planned start only. */
START_TEST(a_non_preemptible_job_with_a_plan_preempts_where_the_cell_is_broken)
{
    open_cells(GANG_BACKFILL_EASY);
    gang_node_id broken = host_node_of(&h, submit_fixed("a", 10), 0);
    for (int i = 0; i < 3; i++) {
        gang_job_id low = host_gang(&h, "a", 1, 0);
        host_run(&h, 1);
        ck_assert_uint_eq(host_node_of(&h, low, 0), broken);
    }
    submit_limited("b", 1, 100);
    gang_job_id head = submit_limited("b", 4, 50);
    ck_assert_int_gt(host_job_info(&h, head).planned_ns, 0);
    struct gang_job_spec *job = host_spec("a", 1, 1, 10);
    job->preemptible = GANG_NOT_PREEMPTIBLE;
    job->time_limit_ns = 50 * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert_uint_eq(host_node_of(&h, id, 0), broken);
    host_close(&h);
}
END_TEST

START_TEST(preemption_avoids_the_node_where_the_gang_failed)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    struct gang_job_spec *job = host_spec("q", 1, 1, 10);
    job->loss = GANG_LOSS_RESTART;
    job->max_restarts = 5;
    job->restart_delay_ns = SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    gang_node_id node = host_node_of(&h, id, 0);
    host_report(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    for (int i = 0; i < 8; i++)
        host_gang(&h, "q", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_gpus_free(&h), 0);
    host_run(&h, SECOND);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert_uint_ne(host_node_of(&h, id, 0), node);
    host_close(&h);
}
END_TEST

/* More tasks that cannot be taken back go where the cell of the other queue stays whole. */
START_TEST(growth_keeps_cells_of_other_queues_whole)
{
    open_cells(GANG_BACKFILL_NONE);
    gang_job_id blocker = host_gang(&h, "a", 3, 0);
    host_run(&h, 1);
    struct gang_job_spec *job = host_spec("a", 2, 1, 0);
    job->preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    gang_node_id node = host_node_of(&h, id, 0);
    (void)blocker;
    if (host_tasks(&h, id) == 2)
        ck_assert_uint_eq(host_node_of(&h, id, 1), node);
    MUST(gang_report_end(h.s, blocker, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    ck_assert_uint_eq(host_node_of(&h, id, 1), node);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("where");
    TCase *c = tcase_create("where");
    tcase_add_loop_test(c, a_gang_that_restarts_beside_a_plan_avoids_the_node_where_it_failed, 0,
                        2);
    tcase_add_loop_test(
        c, a_restart_that_plans_keep_from_the_best_node_still_avoids_where_it_failed, 0, 6);
    tcase_add_loop_test(c, a_planned_start_counts_on_nodes_where_the_gang_did_not_fail, 0, 4);
    tcase_add_loop_test(c, preemption_for_a_non_preemptible_job_keeps_other_cells_whole, 0, 2);
    tcase_add_test(c, a_non_preemptible_job_with_a_plan_preempts_where_the_cell_is_broken);
    tcase_add_test(c, preemption_avoids_the_node_where_the_gang_failed);
    tcase_add_test(c, growth_keeps_cells_of_other_queues_whole);
    suite_add_tcase(s, c);
    return run_suite(s);
}
