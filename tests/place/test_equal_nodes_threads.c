/* SPDX-License-Identifier: Apache-2.0 */
/* Threads place and free gangs that take the same of equal free nodes, anywhere, in one rack, in
 * several groups and exclusively, with few nodes to spare: none shares a node, each keeps to its
 * rack. */
#include <gangsched/gangsched.h>
#include <pthread.h>
#include <sched.h>

#include "chance.h"
#include "place/alloc/equal_nodes.h"
#include "suite.h"
#include "support.h"

enum {
    RACKS = 40,
    RACK = 4,
    NODES = RACKS * RACK,
    THREADS = 4,
    KINDS = 5,
    GANGS = 4000,
    HELD = 16
};
static const char *const levels[] = {"rack"};
static struct stage s;
static gang_node_id node[NODES];
static atomic_int taken[NODES]; /* by a thread that has it in a gang: set after, cleared before */
static atomic_long granted, in_rack;
static gang_request *request[KINDS];
static int rack_nodes; /* RACK, or all in one */

struct life {
    gang_worker *w;
    pthread_t thread;
    uint64_t chance;
};

/* Others go on in the middle of a search or a commit. */
static void yield_now_and_then(enum gang__step step)
{
    (void)step;
    if (chance_of_thread() % 16 == 0)
        sched_yield();
}

struct tasks {
    int node[16], count;
};

static int32_t keep(const struct gang_task *task, void *user)
{
    struct tasks *t = user;
    int i = 0;
    while (i < NODES && node[i] != task->node)
        i++;
    ck_assert_int_lt(i, NODES);
    t->node[t->count++] = i;
    return 0;
}

/* The nodes of a gang are its own from now on, or no longer. */
static void mark(gang_alloc_id id, int64_t kind, bool take)
{
    struct tasks t = {.count = 0};
    MUST(gang_alloc_each(s.c, id, keep, &t));
    for (int i = 0; i < t.count; i++) {
        ck_assert_int_eq(atomic_exchange(&taken[t.node[i]], take), !take);
        if (kind == 1)
            ck_assert_int_eq(t.node[i] / rack_nodes, t.node[0] / rack_nodes);
    }
    atomic_fetch_add(&in_rack, take && kind == 1);
}

static void give_back(struct life *l, gang_alloc_id *id, int64_t kind)
{
    mark(*id, kind, false);
    MUST(gang_alloc_free(l->w, *id));
    *id = 0;
}

static void *live(void *user)
{
    struct life *l = user;
    gang_alloc_id held[HELD] = {0};
    int64_t kind[HELD] = {0};
    for (int i = 0; i < GANGS; i++) {
        int64_t at = (int64_t)(chance_of(&l->chance) % HELD);
        if (held[at]) {
            give_back(l, &held[at], kind[at]);
            continue;
        }
        kind[at] = (int64_t)(chance_of(&l->chance) % KINDS);
        gang_result r = gang_alloc(l->w, request[kind[at]], &held[at], NULL);
        ck_assert(r == GANG_OK || r == GANG_ENOFIT);
        if (r != GANG_OK)
            continue;
        mark(held[at], kind[at], true);
        atomic_fetch_add(&granted, 1);
    }
    for (int at = 0; at < HELD; at++)
        if (held[at])
            give_back(l, &held[at], kind[at]);
    return NULL;
}

/* Whole nodes: 4 anywhere, 3 in a rack, 1 and 4 of two groups, one; and 2 that are its own, of
 * which the tasks take half. */
static gang_request *request_of_kind(int kind)
{
    static const int64_t tasks[KINDS] = {4, 3, 1, 1, 2};
    struct gang_group_spec g[2] = {group_of(tasks[kind], 16000, 8000), group_of(4, 16000, 8000)};
    struct gang_request_spec spec = request_of(g, kind == 2 ? 2 : 1);
    if (kind == 4) {
        g[0] = group_of(tasks[kind], 9000, 4000);
        spec.exclusive = 1;
    }
    spec.same = kind == 1 ? "rack" : NULL;
    return stage_request(&s, &spec);
}

START_TEST(no_gang_shares_a_node_or_leaves_its_rack)
{
    static struct life life[THREADS];
    int64_t before = gang__equal_nodes_taken;
    rack_nodes = _i ? NODES : RACK;
    chance_state = test_seed();
    stage_open(&s, levels, 1);
    for (int i = 0; i < NODES; i++) {
        char name[16], rack[16];
        struct gang_label place = {"rack", rack};
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(rack, sizeof(rack), "r%d", i / rack_nodes);
        struct box box = {.name = name, .cpu = 16000, .gpus = 8, .place = &place, .place_count = 1};
        node[i] = stage_add(&s, &box);
    }
    for (int i = 0; i < KINDS; i++)
        request[i] = request_of_kind(i);
    atomic_store(&gang__hook_now, yield_now_and_then);
    for (int i = 0; i < THREADS; i++) {
        life[i].chance = chance();
        MUST(gang_worker_new(s.c, &life[i].w));
        ck_assert_int_eq(pthread_create(&life[i].thread, NULL, live, &life[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_join(life[i].thread, NULL), 0);
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    printf("%ld gangs, %ld in a rack, %ld the short way\n", atomic_load(&granted),
           atomic_load(&in_rack), (long)(gang__equal_nodes_taken - before));
    ck_assert_int_gt(gang__equal_nodes_taken - before, 0);
    for (int i = 0; i < KINDS; i++)
        gang_request_free(request[i]);
    stage_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("equal_nodes_threads");
    TCase *t = tcase_create("threads");
    tcase_add_loop_test(t, no_gang_shares_a_node_or_leaves_its_rack, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
