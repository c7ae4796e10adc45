/* SPDX-License-Identifier: Apache-2.0 */
/* An AVL tree (Adelson-Velsky and Landis, "An algorithm for the organization of information",
 * 1962): the heights of the two children of a link differ by at most 1. `side` is 0 for what goes
 * before, 1 for what goes after.
 *
 * A set begins as a list, each link beside its neighbours: child[0] is the one before, child[1]
 * the one after. As long as all links are inserted at the ends, as jobs are in the order of
 * their age, an insert or a remove touches only the neighbours. The first link that belongs in
 * between turns the list into a tree, which it stays until it is empty; so each link enters the
 * tree at most once. A set with a refresh function is a tree from the first. */
#include "base/ordered_set.h"

#include <assert.h>

/* The two low bits of `parent` hold the balance. For a link in a list they hold: */
enum { IN_LIST = 3 };
_Static_assert(_Alignof(struct gang__set_link) >= 4, "two bits of an address are free");
_Static_assert(sizeof(struct gang__set_link) == 3 * sizeof(void *), "no padding");

static struct gang__set_link *parent_of(const struct gang__set_link *n)
{
    return (struct gang__set_link *)(n->parent & ~(uintptr_t)3);
}

/* The height of what goes after less that of what goes before: -1, 0 or 1. */
static int balance_of(const struct gang__set_link *n)
{
    return (int)(n->parent & 3) - 1;
}

static void set_parent(struct gang__set_link *n, const struct gang__set_link *parent)
{
    n->parent = (uintptr_t)parent | (n->parent & 3);
}

static void set_balance(struct gang__set_link *n, int balance)
{
    n->parent = (n->parent & ~(uintptr_t)3) | (uintptr_t)(balance + 1);
}

static int side_of(const struct gang__set_link *n, const struct gang__set_link *parent)
{
    return parent->child[1] == n;
}

/* Puts `n`, or nothing, in the place of `old` below `parent`. */
static void replace(struct gang__ordered_set *t, struct gang__set_link *parent,
                    const struct gang__set_link *old, struct gang__set_link *n)
{
    if (parent)
        parent->child[side_of(old, parent)] = n;
    else
        t->root = n;
    if (n)
        set_parent(n, parent);
}

/* Rotates: p's child on `side` takes the place of p, and p that of its child on the other side. */
static struct gang__set_link *rotate(struct gang__ordered_set *t, struct gang__set_link *p,
                                     int side)
{
    struct gang__set_link *c = p->child[side], *inner = c->child[!side];
    replace(t, parent_of(p), p, c);
    p->child[side] = inner;
    if (inner)
        set_parent(inner, p);
    c->child[!side] = p;
    set_parent(p, c);
    if (t->refresh) { /* the two together summarize what p did before */
        t->refresh(p);
        t->refresh(c);
    }
    return c;
}

/* The children of n, and of links above it, may have changed. Refreshes all up to `fresh`, a link
 * that is new in its place (NULL: none is); above it ends where nothing changes. */
static void refresh_up(const struct gang__ordered_set *t, struct gang__set_link *n,
                       const struct gang__set_link *fresh)
{
    bool more = t->refresh != NULL;
    for (; more && n; n = parent_of(n)) {
        more = t->refresh(n) || fresh;
        if (n == fresh)
            fresh = NULL;
    }
}

void gang__set_refresh_node(const struct gang__ordered_set *t, struct gang__set_link *n)
{
    while (n && t->refresh(n))
        n = parent_of(n);
}

/* Rebalances p, which is too high by one on `side`. Returns the link that takes its place; that
 * link is as high as p was before iff its balance is not 0. */
static struct gang__set_link *rebalance(struct gang__ordered_set *t, struct gang__set_link *p,
                                        int side)
{
    int lean = side ? 1 : -1;
    struct gang__set_link *c = p->child[side];
    if (balance_of(c) != -lean) {
        bool level = balance_of(c) == 0;
        rotate(t, p, side);
        set_balance(p, level ? lean : 0);
        set_balance(c, level ? -lean : 0);
        return c;
    }
    struct gang__set_link *g = c->child[!side];
    int was = balance_of(g);
    rotate(t, c, !side);
    rotate(t, p, side);
    set_balance(p, was == lean ? -lean : 0);
    set_balance(c, was == -lean ? lean : 0);
    set_balance(g, 0);
    return g;
}

/* Attaches n below p (NULL: as the root) on `side`, which was empty, and rebalances. */
static void attach(struct gang__ordered_set *t, struct gang__set_link *n, struct gang__set_link *p,
                   int side)
{
    *n = (struct gang__set_link){{NULL, NULL}, (uintptr_t)p | 1};
    if (p)
        p->child[side] = n;
    else
        t->root = n;
    for (int i = 0; i < 2; i++)
        if (t->end[i] == p && (!p || side == i))
            t->end[i] = n;
    t->count++;
    refresh_up(t, n, n);
    for (; p; n = p, p = parent_of(n)) {
        side = side_of(n, p);
        int lean = side ? 1 : -1, balance = balance_of(p);
        if (balance == lean) {
            rebalance(t, p, side);
            return;
        }
        set_balance(p, balance + lean);
        if (balance != 0)
            return;
    }
}

