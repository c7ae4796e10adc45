/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: one task by its number, growth by all or nothing, and the ranks of tasks. */
#include <gangsched/gangsched.h>

#include "chance.h"
#include "place/state/records.h"
#include "support.h"

static struct stage s;
static gang_node_id node[8];

static void add_nodes(int count, int64_t cpu)
{
    for (int i = 0; i < count; i++) {
        char name[20];
        snprintf(name, sizeof(name), "n%d", i);
        struct box box = {.name = name, .cpu = cpu, .memory = GIB};
        node[i] = stage_add(&s, &box);
    }
}

/* Fail the n-th allocation of memory from now; 0: none. */
static void fail_from(long n)
{
    s.mem.calls = 0;
    s.mem.fail_at = n;
}

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
    add_nodes(4, 4000);
}

static void close_stage(void)
{
    stage_check(&s);
    stage_close(&s);
}

/* `count` tasks of a core, `min` at once; on a node at most `per_node`. */
static gang_alloc_id gang(int64_t count, int64_t min, int64_t per_node)
{
    struct gang_group_spec g = group_of(count, 1000, 0);
    g.min = min;
    g.max_per_node = per_node;
    return stage_alloc_group(&s, &g);
}

static int64_t tasks_of(gang_alloc_id id)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    MUST(gang_alloc_get(s.c, id, &info));
    return info.tasks;
}

/* ---- one task -------------------------------------------------------------------------------- */

