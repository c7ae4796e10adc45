/* SPDX-License-Identifier: Apache-2.0 */
/* The match cache (lib/place/search/match_cache.c): searches find the same nodes as without it,
 * read few others, and see every change. */
#include <gangsched/gangsched.h>

#include "chance.h"
#include "place/search/match_cache.h"
#include "support.h"

enum { NODES = 2500, RARE = 700 }; /* in three chunks; one of so many nodes is rare */

static struct stage s;
static gang_node_id node[NODES];
static const char *const yes[] = {"y"};
static struct gang_label_rule rare_rule = {"rare", yes, 1, GANG_LABEL_IN, 0};

/* A node with two cores and a GPU, and with one label. */
static struct box box_of(int i, const struct gang_label *label)
{
    static char name[20];
    snprintf(name, sizeof(name), "n%d", i);
    return (struct box){.name = name,
                        .cpu = 2000,
                        .gpus = 1,
                        .model = i % 3 ? "A" : "B",
                        .labels = label,
                        .label_count = label != NULL};
}

static void add(int i, const char *rare)
{
    struct gang_label label = {"rare", rare};
    struct box box = box_of(i, &label);
    node[i] = stage_add(&s, &box);
}

static void relabel(int i, const char *rare)
{
    static struct box_arrays arrays;
    struct gang_label label = {"rare", rare};
    struct box box = box_of(i, &label);
    struct gang_node_spec spec = box_spec(&box, &arrays);
    MUST(gang_node_change(s.w, node[i], &spec, NULL));
}

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
    for (int i = 0; i < NODES; i++)
        add(i, i % RARE == RARE - 1 ? "y" : "n");
}

static void close_stage(void)
{
    stage_close(&s);
}

/* Tasks on nodes that are rare. */
static gang_request *rare_request(int64_t count, int32_t policy)
{
    struct gang_group_spec g = group_of(count, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.labels = &rare_rule;
    g.label_count = 1;
    spec.policy = policy;
    return stage_request(&s, &spec);
}

static gang_result try_once(gang_request *request)
{
    gang_alloc_id id;
    gang_result r = gang_alloc(s.w, request, &id, NULL);
    if (r == GANG_OK)
        MUST(gang_alloc_free(s.w, id));
    return r;
}

/* A few searches fill the cache. Between them something is freed, so that a cached refusal does not
 * answer. */
static void warm(gang_request *request)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    for (int i = 0; i < 8; i++) {
        try_once(request);
        MUST(gang_alloc_free(s.w, stage_alloc_group(&s, &g)));
    }
}

static uint64_t misses_of(gang_request *request, gang_result expected)
{
    uint64_t before = atomic_load(&gang__match_cache_misses);
    ck_assert_int_eq(try_once(request), expected);
    return atomic_load(&gang__match_cache_misses) - before;
}

/* ---- what is met ---- */

START_TEST(only_nodes_that_match_are_met)
{
    static const int32_t policy[] = {GANG_POLICY_PACK, GANG_POLICY_SPREAD, GANG_POLICY_FIRST,
                                     GANG_POLICY_FGD};
    gang_request *request = rare_request(NODES / RARE * 2, policy[_i]);
    ck_assert_uint_ge(misses_of(request, GANG_OK), NODES / RARE * (RARE - 1));
    warm(request);
    ck_assert_uint_eq(misses_of(request, GANG_OK), 0);
    gang_request_free(request);
}
END_TEST

/* The answer that it never fits is remembered; what is left is the search. */
START_TEST(a_refusal_meets_only_nodes_that_match)
{
    gang_request *request = rare_request(NODES / RARE * 2 + 1, GANG_POLICY_PACK);
    ck_assert_uint_ge(misses_of(request, GANG_ENEVER), NODES);
    warm(request);
    gang_request *other = rare_request(1, GANG_POLICY_PACK);
    ck_assert_int_eq(try_once(other), GANG_OK); /* moves the stamp: it is to search again */
    ck_assert_uint_eq(misses_of(request, GANG_ENEVER), 0);
    gang_request_free(other);
    gang_request_free(request);
}
END_TEST

/* ---- what changes ---- */

START_TEST(a_node_that_comes_to_match_is_found)
{
    gang_request *request = rare_request(NODES / RARE * 2 + 1, GANG_POLICY_PACK);
    warm(request);
    ck_assert_int_eq(try_once(request), GANG_ENEVER);
    relabel(5, "y");
    ck_assert_int_eq(try_once(request), GANG_OK);
    relabel(5, "n");
    ck_assert_int_eq(try_once(request), GANG_ENEVER);
    MUST(gang_node_remove(s.w, node[6]));
    MUST(gang_cluster_recycle(s.c));
    warm(request);
    add(6, "y"); /* in the same slot */
    ck_assert_uint_eq((uint32_t)node[6], 7);
    ck_assert_int_eq(try_once(request), GANG_OK);
    gang_request_free(request);
}
END_TEST

