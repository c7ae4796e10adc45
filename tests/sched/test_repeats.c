/* SPDX-License-Identifier: Apache-2.0 */
/* Random clusters live for hours with a scheduler that preempts and moves, and no gang is stopped
 * again and again: the host records which gang was stopped for which job.
 *   GANG_SEED         of the first world
 *   GANG_TEST_WORLDS  number of worlds */
#include "chance.h"
#include "sched/host.h"

enum { JOBS = 48, QUEUES = 4, HOURS = 4, TICK_S = 30 };

static const int64_t SECOND = HOST_SECOND, COOLDOWN = INT64_C(600) * HOST_SECOND;

struct job {
    gang_job_id id;
    int queue;
    int64_t run_ns, submit_ns, left_ns; /* how long it runs, from when, and what is left */
    bool over;
    int stops; /* in which it lost its work */
    /* the latest stop for a queue and for a job: number (0: none), time */
    int64_t of_queue[QUEUES], of_queue_ns[QUEUES], of_job[JOBS], of_job_ns[JOBS];
};

static struct host h;
static struct job job[JOBS];
static int64_t min_runtime_ns[QUEUES];
static int64_t demand_at[QUEUES]; /* `events` when a job of the queue was submitted last */
static int64_t events;            /* stops and submissions so far */
static uint64_t world;
static gang_job_id owed[JOBS * JOBS]; /* jobs for which others were stopped: they must start */
static size_t owed_count;
static int64_t stops, moves, starts; /* of all worlds */
static bool lends;                   /* some nodes are lent by a partition */
static int64_t slice_takers;         /* gangs that were stopped for one that then had a row */
static bool slices[QUEUES];

static int index_of(gang_job_id id)
{
    for (int j = 0; j < JOBS; j++)
        if (job[j].id == id)
            return j;
    ck_abort_msg("no job %" PRIu64, id);
    return -1;
}

/* ---- the books ------------------------------------------------------------------------------- */

static void check_stop(const struct job *victim, const struct job *taker)
{
    int64_t spared_ns =
        COOLDOWN > min_runtime_ns[victim->queue] ? COOLDOWN : min_runtime_ns[victim->queue];
    int64_t before = victim->of_queue[taker->queue];
    ck_assert_msg(!before || h.now_ns >= victim->of_queue_ns[taker->queue] + spared_ns ||
                      demand_at[taker->queue] > before,
                  "GANG_SEED=%" PRIu64 ": job %" PRIu64 " is stopped twice for queue %d", world,
                  victim->id, taker->queue);
}

/* No two jobs stop each other. A job remembers its latest six stops only. */
static void check_exchange(const struct job *victim, const struct job *taker)
{
    int64_t spared_ns =
        COOLDOWN > min_runtime_ns[taker->queue] ? COOLDOWN : min_runtime_ns[taker->queue];
    int at = (int)(victim - job);
    ck_assert_msg(taker->stops > 5 || !taker->of_job[at] ||
                      h.now_ns >= taker->of_job_ns[at] + spared_ns,
                  "GANG_SEED=%" PRIu64 ": jobs %" PRIu64 " and %" PRIu64 " stop each other", world,
                  victim->id, taker->id);
}

static void note_stop(const struct host_event *e)
{
    struct job *victim = &job[index_of(e->job)], *taker = &job[index_of(e->because)];
    bool moved = e->reason == GANG_REASON_MOVE;
    check_stop(victim, taker);
    if (!moved)
        check_exchange(victim, taker);
    owed[owed_count++] = e->because;
    events++;
    victim->of_queue[taker->queue] = events;
    victim->of_queue_ns[taker->queue] = h.now_ns;
    stops++;
    moves += moved;
    if (moved)
        return;
    victim->of_job[taker - job] = events;
    victim->of_job_ns[taker - job] = h.now_ns;
    victim->stops++;
    victim->left_ns = victim->run_ns; /* it begins from the start */
}

static void during(struct host *from, const struct host_event *e)
{
    (void)from;
    if (strcmp(e->op, "preempt") == 0 && e->because != GANG_ID_NONE)
        note_stop(e);
    if (strcmp(e->op, "granted") == 0) {
        starts++;
        for (size_t i = 0; i < owed_count; i++)
            if (owed[i] == e->job)
                owed[i--] = owed[--owed_count];
    }
}

/* ---- the world ------------------------------------------------------------------------------- */

static void open_cluster(void)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_error error = GANG_ERROR_INIT;
    static const char *partition = "own";
    host_open_cluster(&h, 0, 0);
    lends = below(2);
    if (lends)
        MUST(gang_partition_set(h.stage.w, partition, GANG_PARTITION_LENDING));
    for (int64_t i = 0, n = 2 + below(4); i < n; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", (int)i);
        struct box box = {.name = name,
                          .cpu = 8000,
                          .memory = 64 * GIB,
                          .gpus = 1 + (size_t)below(4),
                          .model = below(2) ? "a" : "b",
                          .partitions = &partition,
                          .partition_count = lends && i % 2 == 0};
        stage_add(&h.stage, &box);
    }
    opts.mem = &h.stage.mem.mem;
    gang_result r = gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    h.during = during;
    host_follow_decisions(&h);
}

