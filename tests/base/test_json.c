/* SPDX-License-Identifier: Apache-2.0 */
/* The strict JSON parser, cursor and writer of lib/base/json/json.c. */
#include "base/json/json.h"

#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

static const struct gang__json_limits limits = {1 << 20, 8, 20};

static gang_result parse(const char *text, size_t length, json_t **root, struct gang_error *error)
{
    return gang__json_parse(text, length, &limits, &gang__mem_libc, root, error);
}

static json_t *parse_good(const char *text)
{
    struct gang_error error = GANG_ERROR_INIT;
    json_t *root;
    gang_result result = parse(text, strlen(text), &root, &error);
    ck_assert_msg(result == GANG_OK, "%s: %s %s", text, error.path, error.text);
    return root;
}

/* ---- parser ---------------------------------------------------------------------------------- */

struct bad {
    const char *text;
    size_t length; /* 0: up to the NUL */
    gang_result code;
    const char *path;
    int64_t line;
    int64_t column;
};

static const struct bad bad_texts[] = {
    {"", 0, GANG_EPARSE, "", 1, 1},
    {" \n ", 0, GANG_EPARSE, "", 2, 2},
    {"1", 0, GANG_EPARSE, "", 1, 1},
    {"\"a\"", 0, GANG_EPARSE, "", 1, 1},
    {"null", 0, GANG_EPARSE, "", 1, 1},
    {"\xef\xbb\xbf{}", 0, GANG_EPARSE, "", 1, 1},
    {"{}x", 0, GANG_EPARSE, "", 1, 3},
    {"{} {}", 0, GANG_EPARSE, "", 1, 4},
    {"[1,]", 0, GANG_EPARSE, "[1]", 1, 4},
    {"[1 2]", 0, GANG_EPARSE, "", 1, 4},
    {"[", 0, GANG_EPARSE, "[0]", 1, 2},
    {"{", 0, GANG_EPARSE, "", 1, 2},
    {"{a:1}", 0, GANG_EPARSE, "", 1, 2},
    {"{\"a\"}", 0, GANG_EPARSE, "a", 1, 5},
    {"{\"a\" 1}", 0, GANG_EPARSE, "a", 1, 6},
    {"{\"a\":}", 0, GANG_EPARSE, "a", 1, 6},
    {"{\"a\":1,}", 0, GANG_EPARSE, "", 1, 8},
    {"{\"a\":1 \"b\":2}", 0, GANG_EPARSE, "", 1, 8},
    {"{\"a\":1,\n\"a\":2}", 0, GANG_EEXIST, "a", 2, 1},
    {"{\"x\":[{},{\"b\":1,\"\\u0062\":2}]}", 0, GANG_EEXIST, "x[1].b", 1, 17},
    {"[tru]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[nan]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[NaN]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[Infinity]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[-Infinity]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[+1]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[01]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[-]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[.5]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[1.]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[1e]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[1e+]", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[0x10]", 0, GANG_EPARSE, "", 1, 3},
    {"[1,9223372036854775808]", 0, GANG_ERANGE, "[1]", 1, 4},
    {"{\"k\":{\"gpu\":1e999}}", 0, GANG_ERANGE, "k.gpu", 1, 13},
    {"[-1e999]", 0, GANG_ERANGE, "[0]", 1, 2},
    {"['a']", 0, GANG_EPARSE, "[0]", 1, 2},
    {"[\"a]", 0, GANG_EPARSE, "[0]", 1, 5},
    {"[\"a\\", 0, GANG_EPARSE, "[0]", 1, 5},
    {"[\"\\x\"]", 0, GANG_EPARSE, "[0]", 1, 3},
    {"[\"\\u12g4\"]", 0, GANG_EPARSE, "[0]", 1, 3},
    {"[\"\\u123", 0, GANG_EPARSE, "[0]", 1, 3},
    {"[\"\\u0000\"]", 0, GANG_EPARSE, "[0]", 1, 3},
    {"[\"\\ud800\"]", 0, GANG_EPARSE, "[0]", 1, 3},
    {"[\"\\ud800\\u0041\"]", 0, GANG_EPARSE, "[0]", 1, 3},
    {"[\"\\udc00\"]", 0, GANG_EPARSE, "[0]", 1, 3},
    {"[\"a\tb\"]", 0, GANG_EPARSE, "[0]", 1, 4},
    {"[\"a\nb\"]", 0, GANG_EPARSE, "[0]", 1, 4},
    {"[\"\xc3\xa4\xff\"]", 0, GANG_EPARSE, "[0]", 1, 4},     /* columns count characters */
    {"[\"\xc0\x80\"]", 0, GANG_EPARSE, "[0]", 1, 3},         /* overlong */
    {"[\"\xed\xa0\x80\"]", 0, GANG_EPARSE, "[0]", 1, 3},     /* surrogate */
    {"[\"\xf4\x90\x80\x80\"]", 0, GANG_EPARSE, "[0]", 1, 3}, /* above U+10FFFF */
    {"[\"\xe2\x82\"]", 0, GANG_EPARSE, "[0]", 1, 3},         /* cut short */
    {"[1]\0", 4, GANG_EPARSE, "", 1, 4},
    {"[\0]", 3, GANG_EPARSE, "[0]", 1, 2},
    {"[\"a\0b\"]", 7, GANG_EPARSE, "[0]", 1, 4},
    {"[[[[[[[[[]]]]]]]]]", 0, GANG_ELIMIT, "[0][0][0][0][0][0][0][0]", 1, 9},
    {"{\"a b\":{\"\":{\"c\\u0001\":?}}}", 0, GANG_EPARSE, "[\"a b\"][\"\"][\"c?\"]", 1, 23},
};

START_TEST(refuses_and_says_where)
{
    const struct bad *bad = &bad_texts[_i];
    struct gang_error error = GANG_ERROR_INIT;
    json_t *root = json_null();
    size_t length = bad->length ? bad->length : strlen(bad->text);
    EXPECT_RESULT(parse(bad->text, length, &root, &error), bad->code, &error);
    ck_assert_ptr_null(root);
    ck_assert_int_eq(error.code, bad->code);
    ck_assert_str_eq(error.path, bad->path);
    ck_assert_int_eq(error.line, bad->line);
    ck_assert_int_eq(error.column, bad->column);
    ck_assert_str_ne(error.text, "");
    ck_assert_int_eq(parse(bad->text, length, &root, NULL), bad->code);
}
END_TEST

START_TEST(reads_every_kind_of_value)
{
    json_t *root = parse_good(" {\"a\" : [1,-0,0.5,-2.5e-1,1E2,true,false,null,\"\"],\r\n\t"
                              "\"b\":{\"c\":{}}, \"\\u00e4\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t"
                              "\\u20ac\\ud83d\\ude00\"} ");
    json_t *a = json_object_get(root, "a");
    ck_assert_uint_eq(json_array_size(a), 9);
    ck_assert_int_eq(json_integer_value(json_array_get(a, 0)), 1);
    ck_assert_int_eq(json_integer_value(json_array_get(a, 1)), 0);
    ck_assert_double_eq(json_real_value(json_array_get(a, 2)), 0.5);
    ck_assert_double_eq(json_real_value(json_array_get(a, 3)), -0.25);
    ck_assert_double_eq(json_real_value(json_array_get(a, 4)), 100);
    ck_assert(json_is_true(json_array_get(a, 5)));
    ck_assert(json_is_false(json_array_get(a, 6)));
    ck_assert(json_is_null(json_array_get(a, 7)));
    ck_assert_str_eq(json_string_value(json_array_get(a, 8)), "");
    ck_assert_str_eq(json_string_value(json_object_get(root, "\xc3\xa4")),
                     "\"\\/\b\f\n\r\t\xe2\x82\xac\xf0\x9f\x98\x80");
    json_decref(root);
}
END_TEST

START_TEST(reads_numbers_exactly)
{
    static const struct {
        const char *text;
        double value;
    } numbers[] = {{"[2.8000000000000003]", 2.8000000000000003},
                   {"[0.1]", 0.1},
                   {"[123456.789e3]", 123456789.0},
                   {"[1.7976931348623157e308]", 1.7976931348623157e308},
                   {"[5e-324]", 5e-324},
                   {"[1e-999]", 0.0},
                   {"[0.000000000000000000000000000001e30]", 1.0},
                   {"[9007199254740993.0]", 9007199254740992.0},
                   {"[-0.0]", -0.0}};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        json_t *root = parse_good(numbers[i].text);
        double value = json_real_value(json_array_get(root, 0));
        ck_assert_msg(memcmp(&value, &numbers[i].value, sizeof(value)) == 0, "%s: %.17g",
                      numbers[i].text, value);
        json_decref(root);
    }
    json_t *root = parse_good("[9223372036854775807,-9223372036854775808]");
    ck_assert_int_eq(json_integer_value(json_array_get(root, 0)), INT64_MAX);
    ck_assert_int_eq(json_integer_value(json_array_get(root, 1)), INT64_MIN);
    json_decref(root);
}
END_TEST

