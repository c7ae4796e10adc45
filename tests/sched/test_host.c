/* SPDX-License-Identifier: Apache-2.0 */
/* What the host may answer, and when: refusals, grace periods, handovers, and the bounds of
 * preemption. */
#include "place/state/records.h"
#include "sched/host.h"

enum { GRACE = 60 };

static struct host h;

static void open_two(void)
{
    host_open(&h, 2, 4);
}

static void close_two(void)
{
    host_close(&h);
}

static struct gang_queue_spec default_queue(void)
{
    return host_default_queue(GRACE);
}

static void set_grace(void)
{
    struct gang_queue_spec q = default_queue();
    host_queues(&h, &q, 1);
}

static void open_slow(void)
{
    host_open_slow(&h, 2, 4, GRACE);
}

static int64_t gpus_of(gang_job_id id)
{
    return host_has(&h, id) ? host_tasks(&h, id) : -1;
}

static void report_stopped(gang_job_id id, const int64_t *tasks, size_t count)
{
    MUST(gang_report_tasks(h.s, id, 0, GANG_ID_NONE, tasks, count, GANG_TASK_STOPPED));
}

/* ---- refusals ---- */

START_TEST(a_start_that_is_refused_is_undone_and_tried_again_later)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.refused_ns = 100;
    host_open_with(&h, 2, 4, &opts, &ops);
    h.refuse = "start";
    gang_job_id id = host_gang(&h, "default", 8, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    ck_assert_int_eq(host_ops(&h, id, "state"), 0);
    ck_assert_int_eq(host_gpus_free(&h), 8);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 0);
    ck_assert_int_eq(host_queue(&h, "default").running, 0);
    ck_assert_int_eq(gang_sched_next(h.s), 101);
    host_run(&h, 99);
    ck_assert_int_eq(host_ops(&h, id, "start"), 1);
    h.refuse = NULL;
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_ops(&h, id, "start"), 2);
    host_close(&h);
}
END_TEST

START_TEST(capacity_of_a_refused_start_goes_to_other_gangs_at_once)
{
    h.refuse = "start";
    gang_job_id id = host_gang(&h, "", 8, 5);
    host_run(&h, 1);
    h.refuse = NULL;
    gang_job_id other = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(other), 8);
    ck_assert_int_eq(gpus_of(id), 0);
}
END_TEST

/* A job that has 4 of 8 GPUs, and would have the others, which `block` has. */
static gang_job_id half_of_it(gang_job_id *block)
{
    *block = host_gang(&h, "", 4, 0);
    gang_job_id id = host_submit(&h, host_spec("", 8, 2, 0));
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(id), 4);
    return id;
}

START_TEST(refused_growth_is_undone_and_tried_again_later)
{
    gang_job_id block, id = half_of_it(&block);
    int before = host_ops(&h, id, "grow");
    h.refuse = "grow";
    MUST(gang_report_end(h.s, block, 1));
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(id), 4);
    ck_assert_int_eq(host_ops(&h, id, "grow"), before + 1);
    ck_assert_int_eq(host_gpus_free(&h), 4);
    ck_assert_uint_eq(stage_tasks(&h.stage, gang_job_alloc(h.s, id, 0))->count, 4);
    h.refuse = NULL;
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(id), 4); /* steps aside */
    host_run(&h, 10 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(gpus_of(id), 8);
}
END_TEST

/* Another thread reads an allocation during the callback about it and afterwards. */
static struct gang__alloc *read_now;
static const char *read_at;

static void read_meanwhile(struct host *host, const struct host_event *e)
{
    if (!read_now && strcmp(e->op, read_at) == 0)
        MUST(gang__alloc_read(host->stage.c, e->alloc, &read_now));
}

static void read_during(const char *op)
{
    read_now = NULL;
    read_at = op;
    h.during = read_meanwhile;
}

static void read_no_more(void)
{
    h.during = NULL;
    gang__alloc_read_end(read_now);
}

START_TEST(a_refused_start_that_another_thread_reads_is_released_later)
{
    read_during("start");
    h.refuse = "start";
    gang_job_id id = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, id), GANG_JOB_PENDING);
    ck_assert_int_eq(host_gpus_free(&h), 0);
    ck_assert_int_le(gang_sched_next(h.s), h.now_ns);
    host_run(&h, 1);
    ck_assert_int_eq(host_gpus_free(&h), 0);
    h.refuse = NULL;
    read_no_more();
    gang_job_id other = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(other), 8);
    MUST(gang_report_end(h.s, other, 1));
    host_run(&h, 20 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(gpus_of(id), 8);
    MUST(gang_report_end(h.s, id, 1));
    host_run(&h, 1);
    ck_assert_int_eq((int64_t)gang_alloc_next(h.stage.c, GANG_ID_NONE), (int64_t)GANG_ID_NONE);
}
END_TEST

