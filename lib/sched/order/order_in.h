/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: starved gangs, and orders that are made again at once. */
#ifndef GANG__SCHED_ORDER_IN_H
#define GANG__SCHED_ORDER_IN_H

#include "sched/order/order.h"

/* The gang waits, and is now starved, or no longer: its place in the order of its leaf changes. */
void gang__order_set_starved(gang_sched *s, struct gang__gang *g, uint8_t starved);

/* ---- class_state.c --------------------------------------------------------------------------- */

/* The class enters the order of its leaf, or leaves it. It has left: backfill notes that. */
void gang__class_enter_ready(struct gang__wait_class *class);
void gang__class_leave_ready(gang_sched *s, struct gang__wait_class *class);
void gang__class_left_ready(gang_sched *s, struct gang__wait_class *class);
/* Take the class out of all lists, and make it EMPTY. */
void gang__class_take_out(gang_sched *s, struct gang__wait_class *class);
/* The head of the class is about to change. Returns how backfill or its group kept the class, for
 * gang__class_keep_again(). */
uint8_t gang__class_unkeep(gang_sched *s, struct gang__wait_class *class);
void gang__class_keep_again(gang_sched *s, struct gang__wait_class *class, uint8_t kept);

/* The class in a list of its user. */
void gang__order_enter_user(struct gang__wait_class **list, struct gang__wait_class *class);
void gang__order_leave_user(struct gang__wait_class *class);

/* A request class lies in sched.order.blocked_requests while some class of it waits for capacity.
 */
void gang__order_note_request(gang_sched *s, struct gang__request_class *request_class);
void gang__order_forget_request(struct gang__request_class *request_class);

/* The class is BLOCKED for want of capacity, and has a group: it waits there. */
void gang__order_move_to_group(gang_sched *s, struct gang__wait_class *class);

/* class_group.c. insert: of a class that is BLOCKED and in no list. */
void gang__group_insert(gang_sched *s, struct gang__wait_class *class);
void gang__group_remove(struct gang__wait_class *class);
void gang__group_moved(gang_sched *s, struct gang__wait_class *class); /* or its key changed */
void gang__group_left_ready(gang_sched *s, struct gang__wait_class *class);
void gang__groups_open(gang_sched *s, struct gang__request_class *request_class);
void gang__groups_unblock(gang_sched *s);    /* all classes of all groups */
void gang__groups_make_ready(gang_sched *s); /* before the order is read */
/* Classes in the order of their leaf, which is the context: READY ones, those of a group. */
gang__set_compare gang__order_compare_classes, gang__order_compare_grouped;

/* Makes all classes of the list READY. */
void gang__order_unblock_all(gang_sched *s, struct gang__wait_class **list);

/* The first gang below an active queue; the key of such a queue among its siblings. */
struct gang__gang *gang__order_head_below(const struct gang__queue_state *q);
void gang__order_make_key(gang_sched *s, struct gang__queue_state *q);

/* Does what gang__wake_queue() of all queues does, but at once. */
void gang__order_rekey_all(gang_sched *s);

/* All users of the leaf are put in order by their usage as it is now. */
void gang__order_rekey_users(gang_sched *s, struct gang__queue_state *leaf);

/* ---- multifactor.c: of leaves with GANG_ORDER_MULTIFACTOR ------------------------------------ */

/* A gang of the job is about to enter the order: the job gets its priority, unless another gang of
 * it is in the order. */
void gang__multifactor_enter(gang_sched *s, struct gang__job *job);

/* Totals or queues changed: all priorities are computed again soon. */
void gang__multifactor_rescore_all(gang_sched *s);

/* The number of waiting jobs of the leaf, or its due time, changed. */
void gang__multifactor_watch(gang_sched *s, struct gang__queue_state *leaf);

/* A starved gang no longer bars others: unblocks the wait classes that were blocked for it. */
void gang__bypass_unblock(gang_sched *s);
/* Nodes or bounds changed: gangs that starved by max_blocked_ns are no longer starved until their
 * timers have found again that they wait for nothing but running jobs. */
void gang__bypass_review(gang_sched *s);

#endif
