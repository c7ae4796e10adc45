/* SPDX-License-Identifier: Apache-2.0 */
/* Backfill: which gang may start before a planned one, and which blocked gang gets a planned start.
 * README.md explains it. */
#ifndef GANG__SCHED_BACKFILL_H
#define GANG__SCHED_BACKFILL_H

#include "sched/record/state.h"

/* Before gangs are tried: the calendar follows the cluster, reservations do what is due, and gangs
 * that this may help are tried again. */
void gang__backfill_refresh(gang_sched *s);

/* Audit of planned starts and of the calendar. GANG_OK; GANG_EINVAL: *error names the fault. */
gang_result gang__backfill_check(gang_sched *s, struct gang_error *error);

/* Grant the gang if that leaves capacity for all plans; otherwise plan its start, if it may have
 * a plan. Returns like gang__where_alloc(); GANG_ENOMEM also if memory was short earlier in the
 * run. */
gang_result gang__backfill_alloc(gang_sched *s, struct gang__gang *g, gang_alloc_id *id,
                                 int32_t *why);
/* The grant after gang__backfill_alloc() was reported to the host, or undone. */
void gang__backfill_end_alloc(gang_sched *s);

/* Is the gang to be tried after others of its leaf? If so, it is deferred now. */
bool gang__backfill_defer(gang_sched *s, struct gang__gang *g);

/* Has the gang a plan, and does it lack free capacity, not only capacity that plans keep? */
bool gang__backfill_lacks_capacity(gang_sched *s, struct gang__gang *g);

/* If the gang grows, is capacity left for all plans? */
bool gang__backfill_may_grow(gang_sched *s, const struct gang__gang *g);

/* ---- candidates.c ---------------------------------------------------------------------------- */

/* Blocked wait classes that wait because of plans are kept by their candidates: see
 * candidates.c. */

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
