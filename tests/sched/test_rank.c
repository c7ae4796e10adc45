/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption by rank: by priority between the leaves of a queue (gang_queue_spec.across), and by
 * class (preempt_class, preempts). */
#include "sched/forecast_host.h"

static struct host h;
static struct gang_quota one = {"gpu", 1000, NULL, 0, 0}, two = {"gpu", 2000, NULL, 0, 0};

enum { P, A, B, C, QUEUES };
static struct gang_queue_spec q[QUEUES];

/* A node of four GPUs; queue p with the leaves a and b, and leaf c beside p. */
static void setup(void)
{
    static const char *const name[QUEUES] = {"p", "a", "b", "c"};
    for (int i = 0; i < QUEUES; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = name[i];
    }
    q[A].parent = q[B].parent = "p";
    q[P].across = GANG_ACROSS_LOWER;
    host_open(&h, 1, 4);
}

static void teardown(void)
{
    host_close(&h);
}

static void set_queues(void)
{
    host_queues(&h, q, QUEUES);
}

static void guarantee(int queue, struct gang_quota *amount)
{
    q[queue].guaranteed = amount;
    q[queue].guaranteed_count = 1;
}

static gang_job_id start(const char *in, int64_t gpus, int64_t priority)
{
    gang_job_id id = host_gang(&h, in, gpus, priority);
    host_run(&h, 1);
    return id;
}

static void waits(gang_job_id id)
{
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, id), 0);
}

/* ---- across leaves --------------------------------------------------------------------------- */

START_TEST(a_job_above_its_share_preempts_lower_priority_in_a_sibling_leaf)
{
    set_queues();
    gang_job_id low = start("b", 1, 1), first = start("a", 3, 5), high = start("a", 1, 2);
    ck_assert_int_eq(host_tasks(&h, high), 1);
    ck_assert_int_eq(host_tasks(&h, first), 3);
    ck_assert_int_eq(host_tasks(&h, low), 0);
    ck_assert_int_eq(host_last(&h, low, "preempt")->reason, GANG_REASON_PREEMPT);
    ck_assert_uint_eq(host_last(&h, low, "preempt")->because, high);
    host_run(&h, 1);
    waits(low); /* below its fair share, but not at the expense of a higher priority */
    ck_assert_int_eq(host_ops(&h, high, "preempt"), 0);
}
END_TEST

START_TEST(without_across_it_waits)
{
    q[P].across = GANG_ACROSS_DEFAULT;
    set_queues();
    gang_job_id low = start("b", 1, 1);
    start("a", 3, 5);
    waits(start("a", 1, 2));
    ck_assert_int_eq(host_tasks(&h, low), 1);
}
END_TEST

START_TEST(equal_priorities_are_spared)
{
    set_queues();
    start("b", 1, 2);
    start("a", 3, 5);
    waits(start("a", 1, 2));
}
END_TEST

START_TEST(a_leaf_may_decline_and_a_queue_outside_is_no_rival)
{
    q[A].across = GANG_ACROSS_NEVER;
    set_queues();
    gang_job_id low = start("b", 1, 1), other = start("c", 1, 0);
    start("a", 2, 5);
    waits(start("a", 1, 2));
    gang_job_id high = start("b", 1, 3); /* of its own leaf, not of c */
    ck_assert_int_eq(host_tasks(&h, high), 1);
    ck_assert_int_eq(host_tasks(&h, low), 0);
    ck_assert_int_eq(host_tasks(&h, other), 1);
    gang_job_id higher = start("b", 2, 9); /* and of a, which only declines to take */
    ck_assert_int_eq(host_tasks(&h, higher), 2);
    ck_assert_int_eq(host_tasks(&h, other), 1);
}
END_TEST

