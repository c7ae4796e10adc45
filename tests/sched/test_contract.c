/* SPDX-License-Identifier: Apache-2.0 */
/* What a host may do to the cluster of a scheduler, and what becomes of its jobs then. */
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

/* A copy of the scheduler, with its cluster. */
struct copy {
    gang_cluster *cluster;
    gang_sched *s;
};

static struct copy copy_open(const struct gang_host_ops *ops, void *user)
{
    struct copy copy;
    MUST(gang_sched_copy(h.s, ops, user, &copy.cluster, &copy.s, NULL));
    return copy;
}

static void copy_close(struct copy *copy)
{
    gang_sched_free(copy->s);
    gang_cluster_free(copy->cluster);
}

/* ---- allocations of jobs belong to the scheduler --------------------------------------------- */

/* No worker of the host changes the allocation, and nothing is lost by the attempts. */
static void try_to_change(gang_worker *w, gang_alloc_id alloc, int64_t tasks)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    int64_t first = 0, granted = 7;
    ck_assert_int_eq(gang_alloc_free(w, alloc), GANG_EBUSY);
    ck_assert_int_eq(gang_alloc_shrink(w, alloc, &first, 1, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_alloc_grow(w, alloc, 0, 1, &granted, NULL), GANG_EBUSY);
    ck_assert_int_eq(granted, 0);
    MUST(gang_alloc_get(gang_worker_cluster(w), alloc, &info));
    ck_assert_int_eq(info.tasks, tasks);
}

START_TEST(no_host_frees_or_changes_the_allocation_of_a_job)
{
    gang_job_id job = host_submit(&h, host_spec(NULL, 6, 2, 0));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, job), 6);
    gang_alloc_id alloc = gang_job_alloc(h.s, job, 0);
    try_to_change(h.stage.w, alloc, 6);
    host_report(&h, job, 0, GANG_TASK_SUCCEEDED); /* the scheduler itself changes it */
    host_run(&h, 0);
    try_to_change(h.stage.w, alloc, 5);
    host_end_job(&h, job);
    ck_assert_int_eq(host_end(&h, job), GANG_END_SUCCESS);
    ck_assert_int_eq(gang_alloc_free(h.stage.w, alloc), GANG_ESTALE);
    ck_assert_int_eq(host_gpus_free(&h), 8);
}
END_TEST

START_TEST(allocations_of_the_host_stay_its_own)
{
    struct gang_group_spec g = host_gpus(2, 1);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&h.stage, &spec);
    gang_alloc_id own;
    gang_job_id job = host_gang(&h, NULL, 4, 0);
    MUST(gang_alloc(h.stage.w, request, &own, NULL));
    host_run(&h, 0);
    MUST(gang_alloc_grow(h.stage.w, own, 0, 1, NULL, NULL));
    MUST(gang_alloc_free(h.stage.w, own));
    host_end_job(&h, job);
    MUST(gang_alloc(h.stage.w, request, &own, NULL)); /* in a record that the job had */
    MUST(gang_alloc_free(h.stage.w, own));
    gang_request_free(request);
}
END_TEST

/* What victims hold until the preemptor gets it is no more the host's. */
START_TEST(places_of_stopping_tasks_are_kept_too)
{
    host_linger(&h, GRACE);
    gang_job_id low = host_gang(&h, NULL, 8, 0);
    host_run(&h, 0);
    gang_alloc_id alloc = gang_job_alloc(h.s, low, 0);
    gang_job_id high = host_gang(&h, NULL, 8, 5);
    host_run(&h, 0);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(gang_alloc_free(h.stage.w, alloc), GANG_EBUSY);
    host_run(&h, GRACE);
    ck_assert_int_eq(host_tasks(&h, high), 8);
}
END_TEST

