/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: a gang is placed whole or not at all; minima of groups, sets and requests. */
#include <gangsched/gangsched.h>

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

/* Nodes n0, n1, ... alike. */
static gang_node_id node[8];

static void add_nodes(int count, int64_t cpu, int64_t memory, size_t gpus)
{
    char name[20];
    struct box box = {.name = name, .cpu = cpu, .memory = memory, .gpus = gpus};
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        node[i] = stage_add(&s, &box);
    }
}

static int64_t cpu_free(void)
{
    int64_t sum = 0;
    for (gang_node_id id = gang_node_next(s.c, GANG_ID_NONE); id; id = gang_node_next(s.c, id))
        sum += stage_node(&s, id).cpu_free;
    return sum;
}

/* Tasks of each group of an allocation. */
static void count_groups(gang_alloc_id id, size_t *count, size_t groups)
{
    const struct task_list *list = stage_tasks(&s, id);
    memset(count, 0, groups * sizeof(*count));
    for (size_t i = 0; i < list->count; i++) {
        ck_assert_int_lt(list->task[i].group, (int32_t)groups);
        count[list->task[i].group]++;
    }
}

/* ---- whole or not at all ---- */

START_TEST(a_gang_over_several_nodes_is_placed_whole)
{
    struct gang_group_spec g = group_of(12, 1000, 1000);
    add_nodes(3, 4000, GIB, 4);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[i]), 4);
        struct gang_node_info info = stage_node(&s, node[i]);
        ck_assert_int_eq(info.cpu_free, 0);
        ck_assert_int_eq(info.gpus_free, 0);
    }
    MUST(gang_alloc_free(s.w, id));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(stage_node(&s, node[i]).gpus_free, 4);
}
END_TEST

/* Eleven of twelve tasks fit: in turn a core, memory, a GPU, a card is missing for the
 * last. */
START_TEST(alloc_refuses_when_one_node_lacks_something)
{
    struct box box = {.name = "n", .cpu = 4000, .memory = 4 * GIB, .gpus = 4};
    struct gang_amount has = {"nic", 4}, wants = {"nic", 1};
    struct gang_group_spec g = group_of(12, 1000, 1000);
    gang_node_id id[3];
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    g.memory_bytes = GIB;
    g.amounts = &wants;
    g.amount_count = 1;
    for (int i = 0; i < 3; i++) {
        char name[20];
        snprintf(name, sizeof(name), "n%d", i);
        bool last = i == 2;
        box = (struct box){.name = name,
                           .cpu = last && _i == 0 ? 3999 : 4000,
                           .memory = last && _i == 1 ? 4 * GIB - 1 : 4 * GIB,
                           .gpus = last && _i == 2 ? 3 : 4,
                           .amounts = &has,
                           .amount_count = 1};
        has.amount = last && _i == 3 ? 3 : 4;
        id[i] = stage_add(&s, &box);
    }
    struct gang_node_info before[3], after;
    for (int i = 0; i < 3; i++)
        before[i] = stage_node(&s, id[i]);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    for (int i = 0; i < 3; i++) {
        after = stage_node(&s, id[i]);
        ck_assert_mem_eq(&after, &before[i], sizeof(after));
    }
    ck_assert_uint_eq(gang_alloc_next(s.c, GANG_ID_NONE), GANG_ID_NONE);
    stage_check(&s);
    g.count = g.min = 11;
    stage_alloc_group(&s, &g);
}
END_TEST

START_TEST(if_one_group_does_not_fit_none_is_placed)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 1000), group_of(1, 4000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add_nodes(2, 4000, GIB, 1);
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    ck_assert_int_eq(cpu_free(), 8000);
    g[1].cpu_milli = 3000;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_int_eq(cpu_free(), 3000);
    size_t count[2];
    count_groups(id, count, 2);
    ck_assert_uint_eq(count[0], 2);
    ck_assert_uint_eq(count[1], 1);
}
END_TEST