START_TEST(the_lowest_priority_of_all_rival_leaves_goes_first)
{
    set_queues();
    gang_job_id own = start("a", 1, 1), lower = start("b", 1, 0), third = start("a", 2, 5);
    gang_job_id high = start("a", 1, 3);
    ck_assert_int_eq(host_tasks(&h, high), 1);
    ck_assert_int_eq(host_tasks(&h, own), 1);
    ck_assert_int_eq(host_tasks(&h, lower), 0);
    ck_assert_int_eq(host_tasks(&h, third), 2);
}
END_TEST

START_TEST(a_job_goes_before_those_that_it_would_preempt)
{
    for (int i = 0; i < QUEUES; i++)
        q[i].reclaim = GANG_PREEMPT_NEVER;
    set_queues();
    start("a", 3, 5);
    gang_job_id other = start("c", 1, 9), low = start("b", 1, 1), high = start("a", 1, 4);
    host_end_job(&h, other);
    ck_assert_int_eq(host_tasks(&h, high), 1);
    ck_assert_int_eq(host_ops(&h, low, "start"), 0); /* though b is below its share, and a above */
}
END_TEST

START_TEST(a_job_inside_its_guarantee_goes_before_higher_priorities)
{
    guarantee(P, &two);
    guarantee(B, &one);
    for (int i = 0; i < QUEUES; i++)
        q[i].reclaim = GANG_PREEMPT_NEVER;
    set_queues();
    start("a", 3, 5);
    gang_job_id other = start("c", 1, 9), low = start("b", 1, 1), high = start("a", 1, 4);
    host_end_job(&h, other);
    ck_assert_int_eq(host_tasks(&h, low), 1);
    ck_assert_int_eq(host_tasks(&h, high), 0);
}
END_TEST

START_TEST(a_guarantee_protects)
{
    guarantee(P, &two);
    guarantee(B, &one);
    set_queues();
    gang_job_id low = start("b", 1, 1), more = start("b", 1, 0);
    start("a", 2, 5);
    gang_job_id high = start("a", 1, 3), last = start("a", 1, 4);
    ck_assert_int_eq(host_tasks(&h, more), 0);
    ck_assert_int_eq(host_tasks(&h, high) + host_tasks(&h, last), 1);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 0);
    waits(high); /* `last` took its place, which cost no job of b more */
    ck_assert_int_eq(host_tasks(&h, low), 1);
}
END_TEST

START_TEST(a_guarantee_takes_back_from_a_higher_rank)
{
    guarantee(P, &two);
    guarantee(B, &one);
    set_queues();
    start("a", 3, 9);
    gang_job_id least = start("a", 1, 8), low = start("b", 1, 1), lower = start("b", 1, 1);
    ck_assert_int_eq(host_tasks(&h, low), 1);
    ck_assert_int_eq(host_tasks(&h, least), 0);
    waits(lower);
    waits(least);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 0);
}
END_TEST

START_TEST(limits_of_all_ancestors_hold)
{
    struct gang_quota three = {"gpu", 3000, NULL, 0, 0};
    q[A].limit = &two;
    q[A].limit_count = 1;
    q[P].limit = &three;
    q[P].limit_count = 1;
    set_queues();
    gang_job_id low = start("b", 1, 1), own = start("a", 2, 5);
    gang_job_id next = start("a", 1, 4);
    waits(next); /* a is at its limit */
    ck_assert_int_eq(host_tasks(&h, low), 1);
    host_end_job(&h, own);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, next), 1);
    gang_job_id more = start("b", 1, 2); /* p is at its limit: one GPU stays free */
    ck_assert_int_eq(host_tasks(&h, more), 1);
    gang_job_id high = start("a", 1, 3);
    ck_assert_int_eq(host_tasks(&h, high), 1);
    ck_assert_int_eq(host_tasks(&h, low), 0);
    ck_assert_int_eq(host_tasks(&h, more), 1);
}
END_TEST