START_TEST(a_copy_releases_at_once_what_another_thread_reads_in_the_original)
{
    gang_cluster *cluster;
    gang_sched *copy;
    read_during("start");
    h.refuse = "start";
    gang_job_id id = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    h.refuse = NULL;
    MUST(gang_sched_copy(h.s, NULL, NULL, &cluster, &copy, NULL));
    MUST(gang_job_cancel(copy, id));
    MUST(gang_sched_run(copy, 2, NULL, NULL));
    MUST(gang_sched_check(copy, NULL));
    ck_assert_int_eq((int64_t)gang_alloc_next(cluster, GANG_ID_NONE), (int64_t)GANG_ID_NONE);
    gang_sched_free(copy);
    gang_cluster_free(cluster);
    read_no_more();
}
END_TEST

/* A job with 4 of 8 GPUs: the host refused the other 4 while a thread read the allocation. */
static gang_job_id refused_while_read(void)
{
    gang_job_id block, id = half_of_it(&block);
    read_during("grow");
    h.refuse = "grow";
    MUST(gang_report_end(h.s, block, 1));
    host_run(&h, 1);
    return id;
}

START_TEST(refused_growth_that_another_thread_reads_is_released_later)
{
    gang_job_id id = refused_while_read();
    ck_assert_int_eq(gpus_of(id), 4);
    ck_assert_int_eq(host_gpus_free(&h), 0); /* all four are still to be released */
    read_no_more();
    host_run(&h, 1);
    ck_assert_int_eq(host_gpus_free(&h), 4);
    ck_assert_uint_eq(stage_tasks(&h.stage, gang_job_alloc(h.s, id, 0))->count, 4);
    h.refuse = NULL;
    host_run(&h, 20 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(gpus_of(id), 8);
}
END_TEST

START_TEST(a_job_ends_while_its_refused_tasks_are_not_yet_released)
{
    gang_job_id id = refused_while_read();
    MUST(gang_job_cancel(h.s, id));
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(id), -1);
    ck_assert_int_eq(host_gpus_free(&h), 0); /* all four are still to be released */
    read_no_more();
    host_run(&h, 1);
    ck_assert_int_eq((int64_t)gang_alloc_next(h.stage.c, GANG_ID_NONE), (int64_t)GANG_ID_NONE);
    ck_assert_int_eq(host_gpus_free(&h), 8);
}
END_TEST

START_TEST(a_victim_that_another_thread_reads_is_released_later)
{
    gang_job_id low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    read_during("preempt");
    gang_job_id high = host_gang(&h, "", 8, 5);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(low), 0);
    ck_assert_int_eq(gpus_of(high), 0);
    read_no_more();
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    MUST(gang_report_end(h.s, high, 1));
    MUST(gang_job_cancel(h.s, low));
    host_run(&h, 1);
    ck_assert_int_eq((int64_t)gang_alloc_next(h.stage.c, GANG_ID_NONE), (int64_t)GANG_ID_NONE);
}
END_TEST

START_TEST(without_ops_every_start_is_accepted_and_every_stop_is_immediate)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    host_open_with(&h, 2, 4, &opts, NULL);
    struct gang_queue_spec q = default_queue();
    q.preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    host_queues(&h, &q, 1);
    gang_job_id low = host_gang(&h, "default", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "default", 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    ck_assert_int_eq(gpus_of(low), 0);
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(low), 8);
    host_close(&h);
}
END_TEST

START_TEST(a_refused_preempt_op_means_stopped_at_once)
{
    set_grace();
    gang_job_id low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "", 8, 1); /* the host does not linger: it refuses */
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 1);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 0);
    ck_assert_int_eq(host_job_info(&h, low).preemptions, 1);
}
END_TEST

START_TEST(a_refused_shrink_op_means_stopped_at_once)
{
    set_grace();
    gang_job_id low = host_submit(&h, host_spec("", 8, 2, 0));
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "", 4, 1);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 4);
    ck_assert_int_eq(gpus_of(low), 4);
    ck_assert_int_eq(host_ops(&h, low, "shrink"), 1);
    const struct host_event *e = host_last(&h, low, "shrink");
    ck_assert_uint_eq(e->task_count, 4);
    ck_assert_int_eq(e->deadline_ns, 2 + GRACE);
    ck_assert_uint_eq(e->because, high);
    ck_assert_int_eq(e->reason, GANG_REASON_PREEMPT);
    ck_assert_int_eq(host_job_info(&h, low).preemptions, 0);
}
END_TEST

START_TEST(without_a_grace_kill_follows_at_once)
{
    h.lingers = true;
    gang_job_id low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 1);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 1);
}
END_TEST

START_TEST(a_gang_whose_suspend_op_is_refused_is_preempted)
{
    struct gang_queue_spec q = default_queue();
    q.preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    host_queues(&h, &q, 1);
    h.lingers = true;
    h.refuse = "suspend";
    gang_job_id low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "suspend"), 1);
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 1);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING); /* not suspended */
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 0);
    ck_assert_int_eq(host_ops(&h, low, "start"), 2);
}
END_TEST

