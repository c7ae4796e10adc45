/* SPDX-License-Identifier: Apache-2.0 */
/* A host whose tasks fall silent and run on, and whose nodes go down and come back with what ran
 * there. It keeps its own books of what really runs on each GPU: no task starts on a GPU where
 * another one still runs. Its watchdogs end silent tasks before their fence does. */
#include "chance.h"
#include "sched/host.h"

enum { NODES = 3, GPUS = 4, JOBS = 150, STEPS = 3000, WORLDS = 16, BEAT_S = 6, FENCE_S = 40 };

/* A process on a GPU. */
struct real {
    gang_job_id job; /* GANG_ID_NONE: nothing runs there */
    gang_alloc_id alloc;
    int64_t task;
    bool asked;      /* to stop; perhaps the host was busy */
    bool dying;      /* it ends some time, and reports that it has stopped */
    bool silent;     /* it is out of reach: it can be neither asked nor killed, */
    bool fenced;     /* the library has been told so, */
    int64_t over_ns; /* and it ends by itself then, */
    bool heard;      /* and the host hears of that */
    bool watched;    /* the library misses its heartbeats */
};

static struct host h;
static struct real real[NODES * GPUS];
static bool sends_heartbeats[JOBS + 1]; /* by job */
static bool has_op;                     /* of this world: there is an op lost */
static int64_t fence_ns;                /* -1: the library waits for the report */
static int losses, kept, renewed, node_losses, starts;

static size_t node_index(gang_node_id node)
{
    for (int i = 0; i < NODES; i++)
        if (host_node(&h, i) == node)
            return (size_t)i;
    ck_abort_msg("no node %" PRIu64, node);
    return 0;
}

static bool is_named(const struct gang_event *e, const struct real *r)
{
    if (r->job != e->job || r->alloc != e->alloc)
        return false;
    for (size_t i = 0; i < e->task_count; i++)
        if (e->tasks[i] == r->task)
            return true;
    return e->task_count == 0;
}

static void report(const struct real *r, int32_t what)
{
    gang_result result = gang_report_tasks(h.s, r->job, 0, r->alloc, &r->task, 1, what);
    test_assert(result == GANG_OK || result == GANG_ESTALE);
}

/* It falls silent. A watchdog ends it before the library may give its GPU away: that is, before the
 * heartbeat is missed and the fence has passed. */
static void fall_silent(struct real *r, int64_t within_ns)
{
    if (r->silent)
        return;
    r->silent = true;
    r->over_ns = h.now_ns + below(within_ns);
    r->heard = fence_ns < 0 || !r->watched || one_in(2);
}

/* A silent task ends by itself, and the host may hear of it. `again`, if not NULL, names tasks that
 * come again: a report about the number of an old one would be about the new one. */
static void silent_end(const struct gang_event *again)
{
    for (size_t i = 0; i < NODES * GPUS; i++) {
        struct real *r = &real[i];
        if (r->job == GANG_ID_NONE || !r->silent || r->over_ns > h.now_ns)
            continue;
        if (r->heard && !(again && is_named(again, r)))
            report(r, r->fenced && one_in(2) ? GANG_TASK_STOPPED : GANG_TASK_FAILED);
        memset(r, 0, sizeof(*r));
    }
}

/* Starts what the event names. */
static int32_t launch(const struct gang_event *e, void *user)
{
    (void)user;
    const struct task_list *list = stage_tasks(&h.stage, e->alloc);
    bool refuses = one_in(20);
    silent_end(e);
    for (size_t i = 0; i < NODES * GPUS && e->task_count == 0; i++)
        ck_assert_msg(real[i].job != e->job, "job %" PRIu64 " runs twice", e->job);
    for (size_t i = 0; i < list->count; i++) {
        const struct gang_task *t = &list->task[i];
        const struct real own = {.job = e->job, .alloc = e->alloc, .task = t->task};
        if (!is_named(e, &own))
            continue;
        for (size_t g = 0; g < GPUS; g++) {
            struct real *r = &real[node_index(t->node) * GPUS + g];
            if (!(t->gpus >> g & 1))
                continue;
            ck_assert_msg(r->job == GANG_ID_NONE,
                          "job %" PRIu64 " starts on a GPU where task %" PRId64 " of job %" PRIu64
                          " runs (silent %d, fenced %d, dying %d)",
                          e->job, r->task, r->job, r->silent, r->fenced, r->dying);
            if (refuses)
                continue;
            *r = own;
            starts++;
            report(r, GANG_TASK_STARTED);
            r->watched = sends_heartbeats[e->job];
        }
    }
    return refuses;
}

