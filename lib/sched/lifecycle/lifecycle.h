/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GANG__SCHED_LIFECYCLE_H
#define GANG__SCHED_LIFECYCLE_H

#include "sched/record/state.h"

/* It may wait for jobs that are there: they are to wake it. False: out of memory. */
bool gang__job_waiters(gang_sched *s, struct gang__job *job);

/* May its units be tried? Puts them where they belong: into their bins, or out of them. */
void gang__job_settle(gang_sched *s, struct gang__job *job);
void gang__job_end(gang_sched *s, struct gang__job *job, int32_t end, const char *text);

/* Stop everything of it, then it ends so (or, GANG_END_NONE, waits again). */
void gang__job_stop(gang_sched *s, struct gang__job *job, int32_t reason, int32_t end);

/* All jobs that were noted: put them where they belong, set their timers, tell the host.
 * Between runs nothing is done: the host hears of nothing then, and all stays noted. */
void gang__jobs_drain_all(gang_sched *s);
static inline void gang__jobs_drain(gang_sched *s)
{
    if (s->wake.jobs)
        gang__jobs_drain_all(s);
}
void gang__job_wake(gang_sched *s, struct gang__job *job); /* those who wait for it look again */

void gang__job_free(gang_sched *s, struct gang__job *job);
gang_job_id gang__job_waits_for(const gang_sched *s, const struct gang__job *job);

/* A gang that holds its places but does not run gives them back; it waits again, not before then. */
void gang__start_undo(gang_sched *s, struct gang__gang *u, int64_t not_before_ns);
gang__set_compare gang__timer_order;

/* Is it to wait for its turn? */
bool gang__job_waits(gang_sched *s, struct gang__gang *u);
void gang__jobs_forget(gang_sched *s); /* those that ended in this run */

/* What the host reported takes effect. False: not now, for want of memory or because another
 * thread reads the allocation; nothing that it cannot do again has happened, and the report is
 * to be given again. */
bool gang__reports_tasks(gang_sched *s, struct gang__job *job, uint32_t part, gang_alloc_id alloc,
                         const int64_t *tasks, size_t count, int32_t what);
bool gang__reports_end(gang_sched *s, struct gang__job *job, bool success);
bool gang__reports_node_lost(gang_sched *s, gang_node_id node);
bool gang__reports_target(gang_sched *s, struct gang__job *job, int64_t target);
void gang__reports_due(gang_sched *s, struct gang__job *job); /* heartbeats, stale, refill */
int64_t gang__reports_next(const gang_sched *s, const struct gang__job *job);
void gang__reports_started(gang_sched *s, struct gang__gang *u);

/* It has its old places again, perhaps more than it is to have by now: the rest is given back. */
void gang__reports_trim(gang_sched *s, struct gang__gang *u);

/* It waits to be started anew, whole: what ended before does not count. */
void gang__reports_again(gang_sched *s, struct gang__gang *u);
void gang__reports_free(gang_sched *s, struct gang__job *job);

/* A unit began to run, got tasks or lost some: is it below its minimum? */
void gang__reports_short(gang_sched *s, struct gang__gang *u);

/* When something of that is due; and what is due is done. */
int64_t gang__time_limit_next(const gang_sched *s, const struct gang__job *job);

void gang__time_limit_due(gang_sched *s, struct gang__job *job);
void gang__time_limit_begin(gang_sched *s, struct gang__job *job);   /* it runs from now on */
void gang__time_limit_predict(gang_sched *s, struct gang__job *job); /* the host is asked */
void gang__timer_set(gang_sched *s, struct gang__job *job); /* anew, from what it waits for */
int64_t gang__timer_due(const gang_sched *s, const struct gang__job *job); /* as it would be set */
void gang__timer_clear(gang_sched *s, struct gang__job *job);
void gang__timers_run(gang_sched *s);
int64_t gang__timers_next(const gang_sched *s);

#endif
