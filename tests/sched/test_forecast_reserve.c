/* SPDX-License-Identifier: Apache-2.0 */
/* Forecasts beside reservations. test_copy.c shows that a copy decides like its original. */
#include "chance.h"
#include "sched/forecast_host.h"

#define S INT64_C(1000000000)

static struct host h;

static gang_result try_reserve(gang_sched *s, const struct gang_reservation_spec *spec,
                               gang_reservation_id *id)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_reservation_add(s, spec, id, NULL, &error);
    ck_assert_msg(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENEVER, "%s: %s: %s",
                  gang_result_name(r), error.path, error.text);
    return r;
}

static gang_reservation_id reserve(const struct gang_reservation_spec *spec)
{
    gang_reservation_id id;
    MUST(try_reserve(h.s, spec, &id));
    return id;
}

/* A gang of so many tasks of one GPU each. */
static gang_job_id submit(gang_sched *s, int64_t tasks, int64_t limit_s, const char *in)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_job_spec *job = host_spec("q", tasks, tasks, 0);
    gang_job_id id;
    job->time_limit_ns = limit_s * S;
    job->reservation = in;
    gang_result r = gang_job_submit(s, job, &id, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    return id;
}

static gang_job_id put(int64_t tasks, int64_t limit_s, const char *in)
{
    gang_job_id id = submit(h.s, tasks, limit_s, in);
    host_run(&h, 0);
    return id;
}

/* In seconds; -1: never. */
static int64_t start_s_of(const gang_forecast *f, gang_job_id id)
{
    int64_t ns = start_of(f, id);
    return ns == INT64_MAX ? -1 : ns / S;
}

/* ---- members and others ---------------------------------------------------------------------- */

/* _i: in queues that backfill, and that do not. */
START_TEST(members_start_inside_a_reservation_and_other_jobs_around_it)
{
    host_open_queue(&h, 2, _i ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE);
    reserve(host_whole("demo", 2, 100, 60));
    put(4, 40, NULL); /* one node until 40 */
    gang_job_id outsider = submit(h.s, 8, 50, NULL), longer = submit(h.s, 4, 101, NULL),
                member = submit(h.s, 8, 30, "demo"), second = submit(h.s, 8, 30, "demo"),
                third = submit(h.s, 4, 1, "demo");
    host_run(&h, 0);
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_s_of(f, outsider), 40);
    ck_assert_int_eq(start_s_of(f, longer), 160); /* it would run into the reservation */
    ck_assert_int_eq(start_s_of(f, member), 100);
    ck_assert_int_eq(start_s_of(f, second), 130); /* and lasts exactly as long as that */
    ck_assert_int_eq(start_s_of(f, third), 160);  /* it is over: outside */
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(no_job_starts_in_a_maintenance)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = host_whole("repair", 2, 50, 100);
    const char *const nodes[] = {"n0", "n1"};
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    stage.nodes = nodes;
    stage.node_count = 2;
    spec->stages = &stage;
    spec->flags = GANG_RESERVATION_MAINTENANCE;
    reserve(spec);
    put(8, 20, NULL);
    gang_job_id before = submit(h.s, 4, 30, NULL), after = submit(h.s, 4, 31, NULL);
    host_run(&h, 0);
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_s_of(f, before), 20);
    ck_assert_int_eq(start_s_of(f, after), 150);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(members_of_an_active_reservation_are_copied_inside)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("demo", 1, 10, 100));
    gang_job_id first = submit(h.s, 4, 30, "demo");
    host_run(&h, 10 * S);
    host_run(&h, 5 * S);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING);
    gang_job_id next = put(2, 70, "demo"), too_long = put(2, 71, "demo"), out = put(8, 5, NULL);
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_s_of(f, next), 40);
    ck_assert_int_eq(start_s_of(f, too_long), 110); /* when it is over */
    ck_assert_int_eq(start_s_of(f, out), 181);
    struct gang_reservation_info info = {.size = sizeof(info)}, live = {.size = sizeof(live)};
    MUST(gang_reservation_get(gang_forecast_sched(f), id, &info)); /* the same id */
    MUST(gang_reservation_get(h.s, id, &live));
    ck_assert_str_eq(info.name, "demo");
    ck_assert_int_eq(info.running, 1);
    ck_assert(info.state == live.state && info.start_ns == live.start_ns &&
              info.end_ns == live.end_ns && info.nodes == live.nodes);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* A member without a limit is stopped so that its grace ends with the reservation. */
