/* SPDX-License-Identifier: Apache-2.0 */
/* Cells (HiveD): a queue may have a guarantee of whole domains of a level. Gangs that may be
 * preempted are placed anywhere; other gangs must leave enough domains intact for these queues. */
#ifndef GANG__SCHED_CELLS_H
#define GANG__SCHED_CELLS_H

#include "sched/record/state.h"

/* In a snapshot, close the nodes of the domains that other queues must keep whole. GANG_OK;
 * GANG_ENOFIT: the domains cannot be kept, whatever the gang does; GANG_ENOMEM. */
gang_result gang__cells_close_nodes(gang_sched *s, const struct gang__gang *g,
                                    gang_snapshot *snapshot);

#endif
