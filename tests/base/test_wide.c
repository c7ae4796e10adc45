/* SPDX-License-Identifier: Apache-2.0 */
/* wide.h: products of two amounts, exactly. */
#include "base/wide.h"

#include "support.h"

/* By subtraction and doubling, bit by bit: no multiplication or division of 128 bits. */
static int64_t slow_mul_div(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t quotient = 0, rest = 0; /* of (the bits of b so far) * a by c */
    for (int bit = 62; bit >= 0; bit--) {
        uint64_t add = (b >> bit & 1) ? a : 0;
        if (quotient > INT64_MAX / 2)
            return INT64_MAX;
        quotient = 2 * quotient + add / c + (rest >= c - rest);
        rest = rest >= c - rest ? rest - (c - rest) : 2 * rest;
        quotient += rest >= c - add % c;
        rest = rest >= c - add % c ? rest - (c - add % c) : rest + add % c;
        if (quotient > INT64_MAX)
            return INT64_MAX;
    }
    return (int64_t)quotient;
}

START_TEST(a_quotient_is_exact_where_the_product_needs_more_than_64_bits)
{
    static const int64_t some[] = {0,
                                   1,
                                   2,
                                   3,
                                   1000,
                                   999983,
                                   INT64_C(1) << 31,
                                   (INT64_C(1) << 32) + 1,
                                   INT64_C(3037000499), /* its square is the last below 2^63 */
                                   INT64_C(3037000500),
                                   INT64_C(1) << 62,
                                   INT64_MAX - 1,
                                   INT64_MAX};
    enum { COUNT = sizeof(some) / sizeof(some[0]) };
    for (int a = 0; a < COUNT; a++)
        for (int b = 0; b < COUNT; b++)
            for (int c = 1; c < COUNT; c++)
                ck_assert_int_eq(
                    gang__mul_div(some[a], some[b], some[c]),
                    slow_mul_div((uint64_t)some[a], (uint64_t)some[b], (uint64_t)some[c]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wide");
    TCase *t = tcase_create("quotients");
    tcase_add_test(t, a_quotient_is_exact_where_the_product_needs_more_than_64_bits);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
