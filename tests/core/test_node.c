/* SPDX-License-Identifier: Apache-2.0 */
/* core.h: adding, finding, reading, draining and removing nodes. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static const char *const levels[] = {"zone", "rack"};

static void open_stage(void)
{
    stage_open(&s, levels, 2);
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "disk", NULL, GANG_SCOPE_NODE, 0, NULL));
}

static void close_stage(void)
{
    stage_close(&s);
}

/* A machine with something of everything. */
static const struct box full_box = {.name = "n1",
                                    .cpu = 4500, /* less than its cores */
                                    .memory = GIB + 4095,
                                    .gpus = 3,
                                    .model = "V100",
                                    .gpu_memory = 16 * GIB,
                                    .numas = 2,
                                    .cores = 6};

static gang_result node_get(gang_node_id id)
{
    struct gang_node_info info;
    info.size = sizeof(info);
    return gang_node_get(s.c, id, &info);
}

/* ---- adding and reading ---------------------------------------------------------------------- */

START_TEST(an_empty_node_shows_its_capacity)
{
    struct box box = full_box;
    const struct gang_amount amounts[] = {{"disk", 7}, {"nic", 2}};
    box.amounts = amounts;
    box.amount_count = 2;
    gang_node_id id = stage_add(&s, &box);
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_uint_ne(id, GANG_ID_NONE);
    ck_assert_uint_eq(info.size, sizeof(info));
    ck_assert_uint_eq(info.id, id);
    ck_assert_str_eq(info.name, "n1");
    ck_assert_int_eq(info.state, GANG_NODE_UP);
    ck_assert_int_eq(info.gpu_count, 3);
    ck_assert_int_eq(info.core_count, 6);
    ck_assert_int_eq(info.gpus_free, 3);
    ck_assert_uint_eq(info.gpu_mask, 7);
    ck_assert_int_eq(info.cpu_milli, 4500);
    ck_assert_int_eq(info.cpu_free, 4500);
    ck_assert_int_eq(info.memory_bytes, GIB); /* whole pages, rounded down */
    ck_assert_int_eq(info.memory_free, GIB);
    ck_assert_int_eq(info.gpu_free, 3000);
    for (int i = 0; i < GANG_MAX_GPUS; i++)
        ck_assert_int_eq(info.gpu_share_free[i], i < 3 ? 1000 : 0);
    for (int i = 0; i < GANG_MAX_KINDS; i++) {
        int64_t amount = i == GANG_KIND_SITE ? 2 : i == GANG_KIND_SITE + 1 ? 7 : 0;
        ck_assert_int_eq(info.amount[i], amount);
        ck_assert_int_eq(info.amount_free[i], amount);
    }
    ck_assert_int_eq(gang_node_count(s.c), 1);
}
END_TEST

START_TEST(what_is_taken_shows_at_once)
{
    struct box box = full_box;
    const struct gang_amount amounts[] = {{"disk", 7}, {"nic", 2}};
    box.amounts = amounts;
    box.amount_count = 2;
    gang_node_id id = stage_add(&s, &box);
    struct gang_group_spec whole = group_of(1, 1000, 1000), part = group_of(1, 100, 250);
    whole.memory_bytes = 4097; /* two pages */
    whole.amounts = &amounts[1];
    whole.amount_count = 1;
    gang_alloc_id a = stage_alloc_group(&s, &whole), b = stage_alloc_group(&s, &part);
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_int_eq(info.cpu_free, 3400);
    ck_assert_int_eq(info.cpu_milli, 4500);
    ck_assert_int_eq(info.memory_free, GIB - 8192);
    ck_assert_int_eq(info.gpus_free, 1);
    ck_assert_int_eq(info.gpu_free, 1750);
    ck_assert_int_eq(__builtin_popcountll(info.gpu_mask), 1);
    for (int i = 0, whole_ones = 0; i < 3; i++) {
        whole_ones += info.gpu_share_free[i] == 1000;
        ck_assert_int_eq(info.gpu_mask >> i & 1, info.gpu_share_free[i] == 1000);
        ck_assert_int_le(whole_ones, 1);
    }
    ck_assert_int_eq(info.amount_free[GANG_KIND_SITE], 0);
    ck_assert_int_eq(info.amount_free[GANG_KIND_SITE + 1], 7);
    MUST(gang_alloc_free(s.w, a));
    MUST(gang_alloc_free(s.w, b));
    info = stage_node(&s, id);
    ck_assert_int_eq(info.cpu_free, 4500);
    ck_assert_int_eq(info.memory_free, GIB);
    ck_assert_int_eq(info.gpu_free, 3000);
    ck_assert_int_eq(info.amount_free[GANG_KIND_SITE], 2);
}
END_TEST

