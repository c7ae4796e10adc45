/* SPDX-License-Identifier: Apache-2.0 */
/* The heaviest set of k devices, with ties broken in a fixed order (see struct gang__gpu_set).
 *
 * Branch and bound. A first set is grown greedily from each device and improved by exchange. Then
 * sets are tried in the order of their sorted numbers, {0,1,2} before {0,1,3} before {0,2,3}, so
 * that the first of equal ones is the one of the lowest numbers. Two things keep it short:
 *
 * Bound. Let S be chosen, r devices missing, A those that may still be chosen. Any set R of r of
 * them has 2 * links(S + R) = 2 * links(S) + sum over x in R of (2 * w(x, S) + w(x, R - x)), and
 * the last term is at most the sum of the r - 1 heaviest weights of x. So the r greatest of these,
 * over A, bound it. All that is summed stays below 2^64: core/nodes/node_type.h.
 *
 * Twins. Two devices are twins if exchanging them changes nothing: the same weight to each other
 * free device, both or neither preferred. It is an equivalence. Of a class of twins only the lowest
 * are chosen: passing one by passes all its twins by. So 64 devices that are all alike are one
 * step, and the sixteen of a DGX-2, two classes, are nine.
 *
 * Without twins and with a useless bound there is a step for each set of less than k devices, at
 * most 2^16 for 16 devices. */
#include "place/fit/gpu_set.h"

#include <string.h>

struct hunt {
    const struct gang__gpu_question *wish;
    const uint64_t *heaviest; /* of device x the sum of its j heaviest weights at [x * count + j] */
    uint64_t degree[GANG_MAX_GPUS]; /* sum of its weights to all free devices */
    uint64_t twins[GANG_MAX_GPUS];  /* itself and those like it */
    uint64_t gain[GANG_MAX_GPUS];   /* sum of its weights to the chosen ones */
    struct gang__gpu_set best;
    bool found;     /* `best` was met in order: an equal one that comes later is not taken */
    uint32_t steps; /* that may still be made */
};

static uint64_t bit(unsigned i)
{
    return UINT64_C(1) << i;
}

static unsigned lowest(uint64_t set)
{
    return (unsigned)__builtin_ctzll(set);
}

static uint64_t weight(const struct hunt *h, unsigned i, unsigned j)
{
    return h->wish->weight[i * h->wish->gpus + j];
}

static struct gang__gpu_set with(const struct hunt *h, const struct gang__gpu_set *set, unsigned x)
{
    struct gang__gpu_set more = {set->gpus | bit(x), set->links + h->gain[x],
                                 set->broken + h->degree[x], set->nears + (h->wish->near >> x & 1)};
    return more;
}

/* The gains of these devices, with one more chosen, or less. */
static void gain_add(struct hunt *h, uint64_t of, unsigned chosen)
{
    for (; of; of &= of - 1)
        h->gain[lowest(of)] += weight(h, lowest(of), chosen);
}

static void gain_drop(struct hunt *h, uint64_t of, unsigned chosen)
{
    for (; of; of &= of - 1)
        h->gain[lowest(of)] -= weight(h, lowest(of), chosen);
}

/* ---- what is known beforehand ---------------------------------------------------------------- */

static bool are_twins(const struct hunt *h, unsigned i, unsigned j)
{
    if (h->degree[i] != h->degree[j] || ((h->wish->near >> i ^ h->wish->near >> j) & 1))
        return false;
    for (uint64_t left = h->wish->free & ~bit(i) & ~bit(j); left; left &= left - 1)
        if (weight(h, i, lowest(left)) != weight(h, j, lowest(left)))
            return false;
    return true;
}

static void find_degrees(struct hunt *h)
{
    for (uint64_t left = h->wish->among; left; left &= left - 1) {
        unsigned x = lowest(left);
        h->degree[x] = h->gain[x] = 0;
        for (uint64_t all = h->wish->free; all; all &= all - 1)
            h->degree[x] += weight(h, x, lowest(all));
    }
}

static void find_twins(struct hunt *h)
{
    uint64_t left = h->wish->among;
    while (left) {
        unsigned first = lowest(left);
        uint64_t class = bit(first);
        for (uint64_t rest = left & (left - 1); rest; rest &= rest - 1)
            if (are_twins(h, first, lowest(rest)))
                class |= bit(lowest(rest));
        left &= ~class;
        for (uint64_t in = class; in; in &= in - 1)
            h->twins[lowest(in)] = class;
    }
}

