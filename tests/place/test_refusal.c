/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: what a refusal says: not now or never, which group, which kind or constraint. */
#include <gangsched/gangsched.h>

#include "chance.h"
#include "support.h"

static struct stage s;
static const char *const levels[] = {"rack"};

static void open_stage(void)
{
    stage_open(&s, levels, 1);
    MUST(gang_kind_add(s.w, "nic", "cards", GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "lic", "licences", GANG_SCOPE_CLUSTER, 3, NULL));
}

static void close_stage(void)
{
    stage_close(&s);
}

static gang_node_id add(const char *name)
{
    struct box box = {.name = name,
                      .cpu = 4000,
                      .memory = 4 * GIB,
                      .gpus = 2,
                      .model = "V100",
                      .gpu_memory = 16 * GIB,
                      .amounts = LIST(struct gang_amount, {"nic", 2}),
                      .labels = LIST(struct gang_label, {"os", "linux"}),
                      .partitions = LIST(const char *, "batch"),
                      .place = LIST(struct gang_label, {"rack", "r1"})};
    return stage_add(&s, &box);
}

/* A refusal that is what it should be: everything but the text. */
static struct gang_error refused(const struct gang_request_spec *spec, gang_result code,
                                 int32_t constraint, int32_t group, int32_t kind)
{
    struct outcome o = stage_try(&s, spec);
    EXPECT_OUTCOME(o, code);
    ck_assert_int_eq(o.error.constraint, constraint);
    ck_assert_int_eq(o.error.group, group);
    ck_assert_int_eq(o.error.kind, kind);
    ck_assert_str_ne(o.error.text, "");
    ck_assert_str_eq(o.error.path, "");
    ck_assert_ptr_null(strchr(o.error.text, '\n'));
    return o.error;
}

static struct gang_error group_refused(const struct gang_group_spec *g, gang_result code,
                                       int32_t constraint, int32_t kind)
{
    struct gang_request_spec spec = request_of(g, 1);
    return refused(&spec, code, constraint, 0, kind);
}

/* ---- kinds ---- */

struct short_case {
    int64_t cpu, memory, gpu, nics;
    int32_t kind;
    int64_t requested, available; /* of an empty node */
};
static const struct short_case short_cases[] = {
    {4001, 0, 0, 0, GANG_KIND_CPU, 4001, 4000},
    {4000, 4 * GIB + 1, 2000, 0, GANG_KIND_MEMORY, 4 * GIB + 4096, 4 * GIB},
    {0, 0, 3000, 0, GANG_KIND_GPU, 3000, 2000},
    {0, 0, 0, 3, GANG_KIND_SITE, 3, 2},
};

static struct gang_group_spec short_group(const struct short_case *t, struct gang_amount *nics)
{
    struct gang_group_spec g = group_of(1, t->cpu, t->gpu);
    g.memory_bytes = t->memory;
    if (t->nics) {
        *nics = (struct gang_amount){"nic", t->nics};
        g.amounts = nics;
        g.amount_count = 1;
    }
    return g;
}

START_TEST(never_says_which_kind_a_node_has_too_little_of)
{
    const struct short_case *t = &short_cases[_i];
    struct gang_amount nics;
    struct gang_group_spec g = short_group(t, &nics);
    add("n1");
    add("n2");
    struct gang_error error = group_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_KIND, t->kind);
    ck_assert_int_eq(error.requested, t->requested);
    ck_assert_int_eq(error.available, t->available);
    ck_assert_int_eq(error.nodes, 2);
}
END_TEST

/* The same with what a node could give if another job had left it something. */
START_TEST(not_now_says_which_kind_is_taken)
{
    static const struct short_case taken[] = {
        {2000, 0, 0, 0, GANG_KIND_CPU, 0, 0},
        {0, 3 * GIB, 0, 0, GANG_KIND_MEMORY, 0, 0},
        {0, 0, 1000, 0, GANG_KIND_GPU, 0, 0},
        {0, 0, 0, 1, GANG_KIND_SITE, 0, 0},
    };
    static const struct short_case wanted[] = {
        {3000, GIB, 2000, 2, GANG_KIND_CPU, 3000, 2000},
        {4000, 2 * GIB, 2000, 2, GANG_KIND_MEMORY, 2 * GIB, GIB},
        {4000, GIB, 2000, 2, GANG_KIND_GPU, 2000, 1000},
        {4000, GIB, 2000, 2, GANG_KIND_SITE, 2, 1},
    };
    struct gang_amount nics[2];
    struct gang_group_spec first = short_group(&taken[_i], &nics[0]);
    struct gang_group_spec g = short_group(&wanted[_i], &nics[1]);
    add("n1");
    gang_alloc_id id = stage_alloc_group(&s, &first);
    struct gang_error error = group_refused(&g, GANG_ENOFIT, GANG_CONSTRAINT_KIND, wanted[_i].kind);
    ck_assert_int_eq(error.requested, wanted[_i].requested);
    ck_assert_int_eq(error.available, wanted[_i].available);
    MUST(gang_alloc_free(s.w, id));
    stage_alloc_group(&s, &g);
}
END_TEST

