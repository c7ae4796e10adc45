/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs requested by memory: a task takes a smaller share of a device with more memory. Running and
 * planned gangs, the usage of queues; the order of requests does not matter. */
#include <limits.h>

#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

/* A node of so many GPUs of so much memory. */
static gang_node_id add(const char *name, size_t gpus, int64_t gib, int32_t state)
{
    struct box box = {.name = name,
                      .cpu = 64000,
                      .memory = 64 * GIB,
                      .gpus = gpus,
                      .gpu_memory = gib * GIB,
                      .state = state};
    return stage_add(&h.stage, &box);
}

/* One queue "q"; no nodes yet. */
static void open_queue(int32_t backfill, int64_t max_gpu_milli)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_quota limit = {"gpu", max_gpu_milli, NULL, 0, 0};
    host_open(&h, 0, 0);
    q.name = "q";
    q.backfill = backfill;
    q.limit = &limit;
    q.limit_count = max_gpu_milli > 0;
    host_queues(&h, &q, 1);
}

static gang_job_id put(struct gang_group_spec g, int64_t limit_s)
{
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "q";
    job.time_limit_ns = limit_s * SECOND;
    return host_submit(&h, &job);
}

/* Tasks that ask for so much memory of one device each. */
static struct gang_group_spec by_memory(int64_t tasks, int64_t gib)
{
    struct gang_group_spec g = group_of(tasks, 0, 0);
    g.gpu_memory_bytes = gib * GIB;
    return g;
}

static gang_job_id run(struct gang_group_spec g, int64_t limit_s)
{
    gang_job_id id = put(g, limit_s);
    host_run(&h, 0);
    return id;
}

static bool runs(gang_job_id id)
{
    return host_job_state(&h, id) == GANG_JOB_RUNNING;
}

static int64_t planned(gang_job_id id)
{
    return host_job_info(&h, id).planned_ns / SECOND;
}

static int64_t used(void)
{
    return host_queue(&h, "q").used[GANG_KIND_GPU];
}

/* ---- the timeline ---------------------------------------------------------------------------- */

/* Whichever of the two comes last. */
START_TEST(the_calendar_books_what_a_running_gang_holds_on_each_node)
{
    open_queue(GANG_BACKFILL_CONSERVATIVE, 0);
    add("a", 4, _i ? 16 : 80, GANG_NODE_UP);
    add("b", 4, _i ? 80 : 16, GANG_NODE_UP);
    struct gang_group_spec g = by_memory(2, 8);
    g.max_per_node = 1;
    gang_job_id two = run(g, 100); /* the audit compares */
    test_assert(runs(two));
    gang_job_id all = run(group_of(8, 0, 1000), 50), most = run(group_of(6, 0, 1000), 100);
    ck_assert_int_eq(planned(all), 100);
    test_assert(runs(most)); /* beside it, until then */
    host_close(&h);
}
END_TEST

START_TEST(a_planned_start_books_the_most_it_may_need_on_each_node)
{
    open_queue(GANG_BACKFILL_CONSERVATIVE, 0);
    add("small", 1, 16, GANG_NODE_UP);
    add("large", 1, 80, GANG_NODE_UP);
    gang_job_id first = run(group_of(2, 0, 1000), 100);
    gang_job_id full = run(by_memory(12, 8), 50); /* two and ten */
    gang_job_id one = run(by_memory(1, 8), 50), large = run(by_memory(1, 40), 50);
    test_assert(runs(first));
    ck_assert_int_eq(planned(full), 100);
    ck_assert_int_eq(planned(one), 150);   /* not beside it */
    ck_assert_int_eq(planned(large), 150); /* on the only node that has so much */
    host_run(&h, 100 * SECOND);
    test_assert(runs(full) && !runs(one) && !runs(large));
    ck_assert_int_eq(host_tasks(&h, full), 12);
    host_run(&h, 50 * SECOND);
    test_assert(runs(one) && runs(large));
    host_close(&h);
}
END_TEST

