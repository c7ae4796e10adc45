/* SPDX-License-Identifier: Apache-2.0 */
/* Ratios, dominant kinds, and the orders of siblings: worked numbers of YARN. */
#include "queue/fairness/fairness.h"

#include <gangsched/model.h>

#include "suite.h"

#include <string.h>

static struct gang__ratio ratio(int64_t num, int64_t den)
{
    return (struct gang__ratio){num, den};
}

/* ---- ratios ---- */

START_TEST(ratios_are_compared_exactly)
{
    int64_t big = INT64_MAX;
    ck_assert_int_eq(gang__ratio_compare(ratio(1, 3), ratio(2, 6)), 0);
    ck_assert_int_lt(gang__ratio_compare(ratio(1, 3), ratio(2, 5)), 0);
    ck_assert_int_lt(gang__ratio_compare(ratio(big, big - 1), ratio(big - 1, big - 2)), 0);
    ck_assert_int_lt(gang__ratio_compare(ratio(big - 2, big - 1), ratio(big - 1, big)), 0);
}
END_TEST

START_TEST(nothing_of_nothing_is_nothing_and_some_of_nothing_is_infinite)
{
    ck_assert_int_eq(gang__ratio_compare(ratio(0, 0), ratio(0, 7)), 0);
    ck_assert_int_lt(gang__ratio_compare(ratio(0, 0), ratio(1, INT64_MAX)), 0);
    ck_assert_int_gt(gang__ratio_compare(ratio(1, 0), ratio(INT64_MAX, 1)), 0);
    ck_assert_int_eq(gang__ratio_compare(ratio(1, 0), ratio(2, 0)), 0);
}
END_TEST

/* ---- vectors ---- */

START_TEST(the_dominant_kind_is_that_of_the_greatest_part)
{
    int64_t used[GANG_MAX_KINDS] = {3, 1, 2}, of[GANG_MAX_KINDS] = {4, 4, 0};
    int kind;
    struct gang__ratio r = gang__dominant(used, of, 3, &kind);
    ck_assert_int_eq(kind, 0);
    ck_assert_int_eq(r.num, 3);
    ck_assert_int_eq(r.den, 4);
    r = gang__dominant(used, of, 7, &kind); /* some of a kind without a share */
    ck_assert_int_eq(kind, 2);
    ck_assert_int_eq(gang__ratio_compare(r, ratio(1, 0)), 0);
    gang__dominant(used, of, 2, &kind); /* excluded kinds do not count */
    ck_assert_int_eq(kind, 1);
    r = gang__dominant(used, of, 0, &kind);
    ck_assert_int_eq(kind, -1);
    ck_assert_int_eq(gang__ratio_compare(r, ratio(0, 1)), 0);
    used[GANG_MAX_KINDS - 1] = 9;
    of[GANG_MAX_KINDS - 1] = 1;
    gang__dominant(used, of, UINT32_C(1) << 31 | 3, &kind);
    ck_assert_int_eq(kind, GANG_MAX_KINDS - 1);
    gang__dominant(used, of, 3, NULL);
}
END_TEST

START_TEST(a_sum_is_within_a_limit_in_every_kind)
{
    int64_t used[GANG_MAX_KINDS] = {3, 7}, more[GANG_MAX_KINDS] = {2, 1};
    int64_t limit[GANG_MAX_KINDS] = {5, 7};
    ck_assert(gang__keeps_limit(used, more, limit, 1));
    ck_assert(!gang__keeps_limit(used, more, limit, 3));
    more[1] = 0;
    used[1] = 9; /* above, but nothing more is asked for */
    ck_assert(gang__keeps_limit(used, more, limit, 3));
    more[0] = INT64_MAX;
    ck_assert(!gang__keeps_limit(used, more, limit, 1));
    limit[0] = INT64_MAX;
    used[0] = 0;
    ck_assert(gang__keeps_limit(used, more, limit, 1));
}
END_TEST

/* ---- orders of siblings ---- */

typedef int order_fn(const struct gang__sibling *a, const struct gang__sibling *b);

struct named {
    char name;
    struct gang__sibling turn;
};

static struct named turn(char name, int64_t used_tenths, int64_t priority, int64_t capacity)
{
    return (struct named){
        name, {ratio(used_tenths, 10), ratio(used_tenths, 100), ratio(capacity, 100), priority}};
}

/* The names in the order in which they are served. */
static void check_order(order_fn *order, struct named *q, int n, const char *names)
{
    char got[8] = "";
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && order(&q[j].turn, &q[j - 1].turn) < 0; j--) {
            struct named keep = q[j];
            q[j] = q[j - 1];
            q[j - 1] = keep;
        }
    for (int i = 0; i < n; i++)
        got[i] = q[i].name;
    ck_assert_str_eq(got, names);
}

START_TEST(priority_goes_first_but_not_above_the_guarantee)
{
    struct named q[5] = {turn('a', 12, 1, 1), turn('b', 10, 2, 1), turn('c', 2, 0, 1),
                         turn('d', 11, 0, 1), turn('e', 2, 3, 1)};
    check_order(gang__order_priority_utilization, q, 5, "ecbad");
}
END_TEST

START_TEST(queues_without_capacity_come_last)
{
    struct named q[5] = {turn('a', 12, 1, 0), turn('b', 10, 2, 0), turn('c', 2, 0, 1),
                         turn('d', 11, 0, 1), turn('e', 2, 3, 1)};
    check_order(gang__order_priority_utilization, q, 5, "ecdba");
}
END_TEST

START_TEST(a_lower_priority_below_its_guarantee_goes_before_a_higher_one_at_it)
{
    struct named q[2] = {turn('x', 10, 2, 1), turn('y', 1, 1, 1)};
    check_order(gang__order_priority_utilization, q, 2, "yx");
}
END_TEST

START_TEST(equals_go_by_capacity)
{
    struct named q[3] = {turn('x', 5, 1, 10), turn('y', 5, 1, 30), turn('z', 9, 0, 1)};
    check_order(gang__order_priority_utilization, q, 3, "yxz");
}
END_TEST

START_TEST(utilization_looks_at_nothing_else)
{
    struct named q[5] = {turn('a', 12, 1, 1), turn('b', 10, 2, 0), turn('c', 3, 0, 1),
                         turn('d', 11, 0, 1), turn('e', 2, 3, 1)};
    check_order(gang__order_utilization, q, 5, "ecbda");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dominant kinds");
    TCase *tests = tcase_create("dominant");
    tcase_add_test(tests, ratios_are_compared_exactly);
    tcase_add_test(tests, nothing_of_nothing_is_nothing_and_some_of_nothing_is_infinite);
    tcase_add_test(tests, the_dominant_kind_is_that_of_the_greatest_part);
    tcase_add_test(tests, a_sum_is_within_a_limit_in_every_kind);
    tcase_add_test(tests, priority_goes_first_but_not_above_the_guarantee);
    tcase_add_test(tests, queues_without_capacity_come_last);
    tcase_add_test(tests, a_lower_priority_below_its_guarantee_goes_before_a_higher_one_at_it);
    tcase_add_test(tests, equals_go_by_capacity);
    tcase_add_test(tests, utilization_looks_at_nothing_else);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
