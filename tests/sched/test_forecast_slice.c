/* SPDX-License-Identifier: Apache-2.0 */
/* Forecasts of time-sliced gangs: run time passes only in a gang's own slices, a gang that waits
 * for a row or a slice gets its start, and endless rotation is recognised. Forecasts come true.
 * test_copy.c shows that a copy rotates like its original. */
#include "chance.h"
#include "sched/forecast_host.h"

#define S INT64_C(1000000000)

static struct host h;

/* Queue "q", which slices by 10 s in two rows, on `nodes` nodes of 8 cores; and "r", by 1 s. */
static void open_site(size_t nodes, int64_t grace_s)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    host_open(&h, nodes, 4);
    h.now_ns = S;
    q[0].name = "q";
    q[0].quantum_ns = 10 * S;
    q[0].quantum_rows = 2;
    q[0].grace_ns = grace_s * S;
    q[0].max_blocked_ns = -1; /* else they become starved, and nothing is endless before that */
    q[1].name = "r";
    q[1].quantum_ns = S;
    host_queues(&h, q, 2);
}

/* A gang of so many whole nodes. */
static gang_job_id submit(gang_sched *s, const char *queue, int64_t nodes, int64_t limit_s)
{
    struct gang_group_spec g = group_of(nodes, 8000, 0);
    struct gang_job_spec job = host_job(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    job.queue = queue;
    job.time_limit_ns = limit_s * S;
    job.cookie = (uint64_t)limit_s;
    gang_result r = gang_job_submit(s, &job, &id, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    return id;
}

static gang_job_id put(int64_t nodes, int64_t limit_s)
{
    gang_job_id id = submit(h.s, "q", nodes, limit_s);
    host_run(&h, 0);
    return id;
}

/* ---- when ---- */

START_TEST(time_limits_count_running_quanta_only)
{
    open_site(1, 0);
    put(1, 25); /* 1-11, 21-31, 41-46 */
    gang_job_id second = put(1, 25), third = put(1, 25);
    gang_forecast *f = forecast_with(&h, NULL);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, second), 11 * S);
    ck_assert_int_eq(start_of(f, third), 46 * S); /* in the row of the first */
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(predicted_run_times_are_used_up_in_quanta)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    int asked = 0;
    open_site(1, 0);
    opts.run_time = half_the_limit;
    opts.user = &asked;
    gang_job_id first = put(1, 25), second = put(1, 25), third = put(1, 25);
    gang_forecast *f = forecast_with(&h, &opts); /* the first: 1-11, 21-23.5 */
    run_forecast(f);
    ck_assert_int_eq(start_of(f, second), 11 * S);
    ck_assert_int_eq(start_of(f, third), 47 * S / 2);
    ck_assert_int_eq(asked, 3); /* once a start, not a turn */
    gang_forecast_free(f);
    host_run(&h, 10 * S);
    host_run(&h, 4 * S); /* the second in its first turn; the first has run for 10 s */
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_SUSPENDED);
    f = forecast_with(&h, &opts);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, first), 21 * S); /* its next turn */
    ck_assert_int_eq(start_of(f, third), 47 * S / 2);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_asked_to_suspend_has_the_rest_of_its_grace)
{
    open_site(1, 4);
    h.lingers = true;
    put(1, 100);
    gang_job_id second = put(1, 100);
    host_run(&h, 10 * S);
    host_run(&h, S); /* it has 3 s left */
    gang_forecast *f = forecast_with(&h, NULL);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, second), 15 * S);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(sampled_run_times_exceed_what_a_sliced_gang_already_ran)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    open_site(1, 0);
    opts.run_time = even_to_limit;
    opts.samples = 300;
    opts.seed = 3;
    put(1, 40);
    gang_job_id endless = put(1, 100000), third = put(1, 10);
    host_run(&h, 10 * S);
    host_run(&h, 10 * S); /* the first has run for 10 s of at most 40, and begins its second turn */
    gang_forecast *f = forecast_with(&h, &opts);
    run_forecast(f);
    /* It ends evenly in its next three slices, 21 to 31, 41 to 51, 61 to 71; then the third gets
     * its row. A tenth is 3 s of that time, within the spread of 300 draws. The other one hardly
     * ever ends earlier. */
    struct gang_expected e = expected_of(f, third);
    ck_assert_int_eq(e.samples, 300);
    ck_assert_int_lt(llabs(e.low_ns - 24 * S), 3 * S);
    ck_assert_int_lt(llabs(e.start_ns - 46 * S), 4 * S);
    ck_assert_int_lt(llabs(e.high_ns - 68 * S), 3 * S);
    ck_assert_int_eq(start_of(f, endless), 31 * S);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- never ---- */

