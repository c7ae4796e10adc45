/* SPDX-License-Identifier: Apache-2.0 */
/* Handovers of a scheduler that a host restores. The host kept which gangs stop, for which job, and
 * where that job, and gangs that move, are to go. Once the jobs are there, the handovers go on. If
 * the host did not keep the places of the taker, it is placed where it fits without what stops, as
 * in the dry run of an attempt. */
#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "sched/grant/grant.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/preempt/preempt_in.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"

typedef bool each_fn(gang_sched *s, struct gang__stop *stop, void *with);

/* All stops that are to be looked at, until one function says no. */
static bool each_restored(gang_sched *s, each_fn *each, void *with)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            for (struct gang__stop *stop = job->gang[i].stop.first; stop; stop = stop->next)
                if (stop->restored && !each(s, stop, with))
                    return false;
    }
    return true;
}

/* Handovers are made in the order in which they were; if the host does not say it, by the end of
 * the grace, then by job. */
static bool is_before(const struct gang__stop *a, const struct gang__stop *b)
{
    if (a->restored != b->restored)
        return a->restored < b->restored;
    return a->deadline_ns != b->deadline_ns ? a->deadline_ns < b->deadline_ns
                                            : a->because < b->because;
}

static bool find_first(gang_sched *s, struct gang__stop *stop, void *with)
{
    struct gang__stop **first = with;
    (void)s;
    if (!*first || is_before(stop, *first))
        *first = stop;
    return true;
}

/* In the snapshot, what stops for the taker has stopped. */
static bool release_in_snapshot(gang_sched *s, struct gang__stop *stop, void *with)
{
    const struct gang__gang *taker = with;
    gang_node_id node;
    return stop->because != taker->job->id || stop->own_count == 0 ||
           gang__snapshot_release_where(s->scratch, stop->alloc, stop->own, stop->own_count,
                                        &node) == GANG_OK;
}

/* From here on the promise to the taker covers what the stop holds: see usage/held.c. */
static bool hand_over(gang_sched *s, struct gang__stop *stop, void *with)
{
    struct gang__handover *handover = with;
    (void)s;
    if (stop->because != handover->taker->job->id)
        return true;
    stop->restored = 0;
    gang__stopping_out(stop);
    stop->handover = handover;
    stop->next_of_handover = handover->stops;
    handover->stops = stop;
    return true;
}

/* Nothing is handed over to that job: what stops for it is released. */
static bool forget(gang_sched *s, struct gang__stop *stop, void *with)
{
    (void)s;
    if (stop->because == *(const gang_job_id *)with)
        stop->restored = 0;
    return true;
}

/* The first gang of the job that waits to start or to grow. */
static struct gang__gang *taker_of(const gang_sched *s, gang_job_id id)
{
    struct gang__job *job = gang__job_of(s, id);
    for (uint32_t i = 0; job && i < job->gang_count; i++)
        if (job->gang[i].order.wait_class && !job->gang[i].places)
            return &job->gang[i];
    return NULL;
}

/* The places that the host kept. The handover looks for others in the end if these are taken. */
static gang_result as_promised(gang_sched *s, const struct gang__gang *taker)
{
    const struct gang__job *job = taker->job;
    s->placement.count = 0;
    for (size_t i = 0; i < job->restored->promised_count; i++)
        if (gang__snapshot_adopt(s->worker, s->scratch, gang__gang_request(taker),
                                 &job->restored->promised[i]) == GANG_ENOMEM ||
            !gang__places_add(&s->placement, &s->cluster->mem, &job->restored->promised[i]))
            return GANG_ENOMEM;
    return GANG_OK;
}

/* Finds a place for the taker, or for more of its tasks, in one of its partitions, if it has
 * some. */
static gang_result place(const struct gang__preemption *p)
{
    gang_sched *s = p->s;
    struct gang__gang *g = p->taker;
    if (g->job->restored->promised_count > 0)
        return as_promised(s, g);
    struct gang__where w = gang__preempt_where(p);
    if (p->grow_group >= 0)
        return gang__where_grow(&w, (uint32_t)p->grow_group, p->step, &s->placement);
    uint32_t count = gang__partition_count(g);
    gang_result r = count == 0 ? gang__where_place(&w, &s->placement) : GANG_ENOFIT;
    for (uint32_t i = 0; i < count && r != GANG_OK && r != GANG_ENOMEM; i++) {
        gang__partition_try(g, i);
        r = gang__where_place(&w, &s->placement);
        if (r != GANG_OK)
            gang__partition_try_end(g);
    }
    return r;
}

