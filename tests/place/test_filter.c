/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: what a group demands of the nodes: labels, partitions, GPU models, countables. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
/* Four nodes: a is {os=linux, zone=1}, b is {os=plan9}, c is {os="", old=""}, d has no label. */
static gang_node_id node[4];

static void open_stage(void)
{
    static const char *const name[] = {"a", "b", "c", "d"};
    static const struct gang_label a[] = {{"os", "linux"}, {"zone", "1"}}, b[] = {{"os", "plan9"}},
                                   c[] = {{"os", ""}, {"old", ""}};
    static const struct gang_label *const labels[] = {a, b, c, NULL};
    static const size_t count[] = {2, 1, 2, 0};
    static const char *const partitions[] = {"batch", "debug", "night"};
    stage_open(&s, NULL, 0);
    for (int i = 0; i < 4; i++) {
        struct box box = {.name = name[i],
                          .cpu = 1000,
                          .gpus = 1,
                          .model = i < 2    ? "V100"
                                   : i == 2 ? "T4"
                                            : NULL,
                          .labels = labels[i],
                          .label_count = count[i],
                          .partitions = partitions, /* a: none, b: one, c: two, d: three */
                          .partition_count = (size_t)i};
        node[i] = stage_add(&s, &box);
    }
}

static void close_stage(void)
{
    stage_close(&s);
}

/* On which nodes tasks of a group go: bit i is node i. */
static unsigned goes_to(struct gang_group_spec *g)
{
    unsigned mask = 0;
    for (g->count = g->min = 4; g->min > 0; g->count = --g->min) {
        struct outcome o = stage_try_group(&s, g);
        if (o.result != GANG_OK) {
            EXPECT_OUTCOME(o, GANG_ENEVER); /* the nodes are empty */
            continue;
        }
        for (unsigned i = 0; i < 4; i++)
            mask |= (unsigned)(stage_tasks_on(&s, o.id, node[i]) > 0) << i;
        MUST(gang_alloc_free(s.w, o.id));
        break;
    }
    return mask;
}

struct rule_case {
    struct gang_label_rule rule[2];
    size_t count;
    unsigned nodes;
};
static const char *const linux_[] = {"linux"}, *const two[] = {"linux", "plan9"},
                         *const empty[] = {""}, *const names[] = {"b", "d", "x"},
                         *const one[] = {"1"}, *const half[] = {"0.5"};
static const struct rule_case rules[] = {
    {{{"os", linux_, 1, GANG_LABEL_IN, 0}}, 1, 1},
    {{{"os", two, 2, GANG_LABEL_IN, 0}}, 1, 3},
    {{{"os", empty, 1, GANG_LABEL_IN, 0}}, 1, 4},
    {{{"os", linux_, 1, GANG_LABEL_NOT_IN, 0}}, 1, 2 | 4 | 8},
    {{{"os", two, 2, GANG_LABEL_NOT_IN, 0}}, 1, 4 | 8},
    {{{"os", NULL, 0, GANG_LABEL_EXISTS, 0}}, 1, 7},
    {{{"os", NULL, 0, GANG_LABEL_NOT_EXISTS, 0}}, 1, 8},
    {{{"old", NULL, 0, GANG_LABEL_EXISTS, 0}}, 1, 4},
    {{{"none", NULL, 0, GANG_LABEL_EXISTS, 0}}, 1, 0},
    {{{"none", linux_, 1, GANG_LABEL_NOT_IN, 0}}, 1, 15},
    {{{"node", names, 3, GANG_LABEL_IN, 0}}, 1, 2 | 8},
    {{{"node", names, 3, GANG_LABEL_NOT_IN, 0}}, 1, 1 | 4},
    {{{"node", NULL, 0, GANG_LABEL_EXISTS, 0}}, 1, 15},
    {{{"node", NULL, 0, GANG_LABEL_NOT_EXISTS, 0}}, 1, 0},
    {{{"os", two, 2, GANG_LABEL_IN, 0}, {"zone", one, 1, GANG_LABEL_IN, 0}}, 2, 1}, /* all hold */
    {{{"os", two, 2, GANG_LABEL_IN, 0}, {"zone", NULL, 0, GANG_LABEL_NOT_EXISTS, 0}}, 2, 2},
    {{{"os", linux_, 1, GANG_LABEL_IN, 0}, {"os", linux_, 1, GANG_LABEL_NOT_IN, 0}}, 2, 0},
    {{{"zone", half, 1, GANG_LABEL_GT, 0}}, 1, 1},
    {{{"zone", one, 1, GANG_LABEL_GE, 0}}, 1, 1},
    {{{"zone", one, 1, GANG_LABEL_LT, 0}}, 1, 0},
    {{{"zone", one, 1, GANG_LABEL_LE, 0}}, 1, 1},
    {{{"os", one, 1, GANG_LABEL_LE, 0}}, 1, 0}, /* no numbers */
    {{{"node", one, 1, GANG_LABEL_GE, 0}}, 1, 0},
};
enum { RULES = sizeof(rules) / sizeof(rules[0]) };

