/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations: promises and their owners, conflicts, and how a reservation ends. */
#include "sched/reserving.h"

/* ---- what is kept free ----------------------------------------------------------------------- */

/* _i: in queues that backfill, and that do not. */
START_TEST(no_job_starts_that_may_overlap_a_reservation)
{
    host_open_queue(&h, 2, _i ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("demo", 2, 100, 50));
    gang_job_id unlimited = put(4, 0, NULL), longer = put(4, 101, NULL), fits = put(4, 100, NULL);
    test_assert(!runs(unlimited) && !runs(longer) && runs(fits));
    ck_assert_int_eq(info_of(id).state, GANG_RESERVATION_PLANNED);
    ck_assert_int_eq(info_of(id).nodes, 2);
    run_until(100);
    ck_assert_int_eq(host_gpus_free(&h), 8);
    ck_assert_int_eq(info_of(id).state, GANG_RESERVATION_ACTIVE);
    ck_assert_uint_eq(last_reported(id, GANG_RESERVATION_BEGIN)->jobs, 0);
    run_until(149);
    test_assert(!runs(unlimited) && !runs(longer));
    run_until(150);
    test_assert(runs(unlimited) && runs(longer));
    test_assert(!is_there(id));
    ck_assert_int_eq(reported(id, GANG_RESERVATION_END), 1);
    host_close(&h);
}
END_TEST

/* Queue "q" slices by 10 seconds in at most two rows; GPUs are shared, too. */
static void open_sliced(size_t nodes)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, nodes, 4);
    q.name = "q";
    q.quantum_ns = 10 * SECOND;
    q.quantum_rows = 2;
    q.quantum_gpus = 1;
    host_queues(&h, &q, 1);
}

static int32_t row_of(gang_job_id id)
{
    return host_job_info(&h, id).slice_row;
}

START_TEST(time_slices_end_before_a_reservation_begins)
{
    open_sliced(2);
    gang_reservation_id id = reserve(host_whole("r", 2, 100, 50));
    gang_job_id unlimited = put(8, 0, NULL);
    gang_job_id longer = put(8, 60, NULL); /* 10 now, and 5 rounds of 20: until 110 at worst */
    gang_job_id member = put(8, 30, "r");
    test_assert(!runs(unlimited) && !runs(longer) && !runs(member));
    ck_assert_ptr_nonnull(strstr(why(longer).text, "beside what is reserved"));
    gang_job_id a = put(8, 40, NULL), b = put(8, 40, NULL);
    test_assert(runs(a) && row_of(b) > 0 && !runs(b));
    run_until(79);
    test_assert(host_has(&h, a) || host_has(&h, b)); /* in turns, each for 40 seconds */
    run_until(99);
    test_assert(!host_has(&h, a) && !host_has(&h, b) && !runs(longer));
    run_until(100);
    test_assert(runs(member) && row_of(member) == 0); /* inside it has its nodes alone */
    ck_assert_int_eq(info_of(id).running, 1);
    ck_assert_uint_eq(last_reported(id, GANG_RESERVATION_BEGIN)->jobs, 0);
    run_until(150);
    test_assert(runs(unlimited) && row_of(unlimited) > 0 && row_of(longer) > 0);
    host_close(&h);
}
END_TEST

START_TEST(reservations_are_placed_after_the_last_row_of_a_node)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    open_sliced(2);
    gang_job_id a = put(8, 20, NULL), b = put(8, 10, NULL);
    test_assert(runs(a) && row_of(b) > 0);
    struct gang_reservation_spec *spec = host_whole("r", 2, 20, 10);
    EXPECT_RESULT(refused(spec, &when, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(when, 30 * SECOND); /* a, b, a again */
    spec->start_ns = -1;
    gang_reservation_id id = reserve(spec);
    ck_assert_int_eq(info_of(id).start_ns, 30 * SECOND);
    gang_job_id later = put(8, 10, NULL);
    test_assert(row_of(later) == 0);
    run_until(30);
    test_assert(!host_has(&h, a) && !host_has(&h, b));
    ck_assert_int_eq(info_of(id).state, GANG_RESERVATION_ACTIVE);
    ck_assert_uint_eq(last_reported(id, GANG_RESERVATION_BEGIN)->jobs, 0);
    host_close(&h);
}
END_TEST

START_TEST(a_magnetic_reservation_takes_jobs_of_a_queue_that_slices)
{
    open_sliced(2);
    struct gang_reservation_spec *spec = gpus("r", 4, 0, 100);
    spec->flags = GANG_RESERVATION_MAGNETIC;
    gang_reservation_id id = reserve(spec);
    host_run(&h, 0);
    gang_job_id a = put(4, 50, NULL), b = put(4, 50, NULL), c = put(4, 50, NULL);
    test_assert(runs(a) && row_of(a) == 0);
    test_assert(runs(b) && row_of(b) > 0 && row_of(c) > 0);
    ck_assert_int_eq(info_of(id).running, 1);
    MUST(gang_reservation_cancel(h.s, id));
    host_run(&h, 0);
    test_assert(runs(a) && row_of(a) == 0); /* it goes on as it is */
    host_close(&h);
}
END_TEST

START_TEST(a_queue_may_begin_to_slice_while_something_is_reserved)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    (void)reserve(host_whole("r", 1, 100, 10));
    q.name = "q";
    q.quantum_ns = 10 * SECOND;
    host_queues(&h, &q, 1);
    (void)reserve(host_whole("s", 1, 200, 10));
    host_close(&h);
}
END_TEST

START_TEST(unreserved_capacity_is_for_all_jobs)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    (void)reserve(host_whole("demo", 1, 100, 50));
    gang_job_id a = put(4, 0, NULL), c = put(4, 100, NULL), b = put(1, 0, NULL);
    test_assert(runs(a) && !runs(b) && runs(c));
    struct explained w = why(b);
    ck_assert_int_eq(w.wait.reason, GANG_WAIT_CAPACITY); /* nothing at all is free */
    host_end_job(&h, c);
    w = why(b);
    ck_assert_int_eq(w.wait.reason, GANG_WAIT_RESERVATION);
    ck_assert_int_eq(w.wait.category, GANG_WAIT_CATEGORY_POLICY);
    ck_assert_int_eq(w.wait.until_ns, 100 * SECOND);
    ck_assert_str_eq(w.text, "its place is reserved for \"demo\", from in 100 seconds on");
    host_close(&h);
}
END_TEST

START_TEST(a_reservation_may_cover_parts_of_nodes)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    (void)reserve(gpus("demo", 3, 0, 100));
    gang_job_id out = put(1, 0, NULL), more = put(1, 50, NULL);
    test_assert(runs(out) && !runs(more));
    gang_job_id in = put(2, 50, "demo"), fits = put(1, 50, "demo"), none = put(1, 50, "demo");
    test_assert(runs(in) && runs(fits) && !runs(none));
    ck_assert_str_eq(why(none).text, "reservation \"demo\" has no capacity for it now");
    host_end_job(&h, out); /* what comes free outside is for those outside */
    test_assert(runs(more) && !runs(none));
    host_end_job(&h, in);
    test_assert(runs(none));
    host_close(&h);
}
END_TEST

