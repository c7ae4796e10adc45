/* SPDX-License-Identifier: Apache-2.0 */
/* Exclusive gangs on equal nodes, with and without a plan: the record has the same tasks and
 * holders, so that later calls release and add the same. */
#include <gangsched/gangsched.h>
#include <stdio.h>

#include "chance.h"
#include "lease.h"
#include "place/alloc/equal_nodes.h"
#include "suite.h"

enum { NODES = 8, MORE = 3, TASKS = 16 };

/* What the nodes have, and what the allocation has. */
struct picture {
    bool leased[NODES];
    int64_t cpu[NODES], gpu[NODES];
    int node[TASKS];
    uint64_t gpus[TASKS];
    int64_t tasks;
};

struct life {
    gang_cluster *c;
    gang_worker *w;
    gang_node_id node[NODES];
    gang_alloc_id id;
    struct picture seen;
};
static struct life life[2]; /* without a plan; planned */

/* Eighths of a machine that a task takes, tasks that start, tasks a machine. */
struct kind {
    int64_t eighths, tasks, per_node;
};
static const struct kind kinds[] = {{3, 4, 2}, {2, 3, 3}, {8, 2, 1}, {5, 1, 1}, {2, 8, 4}};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static int32_t keep(const struct gang_task *task, void *user)
{
    struct life *l = user;
    struct picture *seen = &l->seen;
    ck_assert_int_lt(seen->tasks, TASKS);
    for (int i = 0; i < NODES; i++)
        if (l->node[i] == task->node)
            seen->node[seen->tasks] = i;
    seen->gpus[seen->tasks++] = task->gpus;
    return 0;
}

static void look(struct life *l)
{
    memset(&l->seen, 0, sizeof(l->seen));
    test_must(gang_cluster_check(l->c, NULL));
    for (int i = 0; i < NODES; i++) {
        struct gang_node_info info = GANG_NODE_INFO_INIT;
        test_must(gang_node_get(l->c, l->node[i], &info));
        l->seen.leased[i] = is_leased(l->c, l->node[i]);
        l->seen.cpu[i] = info.cpu_free;
        l->seen.gpu[i] = info.gpu_free;
    }
    if (l->id)
        test_must(gang_alloc_each(l->c, l->id, keep, l));
}

static void compare(const char *when)
{
    look(&life[0]);
    look(&life[1]);
    if (memcmp(&life[0].seen, &life[1].seen, sizeof(life[0].seen)) != 0)
        ck_abort_msg("%s: not as planned", when);
}

static int count_leased(void)
{
    int count = 0;
    for (int i = 0; i < NODES; i++) {
        ck_assert_int_eq(life[0].seen.leased[i], life[0].seen.cpu[i] == 0);
        count += life[0].seen.leased[i];
    }
    return count;
}

/* Two gangs in each life: the second one of the first life needs no plan. */
static void start(const struct kind *kind)
{
    for (int k = 0; k < 2; k++) {
        struct life *l = &life[k];
        memset(l, 0, sizeof(*l));
        struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
        test_must(gang_cluster_new(&opts, &l->c, NULL));
        test_must(gang_worker_new(l->c, &l->w));
        for (int i = 0; i < NODES; i++) {
            char name[16];
            snprintf(name, sizeof(name), "n%d", i);
            test_must(lease_machine(l->w, name, LEASE_CPU, 0, &l->node[i]));
        }
        gang_request *request =
            lease_elastic(l->c, kind->tasks, kind->tasks + MORE, kind->eighths, 1);
        int64_t taken = gang__equal_nodes_taken;
        gang__equal_nodes_off = k == 1;
        test_must(gang_alloc(l->w, request, &l->id, NULL));
        test_must(gang_alloc_free(l->w, l->id));
        test_must(gang_alloc(l->w, request, &l->id, NULL));
        gang__equal_nodes_off = false;
        ck_assert_int_eq(gang__equal_nodes_taken - taken, k == 0);
    }
}

static void grow(void)
{
    int64_t granted;
    for (int k = 0; k < 2; k++)
        test_must(gang_alloc_grow(life[k].w, life[k].id, 0, 1, &granted, NULL));
}

