/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster on which threads do everything there is to do, at random: gangs of random shapes over
 * random nodes are allocated, adopted, grown, shrunk, freed (also those of others) and read, while
 * nodes are added, removed, drained, described again and cluster-wide kinds change their size. */
#ifndef GANG_TESTS_PLACE_STRESS_H
#define GANG_TESTS_PLACE_STRESS_H

#include <check.h>
#include <gangsched/gangsched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "chance.h"
#include "suite.h"

enum {
    STRESS_NODES = 24,
    STRESS_REQUESTS = 32,
    STRESS_LIVE = 48, /* allocations at a time, about */
    STRESS_LICENCES = 24,
    STRESS_GROUPS = 3
};

static inline uint64_t stress_one_of(uint64_t *seed, uint64_t n)
{
    return chance_of(seed) % n;
}

/* ---- an allocator that knows what it gave ---------------------------------------------------- */

enum { STRESS_SIZES = 48 };

struct stress_mem {
    struct gang_mem mem;
    _Atomic(int64_t) bytes, blocks;
    _Atomic(int64_t) of_size[STRESS_SIZES]; /* blocks of 2^(i-1) < bytes <= 2^i */
};

static inline size_t stress_size_of(size_t bytes)
{
    return bytes <= 1 ? 0 : 64 - (size_t)__builtin_clzll(bytes - 1);
}

/* The size stands before the block, which stays aligned for any type. */
enum { STRESS_MEM_HEAD = 16 };

static inline void *stress_mem_alloc(size_t bytes, void *user)
{
    struct stress_mem *m = user;
    char *block = malloc(bytes + STRESS_MEM_HEAD);
    if (!block)
        return NULL;
    memcpy(block, &bytes, sizeof(bytes));
    atomic_fetch_add(&m->bytes, (int64_t)bytes);
    atomic_fetch_add(&m->blocks, 1);
    atomic_fetch_add(&m->of_size[stress_size_of(bytes)], 1);
    return block + STRESS_MEM_HEAD;
}

static inline void stress_mem_release(void *memory, void *user)
{
    struct stress_mem *m = user;
    char *block = (char *)memory - STRESS_MEM_HEAD;
    size_t bytes;
    memcpy(&bytes, block, sizeof(bytes));
    atomic_fetch_sub(&m->bytes, (int64_t)bytes);
    atomic_fetch_sub(&m->blocks, 1);
    atomic_fetch_sub(&m->of_size[stress_size_of(bytes)], 1);
    free(block);
}

/* ---- the cluster ----------------------------------------------------------------------------- */

struct stress {
    struct stress_mem mem;
    gang_cluster *c;
    gang_worker *w; /* for what one thread does alone */
    int32_t licence;
    gang_request *request[STRESS_REQUESTS];
    int64_t count[STRESS_REQUESTS]; /* of the first group */
    uint64_t shape;                 /* what the nodes are like */
    _Atomic(gang_alloc_id) live[STRESS_LIVE];
};

/* What a thread did; and may do. */
struct stress_actor {
    struct stress *s;
    gang_worker *w;
    uint64_t seed;
    bool nodes;      /* adds, removes and describes nodes */
    int64_t done;    /* calls that took effect */
    int64_t resized; /* of these, possibly to the same size */
    int64_t refused; /* requests that did not fit */
    int64_t calls;
};

struct stress_node {
    struct gang_node_spec spec;
    struct gang_gpu_spec gpu[8];
    struct gang_core_spec core[16];
    struct gang_numa_spec numa[2];
    struct gang_amount amount;
    struct gang_label label, place[2];
    const char *partition;
    char name[16];
};

