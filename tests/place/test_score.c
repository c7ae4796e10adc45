/* SPDX-License-Identifier: Apache-2.0 */
/* The policies that score: small cases worked out by hand, and random ones against
 * scores computed directly from their definition, without any of the caches. */
#include <gangsched/gangsched.h>
#include <math.h>

#include "chance.h"
#include "support.h"

static struct stage s;
static gang_node_id node[16];
static const char *const levels[] = {"rack"};
static const int32_t scored[] = {GANG_POLICY_FGD, GANG_POLICY_BEST_FIT, GANG_POLICY_DOT_PRODUCT,
                                 GANG_POLICY_GPU_PACKING, GANG_POLICY_GPU_CLUSTERING};
enum { SCORED = sizeof(scored) / sizeof(scored[0]) };

static void open_stage(void)
{
    stage_open(&s, levels, 1);
}

static void close_stage(void)
{
    stage_close(&s);
}

static void add_node(int i, int64_t cores, size_t gpus, const char *model)
{
    static const struct gang_label rack = {"rack", "r1"};
    char name[20];
    snprintf(name, sizeof(name), "n%d", i);
    struct box box = {.name = name,
                      .cpu = cores * 1000,
                      .gpus = gpus,
                      .model = model,
                      .place = &rack,
                      .place_count = 1};
    node[i] = stage_add(&s, &box);
}

static struct gang_group_spec on_node(struct gang_group_spec g, int i)
{
    static char name[16][20];
    static const char *names[16];
    static struct gang_label_rule rule[16];
    snprintf(name[i], sizeof(name[i]), "n%d", i);
    names[i] = name[i];
    rule[i] = (struct gang_label_rule){"node", &names[i], 1, GANG_LABEL_IN, 0};
    g.labels = &rule[i];
    g.label_count = 1;
    return g;
}

/* Take something of a node, with a policy. */
static gang_alloc_id take(int32_t policy, int i, int64_t cpu, int64_t gpu)
{
    struct gang_group_spec g = on_node(group_of(1, cpu, gpu), i);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = policy;
    return stage_alloc(&s, &spec);
}

/* One task under a policy goes to this node, by the whole cluster and by a rack. */
static void goes_to(int32_t policy, int64_t cpu, int64_t gpu, int want)
{
    struct gang_group_spec g = group_of(1, cpu, gpu);
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = policy;
    spec.gpu_nodes = GANG_GPU_NODES_ALLOW;
    for (int in_rack = 0; in_rack < 2; in_rack++) {
        g.same = in_rack ? "rack" : NULL;
        gang_alloc_id id = stage_alloc(&s, &spec);
        gang_node_id got = stage_tasks(&s, id)->task[0].node;
        ck_assert_msg(got == node[want], "%s: on slot %u, not %d%s", gang_policy_name(policy),
                      (uint32_t)got, want, in_rack ? " in the rack" : "");
        MUST(gang_alloc_free(s.w, id));
    }
}

static void mix_of(const struct gang_group_spec *shapes, size_t count)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_result r = gang_mix_set(s.w, shapes, sizeof(*shapes), count, &error);
    ck_assert_msg(r == GANG_OK, "%s: %s", error.path, error.text);
}

/* ---- by hand --------------------------------------------------------------------------------- */

START_TEST(best_fit_leaves_least)
{
    add_node(0, 96, 8, "A");
    add_node(1, 32, 4, "A");
    add_node(2, 96, 2, "A");
    goes_to(GANG_POLICY_BEST_FIT, 4000, 1000, 1);
    goes_to(GANG_POLICY_BEST_FIT, 40000, 1000, 2);
    goes_to(GANG_POLICY_BEST_FIT, 4000, 8000, 0);
    goes_to(GANG_POLICY_BEST_FIT, 1000, 0, 1);
}
END_TEST