START_TEST(a_name_is_there_once)
{
    static struct box_arrays arrays;
    struct box box = {.name = "n1"};
    struct gang_error error = GANG_ERROR_INIT;
    gang_node_id first = stage_add(&s, &box), id = 1;
    struct gang_node_spec spec = box_spec(&box, &arrays);
    EXPECT_RESULT(gang_node_add(s.w, &spec, &id, &error), GANG_EEXIST, &error);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    ck_assert_int_eq(error.code, GANG_EEXIST);
    ck_assert_str_eq(error.path, "name");
    ck_assert_int_eq(gang_node_count(s.c), 1);
    MUST(gang_node_find(s.c, "n1", &id));
    ck_assert_uint_eq(id, first);
}
END_TEST

START_TEST(a_node_is_found_by_its_name)
{
    struct box box = {.name = "n1"};
    gang_node_id first = stage_add(&s, &box), id = 1;
    box.name = "n2";
    gang_node_id second = stage_add(&s, &box);
    MUST(gang_node_find(s.c, "n2", &id));
    ck_assert_uint_eq(id, second);
    MUST(gang_node_find(s.c, "n1", &id));
    ck_assert_uint_eq(id, first);
    ck_assert_int_eq(gang_node_find(s.c, "n3", &id), GANG_ENOENT);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    ck_assert_int_eq(gang_node_find(s.c, "", &id), GANG_ENOENT);
    ck_assert_int_eq(gang_node_find(s.c, NULL, &id), GANG_EINVAL);
    ck_assert_int_eq(gang_node_find(NULL, "n1", &id), GANG_EINVAL);
    ck_assert_int_eq(gang_node_find(s.c, "n1", NULL), GANG_EINVAL);
}
END_TEST

