/* SPDX-License-Identifier: Apache-2.0 */
/* Granting: what a unit must pass before it gets its gang or one task more, the allocation, and
 * the host's word. */
#include <string.h>

#include "place/request/request.h"
#include "sched/backfill/backfill.h"
#include "sched/calendar/calendar.h"
#include "sched/cycle/cycle.h"
#include "sched/grant/grant.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/bypass.h"
#include "sched/order/wait_order.h"
#include "sched/record/record.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"
#include "sched/where/where.h"

/* ---- gates ----------------------------------------------------------------------------------- */

/* May it, as far as queues are concerned? Else its bin is blocked. */
static bool pass(gang_sched *s, struct gang__gang *u, const struct gang__take *take, uint32_t count)
{
    uint32_t dim = 0;
    int32_t why = 0;
    struct gang__queue_state *by =
        gang__limits_refuse(s, u, take, count, u->order.wait_class->fixed, &dim, &why);
    if (by)
        gang__order_block(s, u->order.wait_class, why, by, dim);
    return !by;
}

/* ---- the host -------------------------------------------------------------------------------- */

/* ---- a gang ---------------------------------------------------------------------------------- */

/* After a placement of groups that nobody could foretell: is it inside the limits? */
static bool check_after(gang_sched *s, struct gang__gang *u, gang_alloc_id alloc)
{
    uint32_t groups = gang__gang_request(u)->group_count, dim;
    struct gang__take take[GANG__DIMS];
    int32_t why;
    memset(s->by_group, 0, groups * sizeof(*s->by_group));
    if (gang_alloc_each(s->cluster, alloc, gang__count_task, s->by_group) != GANG_OK)
        return false;
    uint32_t n = gang__takes_sum(s, u, s->by_group, take);
    struct gang__queue_state *by =
        gang__usage_refuse(s, u->job->leaf, take, n, u->order.wait_class->fixed, &dim, &why);
    if (by) {
        gang__give_surely(s, NULL, alloc, NULL, 0);
        gang__wake_holding(s, u);
        gang__order_block(s, u->order.wait_class, why, by, dim);
    }
    return !by;
}

/* The places where it was suspended are not what they were: it starts as if for the first time. */
static void places_gone(gang_sched *s, struct gang__gang *u)
{
    gang__log(s, 0, "the places where job %llu was suspended are gone: it starts anew",
              (unsigned long long)u->job->id);
    gang__order_leave(s, u);
    gang__release(&s->mem, u->places);
    u->places = NULL;
    gang__reports_again(s, u);
    gang__job_state(s, u->job, GANG_REASON_NONE, "its places are gone");
    gang__job_settle(s, u->job);
}

/* A place in a matrix of time slices. */
static gang_result alloc_row(gang_sched *s, struct gang__gang *u, gang_alloc_id *id, int32_t *why)
{
    struct gang__where w = {.s = s, .u = u, .on = s->scratch, .parts = true, .plans = true};
    *why = gang__where_why(&w);
    return gang__slice_alloc(s, u, id);
}

/* Places for its gang, beside all that is planned. */
static gang_result alloc(gang_sched *s, struct gang__gang *u, gang_alloc_id *id, int32_t *why)
{
    if (gang__slice_concerns(u))
        return alloc_row(s, u, id, why);
    if (gang__calendar_on(s))
        return gang__backfill_alloc(s, u, id, why);
    return u->places ? gang__where_resume(s, u, id, why) : gang__where_alloc(s, u, id, why);
}

/* Is it for others that ask for the same as it is for this one? Not where queues have domains of
 * their own, where the host scores nodes and may refuse them, and when each is to have room made
 * for it. */
static bool holds_for_all(const gang_sched *s, const struct gang__gang *u)
{
    return !s->preempt.running && !gang__calendar_on(s) && !s->queues->slices && !u->places &&
           !s->queues->cells && u->request_class->q->policy != GANG_POLICY_HOST && !s->bypass.starved;
}

