/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: allocations that grow and shrink; nodes that leave while they are held. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static gang_node_id node[8];

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
}

static void close_stage(void)
{
    stage_close(&s);
}

static void add_nodes(int count, int64_t cpu, size_t gpus)
{
    static int number = 0;
    for (int i = 0; i < count; i++) {
        char name[20];
        snprintf(name, sizeof(name), "n%d", number++);
        struct box box = {.name = name, .cpu = cpu, .memory = GIB, .gpus = gpus};
        node[i] = stage_add(&s, &box);
    }
}

static int64_t tasks_of(gang_alloc_id id)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    MUST(gang_alloc_get(s.c, id, &info));
    return info.tasks;
}

static gang_result grow(gang_alloc_id id, int32_t group, int64_t tasks, int64_t granted)
{
    int64_t got = -1;
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_alloc_grow(s.w, id, group, tasks, &got, &error);
    ck_assert_int_eq(got, granted);
    ck_assert_int_eq(error.code, r);
    stage_check(&s);
    return r;
}

static gang_result shrink(gang_alloc_id id, int64_t task)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_alloc_shrink(s.w, id, &task, 1, &error);
    ck_assert_int_eq(error.code, r);
    stage_check(&s);
    return r;
}

/* An allocation of one group: one task must run, `count` tasks can. */
static gang_alloc_id elastic(int64_t count, int64_t cpu, int64_t gpu)
{
    struct gang_group_spec g = group_of(count, cpu, gpu);
    g.min = 1;
    return stage_alloc_group(&s, &g);
}

/* Two groups of up to four tasks; two and one must run. */
static gang_alloc_id two_groups(void)
{
    struct gang_group_spec g[] = {group_of(4, 1000, 0), group_of(4, 2000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].min = 2;
    g[1].min = 1;
    return stage_alloc(&s, &spec);
}

/* ---- growing ---- */

START_TEST(tasks_are_added_one_by_one_up_to_the_count)
{
    add_nodes(2, 4000, 0);
    gang_alloc_id id = elastic(6, 1000, 0);
    for (int64_t n = 2; n <= 6; n++) {
        ck_assert_int_eq(grow(id, 0, 1, 1), GANG_OK);
        ck_assert_int_eq(tasks_of(id), n);
    }
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ERANGE);
    ck_assert_int_eq(grow(id, -1, 1, 0), GANG_ERANGE);
    ck_assert_int_eq(tasks_of(id), 6);
    ck_assert_int_eq(stage_node(&s, node[0]).cpu_free + stage_node(&s, node[1]).cpu_free, 2000);
}
END_TEST

START_TEST(more_than_the_count_is_not_added)
{
    add_nodes(2, 4000, 0);
    gang_alloc_id id = elastic(6, 1000, 0);
    ck_assert_int_eq(grow(id, 0, 100, 5), GANG_OK);
    ck_assert_int_eq(grow(id, 0, INT64_MAX, 0), GANG_ERANGE);
}
END_TEST

START_TEST(as_many_are_added_as_fit)
{
    add_nodes(2, 4000, 0);
    gang_alloc_id id = elastic(100, 1000, 0);
    ck_assert_int_eq(grow(id, 0, 3, 3), GANG_OK);
    ck_assert_int_eq(grow(id, 0, 50, 4), GANG_OK);
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENEVER); /* all nodes are full of it alone */
    add_nodes(1, 1000, 0);
    ck_assert_int_eq(grow(id, 0, 50, 1), GANG_OK);
}
END_TEST

START_TEST(growth_waits_for_others_or_is_for_ever_refused)
{
    add_nodes(1, 4000, 0);
    gang_alloc_id id = elastic(5, 1000, 0), other = elastic(1, 1000, 0);
    ck_assert_int_eq(grow(id, 0, 9, 2), GANG_OK);
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENOFIT);
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENOFIT); /* remembered */
    MUST(gang_alloc_free(s.w, other));
    ck_assert_int_eq(grow(id, 0, 1, 1), GANG_OK);
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENEVER);
    MUST(gang_node_set_state(s.w, node[0], GANG_NODE_DOWN));
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENEVER);
}
END_TEST

