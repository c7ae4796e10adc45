/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a job: where its gangs belong, reports about its tasks, time limits, its end.
 * README.md explains it. */
#ifndef GANG__SCHED_LIFECYCLE_H
#define GANG__SCHED_LIFECYCLE_H

#include "sched/record/state.h"

/* Register the job with each job that it waits for, to be woken by it. False: out of memory. */
bool gang__job_register_waiter(gang_sched *s, struct gang__job *job);

/* Decide for each gang of the job whether it may be tried; put it into its wait class, or out of
 * it. */
void gang__job_settle(gang_sched *s, struct gang__job *job);
/* The job ends (GANG_END_*): its allocations are given back, its state is reported with `text`. */
void gang__job_end(gang_sched *s, struct gang__job *job, int32_t end, const char *text);

/* Stop all gangs of the job. Then the job ends as `end` says (GANG_END_NONE: it waits again). */
void gang__job_stop(gang_sched *s, struct gang__job *job, int32_t reason, int32_t end);

/* Drain the noted jobs: settle them, set their timers, report their states to the host. The cycle
 * calls this after each step. Between runs this does nothing, because the host gets no reports
 * then; all jobs stay noted. */
void gang__jobs_drain_all(gang_sched *s);
static inline void gang__jobs_drain(gang_sched *s)
{
    if (s->wake.jobs)
        gang__jobs_drain_all(s);
}
void gang__job_wake_waiters(gang_sched *s,
                            struct gang__job *job); /* settles the jobs that wait for it */

/* Free the record. The job is in no table and no order. */
void gang__job_free(gang_sched *s, struct gang__job *job);

/* The first job that this one waits for, if any; for explanations. */
gang_job_id gang__job_waits_for(const gang_sched *s, const struct gang__job *job);

/* Of a job that a host restores: begin a fence again (gang__stop_new_kept()); its tasks, which run
 * otherwise, are lost. restored: the gang has all that it had; what it lost is placed again, and it
 * is below its minimum as long as it was. */
void gang__fence_restore(gang_sched *s, struct gang__stop *fence,
                         const struct gang__kept_stop *kept);
void gang__reports_restored(gang_sched *s, struct gang__gang *g);

/* A gang that holds its places but does not run releases them. It waits again, and does not start
 * before `not_before_ns`. */
void gang__start_undo(gang_sched *s, struct gang__gang *g, int64_t not_before_ns);
gang__set_compare gang__timer_order;

/* The gang, which waits, is tried in one of its partitions (gang__partition_try()), and is about to
 * start there, or victims to stop for it: it leaves its order, and keeps that partition. */
void gang__partition_keep(gang_sched *s, struct gang__gang *g);

/* The number of the first of the gang's partitions that has all these places; 0 if none has. */
uint32_t gang__partition_of_places(gang_sched *s, const struct gang__gang *g,
                                   const struct gang_placement *places, size_t count);

/* Tasks of a group that the gang lacks, and that may be placed now: one that was lost and is to
 * come back (GANG_LOSS_REFILL) is not placed again while it may still run. */
int64_t gang__lacks_now(const struct gang__gang *g, uint32_t group);

/* Is the gang to wait in an order, to start or to grow? */
bool gang__job_may_wait(gang_sched *s, struct gang__gang *g);
void gang__jobs_forget(gang_sched *s); /* frees jobs that ended in this run */

/* A report of the host about tasks of one gang. */
struct gang__task_report {
    uint32_t gang;       /* its index in the job */
    gang_alloc_id alloc; /* of the reported tasks; GANG_ID_NONE: the one that the gang holds */
    const int64_t *task; /* their numbers; NULL: all tasks of the gang */
    size_t count;
    int32_t what; /* GANG_TASK_* */
};

/* Apply what the host reported. False: out of memory, or another thread reads the allocation.
 * Then the caller repeats the report; doing its first steps twice is safe. */
