/* SPDX-License-Identifier: Apache-2.0 */
/* The short way to the node of a single task, beside the long one: two clusters of the same random
 * machines get the same random calls. On one of them the short way is switched off. Each answer is
 * the same: the same refusals, nodes, devices and cores. The same holds for the commit of
 * operations on one cell (commit_one.c): the words of all cells are the same, and what the index
 * knows of them. */
#include <string.h>

#include "base/atomic.h"
#include "chance.h"
#include "lease.h"
#include "place/search/single.h"

enum { MOST_NODES = 90, WORKERS = 3, SHAPES = 10, MOST_LIVE = 400, LIVES = 60, CALLS = 600 };

struct side {
    gang_cluster *c;
    gang_worker *w[WORKERS];
    gang_node_id node[MOST_NODES];
    gang_request *request[SHAPES];
    gang_alloc_id live[MOST_LIVE];
};

static struct side side[2]; /* the second goes the long way */
static int nodes, live;
static uint64_t placed;

/* ---- random clusters and requests ------------------------------------------------------------ */

static void add_machine(int at)
{
    static const char *const models[] = {"A", "B"};
    struct gang_gpu_spec gpu[LEASE_GPUS];
    struct gang_core_spec core[16];
    struct gang_numa_spec numa[2] = {{0, 0, 0}, {1, 1, 0}};
    struct gang_link_spec link[3];
    struct gang_amount amount = {"kind0", 4};
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    char name[16];
    int64_t model = below(2), numas = below(3);
    memset(gpu, 0, sizeof(gpu));
    snprintf(name, sizeof(name), "n%d", at);
    spec.name = name;
    spec.gpu_count = (size_t)below(LEASE_GPUS + 1);
    for (size_t i = 0; i < spec.gpu_count; i++) {
        gpu[i].model = models[model];
        gpu[i].memory_bytes = (int64_t)16 << (30 + model);
        gpu[i].numa = numas ? (int32_t)below(numas) : -1;
    }
    spec.link_count = spec.gpu_count > 3 ? 3 : 0;
    for (int32_t i = 0; i < (int32_t)spec.link_count; i++)
        link[i] = (struct gang_link_spec){i, i + 1, GANG_LINK_NVLINK, 1, 600000 * (i + 1)};
    spec.core_count = below(3) ? 16 : 0;
    for (int i = 0; i < 16; i++)
        core[i] = (struct gang_core_spec){i, numas ? i % (int)numas : -1, 1, 0, NULL};
    spec.cpu_milli = 16000;
    spec.memory_bytes = LEASE_MEMORY;
    spec.gpus = gpu;
    spec.links = link;
    spec.cores = core;
    spec.numas = numa;
    spec.numa_count = (size_t)numas;
    spec.amounts = &amount;
    spec.amount_count = (size_t)below(2);
    for (int s = 0; s < 2; s++)
        test_must(gang_node_add(side[s].w[0], &spec, &side[s].node[at], NULL));
}

static void make_request(int at)
{
    static const int32_t policies[] = {GANG_POLICY_DEFAULT, GANG_POLICY_PACK, GANG_POLICY_PACK,
                                       GANG_POLICY_SPREAD};
    struct gang_amount amount = {"kind0", 1};
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    g.count = g.min = 1 + !below(8);
    g.cpu_milli = below(3) ? 1000 * below(5) : 250 + below(3000);
    g.memory_bytes = below(4) << 30;
    if (below(4))
        g.gpu_milli = below(2) ? 1000 * (1 + below(3)) : 100 * (1 + below(9));
    else if (below(2))
        g.gpu_memory_bytes = (int64_t)(1 + below(20)) << 30;
    g.numa = (int32_t)below(3);
    g.amounts = &amount;
    g.amount_count = !below(5);
    spec.gpu_nodes = g.gpu_milli || g.gpu_memory_bytes ? 0 : (int32_t)below(3);
    spec.groups = &g;
    spec.group_count = 1;
    spec.policy = policies[below(4)];
    for (int s = 0; s < 2; s++)
        test_must(gang_request_new(side[s].c, &spec, &side[s].request[at], NULL));
}

/* ---- the same call on both sides ------------------------------------------------------------- */

static void long_way(bool on)
{
    atomic_store(&gang__search_single_off, on);
    atomic_store(&gang__commit_one_off, on);
}

