/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks hold that were asked to stop and have not stopped.
 *
 * They have left the usage of their queues, but limits count them (queue->stopping) until the last
 * task of their stop has stopped. So what counts for a limit is queue->used + queue->stopping.
 *
 * What is handed over counts for the taker, whose queues have the promise in `used` already. So the
 * promise *covers* as much of what its victims hold, in each dimension, first come, first served;
 * only what victims hold beyond it counts for their queues. A queue above taker and victims thus
 * counts the larger of both, never their sum. What moves takes the same at its new places, which
 * are in `used`, too: by_group leaves it out.
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

static void add(const struct gang__stop *stop, uint32_t dim, int64_t amount)
{
    for (struct gang__queue_state *q = stop->gang->job->leaf; q->parent; q = q->parent)
        q->stopping[dim] += amount;
}

/* The promise that the handover of the stop has left covers a part of the amount. Returns it. */
static int64_t cover(struct gang__stop *stop, uint32_t dim, int64_t amount)
{
    struct gang__handover *handover = stop->handover;
    int64_t part = handover && handover->covers ? gang__min(handover->cover[dim], amount) : 0;
    if (part > 0) {
        handover->cover[dim] -= part;
        stop->covered[dim] += part;
    }
    return part;
}

static int64_t uncover(struct gang__stop *stop, uint32_t dim, int64_t amount)
{
    int64_t part = gang__min(stop->covered[dim], amount);
    stop->covered[dim] -= part;
    return part;
}

static void count(struct gang__stop *stop, bool enters)
{
    const struct gang__request_class *class = class_of(stop);
    for (uint32_t group = 0; group < stop->groups; group++) {
        uint32_t takes;
        const struct gang__take *take = gang__request_class_takes(class, (int32_t)group, &takes);
        for (uint32_t i = 0; i < takes && stop->by_group[group] > 0; i++) {
            int64_t amount = take[i].amount * stop->by_group[group];
            if (enters)
                add(stop, take[i].dim, amount - cover(stop, take[i].dim, amount));
            else
                add(stop, take[i].dim, uncover(stop, take[i].dim, amount) - amount);
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

void gang__cover_begin(struct gang__handover *handover)
{
    memset(handover->cover, 0, sizeof(handover->cover));
    handover->covers = true;
    for (int64_t i = 0; i < handover->place_count; i++) {
        uint32_t count;
        const struct gang__take *take = gang__request_class_takes(
            handover->taker->request_class, handover->places[i].group, &count);
        for (uint32_t k = 0; k < count; k++)
            handover->cover[take[k].dim] += take[k].amount;
    }
}

void gang__cover_end(struct gang__handover *handover)
{
    handover->covers = false;
    for (struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover)
        for (uint32_t d = 0; d < GANG__DIMS && stop->holds; d++)
            if (stop->covered[d] > 0) {
                add(stop, d, stop->covered[d]);
                stop->covered[d] = 0;
            }
}

/* ---- counting from zero ---------------------------------------------------------------------- */

static void recount_gang(gang_sched *s, const struct gang__gang *g)
{
    for (struct gang__stop *stop = g->stop.first; stop; stop = stop->next) {
        if (g->waits_as)
            (void)gang__request_class_refresh(s, g->waits_as->partition[stop->partition]);
        memset(stop->covered, 0, sizeof(stop->covered));
        if (stop->holds)
            count(stop, true);
    }
}

void gang__stopping_recount(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        memset(s->qs[i]->stopping, 0, s->dims * sizeof(*s->qs[i]->stopping));
    for (struct gang__handover *handover = s->stop.handovers; handover; handover = handover->next)
        if (handover->covers)
            gang__cover_begin(handover);
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        for (uint32_t i = 0; i < job->gang_count; i++)
            recount_gang(s, &job->gang[i]);
    }
}
