/* SPDX-License-Identifier: Apache-2.0 */
/* Random jobs of one to three gangs, on a host that refuses, is slow, reports from within its
 * callbacks and about old allocations. Then it behaves: every job must end, and all capacity must
 * be free. One thread: a world always shows the same.
 *   GANG_SEED           the first world; without it the worlds are always the same
 *   GANG_TEST_SECONDS   how long, 1 by default; GANG_TEST_QUICK: WORLDS worlds */
#include <time.h>

#include "chance.h"
#include "host.h"

enum { NODES = 2, GPUS = 4, STEPS = 60, DRAIN = 400, OLD = 64, STUCK = 8, WORLDS = 10 };

static struct host h;
static bool misbehaves;
static gang_alloc_id old_alloc[OLD];

static gang_job_id some_job(void)
{
    gang_job_id id = gang_job_next(h.s, GANG_ID_NONE);
    for (int64_t n = below(8); n > 0 && id != GANG_ID_NONE; n--)
        id = gang_job_next(h.s, id);
    return id != GANG_ID_NONE ? id : gang_job_next(h.s, GANG_ID_NONE);
}

/* A report about one task or all, of the present allocation or an old one. */
static void report(gang_job_id id, int32_t gang, gang_alloc_id alloc)
{
    static const int32_t what[] = {GANG_TASK_STARTED, GANG_TASK_SUCCEEDED, GANG_TASK_SUCCEEDED,
                                   GANG_TASK_FAILED,  GANG_TASK_STOPPED,   GANG_TASK_STOPPED,
                                   GANG_TASK_IDLE};
    int64_t task = below(4);
    bool all = below(3) == 0;
    MUST(gang_report_tasks(h.s, id, gang, alloc, all ? NULL : &task, !all, what[below(7)]));
}

/* In each callback, and at each grant that the host has not heard of. */
static void answer(struct host *host, const struct host_event *e)
{
    static const int32_t values[] = {1, GANG_EBUSY, GANG_ENOENT};
    host->refuse = NULL;
    host->lingers = misbehaves && below(2);
    if (!misbehaves)
        return;
    if (e->alloc != GANG_ID_NONE)
        old_alloc[below(OLD)] = e->alloc;
    if (below(4) == 0)
        report(e->job, e->part, below(2) ? e->alloc : GANG_ID_NONE);
    if (below(8) == 0)
        MUST(gang_job_set_target(h.s, e->job, below(4)));
    if (below(6) == 0) {
        host->refuse = e->op;
        host->answer = values[below(3)];
    }
}

static void submit(void)
{
    static const char *const queue[] = {"requeue", "suspend", "cancel", "slice"};
    static struct gang_group_spec group[3];
    static struct gang_group_after after[2];
    size_t gangs = 1 + (size_t)below(3);
    for (size_t i = 0; i < gangs; i++) {
        int64_t count = 1 + below(gangs == 1 ? 8 : 4);
        group[i] = host_gpus(count, 1 + below(count));
        if (i > 0)
            after[i - 1] = (struct gang_group_after){(int32_t)i, (int32_t)below((int64_t)i),
                                                     (int32_t)below(3), 0};
    }
    struct gang_job_spec job = host_job(group, gangs);
    job.group_after = gangs > 1 ? after : NULL;
    job.group_after_count = gangs - 1;
    job.queue = queue[below(4)];
    job.priority = below(4);
    job.loss = (int32_t)below(5);
    job.max_restarts = job.loss == GANG_LOSS_RESTART ? below(3) : 0;
    job.hold = below(10) == 0;
    (void)host_submit(&h, &job);
}

static void command(gang_job_id id)
{
    switch (below(8)) {
    case 0:
        MUST(gang_job_hold(h.s, id));
        break;
    case 1:
    case 2:
        MUST(gang_job_release(h.s, id));
        break;
    case 3:
        MUST(gang_job_requeue(h.s, id));
        break;
    case 4:
        MUST(gang_job_set_priority(h.s, id, below(4)));
        break;
    case 5:
        if (below(4) == 0)
            MUST(gang_job_cancel(h.s, id));
        break;
    default:
        MUST(gang_job_set_target(h.s, id, below(6) - 1));
        break;
    }
}

static void change_node(void)
{
    gang_node_id node = host_node(&h, (int)below(NODES));
    int64_t what = below(6);
    if (what == 0)
        MUST(gang_report_node_lost(h.s, node));
    else if (what == 1)
        MUST(gang_report_node_draining(h.s, node, h.now_ns + below(5) * HOST_SECOND));
    else
        MUST(gang_report_node_up(h.s, node));
}

static void step(void)
{
    gang_job_id id = some_job();
    int64_t what = below(10);
    if (what < 3 || id == GANG_ID_NONE)
        submit();
    else if (what < 5)
        command(id);
    else if (what < 9)
        report(id, (int32_t)below(3), below(3) ? GANG_ID_NONE : old_alloc[below(OLD)]);
    else
        change_node();
}

