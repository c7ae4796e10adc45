/* SPDX-License-Identifier: Apache-2.0 */
/* Random lives of queues with ranks (gang_queue_spec.across, preempt_class). The host keeps books
 * of its own: which job was stopped for which, what each queue uses, and what ranks and guarantees
 * allow. GANG_SEED         of the first world GANG_TEST_WORLDS  number of worlds */
#include "chance.h"
#include "sched/host.h"

enum { JOBS = 160, QUEUES = 6, STEPS = 120 };
/* top: t, d; below t: p, c; below p: a, b */
enum { T, P, A, B, C, D };
static const char *const name[QUEUES] = {"t", "p", "a", "b", "c", "d"};
static const int parent[QUEUES] = {-1, T, P, P, T, -1};
static const int leaves[] = {A, B, C, D};

struct job {
    gang_job_id id;
    int queue;
    int64_t size, priority, runs; /* GPUs that it has */
    bool stopped_for[JOBS];       /* since the last event from outside */
};

static struct host h;
static struct job job[JOBS];
static int jobs;
static uint64_t world;
static int across[QUEUES]; /* in force */
static int64_t cap[QUEUES], guarantee[QUEUES], limit[QUEUES], used[QUEUES];
static int class_of[QUEUES]; /* 0: none; class 1 lists 2, 2 lists 3, 1 lists 3 in some worlds */
static uint32_t lists[4];
static int victim[JOBS], victims; /* of the job that starts next, */
static int32_t reason[JOBS];      /* and why */
static bool alone; /* ranks alone decide: no guarantees, each pair of leaves is of some rank */

#define SAY "GANG_SEED=%" PRIu64 ": "

