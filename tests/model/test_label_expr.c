/* SPDX-License-Identifier: Apache-2.0 */
/* Label expressions: what they mean, what is refused and where, numbers. By value, without a
 * cluster; fuzz_label_expr.c compares with an independent reading. */
#include "model/label_expr.h"

#include "support.h"

static const struct gang_label labels[] = {{"os", "linux"}, {"gpu.memory", "80"},
                                           {"rack", "r1"},  {"empty", ""},
                                           {"in", "x y"},   {"load", "-0.50"}};
static const struct gang__labels here = {"n1", labels, sizeof(labels) / sizeof(labels[0])};

/* A compiled expression, in a block of exactly its size. */
struct compiled {
    gang_result result;
    struct gang__label_expr expr;
    struct gang_error error;
    char *memory;
};

static struct compiled compile(const char *text)
{
    struct compiled c = {.error = GANG_ERROR_INIT};
    struct gang__block size = {NULL, 0}, block = {NULL, 0};
    c.result = gang__label_expr_compile(text, &size, &c.expr, &c.error);
    if (c.result != GANG_OK)
        return c;
    size_t steps = c.expr.step_count;
    c.memory = block.base = malloc(size.used);
    ck_assert_ptr_nonnull(block.base);
    EXPECT_RESULT(gang__label_expr_compile(text, &block, &c.expr, &c.error), GANG_OK, &c.error);
    ck_assert_uint_eq(block.used, size.used);
    ck_assert_uint_eq(c.expr.step_count, steps);
    return c;
}

/* ---- meaning ---- */

struct truth {
    const char *text;
    bool holds;
};
static const struct truth truths[] = {
    {"os", true},
    {"exists os", true},
    {"none", false},
    {"empty", true},
    {"not none", true},
    {"not not os", true},
    {"not not not os", false},
    {"os = linux", true},
    {"os=linux", true},
    {"os = plan9", false},
    {"os != plan9", true},
    {"os != linux", false},
    {"none != linux", true},
    {"none = linux", false},
    {"empty = \"\"", true},
    {"\"os\" = \"linux\"", true},
    {"os = \"li\\nux\"", true}, /* the byte after a backslash, as it is */
    {"os in (linux)", true},
    {"os in (plan9, linux , \"x\")", true},
    {"os in(plan9)", false},
    {"os not in (plan9)", true},
    {"os not in (plan9,linux)", false},
    {"none not in (plan9)", true},
    {"node = n1", true},
    {"node in (n2, n3)", false},
    {"node", true},
    {"\"in\" = \"x y\"", true},
    {"rack = \"in\"", false},
    /* numbers */
    {"gpu.memory > 40", true},
    {"gpu.memory >= 80", true},
    {"gpu.memory >= 80.000", true},
    {"gpu.memory > 80", false},
    {"gpu.memory <= 80", true},
    {"gpu.memory < 80.1", true},
    {"gpu.memory<9", false}, /* not as text */
    {"load < 0", true},
    {"load >= -0.5", true},
    {"load > -0.50001", true},
    {"none < 5", false},
    {"none >= 5", false},
    {"os < 5", false},
    {"not os < 5", true},
    /* binding */
    {"none and none or os", true},
    {"os or none and none", true},
    {"(os or none) and none", false},
    {"not none and none", false},
    {"not (none and none)", true},
    {"not os or os", true},
    {"os and os = linux and rack in (r1, r2) and not none", true},
    {"none or none or none or os", true},
    {"((((os))))", true},
    {"(os and (none or (os and (none or not (none)))))", true},
    {" \t\r\nos\n", true},
};
enum { TRUTHS = sizeof(truths) / sizeof(truths[0]) };

START_TEST(an_expression_is_true_or_not)
{
    struct compiled c = compile(truths[_i].text);
    ck_assert_msg(c.result == GANG_OK, "%s: %s", truths[_i].text, c.error.text);
    ck_assert_msg(gang__label_expr_holds(&c.expr, &here) == truths[_i].holds, "%s",
                  truths[_i].text);
    free(c.memory);
}
END_TEST

START_TEST(no_expression_holds)
{
    struct gang__label_expr none = {NULL, NULL, 0};
    ck_assert(gang__label_expr_holds(&none, &here));
}
END_TEST

/* ---- what is refused ---- */

