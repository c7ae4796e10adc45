/* SPDX-License-Identifier: Apache-2.0 */
/* place.h: checking and compiling requests. */
#include <gangsched/gangsched.h>

#include "support.h"

static struct stage s;
static const char *const levels[] = {"zone", "rack"};

/* A request that uses every member, to be broken in one place. */
static struct gang_group_spec group[2];
static struct gang_group_set_spec set[2];
static struct gang_amount amount[2];
static struct gang_label_rule rule[3];
static const char *value[3], *model[2];
static struct gang_request_spec spec;

static char long_name[GANG_MAX_NAME + 2]; /* one byte too long */

static void open_stage(void)
{
    stage_open(&s, levels, 2);
    MUST(gang_kind_add(s.w, "nic", NULL, GANG_SCOPE_NODE, 0, NULL));
    MUST(gang_kind_add(s.w, "lic", NULL, GANG_SCOPE_CLUSTER, 9, NULL));
    memset(long_name, 'x', GANG_MAX_NAME + 1);
    value[0] = "linux";
    value[1] = "";
    value[2] = "-12.5";
    model[0] = "V100";
    model[1] = "T4";
    amount[0] = (struct gang_amount){"nic", 1};
    amount[1] = (struct gang_amount){"lic", 0};
    rule[0] = (struct gang_label_rule){"os", value, 2, GANG_LABEL_IN, 0};
    rule[1] = (struct gang_label_rule){"old", NULL, 0, GANG_LABEL_NOT_EXISTS, 0};
    rule[2] = (struct gang_label_rule){"age", &value[2], 1, GANG_LABEL_GT, 0};
    for (int i = 0; i < 2; i++) {
        group[i] = group_of(4, 1000, 250);
        group[i].name = i ? "b" : "a";
        group[i].min = 2;
        group[i].memory_bytes = GIB;
        group[i].gpu_devices = 2;
        group[i].partition = "batch";
        group[i].same = "zone";
        group[i].prefer = "rack";
        group[i].group_set = 1;
        set[i] = (struct gang_group_set_spec)GANG_GROUP_SET_SPEC_INIT;
        set[i].name = "s";
        set[i].parent = i - 1;
        set[i].same = "zone";
    }
    group[1].amounts = amount;
    group[1].amount_count = 2;
    group[1].labels = rule;
    group[1].label_count = 3;
    group[1].where = "os in (linux, \"\") and not (old or age > 3)";
    group[1].models_ranked = 1;
    group[1].gpu_models = model;
    group[1].gpu_model_count = 2;
    spec = request_of(group, 2);
    spec.group_sets = set;
    spec.group_set_count = 2;
    spec.same = "zone";
    spec.prefer = "rack";
}

static void close_stage(void)
{
    stage_close(&s);
}

START_TEST(a_request_that_uses_everything_is_compiled)
{
    gang_request *request = NULL;
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_OK, &error);
    ck_assert_ptr_nonnull(request);
    gang_request_free(request);
    gang_request_free(NULL);
}
END_TEST

/* ---- one fault at a time ---- */

/* One member of the request gets another value. */
struct fault {
    gang_result code;
    const char *path;
    int64_t *wide;
    int32_t *narrow;
    size_t *size;
    const char **text;
    int64_t number;
    const char *word;
};

