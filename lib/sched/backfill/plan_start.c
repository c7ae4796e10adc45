/* SPDX-License-Identifier: Apache-2.0 */
/* When does a blocked gang get a planned start?
 *
 * When     A gang of a leaf that backfills was tried, and cannot start now. start_between.c calls
 *          gang__backfill_plan() then, so a gang is planned in the same order in which it is tried.
 * Depth    The leaf plans for the first `plan_depth` gangs of its order, 1 in an EASY leaf by
 *          default. A gang behind them gets no plan and is a candidate (candidates.c). If a gang is
 *          tried that comes before a planned one of an EASY leaf, the plans behind it are taken out
 *          first (gang__backfill_unplan_behind()), and made again after it
 *          (gang__backfill_plan_again()): those that no longer fit the depth have no plan then.
 * Where    At the earliest time at which it fits beside all that runs, is reserved and is planned
 *          (calendar/earliest.c), on the nodes that this query found; if it fits as early on nodes
 *          that the vetoes leave open, on those. Only vetoes that last are asked (sched/where):
 *          which nodes cells and starved gangs close at that time is not known yet. If the sums
 *          allow a start now, place has refused what amounts allow, and the next instant at which
 *          something comes free is taken. From then on each start in any leaf must leave capacity
 *          for the plan (start_between.c).
 *          A gang with several partitions has a plan in the first one alone.
 * Goes     A plan is taken out when its gang starts, leaves its wait class, or is stopped by a
 *          limit of its queues (gang__calendar_unplan()); when its nodes go, with the whole
 *          timeline (gang__calendar_ready()); and while its gang is tried. It moves to other nodes
 *          at the same time if that lets another gang start (move_plans.c).
 * Moves    When a gang ends early, or a plan comes to nothing, the plans are looked at again
 *          (backfill_refresh.c): each gang with a plan is tried in the order of its leaf, and its
 *          plan can only become earlier, since all other plans stay where they are. So a plan
 *          becomes later only when nodes go, a gang runs longer than expected, preemption starts an
 *          unplanned gang, or place refuses what amounts allow.
 *
 * The order of planning is that of Lifka, "The ANL/IBM SP Scheduling System", 1995 (EASY: the first
 * gang alone has a plan), and Mu'alem and Feitelson, IEEE TPDS 12(6), 2001 (conservative: each gang
 * has one). */
#include <string.h>

#include "sched/backfill/backfill_in.h"
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/reserve/reserve.h"
#include "sched/wake/wake.h"
#include "sched/where/where.h"

/* ---- a plan is made -------------------------------------------------------------------------- */

/* The plan counts on nodes that the vetoes leave open, if these come free as early as any: vetoes
 * that last are soft (nodes where the job failed). GANG_OK; GANG_ENOMEM. */
static gang_result prefer_open_nodes(gang_sched *s, struct gang__gang *g)
{
    struct gang__calendar *cal = s->calendar;
    struct gang__where w = {.s = s, .g = g, .on = s->scratch, .later = true};
    int64_t start_ns = cal->fit.start_ns;
    if (!gang__where_concerned(&w))
        return GANG_OK;
    if (gang_snapshot_take(s->worker, s->scratch) != GANG_OK)
        return GANG_ENOMEM;
    const uint64_t *open = gang__where_open(&w, cal->end);
    gang_result r = open ? gang__calendar_earliest_on(s, g, start_ns, open) : GANG_ENOMEM;
    if (r == GANG_ENOMEM || (r == GANG_OK && cal->fit.start_ns == start_ns))
        return r;
    return gang__calendar_earliest(s, g, start_ns);
}

/* A gang that cannot start now gets the earliest start there is, if the depth of its leaf leaves
 * one for it. */
gang_result gang__backfill_plan(gang_sched *s, struct gang__gang *g, int32_t *why)
{
    struct gang__calendar *cal = s->calendar;
    const struct gang__queue_state *leaf = g->job->leaf;
    int64_t unused[GANG__FREE_DIMS];
    *why =
        cal->planned > 0 && gang__calendar_leaf_plans(g) ? GANG_WAIT_PLANNED : GANG_WAIT_CAPACITY;
    if (!gang__calendar_leaf_plans(g) || gang__partition_is_fallback(g) ||
        leaf->calendar.planned_count >= leaf->q->plan_depth)
        return GANG_ENOFIT;
    gang_result r = gang__calendar_earliest(s, g, s->now_ns);
    if (r == GANG_OK && cal->fit.start_ns == s->now_ns) { /* place refuses what amounts allow */
        int64_t next_ns =
            gang__timeline_sum_at(gang__calendar_timeline_of(s, g), s->now_ns, unused);
        r = next_ns == GANG__NEVER ? GANG_ENEVER : gang__calendar_earliest(s, g, next_ns);
    }
    if (r == GANG_OK)
        r = prefer_open_nodes(s, g);
    if (r == GANG_OK)
        r = gang__backfill_set_plan(s, g);
    if (r == GANG_OK)
        *why = GANG_WAIT_PLANNED;
    return r == GANG_ENOMEM ? r : GANG_ENOFIT;
}

