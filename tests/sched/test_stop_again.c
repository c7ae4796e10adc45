/* SPDX-License-Identifier: Apache-2.0 */
/* A host that cannot stop tasks now (GANG_EBUSY), does not know them (GANG_ENOENT), or confirms
 * kills later (gang_sched_opts.kill_wait_ns). No device is given away while a task runs on it. */
#include "chance.h"
#include "sched/host.h"

enum { GRACE = 60, AGAIN = 7 };

static struct host h;
static gang_job_id low, high;

static void open_with(int64_t grace_ns, int64_t kill_wait_ns, int32_t preempt_mode)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.stop_again_ns = AGAIN;
    opts.kill_wait_ns = kill_wait_ns;
    host_open_with(&h, 2, 4, &opts, &ops);
    host_preempts(&h, grace_ns, preempt_mode);
    h.lingers = true;
}

/* A gang of all GPUs, and one of higher priority, for which the host stops it as `answer` says. */
static void preempt(const char *op, int32_t answer)
{
    low = host_gang(&h, "default", 8, 0);
    host_run(&h, 1);
    h.refuse = op;
    h.answer = answer;
    high = host_gang(&h, "default", 8, 1);
    host_run(&h, 1);
}

static void check_waits(void)
{
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_PENDING);
    ck_assert_int_eq(host_gpus_free(&h), 0);
}

static bool both_are_right(void)
{
    return host_job_state(&h, high) == GANG_JOB_RUNNING && host_tasks(&h, high) == 8;
}

static const char *const whole_ops[] = {"preempt", "suspend"};
static const int32_t whole_modes[] = {GANG_PREEMPT_MODE_REQUEUE, GANG_PREEMPT_MODE_SUSPEND};

START_TEST(a_busy_host_is_asked_again)
{
    const char *op = whole_ops[_i];
    open_with(GRACE, 0, whole_modes[_i]);
    preempt(op, GANG_EBUSY);
    check_waits();
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_ops(&h, low, op), 1);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + AGAIN);
    host_run(&h, AGAIN - 1);
    ck_assert_int_eq(host_ops(&h, low, op), 1);
    host_run(&h, 1);
    check_waits();
    ck_assert_int_eq(host_ops(&h, low, op), 2);
    ck_assert_uint_eq(host_last(&h, low, op)->because, high);
    ck_assert_int_eq(host_last(&h, low, op)->deadline_ns, 2 + GRACE);
    h.refuse = NULL; /* now it takes the time of its grace */
    host_run(&h, AGAIN);
    ck_assert_int_eq(host_ops(&h, low, op), 3);
    ck_assert_int_eq(gang_sched_next(h.s), 2 + GRACE);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(both_are_right());
    ck_assert_int_eq(host_job_info(&h, low).preemptions, 1);
    host_close(&h);
}
END_TEST

START_TEST(a_host_that_is_busy_until_the_deadline_is_asked_to_kill)
{
    open_with(GRACE, 0, GANG_PREEMPT_MODE_REQUEUE);
    preempt("preempt", GANG_EBUSY);
    while (h.now_ns < 2 + GRACE) {
        ck_assert_int_eq(host_ops(&h, low, "kill"), 0);
        check_waits();
        host_run_next(&h);
    }
    ck_assert_int_eq(host_ops(&h, low, "kill"), 1);
    test_assert(both_are_right());
    host_close(&h);
}
END_TEST

START_TEST(a_kill_that_a_busy_host_refuses_is_repeated)
{
    open_with(_i ? GRACE : 0, 0, GANG_PREEMPT_MODE_REQUEUE);
    preempt("kill", GANG_EBUSY);
    if (_i)
        host_run(&h, GRACE);
    for (int kills = 1; kills < 5; kills++) {
        ck_assert_int_eq(host_ops(&h, low, "kill"), kills);
        check_waits();
        ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
        host_run_next(&h);
    }
    h.refuse = NULL;
    host_run_next(&h);
    test_assert(both_are_right());
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

/* The kill of a gang names no tasks: it concerns those, too, that were asked to stop before. */
START_TEST(a_gang_is_killed_with_its_tasks_that_stop_already)
{
    open_with(GRACE, 50, GANG_PREEMPT_MODE_REQUEUE);
    low = host_submit(&h, host_spec("default", 8, 2, 0));
    host_run(&h, 1);
    MUST(gang_job_set_target(h.s, low, 4));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "shrink"), 1);
    MUST(gang_job_requeue(h.s, low));
    host_run(&h, 1);
    h.refuse = "kill";
    h.answer = GANG_EBUSY;
    host_run(&h, GRACE + 5);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 2); /* the gang, and the tasks */
    h.refuse = NULL;
    host_run(&h, AGAIN);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 3);
    ck_assert_uint_eq(host_last(&h, low, "kill")->task_count, 0);
    host_run(&h, 49);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 3);
    ck_assert_int_eq(host_gpus_free(&h), 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_gpus_free(&h), 4); /* it starts again, as large as its target */
    host_close(&h);
}
END_TEST

