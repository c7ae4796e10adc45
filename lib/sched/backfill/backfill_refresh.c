/* SPDX-License-Identifier: Apache-2.0 */
/* Before gangs are tried: the calendar follows the cluster, reservations do what is due, and gangs
 * that wait because of plans, or may get a plan, are tried again if something happened that may
 * help them. */
#include "sched/backfill/backfill_in.h"
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/wake/wake.h"

bool gang__backfill_is_ruled_out(const gang_sched *s, const struct gang__gang *g)
{
    /* As long as nothing is planned or reserved place decides, which knows more than sums. */
    return (s->calendar->planned > 0 || s->reserve.count > 0) && !g->calendar.plan && !g->places &&
           !gang__calendar_may_plan(g) && !gang__reserve_has_match(s, g) &&
           !gang__calendar_fits_sums(s, g);
}

/* May trying the head of the class help? In an EASY leaf a gang behind the plans is tried in any
 * case, as when a gang leaves (candidates.c): the plans before it may move. */
static bool may_help(const gang_sched *s, const struct gang__wait_class *class)
{
    const struct gang__gang *head = gang__wait_class_head(class);
    if (!s->calendar || class->grower || gang__slice_concerns(head))
        return true;
    if (head->calendar.plan)
        return !gang__calendar_is_earliest(s, head);
    return (class->why == GANG_WAIT_PLANNED && class->leaf->q->backfill == GANG_BACKFILL_EASY) ||
           !gang__backfill_is_ruled_out(s, head);
}

/* Unblocks the classes that wait because of plans, or may get a plan; and those for which
 * reservations leave more now. (Other gangs enter their classes again when reservations change,
 * reserve/reserve_due.c.) */
static void unblock_planned(gang_sched *s)
{
    struct gang__wait_class *next;
    for (struct gang__wait_class *class = s->order.blocked; class; class = next) {
        next = class->next_blocked;
        bool reserved =
            s->reserve.all && (class->grower || gang__slice_concerns(gang__wait_class_head(class)));
        if (class->why != GANG_WAIT_PLANNED && class->why != GANG_WAIT_RESERVATION &&
            ((class->leaf->q->backfill == GANG_BACKFILL_NONE && !reserved) ||
             class->why != GANG_WAIT_CAPACITY))
            continue;
        if (may_help(s, class))
            gang__order_unblock(s, class);
    }
    if (s->reserve.count > 0)
        gang__candidates_unkeep_all(s);
    else
        gang__wake_all_candidates(s);
}

void gang__backfill_refresh(gang_sched *s)
{
    struct gang__calendar *cal = s->calendar;
    if (!gang__calendar_on(s)) {
        bool changed = s->wake.plans != 0; /* the last reservation went */
        gang__calendar_free(s);
        (void)!gang__reserve_due(s);
        if (changed)
            unblock_planned(s);
        return;
    }
    if (cal && cal->failed_in == s->runs)
        return;
    if (cal)
        s->wake.starting = NULL;
    if (!gang__calendar_ready(s) || !gang__reserve_due(s)) {
        if (s->calendar)
            s->calendar->failed_in = s->runs;
        s->no_memory = true;
        gang__wake_next_run(s);
        return;
    }
    cal = s->calendar;
    if (s->wake.plans)
        unblock_planned(s);
    s->wake.plans = 0;
}
