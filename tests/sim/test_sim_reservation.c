/* SPDX-License-Identifier: Apache-2.0 */
/* Events about reservations. Time passes for reservations and nodes after the last job, too. */
#include "simulated.h"

static struct simulated s;

enum { MOST = 32 };

/* The events about reservations. */
struct heard {
    struct {
        int32_t what, outcome;
        int64_t at_ns, start_ns, end_ns, instance;
        gang_reservation_id id;
        size_t nodes, jobs;
        gang_job_id job;
        gang_node_id node;
        char name[16];
    } of[MOST];
    size_t count, others;
    int64_t last_ns;
    int32_t stop; /* returned at a beginning */
};

static int32_t hear(const struct gang_sim_event *e, void *user)
{
    struct heard *h = user;
    const struct gang_reservation_event *r = e->reservation;
    ck_assert_int_ge(e->now_ns, h->last_ns);
    h->last_ns = e->now_ns;
    ck_assert_int_eq(e->what == GANG_SIM_RESERVATION, r != NULL);
    if (!r) {
        h->others++;
        return 0;
    }
    ck_assert_uint_eq(e->index, SIZE_MAX);
    ck_assert_uint_eq(e->job, GANG_ID_NONE);
    ck_assert_uint_eq(e->node, GANG_ID_NONE);
    ck_assert_str_eq(e->text, r->text);
    ck_assert_int_eq(e->now_ns, r->now_ns);
    ck_assert_uint_lt(h->count, MOST);
    size_t i = h->count++;
    h->of[i].what = r->what;
    h->of[i].outcome = r->outcome;
    h->of[i].at_ns = e->now_ns;
    h->of[i].start_ns = r->start_ns;
    h->of[i].end_ns = r->end_ns;
    h->of[i].instance = r->instance;
    h->of[i].id = r->id;
    h->of[i].nodes = r->node_count;
    h->of[i].node = r->node_count ? r->nodes[0] : GANG_ID_NONE;
    h->of[i].jobs = r->job_count;
    h->of[i].job = r->job_count ? r->jobs[0] : GANG_ID_NONE;
    snprintf(h->of[i].name, sizeof(h->of[i].name), "%s", r->name);
    return r->what == GANG_RESERVATION_BEGIN ? h->stop : 0;
}

static gang_node_id node(const char *name)
{
    gang_node_id id;
    MUST(gang_node_find(s.stage.c, name, &id));
    return id;
}

/* A node, for some time. */
static gang_reservation_id reserve(const char *name, const char *on, int64_t start_s,
                                   int64_t duration_s, int64_t period_s, int64_t notice_s)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    struct gang_reservation_spec r = GANG_RESERVATION_SPEC_INIT;
    gang_reservation_id id;
    stage.nodes = &on;
    stage.node_count = 1;
    r.name = name;
    r.stages = &stage;
    r.stage_count = 1;
    r.start_ns = start_s * SECOND;
    r.duration_ns = duration_s * SECOND;
    r.period_ns = period_s * SECOND;
    r.repetitions = period_s ? 2 : 0;
    r.notice_ns = notice_s * SECOND;
    r.flags = GANG_RESERVATION_IGNORE_JOBS;
    gang_result got = gang_reservation_add(gang_sim_sched(s.sim), &r, &id, NULL, &error);
    ck_assert_msg(got == GANG_OK, "%s: %s", error.path, error.text);
    return id;
}

static void check(const struct heard *h, size_t i, int32_t what, int64_t at_s, int64_t instance)
{
    ck_assert_uint_gt(h->count, i);
    ck_assert_int_eq(h->of[i].what, what);
    ck_assert_time(h->of[i].at_ns, at_s);
    ck_assert_int_eq(h->of[i].instance, instance);
}

static void setup(void)
{
    sim_open(&s, 2, 8);
    s.ops.event = hear;
}

static void teardown(void)
{
    sim_close(&s);
}

