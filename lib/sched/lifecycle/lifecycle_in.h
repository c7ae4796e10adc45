/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this folder. */
#ifndef GANG__SCHED_LIFECYCLE_IN_H
#define GANG__SCHED_LIFECYCLE_IN_H

#include "place/alloc/alloc.h"
#include "sched/lifecycle/lifecycle.h"

/* ---- dependencies.c -------------------------------------------------------------------------- */

/* May the gang start, after the jobs and groups that it waits for? 1: yes; 0: not yet; -1:
 * never. */
int gang__dependencies_check(const gang_sched *s, const struct gang__gang *g);
static inline int gang__dependencies(const gang_sched *s, const struct gang__gang *g)
{
    const struct gang__job *job = g->job;
    return job->options->after_count + job->options->group_after_count == 0
               ? 1
               : gang__dependencies_check(s, g);
}

/* ---- starve_due.c ---------------------------------------------------------------------------- */

/* When a gang of the job becomes starved by waiting; INT64_MAX: never. */
int64_t gang__starve_next(const struct gang__job *job);
/* Makes the waiting gangs of the job starved whose time has come. */
void gang__starve_due(gang_sched *s, struct gang__job *job);

/* ---- prefer_wait.c --------------------------------------------------------------------------- */

/* The gang is about to wait in an order: if it has waited for its preferred domains for long
 * enough, it asks for any place from now on. False: out of memory, to be tried again. */
bool gang__prefer_wait_end(gang_sched *s, struct gang__gang *g);

/* When that is, for a gang of the job that waits; INT64_MAX: never, or it has passed. */
int64_t gang__prefer_wait_next(const gang_sched *s, const struct gang__job *job);

/* ---- announced.c ----------------------------------------------------------------------------- */

/* Tasks of the job were missing for start_within_ns: it goes on with those that have come, or ends.
 * False: they do not suffice, and it is to back off. */
bool gang__announced_times_out(gang_sched *s, struct gang__job *job);
/* ---- partitions.c ---------------------------------------------------------------------------- */

/* The gang is about to wait in an order: to start, it may be tried in each of its partitions again.
 * False: out of memory, to be tried again. */
bool gang__partition_reset(gang_sched *s, struct gang__gang *g);

/* ---- reported_tasks.c ------------------------------------------------------------------------ */

/* A report about tasks of one gang. */
struct gang__report {
    struct gang__job *job;
    struct gang__gang *gang;
    struct gang__found running;
    struct gang__found stopping; /* they were asked to stop, and have not stopped yet */
    struct gang__found fenced;   /* they were lost before, and may still run */
};

/* The gang that a report is about. NULL: it holds nothing, or another allocation by now. */
struct gang__gang *gang__report_gang(struct gang__job *job, uint32_t index, gang_alloc_id alloc);

/* Look up the tasks of these numbers; NULL: all. False: try again later. The caller frees the
 * report in both cases. */
bool gang__report_look_up(gang_sched *s, struct gang__report *r, const int64_t *tasks,
                          size_t count);
void gang__report_free(gang_sched *s, struct gang__report *r);

/* Instead of a node: all nodes for which gang__nodes_is_lost() holds. */
#define GANG__LOST_NODES ((gang_node_id)UINT64_MAX)

/* Keep in `f` only the tasks on that node, or on GANG__LOST_NODES. */
void gang__report_keep_node(const gang_sched *s, struct gang__found *f, gang_node_id node);

/* The numbers of the tasks. The caller frees them with gang__release(). NULL: out of memory. */
int64_t *gang__report_numbers(gang_sched *s, const struct gang__found *f);

/* ---- task_release.c -------------------------------------------------------------------------- */

/* How a task counts from now on. */
enum gang__task_end {
    GANG__TASK_END_NONE, /* not: it never ended, and may be placed again */
    GANG__TASK_END_SUCCESS,
    GANG__TASK_END_FAILURE
};

/* The caller calls gang__usage_out() before, and gang__usage_in() after. `ran`: the task was in use
 * until now. */
static inline void gang__task_count(struct gang__gang *g, const struct gang__found_task *task,
                                    bool ran, enum gang__task_end end)
{
    uint32_t group = task->group;
    if (end != GANG__TASK_END_NONE)
        gang__ended_tasks_add(g, task->task);
    g->has[group] -= ran;
    g->tasks -= ran;
    g->done[group] += end != GANG__TASK_END_NONE;
    g->ended += end != GANG__TASK_END_NONE;
    g->failed[group] += end == GANG__TASK_END_FAILURE;
}

