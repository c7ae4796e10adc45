/* SPDX-License-Identifier: Apache-2.0 */
/* Releasing what stopped tasks held.
 *
 * An allocation that another thread reads is busy. After GANG__PATIENCE retries the release is
 * *deferred*: sched.stop.deferred lists it, and each run begins with another try. */
#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "place/request/request.h"
#include "place/state/records.h"
#include "place/whatif/whatif.h"
#include "sched/calendar/calendar.h"
#include "sched/foreign/foreign.h"
#include "sched/order/order.h"
#include "sched/record/state.h"
#include "sched/stop/stop_in.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"
#include <stdlib.h>
#include <string.h>

void gang__stop_mark(gang_sched *s, const struct gang__stop *stop)
{
    gang__alloc_mark_stopped(s->worker, stop->alloc, stop->own, stop->own_count, stop->still,
                             stop->left);
}

/* The stop holds nothing any more. */
static void count_given(struct gang__stop *stop)
{
    if (stop->gang && stop->counted)
        stop->gang->stop.unreleased--;
    stop->counted = false;
}

/* A stop that could not release its capacity yet becomes a deferred release. */
void gang__stop_free(gang_sched *s, struct gang__stop *stop)
{
    if (stop->deferred) {
        gang__release(&s->mem, stop->to);
        stop->to = NULL;
        stop->handover = NULL;
        stop->next_of_handover = s->stop.deferred;
        s->stop.deferred = stop;
        gang__wake_next_run(s);
        return;
    }
    count_given(stop);
    gang__release(&s->mem, stop->own);
    gang__release(&s->mem, stop->to);
    gang__release(&s->mem, stop->held);
    gang__release(&s->mem, stop);
}

/* What others use of the released places is held for them first. */
static void pass_on(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks, size_t count)
{
    gang__foreign_released(s, alloc, tasks, count);
    s->stop.hooks->released(s, alloc, tasks, count);
}

gang_result gang__give_back_tasks(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks,
                                  size_t count)
{
    gang_result r;
    int tries = 0;
    do
        r = gang__alloc_remove_tasks(s->worker, alloc, tasks, count);
    while (gang__busy_again(r, &tries));
    if (r == GANG_OK)
        pass_on(s, alloc, tasks, count);
    return r;
}

gang_result gang__give_back_all(gang_sched *s, gang_alloc_id alloc)
{
    gang_result r;
    int tries = 0;
    do
        r = gang_alloc_free(s->worker, alloc);
    while (gang__busy_again(r, &tries));
    if (r == GANG_OK)
        pass_on(s, alloc, NULL, 0);
    return r;
}

/* Do other stops hold a part of the same allocation? These are tasks that were asked to stop
 * before the rest of their gang. */
static bool is_shared(const gang_sched *s, const struct gang__stop *stop)
{
    if (stop->gang && stop->gang->stop.unreleased <= stop->counted)
        return false;
    for (const struct gang__stop *o = stop->gang ? stop->gang->stop.first : NULL; o; o = o->next)
        if (o != stop && o->alloc == stop->alloc && !o->released)
            return true;
    for (const struct gang__handover *handover = s->stop.handovers; handover;
         handover = handover->next)
        for (const struct gang__stop *o = handover->stops; o; o = o->next_of_handover)
            if (o != stop && o->alloc == stop->alloc && !o->released)
                return true;
    for (const struct gang__stop *o = s->stop.deferred; o; o = o->next_of_handover)
        if (o != stop && o->alloc == stop->alloc)
            return true;
    return false;
}

/* The last stop of an allocation frees the allocation. */
static bool is_last(const gang_sched *s, const struct gang__stop *stop)
{
    bool runs = stop->gang && stop->gang->alloc == stop->alloc;
    return !runs && !is_shared(s, stop);
}

static void note_released(gang_sched *s, struct gang__stop *stop)
{
    stop->deferred = false;
    stop->released = true;
    count_given(stop);
    if (stop->gang)
        gang__wake_holding(s, stop->gang);
}

