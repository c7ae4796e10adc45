/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of this folder: the node table, node types, kinds, partitions and the topology. */
#ifndef GANG__CORE_NODES_H
#define GANG__CORE_NODES_H

#include "core/nodes/cluster_state.h"
#include "core/nodes/health.h"
#include "core/nodes/kind.h"
#include "core/nodes/node.h"
#include "core/nodes/node_type.h"
#include "core/nodes/parent.h"
#include "core/nodes/partition.h"
#include "core/nodes/reclaim.h"
#include "core/nodes/topology.h"

#endif
