/* SPDX-License-Identifier: Apache-2.0 */
/* Cumulative counters (gang_sched_stats(), gang_queue_stats()), and messages for operators with
 * what they are about (op log_entry). */
#include "chance.h"
#include "sched/host.h"

static struct host h;

static void setup(void)
{
    host_open(&h, 2, 4);
}

static void teardown(void)
{
    host_close(&h);
}

static struct gang_sched_stats all(void)
{
    struct gang_sched_stats stats = GANG_SCHED_STATS_INIT;
    MUST(gang_sched_stats(h.s, &stats));
    return stats;
}

static struct gang_sched_stats of_queue(const char *name)
{
    struct gang_sched_stats stats = GANG_SCHED_STATS_INIT;
    MUST(gang_queue_stats(h.s, host_queue_id(&h, name), &stats));
    return stats;
}

static int64_t sum(const int64_t *of, size_t count)
{
    int64_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += of[i];
    return n;
}

START_TEST(a_life_is_counted)
{
    gang_job_id id = host_submit(&h, host_spec("", 6, 2, 0)), late = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    host_run(&h, HOST_SECOND);
    MUST(gang_report_end(h.s, id, 1));
    MUST(gang_report_end(h.s, late, 0));
    host_run(&h, 1);
    struct gang_sched_stats stats = all();
    ck_assert_int_eq(stats.runs, 3);
    ck_assert_int_eq(stats.messages, 4);
    ck_assert_int_eq(stats.jobs, 2);
    ck_assert_int_eq(stats.starts, 2);
    ck_assert_int_eq(stats.resumes, 0);
    ck_assert_int_eq(stats.tasks_granted, 8);
    ck_assert_int_eq(stats.first_starts, 2);
    ck_assert_int_eq(stats.ends[GANG_END_SUCCESS], 1);
    ck_assert_int_eq(stats.ends[GANG_END_FAILED], 1);
    ck_assert_int_eq(sum(stats.ends, GANG_STATS_ENDS), 2);
    ck_assert_int_eq(sum(stats.gangs_stopped, GANG_STATS_REASONS), 0);
    ck_assert_int_eq(stats.wasted_starts, 0);
}
END_TEST

START_TEST(waits_fall_into_buckets_of_powers_of_two)
{
    static const int64_t waits[] = {
        0, 1, 2, 3, 4, INT64_C(1) << 29, (INT64_C(1) << 30) - 1, INT64_C(1) << 30};
    static const int bucket[] = {0, 1, 2, 2, 3, 30, 30, 31};
    int64_t wait_sum = 0;
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        int64_t before = all().waits[bucket[i]];
        gang_job_id block = host_gang(&h, "", 8, 0);
        host_run(&h, 1);
        if (waits[i] == 0) {
            ck_assert_int_eq(all().waits[0], before + 1);
            host_end_job(&h, block);
            continue;
        }
        gang_job_id id = host_gang(&h, "", 8, 0);
        host_run(&h, 1);
        before = all().waits[bucket[i]];
        h.now_ns += waits[i];
        host_end_job(&h, block);
        ck_assert_int_eq(all().waits[bucket[i]], before + 1);
        wait_sum += waits[i];
        host_end_job(&h, id);
    }
    struct gang_sched_stats stats = all();
    ck_assert_int_eq(stats.wait_sum_ns, wait_sum);
    ck_assert_int_eq(stats.wait_max_ns, INT64_C(1) << 30);
    ck_assert_int_eq(stats.first_starts, sum(stats.waits, GANG_STATS_BUCKETS));
}
END_TEST

static void open_tree(void)
{
    struct gang_queue_spec q[3] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT,
                                   GANG_QUEUE_SPEC_INIT};
    static struct gang_quota half = {"gpu", 4000, NULL, 0, 0};
    q[0].name = "top";
    q[1].name = "a";
    q[2].name = "b";
    q[1].parent = q[2].parent = "top";
    q[1].guaranteed = q[2].guaranteed = &half;
    q[1].guaranteed_count = q[2].guaranteed_count = 1;
    host_queues(&h, q, 3);
}