/* The machine of a number never changes, but for the part that `dice` describes. */
static inline const struct gang_node_spec *stress_node_spec(const struct stress *s, int number,
                                                            uint64_t dice, struct stress_node *n)
{
    static const char *const zones[] = {"z0", "z1"}, *const racks[] = {"r0", "r1", "r2"};
    uint64_t fixed = s->shape + (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    size_t gpus = (size_t)1 << stress_one_of(&fixed, 4);
    memset(n, 0, sizeof(*n));
    n->spec = (struct gang_node_spec)GANG_NODE_SPEC_INIT;
    snprintf(n->name, sizeof(n->name), "n%d", number);
    if (stress_one_of(&fixed, 4) == 0)
        gpus = 0;
    for (size_t i = 0; i < gpus; i++) {
        n->gpu[i].model = number % 3 ? "A" : "B";
        n->gpu[i].memory_bytes = (int64_t)(number % 3 ? 16 : 80) << 30;
        n->gpu[i].numa = (int32_t)(i % 2);
    }
    for (int i = 0; i < 16; i++)
        n->core[i] = (struct gang_core_spec){i, i / 8, 1, 0, NULL};
    for (int i = 0; i < 2; i++)
        n->numa[i] = (struct gang_numa_spec){i, i, 0};
    n->amount = (struct gang_amount){"nic", 1 + (int64_t)(dice & 3)};
    n->label = (struct gang_label){"disk", dice & 4 ? "fast" : "slow"};
    n->place[0] = (struct gang_label){"zone", zones[(dice >> 3 & 15 ? number : number + 1) % 2]};
    n->place[1] = (struct gang_label){"rack", racks[number % 3]};
    n->partition = "p";
    n->spec.name = n->name;
    n->spec.cpu_milli = 8000 + 500 * (int64_t)(dice >> 8 & 15);
    n->spec.memory_bytes = (int64_t)(16 + (dice >> 12 & 31)) << 30;
    n->spec.gpus = n->gpu;
    n->spec.gpu_count = gpus;
    n->spec.numas = n->numa;
    n->spec.numa_count = 2;
    n->spec.cores = n->core;
    n->spec.core_count = stress_one_of(&fixed, 3) ? 16 : 0;
    n->spec.amounts = &n->amount;
    n->spec.amount_count = 1;
    n->spec.labels = &n->label;
    n->spec.label_count = 1;
    n->spec.partitions = &n->partition;
    n->spec.partition_count = (size_t)number % 2;
    n->spec.topology = n->place;
    n->spec.topology_count = 2;
    return &n->spec;
}

static inline void stress_group(uint64_t *seed, struct gang_group_spec *g,
                                struct gang_amount *amount, struct gang_label_rule *rule)
{
    static const int64_t cpu[] = {0, 500, 1000, 1000, 2000, 4000};
    static const int64_t gpu[] = {0, 0, 250, 500, 1000, 1000, 2000, 4000};
    static const char *const fast[] = {"fast"}, *const models[] = {"A"};
    *g = (struct gang_group_spec)GANG_GROUP_SPEC_INIT;
    g->count = 1 + (int64_t)stress_one_of(seed, 6);
    g->min = 1 + (int64_t)stress_one_of(seed, (uint64_t)g->count);
    g->cpu_milli = cpu[stress_one_of(seed, 6)];
    g->memory_bytes = (int64_t)stress_one_of(seed, 4) << 30;
    g->gpu_milli = gpu[stress_one_of(seed, 8)];
    if (g->gpu_milli == 500 && stress_one_of(seed, 2)) {
        g->gpu_milli = 0;
        g->gpu_memory_bytes = (int64_t)5 << 30;
        g->gpu_devices = 2;
    }
    *amount = (struct gang_amount){stress_one_of(seed, 2) ? "nic" : "licence", 1};
    g->amounts = amount;
    g->amount_count = stress_one_of(seed, 3) == 0;
    *rule = (struct gang_label_rule){"disk", fast, 1, GANG_LABEL_IN, 0};
    g->labels = rule;
    g->label_count = stress_one_of(seed, 5) == 0;
    g->gpu_models = models;
    g->gpu_model_count = (g->gpu_milli || g->gpu_memory_bytes) && stress_one_of(seed, 4) == 0;
    g->partition = stress_one_of(seed, 6) ? NULL : "p";
    g->same = stress_one_of(seed, 5) ? NULL : "rack";
    g->prefer = stress_one_of(seed, 5) || g->same ? NULL : "zone";
}

static inline gang_request *stress_request(struct stress *s, uint64_t *seed, int64_t *count)
{
    struct gang_group_spec group[STRESS_GROUPS];
    struct gang_amount amount[STRESS_GROUPS];
    struct gang_label_rule rule[STRESS_GROUPS];
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    struct gang_error error = GANG_ERROR_INIT;
    static const char *const apps[] = {"db", "web", "", NULL}, *const spots[] = {NULL, "rack",
                                                                                 "zone"};
    gang_request *request;
    spec.groups = group;
    spec.group_count = stress_one_of(seed, 2) ? 1 : 1 + (size_t)stress_one_of(seed, STRESS_GROUPS);
    for (size_t i = 0; i < spec.group_count; i++)
        stress_group(seed, &group[i], &amount[i], &rule[i]);
    if (spec.group_count == STRESS_GROUPS) {
        set.same = "zone";
        group[0].group_set = group[1].group_set = 0;
        spec.group_sets = &set;
        spec.group_set_count = 1;
    }
    spec.policy = (int32_t)stress_one_of(seed, 3);
    struct gang_label label = {"app", apps[stress_one_of(seed, 3)]};
    struct gang_affinity_rule rule_on[2];
    for (int i = 0; i < 2; i++)
        rule_on[i] = (struct gang_affinity_rule){
            "app", apps[stress_one_of(seed, 4)], spots[stress_one_of(seed, 3)],
            stress_one_of(seed, 4) == 0, stress_one_of(seed, 2) == 0};
    spec.labels = &label;
    spec.label_count = stress_one_of(seed, 3) == 0;
    spec.affinity = rule_on;
    spec.affinity_count = stress_one_of(seed, 4) ? 0 : 1 + (size_t)stress_one_of(seed, 2);
    spec.exclusive = stress_one_of(seed, 8) == 0;
    gang_result r = gang_request_new(s->c, &spec, &request, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
    *count = group[0].count;
    return request;
}

static inline void stress_open(struct stress *s, uint64_t seed, bool manual_recycle)
{
    static const char *const levels[] = {"zone", "rack"};
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct stress_node n;
    memset(s, 0, sizeof(*s));
    s->mem.mem =
        (struct gang_mem){sizeof(struct gang_mem), stress_mem_alloc, stress_mem_release, &s->mem};
    s->shape = chance_of(&seed);
    opts.levels = levels;
    opts.level_count = 2;
    opts.mem = &s->mem.mem;
    opts.manual_recycle = manual_recycle;
    test_must(gang_cluster_new(&opts, &s->c, NULL));
    test_must(gang_worker_new(s->c, &s->w));
    test_must(gang_kind_add(s->w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    test_must(
        gang_kind_add(s->w, "licence", NULL, GANG_SCOPE_CLUSTER, STRESS_LICENCES, &s->licence));
    for (int i = 0; i < STRESS_NODES; i++)
        test_must(gang_node_add(s->w, stress_node_spec(s, i, chance_of(&seed), &n), NULL, NULL));
    for (int i = 0; i < STRESS_REQUESTS; i++)
        s->request[i] = stress_request(s, &seed, &s->count[i]);
}

/* ---- what a thread does ---------------------------------------------------------------------- */

static inline void stress_count(struct stress_actor *a, gang_result r)
{
    a->calls++;
    a->done += r == GANG_OK;
}

/* Put an allocation where others find it, or give it up again. */
static inline void stress_keep(struct stress_actor *a, size_t at, gang_alloc_id id)
{
    gang_alloc_id none = GANG_ID_NONE;
    if (atomic_compare_exchange_strong(&a->s->live[at], &none, id))
        return;
    gang_result r = gang_alloc_free(a->w, id);
    test_must(r);
    stress_count(a, r);
}

static inline void stress_alloc(struct stress_actor *a, size_t at)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_alloc_id id;
    uint64_t dice = chance_of(&a->seed);
    gang_request *request = a->s->request[dice % STRESS_REQUESTS];
    gang_result r = gang_alloc(a->w, request, &id, dice >> 8 & 1 ? &error : NULL);
    test_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENEVER);
    stress_count(a, r);
    a->refused += r != GANG_OK;
    if (r == GANG_OK)
        stress_keep(a, at, id);
}

/* The id of a node that may be there; and its number. */
static inline gang_node_id stress_any_node(struct stress_actor *a, int *number)
{
    char name[16];
    gang_node_id id;
    *number = (int)stress_one_of(&a->seed, STRESS_NODES);
    snprintf(name, sizeof(name), "n%d", *number);
    if (a->nodes) {
        if (gang_node_find(a->s->c, name, &id) == GANG_OK)
            return id;
    } else { /* without the mutex */
        id = GANG_ID_NONE;
        for (int i = 0; i <= *number && (i == 0 || id); i++)
            id = gang_node_next(a->s->c, id);
        return id;
    }
    return GANG_ID_NONE;
}

static inline void stress_adopt(struct stress_actor *a, size_t at)
{
    struct gang_placement place[2] = {GANG_PLACEMENT_INIT, GANG_PLACEMENT_INIT};
    size_t which = (size_t)stress_one_of(&a->seed, STRESS_REQUESTS);
    gang_alloc_id id;
    int number;
    for (int i = 0; i < 2; i++)
        place[i].node = stress_any_node(a, &number);
    gang_result r = gang_alloc_adopt(a->w, a->s->request[which], place,
                                     a->s->count[which] > 1 ? 2 : 1, &id, NULL);
    test_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ESTALE);
    stress_count(a, r);
    if (r == GANG_OK)
        stress_keep(a, at, id);
}

struct stress_pick {
    uint64_t seed;
    int64_t task, seen;
};

static inline int32_t stress_visit(const struct gang_task *task, void *user)
{
    struct stress_pick *p = user;
    p->seen++;
    test_assert(task->gpu_count == __builtin_popcountll(task->gpus));
    if (stress_one_of(&p->seed, (uint64_t)p->seen) == 0)
        p->task = task->task;
    return 0;
}

static inline void stress_use(struct stress_actor *a, size_t at, gang_alloc_id id)
{
    struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
    struct stress_pick pick = {.seed = a->seed, .task = -1};
    uint64_t dice = chance_of(&a->seed);
    gang_result r;
    switch (dice % 8) {
    case 0:
    case 1:
        r = gang_alloc_grow(a->w, id, -1, 1 + (int64_t)(dice >> 8) % 3, NULL, NULL);
        test_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENEVER || r == GANG_ERANGE ||
                    r == GANG_EBUSY || r == GANG_ESTALE);
        a->refused += r == GANG_ENOFIT || r == GANG_ENEVER;
        break;
    case 2:
        r = gang_alloc_each(a->s->c, id, stress_visit, &pick);
        test_assert(r == GANG_OK || r == GANG_EBUSY || r == GANG_ESTALE);
        if (r != GANG_OK)
            return;
        r = gang_alloc_shrink(a->w, id, &pick.task, 1, NULL);
        test_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_ENOENT || r == GANG_EBUSY ||
                    r == GANG_ESTALE);
        break;
    case 3:
        r = gang_alloc_get(a->s->c, id, &info);
        test_assert(r == GANG_OK || r == GANG_EBUSY || r == GANG_ESTALE);
        return;
    default:
        r = gang_alloc_free(a->w, id);
        test_assert(r == GANG_OK || r == GANG_EBUSY || r == GANG_ESTALE);
        if (r == GANG_OK)
            atomic_compare_exchange_strong(&a->s->live[at], &id, GANG_ID_NONE);
        break;
    }
    stress_count(a, r);
}

