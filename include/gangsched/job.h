/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job.h
 * @brief Descriptions of jobs, by value: request, queue, order, and what happens on failures.
 *
 * A *job* is a request (model.h: groups of tasks, minima, constraints) with a queue, a user, a
 * priority, and rules for failures, times and dependencies. gang_job_submit() (sched.h) submits it.
 * A job has one *gang*: the tasks that start together. With group_after it has several, which start
 * one after another.
 *
 * Each task has a number and a group that stay the same for the life of the job (gang_task.task,
 * gang_task.group). Numbers are given to groups in order, `count` to each: group 0 has the numbers
 * 0..count-1, group 1 the following ones, and so on, also with group_after. A task that starts gets
 * the lowest number of its group that is not in use. The number of a task that was lost, stopped or
 * moved is used again. The number of a task that succeeded, or failed for good, is used again only
 * when the whole gang starts again. A suspended task resumes with its number, devices and cores.
 */
#ifndef GANGSCHED_JOB_H
#define GANGSCHED_JOB_H

#include <gangsched/base.h>
#include <gangsched/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Id of a job; never reused while the scheduler lives. */
typedef uint64_t gang_job_id;

enum { GANG_PLACE_PROMISED = -1, GANG_PLACE_RESUMES = -2 }; /**< gang_running_spec.what */

/** The place of one task of a running job (gang_job_spec.running). The library chooses what is 0 or
 *  NULL. */
struct gang_running_spec {
    const char *node; /**< name of the node; NULL: the task does not run */
    /** Devices of the task. In a submitted job: their numbers on the node, in decimal. In a
     *  scenario: any labels; equal labels on a node mean the same device. None: the library chooses
     *  the devices. */
    const char *const *devices;
    size_t device_count;
    /** 1: the number of the task is `task` (gang_task.task); then this is 1 for all running tasks
     *  of the job. 0: the tasks are numbered in the order of the list */
    int32_t numbered;
    /** GANG_TASK_STARTED (0): the task runs. GANG_TASK_STOPPED: it runs and was asked to stop by
     *  gang_job_past.deadline_ns. GANG_TASK_SUCCEEDED, _FAILED: it has ended in this way, holds
     *  nothing and does not start again; `node` is NULL. GANG_PLACE_PROMISED: it does not run yet;
     *  the place is kept for it until its victims have stopped (gang_job_promised_each()).
     *  GANG_PLACE_RESUMES: it is suspended, or is being suspended, and resumes at this place
     *  (gang_job_suspended_each()); the place is not allocated. As long as it still runs, it is
     *  listed a second time with GANG_TASK_STARTED */
    int32_t what;
    int64_t task;
    /** named cores of the task: GANG_MAX_CORES / 64 words, bit i: core i of the node. NULL: the
     *  library chooses */
    const uint64_t *cores;
    /** 1: the task is one of group `group`. 0: the list has `count` places for group 0, then those
     *  for group 1, and so on */
    int32_t grouped;
    int32_t group; /**< index in gang_request_spec.groups */
};

/** Why tasks are listed in a gang_job_stop (gang_job_stop.what). */
enum {
    GANG_STOP_ASKED = 0, /**< op shrink, preempt or suspend asked the host to stop them */
    /** op kill was called, and the host has not reported yet that they stopped */
    GANG_STOP_KILLED = 1,
    GANG_STOP_FENCED = 2, /**< they are lost and may still run (gang_host_ops.lost) */
    /** They have stopped, and start again at the places that are kept for them (GANG_REASON_MOVE,
     *  gang_job_promised_each()) as soon as all other gangs that were moved by the same decision
     *  have stopped. */
    GANG_STOP_MOVED = 3,
    /** Time slicing: their time slice has ended, and they have not suspended yet. The members from
     *  `end` to `preemptor` are 0. */
    GANG_STOP_SLICE = 4,
    GANG_STOP_STOPPED = 5, /**< they have stopped, and `kept` is kept for the preemptor */
    /** like SLICE, but op kill was called, and the host has not reported yet that they stopped */
    GANG_STOP_SLICE_KILLED = 6
};

/** State of a gang in time slicing (gang_job_past.slice_state). */
enum {
    GANG_SLICE_WAITS = 0,      /**< before its first time slice: op start was not called yet */
    GANG_SLICE_RUNS = 1,       /**< it runs */
    GANG_SLICE_SUSPENDING = 2, /**< op suspend was called (GANG_STOP_SLICE*) */
    GANG_SLICE_SUSPENDED = 3   /**< it is suspended */
};

