/* SPDX-License-Identifier: Apache-2.0 */
/* place/search/search.h: the nodes that a search visits, in the order of each walk, and how many
 * tasks it plans on them. Plans alone: nothing is committed. */
#include <gangsched/gangsched.h>

#include "base/rcu.h"
#include "chance.h"
#include "place/fit/fit_plan.h"
#include "place/record/placer.h"
#include "place/search/match_cache.h"
#include "place/search/search.h"
#include "support.h"

static struct stage s;
static const char *const levels[] = {"rack"};

enum { MAX_NODES = 64 };
enum { ALL = MAX_NODES * GANG_MAX_GPUS + 1 }; /* more tasks than these nodes hold */
static gang_node_id node[MAX_NODES];
static int nodes;

/* The plan under test, of one request. */
static gang_request *request;
static struct gang__plan *p;

static void open_stage(void)
{
    stage_open(&s, levels, 1);
    ck_assert_ptr_nonnull(gang__placer_of(s.w));
    p = gang__plan_of(s.w);
    request = NULL;
    nodes = 0;
}

static void end_plan(void)
{
    if (request)
        gang__rcu_leave();
    gang_request_free(request);
    request = NULL;
}

static void close_stage(void)
{
    end_plan();
    stage_close(&s);
}

static void add_box(struct box box)
{
    char name[20];
    snprintf(name, sizeof(name), "n%d", nodes);
    box.name = name;
    node[nodes++] = stage_add(&s, &box);
}

static void add(int cores, size_t gpus)
{
    add_box((struct box){.cpu = 1000 * cores, .gpus = gpus});
}

static void add_labelled(int cores, size_t gpus, const char *color)
{
    struct gang_label label = {"color", color};
    add_box((struct box){.cpu = 1000 * cores, .gpus = gpus, .labels = &label, .label_count = 1});
}

static void add_in_rack(const char *rack, int cores, size_t gpus)
{
    struct gang_label place = {"rack", rack};
    add_box((struct box){.cpu = 1000 * cores, .gpus = gpus, .place = &place, .place_count = 1});
}

static uint32_t slot_of(int i)
{
    return (uint32_t)node[i];
}

/* Empties the plan, and keeps its request. */
static void restart(void)
{
    MUST(gang__plan_begin(p, s.c, request, false));
    p->start.slot = p->start.bit = 0;
}

static void begin(const struct gang_request_spec *spec)
{
    end_plan();
    request = stage_request(&s, spec);
    gang__rcu_enter();
    restart();
}

static void begin_group(const struct gang_group_spec *g)
{
    struct gang_request_spec spec = request_of(g, 1);
    begin(&spec);
}

/* Tasks of so many cores and whole GPUs. */
static void begin_tasks(int cores, int gpus)
{
    struct gang_group_spec g = group_of(ALL, 1000 * cores, 1000 * gpus);
    begin_group(&g);
}

/* Numbers of nodes, as a text: "3 0 2". */
struct list {
    char text[4096];
    size_t used;
    int count;
};

static void list_add(struct list *list, const struct gang__node *added)
{
    int i = 0;
    while (i < nodes && node[i] != added->id)
        i++;
    ck_assert_int_lt(i, nodes);
    list->used += (size_t)snprintf(list->text + list->used, sizeof(list->text) - list->used, "%s%d",
                                   list->used ? " " : "", i);
    ck_assert_uint_lt(list->used, sizeof(list->text));
    list->count++;
}

static struct list offers;
static int offers_wanted;

static bool offer(void *user, uint32_t slot)
{
    list_add(user, gang__plan_node(p, slot));
    return offers.count == offers_wanted;
}

/* The first nodes that a search offers, at most so many, each with capacity for `at_least`. */
static const char *offered_of(int wanted, int64_t at_least, const struct gang__scope *scope,
                              int32_t policy)
{
    struct gang__search_options options = {policy, INT64_MAX, INT64_MAX, at_least, offer, &offers};
    offers = (struct list){.count = 0};
    offers_wanted = wanted;
    gang__search_with(p, 0, 1, scope, &options);
    ck_assert_uint_eq(p->tasks.count, 0);
    return offers.text;
}

