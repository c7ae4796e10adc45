/* SPDX-License-Identifier: Apache-2.0 */
/* Published schedules: the workload logs of $GANG_SHARED/data/swf_sc15 (its README has the
 * semantics), run through the scheduler's own cycle and plan by the replay of bench/schedules,
 * job by job. Without the data the test skips; under slow tools it runs the first jobs only. */
#include "bench/schedules/replay.h"
#include "suite.h"
#include "support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SLOW true
#else
#define IS_SLOW false
#endif

enum { FEW = 1500, POLICIES = 6 };

static const struct log {
    const char *name;
    int64_t processors;
    size_t jobs;
} logs[] = {{"KTH-SP2", 100, 28481}, {"SDSC-SP2", 128, 54006}};

/* False: the log is not there. */
static bool load(const struct log *of, bool cut, struct replay_log *log)
{
    const char *shared = getenv("GANG_SHARED");
    char text[512];
    snprintf(text, sizeof(text), "gzip -dc '%s/data/swf_sc15/%s.csv.gz' 2>/dev/null",
             shared ? shared : "", of->name);
    FILE *f = shared && *shared ? popen(text, "r") : NULL;
    bool there = f && replay_read(f, cut ? FEW : 0, log);
    if (f)
        pclose(f);
    if (!there)
        printf("skipped: no %s; set GANG_SHARED\n", of->name);
    return there;
}

/* _i: which log, and which policy */
START_TEST(every_job_waits_as_long_as_was_published)
{
    const struct log *of = &logs[_i / POLICIES];
    const struct replay_policy *policy = &replay_policies[_i % POLICIES];
    struct replay_log log;
    struct replay_result result;
    bool cut = IS_SLOW || getenv("GANG_TEST_QUICK");
    if (!load(of, cut, &log))
        return;
    ck_assert_uint_eq(log.count, cut ? FEW : of->jobs);
    MUST(replay_run(&log, of->processors, policy, cut, &result));
    printf("%s %s: average wait %.3f s, %zu jobs compared, %zu differing\n", of->name, policy->name,
           result.wait_s, result.compared, result.differing);
    ck_assert_uint_gt(result.compared, log.count / 10);
    ck_assert_uint_eq(result.differing, 0);
    replay_free(&log);
}
END_TEST

/* ---- wrong input ----------------------------------------------------------------------------- */

static bool reads(const char *text, struct replay_log *log)
{
    FILE *f = tmpfile();
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    rewind(f);
    bool right = replay_read(f, 0, log);
    fclose(f);
    return right;
}

START_TEST(a_malformed_log_is_refused_with_its_line)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"", "line 1: nothing there"},
        {"job_id,submit,run,procs\n", "line 1: no columns submit, run, procs and req_time"},
        {"submit,run,procs,req_time\n", "line 2: no jobs"},
        {"submit,run,procs,req_time\n0,1,1,1\n5,x,1,1\n", "line 3: not a job, or out of order"},
        {"submit,run,procs,req_time\n5,1,1,1\n4,1,1,1\n", "line 3: not a job, or out of order"},
        {"submit,run,procs,req_time\n5,1,0,1\n", "line 2: not a job, or out of order"},
        {"submit,run,procs,req_time\n5,1,1\n", "line 2: not a job, or out of order"}};
    struct replay_log log;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        test_assert(!reads(wrong[i].text, &log));
        ck_assert_str_eq(log.error, wrong[i].error);
        replay_free(&log);
    }
}
END_TEST

START_TEST(a_wait_that_differs_is_seen)
{
    struct replay_log log;
    struct replay_result result;
    test_assert(
        reads("submit,run,procs,req_time,wait_easy\n0,10,2,10,0\n1,10,2,10,9\n2,5,1,5,0\n", &log));
    MUST(replay_run(&log, 3, &replay_policies[1], false, &result));
    ck_assert_uint_eq(result.compared, 3);
    ck_assert_uint_eq(result.differing, 0);
    log.waits[2]++;
    MUST(replay_run(&log, 3, &replay_policies[1], false, &result));
    ck_assert_uint_eq(result.differing, 1);
    test_assert(replay_repeat(&log, 3));
    ck_assert_uint_eq(log.count, 9);
    ck_assert_int_eq(log.job[8].submit_s, 8);
    replay_free(&log);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("published");
    TCase *t = tcase_create("schedules");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, every_job_waits_as_long_as_was_published, 0, 2 * POLICIES);
    tcase_add_test(t, a_malformed_log_is_refused_with_its_line);
    tcase_add_test(t, a_wait_that_differs_is_seen);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