/* ---- members --------------------------------------------------------------------------------- */

START_TEST(a_member_waits_for_the_begin)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("demo", 1, 100, 50));
    gang_job_id job = put(4, 50, "demo");
    test_assert(!runs(job)); /* though all is free */
    struct explained w = why(job);
    ck_assert_int_eq(w.wait.reason, GANG_WAIT_RESERVATION);
    ck_assert_int_eq(w.wait.category, GANG_WAIT_CATEGORY_HELD);
    ck_assert_int_eq(w.wait.until_ns, 100 * SECOND);
    ck_assert_str_eq(w.text, "it waits for reservation \"demo\", which begins in 100 seconds");
    ck_assert_int_eq(info_of(id).waiting, 1);
    ck_assert_int_eq(gang_sched_next(h.s), 100 * SECOND);
    run_until(100);
    test_assert(runs(job));
    ck_assert_int_eq(info_of(id).running, 1);
    run_until(150);
    ck_assert_int_eq(host_end(&h, job), GANG_END_TIMEOUT); /* its own limit */
    host_close(&h);
}
END_TEST

START_TEST(a_member_that_may_outlast_the_reservation_does_not_start)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    (void)reserve(host_whole("demo", 1, 0, 50));
    gang_job_id longer = put(4, 51, "demo");
    test_assert(!runs(longer));
    struct explained w = why(longer);
    ck_assert_int_eq(w.wait.category, GANG_WAIT_CATEGORY_NEVER);
    ck_assert_str_eq(w.text, "with its grace it may run for 51 seconds, and reservation \"demo\" "
                             "lasts for 50");
    run_until(20);
    gang_job_id late = put(4, 31, "demo"), fits = put(4, 30, "demo");
    test_assert(!runs(late) && runs(fits));
    ck_assert_str_eq(
        why(late).text,
        "with its grace it may run for 31 seconds, and reservation \"demo\" ends in 30");
    run_until(50); /* then they are jobs as any other */
    test_assert(runs(longer) && runs(late));
    host_close(&h);
}
END_TEST

START_TEST(a_member_without_a_time_limit_ends_with_the_reservation)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 1, 4);
    h.lingers = true;
    q.name = "q";
    q.grace_ns = 5 * SECOND;
    host_queues(&h, &q, 1);
    host_run(&h, 0);
    (void)reserve(host_whole("demo", 1, 0, 50));
    gang_job_id job = put(4, 0, "demo");
    test_assert(runs(job));
    run_until(44);
    test_assert(runs(job));
    run_until(45);
    ck_assert_int_eq(host_last(&h, job, "preempt")->reason, GANG_REASON_TIMEOUT);
    run_until(50);
    ck_assert_int_eq(host_ops(&h, job, "kill"), 1);
    ck_assert_int_eq(host_end(&h, job), GANG_END_TIMEOUT);
    ck_assert_int_eq(host_gpus_free(&h), 4);
    host_close(&h);
}
END_TEST

START_TEST(a_reservation_admits_its_users_and_queues_only)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_error error = GANG_ERROR_INIT;
    const char *users[] = {"ann", "bob"};
    gang_job_id id;
    host_open(&h, 2, 4);
    q[0].name = "q";
    q[1].name = "other";
    host_queues(&h, q, 2);
    host_run(&h, 0);
    struct gang_reservation_spec *spec = host_whole("demo", 1, 0, 50);
    spec->queue = "q";
    spec->users = users;
    spec->user_count = 2;
    (void)reserve(spec);
    struct gang_job_spec *job = spec_of(4, 50, "demo");
    job->user = "eve";
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_EPERM, &error, "reservation", NULL);
    job->user = "bob";
    job->queue = "other";
    EXPECT_RESULT(gang_job_submit(h.s, job, &id, &error), GANG_EPERM, &error);
    job->queue = "q";
    job->reservation = "demos";
    EXPECT_RESULT(gang_job_submit(h.s, job, &id, &error), GANG_ENOENT, &error);
    ck_assert_str_eq(error.text, "there is no reservation \"demos\"");
    job->reservation = "demo";
    EXPECT_RESULT(gang_job_submit(h.s, job, &id, &error), GANG_OK, &error);
    host_run(&h, 0);
    test_assert(runs(id));
    host_close(&h);
}
END_TEST

START_TEST(a_magnetic_reservation_attracts_jobs)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = host_whole("demo", 1, 0, 50);
    spec->flags = GANG_RESERVATION_MAGNETIC;
    gang_reservation_id id = reserve(spec);
    gang_job_id in = put(4, 50, NULL), out = put(4, 50, NULL), none = put(1, 10, NULL);
    test_assert(runs(in) && runs(out) && !runs(none));
    ck_assert_int_eq(info_of(id).running, 1);
    host_end_job(&h, in);
    test_assert(runs(none));
    ck_assert_int_eq(info_of(id).running, 1);
    host_close(&h);
}
END_TEST

START_TEST(members_of_a_flexible_reservation_may_run_outside)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = host_whole("demo", 1, 100, 50);
    spec->flags = GANG_RESERVATION_FLEX;
    (void)reserve(spec);
    gang_job_id early = put(8, 500, "demo"), other = put(8, 500, NULL);
    test_assert(runs(early) && !runs(other)); /* before it, after it, and on other nodes */
    host_close(&h);
}
END_TEST

/* Its plan lies inside its reservation and moves there to other nodes when a job starts. */
START_TEST(planned_starts_of_flexible_members_move)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    gang_job_id running[3];
    host_open(&h, 3, 4);
    q[0].name = "q";
    q[0].backfill = GANG_BACKFILL_CONSERVATIVE;
    q[1].name = "other";
    q[1].backfill = GANG_BACKFILL_NONE;
    host_queues(&h, q, 2);
    host_run(&h, 0);
    struct gang_reservation_spec *spec = host_whole("flex", 2, 100, 100);
    spec->flags = GANG_RESERVATION_FLEX;
    (void)reserve(spec);
    for (int i = 0; i < 3; i++)
        running[i] = put(4, 50, NULL);
    gang_job_id member = put(8, 60, "flex");
    ck_assert_int_eq(host_job_info(&h, member).planned_ns, 50 * SECOND);
    host_end_job(&h, running[0]);
    struct gang_job_spec *job = host_spec("other", 4, 4, 0);
    job->time_limit_ns = 60 * SECOND;
    gang_job_id other = host_submit(&h, job);
    host_run(&h, 0);
    test_assert(runs(other));
    ck_assert_int_eq(host_job_info(&h, member).planned_ns, 50 * SECOND);
    host_end_job(&h, running[1]);
    host_end_job(&h, running[2]);
    test_assert(runs(member));
    host_close(&h);
}
END_TEST

/* A reservation becomes flexible: all jobs, its members included, see members that started
 * earlier. */
