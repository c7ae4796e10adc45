/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of instants, and what is free in all. A search goes as deep as the tree is high: at most
 * 1.44 log2 of the number of instants. */
#include <assert.h>

#include "plan/timeline/timeline_in.h"

enum { CHUNK = 32 };

static int by_time(const struct gang__set_link *a, const struct gang__set_link *b, const void *ctx)
{
    int64_t x = gang__edge_of(a)->at_ns, y = gang__edge_of(b)->at_ns;
    (void)ctx;
    return (x > y) - (x < y);
}

static int at_time(const struct gang__set_link *n, const void *key)
{
    int64_t x = gang__edge_of(n)->at_ns, y = *(const int64_t *)key;
    return (x > y) - (x < y);
}

static int64_t greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool refresh_after(struct gang__edge *e, const struct gang__edge *a,
                          const struct gang__edge *b)
{
    struct gang__after_end after = e->after;
    if (a)
        gang__after_max(&after, &a->after_below);
    if (b)
        gang__after_max(&after, &b->after_below);
    bool changed = memcmp(&after, &e->after_below, sizeof(after)) != 0;
    e->after_below = after;
    return changed;
}

/* Of one dimension, from the children. */
static inline bool refresh_sums(struct gang__edge *e, const struct gang__edge *a,
                                const struct gang__edge *b, int k)
{
    int64_t here = (a ? a->sum[k] : 0) + e->change[k];
    int64_t sum = here + (b ? b->sum[k] : 0);
    int64_t low = b ? gang__min(here, here + b->low[k]) : here;
    int64_t high = b ? greatest(here, here + b->high[k]) : here;
    low = a ? gang__min(a->low[k], low) : low;
    high = a ? greatest(a->high[k], high) : high;
    bool changed = sum != e->sum[k] || low != e->low[k] || high != e->high[k];
    e->sum[k] = sum;
    e->low[k] = low;
    e->high[k] = high;
    return changed;
}

static bool refresh(struct gang__set_link *n)
{
    struct gang__edge *e = gang__edge_of(n);
    const struct gang__edge *a = n->child[0] ? gang__edge_of(n->child[0]) : NULL;
    const struct gang__edge *b = n->child[1] ? gang__edge_of(n->child[1]) : NULL;
    bool changed = refresh_after(e, a, b);
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        changed |= refresh_sums(e, a, b, k);
    return changed;
}

/* On a flat machine: no bounds, and only what something was ever taken of. */
static bool refresh_flat(struct gang__set_link *n)
{
    struct gang__edge *e = gang__edge_of(n);
    const struct gang__edge *a = n->child[0] ? gang__edge_of(n->child[0]) : NULL;
    const struct gang__edge *b = n->child[1] ? gang__edge_of(n->child[1]) : NULL;
    bool changed = false;
    for (int i = 0; i < e->flat->dim_count; i++)
        changed |= refresh_sums(e, a, b, e->flat->dim[i]);
    return changed;
}

void gang__edges_init(struct gang__timeline *t)
{
    gang__set_init(&t->edges, by_time, NULL);
    t->edges.refresh = t->flat ? refresh_flat : refresh;
}

static void keep_spare(struct gang__timeline *t, struct gang__edge *e)
{
    e->link.child[0] = t->spare ? &t->spare->link : NULL;
    t->spare = e;
}

bool gang__edges_reserve(struct gang__timeline *t, size_t occupations)
{
    while (t->edge_count < 2 * occupations) {
        struct gang__edge_chunk *chunk =
            gang__alloc(&t->mem, sizeof(*chunk) + CHUNK * sizeof(chunk->edge[0]));
        if (!chunk)
            return false;
        chunk->next = t->chunks;
        t->chunks = chunk;
        t->edge_count += CHUNK;
        for (size_t i = 0; i < CHUNK; i++)
            keep_spare(t, &chunk->edge[i]);
    }
    return true;
}

static void add(int64_t to[GANG__FREE_DIMS], const int64_t change[GANG__FREE_DIMS])
{
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        to[k] += change[k];
}

