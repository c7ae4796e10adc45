/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that share nodes in time, in a scheduler that is made anew: they come back to their rows,
 * and the quantum goes on (gang_job_past.slice_row). */
#include "sched/restored_host.h"

enum { MANY = 4 };
#define SECOND ((int64_t)HOST_SECOND)

static struct host h, anew;

static struct one {
    struct gang_group_spec group;
    struct gang_job_spec spec;
    gang_job_id id;
    struct restored kept;
} job[MANY];
static size_t count;
static int64_t kill_wait_ns;

static void open_host(struct host *of, size_t nodes)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    opts.kill_wait_ns = kill_wait_ns;
    host_open_with(of, nodes, 4, &opts, &ops);
}

static void set_queue(struct host *of, int64_t grace_ns)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "q";
    q.quantum_ns = 10 * SECOND;
    q.grace_ns = grace_ns;
    host_queues(of, &q, 1);
}

static void open_lived(size_t nodes, int64_t grace_ns)
{
    count = 0;
    open_host(&h, nodes);
    set_queue(&h, grace_ns);
    h.now_ns = 1000 * SECOND;
}

/* A gang of so many tasks of so many of the 8 cores of a node. */
static struct one *put(int64_t tasks, int64_t cores)
{
    struct one *to = &job[count++];
    to->group = group_of(tasks, cores * 1000, 0);
    to->group.min = tasks;
    to->spec = host_job(&to->group, 1);
    to->spec.queue = "q";
    to->id = host_submit(&h, &to->spec);
    host_run(&h, 0);
    return to;
}

/* The manager is killed; its host keeps what it can. */
static void keep_all(void)
{
    for (size_t i = 0; i < count; i++)
        restored_keep(&job[i].kept, &h, job[i].id);
}

static void open_anew(size_t nodes, int64_t grace_ns)
{
    open_host(&anew, nodes);
    set_queue(&anew, grace_ns);
    anew.now_ns = h.now_ns;
}

static void submit_all(void)
{
    for (size_t i = 0; i < count; i++)
        restored_submit(&job[i].kept, &anew, job[i].id, &job[i].spec);
}

static void compare(void)
{
    struct gang_queue_info a = host_queue(&h, "q"), b = host_queue(&anew, "q");
    ck_assert_int_eq(a.rows, b.rows);
    ck_assert_int_eq(a.active_row, b.active_row);
    ck_assert_int_eq(a.quantum_end_ns, b.quantum_end_ns);
    for (size_t i = 0; i < count; i++) {
        struct restored now;
        ck_assert_int_eq(host_has(&h, job[i].id), host_has(&anew, job[i].id));
        if (!host_has(&h, job[i].id))
            continue;
        restored_keep(&job[i].kept, &h, job[i].id);
        restored_keep(&now, &anew, job[i].id);
        ck_assert_mem_eq(&now.past, &job[i].kept.past, sizeof(now.past));
        ck_assert_uint_eq(now.stop_count, job[i].kept.stop_count);
        ck_assert_uint_eq(now.place_count, job[i].kept.place_count);
        for (size_t k = 0; k < now.place_count; k++)
            ck_assert_str_eq(now.node[k], job[i].kept.node[k]);
    }
    ck_assert_int_eq(gang_sched_next(h.s), gang_sched_next(anew.s));
    MUST(gang_cluster_check(anew.stage.c, NULL));
}

static void make_anew(size_t nodes, int64_t grace_ns)
{
    keep_all();
    open_anew(nodes, grace_ns);
    submit_all();
    host_run(&anew, 0);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(host_ops(&anew, job[i].id, "start") +
                             host_ops(&anew, job[i].id, "resume") +
                             host_ops(&anew, job[i].id, "suspend"),
                         0);
    compare();
}

/* Both run to their next decision, which is at one time. */
static void next_of_both(void)
{
    ck_assert_int_eq(gang_sched_next(h.s), gang_sched_next(anew.s));
    host_run_next(&h);
    host_run_next(&anew);
    compare();
}

static void close_both(void)
{
    host_close(&h);
    host_close(&anew);
}

