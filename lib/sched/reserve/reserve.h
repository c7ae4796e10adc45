/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_RESERVE_H
#define GANG__SCHED_RESERVE_H

#include "sched/record/state.h"

/* When something is due about reservations. */
int64_t gang__reserve_next(const gang_sched *s);

/* All that is reserved is repeated without end: when what is planned of it by now is over. INT64_MAX: it is not. */
int64_t gang__reserve_endless(const gang_sched *s);

/* What its bin is not to share with others for the sake of reservations; 0: nothing. */
uint64_t gang__reserve_apart(const gang_sched *s, const struct gang__gang *u);

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
gang_result gang__reserve_view_find(gang_sched *s, const struct gang__submit_view *door,
                                    const struct gang__queue *q, const struct gang_job_spec *j,
                                    gang_reservation_id *id, struct gang_error *error);
bool gang__reserve_explain(gang_sched *s, struct gang__gang *u, struct gang__reserve_reason *why);
void gang__reserve_free(gang_sched *s);
gang_result gang__reserve_check(gang_sched *s, struct gang_error *error);

#endif
