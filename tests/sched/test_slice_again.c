/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a quantum, when the host cannot suspend or kill a gang now (GANG_EBUSY), does not know
 * the gang (GANG_ENOENT), or confirms kills later (gang_sched_opts.kill_wait_ns). */
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

/* A gang of one task on so many of the 8 cores of a node. */
static gang_job_id put(int64_t cores, int64_t gib)
{
    struct gang_group_spec g = group_of(1, cores * 1000, 0);
    g.memory_bytes = gib * GIB;
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "q";
    gang_job_id id = host_submit(&h, &job);
    host_run(&h, 0);
    return id;
}

static bool runs(gang_job_id id)
{
    return host_has(&h, id) && host_job_state(&h, id) == GANG_JOB_RUNNING;
}

static bool waits_for_turn(gang_job_id id)
{
    return host_has(&h, id) && host_job_state(&h, id) == GANG_JOB_SUSPENDED &&
           host_job_info(&h, id).slice_row > 0;
}

/* Two nodes, a wait of 2 s before the host is asked again; `a` and `b` take turns on one node, and
 * `other` runs on the other node. The quantum of `a` is over, and the host answers so. */
static gang_job_id a, b, other;

static void open_answering(int64_t grace_s, int64_t kill_wait_ns, const char *op, int32_t answer)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    opts.stop_again_ns = 2 * SECOND;
    opts.kill_wait_ns = kill_wait_ns;
    host_open_with(&h, 2, 4, &opts, &ops);
    q.name = "q";
    q.quantum_ns = 10 * SECOND;
    q.grace_ns = grace_s * SECOND;
    host_queues(&h, &q, 1);
    a = put(8, 1);
    other = put(8, 1);
    b = put(8, 1);
    test_assert(runs(a) && runs(other) && waits_for_turn(b));
    h.refuse = op;
    h.answer = answer;
    h.lingers = true;
    host_run(&h, 10 * SECOND);
}

static void check_busy(int asked, int64_t next_ns)
{
    ck_assert_int_eq(host_ops(&h, a, "suspend"), asked);
    ck_assert_int_eq(host_ops(&h, a, "preempt"), 0);
    ck_assert_int_eq(host_ops(&h, b, "start"), 0); /* its places are not free */
    test_assert(runs(a) && runs(other) && !runs(b));
    ck_assert_int_eq(gang_sched_next(h.s), next_ns);
}

/* _i: with a grace. Other things that happen do not make the host be asked sooner. */
START_TEST(a_host_that_cannot_suspend_now_is_asked_again)
{
    open_answering(_i ? 9 : 0, 0, "suspend", GANG_EBUSY);
    for (int asked = 1; asked < 4; asked++) {
        check_busy(asked, h.now_ns + 2 * SECOND);
        ck_assert_int_eq(host_last(&h, a, "suspend")->deadline_ns, _i ? 19 * SECOND : h.now_ns);
        int64_t due = h.now_ns + 2 * SECOND;
        host_run(&h, SECOND);
        gang_job_id waits = put(1, 60); /* a pass, in which the host is not asked */
        check_busy(asked, due);
        MUST(gang_job_cancel(h.s, waits));
        host_run(&h, SECOND - 1);
        check_busy(asked, due);
        h.refuse = asked == 3 ? NULL : h.refuse;
        host_run(&h, 1);
    }
    ck_assert_int_eq(host_ops(&h, a, "suspend"), 4);
    if (_i) {
        test_assert(!runs(b));
        ck_assert_int_eq(gang_sched_next(h.s), 19 * SECOND); /* of its first grace */
        host_report_all(&h, a, 0, GANG_TASK_STOPPED);
        host_run(&h, 0);
    }
    test_assert(waits_for_turn(a) && runs(b) && runs(other));
    ck_assert_int_eq(host_ops(&h, a, "kill") + host_ops(&h, a, "preempt"), 0);
    ck_assert_int_eq(host_job_info(&h, a).preemptions, 0);
    host_run_next(&h); /* the turn of b is over */
    test_assert(_i || runs(a));
    host_close(&h);
}
END_TEST