START_TEST(any_group_grows_in_order)
{
    add_nodes(1, 20000, 0);
    gang_alloc_id id = two_groups(); /* 2 and 1 */
    size_t count[2] = {0, 0};
    ck_assert_int_eq(grow(id, -1, 3, 3), GANG_OK);
    const struct task_list *list = stage_tasks(&s, id);
    for (size_t i = 0; i < list->count; i++)
        count[list->task[i].group]++;
    ck_assert_uint_eq(count[0], 4);
    ck_assert_uint_eq(count[1], 2);
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ERANGE);
    ck_assert_int_eq(grow(id, 1, 1, 1), GANG_OK);
    ck_assert_int_eq(grow(id, -1, 9, 1), GANG_OK);
    ck_assert_int_eq(grow(id, -1, 1, 0), GANG_ERANGE);
}
END_TEST

/* The first group does not fit; the second does. */
START_TEST(any_group_grows_that_can)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 1000), group_of(2, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].min = g[1].min = 1;
    add_nodes(1, 4000, 1);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_int_eq(grow(id, -1, 2, 1), GANG_OK);
    ck_assert_int_eq(stage_tasks(&s, id)->task[2].group, 1);
    ck_assert_int_eq(grow(id, -1, 2, 0), GANG_ENEVER); /* one GPU is all there is */
}
END_TEST

/* One group could never grow, another only has to wait: not now. */
START_TEST(growth_of_any_group_waits_if_one_group_may_grow)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 1000), group_of(2, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].min = g[1].min = 1;
    add_nodes(1, 3000, 1);
    gang_alloc_id id = stage_alloc(&s, &spec), other = elastic(1, 1000, 0);
    ck_assert_int_eq(grow(id, 1, 1, 0), GANG_ENOFIT);
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENEVER);
    ck_assert_int_eq(grow(id, -1, 1, 0), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, other));
    ck_assert_int_eq(grow(id, -1, 1, 1), GANG_OK);
}
END_TEST

/* An allocation that reuses a record does not get the answers that its predecessor got. */
START_TEST(an_allocation_does_not_inherit_answers)
{
    add_nodes(1, 4000, 0);
    gang_alloc_id other = elastic(1, 1000, 0);
    for (int i = 0; i < 3; i++) {
        struct gang_group_spec small = group_of(2, 2000, 0), large = group_of(2, 2500, 0);
        small.min = large.min = 1;
        gang_alloc_id id = stage_alloc_group(&s, &small);
        ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENOFIT); /* 2 x 2000 */
        MUST(gang_alloc_free(s.w, id));
        id = stage_alloc_group(&s, &large);
        ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENEVER); /* 2 x 2500 */
        MUST(gang_alloc_free(s.w, id));
    }
    MUST(gang_alloc_free(s.w, other));
}
END_TEST

