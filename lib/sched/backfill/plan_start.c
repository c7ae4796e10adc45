/* SPDX-License-Identifier: Apache-2.0 */
/* When a unit that cannot start now would, and where: asked of the timeline, and planned there (ahead.h). */
#include <string.h>

#include "base/rcu.h"
#include "place/fit/filter.h"
#include "place/request/request.h"
#include "sched/calendar/calendar_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/reserve/reserves.h"

/* ---- asking ----------------------------------------------------------------------------------- */

/* Does it matter to some group which node it is? */
static bool is_choosy(const gang_sched *s, const gang_request *q)
{
    bool some = gang__modes_now(s->cluster) != NULL;
    for (uint32_t g = 0; g < q->group_count; g++)
        some = some || q->group[g].filters || q->group[g].same >= 0;
    return some || q->same >= 0;
}

/* Nodes on which some group may run at all. */
static void make_mask(gang_sched *s, const gang_request *q)
{
    struct gang__calendar *a = s->calendar;
    memset(a->mask, 0, (a->end / 64 + 1) * sizeof(*a->mask));
    gang__filter_mask(s->cluster, q, a->end, a->mask);
}

void gang__backfill_part(gang_sched *s, int32_t level, uint32_t index)
{
    struct gang__calendar *a = s->calendar;
    memset(a->part, 0, (a->end / 64 + 1) * sizeof(*a->part));
    gang__rcu_enter();
    for (uint32_t slot = 0; slot < a->end; slot++) {
        const struct gang__node *node =
            a->mask[slot / 64] >> (slot % 64) & 1 ? gang__node_at(s->cluster, slot) : NULL;
        if (node && node->domain[level] == index)
            gang__mask_put(a->part, slot);
    }
    gang__rcu_leave();
}

/* In each domain of the level that it is to lie in: the earliest. */
static gang_result earliest_in(gang_sched *s, const struct gang__gang *u,
                               struct gang__time_ask *ask, int32_t level, int64_t from_ns)
{
    struct gang__calendar *a = s->calendar;
    gang_result best = GANG_ENEVER;
    uint32_t count = gang__domain_count(s->cluster, (uint32_t)level);
    ask->nodes = a->part;
    for (uint32_t i = 0; i < count; i++) {
        gang__backfill_part(s, level, gang__domain_at(s->cluster, (uint32_t)level, i)->index);
        gang_result r = gang__timeline_earliest(gang__calendar_when(s, u), ask, from_ns, &a->other);
        if (r != GANG_OK && r != GANG_ENEVER)
            return r;
        if (r == GANG_OK && (best != GANG_OK || a->other.start_ns < a->fit.start_ns)) {
            struct gang__time_fit swap = a->fit;
            a->fit = a->other;
            a->other = swap;
            best = GANG_OK;
        }
    }
    return best;
}

/* When its gang fits, and where (a->fit), beside all that is there and planned. */
gang_result gang__backfill_earliest(gang_sched *s, const struct gang__gang *u, int64_t from_ns)
{
    struct gang__calendar *a = s->calendar;
    const gang_request *q = gang__gang_request(u);
    struct gang__time_ask ask = {NULL, 0,   gang__calendar_estimate(s, u), NULL, q->exclusive,
                                 NULL, NULL};
    bool choosy = is_choosy(s, q);
    if (!gang__calendar_needs(s, q) ||
        !gang__grow(&s->mem, (void **)&a->group_of, &a->group_of_room, q->group_count,
                    sizeof(*a->group_of)))
        return GANG_ENOMEM;
    ask.group = a->group; /* it may have grown */
    if (choosy)
        make_mask(s, q);
    ask.nodes = choosy ? a->mask : NULL;            /* those that are not up have nothing */
    for (uint32_t g = 0; g < q->group_count; g++) { /* those of which none must start come later */
        a->group[ask.group_count] = a->group[g];
        a->group[ask.group_count].count = u->request_class->gang_tasks[g];
        a->group_of[ask.group_count] = g;
        ask.group_count += u->request_class->gang_tasks[g] > 0;
    }
    if (ask.group_count == 0) /* the last one, for whatever comes first */
        a->group[ask.group_count++].count = 1;
    a->groups = ask.group_count;
    if (u->request_class->by_memory && !gang__calendar_kinds(s, q))
        return GANG_ENOMEM;
    ask.variant = u->request_class->by_memory ? a->variant : NULL;
    ask.kind = a->kind;
    int32_t same = q->same != GANG__NO_LEVEL ? q->same
                   : q->group_count == 1     ? q->group[0].same
                                             : (int32_t)GANG__NO_LEVEL;
    if (same >= 0 && same < GANG_MAX_LEVELS)
        return earliest_in(s, u, &ask, same, from_ns);
    return gang__timeline_earliest(gang__calendar_when(s, u), &ask, from_ns, &a->fit);
}

