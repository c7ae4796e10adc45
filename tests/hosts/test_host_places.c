/* SPDX-License-Identifier: Apache-2.0 */
/* A host whose tasks do not stay where they were placed, and whose nodes others use, too. It keeps
 * its own books of what really runs on each GPU, and reports a node when something changed there.
 *   - No task starts on a GPU that a process uses, of whatever job or of none.
 *   - No GPU is free for the library that a process uses.
 *   - A task is booked where it runs, unless the host was told of a conflict with its place. */
#include "chance.h"
#include "sched/places_host.h"

enum { NODES = 3, GPUS = 6, STEPS = 1500, WORLDS = 12, REALS = 256, JOBS = 24 };

/* A task that runs. */
struct real {
    gang_job_id job; /* GANG_ID_NONE: this place is free */
    gang_alloc_id alloc;
    int64_t task;
    int node;
    uint64_t gpus;
    bool asked;    /* to stop */
    bool conflict; /* the last report about it said so */
};

static struct real real[REALS];
static uint64_t others[NODES]; /* GPUs that others use */
static bool changed[NODES];    /* and are to be reported */
static int64_t now_steps, starts, moves, swaps, conflicts, followed, vanished, late;
static uint64_t seed;

#define PLACES_CHECK(condition, ...)                                                    \
    do {                                                                                \
        if (!(condition)) {                                                             \
            printf("GANG_SEED=%" PRIu64 " step %" PRId64 ": ", seed, now_steps);        \
            printf(__VA_ARGS__);                                                        \
            printf("\n");                                                               \
            fflush(stdout);                                                             \
            ck_abort_msg("GANG_SEED=%" PRIu64 " step %" PRId64 ": %s", seed, now_steps, \
                         #condition);                                                   \
        }                                                                               \
    } while (0)

static int index_of(gang_node_id node)
{
    for (int i = 0; i < NODES; i++)
        if (host_node(&h, i) == node)
            return i;
    ck_abort_msg("no node %" PRIu64, node);
    return 0;
}

/* GPUs of a node that some process uses. */
static uint64_t used(int node)
{
    uint64_t gpus = others[node];
    for (int i = 0; i < REALS; i++)
        if (real[i].job && real[i].node == node)
            gpus |= real[i].gpus;
    return gpus;
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

/* ---- callbacks ------------------------------------------------------------------------------- */

static int32_t add(const struct gang_task *task, void *user)
{
    const struct gang_event *e = user;
    struct real r = {e->job, e->alloc, task->task, index_of(task->node), task->gpus, false, false};
    int at = 0;
    if (!is_named(e, &r))
        return 0;
    PLACES_CHECK(!(used(r.node) & r.gpus),
                 "task %" PRId64 " of job %" PRIu64 " starts on GPUs %" PRIx64
                 " of %d, of which %" PRIx64 " are used (%" PRIx64 " by others)",
                 r.task, r.job, r.gpus, r.node, used(r.node), others[r.node]);
    while (real[at].job)
        at++;
    ck_assert_int_lt(at, REALS);
    real[at] = r;
    starts++;
    return 0;
}

static int32_t start(const struct gang_event *e, void *user)
{
    (void)user;
    if (one_in(10))
        return 1;
    MUST(gang_alloc_each(h.stage.c, e->alloc, add, (void *)(uintptr_t)e));
    return 0;
}

static int32_t stop(const struct gang_event *e, void *user)
{
    (void)user;
    bool at_once = one_in(3);
    for (int i = 0; i < REALS; i++)
        if (real[i].job && is_named(e, &real[i])) {
            real[i].asked = true;
            if (at_once)
                real[i].job = GANG_ID_NONE;
        }
    return at_once;
}

static int32_t suspend(const struct gang_event *e, void *user)
{
    (void)user;
    for (int i = 0; i < REALS; i++)
        if (real[i].job && is_named(e, &real[i]))
            real[i].asked = true;
    return 0;
}

static int32_t kill_tasks(const struct gang_event *e, void *user)
{
    (void)user;
    for (int i = 0; i < REALS; i++)
        if (real[i].job && is_named(e, &real[i]))
            real[i].job = GANG_ID_NONE;
    return 0;
}

static uint64_t booked(const struct real *r)
{
    struct gang_task t = GANG_TASK_INIT;
    return gang_alloc_task(h.stage.c, r->alloc, r->task, &t) == GANG_OK ? t.gpus : 0;
}

static int32_t conflict(const struct gang_place_conflict *c, void *user)
{
    (void)user;
    int node = index_of(c->node);
    conflicts++;
    if (c->what == GANG_CONFLICT_UNKNOWN) { /* it stopped after the list was made */
        for (int i = 0; i < REALS; i++)
            PLACES_CHECK(!c->job || real[i].job != c->job || real[i].task != c->task, "%s",
                         c->text);
        changed[node] = true;
        late++;
        return 0;
    }
    PLACES_CHECK(c->what == GANG_CONFLICT_TAKEN, "conflict %d: %s", c->what, c->text);
    PLACES_CHECK(c->gpus && c->booked_alloc, "no GPU, or of nothing: %s", c->text);
    PLACES_CHECK(c->job || (c->gpus & ~others[node]) == 0, "%s", c->text);
    struct gang_task t = GANG_TASK_INIT;
    if (c->booked_job && gang_alloc_task(h.stage.c, c->booked_alloc, c->booked_task, &t) == GANG_OK)
        PLACES_CHECK((c->gpus & ~t.gpus) == 0, "%s: it has %" PRIx64, c->text, t.gpus);
    for (int i = 0; i < REALS; i++)
        if (real[i].job == c->job && c->job && real[i].task == c->task) {
            real[i].conflict = true;
            PLACES_CHECK((c->gpus & ~real[i].gpus) == 0, "%s", c->text);
            PLACES_CHECK(booked(&real[i]) != real[i].gpus, "%s", c->text);
        }
    return 0;
}

static int32_t note(const struct gang_log_entry *e, void *user)
{
    (void)user;
    followed += e->code == GANG_LOG_REBOUND;
    return 0;
}

/* ---- the world ------------------------------------------------------------------------------- */

static void open_world(void)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = GANG_HOST_OPS_INIT;
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    static struct gang_quota half = {"gpu", NODES * GPUS * 500, NULL, 0, 0};
    ops.start = ops.grow = ops.resume = start;
    ops.preempt = ops.shrink = stop;
    ops.suspend = suspend;
    ops.kill = kill_tasks;
    ops.conflict = conflict;
    ops.log_entry = note;
    opts.preempt_cooldown_ns = -1;
    opts.refused_ns = HOST_SECOND;
    host_open_with(&h, NODES, GPUS, &opts, &ops);
    q[0].name = "a";
    q[1].name = "b";
    q[0].guaranteed = q[1].guaranteed = &half;
    q[0].guaranteed_count = q[1].guaranteed_count = 1;
    q[0].backfill = one_in(2) ? GANG_BACKFILL_EASY : GANG_BACKFILL_NONE;
    q[0].grace_ns = q[1].grace_ns = below(3) * 5 * HOST_SECOND;
    q[1].preempt_mode = one_in(2) ? GANG_PREEMPT_MODE_SUSPEND : GANG_PREEMPT_MODE_REQUEUE;
    host_queues(&h, q, 2);
    memset(real, 0, sizeof(real));
    memset(others, 0, sizeof(others));
    memset(changed, 0, sizeof(changed));
}

static void submit(void)
{
    static const int32_t loss[] = {GANG_LOSS_COUNT, GANG_LOSS_FAIL, GANG_LOSS_RESTART,
                                   GANG_LOSS_REFILL, GANG_LOSS_SHRINK};
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_job_id id;
    g.gpu_milli = one_in(3) ? 2000 : 1000;
    g.count = 1 + below(5);
    g.min = one_in(2) ? g.count : 1;
    struct gang_job_spec job = host_job(&g, 1);
    job.queue = one_in(2) ? "a" : "b";
    job.priority = below(3);
    job.loss = loss[index_below(5)];
    job.max_restarts = 2;
    job.time_limit_ns = (20 + below(60)) * HOST_SECOND;
    gang_result r = gang_job_submit(h.s, &job, &id, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
}

static struct real *some_task(void)
{
    struct real *r = &real[index_below(REALS)];
    for (int i = 0; i < 20 && !r->job; i++)
        r = &real[index_below(REALS)];
    return r->job ? r : NULL;
}

static uint64_t some_gpus(uint32_t count)
{
    uint64_t gpus = 0;
    for (uint32_t n = 0; n < count;) {
        uint64_t bit = UINT64_C(1) << below(GPUS);
        n += !(gpus & bit);
        gpus |= bit;
    }
    return gpus;
}

/* A task starts again on other GPUs, as others chose: also on such that are in use. */
static void move(struct real *r)
{
    r->gpus = some_gpus((uint32_t)__builtin_popcountll(r->gpus));
    changed[r->node] = true;
    moves++;
}

static void swap(struct real *r)
{
    for (int i = 0; i < REALS; i++)
        if (real[i].job && &real[i] != r && real[i].node == r->node &&
            __builtin_popcountll(real[i].gpus) == __builtin_popcountll(r->gpus)) {
            uint64_t gpus = r->gpus;
            r->gpus = real[i].gpus;
            real[i].gpus = gpus;
            changed[r->node] = true;
            swaps++;
            return;
        }
}

static void end_task(struct real *r, int32_t what)
{
    MUST(gang_report_tasks(h.s, r->job, 0, r->alloc, &r->task, 1, what));
    r->job = GANG_ID_NONE;
}

static void end_job(gang_job_id job)
{
    MUST(gang_report_end(h.s, job, 1));
    for (int i = 0; i < REALS; i++)
        if (real[i].job == job)
            real[i].job = GANG_ID_NONE;
}

/* The task is gone, and nobody says so but the next complete list. */
static void vanish(struct real *r)
{
    changed[r->node] = true;
    r->job = GANG_ID_NONE;
    vanished++;
}

static void some_stop(void)
{
    for (int i = 0; i < REALS; i++)
        if (real[i].job && real[i].asked && one_in(6))
            end_task(&real[i], GANG_TASK_STOPPED);
}

static void event(void)
{
    struct real *r = some_task();
    some_stop();
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
        submit();
        break;
    case 3:
        if (r && r->job && !r->asked)
            move(r);
        break;
    case 4:
        if (r && r->job)
            swap(r);
        break;
    case 5: {
        int node = (int)below(NODES);
        others[node] = one_in(2) ? 0 : some_gpus((uint32_t)below(3));
        changed[node] = true;
        break;
    }
    case 6:
        if (r && r->job && one_in(2))
            vanish(r);
        break;
    case 7:
        if (r && r->job)
            end_job(r->job);
        break;
    case 8:
        if (r && r->job)
            end_task(r, one_in(3) ? GANG_TASK_FAILED : GANG_TASK_SUCCEEDED);
        break;
    default:
        break; /* time passes */
    }
}

/* All that runs on a node. Tasks may vanish: the list is complete. */
static void report_node(int node)
{
    struct gang_reported_place p[REALS + 1];
    size_t count = 0;
    for (int i = 0; i < REALS; i++)
        if (real[i].job && real[i].node == node) {
            p[count++] = place_of(real[i].job, real[i].task, real[i].gpus);
            real[i].conflict = false;
        }
    if (others[node])
        p[count++] = place_of(GANG_ID_NONE, 0, others[node]);
    MUST(gang_report_places(h.s, host_node(&h, node), p, count, GANG_PLACES_COMPLETE));
    changed[node] = false;
}

static void check(void)
{
    host_check(&h);
    for (int n = 0; n < NODES; n++) {
        uint64_t is_free = free_gpus(host_node(&h, n));
        PLACES_CHECK(!(is_free & used(n)), "node %d: %" PRIx64 " are free, and %" PRIx64 " used", n,
                     is_free, used(n));
    }
    for (int i = 0; i < REALS; i++) {
        const struct real *r = &real[i];
        if (!r->job || r->asked)
            continue;
        uint64_t gpus = booked(r);
        PLACES_CHECK(gpus, "task %" PRId64 " of job %" PRIu64 " is not listed", r->task, r->job);
        PLACES_CHECK(r->conflict || gpus == r->gpus,
                     "task %" PRId64 " of job %" PRIu64 " is booked on %" PRIx64 ", not %" PRIx64,
                     r->task, r->job, gpus, r->gpus);
    }
}

/* What a copy decides does not matter here: it is sound, and holds as much. */
static void check_copy(void)
{
    gang_cluster *c;
    gang_sched *copy;
    MUST(gang_sched_copy(h.s, NULL, NULL, &c, &copy, NULL));
    for (int n = 0; n < NODES; n++) {
        struct gang_node_info info = GANG_NODE_INFO_INIT;
        MUST(gang_node_get(c, host_node(&h, n), &info));
        ck_assert_uint_eq(info.gpu_mask, free_gpus(host_node(&h, n)));
    }
    MUST(gang_sched_run(copy, h.now_ns + 1, NULL, NULL));
    MUST(gang_sched_check(copy, NULL));
    MUST(gang_cluster_check(c, NULL));
    gang_sched_free(copy);
    gang_cluster_free(c);
}

static void step(void)
{
    now_steps++;
    event();
    for (int n = 0; n < NODES; n++)
        if (changed[n] || one_in(20))
            report_node(n);
    h.now_ns += below(4) * HOST_SECOND;
    MUST(gang_sched_run(h.s, h.now_ns, NULL, NULL));
    check();
    if (one_in(100))
        check_copy();
}

/* Others go, all jobs end, and everything is free. */
static void close_world(void)
{
    memset(others, 0, sizeof(others));
    for (gang_job_id id = 0; (id = gang_job_next(h.s, id)) != GANG_ID_NONE;)
        MUST(gang_job_cancel(h.s, id));
    for (int i = 0; i < 100; i++) {
        for (int k = 0; k < REALS; k++)
            if (real[k].job && real[k].asked)
                end_task(&real[k], GANG_TASK_STOPPED);
        for (int n = 0; n < NODES; n++)
            report_node(n);
        host_run(&h, HOST_SECOND);
    }
    ck_assert_uint_eq(gang_job_next(h.s, GANG_ID_NONE), GANG_ID_NONE);
    for (int n = 0; n < NODES; n++)
        ck_assert_uint_eq(free_gpus(host_node(&h, n)), (1 << GPUS) - 1);
    MUST(gang_cluster_check(h.stage.c, NULL));
    host_close(&h);
}

START_TEST(nothing_that_runs_is_given_away)
{
    chance_state = seed = test_seed();
    for (int world = 0; world < WORLDS; world++) {
        open_world();
        for (int i = 0; i < STEPS; i++)
            step();
        close_world();
    }
    printf("%" PRId64 " starts, %" PRId64 " moves, %" PRId64 " swaps, %" PRId64
           " tasks followed, %" PRId64 " conflicts, %" PRId64 " vanished, %" PRId64
           " listed too late\n",
           starts, moves, swaps, followed, conflicts, vanished, late);
    ck_assert_int_gt(starts, WORLDS * STEPS / 10);
    ck_assert_int_gt(followed, WORLDS * STEPS / 100);
    ck_assert_int_gt(conflicts, WORLDS * STEPS / 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_places");
    TCase *t = tcase_create("host_places");
    tcase_set_timeout(t, 3000);
    tcase_add_test(t, nothing_that_runs_is_given_away);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
