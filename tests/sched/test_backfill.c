/* SPDX-License-Identifier: Apache-2.0 */
/* Planned starts: which jobs have one, which may start before it, and what changes it. A plan never
 * moves later, and memory may run out at any moment. */
#include "chance.h"
#include "sched/host.h"

static struct host h;
static const int64_t SECOND = HOST_SECOND;

/* One queue "q" on `nodes` nodes of four GPUs. */
static void open_queue(size_t nodes, int32_t backfill, int64_t depth)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, nodes, 4);
    q.name = "q";
    q.backfill = backfill;
    q.plan_depth = depth;
    host_queues(&h, &q, 1);
}

/* A gang of so many tasks of one GPU each, that runs for so many seconds at most; 0: no limit. */
static gang_job_id put(const char *queue, int64_t tasks, int64_t limit_s, int64_t priority)
{
    struct gang_job_spec *job = host_spec(queue, tasks, tasks, priority);
    job->time_limit_ns = limit_s * SECOND;
    gang_job_id id = host_submit(&h, job);
    host_run(&h, 0);
    return id;
}

static bool runs(gang_job_id id)
{
    return host_has(&h, id) && host_job_state(&h, id) == GANG_JOB_RUNNING;
}

/* When it is planned to start, in seconds; 0: it is not. */
static int64_t planned(gang_job_id id)
{
    return host_job_info(&h, id).planned_ns / SECOND;
}

/* A run is cut short before it rebuilds the timeline: the next run does it. */
START_TEST(a_begin_time_that_passes_in_a_run_cut_short_is_not_missed)
{
    struct gang_run_opts opts = GANG_RUN_OPTS_INIT;
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    open_queue(2, GANG_BACKFILL_EASY, 0);
    struct gang_job_spec *job = host_spec("q", 4, 4, 0);
    job->begin_ns = 100 * SECOND;
    gang_job_id id = host_submit(&h, job);
    put("q", 4, 10, 0);
    q.name = "q";
    q.backfill = GANG_BACKFILL_EASY;
    q.grace_ns = SECOND;
    host_queues(&h, &q, 1);
    host_submit(&h, host_spec("q", 1, 1, 0));
    h.now_ns = 100 * SECOND;
    opts.max_steps = 1 + _i;
    MUST(gang_sched_run(h.s, h.now_ns, &opts, NULL));
    host_check(&h);
    host_run(&h, 0);
    ck_assert(runs(id));
    host_close(&h);
}
END_TEST

/* ---- planned and backfilled jobs ------------------------------------------------------------- */

START_TEST(easy_backfill_plans_the_first_gang_and_starts_gangs_that_do_not_delay_it)
{
    open_queue(2, GANG_BACKFILL_EASY, 0);
    host_run(&h, SECOND);
    gang_job_id a = put("q", 4, 100, 0), head = put("q", 8, 50, 0), later = put("q", 8, 50, 0);
    test_assert(runs(a) && !runs(head) && !runs(later));
    ck_assert_int_eq(planned(head), 101);
    ck_assert_int_eq(planned(later), 0); /* one alone */
    gang_job_id longer = put("q", 4, 101, 0), fits = put("q", 4, 100, 0);
    test_assert(!runs(longer) && runs(fits));
    ck_assert_int_eq(planned(head), 101);
    ck_assert_int_eq(host_queue(&h, "q").planned, 1);
    host_run_next(&h);
    ck_assert_int_eq(h.now_ns, 101 * SECOND);
    test_assert(runs(head)); /* at the very time, since those before it were stopped */
    host_close(&h);
}
END_TEST

START_TEST(without_backfill_no_start_is_planned_and_every_gang_may_pass)
{
    open_queue(2, GANG_BACKFILL_NONE, 0);
    gang_job_id a = put("q", 4, 100, 0), head = put("q", 8, 50, 0), longer = put("q", 4, 999, 0);
    test_assert(runs(a) && !runs(head) && runs(longer));
    ck_assert_int_eq(planned(head), 0);
    host_close(&h);
}
END_TEST

