/* SPDX-License-Identifier: Apache-2.0 */
/* Multifactor priority: the order of a leaf by a weighted sum of factors
 * (gang_queue_spec.priority_weight_age). */
#include <math.h>

#include "chance.h"
#include "sched/forecast_host.h"
#include "sched/leaf.h"

#define SECOND ((int64_t)HOST_SECOND)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)

static struct host h;

static struct gang_queue_spec leaf(const char *name)
{
    struct gang_queue_spec q = leaf_queue(name);
    q.order = GANG_ORDER_MULTIFACTOR;
    q.max_blocked_ns = -1;
    return q;
}

static void open_with(int64_t half_life_ns, const struct gang_queue_spec *q, size_t count)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.half_life_ns = half_life_ns;
    host_open_with(&h, 1, 4, &opts, &ops);
    host_queues(&h, q, count);
    host_run(&h, SECOND);
}

static gang_job_id submit(const char *queue, const char *user, int64_t gpus, int64_t priority)
{
    return host_submit(&h, leaf_job(queue, user, gpus, priority));
}

static int64_t priority(gang_job_id id)
{
    return host_job_info(&h, id).multifactor_priority;
}

/* All GPUs are taken, so that jobs wait. */
static gang_job_id fill(const char *queue, const char *user)
{
    gang_job_id id = submit(queue, user, 4, 0);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    return id;
}

START_TEST(size_age_queue_and_job_add_up)
{
    struct gang_queue_spec q = leaf("q");
    q.priority_weight_size = 1000;
    q.priority_weight_age = 100;
    q.priority_weight_queue = 10;
    q.priority_weight_job = 3;
    q.priority_factor = GANG_WHOLE / 4;
    q.priority_max_age_ns = 10 * HOUR;
    q.priority_period_ns = HOUR;
    open_with(0, &q, 1);
    fill("q", "u");
    gang_job_id one = submit("q", "u", 1, 7), three = submit("q", "u", 3, -2);
    host_run(&h, 0);
    /* 1000 * 1/4 + 10 * 1/4 + 3 * 7; 1000 * 3/4 + 2.5 - 6 */
    ck_assert_int_eq(priority(one), 273500000);
    ck_assert_int_eq(priority(three), 746500000);
    host_run(&h, 59 * MINUTE); /* the period has not passed */
    ck_assert_int_eq(priority(one), 273500000);
    host_run(&h, 2 * MINUTE); /* 100 * 61 min of 600 */
    ck_assert_int_eq(priority(one), 273500000 + 100 * (61 * GANG_WHOLE / 600));
    host_run(&h, 20 * HOUR); /* at most 1 */
    ck_assert_int_eq(priority(one), 373500000);
    host_close(&h);
}
END_TEST

START_TEST(small_jobs_may_be_first)
{
    struct gang_queue_spec q = leaf("q");
    q.priority_weight_size = 8;
    q.priority_favor_small = 1;
    open_with(0, &q, 1);
    gang_job_id all = fill("q", "u"), three = submit("q", "u", 3, 9), one = submit("q", "u", 1, 0);
    host_run(&h, 0);
    ck_assert_int_eq(priority(one), 6000000);
    ck_assert_int_eq(priority(three), 2000000);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX); /* nothing changes with time */
    q.priority_favor_small = 0;
    host_queues(&h, &q, 1);
    host_run(&h, 0); /* the queue changed: computed again */
    ck_assert_int_eq(priority(three), 6000000);
    host_end_job(&h, all);
    ck_assert_int_eq(host_tasks(&h, three), 3);
    host_close(&h);
}
END_TEST

/* A job that came later passes one that has reached the greatest age. */
START_TEST(age_changes_the_order)
{
    struct gang_queue_spec q = leaf("q");
    q.priority_weight_age = 100;
    q.priority_weight_job = 1;
    q.priority_max_age_ns = HOUR;
    q.block = GANG_BLOCK_STRICT;
    open_with(0, &q, 1);
    gang_job_id all = fill("q", "u"), old = submit("q", "u", 4, 0);
    host_run(&h, 0);
    host_run(&h, HOUR / 2);
    gang_job_id late = submit("q", "u", 4, 40);
    host_run(&h, 5 * MINUTE);
    host_run(&h, 5 * MINUTE);
    ck_assert_int_gt(priority(old), priority(late));
    ck_assert_int_le(gang_sched_next(h.s), h.now_ns + 5 * MINUTE);
    for (int i = 0; i < 9; i++)
        host_run(&h, 5 * MINUTE);
    ck_assert_int_lt(priority(old), priority(late)); /* 100 against 40 + 58 and more */
    host_end_job(&h, all);
    ck_assert_int_eq(host_tasks(&h, late), 4);
    ck_assert_int_eq(host_tasks(&h, old), 0);
    host_close(&h);
}
END_TEST

