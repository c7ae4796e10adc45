/* SPDX-License-Identifier: Apache-2.0 */
/* Victims that are taken in batches, beside the simple way, one by one (preempt/batch.c). Each
 * random world lives three times: victims are taken one by one, in batches of a few, and in full
 * batches. All callbacks of the host must be the same, in the same order.
 *   GANG_SEED           begins with this world
 *   GANG_TEST_SECONDS   how long, 2 by default */
#include <time.h>

#include "chance.h"
#include "sched/host.h"
#include "sched/preempt/preempt_in.h"

enum { NODE_GPUS = 8, MOST_NODES = 32, LEAVES = 5, MOST_JOBS = 512 };

static struct host h;
static const char *const leaf[LEAVES] = {"a1", "a2", "b1", "b2", "c"};

static struct {
    gang_job_id job[MOST_JOBS];
    size_t count;
    int64_t nodes, priorities;
    bool elastic, large; /* some of the jobs that run */
} world;

/* What happened in one life. */
static struct {
    struct host_event event[HOST_EVENTS];
    size_t count;
    size_t batches; /* gangs that batches took */
} simple;

/* ---- a world --------------------------------------------------------------------------------- */

static void amount(struct gang_quota *to, const struct gang_quota **quota, size_t *count,
                   int64_t gpus)
{
    *to = (struct gang_quota){"gpu", gpus * 1000, NULL, 0, 0};
    *quota = to;
    *count = 1;
}

static void draw_queues(void)
{
    static const char *const name[] = {"a", "b", "c", "a1", "a2", "b1", "b2"};
    static const char *const parent[] = {NULL, NULL, NULL, "a", "a", "b", "b"};
    enum { QUEUES = sizeof(name) / sizeof(name[0]) };
    struct gang_queue_spec q[QUEUES];
    struct gang_quota guaranteed[QUEUES], limit[QUEUES];
    int64_t gpus = world.nodes * NODE_GPUS;
    bool limits = one_in(3), guarantees = !one_in(4), times = one_in(4), lower = one_in(4);
    for (size_t i = 0; i < QUEUES; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = name[i];
        q[i].parent = parent[i];
        q[i].weight = (double)(1 + below(3));
        if (i == 2 && one_in(2)) /* and then its jobs take much at once */
            amount(&guaranteed[i], &q[i].guaranteed, &q[i].guaranteed_count, gpus / 2);
        else if (guarantees && !one_in(3))
            amount(&guaranteed[i], &q[i].guaranteed, &q[i].guaranteed_count,
                   below(gpus / (parent[i] ? 6 : 3) + 1));
        if (limits && one_in(2))
            amount(&limit[i], &q[i].limit, &q[i].limit_count, gpus / 2 + below(gpus));
        q[i].min_runtime_ns = times && one_in(2) ? 2 : 0;
        q[i].within = one_in(2) ? GANG_PREEMPT_LOWER : GANG_PREEMPT_NEVER;
        q[i].reclaim = lower && one_in(2) ? GANG_PREEMPT_LOWER : GANG_PREEMPT_ANY;
    }
    for (size_t i = 0; i < 2; i++) { /* a parent is guaranteed no less than its children */
        int64_t sum = 0;
        for (size_t k = 3 + 2 * i; k < 5 + 2 * i; k++)
            sum += q[k].guaranteed_count ? guaranteed[k].amount : 0;
        if (q[i].guaranteed_count && guaranteed[i].amount < sum)
            guaranteed[i].amount = sum;
    }
    host_queues(&h, q, QUEUES);
}

/* One that is above a limit of its queue is not submitted. */
static void submit(size_t queue, int64_t count, int64_t gpus, int64_t min)
{
    struct gang_group_spec group = group_of(count, 1000, gpus * 1000);
    struct gang_job_spec spec = host_job(&group, 1);
    group.min = min;
    spec.queue = leaf[queue];
    spec.priority = below(world.priorities);
    gang_job_id id;
    gang_result r = gang_job_submit(h.s, &spec, &id, NULL);
    ck_assert(r == GANG_OK || r == GANG_ENEVER);
    ck_assert_uint_lt(world.count, MOST_JOBS);
    if (r == GANG_OK)
        world.job[world.count++] = id;
}

/* Jobs of one GPU that run on all nodes, in any order of age. */
static void scatter(size_t rich)
{
    int64_t slot[MOST_NODES * NODE_GPUS], count = world.nodes * NODE_GPUS;
    for (int64_t i = 0; i < count; i++)
        slot[i] = i;
    for (int64_t i = count; i > 1; i--) {
        int64_t j = below(i), swap = slot[i - 1];
        slot[i - 1] = slot[j];
        slot[j] = swap;
    }
    for (int64_t i = 0; i < count; i++) {
        char node[16];
        struct gang_running_spec at = {.node = node};
        size_t queue = one_in(6) ? index_below(LEAVES) : rich;
        struct gang_job_spec *spec = host_spec(leaf[queue], 1, 1, below(world.priorities));
        snprintf(node, sizeof(node), "n%d", (int)(slot[i] / NODE_GPUS));
        spec->running = 1;
        spec->places = &at;
        spec->place_count = 1;
        world.job[world.count++] = host_submit(&h, spec);
    }
    host_run(&h, 1);
}

