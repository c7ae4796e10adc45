/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: begin, end, scratch words, undo. */
#include "place/fit/fit_plan.h"

#include "core/nodes/nodes.h"
#include "place/fit/affinity.h"
#include "place/fit/fit_task.h"
#include "place/fit/gpu_set.h"
#include "place/fit/node_copy.h"
#include "place/fit/scope.h"

gang_result gang__plan_begin(struct gang__plan *p, gang_cluster *c, const gang_request *request,
                             bool empty)
{
    p->c = c;
    p->request = request;
    p->mode.empty = empty;
    p->out.failed = p->mode.adopting = p->mode.exact_reads = p->mode.skip_claimed =
        p->out.met_claimed = p->out.skipped = p->out.replan = false;
    p->mode.cores = NULL;
    p->mode.worst_fit = empty;
    p->mode.check_health = !empty && (p->snap || gang__load(&c->nodes.unhealthy));
    p->tier.modes = gang__modes_now(c);
    p->tier.models = SIZE_MAX;
    p->tier.limit = UINT32_MAX;
    p->out.host = 0;
    p->epoch = gang__load(&c->nodes.epoch);
    p->device_sets.count = 0;
    p->nodes.count = p->words = p->tasks.count = p->bound.undos = p->keys.count =
        p->tasks.held_count = 0;
    const struct gang_mem *mem = &c->mem;
    size_t groups = request->group_count, sets = request->group_set_count;
    if (!gang__grow(mem, (void **)&p->tasks.in_group, &p->tasks.group_cap, groups,
                    sizeof(*p->tasks.in_group)) ||
        !gang__grow(mem, (void **)&p->bound.group, &p->bound.group_cap, groups,
                    sizeof(struct gang__scope)) ||
        !gang__grow(mem, (void **)&p->bound.devices, &p->bound.device_cap, groups,
                    sizeof(*p->bound.devices)) ||
        !gang__grow(mem, (void **)&p->bound.set, &p->bound.set_cap, sets + 1,
                    sizeof(struct gang__scope)))
        return GANG_ENOMEM;
    p->subset.on = false;
    for (size_t i = 0; i < groups; i++) {
        p->tasks.in_group[i] = 0;
        p->bound.group[i] = gang__scope_unbound();
        p->bound.devices[i] = UINT64_MAX;
    }
    for (size_t i = 0; i < sets; i++)
        p->bound.set[i] = gang__scope_unbound();
    p->bound.request = gang__scope_unbound();
    p->others.bars = false;
    return request->has_affinity || request->exclusive ? gang__affinity_begin(p) : GANG_OK;
}

void gang__plan_free(struct gang__plan *p, const struct gang_mem *mem)
{
    gang__release(mem, p->nodes.copy);
    gang__release(mem, p->word);
    gang__release(mem, p->tasks.plan);
    gang__release(mem, p->nodes.table);
    gang__release(mem, p->tasks.in_group);
    gang__release(mem, p->bound.group);
    gang__release(mem, p->bound.set);
    gang__release(mem, p->bound.devices);
    gang__release(mem, p->device_sets.set);
    gang__release(mem, p->bound.undo);
    gang__release(mem, p->keys.key);
    gang__release(mem, p->tasks.held);
    gang__gpu_solver_free(&p->gpu_solver, mem);
    gang__release(mem, p->score.candidate);
    gang__release(mem, p->score.slot_set);
    gang__release(mem, p->score.host_candidate);
    gang__release(mem, p->score.host_score);
}

bool gang__plan_reserve(struct gang__plan *p, const struct gang_mem *mem, size_t tasks,
                        size_t words)
{
    p->nodes.count = 0;
    return gang__node_copies_reserve(p, mem, tasks + 1) &&
           gang__grow(mem, (void **)&p->nodes.copy, &p->nodes.cap, tasks + 1,
                      sizeof(*p->nodes.copy)) &&
           gang__grow(mem, (void **)&p->word, &p->word_cap, 3 * tasks * words, sizeof(*p->word)) &&
           gang__grow(mem, (void **)&p->tasks.plan, &p->tasks.cap, tasks, sizeof(*p->tasks.plan));
}

void gang__plan_rollback(struct gang__plan *p, size_t tasks)
{
    while (p->tasks.count > tasks) {
        const struct gang__task_plan *task = &p->tasks.plan[--p->tasks.count];
        gang__task_plan_apply(p, task, true);
        p->tasks.in_group[task->group]--;
        size_t cores = task->cores ? p->nodes.copy[task->copy].layout.core_words : 0;
        if (cores && task->core_at + cores == p->words) /* so that a long search does not pile up */
            p->words = task->core_at;
    }
}