static inline void stress_read(struct stress_actor *a)
{
    struct gang_node_info info = {.size = sizeof(info)};
    struct gang_kind_info pool = GANG_KIND_INFO_INIT;
    int number;
    gang_node_id id = stress_any_node(a, &number);
    gang_result r = gang_node_get(a->s->c, id, &info);
    test_assert(r == GANG_OK || r == GANG_ESTALE);
    test_must(gang_kind_get(a->s->c, a->s->licence, &pool));
    test_assert(pool.available >= 0);
    a->calls += 2;
}

static inline void stress_state(struct stress_actor *a)
{
    static const int32_t state[] = {GANG_NODE_UP, GANG_NODE_UP, GANG_NODE_UP, GANG_NODE_DRAINING,
                                    GANG_NODE_DOWN};
    int number;
    gang_node_id id = stress_any_node(a, &number);
    int32_t to = state[stress_one_of(&a->seed, 5)];
    gang_result r;
    if (chance_of(&a->seed) >> 8 & 1)
        r = gang_node_set_state(a->w, id, to);
    else /* the first device, more often well than not */
        r = gang_gpu_set_state(a->w, id, 0, to == GANG_NODE_UP ? GANG_GPU_OK : GANG_GPU_UNHEALTHY);
    test_assert(r == GANG_OK || r == GANG_ESTALE || r == GANG_EINVAL); /* no devices */
    stress_count(a, r);
}