/* Insert a number into the `have` greatest, kept in descending order, at most `most`. */
static uint32_t keep_greatest(uint64_t *kept, uint32_t have, uint32_t most, uint64_t number)
{
    uint32_t at = have;
    if (have == most && (most == 0 || kept[most - 1] >= number))
        return have;
    if (have == most)
        at--;
    for (; at && kept[at - 1] < number; at--)
        kept[at] = kept[at - 1];
    kept[at] = number;
    return have < most ? have + 1 : have;
}

static void find_heaviest(struct hunt *h, uint64_t *heaviest)
{
    uint32_t count = h->wish->count;
    for (uint64_t left = h->wish->among; left; left &= left - 1) {
        unsigned x = lowest(left);
        uint64_t *sum = heaviest + (size_t)x * count;
        uint32_t have = 0;
        for (uint64_t other = h->wish->among & ~bit(x); other; other &= other - 1)
            have = keep_greatest(sum + 1, have, count - 1, weight(h, x, lowest(other)));
        sum[0] = 0;
        for (uint32_t j = 1; j < count; j++)
            sum[j] += sum[j - 1];
    }
    h->heaviest = heaviest;
}

/* ---- greedy choice and exchange -------------------------------------------------------------- */

static struct gang__gpu_set greedy(struct hunt *h, unsigned seed)
{
    const struct gang__gpu_set none = {0, 0, 0, 0};
    uint64_t among = h->wish->among;
    struct gang__gpu_set set = with(h, &none, seed);
    gain_add(h, among, seed);
    for (uint32_t n = 1; n < h->wish->count; n++) {
        struct gang__gpu_set next = none;
        for (uint64_t left = among & ~set.gpus; left; left &= left - 1) {
            struct gang__gpu_set one = with(h, &set, lowest(left));
            if (!next.gpus || gang__gpu_set_wins(&one, &next))
                next = one;
        }
        gain_add(h, among, lowest(next.gpus & ~set.gpus));
        set = next;
    }
    for (uint64_t in = set.gpus; in; in &= in - 1)
        gain_drop(h, among, lowest(in));
    return set;
}

/* The best that comes of exchanging one device of the best set for another. */
static struct gang__gpu_set exchange(struct hunt *h)
{
    struct gang__gpu_set best = h->best;
    for (uint64_t out = h->best.gpus; out; out &= out - 1) {
        unsigned x = lowest(out);
        struct gang__gpu_set less = {h->best.gpus & ~bit(x), h->best.links - h->gain[x],
                                     h->best.broken - h->degree[x],
                                     h->best.nears - (h->wish->near >> x & 1)};
        for (uint64_t in = h->wish->among & ~h->best.gpus; in; in &= in - 1) {
            struct gang__gpu_set other = with(h, &less, lowest(in));
            other.links -= weight(h, lowest(in), x);
            if (gang__gpu_set_wins(&other, &best))
                best = other;
        }
    }
    return best;
}

/* Exchange as long as it helps. */
static void improve(struct hunt *h)
{
    uint64_t among = h->wish->among;
    for (uint32_t round = 0; round < GANG__GPU_ROUNDS; round++) {
        for (uint64_t in = h->best.gpus; in; in &= in - 1)
            gain_add(h, among, lowest(in));
        struct gang__gpu_set better = exchange(h);
        for (uint64_t in = h->best.gpus; in; in &= in - 1)
            gain_drop(h, among, lowest(in));
        if (better.gpus == h->best.gpus)
            break;
        h->best = better;
    }
}

static void find_first(struct hunt *h)
{
    uint64_t among = h->wish->among;
    h->best.gpus = 0;
    for (uint64_t left = among; left; left &= left - 1) {
        unsigned seed = lowest(left);
        struct gang__gpu_set set;
        if (lowest(h->twins[seed]) != seed)
            continue;
        set = greedy(h, seed);
        if (!h->best.gpus || gang__gpu_set_wins(&set, &h->best))
            h->best = set;
    }
    improve(h);
}

/* ---- all sets -------------------------------------------------------------------------------- */

/* Can a set with these chosen, and `left` more of `open`, be better than the best, or come before
 * it? */
