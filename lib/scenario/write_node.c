/* SPDX-License-Identifier: Apache-2.0 */
/* Writes one node. */
#include "scenario/write_in.h"

#include <string.h>

static bool load_gpu(const struct gang_node_spec *node, size_t index, struct gang_gpu_spec *gpu)
{
    return GANG__LOAD_BY(*gpu, pcie, node->gpus, index, node->gpu_size) == GANG_OK;
}

static bool same_optional(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Are the GPUs all alike, with nothing known but model and memory? */
static bool gpus_alike(const struct gang_node_spec *node)
{
    struct gang_gpu_spec first;
    struct gang_gpu_spec gpu;
    for (size_t i = 0; i < node->gpu_count; i++) {
        if (!load_gpu(node, 0, &first) || !load_gpu(node, i, &gpu) || gpu.numa != -1 ||
            !same_optional(gpu.pci, NULL) || !same_optional(gpu.uuid, NULL) ||
            !same_optional(gpu.parent, NULL) || gpu.state != GANG_GPU_OK || gpu.pcie ||
            !same_optional(gpu.model, first.model) || gpu.memory_bytes != first.memory_bytes)
            return false;
    }
    return true;
}

static void write_numa(struct gang__writer *w, json_t *object, int32_t numa)
{
    if (numa != -1)
        gang__write_int(w, object, "numa", numa);
}

static void write_slice(struct gang__writer *w, json_t *item, const struct gang_gpu_spec *gpu)
{
    if (gpu->state == GANG_GPU_UNHEALTHY)
        gang__write_value(w, item, "healthy", json_false());
    else if (gpu->state != GANG_GPU_OK)
        gang__json_note(&w->maker, GANG_EINVAL);
    gang__write_nonempty(w, item, "parent", gpu->parent);
    if (gpu->mig_index)
        gang__write_int(w, item, "mig_index", gpu->mig_index);
}

static void write_profiles(struct gang__writer *w, json_t *object,
                           const struct gang_node_spec *node)
{
    if (node->profile_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->profile_count; i++) {
        struct gang_profile_spec profile;
        if (!gang__write_loaded(
                w, GANG__LOAD_BY(profile, starts, node->profiles, i, node->profile_size)))
            break;
        json_t *item = json_object();
        json_t *starts = json_array();
        for (uint64_t left = profile.starts; left; left &= left - 1)
            gang__json_push(&w->maker, starts, json_integer(__builtin_ctzll(left)));
        gang__write_text(w, item, "name", profile.name);
        gang__write_nonempty(w, item, "model", profile.model);
        gang__write_int(w, item, "width", profile.width);
        gang__write_value(w, item, "starts", starts);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "profiles", list);
}

static void write_gpus(struct gang__writer *w, json_t *object, const struct gang_node_spec *node)
{
    struct gang_gpu_spec gpu = GANG_GPU_SPEC_INIT;
    if (gpus_alike(node)) {
        gang__write_int(w, object, "gpus", (int64_t)node->gpu_count);
        if (node->gpu_count == 0 || !load_gpu(node, 0, &gpu))
            return;
        if (gpu.memory_bytes)
            gang__write_memory(w, object, "gpu_mem_mib", "gpu_mem_bytes", gpu.memory_bytes);
        gang__write_nonempty(w, object, "gpu_model", gpu.model);
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < node->gpu_count; i++) {
        if (!load_gpu(node, i, &gpu)) {
            gang__json_note(&w->maker, GANG_EINVAL);
            break;
        }
        json_t *item = json_object();
        gang__write_nonempty(w, item, "model", gpu.model);
        if (gpu.memory_bytes)
            gang__write_memory(w, item, "mem_mib", "mem_bytes", gpu.memory_bytes);
        write_numa(w, item, gpu.numa);
        gang__write_nonempty(w, item, "pci", gpu.pci);
        gang__write_nonempty(w, item, "uuid", gpu.uuid);
        write_slice(w, item, &gpu);
        if (gpu.pcie)
            gang__write_int(w, item, "pcie", gpu.pcie);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "devices", list);
}

static void write_links(struct gang__writer *w, json_t *object, const struct gang_node_spec *node)
{
    if (node->link_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->link_count; i++) {
        struct gang_link_spec link;
        if (!gang__write_loaded(
                w, GANG__LOAD_BY(link, bandwidth_mbps, node->links, i, node->link_size)))
            break;
        json_t *item = json_object();
        gang__write_int(w, item, "a", link.a);
        gang__write_int(w, item, "b", link.b);
        gang__write_word(w, item, "type", &gang__link_words, link.type);
        if (link.hops)
            gang__write_int(w, item, "hops", link.hops);
        if (link.bandwidth_mbps)
            gang__write_int(w, item, "bandwidth_mbps", link.bandwidth_mbps);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "links", list);
}

static void write_near(struct gang__writer *w, json_t *object, const struct gang_node_spec *node)
{
    size_t count = node->gpu_count;
    if (!node->gpu_locality || count == 0 || count > GANG_MAX_GPUS)
        return; /* more GPUs than that are refused when they are read back */
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        char row[GANG_MAX_GPUS + 1];
        for (size_t j = 0; j < count; j++) {
            uint8_t near = node->gpu_locality[i * count + j];
            row[j] = near <= 9 ? (char)('0' + near) : '?';
        }
        row[count] = '\0';
        gang__json_push(&w->maker, list, gang__json_new_text(&w->maker, row));
    }
    gang__write_value(w, object, "gpu_locality", list);
}

