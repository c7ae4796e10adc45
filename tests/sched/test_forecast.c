/* SPDX-License-Identifier: Apache-2.0 */
/* Forecasts: expected starts of waiting jobs, and what-if. test_copy.c shows that a copy decides
 * like its original. */
#include "sched/forecast_host.h"

#define S INT64_C(1000000000)

static struct host h;

/* `nodes` machines of 8 GPUs, and one queue. */
static void open_site(size_t nodes, int32_t backfill)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, nodes, 8);
    q.name = "default";
    q.backfill = backfill;
    MUST(gang_sched_set_queues(h.s, &q, 1, NULL));
    h.now_ns = S;
}

static gang_job_id submit(gang_sched *s, int64_t nodes, int64_t limit_s)
{
    struct gang_group_spec g = group_of(nodes, 0, 8000);
    struct gang_job_spec job = host_job(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    job.queue = "default";
    job.time_limit_ns = limit_s * S;
    job.cookie = (uint64_t)limit_s;
    gang_result r = gang_job_submit(s, &job, &id, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    return id;
}

/* ---- when ---- */

START_TEST(a_waiting_job_is_forecast_to_start_at_the_time_limit_of_another)
{
    open_site(2, GANG_BACKFILL_NONE);
    submit(h.s, 1, 100);
    submit(h.s, 1, 300);
    host_run(&h, 0);
    gang_job_id wide = submit(h.s, 2, 50), after = submit(h.s, 2, 50);
    host_run(&h, 10 * S);
    gang_forecast *f = forecast_with(&h, NULL);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, wide), 301 * S);
    ck_assert_int_eq(start_of(f, after), 351 * S);
    struct gang_expected e = expected_of(f, wide);
    ck_assert_int_eq(e.what, GANG_EXPECTED_START);
    ck_assert_int_eq(e.samples, 1);
    ck_assert_uint_eq(e.cookie, 50);
    ck_assert(e.low_ns == e.start_ns && e.high_ns == e.start_ns);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(forecast_jobs_end_when_the_host_predicts)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    int asked = 0;
    open_site(1, GANG_BACKFILL_EASY);
    submit(h.s, 1, 100);
    host_run(&h, 0);
    gang_job_id next = submit(h.s, 1, 60), last = submit(h.s, 1, 60);
    host_run(&h, 10 * S);
    opts.run_time = half_the_limit;
    opts.user = &asked;
    gang_forecast *f = forecast_with(&h, &opts);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, next), 51 * S);
    ck_assert_int_eq(start_of(f, last), 81 * S);
    ck_assert_int_ge(asked, 2);
    gang_forecast_free(f);
    opts.now_ns = 70 * S; /* it should have ended at 51, and is taken to end at its limit */
    f = forecast_with(&h, &opts);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, next), 101 * S);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(a_job_behind_an_endless_job_has_no_forecast_start)
{
    open_site(1, GANG_BACKFILL_NONE);
    submit(h.s, 1, 0);
    host_run(&h, 0);
    gang_job_id never = submit(h.s, 1, 60);
    host_run(&h, S);
    gang_forecast *f = forecast_with(&h, NULL);
    run_forecast(f);
    struct gang_expected e = expected_of(f, never);
    ck_assert_int_eq(e.what, GANG_EXPECTED_NEVER);
    ck_assert_int_eq(e.wait, GANG_WAIT_CAPACITY);
    ck_assert_int_eq(e.start_ns, INT64_MAX);
    ck_assert_int_eq(e.samples, 0);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(nothing_is_forecast_beyond_the_horizon)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    open_site(1, GANG_BACKFILL_NONE);
    submit(h.s, 1, 100);
    host_run(&h, 0);
    gang_job_id soon = submit(h.s, 1, 100), late = submit(h.s, 1, 100);
    host_run(&h, 0);
    opts.horizon_ns = 150 * S;
    gang_forecast *f = forecast_with(&h, &opts);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, soon), 101 * S);
    ck_assert_int_eq(expected_of(f, late).what, GANG_EXPECTED_LATER);
    gang_forecast_free(f);
    opts.horizon_ns = 0;
    opts.max_events = 1;
    f = forecast_with(&h, &opts);
    run_forecast(f);
    ck_assert_int_eq(expected_of(f, soon).what, GANG_EXPECTED_LATER);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(a_job_that_ends_unstarted_is_reported)
{
    open_site(1, GANG_BACKFILL_NONE);
    submit(h.s, 1, 100);
    host_run(&h, 0);
    struct gang_group_spec g = group_of(1, 0, 8000);
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "default";
    job.start_within_ns = 20 * S;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 0);
    gang_forecast *f = forecast_with(&h, NULL);
    run_forecast(f);
    ck_assert_int_eq(expected_of(f, id).what, GANG_EXPECTED_END);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- distributions ---- */

