/* SPDX-License-Identifier: Apache-2.0 */
/* Non-preemptible work above a guarantee (gang_queue_spec.nonpreemptible): where it starts, what
 * others lose by it, which gangs it preempts, and which of its demand counts. */
#include "sched/gpu_queues.h"
#include "sched/leaf.h"

static struct host h;

/* Two nodes of four GPUs. */
static void setup(void)
{
    queues = quotas = 0;
    host_open(&h, 2, 4);
}

static void teardown(void)
{
    host_close(&h);
}

/* Guarantee and limit in GPUs (negative: none), and GANG_NONPREEMPTIBLE_*. */
static struct gang_queue_spec *add_queue(const char *name, const char *parent, int64_t guarantee,
                                         int64_t limit, int32_t nonpreemptible)
{
    struct gang_queue_spec *q = add_gpu_queue(name, parent, guarantee, limit);
    q->nonpreemptible = nonpreemptible;
    return q;
}

/* A job of one GPU a task that is not preemptible. */
static gang_job_id submit_fixed(const char *name, int64_t count, int64_t min)
{
    struct gang_job_spec *job = host_spec(name, count, min, 0);
    job->preemptible = GANG_NOT_PREEMPTIBLE;
    return host_submit(&h, job);
}

static gang_job_id start_fixed(const char *name, int64_t tasks)
{
    gang_job_id id = submit_fixed(name, tasks, tasks);
    host_run(&h, 1);
    return id;
}

static gang_job_id start(const char *name, int64_t tasks)
{
    gang_job_id id = host_gang(&h, name, tasks, 0);
    host_run(&h, 1);
    return id;
}

/* The job waits, first of all for this reason, because of this queue (NULL: of none). */
static void waits(gang_job_id id, int32_t why, const char *because)
{
    ck_assert_int_eq(host_tasks(&h, id), 0);
    leaf_explain(&h, id, 0);
    ck_assert_int_eq(reason.reason, why);
    if (because)
        ck_assert_uint_eq(reason.queue, host_queue(&h, because).id);
}

static int32_t outcome_of(gang_job_id id)
{
    struct gang_preemption *answer;
    MUST(gang_job_explain_preemption(h.s, id, &answer));
    int32_t outcome = answer->outcome;
    ck_assert_str_eq(answer->moves_text, "");
    ck_assert_str_ne(answer->text, "");
    gang_preemption_free(answer);
    return outcome;
}

START_TEST(the_guarantee_bounds_it_unless_the_queue_says_otherwise)
{
    add_queue("a", NULL, 2, 6, GANG_NONPREEMPTIBLE_DEFAULT);
    add_queue("b", NULL, 2, 6, GANG_NONPREEMPTIBLE_GUARANTEED);
    add_queue("c", NULL, 2, 6, GANG_NONPREEMPTIBLE_LIMIT);
    host_queues(&h, queue, queues);
    waits(start_fixed("a", 3), GANG_WAIT_GUARANTEE, "a");
    waits(start_fixed("b", 3), GANG_WAIT_GUARANTEE, "b");
    gang_job_id elastic = submit_fixed("c", 8, 4);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, elastic), 6);
    ck_assert_int_eq(host_queue(&h, "c").used_nonpreemptible[GANG_KIND_GPU], 6000);
    waits(start_fixed("c", 1), GANG_WAIT_LIMIT, "c");
}
END_TEST

