/* SPDX-License-Identifier: Apache-2.0 */
/* Physical devices that are cut into slices: which devices of a node are the slices of which parent, and
 * which of them a profile may join. Part of a shape; immutable. */
#ifndef GANG__CORE_PARENT_H
#define GANG__CORE_PARENT_H

#include "core/nodes/state.h"

/* Slices are numbered from 0 in each parent: a set of them is a mask of positions. */
struct gang__parent {
    uint64_t devices;   /* of the node that are its slices */
    uint64_t positions; /* at which it has one */
    uint8_t device[64]; /* at a position */
};

struct gang__parents {
    uint32_t count, profiles;
    struct gang__parent *parent;
    uint64_t *fits;       /* positions of parent i for profile k of the node, at [k * count + i] */
    uint8_t position[64]; /* of a device */
};

/* Of a checked specification that has slices. NULL: out of memory. One gang__release() frees it. */
struct gang__parents *gang__parents_new(const struct gang_mem *mem,
                                        const struct gang_node_spec *spec);

/* The widest that a profile of a name was ever described with in a cluster: what is hard to place goes
 * first. Appended to under the structure mutex; lives as long as the cluster. */
struct gang__width {
    struct gang__width *next;
    gang__a64 slices;
    char name[];
};

/* Note the widths of a checked specification. False: out of memory. Under the structure mutex. */
bool gang__widths_note(gang_cluster *c, const struct gang_node_spec *spec);
void gang__widths_free(gang_cluster *c);

/* In slices; 1 if nobody knows the profile. Any thread. */
uint64_t gang__width_of(gang_cluster *c, const char *profile);

/* Positions of those of the devices that are slices of the parent. */
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
