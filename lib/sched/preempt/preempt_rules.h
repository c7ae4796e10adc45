/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules say of a taker and his victims. All by the books as they are now, with what was
 * taken so far. */
#ifndef GANG__SCHED_MAY_TAKE_H
#define GANG__SCHED_MAY_TAKE_H

#include "sched/preempt/preempt_in.h"

enum gang__may {
    GANG__MAY,
    GANG__MAY_NOT, /* not from this one */
    GANG__MAY_NONE /* nor from those of its leaf that fall after it, while victims are taken */
};

/* May the taker take from this unit? */
enum gang__may gang__may_take(const struct gang__preemption *p, const struct gang__gang *victim);
/* The same of one in his own leaf. */
bool gang__may_preempt(const struct gang__preemption *p, const struct gang__gang *victim);
/* Is there as much as the taker asks for, wherever it is; and may his queues have it? */
bool gang__amounts_suffice(const struct gang__preemption *p);
bool gang__quota_suffices(const struct gang__preemption *p);
/* Does his leaf stay inside its share, or inside its guarantee? */
bool gang__is_entitled(const struct gang__preemption *p);

/* With the taker in the books: */

/* Would he end relatively fuller than the giver, compared where their branches part? */
bool gang__overshoots(const struct gang__preemption *p, const struct gang__gang *victim);
/* The victim is back: do its queues keep to their limits? */
bool gang__may_stay(const struct gang__preemption *p, const struct gang__victim *v);
/* One of his own queue is back: is he still entitled to what others gave? */
bool gang__still_entitled(const struct gang__preemption *p);

#endif
