/* SPDX-License-Identifier: Apache-2.0 */
/* Budgets: amounts times time, of queues and users (gang_queue_spec.budgets). */
#include "chance.h"
#include "sched/forecast_host.h"
#include "sched/leaf.h"

#define SECOND ((int64_t)HOST_SECOND)
#define HOUR (3600 * SECOND)

static struct host h;

static struct gang_budget gpu_hours(int64_t hours, int32_t exhausted)
{
    return (struct gang_budget){"gpu", hours * 3600 * 1000, 0, 0, exhausted};
}

static struct gang_queue_spec queue_with(const char *name, const struct gang_budget *budgets,
                                         size_t count)
{
    struct gang_queue_spec q = leaf_queue(name);
    q.budgets = budgets;
    q.budget_count = count;
    return q;
}

static void open_with(const struct gang_queue_spec *q, size_t count)
{
    host_open(&h, 2, 4);
    host_queues(&h, q, count);
    host_run(&h, 0);
}

static gang_job_id submit(const char *queue, const char *user, int64_t gpus, int64_t hours)
{
    struct gang_job_spec *job = leaf_job(queue, user, gpus, 0);
    job->time_limit_ns = hours * HOUR;
    return host_submit(&h, job);
}

/* The job waits for a budget. */
static void waits(gang_job_id id, int32_t category)
{
    ck_assert_int_eq(host_tasks(&h, id), 0);
    leaf_explain(&h, id, GANG_WAIT_BUDGET);
    ck_assert_int_eq(reason.reason, GANG_WAIT_BUDGET);
    ck_assert_int_eq(reason.category, category);
}

START_TEST(a_job_starts_if_its_whole_limit_fits)
{
    struct gang_budget b = gpu_hours(10, GANG_BUDGET_SAFE);
    struct gang_queue_spec q = queue_with("q", &b, 1);
    open_with(&q, 1);
    gang_job_id first = submit("q", "u", 2, 3), third = submit("q", "u", 2, 2),
                second = submit("q", "u", 2, 2), never = submit("q", "u", 4, 3),
                endless = submit("q", "u", 1, 0);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, first), 2);
    ck_assert_int_eq(host_tasks(&h, third), 2);
    waits(second, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(reason.requested, 4 * 3600 * 1000);
    ck_assert_int_eq(reason.used, 10 * 3600 * 1000);
    ck_assert_int_eq(reason.limit, 10 * 3600 * 1000);
    ck_assert_int_eq(reason.until_ns, 0);
    ck_assert_str_eq(reason_text, "queue \"q\" allows 10 GPU hours, 10 GPU hours are used or "
                                  "promised, the gang needs 4 GPU hours in its time limit");
    waits(never, GANG_WAIT_CATEGORY_NEVER);
    waits(endless, GANG_WAIT_CATEGORY_NEVER);
    ck_assert_str_eq(reason_text, "queue \"q\" allows 10 GPU hours, and the job has no time limit");
    host_run(&h, HOUR); /* nothing of what is promised came free */
    waits(second, GANG_WAIT_CATEGORY_NOT_NOW);
    host_end_job(&h, first); /* 2 used, 2 still promised to the third */
    ck_assert_int_eq(host_tasks(&h, second), 2);
    host_close(&h);
}
END_TEST