START_TEST(members_without_a_time_limit_end_with_the_reservation)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    reserve(host_whole("demo", 1, 10, 100));
    gang_job_id first = submit(h.s, 4, 0, "demo");
    host_run(&h, 10 * S);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING);
    gang_job_id out = put(4, 5, NULL);
    gang_forecast *f = foretell(&h, &opts);
    ck_assert_int_eq(start_s_of(f, out), 110);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

static int64_t ten_seconds(gang_job_id job, uint64_t cookie, int32_t sample, uint64_t draw,
                           void *user)
{
    (void)job;
    (void)cookie;
    (void)sample;
    (void)draw;
    (void)user;
    return 10 * S;
}

/* Inside: at the end of it, not at once. */
START_TEST(a_member_that_overran_its_prediction_may_run_to_the_end)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    reserve(host_whole("demo", 1, 10, 100));
    submit(h.s, 4, 0, "demo");
    host_run(&h, 10 * S);
    host_run(&h, 50 * S);
    gang_job_id out = put(4, 5, NULL);
    opts.run_time = ten_seconds;
    gang_forecast *f = foretell(&h, &opts);
    ck_assert_int_eq(start_s_of(f, out), 110);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- again and again ------------------------------------------------------------------------- */

START_TEST(members_of_a_repeated_reservation_wait_for_the_next_window)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = host_whole("daily", 1, 100, 20);
    spec->period_ns = 100 * S;
    reserve(spec);
    gang_job_id member[3];
    for (int i = 0; i < 3; i++)
        member[i] = submit(h.s, 4, 15, "daily"); /* one a time */
    gang_job_id between = submit(h.s, 4, 80, NULL), again = submit(h.s, 4, 80, NULL);
    host_run(&h, 0); /* the first of these starts now */
    gang_forecast *f = foretell(&h, NULL);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(start_s_of(f, member[i]), 100 * (i + 1));
    ck_assert_int_eq(host_job_state(&h, between), GANG_JOB_RUNNING);
    ck_assert_int_eq(start_s_of(f, again), 120);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* It goes on for ever, the forecast does not. */
START_TEST(an_endlessly_repeated_reservation_does_not_prolong_a_forecast)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "q";
    q.max_blocked_ns = -1; /* else it would be looked at again after that time */
    host_open(&h, 1, 4);
    host_queues(&h, &q, 1);
    host_run(&h, 0);
    struct gang_reservation_spec *spec = host_whole("daily", 1, 100, 20);
    spec->period_ns = 100 * S;
    spec->notice_ns = 10 * S;
    reserve(spec);
    gang_job_id never = submit(h.s, 4, 101, NULL), once = submit(h.s, 4, 20, "daily");
    host_run(&h, 0);
    opts.max_events = 100;
    gang_forecast *f = foretell(&h, &opts);
    ck_assert_int_eq(start_s_of(f, once), 100);
    ck_assert_int_eq(expected_of(f, never).what, GANG_EXPECTED_NEVER);
    ck_assert_int_eq(expected_of(f, never).wait, GANG_WAIT_RESERVATION);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- with fewer nodes ------------------------------------------------------------------------ */

