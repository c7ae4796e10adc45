/* SPDX-License-Identifier: Apache-2.0 */
/* Node specifications by value: checking and copying them, and what the hwloc readers share. */
#ifndef GANG__MODEL_NODE_SPEC_H
#define GANG__MODEL_NODE_SPEC_H

#include <stdbool.h>

#include <gangsched/model.h>

#include "base/mem.h"

/* Largest number of bytes of any memory: GANG_MAX_AMOUNT whole pages. */
#define GANG__MAX_MEMORY (GANG_MAX_AMOUNT * GANG_PAGE_BYTES + (GANG_PAGE_BYTES - 1))

/* Checks a name, label or value: UTF-8 without control characters. GANG_EINVAL: NULL, empty (unless
 * allowed), control characters, not UTF-8; GANG_ELIMIT: longer than GANG_MAX_NAME bytes. */
gang_result gang__text_check(const char *text, bool may_be_empty);

/* Checks and copies a specification into one block of `mem`, which one gang__release() frees. The
 * copy has the library's own struct sizes, for the elements of its arrays too. On failure *copy is
 * NULL. */
gang_result gang__node_spec_copy_mem(const struct gang_mem *mem, const struct gang_node_spec *spec,
                                     struct gang_node_spec **copy, struct gang_error *error);

/* Checks a specification and returns it in the library's struct size; its arrays are still the
 * caller's. If its machine (gang__same_machine()) is that of `known`, a checked specification
 * (NULL: none), does not check the machine again; *is_known says so. */
gang_result gang__node_spec_in(const struct gang_node_spec *from,
                               const struct gang_node_spec *known, struct gang_node_spec *spec,
                               bool *is_known, struct gang_error *error);

/* Copies a checked specification as it is; it may lack a name. NULL: out of memory. */
struct gang_node_spec *gang__node_spec_lay_mem(const struct gang_mem *mem,
                                               const struct gang_node_spec *spec);

/* GPU i of a checked specification, in the library's struct size. */
struct gang_gpu_spec gang__node_spec_gpu(const struct gang_node_spec *spec, size_t i);

enum { GANG__MAX_SLICES = 64 }; /* of one parent */

/* Is it a slice of a physical device? */
static inline bool gang__is_slice(const struct gang_gpu_spec *gpu)
{
    return gpu->parent && gpu->parent[0];
}

/* The devices of a checked specification that are unhealthy, as bits. */
uint64_t gang__node_spec_unhealthy(const struct gang_node_spec *spec);

/* The uuid of a GPU alone. */
const char *gang__node_spec_uuid(const struct gang_node_spec *spec, size_t i);

/* Is it the same text? NULL and "" are the same. */
bool gang__same_or_empty(const char *a, const char *b);

/* Do two specifications name the same GPUs (except uuids and health), links, NUMA domains and
 * cores, in the same order? Does not compare closeness (gpu_locality). */
bool gang__same_devices(const struct gang_node_spec *a, const struct gang_node_spec *b);

/* The same, and all that describes the machine: capacities, closeness, network cards, profiles.
 * Does not compare name, labels, partitions, topology, state, and uuids and health of GPUs. */
bool gang__same_machine(const struct gang_node_spec *a, const struct gang_node_spec *b);

/* GANG_LOCALITY_* of GPUs i and j of a checked specification: as described, or derived from
 * links and NUMA domains. A GPU and itself: GANG_LOCALITY_LINK. O(links). */
uint8_t gang__gpu_locality(const struct gang_node_spec *spec, size_t i, size_t j);

#endif