START_TEST(waiting_members_are_tried_when_a_reservation_becomes_flexible)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = gpus("r", 2, 0, 100);
    gang_reservation_id id = reserve(spec);
    gang_job_id first = put(2, 50, "r");
    test_assert(runs(first));
    (void)reserve(gpus("later", 2, 10, 50));
    spec = gpus("r", 2, 0, 100);
    spec->flags = GANG_RESERVATION_FLEX;
    MUST(gang_reservation_change(h.s, id, spec, NULL, NULL));
    gang_job_id next = put(2, 30, "r"), brief = put(2, 10, "r");
    test_assert(runs(first) && !runs(next) && runs(brief));
    host_close(&h);
}
END_TEST

START_TEST(queue_limits_hold_inside_a_reservation)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 2, 4);
    q.name = "q";
    q.max_running = 1;
    host_queues(&h, &q, 1);
    host_run(&h, 0);
    (void)reserve(host_whole("demo", 2, 0, 50));
    gang_job_id a = put(4, 50, "demo"), b = put(4, 50, "demo");
    test_assert(runs(a) && !runs(b));
    ck_assert_int_eq(why(b).wait.reason, GANG_WAIT_MAX_RUNNING);
    host_close(&h);
}
END_TEST

START_TEST(members_may_have_planned_starts_inside)
{
    host_open_queue(&h, 2, GANG_BACKFILL_EASY);
    (void)reserve(host_whole("demo", 1, 0, 100));
    gang_job_id a = put(2, 40, "demo"), head = put(4, 40, "demo"), longer = put(2, 41, "demo"),
                fits = put(2, 40, "demo"), out = put(4, 0, NULL);
    test_assert(runs(a) && !runs(head) && !runs(longer) && runs(fits) && runs(out));
    ck_assert_int_eq(host_job_info(&h, head).planned_ns, 40 * SECOND);
    run_until(40);
    test_assert(runs(head));
    host_close(&h);
}
END_TEST

/* ---- time ------------------------------------------------------------------------------------ */

START_TEST(the_host_gets_notice_before_the_begin)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = host_whole("demo", 1, 100, 50);
    spec->notice_ns = 30 * SECOND;
    gang_reservation_id id = reserve(spec);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MIN);
    host_run(&h, 0);
    ck_assert_int_eq(gang_sched_next(h.s), 70 * SECOND);
    run_until(70);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_NOTICE), 1);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_NOTICE)->start_ns, 100 * SECOND);
    run_until(150);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_NOTICE), 1);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_BEGIN), 1);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_BEGIN)->now_ns, 100 * SECOND);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_END)->now_ns, 150 * SECOND);
    host_close(&h);
}
END_TEST

START_TEST(a_reservation_with_a_window_finds_its_time)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    (void)put(4, 100, NULL);
    struct gang_reservation_spec *spec = host_whole("late", 2, -1, 50);
    gang_reservation_id id;
    EXPECT_RESULT(gang_reservation_add(h.s, spec, &id, &when, &error), GANG_OK, &error);
    ck_assert_int_eq(when, 100 * SECOND);
    spec = host_whole("now", 1, -1, 50);
    EXPECT_RESULT(gang_reservation_add(h.s, spec, &id, &when, &error), GANG_OK, &error);
    ck_assert_int_eq(when, 0);
    spec = host_whole("never", 3, -1, 50);
    EXPECT_RESULT(refused(spec, &when, &error), GANG_ENEVER, &error);
    spec = host_whole("short", 2, -1, 50);
    spec->deadline_ns = 180 * SECOND;
    EXPECT_RESULT(refused(spec, &when, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(when, 150 * SECOND);
    spec = host_whole("fixed", 1, 20, 50);
    EXPECT_RESULT(refused(spec, &when, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(when, 50 * SECOND);
    host_close(&h);
}
END_TEST

START_TEST(a_repeated_reservation_begins_again)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = host_whole("demo", 1, 100, 50);
    spec->period_ns = 200 * SECOND;
    spec->repetitions = 12;
    gang_reservation_id id = reserve(spec);
    ck_assert_int_eq(info_of(id).planned, 8);
    gang_job_id job = put(4, 101, NULL), fits = put(4, 100, NULL);
    test_assert(!runs(job) && runs(fits));
    for (int64_t i = 0; i < 12; i++) {
        run_until(100 + 200 * i);
        ck_assert_int_eq(info_of(id).instance, i);
        ck_assert_int_eq(info_of(id).state, GANG_RESERVATION_ACTIVE);
        ck_assert_int_eq(reported(id, GANG_RESERVATION_BEGIN), i + 1);
        ck_assert_int_eq(info_of(id).planned, i < 4 ? 8 : 12 - i);
        run_until(150 + 200 * i);
        ck_assert_int_eq(is_there(id), i < 11);
    }
    host_close(&h);
}
END_TEST

START_TEST(an_unused_reservation_is_dropped)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = host_whole("demo", 1, 10, 100);
    spec->purge_ns = 20 * SECOND;
    gang_reservation_id id = reserve(spec);
    run_until(15);
    gang_job_id job = put(4, 10, "demo");
    test_assert(runs(job));
    run_until(44);
    test_assert(is_there(id));
    run_until(45);
    test_assert(!is_there(id));
    ck_assert_int_eq(reported(id, GANG_RESERVATION_PURGED), 1);
    host_close(&h);
}
END_TEST

/* ---- conflicts ---------------------------------------------------------------------------- */

START_TEST(no_job_starts_on_nodes_in_maintenance)
{
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    struct gang_reservation_spec spec = GANG_RESERVATION_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    const char *nodes[] = {"n1", "n9"};
    gang_job_id id;
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    stage.nodes = nodes;
    stage.node_count = 2;
    spec.name = "repair";
    spec.stages = &stage;
    spec.stage_count = 1;
    spec.start_ns = 50 * SECOND;
    spec.duration_ns = 50 * SECOND;
    spec.flags = GANG_RESERVATION_MAINTENANCE;
    EXPECT_ERROR(refused(&spec, NULL, &error), GANG_ENOENT, &error, "stages[0].nodes[1]", NULL);
    stage.node_count = 1;
    gang_reservation_id m = reserve(&spec);
    gang_job_id all = put(8, 51, NULL), half = put(4, 51, NULL);
    test_assert(!runs(all) && runs(half));
    EXPECT_RESULT(gang_job_submit(h.s, spec_of(1, 1, "repair"), &id, &error), GANG_EPERM, &error);
    MUST(gang_report_node_lost(h.s,
                               host_node(&h, 1))); /* it is switched off: no job depends on it */
    run_until(60);
    ck_assert_int_eq(reported(m, GANG_RESERVATION_LOST), 0);
    ck_assert_int_eq(info_of(m).state, GANG_RESERVATION_ACTIVE);
    host_close(&h);
}
END_TEST

START_TEST(running_jobs_block_a_reservation_unless_it_ignores_jobs)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    gang_job_id job = put(3, 0, NULL);
    struct gang_reservation_spec *spec = host_whole("demo", 1, 10, 50);
    EXPECT_RESULT(refused(spec, &when, &error), GANG_ENEVER, &error);
    spec->flags = GANG_RESERVATION_IGNORE_JOBS;
    gang_reservation_id id = reserve(spec);
    run_until(10);
    ck_assert_uint_eq(last_reported(id, GANG_RESERVATION_BEGIN)->jobs, 1);
    ck_assert_uint_eq(last_reported(id, GANG_RESERVATION_BEGIN)->job, job);
    gang_job_id in = put(1, 20, "demo"), wide = put(4, 20, "demo"), out = put(1, 1, NULL);
    test_assert(runs(job) && runs(in) && !runs(wide) && !runs(out));
    host_end_job(&h, job);
    host_end_job(&h, in);
    test_assert(runs(wide));
    host_close(&h);
}
END_TEST

