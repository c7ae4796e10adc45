/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks hold that were asked to stop and have not stopped.
 *
 * They have left the usage of their queues, but limits count them (queue->stopping) until the last
 * task of their stop has stopped. So what counts for a limit is queue->used + queue->stopping.
 *
 * The queues of a taker have its promise in `used` already. A queue above the taker and its victims
 * counts the larger of both, never their sum: of what victims of the handover hold below it, only
 * what exceeds the promise is in `stopping`. handover->below has that sum of each queue above the
 * taker. Without memory for it the promise covers nothing, and limits count more than is held. What
 * moves takes the same at its new places, which are in `used`, too: by_group leaves it out.
 *
 * used + stopping of a queue changes only where a limit was asked before, or falls. That is why the
 * end of a handover asks limits by `used` alone: its promise is in it since limits allowed it. */
#include <string.h>

#include "sched/record/state.h"
#include "sched/usage/usage.h"

/* The amounts that the tasks of a stop took when they ran. A gang that waits again may have its
 * first class. */
static const struct gang__request_class *class_of(const struct gang__stop *stop)
{
    const struct gang__gang *g = stop->gang;
    return g->waits_as ? g->waits_as->partition[stop->partition] : g->request_class;
}

/* What the victims of the handover hold below the queue at this depth above the taker. */
static int64_t *below(const struct gang__handover *handover, uint32_t depth, uint32_t dim)
{
    return &handover->below[(size_t)depth * handover->dims + dim];
}

/* The part of it that the promise does not cover. */
static int64_t uncovered(const struct gang__handover *handover, uint32_t depth, uint32_t dim)
{
    return gang__max(*below(handover, depth, dim) - handover->promise[dim], 0);
}

/* Counts the amount (negative: no more) in a queue above the taker. */
static void add_beside(struct gang__queue_state *q, const struct gang__handover *handover,
                       uint32_t dim, int64_t amount)
{
    q->stopping[dim] -= uncovered(handover, q->q->depth, dim);
    *below(handover, q->q->depth, dim) += amount;
    q->stopping[dim] += uncovered(handover, q->q->depth, dim);
}

static void add(const struct gang__stop *stop, uint32_t dim, int64_t amount)
{
    const struct gang__handover *handover = stop->handover;
    const struct gang__queue_state *above =
        handover && handover->below ? handover->taker->job->leaf : NULL;
    for (struct gang__queue_state *q = stop->gang->job->leaf; q->parent; q = q->parent) {
        while (above && above->parent && above->q->depth > q->q->depth)
            above = above->parent;
        if (above == q)
            add_beside(q, handover, dim, amount);
        else
            q->stopping[dim] += amount;
    }
}

static void count(struct gang__stop *stop, bool enters)
{
    const struct gang__request_class *class = class_of(stop);
    for (uint32_t group = 0; group < stop->groups; group++) {
        uint32_t takes;
        const struct gang__take *take = gang__request_class_takes(class, (int32_t)group, &takes);
        for (uint32_t i = 0; i < takes && stop->by_group[group] > 0; i++) {
            int64_t amount = take[i].amount * stop->by_group[group];
            add(stop, take[i].dim, enters ? amount : -amount);
        }
    }
}

void gang__stopping_note_class(struct gang__stop *stop)
{
    const struct gang__gang *g = stop->gang;
    stop->partition = 0;
    for (uint32_t i = 0; g->waits_as && i < g->waits_as->partition_count; i++)
        if (g->waits_as->partition[i] == g->request_class)
            stop->partition = i;
}

void gang__stopping_in(struct gang__stop *stop)
{
    if (!stop->holds)
        count(stop, true);
    stop->holds = true;
}

void gang__stopping_out(struct gang__stop *stop)
{
    if (stop->holds)
        count(stop, false);
    stop->holds = false;
}

void gang__stopping_move(struct gang__stop *stop, int64_t sign)
{
    bool holds = stop->holds;
    gang__stopping_out(stop);
    for (int64_t i = 0; i < stop->to_count; i++)
        stop->by_group[stop->to[i].group] -= sign;
    if (holds)
        gang__stopping_in(stop);
}

/* ---- what a promise covers ------------------------------------------------------------------- */

void gang__cover_begin(gang_sched *s, struct gang__handover *handover)
{
    size_t levels = handover->taker->job->leaf->q->depth + 1;
    memset(handover->promise, 0, sizeof(handover->promise));
    for (int64_t i = 0; i < handover->place_count; i++) {
        uint32_t count;
        const struct gang__take *take = gang__request_class_takes(
            handover->taker->request_class, handover->places[i].group, &count);
        for (uint32_t k = 0; k < count; k++)
            handover->promise[take[k].dim] += take[k].amount;
    }
    gang__release(&s->mem, handover->below);
    handover->dims = s->dims;
    handover->below = gang__zalloc(&s->mem, levels * s->dims, sizeof(*handover->below));
}

void gang__cover_end(gang_sched *s, struct gang__handover *handover)
{
    struct gang__queue_state *q = handover->taker->job->leaf;
    for (; handover->below && q->parent; q = q->parent)
        for (uint32_t d = 0; d < handover->dims; d++)
            q->stopping[d] +=
                *below(handover, q->q->depth, d) - uncovered(handover, q->q->depth, d);
    gang__release(&s->mem, handover->below);
    handover->below = NULL;
}

/* ---- counting from zero ---------------------------------------------------------------------- */

static void recount_gang(gang_sched *s, const struct gang__gang *g)
{
    for (struct gang__stop *stop = g->stop.first; stop; stop = stop->next) {
        if (g->waits_as)
            (void)gang__request_class_refresh(s, g->waits_as->partition[stop->partition]);
        if (stop->holds)
            count(stop, true);
    }
}

void gang__stopping_recount(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        memset(s->qs[i]->stopping, 0, s->dims * sizeof(*s->qs[i]->stopping));
    for (struct gang__handover *handover = s->stop.handovers; handover; handover = handover->next)
        if (handover->charged)
            gang__cover_begin(s, handover);
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            recount_gang(s, &job->gang[i]);
    }
}