#define G group[1]
static const struct fault faults[] = {
    {GANG_EINVAL, "groups", .size = &spec.group_count, .number = 0},
    {GANG_ELIMIT, "groups", .size = &spec.group_count, .number = 4096},
    {GANG_ELIMIT, "group_sets", .size = &spec.group_set_count, .number = 4096},
    {GANG_EINVAL, "policy", .narrow = &spec.policy, .number = GANG_POLICY_HOST + 1},
    {GANG_EINVAL, "score", .narrow = &spec.policy, .number = GANG_POLICY_HOST},
    {GANG_EINVAL, "gpu_nodes", .narrow = &spec.gpu_nodes, .number = 3},
    {GANG_EINVAL, "exclusive", .narrow = &spec.exclusive, .number = 2},
    {GANG_EINVAL, "labels", .size = &spec.label_count, .number = 1},
    {GANG_EINVAL, "affinity", .size = &spec.affinity_count, .number = 1},
    {GANG_EINVAL, "policy", .narrow = &spec.policy, .number = -1},
    {GANG_EINVAL, "reserved0", .narrow = &spec.reserved0, .number = 1},
    {GANG_ERANGE, "min", .wide = &spec.min, .number = -1},
    {GANG_ERANGE, "min", .wide = &spec.min, .number = 9}, /* of 8 tasks */
    {GANG_ENOENT, "same", .text = &spec.same, .word = "row"},
    {GANG_ENOENT, "prefer", .text = &spec.prefer, .word = ""},
    {GANG_EINVAL, "groups[1].name", .text = &G.name, .word = ""},
    {GANG_ELIMIT, "groups[1].name", .text = &G.name, .word = long_name},
    {GANG_EINVAL, "groups[1].name", .text = &G.name, .word = "a\xff"},
    {GANG_EINVAL, "groups[1].name", .text = &G.name, .word = "a\n"},
    {GANG_ERANGE, "groups[1].count", .wide = &G.count, .number = 0},
    {GANG_ERANGE, "groups[1].count", .wide = &G.count, .number = -1},
    {GANG_ERANGE, "groups[1].count", .wide = &G.count, .number = (1 << 24) + 1},
    {GANG_ERANGE, "groups[1].min", .wide = &G.min, .number = -1},
    {GANG_ERANGE, "groups[1].min", .wide = &G.min, .number = 5},
    {GANG_ERANGE, "groups[1].cpu_milli", .wide = &G.cpu_milli, .number = -1},
    {GANG_ERANGE, "groups[1].cpu_milli", .wide = &G.cpu_milli, .number = INT64_C(1) << 32},
    {GANG_ERANGE, "groups[1].memory_bytes", .wide = &G.memory_bytes, .number = -1},
    {GANG_ERANGE, "groups[1].memory_bytes", .wide = &G.memory_bytes,
     .number = GANG_MAX_AMOUNT * GANG_PAGE_BYTES + 1},
    {GANG_ERANGE, "groups[1].gpu_milli", .wide = &G.gpu_milli, .number = -1},
    {GANG_ERANGE, "groups[1].gpu_milli", .wide = &G.gpu_milli, .number = 65000},
    {GANG_EINVAL, "groups[1].gpu_milli", .wide = &G.gpu_milli, .number = 1500},
    {GANG_EINVAL, "groups[1].gpu_devices", .wide = &G.gpu_milli, .number = 3000}, /* not 2 */
    {GANG_EINVAL, "groups[1].gpu_devices", .wide = &G.gpu_milli, .number = 0},    /* of nothing */
    {GANG_ERANGE, "groups[1].gpu_memory_bytes", .wide = &G.gpu_memory_bytes, .number = -1},
    {GANG_EINVAL, "groups[1].gpu_memory_bytes", .wide = &G.gpu_memory_bytes, .number = 1},
    {GANG_ERANGE, "groups[1].gpu_devices", .wide = &G.gpu_devices, .number = -1},
    {GANG_ERANGE, "groups[1].gpu_devices", .wide = &G.gpu_devices, .number = 65},
    {GANG_EINVAL, "groups[1].same_devices", .narrow = &G.same_devices, .number = 2},
    {GANG_EINVAL, "groups[1].numa", .narrow = &G.numa, .number = 3},
    {GANG_EINVAL, "groups[1].near_nic", .narrow = &G.near_nic, .number = 2},
    {GANG_EINVAL, "groups[1].models_ranked", .narrow = &G.models_ranked, .number = -1},
    {GANG_EINVAL, "groups[1].spread_soft", .narrow = &G.spread_soft, .number = 1},
    {GANG_EINVAL, "groups[1].profile", .text = &G.profile, .word = "1g.5gb"}, /* of half a GPU */
    {GANG_ERANGE, "groups[1].subgroup_size", .wide = &G.subgroup_size, .number = -1},
    {GANG_EINVAL, "groups[1].subgroup_size", .wide = &G.subgroup_size,
     .number = 1}, /* of no level */
    {GANG_EINVAL, "groups[1].subgroup_size", .text = &G.subgroup_same, .word = "rack"},
    {GANG_ERANGE, "groups[1].max_skew", .wide = &G.max_skew, .number = -1},
    {GANG_EINVAL, "groups[1].max_skew", .wide = &G.max_skew, .number = 1},
    {GANG_ERANGE, "groups[1].max_per_node", .wide = &G.max_per_node, .number = -1},
    {GANG_EINVAL, "groups[1].max_per_domain", .wide = &G.max_per_domain, .number = 1},
    {GANG_EINVAL, "groups[1].group_set", .narrow = &G.group_set, .number = 2},
    {GANG_EINVAL, "groups[1].group_set", .narrow = &G.group_set, .number = -2},
    {GANG_ENOENT, "groups[1].same", .text = &G.same, .word = "row"},
    {GANG_ENOENT, "groups[1].prefer", .text = &G.prefer, .word = "row"},
    {GANG_EINVAL, "groups[1].partition", .text = &G.partition, .word = ""},
    {GANG_ELIMIT, "groups[1].partition", .text = &G.partition, .word = long_name},
    {GANG_ENOENT, "groups[1].amounts[0].kind", .text = &amount[0].kind, .word = "tape"},
    {GANG_EINVAL, "groups[1].amounts[0].kind", .text = &amount[0].kind, .word = "cpu"},
    {GANG_EINVAL, "groups[1].amounts[0].kind", .text = &amount[0].kind, .word = NULL},
    {GANG_EINVAL, "groups[1].amounts[1].kind", .text = &amount[1].kind, .word = "nic"},
    {GANG_ERANGE, "groups[1].amounts[0].amount", .wide = &amount[0].amount, .number = -1},
    {GANG_ERANGE, "groups[1].amounts[0].amount", .wide = &amount[0].amount,
     .number = GANG_MAX_AMOUNT + 1},
    {GANG_EINVAL, "groups[1].labels[0].key", .text = &rule[0].key, .word = NULL},
    {GANG_EINVAL, "groups[1].labels[0].key", .text = &rule[0].key, .word = ""},
    {GANG_ELIMIT, "groups[1].labels[0].key", .text = &rule[0].key, .word = long_name},
    {GANG_EINVAL, "groups[1].labels[1].op", .narrow = &rule[1].op, .number = 8},
    {GANG_EINVAL, "groups[1].labels[1].values", .narrow = &rule[1].op, .number = GANG_LABEL_LT},
    {GANG_EINVAL, "groups[1].labels[0].values", .narrow = &rule[0].op, .number = GANG_LABEL_GE},
    {GANG_EINVAL, "groups[1].labels[2].values", .text = &value[2], .word = "1e5"},
    {GANG_EINVAL, "groups[1].labels[2].values", .text = &value[2], .word = ""},
    {GANG_EPARSE, "groups[1].where", .text = &G.where, .word = "os = "},
    {GANG_EPARSE, "groups[1].where", .text = &G.where, .word = ""},
    {GANG_EINVAL, "groups[1].where", .text = &G.where, .word = "os = \"\xff\""},
    {GANG_ELIMIT, "groups[1].where", .text = &G.where, .word = long_name},
    {GANG_EINVAL, "groups[1].labels[1].op", .narrow = &rule[1].op, .number = -1},
    {GANG_EINVAL, "groups[1].labels[0].reserved0", .narrow = &rule[0].reserved0, .number = 1},
    {GANG_EINVAL, "groups[1].labels[0].values", .size = &rule[0].value_count, .number = 0},
    {GANG_EINVAL, "groups[1].labels[0].values", .narrow = &rule[0].op,
     .number = GANG_LABEL_EXISTS}, /* takes none */
    {GANG_EINVAL, "groups[1].labels[0].values", .text = &value[1], .word = NULL},
    {GANG_ELIMIT, "groups[1].labels[0].values", .text = &value[1], .word = long_name},
    {GANG_EINVAL, "groups[1].gpu_models[1]", .text = &model[1], .word = NULL},
    {GANG_EINVAL, "groups[1].gpu_models[1]", .text = &model[1], .word = ""},
    {GANG_ELIMIT, "groups[1].gpu_models[1]", .text = &model[1], .word = long_name},
    {GANG_EINVAL, "group_sets[1].name", .text = &set[1].name, .word = ""},
    {GANG_ELIMIT, "group_sets[1].name", .text = &set[1].name, .word = long_name},
    {GANG_ECYCLE, "group_sets[1].parent", .narrow = &set[1].parent, .number = 1},
    {GANG_ECYCLE, "group_sets[0].parent", .narrow = &set[0].parent, .number = 1},
    {GANG_EINVAL, "group_sets[1].parent", .narrow = &set[1].parent, .number = 2},
    {GANG_EINVAL, "group_sets[1].parent", .narrow = &set[1].parent, .number = -2},
    {GANG_EINVAL, "group_sets[1].reserved0", .narrow = &set[1].reserved0, .number = 1},
    {GANG_ERANGE, "group_sets[1].min", .wide = &set[1].min, .number = -1},
    {GANG_ERANGE, "group_sets[1].min", .wide = &set[1].min, .number = 9},
    {GANG_ENOENT, "group_sets[1].same", .text = &set[1].same, .word = "row"},
    {GANG_ENOENT, "group_sets[1].prefer", .text = &set[1].prefer, .word = "row"},
};
#undef G
enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

