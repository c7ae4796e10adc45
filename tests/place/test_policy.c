/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: which node a policy chooses among those that can take a task. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static gang_node_id node[8];
static const char *const levels[] = {"rack"};

static void open_stage(void)
{
    stage_open(&s, levels, 1);
}

static void close_stage(void)
{
    stage_close(&s);
}

/* Nodes of 16 cores and 8 GPUs in one rack; node i has `taken[i]` GPUs in use. */
static void add_nodes(const int *taken, int count)
{
    static const struct gang_label rack = {"rack", "r1"};
    for (int i = 0; i < count; i++) {
        char name[20];
        snprintf(name, sizeof(name), "n%d", i);
        struct box box = {.name = name, .cpu = 16000, .gpus = 8, .place = &rack, .place_count = 1};
        node[i] = stage_add(&s, &box);
        if (!taken[i])
            continue;
        const char *here = name;
        struct gang_label_rule rule = {"node", &here, 1, GANG_LABEL_IN, 0};
        struct gang_group_spec g = group_of(taken[i], 2000, 1000);
        g.labels = &rule;
        g.label_count = 1;
        stage_alloc_group(&s, &g);
    }
}

/* A gang of `count` tasks under a policy; `want[i]` of them belong on node i. The same is asked of
 * a whole cluster, and of a rack. */
static void goes_to(int32_t policy, int64_t count, int64_t cpu, int64_t gpu, const size_t *want,
                    int nodes)
{
    struct gang_group_spec g = group_of(count, cpu, gpu);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = policy;
    for (int in_rack = 0; in_rack < 2; in_rack++) {
        g.same = in_rack ? "rack" : NULL;
        gang_alloc_id id = stage_alloc(&s, &spec);
        for (int i = 0; i < nodes; i++)
            ck_assert_msg(stage_tasks_on(&s, id, node[i]) == want[i], "%zu on node %d, not %zu%s",
                          stage_tasks_on(&s, id, node[i]), i, want[i],
                          in_rack ? " in the rack" : "");
        MUST(gang_alloc_free(s.w, id));
    }
}

START_TEST(pack_takes_the_fullest_node_that_holds_it)
{
    const int taken[] = {0, 3, 6, 4};
    add_nodes(taken, 4);
    goes_to(GANG_POLICY_PACK, 1, 0, 1000, (const size_t[]){0, 0, 1, 0}, 4);
    goes_to(GANG_POLICY_PACK, 1, 0, 3000, (const size_t[]){0, 0, 0, 1}, 4);
    goes_to(GANG_POLICY_PACK, 1, 0, 5000, (const size_t[]){0, 1, 0, 0}, 4);
    goes_to(GANG_POLICY_PACK, 1, 0, 8000, (const size_t[]){1, 0, 0, 0}, 4);
}
END_TEST

START_TEST(pack_fills_a_node_before_the_next)
{
    const int taken[] = {0, 3, 6, 4};
    add_nodes(taken, 4);
    goes_to(GANG_POLICY_PACK, 7, 0, 1000, (const size_t[]){0, 1, 2, 4}, 4);
    goes_to(GANG_POLICY_PACK, 19, 0, 1000, (const size_t[]){8, 5, 2, 4}, 4);
}
END_TEST

START_TEST(spread_takes_the_emptiest_node)
{
    const int taken[] = {5, 3, 6, 1};
    add_nodes(taken, 4);
    goes_to(GANG_POLICY_SPREAD, 1, 0, 1000, (const size_t[]){0, 0, 0, 1}, 4);
    goes_to(GANG_POLICY_SPREAD, 2, 0, 1000, (const size_t[]){0, 1, 0, 1}, 4);
}
END_TEST

START_TEST(spread_puts_one_task_on_a_node_before_a_second)
{
    const int taken[] = {5, 3, 6, 1};
    add_nodes(taken, 4);
    goes_to(GANG_POLICY_SPREAD, 4, 0, 1000, (const size_t[]){1, 1, 1, 1}, 4);
    goes_to(GANG_POLICY_SPREAD, 8, 0, 1000, (const size_t[]){2, 2, 2, 2}, 4);
    goes_to(GANG_POLICY_SPREAD, 11, 0, 1000, (const size_t[]){3, 3, 2, 3}, 4); /* 2 is full */
    goes_to(GANG_POLICY_SPREAD, 17, 0, 1000, (const size_t[]){3, 5, 2, 7}, 4);
}
END_TEST

