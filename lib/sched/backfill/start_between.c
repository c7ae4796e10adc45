/* SPDX-License-Identifier: Apache-2.0 */
/* What may start before planned starts?
 *
 * A gang that is tried while starts are planned, or something is reserved, starts if
 *   1. free totals leave enough from now until it ends;
 *   2. the calendar has the gang start now (earliest);
 *   3. the places that place likes best leave capacity for all plans; or places on the nodes that
 *      the calendar gave do; or the very places that the calendar gave.
 * Otherwise the gang gets a plan of its own (plan_start.c). If other plans block its start, a
 * few of them move to other nodes at the same times (move_plans.c). */
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "place/request/request.h"
#include "sched/backfill/backfill_in.h"
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"
#include "sched/where/where.h"

/* The nodes that the timeline gives, as bits in cal->domain. */
static void mark_fit_nodes(struct gang__calendar *cal)
{
    memset(cal->domain, 0, (cal->end / 64 + 1) * sizeof(*cal->domain));
    for (size_t i = 0; i < cal->fit.count; i++)
        gang__mask_put(cal->domain, cal->fit.place[i].node);
}

/* Do these places leave capacity for all plans? GANG_OK; GANG_ENOFIT; GANG_ENOMEM. */
static gang_result leaves_plans(gang_sched *s, const struct gang__gang *g,
                                const struct gang_placement *place, size_t count)
{
    struct gang__occupation o;
    int64_t end_ns = gang__add_sat(s->now_ns, gang__calendar_estimate(s, g));
    if (!gang__calendar_lay_out(s, g, place, count, end_ns, &o))
        return GANG_ENOMEM;
    bool fits = gang__timeline_fits(gang__calendar_timeline_of(s, g), &o) &&
                gang__calendar_fits_beside(s, g, &o);
    return fits ? GANG_OK : GANG_ENOFIT;
}

static gang_result adopt_placement(gang_sched *s, const struct gang__gang *g, gang_alloc_id *id)
{
    return gang_alloc_adopt(s->worker, g->request_class->request, s->placement.place,
                            (int64_t)s->placement.count, id, NULL);
}

/* The places that place likes best now (sched.placement), on the snapshot of w. */
static gang_result place_now(struct gang__where *w)
{
    gang_sched *s = w->s;
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return GANG_ENOMEM;
    return gang__where_place(w, &s->placement);
}

/* Adopt the places of the calendar, task by task. Only for a plain gang without affinity,
 * exclusive nodes, device models, GANG_NUMA_STRICT, same_devices, or a profile that is not counted:
 * amounts and nodes alone decide its fit. */
static gang_result adopt_exactly(gang_sched *s, struct gang__gang *g, gang_alloc_id *id)
{
    struct gang__calendar *cal = s->calendar;
    const gang_request *request = gang__gang_request(g);
    int64_t count = 0;
    if (!request->plain || request->has_affinity || request->exclusive ||
        request->group[0].model_count || request->group[0].numa == GANG_NUMA_STRICT ||
        request->group[0].same_devices ||
        (request->group[0].profile && !gang__calendar_counts_instances(cal, &request->group[0])))
        return GANG_ENOFIT;
    for (size_t i = 0; i < cal->fit.count; i++)
        for (int64_t t = 0; t < cal->fit.place[i].tasks; t++) {
            const struct gang__node *node = gang__snapshot_node(s->scratch, cal->fit.place[i].node);
            if (!node || !gang__grow(&s->mem, (void **)&cal->exact, &cal->exact_cap,
                                     (size_t)count + 1, sizeof(*cal->exact)))
                return node ? GANG_ENOMEM : GANG_ENOFIT;
            struct gang_placement *p = &cal->exact[count++];
            *p = (struct gang_placement)GANG_PLACEMENT_INIT;
            p->group = (int32_t)cal->group_of[cal->fit.place[i].group];
            p->node = node->id;
            p->any_devices = 1;
        }
    if (cal->some_beside) { /* the calendar looked inside only */
        gang_result r = leaves_plans(s, g, cal->exact, (size_t)count);
        if (r != GANG_OK)
            return r;
    }
    return gang_alloc_adopt(s->worker, g->request_class->request, cal->exact, count, id, NULL);
}

