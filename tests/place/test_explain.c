/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: why a request fits or does not, in numbers that are known. */
#include <gangsched/gangsched.h>

#include <jansson.h>

#include "chance.h"
#include "support.h"

static struct stage s;
static const char *const levels[] = {"block", "rack"};
static int32_t nic, licence;

static void open_stage(void)
{
    stage_open(&s, levels, 2);
    MUST(gang_kind_add(s.w, "nic", "cards", GANG_SCOPE_NODE, 0, &nic));
    MUST(gang_kind_add(s.w, "licence", "licences", GANG_SCOPE_CLUSTER, 3, &licence));
}

static void close_stage(void)
{
    stage_close(&s);
}

/* ---- what was explained ---- */

enum { PARTS = 8, KINDS = 6 };
struct part {
    struct gang_explanation e;
    int64_t refused[GANG_CONSTRAINT_SAME_DEVICES + 1];
    struct gang_explanation_kind kind[KINDS];
    char name[64], level[32], domain[200], text[512];
};
static struct part part[PARTS];
static size_t parts;

#define EXPECT_PART(p, expected)                                                  \
    ck_assert_msg((p).e.result == (expected), "%s: %s, not %s (text \"%s\")", #p, \
                  gang_result_name((p).e.result), gang_result_name(expected), (p).text)

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from ? from : "");
}

static int32_t keep(const struct gang_explanation *e, void *user)
{
    ck_assert_ptr_null(user);
    ck_assert_uint_lt(parts, PARTS);
    struct part *p = &part[parts++];
    memset(p, 0, sizeof(*p));
    p->e = *e;
    ck_assert_uint_eq(e->size, sizeof(*e));
    ck_assert_uint_eq(e->kind_size, sizeof(p->kind[0]));
    ck_assert_uint_le(e->kind_count, KINDS);
    ck_assert_int_eq(e->reserved0, 0);
    int64_t sum = e->nodes_fit;
    if (e->group >= 0)
        ck_assert_uint_eq(e->refused_count, GANG_CONSTRAINT_SAME_DEVICES + 1);
    for (size_t i = 0; i < e->refused_count; i++)
        sum += p->refused[i] = e->refused[i];
    if (e->group >= 0)
        ck_assert_int_eq(sum, e->nodes);
    for (size_t i = 0; i < e->kind_count; i++)
        p->kind[i] = e->kinds[i];
    copy_text(p->name, sizeof(p->name), e->name);
    copy_text(p->level, sizeof(p->level), e->level);
    copy_text(p->domain, sizeof(p->domain), e->domain);
    copy_text(p->text, sizeof(p->text), e->text);
    return 0;
}

/* Is the error of a refusal the summary of the explanation? */
static void compare_with_error(gang_request *request)
{
    struct gang_error error = GANG_ERROR_INIT;
    const struct part *whole = &part[parts - 1];
    gang_result r = gang_alloc_test(s.w, request, &error);
    ck_assert_int_eq(r, whole->e.answer);
    gang_result ever = gang_request_fits_ever(s.w, request, NULL);
    if (r ==
        /* of several groups the search on the empty cluster may miss what this one found */
        GANG_OK)
        return;
    ck_assert((ever == GANG_ENEVER) == (r == GANG_ENEVER));
    ck_assert_int_eq(error.constraint, whole->e.constraint);
    ck_assert_int_eq(error.kind, whole->e.kind);
    ck_assert_int_eq(error.group, whole->e.because_group);
    ck_assert_int_eq(error.requested, whole->e.requested);
    ck_assert_int_eq(error.available, whole->e.available);
    ck_assert_str_eq(error.text, whole->text);
    if (whole->e.because_group < 0)
        return;
    const struct part *because = &part[whole->e.because_group];
    ck_assert_int_eq(because->e.group, whole->e.because_group);
    ck_assert_int_eq(because->e.constraint, error.constraint);
    ck_assert_int_eq(because->e.nodes, error.nodes);
    ck_assert_int_eq(because->e.requested, error.requested);
    ck_assert_int_eq(because->e.available, error.available);
    ck_assert_str_eq(because->text, error.text);
}

static const struct part *explain(const struct gang_request_spec *spec, gang_result answer)
{
    gang_request *request = stage_request(&s, spec);
    parts = 0;
    MUST(gang_request_explain(s.w, request, keep, NULL));
    ck_assert_uint_eq(parts, spec->group_count + spec->group_set_count + 1);
    for (size_t i = 0; i < parts; i++)
        ck_assert_msg(part[i].e.answer == answer, "%s: %s", gang_result_name(part[i].e.answer),
                      part[i].text);
    compare_with_error(request);
    gang_request_free(request);
    return part;
}

static const struct part *explain_group(const struct gang_group_spec *g, gang_result answer)
{
    struct gang_request_spec spec = request_of(g, 1);
    return explain(&spec, answer);
}

static const struct gang_explanation_kind *kind_of(const struct part *p, int32_t kind)
{
    for (size_t i = 0; i < p->e.kind_count; i++)
        if (p->kind[i].kind == kind)
            return &p->kind[i];
    ck_abort_msg("kind %d is not there", (int)kind);
    return NULL;
}

#define IS_KIND(part, number, ask, free, short_, could, full)           \
    do {                                                                \
        const struct gang_explanation_kind *k_ = kind_of(part, number); \
        ck_assert_int_eq(k_->requested, ask);                           \
        ck_assert_int_eq(k_->max_free, free);                           \
        ck_assert_int_eq(k_->nodes, short_);                            \
        ck_assert_int_eq(k_->nodes_if_empty, could);                    \
        ck_assert_int_eq(k_->nodes_full, full);                         \
    } while (0)

#define IS_COUNT(part, wanted, fits, goes, looked, take) \
    do {                                                 \
        ck_assert_int_eq((part)->e.want, wanted);        \
        ck_assert_int_eq((part)->e.fit, fits);           \
        ck_assert_int_eq((part)->e.placed, goes);        \
        ck_assert_int_eq((part)->e.nodes, looked);       \
        ck_assert_int_eq((part)->e.nodes_fit, take);     \
    } while (0)

#define IS_DOMAIN(part, word, path, wants, has)         \
    do {                                                \
        ck_assert_str_eq((part)->level, word);          \
        ck_assert_str_eq((part)->domain, path);         \
        ck_assert_int_eq((part)->e.domain_want, wants); \
        ck_assert_int_eq((part)->e.domain_holds, has);  \
    } while (0)

#define IS_LACK(part, of, why, what, amount)              \
    do {                                                  \
        ck_assert_int_eq((part)->e.lack_group, of);       \
        ck_assert_int_eq((part)->e.lack_constraint, why); \
        ck_assert_int_eq((part)->e.lack_kind, what);      \
        ck_assert_int_eq((part)->e.lack_amount, amount);  \
    } while (0)

/* ---- a cluster ---- */

/* A node of four cores and two GPUs in block b1. */
static gang_node_id add(const char *name, const char *rack)
{
    struct gang_label place[] = {{"block", "b1"}, {"rack", rack}};
    struct box box = {.name = name,
                      .cpu = 4000,
                      .memory = 4 * GIB,
                      .gpus = 2,
                      .model = "V100",
                      .gpu_memory = 16 * GIB,
                      .labels = LIST(struct gang_label, {"os", "linux"}),
                      .partitions = LIST(const char *, "batch"),
                      .amounts = LIST(struct gang_amount, {"nic", 2}),
                      .place = place,
                      .place_count = rack ? 2 : 0};
    return stage_add(&s, &box);
}