START_TEST(first_takes_nodes_in_their_order)
{
    const int taken[] = {5, 8, 0, 1};
    add_nodes(taken, 4);
    goes_to(GANG_POLICY_FIRST, 1, 0, 1000, (const size_t[]){1, 0, 0, 0}, 4);
    goes_to(GANG_POLICY_FIRST, 3, 0, 1000, (const size_t[]){3, 0, 0, 0}, 4);
    goes_to(GANG_POLICY_FIRST, 5, 0, 1000, (const size_t[]){3, 0, 2, 0}, 4);
    goes_to(GANG_POLICY_FIRST, 1, 0, 4000, (const size_t[]){0, 0, 1, 0}, 4);
    goes_to(GANG_POLICY_FIRST, 13, 0, 1000, (const size_t[]){3, 0, 8, 2}, 4);
}
END_TEST

START_TEST(cpu_work_is_packed_by_free_cores)
{
    const int taken[] = {0, 7, 4}; /* 16, 2, 8 cores are free */
    add_nodes(taken, 3);
    goes_to(GANG_POLICY_PACK, 1, 1000, 0, (const size_t[]){0, 1, 0}, 3);
    goes_to(GANG_POLICY_PACK, 1, 4000, 0, (const size_t[]){0, 0, 1}, 3);
    goes_to(GANG_POLICY_PACK, 4, 1000, 0, (const size_t[]){0, 2, 2}, 3);
    goes_to(GANG_POLICY_SPREAD, 1, 1000, 0, (const size_t[]){1, 0, 0}, 3);
    goes_to(GANG_POLICY_SPREAD, 3, 1000, 0, (const size_t[]){1, 1, 1}, 3);
    goes_to(GANG_POLICY_FIRST, 17, 1000, 0, (const size_t[]){16, 1, 0}, 3);
}
END_TEST

/* Nodes without GPUs are there for it. */
START_TEST(packed_cpu_work_leaves_gpu_nodes_free)
{
    struct box box = {.name = "gpu", .cpu = 8000, .gpus = 8};
    struct gang_group_spec g = group_of(4, 1000, 0);
    gang_node_id gpu = stage_add(&s, &box);
    box = (struct box){.name = "cpu", .cpu = 64000};
    gang_node_id cpu = stage_add(&s, &box);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_tasks_on(&s, id, cpu), 4);
    g.count = g.min = 68;
    id = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_tasks_on(&s, id, cpu), 60);
    ck_assert_uint_eq(stage_tasks_on(&s, id, gpu), 8);
}
END_TEST

START_TEST(packed_shares_go_to_a_shared_device)
{
    const int taken[] = {7, 0, 6};
    struct gang_group_spec g = group_of(1, 0, 300);
    add_nodes(taken, 3);
    for (int i = 0; i < 3; i++) {
        gang_alloc_id id = stage_alloc_group(&s, &g);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 1);
    }
    ck_assert_int_eq(stage_node(&s, node[0]).gpu_free, 100);
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[2]), 1);
}
END_TEST

/* A request that does not fit as the policy prefers is placed in another way: a policy never
 * refuses. */
START_TEST(a_policy_never_refuses)
{
    const int taken[] = {1, 2, 3, 7};
    add_nodes(taken, 4);
    for (int32_t policy = GANG_POLICY_PACK; policy <= GANG_POLICY_FIRST; policy++) {
        goes_to(policy, 19, 0, 1000, (const size_t[]){7, 6, 5, 1}, 4);
        goes_to(policy, 3, 0, 5000, (const size_t[]){1, 1, 1, 0}, 4);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("policy");
    TCase *tests = tcase_create("policy");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, pack_takes_the_fullest_node_that_holds_it);
    tcase_add_test(tests, pack_fills_a_node_before_the_next);
    tcase_add_test(tests, spread_takes_the_emptiest_node);
    tcase_add_test(tests, spread_puts_one_task_on_a_node_before_a_second);
    tcase_add_test(tests, first_takes_nodes_in_their_order);
    tcase_add_test(tests, cpu_work_is_packed_by_free_cores);
    tcase_add_test(tests, packed_cpu_work_leaves_gpu_nodes_free);
    tcase_add_test(tests, packed_shares_go_to_a_shared_device);
    tcase_add_test(tests, a_policy_never_refuses);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
