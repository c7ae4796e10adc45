/* SPDX-License-Identifier: Apache-2.0 */
/* base.h: version, results, the error struct and the structs that callers fill; and the allocator
 * and the table of names behind them. */
#include <gangsched/gangsched.h>

#include "base/closest.h"
#include "base/error.h"
#include "base/hash_table.h"
#include "support.h"

/* ---- version and results --------------------------------------------------------------------- */

START_TEST(the_library_tells_the_version_of_its_headers)
{
    char text[32];
    snprintf(text, sizeof(text), "%d.%d.%d", GANG_VERSION_MAJOR, GANG_VERSION_MINOR,
             GANG_VERSION_PATCH);
    ck_assert_str_eq(gang_version(), text);
    ck_assert_int_eq(gang_version_number(), GANG_VERSION_NUMBER);
}
END_TEST

struct known {
    gang_result value;
    const char *name;
    const char *text;
};

/* Written out, so that a number or a text that changes is noticed. */
static const struct known known[] = {
    {0, "GANG_OK", "success"},
    {-1, "GANG_EINVAL", "invalid argument"},
    {-2, "GANG_ENOMEM", "out of memory"},
    {-3, "GANG_ENOENT", "no such name"},
    {-4, "GANG_EEXIST", "name exists already"},
    {-5, "GANG_ESTALE", "the id refers to something that is gone"},
    {-6, "GANG_EBUSY", "in use"},
    {-7, "GANG_ERANGE", "number out of range"},
    {-8, "GANG_ENOFIT", "does not fit now"},
    {-9, "GANG_ENEVER", "could never fit"},
    {-10, "GANG_E2BIG", "struct is newer than this library"},
    {-11, "GANG_ELIMIT", "a limit is reached, or a buffer too small"},
    {-12, "GANG_EPARSE", "malformed input"},
    {-13, "GANG_EIO", "input or output failed"},
    {-14, "GANG_ENOTSUP", "not supported"},
    {-15, "GANG_ECYCLE", "a parent relation has a cycle"},
    {-16, "GANG_EPERM", "not allowed"},
    {-17, "GANG_ECLOSED", "the queue takes no jobs"},
};
enum { KNOWN_COUNT = sizeof(known) / sizeof(known[0]) };

START_TEST(each_result_has_its_name_and_text)
{
    ck_assert_str_eq(gang_result_name(known[_i].value), known[_i].name);
    ck_assert_str_eq(gang_strerror(known[_i].value), known[_i].text);
}
END_TEST

START_TEST(the_list_of_results_is_complete)
{
#define COUNT_ONE(result, number, words) +1
    ck_assert_int_eq(0 GANG_RESULT_LIST(COUNT_ONE), KNOWN_COUNT);
#undef COUNT_ONE
}
END_TEST

START_TEST(unknown_results_have_a_name_too)
{
    const gang_result unknown[] = {1, -18, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        ck_assert_str_eq(gang_result_name(unknown[i]), "GANG_E?");
        ck_assert_str_eq(gang_strerror(unknown[i]), "unknown result");
    }
}
END_TEST

/* ---- the error struct ------------------------------------------------------------------------ */

/* A call that fails with a path and a text. */
static gang_result fail_with_path(struct gang_error *error)
{
    const char *const levels[] = {"rack", "rack"};
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *cluster;
    opts.levels = levels;
    opts.level_count = 2;
    return gang_cluster_new(&opts, &cluster, error);
}

START_TEST(an_error_is_filled_on_failure)
{
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(fail_with_path(&error), GANG_EINVAL, &error);
    ck_assert_uint_eq(error.size, sizeof(error));
    ck_assert_int_eq(error.code, GANG_EINVAL);
    ck_assert_int_eq(error.constraint, GANG_CONSTRAINT_NONE);
    ck_assert_int_eq(error.group, -1);
    ck_assert_int_eq(error.kind, -1);
    ck_assert_int_eq(error.requested, 0);
    ck_assert_int_eq(error.available, 0);
    ck_assert_uint_eq(error.id, 0);
    ck_assert_int_eq(error.line, 0);
    ck_assert_int_eq(error.column, 0);
    ck_assert_str_eq(error.path, "levels[1]");
    ck_assert_str_ne(error.text, "");
    ck_assert_ptr_null(strchr(error.text, '\n'));
}
END_TEST