struct where_case {
    const char *where;
    unsigned nodes;
};
static const struct where_case wheres[] = {
    {"os", 7},
    {"not os", 8},
    {"os = linux or not os", 1 | 8},
    {"os in (linux, plan9) and not zone >= 1", 2},
    {"node in (b, d, x) or os = \"\"", 2 | 4 | 8},
    {"none", 0},
    {"not none", 15},
};
enum { WHERES = sizeof(wheres) / sizeof(wheres[0]) };

START_TEST(label_rules_choose_the_nodes)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    g.labels = rules[_i].rule;
    g.label_count = rules[_i].count;
    ck_assert_uint_eq(goes_to(&g), rules[_i].nodes);
}
END_TEST

START_TEST(a_label_expression_chooses_the_nodes)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    g.where = wheres[_i].where;
    ck_assert_uint_eq(goes_to(&g), wheres[_i].nodes);
    g.labels = rules[0].rule; /* beside a list: a */
    g.label_count = 1;
    ck_assert_uint_eq(goes_to(&g), wheres[_i].nodes & 1);
    g = group_of(1, 1000, 0);
    g.partition = "batch"; /* the texts were copied */
    char text[] = "os";
    g.where = text;
    struct gang_request_spec spec = request_of(&g, 1);
    gang_request *request = stage_request(&s, &spec);
    gang_alloc_id id;
    memset(text, '(', sizeof(text) - 1);
    MUST(gang_alloc(s.w, request, &id, NULL));
    ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]) + stage_tasks_on(&s, id, node[2]), 1);
    gang_request_free(request);
}
END_TEST

START_TEST(a_refusal_by_labels_says_so)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    g.where = "os = solaris";
    struct outcome o = stage_try_group(&s, &g);
    EXPECT_OUTCOME(o, GANG_ENEVER);
    ck_assert_int_eq(o.error.constraint, GANG_CONSTRAINT_LABEL);
}
END_TEST

START_TEST(a_partition_is_one_of_the_nodes_own)
{
    struct gang_group_spec g = group_of(1, 1000, 0);
    g.partition = "batch";
    ck_assert_uint_eq(goes_to(&g), 2 | 4 | 8);
    g.partition = "debug";
    ck_assert_uint_eq(goes_to(&g), 4 | 8);
    g.partition = "night";
    ck_assert_uint_eq(goes_to(&g), 8);
    g.partition = "day";
    ck_assert_uint_eq(goes_to(&g), 0);
    g.partition = NULL;
    ck_assert_uint_eq(goes_to(&g), 15);
}
END_TEST

START_TEST(gpu_models_choose_the_nodes)
{
    const char *const models[] = {"T4", "V100"}, *const unknown = "A100";
    struct gang_group_spec g = group_of(1, 0, 1000);
    ck_assert_uint_eq(goes_to(&g), 15);
    g.gpu_models = models;
    g.gpu_model_count = 1;
    ck_assert_uint_eq(goes_to(&g), 4);
    g.gpu_model_count = 2;
    ck_assert_uint_eq(goes_to(&g), 7);
    g.gpu_models = &unknown;
    g.gpu_model_count = 1;
    ck_assert_uint_eq(goes_to(&g), 0);
    g.gpu_milli = 1;
    ck_assert_uint_eq(goes_to(&g), 0);
    g.gpu_models = models;
    ck_assert_uint_eq(goes_to(&g), 4);
}
END_TEST

START_TEST(all_demands_hold_together)
{
    const char *const models[] = {"T4"};
    struct gang_group_spec g = group_of(1, 1000, 500);
    g.labels = rules[5].rule; /* has an os: a, b, c */
    g.label_count = 1;
    g.partition = "batch"; /* b, c, d */
    ck_assert_uint_eq(goes_to(&g), 2 | 4);
    g.gpu_models = models; /* c */
    g.gpu_model_count = 1;
    ck_assert_uint_eq(goes_to(&g), 4);
}
END_TEST

