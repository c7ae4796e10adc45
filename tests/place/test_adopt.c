/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: taking exactly the places that the host names. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static gang_node_id node[2];
static const char *const levels[] = {"rack"};

static void open_stage(void)
{
    stage_open(&s, levels, 1);
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 2, NULL));
    for (int i = 0; i < 2; i++) {
        struct box box = {.name = i ? "n1" : "n0",
                          .cpu = 8000,
                          .memory = 8 * GIB,
                          .gpus = 4,
                          .model = "V100",
                          .gpu_memory = 16 * GIB,
                          .cores = 8,
                          .amounts = LIST(struct gang_amount, {"nic", 2}),
                          .place = LIST(struct gang_label, {"rack", i ? "r1" : "r0"})};
        node[i] = stage_add(&s, &box);
    }
}

static void close_stage(void)
{
    stage_close(&s);
}

static struct gang_placement at(int n, uint64_t gpus)
{
    struct gang_placement p = GANG_PLACEMENT_INIT;
    p.node = node[n];
    p.any_devices = gpus == 0;
    p.gpus = gpus;
    return p;
}

static struct outcome adopt(const struct gang_request_spec *spec,
                            const struct gang_placement *places, int64_t count)
{
    struct outcome o = {.id = 1, .error = GANG_ERROR_INIT};
    gang_request *request = stage_request(&s, spec);
    o.result = gang_alloc_adopt(s.w, request, places, count, &o.id, &o.error);
    ck_assert((o.result == GANG_OK) == (o.id != GANG_ID_NONE));
    ck_assert_int_eq(o.error.code, o.result);
    gang_request_free(request);
    stage_check(&s);
    return o;
}

static struct outcome adopt_group(const struct gang_group_spec *g,
                                  const struct gang_placement *places, int64_t count)
{
    struct gang_request_spec spec = request_of(g, 1);
    return adopt(&spec, places, count);
}

START_TEST(exactly_these_places_are_taken)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 2000), group_of(1, 500, 250)};
    struct gang_request_spec spec = request_of(g, 2);
    struct gang_placement places[] = {at(0, 1 | 8), at(1, 2 | 4), at(1, 8)};
    places[2].group = 1;
    struct outcome o = adopt(&spec, places, 3);
    EXPECT_OUTCOME(o, GANG_OK);
    const struct task_list *list = stage_tasks(&s, o.id);
    ck_assert_uint_eq(list->count, 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(list->task[i].task, (int64_t)i);
        ck_assert_uint_eq(list->task[i].node, places[i].node);
        ck_assert_uint_eq(list->task[i].gpus, places[i].gpus);
        ck_assert_int_eq(list->task[i].group, places[i].group);
        ck_assert_int_eq(list->task[i].gpu_share, i < 2 ? 1000 : 250);
    }
    ck_assert_uint_eq(stage_node(&s, node[0]).gpu_mask, 2 | 4);
    ck_assert_uint_eq(stage_node(&s, node[1]).gpu_mask, 1);
    MUST(gang_alloc_free(s.w, o.id));
    ck_assert_uint_eq(stage_node(&s, node[1]).gpu_mask, 15);
}
END_TEST

START_TEST(the_library_picks_devices_on_request)
{
    struct gang_group_spec g = group_of(2, 1000, 1000);
    struct gang_placement places[] = {at(0, 1), at(0, 0)};
    places[1].gpus = 12345; /* ignored */
    struct outcome o = adopt_group(&g, places, 2);
    EXPECT_OUTCOME(o, GANG_OK);
    const struct task_list *list = stage_tasks(&s, o.id);
    ck_assert_uint_eq(list->task[0].gpus, 1);
    ck_assert_uint_ne(list->task[1].gpus, 1);
    ck_assert_int_eq(list->task[1].gpu_count, 1);
}
END_TEST

START_TEST(cores_are_picked_by_the_library)
{
    struct gang_group_spec g = group_of(2, 2000, 0);
    struct gang_placement places[] = {at(1, 0), at(1, 0)};
    struct outcome o = adopt_group(&g, places, 2);
    EXPECT_OUTCOME(o, GANG_OK);
    const struct task_list *list = stage_tasks(&s, o.id);
    ck_assert_int_eq(list->task[0].core_count, 2);
    ck_assert_uint_eq(list->task[0].cores[0] & list->task[1].cores[0], 0);
}
END_TEST

static struct gang_placement named(int64_t task, uint64_t cores)
{
    struct gang_placement p = at(0, 0);
    p.task = task;
    p.any_cores = cores == 0;
    p.cores[0] = cores;
    return p;
}

