/* SPDX-License-Identifier: Apache-2.0 */
/* A simulation: the work of a job, its events, the bounds of a run. */
#include "sim/simulated.h"

static struct simulated s;

static void open_two(void)
{
    sim_open(&s, 2, 4);
}

static void close_all(void)
{
    sim_close(&s);
}

/* ---- a job runs ---- */

START_TEST(a_job_runs_as_long_as_its_trace_says)
{
    sim_job(&s, 5, 100, 8);
    sim_make(&s, NULL);
    struct gang_sim_info info = sim_run(&s, -1);
    struct gang_sim_job j = sim_get(&s, 0);
    ck_assert_int_eq(info.stop_reason, GANG_SIM_DONE);
    ck_assert_time(info.now_ns, 105);
    ck_assert_int_eq(info.events, 2);
    ck_assert_int_eq(info.ended, 1);
    ck_assert_int_eq(j.end, GANG_END_SUCCESS);
    ck_assert_time(j.start_ns, 5);
    ck_assert_time(j.end_ns, 105);
    ck_assert_time(j.ran_ns, 100);
    ck_assert_int_eq(j.wait_ns, 0);
    ck_assert_int_eq(j.gpu_milli, 8000);
}
END_TEST

START_TEST(a_job_that_does_not_fit_waits_until_another_ends)
{
    sim_job(&s, 0, 100, 8);
    sim_job(&s, 10, 50, 2);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 1).start_ns, 100);
    ck_assert_time(sim_get(&s, 1).wait_ns, 90);
}
END_TEST

START_TEST(there_may_be_many_nodes)
{
    sim_close(&s);
    sim_open(&s, 700, 4);
    sim_job(&s, 0, 10, 2800);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).end_ns, 10);
    struct gang_sim_stats st = GANG_SIM_STATS_INIT;
    MUST(gang_sim_get_stats(s.sim, NULL, &st));
    ck_assert_double_eq_tol(st.gpu_utilisation, 1, 1e-12);
}
END_TEST

START_TEST(a_run_time_of_nothing_ends_at_once)
{
    sim_job(&s, 3, 0, 1);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).end_ns, 3);
    ck_assert_int_eq(sim_get(&s, 0).end, GANG_END_SUCCESS);
}
END_TEST

START_TEST(a_job_that_could_never_run_is_refused_and_others_run)
{
    sim_job(&s, 0, 10, 9);
    sim_job(&s, 0, 10, 1);
    sim_make(&s, NULL);
    struct gang_sim_info info = sim_run(&s, -1);
    ck_assert_int_eq(sim_get(&s, 0).end, GANG_END_REFUSED);
    ck_assert_int_eq(sim_get(&s, 0).starts, 0);
    ck_assert_int_eq(sim_get(&s, 1).end, GANG_END_SUCCESS);
    ck_assert_int_eq(info.ended, 2);
}
END_TEST

START_TEST(a_time_limit_ends_a_job_unless_limits_are_off)
{
    for (int32_t free = 0; free < 2; free++) {
        sim_close(&s);
        open_two();
        sim_job_of(&s, NULL, 0, 100, 1, 1, 30, NULL);
        s.opts.no_limits = free;
        sim_make(&s, NULL);
        sim_run(&s, -1);
        ck_assert_time(sim_get(&s, 0).end_ns, free ? 100 : 30);
        ck_assert_int_eq(sim_get(&s, 0).end, free ? GANG_END_SUCCESS : GANG_END_TIMEOUT);
    }
}
END_TEST

START_TEST(jobs_come_in_the_order_of_time_whatever_that_of_the_trace)
{
    sim_job(&s, 20, 10, 8);
    sim_job(&s, 0, 15, 8);
    sim_job(&s, -7, 5, 8);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 2).start_ns, -7);
    ck_assert_time(sim_get(&s, 1).start_ns, 0);
    ck_assert_time(sim_get(&s, 0).start_ns, 20);
}
END_TEST

START_TEST(an_ended_job_lingers_on_its_places)
{
    sim_job(&s, 0, 10, 8);
    sim_job(&s, 0, 10, 8);
    s.opts.linger_ns = SECOND;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).end_ns, 11);
    ck_assert_time(sim_get(&s, 1).start_ns, 11);
    ck_assert_time(sim_get(&s, 1).end_ns, 22);
}
END_TEST

START_TEST(ends_and_passes_wait_for_their_ticks)
{
    sim_job(&s, 1, 10, 8);
    sim_job(&s, 2, 10, 8);
    s.opts.pass_ns = 60 * SECOND;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).start_ns, 60);
    ck_assert_time(sim_get(&s, 0).end_ns, 70);
    ck_assert_time(sim_get(&s, 1).start_ns, 120);
}
END_TEST

/* ---- elastic ---- */

