/* SPDX-License-Identifier: Apache-2.0 */
/* Time slicing: which gangs share nodes and for how long, what they hold meanwhile, and what
 * follows when a gang is lost, cancelled, refused or preempted. */
#include "place/state/records.h"
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

/* One queue "q" that slices by 10 seconds, on `nodes` nodes of 8 cores and 64 GiB. */
static struct gang_queue_spec slicing(void)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "q";
    q.quantum_ns = 10 * SECOND;
    return q;
}

static void open_queue(size_t nodes, int64_t rows, int64_t grace_s)
{
    struct gang_queue_spec q = slicing();
    host_open(&h, nodes, 4);
    q.quantum_rows = rows;
    q.grace_ns = grace_s * SECOND;
    host_queues(&h, &q, 1);
}

static struct gang_job_spec *cores_spec(const char *queue, int64_t tasks, int64_t cores,
                                        int64_t gib)
{
    static struct gang_group_spec g;
    static struct gang_job_spec job;
    g = group_of(tasks, cores * 1000, 0);
    g.memory_bytes = gib * GIB;
    g.min = tasks;
    job = host_job(&g, 1);
    job.queue = queue;
    return &job;
}

/* A gang of so many tasks of so many cores and GiB. */
static gang_job_id put_cores(const char *queue, int64_t tasks, int64_t cores, int64_t gib)
{
    gang_job_id id = host_submit(&h, cores_spec(queue, tasks, cores, gib));
    host_run(&h, 0);
    return id;
}

/* A gang of `tasks` whole nodes. */
static gang_job_id put_nodes(int64_t tasks)
{
    return put_cores("q", tasks, 8, 1);
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

/* ---- turns ----------------------------------------------------------------------------------- */

START_TEST(two_gangs_of_the_whole_cluster_alternate)
{
    open_queue(2, 0, 0);
    gang_job_id a = put_nodes(2);
    test_assert(runs(a));
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX); /* one row: no turns */
    host_run(&h, 3 * SECOND);
    gang_job_id b = put_nodes(2);
    test_assert(runs(a) && waits_for_turn(b));
    ck_assert_int_eq(host_ops(&h, b, "start"), 0);
    struct gang_queue_info q = host_queue(&h, "q");
    ck_assert_int_eq(q.rows, 2);
    ck_assert_int_eq(q.quantum_rows, 4);
    ck_assert_int_eq(q.quantum_end_ns, 13 * SECOND);
    host_run_next(&h);
    ck_assert_int_eq(h.now_ns, 13 * SECOND);
    test_assert(waits_for_turn(a) && runs(b));
    ck_assert_int_eq(host_ops(&h, a, "suspend"), 1);
    ck_assert_int_eq(host_last(&h, a, "suspend")->reason, GANG_REASON_SLICE);
    ck_assert_int_eq(host_ops(&h, b, "start"), 1);
    host_run_next(&h);
    ck_assert_int_eq(h.now_ns, 23 * SECOND);
    test_assert(runs(a) && waits_for_turn(b));
    ck_assert_int_eq(host_ops(&h, a, "resume"), 1);
    ck_assert_int_eq(host_job_info(&h, a).suspended_ns, 10 * SECOND);
    host_end_job(&h, a);
    test_assert(runs(b));
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
    host_end_job(&h, b);
    ck_assert_int_eq(stage_node(&h.stage, gang_node_next(h.stage.c, GANG_ID_NONE)).cpu_free, 8000);
    host_close(&h);
}
END_TEST

START_TEST(a_suspended_gang_keeps_places_memory_and_cores)
{
    open_queue(1, 0, 0);
    gang_node_id node = gang_node_next(h.stage.c, GANG_ID_NONE);
    gang_job_id a = put_cores("q", 1, 8, 20), b = put_cores("q", 1, 8, 20);
    ck_assert_int_eq(stage_node(&h.stage, node).memory_free, 24 * GIB);
    ck_assert_int_eq(stage_node(&h.stage, node).cpu_free, 0);
    gang_alloc_id alloc = gang_job_alloc(h.s, a, 0);
    host_run_next(&h);
    ck_assert_int_eq(stage_node(&h.stage, node).memory_free, 24 * GIB);
    ck_assert_int_eq(stage_node(&h.stage, node).cpu_free, 0);
    ck_assert_uint_eq(gang_job_alloc(h.s, a, 0),
                      alloc); /* it has it, and its cores, all the while */
    ck_assert_int_eq(stage_tasks(&h.stage, alloc)->task[0].cpu_milli, 8000);
    gang_job_id c = put_cores("q", 1, 8, 25); /* memory does not take turns */
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING);
    gang_job_id d = put_cores("q", 1, 8, 24);
    test_assert(waits_for_turn(d));
    host_end_job(&h, a);
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING);
    host_end_job(&h, b);
    test_assert(runs(c) && waits_for_turn(d)); /* in the place of b, for the rest of its slice */
    MUST(gang_cluster_check(h.stage.c, NULL));
    host_close(&h);
}
END_TEST

START_TEST(max_rows_bounds_the_rows)
{
    open_queue(1, 2, 0);
    gang_job_id a = put_nodes(1), b = put_nodes(1), c = put_nodes(1);
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING);
    host_end_job(&h, b);
    test_assert(runs(a) && waits_for_turn(c));
    host_close(&h);
}
END_TEST

/* Feitelson's picture: alternates fill the holes of a row that is not full, and yield. */
START_TEST(gangs_of_other_rows_run_on_idle_nodes_of_the_active_row)
{
    open_queue(4, 0, 0);
    gang_job_id a = put_nodes(3), b = put_nodes(2), c = put_nodes(1);
    /* rows: a and c; b. */
    test_assert(runs(a) && runs(c) && waits_for_turn(b));
    ck_assert_int_eq(host_job_info(&h, c).slice_row, host_job_info(&h, a).slice_row);
    host_run_next(&h);
    test_assert(runs(b) && !runs(a));
    gang_node_id of_b0 = host_node_of(&h, b, 0), of_b1 = host_node_of(&h, b, 1);
    gang_node_id of_c = host_node_of(&h, c, 0);
    test_assert(runs(c) == (of_c != of_b0 && of_c != of_b1)); /* where it is not in the way */
    host_run_next(&h);
    test_assert(runs(a) && runs(c) && !runs(b));
    host_close(&h);
}
END_TEST

