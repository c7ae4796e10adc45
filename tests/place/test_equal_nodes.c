/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that take the same of equal free nodes, the short way and the way of a plan: the same life
 * is lived twice, and each gang gets the same nodes, devices and cores, in the same order. */
#include <gangsched/gangsched.h>
#include <string.h>

#include "chance.h"
#include "equal_world.h"
#include "place/alloc/alloc.h"
#include "place/alloc/equal_nodes.h"
#include "place/record/places.h"
#include "suite.h"

static void life_end(struct life *l)
{
    test_must(gang_cluster_check(l->c, NULL));
    for (int i = 0; i < KINDS; i++)
        gang_request_free(l->request[i]);
    gang__places_free(&l->places, &l->c->mem);
    gang_cluster_free(l->c);
}

struct step {
    int64_t what, held, kind, node, amount;
};

static gang_result may(const struct gang__places *places, void *user)
{
    const struct gang__places *of[2] = {&life[0].places, &life[1].places};
    asked[places == of[1]]++;
    return *(bool *)user ? GANG_EPERM : GANG_OK;
}

static gang_result change(struct life *l, enum world world, const struct step *s)
{
    gang_node_id *id = &l->node[s->node];
    if (s->amount == 0)
        return put_node(l, world, (int)s->node, s->held, id);
    return gang_node_set_state(l->w, *id, s->amount > 1 ? GANG_NODE_UP : GANG_NODE_DRAINING);
}

/* More tasks, as many as there are or all of them; or fewer. */
static gang_result resize(struct life *l, gang_alloc_id id, const struct step *s)
{
    int64_t tasks = s->amount + 1, granted, numbers[MOST_TASKS];
    if (s->what == 7)
        return gang_alloc_shrink(l->w, id, &s->kind, 1, NULL);
    if (s->what == 8)
        return gang_alloc_grow_whole(l->w, id, 0, tasks, NULL);
    gang_result r = gang_alloc_grow(l->w, id, s->amount % 2 ? 0 : -1, tasks, &granted, NULL);
    if (r != GANG_OK)
        return r;
    gang__growth_numbers(l->w, numbers, (size_t)granted);
    for (int64_t i = 0; i < granted; i++) {
        struct gang_task task = {.size = sizeof(task)};
        test_must(gang_alloc_task(l->c, id, numbers[i], &task));
    }
    return r;
}

static gang_result live(struct life *l, enum world world, const struct step *s)
{
    gang_alloc_id *id = &l->held[s->held];
    bool declines = s->amount == 9;
    if (s->what == 0)
        return s->amount < 5 ? change(l, world, s) : GANG_OK;
    if (*id && l->set == ELASTIC && s->what > 3)
        return resize(l, *id, s);
    if (*id) {
        gang_result r = gang_alloc_free(l->w, *id);
        *id = 0;
        return r;
    }
    if (s->what < 4)
        return gang_alloc(l->w, l->request[s->kind], id, NULL);
    gang_result r = gang__alloc_if(l->w, l->request[s->kind], &l->places, may, &declines, id);
    declined += r == GANG_EPERM;
    return r;
}

/* The tasks of an allocation, in the order in which it lists them. */
struct tasks {
    struct gang_task task[MOST_TASKS];
    size_t count;
};

static int32_t keep(const struct gang_task *task, void *user)
{
    struct tasks *t = user;
    ck_assert_uint_lt(t->count, MOST_TASKS);
    t->task[t->count++] = *task;
    return 0;
}

static int64_t index_of(const struct life *l, gang_node_id id)
{
    for (int i = 0; i < l->nodes; i++)
        if (l->node[i] == id)
            return i;
    ck_abort_msg("no such node");
    return -1;
}

static void compare(const struct step *s, bool with_places)
{
    static struct tasks of[2];
    for (int k = 0; k < 2; k++) {
        of[k].count = 0;
        test_must(gang_alloc_each(life[k].c, life[k].held[s->held], keep, &of[k]));
    }
    ck_assert_uint_eq(of[0].count, of[1].count);
    for (size_t i = 0; i < of[0].count; i++) {
        const struct gang_task *a = &of[0].task[i], *b = &of[1].task[i];
        ck_assert_int_eq(index_of(&life[0], a->node), index_of(&life[1], b->node));
        ck_assert_int_eq(a->task, b->task);
        ck_assert_int_eq(a->group, b->group);
        ck_assert_uint_eq(a->gpus, b->gpus);
        ck_assert(memcmp(a->cores, b->cores, sizeof(a->cores)) == 0);
        if (!with_places)
            continue;
        const struct gang_placement *place = &life[0].places.place[i];
        ck_assert_uint_eq(place->node, a->node);
        ck_assert_uint_eq(place->gpus, a->gpus);
        ck_assert_int_eq(place->group, a->group);
        ck_assert(memcmp(place->cores, a->cores, sizeof(a->cores)) == 0);
    }
}

