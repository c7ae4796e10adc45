/* SPDX-License-Identifier: Apache-2.0 */
#include "place/rank.h"

#include "core/node.h"

enum { PLACE_BITS = 20 }; /* of a slot, and of a view's number in a list of views */
_Static_assert(GANG__CHUNK *GANG__CHUNKS <= 1 << PLACE_BITS, "a list has so many views at most");

/* Is view `a` before `b`, or the same? */
static bool is_before(const struct gang__plan *p, uint32_t a, uint32_t b)
{
    const struct gang__view *x = &p->view[a], *y = &p->view[b];
    for (uint32_t level = 0; level < p->c->level_count; level++)
        if (x->node->domain[level] != y->node->domain[level])
            return x->node->domain[level] < y->node->domain[level];
    return x->slot <= y->slot;
}

static bool is_in_order(const struct gang__plan *p)
{
    for (size_t i = 1; i < p->picks; i++) {
        const struct gang__pick *a = &p->pick[i - 1], *b = &p->pick[i];
        if (a->group != b->group ? a->group > b->group
                                 : a->view != b->view && !is_before(p, a->view, b->view))
            return false;
    }
    return true;
}

/* Bits for the domains of the cluster, and for "none". */
static unsigned bits_of_domain(const gang_cluster *c)
{
    uint64_t most = gang__domains_end(c) + UINT64_C(1);
    return 64 - (unsigned)__builtin_clzll(most);
}

/* Sort a list of views by fields, the last one counting most: first the slot, then the domains from the
 * narrowest level up. As many at a time as go into a key beside the place in the list, which keeps the
 * order of the times before. */
static void sort_views(const struct gang__plan *p, uint64_t *view, uint64_t *key, size_t count)
{
    unsigned domain_bits = bits_of_domain(p->c);
    uint64_t none = (UINT64_C(1) << domain_bits) - 1;
    for (uint32_t field = 0, end = p->c->level_count + 1; field < end;) {
        unsigned bits = PLACE_BITS;
        for (size_t i = 0; i < count; i++)
            key[i] = i;
        for (; field < end; field++) {
            unsigned width = field ? domain_bits : (unsigned)PLACE_BITS;
            if (bits + width > 64)
                break;
            for (size_t i = 0; i < count; i++) {
                const struct gang__view *v = &p->view[view[i]];
                uint64_t value = field ? v->node->domain[end - 1 - field] : v->slot;
                key[i] |= (value < none || !field ? value : none) << bits;
            }
            bits += width;
        }
        gang__sort_keys(key, count);
        for (size_t i = 0; i < count; i++)
            key[i] = view[key[i] & ((1u << PLACE_BITS) - 1)];
        for (size_t i = 0; i < count; i++)
            view[i] = key[i];
    }
}

/* Sort numbers of picks by their values below `end`; equal ones stay as they are. */
static void sort_by(const uint64_t *from, uint64_t *to, size_t count, const uint64_t *value,
                    uint64_t *start, size_t end)
{
    for (size_t i = 0; i <= end; i++)
        start[i] = 0;
    for (size_t i = 0; i < count; i++)
        start[value[from[i]] + 1]++;
    for (size_t i = 0; i < end; i++)
        start[i + 1] += start[i];
    for (size_t i = 0; i < count; i++)
        to[start[value[from[i]]]++] = from[i];
}

/* Let pick i be the one that was from[i]; `from` is used up. */
static void permute(struct gang__pick *pick, uint64_t *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct gang__pick first = pick[i];
        size_t at = i;
        while (from[at] != i) {
            size_t next = from[at];
            pick[at] = pick[next];
            from[at] = at;
            at = next;
        }
        pick[at] = first;
        from[at] = at;
    }
}

bool gang__rank_tasks(struct gang__plan *p)
{
    if (p->picks < 2 || p->adopting || is_in_order(p))
        return true;
    size_t picks = p->picks, views = p->views, groups = p->q->group_count;
    size_t ends = (views > groups ? views : groups) + 1;
    size_t at = gang__plan_take(p, 3 * picks + 3 * views + ends);
    if (p->failed)
        return false;
    uint64_t *a = p->word + at, *b = a + picks, *value = b + picks, *list = value + picks;
    uint64_t *key = list + views, *rank = key + views, *start = rank + views;
    size_t used = 0;
    for (size_t i = 0; i < views; i++)
        if (p->view[i].node && p->view[i].used)
            list[used++] = i;
    sort_views(p, list, key, used);
    for (size_t i = 0; i < used; i++)
        rank[list[i]] = i;
    for (size_t i = 0; i < picks; i++) {
        a[i] = i;
        value[i] = rank[p->pick[i].view];
    }
    sort_by(a, b, picks, value, start, used);
    for (size_t i = 0; i < picks; i++)
        value[i] = p->pick[i].group;
    sort_by(b, a, picks, value, start, groups);
    permute(p->pick, a, picks);
    return true;
}
