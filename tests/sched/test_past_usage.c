/* SPDX-License-Identifier: Apache-2.0 */
/* Past usage that a host keeps (gang_past_usage_each()) and gives to a scheduler that is made anew
 * (gang_past_usage_restore()). */
#include "sched/leaf.h"

#define SECOND ((int64_t)HOST_SECOND)

enum { RECORDS = 32 };

static struct host h;

/* What the host keeps. */
static struct gang_past_usage kept[RECORDS];
static char text[RECORDS][4][32];
static size_t kept_count;

static const char *keep_text(size_t i, const char *from)
{
    if (!from)
        return NULL;
    snprintf(text[kept_count][i], sizeof(text[0][0]), "%s", from);
    return text[kept_count][i];
}

static int32_t keep(const struct gang_past_usage *usage, void *user)
{
    struct gang_past_usage *to = &kept[kept_count];
    (void)user;
    ck_assert_uint_lt(kept_count, RECORDS);
    *to = *usage;
    to->queue = keep_text(0, usage->queue);
    to->user = keep_text(1, usage->user);
    to->kind = keep_text(2, usage->kind);
    to->partition = keep_text(3, usage->partition);
    kept_count++;
    return 0;
}

static void keep_all(void)
{
    kept_count = 0;
    MUST(gang_past_usage_each(h.s, keep, NULL));
}

static bool is_text(const char *text_of, const char *wanted)
{
    return !wanted || (text_of && strcmp(text_of, wanted) == 0);
}

static const struct gang_past_usage *record_of(int32_t what, const char *queue, const char *user)
{
    const char *kind = what == GANG_PAST_USAGE_USER ? NULL : "gpu";
    for (size_t i = 0; i < kept_count; i++)
        if (kept[i].what == what && is_text(kept[i].queue, queue) && is_text(kept[i].user, user) &&
            is_text(kept[i].kind, kind))
            return &kept[i];
    return NULL;
}

static void open_at(int64_t now_ns, const struct gang_queue_spec *q, size_t count)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.half_life_ns = 100 * SECOND;
    host_open_with(&h, 2, 4, &opts, &ops);
    host_queues(&h, q, count);
    h.now_ns = now_ns;
}

static void restore_all(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    for (size_t i = 0; i < kept_count; i++)
        EXPECT_RESULT(gang_past_usage_restore(h.s, &kept[i], &error), GANG_OK, &error);
}

static struct gang_job_spec *running(const char *leaf, const char *user, int64_t gpus)
{
    static struct gang_running_spec place[8];
    struct gang_job_spec *job = leaf_job(leaf, user, gpus, 0);
    for (int64_t i = 0; i < gpus; i++)
        place[i].node = "n0";
    job->running = 1;
    job->places = place;
    job->place_count = (size_t)gpus;
    return job;
}

START_TEST(the_time_without_a_scheduler_counts_for_budgets)
{
    struct gang_budget b = {"gpu", 1000 * 1000, 0, 0, GANG_BUDGET_FINISH};
    struct gang_queue_spec q = leaf_queue("q");
    q.budgets = &b;
    q.budget_count = 1;
    open_at(0, &q, 1);
    gang_job_id id = host_submit(&h, leaf_job("q", "u", 2, 0));
    host_run(&h, 0);
    host_run(&h, 100 * SECOND);
    keep_all();
    const struct gang_past_usage *used = record_of(GANG_PAST_USAGE_BUDGET, "q", NULL);
    ck_assert_ptr_nonnull(used);
    ck_assert_uint_eq(used->high, 0);
    ck_assert_uint_eq(used->low, (uint64_t)(2000 * 100 * SECOND));
    ck_assert_int_eq(used->at_ns, 100 * SECOND);
    (void)id;
    host_close(&h);
    open_at(300 * SECOND, &q, 1); /* made anew 200 s later; the job ran meanwhile */
    restore_all();
    (void)host_submit(&h, running("q", "u", 2));
    host_run(&h, 0);
    keep_all();
    used = record_of(GANG_PAST_USAGE_BUDGET, "q", NULL);
    ck_assert_uint_eq(used->low, (uint64_t)(2000 * 300 * SECOND));
    gang_job_id next = host_submit(&h, leaf_job("q", "u", 1, 0));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, next), 1);
    host_run(&h, 200 * SECOND); /* 600 s of 2 GPUs before, and now 3 GPUs: it is used up */
    gang_job_id late = host_submit(&h, leaf_job("q", "u", 1, 0));
    host_run(&h, 0);
    leaf_explain(&h, late, GANG_WAIT_BUDGET);
    ck_assert_int_eq(reason.reason, GANG_WAIT_BUDGET);
    host_close(&h);
}
END_TEST