START_TEST(endless_rotation_does_not_prolong_a_forecast)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    open_site(1, 0);
    opts.max_events = 40; /* it is seen soon */
    put(1, 0);
    gang_job_id second = put(1, 0), never = put(1, 0);
    gang_forecast *f = forecast_with(&h, &opts);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, second), 11 * S);
    struct gang_expected e = expected_of(f, never);
    ck_assert_int_eq(e.what, GANG_EXPECTED_NEVER);
    ck_assert_int_eq(e.wait, GANG_WAIT_CAPACITY);
    gang_forecast_free(f);
    opts.max_events = 2;
    f = forecast_with(&h, &opts);
    run_forecast(f);
    ck_assert_int_eq(expected_of(f, never).what, GANG_EXPECTED_LATER);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(endless_rotation_of_one_matrix_does_not_hide_starts_in_another)
{
    open_site(2, 0);
    put(1, 0);              /* for ever; nothing is due in its turns but their end */
    submit(h.s, "r", 1, 0); /* by turns of 1 s, for ever, on the other node */
    submit(h.s, "r", 1, 0);
    gang_job_id ends = put(1, 25), third = put(1, 0);
    gang_forecast *f = forecast_with(&h, NULL);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, ends), 11 * S);
    ck_assert_int_eq(start_of(f, third), 56 * S); /* 11-21, 31-41, 51-56 */
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- what if ---- */

START_TEST(what_if_a_node_or_a_row_is_added)
{
    open_site(1, 0);
    put(1, 25);
    gang_job_id second = put(1, 25), third = put(1, 25);
    gang_forecast *f = forecast_with(&h, NULL);
    struct gang_queue_spec *spec;
    gang_queue_id q;
    MUST(gang_queue_find(gang_forecast_sched(f), "q", &q));
    MUST(gang_queue_get_spec(gang_forecast_sched(f), q, &spec));
    struct gang_queue_spec changed = *spec;
    changed.quantum_rows = 3;
    MUST(gang_queue_change(gang_forecast_sched(f), &changed, NULL));
    gang_queue_spec_free(spec);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, third), 21 * S); /* a row of its own */
    gang_worker *w;
    struct gang_node_spec *like;
    MUST(gang_worker_new(gang_forecast_cluster(f), &w));
    MUST(gang_node_get_spec(h.stage.c, gang_node_next(h.stage.c, GANG_ID_NONE), &like));
    struct gang_node_spec more = *like;
    more.name = "more";
    MUST(gang_node_add(w, &more, NULL, NULL));
    gang_node_spec_free(like);
    gang_job_id late = submit(gang_forecast_sched(f), "q", 1, 5);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, third), S);     /* beside the first */
    ck_assert_int_eq(start_of(f, late), 11 * S); /* beside the second */
    ck_assert_int_eq(start_of(f, second), 11 * S);
    MUST(gang_job_cancel(gang_forecast_sched(f), second));
    run_forecast(f);
    ck_assert_int_eq(start_of(f, late), 11 * S); /* a row of its own */
    gang_forecast_free(f);
    ck_assert_int_eq(host_job_state(&h, third), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

/* Slices rotate for ever, and a reservation recurs for ever: the forecast ends. */
START_TEST(endless_rotation_beside_an_endless_reservation_is_recognised)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    gang_reservation_id id;
    open_site(2, 0);
    struct gang_reservation_spec *spec = host_whole("daily", 1, 101, 20);
    spec->period_ns = 100 * S;
    MUST(gang_reservation_add(h.s, spec, &id, NULL, NULL));
    put(1, 0);
    put(1, 0); /* both on the other node, where the rows are full now */
    gang_job_id never = put(1, 0);
    opts.max_events = 1000;
    gang_forecast *f = forecast_with(&h, &opts);
    run_forecast(f);
    ck_assert_int_eq(expected_of(f, never).what, GANG_EXPECTED_NEVER);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- what comes ---- */

enum { JOBS = 60, NODES = 4 };
static gang_job_id ids[JOBS];
static int64_t came_ns[JOBS]; /* it ran first after the forecast; 0: not yet */
static size_t job_count;

static void note_start(struct host *host, const struct host_event *e)
{
    bool ran = strcmp(e->op, "state") == 0 && e->state == GANG_JOB_RUNNING;
    for (size_t i = 0; ran && i < job_count; i++)
        if (ids[i] == e->job && came_ns[i] == 0)
            came_ns[i] = host->now_ns;
}

static int64_t some_time(gang_job_id job, uint64_t cookie, int32_t sample, uint64_t draw,
                         void *user)
{
    (void)cookie, (void)sample, (void)draw, (void)user;
    return (int64_t)(1 + job * 7 % 43) * S + (int64_t)job;
}

/* When a job that runs has run for its time. */
static int64_t end_of(gang_job_id id)
{
    struct gang_job_info info = host_job_info(&h, id);
    return info.state != GANG_JOB_RUNNING
               ? INT64_MAX
               : info.started_ns + info.suspended_ns + some_time(id, 0, 0, 0, NULL);
}

static int64_t next_end(void)
{
    int64_t next = INT64_MAX;
    for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id; id = gang_job_next(h.s, id)) {
        int64_t at = end_of(id);
        next = at < next ? at : next;
    }
    return next;
}

