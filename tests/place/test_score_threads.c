/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that score: some plan by every scoring policy, one declares mixes, one makes requests
 * that are learned, one adds and removes nodes. In the end the records agree and all is free
 * again. */
#include <gangsched/gangsched.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "chance.h"
#include "suite.h"

enum { NODES = 12, PLANNERS = 3, HELD = 8 };

static gang_cluster *cluster;
static atomic_bool over;
static int rounds;

static gang_result add_node(gang_worker *w, const char *name, gang_node_id *id)
{
    struct gang_gpu_spec gpus[4];
    struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
    for (int i = 0; i < 4; i++) {
        gpus[i] = (struct gang_gpu_spec)GANG_GPU_SPEC_INIT;
        gpus[i].model = "A";
    }
    spec.name = name;
    spec.cpu_milli = 32000;
    spec.gpus = gpus;
    spec.gpu_count = 4;
    return gang_node_add(w, &spec, id, NULL);
}

static struct gang_group_spec random_group(uint64_t *seed)
{
    struct gang_group_spec g = GANG_GROUP_SPEC_INIT;
    uint64_t d = chance_of(seed);
    g.count = g.min = 1 + (int64_t)(d % 3);
    g.cpu_milli = 500 * (int64_t)(d / 3 % 8);
    g.gpu_milli = d / 32 % 3 == 0 ? 0 : d / 32 % 3 == 1 ? 250 : 1000 * (int64_t)(1 + d / 128 % 3);
    return g;
}

static int32_t score(int32_t group, const struct gang_candidate *candidates, size_t candidate_size,
                     size_t count, int64_t *scores, void *user)
{
    (void)group;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        const struct gang_candidate *c =
            (const void *)((const char *)candidates + i * candidate_size);
        struct gang_node_info info = {.size = sizeof(info)};
        gang_result r = gang_node_get(cluster, c->node, &info); /* it may be gone by now */
        if (r != GANG_OK && r != GANG_ESTALE)
            return r;
        scores[i] = c->gpu_free;
    }
    return 0;
}

static void *plan(void *user)
{
    uint64_t seed = *(const uint64_t *)user;
    gang_alloc_id held[HELD] = {0};
    gang_worker *w;
    test_must(gang_worker_new(cluster, &w));
    for (int i = 0; i < rounds; i++) {
        static const int32_t policies[] = {
            GANG_POLICY_FGD,         GANG_POLICY_BEST_FIT,       GANG_POLICY_DOT_PRODUCT,
            GANG_POLICY_GPU_PACKING, GANG_POLICY_GPU_CLUSTERING, GANG_POLICY_HOST};
        gang_alloc_id *id = &held[chance_of(&seed) % HELD];
        struct gang_group_spec g = random_group(&seed);
        struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
        gang_request *request;
        if (*id) {
            test_must(gang_alloc_free(w, *id));
            *id = GANG_ID_NONE;
            continue;
        }
        spec.groups = &g;
        spec.group_count = 1;
        spec.policy = policies[chance_of(&seed) % 6];
        spec.score = spec.policy == GANG_POLICY_HOST ? score : NULL;
        test_must(gang_request_new(cluster, &spec, &request, NULL));
        gang_result r = gang_alloc(w, request, id, NULL);
        test_assert(r == GANG_OK || r == GANG_ENOFIT || r == GANG_EBUSY);
        gang_request_free(request);
    }
    for (int i = 0; i < HELD; i++)
        if (held[i])
            test_must(gang_alloc_free(w, held[i]));
    gang_worker_free(w);
    return NULL;
}

static void *declare(void *user)
{
    uint64_t seed = *(const uint64_t *)user;
    gang_worker *w;
    test_must(gang_worker_new(cluster, &w));
    while (!atomic_load(&over)) {
        struct gang_group_spec g[3];
        for (int i = 0; i < 3; i++)
            g[i] = random_group(&seed);
        test_must(gang_mix_set(w, g, sizeof(g[0]), chance_of(&seed) % 4, NULL));
    }
    gang_worker_free(w);
    return NULL;
}

static void *come_and_go(void *user)
{
    gang_worker *w;
    (void)user;
    test_must(gang_worker_new(cluster, &w));
    while (!atomic_load(&over)) {
        gang_node_id id;
        test_must(add_node(w, "comes and goes", &id));
        test_must(gang_node_remove(w, id));
        test_must(gang_cluster_recycle(cluster));
    }
    gang_worker_free(w);
    return NULL;
}

START_TEST(planners_score_while_mixes_and_nodes_change)
{
    struct gang_error error = GANG_ERROR_INIT;
    pthread_t planner[PLANNERS], other[2];
    uint64_t seed[PLANNERS + 2], first = test_seed();
    gang_worker *w;
    rounds = getenv("GANG_TEST_QUICK") ? 300 : 40000;
    atomic_store(&over, false);
    test_must(gang_cluster_new(NULL, &cluster, NULL));
    test_must(gang_worker_new(cluster, &w));
    for (int i = 0; i < NODES; i++) {
        char name[8];
        gang_node_id id;
        snprintf(name, sizeof(name), "n%d", i);
        test_must(add_node(w, name, &id));
    }
    for (int i = 0; i < PLANNERS + 2; i++)
        seed[i] = first * 31 + (uint64_t)i * 2 + 1;
    for (int i = 0; i < PLANNERS; i++)
        ck_assert_int_eq(pthread_create(&planner[i], NULL, plan, &seed[i]), 0);
    ck_assert_int_eq(pthread_create(&other[0], NULL, declare, &seed[PLANNERS]), 0);
    ck_assert_int_eq(pthread_create(&other[1], NULL, come_and_go, &seed[PLANNERS + 1]), 0);
    for (int i = 0; i < PLANNERS; i++)
        pthread_join(planner[i], NULL);
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(other[i], NULL);
    ck_assert_msg(gang_cluster_check(cluster, &error) == GANG_OK, "%s", error.text);
    for (gang_node_id id = gang_node_next(cluster, GANG_ID_NONE); id;
         id = gang_node_next(cluster, id)) {
        struct gang_node_info info = {.size = sizeof(info)};
        test_must(gang_node_get(cluster, id, &info));
        ck_assert_int_eq(info.cpu_free, 32000);
        ck_assert_int_eq(info.gpu_free, 4000);
    }
    gang_cluster_free(cluster);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("score_threads");
    TCase *t = tcase_create("threads");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, planners_score_while_mixes_and_nodes_change);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
