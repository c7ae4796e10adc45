/* SPDX-License-Identifier: Apache-2.0 */
/* A task has one number and one group for the life of its job: through growth, loss, refill,
 * suspension, parts and copies. A suspended task resumes with its number, devices and cores. */
#include "chance.h"
#include "sched/host.h"

enum { GRACE = 60 };

static struct host h;
static gang_job_id low, high;
static struct task_list were;

static struct task_list tasks_of(gang_job_id id, int32_t part)
{
    return *stage_tasks(&h.stage, gang_job_alloc(h.s, id, part));
}

static const struct gang_task *find(const struct task_list *list, int64_t task)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->task[i].task == task)
            return &list->task[i];
    return NULL;
}

static bool is_same_place(const struct gang_task *a, const struct gang_task *b)
{
    return a && b && a->node == b->node && a->group == b->group && a->gpus == b->gpus &&
           memcmp(a->cores, b->cores, sizeof(a->cores)) == 0;
}

/* The job has exactly these tasks. */
static void check_numbers(gang_job_id id, int32_t part, const int64_t *numbers, size_t count)
{
    const struct task_list list = tasks_of(id, part);
    ck_assert_uint_eq(list.count, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(list.task[i].task, numbers[i]);
}
#define CHECK_NUMBERS(id, part, ...)                        \
    check_numbers(id, part, (const int64_t[]){__VA_ARGS__}, \
                  sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* ---- suspension ------------------------------------------------------------------------------ */

/* A gang of `count` tasks of `gpus` GPUs and as many cores on 2 nodes of 4 GPUs and 8 cores; it is
 * being suspended for one that takes all. */
static void suspend(int64_t count, int64_t gpus, int32_t loss)
{
    host_open_slow(&h, 2, 4, GRACE);
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_SUSPEND);
    struct gang_group_spec g = group_of(count, 1000 * gpus, 1000 * gpus);
    g.min = 1;
    struct gang_job_spec job = host_job(&g, 1);
    job.loss = loss;
    job.max_restarts = 3;
    low = host_submit(&h, &job);
    host_run(&h, 1);
    were = tasks_of(low, 0);
    ck_assert_uint_eq(were.count, (size_t)count);
    high = host_gang(&h, NULL, 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "suspend"), 1);
}

static void resume(void)
{
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
}

static void check_resumed(void)
{
    const struct task_list now = tasks_of(low, 0);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
    for (size_t i = 0; i < now.count; i++)
        test_assert(is_same_place(&now.task[i], find(&were, now.task[i].task)));
}

/* Of two tasks on one node, the one that succeeds leaves its own devices. */
START_TEST(a_task_that_succeeds_while_suspending_leaves_the_others_their_places)
{
    suspend(4, 2, GANG_LOSS_COUNT);
    host_report(&h, low, _i, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    resume();
    check_resumed();
    const struct task_list now = tasks_of(low, 0);
    ck_assert_uint_eq(now.count, 3);
    ck_assert_ptr_null(find(&now, _i));
    host_close(&h);
}
END_TEST

/* Cores that another task leaves are not taken instead. */
START_TEST(suspended_tasks_keep_their_cores)
{
    struct gang_group_spec g = group_of(2, 2000, 0);
    struct box box = {.name = "cores", .cpu = 8000, .memory = 64 * GIB, .cores = 8};
    host_open_cluster(&h, 0, 0);
    stage_add(&h.stage, &box);
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.default_queue = "default";
    opts.mem = &h.stage.mem.mem;
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL));
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_SUSPEND);
    struct gang_job_spec job = host_job(&g, 1);
    gang_job_id first = host_submit(&h, &job); /* takes the first cores, */
    host_run(&h, 1);
    low = host_submit(&h, &job); /* the others */
    host_run(&h, 1);
    were = tasks_of(low, 0);
    ck_assert_uint_eq(were.task[0].cores[0] | were.task[1].cores[0], 0xf0);
    MUST(gang_report_end(h.s, first, 1));
    host_run(&h, 1);
    struct gang_group_spec all = group_of(1, 8000, 0);
    struct gang_job_spec big = host_job(&all, 1);
    big.priority = 1;
    high = host_submit(&h, &big);
    host_run(&h, 1);
    resume();
    check_resumed();
    CHECK_NUMBERS(low, 0, 0, 1);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_with_a_gap_resumes_with_it)
{
    suspend(4, 1, GANG_LOSS_COUNT);
    host_report(&h, low, 1, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);

    gang_cluster *cluster; /* a copy resumes them, too */
    gang_sched *copy;
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    MUST(gang_report_tasks(copy, low, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_STOPPED));
    MUST(gang_sched_run(copy, h.now_ns, NULL, NULL));
    MUST(gang_report_end(copy, high, 1));
    MUST(gang_sched_run(copy, h.now_ns, NULL, NULL));
    struct task_list list = {.count = 0};
    MUST(gang_alloc_each(cluster, gang_job_alloc(copy, low, 0), task_list_add, &list));
    ck_assert_uint_eq(list.count, 3);
    for (size_t i = 0; i < 3; i++)
        test_assert(is_same_place(&list.task[i], find(&were, list.task[i].task)));
    gang_sched_free(copy);
    gang_cluster_free(cluster);

    resume();
    check_resumed();
    CHECK_NUMBERS(low, 0, 0, 2, 3);
    host_close(&h);
}
END_TEST

