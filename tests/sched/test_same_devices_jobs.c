/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs with gang_group_spec.same_devices: all their tasks have GPUs of the same numbers when they
 * start, preempt, grow, refill, move and resume. */
#include "chance.h"
#include "sched/host.h"

enum { LOW = 1, HIGH = 2, NODES = 4, GPUS = 4, JOBS = 12, WORLDS = 12, STEPS = 200 };

static struct host h;

static void teardown(void)
{
    host_close(&h);
}

static gang_job_id submit(int64_t count, int64_t min, int64_t gpus, int64_t priority, int32_t loss)
{
    struct gang_group_spec g = group_of(count, 100, gpus * 1000);
    struct gang_job_spec job = host_job(&g, 1);
    g.min = min;
    g.same_devices = 1;
    job.priority = priority;
    job.loss = loss;
    return host_submit(&h, &job);
}

/* The GPUs that each task of the job has. 0: it has none. */
static uint64_t set_of(gang_job_id id)
{
    gang_alloc_id alloc = gang_job_alloc(h.s, id, 0);
    uint64_t set = 0;
    if (alloc == GANG_ID_NONE)
        return 0;
    const struct task_list *list = stage_tasks(&h.stage, alloc);
    for (size_t i = 0; i < list->count; i++) {
        ck_assert(!set || set == list->task[i].gpus);
        set = list->task[i].gpus;
    }
    return set;
}

/* A job of one task on that GPU of that node. */
static gang_job_id job_at(const char *name, int gpu, int64_t priority)
{
    struct gang_group_spec g = group_of(1, 100, 1000);
    struct gang_job_spec job = host_job(&g, 1);
    const char *device = gpu ? "1" : "0";
    struct gang_running_spec at = {.node = name, .devices = &device, .device_count = 1};
    job.running = 1;
    job.places = &at;
    job.place_count = 1;
    job.priority = priority;
    return host_submit(&h, &job);
}

/* GPU 1 is free on one node and GPU 0 on the other: one job moves. */
START_TEST(another_job_moves_for_gpus_of_the_same_number)
{
    host_open(&h, 2, 2);
    gang_job_id a = job_at("n0", 0, LOW), b = job_at("n1", 1, LOW);
    host_run(&h, 1);
    gang_job_id id = submit(2, 2, 1, LOW, GANG_LOSS_FAIL);
    host_run(&h, 1);
    ck_assert_uint_ne(set_of(id), 0);
    ck_assert_int_eq(host_tasks(&h, a) + host_tasks(&h, b), 2);
}
END_TEST

/* One GPU is free, of the number that the job of low priority has on the other node. */
START_TEST(it_preempts_for_gpus_of_the_same_number)
{
    host_open(&h, 2, 2);
    gang_job_id a = job_at("n0", 0, LOW), b = job_at("n1", 1, LOW);
    job_at("n0", 1, HIGH);
    host_run(&h, 1);
    gang_job_id id = submit(2, 2, 1, HIGH, GANG_LOSS_FAIL);
    host_run(&h, 1);
    ck_assert_uint_eq(set_of(id), 1);
    ck_assert_int_eq(host_ops(&h, a, "preempt"), 1);
    ck_assert_int_eq(host_tasks(&h, b), 1);
}
END_TEST

START_TEST(a_task_that_comes_again_has_the_same_numbers)
{
    host_open(&h, 3, 2);
    gang_job_id a = job_at("n0", 0, LOW);
    host_run(&h, 1);
    gang_job_id id = submit(3, 1, 1, LOW, GANG_LOSS_REFILL);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3); /* GPU 1 is free on all nodes, GPU 0 on two */
    ck_assert_uint_eq(set_of(id), 2);
    host_report(&h, id, 1, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    ck_assert_uint_eq(set_of(id), 2);
    host_end_job(&h, a);
}
END_TEST

START_TEST(a_job_that_could_never_start_is_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(3, 100, 1000);
    struct gang_job_spec job = host_job(&g, 1);
    gang_job_id id;
    host_open(&h, 2, 2);
    g.same_devices = 1;
    EXPECT_RESULT(gang_job_submit(h.s, &job, &id, &error), GANG_ENEVER, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_SAME_DEVICES);
}
END_TEST

static void open_world(void)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, NODES, GPUS);
    h.lingers = one_in(2);
    q.name = "default";
    q.grace_ns = HOST_SECOND;
    q.backfill = one_in(2) ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE;
    q.preempt_mode = one_in(3) ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE;
    host_queues(&h, &q, 1);
}

/* One task of the job fails or ends. */
static void end_task(gang_job_id id)
{
    gang_alloc_id alloc = gang_job_alloc(h.s, id, 0);
    if (alloc == GANG_ID_NONE)
        return;
    const struct task_list *list = stage_tasks(&h.stage, alloc);
    if (list->count > 0)
        host_report(&h, id, list->task[index_below(list->count)].task,
                    one_in(2) ? GANG_TASK_FAILED : GANG_TASK_SUCCEEDED);
}

START_TEST(random_jobs_keep_the_same_numbers)
{
    static const int32_t loss[] = {GANG_LOSS_COUNT, GANG_LOSS_REFILL, GANG_LOSS_SHRINK,
                                   GANG_LOSS_RESTART};
    uint64_t seed = test_seed();
    int64_t started = 0;
    for (int world = 0; world < WORLDS; world++) {
        gang_job_id job[JOBS] = {0};
        chance_state = seed + (uint64_t)world;
        open_world();
        for (int step = 0; step < STEPS; step++) {
            size_t i = index_below(JOBS);
            if (!job[i] || !host_has(&h, job[i])) {
                int64_t count = 1 + below(NODES);
                job[i] =
                    submit(count, 1 + below(count), 1 + below(3), below(3), loss[index_below(4)]);
            } else if (one_in(3)) {
                MUST(gang_report_end(h.s, job[i], 1));
            } else {
                end_task(job[i]);
            }
            h.count = 0;
            host_run(&h, one_in(2) ? 1 : 2 * (int64_t)HOST_SECOND);
            for (i = 0; i < JOBS; i++)
                started += job[i] && host_has(&h, job[i]) && set_of(job[i]);
        }
        host_close(&h);
    }
    ck_assert_int_gt(started, WORLDS * STEPS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("same_devices_jobs");
    TCase *t = tcase_create("cases"), *random = tcase_create("random");
    tcase_add_checked_fixture(t, NULL, teardown);
    tcase_add_test(t, another_job_moves_for_gpus_of_the_same_number);
    tcase_add_test(t, it_preempts_for_gpus_of_the_same_number);
    tcase_add_test(t, a_task_that_comes_again_has_the_same_numbers);
    tcase_add_test(t, a_job_that_could_never_start_is_refused);
    suite_add_tcase(suite, t);
    tcase_set_timeout(random, 600);
    tcase_add_test(random, random_jobs_keep_the_same_numbers);
    suite_add_tcase(suite, random);
    return run_suite(suite);
}