START_TEST(what_an_error_said_before_is_gone)
{
    struct gang_error error = GANG_ERROR_INIT;
    memset((char *)&error + sizeof(error.size), 0x5a, sizeof(error) - sizeof(error.size));
    EXPECT_RESULT(fail_with_path(&error), GANG_EINVAL, &error);
    struct gang_error fresh = GANG_ERROR_INIT;
    ck_assert_int_eq(fail_with_path(&fresh), GANG_EINVAL);
    ck_assert_int_eq(error.group, -1);
    ck_assert_int_eq(error.requested, 0);
    ck_assert_uint_eq(error.id, 0);
    ck_assert_str_eq(error.path, fresh.path);
    ck_assert_str_eq(error.text, fresh.text);
}
END_TEST

START_TEST(an_error_is_left_alone_on_success)
{
    struct gang_error error = GANG_ERROR_INIT, before;
    gang_cluster *cluster;
    error.group = 17;
    strcpy(error.text, "as it was");
    before = error;
    EXPECT_RESULT(gang_cluster_new(NULL, &cluster, &error), GANG_OK, &error);
    ck_assert_mem_eq(&error, &before, sizeof(error));
    gang_cluster_free(cluster);
}
END_TEST

START_TEST(no_error_struct_is_allowed)
{
    ck_assert_int_eq(fail_with_path(NULL), GANG_EINVAL);
}
END_TEST

START_TEST(an_error_of_a_newer_caller_is_filled_as_far_as_it_is_known)
{
    struct {
        struct gang_error known;
        char more[64];
    } error;
    memset(&error, 0x5a, sizeof(error));
    error.known.size = sizeof(error);
    ck_assert_int_eq(fail_with_path(&error.known), GANG_EINVAL);
    ck_assert_uint_eq(error.known.size, sizeof(error));
    ck_assert_int_eq(error.known.code, GANG_EINVAL);
    ck_assert_str_eq(error.known.path, "levels[1]");
}
END_TEST

START_TEST(an_error_of_a_shorter_caller_is_not_overrun)
{
    struct gang_error error;
    memset(&error, 0x5a, sizeof(error));
    error.size = offsetof(struct gang_error, text) + 8;
    EXPECT_ERROR(fail_with_path(&error), GANG_EINVAL, &error, "levels[1]", NULL);
    for (size_t i = 8; i < sizeof(error.text); i++)
        ck_assert_int_eq(error.text[i], 0x5a);
}
END_TEST

START_TEST(an_error_that_was_never_set_up_is_not_touched)
{
    const size_t sizes[] = {0, 8, offsetof(struct gang_error, text) - 1, SIZE_MAX};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct gang_error error, before;
        memset(&error, 0x5a, sizeof(error));
        error.size = sizes[i];
        before = error;
        ck_assert_int_eq(fail_with_path(&error), GANG_EINVAL);
        ck_assert_mem_eq(&error, &before, sizeof(error));
    }
}
END_TEST

/* Node names come from outside: the longest one still gives one whole line. */
START_TEST(a_long_name_does_not_overrun_the_text)
{
    struct stage s;
    char name[GANG_MAX_NAME + 1];
    memset(name, 'n', GANG_MAX_NAME);
    name[GANG_MAX_NAME] = '\0';
    stage_open(&s, NULL, 0);
    struct box box = {.name = name};
    stage_add(&s, &box);
    struct box_arrays arrays;
    struct gang_node_spec spec = box_spec(&box, &arrays);
    struct gang_error error = GANG_ERROR_INIT;
    EXPECT_RESULT(gang_node_add(s.w, &spec, NULL, &error), GANG_EEXIST, &error);
    ck_assert_uint_lt(strlen(error.text), sizeof(error.text));
    ck_assert_str_eq(error.path, "name");
    stage_close(&s);
}
END_TEST

/* ---- structs in and out ---------------------------------------------------------------------- */

struct old {
    size_t size;
    int64_t a;
};
struct new
{
    size_t size;
    int64_t a, b;
};