static inline void stress_structure(struct stress_actor *a)
{
    struct stress_node n;
    int number;
    gang_node_id id = stress_any_node(a, &number);
    uint64_t dice = chance_of(&a->seed);
    gang_result r;
    if (dice % 4 == 0) {
        r = gang_kind_resize(a->w, a->s->licence,
                             STRESS_LICENCES / 2 + (int64_t)(dice >> 8) % STRESS_LICENCES);
        test_assert(r == GANG_OK || r == GANG_EBUSY);
        a->resized += r == GANG_OK;
    } else if (!id) {
        r = gang_node_add(a->w, stress_node_spec(a->s, number, dice >> 8, &n), NULL, NULL);
        test_assert(r == GANG_OK || r == GANG_EEXIST);
    } else if (dice % 4 == 1) {
        r = gang_node_remove(a->w, id);
        test_assert(r == GANG_OK || r == GANG_ESTALE);
    } else {
        r = gang_node_change(a->w, id, stress_node_spec(a->s, number, dice >> 8, &n), NULL);
        test_assert(r == GANG_OK || r == GANG_ESTALE || r == GANG_EBUSY);
    }
    stress_count(a, r);
}

/* One thing at random. */
static inline void stress_act(struct stress_actor *a)
{
    uint64_t dice = chance_of(&a->seed);
    size_t at = (size_t)(dice >> 8) % STRESS_LIVE;
    gang_alloc_id id = atomic_load(&a->s->live[at]);
    if (dice % 16 == 0)
        stress_read(a);
    else if (dice % 16 == 1)
        stress_state(a);
    else if (dice % 16 == 2 && a->nodes)
        stress_structure(a);
    else if (id)
        stress_use(a, at, id);
    else if (dice % 16 < 5)
        stress_adopt(a, at);
    else
        stress_alloc(a, at);
}

