/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: nodes that are taken when no other fits, or not at all: partitions of other modes
 * than shared, nodes with GPUs for work without, GPU models in the order of preference. */
#include <gangsched/gangsched.h>

#include "base/atomic.h"
#include "core/commit/commit.h"
#include "support.h"

static struct stage s;
static const char *const levels[] = {"rack"};
static const int32_t policies[] = {GANG_POLICY_PACK, GANG_POLICY_SPREAD, GANG_POLICY_FIRST};
enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

static void open_stage(void)
{
    stage_open(&s, levels, 1);
}

/* Reclaims only when a test asks for it: the hooks of one thread stand for other threads, and a
 * reclaim would wait for these. */
static void open_unreclaimed(void)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    fail_mem_init(&s.mem, 0);
    opts.levels = levels;
    opts.level_count = 1;
    opts.mem = &s.mem.mem;
    opts.manual_recycle = 1;
    MUST(gang_cluster_new(&opts, &s.c, NULL));
    MUST(gang_worker_new(s.c, &s.w));
}

static void close_stage(void)
{
    stage_close(&s);
}

/* Where the tasks of a group go under every policy, on the cluster as it is, in a rack, and on a
 * snapshot; each time the same, and given back. want[i] of them on node i. */
static void goes_to(struct gang_group_spec *g, int32_t gpu_nodes, const gang_node_id *node,
                    const size_t *want, size_t nodes)
{
    struct gang_request_spec spec = request_of(g, 1);
    spec.gpu_nodes = gpu_nodes;
    for (int i = 0; i < POLICIES * 2; i++) {
        spec.policy = policies[i / 2];
        g->same = i % 2 ? "rack" : NULL;
        gang_alloc_id id = stage_alloc(&s, &spec);
        for (size_t k = 0; k < nodes; k++)
            ck_assert_msg(stage_tasks_on(&s, id, node[k]) == want[k],
                          "%s%s: %zu on node %zu, not %zu", gang_policy_name(spec.policy),
                          i % 2 ? " in the rack" : "", stage_tasks_on(&s, id, node[k]), k, want[k]);
        MUST(gang_alloc_free(s.w, id));
    }
    g->same = NULL;
}

/* The same on a snapshot: what is free there after. */
static void goes_to_then(const struct gang_group_spec *g, int32_t gpu_nodes,
                         const gang_node_id *node, const size_t *want, size_t nodes)
{
    gang_snapshot *snap;
    MUST(gang_snapshot_new(s.c, &snap));
    for (int i = 0; i < POLICIES; i++) {
        struct gang_request_spec spec = request_of(g, 1);
        spec.gpu_nodes = gpu_nodes;
        spec.policy = policies[i];
        gang_request *request = stage_request(&s, &spec);
        MUST(gang_snapshot_take(s.w, snap));
        MUST(gang_snapshot_place(s.w, snap, request, NULL));
        for (size_t k = 0; k < nodes; k++) {
            struct gang_node_info then, now = stage_node(&s, node[k]);
            then.size = sizeof(then);
            MUST(gang_snapshot_node_get(snap, node[k], &then));
            ck_assert_int_eq(now.cpu_free - then.cpu_free, (int64_t)want[k] * g->cpu_milli);
        }
        gang_request_free(request);
    }
    gang_snapshot_free(snap);
}

static gang_node_id add(const char *name, int64_t cpu, size_t gpus, const char *partition)
{
    static const struct gang_label rack = {"rack", "r1"};
    struct box box = {.name = name,
                      .cpu = cpu,
                      .gpus = gpus,
                      .model = gpus ? "V100" : NULL,
                      .partitions = &partition,
                      .partition_count = partition != NULL,
                      .place = &rack,
                      .place_count = 1};
    return stage_add(&s, &box);
}

static gang_result result_of(const struct gang_group_spec *g, struct gang_error *error)
{
    struct outcome o = stage_try_group(&s, g);
    if (o.result == GANG_OK)
        MUST(gang_alloc_free(s.w, o.id));
    if (error)
        *error = o.error;
    return o.result;
}

/* ---- exclusive partitions ---- */

