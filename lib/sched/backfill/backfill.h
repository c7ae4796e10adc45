/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_BACKFILL_H
#define GANG__SCHED_BACKFILL_H

#include "sched/record/state.h"

/* Before gangs are tried: the calendar follows the cluster, reservations do what is due, and gangs
 * that this may help are tried again. */
void gang__backfill_refresh(gang_sched *s);

gang_result gang__backfill_check(gang_sched *s, struct gang_error *error);

/* Grant its gang if that leaves room for all plans; else plan its start, if it may have a plan. As
 * gang__alloc_gang(); GANG_ENOMEM also where memory was short earlier in the run. */
gang_result gang__backfill_alloc(gang_sched *s, struct gang__gang *u, gang_alloc_id *id,
                                 int32_t *why);
void gang__backfill_over(gang_sched *s); /* what was granted has been told, or undone */

/* Is it to be tried after others of its leaf? Then that has been seen to. */
bool gang__backfill_defer(gang_sched *s, struct gang__gang *u);

/* Has it a plan, and is it room that it lacks now, not only room that others are to have? */
bool gang__backfill_lacks_room(gang_sched *s, const struct gang__gang *u);

/* Do more tasks of it leave room for all plans? */
bool gang__backfill_may_grow(gang_sched *s, const struct gang__gang *u);

#endif
