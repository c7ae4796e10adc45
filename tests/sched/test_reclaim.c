/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaim: what a queue may take back from others, judged by the state that results. */
#include "sched/host.h"

static struct host h;

/* One node; queues "a" and "b", "a" with a guarantee and a weight, "b" with the weight 2. */
static void open_two(size_t gpus, int64_t guarantee, double weight)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota of_a = {"gpu", guarantee * 1000, NULL, 0, 0};
    host_open(&h, 1, gpus);
    q[0].name = "a";
    q[0].guaranteed = &of_a;
    q[0].guaranteed_count = 1;
    q[0].weight = weight;
    q[1].name = "b";
    q[1].weight = 2;
    host_queues(&h, q, 2);
}

/* Without "low" the queue would stay inside its share of 3. But "low" still fits when the gang of
 * the other queue has fallen, and would start again: the queue would have 4, the other 0 of 2. */
START_TEST(giving_up_a_job_that_starts_again_entitles_to_nothing)
{
    open_two(5, 0, 2);
    gang_job_id low = host_gang(&h, "a", 1, 0), gang = host_gang(&h, "b", 3, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "a", 3, 5);
    for (int i = 0; i < 3; i++)
        host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, low), 1);
    ck_assert_int_eq(host_tasks(&h, gang), 3);
    ck_assert_int_eq(host_tasks(&h, high), 0);
    ck_assert_int_eq(host_ops(&h, low, "preempt") + host_ops(&h, gang, "preempt"), 0);
    host_close(&h);
}
END_TEST

/* A guarantee is given, even if the job of lower priority then uses what is idle. */
START_TEST(a_guarantee_is_given_to_the_higher_priority)
{
    open_two(5, 3, 0);
    (void)host_gang(&h, "a", 1, 0);
    gang_job_id gang = host_gang(&h, "b", 3, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "a", 3, 5);
    for (int i = 0; i < 3; i++)
        host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, high), 3);
    ck_assert_int_eq(host_tasks(&h, gang), 0);
    host_close(&h);
}
END_TEST

/* A job that is given up for good is no pretext: the jobs of "b" use all that is left. */
START_TEST(a_job_that_does_not_start_again_may_be_given_up)
{
    open_two(5, 0, 2);
    gang_job_id low = host_gang(&h, "a", 1, 0), one[4];
    for (int i = 0; i < 4; i++)
        one[i] = host_gang(&h, "b", 1, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "a", 3, 5);
    for (int i = 0; i < 3; i++)
        host_run(&h, 1);
    int64_t of_b = 0;
    for (int i = 0; i < 4; i++)
        of_b += host_tasks(&h, one[i]);
    ck_assert_int_eq(host_tasks(&h, high), 3);
    ck_assert_int_eq(host_tasks(&h, low), 0);
    ck_assert_int_eq(of_b, 2);
    host_close(&h);
}
END_TEST

/* ---- two kinds ------------------------------------------------------------------------------- */

enum { DRF_JOBS = 10 };

static gang_job_id drf_job[2][DRF_JOBS];

/* The example of the paper on dominant resource fairness: 9 cores and 18 GiB; jobs of "a" take 1
 * core and 4 GiB, jobs of "b" 3 cores and 1 GiB. */
static void drf_open(void)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct box box = {.name = "n0", .cpu = 9000, .memory = 18 * GIB};
    memset(&h, 0, sizeof(h));
    stage_open(&h.stage, NULL, 0);
    stage_add(&h.stage, &box);
    opts.mem = &h.stage.mem.mem;
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL));
    q[0].name = "a";
    q[1].name = "b";
    host_queues(&h, q, 2);
}

static void drf_submit(int queue)
{
    struct gang_group_spec group = group_of(1, queue == 0 ? 1000 : 3000, 0);
    struct gang_job_spec spec = host_job(&group, 1);
    group.memory_bytes = (queue == 0 ? 4 : 1) * GIB;
    spec.queue = queue == 0 ? "a" : "b";
    for (int i = 0; i < DRF_JOBS; i++)
        drf_job[queue][i] = host_submit(&h, &spec);
}

static int64_t drf_running(int queue)
{
    int64_t count = 0;
    for (int i = 0; i < DRF_JOBS; i++)
        count += host_tasks(&h, drf_job[queue][i]);
    return count;
}

/* Whichever comes first, both end with two thirds of the kind that they use most of. */
START_TEST(dominant_shares_are_given_back)
{
    drf_open();
    drf_submit(_i);
    host_run(&h, 1);
    ck_assert_int_eq(drf_running(_i), _i == 0 ? 4 : 3);
    drf_submit(1 - _i);
    for (int i = 0; i < 4; i++)
        host_run(&h, 1);
    ck_assert_int_eq(drf_running(0), 3);
    ck_assert_int_eq(drf_running(1), 2);
    ck_assert_int_eq(host_run_info(&h, 1).tasks_preempted, 0);
    host_close(&h);
}
END_TEST

