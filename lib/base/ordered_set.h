/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered set of things that embed a link: an AVL tree, or a row as long as all come at its
 * ends; 24 bytes a link, no allocation, no recursion. Not for concurrent use. */
#ifndef GANG__BASE_TREE_H
#define GANG__BASE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gang__set_link {
    struct gang__set_link *child[2]; /* what goes before, what goes after */
    uintptr_t parent;                /* its address | (height after - height before) + 1; 3: it
                                       * is in a row */
};

/* Negative: a goes before b. A total order: 0 only for one and the same element. */
typedef int gang__set_compare(const struct gang__set_link *a, const struct gang__set_link *b,
                              const void *ctx);
/* What an element tells of all that is below it, made out anew from itself and its children. Returns
 * whether it changed. */
typedef bool gang__set_refresh(struct gang__set_link *n);
/* Negative: the element goes before the key. Follows the order of the tree. */
typedef int gang__set_locate(const struct gang__set_link *element, const void *key);

struct gang__ordered_set {
    struct gang__set_link *root;   /* NULL: it is a row */
    struct gang__set_link *end[2]; /* the first, the last; kept, for the first is asked for most */
    size_t count;
    gang__set_compare *compare;
    const void *ctx;
    gang__set_refresh *refresh; /* set it while the tree is empty; NULL: nothing is told */
};

static inline void gang__set_init(struct gang__ordered_set *t, gang__set_compare *compare,
                                  const void *ctx)
{
    *t = (struct gang__ordered_set){NULL, {NULL, NULL}, 0, compare, ctx, NULL};
}

/* O(log n), amortised. What the order of an element depends on may not change while it is in the
 * tree. */
void gang__set_insert(struct gang__ordered_set *t, struct gang__set_link *n);
/* The same of what is likely to be the first (side 0) or the last (1): if it is, it is compared
 * once, and the way down through elements that nobody has looked at for long is spared. */
void gang__set_insert_end(struct gang__ordered_set *t, struct gang__set_link *n, int side);
/* The same right before `next`, where it belongs; NULL: it is the last. Compares nothing. */
void gang__set_insert_before(struct gang__ordered_set *t, struct gang__set_link *n,
                             struct gang__set_link *next);
/* O(log n), amortised constant. Compares nothing. */
void gang__set_remove(struct gang__ordered_set *t, struct gang__set_link *n);

/* What refresh() reads of an element itself changed: bring what is told above it up to date. O(log n);
 * ends early where nothing changes. */
void gang__set_refresh_node(const struct gang__ordered_set *t, struct gang__set_link *n);

/* NULL: the tree is empty. Constant. */
static inline struct gang__set_link *gang__set_first(const struct gang__ordered_set *t)
{
    return t->end[0];
}
static inline struct gang__set_link *gang__set_last(const struct gang__ordered_set *t)
{
    return t->end[1];
}

/* The neighbours of an element; NULL: it is the last, the first. O(log n), amortised constant. */
struct gang__set_link *gang__set_next(const struct gang__set_link *n);
/* Is everybody where he belongs, by what his order depends on now? For audits: O(n). */
bool gang__set_is_sorted(const struct gang__ordered_set *t);
struct gang__set_link *gang__set_prev(const struct gang__set_link *n);

/* Who walks on will ask for the next ones: a hint to the processor, nothing else. */
void gang__set_expect(const struct gang__set_link *n);

/* The first element that does not go before the key; NULL: all do. O(log n), amortised. */
struct gang__set_link *gang__set_lower_bound(struct gang__ordered_set *t, gang__set_locate *locate,
                                             const void *key);

#endif
