/* SPDX-License-Identifier: Apache-2.0 */
/* The plan on the copy of the cluster and on the books: victims are taken, the taker is placed, who
 * need not go stays. */
#ifndef GANG__SCHED_ON_COPY_H
#define GANG__SCHED_ON_COPY_H

#include "sched/preempt/preempt_in.h"

/* Take a victim, who is copied. False: it is not taken. */
bool gang__evict_take(struct gang__eviction *p, struct gang__victim *v);
/* It is back in the books, and no victim. */
void gang__evict_untake(struct gang__eviction *p, const struct gang__victim *v);
/* Take victims, of his own leaf (own) or others, until the taker has a place: sched.told. */
bool gang__evict_take_until(struct gang__eviction *p, bool own, bool others);
/* Has he a place now? */
bool gang__evict_place(struct gang__eviction *p);
/* From the last to the first: who can stay does, and is no victim any more. */
void gang__evict_spare(struct gang__eviction *p);
/* Whole gangs that fit elsewhere move there. Returns whether anybody is lost. */
bool gang__evict_move(struct gang__eviction *p);
/* Everybody back, in the books; the copy is thrown away. */
void gang__evict_put_back(struct gang__eviction *p);

#endif
