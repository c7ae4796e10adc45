/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption in the cycle. A gang that is tried in its order and finds no place may preempt at once
 * (gang__preempt_in_order()): gangs behind it then do not start only to be preempted for it. Blocked
 * gangs that something may have helped since are tried again when no other gang can start, in their
 * order, each first without and then with preemption, until one starts or preempts. Each try is a
 * step of the run (run.c). */
#include "sched/backfill/backfill.h"
#include "sched/cycle/cycle_in.h"
#include "sched/order/order.h"
#include "sched/preempt/preempt.h"
#include "sched/usage/usage.h"

static bool some_leaf_is_above_share(const gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue_state *q = s->qs[i];
        for (uint32_t d = 0; d < s->dims; d++)
            if (q->guarantee[d] != GANG__NO_BOUND &&
                (q->used[d] > q->share[d] || q->used[d] > q->guarantee[d]))
                return true;
    }
    return false;
}

static void look_at_victims(gang_sched *s)
{
    s->preempt.above_share = some_leaf_is_above_share(s);
    gang__victims_sort(s);
}

/* Unblock the wait classes that preemption may help. False: there is none. */
static bool unblock_some(gang_sched *s)
{
    struct gang__wait_class *next, *chosen = NULL;
    look_at_victims(s);
    for (struct gang__wait_class *wait_class = s->order.blocked; wait_class; wait_class = next) {
        next = wait_class->next_blocked;
        if (gang__preempt_is_worthwhile(s, wait_class)) {
            gang__order_unblock(s, wait_class);
            chosen = wait_class;
        }
    }
    return chosen != NULL;
}

/* Was the class blocked for a reason that preemption can remove? */
static bool may_help(gang_sched *s, const struct gang__wait_class *wait_class, struct gang__gang *g)
{
    return wait_class->state == GANG__CLASS_BLOCKED &&
           (gang__preempt_helps(wait_class->why) ||
            (wait_class->why == GANG_WAIT_PLANNED && gang__backfill_lacks_capacity(s, g)));
}

/* The gang of the last step got nothing: its class is not tried again until something changes. What
 * the step noted has been drained, and counts as tried. */
static void note_tried(gang_sched *s)
{
    struct gang__wait_class *wait_class = s->preempt.tried_class;
    if (s->preempt.tried && s->preempt.tried->order.wait_class == wait_class)
        wait_class->tried = s->wake.changes + 1;
    s->preempt.tried = NULL;
}

bool gang__preempt_in_order(gang_sched *s, struct gang__gang *g,
                            struct gang__wait_class *wait_class)
{
    if (g->order.wait_class != wait_class || wait_class->backfill.kept != GANG__KEPT_NOT ||
        !may_help(s, wait_class, g))
        return false;
    look_at_victims(s);
    if (!gang__preempt_is_worthwhile(s, wait_class))
        return false;
    const struct gang__set_link *link = gang__set_next(&g->order.link);
    const struct gang__gang *next = link ? GANG__OF(struct gang__gang, order.link, link) : NULL;
    bool done = gang__preempt_for(s, g);
    if (!done)
        wait_class->tried = s->wake.changes + 1;
    else if (next && next->order.wait_class) /* it is tried in its order, too */
        gang__order_unblock(s, next->order.wait_class);
    return done;
}

static bool try_one(gang_sched *s, struct gang__gang *g, struct gang__wait_class *wait_class)
{
    if (gang__schedule_one(s, g)) /* what was done for one before may help it */
        return true;
    return g->order.wait_class == wait_class && may_help(s, wait_class, g) &&
           gang__preempt_for(s, g);
}

bool gang__entitled_begin(gang_sched *s)
{
    if ((s->wake.changes == s->wake.changes_done && !s->preempt.untried) || s->opts.no_preemption ||
        !s->order.blocked)
        return false;
    s->wake.changes_done = s->wake.changes;
    s->preempt.untried = false;
    if (!unblock_some(s))
        return false;
    s->preempt.running = true;
    s->preempt.done = false;
    s->preempt.tried = NULL;
    return true;
}

bool gang__entitled_step(gang_sched *s)
{
    note_tried(s);
    struct gang__gang *g = gang__order_next(s);
    if (!g || !gang__run_step(s))
        return false;
    struct gang__wait_class *wait_class = g->order.wait_class;
    s->preempt.done = try_one(s, g, wait_class);
    s->preempt.tried = s->preempt.done ? NULL : g;
    s->preempt.tried_class = wait_class;
    return !s->preempt.done;
}

bool gang__entitled_end(gang_sched *s)
{
    s->preempt.running = false;
    if (!s->preempt.done && gang__order_next(s)) /* cut short: the next run tries the rest */
        s->wake.changes_done--;
    return s->preempt.done;
}