static void end(void)
{
    for (int k = 0; k < 2; k++) {
        test_must(gang_alloc_free(life[k].w, life[k].id));
        life[k].id = 0;
    }
    compare("after the end");
    for (int i = 0; i < NODES; i++) {
        ck_assert(!life[0].seen.leased[i]);
        ck_assert_int_eq(life[0].seen.cpu[i], LEASE_CPU);
    }
    lease_end(life[0].c); /* with the requests of both */
    gang_cluster_free(life[1].c);
}

/* Each node of the gang is one lease, although the tasks ask for less. */
START_TEST(nodes_are_leased)
{
    const struct kind *kind = &kinds[_i];
    start(kind);
    compare("after the start");
    ck_assert_int_eq(count_leased(), kind->tasks / kind->per_node);
    ck_assert_int_eq(life[0].seen.tasks, kind->tasks);
    for (int i = 0; i < life[0].seen.tasks; i++)
        ck_assert_int_eq(__builtin_popcountll(life[0].seen.gpus[i]), kind->eighths);
    end();
}
END_TEST

/* More tasks go to the nodes of the gang first; a node is free after its last task. */
START_TEST(later_tasks_are_those_of_a_plan)
{
    start(&kinds[_i]);
    for (int step = 0; step < MORE; step++) {
        grow();
        compare("after more tasks");
    }
    for (int64_t task = kinds[_i].tasks + MORE; task-- > kinds[_i].tasks;) {
        for (int k = 0; k < 2; k++)
            test_must(gang_alloc_shrink(life[k].w, life[k].id, &task, 1, NULL));
        compare("after fewer tasks");
    }
    end();
}
END_TEST

/* The first task of a node with several goes, and its place stays the gang's. */
START_TEST(released_tasks_stay_held)
{
    const struct kind *kind = &kinds[_i];
    start(kind);
    grow();
    for (int k = 0; k < 2; k++)
        test_must(gang_alloc_shrink(life[k].w, life[k].id, &(int64_t){0}, 1, NULL));
    compare("after the first task");
    ck_assert_int_eq(life[0].seen.cpu[life[0].seen.node[0]], 0);
    end();
}
END_TEST

/* Takes one core of one machine. */
static void take_core(struct life *l)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *core;
    gang_alloc_id id;
    g.min = g.count = 1;
    g.cpu_milli = 1000;
    spec.gpu_nodes = GANG_GPU_NODES_ALLOW;
    spec.groups = &g;
    spec.group_count = 1;
    test_must(gang_request_new(l->c, &spec, &core, NULL));
    test_must(gang_alloc(l->w, core, &id, NULL));
    gang_request_free(core);
}

/* A node that is not wholly free, but has all its devices, is passed over without a plan. */
START_TEST(nodes_in_use_are_passed_over)
{
    int64_t full = 0;
    start(&kinds[0]);
    for (int k = 0; k < 2; k++) {
        struct life *l = &life[k];
        gang_alloc_id more;
        int64_t taken = gang__equal_nodes_taken;
        take_core(l);
        gang__equal_nodes_off = k == 1;
        test_must(gang_alloc(l->w, lease_made[k], &more, NULL));
        gang__equal_nodes_off = false;
        ck_assert_int_eq(gang__equal_nodes_taken - taken, k == 0);
        test_must(gang_alloc_free(l->w, l->id));
        l->id = more;
    }
    compare("beside a node in use");
    for (int i = 0; i < NODES; i++)
        full += life[0].seen.cpu[i] == 0;
    ck_assert_int_eq(full, 2);
    lease_end(life[0].c);
    gang_cluster_free(life[1].c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("equal_holders");
    TCase *t = tcase_create("with and without a plan");
    tcase_add_loop_test(t, nodes_are_leased, 0, KINDS);
    tcase_add_loop_test(t, later_tasks_are_those_of_a_plan, 0, KINDS);
    tcase_add_loop_test(t, released_tasks_stay_held, 0, KINDS);
    tcase_add_test(t, nodes_in_use_are_passed_over);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