/* ---- groups: nodes and kinds ---- */

START_TEST(a_fit_is_explained)
{
    struct gang_group_spec g = group_of(3, 1000, 1000);
    add("n1", "r1");
    add("n2", "r1");
    const struct part *p = explain_group(&g, GANG_OK);
    IS_COUNT(&p[0], 3, 3, 3, 2, 2);
    IS_KIND(&p[0], GANG_KIND_CPU, 1000, 4000, 0, 0, 0);
    IS_KIND(&p[0], GANG_KIND_GPU, 1000, 2000, 0, 0, 1); /* the first is full, the second not */
    ck_assert_uint_eq(p[0].e.kind_count, 2);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_NONE);
    ck_assert_str_eq(p[0].name, "tasks");
    ck_assert_str_eq(p[0].text, "group \"tasks\": 3 of 3 tasks fit now");
    EXPECT_PART(p[0], GANG_OK);
    EXPECT_PART(p[1], GANG_OK);
    ck_assert_int_eq(p[1].e.group, -1);
    ck_assert_int_eq(p[1].e.group_set, -1);
    ck_assert_int_eq(p[1].e.placed, 3);
    ck_assert_str_eq(p[1].name, "");
    ck_assert_str_eq(p[1].text, "all 3 tasks fit now");
}
END_TEST

START_TEST(kinds_that_nodes_are_short_of)
{
    struct gang_group_spec some = group_of(1, 3000, 1000), g = group_of(4, 2000, 1000);
    add("n1", "r1");
    stage_alloc_group(&s, &some);
    add("n2", "r1");
    struct box small = {.name = "n3", .cpu = 1000};
    stage_add(&s, &small);
    const struct part *p = explain_group(&g, GANG_ENOFIT);
    /* n1 has a core and a GPU left, n2 takes two tasks and is full of both, n3 never could. */
    IS_COUNT(&p[0], 4, 2, 2, 3, 1);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_KIND], 2);
    IS_KIND(&p[0], GANG_KIND_CPU, 2000, 4000, 2, 1, 1);
    IS_KIND(&p[0], GANG_KIND_GPU, 1000, 2000, 1, 0, 1);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_KIND);
    ck_assert_int_eq(p[0].e.kind, GANG_KIND_CPU);
    ck_assert_int_eq(p[0].e.requested, 8000);
    ck_assert_int_eq(p[0].e.available, 4000);
    ck_assert_str_eq(
        p[0].text, "group \"tasks\": 2 of 4 tasks fit now; cpu is short (2000 millicores a task)");
    ck_assert_int_eq(p[1].e.because_group, 0);
    ck_assert_str_eq(p[1].text, p[0].text);
}
END_TEST

START_TEST(never_refers_to_the_empty_cluster)
{
    struct gang_group_spec some = group_of(1, 3000, 1000), g = group_of(2, 3000, 2000);
    gang_node_id n1 = add("n1", "r1");
    stage_alloc_group(&s, &some);
    MUST(gang_node_set_state(s.w, n1, GANG_NODE_DRAINING));
    const struct part *p = explain_group(&g, GANG_ENEVER);
    IS_COUNT(&p[0], 2, 1, 1, 1, 1);
    IS_KIND(&p[0], GANG_KIND_GPU, 2000, 2000, 0, 0, 1);
    IS_KIND(&p[0], GANG_KIND_CPU, 3000, 4000, 0, 0, 1);
    ck_assert_int_eq(p[0].e.kind, GANG_KIND_GPU);
    ck_assert_ptr_nonnull(strstr(p[0].text, "could ever fit"));
}
END_TEST

START_TEST(pools_and_countables)
{
    struct gang_amount amounts[] = {{"licence", 2}, {"nic", 1}};
    struct gang_group_spec g = group_of(2, 1000, 0);
    g.amounts = amounts;
    g.amount_count = 2;
    add("n1", "r1");
    add("n2", "r1");
    const struct part *p = explain_group(&g, GANG_ENEVER);
    IS_COUNT(&p[0], 2, 1, 1, 2, 2); /* each would take the first task, none the second */
    IS_KIND(&p[0], licence, 2, 3, 0, 0, 2);
    IS_KIND(&p[0], nic, 1, 2, 0, 0, 0);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_POOL);
    ck_assert_int_eq(p[0].e.kind, licence);
    ck_assert_str_eq(p[0].text, "group \"tasks\": 1 of 2 tasks could ever fit; cluster-wide "
                                "licence is short (2 licences a task)");
    g.count = g.min = 1;
    stage_alloc_group(&s, &g);
    p = explain_group(&g, GANG_ENOFIT);
    IS_COUNT(&p[0], 1, 0, 0, 2, 0);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_POOL], 2);
    IS_KIND(&p[0], licence, 2, 1, 2, 2, 0);
    ck_assert_int_eq(p[0].e.requested, 2);
    ck_assert_int_eq(p[0].e.available, 1);
}
END_TEST

START_TEST(filters_count_each_node_once)
{
    static const char *const v100 = "V100", *const linux_ = "linux";
    struct gang_label_rule rule = {"os", &linux_, 1, GANG_LABEL_IN, 0};
    struct gang_group_spec g = group_of(9, 1000, 1000);
    struct box box = {
        .name = "x1", .cpu = 4000, .gpus = 2, .model = "V100"}; /* no partition, no label */
    g.labels = &rule;
    g.label_count = 1;
    g.gpu_models = &v100;
    g.gpu_model_count = 1;
    g.partition = "batch";
    add("n1", "r1");
    add("n2", "r1");
    MUST(gang_node_set_state(s.w, add("n3", "r1"), GANG_NODE_DOWN));
    stage_add(&s, &box);
    box = (struct box){.name = "x2",
                       .cpu = 4000,
                       .gpus = 2,
                       .model = "V100",
                       .partitions = LIST(const char *, "batch")};
    stage_add(&s, &box);
    box = (struct box){.name = "x3",
                       .cpu = 4000,
                       .gpus = 2,
                       .model = "H100",
                       .labels = LIST(struct gang_label, {"os", "linux"}),
                       .partitions = LIST(const char *, "batch")};
    stage_add(&s, &box);
    box = (struct box){.name = "x4",
                       .cpu = 4000,
                       .labels = LIST(struct gang_label, {"os", "linux"}),
                       .partitions = LIST(const char *, "batch")};
    stage_add(&s, &box);
    const struct part *p = explain_group(&g, GANG_ENEVER);
    IS_COUNT(&p[0], 9, 6, 6, 7, 3); /* n3 is taken to be up */
    g.count = g.min = 5;
    p = explain_group(&g, GANG_ENOFIT);
    IS_COUNT(&p[0], 5, 4, 4, 7, 2);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_PARTITION], 1);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_LABEL], 1);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_GPU_MODEL], 2);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_STATE], 1);
}
END_TEST

START_TEST(a_node_too_small_even_if_empty_is_no_reason)
{
    struct gang_label_rule rule = {"os", NULL, 0, GANG_LABEL_NOT_EXISTS, 0};
    struct gang_group_spec g = group_of(1, 4000, 0);
    struct box small = {.name = "small", .cpu = 1000};
    stage_add(&s, &small);
    MUST(gang_node_set_state(s.w, add("n1", "r1"), GANG_NODE_DOWN));
    const struct part *p = explain_group(&g, GANG_ENOFIT);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_STATE], 1);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_KIND], 1);
    IS_KIND(&p[0], GANG_KIND_CPU, 4000, 1000, 1, 0, 0);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_STATE);
    g.labels = &rule;
    g.label_count = 1;
    p = explain_group(&g, GANG_ENEVER);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_LABEL], 1);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_KIND], 1);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_LABEL); /* no kind would help */
    g.cpu_milli = 5000;
    p = explain_group(&g, GANG_ENEVER);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_KIND); /* nor would the label */
}
END_TEST

