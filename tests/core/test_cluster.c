/* SPDX-License-Identifier: Apache-2.0 */
/* core.h: the cluster as a whole. */
#include <gangsched/gangsched.h>

#include "core/nodes/nodes.h"
#include "place/state/records.h"
#include "support.h"

static struct stage s;

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
}

static void close_stage(void)
{
    stage_close(&s);
}

/* ---- making ---------------------------------------------------------------------------------- */

START_TEST(a_cluster_is_made_with_all_defaults)
{
    gang_cluster *c = NULL;
    MUST(gang_cluster_new(NULL, &c, NULL));
    ck_assert_ptr_nonnull(c);
    ck_assert_int_eq(gang_cluster_level_count(c), 0);
    ck_assert_ptr_null(gang_cluster_level_name(c, 0));
    ck_assert_int_eq(gang_node_count(c), 0);
    ck_assert_uint_eq(gang_node_next(c, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_uint_eq(gang_alloc_next(c, GANG_ID_NONE), GANG_ID_NONE);
    MUST(gang_cluster_check(c, NULL));
    gang_cluster_free(c);
}
END_TEST

START_TEST(freeing_no_cluster_is_allowed)
{
    gang_cluster_free(NULL);
}
END_TEST

START_TEST(a_cluster_needs_a_place_to_be_put)
{
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_cluster_new(NULL, NULL, &error), GANG_EINVAL, &error);
}
END_TEST

START_TEST(levels_keep_their_order_and_are_copied)
{
    char zone[] = "zone", rack[] = "rack";
    const char *const levels[] = {zone, rack};
    gang_cluster *c;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    opts.levels = levels;
    opts.level_count = 2;
    MUST(gang_cluster_new(&opts, &c, NULL));
    zone[0] = rack[0] = 'x';
    ck_assert_int_eq(gang_cluster_level_count(c), 2);
    ck_assert_str_eq(gang_cluster_level_name(c, 0), "zone");
    ck_assert_str_eq(gang_cluster_level_name(c, 1), "rack");
    ck_assert_ptr_null(gang_cluster_level_name(c, 2));
    ck_assert_ptr_null(gang_cluster_level_name(c, -1));
    ck_assert_ptr_null(gang_cluster_level_name(c, INT32_MAX));
    gang_cluster_free(c);
}
END_TEST

START_TEST(sixteen_levels_are_allowed_and_seventeen_are_not)
{
    char name[GANG_MAX_LEVELS + 1][8];
    const char *levels[GANG_MAX_LEVELS + 1];
    gang_cluster *c;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    for (int i = 0; i <= GANG_MAX_LEVELS; i++) {
        snprintf(name[i], sizeof(name[i]), "l%02d", i % 100);
        levels[i] = name[i];
    }
    opts.levels = levels;
    opts.level_count = GANG_MAX_LEVELS;
    MUST(gang_cluster_new(&opts, &c, NULL));
    ck_assert_int_eq(gang_cluster_level_count(c), GANG_MAX_LEVELS);
    ck_assert_str_eq(gang_cluster_level_name(c, 15), "l15");
    gang_cluster_free(c);
    opts.level_count = GANG_MAX_LEVELS + 1;
    EXPECT_ERROR(gang_cluster_new(&opts, &c, &error), GANG_ELIMIT, &error, "levels", NULL);
    ck_assert_ptr_null(c);
}
END_TEST

static char long_name[GANG_MAX_NAME + 2]; /* one byte too long */

struct bad_opts {
    const char *levels[3];
    size_t level_count;
    int64_t max_nodes;
    int32_t max_workers;
    int32_t manual_recycle;
    gang_result code;
    const char *path;
};

static const struct bad_opts bad_opts[] = {
    {{"rack", "zone", "rack"}, 3, 0, 0, 0, GANG_EINVAL, "levels[2]"},
    {{"rack", "", "zone"}, 3, 0, 0, 0, GANG_EINVAL, "levels[1]"},
    {{NULL, "rack", "zone"}, 3, 0, 0, 0, GANG_EINVAL, "levels[0]"},
    {{"rack", long_name, ""}, 2, 0, 0, 0, GANG_EINVAL, "levels[1]"},
    {{NULL}, 0, -1, 0, 0, GANG_ERANGE, "max_nodes"},
    {{NULL}, 0, 1048576, 0, 0, GANG_ERANGE, "max_nodes"},
    {{NULL}, 0, 0, -1, 0, GANG_ERANGE, "max_workers"},
    {{NULL}, 0, 0, 2048, 0, GANG_ERANGE, "max_workers"},
    {{NULL}, 0, 0, 0, 2, GANG_EINVAL, "manual_recycle"},
    {{NULL}, 0, 0, 0, -1, GANG_EINVAL, "manual_recycle"},
};
enum { BAD_OPTS = sizeof(bad_opts) / sizeof(bad_opts[0]) };

START_TEST(bad_options_are_refused_with_their_path)
{
    const struct bad_opts *bad = &bad_opts[_i];
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c = (gang_cluster *)&opts;
    memset(long_name, 'x', GANG_MAX_NAME + 1);
    opts.levels = bad->levels;
    opts.level_count = bad->level_count;
    opts.max_nodes = bad->max_nodes;
    opts.max_workers = bad->max_workers;
    opts.manual_recycle = bad->manual_recycle;
    EXPECT_ERROR(gang_cluster_new(&opts, &c, &error), bad->code, &error, bad->path, NULL);
    ck_assert_str_ne(error.text, "");
    ck_assert_ptr_null(c);
}
END_TEST

START_TEST(a_count_of_levels_without_levels_is_refused)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *c;
    opts.level_count = 1;
    ck_assert_int_eq(gang_cluster_new(&opts, &c, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(the_limits_themselves_are_allowed)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *c;
    opts.max_nodes = 1048575;
    opts.max_workers = 2047;
    MUST(gang_cluster_new(&opts, &c, NULL));
    gang_cluster_free(c);
    opts.max_nodes = opts.max_workers = 1;
    MUST(gang_cluster_new(&opts, &c, NULL));
    gang_cluster_free(c);
}
END_TEST

START_TEST(options_follow_the_size_rule)
{
    struct {
        struct gang_cluster_opts known;
        char more[32];
    } opts;
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c;
    memset(&opts, 0, sizeof(opts));
    opts.known.size = sizeof(opts);
    MUST(gang_cluster_new(&opts.known, &c, NULL));
    gang_cluster_free(c);
    opts.more[31] = 1;
    EXPECT_RESULT(gang_cluster_new(&opts.known, &c, &error), GANG_E2BIG, &error);
    ck_assert_ptr_null(c);
    opts.known.size = sizeof(opts.known) - 1;
    EXPECT_ERROR(gang_cluster_new(&opts.known, &c, &error), GANG_EINVAL, &error, "size", NULL);
    opts.known.size = 0;
    EXPECT_RESULT(gang_cluster_new(&opts.known, &c, &error), GANG_EINVAL, &error);
    opts.known.size = SIZE_MAX;
    EXPECT_RESULT(gang_cluster_new(&opts.known, &c, &error), GANG_EINVAL, &error);
    ck_assert_ptr_null(c);
}
END_TEST

START_TEST(no_more_nodes_than_max_nodes)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    static struct box_arrays arrays;
    struct box box = {.name = "n1"};
    gang_cluster *c;
    gang_worker *w;
    gang_node_id first, id = 1;
    opts.max_nodes = 2;
    MUST(gang_cluster_new(&opts, &c, NULL));
    MUST(gang_worker_new(c, &w));
    struct gang_node_spec spec = box_spec(&box, &arrays);
    MUST(gang_node_add(w, &spec, &first, NULL));
    spec.name = "n2";
    MUST(gang_node_add(w, &spec, NULL, NULL));
    spec.name = "n3";
    EXPECT_RESULT(gang_node_add(w, &spec, &id, &error), GANG_ELIMIT, &error);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    ck_assert_int_eq(gang_node_count(c), 2);
    ck_assert_int_eq(gang_node_find(c, "n3", &id), GANG_ENOENT);
    MUST(gang_node_remove(w, first));
    MUST(
        gang_node_add(w, &spec, &id, NULL)); /* the slot is free again, without a call to reclaim */
    gang_cluster_free(c);
}
END_TEST

START_TEST(workers_allocations_and_nodes_end_with_the_cluster)
{
    struct stage own;
    gang_worker *other;
    stage_open(&own, NULL, 0);
    MUST(gang_worker_new(own.c, &other));
    struct box box = {.name = "n1", .cpu = 4000, .memory = GIB, .gpus = 4};
    gang_node_id id = stage_add(&own, &box);
    struct gang_group_spec g = group_of(2, 1000, 1000);
    stage_alloc_group(&own, &g);
    MUST(gang_node_remove(own.w, id)); /* still held */
    box.name = "n2";
    stage_add(&own, &box);
    gang_cluster_free(own.c);
    ck_assert_int_eq(own.mem.live, 0);
}
END_TEST

START_TEST(questions_about_no_cluster_are_answered)
{
    struct gang_error error = GANG_ERROR_INIT;
    ck_assert_int_eq(gang_cluster_level_count(NULL), 0);
    ck_assert_ptr_null(gang_cluster_level_name(NULL, 0));
    ck_assert_int_eq(gang_cluster_recycle(NULL), GANG_EINVAL);
    EXPECT_RESULT(gang_cluster_check(NULL, &error), GANG_EINVAL, &error);
    ck_assert_int_eq(gang_node_count(NULL), 0);
    ck_assert_uint_eq(gang_node_next(NULL, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_uint_eq(gang_alloc_next(NULL, GANG_ID_NONE), GANG_ID_NONE);
}
END_TEST

/* ---- reclaim --------------------------------------------------------------------------------- */

START_TEST(reclaim_gives_back_the_memory_of_removed_nodes)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct stage own;
    struct box box = {.name = "n1", .cpu = 1000, .cores = 1, .gpus = 8};
    fail_mem_init(&own.mem, 0);
    opts.mem = &own.mem.mem;
    opts.manual_recycle = 1;
    MUST(gang_cluster_new(&opts, &own.c, NULL));
    MUST(gang_worker_new(own.c, &own.w));
    MUST(gang_node_remove(own.w, stage_add(&own, &box)));
    MUST(gang_cluster_recycle(own.c));
    long live = own.mem.live;
    for (int i = 0; i < 100; i++)
        MUST(gang_node_remove(own.w, stage_add(&own, &box)));
    ck_assert_int_gt(own.mem.live, live);
    MUST(gang_cluster_recycle(own.c));
    ck_assert_int_le(own.mem.live, live + 1); /* more chunks of one growing list at most */
    stage_close(&own);
}
END_TEST

START_TEST(without_manual_reclaim_memory_stays_bounded)
{
    struct box box = {.name = "n1", .cpu = 1000, .cores = 1, .gpus = 8};
    for (int i = 0; i < 100; i++)
        MUST(gang_node_remove(s.w, stage_add(&s, &box)));
    long live = s.mem.live;
    for (int i = 0; i < 1000; i++)
        MUST(gang_node_remove(s.w, stage_add(&s, &box)));
    ck_assert_int_le(s.mem.live, live + 200);
}
END_TEST

START_TEST(reclaim_leaves_what_is_held)
{
    struct box box = {.name = "n1", .cpu = 4000};
    gang_node_id id = stage_add(&s, &box);
    struct gang_group_spec g = group_of(1, 1000, 0);
    gang_alloc_id held = stage_alloc_group(&s, &g);
    MUST(gang_node_remove(s.w, id));
    MUST(gang_cluster_recycle(s.c));
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_int_eq(info.state, GANG_NODE_REMOVED);
    ck_assert_int_eq(info.cpu_free, 3000);
    MUST(gang_alloc_free(s.w, held));
    MUST(gang_cluster_recycle(s.c));
    info.size = sizeof(info);
    ck_assert_int_eq(gang_node_get(s.c, id, &info), GANG_ESTALE);
}
END_TEST

/* ---- the audit ------------------------------------------------------------------------------- */

static gang__a64 *word_of(uint32_t slot, unsigned i)
{
    struct gang__words words = gang__words_of(&s.c->commit, slot);
    return gang__word_in(&words, i);
}

static struct gang_error audit(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_cluster_check(s.c, &error), GANG_EINVAL, &error);
    ck_assert_int_eq(gang_cluster_check(s.c, NULL), GANG_EINVAL);
    ck_assert_str_ne(error.text, "");
    return error;
}

/* Each word of a node, and back: the audit must see one unit too many or too few in any of them. */
START_TEST(the_audit_sees_a_wrong_word)
{
    struct box box = {.name = "n1",
                      .cpu = 44000,
                      .memory = GIB,
                      .gpus = 6,
                      .cores = 44,
                      .amounts = LIST(struct gang_amount, {"nic", 4})};
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    gang_node_id id = stage_add(&s, &box);
    struct gang_group_spec g = group_of(2, 3000, 2000);
    g.memory_bytes = MIB;
    stage_alloc_group(&s, &g);
    stage_check(&s);
    uint32_t slot = (uint32_t)id;
    struct gang__chunk *chunk = gang__chunk_of(&s.c->commit, slot);
    unsigned words = gang__word_count(gang__layout_at(chunk, slot));
    ck_assert_uint_eq(words, 2 + 2 + 2 + 1);
    for (unsigned i = 0; i < words; i++) {
        gang__a64 *word = word_of(slot, i);
        uint64_t before = gang__load(word);
        gang__store(word, before ^ 1);
        ck_assert_uint_eq(audit().id, id);
        gang__store(word, before);
        stage_check(&s);
    }
}
END_TEST

/* Both tasks say that core 0 is theirs; core 1 is free. */
START_TEST(the_audit_sees_a_core_that_two_tasks_own)
{
    struct box box = {.name = "n1", .cpu = 4000, .cores = 4};
    gang_node_id id = stage_add(&s, &box);
    struct gang_group_spec g = group_of(1, 1000, 0);
    stage_alloc_group(&s, &g);
    stage_alloc_group(&s, &g);
    stage_check(&s);
    struct gang__alloc *a = gang__alloc_at(s.c, 1);
    uint64_t *last = &a->data[a->used - 1]; /* its cores */
    uint64_t before = *last;
    gang__a64 *word = word_of((uint32_t)id, gang__delta_word(before));
    ck_assert_uint_eq(gang__payload(before), 2);
    ck_assert_uint_eq(gang__payload(gang__load(word)), 4 | 8);
    *last = before ^ 3;
    gang__store(word, gang__load(word) ^ 2);
    ck_assert_uint_eq(audit().id, id);
    *last = before;
    gang__store(word, gang__load(word) ^ 2);
}
END_TEST

START_TEST(the_audit_sees_a_wrong_pool)
{
    int32_t kind;
    struct box box = {.name = "n1", .cpu = 1000};
    MUST(gang_kind_add(s.w, "licence", NULL, GANG_SCOPE_CLUSTER, 5, &kind));
    stage_add(&s, &box);
    struct gang_group_spec g = group_of(1, 1000, 0);
    const struct gang_amount amount = {"licence", 2};
    g.amounts = &amount;
    g.amount_count = 1;
    stage_alloc_group(&s, &g);
    gang__a64 *word = word_of(GANG__POOL, GANG__WORD_SHARES + (unsigned)(kind - GANG_KIND_SITE));
    gang__add_seq(word, 1);
    audit();
    gang__add_seq(word, UINT64_MAX);
}
END_TEST

START_TEST(the_audit_sees_a_node_that_the_index_hides)
{
    struct box box = {.name = "n1", .cpu = 1000, .gpus = 2};
    gang_node_id id = stage_add(&s, &box);
    uint32_t slot = (uint32_t)id;
    struct gang__chunk *chunk = gang__chunk_of(&s.c->commit, slot);
    struct gang__leaf *leaf = gang__load(&chunk->leaf[gang__layout_at(chunk, slot).class_id]);
    int hidden = 0;
    for (unsigned bucket = 0; bucket < GANG__INDEX_ROWS; bucket++) {
        gang__a64 *word = &leaf->bits[slot % GANG__CHUNK / GANG__FAN][bucket];
        uint64_t before = gang__load(word);
        if (!(before >> slot % GANG__FAN & 1))
            continue;
        gang__store(word, before & ~(UINT64_C(1) << slot % GANG__FAN));
        ck_assert_uint_eq(audit().id, id);
        gang__store(word, before);
        hidden++;
    }
    ck_assert_int_eq(hidden, 2); /* once for its GPUs, once for its cores */
    /* Asking for the hidden node repaired the words above it; set them back. */
    MUST(gang_node_set_state(s.w, id, GANG_NODE_DOWN));
    MUST(gang_node_set_state(s.w, id, GANG_NODE_UP));
}
END_TEST

/* ---- from a scenario ------------------------------------------------------------------------- */

struct small_case {
    struct gang_scenario scenario;
    struct gang_node_spec nodes[4];
    struct gang_label place[4][2];
    struct gang_kind_spec kinds[2];
    struct gang_amount nic;
};

static const char *const case_levels[] = {"zone", "rack"};

/* Four nodes, in an order that is not that of their places. */
static void make_case(struct small_case *t)
{
    static const char *const place[4][3] = {
        {"c", "z2", "r1"}, {"b", "z1", "r2"}, {"a", "z1", "r1"}, {"d", "z1", "r2"}};
    memset(t, 0, sizeof(*t));
    t->scenario = (struct gang_scenario)GANG_SCENARIO_INIT;
    t->scenario.levels = case_levels;
    t->scenario.level_count = 2;
    t->scenario.kinds = t->kinds;
    t->scenario.kind_count = 2;
    t->scenario.nodes = t->nodes;
    t->scenario.node_count = 4;
    t->kinds[0] =
        (struct gang_kind_spec){sizeof(t->kinds[0]), "nic", "cards", GANG_SCOPE_NODE, 0, 0};
    t->kinds[1] =
        (struct gang_kind_spec){sizeof(t->kinds[0]), "lic", NULL, GANG_SCOPE_CLUSTER, 0, 7};
    t->nic = (struct gang_amount){"nic", 2};
    for (int i = 0; i < 4; i++) {
        t->place[i][0] = (struct gang_label){"zone", place[i][1]};
        t->place[i][1] = (struct gang_label){"rack", place[i][2]};
        t->nodes[i] = (struct gang_node_spec)GANG_NODE_SPEC_INIT;
        t->nodes[i].name = place[i][0];
        t->nodes[i].cpu_milli = 1000;
        t->nodes[i].topology = t->place[i];
        t->nodes[i].topology_count = 2;
        t->nodes[i].amounts = &t->nic;
        t->nodes[i].amount_count = 1;
    }
}

START_TEST(a_case_becomes_a_cluster_in_topology_order)
{
    struct small_case t;
    struct gang_kind_info kind = GANG_KIND_INFO_INIT;
    struct gang_node_info info;
    char order[8] = "";
    gang_cluster *c;
    make_case(&t);
    MUST(gang_cluster_build(&t.scenario, NULL, &c, NULL));
    ck_assert_int_eq(gang_cluster_level_count(c), 2);
    ck_assert_str_eq(gang_cluster_level_name(c, 1), "rack");
    ck_assert_int_eq(gang_node_count(c), 4);
    for (gang_node_id id = gang_node_next(c, GANG_ID_NONE); id; id = gang_node_next(c, id)) {
        info.size = sizeof(info);
        MUST(gang_node_get(c, id, &info));
        strcat(order, info.name);
        ck_assert_int_eq(info.amount[GANG_KIND_SITE], 2);
    }
    ck_assert_str_eq(order, "abdc"); /* z1/r1, z1/r2 in the order given, z2/r1 */
    MUST(gang_kind_get(c, GANG_KIND_SITE + 1, &kind));
    ck_assert_str_eq(kind.name, "lic");
    ck_assert_int_eq(kind.capacity, 7);
    MUST(gang_kind_get(c, GANG_KIND_SITE, &kind));
    ck_assert_str_eq(kind.unit, "cards");
    gang_cluster_free(c);
}
END_TEST

START_TEST(a_case_gives_partitions_their_modes)
{
    struct small_case t;
    const struct gang_partition_spec partitions[] = {
        {sizeof(partitions[0]), "own", GANG_PARTITION_EXCLUSIVE, 0},
        {sizeof(partitions[0]), "lent", GANG_PARTITION_LENDING, 0}};
    gang_cluster *c;
    int32_t mode;
    make_case(&t);
    t.scenario.partitions = partitions;
    t.scenario.partition_count = 2;
    MUST(gang_cluster_build(&t.scenario, NULL, &c, NULL));
    MUST(gang_partition_get(c, "own", &mode));
    ck_assert_int_eq(mode, GANG_PARTITION_EXCLUSIVE);
    MUST(gang_partition_get(c, "lent", &mode));
    ck_assert_int_eq(mode, GANG_PARTITION_LENDING);
    gang_cluster_free(c);
}
END_TEST

/* The policy of the case, unless the options have one: seen by where a task goes. */
START_TEST(a_case_has_a_policy)
{
    struct gang_node_spec nodes[2] = {GANG_NODE_SPEC_INIT, GANG_NODE_SPEC_INIT};
    struct gang_scenario scenario = GANG_SCENARIO_INIT;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    for (int i = 0; i < 2; i++) {
        nodes[i].name = i ? "large" : "small";
        nodes[i].cpu_milli = i ? 64000 : 1000;
    }
    scenario.nodes = nodes;
    scenario.node_count = 2;
    scenario.policy = GANG_POLICY_SPREAD;
    for (int given = 0; given < 2; given++) {
        opts.policy = given ? GANG_POLICY_PACK : GANG_POLICY_DEFAULT;
        struct stage built = {.c = NULL};
        gang_node_id small, large;
        MUST(gang_cluster_build(&scenario, &opts, &built.c, NULL));
        MUST(gang_worker_new(built.c, &built.w));
        MUST(gang_node_find(built.c, "small", &small));
        MUST(gang_node_find(built.c, "large", &large));
        gang_alloc_id id = stage_alloc(&built, &spec);
        ck_assert_uint_eq(stage_tasks_on(&built, id, given ? small : large), 1);
        gang_cluster_free(built.c);
    }
}
END_TEST

START_TEST(all_workers_are_free_after_building)
{
    struct small_case t;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *c;
    gang_worker *w;
    make_case(&t);
    opts.max_workers = 1;
    MUST(gang_cluster_build(&t.scenario, &opts, &c, NULL));
    MUST(gang_worker_new(c, &w));
    gang_cluster_free(c);
}
END_TEST

START_TEST(an_empty_case_is_an_empty_cluster)
{
    struct gang_scenario scenario = GANG_SCENARIO_INIT;
    gang_cluster *c;
    MUST(gang_cluster_build(&scenario, NULL, &c, NULL));
    ck_assert_int_eq(gang_node_count(c), 0);
    gang_cluster_free(c);
}
END_TEST

static void refused(const struct small_case *t, const struct gang_cluster_opts *opts,
                    gang_result code, const char *path)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_cluster *c = (gang_cluster *)&error;
    EXPECT_RESULT(gang_cluster_build(&t->scenario, opts, &c, &error), code, &error);
    ck_assert_ptr_null(c);
    ck_assert_int_eq(error.code, code);
    ck_assert_str_eq(error.path, path);
}

