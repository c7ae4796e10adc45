/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations that lost nodes and regain them; later times of repeated reservations. */
#include "sched/reserving.h"

/* ---- nodes are lost -------------------------------------------------------------------------- */

START_TEST(other_nodes_replace_lost_reserved_nodes)
{
    host_open_queue(&h, 4, GANG_BACKFILL_NONE);
    gang_reservation_id a = reserve(host_whole("a", 2, 100, 50)),
                        b = reserve(host_whole("b", 1, 100, 50));
    MUST(gang_report_node_lost(h.s, host_node(&h, 0)));
    host_run(&h, 0);
    ck_assert_int_eq(last_reported(a, GANG_RESERVATION_LOST)->outcome, GANG_RESERVATION_KEPT);
    ck_assert_int_eq(info_of(a).nodes, 2);
    ck_assert_int_eq(reported(b, GANG_RESERVATION_LOST), 0);
    MUST(gang_report_node_lost(h.s, host_node(&h, 1))); /* now the newest makes way */
    host_run(&h, 0);
    ck_assert_int_eq(last_reported(a, GANG_RESERVATION_LOST)->outcome, GANG_RESERVATION_KEPT);
    ck_assert_int_eq(info_of(a).nodes, 2);
    ck_assert_int_eq(last_reported(b, GANG_RESERVATION_LOST)->outcome, GANG_RESERVATION_DROPPED);
    test_assert(!is_there(b));
    MUST(gang_report_node_lost(h.s, host_node(&h, 2)));
    host_run(&h, 0);
    ck_assert_int_eq(last_reported(a, GANG_RESERVATION_LOST)->outcome, GANG_RESERVATION_REDUCED);
    ck_assert_int_eq(info_of(a).nodes, 1);
    host_close(&h);
}
END_TEST

START_TEST(a_reservation_with_a_window_moves_inside_it)
{
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    gang_reservation_id a = reserve(host_whole("a", 1, 100, 50)),
                        b = reserve(host_whole("b", 1, -1, 150));
    ck_assert_int_eq(info_of(b).start_ns, 0);
    MUST(gang_reservation_cancel(h.s, b));
    b = reserve(host_whole("b", 2, -1, 100));
    ck_assert_int_eq(info_of(b).start_ns, 0);
    MUST(gang_reservation_cancel(h.s, b));
    struct gang_reservation_spec *spec = host_whole("b", 1, -1, 50);
    spec->arrival_ns = 100 * SECOND;
    b = reserve(spec);
    ck_assert_int_eq(info_of(b).start_ns, 100 * SECOND);
    MUST(gang_report_node_lost(h.s, host_node(&h, 0)));
    host_run(&h, 0);
    ck_assert_int_eq(last_reported(a, GANG_RESERVATION_LOST)->outcome, GANG_RESERVATION_KEPT);
    ck_assert_int_eq(last_reported(b, GANG_RESERVATION_LOST)->outcome, GANG_RESERVATION_LATER);
    ck_assert_int_eq(info_of(a).start_ns, 100 * SECOND);
    ck_assert_int_eq(info_of(b).start_ns, 150 * SECOND);
    host_close(&h);
}
END_TEST

/* ---- nodes are regained ---------------------------------------------------------------------- */

START_TEST(a_reduced_reservation_gets_its_node_back_when_it_is_up)
{
    host_open_queue(&h, 3, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("r", 3, 100, 50));
    gang_job_id member = put(12, 20, "r");
    lose(0);
    lose(1);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_LOST)->outcome, GANG_RESERVATION_REDUCED);
    ck_assert_int_eq(info_of(id).nodes, 1);
    bring_up(1); /* some of it */
    ck_assert_int_eq(reported(id, GANG_RESERVATION_RESTORED), 1);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_RESTORED)->outcome,
                     GANG_RESERVATION_REDUCED);
    ck_assert_int_eq(info_of(id).nodes, 2);
    bring_up(0);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_RESTORED), 2);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_RESTORED)->outcome, GANG_RESERVATION_KEPT);
    ck_assert_uint_eq(last_reported(id, GANG_RESERVATION_RESTORED)->nodes, 3);
    ck_assert_int_eq(info_of(id).nodes, 3);
    gang_job_id long_one = put(4, 101, NULL);
    test_assert(!runs(long_one)); /* it is for the members again */
    run_until(100);
    test_assert(runs(member));
    run_until(150);
    test_assert(!is_there(id));
    host_close(&h);
}
END_TEST