START_TEST(a_locale_with_a_comma_changes_nothing)
{
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool set = false;
    for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]) && !set; i++)
        set = setlocale(LC_NUMERIC, locales[i]) != NULL;
    if (!set)
        fprintf(stderr, "skip: no locale with a decimal comma is installed\n");
    json_t *root = parse_good("[1.5,0.6]");
    ck_assert_double_eq(json_real_value(json_array_get(root, 0)), 1.5);
    char *text = gang__json_compact(root, &gang__mem_libc);
    ck_assert_str_eq(text, "[1.5,0.6]");
    gang__release(&gang__mem_libc, text);
    json_decref(root);
    setlocale(LC_NUMERIC, "C");
}
END_TEST

START_TEST(a_long_number_is_refused)
{
    char text[600] = "[0.";
    memset(text + 3, '1', 500);
    struct gang_error error = GANG_ERROR_INIT;
    json_t *root;
    text[503] = ']';
    EXPECT_ERROR(parse(text, strlen(text), &root, &error), GANG_ELIMIT, &error, "[0]", NULL);
}
END_TEST

START_TEST(too_many_containers_are_refused)
{
    struct gang_error error = GANG_ERROR_INIT;
    char text[64] = "[";
    json_t *root;
    for (int i = 0; i < 19; i++)
        strcat(text, i ? ",{}" : "[]");
    strcat(text, "]");
    EXPECT_RESULT(parse(text, strlen(text), &root, &error), GANG_OK, &error);
    json_decref(root);
    strcpy(text + strlen(text) - 1, ",[]]");
    EXPECT_ERROR(parse(text, strlen(text), &root, &error), GANG_ELIMIT, &error, "[19]", NULL);
}
END_TEST

