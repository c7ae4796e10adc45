/* SPDX-License-Identifier: Apache-2.0 */
/* Freeing what was unpublished. All under the structure mutex. */
#ifndef GANG__CORE_RECLAIM_H
#define GANG__CORE_RECLAIM_H

#include "core/nodes/state.h"

/* Take removed nodes that hold nothing any more out of the node table. */
void gang__drain_removed(gang_cluster *c);
/* Free everything that was retired, and recycle the slots, after a grace period, for which the mutex
 * is let go: call it where nothing is half done. */
void gang__reclaim(gang_cluster *c);
/* Free a block after a grace period: it is unpublished. Under the structure mutex. */
void gang__retire(gang_cluster *c, struct gang__rcu_block *block);
/* Called by add, change and remove: reclaim now and then, unless the host wants to do it. */
void gang__reclaim_some(gang_cluster *c);

/* Add a snapshot to those that keep nodes; take it out again, and free what only it kept. */
void gang__holder_add(gang_cluster *c, struct gang__holder *holder);
void gang__holder_remove(gang_cluster *c, struct gang__holder *holder);

/* Keep the nodes of the snapshot of this number from now on. Outside of the structure mutex. */
void gang__holder_set(gang_cluster *c, struct gang__holder *holder, uint64_t number);

#endif