START_TEST(rows_are_packed_when_gangs_end)
{
    open_queue(2, 0, 0);
    gang_job_id a = put_nodes(2), b = put_nodes(1), c = put_nodes(2), d = put_nodes(1);
    ck_assert_int_eq(host_queue(&h, "q").rows, 3); /* a; b and d; c */
    host_end_job(&h, a);
    ck_assert_int_eq(host_queue(&h, "q").rows, 2);
    host_end_job(&h, b);
    ck_assert_int_eq(host_queue(&h, "q").rows, 2);
    host_end_job(&h, c);
    ck_assert_int_eq(host_queue(&h, "q").rows, 1);
    test_assert(runs(d));
    host_close(&h);
}
END_TEST

START_TEST(the_next_row_waits_until_the_last_task_has_stopped)
{
    open_queue(2, 0, 5);
    gang_job_id a = put_nodes(2), b = put_nodes(2);
    host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, a, "suspend"), 1);
    ck_assert_int_eq(host_last(&h, a, "suspend")->deadline_ns, 15 * SECOND);
    test_assert(runs(a) && !runs(b));
    host_report(&h, a, 0, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    test_assert(runs(a) && !runs(b));
    host_report(&h, a, 1, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    test_assert(!runs(a) && runs(b));
    ck_assert_int_eq(host_ops(&h, a, "kill"), 0);
    ck_assert_int_eq(gang_sched_next(h.s), 22 * SECOND); /* counted from when it ran */
    host_run_next(&h);
    host_run_next(&h); /* b says nothing: the grace passes */
    ck_assert_int_eq(h.now_ns, 27 * SECOND);
    ck_assert_int_eq(host_ops(&h, b, "kill"), 1);
    test_assert(runs(a) && waits_for_turn(b));
    host_close(&h);
}
END_TEST

/* Its nodes are not given away before the host has killed it. */
START_TEST(a_gang_that_the_host_cannot_kill_now_keeps_its_turn)
{
    open_queue(2, 0, 5);
    gang_job_id a = put_nodes(2), b = put_nodes(2);
    host_run_next(&h);
    h.refuse = "kill";
    h.answer = GANG_EBUSY;
    host_run_next(&h); /* a says nothing: the grace passes */
    ck_assert_int_eq(host_ops(&h, a, "kill"), 1);
    ck_assert_int_eq(host_last(&h, a, "kill")->deadline_ns, 0);
    test_assert(runs(a) && !runs(b));
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + SECOND);
    host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, a, "kill"), 2);
    test_assert(!runs(b));
    if (_i)
        host_report_all(&h, a, 0, GANG_TASK_STOPPED);
    h.refuse = NULL;
    host_run(&h, _i ? 0 : SECOND);
    ck_assert_int_eq(host_ops(&h, a, "kill"), _i ? 2 : 3);
    test_assert(waits_for_turn(a) && runs(b));
    host_close(&h);
}
END_TEST

START_TEST(a_time_limit_counts_running_time_only)
{
    open_queue(1, 0, 0);
    struct gang_job_spec *job = cores_spec("q", 1, 8, 1);
    job->time_limit_ns = 25 * SECOND;
    gang_job_id a = host_submit(&h, job), b;
    host_run(&h, 0);
    b = put_nodes(1);
    for (int i = 0; i < 4; i++)
        host_run_next(&h); /* a: 0 to 10, 20 to 30, 40 to 45 */
    ck_assert_int_eq(h.now_ns, 40 * SECOND);
    test_assert(runs(a));
    host_run_next(&h);
    ck_assert_int_eq(h.now_ns, 45 * SECOND);
    test_assert(!host_has(&h, a) && runs(b));
    ck_assert_int_eq(host_end(&h, a), GANG_END_TIMEOUT);
    host_close(&h);
}
END_TEST

START_TEST(a_deadline_ends_a_suspended_gang)
{
    open_queue(1, 0, 0);
    struct gang_job_spec *job = cores_spec("q", 1, 8, 1);
    job->deadline_ns = 15 * SECOND;
    gang_job_id a = host_submit(&h, job), b, c;
    host_run(&h, 0);
    b = put_nodes(1);
    job = cores_spec("q", 1, 8, 1);
    job->deadline_ns = 40 * SECOND;
    job->time_limit_ns = 35 * SECOND;
    c = host_submit(&h, job);
    host_run(&h, 0);
    test_assert(waits_for_turn(c));
    host_run_next(&h); /* it had no turn yet, and can no longer run for so long */
    ck_assert_int_eq(h.now_ns, 5 * SECOND + 1);
    ck_assert_int_eq(host_end(&h, c), GANG_END_DEADLINE);
    ck_assert_int_eq(host_ops(&h, c, "start"), 0);
    host_run_next(&h);
    test_assert(waits_for_turn(a) && runs(b));
    host_run_next(&h);
    ck_assert_int_eq(h.now_ns, 15 * SECOND);
    ck_assert_int_eq(host_end(&h, a), GANG_END_TIMEOUT);
    test_assert(runs(b));
    host_close(&h);
}
END_TEST

START_TEST(the_expected_end_counts_pauses)
{
    open_queue(1, 0, 0);
    struct gang_job_spec *job = cores_spec("q", 1, 8, 1);
    job->time_limit_ns = 30 * SECOND;
    gang_job_id a = host_submit(&h, job);
    host_run(&h, 0);
    ck_assert_int_eq(host_job_info(&h, a).ends_ns, 30 * SECOND);
    (void)put_nodes(1);
    host_run_next(&h);
    ck_assert_int_eq(host_job_info(&h, a).ends_ns, 0); /* it does not run */
    host_run_next(&h);
    ck_assert_int_eq(host_job_info(&h, a).ends_ns, 40 * SECOND);
    host_close(&h);
}
END_TEST

START_TEST(a_starved_gang_gets_the_next_row)
{
    struct gang_queue_spec q = slicing();
    host_open(&h, 2, 4);
    q.quantum_rows = 1;
    q.max_bypasses = 2;
    host_queues(&h, &q, 1);
    gang_job_id a = put_nodes(1), wide = put_nodes(2), b = put_nodes(1);
    host_end_job(&h, b);
    gang_job_id c = put_nodes(1), d;
    host_end_job(&h, c);
    test_assert(host_job_info(&h, wide).starved);
    d = put_nodes(1);
    ck_assert_int_eq(host_job_state(&h, d), GANG_JOB_PENDING);
    host_end_job(&h, a);
    test_assert(runs(wide));
    host_close(&h);
}
END_TEST

/* ---- GPUs ------------------------------------------------------------------------------------ */