START_TEST(conservative_backfill_plans_every_gang)
{
    open_queue(2, GANG_BACKFILL_CONSERVATIVE, 0);
    (void)put("q", 4, 100, 0);
    gang_job_id b = put("q", 8, 50, 0), c = put("q", 8, 30, 0), d = put("q", 4, 100, 0),
                e = put("q", 4, 200, 0);
    ck_assert_int_eq(planned(b), 100);
    ck_assert_int_eq(planned(c), 150);
    test_assert(runs(d));
    ck_assert_int_eq(planned(e), 180); /* behind all of them: it delays no job */
    ck_assert_int_eq(host_queue(&h, "q").planned, 3);
    ck_assert_int_eq(host_queue(&h, "q").plan_depth, 0);
    host_close(&h);
}
END_TEST

START_TEST(plan_depth_is_the_number_of_planned_gangs)
{
    open_queue(2, GANG_BACKFILL_EASY, 2);
    (void)put("q", 8, 100, 0);
    gang_job_id a = put("q", 8, 50, 0), b = put("q", 8, 50, 0), c = put("q", 8, 50, 0);
    ck_assert_int_eq(planned(a), 100);
    ck_assert_int_eq(planned(b), 150); /* of the same shape as the first */
    ck_assert_int_eq(planned(c), 0);
    host_close(&h);
}
END_TEST

/* _i: shortest, widest, smallest: which of three goes into the hole of two. */
START_TEST(backfill_candidates_are_tried_in_the_order_of_the_queue)
{
    static const int64_t tasks[3] = {1, 2, 2}, limit_s[3] = {50, 90, 20};
    static const bool starts[3][3] = {
        {false, false, true}, {false, true, false}, {false, false, true}};
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 2, 4);
    q.name = "q";
    q.backfill = GANG_BACKFILL_EASY;
    q.backfill_order = GANG_BACKFILL_ORDER_SHORTEST + _i;
    host_queues(&h, &q, 1);
    (void)put("q", 6, 100, 0);
    gang_job_id head = put("q", 8, 50, 0), id[3];
    for (int i = 0; i < 3; i++) {
        struct gang_job_spec *job = host_spec("q", tasks[i], tasks[i], 0);
        job->time_limit_ns = limit_s[i] * SECOND;
        id[i] = host_submit(&h, job);
    }
    host_run(&h, 0);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(runs(id[i]), starts[_i][i]);
    ck_assert_int_eq(planned(head), 100);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_without_a_time_limit_backfills_only_on_nodes_outside_the_plan)
{
    open_queue(3, GANG_BACKFILL_EASY, 0);
    (void)put("q", 8, 100, 0);
    gang_job_id head = put("q", 8, 50, 0);
    ck_assert_int_eq(planned(head), 100);
    gang_job_id forever = put("q", 4, 0, 0); /* 12 there are, 8 are the head's from 100 on */
    test_assert(runs(forever));
    gang_job_id more = put("q", 1, 0, 0);
    test_assert(!runs(more));
    host_close(&h);
}
END_TEST

START_TEST(no_start_is_planned_behind_a_job_without_a_time_limit)
{
    open_queue(2, GANG_BACKFILL_EASY, 0);
    (void)put("q", 4, 0, 0);
    gang_job_id never = put("q", 8, 50, 0);
    ck_assert_int_eq(planned(never), 0);
    gang_job_id passes = put("q", 2, 10, 0), head = put("q", 4, 10, 0);
    test_assert(runs(passes));
    ck_assert_int_eq(planned(head), 10); /* the first job that has a time */
    host_close(&h);
}
END_TEST

START_TEST(a_planned_start_waits_for_the_grace_of_running_jobs)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 1, 4);
    h.lingers = true;
    q.name = "q";
    q.backfill = GANG_BACKFILL_EASY;
    q.grace_ns = 7 * SECOND;
    host_queues(&h, &q, 1);
    (void)put("q", 4, 10, 0);
    gang_job_id head = put("q", 4, 10, 0);
    ck_assert_int_eq(planned(head), 17);
    host_run(&h, 10 * SECOND);
    ck_assert_int_eq(planned(head), 17);
    host_run(&h, 7 * SECOND);
    test_assert(runs(head));
    host_close(&h);
}
END_TEST