START_TEST(a_long_text_is_refused_unread)
{
    struct gang_error error = GANG_ERROR_INIT;
    json_t *root;
    EXPECT_RESULT(parse(NULL, ((size_t)1 << 20) + 1, &root, &error), GANG_ELIMIT, &error);
}
END_TEST

/* ---- out of memory --------------------------------------------------------------------------- */

static long jansson_calls;
static long jansson_fail_at;
static bool jansson_fail_on;

static void *jansson_alloc(size_t bytes)
{
    jansson_calls++;
    if (jansson_calls == jansson_fail_at || (jansson_fail_on && jansson_calls > jansson_fail_at))
        return NULL;
    return malloc(bytes);
}

static const char oom_text[] =
    "{\"a key that is longer than jansson's first buffer\":[12345678901234567890.5,"
    "\"a text with \\u20ac that is longer than any first buffer of anything\",{\"b\":true}]}";

START_TEST(every_failing_allocation_of_the_parser_is_reported)
{
    bool done = false;
    for (long n = 1; !done; n++) {
        struct fail_mem fail;
        struct gang_error error = GANG_ERROR_INIT;
        json_t *root;
        fail_mem_init(&fail, n);
        fail.fail_on = _i;
        gang_result result =
            gang__json_parse(oom_text, strlen(oom_text), &limits, &fail.mem, &root, &error);
        done = result == GANG_OK;
        ck_assert(done || (result == GANG_ENOMEM && !root && error.code == GANG_ENOMEM));
        json_decref(root);
        ck_assert_int_eq(fail.live, 0);
    }
}
END_TEST

START_TEST(every_failing_allocation_of_jansson_is_reported)
{
    bool done = false;
    json_set_alloc_funcs(jansson_alloc, free);
    jansson_fail_on = _i;
    for (long n = 1; !done; n++) {
        struct gang_error error = GANG_ERROR_INIT;
        json_t *root;
        jansson_calls = 0;
        jansson_fail_at = n;
        gang_result result = parse(oom_text, strlen(oom_text), &root, &error);
        done = result == GANG_OK;
        ck_assert(done || (result == GANG_ENOMEM && !root && error.code == GANG_ENOMEM));
        json_decref(root);
    }
    json_set_alloc_funcs(malloc, free);
}
END_TEST