static const char *offered(int32_t policy)
{
    struct gang__scope all = gang__scope_all();
    return offered_of(ALL, 1, &all, policy);
}

/* The node of each planned task, in the order of planning. Good until the next call. */
static const char *planned(void)
{
    static struct list list;
    list = (struct list){.count = 0};
    for (size_t i = 0; i < p->tasks.count; i++)
        list_add(&list, p->nodes.copy[p->tasks.plan[i].copy].node);
    return list.text;
}

/* The nodes on which a search plans up to `want` tasks, in an empty plan. */
static const char *planned_with(int64_t want, int32_t policy, int64_t per_node, int64_t max_nodes,
                                int64_t at_least)
{
    struct gang__search_options options = {policy, per_node, max_nodes, at_least, NULL, NULL};
    struct gang__scope all = gang__scope_all();
    restart();
    int64_t done = gang__search_with(p, 0, want, &all, &options);
    ck_assert_int_eq(done, (int64_t)p->tasks.count);
    return planned();
}

static const char *planned_of(int64_t want, int32_t policy)
{
    return planned_with(want, policy, INT64_MAX, INT64_MAX, 1);
}

/* ---- the order ---- */

START_TEST(packing_goes_from_the_fullest_node_that_fits_to_the_emptiest)
{
    add(8, 4);
    add(8, 1);
    add(8, 2);
    add(8, 3);
    add(8, 2);
    begin_tasks(1, 2);
    ck_assert_str_eq(offered(GANG_POLICY_PACK), "2 4 3 0");
    ck_assert_str_eq(planned_of(ALL, GANG_POLICY_PACK), "2 4 3 0 0");
}
END_TEST

START_TEST(a_proof_goes_from_the_emptiest_node_and_fills_each)
{
    add(8, 4);
    add(8, 1);
    add(8, 2);
    add(8, 3);
    begin_tasks(1, 1);
    ck_assert_str_eq(offered(GANG__ORDER_PROOF), "0 3 2 1");
    ck_assert_str_eq(planned_of(8, GANG__ORDER_PROOF), "0 0 0 0 3 3 3 2");
}
END_TEST

START_TEST(spreading_goes_from_the_emptiest_node_with_one_task_on_each)
{
    add(8, 2);
    add(8, 1);
    add(8, 3);
    begin_tasks(1, 1);
    ck_assert_str_eq(planned_of(ALL, GANG_POLICY_SPREAD), "2 0 1 2 0 2");
}
END_TEST

START_TEST(first_goes_in_the_order_of_slots)
{
    add(8, 4);
    add(8, 1);
    add(8, 0);
    add(8, 2);
    begin_tasks(1, 1);
    ck_assert_str_eq(offered(GANG_POLICY_FIRST), "0 1 3");
    ck_assert_str_eq(planned_of(6, GANG_POLICY_FIRST), "0 0 0 0 1 3");
}
END_TEST

START_TEST(tasks_without_gpus_go_by_free_cores)
{
    add(16, 0);
    add(1, 0);
    add(4, 0);
    add(8, 0);
    begin_tasks(2, 0);
    ck_assert_str_eq(offered(GANG_POLICY_PACK), "2 3 0");
    ck_assert_str_eq(offered(GANG__ORDER_PROOF), "0 3 2");
}
END_TEST

/* Tiers: nodes with GPUs are kept for tasks that need them, as long as others have capacity. */
START_TEST(tasks_without_gpus_go_to_nodes_with_gpus_last)
{
    add(4, 1);
    add(16, 0);
    add(2, 2);
    add(8, 0);
    begin_tasks(2, 0);
    ck_assert_str_eq(offered(GANG_POLICY_PACK), "3 1 2 0");
}
END_TEST

/* Nodes that are alike: the walk begins at the slot of the plan, and wraps around. */
START_TEST(equal_nodes_come_in_the_order_of_slots_from_the_start_of_the_plan)
{
    for (int i = 0; i < 5; i++)
        add(8, 1);
    begin_tasks(1, 1);
    ck_assert_str_eq(offered(GANG_POLICY_PACK), "0 1 2 3 4");
    p->start.slot = slot_of(3);
    ck_assert_str_eq(offered(GANG_POLICY_PACK), "3 4 0 1 2");
}
END_TEST