START_TEST(a_renewal_starts_the_next_job)
{
    struct gang_budget b = gpu_hours(8, GANG_BUDGET_SAFE);
    struct gang_queue_spec q = queue_with("q", &b, 1);
    b.period_ns = 24 * HOUR;
    open_with(&q, 1);
    gang_job_id first = submit("q", "u", 4, 2), second = submit("q", "u", 4, 2);
    host_run(&h, HOUR);
    ck_assert_int_eq(host_tasks(&h, first), 4);
    host_run(&h, 2 * HOUR);
    ck_assert(!host_has(&h, first) || host_tasks(&h, first) == 0);
    waits(second, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(reason.until_ns, 24 * HOUR);
    ck_assert_int_eq(gang_sched_next(h.s), 24 * HOUR);
    gang_forecast *f = foretell(&h, NULL);
    ck_assert_int_eq(start_of(f, second), 24 * HOUR);
    gang_forecast_free(f);
    host_run(&h, 21 * HOUR);
    ck_assert_int_eq(host_tasks(&h, second), 4);
    host_close(&h);
}
END_TEST

START_TEST(running_jobs_are_killed_when_it_is_used_up)
{
    struct gang_budget b = gpu_hours(6, GANG_BUDGET_KILL);
    struct gang_queue_spec q = queue_with("q", &b, 1);
    b.period_ns = 24 * HOUR;
    open_with(&q, 1);
    gang_job_id first = submit("q", "u", 2, 0), second = submit("q", "u", 4, 0), cores;
    struct gang_group_spec group = group_of(1, 1000, 0);
    struct gang_job_spec spec = host_job(&group, 1);
    spec.queue = "q";
    cores = host_submit(&h, &spec);
    host_run(&h, HOUR);
    ck_assert_int_eq(host_tasks(&h, first) + host_tasks(&h, second), 6);
    ck_assert_int_eq(gang_sched_next(h.s), 2 * HOUR);
    host_run(&h, HOUR - 1);
    ck_assert_int_eq(host_tasks(&h, first), 2);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, first), GANG_END_TIMEOUT);
    ck_assert_int_eq(host_end(&h, second), GANG_END_TIMEOUT);
    ck_assert_int_eq(host_tasks(&h, cores), 1); /* it uses no GPU */
    gang_job_id third = submit("q", "u", 1, 0);
    host_run(&h, 0);
    waits(third, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_str_eq(reason_text, "queue \"q\" allows 6 GPU hours, and all are used");
    host_run(&h, 22 * HOUR);
    ck_assert_int_eq(host_tasks(&h, third), 1);
    /* it runs alone, to the end of the day and on: each day it uses 6 hours, and dies */
    ck_assert_int_eq(gang_sched_next(h.s), 30 * HOUR);
    host_close(&h);
}
END_TEST

START_TEST(running_jobs_may_finish)
{
    struct gang_budget b = gpu_hours(4, GANG_BUDGET_FINISH);
    struct gang_queue_spec q = queue_with("q", &b, 1);
    open_with(&q, 1);
    gang_job_id first = submit("q", "u", 4, 0);
    host_run(&h, 0);
    host_run(&h, 3 * HOUR);
    ck_assert_int_eq(host_tasks(&h, first), 4);
    gang_job_id second = submit("q", "u", 1, 1);
    host_run(&h, 0);
    waits(second, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(reason.used, 12 * 3600 * 1000);
    b = gpu_hours(13, GANG_BUDGET_FINISH); /* what was used counts on */
    host_queues(&h, &q, 1);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, second), 1);
    host_close(&h);
}
END_TEST

/* Each user has so much, in the whole branch; the other branch has none. */
START_TEST(each_user_has_a_budget_of_its_own)
{
    struct gang_budget b = gpu_hours(4, GANG_BUDGET_SAFE);
    struct gang_queue_spec q[4] = {queue_with("top", &b, 1), queue_with("a", NULL, 0),
                                   queue_with("b", NULL, 0), queue_with("free", NULL, 0)};
    b.per_user = 1;
    q[1].parent = q[2].parent = "top";
    open_with(q, 4);
    gang_job_id one = submit("a", "ann", 2, 1), two = submit("b", "ann", 2, 1),
                bob = submit("b", "bob", 1, 4), other = submit("free", "ann", 1, 9);
    host_run(&h, 0);
    gang_job_id three = submit("b", "ann", 1, 1);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, one) + host_tasks(&h, two), 4);
    waits(three, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_str_eq(reason_text,
                     "queue \"top\" allows a user 4 GPU hours, 4 GPU hours are used or "
                     "promised, the gang needs 1 GPU hours in its time limit");
    ck_assert_int_eq(host_tasks(&h, bob), 1);
    ck_assert_int_eq(host_tasks(&h, other), 1);
    host_run(&h, HOUR / 2);
    host_end_job(&h, one); /* an hour of it was not used */
    ck_assert_int_eq(host_tasks(&h, three), 1);
    host_close(&h);
}
END_TEST