START_TEST(a_fault_is_refused_with_its_path)
{
    const struct fault *fault = &faults[_i];
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request = (gang_request *)&error;
    long live = s.mem.live;
    if (fault->wide)
        *fault->wide = fault->number;
    if (fault->narrow)
        *fault->narrow = (int32_t)fault->number;
    if (fault->size)
        *fault->size = (size_t)fault->number;
    if (fault->text)
        *fault->text = fault->word;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), fault->code, &error);
    ck_assert_ptr_null(request);
    ck_assert_int_eq(error.code, fault->code);
    ck_assert_str_eq(error.path, fault->path);
    ck_assert_str_ne(error.text, "");
    ck_assert_int_eq(s.mem.live, live);
    ck_assert_int_eq(gang_request_new(s.c, &spec, &request, NULL), fault->code);
}
END_TEST

START_TEST(a_count_without_its_array_is_refused)
{
    gang_request *request;
    struct gang_request_spec own = spec;
    own.groups = NULL;
    ck_assert_int_eq(gang_request_new(s.c, &own, &request, NULL), GANG_EINVAL);
    own = spec;
    own.group_sets = NULL;
    ck_assert_int_eq(gang_request_new(s.c, &own, &request, NULL), GANG_EINVAL);
    group[1].amounts = NULL;
    ck_assert_int_eq(gang_request_new(s.c, &spec, &request, NULL), GANG_EINVAL);
    group[1].amounts = amount;
    group[1].labels = NULL;
    ck_assert_int_eq(gang_request_new(s.c, &spec, &request, NULL), GANG_EINVAL);
    group[1].labels = rule;
    group[1].gpu_models = NULL;
    ck_assert_int_eq(gang_request_new(s.c, &spec, &request, NULL), GANG_EINVAL);
    group[1].gpu_models = model;
    rule[0].values = NULL;
    ck_assert_int_eq(gang_request_new(s.c, &spec, &request, NULL), GANG_EINVAL);
    rule[0].values = value;
    gang_request_free(stage_request(&s, &spec));
}
END_TEST

