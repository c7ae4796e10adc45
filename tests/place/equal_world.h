/* SPDX-License-Identifier: Apache-2.0 */
/* The clusters and requests of test_equal_nodes.c. */
#ifndef EQUAL_WORLD_H
#define EQUAL_WORLD_H

#include <gangsched/gangsched.h>
#include <stdio.h>
#include <string.h>

#include "chance.h"
#include "place/record/places.h"
#include "place/request/request.h"
#include "suite.h"

enum { NODES = 96, GPUS = 8, CORES = 64, RACK = 8, HELD = 9, KINDS = 16, STEPS = 3000 };
enum { MOST_NODES = 280, MOST_GPUS = 2 * GPUS, MOST_CORES = 2 * CORES, MOST_TASKS = 64 };
#define MEMORY ((int64_t)1 << 38)

/* What the nodes are like. */
enum world {
    PLAIN,
    RACKS_IN_ORDER,
    RACKS_MIXED,
    FEWER_GPUS,
    OTHER_NUMA,
    NO_GPUS,
    BIGGER,
    MANY,
    FEW,
    WIDE,
    MIX,
    WORLDS
};
static const int nodes_in[WORLDS] = {NODES, NODES, NODES, NODES, NODES, NODES,
                                     NODES, 200,   20,    280,   NODES};

/* The requests of a life: without domains, in domains, with more than that, of nodes for one gang
 * alone, of several groups, and of gangs that grow and shrink. */