static void end_those_due(void)
{
    for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id; id = gang_job_next(h.s, id))
        if (end_of(id) <= h.now_ns)
            MUST(gang_report_end(h.s, id, 1));
}

/* To the next thing that happens; false: nothing does. */
static bool live_on(int64_t most_ns)
{
    int64_t next = gang_sched_next(h.s), end = next_end();
    next = end < next ? end : next;
    if (next > most_ns)
        return false;
    h.now_ns = next > h.now_ns ? next : h.now_ns;
    end_those_due();
    h.count = 0;
    host_run(&h, 0);
    return true;
}

static void submit_some(void)
{
    static const char *const queue[] = {"a", "b", "plain"};
    struct gang_group_spec g = group_of(1 + below(NODES), (1 + below(8)) * 1000, 0);
    struct gang_job_spec job = host_job(&g, 1);
    g.memory_bytes = (1 + below(20)) * GIB;
    g.gpu_milli = one_in(3) ? 1000 : 0;
    g.min = one_in(3) ? 1 : g.count;
    job.queue = queue[below(3)];
    job.priority = below(3);
    job.time_limit_ns = one_in(3) ? (1 + below(40)) * S : 0;
    if (gang_job_submit(h.s, &job, &ids[job_count], NULL) == GANG_OK)
        job_count++;
}

static void open_world(void)
{
    struct gang_queue_spec q[4] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT,
                                   GANG_QUEUE_SPEC_INIT};
    const struct gang_quota third[] = {{"cpu", NODES * 8000 / 3, NULL, 0, 0}};
    host_open(&h, NODES, 4);
    h.now_ns = S;
    q[0].name = "a";
    q[0].quantum_ns = (2 + below(6)) * S;
    q[0].quantum_rows = below(4);
    q[0].quantum_gpus = one_in(2);
    q[1].name = "top";
    q[1].quantum_ns = (2 + below(6)) * S;
    q[2].name = "b";
    q[2].parent = "top";
    q[3].name = "plain";
    q[3].guaranteed = third;
    q[3].guaranteed_count = one_in(2);
    q[3].backfill = one_in(2) ? GANG_BACKFILL_NONE : GANG_BACKFILL_EASY;
    host_queues(&h, q, 4);
    if (one_in(3)) { /* a node for others, again and again */
        struct gang_reservation_spec *spec = host_whole("daily", 1, 10 + below(20), 1 + below(5));
        gang_reservation_id id;
        spec->period_ns = (10 + below(20)) * S;
        MUST(gang_reservation_add(h.s, spec, &id, NULL, NULL));
    }
    job_count = 0;
    memset(came_ns, 0, sizeof(came_ns));
}

/* Runs on until all forecast starts have come, or should have. */
static void compare(gang_forecast *f, uint64_t seed, int64_t *forecasts)
{
    int64_t last = 0;
    memset(came_ns, 0, sizeof(came_ns));
    h.during = note_start;
    for (size_t i = 0; i < job_count; i++) {
        struct gang_expected e = GANG_EXPECTED_INIT;
        if (gang_forecast_get(f, ids[i], &e) == GANG_OK && e.start_ns != INT64_MAX)
            last = e.start_ns > last ? e.start_ns : last;
    }
    while (live_on(last))
        ;
    for (size_t i = 0; i < job_count; i++) {
        struct gang_expected e = GANG_EXPECTED_INIT;
        if (gang_forecast_get(f, ids[i], &e) != GANG_OK || e.what == GANG_EXPECTED_END)
            continue;
        int64_t at = came_ns[i] ? came_ns[i] : INT64_MAX;
        ck_assert_msg(at == e.start_ns,
                      "world %" PRIu64 ": job %" PRIu64 " came at %" PRId64 ", not %" PRId64, seed,
                      ids[i], at, e.start_ns);
        *forecasts += at != INT64_MAX;
    }
}