/* ---- what is just allowed ---- */

START_TEST(the_limits_themselves_are_allowed)
{
    struct gang_group_spec g = group_of(1 << 24, GANG_MAX_CPU_MILLI, 64000);
    long_name[GANG_MAX_NAME] = '\0';
    g.memory_bytes = GANG_MAX_AMOUNT * GANG_PAGE_BYTES;
    g.gpu_devices = 64;
    g.name = g.partition = long_name;
    g.min = 0;
    spec = request_of(&g, 1);
    spec.min = 1 << 24;
    gang_request_free(stage_request(&s, &spec));
    g.gpu_milli = 999;
    gang_request_free(stage_request(&s, &spec));
    g.gpu_milli = 0;
    g.gpu_memory_bytes = INT64_C(1) << 50;
    gang_request_free(stage_request(&s, &spec));
    g = group_of(1, 0, 0); /* asks for nothing at all */
    spec = request_of(&g, 1);
    gang_request_free(stage_request(&s, &spec));
}
END_TEST

START_TEST(there_may_be_4095_groups_and_sets)
{
    static struct gang_group_spec groups[4095];
    static struct gang_group_set_spec sets[4095];
    for (int i = 0; i < 4095; i++) {
        groups[i] = group_of(1, 1000, 0);
        groups[i].group_set = i;
        sets[i] = (struct gang_group_set_spec)GANG_GROUP_SET_SPEC_INIT;
        sets[i].parent = i - 1;
    }
    spec = request_of(groups, 4095);
    spec.group_sets = sets;
    spec.group_set_count = 4095;
    gang_request_free(stage_request(&s, &spec));
}
END_TEST

