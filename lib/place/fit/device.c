/* SPDX-License-Identifier: Apache-2.0 */
/* Inside one node: which GPUs, which cores. */
#include "place/fit/device.h"

#include "place/fit/gpu_set.h"

/* ---- GPUs ------------------------------------------------------------------------------------ */

static const struct gang__gpu_set *best_of(struct gang__plan *p, const struct gang__node_type *type,
                                           const struct gang__group *g, uint64_t free,
                                           uint64_t among)
{
    struct gang__gpu_question question = {
        type->serial,      type->weight, among, free, g->near_nic ? type->nic_gpus : 0,
        type->layout.gpus, g->devices};
    const struct gang__gpu_set *set = gang__gpu_set_best(&p->gpu_solver, &p->c->mem, &question);
    p->out.failed = p->out.failed || !set;
    return set;
}

uint64_t gang__choose_gpus(struct gang__plan *p, const struct gang__node_type *type,
                           const struct gang__group *g, uint64_t free, uint64_t among)
{
    const struct gang__gpu_set *set = best_of(p, type, g, free, among);
    return set ? set->gpus : 0;
}

uint64_t gang__choose_gpus_together(const struct gang__fit_ctx *f, uint64_t free, uint64_t among,
                                    const uint64_t *cores, uint32_t count)
{
    const struct gang__node_type *type = f->copy->type;
    const struct gang__gpu_set *set = best_of(f->p, type, f->g, free, among);
    struct gang__gpu_set best = {0, 0, UINT64_MAX, 0};
    if (!set)
        return 0;
    best.links = set->links;
    best.near_count = set->near_count;
    for (uint32_t d = 0; d < type->numas; d++) {
        uint64_t here = among & type->numa_gpus[d];
        if (gang__popcount(here) < f->g->devices || gang__cores_in(type, d, cores) < count)
            continue;
        set = best_of(f->p, type, f->g, free, here);
        if (!set)
            return 0;
        if (gang__gpu_set_wins(set, &best))
            best = *set;
    }
    return best.gpus;
}

/* ---- cores ----------------------------------------------------------------------------------- */

/* Move the lowest bits of one word, at most `most`, to another. Returns how many. */
static uint32_t move_bits(uint64_t bits, uint32_t most, uint64_t *to)
{
    enum { FEW = 8 }; /* as many are moved faster than the bits of the word are counted */
    uint32_t there = most > FEW ? gang__popcount(bits) : most + 1;
    if (there <= most) {
        *to |= bits;
        return there;
    }
    uint64_t rest = bits;
    for (there = 0; there < most && rest; there++)
        rest &= rest - 1;
    *to |= bits ^ rest;
    return there;
}

uint32_t gang__cores_in(const struct gang__node_type *type, uint32_t domain, const uint64_t *free)
{
    const uint64_t *inside = type->numa_cores + (size_t)domain * type->layout.core_words;
    uint32_t count = 0;
    for (unsigned i = type->numa_run[2 * domain]; i < type->numa_run[2 * domain + 1]; i++)
        count += gang__popcount(free[i] & inside[i]);
    return count;
}

/* Up to `most` cores of a domain that are free and not taken yet. Returns how many. */
static uint32_t take_in(const struct gang__node_type *type, uint32_t domain, const uint64_t *free,
                        uint32_t most, uint64_t *taken)
{
    const uint64_t *inside = type->numa_cores + (size_t)domain * type->layout.core_words;
    uint32_t left = most;
    for (unsigned i = type->numa_run[2 * domain]; left && i < type->numa_run[2 * domain + 1]; i++)
        left -= move_bits(free[i] & inside[i] & ~taken[i], left, &taken[i]);
    return most - left;
}

/* Cores of the GPUs' domains, of each as many as it has of the GPUs, then of any of these domains.
 * Returns how many are missing. */