enum { ANYWHERE, IN_DOMAINS, OTHERS, ALONE, GROUPS, ELASTIC, SETS };
struct kind {
    int64_t tasks, gpus, cores, memory;
    const char *where, *same, *prefer; /* of the group; */
    bool above;                        /* the two levels are those of the request */
    bool insists;                      /* what is preferred binds */
    int32_t policy;
    int64_t more, per_rack, subgroup; /* of the group */
    const char *spread;
    const char *outer;            /* the level that the request prefers */
    bool alone;                   /* exclusive */
    int64_t second, third, gpus2; /* tasks of two more groups; GPUs of each, 0: the same */
    const char *where2;           /* of these groups */
    bool set;                     /* the second group is in a set of groups */
    int64_t all;                  /* tasks that the request needs, if not the sum */
};
#define SIZE(t, g, c, m) .tasks = (t), .gpus = (g), .cores = (c), .memory = (m)
static const struct kind kinds[SETS][KINDS] = {
    /* whole nodes; 8 tasks that fill one; 2 tasks; all GPUs and half of the rest; parts */
    {{SIZE(1, 8, 64, MEMORY)},
     {SIZE(4, 8, 64, MEMORY)},
     {SIZE(17, 8, 64, MEMORY)},
     {SIZE(24, 1, 8, MEMORY / 8)},
     {SIZE(12, 1, 8, MEMORY / 8)},
     {SIZE(6, 4, 32, MEMORY / 2)},
     {SIZE(9, 8, 32, MEMORY / 2)},
     {SIZE(3, 8, 64, MEMORY / 4)},
     {SIZE(1, 1, 4, 1 << 30)},
     {SIZE(2, 0, 64, 1 << 30)},
     {SIZE(5, 0, 16, 1 << 30)},
     {SIZE(2, 4, 64, MEMORY)},
     {SIZE(64, 0, 1, MEMORY / 64)},
     {SIZE(6, 8, 64, MEMORY), .where = "disk = nvme"},
     {SIZE(4, 8, 32, MEMORY / 2), .where = "disk = nvme"},
     {SIZE(3, 8, 64, MEMORY), .where = "disk = sata"}},
    /* the same; one whole rack, more than one, one node */
    {{SIZE(1, 8, 64, MEMORY), .same = "rack"},
     {SIZE(4, 8, 64, MEMORY), .same = "rack"},
     {SIZE(RACK, 8, 64, MEMORY), .same = "rack"},
     {SIZE(24, 1, 8, MEMORY / 8), .same = "rack"},
     {SIZE(4, 8, 64, MEMORY), .prefer = "rack"},
     {SIZE(6, 4, 32, MEMORY / 2), .same = "rack", .above = true},
     {SIZE(3, 8, 32, MEMORY / 2), .same = "rack"},
     {SIZE(2, 8, 64, MEMORY), .prefer = "rack", .above = true, .insists = true},
     {SIZE(1, 1, 4, 1 << 30)},
     {SIZE(2, 0, 64, 1 << 30), .same = "rack"},
     {SIZE(5, 0, 16, 1 << 30)},
     {SIZE(5, 8, 64, MEMORY), .policy = GANG_POLICY_TOPOLOGY},
     {SIZE(2, 8, 64, MEMORY), .same = "zone", .prefer = "rack"},
     {SIZE(2, 8, 64, MEMORY), .where = "disk = nvme", .same = "rack"},
     {SIZE(4, 8, 64, MEMORY), .same = "zone"},
     {SIZE(17, 8, 64, MEMORY), .prefer = "rack"}},
    {{SIZE(2, 8, 64, MEMORY), .same = "zone", .outer = "rack"},
     {SIZE(3, 8, 64, MEMORY), .same = "rack", .more = 2},
     {SIZE(4, 8, 64, MEMORY), .same = "zone", .per_rack = 2},
     {SIZE(4, 8, 64, MEMORY), .same = "zone", .above = true},
     {SIZE(3, 8, 64, MEMORY), .prefer = "zone", .spread = "rack"},
     {SIZE(4, 4, 32, MEMORY / 2), .policy = GANG_POLICY_TOPOLOGY},
     {SIZE(4, 8, 64, MEMORY), .same = "zone", .subgroup = 2},
     {SIZE(4, 8, 64, MEMORY), .same = "rack", .policy = GANG_POLICY_PACK},
     {SIZE(3, 8, 64, MEMORY), .same = "rack", .policy = GANG_POLICY_SPREAD},
     {SIZE(1, 1, 4, 1 << 30)},
     {SIZE(2, 8, 64, MEMORY), .same = "rack", .outer = "rack"},
     {SIZE(3, 8, 64, MEMORY), .same = "zone", .policy = GANG_POLICY_TOPOLOGY},
     {SIZE(16, 1, 8, MEMORY / 8), .same = "rack"},
     {SIZE(1, 0, 16, 1 << 30)},
     {SIZE(3, 8, 64, MEMORY), .same = "rack", .prefer = "node"},
     {SIZE(2, 4, 64, MEMORY)}},
    /* all of a node, half of it, little of it, nothing; several tasks a node, not all it holds */
    {{SIZE(1, 8, 64, MEMORY), .alone = true},
     {SIZE(4, 8, 64, MEMORY), .alone = true},
     {SIZE(17, 8, 32, MEMORY / 2), .alone = true},
     {SIZE(12, 4, 16, MEMORY / 4), .alone = true},
     {SIZE(3, 5, 1, 1 << 30), .alone = true},
     {SIZE(9, 2, 16, MEMORY / 8), .alone = true},
     {SIZE(4, 0, 33, 1 << 30), .alone = true},
     {SIZE(2, 4, 64, MEMORY), .alone = true, .policy = GANG_POLICY_PACK},
     {SIZE(1, 1, 4, 1 << 30)},
     {SIZE(3, 8, 64, MEMORY), .alone = true, .same = "rack"},
     {SIZE(5, 5, 16, MEMORY / 8), .alone = true, .same = "rack"},
     {SIZE(6, 2, 8, 1 << 30), .alone = true, .prefer = "rack"},
     {SIZE(3, 8, 64, MEMORY)},
     {SIZE(2, 0, 0, 0), .alone = true, .more = 3},
     {SIZE(4, 6, 8, 1 << 30), .alone = true, .where = "disk = nvme"},
     {SIZE(3, 8, 8, 1 << 30), .alone = true, .policy = GANG_POLICY_SPREAD}},
    /* one shape, several nodes or one each, several tasks a node; a set; in a domain; two groups on
     * a node; two shapes; more tasks */
    {{SIZE(1, 0, 16, 1 << 30)},
     {SIZE(1, 8, 64, MEMORY), .second = 7},
     {SIZE(2, 8, 64, MEMORY), .second = 1, .third = 3},
     {SIZE(8, 1, 8, MEMORY / 8), .second = 16},
     {SIZE(1, 8, 32, MEMORY / 2), .second = 2, .third = 2},
     {SIZE(1, 8, 64, MEMORY), .second = 2, .third = 2, .set = true},
     {SIZE(1, 8, 64, MEMORY), .second = 4, .same = "rack", .above = true},
     {SIZE(2, 8, 64, MEMORY), .second = 2, .third = 1, .prefer = "rack", .above = true},
     {SIZE(1, 8, 64, MEMORY), .second = 4, .policy = GANG_POLICY_TOPOLOGY},
     {SIZE(4, 1, 8, MEMORY / 8), .second = 4, .policy = GANG_POLICY_PACK},
     {SIZE(1, 8, 64, MEMORY), .second = 4, .gpus2 = 4},
     {SIZE(1, 8, 64, MEMORY), .second = 2, .where2 = "disk = nvme"},
     {SIZE(2, 8, 64, MEMORY), .second = 2, .more = 1},
     {SIZE(1, 8, 64, MEMORY), .second = 2, .more = 3, .all = 5},
     {SIZE(8, 1, 8, MEMORY / 8), .second = 8, .same = "rack", .above = true},
     {SIZE(2, 0, 64, 1 << 30), .second = 3}},
    {{SIZE(1, 1, 4, 1 << 30)},
     {SIZE(1, 8, 64, MEMORY), .more = 20},
     {SIZE(2, 8, 32, MEMORY / 2), .more = 9},
     {SIZE(8, 1, 8, MEMORY / 8), .more = 24},
     {SIZE(4, 8, 64, MEMORY), .more = 4, .policy = GANG_POLICY_PACK},
     {SIZE(2, 4, 32, MEMORY / 2), .more = 8},
     {SIZE(1, 8, 64, MEMORY), .more = 7, .same = "rack"},
     {SIZE(1, 8, 64, MEMORY), .more = 8, .second = 1},
     {SIZE(3, 8, 64, MEMORY), .more = 3, .where = "disk = nvme"},
     {SIZE(2, 8, 32, MEMORY / 2), .more = 6, .alone = true},
     {SIZE(2, 8, 64, MEMORY), .more = 6, .subgroup = 2},
     {SIZE(1, 0, 64, 1 << 30), .more = 12},
     {SIZE(1, 8, 64, MEMORY), .more = 6, .policy = GANG_POLICY_SPREAD},
     {SIZE(1, 4, 16, 1 << 30), .more = 3},
     {SIZE(1, 8, 64, MEMORY), .more = 6, .policy = GANG_POLICY_TOPOLOGY},
     {SIZE(2, 4, 64, MEMORY)}}};

