/* SPDX-License-Identifier: Apache-2.0 */
/* core.h: describing a node again while it is in use. */
#include <gangsched/gangsched.h>

#include "base/atomic.h"
#include "support.h"

static struct stage s;
static struct box box; /* the node as it is described */
static struct gang_amount amounts[2];
static struct gang_label rack, label;
static struct box_arrays arrays;
static struct gang_link_spec link01;
static gang_node_id id;

static const char *const levels[] = {"rack"};

static struct gang_node_spec spec_now(void)
{
    struct gang_node_spec spec = box_spec(&box, &arrays);
    spec.links = &link01;
    spec.link_count = 1;
    for (size_t i = 0; i < box.gpus; i++)
        arrays.gpu[i].pci = "0000:07:00.0";
    return spec;
}

static void open_stage(void)
{
    stage_open(&s, levels, 1);
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "disk", NULL, GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "tape", NULL, GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 5, NULL));
    amounts[0] = (struct gang_amount){"nic", 4};
    amounts[1] = (struct gang_amount){"disk", 8};
    rack = (struct gang_label){"rack", "r1"};
    label = (struct gang_label){"os", "linux"};
    link01 = (struct gang_link_spec){0, 1, GANG_LINK_NVLINK, 1, 25000};
    box = (struct box){.name = "n1",
                       .cpu = 6000,
                       .memory = 4 * GIB,
                       .gpus = 4,
                       .model = "V100",
                       .gpu_memory = 16 * GIB,
                       .numas = 2,
                       .cores = 8,
                       .amounts = amounts,
                       .amount_count = 2,
                       .labels = &label,
                       .label_count = 1,
                       .place = &rack,
                       .place_count = 1};
    struct gang_node_spec spec = spec_now();
    MUST(gang_node_add(s.w, &spec, &id, NULL));
}

static void close_stage(void)
{
    stage_close(&s);
}

static gang_result change(struct gang_error *error)
{
    struct gang_node_spec spec = spec_now();
    return gang_node_change(s.w, id, &spec, error);
}

/* One task that takes 2 cores, a GPU, 1 GiB and two of each kind. */
static struct gang_group_spec task_of_all(void)
{
    static const struct gang_amount two[] = {{"nic", 2}, {"disk", 2}};
    struct gang_group_spec g = group_of(1, 2000, 1000);
    g.memory_bytes = GIB;
    g.amounts = two;
    g.amount_count = 2;
    return g;
}

static void same_info(const struct gang_node_info *a, const struct gang_node_info *b)
{
    ck_assert_mem_eq(a, b, sizeof(*a));
}

START_TEST(capacities_of_an_empty_node_change)
{
    box.cpu = 8000;
    box.memory = 5 * GIB;
    amounts[0].amount = 0;
    amounts[1].amount = 100;
    MUST(change(NULL));
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_int_eq(info.cpu_milli, 8000);
    ck_assert_int_eq(info.cpu_free, 8000);
    ck_assert_int_eq(info.memory_bytes, 5 * GIB);
    ck_assert_int_eq(info.memory_free, 5 * GIB);
    ck_assert_int_eq(info.amount[GANG_KIND_SITE], 0);
    ck_assert_int_eq(info.amount_free[GANG_KIND_SITE + 1], 100);
    ck_assert_int_eq(gang_node_count(s.c), 1);
    stage_check(&s);
}
END_TEST

START_TEST(what_is_taken_stays_taken)
{
    struct gang_group_spec g = task_of_all();
    gang_alloc_id held = stage_alloc_group(&s, &g);
    struct gang_task before = stage_tasks(&s, held)->task[0];
    box.cpu = 7000;
    box.memory = 3 * GIB;
    amounts[0].amount = 3;
    MUST(change(NULL));
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_int_eq(info.cpu_free, 5000);
    ck_assert_int_eq(info.memory_free, 2 * GIB);
    ck_assert_int_eq(info.gpus_free, 3);
    ck_assert_int_eq(info.amount_free[GANG_KIND_SITE], 1);
    ck_assert_mem_eq(&stage_tasks(&s, held)->task[0], &before, sizeof(before));
    stage_check(&s);
    MUST(gang_alloc_free(s.w, held));
    info = stage_node(&s, id);
    ck_assert_int_eq(info.cpu_free, 7000);
    ck_assert_int_eq(info.memory_free, 3 * GIB);
    ck_assert_int_eq(info.amount_free[GANG_KIND_SITE], 3);
}
END_TEST