START_TEST(other_reservations_block_unless_overlap_is_allowed)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    (void)reserve(host_whole("first", 1, 10, 50));
    struct gang_reservation_spec *spec = host_whole("second", 1, 20, 50);
    EXPECT_RESULT(refused(spec, &when, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(when, 60 * SECOND);
    spec->flags = GANG_RESERVATION_OVERLAP;
    (void)reserve(spec);
    EXPECT_ERROR(refused(host_whole("first", 1, 100, 1), &when, &error), GANG_EEXIST, &error,
                 "name", NULL);
    host_close(&h);
}
END_TEST

/* A free but reserved node does not protect jobs on other nodes from preemption. */
START_TEST(preemption_frees_capacity_beside_a_reservation)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 2, 4);
    q.name = "q";
    q.within = GANG_PREEMPT_LOWER;
    host_queues(&h, &q, 1);
    host_run(&h, 0);
    (void)reserve(host_whole("r", 1, 10, 90));
    gang_job_id victim = put(4, 9000, NULL);
    gang_job_id taker = host_submit(&h, host_spec("q", 4, 4, 5));
    host_run(&h, 0);
    test_assert(runs(taker) && !runs(victim));
    host_close(&h);
}
END_TEST

/* The victim stops so late that the taker would run into the reservation: it waits, and starts when
 * that has ended. _i: in time. */
START_TEST(a_taker_whose_victim_stops_late_does_not_run_into_a_reservation)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    opts.kill_wait_ns = -1; /* until the host reports */
    host_open_with(&h, 1, 4, &opts, &ops);
    q.name = "q";
    q.within = GANG_PREEMPT_LOWER;
    q.grace_ns = 10 * SECOND;
    host_queues(&h, &q, 1);
    h.lingers = true;
    host_run(&h, 0);
    gang_job_id victim = put(4, 40, NULL);
    gang_reservation_id id = reserve(host_whole("r", 1, 60, 20));
    struct gang_job_spec *spec = spec_of(4, 30, NULL);
    spec->priority = 5;
    gang_job_id taker = host_submit(&h, spec); /* it has stopped at 10 + 30 + 10 s at the latest */
    run_until(12);
    ck_assert_int_eq(host_job_state(&h, victim), GANG_JOB_STOPPING);
    test_assert(!runs(taker));
    run_until(_i ? 18 : 25);
    host_report_all(&h, victim, 0, GANG_TASK_STOPPED);
    host_run(&h, 0);
    ck_assert_int_eq(runs(taker), _i);
    ck_assert_int_eq(host_gpus_free(&h), _i ? 0 : 4);
    if (_i)
        host_end_job(&h, taker);
    run_until(61);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_BEGIN), 1);
    ck_assert_uint_eq(last_reported(id, GANG_RESERVATION_BEGIN)->jobs, 0);
    run_until(81);
    test_assert(_i || runs(taker));
    host_close(&h);
}
END_TEST

/* ---- changing, cancelling -------------------------------------------------------------------- */

START_TEST(a_cancelled_reservation_frees_its_capacity_at_once)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("demo", 1, 10, 50));
    gang_job_id in = put(4, 20, "demo"), out = put(4, 0, NULL);
    test_assert(!runs(in) && !runs(out));
    MUST(gang_reservation_cancel(h.s, id));
    ck_assert_int_eq(gang_reservation_cancel(h.s, id), GANG_ESTALE);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MIN);
    host_run(&h, 0);
    test_assert(runs(in) && !runs(out)); /* as any other, by age */
    host_end_job(&h, in);
    test_assert(runs(out));
    host_close(&h);
}
END_TEST

START_TEST(a_change_that_does_not_fit_changes_nothing)
{
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("demo", 1, 100, 50));
    (void)reserve(host_whole("other", 1, 100, 50));
    EXPECT_RESULT(gang_reservation_change(h.s, id, host_whole("demo", 2, 100, 50), &when, &error),
                  GANG_ENOFIT, &error);
    ck_assert_int_eq(when, 150 * SECOND);
    host_check(&h);
    ck_assert_int_eq(info_of(id).nodes, 1);
    EXPECT_RESULT(
        gang_reservation_change(h.s, id, host_whole("renamed", 2, 200, 50), &when, &error), GANG_OK,
        &error);
    host_run(&h, 0);
    ck_assert_int_eq(info_of(id).nodes, 2);
    ck_assert_int_eq(info_of(id).start_ns, 200 * SECOND);
    ck_assert_str_eq(info_of(id).name, "renamed");
    host_close(&h);
}
END_TEST

START_TEST(an_active_reservation_may_shrink)
{
    struct gang_error error = GANG_ERROR_INIT;
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("demo", 2, 0, 100));
    gang_job_id in = put(4, 40, "demo"), out = put(4, 0, NULL);
    test_assert(runs(in) && !runs(out));
    EXPECT_RESULT(gang_reservation_change(h.s, id, host_whole("demo", 1, 0, 60), NULL, &error),
                  GANG_OK, &error);
    host_run(&h, 0);
    test_assert(runs(in) && runs(out));
    ck_assert_int_eq(info_of(id).nodes, 1);
    ck_assert_int_eq(info_of(id).end_ns, 60 * SECOND);
    ck_assert_int_eq(info_of(id).running, 1);
    run_until(60);
    test_assert(!is_there(id));
    host_close(&h);
}
END_TEST

/* All nodes are reserved for 100 s; a job without a limit that fills them starts inside. */
static gang_job_id drawn_in(int64_t nodes, struct gang_reservation_spec *spec,
                            gang_reservation_id *id)
{
    host_open_queue(&h, (size_t)nodes, GANG_BACKFILL_NONE);
    *spec = *host_whole("demo", nodes, 0, 100);
    spec->flags = GANG_RESERVATION_MAGNETIC;
    *id = reserve(spec);
    host_run(&h, 0);
    gang_job_id in = put(4 * nodes, 0, NULL);
    test_assert(runs(in));
    ck_assert_int_eq(info_of(*id).running, 1);
    return in;
}

/* A magnetic member without a limit of its own ends with the reservation as it is now. */
START_TEST(a_magnetic_match_ends_sooner_with_its_reservation)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_reservation_spec spec;
    gang_reservation_id id;
    gang_job_id in = drawn_in(2, &spec, &id);
    spec.duration_ns = 60 * SECOND;
    EXPECT_RESULT(gang_reservation_change(h.s, id, &spec, NULL, &error), GANG_OK, &error);
    host_run(&h, 0);
    test_assert(runs(in));
    ck_assert_int_le(gang_sched_next(h.s), 60 * SECOND);
    run_until(60);
    test_assert(!host_has(&h, in) && !is_there(id));
    host_close(&h);
}
END_TEST

