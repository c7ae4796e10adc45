/* SPDX-License-Identifier: Apache-2.0 */
/* Which gang is next: wait classes, the order of queues and users, and bounded bypass. README.md
 * explains them. */
#ifndef GANG__SCHED_ORDER_H
#define GANG__SCHED_ORDER_H

#include "sched/record/state.h"

/* ---- wait_class.c, queue_order.c, user_order.c ----------------------------------------------- */

/* Hooks of higher folders, called when a gang or a wait class moves; gang_sched_new() sets them
 * once. A gang that leaves the order loses its planned start. A class that backfill *keeps*
 * is BLOCKED and in no list of this floor: only few classes that wait for planned starts are
 * tried again. */
struct gang__order_hooks {
    void (*unplan)(gang_sched *s, struct gang__gang *g); /* the gang has a planned start */
    /* A number that separates the gang from others of its request class; 0: none does. */
    uint64_t (*class_salt)(const gang_sched *s, const struct gang__gang *g);
    bool (*keep)(gang_sched *s, struct gang__wait_class *class); /* false: it is not kept */
    bool (*keep_again)(gang_sched *s, struct gang__wait_class *class, uint8_t kept);
    void (*unkeep)(struct gang__wait_class *class);
    void (*left_ready)(struct gang__wait_class *class); /* READY no more, or it has another head */
    void (*deferred)(struct gang__wait_class *class);
    /* the class is about to be freed */
    void (*forget)(gang_sched *s, struct gang__wait_class *class);
    void (*make_ready)(gang_sched *s); /* before the order is read */
    void (*unkeep_all)(gang_sched *s); /* nothing is kept any more */
};

/* begin to wait; false: out of memory */
bool gang__order_enter(gang_sched *s, struct gang__gang *g);
void gang__order_leave(gang_sched *s, struct gang__gang *g); /* stop waiting */

/* The first blocked wait class of the leaf that bars this one: in strict order, or because its
 * head is starved. NULL: none. */
const struct gang__wait_class *gang__order_barred_by(const struct gang__queue_state *leaf,
                                                     const struct gang__wait_class *class);

/* Does the queue go before its sibling, if the head of each asks for these amounts? */
bool gang__order_queue_precedes(gang_sched *s, const struct gang__queue_state *a,
                                const struct gang__queue_state *b, const struct gang__take *take,
                                uint32_t count);

/* The class is BLOCKED: sets whether it bars the classes behind it. */
void gang__order_set_bar(struct gang__wait_class *class, bool bars);

/* The first gang in order; NULL: none. */
struct gang__gang *gang__order_next(gang_sched *s);

/* The class cannot start now, for this reason: makes it BLOCKED. */
void gang__order_block(gang_sched *s, struct gang__wait_class *class, int32_t why,
                       struct gang__queue_state *by, uint32_t dim);

void gang__order_unblock(gang_sched *s, struct gang__wait_class *class);

/* The class is READY: it is tried after all classes of its leaf that are not deferred. The key
 * orders the deferred classes. */
void gang__order_defer(gang_sched *s, struct gang__wait_class *class, int64_t key);

/* The class is READY, and as the gang tried last, it would find no capacity: it waits in its
 * group, if its leaf counts users; else it is BLOCKED. */
void gang__order_block_beside(gang_sched *s, struct gang__wait_class *class);

/* open: the classes of the group may be tried, one after the other. close: all of them are BLOCKED
 * again. gang__group_is_open(): the class waits in a group that is open. */
void gang__group_open(gang_sched *s, struct gang__class_group *group);
void gang__group_close(struct gang__class_group *group);
bool gang__group_is_open(const struct gang__wait_class *class);
/* The class is about to be freed: it refers to its group no more. */
void gang__group_forget(gang_sched *s, struct gang__wait_class *class);

/* Take all queues out of order, for their tree changes; gang__order_rekey_all() puts them back. */
void gang__order_remove_queues(gang_sched *s);
void gang__order_rekey_user(gang_sched *s, struct gang__queue_state *leaf, struct gang__user *user);

/* In a copy: sorts the wait classes of the leaf by the keys that its users have in the original. */
void gang__order_copy_users(gang_sched *s, struct gang__queue_state *leaf,
                            const struct gang__queue_state *from);
void gang__order_init(struct gang__queue_state *q);
void gang__order_free_class(gang_sched *s, struct gang__gang *g);

gang__set_compare gang__order_compare_gangs; /* in the order of the leaf, which is its context */
int gang__gang_before(const struct gang__gang *a, const struct gang__gang *b, int32_t order);

/* Unblocks wait classes that wait for capacity, if capacity came free or nodes came. */
void gang__order_unblock_for_capacity(gang_sched *s);
struct gang__user *gang__user_of(gang_sched *s, struct gang__queue_state *leaf, const char *name);

/* Does the queue count usage or jobs by user? */
bool gang__queue_counts_users(const struct gang__queue *q);

/* If guarantees or limits changed (gang__fair_refresh() notes that): unblocks all classes, and
 * orders users and queues by the new amounts. */
void gang__order_apply_bounds(gang_sched *s);

/* Divides shares, if something changed, and orders by them. */
void gang__order_refresh(gang_sched *s);

/* ---- multifactor.c --------------------------------------------------------------------------- */