START_TEST(dot_product_takes_the_smallest)
{
    add_node(0, 96, 8, "A");
    add_node(1, 128, 1, "A");
    add_node(2, 16, 4, "A");
    goes_to(GANG_POLICY_DOT_PRODUCT, 1000, 1000, 1); /* GPUs weigh more */
    goes_to(GANG_POLICY_DOT_PRODUCT, 16000, 0, 2);   /* nothing but cores */
}
END_TEST

START_TEST(gpu_packing_shares_before_it_breaks)
{
    add_node(0, 64, 4, "A"); /* idle */
    add_node(1, 64, 4, "A"); /* busy, three whole ones */
    add_node(2, 64, 4, "A"); /* one shared */
    take(GANG_POLICY_PACK, 1, 1000, 1000);
    take(GANG_POLICY_PACK, 2, 1000, 300);
    goes_to(GANG_POLICY_GPU_PACKING, 1000, 500, 2);
    goes_to(GANG_POLICY_GPU_PACKING, 1000, 800, 1); /* of a busy node rather than of an idle one */
    goes_to(GANG_POLICY_GPU_PACKING, 1000, 4000, 0);
    goes_to(GANG_POLICY_GPU_PACKING, 1000, 0, 0); /* the first */
}
END_TEST

START_TEST(gpu_clustering_prefers_nodes_with_equal_tasks)
{
    add_node(0, 64, 8, "A");
    add_node(1, 64, 8, "A");
    add_node(2, 64, 8, "A");
    gang_alloc_id two = take(GANG_POLICY_GPU_CLUSTERING, 1, 1000, 2000);
    gang_alloc_id part = take(GANG_POLICY_GPU_CLUSTERING, 2, 1000, 250);
    goes_to(GANG_POLICY_GPU_CLUSTERING, 1000, 2000, 1);
    goes_to(GANG_POLICY_GPU_CLUSTERING, 1000, 700, 2);  /* any part is a part */
    goes_to(GANG_POLICY_GPU_CLUSTERING, 1000, 1000, 0); /* nothing there yet */
    MUST(gang_alloc_free(s.w, two));                    /* forgotten */
    MUST(gang_alloc_free(s.w, part));
    take(GANG_POLICY_PACK, 1, 1000, 2000);              /* other policies leave no trace */
    goes_to(GANG_POLICY_GPU_CLUSTERING, 1000, 2000, 1); /* empty as the others, and fuller */
}
END_TEST

/* The policy counts a running allocation whichever call made it, and stops counting it whichever
 * call frees it. */
START_TEST(gpu_clustering_counts_all_ways_to_take_and_give)
{
    struct gang_placement place = GANG_PLACEMENT_INIT;
    gang_alloc_id id;
    int64_t task = 0;
    for (int i = 0; i < 3; i++)
        add_node(i, 64, 8, "A");
    struct gang_group_spec g = group_of(3, 1000, 2000);
    struct gang_request_spec spec = request_of(&g, 1);
    g.min = 0;
    spec.min = 1;
    spec.policy = GANG_POLICY_GPU_CLUSTERING;
    gang_request *request = stage_request(&s, &spec);
    place.node = node[2];
    MUST(gang_alloc_adopt(s.w, request, &place, 1, &id, NULL));
    gang_request_free(request);
    stage_check(&s);
    goes_to(GANG_POLICY_GPU_CLUSTERING, 1000, 2000, 2);
    MUST(gang_alloc_grow(s.w, id, 0, 2, NULL, NULL));
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[2]), 3);
    stage_check(&s);
    MUST(gang_alloc_shrink(s.w, id, &task, 1, NULL));
    stage_check(&s);
    MUST(gang_alloc_free(s.w, id));
    goes_to(GANG_POLICY_GPU_CLUSTERING, 1000, 2000, 0);
}
END_TEST

