/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: a gang under the policy "topology" goes on the fewest domains and the fewest nodes,
 * equally filled (lib/place/pack/few_nodes.c, choose_domain.c). */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static const char *const levels[] = {"rack"};

enum { MOST_NODES = 16 };
static gang_node_id node[MOST_NODES];
static int nodes;

static void open_stage(void)
{
    stage_open(&s, levels, 1);
    nodes = 0;
}

static void close_stage(void)
{
    stage_close(&s);
}

/* Nodes with so many cores each in a rack; NULL: in none. */
static void add(const char *rack, int count, int cores)
{
    struct gang_label place = {"rack", rack};
    for (int i = 0; i < count; i++) {
        char name[20];
        snprintf(name, sizeof(name), "n%d", nodes);
        struct box box = {
            .name = name, .cpu = 1000 * cores, .place = &place, .place_count = rack != NULL};
        node[nodes++] = stage_add(&s, &box);
    }
}

/* So many tasks of a core each, under the policy. */
static gang_alloc_id run(int64_t tasks, const char *same, const char *prefer)
{
    struct gang_group_spec g = group_of(tasks, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.same = same;
    g.prefer = prefer;
    spec.policy = GANG_POLICY_TOPOLOGY;
    return stage_alloc(&s, &spec);
}

/* The tasks on each node, in the order in which the nodes were added: "0 4 4". Good until the next
 * call. */
static const char *tasks_on_nodes(gang_alloc_id id)
{
    static char text[MOST_NODES * 8];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < nodes; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%zu", i ? " " : "",
                                 stage_tasks_on(&s, id, node[i]));
    return text;
}

START_TEST(a_gang_goes_on_the_fewest_nodes)
{
    add(NULL, 4, 2);
    add(NULL, 2, 4);
    ck_assert_str_eq(tasks_on_nodes(run(8, NULL, NULL)), "0 0 0 0 4 4");
}
END_TEST

/* Six tasks need two nodes of four: three on each, rather than four and two. */
START_TEST(nodes_are_equally_filled)
{
    add(NULL, 2, 4);
    ck_assert_str_eq(tasks_on_nodes(run(6, NULL, NULL)), "3 3");
}
END_TEST

/* Five tasks on two nodes cannot be equal; no third node is taken for that. */
START_TEST(an_odd_gang_takes_no_more_nodes_than_it_needs)
{
    add(NULL, 3, 4);
    gang_alloc_id id = run(5, NULL, NULL);
    int used = 0;
    for (int i = 0; i < nodes; i++)
        used += stage_tasks_on(&s, id, node[i]) > 0;
    ck_assert_int_eq(used, 2);
}
END_TEST

/* Both racks hold eight tasks; rack b does with two nodes. */
START_TEST(the_rack_with_the_fewest_nodes_is_chosen)
{
    add("a", 4, 2);
    add("b", 2, 4);
    ck_assert_str_eq(tasks_on_nodes(run(8, NULL, NULL)), "0 0 0 0 4 4");
    ck_assert_str_eq(tasks_on_nodes(run(8, "rack", NULL)), "2 2 2 2 0 0");
}
END_TEST

/* Both racks need two nodes for eight tasks; rack b has less left. */
START_TEST(of_equal_racks_the_tightest_is_chosen)
{
    add("a", 3, 4);
    add("b", 2, 4);
    ck_assert_str_eq(tasks_on_nodes(run(8, "rack", NULL)), "0 0 0 4 4");
    ck_assert_str_eq(tasks_on_nodes(run(8, NULL, "rack")), "4 4 0 0 0");
}
END_TEST

/* No rack holds eleven tasks. The largest two do: all of b, and what is left in c, which is tighter
 * than a. */
START_TEST(a_gang_larger_than_any_rack_takes_the_largest_first)
{
    add("a", 1, 4);
    add("b", 2, 4);
    add("c", 1, 3);
    ck_assert_str_eq(tasks_on_nodes(run(11, NULL, NULL)), "0 4 4 3");
}
END_TEST

/* A search for few nodes keeps to the required level. */
START_TEST(a_gang_that_fits_no_rack_is_refused_if_it_must_be_in_one)
{
    struct gang_group_spec g = group_of(5, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    add("a", 2, 2);
    add("b", 1, 4);
    g.same = "rack";
    spec.policy = GANG_POLICY_TOPOLOGY;
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    ck_assert_str_eq(tasks_on_nodes(run(4, "rack", NULL)), "0 0 4");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("few_nodes");
    TCase *t = tcase_create("few nodes");
    tcase_add_checked_fixture(t, open_stage, close_stage);
    tcase_add_test(t, a_gang_goes_on_the_fewest_nodes);
    tcase_add_test(t, nodes_are_equally_filled);
    tcase_add_test(t, an_odd_gang_takes_no_more_nodes_than_it_needs);
    tcase_add_test(t, the_rack_with_the_fewest_nodes_is_chosen);
    tcase_add_test(t, of_equal_racks_the_tightest_is_chosen);
    tcase_add_test(t, a_gang_larger_than_any_rack_takes_the_largest_first);
    tcase_add_test(t, a_gang_that_fits_no_rack_is_refused_if_it_must_be_in_one);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