/* Another reader at each step of the change: capacity, what is free, and description go
 * together. */
static int looks_old, looks_new;
static bool looking;

static void look_at_both(enum gang__step step)
{
    struct gang_node_info info = {.size = sizeof(info)};
    struct gang_node_spec *spec;
    (void)step;
    if (looking)
        return;
    looking = true;
    MUST(gang_node_get(s.c, id, &info));
    ck_assert_int_eq(info.cpu_milli - info.cpu_free, 2000);
    ck_assert_int_eq(info.amount[GANG_KIND_SITE] - info.amount_free[GANG_KIND_SITE], 2);
    ck_assert_int_eq(info.state, info.cpu_milli == 6000 ? GANG_NODE_UP : GANG_NODE_DRAINING);
    if (info.cpu_milli == 6000)
        looks_old++;
    else
        looks_new++;
    MUST(gang_node_get_spec(s.c, id, &spec));
    ck_assert_int_eq(spec->cpu_milli, info.cpu_milli); /* nothing happens between the two */
    ck_assert_str_eq(spec->labels[0].value, info.cpu_milli == 6000 ? "linux" : "plan9");
    gang_node_spec_free(spec);
    looking = false;
}

START_TEST(a_reader_sees_before_or_after)
{
    struct gang_group_spec g = task_of_all();
    stage_alloc_group(&s, &g);
    box.cpu = _i ? 4000 : 5000; /* of six named cores */
    amounts[0].amount = _i ? 3 : 9;
    label.value = "plan9";
    box.state = GANG_NODE_DRAINING;
    looks_old = looks_new = 0;
    atomic_store(&gang__hook_now, look_at_both);
    MUST(change(NULL));
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert_int_gt(looks_old, 0);
    ck_assert_int_gt(looks_new, 0);
}
END_TEST

START_TEST(a_capacity_may_fall_to_just_what_is_taken)
{
    struct gang_group_spec g = task_of_all();
    stage_alloc_group(&s, &g);
    box.cpu = 2000;
    box.memory = GIB;
    amounts[0].amount = amounts[1].amount = 2;
    MUST(change(NULL));
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_int_eq(info.cpu_free, 0);
    ck_assert_int_eq(info.memory_free, 0);
    ck_assert_int_eq(info.amount_free[GANG_KIND_SITE], 0);
}
END_TEST

/* Below what is taken: of each kind in turn; together with changes that would be possible. */
START_TEST(a_capacity_does_not_fall_below_what_is_taken)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = task_of_all();
    struct gang_node_spec *spec;
    gang_alloc_id held = stage_alloc_group(&s, &g);
    struct gang_node_info before = stage_node(&s, id);
    const int32_t kind[] = {GANG_KIND_CPU, GANG_KIND_MEMORY, GANG_KIND_SITE, GANG_KIND_SITE + 1};
    box.cpu = _i == 0 ? 1999 : 7000;
    box.memory = _i == 1 ? GIB - 1 : 9 * GIB;
    amounts[0].amount = _i == 2 ? 1 : 50;
    amounts[1].amount = _i == 3 ? 1 : 50;
    rack.value = "r2";
    label.value = "plan9";
    box.state = GANG_NODE_DOWN;
    EXPECT_RESULT(change(&error), GANG_EBUSY, &error);
    ck_assert_int_eq(error.kind, kind[_i]);
    ck_assert_uint_eq(error.id, id);
    struct gang_node_info after = stage_node(&s, id);
    same_info(&before, &after);
    MUST(gang_node_get_spec(s.c, id, &spec));
    ck_assert_int_eq(spec->cpu_milli, 6000);
    ck_assert_str_eq(spec->labels[0].value, "linux");
    ck_assert_str_eq(spec->topology[0].value, "r1");
    gang_node_spec_free(spec);
    stage_check(&s);
    MUST(gang_alloc_free(s.w, held));
    MUST(change(NULL)); /* now it can */
}
END_TEST

