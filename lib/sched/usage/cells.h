/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees with a shape (HiveD's cells): whole domains of a level are kept possible for the queues that are
 * guaranteed them. Work that can be taken back is let in anywhere; work that cannot must leave enough domains intact. */
#ifndef GANG__SCHED_CELLS_H
#define GANG__SCHED_CELLS_H

#include "sched/record/state.h"

/* In a snapshot, close the nodes of the domains that are to be kept whole for other queues.
 * GANG_OK; GANG_ENOFIT: they cannot be kept, whatever the unit does; GANG_ENOMEM. */
gang_result gang__cells_keep(gang_sched *s, const struct gang__gang *u, gang_snapshot *snapshot);

#endif