START_TEST(a_job_with_fewer_tasks_is_slower)
{
    static const struct {
        int64_t elastic, end;
    } way[] = {{0, 200}, {GANG_WHOLE, 200}, {-1, 100}, {2 * GANG_WHOLE, 400}};
    for (size_t i = 0; i < sizeof(way) / sizeof(way[0]); i++) {
        sim_close(&s);
        open_two();
        sim_job(&s, 0, 1000, 4);
        sim_job_of(&s, NULL, 0, 100, 8, 2, 0, NULL); /* has 4 */
        s.opts.elastic = way[i].elastic;
        sim_make(&s, NULL);
        sim_run(&s, -1);
        ck_assert_time(sim_get(&s, 1).end_ns, way[i].end);
    }
}
END_TEST

START_TEST(a_job_that_grows_is_faster)
{
    sim_job(&s, 0, 50, 4);
    sim_job_of(&s, NULL, 0, 100, 8, 2, 0, NULL); /* 4 of 8 until 50: a quarter is done */
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 1).end_ns, 125);
    ck_assert_int_eq(sim_get(&s, 1).starts, 1);
}
END_TEST

static int64_t half_speed(size_t index, int64_t tasks, int64_t count, void *user)
{
    (void)user;
    ck_assert_uint_eq(index, 0);
    ck_assert_int_eq(tasks, 2);
    ck_assert_int_eq(count, 2);
    return GANG_WHOLE / 2;
}

START_TEST(the_caller_may_set_the_speed_of_a_job)
{
    sim_job(&s, 0, 50, 2);
    s.ops.speed = half_speed;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).end_ns, 100);
}
END_TEST

/* ---- preempted ---- */

/* The first runs from 0 for 100 s; the second preempts it at 40 and takes 10 s. */
static void preempt(int64_t grace_s)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_trace_job j = GANG_TRACE_JOB_INIT;
    q.name = "q";
    q.grace_ns = grace_s * SECOND;
    s.opts.queues = &q;
    s.opts.queue_count = 1;
    g.count = g.min = 8;
    g.gpu_milli = 1000;
    j.groups = &g;
    j.group_count = 1;
    j.run_ns = 100 * SECOND;
    MUST(gang_trace_add(s.trace, &j, NULL));
    j.submit_ns = 40 * SECOND;
    j.run_ns = 10 * SECOND;
    j.priority = 1;
    MUST(gang_trace_add(s.trace, &j, NULL));
    sim_make(&s, NULL);
    sim_run(&s, -1);
}

START_TEST(a_preempted_job_resumes_its_work_after_the_restart)
{
    s.opts.restart_ns = 7 * SECOND;
    preempt(0);
    struct gang_sim_job j = sim_get(&s, 0);
    ck_assert_time(sim_get(&s, 1).start_ns, 40);
    ck_assert_time(j.end_ns, 117);
    ck_assert_int_eq(j.starts, 2);
    ck_assert_int_eq(j.preemptions, 1);
    ck_assert_time(j.start_ns, 0);
    ck_assert_time(j.wait_ns, 10);
    ck_assert_time(j.ran_ns, 107);
    ck_assert_time(j.lost_ns, 7);
}
END_TEST

START_TEST(a_preempted_job_takes_its_time_to_stop)
{
    s.opts.stop_ns = 5 * SECOND;
    preempt(30);
    ck_assert_time(sim_get(&s, 1).start_ns, 45);
    ck_assert_time(sim_get(&s, 0).end_ns, 115); /* 40 done, 60 left at 55 */
    ck_assert_time(sim_get(&s, 0).lost_ns, 5);
}
END_TEST

START_TEST(a_job_that_has_time_to_stop_saves_its_work)
{
    s.opts.stop_ns = 5 * SECOND;
    s.opts.checkpoint_ns = -1;
    preempt(30);
    ck_assert_time(sim_get(&s, 1).start_ns, 45);
    ck_assert_time(sim_get(&s, 0).end_ns, 115); /* 40 done, 60 left at 55 */
    ck_assert_time(sim_get(&s, 0).lost_ns, 5);
}
END_TEST

START_TEST(a_killed_job_resumes_from_its_last_checkpoint)
{
    s.opts.stop_ns = 60 * SECOND; /* longer than the grace */
    s.opts.checkpoint_ns = 15 * SECOND;
    preempt(2);
    ck_assert_time(sim_get(&s, 1).start_ns, 42);
    ck_assert_time(sim_get(&s, 0).end_ns, 122); /* 30 done, 70 left at 52 */
    ck_assert_time(sim_get(&s, 0).lost_ns, 12);
}
END_TEST

/* ---- failures ---- */