/* Does any gang of a life go the short way? Not where scores choose the nodes; where racks are so
 * wide that a plan searches them by the index; and where all ask for GPUs, of which there are
 * none. */
static bool goes_short(enum world world, int set)
{
    if (set == ANYWHERE)
        return world != MIX;
    return set > OTHERS || !(world == NO_GPUS && set == OTHERS);
}

START_TEST(places_are_those_of_a_plan)
{
    int64_t before = gang__equal_nodes_taken, by_index = gang__equal_nodes_by_index, granted = 0;
    enum world world = (enum world)(_i % WORLDS);
    int set = _i / WORLDS;
    if (world == PLAIN && set != ANYWHERE)
        return;
    chance_state = test_seed() + (uint64_t)_i;
    for (int k = 0; k < 2; k++)
        life_init(&life[k], world, set);
    for (int i = 0; i < STEPS; i++) {
        struct step s = {below(9), below(HELD), below(KINDS), below(life[0].nodes), below(10)};
        s.kind = one_in(2) ? 1 + s.kind % 6 : s.kind;   /* of several nodes, mostly */
        s.what = s.what == 0 && one_in(3) ? 1 : s.what; /* nodes change now and then */
        gang_result r[2];
        bool had = life[0].held[s.held] != 0;
        for (int k = 0; k < 2; k++) {
            gang__equal_nodes_off = k == 1;
            r[k] = live(&life[k], world, &s);
        }
        gang__equal_nodes_off = false;
        if (r[0] != r[1])
            ck_abort_msg("step %d: %s, but %s by a plan", i, gang_result_name(r[0]),
                         gang_result_name(r[1]));
        ck_assert_int_eq(asked[0], asked[1]);
        if (life[0].held[s.held]) {
            granted += !had;
            compare(&s, !had && s.what >= 4);
        }
        if (i % 64 == 0)
            test_must(gang_cluster_check(life[0].c, NULL));
    }
    int64_t taken = gang__equal_nodes_taken - before;
    printf("world %d, set %d: %d gangs; %d gangs and growths the short way; %d declined\n", world,
           set, (int)granted, (int)taken, declined);
    ck_assert_int_eq(taken > 0, goes_short(world, set));
    if (set == ANYWHERE && taken > 0 && world != NO_GPUS)
        ck_assert_int_gt(gang__equal_nodes_by_index, by_index);
    ck_assert_int_gt(declined, 0);
    for (int k = 0; k < 2; k++)
        life_end(&life[k]);
}
END_TEST

/* Requests that look at labels and domains, too; after a change of a label one gang is planned
 * anew. */
START_TEST(second_gang_needs_no_plan)
{
    struct life *l = &life[0];
    static const enum world world[SETS] = {PLAIN,          RACKS_IN_ORDER, RACKS_IN_ORDER,
                                           RACKS_IN_ORDER, RACKS_IN_ORDER, RACKS_IN_ORDER};
    static const bool suit[SETS][KINDS] = {
        {0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1},
        {0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0},
        {0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0},
        {0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 1, 1, 0, 1, 0},
        {0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0},
        {0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0},
    };
    life_init(l, world[_i], _i);
    for (int kind = 1; kind < KINDS; kind++) {
        bool suits = suit[_i][kind];
        for (int i = 0; i < 4; i++) {
            if (i == 2)
                test_must(
                    put_node(l, world[_i], l->nodes - 1, 4 * (kind % 2), &l->node[l->nodes - 1]));
            int64_t taken = gang__equal_nodes_taken;
            test_must(gang_alloc(l->w, l->request[kind], &l->held[0], NULL));
            if (gang__equal_nodes_taken - taken != (suits && i % 2))
                ck_abort_msg("kind %d, gang %d: %s", kind, i, suits ? "planned" : "not planned");
            test_must(gang_alloc_free(l->w, l->held[0]));
        }
    }
    life_end(l);
}
END_TEST

