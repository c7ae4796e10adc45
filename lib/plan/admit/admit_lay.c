/* SPDX-License-Identifier: Apache-2.0 */
/* Does a figure fit at one time? Laying it out, and taking it back. */
#include "plan/admit/admit_in.h"

void gang__demand_set(struct gang__demand *d, int64_t gangs)
{
    const struct gang__admit_stage *s = d->stage;
    d->pool = s->pool / d->gangs * gangs;
    for (size_t i = 0; i < s->group_count; i++)
        d->group[i].count = s->group[i].count / d->gangs * gangs;
}

/* ---- what it takes ------------------------------------------------------------------------- */

int64_t gang__figure_span(const struct gang__admission *a, const struct gang__figure *f)
{
    int64_t span = 0;
    for (uint32_t i = 0; i < f->count; i++)
        span += a->demand[f->first + i].stage->duration_ns;
    return span;
}

/* What the tasks ask for, or the pool's units. */
static void take_least(const struct gang__demand *d, int64_t amount[GANG__FREE_DIMS])
{
    memset(amount, 0, GANG__FREE_DIMS * sizeof(amount[0]));
    amount[GANG__FREE_POOL] = d->pool;
    for (size_t i = 0; i < d->stage->group_count; i++)
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            amount[k] += d->group[i].count * d->group[i].need[k];
}

/* Nodes that are taken whole count with all that they have. */
static void take_whole(const struct gang__timeline *t, const struct gang__time_place *place,
                       size_t count, int64_t amount[GANG__FREE_DIMS])
{
    memset(amount, 0, GANG__FREE_DIMS * sizeof(amount[0]));
    for (size_t i = 0; i < count; i++) {
        if (i && place[i].node == place[i - 1].node)
            continue;
        amount[GANG__FREE_NODES]++;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            amount[k] += t->capacity[place[i].node][k];
    }
}

void gang__piece_amount(const struct gang__admission *a, const struct gang__admit_piece *p,
                        int64_t amount[GANG__FREE_DIMS])
{
    const struct gang__demand *d = &a->demand[p->stage];
    const struct gang__time_place *place = &a->got->place[p->place];
    memset(amount, 0, GANG__FREE_DIMS * sizeof(amount[0]));
    amount[GANG__FREE_POOL] = p->pool;
    if (p->whole) {
        take_whole(a->t, place, p->place_count, amount);
        return;
    }
    for (size_t i = 0; i < p->place_count; i++)
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            amount[k] += place[i].tasks * d->group[place[i].group].need[k];
}

void gang__figure_outline(struct gang__admission *a, const struct gang__figure *f)
{
    int64_t offset = 0;
    for (size_t i = 0; i < gang__figure_pieces(a, f); i++) {
        const struct gang__demand *d = gang__figure_demand(a, f, i);
        if (i % f->count == 0)
            offset = a->period_ns * (int64_t)(i / f->count);
        a->piece[i].offset_ns = offset;
        a->piece[i].duration_ns = d->stage->duration_ns;
        take_least(d, a->piece[i].amount);
        offset += d->stage->duration_ns;
    }
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* Lay a piece out. GANG_OK, GANG_ENOFIT, errors. */
static gang_result lay_out(struct gang__admission *a, const struct gang__demand *d, size_t piece,
                           int64_t start_ns)
{
    struct gang__bookings_piece *p = &a->piece[piece];
    start_ns += p->offset_ns;
    a->fit.count = 0;
    if (d->stage->pool)
        return start_ns >= a->t->now_ns &&
                       gang__timeline_fits_sum(a->t, p->amount, start_ns, start_ns + p->duration_ns)
                   ? GANG_OK
                   : GANG_ENOFIT;
    gang_result r = gang__timeline_at(a->t, &d->ask, start_ns, &a->fit);
    if (r == GANG_OK && d->ask.whole)
        take_whole(a->t, a->fit.place, a->fit.count, p->amount);
    return r;
}

gang_result gang__figure_fits(struct gang__admission *a, const struct gang__figure *f,
                              int64_t start_ns, bool *full)
{
    gang__figure_outline(a, f);
    *full = true;
    for (size_t i = 0; i < gang__figure_pieces(a, f); i++) {
        gang_result r = lay_out(a, gang__figure_demand(a, f, i), i, start_ns);
        if (r != GANG_OK)
            return r;
    }
    *full = false;
    return !a->bookings || gang__bookings_fit(a->bookings, a->piece, gang__figure_pieces(a, f),
                                              start_ns, NULL)
               ? GANG_OK
               : GANG_ENOFIT;
}

/* ---- coming and going ---------------------------------------------------------------------- */

static gang_result note(struct gang__admission *a, const struct gang__demand *d, size_t piece,
                        uint32_t instance, int64_t start_ns, int64_t gangs)
{
    struct gang__admitted *got = a->got;
    const struct gang_mem *mem = &a->t->mem;
    if (!gang__grow(mem, (void **)&got->piece, &got->room, got->count + 1, sizeof(got->piece[0])) ||
        !gang__grow(mem, (void **)&got->place, &got->place_room, got->place_count + a->fit.count,
                    sizeof(got->place[0])))
        return GANG_ENOMEM;
    const struct gang__bookings_piece *p = &a->piece[piece];
    struct gang__admit_piece *made = &got->piece[got->count];
    *made = (struct gang__admit_piece){.stage = (uint32_t)(d - a->demand),
                                       .instance = instance,
                                       .start_ns = start_ns + p->offset_ns,
                                       .end_ns = start_ns + p->offset_ns + p->duration_ns,
                                       .gangs = gangs,
                                       .place = got->place_count,
                                       .place_count = a->fit.count,
                                       .pool = d->pool,
                                       .whole = d->ask.whole};
    if (a->fit.count)
        memcpy(&got->place[got->place_count], a->fit.place, a->fit.count * sizeof(got->place[0]));
    struct gang__occupation o = {made->start_ns, made->end_ns, d->group,   d->ask.group_count,
                                 a->fit.place,   a->fit.count, made->pool, made->whole};
    gang_result r = gang__timeline_add(a->t, &o, &made->id);
    if (r == GANG_OK && a->bookings) {
        r = gang__bookings_add(a->bookings, made->start_ns, made->end_ns, p->amount,
                               &made->usage_id);
        if (r != GANG_OK)
            gang__timeline_remove(a->t, made->id);
    }
    if (r != GANG_OK)
        return r;
    got->count++;
    got->place_count += a->fit.count;
    return GANG_OK;
}

gang_result gang__figure_put(struct gang__admission *a, const struct gang__figure *f,
                             int64_t start_ns, int64_t gangs)
{
    gang__figure_outline(a, f);
    a->got->usage = a->bookings;
    for (size_t i = 0; i < gang__figure_pieces(a, f); i++) {
        const struct gang__demand *d = gang__figure_demand(a, f, i);
        gang_result r = lay_out(a, d, i, start_ns);
        if (r == GANG_OK)
            r = note(a, d, i, (uint32_t)(i / f->count), start_ns, gangs ? gangs : d->gangs);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

void gang__admit_take_back(struct gang__timeline *t, struct gang__admitted *got, size_t keep)
{
    while (got->count > keep) {
        const struct gang__admit_piece *p = &got->piece[--got->count];
        gang__timeline_remove(t, p->id);
        if (got->usage)
            gang__bookings_remove(got->usage, p->usage_id);
        got->place_count -= p->place_count;
    }
}
