/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeats: which tasks of a job were heard of when. All of a job are due after the same time, so that
 * they lie in the order in which they were heard, and the first is due first: each beat costs O(1). */
#ifndef GANG__SCHED_BEAT_H
#define GANG__SCHED_BEAT_H

#include "sched/record/state.h"

/* A task was heard of now. False: out of memory, it is not watched. */
bool gang__heartbeat_heard(gang_sched *s, struct gang__job *job, uint32_t part, int64_t task);
bool gang__heartbeat_known(const struct gang__job *job, uint32_t part, int64_t task);
/* It is not watched any more; and all of a unit. */
void gang__heartbeat_forget(gang_sched *s, struct gang__job *job, uint32_t part, int64_t task);
void gang__heartbeat_forget_part(gang_sched *s, struct gang__job *job, uint32_t part);
/* When the next one is late; INT64_MAX: never. */
int64_t gang__heartbeat_next(const struct gang__job *job);
/* Tasks of one part that are late, ascending; at most `room` of them. 0: none is. */
size_t gang__heartbeat_late(const gang_sched *s, const struct gang__job *job, uint32_t *part,
                            int64_t *tasks, size_t room);
/* The same of a copy of the job. False: out of memory. */
bool gang__heartbeat_copy(gang_sched *s, struct gang__job *to, const struct gang__job *from);
void gang__heartbeat_free(gang_sched *s, struct gang__job *job);

#endif
