/* SPDX-License-Identifier: Apache-2.0 */
/* gang_report_places() about nodes that one job has to itself, and nodes that gangs share in time.
 * Their tasks are compared like others: the books follow, or the conflict is reported. */
#include "sched/places_host.h"

static void check(void)
{
    MUST(gang_cluster_check(h.stage.c, NULL));
    host_check(&h);
}

static void close_places(void)
{
    check();
    host_close(&h);
}

/* All four devices of the node are free again. */
static void close_free(gang_node_id node)
{
    ck_assert_uint_eq(free_gpus(node), 15);
    close_places();
}

/* The host tells what runs on the node, and hears of so many conflicts. */
static void tell(gang_node_id node, const struct gang_reported_place *p, size_t count,
                 size_t conflicts)
{
    report(node, p, count, 0);
    host_run(&h, 1);
    ck_assert_uint_eq(told_count, conflicts);
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
    tell(node, &p, 1, 0);
    ck_assert_int_eq(rebound, 1);
    ck_assert_uint_eq(task_of(a, 0).gpus, now);
    ck_assert_uint_eq(free_gpus(node), 0); /* the node is still its own */
    check();
    report(node, &p, 1, 0); /* as booked by now */
    host_run(&h, 1);
    ck_assert_int_eq(rebound, 1);
    host_end_job(&h, a);
    close_free(node);
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
    tell(host_node(&h, 0), p, 2, 0);
    ck_assert_uint_eq(task_of(a, 0).gpus, 8);
    ck_assert_uint_eq(task_of(a, 1).gpus, p[1].gpus);
    check();
    host_end_job(&h, a);
    close_free(host_node(&h, 0));
}
END_TEST

START_TEST(an_exclusive_task_on_the_device_of_another_one_is_a_conflict)
{
    open_places(1, 4);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = exclusive(2, 1000);
    uint64_t first = task_of(a, 0).gpus, second = task_of(a, 1).gpus;
    struct gang_reported_place p = place_of(a, 0, second);
    tell(node, &p, 1, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_TAKEN);
    ck_assert_uint_eq(told[0].booked_job, a);
    ck_assert_int_eq(told[0].booked_task, 1);
    ck_assert_uint_eq(told[0].gpus, second);
    ck_assert_uint_eq(task_of(a, 0).gpus, first);
    close_places();
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
    tell(node, &p, 1, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_UNSUITABLE);
    ck_assert_uint_eq(told[0].job, a);
    ck_assert_uint_eq(told[0].booked_job, GANG_ID_NONE);
    ck_assert_uint_eq(task_of(a, 0).gpus, was);
    host_end_job(&h, a);
    close_free(node);
}
END_TEST

/* ---- gangs that share nodes in time ---------------------------------------------------------- */

static void open_slicing(size_t nodes, size_t gpus, int32_t shares_gpus)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    open_places(nodes, gpus);
    q.name = "default";
    q.quantum_ns = 10 * (int64_t)HOST_SECOND;
    q.quantum_gpus = shares_gpus;
    host_queues(&h, &q, 1);
}

/* A gang of one task of so many GPUs, and of a core for each. */
static gang_job_id sliced(int64_t gpus)
{
    struct gang_group_spec g = group_of(1, gpus * 1000, gpus * 1000);
    struct gang_job_spec spec = host_job(&g, 1);
    gang_job_id job = host_submit(&h, &spec);
    host_run(&h, 1);
    ck_assert_int_gt(host_job_info(&h, job).slice_row, 0);
    return job;
}

static int32_t row_of(gang_job_id job)
{
    return host_job_info(&h, job).slice_row;
}

static bool runs(gang_job_id job)
{
    return host_job_state(&h, job) == GANG_JOB_RUNNING;
}

/* The job of the other row has the device, too: they take turns. */
START_TEST(a_task_in_a_row_on_a_free_device_of_its_row_is_followed)
{
    open_slicing(1, 4, 1);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = sliced(2), all = sliced(4);
    ck_assert_int_ne(row_of(a), row_of(all));
    uint64_t was = task_of(a, 0).gpus, now = 15 & ~was;
    struct gang_reported_place p = place_of(a, 0, now);
    tell(node, &p, 1, 0);
    ck_assert_int_eq(rebound, 1);
    ck_assert_uint_eq(task_of(a, 0).gpus, now);
    check();
    gang_job_id beside = sliced(2); /* in its row, on what it left */
    ck_assert_int_eq(row_of(beside), row_of(a));
    ck_assert_uint_eq(task_of(beside, 0).gpus, was);
    test_assert(runs(a) && runs(beside) && !runs(all));
    check();
    host_end_job(&h, a);
    host_end_job(&h, beside);
    host_end_job(&h, all);
    close_free(node);
}
END_TEST

