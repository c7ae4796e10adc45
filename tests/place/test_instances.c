/* SPDX-License-Identifier: Apache-2.0 */
/* Devices cut into slices: which slices the instances of a profile get, and that they are found
 * whenever there are enough. */
#include <gangsched/gangsched.h>

#include "chance.h"
#include "core/nodes/nodes.h"
#include "support.h"

static struct stage s;
static const char *const levels[] = {"rack"};

static void open_stage(void)
{
    stage_open(&s, levels, 1);
}

static void close_stage(void)
{
    stage_close(&s);
}

/* ---- machines ---- */

/* An A100 of 40 GB: eight slices of memory; the starts of "1g" give the seven of computing. */
static const struct gang_profile_spec a100[] = {
    {"1g.5gb", "A100", 1, 0x7f},  {"1g.10gb", "A100", 2, 0x55}, {"2g.10gb", "A100", 2, 0x15},
    {"3g.20gb", "A100", 4, 0x11}, {"4g.20gb", "A100", 4, 0x01}, {"7g.40gb", "A100", 8, 0x01},
};
enum { A100_PROFILES = sizeof(a100) / sizeof(a100[0]) };

struct sliced {
    struct gang_gpu_spec gpu[GANG_MAX_GPUS];
    char parent[GANG_MAX_GPUS][24];
    struct gang_node_spec spec;
};

/* `whole` devices of their own, and then `parents` of eight slices each. */
static void sliced_init(struct sliced *n, const char *name, size_t whole, size_t parents)
{
    memset(n, 0, sizeof(*n));
    n->spec = (struct gang_node_spec)GANG_NODE_SPEC_INIT;
    n->spec.name = name;
    n->spec.cpu_milli = 64000;
    n->spec.memory_bytes = 64 * GIB;
    n->spec.gpus = n->gpu;
    n->spec.gpu_count = whole + 8 * parents;
    n->spec.profiles = a100;
    n->spec.profile_count = A100_PROFILES;
    for (size_t i = 0; i < n->spec.gpu_count; i++) {
        n->gpu[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
        n->gpu[i].model = "A100";
        n->gpu[i].memory_bytes = i < whole ? 40 * GIB : 5 * GIB;
        if (i < whole)
            continue;
        snprintf(n->parent[i], sizeof(n->parent[i]), "gpu%zu", (i - whole) / 8);
        n->gpu[i].parent = n->parent[i];
        n->gpu[i].mig_index = (int32_t)((i - whole) % 8);
    }
}

static gang_node_id sliced_add(struct sliced *n)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_node_id id;
    gang_result r = gang_node_add(s.w, &n->spec, &id, &error);
    ck_assert_msg(r == GANG_OK, "%s %s", error.path, error.text);
    return id;
}

static gang_node_id add_a100(const char *name, size_t whole, size_t parents)
{
    static struct sliced n;
    sliced_init(&n, name, whole, parents);
    return sliced_add(&n);
}

static struct gang_group_spec group_of_profile(int64_t tasks, int64_t each, const char *profile)
{
    struct gang_group_spec g = group_of(tasks, 0, 1000 * each);
    g.profile = profile;
    return g;
}

static gang_alloc_id give(const char *profile)
{
    struct gang_group_spec g = group_of_profile(1, 1, profile);
    return stage_alloc_group(&s, &g);
}

/* Slices that one more instance gets. */
static uint64_t slices_of(const char *profile)
{
    return stage_only_task(&s, give(profile)).gpus;
}

static struct outcome try_profile(int64_t tasks, int64_t each, const char *profile)
{
    struct gang_group_spec g = group_of_profile(tasks, each, profile);
    return stage_try_group(&s, &g);
}

static struct outcome try_whole(int64_t milli)
{
    struct gang_group_spec g = group_of(1, 0, milli);
    return stage_try_group(&s, &g);
}

/* ---- slices and devices do not mix ---- */

START_TEST(work_without_a_profile_gets_no_slice)
{
    gang_node_id id = add_a100("n", 1, 1);
    struct gang_group_spec g = group_of(2, 0, 1000);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g = group_of(1, 0, 0);
    g.gpu_memory_bytes = 5 * GIB;
    gang_alloc_id id_of_memory = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_only_task(&s, id_of_memory).gpus, 1);
    ck_assert_int_eq(stage_only_task(&s, id_of_memory).gpu_share, 125);
    g = group_of(1, 0, 500);
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 1);
    EXPECT_OUTCOME(try_whole(500), GANG_ENOFIT); /* eight slices are free */
    EXPECT_OUTCOME(try_whole(1000), GANG_ENOFIT);
    g.gpu_devices = 2;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    ck_assert_int_eq(stage_node(&s, id).gpus_free, 8);
}
END_TEST

