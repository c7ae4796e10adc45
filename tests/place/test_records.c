/* SPDX-License-Identifier: Apache-2.0 */
/* Records of allocations: the node of each is known without its record. */
#include <gangsched/gangsched.h>

#include "place/alloc/alloc.h"
#include "place/state/records.h"
#include "suite.h"
#include "support.h"

enum { NODES = 3, MANY = 3300 }; /* more than two chunks of records */

static struct stage s;
static gang_node_id node[NODES];

static void setup(void)
{
    static const char *const names[NODES] = {"n0", "n1", "n2"};
    stage_open(&s, NULL, 0);
    for (int i = 0; i < NODES; i++) {
        struct box box = {.name = names[i], .cpu = MANY, .memory = GIB, .gpus = 2};
        node[i] = stage_add(&s, &box);
    }
}

static void teardown(void)
{
    stage_close(&s);
}

/* Does the hint name the node of the allocation's first task? */
static void hint_is_right(gang_alloc_id id)
{
    ck_assert_uint_eq(gang__alloc_node_hint(s.c, id), (uint32_t)stage_tasks(&s, id)->task[0].node);
}

START_TEST(the_hint_names_the_node_of_the_first_task)
{
    static gang_alloc_id id[MANY];
    struct gang_group_spec one = group_of(1, 3, 0);
    struct gang_request_spec spec = request_of(&one, 1);
    for (int i = 0; i < MANY; i++)
        id[i] = stage_alloc(&s, &spec);
    for (int i = 0; i < MANY; i++)
        hint_is_right(id[i]);
    ck_assert_uint_ne(gang__alloc_node_hint(s.c, id[0]), gang__alloc_node_hint(s.c, id[MANY - 1]));
    /* Records that are used again are of other nodes. */
    for (int i = 0; i < MANY; i++)
        MUST(gang_alloc_free(s.w, id[i]));
    for (int i = 0; i < MANY; i++)
        hint_is_right(id[i] = stage_alloc(&s, &spec));
    stage_check(&s);
    for (int i = 0; i < MANY; i++)
        MUST(gang_alloc_free(s.w, id[i]));
}
END_TEST

START_TEST(it_follows_the_first_task)
{
    struct gang_group_spec two = group_of(2, 1000, 2000);
    gang_alloc_id id = stage_alloc_group(&s, &two);
    hint_is_right(id);
    uint32_t before = gang__alloc_node_hint(s.c, id);
    MUST(gang__alloc_remove_tasks(s.w, id, (int64_t[]){0}, 1));
    hint_is_right(id);
    ck_assert_uint_ne(gang__alloc_node_hint(s.c, id), before);
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

START_TEST(an_id_without_a_record_has_no_hint)
{
    struct gang_group_spec one = group_of(1, 1000, 0);
    gang_alloc_id id = stage_alloc_group(&s, &one);
    ck_assert_uint_ne(gang__alloc_node_hint(s.c, id), GANG__POOL);
    ck_assert_uint_eq(gang__alloc_node_hint(s.c, GANG_ID_NONE), GANG__POOL);
    ck_assert_uint_eq(gang__alloc_node_hint(s.c, id + 1), GANG__POOL);
    ck_assert_uint_eq(gang__alloc_node_hint(s.c, UINT64_MAX), GANG__POOL);
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_eq(gang_alloc_free(s.w, id), GANG_ESTALE); /* the hint is still there */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("records");
    TCase *t = tcase_create("records");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, the_hint_names_the_node_of_the_first_task);
    tcase_add_test(t, it_follows_the_first_task);
    tcase_add_test(t, an_id_without_a_record_has_no_hint);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