START_TEST(a_job_that_the_host_does_not_know_ends)
{
    static const char *const op[] = {"preempt", "suspend", "kill"};
    open_with(_i == 2 ? 0 : GRACE, -1,
              _i == 1 ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE);
    preempt(op[_i], GANG_ENOENT);
    test_assert(both_are_right());
    test_assert(!host_has(&h, low));
    ck_assert_int_eq(host_end(&h, low), GANG_END_FAILED);
    test_assert(strstr(h.log, "does not know"));
    host_close(&h);
}
END_TEST

START_TEST(single_tasks_are_asked_again_or_are_unknown)
{
    open_with(GRACE, 0, GANG_PREEMPT_MODE_REQUEUE);
    low = host_submit(&h, host_spec("default", 8, 2, 0));
    host_run(&h, 1);
    h.refuse = "shrink";
    h.answer = GANG_EBUSY;
    high = host_gang(&h, "default", 4, 1);
    host_run(&h, 1);
    check_waits();
    h.answer = _i ? GANG_ENOENT : 1; /* both: stopped at once */
    host_run(&h, AGAIN);
    ck_assert_int_eq(host_ops(&h, low, "shrink"), 2);
    ck_assert_uint_eq(host_last(&h, low, "shrink")->task_count, 4);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_tasks(&h, low), 4);
    host_close(&h);
}
END_TEST

START_TEST(killed_tasks_keep_their_places_until_the_host_reports)
{
    open_with(_i ? GRACE : 0, -1, GANG_PREEMPT_MODE_REQUEUE);
    preempt(NULL, 0);
    host_run(&h, GRACE);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 1);
    for (int64_t i = 0; i < 20; i++) {
        check_waits();
        host_run(&h, (int64_t)1000 * HOST_SECOND);
    }
    ck_assert_int_eq(host_ops(&h, low, "kill"), 1);
    for (int64_t i = 0; i < 8; i++) {
        check_waits();
        host_report(&h, low, i, GANG_TASK_STOPPED);
        host_run(&h, 1);
    }
    test_assert(both_are_right());
    host_close(&h);
}
END_TEST

START_TEST(the_wait_for_the_report_of_a_kill_can_be_bounded)
{
    open_with(0, 500, GANG_PREEMPT_MODE_REQUEUE);
    preempt(NULL, 0);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + 500);
    host_run(&h, 499);
    check_waits();
    host_run(&h, 1);
    test_assert(both_are_right());
    host_close(&h);
}
END_TEST

static int busy_calls;

static int32_t busy_once(const struct gang_event *e, void *user)
{
    (void)e, (void)user;
    return ++busy_calls == 1 ? GANG_EBUSY : 0;
}

START_TEST(a_gang_that_the_host_would_not_suspend_is_preempted_when_asked_again)
{
    struct gang_host_ops ops = host_table();
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    opts.stop_again_ns = AGAIN;
    ops.preempt = busy_once;
    busy_calls = 0;
    host_open_with(&h, 2, 4, &opts, &ops);
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_SUSPEND);
    preempt("suspend", 1);
    check_waits();
    host_run(&h, AGAIN);
    check_waits(); /* it takes its grace */
    ck_assert_int_eq(host_ops(&h, low, "suspend"), 1);
    ck_assert_int_eq(busy_calls, 2);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(both_are_right());
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

START_TEST(a_cancelled_job_that_the_host_cannot_stop_ends_as_cancelled)
{
    open_with(GRACE, 0, GANG_PREEMPT_MODE_REQUEUE);
    preempt("preempt", GANG_EBUSY);
    MUST(gang_job_cancel(h.s, low));
    host_run(&h, 1);
    check_waits();
    host_run(&h, AGAIN);
    ck_assert_int_eq(host_last(&h, low, "preempt")->end, GANG_END_CANCELLED);
    h.answer = _i ? GANG_ENOENT : 1; /* refused; or unknown to the host */
    host_run(&h, AGAIN);
    ck_assert_int_eq(host_end(&h, low), GANG_END_CANCELLED);
    test_assert(both_are_right());
    host_close(&h);
}
END_TEST