START_TEST(queues_count_what_is_below_them)
{
    open_tree();
    gang_job_id victim = host_submit(&h, host_spec("a", 8, 2, 0));
    host_run(&h, HOST_SECOND);
    gang_job_id id = host_gang(&h, "b", 4, 0);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, victim), 4);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    struct gang_sched_stats a = of_queue("a"), b = of_queue("b"), top = of_queue("top");
    ck_assert_int_eq(a.tasks_stopped[GANG_REASON_RECLAIM], 4);
    ck_assert_int_eq(a.jobs, 1);
    ck_assert_int_eq(a.tasks_granted, 8);
    ck_assert_int_eq(b.tasks_stopped[GANG_REASON_RECLAIM], 0);
    ck_assert_int_eq(b.starts, 1);
    ck_assert_int_eq(top.jobs, 2);
    ck_assert_int_eq(top.starts, 2);
    ck_assert_int_eq(top.runs, 0);
    struct gang_sched_stats whole = all();
    ck_assert_mem_eq(top.waits, whole.waits, sizeof(top.waits));
    open_tree(); /* counters survive a change of queues */
    ck_assert_int_eq(of_queue("a").tasks_granted, 8);
}
END_TEST

START_TEST(stops_of_whole_gangs_and_wasted_starts)
{
    struct gang_queue_spec q = host_default_queue(0);
    q.within = GANG_PREEMPT_LOWER;
    host_queues(&h, &q, 1);
    host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "", 8, 5);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, high), 8);
    ck_assert_int_eq(all().gangs_stopped[GANG_REASON_PREEMPT], 1);
    ck_assert_int_eq(all().wasted_starts, 0);
    gang_job_id higher = host_gang(&h, "", 8, 9);
    host_run(&h, 0); /* at the time at which the other started */
    ck_assert_int_eq(host_tasks(&h, higher), 8);
    ck_assert_int_eq(all().gangs_stopped[GANG_REASON_PREEMPT], 2);
    ck_assert_int_eq(all().wasted_starts, 1);
    MUST(gang_job_cancel(h.s, higher));
    host_run(&h, 1);
    ck_assert_int_eq(all().gangs_stopped[GANG_REASON_CANCEL], 1);
    ck_assert_int_eq(all().ends[GANG_END_CANCELLED], 1);
    ck_assert_int_eq(all().wasted_starts, 1);
}
END_TEST

START_TEST(refusals_are_counted_and_a_copy_goes_on_counting)
{
    gang_cluster *c;
    gang_sched *copy;
    struct gang_sched_stats stats = GANG_SCHED_STATS_INIT;
    h.refuse = "start";
    host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    ck_assert_int_eq(all().refusals, 1);
    ck_assert_int_eq(all().starts, 0);
    MUST(gang_sched_copy(h.s, NULL, NULL, &c, &copy, NULL));
    MUST(gang_sched_run(copy, 10 * (int64_t)HOST_SECOND + 1, NULL, NULL));
    MUST(gang_sched_stats(copy, &stats));
    ck_assert_int_eq(stats.refusals, 1);
    ck_assert_int_eq(stats.starts, 1);
    ck_assert_int_eq(all().starts, 0);
    gang_sched_free(copy);
    gang_cluster_free(c);
}
END_TEST

START_TEST(bad_questions_are_refused)
{
    struct gang_sched_stats stats = GANG_SCHED_STATS_INIT;
    ck_assert_int_eq(gang_sched_stats(NULL, &stats), GANG_EINVAL);
    ck_assert_int_eq(gang_sched_stats(h.s, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_queue_stats(h.s, 99, &stats), GANG_ESTALE);
    ck_assert_int_eq(gang_queue_stats(h.s, GANG_ID_NONE, &stats), GANG_ESTALE);
    stats.size = 8;
    ck_assert_int_eq(gang_sched_stats(h.s, &stats), GANG_EINVAL);
}
END_TEST

/* What the callbacks say, over random lives. */
START_TEST(random_lives_are_counted_as_the_host_counts_them)
{
    int64_t starts = 0, stops = 0, ends = 0, granted = 0;
    chance_state = test_seed() + (uint64_t)_i;
    open_tree();
    for (int step = 0; step < 200; step++) {
        if (below(2))
            (void)!gang_job_submit(h.s, host_spec(below(2) ? "a" : "b", 1 + below(8), 1, below(3)),
                                   &(gang_job_id){0}, NULL);
        for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id; id = gang_job_next(h.s, id))
            if (below(20) == 0)
                MUST(gang_report_end(h.s, id, (int32_t)below(2)));
        h.refuse = below(10) ? NULL : below(2) ? "start" : "grow";
        h.count = 0;
        host_run(&h, below(HOST_SECOND));
        for (size_t i = 0; i < h.count; i++) {
            const struct host_event *e = &h.event[i];
            bool accepted = !h.refuse || strcmp(h.refuse, e->op) != 0;
            starts += strcmp(e->op, "start") == 0 && accepted;
            stops += strcmp(e->op, "preempt") == 0;
            granted += strcmp(e->op, "grow") == 0 && accepted ? (int64_t)e->task_count : 0;
            ends += strcmp(e->op, "state") == 0 && e->state == GANG_JOB_ENDED;
        }
        struct gang_sched_stats stats = all();
        ck_assert_int_eq(stats.starts, starts);
        ck_assert_int_eq(sum(stats.gangs_stopped, GANG_STATS_REASONS), stops);
        ck_assert_int_eq(sum(stats.ends, GANG_STATS_ENDS), ends);
        ck_assert_int_eq(stats.tasks_granted, starts + granted); /* each minimum is one task */
        ck_assert_int_eq(stats.first_starts, sum(stats.waits, GANG_STATS_BUCKETS));
    }
    ck_assert_int_gt(starts, 20);
}
END_TEST

