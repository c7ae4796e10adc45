/* SPDX-License-Identifier: Apache-2.0 */
/* A refusal is true at an instant. Movers hop from node to node, so that the free places change all
 * the time but always suffice for the seeker's gang. They hop in the midst of its search, at random
 * steps. A search that only adds up what was free when it read each node answers "does not fit"
 * here. Some movers allocate and free, others mark a device unhealthy and let another one heal.
 *
 * One thread does it all: the hook at a step of the seeker's call makes calls with other workers,
 * as if their threads had run just then. So nothing blocks, and the seed repeats the whole run. */
#include <check.h>
#include <gangsched/gangsched.h>
#include <string.h>

#include "base/atomic.h"
#include "chance.h"
#include "suite.h"

enum { MOST_MOVERS = 2, MOST_ROOMS = 8, MOST_HOPS = 12 };

/* A slot is a node that holds one task. */
struct scene {
    int movers, slots;
    int gang;        /* tasks that the seeker wants at once; 0: grows by one, and gives it back */
    bool free_first; /* movers let go before they take; else they hold two slots for a while */
    int64_t gpu_milli;
    int64_t licences; /* of a cluster-wide kind, each task takes one; 0: there is none */
    int32_t policy;
    bool health; /* movers do not take a slot but make its device unhealthy */
};

static const struct scene scenes[] = {
    {1, 2, 1, true, 0, 0, GANG_POLICY_PACK, false},
    {1, 2, 1, true, 1000, 0, GANG_POLICY_SPREAD, false},
    {1, 3, 1, false, 0, 0, GANG_POLICY_FIRST, false},
    {1, 3, 2, true, 500, 0, GANG_POLICY_SPREAD, false},
    {2, 6, 2, false, 1000, 6, GANG_POLICY_PACK, false},
    {2, 4, 2, true, 0, 4, GANG_POLICY_SPREAD, false},
    {1, 3, 0, true, 0, 0, GANG_POLICY_PACK, false},
    {1, 4, 0, false, 1000, 4, GANG_POLICY_SPREAD, false},
    {2, 4, 2, false, 1000, 0, GANG_POLICY_PACK, false},
    {1, 2, 1, true, 1000, 0, GANG_POLICY_SPREAD, true},
    {1, 3, 1, false, 500, 0, GANG_POLICY_FIRST, true},
    {2, 6, 2, false, 1000, 6, GANG_POLICY_PACK, true},
    {2, 4, 2, true, 500, 0, GANG_POLICY_PACK, true},
    {1, 4, 0, false, 1000, 4, GANG_POLICY_SPREAD, true},
    {1, 3, 2, true, 500, 0, GANG_POLICY_FGD, false},
    {2, 4, 2, true, 0, 4, GANG_POLICY_BEST_FIT, false},
    {1, 3, 1, false, 0, 0, GANG_POLICY_HOST, false},
    {2, 4, 2, false, 1000, 0, GANG_POLICY_HOST, false},
    {1, 3, 0, true, 0, 0, GANG_POLICY_HOST, false},
    {2, 4, 2, true, 500, 0, GANG_POLICY_HOST, true},
};

static struct stage {
    const struct scene *scene;
    gang_cluster *c;
    gang_node_id node[MOST_ROOMS];
    gang_request *one, *gang;
    struct mover {
        gang_worker *w;
        gang_alloc_id held;
        int sick; /* slot, from 1; 0: none */
    } mover[MOST_MOVERS];
    uint64_t seed;
    int hops_left; /* in this call: a search that is disturbed for ever gives up */
    bool hopping;
    uint64_t hops; /* in all */
} st;

/* ---- movers ---------------------------------------------------------------------------------- */

static gang_alloc_id move_somewhere(struct mover *m)
{
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_alloc_id id = GANG_ID_NONE;
    for (int tries = 0; tries < 20 && !id; tries++) {
        place.node = st.node[(chance_of(&st.seed) >> 8) % (unsigned)st.scene->slots];
        gang_result r = gang_alloc_adopt(m->w, st.one, &place, 1, &id, NULL);
        test_assert(r == GANG_OK || r == GANG_ENOFIT);
    }
    return id;
}

static int mark_somewhere(void)
{
    for (int tries = 0; tries < 20; tries++) {
        int slot = (int)((chance_of(&st.seed) >> 8) % (unsigned)st.scene->slots) + 1;
        bool other = true;
        for (int i = 0; i < st.scene->movers; i++)
            other = other && st.mover[i].sick != slot;
        if (other)
            return slot;
    }
    return 0;
}

static void set_health(struct mover *m, int slot, int32_t state)
{
    if (slot)
        test_must(gang_gpu_set_state(m->w, st.node[slot - 1], 0, state));
}

static void hop_by_health(struct mover *m)
{
    int old = m->sick, next;
    if (st.scene->free_first) {
        set_health(m, old, GANG_GPU_OK);
        m->sick = 0;
    }
    next = mark_somewhere();
    set_health(m, next, GANG_GPU_UNHEALTHY);
    if (!st.scene->free_first && next)
        set_health(m, old, GANG_GPU_OK);
    if (next)
        m->sick = next;
    st.hops++;
}

static void hop(struct mover *m)
{
    if (st.scene->health) {
        hop_by_health(m);
        return;
    }
    if (st.scene->free_first && m->held) {
        test_must(gang_alloc_free(m->w, m->held));
        m->held = GANG_ID_NONE;
    }
    gang_alloc_id next = move_somewhere(m);
    if (next && m->held)
        test_must(gang_alloc_free(m->w, m->held));
    if (next)
        m->held = next;
    st.hops++;
}

