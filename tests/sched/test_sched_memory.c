/* SPDX-License-Identifier: Apache-2.0 */
/* Out of memory: every allocation of a busy life fails in turn, alone or with all later ones of the
 * call. The call reports it or does without; nothing is half done, nothing leaks, and a second call
 * leads to the same end. */
#include "sched/host.h"

static struct host h;
static long failing; /* which allocation of the life; 0: none */

enum { GRACE = 60 };

/* ---- calls ---- */

/* Out of memory was met, and from now on there is enough. */
static bool met(gang_result r)
{
    if (r == GANG_OK)
        return false;
    ck_assert_msg(r == GANG_ENOMEM, "%s at allocation %ld", gang_result_name(r), failing);
    h.stage.mem.fail_at = 0;
    return true;
}

/* The checks between calls use memory that does not count. */
static void check_all(void)
{
    long calls = h.stage.mem.calls, fail_at = h.stage.mem.fail_at;
    struct gang_error error = GANG_ERROR_INIT;
    h.stage.mem.fail_at = 0;
    gang_result r = gang_sched_check(h.s, &error);
    ck_assert_msg(r == GANG_OK, "allocation %ld: %s: %s", failing, error.path, error.text);
    r = gang_cluster_check(h.stage.c, &error);
    ck_assert_msg(r == GANG_OK, "allocation %ld: %s", failing, error.text);
    h.stage.mem.calls = calls;
    h.stage.mem.fail_at = fail_at;
}

/* Again until it is done; `call` is evaluated twice at most. */
#define AGAIN(call)      \
    do {                 \
        if (met(call)) { \
            check_all(); \
            MUST(call);  \
        }                \
        check_all();     \
    } while (0)

static void run(int64_t ns)
{
    h.now_ns += ns;
    if (met(gang_sched_run(h.s, h.now_ns, NULL, NULL))) {
        check_all();
        ck_assert_int_le(gang_sched_next(h.s), h.now_ns + 1); /* it is to be called again soon */
        for (int i = 0; i < 9 && gang_sched_next(h.s) <= h.now_ns + 1; i++) {
            h.now_ns += gang_sched_next(h.s) > h.now_ns;
            MUST(gang_sched_run(h.s, h.now_ns, NULL, NULL));
        }
        ck_assert_int_gt(gang_sched_next(h.s), h.now_ns + 1);
    }
    check_all();
}

static gang_job_id submit(const struct gang_job_spec *job)
{
    struct gang_job_spec with = *job;
    gang_job_id id;
    with.loss = GANG_LOSS_RESTART; /* wherever it is when a node is lost */
    with.max_restarts = 9;
    AGAIN(gang_job_submit(h.s, &with, &id, NULL));
    return id;
}

static gang_job_id gang_in(const char *queue, const char *user, int64_t count, int64_t min,
                           int64_t priority)
{
    struct gang_job_spec *job = host_spec(queue, count, min, priority);
    job->user = user;
    return submit(job);
}

/* ---- the life ---- */

static void make(void)
{
    struct gang_queue_rule rule = GANG_QUEUE_RULE_INIT;
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    rule.match = GANG_MATCH_USER;
    rule.pattern = "eve";
    rule.queue = "team.%user";
    opts.rules = &rule;
    opts.rule_count = 1;
    opts.mem = &h.stage.mem.mem;
    if (!met(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL)))
        return;
    ck_assert_ptr_null(h.s);
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, NULL));
}

static void set_queues(int32_t order)
{
    struct gang_quota five = {"gpu", 5000, NULL, 0, 0}, one = {"gpu", 1000, NULL, 0, 0};
    struct gang_queue_spec q[] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_queue_spec child = GANG_QUEUE_SPEC_INIT;
    q[0].name = "a";
    q[0].guaranteed = &five;
    q[0].guaranteed_count = 1;
    q[0].grace_ns = GRACE;
    q[0].order = order;
    q[1].name = "b";
    q[1].order = GANG_ORDER_FAIR;
    q[1].user_limit = GANG_WHOLE / 4;
    q[1].grace_ns = GRACE;
    q[1].preempt_mode = GANG_PREEMPT_MODE_SUSPEND;
    q[2].name = "team";
    q[2].guaranteed = &one;
    q[2].guaranteed_count = 1;
    q[2].child = &child;
    AGAIN(gang_sched_set_queues(h.s, q, 3, NULL));
}