START_TEST(a_job_that_loses_its_node_restarts_from_its_checkpoint)
{
    sim_job(&s, 0, 100, 4);
    s.opts.loss = GANG_LOSS_RESTART;
    s.opts.checkpoint_ns = -1;
    sim_make(&s, NULL);
    gang_node_id first;
    MUST(gang_node_find(s.stage.c, "n0", &first));
    MUST(gang_sim_set_node_state(s.sim, 30 * SECOND, first, GANG_NODE_DOWN));
    sim_run(&s, -1);
    struct gang_sim_job j = sim_get(&s, 0);
    ck_assert_int_eq(j.failures, 1);
    ck_assert_time(j.end_ns, 130);
    ck_assert_time(j.lost_ns, 30);
    ck_assert_int_eq(j.end, GANG_END_SUCCESS);
}
END_TEST

START_TEST(a_drained_node_takes_no_job_until_it_is_back)
{
    sim_job(&s, 0, 10, 8);
    sim_make(&s, NULL);
    gang_node_id first;
    MUST(gang_node_find(s.stage.c, "n0", &first));
    MUST(gang_sim_set_node_state(s.sim, 0, first, GANG_NODE_DRAINING));
    MUST(gang_sim_set_node_state(s.sim, 25 * SECOND, first, GANG_NODE_UP));
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).start_ns, 25);
}
END_TEST

/* The scheduler hears of each loss in its next run. A node that comes up before it is up after it,
 * also if the node was down when it was set down again. */
START_TEST(a_node_that_is_set_down_twice_is_up_after_it_came_up)
{
    sim_job(&s, 0, 10, 1);
    sim_job(&s, 50, 100, 8);
    s.opts.pass_ns = 30 * SECOND;
    sim_make(&s, NULL);
    gang_node_id first;
    MUST(gang_node_find(s.stage.c, "n0", &first));
    MUST(gang_sim_set_node_state(s.sim, 5 * SECOND, first, GANG_NODE_DOWN));
    MUST(gang_sim_set_node_state(s.sim, 35 * SECOND, first, GANG_NODE_DOWN));
    MUST(gang_sim_set_node_state(s.sim, 40 * SECOND, first, GANG_NODE_UP));
    sim_run(&s, 119);
    ck_assert_int_eq(stage_node(&s.stage, first).state, GANG_NODE_UP);
    ck_assert_time(sim_get(&s, 1).start_ns, 90);
}
END_TEST

START_TEST(failures_come_as_often_as_they_are_to)
{
    for (int i = 0; i < 2000; i++)
        sim_job(&s, i * 100, 100, 8);
    s.opts.loss = GANG_LOSS_RESTART;
    s.opts.node_mtbf_ns = 10000 * SECOND; /* each of two */
    s.opts.node_repair_ns = 1;
    s.opts.seed = 7;
    sim_make(&s, NULL);
    struct gang_sim_info info = sim_run(&s, -1);
    struct gang_sim_stats stats = GANG_SIM_STATS_INIT;
    MUST(gang_sim_get_stats(s.sim, NULL, &stats));
    double expected = (double)info.now_ns / (10000.0 * SECOND) * 2;
    ck_assert_int_eq(stats.jobs, 2000);
    ck_assert_double_ge((double)stats.failures, expected * 0.5); /* some find no job */
    ck_assert_double_le((double)stats.failures, expected * 1.5);
}
END_TEST

START_TEST(tasks_fail_as_often_as_they_are_to)
{
    for (int i = 0; i < 500; i++)
        sim_job(&s, 0, 100, 1);
    s.opts.loss = GANG_LOSS_RESTART;
    s.opts.task_mtbf_ns = 200 * SECOND;
    s.opts.checkpoint_ns = 10 * SECOND;
    s.opts.seed = 3;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    struct gang_sim_stats stats = GANG_SIM_STATS_INIT;
    MUST(gang_sim_get_stats(s.sim, NULL, &stats));
    ck_assert_int_eq(stats.jobs, 500);
    ck_assert_int_gt(stats.failures, 180); /* 250 and a little more */
    ck_assert_int_lt(stats.failures, 340);
    ck_assert_double_lt(stats.goodput, 1);
}
END_TEST

START_TEST(a_job_that_failed_in_the_trace_fails)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_trace_job j = GANG_TRACE_JOB_INIT;
    g.gpu_milli = 1000;
    j.groups = &g;
    j.group_count = 1;
    j.run_ns = SECOND;
    j.end = GANG_END_FAILED;
    MUST(gang_trace_add(s.trace, &j, NULL));
    s.opts.recorded_ends = 1;
    s.opts.loss = GANG_LOSS_RESTART; /* for tasks that are lost: this one ended */
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_int_eq(sim_get(&s, 0).end, GANG_END_FAILED);
    ck_assert_int_eq(sim_get(&s, 0).starts, 1);
}
END_TEST

/* ---- bounds ---- */