/* During the reservation, with running and waiting members: it takes what a job releases. */
START_TEST(a_reduced_reservation_grows_where_jobs_end)
{
    host_open_queue(&h, 3, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("r", 2, 10, 90));
    gang_job_id other = put(4, 200, NULL), wide = put(8, 20, "r"), small = put(2, 0, "r");
    run_until(10);
    test_assert(runs(wide) && runs(other));
    int free_node = 0; /* one of its own, on which the small one does not run then */
    while (host_node_of(&h, other, 0) == host_node(&h, free_node))
        free_node++;
    run_until(30);
    test_assert(runs(small));
    if (host_node_of(&h, small, 0) == host_node(&h, free_node))
        free_node = 3 - free_node - (int)((uint32_t)host_node_of(&h, other, 0) - 1);
    lose(free_node);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_LOST)->outcome, GANG_RESERVATION_REDUCED);
    gang_job_id waits = put(6, 20, "r");
    test_assert(!runs(waits) && runs(small));
    run_until(40);
    host_end_job(&h, other);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_RESTORED)->outcome, GANG_RESERVATION_KEPT);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_RESTORED)->now_ns, 40 * SECOND);
    test_assert(runs(waits) && runs(small));
    ck_assert_int_eq(info_of(id).running, 2);
    host_close(&h);
}
END_TEST

/* It was promised first. */
START_TEST(planned_starts_give_way_to_a_growing_reservation)
{
    host_open_queue(&h, 3, GANG_BACKFILL_EASY);
    gang_reservation_id id = reserve(host_whole("r", 2, 10, 290));
    gang_job_id other = put(4, 200, NULL);
    test_assert(runs(other));
    lose(host_node_of(&h, other, 0) == host_node(&h, 0) ? 1 : 0);
    ck_assert_int_eq(info_of(id).nodes, 1);
    gang_job_id next = put(4, 20, NULL);
    ck_assert_int_eq(host_job_info(&h, next).planned_ns, 200 * SECOND);
    run_until(40);
    host_end_job(&h, other);
    ck_assert_int_eq(info_of(id).nodes, 2);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_RESTORED)->now_ns, 40 * SECOND);
    ck_assert_int_eq(host_job_info(&h, next).planned_ns, 300 * SECOND);
    host_close(&h);
}
END_TEST

/* A finished, dropped or changed piece regains nothing. */
START_TEST(only_reservations_that_still_exist_grow)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    gang_reservation_id dropped = reserve(host_whole("a", 1, 100, 50));
    lose(0);
    test_assert(!is_there(dropped));
    bring_up(0);
    ck_assert_int_eq(reported(dropped, GANG_RESERVATION_RESTORED), 0);
    host_close(&h);
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(host_whole("b", 2, 10, 20));
    lose(0);
    ck_assert_int_eq(info_of(id).nodes, 1);
    MUST(gang_reservation_change(h.s, id, host_whole("b", 1, 10, 20), NULL, NULL));
    bring_up(0);
    ck_assert_int_eq(info_of(id).nodes, 1);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_RESTORED), 0);
    host_close(&h);
}
END_TEST