static bool same_task(const struct gang_task *a, const struct gang_task *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

/* Every number up to `end` gives the task that the walk shows, or none. */
static void expect_tasks(gang_alloc_id id, int64_t end)
{
    const struct task_list *list = stage_tasks(&s, id);
    size_t next = 0;
    for (int64_t number = -1; number <= end; number++) {
        struct gang_task task = GANG_TASK_INIT;
        bool held = next < list->count && list->task[next].task == number;
        gang_result r = gang_alloc_task(s.c, id, number, &task);
        ck_assert_int_eq(r, held ? GANG_OK : GANG_ENOENT);
        if (held)
            test_assert(same_task(&task, &list->task[next++]));
    }
    ck_assert_uint_eq(next, list->count);
}

START_TEST(a_task_is_read_by_its_number)
{
    gang_alloc_id id = gang(16, 1, 0);
    int64_t gone[] = {1, 3, 4};
    MUST(gang_alloc_grow(s.w, id, 0, 7, NULL, NULL));
    expect_tasks(id, 20);
    MUST(gang_alloc_shrink(s.w, id, gone, 3, NULL));
    expect_tasks(id, 20);
}
END_TEST

START_TEST(tasks_of_every_size_are_found)
{
    chance_state = test_seed();
    struct gang_group_spec g[3] = {group_of(600, 0, 0), group_of(600, 2000, 1000),
                                   group_of(600, 3000, 500)};
    for (int i = 0; i < 6; i++) {
        char name[20];
        snprintf(name, sizeof(name), "big%d", i);
        struct box box = {
            .name = name, .cpu = 256000, .memory = 64 * GIB, .cores = 256, .gpus = 64};
        stage_add(&s, &box);
    }
    for (int i = 0; i < 3; i++)
        g[i].min = i == 0;
    struct gang_request_spec spec = request_of(g, 3);
    gang_alloc_id id = stage_alloc(&s, &spec);
    for (int i = 0; i < 60; i++) {
        int64_t gone[8];
        size_t count = 0;
        (void)!gang_alloc_grow(s.w, id, (int32_t)below(3), 1 + below(20), NULL, NULL);
        const struct task_list *list = stage_tasks(&s, id);
        for (size_t k = 1; k < list->count && count < 8; k++)
            if (below(16) == 0)
                gone[count++] = list->task[k].task;
        (void)!gang_alloc_shrink(s.w, id, gone, (int64_t)count, NULL);
        expect_tasks(id, 3 * 600);
    }
}
END_TEST

START_TEST(tasks_of_an_exclusive_allocation_are_found)
{
    struct gang_group_spec g = group_of(16, 1000, 0);
    g.min = 6;
    struct gang_request_spec spec = request_of(&g, 1);
    spec.exclusive = 1;
    gang_alloc_id id = stage_alloc(&s, &spec);
    int64_t gone[] = {9, 7};
    MUST(gang_alloc_grow(s.w, id, 0, 10, NULL, NULL));
    expect_tasks(id, 20);
    MUST(gang_alloc_shrink(s.w, id, gone, 2, NULL));
    expect_tasks(id, 20);
}
END_TEST

START_TEST(a_search_survives_ids_with_the_mark)
{
    enum { TASKS = 200 };
    uint64_t data[3 * TASKS];
    struct gang_request request;
    struct gang__alloc a;
    memset(&request, 0, sizeof(request));
    memset(&a, 0, sizeof(a));
    a.request = &request;
    a.data = data;
    for (uint32_t i = 0; i < TASKS; i++) {
        unsigned deltas = i % 3 == 0;
        data[a.used] = (uint64_t)i << (i % 2 ? 56 : 0); /* odd ids have high generations */
        data[a.used + 1] = gang__task_word_of(5 * i, deltas, i % 4);
        data[a.used + 2] = 1;
        a.used += GANG__TASK_HEAD + deltas;
    }
    for (uint32_t number = 0; number < 5 * TASKS + 5; number++) {
        const uint64_t *task = gang__task_find(&a, number);
        test_assert((task != NULL) == (number % 5 == 0 && number < 5 * TASKS));
        test_assert(!task || gang__task_number(task) == number);
    }
}
END_TEST

START_TEST(bad_questions_for_a_task)
{
    struct gang_task task = GANG_TASK_INIT, before;
    gang_alloc_id id = gang(2, 2, 0);
    memset(&task, 7, sizeof(task));
    task.size = sizeof(task);
    before = task;
    ck_assert_int_eq(gang_alloc_task(s.c, id, 2, &task), GANG_ENOENT);
    ck_assert_int_eq(gang_alloc_task(s.c, id, -1, &task), GANG_ENOENT);
    ck_assert_int_eq(gang_alloc_task(s.c, id, UINT32_MAX, &task), GANG_ENOENT);
    ck_assert_int_eq(gang_alloc_task(s.c, id, INT64_MAX, &task), GANG_ENOENT);
    ck_assert_int_eq(gang_alloc_task(NULL, id, 0, &task), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_task(s.c, id, 0, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_task(s.c, id + 1, 0, &task), GANG_ESTALE);
    test_assert(same_task(&task, &before));
    task.size = 8;
    ck_assert_int_eq(gang_alloc_task(s.c, id, 0, &task), GANG_EINVAL);
}
END_TEST

/* ---- growth by all or nothing ---------------------------------------------------------------- */

static gang_result grow_whole(gang_alloc_id id, int32_t group, int64_t tasks,
                              struct gang_error *error)
{
    int64_t before = tasks_of(id);
    *error = (struct gang_error)GANG_ERROR_INIT;
    gang_result r = gang_alloc_grow_whole(s.w, id, group, tasks, error);
    ck_assert_int_eq(tasks_of(id), before + (r == GANG_OK ? tasks : 0));
    ck_assert_int_eq(error->code, r);
    stage_check(&s);
    return r;
}

START_TEST(all_tasks_are_added_or_none)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_alloc_id block = gang(10, 10, 0), id = gang(12, 2, 0);
    ck_assert_int_eq(grow_whole(id, 0, 5, &error), GANG_ENOFIT);
    ck_assert_str_ne(error.text, "");
    ck_assert_int_eq(grow_whole(id, 0, 4, &error), GANG_OK);
    ck_assert_int_eq(grow_whole(id, 0, 1, &error), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, block));
    ck_assert_int_eq(grow_whole(id, 0, 6, &error), GANG_OK);
}
END_TEST