START_TEST(a_gang_that_a_limit_forbids_has_no_planned_start)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    host_open(&h, 2, 4);
    q.name = "q";
    q.backfill = GANG_BACKFILL_EASY;
    q.max_running = 2;
    host_queues(&h, &q, 1);
    (void)put("q", 4, 100, 0);
    gang_job_id b = put("q", 2, 30, 0), c = put("q", 2, 30, 0);
    test_assert(runs(b) && !runs(c));
    ck_assert_int_eq(planned(c), 0);
    host_close(&h);
}
END_TEST

START_TEST(gangs_of_other_queues_do_not_delay_a_planned_start)
{
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    host_open(&h, 2, 4);
    q[0].name = "q";
    q[0].backfill = GANG_BACKFILL_EASY;
    q[1].name = "other";
    q[1].reclaim = GANG_PREEMPT_NEVER; /* `longer` has its turn again when head has begun */
    host_queues(&h, q, 2);
    (void)put("q", 4, 100, 0);
    gang_job_id head = put("q", 8, 50, 0), longer = put("other", 4, 101, 0),
                fits = put("other", 2, 100, 0);
    test_assert(!runs(longer) && runs(fits));
    ck_assert_int_eq(planned(head), 100);
    host_run(&h, 100 * SECOND);
    test_assert(runs(head));
    host_close(&h);
}
END_TEST

/* An allocation outside the scheduler took a GPU: the plan fails when it is due. A job that was
 * tried before and waited for the plan is tried again. */
START_TEST(a_plan_without_capacity_delays_no_gang)
{
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    struct gang_group_spec g = group_of(1, 1000, 0);
    gang_worker *w;
    gang_request *r;
    gang_alloc_id id;
    host_open(&h, 2, 4);
    q[0].name = "q";
    q[0].backfill = GANG_BACKFILL_EASY;
    q[1].name = "first";
    q[1].priority = 200;
    q[1].reclaim = GANG_PREEMPT_NEVER;
    host_queues(&h, q, 2);
    (void)put("q", 4, 100, 0);
    gang_job_id head = put("q", 8, 50, 0), endless = put("first", 3, 0, 0);
    ck_assert_int_eq(planned(head), 100);
    test_assert(!runs(endless));
    g.gpu_milli = 1000;
    spec.groups = &g;
    spec.group_count = 1;
    MUST(gang_worker_new(h.stage.c, &w));
    MUST(gang_request_new(h.stage.c, &spec, &r, NULL));
    MUST(gang_alloc(w, r, &id, NULL));
    host_run(&h, 100 * SECOND);
    ck_assert_int_eq(planned(head), 0);
    test_assert(!runs(head) && runs(endless));
    MUST(gang_alloc_free(w, id));
    gang_request_free(r);
    gang_worker_free(w);
    host_close(&h);
}
END_TEST

START_TEST(growth_does_not_delay_a_planned_start)
{
    open_queue(2, GANG_BACKFILL_EASY, 0);
    struct gang_job_spec *job = host_spec("q", 6, 2, 0);
    job->time_limit_ns = 500 * SECOND;
    gang_job_id first = put("q", 4, 100, 0), wide = put("q", 6, 50, 0);
    job = host_spec("q", 6, 2, 0);
    job->time_limit_ns = 500 * SECOND;
    gang_job_id elastic = host_submit(&h, job);
    host_run(&h, 0);
    test_assert(runs(first));
    ck_assert_int_eq(planned(wide), 100);
    ck_assert_int_eq(host_tasks(&h, elastic), 2); /* two more would be in the way */
    host_run(&h, 100 * SECOND);
    test_assert(runs(wide));
    host_run(&h, 50 * SECOND);
    ck_assert_int_eq(host_tasks(&h, elastic), 6);
    host_close(&h);
}
END_TEST

/* ---- changes of plans ------------------------------------------------------------------------ */

START_TEST(an_early_end_moves_planned_starts_forward)
{
    open_queue(2, GANG_BACKFILL_CONSERVATIVE, 0);
    gang_job_id a = put("q", 4, 100, 0), b = put("q", 4, 60, 0);
    gang_job_id c = put("q", 8, 50, 0), d = put("q", 8, 50, 0);
    ck_assert_int_eq(planned(c), 100);
    ck_assert_int_eq(planned(d), 150);
    host_run(&h, 10 * SECOND);
    host_end_job(&h, a);
    ck_assert_int_eq(planned(c), 60);
    ck_assert_int_eq(planned(d), 110);
    host_end_job(&h, b);
    test_assert(runs(c));
    ck_assert_int_eq(planned(d), 60);
    host_close(&h);
}
END_TEST

