/* SPDX-License-Identifier: Apache-2.0 */
/* Wait classes in a copy (copy.h). All gangs are in their classes and ready. Classes that are
 * blocked or deferred in the original are put into the same state. Otherwise each would be tried
 * once, and a gang that the original does not try could start here. */
#include "core/commit/commit.h"
#include "place/alloc/alloc.h"
#include "sched/backfill/backfill.h"
#include "sched/copy/copy_in.h"
#include "sched/intake/intake.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/wake/wake.h"

static struct gang__queue_state *queue_as(gang_sched *s, const struct gang__queue_state *from)
{
    return !from ? NULL : from->q ? gang__queue_state_of(s, from->q->id) : &s->root;
}

/* A wait class, found by its first gang. */
static void copy_wait_class(gang_sched *s, struct gang__wait_class *to,
                            const struct gang__wait_class *from)
{
    if (from->state == GANG__CLASS_BLOCKED && !gang__group_is_open(from)) {
        to->some_capacity = from->some_capacity;
        gang__order_block(s, to, from->why, queue_as(s, from->blocked_by), from->dim);
        gang__order_set_bar(to, from->at_barring != NULL);
        gang__wake_queue(s, to->leaf);
    } else if (from->deferred) {
        gang__order_defer(s, to, from->deferred_key);
    }
    to->tried = from->tried;
    to->demand_at = from->demand_at;
    to->spared = from->spared;
    gang__candidates_copy(s, to, from);
}

/* When something of it was last said to be due, be it over by now. */
static void copy_timer(gang_sched *s, struct gang__job *to, const struct gang__job *from)
{
    if (to->due_ns == from->due_ns)
        return;
    gang__timer_clear(s, to);
    to->due_ns = from->due_ns;
    if (to->due_ns != INT64_MAX)
        gang__set_insert(&s->timers, &to->timer);
}

static bool is_head(const struct gang__gang *g)
{
    return g->order.wait_class && gang__set_first(&g->order.wait_class->gangs) == &g->order.link;
}

/* The capacity freed since classes were last looked at. */
static void copy_freed(gang_sched *s, const gang_sched *from)
{
    bool others = gang__capacity_stamp(from->cluster) - from->order.capacity_stamp !=
                  gang__worker_stamp(from->worker) - from->order.own_stamp;
    s->order.own_stamp = gang__worker_stamp(s->worker);
    s->order.capacity_stamp = gang__capacity_stamp(s->cluster) - others;
    s->wake.capacity = from->wake.capacity;
    s->wake.capacity_cpu = from->wake.capacity_cpu;
    s->wake.capacity_pages = from->wake.capacity_pages;
    s->wake.capacity_gpu = from->wake.capacity_gpu;
}

/* Of the first gangs, the starved ones, or the others. */
static void copy_heads(gang_sched *s, const gang_sched *from, bool starved)
{
    for (struct gang__set_link *n = gang__set_first(&from->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *from_job = GANG__OF(struct gang__job, by_id, n);
        struct gang__job *job = gang__job_of(s, from_job->id);
        for (uint32_t i = 0; i < job->gang_count; i++)
            if (!from_job->gang[i].starved != starved && is_head(&from_job->gang[i]) &&
                job->gang[i].order.wait_class)
                copy_wait_class(s, job->gang[i].order.wait_class,
                                from_job->gang[i].order.wait_class);
    }
}

void gang__order_copy(gang_sched *s, const gang_sched *from)
{
    for (uint32_t i = 0; i < from->queues->count; i++) {
        gang__order_copy_users(s, queue_as(s, from->qs[i]), from->qs[i]);
        gang__multifactor_copy(s, queue_as(s, from->qs[i]), from->qs[i]);
    }
    copy_heads(s, from, true); /* first: a class that bars no other one now wakes those it barred */
    copy_heads(s, from, false);
    for (struct gang__set_link *n = gang__set_first(&from->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        copy_timer(s, gang__job_of(s, job->id), job);
    }
    for (uint32_t i = 0; i < from->queues->count; i++)
        gang__candidates_copy_leaf(s, queue_as(s, from->qs[i]), from->qs[i]);
    s->backfill.changes_seen = from->backfill.changes_seen;
    copy_freed(s, from);
    s->wake.changes = from->wake.changes;
    s->wake.changes_done = from->wake.changes_done;
}