/* The group without GPUs is named first and would fill the node with the GPUs. */
START_TEST(groups_that_are_hard_to_place_go_first)
{
    struct gang_group_spec g[] = {group_of(4, 1000, 0), group_of(2, 2000, 1000)};
    struct gang_request_spec spec = request_of(g, 2);
    struct box box = {.name = "gpu", .cpu = 4000, .gpus = 2};
    stage_add(&s, &box);
    box = (struct box){.name = "cpu", .cpu = 4000};
    stage_add(&s, &box);
    for (spec.policy = 0; spec.policy < 3; spec.policy++) {
        gang_alloc_id id = stage_alloc(&s, &spec);
        ck_assert_int_eq(cpu_free(), 0);
        MUST(gang_alloc_free(s.w, id));
    }
}
END_TEST

/* The second group looks harder, but only the first node has memory for the first one. */
START_TEST(groups_are_also_tried_in_their_own_order)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(1, 2000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    struct box box = {.name = "a", .cpu = 8000, .memory = 8 * GIB};
    stage_add(&s, &box);
    box = (struct box){.name = "b", .cpu = 8000, .memory = GIB};
    stage_add(&s, &box);
    g[0].memory_bytes = 8 * GIB;
    g[1].memory_bytes = GIB;
    spec.policy = GANG_POLICY_FIRST;
    stage_alloc(&s, &spec);
}
END_TEST

START_TEST(a_gang_takes_its_minimum_and_no_more)
{
    struct gang_group_spec g = group_of(6, 1000, 0);
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    add_nodes(2, 4000, GIB, 0);
    g.min = 2;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    MUST(gang_alloc_get(s.c, id, &info));
    ck_assert_int_eq(info.tasks, 2);
    ck_assert_int_eq(info.min, 2);
    ck_assert_int_eq(info.count, 6);
    ck_assert_int_eq(cpu_free(), 6000);
}
END_TEST

START_TEST(a_gang_as_large_as_the_cluster_fits_and_one_larger_does_not)
{
    add_nodes(4, 1000, GIB, 0);
    struct gang_group_spec g = group_of(5, 1000, 0);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    g.min = g.count = 4;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, id));
    stage_alloc_group(&s, &g);
}
END_TEST

/* ---- minima ---- */