START_TEST(a_resumption_that_is_refused_is_tried_again_later)
{
    struct gang_queue_spec q = default_queue();
    q.preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    host_queues(&h, &q, 1);
    gang_job_id low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    gang_job_id high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    h.refuse = "resume";
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    ck_assert_int_eq(host_gpus_free(&h), 8);
    h.refuse = NULL;
    host_run(&h, 10 * (int64_t)HOST_SECOND);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 2);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_RUNNING);
}
END_TEST

/* ---- the grace ---- */

static gang_job_id low, high;

/* `low` of 8 is asked to stop for `high` of `count`. */
static void preempt_low(int64_t count)
{
    low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    high = host_gang(&h, "", count, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_PENDING);
}

START_TEST(the_preempt_op_gives_the_deadline_and_the_preemptor)
{
    preempt_low(4);
    const struct host_event *e = host_last(&h, low, "preempt");
    ck_assert_int_eq(e->deadline_ns, h.now_ns + GRACE);
    ck_assert_uint_eq(e->because, high);
    ck_assert_int_eq(e->reason, GANG_REASON_PREEMPT);
    ck_assert_int_eq(gang_sched_next(h.s), h.now_ns + GRACE);
    ck_assert_int_eq(host_gpus_free(&h), 0); /* it still holds it */
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 4000);
}
END_TEST

START_TEST(the_preemptor_starts_when_the_last_victim_has_stopped)
{
    const int64_t first[] = {3, 0, 7}, rest[] = {1, 2, 4, 5, 6};
    preempt_low(4);
    report_stopped(low, first, 3);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 0);
    report_stopped(low, first, 3); /* once is enough */
    host_run(&h, 1);
    report_stopped(low, rest, 5);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 4);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 0);
    ck_assert_int_eq(host_last(&h, high, "start")->reason, GANG_REASON_PREEMPT);
}
END_TEST

START_TEST(a_late_victim_is_killed_at_the_deadline_and_not_before)
{
    const int64_t first[] = {0, 1};
    preempt_low(8);
    report_stopped(low, first, 2);
    host_run(&h, GRACE - 1);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 1);
    ck_assert_int_eq(gpus_of(high), 8);
    report_stopped(low, NULL, 0); /* too late: nothing happens */
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING);
}
END_TEST

/* n0 is free and n1 is held by the lower one: `high` wants both. */
static void preempt_half(void)
{
    low = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
}

START_TEST(free_capacity_is_kept_for_a_handover)
{
    preempt_half();
    gang_job_id small = host_gang(&h, "", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(small), 0);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    ck_assert_int_eq(gpus_of(small), 0);
}
END_TEST

START_TEST(freed_capacity_is_kept_until_all_victims_have_stopped)
{
    gang_job_id a = host_gang(&h, "", 4, 0), b = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    report_stopped(a, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, a), GANG_JOB_PENDING);
    ck_assert_int_eq(host_job_state(&h, b), GANG_JOB_STOPPING);
    gang_job_id small = host_gang(&h, "", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(small), 0);
    report_stopped(b, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    ck_assert_int_eq(gpus_of(small), 0);
}
END_TEST

START_TEST(a_cancelled_preemptor_releases_its_handover)
{
    gang_job_id a = host_gang(&h, "", 4, 0), b = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    report_stopped(a, NULL, 0);
    host_run(&h, 1);
    MUST(gang_job_cancel(h.s, high));
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, high), GANG_END_CANCELLED);
    ck_assert_int_eq(gpus_of(a), 4); /* it is back already */
    report_stopped(b, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(b), 4);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 8000);
}
END_TEST

START_TEST(a_held_preemptor_releases_its_handover)
{
    preempt_half();
    MUST(gang_job_hold(h.s, high));
    gang_job_id small = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(small), 4);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(low), 4);
    ck_assert_int_eq(gpus_of(high), 0);
}
END_TEST

START_TEST(a_victim_cancelled_during_its_grace_does_not_wait_again)
{
    preempt_low(8);
    MUST(gang_job_cancel(h.s, low));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING); /* it has its grace */
    ck_assert_int_eq(host_ops(&h, low, "preempt"), 1);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_CANCELLED);
    ck_assert_int_eq(gpus_of(high), 8);
}
END_TEST

START_TEST(a_victim_that_ends_during_its_grace_has_ended)
{
    preempt_low(8);
    MUST(gang_report_end(h.s, low, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_SUCCESS);
    ck_assert_int_eq(gpus_of(high), 8);
}
END_TEST

/* `low` of 8, at least 2, and `other` free enough for `high`; `other` takes longer. */
START_TEST(capacity_of_a_shrunk_victim_stays_kept_when_its_job_ends)
{
    const int64_t tasks[] = {2, 3};
    low = host_submit(&h, host_spec("", 4, 2, 0));
    gang_job_id other = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    high = host_gang(&h, "", 6, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "shrink"), 1);
    ck_assert_int_eq(host_job_state(&h, other), GANG_JOB_STOPPING);
    report_stopped(low, tasks, 2);
    host_run(&h, 1);
    MUST(gang_report_end(h.s, low, 1));
    gang_job_id small = host_gang(&h, "", 2, 0), wide = host_gang(&h, "", 3, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_SUCCESS);
    ck_assert_int_eq(gpus_of(wide), 0);
    ck_assert_int_eq(gpus_of(small), 2); /* where those that it kept were */
    report_stopped(other, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 6);
}
END_TEST