START_TEST(a_copy_keeps_what_its_original_keeps)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_group_spec g = host_gpus(2, 2);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&h.stage, &spec);
    gang_alloc_id own;
    gang_worker *w;
    MUST(gang_alloc(h.stage.w, request, &own, NULL));
    gang_job_id job = host_gang(&h, NULL, 4, 0);
    host_run(&h, 0);
    struct copy copy = copy_open(&ops, NULL);
    MUST(gang_worker_new(copy.cluster, &w));
    try_to_change(w, gang_job_alloc(copy.s, job, 0), 4);
    MUST(gang_alloc_free(w, own));
    MUST(gang_report_end(copy.s, job, 1));
    MUST(gang_sched_run(copy.s, h.now_ns, NULL, NULL));
    MUST(gang_sched_check(copy.s, NULL));
    ck_assert_uint_eq(gang_alloc_next(copy.cluster, GANG_ID_NONE), GANG_ID_NONE);
    gang_worker_free(w);
    copy_close(&copy);
    MUST(gang_alloc_free(h.stage.w, own));
    gang_request_free(request);
}
END_TEST

/* Two schedulers on one cluster: neither changes what the other holds; nothing is left behind. */
START_TEST(the_end_of_a_scheduler_frees_what_it_kept)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_job_spec *spec = host_spec("default", 4, 4, 0);
    gang_sched *other;
    gang_job_id job;
    MUST(gang_sched_new(h.stage.c, &opts, NULL, NULL, &other, NULL));
    MUST(gang_job_submit(other, spec, &job, NULL));
    MUST(gang_sched_run(other, 0, NULL, NULL));
    ck_assert_int_eq(gang_alloc_free(h.stage.w, gang_job_alloc(other, job, 0)), GANG_EBUSY);
    ck_assert_int_eq(host_gpus_free(&h), 4);
    gang_sched_free(other);
    ck_assert_int_eq(host_gpus_free(&h), 8);
    host_end_job(&h, host_gang(&h, NULL, 8, 0));
}
END_TEST

/* ---- nodes that go --------------------------------------------------------------------------- */

/* A job of four tasks fills one of the two nodes. */
static gang_job_id one_node_job(int32_t loss, gang_node_id *node)
{
    struct gang_job_spec *spec = host_spec(NULL, 4, 4, 0);
    spec->loss = loss;
    spec->max_restarts = 5;
    gang_job_id job = host_submit(&h, spec);
    host_run(&h, 1);
    *node = host_node_of(&h, job, 0);
    return job;
}

enum { GO_DOWN, GO_AWAY, GO_REPORTED };

static void take_node(gang_node_id node, int how)
{
    if (how == GO_DOWN)
        MUST(gang_node_set_state(h.stage.w, node, GANG_NODE_DOWN));
    else if (how == GO_AWAY)
        MUST(gang_node_remove(h.stage.w, node));
    else
        MUST(gang_report_node_lost(h.s, node));
}

START_TEST(tasks_on_a_node_that_goes_are_lost)
{
    gang_node_id node;
    gang_job_id fails = one_node_job(GANG_LOSS_FAIL, &node);
    take_node(node, _i);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, fails), GANG_END_FAILED);
    ck_assert(!host_has(&h, fails));
    if (_i == GO_AWAY)
        ck_assert_int_eq(gang_node_count(h.stage.c), 1);
    else
        ck_assert_int_eq(stage_node(&h.stage, node).state, GANG_NODE_DOWN);
}
END_TEST

START_TEST(a_job_restarts_where_nodes_are_left)
{
    gang_node_id node;
    gang_job_id job = one_node_job(GANG_LOSS_RESTART, &node);
    take_node(node, _i);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_info(&h, job).restarts, 1);
    ck_assert_uint_ne(host_node_of(&h, job, 0), node);
    host_run(&h, 1); /* it is lost once */
    ck_assert_int_eq(host_job_info(&h, job).restarts, 1);
}
END_TEST

