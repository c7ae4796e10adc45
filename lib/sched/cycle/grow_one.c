/* SPDX-License-Identifier: Apache-2.0 */
/* A gang that runs and lacks tasks grows: its groups are tried in order, each by one step
 * (gang__gang_step()), under the same limits, vetoes and plans as a start. */
#include <string.h>

#include "sched/backfill/backfill.h"
#include "sched/cycle/cycle_in.h"
#include "sched/grant/grant.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"
#include "sched/where/where.h"

/* Tasks that ended count for the gang: they do not come again. */
static gang_result place_in_row(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t step,
                                int64_t *granted)
{
    gang_result r = gang__growth_ended(s->worker, g->done, g->ended_tasks);
    if (r == GANG_OK)
        r = gang__slice_grow(s, g, group, step, granted);
    (void)!gang__growth_ended(s->worker, NULL, NULL);
    return r;
}

/* Allocate `step` more tasks of the group; s->numbers receives their numbers. */
static gang_result place(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t step,
                         int64_t *granted)
{
    *granted = 0;
    if (!gang__grow(&s->mem, (void **)&s->numbers, &s->number_cap, (size_t)step,
                    sizeof(*s->numbers)) ||
        !gang__untold_reserve(s, g, (size_t)step))
        return GANG_ENOMEM;
    if (g->sliced)
        return place_in_row(s, g, group, step, granted);
    return gang__reserve_binds(s, g) ? gang__reserve_grow(s, g, group, step, granted)
                                     : gang__where_alloc_more(s, g, group, step, granted);
}

static void commit(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t granted)
{
    memset(s->by_group, 0, gang__gang_request(g)->group_count * sizeof(*s->by_group));
    s->by_group[group] = granted;
    gang__grant_growth(s, g, s->numbers, (size_t)granted, s->by_group, GANG_REASON_NONE);
}

/* *last: the gang is blocked, and its other groups are not tried. */
static bool grow_group(gang_sched *s, struct gang__gang *g, uint32_t group, bool *last)
{
    int64_t step = gang__gang_step(g, group), granted;
    struct gang__take take[GANG__DIMS];
    uint32_t count = gang__request_class_takes_times(g->request_class, (int32_t)group, step, take);
    *last = true;
    if (!gang__within_limits(s, g, take, count))
        return false;
    if (gang__bypass_first_starved(s, g, take, count)) {
        gang__order_block(s, g->order.wait_class, GANG_WAIT_STARVED, NULL, 0);
        return false;
    }
    gang_result r = place(s, g, group, step, &granted);
    if (r == GANG_OK) {
        commit(s, g, group, granted);
        return true;
    }
    /* Out of range: tasks that were asked to stop still hold their places. */
    *last = r != GANG_ENOFIT && r != GANG_ENEVER && r != GANG_ERANGE;
    if (*last)
        gang__block_for_this_run(s, g, r == GANG_ENOMEM);
    return false;
}

bool gang__grow_one(gang_sched *s, struct gang__gang *g)
{
    if (!g->sliced && !gang__backfill_may_grow(s, g)) {
        gang__order_block(s, g->order.wait_class, GANG_WAIT_PLANNED, NULL, 0);
        return false;
    }
    for (uint32_t group = 0; group < gang__gang_request(g)->group_count; group++) {
        bool last = false;
        if (gang__lacks_now(g, group) <= 0)
            continue;
        if (grow_group(s, g, group, &last))
            return true;
        if (last)
            return false;
    }
    if (g->order.wait_class)
        gang__order_block(s, g->order.wait_class, GANG_WAIT_CAPACITY, NULL, 0);
    return false;
}