START_TEST(numa_profile_and_health)
{
    struct box numas = {
        .name = "n1", .cpu = 4000, .gpus = 2, .model = "V100", .numas = 2, .cores = 4};
    struct gang_group_spec g = group_of(1, 3000, 1000), slice = group_of(1, 0, 1000);
    gang_node_id n1 = stage_add(&s, &numas);
    g.numa = GANG_NUMA_STRICT;
    const struct part *p = explain_group(&g, GANG_ENEVER);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_NUMA], 1);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_NUMA);
    slice.profile = "1g.5gb";
    p = explain_group(&slice, GANG_ENEVER);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_PROFILE], 1);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_PROFILE);
    slice.profile = NULL;
    for (int i = 0; i < 2; i++)
        MUST(gang_gpu_set_state(s.w, n1, i, GANG_GPU_UNHEALTHY));
    p = explain_group(&slice, GANG_ENOFIT);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_DEVICE], 1);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_DEVICE);
}
END_TEST

START_TEST(other_jobs)
{
    struct gang_affinity_rule rule = {"app", NULL, NULL, 0, 0};
    struct gang_label label = {"app", "web"};
    struct gang_group_spec one = group_of(1, 4000, 0), g = group_of(2, 1000, 0);
    struct gang_request_spec web = request_of(&one, 1), spec = request_of(&g, 1);
    web.labels = &label;
    web.label_count = 1;
    one.cpu_milli = 1000;
    add("n1", "r1");
    stage_alloc(&s, &web);
    add("n2", "r1");
    g.max_per_node = 1;
    spec.affinity = &rule;
    spec.affinity_count = 1;
    const struct part *p = explain(&spec, GANG_ENOFIT);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_AFFINITY], 1);
    ck_assert_int_eq(p[0].e.fit, 2);    /* both on n2, */
    ck_assert_int_eq(p[0].e.placed, 1); /* which its bound does not allow */
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_SPREAD);
    spec.affinity_count = 0;
    explain(&spec, GANG_OK);
    g.max_per_node = 0;
    g.count = g.min = 5;
    spec.exclusive = 1;
    p = explain(&spec, GANG_ENOFIT);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_EXCLUSIVE], 1);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_EXCLUSIVE);
    ck_assert_int_eq(p[0].e.nodes_fit, 1);
}
END_TEST

START_TEST(nodes_with_gpus_and_expressions)
{
    struct gang_group_spec g = group_of(2, 4000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    struct box box = {.name = "x1", .cpu = 4000};
    add("n1", "r1");
    stage_add(&s, &box);
    spec.gpu_nodes = GANG_GPU_NODES_EXCLUDE;
    const struct part *p = explain(&spec, GANG_ENEVER);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_GPU_NODES], 1);
    ck_assert_int_eq(p[0].e.nodes_fit, 1);
    g.cpu_milli = 1000;
    g.where = "not exists os";
    spec.gpu_nodes = GANG_GPU_NODES_ALLOW;
    p = explain(&spec, GANG_OK);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_LABEL], 1);
    g.where = "os = mac";
    p = explain(&spec, GANG_ENEVER);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_LABEL], 2);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_LABEL);
}
END_TEST

static int32_t refuse_to_score(int32_t group, const struct gang_candidate *candidates,
                               size_t candidate_size, size_t count, int64_t *scores, void *user)
{
    (void)group;
    (void)candidates;
    (void)candidate_size;
    for (size_t i = 0; i < count; i++)
        scores[i] = INT64_MIN;
    return *(int32_t *)user;
}

START_TEST(the_host_that_scores)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    int32_t result = 7;
    add("n1", "r1");
    spec.policy = GANG_POLICY_HOST;
    spec.score = refuse_to_score;
    spec.score_user = &result;
    gang_request *request = stage_request(&s, &spec);
    parts = 0;
    ck_assert_int_eq(gang_request_explain(s.w, request, keep, NULL), 7);
    ck_assert_uint_eq(parts, 0);
    result = GANG_ENOFIT; /* the host's, not an answer */
    ck_assert_int_eq(gang_request_explain(s.w, request, keep, NULL), GANG_ENOFIT);
    ck_assert_uint_eq(parts, 0);
    result = 0;
    MUST(gang_request_explain(s.w, request, keep, NULL));
    ck_assert_int_eq(part[1].e.answer, GANG_ENOFIT);
    EXPECT_PART(part[0], GANG_OK);
    ck_assert_int_eq(part[1].e.constraint, GANG_CONSTRAINT_NONE);
    ck_assert_ptr_nonnull(strstr(part[1].text, "accepted by score()"));
    gang_request_free(request);
}
END_TEST

START_TEST(a_group_that_needs_not_start)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(3, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[1].min = 0;
    add("n1", "r1");
    const struct part *p = explain(&spec, GANG_OK);
    IS_COUNT(&p[1], 0, 0, 0, 1, 1);
    EXPECT_PART(p[1], GANG_OK);
    ck_assert_str_eq(p[1].text,
                     "group \"groups[1]\": none of its tasks need start with the others");
}
END_TEST

START_TEST(no_node_at_all)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    g.same = "rack";
    const struct part *p = explain_group(&g, GANG_ENEVER);
    IS_COUNT(&p[0], 1, 0, 0, 0, 0);
    IS_DOMAIN(&p[0], "rack", "", 0, 0);
    ck_assert_ptr_null(p[0].e.domain);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_STATE);
}
END_TEST

/* ---- groups: where the tasks lie ---- */

/* Racks r1 (one node) and r2 (two), in block b1. */
static void add_racks(void)
{
    add("n1", "r1");
    add("n2", "r2");
    add("n3", "r2");
}

START_TEST(the_best_rack_and_what_it_lacks)
{
    struct gang_group_spec g = group_of(5, 1000, 1000), one = group_of(1, 0, 1000);
    add_racks();
    g.same = "rack";
    const struct part *p = explain_group(&g, GANG_ENEVER);
    IS_COUNT(&p[0], 5, 5, 4, 3, 3);
    IS_DOMAIN(&p[0], "rack", "block=b1/rack=r2", 5, 4);
    IS_LACK(&p[0], 0, GANG_CONSTRAINT_KIND, GANG_KIND_GPU, 1000);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_SAME);
    ck_assert_int_eq(p[0].e.kind, GANG_KIND_GPU);
    ck_assert_int_eq(p[0].e.requested, 5000);
    ck_assert_int_eq(p[0].e.available, 4000);
    ck_assert_str_eq(p[0].text,
                     "group \"tasks\": no rack could ever hold 5 tasks: the best, b1/r2, "
                     "could hold 4; gpu is short");
    g.count = g.min = 4;
    p = explain_group(&g, GANG_OK);
    IS_DOMAIN(&p[0], "rack", "block=b1/rack=r2", 4, 4);
    IS_LACK(&p[0], -1, GANG_CONSTRAINT_NONE, -1, 0);
    for (int i = 0; i < 2; i++) /* one on n1, which is taken as the fullest, and then on another */
        stage_alloc_group(&s, &one);
    stage_alloc_group(&s, &one);
    p = explain_group(&g, GANG_ENOFIT);
    ck_assert_str_eq(p[0].level, "rack");
    g.same = "block";
    g.count = g.min = 7;
    p = explain_group(&g, GANG_ENEVER);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_KIND); /* not even without a demand */
    IS_DOMAIN(&p[0], "block", "block=b1", 7, 6);
}
END_TEST

