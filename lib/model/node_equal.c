/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing what two specifications say of devices. */
#include <string.h>

#include "model/node_spec.h"
#include "model/scenario_priv.h"

bool gang__same_or_empty(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_gpus(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    struct gang_gpu_spec x;
    struct gang_gpu_spec y;
    if (a->gpu_count != b->gpu_count)
        return false;
    for (size_t i = 0; i < a->gpu_count; i++)
        if (!GANG__LOAD2_BY(x, y, reserved0, a->gpus, b->gpus, i, a->gpu_size, b->gpu_size) ||
            !gang__same_or_empty(x.model, y.model) || !gang__same_or_empty(x.pci, y.pci) ||
            !gang__same_or_empty(x.uuid, y.uuid) || x.memory_bytes != y.memory_bytes ||
            x.numa != y.numa || x.reserved0 != y.reserved0)
            return false;
    return true;
}

static bool same_links(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    struct gang_link_spec x;
    struct gang_link_spec y;
    if (a->link_count != b->link_count)
        return false;
    for (size_t i = 0; i < a->link_count; i++)
        if (!GANG__LOAD2_BY(x, y, bandwidth_mbps, a->links, b->links, i, a->link_size,
                            b->link_size) ||
            x.a != y.a || x.b != y.b || x.kind != y.kind || x.hops != y.hops ||
            x.bandwidth_mbps != y.bandwidth_mbps)
            return false;
    return true;
}

static bool same_numas(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    struct gang_numa_spec x;
    struct gang_numa_spec y;
    if (a->numa_count != b->numa_count)
        return false;
    for (size_t i = 0; i < a->numa_count; i++)
        if (!GANG__LOAD2_BY(x, y, memory_bytes, a->numas, b->numas, i, a->numa_size,
                            b->numa_size) ||
            x.os_index != y.os_index || x.package != y.package || x.memory_bytes != y.memory_bytes)
            return false;
    return true;
}

static bool same_cores(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    struct gang_core_spec x;
    struct gang_core_spec y;
    if (a->core_count != b->core_count)
        return false;
    for (size_t i = 0; i < a->core_count; i++)
        if (!GANG__LOAD2_BY(x, y, cpuset, a->cores, b->cores, i, a->core_size, b->core_size) ||
            x.os_index != y.os_index || x.numa != y.numa || x.threads != y.threads ||
            x.reserved0 != y.reserved0 || !gang__same_or_empty(x.cpuset, y.cpuset))
            return false;
    return true;
}

bool gang__same_devices(const struct gang_node_spec *a, const struct gang_node_spec *b)
{
    return same_gpus(a, b) && same_links(a, b) && same_numas(a, b) && same_cores(a, b);
}
