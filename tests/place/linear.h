/* SPDX-License-Identifier: Apache-2.0 */
/* Is a recorded history linearizable? The search of Wing and Gong (1993), with the memory of Lowe
 * (2017): try every order of the operations that respects which one ended before which other began,
 * step by step through a sequential specification, and never go twice through the same state with
 * the same operations done.
 *
 * An operation may have to come after another one, so that a call that takes effect in several
 * steps is several operations of the same interval.
 *
 * Sources: J. Wing, C. Gong: Testing and Verifying Concurrent Objects, JPDC 17 (1993).
 *          G. Lowe: Testing for Linearizability, Concurrency and Computation 29 (2017). */
#ifndef GANG_TESTS_PLACE_LINEAR_H
#define GANG_TESTS_PLACE_LINEAR_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LINEAR_OPS = 64, LINEAR_NOT_AFTER = -1 };

struct linear_op {
    uint64_t call, back; /* when it began and ended, by one clock; no two readings are equal */
    int after;           /* number of an operation that comes before, or LINEAR_NOT_AFTER */
};

/* Is the answer of operation `op` possible in `state`? If so the state becomes the one after it;
 * if not it may be left in any way. States are compared byte by byte: no padding that differs. */
typedef bool (*linear_step_fn)(const void *history, unsigned op, void *state);

enum linear_answer { LINEAR_YES, LINEAR_NO, LINEAR_GAVE_UP };

/* Zeroed at first; linear_free() at the end. May be used for many histories. */
struct linear {
    const struct linear_op *op;
    unsigned count;
    const void *history;
    linear_step_fn step;
    size_t state_size;
    uint64_t most_visits; /* 0: no limit */
    /* after linear_check() */
    uint64_t visits;           /* states that were reached */
    unsigned deepest;          /* operations in order in the longest attempt */
    uint64_t deepest_done;     /* which ones, one bit each */
    uint8_t order[LINEAR_OPS]; /* LINEAR_YES: the order that was found */
    /* inside */
    unsigned char *states;
    size_t states_cap;
    struct linear_seen {
        uint64_t done, state, round;
    } * seen;
    size_t seen_cap, seen_count;
    uint64_t round; /* entries of earlier histories do not count */
};

static inline uint64_t linear_hash(const unsigned char *bytes, size_t size)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, size - at < sizeof(word) ? size - at : sizeof(word));
        h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h;
}

/* Where the pair stands or would stand. */
static inline struct linear_seen *linear_find(const struct linear *l, uint64_t done, uint64_t state)
{
    size_t at = (size_t)((done * UINT64_C(0xc4ceb9fe1a85ec53)) ^ state) & (l->seen_cap - 1);
    while (l->seen[at].round == l->round &&
           (l->seen[at].done != done || l->seen[at].state != state))
        at = (at + 1) & (l->seen_cap - 1);
    return &l->seen[at];
}

static inline void linear_grow(struct linear *l)
{
    struct linear_seen *old = l->seen;
    size_t cap = l->seen_cap;
    l->seen_cap = cap ? 2 * cap : 4096;
    l->seen = calloc(l->seen_cap, sizeof(*l->seen));
    if (!l->seen)
        abort();
    for (size_t i = 0; i < cap; i++)
        if (old[i].round == l->round)
            *linear_find(l, old[i].done, old[i].state) = old[i];
    free(old);
}

/* Notes that this state was reached with these operations done. False: it was before. */
static inline bool linear_note(struct linear *l, uint64_t done, const unsigned char *state)
{
    uint64_t hash = linear_hash(state, l->state_size);
    if (2 * l->seen_count >= l->seen_cap)
        linear_grow(l);
    struct linear_seen *entry = linear_find(l, done, hash);
    if (entry->round == l->round)
        return false;
    *entry = (struct linear_seen){done, hash, l->round};
    l->seen_count++;
    return true;
}

static inline enum linear_answer linear_search(struct linear *l, uint64_t done, unsigned depth)
{
    if (depth > l->deepest) {
        l->deepest = depth;
        l->deepest_done = done;
    }
    if (depth == l->count)
        return LINEAR_YES;
    if (l->most_visits && l->visits >= l->most_visits)
        return LINEAR_GAVE_UP;
    l->visits++;
    uint64_t first_back = UINT64_MAX; /* nothing that began later can come next */
    for (unsigned i = 0; i < l->count; i++)
        if (!(done >> i & 1) && l->op[i].back < first_back)
            first_back = l->op[i].back;
    const unsigned char *here = l->states + depth * l->state_size;
    unsigned char *next = l->states + (depth + 1) * l->state_size;
    for (unsigned i = 0; i < l->count; i++) {
        int after = l->op[i].after;
        if ((done >> i & 1) || l->op[i].call > first_back ||
            (after != LINEAR_NOT_AFTER && !(done >> after & 1)))
            continue;
        memcpy(next, here, l->state_size);
        if (!l->step(l->history, i, next) || !linear_note(l, done | UINT64_C(1) << i, next))
            continue;
        l->order[depth] = (uint8_t)i;
        enum linear_answer answer = linear_search(l, done | UINT64_C(1) << i, depth + 1);
        if (answer != LINEAR_NO)
            return answer;
    }
    return LINEAR_NO;
}

/* Search from a state at the beginning. At most LINEAR_OPS operations. */
static inline enum linear_answer linear_check(struct linear *l, const void *begin)
{
    size_t need = (LINEAR_OPS + 1) * l->state_size;
    if (l->count > LINEAR_OPS)
        abort();
    if (need > l->states_cap) {
        free(l->states);
        l->states = malloc(need);
        l->states_cap = need;
        if (!l->states)
            abort();
    }
    memcpy(l->states, begin, l->state_size);
    l->round++;
    l->seen_count = 0;
    l->visits = l->deepest_done = 0;
    l->deepest = 0;
    return linear_search(l, 0, 0);
}

static inline void linear_free(struct linear *l)
{
    free(l->states);
    free(l->seen);
    memset(l, 0, sizeof(*l));
}

#endif
