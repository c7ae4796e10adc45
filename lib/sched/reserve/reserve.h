/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_RESERVE_H
#define GANG__SCHED_RESERVE_H

#include "sched/calendar/calendar.h"
#include "sched/calendar/trial.h"
#include "sched/record/state.h"

/* When something is due about reservations. */
int64_t gang__reserve_next(const gang_sched *s);

/* All that is reserved is repeated without end: when what is planned of it by now is over. INT64_MAX: it is not. */
int64_t gang__reserve_endless(const gang_sched *s);

/* What its bin is not to share with others for the sake of reservations; 0: nothing. */
uint64_t gang__reserve_apart(const gang_sched *s, const struct gang__gang *u);

/* In the trial, capacity that is on its way to a gang for which others stop is taken. GANG_OK; GANG_ENOMEM. */
gang_result gang__reserve_put_handovers(struct gang__trial *t);

/* What is due of reservations is done. False: out of memory. */
bool gang__reserve_due(gang_sched *s);

/* Tries a gang in each timeline in which it may be placed, one after the other: inside the reservations that it may use,
 * then outside. `attempt` asks gang__calendar_when(). */
gang_result gang__reserve_try(gang_sched *s, struct gang__gang *u, gang_alloc_id *id, int32_t *why,
                              gang_result (*attempt)(gang_sched *, struct gang__gang *,
                                                     gang_alloc_id *, int32_t *));
/* The calendar shows the flexible reservations as this gang sees them: without those that it may use. NULL: as the
 * gang sees them that gang__reserve_try() tries, if it tries one. */
void gang__reserve_show_for(gang_sched *s, const struct gang__gang *u);
/* There is room on the nodes, but not beside what is planned: does the gang wait for reservations, or for planned starts
 * (GANG_WAIT_*)? */
int32_t gang__reserve_why(gang_sched *s, struct gang__gang *u);

/* May it start inside of some? */
bool gang__reserve_drawn(const gang_sched *s, const struct gang__gang *u);

/* It named one: may it be tried now? */
bool gang__reserve_holds(const gang_sched *s, const struct gang__job *job);

/* Does it start inside of one alone? Nobody is displaced for it, then. */
bool gang__reserve_confines(const struct gang__gang *u);

/* It was taken in: its reservation is looked up. False: that is over. */
bool gang__reserve_join(gang_sched *s, struct gang__job *job);

/* It is over, and perhaps what was reserved for it. */
void gang__reserve_leave(gang_sched *s, const struct gang__job *job);

/* When it is to stop because what it runs in ends; INT64_MAX: it has a limit of its own. */
int64_t gang__reserve_stop_ns(const struct gang__job *job);

/* Would it be in the way of one if it ran until then? */
bool gang__reserve_stops(gang_sched *s, const struct gang__job *job, int64_t until_ns);

/* When nothing of it runs any more the limit that it kept of what it lay in is gone. Not while a gang of it is on its way
 * elsewhere: where it may go was found with the limit. */
void gang__reserve_forget_end(gang_sched *s, struct gang__job *job);

/* Do reservations bear on where tasks of it go from now on? */
bool gang__reserve_binds(const gang_sched *s, const struct gang__gang *u);

/* Nodes that are reserved for others while the gang runs: sched/where. */
extern const struct gang__veto gang__reserve_veto;

/* More tasks of a group, where reservations leave room: as gang_alloc_grow(). */
gang_result gang__reserve_grow(gang_sched *s, struct gang__gang *u, uint32_t group, int64_t step,
                               int64_t *granted);

/* Of those who submit: may it start inside the one of this name? GANG_OK and its id; GANG_ENOENT, GANG_EPERM. Inside a
 * read section. */
gang_result gang__reserve_view_find(gang_sched *s, const struct gang__submit_view *submit_view,
                                    const struct gang__queue *q, const struct gang_job_spec *j,
                                    gang_reservation_id *id, struct gang_error *error);
bool gang__reserve_explain(gang_sched *s, struct gang__gang *u, struct gang__reserve_reason *why);
void gang__reserve_free(gang_sched *s);
extern const struct gang__calendar_source gang__reserve_source;
gang_result gang__reserve_check(gang_sched *s, struct gang_error *error);

#endif
