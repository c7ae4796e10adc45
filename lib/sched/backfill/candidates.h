/* SPDX-License-Identifier: Apache-2.0 */
/* Candidates of backfill that ask for the same.
 *
 * Jobs of an EASY leaf that have no plan of their own have their turn again whenever somebody leaves, for perhaps they fit
 * now before the plans. Where each has a time limit of its own, each is a bin of its own, and few of them fit. So
 * those bins that wait because of plans lie by their *kin*: what they ask for, and who does. Of a kin one at a time is
 * given its turn, the first of which it is not known beforehand that it cannot start:
 *   - By sums over all nodes enough is free for the gang from now on up to an instant, the same for all of a kin. Who runs
 *     beyond that is hopeless (gang__backfill_hopeless()).
 *   - Where one could not start though sums would let it, none that runs as long or longer can: what they would take is
 *     more.
 * Both are looked at again when a plan goes or is another, for what they say may be less than true then.
 *
 * The first is that of the leaf, or where it has an order of backfill, the first in that. So all have their turn as if each
 * had been looked at, but for those of whom nothing would have come; a round costs what it tries, and a
 * look at each kin.
 *
 * A kept bin is BLOCKED, and in no other list. It is *tried* until something happens by which it may have its turn again
 * (the leaf is stirred), and *waits* from then on, in a tree by the order of the leaf that tells of each subtree the
 * shortest. Those of whom more is to be asked are not kept: with a plan, a deadline, places to return to; starved; in a
 * leaf that is strict or counts who is bypassed; as long as something is reserved. */
#ifndef GANG__SCHED_KIN_H
#define GANG__SCHED_KIN_H

#include "sched/record/state.h"

struct gang__candidates {
    struct gang__hash_link link;         /* in leaf->backfill.by_key */
    struct gang__candidates *next, **at; /* in leaf->backfill.all */
    struct gang__candidates *next_due;   /* in leaf->backfill.due, while `due` */
    struct gang__queue_state *leaf;
    struct gang__request_class *ask;
    struct gang__user *user;
    bool fixed;
    bool due;                         /* is to give one of it its turn */
    uint32_t bins;                    /* that refer to it */
    struct gang__ordered_set waiting; /* by the order of the leaf */
    struct gang__wait_class *tried;
    struct gang__wait_class *ready; /* has its turn for the kin; NULL: none */
    int64_t most_ns;                /* those that run longer cannot start, as one has shown */
};

/* A bin is BLOCKED, for it was tried: it is kept, and those that run as long are not looked at again before something
 * changes. False: it is not of that sort, or there is no memory: it is to hang in lists. */
bool gang__candidates_keep(gang_sched *s, struct gang__wait_class *bin);
/* Its head has changed; it was kept like this (GANG__KEPT_*), and let go meanwhile. False: it is to hang in lists. */
bool gang__candidates_keep_again(gang_sched *s, struct gang__wait_class *bin, uint8_t kept);
/* It is not kept any more. */
void gang__candidates_let_go(struct gang__wait_class *bin);
/* It is READY no more, or has another head: another of its kin may have its turn. */
void gang__candidates_done(struct gang__wait_class *bin);
/* It comes after others of the leaf, by how long it runs: shorter ones of its kin come before it. */
void gang__candidates_late(struct gang__wait_class *bin);
/* It is about to be freed. */
void gang__candidates_forget(gang_sched *s, struct gang__wait_class *bin);

/* Whoever is to have his turn is READY, before it is asked whose turn it is. */
void gang__candidates_look(gang_sched *s);
/* All that are kept are READY, and nothing is noted: queues are about to change, or something is reserved. */
void gang__candidates_dissolve(gang_sched *s);
/* Is anybody kept? */
bool gang__candidates_some(const gang_sched *s);
/* The same in a copy: of a bin that is READY or BLOCKED like the other one, and of a leaf. */
void gang__candidates_copy(gang_sched *s, struct gang__wait_class *to,
                           const struct gang__wait_class *from);
void gang__candidates_copy_leaf(gang_sched *s, struct gang__queue_state *to,
                                const struct gang__queue_state *from);
/* Audit. */
gang_result gang__candidates_check(gang_sched *s, struct gang_error *error);

#endif
