/* SPDX-License-Identifier: Apache-2.0 */
/* When do label counts count the tasks of a gang? Pending before its commit, held after it, not at
 * all once they end.
 *
 * Two gangs that exclude each other are never both placed: each publishes its tasks as pending (and
 * as exclusions) before its last look and its commit. Both steps are sequentially consistent, so at
 * least one gang sees the other. That gang gives way: it withdraws and plans again. One of them
 * succeeds: a refusal follows only a search that began while the gang itself was not published. Of
 * several gangs that gave way to each other, the last one to withdraw searches when none of the
 * others is published. A gang that gives way GANG__SEARCHES times is refused without proof, so that
 * gangs do not give way to each other for ever.
 *
 * A refusal stays true as long as the stamp stands still (core/commit/commit.c). So each change of
 * the counts that can let a job in raises the stamp after it: tasks that end or are withdrawn, and
 * new tasks, since other jobs may have to be near them. */
#include "base/error.h"
#include "core/nodes/nodes.h"
#include "place/fit/affinity.h"
#include "place/fit/fit_plan.h"
#include "place/request/request.h"
#include "place/state/records.h"

/* Allocates what counting the job's tasks on a node needs. False: out of memory. */
static bool reserve(const gang_request *request, const struct gang_mem *mem, uint32_t slot)
{
    for (uint32_t i = 0; i < 2 * request->label_count; i++)
        if (!gang__label_count_reserve(request->own_counts[i], mem, GANG__ROLE_HELD, slot) ||
            !gang__label_count_reserve(request->own_counts[i], mem, GANG__ROLE_PENDING, slot))
            return false;
    for (uint32_t i = 0; i < request->affinity_count; i++)
        if (gang__affinity_excludes(&request->affinity[i]) &&
            !gang__label_count_reserve(request->affinity[i].counts, mem,
                                       GANG__ROLE_EXCLUDE + (unsigned)request->affinity[i].level,
                                       slot))
            return false;
    return true;
}

typedef void (*count_fn)(struct gang__label_count *counts, unsigned role, gang_node_id node,
                         uint32_t tasks);

static void count_labels(const gang_request *request, count_fn add_or_sub, unsigned role,
                         gang_node_id id, uint32_t tasks)
{
    for (uint32_t i = 0; i < 2 * request->label_count; i++)
        add_or_sub(request->own_counts[i], role, id, tasks);
}

static void count_exclusions(const gang_request *request, count_fn add_or_sub, gang_node_id id,
                             uint32_t tasks)
{
    for (uint32_t i = 0; i < request->affinity_count; i++)
        if (gang__affinity_excludes(&request->affinity[i]))
            add_or_sub(request->affinity[i].counts,
                       GANG__ROLE_EXCLUDE + (unsigned)request->affinity[i].level, id, tasks);
}

static bool is_used(const struct gang__node_copy *copy)
{
    return copy->node && copy->used > 0;
}

/* Does the whole plan still keep the rules that must hold? *failed: out of memory. */
static bool still_holds(struct gang__plan *p, bool *failed)
{
    *failed = !gang__affinity_read(p, 0);
    for (size_t i = 0; i < p->nodes.count && p->others.bars && !*failed; i++)
        if (is_used(&p->nodes.copy[i]) && !gang__affinity_admits(p, p->nodes.copy[i].node))
            return false;
    return true;
}

gang_result gang__affinity_register(gang_worker *w, struct gang__plan *p)
{
    bool failed = false;
    for (size_t i = 0; i < p->nodes.count; i++)
        if (is_used(&p->nodes.copy[i]) && !reserve(p->request, &p->c->mem, p->nodes.copy[i].slot))
            return GANG_ENOMEM;
    for (size_t i = 0; i < p->nodes.count; i++) {
        if (!is_used(&p->nodes.copy[i]))
            continue;
        gang_node_id id = p->nodes.copy[i].node->id;
        count_labels(p->request, gang__label_count_add, GANG__ROLE_PENDING, id,
                     p->nodes.copy[i].used);
        count_exclusions(p->request, gang__label_count_add, id, p->nodes.copy[i].used);
    }
    p->others.registered = true;
    gang__hook(GANG__STEP_ENTER);
    if (p->mode.adopting || (still_holds(p, &failed) && !failed))
        return GANG_OK;
    gang__affinity_withdraw(w, p);
    p->others.clashes += !failed;
    w->stats.conflicts += !failed;
    return failed ? GANG_ENOMEM : GANG_ENOFIT;
}

void gang__affinity_confirm(gang_worker *w, struct gang__plan *p)
{
    gang__hook(GANG__STEP_SETTLE);
    for (size_t i = 0; i < p->nodes.count; i++) {
        if (!is_used(&p->nodes.copy[i]))
            continue;
        gang_node_id id = p->nodes.copy[i].node->id;
        count_labels(p->request, gang__label_count_add, GANG__ROLE_HELD, id, p->nodes.copy[i].used);
        count_labels(p->request, gang__label_count_sub, GANG__ROLE_PENDING, id,
                     p->nodes.copy[i].used);
    }
    if (p->request->label_count) /* other jobs may have to be near it */
        gang__add_seq(&w->commit.stamp, 1);
}

void gang__affinity_withdraw(gang_worker *w, struct gang__plan *p)
{
    gang__hook(GANG__STEP_SETTLE);
    for (size_t i = 0; i < p->nodes.count; i++) {
        if (!is_used(&p->nodes.copy[i]))
            continue;
        gang_node_id id = p->nodes.copy[i].node->id;
        count_labels(p->request, gang__label_count_sub, GANG__ROLE_PENDING, id,
                     p->nodes.copy[i].used);
        count_exclusions(p->request, gang__label_count_sub, id, p->nodes.copy[i].used);
    }
    p->others.registered = false;
    gang__add_seq(&w->commit.stamp, 1);
}

void gang__affinity_release(gang_worker *w, const struct gang__alloc *a, const uint64_t *keys,
                            size_t count)
{
    uint32_t tasks = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t *task = a->data + (uint32_t)keys[i];
        bool last = i + 1 == count || a->data[(uint32_t)keys[i + 1]] != task[0];
        tasks += !gang__task_is_holder(task);
        if (!last)
            continue;
        count_labels(a->request, gang__label_count_sub, GANG__ROLE_HELD, task[0], tasks);
        count_exclusions(a->request, gang__label_count_sub, task[0], tasks);
        tasks = 0;
    }
    gang__add_seq(&w->commit.stamp, 1);
}

bool gang__affinity_count(gang_cluster *c, const struct gang__alloc *a)
{
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
        if (!reserve(a->request, &c->mem, (uint32_t)task[0]))
            return false;
        if (!gang__node_of(c, task[0])) /* it will be given back, but does not count */
            continue;
        count_labels(a->request, gang__label_count_add, GANG__ROLE_HELD, task[0], 1);
        count_exclusions(a->request, gang__label_count_add, task[0], 1);
    }
    return true;
}