struct life {
    gang_cluster *c;
    int nodes, set;
    gang_worker *w; /* the second of its cluster: its searches begin in the middle */
    gang_node_id node[MOST_NODES];
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
    static struct gang_gpu_spec gpu[MOST_GPUS];
    static struct gang_core_spec core[MOST_CORES];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    char name[16], zone[16], rack[16];
    const struct gang_label path[] = {{"rack", rack}, {"zone", zone}},
                            disk = {"disk", (i + (int)(other >> 2)) % 3 ? "nvme" : "sata"};
    bool odd = i % (world == WIDE ? 40 : 5) == 0, other_numa = world == OTHER_NUMA || world == WIDE;
    int size = world == BIGGER && i % 24 == 0 ? 2 : 1,
        racks = world == WIDE ? 2 : nodes_in[world] / (world == FEW ? 5 : RACK);
    for (int k = 0; k < size * GPUS; k++)
        gpu[k].numa = k / 4 % 2;
    for (int k = 0; k < size * CORES; k++)
        core[k] = (struct gang_core_spec){.os_index = k, .numa = k / 32 % 2, .threads = 1};
    for (int k = 0; other_numa && odd && k < CORES; k++)
        core[k].numa = k % 2;
    struct gang_numa_spec numa[2] = {{0}};
    snprintf(name, sizeof(name), "n%d", i);
    int number = world == RACKS_MIXED ? i * 7 % racks : i * racks / nodes_in[world];
    bool stays = world == WIDE && l->set == IN_DOMAINS; /* else a rack soon is no row of slots */
    number = other & 2 && !stays ? racks - 1 - number : number;
    snprintf(rack, sizeof(rack), "r%d", number);
    snprintf(zone, sizeof(zone), "z%d", number / 3);
    spec.name = name;
    spec.cpu_milli = size * CORES * 1000;
    spec.memory_bytes = size * MEMORY << (other & 1);
    spec.gpus = gpu;
    spec.gpu_count = (size_t)(world == NO_GPUS ? 0 : world == FEWER_GPUS && odd ? 4 : size * GPUS);
    spec.cores = core;
    spec.core_count = (size_t)(size * CORES);
    spec.numas = numa;
    spec.numa_count = 2;
    spec.labels = &disk;
    spec.label_count = 1;
    spec.topology = path;
    spec.topology_count = world == PLAIN || (size > 1 && i % 48 == 0) ? 0
                          : l->set != ANYWHERE && number % 3          ? 2
                                                                      : 1;
    return *id ? gang_node_change(l->w, *id, &spec, NULL) : gang_node_add(l->w, &spec, id, NULL);
}

