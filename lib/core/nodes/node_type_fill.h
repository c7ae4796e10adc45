/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__CORE_NODE_TYPE_FILL_H
#define GANG__CORE_NODE_TYPE_FILL_H

#include "core/nodes/node_type.h"

/* Makes a type with all that follows from a checked specification of a machine, which it refers to.
 * The caller adds kinds, slices and class. NULL: out of memory. */
struct gang__node_type *gang__node_type_build(const struct gang_mem *mem,
                                              struct gang_node_spec *machine);

/* Frees what gang__node_type_build() allocated. */
void gang__node_type_discard(const struct gang_mem *mem, struct gang__node_type *type);

#endif
