/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that take the same of equal free nodes, the short way and the way of a plan: the same life
 * is lived twice, and each gang gets the same nodes, devices and cores, in the same order. */
#include <gangsched/gangsched.h>
#include <string.h>

#include "chance.h"
#include "place/alloc/alloc.h"
#include "place/alloc/equal_nodes.h"
#include "place/record/places.h"
#include "suite.h"

enum { NODES = 96, GPUS = 8, CORES = 64, RACKS = 12, HELD = 9, KINDS = 16, STEPS = 3000 };
#define MEMORY ((int64_t)1 << 38)

/* What the nodes are like. */
enum world { PLAIN, RACKS_IN_ORDER, RACKS_MIXED, FEWER_GPUS, OTHER_NUMA, NO_GPUS, WORLDS };

struct life {
    gang_cluster *c;
    gang_worker *w; /* the second of its cluster: its searches begin in the middle */
    gang_node_id node[NODES];
    gang_request *request[KINDS];
    gang_alloc_id held[HELD];
    struct gang__places places;
};
static struct life life[2]; /* the short way; planned */
static int declined, asked[2];

/* `other`: bit 0 gives it twice the memory, bit 1 another rack, bit 2 another disk. */
static gang_result put_node(struct life *l, enum world world, int i, int64_t other,
                            gang_node_id *id)
{
    static struct gang_gpu_spec gpu[GPUS];
    static struct gang_core_spec core[CORES];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    char name[16], rack[16];
    const struct gang_label path = {"rack", rack},
                            disk = {"disk", (i + (int)(other >> 2)) % 3 ? "nvme" : "sata"};
    bool odd = i % 5 == 0;
    for (int k = 0; k < GPUS; k++)
        gpu[k].numa = k / 4;
    for (int k = 0; k < CORES; k++)
        core[k] = (struct gang_core_spec){.os_index = k, .numa = k / 32, .threads = 1};
    for (int k = 0; world == OTHER_NUMA && odd && k < CORES; k++)
        core[k].numa = k % 2;
    struct gang_numa_spec numa[2] = {{0}};
    snprintf(name, sizeof(name), "n%d", i);
    int number = world == RACKS_MIXED ? i * 7 % RACKS : i * RACKS / NODES;
    snprintf(rack, sizeof(rack), "r%d", other & 2 ? RACKS - 1 - number : number);
    spec.name = name;
    spec.cpu_milli = CORES * 1000;
    spec.memory_bytes = MEMORY << (other & 1);
    spec.gpus = gpu;
    spec.gpu_count = world == NO_GPUS ? 0 : world == FEWER_GPUS && odd ? GPUS / 2 : GPUS;
    spec.cores = core;
    spec.core_count = CORES;
    spec.numas = numa;
    spec.numa_count = 2;
    spec.labels = &disk;
    spec.label_count = 1;
    spec.topology = &path;
    spec.topology_count = world == PLAIN ? 0 : 1;
    return *id ? gang_node_change(l->w, *id, &spec, NULL) : gang_node_add(l->w, &spec, id, NULL);
}

static gang_request *request_where(struct life *l, int64_t tasks, int64_t gpus, int64_t cores,
                                   int64_t memory, const char *where)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *made;
    g.count = g.min = tasks;
    g.gpu_milli = gpus * 1000;
    g.cpu_milli = cores * 1000;
    g.memory_bytes = memory;
    g.where = where;
    spec.groups = &g;
    spec.group_count = 1;
    test_must(gang_request_new(l->c, &spec, &made, NULL));
    return made;
}

static gang_request *request(struct life *l, int64_t tasks, int64_t gpus, int64_t cores,
                             int64_t memory)
{
    return request_where(l, tasks, gpus, cores, memory, NULL);
}