START_TEST(the_request_may_want_more_than_its_groups_do)
{
    struct gang_group_spec g[] = {group_of(4, 1000, 0), group_of(3, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    size_t count[2];
    g[0].min = 1;
    g[1].min = 2;
    spec.min = 6;
    add_nodes(2, 3000, GIB, 0);
    gang_alloc_id id = stage_alloc(&s, &spec);
    MUST(gang_alloc_get(s.c, id, &info));
    ck_assert_int_eq(info.tasks, 6);
    ck_assert_int_eq(info.min, 6);
    ck_assert_int_eq(info.count, 7);
    count_groups(id, count, 2);
    ck_assert_uint_ge(count[0], 1);
    ck_assert_uint_le(count[0], 4);
    ck_assert_uint_ge(count[1], 2);
    ck_assert_uint_le(count[1], 3);
    MUST(gang_alloc_free(s.w, id));
    spec.min = 7;
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    ck_assert_int_eq(cpu_free(), 6000);
}
END_TEST

START_TEST(the_request_needs_at_least_what_its_groups_need)
{
    struct gang_group_spec g[] = {group_of(4, 1000, 0), group_of(3, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    g[0].min = 2;
    spec.min = 1; /* of any group */
    add_nodes(1, 8000, GIB, 0);
    gang_alloc_id id = stage_alloc(&s, &spec);
    MUST(gang_alloc_get(s.c, id, &info));
    ck_assert_int_eq(info.min, 5);
    ck_assert_int_eq(info.tasks, 5);
}
END_TEST

/* What is missing to the request's minimum is taken from the group that still fits. */
START_TEST(any_group_may_fill_up_the_request)
{
    struct gang_group_spec g[] = {group_of(4, 1000, 1000), group_of(4, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    size_t count[2];
    g[0].min = 1;
    g[1].min = 0;
    spec.min = 4;
    add_nodes(1, 8000, GIB, 2);
    gang_alloc_id id = stage_alloc(&s, &spec);
    count_groups(id, count, 2);
    ck_assert_uint_ge(count[0], 1);
    ck_assert_uint_le(count[0], 2); /* two GPUs */
    ck_assert_uint_eq(count[0] + count[1], 4);
}
END_TEST

START_TEST(a_set_has_a_minimum_of_its_own)
{
    struct gang_group_spec g[] = {group_of(3, 1000, 0), group_of(3, 1000, 0), group_of(3, 1000, 0)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 3);
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    size_t count[3];
    for (int i = 0; i < 2; i++) {
        g[i].min = i;
        g[i].group_set = 0;
    }
    g[2].min = 1;
    set.min = 4;
    spec.group_sets = &set;
    spec.group_set_count = 1;
    add_nodes(1, 5000, GIB, 0);
    gang_alloc_id id = stage_alloc(&s, &spec);
    count_groups(id, count, 3);
    ck_assert_uint_eq(count[0] + count[1], 4);
    ck_assert_uint_ge(count[1], 1);
    ck_assert_uint_eq(count[2], 1);
    MUST(gang_alloc_get(s.c, id, &info));
    ck_assert_int_eq(info.min, 5);
    MUST(gang_alloc_free(s.w, id));
    set.min = 5;
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
}
END_TEST

START_TEST(sets_nest)
{
    struct gang_group_spec g[] = {group_of(4, 1000, 0), group_of(4, 1000, 0), group_of(4, 1000, 0)};
    struct gang_group_set_spec set[3] = {GANG_GROUP_SET_SPEC_INIT, GANG_GROUP_SET_SPEC_INIT,
                                         GANG_GROUP_SET_SPEC_INIT};
    struct gang_request_spec spec = request_of(g, 3);
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    size_t count[3];
    for (int i = 0; i < 3; i++) {
        g[i].min = 1;
        g[i].group_set = i;
        set[i].parent = i - 1; /* 2 inside 1 inside 0 */
    }
    set[2].min = 2; /* so 3 in set 1, and */
    set[0].min = 6;
    spec.group_sets = set;
    spec.group_set_count = 3;
    add_nodes(2, 4000, GIB, 0);
    gang_alloc_id id = stage_alloc(&s, &spec);
    MUST(gang_alloc_get(s.c, id, &info));
    ck_assert_int_eq(info.min, 6);
    ck_assert_int_eq(info.tasks, 6);
    count_groups(id, count, 3);
    ck_assert_uint_ge(count[2], 2);
    ck_assert_uint_ge(count[1], 1);
    ck_assert_uint_ge(count[0], 1);
    MUST(gang_alloc_free(s.w, id));
    set[0].min = 0; /* the sum: 1 + 1 + 2 */
    id = stage_alloc(&s, &spec);
    MUST(gang_alloc_get(s.c, id, &info));
    ck_assert_int_eq(info.min, 4);
    ck_assert_int_eq(info.tasks, 4);
}
END_TEST

/* ---- trying, and the distinction between not now and never ---- */

START_TEST(a_dry_run_answers_and_takes_nothing)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    add_nodes(2, 3000, GIB, 0);
    MUST(gang_alloc_test(s.w, request, NULL));
    ck_assert_int_eq(cpu_free(), 6000);
    ck_assert_uint_eq(gang_alloc_next(s.c, GANG_ID_NONE), GANG_ID_NONE);
    stage_alloc(&s, &spec);
    EXPECT_RESULT(gang_alloc_test(s.w, request, &error), GANG_ENOFIT, &error);
    MUST(gang_node_remove(s.w, node[0]));
    EXPECT_RESULT(gang_alloc_test(s.w, request, &error), GANG_ENEVER, &error);
    gang_request_free(request);
}
END_TEST

START_TEST(a_permanent_refusal_depends_on_the_nodes_alone)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(4, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    EXPECT_RESULT(gang_request_fits_ever(s.w, request, &error), GANG_ENEVER,
                  &error); /* no node at all */
    ck_assert_int_eq(error.code, GANG_ENEVER);
    add_nodes(2, 2000, GIB, 0);
    EXPECT_RESULT(gang_request_fits_ever(s.w, request, &error), GANG_OK, &error);
    stage_alloc(&s, &spec); /* all is taken */
    MUST(gang_request_fits_ever(s.w, request, NULL));
    MUST(gang_node_set_state(s.w, node[0], GANG_NODE_DOWN));
    MUST(gang_request_fits_ever(s.w, request, NULL));
    MUST(gang_node_set_state(s.w, node[1], GANG_NODE_DRAINING));
    MUST(gang_request_fits_ever(s.w, request, NULL));
    gang_request_free(request);
}
END_TEST

/* Greedy, and in the order of the nodes, the first group would take the only node that has memory
 * for the second. Another order finds a place, so "never" is wrong. */
START_TEST(a_gang_that_fits_the_empty_cluster_is_refused_for_now_only)
{
    struct gang_group_spec g[] = {group_of(1, 4000, 0), group_of(1, 3000, 0)};
    struct gang_group_spec most = group_of(1, 6000, 0);
    struct gang_request_spec spec = request_of(g, 2);
    struct box box = {.name = "a", .cpu = 4000, .memory = 8 * GIB};
    stage_add(&s, &box);
    box = (struct box){.name = "b", .cpu = 8000, .memory = GIB};
    stage_add(&s, &box);
    g[0].memory_bytes = GIB;
    g[1].memory_bytes = 8 * GIB;
    for (spec.policy = 0; spec.policy < 3; spec.policy++) {
        gang_request *request = stage_request(&s, &spec);
        gang_alloc_id id;
        if (_i == 0) { /* asked first */
            MUST(gang_request_fits_ever(s.w, request, NULL));
            MUST(gang_alloc(s.w, request, &id, NULL));
        } else { /* placed first */
            MUST(gang_alloc(s.w, request, &id, NULL));
            MUST(gang_request_fits_ever(s.w, request, NULL));
        }
        MUST(gang_alloc_free(s.w, id));
        gang_request_free(request);
        gang_alloc_id other = stage_alloc_group(&s, &most); /* in the way */
        EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENOFIT);
        MUST(gang_alloc_free(s.w, other));
    }
}
END_TEST

START_TEST(a_permanent_refusal_ends_when_a_node_is_added)
{
    struct gang_group_spec g = group_of(3, 2000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    add_nodes(2, 2000, GIB, 0);
    for (int i = 0; i < 3; i++) { /* the second answer is remembered */
        ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENEVER);
        ck_assert_int_eq(gang_request_fits_ever(s.w, request, NULL), GANG_ENEVER);
    }
    struct box box = {.name = "more", .cpu = 2000, .state = GANG_NODE_DOWN};
    gang_node_id more = stage_add(&s, &box);
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENOFIT);
    MUST(gang_node_set_state(s.w, more, GANG_NODE_UP));
    MUST(gang_alloc(s.w, request, &id, NULL));
    MUST(gang_alloc_free(s.w, id));
    MUST(gang_node_remove(s.w, more));
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENEVER);
    gang_request_free(request);
}
END_TEST

/* A node that is removed but still held by another job will not come back. */
START_TEST(a_removed_node_does_not_count_while_it_is_held)
{
    struct gang_group_spec g = group_of(1, 2000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id held, id;
    add_nodes(1, 2000, GIB, 0);
    MUST(gang_alloc(s.w, request, &held, NULL));
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENOFIT);
    MUST(gang_node_remove(s.w, node[0]));
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENEVER);
    ck_assert_int_eq(gang_request_fits_ever(s.w, request, NULL), GANG_ENEVER);
    MUST(gang_alloc_free(s.w, held));
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENEVER);
    gang_request_free(request);
}
END_TEST