/* Computes the priorities of the waiting jobs of the first leaf that is due. A job whose place
 * changes leaves the order, and is noted. False: no leaf is due. */
bool gang__multifactor_step(gang_sched *s);
int64_t gang__multifactor_next(const gang_sched *s); /* when a leaf is due; INT64_MAX: none */
void gang__multifactor_init(gang_sched *s);
/* The queues are about to be counted from zero. */
void gang__multifactor_reset(gang_sched *s);
void gang__multifactor_copy(gang_sched *s, struct gang__queue_state *leaf,
                            const struct gang__queue_state *from);
/* GANG_OK; GANG_EINVAL: a priority is not the sum of its factors. */
gang_result gang__multifactor_check(const gang_sched *s, struct gang_error *error);

/* Makes the users of leaves that remember use, before their jobs are copied. False: out of memory.
 */
bool gang__users_copy(gang_sched *s, const gang_sched *from);

/* ---- job_array.c ----------------------------------------------------------------------------- */

/* Finds or makes the array of the job, if one bounds it. False: out of memory. */
bool gang__array_enter(gang_sched *s, struct gang__job *job);
/* The job goes: the last one of an array frees it. */
void gang__array_leave(gang_sched *s, struct gang__job *job);

/* ---- job_count.c ----------------------------------------------------------------------------- */

/* The usage of the leaf and of the queues above went down, or the number of jobs that run there:
 * unblocks all classes that these queues block. */
void gang__order_unblock_queues(gang_sched *s, struct gang__queue_state *leaf);

/* The job may have begun or stopped to run or to wait: its queues and its user count it again. */
void gang__job_count(gang_sched *s, struct gang__job *job);

/* Count the taker's job as about to run (true), or no more (false): queues and users limit how
 * many jobs run at once. */
void gang__handover_promise_job(struct gang__handover *handover, bool comes);

/* ---- bypass.c -------------------------------------------------------------------------------- */

/* Bounded bypass: a gang that waited for capacity for too long, or was bypassed too often, is
 * *starved*. From then on no gang passes it (gang_queue_spec.max_bypasses, max_wait_ns,
 * max_blocked_ns). lifecycle/starve_due.c sees to the times.
 *
 * In its leaf a starved gang is the first, whatever the order (by max_blocked_ns alone: the first
 * of its priority, if the leaf is in order of priority). While it is blocked for want of
 * capacity, it bars the leaf like the head of a strict leaf. A gang of another leaf that does not
 * stay inside its guarantee is placed as if the nodes that the starved gang could use were down.
 * A starved gang bars no gang if it is in no wait class, or if something else than capacity keeps
 * it from starting. */

/* Does this reason to wait mean that the gang waits for capacity? */
static inline bool gang__waits_for_capacity(int32_t why)
{
    return why == GANG_WAIT_CAPACITY || why == GANG_WAIT_PLANNED || why == GANG_WAIT_CELLS ||
           why == GANG_WAIT_STARVED;
}

/* If this gang takes `take`, it must leave the nodes of starved gangs in other leaves alone: the
 * first such starved gang. NULL: none. */
const struct gang__gang *gang__bypass_first_starved(const gang_sched *s, const struct gang__gang *g,
                                                    const struct gang__take *take, uint32_t count);
/* The same, with the amounts that the gang asks for. */
const struct gang__gang *gang__bypass_concerns(const gang_sched *s, const struct gang__gang *g);
/* Closes the nodes that these starved gangs could use, in a snapshot. GANG_OK; GANG_ENOMEM. */
gang_result gang__bypass_close_nodes(gang_sched *s, const struct gang__gang *g,
                                     const struct gang__take *take, uint32_t count,
                                     gang_snapshot *snapshot);
/* Is a place to which the suspended gang would return on such a node? */
bool gang__bypass_returns_to_closed(gang_sched *s, const struct gang__gang *g);

/* The gang has started: counts a bypass for the head of each wait class of its leaf that goes
 * before it and waits for capacity. */
void gang__bypass_count(gang_sched *s, const struct gang__gang *g);
/* The gang had its turn and found no capacity: from the first time on, max_blocked_ns counts. */
void gang__bypass_blocked(gang_sched *s, struct gang__gang *g);
/* The gang would not fit even if all jobs had ended: its time counts from the start again, when it
 * is tried after something changed. */
void gang__bypass_cannot_fit(gang_sched *s, struct gang__gang *g);
/* The gang waits, and is starved from now on. `starved`: GANG__STARVED_*. */
void gang__bypass_starve(gang_sched *s, struct gang__gang *g, uint8_t starved);
/* The gang gets a planned start. If it starved by max_blocked_ns alone, backfill sees to it from
 * now on: before another gang is tried, gang__bypass_release_planned() ends its being starved. */
void gang__bypass_planned(gang_sched *s, const struct gang__gang *g);
void gang__bypass_release_planned(gang_sched *s);
/* The gang starts or ends, and has left its wait class: it is no longer starved. */
void gang__bypass_end(struct gang__gang *g);
/* The same for a start that the run may take back before the host hears of it; and it does: the
 * gang is as starved as it was. */
void gang__bypass_set_aside(struct gang__gang *g);
void gang__bypass_take_up(gang_sched *s, struct gang__gang *g);

#endif
