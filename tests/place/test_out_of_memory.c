/* SPDX-License-Identifier: Apache-2.0 */
/* Every call that may allocate, with each of its allocations failing in turn: alone, or with all
 * that follow. The call says GANG_ENOMEM (or does without), nothing has changed, nothing is lost,
 * and the same call succeeds when there is memory again. */
#include <gangsched/gangsched.h>

#include <jansson.h>

#include "support.h"

static struct stage s;
static const char *const levels[] = {"block", "rack"};

/* ---- a life with one call of each sort ---- */

static gang_worker *other;
static gang_worker *own[14]; /* of calls that are to be the first of their worker */
static gang_node_id node[5];
static gang_request *small, *large, *never, *blocked, *picky, *placed;
static gang_request *scored[3];
static gang_alloc_id alloc[8];

/* A worker that did nothing yet, also when the call is made again. */
static gang_result fresh(int i)
{
    return own[i] ? GANG_OK : gang_worker_new(s.c, &own[i]);
}

static struct box box_of(const char *name, const char *block, const char *rack)
{
    static struct gang_label place[2];
    static const struct gang_amount nics = {"nic", 8};
    place[0] = (struct gang_label){"block", block};
    place[1] = (struct gang_label){"rack", rack};
    return (struct box){.name = name,
                        .cpu = 64000,
                        .memory = 64 * GIB,
                        .amounts = &nics,
                        .amount_count = 1,
                        .place = place,
                        .place_count = 2};
}

static gang_result node_add(int i, const struct box *box)
{
    static struct box_arrays arrays;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_node_spec spec = box_spec(box, &arrays);
    gang_result r = gang_node_add(s.w, &spec, &node[i], &error);
    ck_assert_int_eq(error.code, r);
    ck_assert((r == GANG_OK) == (node[i] != GANG_ID_NONE));
    return r;
}

static gang_result make_worker(void)
{
    gang_result r = gang_worker_new(s.c, &other);
    ck_assert((r == GANG_OK) == (other != NULL));
    return r;
}

static gang_result make_kind(void)
{
    return gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL);
}

static gang_result make_pool(void)
{
    return gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 10, NULL);
}

static gang_result resize_pool(void)
{
    return gang_kind_resize(other, GANG_KIND_SITE + 1, 40); /* the worker's first commit */
}

static gang_result set_partition(void)
{
    gang_result r = gang_partition_set(s.w, "lent", GANG_PARTITION_LENDING);
    return r != GANG_OK ? r : gang_partition_set(s.w, "free", GANG_PARTITION_SHARED);
}

/* New names, of a node and in a request. */
static gang_result add_partitions(void)
{
    struct box box = {.name = "p", .partitions = LIST(const char *, "lent", "p1", "p2")};
    return node_add(4, &box);
}

static gang_result add_plain(void)
{
    struct box box = box_of("n0", "b0", "r0");
    return node_add(0, &box);
}

static gang_result add_gpus(void) /* more words than a cell has */
{
    struct box box = box_of("n1", "b0", "r1");
    box.gpus = 16;
    box.model = "V100";
    box.gpu_memory = 16 * GIB;
    box.cores = 64;
    box.numas = 2;
    return node_add(1, &box);
}

static gang_result add_other_gpus(void)
{
    struct box box = box_of("n2", "b1", "r1");
    box.gpus = 4;
    box.model = "A100";
    return node_add(2, &box);
}

