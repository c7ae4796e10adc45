/* SPDX-License-Identifier: Apache-2.0 */
/* The amounts in force: guarantees and limits, given the amounts of the cluster. Dimension by
 * dimension, parents before children; exact.
 *
 * The children of a queue divide its *capacity*: its guarantee or, where that is unlimited or not
 * managed, the capacity of its parent; at the top the total. Guarantees are promises and are
 * rounded down when they are scaled; a division by weight leaves nothing over. */
#include <assert.h>

#include "base/wide.h"
#include "queue/queue_spec_in.h"
#include "queue/queues.h"

/* a * b / c rounded down, for c > 0 and a result that an amount can hold. */
static int64_t scale(int64_t a, int64_t b, gang__u128 c)
{
    assert(a >= 0 && b >= 0);
    return (int64_t)((gang__u128)(uint64_t)a * (uint64_t)b / c);
}

/* One dimension of a tree. */
struct column {
    const struct gang__queues *qs;
    uint32_t d;
    int64_t total;
    int64_t *guarantee, *limit; /* of queue i at [i * dims] */
    bool scale;                 /* amounts too, where they do not fit */
};

static int64_t *guarantee_of(const struct column *c, uint32_t i)
{
    return &c->guarantee[(size_t)i * c->qs->dims];
}

static const struct gang__quota *quota_of(const struct column *c, uint32_t i)
{
    return &c->qs->queue[i].guarantee[c->d];
}

/* The capacity that the children of a queue divide: see the head of this file. */
static int64_t capacity_of(const struct column *c, uint32_t i)
{
    while (i != GANG__NO_QUEUE && *guarantee_of(c, i) == GANG__NO_BOUND)
        i = c->qs->queue[i].parent;
    return i == GANG__NO_QUEUE ? c->total : *guarantee_of(c, i);
}

/* ---- by weight ----------------------------------------------------------------------------- */

/* A division by largest remainder gives the rest to the queues that lost most by rounding. There is
 * no memory to sort remainders in: the bound among them is found by bisection. */
struct division {
    const struct column *c;
    uint32_t first;
    int64_t capacity;
    int64_t weights; /* their sum, > 0: of 2^16 queues at most 2^40 each */
};

static bool takes_part(const struct division *v, uint32_t i)
{
    return quota_of(v->c, i)->form == GANG__QUOTA_WEIGHT;
}

static int64_t remainder_of(const struct division *v, uint32_t i)
{
    gang__u128 product = (gang__u128)(uint64_t)v->capacity * (uint64_t)quota_of(v->c, i)->amount;
    return (int64_t)(product % (uint64_t)v->weights);
}

static int64_t count_above(const struct division *v, int64_t remainder)
{
    int64_t n = 0;
    for (uint32_t i = v->first; i != GANG__NO_QUEUE; i = v->c->qs->queue[i].next_sibling)
        n += takes_part(v, i) && remainder_of(v, i) > remainder;
    return n;
}

/* Gives `units` one each to the largest remainders; of equal ones, to the oldest. */
static void give_remainders(const struct division *v, int64_t units)
{
    int64_t low = -1, high = v->weights; /* more than `units` are above low, not above high */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (count_above(v, middle) > units)
            low = middle;
        else
            high = middle;
    }
    int64_t equals = units - count_above(v, high);
    for (uint32_t i = v->first; i != GANG__NO_QUEUE; i = v->c->qs->queue[i].next_sibling) {
        int64_t remainder = takes_part(v, i) ? remainder_of(v, i) : -1;
        if (remainder > high || (remainder == high && equals-- > 0))
            ++*guarantee_of(v->c, i);
    }
}

/* The guarantees by weight of the queues from `first` on, children of `parent`. */
static void divide_by_weight(const struct column *c, uint32_t first, uint32_t parent)
{
    struct division v = {c, first, capacity_of(c, parent), 0};
    for (uint32_t i = first; i != GANG__NO_QUEUE; i = c->qs->queue[i].next_sibling)
        if (takes_part(&v, i))
            v.weights += quota_of(c, i)->amount;
    if (v.weights == 0)
        return;
    int64_t rest = v.capacity;
    for (uint32_t i = first; i != GANG__NO_QUEUE; i = c->qs->queue[i].next_sibling) {
        if (!takes_part(&v, i))
            continue;
        *guarantee_of(c, i) =
            scale(v.capacity, quota_of(c, i)->amount, (gang__u128)(uint64_t)v.weights);
        rest -= *guarantee_of(c, i);
    }
    if (rest > 0)
        give_remainders(&v, rest);
}

/* ---- amounts and parts --------------------------------------------------------------------- */

