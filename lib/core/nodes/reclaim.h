/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing what was unpublished. All under the structure mutex. */
#ifndef GANG__CORE_RECLAIM_H
#define GANG__CORE_RECLAIM_H

#include "core/nodes/cluster_state.h"

/* Takes removed nodes that are wholly free out of the node table. */
void gang__drain_removed(gang_cluster *c);
/* Frees all that was retired, and recycles the slots, after a grace period. Unlocks the mutex while
 * it waits: call it where nothing is half done. */
void gang__reclaim(gang_cluster *c);
/* Frees a block that is unpublished after a grace period. Under the structure mutex. */
void gang__retire(gang_cluster *c, struct gang__rcu_block *block);
/* Reclaims now and then, unless the host wants to do it. Add, change and remove call it. */
void gang__reclaim_some(gang_cluster *c);

/* Adds a snapshot to those that keep nodes; removes it, and frees the nodes that only it kept. */
void gang__holder_add(gang_cluster *c, struct gang__holder *holder);
void gang__holder_remove(gang_cluster *c, struct gang__holder *holder);

/* Keeps the nodes of the snapshot with this number from now on. Takes the structure mutex. */
void gang__holder_set(gang_cluster *c, struct gang__holder *holder, uint64_t number);

#endif
