/* SPDX-License-Identifier: Apache-2.0 */
/* Many allocations freed at once, node by node. */
#include <gangsched/gangsched.h>

#include "place/alloc/alloc.h"
#include "place/state/records.h"
#include "suite.h"
#include "support.h"

enum { NODES = 3, MANY = 40 };

static struct stage s;
static gang_node_id node[NODES];

static void setup(void)
{
    static const char *const names[NODES] = {"n0", "n1", "n2"};
    stage_open(&s, NULL, 0);
    for (int i = 0; i < NODES; i++) {
        struct box box = {.name = names[i], .cpu = 20000, .memory = GIB, .gpus = 8};
        node[i] = stage_add(&s, &box);
    }
}

static void teardown(void)
{
    stage_close(&s);
}

/* An allocation of `tasks` tasks. */
static struct gang__to_free hold(int64_t tasks, int64_t cpu, int64_t gpu)
{
    struct gang_group_spec g = group_of(tasks, cpu, gpu);
    return (struct gang__to_free){.id = stage_alloc_group(&s, &g), .r = GANG_EINVAL};
}

static void all_is_free(void)
{
    stage_check(&s);
    for (int i = 0; i < NODES; i++) {
        ck_assert_int_eq(stage_node(&s, node[i]).cpu_free, 20000);
        ck_assert_int_eq(stage_node(&s, node[i]).gpu_free, 8000);
    }
}

START_TEST(all_of_one_task_are_freed)
{
    struct gang__to_free list[MANY + 7];
    size_t count = 0;
    for (int i = 0; i < MANY; i++) /* more of a node than one commit takes */
        list[count++] = hold(1, 100 + i, 0);
    for (int i = 0; i < 5; i++) /* whole devices and parts of one, in one word */
        list[count++] = hold(1, 1000, i % 2 ? 1000 : 300);
    list[count++] = hold(1, 15000, 8000);
    list[count++] = hold(1, 15000, 8000);
    for (size_t i = 0; i < count; i++)
        list[i].of = &list[i];
    gang__allocs_free(s.w, list, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(list[i].r, GANG_OK);
        ck_assert_ptr_eq(list[i].of, &list[i]); /* the list keeps its order */
        ck_assert_int_eq(gang_alloc_free(s.w, list[i].id), GANG_ESTALE);
    }
    all_is_free();
    struct gang__to_free again = hold(NODES, 20000, 8000); /* the index shows all of it */
    MUST(gang_alloc_free(s.w, again.id));
}
END_TEST

START_TEST(others_stay_as_they_are)
{
    struct gang_group_spec g = group_of(1, 1000, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    struct gang__alloc *read;
    spec.exclusive = 1;
    struct gang__to_free list[] = {hold(1, 1000, 1000), hold(2, 1000, 1000),  {.r = GANG_EINVAL},
                                   hold(1, 1000, 1000), {.id = GANG_ID_NONE}, hold(1, 1000, 1000)};
    list[2].id = stage_alloc(&s, &spec);
    MUST(gang_alloc_free(s.w, list[3].id)); /* stale */
    MUST(gang__alloc_read(s.c, list[5].id, &read));
    gang__allocs_free(s.w, list, 6);
    gang__alloc_read_end(read);
    ck_assert_int_eq(list[0].r, GANG_OK);
    for (int i = 1; i < 6; i++)
        ck_assert_int_ne(list[i].r, GANG_OK);
    stage_check(&s);
    ck_assert_uint_eq(stage_tasks_on(&s, list[1].id, GANG_ID_NONE), 2);
    MUST(gang_alloc_free(s.w, list[1].id));
    MUST(gang_alloc_free(s.w, list[2].id));
    MUST(gang_alloc_free(s.w, list[5].id)); /* it was read, and is as before */
    all_is_free();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("release_many");
    TCase *t = tcase_create("release_many");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, all_of_one_task_are_freed);
    tcase_add_test(t, others_stay_as_they_are);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
