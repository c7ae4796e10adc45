/* SPDX-License-Identifier: Apache-2.0 */
/* Finishing a handover when all its victims have stopped: the taker starts on the places, and moved
 * gangs start on theirs. */
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/request/request.h"
#include "sched/calendar/calendar.h"
#include "sched/grant/grant.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/wait_order.h"
#include "sched/record/job_record.h"
#include "sched/reserve/reserve.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"
#include "sched/where/where.h"

static bool start_moved(gang_sched *s, struct gang__stop *l)
{
    struct gang__gang *g = l->gang;
    gang_alloc_id id;
    if (g->job->held || gang__places_up(s, l->to, l->to_count) != GANG_OK ||
        !gang__class_refresh(s, g->request_class) || !gang__limits_allow(s, g, -1, 1) ||
        gang_alloc_adopt(s->worker, g->request_class->q, l->to, l->to_count, &id, NULL) !=
            GANG_OK ||
        !gang__grant_start(s, g, id, GANG_REASON_MOVE))
        return false;
    s->info.moved++;
    return true;
}

static void finish_move(gang_sched *s, struct gang__stop *l)
{
    if (!gang__stop_is_moving(l))
        return;
    gang__move_end(s, l->gang);
    if (!start_moved(s, l))
        gang__move_failed(s, l->gang);
}

/* False: the taker gets nothing, and its queues count nothing for it any more. */
static bool start_taker(gang_sched *s, struct gang__handover *c)
{
    struct gang__gang *g = c->taker;
    gang_alloc_id id;
    int32_t why;
    bool up = gang__places_up(s, c->places, c->place_count) == GANG_OK;
    if (!gang__class_refresh(s, g->request_class) ||
        !gang__limits_allow(s, g, c->grow_group, c->place_count))
        return false; /* queues changed meanwhile */
    if (c->grow_group >= 0) {
        if (!up)
            return false;
        int64_t first = gang__next_number(s, g->alloc);
        if (gang__grow(&s->mem, (void **)&s->numbers, &s->number_cap, (size_t)c->place_count,
                       sizeof(*s->numbers)) &&
            gang__alloc_adopt_more(s->worker, g->alloc, c->places, c->place_count) == GANG_OK) {
            memset(s->by_group, 0, gang__gang_request(g)->group_count * sizeof(*s->by_group));
            for (int64_t i = 0; i < c->place_count; i++) {
                s->numbers[i] = first + i;
                s->by_group[c->places[i].group]++;
            }
            gang__wake_calendar(s); /* the calendar was not asked */
            return gang__grant_growth(s, g, s->numbers, (size_t)c->place_count, s->by_group);
        }
        return false;
    }
    return ((up && gang_alloc_adopt(s->worker, g->request_class->q, c->places, c->place_count, &id,
                                    NULL) == GANG_OK) ||
            (!gang__reserve_binds(s, g) && /* else the cycle tries it */
             gang__where_alloc(s, g, &id, &why) == GANG_OK)) &&
           gang__grant_start(s, g, id, c->reason);
}

static void settle(gang_sched *s, struct gang__handover *c)
{
    struct gang__gang *g = c->taker;
    gang__handover_count(s, c, -1);
    g->stop.handover = NULL;
    gang__handover_release_holds(s, c);
    for (struct gang__stop *l = c->stops; l; l = l->next_of_handover)
        gang__stop_release(s, l);
    if (!start_taker(s, c)) {
        g->preempt.handover_failed_at = s->external_events + 1;
        gang__eased(s, g->job->leaf);
    }
    gang__job_settle(s, g->job);
    while (c->stops) {
        struct gang__stop *l = c->stops;
        c->stops = l->next_of_handover;
        finish_move(s, l);
        gang__stop_free(s, l);
    }
    gang__handover_free(s, c);
}

void gang__handovers_finish(gang_sched *s)
{
    for (struct gang__handover *c = s->stop.handovers, *next; c; c = next) {
        bool all = true;
        next = c->next;
        for (struct gang__stop *l = c->stops; l && all; l = l->next_of_handover)
            all = l->stopped;
        if (all && c->taker) {
            settle(s, c);
            next = s->stop.handovers; /* callbacks may have changed the list */
        }
    }
}
