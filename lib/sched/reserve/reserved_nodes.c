/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that reservations keep from others: closed where places are looked for (a node veto of
 * where.h), looked up for a job that overruns, and kept while a gang grows. */
#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "sched/calendar/calendar.h"
#include "sched/reserve/reserve_in.h"
#include "sched/where/where.h"

/* ---- a veto ---------------------------------------------------------------------------------- */

bool gang__reserve_binds(const gang_sched *s, const struct gang__gang *g)
{
    int64_t end_ns = INT64_MIN;
    if (s->reserve.count == 0)
        return false;
    if (g->reserve.inside_of)
        return true;
    end_ns = g->alloc != GANG_ID_NONE ? gang__calendar_end(s, g)
                                      : gang__add_sat(s->now_ns, gang__calendar_estimate(s, g));
    for (const struct gang__reserve *r = s->reserve.all->first; r; r = r->next)
        if (r->piece && r->piece->start_ns < end_ns)
            return true;
    return false;
}

struct marks {
    uint64_t *mask;
    uint32_t end;
};

static bool mark(uint32_t slot, void *user)
{
    struct marks *m = user;
    if (slot < m->end)
        gang__mask_put(m->mask, slot);
    return true;
}

/* A member of a flexible reservation may be there. Of another one it is inside, or like others: it
 * has run since the reservation was flexible. */
static bool keeps_from(const struct gang__reserve *r, const struct gang__gang *g)
{
    return r != g->job->reserve.named || !(r->flags & GANG_RESERVATION_FLEX);
}

/* Marks the nodes that the gang may not touch up to end_ns; inside: those that it may. */
static bool mark_nodes(gang_sched *s, const struct gang__gang *g, int64_t end_ns, bool parts,
                       uint32_t end, bool *inside)
{
    struct gang__reserves *all = s->reserve.all;
    size_t words = end / 64 + 1;
    if (!gang__grow(&s->mem, (void **)&all->mask, &all->mask_cap, words, sizeof(*all->mask)))
        return false;
    memset(all->mask, 0, words * sizeof(*all->mask));
    struct marks m = {all->mask, end};
    *inside = g->reserve.inside_of != NULL;
    for (const struct gang__reserve *r = all->first; r; r = r->next)
        for (const struct gang__reserve_piece *p = r->piece; p; p = p->next) {
            bool now = g->reserve.inside_of ? r == g->reserve.inside_of && p->instance == r->current
                                            : p->start_ns < end_ns && keeps_from(r, g) &&
                                                  (parts || r->stage[p->stage].whole);
            if (now)
                gang__reserve_each_node(p, mark, &m);
        }
    return true;
}

/* When the gang would end if it starts, or grows, on the places of this query. A gang that starts
 * again has its whole time limit. */
static int64_t end_of(const struct gang__where *w)
{
    const gang_sched *s = w->s;
    const struct gang__job *job = w->g->job;
    int64_t from_ns = gang__add_sat(s->now_ns, w->later_ns);
    if (w->moves)
        return job->time_limit_ns > 0 ? gang__add_sat(from_ns, job->time_limit_ns) : GANG__NEVER;
    if (w->g->alloc != GANG_ID_NONE)
        return gang__add_sat(gang__calendar_end(s, w->g), w->later_ns);
    return gang__add_sat(from_ns, gang__calendar_estimate(s, w->g));
}

static bool reserved_concerns(const struct gang__where *w)
{
    if (w->s->reserve.count == 0)
        return false;
    int64_t end_ns = w->g->reserve.inside_of ? INT64_MAX : end_of(w);
    bool some = w->g->reserve.inside_of != NULL;
    for (const struct gang__reserve *r = w->s->reserve.all->first; r && !some; r = r->next)
        some = r->piece && r->piece->start_ns < end_ns;
    return some;
}

static gang_result reserved_apply(const struct gang__where *w)
{
    gang_sched *s = w->s;
    bool inside;
    if (!mark_nodes(s, w->g, end_of(w), w->parts, w->on->end, &inside))
        return GANG_ENOMEM;
    for (gang_node_id n = gang_snapshot_node_next(w->on, GANG_ID_NONE); n != GANG_ID_NONE;
         n = gang_snapshot_node_next(w->on, n)) {
        uint32_t slot = (uint32_t)n;
        bool marked = s->reserve.all->mask[slot / 64] >> (slot % 64) & 1;
        if (marked != inside)
            (void)!gang_snapshot_set_state(w->on, n, GANG_NODE_DOWN);
    }
    return GANG_OK;
}

/* Nodes that are reserved. */
const struct gang__veto gang__reserve_veto = {GANG_WAIT_CAPACITY, false, false, reserved_concerns,
                                              reserved_apply};

/* ---- may a gang start where its victims stopped late ----------------------------------------- */

/* Occupations of gangs that run are no reason: those gangs leave the places free now. */
static bool is_clear(gang_sched *s, const struct gang__gang *g, const struct gang_placement *places,
                     int64_t count)
{
    struct gang__occupation o;
    int64_t end_ns = gang__add_sat(s->now_ns, gang__calendar_estimate(s, g));
    return gang__calendar_lay_out(s, g, places, (size_t)count, end_ns, &o) &&
           gang__timeline_fits(gang__calendar_timeline_of(s, g), &o) &&
           gang__calendar_fits_beside(s, g, &o);
}

