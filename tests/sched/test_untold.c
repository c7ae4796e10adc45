/* SPDX-License-Identifier: Apache-2.0 */
/* A run decides, and then tells the host: what it grants and gives to another job afterwards, the
 * host never hears of. Jobs are tried as they came, and preempt those of lower priority. So the run
 * grants GPUs to an older job before one of higher priority takes them. */
#include "sched/host.h"

enum { GPUS = 8 };

static struct host h;
static struct gang_queue_spec queue;
static char granted[64]; /* the jobs to which the run granted something, in order */

static void note(struct host *host, const struct host_event *e)
{
    size_t used = strlen(granted);
    (void)host;
    if (strcmp(e->op, "granted") == 0)
        snprintf(granted + used, sizeof(granted) - used, " %d", (int)e->job);
}

static void setup(void)
{
    queue = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
    queue.name = "q";
    queue.order = GANG_ORDER_FIFO;
    queue.within = GANG_PREEMPT_LOWER;
    host_open(&h, 2, GPUS / 2);
    host_queues(&h, &queue, 1);
    h.during = note;
    host_follow_decisions(&h);
    granted[0] = '\0';
}

static void teardown(void)
{
    host_close(&h);
}

static struct gang_sched_stats stats(void)
{
    struct gang_sched_stats x = {.size = sizeof(x)};
    MUST(gang_sched_stats(h.s, &x));
    return x;
}

static bool runs(gang_job_id id)
{
    return host_job_state(&h, id) == GANG_JOB_RUNNING;
}

/* Ops about the job, but for its state. */
static int ops(gang_job_id id)
{
    int n = 0;
    for (size_t i = 0; i < h.count; i++)
        n += h.event[i].job == id && strcmp(h.event[i].op, "state") != 0;
    return n;
}

/* ---- starts ---- */

START_TEST(a_gang_does_not_start_for_the_time_of_a_run)
{
    gang_job_id low = host_gang(&h, "q", GPUS, 0), high = host_gang(&h, "q", GPUS, 5);
    struct gang_run_info info = host_run_info(&h, 1);
    ck_assert(runs(high));
    ck_assert_str_eq(granted, " 1 2");
    ck_assert_int_eq(ops(high), 1);
    ck_assert_int_eq(ops(low), 0);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_info(&h, low).preemptions, 0);
    ck_assert_int_eq(info.started, 1);
    ck_assert_int_eq(info.tasks_granted, GPUS);
    ck_assert_int_eq(info.tasks_preempted, 0);
    ck_assert_int_eq(stats().starts, 1);
    ck_assert_int_eq(stats().wasted_starts, 0);
    host_end_job(&h, high);
    ck_assert(runs(low));
}
END_TEST

START_TEST(a_minimum_run_time_does_not_hold_up_others)
{
    queue.min_runtime_ns = 60 * (int64_t)HOST_SECOND;
    host_queues(&h, &queue, 1);
    gang_job_id low = host_gang(&h, "q", GPUS, 0), high = host_gang(&h, "q", GPUS, 5);
    host_run(&h, 1);
    ck_assert(runs(high) && !runs(low));
    ck_assert_str_eq(granted, " 1 2");
    ck_assert_int_eq(ops(low), 0);
}
END_TEST

/* It was never stopped, so no cooldown spares it when it runs. */
START_TEST(what_is_taken_back_leaves_no_cooldown)
{
    gang_job_id low = host_gang(&h, "q", GPUS, 0), high = host_gang(&h, "q", GPUS, 5);
    host_run(&h, 1);
    host_end_job(&h, high);
    ck_assert(runs(low));
    high = host_gang(&h, "q", GPUS, 5);
    host_run(&h, 1);
    ck_assert(runs(high) && !runs(low));
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 1);
    ck_assert_int_eq(host_job_info(&h, low).preemptions, 1);
}
END_TEST

START_TEST(it_is_not_suspended_and_starts_later)
{
    queue.preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    host_queues(&h, &queue, 1);
    gang_job_id low = host_gang(&h, "q", GPUS, 0), high = host_gang(&h, "q", GPUS, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING);
    host_end_job(&h, high);
    ck_assert_int_eq(host_ops(&h, low, "start"), 1);
    ck_assert_int_eq(ops(low), 1);
}
END_TEST

START_TEST(a_suspended_gang_stays_so)
{
    queue.preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    host_queues(&h, &queue, 1);
    gang_job_id low = host_submit(&h, host_spec("q", GPUS, 2, 0));
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "q", GPUS, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "suspend"), 1);
    MUST(gang_report_end(h.s, high, 1));
    gang_job_id next = host_gang(&h, "q", GPUS, 5);
    host_run(&h, HOST_SECOND);
    ck_assert(runs(next));
    ck_assert_int_eq(host_ops(&h, low, "resume"), 0);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    host_end_job(&h, next);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
    ck_assert_int_eq(host_tasks(&h, low), GPUS);
}
END_TEST