START_TEST(a_shorter_struct_is_filled_up_with_zeros)
{
    struct old in = {sizeof(in), 7};
    struct new out = {1, 2, 3};
    ck_assert_int_eq(gang__struct_in(&out, sizeof(out), sizeof(in), &in, in.size), GANG_OK);
    ck_assert_int_eq(out.a, 7);
    ck_assert_int_eq(out.b, 0);
}
END_TEST

START_TEST(a_longer_struct_is_taken_if_its_tail_is_zero)
{
    struct new in = {sizeof(in), 7, 0};
    struct old out = {1, 2};
    ck_assert_int_eq(gang__struct_in(&out, sizeof(out), sizeof(out), &in, in.size), GANG_OK);
    ck_assert_int_eq(out.a, 7);
    in.b = INT64_C(1) << 56; /* only the last byte */
    ck_assert_int_eq(gang__struct_in(&out, sizeof(out), sizeof(out), &in, in.size), GANG_E2BIG);
}
END_TEST

START_TEST(a_struct_of_an_impossible_size_is_refused)
{
    struct new in = {0, 7, 8}, out = {1, 2, 3};
    ck_assert_int_eq(gang__struct_in(&out, sizeof(out), sizeof(out), &in, 0), GANG_EINVAL);
    ck_assert_int_eq(gang__struct_in(&out, sizeof(out), sizeof(out), &in, sizeof(in) - 1),
                     GANG_EINVAL);
    ck_assert_int_eq(gang__struct_in(&out, sizeof(out), sizeof(out), &in, SIZE_MAX), GANG_EINVAL);
    ck_assert_int_eq(gang__struct_out(&out, 8, sizeof(out), &in, sizeof(in)), GANG_EINVAL);
    ck_assert_int_eq(gang__struct_out(&out, SIZE_MAX, sizeof(out), &in, sizeof(in)), GANG_EINVAL);
    ck_assert_int_eq(out.a, 2);
    ck_assert_int_eq(out.b, 3);
}
END_TEST

START_TEST(what_the_library_writes_keeps_to_the_callers_size)
{
    struct new in = {sizeof(in), 7, 8};
    struct old shorter = {sizeof(shorter), 0};
    struct {
        struct new known;
        char more[16];
    } longer;
    ck_assert_int_eq(gang__struct_out(&shorter, sizeof(shorter), sizeof(shorter), &in, sizeof(in)),
                     GANG_OK);
    ck_assert_uint_eq(shorter.size, sizeof(shorter));
    ck_assert_int_eq(shorter.a, 7);
    memset(&longer, 0x5a, sizeof(longer));
    ck_assert_int_eq(gang__struct_out(&longer, sizeof(longer), sizeof(in), &in, sizeof(in)),
                     GANG_OK);
    ck_assert_uint_eq(longer.known.size, sizeof(longer));
    ck_assert_int_eq(longer.known.b, 8);
    for (size_t i = 0; i < sizeof(longer.more); i++)
        ck_assert_int_eq(longer.more[i], 0);
}
END_TEST

