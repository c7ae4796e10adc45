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

struct search {
    const struct gang__gpu_question *question;
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

static uint64_t weight(const struct search *s, unsigned i, unsigned j)
{
    return s->question->weight[i * s->question->gpus + j];
}

static struct gang__gpu_set with(const struct search *s, const struct gang__gpu_set *set,
                                 unsigned x)
{
    struct gang__gpu_set more = {set->gpus | bit(x), set->links + s->gain[x],
                                 set->broken + s->degree[x],
                                 set->near_count + (s->question->near >> x & 1)};
    return more;
}

/* The gains of these devices, with one more chosen, or less. */
static void gain_add(struct search *s, uint64_t of, unsigned chosen)
{
    for (; of; of &= of - 1)
        s->gain[lowest(of)] += weight(s, lowest(of), chosen);
}

static void gain_drop(struct search *s, uint64_t of, unsigned chosen)
{
    for (; of; of &= of - 1)
        s->gain[lowest(of)] -= weight(s, lowest(of), chosen);
}

/* ---- what is known beforehand ---------------------------------------------------------------- */

static bool are_twins(const struct search *s, unsigned i, unsigned j)
{
    if (s->degree[i] != s->degree[j] || ((s->question->near >> i ^ s->question->near >> j) & 1))
        return false;
    for (uint64_t left = s->question->free & ~bit(i) & ~bit(j); left; left &= left - 1)
        if (weight(s, i, lowest(left)) != weight(s, j, lowest(left)))
            return false;
    return true;
}

static void find_degrees(struct search *s)
{
    for (uint64_t left = s->question->among; left; left &= left - 1) {
        unsigned x = lowest(left);
        s->degree[x] = s->gain[x] = 0;
        for (uint64_t all = s->question->free; all; all &= all - 1)
            s->degree[x] += weight(s, x, lowest(all));
    }
}

static void find_twins(struct search *s)
{
    uint64_t left = s->question->among;
    while (left) {
        unsigned first = lowest(left);
        uint64_t class = bit(first);
        for (uint64_t rest = left & (left - 1); rest; rest &= rest - 1)
            if (are_twins(s, first, lowest(rest)))
                class |= bit(lowest(rest));
        left &= ~class;
        for (uint64_t in = class; in; in &= in - 1)
            s->twins[lowest(in)] = class;
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

static void find_heaviest(struct search *s, uint64_t *heaviest)
{
    uint32_t count = s->question->count;
    for (uint64_t left = s->question->among; left; left &= left - 1) {
        unsigned x = lowest(left);
        uint64_t *sum = heaviest + (size_t)x * count;
        uint32_t have = 0;
        for (uint64_t other = s->question->among & ~bit(x); other; other &= other - 1)
            have = keep_greatest(sum + 1, have, count - 1, weight(s, x, lowest(other)));
        sum[0] = 0;
        for (uint32_t j = 1; j < count; j++)
            sum[j] += sum[j - 1];
    }
    s->heaviest = heaviest;
}

/* ---- greedy choice and exchange -------------------------------------------------------------- */

static struct gang__gpu_set greedy(struct search *s, unsigned seed)
{
    const struct gang__gpu_set none = {0, 0, 0, 0};
    uint64_t among = s->question->among;
    struct gang__gpu_set set = with(s, &none, seed);
    gain_add(s, among, seed);
    for (uint32_t n = 1; n < s->question->count; n++) {
        struct gang__gpu_set next = none;
        for (uint64_t left = among & ~set.gpus; left; left &= left - 1) {
            struct gang__gpu_set one = with(s, &set, lowest(left));
            if (!next.gpus || gang__gpu_set_wins(&one, &next))
                next = one;
        }
        gain_add(s, among, lowest(next.gpus & ~set.gpus));
        set = next;
    }
    for (uint64_t in = set.gpus; in; in &= in - 1)
        gain_drop(s, among, lowest(in));
    return set;
}

/* The best that comes of exchanging one device of the best set for another. */
static struct gang__gpu_set exchange(struct search *s)
{
    struct gang__gpu_set best = s->best;
    for (uint64_t out = s->best.gpus; out; out &= out - 1) {
        unsigned x = lowest(out);
        struct gang__gpu_set less = {s->best.gpus & ~bit(x), s->best.links - s->gain[x],
                                     s->best.broken - s->degree[x],
                                     s->best.near_count - (s->question->near >> x & 1)};
        for (uint64_t in = s->question->among & ~s->best.gpus; in; in &= in - 1) {
            struct gang__gpu_set other = with(s, &less, lowest(in));
            other.links -= weight(s, lowest(in), x);
            if (gang__gpu_set_wins(&other, &best))
                best = other;
        }
    }
    return best;
}

/* Exchange as long as it helps. */
static void improve(struct search *s)
{
    uint64_t among = s->question->among;
    for (uint32_t round = 0; round < GANG__GPU_ROUNDS; round++) {
        for (uint64_t in = s->best.gpus; in; in &= in - 1)
            gain_add(s, among, lowest(in));
        struct gang__gpu_set better = exchange(s);
        for (uint64_t in = s->best.gpus; in; in &= in - 1)
            gain_drop(s, among, lowest(in));
        if (better.gpus == s->best.gpus)
            break;
        s->best = better;
    }
}

static void find_first(struct search *s)
{
    uint64_t among = s->question->among;
    s->best.gpus = 0;
    for (uint64_t left = among; left; left &= left - 1) {
        unsigned seed = lowest(left);
        struct gang__gpu_set set;
        if (lowest(s->twins[seed]) != seed)
            continue;
        set = greedy(s, seed);
        if (!s->best.gpus || gang__gpu_set_wins(&set, &s->best))
            s->best = set;
    }
    improve(s);
}

/* ---- all sets -------------------------------------------------------------------------------- */

/* Can a set with these chosen, and `left` more of `open`, be better than the best, or come before
 * it? */
static bool may_win(const struct search *s, const struct gang__gpu_set *set, uint64_t open,
                    uint32_t left)
{
    uint64_t kept[GANG_MAX_GPUS], bound = 2 * set->links;
    uint32_t have = 0;
    for (uint64_t in = open; in; in &= in - 1) {
        unsigned x = lowest(in);
        uint64_t most = 2 * s->gain[x] + s->heaviest[(size_t)x * s->question->count + left - 1];
        have = keep_greatest(kept, have, left, most);
    }
    for (uint32_t i = 0; i < have; i++)
        bound += kept[i];
    if (bound / 2 != s->best.links)
        return bound / 2 > s->best.links;
    uint64_t near_count = gang__popcount(open & s->question->near);
    near_count = set->near_count + (near_count < left ? near_count : left);
    if (near_count != s->best.near_count)
        return near_count > s->best.near_count;
    uint64_t broken = set->broken;
    have = 0;
    for (uint64_t in = open; in; in &= in - 1)
        have = keep_greatest(kept, have, left, UINT64_MAX - s->degree[lowest(in)]);
    for (uint32_t i = 0; i < have; i++)
        broken += UINT64_MAX - kept[i];
    return s->found ? broken < s->best.broken : broken <= s->best.broken;
}

static void try_last(struct search *s, const struct gang__gpu_set *set, uint64_t open)
{
    for (; open; open &= open - 1) {
        struct gang__gpu_set all = with(s, set, lowest(open));
        if (gang__gpu_set_wins(&all, &s->best) ||
            (!s->found && !gang__gpu_set_wins(&s->best, &all))) {
            s->best = all;
            s->found = true;
        }
    }
}

/* All sets that hold `set` and `left` more of `open`. Recurses at most 63 deep. */
static void try_all(struct search *s, const struct gang__gpu_set *set, uint64_t open, uint32_t left)
{
    if (left == 1) {
        try_last(s, set, open);
        return;
    }
    while (gang__popcount(open) >= left && s->steps && may_win(s, set, open, left)) {
        unsigned x = lowest(open);
        struct gang__gpu_set more = with(s, set, x);
        s->steps--;
        open &= open - 1;
        gain_add(s, open, x);
        try_all(s, &more, open, left - 1);
        gain_drop(s, open, x);
        open &= ~s->twins[x];
    }
}

/* ---- the answer ------------------------------------------------------------------------------ */

struct gang__gpu_set gang__gpu_set_of(const struct gang__gpu_question *question, uint64_t gpus)
{
    struct gang__gpu_set set = {gpus, 0, 0, gang__popcount(gpus & question->near)};
    for (uint64_t in = gpus; in; in &= in - 1) {
        const uint64_t *row = question->weight + (size_t)lowest(in) * question->gpus;
        for (uint64_t to = question->free; to; to &= to - 1) {
            set.broken += row[lowest(to)];
            if (to & (~to + 1) & (in & (in - 1)))
                set.links += row[lowest(to)];
        }
    }
    return set;
}

const struct gang__gpu_set *gang__gpu_set_solve(struct gang__gpu_solver *solver,
                                                const struct gang_mem *mem,
                                                const struct gang__gpu_question *question)
{
    const struct gang__gpu_set none = {0, 0, 0, 0};
    struct gang__gpu_cached *cached = gang__gpu_cached_at(solver, question);
    struct search s;
    s.question = question;
    s.found = false;
    s.steps =
        gang__popcount(question->among) <= GANG__GPU_EXACT ? GANG__GPU_STEPS : GANG__GPU_STEPS_MORE;
    s.best = none;
    if (gang__popcount(question->among) == question->count) {
        s.best = gang__gpu_set_of(question, question->among);
    } else if (question->count == 1) {
        find_degrees(&s);
        s.best.broken = UINT64_MAX;
        try_last(&s, &none, question->among);
    } else {
        if (!gang__grow(mem, (void **)&solver->heaviest, &solver->heaviest_cap,
                        (size_t)question->gpus * question->count, sizeof(uint64_t)))
            return NULL;
        find_degrees(&s);
        find_twins(&s);
        find_heaviest(&s, solver->heaviest);
        find_first(&s);
        try_all(&s, &none, question->among, question->count);
        if (!s.steps)
            improve(&s);
    }
    *cached = (struct gang__gpu_cached){question->type, question->among, question->free,
                                        question->near, s.best};
    return &cached->set;
}

void gang__gpu_solver_free(struct gang__gpu_solver *s, const struct gang_mem *mem)
{
    gang__release(mem, s->heaviest);
}
