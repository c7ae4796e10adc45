/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: starved gangs, and orders that are made again at once. */
#ifndef GANG__SCHED_ORDER_IN_H
#define GANG__SCHED_ORDER_IN_H

#include "sched/order/order.h"

/* The gang waits, and is now starved: it goes before all gangs of its leaf that are not starved. */
void gang__order_make_first(gang_sched *s, struct gang__gang *g);

/* Makes all classes of the list READY. */
void gang__order_unblock_all(gang_sched *s, struct gang__wait_class **list);

/* Does what gang__wake_queue() of all queues does, but at once. */
void gang__order_rekey_all(gang_sched *s);

/* All users of the leaf are put in order by their usage as it is now. */
void gang__order_rekey_users(gang_sched *s, struct gang__queue_state *leaf);

/* A starved gang no longer bars others: unblocks the wait classes that were blocked for it. */
void gang__bypass_unblock(gang_sched *s);

#endif