/* Two nodes at once are one loss. */
START_TEST(a_gang_over_two_nodes_restarts_once)
{
    struct gang_job_spec *spec = host_spec(NULL, 8, 8, 0);
    spec->loss = GANG_LOSS_RESTART;
    spec->max_restarts = 5;
    gang_job_id job = host_submit(&h, spec);
    host_run(&h, 1);
    take_node(host_node(&h, 0), GO_DOWN);
    take_node(host_node(&h, 1), GO_DOWN);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_info(&h, job).restarts, 1);
    ck_assert_int_eq(host_gpus_free(&h), 8);
}
END_TEST

START_TEST(what_was_reported_before_the_node_went_counts)
{
    gang_node_id node;
    gang_job_id job = one_node_job(GANG_LOSS_FAIL, &node);
    MUST(gang_report_end(h.s, job, 1));
    take_node(node, _i);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, job), GANG_END_SUCCESS);
}
END_TEST

START_TEST(a_victim_on_a_node_that_goes_has_stopped)
{
    gang_node_id node;
    host_linger(&h, GRACE);
    gang_job_id job = one_node_job(GANG_LOSS_COUNT, &node);
    MUST(gang_job_cancel(h.s, job));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_STOPPING);
    take_node(node, _i);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, job), GANG_END_CANCELLED);
}
END_TEST

START_TEST(up_after_lost_leaves_the_node_up)
{
    gang_node_id node;
    gang_job_id job = one_node_job(GANG_LOSS_FAIL, &node);
    MUST(gang_report_node_lost(h.s, node));
    MUST(gang_report_node_up(h.s, node));
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, job), GANG_END_FAILED);
    ck_assert_int_eq(stage_node(&h.stage, node).state, GANG_NODE_UP);
    gang_job_id both = host_gang(&h, NULL, 8, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, both), 8);
}
END_TEST

START_TEST(a_job_adopted_on_a_node_that_was_down_stays)
{
    struct gang_job_spec *spec = host_spec("default", 1, 1, 0);
    struct gang_running_spec place = {.node = "n1"};
    gang_node_id node = host_node(&h, 1);
    take_node(node, GO_DOWN);
    host_run(&h, 1);
    spec->running = 1;
    spec->places = &place;
    spec->place_count = 1;
    gang_job_id job = host_submit(&h, spec);
    host_run(&h, 1);
    MUST(gang_node_set_state(h.stage.w, host_node(&h, 0), GANG_NODE_DRAINING));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, job), 1);
    MUST(gang_node_set_state(h.stage.w, node, GANG_NODE_UP));
    host_run(&h, 1);
    take_node(node, GO_DOWN); /* now it is lost */
    host_run(&h, 1);
    ck_assert(!host_has(&h, job));
}
END_TEST

/* In the copy, nodes that go take their tasks along; without an answer these might still run. */
static int32_t nothing_runs(const struct gang_event *e, void *user)
{
    (void)e, (void)user;
    return 0;
}

START_TEST(a_copy_sees_what_its_original_did_not_see_yet)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_job_info info = GANG_JOB_INFO_INIT;
    gang_node_id node;
    gang_job_id job = one_node_job(GANG_LOSS_FAIL, &node);
    take_node(node, _i);
    ops.lost = nothing_runs;
    struct copy copy = copy_open(&ops, NULL);
    MUST(gang_sched_run(copy.s, h.now_ns + 1, NULL, NULL));
    ck_assert_int_eq(gang_job_get(copy.s, job, &info), GANG_ESTALE);
    copy_close(&copy);
    ck_assert_int_eq(host_tasks(&h, job), 4);
}
END_TEST

START_TEST(unknown_nodes_are_logged)
{
    ck_assert_int_eq(gang_report_node_up(h.s, GANG_ID_NONE), GANG_EINVAL);
    ck_assert_int_eq(gang_report_node_draining(h.s, GANG_ID_NONE, 0), GANG_EINVAL);
    MUST(gang_report_node_up(h.s, 12345));
    host_run(&h, 1);
    ck_assert_str_eq(h.log, "a report about an unknown node is ignored");
    h.log[0] = 0;
    MUST(gang_report_node_draining(h.s, 12345, 0));
    host_run(&h, 1);
    ck_assert_str_eq(h.log, "a report about an unknown node is ignored");
}
END_TEST

