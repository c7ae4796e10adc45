/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs whose minimum several unlike groups can meet. Which tasks start together decides how much
 * the gang takes: limits, guarantees and preemption judge the very tasks that are then placed.
 *
 * The random tests compare with a slow model: every set of tasks that meets the minima, on every
 * distribution over the nodes.
 *   GANG_SEED           begins with this world
 *   GANG_TEST_SECONDS   how long, 2 by default */
#include <time.h>

#include "chance.h"
#include "sched/host.h"

enum { NODES = 3, GROUPS = 3, QUEUES = 3, JOBS = 8, NO_LIMIT = -1, CALM_RUNS = 12 };

static struct host h;

/* Amounts are GPUs. Groups 0 and 1 may form a set with a minimum of its own. */
struct shape {
    int64_t groups, count[GROUPS], min[GROUPS], gpus[GROUPS];
    int64_t set_min, all_min;
};

/* Queue 0 is above 1 and 2. */
static struct {
    uint64_t seed;
    int64_t nodes, gpus[NODES];
    int64_t guarantee[QUEUES], limit[QUEUES];
} world;

static const char *const queue_name[QUEUES] = {"root", "a", "b"};

/* ---- the library ----------------------------------------------------------------------------- */

static void open_world(bool preempts)
{
    struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
    struct gang_host_ops ops = host_table();
    struct gang_error error = GANG_ERROR_INIT;
    memset(&h, 0, sizeof(h));
    stage_open(&h.stage, NULL, 0);
    for (int64_t n = 0; n < world.nodes; n++) {
        char name[16];
        struct box box = {
            .name = name, .cpu = 64000, .memory = 64 * GIB, .gpus = (size_t)world.gpus[n]};
        snprintf(name, sizeof(name), "n%d", (int)n);
        stage_add(&h.stage, &box);
    }
    opts.mem = &h.stage.mem.mem;
    opts.no_preemption = !preempts;
    EXPECT_RESULT(gang_sched_new(h.stage.c, &opts, &ops, &h, &h.s, &error), GANG_OK, &error);
}

static void set_queues(void)
{
    struct gang_queue_spec q[QUEUES];
    struct gang_quota guarantee[QUEUES], limit[QUEUES];
    for (int i = 0; i < QUEUES; i++) {
        q[i] = (struct gang_queue_spec)GANG_QUEUE_SPEC_INIT;
        q[i].name = queue_name[i];
        q[i].parent = i ? queue_name[0] : NULL;
        guarantee[i] = (struct gang_quota){"gpu", world.guarantee[i] * 1000, NULL, 0, 0};
        limit[i] = (struct gang_quota){"gpu", world.limit[i] * 1000, NULL, 0, 0};
        q[i].guaranteed = &guarantee[i];
        q[i].guaranteed_count = 1;
        q[i].limit = &limit[i];
        q[i].limit_count = world.limit[i] != NO_LIMIT;
    }
    host_queues(&h, q, QUEUES);
}

/* GANG_ID_NONE: the library says that it can never run. */
static gang_job_id submit(const struct shape *shape, int queue, int64_t priority,
                          int32_t preemptible)
{
    struct gang_group_spec group[GROUPS];
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    for (int64_t g = 0; g < shape->groups; g++) {
        group[g] = group_of(shape->count[g], 1000, shape->gpus[g] * 1000);
        group[g].min = shape->min[g];
        group[g].group_set = shape->set_min > 0 && g < 2 ? 0 : -1;
    }
    struct gang_job_spec spec = host_job(group, (size_t)shape->groups);
    set.min = shape->set_min;
    spec.request.group_sets = &set;
    spec.request.group_set_count = shape->set_min > 0;
    spec.request.min = shape->all_min;
    spec.queue = queue_name[queue];
    spec.priority = priority;
    spec.preemptible = preemptible;
    gang_job_id id;
    gang_result r = gang_job_submit(h.s, &spec, &id, NULL);
    ck_assert_msg(r == GANG_OK || r == GANG_ENEVER, "GANG_SEED=%" PRIu64 ": %s", world.seed,
                  gang_result_name(r));
    return r == GANG_OK ? id : GANG_ID_NONE;
}

static int32_t count_task(const struct gang_task *task, void *user)
{
    ((int64_t *)user)[task->group]++;
    return 0;
}

