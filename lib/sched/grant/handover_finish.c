/* SPDX-License-Identifier: Apache-2.0 */
/* Finishing a handover when all its victims have stopped: the taker starts on the places, and moved
 * gangs start on theirs. */
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/request/request.h"
#include "place/whatif/whatif.h"
#include "sched/calendar/calendar.h"
#include "sched/grant/grant.h"
#include "sched/lifecycle/lifecycle.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/stop/stop.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"
#include "sched/where/where.h"

/* Where a gang is to start: it was placed for a start by `by_ns`. If its victims stopped later, it
 * ends later, too, and is judged again. One that runs on, and gets more tasks, ends as before. */
static bool is_reserved(gang_sched *s, const struct gang__gang *g,
                        const struct gang_placement *places, int64_t count, int64_t by_ns)
{
    return s->now_ns > by_ns && !gang__reserve_allows_start(s, g, places, count);
}

/* More tasks of a running gang start at these places. */
static bool grow_at(gang_sched *s, struct gang__gang *g, const struct gang_placement *places,
                    int64_t count, int32_t reason)
{
    if (!gang__grow(&s->mem, (void **)&s->numbers, &s->number_cap, (size_t)count,
                    sizeof(*s->numbers)) ||
        !gang__untold_reserve(s, g, (size_t)count) ||
        gang__where_adopt_more(s, g, places, count) != GANG_OK)
        return false;
    memset(s->by_group, 0, gang__gang_request(g)->group_count * sizeof(*s->by_group));
    for (int64_t i = 0; i < count; i++)
        s->by_group[places[i].group]++;
    gang__wake_calendar(s); /* the calendar was not asked */
    gang__grant_growth(s, g, s->numbers, (size_t)count, s->by_group, reason);
    return true;
}

/* Allocate the gang at these places; one that shares nodes in time, in a row on their nodes. */
static bool adopt(gang_sched *s, struct gang__gang *g, const struct gang_placement *places,
                  int64_t count, bool moved, gang_alloc_id *id)
{
    g->preempt.took = gang__slice_concerns(g);
    if (g->preempt.took)
        return gang__slice_alloc_at(s, g, places, count, moved, id) == GANG_OK;
    return gang_alloc_adopt(s->worker, g->request_class->request, places, count, id, NULL) ==
           GANG_OK;
}

static bool start_at(gang_sched *s, struct gang__gang *g, const struct gang__stop *stop)
{
    gang_alloc_id id;
    if (!adopt(s, g, stop->to, stop->to_count, true, &id))
        return false;
    gang__grant_start(s, g, id, stop->untold ? stop->starts_as : GANG_REASON_MOVE, true);
    return true;
}

/* A gang, or tasks of one that runs on, start at their new places. */
static bool start_moved(gang_sched *s, const struct gang__stop *stop, int64_t by_ns)
{
    struct gang__gang *g = stop->gang;
    if (g->job->held || g->over || gang__places_up(s, stop->to, stop->to_count) != GANG_OK ||
        !gang__request_class_refresh(s, g->request_class) ||
        !gang__limits_allow_promised(s, g, stop->to, stop->to_count) ||
        (stop->tasks && g->alloc != stop->alloc) ||
        (!stop->tasks && is_reserved(s, g, stop->to, stop->to_count, by_ns)))
        return false;
    int32_t reason = stop->asked ? GANG_REASON_MOVE : GANG_REASON_NONE;
    bool started =
        stop->tasks ? grow_at(s, g, stop->to, stop->to_count, reason) : start_at(s, g, stop);
    s->info.moved += started && !stop->untold;
    g->untold.took = g->untold.took || (started && (stop->asked || stop->took));
    return started;
}

static void finish_move(gang_sched *s, struct gang__stop *stop, int64_t by_ns)
{
    if (!gang__stop_is_moving(stop))
        return;
    gang__move_end(s, stop->gang);
    if (!start_moved(s, stop, by_ns))
        gang__move_failed(s, stop->gang);
    else if (stop->tasks)
        gang__wake_job(s, stop->gang->job, GANG__WAKE_SETTLE);
}

/* Was the host asked to stop any of the victims? */
static bool some_asked(const struct gang__handover *handover)
{
    const struct gang__stop *stop = handover->stops;
    while (stop && !stop->asked)
        stop = stop->next_of_handover;
    return stop != NULL;
}

/* False: the taker gets nothing, and its queues count nothing for it any more. *kept: it got the
 * places that were kept for it. */
