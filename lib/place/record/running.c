/* SPDX-License-Identifier: Apache-2.0 */
/* The running tasks of an allocation, in a plan for more of its tasks. */
#include "place/record/running.h"

#include "core/cluster.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/state/records.h"

/* The part of its node that a running task lies in: where its devices are, or else its cores. */
static struct gang__scope part_of_task(const struct gang__node *node, const uint64_t *task,
                                       int32_t level)
{
    const struct gang__node_type *type = node->type;
    const struct gang__inner_domains *parts =
        gang__inner_domains_of(type, level - GANG__LEVEL_PACKAGE);
    unsigned cores = gang__first_core(type->layout), words = type->layout.core_words;
    for (unsigned i = 0; i < gang__task_deltas(task); i++) {
        uint64_t delta = task[GANG__TASK_HEAD + i], payload = gang__payload(delta);
        unsigned word = gang__delta_word(delta);
        bool gpu = word >= GANG__WORD_SHARES && word < cores;
        bool core = word >= cores && word < cores + words && parts->cores;
        if ((delta & GANG__DELTA_POOL) || (!gpu && !core))
            continue;
        for (uint32_t k = 0; k < parts->count; k++) {
            unsigned first = (word - GANG__WORD_SHARES) * GANG__SHARES_PER_WORD;
            for (unsigned n = 0; gpu && n < GANG__SHARES_PER_WORD; n++)
                if (gang__share(payload, n) && (parts->gpus[k] >> (first + n) & 1))
                    return gang__scope_part(node->slot, level, k);
            if (core && (parts->cores[k * words + word - cores] & payload))
                return gang__scope_part(node->slot, level, k);
        }
    }
    return gang__scope_node(node->slot);
}

/* The scope of a level that a running task lies in. */
static struct gang__scope scope_of_task(const struct gang__plan *p, const uint64_t *task,
                                        int32_t level)
{
    const struct gang__node *node =
        p->snap ? gang__snapshot_node_of(p->snap, task[0]) : gang__node_of(p->c, task[0]);
    if (!node)
        return gang__scope_unbound();
    if (level > GANG__LEVEL_NODE)
        return part_of_task(node, task, level);
    struct gang__scope at = gang__scope_node(node->slot), around;
    return gang__scope_at(p, &at, level, &around) ? around : gang__scope_unbound();
}

static void note_scope(struct gang__scope *s, const struct gang__plan *p, const uint64_t *task,
                       int32_t level)
{
    if (level >= 0 && !gang__scope_is_bound(s))
        *s = scope_of_task(p, task, level);
}

/* Note a running task that the bounds of its group count. */
static void note_held(struct gang__plan *p, uint32_t slot, uint32_t group)
{
    if (!gang__grow(&p->c->mem, (void **)&p->tasks.held, &p->tasks.held_cap,
                    p->tasks.held_count + 1, sizeof(*p->tasks.held))) {
        p->out.failed = true;
        return;
    }
    p->tasks.held[p->tasks.held_count++] = (struct gang__running_task){slot, group};
}

/* Is the running task to leave its place? `next`: index of the first number not passed yet. */
static bool is_leaving(const struct gang__plan *p, const uint64_t *task, size_t *next)
{
    int64_t number = gang__task_number(task);
    while (*next < p->tasks.leaving_count && p->tasks.leaving[*next] < number)
        ++*next;
    return *next < p->tasks.leaving_count && p->tasks.leaving[*next] == number;
}

/* A group without tasks goes where the request prefers it: to the domain of the first task. */
static void note_request_domain(struct gang__plan *p, const struct gang__alloc *a)
{
    const gang_request *request = a->request;
    const uint64_t *first = gang__task_first(a);
    for (uint32_t i = 0; request->prefer >= 0 && first && i < request->group_count; i++) {
        int32_t set = request->group[i].set;
        if (request->group[i].spread < 0 && request->group[i].same < 0 &&
            gang__demanded_around(request, set) <= request->same && request->prefer > request->same)
            note_scope(&p->bound.group[i], p, first, request->prefer);
    }
}