START_TEST(a_run_stops_at_its_bound_and_continues)
{
    sim_job(&s, 0, 100, 8);
    sim_job(&s, 10, 100, 8);
    sim_make(&s, NULL);
    struct gang_sim_info info = sim_run(&s, 50);
    ck_assert_int_eq(info.stop_reason, GANG_SIM_AT_UNTIL);
    ck_assert_time(info.now_ns, 50);
    ck_assert_int_eq(info.running, 1);
    ck_assert_int_eq(info.pending, 1);
    ck_assert_time(sim_get(&s, 0).ran_ns, 50);
    ck_assert_time(sim_get(&s, 1).wait_ns, 40);
    ck_assert_int_eq(sim_get(&s, 1).start_ns, GANG_TRACE_UNKNOWN);
    struct gang_sim_bounds one = GANG_SIM_BOUNDS_INIT;
    one.max_events = 1;
    MUST(gang_sim_run(s.sim, &one, &info, NULL));
    ck_assert_int_eq(info.stop_reason, GANG_SIM_AT_EVENTS);
    ck_assert_time(info.now_ns, 100);
    info = sim_run(&s, 500);
    ck_assert_int_eq(info.stop_reason, GANG_SIM_DONE);
    ck_assert_time(info.now_ns, 500);
}
END_TEST

struct watch {
    int events[16];
    int asked, stop_at;
    gang_sim *sim;
};

static int32_t on_event(const struct gang_sim_event *e, void *user)
{
    struct watch *w = user;
    w->events[e->what]++;
    ck_assert_ptr_nonnull(e->text);
    if (w->sim)
        ck_assert_int_eq(gang_sim_run(w->sim, NULL, NULL, NULL), GANG_EBUSY);
    return 0;
}

static int32_t on_go(int64_t now_ns, int64_t events, void *user)
{
    struct watch *w = user;
    (void)now_ns;
    ck_assert_int_gt(events, 0);
    return ++w->asked == w->stop_at ? 77 : 0;
}

START_TEST(a_callback_may_stop_a_run_and_it_continues)
{
    struct watch w = {.stop_at = 3};
    struct gang_sim_bounds b = GANG_SIM_BOUNDS_INIT;
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    for (int i = 0; i < 10; i++)
        sim_job(&s, i, 5, 1);
    s.ops.go_on = on_go;
    s.ops.event = on_event;
    sim_make(&s, &w);
    b.every = 2;
    ck_assert_int_eq(gang_sim_run(s.sim, &b, NULL, NULL), 77);
    MUST(gang_sim_get_info(s.sim, &info));
    ck_assert_int_eq(info.stop_reason, GANG_SIM_INTERRUPTED);
    ck_assert_int_lt(info.ended, 10);
    w.sim = s.sim;
    MUST(gang_sim_run(s.sim, &b, &info, NULL));
    ck_assert_int_eq(info.stop_reason, GANG_SIM_DONE);
    ck_assert_int_eq(info.ended, 10);
    ck_assert_int_eq(w.events[GANG_SIM_SUBMITTED], 10);
    ck_assert_int_eq(w.events[GANG_SIM_STARTED], 10);
    ck_assert_int_eq(w.events[GANG_SIM_ENDED], 10);
}
END_TEST

struct meddler {
    gang_sim *sim;
    int calls;
};