/* At a step of the seeker's. */
static void hop_now_and_then(enum gang__step step)
{
    (void)step;
    if (st.hopping || st.hops_left == 0 || (chance_of(&st.seed) >> 8) % 4)
        return;
    st.hopping = true;
    uint64_t dice = chance_of(&st.seed) >> 8;
    for (uint64_t i = 0; i <= dice % 3 && st.hops_left; i++, st.hops_left--)
        hop(&st.mover[(dice >> 2) % (unsigned)st.scene->movers]);
    st.hopping = false;
}

/* ---- the seeker ------------------------------------------------------------------------------ */

static void seek_gang(gang_worker *w)
{
    gang_alloc_id id;
    st.hops_left = MOST_HOPS;
    gang_result r = gang_alloc(w, st.gang, &id, NULL);
    if (r != GANG_OK)
        ck_abort_msg("a gang that always fitted: %s", gang_result_name(r));
    test_must(gang_alloc_free(w, id));
    st.hops_left = MOST_HOPS;
    r = gang_alloc_test(w, st.gang, NULL);
    if (r != GANG_OK)
        ck_abort_msg("what only asked: %s", gang_result_name(r));
}

static void seek_growth(gang_worker *w, gang_alloc_id id, int64_t task)
{
    st.hops_left = MOST_HOPS;
    gang_result r = gang_alloc_grow(w, id, 0, 1, NULL, NULL);
    if (r != GANG_OK)
        ck_abort_msg("a task that always fitted: %s", gang_result_name(r));
    test_must(gang_alloc_shrink(w, id, &task, 1, NULL));
}

/* ---- the scene ------------------------------------------------------------------------------- */

static int32_t score(int32_t group, const struct gang_candidate *candidates, size_t candidate_size,
                     size_t count, int64_t *scores, void *user)
{
    (void)group;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        const struct gang_candidate *c =
            (const void *)((const char *)candidates + i * candidate_size);
        scores[i] = c->cpu_free - (int64_t)(c->node & 1);
    }
    return 0;
}

static gang_request *request_of_tasks(int64_t min, int64_t count)
{
    struct gang_group_spec group = GANG_GROUP_SPEC_INIT;
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    struct gang_amount licence = {"licence", 1};
    gang_request *request;
    group.min = min;
    group.count = count;
    group.cpu_milli = 1000;
    group.gpu_milli = st.scene->gpu_milli;
    group.amounts = &licence;
    group.amount_count = st.scene->licences > 0;
    spec.groups = &group;
    spec.group_count = 1;
    spec.policy = st.scene->policy;
    spec.score = spec.policy == GANG_POLICY_HOST ? score : NULL;
    test_must(gang_request_new(st.c, &spec, &request, NULL));
    return request;
}

static void scene_open(gang_worker **w)
{
    struct gang_gpu_spec gpu;
    memset(&gpu, 0, sizeof(gpu));
    gpu.numa = -1;
    test_must(gang_cluster_new(NULL, &st.c, NULL));
    test_must(gang_worker_new(st.c, w));
    test_must(gang_kind_add(*w, "licence", NULL, GANG_SCOPE_CLUSTER, st.scene->licences, NULL));
    static const char *const models[] = {"one", "two", "three"};
    for (int i = 0; i < st.scene->slots; i++) {
        struct gang_node_spec spec = GANG_NODE_SPEC_INIT;
        char name[16];
        snprintf(name, sizeof(name), "n%d", i);
        spec.name = name;
        spec.cpu_milli = 1500;
        gpu.model = models[i % 3]; /* each in words of the index of its own */
        spec.gpus = &gpu;
        spec.gpu_count = 1;
        test_must(gang_node_add(*w, &spec, &st.node[i], NULL));
    }
    st.one = request_of_tasks(1, 1);
    st.gang =
        st.scene->gang ? request_of_tasks(st.scene->gang, st.scene->gang) : request_of_tasks(1, 2);
}

START_TEST(a_gang_that_always_fits_is_never_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_worker *w;
    gang_alloc_id held = GANG_ID_NONE;
    int searches = getenv("GANG_TEST_QUICK") ? 150 : 12000;
    memset(&st, 0, sizeof(st));
    st.scene = &scenes[_i];
    st.seed = test_seed();
    scene_open(&w);
    if (!st.scene->gang)
        test_must(gang_alloc(w, st.gang, &held, NULL));
    for (int i = 0; i < st.scene->movers; i++) {
        test_must(gang_worker_new(st.c, &st.mover[i].w));
        hop(&st.mover[i]);
    }
    atomic_store(&gang__hook_now, hop_now_and_then);
    for (int i = 0; i < searches; i++) {
        if (st.scene->gang)
            seek_gang(w);
        else
            seek_growth(w, held, 1);
    }
    atomic_store(&gang__hook_now, (gang__hook_fn)NULL);
    ck_assert_uint_gt(st.hops, (uint64_t)searches);
    ck_assert_msg(gang_cluster_check(st.c, &error) == GANG_OK, "%s", error.text);
    gang_request_free(st.one);
    gang_request_free(st.gang);
    gang_cluster_free(st.c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refusal_midway");
    TCase *t = tcase_create("refusals");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, a_gang_that_always_fits_is_never_refused, 0,
                        (int)(sizeof(scenes) / sizeof(scenes[0])));
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