bool gang__reserve_allows_start(gang_sched *s, const struct gang__gang *g,
                                const struct gang_placement *places, int64_t count)
{
    struct gang__trial t;
    if (!gang__reserve_binds(s, g))
        return true;
    if (!s->calendar || !s->calendar->timeline || !gang__calendar_sync(s) ||
        (g->reserve.inside_of && !gang__reserve_open_inside(s, g->reserve.inside_of)))
        return false;
    gang__trial_begin(&t, s, s->calendar->timeline);
    gang__trial_withdraw_plans(&t, NULL);
    bool clear = gang__reserve_show_for(&t, g) && is_clear(s, g, places, count);
    gang__trial_drop(&t);
    return clear;
}

/* ---- may a job stay where it is -------------------------------------------------------------- */

struct stopping {
    uint32_t slot;
    bool found;
};

static bool is_slot(uint32_t slot, void *user)
{
    struct stopping *w = user;
    w->found = slot == w->slot;
    return !w->found;
}

struct staying {
    gang_sched *s;
    int64_t until_ns;
    bool barred;
};

static int32_t stays_at(const struct gang_task *task, void *user)
{
    struct staying *w = user;
    struct stopping at = {(uint32_t)task->node, false};
    for (const struct gang__reserve *r = w->s->reserve.all->first; r && !at.found; r = r->next)
        for (const struct gang__reserve_piece *p = r->piece; p && !at.found; p = p->next)
            if (p->start_ns < w->until_ns)
                gang__reserve_each_node(p, is_slot, &at);
    w->barred = at.found;
    return at.found;
}

/* Could a member that runs inside stay where it is until until_ns? Of several stages, each ends
 * at its time. */
static bool could_stay(gang_sched *s, const struct gang__gang *g, int64_t until_ns)
{
    struct gang__timeline *inside = g->reserve.inside_of->inside;
    struct gang__occupation o;
    if (gang__reserve_inside_end(g) < until_ns)
        return false;
    if (!inside || !g->calendar.occupies)
        return true;
    if (!gang__calendar_lay_out_alloc(s, g, gang__gang_holds(g), until_ns, &o))
        return false;
    struct gang__trial t, outside;
    gang__trial_begin(&t, s, inside);
    gang__trial_withdraw(&t, g->calendar.occupies - 1);
    gang__trial_begin(&outside, s, s->calendar->timeline);
    if (g->calendar.beside)
        gang__trial_withdraw(&outside, g->calendar.beside - 1);
    bool fits = gang__reserve_fits_inside(s, g, &o) && gang__calendar_fits_beside(s, g, &o);
    gang__trial_drop(&outside);
    gang__trial_drop(&t);
    return fits;
}

/* When the gang has run for the time that is left until until_ns: a gang that shares nodes in time
 * waits in between, and ends later. */
static int64_t ends_at(const gang_sched *s, const struct gang__gang *g, int64_t until_ns)
{
    return g->sliced ? s->source[GANG__SOURCE_SLICE]->lasts(s, g, until_ns - s->now_ns) : until_ns;
}

bool gang__reserve_is_reserved_until(gang_sched *s, const struct gang__job *job, int64_t until_ns)
{
    struct staying w = {s, INT64_MIN, false};
    if (s->reserve.count == 0)
        return false;
    for (uint32_t i = 0; i < job->gang_count && !w.barred; i++) {
        const struct gang__gang *g = &job->gang[i];
        if (g->alloc == GANG_ID_NONE)
            continue;
        w.until_ns = gang__add_sat(ends_at(s, g, until_ns), job->leaf->q->grace_ns);
        if (g->reserve.inside_of)
            w.barred = !could_stay(s, g, w.until_ns);
        else
            (void)!gang__alloc_each(s->cluster, g->alloc, stays_at, &w);
    }
    return w.barred;
}

/* ---- growing --------------------------------------------------------------------------------- */

/* Do these places avoid reserved capacity until the gang ends? */
static gang_result avoids_reserved(gang_sched *s, const struct gang__gang *g,
                                   const struct gang__places *places)
{
    struct gang__occupation o;
    if (!gang__calendar_lay_out(s, g, places->place, places->count, gang__calendar_end(s, g), &o))
        return GANG_ENOMEM;
    bool fits = gang__timeline_fits(gang__calendar_timeline_of(s, g), &o) &&
                gang__calendar_fits_beside(s, g, &o);
    return fits ? GANG_OK : GANG_ENOFIT;
}

/* Places for more tasks, in s->placement; with `parts` on no node of which anything is reserved. */
static gang_result find_growth(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t step,
                               bool parts)
{
    struct gang__where w = {.s = s, .g = g, .on = s->scratch, .parts = parts};
    gang_result r = gang__where_grow(&w, group, step, &s->placement);
    struct gang__trial t;
    gang__trial_begin(&t, s, s->calendar->timeline);
    if (r == GANG_OK)
        r = gang__reserve_put_handovers(&t);
    if (r == GANG_OK)
        r = avoids_reserved(s, g, &s->placement);
    gang__trial_drop(&t);
    return r;
}

gang_result gang__reserve_grow(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t step,
                               int64_t *granted)
{
    *granted = 0;
    if (!s->calendar || s->calendar->failed_in == s->runs || !s->calendar->timeline ||
        !gang__calendar_sync(s))
        return GANG_ENOMEM;
    if (g->reserve.inside_of && !gang__reserve_open_inside(s, g->reserve.inside_of))
        return GANG_ENOMEM;
    gang_result r = gang_snapshot_take(s->worker, s->scratch);
    if (r != GANG_OK)
        return GANG_ENOMEM;
    r = find_growth(s, g, group, step, false);
    if (r == GANG_ENOFIT)
        r = find_growth(s, g, group, step, true);
    if (r == GANG_OK)
        r = gang__where_adopt_more(s, g, s->placement.place, (int64_t)s->placement.count);
    *granted = r == GANG_OK ? (int64_t)s->placement.count : 0;
    return r;
}