static int32_t meddle(const struct gang_sim_event *e, void *user)
{
    struct meddler *m = user;
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    gang_cluster *cluster;
    gang_sim *fork;
    if (e->what != GANG_SIM_SUBMITTED)
        return 0;
    m->calls++;
    g.gpu_milli = 1000;
    job.request.groups = &g;
    job.request.group_count = 1;
    ck_assert_int_eq(gang_sim_run(m->sim, NULL, NULL, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_sim_submit(m->sim, &job, SECOND, NULL, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_sim_fork(m->sim, NULL, NULL, &cluster, &fork, NULL), GANG_EBUSY);
    ck_assert_int_eq(gang_sim_stream(m->sim, GANG_SIM_JOBS_CSV, NULL, NULL), GANG_EBUSY);
    return 77; /* it does not matter here */
}

START_TEST(a_callback_at_a_submission_may_not_change_the_simulation)
{
    struct meddler m = {.calls = 0};
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    size_t index;
    s.ops.event = meddle;
    sim_make(&s, &m);
    m.sim = s.sim;
    g.gpu_milli = 1000;
    job.request.groups = &g;
    job.request.group_count = 1;
    MUST(gang_sim_submit(s.sim, &job, 10 * SECOND, &index, NULL));
    ck_assert_int_eq(m.calls, 1);
    struct gang_sim_info info = sim_run(&s, -1);
    ck_assert_int_eq(info.stop_reason, GANG_SIM_DONE);
    ck_assert_int_eq(info.ended, 1);
}
END_TEST

START_TEST(a_job_that_waits_for_ever_does_not_keep_the_run_going)
{
    sim_job(&s, 0, 10, 8);
    sim_make(&s, NULL);
    gang_node_id first;
    MUST(gang_node_find(s.stage.c, "n0", &first));
    MUST(gang_sim_set_node_state(s.sim, 0, first, GANG_NODE_DRAINING));
    struct gang_sim_info info = sim_run(&s, -1);
    ck_assert_int_eq(info.stop_reason, GANG_SIM_DONE);
    ck_assert_int_eq(info.pending, 1);
}
END_TEST

/* ---- changed in between ---- */

START_TEST(jobs_may_be_submitted_and_cancelled_in_between)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_job_spec job = GANG_JOB_SPEC_INIT;
    size_t index;
    g.gpu_milli = 1000;
    job.name = "mine";
    job.request.groups = &g;
    job.request.group_count = 1;
    sim_job(&s, 0, 100, 8);
    sim_make(&s, NULL);
    sim_run(&s, 20);
    MUST(gang_sim_submit(s.sim, &job, 30 * SECOND, &index, NULL));
    ck_assert_uint_eq(index, 1);
    MUST(gang_job_cancel(gang_sim_sched(s.sim), sim_get(&s, 0).id));
    sim_run(&s, -1);
    ck_assert_int_eq(sim_get(&s, 0).end, GANG_END_CANCELLED);
    ck_assert_str_eq(sim_get(&s, 1).name, "mine");
    ck_assert_time(sim_get(&s, 1).submit_ns, 20);
    ck_assert_time(sim_get(&s, 1).end_ns, 50);
    size_t found;
    MUST(gang_sim_find_job(s.sim, sim_get(&s, 1).id, &found));
    ck_assert_uint_eq(found, 1);
}
END_TEST

START_TEST(nodes_may_be_added_in_between)
{
    sim_job(&s, 0, 100, 8);
    sim_job(&s, 0, 100, 4);
    sim_make(&s, NULL);
    sim_run(&s, 20);
    struct box box = {.name = "more", .cpu = 8000, .memory = GIB, .gpus = 4};
    stage_add(&s.stage, &box);
    sim_job(&s, 30, 5, 1); /* wakes it */
    MUST(gang_sim_add_trace(s.sim, s.trace, 1000 * SECOND, NULL));
    sim_run(&s, -1);
    ck_assert_int_eq(sim_get(&s, 0).end, GANG_END_SUCCESS);
}
END_TEST

/* ---- policies ---- */

static int32_t last_first(const struct gang_sim_view *v, double *score, void *user)
{
    (void)user;
    for (size_t i = 0; i < v->count; i++)
        score[i] = -(double)v->submit_ns[i];
    return 0;
}

START_TEST(a_policy_orders_waiting_jobs)
{
    sim_job(&s, 0, 10, 8);
    sim_job(&s, 1, 10, 8);
    sim_job(&s, 2, 10, 8);
    s.ops.score = last_first;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 0).start_ns, 0);
    ck_assert_time(sim_get(&s, 2).start_ns, 10);
    ck_assert_time(sim_get(&s, 1).start_ns, 20);
}
END_TEST

/* Each user's jobs after the other's, by name. */
static int32_t favourite_first(const struct gang_sim_view *v, double *score, void *user)
{
    (void)user;
    for (size_t i = 0; i < v->count; i++)
        score[i] = strcmp(gang_sim_user_name(s.sim, (size_t)v->user[i]), "eve") == 0 ? 0 : 1;
    return 0;
}

START_TEST(a_policy_knows_users)
{
    sim_job_of(&s, NULL, 0, 10, 8, 8, 0, "adam");
    sim_job_of(&s, NULL, 1, 10, 8, 8, 0, "adam");
    sim_job_of(&s, NULL, 2, 10, 8, 8, 0, "eve");
    sim_job_of(&s, NULL, 3, 10, 8, 8, 0, NULL);
    s.ops.score = favourite_first;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 2).start_ns, 10);
    ck_assert_time(sim_get(&s, 1).start_ns, 20);
    ck_assert_time(sim_get(&s, 3).start_ns, 30);
}
END_TEST

START_TEST(the_shortest_job_goes_first)
{
    sim_job(&s, 0, 10, 8);
    sim_job(&s, 1, 100, 8);
    sim_job(&s, 2, 20, 8);
    s.opts.policy = GANG_SIM_POLICY_SJF;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 2).start_ns, 10);
    ck_assert_time(sim_get(&s, 1).start_ns, 30);
}
END_TEST

START_TEST(the_shortest_remaining_preempts_the_longer)
{
    sim_job(&s, 0, 100, 8);
    sim_job(&s, 30, 20, 8);
    sim_job(&s, 31, 90, 8); /* longer than what is left of the first */
    s.opts.policy = GANG_SIM_POLICY_SRTF;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_time(sim_get(&s, 1).end_ns, 50);
    ck_assert_time(sim_get(&s, 0).end_ns, 120);
    ck_assert_time(sim_get(&s, 2).start_ns, 120);
    ck_assert_int_eq(sim_get(&s, 0).preemptions, 1);
}
END_TEST