/* A worker that met others while it placed single tasks keeps to the order with gangs. */
START_TEST(gang_does_not_avoid_nodes)
{
    struct life *l = &life[0];
    static struct tasks planned, found;
    life_init(l, PLAIN, ANYWHERE);
    for (int i = 0; i < 3; i++) {
        int64_t taken = gang__equal_nodes_taken;
        if (i == 2) {
            struct gang__contention *x = &gang__plan_of(l->w)->contention;
            x->avoids = true;
            x->avoided[0] = (uint32_t)planned.task[0].node;
        }
        test_must(gang_alloc(l->w, l->request[1], &l->held[0], NULL));
        ck_assert_int_eq(gang__equal_nodes_taken - taken, i > 0);
        found.count = 0;
        test_must(gang_alloc_each(l->c, l->held[0], keep, &found));
        ck_assert_uint_eq(found.count, 4);
        for (size_t k = 0; k < found.count && i > 0; k++)
            ck_assert_uint_eq(found.task[k].node, planned.task[k].node);
        if (i == 0)
            planned = found;
        test_must(gang_alloc_free(l->w, l->held[0]));
    }
    life_end(l);
}
END_TEST

/* Growth, too; but not while a number is free that is below one that the gang has. The scheduler's
 * way to ask for the new numbers works for both. */
START_TEST(growth_needs_no_plan)
{
    enum { GROWS = 1, STEP = 3 };
    struct life *l = &life[0];
    static struct tasks found;
    const int64_t gone = 1;
    int64_t numbers[2 * STEP], granted;
    life_init(l, RACKS_IN_ORDER, ELASTIC);
    test_must(gang_alloc(l->w, l->request[GROWS], &l->held[0], NULL));
    for (int i = 0; i < 4; i++) {
        int64_t taken = gang__equal_nodes_taken, first = 1 + i * STEP;
        if (i == 2)
            test_must(gang_alloc_shrink(l->w, l->held[0], &gone, 1, NULL));
        test_must(gang_alloc_grow(l->w, l->held[0], 0, i == 2 ? STEP + 1 : STEP, &granted, NULL));
        ck_assert_int_eq(granted, i == 2 ? STEP + 1 : STEP);
        ck_assert_int_eq(gang__equal_nodes_taken - taken, i != 2);
        gang__growth_numbers(l->w, numbers, (size_t)granted);
        for (int64_t k = 0; k < granted; k++)
            ck_assert_int_eq(numbers[k], i != 2 ? first + k : k == 0 ? gone : first + k - 1);
    }
    test_must(gang_alloc_each(l->c, l->held[0], keep, &found));
    ck_assert_uint_eq(found.count, 1 + 4 * STEP);
    for (size_t i = 0; i < found.count; i++)
        ck_assert_int_eq(found.task[i].task, (int64_t)i);
    test_must(gang_cluster_check(l->c, NULL));
    test_must(gang_alloc_free(l->w, l->held[0]));
    life_end(l);
}
END_TEST

/* A group below its minimum gets all that it lacks. */
START_TEST(growth_reaches_the_minimum)
{
    enum { KIND = 4, MIN = 4 };
    struct life *l = &life[0];
    int64_t granted;
    life_init(l, RACKS_IN_ORDER, ELASTIC);
    test_must(gang_alloc(l->w, l->request[KIND], &l->held[0], NULL));
    test_must(gang__alloc_adopt(l->w, l->request[KIND], NULL, 0, &l->held[1], NULL));
    test_must(gang_alloc_grow(l->w, l->held[1], 0, 1, &granted, NULL));
    ck_assert_int_eq(granted, MIN);
    int64_t taken = gang__equal_nodes_taken;
    test_must(gang_alloc_grow(l->w, l->held[1], 0, 1, &granted, NULL));
    ck_assert_int_eq(granted, 1);
    ck_assert_int_eq(gang__equal_nodes_taken, taken + 1);
    life_end(l);
}
END_TEST

/* Only these nodes are up. */
static void keep_up(struct life *l, int first, int end)
{
    for (int i = 0; i < l->nodes; i++)
        test_must(gang_node_set_state(l->w, l->node[i],
                                      i >= first && i < end ? GANG_NODE_UP : GANG_NODE_DRAINING));
}

