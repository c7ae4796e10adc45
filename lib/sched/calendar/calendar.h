/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_CALENDAR_H
#define GANG__SCHED_CALENDAR_H

#include "sched/record/state.h"

void gang__calendar_due(gang_sched *s, const struct gang__job *job); /* perhaps its planned start */

/* Before turns are taken: the timeline follows the queues, the nodes, the time, and what runs. */
void gang__calendar_refresh(gang_sched *s);
bool gang__calendar_waits(const gang_sched *s); /* is it worth it to take turns again? */

/* It has no planned start any more; and (forget) it is no more. */
void gang__calendar_unplan(gang_sched *s, struct gang__gang *u);
void gang__calendar_forget(gang_sched *s, struct gang__gang *u);

/* A node that gangs shared in time is not theirs any more: what it had in the timeline (0: nothing). */
void gang__calendar_vacated(gang_sched *s, uint32_t occupies);
bool gang__calendar_binds(const gang_sched *s); /* is anything planned? */
void gang__calendar_free(gang_sched *s);
gang_result gang__calendar_check(gang_sched *s, struct gang_error *error);

#endif