/* ---- cursor ---------------------------------------------------------------------------------- */

START_TEST(the_cursor_knows_its_path)
{
    struct gang_error error = GANG_ERROR_INIT;
    json_t *root = parse_good("[0,0,{\"jobs\":[{\"tasks\":[0,{\"gpu\":\"x\"}]}]}]");
    struct gang__json at = gang__json_root(root, &error);
    struct gang__json one = gang__json_element(&at, 2);
    struct gang__json jobs, tasks, gpu;
    int64_t number = 7;
    ck_assert(gang__json_get(&one, "jobs", &jobs));
    struct gang__json job = gang__json_element(&jobs, 0);
    ck_assert(gang__json_get(&job, "tasks", &tasks));
    struct gang__json task = gang__json_element(&tasks, 1);
    ck_assert_int_eq(gang__json_need(&task, "gpu", &gpu), GANG_OK);
    ck_assert_int_eq(gang__json_int(&gpu, 0, 9, &number), GANG_EINVAL);
    ck_assert_str_eq(error.path, "[2].jobs[0].tasks[1].gpu");
    ck_assert_str_eq(error.text, "must be a whole number, not a string");
    ck_assert_int_eq(number, 7);
    ck_assert_int_eq(gang__json_need(&task, "cpu", &gpu), GANG_EINVAL);
    ck_assert_str_eq(error.path, "[2].jobs[0].tasks[1].cpu");
    ck_assert_str_eq(error.text, "missing");
    ck_assert_int_eq(gang__json_fail(&at, GANG_ELIMIT, "%d", 5), GANG_ELIMIT);
    ck_assert_str_eq(error.path, "");
    json_decref(root);
}
END_TEST