START_TEST(a_shorter_job_of_the_same_request_fits)
{
    struct gang_budget b = gpu_hours(4, GANG_BUDGET_SAFE);
    struct gang_queue_spec q = queue_with("q", &b, 1);
    open_with(&q, 1);
    gang_job_id longer = submit("q", "u", 1, 5), shorter = submit("q", "u", 1, 4);
    host_run(&h, 0);
    waits(longer, GANG_WAIT_CATEGORY_NEVER);
    ck_assert_int_eq(host_tasks(&h, shorter), 1);
    MUST(gang_job_set_time_limit(h.s, shorter, 1 * HOUR));
    MUST(gang_job_set_time_limit(h.s, longer, 3 * HOUR));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, longer), 1);
    host_close(&h);
}
END_TEST

START_TEST(what_a_running_job_no_longer_needs_is_for_others)
{
    struct gang_budget b = gpu_hours(4, GANG_BUDGET_SAFE);
    struct gang_queue_spec q = queue_with("q", &b, 1);
    open_with(&q, 1);
    gang_job_id runs = submit("q", "u", 1, 3), other = submit("q", "u", 1, 2);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, runs), 1);
    ck_assert_int_eq(host_tasks(&h, other), 0);
    MUST(gang_job_set_time_limit(h.s, runs, 2 * HOUR));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, other), 1);
    host_close(&h);
}
END_TEST

START_TEST(a_promised_extension_is_not_given)
{
    struct gang_budget b = gpu_hours(4, GANG_BUDGET_SAFE);
    struct gang_queue_spec q = queue_with("q", &b, 1);
    q.overrun = GANG_OVERRUN_EXTEND;
    open_with(&q, 1);
    gang_job_id job = submit("q", "u", 2, 2);
    host_run(&h, 0);
    host_run(&h, 2 * HOUR);
    ck_assert_int_eq(host_end(&h, job), GANG_END_TIMEOUT);
    host_close(&h);
}
END_TEST

START_TEST(bad_budgets_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_budget b[2] = {gpu_hours(1, GANG_BUDGET_SAFE), gpu_hours(2, GANG_BUDGET_KILL)};
    struct gang_queue_spec q = queue_with("q", b, 2);
    open_with(&q, 0);
#define REFUSED(change, code, where) \
    change;                          \
    EXPECT_ERROR(gang_sched_set_queues(h.s, &q, 1, &error), code, &error, "queues[0]." where, NULL)
    REFUSED(b[0].per_user = 0, GANG_EINVAL, "budgets[1].kind"); /* twice */
    REFUSED((b[1].per_user = 1, b[1].kind = "coal"), GANG_ENOENT, "budgets[1].kind");
    REFUSED((b[1].kind = "cpu", b[1].amount = -1), GANG_ERANGE, "budgets[1].amount");
    REFUSED((b[1].amount = 1, b[1].period_ns = -1), GANG_ERANGE, "budgets[1].period_ns");
    REFUSED((b[1].period_ns = 0, b[1].exhausted = 3), GANG_EINVAL, "budgets[1].exhausted");
    REFUSED((b[1].exhausted = 0, b[1].per_user = 2), GANG_EINVAL, "budgets[1].per_user");
    REFUSED((b[1].per_user = 1, q.quantum_ns = SECOND), GANG_EINVAL, "budgets");
    REFUSED((q.quantum_ns = 0, q.budget_count = GANG_MAX_BUDGETS + 1), GANG_ELIMIT, "budgets");
    REFUSED((q.budget_count = 2, q.budget_size = 8), GANG_EINVAL, "budget_size");
#undef REFUSED
    q.budget_size = sizeof(struct gang_budget);
    host_queues(&h, &q, 1);
    host_close(&h);
}
END_TEST

