/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_WAIT_ORDER_H
#define GANG__SCHED_WAIT_ORDER_H

#include "sched/record/state.h"

/* What higher floors do when a gang or a wait class moves. Set once, by gang_sched_new(). A gang
 * that leaves the order loses its planned start. A class that backfill *keeps* is BLOCKED and in
 * no list of this floor: only few classes that wait for planned starts are tried again. */
struct gang__order_hooks {
    void (*unplan)(gang_sched *s, struct gang__gang *u); /* the gang has a planned start */
    /* What else parts the gang from others of its request class; 0: nothing does. */
    uint64_t (*class_salt)(const gang_sched *s, const struct gang__gang *u);
    bool (*keep)(gang_sched *s, struct gang__wait_class *bin); /* false: it is not kept */
    bool (*keep_again)(gang_sched *s, struct gang__wait_class *bin, uint8_t kept);
    void (*let_go)(struct gang__wait_class *bin);
    void (*done)(struct gang__wait_class *bin); /* READY no more, or it has another head */
    void (*deferred)(struct gang__wait_class *bin);
    void (*forget)(gang_sched *s, struct gang__wait_class *bin); /* it is about to be freed */
    void (*look)(gang_sched *s);     /* before the first in order is asked for */
    void (*dissolve)(gang_sched *s); /* nothing is kept any more */
};

bool gang__order_enter(gang_sched *s, struct gang__gang *u); /* to wait; false: out of memory */
void gang__order_leave(gang_sched *s, struct gang__gang *u); /* waits no more */

/* It waits, and from now on it is before all others of its leaf that are not starved. */
void gang__order_first(gang_sched *s, struct gang__gang *u);

/* The first of the leaf's blocked bins, if it bars this one: in strict order, or since its head is starved. */
const struct gang__wait_class *gang__order_bars(const struct gang__queue_state *leaf,
                                                const struct gang__wait_class *bin);

/* It is BLOCKED: does it bar those behind it? */
void gang__order_set_bar(struct gang__wait_class *bin, bool bars);

/* The unit whose turn it is; NULL: nobody's. */
struct gang__gang *gang__order_next(gang_sched *s);

/* Its bin cannot start now, for this reason. */
void gang__order_block(gang_sched *s, struct gang__wait_class *bin, int32_t why,
                       struct gang__queue_state *by, uint32_t dim);

/* There is no room for this ask: whoever else would be tried with it need not be. */
void gang__order_block_alike(gang_sched *s, struct gang__request_class *ask);
void gang__order_unblock(gang_sched *s, struct gang__wait_class *bin);

/* It is READY: its turn comes after that of all others of its leaf, among those of which that is said by the key. */
void gang__order_defer(gang_sched *s, struct gang__wait_class *bin, int64_t key);
void gang__order_unblock_all(gang_sched *s, struct gang__wait_class **list);

/* The same as gang__wake_queue() of all queues, at once. */
void gang__order_rekey_all(gang_sched *s);

/* Take all queues out of order, for their tree changes; gang__order_rekey_all() puts them back. */
void gang__order_forget(gang_sched *s);
void gang__order_user(gang_sched *s, struct gang__queue_state *leaf, struct gang__user *user);
void gang__order_users(gang_sched *s, struct gang__queue_state *leaf);
void gang__order_users_as(gang_sched *s, struct gang__queue_state *leaf,
                          const struct gang__queue_state *from);
void gang__order_init(struct gang__queue_state *q);
void gang__order_free_class(gang_sched *s, struct gang__gang *u);

gang__set_compare gang__order_compare_gangs; /* in the order of the leaf, which is its context */
int gang__gang_before(const struct gang__gang *a, const struct gang__gang *b, int32_t order);

/* What may help those who wait for room has happened: let them try again. */
void gang__order_room(gang_sched *s);
struct gang__user *gang__user_of(gang_sched *s, struct gang__queue_state *leaf, const char *name);

/* Does the leaf ask who its users are? */
bool gang__asks_users(const struct gang__queue *q);

/* If guarantees or limits are others (gang__fair_refresh() notes that): all classes may be tried
 * again, and users and queues are ordered by the new amounts. */
void gang__order_bounds(gang_sched *s);

/* Divide shares, if something changed, and order by them. */
void gang__order_refresh(gang_sched *s);

/* ---- job_count.c ---- */

/* Use of the leaf and of those above went down, or the number of jobs that run there: all classes
 * that these queues block may be tried again. */
void gang__eased(gang_sched *s, struct gang__queue_state *leaf);

/* Whether the job runs or waits may have changed: its queues and its user count it anew. */
void gang__job_count(gang_sched *s, struct gang__job *job);

#endif
