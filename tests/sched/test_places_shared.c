/* SPDX-License-Identifier: Apache-2.0 */
/* gang_report_places() about nodes that one job has to itself, and nodes that gangs share in time.
 * Their tasks are compared like others: the books follow, or the conflict is reported. */
#include "sched/places_host.h"

static void check(void)
{
    MUST(gang_cluster_check(h.stage.c, NULL));
    host_check(&h);
}

/* ---- exclusive jobs -------------------------------------------------------------------------- */

static gang_job_id exclusive(int64_t tasks, int64_t gpu_milli)
{
    struct gang_group_spec g = host_gpus(tasks, tasks);
    g.gpu_milli = gpu_milli;
    struct gang_job_spec spec = host_job(&g, 1);
    spec.request.exclusive = 1;
    gang_job_id job = host_submit(&h, &spec);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, job), GANG_JOB_RUNNING);
    return job;
}

START_TEST(an_exclusive_task_on_another_device_of_its_node_is_followed)
{
    open_places(2, 4);
    gang_job_id a = exclusive(1, 1000);
    gang_node_id node = task_of(a, 0).node;
    uint64_t now = task_of(a, 0).gpus == 8 ? 4 : 8;
    struct gang_reported_place p = place_of(a, 0, now);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 0);
    ck_assert_int_eq(rebound, 1);
    ck_assert_uint_eq(task_of(a, 0).gpus, now);
    ck_assert_uint_eq(free_gpus(node), 0); /* the node is still its own */
    check();
    report(node, &p, 1, 0); /* as booked by now */
    host_run(&h, 1);
    ck_assert_int_eq(rebound, 1);
    host_end_job(&h, a);
    ck_assert_uint_eq(free_gpus(node), 15);
    check();
    host_close(&h);
}
END_TEST

START_TEST(exclusive_tasks_that_changed_places_are_followed)
{
    struct gang_reported_place p[2];
    open_places(1, 4);
    gang_job_id a = exclusive(2, 500); /* shares of devices */
    uint64_t first = task_of(a, 0).gpus, second = task_of(a, 1).gpus;
    p[0] = place_of(a, 0, 8);
    p[1] = place_of(a, 1, first == 8 ? 4 : first);
    ck_assert(first != 8 || second != 4);
    report(host_node(&h, 0), p, 2, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 0);
    ck_assert_uint_eq(task_of(a, 0).gpus, 8);
    ck_assert_uint_eq(task_of(a, 1).gpus, p[1].gpus);
    check();
    host_end_job(&h, a);
    ck_assert_uint_eq(free_gpus(host_node(&h, 0)), 15);
    check();
    host_close(&h);
}
END_TEST

START_TEST(an_exclusive_task_on_the_device_of_another_one_is_a_conflict)
{
    open_places(1, 4);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = exclusive(2, 1000);
    uint64_t first = task_of(a, 0).gpus, second = task_of(a, 1).gpus;
    struct gang_reported_place p = place_of(a, 0, second);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_TAKEN);
    ck_assert_uint_eq(told[0].booked_job, a);
    ck_assert_int_eq(told[0].booked_task, 1);
    ck_assert_uint_eq(told[0].gpus, second);
    ck_assert_uint_eq(task_of(a, 0).gpus, first);
    check();
    host_close(&h);
}
END_TEST

/* Its own allocation has the devices: no other job is named. */
START_TEST(an_exclusive_task_on_more_devices_than_its_own_is_unsuitable)
{
    open_places(1, 4);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = exclusive(1, 1000);
    uint64_t was = task_of(a, 0).gpus;
    struct gang_reported_place p = place_of(a, 0, 15);
    report(node, &p, 1, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_UNSUITABLE);
    ck_assert_uint_eq(told[0].job, a);
    ck_assert_uint_eq(told[0].booked_job, GANG_ID_NONE);
    ck_assert_uint_eq(task_of(a, 0).gpus, was);
    host_end_job(&h, a);
    ck_assert_uint_eq(free_gpus(node), 15);
    check();
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("places_shared");
    TCase *tc = tcase_create("places_shared");
    tcase_add_test(tc, an_exclusive_task_on_another_device_of_its_node_is_followed);
    tcase_add_test(tc, exclusive_tasks_that_changed_places_are_followed);
    tcase_add_test(tc, an_exclusive_task_on_the_device_of_another_one_is_a_conflict);
    tcase_add_test(tc, an_exclusive_task_on_more_devices_than_its_own_is_unsuitable);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