START_TEST(a_gang_clusters_with_itself)
{
    for (int i = 0; i < 4; i++)
        add_node(i, 64, 2, "A");
    struct gang_group_spec g[] = {group_of(2, 1000, 1000), group_of(2, 1000, 500)};
    struct gang_request_spec spec = request_of(g, 2);
    spec.policy = GANG_POLICY_GPU_CLUSTERING;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 2);
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 2);
}
END_TEST

START_TEST(fgd_goes_by_the_mix)
{
    add_node(0, 64, 2, "A");
    add_node(1, 64, 2, "A");
    take(GANG_POLICY_PACK, 1, 1000, 500);
    struct gang_group_spec whole = group_of(1, 1000, 1000), pair = group_of(1, 1000, 2000);
    /* Halves go beside the half, where they spoil nothing for whole devices... */
    mix_of(&whole, 1);
    goes_to(GANG_POLICY_FGD, 1000, 500, 1);
    /* ...and so do whole ones, if pairs are expected. */
    mix_of(&pair, 1);
    goes_to(GANG_POLICY_FGD, 1000, 1000, 1);
    /* GPUs without the cores they need are lost: of the second node less is. */
    struct gang_group_spec hungry = group_of(1, 60000, 1000);
    mix_of(&hungry, 1);
    goes_to(GANG_POLICY_FGD, 10000, 250, 1);
    take(GANG_POLICY_PACK, 0, 10000, 0); /* now the first one's are lost anyhow */
    goes_to(GANG_POLICY_FGD, 10000, 250, 0);
}
END_TEST

START_TEST(fgd_chooses_the_device)
{
    add_node(0, 64, 2, "A");
    take(GANG_POLICY_PACK, 0, 1000, 300); /* of device 0 */
    take(GANG_POLICY_PACK, 0, 1000, 750); /* of device 1: 250 are left */
    struct gang_group_spec part = group_of(1, 0, 200), g = group_of(1, 1000, 200);
    struct gang_request_spec spec = request_of(&g, 1);
    /* Best fit would leave 50 on device 1, which no task can use. */
    mix_of(&part, 1);
    spec.policy = GANG_POLICY_FGD;
    ck_assert_uint_eq(stage_tasks(&s, stage_alloc(&s, &spec))->task[0].gpus, 1);
    spec.policy = GANG_POLICY_BEST_FIT;
    ck_assert_uint_eq(stage_tasks(&s, stage_alloc(&s, &spec))->task[0].gpus, 2);
}
END_TEST

START_TEST(fgd_learns_the_mix)
{
    add_node(0, 64, 2, "A");
    add_node(1, 64, 2, "A");
    take(GANG_POLICY_PACK, 1, 1000, 500);
    struct gang_group_spec g = group_of(1000, 1000, 2000);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request_free(stage_request(&s, &spec)); /* pairs are what is asked for */
    goes_to(GANG_POLICY_FGD, 1000, 1000, 1);
    struct gang_group_spec whole = group_of(1, 1000, 1000); /* what is declared goes first */
    mix_of(&whole, 1);
    goes_to(GANG_POLICY_FGD, 1000, 1000, 0);
    mix_of(NULL, 0);
    goes_to(GANG_POLICY_FGD, 1000, 1000, 1);
}
END_TEST

START_TEST(equal_scores_follow_the_order_of_nodes)
{
    for (int i = 0; i < 5; i++)
        add_node(i, 64, 4, "A");
    for (int k = 0; k < SCORED; k++) {
        goes_to(scored[k], 1000, 1000, 0);
        goes_to(scored[k], 1000, 500, 0);
        goes_to(scored[k], 1000, 0, 0);
    }
}
END_TEST