START_TEST(gpus_are_sliced_only_if_the_queue_allows_it)
{
    struct gang_queue_spec q = slicing();
    host_open(&h, 1, 4);
    host_queues(&h, &q, 1);
    gang_job_id a = host_gang(&h, "q", 3, 0), b = host_gang(&h, "q", 3, 0);
    host_run(&h, 0);
    test_assert(runs(a));
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_PENDING);
    ck_assert_int_eq(host_gpus_free(&h), 1);
    host_end_job(&h, a);
    host_end_job(&h, b);
    q.quantum_gpus = 1;
    host_queues(&h, &q, 1);
    a = host_gang(&h, "q", 3, 0);
    b = host_gang(&h, "q", 3, 0);
    host_run(&h, 0);
    test_assert(runs(a) && waits_for_turn(b));
    ck_assert_int_eq(host_gpus_free(&h), 0);
    host_run_next(&h);
    test_assert(!runs(a) && runs(b));
    ck_assert_int_eq(stage_tasks(&h.stage, gang_job_alloc(h.s, b, 0))->task[0].gpu_count, 1);
    host_end_job(&h, a);
    host_end_job(&h, b);
    ck_assert_int_eq(host_gpus_free(&h), 4);
    host_close(&h);
}
END_TEST

/* ---- nodes of the matrix --------------------------------------------------------------------- */

START_TEST(sliced_and_unsliced_jobs_share_no_nodes)
{
    struct gang_queue_spec q[2] = {slicing(), GANG_QUEUE_SPEC_INIT};
    host_open(&h, 2, 4);
    q[1].name = "plain";
    host_queues(&h, q, 2);
    gang_job_id a = put_cores("q", 1, 2, 1), p = put_cores("plain", 1, 2, 1);
    test_assert(runs(a) && runs(p));
    test_assert(host_node_of(&h, a, 0) != host_node_of(&h, p, 0));
    gang_job_id b = put_cores("q", 1, 8, 1), full = put_cores("plain", 1, 8, 1);
    test_assert(waits_for_turn(b)); /* not beside p, though there are 6 cores: beside a in time */
    ck_assert_int_eq(host_job_state(&h, full), GANG_JOB_PENDING);
    host_end_job(&h, a);
    test_assert(runs(b) && !runs(full));
    host_end_job(&h, b);
    test_assert(runs(full)); /* the node is for all again */
    host_close(&h);
}
END_TEST

START_TEST(leaves_below_one_queue_share_its_rows)
{
    struct gang_queue_spec q[5] = {slicing(), slicing(), slicing(), slicing(), slicing()};
    const char *const names[] = {"top", "a", "b", "own", "none"};
    host_open(&h, 1, 4);
    for (size_t i = 0; i < 5; i++) {
        q[i].name = names[i];
        q[i].parent = i ? "top" : NULL;
        q[i].reclaim = GANG_PREEMPT_NEVER;
        q[i].quantum_ns = i == 0 ? 10 * SECOND : i == 3 ? SECOND : i == 4 ? -1 : 0;
    }
    host_queues(&h, q, 5);
    ck_assert_int_eq(host_queue(&h, "b").quantum_ns, 10 * SECOND);
    ck_assert_int_eq(host_queue(&h, "own").quantum_ns, SECOND);
    ck_assert_int_eq(host_queue(&h, "none").quantum_ns, 0);
    gang_job_id a = put_cores("a", 1, 8, 1), b = put_cores("b", 1, 8, 1),
                own = put_cores("own", 1, 1, 1), none = put_cores("none", 1, 1, 1);
    test_assert(runs(a) && waits_for_turn(b));
    ck_assert_int_eq(host_job_state(&h, own), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, none), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

START_TEST(an_exclusive_job_is_not_sliced)
{
    open_queue(2, 0, 0);
    struct gang_job_spec *job = cores_spec("q", 1, 1, 1);
    job->request.exclusive = 1;
    gang_job_id a = host_submit(&h, job), b = put_nodes(1), c = put_nodes(1);
    test_assert(runs(a) && runs(b) && waits_for_turn(c));
    ck_assert_int_eq(host_job_info(&h, a).slice_row, 0);
    host_run_next(&h);
    test_assert(runs(a) && !runs(b) && runs(c));
    host_close(&h);
}
END_TEST

/* ---- failures ------------------------------------------------------------------------------ */

START_TEST(a_gang_cancelled_before_its_first_quantum_ends_at_once)
{
    open_queue(1, 0, 0);
    gang_job_id a = put_nodes(1), b = put_nodes(1), c = put_nodes(1);
    host_run_next(&h);
    MUST(gang_job_cancel(h.s, a)); /* suspended */
    MUST(gang_job_cancel(h.s, c)); /* never ran */
    host_run(&h, 0);
    test_assert(!host_has(&h, a) && !host_has(&h, c) && runs(b));
    ck_assert_int_eq(host_ops(&h, a, "preempt"), 1);
    ck_assert_int_eq(host_ops(&h, c, "start"), 0);
    ck_assert_int_eq(host_ops(&h, c, "preempt"), 0); /* no callback announced it */
    ck_assert_int_eq(host_queue(&h, "q").rows, 1);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_cancelled_while_suspended_has_its_grace)
{
    open_queue(1, 0, 5);
    h.lingers = true;
    gang_job_id a = put_nodes(1), b = put_nodes(1);
    host_run_next(&h);
    host_report(&h, a, 0, GANG_TASK_STOPPED);
    host_run(&h, 0);
    test_assert(waits_for_turn(a) && runs(b));
    MUST(gang_job_cancel(h.s, a));
    host_run(&h, 0);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_STOPPING);
    test_assert(runs(b));
    gang_job_id c = put_nodes(1); /* no new gang joins a node that a gang is leaving */
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING);
    host_report(&h, a, 0, GANG_TASK_STOPPED);
    host_run(&h, 0);
    test_assert(!host_has(&h, a) && runs(b) && waits_for_turn(c));
    host_close(&h);
}
END_TEST

START_TEST(a_refused_suspension_preempts_the_gang)
{
    open_queue(1, 0, 0);
    gang_job_id a = put_nodes(1), b = put_nodes(1);
    h.refuse = "suspend";
    host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, a, "preempt"), 1);
    ck_assert_int_eq(host_last(&h, a, "preempt")->reason, GANG_REASON_SLICE);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_PENDING);
    test_assert(runs(b));
    h.refuse = NULL;
    host_run_next(&h); /* it has stepped aside */
    test_assert(waits_for_turn(a));
    host_close(&h);
}
END_TEST