START_TEST(work_with_a_profile_gets_slices_alone)
{
    gang_node_id id = add_a100("n", 2, 1);
    EXPECT_OUTCOME(try_profile(8, 1, "1g.5gb"), GANG_ENEVER); /* begins at seven of them */
    gang_alloc_id all = give("7g.40gb");
    struct gang_task task = stage_only_task(&s, all);
    ck_assert_uint_eq(task.gpus, UINT64_C(0xff) << 2);
    ck_assert_int_eq(task.gpu_count, 8);
    ck_assert_int_eq(task.gpu_share, 1000);
    EXPECT_OUTCOME(try_profile(1, 1, "1g.5gb"), GANG_ENOFIT);
    ck_assert_uint_eq(stage_node(&s, id).gpu_mask, 3);
    MUST(gang_alloc_free(s.w, all));
    ck_assert_uint_eq(stage_node(&s, id).gpu_mask, 0x3ff);
    EXPECT_OUTCOME(try_whole(2000), GANG_OK);
}
END_TEST

START_TEST(jobs_with_and_without_profiles_search_their_own_nodes)
{
    struct box box = {.name = "whole", .cpu = 64000, .gpus = 8, .model = "A100"};
    gang_node_id whole = stage_add(&s, &box), sliced = add_a100("sliced", 0, 2),
                 both = add_a100("both", 1, 1);
    ck_assert_uint_eq(gang__load(&s.c->commit.gpu_class_count), 4); /* none, and three with GPUs */
    for (int policy = GANG_POLICY_PACK; policy <= GANG_POLICY_FIRST; policy++) {
        struct gang_group_spec g = group_of(1, 0, 8000);
        struct gang_request_spec spec = request_of(&g, 1);
        spec.policy = policy;
        gang_alloc_id a = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_only_task(&s, a).node, whole);
        g = group_of(1, 0, 1000);
        gang_alloc_id b = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_only_task(&s, b).node, both);
        g = group_of_profile(1, 3, "7g.40gb");
        EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
        g = group_of_profile(1, 2, "7g.40gb");
        gang_alloc_id c = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_only_task(&s, c).node, sliced);
        MUST(gang_alloc_free(s.w, a));
        MUST(gang_alloc_free(s.w, b));
        MUST(gang_alloc_free(s.w, c));
    }
}
END_TEST

/* ---- which slices ---- */

/* Each instance where it leaves the most to others: from the end, which only "3g" and "7g" would
 * need. */
START_TEST(small_instances_leave_slices_for_large_ones)
{
    add_a100("n", 0, 1);
    ck_assert_uint_eq(slices_of("1g.5gb"), 1 << 6);
    ck_assert_uint_eq(slices_of("1g.5gb"), 1 << 4);
    ck_assert_uint_eq(slices_of("1g.5gb"), 1 << 5);
    ck_assert_uint_eq(slices_of("4g.20gb"), 0x0f);
    EXPECT_OUTCOME(try_profile(1, 1, "1g.5gb"), GANG_ENOFIT);
}
END_TEST

START_TEST(a_half_instance_goes_where_no_larger_one_can_start)
{
    add_a100("n", 0, 1);
    ck_assert_uint_eq(slices_of("3g.20gb"), 0xf0);
    ck_assert_uint_eq(slices_of("2g.10gb"), 0x03);
    ck_assert_uint_eq(slices_of("2g.10gb"), 0x0c);
}
END_TEST

START_TEST(a_fresh_device_is_not_cut_while_a_cut_one_serves)
{
    gang_node_id id = add_a100("n", 0, 3);
    uint64_t first = slices_of("1g.5gb");
    ck_assert_uint_eq(first, 1 << 6);
    for (int i = 1; i < 7; i++)
        ck_assert_uint_lt(slices_of("1g.5gb"), 0x100);
    ck_assert_uint_eq(slices_of("1g.5gb"), UINT64_C(1) << 14);
    ck_assert_uint_eq(slices_of("3g.20gb"), UINT64_C(0x0f) << 8);
    ck_assert_uint_eq(slices_of("7g.40gb"), UINT64_C(0xff) << 16);
    ck_assert_uint_eq(stage_node(&s, id).gpu_mask, UINT64_C(0xb080));
}
END_TEST

/* Of two cut devices the one that loses less. */
START_TEST(the_cut_device_that_loses_least_is_taken)
{
    struct gang_placement place = GANG_PLACEMENT_INIT;
    struct gang_group_spec g = group_of_profile(1, 1, "1g.5gb");
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    place.node = add_a100("n", 0, 2);
    place.any_devices = 0;
    place.gpus = 1 << 1; /* the first half of the first device is broken already */
    MUST(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL));
    place.gpus = 1 << (8 + 6); /* of the second the second half */
    MUST(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL));
    ck_assert_uint_eq(slices_of("3g.20gb"), 0xf0); /* what neither 4g nor 2g could use as well */
    ck_assert_uint_eq(slices_of("1g.5gb"), 1);
    ck_assert_uint_eq(slices_of("4g.20gb"), UINT64_C(0x0f) << 8);
    gang_request_free(request);
}
END_TEST