START_TEST(work_without_gpus_spares_them)
{
    add_node(0, 16, 2, "A");
    add_node(1, 64, 0, NULL);
    struct gang_group_spec g = group_of(4, 15000, 0);
    for (int k = 0; k < SCORED; k++) {
        struct gang_request_spec spec = request_of(&g, 1);
        spec.policy = scored[k];
        gang_alloc_id id = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 4);
        gang_alloc_id more = stage_alloc_group(&s, &(struct gang_group_spec){
                                                       .size = sizeof(g),
                                                       .count = 1,
                                                       .min = 1,
                                                       .cpu_milli = 15000,
                                                       .group_set = -1,
                                                   });
        ck_assert_uint_eq(stage_tasks_on(&s, more, node[0]), 1); /* when it fits on no other */
        MUST(gang_alloc_free(s.w, id));
        MUST(gang_alloc_free(s.w, more));
    }
}
END_TEST

START_TEST(a_cluster_may_score_by_default)
{
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *c;
    opts.policy = GANG_POLICY_BEST_FIT;
    MUST(gang_cluster_new(&opts, &c, NULL));
    struct stage other = {.c = c};
    MUST(gang_worker_new(c, &other.w));
    struct box box = {.name = "large", .cpu = 64000};
    stage_add(&other, &box);
    box = (struct box){.name = "small", .cpu = 4000};
    gang_node_id small = stage_add(&other, &box);
    struct gang_group_spec g = group_of(1, 1000, 0);
    gang_alloc_id id = stage_alloc_group(&other, &g);
    ck_assert_uint_eq(stage_tasks_on(&other, id, small), 1);
    gang_cluster_free(c);
}
END_TEST

/* What makes nodes less welcome goes before any score. */
START_TEST(scores_count_among_nodes_alike)
{
    static const char *const ranked[] = {"B", "A"};
    add_node(0, 8, 1, "A"); /* the best fit */
    add_node(1, 64, 8, "B");
    struct gang_group_spec g = group_of(1, 1000, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    for (int k = 0; k < SCORED; k++) {
        spec.policy = scored[k];
        spec.gpu_nodes = GANG_GPU_NODES_EXCLUDE;
        g = group_of(1, 1000, 0);
        struct outcome o = stage_try(&s, &spec);
        EXPECT_OUTCOME(o, GANG_ENEVER);
        ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_GPU_NODES);
        spec.gpu_nodes = GANG_GPU_NODES_AVOID;
        g = group_of(9, 1000, 1000);
        g.gpu_models = ranked;
        g.gpu_model_count = 2;
        g.models_ranked = 1;
        gang_alloc_id id = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 8);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[0]), 1);
        MUST(gang_alloc_free(s.w, id));
        g.count = g.min = 5;
        id = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 5);
        MUST(gang_alloc_free(s.w, id));
        g.count = g.min = 3;
        g.models_ranked = 0;
        g.same = "node";
        id = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 3);
        MUST(gang_alloc_free(s.w, id));
        g.same = NULL;
        g.max_per_node = 2;
        id = stage_alloc(&s, &spec);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 2);
        MUST(gang_alloc_free(s.w, id));
        spec.exclusive = 1;
        id = stage_alloc(&s, &spec);
        struct outcome second = stage_try(&s, &spec);
        EXPECT_OUTCOME(second, GANG_ENOFIT);
        MUST(gang_alloc_free(s.w, id));
        spec.exclusive = 0;
    }
}
END_TEST

/* A request that does not fit as the policy prefers is placed in another way; only requests that
 * every policy refuses are refused. */
START_TEST(a_score_never_refuses)
{
    const int taken[] = {1, 2, 3, 7};
    for (int i = 0; i < 4; i++) {
        add_node(i, 64, 8, "A");
        take(GANG_POLICY_PACK, i, 0, 1000 * taken[i]);
    }
    for (int k = 0; k < SCORED; k++) {
        for (int64_t gpus = 1; gpus <= 8; gpus++) {
            int64_t fitting = 0;
            for (int i = 0; i < 4; i++)
                fitting += (8 - taken[i]) / gpus;
            struct gang_group_spec g = group_of(fitting + 1, 0, gpus * 1000);
            struct gang_request_spec spec = request_of(&g, 1);
            spec.policy = scored[k];
            g.min = fitting > 0 ? fitting : 1;
            struct outcome o = stage_try(&s, &spec);
            EXPECT_OUTCOME(o, fitting ? GANG_OK : GANG_ENOFIT);
            if (!fitting)
                continue;
            ck_assert_int_eq(gang_alloc_grow(s.w, o.id, 0, 1, NULL, NULL), GANG_ENOFIT);
            MUST(gang_alloc_free(s.w, o.id));
            g.min = fitting + 1;
            EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENOFIT);
            g.count = g.min = 33;
            EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
        }
    }
}
END_TEST

