/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations: capacity kept for jobs, owners or maintenance. README.md explains them. */
#ifndef GANG__SCHED_RESERVE_H
#define GANG__SCHED_RESERVE_H

#include "sched/calendar/calendar.h"
#include "sched/calendar/trial.h"
#include "sched/record/state.h"

/* When the next thing is due: notice, begin, end, purge. */
int64_t gang__reserve_next(const gang_sched *s);

/* If every reservation repeats without end: the end of all pieces placed so far. Else INT64_MAX. */
int64_t gang__reserve_endless_until(const gang_sched *s);

/* The salt of the gang's wait class: gangs for which reservations differ do not share a class. 0:
 * none needed. */
uint64_t gang__reserve_class_salt(const gang_sched *s, const struct gang__gang *g);

/* In the trial, capacity that handovers keep is taken. GANG_OK; GANG_ENOMEM. */
gang_result gang__reserve_put_handovers(struct gang__trial *t);

/* Do what is due: notices, begins, ends, instances, lost nodes. False: out of memory. */
bool gang__reserve_due(gang_sched *s);

/* Tries a gang in each timeline in which it may be placed, one after the other: inside the
 * reservations that it may use, then outside. `attempt` asks gang__calendar_timeline_of(). */
gang_result gang__reserve_try(gang_sched *s, struct gang__gang *g, gang_alloc_id *id, int32_t *why,
                              gang_result (*attempt)(gang_sched *, struct gang__gang *,
                                                     gang_alloc_id *, int32_t *));
/* The calendar shows the flexible reservations as this gang sees them: without those that it may
 * use. NULL: as the gang sees them that gang__reserve_try() tries, if it tries one. */
void gang__reserve_show_for(gang_sched *s, const struct gang__gang *g);
/* The nodes have free capacity, but plans or reservations keep it: which does the gang wait for
 * (GANG_WAIT_*)? */
int32_t gang__reserve_why(gang_sched *s, struct gang__gang *g);

/* May the gang start inside a reservation: one that it named, or a magnetic one that matches it? */
bool gang__reserve_has_match(const gang_sched *s, const struct gang__gang *g);

/* May a job that named a reservation be tried now? */
bool gang__reserve_may_try(const gang_sched *s, const struct gang__job *job);

/* May the gang start only inside one reservation? Then preemption cannot help it. */
bool gang__reserve_confines(const struct gang__gang *g);

/* A job was taken in: look up its reservation. False: the reservation has ended. */
bool gang__reserve_join(gang_sched *s, struct gang__job *job);

/* A job ended. A reservation that was made for it is over. */
void gang__reserve_leave(gang_sched *s, const struct gang__job *job);

/* When a job without a time limit stops because its reservation ends; INT64_MAX: it does not. */
int64_t gang__reserve_stop_ns(const struct gang__job *job);

/* Would the job occupy reserved nodes if it ran until then? */
bool gang__reserve_is_reserved_until(gang_sched *s, const struct gang__job *job, int64_t until_ns);

/* When no gang of the job runs, it drops the time limit that it kept from its reservation. Not
 * while a gang is moving: its new places were found with that limit. */
void gang__reserve_forget_end(gang_sched *s, struct gang__job *job);

/* Does a piece begin before the gang would have ended, or is it inside? */
bool gang__reserve_binds(const gang_sched *s, const struct gang__gang *g);

/* Nodes that are reserved for others while the gang runs: sched/where. */
extern const struct gang__veto gang__reserve_veto;

/* Grow the gang where reservations leave capacity. Like gang_alloc_grow(). */
gang_result gang__reserve_grow(gang_sched *s, struct gang__gang *g, uint32_t group, int64_t step,
                               int64_t *granted);

/* Any thread, inside a read section: may the submitted job start inside the reservation of this
 * name? GANG_OK and its id; GANG_ENOENT; GANG_EPERM. */
gang_result gang__reserve_view_find(gang_sched *s, const struct gang__submit_view *submit_view,
                                    const struct gang__queue *q, const struct gang_job_spec *j,
                                    gang_reservation_id *id, struct gang_error *error);
bool gang__reserve_explain(gang_sched *s, struct gang__gang *g, struct gang__reserve_reason *why);
void gang__reserve_free(gang_sched *s);
extern const struct gang__calendar_source gang__reserve_source;
gang_result gang__reserve_check(gang_sched *s, struct gang_error *error);

#endif
