/* SPDX-License-Identifier: Apache-2.0 */
/* One node: its occupations from instant to instant, and a heap over all nodes of what is free
 * now. */
#include <assert.h>

#include "plan/timeline/timeline_in.h"

/* ---- walking ------------------------------------------------------------------------------- */

static const struct gang__stay *next_stay(const struct gang__walk *w)
{
    return &w->t->occupant[w->next_of]->stay[w->next_at];
}

/* The occupations at this instant: a heap, the next to end first. */
static void put(struct gang__walk *w, struct gang__active one)
{
    struct gang__active *active = w->t->active;
    size_t i = w->active++;
    for (; i > 0 && one.end_ns < active[(i - 1) / 2].end_ns; i = (i - 1) / 2)
        active[i] = active[(i - 1) / 2];
    active[i] = one;
}

static void take_first(struct gang__walk *w)
{
    struct gang__active *active = w->t->active, last = active[--w->active];
    size_t i = 0;
    for (size_t child = 1; child < w->active; child = 2 * i + 1) {
        child += child + 1 < w->active && active[child + 1].end_ns < active[child].end_ns;
        if (last.end_ns <= active[child].end_ns)
            break;
        active[i] = active[child];
        i = child;
    }
    active[i] = last;
}

/* Removes occupations that have ended by from_ns. */
static void drop(struct gang__walk *w)
{
    const struct gang__active *first = w->t->active;
    while (w->active > 0 && first->end_ns <= w->from_ns) {
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            w->used[k] -= first->amount[k];
        for (uint32_t k = 0; k < w->t->more_kinds; k++)
            w->t->more_used[k] -= first->more[k];
        take_first(w);
    }
}

/* Adds occupations that have begun by from_ns and not ended. */
static void take(struct gang__walk *w)
{
    struct gang__timeline *t = w->t;
    while (w->next_of != GANG__NONE) {
        const struct gang__occupant *o = t->occupant[w->next_of];
        const struct gang__stay *s = next_stay(w);
        if (o->start_ns > w->from_ns)
            break;
        if (o->end_ns > w->from_ns) {
            const int64_t *amount = gang__stay_amount(t, o, s);
            const int64_t *more = t->more_kinds ? gang__stay_more(t, o, s) : NULL;
            put(w, (struct gang__active){o->end_ns, amount, more, o->edge[GANG__ENDS]});
            for (int k = 0; k < GANG__FREE_KINDS; k++)
                w->used[k] += amount[k];
            for (uint32_t k = 0; k < t->more_kinds; k++)
                t->more_used[k] += more[k];
        }
        w->next_of = s->next_of;
        w->next_at = s->next_at;
    }
}

/* Up to when is it so? */
static void look_ahead(struct gang__walk *w)
{
    w->to_ns = GANG__NEVER;
    w->edge = NULL;
    if (w->next_of != GANG__NONE) {
        const struct gang__occupant *o = w->t->occupant[w->next_of];
        w->to_ns = o->start_ns;
        w->edge = o->edge[GANG__STARTS];
    }
    if (w->active > 0 && w->t->active[0].end_ns < w->to_ns) {
        w->to_ns = w->t->active[0].end_ns;
        w->edge = w->t->active[0].end;
    }
}

void gang__walk_begin(struct gang__walk *w, struct gang__timeline *t, uint32_t node, int64_t at_ns)
{
    *w = (struct gang__walk){.t = t,
                             .capacity = t->capacity[node],
                             .next_of = t->node[node].of,
                             .next_at = t->node[node].at,
                             .from_ns = at_ns};
    if (t->more_kinds)
        memset(t->more_used, 0, sizeof(t->more_used));
    take(w);
    look_ahead(w);
}

void gang__walk_on(struct gang__walk *w)
{
    assert(w->to_ns != GANG__NEVER);
    w->from_ns = w->to_ns;
    drop(w);
    take(w);
    look_ahead(w);
}

/* ---- what is free of a node ---------------------------------------------------------------- */

static bool has_level(const struct gang__walk *w, int level)
{
    return level == GANG__LEVEL_WHOLE ? gang__walk_is_whole(w)
                                      : gang__walk_unused(w, w->t->main_kind) >= w->t->level[level];
}

