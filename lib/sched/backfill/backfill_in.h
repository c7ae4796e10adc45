/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this folder. */
#ifndef GANG__SCHED_BACKFILL_IN_H
#define GANG__SCHED_BACKFILL_IN_H

#include "sched/backfill/backfill.h"

/* ---- plan_start.c ---------------------------------------------------------------------------- */

/* The gang cannot start now: it gets a planned start if it may have one (*why says). GANG_ENOFIT;
 * GANG_ENOMEM. */
gang_result gang__backfill_plan(gang_sched *s, struct gang__gang *g, int32_t *why);
/* The result of gang__calendar_earliest() becomes the planned start of the gang, in place of the
 * one that it had. GANG_OK; errors of gang__timeline_add(), with which nothing changed. */
gang_result gang__backfill_set_plan(gang_sched *s, struct gang__gang *g);
/* Take out the plans that do not bind this gang while it is tried; returns them as a list. The
 * other plans them again. False: out of memory. */
struct gang__gang *gang__backfill_unplan_behind(gang_sched *s, const struct gang__gang *g);
bool gang__backfill_plan_again(gang_sched *s, struct gang__gang *list);

/* ---- move_plans.c ---------------------------------------------------------------------------- */

enum { GANG__MAX_MOVED = 16 }; /* maximum number of plans that move for one start */

/* Could the plans lie elsewhere at the same times, so that the gang starts at these places? While a
 * trial has the gang there, each plan in turn is replaced by one beside the gang and the other
 * plans. The first plan for which there is none ends the trial. It is then replaced without the
 * gang, since its time may have passed. Plans replaced before keep their new nodes. GANG_OK;
 * GANG_ENOFIT; GANG_ENOMEM. */
gang_result gang__backfill_move_plans(gang_sched *s, const struct gang__gang *g,
                                      const struct gang_placement *place, size_t count);

/* ---- backfill_refresh.c ---------------------------------------------------------------------- */

/* Do free totals show that the gang can neither start now nor get a plan? Then it is not tried. */
bool gang__backfill_is_ruled_out(const gang_sched *s, const struct gang__gang *g);

/* ---- backfill_order.c ------------------------------------------------------------------------ */

/* In the smallest-area order: the longest run time that comes no later than a gang that runs
 * `lasts_ns`. */
int64_t gang__backfill_longest_tied_ns(const gang_sched *s, const struct gang__gang *g,
                                       int64_t lasts_ns);

#endif