/** Flags of gang_job_past.slice_flags. */
enum {
    /** of the matrix: all gangs of the active row run, or were refused: its time slice has begun */
    GANG_SLICE_STARTED = 1,
    GANG_SLICE_GPUS = 2,    /**< of the matrix: GPUs are shared in time (quantum_gpus) */
    GANG_SLICE_REFUSED = 4, /**< the host refused to resume the gang in this time slice */
    /** other tasks stopped for the gang: it is not preempted before its first time slice */
    GANG_SLICE_PROTECTED = 8,
    /** the whole gang stops, or is fenced, for good; its places are taken until it has stopped */
    GANG_SLICE_LEAVES = 16
};

/** Tasks of a job that the host was asked to stop by one call of an op, or that were lost
 *  together. */
struct gang_job_stop {
    size_t size;    /**< sizeof(struct gang_job_stop) */
    int32_t what;   /**< GANG_STOP_* */
    int32_t reason; /**< GANG_REASON_*, as in the event of the op; so are `end` and `preemptor` */
    int32_t end;    /**< GANG_END_* */
    /** 1: the whole gang stops: all its tasks that are in no other stop */
    int32_t whole;
    /** > 0: the resources of these tasks are kept for the preemptor. Stops for the same preemptor
     *  have the same number, in all jobs; a lower number means that the preemption was decided
     *  earlier. Compare only numbers that were read between the same two runs. 0: the resources are
     *  released when the tasks have stopped */
    int32_t handover;
    int32_t starts_as;     /**< with `handover`: GANG_REASON_* of the start of the preemptor */
    gang_job_id preemptor; /**< GANG_ID_NONE: none */
    int64_t deadline_ns;   /**< end of the grace period or of the fence; INT64_MAX: none */
    /** when the library next acts: calls the op again, calls op kill, or gives up waiting for the
     *  report; INT64_MAX: it waits for the report without a bound */
    int64_t next_ns;
    const int64_t *tasks; /**< numbers of the tasks that have not stopped yet, ascending */
    size_t task_count;
    /** places of the tasks that have stopped: they are kept until the other tasks have stopped, and
     *  with `handover` until the preemptor gets them. They are not in gang_job_spec.places. `node`
     *  is that of the cluster to which this is given */
    const struct gang_placement *kept;
    size_t kept_count;
    /** 1: STOPPED, and the gang has left its allocation; it may run elsewhere, or wait */
    int32_t apart;
    int32_t
        unasked; /**< 1: MOVED or STOPPED, and the host had not heard of them: it was not asked */
    /** with `handover`: places to which the tasks were to move. The move was given up, but what is
     *  free there is still kept */
    const struct gang_placement *targets;
    size_t target_count;
};

#define GANG_JOB_STOP_INIT                                                                       \
    {                                                                                            \
        sizeof(struct gang_job_stop), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, 0, 0, NULL, 0 \
    }

/**
 * The former life of a job, for a host that restarts: gang_job_get_past() reads it, and
 * gang_job_spec.past gives it to a new scheduler, so that the job continues. The host keeps, for
 * each job,
 *   - its specification, this, and the nodes where it failed (gang_job_failed_node_each());
 *   - the places of its tasks (gang_alloc_each(), gang_job_promised_each(),
 *     gang_job_suspended_each()), which of its tasks have ended, and which are stopping or fenced
 *     (gang_job_stop_each());
 * and submits all of that in the order of ids, before the first run. It also keeps what queues and
 * users used (gang_past_usage_each()) and gives it back, and sets the states of nodes.
 *
 * From then on the scheduler decides as if it had never stopped, with these exceptions:
 *   - It tries the jobs again, and computes multifactor priorities at once. Op start may be called
 *     in another order for jobs that start in one run, and op lost again for tasks that stop on a
 *     node that is down.
 *   - These start from zero: service before the last start, cooldowns, the bounds of bypassing,
 *     heartbeats, and the shapes of tasks that GANG_POLICY_FGD and _HEADROOM learned.
 *   - If op start was not yet called for a gang that then moves, its start has the reason
 *     GANG_REASON_MOVE.
 *   - If a victim's job has ended since, or the victim shared nodes in time, what it left for the
 *     preemptor is free at once, except at the places of the preemptor. Such a gang that has
 *     stopped to move (GANG_STOP_MOVED) waits to start if it shared nodes in time, or if others
 *     have its old places.
 *   - A running job without any running task is in the first of its partitions
 *     (gang_job_spec.partitions). A job whose groups wait for each other cannot be running.
 *   - A gang that shares nodes in time ends (GANG_END_REFUSED) if its queue does not slice any
 *     more, if jobs of one matrix contradict each other, or if its place is taken in its row;
 *     gang_event.text of op state says which.
 */