static bool runs(struct host *of, const struct one *a)
{
    return host_has(of, a->id) && host_job_state(of, a->id) == GANG_JOB_RUNNING;
}

/* ---- going on -------------------------------------------------------------------------------- */

START_TEST(the_quantum_goes_on)
{
    open_lived(2, 0);
    struct one *a = put(2, 8), *b = put(2, 8);
    host_run(&h, 4 * SECOND);
    make_anew(2, 0);
    test_assert(runs(&anew, a) && !runs(&anew, b));
    ck_assert_int_eq(host_queue(&anew, "q").quantum_end_ns, 1010 * SECOND);
    next_of_both();
    test_assert(!runs(&anew, a) && runs(&anew, b));
    ck_assert_int_eq(host_ops(&anew, a->id, "suspend"), 1);
    ck_assert_int_eq(host_ops(&anew, b->id, "start"), 1); /* the host had not heard of it before */
    next_of_both();
    ck_assert_int_eq(host_ops(&anew, a->id, "resume"), 1);
    ck_assert_int_eq(host_job_info(&anew, a->id).suspended_ns, 10 * SECOND);
    close_both();
}
END_TEST

START_TEST(a_gang_that_was_suspended_resumes)
{
    open_lived(1, 0);
    struct one *a = put(1, 8), *b = put(1, 8), *c = put(1, 8);
    host_run_next(&h); /* b runs */
    host_run(&h, 3 * SECOND);
    make_anew(1, 0);
    test_assert(!runs(&anew, a) && runs(&anew, b) && !runs(&anew, c));
    next_of_both();
    test_assert(runs(&anew, c));
    next_of_both();
    test_assert(runs(&anew, a));
    ck_assert_int_eq(host_ops(&anew, a->id, "resume"), 1);
    ck_assert_int_eq(host_ops(&anew, a->id, "start"), 0);
    close_both();
}
END_TEST

START_TEST(a_gang_that_is_suspending_is_killed_at_its_deadline)
{
    open_lived(2, 6 * SECOND);
    struct one *a = put(2, 8), *b = put(2, 8);
    host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, a->id, "suspend"), 1);
    host_report(&h, a->id, 0, GANG_TASK_STOPPED); /* one of two */
    host_run(&h, 2 * SECOND);
    make_anew(2, 6 * SECOND);
    ck_assert_uint_eq(a->kept.stop_count, 1);
    ck_assert_int_eq(a->kept.stop[0].what, GANG_STOP_SLICE);
    ck_assert_uint_eq(a->kept.stop[0].task_count, 1);
    ck_assert_int_eq(a->kept.task[0][0], 1);
    test_assert(!runs(&anew, b));
    next_of_both();
    ck_assert_int_eq(host_ops(&anew, a->id, "kill"), 1);
    test_assert(runs(&anew, b));
    close_both();
}
END_TEST

START_TEST(a_gang_that_is_suspending_waits_for_its_last_task)
{
    open_lived(2, 6 * SECOND);
    struct one *a = put(2, 8), *b = put(2, 8);
    host_run_next(&h);
    host_report(&h, a->id, 1, GANG_TASK_STOPPED);
    host_run(&h, 2 * SECOND);
    make_anew(2, 6 * SECOND);
    host_report(&h, a->id, 0, GANG_TASK_STOPPED);
    host_report(&anew, a->id, 0, GANG_TASK_STOPPED);
    host_run(&h, 0);
    host_run(&anew, 0);
    test_assert(runs(&anew, b));
    compare();
    close_both();
}
END_TEST