/* Best fit: the node with least left, so a node that has a task takes the next one, too. */
START_TEST(the_best_score_takes_each_task_and_of_equal_ones_the_lowest_slot)
{
    add(64, 0);
    add(32, 0);
    add(128, 0);
    add(32, 0);
    begin_tasks(16, 0);
    ck_assert_str_eq(planned_of(7, GANG_POLICY_BEST_FIT), "1 1 3 3 0 0 0");
}
END_TEST

/* Node 1 is full; on the imagined cluster it is empty. */
START_TEST(an_imagined_empty_cluster_is_walked_in_the_same_order)
{
    struct gang_group_spec one = group_of(1, 1000, 1000), two[2] = {one, one};
    struct gang_request_spec spec = request_of(two, 2);
    two[0].name = "a";
    two[1].name = "b";
    add(8, 4);
    add(8, 1);
    add(8, 2);
    gang_alloc_id id = stage_alloc_group(&s, &one);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 1);
    begin(&spec);
    ck_assert_str_eq(offered(GANG_POLICY_PACK), "2 0");
    MUST(gang__plan_begin(p, s.c, request, true));
    ck_assert_str_eq(offered(GANG_POLICY_PACK), "1 2 0");
    ck_assert_str_eq(offered(GANG__ORDER_PROOF), "0 2 1");
    ck_assert_str_eq(offered(GANG_POLICY_FIRST), "0 1 2");
}
END_TEST

/* ---- how many ---- */

START_TEST(an_offer_that_is_taken_ends_the_search)
{
    static const int32_t policy[] = {GANG_POLICY_PACK, GANG_POLICY_FIRST, GANG__ORDER_PROOF,
                                     GANG_POLICY_BEST_FIT};
    struct gang__scope all = gang__scope_all();
    for (int i = 0; i < 4; i++)
        add(8, 1);
    begin_tasks(1, 1);
    ck_assert_str_eq(offered_of(1, 1, &all, policy[_i]), "0");
    ck_assert_str_eq(offered_of(3, 1, &all, policy[_i]), "0 1 2");
}
END_TEST

START_TEST(no_more_tasks_are_planned_than_wanted)
{
    static const int32_t policy[] = {GANG_POLICY_PACK, GANG_POLICY_SPREAD, GANG_POLICY_FIRST,
                                     GANG__ORDER_PROOF, GANG_POLICY_BEST_FIT};
    for (int i = 0; i < 3; i++)
        add(8, 4);
    begin_tasks(1, 1);
    for (int64_t want = 0; want <= 13; want++) {
        planned_of(want, policy[_i]);
        ck_assert_uint_eq(p->tasks.count, (size_t)(want < 12 ? want : 12));
    }
}
END_TEST

START_TEST(no_node_takes_more_tasks_than_per_node)
{
    for (int i = 0; i < 3; i++)
        add(8, 4);
    begin_tasks(1, 1);
    ck_assert_str_eq(planned_with(5, GANG_POLICY_PACK, 2, INT64_MAX, 1), "0 0 1 1 2");
    ck_assert_str_eq(planned_with(ALL, GANG_POLICY_FIRST, 3, INT64_MAX, 1), "0 0 0 1 1 1 2 2 2");
}
END_TEST

START_TEST(no_more_nodes_take_tasks_than_max_nodes)
{
    for (int i = 0; i < 3; i++)
        add(8, 2);
    begin_tasks(1, 1);
    ck_assert_str_eq(planned_with(ALL, GANG_POLICY_PACK, INT64_MAX, 2, 1), "0 0 1 1");
    ck_assert_str_eq(planned_with(ALL, GANG__ORDER_PROOF, INT64_MAX, 1, 1), "0 0");
}
END_TEST

START_TEST(nodes_that_hold_fewer_tasks_than_at_least_are_left_out)
{
    struct gang__scope all = gang__scope_all();
    add(8, 1);
    add(8, 3);
    add(2, 4); /* its cores hold two tasks */
    add(8, 2);
    add(8, 4);
    begin_tasks(1, 1);
    ck_assert_str_eq(offered_of(ALL, 3, &all, GANG_POLICY_PACK), "1 4");
    ck_assert_str_eq(planned_with(ALL, GANG_POLICY_FIRST, INT64_MAX, INT64_MAX, 3),
                     "1 1 1 4 4 4 4");
}
END_TEST

