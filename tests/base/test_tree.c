/* SPDX-License-Identifier: Apache-2.0 */
/* The ordered set: against a sorted array, with its heights and links checked after every step. */
#include "base/ordered_set.h"

#include "chance.h"
#include "suite.h"

#include <stdbool.h>
#include <string.h>

struct item {
    int64_t key;
    int64_t weight, sum; /* sum: of all weights below, itself included, if it is refreshed */
    struct gang__set_link link;
};

static struct item *item_of(const struct gang__set_link *n)
{
    return (struct item *)((char *)(uintptr_t)n - offsetof(struct item, link));
}

static int by_key(const struct gang__set_link *a, const struct gang__set_link *b, const void *ctx)
{
    int64_t x = item_of(a)->key, y = item_of(b)->key;
    int order = (x > y) - (x < y);
    return ctx ? -order : order;
}

static int at_key(const struct gang__set_link *n, const void *key)
{
    int64_t x = item_of(n)->key, y = *(const int64_t *)key;
    return (x > y) - (x < y);
}

static bool add_up(struct gang__set_link *n)
{
    struct item *item = item_of(n);
    int64_t sum = item->weight;
    for (int side = 0; side < 2; side++)
        sum += n->child[side] ? item_of(n->child[side])->sum : 0;
    bool changed = sum != item->sum;
    item->sum = sum;
    return changed;
}

/* Are all sums those of the weights? Recursive. */
static int64_t check_sums(const struct gang__set_link *n)
{
    if (!n)
        return 0;
    int64_t sum = check_sums(n->child[0]) + check_sums(n->child[1]) + item_of(n)->weight;
    test_assert(item_of(n)->sum == sum);
    return sum;
}

static struct gang__set_link *above(const struct gang__set_link *n)
{
    return (struct gang__set_link *)(n->parent & ~(uintptr_t)3);
}

/* Height of what is below n. Recursive: only the test may be. */
static int check_below(const struct gang__set_link *n, const struct gang__set_link *parent)
{
    if (!n)
        return 0;
    test_assert(above(n) == parent);
    int before = check_below(n->child[0], n), after = check_below(n->child[1], n);
    test_assert((int)(n->parent & 3) - 1 == after - before);
    return 1 + (before > after ? before : after);
}

static void check_tree(const struct gang__ordered_set *t, struct item *const *sorted, size_t count)
{
    check_below(t->root, NULL);
    test_assert(t->count == count);
    struct gang__set_link *n = gang__set_first(t), *last = NULL;
    for (size_t i = 0; i < count; i++) {
        test_assert(n == &sorted[i]->link);
        test_assert(gang__set_prev(n) == last);
        last = n;
        n = gang__set_next(n);
    }
    test_assert(!n);
    test_assert(gang__set_last(t) == last);
}

START_TEST(an_empty_tree_has_no_ends)
{
    struct gang__ordered_set t;
    int64_t key = 0;
    gang__set_init(&t, by_key, NULL);
    check_tree(&t, NULL, 0);
    ck_assert_ptr_null(gang__set_first(&t));
    ck_assert_ptr_null(gang__set_last(&t));
    ck_assert_ptr_null(gang__set_lower_bound(&t, at_key, &key));
}
END_TEST

START_TEST(the_comparison_is_given_its_context)
{
    struct gang__ordered_set t;
    struct item item[3] = {{.key = 1}, {.key = 3}, {.key = 2}};
    int backwards = 1;
    gang__set_init(&t, by_key, &backwards);
    for (int i = 0; i < 3; i++)
        gang__set_insert(&t, &item[i].link);
    struct item *sorted[3] = {&item[1], &item[2], &item[0]};
    check_tree(&t, sorted, 3);
}
END_TEST

