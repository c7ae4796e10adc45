/* SPDX-License-Identifier: Apache-2.0 */
/* Placing a request in one window: a stage's gangs, several stages. */
#include "plan/admit/admit_in.h"

/* ---- one stage ----------------------------------------------------------------------------- */

gang_result gang__admit_find(struct gang__admission *a, const struct gang__chain *c, int prefer,
                             int64_t from_ns, int64_t end_ns, int64_t *start_ns)
{
    int64_t to_ns = end_ns - gang__chain_span(a, c);
    if (prefer == GANG__ADMIT_LATEST)
        return gang__chain_latest(a, c, from_ns, to_ns, start_ns);
    if (prefer == GANG__ADMIT_CHEAPEST)
        return gang__chain_cheapest(a, c, from_ns, to_ns, start_ns);
    return gang__chain_earliest(a, c, from_ns, to_ns, start_ns);
}

/* Only `has` gangs of the stage fit. */
static gang_result refuse_full(struct gang__admission *a, uint32_t stage, int64_t has)
{
    a->answer->why = GANG__ADMIT_FULL;
    a->answer->stage = stage;
    a->answer->wanted = a->demand[stage].gangs;
    a->answer->has = has;
    return GANG_ENOFIT;
}

/* All gangs of some stages, at once, one stage directly after the other. */
static gang_result place_together(struct gang__admission *a, const struct gang__chain *c,
                                  int prefer, int64_t from_ns, int64_t end_ns)
{
    int64_t start_ns;
    for (uint32_t i = 0; i < c->count; i++)
        gang__demand_set(&a->demand[c->first + i], a->demand[c->first + i].gangs);
    gang_result r = gang__admit_find(a, c, prefer, from_ns, end_ns, &start_ns);
    if (r == GANG_OK)
        r = gang__chain_place(a, c, start_ns, 0);
    return r == GANG_ENOFIT ? refuse_full(a, c->first, 0) : r;
}

/* How many gangs fit at a start at which one fits: at most `left`; *gangs receives it, and the
 * demand then asks for that many. */
static gang_result count_gangs(struct gang__admission *a, const struct gang__chain *c,
                               int64_t start_ns, int64_t left, int64_t *gangs)
{
    struct gang__demand *d = &a->demand[c->first];
    int64_t fit = 1, too_many = left + 1, next = left;
    bool full;
    while (fit + 1 < too_many) {
        gang__demand_set(d, next);
        gang_result r = gang__chain_fits(a, c, start_ns, &full);
        if (r != GANG_OK && r != GANG_ENOFIT)
            return r;
        if (r == GANG_OK)
            fit = next;
        else
            too_many = next;
        /* All of them, as a rule; else twice as many each time, until it is too much. */
        next = fit < too_many / 2 ? 2 * fit : fit + (too_many - fit) / 2;
    }
    gang__demand_set(d, fit);
    *gangs = fit;
    return GANG_OK;
}

/* The gangs of a stage, as many at a time as fit. */
static gang_result place_stage(struct gang__admission *a, uint32_t stage, int prefer,
                               int64_t from_ns, int64_t end_ns)
{
    struct gang__chain c = {stage, 1};
    struct gang__demand *d = &a->demand[stage];
    int64_t start_ns, gangs;
    for (int64_t left = d->gangs; left > 0; left -= gangs) {
        gang__demand_set(d, 1);
        gang_result r = gang__admit_find(a, &c, prefer, from_ns, end_ns, &start_ns);
        if (r == GANG_OK)
            r = count_gangs(a, &c, start_ns, left, &gangs);
        if (r == GANG_OK)
            r = gang__chain_place(a, &c, start_ns, gangs);
        if (r != GANG_OK)
            return r == GANG_ENOFIT ? refuse_full(a, stage, d->gangs - left) : r;
        /* What did not fit before, or behind, does not now. */
        if (prefer == GANG__ADMIT_EARLIEST)
            from_ns = start_ns;
        else if (prefer == GANG__ADMIT_LATEST)
            end_ns = start_ns + d->stage->duration_ns;
    }
    return GANG_OK;
}

/* ---- several ------------------------------------------------------------------------------- */

