/* SPDX-License-Identifier: Apache-2.0 */
/* Instances of a MIG profile: the choice of slices and parents.
 *
 * An instance costs at least one instance of its own profile, and no start is taken that costs
 * more; so the most instances that a node can give are given, in whatever order they are asked for.
 * (Profiles of one name never hold for the same slice, and instances of one width that begin as
 * early as they can are as many as can be.) Of those starts: on a parent that is cut already before
 * one that is whole; the one that costs the least of all profiles together; the fullest parent; the
 * lowest. */
#include <string.h>

#include "core/nodes/nodes.h"
#include "model/specs.h"
#include "place/fit/mig.h"

/* ---- one parent ------------------------------------------------------------------------------ */

static uint64_t slices_from(unsigned start, int64_t width)
{
    return UINT64_MAX >> (GANG__MAX_SLICES - width) << start;
}

/* Where an instance could begin, if these slices are free. */
static uint64_t starts_in(const struct gang_profile_spec *profile, uint64_t free)
{
    uint64_t runs = free; /* first slices of `length` free ones */
    for (int64_t length = 1; length < profile->width && runs;) {
        int64_t more = length < profile->width - length ? length : profile->width - length;
        runs &= runs >> more;
        length += more;
    }
    return runs & profile->starts;
}

/* The most instances at these starts that do not overlap. */
static uint32_t max_starts(uint64_t starts, int64_t width)
{
    uint32_t count = 0;
    for (; starts; count++) {
        int64_t end = __builtin_ctzll(starts) + width;
        starts = end < GANG__MAX_SLICES ? starts & UINT64_MAX << end : 0;
    }
    return count;
}

/* The value of free slices of a parent: the instances of each profile that they could form,
 * weighted by width; then the places where these could begin. */
static uint64_t value_of(const struct gang__node_type *type, uint32_t parent, uint64_t free)
{
    const struct gang__parents *p = type->parents;
    uint64_t instances = 0, places = 0;
    for (uint32_t k = 0; k < p->profiles; k++) {
        const struct gang_profile_spec *profile = &type->spec->profiles[k];
        uint64_t starts = starts_in(profile, free & p->fits[(size_t)k * p->count + parent]);
        instances += (uint64_t)profile->width * max_starts(starts, profile->width);
        places += (uint64_t)profile->width * gang__popcount(starts);
    }
    return instances << 32 | places;
}

/* ---- one instance ---------------------------------------------------------------------------- */

struct choice {
    uint64_t devices; /* 0: none yet */
    uint64_t cost;
    uint32_t slices; /* free ones of its parent */
};

/* The best start of a profile in a parent. `free`: all free slices; `allowed`: the ones
 * that the task may use. */
static void try_starts(const struct gang__node_type *type, uint32_t k, uint32_t parent,
                       uint64_t free, uint64_t allowed, struct choice *best)
{
    const struct gang__parents *p = type->parents;
    const struct gang_profile_spec *profile = &type->spec->profiles[k];
    uint64_t usable =
        gang__positions_of(p, parent, allowed) & p->fits[(size_t)k * p->count + parent];
    uint64_t starts = starts_in(profile, usable);
    uint32_t most = max_starts(starts, profile->width), slices = gang__popcount(free);
    if (!most)
        return;
    uint64_t value = value_of(type, parent, free);
    for (; starts; starts &= starts - 1) {
        uint64_t taken = slices_from((unsigned)__builtin_ctzll(starts), profile->width);
        if (max_starts(starts_in(profile, usable & ~taken), profile->width) + 1 != most)
            continue;
        uint64_t cost = value - value_of(type, parent, free & ~taken);
        if (best->devices && (cost > best->cost || (cost == best->cost && slices >= best->slices)))
            continue;
        best->devices = gang__devices_at(&p->parent[parent], taken);
        best->cost = cost;
        best->slices = slices;
    }
}

/* ---- all of a task --------------------------------------------------------------------------- */