/* Every order of insertion and every order of removal of seven: all cases of rebalancing. */
START_TEST(small_trees_are_balanced_in_every_order)
{
    enum { N = 7 };
    for (int from = 0; from < 5040; from++) {
        struct item item[N], *sorted[N];
        struct gang__ordered_set t;
        int at[N], code = from;
        gang__set_init(&t, by_key, NULL);
        for (int i = 0; i < N; i++) {
            item[i].key = i;
            sorted[i] = &item[i];
            at[i] = i;
        }
        for (int i = N; i > 0; i--) {
            int j = code % i, keep = at[i - 1];
            code /= i;
            at[i - 1] = at[j];
            at[j] = keep;
        }
        for (int i = 0; i < N; i++) {
            gang__set_insert(&t, &item[at[i]].link);
            check_below(t.root, NULL);
        }
        check_tree(&t, sorted, N);
        for (int i = 0; i < N; i++) {
            gang__set_remove(&t, &item[at[(i * 3 + from) % N]].link);
            check_below(t.root, NULL);
        }
        check_tree(&t, NULL, 0);
    }
}
END_TEST

START_TEST(a_tree_is_what_a_sorted_array_is)
{
    enum { N = 600, STEPS = 20000 };
    static struct item item[N];
    static struct item *sorted[N];
    static bool in[N];
    uint64_t seed = test_seed();
    size_t count = 0;
    struct gang__ordered_set t;
    gang__set_init(&t, by_key, NULL);
    for (int64_t i = 0; i < N; i++)
        item[i].key = i * 2;
    for (int step = 0; step < STEPS; step++) {
        /* Mostly growth, then mostly shrinking, and so on. */
        bool grow = chance_of(&seed) % 8 < ((step / 2000) % 2 ? 3u : 5u);
        size_t i = chance_of(&seed) % N, at = 0;
        if (grow == in[i])
            continue;
        while (at < count && sorted[at]->key < item[i].key)
            at++;
        if (grow) {
            struct gang__set_link *next = at < count ? &sorted[at]->link : NULL;
            memmove(&sorted[at + 1], &sorted[at], (count - at) * sizeof(sorted[0]));
            sorted[at] = &item[i];
            count++;
            if (step % 5 == 0)
                gang__set_insert_before(&t, &item[i].link, next);
            else if (step % 3 == 0) /* guessed to be the last, rightly or not; or the first */
                gang__set_insert(&t, &item[i].link);
            else
                gang__set_insert_end(&t, &item[i].link, step % 3 - 1);
        } else {
            count--;
            memmove(&sorted[at], &sorted[at + 1], (count - at) * sizeof(sorted[0]));
            gang__set_remove(&t, &item[i].link);
        }
        in[i] = grow;
        check_tree(&t, sorted, count);
        int64_t key = (int64_t)(chance_of(&seed) % (2 * N + 2)) - 1;
        for (at = 0; at < count && sorted[at]->key < key;)
            at++;
        test_assert(gang__set_lower_bound(&t, at_key, &key) ==
                    (at < count ? &sorted[at]->link : NULL));
    }
}
END_TEST

/* Elements inserted at one end and removed from either end or anywhere: of a row, and of a tree
 * (the first search makes it one). */
START_TEST(ends_grow_and_shrink_in_balance)
{
    enum { N = 200 };
    for (int turn = 0; turn < 12; turn++) {
        struct item item[N], *sorted[N];
        struct gang__ordered_set t;
        int kind = turn % 6, side = kind % 2;
        int64_t key = 0;
        gang__set_init(&t, by_key, NULL);
        for (int i = 0; i < N; i++) {
            item[i].key = side ? i : -i;
            sorted[side ? i : N - 1 - i] = &item[i];
            gang__set_insert_end(&t, &item[i].link, side);
            check_below(t.root, NULL);
            if (turn >= 6)
                test_assert(gang__set_lower_bound(&t, at_key, &key) == &item[0].link);
            test_assert((t.root != NULL) == (turn >= 6));
        }
        check_tree(&t, sorted, N);
        for (int i = 0; i < N; i++) {
            int at = kind < 2 ? i : kind < 4 ? N - 1 - i : i * 7 % N;
            gang__set_remove(&t, &item[at].link);
            check_below(t.root, NULL);
        }
        check_tree(&t, NULL, 0);
    }
}
END_TEST

