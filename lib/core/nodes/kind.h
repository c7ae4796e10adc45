/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__CORE_KIND_H
#define GANG__CORE_KIND_H

#include "core/nodes/cluster_state.h"

/* Sets up the built-in kinds of a new cluster. */
void gang__kinds_init(gang_cluster *c);

/* The number of a kind by name, or -1. */
int32_t gang__kind_find(const gang_cluster *c, const char *name);

/* The word of the pool's cell (slot GANG__POOL) that counts a cluster-wide kind. */
unsigned gang__pool_word(int32_t kind);

#endif
