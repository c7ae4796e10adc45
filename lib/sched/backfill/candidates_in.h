/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of backfill candidates. */
#ifndef GANG__SCHED_CANDIDATES_IN_H
#define GANG__SCHED_CANDIDATES_IN_H

#include <stddef.h>

#include "sched/backfill/backfill.h"

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

static inline struct gang__wait_class *gang__candidate_at(const struct gang__set_link *n)
{
    return (struct gang__wait_class *)((char *)(uintptr_t)n -
                                       offsetof(struct gang__wait_class, backfill.link));
}

/* The first in the order of the leaf that runs no longer; NULL: none. */
struct gang__wait_class *gang__candidates_first_within(const struct gang__candidates *candidates,
                                                       int64_t most_ns);
/* One of its classes may be made READY. */
void gang__candidates_mark_due(struct gang__candidates *candidates);
/* The class is kept: GANG__KEPT_WAITING or _TRIED. */
void gang__candidates_keep_in(struct gang__wait_class *class, uint8_t where);

#endif