START_TEST(nodes_that_are_down_are_a_temporary_refusal)
{
    struct gang_group_spec g = group_of(2, 2000, 0);
    add_nodes(2, 2000, GIB, 0);
    MUST(gang_node_set_state(s.w, node[1], GANG_NODE_DOWN));
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_node_set_state(s.w, node[1], GANG_NODE_DRAINING));
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_node_set_state(s.w, node[1], GANG_NODE_UP));
    stage_alloc_group(&s, &g);
}
END_TEST

/* ---- tasks that want little ---- */

START_TEST(tasks_without_cpu_are_placed)
{
    struct gang_group_spec g = group_of(4, 0, 1000);
    add_nodes(2, 0, 0, 2); /* nodes without cores and memory */
    gang_alloc_id id = stage_alloc_group(&s, &g);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, id));
    g = group_of(1, 1, 0);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

START_TEST(tasks_that_want_nothing_need_a_node_that_is_up)
{
    struct gang_group_spec g = group_of(1000, 0, 0);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
    add_nodes(1, 0, 0, 0);
    MUST(gang_node_set_state(s.w, node[0], GANG_NODE_DOWN));
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_node_set_state(s.w, node[0], GANG_NODE_UP));
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 1000);
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

START_TEST(memory_is_taken_in_whole_pages)
{
    struct gang_group_spec g = group_of(3, 0, 0);
    add_nodes(1, 1000, 5 * GANG_PAGE_BYTES, 0);
    g.memory_bytes = GANG_PAGE_BYTES + 1;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER); /* six pages */
    g.count = g.min = 2;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_int_eq(stage_node(&s, node[0]).memory_free, GANG_PAGE_BYTES);
    ck_assert_int_eq(stage_tasks(&s, id)->task[0].memory_bytes, 2 * GANG_PAGE_BYTES);
    g.count = g.min = 1;
    g.memory_bytes = GANG_PAGE_BYTES;
    stage_alloc_group(&s, &g);
    ck_assert_int_eq(stage_node(&s, node[0]).memory_free, 0);
    g.memory_bytes = 1;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
}
END_TEST