START_TEST(a_refused_resumption_waits_for_the_next_quantum)
{
    open_queue(1, 0, 0);
    gang_job_id a = put_nodes(1), b = put_nodes(1);
    host_run_next(&h);
    h.refuse = "resume";
    host_run_next(&h);
    test_assert(waits_for_turn(a) && !runs(b)); /* its turn all the same */
    ck_assert_int_eq(host_ops(&h, a, "resume"), 1);
    h.refuse = NULL;
    host_run_next(&h);
    test_assert(waits_for_turn(a) && runs(b));
    host_run_next(&h);
    test_assert(runs(a) && waits_for_turn(b));
    host_close(&h);
}
END_TEST

START_TEST(a_refused_first_quantum_is_undone_whole)
{
    open_queue(1, 0, 0);
    gang_job_id a = put_nodes(1), b = put_nodes(1);
    h.refuses = true;
    host_run_next(&h);
    test_assert(runs(a));
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_PENDING);
    ck_assert_int_eq(host_queue(&h, "q").rows, 1);
    host_close(&h);
}
END_TEST

/* Another thread reads what a first start is given, while the host refuses it and after that. */
static struct gang__alloc *read_now;

static void read_start(struct host *host, const struct host_event *e)
{
    if (!read_now && strcmp(e->op, "start") == 0)
        MUST(gang__alloc_read(host->stage.c, e->alloc, &read_now));
}

START_TEST(a_refused_first_quantum_that_another_thread_reads_is_released_later)
{
    open_queue(1, 0, 0);
    gang_job_id a = put_nodes(1), b = put_nodes(1);
    h.refuses = true;
    h.during = read_start;
    host_run_next(&h);
    test_assert(!runs(b));
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_PENDING);
    host_run(&h, 1);
    test_assert(runs(a));
    h.refuses = false;
    h.during = NULL;
    gang__alloc_read_end(read_now);
    host_run(&h, 1);
    test_assert(runs(a));
    ck_assert_int_eq(host_queue(&h, "q").rows, 1);
    host_end_job(&h, a);
    host_run(&h, 20 * SECOND);
    test_assert(runs(b));
    host_end_job(&h, b);
    ck_assert_int_eq((int64_t)gang_alloc_next(h.stage.c, GANG_ID_NONE), (int64_t)GANG_ID_NONE);
    host_close(&h);
}
END_TEST

START_TEST(a_lost_node_fails_suspended_gangs_and_undoes_unstarted_ones)
{
    open_queue(2, 0, 0);
    struct gang_job_spec *job = cores_spec("q", 2, 8, 1);
    job->loss = GANG_LOSS_FAIL;
    gang_job_id a = host_submit(&h, job);
    host_run(&h, 0);
    gang_job_id b = put_nodes(2), c = put_nodes(2);
    host_run_next(&h);
    test_assert(waits_for_turn(a) && runs(b) && waits_for_turn(c));
    MUST(gang_report_node_lost(h.s, host_node_of(&h, a, 0)));
    host_run(&h, 0);
    test_assert(!host_has(&h, a));
    ck_assert_int_eq(host_end(&h, a), GANG_END_FAILED);
    test_assert(runs(b)); /* goes on with one task: that is its policy */
    ck_assert_int_eq(host_tasks(&h, b), 1);
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING); /* it never was there */
    ck_assert_int_eq(host_ops(&h, c, "start"), 0);
    host_end_job(&h, b);
    host_close(&h);
}
END_TEST

START_TEST(no_gang_has_its_first_quantum_on_a_drained_node)
{
    open_queue(2, 0, 0);
    gang_job_id a = put_nodes(2), b = put_nodes(2);
    MUST(gang_node_set_state(h.stage.w, host_node_of(&h, b, 0), GANG_NODE_DRAINING));
    host_run_next(&h);
    test_assert(runs(a)); /* and may go on there */
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_PENDING);
    ck_assert_int_eq(host_ops(&h, b, "start"), 0);
    host_close(&h);
}
END_TEST

START_TEST(tasks_that_end_while_suspended_are_counted)
{
    open_queue(2, 0, 0);
    gang_job_id a = put_nodes(2), b = put_nodes(2);
    host_run_next(&h);
    test_assert(waits_for_turn(a));
    host_report(&h, a, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 0);
    test_assert(waits_for_turn(a));
    host_report(&h, a, 1, GANG_TASK_SUCCEEDED);
    host_run(&h, 0);
    test_assert(!host_has(&h, a) && runs(b));
    ck_assert_int_eq(host_end(&h, a), GANG_END_SUCCESS);
    host_close(&h);
}
END_TEST

START_TEST(suspended_tasks_need_no_heartbeat)
{
    open_queue(1, 0, 0);
    struct gang_job_spec *job = cores_spec("q", 1, 8, 1);
    job->heartbeat_ns = 4 * SECOND;
    job->loss = GANG_LOSS_FAIL;
    gang_job_id a = host_submit(&h, job);
    host_run(&h, 0);
    (void)put_nodes(1);
    host_report(&h, a, 0, GANG_TASK_STARTED);
    host_run(&h, 3 * SECOND);
    for (int i = 0; i < 3; i++) {
        host_report(&h, a, 0, GANG_TASK_HEARTBEAT);
        host_run(&h, 3 * SECOND);
    }
    host_report(&h, a, 0, GANG_TASK_HEARTBEAT); /* late */
    host_run(&h, 7 * SECOND);
    test_assert(waits_for_turn(a));
    host_run_next(&h);
    test_assert(runs(a));
    host_close(&h);
}
END_TEST

/* ---- competing jobs ---------------------------------------------------------------------- */

START_TEST(reclaim_stops_all_rows_of_a_node)
{
    struct gang_queue_spec q[2] = {slicing(), GANG_QUEUE_SPEC_INIT};
    const struct gang_quota half[] = {{"cpu", 8000, NULL, 0, 0}};
    host_open(&h, 2, 4);
    q[0].guaranteed = q[1].guaranteed = half;
    q[0].guaranteed_count = q[1].guaranteed_count = 1;
    q[1].name = "owner";
    host_queues(&h, q, 2);
    gang_job_id a = put_nodes(1), b = put_nodes(1), c = put_nodes(1), d = put_nodes(1);
    ck_assert_int_eq(host_queue(&h, "q").rows, 2);
    host_run_next(&h);
    gang_job_id p = put_cores("owner", 1, 8, 1);
    test_assert(runs(p)); /* both gangs of one node went */
    gang_job_id all[] = {a, b, c, d};
    int left = 0;
    for (int i = 0; i < 4; i++)
        left += host_job_state(&h, all[i]) != GANG_JOB_PENDING &&
                gang_job_alloc(h.s, all[i], 0) != GANG_ID_NONE;
    ck_assert_int_ge(left, 2); /* those of the other stay, and may have got more rows */
    MUST(gang_cluster_check(h.stage.c, NULL));
    host_close(&h);
}
END_TEST