/* ---- which victims --------------------------------------------------------------------------- */

/* Nodes of so many GPUs, then one with an idle GPU but no core, so that no job runs there. "a" may
 * take back 4 GPUs; "b" has a guarantee, "c" has none. */
static void open_nodes(size_t first, size_t second, int64_t guarantee_of_b)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_queue_spec q[3] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT,
                                   GANG_QUEUE_SPEC_INIT};
    struct gang_quota of_a = {"gpu", 4000, NULL, 0, 0};
    struct gang_quota of_b = {"gpu", guarantee_of_b * 1000, NULL, 0, 0};
    struct gang_quota of_c = {"gpu", 0, NULL, 0, 0};
    struct box box[3] = {{.name = "n0", .cpu = 64000, .memory = GIB, .gpus = first},
                         {.name = "n1", .cpu = 64000, .memory = GIB, .gpus = second},
                         {.name = "n2", .cpu = 0, .memory = GIB, .gpus = 1}};
    memset(&h, 0, sizeof(h));
    stage_open(&h.stage, NULL, 0);
    for (int i = 0; i < 3; i++)
        if (box[i].gpus > 0)
            stage_add(&h.stage, &box[i]);
    opts.mem = &h.stage.mem.mem;
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL));
    q[0].name = "a";
    q[0].guaranteed = &of_a;
    q[1].name = "b";
    q[1].guaranteed = &of_b;
    q[2].name = "c";
    q[2].guaranteed = &of_c;
    q[0].guaranteed_count = q[1].guaranteed_count = q[2].guaranteed_count = 1;
    host_queues(&h, q, 3);
}

/* A job of one task, with so many GPUs, that runs on a node; NULL: it waits, with so many tasks. */
static gang_job_id submit_task(const char *queue, int64_t tasks, int64_t gpus, const char *node)
{
    struct gang_group_spec group = group_of(tasks, 1000, gpus * 1000);
    struct gang_job_spec spec = host_job(&group, 1);
    struct gang_running_spec at = {.node = node};
    spec.queue = queue;
    spec.running = node != NULL;
    spec.places = node ? &at : NULL;
    spec.place_count = node != NULL;
    return host_submit(&h, &spec);
}

/* "b" uses 4 of a guarantee of 1. After its newest job, of 3 GPUs, it is inside the guarantee, and
 * keeps the other one. In the other order it is above its guarantee each time. */
START_TEST(a_giver_gives_in_the_order_that_its_guarantee_allows)
{
    open_nodes(4, 0, 1);
    gang_job_id small = submit_task("b", 1, 1, "n0"), large = submit_task("b", 1, 3, "n0");
    host_run(&h, 1);
    gang_job_id taker = submit_task("a", 1, 4, NULL);
    for (int i = 0; i < 3; i++)
        host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, taker), 1);
    ck_assert_int_eq(host_tasks(&h, small) + host_tasks(&h, large), 0);
    host_close(&h);
}
END_TEST

/* "b" uses 3 of a guarantee of 2, and may give "on_n0" or "on_n1", but not both. Only "on_n0" makes
 * a place on n0. On n1 the job of "c" may go instead. */
START_TEST(a_giver_gives_the_job_that_is_of_use)
{
    open_nodes(2, 3, 2);
    gang_job_id of_c = submit_task("c", 1, 1, "n1"), on_n0 = submit_task("b", 1, 2, "n0");
    gang_job_id on_n1 = submit_task("b", 1, 1, "n1");
    host_run(&h, 1);
    gang_job_id taker = submit_task("a", 2, 2, NULL);
    for (int i = 0; i < 3; i++)
        host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, taker), 2);
    ck_assert_int_eq(host_tasks(&h, on_n0), 0);
    ck_assert_int_eq(host_tasks(&h, on_n1), 1);
    ck_assert_int_eq(host_tasks(&h, of_c), 0);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reclaim");
    TCase *tests = tcase_create("reclaim");
    tcase_add_test(tests, giving_up_a_job_that_starts_again_entitles_to_nothing);
    tcase_add_test(tests, a_guarantee_is_given_to_the_higher_priority);
    tcase_add_test(tests, a_job_that_does_not_start_again_may_be_given_up);
    tcase_add_test(tests, a_giver_gives_in_the_order_that_its_guarantee_allows);
    tcase_add_test(tests, a_giver_gives_the_job_that_is_of_use);
    tcase_add_loop_test(tests, dominant_shares_are_given_back, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