/* ---- which nodes ---- */

START_TEST(nodes_without_the_label_or_that_are_not_up_are_left_out)
{
    static const int32_t policy[] = {GANG_POLICY_PACK, GANG_POLICY_SPREAD, GANG_POLICY_FIRST,
                                     GANG__ORDER_PROOF, GANG_POLICY_BEST_FIT};
    struct gang_group_spec g = group_of(ALL, 1000, 1000);
    g.where = "color = red";
    for (int i = 0; i < 6; i++)
        add_labelled(8, 1, i % 2 ? "red" : "blue");
    MUST(gang_node_set_state(s.w, node[3], GANG_NODE_DRAINING));
    begin_group(&g);
    ck_assert_str_eq(planned_of(ALL, policy[_i]), "1 5");
}
END_TEST

/* A rack of few nodes is walked node by node, a large one by the index. */
START_TEST(only_the_nodes_of_the_domain_are_visited_in_the_same_order)
{
    static const int size[] = {4, 24};
    struct gang__scope rack, first;
    struct list expected = {.count = 0};
    add_in_rack("b", 8, 1);
    for (int i = 0; i < size[_i]; i++)
        add_in_rack("a", 8, i % 2 ? 1 : 2);
    add_in_rack("b", 8, 2);
    begin_tasks(1, 1);
    first = gang__scope_node(slot_of(1));
    ck_assert(gang__scope_at(p, &first, 0, &rack));
    for (int gpus = 1; gpus <= 2; gpus++)
        for (int i = 3 - gpus; i <= size[_i]; i += 2)
            list_add(&expected, gang__plan_node(p, slot_of(i)));
    ck_assert_int_eq(expected.count, size[_i]);
    ck_assert_str_eq(offered_of(ALL, 1, &rack, GANG_POLICY_PACK), expected.text);
}
END_TEST

START_TEST(only_the_node_of_the_scope_is_visited)
{
    struct gang__scope one;
    for (int i = 0; i < 3; i++)
        add(8, 2);
    begin_tasks(1, 1);
    one = gang__scope_node(slot_of(1));
    ck_assert_str_eq(offered_of(ALL, 1, &one, GANG_POLICY_PACK), "1");
    ck_assert_int_eq(gang__search(p, 0, ALL, &one, GANG_POLICY_BEST_FIT), 2);
    ck_assert_str_eq(planned(), "1 1");
}
END_TEST

/* The first search with a match cache makes and fills it: the next one meets no other node. */
START_TEST(a_match_cache_changes_neither_the_nodes_nor_their_order)
{
    static const int32_t policy[] = {GANG_POLICY_PACK, GANG_POLICY_SPREAD, GANG_POLICY_FIRST,
                                     GANG__ORDER_PROOF, GANG_POLICY_BEST_FIT};
    static char without[sizeof(offers.text)];
    struct gang_group_spec g = group_of(ALL, 1000, 1000);
    g.where = "color = red";
    for (int i = 0; i < 50; i++)
        add_labelled(8, (size_t)(i % 4), i % 3 ? "blue" : "red");
    begin_group(&g);
    atomic_store(&gang__match_cache_off, true);
    uint64_t misses = atomic_load(&gang__match_cache_misses);
    snprintf(without, sizeof(without), "%s", planned_of(ALL, policy[_i]));
    ck_assert_uint_gt(atomic_load(&gang__match_cache_misses), misses);
    atomic_store(&gang__match_cache_off, false);
    ck_assert_str_eq(planned_of(ALL, policy[_i]), without);
    misses = atomic_load(&gang__match_cache_misses);
    ck_assert_str_eq(planned_of(ALL, policy[_i]), without);
    ck_assert_uint_eq(atomic_load(&gang__match_cache_misses), misses);
    ck_assert_uint_gt(strlen(without), 0);
}
END_TEST

/* ---- what the index alone proves ---- */

static bool cannot_fit(int64_t want)
{
    return gang__search_cannot_fit(s.c, &request->group[0], want);
}

