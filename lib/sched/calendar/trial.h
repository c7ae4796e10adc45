/* SPDX-License-Identifier: Apache-2.0 */
/* A trial: a what-if on the cluster, the usage of the queues and the calendar, dropped as one.
 *
 *     struct gang__trial t;
 *     gang__trial_begin(&t, s, s->calendar->timeline);
 *     gang__trial_withdraw_plans(&t, NULL);                 // change the calendar,
 *     if (gang__trial_charge(&t, leaf, take, count, -1))    // the usage,
 *         ...                                               // and s->scratch, a snapshot
 *     gang__trial_drop(&t);                                 // all is as it was at the begin
 *     ...                                                   // now do what was found
 *
 * The trial keeps a journal. A change of the usage, and each occupation that is put or restored,
 * leaves an undo record there; gang__trial_drop() plays the records back, the last one first.
 * Withdrawn occupations need no record: the timeline keeps their times (plan/timeline/timeline.h).
 * The snapshot is a copy, and the next trial takes a new one.
 *
 *   Errors   A change that finds no memory for its record is not made, and returns false or
 *            GANG_ENOMEM. Withdrawing and drop cannot fail.
 *   Nesting  Trials nest. An inner trial ends before the outer one.
 *   Cost     begin O(1); drop O(changes); each change what the change itself costs.
 *   Threads  The owner of the scheduler alone.
 *
 * The trial undoes only what was changed by its own calls. Other changes made meanwhile, as a
 * planned start that is added, stay. */
#ifndef GANG__SCHED_TRIAL_H
#define GANG__SCHED_TRIAL_H

#include "plan/timeline/timeline.h"
#include "sched/record/state.h"

struct gang__trial {
    gang_sched *s;
    struct gang__timeline *timeline; /* NULL: the calendar is not part of it */
    uint64_t mark;                   /* later withdrawals from it are this trial's */
    size_t first;                    /* records of the journal from here on are this trial's */
};

/* `timeline`: the timeline that the trial may change; NULL: none. */
void gang__trial_begin(struct gang__trial *t, gang_sched *s, struct gang__timeline *timeline);
void gang__trial_drop(struct gang__trial *t);

/* ---- the calendar ---------------------------------------------------------------------------- */

/* An occupation takes nothing until the trial ends. */
void gang__trial_withdraw(struct gang__trial *t, uint32_t id);
/* A withdrawn occupation counts until this trial ends. False: out of memory. */
bool gang__trial_restore(struct gang__trial *t, uint32_t id);
/* The planned starts in this reservation, or (NULL) outside of all, are withdrawn. */
void gang__trial_withdraw_plans(struct gang__trial *t, const struct gang__reserve *in);
/* Put an occupation; *id may be NULL. As gang__timeline_add(). */
gang_result gang__trial_put(struct gang__trial *t, const struct gang__occupation *o, uint32_t *id);

/* ---- the usage of queues --------------------------------------------------------------------- */

/* Add amounts, or subtract them, to what the leaf and all queues above it use; `take` lives as long
 * as the trial. */
bool gang__trial_charge(struct gang__trial *t, struct gang__queue_state *leaf,
                        const struct gang__take *take, uint32_t count, int64_t sign);

/* ---- changes of any other kind --------------------------------------------------------------- */

/* The caller reserves a record, makes the change, and notes what undoes it. Noting cannot fail. */
bool gang__trial_reserve(struct gang__trial *t, size_t records);
void gang__trial_note(struct gang__trial *t, gang__trial_undo *undo, void *what, const void *with,
                      int64_t a, int64_t b);

/* With the scheduler. */
void gang__trial_free(gang_sched *s);

#endif
