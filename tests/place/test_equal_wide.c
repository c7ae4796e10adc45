/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs of equal nodes in a rack that is so wide that a plan searches it by the index. That they
 * lie where a plan puts them: test_equal_nodes.c. */
#include <gangsched/gangsched.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/alloc/equal_nodes.h"
#include "suite.h"
#include "support.h"

enum { NODES = 2 * 140, RACK = 140, GPUS = 8, KINDS = 5 };
static const char *const levels[] = {"rack"};
static struct stage s;
static gang_node_id node[NODES];

static void open_stage(void)
{
    stage_open(&s, levels, 1);
    for (int i = 0; i < NODES; i++) {
        char name[16], rack[16];
        struct gang_label place = {"rack", rack};
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(rack, sizeof(rack), "r%d", i / RACK);
        struct box box = {
            .name = name, .cpu = 16000, .gpus = GPUS, .place = &place, .place_count = 1};
        node[i] = stage_add(&s, &box);
    }
}

static void close_stage(void)
{
    stage_close(&s);
}

/* Tasks of so many GPUs, and of as much of the CPU; 0: of a quarter of the CPU. */
static gang_request *in_a_rack(int64_t tasks, int64_t gpus, bool above, bool exclusive)
{
    struct gang_group_spec g = group_of(tasks, gpus ? gpus * 2000 : 4000, gpus * 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    *(above ? &spec.same : &g.same) = "rack";
    spec.exclusive = exclusive;
    spec.gpu_nodes = GANG_GPU_NODES_ALLOW;
    return stage_request(&s, &spec);
}

/* From the second gang on, no plan is made: whole nodes, several tasks a node, all of a rack, nodes
 * of its own. The index does not tell how many tasks of 4 cores a node holds: they are planned. */
START_TEST(second_gang_needs_no_plan)
{
    static const int64_t tasks[KINDS] = {32, 5 * GPUS, RACK, 9, 20};
    static const int64_t gpus[KINDS] = {GPUS, 1, GPUS, 5, 0};
    open_stage();
    gang_request *request = in_a_rack(tasks[_i], gpus[_i], _i % 2, _i == 3);
    for (int i = 0; i < 3; i++) {
        gang_alloc_id id;
        int64_t taken = gang__equal_nodes_taken;
        MUST(gang_alloc(s.w, request, &id, NULL));
        ck_assert_int_eq(gang__equal_nodes_taken - taken, i > 0 && gpus[_i] > 0);
        stage_check(&s);
        MUST(gang_alloc_free(s.w, id));
    }
    gang_request_free(request);
    close_stage();
}
END_TEST

/* A rack that has one node too few, of which a stale bit of the index shows one twice: the node is
 * not taken twice. */
START_TEST(node_that_is_shown_twice_is_taken_once)
{
    gang_alloc_id id;
    open_stage();
    gang_request *all = in_a_rack(RACK, GPUS, false, false);
    for (int i = 0; i < 2; i++) {
        MUST(gang_alloc(s.w, all, &id, NULL));
        MUST(gang_alloc_free(s.w, id));
    }
    for (int i = 0; i < 2; i++)
        MUST(gang_node_set_state(s.w, node[i * RACK], GANG_NODE_DRAINING));
    struct gang__buckets stale = {GANG__GPU_WHOLE + GPUS + 1, 1};
    uint32_t slot = (uint32_t)node[RACK / 2];
    struct gang__chunk *chunk = gang__chunk_of(&s.c->commit, slot);
    gang__index_raise(&s.c->commit, slot, gang__layout_at(chunk, slot), stale);
    ck_assert_int_eq(gang_alloc(s.w, all, &id, NULL), GANG_ENOFIT);
    stage_check(&s);
    gang_request_free(all);
    close_stage();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("equal_wide");
    TCase *t = tcase_create("wide racks");
    tcase_add_loop_test(t, second_gang_needs_no_plan, 0, KINDS);
    tcase_add_test(t, node_that_is_shown_twice_is_taken_once);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
