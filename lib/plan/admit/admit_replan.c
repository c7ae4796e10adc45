/* SPDX-License-Identifier: Apache-2.0 */
/* Which reservations must be dropped when there is less capacity than there was. */
#include <stdlib.h>

#include "plan/admit/admit_in.h"

struct row {
    uint64_t accepted;
    size_t item;
};

static int by_acceptance(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return (x->accepted > y->accepted) - (x->accepted < y->accepted);
}

/* The occupations that were added during the computation. */
struct replan {
    struct gang__timeline *t;
    const struct gang_mem *mem;
    int64_t from_ns, to_ns;
    uint32_t *id;
    size_t count, cap;
};

static void remove_to(struct replan *p, size_t keep)
{
    while (p->count > keep)
        gang__timeline_remove(p->t, p->id[--p->count]);
}

/* Add a piece, or as much of it as lies within. GANG_OK; GANG_ENOFIT; errors. */
static gang_result add(struct replan *p, const struct gang__occupation *piece)
{
    struct gang__occupation o = *piece;
    if (o.start_ns >= p->to_ns || o.end_ns <= p->from_ns)
        return GANG_OK;
    o.start_ns = o.start_ns > p->from_ns ? o.start_ns : p->from_ns;
    o.end_ns = o.end_ns < p->to_ns ? o.end_ns : p->to_ns;
    if (!gang__grow(p->mem, (void **)&p->id, &p->cap, p->count + 1, sizeof(p->id[0])))
        return GANG_ENOMEM;
    /* Only an addition checks what it is given. */
    gang_result r = gang__timeline_add(p->t, &o, &p->id[p->count]);
    if (r != GANG_OK)
        return r;
    gang__timeline_remove(p->t, p->id[p->count]);
    if (!gang__timeline_fits(p->t, &o))
        return GANG_ENOFIT;
    r = gang__timeline_add(p->t, &o, &p->id[p->count]);
    p->count += r == GANG_OK;
    return r;
}

static gang_result keep_or_drop(struct replan *p, struct gang__replan_item *item)
{
    size_t before = p->count;
    gang_result r = GANG_OK;
    for (size_t i = 0; i < item->piece_count && r == GANG_OK; i++)
        r = add(p, &item->piece[i]);
    if (r != GANG_OK)
        remove_to(p, before);
    item->dropped = r == GANG_ENOFIT;
    return r == GANG_ENOFIT ? GANG_OK : r;
}

gang_result gang__replan(struct gang__timeline *t, struct gang__replan_item *item, size_t count,
                         int64_t now_ns, int64_t window_ns)
{
    const struct gang_mem *mem = gang__timeline_machine(t).mem;
    struct replan p = {
        .t = t, .mem = mem, .from_ns = now_ns, .to_ns = gang__add_sat(now_ns, window_ns)};
    struct row *row = gang__zalloc(mem, count + 1, sizeof(row[0]));
    gang_result r = row ? GANG_OK : GANG_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        item[i].dropped = false;
        if (row)
            row[i] = (struct row){item[i].accepted, i};
    }
    if (row)
        qsort(row, count, sizeof(row[0]), by_acceptance);
    for (size_t i = 0; i < count && r == GANG_OK; i++)
        r = keep_or_drop(&p, &item[row[i].item]);
    for (size_t i = 0; i < count && r != GANG_OK; i++)
        item[i].dropped = false;
    remove_to(&p, 0);
    gang__release(mem, p.id);
    gang__release(mem, row);
    return r;
}