static bool try_start(gang_sched *s, struct gang__gang *u)
{
    gang_alloc_id id;
    int32_t why;
    bool resumes = u->places != NULL;
    struct gang__take take[GANG__DIMS];
    uint32_t count = resumes ? gang__gang_resumes_with(s, u, take) : u->request_class->gang_take_count;
    if (gang__backfill_defer(s, u))
        return false;
    if (!pass(s, u, resumes ? take : u->request_class->gang_take, count)) {
        gang__calendar_unplan(s, u);
        return false;
    }
    gang_result r = alloc(s, u, &id, &why);
    if (resumes && r == GANG_ESTALE) {
        places_gone(s, u);
        return false;
    }
    if (r == GANG_OK) {
        bool done = (u->request_class->exact || resumes || check_after(s, u, id)) &&
                    gang__grant_start(s, u, id, GANG_REASON_NONE);
        gang__backfill_over(s);
        return done;
    }
    if (r == GANG_ENOFIT || r == GANG_ENEVER) {
        bool alike = holds_for_all(s, u);
        gang__order_block(s, u->order.wait_class, why, NULL, 0);
        if (alike)
            gang__order_block_alike(s, u->request_class);
        return false;
    }
    if (r == GANG_ENOMEM)
        s->no_memory = true;
    s->wake.retry = true;
    gang__order_block(s, u->order.wait_class, GANG_WAIT_TURN, NULL, 0);
    return false;
}

/* ---- one task more --------------------------------------------------------------------------- */

static gang_result grow_row(gang_sched *s, struct gang__gang *u, uint32_t group, int64_t step,
                            int64_t *granted)
{
    gang_result r = gang__growth_ended(s->worker, u->done);
    if (r == GANG_OK)
        r = gang__slice_grow(s, u, group, step, granted);
    (void)!gang__growth_ended(s->worker, NULL);
    return r;
}

/* The groups in order; one that cannot grow does not keep the next from it. */
static bool try_group(gang_sched *s, struct gang__gang *u, uint32_t group, bool *last)
{
    int64_t step = gang__gang_step(u, group), granted = 0;
    struct gang__take take[GANG__DIMS];
    uint32_t count = gang__class_takes_times(u->request_class, (int32_t)group, step, take);
    *last = true;
    if (!pass(s, u, take, count))
        return false;
    if (gang__bypass_before(s, u, take, count)) {
        gang__order_block(s, u->order.wait_class, GANG_WAIT_OVERDUE, NULL, 0);
        return false;
    }
    uint32_t first = gang__next_number(s, u->alloc);
    gang_result r = GANG_ENOMEM;
    if (gang__grow(&s->mem, (void **)&s->numbers, &s->number_cap, (size_t)step,
                   sizeof(*s->numbers)))
        r = u->sliced                   ? grow_row(s, u, group, step, &granted)
            : gang__reserve_binds(s, u) ? gang__reserve_grow(s, u, group, step, &granted)
                                        : gang__where_alloc_more(s, u, group, step, &granted);
    if (r == GANG_OK) {
        memset(s->by_group, 0, gang__gang_request(u)->group_count * sizeof(*s->by_group));
        s->by_group[group] = granted;
        for (int64_t i = 0; i < granted; i++)
            s->numbers[i] = (int64_t)first + i;
        return gang__grant_growth(s, u, s->numbers, (size_t)granted, s->by_group);
    }
    /* Out of range: tasks of it that were asked to stop still hold their places. Room comes when
     * they go. */
    *last = r != GANG_ENOFIT && r != GANG_ENEVER && r != GANG_ERANGE;
    if (*last) { /* nothing is known about the room there is: the next run tries again */
        if (r == GANG_ENOMEM)
            s->no_memory = true;
        s->wake.retry = true;
        gang__order_block(s, u->order.wait_class, GANG_WAIT_TURN, NULL, 0);
    }
    return false;
}

static bool try_grow(gang_sched *s, struct gang__gang *u)
{
    if (!u->sliced && !gang__backfill_may_grow(s, u)) {
        gang__order_block(s, u->order.wait_class, GANG_WAIT_PLANNED, NULL, 0);
        return false;
    }
    for (uint32_t g = 0; g < gang__gang_request(u)->group_count; g++) {
        bool last = false;
        if (gang__gang_lacks(u, g) == 0)
            continue;
        if (try_group(s, u, g, &last))
            return true;
        if (last)
            return false; /* it is blocked, or out of turn */
    }
    if (u->order.wait_class)
        gang__order_block(s, u->order.wait_class, GANG_WAIT_ROOM, NULL, 0);
    return false;
}

bool gang__start_try(gang_sched *s, struct gang__gang *u)
{
    if (!gang__class_refresh(s, u->request_class)) {
        s->no_memory = s->wake.retry = true;
        gang__order_block(s, u->order.wait_class, GANG_WAIT_TURN, NULL, 0);
        return false;
    }
    return u->alloc == GANG_ID_NONE ? try_start(s, u) : try_grow(s, u);
}