/* It is asked again when it was to be, and has its first grace (0), or none (1). */
START_TEST(a_host_that_was_busy_is_asked_again)
{
    int64_t grace_ns = _i ? 0 : 6 * SECOND;
    open_lived(2, grace_ns);
    struct one *a = put(2, 8), *b = put(2, 8);
    h.refuse = "suspend";
    h.answer = GANG_EBUSY;
    host_run_next(&h);
    host_run(&h, SECOND / 2);
    make_anew(2, grace_ns);
    anew.refuse = h.refuse;
    anew.answer = h.answer;
    ck_assert_int_eq(a->kept.stop[0].what, GANG_STOP_SLICE);
    ck_assert_int_eq(gang_sched_next(anew.s), 1011 * SECOND);
    next_of_both();
    ck_assert_int_eq(host_ops(&anew, a->id, "suspend"), 1);
    test_assert(!runs(&anew, b));
    h.refuse = anew.refuse = NULL;
    next_of_both();
    ck_assert_int_eq(host_ops(&anew, a->id, "suspend"), 2);
    ck_assert_int_eq(host_last(&anew, a->id, "suspend")->deadline_ns, (_i ? 1012 : 1016) * SECOND);
    test_assert(runs(&anew, b) == (_i == 1));
    next_of_both();
    ck_assert_int_eq(host_ops(&anew, a->id, "kill"), !_i);
    close_both();
}
END_TEST

START_TEST(a_kill_that_the_host_could_not_do_is_repeated)
{
    open_lived(2, 6 * SECOND);
    struct one *a = put(2, 8), *b = put(2, 8);
    host_run_next(&h);
    h.refuse = "kill";
    h.answer = GANG_EBUSY;
    host_run_next(&h);
    make_anew(2, 6 * SECOND);
    test_assert(!runs(&anew, b));
    ck_assert_int_eq(gang_sched_next(anew.s), 1017 * SECOND);
    h.refuse = NULL;
    next_of_both();
    ck_assert_int_eq(host_ops(&anew, a->id, "kill"), 1);
    test_assert(runs(&anew, b));
    close_both();
}
END_TEST

/* Without a bound (0), or until 3 s have passed (1). */
START_TEST(the_report_of_a_kill_is_waited_for)
{
    kill_wait_ns = _i ? 3 * SECOND : -1;
    open_lived(2, 6 * SECOND);
    struct one *a = put(2, 8), *b = put(2, 8);
    host_run_next(&h);
    host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, a->id, "kill"), 1);
    make_anew(2, 6 * SECOND);
    ck_assert_int_eq(a->kept.stop[0].what, GANG_STOP_SLICE_KILLED);
    ck_assert_int_eq(gang_sched_next(anew.s), _i ? 1019 * SECOND : INT64_MAX);
    test_assert(!runs(&anew, b));
    if (_i) {
        next_of_both();
    } else {
        host_report_all(&h, a->id, 0, GANG_TASK_STOPPED);
        host_report_all(&anew, a->id, 0, GANG_TASK_STOPPED);
        host_run(&h, 0);
        host_run(&anew, 0);
        compare();
    }
    ck_assert_int_eq(host_ops(&anew, a->id, "kill"), 0);
    test_assert(runs(&anew, b));
    close_both();
}
END_TEST

/* Two gangs in a row, one of another row runs beside them, and one leaves. */
START_TEST(alternates_and_a_gang_that_leaves_go_on)
{
    open_lived(3, 60 * SECOND);
    h.lingers = true;
    struct one *a = put(2, 8), *b = put(2, 8), *c = put(1, 8), *d = put(3, 8);
    MUST(gang_job_requeue(h.s, b->id));
    host_run(&h, 0);
    MUST(gang_job_requeue(h.s, a->id));
    host_run(&h, 2 * SECOND);
    ck_assert_int_eq(host_job_state(&h, a->id), GANG_JOB_STOPPING);
    make_anew(3, 60 * SECOND);
    anew.lingers = true;
    test_assert(runs(&anew, c) == runs(&h, c));
    host_report_all(&h, a->id, 0, GANG_TASK_STOPPED);
    host_report_all(&anew, a->id, 0, GANG_TASK_STOPPED);
    host_run(&h, SECOND);
    host_run(&anew, SECOND);
    compare();
    for (int i = 0; i < 6; i++)
        next_of_both();
    test_assert(host_has(&anew, d->id));
    close_both();
}
END_TEST