START_TEST(a_shrinking_victim_is_not_asked_twice_for_the_same_tasks)
{
    low = host_submit(&h, host_spec("", 8, 2, 0));
    host_run(&h, 1);
    high = host_gang(&h, "", 4, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "shrink"), 1);
    ck_assert_int_eq(gpus_of(low), 4);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "shrink"), 1);
    host_run(&h, GRACE);
    ck_assert_int_eq(host_ops(&h, low, "kill"), 1);
    ck_assert_int_eq(gpus_of(high), 4);
    ck_assert_int_eq(gpus_of(low), 4);
}
END_TEST

START_TEST(a_handover_does_not_start_on_a_node_drained_during_the_grace)
{
    preempt_low(8);
    gang_node_id n = gang_node_next(h.stage.c, GANG_ID_NONE);
    MUST(gang_node_set_state(h.stage.w, n, GANG_NODE_DRAINING));
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 0);
    ck_assert_int_eq(gpus_of(low), 0);
    MUST(gang_node_set_state(h.stage.w, n, GANG_NODE_UP));
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
}
END_TEST

START_TEST(tasks_on_a_node_lost_during_the_grace_count_as_stopped)
{
    gang_job_id a = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    gang_node_id n = host_node_of(&h, a, 0);
    gang_job_id b = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    MUST(gang_report_node_lost(h.s, n));
    report_stopped(b, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_ne(host_job_state(&h, a), GANG_JOB_STOPPING);
    ck_assert_int_eq(gpus_of(high), 0);
    ck_assert_int_eq(gpus_of(a), 4); /* what is left is too little for the other */
    MUST(gang_node_set_state(h.stage.w, n, GANG_NODE_UP));
    host_run(&h, 1);
    report_stopped(a, NULL, 0);
    report_stopped(b, NULL, 0); /* it was faster, and is asked again */
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
}
END_TEST

START_TEST(a_queue_change_during_the_grace_keeps_the_handover)
{
    preempt_half();
    struct gang_queue_spec q[2] = {default_queue(), GANG_QUEUE_SPEC_INIT};
    q[0].order = GANG_ORDER_FIFO; /* the usage of all jobs is counted from scratch */
    q[1].name = "other";
    q[1].reclaim = GANG_PREEMPT_NEVER;
    host_queues(&h, q, 2);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 8000);
    gang_job_id small = host_gang(&h, "other", 1, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(small), 0);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 8000);
}
END_TEST

START_TEST(limits_lowered_during_the_grace_bind_the_preemptor)
{
    struct gang_quota four = {"gpu", 4000, NULL, 0, 0};
    struct gang_queue_spec q = default_queue();
    preempt_low(8);
    q.limit = &four;
    q.limit_count = 1;
    host_queues(&h, &q, 1);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 0);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 0);
    four.amount = 8000;
    host_queues(&h, &q, 1);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
}
END_TEST

/* Tasks that stop for a job of another queue count for the limit of their own queue until they have
 * stopped. */