START_TEST(too_many_tasks_over_all_groups_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    group[0] = group_of(1 << 24, 1, 0);
    group[1] = group_of(1, 1, 0);
    spec = request_of(group, 2);
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_ELIMIT, &error);
    ck_assert_str_eq(error.path, "groups");
    group[0].count = group[0].min = (1 << 24) - 1;
    gang_request_free(stage_request(&s, &spec));
}
END_TEST

START_TEST(a_request_needs_a_minimum)
{
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(4, 1000, 0);
    gang_request *request;
    g.min = 0;
    spec = request_of(&g, 1);
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    ck_assert_str_eq(error.path, "min");
    ck_assert_ptr_null(request);
    spec.min = 1;
    gang_request_free(stage_request(&s, &spec));
    struct gang_group_set_spec one = GANG_GROUP_SET_SPEC_INIT;
    g.group_set = 0;
    spec.min = 0;
    spec.group_sets = &one;
    spec.group_set_count = 1;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    one.min = 2;
    gang_request_free(stage_request(&s, &spec));
}
END_TEST

START_TEST(a_label_expression_is_refused_with_its_column)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    group[1].where = "os = linux or (zone = 1";
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EPARSE, &error);
    ck_assert_str_eq(error.path, "groups[1].where");
    ck_assert_str_eq(error.text, "column 24: expected ')', 'and' or 'or'");
    ck_assert_int_eq(error.column, 24);
}
END_TEST

START_TEST(ranked_models_are_64_at_most)
{
    const char *many[65];
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    for (int i = 0; i < 65; i++)
        many[i] = "T4";
    group[1].gpu_models = many;
    group[1].gpu_model_count = 65;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_ELIMIT, &error);
    ck_assert_str_eq(error.path, "groups[1].gpu_models");
    group[1].gpu_model_count = 64;
    gang_request_free(stage_request(&s, &spec));
    group[1].models_ranked = 0;
    group[1].gpu_model_count = 65;
    gang_request_free(stage_request(&s, &spec));
}
END_TEST

START_TEST(too_many_amounts_are_refused)
{
    struct gang_amount many[GANG_MAX_KINDS + 1];
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    for (int i = 0; i <= GANG_MAX_KINDS; i++)
        many[i] = (struct gang_amount){"nic", 1};
    group[1].amounts = many;
    group[1].amount_count = GANG_MAX_KINDS + 1;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_ELIMIT, &error);
    ck_assert_str_eq(error.path, "groups[1].amounts");
}
END_TEST

START_TEST(missing_arguments_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request = (gang_request *)&error;
    EXPECT_RESULT(gang_request_new(NULL, &spec, &request, &error), GANG_EINVAL, &error);
    ck_assert_ptr_null(request);
    ck_assert_int_eq(error.code, GANG_EINVAL);
    request = (gang_request *)&error;
    ck_assert_int_eq(gang_request_new(s.c, NULL, &request, NULL), GANG_EINVAL);
    ck_assert_ptr_null(request);
    ck_assert_int_eq(gang_request_new(s.c, &spec, NULL, NULL), GANG_EINVAL);
}
END_TEST

/* ---- struct sizes ---- */

