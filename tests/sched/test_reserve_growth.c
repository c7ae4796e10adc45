/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that grow beside reservations: as far as these leave capacity, and further when they end,
 * also where no queue plans. */
#include "sched/reserving.h"

/* A gang of one to `count` tasks of one GPU each, without a time limit. */
static gang_job_id put_elastic(int64_t count)
{
    gang_job_id id = host_submit(&h, host_spec("q", count, 1, 0));
    host_run(&h, 0);
    return id;
}

static int64_t tasks_of(gang_job_id id)
{
    return host_job_info(&h, id).tasks;
}

START_TEST(a_gang_grows_when_the_reservation_ends)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    (void)reserve(gpus("demo", 2, 100, 50));
    gang_job_id job = put_elastic(4);
    ck_assert_int_eq(tasks_of(job), 2);
    run_until(149);
    ck_assert_int_eq(tasks_of(job), 2);
    run_until(151);
    ck_assert_int_eq(tasks_of(job), 4);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_grows_when_the_reservation_is_cancelled)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    gang_reservation_id id = reserve(gpus("demo", 2, 100, 50));
    gang_job_id job = put_elastic(4);
    ck_assert_int_eq(tasks_of(job), 2);
    MUST(gang_reservation_cancel(h.s, id));
    host_run(&h, 0);
    ck_assert_int_eq(tasks_of(job), 4);
    host_close(&h);
}
END_TEST

/* Instances that end one after the other, while the reservation stays. */
START_TEST(a_gang_grows_when_the_last_window_ends)
{
    host_open_queue(&h, 1, GANG_BACKFILL_NONE);
    struct gang_reservation_spec *spec = gpus("demo", 2, 100, 50);
    spec->period_ns = 100 * SECOND;
    spec->repetitions = 2;
    (void)reserve(spec);
    gang_job_id job = put_elastic(4);
    run_until(249);
    ck_assert_int_eq(tasks_of(job), 2);
    run_until(251);
    ck_assert_int_eq(tasks_of(job), 4);
    host_close(&h);
}
END_TEST

/* The fullest node has reserved GPUs left alone; the other one is free. */
START_TEST(a_gang_grows_on_nodes_that_are_not_reserved)
{
    for (int64_t reserved = 1; reserved <= 4; reserved++) {
        host_open_queue(&h, 2, GANG_BACKFILL_NONE);
        (void)reserve(gpus("demo", reserved, 100, 50));
        ck_assert_int_eq(tasks_of(put_elastic(8)), 8 - reserved);
        host_close(&h);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("reserve growth");
    TCase *t = tcase_create("reserve growth");
    tcase_add_test(t, a_gang_grows_when_the_reservation_ends);
    tcase_add_test(t, a_gang_grows_when_the_reservation_is_cancelled);
    tcase_add_test(t, a_gang_grows_when_the_last_window_ends);
    tcase_add_test(t, a_gang_grows_on_nodes_that_are_not_reserved);
    suite_add_tcase(s, t);
    return run_suite(s);
}