START_TEST(a_copy_remembers_a_budget_that_is_not_configured_now)
{
    struct gang_budget b = gpu_hours(10, GANG_BUDGET_SAFE);
    struct gang_queue_spec with = queue_with("q", &b, 1), without = queue_with("q", NULL, 0);
    struct gang_job_info info = {.size = sizeof(info)};
    gang_cluster *cluster;
    gang_sched *copy;
    open_with(&with, 1);
    gang_job_id first = submit("q", "ann", 4, 2);
    host_run(&h, 0);
    host_run(&h, 2 * HOUR - SECOND);
    MUST(gang_report_end(h.s, first, 1)); /* nearly 8 of 10 GPU-hours */
    host_run(&h, 0);
    host_queues(&h, &without, 1);
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    host_queues(&h, &with, 1);
    MUST(gang_sched_set_queues(copy, &with, 1, NULL));
    gang_job_id next = submit("q", "ann", 4, 2);
    host_run(&h, 0);
    waits(next, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(reason.reason, GANG_WAIT_BUDGET);
    struct gang_job_spec *job = host_spec("q", 4, 4, 0);
    job->user = "ann";
    job->time_limit_ns = 2 * HOUR;
    MUST(gang_job_submit(copy, job, &next, NULL));
    MUST(gang_sched_run(copy, h.now_ns, NULL, NULL));
    MUST(gang_job_get(copy, next, &info));
    ck_assert_int_eq(info.tasks, 0);
    gang_sched_free(copy);
    gang_cluster_free(cluster);
    host_close(&h);
}
END_TEST

START_TEST(out_of_memory_is_no_loss)
{
    struct gang_budget b = gpu_hours(1000, GANG_BUDGET_SAFE);
    struct gang_queue_spec q = queue_with("q", &b, 1);
    b.per_user = 1;
    open_with(&q, 1);
    for (long n = 1; n < 40; n++) {
        char user[32];
        snprintf(user, sizeof(user), "u%ld", n);
        gang_job_id id = submit("q", user, 1, 1);
        h.stage.mem.calls = 0;
        h.stage.mem.fail_at = n;
        gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        for (int run = 0; run < 3 && host_tasks(&h, id) == 0; run++)
            host_run(&h, SECOND);
        ck_assert_int_eq(host_tasks(&h, id), 1);
        host_end_job(&h, id);
    }
    host_close(&h);
}
END_TEST

/* ---- random lives ---------------------------------------------------------------------------- */

enum { JOBS = 80, USERS = 3, QUEUES = 3, BUDGETS = 3 };

/* Queue 0 is above 1 and 2. */
static const char *const queue_name[QUEUES] = {"top", "a", "b"};
static const char *const user_name[USERS] = {"u0", "u1", "u2"};

struct record {
    gang_job_id id;
    int queue, user;
    int64_t tasks; /* it runs with so many GPUs */
};

struct ledger {
    int queue;
    struct gang_budget b;
    double used[USERS]; /* GPU seconds in this period, of each user, or [0] of all */
};

static struct record job[JOBS];
static struct ledger ledger[BUDGETS];
static int jobs;

static bool counts(const struct ledger *l, const struct record *j)
{
    return l->queue == 0 || l->queue == j->queue;
}

/* The books of the test: what ran until the next event, in whole seconds. */
static void let_pass(int64_t ns)
{
    for (int i = 0; i < BUDGETS; i++) {
        struct ledger *l = &ledger[i];
        int64_t since = h.now_ns, now = h.now_ns + ns;
        if (l->b.period_ns > 0 && since / l->b.period_ns != now / l->b.period_ns) {
            memset(l->used, 0, sizeof(l->used));
            since = now / l->b.period_ns * l->b.period_ns;
        }
        for (int j = 0; j < jobs; j++)
            if (counts(l, &job[j]))
                l->used[l->b.per_user ? job[j].user : 0] +=
                    (double)job[j].tasks * (double)(now - since) / (double)SECOND;
    }
}

static void random_budget(struct ledger *l)
{
    *l = (struct ledger){.queue = (int)below(QUEUES)};
    l->b = (struct gang_budget){"gpu", 1000 * (100 + below(1500)),
                                one_in(3) ? 0 : (100 + below(300)) * SECOND, one_in(2),
                                one_in(4) ? GANG_BUDGET_KILL : GANG_BUDGET_SAFE};
}

static void open_random(void)
{
    struct gang_queue_spec q[QUEUES] = {queue_with("top", NULL, 0), queue_with("a", NULL, 0),
                                        queue_with("b", NULL, 0)};
    struct gang_budget list[QUEUES][BUDGETS];
    q[1].parent = q[2].parent = "top";
    for (int i = 0; i < QUEUES; i++) {
        q[i].budgets = list[i];
        q[i].within = q[i].reclaim = 0; /* jobs are preempted */
        q[i].backfill = one_in(3) ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE;
        q[i].grace_ns = one_in(2) ? 5 * SECOND : 0;
        q[i].preempt_mode = one_in(2) ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE;
    }
    for (int i = 0; i < BUDGETS; i++) {
        bool again = true;
        while (again) {
            random_budget(&ledger[i]);
            struct gang_queue_spec *to = &q[ledger[i].queue];
            again = false;
            for (size_t k = 0; k < to->budget_count; k++)
                again = again || (list[ledger[i].queue][k].period_ns == ledger[i].b.period_ns &&
                                  list[ledger[i].queue][k].per_user == ledger[i].b.per_user);
        }
        list[ledger[i].queue][q[ledger[i].queue].budget_count++] = ledger[i].b;
    }
    open_with(q, QUEUES);
}

static void random_job(void)
{
    struct record *j = &job[jobs++];
    *j = (struct record){.queue = 1 + (int)below(2), .user = (int)below(USERS)};
    struct gang_job_spec *spec =
        host_spec(queue_name[j->queue], 1 + below(4), 1, below(3)); /* elastic */
    spec->user = user_name[j->user];
    spec->time_limit_ns = (10 + below(150)) * SECOND;
    spec->loss = GANG_LOSS_RESTART;
    j->id = host_submit(&h, spec);
}

/* Runs at each time that the scheduler asks for, until `until`. What runs is counted in between;
 * no budget is ever exceeded. */
static void live_until(int64_t until, uint64_t seed)
{
    do {
        int64_t next = gang_sched_next(h.s);
        next = next < h.now_ns ? h.now_ns : next > until ? until : next;
        let_pass(next - h.now_ns);
        for (int i = 0; i < BUDGETS; i++)
            for (int u = 0; u < USERS; u++)
                ck_assert_msg(ledger[i].used[u] * 1000 <= (double)ledger[i].b.amount + 1,
                              "seed %" PRIu64 ": budget %d (%d) of user %d: %f of %" PRId64, seed,
                              i, ledger[i].b.exhausted, u, ledger[i].used[u] * 1000,
                              ledger[i].b.amount);
        host_run(&h, next - h.now_ns);
        h.count = 0;
        for (int i = 0; i < jobs; i++) {
            struct gang_job_info info = {.size = sizeof(info)};
            job[i].tasks = gang_job_get(h.s, job[i].id, &info) == GANG_OK ? info.tasks : 0;
        }
    } while (h.now_ns < until);
}

START_TEST(random_lives_never_exceed_a_budget)
{
    uint64_t seed = test_seed() + (uint64_t)_i;
    int started = 0;
    chance_state = seed;
    jobs = 0;
    memset(job, 0, sizeof(job));
    open_random();
    for (int step = 0; step < 150; step++) {
        if (jobs < JOBS && one_in(2))
            random_job();
        if (jobs > 0 && one_in(8))
            (void)!gang_job_cancel(h.s, job[index_below((size_t)jobs)].id);
        if (jobs > 0 && one_in(8))
            (void)!gang_job_requeue(h.s, job[index_below((size_t)jobs)].id);
        if (jobs > 0 && one_in(10))
            (void)!gang_job_set_target(h.s, job[index_below((size_t)jobs)].id, 1 + below(3));
        h.lingers = one_in(2);
        live_until(h.now_ns + (1 + below(20)) * SECOND, seed);
        for (int i = 0; i < jobs; i++)
            started += job[i].tasks > 0;
    }
    ck_assert_int_gt(started, 0);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("budget");
    TCase *tests = tcase_create("budget");
    tcase_add_test(tests, a_job_starts_if_its_whole_limit_fits);
    tcase_add_test(tests, a_renewal_starts_the_next_job);
    tcase_add_test(tests, running_jobs_are_killed_when_it_is_used_up);
    tcase_add_test(tests, running_jobs_may_finish);
    tcase_add_test(tests, each_user_has_a_budget_of_its_own);
    tcase_add_test(tests, a_shorter_job_of_the_same_request_fits);
    tcase_add_test(tests, what_a_running_job_no_longer_needs_is_for_others);
    tcase_add_test(tests, a_promised_extension_is_not_given);
    tcase_add_test(tests, bad_budgets_are_refused);
    tcase_add_test(tests, a_copy_remembers_a_budget_that_is_not_configured_now);
    tcase_add_test(tests, out_of_memory_is_no_loss);
    tcase_add_loop_test(tests, random_lives_never_exceed_a_budget, 0, 20);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