START_TEST(a_gang_that_the_host_refused_to_resume_waits_for_the_next_round)
{
    open_lived(1, 0);
    struct one *a = put(1, 8), *b = put(1, 8);
    host_run_next(&h);
    h.refuse = "resume";
    host_run_next(&h);
    ck_assert_int_eq(host_ops(&h, a->id, "resume"), 1);
    host_run(&h, SECOND);
    h.refuse = NULL;
    make_anew(1, 0);
    test_assert(runs(&anew, b) == runs(&h, b) && !runs(&anew, a));
    test_assert((a->kept.past.slice_flags & GANG_SLICE_REFUSED) != 0);
    next_of_both();
    next_of_both();
    close_both();
}
END_TEST

/* Lost tasks may still run, so the job is stopping, and its pause is not counted. */
START_TEST(a_fence_between_two_quanta_goes_on)
{
    open_lived(2, 0);
    struct one *a = put(2, 8);
    put(2, 8);
    host_run_next(&h);
    h.refuse = "lost";
    h.answer = GANG_EBUSY;
    MUST(gang_report_node_lost(h.s, host_node_of(&h, a->id, 0)));
    host_run(&h, SECOND);
    ck_assert_int_eq(host_job_state(&h, a->id), GANG_JOB_STOPPING);
    keep_all();
    open_anew(2, 0);
    MUST(gang_node_set_state(anew.stage.w, host_node(&anew, 0),
                             stage_node(&h.stage, host_node(&h, 0)).state));
    MUST(gang_node_set_state(anew.stage.w, host_node(&anew, 1),
                             stage_node(&h.stage, host_node(&h, 1)).state));
    anew.refuse = "lost";
    anew.answer = GANG_EBUSY;
    submit_all();
    host_run(&anew, 0);
    compare();
    host_run(&h, 2 * SECOND);
    host_run(&anew, 2 * SECOND);
    compare();
    close_both();
}
END_TEST

/* ---- what cannot be -------------------------------------------------------------------------- */

static struct host_event ended_of(const struct one *a)
{
    const struct host_event *e = host_last(&anew, a->id, "state");
    ck_assert_ptr_nonnull(e);
    return *e;
}

static char refusal[512];

static int32_t note_refusal(const struct gang_event *e, void *user)
{
    if (e->end == GANG_END_REFUSED)
        snprintf(refusal, sizeof(refusal), "%s", e->text);
    return host_state(e, user);
}

static void open_noting(size_t nodes)
{
    struct gang_host_ops ops = host_table();
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    ops.state = note_refusal;
    refusal[0] = 0;
    host_open_with(&anew, nodes, 4, &opts, &ops);
    set_queue(&anew, 0);
    anew.now_ns = h.now_ns;
}

/* The second job is refused, with this in its text, and nothing of it stays. */
static void expect_refused(const struct one *a, const struct one *b, const char *text)
{
    submit_all();
    host_run(&anew, 0);
    test_assert(host_has(&anew, a->id) && !host_has(&anew, b->id));
    ck_assert_int_eq(ended_of(b).end, GANG_END_REFUSED);
    ck_assert_msg(strstr(refusal, text) != NULL, "%s", refusal);
    test_assert(runs(&anew, a));
    ck_assert_int_eq(host_queue(&anew, "q").rows, 1);
    host_end_job(&anew, a->id);
    for (gang_node_id n = gang_node_next(anew.stage.c, GANG_ID_NONE); n;
         n = gang_node_next(anew.stage.c, n))
        ck_assert_int_eq(stage_node(&anew.stage, n).cpu_free, 8000);
    MUST(gang_cluster_check(anew.stage.c, NULL));
    close_both();
}

START_TEST(two_gangs_of_a_row_on_one_place_are_refused)
{
    open_lived(2, 0);
    struct one *a = put(2, 8), *b = put(2, 8);
    keep_all();
    b->kept.past.slice_row = a->kept.past.slice_row;
    open_noting(2);
    expect_refused(a, b, "its places are not free: places[0]");
}
END_TEST

START_TEST(two_gangs_that_run_on_one_place_are_refused)
{
    open_lived(2, 0);
    struct one *a = put(1, 8), *b = put(2, 8);
    keep_all();
    b->kept.past.state = GANG_JOB_RUNNING;
    b->kept.past.slice_state = GANG_SLICE_RUNS;
    size_t at = strcmp(b->kept.node[0], a->kept.node[0]) == 0 ? 0 : 1;
    char text[300];
    snprintf(text, sizeof(text), "places[%zu]: node %s", at, a->kept.node[0]);
    open_noting(2);
    expect_refused(a, b, text);
}
END_TEST