START_TEST(an_exclusive_partition_takes_only_jobs_that_name_it)
{
    gang_node_id node[2] = {add("own", 4000, 0, "own"), add("all", 4000, 0, NULL)};
    struct gang_group_spec g = group_of(3, 1000, 0), named = g;
    struct gang_error error;
    named.partition = "own";
    MUST(gang_partition_set(s.w, "own", GANG_PARTITION_EXCLUSIVE));
    goes_to(&g, 0, node, (const size_t[]){0, 3}, 2);
    goes_to_then(&g, 0, node, (const size_t[]){0, 3}, 2);
    goes_to(&named, 0, node, (const size_t[]){3, 0}, 2);
    goes_to_then(&named, 0, node, (const size_t[]){3, 0}, 2);
    g.count = g.min = 5;
    EXPECT_RESULT(result_of(&g, &error), GANG_ENEVER, &error);
    ck_assert_int_eq(error.group, 0);
    MUST(gang_partition_set(s.w, "own", GANG_PARTITION_SHARED));
    ck_assert_int_eq(result_of(&g, NULL), GANG_OK);
}
END_TEST

START_TEST(a_refusal_by_an_exclusive_partition_says_so)
{
    add("own", 4000, 0, "own");
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_error error;
    MUST(gang_partition_set(s.w, "own", GANG_PARTITION_EXCLUSIVE));
    EXPECT_RESULT(result_of(&g, &error), GANG_ENEVER, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_PARTITION);
    ck_assert_ptr_nonnull(strstr(error.text, "name their partition"));
    g.partition = "other";
    EXPECT_RESULT(result_of(&g, &error), GANG_ENEVER, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_PARTITION);
}
END_TEST

START_TEST(a_node_in_several_partitions_takes_jobs_that_name_an_exclusive_one)
{
    struct box box = {
        .name = "n", .cpu = 4000, .partitions = LIST(const char *, "free", "x", "lent", "y")};
    stage_add(&s, &box);
    struct gang_group_spec g = group_of(1, 1000, 0);
    MUST(gang_partition_set(s.w, "x", GANG_PARTITION_EXCLUSIVE));
    MUST(gang_partition_set(s.w, "y", GANG_PARTITION_EXCLUSIVE));
    MUST(gang_partition_set(s.w, "lent", GANG_PARTITION_LENDING));
    static const char *const names[] = {"x", "y", "free", "lent", NULL};
    for (int i = 0; i < 5; i++) {
        g.partition = names[i];
        ck_assert_int_eq(result_of(&g, NULL), i < 2 ? GANG_OK : GANG_ENEVER);
    }
}
END_TEST

START_TEST(the_mode_may_change_while_work_runs)
{
    add("own", 4000, 0, "own");
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.min = 1;
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    int64_t granted;
    MUST(gang_alloc(s.w, request, &id, NULL));
    MUST(gang_partition_set(s.w, "own", GANG_PARTITION_EXCLUSIVE));
    stage_check(&s);
    ck_assert_uint_eq(stage_tasks_on(&s, id, GANG_ID_NONE), 1);
    ck_assert_int_eq(gang_alloc_grow(s.w, id, -1, 1, &granted, NULL), GANG_ENEVER);
    ck_assert_int_eq(gang_request_fits_ever(s.w, request, NULL), GANG_ENEVER);
    ck_assert_int_eq(gang_request_fits_ever(s.w, request, NULL), GANG_ENEVER); /* remembered, and */
    MUST(gang_partition_set(s.w, "own", GANG_PARTITION_LENDING));
    MUST(gang_request_fits_ever(s.w, request, NULL)); /* forgotten */
    MUST(gang_alloc_grow(s.w, id, -1, 2, &granted, NULL));
    ck_assert_int_eq(granted, 2);
    gang_request_free(request);
}
END_TEST

START_TEST(an_adopted_task_may_be_anywhere)
{
    gang_node_id node = add("own", 4000, 1, "own");
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_alloc_id id;
    spec.gpu_nodes = GANG_GPU_NODES_EXCLUDE;
    gang_request *request = stage_request(&s, &spec);
    MUST(gang_partition_set(s.w, "own", GANG_PARTITION_EXCLUSIVE));
    place.node = node;
    MUST(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL));
    gang_request_free(request);
}
END_TEST

/* ---- lending partitions ---- */

