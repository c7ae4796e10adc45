/* SPDX-License-Identifier: Apache-2.0 */
/* Enters an occupation into the lists of its nodes and the sums over all nodes, and takes it out.
 * */
#include <stdlib.h>

#include "plan/timeline/timeline_in.h"

/* ---- the nodes' lists ---------------------------------------------------------------------- */

static void link_stay(struct gang__timeline *t, struct gang__occupant *o, uint32_t at)
{
    struct gang__stay *s = &o->stay[at];
    struct gang__stay_head *head = &t->node[s->node];
    uint32_t *of = &head->of, *index = &head->at;
    while (*of != GANG__NONE && t->occupant[*of]->start_ns <= o->start_ns) {
        struct gang__stay *next = &t->occupant[*of]->stay[*index];
        of = &next->next_of;
        index = &next->next_at;
    }
    s->next_of = *of;
    s->next_at = *index;
    *of = o->id;
    *index = at;
    head->count++;
}

static void unlink_stay(struct gang__timeline *t, struct gang__occupant *o, uint32_t at)
{
    struct gang__stay *s = &o->stay[at];
    struct gang__stay_head *head = &t->node[s->node];
    uint32_t *of = &head->of, *index = &head->at;
    while (*of != o->id) {
        struct gang__stay *next = &t->occupant[*of]->stay[*index];
        of = &next->next_of;
        index = &next->next_at;
    }
    *of = s->next_of;
    *index = s->next_at;
    head->count--;
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* By how much what counts as free of a node changes when it has this occupation, too. */
static void difference(const struct gang__walk *w, const int64_t *amount, int sign,
                       int64_t change[GANG__FREE_DIMS])
{
    for (int k = 0; k < GANG__FREE_KINDS; k++) {
        int64_t unused = gang__walk_unused(w, k);
        change[k] = -sign * (amount[k] < unused ? amount[k] : unused);
    }
    change[GANG__FREE_NODES] = gang__walk_is_whole(w) ? -sign : 0;
}

/* Counts one node of an occupation that is not in the list of the node: `sign` 1 to add, -1 to
 * subtract. Changes at the edges of the occupation are added to `begin` and `end`: mostly they are
 * the same for all nodes. */
static void count_stay(struct gang__timeline *t, const struct gang__occupant *o,
                       const struct gang__stay *s, int sign, int64_t *begin, int64_t *end)
{
    struct gang__walk w;
    int64_t last[GANG__FREE_DIMS] = {0}, change[GANG__FREE_DIMS] = {0};
    struct gang__edge *edge = NULL;
    gang__walk_begin(&w, t, s->node, o->start_ns);
    for (;;) {
        difference(&w, gang__stay_amount(t, o, s), sign, change);
        for (int k = 0; k < GANG__FREE_POOL; k++) {
            int64_t *to = edge ? &edge->change[k] : &begin[k];
            *to += change[k] - last[k];
        }
        if (edge && memcmp(change, last, sizeof(last)) != 0)
            gang__edge_refresh(t, edge);
        memcpy(last, change, sizeof(last));
        if (w.to_ns >= o->end_ns)
            break;
        edge = w.edge;
        gang__walk_on(&w);
    }
    for (int k = 0; k < GANG__FREE_POOL; k++)
        end[k] -= last[k];
}

static void count_all(struct gang__timeline *t, const struct gang__occupant *o, int sign,
                      int64_t change[2][GANG__FREE_DIMS])
{
    memset(change, 0, 2 * sizeof(change[0]));
    for (uint32_t i = 0; i < o->stay_count; i++)
        count_stay(t, o, &o->stay[i], sign, change[GANG__STARTS], change[GANG__ENDS]);
    change[GANG__STARTS][GANG__FREE_POOL] = -sign * o->pool;
    change[GANG__ENDS][GANG__FREE_POOL] = sign * o->pool;
}

/* ---- coming and going ---------------------------------------------------------------------- */

static struct gang__after_end anything(const struct gang__timeline *t)
{
    struct gang__after_end after;
    for (int i = 0; i < GANG__LEVELS; i++)
        after.reach_ns[i] = GANG__NEVER;
    memcpy(after.best, t->max_amount, sizeof(after.best));
    return after;
}

/* Raises bounds when an occupation leaves a node. More may be free after an end during it, and what
 * lasted from an earlier end up to its start may last longer. */
static void raise_bounds(struct gang__timeline *t, const struct gang__occupant *o, uint32_t node)
{
    const struct gang__stay *s;
    uint32_t of = t->node[node].of, at = t->node[node].at;
    for (; of != GANG__NONE && t->occupant[of]->start_ns < o->end_ns;
         of = s->next_of, at = s->next_at) {
        struct gang__occupant *before = t->occupant[of];
        s = &before->stay[at];
        if (before->end_ns >= o->end_ns)
            continue;
        struct gang__after_end after = before->end_ns < o->start_ns ? before->after : anything(t);
        for (int i = 0; i < GANG__LEVELS; i++)
            if (after.reach_ns[i] >= o->start_ns)
                after.reach_ns[i] = GANG__NEVER;
        gang__edge_bound(t, before, &after);
    }
}

void gang__occupant_enter(struct gang__timeline *t, struct gang__occupant *o)
{
    int64_t change[2][GANG__FREE_DIMS];
    o->serial = ++t->serials;
    if (t->flat) {
        gang__flat_change(t, o, change);
        gang__flat_count(t, change[GANG__STARTS]);
        gang__edges_enter(t, o, change);
        if (o->stay_count > 0)
            t->node[t->first].count++;
        return;
    }
    o->after = (struct gang__after_end)GANG__AFTER_NOTHING;
    count_all(t, o, 1, change);
    for (uint32_t i = 0; i < o->stay_count && o->end_ns != GANG__NEVER; i++) {
        struct gang__after_end one =
            gang__node_after(t, o->stay[i].node, o->end_ns, GANG__LEVEL_ALL);
        gang__after_max(&o->after, &one);
    }
    gang__edges_enter(t, o, change);
    for (uint32_t i = 0; i < o->stay_count; i++) {
        link_stay(t, o, i);
        gang__node_stale(t, o->stay[i].node);
    }
}

static void leave_flat(struct gang__timeline *t, struct gang__occupant *o)
{
    int64_t change[2][GANG__FREE_DIMS], back[2][GANG__FREE_DIMS];
    gang__flat_change(t, o, change);
    memcpy(back[GANG__STARTS], change[GANG__ENDS], sizeof(back[0]));
    memcpy(back[GANG__ENDS], change[GANG__STARTS], sizeof(back[0]));
    gang__edges_leave(t, o, back);
    if (o->stay_count > 0)
        t->node[t->first].count--;
}

void gang__occupant_leave(struct gang__timeline *t, struct gang__occupant *o)
{
    int64_t change[2][GANG__FREE_DIMS];
    if (t->flat) {
        leave_flat(t, o);
        return;
    }
    for (uint32_t i = 0; i < o->stay_count; i++) {
        unlink_stay(t, o, i);
        gang__node_stale(t, o->stay[i].node);
        raise_bounds(t, o, o->stay[i].node);
    }
    count_all(t, o, -1, change);
    gang__edges_leave(t, o, change);
}