static int32_t stop_after(void *user)
{
    int *left = user;
    return (*left)-- > 0 ? 0 : GANG_EBUSY;
}

START_TEST(a_host_ends_a_run_of_a_forecast)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_expected e = GANG_EXPECTED_INIT;
    int left = 3;
    opts.samples = 1000;
    opts.go_on = stop_after;
    opts.user = &left;
    open_site(2, GANG_BACKFILL_NONE);
    submit(h.s, 2, 100);
    gang_job_id second = submit(h.s, 2, 100);
    host_run(&h, 0);
    gang_forecast *f = forecast_with(&h, &opts);
    EXPECT_RESULT(gang_forecast_run(f, &error), GANG_EBUSY, &error);
    ck_assert_int_eq(left, -1); /* it was not asked again */
    ck_assert_int_eq(gang_forecast_get(f, second, &e), GANG_ENOENT);
    left = 1000000;
    run_forecast(f);
    ck_assert_int_ge(start_of(f, second), 100 * S);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(samples_give_an_interval_and_repeat)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    open_site(1, GANG_BACKFILL_NONE);
    submit(h.s, 1, 1000);
    host_run(&h, 0);
    gang_job_id next = submit(h.s, 1, 1000), last = submit(h.s, 1, 1000);
    host_run(&h, 0);
    opts.run_time = even_to_limit;
    opts.samples = 400;
    opts.seed = 7;
    gang_forecast *f = forecast_with(&h, &opts), *again = forecast_with(&h, &opts);
    run_forecast(f);
    run_forecast(again);
    struct gang_expected e = expected_of(f, next), same = expected_of(again, next);
    ck_assert_int_eq(e.samples, 400);
    ck_assert(e.start_ns == same.start_ns && e.low_ns == same.low_ns && e.high_ns == same.high_ns);
    /* evenly in 1...1001 s: 100, 500, 900 within what 400 draws stray */
    ck_assert_int_lt(llabs(e.low_ns - 101 * S), 60 * S);
    ck_assert_int_lt(llabs(e.start_ns - 501 * S), 100 * S);
    ck_assert_int_lt(llabs(e.high_ns - 901 * S), 60 * S);
    ck_assert_int_gt(start_of(f, last), e.start_ns);
    run_forecast(f); /* the state it runs from has stayed */
    ck_assert_int_eq(start_of(f, next), e.start_ns);
    gang_forecast_free(again);
    opts.seed = 8;
    again = forecast_with(&h, &opts);
    run_forecast(again);
    ck_assert_int_ne(start_of(again, next), e.start_ns);
    gang_forecast_free(again);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* 10, 20, 40, 80 s; NULL: as long, but the last has no end. */
static int64_t doubling(gang_job_id job, uint64_t cookie, int32_t sample, uint64_t draw, void *user)
{
    (void)job;
    (void)cookie;
    (void)draw;
    return !user && sample == 3 ? 0 : 10 * S << sample;
}