/* The devices of a running task. */
static uint64_t devices_of_task(const gang_cluster *c, const uint64_t *task)
{
    uint64_t gpus = 0;
    uint32_t slot = (uint32_t)task[0];
    unsigned end = gang__first_core(gang__layout_at(gang__chunk_of(&c->commit, slot), slot));
    for (unsigned i = 0; i < gang__task_deltas(task); i++) {
        uint64_t delta = task[GANG__TASK_HEAD + i], payload = gang__payload(delta);
        unsigned word = gang__delta_word(delta);
        unsigned first = (word - GANG__WORD_SHARES) * GANG__SHARES_PER_WORD;
        if ((delta & GANG__DELTA_POOL) || word < GANG__WORD_SHARES || word >= end)
            continue;
        for (unsigned n = 0; n < GANG__SHARES_PER_WORD; n++)
            if (gang__share(payload, n))
                gpus |= UINT64_C(1) << (first + n);
    }
    return gpus;
}

void gang__plan_running(struct gang__plan *p, const struct gang__alloc *a)
{
    const gang_request *request = a->request;
    size_t leaving = 0;
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
        if (is_leaving(p, task, &leaving))
            continue;
        uint32_t group = gang__task_group(task);
        const struct gang__group *g = &request->group[group];
        p->tasks.in_group[group]++;
        if (g->bounded || g->spread >= 0)
            note_held(p, (uint32_t)task[0], group);
        if (g->same_devices && p->bound.devices[group] == UINT64_MAX)
            p->bound.devices[group] = devices_of_task(p->c, task);
        note_scope(&p->bound.request, p, task, request->same);
        for (int32_t k = g->set; k >= 0; k = request->set[k].parent)
            if (request->set[k].same >= 0)
                note_scope(&p->bound.set[k], p, task, gang__demanded_around(request, k));
        int32_t level = gang__demanded_level(request, (int32_t)group);
        if (g->spread >= 0)
            ; /* a preferred domain would prevent the spread */
        else if (gang__preferred_level(request, g) > level)
            note_scope(&p->bound.group[group], p, task, gang__preferred_level(request, g));
        else if (request->policy == GANG_POLICY_TOPOLOGY && level < GANG__LEVEL_NODE)
            note_scope(&p->bound.group[group], p, task, GANG__LEVEL_NODE);
        if (g->same >= 0)
            note_scope(&p->bound.group[group], p, task, level);
    }
    note_request_domain(p, a);
}

/* Tasks of a group that the allocation holds; -1: of all. */
int64_t gang__tasks_held(const struct gang__alloc *a, int32_t group)
{
    int64_t held = 0;
    if (group < 0 || a->request->group_count == 1)
        return a->tasks;
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task))
        held += gang__task_group(task) == (uint32_t)group;
    return held;
}

/* Take from a word of an empty node what a running task holds of it. */
static void take_running(uint64_t *now, enum gang__code code, uint64_t arg)
{
    if (gang__op_fits(code, arg, *now))
        *now = gang__op_apply(code, arg, *now);
    else /* the node's description is changing */
        *now = code == GANG__OP_HEAD ? gang__head(gang__head_state(*now), 0) : 0;
}

void gang__plan_take_running(struct gang__plan *p, const struct gang__alloc *a)
{
    /* Without holders: what they hold is available to more tasks. */
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
        for (unsigned i = 0; i < gang__task_deltas(task); i++) {
            uint64_t delta = task[GANG__TASK_HEAD + i];
            unsigned word = gang__delta_word(delta);
            bool pool = (delta & GANG__DELTA_POOL) != 0;
            struct gang__node_copy *v =
                gang__node_copy_at(p, pool ? GANG__POOL : (uint32_t)task[0]);
            if (!v)
                continue;
            enum gang__code code = pool ? GANG__OP_TAKE
                                   : word == GANG__WORD_HEAD
                                       ? GANG__OP_HEAD
                                       : gang__code_of(v->layout, word, false);
            take_running(&gang__words_now(p, v)[word], code, gang__payload(delta));
        }
    }
}

int64_t gang__growth_step(const struct gang__alloc *a, uint32_t group)
{
    const struct gang__group *g = &a->request->group[group];
    int64_t held = gang__tasks_held(a, (int32_t)group), missing = g->count - held;
    int64_t step = g->min - held > 1 ? g->min - held : 1;
    if (g->subgroup_size)
        step = (step + g->subgroup_size - 1) / g->subgroup_size * g->subgroup_size;
    return step < missing ? step : missing;
}
