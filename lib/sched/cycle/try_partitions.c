/* SPDX-License-Identifier: Apache-2.0 */
/* A gang with several partitions is tried in one after the other, in the order of its job; those in
 * which its leaf would borrow come last, if the leaf says so. It starts in the first one that has a
 * place. If none has, it is blocked for the reason that is most likely to change. */
#include "sched/calendar/calendar.h"
#include "sched/cycle/cycle_in.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/preempt/preempt.h"
#include "sched/usage/usage.h"

struct tries {
    gang_sched *s;
    struct gang__gang *g;
    struct gang__wait_class *class;
    gang_result result; /* GANG_ENOFIT: it is blocked, for this reason: */
    int32_t why;        /* GANG_WAIT_*; 0: no partition was tried yet */
    struct gang__queue_state *by;
    uint32_t dim;
    bool capacity;  /* some partition lacks it */
    bool planned;   /* in the first partition */
    bool preempted; /* victims stop for it, or have stopped */
};

static bool is_refused(gang_result r)
{
    return r == GANG_ENOFIT || r == GANG_ENEVER;
}

/* Of the reasons in several partitions, the first of the highest rank is kept: if a partition could
 * not be tried, the next run tries it; if the gang waits for capacity in one of them, it bars and
 * preempts others as a gang that does. */
static int rank_of(int32_t why)
{
    return why == GANG_WAIT_NOT_TRIED  ? 4
           : why == GANG_WAIT_CAPACITY ? 3
           : why == GANG_WAIT_PLANNED  ? 2
                                       : gang__preempt_helps(why);
}

/* Try the gang in its i-th partition. True: the tries are over; its class is that of the
 * partition. */
static bool try_in(struct tries *t, uint32_t i, gang_alloc_id *id)
{
    const struct gang__wait_class *class = t->class;
    gang__partition_try(t->g, i);
    t->result = gang__try_start(t->s, t->g, id);
    if (!is_refused(t->result))
        return true;
    t->planned = t->planned || t->g->calendar.plan;
    t->capacity = t->capacity || gang__waits_for_capacity(class->why);
    if (t->why == 0 || rank_of(class->why) > rank_of(t->why)) {
        t->why = class->why;
        t->by = class->blocked_by;
        t->dim = class->dim;
    }
    t->preempted = t->g->job->leaf->q->preempt_in_order && gang__preempt_here(t->s, t->g, t->class);
    return t->preempted;
}

/* Would the leaf exceed its guarantee if the gang started in the i-th partition? */
static bool borrows(const struct gang__gang *g, uint32_t i)
{
    const struct gang__queue_state *leaf = g->job->leaf;
    const struct gang__request_class *in = g->waits_as->partition[i];
    return !gang__usage_stays_within(leaf, leaf->guarantee, in->gang_take, in->gang_take_count);
}

/* Try the partitions in order; those in which the leaf would borrow come last, if it says so. */
static bool try_each(struct tries *t, gang_alloc_id *id)
{
    bool last = t->g->job->leaf->q->borrow_last;
    for (int pass = 0; pass < 1 + last; pass++)
        for (uint32_t i = 0; i < t->g->waits_as->partition_count; i++)
            if ((!last || borrows(t->g, i) == (pass > 0)) && try_in(t, i, id))
                return true;
    if (!t->planned || t->g->calendar.plan)
        return false;
    gang__partition_try(t->g, 0); /* a gang that is tried loses its plan: it gets it back */
    t->result = gang__try_start(t->s, t->g, id);
    return !is_refused(t->result);
}

gang_result gang__try_partitions(gang_sched *s, struct gang__gang *g, gang_alloc_id *id)
{
    struct tries t = {.s = s, .g = g, .class = g->order.wait_class, .result = GANG_ENOFIT};
    bool over = try_each(&t, id);
    if (t.preempted)
        return GANG_ENOFIT;
    t.class->some_capacity = t.capacity && !over;
    if (over && t.result == GANG_OK) { /* the next gang of the class is tried, too */
        gang__order_unblock(s, t.class);
        return GANG_OK;
    }
    gang__partition_try_end(g);
    if (!over)
        gang__order_block(s, t.class, t.why, t.by, t.dim);
    return t.result;
}
