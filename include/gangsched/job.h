/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job.h
 * @brief What is to run, by value: a job's request, queue, order, and what happens on failures.
 *
 * A *job* is a request (model.h: task groups, minima, constraints) with a queue, a user, a priority
 * and rules for its life. sched.h accepts it.
 *
 * A task has one number and one group for the life of its job (gang_task.task, gang_task.group).
 * Tasks are numbered through the groups in order, by `count`: group 0 owns the numbers 0..count-1,
 * group 1 the following ones, and so on, also with group_after. A task that starts gets the lowest
 * number of its group that no other task has: the number of a task that was lost, stopped or moved
 * comes again, that of a task that succeeded or failed for good does not, until the whole gang
 * starts again. A suspended task resumes with its number, devices and cores.
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

/** Where a task of a running job runs; what is 0 or NULL is chosen by the library. */
struct gang_running_spec {
    const char *node; /**< NULL: this task does not run */
    /** In a scenario: labels of devices; the same label on a node is the same device. In a
     *  submitted job: numbers of devices in decimal. None: the library chooses. */
    const char *const *devices;
    size_t device_count;
    /** 1: its number is `task` (gang_task.task), and each running task of the job has one. 0: they
     *  are numbered in their order */
    int32_t numbered;
    /** GANG_TASK_STARTED (0): it runs. GANG_TASK_STOPPED: it runs, and was asked to stop until
     *  gang_job_past.deadline_ns. GANG_TASK_SUCCEEDED, _FAILED: it has ended so, holds nothing, and
     *  does not come again; `node` is NULL. GANG_PLACE_PROMISED: it does not run yet, the place is
     *  kept for it until its victims have stopped (gang_job_promised_each()). GANG_PLACE_RESUMES:
     *  it is suspended, or about to be, and resumes there (gang_job_suspended_each()); the place
     *  is not taken. While it has not stopped it is listed with GANG_TASK_STARTED, too */
    int32_t what;
    int64_t task;
    /** GANG_MAX_CORES / 64 words, bit i: core i of the node; its own cores. NULL: chosen */
    const uint64_t *cores;
    /** 1: it is a task of the group `group`. 0: the groups follow each other in the list, each with
     *  `count` places */
    int32_t grouped;
    int32_t group; /**< index in gang_request_spec.groups */
};

/** What becomes of tasks that stop (gang_job_stop.what). */
enum {
    GANG_STOP_ASKED = 0,  /**< the host was asked, by op shrink, preempt or suspend */
    GANG_STOP_KILLED = 1, /**< op kill was called, and the host is to report that they stopped */
    GANG_STOP_FENCED = 2, /**< they are lost, and may still run (gang_host_ops.lost) */
    /** They have stopped, and start again on the places that are kept for them (GANG_REASON_MOVE,
     *  gang_job_promised_each()) as soon as all others of the same plan have. */
    GANG_STOP_MOVED = 3,
    /** time slicing: their quantum is over, and they have not suspended yet. The members from `end`
     *  to `preemptor` are 0, and `next_ns` is `deadline_ns` */
    GANG_STOP_SLICE = 4,
    GANG_STOP_STOPPED = 5 /**< they have stopped, and `kept` is kept for the preemptor */
};

/** A gang in a matrix of time slices (gang_job_past.slice_state). */
enum {
    GANG_SLICE_WAITS = 0,      /**< for its first quantum: the host has not heard of its start */
    GANG_SLICE_RUNS = 1,       /**< it runs */
    GANG_SLICE_SUSPENDING = 2, /**< it was asked to suspend (GANG_STOP_SLICE) */
    GANG_SLICE_SUSPENDED = 3   /**< it is suspended */
};

/** Flags of gang_job_past.slice_flags. */
enum {
    /** of the matrix: all gangs of the active row run, or were refused: its quantum is counted */
    GANG_SLICE_BEGUN = 1,
    GANG_SLICE_GPUS = 2,    /**< of the matrix: GPUs are shared in time (quantum_gpus) */
    GANG_SLICE_REFUSED = 4, /**< the host refused to resume the gang in this quantum */
    GANG_SLICE_TOOK = 8,    /**< others stopped for it: it is spared until its first quantum */
    /** the whole gang stops, or is fenced, for good; it blocks its place until it has stopped */
    GANG_SLICE_LEAVES = 16
};

