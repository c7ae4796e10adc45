/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster as a whole: its end for the folders above, and its copy. */
#ifndef GANG__CORE_CLUSTER_H
#define GANG__CORE_CLUSTER_H

#include "core/nodes/state.h"

struct gang__place_ops {
    void (*free_table)(gang_cluster *cluster);
    void (*free_worker)(gang_worker *worker);
    /* Is free plus granted equal to the capacity on every node? */
    gang_result (*check)(gang_cluster *cluster, struct gang_error *error);
};

/* A private copy, with the allocator of `from`, which nobody may change meanwhile. It is ended with
 * gang_cluster_free(). GANG_OK; GANG_ENOMEM: *copy is NULL. O(nodes). */
gang_result gang__cluster_copy(gang_cluster *from, gang_cluster **copy, struct gang_error *error);

#endif