START_TEST(budgets_of_users_are_their_own)
{
    struct gang_budget b = {"gpu", 100 * 1000, 1000 * SECOND, 1, GANG_BUDGET_FINISH};
    struct gang_queue_spec q = leaf_queue("q");
    q.budgets = &b;
    q.budget_count = 1;
    open_at(0, &q, 1);
    gang_job_id id = host_submit(&h, leaf_job("q", "u", 2, 0));
    host_run(&h, 0);
    host_run(&h, 60 * SECOND);
    MUST(gang_report_end(h.s, id, 1));
    host_run(&h, 0);
    keep_all();
    host_close(&h);
    open_at(60 * SECOND, &q, 1);
    restore_all();
    gang_job_id spent = host_submit(&h, leaf_job("q", "u", 1, 0)),
                other = host_submit(&h, leaf_job("q", "v", 1, 0));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, spent), 0);
    ck_assert_int_eq(host_tasks(&h, other), 1);
    host_run(&h, 1000 * SECOND); /* renewed at 1000 s */
    ck_assert_int_eq(host_tasks(&h, spent), 1);
    host_close(&h);
}
END_TEST

START_TEST(decayed_use_of_queues_and_users_goes_on)
{
    struct gang_queue_spec q[2] = {leaf_queue("a"), leaf_queue("b")};
    q[1].order = GANG_ORDER_MULTIFACTOR;
    q[1].priority_weight_fair_share = 1000;
    open_at(1000 * SECOND, q, 2);
    (void)host_submit(&h, leaf_job("a", "u", 2, 0));
    (void)host_submit(&h, leaf_job("b", "v", 4, 0));
    host_run(&h, 0);
    host_run(&h, 100 * SECOND);
    keep_all();
    struct gang_past_usage a = *record_of(GANG_PAST_USAGE_QUEUE, "a", NULL),
                           v = *record_of(GANG_PAST_USAGE_USER, "b", "v");
    ck_assert_uint_eq(a.high, 1000); /* half of 2 GPUs after a half-life */
    ck_assert_int_eq(a.at_ns, 1100 * SECOND);
    ck_assert_uint_eq(v.high, 250000000);
    host_run(&h, 100 * SECOND);
    keep_all();
    struct gang_past_usage later_a = *record_of(GANG_PAST_USAGE_QUEUE, "a", NULL),
                           later_v = *record_of(GANG_PAST_USAGE_USER, "b", "v");
    host_close(&h);
    open_at(1200 * SECOND, q, 2);
    MUST(gang_past_usage_restore(h.s, &a, NULL));
    MUST(gang_past_usage_restore(h.s, &v, NULL));
    (void)host_submit(&h, running("a", "u", 2));
    struct gang_job_spec *job = running("b", "v", 4);
    struct gang_running_spec other[4];
    memset(other, 0, sizeof(other));
    for (int i = 0; i < 4; i++)
        other[i].node = "n1";
    job->places = other;
    (void)host_submit(&h, job);
    host_run(&h, 0);
    keep_all();
    const struct gang_past_usage *now_a = record_of(GANG_PAST_USAGE_QUEUE, "a", NULL),
                                 *now_v = record_of(GANG_PAST_USAGE_USER, "b", "v");
    ck_assert_int_eq(now_a->at_ns, later_a.at_ns);
    ck_assert_uint_eq(now_a->high, later_a.high);
    ck_assert_uint_eq(now_a->low, later_a.low);
    ck_assert_uint_eq(now_v->high, later_v.high);
    ck_assert_uint_eq(now_v->low, later_v.low);
    host_close(&h);
}
END_TEST