static bool may_win(const struct hunt *h, const struct gang__gpu_set *set, uint64_t open,
                    uint32_t left)
{
    uint64_t kept[GANG_MAX_GPUS], bound = 2 * set->links;
    uint32_t have = 0;
    for (uint64_t in = open; in; in &= in - 1) {
        unsigned x = lowest(in);
        uint64_t most = 2 * h->gain[x] + h->heaviest[(size_t)x * h->wish->count + left - 1];
        have = keep_greatest(kept, have, left, most);
    }
    for (uint32_t i = 0; i < have; i++)
        bound += kept[i];
    if (bound / 2 != h->best.links)
        return bound / 2 > h->best.links;
    uint64_t nears = gang__popcount(open & h->wish->near);
    nears = set->nears + (nears < left ? nears : left);
    if (nears != h->best.nears)
        return nears > h->best.nears;
    uint64_t broken = set->broken;
    have = 0;
    for (uint64_t in = open; in; in &= in - 1)
        have = keep_greatest(kept, have, left, UINT64_MAX - h->degree[lowest(in)]);
    for (uint32_t i = 0; i < have; i++)
        broken += UINT64_MAX - kept[i];
    return h->found ? broken < h->best.broken : broken <= h->best.broken;
}

static void try_last(struct hunt *h, const struct gang__gpu_set *set, uint64_t open)
{
    for (; open; open &= open - 1) {
        struct gang__gpu_set all = with(h, set, lowest(open));
        if (gang__gpu_set_wins(&all, &h->best) ||
            (!h->found && !gang__gpu_set_wins(&h->best, &all))) {
            h->best = all;
            h->found = true;
        }
    }
}

/* All sets that hold `set` and `left` more of `open`. Recurses at most 63 deep. */
static void try_all(struct hunt *h, const struct gang__gpu_set *set, uint64_t open, uint32_t left)
{
    if (left == 1) {
        try_last(h, set, open);
        return;
    }
    while (gang__popcount(open) >= left && h->steps && may_win(h, set, open, left)) {
        unsigned x = lowest(open);
        struct gang__gpu_set more = with(h, set, x);
        h->steps--;
        open &= open - 1;
        gain_add(h, open, x);
        try_all(h, &more, open, left - 1);
        gain_drop(h, open, x);
        open &= ~h->twins[x];
    }
}

/* ---- the answer ------------------------------------------------------------------------------ */

struct gang__gpu_set gang__gpu_set_of(const struct gang__gpu_question *wish, uint64_t gpus)
{
    struct gang__gpu_set set = {gpus, 0, 0, gang__popcount(gpus & wish->near)};
    for (uint64_t in = gpus; in; in &= in - 1) {
        const uint64_t *row = wish->weight + (size_t)lowest(in) * wish->gpus;
        for (uint64_t to = wish->free; to; to &= to - 1) {
            set.broken += row[lowest(to)];
            if (to & (~to + 1) & (in & (in - 1)))
                set.links += row[lowest(to)];
        }
    }
    return set;
}

const struct gang__gpu_set *gang__gpu_set_solve(struct gang__gpu_solver *hunter,
                                                const struct gang_mem *mem,
                                                const struct gang__gpu_question *wish)
{
    const struct gang__gpu_set none = {0, 0, 0, 0};
    struct gang__gpu_cached *memo = gang__gpu_cached_at(hunter, wish);
    struct hunt h;
    h.wish = wish;
    h.found = false;
    h.steps =
        gang__popcount(wish->among) <= GANG__GPU_EXACT ? GANG__GPU_STEPS : GANG__GPU_STEPS_MORE;
    h.best = none;
    if (gang__popcount(wish->among) == wish->count) {
        h.best = gang__gpu_set_of(wish, wish->among);
    } else if (wish->count == 1) {
        find_degrees(&h);
        h.best.broken = UINT64_MAX;
        try_last(&h, &none, wish->among);
    } else {
        if (!gang__grow(mem, (void **)&hunter->heaviest, &hunter->heaviest_room,
                        (size_t)wish->gpus * wish->count, sizeof(uint64_t)))
            return NULL;
        find_degrees(&h);
        find_twins(&h);
        find_heaviest(&h, hunter->heaviest);
        find_first(&h);
        try_all(&h, &none, wish->among, wish->count);
        if (!h.steps)
            improve(&h);
    }
    *memo = (struct gang__gpu_cached){wish->shape, wish->among, wish->free, wish->near, h.best};
    return &memo->set;
}

void gang__gpu_solver_free(struct gang__gpu_solver *h, const struct gang_mem *mem)
{
    gang__release(mem, h->heaviest);
}