START_TEST(a_row_becomes_a_tree_when_one_belongs_in_between)
{
    enum { N = 100 };
    for (int at = 1; at < N; at++) {
        struct item item[N], *sorted[N];
        struct gang__ordered_set t;
        gang__set_init(&t, by_key, NULL);
        for (int i = 0; i < N; i++) {
            item[i].key = i;
            sorted[i] = &item[i];
        }
        for (int i = 0; i < N; i++)
            if (i != at)
                gang__set_insert_end(&t, &item[i].link, i % 2);
        ck_assert_ptr_null(t.root);
        gang__set_insert(&t, &item[at].link);
        test_assert((t.root != NULL) == (at < N - 1));
        check_tree(&t, sorted, N);
        for (int i = 0; i < N; i++)
            gang__set_remove(&t, &item[(i + at) % N].link);
        check_tree(&t, NULL, 0);
        gang__set_insert(&t, &item[0].link); /* a row again */
        ck_assert_ptr_null(t.root);
    }
}
END_TEST

START_TEST(a_row_takes_what_is_put_before_the_first_or_behind_the_last)
{
    enum { N = 5 };
    struct item item[N], *sorted[N];
    struct gang__ordered_set t;
    gang__set_init(&t, by_key, NULL);
    for (int i = 0; i < N; i++) {
        item[i].key = i;
        sorted[i] = &item[i];
    }
    gang__set_insert_before(&t, &item[1].link, NULL);
    gang__set_insert_before(&t, &item[0].link, &item[1].link);
    gang__set_insert_before(&t, &item[3].link, NULL);
    ck_assert_ptr_null(t.root);
    gang__set_insert_before(&t, &item[2].link, &item[3].link);
    ck_assert_ptr_nonnull(t.root);
    gang__set_insert_before(&t, &item[4].link, NULL);
    check_tree(&t, sorted, N);
}
END_TEST

START_TEST(sums_of_a_subtree_follow_every_change)
{
    enum { N = 300, STEPS = 20000 };
    static struct item item[N];
    static bool in[N];
    uint64_t seed = test_seed();
    struct gang__ordered_set t;
    gang__set_init(&t, by_key, NULL);
    t.refresh = add_up;
    for (int64_t i = 0; i < N; i++)
        item[i].key = i;
    for (int step = 0; step < STEPS; step++) {
        struct item *one = &item[chance_of(&seed) % N];
        bool weigh = chance_of(&seed) % 3 == 0;
        one->weight = weigh || !in[one->key] ? (int64_t)(chance_of(&seed) % 5) : one->weight;
        if (weigh && in[one->key])
            gang__set_refresh_node(&t, &one->link);
        else if (in[one->key])
            gang__set_remove(&t, &one->link);
        else
            gang__set_insert(&t, &one->link);
        in[one->key] = !in[one->key] || weigh;
        check_sums(t.root);
        check_below(t.root, NULL);
    }
}
END_TEST

START_TEST(a_million_elements_go_in_and_out)
{
    enum { N = 1 << 20 };
    struct item *item = malloc(N * sizeof(*item));
    ck_assert_ptr_nonnull(item);
    struct gang__ordered_set t;
    gang__set_init(&t, by_key, NULL);
    for (uint32_t i = 0; i < N; i++) {
        item[i].key = (int64_t)(i * UINT32_C(2654435761)); /* odd: all different */
        gang__set_insert(&t, &item[i].link);
    }
    int64_t height = check_below(t.root, NULL);
    ck_assert_int_le(height, 29); /* 1.44 log2(n) */
    int64_t last = -1;
    while (gang__set_first(&t)) {
        struct item *first = item_of(gang__set_first(&t));
        test_assert(first->key > last);
        last = first->key;
        gang__set_remove(&t, &first->link);
    }
    ck_assert_uint_eq(t.count, 0);
    ck_assert_ptr_null(t.root);
    free(item);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ordered trees");
    TCase *tests = tcase_create("trees");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, an_empty_tree_has_no_ends);
    tcase_add_test(tests, the_comparison_is_given_its_context);
    tcase_add_test(tests, small_trees_are_balanced_in_every_order);
    tcase_add_test(tests, a_tree_is_what_a_sorted_array_is);
    tcase_add_test(tests, ends_grow_and_shrink_in_balance);
    tcase_add_test(tests, a_row_becomes_a_tree_when_one_belongs_in_between);
    tcase_add_test(tests, a_row_takes_what_is_put_before_the_first_or_behind_the_last);
    tcase_add_test(tests, sums_of_a_subtree_follow_every_change);
    tcase_add_test(tests, a_million_elements_go_in_and_out);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