START_TEST(what_could_never_be_added_whole_is_told_apart)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_alloc_id block = gang(6, 6, 0), id = gang(20, 2, 0);
    ck_assert_int_eq(grow_whole(id, 0, 9, &error), GANG_ENOFIT);
    ck_assert_int_eq(grow_whole(id, 0, 15, &error), GANG_ENEVER);
    int64_t granted;
    MUST(gang_alloc_grow(s.w, id, 0, 15, &granted, NULL));
    ck_assert_int_eq(granted, 8);
    MUST(gang_alloc_free(s.w, block));
}
END_TEST

START_TEST(bad_whole_growth_is_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(8, 1000, 0);
    g.min = 2;
    g.subgroup_size = 2;
    g.subgroup_same = "node";
    gang_alloc_id id = stage_alloc_group(&s, &g);
    EXPECT_ERROR(gang_alloc_grow_whole(s.w, id, 0, 3, &error), GANG_ERANGE, &error, "tasks",
                 "whole subgroups");
    EXPECT_ERROR(gang_alloc_grow_whole(s.w, id, 0, 8, &error), GANG_ERANGE, &error, "tasks",
                 "lacks only 6");
    EXPECT_ERROR(gang_alloc_grow_whole(s.w, id, 0, 0, &error), GANG_ERANGE, &error, "tasks", NULL);
    EXPECT_ERROR(gang_alloc_grow_whole(s.w, id, -1, 2, &error), GANG_EINVAL, &error, "group", NULL);
    EXPECT_ERROR(gang_alloc_grow_whole(s.w, id, 1, 2, &error), GANG_EINVAL, &error, "group", NULL);
    EXPECT_RESULT(gang_alloc_grow_whole(s.w, id + 1, 0, 2, &error), GANG_ESTALE, &error);
    EXPECT_RESULT(gang_alloc_grow_whole(NULL, id, 0, 2, &error), GANG_EINVAL, &error);
    ck_assert_int_eq(grow_whole(id, 0, 4, &error), GANG_OK);
    ck_assert_int_eq(grow_whole(id, 0, 2, &error), GANG_OK);
}
END_TEST

START_TEST(a_group_below_its_minimum_gets_at_least_that)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(6, 1000, 0);
    struct gang_placement at = GANG_PLACEMENT_INIT;
    gang_alloc_id id;
    g.min = 4;
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request;
    MUST(gang_request_new(s.c, &spec, &request, NULL));
    at.node = node[0];
    MUST(gang_alloc_adopt(s.w, request, &at, 1, &id, NULL));
    gang_request_free(request);
    EXPECT_ERROR(gang_alloc_grow_whole(s.w, id, 0, 2, &error), GANG_ERANGE, &error, "tasks",
                 "lacks 3");
    ck_assert_int_eq(grow_whole(id, 0, 3, &error), GANG_OK);
}
END_TEST

START_TEST(whole_growth_runs_out_of_memory_without_loss)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_alloc_id id = gang(16, 1, 0);
    gang_result r;
    long fail = 1;
    do {
        fail_from(fail++);
        r = gang_alloc_grow_whole(s.w, id, 0, 15, &error);
        fail_from(0);
        stage_check(&s);
        ck_assert_int_eq(tasks_of(id), r == GANG_OK ? 16 : 1);
        ck_assert(r == GANG_OK || r == GANG_ENOMEM);
    } while (r != GANG_OK);
    expect_tasks(id, 20);
}
END_TEST

/* ---- ranks ----------------------------------------------------------------------------------- */

static struct gang_rank rank[64];

static size_t ranks_of(gang_alloc_id id, int32_t group)
{
    size_t needed;
    MUST(gang_alloc_ranks(s.c, id, group, rank, sizeof(rank[0]), 64, &needed));
    return needed;
}