struct bad {
    const char *text;
    gang_result code;
    const char *message;
    int64_t column;
};
static const struct bad bads[] = {
    {"", GANG_EPARSE, "column 1: expected a label", 1},
    {"  ", GANG_EPARSE, "column 3: expected a label", 3},
    {"os =", GANG_EPARSE, "column 5: expected a value", 5},
    {"os = = x", GANG_EPARSE, "column 6: expected a value", 6},
    {"os == x", GANG_EPARSE, "column 5: expected a value", 5},
    {"os ! x", GANG_EPARSE, "column 4: unexpected character", 4},
    {"os & x", GANG_EPARSE, "column 4: unexpected character", 4},
    {"os = a b", GANG_EPARSE, "column 8: expected 'and', 'or' or the end", 8},
    {"os)", GANG_EPARSE, "column 3: expected 'and', 'or' or the end", 3},
    {"(os", GANG_EPARSE, "column 4: expected ')', 'and' or 'or'", 4},
    {"(os os", GANG_EPARSE, "column 5: expected ')', 'and' or 'or'", 5},
    {"()", GANG_EPARSE, "column 2: expected a label", 2},
    {"and", GANG_EPARSE, "column 1: expected a label", 1},
    {"os and", GANG_EPARSE, "column 7: expected a label", 7},
    {"os or and", GANG_EPARSE, "column 7: expected a label", 7},
    {"not", GANG_EPARSE, "column 4: expected a label", 4},
    {"exists", GANG_EPARSE, "column 7: expected a label", 7},
    {"exists (os)", GANG_EPARSE, "column 8: expected a label", 8},
    {"os in", GANG_EPARSE, "column 6: expected '('", 6},
    {"os in x", GANG_EPARSE, "column 7: expected '('", 7},
    {"os in ()", GANG_EPARSE, "column 8: expected a value", 8},
    {"os in (a", GANG_EPARSE, "column 9: expected ',' or ')'", 9},
    {"os in (a,)", GANG_EPARSE, "column 10: expected a value", 10},
    {"os in (a b)", GANG_EPARSE, "column 10: expected ',' or ')'", 10},
    {"os not x", GANG_EPARSE, "column 8: expected 'in'", 8},
    {"os not", GANG_EPARSE, "column 7: expected 'in'", 7},
    {"os = in", GANG_EPARSE, "column 6: expected a value", 6},
    {"a < x", GANG_EPARSE, "column 5: expected a number", 5},
    {"a < ", GANG_EPARSE, "column 5: expected a number", 5},
    {"a >= 1.", GANG_EPARSE, "column 6: expected a number", 6},
    {"a >= .5", GANG_EPARSE, "column 6: expected a number", 6},
    {"a > +5", GANG_EPARSE, "column 5: expected a number", 5},
    {"a > \"\"", GANG_EPARSE, "column 5: expected a number", 5},
    {"a > 1e3", GANG_EPARSE, "column 5: expected a number", 5},
    {"\"os", GANG_EPARSE, "column 1: the quotes are not closed", 1},
    {"\"os\\", GANG_EPARSE, "column 1: the quotes are not closed", 1},
    {"\"\"", GANG_EINVAL, "column 1: an empty label", 1},
    {"a = \"\x01\"", GANG_EINVAL, "column 5: not plain UTF-8 text", 5},
    {"a = \"\xff\"", GANG_EINVAL, "column 5: not plain UTF-8 text", 5},
    {"a = \xc3\xa4", GANG_EPARSE, "column 5: unexpected character", 5}, /* goes in quotes */
};
enum { BADS = sizeof(bads) / sizeof(bads[0]) };

START_TEST(a_fault_is_refused_with_its_column)
{
    const struct bad *bad = &bads[_i];
    struct compiled c = compile(bad->text);
    ck_assert_msg(c.result == bad->code, "%s: %s", bad->text, gang_result_name(c.result));
    ck_assert_int_eq(c.error.code, bad->code);
    ck_assert_str_eq(c.error.text, bad->message);
    ck_assert_str_eq(c.error.path, "");
    ck_assert_int_eq(c.error.column, bad->column);
    struct gang__block size = {NULL, 0};
    ck_assert_int_eq(gang__label_expr_compile(bad->text, &size, &c.expr, NULL), bad->code);
}
END_TEST

/* ---- limits ---- */

static char text[2 * GANG_MAX_WHERE];

static gang_result result_of(const char *expression)
{
    struct compiled c = compile(expression);
    free(c.result == GANG_OK ? c.memory : NULL);
    return c.result;
}

START_TEST(the_length_is_bounded)
{
    memset(text, ' ', GANG_MAX_WHERE);
    text[0] = 'a';
    ck_assert_int_eq(result_of(text), GANG_OK);
    text[GANG_MAX_WHERE] = ' ';
    ck_assert_int_eq(result_of(text), GANG_ELIMIT);
}
END_TEST

