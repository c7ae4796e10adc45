/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_WAIT_ORDER_H
#define GANG__SCHED_WAIT_ORDER_H

#include "sched/record/state.h"

bool gang__turn_enter(gang_sched *s, struct gang__unit *u); /* to wait; false: out of memory */
void gang__turn_leave(gang_sched *s, struct gang__unit *u); /* waits no more */

/* It waits, and from now on it is before all others of its leaf that are not overdue. */
void gang__turn_first(gang_sched *s, struct gang__unit *u);

/* The first of the leaf's blocked bins, if it bars this one: in strict order, or since its head is overdue. */
const struct gang__bin *gang__turn_bars(const struct gang__qs *leaf, const struct gang__bin *bin);

/* It is BLOCKED: does it bar those behind it? */
void gang__turn_set_bar(struct gang__bin *bin, bool bars);

/* The unit whose turn it is; NULL: nobody's. */
struct gang__unit *gang__turn_next(gang_sched *s);

/* Its bin cannot start now, for this reason. */
void gang__turn_block(gang_sched *s, struct gang__bin *bin, int32_t why, struct gang__qs *by,
                      uint32_t dim);

/* There is no room for this ask: whoever else would be tried with it need not be. */
void gang__turn_block_alike(gang_sched *s, struct gang__asked *ask);
void gang__turn_unblock(gang_sched *s, struct gang__bin *bin);

/* It is READY: its turn comes after that of all others of its leaf, among those of which that is said by the key. */
void gang__turn_late(gang_sched *s, struct gang__bin *bin, int64_t key);
void gang__turn_unblock_all(gang_sched *s, struct gang__bin **list);

/* A queue's use, share or head changed: it and all above are put into order anew when it is next
 * asked whose turn it is. */
void gang__turn_rekey(gang_sched *s, struct gang__qs *q);

/* The same of all queues, at once. */
void gang__turn_rekey_all(gang_sched *s);

/* Take all queues out of order, for their tree changes; gang__turn_rekey_all() puts them back. */
void gang__turn_forget(gang_sched *s);
void gang__turn_user(gang_sched *s, struct gang__qs *leaf, struct gang__user *user);
void gang__turn_users(gang_sched *s, struct gang__qs *leaf);
void gang__turn_users_as(gang_sched *s, struct gang__qs *leaf, const struct gang__qs *from);
void gang__turn_init(struct gang__qs *q);
void gang__turn_free_bin(gang_sched *s, struct gang__unit *u);

/* What a unit asks for when it is its turn: its gang, or a task of the first group that lacks
 * some. */
const struct gang__take *gang__unit_asks(const struct gang__unit *u, uint32_t *count);
int gang__unit_before(const struct gang__unit *a, const struct gang__unit *b, int32_t order);

/* It runs, and could be displaced. Its place in leaf->fall is looked for when somebody wants to
 * know who would fall first, which gang__falls_sort() must precede. */
void gang__fall_enter(gang_sched *s, struct gang__unit *u);
void gang__fall_leave(struct gang__unit *u);
void gang__falls_sort(gang_sched *s);

/* Has it tasks above its minimum now? */
void gang__shed_settle(struct gang__unit *u);

/* What may help those who wait for room has happened: let them try again. */
void gang__turn_room(gang_sched *s);
struct gang__user *gang__user_of(gang_sched *s, struct gang__qs *leaf, const char *name);

/* Does the leaf ask who its users are? */
bool gang__asks_users(const struct gang__queue *q);

#endif
