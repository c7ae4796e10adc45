/* SPDX-License-Identifier: Apache-2.0 */
/* One task in one NUMA domain: its GPUs, its named cores and its memory. */
#include "place/fit/choose_devices.h"
#include "place/fit/device.h"
#include "place/fit/fit_plan.h"
#include "place/fit/fit_task.h"
#include "place/fit/gpu_set.h"
#include "place/fit/mig.h"

/* Devices of a task and the domain they would be in, and how good that is. */
struct numa_choice {
    uint32_t domain;
    uint32_t share;
    uint32_t cores_free;
    size_t models; /* gang__models_needed() */
    struct gang__gpu_set set;
};

/* Prefers better-ranked models, then better links, nearer network cards, less breakage. For shares:
 * the fullest devices, or the emptiest (as in best_device()). For instances: the domain with the
 * fewest free slices. Then the domain with fewer free cores. */
static bool is_better(const struct numa_choice *a, const struct numa_choice *b)
{
    if (a->models != b->models)
        return a->models < b->models;
    if (gang__gpu_set_wins(&a->set, &b->set))
        return true;
    return !gang__gpu_set_wins(&b->set, &a->set) && a->cores_free < b->cores_free;
}

static struct gang__gpu_set score_of(const struct gang__fit_ctx *f, uint32_t domain, uint64_t gpus)
{
    const struct gang__group *g = f->g;
    const struct gang__node_copy *copy = f->copy;
    const uint64_t *now = f->now;
    const struct gang__node_type *type = copy->type;
    struct gang__gpu_question question = {
        type->serial,
        type->weight,
        gpus,
        takeable_devices(copy, gang__whole_devices(copy->layout, now)),
        g->near_nic ? type->nic_gpus : 0,
        type->layout.gpus,
        g->devices};
    struct gang__gpu_set set = {gpus, 0, 0, 0};
    if (g->profile) {
        uint64_t slices = gang__whole_devices(copy->layout, now) & type->slices & ~copy->unhealthy;
        set.broken = (uint64_t)gang__fresh_parents(type, slices, gpus) << 8 |
                     gang__popcount(slices & type->numa_gpus[domain]);
        return set;
    }
    if (g->share == 1000)
        return gang__gpu_set_of(&question, gpus);
    for (uint64_t left = gpus; left; left &= left - 1) {
        uint32_t free = share_free(now, (unsigned)__builtin_ctzll(left));
        set.broken += f->p->mode.worst_fit && g->devices > 1 ? 1000 - free : free;
    }
    return set;
}

/* The domain that a task goes to. Tasks are alike and each lies in one domain, so the order in
 * which domains fill makes no difference to how many tasks fit. */
static bool find_numa(const struct gang__fit_ctx *f, const uint64_t *free, uint32_t cores,
                      struct numa_choice *best)
{
    const struct gang__group *g = f->g;
    const struct gang__node_copy *copy = f->copy;
    bool found = false;
    for (uint32_t d = 0; d < copy->type->numas && !(found && f->p->mode.empty); d++) {
        struct numa_choice here = {d, 0, 0, 0, {0, 0, 0, 0}};
        here.cores_free = cores ? gang__cores_in(copy->type, d, free) : 0;
        if (here.cores_free < cores || !gang__numa_holds(g, copy, d))
            continue;
        if (g->devices) {
            uint64_t gpus =
                gang__choose_devices(f, copy->type->numa_gpus[d] & ~copy->unhealthy, &here.share);
            if (!gpus)
                continue;
            here.models = gang__models_needed(g, copy, gpus);
            here.set = score_of(f, d, gpus);
        }
        if (!found || is_better(&here, best))
            *best = here;
        found = true;
    }
    return found;
}

bool gang__fits_in_numa(const struct gang__fit_ctx *f, const uint64_t *free,
                        struct gang__task_plan *task, uint64_t *cores, struct gang__misfit *misfit)
{
    const struct gang__node_copy *copy = f->copy;
    struct numa_choice best = {0, 0, 0, 0, {0, 0, 0, 0}};
    if (find_numa(f, free, task->cores, &best)) {
        task->gpus = best.set.gpus;
        task->share = best.share;
        if (task->cores)
            gang__choose_cores_in(copy->type, free, best.domain, task->cores, cores);
        return true;
    }
    *misfit = gang__no_devices(f);
    if (f->g->devices && !gang__choose_devices(f, ~copy->unhealthy, &task->share))
        return false;
    misfit->why = GANG_CONSTRAINT_KIND;
    misfit->kind = GANG_KIND_CPU;
    if (task->cores && !gang__choose_cores(copy->type, free, 0, task->cores, GANG_NUMA_NONE, cores))
        return false;
    misfit->why = GANG_CONSTRAINT_NUMA;
    misfit->kind = -1;
    return false;
}