/* Both nodes have a task that is held; a third one needs a third node. */
START_TEST(never_counts_what_the_allocation_holds_itself)
{
    struct gang_group_spec g[] = {group_of(1, 3000, 0), group_of(2, 3000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    struct box box = {.name = "a", .cpu = 4000, .memory = GIB};
    stage_add(&s, &box);
    box = (struct box){.name = "b", .cpu = 4000, .memory = 8 * GIB};
    stage_add(&s, &box);
    g[0].memory_bytes = 8 * GIB;
    g[1].min = 1;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_int_eq(grow(id, 1, 1, 0), GANG_ENEVER);
    add_nodes(1, 3000, 0);
    ck_assert_int_eq(grow(id, -1, 1, 1), GANG_OK);
}
END_TEST

/* The same number of tasks in other places is another question. */
START_TEST(an_answer_ends_when_tasks_change)
{
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(2, 2000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].min = 1;
    g[1].min = 0;
    add_nodes(1, 4000, 0);
    gang_alloc_id id = stage_alloc(&s, &spec), other = elastic(1, 1000, 0);
    ck_assert_int_eq(grow(id, 0, 1, 1), GANG_OK);
    ck_assert_int_eq(grow(id, 1, 1, 0), GANG_ENOFIT); /* 2000 held, 2000 wanted */
    ck_assert_int_eq(shrink(id, 1), GANG_OK);
    MUST(gang_alloc_free(s.w, other));
    ck_assert_int_eq(grow(id, 1, 1, 1), GANG_OK); /* as many tasks as before, but 3000 held */
    other = elastic(1, 1000, 0);
    ck_assert_int_eq(grow(id, 1, 1, 0), GANG_ENEVER);
}
END_TEST

START_TEST(growth_obeys_constraints_and_states)
{
    struct gang_group_spec g = group_of(9, 1000, 0);
    struct gang_label_rule rule = {"os", NULL, 0, GANG_LABEL_EXISTS, 0};
    struct box box = {.name = "a", .cpu = 2000, .labels = LIST(struct gang_label, {"os", "x"})};
    gang_node_id a = stage_add(&s, &box);
    box.name = "b";
    gang_node_id b = stage_add(&s, &box);
    add_nodes(1, 9000, 0);
    g.min = 1;
    g.labels = &rule;
    g.label_count = 1;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    MUST(gang_node_set_state(s.w, b, GANG_NODE_DRAINING));
    MUST(gang_node_set_state(s.w, a, GANG_NODE_DRAINING));
    ck_assert_int_eq(grow(id, 0, 9, 0), GANG_ENOFIT);
    MUST(gang_node_set_state(s.w, b, GANG_NODE_UP));
    MUST(gang_node_set_state(s.w, a, GANG_NODE_UP));
    ck_assert_int_eq(grow(id, 0, 9, 3), GANG_OK);
    ck_assert_uint_eq(stage_tasks_on(&s, id, a), 2);
    ck_assert_uint_eq(stage_tasks_on(&s, id, b), 2);
}
END_TEST

START_TEST(growth_takes_pools)
{
    struct gang_amount a = {"lic", 2};
    struct gang_group_spec g = group_of(9, 1, 0);
    int32_t lic;
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 5, &lic));
    add_nodes(1, 9000, 0);
    g.min = 1;
    g.amounts = &a;
    g.amount_count = 1;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_int_eq(grow(id, 0, 9, 1), GANG_OK);
    ck_assert_int_eq(grow(id, 0, 9, 0), GANG_ENEVER);
    MUST(gang_kind_resize(s.w, lic, 6));
    ck_assert_int_eq(grow(id, 0, 9, 1), GANG_OK);
    ck_assert_int_eq(shrink(id, 0), GANG_OK);
    MUST(gang_kind_resize(s.w, lic, 4));
}
END_TEST

START_TEST(bad_growth_is_refused)
{
    int64_t granted = 17;
    add_nodes(1, 4000, 0);
    gang_alloc_id id = elastic(3, 1000, 0);
    ck_assert_int_eq(grow(id, 1, 1, 0), GANG_EINVAL);
    ck_assert_int_eq(grow(id, -2, 1, 0), GANG_EINVAL);
    ck_assert_int_eq(grow(id, INT32_MAX, 1, 0), GANG_EINVAL);
    ck_assert_int_eq(grow(id, 0, 0, 0), GANG_ERANGE);
    ck_assert_int_eq(grow(id, 0, -1, 0), GANG_ERANGE);
    ck_assert_int_eq(gang_alloc_grow(NULL, id, 0, 1, &granted, NULL), GANG_EINVAL);
    ck_assert_int_eq(granted, 0);
    MUST(gang_alloc_grow(s.w, id, 0, 1, NULL, NULL));
    ck_assert_int_eq(tasks_of(id), 2);
}
END_TEST

