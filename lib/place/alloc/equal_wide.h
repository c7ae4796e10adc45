/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs of equal nodes in one domain (equal_domain.h) that has more than GANG__FEW_NODES nodes.
 *
 * A plan does not look at all nodes of such a domain. The index tells on how many nodes the gang
 * lies, and how many tasks each one gets (pack/few_nodes.c). A search then takes the fullest nodes
 * that hold that many. This way asks the same code, and the same search offers it the nodes. It
 * takes those that are as in the pattern, if the gang needs as many tasks on each. */
#ifndef GANG__PLACE_EQUAL_WIDE_H
#define GANG__PLACE_EQUAL_WIDE_H

#include "place/record/record.h"

/* Finds `want` nodes of a domain that are as in the pattern, ascending, in a plan that has no task.
 * False: the gang is to be planned. Inside a read section. */
bool gang__equal_wide_find(struct gang__plan *p, const struct gang__node_pattern *pattern,
                           const struct gang__scope *domain, uint64_t *slot, size_t want);

#endif