static void allocate(int at, int worker)
{
    gang_alloc_id id[2];
    gang_result r[2];
    struct gang_task task[2] = {GANG_TASK_INIT, GANG_TASK_INIT};
    for (int s = 0; s < 2; s++) {
        long_way(s == 1);
        r[s] = gang_alloc(side[s].w[worker], side[s].request[at], &id[s], NULL);
    }
    ck_assert_int_eq(r[0], r[1]);
    if (r[0] != GANG_OK)
        return;
    placed++;
    for (int s = 0; s < 2; s++) {
        test_must(gang_alloc_task(side[s].c, id[s], 0, &task[s]));
        side[s].live[live] = id[s];
    }
    live++;
    test_assert(memcmp(&task[0], &task[1], sizeof(task[0])) == 0);
}

static void change(void)
{
    int at = (int)below(nodes), what = (int)below(4);
    int32_t gpu = (int32_t)below(LEASE_GPUS);
    gang_result r[2] = {GANG_OK, GANG_OK};
    for (int s = 0; s < 2; s++) {
        gang_worker *w = side[s].w[0];
        if (what < 2)
            test_must(
                gang_node_set_state(w, side[s].node[at], what ? GANG_NODE_UP : GANG_NODE_DRAINING));
        else
            r[s] = gang_gpu_set_state(w, side[s].node[at], gpu,
                                      what == 2 ? GANG_GPU_OK : GANG_GPU_UNHEALTHY);
    }
    ck_assert_int_eq(r[0], r[1]);
}

static void step(void)
{
    int64_t dice = below(20);
    if (dice == 0) {
        change();
    } else if (live == MOST_LIVE || (live && dice < 9)) {
        int at = (int)below(live--), worker = (int)below(WORKERS);
        for (int s = 0; s < 2; s++) {
            long_way(s == 1);
            test_must(gang_alloc_free(side[s].w[worker], side[s].live[at]));
            side[s].live[at] = side[s].live[live];
        }
    } else {
        allocate((int)below(SHAPES), (int)below(WORKERS));
    }
}

/* Have both sides the same words of a node, with their versions, and the same buckets? */
static void node_is_alike(int at)
{
    struct gang__chunk *chunk[2];
    uint32_t slot = (uint32_t)side[0].node[at];
    for (int s = 0; s < 2; s++)
        chunk[s] = gang__chunk_of(&side[s].c->commit, slot);
    ck_assert_uint_eq((uint32_t)side[1].node[at], slot);
    ck_assert_mem_eq(&chunk[0]->cell[slot], &chunk[1]->cell[slot], sizeof(struct gang__cell));
    ck_assert_uint_eq(gang__load(&gang__slot_at(chunk[0], slot)->bucket_hint),
                      gang__load(&gang__slot_at(chunk[1], slot)->bucket_hint));
}

static void live_once(void)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    memset(side, 0, sizeof(side));
    live = 0;
    nodes = 1 + (int)below(MOST_NODES);
    for (int s = 0; s < 2; s++) {
        test_must(gang_cluster_new(&opts, &side[s].c, NULL));
        for (int i = 0; i < WORKERS; i++)
            test_must(gang_worker_new(side[s].c, &side[s].w[i]));
        int32_t kind;
        test_must(gang_kind_add(side[s].w[0], "kind0", "", GANG_SCOPE_NODE, 0, &kind));
    }
    for (int i = 0; i < nodes; i++)
        add_machine(i);
    for (int i = 0; i < SHAPES; i++)
        make_request(i);
    for (int i = 0; i < CALLS; i++)
        step();
    long_way(false);
    for (int i = 0; i < nodes; i++)
        node_is_alike(i);
    for (int s = 0; s < 2; s++) {
        test_must(gang_cluster_check(side[s].c, NULL));
        for (int i = 0; i < live; i++)
            test_must(gang_alloc_free(side[s].w[0], side[s].live[i]));
        for (int i = 0; i < SHAPES; i++)
            gang_request_free(side[s].request[i]);
        for (int i = 0; i < WORKERS; i++)
            gang_worker_free(side[s].w[i]);
        gang_cluster_free(side[s].c);
    }
}

START_TEST(the_short_way_comes_to_the_same_place)
{
    chance_state = test_seed();
    for (int i = 0; i < LIVES; i++)
        live_once();
    ck_assert_uint_gt(placed, LIVES * CALLS / 8);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("single");
    TCase *t = tcase_create("single");
    tcase_add_test(t, the_short_way_comes_to_the_same_place);
    suite_add_tcase(s, t);
    return run_suite(s);
}
