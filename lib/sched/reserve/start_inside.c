/* SPDX-License-Identifier: Apache-2.0 */
/* Trying a gang: inside each reservation that it may use, then outside. */
#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve_in.h"
#include "sched/wake/wake.h"

/* Try the gang inside the reservation; with a flexible one, as if it were not in the calendar.
 * GANG_ENOFIT: the reservation is not active. */
static gang_result try_in(gang_sched *s, struct gang__reserve *r, struct gang__gang *g,
                          gang_alloc_id *id, int32_t *why, gang__reserve_attempt *attempt)
{
    if (r->flags & GANG_RESERVATION_FLEX) {
        struct gang__trial t;
        gang__trial_begin(&t, s, s->calendar->timeline);
        gang__reserve_withdraw_from(&t, r);
        s->reserve.all->tried = r;
        gang_result w = attempt(s, g, id, why);
        s->reserve.all->tried = NULL;
        gang__trial_drop(&t);
        return w;
    }
    if (!gang__reserve_active(s, r))
        return GANG_ENOFIT;
    if (!gang__reserve_open_inside(s, r))
        return GANG_ENOMEM;
    g->reserve.inside_of = r;
    g->reserve.until_ns = gang__reserve_end_of(r, r->current);
    gang_result w = attempt(s, g, id, why);
    if (w != GANG_OK && !g->calendar.plan)
        g->reserve.inside_of = NULL;
    return w;
}

static bool uses_flexible(const gang_sched *s, const struct gang__reserve *r,
                          const struct gang__gang *g)
{
    return g->job->reserve.named ? r == g->job->reserve.named : gang__reserve_matches(s, r, g->job);
}

bool gang__reserve_show_for(struct gang__trial *t, const struct gang__gang *g)
{
    const gang_sched *s = t->s;
    bool done = true;
    for (struct gang__reserve *r = s->reserve.count ? s->reserve.all->first : NULL; r;
         r = r->next) {
        if (!(r->flags & GANG_RESERVATION_FLEX))
            continue;
        bool uses = uses_flexible(s, r, g);
        if (uses)
            gang__reserve_withdraw_from(t, r);
        for (const struct gang__reserve_piece *p = r->piece; p && !uses; p = p->next)
            done = (p->id == 0 || gang__trial_restore(t, p->id - 1)) && done;
    }
    return done;
}

static bool refused(gang_result w)
{
    return w == GANG_ENOFIT || w == GANG_ENEVER;
}

gang_result gang__reserve_try(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why,
                              gang__reserve_attempt *attempt)
{
    struct gang__reserve *named = g->job->reserve.named;
    gang_result w = GANG_ENOFIT;
    g->reserve.inside_of = NULL;
    for (struct gang__reserve *r = s->reserve.all ? s->reserve.all->first : NULL; r; r = r->next) {
        if (named ? r != named : !gang__reserve_matches(s, r, g->job))
            continue;
        w = try_in(s, r, g, id, why, attempt);
        if (!refused(w) || g->calendar.plan)
            return w;
    }
    if (!named)
        return attempt(s, g, id, why);
    *why = *why == GANG_WAIT_CELLS ? *why : GANG_WAIT_RESERVATION;
    return w;
}

int32_t gang__reserve_why(gang_sched *s, struct gang__gang *g)
{
    if (s->calendar->planned == 0)
        return GANG_WAIT_RESERVATION;
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->timeline);
    for (struct gang__reserve *r = s->reserve.all->first; r; r = r->next)
        gang__reserve_withdraw_from(&t, r);
    bool fits = gang__calendar_fits_now(s, g);
    gang__trial_drop(&t);
    return fits ? GANG_WAIT_RESERVATION : GANG_WAIT_PLANNED;
}