START_TEST(the_domain_may_lack_something_else)
{
    struct gang_group_spec g = group_of(3, 1000, 1000);
    gang_node_id n2, n3;
    add("n1", "r1");
    n2 = add("n2", "r2");
    n3 = add("n3", "r2");
    (void)n2;
    MUST(gang_node_set_state(s.w, n3, GANG_NODE_DOWN));
    g.same = "rack";
    const struct part *p = explain_group(&g, GANG_ENOFIT);
    IS_DOMAIN(&p[0], "rack", "block=b1/rack=r1", 3, 2);
    IS_LACK(&p[0], 0, GANG_CONSTRAINT_KIND, GANG_KIND_GPU, 1000);
    struct gang_group_spec all = group_of(2, 0, 1000);
    struct gang_label_rule rule = {"node", (const char *const[]){"n1"}, 1, GANG_LABEL_IN, 0};
    all.labels = &rule;
    all.label_count = 1;
    stage_alloc_group(&s, &all);
    add("n4", NULL);
    p = explain_group(&g, GANG_ENOFIT);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_SAME], 1); /* n4 lies in no rack */
    IS_DOMAIN(&p[0], "rack", "block=b1/rack=r2", 3, 2);
    IS_LACK(&p[0], 0, GANG_CONSTRAINT_KIND, GANG_KIND_GPU, 1000);
}
END_TEST

START_TEST(domains_of_nodes_and_their_insides)
{
    struct box box = {
        .name = "n1", .cpu = 8000, .gpus = 4, .model = "V100", .numas = 2, .cores = 8};
    struct gang_group_spec g = group_of(5, 1000, 1000);
    stage_add(&s, &box);
    box.name = "n2";
    box.gpus = 2;
    stage_add(&s, &box);
    g.same = "node";
    const struct part *p = explain_group(&g, GANG_ENEVER);
    IS_DOMAIN(&p[0], "node", "node=n1", 5, 4);
    IS_LACK(&p[0], 0, GANG_CONSTRAINT_KIND, GANG_KIND_GPU, 1000);
    g.same = "numa";
    g.count = g.min = 3;
    p = explain_group(&g, GANG_ENEVER);
    IS_DOMAIN(&p[0], "numa", "node=n1/numa=0", 3, 2);
    IS_LACK(&p[0], 0, GANG_CONSTRAINT_KIND, GANG_KIND_GPU, 1000);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_SAME);
    ck_assert_str_eq(p[0].text, "group \"tasks\": no numa could ever hold 3 tasks: the best, "
                                "n1/numa=0, could hold 2; gpu is short");
}
END_TEST

START_TEST(subgroups_and_their_level_are_explained)
{
    struct gang_group_spec g = group_of(6, 1000, 1000);
    add_racks();
    g.subgroup_size = 3;
    g.subgroup_same = "rack";
    const struct part *p = explain_group(&g, GANG_ENEVER);
    IS_COUNT(&p[0], 6, 6, 3, 3, 3);
    IS_DOMAIN(&p[0], "rack", "block=b1/rack=r2", 3, 3);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_SAME);
    ck_assert_str_eq(p[0].text, "group \"tasks\": only 1 of 2 subgroups of 3 tasks find a rack");
    g.subgroup_size = 6;
    p = explain_group(&g, GANG_ENEVER);
    IS_DOMAIN(&p[0], "rack", "block=b1/rack=r2", 6, 4);
    IS_LACK(&p[0], 0, GANG_CONSTRAINT_KIND, GANG_KIND_GPU, 2000);
    ck_assert_str_eq(p[0].text,
                     "group \"tasks\": no rack could ever hold a subgroup of 6 tasks: the best, "
                     "b1/r2, could hold 4; gpu is short");
    g.subgroup_size = 2;
    explain_group(&g, GANG_OK);
}
END_TEST

START_TEST(bounds_and_spreading)
{
    struct gang_group_spec g = group_of(5, 1000, 0);
    add_racks();
    g.max_per_node = 2;
    g.domain_level = "rack";
    g.max_per_domain = 2;
    const struct part *p = explain_group(&g, GANG_ENEVER);
    IS_COUNT(&p[0], 5, 5, 4, 3, 3);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_SPREAD);
    ck_assert_int_eq(p[0].e.kind, -1);
    ck_assert_str_eq(p[0].text, "group \"tasks\": 4 of 5 tasks could ever fit within their bounds: "
                                "at most 2 a node, at most 2 a rack");
    g = group_of(10, 1000, 0);
    g.spread = "rack";
    g.max_skew = 2;
    p = explain_group(&g, GANG_OK);
    g.count = g.min = 11; /* 4 and 7 */
    p = explain_group(&g, GANG_ENEVER);
    IS_COUNT(&p[0], 11, 11, 10, 3, 3);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_SPREAD);
    ck_assert_str_eq(p[0].text,
                     "group \"tasks\": 10 of 11 tasks could ever fit spread over the domains "
                     "of level rack: numbers may differ by 2");
    add("n4", NULL); /* lies in no rack */
    p = explain_group(&g, GANG_ENEVER);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_SPREAD], 1);
    g.max_per_node = 1;
    p = explain_group(&g, GANG_ENEVER);
    ck_assert_ptr_nonnull(strstr(p[0].text, "at most 1 a node"));
}
END_TEST

/* ---- sets, the request ---- */