START_TEST(no_gang_stops_without_a_start)
{
    set_queues();
    start("a", 2, 5);
    gang_job_id low[2] = {start("b", 1, 1), start("b", 1, 3)};
    waits(start("a", 2, 2)); /* one of the two is not enough */
    ck_assert_int_eq(host_tasks(&h, low[0]), 1);
    ck_assert_int_eq(host_ops(&h, low[0], "preempt"), 0);
    gang_job_id high = start("a", 2, 4);
    ck_assert_int_eq(host_tasks(&h, high), 2);
}
END_TEST

START_TEST(a_cap_spares_higher_priorities)
{
    q[P].across = GANG_ACROSS_LOWER_CAPPED;
    q[P].across_max_priority = 3;
    set_queues();
    gang_job_id low = start("b", 1, 3), middle = start("b", 1, 4);
    start("a", 2, 20);
    gang_job_id high = start("a", 1, 10), next = start("a", 1, 9);
    ck_assert_int_eq(host_tasks(&h, high), 1);
    ck_assert_int_eq(host_tasks(&h, low), 0);
    ck_assert_int_eq(host_tasks(&h, middle), 1);
    waits(next);
}
END_TEST

START_TEST(below_the_cap_negative_priorities_count_too)
{
    q[P].across = GANG_ACROSS_LOWER_CAPPED;
    q[P].across_max_priority = -5;
    set_queues();
    gang_job_id spared = start("b", 1, -4), low = start("b", 1, -5);
    start("a", 2, 20);
    ck_assert_int_eq(host_tasks(&h, start("a", 1, 10)), 1);
    ck_assert_int_eq(host_tasks(&h, low), 0);
    ck_assert_int_eq(host_tasks(&h, spared), 1);
}
END_TEST

START_TEST(kinds_without_quota_go_by_priority_too)
{
    struct gang_group_spec cores = group_of(8, 1000, 0);
    struct gang_job_spec job = host_job(&cores, 1);
    guarantee(A, &one);
    guarantee(B, &one);
    set_queues();
    job.queue = "b";
    gang_job_id low = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, low), 8);
    job.queue = "a";
    waits(host_submit(&h, &job));
    job.priority = 1;
    gang_job_id high = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, high), 8);
    waits(low);
    ck_assert_int_eq(host_ops(&h, high, "preempt"), 0);
}
END_TEST

START_TEST(an_unlimited_guarantee_takes_nothing_from_a_higher_rank)
{
    struct gang_quota core = {"cpu", 1000, NULL, 0, 0};
    struct gang_group_spec cores = group_of(8, 1000, 0);
    struct gang_job_spec job = host_job(&cores, 1);
    guarantee(A, &one); /* cores are not managed */
    guarantee(B, &core);
    set_queues();
    job.queue = "b";
    job.priority = 5;
    gang_job_id high = host_submit(&h, &job);
    host_run(&h, 1);
    job.queue = "a";
    job.priority = 1;
    waits(host_submit(&h, &job));
    ck_assert_int_eq(host_tasks(&h, high), 8);
}
END_TEST

START_TEST(a_forecast_and_a_change_of_queues_know_ranks)
{
    struct gang_job_spec *job = host_spec("b", 4, 4, 1);
    q[B].min_runtime_ns = 5 * (int64_t)HOST_SECOND;
    set_queues();
    job->time_limit_ns = 10 * (int64_t)HOST_SECOND;
    gang_job_id low = host_submit(&h, job);
    host_run(&h, 0);
    job = host_spec("a", 4, 4, 2);
    job->time_limit_ns = 10 * (int64_t)HOST_SECOND;
    gang_job_id high = host_submit(&h, job);
    host_run(&h, 0);
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_of(f, high), 5 * (int64_t)HOST_SECOND);
    gang_forecast_free(f);
    q[P].across = GANG_ACROSS_NEVER;
    q[A].reclaim = GANG_PREEMPT_NEVER;
    set_queues();
    host_run(&h, 6 * (int64_t)HOST_SECOND);
    waits(high);
    ck_assert_int_eq(host_tasks(&h, low), 4);
    q[P].across = GANG_ACROSS_LOWER;
    set_queues();
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, high), 4);
}
END_TEST