START_TEST(quantiles_are_linear_between_samples)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    int ends = 1;
    open_site(1, GANG_BACKFILL_NONE);
    submit(h.s, 1, 0);
    host_run(&h, 0);
    gang_job_id next = submit(h.s, 1, 0);
    host_run(&h, 0);
    opts.run_time = doubling;
    opts.user = &ends;
    opts.samples = 4;
    opts.low = GANG_WHOLE / 4;
    gang_forecast *f = forecast_with(&h, &opts);
    run_forecast(f);
    struct gang_expected e = expected_of(f, next);
    int64_t begin = e.start_ns - 30 * S; /* the first job started then */
    ck_assert_int_ge(begin, 0);
    ck_assert_int_le(begin, S);
    ck_assert_int_eq(e.low_ns - begin, 17500 * (S / 1000)); /* 3/4 on the way from 10 to 20 */
    ck_assert_int_eq(e.high_ns - begin, 68 * S);            /* 7/10 on the way from 40 to 80 */
    gang_forecast_free(f);
    opts.user = NULL;
    opts.low = GANG_WHOLE / 3 * 2;
    opts.high = GANG_WHOLE / 3 * 2 + 1;
    f = forecast_with(&h, &opts);
    run_forecast(f);
    e = expected_of(f, next);
    ck_assert_int_eq(e.samples, 3);
    ck_assert_int_eq(e.start_ns - begin, 30 * S);
    ck_assert_int_lt(e.low_ns, begin + 40 * S);
    ck_assert_int_eq(e.high_ns, INT64_MAX); /* between a start and none */
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- what if ---- */

START_TEST(what_if_there_were_more_nodes_and_jobs)
{
    open_site(1, GANG_BACKFILL_NONE);
    submit(h.s, 1, 100);
    host_run(&h, 0);
    gang_job_id waits = submit(h.s, 1, 100);
    host_run(&h, 0);
    gang_forecast *f = forecast_with(&h, NULL);
    struct gang_node_spec *like;
    gang_worker *w;
    MUST(gang_worker_new(gang_forecast_cluster(f), &w));
    MUST(gang_node_get_spec(h.stage.c, gang_node_next(h.stage.c, GANG_ID_NONE), &like));
    struct gang_node_spec more = *like;
    more.name = "more";
    MUST(gang_node_add(w, &more, NULL, NULL));
    gang_node_spec_free(like);
    gang_job_id wide = submit(gang_forecast_sched(f), 2, 10);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, waits), S);
    ck_assert_int_eq(start_of(f, wide), 101 * S);
    MUST(gang_job_cancel(gang_forecast_sched(f), waits)); /* and again with other values */
    run_forecast(f);
    struct gang_expected e = GANG_EXPECTED_INIT;
    ck_assert_int_eq(gang_forecast_get(f, waits, &e), GANG_ENOENT);
    gang_forecast_free(f);
    ck_assert_int_eq(host_job_state(&h, waits), GANG_JOB_PENDING);
    ck_assert_int_eq(gang_node_count(h.stage.c), 1);
    host_close(&h);
}
END_TEST