struct gang_job_past {
    size_t size; /**< sizeof(struct gang_job_past) */
    /** GANG_JOB_PENDING, _RUNNING, _STOPPING or _SUSPENDED (sched.h). RUNNING and STOPPING:
     *  gang_job_spec.running is 1, and the job's `places` are allocated to it. SUSPENDED:
     *  gang_job_spec.running is 1, and `places` are those at which it resumes; they are not
     *  allocated. */
    int32_t state;
    /** If the job or some of its tasks are stopping: GANG_REASON_*; */
    int32_t reason;
    /** GANG_END_*: how the job ends when these tasks have stopped; GANG_END_NONE: it runs on or
     *  waits again; */
    int32_t end;
    int32_t reserved0;     /**< 0 */
    int64_t deadline_ns;   /**< when op kill is called; */
    gang_job_id preemptor; /**< the job for which they stop; GANG_ID_NONE: none */
    int64_t submitted_ns;  /**< this and the next five members: as in gang_job_info */
    int64_t started_ns;
    int64_t suspended_ns;
    int64_t restarts;
    int64_t preemptions;
    /** time granted beyond its time limit since its last start (gang_queue_spec.overrun) */
    int64_t extended_ns;
    /** how many times start_within_ns has passed since its last start; back_off_ns doubles each
     *  time */
    int64_t attempts;
    int64_t not_before_ns; /**< end of its back-off; 0: it is not in back-off */
    /** time since which it could start but for capacity (for start_within_ns); -1: it cannot, or it
     *  runs */
    int64_t ready_ns;
    int64_t target; /**< gang_job_set_target(); -1: `count` */
    /** time since which it has had fewer tasks than its minimum; 0: it has not */
    int64_t below_min_ns;
    /** time by which its lost tasks must be placed again (GANG_LOSS_REFILL); INT64_MAX: no bound;
     *  0: there are none */
    int64_t refill_ns;
    /** names of nodes where it failed, which restarts avoid (gang_job_failed_node_each()); names
     *  that are not in the cluster are ignored. gang_job_get_past() sets this to NULL */
    const char *const *failed_nodes;
    size_t failed_node_count;
    /** Of a gang that shares nodes in time (gang_queue_spec.quantum_ns): its row, from 1. 0: it
     *  does not, and the following are 0. If it is suspended between two quanta, `state` is
     *  SUSPENDED, and `places` are taken all the same. */
    int32_t slice_row;
    int32_t slice_state;  /**< GANG_SLICE_* */
    int32_t slice_flags;  /**< GANG_SLICE_STARTED, _GPUS, _REFUSED, _PROTECTED, _LEAVES, or 0 */
    int32_t slice_active; /**< the active row of its matrix, from 1 */
    int64_t slice_order;  /**< ascends in the order in which the gangs came to the matrix; from 1 */
    int64_t slice_end_ns; /**< end of the quantum; INT64_MAX: it is not counted */
};

#define GANG_JOB_PAST_INIT                                                                    \
    {                                                                                         \
        sizeof(struct gang_job_past), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0, \
            NULL, 0, 0, 0, 0, 0, 0, 0                                                         \
    }

/** Whether a job may be preempted (gang_job_spec.preemptible). */
enum {
    /** it is never preempted, and starts only within the guarantees of its queue and of all queues
     *  above (unless gang_queue_spec.nonpreemptible allows more) */
    GANG_NOT_PREEMPTIBLE = 0,
    GANG_PREEMPTIBLE = 1,
    /** only its tasks above the minimum may be preempted; its minimum is like a job that is not
     *  preemptible */
    GANG_SEMI_PREEMPTIBLE = 2
};

/** What a dependent job or group waits for. */
enum {
    GANG_AFTER_START = 0, /**< the other one has started */
    GANG_AFTER_END = 1,   /**< the other one has ended in any way */
    /** the other one has succeeded; if it ends otherwise, the dependent job is cancelled */
    GANG_AFTER_SUCCESS = 2
};