/* 2^(-U / S): with half of the shares and all of the usage it is 1/4. */
START_TEST(fair_share_follows_past_usage)
{
    struct gang_queue_spec q = leaf("q");
    q.priority_weight_fair_share = 1000;
    q.priority_period_ns = MINUTE;
    open_with(HOUR, &q, 1);
    gang_job_id first = fill("q", "ann");
    gang_job_id ann = submit("q", "ann", 1, 5), bob = submit("q", "bob", 1, 0);
    host_run(&h, MINUTE);
    ck_assert_int_eq(priority(ann), 250000000);
    ck_assert_int_eq(priority(bob), 1000000000);
    host_end_job(&h, first); /* use counts though it is over */
    ck_assert_int_eq(host_tasks(&h, ann) + host_tasks(&h, bob), 2);
    gang_job_id second = submit("q", "bob", 4, 0);
    host_run(&h, 10 * MINUTE);
    host_end_job(&h, ann);
    host_end_job(&h, bob);
    ck_assert_int_eq(host_tasks(&h, second), 4);
    host_run(&h, 100 * HOUR);
    ann = submit("q", "ann", 1, 0);
    bob = submit("q", "bob", 1, 5);
    host_run(&h, MINUTE);
    ck_assert_int_eq(priority(ann), 1000000000); /* forgotten */
    ck_assert_int_eq(priority(bob), 250000000);
    host_close(&h);
}
END_TEST

START_TEST(shares_are_those_of_the_queue)
{
    struct gang_user_weight users[] = {{"ann", 3 * GANG_WHOLE}, {"bob", GANG_WHOLE}};
    struct gang_queue_spec q = leaf("q");
    q.priority_weight_fair_share = 100;
    q.users = users;
    q.user_count = 2;
    open_with(0, &q, 1); /* what runs now counts */
    gang_job_id ann = submit("q", "ann", 3, 0), bob = submit("q", "bob", 1, 0);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, ann) + host_tasks(&h, bob), 4);
    ann = submit("q", "ann", 1, 0);
    bob = submit("q", "bob", 1, 0);
    host_run(&h, 6 * MINUTE);
    ck_assert_int_eq(priority(ann), 50000000); /* each has used what it has shares for */
    ck_assert_int_eq(priority(bob), 50000000);
    host_close(&h);
}
END_TEST

/* Jobs of several leaves go in one order. */
START_TEST(siblings_go_by_the_priority_of_their_first_job)
{
    struct gang_queue_spec q[3] = {GANG_QUEUE_SPEC_INIT, leaf("a"), leaf("b")};
    q[0].name = "top";
    q[0].child_order = GANG_CHILD_ORDER_MULTIFACTOR;
    q[1].parent = q[2].parent = "top";
    q[1].priority_weight_queue = q[2].priority_weight_queue = 100;
    q[1].priority_weight_job = q[2].priority_weight_job = 10;
    q[2].priority_factor = GANG_WHOLE / 2;
    open_with(0, q, 3);
    gang_job_id all = fill("a", "u");
    gang_job_id job[4] = {submit("a", "u", 1, 4), submit("b", "u", 1, 0), submit("a", "u", 1, 6),
                          submit("b", "u", 1, 7)}; /* 40, 50, 60, 120 */
    gang_job_id more = submit("a", "u", 3, 11);    /* 110 */
    host_run(&h, 0);
    host_end_job(&h, all);
    ck_assert_int_eq(host_tasks(&h, job[3]), 1);
    ck_assert_int_eq(host_tasks(&h, more), 3);
    host_end_job(&h, more);
    host_end_job(&h, job[3]);
    gang_job_id wide = submit("b", "u", 2, 9); /* 140 */
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, job[0]) + host_tasks(&h, job[1]) + host_tasks(&h, job[2]), 3);
    ck_assert_int_eq(host_tasks(&h, wide), 0);
    host_close(&h);
}
END_TEST