/* A request for everything; one node is in a partition. */
static gang_request *all_request(void)
{
    const char *mine[] = {"mine"};
    struct box box = box_of(NODES, NULL);
    struct gang_group_spec g = group_of(2 * NODES + 1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    box.partitions = mine;
    box.partition_count = 1;
    stage_add(&s, &box);
    return stage_request(&s, &spec);
}

START_TEST(changed_modes_of_partitions_are_seen)
{
    gang_request *all = all_request();
    ck_assert_int_eq(try_once(all), GANG_OK);
    MUST(gang_partition_set(s.w, "mine", GANG_PARTITION_EXCLUSIVE));
    warm(all);
    ck_assert_uint_eq(misses_of(all, GANG_ENEVER), 0);
    MUST(gang_partition_set(s.w, "mine", GANG_PARTITION_LENDING));
    ck_assert_int_eq(try_once(all), GANG_OK);
    MUST(gang_partition_set(s.w, "mine", GANG_PARTITION_EXCLUSIVE));
    ck_assert_int_eq(try_once(all), GANG_ENEVER);
    MUST(gang_partition_set(s.w, "mine", GANG_PARTITION_SHARED));
    ck_assert_int_eq(try_once(all), GANG_OK);
    gang_request_free(all);
}
END_TEST

static gang_worker *other;

static void lend_now(enum gang__step step)
{
    if (step != GANG__STEP_FIND || !atomic_exchange(&gang__hook_now, (gang__hook_fn)NULL))
        return;
    MUST(gang_partition_set(other, "mine", GANG_PARTITION_LENDING));
}

/* Modes change while a chunk is read: nodes read later by the old modes must not count for the new
 * ones. */
START_TEST(modes_that_change_during_a_search_are_seen)
{
    gang_request *all = all_request();
    MUST(gang_worker_new(s.c, &other));
    MUST(gang_partition_set(s.w, "mine", GANG_PARTITION_EXCLUSIVE));
    atomic_store(&gang__match_cache_off, true);
    warm(all);
    atomic_store(&gang__match_cache_off, false);
    atomic_store(&gang__hook_now, lend_now);
    ck_assert_int_eq(try_once(all), GANG_OK);
    ck_assert(atomic_load(&gang__hook_now) == NULL);
    gang_request_free(all);
}
END_TEST

START_TEST(nodes_past_its_end_are_found)
{
    enum { MORE = 3 * 1024 };
    gang_request *request = rare_request(1, GANG_POLICY_FIRST);
    warm(request);
    for (int i = 0; i < NODES; i++)
        if (i % RARE == RARE - 1)
            relabel(i, "n");
    ck_assert_int_eq(try_once(request), GANG_ENEVER);
    for (int i = NODES; i < NODES + MORE; i++) {
        struct gang_label label = {"rare", i == NODES + MORE - 1 ? "y" : "n"};
        struct box box = box_of(i, &label);
        stage_add(&s, &box);
    }
    ck_assert_int_eq(try_once(request), GANG_OK);
    warm(request);
    ck_assert_uint_eq(misses_of(request, GANG_OK), 0); /* a larger one was made */
    gang_request_free(request);
}
END_TEST

START_TEST(without_memory_it_goes_on_without)
{
    gang_request *request = rare_request(1, GANG_POLICY_PACK);
    warm(request); /* the worker has its scratch now */
    gang_request *next = rare_request(1, GANG_POLICY_PACK);
    s.mem.calls = 0;
    s.mem.fail_at = 1;
    s.mem.fail_on = true;
    ck_assert_uint_gt(misses_of(next, GANG_OK), 0);
    ck_assert_int_eq(s.mem.calls, 0); /* the first search has none */
    ck_assert_uint_gt(misses_of(next, GANG_OK), 0);
    ck_assert_int_eq(s.mem.calls, 1);
    s.mem.fail_at = 0;
    warm(next);
    ck_assert_uint_eq(misses_of(next, GANG_OK), 0);
    gang_request_free(next);
    gang_request_free(request);
}
END_TEST

/* ---- the same nodes ---- */

static uint32_t number_below(uint32_t n)
{
    return (uint32_t)below(n);
}

enum { REQUESTS = 24 };
static gang_request *requests[REQUESTS];

static void make_requests(void)
{
    static const char *const model[] = {"A"}, *const partition[] = {NULL, "p", "q"};
    static const char *const where[] = {NULL, "rare = y", "not rare = y"};
    static const int32_t policy[] = {GANG_POLICY_PACK, GANG_POLICY_SPREAD, GANG_POLICY_FIRST,
                                     GANG_POLICY_FGD};
    for (uint32_t i = 0; i < REQUESTS; i++) {
        struct gang_group_spec g = group_of(1 + number_below(4), 500 + 500 * number_below(3), 0);
        struct gang_request_spec spec = request_of(&g, 1);
        if (number_below(2))
            g.gpu_milli = 500;
        if (g.gpu_milli && number_below(2)) {
            g.gpu_models = model;
            g.gpu_model_count = 1;
        }
        g.where = where[number_below(3)];
        g.partition = partition[number_below(3)];
        g.labels = &rare_rule;
        g.label_count = number_below(2);
        spec.policy = policy[number_below(4)];
        requests[i] = stage_request(&s, &spec);
    }
}

/* Where a request goes, with or without a match cache. */
static gang_result goes_to(gang_request *request, bool off, struct task_list *list)
{
    gang_alloc_id id;
    atomic_store(&gang__match_cache_off, off);
    gang_result r = gang_alloc(s.w, request, &id, NULL);
    list->count = 0;
    if (r == GANG_OK) {
        *list = *stage_tasks(&s, id);
        MUST(gang_alloc_free(s.w, id));
    }
    atomic_store(&gang__match_cache_off, false);
    return r;
}

static void compare(gang_request *request)
{
    static struct task_list with, without;
    gang_result r = goes_to(request, true, &without);
    test_assert(goes_to(request, false, &with) == r);
    test_assert(with.count == without.count);
    for (size_t i = 0; i < with.count; i++)
        test_assert(with.task[i].node == without.task[i].node);
}

static void step(int *count)
{
    static const char *const names[] = {"p", "q"};
    static struct box_arrays arrays;
    int i = (int)number_below((uint32_t)*count);
    struct gang_label label = {"rare", number_below(20) ? "n" : "y"};
    gang_alloc_id id;
    struct gang_node_info info;
    struct box box = box_of(i, &label);
    box.partitions = names + number_below(2);
    box.partition_count = number_below(2);
    struct gang_node_spec spec = box_spec(&box, &arrays);
    switch (number_below(8)) {
    case 0:
        (void)!gang_alloc(s.w, requests[number_below(REQUESTS)], &id, NULL);
        break;
    case 1:
        id = gang_alloc_next(s.c, GANG_ID_NONE);
        if (id != GANG_ID_NONE)
            MUST(gang_alloc_free(s.w, id));
        break;
    case 2:
        /* A removed node is still listed while something holds a part of it. */
        info.size = sizeof(info);
        if (gang_node_get(s.c, node[i], &info) == GANG_OK && info.state != GANG_NODE_REMOVED)
            MUST(gang_node_change(s.w, node[i], &spec, NULL));
        break;
    case 3:
        if (gang_node_remove(s.w, node[i]) == GANG_OK && number_below(2))
            MUST(gang_cluster_recycle(s.c));
        break;
    case 4:
        (void)!gang_node_add(s.w, &spec, &node[i], NULL);
        break;
    case 5:
        if (number_below(10) == 0)
            MUST(gang_partition_set(s.w, names[number_below(2)], (int32_t)number_below(3)));
        break;
    case 6:
        if (*count + 3 < NODES)
            for (int k = 0; k < 3; k++, ++*count)
                add(*count, number_below(20) ? "n" : "y");
        break;
    default:
        compare(requests[number_below(REQUESTS)]);
    }
}

START_TEST(the_same_nodes_are_found_as_without)
{
    int steps = getenv("GANG_TEST_QUICK") ? 2000 : 20000, count = 1000;
    uint64_t seed = chance_state = test_seed();
    stage_open(&s, NULL, 0);
    for (int i = 0; i < count; i++)
        add(i, i % 50 ? "n" : "y");
    MUST(gang_partition_set(s.w, "p", GANG_PARTITION_SHARED));
    make_requests();
    for (int i = 0; i < steps; i++)
        step(&count);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        compare(requests[i]);
        gang_request_free(requests[i]);
    }
    printf("%d steps from seed %" PRIu64 "\n", steps, seed);
    stage_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("match cache");
    TCase *tests = tcase_create("large"), *same = tcase_create("same");
    tcase_set_timeout(tests, 60);
    tcase_set_timeout(same, 120);
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_loop_test(tests, only_nodes_that_match_are_met, 0, 4);
    tcase_add_test(tests, a_refusal_meets_only_nodes_that_match);
    tcase_add_test(tests, a_node_that_comes_to_match_is_found);
    tcase_add_test(tests, changed_modes_of_partitions_are_seen);
    tcase_add_test(tests, modes_that_change_during_a_search_are_seen);
    tcase_add_test(tests, nodes_past_its_end_are_found);
    tcase_add_test(tests, without_memory_it_goes_on_without);
    tcase_add_test(same, the_same_nodes_are_found_as_without);
    suite_add_tcase(suite, tests);
    suite_add_tcase(suite, same);
    return run_suite(suite);
}
