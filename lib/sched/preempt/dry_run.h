/* SPDX-License-Identifier: Apache-2.0 */
/* The plan on the copy of the cluster and on the books: victims are taken, the taker is placed, who
 * need not go stays. */
#ifndef GANG__SCHED_ON_COPY_H
#define GANG__SCHED_ON_COPY_H

#include "sched/preempt/preempt_in.h"
#include "sched/where/where.h"

/* Take a victim, who is copied. False: it is not taken. */
bool gang__preempt_take(struct gang__preemption *p, struct gang__victim *v);
/* It is back in the books, and no victim. */
void gang__preempt_untake(struct gang__preemption *p, const struct gang__victim *v);
/* Take victims, of his own leaf (own) or others, until the taker has a place: sched.told. */
bool gang__preempt_take_until(struct gang__preemption *p, bool own, bool others);
/* Has he a place now? */
bool gang__preempt_place(struct gang__preemption *p);
/* The taker on the copy; and its place under these circumstances. */
struct gang__where gang__preempt_where(const struct gang__preemption *p);
bool gang__preempt_place_in(struct gang__preemption *p, const struct gang__where *w);
/* From the last to the first: who can stay does, and is no victim any more. */
void gang__preempt_spare(struct gang__preemption *p);
/* Whole gangs that fit elsewhere move there. Returns whether anybody is lost. */
bool gang__preempt_move(struct gang__preemption *p);
/* Everybody back, in the books; the copy is thrown away. */
void gang__preempt_put_back(struct gang__preemption *p);

#endif
