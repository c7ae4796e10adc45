/* SPDX-License-Identifier: Apache-2.0 */
/* Physical devices that are cut into slices: the slices of each parent, and the slices that a
 * profile may join. Part of a node type; immutable. */
#ifndef GANG__CORE_PARENT_H
#define GANG__CORE_PARENT_H

#include "core/nodes/cluster_state.h"

/* Slices are numbered from 0 in each parent, so a mask of positions is a set of them. */
struct gang__parent {
    uint64_t devices;   /* devices of the node that are its slices */
    uint64_t positions; /* positions at which it has a slice */
    uint8_t device[64]; /* device at each position */
};

struct gang__parents {
    uint32_t count, profiles;
    struct gang__parent *parent;
    uint64_t *fits;       /* positions of parent i for profile k of the node, at [k * count + i] */
    uint8_t position[64]; /* position of each device */
};

/* The parents of a checked specification that has slices. NULL: out of memory. One gang__release()
 * frees it. */
struct gang__parents *gang__parents_new(const struct gang_mem *mem,
                                        const struct gang_node_spec *spec);

/* The largest width with which any node of a cluster describes a profile: wide profiles are placed
 * first. Appended to under the structure mutex; lives as long as the cluster. */
struct gang__width {
    struct gang__width *next;
    gang__a64 slices; /* only grows; gang__store -> gang__load of any thread, as a hint */
    char name[];
};

/* Notes the widths of a checked specification. False: out of memory. Under the structure mutex. */
bool gang__widths_note(gang_cluster *c, const struct gang_node_spec *spec);
void gang__widths_free(gang_cluster *c);

/* The width in slices; 1 if no node describes the profile. Any thread. */
uint64_t gang__width_of(gang_cluster *c, const char *profile);

/* The positions of those devices that are slices of the parent. */
static inline uint64_t gang__positions_of(const struct gang__parents *p, uint32_t parent,
                                          uint64_t devices)
{
    uint64_t positions = 0;
    for (uint64_t left = devices & p->parent[parent].devices; left; left &= left - 1)
        positions |= UINT64_C(1) << p->position[__builtin_ctzll(left)];
    return positions;
}

static inline uint64_t gang__devices_at(const struct gang__parent *p, uint64_t positions)
{
    uint64_t devices = 0;
    for (; positions; positions &= positions - 1)
        devices |= UINT64_C(1) << p->device[__builtin_ctzll(positions)];
    return devices;
}

#endif