START_TEST(labels_and_values_have_255_bytes)
{
    for (int quoted = 0; quoted < 2; quoted++) {
        for (int length = GANG_MAX_NAME; length <= GANG_MAX_NAME + 1; length++) {
            memset(text, 'a', sizeof(text) - 1);
            snprintf(text + length + quoted, 10, "%s = b", quoted ? "\"" : "");
            text[0] = quoted ? '"' : 'a';
            ck_assert_int_eq(result_of(text), length > GANG_MAX_NAME ? GANG_ELIMIT : GANG_OK);
        }
    }
}
END_TEST

START_TEST(parentheses_are_bounded)
{
    for (int depth = GANG_MAX_WHERE_DEPTH; depth <= GANG_MAX_WHERE_DEPTH + 1; depth++) {
        /* Each level leaves a truth for "or" and one for "and" on the stack. */
        char *at = text;
        for (int i = 0; i < depth; i++)
            at += sprintf(at, "none or os and (");
        at += sprintf(at, "os");
        for (int i = 0; i < depth; i++)
            at += sprintf(at, ")");
        struct compiled c = compile(text);
        EXPECT_RESULT(c.result, depth > GANG_MAX_WHERE_DEPTH ? GANG_ELIMIT : GANG_OK, &c.error);
        if (c.result != GANG_OK)
            continue;
        ck_assert(gang__label_expr_holds(&c.expr, &here));
        free(c.memory);
    }
    text[0] = '\0';
    for (int i = 0; i < 1000; i++) /* one beside the other, as many as fit */
        strcat(text, "not ");
    strcat(text, "none");
    ck_assert_int_eq(result_of(text), GANG_OK);
}
END_TEST

/* ---- numbers ---- */

START_TEST(decimals_are_distinct_from_other_text)
{
    const char *const good[] = {"0", "-0", "007", "12.5", "-12.500", "0.0", "99999999999999999999"};
    const char *const wrong[] = {"",   "-",  ".",   "1.",    ".1",  "+1", "1e5",
                                 " 1", "1 ", "--1", "1.2.3", "0x1", "1,5"};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ck_assert_msg(gang__is_decimal(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ck_assert_msg(!gang__is_decimal(wrong[i]), "%s", wrong[i]);
}
END_TEST

START_TEST(decimals_are_compared_exactly)
{
    /* Each is below the next; those in one string with a space between are equal. */
    static const char *const order[][2] = {
        {"-99999999999999999999", "-99999999999999999999.0"},
        {"-99999999999999999998.999999999999999999", "-099999999999999999998.999999999999999999"},
        {"-12.5", "-12.50"},
        {"-12.49", "-012.490"},
        {"-1", "-1.000"},
        {"-0.0001", "-0.00010"},
        {"0", "-0"},
        {"0.000000000000000000000000000000000000000000001",
         "0.0000000000000000000000000000000000000000000010"},
        {"0.1", "00.1"},
        {"0.10000000000000000000000000000001", "0.100000000000000000000000000000010"},
        {"3", "3.0"},
        {"10", "010"},
        {"10.01", "10.010"},
        {"100", "100.0"},
        {"18446744073709551616", "18446744073709551616.0"},
        {"18446744073709551616.5", "18446744073709551616.50"},
        {"18446744073709551617", "018446744073709551617"},
    };
    const size_t count = sizeof(order) / sizeof(order[0]);
    for (size_t i = 0; i < 2 * count; i++) {
        for (size_t k = 0; k < 2 * count; k++) {
            const char *a = order[i / 2][i % 2], *b = order[k / 2][k % 2];
            int want = i / 2 < k / 2 ? -1 : i / 2 > k / 2, is = gang__decimal_order(a, b);
            ck_assert_msg((is > 0) - (is < 0) == want, "%s %s", a, b);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("label expressions");
    TCase *tests = tcase_create("expressions");
    tcase_add_loop_test(tests, an_expression_is_true_or_not, 0, TRUTHS);
    tcase_add_test(tests, no_expression_holds);
    tcase_add_loop_test(tests, a_fault_is_refused_with_its_column, 0, BADS);
    tcase_add_test(tests, the_length_is_bounded);
    tcase_add_test(tests, labels_and_values_have_255_bytes);
    tcase_add_test(tests, parentheses_are_bounded);
    tcase_add_test(tests, decimals_are_distinct_from_other_text);
    tcase_add_test(tests, decimals_are_compared_exactly);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