/* If another thread reads the allocation, the release is deferred. */
bool gang__stop_release_to_taker(gang_sched *s, struct gang__stop *stop)
{
    bool last = is_last(s, stop);
    gang_result r = last ? gang__give_back_all(s, stop->alloc)
                    : stop->own_count
                        ? gang__give_back_tasks(s, stop->alloc, stop->own, stop->own_count)
                        : GANG_OK;
    if (r != GANG_EBUSY && r != GANG_ENOMEM) {
        note_released(s, stop);
        return true;
    }
    stop->deferred = true;
    stop->released = false;
    if (last)
        gang__alloc_mark_stopped(s->worker, stop->alloc, NULL, 0, NULL, 0);
    else
        gang__stop_mark(s, stop);
    if (stop->gang)
        gang__wake_holding(s, stop->gang);
    if (r == GANG_ENOMEM)
        s->no_memory = true;
    return false;
}

/* Thousands of stops lie all over the memory: prefetch the one that is AHEAD stops ahead. */
enum { AHEAD = 8 };

static const struct gang__stop *expect(gang_sched *s, const struct gang__stop *stop)
{
    if (!stop)
        return NULL;
    gang__alloc_prefetch(s->cluster, stop->alloc);
    if (stop->gang)
        __builtin_prefetch(&stop->gang->stop, 1);
    return stop->next_of_handover;
}

/* Frees the allocations that no other stop holds a part of, one commit for each node. What is left,
 * or if memory is short all, is released one by one. */
static void release_by_node(gang_sched *s, struct gang__stop *stops)
{
    size_t count = 0, all = 0;
    for (const struct gang__stop *stop = stops; stop; stop = stop->next_of_handover)
        all++;
    struct gang__to_free *list = all > 1 ? gang__alloc(&s->mem, all * sizeof(*list)) : NULL;
    if (!list)
        return;
    const struct gang__stop *ahead = stops;
    for (int i = 0; i < AHEAD; i++)
        ahead = expect(s, ahead);
    for (struct gang__stop *stop = stops; stop; stop = stop->next_of_handover) {
        ahead = expect(s, ahead);
        if (is_last(s, stop))
            list[count++] = (struct gang__to_free){.id = stop->alloc, .of = stop};
    }
    gang__allocs_free(s->worker, list, count);
    for (size_t i = 0; i < count; i++) {
        if (list[i].r != GANG_OK)
            continue;
        pass_on(s, list[i].id, NULL, 0);
        note_released(s, list[i].of);
    }
    gang__release(&s->mem, list);
}

bool gang__stops_release_to_taker(gang_sched *s, struct gang__stop *stops)
{
    bool to_taker = true;
    release_by_node(s, stops);
    for (struct gang__stop *stop = stops; stop; stop = stop->next_of_handover)
        if (!stop->released)
            to_taker = gang__stop_release_to_taker(s, stop) && to_taker;
    return to_taker;
}

void gang__stop_release(gang_sched *s, struct gang__stop *stop)
{
    (void)gang__stop_release_to_taker(s, stop);
    gang__wake_capacity_any(s);
}

int gang__by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void gang__deferred_releases_run(gang_sched *s)
{
    struct gang__stop *stop = s->stop.deferred, *next;
    for (s->stop.deferred = NULL; stop; stop = next) {
        next = stop->next_of_handover;
        gang__stop_release(s, stop);
        gang__stop_free(s, stop);
    }
}

void gang__deferred_releases_free(gang_sched *s)
{
    gang__deferred_releases_run(s);
    while (s->stop.deferred) {
        struct gang__stop *stop = s->stop.deferred;
        s->stop.deferred = stop->next_of_handover;
        stop->deferred = false;
        gang__stop_free(s, stop);
    }
}

/* Does the stop still hold the place of the task? */
static bool holds_still(const struct gang__stop *stop, gang_alloc_id alloc, int64_t task)
{
    return stop->alloc == alloc && !stop->released &&
           bsearch(&task, stop->own, stop->own_count, sizeof(task), gang__by_number);
}

