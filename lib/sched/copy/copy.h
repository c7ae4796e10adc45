/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler once more: the same queues, jobs and allocations, under the same ids, on a copy of its
 * cluster (core/cluster_copy.h), so that what is decided on one would be decided on the other.
 *
 *   copy.c         the scheduler, its jobs and their gangs
 *   copy_leave.c   those who were asked to stop, and who waits for them
 *   copy_turn.c    who is blocked by what
 *   copy_slice.c   whose turn it is
 *   copy_ask.c     requests, compiled anew for the copy
 *   copy_reserve.c what is reserved, and who lies inside
 *   copy_inbox.c   messages that no run has taken in
 *
 * What follows from the jobs is made out anew: the books (all enter them, as after a change of the queues),
 * the orders. What happened before is copied: what was promised, noted, or tried in vain.
 * Not copied: what other threads are doing; and for a forecast, in which all tasks live and nobody says anything,
 * messages that no run has taken in, and heartbeats. */
#ifndef GANG__SCHED_COPY_H
#define GANG__SCHED_COPY_H

#include "sched/record/state.h"

/* A copy of scheduler and cluster for a forecast, with ops of its own. It is ended with gang_sched_free() and then
 * gang_cluster_free() of its cluster. GANG_OK; GANG_EBUSY: another thread changes an allocation; GANG_ENOMEM. On an
 * error *copy is NULL. Owner of `from`, outside of a run, and nobody changes the cluster meanwhile. O(nodes + jobs + their tasks).
 * For a host: gang_sched_copy(). */
gang_result gang__sched_copy(gang_sched *from, const struct gang_host_ops *ops, void *user,
                             gang_sched **copy, struct gang_error *error) GANG_MUST_CHECK;

/* ---- copy.c ---- */

/* What a job is, and what its gangs hold, not what they ask for; it is in no table and no message. NULL: out of memory. */
struct gang__job *gang__job_copy(gang_sched *s, const struct gang__job *from);

/* ---- copy_ask.c ---- */

/* Requests of one scheduler, and what stands for them in the other. */
struct gang__asks_copy {
    gang_sched *to;
    struct gang__hash_table of; /* by the address of the request */
};
gang_result gang__asks_copy(struct gang__asks_copy *c, const gang_sched *from);
/* What stands for a request (gang__request_map). One that is no job's, because somebody has allocated by
 * himself or room is kept free with it, is made when it is met; it is never asked for again. */
gang_result gang__asks_find(gang_request *from, void *ctx, gang_request **to);
/* References to what a job wants, and to what it asks for. NULL: out of memory. */
struct gang__request_text *gang__asks_wanted(struct gang__asks_copy *c,
                                             const struct gang__request_text *from);
struct gang__request_class *gang__asks_get(struct gang__asks_copy *c,
                                           const struct gang__request_class *from);
void gang__asks_end(struct gang__asks_copy *c);
/* One that stands for no ask. NULL: out of memory. */
struct gang__request_text *gang__request_text_copy(gang_sched *to,
                                                   const struct gang__request_text *from);

/* What was asked for of late, for those who ask for the same again: who finds it there teaches the mix nothing. False:
 * out of memory. */
bool gang__recent_copy(struct gang__asks_copy *c, gang_sched *from);

/* ---- copy_turn.c ---- */

/* They are in their bins already. Cannot fail. */
void gang__order_copy(gang_sched *to, const gang_sched *from);

/* ---- copy_inbox.c ---- */

/* Messages in the backlog, into the backlog; the queues are there already. False: out of memory. */
bool gang__backlog_copy(struct gang__asks_copy *c, const gang_sched *from);

/* ---- copy_leave.c ---- */

/* The jobs are there already. False: out of memory. */
bool gang__stops_copy(gang_sched *to, const gang_sched *from);

/* ---- copy_reserve.c ---- */

/* The table of reservations, under the same ids; the queues are there already. Nothing of it is in a timeline
 * yet. False: out of memory. */
bool gang__reserves_copy(gang_sched *to, const gang_sched *from);
/* Which jobs named one, and who lies inside one. Jobs and reservations are there already. Cannot fail. */
void gang__reserve_members_copy(gang_sched *to, const gang_sched *from);

/* Its reservations lie in the copied timeline under the same numbers. False: out of memory. */
bool gang__reserve_laid_copy(gang_sched *s, const gang_sched *from);

/* ---- copy_calendar.c ---- */

/* The calendar, with its planned starts; the jobs are there already. False: out of memory. */
bool gang__calendar_copy(gang_sched *s, const gang_sched *from);

/* ---- copy_slice.c ---- */

/* The matrices, with columns and gangs; the jobs are there already, and enter the books later. False: out of memory:
 * drop them. */
bool gang__slices_copy(gang_sched *to, const gang_sched *from);
/* The timeline was copied: their nodes have the same numbers there. */
void gang__slices_occupied_as(gang_sched *to, const gang_sched *from);
/* Their jobs go before they have entered the books. */
void gang__slices_drop(gang_sched *s);

#endif