START_TEST(refused_growth_gives_the_reason)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(3, 1000, 1000)};
    struct gang_request_spec spec = request_of(g, 2);
    g[1].min = 1;
    add_nodes(1, 8000, 2);
    gang_alloc_id id = stage_alloc(&s, &spec), other = elastic(1, 0, 1000);
    EXPECT_RESULT(gang_alloc_grow(s.w, id, 1, 1, NULL, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_KIND);
    ck_assert_int_eq(error.kind, GANG_KIND_GPU);
    ck_assert_int_eq(error.group, 1);
    ck_assert_int_eq(error.requested, 1000);
    ck_assert_int_eq(error.available, 0);
    MUST(gang_alloc_free(s.w, other));
    ck_assert_int_eq(grow(id, 1, 9, 1), GANG_OK);
    EXPECT_RESULT(gang_alloc_grow(s.w, id, -1, 1, NULL, &error), GANG_ENEVER, &error);
    ck_assert_int_eq(error.group, 1);
}
END_TEST

START_TEST(growth_beyond_all_buffers)
{
    add_nodes(1, 5000, 0);
    gang_alloc_id id = elastic(5000, 1, 0);
    for (int64_t n = 1; n < 2187; n *= 3)
        ck_assert_int_eq(grow(id, 0, 2 * n, 2 * n), GANG_OK);
    ck_assert_int_eq(tasks_of(id), 2187);
    ck_assert_int_eq(grow(id, 0, 5000, 5000 - 2187), GANG_OK);
    ck_assert_int_eq(tasks_of(id), 5000);
    ck_assert_int_eq(stage_node(&s, node[0]).cpu_free, 0);
}
END_TEST

/* ---- shrinking ---- */

START_TEST(named_tasks_are_given_back)
{
    int64_t tasks[] = {4, 1, 5}; /* in any order */
    bool held[7] = {true, false, true, true, false, false, true};
    add_nodes(1, 8000, 0);
    gang_alloc_id id = elastic(7, 1000, 0);
    ck_assert_int_eq(grow(id, 0, 6, 6), GANG_OK);
    MUST(gang_alloc_shrink(s.w, id, tasks, 3, NULL));
    ck_assert_int_eq(stage_node(&s, node[0]).cpu_free, 4000);
    const struct task_list *list = stage_tasks(&s, id);
    ck_assert_uint_eq(list->count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert(held[list->task[i].task]);
    stage_check(&s);
}
END_TEST

START_TEST(tasks_keep_their_numbers_and_places)
{
    static struct task_list before;
    int64_t tasks[] = {0, 2, 4, 6};
    add_nodes(2, 8000, 8);
    gang_alloc_id id = elastic(8, 1000, 1000);
    ck_assert_int_eq(grow(id, 0, 7, 7), GANG_OK);
    before = *stage_tasks(&s, id);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(before.task[i].task, (int64_t)i);
    MUST(gang_alloc_shrink(s.w, id, tasks, 4, NULL));
    const struct task_list *after = stage_tasks(&s, id);
    ck_assert_uint_eq(after->count, 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_mem_eq(&after->task[i], &before.task[2 * i + 1], sizeof(before.task[0]));
    ck_assert_int_eq(grow(id, 0, 2, 2), GANG_OK);
    after = stage_tasks(&s, id);
    static const int64_t numbers[] = {0, 1, 2,
                                      3, 5, 7}; /* the new tasks get the lowest free ones */
    for (size_t i = 0; i < 6; i++) {
        ck_assert_int_eq(after->task[i].task, numbers[i]);
        if (numbers[i] % 2)
            ck_assert_mem_eq(&after->task[i], &before.task[numbers[i]], sizeof(before.task[0]));
    }
}
END_TEST

START_TEST(no_group_falls_below_its_minimum)
{
    struct gang_error error = GANG_ERROR_INIT;
    add_nodes(1, 20000, 0);
    gang_alloc_id id = two_groups();
    int64_t first[2] = {-1, -1}, second = -1;
    const struct task_list *list = stage_tasks(&s, id);
    for (size_t i = 0; i < list->count; i++) {
        if (list->task[i].group == 1)
            second = list->task[i].task;
        else
            first[first[0] >= 0] = list->task[i].task;
    }
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, &first[0], 1, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_MIN);
    ck_assert_int_eq(error.group, 0);
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, &second, 1, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.group, 1);
    ck_assert_int_eq(tasks_of(id), 3);
    ck_assert_int_eq(grow(id, 0, 1, 1), GANG_OK);
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, &second, 1, &error), GANG_ENOFIT, &error);
    int64_t both[] = {first[0], first[1]};
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, both, 2, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(tasks_of(id), 4); /* all or nothing */
    ck_assert_int_eq(shrink(id, first[1]), GANG_OK);
    ck_assert_int_eq(tasks_of(id), 3);
}
END_TEST

