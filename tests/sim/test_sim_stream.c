/* SPDX-License-Identifier: Apache-2.0 */
/* Tables that are written as their rows are complete: what memory is left, what can still be
 * asked, refusals. That the rows and the statistics are those of a simulation that keeps all is
 * seen over random worlds in test_sim_random.c. */
#include <malloc.h>

#include "sim/simulated.h"

static struct simulated s;
static struct text jobs, rows, line;

static void open_two(void)
{
    const struct text none = {NULL, 0, 0};
    sim_open(&s, 2, 4);
    s.opts.record = GANG_SIM_RECORD_ALLOCATIONS | GANG_SIM_RECORD_TIMELINE;
    jobs = rows = line = none;
}

static void close_all(void)
{
    sim_close(&s);
    free(jobs.bytes);
    free(rows.bytes);
    free(line.bytes);
}

/* One simulation that writes its tables from the beginning. */
static void make_streamed(void)
{
    struct gang_sched_opts sched = GANG_SCHED_OPTS_INIT;
    sched.mem = &s.stage.mem.mem;
    sched.max_moves = -1;
    s.opts.sched = &sched;
    MUST(gang_sim_new(s.stage.c, &s.opts, &s.ops, NULL, &s.sim, NULL));
    MUST(gang_sim_stream(s.sim, GANG_SIM_JOBS_CSV, text_write, &jobs));
    MUST(gang_sim_stream(s.sim, GANG_SIM_ALLOCATIONS_CSV, text_write, &rows));
    MUST(gang_sim_stream(s.sim, GANG_SIM_TIMELINE_CSV, text_write, &line));
    MUST(gang_sim_add_trace(s.sim, s.trace, 0, NULL));
}

static void end_streams(void)
{
    for (int32_t t = GANG_SIM_JOBS_CSV; t <= GANG_SIM_BATSIM_CSV; t++)
        MUST(gang_sim_stream(s.sim, t, NULL, NULL));
}

static size_t lines(const struct text *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->length; i++)
        count += t->bytes[i] == '\n';
    return count;
}

START_TEST(rows_are_written_in_the_order_in_which_jobs_end)
{
    sim_job(&s, 0, 100, 2);
    sim_job(&s, 1, 10, 2);
    sim_job(&s, 2, 10, 9); /* never */
    sim_job(&s, 3, 10, 2);
    make_streamed();
    sim_run(&s, 50);
    ck_assert_uint_eq(lines(&jobs), 1 + 3);
    ck_assert_uint_eq(lines(&rows), 1 + 2);
    const char *at = strchr(jobs.bytes, '\n') + 1;
    ck_assert_msg(strncmp(at, "2,default,,ended,refused,2,,2,", 30) == 0, "%s", at);
    ck_assert_msg(strncmp(strchr(at, '\n') + 1, "1,default,,ended,success,1,1,11,", 32) == 0, "%s",
                  at);
    sim_run(&s, -1);
    end_streams();
    ck_assert_uint_eq(lines(&jobs), 1 + 4);
    ck_assert_uint_eq(lines(&rows), 1 + 3);
    ck_assert_uint_gt(lines(&line), 4);
}
END_TEST

START_TEST(ended_jobs_are_forgotten_and_others_kept)
{
    struct gang_sim_job j = {.size = sizeof(j)};
    struct gang_sim_allocation a = {.size = sizeof(a)};
    struct gang_sim_stats st = GANG_SIM_STATS_INIT;
    int64_t value[3];
    size_t index;
    sim_job(&s, 0, 10, 2);
    sim_job(&s, 0, 100, 2);
    sim_job(&s, 200, 10, 2);
    make_streamed();
    sim_run(&s, 5);
    gang_job_id first = sim_get(&s, 0).id;
    sim_run(&s, 50);
    ck_assert_int_eq(gang_sim_get_job(s.sim, 0, &j), GANG_ESTALE);
    ck_assert_time(sim_get(&s, 1).ran_ns, 50);
    ck_assert_time(sim_get(&s, 2).submit_ns, 200); /* to come */
    ck_assert_int_eq(sim_get(&s, 2).gpu_milli, 2000);
    ck_assert_int_eq(gang_sim_find_job(s.sim, first, &index), GANG_ENOENT);
    ck_assert_int_eq(gang_sim_job_column(s.sim, GANG_SIM_JOB_RUN_NS, 0, 3, value), GANG_ESTALE);
    MUST(gang_sim_job_column(s.sim, GANG_SIM_JOB_RUN_NS, 1, 2, value));
    ck_assert_time(value[1], 10);
    ck_assert_uint_eq(gang_sim_allocation_count(s.sim), 2);
    size_t there = gang_sim_get_allocation(s.sim, 0, &a) == GANG_OK ? 0 : 1;
    MUST(gang_sim_get_allocation(s.sim, there, &a));
    ck_assert_uint_eq(a.index, 1);
    ck_assert_int_eq(gang_sim_get_allocation(s.sim, 1 - there, &a), GANG_ESTALE);
    for (int32_t t = GANG_SIM_JOBS_CSV; t <= GANG_SIM_BATSIM_CSV; t++)
        ck_assert_int_eq(gang_sim_write(s.sim, t, text_write, &jobs), GANG_ESTALE);
    ck_assert_int_eq(gang_sim_stream(s.sim, GANG_SIM_BATSIM_CSV, text_write, &rows), GANG_ESTALE);
    MUST(gang_sim_get_stats(s.sim, NULL, &st));
    ck_assert_int_eq(st.jobs, 1);
    ck_assert_int_eq(st.unfinished, 1);
    struct gang_sim_stats_opts window = GANG_SIM_STATS_OPTS_INIT;
    window.warm_up_ns = SECOND;
    MUST(gang_sim_get_stats(s.sim, &window, &st));
    ck_assert_int_eq(st.jobs, 0);
}
END_TEST