/* Preparation, and then training. */
static gang_job_id submit_two_gangs(void)
{
    const struct gang_group_spec g[] = {host_gpus(1, 1), host_gpus(2, 1)};
    const struct gang_group_after after = {1, 0, GANG_AFTER_SUCCESS, 0};
    struct gang_job_spec job = host_job(g, 2);
    job.queue = "a";
    job.group_after = &after;
    job.group_after_count = 1;
    job.heartbeat_ns = 1000000;
    return submit(&job);
}

static int32_t look(const struct gang_wait *wait, void *user)
{
    ck_assert_int_ge(wait->reason, GANG_WAIT_CAPACITY);
    ++*(int *)user;
    return 0;
}

static int32_t drop(const char *text, size_t length, void *user)
{
    (void)text;
    *(size_t *)user += length;
    return 0;
}

static void explain(gang_job_id id)
{
    int reasons = 0;
    size_t bytes = 0;
    AGAIN(gang_job_explain(h.s, id, look, &reasons));
    ck_assert_int_gt(reasons, 0);
    AGAIN(gang_job_write_explanation(h.s, id, drop, &bytes));
    ck_assert_uint_gt(bytes, 2);
    struct gang_error error = GANG_ERROR_INIT;
    AGAIN(gang_sched_check(h.s, &error));
}

static void report_stopped(gang_job_id id)
{
    AGAIN(gang_report_tasks(h.s, id, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_STOPPED));
}

static void grow_queue(void)
{
    struct gang_queue_spec q = GANG_QUEUE_SPEC_INIT;
    gang_queue_id id;
    q.name = "c";
    AGAIN(gang_queue_add(h.s, &q, &id, NULL));
    q.max_running = 3;
    AGAIN(gang_queue_change(h.s, &q, NULL));
    AGAIN(gang_queue_set_state(h.s, id, GANG_QUEUE_CLOSED));
    AGAIN(gang_queue_remove(h.s, id, NULL));
}

static void live(void)
{
    gang_job_id wide = gang_in("b", "ann", 4, 4, 0), first;
    run(1);
    gang_job_id elastic = gang_in("b", "bob", 4, 2, 0);
    run(1);
    gang_job_id made = gang_in(NULL, "eve", 1, 1, 0); /* team is owed what b has */
    run(1);
    struct gang_job_spec *three = host_spec("b", 2, 1, 0);
    three->loss = GANG_LOSS_RESTART;
    three->max_restarts = 9;
    AGAIN(gang_job_submit_array(h.s, three, 3, &first, NULL));
    run(1);
    gang_job_id two_gangs = submit_two_gangs();
    run(1);
    gang_job_id high = gang_in("a", "ann", 3, 2, 5);
    run(1);
    grow_queue();
    set_queues(GANG_ORDER_FAIR); /* while some wait for others to go */
    gang_job_id hold = first + 2;
    AGAIN(gang_job_hold(h.s, hold));
    run(1);
    gang_job_id never = gang_in("b", "ann", 8, 8, 0);
    run(1);
    explain(never);
    report_stopped(elastic);
    run(1);
    run(GRACE);
    AGAIN(gang_report_tasks(h.s, two_gangs, 0, GANG_ID_NONE, NULL, 0, GANG_TASK_SUCCEEDED));
    run(1);
    AGAIN(gang_job_set_target(h.s, high, 2));
    run(1);
    AGAIN(gang_job_set_priority(h.s, never, 3));
    run(1);
    run(GRACE);
    gang_job_id top = gang_in("a", "ann", 5, 5, 9); /* in the queue that requeues */
    run(1);
    run(GRACE);
    AGAIN(gang_job_cancel(h.s, never));
    run(1);
    AGAIN(gang_report_end(h.s, made, 1));
    run(1);
    AGAIN(gang_job_release(h.s, hold));
    run(1);
    AGAIN(gang_report_end(h.s, high, 1));
    AGAIN(gang_report_end(h.s, top, 1));
    (void)wide;
    run(GRACE);
    AGAIN(gang_report_node_lost(h.s, gang_node_next(h.stage.c, GANG_ID_NONE)));
    run(1);
    MUST(gang_node_set_state(h.stage.w, gang_node_next(h.stage.c, GANG_ID_NONE), GANG_NODE_UP));
}

/* All running jobs succeed until none is left. Their order depends on when memory was short; the
 * end of each job does not. */
static void finish(void)
{
    h.lingers = false;
    for (int round = 0; gang_job_next(h.s, GANG_ID_NONE) != GANG_ID_NONE; round++) {
        ck_assert_int_lt(round, 40);
        for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id; id = gang_job_next(h.s, id)) {
            int32_t state = host_job_state(&h, id);
            if (state == GANG_JOB_RUNNING)
                AGAIN(gang_report_tasks(h.s, id, gang_job_alloc(h.s, id, 0) == GANG_ID_NONE,
                                        GANG_ID_NONE, NULL, 0, GANG_TASK_SUCCEEDED));
            else if (state == GANG_JOB_STOPPING)
                report_stopped(id);
        }
        run(1);
        run(GRACE);
    }
    ck_assert_int_eq(host_gpus_free(&h), 8);
}