static struct job *job_of(gang_job_id id)
{
    for (int i = 0; i < jobs; i++)
        if (job[i].id == id)
            return &job[i];
    ck_abort_msg(SAY "no job %" PRIu64, world, id);
    return NULL;
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool is_above(int queue, int leaf)
{
    while (leaf != -1 && leaf != queue)
        leaf = parent[leaf];
    return leaf == queue;
}

static int common(int x, int y)
{
    while (x != -1 && !is_above(x, y))
        x = parent[x];
    return x;
}

static bool outranks(const struct job *x, const struct job *y)
{
    int at = common(x->queue, y->queue);
    if (x->queue == y->queue)
        return false;
    if (class_of[x->queue] && (lists[class_of[x->queue]] >> class_of[y->queue] & 1))
        return class_of[y->queue] != 0;
    return class_of[x->queue] == class_of[y->queue] && across[x->queue] != GANG_ACROSS_NEVER &&
           at >= 0 && across[at] != GANG_ACROSS_NEVER && y->priority < x->priority &&
           y->priority <= cap[x->queue];
}

/* The queue that would keep to its guarantee if the victim were back, below what is above both. */
static int protector(const struct job *taker, const struct job *y)
{
    int top = common(taker->queue, y->queue);
    for (int q = y->queue; q != top; q = parent[q])
        if (used[q] + y->size <= guarantee[q])
            return q;
    return -1;
}

static int branch_of(const struct job *x, const struct job *y)
{
    int q = x->queue, top = common(x->queue, y->queue);
    while (parent[q] != top)
        q = parent[q];
    return q;
}

static void shift(struct job *x, int64_t gpus)
{
    for (int q = x->queue; q != -1; q = parent[q]) {
        used[q] += gpus - x->runs;
        ck_assert_msg(used[q] <= limit[q], SAY "queue %s uses %" PRId64, world, name[q], used[q]);
    }
    x->runs = gpus;
}

/* ---- what the scheduler does ----------------------------------------------------------------- */

static void note_stop(const struct host_event *e)
{
    struct job *y = job_of(e->job), *x = job_of(e->because);
    ck_assert_msg(!x->stopped_for[y - job], SAY "jobs %" PRIu64 " and %" PRIu64 " in turn", world,
                  x->id, y->id);
    y->stopped_for[x - job] = true;
    if (x->queue != y->queue && e->reason == GANG_REASON_PREEMPT) {
        ck_assert_msg(outranks(x, y), SAY "job %" PRIu64 " does not outrank %" PRIu64, world, x->id,
                      y->id);
    }
    if (e->reason == GANG_REASON_PREEMPT && x->queue == y->queue)
        ck_assert_msg(y->priority < x->priority, SAY "job %" PRIu64 " in its leaf", world, x->id);
    reason[victims] = e->reason;
    victim[victims++] = (int)(y - job);
    shift(y, 0);
}

/* All victims have stopped, and the taker has not started yet. */
static void note_start(const struct host_event *e)
{
    struct job *x = job_of(e->job);
    for (int i = 0; i < victims; i++) {
        struct job *y = &job[victim[i]];
        ck_assert_msg(y->stopped_for[x - job], SAY "job %" PRIu64 " was not for %" PRIu64, world,
                      y->id, x->id);
        if (x->queue == y->queue)
            continue;
        if (reason[i] == GANG_REASON_PREEMPT)
            ck_assert_msg(protector(x, y) < 0, SAY "job %" PRIu64 " was guaranteed", world, y->id);
        else if (outranks(y, x))
            ck_assert_msg(used[branch_of(x, y)] + x->size <= guarantee[branch_of(x, y)],
                          SAY "job %" PRIu64 " outranks %" PRIu64, world, y->id, x->id);
    }
    victims = 0;
    shift(x, x->size);
}

static void during(struct host *from, const struct host_event *e)
{
    bool stops = strcmp(e->op, "preempt") == 0 || strcmp(e->op, "taken") == 0;
    (void)from;
    if (stops && e->because != GANG_ID_NONE)
        note_stop(e);
    else if (strcmp(e->op, "granted") == 0)
        note_start(e);
}

/* ---- the world ------------------------------------------------------------------------------- */

static void draw_ranks(struct gang_queue_spec *q)
{
    static const char *const class_name[] = {NULL, "1", "2", "3"};
    static const char *const all[] = {NULL, "2,3", "3", NULL}, *const next[] = {NULL, "2", "3",
                                                                                NULL};
    bool far = alone || one_in(2), classes = one_in(2);
    lists[1] = far ? 1 << 2 | 1 << 3 : 1 << 2;
    lists[2] = 1 << 3;
    for (int i = 0; i < QUEUES; i++) {
        q[i].across = (int32_t)(one_in(2) ? GANG_ACROSS_LOWER : below(4));
        if (alone)
            q[i].across = i == T ? GANG_ACROSS_LOWER : GANG_ACROSS_DEFAULT;
        if (q[i].across == GANG_ACROSS_LOWER_CAPPED)
            q[i].across_max_priority = below(4) - 1;
        int up = parent[i];
        bool own = q[i].across != GANG_ACROSS_DEFAULT;
        across[i] = own ? q[i].across : up < 0 ? GANG_ACROSS_NEVER : across[up];
        cap[i] = !own                                      ? (up < 0 ? INT64_MAX : cap[up])
                 : q[i].across == GANG_ACROSS_LOWER_CAPPED ? q[i].across_max_priority
                                                           : INT64_MAX;
    }
    for (int i = 0; i < QUEUES; i++) {
        int own = !classes ? 0 : alone ? 1 + (int)below(3) : (int)below(4);
        class_of[i] = own ? own : parent[i] < 0 ? 0 : class_of[parent[i]];
        if (i == A && classes)
            own = class_of[i] = 3; /* each class that is listed is there */
        if (i == B && classes)
            own = class_of[i] = 2;
        q[i].preempt_class = class_name[own];
        q[i].preempts = far ? all[own] : next[own];
    }
}

static void open_world(int64_t gpus)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_queue_spec q[QUEUES];
    struct gang_quota g[QUEUES], l[QUEUES];
    opts.preempt_cooldown_ns = alone ? -1 : 0;
    opts.max_moves = -1; /* moves are no stops for the books */
    host_open_with(&h, 1 + index_below(3), (size_t)gpus, &opts, &ops);
    for (int i = 0; i < QUEUES; i++)
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
    draw_ranks(q);
    for (int i = QUEUES; i-- > 0;) {
        bool leaf = i != T && i != P, bounded = one_in(4);
        guarantee[i] = leaf     ? (!alone && one_in(2) ? below(4) : 0)
                       : i == P ? guarantee[A] + guarantee[B]
                                : guarantee[P] + guarantee[C];
        limit[i] = bounded ? guarantee[i] + 1 + below(4) : INT64_MAX;
        g[i] = (struct gang_quota){"gpu", guarantee[i] * 1000, NULL, 0, 0};
        l[i] = (struct gang_quota){"gpu", bounded ? limit[i] * 1000 : 0, NULL, 0, 0};
        q[i].name = name[i];
        q[i].parent = parent[i] < 0 ? NULL : name[parent[i]];
        q[i].guaranteed = &g[i];
        q[i].guaranteed_count = 1;
        q[i].limit = &l[i];
        q[i].limit_count = bounded;
        q[i].within = one_in(2) ? GANG_PREEMPT_LOWER : GANG_PREEMPT_NEVER;
        q[i].reclaim = one_in(2) ? GANG_PREEMPT_ANY : GANG_PREEMPT_NEVER;
        used[i] = 0;
    }
    host_queues(&h, q, QUEUES);
    jobs = victims = 0;
    h.during = during;
    host_follow_decisions(&h);
}