/* Without a grace it is asked for ever; with one it is asked to kill, which it cannot either. */
START_TEST(a_host_that_is_busy_for_ever_is_asked_at_its_times_only)
{
    open_answering(_i ? 5 : 0, 0, "suspend", GANG_EBUSY);
    for (int asked = 1; asked < (_i ? 4 : 200); asked++) {
        check_busy(asked, h.now_ns + 2 * SECOND);
        h.refuse = _i && asked == 3 ? "kill" : h.refuse;
        host_run_next(&h);
    }
    for (int killed = 1; _i && killed < 200; killed++) {
        check_busy(3, h.now_ns + 2 * SECOND);
        ck_assert_int_eq(host_ops(&h, a, "kill"), killed);
        host_run_next(&h);
    }
    host_end_job(&h, a); /* whatever the host could not do: it is over */
    test_assert(runs(b) && runs(other));
    host_close(&h);
}
END_TEST

START_TEST(a_busy_host_that_refuses_then_preempts_the_gang)
{
    open_answering(5, 0, "suspend", GANG_EBUSY);
    h.answer = 1;
    h.lingers = false;
    host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, a, "preempt"), 1);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_PENDING);
    test_assert(runs(b) && runs(other));
    host_close(&h);
}
END_TEST

START_TEST(a_busy_gang_can_be_cancelled)
{
    open_answering(5, 0, "suspend", GANG_EBUSY);
    h.lingers = false;
    MUST(gang_job_cancel(h.s, a));
    host_run(&h, 0);
    test_assert(!host_has(&h, a) && runs(b));
    ck_assert_int_eq(host_end(&h, a), GANG_END_CANCELLED);
    host_close(&h);
}
END_TEST

/* After op suspend was refused, op preempt finds that the host does not know the gang. */
static void unknown_after_refusal(struct host *host, const struct host_event *e)
{
    bool asks = strcmp(e->op, "suspend") == 0;
    if (asks || strcmp(e->op, "preempt") == 0) {
        host->refuse = asks ? "suspend" : "preempt";
        host->answer = asks ? 1 : GANG_ENOENT;
    }
}

/* At once (0), or after it was busy (1); a kill (2); op preempt, after a refusal (3). */
START_TEST(a_gang_that_the_host_does_not_know_at_the_end_of_its_quantum_ends)
{
    static const char *const op[] = {"suspend", "suspend", "kill", "preempt"};
    open_answering(5, -1, op[_i], _i == 1 ? GANG_EBUSY : GANG_ENOENT);
    if (_i == 1) {
        h.answer = GANG_ENOENT;
        host_run_next(&h);
    } else if (_i == 2) {
        test_assert(runs(a) && !runs(b));
        host_run(&h, 5 * SECOND);
    } else if (_i == 3) {
        host_report_all(&h, a, 0, GANG_TASK_STOPPED);
        host_run(&h, 0);
        h.during = unknown_after_refusal;
        host_run_next(&h); /* b is not suspended, and not known */
        ck_assert_int_eq(host_end(&h, b), GANG_END_FAILED);
        test_assert(!host_has(&h, b) && runs(a) && runs(other));
        host_close(&h);
        return;
    }
    test_assert(!host_has(&h, a) && runs(b) && runs(other));
    ck_assert_int_eq(host_end(&h, a), GANG_END_FAILED);
    test_assert(strstr(h.log, "does not know"));
    ck_assert_int_eq(host_ops(&h, a, "preempt"), 0);
    ck_assert_int_eq(host_ops(&h, a, "kill"), _i == 2);
    ck_assert_int_eq(host_queue(&h, "q").rows, 1);
    MUST(gang_cluster_check(h.stage.c, NULL));
    host_close(&h);
}
END_TEST

