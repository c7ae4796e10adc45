/* SPDX-License-Identifier: Apache-2.0 */
/* Moving plans out of the way of a gang that could start now: they get other nodes at the same
 * times. */
#include "sched/backfill/backfill_in.h"
#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve.h"

/* Find the gang another plan, not before its planned start, beside all else that lies in the
 * timeline; `same`: at that very time. If there is none, the plan stays with `same`, and goes
 * without. GANG_OK; GANG_ENOFIT; GANG_ENOMEM: the plan stays. */
static gang_result replace_plan(gang_sched *s, struct gang__gang *w, bool same)
{
    struct gang__calendar *cal = s->calendar;
    int64_t was_ns = w->calendar.planned_ns;
    struct gang__trial without, view; /* as the planned gang sees flexible reservations */
    gang__trial_begin(&without, s, gang__calendar_timeline_of(s, w));
    gang__trial_withdraw(&without, w->calendar.plan - 1);
    gang__trial_begin(&view, s, cal->timeline);
    gang_result r =
        gang__reserve_show_for(&view, w) ? gang__calendar_earliest(s, w, was_ns) : GANG_ENOMEM;
    gang__trial_drop(&view);
    if (r == GANG_OK && (!same || cal->fit.start_ns == was_ns))
        r = gang__backfill_set_plan(s, w);
    else if (r != GANG_ENOMEM)
        r = GANG_ENOFIT;
    if (r == GANG_ENOFIT && !same)
        gang__calendar_drop(s, w);
    gang__trial_drop(&without);
    return r;
}

/* Would the gang fit without the plans? */
static bool fits_without_plans(gang_sched *s, const struct gang__gang *g,
                               const struct gang__occupation *o)
{
    if (!gang__reserve_binds(s, g))
        return true;
    struct gang__trial t;
    gang__trial_begin(&t, s, gang__calendar_timeline_of(s, g));
    gang__trial_withdraw_plans(&t, g->reserve.inside_of);
    bool fits = gang__timeline_fits(t.timeline, o);
    gang__trial_drop(&t);
    return fits;
}

/* The gangs whose plans may move out of the way of this gang. */
static size_t list_planned(const gang_sched *s, const struct gang__gang *g,
                           struct gang__gang *list[GANG__MAX_MOVED])
{
    size_t n = 0;
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (struct gang__gang *w = s->qs[i]->calendar.planned; w; w = w->calendar.next_planned)
            if (w != g && w->reserve.inside_of == g->reserve.inside_of)
                list[n++] = w;
    return n;
}

gang_result gang__backfill_move_plans(gang_sched *s, const struct gang__gang *g,
                                      const struct gang_placement *place, size_t count)
{
    struct gang__gang *list[GANG__MAX_MOVED], *w = NULL;
    struct gang__occupation o;
    struct gang__trial t;
    int64_t end_ns = gang__add_sat(s->now_ns, gang__calendar_estimate(s, g));
    if (s->calendar->planned > GANG__MAX_MOVED)
        return GANG_ENOFIT;
    if (!gang__calendar_lay_out(s, g, place, count, end_ns, &o))
        return GANG_ENOMEM;
    if (!fits_without_plans(s, g, &o) || !gang__calendar_fits_beside(s, g, &o))
        return GANG_ENOFIT;
    size_t n = list_planned(s, g, list);
    gang__trial_begin(&t, s, gang__calendar_timeline_of(s, g));
    gang_result r = gang__trial_put(&t, &o, NULL) == GANG_OK ? GANG_OK : GANG_ENOMEM;
    for (size_t i = 0; i < n && r == GANG_OK; i++) {
        w = list[i];
        r = w->calendar.planned_ns < end_ns ? replace_plan(s, w, true) : GANG_OK;
    }
    gang__trial_drop(&t);
    if (r == GANG_OK || r == GANG_ENOMEM)
        return r;
    return replace_plan(s, w, false) == GANG_ENOMEM ? GANG_ENOMEM : GANG_ENOFIT;
}
