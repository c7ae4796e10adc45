/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaim with victims that are scattered over the nodes. A queue is guaranteed half of a cluster
 * that is full of jobs of one GPU, of random age and priority. Its gang of whole nodes starts, and
 * as few jobs are preempted as a model of the test's own counts.
 *   GANG_SEED           begins with this world
 *   GANG_TEST_SECONDS   how long, 2 by default */
#include <time.h>

#include "chance.h"
#include "sched/host.h"

enum { NODE_GPUS = 8, MAX_NODES = 16, MAX_RACK = 4, SLOTS = MAX_NODES * NODE_GPUS };

static struct host h;

static struct {
    uint64_t seed;
    int64_t nodes, rack; /* nodes of a rack */
    bool models;         /* nodes with an odd number have another model, and do not suit the gang */
    bool same;           /* the gang needs one rack */
    int64_t wanted;      /* nodes */
    int64_t own[MAX_NODES];
} world;

/* ---- the model ------------------------------------------------------------------------------- */

/* Nodes that suit the gang, of those from `first` to `end` - 1: reclaim takes no job of the queue
 * itself. */
static int64_t suitable(int64_t first, int64_t end)
{
    int64_t count = 0;
    for (int64_t n = first; n < end && n < world.nodes; n++)
        count += world.own[n] == 0 && !(world.models && n % 2);
    return count;
}

/* The largest gang that there are nodes for. */
static int64_t largest_gang(void)
{
    int64_t most = 0, length = world.same ? world.rack : world.nodes;
    for (int64_t n = 0; n < world.nodes; n += length)
        most = suitable(n, n + length) > most ? suitable(n, n + length) : most;
    return most;
}

/* All GPUs are used: each that the gang gets takes one job. */
static int64_t fewest_victims(void)
{
    return world.wanted * NODE_GPUS;
}

/* ---- the library ----------------------------------------------------------------------------- */

static void add_nodes(void)
{
    static const char *const levels[] = {"rack"};
    memset(&h, 0, sizeof(h));
    stage_open(&h.stage, levels, 1);
    for (int64_t n = 0; n < world.nodes; n++) {
        char name[16], rack[16];
        struct gang_label place = {"rack", rack};
        struct box box = {.name = name,
                          .cpu = 64000,
                          .memory = 64 * GIB,
                          .gpus = NODE_GPUS,
                          .model = n % 2 ? "other" : "wanted",
                          .place = &place,
                          .place_count = 1};
        snprintf(name, sizeof(name), "n%d", (int)n);
        snprintf(rack, sizeof(rack), "r%d", (int)(n / world.rack));
        stage_add(&h.stage, &box);
    }
}

static void set_queues(int64_t guarantee)
{
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota a = {"gpu", guarantee * 1000, NULL, 0, 0};
    struct gang_quota b = {"gpu", (world.nodes * NODE_GPUS - guarantee) * 1000, NULL, 0, 0};
    q[0].name = "a";
    q[0].guaranteed = &a;
    q[0].guaranteed_count = 1;
    q[1].name = "b";
    q[1].guaranteed = &b;
    q[1].guaranteed_count = one_in(2) ? 1 : 0;
    host_queues(&h, q, 2);
}

/* Jobs of one GPU that run on all nodes, in any order of age. */
static void fill(void)
{
    int64_t slot[SLOTS], count = world.nodes * NODE_GPUS;
    for (int64_t i = 0; i < count; i++)
        slot[i] = i;
    for (int64_t i = count; i > 1; i--) {
        int64_t j = below(i), swap = slot[i - 1];
        slot[i - 1] = slot[j];
        slot[j] = swap;
    }
    bool priorities = one_in(2);
    for (int64_t i = 0; i < count; i++) {
        char node[16];
        int64_t n = slot[i] / NODE_GPUS;
        bool own = slot[i] % NODE_GPUS < world.own[n];
        struct gang_running_spec at = {.node = node};
        struct gang_job_spec *spec = host_spec(own ? "a" : "b", 1, 1, priorities ? below(3) : 0);
        snprintf(node, sizeof(node), "n%d", (int)n);
        spec->running = 1;
        spec->places = &at;
        spec->place_count = 1;
        host_submit(&h, spec);
    }
    host_run(&h, 0);
    ck_assert_int_eq(host_gpus_free(&h), 0);
}