START_TEST(a_leaf_of_another_order_counts_by_the_priority_of_its_job)
{
    struct gang_queue_spec q[3] = {GANG_QUEUE_SPEC_INIT, leaf("a"), leaf("b")};
    q[0].name = "top";
    q[0].child_order = GANG_CHILD_ORDER_MULTIFACTOR;
    q[1].parent = q[2].parent = "top";
    q[1].priority_weight_size = 4;
    q[2].order = GANG_ORDER_PRIORITY;
    open_with(0, q, 3);
    gang_job_id all = fill("a", "u");
    gang_job_id low = submit("b", "u", 2, -5), size = submit("a", "u", 1, 0),
                high = submit("b", "u", 2, 2), other = submit("a", "u", 1, 0);
    host_run(&h, 0);
    host_end_job(&h, all); /* -5, 1, 2, 1 */
    ck_assert_int_eq(host_tasks(&h, high) + host_tasks(&h, size) + host_tasks(&h, other), 4);
    ck_assert_int_eq(host_tasks(&h, low), 0);
    host_close(&h);
}
END_TEST

START_TEST(a_forecast_knows_the_priorities)
{
    struct gang_queue_spec q = leaf("q");
    q.priority_weight_fair_share = 1000;
    q.backfill = GANG_BACKFILL_CONSERVATIVE;
    q.default_time_limit_ns = HOUR;
    open_with(HOUR, &q, 1);
    fill("q", "ann");
    gang_job_id ann = submit("q", "ann", 4, 5), bob = submit("q", "bob", 4, 0);
    host_run(&h, MINUTE);
    host_run(&h, 10 * MINUTE);
    ck_assert_int_lt(priority(ann), priority(bob));
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_lt(start_of(f, bob), start_of(f, ann));
    gang_forecast_free(f);
    ck_assert_int_lt(host_job_info(&h, bob).planned_ns, host_job_info(&h, ann).planned_ns);
    host_close(&h);
}
END_TEST

START_TEST(bad_numbers_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_queue_spec q = leaf("q");
    open_with(0, &q, 1);
    q.priority_weight_age = (int64_t)UINT32_MAX + 1;
    EXPECT_ERROR(gang_sched_set_queues(h.s, &q, 1, &error), GANG_ERANGE, &error,
                 "queues[0].priority_weight_age", NULL);
    q.priority_weight_age = 0;
    q.priority_factor = GANG_WHOLE + 1;
    EXPECT_ERROR(gang_sched_set_queues(h.s, &q, 1, &error), GANG_ERANGE, &error,
                 "queues[0].priority_factor", NULL);
    q.priority_factor = 0;
    q.priority_period_ns = -1;
    EXPECT_RESULT(gang_sched_set_queues(h.s, &q, 1, &error), GANG_ERANGE, &error);
    q.priority_period_ns = 0;
    q.priority_favor_small = 2;
    EXPECT_ERROR(gang_sched_set_queues(h.s, &q, 1, &error), GANG_EINVAL, &error,
                 "queues[0].priority_favor_small", NULL);
    host_close(&h);
}
END_TEST

START_TEST(out_of_memory_keeps_the_old_priorities)
{
    struct gang_queue_spec q = leaf("q");
    q.priority_weight_age = 1000;
    q.priority_period_ns = MINUTE;
    open_with(0, &q, 1);
    fill("q", "u");
    gang_job_id id = submit("q", "u", 1, 0);
    host_run(&h, 0);
    for (long n = 1; n < 4; n++) {
        int64_t before = priority(id);
        h.now_ns += HOUR;
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        if (r == GANG_ENOMEM)
            ck_assert_int_eq(priority(id), before);
        host_run(&h, 0);
        ck_assert_int_gt(priority(id), before);
    }
    host_close(&h);
}
END_TEST

/* ---- random lives ---------------------------------------------------------------------------- */

enum { JOBS = 40, USERS = 3 };

/* The books of the test: it computes each priority itself, from its own record of what ran. */
struct record {
    gang_job_id id;
    int user;
    int64_t gpus, priority, submitted_ns;
    bool waits, runs;
};

static struct record job[JOBS];
static int jobs;
static const char *const user_name[USERS] = {"u0", "u1", "u2"};
static const int64_t user_weight[USERS] = {1000000, 2000000, 500000};
static double mean[USERS]; /* decayed use, as the integral over 2^(-age / half-life) */
static bool seen[USERS];

static const int64_t half_life = 20 * MINUTE;

static void let_pass(int64_t ns)
{
    double left = exp2(-(double)ns / (double)half_life);
    for (int u = 0; u < USERS; u++) {
        double used = 0;
        for (int i = 0; i < jobs; i++)
            used += job[i].runs && job[i].user == u ? (double)job[i].gpus / 4 : 0;
        mean[u] = used + (mean[u] - used) * left;
    }
    h.now_ns += ns;
}