static void add_nodes(Suite *suite)
{
    TCase *tests = tcase_create("nodes");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, tasks_on_a_node_that_goes_are_lost, 0, 3);
    tcase_add_loop_test(tests, a_job_restarts_where_nodes_are_left, 0, 3);
    tcase_add_test(tests, a_gang_over_two_nodes_restarts_once);
    tcase_add_loop_test(tests, what_was_reported_before_the_node_went_counts, 0, 3);
    tcase_add_loop_test(tests, a_victim_on_a_node_that_goes_has_stopped, 0, 3);
    tcase_add_test(tests, up_after_lost_leaves_the_node_up);
    tcase_add_test(tests, a_job_adopted_on_a_node_that_was_down_stays);
    tcase_add_loop_test(tests, a_copy_sees_what_its_original_did_not_see_yet, 0, 3);
    tcase_add_test(tests, unknown_nodes_are_logged);
    suite_add_tcase(suite, tests);
}

/* ---- drains ---------------------------------------------------------------------------------- */

static void open_slow(void)
{
    host_open_slow(&h, 2, 4, GRACE);
}

/* A job fills one of the two nodes, which drains until then. */
static gang_job_id draining_job(int64_t deadline_ns, gang_node_id *node)
{
    gang_job_id job = one_node_job(GANG_LOSS_FAIL, node);
    MUST(gang_report_node_draining(h.s, *node, deadline_ns));
    host_run(&h, 1);
    return job;
}

START_TEST(a_gang_is_asked_to_stop_so_that_its_grace_ends_with_the_deadline)
{
    gang_node_id node;
    gang_job_id job = one_node_job(GANG_LOSS_FAIL, &node);
    gang_job_id fixed = host_gang(&h, NULL, 4, 0);
    host_run(&h, 0);
    MUST(gang_report_node_draining(h.s, node, 1000));
    host_run(&h, 1);
    ck_assert_int_eq(stage_node(&h.stage, node).state, GANG_NODE_DRAINING);
    ck_assert_int_eq(gang_sched_next(h.s), 1000 - GRACE);
    host_run(&h, 1000 - GRACE - 1 - h.now_ns);
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_RUNNING);
    host_run(&h, 1);
    const struct host_event *e = host_last(&h, job, "preempt");
    ck_assert_int_eq(e->reason, GANG_REASON_DRAIN);
    ck_assert_int_eq(e->deadline_ns, 1000);
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_STOPPING);
    host_run(&h, GRACE);
    ck_assert_int_eq(host_ops(&h, job, "kill"), 1);
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_PENDING); /* no failure: it waits again */
    ck_assert_int_eq(host_ops(&h, fixed, "preempt"), 0);
    ck_assert_int_eq(stage_node(&h.stage, node).gpu_free, 4000);
    host_end_job(&h, fixed);
    ck_assert_int_eq(host_tasks(&h, job), 4);
    ck_assert_uint_ne(host_node_of(&h, job, 0), node);
}
END_TEST

START_TEST(a_near_deadline_asks_at_once_and_no_deadline_never)
{
    gang_node_id node;
    gang_job_id job = draining_job(INT64_MAX, &node);
    ck_assert(host_is_idle(&h));
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_RUNNING);
    MUST(gang_report_node_draining(h.s, node, _i ? INT64_MIN : h.now_ns + 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_last(&h, job, "preempt")->deadline_ns, h.now_ns + GRACE);
}
END_TEST

