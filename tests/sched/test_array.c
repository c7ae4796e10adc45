/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: how many jobs of an array run at once (gang_job_spec.array_max_running). */
#include "chance.h"
#include "sched/forecast_host.h"
#include "sched/leaf.h"

static struct host h;

static void setup(void)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    host_open(&h, 1, 4);
    q[0].name = "a";
    q[1].name = "b";
    host_queues(&h, q, 2);
}

static void teardown(void)
{
    host_close(&h);
}

/* A job of an array with at most `most` running. */
static gang_job_id submit(const char *queue, const char *array, int64_t most, int64_t gpus)
{
    struct gang_job_spec *job = host_spec(queue, gpus, gpus, 0);
    job->array = array;
    job->array_max_running = most;
    job->time_limit_ns = 10 * (int64_t)HOST_SECOND;
    return host_submit(&h, job);
}

static int64_t running(const gang_job_id *id, int count)
{
    int64_t tasks = 0;
    for (int i = 0; i < count; i++)
        tasks += host_tasks(&h, id[i]) > 0;
    return tasks;
}

START_TEST(so_many_run_at_once_and_the_end_of_one_starts_the_next)
{
    gang_job_id job[4], other;
    for (int i = 0; i < 4; i++)
        job[i] = submit("a", "sweep", 2, 1);
    other = submit("a", NULL, 0, 1);
    host_run(&h, 0);
    ck_assert_int_eq(running(job, 4), 2);
    ck_assert_int_eq(host_tasks(&h, other), 1); /* it passes those that wait */
    leaf_explain(&h, job[2], 0);
    ck_assert_int_eq(reason.reason, GANG_WAIT_ARRAY);
    ck_assert_int_eq(reason.category, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(reason.used, 2);
    ck_assert_int_eq(reason.limit, 2);
    ck_assert_str_eq(reason_text, "array \"sweep\" lets 2 of its jobs run at a time, 2 do");
    host_end_job(&h, job[0]);
    ck_assert_int_eq(host_tasks(&h, job[2]), 1);
    ck_assert_int_eq(host_tasks(&h, job[3]), 0);
}
END_TEST

START_TEST(the_same_name_in_another_queue_is_another_array)
{
    gang_job_id job[3] = {submit("a", "x", 1, 1), submit("b", "x", 1, 1), submit("a", "y", 1, 1)};
    host_run(&h, 0);
    ck_assert_int_eq(running(job, 3), 3);
}
END_TEST

START_TEST(each_job_is_asked_for_its_own_bound)
{
    gang_job_id job[4];
    for (int i = 0; i < 4; i++)
        job[i] = submit("a", "x", i == 3 ? 0 : 1 + i % 2, 1);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, job[0]), 1);
    ck_assert_int_eq(host_tasks(&h, job[1]), 1);
    ck_assert_int_eq(host_tasks(&h, job[2]), 0); /* its bound is 1 */
    ck_assert_int_eq(host_tasks(&h, job[3]), 1); /* it has none, and does not count */
    host_end_job(&h, job[0]);
    ck_assert_int_eq(host_tasks(&h, job[2]), 0);
    host_end_job(&h, job[1]);
    ck_assert_int_eq(host_tasks(&h, job[2]), 1);
}
END_TEST

START_TEST(a_preempted_job_leaves_its_place_to_the_next_one)
{
    gang_job_id wide = submit("a", "x", 1, 3), narrow = submit("a", "x", 1, 1);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, wide), 3);
    ck_assert_int_eq(host_tasks(&h, narrow), 0);
    gang_job_id high = host_gang(&h, "a", 3, 5);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, high), 3);
    ck_assert_int_eq(host_tasks(&h, narrow), 1);
    host_end_job(&h, high);
    ck_assert_int_eq(host_tasks(&h, wide), 0); /* the array has its job */
    host_end_job(&h, narrow);
    ck_assert_int_eq(host_tasks(&h, wide), 3);
}
END_TEST

START_TEST(a_taker_whose_victims_still_stop_counts)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "a";
    q.grace_ns = HOST_SECOND;
    host_queues(&h, &q, 1);
    h.lingers = true;
    gang_job_id low = host_gang(&h, "a", 3, -1);
    host_run(&h, 0);
    gang_job_id first = submit("a", "x", 1, 2), second = submit("a", "x", 1, 1);
    host_run(&h, 0);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_tasks(&h, second), 0); /* a GPU is free, but `first` is about to start */
    host_run(&h, HOST_SECOND);
    ck_assert_int_eq(host_tasks(&h, first), 2);
    ck_assert_int_eq(host_tasks(&h, second), 0);
}
END_TEST