START_TEST(a_changed_time_limit_moves_planned_starts)
{
    open_queue(1, GANG_BACKFILL_EASY, 0);
    gang_job_id a = put("q", 4, 100, 0), b = put("q", 4, 60, 0);
    ck_assert_int_eq(planned(b), 100);
    MUST(gang_job_set_time_limit(h.s, a, 40 * SECOND));
    host_run(&h, 0);
    ck_assert_int_eq(planned(b), 40);
    MUST(gang_job_set_time_limit(h.s, a, 0));
    host_run(&h, 0);
    ck_assert_int_eq(planned(b), 0);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_of_higher_priority_replaces_the_easy_plan)
{
    open_queue(2, GANG_BACKFILL_EASY, 0);
    (void)put("q", 8, 100, 9);
    gang_job_id low = put("q", 8, 50, 0);
    ck_assert_int_eq(planned(low), 100);
    gang_job_id high = put("q", 8, 70, 5);
    ck_assert_int_eq(planned(high), 100);
    ck_assert_int_eq(planned(low), 0);
    host_run(&h, 100 * SECOND);
    test_assert(runs(high));
    ck_assert_int_eq(planned(low), 170);
    host_close(&h);
}
END_TEST

START_TEST(a_gang_of_higher_priority_does_not_move_a_conservative_plan)
{
    open_queue(2, GANG_BACKFILL_CONSERVATIVE, 0);
    (void)put("q", 8, 100, 9);
    gang_job_id low = put("q", 8, 50, 0), high = put("q", 8, 70, 5);
    ck_assert_int_eq(planned(low), 100);
    ck_assert_int_eq(planned(high), 150);
    host_close(&h);
}
END_TEST

START_TEST(a_held_or_cancelled_gang_drops_its_plan)
{
    open_queue(2, GANG_BACKFILL_EASY, 0);
    (void)put("q", 4, 100, 0);
    gang_job_id head = put("q", 8, 50, 0), longer = put("q", 4, 500, 0);
    test_assert(!runs(longer));
    MUST(gang_job_hold(h.s, head));
    host_run(&h, 0);
    test_assert(runs(longer));
    ck_assert_int_eq(planned(head), 0);
    MUST(gang_job_release(h.s, head));
    host_run(&h, 0);
    ck_assert_int_eq(planned(head), 500);
    MUST(gang_job_cancel(h.s, head));
    host_run(&h, 0);
    ck_assert_int_eq(host_queue(&h, "q").planned, 0);
    host_close(&h);
}
END_TEST

START_TEST(planned_starts_follow_changes_of_nodes)
{
    open_queue(3, GANG_BACKFILL_EASY, 0);
    gang_job_id a = put("q", 4, 100, 0), b = put("q", 4, 300, 0), c = put("q", 4, 200, 0);
    gang_job_id head = put("q", 8, 50, 0);
    ck_assert_int_eq(planned(head), 200);
    gang_node_id lost = host_node_of(&h, c, 0);
    MUST(gang_report_node_lost(h.s, lost));
    host_run(&h, 0);
    ck_assert_int_eq(planned(head), 300);
    MUST(gang_node_set_state(h.stage.w, lost, GANG_NODE_UP));
    host_run(&h, 0);
    ck_assert_int_eq(planned(head), 100);
    test_assert(runs(a) && runs(b));
    host_close(&h);
}
END_TEST