/* The nodes that the plan counts on, for the host and for explanations. NULL: out of memory. */
static uint32_t *list_nodes(const gang_sched *s, size_t *count)
{
    const struct gang__time_fit *fit = &s->calendar->fit;
    uint32_t *node = gang__zalloc(&s->mem, fit->count + 1, sizeof(*node));
    *count = 0;
    for (size_t i = 0; node && i < fit->count; i++)
        if (i == 0 || fit->place[i].node != fit->place[i - 1].node)
            node[(*count)++] = fit->place[i].node;
    return node;
}

gang_result gang__backfill_set_plan(gang_sched *s, struct gang__gang *g)
{
    struct gang__calendar *cal = s->calendar;
    const gang_request *request = gang__gang_request(g);
    struct gang__queue_state *leaf = g->job->leaf;
    struct gang__occupation o = {cal->fit.start_ns,
                                 gang__add_sat(cal->fit.start_ns, gang__calendar_estimate(s, g)),
                                 cal->group,
                                 cal->groups,
                                 cal->fit.place,
                                 cal->fit.count,
                                 0,
                                 request->exclusive};
    uint32_t id;
    size_t nodes;
    uint32_t *node = list_nodes(s, &nodes);
    if (!node)
        return GANG_ENOMEM;
    if (g->request_class->by_memory)
        gang__calendar_use_variants(cal, &o);
    gang_result r = gang__timeline_add(gang__calendar_timeline_of(s, g), &o, &id);
    if (r != GANG_OK) {
        gang__release(&s->mem, node);
        return r;
    }
    gang__calendar_drop(s, g);
    g->calendar.plan = id + 1;
    g->calendar.planned_ns = cal->fit.start_ns;
    g->calendar.node = node;
    g->calendar.node_count = nodes;
    g->calendar.next_planned = leaf->calendar.planned;
    g->calendar.planned_at = &leaf->calendar.planned;
    if (leaf->calendar.planned)
        leaf->calendar.planned->calendar.planned_at = &g->calendar.next_planned;
    leaf->calendar.planned = g;
    leaf->calendar.planned_count++;
    cal->planned++;
    gang__bypass_planned(s, g);
    gang__wake_job(s, g->job, GANG__WAKE_TIMER);
    return GANG_OK;
}

/* ---- plans behind the gang that is tried ----------------------------------------------------- */

/* Takes out the plans of the EASY leaf behind this gang, and lists them in the order of the leaf.
 * Those before it, and those of leaves that plan for more than the first gangs, bind it and stay.
 */
struct gang__gang *gang__backfill_unplan_behind(gang_sched *s, const struct gang__gang *g)
{
    struct gang__gang *list = NULL, *next;
    const struct gang__queue *q = g->job->leaf->q;
    for (struct gang__gang *w = g->job->leaf->calendar.planned; w; w = next) {
        next = w->calendar.next_planned;
        if (q->backfill != GANG_BACKFILL_EASY || gang__gang_before(g, w, q->order) >= 0)
            continue;
        gang__calendar_drop(s, w);
        struct gang__gang **at = &list;
        while (*at && gang__gang_before(*at, w, q->order) < 0)
            at = &(*at)->calendar.next_planned;
        w->calendar.next_planned = *at;
        *at = w;
    }
    return list;
}

/* Plans them again, before any other gang is tried. A gang that gets no plan is tried again itself.
 * False: out of memory. */
bool gang__backfill_plan_again(gang_sched *s, struct gang__gang *list)
{
    bool done = true;
    while (list) {
        struct gang__gang *w = list;
        struct gang__trial view; /* as the gang sees flexible reservations */
        int32_t why = 0;
        list = w->calendar.next_planned;
        gang__trial_begin(&view, s, s->calendar->timeline);
        done = done && gang__reserve_show_for(&view, w) &&
               gang__backfill_plan(s, w, &why) != GANG_ENOMEM;
        gang__trial_drop(&view);
        if (!w->calendar.plan && w->order.wait_class)
            gang__order_unblock(s, w->order.wait_class);
    }
    return done;
}