/* The other task of the gang succeeded, and counts for its minimum. */
START_TEST(a_gang_that_loses_its_last_task_while_it_suspends_is_resumed_without_tasks)
{
    struct gang_queue_spec q[2] = {slicing(), GANG_QUEUE_SPEC_INIT};
    const struct gang_quota all[] = {{"gpu", 4000, NULL, 0, 0}};
    struct gang_group_spec g = group_of(2, 4000, 2000);
    struct gang_job_spec job = host_job(&g, 1);
    host_open(&h, 1, 4);
    q[0].grace_ns = 3 * SECOND;
    q[1].name = "owner";
    q[1].guaranteed = all;
    q[1].guaranteed_count = 1;
    host_queues(&h, q, 2);
    g.min = 1;
    job.queue = "q";
    gang_job_id a = host_submit(&h, &job);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, a), 2);
    gang_job_id b = put_nodes(1);
    host_report(&h, a, 0, GANG_TASK_SUCCEEDED);
    host_run(&h, 0);
    host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, a, "suspend"), 1);
    test_assert(runs(a) && waits_for_turn(b)); /* within its grace */
    g = group_of(1, 0, 4000);
    job.queue = "owner";
    gang_job_id p = host_submit(&h, &job);
    host_run(&h, 0);
    host_run(&h, 0);
    test_assert(runs(p) && runs(b)); /* the last task stopped at once: p need not wait */
    ck_assert_int_eq(host_ops(&h, a, "shrink"), 1);
    ck_assert_int_eq(host_ops(&h, a, "kill"), 0);
    ck_assert_int_eq(host_ops(&h, a, "resume"), 1); /* beside b, in the active row */
    ck_assert_int_eq(host_tasks(&h, a), 0);
    test_assert(runs(a));
    host_close(&h);
}
END_TEST

/* ---- gangs in rows preempt and move ---------------------------------------------------------- */

START_TEST(a_gang_reclaims_nodes_for_a_row)
{
    struct gang_queue_spec q[2] = {slicing(), GANG_QUEUE_SPEC_INIT};
    const struct gang_quota all[] = {{"cpu", 16000, NULL, 0, 0}};
    host_open(&h, 2, 4);
    q[0].guaranteed = all;
    q[0].guaranteed_count = 1;
    q[1].name = "plain";
    q[1].grace_ns = 3 * SECOND;
    host_queues(&h, q, 2);
    h.lingers = true;
    gang_job_id p = put_cores("plain", 2, 8, 1), a = put_nodes(1);
    ck_assert_int_eq(host_job_state(&h, p), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_last(&h, p, "preempt")->reason, GANG_REASON_RECLAIM);
    ck_assert_uint_eq(host_last(&h, p, "preempt")->because, a);
    gang_job_id late = put_nodes(1); /* the freed node is not for it first */
    host_report_all(&h, p, 0, GANG_TASK_STOPPED);
    host_run(&h, 0);
    test_assert(runs(a) && host_job_info(&h, a).slice_row == 1);
    ck_assert_int_eq(host_ops(&h, a, "start"), 1);
    test_assert(runs(late)); /* beside it, on the other node */
    host_close(&h);
}
END_TEST

/* Rows are full: a gang of higher priority takes the row of another one. */
static void open_full(int64_t rows, int32_t within)
{
    struct gang_queue_spec q = slicing();
    host_open(&h, 1, 4);
    q.quantum_rows = rows;
    q.within = within;
    host_queues(&h, &q, 1);
}

static gang_job_id put_urgent(int64_t priority, int64_t gib)
{
    struct gang_job_spec *job = cores_spec("q", 1, 8, gib);
    job->priority = priority;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

START_TEST(a_gang_of_higher_priority_takes_a_row)
{
    open_full(2, GANG_PREEMPT_LOWER);
    gang_job_id a = put_urgent(10, 1), b = put_urgent(0, 1);
    test_assert(runs(a) && waits_for_turn(b));
    ck_assert_int_eq(host_job_state(&h, put_urgent(0, 1)), GANG_JOB_PENDING); /* rows are full */
    gang_job_id c = put_urgent(5, 1);
    test_assert(runs(a) && waits_for_turn(c));
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_info(&h, b).preemptions, 1);
    host_run_next(&h);
    test_assert(runs(c) && waits_for_turn(a));
    host_close(&h);
}
END_TEST

START_TEST(memory_is_taken_from_gangs_of_lower_priority)
{
    open_full(4, GANG_PREEMPT_LOWER);
    gang_job_id a = put_urgent(0, 20), b = put_urgent(1, 30);
    gang_job_id c = put_urgent(5, 30); /* 14 GiB are free, and 20 are enough more */
    test_assert(waits_for_turn(c) || runs(c));
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_PENDING);
    test_assert(runs(b) || waits_for_turn(b));
    host_close(&h);
}
END_TEST

START_TEST(a_full_queue_without_preemption_waits)
{
    open_full(2, GANG_PREEMPT_NEVER);
    gang_job_id a = put_urgent(0, 1), b = put_urgent(0, 1), c = put_urgent(5, 1);
    test_assert(runs(a) && waits_for_turn(b));
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

/* A gang that took a row is not preempted before its first time slice. */
START_TEST(a_gang_that_took_a_row_has_its_first_time_slice)
{
    open_full(2, GANG_PREEMPT_LOWER);
    gang_job_id a = put_urgent(10, 1), b = put_urgent(0, 1), c = put_urgent(5, 1);
    test_assert(runs(a) && waits_for_turn(c)); /* b stopped for it */
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_PENDING);
    gang_job_id d = put_urgent(7, 1);
    test_assert(waits_for_turn(c));
    ck_assert_int_eq(host_job_state(&h, d), GANG_JOB_PENDING);
    host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, c, "start"), 1);
    host_run(&h, 0);
    test_assert(runs(d) || waits_for_turn(d));
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

/* A gang that needs a node for itself moves a gang in a row to a row on another node. */
START_TEST(a_gang_in_a_row_moves)
{
    struct gang_queue_spec q[2] = {slicing(), GANG_QUEUE_SPEC_INIT};
    size_t moves = 0;
    host_open(&h, 2, 4);
    q[1].name = "plain";
    host_queues(&h, q, 2);
    gang_job_id a = put_nodes(1), b = put_nodes(1);
    test_assert(runs(a) && runs(b)); /* each on its node */
    gang_job_id p = put_cores("plain", 1, 8, 1);
    test_assert(runs(p));
    test_assert(runs(a) != runs(b) && waits_for_turn(a) != waits_for_turn(b));
    for (size_t i = 0; i < h.count; i++)
        if (strcmp(h.event[i].op, "preempt") == 0) {
            ck_assert_int_eq(h.event[i].reason, GANG_REASON_MOVE);
            moves++;
        }
    ck_assert_uint_eq(moves, 1);
    host_run_next(&h);
    host_run(&h, 0);
    test_assert(runs(a) != runs(b) && runs(p));
    host_close(&h);
}
END_TEST