/* Time by time, and this time alone. */
START_TEST(windows_of_a_repeated_reservation_grow_again)
{
    struct gang_reservation_limit limit = GANG_RESERVATION_LIMIT_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    limit.max_gpu_milli = 8000;
    MUST(gang_reservation_set_limit(h.s, "ann", &limit, NULL));
    struct gang_reservation_spec *spec = host_whole("r", 2, 10, 20);
    spec->owner = "ann";
    spec->period_ns = 50 * SECOND;
    spec->repetitions = 3;
    gang_reservation_id id = reserve(spec);
    run_until(15);
    lose(1);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_LOST), 3);
    run_until(40); /* the first time is over */
    bring_up(1);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_RESTORED), 2);
    ck_assert_int_eq(info_of(id).instance, 1);
    ck_assert_int_eq(info_of(id).nodes, 2);
    spec = host_whole("more", 1, 60, 20);
    spec->owner = "ann";
    EXPECT_RESULT(refused(spec, NULL, &error), GANG_ENOFIT, &error); /* it does not fit, and */
    spec->start_ns = 85 * SECOND;
    (void)reserve(spec); /* nothing is booked twice */
    host_close(&h);
}
END_TEST

/* ---- overlaps ------------------------------------------------------------------------ */

/* A later reservation did not agree to an overlap: regained nodes lie beside it. */
START_TEST(an_overlapping_reservation_grows_beside_later_ones)
{
    host_open_queue(&h, 3, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = gpus("over", 8, 100, 100);
    spec->flags = GANG_RESERVATION_OVERLAP;
    gang_reservation_id id = reserve(spec);
    gang_job_id other = put(4, 150, NULL); /* on the third node */
    int own = host_node_of(&h, other, 0) == host_node(&h, 0) ? 1 : 0;
    lose(own);
    ck_assert_int_eq(info_of(id).nodes, 1);
    gang_reservation_id later = reserve(host_whole("later", 1, 160, 20));
    host_end_job(&h, other);
    ck_assert_int_eq(info_of(id).nodes, 1);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_RESTORED), 0);
    MUST(gang_reservation_cancel(h.s, later));
    host_run(&h, 0);
    ck_assert_int_eq(info_of(id).nodes, 2);
    host_close(&h);
}
END_TEST

/* Earlier reservations may be overlapped whenever it is placed, but free capacity comes first. */
START_TEST(an_overlapping_reservation_grows_over_earlier_ones)
{
    host_open_queue(&h, 3, GANG_BACKFILL_NONE);
    gang_reservation_id first = reserve(host_whole("first", 1, 100, 100));
    struct gang_reservation_spec *spec = gpus("over", 12, 100, 100);
    spec->flags = GANG_RESERVATION_OVERLAP;
    gang_reservation_id id = reserve(spec);
    lose(0);
    lose(1);
    ck_assert_int_eq(info_of(first).nodes, 1);
    ck_assert_int_eq(info_of(id).nodes, 1);
    bring_up(0);
    ck_assert_int_eq(info_of(id).nodes, 2);
    bring_up(1);
    ck_assert_int_eq(info_of(id).nodes, 3);
    ck_assert_int_eq(info_of(first).nodes, 1);
    host_close(&h);
}
END_TEST

/* Jobs of before its acceptance alone are ignored. */
START_TEST(a_reservation_that_ignores_jobs_grows_beside_them)
{
    host_open_queue(&h, 3, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = gpus("r", 8, 10, 90);
    spec->flags = GANG_RESERVATION_IGNORE_JOBS;
    gang_reservation_id id = reserve(spec);
    gang_job_id other = put(4, 200, NULL);
    lose(host_node_of(&h, other, 0) == host_node(&h, 0) ? 1 : 0);
    ck_assert_int_eq(info_of(id).nodes, 1);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_RESTORED), 0);
    run_until(20);
    host_end_job(&h, other);
    ck_assert_int_eq(info_of(id).nodes, 2);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_RESTORED)->now_ns, 20 * SECOND);
    host_close(&h);
}
END_TEST

static int32_t find_longest(const struct gang_plan_item *item, void *user)
{
    if (item->end_ns == 100 * SECOND)
        *(gang_node_id *)user = item->nodes[0];
    return 0;
}