static gang_result add_many_domains(void) /* the tables of domains grow */
{
    for (int i = 0; i < 10; i++) {
        char name[20], rack[20];
        snprintf(name, sizeof(name), "m%d", i);
        snprintf(rack, sizeof(rack), "r%d", i);
        struct box box = box_of(name, "b2", rack);
        gang_node_id id;
        if (gang_node_find(s.c, name, &id) == GANG_OK)
            continue;
        box.cpu = 0;
        gang_result r = node_add(4, &box);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

static gang_result change_node(void)
{
    static struct box_arrays arrays;
    struct gang_error error = GANG_ERROR_INIT;
    struct box box = box_of("n0", "b1", "r3");
    box.memory = 128 * GIB;
    struct gang_node_spec spec = box_spec(&box, &arrays);
    gang_result r = fresh(0);
    if (r != GANG_OK)
        return r;
    r = gang_node_change(own[0], node[0], &spec, &error);
    ck_assert_int_eq(error.code, r);
    return r;
}

static gang_result change_many(void) /* more and more nodes in one domain */
{
    static struct box_arrays arrays;
    for (int i = 0; i < 10; i++) {
        char name[20];
        gang_node_id id;
        snprintf(name, sizeof(name), "m%d", i);
        struct box box = box_of(name, "b3", "r3");
        box.cpu = 0;
        struct gang_node_spec spec = box_spec(&box, &arrays);
        MUST(gang_node_find(s.c, name, &id));
        gang_result r = gang_node_change(s.w, id, &spec, NULL);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

static gang_result drain_node(void)
{
    gang_result r = fresh(1);
    return r != GANG_OK ? r : gang_node_set_state(own[1], node[2], GANG_NODE_DRAINING);
}

static gang_result undrain_node(void)
{
    return gang_node_set_state(s.w, node[2], GANG_NODE_UP);
}

static gang_result make_request(gang_request **request, const struct gang_request_spec *spec)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_request_new(s.c, spec, request, &error);
    ck_assert((r == GANG_OK) == (*request != NULL));
    ck_assert_int_eq(error.code, r);
    return r;
}

static gang_result make_small(void)
{
    struct gang_group_spec g = group_of(40, 500, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    g.min = 2;
    return make_request(&small, &spec);
}

static gang_result make_large(void)
{
    static const struct gang_amount amounts[] = {{"nic", 1}, {"lic", 1}};
    static const char *const models[] = {"V100", "A100"}, *const zone = "z";
    static const struct gang_label_rule rule = {"zone", &zone, 1, GANG_LABEL_NOT_IN, 0};
    struct gang_group_spec g[] = {group_of(6, 2000, 2000), group_of(30, 1000, 0),
                                  group_of(3, 100, 300)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 3);
    g[0].amounts = amounts;
    g[0].amount_count = 2;
    g[0].labels = &rule;
    g[0].label_count = 1;
    g[0].gpu_models = models;
    g[0].gpu_model_count = 2;
    g[0].min = 4;
    g[0].group_set = g[2].group_set = 0;
    g[0].same = "rack";
    g[1].prefer = "rack";
    set.same = "block";
    spec.group_sets = &set;
    spec.group_set_count = 1;
    spec.prefer = "block";
    return make_request(&large, &spec);
}

static gang_result make_blocked(void)
{
    struct gang_group_spec g = group_of(2, 0, 40000);
    struct gang_request_spec spec = request_of(&g, 1);
    g.min = 1;
    return make_request(&blocked, &spec);
}

static gang_result make_picky(void)
{
    struct gang_group_spec g[2] = {group_of(1, 1000, 0), group_of(1, 0, 1000)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].partition = "q1";
    g[0].where = "not (os in (plan9, \"x y\") or age < 3)";
    g[1].partition = "q2";
    spec.gpu_nodes = GANG_GPU_NODES_EXCLUDE;
    return make_request(&picky, &spec);
}

static gang_result make_never(void)
{
    struct gang_group_spec g = group_of(1000, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    return make_request(&never, &spec);
}

/* Everything that says where tasks go beside each other. */
static gang_result make_placed(void)
{
    struct gang_group_spec g[] = {group_of(4, 1000, 0), group_of(4, 500, 0), group_of(3, 0, 300)};
    struct gang_request_spec spec = request_of(g, 3);
    const struct gang_label label = {"app", "placed"};
    const struct gang_affinity_rule peer = {"app", "other", "rack", 0, 0};
    g[0].subgroup_size = 2;
    g[0].subgroup_same = "node";
    g[0].min = 2;
    g[1].spread = "node";
    g[1].max_skew = 3;
    g[1].max_per_node = 3;
    g[2].prefer = "island";
    spec.labels = &label;
    spec.label_count = 1;
    spec.affinity = &peer;
    spec.affinity_size = sizeof(peer);
    spec.affinity_count = 1;
    spec.policy = GANG_POLICY_TOPOLOGY;
    return make_request(&placed, &spec);
}

static gang_result allocate(int i, gang_worker *w, gang_request *request)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_alloc(w, request, &alloc[i], &error);
    ck_assert((r == GANG_OK) == (alloc[i] != GANG_ID_NONE));
    ck_assert_int_eq(error.code, r);
    return r;
}

static gang_result alloc_small(void)
{
    return allocate(0, s.w, small);
}

static gang_result alloc_large(void)
{
    gang_result r = fresh(2);
    return r != GANG_OK ? r : allocate(1, own[2], large);
}

static gang_result test_large(void)
{
    return gang_alloc_test(other, large, NULL);
}

/* A refusal that may take memory to find out why. */
static gang_result refuse(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_alloc_id id = 1;
    gang_result r = gang_alloc(other, never, &id, &error);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    ck_assert_int_eq(error.code, r);
    return r == GANG_ENEVER ? GANG_OK : r;
}

static gang_result ask_ever(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_request_fits_ever(other, large, &error);
    ck_assert_int_eq(error.code, r);
    return r;
}

static gang_result grow_small(void)
{
    int64_t granted = -1;
    gang_result r = fresh(3);
    if (r != GANG_OK)
        return r;
    r = gang_alloc_grow(own[3], alloc[0], 0, 38, &granted, NULL);
    ck_assert_int_eq(granted, r == GANG_OK ? 38 : 0);
    return r;
}

/* The first group gets the two tasks that it misses; then it is complete, and no group can grow. */
static gang_result grow_large(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_alloc_grow(s.w, alloc[1], 0, 2, NULL, &error);
    ck_assert_int_eq(error.code, r);
    return r;
}

static gang_result refuse_growth(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = fresh(4);
    if (r != GANG_OK)
        return r;
    r = gang_alloc_grow(own[4], alloc[3], 0, 1, NULL, &error);
    ck_assert_int_eq(error.code, r);
    ck_assert_int_ne(r, GANG_OK);
    return r == GANG_ENEVER ? GANG_OK : r;
}

static gang_result alloc_blocked(void) /* there is no node for a second task */
{
    return allocate(3, s.w, blocked);
}

static gang_result alloc_placed(void)
{
    gang_result r = fresh(8);
    return r != GANG_OK ? r : allocate(4, own[8], placed);
}

static gang_result grow_placed(void) /* by a slice */
{
    int64_t granted = -1;
    gang_result r = fresh(9);
    if (r != GANG_OK)
        return r;
    r = gang_alloc_grow(own[9], alloc[4], 0, 1, &granted, NULL);
    ck_assert_int_eq(granted, r == GANG_OK ? 2 : 0);
    return r;
}

static gang_result shrink_small(void)
{
    static const int64_t tasks[] = {1, 3, 5, 7, 9, 39};
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = fresh(5);
    if (r != GANG_OK)
        return r;
    r = gang_alloc_shrink(own[5], alloc[0], tasks, 6, &error);
    ck_assert_int_eq(error.code, r);
    return r;
}

static gang_result adopt(void)
{
    struct gang_placement places[20];
    struct gang_error error = GANG_ERROR_INIT;
    for (int i = 0; i < 20; i++) {
        places[i] = (struct gang_placement)GANG_PLACEMENT_INIT;
        places[i].node = node[i % 3];
    }
    gang_result r = fresh(6);
    if (r != GANG_OK)
        return r;
    r = gang_alloc_adopt(own[6], small, places, 20, &alloc[2], &error);
    ck_assert((r == GANG_OK) == (alloc[2] != GANG_ID_NONE));
    ck_assert_int_eq(error.code, r);
    return r;
}

/* ---- policies that score ---- */

static gang_result set_mix(void)
{
    static const char *const models[] = {"V100", "A100"};
    struct gang_group_spec g[] = {group_of(6, 2000, 1000), group_of(3, 100, 300)};
    struct gang_error error = GANG_ERROR_INIT;
    g[1].gpu_models = models;
    g[1].gpu_model_count = 2;
    gang_result r = gang_mix_set(s.w, g, sizeof(g[0]), 2, &error);
    ck_assert_int_eq(error.code, r);
    return r;
}

static gang_result drop_mix(void)
{
    return gang_mix_set(s.w, NULL, 0, 0, NULL);
}

static int32_t score(int32_t group, const struct gang_candidate *candidates, size_t candidate_size,
                     size_t count, int64_t *scores, void *user)
{
    (void)group;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        const struct gang_candidate *c =
            (const void *)((const char *)candidates + i * candidate_size);
        scores[i] = c->cpu_free;
    }
    return 0;
}

static gang_result make_scored(int i, int32_t policy)
{
    struct gang_group_spec g = group_of(2, 300, policy == GANG_POLICY_HOST ? 0 : 100);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = policy;
    spec.score = policy == GANG_POLICY_HOST ? score : NULL;
    return make_request(&scored[i], &spec);
}

static gang_result make_fgd(void)
{
    return make_scored(0, GANG_POLICY_FGD);
}

static gang_result make_clustered(void)
{
    return make_scored(1, GANG_POLICY_GPU_CLUSTERING);
}

static gang_result make_host(void)
{
    return make_scored(2, GANG_POLICY_HOST);
}

static gang_result alloc_fgd(void)
{
    gang_result r = fresh(10);
    return r != GANG_OK ? r : allocate(5, own[10], scored[0]);
}

/* Now by what was learned. */
static gang_result test_fgd(void)
{
    gang_result r = fresh(11);
    return r != GANG_OK ? r : gang_alloc_test(own[11], scored[0], NULL);
}

static gang_result alloc_clustered(void)
{
    gang_result r = fresh(12);
    return r != GANG_OK ? r : allocate(6, own[12], scored[1]);
}

static gang_result alloc_host(void)
{
    gang_result r = fresh(13);
    return r != GANG_OK ? r : allocate(7, own[13], scored[2]);
}

static gang_result reserve(void)
{
    return gang_worker_preallocate(s.w, 3000);
}

static gang_result check(void)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_cluster_check(s.c, &error);
    ck_assert_int_eq(error.code, r);
    return r;
}

static gang_result remove_held(void)
{
    return gang_node_remove(s.w, node[1]);
}

static gang_result remove_empty(void)
{
    gang_node_id id;
    MUST(gang_node_find(s.c, "m7", &id));
    return gang_node_remove(s.w, id);
}

static gang_result free_large(void)
{
    gang_result r = fresh(7);
    return r != GANG_OK ? r : gang_alloc_free(own[7], alloc[1]);
}

static gang_result free_small(void)
{
    return gang_alloc_free(s.w, alloc[0]);
}

static gang_result add_again(void)
{
    struct box box = box_of("n1", "b0", "r9");
    box.gpus = 64;
    return node_add(3, &box);
}

static gang_result reclaim(void)
{
    return gang_cluster_recycle(s.c);
}

struct act {
    const char *name;
    gang_result (*run)(void);
};
#define ACT(name)   \
    {               \
#name, name \
    }
static const struct act acts[] = {
    ACT(make_worker),    ACT(make_kind),
    ACT(make_pool),      ACT(resize_pool),
    ACT(set_partition),  ACT(add_partitions),
    ACT(add_plain),      ACT(add_gpus),
    ACT(add_other_gpus), ACT(add_many_domains),
    ACT(change_node),    ACT(change_many),
    ACT(drain_node),     ACT(undrain_node),
    ACT(make_small),     ACT(make_large),
    ACT(make_never),     ACT(alloc_small),
    ACT(test_large),     ACT(alloc_large),
    ACT(refuse),         ACT(ask_ever),
    ACT(grow_small),     ACT(grow_large),
    ACT(shrink_small),   ACT(adopt),
    ACT(make_fgd),       ACT(make_clustered),
    ACT(make_host),      ACT(set_mix),
    ACT(alloc_fgd),      ACT(drop_mix),
    ACT(test_fgd),       ACT(alloc_clustered),
    ACT(alloc_host),     ACT(reserve),
    ACT(check),          ACT(remove_held),
    ACT(remove_empty),   ACT(free_large),
    ACT(free_small),     ACT(add_again),
    ACT(make_blocked),   ACT(alloc_blocked),
    ACT(refuse_growth),  ACT(reclaim),
    ACT(make_picky),     ACT(make_placed),
    ACT(alloc_placed),   ACT(grow_placed),
};
enum { ACTS = sizeof(acts) / sizeof(acts[0]) };

static void begin(void)
{
    stage_open(&s, levels, 2);
    other = NULL;
    memset(own, 0, sizeof(own));
    small = large = never = blocked = picky = placed = NULL;
    memset(node, 0, sizeof(node));
    memset(alloc, 0, sizeof(alloc));
    memset(scored, 0, sizeof(scored));
}

static void end(void)
{
    gang_request_free(small);
    gang_request_free(large);
    gang_request_free(never);
    gang_request_free(blocked);
    gang_request_free(picky);
    gang_request_free(placed);
    for (int i = 0; i < 3; i++)
        gang_request_free(scored[i]);
    stage_close(&s); /* nothing may be left allocated */
}

/* ---- all that can be seen ---- */

struct view {
    int64_t nodes;
    struct gang_node_info info[5];
    gang_result result[5];
    struct gang_kind_info pool;
    size_t allocs;
    struct gang_alloc_info total[8];
    size_t tasks;
    struct gang_task task[160];
};

static int32_t view_task(const struct gang_task *task, void *user)
{
    struct view *v = user;
    ck_assert_uint_lt(v->tasks, sizeof(v->task) / sizeof(v->task[0]));
    v->task[v->tasks++] = *task;
    return 0;
}

static void look(struct view *v)
{
    memset(v, 0, sizeof(*v));
    v->nodes = gang_node_count(s.c);
    for (int i = 0; i < 5; i++) {
        v->info[i].size = sizeof(v->info[i]);
        v->result[i] = gang_node_get(s.c, node[i], &v->info[i]);
    }
    v->pool.size = sizeof(v->pool);
    gang_result r = gang_kind_get(s.c, GANG_KIND_SITE + 1, &v->pool);
    ck_assert(r == GANG_OK || r == GANG_ENOENT);
    for (gang_alloc_id id = gang_alloc_next(s.c, GANG_ID_NONE); id; id = gang_alloc_next(s.c, id)) {
        v->total[v->allocs].size = sizeof(v->total[0]);
        MUST(gang_alloc_get(s.c, id, &v->total[v->allocs++]));
        MUST(gang_alloc_each(s.c, id, view_task, v));
    }
}

/* Do a call that may run out of memory: then nothing has changed, and it succeeds at once after. */
static void attempt(const struct act *act)
{
    static struct view before, after;
    bool steps = strstr(act->name, "_many") != NULL; /* several calls, each whole */
    look(&before);
    gang_result r = act->run();
    if (r == GANG_ENOMEM) {
        ck_assert_msg(s.mem.fail_at > 0 && s.mem.calls >= s.mem.fail_at, "%s: %s", act->name,
                      "out of memory without need");
        s.mem.fail_at = 0;
        look(&after);
        ck_assert_msg(steps || memcmp(&before, &after, sizeof(before)) == 0,
                      "%s changed something and failed", act->name);
        stage_check(&s);
        r = act->run();
    }
    ck_assert_msg(r == GANG_OK, "%s: %s", act->name, gang_result_name(r));
}

/* ---- each call ---- */

/* Under slow tools only every fifth allocation fails. */
static long stride(void)
{
    return getenv("GANG_TEST_QUICK") ? 5 : 1;
}

/* _i: the call, and whether all allocations after the failing one fail, too. */
START_TEST(each_allocation_of_a_call_may_fail)
{
    const struct act *act = &acts[_i / 2];
    for (long n = 1;; n += stride()) {
        ck_assert_int_lt(n, 300);
        begin();
        for (const struct act *a = acts; a < act; a++)
            ck_assert_int_eq(a->run(), GANG_OK);
        s.mem.fail_on = _i % 2;
        s.mem.fail_at = s.mem.calls + n;
        attempt(act);
        bool reached = s.mem.fail_at == 0 || s.mem.calls >= s.mem.fail_at;
        s.mem.fail_at = 0;
        stage_check(&s);
        for (const struct act *a = act + 1; n % 5 == 1 && a < acts + ACTS; a++) /* life goes on */
            ck_assert_msg(a->run() == GANG_OK, "%s after %s", a->name, act->name);
        end();
        if (!reached)
            break;
    }
}
END_TEST

/* The n-th allocation of the whole life. */
START_TEST(each_allocation_of_a_life_may_fail)
{
    long all = 0;
    for (long n = 1;; n += stride()) {
        begin();
        s.mem.fail_on = _i;
        s.mem.fail_at = s.mem.calls + n;
        long begun = s.mem.calls;
        for (size_t i = 0; i < ACTS; i++)
            attempt(&acts[i]);
        all = s.mem.calls - begun;
        bool reached = s.mem.fail_at == 0 || s.mem.calls >= s.mem.fail_at;
        s.mem.fail_at = 0;
        end();
        if (!reached)
            break;
    }
    ck_assert_int_gt(all, 100); /* else little was tried */
}
END_TEST

START_TEST(a_cluster_is_made_or_not)
{
    for (int on = 0; on < 2; on++) {
        struct fail_mem fail;
        struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
        gang_cluster *c = NULL;
        long n = 0;
        opts.levels = levels;
        opts.level_count = 2;
        opts.mem = &fail.mem;
        do {
            struct gang_error error = GANG_ERROR_INIT;
            c = (gang_cluster *)&opts;
            fail_mem_init(&fail, ++n);
            fail.fail_on = on != 0;
            gang_result r = gang_cluster_new(&opts, &c, &error);
            ck_assert_int_eq(error.code, r);
            ck_assert(r == GANG_OK || r == GANG_ENOMEM);
            ck_assert((r == GANG_OK) == (c != NULL));
            if (!c)
                ck_assert_int_eq(fail.live, 0);
        } while (!c);
        ck_assert_int_gt(n, 4);
        gang_cluster_free(c);
        ck_assert_int_eq(fail.live, 0);
    }
}
END_TEST

START_TEST(a_cluster_is_built_or_not)
{
    static struct box_arrays arrays;
    struct gang_kind_spec kinds[] = {
        {sizeof(kinds[0]), "nic", NULL, GANG_SCOPE_NODE, 0, 0},
        {sizeof(kinds[0]), "lic", NULL, GANG_SCOPE_CLUSTER, 0, 9},
    };
    struct box box = box_of("n0", "b0", "r0");
    box.gpus = 8;
    struct gang_node_spec nodes[] = {box_spec(&box, &arrays), box_spec(&box, &arrays)};
    struct gang_scenario scenario = GANG_SCENARIO_INIT;
    nodes[1].name = "n1";
    scenario.levels = levels;
    scenario.level_count = 2;
    scenario.kinds = kinds;
    scenario.kind_count = 2;
    scenario.nodes = nodes;
    scenario.node_count = 2;
    for (int on = 0; on < 2; on++) {
        struct fail_mem fail;
        struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
        gang_cluster *c = NULL;
        long n = 0;
        opts.mem = &fail.mem;
        do {
            struct gang_error error = GANG_ERROR_INIT;
            fail_mem_init(&fail, ++n);
            fail.fail_on = on != 0;
            gang_result r = gang_cluster_build(&scenario, &opts, &c, &error);
            ck_assert_int_eq(error.code, r);
            ck_assert(r == GANG_OK || r == GANG_ENOMEM);
            ck_assert((r == GANG_OK) == (c != NULL));
            if (!c)
                ck_assert_int_eq(fail.live, 0);
        } while (!c);
        ck_assert_int_gt(n, 15);
        ck_assert_int_eq(gang_node_count(c), 2);
        gang_cluster_free(c);
        ck_assert_int_eq(fail.live, 0);
    }
}
END_TEST

/* The first node of a new chunk of the node table. */
START_TEST(a_chunk_of_nodes_is_made_or_not)
{
    char name[20];
    struct box box = {.name = name};
    gang_node_id last = GANG_ID_NONE;
    long n = 0;
    begin();
    for (int i = 1; i < 1024; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        last = stage_add(&s, &box);
    }
    snprintf(name, sizeof(name), "more");
    s.mem.fail_at = s.mem.calls + ++n;
    while (node_add(0, &box) != GANG_OK) {
        s.mem.fail_at = 0;
        ck_assert_int_eq(gang_node_count(s.c), 1023);
        ck_assert_uint_eq(gang_node_next(s.c, last), GANG_ID_NONE);
        stage_check(&s);
        s.mem.fail_at = s.mem.calls + ++n;
    }
    s.mem.fail_at = 0;
    ck_assert_int_gt(n, 3);
    ck_assert_uint_eq((uint32_t)node[0], 1024);
    end();
}
END_TEST

/* ---- jansson ---- */

static long json_calls, json_live, json_fail_at;
static bool json_fail_on;

static void *json_alloc(size_t bytes)
{
    json_calls++;
    if (json_fail_at && (json_calls == json_fail_at || (json_fail_on && json_calls > json_fail_at)))
        return NULL;
    json_live++;
    return malloc(bytes);
}

static void json_release(void *memory)
{
    json_live -= memory != NULL;
    free(memory);
}

static int swallow(const char *bytes, size_t length, void *user)
{
    (void)bytes;
    *(size_t *)user += length;
    return 0;
}

START_TEST(json_is_written_or_not)
{
    size_t whole = 0, length;
    long n = 0;
    gang_result r;
    begin();
    for (const struct act *a = acts; a->run != remove_held; a++)
        ck_assert_int_eq(a->run(), GANG_OK);
    json_set_alloc_funcs(json_alloc, json_release);
    json_calls = json_live = json_fail_at = 0;
    MUST(gang_alloc_write_json(s.c, alloc[1], swallow, &whole));
    ck_assert_int_eq(json_live, 0);
    json_fail_on = _i != 0;
    do {
        json_calls = 0;
        json_fail_at = ++n;
        length = 0;
        r = gang_alloc_write_json(s.c, alloc[1], swallow, &length);
        ck_assert_msg(json_calls < json_fail_at ? r == GANG_OK : r == GANG_ENOMEM,
                      "%s at %ld of %ld", gang_result_name(r), json_fail_at, json_calls);
        ck_assert_int_eq(json_live, 0);
    } while (r != GANG_OK);
    ck_assert_uint_eq(length, whole);
    ck_assert_int_gt(n, 50);
    json_set_alloc_funcs(malloc, free);
    MUST(gang_alloc_free(s.w, alloc[1])); /* failed readers hold nothing */
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("out of memory");
    TCase *calls = tcase_create("calls");
    tcase_add_loop_test(calls, each_allocation_of_a_call_may_fail, 0, 2 * ACTS);
    tcase_add_loop_test(calls, each_allocation_of_a_life_may_fail, 0, 2);
    tcase_add_test(calls, a_cluster_is_made_or_not);
    tcase_add_test(calls, a_cluster_is_built_or_not);
    tcase_add_test(calls, a_chunk_of_nodes_is_made_or_not);
    tcase_add_loop_test(calls, json_is_written_or_not, 0, 2);
    suite_add_tcase(suite, calls);
    return run_suite(suite);
}