START_TEST(the_request_follows_the_size_rule)
{
    struct {
        struct gang_request_spec known;
        char more[16];
    } longer;
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    memset(&longer, 0, sizeof(longer));
    longer.known = spec;
    longer.known.size = sizeof(longer);
    gang_request_free(stage_request(&s, &longer.known));
    longer.more[15] = 1;
    EXPECT_RESULT(gang_request_new(s.c, &longer.known, &request, &error), GANG_E2BIG, &error);
    const size_t bad[] = {0, sizeof(spec) - 1, SIZE_MAX};
    for (size_t i = 0; i < 3; i++) {
        spec.size = bad[i];
        EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
        ck_assert_str_eq(error.path, "size");
        ck_assert_ptr_null(request);
    }
}
END_TEST

START_TEST(elements_follow_the_size_rule)
{
    struct {
        struct gang_group_spec known;
        int64_t more[2];
    } groups[2];
    struct {
        struct gang_group_set_spec known;
        int64_t more[2];
    } sets[2];
    struct gang_error error = GANG_ERROR_INIT;
    gang_request *request;
    memset(groups, 0, sizeof(groups));
    memset(sets, 0, sizeof(sets));
    for (int i = 0; i < 2; i++) {
        groups[i].known = group[i];
        groups[i].known.size = sizeof(groups[i]);
        sets[i].known = set[i];
        sets[i].known.size = sizeof(sets[i]);
    }
    spec.groups = &groups[0].known;
    spec.group_size = sizeof(groups[0]);
    spec.group_sets = &sets[0].known;
    spec.group_set_size = sizeof(sets[0]);
    gang_request_free(stage_request(&s, &spec));
    groups[1].known.count = 0; /* the second one is read where it is */
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_ERANGE, &error);
    ck_assert_str_eq(error.path, "groups[1].count");
    groups[1].known.count = 4;
    groups[1].more[1] = 1;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_E2BIG, &error);
    ck_assert_int_eq(strncmp(error.path, "groups[1]", 9), 0);
    groups[1].more[1] = 0;
    sets[1].more[0] = 1;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_E2BIG, &error);
    ck_assert_int_eq(strncmp(error.path, "group_sets[1]", 13), 0);
    sets[1].more[0] = 0;
    groups[0].known.size = 0;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    ck_assert_int_eq(strncmp(error.path, "groups[0]", 9), 0);
    groups[0].known.size = sizeof(groups[0]);
    sets[0].known.size = sizeof(sets[0].known) - 1;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    ck_assert_int_eq(strncmp(error.path, "group_sets[0]", 13), 0);
    sets[0].known.size = sizeof(sets[0]);
    spec.group_size = sizeof(group[0]) - 8;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    spec.group_size = SIZE_MAX;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    spec.group_size = sizeof(groups[0]);
    spec.group_set_size = 0;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    spec.group_set_size = SIZE_MAX;
    EXPECT_RESULT(gang_request_new(s.c, &spec, &request, &error), GANG_EINVAL, &error);
    ck_assert_ptr_null(request);
}
END_TEST

/* ---- what becomes of it ---- */

START_TEST(a_request_is_copied)
{
    char name[] = "worker", os[] = "os", linux_[] = "linux", v100[] = "V100", batch[] = "batch";
    const char *values = linux_, *models = v100;
    struct gang_label_rule own_rule = {os, &values, 1, GANG_LABEL_IN, 0};
    struct gang_amount own_amount = {"nic", 1};
    struct gang_group_spec g = group_of(1, 1000, 1000);
    g.name = name;
    g.labels = &own_rule;
    g.label_count = 1;
    g.gpu_models = &models;
    g.gpu_model_count = 1;
    g.partition = batch;
    g.amounts = &own_amount;
    g.amount_count = 1;
    struct gang_request_spec own = request_of(&g, 1);
    gang_request *request = stage_request(&s, &own);
    memset(name, 'x', 6);
    memset(os, 'x', 2);
    memset(linux_, 'x', 5);
    memset(v100, 'x', 4);
    memset(batch, 'x', 5);
    values = models = NULL;
    memset(&own_rule, 0x5a, sizeof(own_rule));
    memset(&own_amount, 0x5a, sizeof(own_amount));
    memset(&g, 0x5a, sizeof(g));
    memset(&own, 0x5a, sizeof(own));
    struct box box = {.name = "n1",
                      .cpu = 1000,
                      .gpus = 1,
                      .model = "V100",
                      .labels = LIST(struct gang_label, {"os", "linux"}),
                      .partitions = LIST(const char *, "batch"),
                      .amounts = LIST(struct gang_amount, {"nic", 1})};
    gang_node_id id = stage_add(&s, &box);
    gang_alloc_id held;
    MUST(gang_alloc(s.w, request, &held, NULL));
    ck_assert_int_eq(stage_node(&s, id).amount_free[GANG_KIND_SITE], 0);
    gang_request_free(request);
}
END_TEST