START_TEST(begin_and_end_of_a_reservation_are_events)
{
    struct heard h = {.count = 0};
    sim_job(&s, 0, 500, 8); /* on n0 */
    sim_make(&s, &h);
    (void)sim_run(&s, 1);
    gang_reservation_id id = reserve("course", "n0", 100, 50, 200, 10);
    (void)sim_run(&s, -1);
    ck_assert_uint_eq(h.count, 6);
    for (int64_t k = 0; k < 2; k++) {
        size_t i = (size_t)k * 3;
        check(&h, i, GANG_RESERVATION_NOTICE, 90 + 200 * k, k);
        check(&h, i + 1, GANG_RESERVATION_BEGIN, 100 + 200 * k, k);
        check(&h, i + 2, GANG_RESERVATION_END, 150 + 200 * k, k);
        ck_assert_time(h.of[i].start_ns, 100 + 200 * k);
        ck_assert_time(h.of[i].end_ns, 150 + 200 * k);
        ck_assert_uint_eq(h.of[i + 1].jobs, 1); /* the conflicting job */
        ck_assert_uint_eq(h.of[i + 1].job, sim_get(&s, 0).id);
    }
    for (size_t i = 0; i < h.count; i++) {
        ck_assert_uint_eq(h.of[i].id, id);
        ck_assert_str_eq(h.of[i].name, "course");
        ck_assert_uint_eq(h.of[i].nodes, 1);
        ck_assert_uint_eq(h.of[i].node, node("n0"));
    }
    ck_assert_uint_eq(h.others, 3); /* submitted, started, ended */
}
END_TEST

START_TEST(a_reservation_that_loses_its_node_is_an_event)
{
    struct heard h = {.count = 0};
    sim_job(&s, 0, 500, 8);
    sim_make(&s, &h);
    (void)sim_run(&s, 1);
    (void)reserve("course", "n1", 100, 50, 0, 0);
    MUST(gang_sim_set_node_state(s.sim, 50 * SECOND, node("n1"), GANG_NODE_DOWN));
    (void)sim_run(&s, -1);
    ck_assert_uint_ge(h.count, 1);
    check(&h, 0, GANG_RESERVATION_LOST, 50, 0);
    ck_assert_int_eq(h.of[0].outcome, GANG_RESERVATION_REDUCED);
}
END_TEST

START_TEST(a_function_that_hears_of_a_reservation_may_stop_the_run)
{
    struct heard h = {.stop = 77};
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    sim_job(&s, 0, 500, 8);
    sim_make(&s, &h);
    (void)reserve("course", "n1", 100, 50, 0, 0);
    ck_assert_int_eq(gang_sim_run(s.sim, NULL, NULL, NULL), 77);
    MUST(gang_sim_get_info(s.sim, &info));
    ck_assert_int_eq(info.stop_reason, GANG_SIM_INTERRUPTED);
    ck_assert_time(info.now_ns, 100);
    (void)sim_run(&s, -1);
    check(&h, 1, GANG_RESERVATION_END, 150, 0);
}
END_TEST

/* Also if the original had no functions. */
START_TEST(a_fork_tells_of_reservations_by_its_own_function)
{
    struct heard h = {.count = 0}, other = {.count = 0};
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *clusters[2];
    gang_sim *deaf, *hears;
    sim_job(&s, 0, 500, 8);
    sim_make(&s, &h);
    (void)reserve("course", "n1", 100, 50, 0, 0);
    (void)sim_run(&s, 50);
    EXPECT_RESULT(gang_sim_fork(s.sim, NULL, NULL, &clusters[0], &deaf, &error), GANG_OK, &error);
    EXPECT_RESULT(gang_sim_fork(deaf, &s.ops, &other, &clusters[1], &hears, &error), GANG_OK,
                  &error);
    EXPECT_RESULT(gang_sim_run(deaf, NULL, NULL, &error), GANG_OK, &error);
    ck_assert_uint_eq(h.count, 0);
    EXPECT_RESULT(gang_sim_run(hears, NULL, NULL, &error), GANG_OK, &error);
    ck_assert_uint_eq(h.count, 0);
    check(&other, 0, GANG_RESERVATION_BEGIN, 100, 0);
    check(&other, 1, GANG_RESERVATION_END, 150, 0);
    (void)sim_run(&s, -1);
    ck_assert_uint_eq(h.count, 2);
    gang_sim_free(hears);
    gang_sim_free(deaf);
    gang_cluster_free(clusters[0]);
    gang_cluster_free(clusters[1]);
}
END_TEST

/* ---- when all jobs are over ---- */

