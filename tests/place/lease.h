/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of 8 GPUs, and gangs of tasks that take all or a part of one. */
#ifndef GANG_TESTS_LEASE_H
#define GANG_TESTS_LEASE_H

#include <gangsched/gangsched.h>
#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "suite.h"

enum { LEASE_GPUS = 8, LEASE_CPU = 64000, LEASE_KINDS = 6 };
#define LEASE_MEMORY ((int64_t)1 << 36)

/* `kinds`: the machine has so many kinds of the site ("kind0" ...), which no task asks for. With
 * six its cell has too many words for a lease, and all goes the general way. */
static inline gang_result lease_machine(gang_worker *w, const char *name, int64_t cpu, int kinds,
                                        gang_node_id *id)
{
    struct gang_gpu_spec gpu[LEASE_GPUS];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    struct gang_amount amount[LEASE_KINDS];
    static const char *const kind[] = {"kind0", "kind1", "kind2", "kind3", "kind4", "kind5"};
    memset(gpu, 0, sizeof(gpu));
    for (int i = 0; i < LEASE_GPUS; i++)
        gpu[i].numa = -1;
    for (int i = 0; i < kinds; i++)
        amount[i] = (struct gang_amount){kind[i], 1};
    spec.name = name;
    spec.cpu_milli = cpu;
    spec.memory_bytes = LEASE_MEMORY;
    spec.gpus = gpu;
    spec.gpu_count = LEASE_GPUS;
    spec.amounts = amount;
    spec.amount_count = (size_t)kinds;
    return *id ? gang_node_change(w, *id, &spec, NULL) : gang_node_add(w, &spec, id, NULL);
}

/* Adds `count` machines, n0, n1, ..., without kinds of the site. */
static inline void lease_machines(gang_worker *w, gang_node_id *node, int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        node[i] = GANG_ID_NONE;
        test_must(lease_machine(w, name, LEASE_CPU, 0, &node[i]));
    }
}

/* All requests of a test; they are freed before the cluster. */
static gang_request *lease_made[64];
static int lease_made_count;

static inline void lease_end(gang_cluster *c)
{
    while (lease_made_count > 0)
        gang_request_free(lease_made[--lease_made_count]);
    gang_cluster_free(c);
}

/* Tasks of `gpus` eighths of a machine, GPUs, CPU and memory alike; 0: of nothing. At least `min`,
 * at most `count`. */
static inline gang_request *lease_elastic(gang_cluster *c, int64_t min, int64_t count, int64_t gpus,
                                          int32_t exclusive)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    gang_request *request;
    g.count = count;
    g.min = min;
    g.gpu_milli = gpus * 1000;
    g.cpu_milli = gpus * LEASE_CPU / LEASE_GPUS;
    g.memory_bytes = gpus * (LEASE_MEMORY / LEASE_GPUS);
    spec.groups = &g;
    spec.group_count = 1;
    spec.exclusive = exclusive;
    test_must(gang_request_new(c, &spec, &request, NULL));
    ck_assert_int_lt(lease_made_count, 64);
    return lease_made[lease_made_count++] = request;
}

static inline gang_request *lease_request(gang_cluster *c, int64_t tasks, int64_t gpus)
{
    return lease_elastic(c, tasks, tasks, gpus, 0);
}

/* Tasks of all GPUs of a machine and half of the rest. */
static inline gang_request *lease_halves(gang_cluster *c, int64_t tasks)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    g.min = g.count = tasks;
    g.gpu_milli = LEASE_GPUS * 1000;
    g.cpu_milli = LEASE_CPU / 2;
    g.memory_bytes = LEASE_MEMORY / 2;
    spec.groups = &g;
    spec.group_count = 1;
    ck_assert_int_lt(lease_made_count, 64);
    test_must(gang_request_new(c, &spec, &lease_made[lease_made_count], NULL));
    return lease_made[lease_made_count++];
}

static inline bool is_leased(gang_cluster *c, gang_node_id id)
{
    return gang__cell_is_leased(&c->commit, (uint32_t)id);
}

#endif