static double expected(const struct record *j, const struct gang_queue_spec *q)
{
    double weights = 0, all = 0, age = (double)(h.now_ns - j->submitted_ns);
    for (int u = 0; u < USERS; u++) {
        weights += seen[u] ? (double)user_weight[u] : 0;
        all += mean[u];
    }
    double share = (double)user_weight[j->user] / weights;
    double fair = all > 0 ? exp2(-mean[j->user] / all / share) : 1;
    age /= (double)q->priority_max_age_ns;
    return (double)q->priority_weight_age * (age < 1 ? age : 1) +
           (double)q->priority_weight_fair_share * fair +
           (double)q->priority_weight_size * (double)j->gpus / 4 +
           (double)q->priority_weight_job * (double)j->priority;
}

static void look(void)
{
    for (int i = 0; i < jobs; i++) {
        struct gang_job_info info = {.size = sizeof(info)};
        bool there = gang_job_get(h.s, job[i].id, &info) == GANG_OK;
        job[i].runs = there && info.tasks > 0;
        job[i].waits = there && info.state == GANG_JOB_PENDING;
    }
}

/* In strict order, after each run that scored the leaf: no job of higher priority waits behind one
 * of lower priority that started in it. */
START_TEST(random_lives_follow_the_formula)
{
    struct gang_user_weight users[USERS];
    struct gang_queue_spec q = leaf("q");
    chance_state = test_seed() + (uint64_t)_i;
    jobs = 0;
    memset(mean, 0, sizeof(mean));
    memset(seen, 0, sizeof(seen));
    for (int u = 0; u < USERS; u++)
        users[u] = (struct gang_user_weight){user_name[u], user_weight[u]};
    q.users = users;
    q.user_count = USERS;
    q.priority_weight_age = below(3) * 500;
    q.priority_weight_fair_share = 1000;
    q.priority_weight_size = below(3) * 300;
    q.priority_weight_job = below(3) * 50;
    q.priority_max_age_ns = HOUR;
    q.priority_period_ns = 1; /* each run */
    q.block = GANG_BLOCK_STRICT;
    q.within = q.reclaim = GANG_PREEMPT_NEVER;
    q.backfill = one_in(3) ? GANG_BACKFILL_CONSERVATIVE : GANG_BACKFILL_NONE;
    q.default_time_limit_ns = 50 * HOUR;
    open_with(half_life, &q, 1);
    for (int step = 0; step < 150; step++) {
        let_pass((1 + below(300)) * SECOND);
        if (jobs < JOBS && one_in(2)) {
            struct record *j = &job[jobs++];
            *j = (struct record){.user = (int)below(USERS), .gpus = 1 + below(4)};
            j->priority = below(5);
            j->submitted_ns = h.now_ns;
            j->id = submit("q", user_name[j->user], j->gpus, j->priority);
            seen[j->user] = true;
        }
        for (int i = 0; i < jobs; i++)
            if (job[i].runs && one_in(4))
                MUST(gang_job_cancel(h.s, job[i].id));
        bool ran[JOBS];
        for (int i = 0; i < JOBS; i++)
            ran[i] = i < jobs && job[i].runs;
        host_run(&h, 0);
        look();
        bool scored = gang_sched_next(h.s) > h.now_ns;
        for (int i = 0; scored && i < jobs; i++) {
            if (!job[i].waits)
                continue;
            for (int k = 0; k < jobs; k++)
                if (job[k].runs && !ran[k])
                    ck_assert_msg(expected(&job[k], &q) >= expected(&job[i], &q) - 1,
                                  "seed %" PRIu64 ", step %d: job %d started before job %d",
                                  test_seed() + (uint64_t)_i, step, k, i);
            double off = (double)priority(job[i].id) / 1e6 - expected(&job[i], &q);
            ck_assert_msg(fabs(off) < 1, "seed %" PRIu64 ", step %d: job %d is off by %f",
                          test_seed() + (uint64_t)_i, step, i, off);
        }
        h.count = 0;
    }
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("multifactor");
    TCase *tests = tcase_create("multifactor");
    tcase_add_test(tests, size_age_queue_and_job_add_up);
    tcase_add_test(tests, small_jobs_may_be_first);
    tcase_add_test(tests, age_changes_the_order);
    tcase_add_test(tests, fair_share_follows_past_usage);
    tcase_add_test(tests, shares_are_those_of_the_queue);
    tcase_add_test(tests, siblings_go_by_the_priority_of_their_first_job);
    tcase_add_test(tests, a_leaf_of_another_order_counts_by_the_priority_of_its_job);
    tcase_add_test(tests, a_forecast_knows_the_priorities);
    tcase_add_test(tests, bad_numbers_are_refused);
    tcase_add_test(tests, out_of_memory_keeps_the_old_priorities);
    tcase_add_loop_test(tests, random_lives_follow_the_formula, 0, 20);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