START_TEST(a_copy_before_the_first_run_goes_on_as_well)
{
    struct gang_budget b = {"gpu", 1000 * 1000, 0, 0, GANG_BUDGET_FINISH};
    struct gang_queue_spec q = leaf_queue("q");
    struct gang_past_usage record = GANG_PAST_USAGE_INIT;
    q.budgets = &b;
    q.budget_count = 1;
    open_at(0, &q, 1);
    record.what = GANG_PAST_USAGE_BUDGET;
    record.queue = "q";
    record.kind = "gpu";
    record.at_ns = 100 * SECOND;
    record.low = 7;
    MUST(gang_past_usage_restore(h.s, &record, NULL));
    (void)host_submit(&h, running("q", "u", 1));
    gang_cluster *cluster;
    gang_sched *copy, *original = h.s;
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    MUST(gang_sched_run(copy, 150 * SECOND, NULL, NULL));
    h.s = copy;
    keep_all();
    h.s = original;
    ck_assert_uint_eq(record_of(GANG_PAST_USAGE_BUDGET, "q", NULL)->low,
                      (uint64_t)(7 + 1000 * 50 * SECOND));
    gang_sched_free(copy);
    gang_cluster_free(cluster);
    host_close(&h);
}
END_TEST

START_TEST(wrong_records_are_refused)
{
    struct gang_queue_spec q = leaf_queue("q");
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_past_usage ok = GANG_PAST_USAGE_INIT;
    open_at(0, &q, 1);
    ok.what = GANG_PAST_USAGE_BUDGET;
    ok.queue = "q";
    ok.kind = "gpu";
    struct gang_past_usage x = ok;
    x.queue = "none";
    EXPECT_ERROR(gang_past_usage_restore(h.s, &x, &error), GANG_ENOENT, &error, "queue", NULL);
    x = ok;
    x.kind = "none";
    EXPECT_ERROR(gang_past_usage_restore(h.s, &x, &error), GANG_ENOENT, &error, "kind", NULL);
    x = ok;
    x.what = 3;
    EXPECT_ERROR(gang_past_usage_restore(h.s, &x, &error), GANG_EINVAL, &error, "what", NULL);
    x = ok;
    x.per_user = 1;
    EXPECT_ERROR(gang_past_usage_restore(h.s, &x, &error), GANG_EINVAL, &error, "user", NULL);
    x = ok;
    x.at_ns = -1;
    EXPECT_ERROR(gang_past_usage_restore(h.s, &x, &error), GANG_ERANGE, &error, "at_ns", NULL);
    x = ok;
    x.high = UINT64_MAX;
    EXPECT_ERROR(gang_past_usage_restore(h.s, &x, &error), GANG_ERANGE, &error, "high", NULL);
    x = ok;
    x.size = 8;
    EXPECT_RESULT(gang_past_usage_restore(h.s, &x, &error), GANG_EINVAL, &error);
    MUST(gang_past_usage_restore(h.s, &ok, NULL));
    host_run(&h, 0);
    EXPECT_RESULT(gang_past_usage_restore(h.s, &ok, &error), GANG_EBUSY, &error);
    ck_assert_int_eq(gang_past_usage_each(h.s, NULL, NULL), GANG_EINVAL);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("past_usage");
    TCase *tc = tcase_create("past_usage");
    tcase_add_test(tc, the_time_without_a_scheduler_counts_for_budgets);
    tcase_add_test(tc, budgets_of_users_are_their_own);
    tcase_add_test(tc, decayed_use_of_queues_and_users_goes_on);
    tcase_add_test(tc, a_copy_before_the_first_run_goes_on_as_well);
    tcase_add_test(tc, wrong_records_are_refused);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