START_TEST(a_gang_that_starved_is_starved_still)
{
    queue.max_wait_ns = 10 * (int64_t)HOST_SECOND;
    host_queues(&h, &queue, 1);
    gang_job_id block = host_gang(&h, "q", GPUS, 5);
    host_run(&h, 1);
    gang_job_id low = host_gang(&h, "q", GPUS, 0);
    host_run(&h, 1);
    host_run(&h, 20 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(host_job_info(&h, low).starved, 1);
    MUST(gang_report_end(h.s, block, 1));
    gang_job_id high = host_gang(&h, "q", GPUS, 5);
    host_run(&h, 1);
    ck_assert(runs(high));
    ck_assert_int_eq(host_job_info(&h, low).starved, 1);
    host_end_job(&h, high);
    ck_assert(runs(low));
    ck_assert_int_eq(host_job_info(&h, low).starved, 0);
}
END_TEST

/* ---- others stopped for it ---- */

START_TEST(what_others_freed_for_it_is_passed_on)
{
    gang_job_id old = host_gang(&h, "q", GPUS - 1, 0);
    host_run(&h, 1);
    gang_job_id low = host_gang(&h, "q", GPUS, 1), high = host_gang(&h, "q", GPUS, 5);
    char text[128];
    host_run(&h, 1);
    ck_assert(runs(high));
    ck_assert_int_eq(host_ops(&h, old, "preempt"), 1);
    ck_assert_uint_eq(host_last(&h, old, "preempt")->because, low);
    ck_assert_int_eq(ops(low), 0);
    snprintf(text, sizeof(text), "what others freed for job %d goes to job %d", (int)low,
             (int)high);
    ck_assert_str_eq(h.log, text);
    ck_assert_int_eq(h.log_level, 1); /* no error of the host */
}
END_TEST

/* The run also takes tasks of `low` for `high`, which waits for `old` to stop. Then the host
 * refuses to start `low`: what was taken of it stays kept. */
START_TEST(what_was_taken_of_a_refused_start_is_kept)
{
    queue.grace_ns = 60 * (int64_t)HOST_SECOND;
    host_queues(&h, &queue, 1);
    h.lingers = true;
    gang_job_id old = host_gang(&h, "q", GPUS / 2, 0);
    host_run(&h, 1);
    gang_job_id low = host_submit(&h, host_spec("q", GPUS / 2, 2, 1));
    gang_job_id high = host_gang(&h, "q", GPUS - 2, 5);
    h.refuse = "start";
    host_run(&h, 1);
    h.refuse = NULL;
    ck_assert_int_eq(host_ops(&h, low, "start"), 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, old), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_gpus_free(&h), 2);
    gang_job_id other = host_gang(&h, "q", 3, 0);
    host_run(&h, 1);
    ck_assert(!runs(other));
    host_report_all(&h, old, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert(runs(high));
}
END_TEST

/* ---- growth ---- */

START_TEST(tasks_that_others_are_entitled_to_are_not_added)
{
    gang_job_id low = host_submit(&h, host_spec("q", GPUS, 2, 0));
    gang_job_id high = host_gang(&h, "q", GPUS / 2, 5);
    host_run(&h, 1);
    ck_assert(runs(high) && runs(low));
    ck_assert_int_eq(host_tasks(&h, low), GPUS / 2);
    ck_assert_int_eq(host_ops(&h, low, "shrink"), 0);
    ck_assert_int_eq(host_ops(&h, low, "grow"), 1);
    ck_assert_uint_eq(host_last(&h, low, "grow")->task_count, GPUS / 2 - 2);
}
END_TEST

/* ---- what the host sees in callbacks ---- */

static gang_job_id watched, other;
static int starts_seen;

/* The first start is that of `watched`. */
static void look(struct host *host, const struct host_event *e)
{
    struct gang_task task = GANG_TASK_INIT;
    if (strcmp(e->op, "start") != 0 || starts_seen++ > 0)
        return;
    ck_assert_uint_eq(e->job, watched);
    ck_assert_int_eq(host_tasks(host, watched), 2);
    ck_assert_uint_eq(stage_tasks(&host->stage, e->alloc)->count, 2);
    MUST(gang_alloc_task(host->stage.c, e->alloc, 1, &task));
    ck_assert_int_eq(gang_alloc_task(host->stage.c, e->alloc, 2, &task), GANG_ENOENT);
    ck_assert_int_eq(host_job_state(host, other), GANG_JOB_PENDING);
    ck_assert_int_eq(host_tasks(host, other), 0);
    ck_assert_uint_eq(gang_job_alloc(host->s, other, 0), GANG_ID_NONE);
    ck_assert_uint_eq(host_job_info(host, other).alloc, GANG_ID_NONE);
}

START_TEST(a_callback_sees_what_the_host_was_told)
{
    starts_seen = 0;
    h.during = look;
    watched = host_submit(&h, host_spec("q", 4, 2, 0));
    other = host_gang(&h, "q", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(starts_seen, 2);
    ck_assert_int_eq(host_tasks(&h, watched), 4);
    ck_assert_uint_eq(stage_tasks(&h.stage, gang_job_alloc(h.s, watched, 0))->count, 4);
    ck_assert_uint_eq(host_last(&h, watched, "grow")->task_count, 2);
}
END_TEST

static void submit_high(struct host *host, const struct host_event *e)
{
    if (strcmp(e->op, "start") == 0 && e->job == watched)
        other = host_gang(host, "q", GPUS, 5);
}

/* A callback leaves a job that may preempt what was told: the next run sees to it, and is due at
 * once. */
START_TEST(what_was_told_stays_until_the_next_run)
{
    h.during = submit_high;
    watched = host_gang(&h, "q", GPUS, 0);
    host_run(&h, 1);
    ck_assert(runs(watched) && !runs(other));
    ck_assert_int_eq(host_ops(&h, watched, "preempt"), 0);
    ck_assert_int_eq(gang_sched_timeout_ns(h.s, h.now_ns), 0);
    host_run(&h, 0);
    ck_assert(!runs(watched) && runs(other));
    ck_assert_int_eq(host_ops(&h, watched, "preempt"), 1);
    ck_assert_int_ne(gang_sched_timeout_ns(h.s, h.now_ns), 0);
}
END_TEST

/* The next run would take the places again if that were an event. */
START_TEST(reports_that_tasks_run_are_no_events)
{
    gang_job_id id = host_gang(&h, "q", 2, 0);
    host_run(&h, 1);
    uint64_t events = h.s->external_events;
    host_report(&h, id, 0, GANG_TASK_STARTED);
    host_report(&h, id, 0, GANG_TASK_HEARTBEAT);
    host_run(&h, 1);
    ck_assert_uint_eq(h.s->external_events, events);
    host_report(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_uint_gt(h.s->external_events, events);
}
END_TEST

/* A task of a start that the host has not heard of ends, and then the host refuses that start. */
static void end_and_refuse(struct host *host, const struct host_event *e)
{
    if (strcmp(e->op, "granted") == 0)
        host_report(host, e->job, 0, GANG_TASK_SUCCEEDED);
    host->refuse = "start";
}

START_TEST(tasks_that_ended_before_a_refused_start_do_not_count)
{
    h.during = end_and_refuse;
    gang_job_id id = host_submit(&h, host_spec("q", 4, 2, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    h.during = note;
    h.refuse = NULL;
    for (int i = 0; i < 2; i++)
        host_run(&h, INT64_C(10) * HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    host_report(&h, id, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
}
END_TEST

/* ---- out of memory ---- */

/* Memory is short at any moment: the job of the highest priority runs in the end. */
START_TEST(short_of_memory_nothing_is_lost)
{
    long calls = 1000;
    for (long n = 1; n < calls; n++) {
        teardown();
        setup();
        gang_job_id old = host_submit(&h, host_spec("q", GPUS, 2, 0));
        host_run(&h, 1);
        gang_job_id low = host_gang(&h, "q", GPUS, 1), high = host_gang(&h, "q", GPUS, 5);
        long before = h.stage.mem.calls;
        h.stage.mem.fail_at = before + n;
        gang_result r = gang_sched_run(h.s, ++h.now_ns, NULL, NULL);
        h.stage.mem.fail_at = 0;
        calls = h.stage.mem.calls - before;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        host_check(&h);
        for (int i = 0; i < 3; i++)
            host_run(&h, 1);
        ck_assert(runs(high) && !runs(low) && !runs(old));
        ck_assert_int_eq(host_ops(&h, high, "start"), 1);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("untold");
    TCase *tests = tcase_create("untold");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_gang_does_not_start_for_the_time_of_a_run);
    tcase_add_test(tests, a_minimum_run_time_does_not_hold_up_others);
    tcase_add_test(tests, what_is_taken_back_leaves_no_cooldown);
    tcase_add_test(tests, it_is_not_suspended_and_starts_later);
    tcase_add_test(tests, a_suspended_gang_stays_so);
    tcase_add_test(tests, a_gang_that_starved_is_starved_still);
    tcase_add_test(tests, what_others_freed_for_it_is_passed_on);
    tcase_add_test(tests, what_was_taken_of_a_refused_start_is_kept);
    tcase_add_test(tests, tasks_that_others_are_entitled_to_are_not_added);
    tcase_add_test(tests, a_callback_sees_what_the_host_was_told);
    tcase_add_test(tests, what_was_told_stays_until_the_next_run);
    tcase_add_test(tests, reports_that_tasks_run_are_no_events);
    tcase_add_test(tests, tasks_that_ended_before_a_refused_start_do_not_count);
    tcase_add_test(tests, short_of_memory_nothing_is_lost);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
