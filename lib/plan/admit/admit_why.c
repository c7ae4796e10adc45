/* SPDX-License-Identifier: Apache-2.0 */
/* Why a request was refused, and when it would not be. */
#include "plan/admit/admit_in.h"

/* ---- why not ------------------------------------------------------------------------------- */

/* The reason that was known before. */
static void restore_reason(struct gang__admitted *answer, const struct gang__admitted *was)
{
    answer->why = was->why;
    answer->stage = was->stage;
    answer->item = was->item;
    answer->wanted = was->wanted;
    answer->has = was->has;
}

/* More than all nodes have, or the pool. */
static gang_result refuse_larger(struct gang__admission *a, uint32_t stage, size_t group,
                                 int64_t wanted, int64_t has)
{
    a->answer->why = GANG__ADMIT_LARGER;
    a->answer->stage = stage;
    a->answer->item = (int)group;
    a->answer->wanted = wanted;
    a->answer->has = has;
    return GANG_ENEVER;
}

/* GANG_ENEVER: a gang of the stage is larger than the whole capacity; `answer` receives that
 * reason. */
static gang_result check_size(struct gang__admission *a, const struct gang__attempt *t,
                              uint32_t stage)
{
    struct gang__demand *d = &a->demand[stage];
    bool together = t->combine == GANG__ADMIT_ORDER_NO_GAP ||
                    (t->fixed && (t->combine != GANG__ADMIT_ORDER || stage == t->first));
    gang__demand_set(d, together ? d->gangs : 1);
    if (d->stage->pool) {
        int64_t units = a->machine.total[GANG__FREE_POOL];
        return d->pool > units ? refuse_larger(a, stage, 0, d->pool, units) : GANG_OK;
    }
    gang_result r = gang__timeline_fits_empty(a->t, &d->request, &a->fit);
    if (r != GANG_ENEVER)
        return r;
    size_t i = 0;
    while (i < d->request.group_count &&
           gang__timeline_capacity(a->t, &d->request, i) >= d->group[i].count)
        i++;
    i = i < d->request.group_count ? i : 0; /* each by itself would fit */
    return refuse_larger(a, stage, i, d->group[i].count,
                         gang__timeline_capacity(a->t, &d->request, i));
}

/* Of ANY, all of them must be too large. */
static gang_result check_sizes(struct gang__admission *a, const struct gang__attempt *t)
{
    struct gang__admitted was = *a->answer;
    gang_result r = GANG_OK;
    for (uint32_t i = t->first; i < t->first + t->count; i++) {
        r = check_size(a, t, i);
        if (r != GANG_OK && r != GANG_ENEVER)
            return r;
        if ((r == GANG_ENEVER) != (t->combine == GANG__ADMIT_ANY))
            break;
    }
    if (r == GANG_OK)
        restore_reason(a->answer, &was);
    return r;
}

static void set_excess(struct gang__admitted *answer, const struct gang__admit_piece *p,
                       const struct gang__bookings_excess *e)
{
    answer->why = e->average ? GANG__ADMIT_AVERAGE : GANG__ADMIT_PEAK;
    answer->stage = p->stage;
    answer->item = e->kind;
    answer->wanted = e->wanted;
    answer->has = e->limit;
}

/* The pieces fit where they are. Which one exceeds the limits of the user? */
static gang_result check_limits(struct gang__admission *a, struct gang__bookings *usage)
{
    struct gang__admitted *answer = a->answer;
    struct gang__bookings_excess e;
    gang_result r = GANG_OK;
    size_t booked = 0;
    for (; booked < answer->count && r == GANG_OK; booked++) {
        struct gang__admit_piece *p = &answer->piece[booked];
        struct gang__bookings_piece one = {0, p->end_ns - p->start_ns, {0}};
        gang__piece_amount(a, p, one.amount);
        if (!gang__bookings_fit(usage, &one, 1, p->start_ns, &e)) {
            set_excess(answer, p, &e);
            break;
        }
        r = gang__bookings_add(usage, p->start_ns, p->end_ns, one.amount, &p->usage_id);
        if (r != GANG_OK)
            break;
    }
    while (booked > 0)
        gang__bookings_remove(usage, answer->piece[--booked].usage_id);
    return r;
}

/* It was refused: is it the user's limits alone? */
gang_result gang__admit_explain(struct gang__admission *a, const struct gang__attempt *t)
{
    struct gang__bookings *usage = a->bookings;
    struct gang__attempt unlimited = *t;
    gang_result r = check_sizes(a, t);
    if (r != GANG_OK || !usage)
        return r;
    unlimited.prefer = GANG__ADMIT_EARLIEST;
    a->bookings = NULL;
    r = gang__admit_place(a, &unlimited);
    a->bookings = usage;
    if (r == GANG_OK) {
        r = check_limits(a, usage);
        gang__admit_undo_to(a->t, a->answer, 0);
    }
    return r == GANG_ENOFIT ? GANG_OK : r;
}

