/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that run elsewhere than booked: between rebind.c and rebind_judge.c. */
#ifndef GANG__PLACE_REBIND_IN_H
#define GANG__PLACE_REBIND_IN_H

#include "place/alloc/alloc.h"
#include "place/state/records.h"

/* All tasks of one call, on one node. */
struct gang__rebind {
    gang_worker *w;
    const struct gang__node *node;
    struct gang__layout layout;
    struct gang__real_task *task;
    size_t count;
    struct gang__alloc *hold;        /* NULL: none */
    const struct gang__rooms *rooms; /* NULL: none */
    struct gang__alloc *sole;        /* the exclusive allocation that has the node; NULL: none */
    uint64_t held[GANG__MAX_WORDS];  /* what `hold`, or the holder of `sole`, has of the node */
};

/* Words of devices and cores end here. */
static inline unsigned gang__rebind_end(const struct gang__rebind *b)
{
    return gang__first_amount(b->layout);
}

/* Where the task is booked, and what it is to have if its books can follow. */
void gang__rebind_judge(struct gang__rebind *b, struct gang__real_task *t);
/* A task that keeps what it has: what it uses besides, that its allocation does not have. */
void gang__rebind_note_more(const struct gang__rebind *b, struct gang__real_task *t);

#endif
