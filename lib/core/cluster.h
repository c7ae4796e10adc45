/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster as a whole: what core/ calls in place/ when a cluster ends, and a private copy of a
 * cluster. */
#ifndef GANG__CORE_CLUSTER_H
#define GANG__CORE_CLUSTER_H

#include "core/nodes/nodes.h"
#include "core/snapshot_take.h"

struct gang__place_ops {
    void (*free_table)(gang_cluster *cluster);
    void (*free_worker)(gang_worker *worker);
    /* Do free and granted amounts add up to the capacity on every node? */
    gang_result (*check)(gang_cluster *cluster, struct gang_error *error);
};

/* Copies a cluster: the same kinds, partitions, topology and nodes, under the same ids and in
 * the same order, with the same words. Words alone say what is taken; place/ copies the records
 * of allocations (place/state/records.h). The copy is private and has the allocator of `from`,
 * which must not change meanwhile; gang_cluster_free() ends it. GANG_OK; GANG_ENOMEM: *copy is
 * NULL. O(nodes). */
gang_result gang__cluster_copy(gang_cluster *from, gang_cluster **copy, struct gang_error *error);

#endif