/** Tasks of a job that the host was asked to stop in one step, or that were lost together. */
struct gang_job_stop {
    size_t size;    /**< sizeof(struct gang_job_stop) */
    int32_t what;   /**< GANG_STOP_* */
    int32_t reason; /**< GANG_REASON_*, as the op said, like `end` and `preemptor` */
    int32_t end;    /**< GANG_END_* */
    /** 1: the whole gang stops, with all tasks that no other stop names */
    int32_t whole;
    /** > 0: what they hold is kept for the preemptor. All that is kept for one job has the same
     *  number; the preemptors got what they wait for in the order of these numbers, which hold for
     *  all jobs at one time. 0: it is released when they have stopped */
    int32_t handover;
    int32_t starts_as;     /**< with `handover`: the GANG_REASON_* of the preemptor's start */
    gang_job_id preemptor; /**< GANG_ID_NONE: none */
    int64_t deadline_ns;   /**< end of their grace, or of the fence; INT64_MAX: none */
    /** when the host is asked again, or to kill them, or is no longer waited for; INT64_MAX: the
     *  host reports */
    int64_t next_ns;
    const int64_t *tasks; /**< numbers of those that have not stopped yet, ascending */
    size_t task_count;
    /** places of those that have stopped: they are kept until the others have, too, and with
     *  `handover` until the preemptor gets them. They are not in gang_job_spec.places. `node` is
     *  that of the cluster to which this is given */
    const struct gang_placement *kept;
    size_t kept_count;
    /** 1: STOPPED, and the gang has left its allocation; it may run elsewhere, or wait */
    int32_t apart;
    int32_t
        unasked; /**< 1: MOVED or STOPPED, and the host had not heard of them: it was not asked */
    /** with `handover`: places to which they were to move. The move was given up since, and what is
     *  free there is kept all the same */
    const struct gang_placement *targets;
    size_t target_count;
};

#define GANG_JOB_STOP_INIT                                                                       \
    {                                                                                            \
        sizeof(struct gang_job_stop), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, NULL, 0, 0, 0, NULL, 0 \
    }

/**
 * What a job has been through: gang_job_get_past() says it, and gang_job_spec.past gives it to a
 * new scheduler, so that the job goes on as it was. The host keeps, for each job,
 *   - its specification, this, and the nodes where it failed (gang_job_failed_node_each());
 *   - the places of its tasks (gang_alloc_each(), gang_job_promised_each(),
 *     gang_job_suspended_each()), which of its tasks have ended, and what stops of it or is fenced
 *     (gang_job_stop_each());
 * and submits all of that in the order of ids, before the first run. It also keeps what queues and
 * users used (gang_past_usage_each()) and gives it back, and sets the states of nodes.
 *
 * From then on the scheduler decides as one that lived, but for this:
 *   - It tries the jobs again, and computes multifactor priorities at once. The host may hear of
 *     jobs that start in one run in another order, and again by op lost of tasks that stop on a
 *     node that is down.
 *   - These start from zero: service before the last start, cooldowns, the bounds of bypassing,
 *     heartbeats, and the shapes of tasks that GANG_POLICY_FGD and _HEADROOM learned.
 *   - A gang that moves, and of whose start the host had not heard, starts as one that moved
 *     (GANG_REASON_MOVE).
 *   - What is kept for a preemptor of a job that has ended since is free at once, or of a gang that
 *     shared nodes in time.
 *   - A running job without any running task waits to start. A job whose groups wait for each other
 *     cannot be running. A gang that shares nodes in time ends (GANG_END_REFUSED) if its queue does
 *     not slice any more, if jobs of one matrix contradict each other, or if its place is taken in
 *     its row; the text names what.
 */