START_TEST(what_if_a_node_is_drained_and_a_limit_raised)
{
    struct gang_quota eight = {"gpu", 8000, NULL, 0, 0};
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    open_site(2, GANG_BACKFILL_NONE);
    q.name = "default";
    q.limit = &eight;
    q.limit_count = 1;
    MUST(gang_sched_set_queues(h.s, &q, 1, NULL));
    submit(h.s, 1, 100);
    host_run(&h, 0);
    gang_job_id waits = submit(h.s, 1, 100);
    host_run(&h, 0);
    gang_forecast *f = forecast_with(&h, NULL);
    eight.amount = 16000;
    MUST(gang_queue_change(gang_forecast_sched(f), &q, NULL));
    run_forecast(f);
    ck_assert_int_eq(start_of(f, waits), S);
    gang_worker *w;
    MUST(gang_worker_new(gang_forecast_cluster(f), &w));
    for (gang_node_id id = gang_node_next(h.stage.c, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_node_next(h.stage.c, id))
        MUST(gang_node_set_state(w, id, GANG_NODE_DRAINING)); /* the same ids */
    run_forecast(f);
    ck_assert_int_eq(expected_of(f, waits).what, GANG_EXPECTED_NEVER);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

START_TEST(a_forecast_outlives_what_it_was_made_from)
{
    open_site(1, GANG_BACKFILL_CONSERVATIVE);
    submit(h.s, 1, 100);
    host_run(&h, 0);
    gang_job_id waits = submit(h.s, 1, 100);
    host_run(&h, 0);
    gang_forecast *f = forecast_with(&h, NULL);
    host_run(&h, 500 * S); /* both have gone by then */
    host_run(&h, 500 * S);
    gang_sched_free(h.s);
    gang_cluster_free(h.stage.c);
    run_forecast(f);
    ck_assert_int_eq(start_of(f, waits), 101 * S);
    gang_forecast_free(f);
    ck_assert_int_eq(h.stage.mem.live, 0);
}
END_TEST

/* ---- suspended, preempted ---- */

START_TEST(a_preempted_job_resumes_with_its_remaining_time)
{
    struct gang_forecast_opts opts = GANG_FORECAST_OPTS_INIT;
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    int asked = 0;
    open_site(1, GANG_BACKFILL_NONE);
    q.name = "default";
    q.preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    q.within = GANG_PREEMPT_LOWER;
    MUST(gang_sched_set_queues(h.s, &q, 1, NULL));
    submit(h.s, 1, 200); /* runs for 100 s */
    host_run(&h, 0);
    gang_job_id low = submit(h.s, 1, 20);
    MUST(gang_job_set_priority(h.s, low, -1));
    host_run(&h, 40 * S);
    opts.run_time = half_the_limit;
    opts.user = &asked;
    gang_forecast *f = forecast_with(&h, &opts);
    gang_job_id high = submit(gang_forecast_sched(f), 1, 60); /* runs for 30 s */
    MUST(gang_job_set_priority(gang_forecast_sched(f), high, 1));
    run_forecast(f);
    ck_assert_int_eq(start_of(f, high), 41 * S); /* at once, in the place of the first one */
    ck_assert_int_eq(start_of(f, low), 131 * S); /* 30 s later than it would */
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

/* ---- nothing is disturbed ---- */

static void dump_job(char *to, size_t size, gang_job_id id)
{
    struct gang_job_info i = host_job_info(&h, id);
    struct gang_node_info n = stage_node(&h.stage, gang_node_next(h.stage.c, GANG_ID_NONE));
    snprintf(to, size, "%" PRIu64 " %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRId64,
             i.alloc, i.state, i.tasks, i.planned_ns, i.started_ns, n.gpu_mask,
             gang_sched_next(h.s));
}

START_TEST(the_live_scheduler_is_not_changed)
{
    char before[8][200], after[200];
    open_site(2, GANG_BACKFILL_CONSERVATIVE);
    gang_job_id id[6];
    for (int i = 0; i < 6; i++)
        id[i] = submit(h.s, 1 + i % 2, 100 + 10 * i);
    host_run(&h, 0);
    size_t events = h.count;
    for (int i = 0; i < 6; i++)
        dump_job(before[i], sizeof(before[i]), id[i]);
    int64_t next = gang_sched_next(h.s);
    gang_forecast *f = forecast_with(&h, NULL);
    run_forecast(f);
    for (int i = 0; i < 6; i++) {
        struct gang_job_info info = host_job_info(&h, id[i]);
        if (info.planned_ns) /* what runs ends at its limit: plans are what happens */
            ck_assert_int_eq(start_of(f, id[i]), info.planned_ns);
        dump_job(after, sizeof(after), id[i]);
        ck_assert_str_eq(before[i], after);
    }
    ck_assert_uint_eq(h.count, events);
    ck_assert_int_eq(gang_sched_next(h.s), next);
    host_check(&h);
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

static int32_t count_visits(const struct gang_expected *e, void *user)
{
    ck_assert_uint_eq(e->size, sizeof(*e));
    return ++*(int *)user == 2 ? 17 : 0;
}

START_TEST(all_jobs_are_visited_until_the_visitor_stops)
{
    int visits = 0;
    open_site(1, GANG_BACKFILL_NONE);
    for (int i = 0; i < 4; i++)
        submit(h.s, 1, 100);
    host_run(&h, 0);
    ck_assert_int_eq(gang_forecast_all(h.s, NULL, count_visits, &visits, NULL), 17);
    ck_assert_int_eq(visits, 2);
    host_close(&h);
}
END_TEST

/* ---- the plan ---- */

struct seen {
    int runs, starts;
    size_t nodes;
    int64_t end_ns, start_ns;
};

static int32_t see(const struct gang_plan_item *e, void *user)
{
    struct seen *seen = user;
    seen->runs += e->what == GANG_PLAN_RUNNING;
    seen->starts += e->what == GANG_PLAN_START;
    seen->nodes += e->node_count;
    seen->end_ns = e->end_ns;
    seen->start_ns = e->start_ns;
    ck_assert_int_lt(e->start_ns, e->end_ns);
    return 0;
}

START_TEST(gang_plan_each_lists_what_runs_and_what_is_planned)
{
    struct seen seen = {0};
    open_site(3, GANG_BACKFILL_EASY);
    submit(h.s, 2, 100);
    host_run(&h, 0);
    submit(h.s, 3, 50);
    host_run(&h, 0);
    MUST(gang_plan_each(h.s, see, &seen));
    ck_assert_int_eq(seen.runs, 1);
    ck_assert_int_eq(seen.starts, 1);
    ck_assert_uint_eq(seen.nodes, 5);
    ck_assert_int_eq(seen.start_ns, 101 * S);
    ck_assert_int_eq(seen.end_ns, 151 * S);
    ck_assert_int_eq(gang_plan_each(NULL, see, &seen), GANG_EINVAL);
    ck_assert_int_eq(gang_plan_each(h.s, NULL, &seen), GANG_EINVAL);
    host_close(&h);
}
END_TEST

/* ---- what is refused ---- */

static void try_within(struct host *host, const struct host_event *e)
{
    gang_forecast *f = NULL;
    (void)e;
    ck_assert_int_eq(gang_forecast_new(host->s, NULL, &f, NULL), GANG_EBUSY);
    ck_assert_ptr_null(f);
}

static void refused(struct gang_forecast_opts opts, gang_result r, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_forecast *f = (gang_forecast *)&error;
    EXPECT_RESULT(gang_forecast_new(h.s, &opts, &f, &error), r, &error);
    ck_assert_ptr_null(f);
    ck_assert_str_eq(error.path, path);
}

START_TEST(wrong_options_are_refused)
{
    struct gang_forecast_opts o = GANG_FORECAST_OPTS_INIT, bad = o;
    struct gang_expected e = GANG_EXPECTED_INIT;
    gang_forecast *f;
    open_site(1, GANG_BACKFILL_NONE);
    bad.size = 3;
    refused(bad, GANG_EINVAL, "size");
    bad = o;
    bad.horizon_ns = -1;
    refused(bad, GANG_ERANGE, "horizon_ns");
    bad = o;
    bad.max_events = -1;
    refused(bad, GANG_ERANGE, "max_events");
    bad = o;
    bad.samples = 10001;
    refused(bad, GANG_ERANGE, "samples");
    bad = o;
    bad.low = (int32_t)GANG_WHOLE;
    refused(bad, GANG_ERANGE, "low");
    bad = o;
    bad.high = -1;
    refused(bad, GANG_ERANGE, "high");
    bad = o;
    bad.reserved0 = 1;
    refused(bad, GANG_EINVAL, "reserved0");
    ck_assert_int_eq(gang_forecast_new(NULL, NULL, &f, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_forecast_new(h.s, NULL, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_forecast_run(NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_forecast_each(NULL, count_visits, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_forecast_all(h.s, NULL, NULL, NULL, NULL), GANG_EINVAL);
    ck_assert_ptr_null(gang_forecast_cluster(NULL));
    ck_assert_ptr_null(gang_forecast_sched(NULL));
    gang_forecast_free(NULL);
    f = forecast_with(&h, NULL);
    ck_assert_int_eq(gang_forecast_get(f, 1, &e), GANG_ENOENT); /* it was not run */
    e.size = 3;
    ck_assert_int_eq(gang_forecast_get(f, 1, NULL), GANG_EINVAL);
    gang_forecast_free(f);
    h.during = try_within;
    submit(h.s, 1, 10);
    host_run(&h, 0);
    h.during = NULL;
    host_close(&h);
}
END_TEST

/* ---- memory ---- */

/* A life with all that a copy holds: running, waiting, planned and stopping gangs, and
 * handovers. */
static void open_busy_site(void)
{
    host_with_owner(&h, 3, 8);
    submit(h.s, 1, 100);
    submit(h.s, 2, 100);
    host_run(&h, 0);
    submit(h.s, 3, 100);
    submit(h.s, 2, 40);
    host_run(&h, 0);
    struct gang_group_spec g = group_of(1, 0, 8000);
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "owner";
    job.time_limit_ns = 10 * S;
    host_submit(&h, &job);
    host_run(&h, S);
    ck_assert_int_gt(host_ops(&h, 2, "preempt") + host_ops(&h, 1, "preempt"), 0);
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

START_TEST(a_run_without_memory_can_be_repeated)
{
    open_busy_site();
    gang_forecast *f = forecast_with(&h, NULL);
    gang_result r = GANG_ENOMEM;
    struct gang_expected e = GANG_EXPECTED_INIT;
    for (long n = 1; r != GANG_OK; n += 3) {
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        r = gang_forecast_run(f, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        ck_assert_int_eq(gang_forecast_get(f, 3, &e), r == GANG_OK ? GANG_OK : GANG_ENOENT);
    }
    gang_forecast_free(f);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("forecast");
    TCase *tests = tcase_create("forecast");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_waiting_job_is_forecast_to_start_at_the_time_limit_of_another);
    tcase_add_test(tests, forecast_jobs_end_when_the_host_predicts);
    tcase_add_test(tests, a_job_behind_an_endless_job_has_no_forecast_start);
    tcase_add_test(tests, nothing_is_forecast_beyond_the_horizon);
    tcase_add_test(tests, a_job_that_ends_unstarted_is_reported);
    tcase_add_test(tests, a_host_ends_a_run_of_a_forecast);
    tcase_add_test(tests, samples_give_an_interval_and_repeat);
    tcase_add_test(tests, quantiles_are_linear_between_samples);
    tcase_add_test(tests, what_if_there_were_more_nodes_and_jobs);
    tcase_add_test(tests, what_if_a_node_is_drained_and_a_limit_raised);
    tcase_add_test(tests, a_forecast_outlives_what_it_was_made_from);
    tcase_add_test(tests, a_preempted_job_resumes_with_its_remaining_time);
    tcase_add_test(tests, the_live_scheduler_is_not_changed);
    tcase_add_test(tests, all_jobs_are_visited_until_the_visitor_stops);
    tcase_add_test(tests, gang_plan_each_lists_what_runs_and_what_is_planned);
    tcase_add_test(tests, wrong_options_are_refused);
    tcase_add_test(tests, out_of_memory_leaks_nothing);
    tcase_add_test(tests, a_run_without_memory_can_be_repeated);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