START_TEST(tasks_of_a_row_that_changed_places_are_followed)
{
    struct gang_reported_place p[2];
    open_slicing(1, 4, 1);
    gang_job_id a = sliced(2), b = sliced(2);
    ck_assert_int_eq(row_of(a), row_of(b));
    uint64_t of_a = task_of(a, 0).gpus, of_b = task_of(b, 0).gpus;
    p[0] = place_of(a, 0, of_b);
    p[1] = place_of(b, 0, of_a);
    tell(host_node(&h, 0), p, 2, 0);
    ck_assert_uint_eq(task_of(a, 0).gpus, of_b);
    ck_assert_uint_eq(task_of(b, 0).gpus, of_a);
    close_places();
}
END_TEST

START_TEST(a_task_on_a_device_of_its_row_is_a_conflict)
{
    open_slicing(1, 4, 1);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = sliced(2), b = sliced(1), all = sliced(4);
    ck_assert_int_eq(row_of(a), row_of(b));
    uint64_t of_a = task_of(a, 0).gpus, of_b = task_of(b, 0).gpus, one = of_a & (~of_a + 1);
    struct gang_reported_place p = place_of(a, 0, one | of_b);
    tell(node, &p, 1, 1); /* not of the job of the other row */
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_TAKEN);
    ck_assert_uint_eq(told[0].job, a);
    ck_assert_uint_eq(told[0].booked_job, b);
    ck_assert_uint_eq(told[0].gpus, of_b);
    ck_assert_uint_eq(task_of(a, 0).gpus, of_a);
    check();
    host_end_job(&h, b); /* no other gang gets it */
    struct gang_group_spec g = group_of(1, 1000, 1000);
    struct gang_job_spec spec = host_job(&g, 1);
    gang_job_id next = host_submit(&h, &spec);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, next), GANG_JOB_PENDING);
    tell(node, &p, 1, 0); /* now it is free: the books follow */
    ck_assert_uint_eq(task_of(a, 0).gpus, one | of_b);
    ck_assert_int_eq(row_of(next), row_of(a));
    ck_assert_uint_eq(task_of(next, 0).gpus & (one | of_b), 0);
    test_assert(!runs(all));
    close_places();
}
END_TEST

/* Gangs of two rows that run beside each other. */
START_TEST(a_task_on_a_device_of_a_gang_that_runs_is_a_conflict)
{
    open_slicing(1, 4, 1);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = sliced(2), c = sliced(2), b = sliced(2);
    uint64_t of_a = task_of(a, 0).gpus, of_b = 15 & ~of_a;
    struct gang_reported_place p = place_of(b, 0, of_b);
    tell(node, &p, 1, 0); /* it is suspended there: its row is its own */
    ck_assert_uint_eq(task_of(b, 0).gpus, of_b);
    host_end_job(&h, c);
    test_assert(runs(a) && runs(b));
    ck_assert_int_ne(row_of(a), row_of(b));
    p = place_of(a, 0, of_b);
    tell(node, &p, 1, 1);
    ck_assert_int_eq(told[0].what, GANG_CONFLICT_TAKEN);
    ck_assert_uint_eq(told[0].booked_job, b);
    ck_assert_uint_eq(task_of(a, 0).gpus, of_a);
    close_places();
}
END_TEST

START_TEST(others_on_a_device_that_rows_share_are_told_with_each_job)
{
    open_slicing(1, 4, 1);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = sliced(2), all = sliced(4);
    uint64_t one = task_of(a, 0).gpus & (~task_of(a, 0).gpus + 1);
    struct gang_reported_place p = place_of(GANG_ID_NONE, 0, one);
    tell(node, &p, 1, 2);
    ck_assert_uint_eq(told[0].booked_job, a);
    ck_assert_uint_eq(told[1].booked_job, all);
    ck_assert_uint_eq(told[0].gpus, one);
    host_end_job(&h, a);
    host_end_job(&h, all);
    ck_assert_uint_eq(free_gpus(node), 15 & ~one);
    report(node, NULL, 0, 0);
    host_run(&h, 1);
    close_free(node);
}
END_TEST