struct gang_job_past {
    size_t size; /**< sizeof(struct gang_job_past) */
    /** GANG_JOB_PENDING, _RUNNING, _STOPPING or _SUSPENDED (sched.h). RUNNING and STOPPING:
     *  gang_job_spec.running is 1, and `places` are taken. SUSPENDED: the same, and `places` are
     *  those on which it resumes; they are not taken. */
    int32_t state;
    /** STOPPING, and RUNNING with tasks that stop: why (GANG_REASON_*), */
    int32_t reason;
    /** how the job ends when all have stopped (GANG_END_*; GANG_END_NONE: it goes on, or waits
     *  again), */
    int32_t end;
    int32_t reserved0;     /**< 0 */
    int64_t deadline_ns;   /**< when op kill is called, */
    gang_job_id preemptor; /**< and for which job they stop; GANG_ID_NONE: for none */
    int64_t submitted_ns;  /**< as in gang_job_info, like the following five */
    int64_t started_ns;
    int64_t suspended_ns;
    int64_t restarts;
    int64_t preemptions;
    int64_t extended_ns; /**< by which it runs beyond its time limit, since its last start */
    /** times that start_within_ns passed since its last start: back_off_ns doubles with each */
    int64_t attempts;
    int64_t not_before_ns; /**< in back-off until this time; 0: it is not */
    int64_t ready_ns;      /**< since when it could have started; -1: it could not, or it runs */
    int64_t target;        /**< gang_job_set_target(); -1: `count` */
    int64_t below_min_ns;  /**< since when it runs below its minimum; 0: it does not */
    /** until when its lost tasks are to be placed again (GANG_LOSS_REFILL); INT64_MAX: without a
     *  bound; 0: there are none */
    int64_t refill_ns;
    /** nodes where it failed, which a restart avoids (gang_job_failed_node_each()); others than
     *  those of the cluster are skipped. gang_job_get_past() leaves them out */
    const char *const *failed_nodes;
    size_t failed_node_count;
    /** Of a gang that shares nodes in time (gang_queue_spec.quantum_ns): its row, from 1. 0: it
     *  does not, and the following are 0. If it is suspended between two quanta, `state` is
     *  SUSPENDED, and `places` are taken all the same. */
    int32_t slice_row;
    int32_t slice_state;  /**< GANG_SLICE_* */
    int32_t slice_flags;  /**< GANG_SLICE_BEGUN, _GPUS, _REFUSED, _TOOK, _LEAVES, or 0 */
    int32_t slice_active; /**< the active row of its matrix, from 1 */
    int64_t slice_order;  /**< ascends in the order in which the gangs came to the matrix; from 1 */
    int64_t slice_end_ns; /**< end of the quantum; INT64_MAX: it is not counted */
};

#define GANG_JOB_PAST_INIT                                                                    \
    {                                                                                         \
        sizeof(struct gang_job_past), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, 0, 0, \
            NULL, 0, 0, 0, 0, 0, 0, 0                                                         \
    }

/** May a job be preempted? (gang_job_spec.preemptible) */
enum {
    /** never preempted; starts only inside the guarantee of its queue and of all queues above
     *  (but see gang_queue_spec.nonpreemptible) */
    GANG_NOT_PREEMPTIBLE = 0,
    GANG_PREEMPTIBLE = 1,
    /** Only tasks above the minimum: the gang's minimum is never preempted, and starts only
     *  inside the guarantees (same). */
    GANG_SEMI_PREEMPTIBLE = 2
};

/** When a dependent job or group may start. */
enum {
    GANG_AFTER_START = 0, /**< it has started (its gang runs or ran) */
    GANG_AFTER_END = 1,   /**< it has ended in any way */
    /** it has succeeded; if it ends otherwise, the dependent job is cancelled */
    GANG_AFTER_SUCCESS = 2
};

/** A job that must come first. A job that the scheduler no longer knows counts as ended with
 *  success. */
struct gang_job_after {
    gang_job_id job;
    int32_t when; /**< GANG_AFTER_* */
    int32_t reserved0;
};

/** A group that must come first, in the same job: "training after data preparation". A group
 *  that waits is granted separately, as a gang of its own. So groups in one group set, groups
 *  joined by the job's `same`, or by a job minimum above the sum of the groups', must wait for
 *  the same groups. */
struct gang_group_after {
    int32_t group; /**< this group waits */
    int32_t after; /**< for this one: */
    int32_t when;  /**< GANG_AFTER_*, of all its tasks */
    int32_t reserved0;
};

/** How a group's tasks decide the result of the job (TonY's task types). */
enum {
    /** the job has succeeded when all members ended, and not all of them failed */
    GANG_ROLE_MEMBER = 0,
    GANG_ROLE_CHIEF = 1,    /**< the job ends when these tasks have ended, with their result */
    GANG_ROLE_CRITICAL = 2, /**< a member; if one fails, the job fails at once (stop on failure) */
    /** the job does not wait for their end (parameter servers); if one fails, the job fails */
    GANG_ROLE_UNTRACKED = 3,
    GANG_ROLE_SIDECAR = 4 /**< neither end nor failure matters (TensorBoard) */
};

/** What to do when tasks of a running job are lost: failed, without heartbeat, or on a node that
 *  is down or removed. Applies unless the role of the group decides. A task that is reported failed
 *  while its gang is being suspended is lost, too; "placed again" is then from its resume on. */
