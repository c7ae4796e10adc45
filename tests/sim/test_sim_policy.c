/* SPDX-License-Identifier: Apache-2.0 */
/* Policies that are built in, and where jobs are placed: what published simulators do in like
 * cases. */
#include "sim/simulated.h"

static struct simulated s;

static void close_all(void)
{
    sim_close(&s);
}

/* ---- places ---- */

static void open_four(void)
{
    sim_open(&s, 4, 8);
    s.opts.place = GANG_SIM_PLACE_CONSOLIDATED;
    s.opts.record = GANG_SIM_RECORD_ALLOCATIONS;
}

/* So many GPUs: whole nodes of eight, and the rest, as traces are cut. */
static void add_cut(int64_t submit_s, int64_t run_s, int64_t gpus)
{
    struct gang_group_spec g[2] = {GANG_GROUP_SPEC_INIT, GANG_GROUP_SPEC_INIT};
    struct gang_trace_job j = GANG_TRACE_JOB_INIT;
    g[0].count = gpus < 8 ? 1 : gpus / 8;
    g[0].min = g[0].count;
    g[0].gpu_milli = (gpus < 8 ? gpus : 8) * 1000;
    g[1].count = g[1].min = 1;
    g[1].gpu_milli = gpus % 8 * 1000;
    j.submit_ns = submit_s * SECOND;
    j.run_ns = run_s * SECOND;
    j.groups = g;
    j.group_count = gpus > 8 && gpus % 8 ? 2 : 1;
    MUST(gang_trace_add(s.trace, &j, NULL));
}

/* GPUs of a job on each of the nodes, "8 0 3 0". */
static const char *places_of(size_t index)
{
    static char text[32];
    int64_t gpus[4] = {0, 0, 0, 0};
    for (size_t i = 0; i < gang_sim_allocation_count(s.sim); i++) {
        struct gang_sim_allocation a = {.size = sizeof(a)};
        MUST(gang_sim_get_allocation(s.sim, i, &a));
        for (int n = 0; n < 4; n++) {
            char name[8];
            gang_node_id id;
            snprintf(name, sizeof(name), "n%d", n);
            MUST(gang_node_find(s.stage.c, name, &id));
            gpus[n] += a.index == index && a.node == id ? a.gpu_milli / 1000 : 0;
        }
    }
    snprintf(text, sizeof(text), "%d %d %d %d", (int)gpus[0], (int)gpus[1], (int)gpus[2],
             (int)gpus[3]);
    return text;
}

START_TEST(whole_nodes_and_the_rest_where_most_is_free)
{
    add_cut(0, 100, 2);
    add_cut(1, 100, 1);
    add_cut(2, 100, 11);
    add_cut(3, 100, 4);
    add_cut(4, 100, 6);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_str_eq(places_of(0), "2 0 0 0");
    ck_assert_str_eq(places_of(1), "1 0 0 0");
    ck_assert_str_eq(places_of(2), "0 8 3 0"); /* not beside the small ones, where they would fit */
    ck_assert_str_eq(places_of(3), "4 0 0 0"); /* the first of two with five free */
    ck_assert_str_eq(places_of(4), "0 0 0 6");
}
END_TEST

START_TEST(whole_nodes_come_first_and_in_order)
{
    add_cut(0, 10, 8);
    add_cut(0, 100, 20);
    add_cut(5, 100, 9);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_str_eq(places_of(0), "8 0 0 0");
    ck_assert_str_eq(places_of(1), "0 8 8 4");
    ck_assert_str_eq(places_of(2), "8 0 0 1"); /* when the first has ended */
    ck_assert_time(sim_get(&s, 2).start_ns, 10);
}
END_TEST

START_TEST(of_equal_nodes_the_first_whatever_workers_there_are)
{
    gang_worker *other[8];
    for (int i = 0; i < _i; i++)
        MUST(gang_worker_new(s.stage.c, &other[i]));
    add_cut(0, 100, 1);
    add_cut(1, 100, 8);
    add_cut(2, 100, 12);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_str_eq(places_of(0), "1 0 0 0");
    ck_assert_str_eq(places_of(1), "0 8 0 0");
    ck_assert_str_eq(places_of(2), "0 0 8 4");
    for (int i = 0; i < _i; i++)
        gang_worker_free(other[i]);
}
END_TEST