START_TEST(each_group_has_demands_of_its_own)
{
    struct gang_group_spec g[] = {group_of(1, 1000, 0), group_of(2, 1000, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    g[0].labels = rules[0].rule; /* a */
    g[0].label_count = 1;
    g[1].partition = "debug"; /* c, d */
    for (spec.policy = 0; spec.policy < 3; spec.policy++) {
        gang_alloc_id id = stage_alloc(&s, &spec);
        const struct task_list *list = stage_tasks(&s, id);
        for (size_t i = 0; i < 3; i++)
            ck_assert_int_eq(list->task[i].node == node[0], list->task[i].group == 0);
        ck_assert_uint_eq(stage_tasks_on(&s, id, node[1]), 0);
        MUST(gang_alloc_free(s.w, id));
    }
}
END_TEST

/* ---- countables ---- */

START_TEST(countables_of_a_node_are_taken_and_given_back)
{
    struct gang_amount two_nics[] = {{"nic", 2}, {"disk", 0}};
    struct gang_group_spec g = group_of(1, 0, 0);
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "disk", NULL, GANG_SCOPE_NODE, 0, NULL));
    struct box box = {.name = "e", .amounts = LIST(struct gang_amount, {"nic", 5})};
    gang_node_id id = stage_add(&s, &box);
    g.amounts = two_nics;
    g.amount_count = 2; /* an amount of 0 asks for nothing: the node needs no disk */
    gang_alloc_id first = stage_alloc_group(&s, &g);
    ck_assert_uint_eq(stage_tasks_on(&s, first, id), 1);
    stage_alloc_group(&s, &g);
    ck_assert_int_eq(stage_node(&s, id).amount_free[GANG_KIND_SITE], 1);
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENOFIT);
    MUST(gang_alloc_free(s.w, first));
    ck_assert_int_eq(stage_node(&s, id).amount_free[GANG_KIND_SITE], 3);
    two_nics[1].amount = 1;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER);
}
END_TEST

START_TEST(countables_and_pools_are_taken_together_or_not)
{
    struct gang_amount both[] = {{"lic", 1}, {"nic", 1}};
    struct gang_kind_info info = GANG_KIND_INFO_INIT;
    struct gang_group_spec g = group_of(3, 0, 0);
    int32_t lic;
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 4, &lic));
    struct box box = {.name = "e", .amounts = LIST(struct gang_amount, {"nic", 2})};
    stage_add(&s, &box);
    g.amounts = both;
    g.amount_count = 2;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER); /* two cards */
    MUST(gang_kind_get(s.c, lic, &info));
    ck_assert_int_eq(info.available, 4);
    g.count = g.min = 2;
    gang_alloc_id id = stage_alloc_group(&s, &g);
    MUST(gang_kind_get(s.c, lic, &info));
    ck_assert_int_eq(info.available, 2);
    MUST(gang_alloc_free(s.w, id));
    both[0].amount = 3;
    EXPECT_OUTCOME(stage_try_group(&s, &g), GANG_ENEVER); /* six licences */
    MUST(gang_kind_get(s.c, lic, &info));
    ck_assert_int_eq(info.available, 4);
}
END_TEST

/* Licences are short for the second group only after the first has taken its own. */
START_TEST(groups_share_a_pool)
{
    struct gang_amount a = {"lic", 2};
    struct gang_group_spec g[] = {group_of(1, 100, 0), group_of(1, 200, 0)};
    struct gang_request_spec spec = request_of(g, 2);
    int32_t lic;
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 3, &lic));
    for (int i = 0; i < 2; i++) {
        g[i].amounts = &a;
        g[i].amount_count = 1;
    }
    EXPECT_OUTCOME(stage_try(&s, &spec), GANG_ENEVER);
    MUST(gang_kind_resize(s.w, lic, 4));
    stage_alloc(&s, &spec);
    ck_assert_int_eq(gang_kind_resize(s.w, lic, 3), GANG_EBUSY);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("filter");
    TCase *tests = tcase_create("filter");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_loop_test(tests, label_rules_choose_the_nodes, 0, RULES);
    tcase_add_loop_test(tests, a_label_expression_chooses_the_nodes, 0, WHERES);
    tcase_add_test(tests, a_refusal_by_labels_says_so);
    tcase_add_test(tests, a_partition_is_one_of_the_nodes_own);
    tcase_add_test(tests, gpu_models_choose_the_nodes);
    tcase_add_test(tests, all_demands_hold_together);
    tcase_add_test(tests, each_group_has_demands_of_its_own);
    tcase_add_test(tests, countables_of_a_node_are_taken_and_given_back);
    tcase_add_test(tests, countables_and_pools_are_taken_together_or_not);
    tcase_add_test(tests, groups_share_a_pool);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