/* ---- messages for operators ---- */

static struct gang_log_entry entry;
static char entry_text[256];
static int entries;

static int32_t note_entry(const struct gang_log_entry *e, void *user)
{
    ck_assert_ptr_eq(user, &h);
    entry = *e;
    snprintf(entry_text, sizeof(entry_text), "%s", e->text);
    entries++;
    return 0;
}

START_TEST(messages_say_what_they_are_about)
{
    struct gang_host_ops ops = host_table();
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    host_close(&h);
    ops.log_entry = note_entry;
    opts.default_queue = "default";
    host_open_with(&h, 2, 4, &opts, &ops);
    h.refuse = "start";
    struct gang_job_spec *job = host_spec("", 2, 2, 0);
    job->cookie = 77;
    gang_job_id id = host_submit(&h, job);
    entries = 0;
    host_run(&h, 5);
    ck_assert_int_eq(entries, 1);
    ck_assert_uint_eq(entry.size, sizeof(entry));
    ck_assert_int_eq(entry.level, 0);
    ck_assert_int_eq(entry.code, GANG_LOG_REFUSED);
    ck_assert_uint_eq(entry.job, id);
    ck_assert_uint_eq(entry.queue, host_queue_id(&h, "default"));
    ck_assert_uint_eq(entry.cookie, 77);
    ck_assert_int_eq(entry.now_ns, 5);
    ck_assert_ptr_nonnull(strstr(entry_text, "refused to start"));
    ck_assert_str_eq(h.log, ""); /* op log is not called, too */
    MUST(gang_job_cancel(h.s, id));
    host_run(&h, 1);
    MUST(gang_report_end(h.s, id, 1));
    host_run(&h, 1);
    ck_assert_int_eq(entries, 2);
    ck_assert_int_eq(entry.code, GANG_LOG_IGNORED);
    ck_assert_uint_eq(entry.job, id);
    ck_assert_uint_eq(entry.queue, GANG_ID_NONE);
    MUST(gang_report_node_lost(h.s, 12345));
    host_run(&h, 1);
    ck_assert_int_eq(entries, 3);
    ck_assert_int_eq(entry.code, GANG_LOG_IGNORED);
    ck_assert_uint_eq(entry.job, GANG_ID_NONE);
}
END_TEST

START_TEST(a_resume_counts_as_a_start_but_not_as_a_first_one)
{
    host_preempts(&h, 0, GANG_PREEMPT_MODE_SUSPEND);
    gang_job_id low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "", 8, 5);
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(all().resumes, 0);
    host_end_job(&h, high);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
    ck_assert_int_eq(all().resumes, 1);
    ck_assert_int_eq(all().starts, 3);
    ck_assert_int_eq(all().first_starts, 2);
    ck_assert_int_eq(all().tasks_granted, 24);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stats");
    TCase *tests = tcase_create("stats");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_life_is_counted);
    tcase_add_test(tests, waits_fall_into_buckets_of_powers_of_two);
    tcase_add_test(tests, queues_count_what_is_below_them);
    tcase_add_test(tests, stops_of_whole_gangs_and_wasted_starts);
    tcase_add_test(tests, a_resume_counts_as_a_start_but_not_as_a_first_one);
    tcase_add_test(tests, refusals_are_counted_and_a_copy_goes_on_counting);
    tcase_add_test(tests, bad_questions_are_refused);
    tcase_add_loop_test(tests, random_lives_are_counted_as_the_host_counts_them, 0, 5);
    tcase_add_test(tests, messages_say_what_they_are_about);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