START_TEST(no_gang_moves_where_rows_are_full)
{
    struct gang_queue_spec q[2] = {slicing(), GANG_QUEUE_SPEC_INIT};
    host_open(&h, 2, 4);
    q[0].quantum_rows = 1;
    q[1].name = "plain";
    q[1].reclaim = GANG_PREEMPT_NEVER;
    host_queues(&h, q, 2);
    gang_job_id a = put_nodes(1), b = put_nodes(1), p = put_cores("plain", 1, 8, 1);
    test_assert(runs(a) && runs(b));
    ck_assert_int_eq(host_job_state(&h, p), GANG_JOB_PENDING);
    host_close(&h);
}
END_TEST

START_TEST(a_restarted_elastic_gang_grows_where_it_failed_if_no_other_node_is_left)
{
    open_queue(1, 0, 0);
    gang_job_id block = put_cores("q", 1, 4, 1);
    struct gang_job_spec *job = cores_spec("q", 4, 2, 1);
    struct gang_group_spec g = job->request.groups[0];
    g.min = 2;
    job->request.groups = &g;
    job->loss = GANG_LOSS_RESTART;
    job->max_restarts = 1;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, id), 2);
    host_report(&h, id, 0, GANG_TASK_FAILED);
    host_run(&h, 1);
    host_run(&h, 1);
    test_assert(runs(id));
    host_end_job(&h, block);
    ck_assert_int_eq(host_tasks(&h, id), 4);
    host_close(&h);
}
END_TEST

START_TEST(elastic_gangs_grow_in_their_own_quanta)
{
    open_queue(4, 0, 0);
    struct gang_group_spec g = group_of(3, 8000, 0);
    g.min = 1;
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "q";
    gang_job_id a = host_submit(&h, &job);
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, a), 3);
    gang_job_id b = put_nodes(4);
    MUST(gang_job_set_target(h.s, a, 1));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, a), 1);
    host_run_next(&h);
    test_assert(runs(b) && waits_for_turn(a));
    MUST(gang_job_set_target(h.s, a, 3));
    host_run(&h, 0);
    ck_assert_int_eq(host_tasks(&h, a), 1);
    host_run_next(&h);
    test_assert(runs(a));
    ck_assert_int_eq(host_tasks(&h, a), 3);
    host_close(&h);
}
END_TEST

/* ---- limits, explaining, configuring --------------------------------------------------------- */

START_TEST(a_limit_bounds_all_rows_together)
{
    struct gang_queue_spec q = slicing();
    const struct gang_quota limit[] = {{"cpu", 20000, NULL, 0, 0}};
    host_open(&h, 1, 4);
    q.limit = limit;
    q.limit_count = 1;
    host_queues(&h, &q, 1);
    (void)put_nodes(1);
    (void)put_nodes(1);
    gang_job_id c = put_nodes(1);
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING);
    ck_assert_int_eq(host_queue(&h, "q").used[GANG_KIND_CPU], 16000);
    ck_assert_int_eq(host_queue(&h, "q").rows, 2);
    host_close(&h);
}
END_TEST

static int32_t note_wait(const struct gang_wait *wait, void *user)
{
    struct gang_wait *to = user;
    if (to->size == 0)
        *to = *wait;
    return 0;
}

START_TEST(the_wait_for_a_quantum_is_explained)
{
    struct gang_wait w;
    memset(&w, 0, sizeof(w));
    open_queue(1, 2, 0);
    gang_job_id a = put_nodes(1), b = put_nodes(1), c = put_nodes(1);
    MUST(gang_job_explain(h.s, b, note_wait, &w));
    ck_assert_int_eq(w.reason, GANG_WAIT_SLICE);
    ck_assert_int_eq(w.until_ns, 10 * SECOND);
    w.size = 0;
    MUST(gang_job_explain(h.s, c, note_wait, &w));
    ck_assert_int_eq(w.reason, GANG_WAIT_CAPACITY);
    w.size = 0;
    MUST(gang_job_explain(h.s, a, note_wait, &w));
    ck_assert_uint_eq(w.size, 0); /* it runs */
    host_close(&h);
}
END_TEST

/* ---- beside planned starts ------------------------------------------------------------------- */

/* Queue "p", which backfills, beside "q". */
static void open_both(size_t nodes)
{
    struct gang_queue_spec q[2] = {slicing(), GANG_QUEUE_SPEC_INIT};
    host_open(&h, nodes, 4);
    q[1].name = "p";
    q[1].backfill = GANG_BACKFILL_EASY;
    q[1].plan_depth = 3;
    q[0].reclaim = q[1].reclaim = GANG_PREEMPT_NEVER;
    host_queues(&h, q, 2);
}

