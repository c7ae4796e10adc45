/* SPDX-License-Identifier: Apache-2.0 */
/* How a submitted job comes in: between the inbox, take_in.c and the submit view. */
#ifndef GANG__SCHED_INTAKE_IN_H
#define GANG__SCHED_INTAKE_IN_H

#include "sched/intake/intake.h"

/* The job is taken in, or refused: submitters count it no more among those on their way in. */
void gang__job_arrived(gang_sched *s, struct gang__job *job);

/* A submitted job enters, or is refused. False: out of memory, it is to be taken in again. */
bool gang__job_take(gang_sched *s, struct gang__job *job);

/* From now on the scheduler knows the job; its leaf is set. */
void gang__job_enter_tables(gang_sched *s, struct gang__job *job);

/* ---- take_restored.c ---- */

/* As gang__job_take(), for a job that runs already, or that the host restores; its leaf is set. */
bool gang__job_take_restored(gang_sched *s, struct gang__job *job);

/* All of the past that is not about places. */
void gang__job_set_past(gang_sched *s, struct gang__job *job);

/* ---- */

/* Any thread: the message becomes the last of the inbox. */
void gang__inbox_put(gang_sched *s, struct gang__message *m);

/* Make a queue on demand, if it is not there. GANG_OK; GANG_ENOMEM; other errors: it cannot be
 * made. */
gang_result gang__queues_make_on_demand(gang_sched *s, gang_queue_id parent, const char *name,
                                        struct gang__queue_state **leaf);

#endif