/* ---- classes --------------------------------------------------------------------------------- */

/* Slurm's usual three: a is high, b normal, c scavenger; by class alone. */
static void set_classes(void)
{
    for (int i = P; i < QUEUES; i++)
        q[i].reclaim = GANG_PREEMPT_NEVER;
    q[P].across = GANG_ACROSS_NEVER;
    q[A].preempt_class = "high";
    q[A].preempts = "normal,scavenger";
    q[B].preempt_class = "normal";
    q[B].preempts = "scavenger";
    q[C].preempt_class = "scavenger";
    set_queues();
}

START_TEST(a_class_preempts_the_classes_that_it_lists_whatever_priorities_are)
{
    q[B].within = GANG_PREEMPT_NEVER;
    set_classes();
    gang_job_id scavenger = start("c", 4, 9), normal = start("b", 4, 5);
    ck_assert_int_eq(host_tasks(&h, normal), 4);
    waits(scavenger);
    waits(start("b", 1, 9)); /* its own class is for `within` */
    gang_job_id high = start("a", 4, 0);
    ck_assert_int_eq(host_tasks(&h, high), 4);
    waits(normal);
    waits(scavenger);
    ck_assert_int_eq(host_ops(&h, high, "preempt"), 0);
}
END_TEST

START_TEST(each_class_has_its_mode)
{
    q[B].preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    q[C].preempt_mode = GANG_PREEMPT_MODE_CANCEL;
    set_classes();
    gang_job_id scavenger = start("c", 2, 9), normal = start("b", 2, 5), high = start("a", 4, 0);
    ck_assert_int_eq(host_tasks(&h, high), 4);
    ck_assert_int_eq(host_end(&h, scavenger), GANG_END_PREEMPTED);
    ck_assert_int_eq(host_job_state(&h, normal), GANG_JOB_SUSPENDED);
    host_end_job(&h, high);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, normal), 2);
}
END_TEST

START_TEST(a_class_is_inherited_and_one_class_goes_by_across)
{
    q[P].preempt_class = "jobs";
    q[C].preempt_class = "more";
    q[C].preempts = "jobs";
    set_queues();
    gang_job_id low = start("b", 1, 1);
    start("a", 3, 5);
    ck_assert_int_eq(host_tasks(&h, start("a", 1, 2)), 1); /* both are of class "jobs" */
    ck_assert_int_eq(host_tasks(&h, low), 0);
    ck_assert_int_eq(host_tasks(&h, start("c", 4, 0)), 4);
    q[A].preempt_class = "other";
    set_queues();
    host_run(&h, 1);
    q[C].preempts = NULL;
    set_queues();
}
END_TEST

START_TEST(leaves_of_different_classes_are_no_rivals)
{
    q[A].preempt_class = "x";
    q[B].preempt_class = "y";
    set_queues();
    start("b", 1, 1);
    start("a", 3, 5);
    waits(start("a", 1, 2));
}
END_TEST

static void refused(gang_result code, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_ERROR(gang_sched_set_queues(h.s, q, QUEUES, &error), code, &error, path, NULL);
    for (int i = 0; i < QUEUES; i++) {
        q[i].across = 0;
        q[i].across_max_priority = 0;
        q[i].preempt_class = q[i].preempts = NULL;
    }
}