START_TEST(a_whole_device_counts_only_wholly_free_ones)
{
    struct gang_group_spec part = group_of(1, 0, 100), g = group_of(1, 0, 2000);
    add("n1");
    stage_alloc_group(&s, &part);
    struct gang_error error = group_refused(&g, GANG_ENOFIT, GANG_CONSTRAINT_KIND, GANG_KIND_GPU);
    ck_assert_int_eq(error.requested, 2000);
    ck_assert_int_eq(error.available, 1000);
}
END_TEST

/* Some of the tasks fit: the whole need against what could be given. */
START_TEST(a_refusal_gives_requested_and_available_amounts)
{
    struct gang_group_spec g = group_of(3, 3000, 0);
    add("n1");
    add("n2");
    struct gang_error error = group_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_KIND, GANG_KIND_CPU);
    ck_assert_int_eq(error.requested, 9000);
    ck_assert_int_eq(error.available, 6000);
    ck_assert_int_eq(error.nodes, 2);
    g = group_of(5, 0, 1000);
    error = group_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_KIND, GANG_KIND_GPU);
    ck_assert_int_eq(error.requested, 5000);
    ck_assert_int_eq(error.available, 4000);
}
END_TEST

START_TEST(a_pool_is_named_with_what_is_free_of_it)
{
    struct gang_amount a = {"lic", 2};
    struct gang_group_spec g = group_of(1, 1000, 0);
    g.amounts = &a;
    g.amount_count = 1;
    add("n1");
    stage_alloc_group(&s, &g);
    struct gang_error error =
        group_refused(&g, GANG_ENOFIT, GANG_CONSTRAINT_POOL, GANG_KIND_SITE + 1);
    ck_assert_int_eq(error.requested, 2);
    ck_assert_int_eq(error.available, 1);
    a.amount = 4;
    error = group_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_POOL, GANG_KIND_SITE + 1);
    ck_assert_int_eq(error.requested, 4);
    ck_assert_int_eq(error.available, 3);
    ck_assert_ptr_nonnull(strstr(error.text, "lic"));
}
END_TEST

/* The first node has cores for one task, the second more than there are licences. */
START_TEST(a_pool_is_named_beside_other_shortages)
{
    struct gang_amount a = {"lic", 1};
    struct gang_group_spec g = group_of(5, 4000, 0);
    g.amounts = &a;
    g.amount_count = 1;
    add("n1");
    struct box box = {.name = "n2", .cpu = 64000};
    stage_add(&s, &box);
    group_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_POOL, GANG_KIND_SITE + 1);
}
END_TEST

/* ---- states and constraints ---- */

START_TEST(nodes_that_are_not_up_are_the_reason)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    gang_node_id a = add("n1"), b = add("n2");
    MUST(gang_node_set_state(s.w, a, GANG_NODE_DOWN));
    MUST(gang_node_set_state(s.w, b, GANG_NODE_DRAINING));
    struct gang_error error = group_refused(&g, GANG_ENOFIT, GANG_CONSTRAINT_STATE, -1);
    ck_assert_int_eq(error.nodes, 2);
    ck_assert_int_eq(error.requested, 0);
    ck_assert_int_eq(error.available, 0);
}
END_TEST

START_TEST(a_removed_node_is_not_counted)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    gang_node_id a = add("n1");
    stage_alloc_group(&s, &g);
    MUST(gang_node_remove(s.w, a));
    add("n2");
    g.cpu_milli = 5000;
    struct gang_error error = group_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_KIND, GANG_KIND_CPU);
    ck_assert_int_eq(error.nodes, 1);
    ck_assert_int_eq(error.available, 4000);
}
END_TEST

START_TEST(label_rules_are_the_reason)
{
    struct gang_label_rule rule = {"os", NULL, 0, GANG_LABEL_NOT_EXISTS, 0};
    struct gang_group_spec g = group_of(1, 1000, 0);
    g.labels = &rule;
    g.label_count = 1;
    add("n1");
    ck_assert_int_eq(group_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_LABEL, -1).nodes, 1);
}
END_TEST

