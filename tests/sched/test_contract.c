/* SPDX-License-Identifier: Apache-2.0 */
/* What a host may do to the cluster of a scheduler, and what becomes of its jobs then. */
#include "sched/host.h"

enum { GRACE = 60 };

static struct host h;

static void setup(void)
{
    host_open(&h, 2, 4);
}

static void teardown(void)
{
    host_close(&h);
}

/* ---- allocations of jobs belong to the scheduler --------------------------------------------- */

/* No worker of the host changes the allocation, and nothing is lost by the attempts. */
static void try_to_change(gang_worker *w, gang_alloc_id alloc, int64_t tasks)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    int64_t first = 0, granted = 7;
    ck_assert_int_eq(gang_alloc_free(w, alloc), GANG_EBUSY);
    ck_assert_int_eq(gang_alloc_shrink(w, alloc, &first, 1, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_alloc_grow(w, alloc, 0, 1, &granted, NULL), GANG_EBUSY);
    ck_assert_int_eq(granted, 0);
    MUST(gang_alloc_get(gang_worker_cluster(w), alloc, &info));
    ck_assert_int_eq(info.tasks, tasks);
}

START_TEST(no_host_frees_or_changes_the_allocation_of_a_job)
{
    gang_job_id job = host_submit(&h, host_spec(NULL, 6, 2, 0));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, job), 6);
    gang_alloc_id alloc = gang_job_alloc(h.s, job, 0);
    try_to_change(h.stage.w, alloc, 6);
    host_report(&h, job, 0, GANG_TASK_SUCCEEDED); /* the scheduler itself changes it */
    host_run(&h, 0);
    try_to_change(h.stage.w, alloc, 5);
    host_end_job(&h, job);
    ck_assert_int_eq(host_end(&h, job), GANG_END_SUCCESS);
    ck_assert_int_eq(gang_alloc_free(h.stage.w, alloc), GANG_ESTALE);
    ck_assert_int_eq(host_gpus_free(&h), 8);
}
END_TEST

START_TEST(allocations_of_the_host_stay_its_own)
{
    struct gang_group_spec g = host_gpus(2, 1);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&h.stage, &spec);
    gang_alloc_id own;
    gang_job_id job = host_gang(&h, NULL, 4, 0);
    MUST(gang_alloc(h.stage.w, request, &own, NULL));
    host_run(&h, 0);
    MUST(gang_alloc_grow(h.stage.w, own, 0, 1, NULL, NULL));
    MUST(gang_alloc_free(h.stage.w, own));
    host_end_job(&h, job);
    MUST(gang_alloc(h.stage.w, request, &own, NULL)); /* in a record that the job had */
    MUST(gang_alloc_free(h.stage.w, own));
    gang_request_free(request);
}
END_TEST

/* What victims hold until the preemptor gets it is no more the host's. */
START_TEST(places_of_stopping_tasks_are_kept_too)
{
    struct gang_queue_spec q = host_default_queue(GRACE);
    host_queues(&h, &q, 1);
    h.lingers = true;
    gang_job_id low = host_gang(&h, NULL, 8, 0);
    host_run(&h, 0);
    gang_alloc_id alloc = gang_job_alloc(h.s, low, 0);
    gang_job_id high = host_gang(&h, NULL, 8, 5);
    host_run(&h, 0);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(gang_alloc_free(h.stage.w, alloc), GANG_EBUSY);
    host_run(&h, GRACE);
    ck_assert_int_eq(host_tasks(&h, high), 8);
}
END_TEST

START_TEST(a_copy_keeps_what_its_original_keeps)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_group_spec g = host_gpus(2, 2);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&h.stage, &spec);
    gang_alloc_id own;
    gang_cluster *cluster;
    gang_sched *copy;
    gang_worker *w;
    MUST(gang_alloc(h.stage.w, request, &own, NULL));
    gang_job_id job = host_gang(&h, NULL, 4, 0);
    host_run(&h, 0);
    MUST(gang_sched_copy(h.s, &ops, NULL, &cluster, &copy, NULL));
    MUST(gang_worker_new(cluster, &w));
    try_to_change(w, gang_job_alloc(copy, job, 0), 4);
    MUST(gang_alloc_free(w, own));
    MUST(gang_report_end(copy, job, 1));
    MUST(gang_sched_run(copy, h.now_ns, NULL, NULL));
    MUST(gang_sched_check(copy, NULL));
    ck_assert_uint_eq(gang_alloc_next(cluster, GANG_ID_NONE), GANG_ID_NONE);
    gang_worker_free(w);
    gang_sched_free(copy);
    gang_cluster_free(cluster);
    MUST(gang_alloc_free(h.stage.w, own));
    gang_request_free(request);
}
END_TEST

/* Two schedulers on one cluster: neither changes what the other holds; nothing is left behind. */
START_TEST(the_end_of_a_scheduler_frees_what_it_kept)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_job_spec *spec = host_spec("default", 4, 4, 0);
    gang_sched *other;
    gang_job_id job;
    MUST(gang_sched_new(h.stage.c, &opts, NULL, NULL, &other, NULL));
    MUST(gang_job_submit(other, spec, &job, NULL));
    MUST(gang_sched_run(other, 0, NULL, NULL));
    ck_assert_int_eq(gang_alloc_free(h.stage.w, gang_job_alloc(other, job, 0)), GANG_EBUSY);
    ck_assert_int_eq(host_gpus_free(&h), 4);
    gang_sched_free(other);
    ck_assert_int_eq(host_gpus_free(&h), 8);
    host_end_job(&h, host_gang(&h, NULL, 8, 0));
}
END_TEST

static void add_allocations(Suite *suite)
{
    TCase *tests = tcase_create("allocations");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, no_host_frees_or_changes_the_allocation_of_a_job);
    tcase_add_test(tests, allocations_of_the_host_stay_its_own);
    tcase_add_test(tests, places_of_stopping_tasks_are_kept_too);
    tcase_add_test(tests, a_copy_keeps_what_its_original_keeps);
    tcase_add_test(tests, the_end_of_a_scheduler_frees_what_it_kept);
    suite_add_tcase(suite, tests);
}

int main(void)
{
    Suite *suite = suite_create("contract");
    add_allocations(suite);
    return run_suite(suite);
}