START_TEST(rows_that_contradict_each_other_are_refused)
{
    for (int what = 0; what < 4; what++) {
        open_lived(2, 0);
        struct one *a = put(2, 8), *b = put(2, 8);
        keep_all();
        struct gang_job_past *past = &b->kept.past;
        past->slice_active += what == 0;
        past->slice_end_ns += what == 1;
        past->slice_flags ^= what == 2 ? GANG_SLICE_STARTED : what == 3 ? GANG_SLICE_GPUS : 0;
        open_noting(2);
        expect_refused(a, b,
                       what == 0   ? "past.slice_active: "
                       : what == 1 ? "past.slice_end_ns: "
                                   : "past.slice_flags: ");
    }
}
END_TEST

/* A job that does not share has the cores. */
START_TEST(a_place_that_others_have_is_refused)
{
    open_lived(2, 0);
    struct one *a = put(1, 8), *b = put(2, 8);
    keep_all();
    open_noting(2);
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    q[0].name = "q";
    q[0].quantum_ns = 10 * SECOND;
    q[1].name = "other";
    host_queues(&anew, q, 2);
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_job_spec spec = host_job(&g, 1);
    const char *there = strcmp(a->kept.node[0], "n0") == 0 ? "n1" : "n0";
    struct gang_running_spec place = {.node = there};
    spec.queue = "other";
    spec.running = 1;
    spec.places = &place;
    spec.place_count = 1;
    for (size_t i = 0; i < count; i++)
        restored_submit(&job[i].kept, &anew, job[i].id, &job[i].spec);
    spec.id = GANG_ID_NONE;
    gang_job_id other = host_submit(&anew, &spec);
    host_run(&anew, 0);
    test_assert(!host_has(&anew, other)); /* the other order: it comes last, and is refused */
    test_assert(host_has(&anew, a->id) && host_has(&anew, b->id));
    host_close(&anew);
    open_noting(2);
    host_queues(&anew, q, 2);
    spec.id = 1; /* now it comes first */
    ck_assert_uint_eq(host_submit(&anew, &spec), 1);
    for (size_t i = 0; i < count; i++) {
        struct restored *k = &job[i].kept;
        restored_submit(k, &anew, 10 + i, &job[i].spec);
    }
    host_run(&anew, 0);
    test_assert(host_has(&anew, 1) && host_has(&anew, 10) && !host_has(&anew, 11));
    ck_assert_msg(strstr(refusal, "its places are not free: places[") != NULL, "%s", refusal);
    close_both();
}
END_TEST

START_TEST(a_queue_that_slices_no_more_refuses_them)
{
    open_lived(1, 0);
    struct one *a = put(1, 8);
    keep_all();
    open_noting(1);
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    q.name = "q";
    host_queues(&anew, &q, 1);
    submit_all();
    host_run(&anew, 0);
    test_assert(!host_has(&anew, a->id));
    ck_assert_msg(strstr(refusal, "past.slice_row: ") != NULL, "%s", refusal);
    close_both();
}
END_TEST