/* ---- the end, when no other thread runs ------------------------------------------------------ */

/* Free what is there, but not what a stopped thread has in hands. */
static inline void stress_free_all(struct stress *s)
{
    for (size_t i = 0; i < STRESS_LIVE; i++) {
        gang_alloc_id id = atomic_exchange(&s->live[i], GANG_ID_NONE);
        if (!id)
            continue;
        gang_result r = gang_alloc_free(s->w, id);
        test_assert(r == GANG_OK || r == GANG_EBUSY);
        if (r == GANG_EBUSY)
            atomic_store(&s->live[i], id);
    }
}

static inline void stress_check(struct stress *s)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_cluster_check(s->c, &error);
    ck_assert_msg(r == GANG_OK, "gang_cluster_check: %s", error.text);
}

static inline bool stress_is_whole(const struct gang_node_info *n)
{
    bool whole = n->cpu_free == n->cpu_milli && n->memory_free == n->memory_bytes &&
                 n->gpus_free == n->gpu_count && n->gpu_free == 1000 * (int64_t)n->gpu_count;
    for (int k = 0; k < GANG_MAX_KINDS; k++)
        whole = whole && n->amount_free[k] == n->amount[k];
    return whole;
}

/* All was freed: every node is wholly free, and all counters say so. */
static inline void stress_check_free(struct stress *s)
{
    struct gang_node_info info;
    struct gang_kind_info pool = GANG_KIND_INFO_INIT;
    int64_t nodes = 0;
    ck_assert_uint_eq(gang_alloc_next(s->c, GANG_ID_NONE), GANG_ID_NONE);
    for (gang_node_id id = gang_node_next(s->c, GANG_ID_NONE); id; id = gang_node_next(s->c, id)) {
        memset(&info, 0, sizeof(info));
        info.size = sizeof(info);
        test_must(gang_node_get(s->c, id, &info));
        ck_assert_msg(stress_is_whole(&info), "%s is not wholly free", info.name);
        nodes++;
    }
    ck_assert_int_eq(nodes, gang_node_count(s->c));
    test_must(gang_kind_get(s->c, s->licence, &pool));
    ck_assert_int_eq(pool.available, pool.capacity);
}

/* Ends it; nothing may be left allocated. */
static inline void stress_close(struct stress *s)
{
    for (int i = 0; i < STRESS_REQUESTS; i++)
        gang_request_free(s->request[i]);
    gang_cluster_free(s->c);
    ck_assert_int_eq(atomic_load(&s->mem.blocks), 0);
    ck_assert_int_eq(atomic_load(&s->mem.bytes), 0);
}

#endif