START_TEST(wrong_arguments_are_refused)
{
    sim_job(&s, 0, 10, 2);
    make_streamed();
    ck_assert_int_eq(gang_sim_stream(NULL, 0, text_write, &jobs), GANG_EINVAL);
    ck_assert_int_eq(gang_sim_stream(s.sim, -1, text_write, &jobs), GANG_EINVAL);
    ck_assert_int_eq(gang_sim_stream(s.sim, 4, text_write, &jobs), GANG_EINVAL);
    ck_assert_int_eq(gang_sim_stream(s.sim, 0, text_write, &jobs), GANG_EEXIST);
    MUST(gang_sim_stream(s.sim, GANG_SIM_BATSIM_CSV, NULL, NULL)); /* none was begun */
}
END_TEST

static int32_t meddle(const struct gang_sim_event *e, void *user)
{
    (void)e;
    (void)user;
    ck_assert_int_eq(gang_sim_stream(s.sim, 0, NULL, NULL), GANG_EBUSY);
    return 0;
}

START_TEST(callbacks_may_not_change_streams)
{
    sim_job(&s, 0, 10, 2);
    s.ops.event = meddle;
    make_streamed();
    sim_run(&s, -1);
}
END_TEST

/* ---- forks ---- */

START_TEST(a_fork_keeps_its_own_rows)
{
    for (int i = 0; i < 40; i++)
        sim_job(&s, 5 * i, 13, 1 + i % 5);
    make_streamed();
    sim_run(&s, 60);
    gang_cluster *cluster;
    gang_sim *fork;
    MUST(gang_sim_fork(s.sim, &s.ops, NULL, &cluster, &fork, NULL));
    size_t length = jobs.length;
    struct gang_sim_info info = GANG_SIM_INFO_INIT, own = GANG_SIM_INFO_INIT;
    MUST(gang_sim_run(fork, NULL, &info, NULL));
    ck_assert_uint_eq(jobs.length, length); /* it does not write to the original's files */
    ck_assert_int_eq(info.ended, 40);
    int64_t stale = 0;
    for (size_t i = 0; i < 40; i++) {
        struct gang_sim_job j = {.size = sizeof(j)};
        stale += gang_sim_get_job(fork, i, &j) == GANG_ESTALE;
    }
    ck_assert_int_eq(stale, (int64_t)lines(&jobs) - 1);
    ck_assert_int_gt(stale, 0);
    own = sim_run(&s, -1);
    ck_assert_int_eq(own.ended, 40);
    struct text a = {NULL, 0, 0}, b = {NULL, 0, 0};
    MUST(gang_sim_write_summary(s.sim, NULL, 1, text_write, &a));
    MUST(gang_sim_write_summary(fork, NULL, 1, text_write, &b));
    test_assert(strcmp(a.bytes, b.bytes) == 0);
    free(a.bytes);
    free(b.bytes);
    gang_sim_free(fork);
    gang_cluster_free(cluster);
}
END_TEST

/* ---- refusals ---- */

static int refusals;

static int refuse_some(const char *bytes, size_t length, void *user)
{
    return refusals++ % 3 ? 1 : text_write(bytes, length, user);
}

START_TEST(a_refused_row_is_written_again)
{
    struct text all = {NULL, 0, 0};
    refusals = 0;
    for (int i = 0; i < 2000; i++)
        sim_job(&s, i, 3, 1);
    make_streamed();
    sim_run(&s, -1);
    end_streams();
    gang_sim_free(s.sim);
    struct gang_error error = GANG_ERROR_INIT;
    s.opts.sched = NULL;
    EXPECT_RESULT(gang_sim_new(s.stage.c, &s.opts, &s.ops, NULL, &s.sim, &error), GANG_OK, &error);
    MUST(gang_sim_stream(s.sim, GANG_SIM_JOBS_CSV, refuse_some, &all));
    EXPECT_RESULT(gang_sim_add_trace(s.sim, s.trace, 0, &error), GANG_OK, &error);
    gang_result r;
    int failed = 0;
    while ((r = gang_sim_run(s.sim, NULL, NULL, &error)) == GANG_EIO)
        failed++;
    MUST(r);
    while ((r = gang_sim_stream(s.sim, GANG_SIM_JOBS_CSV, NULL, NULL)) == GANG_EIO)
        failed++;
    MUST(r);
    ck_assert_int_gt(failed, 3);
    test_assert(all.length == jobs.length && memcmp(all.bytes, jobs.bytes, all.length) == 0);
    free(all.bytes);
}
END_TEST