START_TEST(a_past_about_slices_that_cannot_be_is_refused)
{
    static const struct {
        const char *path;
        gang_result r;
        int32_t row, state, flags, active;
        int64_t order, end_ns;
    } bad[] = {{"past.slice_row", GANG_ERANGE, -1, 1, 0, 1, 1, 1},
               {"past.slice_row", GANG_ERANGE, 1 << 16, 1, 0, 1, 1, 1},
               {"past.slice_row", GANG_EINVAL, 0, 1, 0, 1, 1, 1},
               {"past.slice_state", GANG_EINVAL, 1, 4, 0, 1, 1, 1},
               {"past.slice_state", GANG_EINVAL, 1, 0, 0, 1, 1, 1},
               {"past.slice_state", GANG_EINVAL, 1, 3, 0, 1, 1, 1},
               {"past.slice_flags", GANG_EINVAL, 1, 1, 32, 1, 1, 1},
               {"past.slice_active", GANG_ERANGE, 1, 1, 0, 0, 1, 1},
               {"past.slice_order", GANG_ERANGE, 1, 1, 0, 1, 0, 1},
               {"past.slice_end_ns", GANG_ERANGE, 1, 1, 0, 1, 1, -1}};
    open_lived(1, 0);
    struct one *a = put(1, 8);
    keep_all();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct gang_job_past past = a->kept.past;
        struct gang_error error = GANG_ERROR_INIT;
        struct gang_job_spec spec = a->spec;
        gang_job_id id;
        past.slice_row = bad[i].row;
        past.slice_state = bad[i].state;
        past.slice_flags = bad[i].flags;
        past.slice_active = bad[i].active;
        past.slice_order = bad[i].order;
        past.slice_end_ns = bad[i].end_ns;
        spec.running = 1;
        spec.places = a->kept.place;
        spec.place_count = a->kept.place_count;
        spec.past = &past;
        EXPECT_ERROR(gang_job_submit(h.s, &spec, &id, &error), bad[i].r, &error, bad[i].path, NULL);
    }
    host_close(&h);
}
END_TEST

/* A gang that comes later finds other rows, but is there. */
START_TEST(memory_that_runs_out_is_tried_again)
{
    open_lived(2, 6 * SECOND);
    struct one *a = put(2, 8), *b = put(2, 8), *c = put(1, 4);
    host_run_next(&h);
    keep_all();
    open_anew(2, 6 * SECOND);
    submit_all();
    host_run_short_of_memory(&anew);
    test_assert(host_has(&anew, a->id) && host_has(&anew, b->id) && host_has(&anew, c->id));
    for (size_t i = 0; i < count; i++)
        ck_assert_int_gt(host_job_info(&anew, job[i].id).slice_row, 0);
    host_run(&anew, 20 * SECOND);
    host_run(&anew, 20 * SECOND);
    MUST(gang_cluster_check(anew.stage.c, NULL));
    close_both();
}
END_TEST

/* ---- a gang that moved ----------------------------------------------------------------------- */

/* It had its places in turn with others, has stopped, and is to start elsewhere when the others
 * that move have stopped. Nothing of it runs: it waits, though its old places are taken. */
START_TEST(a_gang_that_has_stopped_to_move_waits_if_its_old_places_are_taken)
{
    open_lived(1, 0);
    struct one *a = put(1, 8), *b = put(1, 8), *c = put(1, 8);
    keep_all();
    struct restored *moved = &b->kept;
    moved->past = (struct gang_job_past)GANG_JOB_PAST_INIT;
    moved->past.state = GANG_JOB_STOPPING;
    moved->past.reason = GANG_REASON_MOVE;
    moved->past.preemptor = c->id;
    moved->past.submitted_ns = moved->past.started_ns = h.now_ns;
    moved->place_count = 0;
    moved->stop[0] = (struct gang_job_stop)GANG_JOB_STOP_INIT;
    moved->stop[0].what = GANG_STOP_MOVED;
    moved->stop[0].reason = GANG_REASON_MOVE;
    moved->stop[0].whole = moved->stop[0].handover = 1;
    moved->stop[0].preemptor = c->id;
    moved->kept[0][0] = (struct gang_placement)GANG_PLACEMENT_INIT;
    moved->kept[0][0].node = host_node(&h, 0);
    moved->kept[0][0].task = 0;
    moved->stop[0].kept = moved->kept[0];
    moved->stop[0].kept_count = moved->stop_count = 1;
    open_anew(1, 0);
    submit_all();
    if (_i)
        host_run_short_of_memory(&anew);
    else
        host_run(&anew, 0);
    host_check(&anew);
    test_assert(runs(&anew, a) && host_has(&anew, b->id) && !runs(&anew, b));
    for (int i = 0; i < 3 && !runs(&anew, b); i++)
        host_run_next(&anew);
    test_assert(runs(&anew, b));
    close_both();
}
END_TEST

static gang_job_id lingering;