START_TEST(each_queue_on_the_path_bounds_by_its_own_setting)
{
    add_queue("root", NULL, 4, 7, GANG_NONPREEMPTIBLE_GUARANTEED);
    add_queue("a", "root", 1, -1, GANG_NONPREEMPTIBLE_LIMIT);
    add_queue("top", NULL, 1, 3, GANG_NONPREEMPTIBLE_LIMIT);
    add_queue("b", "top", 1, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    host_queues(&h, queue, queues);
    gang_job_id first = start_fixed("a", 4);
    ck_assert_int_eq(host_tasks(&h, first), 4);
    waits(start_fixed("a", 1), GANG_WAIT_GUARANTEE, "root");
    gang_job_id inherits = start_fixed("b", 3);
    ck_assert_int_eq(host_tasks(&h, inherits), 3);
    waits(start_fixed("b", 1), GANG_WAIT_LIMIT, "top");
    queue[3].nonpreemptible = GANG_NONPREEMPTIBLE_GUARANTEED;
    host_queues(&h, queue, queues);
    host_end_job(&h, inherits);
    waits(start_fixed("b", 2), GANG_WAIT_GUARANTEE, "b");
}
END_TEST

START_TEST(a_queue_made_on_demand_has_the_setting_of_its_template)
{
    struct gang_queue_spec child = GANG_QUEUE_SPEC_INIT;
    child.guaranteed = gpus(1);
    child.guaranteed_count = 1;
    child.nonpreemptible = GANG_NONPREEMPTIBLE_LIMIT;
    add_queue("a", NULL, 4, -1, GANG_NONPREEMPTIBLE_DEFAULT)->child = &child;
    host_queues(&h, queue, queues);
    ck_assert_int_eq(host_tasks(&h, start_fixed("a.x", 3)), 3);
    waits(start_fixed("a.x", 2), GANG_WAIT_GUARANTEE, "a");
}
END_TEST

/* c has all that is idle for good; a gets its guarantee back only when c's work ends. */
START_TEST(others_cannot_reclaim_what_it_holds)
{
    add_queue("a", NULL, 4, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    add_queue("c", NULL, 0, -1, GANG_NONPREEMPTIBLE_LIMIT);
    host_queues(&h, queue, queues);
    gang_job_id wide = start_fixed("c", 6), lent = start("c", 2), owed = start("a", 4);
    ck_assert_int_eq(host_ops(&h, wide, "preempt"), 0);
    ck_assert_int_eq(host_tasks(&h, wide), 6);
    ck_assert_int_eq(host_tasks(&h, lent), 2); /* what can be reclaimed is too little */
    ck_assert_int_eq(host_tasks(&h, owed), 0);
    gang_job_id small = start("a", 2);
    ck_assert_int_eq(host_ops(&h, lent, "preempt"), 1);
    ck_assert_int_eq(host_tasks(&h, small), 2);
    ck_assert_int_eq(host_queue(&h, "a").share[GANG_KIND_GPU], 6000); /* as if all could be */
    host_end_job(&h, wide);
    ck_assert_int_eq(host_tasks(&h, owed), 4);
}
END_TEST

START_TEST(a_lending_limit_keeps_capacity_from_it)
{
    struct gang_queue_spec *a = add_queue("a", NULL, 4, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    add_queue("c", NULL, 0, -1, GANG_NONPREEMPTIBLE_LIMIT);
    a->lending_limit = gpus(1);
    a->lending_limit_count = 1;
    host_queues(&h, queue, queues);
    ck_assert_int_eq(host_tasks(&h, start_fixed("c", 5)), 5);
    waits(start_fixed("c", 1), GANG_WAIT_LENDING, "a");
    ck_assert_int_eq(host_tasks(&h, start("a", 3)), 3);
}
END_TEST

/* The same gang reclaims inside the guarantee, and waits for free capacity above it. */
START_TEST(above_the_guarantee_it_starts_on_free_capacity_alone)
{
    add_queue("a", NULL, 2, -1, GANG_NONPREEMPTIBLE_LIMIT);
    add_queue("b", NULL, 0, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    host_queues(&h, queue, queues);
    gang_job_id other[8];
    for (int i = 0; i < 8; i++)
        other[i] = start("b", 1);
    gang_job_id inside = start_fixed("a", 2);
    ck_assert_int_eq(host_tasks(&h, inside), 2);
    ck_assert_int_eq(host_tasks(&h, other[7]), 0);
    gang_job_id above = start_fixed("a", 1);
    waits(above, GANG_WAIT_CAPACITY, NULL);
    ck_assert_int_eq(outcome_of(above), GANG_PREEMPTION_ABOVE_GUARANTEE);
    gang_job_id shared = start("a", 1); /* the share of a is 3 or more */
    ck_assert_int_eq(host_tasks(&h, shared), 1);
    ck_assert_int_eq(host_tasks(&h, above), 0);
    MUST(gang_job_cancel(h.s, other[6]));
    MUST(gang_job_cancel(h.s, other[7]));
    MUST(gang_job_cancel(h.s, other[5]));
    host_end_job(&h, other[0]);
    ck_assert_int_eq(host_tasks(&h, above), 1);
}
END_TEST

/* In the leaf too: the higher priority preempts only as far as the guarantee reaches. */
START_TEST(above_the_guarantee_priority_preempts_nothing)
{
    add_queue("a", NULL, 3, -1, GANG_NONPREEMPTIBLE_LIMIT);
    host_queues(&h, queue, queues);
    gang_job_id low[2] = {start("a", 4), start("a", 4)};
    struct gang_job_spec *job = host_spec("a", 3, 3, 5);
    job->preemptible = GANG_SEMI_PREEMPTIBLE;
    gang_job_id first = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, first), 3);
    job = host_spec("a", 4, 1, 6); /* fits into the gap but for its growth */
    job->preemptible = GANG_SEMI_PREEMPTIBLE;
    gang_job_id gap = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, gap), 4); /* growth above the minimum is preemptible */
    ck_assert_int_eq(host_tasks(&h, low[0]) + host_tasks(&h, low[1]), 0);
}
END_TEST

