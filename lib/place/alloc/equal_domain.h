/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs of equal nodes (equal_nodes.h) that lie in one domain: with no more tasks than they need,
 * and with `same`, `prefer` or the policy "topology".
 *
 * Such a gang goes to one node, if one holds it; else into a domain of the narrowest level, if one
 * holds it; and there on the fewest nodes, equally many tasks on each, in the order of the slots.
 * The domain is chosen by the code that a plan uses (pack/choose_domain.c). So the places are those
 * of a plan, if in that domain enough nodes are as in the pattern and no other node holds as many
 * tasks. Of several groups, each takes the next nodes; no node of the cluster may hold more tasks
 * than one as in the pattern, since a plan then tries to use fewer nodes (pack/improve.c). In a
 * domain of many nodes a plan takes them in another order (equal_wide.h). Where one node holds the
 * gang, or no such domain does, the gang is planned. */
#ifndef GANG__PLACE_EQUAL_DOMAIN_H
#define GANG__PLACE_EQUAL_DOMAIN_H

#include "place/record/record.h"

/* Is it a request of such gangs? The caller knows that it is of one group, or of several that are
 * alike and have no domains of their own. */
bool gang__equal_domain_suits(const gang_request *request);

/* Finds `want` nodes as in the pattern, ascending, for a plan that just began. False: the gang is
 * to be planned. Inside a read section. */
bool gang__equal_domain_find(struct gang__plan *p, const struct gang__node_pattern *pattern,
                             uint64_t *slot, size_t want);

#endif