/* What must hold whatever happened before, by counting. */
static void expect_ranks(gang_alloc_id id, int32_t group)
{
    const struct task_list *list = stage_tasks(&s, id);
    size_t count = ranks_of(id, group), next = 0;
    int64_t nodes = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct gang_task *task = &list->task[i];
        int64_t local = 0, local_size = 0, in_group = 0, group_size = 0, node_rank = -1, so_far = 0;
        if (group >= 0 && task->group != group)
            continue;
        for (size_t k = 0; k < list->count; k++) {
            const struct gang_task *other = &list->task[k];
            bool first = true;
            if (group >= 0 && other->group != group)
                continue;
            local += k < i && other->node == task->node;
            local_size += other->node == task->node;
            in_group += k < i && other->group == task->group;
            group_size += other->group == task->group;
            for (size_t m = 0; m < k; m++)
                first = first && !(list->task[m].node == other->node &&
                                   (group < 0 || list->task[m].group == group));
            if (first && other->node == task->node)
                node_rank = so_far;
            so_far += first;
        }
        nodes = so_far;
        const struct gang_rank *r = &rank[next];
        ck_assert_int_eq(r->task, task->task);
        ck_assert_uint_eq(r->node, task->node);
        ck_assert_int_eq(r->rank, (int64_t)next);
        ck_assert_int_eq(r->world_size, (int64_t)count);
        ck_assert_int_eq(r->local_rank, local);
        ck_assert_int_eq(r->local_size, local_size);
        ck_assert_int_eq(r->node_rank, node_rank);
        ck_assert_int_eq(r->nodes, nodes);
        ck_assert_int_eq(r->group, task->group);
        ck_assert_int_eq(r->group_rank, in_group);
        ck_assert_int_eq(r->group_size, group_size);
        ck_assert_int_eq(r->reserved0, 0);
        next++;
    }
    ck_assert_uint_eq(next, count);
}

START_TEST(ranks_go_by_node_then_by_task)
{
    gang_alloc_id id = gang(6, 6, 2);
    ck_assert_uint_eq(ranks_of(id, -1), 6);
    for (int64_t i = 0; i < 6; i++) {
        ck_assert_int_eq(rank[i].rank, i);
        ck_assert_int_eq(rank[i].node_rank, i / 2);
        ck_assert_int_eq(rank[i].local_rank, i % 2);
        ck_assert_int_eq(rank[i].local_size, 2);
        ck_assert_int_eq(rank[i].nodes, 3);
        ck_assert_int_eq(rank[i].world_size, 6);
    }
    expect_ranks(id, -1);
    expect_ranks(id, 0);
}
END_TEST