START_TEST(a_case_that_cannot_be_built_is_refused_with_its_path)
{
    struct small_case t;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    make_case(&t);
    const struct gang_partition_spec wrong = {sizeof(wrong), "p", 3, 0};
    t.scenario.partitions = &wrong;
    t.scenario.partition_count = 1;
    refused(&t, NULL, GANG_EINVAL, "partitions[0]");
    t.scenario.partition_count = 0;
    t.scenario.policy = GANG_POLICY_HOST;
    refused(&t, NULL, GANG_EINVAL, "policy");
    t.scenario.policy = GANG_POLICY_DEFAULT;
    t.nodes[3].name = "b";
    refused(&t, NULL, GANG_EEXIST, "nodes[3].name");
    make_case(&t);
    t.place[2][1].key = "row";
    refused(&t, NULL, GANG_ENOENT, "nodes[2].topology[1].key");
    make_case(&t);
    t.nodes[1].cpu_milli = -1;
    refused(&t, NULL, GANG_ERANGE, "nodes[1].cpu_milli");
    make_case(&t);
    t.kinds[1].name = "nic";
    refused(&t, NULL, GANG_EEXIST, "kinds[1]");
    make_case(&t);
    t.kinds[0].capacity = 1;
    refused(&t, NULL, GANG_ERANGE, "kinds[0]");
    make_case(&t);
    t.scenario.kind_count = 0;
    refused(&t, NULL, GANG_ENOENT, "nodes[2].amounts[0].kind"); /* the first in topology order */
    make_case(&t);
    opts.levels = case_levels;
    opts.level_count = 1;
    refused(&t, &opts, GANG_EINVAL, "levels");
    opts = (struct gang_cluster_opts)GANG_CLUSTER_OPTS_INIT;
    opts.max_nodes = 3;
    refused(&t, &opts, GANG_ELIMIT, "nodes[0]"); /* the last in topology order */
    opts.size--;
    refused(&t, &opts, GANG_EINVAL, "size");
    t.scenario.size = offsetof(struct gang_scenario, arrivals) - 1; /* older than any host */
    refused(&t, NULL, GANG_EINVAL, "size");
}
END_TEST

