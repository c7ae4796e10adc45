/* SPDX-License-Identifier: Apache-2.0 */
/* Wake: a part that changes something notes what happened, with its cause; one place drains.
 *
 * A note is a bit, a sum or a link in an intrusive list of struct gang__wake (record/). Noting
 * costs O(1), needs no memory and calls nothing, so that every folder may do it. What must take
 * effect at once is a direct call downwards instead: leaving an order, counting usage, the order
 * of victims.
 *
 *   noted                     drained by
 *   gang__wake_job()          lifecycle, gang__jobs_drain(): settles, sets timers, reports states
 *                             (called by the cycle after each step of a run)
 *   gang__wake_queue()        order, gang__order_next(): puts queues into the order of siblings
 *   gang__wake_capacity()     order, gang__order_unblock_for_capacity(): unblocks classes
 *   gang__wake_candidates()   backfill, gang__candidates_make_ready()
 *   gang__wake_holding()      calendar, gang__calendar_sync(): into the timeline
 *   gang__wake_plans()        backfill, gang__backfill_refresh(): plans are looked at again
 *   gang__wake_reservations() reserve, gang__reserve_due()
 *   gang__wake_shares()       usage, gang__fair_refresh()
 *   gang__wake_slices()       slice, gang__slice_run()
 *   gang__wake_preemption()   cycle: preemption is tried again
 *   gang__wake_event()        the same, where it was not to be tried until an event from outside
 *   gang__wake_run()          cycle: the next run is due now
 *   gang__wake_next_run()     cycle: it is, and it unblocks what this run blocked for itself */
#ifndef GANG__SCHED_WAKE_H
#define GANG__SCHED_WAKE_H

#include "sched/record/state.h"

/* What the gangs of a job may do changed. `causes`: GANG__WAKE_*, added to those noted before. */
void gang__wake_job(gang_sched *s, struct gang__job *job, uint32_t causes);
/* The first noted job, which is not noted any more, and its causes; NULL: none is left. */
struct gang__job *gang__wake_next_job(gang_sched *s, uint32_t *causes);
/* The job is about to be freed. */
void gang__wake_forget_job(gang_sched *s, struct gang__job *job);

/* The state of a job may have changed: report it to the host in a run, note it between runs. */
void gang__job_state(gang_sched *s, struct gang__job *job, int32_t reason, const char *text);

/* Usage, share or head of a queue changed: its key and those of all queues above are computed
 * again. */
static inline void gang__wake_queue(gang_sched *s, struct gang__queue_state *q)
{
    if (q->wake.noted || !q->parent)
        return;
    q->wake.noted = true;
    q->wake.next = s->wake.queues;
    s->wake.queues = q;
}

/* Capacity came free on a node; the arguments are upper bounds for each kind. */
static inline void gang__wake_capacity(gang_sched *s, int64_t cpu, int64_t pages, int64_t gpu)
{
    s->wake.capacity = true;
    s->wake.capacity_cpu = cpu > s->wake.capacity_cpu ? cpu : s->wake.capacity_cpu;
    s->wake.capacity_pages = pages > s->wake.capacity_pages ? pages : s->wake.capacity_pages;
    s->wake.capacity_gpu = gpu > s->wake.capacity_gpu ? gpu : s->wake.capacity_gpu;
}

/* An event happened after which preemption may help a gang that it could not help before. */
static inline void gang__wake_preemption(gang_sched *s)
{
    s->wake.changes++;
}

/* Something happened outside: what was to hold until then (cooldowns, a handover that failed) holds
 * no more. */
static inline void gang__wake_event(gang_sched *s)
{
    s->external_events++;
    if (!s->preempt.until_event)
        return;
    s->preempt.until_event = false;
    gang__wake_preemption(s);
}

/* Capacity came free. How much of it lies on one node is unknown, so all classes may try. */
static inline void gang__wake_capacity_any(gang_sched *s)
{
    gang__wake_capacity(s, INT64_MAX, INT64_MAX, INT64_MAX);
    gang__wake_preemption(s);
}

/* Usage of the leaf went down, or a gang left: the backfill candidates of the leaf are tried
 * again. */
void gang__wake_candidates(gang_sched *s, struct gang__queue_state *leaf);
void gang__wake_all_candidates(gang_sched *s);

/* A gang holds more, less, or for another time: the calendar is to follow. */
void gang__wake_holding(gang_sched *s, struct gang__gang *g);
void gang__wake_forget_holding(struct gang__gang *g);

/* The plans are to be looked at again, for this cause (GANG__PLANS_*). */
static inline void gang__wake_plans(gang_sched *s, uint32_t causes)
{
    if (s->calendar)
        s->wake.plans |= causes;
}

/* An unplanned gang was granted, or a gang lasts longer than planned. */
static inline void gang__wake_calendar(gang_sched *s)
{
    gang__wake_plans(s, GANG__PLANS_EARLIER | GANG__PLANS_MISFIT);
}

/* Usage or demand changed, in leaves and dimensions that gang__wake_share_dims() noted. */
static inline void gang__wake_shares(gang_sched *s)
{
    s->wake.shares = true;
}
static inline void gang__wake_share_dims(gang_sched *s, struct gang__queue_state *leaf,
                                         uint64_t dims)
{
    s->wake.share_dims |= dims;
    if (leaf->wake.share_dims == 0 && dims != 0) {
        leaf->wake.next_share = s->wake.share_queues;
        s->wake.share_queues = leaf;
    }
    leaf->wake.share_dims |= dims;
}
/* The shares follow, or the queues go. */
static inline void gang__wake_forget_share_dims(gang_sched *s)
{
    for (; s->wake.share_queues; s->wake.share_queues = s->wake.share_queues->wake.next_share)
        s->wake.share_queues->wake.share_dims = 0;
    s->wake.share_dims = 0;
}

/* Totals, guarantees, weights or past use changed. */
static inline void gang__wake_all_shares(gang_sched *s)
{
    s->wake.shares = true;
    s->wake.share_dims = UINT64_MAX;
}

/* Reservations are looked at again, for this cause (GANG__RESERVE_*). */
static inline void gang__wake_reservations(gang_sched *s, uint32_t causes)
{
    s->wake.reservations |= causes;
}

/* A gang of a matrix came, went, stopped or may run. */
static inline void gang__wake_slices(gang_sched *s)
{
    s->wake.slices = true;
}

/* Something changed between runs: the next one is due now. */
static inline void gang__wake_run(gang_sched *s)
{
    s->wake.run = true;
}

/* This run cannot go on with something (memory, a busy record, a limit of the run): the next one
 * is due at once, and tries again. */
static inline void gang__wake_next_run(gang_sched *s)
{
    s->wake.retry = true;
}

#endif