START_TEST(the_least_served_job_preempts_one_that_had_its_share)
{
    sim_job(&s, 0, 100, 8);
    sim_job(&s, 10, 30, 8);
    s.opts.policy = GANG_SIM_POLICY_LAS;
    s.opts.las_split_ns = 8 * 20 * SECOND;
    s.opts.pass_ns = 5 * SECOND;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    /* the first has had just its share at 20 and more at 25, the other at 50; then age counts */
    ck_assert_time(sim_get(&s, 1).start_ns, 25);
    ck_assert_int_eq(sim_get(&s, 0).preemptions, 1);
    ck_assert_time(sim_get(&s, 0).end_ns, 125); /* on at 50, with 75 left */
    ck_assert_time(sim_get(&s, 1).end_ns, 130);
}
END_TEST

/* ---- events ---- */

START_TEST(statistics_of_nothing_are_not_a_number)
{
    struct gang_sim_stats st = GANG_SIM_STATS_INIT;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    MUST(gang_sim_get_stats(s.sim, NULL, &st));
    ck_assert(isnan(st.goodput) && isnan(st.jain));
}
END_TEST

START_TEST(statistics_are_those_of_the_field)
{
    struct gang_sim_stats st = GANG_SIM_STATS_INIT;
    sim_job_of(&s, NULL, 0, 100, 8, 8, 0, "a");
    sim_job_of(&s, NULL, 50, 50, 8, 8, 0, "b");
    sim_job_of(&s, NULL, 100, 5, 8, 8, 0, "b");
    sim_make(&s, NULL);
    sim_run(&s, -1);
    MUST(gang_sim_get_stats(s.sim, NULL, &st));
    ck_assert_int_eq(st.jobs, 3);
    ck_assert_double_eq_tol(st.wait_s.mean, (0 + 50 + 50) / 3.0, 1e-9);
    ck_assert_double_eq(st.wait_s.p50, 50);
    ck_assert_double_eq_tol(st.jct_s.mean, (100 + 100 + 55) / 3.0, 1e-9);
    ck_assert_double_eq_tol(st.slowdown.mean, (1 + 2 + 11) / 3.0, 1e-9);
    ck_assert_double_eq_tol(st.slowdown.p50, 2, 1e-9);
    ck_assert_double_eq_tol(st.slowdown.p90, 2 + 0.8 * 9, 1e-9);
    ck_assert_double_eq_tol(st.slowdown.p99, 2 + 0.98 * 9, 1e-9);
    ck_assert_double_eq_tol(st.bounded_slowdown.mean, (1 + 2 + 5.5) / 3.0, 1e-9);
    ck_assert_double_eq(st.makespan_s, 155);
    ck_assert_double_eq_tol(st.gpu_utilisation, 1, 1e-12);
    ck_assert_double_eq(st.goodput, 1);
    double b = (2 + 5.5) / 2; /* users a: 1, b */
    ck_assert_double_eq_tol(st.jain, (1 + b) * (1 + b) / (2 * (1 + b * b)), 1e-12);
    struct gang_sim_stats_opts of = GANG_SIM_STATS_OPTS_INIT;
    of.user = "a";
    MUST(gang_sim_get_stats(s.sim, &of, &st));
    ck_assert_int_eq(st.jobs, 1);
    of.user = "nobody";
    ck_assert_int_eq(gang_sim_get_stats(s.sim, &of, &st), GANG_ENOENT);
    of.user = NULL;
    of.warm_up_ns = 50 * SECOND;
    MUST(gang_sim_get_stats(s.sim, &of, &st));
    ck_assert_int_eq(st.jobs, 2);
}
END_TEST

START_TEST(free_gpus_beside_taken_ones_are_fragments)
{
    struct gang_sim_stats st = GANG_SIM_STATS_INIT;
    sim_job(&s, 0, 100, 1); /* 3 stray of 7 free */
    sim_job(&s, 100, 1, 1);
    sim_make(&s, NULL);
    sim_run(&s, -1);
    MUST(gang_sim_get_stats(s.sim, NULL, &st));
    ck_assert_double_eq_tol(st.fragmentation, 3.0 / 7, 1e-12);
    ck_assert_double_eq_tol(st.gpu_utilisation, 1.0 / 8, 1e-12);
}
END_TEST

