/* SPDX-License-Identifier: Apache-2.0 */
/* Does a chain of stages fit at one start? Places it there, and undoes that. */
#include "plan/admit/admit_in.h"

void gang__demand_set(struct gang__demand *d, int64_t gangs)
{
    const struct gang__admit_stage *s = d->stage;
    d->pool = s->pool / d->gangs * gangs;
    for (size_t i = 0; i < s->group_count; i++)
        d->group[i].count = s->group[i].count / d->gangs * gangs;
}

/* ---- what it takes ------------------------------------------------------------------------- */

int64_t gang__chain_span(const struct gang__admission *a, const struct gang__chain *c)
{
    int64_t span = 0;
    for (uint32_t i = 0; i < c->count; i++)
        span += a->demand[c->first + i].stage->duration_ns;
    return span;
}

/* What the tasks need, or the pool's units. */
static void min_amount(const struct gang__demand *d, int64_t amount[GANG__FREE_DIMS])
{
    memset(amount, 0, GANG__FREE_DIMS * sizeof(amount[0]));
    amount[GANG__FREE_POOL] = d->pool;
    for (size_t i = 0; i < d->stage->group_count; i++)
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            amount[k] += d->group[i].count * d->group[i].need[k];
}

/* Nodes that are taken whole count with all that they have. */
static void whole_amount(const struct gang__time_machine *m, const struct gang__time_place *place,
                         size_t count, int64_t amount[GANG__FREE_DIMS])
{
    memset(amount, 0, GANG__FREE_DIMS * sizeof(amount[0]));
    for (size_t i = 0; i < count; i++) {
        if (i && place[i].node == place[i - 1].node)
            continue;
        amount[GANG__FREE_NODES]++;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            amount[k] += m->capacity[place[i].node][k];
    }
}

void gang__piece_amount(const struct gang__admission *a, const struct gang__admit_piece *p,
                        int64_t amount[GANG__FREE_DIMS])
{
    const struct gang__demand *d = &a->demand[p->stage];
    const struct gang__time_place *place = &a->answer->place[p->place];
    memset(amount, 0, GANG__FREE_DIMS * sizeof(amount[0]));
    amount[GANG__FREE_POOL] = p->pool;
    if (p->whole) {
        whole_amount(&a->machine, place, p->place_count, amount);
        return;
    }
    for (size_t i = 0; i < p->place_count; i++)
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            amount[k] += place[i].tasks * d->group[place[i].group].need[k];
}

void gang__chain_outline(struct gang__admission *a, const struct gang__chain *c)
{
    int64_t offset = 0;
    for (size_t i = 0; i < gang__chain_pieces(a, c); i++) {
        const struct gang__demand *d = gang__chain_demand(a, c, i);
        if (i % c->count == 0)
            offset = a->period_ns * (int64_t)(i / c->count);
        a->piece[i].offset_ns = offset;
        a->piece[i].duration_ns = d->stage->duration_ns;
        min_amount(d, a->piece[i].amount);
        offset += d->stage->duration_ns;
    }
}

/* ---- fitting ------------------------------------------------------------------------------- */

/* Finds places for a piece. GANG_OK, GANG_ENOFIT, errors. */
static gang_result place_piece(struct gang__admission *a, const struct gang__demand *d,
                               size_t piece, int64_t start_ns)
{
    struct gang__bookings_piece *p = &a->piece[piece];
    start_ns += p->offset_ns;
    a->fit.count = 0;
    if (d->stage->pool)
        return start_ns >= a->machine.now_ns &&
                       gang__timeline_fits_sum(a->t, p->amount, start_ns, start_ns + p->duration_ns)
                   ? GANG_OK
                   : GANG_ENOFIT;
    gang_result r = gang__timeline_at(a->t, &d->request, start_ns, &a->fit);
    if (r == GANG_OK && d->request.whole)
        whole_amount(&a->machine, a->fit.place, a->fit.count, p->amount);
    return r;
}

gang_result gang__chain_fits(struct gang__admission *a, const struct gang__chain *c,
                             int64_t start_ns, bool *full)
{
    gang__chain_outline(a, c);
    *full = true;
    for (size_t i = 0; i < gang__chain_pieces(a, c); i++) {
        gang_result r = place_piece(a, gang__chain_demand(a, c, i), i, start_ns);
        if (r != GANG_OK)
            return r;
    }
    *full = false;
    return !a->bookings || gang__bookings_fit(a->bookings, a->piece, gang__chain_pieces(a, c),
                                              start_ns, NULL)
               ? GANG_OK
               : GANG_ENOFIT;
}

/* ---- placing, undoing ---------------------------------------------------------------------- */

static gang_result record_piece(struct gang__admission *a, const struct gang__demand *d,
                                size_t piece, uint32_t instance, int64_t start_ns, int64_t gangs)
{
    struct gang__admitted *answer = a->answer;
    const struct gang_mem *mem = a->machine.mem;
    if (!gang__grow(mem, (void **)&answer->piece, &answer->cap, answer->count + 1,
                    sizeof(answer->piece[0])) ||
        !gang__grow(mem, (void **)&answer->place, &answer->place_cap,
                    answer->place_count + a->fit.count, sizeof(answer->place[0])))
        return GANG_ENOMEM;
    const struct gang__bookings_piece *p = &a->piece[piece];
    struct gang__admit_piece *entry = &answer->piece[answer->count];
    *entry = (struct gang__admit_piece){.stage = (uint32_t)(d - a->demand),
                                        .instance = instance,
                                        .start_ns = start_ns + p->offset_ns,
                                        .end_ns = start_ns + p->offset_ns + p->duration_ns,
                                        .gangs = gangs,
                                        .place = answer->place_count,
                                        .place_count = a->fit.count,
                                        .pool = d->pool,
                                        .whole = d->request.whole};
    if (a->fit.count)
        memcpy(&answer->place[answer->place_count], a->fit.place,
               a->fit.count * sizeof(answer->place[0]));
    struct gang__occupation o = {
        entry->start_ns, entry->end_ns, d->group,    d->request.group_count,
        a->fit.place,    a->fit.count,  entry->pool, entry->whole};
    gang_result r = gang__timeline_add(a->t, &o, &entry->id);
    if (r == GANG_OK && a->bookings) {
        r = gang__bookings_add(a->bookings, entry->start_ns, entry->end_ns, p->amount,
                               &entry->usage_id);
        if (r != GANG_OK)
            gang__timeline_remove(a->t, entry->id);
    }
    if (r != GANG_OK)
        return r;
    answer->count++;
    answer->place_count += a->fit.count;
    return GANG_OK;
}

gang_result gang__chain_place(struct gang__admission *a, const struct gang__chain *c,
                              int64_t start_ns, int64_t gangs)
{
    gang__chain_outline(a, c);
    a->answer->usage = a->bookings;
    for (size_t i = 0; i < gang__chain_pieces(a, c); i++) {
        const struct gang__demand *d = gang__chain_demand(a, c, i);
        gang_result r = place_piece(a, d, i, start_ns);
        if (r == GANG_OK)
            r = record_piece(a, d, i, (uint32_t)(i / c->count), start_ns, gangs ? gangs : d->gangs);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

void gang__admit_undo_to(struct gang__timeline *t, struct gang__admitted *answer, size_t keep)
{
    while (answer->count > keep) {
        const struct gang__admit_piece *p = &answer->piece[--answer->count];
        gang__timeline_remove(t, p->id);
        if (answer->usage)
            gang__bookings_remove(answer->usage, p->usage_id);
        answer->place_count -= p->place_count;
    }
}
