/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of several gangs: what is under way for a gang (a handover, its old places, its first slice)
 * when its target changes. */
#include "sched/host.h"

enum { GRACE = 60 };

static struct host h;

/* Two nodes of four GPUs. */
static void open_slow(void)
{
    host_open_slow(&h, 2, 4, GRACE);
}

static void close_it(void)
{
    host_close(&h);
}

/* Two gangs of so many tasks of one GPU, the second after the first has started. */
static struct gang_job_spec *two_gangs(int64_t first, int64_t second, int32_t when)
{
    static struct gang_group_spec group[2];
    static struct gang_group_after after;
    static struct gang_job_spec job;
    group[0] = host_gpus(first, first);
    group[1] = host_gpus(second, second);
    after = (struct gang_group_after){1, 0, when, 0};
    job = host_job(group, 2);
    job.group_after = &after;
    job.group_after_count = 1;
    return &job;
}

static bool holds(gang_job_id id, int32_t part)
{
    return gang_job_alloc(h.s, id, part) != GANG_ID_NONE;
}

static int preempt_calls;
static int32_t known;

/* The host does not know the gang that it is asked about first. */
static void unknown_first(struct host *host, const struct host_event *e)
{
    bool asks = strcmp(e->op, "preempt") == 0 || strcmp(e->op, "suspend") == 0;
    host->refuse = NULL;
    host->answer = GANG_ENOENT;
    if (asks && preempt_calls++ == 0) {
        host->refuse = e->op;
        known = !e->part;
    }
}

START_TEST(a_job_ends_as_a_whole_when_the_host_does_not_know_one_gang)
{
    gang_job_id low = host_submit(&h, two_gangs(2, 2, GANG_AFTER_START));
    host_run(&h, 1);
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_REQUEUE);
    preempt_calls = 0;
    h.during = unknown_first;
    gang_job_id high = host_gang(&h, "", _i ? 8 : 6, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 2);
    int32_t reason = host_last(&h, low, "preempt")->reason;
    ck_assert_int_eq(reason, _i ? GANG_REASON_PREEMPT : GANG_REASON_END);
    host_report_all(&h, low, known, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_FAILED);
    test_assert(!host_has(&h, low));
    ck_assert_int_eq(host_tasks(&h, high), _i ? 8 : 6);
}
END_TEST

static int32_t count_place(const struct gang_placement *place, void *user)
{
    (void)place;
    ++*(int *)user;
    return 0;
}

/* It does not resume: the other gang alone has places that it would resume on. */
START_TEST(a_suspended_gang_that_the_host_does_not_know_keeps_no_places)
{
    int places = 0;
    gang_job_id low = host_submit(&h, two_gangs(2, 2, GANG_AFTER_START));
    host_run(&h, 1);
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_SUSPEND);
    preempt_calls = 0;
    h.during = unknown_first;
    host_gang(&h, "", 8, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "suspend"), 2);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    MUST(gang_job_suspended_each(h.s, low, count_place, &places));
    ck_assert_int_eq(places, 2);
    host_report_all(&h, low, known, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_FAILED);
}
END_TEST

static gang_job_id unknown_job;

static void unknown_is_asked(struct host *host, const struct host_event *e)
{
    host->refuse = e->job == unknown_job ? "preempt" : NULL;
    host->answer = GANG_ENOENT;
}

static gang_job_id pair_of(struct host *host, int64_t priority)
{
    gang_job_id id = host_gang(host, "", 2, priority);
    host_run(host, 1);
    return id;
}

/* Two gangs are asked to move, and the host does not know one of them. Though its job has not
 * ended, as its other gang is still stopping, it does not move any more. */