START_TEST(devices_that_gangs_in_rows_do_not_share_are_followed)
{
    open_slicing(1, 4, 0);
    gang_node_id node = host_node(&h, 0);
    gang_job_id a = sliced(1), b = sliced(1);
    uint64_t of_b = task_of(b, 0).gpus, now = 15 & ~(task_of(a, 0).gpus | of_b);
    now &= ~now + 1;
    struct gang_reported_place p = place_of(a, 0, now);
    tell(node, &p, 1, 0);
    ck_assert_uint_eq(task_of(a, 0).gpus, now);
    check();
    p.gpus = of_b;
    tell(node, &p, 1, 1);
    ck_assert_uint_eq(told[0].booked_job, b);
    host_end_job(&h, a);
    host_end_job(&h, b);
    close_free(node);
}
END_TEST

static gang_job_id two_cores(void)
{
    struct gang_group_spec g = group_of(1, 2000, 0);
    struct gang_job_spec spec = host_job(&g, 1);
    gang_job_id job = host_submit(&h, &spec);
    host_run(&h, 1);
    ck_assert_int_gt(row_of(job), 0);
    return job;
}

/* Of a node with more cores than one word of its cell has: also to words of which it had none. */
START_TEST(cores_of_gangs_in_rows_are_followed)
{
    struct box box = {
        .name = "cores", .cpu = 80000, .memory = GIB, .cores = 80, .numas = 2, .gpus = 0};
    gang_node_id node;
    open_slicing(0, 0, 0);
    stage_add(&h.stage, &box);
    host_run(&h, 1);
    MUST(gang_node_find(h.stage.c, "cores", &node));
    gang_job_id a = two_cores(), b = two_cores();
    ck_assert_int_eq(row_of(a), row_of(b));
    struct gang_reported_place p = place_of(a, 0, 0);
    p.any_devices = 1;
    p.any_cores = 0;
    p.cores[1] = UINT64_C(3) << 10; /* 74, 75 */
    tell(node, &p, 1, 0);
    ck_assert_uint_eq(task_of(a, 0).cores[0], 0);
    ck_assert_uint_eq(task_of(a, 0).cores[1], UINT64_C(3) << 10);
    check();
    memcpy(p.cores, task_of(b, 0).cores, sizeof(p.cores));
    tell(node, &p, 1, 1);
    ck_assert_uint_eq(told[0].booked_job, b);
    ck_assert_uint_eq(task_of(a, 0).cores[1], UINT64_C(3) << 10);
    host_end_job(&h, a);
    host_end_job(&h, b);
    ck_assert_int_eq(stage_node(&h.stage, node).cpu_free, 80000);
    close_places();
}
END_TEST

/* Each allocation fails in turn: nothing is half done. */
START_TEST(memory_that_runs_out_delays_a_report_about_rows)
{
    for (long n = 1, failed = 1; failed; n++) {
        struct gang_reported_place p[2];
        open_slicing(1, 4, 1);
        gang_node_id node = host_node(&h, 0);
        gang_job_id a = sliced(2), b = sliced(1);
        uint64_t of_a = task_of(a, 0).gpus, rest = 15 & ~(of_a | task_of(b, 0).gpus);
        uint64_t one = of_a & (~of_a + 1);
        p[0] = place_of(a, 0, (of_a & ~one) | rest);
        p[1] = place_of(b, 0, one);
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        gang_result r = gang_report_places(h.s, node, p, 2, 0);
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        if (r == GANG_ENOMEM)
            MUST(gang_report_places(h.s, node, p, 2, 0));
        h.now_ns++;
        gang_result run = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        ck_assert(run == GANG_OK || run == GANG_ENOMEM);
        failed = h.stage.mem.calls >= n;
        h.stage.mem.fail_at = 0;
        host_check(&h);
        host_run(&h, 1);
        ck_assert_uint_eq(task_of(a, 0).gpus, (of_a & ~one) | rest);
        ck_assert_uint_eq(task_of(b, 0).gpus, one);
        check();
        host_close(&h);
    }
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
    tcase_add_test(tc, a_task_in_a_row_on_a_free_device_of_its_row_is_followed);
    tcase_add_test(tc, tasks_of_a_row_that_changed_places_are_followed);
    tcase_add_test(tc, a_task_on_a_device_of_its_row_is_a_conflict);
    tcase_add_test(tc, a_task_on_a_device_of_a_gang_that_runs_is_a_conflict);
    tcase_add_test(tc, others_on_a_device_that_rows_share_are_told_with_each_job);
    tcase_add_test(tc, devices_that_gangs_in_rows_do_not_share_are_followed);
    tcase_add_test(tc, cores_of_gangs_in_rows_are_followed);
    tcase_add_test(tc, memory_that_runs_out_delays_a_report_about_rows);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
