/* SPDX-License-Identifier: Apache-2.0 */
/* Counts running and waiting jobs, in their queues and for their users. Unblocks wait classes
 * when a count or the usage of a queue goes down. */
#include "base/atomic.h"
#include "sched/order/order_in.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* Classes with several partitions may wait for a bound in one of them, and for capacity in another
 * one: they are blocked for capacity, and tried again for either. */
static void unblock_partitioned(gang_sched *s)
{
    struct gang__request_class *of = s->order.blocked_requests, *next;
    for (; of; of = next) {
        next = of->next_blocked;
        if (of->partition_count > 0)
            gang__order_unblock_all(s, &of->blocked);
    }
}

void gang__order_unblock_queues(gang_sched *s, struct gang__queue_state *leaf)
{
    for (struct gang__queue_state *q = leaf; q; q = q->parent)
        gang__order_unblock_all(s, &q->order.blocked);
    if (s->usage.partitioned > 0)
        unblock_partitioned(s);
    gang__wake_candidates(s, leaf);
    gang__wake_preemption(s);
}

void gang__handover_promise_job(struct gang__handover *handover, bool comes)
{
    struct gang__job *job = handover->taker->job;
    int64_t more = comes - handover->counted_promised;
    for (struct gang__queue_state *q = job->leaf; q; q = q->parent)
        q->promised += more;
    if (job->leaf_user)
        job->leaf_user->promised += more;
    if (job->array)
        job->array->promised += more;
    handover->counted_promised = comes;
}

/* A job that runs is not about to run, too: while another of its gangs runs, the handover of one
 * that waits does not count. */
static void promise_again(struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].stop.handover && job->gang[i].stop.handover->charged)
            gang__handover_promise_job(job->gang[i].stop.handover, !job->counted_running);
}

/* A gang that stops counts as running until it has stopped; a gang that moves, until it runs at
 * its new place. */
void gang__job_count(gang_sched *s, struct gang__job *job)
{
    bool runs = false, ended = job->state == GANG_JOB_ENDED;
    for (uint32_t i = 0; i < job->gang_count; i++)
        runs = runs || job->gang[i].alloc != GANG_ID_NONE || job->gang[i].stop.first ||
               job->gang[i].stop.moving;
    runs = runs && !ended;
    bool waits = !runs && !ended;
    if (runs == job->counted_running && waits == job->counted_pending &&
        job->leaf->q->order != GANG_ORDER_MULTIFACTOR && !job->leaf->q->budgeted)
        return;
    for (struct gang__queue_state *q = job->leaf; q; q = q->parent) {
        q->running += runs - job->counted_running;
        q->pending += waits - job->counted_pending;
        gang__store_relaxed(&q->waiting, (uint64_t)q->pending); /* the owner alone writes it */
    }
    if (job->leaf_user)
        job->leaf_user->running += runs - job->counted_running;
    if (job->array)
        job->array->running += runs - job->counted_running;
    bool starts = runs && !job->counted_running;
    for (uint32_t i = 0; job->gang_count > 1 && starts && i < job->gang_count; i++)
        /* each gang waits by itself now, see gang__job_settle() */
        gang__order_leave(s, &job->gang[i]);
    if (job->leaf->q->order == GANG_ORDER_MULTIFACTOR)
        gang__multifactor_watch(s, job->leaf);
    for (struct gang__queue_state *q = job->leaf; job->leaf->q->budgeted && q->parent;
         q = q->parent)
        if (q->q->budget_count > 0)
            gang__budget_watch(s, q);
    bool fewer = job->counted_running && !runs, changed = job->counted_running != runs;
    job->counted_running = runs;
    job->counted_pending = waits;
    if (changed && !ended)
        promise_again(job);
    if (fewer)
        gang__order_unblock_queues(s, job->leaf);
}