START_TEST(lent_nodes_are_taken_when_no_other_node_has_capacity)
{
    gang_node_id node[3] = {add("lent", 4000, 0, "own"), add("all", 2000, 0, NULL),
                            add("big", 8000, 0, NULL)};
    struct gang_group_spec g = group_of(10, 1000, 0), named = group_of(4, 1000, 0);
    named.partition = "own";
    MUST(gang_partition_set(s.w, "own", GANG_PARTITION_LENDING));
    goes_to(&g, 0, node, (const size_t[]){0, 2, 8}, 3);
    goes_to_then(&g, 0, node, (const size_t[]){0, 2, 8}, 3);
    g.count = g.min = 12;
    goes_to(&g, 0, node, (const size_t[]){2, 2, 8}, 3);
    goes_to_then(&g, 0, node, (const size_t[]){2, 2, 8}, 3);
    goes_to(&named, 0, node, (const size_t[]){4, 0, 0}, 3);
    g.count = g.min = 15;
    ck_assert_int_eq(result_of(&g, NULL), GANG_ENEVER);
}
END_TEST

/* Of work that may use a node by another of its partitions, too, it is lent. */
START_TEST(a_node_is_lent_to_jobs_of_its_other_partitions)
{
    struct box box = {.name = "both", .cpu = 2000, .partitions = LIST(const char *, "a", "b")};
    gang_node_id node[2] = {stage_add(&s, &box), add("b", 8000, 0, "b")};
    struct gang_group_spec g = group_of(2, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    MUST(gang_partition_set(s.w, "a", GANG_PARTITION_LENDING));
    g.partition = "b";
    gang_alloc_id id = stage_alloc(&s, &spec); /* not the fuller one */
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 2);
    g.partition = "a";
    id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 2);
}
END_TEST

START_TEST(growth_takes_lent_nodes_last)
{
    gang_node_id lent = add("lent", 1000, 0, "own"), all = add("all", 3000, 0, NULL);
    struct gang_group_spec g = group_of(4, 1000, 0);
    MUST(gang_partition_set(s.w, "own", GANG_PARTITION_LENDING));
    g.min = 1;
    g.prefer = "rack";
    gang_alloc_id id = stage_alloc_group(&s, &g);
    for (size_t i = 1; i <= 4; i++) {
        ck_assert_uint_eq(stage_tasks_on(&s, id, all), i < 4 ? i : 3);
        ck_assert_uint_eq(stage_tasks_on(&s, id, lent), i == 4);
        if (i < 4)
            MUST(gang_alloc_grow(s.w, id, 0, 1, NULL, NULL));
    }
}
END_TEST

/* ---- nodes with GPUs for work without ---- */

START_TEST(work_without_gpus_takes_nodes_with_gpus_last)
{
    gang_node_id node[3] = {add("gpu", 4000, 4, NULL), add("cpu", 2000, 0, NULL),
                            add("cpu2", 16000, 0, NULL)};
    struct gang_group_spec g = group_of(6, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_error error = GANG_ERROR_INIT;
    gang_alloc_id id;
    g.count = g.min = 18;
    goes_to(&g, GANG_GPU_NODES_AVOID, node, (const size_t[]){0, 2, 16}, 3);
    goes_to_then(&g, GANG_GPU_NODES_AVOID, node, (const size_t[]){0, 2, 16}, 3);
    goes_to(&g, GANG_GPU_NODES_EXCLUDE, node, (const size_t[]){0, 2, 16}, 3);
    g.count = g.min = 20;
    goes_to(&g, GANG_GPU_NODES_AVOID, node, (const size_t[]){2, 2, 16}, 3);
    goes_to_then(&g, GANG_GPU_NODES_AVOID, node, (const size_t[]){2, 2, 16}, 3);
    spec.gpu_nodes = GANG_GPU_NODES_EXCLUDE;
    gang_request *request = stage_request(&s, &spec);
    EXPECT_RESULT(gang_alloc(s.w, request, &id, &error), GANG_ENEVER, &error);
    gang_request_free(request);
    g.count = g.min = 5;
    spec.gpu_nodes = GANG_GPU_NODES_ALLOW;
    spec.policy = GANG_POLICY_FIRST;
    id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 4);
}
END_TEST