/* Do the plans allow these places? GANG_OK; GANG_ENOFIT; GANG_ENOMEM. */
typedef gang_result plans_allow(gang_sched *s, const struct gang__gang *g,
                                const struct gang_placement *place, size_t count);

struct plan_check {
    gang_sched *s;
    const struct gang__gang *g;
    plans_allow *may;
};

static gang_result plans_agree(const struct gang__places *places, void *user)
{
    const struct plan_check *a = user;
    return a->may(a->s, a->g, places->place, places->count);
}

/* Grant the places that place likes best, if `may` agrees. */
static gang_result alloc_if(struct gang__where *w, plans_allow *may, gang_alloc_id *id)
{
    gang_sched *s = w->s;
    struct gang__gang *g = w->g;
    struct plan_check a = {s, g, may};
    if (!gang__where_needs_snapshot(w))
        return gang__alloc_if(s->worker, g->request_class->request, &s->placement, plans_agree, &a,
                              id);
    gang_result r = place_now(w);
    if (r == GANG_OK)
        r = may(s, g, s->placement.place, s->placement.count);
    return r == GANG_OK ? adopt_placement(s, g, id) : r;
}

/* Grant places on the nodes that the calendar gives, or the very places that it gives. The calendar
 * knows no vetoes: if any concern the gang, it is asked again for the nodes that they leave
 * open. */
static gang_result alloc_as_calendar(struct gang__where *w, gang_alloc_id *id)
{
    gang_sched *s = w->s;
    struct gang__calendar *cal = s->calendar;
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return GANG_ENOMEM;
    if (gang__where_concerned(w)) {
        const uint64_t *open = gang__where_open(w, cal->end);
        gang_result r = open ? gang__calendar_earliest_on(s, w->g, s->now_ns, open) : GANG_ENOMEM;
        if (r != GANG_OK || cal->fit.start_ns != s->now_ns)
            return r == GANG_ENOMEM ? r : GANG_ENOFIT;
    }
    mark_fit_nodes(cal);
    w->only = cal->domain;
    w->only_end = cal->end;
    gang_result r = gang__where_place(w, &s->placement);
    w->only = NULL;
    if (r == GANG_OK)
        r = leaves_plans(s, w->g, s->placement.place, s->placement.count);
    if (r == GANG_OK)
        return adopt_placement(s, w->g, id);
    return r == GANG_ENOFIT ? adopt_exactly(s, w->g, id) : r;
}

/* Grant the places that place likes best, if they leave capacity for the plans; otherwise places
 * that the calendar gave. All of it beside soft vetoes first, and then without them. */
static gang_result alloc_between(gang_sched *s, struct gang__gang *g, gang_alloc_id *id)
{
    struct gang__where w = {.s = s, .g = g, .on = s->scratch, .soft = GANG__SOFT_KEPT};
    gang_result r = alloc_if(&w, leaves_plans, id);
    if (r == GANG_ENOFIT)
        r = alloc_as_calendar(&w, id);
    if (r != GANG_ENOFIT || !gang__where_is_soft(&w))
        return r;
    w.soft = GANG__SOFT_LIFTED;
    r = alloc_if(&w, leaves_plans, id);
    return r == GANG_ENOFIT ? alloc_as_calendar(&w, id) : r;
}

/* The gang starts if the plans can move out of its way. */
static gang_result alloc_moving(gang_sched *s, struct gang__gang *g, gang_alloc_id *id)
{
    if (s->calendar->planned > GANG__MAX_MOVED || !gang__calendar_fits_sums(s, g))
        return GANG_ENOFIT;
    struct gang__where w = {.s = s, .g = g, .on = s->scratch};
    return alloc_if(&w, gang__backfill_move_plans, id);
}

/* Do the nodes as they are have places for the gang, whatever is planned or reserved there? It asks
 * what a refusal was for, and places nothing: no veto is heeded. */
static gang_result fits_what_is_free(gang_sched *s, const struct gang__gang *g)
{
    gang_result r = gang_snapshot_take(s->worker, s->scratch);
    return r == GANG_OK ? gang__snapshot_fits(s->worker, s->scratch, g->request_class->request) : r;
}