/* The index shows two nodes as free that are short of cores: a plan takes their rack, and part of
 * each. */
START_TEST(partial_nodes_need_a_plan)
{
    enum { CORES_ONLY = 13, FILL_NODES = 12 };
    struct step last = {.held = 2};
    for (int k = 0; k < 2; k++) {
        struct life *l = &life[k];
        gang__equal_nodes_off = k == 1;
        life_init(l, MANY, OTHERS);
        keep_up(l, 5 * RACK, 6 * RACK);
        test_must(gang_alloc(l->w, l->request[FILL_NODES], &l->held[2], NULL));
        test_must(gang_alloc_free(l->w, l->held[2]));
        for (int i = 0; i < 2; i++) {
            keep_up(l, 1 + i, 2 + i);
            test_must(gang_alloc(l->w, l->request[CORES_ONLY], &l->held[i], NULL));
        }
        keep_up(l, 5 * RACK, 6 * RACK);
        for (int i = 0; i < 3; i++)
            test_must(gang_node_set_state(l->w, l->node[i], GANG_NODE_UP));
        test_must(gang_alloc(l->w, l->request[FILL_NODES], &l->held[2], NULL));
    }
    gang__equal_nodes_off = false;
    compare(&last, false);
    struct gang_task task = {.size = sizeof(task)};
    test_must(gang_alloc_task(life[1].c, life[1].held[2], 0, &task));
    ck_assert_int_lt(index_of(&life[1], task.node), RACK);
    for (int k = 0; k < 2; k++)
        life_end(&life[k]);
}
END_TEST

/* A search by the index alone meets two nodes that are short of cores. Then cells are read, for a
 * while; and nothing is counted as lost to others. */
START_TEST(index_alone_may_not_tell)
{
    enum { WHOLE = 1, CORES_ONLY = 10, LOOKS = 64 };
    struct step first = {.held = 0};
    for (int k = 0; k < 2; k++) {
        struct life *l = &life[k];
        gang__equal_nodes_off = k == 1;
        life_init(l, PLAIN, ANYWHERE);
        int64_t by_index = gang__equal_nodes_by_index, taken = gang__equal_nodes_taken;
        for (int i = 0; i < 2; i++) {
            test_must(gang_alloc(l->w, l->request[WHOLE], &l->held[0], NULL));
            test_must(gang_alloc_free(l->w, l->held[0]));
        }
        ck_assert_int_eq(gang__equal_nodes_by_index - by_index, k == 0);
        test_must(gang_alloc(l->w, l->request[CORES_ONLY], &l->held[1], NULL));
        test_must(gang_alloc(l->w, l->request[WHOLE], &l->held[0], NULL));
        ck_assert_int_eq(gang__equal_nodes_by_index - by_index, k == 0);
        ck_assert_int_eq(gang__equal_nodes_taken - taken, k == 0 ? 2 : 0);
        struct gang_worker_stats stats = GANG_WORKER_STATS_INIT;
        test_must(gang_worker_get_stats(l->w, &stats));
        ck_assert_int_eq(stats.conflicts, 0);
    }
    gang__equal_nodes_off = false;
    compare(&first, false);
    struct life *l = &life[0];
    test_must(gang_alloc_free(l->w, l->held[1]));
    for (int i = 0; i <= LOOKS; i++) {
        int64_t by_index = gang__equal_nodes_by_index;
        test_must(gang_alloc_free(l->w, l->held[0]));
        test_must(gang_alloc(l->w, l->request[WHOLE], &l->held[0], NULL));
        ck_assert_int_eq(gang__equal_nodes_by_index - by_index, i == LOOKS);
    }
    for (int k = 0; k < 2; k++)
        life_end(&life[k]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("equal_nodes");
    TCase *t = tcase_create("same life");
    tcase_add_loop_test(t, places_are_those_of_a_plan, 0, SETS * WORLDS);
    tcase_add_loop_test(t, second_gang_needs_no_plan, 0, SETS);
    tcase_add_test(t, growth_needs_no_plan);
    tcase_add_test(t, growth_reaches_the_minimum);
    tcase_add_test(t, gang_does_not_avoid_nodes);
    tcase_add_test(t, partial_nodes_need_a_plan);
    tcase_add_test(t, index_alone_may_not_tell);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