static uint32_t take_beside(const struct gang__node_type *type, const uint64_t *free, uint64_t gpus,
                            uint32_t count, uint64_t *taken)
{
    uint32_t left = count, all = gang__popcount(gpus);
    for (int round = 0; round < 2 && left; round++) {
        for (uint64_t rest = gpus; rest && left;) {
            unsigned gpu = (unsigned)__builtin_ctzll(rest);
            int32_t d = gang__numa_index(type, type->spec->gpus[gpu].numa);
            uint64_t here = d < 0 ? rest & (~rest + 1) : gpus & type->numa_gpus[d];
            uint32_t most = here == gpus || round ? left : count * gang__popcount(here) / all;
            if (d >= 0)
                left -= take_in(type, (uint32_t)d, free, most, taken);
            rest &= ~here;
        }
    }
    return left;
}

/* Cores of as few domains as do: the one that is left with least if one suffices, else the one with
 * most and so on. Returns how many are missing: those of unknown domain are left. */
static uint32_t take_together(const struct gang__node_type *type, const uint64_t *free,
                              uint32_t count, uint64_t *taken)
{
    uint64_t open[GANG__MAX_WORDS];
    uint16_t there[GANG_MAX_NUMAS];
    for (unsigned i = 0; i < type->layout.core_words; i++)
        open[i] = free[i] & ~taken[i];
    for (uint32_t d = 0; d < type->numas; d++)
        there[d] = (uint16_t)gang__cores_in(type, d, open);
    while (count) {
        uint32_t best = 0;
        for (uint32_t d = 1; d < type->numas; d++) {
            bool holds = there[d] >= count, held = there[best] >= count;
            if (holds && held ? there[d] < there[best] : there[d] > there[best])
                best = d;
        }
        if (there[best] == 0)
            break;
        count -= take_in(type, best, free, count, taken);
        there[best] = 0;
    }
    return count;
}

bool gang__choose_cores_beside(const struct gang__node_type *type, const uint64_t *free,
                               uint64_t gpus, uint32_t count, uint64_t *taken)
{
    if (!gpus || type->single_numa)
        return false;
    int32_t d = gang__numa_index(type, type->spec->gpus[__builtin_ctzll(gpus)].numa);
    if (d < 0 || (gpus & ~type->numa_gpus[d]))
        return false;
    for (unsigned i = 0; i < type->layout.core_words; i++)
        taken[i] = 0;
    return take_in(type, (uint32_t)d, free, count, taken) == count;
}

bool gang__choose_cores(const struct gang__node_type *type, const uint64_t *free, uint64_t gpus,
                        uint32_t count, int32_t numa, uint64_t *taken)
{
    unsigned words = type->layout.core_words;
    uint32_t there = 0, left = count;
    for (unsigned i = 0; i < words; i++) {
        there += gang__popcount(free[i]);
        taken[i] = free[i];
    }
    if (there <= count)
        return there == count;
    for (unsigned i = 0; i < words; i++)
        taken[i] = 0;
    if (!type->single_numa && numa != GANG_NUMA_NONE) {
        if (gpus)
            left = take_beside(type, free, gpus, left, taken);
        if (left)
            left = take_together(type, free, left, taken);
    }
    for (unsigned i = 0; i < words && left; i++)
        left -= move_bits(free[i] & ~taken[i], left, &taken[i]);
    return true;
}

void gang__choose_cores_in(const struct gang__node_type *type, const uint64_t *free,
                           uint32_t domain, uint32_t count, uint64_t *taken)
{
    for (unsigned i = 0; i < type->layout.core_words; i++)
        taken[i] = 0;
    (void)take_in(type, domain, free, count, taken);
}

bool gang__is_together(const struct gang__node_type *type, uint64_t gpus, const uint64_t *cores)
{
    int32_t d = gang__numa_index(type, type->spec->gpus[__builtin_ctzll(gpus)].numa);
    if (d < 0 || (gpus & ~type->numa_gpus[d]))
        return false;
    const uint64_t *inside = type->numa_cores + (size_t)d * type->layout.core_words;
    uint64_t outside = 0;
    for (unsigned i = 0; i < type->layout.core_words; i++)
        outside |= cores[i] & ~inside[i];
    return outside == 0;
}
