/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices of a node a task gets: whole ones, parts, instances of a profile; by rank of
 * models. */
#include "place/fit/choose_devices.h"

#include "place/fit/device.h"
#include "place/fit/filter.h"
#include "place/fit/mig.h"

/* Of the devices in `among` that can hold the group's part of one: the fullest; or the emptiest, if
 * a task takes several (p->mode.worst_fit). -1: none can. */
static int best_device(const struct gang__fit_ctx *f, const struct gang__group *g,
                       const struct gang_gpu_spec *gpus, const uint64_t *now, uint64_t among)
{
    int best = -1;
    uint32_t best_free = 0;
    for (; among; among &= among - 1) {
        unsigned i = (unsigned)__builtin_ctzll(among);
        uint32_t need = share_on(g, &gpus[i]), free = share_free(now, i);
        if (need == 0 || free < need)
            continue;
        if (best < 0 ||
            (f->p->mode.worst_fit && g->devices > 1 ? free > best_free : free < best_free)) {
            best = (int)i;
            best_free = free;
        }
    }
    return best;
}

uint64_t gang__usable_devices(const struct gang__group *g, const struct gang__node_copy *copy)
{
    return gang__devices_of_models(g, copy->type, SIZE_MAX) & ~copy->unhealthy;
}

uint64_t gang__plan_devices(const struct gang__plan *p, const struct gang__group *g,
                            const struct gang__node_copy *copy)
{
    uint64_t among = gang__devices_of_models(g, copy->type, p->tier.models) & ~copy->unhealthy;
    among &= gang__devices_bound(p, g);
    return p->subset.on ? among & p->subset.gpus : among;
}

/* Parts of devices for a task. All of them give the same share: devices that differ in memory are
 * not mixed in one task, so try the sizes one after the other. */
static uint64_t choose_shares(const struct gang__fit_ctx *f, uint64_t among, uint32_t *share)
{
    const struct gang__group *g = f->g;
    const struct gang_gpu_spec *gpus = f->copy->type->spec->gpus;
    const uint64_t *now = f->now;
    int best;
    while ((best = best_device(f, g, gpus, now, among)) >= 0) {
        *share = share_on(g, &gpus[best]);
        uint64_t chosen = UINT64_C(1) << best, alike = among;
        for (uint64_t left = g->share ? 0 : among; left; left &= left - 1)
            if (share_on(g, &gpus[__builtin_ctzll(left)]) != *share)
                alike &= ~(left & (~left + 1));
        uint32_t count = 1;
        for (; count < g->devices; count++) {
            best = best_device(f, g, gpus, now, alike & ~chosen);
            if (best < 0)
                break;
            chosen |= UINT64_C(1) << best;
        }
        if (count == g->devices)
            return chosen;
        among &= ~alike;
    }
    return 0;
}

static uint64_t lowest_bits(uint64_t from, uint32_t count)
{
    uint64_t chosen = 0;
    for (uint32_t i = 0; i < count; i++, from &= from - 1)
        chosen |= from & (~from + 1);
    return chosen;
}

/* Devices for a task, of those in `among`. For MIG instances the other free and allowed ones
 * matter, too. */
static uint64_t choose_among(const struct gang__fit_ctx *f, uint64_t among, uint64_t allowed,
                             uint32_t *share)
{
    const struct gang__group *g = f->g;
    const struct gang__node_copy *copy = f->copy;
    if (g->share != 1000)
        return choose_shares(f, among, share);
    uint64_t free = gang__whole_devices(copy->layout, f->now);
    among &= free;
    *share = 1000;
    if (g->profile)
        return gang__choose_instances(g, copy->type, free & copy->type->slices & allowed, among);
    uint32_t count = gang__popcount(among);
    if (count <= g->devices)
        return count == g->devices ? among : 0;
    /* On an imagined cluster only the number of devices matters. */
    if (copy->type->gpus_alike || f->p->mode.empty)
        return lowest_bits(among, g->devices);
    return gang__choose_gpus(f->p, copy->type, g, takeable_devices(copy, free), among);
}

/* Add ranked models one by one until the devices suffice: the least preferred device of the task
 * then ranks as high as possible. */
static uint64_t choose_ranked(const struct gang__fit_ctx *f, uint64_t all, uint64_t allowed,
                              uint32_t *share)
{
    const struct gang__group *g = f->g;
    uint64_t before = 0;
    /* Parts of several devices: whatever fits whenever some do. */
    bool any = f->p->mode.worst_fit && g->devices > 1 && g->share != 1000;
    for (size_t models = 1; !any && models < g->model_count && before != all; models++) {
        uint64_t among = gang__devices_of_models(g, f->copy->type, models) & all;
        uint64_t gpus = among != before ? choose_among(f, among, allowed, share) : 0;
        if (gpus)
            return gpus;
        before = among;
    }
    return before == all ? 0 : choose_among(f, all, allowed, share);
}

size_t gang__models_needed(const struct gang__group *g, const struct gang__node_copy *copy,
                           uint64_t gpus)
{
    size_t models = g->models_ranked ? 1 : SIZE_MAX;
    while (models < g->model_count && (gpus & ~gang__devices_of_models(g, copy->type, models)))
        models++;
    return models;
}

/* Exactly f->wanted, if they are free: of a profile, instances of it. */
static uint64_t choose_wanted(const struct gang__fit_ctx *f, uint64_t all, uint32_t *share)
{
    const struct gang__node_type *type = f->copy->type;
    *share = 1000;
    if (f->g->profile)
        return f->wanted & ~(gang__whole_devices(f->copy->layout, f->now) & type->slices)
                   ? 0
                   : f->wanted;
    return choose_shares(f, f->wanted & (f->p->mode.adopting ? type->gpus : all), share);
}

uint64_t gang__choose_devices(const struct gang__fit_ctx *f, uint64_t allowed, uint32_t *share)
{
    const struct gang__plan *p = f->p;
    const struct gang__group *g = f->g;
    uint64_t all = allowed & (p->subset.on ? p->subset.gpus : UINT64_MAX);
    if (g->model_count || g->profile)
        all &= gang__devices_of_models(g, f->copy->type, p->tier.models);
    else
        all &= f->copy->type->gpus;
    if (!p->mode.adopting)
        all &= gang__devices_bound(p, g);
    if (f->wanted)
        return choose_wanted(f, all, share);
    return g->models_ranked ? choose_ranked(f, all, allowed, share)
                            : choose_among(f, all, allowed, share);
}
