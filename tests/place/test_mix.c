/* SPDX-License-Identifier: Apache-2.0 */
/* gang_mix_set(): the expected mix of task shapes for GANG_POLICY_FGD. test_score.c has its effect
 * on the choice of nodes. */
#include <gangsched/gangsched.h>

#include "place/request/shared.h"
#include "place/state/records.h"
#include "support.h"

static struct stage s;
static gang_node_id node[2];

static void open_stage(void)
{
    stage_open(&s, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct box box = {.name = i ? "b" : "a", .cpu = 64000, .gpus = 2, .model = "A"};
        node[i] = stage_add(&s, &box);
    }
}

static void close_stage(void)
{
    stage_close(&s);
}

static gang_result set(const struct gang_group_spec *shapes, size_t count, struct gang_error *error)
{
    return gang_mix_set(s.w, shapes, sizeof(*shapes), count, error);
}

static const struct gang__mix *declared(void)
{
    return gang__load(&gang__shared_at(s.c)->mixes.declared);
}

START_TEST(a_mix_is_copied_and_replaced)
{
    char name[] = "A";
    const char *models[] = {name, "B"};
    struct gang_group_spec g[] = {group_of(7, 1000, 500), group_of(3, 2000, 2000)};
    g[1].gpu_models = models;
    g[1].gpu_model_count = 2;
    MUST(set(g, 2, NULL));
    name[0] = 'X';
    ck_assert_uint_eq(declared()->count, 2);
    ck_assert_uint_eq(declared()->shape[0].weight, 7);
    ck_assert_uint_eq(declared()->shape[0].share, 500);
    ck_assert_uint_eq(declared()->shape[1].devices, 2);
    ck_assert_str_eq(declared()->shape[1].models[0], "A");
    ck_assert_str_eq(declared()->shape[1].models[1], "B");
    uint64_t version = declared()->version;
    MUST(set(g, 1, NULL));
    ck_assert_uint_eq(declared()->count, 1);
    ck_assert_uint_gt(declared()->version, version);
    MUST(set(NULL, 0, NULL));
    ck_assert_ptr_null(declared());
    MUST(gang_cluster_recycle(s.c));
}
END_TEST

/* A shape need not say how many must start together. */
START_TEST(minima_do_not_matter)
{
    struct gang_group_spec g = group_of(5, 1000, 500);
    g.min = 0;
    MUST(set(&g, 1, NULL));
}
END_TEST

/* One fault at a time; the mix before stays. */
START_TEST(faults_are_refused_with_their_path)
{
    struct gang_group_spec good = group_of(1, 1000, 1000), g[3];
    struct gang_error error = GANG_ERROR_INIT;
    MUST(set(&good, 1, NULL));
    const struct gang__mix *before = declared();
    for (int i = 0; i < 7; i++) {
        static const char *const path[] = {"shapes[2].gpu_milli",    "shapes[2].count",
                                           "shapes[2].cpu_milli",    "shapes[2].size",
                                           "shapes[2].group_set",    "shapes[2].amounts[0].kind",
                                           "shapes[2].gpu_models[0]"};
        static const gang_result code[] = {GANG_EINVAL, GANG_ERANGE, GANG_ERANGE, GANG_EINVAL,
                                           GANG_EINVAL, GANG_ENOENT, GANG_EINVAL};
        const char *const none = NULL;
        const struct gang_amount tape = {"tape", 1};
        g[0] = g[1] = g[2] = good;
        g[2].gpu_milli = i == 0 ? 1500 : 1000;
        g[2].count = i == 1 ? 0 : 1;
        g[2].cpu_milli = i == 2 ? -1 : 0;
        g[2].size = i == 3 ? 8 : sizeof(g[2]);
        g[2].group_set = i == 4 ? 0 : -1;
        g[2].amounts = &tape;
        g[2].amount_count = i == 5;
        g[2].gpu_models = &none;
        g[2].gpu_model_count = i == 6;
        g[2].min = 0;
        EXPECT_ERROR(set(g, 3, &error), code[i], &error, path[i], NULL);
        ck_assert_ptr_eq(declared(), before);
    }
    EXPECT_ERROR(set(NULL, 1, &error), GANG_EINVAL, &error, "shapes", NULL);
    EXPECT_ERROR(set(g, 4096, &error), GANG_ELIMIT, &error, "shapes", NULL);
    EXPECT_ERROR(gang_mix_set(s.w, g, 8, 1, &error), GANG_EINVAL, &error, "shape_size", NULL);
    EXPECT_RESULT(gang_mix_set(NULL, g, sizeof(g[0]), 1, &error), GANG_EINVAL, &error);
    g[0].count = g[1].count = 1 << 24;
    EXPECT_ERROR(set(g, 2, &error), GANG_ELIMIT, &error, "shapes", NULL);
    ck_assert_ptr_eq(declared(), before);
}
END_TEST