START_TEST(stopping_tasks_count_for_the_limit_of_their_queue)
{
    struct gang_quota eight = {"cpu", 8000, NULL, 0, 0}, two = {"gpu", 2000, NULL, 0, 0};
    struct gang_queue_spec q[2] = {default_queue(), GANG_QUEUE_SPEC_INIT};
    q[0].limit = &eight;
    q[0].limit_count = 1;
    q[1].name = "a";
    q[1].guaranteed = &two;
    q[1].guaranteed_count = 1;
    host_queues(&h, q, 2);
    low = host_submit(&h, host_spec("default", 8, 1, 0));
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(low), 8);
    struct gang_group_spec cores = group_of(2, 1000, 0);
    struct gang_job_spec job = host_job(&cores, 1);
    job.queue = "default";
    job.never_preempts = true; /* the allowed job is tried again for another reason */
    gang_job_id waits = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, waits), GANG_JOB_PENDING); /* its queue is full */
    high = host_gang(&h, "a", 2, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "shrink"), 1);
    ck_assert_int_eq(gpus_of(high), 0); /* they have their grace */
    ck_assert_int_eq(host_job_state(&h, waits), GANG_JOB_PENDING);
    const int64_t *tasks = host_last(&h, low, "shrink")->tasks, stopped[2] = {tasks[0], tasks[1]};
    for (int i = 0; i < 2; i++)
        host_report(&h, low, stopped[i], GANG_TASK_STOPPED);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 2);
    ck_assert_int_eq(host_job_state(&h, waits), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(tasks_that_end_while_they_are_suspended_do_not_resume)
{
    struct gang_queue_spec q = default_queue();
    int64_t two[2] = {0, 5}, rest[6] = {1, 2, 3, 4, 6, 7};
    q.preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    host_queues(&h, &q, 1);
    preempt_low(4);
    MUST(gang_report_tasks(h.s, low, 0, GANG_ID_NONE, two, 2, GANG_TASK_SUCCEEDED));
    report_stopped(low, rest, 6);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    ck_assert_int_eq(gpus_of(high), 4);
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
    ck_assert_int_eq(gpus_of(low), 6);
}
END_TEST

/* A moved gang is not lost when other jobs arrive: its new places are kept for it. */
START_TEST(the_new_places_of_a_moved_gang_are_kept)
{
    struct gang_group_spec four = group_of(1, 4000, 4000);
    struct gang_job_spec job = host_job(&four, 1);
    gang_job_id first = host_gang(&h, "", 2, 0), second = host_gang(&h, "", 2, 0);
    host_run(&h, 1);
    low = host_gang(&h, "", 2, 0);
    host_run(&h, 1);
    MUST(gang_report_end(h.s, second, 1)); /* two and two are free */
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(first), 2);
    ck_assert_int_eq(gpus_of(low), 2);
    high = host_submit(&h, &job);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_PENDING);
    gang_job_id moves = host_job_state(&h, low) == GANG_JOB_STOPPING ? low : first;
    ck_assert_int_eq(host_job_state(&h, moves), GANG_JOB_STOPPING);
    gang_job_id late = host_gang(&h, "", 2, 5);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, late), GANG_JOB_PENDING);
    report_stopped(moves, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, high), GANG_JOB_RUNNING);
    ck_assert_int_eq(gpus_of(moves), 2);
}
END_TEST

/* If the preemptor gives up, the moved gang waits like others. */
START_TEST(a_gang_whose_move_fails_waits_in_the_order)
{
    struct gang_group_spec four = group_of(1, 4000, 4000);
    struct gang_job_spec job = host_job(&four, 1);
    gang_job_id first = host_gang(&h, "", 2, 0), second = host_gang(&h, "", 2, 0);
    host_run(&h, 1);
    low = host_gang(&h, "", 2, 0);
    host_run(&h, 1);
    MUST(gang_report_end(h.s, second, 1));
    host_run(&h, 1);
    high = host_submit(&h, &job);
    host_run(&h, 1);
    gang_job_id moves = host_job_state(&h, low) == GANG_JOB_STOPPING ? low : first;
    MUST(gang_job_cancel(h.s, high));
    host_run(&h, 1);
    ck_assert(!host_has(&h, high));
    report_stopped(moves, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(moves), 2);
}
END_TEST

/* A preemptor uses its part of the guarantee from the start of the handover. A job that arrives
 * meanwhile does not get that part, or the victims would have stopped for nothing. */
START_TEST(a_guarantee_under_handover_is_not_lent)
{
    struct gang_quota six = {"cpu", 6000, NULL, 0, 0}, eight = {"gpu", 8000, NULL, 0, 0};
    struct gang_quota promised[2] = {six, eight};
    struct gang_queue_spec q[2] = {default_queue(), GANG_QUEUE_SPEC_INIT};
    q[1].name = "a";
    q[1].guaranteed = promised;
    q[1].guaranteed_count = 2;
    host_queues(&h, q, 2);
    low = host_gang(&h, "default", 8, 0);
    host_run(&h, 1);
    struct gang_job_spec *job = host_spec("a", 4, 4, 0);
    job->preemptible = GANG_NOT_PREEMPTIBLE;
    high = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    struct gang_group_spec cores = group_of(3, 1000, 0);
    struct gang_job_spec other = host_job(&cores, 1);
    other.queue = "a";
    other.preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id late = host_submit(&h, &other); /* 4 and 3 cores are more than the 6 */
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, late), GANG_JOB_PENDING);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 4);
}
END_TEST

START_TEST(growth_that_waits_for_victims_survives_a_queue_change)
{
    struct gang_queue_spec q = default_queue();
    low = host_gang(&h, "", 4, 0);
    host_run(&h, 1);
    high = host_submit(&h, host_spec("", 8, 4, 1));
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 4);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    q.order = GANG_ORDER_FAIR;
    host_queues(&h, &q, 1);
    report_stopped(low, NULL, 0);
    for (int i = 0; i < 8; i++)
        host_run(&h, GRACE);
    ck_assert_int_eq(gpus_of(high), 8);
}
END_TEST

/* ---- in callbacks ---- */

static gang_job_id made;

static void busy(struct host *host, const struct host_event *e)
{
    if (strcmp(e->op, "preempt") == 0) { /* it stops while it is asked to */
        MUST(gang_report_tasks(host->s, e->job, e->part, e->alloc, NULL, 0, GANG_TASK_STOPPED));
        made = host_gang(host, "", 1, 0);
    }
    if (strcmp(e->op, "start") == 0 && e->job == high)
        MUST(gang_job_cancel(host->s, made));
}