/* Does a gang that was refused wait because of plans? In a leaf without plans: only if there are
 * places for it. */
static bool is_for_plans(gang_sched *s, const struct gang__gang *g)
{
    return s->calendar->planned > 0 &&
           (gang__calendar_leaf_plans(g) || fits_what_is_free(s, g) == GANG_OK);
}

bool gang__backfill_lacks_capacity(gang_sched *s, struct gang__gang *g)
{
    struct gang__where w = {.s = s, .g = g, .on = s->scratch};
    return g->calendar.plan && !g->places &&
           (gang_snapshot_take(s->worker, s->scratch) != GANG_OK ||
            gang__where_fits(&w) != GANG_OK);
}

/* Without regard to plans: a suspended gang on its places, any other where place likes it best. */
static gang_result alloc_now(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why)
{
    *why = GANG_WAIT_CAPACITY;
    if (g->places)
        return gang__where_resume(s, g, id, why);
    /* A gang with a plan waits for what is taken now. Free totals mostly say so at less cost than
     * place. */
    if (g->calendar.retried && !gang__calendar_fits_sums(s, g))
        return GANG_ENOFIT;
    return gang__where_alloc(s, g, id, why);
}

static gang_result start_now(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why)
{
    if (s->calendar->planned == 0 && !gang__reserve_binds(s, g))
        return alloc_now(s, g, id, why);
    if (g->places) {
        gang_result r = leaves_plans(s, g, g->places, (size_t)g->place_count);
        *why = GANG_WAIT_PLANNED;
        return r == GANG_OK ? gang__where_resume(s, g, id, why) : r;
    }
    if (!gang__calendar_fits_sums(s, g))
        return GANG_ENOFIT;
    gang_result r = gang__calendar_earliest(s, g, s->now_ns);
    if (r == GANG_OK && s->calendar->fit.start_ns == s->now_ns)
        return alloc_between(s, g, id);
    return r == GANG_ENOMEM ? r : GANG_ENOFIT;
}

/* ---- one try --------------------------------------------------------------------------------- */

static gang_result fail(gang_sched *s)
{
    s->calendar->failed_in = s->runs;
    return GANG_ENOMEM;
}

/* The new allocation is put into the timeline before another gang asks there. */
static gang_result enter(gang_sched *s, struct gang__gang *g, gang_alloc_id id)
{
    s->wake.starting = g;
    s->wake.started = id;
    if (gang__calendar_occupy(s, g, id, gang__add_sat(s->now_ns, gang__calendar_estimate(s, g))))
        return GANG_OK;
    gang__calendar_vacate(s, g);
    gang__give_back_or_defer(s, NULL, id, NULL, 0);
    return GANG_ENOMEM;
}

/* The gang cannot start as the plans lie. It gets a plan, if it may. Beside that plan, try to
 * move other plans. */
static gang_result wait_or_move(gang_sched *s, struct gang__gang *g, gang_alloc_id *id,
                                int32_t *why)
{
    bool bound = s->calendar->planned > 0;
    gang_result r = gang__backfill_plan(s, g, why);
    if (r == GANG_ENOFIT && s->calendar->planned > (g->calendar.plan != 0))
        r = alloc_moving(s, g, id);
    if (r == GANG_ENOFIT && bound && s->calendar->planned == 0 &&
        !gang__reserve_binds(s, g)) /* nothing is planned any more */
        r = alloc_now(s, g, id, why);
    if (r == GANG_OK)
        gang__calendar_drop(s, g);
    else if (r == GANG_ENOFIT && !gang__calendar_leaf_plans(g) && is_for_plans(s, g))
        *why = GANG_WAIT_PLANNED;
    return r;
}

/* One try in the timeline of gang__calendar_timeline_of(). A gang that shares nodes in time has no
 * place there: the caller tries rows. */
static gang_result attempt(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why)
{
    if (gang__slice_concerns(g))
        return GANG_ENOFIT;
    gang_result r = start_now(s, g, id, why);
    if ((r == GANG_ENOFIT || r == GANG_ENEVER) && !g->places && *why != GANG_WAIT_CELLS)
        r = wait_or_move(s, g, id, why);
    return r == GANG_OK ? enter(s, g, *id) : r;
}

