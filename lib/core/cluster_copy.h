/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster once more: the same kinds, partitions, topology and nodes, under the same ids and in the
 * same order, with the same taken and free. What is taken is said by the words alone: the records of
 * allocations are copied by place (place/state/table.h). */
#ifndef GANG__CORE_CLUSTER_COPY_H
#define GANG__CORE_CLUSTER_COPY_H

#include "core/cluster.h"

/* A private copy, with the allocator of `from`, which nobody may change meanwhile. It is ended with
 * gang_cluster_free(). GANG_OK; GANG_ENOMEM: *copy is NULL. O(nodes). */
gang_result gang__cluster_copy(gang_cluster *from, gang_cluster **copy, struct gang_error *error);

#endif
