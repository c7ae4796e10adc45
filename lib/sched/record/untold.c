/* SPDX-License-Identifier: Apache-2.0 */
/* The list of gangs with grants that the host has not heard of, the first granted first. */
#include "sched/record/untold.h"

#include <string.h>

bool gang__untold_reserve(gang_sched *s, struct gang__gang *g, size_t count)
{
    struct gang__gang_untold *u = &g->untold;
    return gang__grow(&s->mem, (void **)&u->tasks, &u->cap, u->count + count, sizeof(*u->tasks));
}

static void enter(gang_sched *s, struct gang__gang *g)
{
    if (g->untold.at)
        return;
    if (!s->untold.first)
        s->untold.end = &s->untold.first;
    g->untold.at = s->untold.end;
    g->untold.next = NULL;
    *s->untold.end = g;
    s->untold.end = &g->untold.next;
}

void gang__untold_add(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                      int32_t reason)
{
    struct gang__gang_untold *u = &g->untold;
    if (u->start)
        return;
    u->reason = u->count == 0 || u->reason == reason ? reason : GANG_REASON_NONE;
    memcpy(u->tasks + u->count, tasks, count * sizeof(*tasks));
    u->count += count;
    enter(s, g);
}

void gang__untold_start(gang_sched *s, struct gang__gang *g, int32_t reason)
{
    g->untold.start = true;
    g->untold.reason = reason;
    enter(s, g);
}

void gang__untold_forget(gang_sched *s, struct gang__gang *g)
{
    struct gang__gang_untold *u = &g->untold;
    if (u->at) {
        *u->at = u->next;
        if (u->next)
            u->next->untold.at = u->at;
        else
            s->untold.end = u->at;
    }
    gang__release(&s->mem, u->tasks);
    memset(u, 0, sizeof(*u));
}