static gang_job_id submit_gang(void)
{
    static const char *const model = "wanted";
    struct gang_group_spec group = group_of(world.wanted, 1000, NODE_GPUS * 1000);
    struct gang_job_spec spec = host_job(&group, 1);
    spec.queue = "a";
    group.gpu_models = world.models ? &model : NULL;
    group.gpu_model_count = world.models;
    spec.request.same = world.same ? "rack" : NULL;
    return host_submit(&h, &spec);
}

/* The queue's own jobs take some of its guarantee, on few nodes. */
static int64_t draw_own(void)
{
    int64_t own = one_in(2) ? below(NODE_GPUS) : 0, left = own;
    memset(world.own, 0, sizeof(world.own));
    for (; left > 0; left--) {
        int64_t n = below(world.nodes);
        while (world.own[n] == NODE_GPUS)
            n = below(world.nodes);
        world.own[n]++;
    }
    return own;
}

static bool draw_world(int64_t *guarantee)
{
    world.nodes = 2 + below(MAX_NODES - 1);
    world.models = one_in(3);
    world.same = one_in(3);
    world.rack = 2 + below(MAX_RACK - 1);
    int64_t own = draw_own(), half = world.nodes * NODE_GPUS / 2;
    int64_t most = (half - own) / NODE_GPUS;
    most = most < largest_gang() ? most : largest_gang();
    if (most == 0)
        return false;
    world.wanted = one_in(3) ? 1 : one_in(2) ? most : 1 + below(most);
    *guarantee = one_in(2) ? half : own + world.wanted * NODE_GPUS; /* no more than it needs */
    return true;
}

/* A victim of a higher priority may preempt others of its own queue: those do not count. */
static int64_t victims_of(gang_job_id taker)
{
    int64_t count = 0;
    for (size_t i = 0; i < h.count; i++)
        count += strcmp(h.event[i].op, "preempt") == 0 && h.event[i].because == taker;
    return count;
}

static bool live(uint64_t seed)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_error error = GANG_ERROR_INIT;
    int64_t guarantee;
    world.seed = chance_state = seed;
    if (!draw_world(&guarantee))
        return false;
    add_nodes();
    opts.mem = &h.stage.mem.mem;
    EXPECT_RESULT(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, &error), GANG_OK, &error);
    set_queues(guarantee);
    fill();
    gang_job_id id = submit_gang();
    for (int i = 0; i < 3; i++)
        host_run(&h, 1);
    int64_t victims = victims_of(id);
    ck_assert_msg(host_tasks(&h, id) == world.wanted,
                  "GANG_SEED=%" PRIu64 ": the gang of %" PRId64 " of %" PRId64
                  " nodes waits (models %d, same %d)",
                  seed, world.wanted, world.nodes, world.models, world.same);
    ck_assert_msg(victims == fewest_victims(),
                  "GANG_SEED=%" PRIu64 ": %" PRId64 " victims, not %" PRId64, seed, victims,
                  fewest_victims());
    host_close(&h);
    return true;
}

START_TEST(guaranteed_nodes_are_reclaimed_wherever_the_victims_are)
{
    const char *given = getenv("GANG_TEST_SECONDS");
    double seconds = given ? atof(given) : getenv("GANG_TEST_QUICK") ? 1 : 2;
    uint64_t seed = test_seed();
    struct timespec from, now;
    int64_t worlds = 0;
    timespec_get(&from, TIME_UTC);
    do {
        worlds += live(seed++);
        timespec_get(&now, TIME_UTC);
    } while ((double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9 <
             seconds);
    printf("%" PRId64 " worlds\n", worlds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reclaim_random");
    TCase *tests = tcase_create("reclaim_random");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, guaranteed_nodes_are_reclaimed_wherever_the_victims_are);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
