/* SPDX-License-Identifier: Apache-2.0 */
/* The earliest start of a figure, and the latest one.
 *
 * Each of its pieces, and the user's limits for all of them, tell the first start at which they would do. What one
 * of them says is asked of the others, until all agree: a start that is skipped is one at which one of them
 * would not do. The latest start in the same way, from the end. */
#include <assert.h>

#include "plan/admit/admit_in.h"

/* Where it begins if only this piece mattered; GANG__NEVER: nowhere. */
static gang_result ask_piece(struct gang__admission *a, const struct gang__figure *f, size_t i,
                             int64_t from_ns, int64_t to_ns, bool late, int64_t *start_ns)
{
    const struct gang__demand *d = gang__figure_demand(a, f, i);
    const struct gang__bookings_piece *p = &a->piece[i];
    int64_t from = from_ns + p->offset_ns, to = to_ns + p->offset_ns, at;
    gang_result r = GANG_OK;
    if (d->stage->pool && late)
        at = gang__timeline_latest_sum(a->t, p->amount, from, to, p->duration_ns);
    else if (d->stage->pool)
        at = gang__timeline_earliest_sum(a->t, p->amount, from, p->duration_ns);
    else {
        r = late ? gang__timeline_latest(a->t, &d->ask, from, to, &a->fit)
                 : gang__timeline_earliest(a->t, &d->ask, from, &a->fit);
        at = r == GANG_OK ? a->fit.start_ns : GANG__NEVER;
        r = r == GANG_ENEVER || r == GANG_ENOFIT ? GANG_OK : r;
    }
    *start_ns = at == GANG__NEVER || at > to ? GANG__NEVER : at - p->offset_ns;
    return r;
}

static int64_t ask_limits(struct gang__admission *a, const struct gang__figure *f, int64_t from_ns,
                          int64_t to_ns, bool late)
{
    size_t n = gang__figure_pieces(a, f);
    return late ? gang__bookings_latest(a->usage, a->piece, n, from_ns, to_ns)
                : gang__bookings_earliest(a->usage, a->piece, n, from_ns, to_ns);
}

/* Ask all of them once. *from_ns is where it may begin, or *to_ns, if `late`. GANG_ENOFIT: it may not. */
static gang_result ask_all(struct gang__admission *a, const struct gang__figure *f,
                           int64_t *from_ns, int64_t *to_ns, bool late)
{
    int64_t *tried = late ? to_ns : from_ns, at;
    gang__figure_outline(a, f);
    for (size_t i = 0; i < gang__figure_pieces(a, f); i++) {
        gang_result r = ask_piece(a, f, i, *from_ns, *to_ns, late, &at);
        if (r != GANG_OK)
            return r;
        if (at == GANG__NEVER)
            return GANG_ENOFIT;
        *tried = at;
    }
    if (a->usage) {
        at = ask_limits(a, f, *from_ns, *to_ns, late);
        if (at == GANG__NEVER)
            return GANG_ENOFIT;
        *tried = at;
    }
    return GANG_OK;
}

static gang_result find(struct gang__admission *a, const struct gang__figure *f, int64_t from_ns,
                        int64_t to_ns, bool late, int64_t *start_ns)
{
    int64_t *tried = late ? &to_ns : &from_ns, last;
    bool alone = gang__figure_pieces(a, f) == 1 && !a->usage, full;
    if (from_ns > to_ns)
        return GANG_ENOFIT;
    for (;;) {
        last = *tried;
        gang_result r = ask_all(a, f, &from_ns, &to_ns, late);
        if (r != GANG_OK)
            return r;
        *start_ns = *tried;
        if (alone)
            return GANG_OK;
        if (*tried != last)
            continue;
        r = a->usage ? gang__figure_fits(a, f, *tried, &full) : GANG_OK;
        if (r != GANG_ENOFIT)
            return r;
        /* The nodes that it would have whole have more than was asked for. */
        assert(!full);
        *tried = ask_limits(a, f, from_ns, to_ns, late);
        if (*tried == GANG__NEVER)
            return GANG_ENOFIT;
    }
}

gang_result gang__figure_earliest(struct gang__admission *a, const struct gang__figure *f,
                                  int64_t from_ns, int64_t to_ns, int64_t *start_ns)
{
    return find(a, f, from_ns, to_ns, false, start_ns);
}

gang_result gang__figure_latest(struct gang__admission *a, const struct gang__figure *f,
                                int64_t from_ns, int64_t to_ns, int64_t *start_ns)
{
    return find(a, f, from_ns, to_ns, true, start_ns);
}
