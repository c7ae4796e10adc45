/* SPDX-License-Identifier: Apache-2.0 */
/* Handovers: victims free capacity for one gang, the taker.
 *
 * A handover keeps what its victims held, and what was free already at the places of the taker.
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
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* ---- keeping what is free already ------------------------------------------------------------ */

/* What the tasks of the taker use of one node. */
struct piece {
    int64_t cpu, memory;                 /* cpu: without the named cores */
    uint64_t gpus;                       /* whole devices */
    uint64_t cores[GANG_MAX_CORES / 64]; /* named ones */
};

static void add_need(const struct gang_placement *p, const gang_request *request,
                     struct piece *need)
{
    const struct gang__group *g = &request->group[p->group];
    if (p->any_cores)
        need->cpu += (int64_t)g->cpu;
    for (size_t i = 0; !p->any_cores && i < GANG_MAX_CORES / 64; i++)
        need->cores[i] |= p->cores[i];
    need->memory += (int64_t)g->pages * GANG_PAGE_BYTES;
    if (g->share == 1000 && !g->profile)
        need->gpus |= p->gpus;
}

/* Of the cores that the taker is to have, those that are free and for which the node has millicores
 * left. Returns their number. */
static int64_t free_cores(gang_sched *s, const struct gang_node_info *info, uint64_t *cores)
{
    uint64_t free[GANG_MAX_CORES / 64];
    int64_t left = info->cpu_free / 1000, count = 0;
    gang__node_free_cores(s->cluster, info->id, free);
    for (size_t i = 0; i < GANG_MAX_CORES / 64; i++) {
        cores[i] &= free[i];
        while (__builtin_popcountll(cores[i]) > left - count)
            cores[i] &= cores[i] - 1;
        count += __builtin_popcountll(cores[i]);
    }
    return count;
}

/* What is free of a piece, as a request of one or two tasks: one with the named cores, and one with
 * everything else. Returns how many; 0: nothing is free. */
static size_t hold_tasks(gang_sched *s, const struct gang_node_info *info, struct piece *need,
                         struct gang_group_spec *g, struct gang_placement *place)
{
    int64_t cores = free_cores(s, info, need->cores);
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        g[i] = (struct gang_group_spec)GANG_GROUP_SPEC_INIT;
        g[i].count = g[i].min = 1;
        place[i] = (struct gang_placement)GANG_PLACEMENT_INIT;
        place[i].node = info->id;
        place[i].group = i;
    }
    if (cores > 0) {
        g[0].cpu_milli = 1000 * cores;
        place[0].any_cores = 0;
        memcpy(place[0].cores, need->cores, sizeof(need->cores));
        count++;
    }
    struct gang_group_spec *rest = &g[count];
    uint64_t gpus = need->gpus & info->gpu_mask;
    rest->cpu_milli = gang__min(need->cpu, info->cpu_free - 1000 * cores);
    rest->memory_bytes = gang__min(need->memory, info->memory_free);
    rest->gpu_milli = 1000 * (int64_t)__builtin_popcountll(gpus);
    place[count].gpus = gpus;
    place[count].any_devices = gpus == 0;
    return count + (rest->cpu_milli > 0 || rest->memory_bytes > 0 || gpus != 0);
}

/* The request of a hold, one or two groups. Thousands of places need the same: it is kept for the
 * next. */
struct hold_request {
    gang_request *request; /* NULL: none yet */
    size_t groups;
    struct gang_group_spec group[2];
};

static bool same_amounts(const struct gang_group_spec *a, const struct gang_group_spec *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           a->gpu_milli == b->gpu_milli;
}

static bool request_hold(gang_sched *s, struct hold_request *last, const struct gang_group_spec *g,
                         size_t groups)
{
    struct gang_request_spec spec = GANG_REQUEST_SPEC_INIT;
    if (last->request && last->groups == groups && same_amounts(&last->group[0], &g[0]) &&
        (groups == 1 || same_amounts(&last->group[1], &g[1])))
        return true;
    gang_request_free(last->request);
    last->request = NULL;
    last->groups = groups;
    memcpy(last->group, g, groups * sizeof(*g));
    spec.groups = g;
    spec.group_count = groups;
    return gang_request_new(s->cluster, &spec, &last->request, NULL) == GANG_OK;
}

static bool hold_piece(gang_sched *s, struct gang__handover *handover, gang_node_id node,
                       struct piece *need, struct hold_request *last)
{
    struct gang_node_info info = {.size = sizeof(info)};
    struct gang_group_spec g[2];
    struct gang_placement place[2];
    if (gang_node_get(s->cluster, node, &info) != GANG_OK)
        return true;
    size_t groups = hold_tasks(s, &info, need, g, place);
    if (groups == 0)
        return true;
    if (!gang__grow(&s->mem, (void **)&handover->holds, &handover->hold_cap,
                    handover->hold_count + 1, sizeof(*handover->holds)) ||
        !request_hold(s, last, g, groups))
        return false;
    if (gang_alloc_adopt(s->worker, last->request, place, (int64_t)groups,
                         &handover->holds[handover->hold_count], NULL) == GANG_OK)
        handover->hold_count++;
    return true;
}

void gang__handover_release_holds(gang_sched *s, struct gang__handover *handover)
{
    for (size_t i = 0; i < handover->hold_count; i++)
        gang__give_back_or_defer(s, NULL, handover->holds[i], NULL, 0);
    handover->hold_count = 0;
}

/* Keep the free capacity of the places that the gang `g` is to get. Once is enough: until the
 * victims have stopped, other gangs could take only what was free before. */
static void hold(gang_sched *s, struct gang__handover *handover, const struct gang__gang *g,
                 const struct gang_placement *places, int64_t place_count)
{
    const gang_request *request = gang__gang_request(g);
    struct hold_request last = {.request = NULL};
    size_t count = (size_t)place_count;
    if (!gang__grow(&s->mem, (void **)&s->numbers, &s->number_cap, count, sizeof(*s->numbers))) {
        s->no_memory = true;
        return;
    }
    for (size_t i = 0; i < count; i++) /* sorts the places by node */
        s->numbers[i] = (int64_t)((places[i].node & (UINT32_MAX >> 1)) << 32 | i);
    qsort(s->numbers, count, sizeof(*s->numbers), gang__by_number);
    for (size_t i = 0; i < count;) {
        gang_node_id node = places[(uint32_t)s->numbers[i]].node;
        struct piece need = {0, 0, 0, {0}};
        for (; i < count && places[(uint32_t)s->numbers[i]].node == node; i++)
            add_need(&places[(uint32_t)s->numbers[i]], request, &need);
        if (!hold_piece(s, handover, node, &need, &last))
            s->no_memory = true;
    }
    gang_request_free(last.request);
}

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
    hold(s, handover, handover->taker, handover->places, handover->place_count);
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* A gang that moves, or tasks of it, are sure to start again: the handover also keeps what is free
 * at the new places, and the queues of the gang count it. */
void gang__move_begin(gang_sched *s, struct gang__stop *stop)
{
    stop->gang->stop.moving = stop;
    gang__usage_charge_move(s, stop, 1);
    gang__stopping_move(stop, 1);
    hold(s, stop->handover, stop->gang, stop->to, stop->to_count);
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