static bool start_taker(gang_sched *s, struct gang__handover *handover, bool *kept)
{
    struct gang__gang *g = handover->taker;
    gang_alloc_id id;
    int32_t why;
    bool up = gang__places_up(s, handover->places, handover->place_count) == GANG_OK;
    if (!gang__request_class_refresh(s, g->request_class) ||
        !gang__limits_allow_promised(s, g, handover->places, handover->place_count))
        return false; /* queues changed meanwhile */
    if (handover->grow_group >= 0) {
        *kept = up && grow_at(s, g, handover->places, handover->place_count, GANG_REASON_NONE);
        g->untold.took = g->untold.took || (*kept && some_asked(handover));
        return *kept;
    }
    bool kept_for_it =
        up && !is_reserved(s, g, handover->places, handover->place_count, handover->starts_ns);
    bool placed = kept_for_it && adopt(s, g, handover->places, handover->place_count, false, &id);
    *kept = placed;
    if (!placed && gang__slice_concerns(g)) {
        placed = gang__slice_alloc(s, g, &id) == GANG_OK;
    } else if (!placed && !gang__reserve_binds(s, g)) { /* else the cycle tries it */
        gang__choice_of_places(s, g, handover->places, handover->place_count);
        placed = gang__where_alloc(s, g, &id, &why) == GANG_OK;
        g->choice = NULL;
    }
    if (placed)
        gang__grant_start(s, g, id, handover->reason, false);
    g->untold.took = g->untold.start && some_asked(handover);
    return placed;
}

/* ---- what the taker leaves ------------------------------------------------------------------- */

/* The nodes on which victims free something. */
struct freed {
    gang_node_id *node;
    size_t count, cap;
};

static bool add_nodes(gang_sched *s, const struct gang__stop *stop, struct gang__found *scratch,
                      struct freed *f)
{
    if (gang__alloc_find(s->cluster, stop->alloc, stop->tasks, stop->task_count, scratch) !=
            GANG_OK ||
        !gang__grow(&s->mem, (void **)&f->node, &f->cap, f->count + scratch->count,
                    sizeof(*f->node)))
        return false;
    for (size_t i = 0; i < scratch->count; i++)
        if (f->count == 0 || f->node[f->count - 1] != scratch->task[i].node)
            f->node[f->count++] = scratch->task[i].node;
    return true;
}

/* Lists the nodes before the victims free them. False: what is left may be on any node, because a
 * victim moves, its job is gone, or it held more than capacity of nodes; or memory is short. */
static bool find_freed(gang_sched *s, const struct gang__handover *handover, struct freed *f)
{
    struct gang__found scratch = {NULL, 0, 0};
    bool ok = s->order.blocked_requests && !s->queues->slices; /* else no class waits for it */
    for (const struct gang__stop *stop = handover->stops; ok && stop;
         stop = stop->next_of_handover) {
        const gang_request *request = stop->gang ? gang__gang_request(stop->gang) : NULL;
        ok = request && !stop->to && !request->uses_pool && !request->has_affinity &&
             add_nodes(s, stop, &scratch, f);
    }
    gang__found_free(&scratch, &s->cluster->mem);
    return ok;
}

/* Wakes what waits for capacity, if it may fit beside the taker. Without this each taker would
 * wake all jobs that found no place, though it took what its victims freed. */
static void wake_for_rest(gang_sched *s, const struct freed *f)
{
    for (size_t i = 0; i < f->count; i++) {
        struct gang_node_info n = GANG_NODE_INFO_INIT;
        if (gang_node_get(s->cluster, f->node[i], &n) == GANG_OK)
            gang__wake_capacity(s, n.cpu_free, n.memory_free / GANG_PAGE_BYTES, n.gpu_free);
    }
    gang__wake_preemption(s);
}

static void settle(gang_sched *s, struct gang__handover *handover)
{
    struct gang__gang *g = handover->taker;
    struct freed freed = {NULL, 0, 0};
    bool known = find_freed(s, handover, &freed), kept = false;
    gang__handover_count_usage(s, handover, -1);
    g->stop.handover = NULL;
    gang__handover_release_holds(s, handover);
    known = gang__stops_release_to_taker(s, handover->stops) && known;
    if (!start_taker(s, handover, &kept)) {
        kept = false;
        g->preempt.took = false;
        g->preempt.handover_failed_at = s->external_events + 1;
        gang__order_unblock_queues(s, g->job->leaf);
    }
    gang__job_settle(s, g->job);
    while (handover->stops) {
        struct gang__stop *stop = handover->stops;
        handover->stops = stop->next_of_handover;
        finish_move(s, stop, handover->starts_ns);
        gang__stop_free(s, stop);
    }
    gang__handover_free(s, handover);
    if (known && kept)
        wake_for_rest(s, &freed);
    else
        gang__wake_capacity_any(s);
    gang__release(&s->mem, freed.node);
}

void gang__handovers_finish(gang_sched *s)
{
    for (struct gang__handover *handover = s->stop.handovers, *next; handover; handover = next) {
        bool all = true;
        next = handover->next;
        for (struct gang__stop *stop = handover->stops; stop && all; stop = stop->next_of_handover)
            all = stop->stopped;
        if (all && handover->taker) {
            settle(s, handover);
            next = s->stop.handovers; /* callbacks may have changed the list */
        }
    }
}