/* Both schedulers ask at the same times, and the copy counts on the same end. */
START_TEST(a_copy_asks_again_too)
{
    gang_cluster *cluster;
    gang_sched *copy;
    open_with(GRACE, -1, GANG_PREEMPT_MODE_REQUEUE);
    preempt("preempt", GANG_EBUSY);
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    ck_assert_int_eq(gang_sched_next(copy), gang_sched_next(h.s));
    MUST(gang_sched_run(copy, h.now_ns + AGAIN, NULL, NULL)); /* without ops: stopped */
    struct gang_job_info info = {.size = sizeof(info)};
    MUST(gang_job_get(copy, high, &info));
    ck_assert_int_eq(info.state, GANG_JOB_RUNNING);
    gang_sched_free(copy);
    gang_cluster_free(cluster);
    host_close(&h);
}
END_TEST

START_TEST(no_start_is_planned_on_killed_tasks_without_a_bound)
{
    struct gang_queue_spec q = host_default_queue(0);
    open_with(0, -1, GANG_PREEMPT_MODE_REQUEUE);
    q.backfill = GANG_BACKFILL_EASY;
    host_queues(&h, &q, 1);
    preempt(NULL, 0); /* `high` gets the places; the other one waits again for its own */
    gang_job_id third = host_gang(&h, "default", 8, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_info(&h, third).planned_ns, 0);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    test_assert(both_are_right());
    host_close(&h);
}
END_TEST

START_TEST(options_out_of_range_are_refused)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    gang_sched *s;
    open_with(0, 0, GANG_PREEMPT_MODE_REQUEUE);
    opts.stop_again_ns = -1;
    ck_assert_int_eq(gang_sched_new(h.stage.c, &opts, NULL, NULL, &s, NULL), GANG_ERANGE);
    opts.stop_again_ns = 0;
    opts.kill_wait_ns = -2;
    ck_assert_int_eq(gang_sched_new(h.stage.c, &opts, NULL, NULL, &s, NULL), GANG_ERANGE);
    host_close(&h);
}
END_TEST

/* ---- random ---------------------------------------------------------------------------------- */

/* What really runs: the host knows, and the scheduler must never start a task on a device of
 * another one. */
enum { NODES = 3, GPUS = 4, JOBS = 200 };

struct real {
    gang_job_id job; /* GANG_ID_NONE: nothing runs there */
    gang_alloc_id alloc;
    int64_t task;
    bool dying; /* asked to stop, or killed; it ends at some time */
};

static struct real real[NODES][GPUS];
static int64_t kill_wait_ns;
static int busy_answers, unknown_answers, kills_confirmed;

static size_t slot_of(gang_node_id node)
{
    for (int i = 0; i < NODES; i++)
        if (host_node(&h, i) == node)
            return (size_t)i;
    ck_abort_msg("no node %" PRIu64, node);
    return 0;
}

static bool is_named(const struct gang_event *e, int64_t task)
{
    for (size_t i = 0; i < e->task_count; i++)
        if (e->tasks[i] == task)
            return true;
    return e->task_count == 0;
}

static int32_t launch(const struct gang_event *e, void *user)
{
    (void)user;
    const struct task_list *list = stage_tasks(&h.stage, e->alloc);
    bool refuses = one_in(15);
    for (size_t i = 0; i < list->count; i++) {
        const struct gang_task *t = &list->task[i];
        if (!is_named(e, t->task))
            continue;
        for (size_t g = 0; g < GPUS; g++) {
            struct real *r = &real[slot_of(t->node)][g];
            if (!(t->gpus >> g & 1))
                continue;
            ck_assert_msg(r->job == GANG_ID_NONE,
                          "job %" PRIu64 " starts on a GPU where task %" PRId64 " of job %" PRIu64
                          " runs",
                          e->job, r->task, r->job);
            if (!refuses)
                *r = (struct real){e->job, e->alloc, t->task, false};
        }
    }
    return refuses;
}