static gang_request *request(struct life *l, const struct kind *kind)
{
    struct gang_group_spec group[3], g = GANG_GROUP_SPEC_INIT;
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *made;
    g.min = kind->tasks;
    g.count = kind->tasks + kind->more;
    g.gpu_milli = kind->gpus * 1000;
    g.cpu_milli = kind->cores * 1000;
    g.memory_bytes = kind->memory;
    g.where = kind->where;
    *(kind->above ? &spec.same : &g.same) = kind->same;
    *(kind->above ? &spec.prefer : &g.prefer) = kind->prefer;
    if (kind->outer)
        spec.prefer = kind->outer;
    g.spread = kind->spread;
    g.max_per_domain = kind->per_rack;
    g.domain_level = kind->per_rack ? "rack" : NULL;
    g.subgroup_size = kind->subgroup;
    g.subgroup_same = kind->subgroup ? "rack" : NULL;
    spec.policy = kind->policy;
    spec.exclusive = kind->alone;
    spec.min = kind->all;
    spec.group_sets = &set;
    spec.group_set_count = kind->set;
    group[0] = g;
    g.where = kind->where2;
    g.group_set = kind->set ? 0 : -1;
    g.count = g.min = kind->second;
    g.gpu_milli = kind->gpus2 ? kind->gpus2 * 1000 : g.gpu_milli;
    group[1] = g;
    g.count = g.min = kind->third;
    group[2] = g;
    spec.groups = group;
    spec.group_count = kind->third ? 3 : kind->second ? 2 : 1;
    test_must(gang_request_new(l->c, &spec, &made, NULL));
    if (kind->insists)
        gang__request_insist(made);
    return made;
}

static void life_init(struct life *l, enum world world, int set)
{
    static const char *const level[] = {"zone", "rack"};
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_worker *first;
    memset(l, 0, sizeof(*l));
    opts.levels = level;
    opts.level_count = world == PLAIN ? 0 : 2;
    test_must(gang_cluster_new(&opts, &l->c, NULL));
    test_must(gang_worker_new(l->c, &first));
    test_must(gang_worker_new(l->c, &l->w));
    l->nodes = nodes_in[world];
    l->set = set;
    for (int i = 0; i < l->nodes; i++)
        test_must(put_node(l, world, i, 0, &l->node[i]));
    if (world == MIX) {
        struct gang_group_spec shape[2] = {GANG_GROUP_SPEC_INIT, GANG_GROUP_SPEC_INIT};
        shape[0].count = shape[0].min = 3;
        shape[0].gpu_milli = 2000;
        shape[1].count = shape[1].min = 1;
        shape[1].gpu_milli = 8000;
        test_must(gang_mix_set(l->w, shape, sizeof(shape[0]), 2, NULL));
    }
    for (int i = 0; i < KINDS; i++)
        l->request[i] = request(l, &kinds[set][i]);
}

#endif
