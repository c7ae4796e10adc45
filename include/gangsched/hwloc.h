/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file hwloc.h
 * @brief Adapter for hosts that have a hwloc_topology_t. It is the only public header that includes
 *        the header of another library, and gangsched.h does not include it.
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
 * Describe the machine of a loaded topology, like gang_node_spec_from_hwloc_source(). GPUs and
 * network cards are found only if the topology was loaded with
 * hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) or wider.
 *
 * @param topology loaded; the call only reads it and does not keep it
 * @param name      name of the node; NULL: the host name in the topology, else "node"
 * @param spec      receives the specification; free it with gang_node_spec_free()
 * @return GANG_OK; GANG_EINVAL; GANG_ELIMIT; GANG_ENOMEM.
 * Any thread that may read the topology. May allocate.
 */
GANG_API gang_result gang_node_spec_from_hwloc(hwloc_topology_t topology, const char *name,
                                               struct gang_node_spec **spec,
                                               struct gang_error *error) GANG_MUST_CHECK;

/**
 * Sets to bind a task to. _cpuset: the hardware threads of its named cores, for
 * hwloc_set_cpubind(). _nodeset: the NUMA domains of its named cores, or of its GPUs if it has no
 * named cores, for hwloc_set_membind() with HWLOC_MEMBIND_BYNODESET. The numbers are those of the
 * operating system of the task's node.
 *
 * @param task from gang_alloc_each(); the allocation must still hold it
 * @param set the caller's bitmap; receives the set. It is empty if the corresponding text of
 *   gang_task_text() is empty; then do not bind
 * @return GANG_OK; GANG_EINVAL, GANG_E2BIG, GANG_ESTALE as for gang_task_text(); GANG_ENOMEM. On
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