START_TEST(a_gang_that_the_host_does_not_know_does_not_move)
{
    static struct host m;
    const struct gang_group_spec four = group_of(2, 4000, 4000), two = group_of(1, 2000, 2000);
    struct gang_job_spec wide = host_job(&four, 1), first = host_job(&two, 1);
    gang_job_id beside[6];
    host_open_slow(&m, 5, 4, GRACE);
    beside[0] = pair_of(&m, 9);
    gang_job_id low = host_submit(&m, two_gangs(2, 2, GANG_AFTER_START));
    host_run(&m, 1);
    beside[1] = pair_of(&m, 9);
    for (int i = 2; i < 4; i++) {
        pair_of(&m, 9);
        beside[i] = pair_of(&m, 9);
    }
    beside[4] = pair_of(&m, 9);
    beside[5] = pair_of(&m, 9);
    ck_assert_int_eq(host_gpus_free(&m), 0);
    first.priority = 5;
    host_submit(&m, &first);
    host_run(&m, 1); /* one gang of the job stops */
    ck_assert_int_eq(host_ops(&m, low, "preempt"), 1);
    int32_t stops = host_last(&m, low, "preempt")->part;
    MUST(gang_report_end(m.s, beside[5], 1));
    gang_job_id moves = pair_of(&m, 0);
    for (int i = 0; i < 5; i++)
        MUST(gang_report_end(m.s, beside[i], 1));
    unknown_job = low;
    m.during = unknown_is_asked;
    gang_job_id high = host_submit(&m, &wide);
    host_run(&m, 1); /* and gang_sched_check(): what moves does not end */
    ck_assert_int_eq(host_ops(&m, low, "preempt"), 2);
    ck_assert_int_eq(host_last(&m, low, "preempt")->reason, GANG_REASON_MOVE);
    ck_assert_int_eq(host_ops(&m, moves, "preempt"), 1);
    host_report_all(&m, moves, 0, GANG_TASK_STOPPED);
    host_run(&m, 1);
    ck_assert_int_eq(host_job_state(&m, high), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&m, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_ops(&m, low, "start"), 2);
    host_report_all(&m, low, stops, GANG_TASK_STOPPED);
    host_run(&m, 1);
    ck_assert_int_eq(host_end(&m, low), GANG_END_FAILED);
    host_close(&m);
}
END_TEST

/* In a queue that cancels preempted jobs, the whole job ends. */
START_TEST(a_job_ends_as_a_whole_when_one_gang_is_preempted)
{
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_CANCEL);
    gang_job_id low = host_submit(&h, two_gangs(2, 2, GANG_AFTER_START));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, low), 4); /* of both gangs, like min and count */
    ck_assert_int_eq(host_job_info(&h, low).min, 4);
    ck_assert_int_eq(host_job_info(&h, low).count, 4);
    gang_job_id high = host_gang(&h, "", 6, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 2);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_report_all(&h, low, 1, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_PREEMPTED);
    ck_assert(!host_has(&h, low));
    ck_assert_int_eq(host_tasks(&h, high), 6);
    ck_assert_int_eq(host_gpus_free(&h), 2);
}
END_TEST

/* A job is cancelled while one of its gangs moves: the gang does not start at its new place, though
 * another gang of the job is still in its grace. */
START_TEST(a_gang_cancelled_while_it_moves_does_not_start)
{
    const struct gang_group_spec four = group_of(1, 4000, 4000);
    struct gang_job_spec wide = host_job(&four, 1);
    gang_job_id other = host_gang(&h, "", 2, 0);
    host_run(&h, 1);
    gang_job_id low =
        host_submit(&h, two_gangs(2, 2, GANG_AFTER_START)); /* beside it, and on the other node */
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, low), 4);
    MUST(gang_report_end(h.s, other, 1)); /* two and two are free */
    host_run(&h, 1);
    gang_job_id high = host_submit(&h, &wide);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 1);
    int32_t moves = host_last(&h, low, "preempt")->part;
    MUST(gang_job_cancel(h.s, low));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 2);
    host_report_all(&h, low, moves, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_ops(&h, low, "start"), 2);
    host_report_all(&h, low, 1 - moves, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_CANCELLED);
}
END_TEST

