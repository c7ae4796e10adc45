/* SPDX-License-Identifier: Apache-2.0 */
/* gang_sim_fork() as a host sees it: which functions are called, refusals, and two forks that
 * diverge. test_sim_random.c shows that an undisturbed fork has the same results. */
#include "sim/simulated.h"

static struct simulated s;

static gang_sim *fork_with(const struct gang_sim_ops *ops, void *user)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c;
    gang_sim *fork;
    gang_result r = gang_sim_fork(s.sim, ops, user, &c, &fork, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", gang_result_name(r), error.text);
    ck_assert_ptr_eq(gang_sim_cluster(fork), c);
    ck_assert_ptr_ne(c, s.stage.c);
    ck_assert_ptr_eq(gang_sched_cluster(gang_sim_sched(fork)), c);
    return fork;
}

static struct gang_sim_info run_on(gang_sim *sim)
{
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    MUST(gang_sim_run(sim, NULL, &info, NULL));
    return info;
}

/* Two machines of four GPUs; three jobs that do not fit beside each other. */
static void open_three(void)
{
    sim_open(&s, 2, 4);
    s.opts.record = GANG_SIM_RECORD_ALLOCATIONS | GANG_SIM_RECORD_TIMELINE;
    for (int i = 0; i < 3; i++)
        sim_job(&s, 10 * i, 100, 8);
}

static int32_t count_event(const struct gang_sim_event *e, void *user)
{
    ck_assert_int_le(e->what, GANG_SIM_NODE_UP);
    ++*(int *)user;
    return 0;
}

START_TEST(two_go_different_ways)
{
    open_three();
    s.opts.loss = GANG_LOSS_FAIL;
    sim_make(&s, NULL);
    sim_run(&s, 50);
    gang_sim *fork = fork_with(NULL, NULL);
    gang_node_id node = gang_node_next(gang_sim_cluster(fork), GANG_ID_NONE);
    MUST(gang_sim_set_node_state(fork, 60 * SECOND, node, GANG_NODE_DOWN));
    MUST(gang_sim_set_node_state(fork, 500 * SECOND, node, GANG_NODE_UP));
    run_on(fork);
    sim_run(&s, -1);
    struct gang_sim_job here = sim_get(&s, 0), there = {.size = sizeof(there)};
    MUST(gang_sim_get_job(fork, 0, &there));
    ck_assert_time(here.end_ns, 100);
    ck_assert_int_eq(there.end, GANG_END_FAILED);
    ck_assert_time(sim_get(&s, 2).end_ns, 300);
    MUST(gang_sim_get_job(fork, 2, &there));
    ck_assert_time(there.end_ns, 700);
    stage_check(&s.stage);
    sim_end_fork(fork);
    sim_close(&s);
}
END_TEST

/* Each has functions and a pointer of its own; a fork without functions calls none. */
START_TEST(functions_are_not_shared)
{
    int here = 0, there = 0;
    open_three();
    s.ops.event = count_event;
    sim_make(&s, &here);
    sim_run(&s, 50);
    int before = here;
    ck_assert_int_gt(before, 0);
    gang_sim *silent = fork_with(NULL, NULL), *other = fork_with(&s.ops, &there);
    ck_assert_int_eq(here, before);
    run_on(silent);
    ck_assert_int_eq(here, before);
    run_on(other);
    ck_assert_int_eq(here, before);
    ck_assert_int_gt(there, 0);
    sim_run(&s, -1);
    ck_assert_int_eq(here - before, there);
    sim_end_fork(silent);
    sim_end_fork(other);
    sim_close(&s);
}
END_TEST

static int32_t first_first(const struct gang_sim_view *v, double *score, void *user)
{
    (void)user;
    for (size_t i = 0; i < v->count; i++)
        score[i] = (double)v->index[i];
    return 0;
}

static int32_t last_first(const struct gang_sim_view *v, double *score, void *user)
{
    (void)user;
    for (size_t i = 0; i < v->count; i++)
        score[i] = -(double)v->index[i];
    return 0;
}

START_TEST(another_policy_of_the_same_mode_takes_over)
{
    open_three();
    s.ops.score = first_first;
    sim_make(&s, NULL);
    sim_run(&s, 50);
    struct gang_sim_ops turned = s.ops;
    turned.score = last_first;
    gang_sim *fork = fork_with(&turned, NULL);
    run_on(fork);
    sim_run(&s, -1);
    struct gang_sim_job there = {.size = sizeof(there)};
    MUST(gang_sim_get_job(fork, 2, &there));
    ck_assert_time(there.start_ns, 100);
    ck_assert_time(sim_get(&s, 2).start_ns, 200);
    sim_end_fork(fork);
    sim_close(&s);
}
END_TEST

