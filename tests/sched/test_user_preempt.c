/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption by user limit (GANG_PREEMPT_USER_LIMIT): each rule alone, and random lives that books
 * beside the scheduler follow. */
#include "chance.h"
#include "sched/host.h"

enum { GPUS = 10 };

static struct host h;
static struct gang_quota all = {"gpu", GPUS * 1000, NULL, 0, 0};
static struct gang_preemption *answer;

/* The leaf "a", guaranteed all GPUs, with a user limit of so many percent. */
static struct gang_queue_spec leaf(int64_t percent)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "a";
    q.guaranteed = &all;
    q.guaranteed_count = 1;
    q.within = GANG_PREEMPT_USER_LIMIT;
    q.user_limit = percent * (GANG_WHOLE / 100);
    return q;
}

static void setup(void)
{
    struct gang_queue_spec q = leaf(50);
    all.amount = GPUS * 1000;
    answer = NULL;
    host_open(&h, 1, GPUS);
    host_queues(&h, &q, 1);
}

static void teardown(void)
{
    gang_preemption_free(answer);
    host_close(&h);
}

/* A gang of so many GPUs, at least `min`, of a user. */
static gang_job_id elastic(const char *user, int64_t gpus, int64_t min, int64_t priority)
{
    struct gang_job_spec *job = host_spec("a", gpus, min, priority);
    job->user = user;
    return host_submit(&h, job);
}

static gang_job_id submit(const char *user, int64_t gpus, int64_t priority)
{
    return elastic(user, gpus, gpus, priority);
}

/* So many gangs, each of so many GPUs, that run after this. */
static void fill(const char *user, gang_job_id *job, int count, int64_t gpus)
{
    for (int i = 0; i < count; i++) {
        job[i] = submit(user, gpus, 0);
        host_run(&h, 1);
        ck_assert_int_eq(host_tasks(&h, job[i]), gpus);
    }
}

static int64_t running(const gang_job_id *job, int count)
{
    int64_t tasks = 0;
    for (int i = 0; i < count; i++)
        tasks += host_tasks(&h, job[i]);
    return tasks;
}

/* The rule that protects all that runs from the job. */
static void protected_by(gang_job_id id, int32_t rule, const char *text)
{
    gang_preemption_free(answer);
    MUST(gang_job_explain_preemption(h.s, id, &answer));
    ck_assert_msg(answer->rule_count == 1, "%s", answer->text);
    ck_assert_str_eq(answer->rules[0].text, text);
    ck_assert_int_eq(answer->rules[0].rule, rule);
    ck_assert_int_eq(answer->outcome, GANG_PREEMPTION_PROTECTED);
}

static void runs_nothing_new(void)
{
    h.count = 0;
    for (int i = 0; i < 5; i++)
        host_run(&h, (int64_t)600 * HOST_SECOND);
    ck_assert_uint_eq(h.count, 0);
}

/* YARN's TestProportionalCapacityPreemptionPolicyIntraQueueUserLimit: a user that has all keeps
 * half. */
START_TEST(a_user_takes_what_others_have_above_their_limit)
{
    gang_job_id rich[10], poor[6];
    fill("rich", rich, 10, 1);
    for (int i = 0; i < 3; i++)
        poor[i] = submit("poor", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(running(poor, 3), 3);
    ck_assert_int_eq(running(rich, 7), 7); /* the newest went */
    ck_assert_int_eq(host_last(&h, rich[9], "preempt")->reason, GANG_REASON_PREEMPT);
    for (int i = 3; i < 6; i++)
        poor[i] = submit("poor", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(running(poor, 6), 5); /* its own limit ends it */
    ck_assert_int_eq(running(rich, 5), 5);
    runs_nothing_new();
}
END_TEST

START_TEST(the_limit_counts_the_whole_gang)
{
    gang_job_id rich[10], poor;
    fill("rich", rich, 10, 1);
    poor = submit("poor", 6, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, poor), 0);
    protected_by(
        poor, GANG_PROTECTED_PREEMPTOR_USER_LIMIT,
        "10 gangs of queue \"a\" (jobs 10, 9, 8 and others): the user of the job would exceed "
        "its user limit of 5 GPUs in queue \"a\", 0 are used, the job needs 6");
    ck_assert_int_eq(answer->rules[0].bound, 5000);
    runs_nothing_new();
    MUST(gang_job_cancel(h.s, poor));
    poor = submit("poor", 5, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, poor), 5);
}
END_TEST

