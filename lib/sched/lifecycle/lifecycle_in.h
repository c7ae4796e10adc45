/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder: what timer.c asks of reports and limits. */
#ifndef GANG__SCHED_LIFECYCLE_IN_H
#define GANG__SCHED_LIFECYCLE_IN_H

#include "sched/lifecycle/lifecycle.h"

/* What is due by reports: late heartbeats, gangs below their minimum, lost tasks that come back.
 * When the next one is due. */
void gang__reports_due(gang_sched *s, struct gang__job *job);
int64_t gang__reports_next(const gang_sched *s, const struct gang__job *job);
void gang__reports_free(gang_sched *s, struct gang__job *job);

/* When the next limit of the job is due; apply the limits that are due. */
int64_t gang__time_limit_next(const gang_sched *s, const struct gang__job *job);
void gang__time_limit_due(gang_sched *s, struct gang__job *job);

#endif