/* All that ran of a job has failed, and another gang of it is still stopping: so is the job. */
START_TEST(a_job_stops_when_its_last_running_gang_fails)
{
    struct gang_job_spec *job = two_gangs(2, 2, GANG_AFTER_START);
    job->loss = GANG_LOSS_FAIL;
    gang_job_id low = host_submit(&h, job);
    host_run(&h, 1);
    host_gang(&h, "", 6, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 1);
    int32_t stops = host_last(&h, low, "preempt")->part;
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_RUNNING);
    host_report_all(&h, low, 1 - stops, GANG_TASK_FAILED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_last(&h, low, "state")->state, GANG_JOB_STOPPING);
    host_report_all(&h, low, stops, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_FAILED);
}
END_TEST

/* A gang of a running job waits for capacity only: max_running does not block it. */
START_TEST(max_running_does_not_split_a_job)
{
    struct gang_queue_spec q[2] = {host_default_queue(GRACE), host_default_queue(GRACE)};
    struct gang_quota four = {"gpu", 4000, NULL, 0, 0};
    q[0].max_running = 1;
    q[1].name = "owner";
    q[1].guaranteed = &four;
    q[1].guaranteed_count = 1;
    host_queues(&h, q, 2);
    gang_job_id low = host_submit(&h, two_gangs(4, 2, GANG_AFTER_START));
    host_run(&h, 1);
    ck_assert(holds(low, 0) && holds(low, 1));
    gang_job_id owner = host_gang(&h, "owner", 2, 0);
    struct gang_job_spec *same =
        two_gangs(2, 2, GANG_AFTER_END); /* asks for the same, and has its turn first */
    same->queue = "default";
    same->priority = 5;
    same->never_preempts = true;
    gang_job_id waits = host_submit(&h, same);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, waits), GANG_JOB_PENDING);
    host_gang(&h, "owner", 2, 0);
    host_run(&h, 1);
    host_report_all(&h, low, 1, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert(holds(low, 0) && !holds(low, 1));
    MUST(gang_report_end(h.s, owner, 1));
    host_run(&h, 1);
    ck_assert(holds(low, 1));
    ck_assert_int_eq(host_job_state(&h, waits), GANG_JOB_PENDING);
}
END_TEST

/* Others leave so that it may grow; by then it wants no more. */
START_TEST(a_gang_whose_target_fell_does_not_grow_by_its_handover)
{
    gang_job_id low = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    gang_job_id high = host_submit(&h, host_spec("", 8, 4, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, high), 4);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    MUST(gang_job_set_target(h.s, high, 4));
    host_run(&h, 1);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    for (int i = 0; i < 3; i++)
        host_run(&h, GRACE);
    ck_assert_int_eq(host_ops(&h, high, "grow"), 0);
    ck_assert_int_eq(host_tasks(&h, high), 4);
    ck_assert_int_eq(host_tasks(&h, low), 4); /* it is back */
}
END_TEST

/* Victims stop for the second gang of a job; meanwhile the first gang, its dependency, is
 * preempted. */
START_TEST(a_dependent_gang_does_not_start_before_a_preempted_gang)
{
    host_gang(&h, "", 2, 9);
    host_run(&h, 1);
    gang_job_id low = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    struct gang_job_spec *job = two_gangs(2, 4, GANG_AFTER_START);
    job->priority = 1;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert(holds(id, 0) && !holds(id, 1));
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    gang_job_id high = host_gang(&h, "", 2, 9);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, id, "preempt"), 1);
    host_report_all(&h, id, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, high), 2);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert(holds(id, 0) || !holds(id, 1));
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert(holds(id, 0));
    for (int i = 0; i < 3; i++) {
        host_run(&h, 1);
        host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    }
    ck_assert(holds(id, 0) && holds(id, 1));
}
END_TEST

/* A resumed gang has no more tasks than its current target. */
START_TEST(a_gang_that_resumes_with_a_lower_target_releases_the_surplus)
{
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_SUSPEND);
    gang_job_id low = host_submit(&h, host_spec("", 8, 2, 0));
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, low), 8);
    gang_job_id high = host_gang(&h, "", 8, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "suspend"), 1);
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    MUST(gang_job_set_target(h.s, low, 3));
    host_run(&h, 1);
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
    ck_assert_int_eq(host_job_info(&h, low).count, 3);
    ck_assert_int_eq(host_tasks(&h, low), 3);
}
END_TEST