START_TEST(whole_numbers_have_bounds)
{
    static const struct {
        const char *text;
        gang_result code;
        int64_t value;
    } cases[] = {{"[5]", GANG_OK, 5},          {"[5.0]", GANG_OK, 5},
                 {"[1e1]", GANG_OK, 10},       {"[0]", GANG_ERANGE, -1},
                 {"[11]", GANG_ERANGE, -1},    {"[5.5]", GANG_EINVAL, -1},
                 {"[1e300]", GANG_ERANGE, -1}, {"[true]", GANG_EINVAL, -1},
                 {"[\"5\"]", GANG_EINVAL, -1}, {"[null]", GANG_EINVAL, -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gang_error error = GANG_ERROR_INIT;
        json_t *root = parse_good(cases[i].text);
        struct gang__json at = gang__json_root(root, &error);
        struct gang__json element = gang__json_element(&at, 0);
        int64_t value = -1;
        int32_t small = -1;
        ck_assert_int_eq(gang__json_int(&element, 1, 10, &value), cases[i].code);
        ck_assert_int_eq(value, cases[i].value);
        ck_assert_int_eq(gang__json_int32(&element, 1, 10, &small), cases[i].code);
        ck_assert_int_eq(small, cases[i].value);
        json_decref(root);
    }
}
END_TEST

START_TEST(thousandths_are_rounded_to_the_nearest)
{
    static const struct {
        const char *text;
        gang_result code;
        int64_t value;
    } cases[] = {{"[2]", GANG_OK, 2000},
                 {"[2.8000000000000003]", GANG_OK, 2800},
                 {"[0.0004]", GANG_OK, 0},
                 {"[0.0005]", GANG_OK, 1},
                 {"[0.6]", GANG_OK, 600},
                 {"[4.35]", GANG_OK, 4350},
                 {"[-0.0001]", GANG_ERANGE, 7},
                 {"[-1]", GANG_ERANGE, 7},
                 {"[10]", GANG_OK, 10000},
                 {"[10.0006]", GANG_ERANGE, 7},
                 {"[1e300]", GANG_ERANGE, 7},
                 {"[9223372036854775807]", GANG_ERANGE, 7},
                 {"[-9223372036854775808]", GANG_ERANGE, 7},
                 {"[\"2\"]", GANG_EINVAL, 7}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        json_t *root = parse_good(cases[i].text);
        struct gang__json at = gang__json_root(root, NULL);
        struct gang__json element = gang__json_element(&at, 0);
        int64_t value = 7;
        ck_assert_int_eq(gang__json_milli(&element, 0, 10000, &value), cases[i].code);
        ck_assert_int_eq(value, cases[i].value);
        json_decref(root);
    }
}
END_TEST

START_TEST(types_are_checked)
{
    static const char *const words[] = {"in", "out"};
    static const char *const keys[] = {"a", "b"};
    struct gang_error error = GANG_ERROR_INIT;
    json_t *root = parse_good("{\"a\":[1],\"b\":\"in\\u0009\",\"c\":true,\"d\":null,\"e\":1.5}");
    struct gang__json at = gang__json_root(root, &error);
    struct gang__json a, b, c, d, e, none;
    const char *text = "kept";
    size_t count = 9;
    int32_t flag = 9;
    double real = 9;
    gang__json_get(&at, "a", &a);
    gang__json_get(&at, "b", &b);
    gang__json_get(&at, "c", &c);
    gang__json_get(&at, "e", &e);
    ck_assert(!gang__json_get(&at, "none", &none));
    ck_assert(gang__json_get(&at, "d", &d) && !gang__json_get_or_null(&at, "d", &d));
    ck_assert_int_eq(gang__json_object(&a, keys, 2), GANG_EINVAL);
    ck_assert_int_eq(gang__json_object(&at, keys, 2), GANG_EINVAL);
    ck_assert_str_eq(error.path, "c");
    ck_assert_str_eq(error.text, "unknown key");
    ck_assert_int_eq(gang__json_map(&a, 9), GANG_EINVAL);
    ck_assert_int_eq(gang__json_map(&at, 4), GANG_ELIMIT);
    ck_assert_int_eq(gang__json_map(&at, 5), GANG_OK);
    ck_assert_int_eq(gang__json_array(&b, 9, &count), GANG_EINVAL);
    ck_assert_int_eq(gang__json_array(&a, 0, &count), GANG_ELIMIT);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(gang__json_array(&none, 9, &count), GANG_EINVAL);
    ck_assert_str_eq(error.text, "missing");
    ck_assert_int_eq(gang__json_text(&a, 0, 9, &text), GANG_EINVAL);
    ck_assert_int_eq(gang__json_text(&b, 4, 9, &text), GANG_EINVAL);
    ck_assert_int_eq(gang__json_text(&b, 0, 2, &text), GANG_ELIMIT);
    ck_assert_int_eq(gang__json_name(&b, 1, 9, &text), GANG_EINVAL);
    ck_assert_str_eq(text, "kept");
    ck_assert_int_eq(gang__json_text(&b, 0, 3, &text), GANG_OK);
    ck_assert_str_eq(text, "in\t");
    ck_assert_int_eq(gang__json_choice(&b, words, 2, &count), GANG_EINVAL);
    ck_assert_str_eq(error.text, "'in?' is none of in, out");
    ck_assert_int_eq(gang__json_choice(&a, words, 2, &count), GANG_EINVAL);
    ck_assert_int_eq(gang__json_bool(&a, &flag), GANG_EINVAL);
    ck_assert_int_eq(gang__json_bool(&c, &flag), GANG_OK);
    ck_assert_int_eq(flag, 1);
    ck_assert_int_eq(gang__json_real(&e, 0, 1, &real), GANG_ERANGE);
    ck_assert_int_eq(gang__json_real(&e, 2, 3, &real), GANG_ERANGE);
    ck_assert_int_eq(gang__json_real(&c, 2, 3, &real), GANG_EINVAL);
    ck_assert_int_eq(gang__json_real(&e, 0, 2, &real), GANG_OK);
    ck_assert_double_eq(real, 1.5);
    json_decref(root);
}
END_TEST

START_TEST(a_map_is_walked_in_its_order)
{
    json_t *root = parse_good("{\"z\":1,\"a\":2,\"m\":3}");
    struct gang__json at = gang__json_root(root, NULL);
    struct gang__json member = {NULL, NULL, NULL, 0, NULL};
    char order[4] = "";
    size_t i = 0;
    while (gang__json_next(&at, &member))
        order[i++] = member.key[0];
    ck_assert_str_eq(order, "zam");
    json_decref(root);
}
END_TEST

START_TEST(foreign_text_is_made_fit_for_a_message)
{
    char longer[200];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    memcpy(longer + 62, "\xe2\x82\xac", 3); /* a character across the limit */
    ck_assert_str_eq(gang__printable("a\nb\x1b[2J\xff\xc2\x9b").s, "a?b?[2J??");
    struct gang__printable word = gang__printable(longer);
    ck_assert(gang__utf8_valid(word.s));
    ck_assert_str_eq(word.s + strlen(word.s) - 3, "...");
}
END_TEST

/* ---- writer ---------------------------------------------------------------------------------- */

START_TEST(reals_are_written_with_the_digits_they_need)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0.6, "[0.6]"},
                 {2.5, "[2.5]"},
                 {0.1 + 0.2, "[0.30000000000000004]"},
                 {4294967.295, "[4294967.295]"},
                 {3.0, "[3]"},
                 {1e300, "[1e300]"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gang__json_maker maker = {GANG_OK};
        json_t *list = json_array();
        gang__json_push(&maker, list, gang__json_new_real(&maker, cases[i].value));
        char *text = gang__json_compact(list, &gang__mem_libc);
        ck_assert_int_eq(maker.result, GANG_OK);
        ck_assert_str_eq(text, cases[i].text);
        json_t *back = parse_good(text);
        ck_assert_double_eq(json_number_value(json_array_get(back, 0)), cases[i].value);
        json_decref(back);
        json_decref(list);
        gang__release(&gang__mem_libc, text);
    }
}
END_TEST

