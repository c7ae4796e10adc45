/* SPDX-License-Identifier: Apache-2.0 */
/* Truncated and altered texts, files, and memory that runs out: an error, and nothing is left. */
#include <jansson.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scenario/scenario_support.h"

/* ---- hostile input ---- */

START_TEST(no_truncation_is_accepted)
{
    const char *text = full_texts[_i];
    size_t length = strlen(text);
    for (size_t n = 0; n < length; n += stride(7)) {
        struct gang_error error = GANG_ERROR_INIT;
        gang_scenarios *scenarios;
        char *exact = malloc(n ? n : 1); /* so that reading past the end is seen */
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, text, n);
        EXPECT_RESULT(gang_scenarios_read(exact, n, &scenarios, &error), GANG_EPARSE, &error);
        ck_assert_int_gt(error.column, 0);
        free(exact);
    }
}
END_TEST

START_TEST(an_altered_byte_is_read_or_refused)
{
    const char *source = full_texts[_i];
    size_t length = strlen(source);
    static const char bytes[] = {'\0', '"', '{', '}', '[', ']', ',', '-', '9', '\x80', '\\', 'x'};
    char *text = strdup(source);
    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < length; i += stride(7)) {
        gang_scenarios *scenarios;
        text[i] = bytes[i % sizeof(bytes)];
        gang_result result = gang_scenarios_read(text, length, &scenarios, NULL);
        ck_assert(!scenarios == (result != GANG_OK));
        gang_scenarios_free(scenarios);
        text[i] = source[i];
    }
    free(text);
}
END_TEST

/* ---- files ---- */

START_TEST(files_are_read_or_refused)
{
    char path[] = "/tmp/test_scenario_hostile_XXXXXX";
    struct gang_error error = GANG_ERROR_INIT;
    gang_scenarios *scenarios;
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    EXPECT_RESULT(gang_scenarios_read_file(path, &scenarios, &error), GANG_EPARSE, &error);
    ck_assert_int_eq(write(file, "[{},{}]", 7), 7);
    EXPECT_RESULT(gang_scenarios_read_file(path, &scenarios, &error), GANG_OK, &error);
    ck_assert_uint_eq(gang_scenarios_count(scenarios), 2);
    gang_scenarios_free(scenarios);
    ck_assert_int_eq(ftruncate(file, (off_t)2 << 30), 0);
    EXPECT_RESULT(gang_scenarios_read_file(path, &scenarios, &error), GANG_ELIMIT, &error);
    ck_assert_ptr_null(scenarios);
    close(file);
    unlink(path);
    EXPECT_RESULT(gang_scenarios_read_file(path, &scenarios, &error), GANG_EIO, &error);
    EXPECT_RESULT(gang_scenarios_read_file("/", &scenarios, &error), GANG_EIO, &error);
}
END_TEST

/* ---- out of memory ---- */

START_TEST(reading_reports_every_failing_allocation)
{
    const char *text = full_texts[_i];
    bool done = false;
    for (long n = 1; !done; n++) {
        struct fail_mem fail;
        struct gang_error error = GANG_ERROR_INIT;
        gang_scenarios *scenarios;
        fail_mem_init(&fail, n);
        gang_result result =
            gang__scenarios_read_mem(&fail.mem, text, strlen(text), &scenarios, &error);
        done = result == GANG_OK;
        ck_assert_msg(done || (result == GANG_ENOMEM && !scenarios && error.code == GANG_ENOMEM),
                      "allocation %ld: %d %s", n, result, error.text);
        gang_scenarios_free(scenarios);
        ck_assert_int_eq(fail.live, 0);
    }
}
END_TEST

START_TEST(writing_reports_every_failing_allocation)
{
    const char *source = full_texts[_i];
    gang_scenarios *scenarios = read_good(source);
    struct gang_scenario c = get(scenarios, 0);
    bool done = false;
    for (long n = 1; !done; n++) {
        struct fail_mem fail;
        struct gang_error error = GANG_ERROR_INIT;
        struct text text = {NULL, 0, 0};
        fail_mem_init(&fail, n);
        gang_result result = gang__scenario_write_mem(&fail.mem, &c, 0, keep, &text, &error);
        done = result == GANG_OK;
        ck_assert_msg(done || (result == GANG_ENOMEM && error.code == GANG_ENOMEM),
                      "allocation %ld: %d %s", n, result, error.text);
        free(text.bytes);
        ck_assert_int_eq(fail.live, 0);
    }
    gang_scenarios_free(scenarios);
}
END_TEST

static long jansson_calls;
static long jansson_fail_at;

static void *jansson_alloc(size_t bytes)
{
    return ++jansson_calls == jansson_fail_at ? NULL : malloc(bytes);
}

START_TEST(a_failing_allocation_of_jansson_is_reported)
{
    const char *source = full_texts[_i];
    gang_scenarios *scenarios = read_good(source);
    struct gang_scenario c = get(scenarios, 0);
    json_set_alloc_funcs(jansson_alloc, free);
    bool read_done = false;
    bool write_done = false;
    for (long n = 1; !read_done || !write_done; n++) {
        gang_scenarios *copy;
        struct text text = {NULL, 0, 0};
        jansson_calls = 0;
        jansson_fail_at = n;
        gang_result result = gang_scenarios_read(source, strlen(source), &copy, NULL);
        read_done = result == GANG_OK;
        ck_assert_msg(read_done || (result == GANG_ENOMEM && !copy), "read, allocation %ld", n);
        gang_scenarios_free(copy);
        jansson_calls = 0;
        result = gang_scenario_write(&c, 0, keep, &text, NULL);
        write_done = result == GANG_OK;
        ck_assert_msg(write_done || result == GANG_ENOMEM, "write, allocation %ld: %d", n, result);
        free(text.bytes);
    }
    json_set_alloc_funcs(malloc, free);
    gang_scenarios_free(scenarios);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("scenario_hostile");
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, no_truncation_is_accepted, 0, FULL_TEXTS);
    tcase_add_loop_test(tests, an_altered_byte_is_read_or_refused, 0, FULL_TEXTS);
    tcase_add_test(tests, files_are_read_or_refused);
    tcase_add_loop_test(tests, reading_reports_every_failing_allocation, 0, FULL_TEXTS);
    tcase_add_loop_test(tests, writing_reports_every_failing_allocation, 0, FULL_TEXTS);
    tcase_add_loop_test(tests, a_failing_allocation_of_jansson_is_reported, 0, FULL_TEXTS);
    Suite *suite = suite_create("scenario_hostile");
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