START_TEST(a_refusal_to_spare_gpu_nodes_says_so)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    add("gpu", 4000, 4, NULL);
    spec.gpu_nodes = GANG_GPU_NODES_EXCLUDE;
    for (int in_rack = 0; in_rack < 2; in_rack++) {
        g.prefer = in_rack ? "rack" : NULL;
        struct outcome o = stage_try(&s, &spec);
        EXPECT_OUTCOME(o, GANG_ENEVER);
        ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_GPU_NODES);
        ck_assert_int_eq(o.error.kind, -1);
    }
    g.gpu_milli = 500; /* no guard against work with GPUs */
    stage_alloc(&s, &spec);
}
END_TEST

START_TEST(gpu_nodes_are_spared_group_by_group)
{
    gang_node_id node[2] = {add("gpu", 4000, 4, NULL), add("cpu", 4000, 0, NULL)};
    struct gang_group_spec g[2] = {group_of(2, 1000, 0), group_of(2, 1000, 1000)};
    struct gang_request_spec spec = request_of(g, 2);
    for (spec.gpu_nodes = 0; spec.gpu_nodes <= GANG_GPU_NODES_EXCLUDE; spec.gpu_nodes += 2) {
        gang_alloc_id id = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 2);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 2);
        MUST(gang_alloc_free(s.w, id));
    }
}
END_TEST

/* The rack of the GPU nodes is the tighter one. */
START_TEST(a_domain_without_gpus_comes_before_a_tighter_one_with)
{
    struct box box = {
        .name = "gpu", .cpu = 4000, .gpus = 1, .place = LIST(struct gang_label, {"rack", "r1"})};
    stage_add(&s, &box);
    box =
        (struct box){.name = "cpu", .cpu = 16000, .place = LIST(struct gang_label, {"rack", "r2"})};
    gang_node_id cpu = stage_add(&s, &box);
    struct gang_group_spec g = group_of(4, 1000, 0);
    for (int soft = 0; soft < 2; soft++) {
        g.same = soft ? NULL : "rack";
        g.prefer = soft ? "rack" : NULL;
        ck_assert_uint_eq(stage_tasks_on(&s, stage_alloc_group(&s, &g), cpu), 4);
    }
    g.count = g.min = 9;                            /* 8 are left, and 4 */
    ck_assert_int_eq(result_of(&g, NULL), GANG_OK); /* if it is soft */
    g.prefer = NULL;
    g.same = "rack";
    ck_assert_int_eq(result_of(&g, NULL), GANG_ENOFIT);
}
END_TEST

/* Lent nodes without GPUs come after own ones with. */
START_TEST(avoiding_lent_nodes_outweighs_sparing_gpu_nodes)
{
    gang_node_id node[4] = {add("lent-gpu", 1000, 1, "own"), add("lent-cpu", 1000, 0, "own"),
                            add("gpu", 1000, 1, NULL), add("cpu", 1000, 0, NULL)};
    static const size_t want[][4] = {{0, 0, 0, 1}, {0, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1}};
    MUST(gang_partition_set(s.w, "own", GANG_PARTITION_LENDING));
    for (int64_t tasks = 1; tasks <= 4; tasks++) {
        struct gang_group_spec g = group_of(tasks, 1000, 0);
        goes_to(&g, GANG_GPU_NODES_AVOID, node, want[tasks - 1], 4);
        goes_to_then(&g, GANG_GPU_NODES_AVOID, node, want[tasks - 1], 4);
    }
}
END_TEST

/* ---- models in the order of preference ---- */