/* Free GPUs and the end of another job would let `second` start in the copy. */
START_TEST(in_a_copy_it_counts_too)
{
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    gang_cluster *cluster;
    gang_sched *copy;
    q.name = "a";
    q.grace_ns = HOST_SECOND;
    host_queues(&h, &q, 1);
    h.lingers = true;
    gang_job_id other = host_gang(&h, "a", 1, 9);
    (void)host_gang(&h, "a", 3, -1);
    host_run(&h, 0);
    gang_job_id first = submit("a", "x", 1, 2), second = submit("a", "x", 1, 1);
    host_run(&h, 0);
    MUST(gang_sched_copy(h.s, &ops, NULL, &cluster, &copy, NULL));
    MUST(gang_sched_check(copy, NULL));
    MUST(gang_report_end(copy, other, 1));
    for (int i = 0; i < 2; i++) {
        struct gang_job_info info = {.size = sizeof(info)};
        MUST(gang_sched_run(copy, i * (int64_t)HOST_SECOND, NULL, NULL));
        MUST(gang_job_get(copy, second, &info));
        ck_assert_int_eq(info.tasks, 0);
        MUST(gang_job_get(copy, first, &info));
        ck_assert_int_eq(info.tasks, i * 2);
    }
    gang_sched_free(copy);
    gang_cluster_free(cluster);
}
END_TEST

START_TEST(a_forecast_and_a_change_of_queues_keep_the_bound)
{
    struct gang_queue_spec q[3] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT,
                                   GANG_QUEUE_SPEC_INIT};
    gang_job_id job[3];
    for (int i = 0; i < 3; i++)
        job[i] = submit("a", "x", 1, 1);
    host_run(&h, 0);
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_of(f, job[1]), 10 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(start_of(f, job[2]), 20 * (int64_t)HOST_SECOND);
    gang_forecast_free(f);
    q[0].name = "a";
    q[1].name = "b";
    q[2].name = "c";
    q[0].order = GANG_ORDER_FAIR; /* users count from now on: all jobs enter again */
    host_queues(&h, q, 3);
    host_run(&h, 0);
    ck_assert_int_eq(running(job, 3), 1);
    host_end_job(&h, job[0]);
    ck_assert_int_eq(running(job + 1, 2), 1);
}
END_TEST

START_TEST(bounds_without_an_array_and_bad_names_are_refused)
{
    char name[GANG_MAX_NAME + 2];
    gang_job_id id;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_job_spec *job = host_spec("a", 1, 1, 0);
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    job->array_max_running = 1;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_EINVAL, &error, "array_max_running",
                 NULL);
    job->array_max_running = -1;
    EXPECT_RESULT(gang_job_submit(h.s, job, &id, &error), GANG_ERANGE, &error);
    job->array_max_running = 0;
    job->array = name;
    EXPECT_ERROR(gang_job_submit(h.s, job, &id, &error), GANG_EINVAL, &error, "array", NULL);
}
END_TEST

START_TEST(out_of_memory_is_no_loss)
{
    for (long n = 1; n < 40; n++) {
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = 0;
        gang_job_id id = submit("a", "short of memory", 1, 1);
        h.stage.mem.fail_at = h.stage.mem.calls + n;
        gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        for (int run = 0; run < 3 && host_tasks(&h, id) == 0; run++)
            host_run(&h, HOST_SECOND);
        ck_assert_int_eq(host_tasks(&h, id), 1);
        host_end_job(&h, id);
    }
}
END_TEST

/* No more jobs than each array allows, whatever preempts, ends or fails to start. */
START_TEST(random_lives_keep_all_bounds)
{
    enum { JOBS = 120, ARRAYS = 3 };
    static const char *const name[ARRAYS] = {"x", "y", "z"};
    gang_job_id job[JOBS];
    int array[JOBS], jobs = 0;
    chance_state = test_seed() + (uint64_t)_i;
    for (int step = 0; step < 300; step++) {
        if (jobs < JOBS && one_in(2)) {
            struct gang_job_spec *spec = host_spec("a", 1 + below(2), 1, below(3));
            array[jobs] = (int)below(ARRAYS);
            spec->array = name[array[jobs]];
            spec->array_max_running = 1 + array[jobs];
            job[jobs++] = host_submit(&h, spec);
        }
        if (jobs > 0 && one_in(4))
            (void)!gang_job_cancel(h.s, job[index_below((size_t)jobs)]);
        h.lingers = one_in(2);
        host_run(&h, HOST_SECOND);
        int64_t runs[ARRAYS] = {0};
        for (int i = 0; i < jobs; i++) {
            struct gang_job_info info = {.size = sizeof(info)};
            if (gang_job_get(h.s, job[i], &info) == GANG_OK)
                runs[array[i]] += info.tasks > 0;
        }
        for (int i = 0; i < ARRAYS; i++)
            ck_assert_int_le(runs[i], 1 + i);
        h.count = 0;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("array");
    TCase *tests = tcase_create("array");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, so_many_run_at_once_and_the_end_of_one_starts_the_next);
    tcase_add_test(tests, the_same_name_in_another_queue_is_another_array);
    tcase_add_test(tests, each_job_is_asked_for_its_own_bound);
    tcase_add_test(tests, a_preempted_job_leaves_its_place_to_the_next_one);
    tcase_add_test(tests, a_taker_whose_victims_still_stop_counts);
    tcase_add_test(tests, in_a_copy_it_counts_too);
    tcase_add_test(tests, a_forecast_and_a_change_of_queues_keep_the_bound);
    tcase_add_test(tests, bounds_without_an_array_and_bad_names_are_refused);
    tcase_add_test(tests, out_of_memory_is_no_loss);
    tcase_add_loop_test(tests, random_lives_keep_all_bounds, 0, 10);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