START_TEST(each_group_has_ranks_of_its_own)
{
    struct gang_group_spec g[2] = {group_of(2, 1000, 0), group_of(5, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    gang_alloc_id id = stage_alloc(&s, &spec);
    for (int32_t group = -1; group < 2; group++)
        expect_ranks(id, group);
    ck_assert_uint_eq(ranks_of(id, 1), 5);
    ck_assert_int_eq(rank[0].task, 2);
    ck_assert_int_eq(rank[0].rank, 0);
}
END_TEST

START_TEST(more_tasks_are_behind_and_those_behind_a_lost_one_move_up)
{
    gang_alloc_id id = gang(10, 1, 0);
    int64_t lost = 1;
    MUST(gang_alloc_grow(s.w, id, 0, 5, NULL, NULL));
    expect_ranks(id, -1);
    MUST(gang_alloc_shrink(s.w, id, &lost, 1, NULL));
    expect_ranks(id, -1);
    ck_assert_int_eq(rank[1].task, 2);
}
END_TEST

START_TEST(random_lives_keep_ranks_right)
{
    chance_state = test_seed();
    struct gang_group_spec g[3] = {group_of(6, 1000, 0), group_of(6, 500, 0), group_of(6, 0, 0)};
    for (int i = 0; i < 3; i++)
        g[i].min = i == 2;
    struct gang_request_spec spec = request_of(g, 3);
    gang_alloc_id id = stage_alloc(&s, &spec);
    for (int i = 0; i < 300; i++) {
        const struct task_list *list = stage_tasks(&s, id);
        int64_t task = list->task[below((int64_t)list->count)].task;
        if (below(2))
            (void)!gang_alloc_grow(s.w, id, (int32_t)below(3), 2, NULL, NULL);
        else
            (void)!gang_alloc_shrink(s.w, id, &task, 1, NULL);
        expect_ranks(id, (int32_t)below(4) - 1);
    }
}
END_TEST

START_TEST(too_little_room_says_how_much_is_needed)
{
    struct {
        struct gang_rank rank;
        uint64_t more;
    } longer[3];
    size_t needed = 0;
    gang_alloc_id id = gang(3, 3, 0);
    memset(longer, 7, sizeof(longer));
    ck_assert_int_eq(gang_alloc_ranks(s.c, id, -1, NULL, sizeof(rank[0]), 0, &needed), GANG_ELIMIT);
    ck_assert_uint_eq(needed, 3);
    ck_assert_int_eq(gang_alloc_ranks(s.c, id, -1, &longer[0].rank, sizeof(longer[0]), 2, &needed),
                     GANG_ELIMIT);
    ck_assert_int_eq(longer[0].rank.task, INT64_C(0x0707070707070707));
    MUST(gang_alloc_ranks(s.c, id, -1, &longer[0].rank, sizeof(longer[0]), 3, NULL));
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(longer[i].rank.rank, i);
        ck_assert_uint_eq(longer[i].more, 0);
    }
    ck_assert_int_eq(gang_alloc_ranks(s.c, id, 1, rank, sizeof(rank[0]), 3, &needed), GANG_EINVAL);
    ck_assert_uint_eq(needed, 0);
    ck_assert_int_eq(gang_alloc_ranks(s.c, id, -2, rank, sizeof(rank[0]), 3, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_ranks(s.c, id, -1, NULL, sizeof(rank[0]), 3, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_ranks(s.c, id, -1, rank, 8, 3, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_ranks(NULL, id, -1, rank, sizeof(rank[0]), 3, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_ranks(s.c, id + 1, -1, rank, sizeof(rank[0]), 3, NULL),
                     GANG_ESTALE);
    fail_from(1);
    ck_assert_int_eq(gang_alloc_ranks(s.c, id, -1, rank, sizeof(rank[0]), 3, NULL), GANG_ENOMEM);
    fail_from(0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ranks");
    TCase *one = tcase_create("one task");
    tcase_add_checked_fixture(one, open_stage, close_stage);
    tcase_add_test(one, a_task_is_read_by_its_number);
    tcase_add_test(one, tasks_of_every_size_are_found);
    tcase_add_test(one, tasks_of_an_exclusive_allocation_are_found);
    tcase_add_test(one, a_search_survives_ids_with_the_mark);
    tcase_add_test(one, bad_questions_for_a_task);
    suite_add_tcase(suite, one);
    TCase *whole = tcase_create("whole growth");
    tcase_add_checked_fixture(whole, open_stage, close_stage);
    tcase_add_test(whole, all_tasks_are_added_or_none);
    tcase_add_test(whole, what_could_never_be_added_whole_is_told_apart);
    tcase_add_test(whole, bad_whole_growth_is_refused);
    tcase_add_test(whole, a_group_below_its_minimum_gets_at_least_that);
    tcase_add_test(whole, whole_growth_runs_out_of_memory_without_loss);
    suite_add_tcase(suite, whole);
    TCase *ranks = tcase_create("ranks");
    tcase_add_checked_fixture(ranks, open_stage, close_stage);
    tcase_add_test(ranks, ranks_go_by_node_then_by_task);
    tcase_add_test(ranks, each_group_has_ranks_of_its_own);
    tcase_add_test(ranks, more_tasks_are_behind_and_those_behind_a_lost_one_move_up);
    tcase_add_test(ranks, random_lives_keep_ranks_right);
    tcase_add_test(ranks, too_little_room_says_how_much_is_needed);
    suite_add_tcase(suite, ranks);
    return run_suite(suite);
}
