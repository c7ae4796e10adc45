/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster knows of a gang: its tasks, and the nodes of its places. */
#include <string.h>

#include "place/request/request.h"
#include "sched/record/job_record.h"

int32_t gang__count_task(const struct gang_task *task, void *by_group)
{
    int64_t *has = by_group;
    has[task->group]++;
    return 0;
}

bool gang__gang_count(gang_sched *s, struct gang__gang *g)
{
    uint32_t groups = gang__gang_request(g)->group_count;
    memset(g->has, 0, groups * sizeof(*g->has));
    g->tasks = 0;
    if (gang__alloc_each(s->cluster, g->alloc, gang__count_task, g->has) != GANG_OK)
        return false;
    for (uint32_t group = 0; group < groups; group++)
        g->tasks += g->has[group];
    return true;
}

gang_result gang__places_up(gang_sched *s, const struct gang_placement *place, int64_t count)
{
    gang_result r = GANG_OK;
    for (int64_t i = 0; i < count; i++) {
        struct gang_node_info info = {.size = sizeof(info)};
        if (gang_node_get(s->cluster, place[i].node, &info) != GANG_OK)
            return GANG_ESTALE;
        if (info.state != GANG_NODE_UP)
            r = GANG_ENOFIT;
    }
    return r;
}

uint32_t gang__next_task_number(gang_sched *s, gang_alloc_id id)
{
    struct gang__alloc *a;
    uint32_t number = 0;
    if (gang__alloc_read(s->cluster, id, &a) == GANG_OK) {
        number = a->next_number;
        gang__alloc_read_end(a);
    }
    return number;
}

int64_t gang__gang_step(const struct gang__gang *gang, uint32_t group)
{
    const struct gang__group *g = &gang__gang_request(gang)->group[group];
    int64_t below = g->min - gang->has[group] - gang->done[group], step = below > 1 ? below : 1;
    if (g->subgroup_size)
        step = (step + g->subgroup_size - 1) / g->subgroup_size * g->subgroup_size;
    return step;
}

bool gang__slice_is_suspended(const struct gang__gang *g)
{
    return g->sliced && !gang__sliced_runs(g->sliced);
}

bool gang__slice_has_run(const struct gang__gang *g)
{
    return !g->untold.start && (!g->sliced || g->sliced->state != GANG__SLICED_WAITS);
}