START_TEST(a_device_of_another_model_does_not_count)
{
    open_queue(GANG_BACKFILL_CONSERVATIVE, 0);
    struct gang_gpu_spec gpu[2] = {GANG_GPU_SPEC_INIT, GANG_GPU_SPEC_INIT};
    struct gang_node_spec node = GANG_NODE_SPEC_INIT;
    const char *models[] = {"new"};
    gang_node_id id;
    gpu[0].model = "old";
    gpu[0].memory_bytes = 16 * GIB;
    gpu[1].model = "new";
    gpu[1].memory_bytes = 80 * GIB;
    node.name = "mixed";
    node.cpu_milli = 64000;
    node.memory_bytes = 64 * GIB;
    node.gpus = gpu;
    node.gpu_count = 2;
    MUST(gang_node_add(h.stage.w, &node, &id, NULL));
    struct gang_group_spec g = by_memory(10, 8);
    (void)run(group_of(2, 0, 1000), 100);
    gang_job_id any = run(g, 50); /* of 1,600 at most, in all, there are 2,000: four of them */
    g.gpu_models = models;
    g.gpu_model_count = 1;
    gang_job_id new = run(g, 50);
    ck_assert_int_eq(planned(any), 0);
    ck_assert_int_eq(planned(new), 100);
    host_close(&h);
}
END_TEST

/* By sums it would take eight devices, if it took them all of the least ones. */
START_TEST(a_gang_backfills_on_nodes_where_it_needs_less_than_its_maximum)
{
    struct gang_group_spec here = group_of(1, 0, 1000);
    open_queue(GANG_BACKFILL_EASY, 0);
    add("small", 1, 16, GANG_NODE_UP);
    add("large", 4, 80, GANG_NODE_UP);
    here.where = "node in (small)";
    (void)run(here, 100);
    gang_job_id head = run(group_of(5, 0, 1000), 50);
    gang_job_id passes = run(by_memory(8, 16), 100), longer = run(by_memory(1, 16), 101);
    ck_assert_int_eq(planned(head), 100);
    test_assert(runs(passes) && !runs(longer));
    host_close(&h);
}
END_TEST

/* ---- queues ---------------------------------------------------------------------------------- */

START_TEST(usage_of_a_queue_does_not_depend_on_the_order_of_submission)
{
    open_queue(GANG_BACKFILL_NONE, 0);
    add("small", 1, 16, GANG_NODE_UP);
    add("large", 1, 80, GANG_NODE_UP);
    (void)run(by_memory(1, _i ? 24 : 8), 0);
    (void)run(by_memory(1, _i ? 8 : 24), 0);
    ck_assert_int_eq(used(), 500 + 300);
    gang_node_id id = add("least", 1, 12, GANG_NODE_DOWN); /* whatever its state */
    host_run(&h, 0);
    ck_assert_int_eq(used(), 667 + 300);
    (void)run(by_memory(1, 12), 0);
    ck_assert_int_eq(used(), 667 + 300 + 1000);
    MUST(gang_node_remove(h.stage.w, id));
    host_run(&h, 0);
    ck_assert_int_eq(used(), 500 + 300 + 750);
    host_close(&h);
}
END_TEST