START_TEST(what_cannot_be_written_is_noted)
{
    struct gang__json_maker maker = {GANG_OK};
    json_t *list = json_array();
    ck_assert_ptr_null(gang__json_new_real(&maker, NAN));
    ck_assert_int_eq(maker.result, GANG_EINVAL);
    maker.result = GANG_OK;
    ck_assert_ptr_null(gang__json_new_text(&maker, "\xff"));
    ck_assert_int_eq(maker.result, GANG_EINVAL);
    maker.result = GANG_OK;
    ck_assert_ptr_null(gang__json_new_text(&maker, NULL));
    ck_assert_int_eq(maker.result, GANG_EINVAL);
    maker.result = GANG_OK;
    gang__json_push(&maker, list, NULL);
    ck_assert_int_eq(maker.result, GANG_ENOMEM);
    gang__json_note(&maker, GANG_EINVAL);
    ck_assert_int_eq(maker.result, GANG_ENOMEM); /* the first one stays */
    maker.result = GANG_OK;
    gang__json_put(&maker, list, "\xff", json_true());
    ck_assert_int_eq(maker.result, GANG_EINVAL);
    json_decref(list);
}
END_TEST

static int refuse(const char *bytes, size_t length, void *user)
{
    (void)bytes;
    (void)length;
    return ++*(int *)user > 2;
}

START_TEST(a_refusing_writer_ends_the_call)
{
    json_t *root = parse_good("{\"a\":[1,2,3,4,5,6,7,8,9]}");
    int calls = 0;
    ck_assert_int_eq(gang__json_write(root, 2, refuse, &calls), GANG_EIO);
    ck_assert_int_eq(calls, 3);
    json_decref(root);
}
END_TEST

START_TEST(compact_text_reports_failing_allocations)
{
    json_t *root = parse_good(oom_text);
    char *text = NULL;
    for (long n = 1; !text; n++) {
        struct fail_mem fail;
        fail_mem_init(&fail, n);
        text = gang__json_compact(root, &fail.mem);
        if (text)
            gang__release(&fail.mem, text);
        ck_assert_int_eq(fail.live, 0);
    }
    json_decref(root);
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------- */

static void make_file(char *path, const char *content)
{
    strcpy(path, "/tmp/test_json_XXXXXX");
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, content, strlen(content)), (ssize_t)strlen(content));
    close(file);
}