static void submit(void)
{
    struct job *x = &job[jobs];
    memset(x, 0, sizeof(*x));
    x->queue = leaves[below(alone ? 3 : 4)]; /* d has no rank */
    x->size = 1 + below(4);
    x->priority = below(6) - 1;
    struct gang_job_spec *spec = host_spec(name[x->queue], x->size, x->size, x->priority);
    if (gang_job_submit(h.s, spec, &x->id, NULL) == GANG_OK) /* some could never start */
        jobs++;
}

static void end_one(void)
{
    struct job *x = &job[below(jobs)];
    if (x->runs == 0)
        return;
    shift(x, 0);
    host_end_job(&h, x->id);
}

static void live(int i)
{
    world = test_seed() + (uint64_t)i;
    chance_state = world;
    open_world(2 + below(5));
    for (int step = 0; step < STEPS; step++) {
        for (int k = 0; k < jobs; k++) /* an event from outside */
            memset(job[k].stopped_for, 0, sizeof(job[k].stopped_for));
        if (jobs < JOBS && one_in(2))
            submit();
        else if (jobs > 0)
            end_one();
        size_t before;
        int runs = 0;
        do { /* until the scheduler is done */
            before = h.count;
            host_run(&h, HOST_SECOND);
            ck_assert_msg(victims == 0, SAY "jobs stopped, and none started", world);
            ck_assert_msg(++runs < 30, SAY "no end of stops", world);
        } while (h.count != before);
        h.count = 0;
    }
    host_close(&h);
}

START_TEST(stops_keep_to_ranks_and_guarantees)
{
    alone = false;
    live(_i);
}
END_TEST

/* The proof at the head of sched/preempt/rank.c. */
START_TEST(ranks_alone_end_without_a_cooldown)
{
    alone = true;
    live(_i);
}
END_TEST

int main(void)
{
    const char *worlds = getenv("GANG_TEST_WORLDS");
    Suite *suite = suite_create("rank_random");
    TCase *tests = tcase_create("rank_random");
    int count = worlds ? atoi(worlds) : 200;
    tcase_add_loop_test(tests, stops_keep_to_ranks_and_guarantees, 0, count);
    tcase_add_loop_test(tests, ranks_alone_end_without_a_cooldown, 0, count);
    tcase_set_timeout(tests, 120);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
