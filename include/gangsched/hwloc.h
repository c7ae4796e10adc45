/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file hwloc.h
 * @brief Adapter for hosts that hold a hwloc_topology_t themselves. The only public header that
 *        includes a foreign one; gangsched.h does not include it.
 */
#ifndef GANGSCHED_HWLOC_H
#define GANGSCHED_HWLOC_H

#include <gangsched/model.h>
#include <gangsched/place.h>

#include <hwloc.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Describe the machine of a loaded topology, as gang_node_spec_from_hwloc_source() does.
 * GPUs and network cards are seen only if the topology was loaded with
 * hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) or wider.
 *
 * @param topology  loaded; only read, and not kept
 * @param name      name of the node; NULL: the host name in the topology, else "node"
 * @param spec      receives the specification; free it with gang_node_spec_free()
 * @return GANG_OK; GANG_EINVAL; GANG_ELIMIT; GANG_ENOMEM.
 * Any thread that may read the topology. May allocate.
 */
GANG_API gang_result gang_node_spec_from_hwloc(hwloc_topology_t topology, const char *name,
                                               struct gang_node_spec **spec,
                                               struct gang_error *error) GANG_MUST_CHECK;

/**
 * The hardware threads of a task's named cores, or their NUMA domains (without named cores: those
 * of its GPUs), as a set for binding: hwloc_set_cpubind(), and hwloc_set_membind() with
 * HWLOC_MEMBIND_BYNODESET. The numbers are those of the operating system of the task's node.
 *
 * @param task from gang_alloc_each(); it must be held
 * @param set the caller's bitmap; receives the set. It is empty where gang_task_text() is empty
 *   (then bind to nothing)
 * @return GANG_OK; GANG_EINVAL, GANG_E2BIG, GANG_ESTALE as gang_task_text(); GANG_ENOMEM. On
 *   failure the set is empty.
 * Any thread that may change the bitmap. Lock-free; hwloc may allocate.
 */
GANG_API gang_result gang_task_hwloc_cpuset(gang_cluster *cluster, const struct gang_task *task,
                                            hwloc_bitmap_t set) GANG_MUST_CHECK;
GANG_API gang_result gang_task_hwloc_nodeset(gang_cluster *cluster, const struct gang_task *task,
                                             hwloc_bitmap_t set) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
