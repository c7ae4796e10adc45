/* SPDX-License-Identifier: Apache-2.0 */
/* Handovers: victims free capacity for one gang, the taker.
 *
 * A handover keeps what its victims held, and what was free already at the places of the taker
 * (hold_free.c).
 * So no other gang takes it meanwhile. When all victims have stopped, grant/handover_finish.c
 * releases it and starts the taker at once. If the taker gives up, the handover releases it.
 * A gang that moves is a victim, and its new places are kept in the same way. */
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/stop/stop_in.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"
#include <stdlib.h>
#include <string.h>

/* ---- handovers ------------------------------------------------------------------------------- */

struct gang__handover *gang__handover_new(gang_sched *s, struct gang__gang *taker,
                                          const struct gang__places *places, int32_t grow_group,
                                          int32_t reason)
{
    struct gang__handover *handover = gang__zalloc(&s->mem, 1, sizeof(*handover));
    if (!handover)
        return NULL;
    handover->places = gang__zalloc(&s->mem, places->count, sizeof(*handover->places));
    if (!handover->places) {
        gang__release(&s->mem, handover);
        return NULL;
    }
    memcpy(handover->places, places->place, places->count * sizeof(*handover->places));
    handover->place_count = (int64_t)places->count;
    handover->grow_group = grow_group;
    handover->reason = reason;
    handover->taker = taker;
    handover->next = s->stop.handovers;
    s->stop.handovers = handover;
    return handover;
}

/* The queues count what the taker is about to get, so that no other gang relies on it. */
void gang__handover_count_usage(gang_sched *s, struct gang__handover *handover, int64_t sign)
{
    if (handover->charged == (sign > 0))
        return;
    gang__usage_charge_handover(s, handover, sign);
    if (sign > 0)
        gang__cover_begin(s, handover);
    else
        gang__cover_end(s, handover);
    handover->charged = sign > 0;
    gang__handover_promise_job(handover, sign > 0 && !handover->taker->job->counted_running);
    if (handover->taker->job->leaf_user)
        gang__order_rekey_user(s, handover->taker->job->leaf, handover->taker->job->leaf_user);
    gang__wake_queue(s, handover->taker->job->leaf);
    if (sign < 0 && handover->taker->job->leaf->q->budgeted) /* time passed since the promise */
        gang__order_unblock_queues(s, handover->taker->job->leaf);
}

void gang__handover_begin(gang_sched *s, struct gang__handover *handover)
{
    gang__order_leave(s, handover->taker);
    handover->taker->stop.handover = handover;
    handover->starts_ns = gang__add_sat(s->now_ns, gang__longest_grace(s));
    gang__handover_count_usage(s, handover, 1);
    gang__handover_hold(s, handover, handover->places, handover->place_count);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* A gang that moves, or tasks of it, are sure to start again: the handover also keeps what is free
 * at the new places, and the queues of the gang count it. */
void gang__move_begin(gang_sched *s, struct gang__stop *stop)
{
    stop->gang->stop.moving = stop;
    gang__usage_charge_move(s, stop, 1);
    gang__stopping_move(stop, 1);
    gang__handover_hold(s, stop->handover, stop->to, stop->to_count);
}

void gang__move_end(gang_sched *s, struct gang__gang *g)
{
    struct gang__stop *stop = g->stop.moving;
    if (!stop)
        return;
    g->stop.moving = NULL;
    gang__usage_charge_move(s, stop, -1);
    gang__stopping_move(stop, -1);
    gang__wake_queue(s, g->job->leaf);
    gang__order_unblock_queues(s, g->job->leaf);
}

/* The move was cancelled, or the start at the new places failed: the gang waits like others. */
void gang__move_failed(gang_sched *s, struct gang__gang *g)
{
    gang__job_count(s, g->job);
    if (g->alloc == GANG_ID_NONE)
        gang__job_state(s, g->job, GANG_REASON_NONE, "waits again");
    gang__wake_job(s, g->job, GANG__WAKE_SETTLE);
}

bool gang__stop_is_moving(const struct gang__stop *stop)
{
    return stop->gang && stop->gang->stop.moving == stop;
}

void gang__handover_free(gang_sched *s, struct gang__handover *handover)
{
    struct gang__handover **at = &s->stop.handovers;
    while (*at != handover)
        at = &(*at)->next;
    *at = handover->next;
    gang__handover_release_holds(s, handover);
    gang__release(&s->mem, handover->holds);
    gang__release(&s->mem, handover->places);
    gang__release(&s->mem, handover->below);
    gang__release(&s->mem, handover);
}

void gang__handover_give_up(gang_sched *s, struct gang__handover *handover)
{
    if (!handover->taker)
        return;
    gang__handover_count_usage(s, handover, -1);
    gang__order_unblock_queues(s, handover->taker->job->leaf);
    handover->taker->stop.handover = NULL;
    handover->taker = NULL;
    gang__handover_release_holds(s, handover);
    while (handover->stops) { /* unlinked first: no walk over the handovers sees a released stop */
        struct gang__stop *stop = handover->stops;
        handover->stops = stop->next_of_handover;
        stop->handover = NULL;
        if (gang__stop_is_moving(stop)) {
            gang__move_end(s, stop->gang);
            gang__move_failed(s, stop->gang);
        }
        if (stop->stopped) {
            gang__stop_release(s, stop);
            gang__stop_free(s, stop);
        }
    }
    gang__handover_free(s, handover);
    gang__wake_capacity_any(s);
}

static void forget_in_list(struct gang__stop *stop, const struct gang__job *job)
{
    for (; stop; stop = stop->next_of_handover)
        if (stop->gang && stop->gang->job == job)
            stop->gang = NULL;
}

void gang__stops_forget(gang_sched *s, const struct gang__job *job)
{
    for (struct gang__handover *handover = s->stop.handovers; handover; handover = handover->next)
        forget_in_list(handover->stops, job);
    forget_in_list(s->stop.deferred, job);
    forget_in_list(s->stop.kept, job);
}