START_TEST(the_partition_is_the_reason)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    g.partition = "debug";
    add("n1");
    group_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_PARTITION, -1);
}
END_TEST

START_TEST(the_gpu_model_is_the_reason)
{
    const char *const model = "A100";
    struct gang_group_spec g = group_of(1, 1000, 1000);
    g.gpu_models = &model;
    g.gpu_model_count = 1;
    add("n1");
    group_refused(&g, GANG_ENEVER, GANG_CONSTRAINT_GPU_MODEL, -1);
}
END_TEST

START_TEST(the_domain_is_the_reason)
{
    struct gang_group_spec g = group_of(5, 1000, 0);
    struct box box = {.name = "n2", .cpu = 4000, .place = LIST(struct gang_label, {"rack", "r2"})};
    add("n1");
    stage_add(&s, &box);
    g.same = "rack";
    struct outcome o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENEVER);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_SAME);
    g.count = g.min = 3;
    stage_alloc_group(&s, &g);
    stage_alloc_group(&s, &g);
    g.count = g.min = 2; /* one core is free in each rack */
    o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENOFIT);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_SAME);
    g.count = g.min = 9; /* not even without the demand */
    o = stage_try_group(&s, &g);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_KIND);
    ck_assert_int_eq(o.error.kind, GANG_KIND_CPU);
}
END_TEST

/* ---- groups ---- */

START_TEST(the_group_that_does_not_fit_is_named)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(1, 1000, 0), group_of(1, 1, 0)};
    struct gang_request_spec spec = request_of(g, 3);
    add("n1");
    g[_i].name = "odd";
    g[_i].cpu_milli = 5000;
    struct gang_error error = refused(&spec, GANG_ENEVER, GANG_CONSTRAINT_KIND, _i, GANG_KIND_CPU);
    ck_assert_int_eq(error.requested, 5000);
    ck_assert_int_eq(error.available, 4000);
    ck_assert_ptr_nonnull(strstr(error.text, "odd"));
}
END_TEST

START_TEST(groups_that_fit_alone_but_not_together)
{
    struct gang_group_spec g[] = {group_of(1, 3000, 0), group_of(1, 3000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    add("n1");
    struct outcome o = stage_try(&s, &spec);
    EXPECT_OUTCOME(o, GANG_ENEVER);
    ck_assert_str_ne(o.error.text, "");
    ck_assert_int_eq(o.error.group, -1);
}
END_TEST

START_TEST(without_any_node_there_is_a_reason_too)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct outcome o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENEVER);
    ck_assert_str_ne(o.error.text, "");
    ck_assert_int_eq(o.error.nodes, 0);
}
END_TEST

/* ---- all ways to ask ---- */

/* ---- large gangs ---- */

/* Nodes of 8 GPUs, some taken at random. A gang of as many tasks as fit is placed, one task more is
 * refused, for any shape of the task. Large gangs are refused by counts alone. */
START_TEST(the_last_task_of_a_large_gang_decides)
{
    enum { NODES = 150 };
    static const int64_t sizes[] = {1000, 2000, 3000, 4000, 5000, 8000};
    struct box box = {.cpu = 80000, .gpus = 8, .model = "H100"};
    gang_node_id id[NODES];
    char name[16];
    chance_state = test_seed();
    for (int i = 0; i < NODES; i++) {
        snprintf(name, sizeof(name), "h%d", i);
        box.name = name;
        box.gpus = i % 50 == 49 ? 20 : 8; /* more than the index tells apart */
        id[i] = stage_add(&s, &box);
    }
    for (int round = 0; round < 20; round++) {
        struct gang_placement places[NODES];
        gang_alloc_id held;
        struct gang_group_spec some = group_of(NODES, 0, 1000);
        struct gang_request_spec spec = request_of(&some, 1);
        gang_request *taken = stage_request(&s, &spec);
        for (int i = 0; i < NODES; i++) {
            places[i] = (struct gang_placement)GANG_PLACEMENT_INIT;
            places[i].node = id[below(NODES / 3)];
        }
        if (gang_alloc_adopt(s.w, taken, places, NODES, &held, NULL) != GANG_OK)
            held = GANG_ID_NONE; /* a node was asked for more than it has */
        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            int64_t fitting = 0;
            for (int i = 0; i < NODES; i++)
                fitting += stage_node(&s, id[i]).gpus_free / (sizes[k] / 1000);
            struct gang_group_spec g = group_of(fitting, 0, sizes[k]);
            MUST(gang_alloc_free(s.w, stage_alloc_group(&s, &g)));
            g.count = g.min = fitting + 1;
            gang_result r = stage_try_group(&s, &g).result;
            ck_assert_int_eq(r, held ? GANG_ENOFIT : GANG_ENEVER);
        }
        if (held)
            MUST(gang_alloc_free(s.w, held));
        gang_request_free(taken);
    }
}
END_TEST