/* The gang was refused. If the nodes as they are have places for it, reservations are the
 * reason. */
static gang_result blame_reservations(gang_sched *s, struct gang__gang *g, gang_result r,
                                      int32_t *why)
{
    if (*why == GANG_WAIT_RESERVATION || *why == GANG_WAIT_CELLS || !gang__reserve_binds(s, g))
        return r;
    gang_result fits = fits_what_is_free(s, g);
    if (fits == GANG_OK)
        *why = gang__reserve_why(s, g);
    return fits == GANG_ENOMEM ? fits : r; /* then it is tried again */
}

gang_result gang__backfill_alloc(gang_sched *s, struct gang__gang *g, gang_alloc_id *id,
                                 int32_t *why)
{
    struct gang__calendar *cal = s->calendar; /* NULL: there was no memory for it */
    *why = GANG_WAIT_CAPACITY;
    if (!cal || cal->failed_in == s->runs || !cal->timeline || !gang__calendar_sync(s))
        return GANG_ENOMEM;
    bool planned = g->calendar.plan != 0;
    int64_t before = cal->planned, planned_ns = g->calendar.planned_ns;
    if (gang__backfill_is_ruled_out(s, g)) {
        *why = is_for_plans(s, g) ? GANG_WAIT_PLANNED : GANG_WAIT_CAPACITY;
        gang_result w = blame_reservations(s, g, GANG_ENOFIT, why);
        return w == GANG_ENOMEM ? fail(s) : w;
    }
    gang__calendar_drop_uncounted(s, g);
    g->calendar.retried = planned;
    struct gang__gang *aside = gang__backfill_unplan_behind(s, g);
    struct gang__trial t;
    gang__trial_begin(&t, s, cal->timeline);
    gang_result r = s->reserve.count > 0 ? gang__reserve_put_handovers(&t) : GANG_OK;
    if (r == GANG_OK)
        r = gang__reserve_try(s, g, id, why, attempt);
    /* Beside the handovers, too: a gang that finds no plan here is tried again, and then finds one
     * beside them, for ever. */
    bool again = gang__backfill_plan_again(s, aside);
    gang__trial_drop(&t);
    g->calendar.retried = false;
    if ((r == GANG_ENOFIT || r == GANG_ENEVER) && !g->calendar.plan)
        r = blame_reservations(s, g, r, why);
    if (!again && r != GANG_OK)
        r = GANG_ENOMEM;
    if (r != GANG_OK && gang__partition_is_fallback(g)) /* the caller plans it in the first one */
        return r == GANG_ENOMEM ? fail(s) : r;
    if (planned && (!g->calendar.plan || g->calendar.planned_ns != planned_ns))
        cal->changes++;
    cal->plan_started = planned && r == GANG_OK;
    if (cal->planned + cal->plan_started < before) /* a plan was given up */
        gang__wake_plans(s, GANG__PLANS_EARLIER);
    if (r == GANG_ENOFIT && !g->calendar.plan && gang__bypass_concerns(s, g))
        *why = GANG_WAIT_STARVED;
    return r == GANG_ENOMEM ? fail(s) : r;
}

bool gang__backfill_may_grow(gang_sched *s, const struct gang__gang *g)
{
    const struct gang__calendar *cal = s->calendar;
    if (!cal || cal->planned == 0)
        return true;
    int64_t end_ns = gang__calendar_end(s, g);
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (const struct gang__gang *w = s->qs[i]->calendar.planned; w;
             w = w->calendar.next_planned)
            if (w->calendar.planned_ns < end_ns && w->reserve.inside_of == g->reserve.inside_of)
                return false;
    return true;
}

void gang__backfill_end_alloc(gang_sched *s)
{
    struct gang__calendar *cal = s->calendar;
    struct gang__wait_class *next;
    if (!cal)
        return;
    s->wake.starting = NULL;
    for (struct gang__wait_class *class = cal->plan_started ? s->order.blocked : NULL; class;
         class = next) {
        next = class->next_blocked;
        if (class->why == GANG_WAIT_PLANNED && !gang__wait_class_head(class)->calendar.plan)
            gang__order_unblock(s, class);
    }
    if (cal->plan_started)
        gang__wake_all_candidates(s);
    cal->plan_started = false;
}