/* ---- when, then ---------------------------------------------------------------------------- */

enum { NEXT_TRIES = 64 };

/* The first begin of a window of the same length in which all of it can be placed. */
static gang_result next_window(struct gang__admission *a, const struct gang__attempt *t,
                               int64_t horizon_ns, int64_t *next_ns)
{
    struct gang__attempt open = *t;
    int64_t length = t->end_ns - t->from_ns;
    open.prefer = GANG__ADMIT_EARLIEST;
    open.end_ns = horizon_ns;
    *next_ns = GANG__NEVER;
    for (int i = 0; i < NEXT_TRIES; i++) {
        gang_result r = gang__admit_place(a, &open);
        if (r != GANG_OK)
            return r == GANG_ENOFIT ? GANG_OK : r;
        int64_t first = gang__admit_border(a->answer, 0, false),
                last = gang__admit_border(a->answer, 0, true);
        gang__admit_undo_to(a->t, a->answer, 0);
        if (last - first <= length) {
            *next_ns = first;
            break;
        }
        /* It cannot be done sooner if it begins later. */
        open.from_ns = last - length;
    }
    return GANG_OK;
}

/* The first start >= *at at which each stage that begins then fits by itself; GANG__NEVER: none. */
static gang_result next_start(struct gang__admission *a, const struct gang__attempt *t,
                              int64_t horizon_ns, int64_t *at)
{
    bool no_gap = t->combine == GANG__ADMIT_ORDER_NO_GAP;
    uint32_t chains = t->combine == GANG__ADMIT_ALL ? t->count : 1;
    for (int64_t last = *at - 1; last != *at;) {
        last = *at;
        for (uint32_t i = 0; i < chains; i++) {
            struct gang__chain c = {t->first + i, no_gap ? t->count : 1};
            for (uint32_t j = 0; j < c.count; j++)
                gang__demand_set(&a->demand[c.first + j], a->demand[c.first + j].gangs);
            gang_result r = gang__admit_find(a, &c, GANG__ADMIT_EARLIEST, *at, horizon_ns, at);
            if (r == GANG_ENOFIT)
                *at = GANG__NEVER;
            if (r != GANG_OK)
                return r == GANG_ENOFIT ? GANG_OK : r;
        }
    }
    return GANG_OK;
}

static gang_result next_fixed(struct gang__admission *a, const struct gang__attempt *t,
                              int64_t horizon_ns, int64_t *next_ns)
{
    struct gang__attempt later = *t;
    int64_t length = t->end_ns - t->start_ns, at = t->start_ns;
    later.prefer = GANG__ADMIT_EARLIEST;
    *next_ns = GANG__NEVER;
    for (int i = 0; i < NEXT_TRIES; i++) {
        gang_result r = next_start(a, t, horizon_ns, &at);
        if (r != GANG_OK || at == GANG__NEVER)
            return r;
        later.start_ns = at;
        later.end_ns = at < horizon_ns - length ? at + length : horizon_ns;
        r = gang__admit_place(a, &later);
        gang__admit_undo_to(a->t, a->answer, 0);
        if (r == GANG_OK)
            *next_ns = at;
        if (r != GANG_ENOFIT)
            return r;
        int64_t unused[GANG__FREE_DIMS];
        at = gang__timeline_sum_at(a->t, at, unused);
        if (at == GANG__NEVER)
            break;
    }
    return GANG_OK;
}

/* Of ANY, the first of all its stages. */
gang_result gang__admit_next(struct gang__admission *a, const struct gang__attempt *t,
                             int64_t horizon_ns)
{
    struct gang__admitted *answer = a->answer;
    struct gang__admitted was = *answer;
    struct gang__attempt one = *t;
    bool any = t->combine == GANG__ADMIT_ANY;
    int64_t best_ns = GANG__NEVER, next_ns;
    gang_result r = GANG_OK;
    one.combine = any ? GANG__ADMIT_ALL : t->combine;
    one.count = any ? 1 : t->count;
    for (uint32_t i = 0; i < (any ? t->count : 1) && r == GANG_OK; i++) {
        one.first = t->first + i;
        r = t->fixed ? next_fixed(a, &one, horizon_ns, &next_ns)
                     : next_window(a, &one, horizon_ns, &next_ns);
        best_ns = next_ns < best_ns ? next_ns : best_ns;
    }
    restore_reason(answer, &was);
    answer->next_ns = best_ns;
    return r;
}