static gang_node_id add_models(const char *name, const char *const *models, size_t count)
{
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    static const struct gang_label rack = {"rack", "r1"};
    struct gang_gpu_spec gpu[8];
    gang_node_id id;
    for (size_t i = 0; i < count; i++) {
        gpu[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
        gpu[i].model = models[i];
        gpu[i].memory_bytes = 16 * GIB;
    }
    spec.name = name;
    spec.cpu_milli = 64000;
    spec.gpus = gpu;
    spec.gpu_count = count;
    spec.topology = &rack;
    spec.topology_count = 1;
    MUST(gang_node_add(s.w, &spec, &id, NULL));
    return id;
}

static const char *const ranked[] = {"H100", "A100", "T4"};

static struct gang_group_spec ranked_group(int64_t count, int64_t gpu_milli)
{
    struct gang_group_spec g = group_of(count, 1000, gpu_milli);
    g.gpu_models = ranked;
    g.gpu_model_count = 3;
    g.models_ranked = 1;
    return g;
}

START_TEST(ranked_models_are_taken_in_their_order)
{
    static const char *const t4[] = {"T4", "T4"}, *const a100[] = {"A100", "A100"},
                             *const h100[] = {"H100", "H100"}, *const v100[] = {"V100", "V100"};
    gang_node_id node[4] = {add_models("t", t4, 2), add_models("v", v100, 2),
                            add_models("a", a100, 2), add_models("h", h100, 2)};
    static const size_t want[][4] = {{0, 0, 0, 2}, {0, 0, 1, 2}, {0, 0, 2, 2}, {1, 0, 2, 2}};
    for (int64_t tasks = 2; tasks <= 5; tasks++) {
        struct gang_group_spec g = ranked_group(tasks, 1000);
        goes_to(&g, 0, node, want[tasks - 2], 4);
        goes_to_then(&g, 0, node, want[tasks - 2], 4);
        g.gpu_milli = 600;
        goes_to(&g, 0, node, want[tasks - 2], 4);
    }
    struct gang_group_spec g = ranked_group(7, 1000);
    ck_assert_int_eq(result_of(&g, NULL), GANG_ENEVER);
    g = ranked_group(6, 1000);
    stage_alloc_group(&s, &g);
    g = ranked_group(1, 1000);
    ck_assert_int_eq(result_of(&g, NULL), GANG_ENOFIT);
}
END_TEST

/* Nodes with several models: the device is what counts. */
START_TEST(a_node_with_several_models_gives_the_ranked_ones_first)
{
    static const char *const mixed[] = {"T4", "H100", "T4"}, *const a100[] = {"A100"};
    gang_node_id node[2] = {add_models("mixed", mixed, 3), add_models("a", a100, 1)};
    struct gang_group_spec g = ranked_group(1, 1000);
    static const uint64_t gpus[] = {2, 1, 1, 4}; /* H100, A100, then T4s */
    static const int where[] = {0, 1, 0, 0};
    gang_alloc_id id[4];
    for (int i = 0; i < 4; i++) {
        id[i] = stage_alloc_group(&s, &g);
        const struct task_list *list = stage_tasks(&s, id[i]);
        ck_assert_uint_eq(list->task[0].node, node[where[i]]);
        ck_assert_uint_eq(list->task[0].gpus, gpus[i]);
    }
    ck_assert_int_eq(result_of(&g, NULL), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, id[0]));
    MUST(gang_alloc_free(s.w, id[3]));
    g.gpu_milli = 2000; /* both are needed: whatever they are */
    ck_assert_int_eq(result_of(&g, NULL), GANG_OK);
    g.models_ranked = 0;
    ck_assert_int_eq(result_of(&g, NULL), GANG_OK);
    g = ranked_group(1, 500); /* the same for a share */
    g.gpu_devices = 2;
    ck_assert_int_eq(result_of(&g, NULL), GANG_OK);
}
END_TEST

/* Shares of two devices each: an order that takes pairs of one model first would fit two
 * of the three tasks. */
START_TEST(ranked_shares_of_several_devices_find_all_capacity)
{
    static const char *const mixed[] = {"H100", "H100", "A100"};
    add_models("mixed", mixed, 3);
    struct gang_group_spec g = ranked_group(3, 500);
    g.gpu_devices = 2;
    ck_assert_int_eq(result_of(&g, NULL), GANG_OK);
}
END_TEST

START_TEST(a_rank_without_models_or_gpus_says_nothing)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    gang_node_id gpu = add("gpu", 2000, 1, NULL), cpu = add("cpu", 2000, 0, NULL);
    g.models_ranked = 1;
    ck_assert_uint_eq(stage_tasks_on(&s, stage_alloc_group(&s, &g), cpu), 1);
    g.gpu_milli = 1000;
    ck_assert_uint_eq(stage_tasks_on(&s, stage_alloc_group(&s, &g), gpu), 1);
}
END_TEST

/* ---- a refusal is true while modes change ---- */

enum { HOMES = 3, MOVES = HOMES - 1 };
static const char *const homes[HOMES] = {"a", "b", "c"};
static gang_worker *other;
static gang_request *taker[HOMES];
static gang_alloc_id taken[HOMES];
static int moves, steps_left[MOVES]; /* those made; steps until the next */
static bool moving;

