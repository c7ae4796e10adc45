/* SPDX-License-Identifier: Apache-2.0 */
/* Copying a checked specification into one block. */
#include <string.h>

#include "base/error.h"
#include "base/two_pass_block.h"
#include "model/node_spec.h"
#include "model/node_spec_in.h"

static struct gang_gpu_spec *lay_gpus(struct gang__block *b, const struct gang_node_spec *s)
{
    struct gang_gpu_spec *to = gang__block_alloc(b, s->gpu_count * sizeof(*to));
    for (size_t i = 0; i < s->gpu_count; i++) {
        struct gang_gpu_spec e;
        (void)gang__element_in(&e, sizeof(e), GPU_MIN_SIZE, s->gpus, s->gpu_size, i);
        e.model = gang__block_text(b, e.model);
        e.pci = gang__block_text(b, e.pci);
        e.uuid = gang__block_text(b, e.uuid);
        e.parent = gang__block_text(b, e.parent);
        if (to)
            to[i] = e;
    }
    return to;
}

static struct gang_link_spec *lay_links(struct gang__block *b, const struct gang_node_spec *s)
{
    struct gang_link_spec *to = gang__block_alloc(b, s->link_count * sizeof(*to));
    for (size_t i = 0; to && i < s->link_count; i++)
        (void)gang__element_in(&to[i], sizeof(to[i]), LINK_MIN_SIZE, s->links, s->link_size, i);
    return to;
}

static struct gang_numa_spec *lay_numas(struct gang__block *b, const struct gang_node_spec *s)
{
    struct gang_numa_spec *to = gang__block_alloc(b, s->numa_count * sizeof(*to));
    for (size_t i = 0; to && i < s->numa_count; i++)
        (void)gang__element_in(&to[i], sizeof(to[i]), NUMA_MIN_SIZE, s->numas, s->numa_size, i);
    return to;
}

static struct gang_core_spec *lay_cores(struct gang__block *b, const struct gang_node_spec *s)
{
    struct gang_core_spec *to = gang__block_alloc(b, s->core_count * sizeof(*to));
    for (size_t i = 0; i < s->core_count; i++) {
        struct gang_core_spec e;
        (void)gang__element_in(&e, sizeof(e), CORE_MIN_SIZE, s->cores, s->core_size, i);
        e.cpuset = gang__block_text(b, e.cpuset);
        if (to)
            to[i] = e;
    }
    return to;
}

static struct gang_nic_spec *lay_nics(struct gang__block *b, const struct gang_node_spec *s)
{
    struct gang_nic_spec *to = gang__block_alloc(b, s->nic_count * sizeof(*to));
    for (size_t i = 0; i < s->nic_count; i++) {
        struct gang_nic_spec e;
        (void)gang__element_in(&e, sizeof(e), NIC_MIN_SIZE, s->nics, s->nic_size, i);
        e.name = gang__block_text(b, e.name);
        e.pci = gang__block_text(b, e.pci);
        if (to)
            to[i] = e;
    }
    return to;
}

static struct gang_profile_spec *lay_profiles(struct gang__block *b, const struct gang_node_spec *s)
{
    struct gang_profile_spec *to = gang__block_alloc(b, s->profile_count * sizeof(*to));
    for (size_t i = 0; i < s->profile_count; i++) {
        struct gang_profile_spec e;
        (void)gang__element_in(&e, sizeof(e), PROFILE_MIN_SIZE, s->profiles, s->profile_size, i);
        e.name = gang__block_text(b, e.name);
        e.model = gang__block_text(b, e.model);
        if (to)
            to[i] = e;
    }
    return to;
}

static struct gang_amount *lay_amounts(struct gang__block *b, const struct gang_node_spec *s)
{
    struct gang_amount *to = gang__block_alloc(b, s->amount_count * sizeof(*to));
    for (size_t i = 0; i < s->amount_count; i++) {
        const char *kind = gang__block_text(b, s->amounts[i].kind);
        if (to)
            to[i] = (struct gang_amount){kind, s->amounts[i].amount};
    }
    return to;
}

static struct gang_label *lay_labels(struct gang__block *b, const struct gang_label *from,
                                     size_t count)
{
    struct gang_label *to = gang__block_alloc(b, count * sizeof(*to));
    for (size_t i = 0; i < count; i++) {
        const char *key = gang__block_text(b, from[i].key);
        const char *value = gang__block_text(b, from[i].value);
        if (to)
            to[i] = (struct gang_label){key, value};
    }
    return to;
}