/* The middle would leave more to the small ones, but not a second of its own. */
START_TEST(an_instance_costs_but_one_of_its_own)
{
    struct sliced n;
    const struct gang_profile_spec profiles[] = {{"two", NULL, 2, 7},
                                                 {"a", NULL, 1, 9},
                                                 {"b", NULL, 1, 9},
                                                 {"c", NULL, 1, 9},
                                                 {"d", NULL, 1, 9}};
    sliced_init(&n, "n", 0, 1);
    n.spec.gpu_count = 4;
    n.spec.profiles = profiles;
    n.spec.profile_count = 5;
    sliced_add(&n);
    ck_assert_uint_eq(slices_of("two"), 3);
    ck_assert_uint_eq(slices_of("two"), 12);
}
END_TEST

START_TEST(slices_need_not_be_numbered_in_order)
{
    struct sliced n;
    sliced_init(&n, "n", 0, 2);
    for (int i = 0; i < 16; i++) { /* dealt out by turns, from the last down */
        n.gpu[i].parent = i % 2 ? "x" : "y";
        n.gpu[i].mig_index = 7 - i / 2;
    }
    sliced_add(&n);
    uint64_t whole = slices_of("7g.40gb");
    ck_assert(whole == 0x5555 || whole == 0xaaaa);
    ck_assert_int_eq(__builtin_popcountll(slices_of("3g.20gb") & ~whole), 4);
}
END_TEST

START_TEST(parents_may_lack_slices_and_have_many)
{
    struct sliced n;
    const struct gang_profile_spec all[] = {{"all", NULL, 64, 1},
                                            {"two", NULL, 2, UINT64_MAX >> 1}};
    sliced_init(&n, "n", 0, 8);
    n.spec.profiles = all;
    n.spec.profile_count = 2;
    for (int i = 0; i < 64; i++) {
        n.gpu[i].parent = "p";
        n.gpu[i].mig_index = i;
    }
    gang_node_id id = sliced_add(&n);
    gang_alloc_id a = give("all");
    ck_assert_uint_eq(stage_only_task(&s, a).gpus, UINT64_MAX);
    MUST(gang_alloc_free(s.w, a));
    struct gang_group_spec g = group_of_profile(1, 32, "two");
    a = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_only_task(&s, a).gpus, UINT64_MAX);
    MUST(gang_alloc_free(s.w, a));
    MUST(gang_node_remove(s.w, id));
    n.spec.gpu_count = 3; /* 0, 1 and 3 */
    n.spec.name = "m";
    n.gpu[2].mig_index = 3;
    sliced_add(&n);
    EXPECT_OUTCOME(try_profile(1, 1, "all"), GANG_ENEVER);
    EXPECT_OUTCOME(try_profile(1, 2, "two"), GANG_ENEVER);
    ck_assert_uint_eq(slices_of("two"), 3);
}
END_TEST

/* ---- several of them ---- */

START_TEST(instances_of_a_task_may_lie_on_several_devices)
{
    gang_node_id id = add_a100("n", 0, 3);
    struct gang_group_spec g = group_of_profile(1, 5, "3g.20gb");
    gang_alloc_id five = stage_alloc_group(&s, &g);
    struct gang_task task = stage_only_task(&s, five);
    ck_assert_int_eq(task.gpu_count, 20);
    EXPECT_OUTCOME(try_profile(1, 2, "3g.20gb"), GANG_ENOFIT);
    EXPECT_OUTCOME(try_profile(1, 7, "3g.20gb"), GANG_ENEVER);
    EXPECT_OUTCOME(try_profile(1, 1, "3g.20gb"), GANG_OK);
    ck_assert_uint_eq(stage_node(&s, id).gpu_mask, 0);
}
END_TEST

START_TEST(a_task_lies_on_one_node)
{
    add_a100("n0", 0, 1);
    add_a100("n1", 0, 1);
    EXPECT_OUTCOME(try_profile(1, 3, "3g.20gb"), GANG_ENEVER);
    EXPECT_OUTCOME(try_profile(4, 1, "3g.20gb"), GANG_OK);
}
END_TEST

/* One "3g" and four "1g" go on one device: with the large one first, and at the right end. */
START_TEST(wide_profiles_of_a_gang_go_first)
{
    add_a100("n", 0, 1);
    struct gang_group_spec g[] = {group_of_profile(4, 1, "1g.5gb"),
                                  group_of_profile(1, 1, "3g.20gb")};
    struct gang_request_spec spec = request_of(g, 2);
    gang_alloc_id id = stage_alloc(&s, &spec);
    const struct task_list *list = stage_tasks(&s, id);
    uint64_t small = 0;
    ck_assert_uint_eq(list->count, 5);
    for (size_t i = 0; i < 5; i++)
        small |= list->task[i].group == 0 ? list->task[i].gpus : 0;
    ck_assert_uint_eq(small, 0x0f);
}
END_TEST

START_TEST(an_allocation_of_instances_grows_and_shrinks)
{
    gang_node_id id = add_a100("n", 0, 1);
    struct gang_group_spec g = group_of_profile(3, 1, "2g.10gb");
    int64_t granted;
    g.min = 1;
    gang_alloc_id held = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_only_task(&s, held).gpus, 0x30);
    MUST(gang_alloc_grow(s.w, held, 0, 5, &granted, NULL));
    ck_assert_int_eq(granted, 2);
    ck_assert_uint_eq(stage_node(&s, id).gpu_mask, 0xc0);
    const int64_t first = 0;
    MUST(gang_alloc_shrink(s.w, held, &first, 1, NULL));
    ck_assert_uint_eq(stage_node(&s, id).gpu_mask, 0xf0);
    MUST(gang_alloc_grow(s.w, held, 0, 1, NULL, NULL));
    MUST(gang_alloc_free(s.w, give("1g.5gb")));
    ck_assert_uint_eq(slices_of("1g.5gb"), 0x40);
}
END_TEST