/* A job of a higher priority takes the GPUs of one of two gangs of the job: which one? */
static int32_t suspend_one(const struct gang_job_spec *job, gang_job_id *low, gang_job_id *high)
{
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_SUSPEND);
    *low = host_submit(&h, job);
    host_run(&h, 1);
    *high = host_gang(&h, "", 4, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, *low, "suspend"), 1);
    return host_last(&h, *low, "suspend")->part;
}

/* Of a job that restarts, or is requeued, a suspended gang begins anew, too. */
START_TEST(a_suspended_gang_of_a_job_that_restarts_does_not_resume)
{
    int places = 0;
    struct gang_job_spec *job = two_gangs(4, 4, GANG_AFTER_START);
    job->loss = GANG_LOSS_RESTART;
    job->max_restarts = 1;
    gang_job_id low, high;
    int32_t part = suspend_one(job, &low, &high);
    host_report_all(&h, low, part, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, low), 4);
    if (_i) {
        MUST(gang_job_requeue(h.s, low));
        host_run(&h, 1);
    }
    host_report_all(&h, low, 1 - part, _i ? GANG_TASK_STOPPED : GANG_TASK_FAILED);
    host_run(&h, 1);
    MUST(gang_job_suspended_each(h.s, low, count_place, &places));
    ck_assert_int_eq(places, 0);
    MUST(gang_report_end(h.s, high, 1));
    for (int i = 0; i < 3; i++) { /* tasks of a restarted job may stop first */
        host_report_all(&h, low, 1 - part, GANG_TASK_STOPPED);
        host_run(&h, 1);
    }
    ck_assert_int_eq(host_tasks(&h, low), 8);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 0);
    ck_assert_int_eq(host_ops(&h, low, "start"), 4);
}
END_TEST

/* It was counted as about to run, too: the queue started fewer jobs. (host_run() checks it.) */
START_TEST(a_job_that_runs_while_a_gang_waits_for_victims_counts_once)
{
    struct gang_group_spec group[3] = {group_of(1, 1000, 0), host_gpus(8, 8), group_of(1, 1000, 0)};
    struct gang_group_after after[2] = {{1, 0, GANG_AFTER_END, 0}, {2, 0, GANG_AFTER_SUCCESS, 0}};
    struct gang_job_spec job = host_job(group, 3);
    host_preempts(&h, GRACE, GANG_PREEMPT_MODE_REQUEUE);
    gang_job_id low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    job.group_after = after;
    job.group_after_count = 2;
    job.priority = 5;
    gang_job_id high = host_submit(&h, &job);
    host_run(&h, 1);
    host_report_all(&h, high, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 1);
    ck_assert(!holds(high, 1) && holds(high, 2));
    host_report_all(&h, low, 0, GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert(holds(high, 1) && holds(high, 2));
}
END_TEST

/* The time to refill it counts from when it resumes; meanwhile the other gang runs. */
START_TEST(a_suspended_gang_that_lost_a_task_does_not_fail_its_job)
{
    struct gang_job_spec *job = two_gangs(4, 4, GANG_AFTER_START);
    job->loss = GANG_LOSS_REFILL;
    job->refill_ns = 1000;
    gang_job_id low, high;
    int32_t part = suspend_one(job, &low, &high);
    const int64_t lost = 4 * part; /* numbers go on in the second gang */
    MUST(gang_report_tasks(h.s, low, part, GANG_ID_NONE, &lost, 1, GANG_TASK_FAILED));
    host_run(&h, 1);
    host_report_all(&h, low, part, GANG_TASK_STOPPED);
    for (int i = 0; i < 3; i++)
        host_run(&h, 2000);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_RUNNING);
    MUST(gang_report_end(h.s, high, 1));
    for (int i = 0; i < 2; i++)
        host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
    ck_assert_int_eq(host_tasks(&h, low), 8);
}
END_TEST