START_TEST(a_task_that_fails_while_suspending_is_lost)
{
    static const int32_t loss[] = {GANG_LOSS_COUNT,  GANG_LOSS_FAIL,   GANG_LOSS_RESTART,
                                   GANG_LOSS_REFILL, GANG_LOSS_SHRINK, GANG_LOSS_SHRINK};
    bool all = _i == 5;
    suspend(4, 1, loss[_i]);
    for (int64_t i = all ? 0 : 1; i < (all ? 4 : 2); i++)
        host_report(&h, low, i, GANG_TASK_FAILED);
    host_run(&h, 1);
    if (loss[_i] == GANG_LOSS_FAIL) {
        host_report_all(&h, low, 0, GANG_TASK_STOPPED);
        host_run(&h, 1);
        ck_assert_int_eq(host_end(&h, low), GANG_END_FAILED);
        ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
        host_close(&h);
        return;
    }
    if (all) { /* below the minimum: as a restart */
        MUST(gang_report_end(h.s, high, 1));
        host_run(&h, 1);
    } else {
        resume();
    }
    bool restarts = all || loss[_i] == GANG_LOSS_RESTART;
    ck_assert_int_eq(host_ops(&h, low, "start"), 1 + restarts);
    ck_assert_int_eq(host_ops(&h, low, "resume"), !restarts);
    ck_assert_int_eq(host_job_info(&h, low).restarts, restarts);
    if (restarts || loss[_i] == GANG_LOSS_REFILL)
        CHECK_NUMBERS(low, 0, 0, 1, 2, 3);
    else
        CHECK_NUMBERS(low, 0, 0, 2, 3);
    host_close(&h);
}
END_TEST

/* A target that the ended tasks meet already: nothing is left to resume. */
START_TEST(a_suspended_job_whose_target_was_met_ends)
{
    suspend(4, 1, GANG_LOSS_COUNT);
    for (int64_t task = 0; task < 2; task++)
        host_report(&h, low, task, GANG_TASK_SUCCEEDED);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    MUST(gang_job_set_target(h.s, low, 2));
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_SUCCESS);
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 0);
    host_close(&h);
}
END_TEST

/* A task ends before the host hears that the gang resumes, and the host refuses that. */
static bool refuses_to_resume;

static void end_and_refuse(struct host *host, const struct host_event *e)
{
    if (refuses_to_resume && strcmp(e->op, "granted") == 0)
        host_report(host, e->job, 1, GANG_TASK_SUCCEEDED);
    host->refuse = refuses_to_resume ? "resume" : NULL;
}

START_TEST(a_task_that_ended_before_a_refused_resume_does_not_resume)
{
    suspend(4, 1, GANG_LOSS_COUNT);
    h.during = end_and_refuse;
    host_follow_decisions(&h);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    MUST(gang_report_end(h.s, high, 1));
    refuses_to_resume = true;
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    refuses_to_resume = false;
    host_run(&h, INT64_C(10) * HOST_SECOND);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 2);
    CHECK_NUMBERS(low, 0, 0, 2, 3);
    host_close(&h);
}
END_TEST

