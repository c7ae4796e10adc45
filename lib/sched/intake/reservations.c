/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations as the host asks for them: added, changed, cancelled. */
#include <string.h>

#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/wake/wake.h"

/* ---- adding ---------------------------------------------------------------------------------- */

static gang_result take_in(gang_sched *s, const struct gang_reservation_spec *from,
                           struct gang_reservation_spec *spec, struct gang_error *error)
{
    if (!s || !from)
        return gang__error(error, GANG_EINVAL, NULL, "no scheduler, or no specification");
    if (s->running)
        return gang__error(error, GANG_EBUSY, NULL, "called from a callback");
    gang_result r = gang__struct_in(spec, sizeof(*spec), sizeof(*spec), from, from->size);
    if (r != GANG_OK)
        return gang__error(error, r, NULL, "struct gang_reservation_spec is not set up");
    return GANG_OK;
}

static gang_result out_of_memory(struct gang_error *error)
{
    return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
}

/* The record, and all that placing it needs; nothing is placed yet. `before`: the reservation that
 * it replaces. */
static gang_result prepare(gang_sched *s, const struct gang_reservation_spec *spec,
                           const struct gang__reserve *before, struct gang__reserve **r,
                           struct gang_error *error)
{
    *r = NULL;
    if (!gang__reserve_make_table(s))
        return out_of_memory(error);
    gang_result w = gang__reserve_new(s, spec, r, error);
    for (const struct gang__reserve *o = s->reserve.all->first; o && w == GANG_OK; o = o->next)
        if (o != before && strcmp(o->name, spec->name) == 0)
            w = gang__error(error, GANG_EEXIST, "name", "there is one of this name");
    struct gang__reserve_owner *owner =
        w == GANG_OK ? gang__reserve_owner_get(s, (*r)->owner) : NULL;
    if (w == GANG_OK && owner)
        w = gang__reserve_count_kinds(s, *r, error);
    if (w == GANG_OK && (!owner || !gang__calendar_ready(s) || !gang__reserve_put_pieces(s)))
        w = out_of_memory(error);
    if (w == GANG_OK) {
        (*r)->usage = owner->usage;
        (*r)->arrival_ns = (*r)->arrival_ns > s->now_ns ? (*r)->arrival_ns : s->now_ns;
    } else if (*r) {
        gang__reserve_record_free(s, *r);
        *r = NULL;
    }
    return w;
}

/* A refused reservation leaves nothing behind, and no calendar where there was none. */
static gang_result refuse(gang_sched *s, struct gang__reserve *r, gang_result w, int64_t *when_ns)
{
    if (when_ns)
        *when_ns = s->reserve.all && w == GANG_ENOFIT ? s->reserve.all->got.next_ns : INT64_MAX;
    gang__reserve_record_free(s, r);
    s->reserve.placing = false;
    if (!gang__calendar_on(s))
        gang__calendar_free(s);
    return w;
}

static void link_last(gang_sched *s, struct gang__reserve *r)
{
    struct gang__reserve **at = &s->reserve.all->first;
    while (*at)
        at = &(*at)->next;
    *at = r;
    if (s->reserve.count++ == 0)
        gang__candidates_unkeep_all(s);
    s->reserve.all->magnetic += (r->flags & GANG_RESERVATION_MAGNETIC) != 0;
    gang__wake_reservations(s, GANG__RESERVE_CLASSES);
    gang__wake_calendar(s);
    gang__reserve_schedule(s);
}

/* The job that it was made for is its member. */
static void bind_job(gang_sched *s, struct gang__reserve *r)
{
    struct gang__job *job = r->job == GANG_ID_NONE ? NULL : gang__job_of(s, r->job);
    if (!job)
        return;
    job->reserve.named = r;
    gang__job_settle(s, job);
}

gang_result gang_reservation_add(gang_sched *sched, const struct gang_reservation_spec *spec,
                                 gang_reservation_id *id, int64_t *when_ns,
                                 struct gang_error *error)
{
    struct gang_reservation_spec t;
    struct gang__reserve *r = NULL;
    struct gang__reserve_view *view = NULL;
    if (id)
        *id = GANG_ID_NONE;
    if (when_ns)
        *when_ns = INT64_MAX;
    if (!id)
        return gang__error(error, GANG_EINVAL, NULL, "no place for the id");
    gang_result w = take_in(sched, spec, &t, error);
    if (w != GANG_OK)
        return w;
    sched->reserve.placing = true;
    w = prepare(sched, &t, NULL, &r, error);
    if (w == GANG_OK)
        w = gang__reserve_place_first(sched, r, t.until_ns, error);
    if (w == GANG_OK) {
        r->id = sched->reserve.all->last_id + 1;
        w = gang__reserve_view_make(sched, r, NULL, &view) ? GANG_OK : out_of_memory(error);
    }
    if (w != GANG_OK)
        return refuse(sched, r, w, when_ns);
    sched->reserve.all->last_id = *id = r->id;
    r->accepted = ++sched->reserve.all->accepted;
    link_last(sched, r);
    sched->reserve.placing = false;
    gang__reserve_view_set(sched, view);
    bind_job(sched, r);
    if (when_ns)
        *when_ns = r->piece->start_ns;
    return GANG_OK;
}

/* ---- changing -------------------------------------------------------------------------------- */

static void set_bookings_aside(const struct gang__reserve *r, bool aside)
{
    for (const struct gang__reserve_piece *p = r->piece; p; p = p->next)
        if (p->booking)
            gang__bookings_set_aside(r->usage, p->booking - 1, aside);
}

static void undo_bookings_aside(gang_sched *s, const struct gang__trial_record *r)
{
    (void)s;
    set_bookings_aside(r->what, false);
}