START_TEST(a_reduced_reservation_is_reduced_in_forecasts)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("demo", 2, 100, 50));
    gang_job_id wide = put(8, 20, "demo"), narrow = put(4, 20, "demo");
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_s_of(f, wide), 100);
    ck_assert_int_eq(start_s_of(f, narrow), 120);
    gang_forecast_free(f);
    MUST(gang_report_node_lost(h.s, host_node(&h, 0)));
    host_run(&h, S);
    ck_assert_int_eq(h.reserve[h.reserve_count - 1].outcome, GANG_RESERVATION_REDUCED);
    f = foretell(&h, NULL);
    ck_assert_int_eq(start_s_of(f, wide), -1);
    ck_assert_int_eq(start_s_of(f, narrow), 100);
    struct gang_reservation_info info = {.size = sizeof(info)};
    MUST(gang_reservation_get(gang_forecast_sched(f), id, &info));
    ck_assert_int_eq(info.nodes, 1);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* A node goes in the forecast alone, and there is no other one for the reservation. */
START_TEST(what_if_a_reserved_node_is_lost)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    reserve(host_whole("demo", 1, 100, 50));
    gang_job_id member = put(4, 20, "demo"), out = put(4, 120, NULL), wide = put(8, 10, NULL);
    ck_assert_int_eq(host_job_state(&h, out), GANG_JOB_RUNNING);
    gang_forecast *f = forecast_with(&h, NULL);
    gang_worker *w;
    MUST(gang_worker_new(gang_forecast_cluster(f), &w));
    for (int i = 0; i < 2; i++) { /* whichever of them it has */
        int32_t state =
            host_node_of(&h, out, 0) == host_node(&h, i) ? GANG_NODE_UP : GANG_NODE_DOWN;
        MUST(gang_node_set_state(w, host_node(&h, i), state));
    }
    run_forecast(f);
    ck_assert_int_eq(start_s_of(f, member),
                     120); /* nothing is left of it: the job waits like all others */
    ck_assert_int_eq(start_s_of(f, wide), -1);
    gang_forecast_free(f);
    f = foretell(&h, NULL); /* and here nothing has happened */
    ck_assert_int_eq(start_s_of(f, member), 100);
    ck_assert_int_eq(start_s_of(f, wide), 150);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(what_if_a_lost_reserved_node_is_up_again)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    reserve(host_whole("demo", 2, 100, 50));
    gang_job_id wide = put(8, 20, "demo"), out = put(4, 200, NULL);
    MUST(gang_report_node_lost(h.s, host_node(&h, 0)));
    host_run(&h, S);
    gang_forecast *f = forecast_with(&h, NULL);
    gang_worker *w;
    MUST(gang_worker_new(gang_forecast_cluster(f), &w));
    MUST(gang_node_set_state(w, host_node(&h, 0), GANG_NODE_UP));
    run_forecast(f);
    ck_assert_int_eq(start_s_of(f, wide), 100);
    ck_assert_int_eq(start_s_of(f, out), 150);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- what if --------------------------------------------------------------------------------- */

START_TEST(what_if_a_reservation_is_cancelled_or_made)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("demo", 1, 50, 50)), other;
    gang_job_id waits = put(4, 60, NULL);
    gang_forecast *f = forecast_with(&h, NULL);
    MUST(gang_reservation_cancel(gang_forecast_sched(f), id));
    run_forecast(f);
    ck_assert_int_eq(start_s_of(f, waits), 0);
    gang_forecast_free(f);
    f = forecast_with(&h, NULL);
    MUST(try_reserve(gang_forecast_sched(f), host_whole("more", 1, 100, 30), &other));
    gang_job_id member = submit(gang_forecast_sched(f), 4, 10, "more");
    run_forecast(f);
    ck_assert_int_eq(start_s_of(f, waits), 130);
    ck_assert_int_eq(start_s_of(f, member), 100);
    run_forecast(f); /* from the same state */
    ck_assert_int_eq(start_s_of(f, waits), 130);
    gang_forecast_free(f);
    struct gang_reservation_info info = {.size = sizeof(info)};
    MUST(gang_reservation_get(h.s, id, &info));
    ck_assert_int_eq(gang_reservation_get(h.s, other, &info), GANG_ESTALE);
    f = foretell(&h, NULL);
    ck_assert_int_eq(start_s_of(f, waits), 100);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* Earlier reservations of an owner count in the copy. */
