/* SPDX-License-Identifier: Apache-2.0 */
/* Begin times, deadlines, expected run times, and what happens at the time limit. */
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

static int64_t asked, answer_s, predicted_s; /* of the ops */

static int64_t overrun(const struct gang_event *e, void *user)
{
    (void)user;
    ck_assert_int_eq(e->state, GANG_JOB_RUNNING);
    ck_assert_int_eq(e->reason, GANG_REASON_TIMEOUT);
    asked++;
    return answer_s * SECOND;
}

static int64_t predict(const struct gang_event *e, void *user)
{
    (void)user;
    ck_assert_uint_ne(e->job, GANG_ID_NONE);
    return predicted_s * SECOND;
}

/* Two nodes of four GPUs, one queue "q" and what is said of it. */
static void open_queue(struct gang_queue_spec *q, bool predicts)
{
    struct gang_host_ops ops = host_table();
    ops.overrun = overrun;
    ops.predict = predicts ? predict : NULL;
    asked = answer_s = predicted_s = 0;
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    host_open_with(&h, 2, 4, &opts, &ops);
    q->name = "q";
    host_queues(&h, q, 1);
}

static struct gang_queue_spec plain(void)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    return q;
}

static gang_job_id put(int64_t tasks, int64_t limit_s, int64_t begin_s, int64_t deadline_s)
{
    struct gang_job_spec *job = host_spec("q", tasks, tasks, 0);
    job->time_limit_ns = limit_s * SECOND;
    job->begin_ns = begin_s * SECOND;
    job->deadline_ns = deadline_s * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

static bool runs(gang_job_id id)
{
    return host_has(&h, id) && host_job_state(&h, id) == GANG_JOB_RUNNING;
}

/* It runs at the very time at which the scheduler wants to run next. */
static void sleep_until(int64_t s)
{
    ck_assert_int_eq(gang_sched_next(h.s), s * SECOND);
    host_run(&h, s * SECOND - h.now_ns);
}

static struct gang_wait seen;

static int32_t see(const struct gang_wait *wait, void *user)
{
    (void)user;
    if (!seen.reason)
        seen = *wait;
    return 0;
}

/* ---- when ------------------------------------------------------------------------------------ */

START_TEST(a_job_waits_for_its_begin)
{
    struct gang_queue_spec q = plain();
    open_queue(&q, false);
    gang_job_id a = put(2, 0, 100, 0), b = put(2, 0, 0, 0);
    test_assert(!runs(a) && runs(b));
    seen.reason = 0;
    MUST(gang_job_explain(h.s, a, see, NULL));
    ck_assert_int_eq(seen.reason, GANG_WAIT_BEGIN);
    ck_assert_int_eq(seen.category, GANG_WAIT_CATEGORY_HELD);
    ck_assert_int_eq(seen.until_ns, 100 * SECOND);
    host_run(&h, 99 * SECOND);
    test_assert(!runs(a));
    sleep_until(100);
    test_assert(runs(a));
    host_close(&h);
}
END_TEST

START_TEST(a_job_is_stopped_at_its_deadline)
{
    struct gang_queue_spec q = plain();
    q.grace_ns = 5 * SECOND;
    q.overrun = GANG_OVERRUN_ASK;
    open_queue(&q, false);
    answer_s = 1000; /* does not matter: a deadline is not extended */
    gang_job_id open_end = put(2, 0, 0, 50), limited = put(2, 40, 0, 60);
    ck_assert_int_eq(host_job_info(&h, open_end).ends_ns, 50 * SECOND);
    ck_assert_int_eq(host_job_info(&h, limited).ends_ns, 40 * SECOND);
    host_run(&h, 40 * SECOND); /* the limit is extended, up to the deadline */
    ck_assert_int_eq(asked, 1);
    ck_assert_int_eq(host_job_info(&h, limited).ends_ns, 60 * SECOND);
    h.lingers = true;
    sleep_until(50);
    ck_assert_int_eq(host_job_state(&h, open_end), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_last(&h, open_end, "preempt")->reason, GANG_REASON_TIMEOUT);
    sleep_until(55);
    ck_assert_int_eq(host_end(&h, open_end), GANG_END_TIMEOUT);
    sleep_until(60);
    ck_assert_int_eq(asked, 1);
    ck_assert_int_eq(host_job_state(&h, limited), GANG_JOB_STOPPING);
    h.lingers = false;
    host_run(&h, 10 * SECOND);
    host_close(&h);
}
END_TEST

START_TEST(a_job_that_cannot_end_by_its_deadline_ends_at_once)
{
    struct gang_queue_spec q = plain();
    open_queue(&q, false);
    (void)put(8, 0, 0, 0);
    gang_job_id tight = put(2, 30, 0, 100), open_end = put(2, 0, 0, 100);
    host_run(&h, 70 * SECOND);
    test_assert(host_has(&h, tight)); /* at this very time it still could */
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, tight), GANG_END_DEADLINE);
    test_assert(host_has(&h, open_end));
    host_run(&h, 30 * SECOND);
    ck_assert_int_eq(host_end(&h, open_end), GANG_END_DEADLINE);
    gang_job_id late = put(2, 0, 0, 90);
    ck_assert_int_eq(host_end(&h, late), GANG_END_DEADLINE); /* it had passed */
    host_close(&h);
}
END_TEST

