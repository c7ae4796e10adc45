/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered set of structs that embed a link: an AVL tree, or a list as long as all links are
 * inserted at its ends. 24 bytes a link, no allocation, no recursion. Not for concurrent use. */
#ifndef GANG__BASE_ORDERED_SET_H
#define GANG__BASE_ORDERED_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gang__set_link {
    struct gang__set_link *child[2]; /* what goes before, what goes after */
    uintptr_t parent;                /* its address | (height after - height before) + 1; 3: it
                                       * is in a list */
};

/* Negative: a goes before b. A total order: 0 only for one and the same element. */
typedef int gang__set_compare(const struct gang__set_link *a, const struct gang__set_link *b,
                              const void *ctx);
/* Summarizes in an element all that is below it, from itself and its children. Returns whether the
 * summary changed. */
typedef bool gang__set_refresh(struct gang__set_link *n);
/* Negative: the element goes before the key. Follows the order of the set. */
typedef int gang__set_locate(const struct gang__set_link *element, const void *key);

struct gang__ordered_set {
    struct gang__set_link *root;   /* NULL: it is a list */
    struct gang__set_link *end[2]; /* the first and the last, kept because the first is read most */
    size_t count;
    gang__set_compare *compare;
    const void *ctx;
    /* set it while the set is empty; NULL: elements summarize nothing */
    gang__set_refresh *refresh;
};

static inline void gang__set_init(struct gang__ordered_set *t, gang__set_compare *compare,
                                  const void *ctx)
{
    *t = (struct gang__ordered_set){NULL, {NULL, NULL}, 0, compare, ctx, NULL};
}

/* O(log n), amortised. The order of an element may not change while it is in the set. */
void gang__set_insert(struct gang__ordered_set *t, struct gang__set_link *n);
/* The same for an element that is likely to be the first (side 0) or the last (1): if it is, one
 * compare suffices, and the walk through cold elements is saved. */
void gang__set_insert_end(struct gang__ordered_set *t, struct gang__set_link *n, int side);
/* Inserts right before `next`, where the element belongs; NULL: it is the last. Compares
 * nothing. */
void gang__set_insert_before(struct gang__ordered_set *t, struct gang__set_link *n,
                             struct gang__set_link *next);
/* O(log n), amortised constant. Compares nothing. */
void gang__set_remove(struct gang__ordered_set *t, struct gang__set_link *n);

/* Call it when an element changed what refresh() reads of it. O(log n); ends early where nothing
 * changes. */
void gang__set_refresh_node(const struct gang__ordered_set *t, struct gang__set_link *n);

/* NULL: the set is empty. Constant. */
static inline struct gang__set_link *gang__set_first(const struct gang__ordered_set *t)
{
    return t->end[0];
}
static inline struct gang__set_link *gang__set_last(const struct gang__ordered_set *t)
{
    return t->end[1];
}

/* The neighbours of an element; NULL: there is none. O(log n), amortised constant. */
struct gang__set_link *gang__set_next(const struct gang__set_link *n);
/* Is every element still in order? For audits: O(n). */
bool gang__set_is_sorted(const struct gang__ordered_set *t);
struct gang__set_link *gang__set_prev(const struct gang__set_link *n);

/* A walk through thousands of elements, in order: it prefetches the links of a tree some levels
 * ahead. No element is inserted or removed meanwhile. */
struct gang__set_walk {
    struct gang__set_link *at; /* NULL: the walk has ended */
    uint32_t depth;            /* below the first one, modulo 2^32 */
};
struct gang__set_walk gang__set_walk_from(struct gang__set_link *n);
struct gang__set_link *gang__set_walk_next(struct gang__set_walk *walk);

/* Hints to the processor that these links will be inserted, and that compare() reads `size` bytes
 * of each element, from its link on. */
enum { GANG__SET_PREFETCHED = 8 };
void gang__set_prefetch_insert(const struct gang__ordered_set *t,
                               struct gang__set_link *const n[GANG__SET_PREFETCHED], uint32_t count,
                               size_t size);
/* That the element, which is cached, will be removed. */
void gang__set_prefetch_remove(const struct gang__set_link *n);

/* The first element that does not go before the key; NULL: there is none. O(log n), amortised. */
struct gang__set_link *gang__set_lower_bound(struct gang__ordered_set *t, gang__set_locate *locate,
                                             const void *key);

#endif