/* What came of it all, as a text. */
static void write_state(char *text, size_t bytes)
{
    size_t n = 0;
    for (gang_job_id id = 1; id < 12; id++)
        n += (size_t)snprintf(text + n, bytes - n, "%d ", host_end(&h, id));
    for (gang_queue_id id = gang_queue_next(h.s, GANG_ID_NONE); id; id = gang_queue_next(h.s, id)) {
        struct gang_queue_info q = {.size = sizeof(q)};
        MUST(gang_queue_get(h.s, id, &q));
        n += (size_t)snprintf(text + n, bytes - n, "%s:%" PRId64 ":%" PRId64 " ", q.name,
                              q.used[GANG_KIND_GPU], q.demand[GANG_KIND_GPU]);
    }
}

/* Returns the number of allocations. */
static long play(long fail_at, bool fail_on, char *text, size_t bytes)
{
    host_open_cluster(&h, 2, 4);
    h.lingers = true;
    long before = h.stage.mem.calls;
    failing = fail_at;
    h.stage.mem.fail_on = fail_on;
    h.stage.mem.fail_at = fail_at ? before + fail_at : 0;
    make();
    set_queues(GANG_ORDER_PRIORITY);
    live();
    finish();
    long calls = h.stage.mem.calls - before;
    h.stage.mem.fail_at = 0;
    write_state(text, bytes);
    host_close(&h);
    return calls;
}

START_TEST(the_life_uses_every_part)
{
    char text[2048];
    play(0, false, text, sizeof(text));
    const char *const op[] = {"start", "grow", "shrink", "preempt", "suspend", "resume", "kill"};
    int found = 0;
    for (size_t k = 0; k < sizeof(op) / sizeof(op[0]); k++) {
        int n = 0;
        for (size_t i = 0; i < h.count; i++)
            n += strcmp(h.event[i].op, op[k]) == 0;
        found += n > 0;
    }
    ck_assert_int_eq(found, (int)(sizeof(op) / sizeof(op[0])));
}
END_TEST

static char reference[2048], text[2048];

/* _i: whether all allocations of the call fail from then on. */
START_TEST(the_schedule_is_the_same_after_each_failed_memory_allocation)
{
    long all = play(0, false, reference, sizeof(reference));
    ck_assert_int_gt(all, 300); /* else little was tried */
    for (long n = 1; n <= all; n += getenv("GANG_TEST_QUICK") ? 7 : 1) {
        play(n, _i == 1, text, sizeof(text));
        ck_assert_msg(strcmp(text, reference) == 0, "allocation %ld:\n%s\n%s", n, text, reference);
    }
}
END_TEST

/* What the run needs that ends a job of so many tasks, one of them reported before the others. */
static long calls_of_end(int64_t tasks)
{
    long calls = 0;
    for (int round = 0; round < 3; round++) { /* the first ones grow what is grown once */
        gang_job_id id = host_gang(&h, NULL, tasks, 1);
        host_run(&h, 1);
        host_report(&h, id, 0, GANG_TASK_SUCCEEDED);
        h.stage.mem.calls = 0;
        MUST(gang_sched_run(h.s, ++h.now_ns, NULL, NULL));
        calls = h.stage.mem.calls;
        MUST(gang_report_end(h.s, id, 1));
        h.stage.mem.calls = 0;
        MUST(gang_sched_run(h.s, ++h.now_ns, NULL, NULL));
        calls += h.stage.mem.calls;
        ck_assert_int_eq(host_end(&h, id), GANG_END_SUCCESS);
    }
    return calls;
}

/* The numbers of ended tasks lie in the record of a gang of up to 64. */
START_TEST(the_end_of_a_small_gang_needs_less_memory)
{
    host_open(&h, 20, 4);
    long large = calls_of_end(65), small = calls_of_end(64);
    ck_assert_int_eq(large, small + 1);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("sched_memory");
    TCase *c = tcase_create("a life");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, the_life_uses_every_part);
    tcase_add_test(c, the_end_of_a_small_gang_needs_less_memory);
    tcase_add_loop_test(c, the_schedule_is_the_same_after_each_failed_memory_allocation, 0, 2);
    suite_add_tcase(s, c);
    return run_suite(s);
}