/* ---- models ---- */

START_TEST(a_profile_holds_for_slices_of_its_model)
{
    struct sliced n;
    const struct gang_profile_spec mixed[] = {
        {"small", "A100", 1, 0xff}, {"small", "H100", 2, 0x55}, {"any", NULL, 4, 0x11}};
    const char *const h100 = "H100", *const v100 = "V100";
    sliced_init(&n, "n", 0, 2);
    n.spec.profiles = mixed;
    n.spec.profile_count = 3;
    for (int i = 8; i < 16; i++)
        n.gpu[i].model = "H100";
    gang_node_id id = sliced_add(&n);
    struct gang_group_spec g = group_of_profile(1, 4, "small");
    g.gpu_models = &h100;
    g.gpu_model_count = 1;
    gang_alloc_id four = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_only_task(&s, four).gpus, 0xff00);
    struct outcome o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_PROFILE);
    g.gpu_models = &v100;
    o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENEVER);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_GPU_MODEL);
    MUST(gang_alloc_free(s.w, four));
    g = group_of_profile(1, 12, "small"); /* eight of one, four of the other */
    four = stage_alloc_group(&s, &g);
    ck_assert_int_eq(stage_only_task(&s, four).gpu_count, 16);
    MUST(gang_alloc_free(s.w, four));
    EXPECT_OUTCOME(try_profile(1, 13, "small"), GANG_ENEVER);
    EXPECT_OUTCOME(try_profile(1, 4, "any"), GANG_OK);
    ck_assert_int_eq(stage_node(&s, id).gpus_free, 0);
}
END_TEST

/* Instances that are there already: each a slice, its profile the model. */
START_TEST(instances_that_exist_are_slices_of_width_one)
{
    struct sliced n;
    const struct gang_profile_spec each[] = {{"1g", "A100 1g", 1, UINT64_MAX},
                                             {"3g", "A100 3g", 1, UINT64_MAX}};
    sliced_init(&n, "n", 0, 1);
    n.spec.profiles = each;
    n.spec.profile_count = 2;
    n.spec.gpu_count = 4;
    for (int i = 0; i < 4; i++)
        n.gpu[i].model = i == 1 ? "A100 3g" : "A100 1g";
    sliced_add(&n);
    ck_assert_uint_eq(slices_of("3g"), 2);
    EXPECT_OUTCOME(try_profile(1, 1, "3g"), GANG_ENOFIT);
    struct gang_group_spec g = group_of_profile(1, 3, "1g");
    ck_assert_uint_eq(stage_only_task(&s, stage_alloc_group(&s, &g)).gpus, 13);
}
END_TEST

/* ---- refusals ---- */

START_TEST(a_profile_that_no_node_has_is_refused_for_ever)
{
    add_a100("n", 1, 1);
    struct gang_group_spec g = group_of_profile(1, 1, "9g");
    struct outcome o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENEVER);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_PROFILE);
    ck_assert_int_eq(o.error.kind, -1);
    ck_assert_ptr_nonnull(strstr(o.error.text, "profile"));
    struct sliced n; /* one that comes later is found */
    const struct gang_profile_spec nine = {"9g", NULL, 3, 1};
    sliced_init(&n, "m", 0, 1);
    n.spec.profiles = &nine;
    n.spec.profile_count = 1;
    sliced_add(&n);
    ck_assert_uint_eq(slices_of("9g"), 7);
    o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_PROFILE);
}
END_TEST

START_TEST(a_profile_without_slices_is_refused_for_ever)
{
    struct sliced n;
    sliced_init(&n, "n", 4, 0);
    sliced_add(&n);
    EXPECT_OUTCOME(try_profile(1, 1, "1g.5gb"), GANG_ENEVER);
}
END_TEST

START_TEST(a_kind_that_is_short_is_the_first_reason)
{
    struct gang_group_spec g = group_of_profile(1, 1, "1g.5gb");
    add_a100("n", 0, 1);
    g.cpu_milli = 65000;
    struct outcome o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENEVER);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_KIND);
    ck_assert_int_eq(o.error.kind, GANG_KIND_CPU);
}
END_TEST

START_TEST(wrong_requests_are_refused)
{
    struct {
        int64_t milli, devices, memory;
        const char *profile;
    } wrong[] = {{0, 0, 0, "p"},    {500, 0, 0, "p"},     {1000, 1, 0, "p"},
                 {0, 0, 4096, "p"}, {1000, 0, 0, "\xff"}, {1000, 0, 0, ""}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gang_group_spec g = group_of(1, 0, wrong[i].milli);
        struct gang_request_spec spec = request_of(&g, 1);
        struct gang_error error = GANG_ERROR_INIT;
        gang_request *request;
        g.profile = wrong[i].profile;
        g.gpu_devices = wrong[i].devices;
        g.gpu_memory_bytes = wrong[i].memory;
        EXPECT_ERROR(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error,
                     "groups[0].profile", NULL);
        ck_assert_ptr_null(request);
    }
}
END_TEST

