/* SPDX-License-Identifier: Apache-2.0 */
/* Decayed use, and the weights that follow it. Floating point is the test's judge, never the
 * library's. */
#include "queue/fairness/fairness.h"

#include "chance.h"
#include "suite.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

static const int64_t M = 1000000;
static const int64_t HOUR = INT64_C(3600000000000);

START_TEST(factors_of_whole_half_lives_are_exact)
{
    for (int n = 0; n < 64; n++)
        ck_assert_uint_eq(gang__decay_factor(n * HOUR, HOUR), UINT64_C(1) << (63 - n));
    ck_assert_uint_eq(gang__decay_factor(64 * HOUR, HOUR), 0);
    ck_assert_uint_eq(gang__decay_factor(INT64_MAX, 1), 0);
    ck_assert_uint_eq(gang__decay_factor(-1, HOUR), UINT64_C(1) << 63);
    ck_assert_uint_eq(gang__decay_factor(5, 0), 0);
}
END_TEST

/* valgrind computes long doubles as doubles, which is too coarse to compare with. */
static bool is_long(void)
{
    volatile long double one = 1, little = ldexpl(1, -60);
    return one + little != one;
}

START_TEST(factors_have_the_error_that_is_promised)
{
    uint64_t seed = test_seed();
    if (!is_long()) {
        printf("long double is no longer than double here: not compared\n");
        return;
    }
    for (int i = 0; i < 200000; i++) {
        int64_t half_life = 1 + (int64_t)((chance_of(&seed) >> 20) << (i % 19));
        int64_t elapsed = (int64_t)(((chance_of(&seed) >> 20) << (i % 19)) % (uint64_t)half_life);
        if (i % 3 == 0)
            elapsed >>= i % 40;
        long double exact = exp2l(-(long double)elapsed / (long double)half_life);
        long double got = ldexpl((long double)gang__decay_factor(elapsed, half_life), -63);
        test_assert(fabsl(got - exact) < ldexpl(1, -56));
    }
}
END_TEST

START_TEST(half_of_a_mean_is_left_after_a_half_life)
{
    struct gang__decay d = {0, 0};
    gang__decay_advance(&d, HOUR, 8000, HOUR);
    ck_assert_int_eq(gang__decay_mean(&d), 4000);
    gang__decay_advance(&d, 2 * HOUR, 8000, HOUR);
    ck_assert_int_eq(gang__decay_mean(&d), 6000);
    gang__decay_advance(&d, 3 * HOUR, 0, HOUR);
    ck_assert_int_eq(gang__decay_mean(&d), 3000);
    gang__decay_advance(&d, 3 * HOUR, 99, HOUR); /* time stands still, or goes back */
    gang__decay_advance(&d, 1 * HOUR, 99, HOUR);
    ck_assert_int_eq(gang__decay_mean(&d), 3000);
    ck_assert_int_eq(d.at_ns, 3 * HOUR);
    gang__decay_advance(&d, 4 * HOUR, 77, 0); /* no memory */
    ck_assert_int_eq(gang__decay_mean(&d), 77);
}
END_TEST

START_TEST(decay_does_not_depend_on_the_steps_of_reports)
{
    uint64_t seed = test_seed();
    for (int round = 0; round < 2000; round++) {
        struct gang__decay once = {0, 0}, steps = {0, 0};
        int64_t half_life = 1 + (int64_t)((chance_of(&seed) >> 20) % (100 * (uint64_t)HOUR));
        int64_t now = 0;
        for (int phase = 0; phase < 4; phase++) {
            int64_t used = (int64_t)((chance_of(&seed) >> 20) % 1000000);
            for (int i = 0; i < 8; i++) {
                now += (int64_t)((chance_of(&seed) >> 20) % (uint64_t)HOUR);
                gang__decay_advance(&steps, now, used, half_life);
            }
            gang__decay_advance(&once, now, used, half_life);
        }
        gang__u128 apart = once.mean > steps.mean ? once.mean - steps.mean : steps.mean - once.mean;
        test_assert(apart >> 36 == 0); /* 2^-28 units of a million */
    }
}
END_TEST

START_TEST(weights_follow_past_use)
{
    struct gang__ratio much = {7, 10}, little = {3, 10}, none = {0, 1}, all = {1, 1};
    const int64_t whole = 1000 * M;
    ck_assert_int_eq(gang__decay_weight(1, 2, much, 0), whole / 2);
    ck_assert_int_eq(gang__decay_weight(1, 2, much, M), whole * 3 / 10);
    ck_assert_int_eq(gang__decay_weight(1, 2, little, M), whole * 7 / 10);
    ck_assert_int_eq(gang__decay_weight(1, 2, none, M), whole);
    ck_assert_int_eq(gang__decay_weight(1, 2, all, 2 * M), 0);
    ck_assert_int_eq(gang__decay_weight(1, 1, none, 1000 * M), GANG__MAX_MILLIONTHS);
    ck_assert_int_eq(gang__decay_weight(1, 2, (struct gang__ratio){1, 0}, 1), 0);
    ck_assert_int_eq(gang__decay_weight(0, 0, none, M), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decayed use");
    TCase *tests = tcase_create("decay");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, factors_of_whole_half_lives_are_exact);
    tcase_add_test(tests, factors_have_the_error_that_is_promised);
    tcase_add_test(tests, half_of_a_mean_is_left_after_a_half_life);
    tcase_add_test(tests, decay_does_not_depend_on_the_steps_of_reports);
    tcase_add_test(tests, weights_follow_past_use);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