START_TEST(a_live_queue_change_turns_backfill_on_and_off)
{
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    host_open(&h, 1, 4);
    q[0].name = "top";
    q[1].name = "q";
    q[1].parent = "top";
    host_queues(&h, q, 2);
    (void)put("q", 4, 100, 0);
    gang_job_id a = put("q", 4, 10, 0), b = put("q", 4, 20, 0);
    ck_assert_int_eq(planned(a), 0);
    ck_assert_int_eq(host_queue(&h, "q").backfill, GANG_BACKFILL_NONE);
    q[0].backfill = GANG_BACKFILL_CONSERVATIVE; /* inherited */
    host_queues(&h, q, 2);
    host_run(&h, 0);
    ck_assert_int_eq(planned(a), 100);
    ck_assert_int_eq(planned(b), 110);
    ck_assert_int_eq(host_queue(&h, "q").backfill, GANG_BACKFILL_CONSERVATIVE);
    q[1].plan_depth = 1;
    host_queues(&h, q, 2);
    host_run(&h, 0);
    ck_assert_int_eq(planned(a), 100);
    ck_assert_int_eq(planned(b), 0);
    ck_assert_int_eq(host_queue(&h, "q").plan_depth, 1);
    q[1].backfill = GANG_BACKFILL_NONE;
    host_queues(&h, q, 2);
    host_run(&h, 0);
    ck_assert_int_eq(planned(a), 0);
    host_close(&h);
}
END_TEST

START_TEST(a_refused_start_leaves_no_plan_behind)
{
    open_queue(2, GANG_BACKFILL_EASY, 0);
    (void)put("q", 4, 100, 0);
    gang_job_id head = put("q", 8, 50, 0);
    h.refuses = true;
    gang_job_id refused = put("q", 4, 50, 0);
    test_assert(!runs(refused));
    h.refuses = false;
    gang_job_id other = put("q", 4, 60, 0);
    test_assert(runs(other));
    ck_assert_int_eq(planned(head), 100);
    host_close(&h);
}
END_TEST

/* ---- why ------------------------------------------------------------------------------------- */

static struct gang_wait seen;
static char seen_text[512];

static int32_t see(const struct gang_wait *wait, void *user)
{
    (void)user;
    if (wait->reason == GANG_WAIT_PLANNED) {
        seen = *wait;
        snprintf(seen_text, sizeof(seen_text), "%s", wait->text);
    }
    return 0;
}

START_TEST(a_planned_start_is_explained_with_its_time_and_nodes)
{
    open_queue(2, GANG_BACKFILL_EASY, 0);
    (void)put("q", 4, 100, 0);
    gang_job_id head = put("q", 8, 50, 0), behind = put("q", 4, 200, 0);
    MUST(gang_job_explain(h.s, head, see, NULL));
    ck_assert_int_eq(seen.category, GANG_WAIT_CATEGORY_NOT_NOW);
    ck_assert_int_eq(seen.until_ns, 100 * SECOND);
    ck_assert_str_eq(seen_text, "it is planned to start in 100 seconds, on n0, n1");
    MUST(gang_job_explain(h.s, behind, see, NULL));
    ck_assert_int_eq(seen.category, GANG_WAIT_CATEGORY_POLICY);
    ck_assert_int_eq(seen.until_ns, 0);
    ck_assert_uint_eq(seen.blocker, head);
    host_close(&h);
}
END_TEST

/* n0 is free now, and in the plan of a gang of two nodes at 100 s. `until_s`: when n2, which is not
 * in the plan, comes free. Returns that gang. */
static gang_job_id plan_over_a_free_node(int64_t until_s)
{
    open_queue(3, GANG_BACKFILL_EASY, 0);
    gang_job_id first = put("q", 4, 0, 0);
    (void)put("q", 4, 100, 0);
    (void)put("q", 4, until_s, 0);
    MUST(gang_report_end(h.s, first, 1));
    gang_job_id head = put("q", 8, 50, 0);
    ck_assert_int_eq(planned(head), 100);
    MUST(gang_job_explain(h.s, head, see, NULL));
    ck_assert_str_eq(seen_text, "it is planned to start in 100 seconds, on n0, n1");
    return head;
}

START_TEST(a_plan_moves_to_other_nodes_at_its_time_for_a_gang_that_starts)
{
    gang_job_id head = plan_over_a_free_node(100), longer = put("q", 4, 500, 0);
    test_assert(runs(longer) && !runs(head));
    MUST(gang_job_explain(h.s, head, see, NULL));
    ck_assert_str_eq(seen_text, "it is planned to start in 100 seconds, on n1, n2");
    host_close(&h);
}
END_TEST

