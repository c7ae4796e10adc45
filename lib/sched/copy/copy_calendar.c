/* SPDX-License-Identifier: Apache-2.0 */
/* The calendar of another scheduler: its timeline under the same numbers, and its planned
 * starts. */
#include <string.h>

#include "sched/calendar/calendar.h"
#include "sched/copy/copy_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"

/* The record of a plan; the timeline holds it under the same number. */
static bool copy_plan(gang_sched *s, struct gang__gang *g, const struct gang__gang *from,
                      struct gang__gang **at)
{
    g->calendar.node =
        gang__zalloc(&s->mem, from->calendar.node_count + 1, sizeof(*g->calendar.node));
    if (!g->calendar.node)
        return false;
    memcpy(g->calendar.node, from->calendar.node,
           from->calendar.node_count * sizeof(*g->calendar.node));
    g->calendar.node_count = from->calendar.node_count;
    g->calendar.plan = from->calendar.plan;
    g->calendar.planned_ns = from->calendar.planned_ns;
    g->calendar.planned_at = at;
    g->calendar.next_planned = NULL;
    *at = g;
    g->job->leaf->calendar.planned_count++;
    s->calendar->planned++;
    return true;
}

static struct gang__gang *gang_as(const gang_sched *s, const struct gang__gang *from)
{
    return &gang__job_of(s, from->job->id)->gang[from->index];
}

/* Those of a leaf, in their order. */
static bool copy_plans(gang_sched *s, const struct gang__queue_state *from)
{
    struct gang__gang **at = &gang__queue_state_of(s, from->q->id)->calendar.planned;
    for (const struct gang__gang *old = from->calendar.planned; old;
         old = old->calendar.next_planned) {
        struct gang__gang *g = gang_as(s, old);
        if (!copy_plan(s, g, old, at))
            return false;
        at = &g->calendar.next_planned;
    }
    return true;
}

/* Running gangs have their numbers; changes that the original noted are noted here in the same
 * order. */
static void copy_holdings(gang_sched *s, const gang_sched *from)
{
    struct gang__gang **at = &s->wake.holdings;
    for (struct gang__set_link *n = gang__set_first(&from->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++) {
            struct gang__gang *g = gang_as(s, &job->gang[i]);
            g->calendar.occupies = job->gang[i].calendar.occupies;
            g->calendar.beside = job->gang[i].calendar.beside;
        }
    }
    for (const struct gang__gang *old = from->wake.holdings; old; old = old->wake.next) {
        struct gang__gang *g = gang_as(s, old);
        g->wake.at = at;
        *at = g;
        at = &g->wake.next;
    }
}

bool gang__calendar_copy(gang_sched *s, const gang_sched *from)
{
    const struct gang__calendar *old = from->calendar;
    if (!old || !old->timeline)
        return true; /* there, too, it will be made */
    bool current = gang__calendar_current(from);
    struct gang__calendar *cal = s->calendar = gang__zalloc(&s->mem, 1, sizeof(*s->calendar));
    size_t numbers = (size_t)old->end * GANG__FREE_KINDS;
    if (!cal || !gang__calendar_reserve_slots(s, old->end) ||
        gang__timeline_copy(&s->mem, old->timeline, &cal->timeline) != GANG_OK)
        return false;
    memcpy(cal->capacity, old->capacity, numbers * sizeof(*cal->capacity));
    cal->more = old->more;
    numbers = (size_t)old->end * old->more.count;
    cal->more_capacity =
        old->more.count ? gang__zalloc(&s->mem, numbers + 1, sizeof(*cal->more_capacity)) : NULL;
    if (cal->more_capacity)
        memcpy(cal->more_capacity, old->more_capacity, numbers * sizeof(*cal->more_capacity));
    else if (old->more.count)
        return false;
    cal->end = old->end;
    cal->all_up = old->all_up;
    cal->plan_started = old->plan_started;
    cal->changes = old->changes;
    cal->failed_in = old->failed_in;
    cal->epoch = current ? gang__load(&s->cluster->nodes.epoch) + 1
                         : 0; /* else it is rebuilt, as in the original */
    cal->states = gang__load(&s->cluster->nodes.states);
    cal->by_limit = old->by_limit;
    if (!gang__reserve_laid_copy(s, from))
        return false;
    copy_holdings(s, from);
    gang__slices_occupied_as(s, from);
    for (uint32_t i = 0; i < from->queues->count; i++)
        if (!copy_plans(s, from->qs[i]))
            return false;
    s->wake.plans = from->wake.plans;
    cal->config = old->config == from->config_count ? s->config_count : 0;
    return true;
}
