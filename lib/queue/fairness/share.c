/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of one kind among siblings: exact water filling (max-min fairness by weight), in integers,
 * and one rounding to whole units by largest remainder. */
#include "queue/fairness/fairness.h"

#include <assert.h>

/* Negative: a goes before b. */
typedef int slot_order(const struct gang__share_slot *a, const struct gang__share_slot *b);

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* By the remainder, then the oldest, then the first given. */
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

/* Drops the sharers whose whole demand the exact division covers, and gives it to them: those with
 * unmet / weight <= left / sum of the weights. What each leaves raises the level of the others, so
 * passes go on until one drops none. `n` is the number of those that remain, *sum their weights.
 * Returns what is left for them. */
static int64_t fill(struct gang__share_slot *s, size_t *n, int64_t left, gang__u128 *sum)
{
    size_t before;
    *sum = 0;
    for (size_t i = 0; i < *n; i++)
        *sum += gang__wide(s[i].weight);
    do {
        size_t kept = 0;
        before = *n;
        for (size_t i = 0; i < before; i++) {
            /* sum: 60 bits (2^20 weights), unmet and left: 63, weight: 40; the products fit */
            if (*sum * gang__wide(s[i].unmet) > gang__wide(left) * gang__wide(s[i].weight)) {
                s[kept++] = s[i];
                continue;
            }
            *sum -= gang__wide(s[i].weight);
            left -= s[i].unmet;
            s[i].of->share += s[i].unmet;
        }
        *n = kept;
    } while (*n > 0 && *n < before);
    return left;
}

/* The one rounding: each sharer gets the whole units of left * weight / sum; the units that remain
 * go one each to the largest remainders. One pass is enough: each sharer lacks more than its
 * remainder. */
static void round_off(struct gang__share_slot *s, size_t n, int64_t left, int64_t unit,
                      gang__u128 sum)
{
    int64_t rest = left;
    for (size_t i = 0; i < n; i++) {
        gang__u128 part = gang__wide(left) * gang__wide(s[i].weight);
        int64_t whole = (int64_t)(part / sum) / unit * unit;
        s[i].rest = part - gang__wide(whole) * sum;
        s[i].unmet -= whole;
        s[i].of->share += whole;
        rest -= whole;
    }
    if (rest > 0)
        sort(s, n, by_rest);
    for (size_t i = 0; i < n && rest > 0; i++) {
        int64_t give = gang__min(gang__min(unit, s[i].unmet), rest);
        s[i].of->share += give;
        rest -= give;
    }
    assert(rest == 0);
}

/* Divides by weight, at most the demand of each. Returns what is left. */
static int64_t give_class(struct gang__share_slot *s, size_t n, int64_t total, int64_t unit)
{
    gang__u128 sum;
    if (n == 1) { /* nothing to divide */
        int64_t give = gang__min(s->unmet, total);
        s->of->share += give;
        return total - give;
    }
    int64_t left = fill(s, &n, total, &sum);
    if (n == 0)
        return left;
    round_off(s, n, left, unit, sum);
    return 0;
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