static void all_gone(const struct gang_event *e)
{
    for (size_t i = 0; i < NODES * GPUS; i++)
        if (is_named(e, &real[i]))
            memset(&real[i], 0, sizeof(real[i]));
}

/* Also suspend: nothing of it stays on its GPUs. A task that is fenced is not asked. */
static int32_t stop(const struct gang_event *e, void *user)
{
    (void)user;
    bool busy = false;
    for (size_t i = 0; i < NODES * GPUS; i++)
        if (is_named(e, &real[i]) && !real[i].fenced) {
            real[i].asked = true;
            busy = busy || real[i].silent;
        }
    for (size_t i = 0; i < NODES * GPUS && !busy; i++)
        if (is_named(e, &real[i]) && !real[i].fenced)
            real[i].dying = true;
    return busy ? GANG_EBUSY : 0;
}

static int32_t kill_them(const struct gang_event *e, void *user)
{
    (void)user;
    for (size_t i = 0; i < NODES * GPUS; i++)
        if (is_named(e, &real[i]) && real[i].silent && !real[i].fenced)
            return GANG_EBUSY;
    for (size_t i = 0; i < NODES * GPUS; i++)
        if (is_named(e, &real[i]) && !real[i].fenced)
            memset(&real[i], 0, sizeof(real[i]));
    return 0;
}

static int32_t lost(const struct gang_event *e, void *user)
{
    (void)user;
    ck_assert_uint_gt(e->task_count, 0);
    ck_assert_int_eq(e->reason, GANG_REASON_LOSS);
    losses++;
    bool any = false;
    for (size_t i = 0; i < NODES * GPUS; i++)
        any = any || is_named(e, &real[i]);
    if (!any || one_in(4)) { /* they are over already, or are killed by other means */
        all_gone(e);
        return any ? 0 : GANG_ENOENT;
    }
    for (size_t i = 0; i < NODES * GPUS; i++)
        if (is_named(e, &real[i])) {
            fall_silent(&real[i], FENCE_S * (int64_t)HOST_SECOND);
            real[i].fenced = !real[i].asked;
        }
    kept++;
    return one_in(2) ? GANG_EBUSY : 1;
}

static void dying_end(void)
{
    for (size_t i = 0; i < NODES * GPUS; i++) {
        struct real *r = &real[i];
        if (r->job == GANG_ID_NONE || r->silent || !r->dying || !one_in(5))
            continue;
        report(r, GANG_TASK_STOPPED);
        memset(r, 0, sizeof(*r));
    }
}

static void send_heartbeats(void)
{
    for (size_t i = 0; i < NODES * GPUS; i++) {
        const struct real *r = &real[i];
        bool again = r->fenced && one_in(10);
        renewed += again;
        if (r->job != GANG_ID_NONE && (!r->silent || again))
            report(r, GANG_TASK_HEARTBEAT);
    }
}

/* A task falls silent. Without an op its fence begins when the library misses its heartbeat. */
static void one_falls_silent(void)
{
    struct real *r = &real[index_below(NODES * GPUS)];
    if (r->job != GANG_ID_NONE && !r->dying)
        fall_silent(r, FENCE_S * (int64_t)HOST_SECOND);
}

/* A job ends well, with all its tasks: none of them is silent. */
static void one_ends(void)
{
    const struct gang_event e = {.job = real[index_below(NODES * GPUS)].job};
    if (e.job == GANG_ID_NONE)
        return;
    for (size_t i = 0; i < NODES * GPUS; i++)
        if (real[i].job == e.job && real[i].silent)
            return;
    gang_result result = gang_report_end(h.s, e.job, !one_in(4));
    test_assert(result == GANG_OK || result == GANG_ESTALE);
    for (size_t i = 0; i < NODES * GPUS; i++)
        if (real[i].job == e.job)
            memset(&real[i], 0, sizeof(real[i]));
}

/* A node becomes unreachable, and comes back with what runs there. */
static void node_goes_or_comes(void)
{
    int i = (int)index_below(NODES);
    gang_node_id node = host_node(&h, i);
    if (stage_node(&h.stage, node).state == GANG_NODE_DOWN) {
        MUST(gang_report_node_up(h.s, node));
        return;
    }
    node_losses++;
    for (size_t g = 0; g < GPUS; g++)
        if (real[(size_t)i * GPUS + g].job != GANG_ID_NONE)
            fall_silent(&real[(size_t)i * GPUS + g], FENCE_S * (int64_t)HOST_SECOND);
    if (one_in(2))
        MUST(gang_report_node_lost(h.s, node));
    else
        MUST(gang_node_set_state(h.stage.w, node, GANG_NODE_DOWN));
    if (one_in(3)) { /* and is back before the run */
        MUST(gang_report_node_lost(h.s, node));
        MUST(gang_node_set_state(h.stage.w, node, GANG_NODE_UP));
    }
}