START_TEST(up_ends_a_drain)
{
    gang_node_id node;
    gang_job_id job = draining_job(1000, &node);
    if (_i)
        MUST(gang_report_node_up(h.s, node));
    else
        MUST(gang_node_set_state(h.stage.w, node, GANG_NODE_UP));
    host_run(&h, 2000);
    ck_assert_int_eq(host_tasks(&h, job), 4);
    ck_assert_int_eq(host_ops(&h, job, "preempt"), 0);
    ck_assert(host_is_idle(&h));
}
END_TEST

START_TEST(an_elastic_gang_gives_the_tasks_that_it_can_spare)
{
    gang_job_id job = host_submit(&h, host_spec(NULL, 6, 2, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, job), 6);
    gang_node_id node = host_node_of(&h, job, 5);
    size_t there = stage_tasks_on(&h.stage, gang_job_alloc(h.s, job, 0), node);
    MUST(gang_report_node_draining(h.s, node, h.now_ns));
    host_run(&h, 1);
    const struct host_event *e = host_last(&h, job, "shrink");
    ck_assert_int_eq(e->reason, GANG_REASON_DRAIN);
    ck_assert_uint_eq(e->task_count, there);
    host_run(&h, GRACE);
    ck_assert_int_eq(host_ops(&h, job, "preempt"), 0);
    ck_assert_uint_eq(stage_tasks_on(&h.stage, gang_job_alloc(h.s, job, 0), node), 0);
    ck_assert_int_eq(host_tasks(&h, job), 4); /* it fills the other node */
}
END_TEST

START_TEST(a_copy_drains_like_its_original)
{
    struct gang_host_ops ops = host_table();
    struct gang_job_info info = GANG_JOB_INFO_INIT;
    gang_node_id node;
    gang_job_id job = one_node_job(GANG_LOSS_FAIL, &node);
    MUST(gang_report_node_draining(h.s, node, 1000));
    if (_i)
        host_run(&h, 1);
    struct copy copy = copy_open(&ops, &h);
    h.now_ns = 1000 - GRACE;
    MUST(gang_sched_run(copy.s, h.now_ns, NULL, NULL));
    MUST(gang_job_get(copy.s, job, &info));
    ck_assert_int_eq(info.state, GANG_JOB_STOPPING);
    copy_close(&copy);
}
END_TEST

START_TEST(out_of_memory_is_no_loss)
{
    for (long n = 1; n < 60; n++) {
        gang_node_id node;
        gang_job_id job = one_node_job(GANG_LOSS_FAIL, &node);
        if (n % 2)
            MUST(gang_report_node_draining(h.s, node, h.now_ns + 5));
        else
            take_node(node, GO_DOWN);
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n / 2;
        gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        host_run(&h, 1);
        host_run(&h, GRACE);
        ck_assert(n % 2 ? host_ops(&h, job, "preempt") == 1 : !host_has(&h, job));
        ck_assert(n % 2 == 0 || host_node_of(&h, job, 0) != node); /* it fits on the other one */
        if (n % 2)
            host_end_job(&h, job);
        MUST(gang_report_node_up(h.s, node));
        host_run(&h, 1);
    }
}
END_TEST

static void add_drains(Suite *suite)
{
    TCase *tests = tcase_create("drains");
    tcase_add_checked_fixture(tests, open_slow, teardown);
    tcase_add_test(tests, a_gang_is_asked_to_stop_so_that_its_grace_ends_with_the_deadline);
    tcase_add_loop_test(tests, a_near_deadline_asks_at_once_and_no_deadline_never, 0, 2);
    tcase_add_loop_test(tests, up_ends_a_drain, 0, 2);
    tcase_add_test(tests, an_elastic_gang_gives_the_tasks_that_it_can_spare);
    tcase_add_loop_test(tests, a_copy_drains_like_its_original, 0, 2);
    tcase_add_test(tests, out_of_memory_is_no_loss);
    suite_add_tcase(suite, tests);
}

/* ---- guarantees below a parent that names none ----------------------------------------------- */

