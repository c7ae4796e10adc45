/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of one kind among siblings: rounds as in KAI, with one rule of rounding that conserves
 * sums. */
#include "queue/fairness/fairness.h"

#include <assert.h>

/* Negative: a goes before b. */
typedef int slot_order(const struct gang__share_slot *a, const struct gang__share_slot *b);

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By the loss in rounding, then the oldest, then the first given. */
static int by_rest(const struct gang__share_slot *a, const struct gang__share_slot *b)
{
    if (a->rest != b->rest)
        return a->rest > b->rest ? -1 : 1;
    if (a->of->age != b->of->age)
        return compare_u64(a->of->age, b->of->age);
    return (a->of > b->of) - (a->of < b->of);
}

static int by_class(const struct gang__share_slot *a, const struct gang__share_slot *b)
{
    int64_t x = a->of->priority, y = b->of->priority;
    return (y > x) - (y < x);
}

static void swap(struct gang__share_slot *a, struct gang__share_slot *b)
{
    struct gang__share_slot keep = *a;
    *a = *b;
    *b = keep;
}

static void sift(struct gang__share_slot *s, size_t at, size_t n, slot_order *order)
{
    for (;;) {
        size_t down = 2 * at + 1;
        if (down >= n)
            return;
        if (down + 1 < n && order(&s[down], &s[down + 1]) < 0)
            down++;
        if (order(&s[at], &s[down]) >= 0)
            return;
        swap(&s[at], &s[down]);
        at = down;
    }
}

static void sort(struct gang__share_slot *s, size_t n, slot_order *order)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(s, i, n, order);
    for (size_t i = n; i > 1;) {
        swap(&s[0], &s[--i]);
        sift(s, 0, i, order);
    }
}

/* Gives the units that rounding left, one each, to the sharers that lost most in the last round. */
static int64_t give_rest(struct gang__share_slot *s, size_t n, int64_t left, int64_t unit)
{
    sort(s, n, by_rest);
    for (size_t i = 0; i < n && left > 0; i++) {
        int64_t give = gang__min(gang__min(unit, s[i].unmet), left);
        s[i].unmet -= give;
        s[i].of->share += give;
        left -= give;
    }
    return left;
}

/* One round: each sharer with demand left gets left * weight / sum of weights, in whole units, at
 * most its demand. Sharers without demand are dropped; `n` is the number of the others. Returns
 * what was given. */
static int64_t give_round(struct gang__share_slot *s, size_t *n, int64_t left, int64_t unit)
{
    gang__u128 sum = 0;
    int64_t given = 0;
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++)
        sum += gang__wide(s[i].weight);
    for (size_t i = 0; i < *n; i++) {
        gang__u128 part = (gang__u128)left * (gang__u128)s[i].weight;
        int64_t whole = (int64_t)(part / sum) / unit * unit;
        int64_t give = gang__min(whole, s[i].unmet);
        s[i].rest = part - (gang__u128)whole * sum;
        s[i].unmet -= give;
        s[i].of->share += give;
        given += give;
        if (s[i].unmet > 0)
            s[kept++] = s[i];
    }
    *n = kept;
    return given;
}

/* Divides by weight, at most the demand of each. Returns what is left. */
static int64_t give_class(struct gang__share_slot *s, size_t n, int64_t total, int64_t unit)
{
    if (n == 1) { /* nothing to divide */
        int64_t give = gang__min(s->unmet, total);
        s->of->share += give;
        return total - give;
    }
    size_t before = n + 1;
    while (n > 0 && total > 0 &&
           n < before) { /* a satisfied sharer leaves its part to the others */
        before = n;
        total -= give_round(s, &n, total, unit);
    }
    while (n > 0 && total > 0) { /* again only where a unmet was less than a unit */
        int64_t left = give_rest(s, n, total, unit);
        size_t kept = 0;
        for (size_t i = 0; i < n; i++)
            if (s[i].unmet > 0)
                s[kept++] = s[i];
        n = kept;
        total = left;
    }
    return total;
}

/* Step 1. Returns what is left. */
static int64_t give_guarantees(struct gang__sharer *sharer, size_t n, int64_t total)
{
    gang__u128 sum = 0;
    for (size_t i = 0; i < n; i++) {
        struct gang__sharer *q = &sharer[i];
        assert(q->guarantee >= 0 && q->demand >= 0);
        assert(q->weight >= 0 && q->weight <= GANG__MAX_MILLIONTHS);
        q->share = gang__min(q->guarantee, q->demand);
        sum += gang__wide(q->share);
    }
    return sum < (gang__u128)total ? total - (int64_t)sum : 0;
}

/* Steps 2 and 3. Returns what is left. */
static int64_t give_classes(struct gang__sharer *sharer, size_t n, int64_t total, int64_t unit,
                            struct gang__share_slot *slot)
{
    size_t count = 0, end;
    bool one_class = true;
    for (size_t i = 0; i < n; i++) {
        struct gang__sharer *q = &sharer[i];
        if (q->demand <= q->share || q->weight == 0)
            continue;
        slot[count] = (struct gang__share_slot){0, q->demand - q->share, q->weight, q};
        one_class = one_class && q->priority == slot[0].of->priority;
        count++;
    }
    if (!one_class)
        sort(slot, count, by_class);
    for (size_t i = 0; i < count && total > 0; i = end) {
        for (end = i; end < count && slot[end].of->priority == slot[i].of->priority;)
            end++;
        total = give_class(slot + i, end - i, total, unit);
    }
    return total;
}

int64_t gang__share_divide(struct gang__sharer *sharer, size_t n, int64_t total, int64_t unit,
                           struct gang__share_slot *slot)
{
    assert(total >= 0 && unit > 0 && n <= (size_t)1 << 20);
    total = give_guarantees(sharer, n, total);
    return total > 0 ? give_classes(sharer, n, total, unit, slot) : 0;
}