START_TEST(no_user_falls_below_its_limit)
{
    gang_job_id rich[2], poor;
    fill("rich", rich, 2, 4);
    poor = submit("poor", 3, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, poor), 0);
    protected_by(
        poor, GANG_PROTECTED_USER_LIMIT,
        "2 gangs of queue \"a\" (jobs 2, 1): their users are not above their user limits, or "
        "would fall below them");
    runs_nothing_new();
}
END_TEST

START_TEST(of_an_elastic_gang_the_tasks_above_the_limit_go)
{
    gang_job_id rich = elastic("rich", 10, 2, 0), poor;
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, rich), 10);
    poor = submit("poor", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, poor), 4);
    ck_assert_int_eq(host_tasks(&h, rich), 6);
    gang_job_id more = submit("poor", 2, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, more), 0);
    runs_nothing_new();
}
END_TEST

/* userlimit_first: user limits go before priority, which decides among the jobs of a user. */
START_TEST(priority_counts_among_the_jobs_of_a_user_alone)
{
    gang_job_id rich[9], poor[4], urgent;
    for (int i = 0; i < 9; i++)
        rich[i] = submit("rich", 1, 5 + i % 2);
    host_run(&h, 1);
    for (int i = 0; i < 4; i++)
        poor[i] = submit("poor", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(running(poor, 4), 4);
    ck_assert_int_eq(running(rich, 9), 6);
    ck_assert_int_eq(host_tasks(&h, rich[8]), 0); /* lowest priority first, of these the newest */
    ck_assert_int_eq(host_tasks(&h, rich[6]), 0);
    ck_assert_int_eq(host_tasks(&h, rich[4]), 0);
    urgent = submit("rich", 1, 9);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, urgent), 1);
    ck_assert_int_eq(running(poor, 4), 4);
    ck_assert_int_eq(host_tasks(&h, rich[2]), 0);
}
END_TEST

START_TEST(limits_follow_the_weights_of_users)
{
    struct gang_user_weight weight[] = {{"rich", 3 * GANG_WHOLE}};
    struct gang_queue_spec q = leaf(1);
    gang_job_id rich[10], poor[3];
    q.users = weight;
    q.user_count = 1;
    host_queues(&h, &q, 1);
    fill("rich", rich, 10, 1);
    for (int i = 0; i < 3; i++)
        poor[i] = submit("poor", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(running(poor, 3), 2); /* 2.5 and 7.5 of 10 */
    ck_assert_int_eq(running(rich, 10), 8);
}
END_TEST

START_TEST(the_factor_bounds_what_a_user_keeps)
{
    struct gang_queue_spec q = leaf(100);
    gang_job_id rich[10], poor[5];
    host_queues(&h, &q, 1);
    fill("rich", rich, 10, 1);
    for (int i = 0; i < 5; i++)
        poor[i] = submit("poor", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(running(poor, 5), 0); /* 100 percent: each user may have all */
    q.user_limit_factor = 700000;
    host_queues(&h, &q, 1);
    host_run(&h, 1);
    ck_assert_int_eq(running(poor, 5), 3);
    ck_assert_int_eq(running(rich, 10), 7);
}
END_TEST

START_TEST(without_a_user_limit_no_user_is_above_it)
{
    struct gang_queue_spec q = leaf(0);
    gang_job_id rich[10], poor, urgent;
    host_queues(&h, &q, 1);
    fill("rich", rich, 10, 1);
    poor = submit("poor", 1, 9);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, poor), 0);
    protected_by(
        poor, GANG_PROTECTED_USER_LIMIT,
        "10 gangs of queue \"a\" (jobs 10, 9, 8 and others): their users are not above their "
        "user limits, or would fall below them");
    urgent = submit("rich", 1, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, urgent), 1);
}
END_TEST