/* Can the links lie in a list, as long as they are inserted at the ends? */
static bool may_be_list(const struct gang__ordered_set *t)
{
    return !t->root && !t->refresh;
}

static bool is_in_list(const struct gang__set_link *n)
{
    return (n->parent & 3) == IN_LIST;
}

/* Inserts between two neighbours, or (NULL) at an end. */
static void list_link(struct gang__ordered_set *t, struct gang__set_link *n,
                      struct gang__set_link *before, struct gang__set_link *after)
{
    *n = (struct gang__set_link){{before, after}, IN_LIST};
    *(before ? &before->child[1] : &t->end[0]) = n;
    *(after ? &after->child[0] : &t->end[1]) = n;
    t->count++;
}

static void list_unlink(struct gang__ordered_set *t, struct gang__set_link *n)
{
    struct gang__set_link *before = n->child[0], *after = n->child[1];
    *(before ? &before->child[1] : &t->end[0]) = after;
    *(after ? &after->child[0] : &t->end[1]) = before;
    t->count--;
}

/* Does it belong beyond the end on this side? */
static bool is_beyond(const struct gang__ordered_set *t, const struct gang__set_link *n, int side)
{
    const struct gang__set_link *end = t->end[side];
    return !end || (t->compare(n, end, t->ctx) > 0) == (side == 1);
}

/* Inserts n if it belongs to an end of the list; `side` is the likely end. */
static bool list_insert(struct gang__ordered_set *t, struct gang__set_link *n, int side)
{
    if (!is_beyond(t, n, side)) {
        side = !side;
        if (!is_beyond(t, n, side))
            return false;
    }
    list_link(t, n, side ? t->end[1] : NULL, side ? NULL : t->end[0]);
    return true;
}

static void list_to_tree(struct gang__ordered_set *t)
{
    struct gang__set_link *next, *n = t->end[0];
    t->end[0] = t->end[1] = NULL;
    for (t->count = 0; n; n = next) {
        next = n->child[1];
        attach(t, n, t->end[1], 1);
    }
}

static void tree_insert(struct gang__ordered_set *t, struct gang__set_link *n)
{
    struct gang__set_link *p = NULL;
    int side = 0;
    for (struct gang__set_link *at = t->root; at; at = at->child[side]) {
        int order = t->compare(n, at, t->ctx);
        assert(order != 0);
        p = at;
        side = order > 0;
    }
    attach(t, n, p, side);
}

void gang__set_insert(struct gang__ordered_set *t, struct gang__set_link *n)
{
    if (may_be_list(t)) {
        if (list_insert(t, n, 1))
            return;
        list_to_tree(t);
    }
    tree_insert(t, n);
}

void gang__set_insert_end(struct gang__ordered_set *t, struct gang__set_link *n, int side)
{
    if (may_be_list(t)) {
        if (list_insert(t, n, side))
            return;
        list_to_tree(t);
        tree_insert(t, n);
    } else if (is_beyond(t, n, side)) {
        attach(t, n, t->end[side], side); /* nothing hangs beyond the end */
    } else {
        tree_insert(t, n);
    }
}

void gang__set_insert_before(struct gang__ordered_set *t, struct gang__set_link *n,
                             struct gang__set_link *next)
{
    if (may_be_list(t) && (!next || next == t->end[0])) {
        list_link(t, n, next ? NULL : t->end[1], next);
        return;
    }
    if (may_be_list(t))
        list_to_tree(t);
    if (!next)
        attach(t, n, t->end[1], 1);
    else if (!next->child[0])
        attach(t, n, next, 0);
    else
        attach(t, n, gang__set_prev(next), 1); /* it is below `next`: nothing goes after it */
}

/* A subtree of p on `side` is lower by one than before. */
static void subtree_shrank(struct gang__ordered_set *t, struct gang__set_link *p, int side)
{
    while (p) {
        int lean = side ? 1 : -1, balance = balance_of(p);
        if (balance == -lean)
            p = rebalance(t, p, !side);
        else
            set_balance(p, balance - lean);
        if (balance_of(p) != 0)
            return;
        struct gang__set_link *up = parent_of(p);
        side = up && side_of(p, up);
        p = up;
    }
}