START_TEST(a_snapshot_is_scored_as_well)
{
    add_node(0, 64, 8, "A");
    add_node(1, 64, 2, "A");
    gang_snapshot *snapshot;
    MUST(gang_snapshot_new(s.c, &snapshot));
    for (int k = 0; k < SCORED; k++) {
        struct gang_group_spec g = group_of(10, 0, 1000);
        struct gang_request_spec spec = request_of(&g, 1);
        spec.policy = scored[k];
        gang_request *request = stage_request(&s, &spec);
        MUST(gang_snapshot_take(s.w, snapshot));
        MUST(gang_snapshot_place(s.w, snapshot, request, NULL));
        ck_assert_int_eq(gang_snapshot_test(s.w, snapshot, request, NULL), GANG_ENOFIT);
        gang_request_free(request);
    }
    gang_snapshot_free(snapshot);
}
END_TEST

/* ---- against the definition ------------------------------------------------------------------ */

enum { NODES = 12, SHAPES = 7, MOST = 10, RUNNING = 40 };

struct machine {
    int64_t cpu;
    int gpus;
    int model[MOST]; /* of each device */
    int64_t free[MOST];
    int class[65]; /* tasks of k devices; of parts: 0 */
};

struct want {
    int64_t cpu, milli; /* of each device */
    int gpus, model;    /* 2: any */
    int64_t weight;
};

static struct machine m[NODES];
static struct want mix[SHAPES];
static int mixes;
static double p_of[SHAPES];

static bool suits(const struct want *w, int model)
{
    return w->model == 2 || w->model == model;
}

static int64_t total(const struct machine *n)
{
    int64_t sum = 0;
    for (int i = 0; i < n->gpus; i++)
        sum += n->free[i];
    return sum;
}

/* F, added up by reason, as policy_fgd.c says. */
static double fragment(const struct machine *n)
{
    double lack[7] = {0};
    for (int t = 0; t < mixes; t++) {
        const struct want *w = &mix[t];
        int fit = 0, access = 0;
        int64_t useless = 0;
        for (int i = 0; i < n->gpus; i++) {
            bool fits = suits(w, n->model[i]) && n->free[i] >= w->milli;
            access += suits(w, n->model[i]);
            fit += fits;
            useless += fits ? 0 : n->free[i];
        }
        bool cores = n->cpu >= w->cpu;
        double all = (double)total(n);
        if (!w->gpus)
            lack[cores ? 4 : 5] += p_of[t] * all;
        else if (!access)
            lack[6] += p_of[t] * all;
        else if (fit < w->gpus)
            lack[cores ? 1 : 0] += p_of[t] * all;
        else if (cores)
            lack[1] += p_of[t] * (double)useless;
        else
            lack[3] += p_of[t] * all;
    }
    return lack[0] + lack[1] + lack[2] + lack[3] + lack[4] + lack[5] + lack[6];
}

static int64_t gradient(const struct machine *before, const struct machine *after)
{
    return (int64_t)(100 * (1 / (1 + exp(-(fragment(before) - fragment(after)) / 1000))));
}