START_TEST(what_protects_a_gang_protects_it_from_users_too)
{
    struct gang_queue_spec q = leaf(50);
    struct gang_job_spec *job = host_spec("a", 10, 10, 0);
    gang_job_id poor;
    q.min_runtime_ns = (int64_t)60 * HOST_SECOND;
    host_queues(&h, &q, 1);
    job->user = "rich";
    job->preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id fixed = host_submit(&h, job), young[5];
    host_run(&h, 1);
    poor = submit("poor", 1, 0);
    host_run(&h, 1);
    protected_by(poor, GANG_PROTECTED_JOB,
                 "1 gang of queue \"a\" (job 1): they are not preemptible");
    host_end_job(&h, fixed);
    host_end_job(&h, poor);
    fill("rich", young, 5, 2);
    poor = submit("poor", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, poor), 0);
    host_run_next(&h);
    ck_assert_int_eq(host_tasks(&h, poor), 1);
    q.no_preemption = 1;
    host_queues(&h, &q, 1);
    poor = submit("poor", 2, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, poor), 0);
    protected_by(poor, GANG_PROTECTED_QUEUE,
                 "5 gangs of queue \"a\" (jobs 8, 7, 6 and others): their queue is not preempted");
}
END_TEST

START_TEST(a_job_that_never_preempts_takes_nothing)
{
    gang_job_id rich[10], poor;
    fill("rich", rich, 10, 1);
    struct gang_job_spec *job = host_spec("a", 1, 1, 0);
    job->user = "poor";
    job->never_preempts = 1;
    poor = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, poor), 0);
    ck_assert_int_eq(running(rich, 10), 10);
}
END_TEST

/* The victims that come first free GPUs on two nodes, and the taker needs those of a third one. The
 * user can give up the gang there, or all the others, but not both. */
START_TEST(victims_that_do_not_help_are_spared)
{
    gang_job_id one[7], other, poor;
    struct gang_queue_spec q = leaf(40);
    host_close(&h);
    host_open(&h, 3, 4);
    all.amount = 12000;
    host_queues(&h, &q, 1);
    struct gang_group_spec wide = group_of(1, 1000, 4000);
    struct gang_job_spec job = host_job(&wide, 1);
    job.queue = "a";
    job.user = "rich";
    gang_job_id whole = host_submit(&h, &job);
    host_run(&h, 1);
    fill("third", &other, 1, 1);
    fill("rich", one, 3, 1);
    fill("third", &other, 1, 1);
    fill("rich", one + 3, 3, 1);
    job.user = "poor";
    poor = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, poor), 1);
    ck_assert_int_eq(host_tasks(&h, whole), 0);
    ck_assert_int_eq(running(one, 6), 6);
}
END_TEST

/* Above its guarantee the user limits of a leaf fall when a job stops: without the victim the user
 * of the taker would exceed its own. */
START_TEST(no_victim_stops_for_a_taker_that_its_user_limit_stops_then)
{
    gang_job_id rich[2], poor, taker;
    struct gang_queue_spec q = leaf(50);
    host_close(&h);
    host_open(&h, 1, 15);
    q.within = GANG_PREEMPT_LOWER;
    q.preempt_mode = GANG_PREEMPT_MODE_CANCEL;
    host_queues(&h, &q, 1);
    fill("rich", rich, 2, 6);
    fill("poor", &poor, 1, 3);
    struct gang_job_spec *job = host_spec("a", 1, 1, 0);
    job->user = "other";
    job->never_preempts = 1;
    host_submit(&h, job);
    host_run(&h, 1);
    taker = submit("poor", 6, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, rich[1], "preempt"), 0);
    ck_assert_int_eq(running(rich, 2), 12);
    ck_assert_int_eq(host_tasks(&h, taker), 0);
}
END_TEST