/* Is a gang preempted? One with places but no slice yet has nothing to stop and waits again at
 * once. */
static bool preempts(const struct host_event *e)
{
    return strcmp(e->op, "preempt") == 0 || strcmp(e->op, "shrink") == 0 ||
           (strcmp(e->op, "state") == 0 && e->state == GANG_JOB_PENDING);
}

/* After the last run no gang waits for places that are free. A gang that this run preempts may
 * itself preempt in the next run; so runs follow until all is settled. */
static void check_nothing_is_left(uint64_t seed)
{
    for (int i = 0; i < 9; i++) {
        h.count = 0;
        host_run(&h, 0);
        if (h.count == 0)
            return;
        ck_assert_msg(preempts(&h.event[0]),
                      "world %" PRIu64 ": job %" PRIu64 " could have come before", seed,
                      h.event[0].job);
    }
    ck_abort_msg("world %" PRIu64 ": they preempt each other without end", seed);
}

START_TEST(sliced_forecasts_come_true)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    uint64_t seed = test_seed();
    int64_t forecasts = 0, sliced = 0;
    opts.run_time = some_time;
    opts.max_events =
        20000; /* beside a recurring reservation jobs may preempt each other for ever */
    for (int world = 0; world < 60; world++, seed++) {
        chance_state = seed;
        open_world();
        int steps = 10 + (int)below(60);
        for (int i = 0; i < steps; i++) {
            if (job_count < JOBS && one_in(2))
                submit_some();
            host_run(&h, 0);
            (void)live_on(h.now_ns + 5 * S);
            check_nothing_is_left(seed);
        }
        for (size_t i = 0; i < job_count; i++)
            sliced += host_has(&h, ids[i]) && host_job_info(&h, ids[i]).slice_row > 1;
        gang_forecast *f = forecast_with(&h, &opts);
        run_forecast(f);
        compare(f, seed, &forecasts);
        gang_forecast_free(f);
        host_close(&h);
    }
    ck_assert_int_gt(forecasts, 60);
    ck_assert_int_gt(sliced, 60);
}
END_TEST

/* ---- memory ---- */

/* Two rows that run and suspend, one gang that waits for a row, one that waits for a handover. */
static void open_busy_site(void)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota all = {"cpu", 24000, NULL, 0, 0};
    host_open(&h, 3, 4);
    h.now_ns = S;
    h.lingers = true;
    q[0].name = "q";
    q[0].quantum_ns = 10 * S;
    q[0].quantum_rows = 2;
    q[0].grace_ns = 30 * S;
    q[1].name = "owner";
    q[1].guaranteed = &all;
    q[1].guaranteed_count = 1;
    host_queues(&h, q, 2);
    put(2, 100);
    put(1, 100);
    put(3, 100);
    put(3, 100);
    host_run(&h, 10 * S); /* the first two are to suspend */
    ck_assert_int_eq(host_ops(&h, 1, "suspend"), 1);
    submit(h.s, "owner", 1, 10);
    host_run(&h, S);
    ck_assert_int_gt(
        host_ops(&h, 1, "preempt") + host_ops(&h, 2, "preempt") + host_ops(&h, 3, "preempt"), 0);
}

START_TEST(out_of_memory_leaks_nothing)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    int asked = 0;
    opts.samples = 2;
    opts.run_time = half_the_limit;
    opts.user = &asked;
    open_busy_site();
    check_without_memory(&h, &opts);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("forecast_slice");
    TCase *tests = tcase_create("forecast_slice");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, endless_rotation_beside_an_endless_reservation_is_recognised);
    tcase_add_test(tests, time_limits_count_running_quanta_only);
    tcase_add_test(tests, predicted_run_times_are_used_up_in_quanta);
    tcase_add_test(tests, a_gang_asked_to_suspend_has_the_rest_of_its_grace);
    tcase_add_test(tests, sampled_run_times_exceed_what_a_sliced_gang_already_ran);
    tcase_add_test(tests, endless_rotation_does_not_prolong_a_forecast);
    tcase_add_test(tests, endless_rotation_of_one_matrix_does_not_hide_starts_in_another);
    tcase_add_test(tests, what_if_a_node_or_a_row_is_added);
    tcase_add_test(tests, sliced_forecasts_come_true);
    tcase_add_test(tests, out_of_memory_leaks_nothing);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