START_TEST(a_callback_may_report_submit_and_cancel)
{
    low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    h.during = busy;
    high = host_gang(&h, "", 8, 1);
    made = GANG_ID_NONE;
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8); /* in one run */
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_PENDING);
    host_run(&h, 0);
    ck_assert_int_eq(host_end(&h, made), GANG_END_CANCELLED);
}
END_TEST

static void cancel_itself(struct host *host, const struct host_event *e)
{
    if (strcmp(e->op, "state") != 0)
        MUST(gang_job_cancel(host->s, e->job));
}

START_TEST(a_job_may_be_cancelled_in_its_own_callbacks)
{
    h.during = cancel_itself;
    gang_job_id id = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    for (int i = 0; i < 3; i++)
        host_run(&h, GRACE);
    ck_assert_int_eq(host_end(&h, id), GANG_END_CANCELLED);
    ck_assert_int_eq(host_gpus_free(&h), 8);
}
END_TEST

/* ---- suspension and cancellation ---- */

static void set_preempt(int32_t preempt)
{
    host_preempts(&h, GRACE, preempt);
}

static void copy_tasks(gang_job_id id, struct task_list *to)
{
    *to = *stage_tasks(&h.stage, gang_job_alloc(h.s, id, 0));
}

/* `low` of 3 is suspended for 8; on which places it was. */
static void suspend(struct task_list *were)
{
    set_preempt(GANG_PREEMPT_MODE_SUSPEND);
    gang_job_id first = host_gang(&h, "", 2, 0);
    low = host_gang(&h, "", 3, 0);
    host_run(&h, 1);
    MUST(gang_report_end(h.s, first, 1));
    host_run(&h, 1);
    copy_tasks(low, were);
    high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "suspend"), 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_STOPPING);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    ck_assert_int_eq(gpus_of(high), 8);
}

START_TEST(a_suspended_gang_resumes_on_the_same_places)
{
    static struct task_list were, are;
    suspend(&were);
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_RUNNING);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
    ck_assert_int_eq(host_ops(&h, low, "start"), 1);
    copy_tasks(low, &are);
    ck_assert_uint_eq(are.count, were.count);
    for (size_t i = 0; i < are.count; i++) {
        ck_assert_uint_eq(are.task[i].node, were.task[i].node);
        ck_assert_uint_eq(are.task[i].gpus, were.task[i].gpus);
    }
}
END_TEST

START_TEST(a_suspended_gang_waits_for_its_own_places)
{
    static struct task_list were;
    suspend(&were);
    MUST(gang_report_end(h.s, high, 1));
    MUST(gang_node_set_state(h.stage.w, were.task[0].node, GANG_NODE_DRAINING));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_SUSPENDED);
    test_assert(host_is_idle(&h));
    MUST(gang_node_set_state(h.stage.w, were.task[0].node, GANG_NODE_UP));
    host_run(&h, 1);
    ck_assert_int_eq(host_job_state(&h, low), GANG_JOB_RUNNING);
}
END_TEST

START_TEST(a_suspended_gang_whose_places_are_removed_starts_again)
{
    static struct task_list were;
    suspend(&were);
    gang_node_id n = were.task[0].node;
    MUST(gang_report_end(h.s, high, 1));
    MUST(gang_node_set_state(h.stage.w, n, GANG_NODE_DRAINING));
    host_run(&h, 1);
    MUST(gang_node_remove(h.stage.w, n));
    host_run(&h, 1);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MAX);
    ck_assert_int_eq(gpus_of(low), 3);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 0);
    ck_assert_int_eq(host_ops(&h, low, "start"), 2);
}
END_TEST

START_TEST(a_suspended_job_may_be_cancelled)
{
    static struct task_list were;
    suspend(&were);
    MUST(gang_job_cancel(h.s, low));
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_CANCELLED);
}
END_TEST

START_TEST(a_suspended_job_survives_a_queue_change)
{
    static struct task_list were;
    struct gang_queue_spec q = default_queue();
    suspend(&were);
    q.order = GANG_ORDER_FAIR;
    host_queues(&h, &q, 1);
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert_int_eq(host_ops(&h, low, "resume"), 1);
}
END_TEST

START_TEST(victims_of_a_queue_in_cancel_mode_end)
{
    set_preempt(GANG_PREEMPT_MODE_CANCEL);
    h.lingers = true;
    preempt_low(8);
    report_stopped(low, NULL, 0);
    host_run(&h, 1);
    ck_assert_int_eq(host_end(&h, low), GANG_END_PREEMPTED);
    ck_assert_int_eq(gpus_of(high), 8);
}
END_TEST

/* ---- bounds of preemption ---- */

static void open_opts(const struct gang_sched_opts *opts)
{
    struct gang_host_ops ops = host_table();
    host_open_with(&h, 2, 4, opts, &ops);
}

