/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeats: when each task of a job last reported. All tasks of a job are due after the same
 * time, so the list is in order of reports and its first is due first. Each heartbeat costs
 * O(1). */
#ifndef GANG__SCHED_HEARTBEAT_H
#define GANG__SCHED_HEARTBEAT_H

#include "sched/record/sched_state.h"

/* A task has reported now. False: out of memory, the task is not watched. */
bool gang__heartbeat_heard(gang_sched *s, struct gang__job *job, uint32_t gang, int64_t task);
bool gang__heartbeat_known(const struct gang__job *job, uint32_t gang, int64_t task);
/* Stops watching a task, or all tasks of a gang. */
void gang__heartbeat_forget(gang_sched *s, struct gang__job *job, uint32_t gang, int64_t task);
void gang__heartbeat_forget_gang(gang_sched *s, struct gang__job *job, uint32_t gang);
/* The time when the next task is late; INT64_MAX: never. */
int64_t gang__heartbeat_next(const struct gang__job *job);
/* The late tasks of one gang, ascending; at most `cap` of them. 0: no task is late. */
size_t gang__heartbeat_late(const gang_sched *s, const struct gang__job *job, uint32_t *gang,
                            int64_t *tasks, size_t cap);
/* Copies the heartbeats to a copy of the job. False: out of memory. */
bool gang__heartbeat_copy(gang_sched *s, struct gang__job *to, const struct gang__job *from);
void gang__heartbeat_free(gang_sched *s, struct gang__job *job);

#endif
