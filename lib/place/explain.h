/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__PLACE_EXPLAIN_H
#define GANG__PLACE_EXPLAIN_H

#include "place/plan.h"

/* Why a request does not fit: fills `error` for GANG_ENOFIT (as things are) or GANG_ENEVER (on an
 * empty cluster, p->empty). Uses `p` as scratch. O(nodes * groups). `more`: only this group, one
 * task more (grow); -1: the gang. */
gang_result gang__explain(struct gang__plan *p, gang_cluster *c, const gang_request *q,
                          gang_result code, int32_t more, struct gang_error *error);

#endif