/** A job on which this job depends. A job that the scheduler no longer knows counts as
 *  succeeded. */
struct gang_job_after {
    gang_job_id job;
    int32_t when; /**< GANG_AFTER_* */
    int32_t reserved0;
};

/** A dependency between groups of the job: "training after data preparation". Groups that wait for
 *  the same groups form one gang, which starts separately. So all groups of a group set must wait
 *  for the same groups; and all groups of the job, if the request has `same` or a `min` above the
 *  sum of the groups' minima. */
struct gang_group_after {
    int32_t group; /**< index of the group that waits */
    int32_t after; /**< index of the group for which it waits */
    int32_t when;  /**< GANG_AFTER_*, for all tasks of that group */
    int32_t reserved0;
};

/** Roles of groups: how the end of a group's tasks decides the result of the job (TonY's task
 *  types). */
enum {
    /** in a job without chiefs: it succeeds when all tasks of MEMBER and CRITICAL groups have ended
     *  and not all of them have failed; if all have, it fails */
    GANG_ROLE_MEMBER = 0,
    /** the job succeeds when all these tasks have succeeded; if one fails, it fails at once */
    GANG_ROLE_CHIEF = 1,
    /** like MEMBER, but if one of these tasks fails, the job fails at once */
    GANG_ROLE_CRITICAL = 2,
    /** the job does not wait for these tasks to end; if one fails, the job fails (parameter
     *  servers) */
    GANG_ROLE_UNTRACKED = 3,
    /** neither the end nor the failure of these tasks matters (TensorBoard) */
    GANG_ROLE_SIDECAR = 4
};

/** What happens when tasks of a running job are *lost*: reported failed, without heartbeats, or on
 *  a node that is down or removed. Applies to tasks of groups with GANG_ROLE_MEMBER. If a task of a
 *  CHIEF, CRITICAL or UNTRACKED group is lost, the job fails; the loss of a SIDECAR task changes
 *  nothing. A task that is reported failed while its gang is being suspended is lost, too; it is
 *  placed again after the gang has resumed. */
enum {
    GANG_LOSS_COUNT = 0, /**< the other tasks continue; the role decides when all have ended */
    GANG_LOSS_FAIL = 1,  /**< the job fails */
    /** All tasks of the gang stop, and the gang starts again, at most max_restarts times, after
     *  restart_delay_ns, which doubles each time. Nodes where it failed are avoided. */
    GANG_LOSS_RESTART = 2,
    /** the lost tasks are placed again; if that does not succeed within refill_ns, as FAIL */
    GANG_LOSS_REFILL = 3,
    /** the job continues with fewer tasks; if these are fewer than its minimum, as RESTART */
    GANG_LOSS_SHRINK = 4
};