/* At the beginning of time as at any other: the time limit is of the job, from its start on. */
START_TEST(a_second_gang_does_not_restart_the_time_limit_of_its_job)
{
    int64_t from = _i * 1000;
    h.now_ns = from;
    gang_job_id other = host_gang(&h, "", 4, 0);
    host_run(&h, 0);
    struct gang_job_spec *job = two_gangs(4, 4, GANG_AFTER_START);
    job->time_limit_ns = 100;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    ck_assert(holds(id, 0));
    ck_assert(!holds(id, 1));
    MUST(gang_report_end(h.s, other, 1));
    host_run(&h, 50);
    ck_assert(holds(id, 1));
    ck_assert_int_eq(host_job_info(&h, id).ends_ns, from + 100);
    ck_assert_int_eq(host_job_info(&h, id).started_ns, from);
}
END_TEST

/* With least attained service, the use of a preempted gang moves the other gangs of its job back,
 * also those that wait already. */
START_TEST(service_of_one_gang_counts_for_the_waiting_gangs_of_its_job)
{
    struct gang_queue_spec q[2] = {host_default_queue(GRACE), host_default_queue(GRACE)};
    struct gang_quota four = {"gpu", 4000, NULL, 0, 0};
    struct gang_group_spec group[3] = {host_gpus(2, 2), host_gpus(2, 2), host_gpus(4, 4)};
    struct gang_group_after after[2] = {{1, 0, GANG_AFTER_START, 0}, {2, 0, GANG_AFTER_END, 0}};
    struct gang_job_spec job = host_job(group, 3), *fixed;
    q[0].order = GANG_ORDER_LEAST_SERVED;
    q[1].name = "owner";
    q[0].guaranteed = q[1].guaranteed = &four;
    q[0].guaranteed_count = q[1].guaranteed_count = 1;
    host_queues(&h, q, 2);
    h.lingers = false;
    fixed = host_spec("default", 4, 4, 0);
    fixed->preemptible = GANG_NOT_PREEMPTIBLE;
    host_submit(&h, fixed);
    host_run(&h, 1);
    job.group_after = after;
    job.group_after_count = 2;
    gang_job_id first = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert(holds(first, 0) && holds(first, 1));
    group[0] = group[1] = group_of(1, 1000, 0);
    gang_job_id second = host_submit(&h, &job);
    host_run(&h, 1);
    host_report_all(&h, first, 0, GANG_TASK_SUCCEEDED);
    host_report_all(&h, second, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 1000000);
    ck_assert(holds(first, 1) && !holds(first, 2));
    ck_assert(holds(second, 1) && !holds(second, 2));
    gang_job_id owner = host_gang(&h, "owner", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_tasks(&h, owner), 4);
    ck_assert_int_eq(host_tasks(&h, first), 0);
    MUST(gang_report_end(h.s, owner, 1));
    host_run(&h, 1);
    ck_assert(holds(second, 2));
}
END_TEST

/* A held gang does not start, though it has its places and waits for its first slice. */
START_TEST(a_gang_held_before_its_first_quantum_does_not_start)
{
    struct gang_queue_spec q = host_default_queue(GRACE);
    q.quantum_ns = 100;
    q.quantum_rows = 2;
    host_queues(&h, &q, 1);
    gang_job_id first = host_gang(&h, "", 8, 0), second = host_gang(&h, "", 8, 0);
    struct gang_group_spec g = group_of(8, 2000, 0);
    struct gang_job_spec job = host_job(&g, 1);
    MUST(gang_job_cancel(h.s, first));
    MUST(gang_job_cancel(h.s, second));
    first = host_submit(&h, &job);
    second = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, first), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_job_state(&h, second), GANG_JOB_SUSPENDED);
    MUST(gang_job_hold(h.s, second));
    for (int i = 0; i < 6; i++) {
        host_run(&h, 50);
        if (host_ops(&h, first, "suspend") > 0)
            host_report_all(&h, first, 0, GANG_TASK_STOPPED);
    }
    ck_assert_int_eq(host_ops(&h, second, "start"), 0);
    MUST(gang_job_release(h.s, second));
    for (int i = 0; i < 6; i++) {
        host_run(&h, 50);
        if (host_job_state(&h, first) == GANG_JOB_RUNNING)
            host_report_all(&h, first, 0, GANG_TASK_STOPPED);
    }
    ck_assert_int_eq(host_ops(&h, second, "start"), 1);
}
END_TEST