/* Elements of a newer caller; what they have beyond ours is zero. */
START_TEST(shapes_follow_the_size_rule)
{
    struct {
        struct gang_group_spec g;
        int64_t more;
    } longer[2];
    struct gang_error error = GANG_ERROR_INIT;
    memset(longer, 0, sizeof(longer));
    for (int i = 0; i < 2; i++) {
        longer[i].g = group_of(1 + i, 1000, 500);
        longer[i].g.size = sizeof(longer[0]);
    }
    MUST(gang_mix_set(s.w, &longer[0].g, sizeof(longer[0]), 2, NULL));
    ck_assert_uint_eq(declared()->shape[1].weight, 2);
    longer[1].more = 1;
    EXPECT_ERROR(gang_mix_set(s.w, &longer[0].g, sizeof(longer[0]), 2, &error), GANG_E2BIG, &error,
                 "shapes[1].size", NULL);
}
END_TEST

/* ---- learning -------------------------------------------------------------------------------- */

static uint64_t learned(void)
{
    return gang__load(&gang__shared_at(s.c)->mixes.learned);
}

static unsigned shapes_learned(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < GANG__MIX_LEARNED; i++)
        count += gang__load(&gang__shared_at(s.c)->mixes.seen[i]) != NULL;
    return count;
}

START_TEST(requests_are_learned_by_their_tasks)
{
    static const char *const models[] = {"A"};
    struct gang_group_spec g[] = {group_of(7, 1000, 500), group_of(3, 2000, 2000),
                                  group_of(2, 1000, 500)};
    struct gang_request_spec spec = request_of(g, 3);
    gang_request_free(stage_request(&s, &spec));
    ck_assert_uint_eq(learned(), 12);
    ck_assert_uint_eq(shapes_learned(), 2);
    g[2].gpu_models = models; /* another shape */
    g[2].gpu_model_count = 1;
    gang_request_free(stage_request(&s, &spec));
    ck_assert_uint_eq(learned(), 24);
    ck_assert_uint_eq(shapes_learned(), 3);
    g[0].count = 0; /* what is refused is not learned, nor is what is declared */
    gang_request *request;
    ck_assert_int_eq(gang_request_new(s.c, &spec, &request, NULL), GANG_ERANGE);
    MUST(set(&g[1], 1, NULL));
    ck_assert_uint_eq(learned(), 24);
}
END_TEST

START_TEST(learned_task_shapes_are_bounded)
{
    for (int i = 0; i < 2 * GANG__MIX_LEARNED; i++) {
        struct gang_group_spec g = group_of(1, 1000 + i, 500);
        struct gang_request_spec spec = request_of(&g, 1);
        gang_request_free(stage_request(&s, &spec));
    }
    ck_assert_uint_eq(shapes_learned(), GANG__MIX_LEARNED);
    ck_assert_uint_eq(learned(), GANG__MIX_LEARNED);
    struct gang_group_spec g = group_of(5, 1000, 500); /* one of the first */
    struct gang_request_spec spec = request_of(&g, 1);
    spec.policy = GANG_POLICY_FGD;
    stage_alloc(&s, &spec);
    ck_assert_uint_eq(learned(), GANG__MIX_LEARNED + 5);
}
END_TEST

/* Of shapes by memory what they take depends on the device. */
START_TEST(shapes_by_memory_count)
{
    struct box box = {.name = "c", .cpu = 64000, .gpus = 1, .model = "A", .gpu_memory = 40 * GIB};
    gang_node_id large = stage_add(&s, &box);
    box = (struct box){.name = "d", .cpu = 64000, .gpus = 1, .model = "A", .gpu_memory = 16 * GIB};
    gang_node_id small = stage_add(&s, &box);
    struct gang_group_spec shape = group_of(1, 0, 0), g = group_of(1, 0, 300);
    static const char *const model = "A";
    static const char *const others[] = {"a", "b"};
    struct gang_label_rule rule = {"node", others, 2, GANG_LABEL_NOT_IN, 0};
    struct gang_request_spec spec = request_of(&g, 1);
    shape.gpu_memory_bytes = 12 * GIB; /* 750 of the small one */
    shape.gpu_models = &model;
    shape.gpu_model_count = 1;
    MUST(set(&shape, 1, NULL));
    g.labels = &rule;
    g.label_count = 1;
    spec.policy = GANG_POLICY_FGD;
    gang_alloc_id id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(stage_tasks_on(&s, id, large), 1); /* there the rest is of use */
    shape.gpu_memory_bytes = 36 * GIB;                   /* only the large one holds it */
    MUST(gang_alloc_free(s.w, id));
    MUST(set(&shape, 1, NULL));
    id = stage_alloc(&s, &spec);
    ck_assert_uint_eq(stage_tasks_on(&s, id, small), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mix");
    TCase *tests = tcase_create("mix");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, a_mix_is_copied_and_replaced);
    tcase_add_test(tests, minima_do_not_matter);
    tcase_add_test(tests, faults_are_refused_with_their_path);
    tcase_add_test(tests, shapes_follow_the_size_rule);
    tcase_add_test(tests, requests_are_learned_by_their_tasks);
    tcase_add_test(tests, learned_task_shapes_are_bounded);
    tcase_add_test(tests, shapes_by_memory_count);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