/* ---- exact places ---- */

START_TEST(exact_slices_are_taken)
{
    struct gang_group_spec g = group_of_profile(2, 2, "3g.20gb");
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement place = GANG_PLACEMENT_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    place.node = add_a100("n", 1, 2);
    place.any_devices = 0;
    static const uint64_t wrong[] = {
        0,          0xf << 1,        0xff << 3,  0x1e1e << 1,         0xfff << 1, 0xf0f0f << 1,
        0xf0e << 1, 0xf00f << 1 | 1, UINT64_MAX, 0xf << 17 | 0xf << 1};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        place.gpus = wrong[i];
        ck_assert_msg(gang_alloc_adopt(s.w, request, &place, 1, &id, &error) == GANG_EINVAL, "%zu",
                      i);
        ck_assert_str_eq(error.path, "places[0]");
    }
    place.gpus = 0xf00f << 1;
    MUST(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL));
    ck_assert_uint_eq(stage_only_task(&s, id).gpus, 0xf00f << 1);
    place.gpus = 0xf0f << 1; /* half of it is taken */
    EXPECT_RESULT(gang_alloc_adopt(s.w, request, &place, 1, &id, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_PROFILE);
    ck_assert_uint_eq(error.id, place.node);
    place.any_devices = 1;
    MUST(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL));
    ck_assert_uint_eq(stage_only_task(&s, id).gpus, 0xff0 << 1);
    EXPECT_RESULT(gang_alloc_adopt(s.w, request, &place, 1, &id, &error), GANG_ENOFIT, &error);
    gang_request_free(request);
}
END_TEST

START_TEST(exact_slices_are_not_devices)
{
    struct gang_group_spec g = group_of(1, 0, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_alloc_id id;
    gang_request *request = stage_request(&s, &spec);
    place.node = add_a100("n", 1, 1);
    place.any_devices = 0;
    place.gpus = 2; /* a slice, for work without a profile */
    ck_assert_int_eq(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL), GANG_EINVAL);
    place.gpus = 1;
    MUST(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL));
    gang_request_free(request);
    g = group_of_profile(1, 1, "1g.5gb");
    request = stage_request(&s, &spec);
    ck_assert_int_eq(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL), GANG_EINVAL);
    gang_request_free(request);
}
END_TEST

/* ---- health, snapshots, descriptions ---- */

START_TEST(unhealthy_slices_are_left_out)
{
    gang_node_id id = add_a100("n", 0, 2);
    MUST(gang_gpu_set_state(s.w, id, 2, GANG_GPU_UNHEALTHY));
    EXPECT_OUTCOME(try_profile(2, 1, "7g.40gb"), GANG_ENOFIT);
    ck_assert_uint_eq(slices_of("7g.40gb"), 0xff00);
    struct gang_group_spec g = group_of_profile(2, 1, "3g.20gb");
    struct outcome o = stage_try_group(&s, &g);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_DEVICE);
    ck_assert_uint_eq(slices_of("3g.20gb"), 0xf0);
    ck_assert_uint_eq(slices_of("2g.10gb"), 3);
    MUST(gang_gpu_set_state(s.w, id, 2, GANG_GPU_OK));
    ck_assert_uint_eq(slices_of("2g.10gb"), 12);
}
END_TEST

START_TEST(a_device_with_an_unhealthy_slice_is_cut_before_a_fresh_one)
{
    gang_node_id id = add_a100("n", 0, 2);
    MUST(gang_gpu_set_state(s.w, id, 8, GANG_GPU_UNHEALTHY));
    ck_assert_uint_ge(slices_of("1g.5gb"), 0x100);
}
END_TEST