/* A gang has its places and waits to grow, because another gang of its job runs. When it loses the
 * places before its first slice, it waits to start. */
START_TEST(a_gang_that_waits_to_grow_before_its_first_quantum_releases_all)
{
    struct gang_queue_spec q = host_default_queue(GRACE);
    struct gang_group_spec group[2] = {group_of(1, 1000, 0), group_of(8, 2000, 0)};
    struct gang_group_spec other = group_of(8, 2000, 0);
    struct gang_group_after after = {1, 0, GANG_AFTER_START, 0};
    struct gang_job_spec job = host_job(group, 2), fill = host_job(&other, 1);
    group[1].min = 4;
    other.count = other.min = 7; /* a core or two is left in its row */
    q.quantum_ns = 100;
    q.quantum_rows = 2;
    host_queues(&h, &q, 1);
    gang_job_id fills = host_submit(&h, &fill);
    host_run(&h, 1);
    job.group_after = &after;
    job.group_after_count = 1;
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert(holds(id, 1));
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    for (gang_node_id n = gang_node_next(h.stage.c, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_node_next(h.stage.c, n))
        MUST(gang_node_set_state(h.stage.w, n, GANG_NODE_DRAINING));
    for (int i = 0; i < 6; i++) { /* its turn comes: its places are gone */
        host_run(&h, 50);
        host_report_all(&h, fills, 0, GANG_TASK_STOPPED);
        host_report_all(&h, id, 0, GANG_TASK_STOPPED);
    }
    ck_assert(!holds(id, 1));
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("job_gangs");
    TCase *t = tcase_create("job_gangs");
    tcase_add_checked_fixture(t, open_slow, close_it);
    tcase_add_loop_test(t, a_job_ends_as_a_whole_when_the_host_does_not_know_one_gang, 0, 2);
    tcase_add_test(t, a_suspended_gang_that_the_host_does_not_know_keeps_no_places);
    tcase_add_test(t, a_gang_that_the_host_does_not_know_does_not_move);
    tcase_add_test(t, a_job_ends_as_a_whole_when_one_gang_is_preempted);
    tcase_add_test(t, a_gang_cancelled_while_it_moves_does_not_start);
    tcase_add_test(t, a_job_stops_when_its_last_running_gang_fails);
    tcase_add_test(t, max_running_does_not_split_a_job);
    tcase_add_test(t, a_gang_whose_target_fell_does_not_grow_by_its_handover);
    tcase_add_test(t, a_dependent_gang_does_not_start_before_a_preempted_gang);
    tcase_add_test(t, a_gang_that_resumes_with_a_lower_target_releases_the_surplus);
    tcase_add_loop_test(t, a_suspended_gang_of_a_job_that_restarts_does_not_resume, 0, 2);
    tcase_add_test(t, a_job_that_runs_while_a_gang_waits_for_victims_counts_once);
    tcase_add_test(t, a_suspended_gang_that_lost_a_task_does_not_fail_its_job);
    tcase_add_loop_test(t, a_second_gang_does_not_restart_the_time_limit_of_its_job, 0, 2);
    tcase_add_test(t, service_of_one_gang_counts_for_the_waiting_gangs_of_its_job);
    tcase_add_test(t, a_gang_held_before_its_first_quantum_does_not_start);
    tcase_add_test(t, a_gang_that_waits_to_grow_before_its_first_quantum_releases_all);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
