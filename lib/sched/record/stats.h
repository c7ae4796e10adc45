/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of what happened, in each queue and all above it. Counting cannot fail. */
#ifndef GANG__SCHED_STATS_H
#define GANG__SCHED_STATS_H

#include "sched/record/sched_state.h"

/* Add to a counter (GANG__STAT_*) of the whole scheduler; or of the queue and all above it. */
void gang__stats_add_all(gang_sched *s, uint32_t stat, int64_t n);
void gang__stats_add(struct gang__queue_state *q, uint32_t stat, int64_t n);

/* A gang of the job has started, and the host has accepted it. `first`: no gang of the job ever
 * ran. */
void gang__stats_started(gang_sched *s, const struct gang__gang *g, bool resumed, bool first);

/* A gang is asked to stop: `tasks` of its tasks, or (0) as a whole. */
void gang__stats_stopped(gang_sched *s, const struct gang__gang *g, int32_t reason, int64_t tasks);

/* A job ended. */
void gang__stats_ended(struct gang__queue_state *leaf, int32_t end);

/* The counters of a queue of a copy are those of the original. */
void gang__stats_copy(struct gang__queue_state *to, const struct gang__queue_state *from);

#endif
