/* SPDX-License-Identifier: Apache-2.0 */
/* The sized structs of a specification: the least sizes, and one element of an array. */
#ifndef GANG__MODEL_NODE_SPEC_IN_H
#define GANG__MODEL_NODE_SPEC_IN_H

#include <gangsched/model.h>

#include <stddef.h>

#include "base/error.h"

/* Sizes of the structs when they were first released: up to the last member of that time. A caller
 * may know less than the library, but not less than this. */
enum {
    SPEC_MIN_SIZE = offsetof(struct gang_node_spec, profile_count) + sizeof(size_t),
    GPU_MIN_SIZE = offsetof(struct gang_gpu_spec, pcie) + sizeof(int32_t),
    LINK_MIN_SIZE = offsetof(struct gang_link_spec, bandwidth_mbps) + sizeof(int64_t),
    NUMA_MIN_SIZE = offsetof(struct gang_numa_spec, memory_bytes) + sizeof(int64_t),
    CORE_MIN_SIZE = offsetof(struct gang_core_spec, cpuset) + sizeof(const char *),
    NIC_MIN_SIZE = offsetof(struct gang_nic_spec, reserved0) + sizeof(int32_t),
    PROFILE_MIN_SIZE = offsetof(struct gang_profile_spec, starts) + sizeof(uint64_t)
};

/* Copies element `i` of an array of the caller's elements into `dst`. */
static inline gang_result gang__element_in(void *dst, size_t known, size_t min, const void *array,
                                           size_t stride, size_t i)
{
    return gang__struct_in(dst, known, min, (const char *)array + i * stride, stride);
}

#endif