START_TEST(an_allocation_keeps_its_request_alive)
{
    struct box box = {.name = "n1", .cpu = 4000};
    stage_add(&s, &box);
    struct gang_group_spec g = group_of(3, 1000, 0);
    g.min = 1;
    long live = 0;
    for (int i = 0; i < 3; i++) {
        gang_alloc_id id = stage_alloc_group(&s, &g); /* gives the request up */
        struct gang_alloc_info info = GANG_ALLOC_INFO_INIT;
        MUST(gang_alloc_grow(s.w, id, 0, 2, NULL, NULL));
        MUST(gang_alloc_get(s.c, id, &info));
        ck_assert_int_eq(info.tasks, 3);
        ck_assert_int_eq(info.count, 3);
        MUST(gang_alloc_free(s.w, id)); /* and the request with it */
        if (i > 0)
            ck_assert_int_eq(s.mem.live, live);
        live = s.mem.live;
    }
}
END_TEST

/* An allocator that keeps freed memory, overwritten by zeros: a late reader finds a reference count
 * of zero and frees it a second time. */
struct kept {
    struct kept *next;
    size_t bytes;
    bool is_released;
};
static struct kept *kept;

static void *kept_alloc(size_t bytes, void *user)
{
    struct kept *k = malloc(sizeof(*k) + bytes);
    (void)user;
    ck_assert_ptr_nonnull(k);
    *k = (struct kept){kept, bytes, false};
    kept = k;
    return k + 1;
}

static void kept_release(void *memory, void *user)
{
    struct kept *k = (struct kept *)memory - 1;
    (void)user;
    ck_assert(!k->is_released);
    k->is_released = true;
    memset(memory, 0, k->bytes);
}

/* Workers keep references to the request they used last: `tasks` allocations, for which it may have
 * exactly none left. */
static void use_up_references(int tasks)
{
    enum { MOST = 520 };
    struct gang_mem mem = {sizeof(mem), kept_alloc, kept_release, NULL};
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    struct stage t, giver;
    gang_alloc_id id[MOST];
    opts.mem = &mem;
    MUST(gang_cluster_new(&opts, &t.c, NULL));
    MUST(gang_worker_new(t.c, &t.w));
    giver.c = t.c;
    MUST(gang_worker_new(t.c, &giver.w));
    struct box box = {.name = "n1", .cpu = MOST};
    stage_add(&t, &box);
    struct gang_group_spec g = group_of(1, 1, 0);
    struct gang_request_spec one = request_of(&g, 1);
    gang_request *first = stage_request(&t, &one), *second = stage_request(&t, &one);
    for (int i = 0; i < tasks; i++)
        MUST(gang_alloc(t.w, first, &id[i], NULL));
    for (int i = 0; i < tasks; i++)
        MUST(gang_alloc_free(giver.w, id[i]));
    gang_request_free(first);
    MUST(gang_alloc(t.w, second, &id[0], NULL));
    MUST(gang_alloc_free(t.w, id[0]));
    gang_request_free(second);
    stage_check(&t);
    gang_cluster_free(t.c);
    while (kept) {
        struct kept *next = kept->next;
        ck_assert(kept->is_released);
        free(kept);
        kept = next;
    }
}

START_TEST(a_worker_forgets_a_request_that_ended)
{
    static const int tasks[] = {1, 255, 256, 257, 512, 513};
    for (size_t i = 0; i < sizeof(tasks) / sizeof(tasks[0]); i++)
        use_up_references(tasks[i]);
}
END_TEST

