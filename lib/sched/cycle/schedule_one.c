/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to the gang that is first in order:
 *
 *   class    its request class is brought up to date
 *   defer    backfill may try it after others of its leaf
 *   try      in each of its partitions, if it has several (try_partitions.c)
 *   limits   queues and users must allow what it takes (choose_tasks.c: of unlike groups)
 *   place    a place is found beside the calendar and the vetoes (sched/where), and allocated
 *   commit   the allocation is granted: usage, order, the host (sched/grant)
 *   block    else its wait class is blocked, with the reason; backfill may have planned its start
 *
 * A gang that runs already grows instead: grow_one.c. */
#include <string.h>

#include "place/alloc/alloc.h"
#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/cycle/cycle_in.h"
#include "sched/grant/grant.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"
#include "sched/where/where.h"

/* ---- limits ---------------------------------------------------------------------------------- */

bool gang__within_limits(gang_sched *s, struct gang__gang *g, const struct gang__take *take,
                         uint32_t count)
{
    struct gang__refusal refusal = {0, 0};
    struct gang__queue_state *by =
        gang__limits_refuse(s, g, take, count, g->order.wait_class->fixed, &refusal);
    if (by)
        gang__order_block(s, g->order.wait_class, refusal.why, by, refusal.dim);
    return !by;
}

/* Does the allocation keep to the limits? Asked if the amounts depend on the tasks. If not, the
 * allocation is released. */
static bool is_within_limits(gang_sched *s, struct gang__gang *g, gang_alloc_id alloc)
{
    uint32_t groups = gang__gang_request(g)->group_count;
    struct gang__take take[GANG__DIMS];
    struct gang__refusal refusal;
    memset(s->by_group, 0, groups * sizeof(*s->by_group));
    if (gang__alloc_each(s->cluster, alloc, gang__count_task, s->by_group) != GANG_OK)
        return false;
    uint32_t n = gang__takes_sum(s, g->request_class, s->by_group, take);
    struct gang__queue_state *by =
        gang__limits_refuse(s, g, take, n, g->order.wait_class->fixed, &refusal);
    if (by) {
        gang__give_back_or_defer(s, NULL, alloc, NULL, 0);
        gang__wake_holding(s, g);
        gang__order_block(s, g->order.wait_class, refusal.why, by, refusal.dim);
    }
    return !by;
}

/* ---- place ----------------------------------------------------------------------------------- */

/* In a row of time slices; inside a reservation that takes the job, it has its nodes alone. */
static gang_result place_in_row(gang_sched *s, struct gang__gang *g, gang_alloc_id *id,
                                int32_t *why)
{
    struct gang__where w = {.s = s, .g = g, .on = s->scratch, .parts = true, .plans = true};
    if (gang__reserve_has_match(s, g)) {
        gang_result r = gang__backfill_alloc(s, g, id, why);
        if (r != GANG_ENOFIT && r != GANG_ENEVER)
            return r;
    }
    *why = gang__where_why(&w);
    return gang__slice_alloc(s, g, id);
}

/* Allocate the gang: in a row of time slices; beside the calendar; or wherever place likes it best.
 * *why: GANG_WAIT_*, if there is no place. */
static gang_result place(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why)
{
    if (gang__slice_concerns(g))
        return place_in_row(s, g, id, why);
    if (gang__calendar_on(s))
        return gang__backfill_alloc(s, g, id, why);
    return g->places ? gang__where_resume(s, g, id, why) : gang__where_alloc(s, g, id, why);
}

/* The nodes on which a suspended gang lay are gone: it starts as if for the first time. */
static void forget_places(gang_sched *s, struct gang__gang *g)
{
    gang__log_job(s, GANG_LOG_PLACES_LOST, g->job,
                  "the places where job %llu was suspended are gone: it starts elsewhere",
                  (unsigned long long)g->job->id);
    gang__order_leave(s, g);
    gang__places_forget(s, g);
    gang__reports_reset(s, g);
    gang__job_state(s, g->job, GANG_REASON_NONE, "its places are gone");
    gang__job_settle(s, g->job);
}