START_TEST(a_plan_without_other_nodes_at_its_time_stays_and_the_gang_waits)
{
    gang_job_id head = plan_over_a_free_node(101), longer = put("q", 4, 500, 0);
    test_assert(!runs(longer) && !runs(head));
    MUST(gang_job_explain(h.s, head, see, NULL));
    ck_assert_str_eq(seen_text, "it is planned to start in 100 seconds, on n0, n1");
    host_close(&h);
}
END_TEST

/* ---- random ---------------------------------------------------------------------------------- */

enum { JOBS = 120, NODES = 5 };

struct one {
    gang_job_id id;
    int64_t planned_ns, ends_ns; /* 0: not; when it ends by itself */
    bool sliced;
};

static struct one jobs[JOBS];
static bool constrained; /* some may use two nodes alone, and nodes are lost and come back */
static bool sliced;      /* gangs of another queue take turns on whole nodes */

static void submit_some(size_t i)
{
    struct gang_group_spec g = group_of(1, 1000, 1000);
    int64_t wide = below(4) + 1;
    g.name = "worker";
    g.gpu_milli = wide * 1000;
    int64_t nodes = NODES;
    if (constrained && below(3) == 0) { /* on two of the nodes alone */
        static const char *const where[] = {"node in (n0, n1)", "node in (n1, n4)",
                                            "not node in (n0, n1, n3)"};
        g.where = where[below(3)];
        nodes = 2;
    }
    g.count = g.min = below(4 / wide * nodes) + 1;
    bool turns = sliced && below(2);
    if (turns)
        g = group_of(below(3) + 1, 4000 + below(4000), 0);
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = turns ? "turns" : "q";
    job.loss = GANG_LOSS_FAIL;
    job.time_limit_ns = (below(200) + 1) * SECOND;
    jobs[i] = (struct one){host_submit(&h, &job), 0, 0, turns};
}

/* One that starts may end at any moment of its time. */
static void note_starts(size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (jobs[i].id && !host_has(&h, jobs[i].id))
            jobs[i].id = GANG_ID_NONE;
        else if (jobs[i].id && !jobs[i].ends_ns && runs(jobs[i].id))
            jobs[i].ends_ns = h.now_ns + below(250) * SECOND + 1;
}

/* A node is lost with all that ran there, or comes back. All plans are rebuilt, so the recorded
 * starts no longer hold. */
static bool change_nodes(gang_node_id *down, size_t count)
{
    if (below(30))
        return false;
    if (*down != GANG_ID_NONE) {
        MUST(gang_node_set_state(h.stage.w, *down, GANG_NODE_UP));
        *down = GANG_ID_NONE;
    } else {
        char name[8];
        snprintf(name, sizeof(name), "n%d", (int)below(NODES));
        MUST(gang_node_find(h.stage.c, name, down));
        MUST(gang_report_node_lost(h.s, *down));
    }
    for (size_t i = 0; i < count; i++)
        jobs[i].planned_ns = 0;
    return true;
}

static int64_t rows_of_turns(void)
{
    struct gang_queue_info info = {.size = sizeof(info)};
    gang_queue_id id;
    MUST(gang_queue_find(h.s, "turns", &id));
    MUST(gang_queue_get(h.s, id, &info));
    return info.rows;
}

/* With EASY the first plan, otherwise each plan, does not move later. A planned job stays planned
 * until it starts. */
static void check_plans(bool all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!jobs[i].id || jobs[i].sliced || runs(jobs[i].id))
            continue;
        int64_t now = host_job_info(&h, jobs[i].id).planned_ns;
        if (jobs[i].planned_ns) {
            ck_assert_msg(now > 0 && now <= jobs[i].planned_ns, "%zu: %" PRId64 " after %" PRId64,
                          i, now, jobs[i].planned_ns);
            test_assert(now > h.now_ns);
        }
        test_assert(!all || sliced || now > 0);
        jobs[i].planned_ns = now;
        if (!all)
            return;
    }
}

/* A time-slicing queue beside "q". */
static void let_slice(int32_t backfill, int64_t depth)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    q[0].name = "q";
    q[0].backfill = backfill;
    q[0].plan_depth = depth;
    /* what a queue reclaims is taken from the plans of others */
    q[0].reclaim = q[1].reclaim = GANG_PREEMPT_NEVER;
    q[1].name = "turns";
    q[1].quantum_ns = 10 * SECOND;
    host_queues(&h, q, 2);
}