struct gang__after_end gang__node_after(struct gang__timeline *t, uint32_t node, int64_t at_ns,
                                        int level)
{
    struct gang__walk w;
    struct gang__after_end after;
    unsigned lasting = level == GANG__LEVEL_ALL ? (1u << GANG__LEVELS) - 1
                       : level >= 0             ? 1u << level
                                                : 0;
    gang__walk_begin(&w, t, node, at_ns);
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        after.best[k] = gang__walk_unused(&w, k);
    for (int i = 0; i < GANG__LEVELS; i++)
        after.reach_ns[i] = GANG__NEVER;
    while (lasting) {
        for (int i = 0; i < GANG__LEVELS; i++)
            if (lasting >> i & 1 && !has_level(&w, i)) {
                after.reach_ns[i] = w.from_ns;
                lasting &= ~(1u << i);
            }
        if (!lasting || w.to_ns == GANG__NEVER)
            break;
        gang__walk_on(&w);
    }
    return after;
}

static bool is_less(const struct gang__walk *w, uint32_t node, const int64_t *than)
{
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        if (gang__walk_unused(w, k) < than[k])
            return true;
    for (uint32_t k = 0; k < w->t->more_kinds; k++)
        if (gang__walk_unused_more(w, node, k) < w->t->more_during[k])
            return true;
    return false;
}

void gang__node_during(struct gang__timeline *t, uint32_t node, int64_t start_ns, int64_t end_ns,
                       int64_t unused[GANG__FREE_KINDS], int64_t *until_ns)
{
    struct gang__walk w;
    gang__walk_begin(&w, t, node, start_ns);
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        unused[k] = gang__walk_unused(&w, k);
    for (uint32_t k = 0; k < t->more_kinds; k++)
        t->more_during[k] = gang__walk_unused_more(&w, node, k);
    while (w.to_ns != GANG__NEVER) {
        gang__walk_on(&w);
        if (w.from_ns >= end_ns && is_less(&w, node, unused)) {
            *until_ns = w.from_ns;
            return;
        }
        for (int k = 0; k < GANG__FREE_KINDS && w.from_ns < end_ns; k++) {
            int64_t now = gang__walk_unused(&w, k);
            unused[k] = now < unused[k] ? now : unused[k];
        }
        for (uint32_t k = 0; k < t->more_kinds && w.from_ns < end_ns; k++) {
            int64_t now = gang__walk_unused_more(&w, node, k);
            t->more_during[k] = now < t->more_during[k] ? now : t->more_during[k];
        }
    }
    *until_ns = GANG__NEVER;
}

bool gang__node_whole(struct gang__timeline *t, uint32_t node, int64_t start_ns, int64_t end_ns)
{
    struct gang__walk w;
    gang__walk_begin(&w, t, node, start_ns);
    return gang__walk_is_whole(&w) && w.to_ns >= end_ns;
}

/* ---- what is free of all nodes now --------------------------------------------------------- */

void gang__node_stale(struct gang__timeline *t, uint32_t node)
{
    uint64_t bit = UINT64_C(1) << (node % 64);
    if (t->is_stale[node / 64] & bit)
        return;
    t->is_stale[node / 64] |= bit;
    t->stale[t->stale_count++] = node;
}

static void make_out(struct gang__timeline *t, uint32_t node)
{
    struct gang__after_end now = gang__node_after(t, node, t->now_ns, GANG__LEVEL_ALL);
    for (size_t i = t->leaves + (size_t)node; memcmp(&t->now[i], &now, sizeof(now)) != 0;) {
        t->now[i] = now;
        if (i == 1)
            return;
        now = t->now[i];
        gang__after_max(&now, &t->now[i ^ 1]);
        i /= 2;
    }
}

void gang__nodes_update(struct gang__timeline *t)
{
    for (size_t i = 0; i < t->stale_count; i++) {
        t->is_stale[t->stale[i] / 64] = 0;
        make_out(t, t->stale[i]);
    }
    t->stale_count = 0;
}

uint32_t gang__node_next(const struct gang__timeline *t, uint32_t from, gang__after_may *may,
                         const void *ctx)
{
    if (from >= t->nodes)
        return t->nodes;
    for (size_t i = t->leaves + (size_t)from;;) {
        if (may(&t->now[i], ctx)) {
            if (i >= t->leaves)
                return (uint32_t)(i - t->leaves);
            i *= 2;
            continue;
        }
        while (i & 1)
            i /= 2;
        if (i == 0)
            return t->nodes;
        i++;
    }
}