/* What a queue states, before it is scaled with its siblings to what there is. */
static int64_t stated_guarantee(const struct column *c, const struct gang__queue *q,
                                int64_t capacity)
{
    const struct gang__quota *g = &q->guarantee[c->d];
    switch (g->form) {
    case GANG__QUOTA_FRACTION:
        return scale(capacity, g->amount, GANG_WHOLE);
    case GANG__QUOTA_AMOUNT:
        if (g->amount != GANG__NO_BOUND)
            return g->amount;
        /* Unlimited is as much as the parent has. */
        return q->parent == GANG__NO_QUEUE ? GANG__NO_BOUND : *guarantee_of(c, q->parent);
    default:
        return c->qs->dim[c->d].partition || q->states_guarantees ? GANG__NO_BOUND : 0;
    }
}

/* Is it scaled together with what the siblings state? */
static bool is_scaled(const struct column *c, const struct gang__quota *g)
{
    return g->form == GANG__QUOTA_FRACTION ||
           (c->scale && g->form == GANG__QUOTA_AMOUNT && g->amount != GANG__NO_BOUND);
}

/* Scales what the siblings state by over / under, if that is less than 1; returns the sum. */
static gang__u128 scale_stated(const struct column *c, uint32_t first, int64_t over,
                               gang__u128 under)
{
    gang__u128 sum = 0;
    for (uint32_t i = first; i != GANG__NO_QUEUE; i = c->qs->queue[i].next_sibling) {
        int64_t *own = guarantee_of(c, i);
        if (!is_scaled(c, quota_of(c, i)))
            continue;
        if ((gang__u128)(uint64_t)over < under)
            *own = scale(*own, over, under);
        sum += (uint64_t)*own;
    }
    return sum;
}

/* Children that state more than their parent does are not held to its number, but scaled as far as
 * the parent itself is: sites write such trees (KAI, Volcano), and mean a floor for the parent as a
 * whole. Returns the capacity that the children divide, and adapts the sum of what they state. */
static int64_t capacity_for_stated(const struct column *c, uint32_t first, uint32_t parent,
                                   gang__u128 *stated_sum)
{
    if (parent == GANG__NO_QUEUE || *guarantee_of(c, parent) == GANG__NO_BOUND)
        return capacity_of(c, parent);
    const struct gang__quota *p = quota_of(c, parent);
    int64_t stated = p->form == GANG__QUOTA_NONE ? 0 : p->amount;
    if (p->form == GANG__QUOTA_FRACTION || p->form == GANG__QUOTA_WEIGHT ||
        *stated_sum <= (gang__u128)(uint64_t)stated)
        return *guarantee_of(c, parent);
    if (stated > 0)
        *stated_sum =
            scale_stated(c, first, *guarantee_of(c, parent), (gang__u128)(uint64_t)stated);
    return capacity_of(c, c->qs->queue[parent].parent);
}

/* The guarantees of the queues from `first` on, children of `parent`. */
static void divide(const struct column *c, uint32_t first, uint32_t parent)
{
    int64_t capacity = capacity_of(c, parent);
    for (uint32_t i = first; i != GANG__NO_QUEUE; i = c->qs->queue[i].next_sibling)
        *guarantee_of(c, i) = stated_guarantee(c, &c->qs->queue[i], capacity);
    gang__u128 stated_sum = scale_stated(c, first, 1, 1);
    capacity = capacity_for_stated(c, first, parent, &stated_sum);
    (void)scale_stated(c, first, capacity, stated_sum);
    divide_by_weight(c, first, parent);
}

/* ---- limits -------------------------------------------------------------------------------- */

static void resolve_limit(const struct column *c, uint32_t i)
{
    const struct gang__queue *q = &c->qs->queue[i];
    const struct gang__quota *own = &q->limit[c->d];
    int64_t above = GANG__NO_BOUND, bound = GANG__NO_BOUND;
    if (q->parent != GANG__NO_QUEUE)
        above = c->limit[(size_t)q->parent * c->qs->dims];
    if (own->form == GANG__QUOTA_AMOUNT)
        bound = own->amount;
    else if (own->form == GANG__QUOTA_FRACTION)
        bound = scale(above == GANG__NO_BOUND ? c->total : above, own->amount, GANG_WHOLE);
    c->limit[(size_t)i * c->qs->dims] = gang__min(bound, above);
}

void gang__queues_resolve(const struct gang__queues *qs, const int64_t *total, bool scale,
                          int64_t *guarantee, int64_t *limit)
{
    for (uint32_t d = 0; d < qs->dims; d++) {
        struct column c = {qs, d, total[d], guarantee + d, limit + d, scale};
        if (qs->count > 0)
            divide(&c, 0, GANG__NO_QUEUE);
        for (uint32_t i = 0; i < qs->count; i++) {
            divide(&c, qs->queue[i].first_child, i);
            resolve_limit(&c, i);
        }
    }
}
