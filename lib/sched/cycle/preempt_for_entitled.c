/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption in the cycle: which gangs are tried with preemption, and when?
 *
 * A gang that is tried in its order and finds no place preempts at once, if it may
 * (gang__preempt_in_order()): gangs behind it do not start only to be preempted for it. Before each
 * round of the cycle, the wait classes that something may have helped since they were tried last
 * are unblocked (gang__entitled_unblock()), so that their gangs are tried in their order, too. */
#include "sched/backfill/backfill.h"
#include "sched/cycle/cycle_in.h"
#include "sched/order/order.h"
#include "sched/preempt/preempt.h"
#include "sched/usage/usage.h"

static bool unblock_each(gang_sched *s, struct gang__class_group *group)
{
    struct gang__set_link *next, *n = gang__set_first(&group->waiting);
    bool some = false;
    for (; n; n = next) {
        struct gang__wait_class *class = GANG__OF(struct gang__wait_class, grouped.link, n);
        next = gang__set_next(n);
        if (gang__preempt_is_worthwhile(s, class, class->why)) {
            gang__order_unblock(s, class);
            some = true;
        }
    }
    return some;
}

/* Unblocks what waits in the group if preemption is worth while for it. */
static bool unblock_in_group(gang_sched *s, struct gang__class_group *group)
{
    switch (gang__preempt_is_worthwhile_in(s, group)) {
    case GANG__WORTHWHILE_FOR_ALL:
        gang__group_open(s, group);
        return true;
    case GANG__WORTHWHILE_FOR_SOME:
        return unblock_each(s, group);
    default:
        return false;
    }
}

static bool unblock_in_groups(gang_sched *s)
{
    struct gang__request_class *request_class = s->order.blocked_requests, *next;
    struct gang__class_group *group, *after;
    bool some = false;
    for (; request_class; request_class = next) {
        next = request_class->next_blocked;
        for (group = request_class->groups; group; group = after) {
            after = group->next;
            some = unblock_in_group(s, group) || some;
        }
    }
    return some;
}

bool gang__entitled_unblock(gang_sched *s)
{
    struct gang__wait_class *next, *chosen = NULL;
    if (s->wake.changes == s->wake.changes_done || s->opts.no_preemption ||
        (!s->order.blocked && !s->order.blocked_requests))
        return false;
    s->wake.changes_done = s->wake.changes;
    gang__preempt_look(s);
    for (struct gang__wait_class *wait_class = s->order.blocked; wait_class; wait_class = next) {
        next = wait_class->next_blocked;
        if (gang__preempt_is_worthwhile(s, wait_class, wait_class->why)) {
            gang__order_unblock(s, wait_class);
            chosen = wait_class;
        }
    }
    return unblock_in_groups(s) || chosen;
}

bool gang__preempt_may_help(gang_sched *s, const struct gang__wait_class *wait_class,
                            struct gang__gang *g)
{
    return wait_class->state == GANG__CLASS_BLOCKED &&
           wait_class->backfill.kept == GANG__KEPT_NOT &&
           (gang__preempt_helps(wait_class->why) ||
            (wait_class->why == GANG_WAIT_PLANNED && gang__backfill_lacks_capacity(s, g)));
}

static bool preempt(gang_sched *s, struct gang__gang *g, struct gang__wait_class *wait_class)
{
    gang__preempt_look(s);
    if (!gang__preempt_is_worthwhile(s, wait_class, wait_class->why))
        return false;
    const struct gang__set_link *link = gang__set_next(&g->order.link);
    const struct gang__gang *next = link ? GANG__OF(struct gang__gang, order.link, link) : NULL;
    bool done = gang__preempt_for(s, g);
    if (done && next && next->order.wait_class) /* it is tried in its order, too */
        gang__order_unblock(s, next->order.wait_class);
    return done;
}

bool gang__preempt_here(gang_sched *s, struct gang__gang *g, struct gang__wait_class *wait_class)
{
    return !s->opts.no_preemption && gang__preempt_may_help(s, wait_class, g) &&
           preempt(s, g, wait_class);
}

void gang__preempt_in_order(gang_sched *s, struct gang__gang *g,
                            struct gang__wait_class *wait_class)
{
    if (g->order.wait_class != wait_class || !gang__preempt_may_help(s, wait_class, g))
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
    gang__preempt_look(s);
    for (struct gang__wait_class *class = request_class->ready; class; class = next) {
        next = class->next;
        if (!class->grower && !gang__preempt_is_worthwhile(s, class, GANG_WAIT_CAPACITY))
            gang__order_block_beside(s, class);
    }
    struct gang__class_group *after;
    for (struct gang__class_group *group = request_class->groups; group; group = after) {
        after = group->next;
        bool was_open = group->open;
        gang__group_close(group);
        if (was_open)
            (void)unblock_in_group(s, group);
    }
}