static void submit_one(void)
{
    static const int32_t policy[] = {GANG_LOSS_COUNT, GANG_LOSS_FAIL, GANG_LOSS_RESTART,
                                     GANG_LOSS_REFILL, GANG_LOSS_SHRINK};
    int64_t count = 1 + below(8);
    struct gang_job_spec *job = host_spec("default", count, 1 + below(count), below(4));
    job->time_limit_ns = one_in(3) ? (5 + below(100)) * HOST_SECOND : 0;
    job->heartbeat_ns = one_in(4) ? 0 : (int64_t)BEAT_S * HOST_SECOND;
    job->loss = policy[index_below(5)];
    job->max_restarts = below(3);
    job->refill_ns = one_in(2) ? below(60) * HOST_SECOND : 0;
    gang_job_id id = host_submit(&h, job);
    ck_assert_uint_le(id, JOBS);
    sends_heartbeats[id] = job->heartbeat_ns > 0;
}

static void open_world(int world)
{
    static const int32_t mode[] = {GANG_PREEMPT_MODE_REQUEUE, GANG_PREEMPT_MODE_SUSPEND,
                                   GANG_PREEMPT_MODE_CANCEL};
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    has_op = world % 4 != 0;
    fence_ns = has_op && world % 2 ? -1 : (int64_t)FENCE_S * HOST_SECOND;
    opts.fence_ns = world % 3 ? fence_ns : 1; /* otherwise the queue says it */
    opts.default_queue = "default";
    ops.start = ops.resume = ops.grow = launch;
    ops.preempt = ops.shrink = ops.suspend = stop;
    ops.kill = kill_them;
    ops.lost = has_op ? lost : NULL;
    memset(real, 0, sizeof(real));
    host_open_with(&h, NODES, GPUS, &opts, &ops);
    struct gang_queue_spec q = host_default_queue(below(3) * 10 * HOST_SECOND);
    q.preempt_mode = mode[world % 3];
    q.backfill = (int32_t)below(3);
    q.fence_ns = world % 3 ? 0 : fence_ns;
    host_queues(&h, &q, 1);
}

static void step(int *jobs)
{
    if (*jobs < JOBS && one_in(4)) {
        submit_one();
        ++*jobs;
    }
    silent_end(NULL);
    dying_end();
    send_heartbeats();
    if (one_in(8))
        one_falls_silent();
    if (one_in(5))
        one_ends();
    if (one_in(25))
        node_goes_or_comes();
    int64_t wait = gang_sched_timeout_ns(h.s, h.now_ns), pause = below(3) * HOST_SECOND;
    host_run(&h, wait > 0 && wait < pause ? wait : pause);
}

/* Everything comes back and ends: nothing is left in the books of either. */
static void close_world(void)
{
    for (int i = 0; i < NODES; i++)
        MUST(gang_report_node_up(h.s, host_node(&h, i)));
    for (int i = 0; i < 2000 && gang_job_next(h.s, GANG_ID_NONE) != GANG_ID_NONE; i++) {
        silent_end(NULL);
        dying_end();
        one_ends();
        host_run(&h, HOST_SECOND);
    }
    ck_assert_uint_eq(gang_job_next(h.s, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_int_eq(host_gpus_free(&h), NODES * GPUS);
    ck_assert_int_eq(host_queue(&h, "default").used[GANG_KIND_GPU], 0);
    host_close(&h);
}

START_TEST(no_task_starts_where_a_silent_one_still_runs)
{
    chance_state = test_seed();
    for (int world = 0; world < WORLDS; world++) {
        int jobs = 0;
        open_world(world);
        for (int i = 0; i < STEPS; i++)
            step(&jobs);
        close_world();
    }
    printf("%d starts, %d losses told, %d kept, %d fences renewed, %d nodes lost\n", starts, losses,
           kept, renewed, node_losses);
    ck_assert_int_gt(kept, 50);
    ck_assert_int_gt(renewed, 10);
    ck_assert_int_gt(node_losses, 50);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_silent");
    TCase *t = tcase_create("host_silent");
    tcase_set_timeout(t, 200);
    tcase_add_test(t, no_task_starts_where_a_silent_one_still_runs);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