/* The device where a task of an allocation runs; NULL: it does not run. */
static struct real *real_of(gang_alloc_id alloc, int64_t task)
{
    for (size_t i = 0; i < NODES * GPUS; i++)
        if (real[i / GPUS][i % GPUS].job && real[i / GPUS][i % GPUS].alloc == alloc &&
            real[i / GPUS][i % GPUS].task == task)
            return &real[i / GPUS][i % GPUS];
    return NULL;
}

/* What is to stop runs: tasks that the event names, or those that the allocation shows. */
static void check_named(const struct gang_event *e)
{
    for (size_t i = 0; i < e->task_count; i++)
        ck_assert_msg(real_of(e->alloc, e->tasks[i]), "task %" PRId64 " has stopped", e->tasks[i]);
    if (e->tasks) { /* the allocation may also show tasks that op grow comes for later in the run */
        ck_assert_uint_gt(e->task_count, 0);
        return;
    }
    const struct task_list *list = stage_tasks(&h.stage, e->alloc);
    for (size_t i = 0; i < list->count; i++)
        ck_assert_msg(real_of(e->alloc, list->task[i].task), "task %" PRId64 " has stopped",
                      list->task[i].task);
    ck_assert_uint_gt(list->count, 0);
}

/* A task is shown exactly as long as it runs. */
static void check_shown(void)
{
    static struct task_list list;
    size_t shown = 0, runs = 0;
    for (gang_alloc_id id = gang_alloc_next(h.stage.c, GANG_ID_NONE); id;
         id = gang_alloc_next(h.stage.c, id)) {
        bool starts = false; /* else it is a placeholder of the scheduler */
        for (size_t i = 0; i < NODES * GPUS; i++)
            starts =
                starts || (real[i / GPUS][i % GPUS].job && real[i / GPUS][i % GPUS].alloc == id);
        list = *stage_tasks(&h.stage, id);
        for (size_t i = 0; starts && i < list.count; i++)
            ck_assert_msg(real_of(id, list.task[i].task), "task %" PRId64 " is shown, but stopped",
                          list.task[i].task);
        shown += starts ? list.count : 0;
    }
    for (size_t i = 0; i < NODES * GPUS; i++)
        runs += real[i / GPUS][i % GPUS].job != GANG_ID_NONE;
    ck_assert_uint_eq(shown, runs);
}

/* Calls for each device where named tasks of the event run. Returns how many. */
static int each(const struct gang_event *e, void (*what)(struct real *r))
{
    int n = 0;
    for (size_t i = 0; i < NODES * GPUS; i++) {
        struct real *r = &real[i / GPUS][i % GPUS];
        if (r->job != e->job || r->alloc != e->alloc || !is_named(e, r->task))
            continue;
        what(r);
        n++;
    }
    return n;
}

static void dies(struct real *r)
{
    r->dying = true;
}

static void is_gone(struct real *r)
{
    memset(r, 0, sizeof(*r));
}

static int32_t stop(const struct gang_event *e, void *user)
{
    (void)user;
    check_named(e);
    if (one_in(3)) {
        busy_answers++;
        return GANG_EBUSY;
    }
    if (one_in(20)) {
        unknown_answers++;
        each(e, is_gone);
        return GANG_ENOENT;
    }
    if (one_in(4)) {
        each(e, is_gone);
        return 1;
    }
    each(e, dies);
    return 0;
}

/* A gang that the host does not suspend is asked to stop instead. */
static int32_t stop_in_memory(const struct gang_event *e, void *user)
{
    (void)user;
    check_named(e);
    if (one_in(4))
        return 1;
    if (one_in(3))
        return GANG_EBUSY;
    each(e, dies);
    return 0;
}

static int32_t kill_them(const struct gang_event *e, void *user)
{
    (void)user;
    check_named(e);
    if (one_in(2)) {
        busy_answers++;
        return GANG_EBUSY;
    }
    if (kill_wait_ns == 0)
        each(e, is_gone);
    else
        each(e, dies);
    return 0;
}

/* A task that is to stop has done so: the host reports it. */
static void some_die(void)
{
    for (size_t i = 0; i < NODES * GPUS; i++) {
        struct real *r = &real[i / GPUS][i % GPUS];
        if (r->job == GANG_ID_NONE || !r->dying || !one_in(6))
            continue;
        gang_result result =
            gang_report_tasks(h.s, r->job, 0, r->alloc, &r->task, 1, GANG_TASK_STOPPED);
        test_assert(result == GANG_OK || result == GANG_ESTALE);
        kills_confirmed++;
        is_gone(r);
    }
}

