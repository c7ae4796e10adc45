/* SPDX-License-Identifier: Apache-2.0 */
/* Fair shares of one kind: worked numbers of YARN, Peloton and the fair
 * scheduler, then properties on random siblings. */
#include "queue/fairness/fairness.h"

#include "chance.h"
#include "suite.h"

#include <stdbool.h>
#include <string.h>

enum { MOST = 64 };
static const int64_t M = GANG_WHOLE;
static const int64_t ALL = INT64_MAX;

/* Divides; returns what is left. */
static int64_t divide(struct gang__sharer *q, size_t n, int64_t total, int64_t unit)
{
    static struct gang__share_slot slot[MOST];
    ck_assert_uint_le(n, MOST);
    return gang__share_divide(q, n, total, unit, slot);
}

/* ---- tables: what is to come out of one level ---- */

struct row {
    const char *what;
    int64_t total, unit;
    size_t n;
    struct gang__sharer q[5]; /* guarantee, demand, priority, weight, age, share */
};

static const struct row rows[] = {
    {"KAI: a class by weight, whole units, the oldest of equals first",
     10,
     1,
     3,
     {{0, 99, 0, M, 2, 3}, {0, 99, 0, M, 1, 4}, {0, 99, 0, M, 3, 3}}},
    {"KAI: what one does not want goes to the others",
     10,
     1,
     3,
     {{0, 1, 0, M, 0, 1}, {0, 99, 0, M, 1, 5}, {0, 99, 0, M, 2, 4}}},
    {"KAI: the higher class has all it wants first",
     10,
     1,
     3,
     {{2, 99, 0, M, 0, 3}, {0, 4, 5, M, 1, 4}, {0, 3, 5, M, 2, 3}}},
    {"one rounding: 1 of 10 is enough, then 5.4 and 3.6",
     10,
     1,
     3,
     {{0, 1, 0, M, 0, 1}, {0, 99, 0, 3 * M, 1, 5}, {0, 99, 0, 2 * M, 2, 4}}},
    {"a demand that the exact part just covers is met before any rounding",
     8,
     1,
     5,
     {{1, 7, 0, 3 * M, 0, 4},
      {0, 1, 0, 3 * M, 1, 1},
      {0, 1, 0, M, 2, 1},
      {0, 8, 0, M, 3, 1},
      {0, 4, 0, M, 4, 1}}},
    {"the widest numbers: products of 123 bits",
     ALL,
     1,
     3,
     {{0, 1, 0, GANG__MAX_MILLIONTHS, 0, 1},
      {0, ALL, 0, GANG__MAX_MILLIONTHS, 1, ALL / 2},
      {0, ALL, 0, GANG__MAX_MILLIONTHS, 2, ALL / 2}}},
    {"no demand, no share, whatever the guarantee",
     64,
     1,
     2,
     {{32, 0, 0, M, 0, 0}, {8, 99, 0, M, 1, 64}}},
    {"an unlimited guarantee", 64, 1, 2, {{ALL, 40, 0, 0, 0, 40}, {0, ALL, 0, M, 1, 24}}},
    {"two unlimited guarantees: whatever either wants",
     65,
     1,
     2,
     {{ALL, 60, 0, 0, 4, 60}, {ALL, 70, 0, M, 3, 70}}},
    /* YARN scales them (gang_sched_opts.scale_guarantees does, before it comes to this). */
    {"KAI: guarantees that no longer fit all stand, as far as they are wanted",
     48,
     1,
     4,
     {{80, 99, 0, M, 0, 80}, {40, 40, 0, M, 1, 40}, {99, 24, 0, M, 2, 24}, {0, 9, 9, M, 3, 0}}},
    {"the last piece of a demand is part of a unit",
     4000,
     1000,
     2,
     {{0, 1500, 0, M, 0, 1500}, {0, 9000, 0, M, 1, 2500}}},
    {"half a unit is not rounded away from who wants just that",
     2000,
     1000,
     3,
     {{0, 500, 0, M, 0, 500}, {0, 500, 0, M, 1, 500}, {0, 5000, 0, M, 2, 1000}}},
    {"a weight of 0 has no part in the rest",
     10,
     1,
     3,
     {{1, 99, 9, 0, 0, 1}, {0, 5, 0, M, 1, 5}, {0, 99, 8, 0, 2, 0}}},
    {"weights of 0 alone: nobody has", 10, 1, 2, {{0, 99, 0, 0, 0, 0}, {0, 99, 0, 0, 1, 0}}},
    {"as much as a number can hold",
     ALL,
     1,
     2,
     {{0, ALL, 0, GANG__MAX_MILLIONTHS, 1, ALL / 2},
      {0, ALL, 0, GANG__MAX_MILLIONTHS, 0, ALL / 2 + 1}}},

    /* YARN's FairScheduler: sum of clamp(weight * R, min, max); a minimum is our guarantee. */
    {"fair scheduler: equal",
     40,
     1,
     4,
     {{0, ALL, 0, M, 0, 10}, {0, ALL, 0, M, 1, 10}, {0, ALL, 0, M, 2, 10}, {0, ALL, 0, M, 3, 10}}},
    {"fair scheduler: maxima 100/50/11/3",
     40,
     1,
     4,
     {{0, 100, 0, M, 0, 13}, {0, 50, 0, M, 1, 13}, {0, 11, 0, M, 2, 11}, {0, 3, 0, M, 3, 3}}},
    {"fair scheduler: weights 2,1,1,.5",
     45,
     1,
     4,
     {{0, ALL, 0, 2 * M, 0, 20},
      {0, ALL, 0, M, 1, 10},
      {0, ALL, 0, M, 2, 10},
      {0, ALL, 0, M / 2, 3, 5}}},
    {"fair scheduler: those weights and maxima 10/11/30/20",
     45,
     1,
     4,
     {{0, 10, 0, 2 * M, 0, 10},
      {0, 11, 0, M, 1, 11},
      {0, 30, 0, M, 2, 16},
      {0, 20, 0, M / 2, 3, 8}}},
    /* There 20/5/5/15: a guarantee counts towards the share by weight. Here the 5 beyond the
     * guarantees are divided among all, as KAI and Peloton do. */
    {"fair scheduler: minima 20,0,5,15; ours gives what is left to all by weight",
     45,
     1,
     4,
     {{20, ALL, 0, M, 0, 22}, {0, ALL, 0, M, 1, 1}, {5, ALL, 0, M, 2, 6}, {15, ALL, 0, M, 3, 16}}},
    /* There 37.3/18.7/8: the guarantee of 16 counts towards the 18.7. */
    {"own of 1.13: weights 2,1,1, min -,16,-, max -,-,8: 26.7 and 13.3 of 40 beyond the guarantee",
     64,
     1,
     3,
     {{0, ALL, 0, 2 * M, 0, 27}, {16, ALL, 0, M, 1, 29}, {0, 8, 0, M, 2, 8}}},

    /* Peloton's user guide; its own rows, without what it gives to those that ask for nothing. */
    {"peloton: 10/45/45",
     100,
     1,
     3,
     {{20, 10, 0, M, 0, 10}, {20, 80, 0, M, 1, 45}, {20, 80, 0, M, 2, 45}}},
    /* Peloton: 33/33/33, and 1 unassigned. */
    {"peloton: 33/33/33; ours gives the last unit too, to the oldest",
     100,
     1,
     3,
     {{20, 50, 0, M, 0, 34}, {20, 80, 0, M, 1, 33}, {20, 80, 0, M, 2, 33}}},
    {"peloton: 8/24/32",
     64,
     1,
     3,
     {{16, 8, 0, M, 0, 8}, {16, 40, 0, M, 1, 24}, {16, 40, 0, 2 * M, 2, 32}}},
    /* Peloton: 24/5/30, and 5 unassigned: 40 are not wanted, and it hands on some of them in
     * advance. */
    {"peloton: limit 24; ours is what is asked for, and idle capacity stays free for any",
     64,
     1,
     3,
     {{16, 24, 0, M, 0, 24}, {16, 0, 0, M, 1, 0}, {8, 20, 0, 2 * M, 2, 20}}},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

START_TEST(siblings_get_their_shares)
{
    struct row row = rows[_i];
    struct gang__sharer q[5];
    int64_t sum = 0;
    for (size_t i = 0; i < row.n; i++) {
        q[i] = row.q[i];
        q[i].share = -1;
    }
    int64_t left = divide(q, row.n, row.total, row.unit);
    for (size_t i = 0; i < row.n; i++) {
        ck_assert_msg(q[i].share == row.q[i].share, "%s: %zu has %lld, not %lld", row.what, i,
                      (long long)q[i].share, (long long)row.q[i].share);
        sum += q[i].share;
    }
    ck_assert_int_eq(left, sum < row.total ? row.total - sum : 0);
}
END_TEST

START_TEST(no_sharers_and_no_amount_can_be_divided)
{
    struct gang__sharer one = {5, 9, 0, M, 0, -1};
    ck_assert_int_eq(divide(NULL, 0, 7, 1), 7);
    ck_assert_int_eq(divide(&one, 1, 0, 1), 0);
    ck_assert_int_eq(one.share, 5); /* even of nothing, its guarantee stays its guarantee */
    one.guarantee = 0;
    ck_assert_int_eq(divide(&one, 1, 0, 1), 0);
    ck_assert_int_eq(one.share, 0);
}
END_TEST

/* ---- Peloton's tree: r1(r11, r12), r2(r21, r22), r3; each reservation 10, limit 1000, share 1
 * ---- */

struct tree_row {
    int64_t r11, r21, r22; /* demand */
    int64_t share[6];      /* r1, r2, r3, r11, r21, r22 */
};

/* Upstream divides idle capacity among all by share, in advance: 33/13 where only r11 wants 20,
 * 30/10/30, 26/26/26. Here a share is an entitlement against others: demand bounds it, and idle
 * capacity is used without one. So ours equal the demands. */
static const struct tree_row tree_rows[] = {
    {20, 0, 0, {20, 0, 0, 20, 0, 0}},
    {20, 20, 0, {20, 20, 0, 20, 20, 0}},
    {20, 20, 20, {20, 40, 0, 20, 20, 20}},
    /* With enough to do everywhere below r1 and r2, r3 idle: 50 and 50. */
    {200, 200, 200, {50, 50, 0, 50, 25, 25}},
};
enum { TREE_ROWS = sizeof(tree_rows) / sizeof(tree_rows[0]) };

START_TEST(a_tree_is_divided_level_by_level)
{
    const struct tree_row *row = &tree_rows[_i];
    struct gang__sharer top[3] = {
        {10, row->r11, 0, M, 0, 0}, {10, row->r21 + row->r22, 0, M, 1, 0}, {10, 0, 0, M, 2, 0}};
    divide(top, 3, 100, 1);
    struct gang__sharer r1[2] = {{10, row->r11, 0, M, 0, 0}, {10, 0, 0, M, 1, 0}};
    divide(r1, 2, top[0].share, 1);
    struct gang__sharer r2[2] = {{10, row->r21, 0, M, 0, 0}, {10, row->r22, 0, M, 1, 0}};
    divide(r2, 2, top[1].share, 1);
    int64_t got[6] = {top[0].share, top[1].share, top[2].share,
                      r1[0].share,  r2[0].share,  r2[1].share};
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(got[i], row->share[i]);
}
END_TEST

/* Upstream's numbers, for a host that wants to anticipate: the demand as the
 * guarantee, no end to the demand. They differ by the unit that upstream loses by rounding down. */
START_TEST(anticipation_is_a_demand_without_end)
{
    static const int64_t want[3][4] = {{20, 0, 0, 0}, {20, 0, 20, 0}, {20, 0, 20, 20}};
    static const int64_t have[3][5] = {
        {33, 13, 14, 13, 27}, {30, 10, 30, 10, 20}, {27, 6, 27, 26, 14}};
    for (int i = 0; i < 3; i++) {
        const int64_t *w = want[i];
        struct gang__sharer top[3], leaf[4];
        for (int j = 0; j < 3; j++)
            top[j] = (struct gang__sharer){
                j < 2 ? w[2 * j] + w[2 * j + 1] : 0, ALL, 0, M, (uint64_t)(2 - j), 0};
        for (int j = 0; j < 4; j++)
            leaf[j] = (struct gang__sharer){w[j], ALL, 0, M, (uint64_t)j, 0};
        divide(top, 3, 100, 1);
        divide(leaf, 2, top[0].share, 1);
        divide(leaf + 2, 2, top[1].share, 1);
        for (int j = 0; j < 4; j++)
            ck_assert_int_eq(leaf[j].share, have[i][j]);
        ck_assert_int_eq(top[2].share, have[i][4]);
    }
}
END_TEST

/* ---- properties ---- */

static int64_t some(uint64_t *seed, int64_t below)
{
    return (int64_t)(chance_of(seed) % (uint64_t)below);
}

/* n siblings; whole: all amounts are whole units. */
static void some_siblings(uint64_t *seed, struct gang__sharer *q, size_t n, int64_t unit, int whole)
{
    for (size_t i = 0; i < n; i++) {
        q[i] = (struct gang__sharer){some(seed, 12 * unit),
                                     some(seed, 30 * unit),
                                     some(seed, 3),
                                     some(seed, 5) * M / 2,
                                     i,
                                     -1};
        if (whole) {
            q[i].guarantee -= q[i].guarantee % unit;
            q[i].demand -= q[i].demand % unit;
        }
        if (some(seed, 10) == 0)
            q[i].guarantee = ALL;
        if (some(seed, 10) == 0)
            q[i].demand = ALL;
    }
}

static int64_t base_of(const struct gang__sharer *q)
{
    return q->guarantee < q->demand ? q->guarantee : q->demand;
}

static gang__u128 most(gang__u128 a, gang__u128 b)
{
    return a > b ? a : b;
}

static gang__u128 least(gang__u128 a, gang__u128 b)
{
    return a < b ? a : b;
}

static void check_division(const struct gang__sharer *q, size_t n, int64_t total, int64_t left)
{
    gang__u128 sum = 0, demand = 0, base = 0, all = gang__wide(total);
    bool idle = false; /* a queue wants more and has no weight */
    for (size_t i = 0; i < n; i++) {
        test_assert(q[i].share >= base_of(&q[i]) && q[i].share <= q[i].demand);
        sum += gang__wide(q[i].share);
        demand += gang__wide(q[i].demand);
        base += gang__wide(base_of(&q[i]));
        idle = idle || (q[i].weight == 0 && q[i].share < q[i].demand);
    }
    test_assert(idle || sum == most(base, least(all, demand)));
    test_assert(sum <= most(base, least(all, demand)));
    test_assert(gang__wide(left) == (sum < all ? all - sum : 0));
    for (size_t i = 0; i < n; i++) {
        if (base >= all) /* nothing is left over: no queue has more than its guarantee */
            test_assert(q[i].share == base_of(&q[i]));
        for (size_t j = 0; j < n; j++) /* nothing for a lower class while a higher one lacks any */
            if (q[i].weight > 0 && q[j].weight > 0 && q[i].priority > q[j].priority &&
                q[i].share < q[i].demand)
                test_assert(q[j].share == base_of(&q[j]));
    }
}

START_TEST(shares_add_up_and_respect_demand_and_guarantee)
{
    uint64_t seed = test_seed();
    for (int round = 0; round < 20000; round++) {
        struct gang__sharer q[MOST];
        size_t n = 1 + (size_t)some(&seed, round % 50 ? 6 : MOST);
        int64_t unit = 1 + some(&seed, 4) * 333, total = some(&seed, 100 * unit);
        some_siblings(&seed, q, n, unit, 0);
        check_division(q, n, total, divide(q, n, total, unit));
    }
}
END_TEST

/* ---- the exact division, worked out by sorting ---- */

/* A fraction; numbers here are small, so products of two fit. */
struct fraction {
    int64_t num, den;
};

static bool is_less(struct fraction a, struct fraction b)
{
    return a.num * b.den < b.num * a.den;
}

/* The exact parts of one class: filled in the order of demand / weight, each sharer gets its demand
 * or the level at which it would end with all that come after. */
static void exact_parts(const struct gang__sharer *q, const size_t *of, size_t n, int64_t rest,
                        struct fraction *part)
{
    bool filled[MOST] = {false};
    for (size_t done = 0; done < n; done++) {
        int64_t weights = 0;
        size_t next = n;
        for (size_t i = 0; i < n; i++) {
            if (filled[i])
                continue;
            struct fraction level = {q[of[i]].demand - base_of(&q[of[i]]), q[of[i]].weight};
            weights += q[of[i]].weight;
            if (next == n ||
                is_less(level, (struct fraction){q[of[next]].demand - base_of(&q[of[next]]),
                                                 q[of[next]].weight}))
                next = i;
        }
        const struct gang__sharer *least = &q[of[next]];
        int64_t unmet = least->demand - base_of(least);
        struct fraction fair = {rest * least->weight, weights};
        filled[next] = true;
        if (!is_less(fair, (struct fraction){unmet, 1})) {
            part[next] = (struct fraction){unmet, 1};
            rest -= unmet;
            continue;
        }
        for (size_t i = 0; i < n; i++)
            if (!filled[i] || i == next)
                part[i] = (struct fraction){rest * q[of[i]].weight, weights};
        return;
    }
}

/* Rounds the parts of one class to whole numbers once, by largest remainder, then age. */
static int64_t round_parts(const size_t *of, size_t n, int64_t rest, const struct fraction *part,
                           int64_t *share)
{
    bool given[MOST] = {false};
    for (size_t i = 0; i < n; i++) {
        share[of[i]] += part[i].num / part[i].den;
        rest -= part[i].num / part[i].den;
    }
    for (;;) {
        size_t best = n;
        for (size_t i = 0; i < n; i++) {
            struct fraction r = {part[i].num % part[i].den, part[i].den};
            if (r.num > 0 && !given[i] &&
                (best == n ||
                 is_less((struct fraction){part[best].num % part[best].den, part[best].den}, r)))
                best = i;
        }
        if (best == n || rest == 0)
            return rest;
        given[best] = true;
        share[of[best]]++;
        rest--;
    }
}

static void divide_exactly(const struct gang__sharer *q, size_t n, int64_t total, int64_t *share)
{
    int64_t rest = total;
    for (size_t i = 0; i < n; i++) {
        share[i] = base_of(&q[i]);
        rest -= share[i];
    }
    for (int64_t class = 2; class >= 0 && rest > 0; class --) {
        struct fraction part[MOST];
        size_t of[MOST], count = 0;
        for (size_t i = 0; i < n; i++)
            if (q[i].priority == class && q[i].weight > 0 && q[i].demand > share[i])
                of[count++] = i;
        exact_parts(q, of, count, rest, part);
        rest = round_parts(of, count, rest, part, share);
    }
}

START_TEST(shares_are_the_exact_division_rounded_once)
{
    uint64_t seed = test_seed();
    for (int round = 0; round < 100000; round++) {
        struct gang__sharer q[MOST];
        int64_t share[MOST];
        size_t n = 1 + (size_t)some(&seed, round % 50 ? 6 : MOST);
        int64_t most = round % 3 ? 12 : 2000, total = some(&seed, 3 * most);
        for (size_t i = 0; i < n; i++)
            q[i] = (struct gang__sharer){some(&seed, 2) ? 0 : some(&seed, most),
                                         some(&seed, 2 * most),
                                         some(&seed, 2) ? 1 : some(&seed, 3),
                                         some(&seed, 7),
                                         i,
                                         -1};
        divide_exactly(q, n, total, share);
        divide(q, n, total, 1);
        for (size_t i = 0; i < n; i++)
            test_assert(q[i].share == share[i]);
    }
}
END_TEST

/* But for one unit, which the rounding decides. */
START_TEST(more_weight_never_means_less)
{
    uint64_t seed = test_seed();
    for (int round = 0; round < 20000; round++) {
        struct gang__sharer q[MOST], more[MOST];
        size_t n = 2 + (size_t)some(&seed, 6), i = (size_t)some(&seed, (int64_t)n);
        int64_t unit = 1 + some(&seed, 3) * 500, total = some(&seed, 60) * unit;
        some_siblings(&seed, q, n, unit, 1);
        memcpy(more, q, sizeof(q));
        more[i].weight += 1 + some(&seed, 3 * M);
        divide(q, n, total, unit);
        divide(more, n, total, unit);
        test_assert(more[i].share >= q[i].share - unit);
    }
}
END_TEST

START_TEST(the_order_of_the_siblings_does_not_matter)
{
    uint64_t seed = test_seed();
    for (int round = 0; round < 5000; round++) {
        struct gang__sharer q[MOST], mixed[MOST];
        size_t n = 2 + (size_t)some(&seed, MOST - 1);
        int64_t unit = 1 + some(&seed, 3) * 500, total = some(&seed, 20 * (int64_t)n * unit);
        some_siblings(&seed, q, n, unit, 0);
        memcpy(mixed, q, sizeof(q));
        for (size_t i = n; i > 1; i--) {
            size_t j = (size_t)some(&seed, (int64_t)i);
            struct gang__sharer keep = mixed[i - 1];
            mixed[i - 1] = mixed[j];
            mixed[j] = keep;
        }
        divide(q, n, total, unit);
        divide(mixed, n, total, unit);
        for (size_t i = 0; i < n; i++)
            test_assert(mixed[i].share == q[mixed[i].age].share);
    }
}
END_TEST

/* Equal ratios, rising ones, fractions that each fill up in a round of their own: not quadratic. */
START_TEST(thousands_of_siblings_are_divided_fast)
{
    enum { N = 4096, TIMES = 20 };
    static struct gang__sharer q[N];
    static struct gang__share_slot slot[N];
    static const char *const name[4] = {"equal", "rising", "random", "all priorities"};
    uint64_t seed = 1;
    for (int shape = 0; shape < 4; shape++) {
        for (size_t i = 0; i < N; i++) {
            int64_t wants[4] = {ALL, 400 + (int64_t)i / 8, some(&seed, 9000), 1000};
            q[i] = (struct gang__sharer){0, wants[shape], shape == 3 ? (int64_t)i : 0, M, i, 0};
        }
        clock_t start = clock();
        for (int t = 0; t < TIMES; t++)
            gang__share_divide(q, N, shape == 3 ? N * 999 : N * 600 + 700, 1000, slot);
        double us = (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC / TIMES;
        printf("%s: %.0f us for %d siblings\n", name[shape], us, N);
        ck_assert(us < 100e3); /* a quadratic one takes more, even where the machine is busy */
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shares");
    TCase *tests = tcase_create("shares");
    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, siblings_get_their_shares, 0, ROWS);
    tcase_add_test(tests, no_sharers_and_no_amount_can_be_divided);
    tcase_add_loop_test(tests, a_tree_is_divided_level_by_level, 0, TREE_ROWS);
    tcase_add_test(tests, anticipation_is_a_demand_without_end);
    tcase_add_test(tests, shares_add_up_and_respect_demand_and_guarantee);
    tcase_add_test(tests, shares_are_the_exact_division_rounded_once);
    tcase_add_test(tests, more_weight_never_means_less);
    tcase_add_test(tests, the_order_of_the_siblings_does_not_matter);
    tcase_add_test(tests, thousands_of_siblings_are_divided_fast);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
