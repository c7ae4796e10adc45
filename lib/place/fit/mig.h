/* SPDX-License-Identifier: Apache-2.0 */
/* Instances of a profile of a partitionable GPU (MIG). */
#ifndef GANG__PLACE_MIG_H
#define GANG__PLACE_MIG_H

#include "core/nodes/nodes.h"
#include "place/request/request.h"

/* Chooses devices for g->devices instances of the group's profile; 0 if the node has fewer.
 *   free     all free slices
 *   allowed  those of them that the task may use */
uint64_t gang__choose_instances(const struct gang__group *g, const struct gang__node_type *type,
                                uint64_t free, uint64_t allowed);

/* The most instances of the profile that can be made of these devices. O(profiles * parents). */
uint32_t gang__max_instances(const struct gang__group *g, const struct gang__node_type *type,
                             uint64_t allowed);

/* The same of the devices of a node of this type but these. */
uint32_t gang__instances_without(const struct gang__node_type *type, const char *profile,
                                 uint64_t without);

/* Are these devices exactly `count` instances of the profile? */
bool gang__are_instances(const struct gang__group *g, const struct gang__node_type *type,
                         uint64_t devices);

/* The number of wholly free parents that are cut when these devices are taken. */
uint32_t gang__fresh_parents(const struct gang__node_type *type, uint64_t free, uint64_t devices);

/* Does the node know the group's profile at all? */
bool gang__profile_is_here(const struct gang__group *g, const struct gang__node_type *type);

#endif