static const char **lay_partitions(struct gang__block *b, const struct gang_node_spec *s)
{
    const char **to = gang__block_alloc(b, s->partition_count * sizeof(*to));
    for (size_t i = 0; i < s->partition_count; i++) {
        const char *text = gang__block_text(b, s->partitions[i]);
        if (to)
            to[i] = text;
    }
    return to;
}

static uint8_t *lay_locality(struct gang__block *b, const struct gang_node_spec *s)
{
    size_t bytes = s->gpu_locality ? s->gpu_count * s->gpu_count : 0;
    uint8_t *to = gang__block_alloc(b, bytes);
    return to && bytes ? memcpy(to, s->gpu_locality, bytes) : to;
}

/* Lays out a copy of `s`; returns it if the block has memory. */
static void *lay(struct gang__block *b, const void *from)
{
    const struct gang_node_spec *s = from;
    struct gang_node_spec *to = gang__block_alloc(b, sizeof(*to));
    struct gang_node_spec copy = *s;
    copy.size = sizeof(struct gang_node_spec);
    copy.gpu_size = sizeof(struct gang_gpu_spec);
    copy.link_size = sizeof(struct gang_link_spec);
    copy.numa_size = sizeof(struct gang_numa_spec);
    copy.core_size = sizeof(struct gang_core_spec);
    copy.nic_size = sizeof(struct gang_nic_spec);
    copy.profile_size = sizeof(struct gang_profile_spec);
    copy.name = gang__block_text(b, s->name);
    /* Lays out every array, so that both passes count the same; empty ones become NULL. */
    const struct gang_gpu_spec *gpus = lay_gpus(b, s);
    const struct gang_link_spec *links = lay_links(b, s);
    const struct gang_numa_spec *numas = lay_numas(b, s);
    const struct gang_core_spec *cores = lay_cores(b, s);
    const struct gang_nic_spec *nics = lay_nics(b, s);
    const struct gang_amount *amounts = lay_amounts(b, s);
    const struct gang_label *labels = lay_labels(b, s->labels, s->label_count);
    const char *const *partitions = lay_partitions(b, s);
    const struct gang_label *topology = lay_labels(b, s->topology, s->topology_count);
    const uint8_t *locality = lay_locality(b, s);
    const struct gang_profile_spec *profiles = lay_profiles(b, s);
    copy.gpus = s->gpu_count ? gpus : NULL;
    copy.links = s->link_count ? links : NULL;
    copy.numas = s->numa_count ? numas : NULL;
    copy.cores = s->core_count ? cores : NULL;
    copy.nics = s->nic_count ? nics : NULL;
    copy.amounts = s->amount_count ? amounts : NULL;
    copy.labels = s->label_count ? labels : NULL;
    copy.partitions = s->partition_count ? partitions : NULL;
    copy.topology = s->topology_count ? topology : NULL;
    copy.gpu_locality = s->gpu_locality && s->gpu_count ? locality : NULL;
    copy.profiles = s->profile_count ? profiles : NULL;
    if (to)
        *to = copy;
    return to;
}

struct gang_node_spec *gang__node_spec_lay_mem(const struct gang_mem *mem,
                                               const struct gang_node_spec *spec)
{
    return gang__block_build(mem, lay, spec);
}

gang_result gang__node_spec_copy_mem(const struct gang_mem *mem, const struct gang_node_spec *spec,
                                     struct gang_node_spec **copy, struct gang_error *error)
{
    *copy = NULL;
    struct gang_node_spec s;
    bool is_known;
    gang_result r = gang__node_spec_in(spec, NULL, &s, &is_known, error);
    if (r != GANG_OK)
        return r;
    *copy = gang__node_spec_lay_mem(mem, &s);
    return *copy ? GANG_OK : gang__error(error, GANG_ENOMEM, NULL, "out of memory");
}

gang_result gang_node_spec_copy(const struct gang_node_spec *spec, struct gang_node_spec **copy,
                                struct gang_error *error)
{
    if (!copy)
        return gang__error(error, GANG_EINVAL, NULL, "nowhere to put the copy");
    return gang__node_spec_copy_mem(&gang__mem_libc, spec, copy, error);
}

void gang_node_spec_free(struct gang_node_spec *spec)
{
    gang__release(&gang__mem_libc, spec);
}