static void open_queues(bool slicing)
{
    static const char *const name[QUEUES] = {"q0", "q1", "q2", "q3"};
    static const int32_t within[] = {GANG_PREEMPT_NEVER, GANG_PREEMPT_LOWER,
                                     GANG_PREEMPT_USER_LIMIT, GANG_PREEMPT_USER_LIMIT};
    struct gang_queue_spec q[QUEUES];
    struct gang_quota guaranteed[QUEUES];
    for (int i = 0; i < QUEUES; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = name[i];
        q[i].weight = (double)(1 + below(3));
        q[i].within = within[below(4)];
        q[i].user_limit =
            q[i].within == GANG_PREEMPT_USER_LIMIT ? (10 + below(50)) * (GANG_WHOLE / 100) : 0;
        q[i].min_runtime_ns = min_runtime_ns[i] = below(3) ? 0 : below(1800) * SECOND;
        guaranteed[i] = (struct gang_quota){"gpu", below(4) * 1000, NULL, 0, 0};
        slices[i] = slicing && below(2);
        if (slices[i]) {
            q[i].quantum_ns = (1 + below(6)) * TICK_S * SECOND;
            q[i].quantum_rows = 1 + below(3);
            q[i].quantum_gpus = (int32_t)below(2);
        }
        if (below(2)) {
            q[i].guaranteed = &guaranteed[i];
            q[i].guaranteed_count = 1;
        }
        demand_at[i] = 0;
    }
    host_queues(&h, q, QUEUES);
}

static void draw_jobs(void)
{
    for (int j = 0; j < JOBS; j++) {
        job[j] = (struct job){.queue = (int)below(QUEUES)};
        job[j].submit_ns = below(2) ? 0 : below(3600) * SECOND;
        job[j].run_ns = job[j].left_ns = (below(2) ? below(10) : below(400)) * TICK_S * SECOND;
    }
}

static void submit(struct job *j)
{
    static const char *const name[QUEUES] = {"q0", "q1", "q2", "q3"};
    struct gang_group_spec g = group_of(1 + below(4), 100, 1000 * (1 + below(3)));
    g.min = below(3) ? g.count : 1;
    static const char *const model[] = {"a", "b"}, *const user[] = {"x", "y", "z"};
    if (below(3) == 0) {
        g.gpu_models = &model[below(2)];
        g.gpu_model_count = 1;
    }
    if (lends && below(3) == 0)
        g.partition = "own";
    struct gang_job_spec spec = host_job(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    spec.queue = name[j->queue];
    spec.user = user[below(3)];
    spec.priority = below(3) * 50;
    gang_result r = gang_job_submit(h.s, &spec, &j->id, &error);
    ck_assert_msg(r == GANG_OK || r == GANG_ENEVER, "%s: %s", error.path, error.text);
    j->over = r != GANG_OK;
    demand_at[j->queue] = ++events;
}

static void pass_time(void)
{
    for (int j = 0; j < JOBS; j++) {
        bool runs = job[j].id && !job[j].over && host_job_state(&h, job[j].id) == GANG_JOB_RUNNING;
        job[j].left_ns -= runs ? TICK_S * SECOND : 0;
        if (runs && job[j].left_ns <= 0) {
            MUST(gang_report_end(h.s, job[j].id, 1));
            job[j].over = true;
        }
    }
}

/* A gang that shares nodes in time has started when it has a row. */
static void note_rows(void)
{
    for (size_t i = 0; i < owed_count; i++)
        if (host_job_info(&h, owed[i]).slice_row > 0) {
            slice_takers++;
            owed[i--] = owed[--owed_count];
        }
}

static void live(bool slicing)
{
    open_cluster();
    open_queues(slicing);
    draw_jobs();
    events = 0;
    for (int64_t t = 0; t < INT64_C(3600) * HOURS; t += TICK_S) {
        pass_time();
        for (int j = 0; j < JOBS; j++)
            if (!job[j].id && !job[j].over && job[j].submit_ns <= h.now_ns)
                submit(&job[j]);
        h.count = 0;
        host_run(&h, 0);
        note_rows();
        ck_assert_msg(owed_count == 0,
                      "GANG_SEED=%" PRIu64 ": a gang was stopped for job %" PRIu64
                      ", which did not start",
                      world, owed_count ? owed[0] : GANG_ID_NONE);
        h.now_ns += TICK_S * SECOND;
    }
    host_close(&h);
}

START_TEST(no_gang_is_stopped_again_and_again)
{
    const char *given = getenv("GANG_TEST_WORLDS");
    uint64_t first = test_seed();
    int64_t worlds = given ? atoll(given) : getenv("GANG_TEST_QUICK") ? 2 : 60;
    for (int64_t i = 0; i < worlds; i++) {
        world = chance_state = first + (uint64_t)i;
        live(_i == 1);
    }
    printf("%" PRId64 " worlds of %d h, %" PRId64 " starts and growths, %" PRId64
           " gangs stopped, %" PRId64 " of them moved\n",
           worlds, HOURS, starts, stops, moves);
    ck_assert_int_gt(stops, 0);
    if (_i == 1 && worlds >= 60) {
        printf("%" PRId64 " gangs stopped for gangs in rows\n", slice_takers);
        ck_assert_int_gt(slice_takers, 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repeats");
    TCase *tests = tcase_create("repeats");
    tcase_set_timeout(tests, 300);
    /* 1: some queues slice */
    tcase_add_loop_test(tests, no_gang_is_stopped_again_and_again, 0, 2);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