/** A job, by value. The call to which it is passed reads all pointers and does not keep them. */
struct gang_job_spec {
    size_t size;      /**< sizeof(struct gang_job_spec) */
    const char *name; /**< any text, need not be unique; NULL: "" */
    /** name of a leaf; NULL or "": gang_sched_opts.rules and default_queue decide */
    const char *queue;
    int64_t priority; /**< higher first */
    int64_t submit; /**< age, as a position: 0 is the oldest; -1: younger than all existing jobs */
    int32_t preemptible; /**< GANG_PREEMPTIBLE, GANG_NOT_PREEMPTIBLE or GANG_SEMI_PREEMPTIBLE */
    int32_t running; /**< 1: it already runs, at `places` (for a host that restores its state) */
    /** with `running`, 1: it has had fewer tasks than its minimum for longer than
     *  gang_queue_spec.stale_ns */
    int32_t stale;
    /** 1: it never preempts other jobs. Jobs with the same request behind it in order may preempt,
     *  and then start before it. */
    int32_t never_preempts;
    struct gang_request_spec request;
    const struct gang_running_spec *places; /**< with `running`: one for each task */
    size_t place_count;
    /** one for each group, 1: its tasks are never preempted; NULL: none */
    const int32_t *protected_groups;
    /** one number for each group: when tasks are preempted, groups with larger numbers lose theirs
     *  later; NULL: all equal */
    const int64_t *group_order;
    const char *user;               /**< NULL: "" */
    const char *const *user_groups; /**< groups of the user, for access lists and rules */
    size_t user_group_count;
    /** how long it may run from its start; then it is stopped (gang_queue_spec.overrun). 0: default
     *  of the queue */
    int64_t time_limit_ns;
    int32_t hold;         /**< 1: it does not start before gang_job_release() */
    int32_t loss;         /**< GANG_LOSS_* */
    int64_t max_restarts; /**< for GANG_LOSS_RESTART: maximum number of restarts */
    /** delay of the first restart, which doubles for each further one; 0: none */
    int64_t restart_delay_ns;
    /** For GANG_LOSS_REFILL; 0: no bound. gang_queue_spec.stale_ns applies, too. */
    int64_t refill_ns;
    /** If the job does not start within this time after it could start (it is submitted and
     *  released, and its dependencies are met), it ends with GANG_END_UNSTARTED. With back_off_ns >
     *  0 it instead is not tried for back_off_ns, which doubles each time, and then has
     *  start_within_ns again. 0: no bound. See also `announced`. */
    int64_t start_within_ns;
    int64_t back_off_ns;
    /** A task that was reported GANG_TASK_STARTED is lost if no heartbeat comes for this time
     *  (gang_host_ops.lost). 0: no heartbeats. */
    int64_t heartbeat_ns;
    size_t after_size;                  /**< sizeof(struct gang_job_after) */
    const struct gang_job_after *after; /**< dependencies on other jobs; all must be met */
    size_t after_count;
    size_t group_after_size; /**< sizeof(struct gang_group_after) */
    /** dependencies between groups of this job; all must be met */
    const struct gang_group_after *group_after;
    size_t group_after_count;
    const int32_t *roles; /**< GANG_ROLE_*, one for each group; NULL: all GANG_ROLE_MEMBER */
    uint64_t cookie;      /**< a value of the host, which callbacks and gang_job_get() return */
    /** It does not start before this time on the clock of gang_sched_run() (Slurm: begin time); 0:
     *  any time. */
    int64_t begin_ns;
    /** It must have ended by this time on the clock of gang_sched_run(); 0: no deadline. At the
     *  deadline a running job is stopped, like at its time limit. A waiting job ends with
     *  GANG_END_DEADLINE as soon as it can no longer run for its whole time limit, also after a
     *  preemption. */
    int64_t deadline_ns;
    /** Name of a reservation (plan.h): the job starts only inside it. It must be allowed as a
     *  member. After the last instance of the reservation has ended, the job waits like any other.
     *  NULL or "": none. */
    const char *reservation;
    /** How long, from its submission, the job insists on the domains that its request, group sets,
     *  groups and subgroups `prefer`. During this time each `prefer` is treated like `same` for the
     *  tasks that start together, and no job is preempted or moved for it. Groups of different
     *  shapes in one preferred domain are then placed greedily only. After this time, also after a
     *  restart, `prefer` is an ordinary preference. Tasks that are added to a running gang may be
     *  placed elsewhere at any time. 0, or no `prefer`: the job does not insist. (Slurm:
     *  --switches=1@TIME, for a level of switches) */
    int64_t prefer_wait_ns;
    /** Name of the job's *array*, 1..GANG_MAX_NAME bytes; NULL or "": none. The jobs of one queue
     *  with the same array name form an array. */
    const char *array;
    /** With `array`: the job starts only if fewer than this number of jobs of its array run (Slurm:
     *  --array=0-99%n). The bound of each job applies to its own start. A job counts from its start
     *  until it has stopped, and while victims stop for it. 0: no bound, and the job does not count
     *  for the others. When a job is preempted, any other job of the array may start in its
     *  place. */
    int64_t array_max_running;
    /** 1: the job is *announced* before all its tasks exist: `count` of each group is the number of
     *  tasks that are expected, and the host reports with gang_job_add_tasks() how many have come
     *  (Volcano, Kubernetes: a PodGroup and its pods). Until the job is *complete* it is not tried
     *  (GANG_WAIT_ANNOUNCED), does not count as demand, and holds back no other job; its age counts
     *  from its submission. It becomes complete, and then like any job,
     *    - when all expected tasks have come;
     *    - when the host calls gang_job_complete(): with the tasks that have come;
     *    - when start_within_ns has passed since only tasks were missing: with the tasks that have
     *      come, if they suffice. If they do not, it ends (GANG_END_UNSTARTED), or is not tried for
     *      back_off_ns. A complete job has its whole start_within_ns again.
     *  The tasks that have come suffice if each group has at least one and all minima are met. If
     *  they are fewer than announced, the job is then treated as if it had been submitted with the
     *  numbers that have come (in whole subgroups) as `count`. Its tasks are numbered by these
     *  counts; with group_after by the announced counts. Not with `running`. */
    int32_t announced;
    /** 1: whenever the job starts, it starts with all tasks that it gets in this run: op start is
     *  called at the end of the run, when the allocation has them all. For programs that read their
     *  number of tasks once (PyTorch: WORLD_SIZE). 0: op start is called for the minimum, and op
     *  grow at the end of the run for further tasks. The job gets the same tasks in both cases.
     *  Tasks of later runs come by op grow. In time slicing (gang_queue_spec.quantum_ns) a job
     *  starts with its minimum. */
    int32_t start_full;
    /** Names of partitions in order of preference, each once. Each gang of the job runs in one of
     *  them: groups of the gang that name no partition (gang_group_spec.partition) are treated as
     *  if they named it. None: gang_queue_spec.partitions; if that is empty too, only
     *  gang_group_spec.partition counts. Not with prefer_wait_ns.
     *    - Whenever the gang is tried, the partitions are tried in order. The gang starts in the
     *      first one in which limits allow it and it fits. Quotas for this partition
     *      (gang_quota.partition) then apply to it. (Kueue: the flavors of a ClusterQueue)
     *    - If it fits in none, gangs are preempted or moved for it in the first partition in which
     *      the rules allow this. gang_queue_spec.partition_borrow and partition_preempt change this
     *      order. A planned start is always in the first partition.
     *    - From its start until it waits to start again, the gang stays in its partition: it also
     *      grows, moves and resumes there, and its usage counts there.
     *    - While it waits, its demand counts in each of its partitions. Its demand is left out only
     *      if limits or guarantees exclude it in all of them. The order of queues compares what it
     *      would use in each.
     *    - A job that already runs (`running`) is in the first partition that contains its places.
     *  A job that can run in none of them is refused (GANG_ENEVER). */
    const char *const *partitions;
    size_t partition_count; /**< <= GANG_MAX_JOB_PARTITIONS */
    /** Maximum number of tasks of each gang that run at the same time, but at least the gang's
     *  minimum; 0: no bound. When a task has ended, the next one may start, until `count` tasks
     *  have ended: a search of 10 trials, 3 at a time, has count 10, min 1 and parallelism 3.
     *  (Kubernetes Job: `count` is completions.) gang_job_set_target() bounds the number of tasks
     *  that run or have ended. With start_full the job starts with at most this number of tasks. */
    int64_t parallelism;
    /** sizeof(struct gang_running_spec), the distance from one element of `places` to the next */
    size_t place_size;
    /** Id of the job: larger than all ids given before, at most GANG_MAX_JOB_ID; for
     *  gang_job_submit_array() the first id. GANG_ID_NONE: the library chooses the next id. */
    gang_job_id id;
    /** For a host that restores its state: the former life of the job (gang_job_get_past()); NULL:
     *  a new job. A restored job is accepted even if its queue is closed or has max_pending jobs,
     *  or if it could not fit at present. If some of its `places` are already in use, it ends with
     *  GANG_END_REFUSED. */
    const struct gang_job_past *past;
    /** sizeof(struct gang_job_stop), the distance from one element of `stops` to the next */
    size_t stop_size;
    /** With `past`: the tasks that are stopping or fenced, the oldest stop first
     *  (gang_job_stop_each()). All of them that have not stopped are in `places`. If there are
     *  none: the tasks whose gang_running_spec.what is GANG_TASK_STOPPED, or the whole gang, stop
     *  together, as `past` says. */
    const struct gang_job_stop *stops;
    size_t stop_count;
};

/** Largest job id that a host may choose. */
#define GANG_MAX_JOB_ID (UINT64_C(1) << 62)

#define GANG_JOB_SPEC_INIT                                                                         \
    {                                                                                              \
        sizeof(struct gang_job_spec), NULL, NULL, 0, -1, GANG_PREEMPTIBLE, 0, 0, 0,                \
            GANG_REQUEST_SPEC_INIT, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            sizeof(struct gang_job_after), NULL, 0, sizeof(struct gang_group_after), NULL, 0,      \
            NULL, 0, 0, 0, NULL, 0, NULL, 0, 0, 0, NULL, 0, 0, sizeof(struct gang_running_spec),   \
            0, NULL, sizeof(struct gang_job_stop), NULL, 0                                         \
    }

#ifdef __cplusplus
}
#endif
#endif