/* When memory has been short, the host is asked again. */
START_TEST(an_unknown_gang_ends_when_memory_was_short)
{
    open_answering(_i ? 5 : 0, 0, "suspend", GANG_EBUSY);
    h.answer = GANG_ENOENT;
    h.now_ns += 2 * SECOND;
    host_run_short_of_memory(&h);
    test_assert(!host_has(&h, a) && runs(b) && runs(other));
    ck_assert_int_gt(host_ops(&h, a, "suspend"), 2); /* memory was short for the stop, too */
    ck_assert_int_eq(host_ops(&h, a, "kill") + host_ops(&h, a, "preempt"), 0);
    ck_assert_int_eq(host_end(&h, a), GANG_END_FAILED);
    MUST(gang_cluster_check(h.stage.c, NULL));
    host_close(&h);
}
END_TEST

/* Also if the kill at the end of its quantum before was to be confirmed without a bound. */
START_TEST(an_unknown_gang_that_was_killed_before_ends_when_memory_was_short)
{
    open_answering(5, -1, NULL, 0);
    host_run(&h, 5 * SECOND);
    ck_assert_int_eq(host_ops(&h, a, "kill"), 1);
    host_report_all(&h, a, 0, GANG_TASK_STOPPED);
    host_run(&h, 0);
    test_assert(waits_for_turn(a) && runs(b));
    host_run(&h, 10 * SECOND);
    host_report_all(&h, b, 0, GANG_TASK_STOPPED);
    host_run(&h, 0);
    test_assert(runs(a) && waits_for_turn(b));
    h.refuse = "suspend";
    h.answer = GANG_ENOENT;
    h.now_ns += 10 * SECOND;
    host_run_short_of_memory(&h);
    test_assert(!host_has(&h, a));
    ck_assert_int_eq(host_end(&h, a), GANG_END_FAILED);
    host_close(&h);
}
END_TEST

static int suspensions;

/* Knows the second gang of a job alone. */
static void only_second_known(struct host *host, const struct host_event *e)
{
    host->refuse = NULL;
    host->answer = GANG_ENOENT;
    if (strcmp(e->op, "suspend") == 0 && suspensions++ == 0)
        host->refuse = e->op;
}

/* The other gang is asked to stop: the job has ended. */
START_TEST(a_job_ends_as_a_whole_when_one_gang_is_unknown)
{
    struct gang_group_spec group[2] = {group_of(1, 8000, 0), group_of(1, 8000, 0)};
    struct gang_group_after after = {1, 0, GANG_AFTER_START, 0};
    struct gang_job_spec job = host_job(group, 2);
    job.queue = "q";
    job.group_after = &after;
    job.group_after_count = 1;
    open_answering(0, 0, NULL, 0);
    MUST(gang_job_cancel(h.s, a));
    MUST(gang_job_cancel(h.s, other));
    MUST(gang_job_cancel(h.s, b));
    host_run(&h, 5 * SECOND);
    a = host_submit(&h, &job);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, a), 2);
    b = put(8, 1);
    other = put(8, 1);
    test_assert(runs(a) && waits_for_turn(b));
    suspensions = 0;
    h.during = only_second_known;
    host_run(&h, 10 * SECOND);
    for (int i = 0; i < 3 && host_has(&h, a); i++)
        host_run(&h, 1);
    test_assert(!host_has(&h, a) && runs(b) && runs(other));
    ck_assert_int_eq(host_end(&h, a), GANG_END_FAILED);
    host_close(&h);
}
END_TEST

/* Without a bound (0), or until 3 s have passed (1). */
START_TEST(a_kill_at_the_end_of_a_quantum_is_confirmed)
{
    open_answering(5, _i ? 3 * SECOND : -1, "suspend", GANG_EBUSY);
    while (h.now_ns < 16 * SECOND)
        host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, a, "kill"), 1);
    check_busy(3, _i ? 19 * SECOND : INT64_MAX);
    host_run(&h, 3 * SECOND - 1);
    test_assert(!runs(b));
    if (!_i) {
        host_run(&h, 1000 * SECOND);
        check_busy(3, INT64_MAX);
        host_report_all(&h, a, 0, GANG_TASK_STOPPED);
    }
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, a, "kill"), 1);
    test_assert(waits_for_turn(a) && runs(b) && runs(other));
    host_close(&h);
}
END_TEST

