/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of a gang that end one by one: given back below its minimum, listed with their places. */
#include <gangsched/gangsched.h>

#include "place/alloc/alloc.h"
#include "place/whatif/whatif.h"
#include "suite.h"
#include "support.h"

static struct stage s;
static gang_node_id node[2];

static void setup(void)
{
    static const char *const names[] = {"n0", "n1"};
    stage_open(&s, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct box box = {.name = names[i], .cpu = 4000, .memory = GIB, .gpus = 4};
        node[i] = stage_add(&s, &box);
    }
}

static void teardown(void)
{
    stage_close(&s);
}

START_TEST(tasks_go_below_the_minimum)
{
    struct gang_group_spec g = group_of(6, 1000, 1000);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    const int64_t some[] = {4, 1, 2};
    ck_assert_int_eq(gang_alloc_shrink(s.w, id, some, 3, NULL), GANG_ENOFIT);
    MUST(gang__alloc_remove_tasks(s.w, id, some, 3));
    ck_assert_uint_eq(stage_tasks_on(&s, id, GANG_ID_NONE), 3);
    ck_assert_int_eq(gang__alloc_remove_tasks(s.w, id, some, 1), GANG_ENOENT);
    stage_check(&s);
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

START_TEST(with_the_last_task_the_allocation_holds_nothing_and_grows_again)
{
    struct gang_group_spec g = group_of(2, 1000, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    const int64_t all[] = {0, 1};
    int64_t granted;
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        spec.exclusive = exclusive;
        gang_alloc_id id = stage_alloc(&s, &spec);
        MUST(gang__alloc_remove_tasks(s.w, id, all, 2));
        ck_assert_uint_eq(stage_tasks_on(&s, id, GANG_ID_NONE), 0);
        ck_assert_int_eq(stage_node(&s, node[0]).gpu_free, 4000);
        ck_assert_int_eq(stage_node(&s, node[0]).cpu_free, 4000);
        MUST(gang_alloc_grow(s.w, id, 0, 2, &granted, NULL));
        ck_assert_int_eq(granted, 2);
        ck_assert_int_eq(stage_tasks(&s, id)->task[0].task, 0);
        MUST(gang__alloc_remove_tasks(s.w, id, (int64_t[]){0, 1}, 2));
        stage_check(&s);
        MUST(gang_alloc_free(s.w, id));
        ck_assert_int_eq(gang__alloc_remove_tasks(s.w, id, all, 1), GANG_ESTALE);
    }
}
END_TEST

START_TEST(tasks_that_ended_count_when_it_grows)
{
    struct gang_group_spec g = group_of(4, 1000, 1000);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    const int64_t ended[] = {2};
    const uint64_t numbers = 1 << 0 | 1 << 1;
    int64_t granted, added[2];
    MUST(gang__alloc_remove_tasks(s.w, id, (int64_t[]){0, 1, 2}, 3));
    MUST(gang__growth_ended(s.w, ended, &numbers)); /* two of the three */
    MUST(gang_alloc_grow(s.w, id, 0, 1, &granted, NULL));
    ck_assert_int_eq(granted, 1);
    gang__growth_numbers(s.w, added, 1);
    ck_assert_int_eq(added[0], 2);
    ck_assert_int_lt(gang_alloc_grow(s.w, id, 0, 1, &granted, NULL), 0);
    MUST(gang__growth_ended(s.w, NULL, NULL));
    MUST(gang_alloc_grow(s.w, id, 0, 1, &granted, NULL));
    ck_assert_int_eq(granted, 2);
    gang__growth_numbers(s.w, added, 2);
    ck_assert_int_eq(added[0], 0);
    ck_assert_int_eq(added[1], 1);
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

START_TEST(tasks_are_found_by_number)
{
    struct gang_group_spec g[2] = {group_of(3, 1000, 1000), group_of(2, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    gang_alloc_id id = stage_alloc(&s, &spec);
    struct gang__found found = {NULL, 0, 0};
    MUST(gang__alloc_find(s.c, id, NULL, 0, &found));
    ck_assert_uint_eq(found.count, 5);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_int_eq(found.task[i].task, (int64_t)i);
        ck_assert_int_eq(found.task[i].group, stage_tasks(&s, id)->task[i].group);
        ck_assert_uint_eq(found.task[i].node, stage_tasks(&s, id)->task[i].node);
    }
    MUST(gang__alloc_find(s.c, id, (int64_t[]){-1, 1, 1, 4, 9}, 5, &found));
    ck_assert_uint_eq(found.count, 2);
    ck_assert_int_eq(found.task[0].task, 1);
    ck_assert_int_eq(found.task[1].task, 4);
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_eq(gang__alloc_find(s.c, id, NULL, 0, &found), GANG_ESTALE);
    ck_assert_uint_eq(found.count, 0);
    gang__found_free(&found, &s.mem.mem);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shed");
    TCase *t = tcase_create("shed");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, tasks_go_below_the_minimum);
    tcase_add_test(t, with_the_last_task_the_allocation_holds_nothing_and_grows_again);
    tcase_add_test(t, tasks_that_ended_count_when_it_grows);
    tcase_add_test(t, tasks_are_found_by_number);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