START_TEST(a_refused_change_leaves_the_place_as_it_was)
{
    struct box other = {
        .name = "n2", .cpu = 6000, .place = LIST(struct gang_label, {"rack", "r2"})};
    struct gang_group_spec g = task_of_all();
    stage_add(&s, &other);
    stage_alloc_group(&s, &g);
    box.cpu = 1000;
    rack.value = "r2";
    ck_assert_int_eq(change(NULL), GANG_EBUSY);
    g = group_of(10, 1000, 0); /* 4 + 6 cores are free, in two racks */
    g.same = "rack";
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g.same = NULL;
    stage_alloc_group(&s, &g);
}
END_TEST

START_TEST(a_new_place_counts_for_the_next_request)
{
    struct box other = {
        .name = "n2", .cpu = 6000, .place = LIST(struct gang_label, {"rack", "r2"})};
    struct gang_group_spec g = group_of(12, 1000, 0);
    gang_node_id n2 = stage_add(&s, &other);
    g.same = "rack";
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    rack.value = "r2";
    MUST(change(NULL));
    gang_alloc_id held = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_tasks_on(&s, held, id), 6);
    ck_assert_uint_eq(stage_tasks_on(&s, held, n2), 6);
    MUST(gang_alloc_free(s.w, held));
    box.place_count = 0; /* nowhere */
    MUST(change(NULL));
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

/* A node that was listed twice in its rack would get two tasks before the other gets one. */
START_TEST(a_node_that_came_back_is_one_node_of_its_rack)
{
    struct box other = {
        .name = "n2", .cpu = 4000, .place = LIST(struct gang_label, {"rack", "r1"})};
    struct gang_group_spec g = group_of(2, 1000, 0), hold = task_of_all();
    struct gang_request_spec spec = request_of(&g, 1);
    gang_node_id n2 = stage_add(&s, &other);
    g.same = "rack";
    spec.policy = GANG_POLICY_SPREAD;
    spec.gpu_nodes = GANG_GPU_NODES_ALLOW; /* one has GPUs, the other not */
    rack.value = "r2";
    if (_i == 0) { /* really away, and back */
        MUST(change(NULL));
    } else { /* only tried to go to where it goes then */
        gang_alloc_id held = stage_alloc_group(&s, &hold);
        other = (struct box){
            .name = "n3", .cpu = 4000, .place = LIST(struct gang_label, {"rack", "r2"})};
        MUST(gang_node_remove(s.w, n2));
        n2 = stage_add(&s, &other);
        box.cpu = 1000;
        ck_assert_int_eq(change(NULL), GANG_EBUSY);
        box.cpu = 6000;
        MUST(gang_alloc_free(s.w, held));
    }
    rack.value = _i == 0 ? "r1" : "r2";
    MUST(change(NULL));
    gang_alloc_id held = stage_alloc(&s, &spec);
    ck_assert_uint_eq(stage_tasks_on(&s, held, id), 1);
    ck_assert_uint_eq(stage_tasks_on(&s, held, n2), 1);
}
END_TEST

START_TEST(new_labels_and_partitions_count_for_the_next_request)
{
    const char *const plan9 = "plan9", *const batch = "batch";
    struct gang_label_rule rule = {"os", &plan9, 1, GANG_LABEL_IN, 0};
    struct gang_group_spec g = group_of(1, 1000, 0);
    g.labels = &rule;
    g.label_count = 1;
    g.partition = "batch";
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    label.value = "plan9";
    MUST(change(NULL));
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    box.partitions = &batch;
    box.partition_count = 1;
    MUST(change(NULL));
    stage_alloc_group(&s, &g);
}
END_TEST

START_TEST(the_state_changes_with_the_rest)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    box.state = GANG_NODE_DRAINING;
    MUST(change(NULL));
    ck_assert_int_eq(stage_node(&s, id).state, GANG_NODE_DRAINING);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    box.state = GANG_NODE_UP;
    MUST(change(NULL));
    stage_alloc_group(&s, &g);
}
END_TEST