/* A magnetic member without a limit ends when its reservation was to end, even if that was
 * cancelled. Restarted outside, the job has no limit again. */
START_TEST(a_member_that_restarts_outside_has_no_limit_again)
{
    struct gang_reservation_spec spec;
    gang_reservation_id id;
    gang_job_id in = drawn_in(1, &spec, &id);
    run_until(20);
    MUST(gang_reservation_cancel(h.s, id));
    host_run(&h, 0);
    ck_assert_int_eq(host_job_info(&h, in).ends_ns, 100 * SECOND);
    run_until(30);
    MUST(gang_job_requeue(h.s, in));
    host_run(&h, 0);
    test_assert(runs(in));
    ck_assert_int_eq(host_job_info(&h, in).started_ns, 30 * SECOND);
    ck_assert_int_eq(host_job_info(&h, in).ends_ns, 0);
    run_until(200);
    test_assert(runs(in));
    host_close(&h);
}
END_TEST

START_TEST(a_reservation_ends_with_the_job_it_was_made_for)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    gang_job_id block = put(4, 10, NULL), job = put(2, 20, NULL);
    struct gang_reservation_spec *spec = host_whole("demo", 1, 10, 500);
    spec->job = job;
    gang_reservation_id id = reserve(spec);
    host_end_job(&h, block);
    test_assert(!runs(job));
    gang_job_id out = put(4, 0, NULL);
    run_until(10);
    test_assert(runs(job) && !runs(out));
    host_end_job(&h, job);
    test_assert(!is_there(id) && runs(out));
    host_close(&h);
}
END_TEST

START_TEST(a_user_reserves_at_most_the_user_limit)
{
    struct gang_reservation_limit limit = GANG_RESERVATION_LIMIT_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    limit.max_gpu_milli = 4000;
    EXPECT_RESULT(gang_reservation_set_limit(h.s, NULL, &limit, &error), GANG_OK, &error);
    struct gang_reservation_spec *spec = gpus("a", 3, 10, 10);
    spec->owner = "ann";
    (void)reserve(spec);
    spec = gpus("b", 2, 10, 10);
    spec->owner = "ann";
    EXPECT_ERROR(refused(spec, &when, &error), GANG_ELIMIT, &error, "owner", NULL);
    spec->owner = "bob";
    (void)reserve(spec);
    EXPECT_RESULT(gang_reservation_set_limit(h.s, "ann", NULL, &error), GANG_OK, &error);
    host_close(&h);
}
END_TEST

/* Other jobs count on the end that the member had: that of the reservation before the change. Seed
 * 106 of test_reserve_random.c. */
START_TEST(a_member_excluded_by_a_change_ends_as_before)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("r", 2, 10, 20));
    run_until(10);
    gang_job_id member = put(4, 0, "r");
    test_assert(runs(member));
    const char *const there[] = {host_node_of(&h, member, 0) == host_node(&h, 0) ? "n0" : "n1"};
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    struct gang_reservation_spec *spec = host_whole("next", 1, 30, 20);
    stage.nodes = there;
    stage.node_count = 1;
    spec->stages = &stage;
    gang_reservation_id next = reserve(spec);
    run_until(15);
    MUST(gang_reservation_change(h.s, id, host_whole("r", 1, 10, 50), NULL, NULL));
    run_until(29);
    test_assert(runs(member));
    run_until(30);
    test_assert(!runs(member));
    ck_assert_uint_eq(last_reported(next, GANG_RESERVATION_BEGIN)->jobs, 0);
    ck_assert_int_eq(info_of(id).end_ns, 60 * SECOND);
    host_close(&h);
}
END_TEST

/* ---- lists ----------------------------------------------------------------------------------- */

struct seen {
    int running, planned, reserved;
    int64_t end_ns;
    gang_reservation_id in;
};

static int32_t see(const struct gang_plan_item *item, void *user)
{
    struct seen *seen = user;
    seen->running += item->what == GANG_PLAN_RUNNING;
    seen->planned += item->what == GANG_PLAN_START;
    seen->reserved += item->what == GANG_PLAN_RESERVATION;
    ck_assert_uint_gt(item->node_count, 0);
    if (item->what == GANG_PLAN_RUNNING) {
        seen->end_ns = item->end_ns;
        seen->in = item->reservation;
    }
    return 0;
}

START_TEST(all_bookings_of_the_calendar_are_listed)
{
    struct seen seen = {0};
    gang_reservation_id found;
    host_open_queue(&h, 2, GANG_BACKFILL_EASY);
    gang_reservation_id id = reserve(host_whole("demo", 2, 0, 100));
    (void)put(8, 40, "demo");
    (void)put(4, 40, "demo");
    MUST(gang_plan_each(h.s, see, &seen));
    ck_assert_int_eq(seen.running, 1);
    ck_assert_int_eq(seen.planned, 1);
    ck_assert_int_eq(seen.reserved, 1);
    ck_assert_int_eq(seen.end_ns, 40 * SECOND);
    ck_assert_uint_eq(seen.in, id);
    memset(&seen, 0, sizeof(seen));
    MUST(gang_reservation_pieces(h.s, id, see, &seen));
    ck_assert_int_eq(seen.reserved, 1);
    MUST(gang_reservation_find(h.s, "demo", &found));
    ck_assert_uint_eq(found, id);
    ck_assert_uint_eq(gang_reservation_next(h.s, GANG_ID_NONE), id);
    ck_assert_uint_eq(gang_reservation_next(h.s, id), GANG_ID_NONE);
    host_close(&h);
}
END_TEST

/* Plans inside make way for a member that overruns, as plans outside do. */
START_TEST(an_extended_member_stays_inside)
{
    struct seen seen = {0};
    host_open_queue(&h, 1, GANG_BACKFILL_CONSERVATIVE);
    gang_reservation_id id = reserve(gpus("r", 2, 0, 200));
    gang_job_id first = put(2, 20, "r"), next = put(2, 20, "r");
    ck_assert_int_eq(host_job_info(&h, next).planned_ns, 20 * SECOND);
    run_until(10);
    MUST(gang_job_set_time_limit(h.s, first, 50 * SECOND));
    run_until(25);
    test_assert(runs(first));
    MUST(gang_plan_each(h.s, see, &seen));
    ck_assert_int_eq(seen.running, 1);
    ck_assert_int_eq(seen.end_ns, 50 * SECOND);
    ck_assert_uint_eq(seen.in, id);
    ck_assert_int_eq(info_of(id).running, 1);
    ck_assert_int_eq(host_job_info(&h, next).planned_ns, 50 * SECOND);
    gang_job_id outside = put(2, 20, NULL); /* beside all that is reserved */
    test_assert(runs(outside));
    host_end_job(&h, first);
    test_assert(runs(next));
    host_close(&h);
}
END_TEST

/* ---- what may be asked for ------------------------------------------------------------------- */