/* The seeker always fits: in one partition, then also in the next, then there alone.
 * Nothing is given back, so that only the modes can tell. */
static void move_capacity(enum gang__step step)
{
    if (moving || (step != GANG__STEP_FIND && step != GANG__STEP_SUM) || moves == MOVES ||
        --steps_left[moves] != 0)
        return;
    int now = moves++;
    moving = true;
    MUST(gang_partition_set(other, homes[now + 1], GANG_PARTITION_SHARED));
    MUST(gang_partition_set(other, homes[now], GANG_PARTITION_EXCLUSIVE));
    MUST(gang_alloc(other, taker[now], &taken[now], NULL));
    moving = false;
}

/* One call while the free capacity moves at some of its steps. */
static void seek(gang_request *request, int first, int second)
{
    gang_alloc_id id;
    for (int i = 0; i < HOMES; i++) {
        MUST(gang_partition_set(s.w, homes[i],
                                i ? GANG_PARTITION_EXCLUSIVE : GANG_PARTITION_SHARED));
        taken[i] = GANG_ID_NONE;
    }
    moves = 0;
    steps_left[0] = first;
    steps_left[1] = second;
    atomic_store(&gang__hook_now, move_capacity);
    gang_result r = gang_alloc(s.w, request, &id, NULL);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert_msg(r == GANG_OK, "at steps %d, %d: %s", first, second, gang_result_name(r));
    MUST(gang_alloc_free(s.w, id));
    for (int i = 0; i < HOMES; i++)
        if (taken[i] != GANG_ID_NONE)
            MUST(gang_alloc_free(s.w, taken[i]));
    MUST(gang_cluster_recycle(s.c));
}

START_TEST(a_refusal_is_true_while_modes_change)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    for (int i = 0; i < HOMES; i++) {
        add(homes[i], 1000, 0, homes[i]);
        g.partition = homes[i];
        taker[i] = stage_request(&s, &spec);
    }
    MUST(gang_worker_new(s.c, &other));
    int both = 0;
    for (int first = 1; first < 8; first++) {
        for (int second = 1; second < 10; second++) {
            seek(request, first, second);
            both += moves == MOVES;
        }
    }
    ck_assert_int_gt(both, 0);
    gang_request_free(request);
    for (int i = 0; i < HOMES; i++)
        gang_request_free(taker[i]);
    gang_worker_free(other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tiers");
    TCase *tests = tcase_create("tiers");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, an_exclusive_partition_takes_only_jobs_that_name_it);
    tcase_add_test(tests, a_refusal_by_an_exclusive_partition_says_so);
    tcase_add_test(tests, a_node_in_several_partitions_takes_jobs_that_name_an_exclusive_one);
    tcase_add_test(tests, the_mode_may_change_while_work_runs);
    tcase_add_test(tests, an_adopted_task_may_be_anywhere);
    tcase_add_test(tests, lent_nodes_are_taken_when_no_other_node_has_capacity);
    tcase_add_test(tests, a_node_is_lent_to_jobs_of_its_other_partitions);
    tcase_add_test(tests, growth_takes_lent_nodes_last);
    tcase_add_test(tests, work_without_gpus_takes_nodes_with_gpus_last);
    tcase_add_test(tests, a_refusal_to_spare_gpu_nodes_says_so);
    tcase_add_test(tests, gpu_nodes_are_spared_group_by_group);
    tcase_add_test(tests, a_domain_without_gpus_comes_before_a_tighter_one_with);
    tcase_add_test(tests, avoiding_lent_nodes_outweighs_sparing_gpu_nodes);
    tcase_add_test(tests, ranked_models_are_taken_in_their_order);
    tcase_add_test(tests, a_node_with_several_models_gives_the_ranked_ones_first);
    tcase_add_test(tests, ranked_shares_of_several_devices_find_all_capacity);
    tcase_add_test(tests, a_rank_without_models_or_gpus_says_nothing);
    suite_add_tcase(suite, tests);
    tests = tcase_create("refusals");
    tcase_add_checked_fixture(tests, open_unreclaimed, close_stage);
    tcase_add_test(tests, a_refusal_is_true_while_modes_change);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