bool gang__profile_is_here(const struct gang__group *g, const struct gang__node_type *type)
{
    for (size_t k = 0; type->slices && k < type->spec->profile_count; k++)
        if (strcmp(type->spec->profiles[k].name, g->profile) == 0)
            return true;
    return false;
}

uint32_t gang__max_instances(const struct gang__group *g, const struct gang__node_type *type,
                             uint64_t allowed)
{
    const struct gang__parents *p = type->parents;
    uint32_t count = 0;
    for (uint32_t k = 0; p && k < p->profiles; k++) {
        const struct gang_profile_spec *profile = &type->spec->profiles[k];
        if (strcmp(profile->name, g->profile) != 0)
            continue;
        for (uint32_t i = 0; i < p->count; i++) {
            uint64_t fits = p->fits[(size_t)k * p->count + i];
            uint64_t starts = starts_in(profile, gang__positions_of(p, i, allowed) & fits);
            count += max_starts(starts, profile->width);
        }
    }
    return count;
}

uint32_t gang__instances_without(const struct gang__node_type *type, const char *profile,
                                 uint64_t without)
{
    const struct gang__group g = {.profile = profile};
    return type->slices ? gang__max_instances(&g, type, type->slices & ~without) : 0;
}

static uint64_t one_instance(const struct gang__group *g, const struct gang__node_type *type,
                             uint64_t free, uint64_t allowed)
{
    const struct gang__parents *p = type->parents;
    struct choice best = {0, 0, 0};
    for (int fresh = 0; fresh < 2 && !best.devices; fresh++) {
        for (uint32_t i = 0; i < p->count; i++) {
            uint64_t there = gang__positions_of(p, i, free);
            if ((there == p->parent[i].positions) != fresh)
                continue;
            for (uint32_t k = 0; k < p->profiles; k++)
                if (strcmp(type->spec->profiles[k].name, g->profile) == 0)
                    try_starts(type, k, i, there, allowed, &best);
        }
    }
    return best.devices;
}

uint64_t gang__choose_instances(const struct gang__group *g, const struct gang__node_type *type,
                                uint64_t free, uint64_t allowed)
{
    uint64_t chosen = 0;
    if (gang__max_instances(g, type, allowed) < g->devices)
        return 0;
    for (uint32_t i = 0; i < g->devices; i++)
        chosen |= one_instance(g, type, free & ~chosen, allowed & ~chosen);
    return chosen;
}

uint32_t gang__fresh_parents(const struct gang__node_type *type, uint64_t free, uint64_t devices)
{
    const struct gang__parents *p = type->parents;
    uint32_t count = 0;
    for (uint32_t i = 0; p && i < p->count; i++)
        count += (p->parent[i].devices & ~free) == 0 && (p->parent[i].devices & devices);
    return count;
}

/* The lowest of the slices begins an instance: so there is one way to read them. Returns the number
 * of instances, 0 if something is left over. */
static uint32_t count_instances(const struct gang_profile_spec *profile, uint64_t slices)
{
    uint32_t count = 0;
    for (; slices; count++) {
        unsigned start = (unsigned)__builtin_ctzll(slices);
        uint64_t taken = slices_from(start, profile->width);
        if (!(profile->starts >> start & 1) || (slices & taken) != taken)
            return 0;
        slices &= ~taken;
    }
    return count;
}

bool gang__are_instances(const struct gang__group *g, const struct gang__node_type *type,
                         uint64_t devices)
{
    const struct gang__parents *p = type->parents;
    uint32_t count = 0;
    uint64_t left = devices;
    for (uint32_t k = 0; p && k < p->profiles; k++) {
        const struct gang_profile_spec *profile = &type->spec->profiles[k];
        if (strcmp(profile->name, g->profile) != 0)
            continue;
        for (uint32_t i = 0; i < p->count; i++) {
            uint64_t slices = gang__positions_of(p, i, devices);
            slices &= p->fits[(size_t)k * p->count + i];
            uint32_t here = count_instances(profile, slices);
            if (here)
                left &= ~gang__devices_at(&p->parent[i], slices);
            count += here;
        }
    }
    return !left && count == g->devices;
}