/* Two racks of two nodes of four GPUs. */
static void open_racks(void)
{
    const char *levels[] = {"rack"};
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    memset(&h, 0, sizeof(h));
    stage_open(&h.stage, levels, 1);
    for (int i = 0; i < 4; i++) {
        char name[8];
        struct gang_label rack = {"rack", i < 2 ? "r0" : "r1"};
        snprintf(name, sizeof(name), "n%d", i);
        struct box box = {.name = name,
                          .cpu = 8000,
                          .memory = 64 * GIB,
                          .gpus = 4,
                          .place = &rack,
                          .place_count = 1};
        stage_add(&h.stage, &box);
    }
    opts.mem = &h.stage.mem.mem;
    opts.default_queue = "default";
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL));
    host_run(&h, 0);
}

static gang_job_id put_default(int64_t tasks, int64_t limit_s)
{
    struct gang_job_spec *job = spec_of(tasks, limit_s, NULL);
    job->queue = NULL;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

START_TEST(a_reservation_may_cover_whole_domains)
{
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    struct gang_reservation_spec spec = GANG_RESERVATION_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    int64_t when;
    gang_reservation_id id;
    open_racks();
    gang_job_id job = put_default(4, 100); /* in one of them */
    test_assert(runs(job));
    spec.name = "one";
    spec.stages = &stage;
    spec.stage_count = 1;
    spec.duration_ns = 10 * SECOND;
    stage.level = "rack";
    stage.domain_count = 1;
    EXPECT_RESULT(gang_reservation_add(h.s, &spec, &id, &when, &error), GANG_OK, &error);
    ck_assert_int_eq(when, 0);
    ck_assert_int_eq(info_of(id).nodes, 2);
    MUST(gang_reservation_cancel(h.s, id));
    spec.name = "two";
    stage.domain_count = 2;
    EXPECT_RESULT(gang_reservation_add(h.s, &spec, &id, &when, &error), GANG_OK, &error);
    ck_assert_int_eq(when, 100 * SECOND);
    ck_assert_int_eq(info_of(id).nodes, 4);
    MUST(gang_reservation_cancel(h.s, id));
    stage.domain_count = 0;
    stage.domain = "r1";
    spec.start_ns = 200 * SECOND;
    EXPECT_RESULT(gang_reservation_add(h.s, &spec, &id, &when, &error), GANG_OK, &error);
    ck_assert_int_eq(info_of(id).nodes, 2);
    stage.domain = "r2";
    EXPECT_ERROR(refused(&spec, NULL, &error), GANG_ENOENT, &error, "stages[0].domain", NULL);
    stage.level = "row";
    EXPECT_ERROR(refused(&spec, NULL, &error), GANG_ENOENT, &error, "stages[0].level", NULL);
    host_close(&h);
}
END_TEST

/* A job that waits for the second stage blocks no other job, as it did before the first stage. */
/* A member that overruns stays until its node's stage ends, which may be before the last stage. */
START_TEST(a_member_that_overruns_stops_at_the_end_of_its_stage)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_reservation_stage stage[2];
    struct gang_group_spec one;
    host_open(&h, 2, 4);
    q.name = "q";
    q.overrun = GANG_OVERRUN_EXTEND;
    q.extend_ns = 15 * SECOND;
    host_queues(&h, &q, 1);
    host_run(&h, 0);
    struct gang_reservation_spec *spec = host_whole("demo", 2, -1, 50);
    stage[0] = stage[1] = *spec->stages;
    one = *spec->stages->groups;
    one.count = one.min = 1;
    stage[1].groups = &one;
    spec->stages = stage;
    spec->stage_count = 2;
    spec->combine = GANG_STAGES_ORDER_NO_GAP;
    gang_reservation_id id = reserve(spec);
    gang_job_id member = put(8, 30, "demo");
    ck_assert_int_eq(info_of(id).end_ns, 100 * SECOND);
    run_until(31);
    test_assert(runs(member)); /* until 45 */
    run_until(44);
    test_assert(runs(member));
    run_until(45);
    test_assert(!runs(member)); /* 60 would be too long for one of its nodes */
    host_close(&h);
}
END_TEST

START_TEST(members_wait_between_stages)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_reservation_stage stage[2];
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    q.name = "q";
    q.block = GANG_BLOCK_STRICT;
    host_queues(&h, &q, 1);
    gang_reservation_id other = reserve(host_whole("other", 1, 20, 10));
    struct gang_reservation_spec *spec = host_whole("demo", 2, -1, 10);
    stage[0] = stage[1] = *spec->stages;
    spec->stages = stage;
    spec->stage_count = 2;
    spec->combine = GANG_STAGES_ORDER;
    spec->arrival_ns = 10 * SECOND;
    gang_reservation_id id = reserve(spec);
    gang_job_id member = put(8, 11, "demo"); /* for none of them */
    run_until(15);
    ck_assert_int_eq(why(member).wait.reason, GANG_WAIT_RESERVATION);
    ck_assert_int_eq(info_of(id).end_ns, 40 * SECOND);
    run_until(21);
    test_assert(is_there(other));
    test_assert(runs(put(4, 5, NULL)));
    host_close(&h);
}
END_TEST

/* A removed node stays in the tables while a job runs on it; it has left its domain. */
START_TEST(a_domain_reservation_covers_the_nodes_there_are)
{
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    struct gang_reservation_spec spec = GANG_RESERVATION_SPEC_INIT;
    gang_reservation_id id;
    open_racks();
    gang_job_id job = put_default(1, 100);
    int64_t when;
    MUST(gang_node_remove(h.stage.w, host_node_of(&h, job, 0)));
    spec.name = "one";
    spec.stages = &stage;
    spec.stage_count = 1;
    spec.duration_ns = 10 * SECOND;
    stage.level = "rack";
    stage.domain_count = 2;
    MUST(gang_reservation_add(h.s, &spec, &id, &when, NULL));
    ck_assert_int_eq(when, 0);
    ck_assert_int_eq(info_of(id).nodes, 3);
    host_close(&h);
}
END_TEST

static int32_t count_nodes(const struct gang_plan_item *item, void *user)
{
    *(size_t *)user += item->node_count;
    return 0;
}

