/* SPDX-License-Identifier: Apache-2.0 */
/* Consolidation: the same as making room, with everybody as a candidate; it fails if anybody is
 * lost. */
#include "sched/preempt/consolidate.h"

#include "core/snapshot.h"
#include "sched/preempt/dry_run.h"
#include "sched/preempt/preempt_rules.h"
#include "sched/preempt/victims.h"

enum { MOST_MOVABLE = 1024 }; /* candidates of a consolidation */

/* Not one that is drained, or reserved: whoever runs there may go, but the taker does not start there. */
static int32_t open_node(const struct gang_task *task, void *user)
{
    const gang_sched *s = user;
    const struct gang__node *node = gang__snapshot_node_of(s->base, task->node);
    if (node && gang__snapshot_state(s->base, node->slot) == GANG__STATE_UP)
        gang__snapshot_state_as(s->scratch, node->slot, GANG__STATE_UP);
    return 0;
}

/* Place the taker on the nodes of the victims alone, so that what is free elsewhere is left to
 * them. */
static bool place_on_theirs(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    gang_snapshot *all = s->scratch;
    for (uint32_t slot = GANG__POOL + 1; slot < all->end; slot++)
        if (all->node[slot] && gang__snapshot_state(all, slot) == GANG__STATE_UP)
            gang__snapshot_state_as(all, slot, GANG__STATE_DRAINING);
    for (size_t i = 0; i < s->victims->count; i++)
        (void)!gang_alloc_each(s->cluster, s->victims->list[i].u->alloc, open_node, s);
    bool found = gang__preempt_place(p);
    for (uint32_t slot = GANG__POOL + 1; slot < all->end; slot++)
        if (all->node[slot])
            gang__snapshot_state_as(all, slot, gang__snapshot_state(s->base, slot));
    return found;
}

/* The first `count` that may be moved. False: there are not so many. */
static bool take_first(struct gang__preemption *p, size_t count)
{
    gang_sched *s = p->s;
    struct gang__victim v;
    if (!gang__victims_open(s, p->taker->job->leaf, true, true))
        s->victims->failed = true;
    while (s->victims->count < count && gang__victims_next(s, &v)) {
        s->steps++;
        if (v.whole && v.u->took_in != s->runs && gang__may_take(p, v.u) == GANG__MAY)
            (void)!gang__preempt_take(p, &v);
    }
    gang__victims_close(s);
    return s->victims->count == count;
}

/* More and more of them, until the taker has a place and nobody is lost. Each number is tried with
 * the taker wherever it likes, and on their nodes alone. */
bool gang__preempt_consolidate(struct gang__preemption *p)
{
    for (size_t count = 1; count <= MOST_MOVABLE; count *= 2)
        for (int theirs = 0; theirs < 2; theirs++) {
            if (!gang__preempt_begin(p, GANG__EVICT_MOVE))
                return false;
            bool all = take_first(p, count);
            bool found =
                p->s->victims->count > 0 && (theirs ? place_on_theirs(p) : gang__preempt_place(p));
            if (gang__preempt_end(p, found && gang__preempt_settle(p)))
                return true;
            if (!all && theirs)
                return false;
        }
    return false;
}
