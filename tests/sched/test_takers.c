/* SPDX-License-Identifier: Apache-2.0 */
/* Many jobs that preempt in one run: how often is each tried? Tries are counted
 * (gang_run_info.jobs_tried), not time. bench/cycle.c measures the same (sched_takers). */
#include "sched/host.h"

static struct host h;

enum { NODES = 64, GPUS = 8, ALL = NODES * GPUS, LEAVES = 32 };

static int32_t start(const struct gang_event *e, void *user)
{
    (void)e;
    (void)user;
    return 0;
}

static int32_t stop_at_once(const struct gang_event *e, void *user)
{
    (void)e;
    (void)user;
    return 1;
}

/* Queue "giver" has no guarantee; `leaves` queues have as much of all. The host records nothing. */
static void open_queues(int leaves)
{
    static char name[LEAVES][8];
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_queue_spec q[LEAVES + 1];
    struct gang_quota gpus = {"gpu", ALL / leaves * 1000, NULL, 0, 0};
    ops.start = start;
    ops.preempt = stop_at_once;
    host_open_with(&h, NODES, GPUS, &opts, &ops);
    for (int i = 0; i <= leaves; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = "giver";
        if (i == leaves)
            break;
        snprintf(name[i], sizeof(name[i]), "q%d", i);
        q[i].name = name[i];
        q[i].guaranteed = &gpus;
        q[i].guaranteed_count = 1;
    }
    host_queues(&h, q, (size_t)leaves + 1);
}

static void submit(const char *queue, int64_t memory, int64_t priority)
{
    struct gang_group_spec group = host_gpus(1, 1);
    group.memory_bytes = memory;
    struct gang_job_spec spec = host_job(&group, 1);
    spec.queue = queue;
    spec.priority = priority;
    host_submit(&h, &spec);
}

static struct gang_run_info run(void)
{
    struct gang_run_info info = GANG_RUN_INFO_INIT;
    h.now_ns += HOST_SECOND;
    MUST(gang_sched_run(h.s, h.now_ns, NULL, &info));
    return info;
}

/* One-GPU jobs of the giver hold all GPUs. */
static void fill(void)
{
    for (int64_t i = 0; i < ALL; i++)
        submit("giver", GIB, 0);
    ck_assert_int_eq(run().started, ALL);
}

/* A job for each GPU preempts: in one leaf or in many, alike, with requests of their own, or with
 * priorities of their own. */
START_TEST(takers_that_succeed_are_tried_once)
{
    for (int way = 0; way < 6; way++) {
        int leaves = way % 2 ? LEAVES : 1;
        open_queues(leaves);
        fill();
        for (int64_t i = 0; i < ALL; i++) {
            char queue[8];
            snprintf(queue, sizeof(queue), "q%d", (int)(i % leaves));
            submit(queue, GIB - (way / 2 == 1 ? i * 4096 : 0), way / 2 == 2 ? i : 0);
        }
        struct gang_run_info info = run();
        ck_assert_int_eq(info.started, ALL);
        ck_assert_int_eq(info.tasks_preempted, ALL);
        ck_assert_msg(info.jobs_tried <= ALL + leaves + 1, "way %d: %d tries", way,
                      (int)info.jobs_tried);
        ck_assert_int_eq(run().jobs_tried, 0);
        host_close(&h);
    }
}
END_TEST

/* Half of the takers want more memory than a node has free beside what runs there, each another
 * amount. They go first, or last. What one taker takes of its victim leaves no place for them. */
START_TEST(takers_that_find_no_place_are_not_tried_after_each_start)
{
    enum { EACH = 128 };
    for (int64_t first = 0; first < 2; first++) {
        open_queues(1);
        fill();
        for (int64_t i = 0; i < EACH; i++) {
            submit("q0", GIB - i * 4096, 1 - first);
            submit("q0", 60 * GIB + i * 4096, first);
        }
        struct gang_run_info info = run();
        ck_assert_int_ge(info.started, EACH);
        ck_assert_msg(info.jobs_tried <= 4 * EACH, "%d tries", (int)info.jobs_tried);
        ck_assert_int_eq(run().jobs_tried, 0);
        host_close(&h);
    }
}
END_TEST

/* A gang falls whole, and the taker leaves most of what it held: a job that found no place before
 * starts there in the same run. */
START_TEST(what_a_taker_leaves_is_tried_for)
{
    open_queues(1);
    struct gang_group_spec whole = host_gpus(1, 1);
    whole.gpu_milli = GPUS * 1000;
    for (int i = 0; i < NODES; i++) {
        struct gang_job_spec spec = host_job(&whole, 1);
        spec.queue = "giver";
        host_submit(&h, &spec);
    }
    ck_assert_int_eq(run().started, NODES);
    submit("giver", GIB, 0);
    ck_assert_int_eq(run().started, 0);
    submit("q0", GIB, 0);
    struct gang_run_info info = run();
    ck_assert_int_eq(info.tasks_preempted, 1);
    ck_assert_int_eq(info.started, 2);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("takers");
    TCase *t = tcase_create("takers");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, takers_that_succeed_are_tried_once);
    tcase_add_test(t, takers_that_find_no_place_are_not_tried_after_each_start);
    tcase_add_test(t, what_a_taker_leaves_is_tried_for);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