/* Jobs that fill the cluster, in random order, most of them of few queues. */
static void fill(size_t rich)
{
    for (int64_t gpus = world.nodes * NODE_GPUS; gpus > 0 && world.count < MOST_JOBS / 2;) {
        size_t queue = one_in(4) ? index_below(LEAVES) : rich;
        int64_t size = world.large && one_in(8) ? 1 + below(4) : 1;
        int64_t count = world.large && one_in(8) ? 1 + below(world.nodes) : 1;
        submit(queue, count, size, world.elastic && one_in(4) ? 1 + below(count) : count);
        gpus -= size * count;
        if (one_in(16))
            host_run(&h, 1);
    }
    host_run(&h, 1);
}

static void end_some(void)
{
    for (int64_t i = below(4); i > 0; i--) {
        gang_job_id id = world.job[index_below(world.count)];
        if (host_has(&h, id))
            MUST(gang_report_end(h.s, id, 1));
    }
}

/* One life of the world of this seed. Returns how many gangs batches took. */
static size_t live(uint64_t seed, uint32_t most)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_error error = GANG_ERROR_INIT;
    chance_state = seed;
    memset(&world, 0, sizeof(world));
    memset(&h, 0, sizeof(h));
    world.nodes = 2 + below(MOST_NODES - 1);
    world.priorities = one_in(2) ? 1 : 3;
    world.elastic = one_in(3);
    world.large = one_in(2);
    host_open_cluster(&h, (size_t)world.nodes, NODE_GPUS);
    opts.mem = &h.stage.mem.mem;
    opts.max_moves = one_in(2) ? -1 : 0;
    MUST(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, &error));
    ck_assert(gang__preempt_ready(h.s));
    h.s->preempt.victims->batches.most = most;
    draw_queues();
    if (one_in(2))
        scatter(index_below(LEAVES - 1));
    else
        fill(index_below(LEAVES - 1));
    for (int i = 0; i < 6 && world.count + 4 < MOST_JOBS; i++) {
        if (one_in(2))
            submit(index_below(LEAVES), 1 + below(1 + world.nodes / 2), NODE_GPUS, 1);
        else
            submit(index_below(LEAVES), 1 + below(world.nodes * 2), 1, 1);
        int64_t count = 1 + below(1 + world.nodes / 3);
        submit(one_in(2) ? LEAVES - 1 : index_below(LEAVES), count, 1 + below(NODE_GPUS), count);
        host_run(&h, 1 + below(2));
        end_some();
    }
    host_run(&h, 1);
    size_t batched = h.s->preempt.victims->batches.taken;
    host_close(&h);
    return batched;
}

static bool is_same(const struct host_event *x, const struct host_event *y)
{
    return strcmp(x->op, y->op) == 0 && x->job == y->job && x->alloc == y->alloc &&
           x->reason == y->reason && x->task_count == y->task_count && x->because == y->because &&
           x->deadline_ns == y->deadline_ns && x->state == y->state &&
           memcmp(x->tasks, y->tasks, sizeof(x->tasks)) == 0;
}

static void expect_same(uint64_t seed, uint32_t most)
{
    for (size_t i = 0; i < simple.count && i < h.count; i++)
        ck_assert_msg(is_same(&simple.event[i], &h.event[i]),
                      "GANG_SEED=%" PRIu64 ": in batches of %u, callback %zu is %s of job %" PRIu64
                      ", not %s of job %" PRIu64,
                      seed, most, i, h.event[i].op, h.event[i].job, simple.event[i].op,
                      simple.event[i].job);
    ck_assert_msg(simple.count == h.count,
                  "GANG_SEED=%" PRIu64 ": in batches of %u, %zu callbacks, not %zu", seed, most,
                  h.count, simple.count);
}

START_TEST(batches_decide_as_victims_taken_one_by_one)
{
    const char *given = getenv("GANG_TEST_SECONDS");
    double seconds = given ? atof(given) : getenv("GANG_TEST_QUICK") ? 1 : 2;
    uint64_t seed = test_seed();
    struct timespec from, now;
    enum { FEWEST = 50 };
    int64_t worlds = 0, preempted = 0;
    size_t batched = 0;
    bool goes_on;
    timespec_get(&from, TIME_UTC);
    do {
        static const uint32_t sizes[] = {3, GANG__MOST_DRAWN};
        ck_assert_uint_eq(live(seed, 0), 0);
        memcpy(simple.event, h.event, h.count * sizeof(h.event[0]));
        simple.count = h.count;
        for (size_t i = 0; i < h.count; i++)
            preempted += strcmp(h.event[i].op, "preempt") == 0;
        for (size_t i = 0; i < 2; i++) {
            batched += live(seed, sizes[i]);
            expect_same(seed, sizes[i]);
        }
        seed++;
        worlds++;
        timespec_get(&now, TIME_UTC);
        double spent =
            (double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9;
        goes_on = spent < seconds || (batched == 0 && worlds < FEWEST); /* where a world is slow */
    } while (goes_on);
    printf("%" PRId64 " worlds, %" PRId64 " jobs preempted, %zu gangs taken in batches\n", worlds,
           preempted, batched);
    ck_assert_uint_gt(batched, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch");
    TCase *tests = tcase_create("batch");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, batches_decide_as_victims_taken_one_by_one);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