START_TEST(options_out_of_range_are_refused_by_name)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_sim *sim;
    s.opts.place = 2;
    EXPECT_ERROR(gang_sim_new(s.stage.c, &s.opts, NULL, NULL, &sim, &error), GANG_ERANGE, &error,
                 "place", NULL);
    s.opts.place = 0;
    s.opts.reserved0 = 1;
    EXPECT_ERROR(gang_sim_new(s.stage.c, &s.opts, NULL, NULL, &sim, &error), GANG_ERANGE, &error,
                 "reserved0", NULL);
    s.opts.reserved0 = 0;
    s.opts.policy = GANG_SIM_POLICY_FIRST_FIT + 1;
    EXPECT_ERROR(gang_sim_new(s.stage.c, &s.opts, NULL, NULL, &sim, &error), GANG_ERANGE, &error,
                 "policy", NULL);
    ck_assert_ptr_null(sim);
}
END_TEST

/* ---- policies ---- */

static void open_one(void)
{
    sim_open(&s, 1, 4);
}

/* The rest of a preempted job counts with its restart, from the moment of preemption. */
START_TEST(a_restart_counts_from_the_preemption)
{
    s.opts.policy = GANG_SIM_POLICY_SRTF;
    s.opts.restart_ns = 20 * SECOND;
    sim_job(&s, 0, 100, 4);
    sim_job(&s, 40, 50, 4);
    sim_job(&s, 50, 70, 4); /* less than 60 and 20 */
    sim_job(&s, 170, 5, 4); /* comes in the midst of the restart */
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 1).start_ns, 40);
    ck_assert_time(sim_get(&s, 2).start_ns, 90);
    ck_assert_time(sim_get(&s, 3).start_ns, 170);
    struct gang_sim_job j = sim_get(&s, 0);
    ck_assert_int_eq(j.starts, 3);
    ck_assert_int_eq(j.preemptions, 2);
    ck_assert_time(j.end_ns, 175 + 10 + 20 + 60);
    ck_assert_time(j.lost_ns, 40);
}
END_TEST

START_TEST(a_job_is_served_once_it_had_more_than_the_split)
{
    s.opts.policy = GANG_SIM_POLICY_LAS;
    s.opts.las_split_ns = 40 * SECOND; /* ten seconds of four GPUs */
    s.opts.pass_ns = 5 * SECOND;
    sim_job(&s, 0, 100, 4);
    sim_job(&s, 1, 10, 4);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 1).start_ns, 15); /* at 10 the job had exactly that much */
    ck_assert_time(sim_get(&s, 0).end_ns, 110);
}
END_TEST

/* A wide job waits while a later narrow one runs. Then only the narrow one keeps the wide one
 * out. */
START_TEST(by_age_the_older_job_preempts_and_by_start_it_waits)
{
    for (int32_t policy = GANG_SIM_POLICY_LAS; policy <= GANG_SIM_POLICY_LAS_STARTED; policy++) {
        bool by_age = policy == GANG_SIM_POLICY_LAS;
        sim_close(&s);
        open_one();
        s.opts.policy = policy;
        sim_job(&s, 0, 10, 1);
        sim_job(&s, 1, 10, 4);
        sim_job(&s, 2, 30, 2);
        sim_make(&s, NULL);
        sim_run(&s, -1);
        ck_assert_time(sim_get(&s, 2).start_ns, 2);
        ck_assert_int_eq(sim_get(&s, 2).preemptions, by_age);
        ck_assert_time(sim_get(&s, 1).start_ns, by_age ? 10 : 32);
        ck_assert_time(sim_get(&s, 2).end_ns, by_age ? 42 : 32);
    }
}
END_TEST

/* Of those that came together the one that runs goes on. */
START_TEST(of_equal_jobs_the_running_one_continues)
{
    s.opts.policy = GANG_SIM_POLICY_LAS;
    sim_job(&s, 0, 5, 1);
    sim_job(&s, 0, 20, 4);
    sim_job(&s, 0, 20, 3);
    sim_job(&s, 7, 1, 1);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 2).start_ns, 0);
    ck_assert_int_eq(sim_get(&s, 2).preemptions, 0);
    ck_assert_time(sim_get(&s, 1).start_ns, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim_policy");
    TCase *p = tcase_create("places");
    tcase_add_checked_fixture(p, open_four, close_all);
    tcase_add_test(p, whole_nodes_and_the_rest_where_most_is_free);
    tcase_add_test(p, whole_nodes_come_first_and_in_order);
    tcase_add_loop_test(p, of_equal_nodes_the_first_whatever_workers_there_are, 0, 8);
    tcase_add_test(p, options_out_of_range_are_refused_by_name);
    suite_add_tcase(suite, p);
    TCase *c = tcase_create("policies");
    tcase_add_checked_fixture(c, open_one, close_all);
    tcase_add_test(c, a_restart_counts_from_the_preemption);
    tcase_add_test(c, a_job_is_served_once_it_had_more_than_the_split);
    tcase_add_test(c, by_age_the_older_job_preempts_and_by_start_it_waits);
    tcase_add_test(c, of_equal_jobs_the_running_one_continues);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
