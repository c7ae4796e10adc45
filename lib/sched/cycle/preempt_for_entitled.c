/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption in the cycle: which gangs are tried with preemption, and when?
 *
 * A gang that is tried in its order and finds no place preempts at once, if it may
 * (gang__preempt_in_order()): gangs behind it do not start only to be preempted for it. Before each
 * round of the cycle, the wait classes that something may have helped since they were tried last are
 * unblocked (gang__entitled_unblock()), so that their gangs are tried in their order, too. */
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

bool gang__entitled_unblock(gang_sched *s)
{
    struct gang__wait_class *next, *chosen = NULL;
    if (s->wake.changes == s->wake.changes_done || s->opts.no_preemption || !s->order.blocked)
        return false;
    s->wake.changes_done = s->wake.changes;
    look_at_victims(s);
    for (struct gang__wait_class *wait_class = s->order.blocked; wait_class; wait_class = next) {
        next = wait_class->next_blocked;
        if (gang__preempt_is_worthwhile(s, wait_class, wait_class->why)) {
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
           wait_class->backfill.kept == GANG__KEPT_NOT &&
           (gang__preempt_helps(wait_class->why) ||
            (wait_class->why == GANG_WAIT_PLANNED && gang__backfill_lacks_capacity(s, g)));
}

static bool preempt(gang_sched *s, struct gang__gang *g, struct gang__wait_class *wait_class)
{
    look_at_victims(s);
    if (!gang__preempt_is_worthwhile(s, wait_class, wait_class->why))
        return false;
    const struct gang__set_link *link = gang__set_next(&g->order.link);
    const struct gang__gang *next = link ? GANG__OF(struct gang__gang, order.link, link) : NULL;
    bool done = gang__preempt_for(s, g);
    if (done && next && next->order.wait_class) /* it is tried in its order, too */
        gang__order_unblock(s, next->order.wait_class);
    return done;
}

void gang__preempt_in_order(gang_sched *s, struct gang__gang *g,
                            struct gang__wait_class *wait_class)
{
    if (g->order.wait_class != wait_class || !may_help(s, wait_class, g))
        return; /* it is not noted as tried: time alone may change that */
    s->preempt.tried = preempt(s, g, wait_class) ? NULL : g;
    s->preempt.tried_class = wait_class;
}

void gang__preempt_note_tried(gang_sched *s)
{
    struct gang__wait_class *wait_class = s->preempt.tried_class;
    if (s->preempt.tried && s->preempt.tried->order.wait_class == wait_class)
        wait_class->tried = s->wake.changes + 1;
    s->preempt.tried = NULL;
}

/* The classes for which preemption is worth while are tried one by one, though there is no
 * capacity. */
void gang__block_request_class(gang_sched *s, struct gang__request_class *request_class)
{
    struct gang__wait_class *next;
    look_at_victims(s);
    for (struct gang__wait_class *class = request_class->ready; class; class = next) {
        next = class->next;
        if (!class->grower && !gang__preempt_is_worthwhile(s, class, GANG_WAIT_CAPACITY))
            gang__order_block(s, class, GANG_WAIT_CAPACITY, NULL, 0);
    }
}