/* So many whole nodes, for so long at most. */
static gang_job_id put_timed(const char *queue, int64_t nodes, int64_t limit_s)
{
    struct gang_job_spec *job = cores_spec(queue, nodes, 8, 1);
    job->time_limit_ns = limit_s * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

static int64_t planned(gang_job_id id)
{
    return host_job_info(&h, id).planned_ns / SECOND;
}

static int32_t note_reason(const struct gang_wait *wait, void *user)
{
    *(int32_t *)user = wait->reason;
    return 1;
}

START_TEST(sliced_gangs_do_not_start_on_nodes_of_a_planned_start)
{
    open_both(3);
    gang_job_id runs_now = put_timed("p", 1, 100), wide = put_timed("p", 2, 50);
    test_assert(runs(runs_now) && runs(wide));
    gang_job_id next = put_timed("p", 3, 50);
    ck_assert_int_eq(planned(next), 100);
    host_end_job(&h, wide); /* two nodes are idle, and the plan counts on them */
    ck_assert_int_eq(planned(next), 100);
    gang_job_id a = put_timed("q", 1, 60), b = put_timed("q", 2, 60);
    int32_t why = 0;
    test_assert(!runs(a) && !runs(b));
    ck_assert_int_eq(gang_job_explain(h.s, a, note_reason, &why), 1);
    ck_assert_int_eq(why, GANG_WAIT_PLANNED);
    host_run(&h, 50 * SECOND);
    ck_assert_int_eq(planned(next), 100);
    MUST(gang_job_cancel(h.s, next)); /* there is no plan any more */
    host_run(&h, 0);
    test_assert(runs(a) && waits_for_turn(b) != runs(b));
    host_close(&h);
}
END_TEST

/* Rows of 10 seconds, at most 4 of them. 10 seconds are one quantum; for 11 seconds the gang waits
 * for three other rows in between, and ends after 41 seconds at the latest. */
START_TEST(a_sliced_gang_starts_if_it_ends_before_a_planned_start)
{
    open_both(3);
    gang_job_id first = put_timed("p", 1, 40), wide = put_timed("p", 2, 50);
    gang_job_id next = put_timed("p", 3, 50);
    test_assert(runs(first) && runs(wide));
    ck_assert_int_eq(planned(next), 50);
    host_end_job(&h, wide);
    ck_assert_int_eq(planned(next), 40);
    gang_job_id longer = put_timed("q", 1, 11), brief = put_timed("q", 2, 10);
    test_assert(!runs(longer) && runs(brief));
    ck_assert_int_eq(planned(next), 40);
    host_run_next(&h);
    ck_assert_int_eq(h.now_ns, 10 * SECOND);
    test_assert(!host_has(&h, brief) && !runs(longer));
    host_run(&h, 30 * SECOND);
    test_assert(runs(next));
    host_close(&h);
}
END_TEST

/* Three gangs in three rows of a node: plans know until when they share it. */
START_TEST(plans_begin_when_all_rows_of_a_node_have_ended)
{
    open_both(1);
    gang_job_id a = put_timed("q", 1, 25), b = put_timed("q", 1, 10), c = put_timed("q", 1, 15);
    test_assert(runs(a) && waits_for_turn(b) && waits_for_turn(c));
    gang_job_id one = put_timed("p", 1, 30);
    /* a: 10 now, 10 in the next round of 40, 5 in the one after it */
    ck_assert_int_eq(planned(one), 85);
    while (host_has(&h, a) || host_has(&h, b) || host_has(&h, c)) {
        int64_t before = planned(one);
        host_run_next(&h);
        test_assert(runs(one) || planned(one) <= before);
    }
    ck_assert_int_eq(h.now_ns, 50 * SECOND); /* no other rows came */
    test_assert(runs(one));
    host_close(&h);
}
END_TEST

START_TEST(sliced_gangs_see_a_planned_start_of_the_same_run)
{
    open_both(4);
    struct gang_queue_spec *q;
    gang_queue_id id;
    MUST(gang_queue_find(h.s, "q", &id));
    MUST(gang_queue_get_spec(h.s, id, &q));
    struct gang_queue_spec light = *q;
    light.weight =
        0.5; /* so that the first of it goes before the one that is planned, and the second after */
    MUST(gang_queue_change(h.s, &light, NULL));
    gang_queue_spec_free(q);
    gang_job_id x = put_timed("p", 1, 100);
    gang_job_id a = host_submit(&h, cores_spec("q", 1, 8, 1));
    gang_job_id b = host_submit(&h, cores_spec("q", 2, 8, 1));
    struct gang_job_spec *wide = cores_spec("p", 3, 8, 1);
    wide->time_limit_ns = 50 * SECOND;
    gang_job_id plan = host_submit(&h, wide);
    host_run(&h, 0);
    test_assert(runs(x) && runs(a));
    ck_assert_int_eq(planned(plan), 100);
    test_assert(!runs(b) && !waits_for_turn(b));
    host_close(&h);
}
END_TEST

START_TEST(a_sliced_gang_is_tried_again_when_a_plan_is_dropped)
{
    open_both(3);
    gang_job_id c = put_timed("q", 1, 0), x = put_timed("p", 1, 100);
    gang_job_id both = put_timed("p", 2, 50); /* the node of x, and the idle one */
    struct gang_group_spec g = group_of(1, 8000, 0);
    struct gang_job_spec job = host_job(&g, 1);
    g.where = "node = n1";
    job.queue = "p";
    job.time_limit_ns = 200 * SECOND;
    gang_job_id there = host_submit(&h, &job);
    gang_job_id a = put_timed("q", 2, 0); /* beside c in time, and on the idle node */
    test_assert(runs(c) && runs(x) && !runs(a) && !waits_for_turn(a));
    ck_assert_int_eq(planned(both), 100);
    MUST(gang_job_cancel(h.s, both));
    host_run(&h, 0);
    ck_assert_int_eq(planned(there), 100); /* one plan is still there */
    test_assert(waits_for_turn(a));
    host_close(&h);
}
END_TEST

START_TEST(starts_are_planned_after_the_last_end_on_a_shared_node)
{
    open_both(2);
    gang_job_id a = put_timed("q", 1, 0), b = put_timed("q", 1, 20);
    test_assert(runs(a) && runs(b)); /* each on a node of its own */
    gang_job_id one = put_timed("p", 1, 30), two = put_timed("p", 2, 30);
    ck_assert_int_eq(planned(one), 50); /* b may wait for three rows; the end of a is unknown */
    host_run(&h, 20 * SECOND);
    test_assert(!host_has(&h, b) && runs(one));
    ck_assert_int_eq(planned(two), 0);
    gang_job_id c = put_timed("q", 1, 10); /* to the node of the first, in a row of its own */
    test_assert(waits_for_turn(c));
    host_run(&h, 10 * SECOND);
    test_assert(runs(c) && !runs(a));
    host_end_job(&h, a);
    ck_assert_int_eq(planned(two), 50); /* c ends before the other job */
    host_end_job(&h, c);
    ck_assert_int_eq(planned(two), 50); /* both nodes can be counted on: when the other job ends */
    gang_job_id d = put_timed("q", 1, 25);
    test_assert(!runs(d));
    host_run(&h, 20 * SECOND);
    test_assert(runs(two) && !runs(d));
    host_run(&h, 30 * SECOND);
    test_assert(!host_has(&h, two) && runs(d));
    host_close(&h);
}
END_TEST

START_TEST(the_calendar_books_sliced_gangs_on_unshared_nodes)
{
    open_both(1);
    struct gang_group_spec g = group_of(1, 0, 3000); /* no cores: it shares nothing */
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = "q";
    job.time_limit_ns = 20 * SECOND;
    gang_job_id gpus = host_submit(&h, &job);
    host_run(&h, 0);
    test_assert(runs(gpus));
    g.gpu_milli = 1000;
    job.queue = "p";
    job.time_limit_ns = 30 * SECOND;
    gang_job_id one = host_submit(&h, &job);
    host_run(&h, 0);
    test_assert(runs(one)); /* beside it */
    gang_job_id other = host_submit(&h, &job);
    host_run(&h, 0);
    ck_assert_int_eq(planned(other), 30); /* it may have pauses: its end has no forecast */
    host_close(&h);
}
END_TEST

static void refused(const struct gang_queue_spec *q, size_t count, gang_result result,
                    const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_sched_set_queues(h.s, q, count, &error);
    ck_assert_msg(r == result, "%s: %s", gang_result_name(r), error.text);
    ck_assert_str_eq(error.path, path);
}

START_TEST(contradictory_slice_options_are_refused)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, slicing()};
    host_open(&h, 1, 4);
    q[0].name = "other";
    q[1].backfill = GANG_BACKFILL_EASY;
    refused(q, 2, GANG_EINVAL, "queues[1].backfill");
    q[1].backfill = 0;
    q[1].preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    refused(q, 2, GANG_EINVAL, "queues[1].preempt_mode");
    q[1].preempt_mode = 0;
    q[1].quantum_rows = -1;
    refused(q, 2, GANG_ERANGE, "queues[1].quantum_rows");
    q[1].quantum_rows = 1;
    q[1].quantum_gpus = 2;
    refused(q, 2, GANG_EINVAL, "queues[1].quantum_gpus");
    q[1].quantum_gpus = 0;
    q[1].quantum_ns = -2;
    q[1].quantum_rows = 0;
    refused(q, 2, GANG_ERANGE, "queues[1].quantum_ns");
    q[1].quantum_ns = 0;
    q[1].quantum_rows = 3;
    refused(q, 2, GANG_EINVAL, "queues[1].quantum_rows");
    q[1].quantum_rows = 0;
    q[1].quantum_gpus = 1;
    refused(q, 2, GANG_EINVAL, "queues[1].quantum_gpus");
    host_close(&h);
}
END_TEST