START_TEST(a_copy_asks_again_at_the_same_time)
{
    gang_cluster *cluster;
    gang_sched *copy;
    struct gang_job_info info = {.size = sizeof(info)};
    open_answering(5, 0, "suspend", GANG_EBUSY);
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    ck_assert_int_eq(gang_sched_next(copy), 12 * SECOND);
    MUST(gang_sched_check(copy, NULL));
    MUST(gang_sched_run(copy, 12 * SECOND, NULL, NULL)); /* without ops: suspended at once */
    MUST(gang_job_get(copy, b, &info));
    ck_assert_int_eq(info.state, GANG_JOB_RUNNING);
    gang_sched_free(copy);
    gang_cluster_free(cluster);
    host_close(&h);
}
END_TEST

/* A gang shrinks, and then stops as a whole. Its tasks stop one after the other, each as it was
 * asked; until the last one has stopped, no gang of the next row runs in their places. _i: the one
 * that was asked first stops last. */
START_TEST(all_steps_of_a_gang_that_leaves_are_waited_for)
{
    struct gang_group_spec group = group_of(2, 4000, 0);
    struct gang_queue_spec q = host_default_queue(60 * SECOND);
    host_open(&h, 1, 4);
    q.quantum_ns = 10 * SECOND;
    host_queues(&h, &q, 1);
    h.lingers = true;
    group.min = 1;
    struct gang_job_spec job = host_job(&group, 1);
    gang_job_id leaves = host_submit(&h, &job);
    host_run(&h, 0);
    group = group_of(1, 8000, 0);
    gang_job_id next = host_submit(&h, &job);
    host_run(&h, 0);
    test_assert(runs(leaves) && host_tasks(&h, leaves) == 2 && waits_for_turn(next));
    MUST(gang_job_set_target(h.s, leaves, 1));
    host_run(&h, SECOND);
    MUST(gang_job_cancel(h.s, leaves));
    host_run(&h, SECOND);
    for (int64_t stopped = 0; stopped < 2; stopped++) {
        host_run(&h, 20 * SECOND);
        ck_assert_int_eq(host_ops(&h, next, "start"), 0);
        host_report(&h, leaves, _i ? stopped : 1 - stopped, GANG_TASK_STOPPED);
        host_run(&h, SECOND);
    }
    test_assert(!host_has(&h, leaves) && runs(next));
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slice_again");
    TCase *t = tcase_create("slice_again");
    tcase_add_loop_test(t, a_host_that_cannot_suspend_now_is_asked_again, 0, 2);
    tcase_add_loop_test(t, a_host_that_is_busy_for_ever_is_asked_at_its_times_only, 0, 2);
    tcase_add_test(t, a_busy_host_that_refuses_then_preempts_the_gang);
    tcase_add_test(t, a_busy_gang_can_be_cancelled);
    tcase_add_loop_test(t, a_gang_that_the_host_does_not_know_at_the_end_of_its_quantum_ends, 0, 4);
    tcase_add_loop_test(t, an_unknown_gang_ends_when_memory_was_short, 0, 2);
    tcase_add_test(t, an_unknown_gang_that_was_killed_before_ends_when_memory_was_short);
    tcase_add_test(t, a_job_ends_as_a_whole_when_one_gang_is_unknown);
    tcase_add_loop_test(t, a_kill_at_the_end_of_a_quantum_is_confirmed, 0, 2);
    tcase_add_test(t, a_copy_asks_again_at_the_same_time);
    tcase_add_loop_test(t, all_steps_of_a_gang_that_leaves_are_waited_for, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