START_TEST(places_and_the_timeline_are_recorded)
{
    sim_job(&s, 0, 10, 8);
    sim_job(&s, 5, 10, 2);
    s.opts.record = GANG_SIM_RECORD_ALLOCATIONS | GANG_SIM_RECORD_TIMELINE;
    sim_make(&s, NULL);
    sim_run(&s, 12);
    ck_assert_uint_eq(gang_sim_allocation_count(s.sim), 3);
    struct gang_sim_allocation a = {.size = sizeof(a)};
    MUST(gang_sim_get_allocation(s.sim, 0, &a));
    ck_assert_uint_eq(a.index, 0);
    ck_assert_int_eq(a.tasks, 4);
    ck_assert_int_eq(a.gpu_milli, 4000);
    ck_assert_uint_eq(a.gpus, 15);
    ck_assert_time(a.end_ns, 10);
    MUST(gang_sim_get_allocation(s.sim, 2, &a));
    ck_assert_int_eq(a.end_ns, GANG_TRACE_UNKNOWN);
    struct gang_sim_sample t = {.size = sizeof(t)};
    MUST(gang_sim_get_sample(s.sim, 1, &t));
    ck_assert_time(t.at_ns, 5);
    ck_assert_int_eq(t.pending, 1);
    ck_assert_int_eq(t.gpu_milli, 8000);
    gang_sim_drop(s.sim);
    ck_assert_uint_eq(gang_sim_allocation_count(s.sim), 1);
    ck_assert_uint_eq(gang_sim_sample_count(s.sim), 1);
    sim_run(&s, -1);
    MUST(gang_sim_get_allocation(s.sim, 0, &a));
    ck_assert_uint_eq(a.index, 1);
    ck_assert_time(a.end_ns, 20);
}
END_TEST

START_TEST(tables_are_csv)
{
    struct text t = {NULL, 0, 0};
    sim_job_of(&s, NULL, 0, 10, 8, 8, 20, "a,\"b\"");
    sim_make(&s, NULL);
    sim_run(&s, -1);
    MUST(gang_sim_write(s.sim, GANG_SIM_JOBS_CSV, text_write, &t));
    ck_assert_str_eq(
        t.bytes, "job,queue,user,state,end,submit_s,start_s,end_s,run_s,time_limit_s,queue_s,"
                 "suspended_s,ran_s,lost_s,tasks,cpus,mem_mib,gpus,starts,"
                 "preemptions,failures,index\n"
                 "0,default,\"a,\"\"b\"\"\",ended,success,0,0,10,10,20,0,0,10,0,8,0,0,8,1,0,0,0\n");
    free(t.bytes);
}
END_TEST

/* ---- wrong input ---- */

START_TEST(wrong_options_are_named)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_sim *sim;
    s.opts.tick_ns = -1;
    EXPECT_ERROR(gang_sim_new(s.stage.c, &s.opts, NULL, NULL, &sim, &error), GANG_ERANGE, &error,
                 "tick_ns", NULL);
    ck_assert_ptr_null(sim);
    s.opts.tick_ns = 0;
    s.opts.default_queue = "no";
    EXPECT_ERROR(gang_sim_new(s.stage.c, &s.opts, NULL, NULL, &sim, &error), GANG_ENOENT, &error,
                 "default_queue", NULL);
    s.opts.default_queue = NULL;
    s.opts.size = 1;
    EXPECT_RESULT(gang_sim_new(s.stage.c, &s.opts, NULL, NULL, &sim, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_sim_new(NULL, NULL, NULL, NULL, &sim, &error), GANG_EINVAL, &error);
}
END_TEST

START_TEST(a_queue_that_is_not_there_refuses_the_trace_whole)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_sim_info info = GANG_SIM_INFO_INIT;
    q[0].name = "a";
    q[1].name = "b";
    s.opts.queues = q;
    s.opts.queue_count = 2;
    sim_job_of(&s, "a", 0, 1, 1, 1, 0, NULL);
    sim_make(&s, NULL);
    sim_job_of(&s, "c", 0, 1, 1, 1, 0, NULL);
    EXPECT_ERROR(gang_sim_add_trace(s.sim, s.trace, 0, &error), GANG_ENOENT, &error,
                 "jobs[1].queue", NULL);
    MUST(gang_sim_get_info(s.sim, &info));
    ck_assert_int_eq(info.jobs, 1);
    sim_run(&s, -1);
    ck_assert_int_eq(sim_get(&s, 0).end, GANG_END_SUCCESS);
}
END_TEST

START_TEST(a_queue_that_came_since_takes_the_jobs_of_a_trace)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_error error = GANG_ERROR_INIT;
    q[0].name = "a";
    q[1].name = "late";
    s.opts.queues = q;
    s.opts.queue_count = 1;
    sim_make(&s, NULL);
    sim_job_of(&s, "late", 0, 1, 1, 1, 0, NULL);
    /* one queue alone takes all */
    EXPECT_RESULT(gang_sim_add_trace(s.sim, s.trace, 0, &error), GANG_OK, &error);
    EXPECT_RESULT(gang_sched_set_queues(gang_sim_sched(s.sim), q, 2, &error), GANG_OK, &error);
    EXPECT_RESULT(gang_sim_add_trace(s.sim, s.trace, 0, &error), GANG_OK, &error);
    sim_run(&s, -1);
    ck_assert_str_eq(sim_get(&s, 0).queue, "a");
    ck_assert_str_eq(sim_get(&s, 1).queue, "late");
    ck_assert_int_eq(sim_get(&s, 1).end, GANG_END_SUCCESS);
    ck_assert_str_eq(gang_sim_queue_name(s.sim, 1), "late");
}
END_TEST