static void refused(const struct gang_sim_ops *ops, gang_result r, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c = (gang_cluster *)&s;
    gang_sim *fork = (gang_sim *)&s;
    long live = s.stage.mem.live;
    EXPECT_RESULT(gang_sim_fork(s.sim, ops, NULL, &c, &fork, &error), r, &error);
    ck_assert_ptr_null(c);
    ck_assert_ptr_null(fork);
    ck_assert_str_eq(error.path, path);
    ck_assert_int_eq(s.stage.mem.live, live);
}

START_TEST(a_policy_must_be_there_as_in_the_original)
{
    struct gang_sim_ops ops = GANG_SIM_OPS_INIT;
    open_three();
    s.ops.score = first_first;
    sim_make(&s, NULL);
    sim_run(&s, 50);
    refused(NULL, GANG_EINVAL, "score");
    refused(&ops, GANG_EINVAL, "score");
    ops = s.ops;
    ops.score_mode = GANG_SIM_SCORE_SELECT;
    refused(&ops, GANG_EINVAL, "score_mode");
    ops.size = 3;
    refused(&ops, GANG_EINVAL, "");
    sim_run(&s, -1);
    sim_close(&s);
    open_three();
    sim_make(&s, NULL);
    ops = s.ops;
    ops.score = first_first;
    refused(&ops, GANG_EINVAL, "score");
    sim_close(&s);
}
END_TEST

static int32_t fork_within(const struct gang_sim_event *e, void *user)
{
    struct simulated *in = user;
    gang_cluster *c;
    gang_sim *fork;
    (void)e;
    ck_assert_int_eq(gang_sim_fork(in->sim, NULL, NULL, &c, &fork, NULL), GANG_EBUSY);
    ck_assert_ptr_null(fork);
    return 0;
}

START_TEST(not_from_a_callback_and_not_without_a_place)
{
    gang_cluster *c;
    gang_sim *fork;
    open_three();
    s.ops.event = fork_within;
    sim_make(&s, &s);
    sim_run(&s, -1);
    ck_assert_int_eq(gang_sim_fork(NULL, NULL, NULL, &c, &fork, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_sim_fork(s.sim, NULL, NULL, NULL, &fork, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_sim_fork(s.sim, NULL, NULL, &c, NULL, NULL), GANG_EINVAL);
    sim_close(&s);
}
END_TEST

/* Before the first run, and after the last one. */
START_TEST(at_the_beginning_and_at_the_end)
{
    open_three();
    sim_make(&s, NULL);
    gang_sim *early = fork_with(NULL, NULL);
    sim_run(&s, -1);
    gang_sim *late = fork_with(NULL, NULL);
    run_on(early);
    run_on(late);
    struct text here = sim_text(s.sim), a = sim_text(early), b = sim_text(late);
    ck_assert_str_eq(a.bytes, here.bytes);
    ck_assert_str_eq(b.bytes, here.bytes);
    free(here.bytes);
    free(a.bytes);
    free(b.bytes);
    sim_end_fork(early);
    sim_end_fork(late);
    sim_close(&s);
}
END_TEST

/* Changes of the cluster and of the tree of queues are in the fork. */
START_TEST(direct_changes_are_in_the_fork)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct box more = {.name = "more", .cpu = 8000, .memory = 64 * GIB, .gpus = 4};
    open_three();
    sim_make(&s, NULL);
    sim_run(&s, 50);
    stage_add(&s.stage, &more);
    stage_add(&s.stage, &(struct box){.name = "more2", .cpu = 8000, .memory = GIB, .gpus = 4});
    q.name = "late";
    MUST(gang_queue_add(gang_sim_sched(s.sim), &q, NULL, NULL));
    gang_sim *fork = fork_with(NULL, NULL);
    ck_assert_int_eq(gang_node_count(gang_sim_cluster(fork)), 4);
    gang_queue_id id;
    MUST(gang_queue_find(gang_sim_sched(fork), "late", &id));
    sim_run(&s, -1);
    run_on(fork);
    struct text here = sim_text(s.sim), there = sim_text(fork);
    ck_assert_str_eq(here.bytes, there.bytes);
    ck_assert_time(sim_get(&s, 1).start_ns, 50);
    free(here.bytes);
    free(there.bytes);
    sim_end_fork(fork);
    sim_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim fork");
    TCase *c = tcase_create("fork");
    tcase_add_test(c, two_go_different_ways);
    tcase_add_test(c, functions_are_not_shared);
    tcase_add_test(c, another_policy_of_the_same_mode_takes_over);
    tcase_add_test(c, a_policy_must_be_there_as_in_the_original);
    tcase_add_test(c, not_from_a_callback_and_not_without_a_place);
    tcase_add_test(c, at_the_beginning_and_at_the_end);
    tcase_add_test(c, direct_changes_are_in_the_fork);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