START_TEST(a_larger_node_makes_the_impossible_possible)
{
    struct gang_group_spec g = group_of(1, 8000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id held;
    ck_assert_int_eq(gang_alloc(s.w, request, &held, NULL), GANG_ENEVER);
    box.cpu = 8000;
    MUST(change(NULL));
    MUST(gang_alloc(s.w, request, &held, NULL));
    MUST(gang_alloc_free(s.w, held));
    box.cpu = 7999;
    MUST(change(NULL));
    ck_assert_int_eq(gang_alloc(s.w, request, &held, NULL), GANG_ENEVER);
    gang_request_free(request);
}
END_TEST

START_TEST(amounts_may_be_listed_in_another_order)
{
    struct gang_group_spec g = task_of_all();
    stage_alloc_group(&s, &g);
    amounts[0] = (struct gang_amount){"disk", 9};
    amounts[1] = (struct gang_amount){"nic", 5};
    MUST(change(NULL));
    struct gang_node_info info = stage_node(&s, id);
    ck_assert_int_eq(info.amount[GANG_KIND_SITE], 5);
    ck_assert_int_eq(info.amount_free[GANG_KIND_SITE], 3);
    ck_assert_int_eq(info.amount[GANG_KIND_SITE + 1], 9);
    ck_assert_int_eq(info.amount_free[GANG_KIND_SITE + 1], 7);
    stage_check(&s);
}
END_TEST

static struct gang_node_spec other_device(int what)
{
    struct gang_node_spec spec = spec_now();
    switch (what) {
    case 0:
        spec.gpu_count--;
        break;
    case 1:
        arrays.gpu[3].model = "A100";
        break;
    case 2:
        arrays.gpu[3].memory_bytes++;
        break;
    case 3:
        arrays.gpu[3].numa = 0;
        break;
    case 4:
        arrays.gpu[3].pci = NULL;
        break;
    case 5:
        arrays.gpu[3].uuid = "GPU-1";
        break;
    case 6:
        spec.link_count = 0;
        break;
    case 7:
        link01.b = 2;
        break;
    case 8:
        link01.type = GANG_LINK_XGMI;
        break;
    case 9:
        link01.bandwidth_mbps = 1;
        break;
    case 10:
        spec.core_count--;
        break;
    case 11:
        arrays.core[7].os_index = 99;
        break;
    case 12:
        arrays.core[7].numa = 0;
        break;
    case 13:
        arrays.core[7].threads = 2;
        break;
    case 14:
        arrays.core[7].cpuset = "7,15";
        break;
    case 15:
        arrays.numa[1].memory_bytes = GIB;
        break;
    case 16:
        arrays.numa[1].os_index = 5;
        break;
    case 17:
        arrays.numa[1].package = 0;
        break;
    case 18:
        arrays.gpu[3].parent = "p";
        break;
    default:
        arrays.numa[2].package = 2;
        spec.numa_count++;
        break;
    }
    return spec;
}
enum { OTHER_DEVICES = 20 };

START_TEST(devices_must_be_as_before)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_info before = stage_node(&s, id);
    box.memory = 5 * GIB;
    struct gang_node_spec spec = other_device(_i);
    EXPECT_RESULT(gang_node_change(s.w, id, &spec, &error), GANG_EINVAL, &error);
    struct gang_node_info after = stage_node(&s, id);
    same_info(&before, &after);
}
END_TEST

START_TEST(the_name_must_be_as_before)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_node_id found;
    box.name = "n2";
    EXPECT_ERROR(change(&error), GANG_EINVAL, &error, "name", NULL);
    ck_assert_int_eq(gang_node_find(s.c, "n2", &found), GANG_ENOENT);
    MUST(gang_node_find(s.c, "n1", &found));
}
END_TEST

/* Words are laid out for the kinds that the node had; new kinds need a new node. */
START_TEST(the_kinds_must_be_as_before)
{
    struct gang_error error = GANG_ERROR_INIT;
    amounts[1].kind = "tape";
    EXPECT_ERROR(change(&error), GANG_EINVAL, &error, "amounts", NULL);
    amounts[1].kind = "disk";
    box.amount_count = 1;
    EXPECT_ERROR(change(&error), GANG_EINVAL, &error, "amounts", NULL);
}
END_TEST

