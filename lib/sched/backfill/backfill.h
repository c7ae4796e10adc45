/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_BACKFILL_H
#define GANG__SCHED_BACKFILL_H

#include "sched/record/state.h"

/* Before gangs are tried: the calendar follows the cluster, reservations do what is due, and gangs
 * that this may help are tried again. */
void gang__backfill_refresh(gang_sched *s);

gang_result gang__backfill_check(gang_sched *s, struct gang_error *error);

/* Grant the gang if that leaves capacity for all plans; otherwise plan its start, if it may have
 * a plan. Returns like gang__alloc_gang(); GANG_ENOMEM also if memory was short earlier in the
 * run. */
gang_result gang__backfill_alloc(gang_sched *s, struct gang__gang *g, gang_alloc_id *id,
                                 int32_t *why);
void gang__backfill_end_alloc(gang_sched *s); /* the grant was reported, or undone */

/* Is the gang to be tried after others of its leaf? If so, it is deferred now. */
bool gang__backfill_defer(gang_sched *s, struct gang__gang *g);

/* Has the gang a plan, and does it lack free capacity, not only capacity that plans keep? */
bool gang__backfill_lacks_capacity(gang_sched *s, const struct gang__gang *g);

/* If the gang grows, is capacity left for all plans? */
bool gang__backfill_may_grow(gang_sched *s, const struct gang__gang *g);

#endif