/* _i: EASY, EASY for three, conservative; then the same with constraints and lost nodes; then with
 * time-sliced gangs */
START_TEST(a_planned_start_never_moves_later)
{
    chance_state = test_seed();
    int policy = _i % 3, changes = 0, shared = 0;
    constrained = _i >= 3 && _i < 6;
    sliced = _i >= 6;
    for (int round = 0; round < 12; round++) {
        open_queue(NODES, policy < 2 ? GANG_BACKFILL_EASY : GANG_BACKFILL_CONSERVATIVE,
                   policy == 1 ? 3 : 0);
        if (sliced)
            let_slice(policy < 2 ? GANG_BACKFILL_EASY : GANG_BACKFILL_CONSERVATIVE,
                      policy == 1 ? 3 : 0);
        memset(jobs, 0, sizeof(jobs));
        size_t count = 0, left = 1;
        gang_node_id down = GANG_ID_NONE;
        for (int step = 0; left > 0; step++) {
            test_assert(step < 20000);
            for (int n = (int)below(3); n > 0 && count < JOBS; n--)
                submit_some(count++);
            for (size_t i = 0; i < count; i++)
                if (jobs[i].id && jobs[i].ends_ns && jobs[i].ends_ns <= h.now_ns)
                    MUST(gang_report_end(h.s, jobs[i].id, 1));
            changes += constrained && change_nodes(&down, count);
            h.count = 0;
            host_run(&h, 0);
            note_starts(count);
            check_plans(policy == 2 && down == GANG_ID_NONE, count);
            shared += sliced && gang_sched_next(h.s) < INT64_MAX && rows_of_turns() > 1;
            left = count < JOBS;
            for (size_t i = 0; i < count; i++)
                left += jobs[i].id != GANG_ID_NONE;
            int64_t next = gang_sched_next(h.s), pause = below(20) * SECOND;
            h.now_ns += next > h.now_ns && next < h.now_ns + pause ? next - h.now_ns : pause;
        }
        host_close(&h);
    }
    test_assert(!constrained || changes > 20);
    test_assert(!sliced || shared > 20);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

/* Runs until all is done; a job that waited for memory may start after others. */
static void run_again(void)
{
    gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
    for (int i = 0; r == GANG_ENOMEM; i++) {
        h.stage.mem.fail_at = 0;
        ck_assert_int_lt(i, 9);
        host_check(&h);
        ck_assert_int_le(gang_sched_next(h.s), h.now_ns + 1);
        r = gang_sched_run(h.s, ++h.now_ns, NULL, NULL);
    }
    long calls = h.stage.mem.calls, fail_at = h.stage.mem.fail_at;
    test_assert(r == GANG_OK);
    h.stage.mem.fail_at = 0;
    host_check(&h);
    h.stage.mem.calls = calls;
    h.stage.mem.fail_at = fail_at;
}

/* Memory is short at any moment while a plan is to move: it keeps its time. */
START_TEST(a_plan_stays_when_memory_is_short_while_it_moves)
{
    long calls = 1000;
    for (long n = 1; n < calls; n++) {
        gang_job_id head = plan_over_a_free_node(100);
        struct gang_job_spec *job = host_spec("q", 4, 4, 0);
        job->time_limit_ns = 500 * SECOND;
        gang_job_id longer = host_submit(&h, job);
        long before = h.stage.mem.calls;
        h.stage.mem.fail_at = before + n;
        gang_result r = gang_sched_run(h.s, h.now_ns, NULL, NULL);
        h.stage.mem.fail_at = 0;
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
        ck_assert_int_eq(planned(head), 100);
        h.now_ns++;
        run_again();
        calls = h.stage.mem.calls - before;
        test_assert(runs(longer) && planned(head) == 100);
        host_close(&h);
    }
    ck_assert_int_gt(calls, 3);
}
END_TEST

/* _i: whether the queue plans for all; 2: every other job takes turns instead. */
START_TEST(planning_survives_each_failed_memory_allocation)
{
    static const int64_t tasks[] = {8, 12, 4, 2, 6, 3}, limit_s[] = {100, 50, 60, 90, 30, 10};
    enum { COUNT = sizeof(tasks) / sizeof(tasks[0]) };
    long calls = 1000;
    for (long n = 1; n < calls; n++) {
        open_queue(3, _i == 1 ? GANG_BACKFILL_CONSERVATIVE : GANG_BACKFILL_EASY, 0);
        if (_i == 2)
            let_slice(GANG_BACKFILL_EASY, 0);
        gang_job_id id[COUNT];
        for (int i = 0; i < COUNT; i++) {
            bool turns = _i == 2 && i % 2 == 0;
            struct gang_job_spec *job = host_spec(turns ? "turns" : "q", tasks[i], tasks[i], 0);
            job->time_limit_ns = limit_s[i] * SECOND;
            id[i] = host_submit(&h, job);
        }
        long before = h.stage.mem.calls;
        h.stage.mem.fail_at = before + n;
        run_again();
        h.now_ns += 10 * SECOND;
        if (gang_report_end(h.s, id[2], 1) != GANG_OK)
            MUST(gang_report_end(h.s, id[2], 1));
        run_again();
        for (int i = 0; gang_job_next(h.s, GANG_ID_NONE) != GANG_ID_NONE; i++) {
            ck_assert_int_lt(i, 40);
            int64_t next = gang_sched_next(h.s);
            h.now_ns = next > h.now_ns ? next : h.now_ns;
            run_again();
        }
        calls = h.stage.mem.calls - before;
        h.stage.mem.fail_at = 0;
        ck_assert_int_lt(h.now_ns, (_i == 2 ? 600 : 400) * SECOND);
        ck_assert_int_eq(host_gpus_free(&h), 12);
        host_close(&h);
    }
    ck_assert_int_gt(calls, 30);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("backfill");
    TCase *t = tcase_create("backfill");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, a_begin_time_that_passes_in_a_run_cut_short_is_not_missed, 0, 3);
    tcase_add_test(t, easy_backfill_plans_the_first_gang_and_starts_gangs_that_do_not_delay_it);
    tcase_add_test(t, without_backfill_no_start_is_planned_and_every_gang_may_pass);
    tcase_add_test(t, conservative_backfill_plans_every_gang);
    tcase_add_test(t, plan_depth_is_the_number_of_planned_gangs);
    tcase_add_loop_test(t, backfill_candidates_are_tried_in_the_order_of_the_queue, 0, 3);
    tcase_add_test(t, a_gang_without_a_time_limit_backfills_only_on_nodes_outside_the_plan);
    tcase_add_test(t, no_start_is_planned_behind_a_job_without_a_time_limit);
    tcase_add_test(t, a_planned_start_waits_for_the_grace_of_running_jobs);
    tcase_add_test(t, a_gang_that_a_limit_forbids_has_no_planned_start);
    tcase_add_test(t, gangs_of_other_queues_do_not_delay_a_planned_start);
    tcase_add_test(t, a_plan_without_capacity_delays_no_gang);
    tcase_add_test(t, growth_does_not_delay_a_planned_start);
    tcase_add_test(t, an_early_end_moves_planned_starts_forward);
    tcase_add_test(t, a_changed_time_limit_moves_planned_starts);
    tcase_add_test(t, a_gang_of_higher_priority_replaces_the_easy_plan);
    tcase_add_test(t, a_gang_of_higher_priority_does_not_move_a_conservative_plan);
    tcase_add_test(t, a_held_or_cancelled_gang_drops_its_plan);
    tcase_add_test(t, planned_starts_follow_changes_of_nodes);
    tcase_add_test(t, a_live_queue_change_turns_backfill_on_and_off);
    tcase_add_test(t, a_refused_start_leaves_no_plan_behind);
    tcase_add_test(t, a_planned_start_is_explained_with_its_time_and_nodes);
    tcase_add_test(t, a_plan_moves_to_other_nodes_at_its_time_for_a_gang_that_starts);
    tcase_add_test(t, a_plan_without_other_nodes_at_its_time_stays_and_the_gang_waits);
    tcase_add_test(t, a_plan_stays_when_memory_is_short_while_it_moves);
    tcase_add_loop_test(t, a_planned_start_never_moves_later, 0, 9);
    tcase_add_loop_test(t, planning_survives_each_failed_memory_allocation, 0, 3);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