/* The same for tasks of a gang. The gang leaves its order, because its place depends on what it
 * has; gang__job_settle() puts it back. */
void gang__tasks_count(gang_sched *s, struct gang__gang *g, const struct gang__found *f, bool ran,
                       enum gang__task_end end);

/* Release what running tasks hold. False: try again later, nothing was released. */
bool gang__tasks_release(gang_sched *s, struct gang__gang *g, const struct gang__found *f);

/* The tasks hold nothing any more: forget their heartbeats, wake what waits for capacity. */
void gang__tasks_released(gang_sched *s, struct gang__gang *g, const struct gang__found *f);

/* Demand changed, and the limits may allow more now. */
void gang__demand_changed(gang_sched *s, struct gang__gang *g);

/* Tasks that were asked to stop have stopped. */
void gang__tasks_stopped(gang_sched *s, struct gang__gang *g, const struct gang__found *f);

/* ---- suspended_tasks.c ----------------------------------------------------------------------- */

/* These tasks of a gang that is being suspended do not resume. */
void gang__suspended_forget(gang_sched *s, struct gang__gang *g, const struct gang__found *f);

/* The books followed a task to other devices or cores. A gang that is being suspended resumes it
 * there. */
void gang__suspended_moved(gang_sched *s, struct gang__gang *g, int64_t task);

/* Stopping tasks of the report have failed. If their gang is being suspended, they are lost: their
 * roles decide, then the loss policy of the job. */
void gang__suspended_failed(gang_sched *s, struct gang__report *r);

/* ---- job_result.c ---------------------------------------------------------------------------- */

int32_t gang__role_of(const struct gang__gang *g, uint32_t group);

/* How the job ended; GANG_END_NONE: it has not. Failed chiefs, critical and untracked tasks have
 * ended the job before this is called. */
int32_t gang__job_result(const struct gang__job *job);

/* Gangs of the job that hold nothing and want nothing are over. True: so is the job; it ends. */
bool gang__gangs_close(gang_sched *s, struct gang__job *job);

/* Tasks ended: end the job if it is over; otherwise the rest runs on. */
void gang__reports_continue(gang_sched *s, struct gang__job *job);

/* Stop the whole job. For a gang that holds nothing, the host is not asked. */
void gang__reports_stop(gang_sched *s, struct gang__job *job, int32_t reason, int32_t end);

/* ---- minimum.c ------------------------------------------------------------------------------- */

/* Is a group, a set or the gang below its minimum? */
bool gang__below_minimum(const struct gang__gang *g);

/* Keep in `f` only the tasks that the gang can spare: all minima hold without them. */
void gang__keep_spare(struct gang__gang *g, struct gang__found *f);

/* ---- task_loss.c ----------------------------------------------------------------------------- */

/* Tasks failed: they are over. False: try again later. */
bool gang__reports_failed(gang_sched *s, struct gang__report *r);

/* Tasks are out of reach, `text` says why: the host is asked whether they may still run. False: try
 * again later; the host was not asked. */
bool gang__reports_lost(gang_sched *s, struct gang__report *r, const char *text);

/* Does a failure of a task with this role decide the end of its job? */
bool gang__role_is_decisive(int32_t role);

/* Lost members of the gang are to come back, within the time of its job from now on. */
void gang__reports_refill(gang_sched *s, struct gang__gang *g);

/* The job stops and starts again, after its delay and not on the nodes of the lost tasks; it fails
 * if it has started again too often. */
void gang__job_restart(gang_sched *s, struct gang__job *job, const struct gang__found *f);

/* All tasks of the job failed: does it start again? The roles of its groups decide first. */
bool gang__job_may_restart(const struct gang__job *job);

/* The tasks on a node, or on GANG__LOST_NODES, are lost. False:
 * try again later; doing its first steps twice is safe. */
bool gang__reports_nodes_lost(gang_sched *s, gang_node_id node);

/* ---- node_states.c --------------------------------------------------------------------------- */

/* Inside gang__nodes_look(): was the node there, and is it down or removed now? */
bool gang__nodes_is_lost(const gang_sched *s, gang_node_id node);

/* ---- reports_due.c --------------------------------------------------------------------------- */

/* Apply what is due; when the next is due. */
void gang__reports_due(gang_sched *s, struct gang__job *job);
int64_t gang__reports_next(const struct gang__job *job);

/* ---- time_limit.c ---------------------------------------------------------------------------- */

/* When the next limit of the job is due; apply the limits that are due. */
int64_t gang__time_limit_next(const gang_sched *s, const struct gang__job *job);
void gang__time_limit_due(gang_sched *s, struct gang__job *job);

#endif