START_TEST(a_snapshot_plans_with_instances)
{
    gang_node_id id = add_a100("n", 1, 1);
    struct gang_group_spec g = group_of_profile(1, 2, "3g.20gb");
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_node_info info = {.size = sizeof(info)};
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request = stage_request(&s, &spec);
    gang_snapshot *snap;
    gang_alloc_id held = give("1g.5gb");
    MUST(gang_snapshot_new(s.c, &snap));
    MUST(gang_snapshot_take(s.w, snap));
    EXPECT_RESULT(gang_snapshot_test(s.w, snap, request, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_PROFILE);
    MUST(gang_snapshot_release(snap, held));
    MUST(gang_snapshot_place(s.w, snap, request, NULL));
    MUST(gang_snapshot_node_get(snap, id, &info));
    ck_assert_uint_eq(info.gpu_mask, 1);
    ck_assert_int_eq(gang_snapshot_place(s.w, snap, request, NULL), GANG_ENOFIT);
    gang_snapshot_free(snap);
    gang_request_free(request);
}
END_TEST

START_TEST(profiles_may_be_redefined_but_slices_may_not)
{
    struct sliced n;
    const struct gang_profile_spec other = {"half", NULL, 4, 0x11};
    sliced_init(&n, "n", 0, 1);
    gang_node_id id = sliced_add(&n);
    gang_alloc_id held = give("1g.5gb");
    n.spec.profiles = &other;
    n.spec.profile_count = 1;
    MUST(gang_node_change(s.w, id, &n.spec, NULL));
    EXPECT_OUTCOME(try_profile(1, 1, "1g.5gb"), GANG_ENEVER);
    EXPECT_OUTCOME(try_profile(2, 1, "half"), GANG_ENOFIT);
    ck_assert_uint_eq(slices_of("half"), 0x0f);
    MUST(gang_alloc_free(s.w, held));
    n.gpu[0].mig_index = 9;
    ck_assert_int_eq(gang_node_change(s.w, id, &n.spec, NULL), GANG_EINVAL);
    n.gpu[0].mig_index = 0;
    n.gpu[0].parent = "else";
    ck_assert_int_eq(gang_node_change(s.w, id, &n.spec, NULL), GANG_EINVAL);
    struct gang_node_spec *copy;
    MUST(gang_node_get_spec(s.c, id, &copy));
    ck_assert_str_eq(copy->gpus[0].parent, "gpu0");
    ck_assert_uint_eq(copy->profile_count, 1);
    ck_assert_str_eq(copy->profiles[0].name, "half");
    gang_node_spec_free(copy);
}
END_TEST

START_TEST(equal_nodes_share_a_node_type)
{
    struct sliced n;
    add_a100("n0", 0, 1);
    add_a100("n1", 0, 1);
    ck_assert_uint_eq(s.c->nodes.types.count, 1);
    sliced_init(&n, "n2", 0, 1);
    n.gpu[3].state = GANG_GPU_UNHEALTHY; /* not of the machine */
    sliced_add(&n);
    ck_assert_uint_eq(s.c->nodes.types.count, 1);
    n.spec.name = "n3";
    n.spec.profile_count--;
    sliced_add(&n);
    n.spec.name = "n4";
    n.gpu[7].parent = "gpu1";
    sliced_add(&n);
    n.spec.name = "n5";
    n.gpu[7].mig_index = 0;
    sliced_add(&n);
    ck_assert_uint_eq(s.c->nodes.types.count, 4);
}
END_TEST

START_TEST(a_domain_holds_instances)
{
    static const struct gang_label racks[] = {{"rack", "r0"}, {"rack", "r1"}};
    struct sliced n;
    for (size_t i = 0; i < 4; i++) {
        char name[8];
        snprintf(name, sizeof(name), "n%zu", i);
        sliced_init(&n, name, 0, 1);
        n.spec.topology = &racks[i / 2];
        n.spec.topology_count = 1;
        sliced_add(&n);
    }
    struct gang_group_spec g = group_of_profile(4, 1, "3g.20gb");
    g.same = "rack";
    gang_alloc_id id = stage_alloc_group(&s, &g);
    const struct task_list *list = stage_tasks(&s, id);
    for (size_t i = 1; i < 4; i++)
        ck_assert_uint_eq(((uint32_t)list->task[i].node - 1) / 2,
                          ((uint32_t)list->task[0].node - 1) / 2);
    g.count = g.min = 5;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

/* Two sockets with a device each: instances and cores of one, the cut one first. */
START_TEST(instances_lie_in_one_numa_domain)
{
    struct sliced n;
    struct gang_core_spec core[16];
    struct gang_numa_spec numa[2] = {{0, 0, 0}, {1, 1, 0}};
    sliced_init(&n, "n", 0, 2);
    for (int i = 0; i < 16; i++) {
        n.gpu[i].numa = i / 8;
        core[i] = (struct gang_core_spec){i, i / 8, 1, 0, NULL};
    }
    n.spec.cpu_milli = 16000;
    n.spec.numas = numa;
    n.spec.numa_count = 2;
    n.spec.cores = core;
    n.spec.core_count = 16;
    gang_node_id id = sliced_add(&n);
    MUST(gang_gpu_set_state(s.w, id, 8, GANG_GPU_UNHEALTHY)); /* so the second is not fresh */
    struct gang_group_spec g = group_of_profile(1, 2, "1g.5gb");
    g.cpu_milli = 3000;
    g.numa = GANG_NUMA_STRICT;
    struct gang_task task = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_uint_eq(task.gpus & 0xff, 0);
    ck_assert_uint_eq(task.cores[0] & 0xff, 0);
    g = group_of_profile(2, 1, "3g.20gb");
    g.cpu_milli = 3000;
    g.numa = GANG_NUMA_STRICT;
    g.same = "numa";
    const struct task_list *list = stage_tasks(&s, stage_alloc_group(&s, &g));
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(list->task[i].gpus & 0xff00, 0);
        ck_assert_uint_eq(list->task[i].cores[0] & 0xff00, 0);
    }
    g = group_of_profile(1, 8, "1g.5gb"); /* of two domains there would be */
    g.numa = GANG_NUMA_STRICT;
    ck_assert_int_eq(stage_try_group(&s, &g).error.constraint, GANG_CONSTRAINT_NUMA);
    g = group_of_profile(1, 1, "2g.10gb");
    g.cpu_milli = 1000; /* cores near it where they need not be */
    task = stage_only_task(&s, stage_alloc_group(&s, &g));
    ck_assert_uint_eq(task.cores[0] & 0xff, 0);
}
END_TEST

START_TEST(out_of_memory_adds_nothing)
{
    struct sliced n;
    gang_node_id id;
    long failed = 0;
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        sliced_init(&n, name, (size_t)i, 2);
        n.gpu[0].state = GANG_GPU_UNHEALTHY;
        for (long at = 1;; at++, failed++) {
            s.mem.fail_at = s.mem.calls + at;
            s.mem.fail_on = at % 2;
            gang_result r = gang_node_add(s.w, &n.spec, &id, NULL);
            s.mem.fail_at = 0;
            if (r == GANG_OK)
                break;
            ck_assert_int_eq(r, GANG_ENOMEM);
            ck_assert_int_eq(gang_node_count(s.c), i);
            ck_assert_uint_eq(gang__load(&s.c->nodes.unhealthy), (unsigned)i);
            stage_check(&s);
        }
    }
    ck_assert_int_gt(failed, 6);
    EXPECT_OUTCOME(try_profile(2, 2, "3g.20gb"), GANG_OK);
}
END_TEST