START_TEST(no_set_and_no_request_falls_below_its_minimum)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g[] = {group_of(4, 1000, 0), group_of(4, 1000, 0)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 2);
    g[0].min = g[1].min = 0;
    add_nodes(1, 8000, 0);
    if (_i == 0) {
        g[0].group_set = g[1].group_set = 0;
        set.min = 3;
        spec.group_sets = &set;
        spec.group_set_count = 1;
    } else {
        spec.min = 3;
    }
    gang_alloc_id id = stage_alloc(&s, &spec);
    int64_t task = stage_tasks(&s, id)->task[1].task;
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, &task, 1, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_MIN);
    ck_assert_int_eq(error.group, -1);
    ck_assert_int_eq(grow(id, 1, 1, 1), GANG_OK);
    ck_assert_int_eq(shrink(id, task), GANG_OK);
    ck_assert_int_eq(tasks_of(id), 3);
}
END_TEST

/* The request has tasks to spare, but outside of the set. */
START_TEST(a_set_keeps_its_minimum_whatever_runs_outside)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g[] = {group_of(2, 1000, 0), group_of(2, 1000, 0), group_of(4, 1000, 0)};
    struct gang_group_set_spec set[] = {GANG_GROUP_SET_SPEC_INIT, GANG_GROUP_SET_SPEC_INIT};
    struct gang_request_spec spec = request_of(g, 3);
    g[0].min = g[1].min = 0;
    g[2].min = 1;
    g[0].group_set = 0;
    g[1].group_set = 1; /* inside set 0 */
    set[0].min = 3;
    set[1].parent = 0;
    spec.group_sets = set;
    spec.group_set_count = 2;
    add_nodes(1, 8000, 0);
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_int_eq(grow(id, 2, 3, 3), GANG_OK);
    const struct task_list *list = stage_tasks(&s, id);
    int64_t inside = -1, outside = -1;
    for (size_t i = 0; i < list->count; i++)
        *(list->task[i].group == 2 ? &outside : &inside) = list->task[i].task;
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, &inside, 1, &error), GANG_ENOFIT, &error);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_MIN);
    ck_assert_int_eq(shrink(id, outside), GANG_OK);
    ck_assert_int_eq(grow(id, -1, 1, 1), GANG_OK); /* the fourth of the set */
    ck_assert_int_eq(shrink(id, inside), GANG_OK);
}
END_TEST

START_TEST(bad_names_of_tasks_give_back_nothing)
{
    struct gang_error error = GANG_ERROR_INIT;
    add_nodes(1, 8000, 0);
    gang_alloc_id id = elastic(5, 1000, 0);
    ck_assert_int_eq(grow(id, 0, 4, 4), GANG_OK);
    int64_t twice[] = {1, 2, 1}, unknown[] = {1, 5}, negative[] = {1, -1},
            huge[] = {1, INT64_C(1) << 32}, many[] = {0, 1, 2, 3, 4, 5};
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, twice, 3, &error), GANG_ENOENT, &error);
    ck_assert_int_eq(gang_alloc_shrink(s.w, id, unknown, 2, NULL), GANG_ENOENT);
    ck_assert_int_eq(gang_alloc_shrink(s.w, id, negative, 2, NULL), GANG_ENOENT);
    ck_assert_int_eq(gang_alloc_shrink(s.w, id, huge, 2, NULL), GANG_ENOENT);
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, many, 6, &error), GANG_ENOENT, &error);
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, many, 0, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, many, -1, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_alloc_shrink(s.w, id, NULL, 1, &error), GANG_EINVAL, &error);
    EXPECT_RESULT(gang_alloc_shrink(NULL, id, many, 1, &error), GANG_EINVAL, &error);
    ck_assert_int_eq(tasks_of(id), 5);
    ck_assert_int_eq(stage_node(&s, node[0]).cpu_free, 3000);
    MUST(gang_alloc_shrink(s.w, id, &unknown[0], 1, NULL));
    ck_assert_int_eq(gang_alloc_shrink(s.w, id, &unknown[0], 1, NULL), GANG_ENOENT); /* gone */
}
END_TEST