START_TEST(groups_that_fit_alone_but_not_together)
{
    struct gang_group_spec g[] = {group_of(2, 3000, 0), group_of(2, 2000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].name = "big";
    g[1].name = "small";
    add("n1", "r1");
    add("n2", "r1");
    const struct part *p = explain(&spec, GANG_ENEVER);
    EXPECT_PART(p[0], GANG_OK);
    EXPECT_PART(p[1], GANG_OK);
    EXPECT_PART(p[2], GANG_ENEVER);
    ck_assert_int_eq(p[2].e.because_group, -1);
    ck_assert_int_eq(p[2].e.because_group_set, -1);
    ck_assert_int_eq(p[2].e.placed, 2);
    IS_LACK(&p[2], 1, GANG_CONSTRAINT_KIND, GANG_KIND_CPU, 4000);
    ck_assert_int_eq(p[2].e.constraint, GANG_CONSTRAINT_KIND);
    ck_assert_int_eq(p[2].e.kind, GANG_KIND_CPU);
    ck_assert_str_eq(p[2].text,
                     "each group fits alone, but not all together: 2 of 4 tasks could ever "
                     "fit; for group \"small\" cpu is short");
}
END_TEST

START_TEST(no_rack_for_all_groups)
{
    struct gang_group_spec g[] = {group_of(2, 0, 1000), group_of(3, 2000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add_racks();
    spec.same = "rack";
    explain(&spec, GANG_OK);
    g[1].cpu_milli = 3000;
    const struct part *p = explain(&spec, GANG_ENEVER);
    IS_DOMAIN(&p[0], "rack", "block=b1/rack=r1", 2, 2);
    IS_DOMAIN(&p[1], "rack", "block=b1/rack=r2", 3, 2);
    ck_assert_int_eq(p[2].e.because_group, 1);
    g[1].count = g[1].min = 2;
    g[0].cpu_milli = 1500;
    p = explain(&spec, GANG_ENEVER);
    EXPECT_PART(p[0], GANG_OK);
    EXPECT_PART(p[1], GANG_OK);
    ck_assert_int_eq(p[2].e.because_group, -1);
    ck_assert_int_eq(p[2].e.constraint, GANG_CONSTRAINT_SAME);
    IS_DOMAIN(&p[2], "rack", "block=b1/rack=r2", 4, 3);
    IS_LACK(&p[2], 1, GANG_CONSTRAINT_KIND, GANG_KIND_CPU, 3000);
    ck_assert_str_eq(p[2].text,
                     "no rack could ever hold 4 tasks: the best, b1/r2, could hold 3; for "
                     "group \"groups[1]\" cpu is short");
}
END_TEST

START_TEST(the_set_that_fails_is_named)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(2, 2500, 0), group_of(2, 1500, 0)};
    struct gang_group_set_spec set[] = {GANG_GROUP_SET_SPEC_INIT, GANG_GROUP_SET_SPEC_INIT};
    struct gang_request_spec spec = request_of(g, 3);
    add_racks();
    spec.group_sets = set;
    spec.group_set_count = 2;
    set[0].name = "outer";
    set[1].name = "inner";
    set[1].parent = 0;
    set[1].same = "rack";
    g[0].group_set = 0;
    g[1].group_set = g[2].group_set = 1;
    const struct part *p = explain(&spec, GANG_OK);
    IS_DOMAIN(&p[4], "rack", "block=b1/rack=r2", 4, 4);
    g[2].cpu_milli = 1501;
    p = explain(&spec, GANG_ENEVER);
    ck_assert_int_eq(p[5].e.because_group_set, 1);
    ck_assert_int_eq(p[5].e.constraint, GANG_CONSTRAINT_SAME);
    for (int i = 0; i < 3; i++)
        EXPECT_PART(p[i], GANG_OK);
    EXPECT_PART(p[3], GANG_ENEVER);
    EXPECT_PART(p[4], GANG_ENEVER);
    ck_assert_int_eq(p[4].e.group_set, 1);
    ck_assert_str_eq(p[4].name, "inner");
    IS_DOMAIN(&p[4], "rack", "block=b1/rack=r2", 4, 2);
    IS_LACK(&p[4], 2, GANG_CONSTRAINT_KIND, GANG_KIND_CPU, 3002);
    ck_assert_str_eq(p[5].text, p[4].text);
    ck_assert_str_eq(p[4].text,
                     "set \"inner\": no rack could ever hold 4 tasks: the best, b1/r2, could "
                     "hold 2; for group \"groups[2]\" cpu is short");
}
END_TEST

/* No group has a minimum of its own: the set has. */
START_TEST(a_minimum_of_a_set)
{
    struct gang_group_spec g[] = {group_of(4, 3000, 0), group_of(4, 2500, 0)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 2);
    add_racks();
    g[0].min = g[1].min = 0;
    g[0].group_set = g[1].group_set = 0;
    set.min = 3;
    spec.group_sets = &set;
    spec.group_set_count = 1;
    explain(&spec, GANG_OK);
    set.min = 4;
    const struct part *p = explain(&spec, GANG_ENEVER);
    ck_assert_int_eq(p[3].e.because_group_set, 0);
    ck_assert_int_eq(p[2].e.want, 4);
    ck_assert_int_eq(p[2].e.placed, 3);
    ck_assert_int_eq(p[2].e.constraint, GANG_CONSTRAINT_KIND);
    ck_assert_int_eq(p[2].e.kind, GANG_KIND_CPU);
}
END_TEST

/* ---- growth ---- */

static const struct part *explain_growth(gang_alloc_id id, int32_t group, gang_result answer)
{
    struct gang_error error = GANG_ERROR_INIT;
    parts = 0;
    MUST(gang_alloc_explain(s.w, id, group, keep, NULL));
    ck_assert_uint_ge(parts, 1);
    for (size_t i = 0; i < parts; i++)
        ck_assert_int_eq(part[i].e.answer, answer);
    if (answer == GANG_OK || parts != 1)
        return part;
    EXPECT_RESULT(gang_alloc_grow(s.w, id, group, 1, NULL, &error), answer, &error);
    ck_assert_int_eq(error.constraint, part[0].e.constraint);
    ck_assert_int_eq(error.kind, part[0].e.kind);
    ck_assert_int_eq(error.group, part[0].e.group);
    ck_assert_int_eq(error.requested, part[0].e.requested);
    ck_assert_int_eq(error.available, part[0].e.available);
    ck_assert_str_eq(error.text, part[0].text);
    return part;
}

START_TEST(growth_is_explained)
{
    struct gang_group_spec g[] = {group_of(8, 1000, 1000), group_of(1, 0, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add("n1", "r1");
    g[0].min = 1;
    g[0].same = "rack";
    gang_alloc_id id = stage_alloc(&s, &spec);
    add("n2", "r2");
    add("n3", "r2");
    const struct part *p = explain_growth(id, 0, GANG_OK);
    IS_COUNT(&p[0], 1, 1, 1, 3, 3);
    IS_DOMAIN(&p[0], "rack", "block=b1/rack=r1", 1, 1);
    ck_assert_str_eq(p[0].text, "group \"groups[0]\": 1 of 1 more task fit now");
    MUST(gang_alloc_grow(s.w, id, 0, 8, NULL, NULL));
    p = explain_growth(id, -1, GANG_ENEVER);
    ck_assert_uint_eq(parts, 1); /* the other group has all it can use */
    IS_COUNT(&p[0], 1, 1, 0, 3, 2);
    IS_DOMAIN(&p[0], "rack", "block=b1/rack=r1", 1, 0);
    IS_LACK(&p[0], 0, GANG_CONSTRAINT_KIND, GANG_KIND_GPU, 1000);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_SAME);
    ck_assert_str_eq(p[0].text,
                     "group \"groups[0]\": rack b1/r1, where it runs, could never hold 1 more "
                     "task; gpu is short");
    ck_assert_int_eq(gang_alloc_explain(s.w, id, 1, keep, NULL), GANG_ERANGE);
    ck_assert_int_eq(gang_alloc_explain(s.w, id, 2, keep, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_explain(s.w, id, -2, keep, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_explain(s.w, id, 0, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_explain(NULL, id, 0, keep, NULL), GANG_EINVAL);
    MUST(gang_alloc_free(s.w, id));
    ck_assert_int_eq(gang_alloc_explain(s.w, id, 0, keep, NULL), GANG_ESTALE);
}
END_TEST

START_TEST(growth_within_bounds)
{
    struct gang_group_spec g = group_of(4, 1000, 0), other = group_of(1, 4000, 0);
    add("n1", "r1");
    g.min = 1;
    g.max_per_node = 2;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    MUST(gang_alloc_grow(s.w, id, 0, 4, NULL, NULL));
    const struct part *p = explain_growth(id, 0, GANG_ENEVER);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_SPREAD], 1);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_SPREAD);
    add("n2", "r1");
    stage_alloc_group(&s, &other);
    p = explain_growth(id, 0, GANG_ENOFIT);
    IS_COUNT(&p[0], 1, 0, 0, 2, 0);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_SPREAD], 1);
    ck_assert_int_eq(p[0].refused[GANG_CONSTRAINT_KIND], 1);
    ck_assert_int_eq(p[0].e.constraint, GANG_CONSTRAINT_KIND);
}
END_TEST

static int32_t change_it(const struct gang_explanation *e, void *user)
{
    ck_assert_int_eq(e->group, 0);
    ck_assert_int_eq(gang_alloc_free(s.w, *(gang_alloc_id *)user), GANG_EBUSY);
    return 7;
}