static gang_result place_fixed(struct gang__admission *a, const struct gang__attempt *t,
                               uint32_t stage, uint32_t count)
{
    struct gang__chain c = {stage, count};
    int64_t end_ns = t->start_ns;
    for (uint32_t i = 0; i < count; i++)
        end_ns += a->demand[stage + i].stage->duration_ns;
    return end_ns <= t->end_ns ? place_together(a, &c, GANG__ADMIT_EARLIEST, t->start_ns, end_ns)
                               : refuse_full(a, stage, 0);
}

int64_t gang__admit_border(const struct gang__admitted *answer, size_t first, bool end)
{
    int64_t at = end ? INT64_MIN : INT64_MAX;
    for (size_t i = first; i < answer->count; i++) {
        const struct gang__admit_piece *p = &answer->piece[i];
        if (p->instance > 0)
            continue;
        if (end)
            at = p->end_ns > at ? p->end_ns : at;
        else
            at = p->start_ns < at ? p->start_ns : at;
    }
    return at;
}

/* In order; the other stages' durations are kept free before or behind. */
static gang_result place_order(struct gang__admission *a, const struct gang__attempt *t)
{
    bool late = t->prefer == GANG__ADMIT_LATEST;
    uint32_t i = 0;
    int64_t from_ns = t->from_ns, end_ns = t->end_ns, others = 0;
    gang_result r = GANG_OK;
    if (t->fixed) {
        r = place_fixed(a, t, t->first, 1);
        from_ns = t->start_ns + a->demand[t->first].stage->duration_ns;
        i = 1;
    }
    for (uint32_t j = i; j < t->count; j++)
        others += a->demand[t->first + j].stage->duration_ns;
    for (uint32_t left = t->count - i; left > 0 && r == GANG_OK; left--) {
        uint32_t stage = t->first + (late ? i + left - 1 : t->count - left);
        size_t before = a->answer->count;
        others -= a->demand[stage].stage->duration_ns;
        r = place_stage(a, stage, t->prefer, from_ns + (late ? others : 0),
                        end_ns - (late ? 0 : others));
        if (r == GANG_OK && late)
            end_ns = gang__admit_border(a->answer, before, false);
        else if (r == GANG_OK)
            from_ns = gang__admit_border(a->answer, before, true);
    }
    return r;
}

static gang_result place_all(struct gang__admission *a, const struct gang__attempt *t)
{
    gang_result r = GANG_OK;
    for (uint32_t i = t->first; i < t->first + t->count && r == GANG_OK; i++)
        r = t->fixed ? place_fixed(a, t, i, 1)
                     : place_stage(a, i, t->prefer, t->from_ns, t->end_ns);
    return r;
}

static gang_result place_any(struct gang__admission *a, const struct gang__attempt *t)
{
    gang_result r = GANG_ENOFIT;
    for (uint32_t i = t->first; i < t->first + t->count && r == GANG_ENOFIT; i++) {
        struct gang__attempt one = *t;
        one.first = i;
        one.count = 1;
        r = place_all(a, &one);
        if (r != GANG_OK)
            gang__admit_undo_to(a->t, a->answer, 0);
    }
    return r;
}

gang_result gang__admit_place(struct gang__admission *a, const struct gang__attempt *t)
{
    struct gang__chain all = {t->first, t->count};
    gang_result r;
    a->answer->usage = a->bookings;
    if (t->combine == GANG__ADMIT_ANY)
        r = place_any(a, t);
    else if (t->combine == GANG__ADMIT_ALL)
        r = place_all(a, t);
    else if (t->combine == GANG__ADMIT_ORDER)
        r = place_order(a, t);
    else if (t->fixed)
        r = place_fixed(a, t, t->first, t->count);
    else
        r = place_together(a, &all, t->prefer, t->from_ns, t->end_ns);
    if (r != GANG_OK)
        gang__admit_undo_to(a->t, a->answer, 0);
    return r;
}

gang_result gang__admit_place_or_earliest(struct gang__admission *a, const struct gang__attempt *t)
{
    struct gang__attempt again = *t;
    gang_result r = gang__admit_place(a, t);
    again.prefer = GANG__ADMIT_EARLIEST;
    return r == GANG_ENOFIT && t->prefer != GANG__ADMIT_EARLIEST ? gang__admit_place(a, &again) : r;
}
