/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a timeline. */
#include <stdlib.h>

#include "plan/timeline/timeline_in.h"

static int by_serial(const void *a, const void *b)
{
    uint64_t x = (*(struct gang__occupant *const *)a)->serial,
             y = (*(struct gang__occupant *const *)b)->serial;
    return (x > y) - (x < y);
}

static struct gang__occupant *occupant_copy(struct gang__timeline *t,
                                            const struct gang__occupant *o)
{
    size_t amounts = 0, bytes = sizeof(*o) + o->stay_count * sizeof(o->stay[0]);
    for (uint32_t i = 0; i < o->stay_count; i++)
        if (o->stay[i].amount != GANG__AS_WHOLE && o->stay[i].amount >= amounts)
            amounts = o->stay[i].amount + 1;
    struct gang__occupant *copy = gang__alloc(&t->mem, bytes + amounts * gang__amount_bytes(t));
    if (!copy)
        return NULL;
    memcpy(copy, o, bytes);
    copy->amount = (void *)((char *)copy + bytes);
    copy->more = (int64_t *)(void *)(copy->amount + amounts);
    memcpy((void *)copy->amount, (const void *)o->amount, amounts * sizeof(o->amount[0]));
    if (t->more_kinds)
        memcpy(copy->more, o->more, amounts * t->more_kinds * sizeof(*o->more));
    return copy;
}

/* Copies in the order of entering, so that occupations that begin or end together stay in the same
 * order. */
static bool copy_all(struct gang__timeline *t, const struct gang__timeline *from,
                     const struct gang__occupant **order)
{
    size_t count = 0;
    for (size_t i = 0; i < from->occupant_end; i++)
        if (from->occupant[i])
            order[count++] = from->occupant[i];
    if (count)
        qsort(order, count, sizeof(*order), by_serial);
    for (size_t i = 0; i < count; i++) {
        struct gang__occupant *o = occupant_copy(t, order[i]);
        if (!o)
            return false;
        t->occupant[o->id] = o;
        t->occupant_count++;
        gang__occupant_enter(t, o);
    }
    return true;
}

gang_result gang__timeline_copy(const struct gang_mem *mem, const struct gang__timeline *from,
                                struct gang__timeline **copy)
{
    size_t max = 0, end = from->occupant_end;
    gang_result r = gang__timeline_new(mem, &from->capacity[0][0], from->nodes,
                                       from->total[GANG__FREE_POOL], from->now_ns, copy);
    if (r != GANG_OK)
        return r;
    struct gang__timeline *t = *copy;
    if (from->more_kinds)
        r = gang__timeline_count_more(t, from->more_capacity, from->guard, from->more_kinds);
    if (r != GANG_OK) {
        gang__timeline_free(t);
        *copy = NULL;
        return r;
    }
    gang__timeline_skip(t, from->first);
    const struct gang__occupant **order = gang__zalloc(mem, end + 1, sizeof(*order));
    for (uint32_t i = 0; i < from->nodes; i++)
        max = from->node[i].count > max ? from->node[i].count : max;
    bool ok = order && gang__timeline_reserve(t, end, max);
    if (ok) {
        for (size_t i = 0; i < end; i++)
            t->occupant[i] = NULL;
        t->occupant_end = end;
        t->free_id_count = from->free_id_count;
        if (from->free_id_count)
            memcpy(t->free_id, from->free_id, from->free_id_count * sizeof(*t->free_id));
        ok = copy_all(t, from, order);
    }
    gang__release(mem, order);
    if (ok)
        return GANG_OK;
    gang__timeline_free(t);
    *copy = NULL;
    return GANG_ENOMEM;
}