/* Queues that change in nothing that is counted change nothing of that. */
START_TEST(usage_of_a_queue_follows_its_devices_after_a_node_change)
{
    gang_queue_id q;
    open_queue(GANG_BACKFILL_NONE, 0);
    add("small", 1, 16, GANG_NODE_UP);
    (void)run(by_memory(1, 8), 0);
    gang_job_id waits = run(by_memory(1, 10), 0);
    ck_assert_int_eq(used(), 500);
    MUST(gang_queue_find(h.s, "q", &q));
    MUST(gang_queue_set_state(h.s, q, GANG_QUEUE_DRAINING));
    add("large", 1, 80, GANG_NODE_UP);
    gang_node_id id = add("least", 1, 12, GANG_NODE_DOWN);
    host_run(&h, 0);
    test_assert(runs(waits));
    ck_assert_int_eq(used(), 667 + 834);
    MUST(gang_queue_set_state(h.s, q, GANG_QUEUE_OPEN));
    MUST(gang_node_remove(h.stage.w, id));
    host_run(&h, 0);
    ck_assert_int_eq(used(), 500 + 625);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_that_a_limit_refused_starts_once_it_needs_less)
{
    open_queue(GANG_BACKFILL_NONE, 600);
    gang_node_id small = add("small", 1, 16, GANG_NODE_DRAINING);
    add("large", 1, 80, GANG_NODE_UP);
    gang_job_id a = run(by_memory(1, 8), 0), b = run(by_memory(1, 8), 0);
    test_assert(runs(a) && !runs(b));
    ck_assert_int_eq(used(), 500);
    MUST(gang_node_remove(h.stage.w, small));
    host_run(&h, 0);
    test_assert(runs(b));
    ck_assert_int_eq(used(), 200);
    add("small", 1, 16,
        GANG_NODE_UP); /* it is more than the limit now: nothing is taken from them */
    gang_job_id c = run(by_memory(1, 8), 0);
    test_assert(runs(a) && runs(b) && !runs(c));
    ck_assert_int_eq(used(), 1000);
    host_close(&h);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

/* The n-th allocation fails. Returns how many there were. */
static long run_short(long n)
{
    long before = h.stage.mem.calls;
    h.stage.mem.fail_at = before + n;
    gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
    ck_assert(r == GANG_OK || r == GANG_ENOMEM);
    h.stage.mem.fail_at = 0;
    long calls = h.stage.mem.calls - before;
    host_check(&h);
    for (int i = 0; i < 3; i++) /* what memory was short for is tried again */
        host_run(&h, 1);
    return calls;
}

/* In the first run (_i: 0), or in the run after the devices changed. */
START_TEST(each_allocation_may_fail)
{
    long calls = LONG_MAX;
    for (long n = 1; n <= calls; n++) {
        open_queue(GANG_BACKFILL_CONSERVATIVE, 0);
        add("small", 1, 16, GANG_NODE_UP);
        add("large", 1, 80, GANG_NODE_UP);
        gang_job_id first = put(group_of(1, 0, 1000), 100), second = put(by_memory(3, 8), 100);
        calls = _i == 0 ? run_short(n) : calls;
        host_run(&h, 1);
        add("least", 1, 12, GANG_NODE_DRAINING);
        gang_job_id third = put(by_memory(12, 8), 50);
        calls = _i == 1 ? run_short(n) : calls;
        host_run(&h, 1);
        /* the first job may have been late and find no whole device */
        test_assert(runs(second) && (runs(first) || _i == 0));
        ck_assert_int_eq(used(), 1000 * runs(first) + 3 * 667);
        ck_assert_msg(planned(third) == (runs(first) ? 100 : 200), "%ld of %ld: %" PRId64, n, calls,
                      planned(third));
        host_close(&h);
    }
    ck_assert_int_ge(calls, _i == 0 ? 10 : 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gpu_memory");
    TCase *t = tcase_create("gpu_memory");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, the_calendar_books_what_a_running_gang_holds_on_each_node, 0, 2);
    tcase_add_test(t, a_planned_start_books_the_most_it_may_need_on_each_node);
    tcase_add_test(t, a_device_of_another_model_does_not_count);
    tcase_add_test(t, a_gang_backfills_on_nodes_where_it_needs_less_than_its_maximum);
    tcase_add_loop_test(t, usage_of_a_queue_does_not_depend_on_the_order_of_submission, 0, 2);
    tcase_add_test(t, usage_of_a_queue_follows_its_devices_after_a_node_change);
    tcase_add_test(t, a_gang_that_a_limit_refused_starts_once_it_needs_less);
    tcase_add_loop_test(t, each_allocation_may_fail, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