/* Does a handover keep the place of this task? */
static bool is_kept(const gang_sched *s, gang_alloc_id alloc, int64_t task)
{
    for (const struct gang__handover *handover = s->stop.handovers; handover;
         handover = handover->next)
        for (const struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover)
            if (holds_still(stop, alloc, task))
                return true;
    return false;
}

static bool is_kept_in_part(const gang_sched *s, gang_alloc_id alloc)
{
    for (const struct gang__handover *handover = s->stop.handovers; handover;
         handover = handover->next)
        for (const struct gang__stop *stop = handover->stops; stop; stop = stop->next_of_handover)
            if (stop->alloc == alloc && !stop->released)
                return true;
    return false;
}

void gang__give_back_unheld(gang_sched *s, gang_alloc_id alloc)
{
    struct gang__found f = {NULL, 0, 0};
    size_t count = 0;
    if (!is_kept_in_part(s, alloc)) {
        gang__give_back_or_defer(s, NULL, alloc, NULL, 0);
        return;
    }
    gang_result r = gang__alloc_find(s->cluster, alloc, NULL, 0, &f);
    int64_t *tasks = r == GANG_OK ? gang__zalloc(&s->mem, f.count + 1, sizeof(*tasks)) : NULL;
    for (size_t i = 0; tasks && i < f.count; i++)
        if (!is_kept(s, alloc, f.task[i].task))
            tasks[count++] = f.task[i].task;
    gang__found_free(&f, &s->cluster->mem);
    r = !tasks ? GANG_ENOMEM : count ? gang__give_back_tasks(s, alloc, tasks, count) : GANG_OK;
    if (r == GANG_EBUSY)
        gang__give_back_or_defer(s, NULL, alloc, tasks, count);
    else if (r != GANG_OK) /* then the handover keeps no place of it */
        gang__give_back_or_defer(s, NULL, alloc, NULL, 0);
    gang__release(&s->mem, tasks);
}

/* True also for a stopped task if a handover or a deferred release still holds its place. */
bool gang__stop_asked(const gang_sched *s, const struct gang__gang *g, int64_t task)
{
    if (g->stop.unreleased == 0)
        return false;
    for (const struct gang__stop *stop = g->stop.first; stop; stop = stop->next)
        if (bsearch(&task, stop->own, stop->own_count, sizeof(task), gang__by_number))
            return true;
    for (const struct gang__stop *stop = s->stop.deferred; stop; stop = stop->next_of_handover)
        if (holds_still(stop, g->alloc, task))
            return true;
    return is_kept(s, g->alloc, task);
}

/* Without memory for the record of a deferred release, the loop retries until the release
 * succeeds. */
void gang__give_back_or_defer(gang_sched *s, struct gang__gang *g, gang_alloc_id alloc,
                              const int64_t *tasks, size_t count)
{
    for (;;) {
        gang_result r =
            tasks ? gang__give_back_tasks(s, alloc, tasks, count) : gang__give_back_all(s, alloc);
        if (r != GANG_EBUSY && r != GANG_ENOMEM)
            return;
        struct gang__stop *stop = gang__zalloc(&s->mem, 1, sizeof(*stop));
        if (stop && (tasks ? gang__stop_name_tasks(s, stop, tasks, count)
                           : gang__stop_alloc_tasks(s, stop, 0))) {
            stop->alloc = alloc;
            stop->stopped = stop->deferred = true;
            gang__alloc_mark_stopped(s->worker, alloc, tasks, count, NULL, 0);
            stop->gang = g;
            stop->counted = g != NULL;
            if (g)
                g->stop.unreleased++;
            gang__stop_free(s, stop);
            return;
        }
        gang__release(&s->mem, stop);
        s->no_memory = true;
        if (r == GANG_ENOMEM) /* tasks of a job: the end of the job releases them */
            return;
    }
}