START_TEST(wrong_times_are_refused)
{
    struct gang_queue_spec q = plain();
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    open_queue(&q, false);
    struct gang_job_spec *job = host_spec("q", 1, 1, 0);
    job->begin_ns = -1;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_ERANGE, &error, "begin_ns", NULL);
    job->begin_ns = 10 * SECOND;
    job->time_limit_ns = 10 * SECOND;
    job->deadline_ns = 20 * SECOND - 1;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_EINVAL, &error, "deadline_ns", NULL);
    job->deadline_ns = 20 * SECOND;
    EXPECT_RESULT(gang_job_submit(h.s, job, &id, &error), GANG_OK, &error);
    host_close(&h);
}
END_TEST

START_TEST(the_earliest_deadline_is_first)
{
    struct gang_queue_spec q = plain();
    q.order = GANG_ORDER_DEADLINE;
    open_queue(&q, false);
    gang_job_id first = put(8, 10, 0, 0), none = put(8, 10, 0, 0), later = put(8, 10, 0, 500),
                sooner = put(8, 10, 0, 400);
    const gang_job_id order[] = {first, sooner, later, none};
    for (int i = 0; i < 4; i++) {
        test_assert(runs(order[i]));
        host_run(&h, 10 * SECOND);
    }
    host_close(&h);
}
END_TEST

/* ---- overrun --------------------------------------------------------------------------------- */

START_TEST(the_host_extends_a_time_limit)
{
    struct gang_queue_spec q = plain();
    q.overrun = GANG_OVERRUN_ASK;
    open_queue(&q, false);
    gang_job_id a = put(2, 10, 0, 0);
    answer_s = 7;
    sleep_until(10);
    ck_assert_int_eq(asked, 1);
    sleep_until(17);
    ck_assert_int_eq(asked, 2);
    host_run(&h, 8 * SECOND); /* a late run: from now on, not from when it was due */
    ck_assert_int_eq(host_job_info(&h, a).ends_ns, 32 * SECOND);
    answer_s = 0;
    sleep_until(32);
    ck_assert_int_eq(host_end(&h, a), GANG_END_TIMEOUT);
    host_close(&h);
}
END_TEST

START_TEST(a_job_is_extended_while_no_job_waits)
{
    struct gang_queue_spec q = plain();
    q.overrun = GANG_OVERRUN_EXTEND;
    q.extend_ns = 20 * SECOND;
    open_queue(&q, false);
    gang_job_id a = put(8, 10, 0, 0);
    sleep_until(10);
    sleep_until(30);
    test_assert(runs(a));
    gang_job_id waits = put(1, 10, 0, 0);
    test_assert(!runs(waits));
    sleep_until(50);
    ck_assert_int_eq(host_end(&h, a), GANG_END_TIMEOUT);
    test_assert(runs(waits));
    ck_assert_int_eq(asked, 0);
    host_close(&h);
}
END_TEST

START_TEST(an_extension_is_for_one_run)
{
    struct gang_queue_spec q = plain();
    q.overrun = GANG_OVERRUN_ASK;
    open_queue(&q, false);
    struct gang_job_spec *job = host_spec("q", 2, 2, 0);
    job->time_limit_ns = 10 * SECOND;
    job->loss = GANG_LOSS_RESTART;
    job->max_restarts = 1;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    answer_s = 90;
    sleep_until(10);
    ck_assert_int_eq(host_job_info(&h, id).ends_ns, 100 * SECOND);
    host_report(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 10 * SECOND);
    test_assert(runs(id));
    ck_assert_int_eq(host_job_info(&h, id).ends_ns, 30 * SECOND);
    host_close(&h);
}
END_TEST