/* The GPUs that the job holds; tasks[]: of each group. */
static int64_t gpus_of(gang_job_id id, const struct shape *shape, int64_t tasks[GROUPS])
{
    gang_alloc_id alloc = gang_job_alloc(h.s, id, 0);
    int64_t sum = 0;
    memset(tasks, 0, GROUPS * sizeof(*tasks));
    if (alloc != GANG_ID_NONE)
        MUST(gang_alloc_each(h.stage.c, alloc, count_task, tasks));
    for (int64_t g = 0; g < shape->groups; g++)
        sum += tasks[g] * shape->gpus[g];
    return sum;
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool meets_minima(const struct shape *shape, const int64_t *tasks)
{
    int64_t sum = 0;
    for (int64_t g = 0; g < shape->groups; g++) {
        if (tasks[g] < shape->min[g] || tasks[g] > shape->count[g])
            return false;
        sum += tasks[g];
    }
    return sum == shape->all_min && tasks[0] + tasks[1] >= shape->set_min;
}

/* Do these tasks fit on nodes with so many free GPUs? Every distribution is tried. */
static bool fits(const struct shape *shape, int64_t *tasks, int64_t *unused)
{
    int64_t g = 0;
    while (g < shape->groups && tasks[g] == 0)
        g++;
    if (g == shape->groups)
        return true;
    bool found = false;
    tasks[g]--;
    for (int64_t n = 0; n < world.nodes && !found; n++) {
        if (unused[n] < shape->gpus[g])
            continue;
        unused[n] -= shape->gpus[g];
        found = fits(shape, tasks, unused);
        unused[n] += shape->gpus[g];
    }
    tasks[g]++;
    return found;
}

/* The fewest GPUs of any set of tasks that takes at most `most` and fits beside what is used;
 * -1: there is none. */
static int64_t fewest_gpus(const struct shape *shape, int64_t *unused, int64_t most)
{
    int64_t tasks[GROUPS] = {0}, best = -1;
    for (tasks[0] = 0; tasks[0] <= shape->count[0]; tasks[0]++)
        for (tasks[1] = 0; tasks[1] <= shape->count[1]; tasks[1]++)
            for (tasks[2] = 0; tasks[2] <= (shape->groups > 2 ? shape->count[2] : 0); tasks[2]++) {
                int64_t sum = 0;
                for (int64_t g = 0; g < shape->groups; g++)
                    sum += tasks[g] * shape->gpus[g];
                if (meets_minima(shape, tasks) && sum <= most && (best < 0 || sum < best) &&
                    fits(shape, tasks, unused))
                    best = sum;
            }
    return best;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static struct {
    gang_job_id id;
    struct shape shape;
    int queue;
    int32_t preemptible;
} job[JOBS];
static int64_t jobs;

static void add_job(const struct shape *shape, int queue, int64_t priority, int32_t preemptible)
{
    gang_job_id id = submit(shape, queue, priority, preemptible);
    if (id == GANG_ID_NONE)
        return;
    job[jobs].id = id;
    job[jobs].shape = *shape;
    job[jobs].queue = queue;
    job[jobs++].preemptible = preemptible;
}

static int64_t fixed_of(int queue)
{
    int64_t sum = 0, tasks[GROUPS];
    for (int64_t j = 0; j < jobs; j++)
        if (job[j].preemptible == GANG_NOT_PREEMPTIBLE && (queue == 0 || job[j].queue == queue))
            sum += gpus_of(job[j].id, &job[j].shape, tasks);
    return sum;
}

/* ---- worlds ---------------------------------------------------------------------------------- */

static int64_t all_gpus(void)
{
    int64_t sum = 0;
    for (int64_t n = 0; n < world.nodes; n++)
        sum += world.gpus[n];
    return sum;
}

static void draw_world(void)
{
    world.nodes = 1 + below(NODES);
    for (int64_t n = 0; n < world.nodes; n++)
        world.gpus[n] = 1 + below(4);
    int64_t left = all_gpus();
    for (int q = 0; q < QUEUES; q++)
        world.limit[q] = one_in(2) ? 1 + below(all_gpus()) : NO_LIMIT;
    world.guarantee[0] = left = world.limit[0] == NO_LIMIT ? left : world.limit[0];
    for (int q = 1; q < QUEUES; q++) {
        world.guarantee[q] = below(left + 1);
        if (world.limit[q] != NO_LIMIT && world.guarantee[q] > world.limit[q])
            world.guarantee[q] = world.limit[q];
        left -= world.guarantee[q];
    }
}

static void draw_shape(struct shape *shape)
{
    int64_t minima = 0, tasks = 0, in_set = 0;
    memset(shape, 0, sizeof(*shape));
    shape->groups = 2 + below(GROUPS - 1);
    for (int64_t g = 0; g < shape->groups; g++) {
        shape->count[g] = 1 + below(3);
        shape->min[g] = one_in(2) ? 0 : below(shape->count[g] + 1);
        shape->gpus[g] = 1 + below(3);
        minima += shape->min[g];
        tasks += shape->count[g];
        in_set += g < 2 ? shape->min[g] : 0;
    }
    if (one_in(3)) {
        shape->set_min = in_set + below(shape->count[0] + shape->count[1] - in_set + 1);
        minima += shape->set_min - in_set;
    }
    minima = minima ? minima : 1;
    shape->all_min = minima + below(tasks - minima + 1);
}

static struct shape plain(int64_t tasks, int64_t gpus)
{
    return (struct shape){1, {tasks, 0, 0}, {tasks, 0, 0}, {gpus, 1, 0}, 0, tasks};
}

/* Jobs of one task each, which leave part of the nodes free. */
static void use_some(void)
{
    jobs = 0;
    for (int64_t i = below(4); i > 0; i--) {
        struct shape one = plain(1, 1 + below(2));
        add_job(&one, 1 + (int)below(2), 0, one_in(2) ? GANG_PREEMPTIBLE : GANG_NOT_PREEMPTIBLE);
    }
    host_run(&h, 0);
}

static int64_t used_by(int queue)
{
    return host_queue(&h, queue_name[queue]).used[GANG_KIND_GPU] / 1000;
}

/* What the limits of queue 1 and above leave it. */
static int64_t limits_leave(void)
{
    int64_t most = INT64_MAX;
    for (int q = 0; q < 2; q++)
        if (world.limit[q] != NO_LIMIT && world.limit[q] - used_by(q) < most)
            most = world.limit[q] - used_by(q);
    return most;
}

/* What guarantees leave for a gang of queue 1 that may not be preempted. */
static int64_t guarantees_leave(void)
{
    int64_t most = INT64_MAX;
    for (int q = 0; q < 2; q++) {
        int64_t left = world.guarantee[q] - fixed_of(q);
        most = left < most ? left : most;
    }
    return most;
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool start_world(uint64_t seed)
{
    struct shape shape;
    int64_t unused[NODES], tasks[GROUPS], most, n = 0;
    world.seed = chance_state = seed;
    draw_world();
    open_world(false);
    set_queues();
    use_some();
    draw_shape(&shape);
    bool fixed = one_in(3);
    for (gang_node_id id = gang_node_next(h.stage.c, GANG_ID_NONE); id;
         id = gang_node_next(h.stage.c, id))
        unused[n++] = stage_node(&h.stage, id).gpu_free / 1000;
    most = limits_leave();
    if (fixed && guarantees_leave() < most)
        most = guarantees_leave();
    bool may = fewest_gpus(&shape, unused, most) >= 0;
    gang_job_id id = submit(&shape, 1, 0, fixed ? GANG_NOT_PREEMPTIBLE : GANG_PREEMPTIBLE);
    host_run(&h, 1);
    int64_t used = id == GANG_ID_NONE ? 0 : gpus_of(id, &shape, tasks);
    ck_assert_msg((used > 0) == may, "GANG_SEED=%" PRIu64 ": it %s, and %s start", seed,
                  used ? "runs" : "waits", may ? "can" : "cannot");
    ck_assert_msg(used <= most, "GANG_SEED=%" PRIu64 ": %" PRId64 " of at most %" PRId64, seed,
                  used, most);
    host_close(&h);
    return may;
}

/* ---- reclaiming ------------------------------------------------------------------------------ */

/* Queue 2, without a guarantee, fills one node with tasks of one GPU. Queue 1 is inside its
 * guarantee with some set of its gang's tasks, or it is not. */
static bool reclaim_world(uint64_t seed)
{
    struct shape shape;
    int64_t tasks[GROUPS];
    world.seed = chance_state = seed;
    world.nodes = 1;
    world.gpus[0] = 2 + below(7);
    for (int q = 0; q < QUEUES; q++)
        world.limit[q] = NO_LIMIT;
    world.guarantee[0] = world.gpus[0];
    world.guarantee[1] = below(world.gpus[0] + 1);
    world.guarantee[2] = 0;
    world.limit[1] = one_in(2) ? world.guarantee[1] : NO_LIMIT;
    open_world(true);
    set_queues();
    for (int64_t g = 0; g < world.gpus[0]; g++)
        host_gang(&h, queue_name[2], 1, 0);
    host_run(&h, 0);
    draw_shape(&shape);
    for (int64_t g = 0; g < shape.groups; g++) /* queue 1 takes no more than the gang */
        shape.count[g] = shape.count[g] < shape.all_min ? shape.count[g] : shape.all_min;
    int64_t unused[NODES] = {world.gpus[0]};
    int64_t fewest = fewest_gpus(&shape, unused, world.guarantee[1]);
    gang_job_id id = submit(&shape, 1, 0, one_in(2) ? GANG_NOT_PREEMPTIBLE : GANG_PREEMPTIBLE);
    host_run(&h, 1);
    int64_t used = id == GANG_ID_NONE ? 0 : gpus_of(id, &shape, tasks);
    int64_t victims = 0;
    for (size_t i = 0; i < h.count; i++)
        victims += strcmp(h.event[i].op, "preempt") == 0;
    if (fewest > 0) /* without a guarantee for it, the fair share may still allow it */
        ck_assert_msg(used >= fewest, "GANG_SEED=%" PRIu64 ": it waits, %" PRId64 " would do", seed,
                      fewest);
    ck_assert_msg(used == victims, "GANG_SEED=%" PRIu64 ": %" PRId64 " victims for %" PRId64, seed,
                  victims, used);
    host_close(&h);
    return fewest > 0;
}

/* ---- whole lives ----------------------------------------------------------------------------- */

/* Limits hold at each queue, and what may not be preempted is inside guarantees. */
static void check_amounts(void)
{
    int64_t used[QUEUES] = {0}, tasks[GROUPS];
    for (int64_t j = 0; j < jobs; j++) {
        int64_t gpus = gpus_of(job[j].id, &job[j].shape, tasks), some = 0;
        for (int64_t g = 0; g < job[j].shape.groups; g++)
            some += tasks[g];
        ck_assert_msg(some == 0 || some >= job[j].shape.all_min,
                      "GANG_SEED=%" PRIu64 ": below the minimum", world.seed);
        used[0] += gpus;
        used[job[j].queue] += gpus;
    }
    for (int q = 0; q < QUEUES; q++) {
        ck_assert_msg(world.limit[q] == NO_LIMIT || used[q] <= world.limit[q],
                      "GANG_SEED=%" PRIu64 ": queue %s uses %" PRId64 " of %" PRId64, world.seed,
                      queue_name[q], used[q], world.limit[q]);
        ck_assert_msg(fixed_of(q) <= world.guarantee[q],
                      "GANG_SEED=%" PRIu64 ": queue %s has %" PRId64
                      " that may not be preempted, and is guaranteed %" PRId64,
                      world.seed, queue_name[q], fixed_of(q), world.guarantee[q]);
    }
}

/* Runs until nothing happens any more. */
static void settle(void)
{
    for (int runs = 0; runs < CALM_RUNS; runs++) {
        size_t before = h.count;
        host_run(&h, 1);
        check_amounts();
        if (h.count == before)
            return;
        h.count = 0;
    }
    ck_abort_msg("GANG_SEED=%" PRIu64 ": it never comes to rest", world.seed);
}

static bool live_world(uint64_t seed)
{
    world.seed = chance_state = seed;
    draw_world();
    open_world(true);
    set_queues();
    jobs = 0;
    for (int64_t i = 1 + below(JOBS); i > 0; i--) {
        struct shape shape = plain(1 + below(4), 1 + below(2));
        if (!one_in(3))
            draw_shape(&shape);
        int queue = 1 + (int)below(2);
        int32_t preemptible = one_in(4) ? GANG_NOT_PREEMPTIBLE : GANG_PREEMPTIBLE;
        add_job(&shape, queue, below(2), preemptible);
        if (one_in(2))
            settle();
    }
    settle();
    host_close(&h);
    return true;
}

static void repeat(bool (*one)(uint64_t seed))
{
    const char *given = getenv("GANG_TEST_SECONDS");
    double seconds = given ? atof(given) : getenv("GANG_TEST_QUICK") ? 0.5 : 2;
    uint64_t seed = test_seed();
    struct timespec from, now;
    enum { FEWEST = 50 };
    int64_t worlds = 0, some = 0;
    bool goes_on;
    timespec_get(&from, TIME_UTC);
    do {
        some += one(seed++);
        worlds++;
        timespec_get(&now, TIME_UTC);
        double spent =
            (double)(now.tv_sec - from.tv_sec) + (double)(now.tv_nsec - from.tv_nsec) / 1e9;
        goes_on = spent < seconds || (some == 0 && worlds < FEWEST); /* where a world is slow */
    } while (goes_on);
    printf("%" PRId64 " worlds, %" PRId64 " of interest\n", worlds, some);
    ck_assert_int_gt(some, 0);
}

START_TEST(gang_starts_with_whatever_tasks_limits_and_nodes_allow)
{
    repeat(start_world);
}
END_TEST

START_TEST(gang_reclaims_for_the_fewest_gpus_that_meet_its_minimum)
{
    repeat(reclaim_world);
}
END_TEST

START_TEST(limits_and_guarantees_hold_and_all_comes_to_rest)
{
    repeat(live_world);
}
END_TEST

/* ---- single cases ---------------------------------------------------------------------------- */

static void set_world(int64_t nodes, int64_t gpus, int64_t guarantee_a, int64_t limit_a)
{
    world.nodes = nodes;
    for (int64_t n = 0; n < nodes; n++)
        world.gpus[n] = gpus;
    world.guarantee[0] = nodes * gpus;
    world.guarantee[1] = guarantee_a;
    world.guarantee[2] = 0;
    world.limit[0] = world.limit[2] = NO_LIMIT;
    world.limit[1] = limit_a;
    open_world(true);
    set_queues();
}

START_TEST(one_task_of_each_group_is_not_counted_as_two_of_the_first)
{
    struct shape shape = {2, {2, 1, 0}, {1, 1, 0}, {2, 1, 0}, 0, 2};
    int64_t tasks[GROUPS];
    set_world(1, 3, 3, 3);
    gang_job_id id = submit(&shape, 1, 0, GANG_PREEMPTIBLE);
    host_run(&h, 0);
    ck_assert_int_eq(gpus_of(id, &shape, tasks), 3);
    host_close(&h);
}
END_TEST

START_TEST(gang_that_reclaims_keeps_to_its_limit)
{
    struct shape shape = {2, {2, 1, 0}, {0, 0, 0}, {1, 2, 0}, 0, 2};
    int64_t tasks[GROUPS];
    set_world(2, 2, 2, 2);
    host_submit(&h, host_spec("b", 4, 4, 0));
    host_run(&h, 0);
    gang_job_id id = submit(&shape, 1, 0, GANG_NOT_PREEMPTIBLE);
    host_run(&h, 1);
    ck_assert_int_eq(gpus_of(id, &shape, tasks), 2);
    host_close(&h);
}
END_TEST

/* The larger choice would bring the queue above its share: the two would displace each other. */
START_TEST(two_gangs_do_not_displace_each_other)
{
    struct shape shape = {2, {2, 1, 0}, {0, 0, 0}, {1, 2, 0}, 0, 2};
    struct gang_queue_spec q[2] = {GANG_QUEUE_SPEC_INIT, GANG_QUEUE_SPEC_INIT};
    struct gang_quota a = {"gpu", 2000, NULL, 0, 0}, b = {"gpu", 3000, NULL, 0, 0};
    int64_t tasks[GROUPS];
    world.nodes = 1;
    world.gpus[0] = 6;
    open_world(true);
    q[0].name = "a";
    q[0].guaranteed = &a;
    q[1].name = "b";
    q[1].guaranteed = &b;
    q[0].guaranteed_count = q[1].guaranteed_count = 1;
    q[1].weight = 3;
    host_queues(&h, q, 2);
    gang_job_id x = submit(&shape, 1, 0, GANG_PREEMPTIBLE);
    gang_job_id y = host_submit(&h, host_spec("b", 4, 4, 0));
    for (int i = 0; i < 6; i++)
        host_run(&h, 1);
    ck_assert_int_eq(gpus_of(x, &shape, tasks), 2);
    ck_assert_int_eq(host_tasks(&h, y), 4);
    ck_assert_int_le(host_ops(&h, x, "preempt") + host_ops(&h, y, "preempt"), 1);
    host_close(&h);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unlike_groups");
    TCase *tests = tcase_create("unlike_groups");
    tcase_set_timeout(tests, 0);
    tcase_add_test(tests, one_task_of_each_group_is_not_counted_as_two_of_the_first);
    tcase_add_test(tests, gang_that_reclaims_keeps_to_its_limit);
    tcase_add_test(tests, two_gangs_do_not_displace_each_other);
    tcase_add_test(tests, gang_starts_with_whatever_tasks_limits_and_nodes_allow);
    tcase_add_test(tests, gang_reclaims_for_the_fewest_gpus_that_meet_its_minimum);
    tcase_add_test(tests, limits_and_guarantees_hold_and_all_comes_to_rest);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