START_TEST(short_of_memory_nothing_is_half_done)
{
    gang_job_id rich[10];
    fill("rich", rich, 10, 1);
    for (long n = 1; n < 60; n++) {
        h.stage.mem.calls = 0;
        gang_job_id poor = submit("poor", 2, 0);
        h.stage.mem.fail_at = h.stage.mem.calls + n;
        gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        host_check(&h);
        gang_job_id nudge = submit("other", 10, 0);
        for (int run = 0; run < 3 && host_tasks(&h, poor) == 0; run++)
            host_run(&h, HOST_SECOND);
        ck_assert_int_eq(host_tasks(&h, poor), 2);
        ck_assert_int_eq(running(rich, 10), 8);
        MUST(gang_job_cancel(h.s, nudge));
        host_end_job(&h, poor);
        host_run(&h, HOST_SECOND);
        ck_assert_int_eq(running(rich, 10), 10);
    }
}
END_TEST

/* ---- random lives ---------------------------------------------------------------------------- */

enum { USERS = 5, JOBS = 400, STEPS = 300 };

static const char *const name[USERS] = {"u0", "u1", "u2", "u3", "u4"};

struct job {
    gang_job_id id;
    int user;
    int64_t priority, tasks;
    bool over;
};

/* What the books know: jobs with the tasks that run. */
static struct job job[JOBS];
static int jobs;
static int64_t weight[USERS], percent, guarantee;
static int64_t limit[USERS]; /* when the preemption that goes on began */
static gang_job_id taker;    /* for which gangs stop now; 0: for none */
static int64_t taker_had;    /* its tasks before */
static int64_t taker_gpus[JOBS], commits;

static struct job *job_of(gang_job_id id)
{
    for (int i = 0; i < jobs; i++)
        if (job[i].id == id)
            return &job[i];
    ck_abort_msg("job %" PRIu64, id);
    return NULL;
}

static int64_t used_by(int user)
{
    int64_t sum = 0;
    for (int i = 0; i < jobs; i++)
        sum += job[i].user == user ? job[i].tasks : 0;
    return sum * 1000;
}

static int64_t quotient_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static void find_limits(void)
{
    int64_t weights = 0, used = 0;
    for (int u = 0; u < USERS; u++) {
        bool counts = false;
        for (int i = 0; i < jobs; i++)
            counts = counts || (job[i].user == u && !job[i].over);
        weights += counts ? weight[u] : 0;
        used += used_by(u);
    }
    int64_t current = used > guarantee ? used : guarantee;
    int64_t even = quotient_up(current * 1000, weights);
    int64_t least = quotient_up(current * percent, 100);
    for (int u = 0; u < USERS; u++)
        limit[u] = (even > least ? even : least) * weight[u] / 1000;
}

/* What the run has granted, the host hears of at its end. */
static int64_t granted(gang_job_id id)
{
    const struct gang__job *j = gang__job_of(h.s, id);
    return j ? j->gang[0].tasks : 0;
}

static void read_tasks(void)
{
    for (int i = 0; i < jobs; i++)
        if (!job[i].over && host_has(&h, job[i].id))
            job[i].tasks = granted(job[i].id);
}

/* Each preemption starts its taker, or adds tasks to it. */
static void check_taker(void)
{
    if (taker)
        ck_assert_int_gt(granted(taker), taker_had);
    taker = 0;
}

static void check_victim(const struct host_event *e)
{
    struct job *w = job_of(e->job);
    const struct job *t = job_of(e->because);
    if (taker != e->because) {
        check_taker();
        read_tasks();
        w->tasks = (int64_t)stage_tasks(&h.stage, e->alloc)->count; /* with those that stop */
        find_limits();
        taker = e->because;
        taker_had = t->tasks;
        commits++;
    }
    w->tasks = granted(w->id);
    if (strcmp(e->op, "taken") == 0) /* they still count */
        w->tasks -= e->task_count ? (int64_t)e->task_count : w->tasks;
    if (w->user == t->user) {
        ck_assert_int_lt(w->priority, t->priority);
        return;
    }
    ck_assert_int_ge(used_by(w->user), limit[w->user]);
    ck_assert_int_le(used_by(t->user) + taker_gpus[t - job], limit[t->user]);
}

