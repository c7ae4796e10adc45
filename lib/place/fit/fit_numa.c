/* SPDX-License-Identifier: Apache-2.0 */
/* One task in one NUMA domain: its GPUs, its named cores and its memory. */
#include "place/fit/choose_devices.h"
#include "place/fit/device.h"
#include "place/fit/fit_plan.h"
#include "place/fit/fit_task.h"
#include "place/fit/gpu_set.h"
#include "place/fit/mig.h"

/* Devices of a task and the domain they would be in, and how good that is. */
struct corner {
    uint32_t domain;
    uint32_t share;
    uint32_t cores_free;
    size_t models; /* gang__liked_models() */
    struct gang__gpu_set set;
};

/* Prefers better-ranked models, then better links, nearer network cards, less breakage. For shares:
 * the fullest devices, or the emptiest (as in best_device()). For instances: the domain with the
 * fewest free slices. Then the domain with fewer free cores. */
static bool is_better(const struct corner *a, const struct corner *b)
{
    if (a->models != b->models)
        return a->models < b->models;
    if (gang__gpu_set_wins(&a->set, &b->set))
        return true;
    return !gang__gpu_set_wins(&b->set, &a->set) && a->cores_free < b->cores_free;
}

static struct gang__gpu_set worth_of(struct gang__plan *p, const struct gang__group *g,
                                     const struct gang__node_copy *v, uint32_t domain,
                                     uint64_t gpus)
{
    const uint64_t *now = gang__words_now(p, v);
    const struct gang__node_type *shape = v->shape;
    struct gang__gpu_question wish = {shape->serial,
                                      shape->weight,
                                      gpus,
                                      takeable_devices(v, gang__whole_devices(v->layout, now)),
                                      g->near_nic ? shape->nic_gpus : 0,
                                      shape->layout.gpus,
                                      g->devices};
    struct gang__gpu_set set = {gpus, 0, 0, 0};
    if (g->profile) {
        uint64_t slices = gang__whole_devices(v->layout, now) & shape->slices & ~v->unhealthy;
        set.broken = (uint64_t)gang__fresh_parents(shape, slices, gpus) << 8 |
                     gang__popcount(slices & shape->numa_gpus[domain]);
        return set;
    }
    if (g->share == 1000)
        return gang__gpu_set_of(&wish, gpus);
    for (uint64_t left = gpus; left; left &= left - 1) {
        uint32_t free = share_free(now, (unsigned)__builtin_ctzll(left));
        set.broken += p->mode.worst_fit && g->devices > 1 ? 1000 - free : free;
    }
    return set;
}

/* The domain that a task goes to. Its tasks alike each use up one domain's share of things, so
 * which one is taken first makes no difference to how many fit. */
static bool find_corner(struct gang__plan *p, const struct gang__group *g,
                        const struct gang__node_copy *v, uint64_t wanted, const uint64_t *free,
                        uint32_t cores, struct corner *best)
{
    const uint64_t *now = gang__words_now(p, v);
    bool found = false;
    for (uint32_t d = 0; d < v->shape->numas && !(found && p->mode.empty); d++) {
        struct corner here = {d, 0, 0, 0, {0, 0, 0, 0}};
        here.cores_free = cores ? gang__cores_in(v->shape, d, free) : 0;
        if (here.cores_free < cores || !gang__numa_holds(g, v, d))
            continue;
        if (g->devices) {
            uint64_t gpus = gang__choose_devices(
                p, g, v, now, wanted, v->shape->numa_gpus[d] & ~v->unhealthy, &here.share);
            if (!gpus)
                continue;
            here.models = gang__liked_models(g, v, gpus);
            here.set = worth_of(p, g, v, d, gpus);
        }
        if (!found || is_better(&here, best))
            *best = here;
        found = true;
    }
    return found;
}

/* A task that takes its GPUs, its named cores (of the `free` ones) and its memory of one domain. */
bool gang__fits_in_numa(struct gang__plan *p, const struct gang__group *g,
                        const struct gang__node_copy *v, uint64_t wanted, const uint64_t *free,
                        struct gang__task_plan *pick, uint64_t *cores, struct gang__misfit *misfit)
{
    const uint64_t *now = gang__words_now(p, v);
    struct corner best = {0, 0, 0, 0, {0, 0, 0, 0}};
    if (find_corner(p, g, v, wanted, free, pick->cores, &best)) {
        pick->gpus = best.set.gpus;
        pick->share = best.share;
        if (pick->cores)
            gang__choose_cores_in(v->shape, free, best.domain, pick->cores, cores);
        return true;
    }
    *misfit = gang__no_devices(p, g, v);
    if (g->devices && !gang__choose_devices(p, g, v, now, wanted, ~v->unhealthy, &pick->share))
        return false;
    misfit->why = GANG_CONSTRAINT_KIND;
    misfit->kind = GANG_KIND_CPU;
    if (pick->cores && !gang__choose_cores(v->shape, free, 0, pick->cores, GANG_NUMA_NONE, cores))
        return false;
    misfit->why = GANG_CONSTRAINT_NUMA;
    misfit->kind = -1;
    return false;
}