/* The bound of an edge: the greatest of those that end there. */
static void bound(struct gang__timeline *t, struct gang__edge *e)
{
    e->after = (struct gang__after_end)GANG__AFTER_NOTHING;
    for (const struct gang__occupant *o = e->first[GANG__ENDS]; o; o = o->next[GANG__ENDS])
        gang__after_max(&e->after, &o->after);
    gang__edge_refresh(t, e);
}

/* Subtrees above are updated once for all changes. */
static void enter(struct gang__timeline *t, struct gang__occupant *o, int side, int64_t at_ns,
                  const int64_t change[GANG__FREE_DIMS])
{
    struct gang__set_link *n = gang__set_lower_bound(&t->edges, at_time, &at_ns);
    bool there = n && gang__edge_of(n)->at_ns == at_ns;
    struct gang__edge *e = there ? gang__edge_of(n) : t->spare;
    assert(e); /* two were kept for each occupation */
    if (!there) {
        t->spare = e->link.child[0] ? gang__edge_of(e->link.child[0]) : NULL;
        *e = (struct gang__edge){.at_ns = at_ns, .after = GANG__AFTER_NOTHING};
        if (t->flat)
            e->flat = t;
    }
    add(e->change, change);
    if (side == GANG__ENDS && !t->flat)
        gang__after_max(&e->after, &o->after);
    o->edge[side] = e;
    o->prev[side] = NULL;
    o->next[side] = e->first[side];
    if (e->first[side])
        e->first[side]->prev[side] = o;
    e->first[side] = o;
    if (there)
        gang__edge_refresh(t, e);
    else
        gang__set_insert_before(&t->edges, &e->link, n);
}

static void leave(struct gang__timeline *t, struct gang__occupant *o, int side,
                  const int64_t change[GANG__FREE_DIMS])
{
    struct gang__edge *e = o->edge[side];
    add(e->change, change);
    if (o->next[side])
        o->next[side]->prev[side] = o->prev[side];
    if (o->prev[side])
        o->prev[side]->next[side] = o->next[side];
    else
        e->first[side] = o->next[side];
    if (e->first[GANG__STARTS] || e->first[GANG__ENDS]) {
        if (t->flat)
            gang__edge_refresh(t, e);
        else
            bound(t, e);
        return;
    }
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        assert(e->change[k] == 0);
    gang__set_remove(&t->edges, &e->link);
    keep_spare(t, e);
}

/* On a flat machine what has passed has no edge. */
static bool is_past(const struct gang__timeline *t, int64_t at_ns)
{
    return t->flat && at_ns <= t->now_ns;
}

void gang__edges_enter(struct gang__timeline *t, struct gang__occupant *o,
                       int64_t change[2][GANG__FREE_DIMS])
{
    const int64_t at_ns[2] = {o->start_ns, o->end_ns};
    for (int side = 0; side < 2; side++) {
        o->edge[side] = NULL;
        if (is_past(t, at_ns[side]))
            add(t->before, change[side]);
        else if (at_ns[side] != GANG__NEVER)
            enter(t, o, side, at_ns[side], change[side]);
    }
}

void gang__edges_leave(struct gang__timeline *t, struct gang__occupant *o,
                       int64_t change[2][GANG__FREE_DIMS])
{
    const int64_t at_ns[2] = {o->start_ns, o->end_ns};
    for (int side = 0; side < 2; side++)
        if (o->edge[side])
            leave(t, o, side, change[side]);
        else if (is_past(t, at_ns[side]))
            add(t->before, change[side]);
}

void gang__edge_pass(struct gang__timeline *t, struct gang__edge *e)
{
    add(t->before, e->change);
    for (int side = 0; side < 2; side++)
        for (struct gang__occupant *o = e->first[side]; o; o = o->next[side])
            o->edge[side] = NULL;
    gang__set_remove(&t->edges, &e->link);
    keep_spare(t, e);
}