START_TEST(a_path_is_put_together_from_outside_in)
{
    struct gang_error error = GANG_ERROR_INIT;
    gang__error(&error, GANG_ERANGE, "b[2]", "too large");
    EXPECT_ERROR(gang__error_at(&error, GANG_ERANGE, "a[%d]", 1), GANG_ERANGE, &error, "a[1].b[2]",
                 NULL);
    gang__error(&error, GANG_ERANGE, "[2]", "too large");
    gang__error_at(&error, GANG_ERANGE, "a");
    ck_assert_str_eq(error.path, "a[2]");
    gang__error(&error, GANG_ERANGE, NULL, "too large");
    gang__error_at(&error, GANG_ERANGE, "a");
    ck_assert_str_eq(error.path, "a");
    ck_assert_str_eq(error.text, "too large");
    for (int i = 0; i < 40; i++)
        gang__error_at(&error, GANG_ERANGE, "queues[%d]", i);
    ck_assert_uint_eq(strlen(error.path), sizeof(error.path) - 1);
    ck_assert_int_eq(gang__error_at(NULL, GANG_ERANGE, "a"), GANG_ERANGE);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(half_an_allocator_is_refused)
{
    struct fail_mem fail;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *cluster;
    for (int half = 0; half < 2; half++) {
        struct gang_error error = GANG_ERROR_INIT;
        fail_mem_init(&fail, 0);
        if (half)
            fail.mem.alloc = NULL;
        else
            fail.mem.release = NULL;
        opts.mem = &fail.mem;
        EXPECT_ERROR(gang_cluster_new(&opts, &cluster, &error), GANG_EINVAL, &error, "mem", NULL);
        ck_assert_ptr_null(cluster);
        ck_assert_int_eq(fail.calls, 0);
    }
}
END_TEST

START_TEST(an_allocator_without_functions_is_malloc)
{
    struct gang_mem mem = GANG_MEM_INIT, copy;
    ck_assert_int_eq(gang__mem_init(&copy, &mem), GANG_OK);
    ck_assert(copy.alloc == gang__mem_libc.alloc && copy.release == gang__mem_libc.release);
    ck_assert_int_eq(gang__mem_init(&copy, NULL), GANG_OK);
    ck_assert(copy.alloc == gang__mem_libc.alloc);
}
END_TEST

START_TEST(an_allocator_follows_the_size_rule)
{
    struct {
        struct fail_mem known;
        char more[16];
    } longer = {.more = ""};
    struct {
        struct gang_mem known;
        char more[16];
    } mem = {.more = ""};
    struct gang_mem copy;
    fail_mem_init(&longer.known, 0);
    mem.known = longer.known.mem;
    mem.known.size = sizeof(mem);
    ck_assert_int_eq(gang__mem_init(&copy, &mem.known), GANG_OK);
    ck_assert(copy.alloc == fail_mem_alloc);
    mem.more[15] = 1;
    ck_assert_int_eq(gang__mem_init(&copy, &mem.known), GANG_E2BIG);
    mem.known.size = sizeof(mem.known) - 1;
    ck_assert_int_eq(gang__mem_init(&copy, &mem.known), GANG_EINVAL);
}
END_TEST

START_TEST(the_allocator_of_a_cluster_is_copied_and_used)
{
    struct fail_mem fail;
    struct gang_mem mem;
    struct gang_cluster_opts opts = GANG_CLUSTER_OPTS_INIT;
    gang_cluster *cluster;
    fail_mem_init(&fail, 0);
    mem = fail.mem;
    opts.mem = &mem;
    MUST(gang_cluster_new(&opts, &cluster, NULL));
    memset(&mem, 0, sizeof(mem));
    ck_assert_int_gt(fail.live, 0);
    gang_cluster_free(cluster);
    ck_assert_int_eq(fail.live, 0);
}
END_TEST

START_TEST(sizes_that_overflow_are_out_of_memory)
{
    struct fail_mem fail;
    fail_mem_init(&fail, 0);
    ck_assert_ptr_null(gang__zalloc(&fail.mem, SIZE_MAX / 2, 3));
    ck_assert_ptr_null(gang__zalloc_line(&fail.mem, SIZE_MAX / 64, 64));
    void *array = NULL;
    size_t cap = 0;
    ck_assert(!gang__grow(&fail.mem, &array, &cap, SIZE_MAX, 16));
    ck_assert_ptr_null(array);
    ck_assert_uint_eq(cap, 0);
    ck_assert_int_eq(fail.calls, 0);
}
END_TEST

START_TEST(lines_are_aligned_and_zero)
{
    struct fail_mem fail;
    fail_mem_init(&fail, 0);
    unsigned char *line[16];
    for (size_t i = 0; i < 16; i++) {
        line[i] = gang__zalloc_line(&fail.mem, i + 1, 24);
        ck_assert_uint_eq((uintptr_t)line[i] % 64, 0);
        for (size_t k = 0; k < (i + 1) * 24; k++)
            ck_assert_int_eq(line[i][k], 0);
        memset(line[i], 0x5a, (i + 1) * 24);
    }
    for (size_t i = 0; i < 16; i++)
        gang__release_line(&fail.mem, line[i]);
    gang__release_line(&fail.mem, NULL);
    gang__release(&fail.mem, NULL);
    ck_assert_int_eq(fail.live, 0);
}
END_TEST

START_TEST(blocks_of_huge_pages_are_aligned_and_zero)
{
    enum { HUGE_PAGE = 2 << 20 };
    struct fail_mem fail;
    fail_mem_init(&fail, 0);
    for (size_t pages = 1; pages <= 4; pages++) { /* none, or some of them are whole */
        unsigned char *block = gang__zalloc_line(&fail.mem, pages * HUGE_PAGE + 100, 1);
        ck_assert_uint_eq((uintptr_t)block % 64, 0);
        for (size_t k = 0; k < pages * HUGE_PAGE + 100; k++)
            if (block[k])
                ck_abort_msg("byte %zu of %zu pages", k, pages);
        memset(block, 0x5a, pages * HUGE_PAGE + 100);
        gang__release_line(&fail.mem, block);
    }
    ck_assert_int_eq(fail.live, 0);
}
END_TEST

START_TEST(a_growing_array_keeps_its_content)
{
    struct fail_mem fail;
    void *array = NULL;
    size_t cap = 0;
    fail_mem_init(&fail, 0);
    for (size_t i = 0; i < 1000; i++) {
        ck_assert(gang__grow(&fail.mem, &array, &cap, i + 1, sizeof(size_t)));
        ck_assert_uint_gt(cap, i);
        ((size_t *)array)[i] = i;
    }
    for (size_t i = 0; i < 1000; i++)
        ck_assert_uint_eq(((size_t *)array)[i], i);
    ck_assert_int_lt(fail.calls, 12); /* it doubles */
    void *before = array;
    fail.fail_at = fail.calls + 1;
    size_t cap_before = cap;
    ck_assert(!gang__grow(&fail.mem, &array, &cap, cap + 1, sizeof(size_t)));
    ck_assert_ptr_eq(array, before);
    ck_assert_uint_eq(cap, cap_before);
    gang__release(&fail.mem, array);
    ck_assert_int_eq(fail.live, 0);
}
END_TEST

/* ---- names ----------------------------------------------------------------------------------- */

struct named {
    struct gang__hash_link link;
    char key[16];
};

static struct named *named_find(const struct gang__hash_table *t, const char *key)
{
    uint64_t hash = gang__hash(GANG__HASH_SEED, key, strlen(key));
    for (struct gang__hash_link *n = gang__hash_first(t, hash); n; n = n->next) {
        struct named *named = (struct named *)n; /* the link is the first member */
        if (n->hash == hash && strcmp(named->key, key) == 0)
            return named;
    }
    return NULL;
}

START_TEST(names_are_found_until_they_are_removed)
{
    enum { COUNT = 500 };
    static struct named all[COUNT];
    struct gang__hash_table t = {NULL, 0, 0};
    struct fail_mem fail;
    fail_mem_init(&fail, 0);
    ck_assert_ptr_null(named_find(&t, "n0"));
    for (int i = 0; i < COUNT; i++) {
        snprintf(all[i].key, sizeof(all[i].key), "n%d", i);
        ck_assert_int_eq(gang__hash_reserve(&t, &fail.mem), GANG_OK);
        gang__hash_insert(&t, &all[i].link,
                          gang__hash(GANG__HASH_SEED, all[i].key, strlen(all[i].key)));
    }
    for (int i = 0; i < COUNT; i += 2)
        gang__hash_remove(&t, &all[i].link);
    ck_assert_uint_eq(t.count, COUNT / 2);
    for (int i = 0; i < COUNT; i++)
        ck_assert_ptr_eq(named_find(&t, all[i].key), i % 2 ? &all[i] : NULL);
    gang__hash_free(&t, &fail.mem);
    ck_assert_int_eq(fail.live, 0);
}
END_TEST

START_TEST(names_stay_when_their_table_cannot_grow)
{
    static struct named all[64];
    struct gang__hash_table t = {NULL, 0, 0};
    struct fail_mem fail;
    int put = 0;
    fail_mem_init(&fail, 2); /* the second table */
    for (; put < 64; put++) {
        snprintf(all[put].key, sizeof(all[put].key), "n%d", put);
        if (gang__hash_reserve(&t, &fail.mem) != GANG_OK)
            break;
        gang__hash_insert(&t, &all[put].link,
                          gang__hash(GANG__HASH_SEED, all[put].key, strlen(all[put].key)));
    }
    ck_assert_int_lt(put, 64);
    for (int i = 0; i < put; i++)
        ck_assert_ptr_eq(named_find(&t, all[i].key), &all[i]);
    ck_assert_int_eq(gang__hash_reserve(&t, &fail.mem), GANG_OK);
    for (int i = 0; i < put; i++)
        ck_assert_ptr_eq(named_find(&t, all[i].key), &all[i]);
    gang__hash_free(&t, &fail.mem);
    ck_assert_int_eq(fail.live, 0);
}
END_TEST

/* ---- words ----------------------------------------------------------------------------------- */

START_TEST(the_closest_word_is_found_if_one_is_close)
{
    static const char *const words[] = {"count", "cpu", "gpu", "gpu_models", "time_limit_s"};
    static const struct {
        const char *word, *meant;
    } cases[] = {{"gpus", "gpu"},
                 {"limit_s", "time_limit_s"},
                 {"cuont", "count"},
                 {"counts", "count"},
                 {"gpu_model", "gpu_models"},
                 {"colour", NULL},
                 {"", NULL},
                 {"x", NULL},
                 {"time_limt_s", "time_limit_s"},
                 {"cp", "cpu"},
                 {"a_name_that_is_longer_than_any_other_word_of_all", NULL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *found = gang__closest(cases[i].word, words, 5);
        ck_assert_msg(found == cases[i].meant ||
                          (found && cases[i].meant && !strcmp(found, cases[i].meant)),
                      "%s: %s", cases[i].word, found ? found : "none");
    }
    ck_assert_ptr_null(gang__closest("gpu", words, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *results = tcase_create("results");
    tcase_add_test(results, the_library_tells_the_version_of_its_headers);
    tcase_add_loop_test(results, each_result_has_its_name_and_text, 0, KNOWN_COUNT);
    tcase_add_test(results, the_list_of_results_is_complete);
    tcase_add_test(results, unknown_results_have_a_name_too);
    suite_add_tcase(suite, results);
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, an_error_is_filled_on_failure);
    tcase_add_test(errors, what_an_error_said_before_is_gone);
    tcase_add_test(errors, an_error_is_left_alone_on_success);
    tcase_add_test(errors, no_error_struct_is_allowed);
    tcase_add_test(errors, an_error_of_a_newer_caller_is_filled_as_far_as_it_is_known);
    tcase_add_test(errors, an_error_of_a_shorter_caller_is_not_overrun);
    tcase_add_test(errors, an_error_that_was_never_set_up_is_not_touched);
    tcase_add_test(errors, a_long_name_does_not_overrun_the_text);
    tcase_add_test(errors, a_path_is_put_together_from_outside_in);
    suite_add_tcase(suite, errors);
    TCase *structs = tcase_create("structs");
    tcase_add_test(structs, a_shorter_struct_is_filled_up_with_zeros);
    tcase_add_test(structs, a_longer_struct_is_taken_if_its_tail_is_zero);
    tcase_add_test(structs, a_struct_of_an_impossible_size_is_refused);
    tcase_add_test(structs, what_the_library_writes_keeps_to_the_callers_size);
    suite_add_tcase(suite, structs);
    TCase *memory = tcase_create("memory");
    tcase_add_test(memory, half_an_allocator_is_refused);
    tcase_add_test(memory, an_allocator_without_functions_is_malloc);
    tcase_add_test(memory, an_allocator_follows_the_size_rule);
    tcase_add_test(memory, the_allocator_of_a_cluster_is_copied_and_used);
    tcase_add_test(memory, sizes_that_overflow_are_out_of_memory);
    tcase_add_test(memory, lines_are_aligned_and_zero);
    tcase_add_test(memory, blocks_of_huge_pages_are_aligned_and_zero);
    tcase_add_test(memory, a_growing_array_keeps_its_content);
    tcase_add_test(memory, names_are_found_until_they_are_removed);
    tcase_add_test(memory, names_stay_when_their_table_cannot_grow);
    suite_add_tcase(suite, memory);
    TCase *words = tcase_create("words");
    tcase_add_test(words, the_closest_word_is_found_if_one_is_close);
    suite_add_tcase(suite, words);
    return run_suite(suite);
}