START_TEST(all_questions_have_the_same_answer)
{
    struct gang_error error[4] = {GANG_ERROR_INIT, GANG_ERROR_INIT, GANG_ERROR_INIT,
                                  GANG_ERROR_INIT};
    struct gang_group_spec g = group_of(2, 3000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    add("n1");
    EXPECT_RESULT(gang_alloc(s.w, request, &id, &error[0]), GANG_ENEVER, &error[0]);
    EXPECT_RESULT(gang_alloc_test(s.w, request, &error[1]), GANG_ENEVER, &error[1]);
    EXPECT_RESULT(gang_request_fits_ever(s.w, request, &error[2]), GANG_ENEVER, &error[2]);
    EXPECT_RESULT(gang_request_fits_ever(s.w, request, &error[3]), GANG_ENEVER,
                  &error[3]); /* remembered */
    for (int i = 1; i < 4; i++)
        ck_assert_mem_eq(&error[i], &error[0], sizeof(error[0]));
    ck_assert_int_eq(error[0].kind, GANG_KIND_CPU);
    ck_assert_int_eq(gang_alloc(s.w, request, &id, NULL), GANG_ENEVER);
    ck_assert_int_eq(gang_alloc_test(s.w, request, NULL), GANG_ENEVER);
    ck_assert_int_eq(gang_request_fits_ever(s.w, request, NULL), GANG_ENEVER);
    gang_request_free(request);
}
END_TEST

START_TEST(an_error_of_another_size_is_filled_as_far_as_it_goes)
{
    struct {
        struct gang_error known;
        char more[32];
    } longer;
    struct gang_group_spec g = group_of(1, 5000, 0);
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    add("n1");
    memset(&longer, 0, sizeof(longer));
    longer.known.size = sizeof(longer);
    ck_assert_int_eq(gang_alloc(s.w, request, &id, &longer.known), GANG_ENEVER);
    ck_assert_uint_eq(longer.known.size, sizeof(longer));
    ck_assert_int_eq(longer.known.kind, GANG_KIND_CPU);
    ck_assert_int_eq(longer.known.requested, 5000);
    memset(&longer, 0x5a, sizeof(longer));
    longer.known.size = offsetof(struct gang_error, text);
    ck_assert_int_eq(gang_alloc(s.w, request, &id, &longer.known), GANG_ENEVER);
    ck_assert_int_eq(longer.known.code, GANG_ENEVER);
    ck_assert_int_eq(longer.known.text[0], 0x5a);
    memset(&longer, 0x5a, sizeof(longer));
    longer.known.size = 0;
    ck_assert_int_eq(gang_alloc(s.w, request, &id, &longer.known), GANG_ENEVER);
    ck_assert_int_eq(longer.known.text[0], 0x5a);
    ck_assert_int_eq(longer.known.code, 0x5a5a5a5a);
    gang_request_free(request);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refusal");
    TCase *tests = tcase_create("refusal");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_loop_test(tests, never_says_which_kind_a_node_has_too_little_of, 0, 4);
    tcase_add_loop_test(tests, not_now_says_which_kind_is_taken, 0, 4);
    tcase_add_test(tests, a_whole_device_counts_only_wholly_free_ones);
    tcase_add_test(tests, a_refusal_gives_requested_and_available_amounts);
    tcase_add_test(tests, a_pool_is_named_with_what_is_free_of_it);
    tcase_add_test(tests, a_pool_is_named_beside_other_shortages);
    tcase_add_test(tests, nodes_that_are_not_up_are_the_reason);
    tcase_add_test(tests, a_removed_node_is_not_counted);
    tcase_add_test(tests, label_rules_are_the_reason);
    tcase_add_test(tests, the_partition_is_the_reason);
    tcase_add_test(tests, the_gpu_model_is_the_reason);
    tcase_add_test(tests, the_domain_is_the_reason);
    tcase_add_loop_test(tests, the_group_that_does_not_fit_is_named, 0, 3);
    tcase_add_test(tests, groups_that_fit_alone_but_not_together);
    tcase_add_test(tests, without_any_node_there_is_a_reason_too);
    tcase_add_test(tests, the_last_task_of_a_large_gang_decides);
    tcase_add_test(tests, all_questions_have_the_same_answer);
    tcase_add_test(tests, an_error_of_another_size_is_filled_as_far_as_it_goes);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