void gang__set_remove(struct gang__ordered_set *t, struct gang__set_link *n)
{
    assert(t->count > 0);
    if (is_in_list(n)) {
        list_unlink(t, n);
        return;
    }
    if (t->end[0] == n)
        t->end[0] = gang__set_next(n);
    if (t->end[1] == n)
        t->end[1] = gang__set_prev(n);
    t->count--;
    struct gang__set_link *p = parent_of(n);
    if (!n->child[0] || !n->child[1]) {
        int side = p && side_of(n, p);
        replace(t, p, n, n->child[n->child[1] != NULL]);
        refresh_up(t, p, NULL);
        subtree_shrank(t, p, side);
        return;
    }
    /* The next link has nothing before it; it takes the place of n. */
    struct gang__set_link *s = gang__set_next(n), *from = parent_of(s);
    int side = from == n;
    if (from == n) {
        from = s;
    } else {
        replace(t, from, s, s->child[1]);
        s->child[1] = n->child[1];
        set_parent(s->child[1], s);
    }
    s->child[0] = n->child[0];
    set_parent(s->child[0], s);
    replace(t, p, n, s);
    set_balance(s, balance_of(n));
    refresh_up(t, from, s);
    subtree_shrank(t, from, side);
}

/* The neighbour on `side`. */
static struct gang__set_link *neighbour_of(const struct gang__set_link *n, int side)
{
    struct gang__set_link *at = n->child[side];
    if (is_in_list(n))
        return at;
    if (at) {
        while (at->child[!side])
            at = at->child[!side];
        return at;
    }
    at = parent_of(n);
    while (at && at->child[side] == n) {
        n = at;
        at = parent_of(n);
    }
    return at;
}

struct gang__set_link *gang__set_next(const struct gang__set_link *n)
{
    return neighbour_of(n, 1);
}

struct gang__set_link *gang__set_prev(const struct gang__set_link *n)
{
    return neighbour_of(n, 0);
}

/* ---- walks ----------------------------------------------------------------------------------- */

enum { AHEAD = 4 }; /* levels that are prefetched at once */

/* The links below n, level by level: the loads of a level overlap. */
static void prefetch_below(const struct gang__set_link *n)
{
    const struct gang__set_link *level[1 << (AHEAD - 1)] = {n}, *below[1 << AHEAD];
    uint32_t count = 1;
    for (uint32_t k = 0; k < AHEAD && count > 0; k++) {
        uint32_t found = 0;
        for (uint32_t i = 0; i < count; i++)
            for (int side = 0; side < 2; side++)
                if (level[i]->child[side]) {
                    __builtin_prefetch(level[i]->child[side]);
                    below[found++] = level[i]->child[side];
                }
        for (uint32_t i = 0; i < found && k + 1 < AHEAD; i++)
            level[i] = below[i];
        count = found;
    }
}

struct gang__set_walk gang__set_walk_from(struct gang__set_link *n)
{
    return (struct gang__set_walk){n, 0};
}

/* To a child, on the way down. */
static void enter(struct gang__set_walk *walk, struct gang__set_link *child)
{
    walk->at = child;
    if (++walk->depth % AHEAD == 0)
        prefetch_below(child);
}

struct gang__set_link *gang__set_walk_next(struct gang__set_walk *walk)
{
    struct gang__set_link *n = walk->at;
    if (is_in_list(n)) {
        walk->at = n->child[1];
        if (walk->at)
            __builtin_prefetch(walk->at->child[1]);
        return walk->at;
    }
    if (n->child[1]) {
        enter(walk, n->child[1]);
        while (walk->at->child[0])
            enter(walk, walk->at->child[0]);
        return walk->at;
    }
    do {
        n = walk->at;
        walk->at = parent_of(n);
        walk->depth--;
    } while (walk->at && walk->at->child[1] == n);
    return walk->at;
}

void gang__set_prefetch_insert(const struct gang__ordered_set *t,
                               struct gang__set_link *const n[GANG__SET_PREFETCHED], uint32_t count,
                               size_t size)
{
    struct gang__set_link *at[GANG__SET_PREFETCHED];
    bool some = t->root != NULL;
    for (uint32_t i = 0; i < count; i++)
        at[i] = t->root;
    while (some) {
        some = false;
        for (uint32_t i = 0; i < count; i++) {
            if (!at[i])
                continue;
            at[i] = at[i]->child[t->compare(n[i], at[i], t->ctx) > 0];
            some = some || at[i];
            if (at[i]) {
                __builtin_prefetch(at[i]);
                __builtin_prefetch((const char *)at[i] + size - 1);
            }
        }
    }
}

struct gang__set_link *gang__set_lower_bound(struct gang__ordered_set *t, gang__set_locate *locate,
                                             const void *key)
{
    if (!t->root)
        list_to_tree(t);
    struct gang__set_link *found = NULL, *at = t->root;
    while (at) {
        bool before = locate(at, key) < 0;
        if (!before)
            found = at;
        at = at->child[before];
    }
    return found;
}

bool gang__set_is_sorted(const struct gang__ordered_set *t)
{
    const struct gang__set_link *before = NULL;
    for (const struct gang__set_link *n = gang__set_first(t); n; before = n, n = gang__set_next(n))
        if (before && t->compare(before, n, t->ctx) >= 0)
            return false;
    return true;
}

void gang__set_prefetch_remove(const struct gang__set_link *n)
{
    __builtin_prefetch(n->child[0], 1);
    __builtin_prefetch(n->child[1], 1);
    __builtin_prefetch(parent_of(n), 1);
}