START_TEST(memory_may_be_short)
{
    for (int i = 0; i < 30; i++)
        sim_job(&s, 5 * i, 8, 1 + i % 5);
    make_streamed();
    sim_run(&s, -1);
    end_streams();
    bool failed = true;
    for (long fail = 1; failed; fail += fail < 20 ? 1 : 7) {
        struct text all = {NULL, 0, 0};
        struct gang_sched_opts sched = GANG_SCHED_OPTS_INIT;
        gang_sim_free(s.sim);
        sched.mem = &s.stage.mem.mem;
        sched.max_moves = -1;
        s.opts.sched = &sched;
        MUST(gang_sim_new(s.stage.c, &s.opts, &s.ops, NULL, &s.sim, NULL));
        s.stage.mem.calls = 0;
        s.stage.mem.fail_at = fail;
        gang_result r;
        while ((r = gang_sim_stream(s.sim, GANG_SIM_JOBS_CSV, text_write, &all)) == GANG_ENOMEM)
            ;
        MUST(r);
        while ((r = gang_sim_add_trace(s.sim, s.trace, 0, NULL)) == GANG_ENOMEM)
            ;
        MUST(r);
        while ((r = gang_sim_run(s.sim, NULL, NULL, NULL)) == GANG_ENOMEM)
            ;
        MUST(r);
        while ((r = gang_sim_stream(s.sim, GANG_SIM_JOBS_CSV, NULL, NULL)) == GANG_ENOMEM)
            ;
        MUST(r);
        failed = s.stage.mem.calls >= fail;
        s.stage.mem.fail_at = 0;
        ck_assert_uint_eq(lines(&all), 31);
        free(all.bytes);
    }
}
END_TEST

/* ---- memory ---- */

static size_t live_bytes;

static void *count_alloc(size_t bytes, void *user)
{
    (void)user;
    void *memory = malloc(bytes ? bytes : 1);
    live_bytes += memory ? malloc_usable_size(memory) : 0;
    return memory;
}

static void count_release(void *memory, void *user)
{
    (void)user;
    live_bytes -= memory ? malloc_usable_size(memory) : 0;
    free(memory);
}

static int forget(const char *bytes, size_t length, void *user)
{
    (void)bytes;
    *(size_t *)user += length;
    return 0;
}

/* Bytes that a simulation holds when so many jobs have ended. */
static size_t bytes_of(int count, bool streams)
{
    size_t written = 0;
    struct gang_mem mem = GANG_MEM_INIT;
    struct gang_sched_opts sched = GANG_SCHED_OPTS_INIT;
    mem.alloc = count_alloc;
    mem.release = count_release;
    sched.mem = &mem;
    s.opts.sched = &sched;
    live_bytes = 0;
    sim_close(&s);
    sim_open(&s, 2, 4);
    s.opts.record = GANG_SIM_RECORD_ALLOCATIONS | GANG_SIM_RECORD_TIMELINE;
    for (int i = 0; i < count; i++)
        sim_job(&s, i, 3, 1);
    s.opts.sched = &sched;
    MUST(gang_sim_new(s.stage.c, &s.opts, NULL, NULL, &s.sim, NULL));
    for (int32_t t = 0; t < 3 && streams; t++)
        MUST(gang_sim_stream(s.sim, t, forget, &written));
    MUST(gang_sim_add_trace(s.sim, s.trace, 0, NULL));
    sim_run(&s, -1);
    size_t held = live_bytes;
    end_streams();
    gang_sim_free(s.sim);
    s.sim = NULL;
    ck_assert_uint_eq(live_bytes, 0);
    ck_assert_uint_eq(written > 0, streams);
    return held;
}

START_TEST(a_job_that_is_written_takes_little)
{
    size_t little = (bytes_of(20000, true) - bytes_of(10000, true)) / 10000;
    size_t much = (bytes_of(20000, false) - bytes_of(10000, false)) / 10000;
    ck_assert_uint_lt(little, 200);
    ck_assert_uint_gt(much, 2 * little);
    ck_assert_uint_lt(much, 1024);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim stream");
    TCase *c = tcase_create("two nodes of four");
    tcase_set_timeout(c, 60);
    tcase_add_checked_fixture(c, open_two, close_all);
    tcase_add_test(c, rows_are_written_in_the_order_in_which_jobs_end);
    tcase_add_test(c, ended_jobs_are_forgotten_and_others_kept);
    tcase_add_test(c, wrong_arguments_are_refused);
    tcase_add_test(c, callbacks_may_not_change_streams);
    tcase_add_test(c, a_fork_keeps_its_own_rows);
    tcase_add_test(c, a_refused_row_is_written_again);
    tcase_add_test(c, memory_may_be_short);
    tcase_add_test(c, a_job_that_is_written_takes_little);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
