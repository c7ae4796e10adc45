/* SPDX-License-Identifier: Apache-2.0 */
/* Is a gang below its minimum, and which tasks can it spare?
 *
 * Tasks that ended count for the minimum as if they ran, except failed tasks of a job that shrinks
 * with its losses. */
#include "place/request/request.h"
#include "sched/lifecycle/lifecycle_in.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"

static bool is_inside(const gang_request *request, int32_t set, uint32_t of)
{
    while (set >= 0 && set != (int32_t)of)
        set = request->set[set].parent;
    return set >= 0;
}

bool gang__below_minimum(const struct gang__gang *g)
{
    const gang_request *request = gang__gang_request(g);
    int64_t all = 0;
    for (uint32_t group = 0; group < request->group_count; group++) {
        int64_t there = g->has[group] + gang__gang_ended_for_min(g, group);
        if (there < request->group[group].min)
            return true;
        all += there;
    }
    for (uint32_t i = 0; i < request->group_set_count; i++) {
        int64_t in_set = 0;
        for (uint32_t group = 0; group < request->group_count; group++)
            if (is_inside(request, request->group[group].set, i))
                in_set += g->has[group] + gang__gang_ended_for_min(g, group);
        if (in_set < request->set[i].min)
            return true;
    }
    return all < request->min;
}

void gang__reports_note_minimum(gang_sched *s, struct gang__gang *g)
{
    bool is_short = g->alloc != GANG_ID_NONE && !g->over && gang__below_minimum(g);
    if (is_short && !g->reports.below_min)
        g->reports.below_min_ns = s->now_ns;
    if (!is_short)
        g->reports.refill = false;
    g->reports.below_min = is_short;
}

void gang__reports_started(gang_sched *s, struct gang__gang *g)
{
    gang__heartbeat_forget_gang(s, g->job, g->index);
    g->reports.below_min = false;
    if (g->reports.refill) /* it lost members while it was being suspended */
        gang__reports_refill(s, g);
    gang__reports_note_minimum(s, g);
}

void gang__keep_spare(struct gang__gang *g, struct gang__found *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        g->has[f->task[i].group]--;
        if (gang__below_minimum(g))
            g->has[f->task[i].group]++;
        else
            f->task[kept++] = f->task[i];
    }
    f->count = kept;
    for (size_t i = 0; i < kept; i++)
        g->has[f->task[i].group]++;
}
