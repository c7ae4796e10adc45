/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what two specifications say about a machine. One of them may be unchecked: reads only as
 * many elements of an array as both have. */
#include <string.h>

#include "base/error.h"
#include "model/node_spec.h"
#include "model/spec_array.h"

/* Elements i of two arrays; in place if they have the library's own size, as most have. */
#define ELEMENTS(type, last, a, b, i, stride_a, stride_b)                               \
    type x_copy, y_copy;                                                                \
    const type *x = (const type *)(const void *)((const char *)(a) + (i) * (stride_a)); \
    const type *y = (const type *)(const void *)((const char *)(b) + (i) * (stride_b)); \
    if ((stride_a) != sizeof(type) || (stride_b) != sizeof(type)) {                     \
        if (!GANG__LOAD2_BY(x_copy, y_copy, last, a, b, i, stride_a, stride_b))         \
            return false;                                                               \
        x = &x_copy;                                                                    \
        y = &y_copy;                                                                    \
    }

bool gang__same_or_empty(const char *a, const char *b)
{
    return a == b || strcmp(a ? a : "", b ? b : "") == 0;
}

/* The same bytes, pointers included, mean the same; hosts mostly describe like machines this
 * way. */
static bool same_bytes(const void *a, size_t a_size, const void *b, size_t b_size, size_t count,
                       size_t size)
{
    return count && a_size == size && b_size == size && memcmp(a, b, count * size) == 0;
}

/* Can the elements of two arrays be compared? */
static bool comparable(const void *a, size_t a_count, const void *b, size_t b_count)
{
    return a_count == b_count && (a_count == 0 || (a && b));
}

static bool same_gpus(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    if (!comparable(a->gpus, a->gpu_count, b->gpus, b->gpu_count))
        return false;
    for (size_t i = 0; i < a->gpu_count; i++) {
        ELEMENTS(struct gang_gpu_spec, pcie, a->gpus, b->gpus, i, a->gpu_size, b->gpu_size)
        if (x->memory_bytes != y->memory_bytes || x->numa != y->numa ||
            x->mig_index != y->mig_index || x->pcie != y->pcie ||
            !gang__same_or_empty(x->model, y->model) || !gang__same_or_empty(x->pci, y->pci) ||
            !gang__same_or_empty(x->parent, y->parent))
            return false;
    }
    return true;
}

static bool same_links(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    if (!comparable(a->links, a->link_count, b->links, b->link_count))
        return false;
    if (same_bytes(a->links, a->link_size, b->links, b->link_size, a->link_count,
                   sizeof(struct gang_link_spec)))
        return true;
    for (size_t i = 0; i < a->link_count; i++) {
        ELEMENTS(struct gang_link_spec, bandwidth_mbps, a->links, b->links, i, a->link_size,
                 b->link_size)
        if (x->a != y->a || x->b != y->b || x->type != y->type || x->hops != y->hops ||
            x->bandwidth_mbps != y->bandwidth_mbps)
            return false;
    }
    return true;
}

static bool same_numas(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    if (!comparable(a->numas, a->numa_count, b->numas, b->numa_count))
        return false;
    if (same_bytes(a->numas, a->numa_size, b->numas, b->numa_size, a->numa_count,
                   sizeof(struct gang_numa_spec)))
        return true;
    for (size_t i = 0; i < a->numa_count; i++) {
        ELEMENTS(struct gang_numa_spec, memory_bytes, a->numas, b->numas, i, a->numa_size,
                 b->numa_size)
        if (x->os_index != y->os_index || x->package != y->package ||
            x->memory_bytes != y->memory_bytes)
            return false;
    }
    return true;
}

static bool same_cores(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    if (!comparable(a->cores, a->core_count, b->cores, b->core_count))
        return false;
    if (same_bytes(a->cores, a->core_size, b->cores, b->core_size, a->core_count,
                   sizeof(struct gang_core_spec)))
        return true;
    for (size_t i = 0; i < a->core_count; i++) {
        ELEMENTS(struct gang_core_spec, cpuset, a->cores, b->cores, i, a->core_size, b->core_size)
        /* An empty list is invalid, so it does not equal NULL. */
        if (x->os_index != y->os_index || x->numa != y->numa || x->threads != y->threads ||
            x->reserved0 != y->reserved0 || !x->cpuset != !y->cpuset ||
            !gang__same_or_empty(x->cpuset, y->cpuset))
            return false;
    }
    return true;
}

static bool same_nics(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    if (!comparable(a->nics, a->nic_count, b->nics, b->nic_count))
        return false;
    for (size_t i = 0; i < a->nic_count; i++) {
        ELEMENTS(struct gang_nic_spec, reserved0, a->nics, b->nics, i, a->nic_size, b->nic_size)
        if (!x->name || strcmp(x->name, y->name) != 0 || !gang__same_or_empty(x->pci, y->pci) ||
            x->numa != y->numa || x->reserved0 != y->reserved0)
            return false;
    }
    return true;
}

static bool same_amounts(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    if (!comparable(a->amounts, a->amount_count, b->amounts, b->amount_count))
        return false;
    for (size_t i = 0; i < a->amount_count; i++) {
        const struct gang_amount *x = &a->amounts[i], *y = &b->amounts[i];
        if (!x->kind || strcmp(x->kind, y->kind) != 0 || x->amount != y->amount)
            return false;
    }
    return true;
}

static bool same_locality(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    if (!a->gpu_locality || !b->gpu_locality || a->gpu_count == 0)
        return a->gpu_count == 0 || a->gpu_locality == b->gpu_locality;
    return memcmp(a->gpu_locality, b->gpu_locality, a->gpu_count * a->gpu_count) == 0;
}

static bool same_profiles(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    if (!comparable(a->profiles, a->profile_count, b->profiles, b->profile_count))
        return false;
    if (same_bytes(a->profiles, a->profile_size, b->profiles, b->profile_size, a->profile_count,
                   sizeof(struct gang_profile_spec)))
        return true;
    for (size_t i = 0; i < a->profile_count; i++) {
        ELEMENTS(struct gang_profile_spec, starts, a->profiles, b->profiles, i, a->profile_size,
                 b->profile_size)
        if (!x->name || strcmp(x->name, y->name) != 0 || !gang__same_or_empty(x->model, y->model) ||
            x->width != y->width || x->starts != y->starts)
            return false;
    }
    return true;
}

bool gang__same_devices(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    return same_gpus(a, b) && same_links(a, b) && same_numas(a, b) && same_cores(a, b);
}

bool gang__same_machine(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    return a->cpu_milli == b->cpu_milli && a->memory_bytes == b->memory_bytes &&
           gang__same_devices(a, b) && same_nics(a, b) && same_amounts(a, b) &&
           same_locality(a, b) && same_profiles(a, b);
}
