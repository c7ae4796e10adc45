/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of gangs with grants that the host has not heard of, the first granted first. */
#include "sched/record/untold.h"

#include <string.h>

#include "place/state/records.h"
#include "sched/record/state.h"

bool gang__untold_reserve(gang_sched *s, struct gang__gang *g, size_t count)
{
    struct gang__gang_untold *u = &g->untold;
    return gang__grow(&s->mem, (void **)&u->tasks, &u->cap, u->count + count, sizeof(*u->tasks));
}

#ifdef GANG_TEST_HOOKS
gang__untold_hook_fn gang__untold_hook;
#endif

/* Without a stop it is granted. tasks NULL: its start. */
static void show(gang_sched *s, const struct gang__gang *g, const struct gang__stop *stop,
                 const int64_t *tasks, size_t count)
{
#ifdef GANG_TEST_HOOKS
    struct gang_event e = gang__event_of(s, g, stop ? stop->reason : GANG_REASON_NONE, "");
    e.preemptor = stop ? stop->because : GANG_ID_NONE;
    e.tasks = tasks;
    e.task_count = count;
    if (gang__untold_hook)
        gang__untold_hook(&e, !stop);
#else
    (void)s, (void)g, (void)stop, (void)tasks, (void)count;
#endif
}

void gang__untold_taken(gang_sched *s, const struct gang__stop *stop, const int64_t *tasks,
                        size_t count)
{
    show(s, stop->gang, stop, tasks, count);
}

static void enter(struct gang__untold_list *list, struct gang__gang *g)
{
    if (g->untold.at)
        return;
    if (!list->first)
        list->end = &list->first;
    g->untold.list = list;
    g->untold.at = list->end;
    g->untold.next = NULL;
    *list->end = g;
    list->end = &g->untold.next;
}

void gang__untold_add(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                      int32_t reason)
{
    struct gang__gang_untold *u = &g->untold;
    show(s, g, NULL, tasks, count);
    if (u->start && g->job->start_full && !u->places)
        return;
    u->reason = u->count == 0 || u->reason == reason ? reason : GANG_REASON_NONE;
    memcpy(u->tasks + u->count, tasks, count * sizeof(*tasks));
    u->count += count;
    enter(&s->untold.growth, g);
}

void gang__untold_start(gang_sched *s, struct gang__gang *g, int32_t reason)
{
    show(s, g, NULL, NULL, 0);
    g->untold.start = true;
    g->untold.start_reason = reason;
    enter(&s->untold.starts, g);
}

void gang__untold_hide(gang_sched *s, struct gang__gang *g, bool hide)
{
    struct gang__gang_untold *u = &g->untold;
    if (hide)
        gang__alloc_mark_stopped(s->worker, g->alloc, u->tasks, u->count, NULL, 0);
    else
        gang__alloc_show(s->worker, g->alloc, u->tasks, u->count);
    u->hidden = hide;
}

static void leave(struct gang__gang *g)
{
    struct gang__gang_untold *u = &g->untold;
    if (!u->at)
        return;
    *u->at = u->next;
    if (u->next)
        u->next->untold.at = u->at;
    else
        u->list->end = u->at;
    u->at = NULL;
}

void gang__untold_start_told(gang_sched *s, struct gang__gang *g)
{
    g->untold.start = false;
    leave(g);
    if (g->untold.count > 0)
        enter(&s->untold.growth, g);
}

void gang__untold_places_free(gang_sched *s, struct gang__gang *g)
{
    gang__release(&s->mem, g->untold.places);
    g->untold.places = NULL;
    if (g->untold.count == 0)
        gang__untold_forget(s, g);
}

/* The gang waits to resume again, without tasks that were reported ended meanwhile. */
static void put_places_back(gang_sched *s, struct gang__gang *g)
{
    int64_t kept = 0;
    g->places = g->untold.places;
    for (int64_t i = 0; i < g->place_count; i++)
        if (!gang__ended_tasks_has(g, g->places[i].task))
            g->places[kept++] = g->places[i];
    g->place_count = kept;
    if (kept == 0)
        gang__places_forget(s, g);
}

void gang__untold_forget(gang_sched *s, struct gang__gang *g)
{
    struct gang__gang_untold *u = &g->untold;
    leave(g);
    if (u->places)
        put_places_back(s, g);
    gang__release(&s->mem, u->tasks);
    memset(u, 0, sizeof(*u));
}