/* Above 1000 millicores a core tasks get no cores of their own: running ones have some. */
START_TEST(whether_cores_are_named_must_be_as_before)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(1, 2000, 0);
    gang_alloc_id held = stage_alloc_group(&s, &g);
    struct gang_node_info before = stage_node(&s, id);
    box.cpu = 8001;
    EXPECT_ERROR(change(&error), GANG_EINVAL, &error, "cpu_milli", NULL);
    struct gang_node_info after = stage_node(&s, id);
    same_info(&before, &after);
    stage_check(&s);
    box.cpu = 8000;
    MUST(change(NULL));
    MUST(gang_alloc_free(s.w, held));
    stage_check(&s);
}
END_TEST

START_TEST(a_bad_specification_changes_nothing)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_info before = stage_node(&s, id);
    box.cpu = -1;
    EXPECT_ERROR(change(&error), GANG_ERANGE, &error, "cpu_milli", NULL);
    box.cpu = 7000;
    rack.key = "row";
    EXPECT_ERROR(change(&error), GANG_ENOENT, &error, "topology[0].key", NULL);
    rack.key = "rack";
    amounts[1].kind = "spoon";
    EXPECT_ERROR(change(&error), GANG_ENOENT, &error, "amounts[1].kind", NULL);
    amounts[1].kind = "lic";
    EXPECT_ERROR(change(&error), GANG_EINVAL, &error, "amounts[1].kind", NULL);
    EXPECT_RESULT(gang_node_change(s.w, id, NULL, &error), GANG_EINVAL, &error);
    struct gang_node_spec spec = spec_now();
    EXPECT_RESULT(gang_node_change(NULL, id, &spec, &error), GANG_EINVAL, &error);
    struct gang_node_info after = stage_node(&s, id);
    same_info(&before, &after);
}
END_TEST

START_TEST(a_removed_node_does_not_change)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(1, 2000, 0);
    stage_alloc_group(&s, &g);
    MUST(gang_node_remove(s.w, id));
    EXPECT_RESULT(change(&error), GANG_ESTALE, &error);
    ck_assert_int_eq(stage_node(&s, id).state, GANG_NODE_REMOVED);
}
END_TEST

START_TEST(many_changes_keep_memory_bounded)
{
    for (int i = 0; i < 200; i++) {
        box.memory = (i % 7 + 1) * GIB;
        rack.value = i % 2 ? "r1" : "r2";
        MUST(change(NULL));
    }
    long live = s.mem.live;
    for (int i = 0; i < 1000; i++) {
        box.memory = (i % 7 + 1) * GIB;
        rack.value = i % 2 ? "r1" : "r2";
        MUST(change(NULL));
    }
    ck_assert_int_le(s.mem.live, live + 200);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("node change");
    TCase *tests = tcase_create("node change");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, capacities_of_an_empty_node_change);
    tcase_add_test(tests, what_is_taken_stays_taken);
    tcase_add_loop_test(tests, a_reader_sees_before_or_after, 0, 2);
    tcase_add_test(tests, a_capacity_may_fall_to_just_what_is_taken);
    tcase_add_loop_test(tests, a_capacity_does_not_fall_below_what_is_taken, 0, 4);
    tcase_add_test(tests, a_refused_change_leaves_the_place_as_it_was);
    tcase_add_test(tests, a_new_place_counts_for_the_next_request);
    tcase_add_loop_test(tests, a_node_that_came_back_is_one_node_of_its_rack, 0, 2);
    tcase_add_test(tests, new_labels_and_partitions_count_for_the_next_request);
    tcase_add_test(tests, the_state_changes_with_the_rest);
    tcase_add_test(tests, a_larger_node_makes_the_impossible_possible);
    tcase_add_test(tests, amounts_may_be_listed_in_another_order);
    tcase_add_loop_test(tests, devices_must_be_as_before, 0, OTHER_DEVICES);
    tcase_add_test(tests, the_name_must_be_as_before);
    tcase_add_test(tests, the_kinds_must_be_as_before);
    tcase_add_test(tests, whether_cores_are_named_must_be_as_before);
    tcase_add_test(tests, a_bad_specification_changes_nothing);
    tcase_add_test(tests, a_removed_node_does_not_change);
    tcase_add_test(tests, many_changes_keep_memory_bounded);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