/* ---- handles ---- */

START_TEST(missing_arguments_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(1, 0, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id = 1;
    EXPECT_RESULT(gang_alloc(NULL, request, &id, &error), GANG_EINVAL, &error);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    id = 1;
    ck_assert_int_eq(gang_alloc(s.w, NULL, &id, NULL), GANG_EINVAL);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    ck_assert_int_eq(gang_alloc(s.w, request, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_test(NULL, request, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_test(s.w, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_fits_ever(NULL, request, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_fits_ever(s.w, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_free(NULL, 1), GANG_EINVAL);
    gang_request_free(request);
}
END_TEST

START_TEST(a_freed_allocation_is_stale)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    struct gang_group_spec g = group_of(2, 1000, 0);
    int64_t granted = 17, task = 0;
    add_nodes(1, 4000, GIB, 0);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    MUST(gang_alloc_free(s.w, id));
    gang_alloc_id next = stage_alloc_group(&s, &g); /* possibly in the same place */
    ck_assert_uint_ne(next, id);
    const gang_alloc_id stale[] = {id, GANG_ID_NONE, UINT64_MAX, next + 1,
                                   next + (UINT64_C(1) << 32)};
    for (size_t i = 0; i < sizeof(stale) / sizeof(stale[0]); i++) {
        ck_assert_int_eq(gang_alloc_free(s.w, stale[i]), GANG_ESTALE);
        ck_assert_int_eq(gang_alloc_get(s.c, stale[i], &info), GANG_ESTALE);
        EXPECT_RESULT(gang_alloc_grow(s.w, stale[i], 0, 1, &granted, &error), GANG_ESTALE, &error);
        ck_assert_int_eq(granted, 0);
        ck_assert_int_eq(error.code, GANG_ESTALE);
        EXPECT_RESULT(gang_alloc_shrink(s.w, stale[i], &task, 1, &error), GANG_ESTALE, &error);
    }
    MUST(gang_alloc_get(s.c, next, &info));
    ck_assert_int_eq(info.tasks, 2);
}
END_TEST

START_TEST(walking_meets_each_allocation_once)
{
    enum { COUNT = 1101 }; /* more than one chunk of records */
    static gang_alloc_id id[COUNT];
    static bool met[COUNT];
    struct gang_group_spec g = group_of(1, 1, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    add_nodes(1, 4000, GIB, 0);
    for (int i = 0; i < COUNT; i++)
        MUST(gang_alloc(s.w, request, &id[i], NULL));
    for (int i = 0; i < COUNT; i += 3)
        MUST(gang_alloc_free(s.w, id[i]));
    int count = 0;
    for (gang_alloc_id at = gang_alloc_next(s.c, GANG_ID_NONE); at; at = gang_alloc_next(s.c, at)) {
        int i = 0;
        while (i < COUNT && id[i] != at)
            i++;
        ck_assert_int_lt(i, COUNT);
        ck_assert(!met[i]);
        ck_assert_int_ne(i % 3, 0);
        met[i] = true;
        count++;
    }
    ck_assert_int_eq(count, COUNT - COUNT / 3);
    ck_assert_uint_eq(gang_alloc_next(s.c, UINT64_MAX), GANG_ID_NONE);
    gang_request_free(request);
}
END_TEST

/* One worker allocates, another gives back: what it keeps for itself is bounded. */
START_TEST(records_pass_from_worker_to_worker)
{
    enum { COUNT = 900 };
    static gang_alloc_id id[COUNT];
    struct gang_group_spec g = group_of(1, 1, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_worker *other;
    add_nodes(1, 4000, GIB, 0);
    MUST(gang_worker_new(s.c, &other));
    long live = 0;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < COUNT; i++)
            MUST(gang_alloc(s.w, request, &id[i], NULL));
        for (int i = 0; i < COUNT; i++)
            MUST(gang_alloc_free(other, id[i]));
        ck_assert_uint_eq(gang_alloc_next(s.c, GANG_ID_NONE), GANG_ID_NONE);
        if (round > 1)
            ck_assert_int_eq(s.mem.live, live);
        live = s.mem.live;
    }
    ck_assert_int_eq(stage_node(&s, node[0]).cpu_free, 4000);
    gang_request_free(request);
}
END_TEST

START_TEST(ids_are_never_used_again)
{
    enum { ROUNDS = 500 };
    static gang_alloc_id seen[ROUNDS];
    struct gang_group_spec g = group_of(1, 1000, 0);
    add_nodes(1, 4000, GIB, 0);
    for (int i = 0; i < ROUNDS; i++) {
        seen[i] = stage_alloc_group(&s, &g);
        for (int k = 0; k < i; k++)
            ck_assert_uint_ne(seen[i], seen[k]);
        MUST(gang_alloc_free(s.w, seen[i]));
    }
}
END_TEST

/* ---- memory in advance ---- */

START_TEST(reserving_checks_its_range)
{
    ck_assert_int_eq(gang_worker_preallocate(NULL, 1), GANG_EINVAL);
    ck_assert_int_eq(gang_worker_preallocate(s.w, 0), GANG_ERANGE);
    ck_assert_int_eq(gang_worker_preallocate(s.w, -1), GANG_ERANGE);
    ck_assert_int_eq(gang_worker_preallocate(s.w, (1 << 24) + 1), GANG_ERANGE);
    MUST(gang_worker_preallocate(s.w, 1));
    MUST(gang_worker_preallocate(s.w, 100));
    MUST(gang_worker_preallocate(s.w, 10));
    s.mem.fail_at = s.mem.calls + 1;
    s.mem.fail_on = true;
    ck_assert_int_eq(gang_worker_preallocate(s.w, 1 << 24), GANG_ENOMEM);
    s.mem.fail_at = 0;
    struct gang_group_spec g = group_of(1, 1000, 0);
    add_nodes(1, 4000, GIB, 0);
    stage_alloc_group(&s, &g); /* the worker is still usable */
}
END_TEST

/* Allocator calls of one gang of 512 tasks on 8 nodes, and of giving it back. */
static long calls_of_a_gang(gang_request *request)
{
    gang_alloc_id id;
    long calls = s.mem.calls;
    MUST(gang_alloc(s.w, request, &id, NULL));
    MUST(gang_alloc_free(s.w, id));
    return s.mem.calls - calls;
}

START_TEST(a_worker_allocates_nothing_for_a_gang_it_had_before)
{
    struct gang_group_spec g = group_of(512, 10, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    add_nodes(8, 640, GIB, 0);
    calls_of_a_gang(request);
    ck_assert_int_eq(calls_of_a_gang(request), 0);
    ck_assert_int_eq(calls_of_a_gang(request), 0);
    gang_request_free(request);
}
END_TEST

START_TEST(reserved_memory_leaves_only_the_records_to_allocate)
{
    struct gang_group_spec g = group_of(512, 10, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    add_nodes(8, 640, GIB, 0);
    MUST(gang_worker_preallocate(s.w, 512));
    g.count = g.min = 1;
    gang_alloc_id id = stage_alloc_group(&s, &g); /* the table of allocations is there */
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_le(calls_of_a_gang(request), 1); /* what the allocation itself holds */
    ck_assert_int_eq(calls_of_a_gang(request), 0);
    gang_request_free(request);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gang");
    TCase *whole = tcase_create("whole or not at all");
    tcase_add_checked_fixture(whole, open_stage, close_stage);
    tcase_add_test(whole, a_gang_over_several_nodes_is_placed_whole);
    tcase_add_loop_test(whole, alloc_refuses_when_one_node_lacks_something, 0, 4);
    tcase_add_test(whole, if_one_group_does_not_fit_none_is_placed);
    tcase_add_test(whole, groups_that_are_hard_to_place_go_first);
    tcase_add_test(whole, groups_are_also_tried_in_their_own_order);
    tcase_add_test(whole, a_gang_takes_its_minimum_and_no_more);
    tcase_add_test(whole, a_gang_as_large_as_the_cluster_fits_and_one_larger_does_not);
    suite_add_tcase(suite, whole);
    TCase *minima = tcase_create("minima");
    tcase_add_checked_fixture(minima, open_stage, close_stage);
    tcase_add_test(minima, the_request_may_want_more_than_its_groups_do);
    tcase_add_test(minima, the_request_needs_at_least_what_its_groups_need);
    tcase_add_test(minima, any_group_may_fill_up_the_request);
    tcase_add_test(minima, a_set_has_a_minimum_of_its_own);
    tcase_add_test(minima, sets_nest);
    suite_add_tcase(suite, minima);
    TCase *never = tcase_create("not now and never");
    tcase_add_checked_fixture(never, open_stage, close_stage);
    tcase_add_test(never, a_dry_run_answers_and_takes_nothing);
    tcase_add_test(never, a_permanent_refusal_depends_on_the_nodes_alone);
    tcase_add_loop_test(never, a_gang_that_fits_the_empty_cluster_is_refused_for_now_only, 0, 2);
    tcase_add_test(never, a_permanent_refusal_ends_when_a_node_is_added);
    tcase_add_test(never, a_removed_node_does_not_count_while_it_is_held);
    tcase_add_test(never, nodes_that_are_down_are_a_temporary_refusal);
    suite_add_tcase(suite, never);
    TCase *little = tcase_create("little tasks");
    tcase_add_checked_fixture(little, open_stage, close_stage);
    tcase_add_test(little, tasks_without_cpu_are_placed);
    tcase_add_test(little, tasks_that_want_nothing_need_a_node_that_is_up);
    tcase_add_test(little, memory_is_taken_in_whole_pages);
    suite_add_tcase(suite, little);
    TCase *handles = tcase_create("handles");
    tcase_add_checked_fixture(handles, open_stage, close_stage);
    tcase_add_test(handles, missing_arguments_are_refused);
    tcase_add_test(handles, a_freed_allocation_is_stale);
    tcase_add_test(handles, walking_meets_each_allocation_once);
    tcase_add_test(handles, records_pass_from_worker_to_worker);
    tcase_add_test(handles, ids_are_never_used_again);
    tcase_add_test(handles, reserving_checks_its_range);
    tcase_add_test(handles, a_worker_allocates_nothing_for_a_gang_it_had_before);
    tcase_add_test(handles, reserved_memory_leaves_only_the_records_to_allocate);
    suite_add_tcase(suite, handles);
    return run_suite(suite);
}