START_TEST(the_index_proves_that_one_task_more_does_not_fit)
{
    add(8, 4);
    add(8, 3);
    add(8, 1);
    begin_tasks(1, 2);
    ck_assert(!cannot_fit(3));
    ck_assert(cannot_fit(4));
    begin_tasks(1, 1);
    ck_assert(!cannot_fit(8));
    ck_assert(cannot_fit(9));
}
END_TEST

START_TEST(the_index_proves_nothing_of_tasks_without_whole_gpus)
{
    struct gang_group_spec part = group_of(ALL, 1000, 500);
    add(1, 1);
    begin_tasks(1, 0);
    ck_assert(!cannot_fit(ALL));
    begin_group(&part);
    ck_assert(!cannot_fit(ALL));
}
END_TEST

/* Nodes with up to GANG_MAX_GPUS GPUs, some of them taken. */
START_TEST(what_fits_is_never_ruled_out)
{
    uint64_t seed = chance_state = test_seed();
    struct gang__scope all = gang__scope_all();
    for (int i = 0; i < MAX_NODES; i++) {
        add((int)below(24), (size_t)below(one_in(4) ? GANG_MAX_GPUS + 1 : 9));
        struct gang_group_spec taken = group_of(1, 500, 500 * (1 + below(8)));
        taken.gpu_milli -= taken.gpu_milli > 1000 ? taken.gpu_milli % 1000 : 0;
        if (one_in(2))
            stage_try_group(&s, &taken);
    }
    for (int round = 0; round < 20; round++) {
        begin_tasks((int)below(4), 1 + (int)below(12));
        int64_t fit = gang__search(p, 0, ALL, &all, GANG__ORDER_PROOF);
        for (int64_t want = 1; want <= fit; want++)
            ck_assert_msg(!cannot_fit(want), "%" PRId64 " tasks fit; seed %" PRIu64, want, seed);
        ck_assert(cannot_fit(ALL));
    }
}
END_TEST

static void add_tests(TCase *t)
{
    tcase_add_test(t, packing_goes_from_the_fullest_node_that_fits_to_the_emptiest);
    tcase_add_test(t, a_proof_goes_from_the_emptiest_node_and_fills_each);
    tcase_add_test(t, spreading_goes_from_the_emptiest_node_with_one_task_on_each);
    tcase_add_test(t, first_goes_in_the_order_of_slots);
    tcase_add_test(t, tasks_without_gpus_go_by_free_cores);
    tcase_add_test(t, tasks_without_gpus_go_to_nodes_with_gpus_last);
    tcase_add_test(t, equal_nodes_come_in_the_order_of_slots_from_the_start_of_the_plan);
    tcase_add_test(t, the_best_score_takes_each_task_and_of_equal_ones_the_lowest_slot);
    tcase_add_test(t, an_imagined_empty_cluster_is_walked_in_the_same_order);
    tcase_add_loop_test(t, an_offer_that_is_taken_ends_the_search, 0, 4);
    tcase_add_loop_test(t, no_more_tasks_are_planned_than_wanted, 0, 5);
    tcase_add_test(t, no_node_takes_more_tasks_than_per_node);
    tcase_add_test(t, no_more_nodes_take_tasks_than_max_nodes);
    tcase_add_test(t, nodes_that_hold_fewer_tasks_than_at_least_are_left_out);
    tcase_add_loop_test(t, nodes_without_the_label_or_that_are_not_up_are_left_out, 0, 5);
    tcase_add_loop_test(t, only_the_nodes_of_the_domain_are_visited_in_the_same_order, 0, 2);
    tcase_add_test(t, only_the_node_of_the_scope_is_visited);
    tcase_add_loop_test(t, a_match_cache_changes_neither_the_nodes_nor_their_order, 0, 5);
    tcase_add_test(t, the_index_proves_that_one_task_more_does_not_fit);
    tcase_add_test(t, the_index_proves_nothing_of_tasks_without_whole_gpus);
    tcase_add_test(t, what_fits_is_never_ruled_out);
}

int main(void)
{
    Suite *suite = suite_create("search");
    TCase *t = tcase_create("search");
    tcase_add_checked_fixture(t, open_stage, close_stage);
    add_tests(t);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