/* Nor does rank between leaves, by which a preemptible job of the same priority preempts. */
START_TEST(above_the_guarantee_rank_preempts_nothing)
{
    add_queue("root", NULL, -1, -1, GANG_NONPREEMPTIBLE_DEFAULT)->across = GANG_ACROSS_LOWER;
    add_queue("a", "root", 0, -1, GANG_NONPREEMPTIBLE_LIMIT);
    add_queue("b", "root", 0, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    queue[0].guaranteed = gpus(0);
    queue[0].guaranteed_count = 1;
    queue[0].nonpreemptible = GANG_NONPREEMPTIBLE_LIMIT;
    host_queues(&h, queue, queues);
    gang_job_id low[2] = {start("b", 4), start("b", 4)};
    struct gang_job_spec *job = host_spec("a", 4, 4, 5);
    job->preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id waiting = host_submit(&h, job);
    host_run(&h, 1);
    waits(waiting, GANG_WAIT_CAPACITY, NULL);
    ck_assert_int_eq(outcome_of(waiting), GANG_PREEMPTION_ABOVE_GUARANTEE);
    gang_job_id takes = host_gang(&h, "a", 4, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, takes), 4);
    ck_assert_int_eq(host_tasks(&h, low[0]) + host_tasks(&h, low[1]), 4);
    ck_assert_int_eq(host_tasks(&h, waiting), 0);
}
END_TEST

START_TEST(a_move_is_made_inside_the_guarantee_alone)
{
    add_queue("a", NULL, 8, -1, GANG_NONPREEMPTIBLE_LIMIT);
    host_queues(&h, queue, queues);
    struct gang_group_spec group = group_of(1, 1000, 4000);
    gang_job_id small[4];
    for (int i = 0; i < 4; i++)
        small[i] = start("a", 2); /* two on each node */
    MUST(gang_report_end(h.s, small[0], 1));
    host_end_job(&h, small[3]);
    struct gang_job_spec job = host_job(&group, 1);
    job.queue = "a";
    job.preemptible = GANG_NOT_PREEMPTIBLE;
    queue[0].guaranteed = gpus(3);
    host_queues(&h, queue, queues);
    gang_job_id whole = host_submit(&h, &job);
    host_run(&h, 1);
    waits(whole, GANG_WAIT_CAPACITY, NULL);
    ck_assert_int_eq(outcome_of(whole), GANG_PREEMPTION_ABOVE_GUARANTEE);
    queue[0].guaranteed = gpus(4);
    host_queues(&h, queue, queues);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, whole), 1);
}
END_TEST