START_TEST(removed_nodes_are_not_listed)
{
    struct gang_reservation_stage stage = GANG_RESERVATION_STAGE_INIT;
    const char *const nodes[] = {"n0", "n1"};
    size_t count = 0;
    host_open_queue(&h, 3, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = host_whole("r", 2, 10, 10);
    stage.nodes = nodes;
    stage.node_count = 2;
    spec->stages = &stage;
    gang_reservation_id id = reserve(spec);
    MUST(gang_reservation_pieces(h.s, id, count_nodes, &count));
    ck_assert_uint_eq(count, 2);
    put(4, 10, NULL);
    put(4, 10, NULL);
    gang_job_id job = put(4, 10, NULL); /* all nodes are held */
    test_assert(runs(job));
    MUST(gang_node_remove(h.stage.w, host_node(&h, 1)));
    count = 0;
    MUST(gang_reservation_pieces(h.s, id, count_nodes, &count));
    ck_assert_uint_eq(count, 1);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_in_one_domain_is_reserved)
{
    int64_t when;
    gang_reservation_id id;
    open_racks();
    test_assert(runs(put_default(1, 100)));
    struct gang_reservation_spec *spec = gpus("a", 8, -1, 10);
    struct gang_group_spec *group = (struct gang_group_spec *)(uintptr_t)spec->stages[0].groups;
    group->same = "rack";
    MUST(gang_reservation_add(h.s, spec, &id, &when, NULL));
    ck_assert_int_eq(when, 0);
    ck_assert_int_eq(info_of(id).nodes, 2);
    spec->name = "b";
    MUST(gang_reservation_add(h.s, spec, &id, &when, NULL));
    ck_assert_int_eq(when, 10 * SECOND);
    spec->name = "c";
    spec->start_ns = 5 * SECOND;
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(refused(spec, &when, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(when, 20 * SECOND);
    host_close(&h);
}
END_TEST

/* Like YARN's greedy agent: around a full segment [30,32), stages of 10, 20, 10 and 10 begin at 0,
 * 10, 32 and 42. */
START_TEST(stages_follow_one_another)
{
    struct gang_reservation_stage stage[4];
    struct gang_group_spec group = host_gpus(4, 4);
    int64_t when;
    gang_reservation_id id;
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    (void)reserve(gpus("full", 4, 30, 2));
    struct gang_reservation_spec spec = *gpus("chain", 4, -1, 10);
    for (int i = 0; i < 4; i++) {
        stage[i] = (struct gang_reservation_stage)GANG_RESERVATION_STAGE_INIT;
        stage[i].groups = &group;
        stage[i].group_count = 1;
        stage[i].duration_ns = (i == 1 ? 20 : 10) * SECOND;
    }
    spec.stages = stage;
    spec.stage_count = 4;
    spec.combine = GANG_STAGES_ORDER;
    spec.deadline_ns = 60 * SECOND;
    MUST(gang_reservation_add(h.s, &spec, &id, &when, NULL));
    ck_assert_int_eq(when, 0);
    ck_assert_int_eq(info_of(id).end_ns, 52 * SECOND);
    gang_job_id a = put(4, 10, "chain"), b = put(4, 10, "chain"), c = put(4, 12, "chain");
    test_assert(runs(a) && !runs(b));
    run_until(10);
    test_assert(runs(b));
    run_until(31);
    test_assert(!runs(c)); /* nothing of it is on */
    run_until(32);
    test_assert(runs(c)); /* over two stages */
    run_until(52);
    test_assert(!is_there(id));
    host_close(&h);
}
END_TEST

static void call_back(struct host *host, const struct host_event *e)
{
    gang_reservation_id id;
    (void)e;
    ck_assert_int_eq(gang_reservation_add(host->s, host_whole("x", 1, 0, 1), &id, NULL, NULL),
                     GANG_EBUSY);
    ck_assert_int_eq(gang_reservation_cancel(host->s, 1), GANG_EBUSY);
}

/* A stage on one node, then one on both, repeated: the first stage does not begin so early that the
 * next repetition would begin between the two. A member belongs to one repetition only. */
START_TEST(a_window_is_over_when_the_next_one_begins)
{
    struct gang_group_spec group[2];
    struct gang_reservation_stage stage[2];
    struct gang_reservation_spec spec = *host_whole("block", 1, 0, 200);
    struct gang_error error = GANG_ERROR_INIT;
    gang_reservation_id id;
    int64_t when_ns;
    host_open_queue(&h, 2, GANG_BACKFILL_EASY);
    reserve(&spec);
    for (int i = 0; i < 2; i++) {
        group[i] = *spec.stages->groups;
        group[i].count = group[i].min = i + 1;
        stage[i] = *spec.stages;
        stage[i].groups = &group[i];
    }
    spec.name = "again";
    spec.stages = stage;
    spec.stage_count = 2;
    spec.combine = GANG_STAGES_ORDER;
    spec.start_ns = -1;
    spec.duration_ns = 20 * SECOND;
    spec.period_ns = 60 * SECOND;
    spec.repetitions = 3;
    gang_result r = gang_reservation_add(h.s, &spec, &id, &when_ns, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    ck_assert_int_eq(when_ns, 160 * SECOND);
    for (int64_t begin = 160; begin < 340; begin += 60) {
        gang_job_id job = host_submit(&h, spec_of(4, 10, "again"));
        host_run(&h, begin * SECOND - h.now_ns);
        ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_RUNNING);
        MUST(gang_report_end(h.s, job, 1));
        host_run(&h, 45 * SECOND); /* in its second stage */
        job = host_submit(&h, spec_of(8, 10, "again"));
        host_run(&h, 0);
        ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_RUNNING);
        MUST(gang_report_end(h.s, job, 1));
        host_run(&h, 0);
    }
    spec.name =
        "at once"; /* it is to begin while its second stage does not fit for more than its period */
    spec.start_ns = 400 * SECOND;
    struct gang_reservation_spec *block = host_whole("later", 1, 400, 200);
    reserve(block);
    EXPECT_RESULT(refused(&spec, &when_ns, &error), GANG_ENOFIT, &error);
    host_close(&h);
}
END_TEST

START_TEST(a_wrong_specification_is_refused_with_its_path)
{
    struct gang_error error = GANG_ERROR_INIT;
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
#define WRONG(set, result, where)                                                           \
    do {                                                                                    \
        struct gang_reservation_spec *w = gpus("w", 4, -1, 10);                             \
        struct gang_reservation_stage *stage =                                              \
            (struct gang_reservation_stage *)(uintptr_t)w->stages;                          \
        struct gang_group_spec *group = (struct gang_group_spec *)(uintptr_t)stage->groups; \
        (void)group;                                                                        \
        set;                                                                                \
        EXPECT_ERROR(refused(w, NULL, &error), result, &error, where, NULL);                \
    } while (0)
    WRONG(w->name = "", GANG_EINVAL, "name");
    WRONG(w->duration_ns = 0, GANG_ERANGE, "stages[0].duration_ns");
    WRONG(w->deadline_ns = -1, GANG_ERANGE, "deadline_ns");
    WRONG((w->arrival_ns = 9, w->deadline_ns = 9), GANG_EINVAL, "deadline_ns");
    WRONG(w->deadline_ns = 9 * SECOND, GANG_EINVAL, "deadline_ns");
    WRONG(w->repetitions = 2, GANG_EINVAL, "repetitions");
    WRONG(w->period_ns = SECOND, GANG_EINVAL, "period_ns");
    WRONG(w->objective = 3, GANG_EINVAL, "objective");
    WRONG(w->combine = -1, GANG_EINVAL, "combine");
    WRONG(w->flags = 1 << 9, GANG_EINVAL, "flags");
    WRONG(w->flags = GANG_RESERVATION_MAINTENANCE | GANG_RESERVATION_FLEX, GANG_EINVAL, "flags");
    WRONG(w->stage_count = 0, GANG_EINVAL, "stages");
    WRONG(w->stage_count = 65, GANG_ELIMIT, "stages");
    WRONG(w->stage_size = 8, GANG_EINVAL, "stage_size");
    WRONG(w->queue = "nowhere", GANG_ENOENT, "queue");
    WRONG(w->job = 77, GANG_ENOENT, "job");
    WRONG(stage->gang_size = 3, GANG_EINVAL, "stages[0].gang_size");
    WRONG(stage->level = "rack", GANG_EINVAL, "stages[0]");
    WRONG(group->count = 0, GANG_ERANGE, "stages[0].groups[0].count");
    WRONG(group->subgroup_size = 2, GANG_ENOTSUP, "stages[0].groups[0].subgroup_size");
    WRONG(group->where = "a b", GANG_EPARSE, "stages[0].groups[0].where");
    WRONG(group->count = 9, GANG_ENEVER, "stages[0]");
#undef WRONG
    struct gang_reservation_spec *spec = host_whole("x", 1, 0, 1);
    spec->size = 8;
    EXPECT_RESULT(refused(spec, NULL, &error), GANG_EINVAL, &error);
    h.during = call_back;
    (void)put(1, 1, NULL);
    h.during = NULL;
    host_close(&h);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

/* _i: without plans; with plans; with time slices */
START_TEST(each_allocation_may_fail)
{
    struct gang_error error = GANG_ERROR_INIT;
    long calls = 1000;
    for (long n = 1; n < calls; n++) {
        if (_i == 2)
            open_sliced(4);
        else
            host_open_queue(&h, 4, _i ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE);
        long before = h.stage.mem.calls;
        h.stage.mem.fail_at = before + n;
        struct gang_reservation_spec *spec = host_whole("a", 2, 10, 40);
        spec->period_ns = 60 * SECOND;
        spec->repetitions = 9;
        gang_reservation_id a = reserve_again(spec);
        spec = gpus("b", 3, -1, 30);
        spec->arrival_ns = 20 * SECOND;
        spec->flags = GANG_RESERVATION_MAGNETIC;
        gang_reservation_id b = reserve_again(spec);
        gang_job_id in = submit_again(spec_of(6, 0, "a")), out = submit_again(spec_of(8, 25, NULL));
        if (_i == 2) { /* two rows until 10 */
            (void)submit_again(spec_of(4, 5, NULL));
            (void)submit_again(spec_of(16, 1, NULL));
        }
        run_again(0);
        run_again(10 * SECOND);
        run_again(10 * SECOND);
        test_assert(runs(in));
        spec = gpus("b", 2, -1, 20);
        spec->arrival_ns = 25 * SECOND;
        gang_result r = gang_reservation_change(h.s, b, spec, NULL, &error);
        if (r != GANG_OK)
            EXPECT_RESULT(gang_reservation_change(h.s, b, spec, NULL, &error), GANG_OK, &error);
        if (gang_report_node_lost(h.s, host_node(&h, 0)) != GANG_OK)
            MUST(gang_report_node_lost(h.s, host_node(&h, 0)));
        run_again(SECOND);
        run_again(20 * SECOND);
        run_again(15 * SECOND);
        ck_assert_int_eq(info_of(a).instance, 1);
        test_assert(!is_there(b));
        MUST(gang_reservation_cancel(h.s, a));
        run_again(100 * SECOND);
        run_again(100 * SECOND);
        test_assert(!host_has(&h, in) && !host_has(&h, out));
        calls = h.stage.mem.calls - before;
        h.stage.mem.fail_at = 0;
        host_close(&h);
    }
    ck_assert_int_gt(calls, 60);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reserve");
    TCase *t = tcase_create("reserve");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, no_job_starts_that_may_overlap_a_reservation, 0, 2);
    tcase_add_test(t, time_slices_end_before_a_reservation_begins);
    tcase_add_test(t, reservations_are_placed_after_the_last_row_of_a_node);
    tcase_add_test(t, a_magnetic_reservation_takes_jobs_of_a_queue_that_slices);
    tcase_add_test(t, a_queue_may_begin_to_slice_while_something_is_reserved);
    tcase_add_test(t, unreserved_capacity_is_for_all_jobs);
    tcase_add_test(t, a_reservation_may_cover_parts_of_nodes);
    tcase_add_test(t, a_member_waits_for_the_begin);
    tcase_add_test(t, a_member_that_may_outlast_the_reservation_does_not_start);
    tcase_add_test(t, a_member_without_a_time_limit_ends_with_the_reservation);
    tcase_add_test(t, a_reservation_admits_its_users_and_queues_only);
    tcase_add_test(t, a_magnetic_reservation_attracts_jobs);
    tcase_add_test(t, members_of_a_flexible_reservation_may_run_outside);
    tcase_add_test(t, planned_starts_of_flexible_members_move);
    tcase_add_test(t, waiting_members_are_tried_when_a_reservation_becomes_flexible);
    tcase_add_test(t, queue_limits_hold_inside_a_reservation);
    tcase_add_test(t, members_may_have_planned_starts_inside);
    tcase_add_test(t, the_host_gets_notice_before_the_begin);
    tcase_add_test(t, a_reservation_with_a_window_finds_its_time);
    tcase_add_test(t, a_repeated_reservation_begins_again);
    tcase_add_test(t, an_unused_reservation_is_dropped);
    tcase_add_test(t, no_job_starts_on_nodes_in_maintenance);
    tcase_add_test(t, running_jobs_block_a_reservation_unless_it_ignores_jobs);
    tcase_add_test(t, other_reservations_block_unless_overlap_is_allowed);
    tcase_add_test(t, preemption_frees_capacity_beside_a_reservation);
    tcase_add_loop_test(t, a_taker_whose_victim_stops_late_does_not_run_into_a_reservation, 0, 2);
    tcase_add_test(t, a_cancelled_reservation_frees_its_capacity_at_once);
    tcase_add_test(t, a_change_that_does_not_fit_changes_nothing);
    tcase_add_test(t, an_active_reservation_may_shrink);
    tcase_add_test(t, a_magnetic_match_ends_sooner_with_its_reservation);
    tcase_add_test(t, a_member_that_restarts_outside_has_no_limit_again);
    tcase_add_test(t, a_reservation_ends_with_the_job_it_was_made_for);
    tcase_add_test(t, a_user_reserves_at_most_the_user_limit);
    tcase_add_test(t, a_member_excluded_by_a_change_ends_as_before);
    tcase_add_test(t, all_bookings_of_the_calendar_are_listed);
    tcase_add_test(t, an_extended_member_stays_inside);
    tcase_add_test(t, a_reservation_may_cover_whole_domains);
    tcase_add_test(t, a_member_that_overruns_stops_at_the_end_of_its_stage);
    tcase_add_test(t, members_wait_between_stages);
    tcase_add_test(t, a_window_is_over_when_the_next_one_begins);
    tcase_add_test(t, a_domain_reservation_covers_the_nodes_there_are);
    tcase_add_test(t, removed_nodes_are_not_listed);
    tcase_add_test(t, a_gang_in_one_domain_is_reserved);
    tcase_add_test(t, stages_follow_one_another);
    tcase_add_test(t, a_wrong_specification_is_refused_with_its_path);
    tcase_add_loop_test(t, each_allocation_may_fail, 0, 3);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