START_TEST(reservations_begin_and_end_without_any_job)
{
    struct heard h = {.count = 0};
    struct gang_reservation_info r = {.size = sizeof(r)};
    sim_make(&s, &h);
    gang_reservation_id id = reserve("course", "n0", 100, 50, 0, 0);
    struct gang_sim_info info = sim_run(&s, -1); /* without a bound nothing is waited for */
    ck_assert_int_eq(info.stop_reason, GANG_SIM_DONE);
    ck_assert_time(info.now_ns, 0);
    info = sim_run(&s, 120);
    ck_assert_time(info.now_ns, 120);
    MUST(gang_reservation_get(gang_sim_sched(s.sim), id, &r));
    ck_assert_int_eq(r.state, GANG_RESERVATION_ACTIVE);
    info = sim_run(&s, 1000);
    ck_assert_int_eq(info.stop_reason, GANG_SIM_DONE);
    ck_assert_time(info.now_ns, 1000);
    ck_assert_uint_eq(h.count, 2);
    check(&h, 0, GANG_RESERVATION_BEGIN, 100, 0);
    check(&h, 1, GANG_RESERVATION_END, 150, 0);
}
END_TEST

/* What lay ahead then was left behind by the clock, which went back to it when the next job came.
 * */
START_TEST(the_clock_does_not_return_to_failures_after_all_jobs)
{
    struct heard h = {.count = 0};
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    struct gang_sim_info info;
    size_t index, before;
    s.opts.node_mtbf_ns = 1000 * SECOND;
    s.opts.node_repair_ns = 100 * SECOND;
    sim_job(&s, 0, 10, 1);
    sim_make(&s, &h);
    before = h.others;
    info = sim_run(&s, 100000);
    ck_assert_time(info.now_ns, 100000);
    ck_assert_uint_gt(h.others, before + 100); /* nodes failed and came back meanwhile */
    g.gpu_milli = 1000;
    job.request.groups = &g;
    job.request.group_count = 1;
    MUST(gang_sim_submit(s.sim, &job, 50 * SECOND, &index, NULL));
    info = sim_run(&s, -1);
    ck_assert_int_ge(info.now_ns, 100050 * SECOND);
    ck_assert_int_ge(sim_get(&s, index).start_ns, 100000 * SECOND);
    ck_assert_int_ge(sim_get(&s, index).wait_ns, 0);
}
END_TEST

/* It began at start_ns, went back to the first job of the trace, and the one that was there
 * already had waited for less than nothing. */
START_TEST(the_clock_does_not_return_from_a_job_submitted_before_the_first_run)
{
    struct heard h = {.last_ns = INT64_MIN};
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    size_t index;
    s.opts.start_ns = 100 * SECOND;
    sim_job(&s, -50, 20, 1);
    sim_make(&s, &h);
    MUST(gang_sim_get_info(s.sim, &info));
    ck_assert_time(info.now_ns, -50);
    g.gpu_milli = 9000;
    job.request.groups = &g;
    job.request.group_count = 1;
    ck_assert_int_eq(gang_sim_submit(s.sim, &job, SECOND, &index, NULL), GANG_ENEVER);
    MUST(gang_sim_add_trace(s.sim, s.trace, -30 * SECOND, NULL)); /* it has not begun */
    MUST(gang_sim_get_info(s.sim, &info));
    ck_assert_time(info.now_ns, -80);
    g.gpu_milli = 1000;
    MUST(gang_sim_submit(s.sim, &job, 10 * SECOND, &index, NULL));
    (void)sim_run(&s, -1);
    ck_assert_time(sim_get(&s, index).submit_ns, -80);
    ck_assert_time(sim_get(&s, index).start_ns, -80);
    ck_assert_time(sim_get(&s, index).end_ns, -70);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim reservation");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, begin_and_end_of_a_reservation_are_events);
    tcase_add_test(tc, a_reservation_that_loses_its_node_is_an_event);
    tcase_add_test(tc, a_function_that_hears_of_a_reservation_may_stop_the_run);
    tcase_add_test(tc, a_fork_tells_of_reservations_by_its_own_function);
    tcase_add_test(tc, reservations_begin_and_end_without_any_job);
    tcase_add_test(tc, the_clock_does_not_return_to_failures_after_all_jobs);
    tcase_add_test(tc, the_clock_does_not_return_from_a_job_submitted_before_the_first_run);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