START_TEST(a_bad_specification_is_refused_with_its_path)
{
    static struct box_arrays arrays;
    static const struct {
        struct gang_amount amount;
        struct gang_label place;
        int64_t cpu;
        int32_t state;
        gang_result code;
        const char *path;
    } bad[] = {
        {{"tape", 1}, {NULL, NULL}, 0, 0, GANG_ENOENT, "amounts[0].kind"},
        {{"nic", -1}, {NULL, NULL}, 0, 0, GANG_ERANGE, "amounts[0].amount"},
        {{"cpu", 1}, {NULL, NULL}, 0, 0, GANG_EINVAL, "amounts[0].kind"},
        {{"nic", 1}, {"row", "a"}, 0, 0, GANG_ENOENT, "topology[0].key"},
        {{"nic", 1}, {"rack", ""}, 0, 0, GANG_EINVAL, "topology[0].value"},
        {{"nic", 1}, {NULL, NULL}, -1, 0, GANG_ERANGE, "cpu_milli"},
        {{"nic", 1}, {NULL, NULL}, 0, GANG_NODE_REMOVED, GANG_EINVAL, "state"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct gang_error error = GANG_ERROR_INIT;
        struct box box = {.name = "n1",
                          .cpu = bad[i].cpu,
                          .state = bad[i].state,
                          .amounts = &bad[i].amount,
                          .amount_count = 1,
                          .place = &bad[i].place,
                          .place_count = bad[i].place.key ? 1 : 0};
        struct gang_node_spec spec = box_spec(&box, &arrays);
        gang_node_id id = 1;
        EXPECT_ERROR(gang_node_add(s.w, &spec, &id, &error), bad[i].code, &error, bad[i].path,
                     NULL);
        ck_assert_uint_eq(id, GANG_ID_NONE);
        ck_assert_int_eq(gang_node_count(s.c), 0);
        ck_assert_int_eq(gang_node_find(s.c, "n1", &id), GANG_ENOENT);
        ck_assert_uint_eq(gang_node_next(s.c, GANG_ID_NONE), GANG_ID_NONE);
    }
}
END_TEST

START_TEST(adding_needs_a_worker_and_a_specification)
{
    static struct box_arrays arrays;
    struct box box = {.name = "n1"};
    struct gang_node_spec spec = box_spec(&box, &arrays);
    struct gang_error error = GANG_ERROR_INIT;
    gang_node_id id = 1;
    EXPECT_RESULT(gang_node_add(NULL, &spec, &id, &error), GANG_EINVAL, &error);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    ck_assert_int_eq(error.code, GANG_EINVAL);
    id = 1;
    EXPECT_RESULT(gang_node_add(s.w, NULL, &id, &error), GANG_EINVAL, &error);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    spec.size--;
    EXPECT_ERROR(gang_node_add(s.w, &spec, NULL, &error), GANG_EINVAL, &error, "size", NULL);
}
END_TEST

START_TEST(a_specification_is_copied)
{
    static struct box_arrays arrays;
    char name[] = "n1", model[] = "V100", key[] = "zone", value[] = "a";
    struct gang_label label = {key, value};
    struct box box = {.name = name, .gpus = 1, .model = model, .labels = &label, .label_count = 1};
    struct gang_node_spec spec = box_spec(&box, &arrays), *copy;
    gang_node_id id, found;
    MUST(gang_node_add(s.w, &spec, &id, NULL));
    name[0] = model[0] = key[0] = value[0] = 'x';
    memset(&arrays, 0x5a, sizeof(arrays));
    MUST(gang_node_find(s.c, "n1", &found));
    ck_assert_uint_eq(found, id);
    MUST(gang_node_get_spec(s.c, id, &copy));
    ck_assert_str_eq(copy->gpus[0].model, "V100");
    ck_assert_str_eq(copy->labels[0].key, "zone");
    ck_assert_str_eq(copy->labels[0].value, "a");
    gang_node_spec_free(copy);
}
END_TEST

START_TEST(the_specification_comes_back_as_it_was_given)
{
    static struct box_arrays arrays;
    struct box box = full_box;
    const struct gang_label labels[] = {{"os", "linux"}, {"pool", ""}};
    const char *const partitions[] = {"batch", "debug"};
    const struct gang_label place[] = {{"rack", "r1"}, {"zone", "z1"}};
    box.labels = labels;
    box.label_count = 2;
    box.partitions = partitions;
    box.partition_count = 2;
    box.place = place;
    box.place_count = 2;
    box.state = GANG_NODE_DRAINING;
    struct gang_node_spec spec = box_spec(&box, &arrays), *copy;
    gang_node_id id;
    MUST(gang_node_add(s.w, &spec, &id, NULL));
    MUST(gang_node_get_spec(s.c, id, &copy));
    ck_assert_uint_eq(copy->size, sizeof(*copy));
    ck_assert_uint_eq(copy->gpu_size, sizeof(struct gang_gpu_spec));
    ck_assert_uint_eq(copy->core_size, sizeof(struct gang_core_spec));
    ck_assert_str_eq(copy->name, "n1");
    ck_assert_int_eq(copy->cpu_milli, 4500);
    ck_assert_int_eq(copy->memory_bytes, GIB + 4095);
    ck_assert_int_eq(copy->state, GANG_NODE_DRAINING);
    ck_assert_uint_eq(copy->gpu_count, 3);
    ck_assert_int_eq(copy->gpus[2].memory_bytes, 16 * GIB);
    ck_assert_int_eq(copy->gpus[2].numa, 1);
    ck_assert_uint_eq(copy->core_count, 6);
    ck_assert_int_eq(copy->cores[5].os_index, 5);
    ck_assert_uint_eq(copy->numa_count, 2);
    ck_assert_uint_eq(copy->label_count, 2);
    ck_assert_str_eq(copy->labels[1].key, "pool");
    ck_assert_str_eq(copy->labels[1].value, "");
    ck_assert_uint_eq(copy->partition_count, 2);
    ck_assert_str_eq(copy->partitions[1], "debug");
    ck_assert_uint_eq(copy->topology_count, 2);
    ck_assert_str_eq(copy->topology[0].value, "z1"); /* in the order of the levels */
    ck_assert_str_eq(copy->topology[1].key, "rack");
    gang_node_spec_free(copy);
}
END_TEST

START_TEST(reading_follows_the_size_rule)
{
    struct {
        struct gang_node_info known;
        char more[64];
    } longer;
    struct box box = {.name = "n1", .cpu = 1000};
    gang_node_id id = stage_add(&s, &box);
    memset(&longer, 0x5a, sizeof(longer));
    longer.known.size = sizeof(longer);
    MUST(gang_node_get(s.c, id, &longer.known));
    ck_assert_uint_eq(longer.known.size, sizeof(longer));
    ck_assert_int_eq(longer.known.cpu_free, 1000);
    ck_assert_int_eq(longer.more[63], 0);
    const size_t bad[] = {0, sizeof(longer.known) - 1, SIZE_MAX};
    for (size_t i = 0; i < 3; i++) {
        longer.known.size = bad[i];
        ck_assert_int_eq(gang_node_get(s.c, id, &longer.known), GANG_EINVAL);
    }
}
END_TEST

static bool is_stale(gang_node_id id)
{
    struct gang_node_spec *spec = (struct gang_node_spec *)&id;
    static struct box_arrays arrays;
    struct box box = {.name = "other"};
    struct gang_node_spec other = box_spec(&box, &arrays);
    struct gang_error error = GANG_ERROR_INIT;
    bool stale = node_get(id) == GANG_ESTALE;
    ck_assert_int_eq(gang_node_get_spec(s.c, id, &spec), stale ? GANG_ESTALE : GANG_OK);
    if (!stale)
        gang_node_spec_free(spec);
    else
        ck_assert_ptr_null(spec);
    EXPECT_RESULT(gang_node_change(s.w, id, &other, &error), stale ? GANG_ESTALE : GANG_EINVAL,
                  &error);
    if (stale) {
        ck_assert_int_eq(error.code, GANG_ESTALE);
        ck_assert_int_eq(gang_node_set_state(s.w, id, GANG_NODE_UP), GANG_ESTALE);
        ck_assert_int_eq(gang_node_remove(s.w, id), GANG_ESTALE);
    }
    return stale;
}

START_TEST(ids_that_never_were_are_stale)
{
    struct box box = {.name = "n1"};
    gang_node_id id = stage_add(&s, &box);
    ck_assert(!is_stale(id));
    ck_assert(is_stale(GANG_ID_NONE));
    ck_assert(is_stale(id + 1));
    ck_assert(is_stale(id + (UINT64_C(1) << 32)));
    ck_assert(is_stale(id - (UINT64_C(1) << 32)));
    ck_assert(is_stale(UINT64_MAX));
    ck_assert(is_stale(UINT64_C(1) << 32)); /* the slot of the pools */
    ck_assert_int_eq(gang_node_get(NULL, id, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_node_get(s.c, id, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_node_get_spec(s.c, id, NULL), GANG_EINVAL);
    struct gang_node_spec *spec = (struct gang_node_spec *)&box;
    ck_assert_int_eq(gang_node_get_spec(NULL, id, &spec), GANG_EINVAL);
    ck_assert_ptr_null(spec);
}
END_TEST

/* ---- states ---------------------------------------------------------------------------------- */

START_TEST(only_nodes_that_are_up_take_work)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct box box = {.name = "n1", .cpu = 4000, .state = GANG_NODE_DOWN};
    gang_node_id id = stage_add(&s, &box);
    ck_assert_int_eq(stage_node(&s, id).state, GANG_NODE_DOWN);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_node_set_state(s.w, id, GANG_NODE_DRAINING));
    ck_assert_int_eq(stage_node(&s, id).state, GANG_NODE_DRAINING);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_node_set_state(s.w, id, GANG_NODE_UP));
    ck_assert_int_eq(stage_node(&s, id).state, GANG_NODE_UP);
    gang_alloc_id held = stage_alloc_group(&s, &g);
    MUST(gang_node_set_state(s.w, id, GANG_NODE_DOWN));
    ck_assert_uint_eq(stage_tasks_on(&s, held, id), 1); /* what ran there is still recorded */
    ck_assert_int_eq(stage_node(&s, id).cpu_free, 3000);
    MUST(gang_alloc_free(s.w, held));
    ck_assert_int_eq(stage_node(&s, id).cpu_free, 4000);
    ck_assert_int_eq(stage_node(&s, id).state, GANG_NODE_DOWN);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
}
END_TEST