START_TEST(a_new_setting_holds_from_the_next_start_on)
{
    add_queue("a", NULL, 2, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    host_queues(&h, queue, queues);
    gang_job_id id = start_fixed("a", 3);
    waits(id, GANG_WAIT_GUARANTEE, "a");
    struct gang_error error = GANG_ERROR_INIT;
    queue[0].nonpreemptible = GANG_NONPREEMPTIBLE_LIMIT;
    EXPECT_RESULT(gang_queue_change(h.s, &queue[0], &error), GANG_OK, &error);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    queue[0].nonpreemptible = GANG_NONPREEMPTIBLE_DEFAULT;
    EXPECT_RESULT(gang_queue_change(h.s, &queue[0], &error), GANG_OK, &error);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 3);
    waits(start_fixed("a", 1), GANG_WAIT_GUARANTEE, "a");
}
END_TEST

/* ---- demand ---------------------------------------------------------------------------------- */

static void demands(const char *name, int64_t demand, int64_t share)
{
    struct gang_queue_info info = host_queue(&h, name);
    ck_assert_int_eq(info.demand[GANG_KIND_GPU], demand * 1000);
    ck_assert_int_eq(info.share[GANG_KIND_GPU], share * 1000);
}

START_TEST(its_demand_counts_up_to_the_limit)
{
    add_queue("a", NULL, 2, 6, GANG_NONPREEMPTIBLE_LIMIT);
    add_queue("b", NULL, 0, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    host_queues(&h, queue, queues);
    for (int i = 0; i < 8; i++)
        host_gang(&h, "b", 1, 0);
    submit_fixed("a", 4, 4);
    submit_fixed("a", 4, 4);
    submit_fixed("b", 4, 4); /* never: nothing is guaranteed there */
    host_run(&h, 1);
    demands("a", 6, 5);
    demands("b", 8, 3);
}
END_TEST

START_TEST(a_guarantee_above_withholds_it)
{
    add_queue("root", NULL, 3, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    add_queue("a", "root", 0, -1, GANG_NONPREEMPTIBLE_LIMIT);
    add_queue("b", "root", 0, 2, GANG_NONPREEMPTIBLE_LIMIT);
    host_queues(&h, queue, queues);
    submit_fixed("a", 1, 1);
    submit_fixed("a", 8, 4); /* never */
    submit_fixed("b", 8, 1);
    host_run(&h, 1);
    demands("a", 1, 1);
    demands("b", 2, 2);
    demands("root", 3, 3);
}
END_TEST

/* The child's work is at its limit, so none of its waiting demand counts above; the guarantee of
 * the parent must not withhold that demand again. */
START_TEST(demand_beyond_a_limit_is_withheld_once)
{
    add_queue("root", NULL, 2, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    add_queue("a", "root", 2, 3, GANG_NONPREEMPTIBLE_DEFAULT);
    add_queue("b", "root", 0, -1, GANG_NONPREEMPTIBLE_DEFAULT);
    host_queues(&h, queue, queues);
    start("a", 3);
    submit_fixed("a", 2, 1);
    queue[0].guaranteed = gpus(1);
    queue[1].guaranteed = gpus(2);
    host_queues(&h, queue, queues);
    host_run(&h, 1);
    demands("a", 3, 3);
    demands("root", 3, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nonpreemptible");
    TCase *t = tcase_create("nonpreemptible");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, the_guarantee_bounds_it_unless_the_queue_says_otherwise);
    tcase_add_test(t, each_queue_on_the_path_bounds_by_its_own_setting);
    tcase_add_test(t, a_queue_made_on_demand_has_the_setting_of_its_template);
    tcase_add_test(t, others_cannot_reclaim_what_it_holds);
    tcase_add_test(t, a_lending_limit_keeps_capacity_from_it);
    tcase_add_test(t, above_the_guarantee_it_starts_on_free_capacity_alone);
    tcase_add_test(t, above_the_guarantee_priority_preempts_nothing);
    tcase_add_test(t, above_the_guarantee_rank_preempts_nothing);
    tcase_add_test(t, a_move_is_made_inside_the_guarantee_alone);
    tcase_add_test(t, a_new_setting_holds_from_the_next_start_on);
    tcase_add_test(t, its_demand_counts_up_to_the_limit);
    tcase_add_test(t, a_guarantee_above_withholds_it);
    tcase_add_test(t, demand_beyond_a_limit_is_withheld_once);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