START_TEST(a_critical_task_that_fails_while_suspending_fails_the_job)
{
    static const int32_t role = GANG_ROLE_CRITICAL;
    host_open_slow(&h, 2, 4, GRACE);
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_SUSPEND);
    struct gang_job_spec job = *host_spec(NULL, 4, 4, 0);
    job.roles = &role;
    low = host_submit(&h, &job);
    host_run(&h, 1);
    high = host_gang(&h, NULL, 8, 1);
    host_run(&h, 1);
    host_report(&h, low, 3, GANG_TASK_FAILED);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_FAILED);
    host_close(&h);
}
END_TEST

/* ---- growth, loss, refill -------------------------------------------------------------------- */

/* Group "a" with 3 tasks, "b" with 4; one GPU a task. */
static gang_job_id two_groups(int64_t min, int32_t loss, size_t nodes)
{
    host_open(&h, nodes, 4);
    struct gang_group_spec g[2] = {host_gpus(3, min), host_gpus(4, min)};
    g[0].name = "a";
    g[1].name = "b";
    struct gang_job_spec job = host_job(g, 2);
    job.loss = loss;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    return id;
}

START_TEST(each_group_owns_its_numbers)
{
    gang_job_id id = two_groups(1, GANG_LOSS_COUNT, 1);
    CHECK_NUMBERS(id, 0, 0, 1, 2, 3);
    ck_assert_uint_eq(host_last(&h, id, "grow")->task_count, 2);
    ck_assert_int_eq(host_last(&h, id, "grow")->tasks[1], 2);
    host_report(&h, id, 1, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    CHECK_NUMBERS(id, 0, 0, 2, 3, 4); /* 1 has ended */
    struct box box = {.name = "more", .cpu = 8000, .memory = 64 * GIB, .gpus = 4};
    stage_add(&h.stage, &box);
    host_run(&h, 1);
    CHECK_NUMBERS(id, 0, 0, 2, 3, 4, 5, 6);
    const struct task_list list = tasks_of(id, 0);
    for (size_t i = 0; i < list.count; i++)
        ck_assert_int_eq(list.task[i].group, list.task[i].task >= 3);
    host_close(&h);
}
END_TEST

START_TEST(a_lost_task_comes_back_with_its_number)
{
    gang_job_id id = two_groups(3, GANG_LOSS_REFILL, 2);
    CHECK_NUMBERS(id, 0, 0, 1, 2, 3, 4, 5, 6);
    host_report(&h, id, 1, GANG_TASK_FAILED);
    host_report(&h, id, 5, GANG_TASK_FAILED);
    host_report(&h, id, 4, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    CHECK_NUMBERS(id, 0, 0, 1, 2, 3, 5, 6);
    host_close(&h);
}
END_TEST

START_TEST(a_released_number_is_used_again)
{
    gang_job_id id = two_groups(1, GANG_LOSS_COUNT, 2);
    MUST(gang_job_set_target(h.s, id, 4));
    host_run(&h, 1);
    CHECK_NUMBERS(id, 0, 0, 1, 2, 3);
    MUST(gang_job_set_target(h.s, id, 6));
    host_run(&h, 1);
    CHECK_NUMBERS(id, 0, 0, 1, 2, 3, 4, 5);
    host_close(&h);
}
END_TEST

/* ---- parts ----------------------------------------------------------------------------------- */

START_TEST(numbers_and_groups_go_on_in_each_part)
{
    host_open(&h, 2, 4);
    struct gang_group_spec g[3] = {host_gpus(1, 1), host_gpus(3, 2), host_gpus(2, 2)};
    g[0].name = "prepare";
    g[1].name = "train";
    g[2].name = "watch"; /* starts with the first */
    const struct gang_group_after after = {1, 0, GANG_AFTER_START, 0};
    struct gang_job_spec job = host_job(g, 3);
    job.group_after = &after;
    job.group_after_count = 1;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "start"), 2);
    int32_t train = host_last(&h, id, "start")->part;
    CHECK_NUMBERS(id, 1 - train, 0, 4, 5);
    CHECK_NUMBERS(id, train, 1, 2, 3);
    static const int32_t group[] = {0, 1, 1, 1, 2, 2};
    for (int32_t part = 0; part < 2; part++) {
        const struct task_list list = tasks_of(id, part);
        for (size_t i = 0; i < list.count; i++)
            ck_assert_int_eq(list.task[i].group, group[list.task[i].task]);
    }
    host_report_part(&h, id, train, 2, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    CHECK_NUMBERS(id, train, 1, 3);

    gang_cluster *cluster;
    gang_sched *copy;
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    struct task_list list = {.count = 0};
    MUST(gang_alloc_each(cluster, gang_job_alloc(copy, id, train), task_list_add, &list));
    ck_assert_uint_eq(list.count, 2);
    ck_assert_int_eq(list.task[1].task, 3);
    ck_assert_int_eq(list.task[1].group, 1);
    gang_sched_free(copy);
    gang_cluster_free(cluster);
    host_close(&h);
}
END_TEST

/* A job that runs already when it is submitted keeps the numbers of its places. */
START_TEST(an_adopted_job_keeps_its_numbers)
{
    host_open(&h, 2, 4);
    struct gang_job_spec job = *host_spec(NULL, 4, 2, 0);
    const struct gang_running_spec places[4] = {
        {.node = "n1"}, {.node = NULL}, {.node = "n0"}, {.node = "n1"}};
    job.running = 1;
    job.places = places;
    job.place_count = 4;
    job.hold = 1; /* it does not grow */
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    CHECK_NUMBERS(id, 0, 0, 2, 3);
    ck_assert_uint_eq(host_node_of(&h, id, 2), host_node(&h, 0));
    MUST(gang_job_release(h.s, id));
    host_run(&h, 1);
    CHECK_NUMBERS(id, 0, 0, 1, 2, 3);
    host_close(&h);
}
END_TEST

/* ---- random ---------------------------------------------------------------------------------- */

enum { JOBS = 6, GROUPS = 3, MOST = 12 };

/* What the host knows of a task: it never changes, but when its whole gang starts again. */
struct seen {
    bool runs, ended, suspended;
    struct gang_task at;
};

static struct seen_job {
    gang_job_id id;
    int64_t count[GROUPS];
    bool refills; /* else a lost task does not come again */
    struct seen task[MOST];
} jobs[JOBS];

static struct seen_job *job_of(gang_job_id id)
{
    for (size_t i = 0; i < JOBS; i++)
        if (jobs[i].id == id)
            return &jobs[i];
    ck_abort_msg("no job %" PRIu64, id);
    return NULL;
}

static int32_t group_of_number(const struct seen_job *j, int64_t task)
{
    int32_t group = 0;
    while (task >= j->count[group])
        task -= j->count[group++];
    return group;
}

static bool is_named(const struct gang_event *e, int64_t task)
{
    for (size_t i = 0; i < e->task_count; i++)
        if (e->tasks[i] == task)
            return true;
    return e->task_count == 0;
}

static int32_t launch(const struct gang_event *e, bool resumes)
{
    struct seen_job *j = job_of(e->job);
    static struct task_list list;
    list = *stage_tasks(&h.stage, e->alloc);
    size_t suspended = 0, named = 0;
    for (size_t i = 0; i < MOST; i++)
        suspended += j->task[i].suspended;
    for (size_t i = 0; i < list.count; i++) {
        const struct gang_task *t = &list.task[i];
        ck_assert_int_lt(t->task, MOST);
        struct seen *to = &j->task[t->task];
        ck_assert_int_eq(t->group, group_of_number(j, t->task));
        if (!is_named(e, t->task)) {
            test_assert(to->runs && is_same_place(t, &to->at));
            continue;
        }
        named++;
        ck_assert_msg(!to->runs && !to->ended, "task %" PRId64 " of job %" PRIu64 " starts again",
                      t->task, e->job);
        if (resumes)
            ck_assert_msg(to->suspended && is_same_place(t, &to->at),
                          "task %" PRId64 " of job %" PRIu64 " resumes elsewhere", t->task, e->job);
        *to = (struct seen){true, false, false, *t};
    }
    ck_assert_uint_eq(named, e->task_count ? e->task_count : list.count);
    ck_assert_msg(!resumes || named == suspended, "%zu of %zu tasks resume", named, suspended);
    return 0;
}

static int32_t on_start(const struct gang_event *e, void *user)
{
    (void)user;
    struct seen_job *j = job_of(e->job);
    for (size_t i = 0; i < MOST; i++) /* the whole gang starts anew */
        j->task[i].ended = j->task[i].suspended = false;
    return launch(e, false);
}

static int32_t on_grow(const struct gang_event *e, void *user)
{
    (void)user;
    return launch(e, false);
}

static int32_t on_resume(const struct gang_event *e, void *user)
{
    (void)user;
    return launch(e, true);
}

static int suspends;

static int32_t on_suspend(const struct gang_event *e, void *user)
{
    (void)user;
    struct seen_job *j = job_of(e->job);
    suspends++;
    for (size_t i = 0; i < MOST; i++)
        j->task[i].suspended = j->task[i].runs;
    return 0;
}

static int32_t on_gone(const struct gang_event *e, void *user)
{
    (void)user;
    struct seen_job *j = job_of(e->job);
    for (size_t i = 0; i < MOST; i++)
        if (is_named(e, (int64_t)i))
            j->task[i].runs = false;
    return 1; /* stopped at once */
}

static int32_t on_kill(const struct gang_event *e, void *user)
{
    return on_gone(e, user) & 0;
}

static int32_t on_state(const struct gang_event *e, void *user)
{
    (void)user;
    if (e->state == GANG_JOB_ENDED)
        memset(job_of(e->job), 0, sizeof(struct seen_job));
    return 0;
}

static void submit(struct seen_job *j)
{
    struct gang_group_spec g[GROUPS];
    for (size_t i = 0; i < GROUPS; i++) {
        j->count[i] = 1 + below(4);
        g[i] = group_of(j->count[i], 1000, 1000);
        g[i].min = one_in(2) ? j->count[i] : 1;
    }
    struct gang_job_spec job = host_job(g, GROUPS);
    job.priority = below(4);
    j->refills = one_in(2);
    job.loss = j->refills ? GANG_LOSS_REFILL : GANG_LOSS_COUNT;
    j->id = host_submit(&h, &job);
}

/* A task that runs, also one that is to stop, ends or fails. */
static void report_some(struct seen_job *j)
{
    size_t i = index_below(MOST);
    struct seen *t = &j->task[i];
    if (!j->id || !t->runs)
        return;
    bool stops = t->suspended, fails = one_in(3);
    int32_t what = stops && one_in(2) ? GANG_TASK_STOPPED
                   : fails            ? GANG_TASK_FAILED
                                      : GANG_TASK_SUCCEEDED;
    host_report(&h, j->id, (int64_t)i, what);
    t->runs = false;
    t->suspended = t->suspended && what == GANG_TASK_STOPPED;
    t->ended = what == GANG_TASK_SUCCEEDED || (what == GANG_TASK_FAILED && !j->refills);
    host_run(&h, 1);
}

START_TEST(numbers_last_in_random_lives)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    chance_state = test_seed();
    opts.default_queue = "default";
    ops.start = on_start;
    ops.grow = on_grow;
    ops.resume = on_resume;
    ops.suspend = on_suspend;
    ops.preempt = ops.shrink = on_gone;
    ops.kill = on_kill;
    ops.state = on_state;
    for (int world = 0; world < 20; world++) {
        memset(jobs, 0, sizeof(jobs));
        host_open_with(&h, 3, 4, &opts, &ops);
        host_preempts(&h, 20, GANG_PREEMPT_MODE_SUSPEND);
        for (int step = 0; step < 600; step++) {
            struct seen_job *j = &jobs[index_below(JOBS)];
            if (!j->id)
                submit(j);
            report_some(&jobs[index_below(JOBS)]);
            host_run(&h, below(4));
        }
        host_close(&h);
    }
    ck_assert_int_gt(suspends, 30);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("task_numbers");
    TCase *t = tcase_create("task_numbers");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_task_that_succeeds_while_suspending_leaves_the_others_their_places, 0,
                        4);
    tcase_add_test(t, suspended_tasks_keep_their_cores);
    tcase_add_test(t, a_gang_with_a_gap_resumes_with_it);
    tcase_add_loop_test(t, a_task_that_fails_while_suspending_is_lost, 0, 6);
    tcase_add_test(t, a_suspended_job_whose_target_was_met_ends);
    tcase_add_test(t, a_task_that_ended_before_a_refused_resume_does_not_resume);
    tcase_add_test(t, a_critical_task_that_fails_while_suspending_fails_the_job);
    tcase_add_test(t, each_group_owns_its_numbers);
    tcase_add_test(t, a_lost_task_comes_back_with_its_number);
    tcase_add_test(t, a_released_number_is_used_again);
    tcase_add_test(t, numbers_and_groups_go_on_in_each_part);
    tcase_add_test(t, an_adopted_job_keeps_its_numbers);
    tcase_add_test(t, numbers_last_in_random_lives);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