START_TEST(one_request_serves_many_allocations)
{
    struct box box = {.name = "n1", .cpu = 4000};
    stage_add(&s, &box);
    struct gang_group_spec g = group_of(1, 1000, 0);
    struct gang_request_spec one = request_of(&g, 1);
    gang_request *request = stage_request(&s, &one);
    gang_alloc_id id[5];
    for (int i = 0; i < 4; i++)
        MUST(gang_alloc(s.w, request, &id[i], NULL));
    ck_assert_int_eq(gang_alloc(s.w, request, &id[4], NULL), GANG_ENOFIT);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < i; k++)
            ck_assert_uint_ne(id[i], id[k]);
    gang_request_free(request);
}
END_TEST

START_TEST(a_request_belongs_to_its_cluster)
{
    struct stage other;
    struct gang_error error = GANG_ERROR_INIT;
    struct gang_group_spec g = group_of(1, 0, 0);
    struct gang_request_spec one = request_of(&g, 1);
    gang_alloc_id id = 1;
    stage_open(&other, NULL, 0);
    gang_request *request = stage_request(&other, &one);
    EXPECT_RESULT(gang_alloc(s.w, request, &id, &error), GANG_EINVAL, &error);
    ck_assert_uint_eq(id, GANG_ID_NONE);
    ck_assert_int_eq(error.code, GANG_EINVAL);
    ck_assert_int_eq(gang_alloc_test(s.w, request, NULL), GANG_EINVAL);
    ck_assert_int_eq(gang_request_fits_ever(s.w, request, NULL), GANG_EINVAL);
    gang_request_free(request);
    stage_close(&other);
}
END_TEST

START_TEST(policies_have_names)
{
    static const char *const name[] = {
        "default",  "pack",        "spread",      "first",          "topology", "fgd",
        "best-fit", "dot-product", "gpu-packing", "gpu-clustering", "headroom", "host"};
    enum { NAMES = sizeof(name) / sizeof(name[0]) };
    int32_t policy = 17;
    for (int32_t i = 0; i < NAMES; i++) {
        ck_assert_str_eq(gang_policy_name(i), name[i]);
        MUST(gang_policy_find(name[i], &policy));
        ck_assert_int_eq(policy, i);
    }
    ck_assert_ptr_null(gang_policy_name(NAMES));
    ck_assert_ptr_null(gang_policy_name(-1));
    policy = 17;
    ck_assert_int_eq(gang_policy_find("best", &policy), GANG_ENOENT);
    ck_assert_int_eq(policy, 0);
    ck_assert_int_eq(gang_policy_find("", &policy), GANG_ENOENT);
    ck_assert_int_eq(gang_policy_find(NULL, &policy), GANG_EINVAL);
    ck_assert_int_eq(gang_policy_find("pack", NULL), GANG_EINVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request");
    TCase *tests = tcase_create("request");
    tcase_add_checked_fixture(tests, open_stage, close_stage);
    tcase_add_test(tests, a_request_that_uses_everything_is_compiled);
    tcase_add_loop_test(tests, a_fault_is_refused_with_its_path, 0, FAULTS);
    tcase_add_test(tests, a_count_without_its_array_is_refused);
    tcase_add_test(tests, the_limits_themselves_are_allowed);
    tcase_add_test(tests, there_may_be_4095_groups_and_sets);
    tcase_add_test(tests, too_many_tasks_over_all_groups_are_refused);
    tcase_add_test(tests, a_request_needs_a_minimum);
    tcase_add_test(tests, a_label_expression_is_refused_with_its_column);
    tcase_add_test(tests, ranked_models_are_64_at_most);
    tcase_add_test(tests, too_many_amounts_are_refused);
    tcase_add_test(tests, missing_arguments_are_refused);
    tcase_add_test(tests, the_request_follows_the_size_rule);
    tcase_add_test(tests, elements_follow_the_size_rule);
    tcase_add_test(tests, a_request_is_copied);
    tcase_add_test(tests, an_allocation_keeps_its_request_alive);
    tcase_add_test(tests, a_worker_forgets_a_request_that_ended);
    tcase_add_test(tests, one_request_serves_many_allocations);
    tcase_add_test(tests, a_request_belongs_to_its_cluster);
    tcase_add_test(tests, policies_have_names);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