/* Place it as if its predecessor were not there: neither its pieces nor its bookings count. */
static gang_result place_without(gang_sched *s, struct gang__reserve *old, struct gang__reserve *r,
                                 int64_t until_ns, struct gang_error *error)
{
    struct gang__trial without;
    gang_result w;
    gang__trial_begin(&without, s, s->calendar->timeline);
    gang__reserve_withdraw_from(&without, old);
    if (gang__trial_reserve(&without, 1)) {
        set_bookings_aside(old, true);
        gang__trial_note(&without, undo_bookings_aside, old, NULL, 0, 0);
        w = gang__reserve_place_first(s, r, until_ns, error);
    } else {
        w = out_of_memory(error);
    }
    gang__trial_drop(&without);
    return w;
}

/* One that has begun lies from now on until its new end. */
static void continue_instance(gang_sched *s, const struct gang__reserve *old,
                              struct gang__reserve *r)
{
    int64_t end_ns =
        gang__add_sat(gang__reserve_begin_of(old, old->current), r->stage[0].duration_ns);
    if (!old->begun)
        return;
    r->start_ns = r->arrival_ns = s->now_ns;
    r->stage[0].duration_ns = end_ns > s->now_ns ? end_ns - s->now_ns : 1;
    r->begun = r->noticed = true;
}

/* Jobs of the old one belong to the new one. What runs inside is looked at again:
 * reserve/inside_timeline.c has the last word. No gang lies inside a flexible one. */
static void move_members(gang_sched *s, struct gang__reserve *old, struct gang__reserve *r)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        bool may = gang__reserve_allows(s, r, job), named = job->reserve.named == old,
             inside = false;
        bool stays = may && !(r->flags & GANG_RESERVATION_FLEX);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            struct gang__gang *g = &job->gang[i];
            if (g->reserve.inside_of != old)
                continue;
            gang__calendar_drop(s, g);
            gang__calendar_vacate(s, g);
            if (!stays)
                gang__reserve_keep_end(s, g);
            g->reserve.inside_of = stays ? r : NULL;
            g->reserve.until_ns = gang__reserve_end_of(r, r->current);
            gang__wake_holding(s, g);
            inside = true;
        }
        if (inside && job->state != GANG_JOB_ENDED)
            gang__timer_set(s, job); /* it may end sooner now */
        if (named)
            job->reserve.named = may ? r : NULL;
        if (named)
            gang__job_settle(s, job);
    }
    gang__reserve_close_inside(s, old);
    struct gang__reserve **at = &s->reserve.all->first;
    while (*at != old)
        at = &(*at)->next;
    r->next = old->next;
    *at = r;
    s->reserve.all->magnetic += (r->flags & GANG_RESERVATION_MAGNETIC) != 0;
    s->reserve.all->magnetic -= (old->flags & GANG_RESERVATION_MAGNETIC) != 0;
    gang__wake_reservations(s, GANG__RESERVE_CLASSES);
}

gang_result gang_reservation_change(gang_sched *sched, gang_reservation_id id,
                                    const struct gang_reservation_spec *spec, int64_t *when_ns,
                                    struct gang_error *error)
{
    struct gang_reservation_spec t;
    struct gang__reserve *r = NULL;
    struct gang__reserve_view *view = NULL;
    if (when_ns)
        *when_ns = INT64_MAX;
    gang_result w = take_in(sched, spec, &t, error);
    struct gang__reserve *old = w == GANG_OK ? gang__reserve_of(sched, id) : NULL;
    if (w == GANG_OK && !old)
        w = gang__error(error, GANG_ESTALE, NULL, "it is over, or never was");
    if (w != GANG_OK)
        return w;
    if (old->begun && (t.stage_count != 1 || t.period_ns))
        return gang__error(error, GANG_ENOTSUP, "stages",
                           "it has begun, and has more than one piece");
    w = prepare(sched, &t, old, &r, error);
    if (w != GANG_OK)
        return w;
    continue_instance(sched, old, r);
    r->id = old->id;
    w = place_without(sched, old, r, t.until_ns, error);
    if (w == GANG_OK)
        w = gang__reserve_view_make(sched, r, old, &view) ? GANG_OK : out_of_memory(error);
    if (w != GANG_OK)
        return refuse(sched, r, w, when_ns);
    r->accepted = ++sched->reserve.all->accepted;
    int64_t before_ns = gang__reserve_end_of(old, old->current);
    move_members(sched, old, r);
    r->before_ns = before_ns;
    if (gang__calendar_sync(
            sched)) /* members that do not fit inside any more are outside from now on */
        r->before_ns = GANG__NEVER;
    gang__reserve_view_set(sched, view);
    gang__reserve_record_free(sched, old);
    bind_job(sched, r);
    gang__wake_calendar(sched);
    gang__reserve_schedule(sched);
    if (when_ns)
        *when_ns = r->piece->start_ns;
    return GANG_OK;
}

/* ---- cancelling ------------------------------------------------------------------------------ */

/* Members of what has ended wait on from now on, and not from the next run on. */
static void settle_noted(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        if (job->wake.causes & GANG__WAKE_SETTLE)
            gang__job_settle(s, job);
    }
}

gang_result gang_reservation_cancel(gang_sched *sched, gang_reservation_id id)
{
    if (!sched)
        return GANG_EINVAL;
    if (sched->running)
        return GANG_EBUSY;
    struct gang__reserve *r = gang__reserve_of(sched, id);
    if (!r)
        return GANG_ESTALE;
    gang__reserve_end(sched, r);
    settle_noted(sched);
    gang__wake_run(sched);
    return GANG_OK;
}