/* ---- found whenever there are enough ---- */

enum { MOST_PARENTS = 3, MOST_SLICES = 8, MOST_PROFILES = 6, MOST_HELD = 24 };

/* The most instances that can be made of free slices, by trying all. */
static int most_of(const struct gang_profile_spec *p, uint64_t free, int from)
{
    int best = 0;
    for (int start = from; start < MOST_SLICES; start++) {
        uint64_t taken = ((UINT64_C(1) << p->width) - 1) << start;
        if (!(p->starts >> start & 1) || (free & taken) != taken)
            continue;
        int here = 1 + most_of(p, free & ~taken, start + 1);
        best = here > best ? here : best;
    }
    return best;
}

/* Do these devices hold `count` instances, and nothing else? */
static bool are_instances(const struct sliced *n, const struct gang_profile_spec *p, int count,
                          uint64_t devices)
{
    int found = 0;
    for (int parent = 0; parent < MOST_PARENTS; parent++) {
        uint64_t slices = 0;
        for (size_t i = 0; i < n->spec.gpu_count; i++)
            if ((devices >> i & 1) && n->gpu[i].parent && n->gpu[i].parent[3] == '0' + parent)
                slices |= UINT64_C(1) << n->gpu[i].mig_index;
        int here = __builtin_popcountll(slices) / (int)p->width;
        if (__builtin_popcountll(slices) != here * (int)p->width || most_of(p, slices, 0) != here)
            return false;
        found += here;
        for (uint64_t left = slices; left; left &= left - 1)
            devices &= devices - 1;
    }
    return found == count && devices == 0;
}

static int most_on(const struct sliced *n, const struct gang_profile_spec *p, uint64_t free)
{
    int found = 0;
    for (int parent = 0; parent < MOST_PARENTS; parent++) {
        uint64_t slices = 0;
        for (size_t i = 0; i < n->spec.gpu_count; i++)
            if ((free >> i & 1) && n->gpu[i].parent && n->gpu[i].parent[3] == '0' + parent)
                slices |= UINT64_C(1) << n->gpu[i].mig_index;
        found += most_of(p, slices, 0);
    }
    return found;
}

static void random_machine(struct sliced *n, struct gang_profile_spec *profiles)
{
    static const char *const names[MOST_PROFILES] = {"p0", "p1", "p2", "p3", "p4", "p5"};
    sliced_init(n, "n", index_below(3), 1 + index_below(MOST_PARENTS));
    size_t slices = 4 + index_below(5), to = 0;
    bool few = below(2); /* many narrow ones that would have one wide one give way */
    for (size_t i = 0; i < n->spec.gpu_count; i++) { /* fewer slices, some holes */
        bool whole = !n->gpu[i].parent;
        if (whole || (n->gpu[i].mig_index < (int32_t)slices && below(12)))
            n->gpu[to++] = n->gpu[i];
    }
    n->spec.gpu_count = to;
    n->spec.profiles = profiles;
    n->spec.profile_count = 1 + index_below(MOST_PROFILES);
    for (size_t i = 0; i < n->spec.profile_count; i++) {
        uint64_t width = 1 + index_below(few && i ? 1 : below(2) ? 3 : MOST_SLICES);
        uint64_t starts = (UINT64_C(1) << (MOST_SLICES - width + 1)) - 1;
        profiles[i] = (struct gang_profile_spec){names[i], NULL, (int64_t)width, 0};
        while (!profiles[i].starts)
            profiles[i].starts = (few && !i ? 255 : index_below(256)) & starts;
    }
}