START_TEST(what_is_given_back_is_free_for_others)
{
    add_nodes(2, 4000, 4);
    gang_alloc_id id = elastic(8, 1000, 1000);
    struct gang_group_spec g = group_of(3, 1000, 1000);
    ck_assert_int_eq(grow(id, 0, 7, 7), GANG_OK);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    int64_t tasks[] = {7, 3, 2};
    MUST(gang_alloc_shrink(s.w, id, tasks, 3, NULL));
    stage_alloc_group(&s, &g);
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_eq(stage_node(&s, node[0]).gpus_free + stage_node(&s, node[1]).gpus_free, 5);
}
END_TEST

START_TEST(growing_and_shrinking_for_a_long_time)
{
    add_nodes(3, 5000, 4);
    gang_alloc_id id = elastic(12, 1000, 1000);
    for (int i = 0; i < 300; i++) {
        int64_t granted = 0;
        gang_result r = gang_alloc_grow(s.w, id, 0, i % 7 + 1, &granted, NULL);
        ck_assert(r == GANG_OK || r == GANG_ERANGE);
        const struct task_list *list = stage_tasks(&s, id);
        int64_t tasks[12], count = 0;
        for (size_t k = (size_t)i % 3; k < list->count && (size_t)count + 1 < list->count; k += 2)
            tasks[count++] = list->task[k].task;
        if (count)
            MUST(gang_alloc_shrink(s.w, id, tasks, count, NULL));
        stage_check(&s);
    }
    ck_assert_int_ge(tasks_of(id), 1);
    const struct task_list *list = stage_tasks(&s, id);
    ck_assert_int_lt(list->task[list->count - 1].task, 12); /* numbers are used again */
}
END_TEST

/* ---- nodes that leave ---- */

START_TEST(tasks_on_a_removed_node_are_given_back_one_by_one)
{
    struct gang_node_info info;
    add_nodes(2, 2000, 0);
    gang_alloc_id id = elastic(4, 1000, 0);
    ck_assert_int_eq(grow(id, 0, 3, 3), GANG_OK);
    MUST(gang_node_remove(s.w, node[1]));
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 2);
    for (int left = 1; left >= 0; left--) {
        const struct task_list *list = stage_tasks(&s, id);
        size_t i = 0;
        while (list->task[i].node != node[1])
            i++;
        ck_assert_int_eq(shrink(id, list->task[i].task), GANG_OK);
        info.size = sizeof(info);
        gang_result r = gang_node_get(s.c, node[1], &info);
        ck_assert_int_eq(r, left ? GANG_OK : GANG_ESTALE);
        if (left)
            ck_assert_int_eq(info.state, GANG_NODE_REMOVED);
    }
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENEVER); /* nothing new goes there */
}
END_TEST

/* A question what could ever fit leaves out tasks on a removed node. */
START_TEST(growth_to_make_up_for_a_removed_node)
{
    add_nodes(2, 2000, 0);
    gang_alloc_id id = elastic(4, 1000, 0);
    ck_assert_int_eq(grow(id, 0, 2, 2), GANG_OK); /* 2 and 1 */
    gang_alloc_id other = elastic(1, 1000, 0);
    gang_node_id half = stage_tasks_on(&s, id, node[0]) == 1 ? node[0] : node[1];
    MUST(gang_node_remove(s.w, half == node[0] ? node[1] : node[0]));
    ck_assert_int_eq(grow(id, 0, 1, 0), GANG_ENOFIT); /* `other` is in the way */
    MUST(gang_alloc_free(s.w, other));
    ck_assert_int_eq(grow(id, 0, 1, 1), GANG_OK);
    ck_assert_int_eq(tasks_of(id), 4);
    ck_assert_uint_eq(stage_tasks_on(&s, id, half), 2);
}
END_TEST