START_TEST(bad_members_are_refused)
{
    struct gang_queue_spec child = GANG_QUEUE_SPEC_INIT;
    char name[GANG_MAX_NAME + 3];
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    q[P].across = 4;
    refused(GANG_EINVAL, "queues[0].across");
    q[A].across = GANG_ACROSS_LOWER;
    q[A].across_max_priority = 1;
    refused(GANG_EINVAL, "queues[1].across_max_priority");
    q[A].preempts = "x";
    refused(GANG_EINVAL, "queues[1].preempts");
    q[A].preempt_class = "x,y";
    refused(GANG_EINVAL, "queues[1].preempt_class");
    q[A].preempt_class = name;
    refused(GANG_ELIMIT, "queues[1].preempt_class");
    q[A].preempt_class = "x";
    q[A].preempts = name;
    refused(GANG_ELIMIT, "queues[1].preempts");
    q[A].preempt_class = "x";
    q[A].preempts = "y,";
    refused(GANG_EINVAL, "queues[1].preempts");
    q[A].preempt_class = "x";
    q[A].preempts = "y";
    refused(GANG_ENOENT, "queues[1].preempts");
    q[A].preempt_class = q[A].preempts = "x";
    refused(GANG_ECYCLE, "queues[1].preempts");
    q[A].preempt_class = q[B].preempts = "x";
    q[B].preempt_class = q[C].preempts = "y";
    q[C].preempt_class = q[A].preempts = "z";
    refused(GANG_ECYCLE, "queues[3].preempts"); /* by depth: c is at the top */
    child.preempt_class = "z";
    child.preempts = "x";
    q[A].preempt_class = "x";
    q[A].preempts = "z";
    q[C].child = &child;
    refused(GANG_ECYCLE, "queues[3].child.preempts");
}
END_TEST