/* "top" > "in" > leaf "a" with a guarantee of 4 GPUs, leaf "b" with none; and "other" beside
 * "top". */
static void set_tree(const struct gang_quota *top, const struct gang_quota *limit)
{
    static const struct gang_quota four = {"gpu", 4000, NULL, 0, 0};
    struct gang_queue_spec q[5];
    static const char *const name[5] = {"top", "in", "a", "b", "other"};
    static const char *const parent[5] = {NULL, "top", "in", "in", NULL};
    for (int i = 0; i < 5; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = name[i];
        q[i].parent = parent[i];
    }
    q[0].guaranteed = top;
    q[0].guaranteed_count = top != NULL;
    q[0].limit = limit;
    q[0].limit_count = limit != NULL;
    q[2].guaranteed = &four;
    q[2].guaranteed_count = 1;
    host_queues(&h, q, 5);
    host_run(&h, 0);
}

START_TEST(a_parent_without_guarantees_has_those_of_its_children)
{
    set_tree(NULL, NULL);
    ck_assert_int_eq(host_queue(&h, "in").guarantee[GANG_KIND_GPU], 4000);
    ck_assert_int_eq(host_queue(&h, "top").guarantee[GANG_KIND_GPU], 4000);
    ck_assert_int_eq(host_queue(&h, "top").guarantee[GANG_KIND_CPU], GANG_UNLIMITED);
    ck_assert_int_eq(host_queue(&h, "b").guarantee[GANG_KIND_GPU], 0);
    struct gang_job_spec *spec = host_spec("a", 4, 4, 0);
    spec->preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id job = host_submit(&h, spec);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, job), 4);
}
END_TEST

START_TEST(a_leaf_gets_its_guarantee_back_through_its_parents)
{
    set_tree(NULL, NULL);
    gang_job_id low = host_gang(&h, "other", 1, 0);
    for (int i = 0; i < 7; i++)
        low = host_gang(&h, "other", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, low), 1);
    gang_job_id job = host_gang(&h, "a", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, job), 4);
}
END_TEST

START_TEST(a_parent_keeps_to_what_it_names_and_to_its_limit)
{
    struct gang_quota none = {"gpu", 0, NULL, 0, 0}, two = {"gpu", 2000, NULL, 0, 0};
    set_tree(&none, NULL);
    ck_assert_int_eq(host_queue(&h, "top").guarantee[GANG_KIND_GPU], 0);
    ck_assert_int_eq(host_queue(&h, "in").guarantee[GANG_KIND_GPU], 4000);
    set_tree(NULL, &two);
    ck_assert_int_eq(host_queue(&h, "top").guarantee[GANG_KIND_GPU], 2000);
}
END_TEST

static void add_guarantees(Suite *suite)
{
    TCase *tests = tcase_create("guarantees");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_parent_without_guarantees_has_those_of_its_children);
    tcase_add_test(tests, a_leaf_gets_its_guarantee_back_through_its_parents);
    tcase_add_test(tests, a_parent_keeps_to_what_it_names_and_to_its_limit);
    suite_add_tcase(suite, tests);
}

/* ---- loops ----------------------------------------------------------------------------------- */

static int wakes;

static void count_wake(void *user)
{
    ck_assert_ptr_eq(user, &h);
    wakes++;
}

START_TEST(the_loop_is_woken_when_the_first_message_comes)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.default_queue = "default";
    ops.wake = count_wake;
    host_open_with(&h, 1, 4, &opts, &ops);
    wakes = 0;
    gang_job_id job = host_gang(&h, NULL, 1, 0);
    ck_assert_int_eq(wakes, 1);
    MUST(gang_job_hold(h.s, job)); /* one waits already */
    MUST(gang_job_release(h.s, job));
    ck_assert_int_eq(wakes, 1);
    host_run(&h, 1);
    ck_assert_int_eq(wakes, 1);
    MUST(gang_report_end(h.s, job, 1));
    ck_assert_int_eq(wakes, 2);
    host_run(&h, 1);
    ck_assert_int_eq(gang_job_hold(h.s, GANG_ID_NONE), GANG_ESTALE); /* no message */
    ck_assert_int_eq(wakes, 2);
    host_close(&h);
}
END_TEST