START_TEST(a_file_is_read_up_to_its_limit)
{
    char path[32];
    char *text;
    size_t length;
    struct gang_error error = GANG_ERROR_INIT;
    make_file(path, "0123456789");
    EXPECT_RESULT(gang__read_file(path, 10, &gang__mem_libc, &text, &length, &error), GANG_OK,
                  &error);
    ck_assert_uint_eq(length, 10);
    ck_assert_mem_eq(text, "0123456789", 10);
    gang__release(&gang__mem_libc, text);
    EXPECT_RESULT(gang__read_file(path, 9, &gang__mem_libc, &text, &length, &error), GANG_ELIMIT,
                  &error);
    ck_assert_ptr_null(text);
    unlink(path);
    EXPECT_RESULT(gang__read_file(path, 9, &gang__mem_libc, &text, &length, &error), GANG_EIO,
                  &error);
    ck_assert_str_eq(error.text, "cannot be opened: No such file or directory");
    EXPECT_RESULT(gang__read_file("/", 9, &gang__mem_libc, &text, &length, &error), GANG_EIO,
                  &error);
    ck_assert_str_eq(error.text, "is a directory");
}
END_TEST

START_TEST(a_huge_file_is_refused_by_its_size)
{
    char path[32];
    char *text;
    size_t length;
    struct gang_error error = GANG_ERROR_INIT;
    struct fail_mem fail;
    make_file(path, "{");
    ck_assert_int_eq(truncate(path, (off_t)1 << 31), 0);
    fail_mem_init(&fail, 0);
    EXPECT_RESULT(gang__read_file(path, 1 << 28, &fail.mem, &text, &length, &error), GANG_ELIMIT,
                  &error);
    ck_assert_int_eq(fail.calls, 0);
    unlink(path);
}
END_TEST

START_TEST(standard_input_is_read_with_the_limit)
{
    int ends[2];
    char *text;
    size_t length;
    struct gang_error error = GANG_ERROR_INIT;
    int saved = dup(STDIN_FILENO);
    for (size_t most = 4; most <= 5; most++) {
        ck_assert_int_eq(pipe(ends), 0);
        ck_assert_int_eq(write(ends[1], "12345", 5), 5);
        close(ends[1]);
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        EXPECT_RESULT(gang__read_file("-", most, &gang__mem_libc, &text, &length, &error),
                      most == 5 ? GANG_OK : GANG_ELIMIT, &error);
        gang__release(&gang__mem_libc, text);
    }
    dup2(saved, STDIN_FILENO);
    close(saved);
}
END_TEST

START_TEST(reading_a_file_reports_a_failing_allocation)
{
    char path[32];
    char *text;
    size_t length;
    struct gang_error error = GANG_ERROR_INIT;
    struct fail_mem fail;
    make_file(path, "{}");
    fail_mem_init(&fail, 1);
    EXPECT_RESULT(gang__read_file(path, 10, &fail.mem, &text, &length, &error), GANG_ENOMEM,
                  &error);
    ck_assert_int_eq(fail.live, 0);
    unlink(path);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("json");
    int bad_count = (int)(sizeof(bad_texts) / sizeof(bad_texts[0]));
    tcase_add_loop_test(tests, refuses_and_says_where, 0, bad_count);
    tcase_add_test(tests, reads_every_kind_of_value);
    tcase_add_test(tests, reads_numbers_exactly);
    tcase_add_test(tests, a_locale_with_a_comma_changes_nothing);
    tcase_add_test(tests, a_long_number_is_refused);
    tcase_add_test(tests, too_many_containers_are_refused);
    tcase_add_test(tests, a_long_text_is_refused_unread);
    tcase_add_loop_test(tests, every_failing_allocation_of_the_parser_is_reported, 0, 2);
    tcase_add_loop_test(tests, every_failing_allocation_of_jansson_is_reported, 0, 2);
    tcase_add_test(tests, the_cursor_knows_its_path);
    tcase_add_test(tests, whole_numbers_have_bounds);
    tcase_add_test(tests, thousandths_are_rounded_to_the_nearest);
    tcase_add_test(tests, types_are_checked);
    tcase_add_test(tests, a_map_is_walked_in_its_order);
    tcase_add_test(tests, foreign_text_is_made_fit_for_a_message);
    tcase_add_test(tests, reals_are_written_with_the_digits_they_need);
    tcase_add_test(tests, what_cannot_be_written_is_noted);
    tcase_add_test(tests, a_refusing_writer_ends_the_call);
    tcase_add_test(tests, compact_text_reports_failing_allocations);
    tcase_add_test(tests, a_file_is_read_up_to_its_limit);
    tcase_add_test(tests, a_huge_file_is_refused_by_its_size);
    tcase_add_test(tests, standard_input_is_read_with_the_limit);
    tcase_add_test(tests, reading_a_file_reports_a_failing_allocation);
    Suite *suite = suite_create("json");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