START_TEST(an_extension_moves_planned_starts)
{
    struct gang_queue_spec q = plain();
    q.overrun = GANG_OVERRUN_ASK;
    q.backfill = GANG_BACKFILL_EASY;
    open_queue(&q, false);
    (void)put(8, 10, 0, 0);
    gang_job_id head = put(8, 10, 0, 0);
    ck_assert_int_eq(host_job_info(&h, head).planned_ns, 10 * SECOND);
    answer_s = 25;
    sleep_until(10);
    ck_assert_int_eq(host_job_info(&h, head).planned_ns, 35 * SECOND);
    answer_s = 0;
    sleep_until(35);
    test_assert(runs(head));
    host_close(&h);
}
END_TEST

/* ---- prediction ------------------------------------------------------------------------------ */

START_TEST(planned_starts_use_predictions)
{
    struct gang_queue_spec q = plain();
    q.backfill = GANG_BACKFILL_EASY;
    open_queue(&q, true);
    predicted_s = 30;
    gang_job_id a = put(6, 1000, 0, 0);
    ck_assert_int_eq(host_job_info(&h, a).predicted_ns, 30 * SECOND);
    ck_assert_int_eq(host_job_info(&h, a).ends_ns, 1000 * SECOND); /* that stays its limit */
    predicted_s = 0;
    gang_job_id head = put(8, 10, 0, 0);
    ck_assert_int_eq(host_job_info(&h, head).planned_ns, 30 * SECOND);
    predicted_s = 29;
    gang_job_id passes = put(2, 500, 0, 0);
    test_assert(runs(passes)); /* by its limit it would be in the way */
    sleep_until(29);           /* both run longer: twice as long is expected, and so on */
    sleep_until(30);
    ck_assert_int_eq(host_job_info(&h, head).planned_ns, 60 * SECOND);
    MUST(gang_report_end(h.s, passes, 1));
    host_run(&h, 0);
    sleep_until(60);
    ck_assert_int_eq(host_job_info(&h, head).planned_ns, 120 * SECOND);
    MUST(gang_report_end(h.s, a, 1));
    host_run(&h, 0);
    test_assert(runs(head));
    host_close(&h);
}
END_TEST

START_TEST(a_prediction_above_the_limit_is_the_limit)
{
    struct gang_queue_spec q = plain();
    q.backfill = GANG_BACKFILL_EASY;
    open_queue(&q, true);
    predicted_s = 500;
    (void)put(8, 100, 0, 0);
    gang_job_id head = put(8, 0, 0, 0);
    ck_assert_int_eq(host_job_info(&h, head).planned_ns, 100 * SECOND);
    host_close(&h);
}
END_TEST

START_TEST(shortest_order_uses_predictions)
{
    struct gang_queue_spec q = plain();
    q.order = GANG_ORDER_SHORTEST;
    open_queue(&q, true);
    (void)put(8, 10, 0, 0);
    predicted_s = 9;
    gang_job_id second = put(8, 100, 0, 0);
    predicted_s = 5;
    gang_job_id first = put(8, 200, 0, 0);
    host_run(&h, 10 * SECOND);
    test_assert(runs(first) && !runs(second));
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("time_limit");
    TCase *t = tcase_create("time_limit");
    tcase_add_test(t, a_job_waits_for_its_begin);
    tcase_add_test(t, a_job_is_stopped_at_its_deadline);
    tcase_add_test(t, a_job_that_cannot_end_by_its_deadline_ends_at_once);
    tcase_add_test(t, wrong_times_are_refused);
    tcase_add_test(t, the_earliest_deadline_is_first);
    tcase_add_test(t, the_host_extends_a_time_limit);
    tcase_add_test(t, a_job_is_extended_while_no_job_waits);
    tcase_add_test(t, an_extension_is_for_one_run);
    tcase_add_test(t, an_extension_moves_planned_starts);
    tcase_add_test(t, planned_starts_use_predictions);
    tcase_add_test(t, a_prediction_above_the_limit_is_the_limit);
    tcase_add_test(t, shortest_order_uses_predictions);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
