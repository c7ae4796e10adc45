/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder. */
#ifndef GANG__SCHED_COPY_IN_H
#define GANG__SCHED_COPY_IN_H

#include "sched/copy/copy.h"

/* ---- copy_job.c ------------------------------------------------------------------------------ */

/* Copies a job and what its gangs hold, not their requests; the copy is in no table and no message.
 * NULL: out of memory. */
struct gang__job *gang__job_copy(gang_sched *s, const struct gang__job *from);

/* ---- copy_request.c -------------------------------------------------------------------------- */

/* Requests of the original, and their counterparts in the copy. */
struct gang__requests_copy {
    gang_sched *to;
    struct gang__hash_table of; /* by the address of the request */
};
gang_result gang__requests_copy(struct gang__requests_copy *c, const gang_sched *from);
/* The counterpart of a request (gang__request_map). A request without a job, of an allocation
 * outside the scheduler or of a placeholder, is made at its first use and never looked up again. */
gang_result gang__requests_copy_find(gang_request *from, void *ctx, gang_request **to);
/* Counterparts of the text and of the class of a request, with a reference. NULL: out of memory. */
struct gang__request_text *gang__requests_copy_text(struct gang__requests_copy *c,
                                                    const struct gang__request_text *from);
struct gang__request_class *gang__requests_copy_class(struct gang__requests_copy *c,
                                                      const struct gang__request_class *from);
void gang__requests_copy_end(struct gang__requests_copy *c);
/* The text of a request that belongs to no class. NULL: out of memory. */
struct gang__request_text *gang__request_text_copy(gang_sched *to,
                                                   const struct gang__request_text *from);

/* The cache of recent requests: a job that finds its request there teaches the mix nothing.
 * False: out of memory. */
bool gang__recent_copy(struct gang__requests_copy *c, gang_sched *from);

/* ---- copy_order.c ---------------------------------------------------------------------------- */

/* Which wait class is blocked by what. The gangs are in their classes already. Cannot fail. */
void gang__order_copy(gang_sched *to, const gang_sched *from);

/* ---- copy_inbox.c ---------------------------------------------------------------------------- */

/* Messages in the backlog, into the backlog; the queues are there already. False: out of memory. */
bool gang__backlog_copy(struct gang__requests_copy *c, const gang_sched *from);

/* ---- copy_stop.c ----------------------------------------------------------------------------- */

/* The jobs are there already. False: out of memory. */
bool gang__stops_copy(gang_sched *to, const gang_sched *from);

/* ---- copy_reserve.c -------------------------------------------------------------------------- */

/* The table of reservations, under the same ids; the queues exist already. No timeline holds any
 * of it yet. False: out of memory. */
bool gang__reserves_copy(gang_sched *to, const gang_sched *from);
/* The jobs that named a reservation, and the members inside. Jobs and reservations exist
 * already. Cannot fail. */
void gang__reserve_members_copy(gang_sched *to, const gang_sched *from);

/* Its reservations lie in the copied timeline under the same numbers. False: out of memory. */
bool gang__reserve_laid_copy(gang_sched *s, const gang_sched *from);

/* ---- copy_calendar.c ------------------------------------------------------------------------- */

/* The calendar, with its planned starts; the jobs are there already. False: out of memory. */
bool gang__calendar_copy(gang_sched *s, const gang_sched *from);

/* ---- copy_slice.c ---------------------------------------------------------------------------- */

/* The matrices with columns and gangs; the jobs exist already and enter the usage later. False:
 * out of memory; the caller drops the matrices. */
bool gang__slices_copy(gang_sched *to, const gang_sched *from);
/* The timeline was copied: their nodes have the same numbers there. */
void gang__slices_occupied_as(gang_sched *to, const gang_sched *from);
/* Their jobs go before they have entered the usage. */
void gang__slices_drop(gang_sched *s);

#endif