static void follow(struct host *host, const struct host_event *e)
{
    (void)host;
    if (strcmp(e->op, "granted") == 0)
        check_taker(); /* before others are preempted */
    else if (e->because != GANG_ID_NONE && e->reason == GANG_REASON_PREEMPT &&
             strcmp(e->op, "state") != 0)
        check_victim(e);
    else if (strcmp(e->op, "state") == 0 && e->state == GANG_JOB_ENDED) {
        job_of(e->job)->tasks = 0;
        job_of(e->job)->over = true;
    }
}

static void open_life(void)
{
    struct gang_user_weight weights[USERS];
    struct gang_queue_spec q = leaf(10 + 10 * below(5));
    jobs = 0;
    taker = 0;
    percent = q.user_limit / (GANG_WHOLE / 100);
    guarantee = 1000 * (6 + below(11));
    all.amount = guarantee;
    for (int u = 0; u < USERS; u++) {
        weight[u] = 500 * (1 + below(4));
        weights[u] = (struct gang_user_weight){name[u], weight[u] * GANG_WHOLE / 1000};
    }
    q.users = weights;
    q.user_count = USERS;
    q.order = one_in(2) ? GANG_ORDER_FAIR : GANG_ORDER_PRIORITY;
    host_close(&h);
    host_open(&h, 2, 8);
    host_queues(&h, &q, 1);
    h.during = follow;
    host_follow_decisions(&h);
}

static void submit_one(void)
{
    struct job *j = &job[jobs];
    int64_t gpus = 1 + below(4), min = one_in(3) ? 1 : gpus;
    *j = (struct job){.user = (int)below(one_in(3) ? 1 : USERS), .priority = below(3)};
    taker_gpus[jobs++] = min;
    j->id = elastic(name[j->user], gpus, min, j->priority);
}

START_TEST(random_lives_take_from_no_user_below_its_limit)
{
    chance_state = test_seed() + (uint64_t)_i;
    open_life();
    for (int step = 0; step < STEPS; step++) {
        for (int64_t n = below(3); n > 0 && jobs < JOBS; n--)
            submit_one();
        for (int64_t n = below(3); n > 0 && jobs > 0; n--) {
            const struct job *j = &job[index_below((size_t)jobs)];
            if (j->tasks > 0 && one_in(2))
                MUST(gang_report_end(h.s, j->id, 1));
            else if (!j->over && one_in(4))
                MUST(gang_job_cancel(h.s, j->id));
        }
        host_run(&h, HOST_SECOND);
        check_taker();
        read_tasks();
        h.count = 0;
    }
    for (int i = 0; i < 3; i++)
        host_run(&h, (int64_t)600 * HOST_SECOND);
    h.count = 0; /* without events nothing is preempted any more */
    host_run(&h, (int64_t)600 * HOST_SECOND);
    ck_assert_uint_eq(h.count, 0);
    ck_assert_int_gt(commits, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("user limit");
    TCase *tests = tcase_create("user limit");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, a_user_takes_what_others_have_above_their_limit);
    tcase_add_test(tests, the_limit_counts_the_whole_gang);
    tcase_add_test(tests, no_user_falls_below_its_limit);
    tcase_add_test(tests, of_an_elastic_gang_the_tasks_above_the_limit_go);
    tcase_add_test(tests, priority_counts_among_the_jobs_of_a_user_alone);
    tcase_add_test(tests, limits_follow_the_weights_of_users);
    tcase_add_test(tests, the_factor_bounds_what_a_user_keeps);
    tcase_add_test(tests, without_a_user_limit_no_user_is_above_it);
    tcase_add_test(tests, what_protects_a_gang_protects_it_from_users_too);
    tcase_add_test(tests, a_job_that_never_preempts_takes_nothing);
    tcase_add_test(tests, victims_that_do_not_help_are_spared);
    tcase_add_test(tests, no_victim_stops_for_a_taker_that_its_user_limit_stops_then);
    tcase_add_test(tests, short_of_memory_nothing_is_half_done);
    tcase_add_loop_test(tests, random_lives_take_from_no_user_below_its_limit, 0, 20);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
