/* SPDX-License-Identifier: Apache-2.0 */
/* Consolidation: an attempt with every preemptible gang, and every task above a minimum, as a
 * candidate, which fails if any victim is lost rather than moved. */

#include "core/cluster.h"
#include <string.h>

#include "sched/preempt/preempt_in.h"

enum { MOST_MOVABLE = 1024 }; /* candidates of an attempt */

static int32_t mark_node(const struct gang_task *task, void *user)
{
    const gang_sched *s = user;
    const struct gang__node *node = gang__snapshot_node_of(s->preempt.base, task->node);
    if (node)
        s->preempt.victims->theirs[node->slot / 64] |= UINT64_C(1) << (node->slot % 64);
    return 0;
}

/* Place the taker on the nodes of the victims alone, so that free capacity elsewhere is left to the
 * victims. */
static bool place_on_theirs(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->preempt.victims;
    struct gang__where w = gang__preempt_where(p);
    size_t words = w.on->end / 64 + 1;
    if (!gang__grow(&s->mem, (void **)&v->theirs, &v->theirs_cap, words, sizeof(*v->theirs))) {
        v->failed = true;
        return false;
    }
    memset(v->theirs, 0, words * sizeof(*v->theirs));
    for (size_t i = 0; i < v->count; i++)
        (void)!gang__alloc_each(s->cluster, v->list[i].g->alloc, mark_node, s);
    w.only = v->theirs;
    w.only_end = w.on->end;
    return gang__preempt_place_in(p, &w);
}

/* Take the first `count` victims that may move: gangs, and tasks above a minimum, of those whose
 * start the host has not heard of (untold), or of the others. False: there are fewer. */
static bool take_first(struct gang__preemption *p, size_t count, bool untold)
{
    gang_sched *s = p->s;
    struct gang__victim v;
    if (!gang__victims_open(s, p->taker->job->leaf, true, true))
        s->preempt.victims->failed = true;
    while (s->preempt.victims->count < count && gang__victims_next(s, &v)) {
        s->steps++;
        if (v.g->untold.start == untold && gang__preempt_may_take(p, &v) == GANG__MAY &&
            gang__cooldown_rule(s, &v, p->taker, NULL) == GANG_PROTECTED_NOT &&
            !gang__stays_where_it_is(s, v.g))
            (void)!gang__preempt_take(p, &v);
    }
    gang__victims_close(s);
    return s->preempt.victims->count == count;
}

/* Candidates are doubled until the taker has a place and no victim is lost. Each number is tried
 * with the taker anywhere, and with the taker on the nodes of the victims. */
static bool consolidate(struct gang__preemption *p, bool untold)
{
    for (size_t count = 1; count <= MOST_MOVABLE; count *= 2)
        for (int theirs = 0; theirs < 2; theirs++) {
            if (!gang__preempt_begin(p, GANG__PREEMPT_MOVE))
                return false;
            bool all = take_first(p, count, untold);
            bool found = p->s->preempt.victims->count > 0 &&
                         (theirs ? place_on_theirs(p) : gang__preempt_place(p));
            if (gang__preempt_end(p, found && gang__preempt_settle(p)))
                return true;
            if (!all && theirs)
                return false;
        }
    return false;
}

/* First gangs of which the host has not heard: they take other places, and no process moves. */
bool gang__preempt_consolidate(struct gang__preemption *p)
{
    return (p->s->untold.starts.first && consolidate(p, true)) || consolidate(p, false);
}