START_TEST(sixty_four_classes_and_no_more)
{
    enum { MOST = GANG_MAX_PREEMPT_CLASSES };
    static struct gang_queue_spec many[MOST + 1];
    static char name[MOST + 1][16];
    struct gang_error error = GANG_ERROR_INIT;
    for (int i = 0; i <= MOST; i++) {
        many[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        snprintf(name[i], sizeof(name[i]), "q%d", i);
        many[i].name = many[i].preempt_class = name[i];
        many[i].preempts = i > 0 ? name[i - 1] : NULL;
    }
    EXPECT_RESULT(gang_sched_set_queues(h.s, many, MOST, &error), GANG_OK, &error);
    EXPECT_ERROR(gang_sched_set_queues(h.s, many, MOST + 1, &error), GANG_ELIMIT, &error,
                 "queues[64].preempt_class", NULL);
    gang_job_id low = start("q62", 4, 0), high = start("q63", 4, 0);
    ck_assert_int_eq(host_tasks(&h, high), 4);
    waits(low);
}
END_TEST

/* ---- why not --------------------------------------------------------------------------------- */

/* The rule that protects the gangs of a queue from the job. */
static struct gang_preemption_rule rule_of(gang_job_id id, const char *in, char *text)
{
    struct gang_preemption *p;
    struct gang_preemption_rule r = {.rule = GANG_PROTECTED_NOT};
    MUST(gang_job_explain_preemption(h.s, id, &p));
    ck_assert_uint_gt(p->rule_count, 0);
    for (size_t i = 0; i < p->rule_count; i++) {
        const char *at = (const char *)p->rules + i * p->rule_size;
        memcpy(&r, at, sizeof(r));
        snprintf(text, 400, "%s", r.text);
        if (r.queue == host_queue(&h, in).id)
            break;
    }
    ck_assert_uint_eq(r.queue, host_queue(&h, in).id);
    gang_preemption_free(p);
    return r;
}

START_TEST(an_explanation_names_across)
{
    char text[400];
    q[P].across = GANG_ACROSS_LOWER_CAPPED;
    q[P].across_max_priority = 3;
    q[A].within = GANG_PREEMPT_NEVER;
    set_queues();
    start("b", 4, 4);
    gang_job_id high = start("a", 4, 9);
    struct gang_preemption_rule r = rule_of(high, "b", text);
    ck_assert_int_eq(r.rule, GANG_PROTECTED_ACROSS);
    ck_assert_int_eq(r.bound, 4);
    ck_assert_int_eq(r.requested, 4);
    ck_assert_str_eq(text,
                     "1 gang of queue \"b\" (job 1): their priority, 4, is not below 4, and queue "
                     "\"a\" may not reclaim from them");
}
END_TEST

START_TEST(an_explanation_names_a_higher_rank)
{
    char text[400];
    set_queues();
    start("b", 4, 4);
    struct gang_preemption_rule r = rule_of(start("a", 2, 1), "b", text);
    ck_assert_int_eq(r.rule, GANG_PROTECTED_OUTRANKS);
    ck_assert_str_eq(text,
                     "1 gang of queue \"b\" (job 1): they outrank the job, and queue \"a\" may "
                     "only take from them what its guarantee covers");
}
END_TEST

START_TEST(an_explanation_names_the_guarantee_that_protects_from_rank)
{
    char text[400];
    guarantee(P, &two);
    guarantee(B, &two);
    q[A].reclaim = GANG_PREEMPT_NEVER;
    set_queues();
    start("b", 2, 1);
    start("c", 2, 1);
    gang_job_id high = start("a", 2, 9);
    waits(high);
    struct gang_preemption_rule r = rule_of(high, "b", text);
    ck_assert_int_eq(r.rule, GANG_PROTECTED_GUARANTEE);
    ck_assert_int_eq(r.used, 2000);
    ck_assert_int_eq(rule_of(high, "c", text).rule, GANG_PROTECTED_RECLAIM_NEVER);
}
END_TEST

START_TEST(an_explanation_counts_what_ranks_give)
{
    set_queues();
    start("a", 3, 5);
    start("b", 1, 1);
    struct gang_job_spec *job = host_spec("a", 2, 2, 3);
    gang_job_id high = host_submit(&h, job);
    host_run(&h, 1);
    waits(high);
    struct gang_preemption *p;
    MUST(gang_job_explain_preemption(h.s, high, &p));
    ck_assert_int_eq(p->outcome, GANG_PREEMPTION_CAPACITY);
    ck_assert_int_eq(p->takeable, 1);
    gang_preemption_free(p);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rank");
    TCase *tests = tcase_create("rank");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_job_above_its_share_preempts_lower_priority_in_a_sibling_leaf);
    tcase_add_test(tests, without_across_it_waits);
    tcase_add_test(tests, equal_priorities_are_spared);
    tcase_add_test(tests, a_leaf_may_decline_and_a_queue_outside_is_no_rival);
    tcase_add_test(tests, the_lowest_priority_of_all_rival_leaves_goes_first);
    tcase_add_test(tests, a_job_goes_before_those_that_it_would_preempt);
    tcase_add_test(tests, a_job_inside_its_guarantee_goes_before_higher_priorities);
    tcase_add_test(tests, a_guarantee_protects);
    tcase_add_test(tests, a_guarantee_takes_back_from_a_higher_rank);
    tcase_add_test(tests, limits_of_all_ancestors_hold);
    tcase_add_test(tests, no_gang_stops_without_a_start);
    tcase_add_test(tests, a_cap_spares_higher_priorities);
    tcase_add_test(tests, below_the_cap_negative_priorities_count_too);
    tcase_add_test(tests, kinds_without_quota_go_by_priority_too);
    tcase_add_test(tests, an_unlimited_guarantee_takes_nothing_from_a_higher_rank);
    tcase_add_test(tests, a_forecast_and_a_change_of_queues_know_ranks);
    tcase_add_test(tests, a_class_preempts_the_classes_that_it_lists_whatever_priorities_are);
    tcase_add_test(tests, each_class_has_its_mode);
    tcase_add_test(tests, a_class_is_inherited_and_one_class_goes_by_across);
    tcase_add_test(tests, leaves_of_different_classes_are_no_rivals);
    tcase_add_test(tests, bad_members_are_refused);
    tcase_add_test(tests, sixty_four_classes_and_no_more);
    tcase_add_test(tests, an_explanation_names_across);
    tcase_add_test(tests, an_explanation_names_a_higher_rank);
    tcase_add_test(tests, an_explanation_names_the_guarantee_that_protects_from_rank);
    tcase_add_test(tests, an_explanation_counts_what_ranks_give);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