/* A member ends with the piece in which it started, not with a piece regained elsewhere. */
START_TEST(a_member_without_a_limit_ends_with_the_window_it_started_in)
{
    struct gang_reservation_stage stage[2];
    gang_node_id lost = GANG_ID_NONE;
    host_open_queue(&h, 2, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = host_whole("r", 1, 0, 50);
    stage[0] = stage[1] = *spec->stages;
    stage[1].duration_ns = 100 * SECOND;
    spec->duration_ns = 0;
    stage[0].duration_ns = 50 * SECOND;
    spec->stages = stage;
    spec->stage_count = 2;
    gang_reservation_id id = reserve(spec);
    MUST(gang_reservation_pieces(h.s, id, find_longest, &lost));
    ck_assert_uint_ne(lost, GANG_ID_NONE);
    MUST(gang_report_node_lost(h.s, lost));
    gang_job_id member = put(4, 0, "r");
    test_assert(runs(member));
    ck_assert_int_eq(info_of(id).end_ns, 50 * SECOND);
    MUST(gang_node_set_state(h.stage.w, lost, GANG_NODE_UP));
    host_run(&h, 0);
    ck_assert_int_eq(info_of(id).end_ns, 100 * SECOND);
    (void)reserve(host_whole("later", 1, 50, 50));
    run_until(49);
    test_assert(runs(member));
    run_until(50);
    test_assert(!runs(member));
    host_close(&h);
}
END_TEST

/* ---- later times ----------------------------------------------------------------------------- */

START_TEST(later_windows_of_an_overlapping_reservation_overlap_earlier_ones)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    (void)reserve(host_whole("first", 1, 1010, 20)); /* in its tenth time, */
    struct gang_reservation_spec *spec = host_whole("over", 1, 10, 50);
    spec->flags = GANG_RESERVATION_OVERLAP;
    spec->period_ns = 100 * SECOND;
    spec->repetitions = 12;
    gang_reservation_id id = reserve(spec);
    (void)reserve(host_whole("later", 1, 1110, 20)); /* in its eleventh */
    run_until(1200);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_BEGIN), 11);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_SKIPPED), 1);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_SKIPPED)->instance, 11);
    host_close(&h);
}
END_TEST

START_TEST(later_windows_of_a_reservation_that_ignores_jobs_ignore_them)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    gang_job_id endless = put(4, 0, NULL);
    struct gang_reservation_spec *spec = host_whole("r", 1, 10, 50);
    spec->flags = GANG_RESERVATION_IGNORE_JOBS;
    spec->period_ns = 100 * SECOND;
    spec->repetitions = 12;
    gang_reservation_id id = reserve(spec);
    run_until(1200);
    test_assert(runs(endless));
    ck_assert_int_eq(reported(id, GANG_RESERVATION_BEGIN), 12);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_SKIPPED), 0);
    host_close(&h);
}
END_TEST

/* A plan is no promise: one without a limit would leave out all that come. */
START_TEST(planned_starts_give_way_to_later_windows)
{
    host_open_queue(&h, 1, GANG_BACKFILL_CONSERVATIVE);
    struct gang_reservation_spec *spec = host_whole("r", 1, 10, 50);
    spec->period_ns = 100 * SECOND;
    spec->repetitions = 12;
    gang_reservation_id id = reserve(spec);
    gang_job_id endless = put(4, 0, NULL);
    ck_assert_int_eq(host_job_info(&h, endless).planned_ns, 760 * SECOND);
    run_until(60);
    ck_assert_int_eq(host_job_info(&h, endless).planned_ns, 860 * SECOND);
    run_until(1200);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_BEGIN), 12);
    ck_assert_int_eq(reported(id, GANG_RESERVATION_SKIPPED), 0);
    test_assert(runs(endless));
    host_close(&h);
}
END_TEST

