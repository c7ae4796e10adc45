/* SPDX-License-Identifier: Apache-2.0 */
/* An allocation takes effect: a start, growth, or the places of a handover. */
#ifndef GANG__SCHED_GRANT_H
#define GANG__SCHED_GRANT_H

#include "sched/record/state.h"

/* The gang has got this allocation: usage and orders count it. `moved`: with the tasks that it had
 * elsewhere. gang__grant_report_start() tells the host; a gang in a matrix of time slices is
 * started by its first quantum instead. */
void gang__grant_start(gang_sched *s, struct gang__gang *g, gang_alloc_id alloc, int32_t reason,
                       bool moved);

/* The second half of a grant: the host starts or resumes the gang. */
bool gang__grant_report(gang_sched *s, struct gang__gang *g, int32_t reason);

/* More tasks were granted: `count` numbers, for which memory was reserved (record/untold.h), so
 * many of each group. gang__grant_report_growth() tells the host, with this reason. */
void gang__grant_growth(gang_sched *s, struct gang__gang *g, const int64_t *tasks, size_t count,
                        const int64_t *by_group, int32_t reason);

/* Tell the host of the next start, or of all tasks that were added to the next gang, that it has
 * not heard of. If it refuses, they are undone, and sched.untold.refused is set. False: there is
 * none. _sliced(): of a gang in a matrix of time slices, before it is asked to suspend. */
bool gang__grant_report_start(gang_sched *s);
bool gang__grant_report_growth(gang_sched *s);
bool gang__grant_report_sliced(gang_sched *s);

/* Finish handovers after their last victim has stopped: their takers start. */
void gang__handovers_finish(gang_sched *s);

#endif