bool gang__reports_tasks(gang_sched *s, struct gang__job *job,
                         const struct gang__task_report *report);
bool gang__reports_end(gang_sched *s, struct gang__job *job, bool success);
bool gang__reports_target(gang_sched *s, struct gang__job *job, int64_t target);

/* Announced jobs (announced.c): `count` more tasks of a group of the job came, or (negative) went;
 * or no more will come. False: out of memory; the caller repeats the call. */
bool gang__announced_add(gang_sched *s, struct gang__job *job, uint32_t group, int64_t count);
bool gang__announced_complete(gang_sched *s, struct gang__job *job);

/* The gang starts: heartbeats and losses of an earlier run are forgotten. */
void gang__reports_started(gang_sched *s, struct gang__gang *g);

/* The gang resumed on its old places. If its target is lower by now, the surplus tasks stop. */
void gang__reports_trim(gang_sched *s, struct gang__gang *g);

/* The gang is to start again as a whole: tasks that ended before do not count. */
void gang__reports_reset(gang_sched *s, struct gang__gang *g);

/* The host refused more tasks for a gang: those that it lost since they were granted may not be
 * made up for. */
void gang__reports_growth_refused(gang_sched *s, struct gang__gang *g);

/* A gang began to run, got tasks or lost some: note whether it is below its minimum. */
void gang__reports_note_minimum(gang_sched *s, struct gang__gang *g);

void gang__time_limit_begin(gang_sched *s, struct gang__job *job);   /* the job starts now */
void gang__time_limit_predict(gang_sched *s, struct gang__job *job); /* asks the host */
void gang__timer_set(gang_sched *s, struct gang__job *job);          /* to gang__timer_due() */
int64_t gang__timer_due(const gang_sched *s, const struct gang__job *job); /* earliest due time */
void gang__timer_clear(gang_sched *s, struct gang__job *job);
bool gang__timers_step(gang_sched *s); /* the first timer that is due; false: none, or no step */
int64_t gang__timers_next(const gang_sched *s);

/* ---- node_states.c --------------------------------------------------------------------------- */

/* Reports about a node: it is lost, up, or to be empty by a deadline (INT64_MAX: none). `stamp`:
 * what the host set since (gang__node_report_state()) stays. False: try again later. */
bool gang__nodes_lost(gang_sched *s, gang_node_id node, uint64_t stamp);
bool gang__nodes_up(gang_sched *s, gang_node_id node, uint64_t stamp);
bool gang__nodes_drain(gang_sched *s, gang_node_id node, uint64_t stamp, int64_t deadline_ns);

/* Compare the nodes with those that the last look saw. The tasks on nodes that went down or were
 * removed are lost. False: try again later. Two loads if no node changed. */
bool gang__nodes_look(gang_sched *s);
bool gang__nodes_step(gang_sched *s);          /* one drain that is due; false: none, or no step */
int64_t gang__nodes_next(const gang_sched *s); /* when a drain is due; INT64_MAX: never */
bool gang__nodes_copy(gang_sched *s, const gang_sched *from); /* false: out of memory */
void gang__nodes_free(gang_sched *s);

/* ---- report_places.c ------------------------------------------------------------------------- */

/* What really runs on a node (gang_report_places()). False: try again later; doing its first steps
 * twice is safe. */
bool gang__reports_places(gang_sched *s, gang_node_id node, const struct gang__real_place *place,
                          size_t count, uint32_t flags);

/* ---- budget_due.c ---------------------------------------------------------------------------- */

/* What becomes due of budgets: one renewal, or one that is used up. False: nothing is due. */
bool gang__budgets_step(gang_sched *s);
int64_t gang__budgets_next(const gang_sched *s); /* INT64_MAX: never */

/* ---- target.c ---- */

/* Divide a target among the gangs of a job that no queue counts yet. */
void gang__reports_divide_target(struct gang__job *job, int64_t target);

#endif