START_TEST(a_state_that_is_none_is_refused)
{
    struct box box = {.name = "n1"};
    gang_node_id id = stage_add(&s, &box);
    ck_assert_int_eq(gang_node_set_state(s.w, id, GANG_NODE_REMOVED), GANG_EINVAL);
    ck_assert_int_eq(gang_node_set_state(s.w, id, -1), GANG_EINVAL);
    ck_assert_int_eq(gang_node_set_state(s.w, id, 4), GANG_EINVAL);
    ck_assert_int_eq(gang_node_set_state(NULL, id, GANG_NODE_UP), GANG_EINVAL);
    ck_assert_int_eq(stage_node(&s, id).state, GANG_NODE_UP);
}
END_TEST

/* ---- removing -------------------------------------------------------------------------------- */

START_TEST(an_empty_node_is_gone_at_once)
{
    struct box box = {.name = "n1", .cpu = 1000};
    gang_node_id id = stage_add(&s, &box), found = 1;
    MUST(gang_node_remove(s.w, id));
    ck_assert(is_stale(id));
    ck_assert_int_eq(gang_node_count(s.c), 0);
    ck_assert_uint_eq(gang_node_next(s.c, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_int_eq(gang_node_find(s.c, "n1", &found), GANG_ENOENT);
    ck_assert_int_eq(gang_node_remove(NULL, id), GANG_EINVAL);
}
END_TEST

START_TEST(a_node_that_is_held_stays_until_it_is_empty)
{
    struct box box = full_box;
    gang_node_id id = stage_add(&s, &box), found = 1;
    struct gang_group_spec g = group_of(2, 1000, 1000);
    gang_alloc_id held = stage_alloc_group(&s, &g);
    MUST(gang_node_remove(s.w, id));
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_int_eq(info.state, GANG_NODE_REMOVED);
    ck_assert_int_eq(info.gpus_free, 1);
    ck_assert_int_eq(info.cpu_free, 2500);
    ck_assert_str_eq(info.name, "n1");
    ck_assert_int_eq(gang_node_count(s.c), 0);
    ck_assert_uint_eq(gang_node_next(s.c, GANG_ID_NONE), GANG_ID_NONE);
    ck_assert_int_eq(gang_node_find(s.c, "n1", &found), GANG_ENOENT);
    ck_assert_uint_eq(stage_tasks_on(&s, held, id), 2);
    stage_check(&s);
    ck_assert_int_eq(gang_node_remove(s.w, id), GANG_ESTALE);
    ck_assert_int_eq(gang_node_set_state(s.w, id, GANG_NODE_UP), GANG_ESTALE);
    ck_assert_int_eq(stage_node(&s, id).state, GANG_NODE_REMOVED);
    MUST(gang_alloc_free(s.w, held));
    ck_assert(is_stale(id));
}
END_TEST

START_TEST(a_removed_node_takes_nothing_new)
{
    struct box box = {.name = "n1", .cpu = 4000};
    struct gang_group_spec g = group_of(1, 1000, 0);
    gang_node_id id = stage_add(&s, &box);
    stage_alloc_group(&s, &g);
    MUST(gang_node_remove(s.w, id));
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    ck_assert_int_eq(stage_node(&s, id).cpu_free, 3000);
}
END_TEST

START_TEST(a_name_is_free_again_while_the_old_node_is_held)
{
    struct box box = {.name = "n1", .cpu = 4000};
    struct gang_group_spec g = group_of(1, 1000, 0);
    gang_node_id old = stage_add(&s, &box), found;
    gang_alloc_id held = stage_alloc_group(&s, &g);
    MUST(gang_node_remove(s.w, old));
    gang_node_id fresh = stage_add(&s, &box);
    ck_assert_uint_ne(fresh, old);
    MUST(gang_node_find(s.c, "n1", &found));
    ck_assert_uint_eq(found, fresh);
    ck_assert_int_eq(stage_node(&s, old).cpu_free, 3000);
    ck_assert_int_eq(stage_node(&s, fresh).cpu_free, 4000);
    MUST(gang_alloc_free(s.w, held));
    ck_assert(is_stale(old));
    ck_assert(!is_stale(fresh));
    ck_assert_int_eq(gang_node_count(s.c), 1);
}
END_TEST

START_TEST(ids_are_never_used_again)
{
    enum { ROUNDS = 300 };
    static gang_node_id seen[ROUNDS];
    struct box box = {.name = "n1"};
    for (int i = 0; i < ROUNDS; i++) {
        seen[i] = stage_add(&s, &box);
        for (int k = 0; k < i; k++)
            ck_assert_uint_ne(seen[i], seen[k]);
        MUST(gang_node_remove(s.w, seen[i]));
        if (i % 50 == 0)
            MUST(gang_cluster_recycle(s.c));
    }
    for (int i = 0; i < ROUNDS; i++)
        ck_assert_int_eq(node_get(seen[i]), GANG_ESTALE);
}
END_TEST

/* A slot that held a small node, then a large one, then none with GPUs, is read and used right. */
START_TEST(a_slot_serves_nodes_of_other_types)
{
    const struct box boxes[] = {
        {.name = "a", .cpu = 4000, .memory = GIB, .gpus = 2, .model = "T4"},
        {.name = "b", .cpu = 128000, .memory = GIB, .gpus = 64, .model = "T4", .cores = 128},
        {.name = "c", .cpu = 1000, .memory = MIB},
        {.name = "d", .cpu = 64000, .memory = GIB, .gpus = 16, .model = "A100"},
        {.name = "e", .cpu = 2000, .memory = GIB, .gpus = 1},
    };
    for (size_t i = 0; i < 20; i++) {
        const struct box *box = &boxes[i % 5];
        gang_node_id id = stage_add(&s, box);
        struct gang_node_info info = stage_node(&s, id);
        ck_assert_int_eq(info.gpu_count, (int)box->gpus);
        ck_assert_int_eq(info.cpu_free, box->cpu);
        struct gang_group_spec g = group_of(1, 1000, 1000 * (int64_t)box->gpus);
        gang_alloc_id held = stage_alloc_group(&s, &g);
        ck_assert_int_eq(stage_node(&s, id).gpus_free, 0);
        stage_check(&s);
        MUST(gang_alloc_free(s.w, held));
        stage_check(&s);
        MUST(gang_node_remove(s.w, id));
        MUST(gang_cluster_recycle(s.c));
    }
}
END_TEST

/* ---- walking --------------------------------------------------------------------------------- */

START_TEST(walking_meets_each_node_once_in_order)
{
    enum { COUNT = 100 };
    gang_node_id id[COUNT];
    char name[16];
    struct box box = {.name = name};
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        id[i] = stage_add(&s, &box);
    }
    int met = 0;
    for (gang_node_id at = gang_node_next(s.c, GANG_ID_NONE); at; at = gang_node_next(s.c, at))
        ck_assert_uint_eq(at, id[met++]);
    ck_assert_int_eq(met, COUNT);
    for (int i = 0; i < COUNT; i += 2)
        MUST(gang_node_remove(s.w, id[i]));
    met = 1;
    for (gang_node_id at = gang_node_next(s.c, GANG_ID_NONE); at; at = gang_node_next(s.c, at)) {
        ck_assert_uint_eq(at, id[met]);
        met += 2;
    }
    ck_assert_int_eq(met, COUNT + 1);
    ck_assert_int_eq(gang_node_count(s.c), COUNT / 2);
    ck_assert_uint_eq(gang_node_next(s.c, id[0]), id[1]); /* from one that is gone on */
    ck_assert_uint_eq(gang_node_next(s.c, UINT64_MAX), GANG_ID_NONE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node");
    TCase *adding = tcase_create("adding and reading");
    tcase_add_checked_fixture(adding, open_stage, close_stage);
    tcase_add_test(adding, an_empty_node_shows_its_capacity);
    tcase_add_test(adding, what_is_taken_shows_at_once);
    tcase_add_test(adding, a_name_is_there_once);
    tcase_add_test(adding, a_node_is_found_by_its_name);
    tcase_add_test(adding, a_bad_specification_is_refused_with_its_path);
    tcase_add_test(adding, adding_needs_a_worker_and_a_specification);
    tcase_add_test(adding, a_specification_is_copied);
    tcase_add_test(adding, the_specification_comes_back_as_it_was_given);
    tcase_add_test(adding, reading_follows_the_size_rule);
    tcase_add_test(adding, ids_that_never_were_are_stale);
    suite_add_tcase(suite, adding);
    TCase *states = tcase_create("states");
    tcase_add_checked_fixture(states, open_stage, close_stage);
    tcase_add_test(states, only_nodes_that_are_up_take_work);
    tcase_add_test(states, a_state_that_is_none_is_refused);
    suite_add_tcase(suite, states);
    TCase *removing = tcase_create("removing");
    tcase_add_checked_fixture(removing, open_stage, close_stage);
    tcase_add_test(removing, an_empty_node_is_gone_at_once);
    tcase_add_test(removing, a_node_that_is_held_stays_until_it_is_empty);
    tcase_add_test(removing, a_removed_node_takes_nothing_new);
    tcase_add_test(removing, a_name_is_free_again_while_the_old_node_is_held);
    tcase_add_test(removing, ids_are_never_used_again);
    tcase_add_test(removing, a_slot_serves_nodes_of_other_types);
    tcase_add_test(removing, walking_meets_each_node_once_in_order);
    suite_add_tcase(suite, removing);
    return run_suite(suite);
}