START_TEST(observe_mode_stops_no_victim_and_logs_it)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    opts.observe_only = 1;
    open_opts(&opts);
    low = host_gang(&h, "default", 8, 0);
    host_run(&h, 1);
    high = host_gang(&h, "default", 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(low), 8);
    ck_assert_int_eq(gpus_of(high), 0);
    ck_assert_ptr_nonnull(strstr(h.log, "8 tasks"));
    h.log[0] = 0;
    host_run(&h, 1);
    ck_assert_str_eq(h.log, ""); /* once is enough */
    test_assert(host_is_idle(&h));
    host_close(&h);
}
END_TEST

START_TEST(max_preempted_tasks_bounds_a_run)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    opts.max_preempted_tasks = 2;
    opts.max_moves = -1;
    open_opts(&opts);
    for (int i = 0; i < 4; i++)
        host_gang(&h, "default", 2, 0);
    host_run(&h, 1);
    gang_job_id a = host_gang(&h, "default", 2, 1), b = host_gang(&h, "default", 2, 1);
    gang_job_id c = host_gang(&h, "default", 4, 1);
    struct gang_run_info info = host_run_info(&h, 1);
    ck_assert_int_eq(info.tasks_preempted, 2);
    ck_assert_int_eq(gpus_of(a), 2);
    ck_assert_int_eq(gpus_of(b), 0);
    ck_assert_int_eq(gang_sched_next(h.s), INT64_MIN);
    info = host_run_info(&h, 1);
    ck_assert_int_eq(info.tasks_preempted, 2);
    ck_assert_int_eq(gpus_of(b), 2);
    for (int i = 0; i < 3; i++) /* four at once are too many for ever */
        host_run(&h, 1);
    ck_assert_int_eq(gpus_of(c), 0);
    test_assert(host_is_idle(&h));
    host_close(&h);
}
END_TEST

START_TEST(min_runtime_protects_a_started_job)
{
    struct gang_queue_spec q = default_queue();
    q.grace_ns = 0;
    q.min_runtime_ns = 50;
    host_queues(&h, &q, 1);
    low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    high = host_gang(&h, "", 8, 1);
    host_run(&h, 49);
    ck_assert_int_eq(gpus_of(low), 8);
    ck_assert_int_eq(gang_sched_next(h.s), 51); /* it may be, then */
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
}
END_TEST

START_TEST(without_preemption_no_job_is_stopped)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    opts.no_preemption = 1;
    open_opts(&opts);
    low = host_gang(&h, "default", 8, 0);
    host_run(&h, 1);
    high = host_gang(&h, "default", 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(low), 8);
    host_close(&h);
}
END_TEST

START_TEST(a_job_that_never_preempts_waits)
{
    low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    struct gang_job_spec *job = host_spec("", 8, 8, 1);
    job->never_preempts = 1;
    high = host_submit(&h, job);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(low), 8);
    MUST(gang_report_end(h.s, low, 1));
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
}
END_TEST

static gang_job_id polite_gang(int64_t count, int64_t priority)
{
    struct gang_job_spec *job = host_spec("", count, count, priority);
    job->never_preempts = 1;
    return host_submit(&h, job);
}

START_TEST(a_job_that_never_preempts_keeps_no_like_job_from_preempting)
{
    low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    gang_job_id polite = polite_gang(8, 9);
    high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 8);
    ck_assert_int_eq(gpus_of(low), 0);
    ck_assert_int_eq(gpus_of(polite), 0);
    MUST(gang_report_end(h.s, high, 1));
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(polite), 8); /* it starts in its order */
    ck_assert_int_eq(gpus_of(low), 0);
}
END_TEST

START_TEST(in_strict_order_a_job_that_never_preempts_still_bars)
{
    struct gang_queue_spec q = default_queue();
    q.block = GANG_BLOCK_STRICT;
    host_queues(&h, &q, 1);
    low = host_gang(&h, "", 8, 0);
    host_run(&h, 1);
    (void)polite_gang(8, 9);
    high = host_gang(&h, "", 8, 1);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(low), 8);
    ck_assert_int_eq(gpus_of(high), 0);
}
END_TEST