enum {
    GANG_LOSS_COUNT = 0, /**< nothing: the others continue; the group's role decides at the end */
    GANG_LOSS_FAIL = 1,  /**< the job fails */
    /** all tasks stop and the whole gang is placed again, at most max_restarts times, after a
     *  delay that doubles; nodes where it failed are avoided */
    GANG_LOSS_RESTART = 2,
    /** the lost tasks are placed again; if that fails for refill_ns, as FAIL */
    GANG_LOSS_REFILL = 3,
    /** the job continues with fewer tasks, not below its minimum; below it as RESTART */
    GANG_LOSS_SHRINK = 4
};

/** A job, by value. All pointers are
 *  borrowed for the duration of the call. */
struct gang_job_spec {
    size_t size;         /**< sizeof(struct gang_job_spec) */
    const char *name;    /**< need not be unique; NULL: "" */
    const char *queue;   /**< a leaf; NULL or "": by the rules of the scheduler */
    int64_t priority;    /**< higher first */
    int64_t submit;      /**< order of age, 0 is the oldest; -1: after all existing jobs */
    int32_t preemptible; /**< GANG_PREEMPTIBLE, or another value */
    int32_t running;     /**< 1: it already runs, see `places` (a host that restores its state) */
    int32_t stale;       /**< 1: it runs below its minimum, for longer than stale_ns */
    /** 1: it waits, and never preempts other jobs. Like jobs behind it may preempt before it. */
    int32_t never_preempts;
    struct gang_request_spec request;
    const struct gang_running_spec *places; /**< one a task; NULL: none */
    size_t place_count;
    const int32_t *protected_groups; /**< one a group: 1: never preempted */
    /** one a group: groups with larger numbers release tasks later */
    const int64_t *group_order;
    const char *user;               /**< NULL: "" */
    const char *const *user_groups; /**< of the user, for access lists and rules */
    size_t user_group_count;
    /** how long it may run; 0: the queue's default. It is stopped then (grace, kill) */
    int64_t time_limit_ns;
    int32_t hold;             /**< 1: waits for gang_job_release() */
    int32_t loss;             /**< GANG_LOSS_* */
    int64_t max_restarts;     /**< of GANG_LOSS_RESTART */
    int64_t restart_delay_ns; /**< first delay of a restart; doubles; 0: none */
    /** Of GANG_LOSS_REFILL; 0: no bound. The queue's stale_ns applies too. */
    int64_t refill_ns;
    /** If the job is not granted within this time after it could be (submitted, released,
     *  dependencies met), it fails; with back_off_ns > 0 it instead waits for back_off_ns, which
     *  doubles each time. 0: no bound. See also `announced`. */
    int64_t start_within_ns;
    int64_t back_off_ns;
    /** A started task is lost after this time without a heartbeat (gang_host_ops.lost); 0: no
     *  heartbeats. */
    int64_t heartbeat_ns;
    size_t after_size;                  /**< sizeof(struct gang_job_after) */
    const struct gang_job_after *after; /**< jobs; all must hold */
    size_t after_count;
    size_t group_after_size;                    /**< sizeof(struct gang_group_after) */
    const struct gang_group_after *group_after; /**< groups of this job; all must hold */
    size_t group_after_count;
    const int32_t *roles; /**< one a group: GANG_ROLE_*; NULL: all members */
    uint64_t cookie;      /**< the host's own value; callbacks and gang_job_get() return it */
    /** Not started before this time on the host's clock (Slurm's begin time); 0: any time. */
    int64_t begin_ns;
    /** It must have ended by this time on the host's clock; 0: no deadline. At that time it is
     *  stopped, as at its time limit. A job that does not run, and can no longer run for its
     *  whole time limit, ends (GANG_END_DEADLINE), also after a preemption. */
    int64_t deadline_ns;
    /** Name of a reservation (plan.h); the job starts only inside it. NULL or "": none. The job
     *  must be allowed in it. When the reservation has ended for good, the job waits like any
     *  other. */
    const char *reservation;
    /** How long, from its submission, it waits for a place in the domains that its request, group
     *  sets, groups and subgroups `prefer`, at most; 0: it takes any place at once. Until then each
     *  `prefer` binds like `same` what starts together, and nothing is preempted or moved for the
     *  job. Unlike groups in one preferred domain are placed greedily then. From then on, also
     *  after a restart, it starts as without this wait. Tasks that are added to a gang that runs
     *  may lie elsewhere at any time. Without `prefer` it has no effect. (Slurm: --switches=1@TIME,
     *  for a level of switches.) */
    int64_t prefer_wait_ns;
    /** Name of the *array* of the job, 1..GANG_MAX_NAME bytes; NULL or "": none. Jobs of one queue
     *  with the same name form an array. */
    const char *array;
    /** With `array`: the job starts only while fewer jobs of its array run (Slurm:
     *  --array=0-99%n); 0: no bound, and the job is not counted. Each job is asked for its own
     *  bound. A job counts from its start until it has stopped, and while victims stop for it. A
     *  preempted job leaves its place to the next one, which may be any job of the array. */
    int64_t array_max_running;
    /** 1: the job is *announced* before its tasks are there: `count` of each group says how many
     *  are to come, and gang_job_add_tasks() says which have come (Volcano, Kubernetes: a PodGroup
     *  and its pods). Until then it waits with its age (GANG_WAIT_ANNOUNCED): it is not tried, is
     *  no demand, and holds back no other job. It is *complete*, and then like any job,
     *    - when all its tasks have come;
     *    - when gang_job_complete() says that no more will come: with those that have come;
     *    - when start_within_ns has passed since it could be tried but for its tasks: with those
     *      that have come, if they suffice; otherwise it fails, or waits for back_off_ns. A
     *      complete job has its whole start_within_ns again.
     *  With fewer tasks than announced it is as if it had been submitted with the counts that have
     *  come, in whole subgroups, and the same minima: its tasks are numbered by these counts; with
     *  group_after by those announced. They suffice if they meet the minima, with at least one task
     *  of each group. Not with `running`.
     */
    int32_t announced;
    /** 1: each time that the job starts, its elastic tasks that fit arrive with it: op start comes
     *  when the run has no more tasks to give, and the allocation then has them all. For programs
     *  that learn their number of tasks once (PyTorch: WORLD_SIZE). 0: op start comes first, and
     *  op grow at the end of the run brings elastic tasks. Which tasks the job gets is the same.
     *  Tasks that fit later come by op grow. A job that shares nodes in time
     *  (gang_queue_spec.quantum_ns) starts with its minimum. */
    int32_t start_full;
    /** Partitions in order of preference, each once; none: those of its queue
     *  (gang_queue_spec.partitions), else the groups alone say where the job runs. Each gang of the
     *  job runs in one of them: its groups that name no partition themselves
     *  (gang_group_spec.partition) then name that one. Not with prefer_wait_ns.
     *    - Whenever the gang is tried, the partitions are tried in order. It starts in the first
     *      one in which limits allow it and it has a place. The amounts that count are those of
     *      that partition (gang_quota.partition). (Kueue: the flavors of a ClusterQueue.)
     *    - If it starts in none, gangs are preempted or moved for it in the first one in which the
     *      rules allow that. A planned start is in the first partition alone. The queue may say
     *      otherwise (gang_queue_spec.partition_borrow, partition_preempt).
     *    - From its start until it waits to start again it stays in its partition, also while it
     *      grows, moves or resumes, and its usage counts there.
     *    - While it waits, its demand counts in each of its partitions, and its queue is ordered by
     *      what it would take of each. Limits and guarantees hold back its demand only if they do
     *      in each of them.
     *    - A job that runs already (`running`) is in the first one that has its places.
     *  A job that can never run in any of them is refused (GANG_ENEVER). */
    const char *const *partitions;
    size_t partition_count; /**< at most GANG_MAX_JOB_PARTITIONS */
    /** Maximum of tasks of each gang that run at a time, but never fewer than its minimum; 0: no
     *  bound. A task that ended makes way for the next one, until `count` tasks have ended: a
     *  search of 10 trials, 3 at a time, has count 10, min 1 and parallelism 3. (Kubernetes Job:
     *  `count` is completions, this is parallelism.) gang_job_set_target() bounds the tasks that
     *  run or have ended. With start_full a start brings at most this many tasks. */
    int64_t parallelism;
    size_t place_size; /**< sizeof(struct gang_running_spec), the distance in `places` */
    /** Its id: above every id given before, at most GANG_MAX_JOB_ID; of an array, the first one.
     *  GANG_ID_NONE: the library gives the next one. */
    gang_job_id id;
    /** What it has been through, in a host that restores its state; NULL: nothing. The job is not
     *  checked again: it is accepted in a queue that is closed, beyond max_pending, and if it does
     *  not fit for now. Places that are taken already end it (GANG_END_REFUSED). */
    const struct gang_job_past *past;
    size_t stop_size; /**< sizeof(struct gang_job_stop), the distance in `stops` */
    /** With `past`: the tasks that stop, or are fenced, the oldest first (gang_job_stop_each()).
     *  All that have not stopped have `places`. None: those that gang_running_spec.what names, or
     *  the whole gang, stop in one step as `past` says. */
    const struct gang_job_stop *stops;
    size_t stop_count;
};

/** Largest id of a job that a host may choose. */
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