START_TEST(exactly_these_cores_and_numbers_are_taken)
{
    struct gang_group_spec g[] = {group_of(3, 2000, 0), group_of(2, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    struct gang_placement places[] = {named(4, 0x01), named(2, 0x88), named(0, 0)};
    places[0].group = 1;
    struct outcome o = adopt(&spec, places, 3);
    EXPECT_RESULT(o.result, GANG_OK, &o.error);
    const struct task_list *list = stage_tasks(&s, o.id);
    static const int64_t task[] = {0, 2, 4, 1, 3};
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(list->task[i].task, task[i]);
        ck_assert_int_eq(list->task[i].group, task[i] >= 3);
    }
    ck_assert_uint_eq(list->task[1].cores[0], 0x88);
    ck_assert_uint_eq(list->task[2].cores[0], 0x01);
    ck_assert_uint_eq(list->task[0].cores[0] & 0x89, 0);
    int64_t granted;
    MUST(gang_alloc_grow(s.w, o.id, -1, 5, &granted, NULL)); /* what is free, lowest first */
    list = stage_tasks(&s, o.id);
    ck_assert_uint_eq(list->count, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(list->task[i].task, (int64_t)i);
        ck_assert_int_eq(list->task[i].group, i >= 3);
    }
    stage_check(&s);
}
END_TEST

static void check_refused(const struct gang_request_spec *spec, const struct gang_placement *places,
                          int64_t count, gang_result code, const char *path)
{
    struct outcome o = adopt(spec, places, count);
    EXPECT_ERROR(o.result, code, &o.error, path, NULL);
}

START_TEST(cores_and_numbers_that_cannot_be_are_refused)
{
    struct gang_group_spec g[] = {group_of(2, 2000, 0), group_of(2, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    struct gang_placement twice[] = {named(1, 0), named(1, 0)};
    check_refused(&spec, twice, 2, GANG_EEXIST, "places[1]");
    struct gang_placement some[] = {named(1, 0), named(-1, 0)};
    check_refused(&spec, some, 2, GANG_EINVAL, "places[1]");
    struct gang_placement other = named(2, 0); /* of the other group */
    check_refused(&spec, &other, 1, GANG_ERANGE, "places[0]");
    other = named(-2, 0);
    check_refused(&spec, &other, 1, GANG_EINVAL, "places[0]");
    struct gang_placement cores = named(-1, 0x07); /* three, for two */
    check_refused(&spec, &cores, 1, GANG_EINVAL, "places[0]");
    struct gang_placement taken[] = {named(0, 0x03), named(1, 0x06)};
    check_refused(&spec, taken, 2, GANG_ENOFIT, "places[1]");
    struct gang_placement beyond = named(-1, 0x300);
    check_refused(&spec, &beyond, 1, GANG_ENOFIT, "places[0]");
    beyond.any_cores = 2;
    check_refused(&spec, &beyond, 1, GANG_EINVAL, "places[0]");
}
END_TEST

/* A host that was built with headers before `task` and `cores`. */
START_TEST(an_older_placement_leaves_task_and_cores_to_the_library)
{
    struct gang_group_spec g = group_of(2, 2000, 0);
    struct {
        size_t size;
        int32_t group, any_devices;
        gang_node_id node;
        uint64_t gpus;
    } older[2] = {{sizeof(older[0]), 0, 1, node[0], 0}, {sizeof(older[0]), 0, 1, node[1], 0}};
    struct outcome o = adopt_group(&g, (const struct gang_placement *)(const void *)older, 2);
    EXPECT_RESULT(o.result, GANG_OK, &o.error);
    const struct task_list *list = stage_tasks(&s, o.id);
    ck_assert_uint_eq(list->task[1].node, node[1]);
    ck_assert_int_eq(list->task[1].task, 1);
    ck_assert_int_eq(list->task[1].core_count, 2);
}
END_TEST

START_TEST(adoption_ignores_minimum_constraints_and_states)
{
    struct gang_label_rule rule = {"os", NULL, 0, GANG_LABEL_EXISTS, 0};
    const char *const model = "V100";
    struct gang_group_spec g = group_of(6, 1000, 1000);
    struct gang_placement places[] = {at(0, 4), at(1, 2)};
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    g.labels = &rule;
    g.label_count = 1;
    g.partition = "none";
    g.same = "rack";
    g.gpu_models = &model;
    g.gpu_model_count = 1;
    MUST(gang_node_set_state(s.w, node[0], GANG_NODE_DOWN));
    MUST(gang_node_set_state(s.w, node[1], GANG_NODE_DRAINING));
    struct outcome o = adopt_group(&g, places, 2);
    EXPECT_OUTCOME(o, GANG_OK);
    MUST(gang_alloc_get(s.c, o.id, &info));
    ck_assert_int_eq(info.tasks, 2);
    ck_assert_int_eq(info.min, 6);
    ck_assert_int_eq(stage_node(&s, node[0]).state, GANG_NODE_DOWN);
}
END_TEST

START_TEST(adoption_ignores_the_models_of_named_devices)
{
    const char *const model = "T4";
    struct gang_group_spec g = group_of(1, 1000, 1000);
    struct gang_placement place = at(0, 4);
    g.gpu_models = &model;
    g.gpu_model_count = 1;
    EXPECT_OUTCOME(adopt_group(&g, &place, 1), GANG_OK);
}
END_TEST

START_TEST(adoption_checks_capacity)
{
    static const struct {
        int64_t cpu, memory, gpu, nics, lics;
        int32_t kind;
    } wants[] = {
        {9000, 0, 0, 0, 0, GANG_KIND_CPU},   {0, 9 * GIB, 0, 0, 0, GANG_KIND_MEMORY},
        {0, 0, 5000, 0, 0, GANG_KIND_GPU},   {0, 0, 0, 3, 0, GANG_KIND_SITE},
        {0, 0, 0, 0, 3, GANG_KIND_SITE + 1},
    };
    struct gang_amount amounts[] = {{"nic", wants[_i].nics}, {"lic", wants[_i].lics}};
    struct gang_group_spec g = group_of(2, wants[_i].cpu, wants[_i].gpu);
    g.memory_bytes = wants[_i].memory;
    g.amounts = amounts;
    g.amount_count = 2;
    struct gang_placement places[] = {at(0, 0), at(1, 0)};
    struct gang_group_spec nothing = group_of(1, 0, 0);
    EXPECT_OUTCOME(adopt_group(&nothing, places, 1), GANG_OK);
    struct outcome o = adopt_group(&g, places, 2);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(o.error.kind, wants[_i].kind);
    ck_assert_uint_eq(o.error.id, node[0]);
    ck_assert_int_eq(strncmp(o.error.path, "places[0]", 9), 0);
    ck_assert_int_eq(stage_node(&s, node[0]).cpu_free, 8000);
}
END_TEST

START_TEST(adoption_of_taken_places_is_refused_whole)
{
    struct gang_group_spec g = group_of(2, 1000, 1000);
    struct gang_placement taken = at(1, 4), places[] = {at(0, 4), at(1, 4)};
    EXPECT_OUTCOME(adopt_group(&g, &taken, 1), GANG_OK);
    struct outcome o = adopt_group(&g, places, 2);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(o.error.kind, GANG_KIND_GPU);
    ck_assert_uint_eq(o.error.id, node[1]);
    ck_assert_int_eq(stage_node(&s, node[0]).gpus_free, 4); /* nothing of it was taken */
    places[1].gpus = 8;
    EXPECT_OUTCOME(adopt_group(&g, places, 2), GANG_OK);
}
END_TEST

START_TEST(a_device_is_not_adopted_twice)
{
    struct gang_group_spec g = group_of(2, 1000, 1000), part = group_of(3, 0, 400);
    struct gang_placement places[] = {at(0, 4), at(0, 4), at(0, 4)};
    EXPECT_OUTCOME(adopt_group(&g, places, 2), GANG_ENOFIT);
    EXPECT_OUTCOME(adopt_group(&part, places, 3), GANG_ENOFIT);
    EXPECT_OUTCOME(adopt_group(&part, places, 2), GANG_OK);
    ck_assert_int_eq(stage_node(&s, node[0]).gpu_share_free[2], 200);
    EXPECT_OUTCOME(adopt_group(&g, places, 1), GANG_ENOFIT); /* it is shared */
}
END_TEST

START_TEST(bad_places_are_refused)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 2000), group_of(1, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    static const struct {
        int32_t group, any_devices;
        uint64_t gpus;
    } bad[] = {
        {2, 1, 0}, {-1, 1, 0}, {0, 2, 3}, {0, -1, 3}, {0, 0, 1}, {0, 0, 7}, {0, 0, 0}, {1, 0, 1},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct gang_placement places[] = {at(0, 0), at(0, 0)};
        places[1].group = bad[i].group;
        places[1].any_devices = bad[i].any_devices;
        places[1].gpus = bad[i].gpus;
        struct outcome o = adopt(&spec, places, 2);
        EXPECT_OUTCOME(o, GANG_EINVAL);
        ck_assert_int_eq(strncmp(o.error.path, "places[1]", 9), 0);
    }
    ck_assert_int_eq(stage_node(&s, node[0]).cpu_free, 8000);
}
END_TEST

/* Devices that the node does not have cannot be taken, whatever the answer is called. */
START_TEST(devices_that_are_not_there_are_refused)
{
    struct gang_group_spec g = group_of(1, 1000, 2000);
    struct gang_placement place = at(0, 1 | 16), last = at(0, UINT64_C(3) << 62);
    struct gang_group_spec part = group_of(1, 0, 10);
    EXPECT_OUTCOME(adopt_group(&g, &place, 1), GANG_ENOFIT);
    EXPECT_OUTCOME(adopt_group(&g, &last, 1), GANG_ENOFIT);
    place.gpus = 16;
    EXPECT_OUTCOME(adopt_group(&part, &place, 1), GANG_ENOFIT);
}
END_TEST

START_TEST(no_more_tasks_than_the_count)
{
    struct gang_group_spec g = group_of(2, 1000, 0);
    struct gang_placement places[] = {at(0, 0), at(0, 0), at(1, 0)};
    struct outcome o = adopt_group(&g, places, 3);
    EXPECT_OUTCOME(o, GANG_ERANGE);
    ck_assert_int_eq(strncmp(o.error.path, "places[2]", 9), 0);
    EXPECT_OUTCOME(adopt_group(&g, places, 2), GANG_OK);
}
END_TEST

START_TEST(adoption_needs_existing_nodes)
{
    struct gang_group_spec g = group_of(2, 1000, 0);
    struct gang_placement places[] = {at(0, 0), at(1, 0)};
    places[1].node = GANG_ID_NONE;
    EXPECT_OUTCOME(adopt_group(&g, places, 2), GANG_ESTALE);
    places[1].node = node[1] + (UINT64_C(1) << 32);
    EXPECT_OUTCOME(adopt_group(&g, places, 2), GANG_ESTALE);
    places[1].node = node[1];
    MUST(gang_node_remove(s.w, node[1]));
    EXPECT_OUTCOME(adopt_group(&g, places, 2), GANG_ESTALE);
    EXPECT_OUTCOME(adopt_group(&g, places, 1), GANG_OK);
}
END_TEST

START_TEST(a_removed_node_takes_nothing)
{
    struct gang_group_spec g = group_of(1, 1000, 0), none = group_of(1, 0, 0);
    struct gang_placement place = at(0, 0);
    gang_alloc_id held = adopt_group(&g, &place, 1).id;
    MUST(gang_node_remove(s.w, node[0]));
    gang_result r = adopt_group(&g, &place, 1).result;
    ck_assert(r == GANG_ENOFIT || r == GANG_ESTALE);
    r = adopt_group(&none, &place, 1).result;
    ck_assert(r == GANG_ENOFIT || r == GANG_ESTALE);
    ck_assert_int_eq(stage_node(&s, node[0]).cpu_free, 7000);
    MUST(gang_alloc_free(s.w, held));
    EXPECT_OUTCOME(adopt_group(&g, &place, 1), GANG_ESTALE); /* now it is gone */
}
END_TEST

START_TEST(missing_arguments_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement place = at(0, 0);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id = 1;
    EXPECT_RESULT(gang_alloc_adopt(NULL, request, &place, 1, &id, &error), GANG_EINVAL, &error);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    ck_assert_int_eq(error.code, GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_adopt(s.w, NULL, &place, 1, &id, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_adopt(s.w, request, NULL, 1, &id, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_adopt(s.w, request, &place, 0, &id, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_adopt(s.w, request, &place, -1, &id, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_adopt(s.w, request, &place, 1, NULL, NULL), GANG_EINVAL);
    gang_request_free(request);
}
END_TEST

START_TEST(places_follow_the_size_rule)
{
    struct {
        struct gang_placement known;
        int64_t more[2];
    } places[2];
    struct gang_group_spec g = group_of(2, 1000, 1000);
    memset(places, 0, sizeof(places));
    for (int i = 0; i < 2; i++) {
        places[i].known = at(i, 2);
        places[i].known.size = sizeof(places[i]);
    }
    struct outcome o = adopt_group(&g, &places[0].known, 2);
    EXPECT_OUTCOME(o, GANG_OK);
    ck_assert_uint_eq(stage_tasks(&s, o.id)->task[1].node, node[1]); /* found by its size */
    MUST(gang_alloc_free(s.w, o.id));
    places[1].more[1] = 1;
    EXPECT_OUTCOME(adopt_group(&g, &places[0].known, 2), GANG_E2BIG);
    places[1].more[1] = 0;
    const size_t bad[] = {0, sizeof(struct gang_placement) - 1, SIZE_MAX};
    for (size_t i = 0; i < 3; i++) {
        places[0].known.size = bad[i];
        o = adopt_group(&g, &places[0].known, 1);
        EXPECT_OUTCOME(o, GANG_EINVAL);
        ck_assert_int_eq(strncmp(o.error.path, "places[0]", 9), 0);
    }
}
END_TEST

/* What was adopted below its minimum grows and shrinks like any other. */
START_TEST(an_adopted_allocation_grows)
{
    struct gang_group_spec g = group_of(4, 1000, 1000);
    struct gang_placement place = at(0, 4);
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    int64_t granted, task = 0;
    struct gang_error error = GANG_ERROR_INIT;
    gang_alloc_id id = adopt_group(&g, &place, 1).id;
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, &task, 1, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_MIN);
    MUST(gang_alloc_grow(s.w, id, 0, 3, &granted, NULL));
    ck_assert_int_eq(granted, 3);
    MUST(gang_alloc_get(s.c, id, &info));
    ck_assert_int_eq(info.tasks, 4);
    ck_assert_int_eq(gang_alloc_grow(s.w, id, 0, 1, &granted, NULL), GANG_ERANGE);
    ck_assert_uint_eq(stage_tasks(&s, id)->task[0].gpus, 4);
}
END_TEST

/* A host that comes up again: what ran is adopted as it was. */
START_TEST(a_whole_state_is_restored)
{
    static struct task_list before;
    struct gang_group_spec g = group_of(5, 1500, 500);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang_placement places[5];
    g.gpu_devices = 2;
    spec.policy = GANG_POLICY_SPREAD;
    gang_alloc_id id = stage_alloc(&s, &spec);
    before = *stage_tasks(&s, id);
    struct gang_node_info info[2], now;
    for (int i = 0; i < 2; i++)
        info[i] = stage_node(&s, node[i]);
    MUST(gang_alloc_free(s.w, id));
    for (int i = 0; i < 5; i++) {
        places[i] = at(0, before.task[i].gpus);
        places[i].node = before.task[i].node;
    }
    struct outcome o = adopt(&spec, places, 5);
    EXPECT_OUTCOME(o, GANG_OK);
    const struct task_list *after = stage_tasks(&s, o.id);
    ck_assert_mem_eq(after->task, before.task, 5 * sizeof(before.task[0]));
    for (int i = 0; i < 2; i++) {
        now = stage_node(&s, node[i]);
        ck_assert_mem_eq(&now, &info[i], sizeof(now));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("adopt");
    TCase *tests = tcase_create("adopt");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, exactly_these_places_are_taken);
    tcase_add_test(tests, the_library_picks_devices_on_request);
    tcase_add_test(tests, cores_are_picked_by_the_library);
    tcase_add_test(tests, adoption_ignores_minimum_constraints_and_states);
    tcase_add_test(tests, adoption_ignores_the_models_of_named_devices);
    tcase_add_loop_test(tests, adoption_checks_capacity, 0, 5);
    tcase_add_test(tests, adoption_of_taken_places_is_refused_whole);
    tcase_add_test(tests, a_device_is_not_adopted_twice);
    tcase_add_test(tests, bad_places_are_refused);
    tcase_add_test(tests, devices_that_are_not_there_are_refused);
    tcase_add_test(tests, no_more_tasks_than_the_count);
    tcase_add_test(tests, adoption_needs_existing_nodes);
    tcase_add_test(tests, a_removed_node_takes_nothing);
    tcase_add_test(tests, exactly_these_cores_and_numbers_are_taken);
    tcase_add_test(tests, cores_and_numbers_that_cannot_be_are_refused);
    tcase_add_test(tests, an_older_placement_leaves_task_and_cores_to_the_library);
    tcase_add_test(tests, missing_arguments_are_refused);
    tcase_add_test(tests, places_follow_the_size_rule);
    tcase_add_test(tests, an_adopted_allocation_grows);
    tcase_add_test(tests, a_whole_state_is_restored);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
