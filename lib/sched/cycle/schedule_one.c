/* SPDX-License-Identifier: Apache-2.0 */
/* What happens to the gang that is first in order:
 *
 *   class    its request class is brought up to date
 *   defer    backfill may try it after others of its leaf
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
#include "sched/preempt/preempt.h"
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
    if (gang_alloc_each(s->cluster, alloc, gang__count_task, s->by_group) != GANG_OK)
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
    gang__log(s, 0, "the places where job %llu was suspended are gone: it starts elsewhere",
              (unsigned long long)g->job->id);
    gang__order_leave(s, g);
    gang__release(&s->mem, g->places);
    g->places = NULL;
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
        done = gang__grant_start(s, g, id, GANG_REASON_NONE);
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

/* Allocate the gang where its request says. GANG_ENOFIT, GANG_ENEVER: it is blocked. */
static gang_result try_start(gang_sched *s, struct gang__gang *g, gang_alloc_id *id)
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

/* A gang is tried in its partitions one by one. */
struct tries {
    gang_sched *s;
    struct gang__gang *g;
    struct gang__wait_class *class;
    gang_result result; /* GANG_ENOFIT: it is blocked, for this reason: */
    int32_t why;        /* GANG_WAIT_*; 0: no partition was tried yet */
    struct gang__queue_state *by;
    uint32_t dim;
    bool capacity;  /* some partition lacks it */
    bool planned;   /* in the first partition */
    bool preempted; /* victims stop for it, or have stopped */
};

static bool is_refused(gang_result r)
{
    return r == GANG_ENOFIT || r == GANG_ENEVER;
}

/* Of the reasons in several partitions, the first of the highest rank is kept: if a partition could
 * not be tried, the next run tries it; if the gang waits for capacity in one of them, it bars and
 * preempts others as a gang that does. */
static int rank_of(int32_t why)
{
    return why == GANG_WAIT_NOT_TRIED  ? 4
           : why == GANG_WAIT_CAPACITY ? 3
           : why == GANG_WAIT_PLANNED  ? 2
                                       : gang__preempt_helps(why);
}

/* Try the gang in its i-th partition. True: the tries are over; its class is that of the
 * partition. */
static bool try_in(struct tries *t, uint32_t i, gang_alloc_id *id)
{
    const struct gang__wait_class *class = t->class;
    gang__partition_try(t->g, i);
    t->result = try_start(t->s, t->g, id);
    if (!is_refused(t->result))
        return true;
    t->planned = t->planned || t->g->calendar.plan;
    t->capacity = t->capacity || gang__waits_for_capacity(class->why);
    if (t->why == 0 || rank_of(class->why) > rank_of(t->why)) {
        t->why = class->why;
        t->by = class->blocked_by;
        t->dim = class->dim;
    }
    t->preempted = t->g->job->leaf->q->preempt_in_order && gang__preempt_here(t->s, t->g, t->class);
    return t->preempted;
}

/* Would the leaf exceed its guarantee if the gang started in the i-th partition? */
static bool borrows(const struct gang__gang *g, uint32_t i)
{
    const struct gang__queue_state *leaf = g->job->leaf;
    const struct gang__request_class *in = g->waits_as->partition[i];
    return !gang__usage_stays_within(leaf, leaf->guarantee, in->gang_take, in->gang_take_count);
}

/* Try the partitions in order; those in which the leaf would borrow come last, if it says so. */
static bool try_each(struct tries *t, gang_alloc_id *id)
{
    bool last = t->g->job->leaf->q->borrow_last;
    for (int pass = 0; pass < 1 + last; pass++)
        for (uint32_t i = 0; i < t->g->waits_as->partition_count; i++)
            if ((!last || borrows(t->g, i) == (pass > 0)) && try_in(t, i, id))
                return true;
    if (!t->planned || t->g->calendar.plan)
        return false;
    gang__partition_try(t->g, 0); /* a gang that is tried loses its plan: it gets it back */
    t->result = try_start(t->s, t->g, id);
    return !is_refused(t->result);
}

/* Allocate the gang in one of its partitions. GANG_OK: its class is that of the partition.
 * GANG_ENOFIT: it is blocked, or victims stop for it. */
static gang_result try_partitions(gang_sched *s, struct gang__gang *g, gang_alloc_id *id)
{
    struct tries t = {.s = s, .g = g, .class = g->order.wait_class, .result = GANG_ENOFIT};
    bool over = try_each(&t, id);
    if (t.preempted)
        return GANG_ENOFIT;
    t.class->some_capacity = t.capacity && !over;
    if (over && t.result == GANG_OK) { /* the next gang of the class is tried, too */
        gang__order_unblock(s, t.class);
        return GANG_OK;
    }
    gang__partition_try_end(g);
    if (!over)
        gang__order_block(s, t.class, t.why, t.by, t.dim);
    return t.result;
}

static bool start_one(gang_sched *s, struct gang__gang *g)
{
    gang_alloc_id id;
    bool resumes = g->places != NULL;
    if (gang__backfill_defer(s, g))
        return false;
    gang_result r = gang__partition_count(g) > 0 ? try_partitions(s, g, &id) : try_start(s, g, &id);
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
