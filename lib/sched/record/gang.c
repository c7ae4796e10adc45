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

void gang__places_forget(gang_sched *s, struct gang__gang *g)
{
    gang__release(&s->mem, g->places);
    g->places = NULL;
    g->place_count = 0;
}

size_t gang__ended_tasks_words(const struct gang__gang *g)
{
    const gang_request *request = gang__gang_request(g);
    const struct gang__group *last = &request->group[request->group_count - 1];
    return (size_t)(last->first + last->count - request->group[0].first + 63) / 64;
}

static bool reserve_words(gang_sched *s, struct gang__gang *g, size_t words)
{
    if (!g->ended_tasks)
        g->ended_tasks =
            words == 1 ? &g->ended_word : gang__zalloc(&s->mem, words, sizeof(*g->ended_tasks));
    return g->ended_tasks != NULL;
}

bool gang__ended_tasks_reserve(gang_sched *s, struct gang__gang *g)
{
    return reserve_words(s, g, gang__ended_tasks_words(g));
}

bool gang__ended_tasks_copy(gang_sched *s, struct gang__gang *to, const struct gang__gang *from)
{
    size_t words = from->ended_tasks ? gang__ended_tasks_words(from) : 0;
    if (words == 0)
        return true;
    if (!reserve_words(s, to, words))
        return false;
    memcpy(to->ended_tasks, from->ended_tasks, words * sizeof(*to->ended_tasks));
    return true;
}

void gang__ended_tasks_free(gang_sched *s, struct gang__gang *g)
{
    if (g->ended_tasks != &g->ended_word)
        gang__release(&s->mem, g->ended_tasks);
    g->ended_tasks = NULL;
}

void gang__ended_tasks_add(struct gang__gang *g, int64_t task)
{
    int64_t bit = task - gang__gang_request(g)->group[0].first;
    g->ended_tasks[bit / 64] |= UINT64_C(1) << (bit % 64);
}

bool gang__ended_tasks_has(const struct gang__gang *g, int64_t task)
{
    int64_t bit = task - gang__gang_request(g)->group[0].first;
    return g->ended_tasks && (g->ended_tasks[bit / 64] >> (bit % 64) & 1);
}

void gang__ended_tasks_clear(struct gang__gang *g)
{
    if (g->ended_tasks)
        memset(g->ended_tasks, 0, gang__ended_tasks_words(g) * sizeof(*g->ended_tasks));
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

struct gang_placement gang__place_of_task(const struct gang_task *task)
{
    struct gang_placement p = GANG_PLACEMENT_INIT;
    p.group = task->group;
    p.node = task->node;
    p.task = task->task;
    p.gpus = task->gpus;
    p.any_devices = task->gpus == 0;
    p.any_cores = task->core_count == 0;
    memcpy(p.cores, task->cores, sizeof(p.cores));
    return p;
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