void gang__edge_bound(struct gang__timeline *t, struct gang__occupant *o,
                      const struct gang__after_end *after)
{
    if (!o->edge[GANG__ENDS] || memcmp(&o->after, after, sizeof(*after)) == 0)
        return;
    o->after = *after;
    bound(t, o->edge[GANG__ENDS]);
}

struct gang__edge *gang__edge_after(struct gang__timeline *t, int64_t at_ns)
{
    if (at_ns == GANG__NEVER)
        return NULL;
    int64_t key = at_ns + 1;
    struct gang__set_link *n = gang__set_lower_bound(&t->edges, at_time, &key);
    return n ? gang__edge_of(n) : NULL;
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* All that changes up to an edge, of those below it. */
static void add_up_to(const struct gang__timeline *t, const struct gang__edge *e,
                      int64_t unused[GANG__FREE_DIMS])
{
    static const int64_t nothing[GANG__FREE_DIMS];
    const int64_t *left = e->link.child[0] ? gang__edge_of(e->link.child[0])->sum : nothing;
    if (t->flat) {
        for (int i = 0; i < t->dim_count; i++)
            unused[t->dim[i]] += e->change[t->dim[i]] + left[t->dim[i]];
        return;
    }
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        unused[k] += e->change[k] + left[k];
}

/* Less than nothing is nothing. */
static void clip(int64_t unused[GANG__FREE_DIMS])
{
    for (int k = 0; k < GANG__FREE_POOL; k++)
        unused[k] = unused[k] > 0 ? unused[k] : 0;
}

int64_t gang__timeline_sum_at(const struct gang__timeline *t, int64_t at_ns,
                              int64_t unused[GANG__FREE_DIMS])
{
    int64_t until = GANG__NEVER;
    if (t->flat && at_ns < t->now_ns) {
        until = gang__flat_past(t, at_ns, unused);
        clip(unused);
        return until;
    }
    memcpy(unused, t->before, sizeof(t->before));
    const struct gang__set_link *first = gang__set_first(&t->edges), *n = t->edges.root;
    if (first &&
        gang__edge_of(first)->at_ns > at_ns) { /* most questions about the present end here */
        until = gang__edge_of(first)->at_ns;
        n = NULL;
    }
    while (n) {
        const struct gang__edge *e = gang__edge_of(n);
        bool past = e->at_ns <= at_ns;
        if (past)
            add_up_to(t, e, unused);
        else
            until = e->at_ns;
        n = n->child[past];
    }
    if (t->flat)
        clip(unused);
    return until;
}

/* A search for a time in which enough is free, all along. */
struct span {
    size_t count; /* kinds that matter */
    int kind[GANG__FREE_DIMS];
    const int64_t *need;
    int64_t after_ns, duration_ns;
    int64_t start_ns; /* since then enough is free, if `open` */
    int64_t lost_ns;  /* from then on it was not */
    bool open;
    bool at_once; /* it is to be from after_ns on, or not at all */
};

/* Are `before` and `more` together enough of all kinds? */
static bool is_enough(const struct span *s, const int64_t *before, const int64_t *more)
{
    for (size_t i = 0; i < s->count; i++)
        if (before[s->kind[i]] + more[s->kind[i]] < s->need[s->kind[i]])
            return false;
    return true;
}

/* An instant, and whether enough is free after it. True: the search is over. */
static bool step(struct span *s, int64_t at_ns, bool enough)
{
    if (s->open && at_ns >= gang__add_sat(s->start_ns, s->duration_ns))
        return true;
    if (enough && !s->open)
        s->start_ns = at_ns;
    else if (!enough && s->open)
        s->lost_ns = at_ns;
    s->open = enough;
    return s->at_once && !enough;
}

/* Visits all instants below n that are after after_ns, but for subtrees without an instant at which
 * enough becomes free or ceases to be. True: the search is over. Recursive, as deep as the tree is
 * high. `before`: what is free before all that is below n. */
static bool scan(const struct gang__set_link *n, struct span *s, const int64_t *before)
{
    static const int64_t nothing[GANG__FREE_DIMS];
    int64_t here[GANG__FREE_DIMS];
    while (n) {
        const struct gang__edge *e = gang__edge_of(n);
        if (is_enough(s, before, s->open ? e->low : e->high) == s->open)
            return false;
        bool after = e->at_ns > s->after_ns;
        if (after && scan(n->child[0], s, before))
            return true;
        const int64_t *left = n->child[0] ? gang__edge_of(n->child[0])->sum : nothing;
        for (size_t i = 0; i < s->count; i++)
            here[s->kind[i]] = before[s->kind[i]] + left[s->kind[i]] + e->change[s->kind[i]];
        if (after && step(s, e->at_ns, is_enough(s, here, nothing)))
            return true;
        before = here;
        n = n->child[1];
    }
    return false;
}

/* Look for the first start >= start_ns; there is one if it is open then. */
static bool first_span(struct span *s, const struct gang__timeline *t, const int64_t *need,
                       int64_t start_ns, int64_t duration_ns, bool at_once)
{
    static const int64_t nothing[GANG__FREE_DIMS];
    int64_t unused[GANG__FREE_DIMS];
    s->count = 0;
    s->need = need;
    s->after_ns = s->start_ns = s->lost_ns = start_ns;
    s->duration_ns = duration_ns;
    s->at_once = at_once;
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        if (need[k] > 0)
            s->kind[s->count++] = k;
    (void)gang__timeline_sum_at(t, start_ns, unused);
    s->open = is_enough(s, unused, nothing);
    if (s->open || !at_once)
        (void)scan(t->edges.root, s, t->before);
    return s->open;
}

bool gang__timeline_fits_sum(const struct gang__timeline *t, const int64_t need[GANG__FREE_DIMS],
                             int64_t start_ns, int64_t end_ns)
{
    if (t->flat && start_ns < t->now_ns) {
        if (!gang__flat_was_free(t, need, start_ns, end_ns))
            return false;
        if (end_ns <= t->now_ns)
            return true;
        start_ns = t->now_ns;
    }
    int64_t duration = end_ns == GANG__NEVER ? GANG__NEVER : end_ns - start_ns;
    struct span s;
    return first_span(&s, t, need, start_ns, duration, true);
}

int64_t gang__timeline_until_sum(const struct gang__timeline *t,
                                 const int64_t need[GANG__FREE_DIMS], int64_t start_ns)
{
    struct span s;
    return first_span(&s, t, need, start_ns, GANG__NEVER, true) ? GANG__NEVER : s.lost_ns;
}

int64_t gang__timeline_earliest_sum(const struct gang__timeline *t,
                                    const int64_t need[GANG__FREE_DIMS], int64_t from_ns,
                                    int64_t duration_ns)
{
    struct span s;
    from_ns = from_ns > t->now_ns ? from_ns : t->now_ns;
    return first_span(&s, t, need, from_ns, duration_ns, false) ? s.start_ns : GANG__NEVER;
}

struct gang__edge *gang__edge_before(struct gang__timeline *t, int64_t at_ns)
{
    struct gang__set_link *n = gang__set_lower_bound(&t->edges, at_time, &at_ns);
    n = n ? gang__set_prev(n) : gang__set_last(&t->edges);
    return n ? gang__edge_of(n) : NULL;
}

int64_t gang__timeline_latest_sum(struct gang__timeline *t, const int64_t need[GANG__FREE_DIMS],
                                  int64_t from_ns, int64_t to_ns, int64_t duration_ns)
{
    from_ns = from_ns > t->now_ns ? from_ns : t->now_ns;
    while (to_ns >= from_ns) {
        struct span s;
        if (first_span(&s, t, need, to_ns, duration_ns, true))
            return to_ns;
        /* It must have ended by then, or by the instant since when it is so. */
        struct gang__edge *e = s.lost_ns > to_ns ? NULL : gang__edge_before(t, to_ns + 1);
        if (s.lost_ns == to_ns && (!e || e->at_ns <= from_ns))
            break;
        to_ns = (e ? e->at_ns : s.lost_ns) - duration_ns;
    }
    return GANG__NEVER;
}