static void linger_one(struct host *host, const struct host_event *e)
{
    host->lingers = e->job == lingering;
}

static void set_owner(struct host *of)
{
    static struct gang_quota half = {"cpu", 8000, NULL, 0, 0};
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    q[0].name = "q";
    q[0].quantum_ns = 10 * SECOND;
    q[0].grace_ns = 60 * SECOND;
    q[1].name = "owner";
    q[1].guaranteed = &half;
    q[1].guaranteed_count = 1;
    host_queues(of, q, 2);
    of->during = linger_one;
}

/* `a` and `b` shared a node in time. `b` stops there, and `a` has stopped to move away. In a new
 * scheduler the places of `a` do not keep out `b`, which still runs there. */
START_TEST(a_gang_that_has_stopped_to_move_leaves_its_places_to_its_row)
{
    open_lived(2, 0);
    set_owner(&h);
    struct one *other = put(1, 3);
    struct gang_group_spec rest = group_of(1, 5000, 0); /* of the node of `other` */
    struct gang_job_spec spec = host_job(&rest, 1);
    spec.queue = "q";
    gang_job_id fills = host_submit(&h, &spec);
    host_run(&h, 0);
    struct one *a = put(1, 3);
    host_end_job(&h, fills);
    struct one *b = put(2, 5);
    lingering = b->id;
    test_assert(runs(&h, a) && runs(&h, b) && runs(&h, other));
    struct one *c = &job[count++];
    c->group = group_of(1, 1000, 0);
    c->spec = host_job(&c->group, 1);
    c->spec.queue = "owner";
    c->id = host_submit(&h, &c->spec);
    host_run(&h, SECOND);
    keep_all();
    ck_assert_int_eq(a->kept.stop[0].what, GANG_STOP_MOVED);
    ck_assert_int_eq(b->kept.past.state, GANG_JOB_STOPPING);
    ck_assert_int_gt(b->kept.past.slice_row, 0);
    open_anew(2, 0);
    set_owner(&anew);
    submit_all();
    host_run(&anew, 0);
    host_check(&anew);
    ck_assert_int_eq(host_job_state(&anew, b->id), GANG_JOB_STOPPING);
    host_report_all(&anew, b->id, 0, GANG_TASK_STOPPED);
    host_run(&anew, SECOND);
    test_assert(runs(&anew, a) && runs(&anew, c));
    close_both();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slice_restored");
    TCase *tc = tcase_create("slice_restored");
    tcase_add_test(tc, the_quantum_goes_on);
    tcase_add_test(tc, a_gang_that_was_suspended_resumes);
    tcase_add_test(tc, a_gang_that_is_suspending_is_killed_at_its_deadline);
    tcase_add_test(tc, a_gang_that_is_suspending_waits_for_its_last_task);
    tcase_add_loop_test(tc, a_host_that_was_busy_is_asked_again, 0, 2);
    tcase_add_test(tc, a_kill_that_the_host_could_not_do_is_repeated);
    tcase_add_loop_test(tc, the_report_of_a_kill_is_waited_for, 0, 2);
    tcase_add_test(tc, alternates_and_a_gang_that_leaves_go_on);
    tcase_add_test(tc, a_gang_that_the_host_refused_to_resume_waits_for_the_next_round);
    tcase_add_test(tc, a_fence_between_two_quanta_goes_on);
    tcase_add_test(tc, two_gangs_of_a_row_on_one_place_are_refused);
    tcase_add_test(tc, two_gangs_that_run_on_one_place_are_refused);
    tcase_add_test(tc, rows_that_contradict_each_other_are_refused);
    tcase_add_test(tc, a_place_that_others_have_is_refused);
    tcase_add_test(tc, a_queue_that_slices_no_more_refuses_them);
    tcase_add_test(tc, a_past_about_slices_that_cannot_be_is_refused);
    tcase_add_test(tc, memory_that_runs_out_is_tried_again);
    tcase_add_loop_test(tc, a_gang_that_has_stopped_to_move_waits_if_its_old_places_are_taken, 0,
                        2);
    tcase_add_test(tc, a_gang_that_has_stopped_to_move_leaves_its_places_to_its_row);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
