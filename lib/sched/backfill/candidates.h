/* SPDX-License-Identifier: Apache-2.0 */
/* Backfill candidates: gangs of an EASY leaf without a plan of their own, which may start between
 * the plans.
 *
 * They are tried again whenever a gang leaves, since they may fit before the plans now. If each has
 * a time limit of its own, each is a wait class of its own, and few of them fit. So blocked classes
 * that wait because of plans are kept by *candidates*: those of the leaf with the same request
 * class, user and guarantee. From each, one class at a time is made READY: the first that is not
 * ruled out by
 *   - free totals: over all nodes, enough is free for the gang from now on up to an instant, which
 *     is the same for all of them. A gang that runs beyond it does not fit
 *     (gang__calendar_free_ns()).
 *   - a shorter candidate's failure: if a gang could not start, no gang that runs as long or longer
 *     can.
 * Both bounds are forgotten when a plan goes or changes, since more capacity may be free then.
 * "First" means first in the backfill order of the leaf, if it has one, else in its wait order. So
 * gangs start as if each had been tried. A round costs its tries, and a look at each entry.
 *
 * A kept class is BLOCKED and in no other list. It is KEPT_TRIED until something happens that may
 * help it (the leaf is noted: gang__wake_candidates()), and KEPT_WAITING from then on: in a tree in
 * the order of the leaf. Each node of the tree has the shortest run time below it. Some classes are
 * not kept, because more decides about them: a class with a planned, deadline-bound or starved
 * head, or with a head that has places to return to; classes of strict leaves and of leaves that
 * bound bypasses; and all classes while something is reserved.
 */
#ifndef GANG__SCHED_CANDIDATES_H
#define GANG__SCHED_CANDIDATES_H

#include "sched/record/state.h"

struct gang__candidates {
    struct gang__hash_link link;         /* in leaf->backfill.by_key */
    struct gang__candidates *next, **at; /* in leaf->backfill.all */
    struct gang__candidates *next_due;   /* in leaf->backfill.due, while `due` */
    struct gang__queue_state *leaf;
    struct gang__request_class *request_class;
    struct gang__user *user;
    bool fixed;
    bool due;                         /* one of its classes may be made READY */
    uint32_t refs;                    /* of its classes */
    struct gang__ordered_set waiting; /* by the order of the leaf */
    struct gang__wait_class *tried;
    struct gang__wait_class *ready; /* READY for all of them; NULL: none */
    int64_t most_ns;                /* a gang that runs longer cannot start, as a try has shown */
};

/* A class was tried and is BLOCKED: keep it; classes that run as long are not tried before
 * something changes. False: it cannot be kept, or memory is short; the caller puts it into its
 * lists. */
bool gang__candidates_keep(gang_sched *s, struct gang__wait_class *class);
/* Keep it again, in this way (GANG__KEPT_*), after its head changed. False: as above. */
bool gang__candidates_keep_again(gang_sched *s, struct gang__wait_class *class, uint8_t kept);
/* Take the class out of its candidates. */
void gang__candidates_unkeep(struct gang__wait_class *class);
/* The class is READY no more, or has another head: the next candidate may be made READY. */
void gang__candidates_left_ready(struct gang__wait_class *class);
/* The class was deferred behind others of its leaf: a shorter candidate may come before it. */
void gang__candidates_deferred(struct gang__wait_class *class);
/* The class is about to be freed. */
void gang__candidates_forget(gang_sched *s, struct gang__wait_class *class);

/* Make the next candidates READY, before the next gang of the order is chosen. */
void gang__candidates_make_ready(gang_sched *s);
/* Make all kept classes READY, and drop all notes: queues are about to change, or something is
 * reserved. */
void gang__candidates_unkeep_all(gang_sched *s);
/* Is any class kept? */
bool gang__candidates_any_kept(const gang_sched *s);
/* In a copy of the scheduler: keep a class, or note a leaf, as the original does. */
void gang__candidates_copy(gang_sched *s, struct gang__wait_class *to,
                           const struct gang__wait_class *from);
void gang__candidates_copy_leaf(gang_sched *s, struct gang__queue_state *to,
                                const struct gang__queue_state *from);
/* Audit. */
gang_result gang__candidates_check(gang_sched *s, struct gang_error *error);

#endif