/* One that runs and was not asked to stop may end by itself; the others of its gang too. */
static void some_end(void)
{
    size_t i = index_below(NODES * GPUS);
    gang_job_id job = real[i / GPUS][i % GPUS].job;
    if (job == GANG_ID_NONE)
        return;
    gang_result result = gang_report_end(h.s, job, 1);
    test_assert(result == GANG_OK || result == GANG_ESTALE);
    for (size_t k = 0; k < NODES * GPUS; k++)
        if (real[k / GPUS][k % GPUS].job == job)
            is_gone(&real[k / GPUS][k % GPUS]);
}

/* _i: kills are confirmed, or not */
START_TEST(no_task_starts_on_a_device_where_another_one_runs)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    static const int32_t mode[] = {GANG_PREEMPT_MODE_REQUEUE, GANG_PREEMPT_MODE_SUSPEND,
                                   GANG_PREEMPT_MODE_CANCEL};
    chance_state = test_seed();
    kill_wait_ns = opts.kill_wait_ns = _i ? -1 : 0;
    ops.start = ops.resume = ops.grow = launch;
    ops.preempt = ops.shrink = stop;
    ops.suspend = stop_in_memory;
    ops.kill = kill_them;
    for (int world = 0; world < 12; world++) {
        memset(real, 0, sizeof(real));
        host_open_with(&h, NODES, GPUS, &opts, &ops);
        struct gang_queue_spec q = host_default_queue(below(3) * 10 * HOST_SECOND);
        q.preempt_mode = mode[world % 3];
        q.backfill = (int32_t)below(3);
        host_queues(&h, &q, 1);
        int jobs = 0;
        for (int step = 0; step < 4000; step++) {
            if (jobs < JOBS && one_in(4)) {
                int64_t count = 1 + below(8);
                struct gang_job_spec *job = host_spec("default", count, 1 + below(count), below(4));
                job->time_limit_ns = one_in(3) ? (5 + below(100)) * HOST_SECOND : 0;
                (void)host_submit(&h, job);
                jobs++;
            }
            some_die();
            if (one_in(5))
                some_end();
            int64_t wait = gang_sched_timeout_ns(h.s, h.now_ns), pause = below(4) * HOST_SECOND;
            host_run(&h, wait > 0 && wait < pause ? wait : pause);
            check_shown();
        }
        ck_assert_uint_eq(gang_job_next(h.s, GANG_ID_NONE), GANG_ID_NONE); /* all have ended */
        ck_assert_int_eq(host_gpus_free(&h), NODES * GPUS);
        for (size_t i = 0; i < NODES * GPUS; i++)
            ck_assert_uint_eq(real[i / GPUS][i % GPUS].job, GANG_ID_NONE);
        host_close(&h);
    }
    ck_assert_int_gt(busy_answers, 100);
    ck_assert_int_gt(unknown_answers, 3);
    ck_assert_int_gt(kills_confirmed, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stop_again");
    TCase *t = tcase_create("stop_again");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, a_busy_host_is_asked_again, 0, 2);
    tcase_add_test(t, a_host_that_is_busy_until_the_deadline_is_asked_to_kill);
    tcase_add_loop_test(t, a_kill_that_a_busy_host_refuses_is_repeated, 0, 2);
    tcase_add_test(t, a_gang_is_killed_with_its_tasks_that_stop_already);
    tcase_add_loop_test(t, a_job_that_the_host_does_not_know_ends, 0, 3);
    tcase_add_loop_test(t, single_tasks_are_asked_again_or_are_unknown, 0, 2);
    tcase_add_loop_test(t, killed_tasks_keep_their_places_until_the_host_reports, 0, 2);
    tcase_add_test(t, the_wait_for_the_report_of_a_kill_can_be_bounded);
    tcase_add_test(t, a_gang_that_the_host_would_not_suspend_is_preempted_when_asked_again);
    tcase_add_loop_test(t, a_cancelled_job_that_the_host_cannot_stop_ends_as_cancelled, 0, 2);
    tcase_add_test(t, a_copy_asks_again_too);
    tcase_add_test(t, no_start_is_planned_on_killed_tasks_without_a_bound);
    tcase_add_test(t, options_out_of_range_are_refused);
    tcase_add_loop_test(t, no_task_starts_on_a_device_where_another_one_runs, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
