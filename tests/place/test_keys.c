/* SPDX-License-Identifier: Apache-2.0 */
/* place/fit/keys.h: sorting without memory. */
#include <stdbool.h>
#include <string.h>

#include "chance.h"
#include "place/fit/keys.h"
#include "suite.h"

enum { MOST = 3000 };

static int ascending(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

static void compare_with_qsort(uint64_t *key, size_t count)
{
    static uint64_t expected[MOST];
    memcpy(expected, key, count * sizeof(*key));
    qsort(expected, count, sizeof(*key), ascending);
    gang__sort_keys(key, count);
    ck_assert_int_eq(memcmp(key, expected, count * sizeof(*key)), 0);
}

START_TEST(keys_of_any_kind_are_sorted)
{
    static uint64_t key[MOST];
    chance_state = test_seed();
    for (int round = 0; round < 2000; round++) {
        size_t count = (size_t)(chance() % (round % 50 ? 60 : MOST));
        unsigned bits = (unsigned)(chance() % 64); /* few: many alike */
        for (size_t i = 0; i < count; i++)
            key[i] = chance() >> bits;
        compare_with_qsort(key, count);
    }
}
END_TEST

START_TEST(keys_in_order_or_backwards_or_alike_are_sorted)
{
    static uint64_t key[MOST];
    for (size_t count = 0; count < 100; count++) {
        for (size_t i = 0; i < count; i++)
            key[i] = i;
        compare_with_qsort(key, count);
        for (size_t i = 0; i < count; i++)
            key[i] = UINT64_MAX - i;
        compare_with_qsort(key, count);
        for (size_t i = 0; i < count; i++)
            key[i] = i % 2 ? 0 : UINT64_MAX;
        compare_with_qsort(key, count);
        for (size_t i = 0; i < count; i++)
            key[i] = 7;
        compare_with_qsort(key, count);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keys");
    TCase *tcase = tcase_create("keys");
    tcase_add_test(tcase, keys_of_any_kind_are_sorted);
    tcase_add_test(tcase, keys_in_order_or_backwards_or_alike_are_sorted);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