static void one_random_call(const struct sliced *n, gang_node_id node, gang_alloc_id *held,
                            int *holds)
{
    const struct gang_profile_spec *p = &n->spec.profiles[index_below(n->spec.profile_count)];
    int64_t tasks = 1 + below(3), each = 1 + below(3);
    if (*holds == MOST_HELD || (*holds && below(5) < 2)) {
        int at = (int)below(*holds);
        MUST(gang_alloc_free(s.w, held[at]));
        held[at] = held[--*holds];
        return;
    }
    struct gang_node_info before = stage_node(&s, node);
    struct gang_group_spec g = group_of_profile(tasks, each, p->name);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = GANG_POLICY_PACK + (int32_t)below(3);
    struct outcome o = stage_try(&s, &spec);
    uint64_t free = before.gpu_mask & ~before.gpu_unhealthy;
    bool now = most_on(n, p, free) / each >= tasks;
    bool ever = most_on(n, p, UINT64_MAX) / each >= tasks;
    ck_assert_msg(o.result == (now    ? GANG_OK
                               : ever ? GANG_ENOFIT
                                      : GANG_ENEVER),
                  "%s", gang_result_name(o.result));
    if (o.result != GANG_OK)
        return;
    held[(*holds)++] = o.id;
    const struct task_list *list = stage_tasks(&s, o.id);
    ck_assert_int_eq((int64_t)list->count, tasks);
    for (size_t i = 0; i < list->count; i++) {
        ck_assert(are_instances(n, p, (int)each, list->task[i].gpus));
        ck_assert_uint_eq(list->task[i].gpus & ~free, 0);
        free &= ~list->task[i].gpus;
    }
}

START_TEST(instances_are_found_whenever_there_are_enough)
{
    int rounds = getenv("GANG_TEST_QUICK") ? 150 : 1500;
    chance_state = test_seed();
    for (int round = 0; round < rounds; round++) {
        struct sliced n;
        struct gang_profile_spec profiles[MOST_PROFILES];
        gang_alloc_id held[MOST_HELD];
        int holds = 0;
        random_machine(&n, profiles);
        gang_node_id id = sliced_add(&n);
        for (int call = 0; call < 60; call++) {
            if (below(10) == 0 && n.spec.gpu_count)
                MUST(gang_gpu_set_state(s.w, id, (int32_t)index_below(n.spec.gpu_count),
                                        below(3) ? GANG_GPU_OK : GANG_GPU_UNHEALTHY));
            one_random_call(&n, id, held, &holds);
        }
        stage_check(&s);
        while (holds)
            MUST(gang_alloc_free(s.w, held[--holds]));
        ck_assert_int_eq(stage_node(&s, id).gpus_free, (int32_t)n.spec.gpu_count);
        MUST(gang_node_remove(s.w, id));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("instances");
    TCase *tests = tcase_create("instances");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, work_without_a_profile_gets_no_slice);
    tcase_add_test(tests, work_with_a_profile_gets_slices_alone);
    tcase_add_test(tests, jobs_with_and_without_profiles_search_their_own_nodes);
    tcase_add_test(tests, small_instances_leave_slices_for_large_ones);
    tcase_add_test(tests, a_half_instance_goes_where_no_larger_one_can_start);
    tcase_add_test(tests, a_fresh_device_is_not_cut_while_a_cut_one_serves);
    tcase_add_test(tests, the_cut_device_that_loses_least_is_taken);
    tcase_add_test(tests, an_instance_costs_but_one_of_its_own);
    tcase_add_test(tests, slices_need_not_be_numbered_in_order);
    tcase_add_test(tests, parents_may_lack_slices_and_have_many);
    tcase_add_test(tests, instances_of_a_task_may_lie_on_several_devices);
    tcase_add_test(tests, a_task_lies_on_one_node);
    tcase_add_test(tests, wide_profiles_of_a_gang_go_first);
    tcase_add_test(tests, an_allocation_of_instances_grows_and_shrinks);
    tcase_add_test(tests, a_profile_holds_for_slices_of_its_model);
    tcase_add_test(tests, instances_that_exist_are_slices_of_width_one);
    tcase_add_test(tests, a_profile_that_no_node_has_is_refused_for_ever);
    tcase_add_test(tests, a_profile_without_slices_is_refused_for_ever);
    tcase_add_test(tests, a_kind_that_is_short_is_the_first_reason);
    tcase_add_test(tests, wrong_requests_are_refused);
    tcase_add_test(tests, exact_slices_are_taken);
    tcase_add_test(tests, exact_slices_are_not_devices);
    tcase_add_test(tests, unhealthy_slices_are_left_out);
    tcase_add_test(tests, a_device_with_an_unhealthy_slice_is_cut_before_a_fresh_one);
    tcase_add_test(tests, a_snapshot_plans_with_instances);
    tcase_add_test(tests, profiles_may_be_redefined_but_slices_may_not);
    tcase_add_test(tests, equal_nodes_share_a_node_type);
    tcase_add_test(tests, a_domain_holds_instances);
    tcase_add_test(tests, instances_lie_in_one_numa_domain);
    tcase_add_test(tests, out_of_memory_adds_nothing);
    tcase_add_test(tests, instances_are_found_whenever_there_are_enough);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