static void open_world(void)
{
    static const char *const name[] = {"requeue", "suspend", "cancel", "slice"};
    struct gang_queue_spec q[4];
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    for (int i = 0; i < 4; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = name[i];
        q[i].grace_ns = below(3) * HOST_SECOND;
        q[i].preempt_mode = i < 3 ? i : GANG_PREEMPT_MODE_REQUEUE;
    }
    q[3].quantum_ns = 2 * HOST_SECOND;
    opts.fence_ns = 2 * HOST_SECOND;
    opts.refused_ns = HOST_SECOND;
    opts.preempt_cooldown_ns = -1;
    host_open_with(&h, NODES, GPUS, &opts, &ops);
    memset(old_alloc, 0, sizeof(old_alloc));
    host_queues(&h, q, 4);
    h.during = answer;
    host_follow_decisions(&h);
}

static int32_t count_reason(const struct gang_wait *wait, void *user)
{
    (void)wait;
    ++*(int *)user;
    return 0;
}

/* What the host does for a job in the end. */
static void help(gang_job_id id)
{
    struct gang_job_info info = host_job_info(&h, id);
    if (info.held)
        MUST(gang_job_release(h.s, id));
    int32_t what = info.state == GANG_JOB_STOPPING ? GANG_TASK_STOPPED : GANG_TASK_SUCCEEDED;
    for (int32_t gang = 0; gang < 3; gang++)
        if (gang_job_alloc(h.s, id, gang) != GANG_ID_NONE || what == GANG_TASK_STOPPED)
            MUST(gang_report_tasks(h.s, id, gang, GANG_ID_NONE, NULL, 0, what));
}

/* The oldest job that is left; it may wait without a reason for a few runs at most. */
static void look_at_first(uint64_t world, int *silent)
{
    int reasons = 0;
    gang_job_id id = gang_job_next(h.s, GANG_ID_NONE);
    if (id == GANG_ID_NONE || host_job_state(&h, id) != GANG_JOB_PENDING)
        return;
    MUST(gang_job_explain(h.s, id, count_reason, &reasons));
    *silent = reasons ? 0 : *silent + 1;
    ck_assert_msg(*silent < STUCK, "world %" PRIu64 ": job %" PRIu64 " waits without a reason",
                  world, id);
}

static void drain(uint64_t world)
{
    int silent = 0;
    misbehaves = false;
    for (int i = 0; i < NODES; i++)
        MUST(gang_report_node_up(h.s, host_node(&h, i)));
    for (int i = 0; i < DRAIN && gang_job_next(h.s, GANG_ID_NONE) != GANG_ID_NONE; i++) {
        for (gang_job_id id = gang_job_next(h.s, GANG_ID_NONE); id != GANG_ID_NONE;
             id = gang_job_next(h.s, id))
            help(id);
        h.count = 0;
        host_run(&h, HOST_SECOND);
        look_at_first(world, &silent);
    }
    gang_job_id left = gang_job_next(h.s, GANG_ID_NONE);
    ck_assert_msg(left == GANG_ID_NONE, "world %" PRIu64 ": job %" PRIu64 " is left in state %d",
                  world, left, left == GANG_ID_NONE ? -1 : host_job_state(&h, left));
    host_run(&h, INT64_C(10) * HOST_SECOND); /* fences end */
    ck_assert_int_eq(host_gpus_free(&h), NODES * GPUS);
}

static void live(uint64_t world)
{
    chance_state = world;
    open_world();
    misbehaves = true;
    for (int i = 0; i < STEPS; i++) {
        for (int64_t n = below(4); n >= 0; n--)
            step();
        h.count = 0;
        host_run(&h, below(3) * HOST_SECOND);
    }
    drain(world);
    host_close(&h);
}

START_TEST(every_job_ends)
{
    const char *given = getenv("GANG_TEST_SECONDS");
    bool quick = getenv("GANG_TEST_QUICK") != NULL;
    double seconds = given ? atof(given) : 1;
    uint64_t first = getenv("GANG_SEED") ? test_seed() : 1, worlds = 0;
    time_t from = time(NULL);
    do
        live(first + worlds++);
    while (quick ? worlds < WORLDS : difftime(time(NULL), from) < seconds);
    printf("%" PRIu64 " worlds from seed %" PRIu64 "\n", worlds, first);
}
END_TEST

/* Each of these showed a defect once. */
START_TEST(every_job_ends_in_worlds_where_one_did_not)
{
    static const uint64_t worlds[] = {1, 200052, 300638, 400118, 1200088, 2300314};
    live(worlds[_i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("liveness");
    TCase *t = tcase_create("liveness");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, every_job_ends);
    tcase_add_loop_test(t, every_job_ends_in_worlds_where_one_did_not, 0, 6);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