START_TEST(an_allocation_stays_while_it_is_explained)
{
    struct gang_group_spec g = group_of(4, 1000, 0);
    g.min = 1;
    add("n1", "r1");
    gang_alloc_id id = stage_alloc_group(&s, &g);
    ck_assert_int_eq(gang_alloc_explain(s.w, id, 0, change_it, &id), 7);
    MUST(gang_alloc_free(s.w, id));
}
END_TEST

/* ---- the calls ---- */

static int32_t stop(const struct gang_explanation *e, void *user)
{
    (void)e;
    return ++*(int32_t *)user;
}

static int write_nothing(const char *bytes, size_t length, void *user)
{
    (void)bytes;
    (void)length;
    (void)user;
    return 1;
}

START_TEST(wrong_arguments_are_refused)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_snapshot *snap;
    struct stage other;
    int32_t calls = 0;
    add("n1", "r1");
    MUST(gang_snapshot_new(s.c, &snap));
    stage_open(&other, NULL, 0);
    ck_assert_int_eq(gang_request_explain(NULL, request, keep, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_explain(s.w, NULL, keep, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_explain(s.w, request, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_explain(other.w, request, keep, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_write_explanation(NULL, request, write_nothing, NULL),
                     GANG_EINVAL);
    ck_assert_int_eq(gang_request_write_explanation(s.w, NULL, write_nothing, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_write_explanation(s.w, request, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_write_explanation(other.w, request, write_nothing, NULL),
                     GANG_EINVAL);
    ck_assert_int_eq(gang_request_write_explanation(s.w, request, write_nothing, NULL), GANG_EIO);
    ck_assert_int_eq(gang_snapshot_explain(s.w, snap, request, keep, NULL),
                     GANG_EINVAL); /* never taken */
    MUST(gang_snapshot_take(s.w, snap));
    ck_assert_int_eq(gang_snapshot_explain(NULL, snap, request, keep, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_explain(s.w, NULL, request, keep, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_explain(s.w, snap, NULL, keep, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_explain(s.w, snap, request, NULL, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_snapshot_explain(other.w, snap, request, keep, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_explain(s.w, request, stop, &calls), 1);
    ck_assert_int_eq(gang_snapshot_explain(s.w, snap, request, stop, &calls), 2);
    ck_assert_int_eq(calls, 2);
    gang_snapshot_free(snap);
    gang_request_free(request);
    stage_close(&other);
}
END_TEST

START_TEST(constraints_have_names)
{
    for (int32_t i = GANG_CONSTRAINT_NONE; i <= GANG_CONSTRAINT_SAME_DEVICES; i++) {
        ck_assert_ptr_nonnull(gang_constraint_name(i));
        for (int32_t k = 0; k < i; k++)
            ck_assert_str_ne(gang_constraint_name(i), gang_constraint_name(k));
    }
    ck_assert_str_eq(gang_constraint_name(GANG_CONSTRAINT_GPU_MODEL), "gpu-model");
    ck_assert_ptr_null(gang_constraint_name(-1));
    ck_assert_ptr_null(gang_constraint_name(GANG_CONSTRAINT_SAME_DEVICES + 1));
}
END_TEST

/* The snapshot gives the answers that the cluster gave then; questions change nothing. */
START_TEST(a_snapshot_is_explained)
{
    struct gang_group_spec g = group_of(4, 1000, 1000), all = group_of(4, 0, 1000);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_snapshot *snap;
    add_racks();
    g.same = "rack";
    stage_alloc_group(&s, &all);
    MUST(gang_snapshot_new(s.c, &snap));
    MUST(gang_snapshot_take(s.w, snap));
    gang_request *request = stage_request(&s, &spec);
    explain(&spec, GANG_ENOFIT);
    struct part live[2] = {part[0], part[1]};
    add("n4", "r1");
    add("n5", "r1");
    explain(&spec, GANG_OK);
    for (int i = 0; i < 2; i++) {
        parts = 0;
        MUST(gang_snapshot_explain(s.w, snap, request, keep, NULL));
        ck_assert_uint_eq(parts, 2);
        for (size_t k = 0; k < 2; k++) {
            ck_assert_int_eq(part[k].e.answer, GANG_ENOFIT);
            ck_assert_int_eq(part[k].e.nodes, 3);
            ck_assert_int_eq(part[k].e.placed, live[k].e.placed);
            ck_assert_str_eq(part[k].text, live[k].text);
            ck_assert_str_eq(part[k].domain, live[k].domain);
        }
    }
    gang_snapshot_free(snap);
    gang_request_free(request);
}
END_TEST

/* ---- JSON ---- */

static int collect(const char *bytes, size_t length, void *user)
{
    strncat(user, bytes, length);
    return 0;
}

START_TEST(as_json)
{
    static char text[8192];
    struct gang_group_spec g[] = {group_of(5, 0, 1000), group_of(1, 0, 500)};
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 2);
    add_racks();
    MUST(gang_node_set_state(s.w, add("n4", "r3"), GANG_NODE_DOWN));
    g[0].same = "rack";
    g[0].name = "worker";
    g[1].group_set = 0;
    spec.group_sets = &set;
    spec.group_set_count = 1;
    gang_request *request = stage_request(&s, &spec);
    text[0] = '\0';
    MUST(gang_request_write_explanation(s.w, request, collect, text));
    gang_request_free(request);
    ck_assert_ptr_null(strchr(text, '\n'));
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(root);
    const char *answer, *constraint, *because, *level, *path, *lack, *kind, *set_name, *set_answer;
    json_int_t want, holds, amount, down;
    ck_assert_int_eq(
        json_unpack(root,
                    "{s:s, s:s, s:{s:s}, s:[{s:I, s:{s:I}, s:{s:s, s:s, s:I, s:{s:s, s:s, s:I}}}],"
                    " s:[{s:s, s:s}]}",
                    "answer", &answer, "constraint", &constraint, "because", "group", &because,
                    "groups", "want", &want, "refused", "kind", &down, "domain", "level", &level,
                    "path", &path, "holds", &holds, "lack", "constraint", &lack, "kind", &kind,
                    "amount", &amount, "group_sets", "group_set", &set_name, "answer", &set_answer),
        -1); /* nothing is refused by kind */
    ck_assert_int_eq(
        json_unpack(root,
                    "{s:s, s:s, s:{s:s}, s:[{s:I, s:{}, s:{s:s, s:s, s:I, s:{s:s, s:s, s:I}}}],"
                    " s:[{s:s, s:s}]}",
                    "answer", &answer, "constraint", &constraint, "because", "group", &because,
                    "groups", "want", &want, "refused", "domain", "level", &level, "path", &path,
                    "holds", &holds, "lack", "constraint", &lack, "kind", &kind, "amount", &amount,
                    "group_sets", "group_set", &set_name, "answer", &set_answer),
        0);
    ck_assert_str_eq(answer, "never");
    ck_assert_str_eq(constraint, "same");
    ck_assert_str_eq(because, "worker");
    ck_assert_int_eq(want, 5);
    ck_assert_str_eq(level, "rack");
    ck_assert_str_eq(path, "block=b1/rack=r2");
    ck_assert_int_eq(holds, 4);
    ck_assert_str_eq(lack, "kind");
    ck_assert_str_eq(kind, "gpu");
    ck_assert_int_eq(amount, 1000);
    ck_assert_str_eq(set_name, "set");
    ck_assert_str_eq(set_answer, "fits now");
    ck_assert_uint_eq(json_array_size(json_object_get(root, "groups")), 2);
    json_decref(root);
}
END_TEST

/* ---- out of memory ---- */

static gang_request *oom_request;
static gang_snapshot *oom_snapshot;
static gang_alloc_id oom_alloc;

static gang_result oom_call(int i, gang_worker *w)
{
    static char text[8192];
    text[0] = '\0';
    parts = 0;
    return i == 0   ? gang_request_explain(w, oom_request, keep, NULL)
           : i == 1 ? gang_request_write_explanation(w, oom_request, collect, text)
           : i == 2 ? gang_snapshot_explain(w, oom_snapshot, oom_request, keep, NULL)
                    : gang_alloc_explain(w, oom_alloc, 0, keep, NULL);
}

START_TEST(out_of_memory_is_a_result)
{
    struct gang_group_spec g[] = {group_of(5, 1000, 1000), group_of(2, 500, 0)};
    struct gang_group_spec more = group_of(9, 1000, 0);
    struct gang_group_set_spec set = GANG_GROUP_SET_SPEC_INIT;
    struct gang_request_spec spec = request_of(g, 2);
    add_racks();
    g[0].max_per_node = 3;
    g[1].subgroup_size = 2;
    g[1].subgroup_same = "rack";
    g[0].group_set = g[1].group_set = 0;
    set.same = "rack";
    spec.group_sets = &set;
    spec.group_set_count = 1;
    more.min = 1;
    oom_request = stage_request(&s, &spec);
    oom_alloc = stage_alloc_group(&s, &more);
    MUST(gang_snapshot_new(s.c, &oom_snapshot));
    MUST(gang_snapshot_take(s.w, oom_snapshot));
    long failures = 0;
    for (long n = 1;; n++) {
        gang_worker *w;
        MUST(gang_worker_new(s.c, &w)); /* that has no scratch yet */
        long live = s.mem.live;
        s.mem.fail_at = s.mem.calls + n;
        gang_result r = oom_call(_i, w);
        bool failed = s.mem.calls >= s.mem.fail_at;
        s.mem.fail_at = 0;
        if (failed) {
            ck_assert_int_eq(r, GANG_ENOMEM);
            failures++;
        }
        ck_assert_int_ge(s.mem.live, live); /* scratch stays */
        MUST(oom_call(_i, w));
        if (!failed) /* the workers stay, so that the next one is new */
            break;
    }
    ck_assert_int_gt(failures, 3);
    gang_snapshot_free(oom_snapshot);
    gang_request_free(oom_request);
}
END_TEST

/* ---- random clusters ---- */

enum { NODES = 7 };
static gang_node_id node[NODES];
static int32_t state[NODES];

static void random_cluster(bool used)
{
    static const char *const blocks[] = {"b0", "b1"}, *const racks[] = {"r0", "r1"};
    static const char *const models[] = {"V100", "A100"};
    char name[8];
    for (int i = 0; i < NODES; i++) {
        struct gang_label place[] = {{"block", blocks[below(2)]}, {"rack", racks[below(2)]}};
        struct gang_label label = {"os", "linux"};
        const char *batch = "batch";
        snprintf(name, sizeof(name), "n%d", i);
        struct box box = {.name = name, .cpu = 1000 * (1 + below(6)), .memory = GIB};
        box.gpus = index_below(4);
        box.model = models[below(2)];
        box.labels = &label;
        box.label_count = below(4) > 0;
        box.partitions = &batch;
        box.partition_count = below(4) > 0;
        box.place = place;
        box.place_count = below(8) ? 2 : 0;
        node[i] = stage_add(&s, &box);
        state[i] = below(5) ? GANG_NODE_UP : GANG_NODE_DOWN;
    }
    for (int64_t i = used ? below(4) : 0; i > 0; i--) {
        struct gang_group_spec g = group_of(1 + below(3), 500 * below(4), 500 * below(3));
        stage_try_group(&s, &g);
    }
    for (int i = 0; i < NODES; i++)
        MUST(gang_node_set_state(s.w, node[i], state[i]));
}

static const char *level_or_not(int64_t chance)
{
    static const char *const some[] = {"block", "rack", "node"};
    return below(chance) ? NULL : some[below(3)];
}

struct random_spec {
    struct gang_group_spec g[3];
    struct gang_group_set_spec set;
    struct gang_label_rule rule;
    struct gang_amount licences;
    struct gang_request_spec spec;
};

static const char *const linux_only = "linux", *const v100_only = "V100";

static void random_group(struct random_spec *r, struct gang_group_spec *g)
{
    *g = group_of(1 + below(6), 500 * below(6), below(2) ? 0 : 500 * (1 + below(2)));
    if (!below(4)) {
        g->labels = &r->rule;
        g->label_count = 1;
    }
    if (!below(4) && g->gpu_milli) {
        g->gpu_models = &v100_only;
        g->gpu_model_count = 1;
    }
    if (!below(6))
        g->partition = "batch";
    if (!below(6)) {
        g->amounts = &r->licences;
        g->amount_count = 1;
    }
    g->same = level_or_not(4);
    g->spread = level_or_not(8);
    if (!below(6))
        g->max_per_node = 1 + below(2);
    if (!below(8)) {
        g->domain_level = "rack";
        g->max_per_domain = 1 + below(3);
    }
}

static void random_request(struct random_spec *r, int64_t groups)
{
    r->rule = (struct gang_label_rule){"os", &linux_only, 1, GANG_LABEL_IN, 0};
    r->licences = (struct gang_amount){"licence", 1};
    r->set = (struct gang_group_set_spec)GANG_GROUP_SET_SPEC_INIT;
    for (int64_t i = 0; i < groups; i++)
        random_group(r, &r->g[i]);
    r->spec = request_of(r->g, (size_t)groups);
    if (groups < 2)
        return;
    r->spec.same = level_or_not(6);
    if (below(2))
        return;
    r->g[0].group_set = r->g[1].group_set = 0;
    r->set.same = level_or_not(3);
    r->spec.group_sets = &r->set;
    r->spec.group_set_count = 1;
}

/* keep() checks that the nodes add up, explain() that error and answer agree. */
START_TEST(explanations_are_consistent)
{
    chance_state = test_seed() + (uint64_t)_i;
    random_cluster(true);
    for (int i = 0; i < 60; i++) {
        struct random_spec r;
        random_request(&r, 1 + below(3));
        gang_request *request = stage_request(&s, &r.spec);
        gang_result answer = gang_alloc_test(s.w, request, NULL);
        gang_request_free(request);
        const struct part *p = explain(&r.spec, answer);
        bool failing = false;
        for (size_t k = 0; k < r.spec.group_count; k++) {
            const struct gang_explanation *e = &p[k].e;
            ck_assert_int_le(e->placed, e->fit);
            ck_assert_int_le(e->fit, e->want);
            ck_assert_msg((e->result == GANG_OK) == (e->placed == e->want), "%s", p[k].text);
            ck_assert_int_eq(e->result == GANG_OK, e->constraint == GANG_CONSTRAINT_NONE);
            ck_assert_int_eq(e->lack_group >= 0,
                             p[k].domain[0] && e->domain_holds < e->domain_want);
            failing = failing || (e->result != GANG_OK && e->result == answer);
            if (answer == GANG_OK)
                ck_assert_msg(e->result == GANG_OK, "%s", p[k].text);
            if (answer == GANG_ENOFIT)
                ck_assert_msg(e->result != GANG_ENEVER, "%s", p[k].text);
        }
        for (size_t k = r.spec.group_count; k + 1 < parts && answer == GANG_OK; k++)
            ck_assert_msg(p[k].e.result == GANG_OK, "%s", p[k].text);
        ck_assert_int_eq(p[parts - 1].e.result, answer);
        if (failing)
            ck_assert_int_ge(p[parts - 1].e.because_group, 0);
        /* Of several groups a search may miss what another finds. */
        if (answer != GANG_OK && r.spec.group_count == 1)
            ck_assert_msg(p[parts - 1].e.constraint != GANG_CONSTRAINT_NONE, "%s",
                          p[parts - 1].text);
    }
    stage_check(&s);
}
END_TEST

/* A group by itself fits if and only if a request of it alone does. */
START_TEST(alone_means_alone)
{
    chance_state = test_seed() + (uint64_t)_i;
    random_cluster(true);
    for (int i = 0; i < 60; i++) {
        struct random_spec r;
        random_request(&r, 2);
        r.spec.group_set_count = 0;
        r.g[0].group_set = r.g[1].group_set = -1;
        r.spec.same = NULL;
        gang_request *request = stage_request(&s, &r.spec);
        parts = 0;
        MUST(gang_request_explain(s.w, request, keep, NULL));
        gang_request_free(request);
        for (size_t k = 0; k < 2; k++) {
            struct gang_request_spec one = request_of(&r.g[k], 1);
            request = stage_request(&s, &one);
            gang_result alone = gang_alloc_test(s.w, request, NULL);
            ck_assert_msg(alone == part[k].e.result, "%s, but %s", part[k].text,
                          gang_result_name(alone));
            gang_request_free(request);
        }
    }
}
END_TEST

/* ---- lifting the reason ---- */

enum {
    LIFT_LABEL,
    LIFT_PARTITION,
    LIFT_MODEL,
    LIFT_SAME,
    LIFT_SPREAD,
    LIFT_STATE,
    LIFT_POOL,
    LIFTS
};
static const int32_t lift_of[LIFTS] = {GANG_CONSTRAINT_LABEL,     GANG_CONSTRAINT_PARTITION,
                                       GANG_CONSTRAINT_GPU_MODEL, GANG_CONSTRAINT_SAME,
                                       GANG_CONSTRAINT_SPREAD,    GANG_CONSTRAINT_STATE,
                                       GANG_CONSTRAINT_POOL};

/* Does it fit with one constraint less: as things are or, if `ever`, on the empty cluster? */
static bool fits_without(struct gang_group_spec g, int lift, bool ever)
{
    if (lift == LIFT_LABEL)
        g.label_count = 0;
    if (lift == LIFT_PARTITION)
        g.partition = NULL;
    if (lift == LIFT_MODEL)
        g.gpu_model_count = 0;
    if (lift == LIFT_SAME)
        g.same = NULL;
    if (lift == LIFT_SPREAD) {
        g.spread = g.domain_level = NULL;
        g.max_per_node = g.max_per_domain = 0;
    }
    if (lift == LIFT_POOL)
        g.amount_count = 0;
    for (int i = 0; i < NODES && lift == LIFT_STATE; i++)
        MUST(gang_node_set_state(s.w, node[i], GANG_NODE_UP));
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_result r =
        ever ? gang_request_fits_ever(s.w, request, NULL) : gang_alloc_test(s.w, request, NULL);
    gang_request_free(request);
    for (int i = 0; i < NODES && lift == LIFT_STATE; i++)
        MUST(gang_node_set_state(s.w, node[i], state[i]));
    return r == GANG_OK;
}

/* Leave only one of the constraints of a group. */
static void keep_one(struct gang_group_spec *g, int64_t which)
{
    g->label_count = which == LIFT_LABEL ? g->label_count : 0;
    g->gpu_model_count = which == LIFT_MODEL ? g->gpu_model_count : 0;
    g->amount_count = which == LIFT_POOL ? g->amount_count : 0;
    if (which != LIFT_PARTITION)
        g->partition = NULL;
    if (which != LIFT_SAME)
        g->same = NULL;
    if (which == LIFT_SPREAD)
        return;
    g->spread = g->domain_level = NULL;
    g->max_per_node = g->max_per_domain = 0;
}

/* Where lifting one constraint, and no other, lets the gang in, that one is the reason: one of
 * those of the request, or the states of the nodes. The tasks are so small that no kind is in the
 * way, but for GPUs where there are none. */
START_TEST(the_given_reason_is_the_only_obstacle)
{
    chance_state = test_seed() + (uint64_t)_i;
    random_cluster(false);
    int reasons = 0;
    for (int i = 0; i < 300; i++) {
        struct random_spec r;
        random_request(&r, 1);
        keep_one(&r.g[0], below(LIFTS));
        r.g[0].cpu_milli = r.g[0].cpu_milli ? 1 : 0;
        r.g[0].gpu_milli = r.g[0].gpu_milli ? 1 : 0;
        struct outcome o = {.error = GANG_ERROR_INIT};
        gang_request *request = stage_request(&s, &r.spec);
        o.result = gang_alloc_test(s.w, request, &o.error);
        gang_request_free(request);
        int in_the_way = 0, which = -1;
        for (int lift = 0; lift < LIFTS && o.result != GANG_OK; lift++) {
            if (fits_without(r.g[0], lift, o.result == GANG_ENEVER)) {
                in_the_way++;
                which = lift;
            }
        }
        if (in_the_way != 1)
            continue;
        ck_assert_msg(o.error.constraint == lift_of[which], "%s is in the way, but: %s",
                      gang_constraint_name(lift_of[which]), o.error.text);
        reasons++;
    }
    printf("%d reasons\n", reasons);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("explain");
    TCase *tests = tcase_create("explain");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_fit_is_explained);
    tcase_add_test(tests, kinds_that_nodes_are_short_of);
    tcase_add_test(tests, never_refers_to_the_empty_cluster);
    tcase_add_test(tests, pools_and_countables);
    tcase_add_test(tests, filters_count_each_node_once);
    tcase_add_test(tests, a_node_too_small_even_if_empty_is_no_reason);
    tcase_add_test(tests, numa_profile_and_health);
    tcase_add_test(tests, other_jobs);
    tcase_add_test(tests, nodes_with_gpus_and_expressions);
    tcase_add_test(tests, the_host_that_scores);
    tcase_add_test(tests, a_group_that_needs_not_start);
    tcase_add_test(tests, no_node_at_all);
    tcase_add_test(tests, the_best_rack_and_what_it_lacks);
    tcase_add_test(tests, the_domain_may_lack_something_else);
    tcase_add_test(tests, domains_of_nodes_and_their_insides);
    tcase_add_test(tests, subgroups_and_their_level_are_explained);
    tcase_add_test(tests, bounds_and_spreading);
    tcase_add_test(tests, groups_that_fit_alone_but_not_together);
    tcase_add_test(tests, no_rack_for_all_groups);
    tcase_add_test(tests, the_set_that_fails_is_named);
    tcase_add_test(tests, a_minimum_of_a_set);
    tcase_add_test(tests, growth_is_explained);
    tcase_add_test(tests, growth_within_bounds);
    tcase_add_test(tests, an_allocation_stays_while_it_is_explained);
    tcase_add_test(tests, wrong_arguments_are_refused);
    tcase_add_test(tests, constraints_have_names);
    tcase_add_test(tests, a_snapshot_is_explained);
    tcase_add_test(tests, as_json);
    tcase_add_loop_test(tests, out_of_memory_is_a_result, 0, 4);
    tcase_add_loop_test(tests, explanations_are_consistent, 0, 20);
    tcase_add_loop_test(tests, alone_means_alone, 0, 20);
    tcase_add_loop_test(tests, the_given_reason_is_the_only_obstacle, 0, 20);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