/* ---- planning --------------------------------------------------------------------------------- */

/* The nodes it counts on, to be told. */
static bool note_slots(gang_sched *s, struct gang__gang *u)
{
    const struct gang__time_fit *fit = &s->calendar->fit;
    u->calendar.node = gang__zalloc(&s->mem, fit->count + 1, sizeof(*u->calendar.node));
    if (!u->calendar.node)
        return false;
    for (size_t i = 0; i < fit->count; i++)
        if (i == 0 || fit->place[i].node != fit->place[i - 1].node)
            u->calendar.node[u->calendar.node_count++] = fit->place[i].node;
    return true;
}

/* What gang__backfill_earliest() has found becomes its plan. a->group is still as that left it. */
gang_result gang__backfill_put(gang_sched *s, struct gang__gang *u)
{
    struct gang__calendar *a = s->calendar;
    const gang_request *q = gang__gang_request(u);
    struct gang__queue_state *leaf = u->job->leaf;
    struct gang__occupation o = {a->fit.start_ns,
                                 gang__add_sat(a->fit.start_ns, gang__calendar_estimate(s, u)),
                                 a->group,
                                 a->groups,
                                 a->fit.place,
                                 a->fit.count,
                                 0,
                                 q->exclusive};
    uint32_t id;
    if (!note_slots(s, u))
        return GANG_ENOMEM;
    if (u->request_class->by_memory)
        gang__calendar_by_kind(a, &o);
    gang_result r = gang__timeline_add(gang__calendar_when(s, u), &o, &id);
    if (r != GANG_OK) {
        gang__release(&s->mem, u->calendar.node);
        u->calendar.node = NULL;
        u->calendar.node_count = 0;
        return r;
    }
    u->calendar.plan = id + 1;
    u->calendar.planned_ns = a->fit.start_ns;
    u->calendar.next_planned = leaf->calendar.planned;
    u->calendar.planned_at = &leaf->calendar.planned;
    if (leaf->calendar.planned)
        leaf->calendar.planned->calendar.planned_at = &u->calendar.next_planned;
    leaf->calendar.planned = u;
    leaf->calendar.planned_count++;
    a->planned++;
    gang__timer_set(s, u->job);
    return GANG_OK;
}

/* It cannot start now, and has a plan from now on if it may have one (*why says). GANG_ENOFIT; GANG_ENOMEM. */
gang_result gang__backfill_plan(gang_sched *s, struct gang__gang *u, int32_t *why)
{
    struct gang__calendar *a = s->calendar;
    const struct gang__queue_state *leaf = u->job->leaf;
    int64_t unused[GANG__FREE_DIMS];
    *why = a->planned > 0 && gang__calendar_plans(u) ? GANG_WAIT_PLANNED : GANG_WAIT_CAPACITY;
    if (!gang__calendar_plans(u) || leaf->calendar.planned_count >= leaf->q->plan_depth)
        return GANG_ENOFIT;
    gang_result r = gang__backfill_earliest(s, u, s->now_ns);
    if (r == GANG_OK && a->fit.start_ns == s->now_ns) { /* place refuses what amounts allow */
        int64_t next_ns = gang__timeline_sum_at(gang__calendar_when(s, u), s->now_ns, unused);
        r = next_ns == GANG__NEVER ? GANG_ENEVER : gang__backfill_earliest(s, u, next_ns);
    }
    if (r == GANG_OK)
        r = gang__backfill_put(s, u);
    if (r == GANG_OK)
        *why = GANG_WAIT_PLANNED;
    return r == GANG_ENOMEM ? r : GANG_ENOFIT;
}
