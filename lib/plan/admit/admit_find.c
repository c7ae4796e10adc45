/* SPDX-License-Identifier: Apache-2.0 */
/* The earliest start of a chain of stages, and the latest one.
 *
 * Each piece of the chain, and the user's limits for all pieces together, bound the start. The
 * search asks one after the other for the first start that it allows, from the bound of the one
 * before, until all allow the same start. So a skipped start is one that a piece or a limit does
 * not allow. The latest start is found in the same way, from the end. */
#include <assert.h>

#include "plan/admit/admit_in.h"

/* A search among the starts from_ns...to_ns. */
struct search {
    struct gang__admission *a;
    const struct gang__chain *c;
    int64_t from_ns, to_ns;
    bool late; /* the latest start is wanted */
};

/* The end of the range that the search moves. */
static int64_t *moving_end(struct search *s)
{
    return s->late ? &s->to_ns : &s->from_ns;
}

/* The first start that piece i allows; GANG__NEVER: none in the range. */
static gang_result piece_allows(const struct search *s, size_t i, int64_t *start_ns)
{
    struct gang__admission *a = s->a;
    const struct gang__demand *d = gang__chain_demand(a, s->c, i);
    const struct gang__bookings_piece *p = &a->piece[i];
    int64_t from = s->from_ns + p->offset_ns, to = s->to_ns + p->offset_ns, at;
    gang_result r = GANG_OK;
    if (d->stage->pool && s->late)
        at = gang__timeline_latest_sum(a->t, p->amount, from, to, p->duration_ns);
    else if (d->stage->pool)
        at = gang__timeline_earliest_sum(a->t, p->amount, from, p->duration_ns);
    else {
        r = s->late ? gang__timeline_latest(a->t, &d->request, from, to, &a->fit)
                    : gang__timeline_earliest(a->t, &d->request, from, &a->fit);
        at = r == GANG_OK ? a->fit.start_ns : GANG__NEVER;
        r = r == GANG_ENEVER || r == GANG_ENOFIT ? GANG_OK : r;
    }
    *start_ns = at == GANG__NEVER || at > to ? GANG__NEVER : at - p->offset_ns;
    return r;
}

static int64_t limits_allow(const struct search *s)
{
    struct gang__admission *a = s->a;
    size_t n = gang__chain_pieces(a, s->c);
    return s->late ? gang__bookings_latest(a->bookings, a->piece, n, s->from_ns, s->to_ns)
                   : gang__bookings_earliest(a->bookings, a->piece, n, s->from_ns, s->to_ns);
}

/* Asks each piece and the limits once, and moves the end of the range. GANG_ENOFIT: no start. */
static gang_result narrow(struct search *s)
{
    int64_t at;
    gang__chain_outline(s->a, s->c);
    for (size_t i = 0; i < gang__chain_pieces(s->a, s->c); i++) {
        gang_result r = piece_allows(s, i, &at);
        if (r != GANG_OK)
            return r;
        if (at == GANG__NEVER)
            return GANG_ENOFIT;
        *moving_end(s) = at;
    }
    if (s->a->bookings) {
        at = limits_allow(s);
        if (at == GANG__NEVER)
            return GANG_ENOFIT;
        *moving_end(s) = at;
    }
    return GANG_OK;
}

static gang_result find(struct search *s, int64_t *start_ns)
{
    int64_t *tried = moving_end(s), last;
    bool alone = gang__chain_pieces(s->a, s->c) == 1 && !s->a->bookings, full;
    if (s->from_ns > s->to_ns)
        return GANG_ENOFIT;
    for (;;) {
        last = *tried;
        gang_result r = narrow(s);
        if (r != GANG_OK)
            return r;
        *start_ns = *tried;
        if (alone)
            return GANG_OK;
        if (*tried != last)
            continue;
        r = s->a->bookings ? gang__chain_fits(s->a, s->c, *tried, &full) : GANG_OK;
        if (r != GANG_ENOFIT)
            return r;
        /* The nodes taken whole there have more than the outline assumed. */
        assert(!full);
        *tried = limits_allow(s);
        if (*tried == GANG__NEVER)
            return GANG_ENOFIT;
    }
}

gang_result gang__chain_earliest(struct gang__admission *a, const struct gang__chain *c,
                                 int64_t from_ns, int64_t to_ns, int64_t *start_ns)
{
    struct search s = {a, c, from_ns, to_ns, false};
    return find(&s, start_ns);
}

gang_result gang__chain_latest(struct gang__admission *a, const struct gang__chain *c,
                               int64_t from_ns, int64_t to_ns, int64_t *start_ns)
{
    struct search s = {a, c, from_ns, to_ns, true};
    return find(&s, start_ns);
}