/* He was promised it before that time was planned. */
START_TEST(later_windows_take_capacity_that_preemption_freed)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 2, 4);
    q.name = "q";
    q.within = GANG_PREEMPT_LOWER;
    q.grace_ns = 10 * SECOND;
    host_queues(&h, &q, 1);
    h.lingers = true;
    host_run(&h, 0);
    (void)reserve(host_whole("other", 1, 800, 50)); /* there is one node for the ninth time */
    struct gang_reservation_spec *spec = host_whole("r", 1, 10, 10);
    spec->period_ns = 100 * SECOND;
    spec->repetitions = 10;
    gang_reservation_id id = reserve(spec);
    gang_job_id victim = put(4, 9000, NULL);
    run_until(15);
    struct gang_job_spec *job = host_spec("q", 4, 4, 5);
    job->time_limit_ns = 10000 * SECOND;
    gang_job_id taker = host_submit(&h, job);
    host_run(&h, 0);
    ck_assert_int_eq(host_job_state(&h, victim), GANG_JOB_STOPPING);
    run_until(20);
    test_assert(!runs(taker));
    ck_assert_int_eq(reported(id, GANG_RESERVATION_SKIPPED), 1);
    ck_assert_int_eq(last_reported(id, GANG_RESERVATION_SKIPPED)->instance, 8);
    run_until(26);
    test_assert(runs(taker));
    host_close(&h);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

static int32_t sum_nodes(const struct gang_plan_item *item, void *user)
{
    *(int64_t *)user += (int64_t)item->node_count;
    return 0;
}

START_TEST(growing_a_reservation_again_survives_failed_memory_allocations)
{
    long calls = 1000;
    for (long n = 1; n < calls; n++) {
        host_open_queue(&h, 3, _i ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE);
        gang_reservation_id id = reserve(gpus("r", 10, 10, 40));
        gang_job_id in = submit_again(spec_of(4, 0, "r")), wide = submit_again(spec_of(8, 5, NULL));
        run_again(0);
        run_again(10 * SECOND);
        test_assert(runs(in));
        long before = h.stage.mem.calls;
        h.stage.mem.fail_at = before + n;
        for (int i = 0; i < 3; i++)
            if (host_node_of(&h, in, 0) != host_node(&h, i) &&
                gang_report_node_lost(h.s, host_node(&h, i)) != GANG_OK)
                MUST(gang_report_node_lost(h.s, host_node(&h, i)));
        run_again(SECOND);
        for (int i = 0; i < 3; i++)
            if (host_node_of(&h, in, 0) != host_node(&h, i))
                MUST(gang_node_set_state(h.stage.w, host_node(&h, i), GANG_NODE_UP));
        run_again(SECOND);
        run_again(SECOND);
        calls = h.stage.mem.calls - before;
        h.stage.mem.fail_at = 0;
        host_run(&h, SECOND);
        int64_t reserved = 0;
        MUST(gang_reservation_pieces(h.s, id, sum_nodes, &reserved));
        ck_assert_int_ge(reserved, 3);
        test_assert(is_there(id) && runs(in));
        (void)wide;
        host_close(&h);
    }
    ck_assert_int_gt(calls, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reserve lost");
    TCase *t = tcase_create("reserve lost");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, other_nodes_replace_lost_reserved_nodes);
    tcase_add_test(t, a_reservation_with_a_window_moves_inside_it);
    tcase_add_test(t, a_reduced_reservation_gets_its_node_back_when_it_is_up);
    tcase_add_test(t, a_reduced_reservation_grows_where_jobs_end);
    tcase_add_test(t, planned_starts_give_way_to_a_growing_reservation);
    tcase_add_test(t, only_reservations_that_still_exist_grow);
    tcase_add_test(t, windows_of_a_repeated_reservation_grow_again);
    tcase_add_test(t, an_overlapping_reservation_grows_beside_later_ones);
    tcase_add_test(t, an_overlapping_reservation_grows_over_earlier_ones);
    tcase_add_test(t, a_reservation_that_ignores_jobs_grows_beside_them);
    tcase_add_test(t, a_member_without_a_limit_ends_with_the_window_it_started_in);
    tcase_add_test(t, later_windows_of_an_overlapping_reservation_overlap_earlier_ones);
    tcase_add_test(t, later_windows_of_a_reservation_that_ignores_jobs_ignore_them);
    tcase_add_test(t, planned_starts_give_way_to_later_windows);
    tcase_add_test(t, later_windows_take_capacity_that_preemption_freed);
    tcase_add_loop_test(t, growing_a_reservation_again_survives_failed_memory_allocations, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