/* ---- commit, or block ------------------------------------------------------------------------ */

static bool commit(gang_sched *s, struct gang__gang *g, gang_alloc_id id)
{
    bool sure = g->request_class->even || g->places;
    bool done = sure || is_within_limits(s, g, id);
    if (done) {
        gang__partition_keep(s, g);
        gang__grant_start(s, g, id, GANG_REASON_NONE, false);
    } else if (g->waits_as) {
        gang__partition_try_end(g);
    }
    gang__backfill_end_alloc(s);
    return done;
}

/* Does the lack of capacity hold for all gangs of the request class? Not where a queue has cells,
 * or where the host scores nodes and may refuse them. */
static bool holds_for_class(const gang_sched *s, const struct gang__gang *g)
{
    return !gang__calendar_on(s) && !s->queues->slices && !g->places && !s->queues->cells &&
           g->request_class->request->policy != GANG_POLICY_HOST && !gang__bypass_concerns(s, g);
}

static void block_for_capacity(gang_sched *s, struct gang__gang *g, int32_t why)
{
    bool all = holds_for_class(s, g) && !g->choice;
    gang__bypass_blocked(s, g);
    gang__order_block(s, g->order.wait_class, why, NULL, 0);
    if (all)
        gang__block_request_class(s, g->request_class);
}

void gang__block_for_this_run(gang_sched *s, struct gang__gang *g, bool no_memory)
{
    s->no_memory = s->no_memory || no_memory;
    gang__wake_next_run(s);
    gang__order_block(s, g->order.wait_class, GANG_WAIT_NOT_TRIED, NULL, 0);
}

/* ---- one gang -------------------------------------------------------------------------------- */

/* Do limits allow the gang, by what it had, by its choice, or by what all placements take? False:
 * it is blocked. */
static bool may_start(gang_sched *s, struct gang__gang *g)
{
    struct gang__take had[GANG__DIMS];
    if (g->places) {
        uint32_t count = gang__places_take(s, g, g->places, g->place_count, had);
        return gang__within_limits(s, g, had, count);
    }
    if (gang__gang_chooses(g) && !gang__slice_concerns(g))
        return gang__choose_tasks(s, g);
    return gang__within_limits(s, g, g->request_class->gang_take,
                               g->request_class->gang_take_count);
}

gang_result gang__try_start(gang_sched *s, struct gang__gang *g, gang_alloc_id *id)
{
    int32_t why;
    if (!may_start(s, g)) {
        if (!gang__partition_is_fallback(g)) /* else it may have a plan in the first one */
            gang__calendar_unplan(s, g);
        return GANG_ENOFIT;
    }
    gang_result r = place(s, g, id, &why);
    if (r == GANG_ENOFIT || r == GANG_ENEVER)
        block_for_capacity(s, g, why);
    g->choice = NULL;
    return r;
}

static bool start_one(gang_sched *s, struct gang__gang *g)
{
    gang_alloc_id id;
    bool resumes = g->places != NULL;
    if (gang__backfill_defer(s, g))
        return false;
    gang_result r =
        gang__partition_count(g) > 0 ? gang__try_partitions(s, g, &id) : gang__try_start(s, g, &id);
    if (r == GANG_OK)
        return commit(s, g, id);
    if (resumes && r == GANG_ESTALE)
        forget_places(s, g);
    else if (r != GANG_ENOFIT && r != GANG_ENEVER)
        gang__block_for_this_run(s, g, r == GANG_ENOMEM);
    return false;
}

bool gang__schedule_one(gang_sched *s, struct gang__gang *g)
{
    if (!gang__request_class_refresh(s, g->request_class)) {
        gang__block_for_this_run(s, g, true);
        return false;
    }
    return g->alloc == GANG_ID_NONE ? start_one(s, g) : gang__grow_one(s, g);
}