START_TEST(building_needs_a_case_and_a_place)
{
    struct gang_scenario scenario = GANG_SCENARIO_INIT;
    gang_cluster *c;
    ck_assert_int_eq(gang_cluster_build(NULL, NULL, &c, NULL), GANG_EINVAL);
    ck_assert_ptr_null(c);
    ck_assert_int_eq(gang_cluster_build(&scenario, NULL, NULL, NULL), GANG_EINVAL);
}
END_TEST

START_TEST(what_was_built_is_freed_when_building_fails)
{
    struct small_case t;
    struct fail_mem fail;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *c;
    make_case(&t);
    t.nodes[0].name = "b";
    fail_mem_init(&fail, 0);
    opts.mem = &fail.mem;
    ck_assert_int_eq(gang_cluster_build(&t.scenario, &opts, &c, NULL), GANG_EEXIST);
    ck_assert_int_gt(fail.calls, 0);
    ck_assert_int_eq(fail.live, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cluster");
    TCase *making = tcase_create("making");
    tcase_add_test(making, a_cluster_is_made_with_all_defaults);
    tcase_add_test(making, freeing_no_cluster_is_allowed);
    tcase_add_test(making, a_cluster_needs_a_place_to_be_put);
    tcase_add_test(making, levels_keep_their_order_and_are_copied);
    tcase_add_test(making, sixteen_levels_are_allowed_and_seventeen_are_not);
    tcase_add_loop_test(making, bad_options_are_refused_with_their_path, 0, BAD_OPTS);
    tcase_add_test(making, a_count_of_levels_without_levels_is_refused);
    tcase_add_test(making, the_limits_themselves_are_allowed);
    tcase_add_test(making, options_follow_the_size_rule);
    tcase_add_test(making, no_more_nodes_than_max_nodes);
    tcase_add_test(making, workers_allocations_and_nodes_end_with_the_cluster);
    tcase_add_test(making, questions_about_no_cluster_are_answered);
    suite_add_tcase(suite, making);
    TCase *running = tcase_create("reclaim and audit");
    tcase_add_checked_fixture(running, open_stage, close_stage);
    tcase_add_test(running, reclaim_gives_back_the_memory_of_removed_nodes);
    tcase_add_test(running, without_manual_reclaim_memory_stays_bounded);
    tcase_add_test(running, reclaim_leaves_what_is_held);
    tcase_add_test(running, the_audit_sees_a_wrong_word);
    tcase_add_test(running, the_audit_sees_a_core_that_two_tasks_own);
    tcase_add_test(running, the_audit_sees_a_wrong_pool);
    tcase_add_test(running, the_audit_sees_a_node_that_the_index_hides);
    suite_add_tcase(suite, running);
    TCase *building = tcase_create("building");
    tcase_add_test(building, a_case_becomes_a_cluster_in_topology_order);
    tcase_add_test(building, a_case_gives_partitions_their_modes);
    tcase_add_test(building, a_case_has_a_policy);
    tcase_add_test(building, all_workers_are_free_after_building);
    tcase_add_test(building, an_empty_case_is_an_empty_cluster);
    tcase_add_test(building, a_case_that_cannot_be_built_is_refused_with_its_path);
    tcase_add_test(building, building_needs_a_case_and_a_place);
    tcase_add_test(building, what_was_built_is_freed_when_building_fails);
    suite_add_tcase(suite, building);
    return run_suite(suite);
}