START_TEST(an_allocation_moves_on_node_by_node)
{
    add_nodes(1, 2000, 0);
    gang_alloc_id id = elastic(4, 1000, 0);
    for (int i = 0; i < 200; i++) {
        gang_node_id old = node[0];
        add_nodes(1, 2000, 0);
        MUST(gang_node_remove(s.w, old));
        int64_t granted;
        MUST(gang_alloc_grow(s.w, id, 0, 2, &granted, NULL));
        const struct task_list *list = stage_tasks(&s, id);
        int64_t tasks[4], count = 0;
        for (size_t k = 0; k < list->count; k++)
            if (list->task[k].node == old)
                tasks[count++] = list->task[k].task;
        MUST(gang_alloc_shrink(s.w, id, tasks, count, NULL));
        struct gang_node_info info = {.size = sizeof(info)};
        ck_assert_int_eq(gang_node_get(s.c, old, &info), GANG_ESTALE);
        stage_check(&s);
    }
    ck_assert_int_eq(gang_node_count(s.c), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic");
    TCase *growing = tcase_create("growing");
    tcase_add_checked_fixture(growing, open_stage, close_stage);
    tcase_add_test(growing, tasks_are_added_one_by_one_up_to_the_count);
    tcase_add_test(growing, more_than_the_count_is_not_added);
    tcase_add_test(growing, as_many_are_added_as_fit);
    tcase_add_test(growing, growth_waits_for_others_or_is_for_ever_refused);
    tcase_add_test(growing, any_group_grows_in_order);
    tcase_add_test(growing, any_group_grows_that_can);
    tcase_add_test(growing, growth_of_any_group_waits_if_one_group_may_grow);
    tcase_add_test(growing, an_allocation_does_not_inherit_answers);
    tcase_add_test(growing, never_counts_what_the_allocation_holds_itself);
    tcase_add_test(growing, an_answer_ends_when_tasks_change);
    tcase_add_test(growing, growth_obeys_constraints_and_states);
    tcase_add_test(growing, growth_takes_pools);
    tcase_add_test(growing, bad_growth_is_refused);
    tcase_add_test(growing, refused_growth_gives_the_reason);
    tcase_add_test(growing, growth_beyond_all_buffers);
    suite_add_tcase(suite, growing);
    TCase *shrinking = tcase_create("shrinking");
    tcase_add_checked_fixture(shrinking, open_stage, close_stage);
    tcase_add_test(shrinking, named_tasks_are_given_back);
    tcase_add_test(shrinking, tasks_keep_their_numbers_and_places);
    tcase_add_test(shrinking, no_group_falls_below_its_minimum);
    tcase_add_loop_test(shrinking, no_set_and_no_request_falls_below_its_minimum, 0, 2);
    tcase_add_test(shrinking, a_set_keeps_its_minimum_whatever_runs_outside);
    tcase_add_test(shrinking, bad_names_of_tasks_give_back_nothing);
    tcase_add_test(shrinking, what_is_given_back_is_free_for_others);
    tcase_add_test(shrinking, growing_and_shrinking_for_a_long_time);
    suite_add_tcase(suite, shrinking);
    TCase *leaving = tcase_create("nodes that leave");
    tcase_add_checked_fixture(leaving, open_stage, close_stage);
    tcase_add_test(leaving, tasks_on_a_removed_node_are_given_back_one_by_one);
    tcase_add_test(leaving, growth_to_make_up_for_a_removed_node);
    tcase_add_test(leaving, an_allocation_moves_on_node_by_node);
    suite_add_tcase(suite, leaving);
    return run_suite(suite);
}
