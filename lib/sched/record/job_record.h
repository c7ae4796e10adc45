/* SPDX-License-Identifier: Apache-2.0 */
/* Queries about jobs, gangs and queues that decide nothing, and the calls to the host that every
 * floor makes. */
#ifndef GANG__SCHED_RECORD_H
#define GANG__SCHED_RECORD_H

#include "place/report/report.h"
#include "sched/record/sched_state.h"

/* ---- host.c ---- */

/* A message for operators about no job: level 0: an error of the host; 1: for information. */
void gang__log(gang_sched *s, int32_t level, const char *fmt, ...) GANG__PRINTF(3, 4);

/* The same about a job (GANG_LOG_*, which says the level), or about an id that no job has. */
void gang__log_job(gang_sched *s, int32_t code, const struct gang__job *job, const char *fmt, ...)
    GANG__PRINTF(4, 5);
void gang__log_unknown(gang_sched *s, int32_t code, gang_job_id id, const char *fmt, ...)
    GANG__PRINTF(4, 5);

/* The members that every event about a gang has. */
struct gang_event gang__event_of(const gang_sched *s, const struct gang__gang *g, int32_t reason,
                                 const char *text);

/* ---- gang.c ---- */

/* For gang__alloc_each(): counts tasks in an array of int64_t, one number for each group. */
int32_t gang__count_task(const struct gang_task *task, void *by_group);

/* Set g->has and g->tasks from the gang's allocation. False: the allocation is gone. */
bool gang__gang_count(gang_sched *s, struct gang__gang *g);

/* The gang will not resume where it was suspended, but start as new. It lies in no order. */
void gang__places_forget(gang_sched *s, struct gang__gang *g);

/* Memory for g->ended_tasks; false: there is none. Note a number in it; it has the memory. Forget
 * all. Copy them to the same gang of a copy; false: out of memory. Free the memory. */
bool gang__ended_tasks_reserve(gang_sched *s, struct gang__gang *g);
void gang__ended_tasks_add(struct gang__gang *g, int64_t task);
bool gang__ended_tasks_has(const struct gang__gang *g, int64_t task);
void gang__ended_tasks_clear(struct gang__gang *g);
bool gang__ended_tasks_copy(gang_sched *s, struct gang__gang *to, const struct gang__gang *from);
void gang__ended_tasks_free(gang_sched *s, struct gang__gang *g);

/* How many words g->ended_tasks has. */
size_t gang__ended_tasks_words(const struct gang__gang *g);

/* Are the nodes of these places up? GANG_OK; GANG_ENOFIT: not now; GANG_ESTALE: one was removed. */
gang_result gang__places_up(gang_sched *s, const struct gang_placement *place, int64_t count);

/* The place of a task, by its number. */
struct gang_placement gang__place_of_task(const struct gang_task *task);

/* How many tasks of a group are granted together when the gang grows: one, a subgroup, or what the
 * group lacks of its minimum. */
int64_t gang__gang_step(const struct gang__gang *g, uint32_t group);

/* In a matrix of time slices, the gang of a job waits between two quanta, or for its first one. */
bool gang__slice_is_suspended(const struct gang__gang *g);

/* Has the host heard of its start? Not before its first quantum in a matrix, and not while the
 * start waits for the end of the run (untold.h). */
bool gang__slice_has_run(const struct gang__gang *g);

/* Does it run in its matrix, or stop there? */
static inline bool gang__sliced_runs(const struct gang__sliced *x)
{
    return x->state == GANG__SLICED_RUNS || x->state == GANG__SLICED_STOPS;
}

/* ---- queue_state.c ---- */

/* The queue of this id; NULL: there is none. */
struct gang__queue_state *gang__queue_state_of(const gang_sched *s, gang_queue_id id);

/* Is `q` the queue `top`, or below it? */
bool gang__queue_is_below(const struct gang__queue_state *q, const struct gang__queue_state *top);

/* ---- job.c ---- */

gang__set_compare gang__job_order; /* by id */

/* The job of this id; NULL: there is none, or its record was freed. */
struct gang__job *gang__job_of(const gang_sched *s, gang_job_id id);

/* How long the job has waited for quanta since it started. */
int64_t gang__job_paused(const gang_sched *s, const struct gang__job *job);

/* GANG_JOB_*, derived from the state of its gangs. */
int32_t gang__job_state_now(const struct gang__job *job);

/* Until when its gangs wait for their preferred domains; without such a wait it has passed. */
static inline int64_t gang__prefer_until(const struct gang__job *job)
{
    return gang__add_sat(job->submitted_ns, job->options->prefer_wait_ns);
}

/* Does the gang wait for a place in its preferred domains alone? */
static inline bool gang__gang_insists(const struct gang__gang *g)
{
    return g->later_class != NULL && g->alloc == GANG_ID_NONE;
}

/* How long the job is expected to run once it starts; INT64_MAX: no bound. */
int64_t gang__time_limit_run(const struct gang__job *job);

/* When the job is stopped, and when it is expected to end, if it started at `from_ns`; INT64_MAX:
 * never. A grace comes on top. */
int64_t gang__time_limit_end(const struct gang__job *job, int64_t from_ns);

int64_t gang__time_limit_expected(const struct gang__job *job, int64_t from_ns);

/* When the job would have started without the pauses between its quanta. */
int64_t gang__time_limit_from(const gang_sched *s, const struct gang__job *job);

#endif
