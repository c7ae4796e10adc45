/* SPDX-License-Identifier: Apache-2.0 */
#include "core/nodes/parent.h"

#include <string.h>

#include "model/specs.h"

/* The parent of slice `i`: that of an earlier slice, or a new one. */
static uint32_t parent_of(struct gang__parents *p, const struct gang_node_spec *spec, size_t i)
{
    for (uint32_t k = 0; k < p->count; k++) {
        size_t other = (size_t)__builtin_ctzll(p->parent[k].devices);
        if (strcmp(spec->gpus[other].parent, spec->gpus[i].parent) == 0)
            return k;
    }
    return p->count++;
}

static uint64_t positions_of_model(const struct gang__parents *p, uint32_t parent,
                                   const struct gang_node_spec *spec, const char *model)
{
    uint64_t positions = 0;
    for (uint64_t left = p->parent[parent].devices; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (!model || !model[0] || gang__same_or_empty(spec->gpus[i].model, model))
            positions |= UINT64_C(1) << p->position[i];
    }
    return positions;
}

struct gang__parents *gang__parents_new(const struct gang_mem *mem,
                                        const struct gang_node_spec *spec)
{
    size_t slices = 0, profiles = spec->profile_count;
    for (size_t i = 0; i < spec->gpu_count; i++)
        slices += gang__is_slice(&spec->gpus[i]);
    struct gang__parents *p = gang__zalloc(mem, 1,
                                           sizeof(*p) + slices * sizeof(struct gang__parent) +
                                               slices * profiles * sizeof(uint64_t));
    if (!p)
        return NULL;
    p->parent = (struct gang__parent *)(p + 1);
    for (size_t i = 0; i < spec->gpu_count; i++) {
        if (!gang__is_slice(&spec->gpus[i]))
            continue;
        struct gang__parent *parent = &p->parent[parent_of(p, spec, i)];
        p->position[i] = (uint8_t)spec->gpus[i].mig_index;
        parent->devices |= UINT64_C(1) << i;
        parent->positions |= UINT64_C(1) << spec->gpus[i].mig_index;
        parent->device[spec->gpus[i].mig_index] = (uint8_t)i;
    }
    p->fits = (uint64_t *)(p->parent + p->count);
    p->profiles = (uint32_t)profiles;
    for (size_t k = 0; k < profiles; k++)
        for (uint32_t i = 0; i < p->count; i++)
            p->fits[k * p->count + i] = positions_of_model(p, i, spec, spec->profiles[k].model);
    return p;
}

/* ---- widths ---------------------------------------------------------------------------------- */

static struct gang__width *width_find(gang_cluster *c, const char *name)
{
    struct gang__width *w = gang__load(&c->nodes.widths);
    while (w && strcmp(w->name, name) != 0)
        w = w->next;
    return w;
}

bool gang__widths_note(gang_cluster *c, const struct gang_node_spec *spec)
{
    for (size_t i = 0; i < spec->profile_count; i++) {
        const struct gang_profile_spec *profile = &spec->profiles[i];
        struct gang__width *w = width_find(c, profile->name);
        uint64_t slices = (uint64_t)profile->width;
        if (w) {
            if (gang__load(&w->slices) < slices)
                gang__store(&w->slices, slices);
            continue;
        }
        size_t bytes = strlen(profile->name) + 1;
        w = gang__zalloc(&c->mem, 1, sizeof(*w) + bytes);
        if (!w)
            return false;
        memcpy(w->name, profile->name, bytes);
        gang__store(&w->slices, slices);
        w->next = gang__load(&c->nodes.widths);
        gang__store(&c->nodes.widths, w);
    }
    return true;
}

void gang__widths_free(gang_cluster *c)
{
    for (struct gang__width *w = gang__load(&c->nodes.widths), *next; w; w = next) {
        next = w->next;
        gang__release(&c->mem, w);
    }
}

uint64_t gang__width_of(gang_cluster *c, const char *profile)
{
    struct gang__width *w = width_find(c, profile);
    return w ? gang__load(&w->slices) : 1;
}