START_TEST(the_time_to_wait_does_not_overflow)
{
    struct gang_job_spec *spec;
    host_open(&h, 1, 4);
    ck_assert_int_eq(gang_sched_timeout_ns(NULL, 0), -1);
    host_run(&h, 0);
    ck_assert_int_eq(gang_sched_timeout_ns(h.s, INT64_MIN), -1);
    spec = host_spec(NULL, 1, 1, 0);
    spec->time_limit_ns = 1000;
    gang_job_id job = host_submit(&h, spec);
    ck_assert_int_eq(gang_sched_timeout_ns(h.s, INT64_MAX), 0); /* a message waits */
    host_run(&h, 0);
    ck_assert_int_eq(gang_sched_timeout_ns(h.s, 0), 1000);
    ck_assert_int_eq(gang_sched_timeout_ns(h.s, 400), 600);
    ck_assert_int_eq(gang_sched_timeout_ns(h.s, 2000), 0);
    ck_assert_int_eq(gang_sched_timeout_ns(h.s, INT64_MIN), INT64_MAX);
    host_end_job(&h, job);
    host_close(&h);
}
END_TEST

START_TEST(each_struct_that_a_query_fills_has_its_initial_value)
{
    struct gang_worker_stats stats = GANG_WORKER_STATS_INIT;
    struct gang_node_info node = GANG_NODE_INFO_INIT;
    struct gang_job_info job = GANG_JOB_INFO_INIT;
    struct gang_queue_info queue = GANG_QUEUE_INFO_INIT;
    struct gang_reservation_info reservation = GANG_RESERVATION_INFO_INIT;
    gang_queue_id id;
    host_open(&h, 1, 4);
    gang_job_id one = host_gang(&h, NULL, 1, 0);
    host_run(&h, 0);
    MUST(gang_worker_get_stats(h.stage.w, &stats));
    MUST(gang_node_get(h.stage.c, host_node(&h, 0), &node));
    ck_assert_str_eq(node.name, "n0");
    MUST(gang_job_get(h.s, one, &job));
    ck_assert_int_eq(job.tasks, 1);
    MUST(gang_queue_find(h.s, "default", &id));
    MUST(gang_queue_get(h.s, id, &queue));
    ck_assert_int_eq(queue.running, 1);
    ck_assert_int_eq(gang_reservation_get(h.s, 1, &reservation), GANG_ESTALE);
    host_close(&h);
}
END_TEST

static void add_loops(Suite *suite)
{
    TCase *tests = tcase_create("loops");
    tcase_add_test(tests, the_loop_is_woken_when_the_first_message_comes);
    tcase_add_test(tests, the_time_to_wait_does_not_overflow);
    tcase_add_test(tests, each_struct_that_a_query_fills_has_its_initial_value);
    suite_add_tcase(suite, tests);
}

static void add_allocations(Suite *suite)
{
    TCase *tests = tcase_create("allocations");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, no_host_frees_or_changes_the_allocation_of_a_job);
    tcase_add_test(tests, allocations_of_the_host_stay_its_own);
    tcase_add_test(tests, places_of_stopping_tasks_are_kept_too);
    tcase_add_test(tests, a_copy_keeps_what_its_original_keeps);
    tcase_add_test(tests, the_end_of_a_scheduler_frees_what_it_kept);
    suite_add_tcase(suite, tests);
}

int main(void)
{
    Suite *suite = suite_create("contract");
    add_allocations(suite);
    add_nodes(suite);
    add_drains(suite);
    add_guarantees(suite);
    add_loops(suite);
    return run_suite(suite);
}