/* Devices of the task by default; 0: it does not fit (or needs none: *fits). */
static uint64_t devices(const struct machine *n, const struct want *w, bool *fits)
{
    uint64_t chosen = 0;
    *fits = n->cpu >= w->cpu;
    if (w->gpus == 1 && w->milli < 1000) {
        int best = -1;
        for (int i = 0; i < n->gpus; i++)
            if (suits(w, n->model[i]) && n->free[i] >= w->milli &&
                (best < 0 || n->free[i] < n->free[best]))
                best = i;
        *fits = *fits && best >= 0;
        return best >= 0 ? UINT64_C(1) << best : 0;
    }
    int left = w->gpus;
    for (int i = 0; i < n->gpus && left; i++) {
        if (suits(w, n->model[i]) && n->free[i] == 1000) {
            chosen |= UINT64_C(1) << i;
            left--;
        }
    }
    *fits = *fits && !left;
    return chosen;
}

static void change(struct machine *n, const struct want *w, uint64_t gpus, int sign)
{
    n->cpu -= sign * w->cpu;
    for (int i = 0; i < n->gpus; i++)
        n->free[i] -= gpus >> i & 1 ? sign * w->milli : 0;
    if (w->gpus)
        n->class[w->milli < 1000 ? 0 : w->gpus] += sign;
}