/* What has stopped already is over now: it is released, or waits for the others of its handover. */
static void end_stopped(gang_sched *s, struct gang__gang *g)
{
    const int64_t none = 0;
    gang__stop_tasks_gone(s, g, &none, 0);
}

/* Gangs that stop for the handover and move: their new places are kept, too. */
static void begin_moves(gang_sched *s, struct gang__handover *handover)
{
    for (struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover) {
        if (stop->gave_up)
            gang__handover_hold(s, handover, stop->to, stop->to_count);
        if (stop->stopped)
            continue;
        struct gang__job *job = stop->gang->job;
        if (stop->to && !stop->gave_up && !stop->gang->stop.moving) {
            gang__move_begin(s, stop);
            gang__job_count(s, job);
            gang__job_settle(s, job);
        }
        gang__stopping_in(stop);
    }
    for (struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover)
        if (stop->left == 0 && !stop->stopped)
            end_stopped(s, stop->gang);
}

/* In the snapshot, what moves for the taker is on its new places. False: out of memory. */
static bool move_in_snapshot(gang_sched *s, struct gang__stop *stop, void *with)
{
    const struct gang__gang *taker = with;
    gang_result r = GANG_OK;
    if (stop->because != taker->job->id || !stop->gang)
        return true;
    for (int64_t i = 0; i < stop->to_count && r != GANG_ENOMEM; i++)
        r = gang__snapshot_adopt(s->worker, s->scratch, gang__gang_request(stop->gang),
                                 &stop->to[i]);
    return r != GANG_ENOMEM;
}

/* GANG_ENOMEM: nothing changed. */
static gang_result restore(gang_sched *s, struct gang__gang *taker, int32_t reason)
{
    if (gang_snapshot_take(s->worker, s->preempt.base) != GANG_OK ||
        gang__snapshot_copy(s->scratch, s->preempt.base) != GANG_OK)
        return GANG_ENOMEM;
    if (!each_restored(s, release_in_snapshot, taker))
        return GANG_ENOMEM;
    for (struct gang__stop *stop = s->stop.kept; stop; stop = stop->next_of_handover)
        if (!release_in_snapshot(s, stop, taker))
            return GANG_ENOMEM;
    struct gang__preemption p;
    gang__preempt_set_up(&p, s, taker);
    gang_result r = place(&p);
    if (r == GANG_OK && !each_restored(s, move_in_snapshot, taker))
        r = GANG_ENOMEM;
    for (struct gang__stop *stop = s->stop.kept; r == GANG_OK && stop;
         stop = stop->next_of_handover)
        r = move_in_snapshot(s, stop, taker) ? GANG_OK : GANG_ENOMEM;
    if (r != GANG_OK)
        return r;
    struct gang__handover *handover =
        gang__handover_new(s, taker, &s->placement, p.grow_group, reason);
    if (!handover)
        return GANG_ENOMEM;
    gang__kept_hand_over(s, handover);
    (void)each_restored(s, hand_over, handover);
    gang__partition_keep(s, taker);
    gang__handover_begin(s, handover);
    begin_moves(s, handover);
    gang__job_settle(s, taker->job);
    return GANG_OK;
}

/* Gangs that have stopped and cannot move any more wait again. */
static void end_all_stopped(gang_sched *s)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            if (job->gang[i].stop.first)
                end_stopped(s, &job->gang[i]);
    }
}

void gang__handovers_restore(gang_sched *s)
{
    while (s->stop.restored) {
        struct gang__stop *stop = NULL;
        (void)each_restored(s, find_first, &stop);
        s->stop.restored = stop != NULL;
        if (!stop)
            break;
        gang_job_id because = stop->because;
        struct gang__gang *taker = taker_of(s, because);
        gang_result r = taker ? restore(s, taker, stop->starts_as) : GANG_ENOFIT;
        if (r == GANG_ENOMEM) {
            s->no_memory = true;
            break;
        }
        (void)each_restored(s, forget, &because);
    }
    if (s->stop.restored)
        return;
    gang__kept_drop(s, NULL); /* nothing is handed over to those jobs */
    end_all_stopped(s);
}