START_TEST(an_index_past_the_end_is_not_there)
{
    struct gang_sim_job j = {.size = sizeof(j)};
    int64_t value;
    sim_make(&s, NULL);
    sim_run(&s, -1);
    ck_assert_int_eq(gang_sim_get_job(s.sim, 0, &j), GANG_ENOENT);
    ck_assert_int_eq(gang_sim_job_column(s.sim, GANG_SIM_JOB_RAN_NS, 0, 1, &value), GANG_ENOENT);
    ck_assert_int_eq(gang_sim_job_column(s.sim, 99, 0, 0, &value), GANG_EINVAL);
    ck_assert_ptr_null(gang_sim_queue_name(s.sim, 9));
    ck_assert_str_eq(gang_sim_queue_name(s.sim, 0), "default");
    gang_sim_free(NULL);
    gang_sim_drop(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sim");
    TCase *c = tcase_create("two nodes of four");
    tcase_add_checked_fixture(c, open_two, close_all);
    tcase_add_test(c, a_job_runs_as_long_as_its_trace_says);
    tcase_add_test(c, a_job_that_does_not_fit_waits_until_another_ends);
    tcase_add_test(c, there_may_be_many_nodes);
    tcase_add_test(c, a_run_time_of_nothing_ends_at_once);
    tcase_add_test(c, a_job_that_could_never_run_is_refused_and_others_run);
    tcase_add_test(c, a_time_limit_ends_a_job_unless_limits_are_off);
    tcase_add_test(c, jobs_come_in_the_order_of_time_whatever_that_of_the_trace);
    tcase_add_test(c, an_ended_job_lingers_on_its_places);
    tcase_add_test(c, ends_and_passes_wait_for_their_ticks);
    tcase_add_test(c, a_job_with_fewer_tasks_is_slower);
    tcase_add_test(c, a_job_that_grows_is_faster);
    tcase_add_test(c, the_caller_may_set_the_speed_of_a_job);
    tcase_add_test(c, a_preempted_job_resumes_its_work_after_the_restart);
    tcase_add_test(c, a_preempted_job_takes_its_time_to_stop);
    tcase_add_test(c, a_job_that_has_time_to_stop_saves_its_work);
    tcase_add_test(c, a_killed_job_resumes_from_its_last_checkpoint);
    tcase_add_test(c, a_job_that_loses_its_node_restarts_from_its_checkpoint);
    tcase_add_test(c, a_drained_node_takes_no_job_until_it_is_back);
    tcase_add_test(c, a_node_that_is_set_down_twice_is_up_after_it_came_up);
    tcase_add_test(c, failures_come_as_often_as_they_are_to);
    tcase_add_test(c, tasks_fail_as_often_as_they_are_to);
    tcase_add_test(c, a_job_that_failed_in_the_trace_fails);
    tcase_add_test(c, a_run_stops_at_its_bound_and_continues);
    tcase_add_test(c, a_callback_may_stop_a_run_and_it_continues);
    tcase_add_test(c, a_callback_at_a_submission_may_not_change_the_simulation);
    tcase_add_test(c, a_job_that_waits_for_ever_does_not_keep_the_run_going);
    tcase_add_test(c, jobs_may_be_submitted_and_cancelled_in_between);
    tcase_add_test(c, nodes_may_be_added_in_between);
    tcase_add_test(c, a_policy_orders_waiting_jobs);
    tcase_add_test(c, a_policy_knows_users);
    tcase_add_test(c, the_shortest_job_goes_first);
    tcase_add_test(c, the_shortest_remaining_preempts_the_longer);
    tcase_add_test(c, the_least_served_job_preempts_one_that_had_its_share);
    tcase_add_test(c, statistics_of_nothing_are_not_a_number);
    tcase_add_test(c, statistics_are_those_of_the_field);
    tcase_add_test(c, free_gpus_beside_taken_ones_are_fragments);
    tcase_add_test(c, places_and_the_timeline_are_recorded);
    tcase_add_test(c, tables_are_csv);
    tcase_add_test(c, wrong_options_are_named);
    tcase_add_test(c, a_queue_that_is_not_there_refuses_the_trace_whole);
    tcase_add_test(c, a_queue_that_came_since_takes_the_jobs_of_a_trace);
    tcase_add_test(c, an_index_past_the_end_is_not_there);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