static int64_t packing(const struct machine *n, const struct want *w)
{
    int64_t sorted[MOST], whole = 0, sum = 0;
    int count = 0;
    if (!w->gpus)
        return 0;
    if (total(n) == n->gpus * 1000)
        return 33 - n->gpus > n->gpus ? 33 - n->gpus : n->gpus;
    for (int i = 0; i < n->gpus; i++) {
        int at = count;
        if (!suits(w, n->model[i]) || n->free[i] < w->milli)
            continue;
        for (count++; at && sorted[at - 1] > n->free[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = n->free[i];
    }
    for (int i = 0; i < w->gpus; i++) {
        whole += sorted[i] == 1000;
        sum += sorted[i] * 100 / 1000;
    }
    if (whole)
        return 50 - whole > 33 ? 50 - whole : 33;
    return 100 - sum / 10 > 50 ? 100 - sum / 10 : 50;
}

static int64_t clustering(const struct machine *n, const struct want *w)
{
    int64_t base = 25 * (8000 - total(n)) / 8000;
    int own = w->milli < 1000 ? 0 : w->gpus, others = 0;
    if (!w->gpus)
        return 0;
    for (int k = 0; k < 65; k++)
        others += k != own && n->class[k];
    if (n->class[own])
        return base + (others ? 50 : 75);
    return base + (others ? 0 : 25);
}

static int64_t score_of(int32_t policy, const struct machine *n, const struct want *w,
                        uint64_t *gpus)
{
    double c = (double)n->cpu, g = (double)total(n), pc = (double)w->cpu;
    double pg = (double)(w->gpus * w->milli);
    switch (policy) {
    case GANG_POLICY_BEST_FIT:
        return (int64_t)((1 - ((c - pc) / 128000 * 0.5 + (g - pg) / 8000 * 0.5)) * 100);
    case GANG_POLICY_DOT_PRODUCT:
        return (int64_t)(100 * (1 - (c / 128000 * pc / 128000 + g / 8000 * pg / 8000) / 2));
    case GANG_POLICY_GPU_PACKING:
        return packing(n, w);
    case GANG_POLICY_GPU_CLUSTERING:
        return clustering(n, w);
    default:
        break;
    }
    struct machine after = *n;
    if (w->gpus != 1 || w->milli == 1000) {
        change(&after, w, *gpus, 1);
        return gradient(n, &after);
    }
    int64_t best = INT64_MIN;
    for (int i = 0; i < n->gpus; i++) {
        if (!suits(w, n->model[i]) || n->free[i] < w->milli)
            continue;
        after = *n;
        change(&after, w, UINT64_C(1) << i, 1);
        int64_t here = gradient(n, &after);
        if (here > best) {
            best = here;
            *gpus = UINT64_C(1) << i;
        }
    }
    return best;
}

/* The node of a task by the definition, -1: none; and its devices. */
static int choose(int32_t policy, const struct want *w, uint64_t *gpus)
{
    int64_t score[NODES], least = INT64_MAX, most = INT64_MIN, best_score = 0;
    uint64_t chosen[NODES];
    bool fits[NODES];
    int best = -1;
    for (int i = 0; i < NODES; i++) {
        chosen[i] = devices(&m[i], w, &fits[i]);
        if (!fits[i])
            continue;
        score[i] = score_of(policy, &m[i], w, &chosen[i]);
        least = score[i] < least ? score[i] : least;
        most = score[i] > most ? score[i] : most;
    }
    for (int i = 0; i < NODES; i++) {
        if (!fits[i])
            continue;
        int64_t here = score[i];
        if (policy == GANG_POLICY_BEST_FIT)
            here = most > least ? (here - least) * 100 / (most - least) : 0;
        if (best < 0 || here > best_score) {
            best = i;
            best_score = here;
            *gpus = chosen[i];
        }
    }
    return best;
}

static const char *const model_name[] = {"A", "B"};

static void random_node(int i)
{
    static struct box_arrays arrays;
    char name[20];
    snprintf(name, sizeof(name), "n%d", i);
    struct box box = {.name = name,
                      .cpu = 1000 * (1 + below(128)) + 500,
                      .gpus = (size_t)(below(4) ? below(9) : below(MOST + 1))};
    int model = (int)below(3); /* 2: of both */
    struct gang_node_spec spec = box_spec(&box, &arrays);
    m[i] = (struct machine){.cpu = box.cpu, .gpus = (int)box.gpus};
    for (int k = 0; k < m[i].gpus; k++) {
        m[i].free[k] = 1000;
        m[i].model[k] = model == 2 ? (int)below(2) : model;
        arrays.gpu[k].model = model_name[m[i].model[k]];
    }
    MUST(gang_node_add(s.w, &spec, &node[i], NULL));
}

static struct want random_want(void)
{
    struct want w = {.cpu = 500 * below(40), .model = (int)below(4), .weight = 1 + below(1000)};
    int sort = (int)below(5);
    w.model = w.model < 2 ? w.model : 2;
    w.gpus = sort == 0 ? 0 : sort < 3 ? 1 : 1 + (int)below(8);
    w.milli = !w.gpus ? 0 : sort < 3 ? 50 * (1 + below(19)) : 1000;
    if (!w.gpus)
        w.model = 2;
    return w;
}

static struct gang_group_spec group_for(const struct want *w)
{
    struct gang_group_spec g = group_of(1, w->cpu, w->milli == 1000 ? w->gpus * 1000 : w->milli);
    if (w->model < 2) {
        g.gpu_models = &model_name[w->model];
        g.gpu_model_count = 1;
    }
    return g;
}

/* Sets a mix of all shapes. Each shape but the last lies within the most frequent 95 %; the last
 * lies beyond. */
static void random_mix(void)
{
    struct gang_group_spec shape[SHAPES + 1];
    int64_t all = 0, sum = 0;
    mixes = 1 + (int)below(SHAPES);
    for (int i = 0; i < mixes; i++) {
        mix[i] = random_want();
        mix[i].weight = 1000 - i * 10 - below(10); /* descending */
        shape[i] = group_for(&mix[i]);
        shape[i].count = mix[i].weight;
        sum += mix[i].weight;
    }
    struct want rare = random_want();
    shape[mixes] = group_for(&rare);
    all = sum + shape[mixes].count;
    for (int i = 0; i < mixes; i++)
        p_of[i] = (double)mix[i].weight / (double)all / ((double)sum / (double)all);
    mix_of(shape, (size_t)mixes + 1);
}

struct running {
    gang_alloc_id id;
    struct want want;
    int count, at[3];
    uint64_t gpus[3];
};

/* Place a gang and compare: tasks may be numbered in any order. */
static void place(int32_t policy, struct running *r)
{
    struct gang_group_spec g = group_for(&r->want);
    struct gang_request_spec spec = request_of(&g, 1);
    g.count = g.min = r->count;
    spec.policy = policy;
    spec.gpu_nodes = GANG_GPU_NODES_ALLOW;
    bool fits = true;
    for (int i = 0; i < r->count; i++) {
        r->at[i] = fits ? choose(policy, &r->want, &r->gpus[i]) : -1;
        fits = r->at[i] >= 0;
        if (fits)
            change(&m[r->at[i]], &r->want, r->gpus[i], 1);
    }
    struct outcome o = stage_try(&s, &spec);
    test_assert((o.result == GANG_OK) == fits);
    r->id = o.id;
    if (!fits) {
        for (int i = 0; i < r->count && r->at[i] >= 0; i++)
            change(&m[r->at[i]], &r->want, r->gpus[i], -1);
        return;
    }
    const struct task_list *list = stage_tasks(&s, o.id);
    bool found[3] = {false};
    for (int i = 0; i < r->count; i++) {
        bool here = false;
        for (int k = 0; k < r->count && !here; k++) {
            here = !found[k] && list->task[i].node == node[r->at[k]] &&
                   list->task[i].gpus == r->gpus[k];
            found[k] = found[k] || here;
        }
        ck_assert_msg(here, "%s: a task on slot %u, devices %#llx", gang_policy_name(policy),
                      (uint32_t)list->task[i].node, (unsigned long long)list->task[i].gpus);
    }
}

/* _i: the policy. */
START_TEST(scores_are_those_of_the_definition)
{
    static struct running running[RUNNING];
    int rounds = getenv("GANG_TEST_QUICK") ? 4 : 60, placed = 0;
    chance_state = test_seed();
    for (int round = 0; round < rounds; round++) {
        stage_open(&s, levels, 1);
        memset(running, 0, sizeof(running));
        for (int i = 0; i < NODES; i++)
            random_node(i);
        for (int step = 0; step < 150; step++) {
            struct running *r = &running[below(RUNNING)];
            if (step % 50 == 0)
                random_mix();
            if (r->id) {
                MUST(gang_alloc_free(s.w, r->id));
                for (int i = 0; i < r->count; i++)
                    change(&m[r->at[i]], &r->want, r->gpus[i], -1);
                r->id = GANG_ID_NONE;
            } else {
                r->want = random_want();
                r->count = 1 + (int)below(3);
                place(scored[_i], r);
                placed += r->id != GANG_ID_NONE;
            }
        }
        stage_close(&s);
    }
    ck_assert_int_gt(placed, rounds * 40);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("score");
    TCase *tests = tcase_create("by hand");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, best_fit_leaves_least);
    tcase_add_test(tests, dot_product_takes_the_smallest);
    tcase_add_test(tests, gpu_packing_shares_before_it_breaks);
    tcase_add_test(tests, gpu_clustering_prefers_nodes_with_equal_tasks);
    tcase_add_test(tests, gpu_clustering_counts_all_ways_to_take_and_give);
    tcase_add_test(tests, a_gang_clusters_with_itself);
    tcase_add_test(tests, fgd_goes_by_the_mix);
    tcase_add_test(tests, fgd_chooses_the_device);
    tcase_add_test(tests, fgd_learns_the_mix);
    tcase_add_test(tests, equal_scores_follow_the_order_of_nodes);
    tcase_add_test(tests, work_without_gpus_spares_them);
    tcase_add_test(tests, a_cluster_may_score_by_default);
    tcase_add_test(tests, scores_count_among_nodes_alike);
    tcase_add_test(tests, a_score_never_refuses);
    tcase_add_test(tests, a_snapshot_is_scored_as_well);
    suite_add_tcase(suite, tests);
    tests = tcase_create("by definition");
    tcase_add_loop_test(tests, scores_are_those_of_the_definition, 0, SCORED);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