START_TEST(sliced_gangs_continue_when_the_queue_stops_slicing)
{
    open_queue(1, 0, 0);
    gang_job_id a = put_nodes(1), b = put_nodes(1);
    struct gang_queue_spec q = slicing();
    q.quantum_ns = 0;
    host_queues(&h, &q, 1);
    gang_job_id c = put_nodes(1);
    ck_assert_int_eq(host_job_state(&h, c), GANG_JOB_PENDING);
    host_run_next(&h);
    test_assert(!runs(a) && runs(b));
    host_end_job(&h, b);
    test_assert(runs(a));
    host_end_job(&h, a);
    test_assert(runs(c));
    ck_assert_int_eq(host_job_info(&h, c).slice_row, 0);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slice");
    TCase *t = tcase_create("slice");
    tcase_add_test(t, two_gangs_of_the_whole_cluster_alternate);
    tcase_add_test(t, a_suspended_gang_keeps_places_memory_and_cores);
    tcase_add_test(t, max_rows_bounds_the_rows);
    tcase_add_test(t, gangs_of_other_rows_run_on_idle_nodes_of_the_active_row);
    tcase_add_test(t, rows_are_packed_when_gangs_end);
    tcase_add_test(t, the_next_row_waits_until_the_last_task_has_stopped);
    tcase_add_loop_test(t, a_gang_that_the_host_cannot_kill_now_keeps_its_turn, 0, 2);
    tcase_add_test(t, a_time_limit_counts_running_time_only);
    tcase_add_test(t, a_deadline_ends_a_suspended_gang);
    tcase_add_test(t, the_expected_end_counts_pauses);
    tcase_add_test(t, a_starved_gang_gets_the_next_row);
    tcase_add_test(t, gpus_are_sliced_only_if_the_queue_allows_it);
    tcase_add_test(t, sliced_and_unsliced_jobs_share_no_nodes);
    tcase_add_test(t, leaves_below_one_queue_share_its_rows);
    tcase_add_test(t, an_exclusive_job_is_not_sliced);
    tcase_add_test(t, a_gang_cancelled_before_its_first_quantum_ends_at_once);
    tcase_add_test(t, a_gang_cancelled_while_suspended_has_its_grace);
    tcase_add_test(t, a_refused_suspension_preempts_the_gang);
    tcase_add_test(t, a_refused_resumption_waits_for_the_next_quantum);
    tcase_add_test(t, a_refused_first_quantum_is_undone_whole);
    tcase_add_test(t, a_refused_first_quantum_that_another_thread_reads_is_released_later);
    tcase_add_test(t, a_lost_node_fails_suspended_gangs_and_undoes_unstarted_ones);
    tcase_add_test(t, no_gang_has_its_first_quantum_on_a_drained_node);
    tcase_add_test(t, tasks_that_end_while_suspended_are_counted);
    tcase_add_test(t, suspended_tasks_need_no_heartbeat);
    tcase_add_test(t, reclaim_stops_all_rows_of_a_node);
    tcase_add_test(t, a_gang_that_loses_its_last_task_while_it_suspends_is_resumed_without_tasks);
    tcase_add_test(t, a_gang_reclaims_nodes_for_a_row);
    tcase_add_test(t, a_gang_of_higher_priority_takes_a_row);
    tcase_add_test(t, memory_is_taken_from_gangs_of_lower_priority);
    tcase_add_test(t, a_full_queue_without_preemption_waits);
    tcase_add_test(t, a_gang_that_took_a_row_has_its_first_time_slice);
    tcase_add_test(t, a_gang_in_a_row_moves);
    tcase_add_test(t, no_gang_moves_where_rows_are_full);
    tcase_add_test(t, a_restarted_elastic_gang_grows_where_it_failed_if_no_other_node_is_left);
    tcase_add_test(t, elastic_gangs_grow_in_their_own_quanta);
    tcase_add_test(t, a_limit_bounds_all_rows_together);
    tcase_add_test(t, the_wait_for_a_quantum_is_explained);
    tcase_add_test(t, sliced_gangs_do_not_start_on_nodes_of_a_planned_start);
    tcase_add_test(t, sliced_gangs_see_a_planned_start_of_the_same_run);
    tcase_add_test(t, a_sliced_gang_is_tried_again_when_a_plan_is_dropped);
    tcase_add_test(t, a_sliced_gang_starts_if_it_ends_before_a_planned_start);
    tcase_add_test(t, plans_begin_when_all_rows_of_a_node_have_ended);
    tcase_add_test(t, starts_are_planned_after_the_last_end_on_a_shared_node);
    tcase_add_test(t, the_calendar_books_sliced_gangs_on_unshared_nodes);
    tcase_add_test(t, contradictory_slice_options_are_refused);
    tcase_add_test(t, sliced_gangs_continue_when_the_queue_stops_slicing);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