START_TEST(limits_of_reservation_owners_hold_in_the_copy)
{
    struct gang_reservation_limit limit = GANG_RESERVATION_LIMIT_INIT;
    gang_reservation_id id;
    host_open_queue(&h, 3, GANG_BACKFILL_NONE);
    limit.max_gpu_milli = 8000;
    MUST(gang_reservation_set_limit(h.s, "ann", &limit, NULL));
    struct gang_reservation_spec *spec = host_whole("one", 1, 50, 50);
    spec->owner = "ann";
    reserve(spec);
    gang_forecast *f = forecast_with(&h, NULL);
    spec = host_whole("two", 2, 60, 10);
    spec->owner = "ann";
    ck_assert_int_eq(gang_reservation_add(gang_forecast_sched(f), spec, &id, NULL, NULL),
                     GANG_ELIMIT);
    spec = host_whole("two", 1, 60, 10);
    spec->owner = "ann";
    MUST(gang_reservation_add(gang_forecast_sched(f), spec, &id, NULL, NULL));
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- it comes true --------------------------------------------------------------------------- */

enum { JOBS = 24 };

static void random_site(void)
{
    char name[16];
    host_open_queue(&h, (size_t)(2 + below(3)), (int32_t)below(4));
    for (int i = 0; i < 3; i++) {
        struct gang_reservation_spec *spec =
            host_whole("", 1 + below(2), 20 + below(100), 1 + below(60));
        gang_reservation_id id;
        snprintf(name, sizeof(name), "r%d", i);
        spec->name = name;
        spec->flags = one_in(4) ? GANG_RESERVATION_MAGNETIC : 0;
        if (one_in(3)) {
            spec->period_ns = spec->duration_ns * (2 + below(3));
            spec->repetitions = 1 + below(12);
        }
        (void)!try_reserve(h.s, spec, &id);
    }
}

static gang_job_id random_job(void)
{
    char name[16];
    gang_reservation_id id;
    snprintf(name, sizeof(name), "r%d", (int)below(3));
    bool in = one_in(3) && gang_reservation_find(h.s, name, &id) == GANG_OK;
    return submit(h.s, 1 + below(8), 1 + below(50), in ? name : NULL);
}

static int64_t started[JOBS + 1];

static void note_start(struct host *host, const struct host_event *e)
{
    if (strcmp(e->op, "start") == 0 && e->job <= JOBS && started[e->job] < 0)
        started[e->job] = host->now_ns;
}

/* A forecast comes true when jobs end at their limits and nothing else happens. */
START_TEST(forecasts_come_true)
{
    uint64_t seed = test_seed();
    int64_t forecasts = 0;
    for (uint64_t world = 0; world < 60; world++) {
        chance_state = seed * 1000003u + world;
        struct gang_expected e[JOBS + 1];
        random_site();
        gang_job_id id[JOBS];
        for (int i = 0; i < JOBS; i++) {
            id[i] = random_job();
            started[id[i]] = -1;
            if (one_in(4))
                host_run(&h, below(20) * S);
        }
        h.during = note_start;
        host_run(&h, 0);
        for (int i = 0; i < JOBS; i++) /* those that run by now did so without being noted */
            started[id[i]] = -1;
        gang_forecast *f = foretell(&h, NULL);
        for (int i = 0; i < JOBS; i++) {
            e[i] = (struct gang_expected)GANG_EXPECTED_INIT;
            if (gang_forecast_get(f, id[i], &e[i]) != GANG_OK)
                e[i].job = GANG_ID_NONE;
        }
        gang_forecast_free(f);
        for (int k = 0; k < 5000 && gang_sched_next(h.s) != INT64_MAX; k++) {
            int64_t next = gang_sched_next(h.s);
            h.count = 0;
            host_run(&h, next > h.now_ns ? next - h.now_ns : 0);
        }
        for (int i = 0; i < JOBS; i++) {
            if (e[i].job == GANG_ID_NONE)
                continue;
            int64_t was = started[id[i]] < 0 ? INT64_MAX : started[id[i]];
            ck_assert_msg(e[i].start_ns == was,
                          "world %" PRIu64 ": job %" PRIu64 " starts at %" PRId64 ", and %" PRId64
                          " was the forecast",
                          world, id[i], was / S, e[i].start_ns / S);
            forecasts++;
        }
        host_close(&h);
    }
    ck_assert_int_gt(forecasts, 100);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

/* Reservations of all kinds: an active one with running and waiting members, a repeated one, one
 * of named nodes, one of several stages, a reduced one; owners with limits; notices that were
 * given. */
static void open_busy_site(void)
{
    struct gang_reservation_limit limit = GANG_RESERVATION_LIMIT_INIT;
    static const char *const users[] = {"ann", "bob"};
    static const char *const nodes[] = {"n2"};
    struct gang_reservation_stage stage[2] = {GANG_RESERVATION_STAGE_INIT,
                                              GANG_RESERVATION_STAGE_INIT};
    struct gang_group_spec group = host_gpus(2, 2);
    host_open_queue(&h, 3, GANG_BACKFILL_EASY);
    limit.max_gpu_milli = 40000;
    MUST(gang_reservation_set_limit(h.s, NULL, &limit, NULL));
    reserve(host_whole("now", 1, 5, 60));
    struct gang_reservation_spec *spec = host_whole("daily", 1, 100, 10);
    spec->owner = "ann";
    spec->period_ns = 30 * S;
    spec->purge_ns = 5 * S;
    spec->notice_ns = 90 * S;
    reserve(spec);
    spec = host_whole("repair", 1, 200, 10);
    stage[0].nodes = nodes;
    stage[0].node_count = 1;
    stage[1].groups = &group;
    stage[1].group_count = 1;
    spec->stages = stage;
    spec->stage_count = 2;
    spec->combine = GANG_STAGES_ORDER;
    spec->start_ns = -1;
    spec->arrival_ns = 150 * S;
    spec->users = users;
    spec->user_count = 2;
    reserve(spec);
    gang_reservation_id wide = reserve(host_whole("wide", 2, 100, 20));
    submit(h.s, 2, 20, "now");
    submit(h.s, 2, 40, "now");
    submit(h.s, 4, 20, "now");
    submit(h.s, 4, 8, "daily");
    host_run(&h, 5 * S);
    submit(h.s, 8, 60, NULL);
    submit(h.s, 12, 60, NULL);
    submit(h.s, 1, 10, NULL);
    host_run(&h, 10 * S);
    MUST(gang_report_node_lost(h.s, host_node(&h, 1))); /* some of the last one is missing */
    host_run(&h, S);
    ck_assert_int_eq(h.reserve[h.reserve_count - 1].outcome, GANG_RESERVATION_REDUCED);
    ck_assert_uint_eq(h.reserve[h.reserve_count - 1].id, wide);
}

START_TEST(out_of_memory_leaks_nothing)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    opts.samples = 2;
    open_busy_site();
    check_without_memory(&h, &opts);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("forecast reserve");
    TCase *t = tcase_create("forecast reserve");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, members_start_inside_a_reservation_and_other_jobs_around_it, 0, 2);
    tcase_add_test(t, no_job_starts_in_a_maintenance);
    tcase_add_test(t, members_of_an_active_reservation_are_copied_inside);
    tcase_add_test(t, members_without_a_time_limit_end_with_the_reservation);
    tcase_add_test(t, a_member_that_overran_its_prediction_may_run_to_the_end);
    tcase_add_test(t, members_of_a_repeated_reservation_wait_for_the_next_window);
    tcase_add_test(t, an_endlessly_repeated_reservation_does_not_prolong_a_forecast);
    tcase_add_test(t, a_reduced_reservation_is_reduced_in_forecasts);
    tcase_add_test(t, what_if_a_reserved_node_is_lost);
    tcase_add_test(t, what_if_a_lost_reserved_node_is_up_again);
    tcase_add_test(t, what_if_a_reservation_is_cancelled_or_made);
    tcase_add_test(t, limits_of_reservation_owners_hold_in_the_copy);
    tcase_add_test(t, forecasts_come_true);
    tcase_add_test(t, out_of_memory_leaks_nothing);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
