/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of nodes and tasks: what a job does without its lost tasks, and what counts as used. */
#include "sim/simulated.h"

static struct simulated s;

static void open_two(void)
{
    sim_open(&s, 2, 8);
}

static void close_all(void)
{
    sim_close(&s);
}

/* A gang on both nodes; the first node is down from 30 s to 40 s. Then a second gang for it. */
static void lose_a_node(int32_t loss)
{
    gang_node_id first;
    sim_job(&s, 0, 100, 16);
    sim_job(&s, 50, 100, 8);
    s.opts.loss = loss;
    s.opts.record = GANG_SIM_RECORD_ALLOCATIONS | GANG_SIM_RECORD_TIMELINE;
    sim_make(&s, NULL);
    MUST(gang_node_find(s.stage.c, "n0", &first));
    MUST(gang_sim_set_node_state(s.sim, 30 * SECOND, first, GANG_NODE_DOWN));
    MUST(gang_sim_set_node_state(s.sim, 40 * SECOND, first, GANG_NODE_UP));
}

static double utilisation(void)
{
    struct gang_sim_stats st = GANG_SIM_STATS_INIT;
    MUST(gang_sim_get_stats(s.sim, NULL, &st));
    return st.gpu_utilisation;
}

static int64_t max_used_gpus(void)
{
    int64_t max = 0;
    for (size_t i = 0; i < gang_sim_sample_count(s.sim); i++) {
        struct gang_sim_sample sample = {.size = sizeof(sample)};
        MUST(gang_sim_get_sample(s.sim, i, &sample));
        max = sample.gpu_milli > max ? sample.gpu_milli : max;
    }
    return max / 1000;
}

/* It was "count", with all tasks at work: 24 of 16 GPUs were used. */
START_TEST(a_gang_that_loses_a_node_restarts_unless_told_otherwise)
{
    lose_a_node(0);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).end_ns, 110); /* 30 s of work are saved, 70 s are left at 40 s */
    ck_assert_time(sim_get(&s, 1).start_ns, 110);
    ck_assert_int_eq(sim_get(&s, 0).starts, 2);
    ck_assert_int_eq(max_used_gpus(), 16);
    ck_assert_double_le(utilisation(), 1);
}
END_TEST

START_TEST(a_gang_that_counts_its_losses_goes_on_with_half_the_speed)
{
    lose_a_node(GANG_SIM_LOSS_COUNT);
    sim_run(&s, 60);
    ck_assert_int_eq(max_used_gpus(), 16);
    ck_assert_time(sim_get(&s, 1).start_ns, 50); /* on the node that is back */
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).end_ns, 170); /* 70 s of work with 8 of 16 tasks */
    ck_assert_int_eq(sim_get(&s, 0).starts, 1);
    ck_assert_double_le(utilisation(), 1);
}
END_TEST

START_TEST(what_lies_on_a_node_that_is_down_is_not_used)
{
    lose_a_node(GANG_LOSS_RESTART);
    sim_run(&s, 35);
    struct gang_sim_sample sample = {.size = sizeof(sample)};
    MUST(gang_sim_get_sample(s.sim, gang_sim_sample_count(s.sim) - 1, &sample));
    ck_assert_int_eq(sample.nodes_up, 1);
    ck_assert_int_eq(sample.gpu_milli, 0); /* it waits for 16 */
}
END_TEST

/* The scheduler hears of the loss up to 30 s later. */
START_TEST(what_is_lost_between_two_passes_is_not_used)
{
    for (int32_t loss = GANG_SIM_LOSS_COUNT; loss <= GANG_LOSS_SHRINK; loss++) {
        gang_node_id first;
        sim_close(&s);
        sim_open(&s, 2, 8);
        sim_job_of(&s, NULL, 0, 100, 16, 8, 0, NULL);
        s.opts.loss = loss;
        s.opts.pass_ns = 30 * SECOND;
        s.opts.record = GANG_SIM_RECORD_TIMELINE;
        sim_make(&s, NULL);
        MUST(gang_node_find(s.stage.c, "n0", &first));
        MUST(gang_sim_set_node_state(s.sim, 35 * SECOND, first, GANG_NODE_DOWN));
        sim_run(&s, 50);
        struct gang_sim_sample sample = {.size = sizeof(sample)};
        MUST(gang_sim_get_sample(s.sim, gang_sim_sample_count(s.sim) - 1, &sample));
        ck_assert_int_eq(sample.gpu_milli, 8000);
        sim_run(&s, 1000);
        ck_assert_double_le(utilisation(), 1);
    }
}
END_TEST

START_TEST(a_task_that_fails_alone_is_not_used_any_more)
{
    for (int i = 0; i < 200; i++)
        sim_job_of(&s, NULL, i, 100, 4, 1, 0, NULL);
    s.opts.loss = GANG_SIM_LOSS_COUNT;
    s.opts.task_mtbf_ns = 500 * SECOND;
    s.opts.seed = 5;
    s.opts.record = GANG_SIM_RECORD_TIMELINE;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_int_le(max_used_gpus(), 16);
    ck_assert_double_le(utilisation(), 1);
}
END_TEST

START_TEST(other_losses_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    for (int32_t loss = GANG_SIM_LOSS_COUNT - 1; loss <= GANG_LOSS_SHRINK + 1;
         loss += GANG_LOSS_SHRINK + 1 - (GANG_SIM_LOSS_COUNT - 1)) {
        s.opts.loss = loss;
        ck_assert_int_eq(gang_sim_new(s.stage.c, &s.opts, &s.ops, NULL, &s.sim, &error),
                         GANG_ERANGE);
        ck_assert_str_eq(error.path, "loss");
    }
}
END_TEST

/* More failures do not make jobs shorter. */
START_TEST(failures_delay_jobs)
{
    int64_t last[2] = {0, 0};
    for (int often = 0; often < 2; often++) {
        sim_close(&s);
        open_two();
        for (int i = 0; i < 100; i++)
            sim_job(&s, i * 20, 100, 4);
        s.opts.node_mtbf_ns = often ? 300 * SECOND : 0;
        s.opts.node_repair_ns = 60 * SECOND;
        s.opts.seed = 11;
        sim_make(&s, NULL);
        sim_run(&s, -1);
        for (size_t i = 0; i < 100; i++)
            last[often] += sim_get(&s, i).end_ns - sim_get(&s, i).submit_ns;
        ck_assert_double_le(utilisation(), 1);
    }
    ck_assert_int_gt(last[1], last[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_loss");
    TCase *c = tcase_create("losses");
    tcase_add_checked_fixture(c, open_two, close_all);
    tcase_add_test(c, a_gang_that_loses_a_node_restarts_unless_told_otherwise);
    tcase_add_test(c, a_gang_that_counts_its_losses_goes_on_with_half_the_speed);
    tcase_add_test(c, what_lies_on_a_node_that_is_down_is_not_used);
    tcase_add_test(c, what_is_lost_between_two_passes_is_not_used);
    tcase_add_test(c, a_task_that_fails_alone_is_not_used_any_more);
    tcase_add_test(c, other_losses_are_refused);
    tcase_add_test(c, failures_delay_jobs);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