static void write_numas(struct gang__writer *w, json_t *object, const struct gang_node_spec *node)
{
    if (node->numa_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->numa_count; i++) {
        struct gang_numa_spec numa;
        if (!gang__write_loaded(w,
                                GANG__LOAD_BY(numa, memory_bytes, node->numas, i, node->numa_size)))
            break;
        json_t *item = json_object();
        if (numa.os_index != -1)
            gang__write_int(w, item, "os_index", numa.os_index);
        if (numa.package != -1)
            gang__write_int(w, item, "package", numa.package);
        gang__write_memory(w, item, "mem_mib", "mem_bytes", numa.memory_bytes);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "numas", list);
}

static void write_cores(struct gang__writer *w, json_t *object, const struct gang_node_spec *node)
{
    if (node->core_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->core_count; i++) {
        struct gang_core_spec core;
        if (!gang__write_loaded(w, GANG__LOAD_BY(core, cpuset, node->cores, i, node->core_size)))
            break;
        json_t *item = json_object();
        gang__write_int(w, item, "os_index", core.os_index);
        write_numa(w, item, core.numa);
        if (core.threads != 1)
            gang__write_int(w, item, "threads", core.threads);
        gang__write_nonempty(w, item, "cpuset", core.cpuset);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "cores", list);
}

static void write_nics(struct gang__writer *w, json_t *object, const struct gang_node_spec *node)
{
    if (node->nic_count == 0)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < node->nic_count; i++) {
        struct gang_nic_spec nic;
        if (!gang__write_loaded(w, GANG__LOAD_BY(nic, reserved0, node->nics, i, node->nic_size)))
            break;
        json_t *item = json_object();
        gang__write_text(w, item, "name", nic.name);
        gang__write_nonempty(w, item, "pci", nic.pci);
        write_numa(w, item, nic.numa);
        gang__json_push(&w->maker, list, item);
    }
    gang__write_value(w, object, "nics", list);
}

static void write_node_amounts(struct gang__writer *w, json_t *object,
                               const struct gang_node_spec *node)
{
    size_t count = node->amount_count;
    if (!node->amounts && count > 0) {
        gang__json_note(&w->maker, GANG_EINVAL);
        return;
    }
    if (w->max_tasks) {
        count--;
        if (node->amounts[count].amount != GANG_MAX_AMOUNT)
            gang__write_int(w, object, "max_tasks", node->amounts[count].amount);
    }
    gang__write_amounts(w, object, node->amounts, count);
}

json_t *gang__make_node(struct gang__writer *w, const struct gang_node_spec *node)
{
    json_t *object = json_object();
    gang__write_text(w, object, "name", node->name);
    gang__write_value(w, object, "cpus", gang__json_new_milli(node->cpu_milli));
    gang__write_memory(w, object, "mem_mib", "mem_bytes", node->memory_bytes);
    write_gpus(w, object, node);
    write_links(w, object, node);
    write_near(w, object, node);
    write_numas(w, object, node);
    write_cores(w, object, node);
    write_nics(w, object, node);
    write_profiles(w, object, node);
    write_node_amounts(w, object, node);
    gang__write_labels(w, object, "labels", node->labels, node->label_count);
    gang__write_labels(w, object, "topology", node->topology, node->topology_count);
    gang__write_names(w, object, "partitions", node->partitions, node->partition_count);
    if (node->state == GANG_NODE_DRAINING)
        gang__write_value(w, object, "unschedulable", json_true());
    else if (node->state != GANG_NODE_UP)
        gang__write_word(w, object, "state", &gang__state_words, node->state);
    return object;
}