START_TEST(a_non_preemptible_job_is_no_victim)
{
    struct gang_quota all = {"gpu", GANG_UNLIMITED, NULL, 0, 0};
    struct gang_queue_spec q = default_queue();
    q.guaranteed = &all;
    q.guaranteed_count = 1;
    host_queues(&h, &q, 1);
    struct gang_job_spec *job = host_spec("", 4, 4, 0);
    job->preemptible = GANG_NOT_PREEMPTIBLE;
    gang_job_id fixed = host_submit(&h, job);
    job = host_spec("", 4, 2, 0);
    job->preemptible = GANG_SEMI_PREEMPTIBLE;
    gang_job_id semi = host_submit(&h, job);
    host_run(&h, 1);
    high = host_gang(&h, "", 2, 1);
    gang_job_id more = host_gang(&h, "", 1, 1);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(high), 2);
    ck_assert_int_eq(gpus_of(semi), 2);
    ck_assert_int_eq(gpus_of(fixed), 4);
    ck_assert_int_eq(gpus_of(more), 0);
    ck_assert_int_eq(host_queue(&h, "default").used_nonpreemptible[GANG_KIND_GPU], 6000);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("host");
    TCase *c = tcase_create("at once");
    tcase_add_checked_fixture(c, open_two, close_two);
    tcase_add_test(c, capacity_of_a_refused_start_goes_to_other_gangs_at_once);
    tcase_add_test(c, refused_growth_is_undone_and_tried_again_later);
    tcase_add_test(c, a_refused_preempt_op_means_stopped_at_once);
    tcase_add_test(c, a_refused_shrink_op_means_stopped_at_once);
    tcase_add_test(c, without_a_grace_kill_follows_at_once);
    tcase_add_test(c, a_gang_whose_suspend_op_is_refused_is_preempted);
    tcase_add_test(c, a_resumption_that_is_refused_is_tried_again_later);
    tcase_add_test(c, a_suspended_gang_resumes_on_the_same_places);
    tcase_add_test(c, a_suspended_gang_waits_for_its_own_places);
    tcase_add_test(c, a_suspended_gang_whose_places_are_removed_starts_again);
    tcase_add_test(c, a_suspended_job_may_be_cancelled);
    tcase_add_test(c, a_suspended_job_survives_a_queue_change);
    tcase_add_test(c, victims_of_a_queue_in_cancel_mode_end);
    tcase_add_test(c, min_runtime_protects_a_started_job);
    tcase_add_test(c, a_job_that_never_preempts_waits);
    tcase_add_test(c, a_job_that_never_preempts_keeps_no_like_job_from_preempting);
    tcase_add_test(c, in_strict_order_a_job_that_never_preempts_still_bars);
    tcase_add_test(c, a_non_preemptible_job_is_no_victim);
    tcase_add_test(c, a_refused_start_that_another_thread_reads_is_released_later);
    tcase_add_test(c, a_copy_releases_at_once_what_another_thread_reads_in_the_original);
    tcase_add_test(c, refused_growth_that_another_thread_reads_is_released_later);
    tcase_add_test(c, a_job_ends_while_its_refused_tasks_are_not_yet_released);
    tcase_add_test(c, a_victim_that_another_thread_reads_is_released_later);
    suite_add_tcase(s, c);
    TCase *g = tcase_create("with a grace");
    tcase_add_checked_fixture(g, open_slow, close_two);
    tcase_add_test(g, the_preempt_op_gives_the_deadline_and_the_preemptor);
    tcase_add_test(g, the_preemptor_starts_when_the_last_victim_has_stopped);
    tcase_add_test(g, a_late_victim_is_killed_at_the_deadline_and_not_before);
    tcase_add_test(g, free_capacity_is_kept_for_a_handover);
    tcase_add_test(g, freed_capacity_is_kept_until_all_victims_have_stopped);
    tcase_add_test(g, a_cancelled_preemptor_releases_its_handover);
    tcase_add_test(g, a_held_preemptor_releases_its_handover);
    tcase_add_test(g, a_victim_cancelled_during_its_grace_does_not_wait_again);
    tcase_add_test(g, a_victim_that_ends_during_its_grace_has_ended);
    tcase_add_test(g, capacity_of_a_shrunk_victim_stays_kept_when_its_job_ends);
    tcase_add_test(g, a_shrinking_victim_is_not_asked_twice_for_the_same_tasks);
    tcase_add_test(g, a_handover_does_not_start_on_a_node_drained_during_the_grace);
    tcase_add_test(g, tasks_on_a_node_lost_during_the_grace_count_as_stopped);
    tcase_add_test(g, a_queue_change_during_the_grace_keeps_the_handover);
    tcase_add_test(g, limits_lowered_during_the_grace_bind_the_preemptor);
    tcase_add_test(g, a_guarantee_under_handover_is_not_lent);
    tcase_add_test(g, tasks_that_end_while_they_are_suspended_do_not_resume);
    tcase_add_test(g, the_new_places_of_a_moved_gang_are_kept);
    tcase_add_test(g, a_gang_whose_move_fails_waits_in_the_order);
    tcase_add_test(g, stopping_tasks_count_for_the_limit_of_their_queue);
    tcase_add_test(g, growth_that_waits_for_victims_survives_a_queue_change);
    tcase_add_test(g, a_callback_may_report_submit_and_cancel);
    tcase_add_test(g, a_job_may_be_cancelled_in_its_own_callbacks);
    suite_add_tcase(s, g);
    TCase *o = tcase_create("options");
    tcase_add_test(o, a_start_that_is_refused_is_undone_and_tried_again_later);
    tcase_add_test(o, without_ops_every_start_is_accepted_and_every_stop_is_immediate);
    tcase_add_test(o, observe_mode_stops_no_victim_and_logs_it);
    tcase_add_test(o, max_preempted_tasks_bounds_a_run);
    tcase_add_test(o, without_preemption_no_job_is_stopped);
    suite_add_tcase(s, o);
    return run_suite(s);
}