static void life_init(struct life *l, enum world world)
{
    static const char *const level[] = {"rack"};
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_worker *first;
    memset(l, 0, sizeof(*l));
    opts.levels = level;
    opts.level_count = world == PLAIN ? 0 : 1;
    test_must(gang_cluster_new(&opts, &l->c, NULL));
    test_must(gang_worker_new(l->c, &first));
    test_must(gang_worker_new(l->c, &l->w));
    for (int i = 0; i < NODES; i++)
        test_must(put_node(l, world, i, 0, &l->node[i]));
    /* whole nodes; 8 tasks that fill one; 2 tasks; all GPUs and half of the rest; parts */
    l->request[0] = request(l, 1, 8, 64, MEMORY);
    l->request[1] = request(l, 4, 8, 64, MEMORY);
    l->request[2] = request(l, 17, 8, 64, MEMORY);
    l->request[3] = request(l, 24, 1, 8, MEMORY / 8);
    l->request[4] = request(l, 12, 1, 8, MEMORY / 8);
    l->request[5] = request(l, 6, 4, 32, MEMORY / 2);
    l->request[6] = request(l, 9, 8, 32, MEMORY / 2);
    l->request[7] = request(l, 3, 8, 64, MEMORY / 4);
    l->request[8] = request(l, 1, 1, 4, 1 << 30);
    l->request[9] = request(l, 2, 0, 64, 1 << 30);
    l->request[10] = request(l, 5, 0, 16, 1 << 30);
    l->request[11] = request(l, 2, 4, 64, MEMORY);
    l->request[12] = request(l, 64, 0, 1, MEMORY / 64);
    l->request[13] = request_where(l, 6, 8, 64, MEMORY, "disk = nvme");
    l->request[14] = request_where(l, 4, 8, 32, MEMORY / 2, "disk = nvme");
    l->request[15] = request_where(l, 3, 8, 64, MEMORY, "disk = sata");
}

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

static gang_result live(struct life *l, enum world world, const struct step *s)
{
    gang_alloc_id *id = &l->held[s->held];
    bool declines = s->amount == 9;
    if (s->what == 0)
        return s->amount < 5 ? change(l, world, s) : GANG_OK;
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
    struct gang_task task[64];
    size_t count;
};

static int32_t keep(const struct gang_task *task, void *user)
{
    struct tasks *t = user;
    ck_assert_uint_lt(t->count, 64);
    t->task[t->count++] = *task;
    return 0;
}

static int64_t index_of(const struct life *l, gang_node_id id)
{
    for (int i = 0; i < NODES; i++)
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
        ck_assert(memcmp(place->cores, a->cores, sizeof(a->cores)) == 0);
    }
}

START_TEST(places_are_those_of_a_plan)
{
    int64_t before = gang__equal_nodes_taken, granted = 0;
    enum world world = (enum world)_i;
    chance_state = test_seed() + (uint64_t)_i;
    for (int k = 0; k < 2; k++)
        life_init(&life[k], world);
    for (int i = 0; i < STEPS; i++) {
        struct step s = {below(9), below(HELD), below(KINDS), below(NODES), below(10)};
        s.kind = one_in(2) ? 1 + s.kind % 6 : s.kind;   /* of several nodes, mostly */
        s.what = s.what == 0 && one_in(3) ? 1 : s.what; /* nodes change now and then */
        gang_result r[2];
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
            granted++;
            compare(&s, s.what >= 4);
        }
        if (i % 64 == 0)
            test_must(gang_cluster_check(life[0].c, NULL));
    }
    int64_t taken = gang__equal_nodes_taken - before;
    printf("world %d: %d gangs, %d of them the short way, %d declined\n", _i, (int)granted,
           (int)taken, declined);
    ck_assert_int_gt(taken, 0);
    ck_assert_int_gt(declined, 0);
    for (int k = 0; k < 2; k++)
        life_end(&life[k]);
}
END_TEST

/* Requests that look at labels, too; after a change of a label one gang is planned anew. */
START_TEST(second_gang_needs_no_plan)
{
    struct life *l = &life[0];
    life_init(l, PLAIN);
    static const bool suit[KINDS] = {[1] = true, [2] = true,  [3] = true,  [5] = true, [6] = true,
                                     [7] = true, [13] = true, [14] = true, [15] = true};
    for (int kind = 1; kind < KINDS; kind++) {
        bool suits = suit[kind];
        for (int i = 0; i < 4; i++) {
            if (i == 2)
                test_must(put_node(l, PLAIN, NODES - 1, 4 * (kind % 2), &l->node[NODES - 1]));
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
    life_init(l, PLAIN);
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

int main(void)
{
    Suite *suite = suite_create("equal_nodes");
    TCase *t = tcase_create("same life");
    tcase_add_loop_test(t, places_are_those_of_a_plan, 0, WORLDS);
    tcase_add_test(t, second_gang_needs_no_plan);
    tcase_add_test(t, gang_does_not_avoid_nodes);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
