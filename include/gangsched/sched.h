/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sched.h
 * @brief The scheduler: jobs in queues, the scheduling cycle, preemption, and the host's callbacks.
 *
 * A *scheduler* manages jobs and queues on one cluster. The *host*, the program that uses the
 * library, submits jobs, reports what happens to their tasks, and calls gang_sched_run() at the
 * times that gang_sched_next() returns. The scheduler decides only inside gang_sched_run(). There
 * it calls the host's *ops* (struct gang_host_ops): start this gang, stop that one.
 *
 * Caveats first
 *   - Thread rules. *Any thread* may submit jobs, send commands and send reports. Such a call
 *     leaves a message, does not wait for a run, and takes effect in the next run. Functions whose
 *     comment says "Owner" are for the *owner*: one thread at a time, and no other thread while
 *     gang_sched_run() is under way. Other threads read jobs and queues in views, which the owner
 *     publishes (view.h).
 *   - The time is `now_ns`, which the host passes to gang_sched_run(). It must never go backwards.
 *   - The host may allocate on the same cluster without the scheduler (place.h); the scheduler then
 *     sees less free capacity. The host changes nodes with core.h; the next run sees the changes.
 *   - The library has no thread and no clock of its own. gang_run_opts.max_steps bounds the work of
 *     a run.
 *
 * Life of a job
 *   gang_job_submit() -> PENDING -> op start -> RUNNING -> ENDED (succeeded, failed, cancelled,
 *   preempted, timed out). Preemption: op preempt asks the job to stop -> STOPPING. When the host
 *   has reported that all tasks have stopped, or op kill was called after the grace period ->
 *   PENDING again (or SUSPENDED, or ENDED). Op state reports each change. The scheduler forgets a
 *   job at the end of the run in which it ended.
 *
 * Order of callbacks for one job
 *   start, { grow | shrink [kill] | preempt [kill] | suspend [kill], resume }*, and op state after
 *   each change.
 *
 * @code
 *   struct gang_host_ops ops = GANG_HOST_OPS_INIT;
 *   ops.start = my_start;                            // launch the processes of a job
 *   struct gang_sched_opts opts = GANG_SCHED_OPTS_INIT;
 *   gang_sched *s;
 *   if (gang_sched_new(cluster, &opts, &ops, me, &s, &error) == GANG_OK &&
 *       gang_sched_set_queues(s, queues, 3, &error) == GANG_OK &&
 *       gang_job_submit(s, &job, &id, &error) == GANG_OK)
 *       gang_sched_run(s, now_ns, NULL, NULL);       // calls my_start(), if the job fits
 * @endcode
 */
#ifndef GANGSCHED_SCHED_H
#define GANGSCHED_SCHED_H

#include <gangsched/base.h>
#include <gangsched/core.h>
#include <gangsched/job.h>
#include <gangsched/place.h>
#include <gangsched/plan.h>
#include <gangsched/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Queues, jobs, and the cycle. */
typedef struct gang_sched gang_sched;

/* ---- jobs as the host sees them ---------------------------------------------------------- */

/** States of a job. */
enum {
    GANG_JOB_PENDING = 0, /**< waits: for capacity, a dependency, a time or a command */
    GANG_JOB_RUNNING = 1, /**< at least one gang of it has an allocation */
    /** It was asked to stop and still has its allocation. Or lost tasks of it may still run
     *  (gang_host_ops.lost). Or it has stopped and starts again on other nodes as soon as all gangs
     *  that were stopped by the same decision have stopped (GANG_REASON_MOVE). */
    GANG_JOB_STOPPING = 2,
    /** Preempted: it holds nothing, and resumes on the same nodes, devices and cores. Or in time
     *  slicing (gang_job_info.slice_row is not 0): it waits for its first or next time slice and
     *  holds the resources that are not shared in time. */
    GANG_JOB_SUSPENDED = 3,
    GANG_JOB_ENDED = 4
};

/** How a job ended. */
enum {
    GANG_END_NONE = 0, /**< it has not ended */
    GANG_END_SUCCESS = 1,
    GANG_END_FAILED = 2,    /**< tasks failed or were lost */
    GANG_END_CANCELLED = 3, /**< gang_job_cancel(), or a job on which it depends did not succeed */
    GANG_END_PREEMPTED = 4, /**< it was preempted in a queue with GANG_PREEMPT_MODE_CANCEL */
    /** it ran until its time limit or deadline, or its budget was used up */
    GANG_END_TIMEOUT = 5,
    /** it did not start within start_within_ns; or it was announced and too few tasks came */
    GANG_END_UNSTARTED = 6,
    /** the run could not accept it; gang_event.text of op state says why */
    GANG_END_REFUSED = 7,
    GANG_END_DEADLINE = 8 /**< it waited and could no longer end by its deadline */
};

/** The state of a job, as gang_job_get() reads it. */
struct gang_job_info {
    size_t size; /**< sizeof(struct gang_job_info) */
    gang_job_id id;
    gang_queue_id queue;
    uint64_t cookie;
    /** allocation of its first gang; GANG_ID_NONE: none. Other gangs: gang_job_alloc() */
    gang_alloc_id alloc;
    int32_t state; /**< GANG_JOB_* */
    int32_t end;   /**< GANG_END_* */
    int32_t held;  /**< 1: it does not start before gang_job_release() */
    int32_t preemptible;
    int64_t priority;
    int64_t tasks;        /**< tasks that it has now */
    int64_t min;          /**< tasks that must run */
    int64_t count;        /**< maximum number of tasks; gang_job_set_target() changes it */
    int64_t submitted_ns; /**< now_ns of the run that accepted it */
    int64_t started_ns;   /**< now_ns of the run of its last start; 0: it never started */
    int64_t restarts;     /**< number of restarts after lost tasks */
    int64_t preemptions;  /**< how many times a whole gang of it was preempted */
    const char *name;     /**< valid until the next run or command of the owner */
    const char *user;     /**< valid until the next run or command of the owner */
    /** Planned start as things are now (gang_queue_spec.backfill); the job may start earlier. With
     *  several gangs the first one's. 0: none. */
    int64_t planned_ns;
    /** Time at which it is asked to stop at the latest: the end of its time limit, with extensions,
     *  or its deadline. 0: none, or it does not run. */
    int64_t ends_ns;
    int64_t predicted_ns; /**< run time that op predict returned; 0: none */
    int64_t bypassed;     /**< number of jobs that bypassed it (gang_queue_spec.max_bypasses) */
    int32_t starved;      /**< 1: it is starved (gang_queue_spec.max_bypasses) */
    int32_t reserved0;
    /** Time slicing (gang_queue_spec.quantum_ns): number of the row of its first gang, from 1; 0:
     *  none. Rows run in the order of their numbers, again and again. They are renumbered when a
     *  row is added or removed. */
    int32_t slice_row;
    int32_t reserved1;
    /** Time since its start during which it waited for time slices. Time limits do not include
     *  it. */
    int64_t suspended_ns;
    /** number of announced tasks that have not come yet (gang_job_spec.announced); 0: the job is
     *  complete */
    int64_t missing;
    /** With GANG_ORDER_MULTIFACTOR: its last computed multifactor priority, in millionths;
     *  otherwise 0. */
    int64_t multifactor_priority;
};

#define GANG_JOB_INFO_INIT                                                                        \
    {                                                                                             \
        sizeof(struct gang_job_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                       \
    }

/* ---- callbacks ----------------------------------------------------------------------------- */

/** Argument of most ops. Valid during the call. */
struct gang_event {
    size_t size; /**< sizeof(struct gang_event) of the library */
    gang_job_id job;
    uint64_t cookie; /**< of the job */
    /** Allocation of the gang (gang_alloc_each() visits its tasks); GANG_ID_NONE: none. */
    gang_alloc_id alloc;
    /** number of the gang in the job: 0; with gang_job_spec.group_after also 1, 2, ... */
    int32_t gang;
    int32_t state; /**< GANG_JOB_* after the event */
    /** GANG_END_*. Op state: how the job ended. Ops preempt, suspend, shrink and kill: how the job
     *  ends when all these tasks have stopped; GANG_END_NONE: it runs on or waits again. */
    int32_t end;
    int32_t reason; /**< GANG_REASON_* */
    /** Numbers of tasks (gang_task.task), ascending. Op grow: the new tasks. Op lost: the tasks
     *  that are out of reach. Op shrink, and op kill after it: the tasks that are to stop and have
     *  not stopped yet. Other ops: NULL. For ops preempt, suspend and kill NULL means all tasks
     *  that gang_alloc_each() visits. */
    const int64_t *tasks;
    size_t task_count;
    /** ops preempt, shrink, suspend: time at which op kill follows; op lost: time at which the
     *  fence ends; other ops: 0 */
    int64_t deadline_ns;
    /** ops preempt, suspend, shrink and kill: the job for which these tasks stop; GANG_ID_NONE:
     *  none */
    gang_job_id preemptor;
    int64_t now_ns;   /**< of the run */
    const char *text; /**< one English line, never NULL */
};

#define GANG_EVENT_INIT                                                        \
    {                                                                          \
        sizeof(struct gang_event), 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, NULL \
    }

/** Why a gang or tasks are asked to stop; for ops grow and start after a move, GANG_REASON_MOVE. */
enum {
    GANG_REASON_NONE = 0,
    /** for a job of its own leaf (gang_queue_spec.within), or for one that outranks it
     *  (gang_queue_spec.across, preempt_class) */
    GANG_REASON_PREEMPT = 1,
    /** for a job whose queue is entitled to the capacity (gang_queue_spec.reclaim) */
    GANG_REASON_RECLAIM = 2,
    /** The gang, or tasks above its minimum, move to other nodes so that another job can start.
     *  Their new places are kept for them until all gangs that stop for this job have stopped;
     *  until then a moved gang is STOPPING, and its queues count it as running. */
    GANG_REASON_MOVE = 3,
    /** the gang had fewer tasks than its minimum for gang_queue_spec.stale_ns */
    GANG_REASON_STALE = 4,
    /** it reached its time limit or deadline, its budget was used up, or its reservation ends */
    GANG_REASON_TIMEOUT = 5,
    GANG_REASON_CANCEL = 6,   /**< gang_job_cancel() */
    GANG_REASON_LOSS = 7,     /**< tasks of the job were lost (gang_job_spec.loss) */
    GANG_REASON_TARGET = 8,   /**< gang_job_set_target() */
    GANG_REASON_END = 9,      /**< the job is over: its chiefs ended or a critical task failed */
    GANG_REASON_SLICE = 10,   /**< its time slice has ended */
    GANG_REASON_REQUEUE = 11, /**< gang_job_requeue() */
    /** its node must be empty by a deadline: gang_report_node_draining() */
    GANG_REASON_DRAIN = 12
};

/** Subject of a log message (gang_log_entry.code). Later versions may add codes. */
enum {
    GANG_LOG_OTHER = 0,
    GANG_LOG_REFUSED = 1, /**< the host refused op start, grow, resume or suspend */
    /** the host does not know the tasks that it is asked to stop (GANG_ENOENT) */
    GANG_LOG_UNKNOWN = 2,
    /** a report or command was ignored: the job, task, allocation or node that it names does not
     *  exist, or it came too late */
    GANG_LOG_IGNORED = 3,
    /** the places where a job was to start or resume are not available */
    GANG_LOG_PLACES_LOST = 4,
    GANG_LOG_STARVED = 5, /**< a job became starved (gang_queue_spec.max_bypasses) */
    /** gang_sched_opts.observe_only: tasks would have been preempted for this job */
    GANG_LOG_OBSERVED = 6,
    /** tasks were reported stopped that count as stopped already, for example after op kill */
    GANG_LOG_LATE = 7,
    /** gang_report_places(): what runs on a node contradicts the scheduler's records */
    GANG_LOG_CONFLICT = 8,
    /** gang_report_places(): the scheduler's records were changed to the places where tasks of a
     *  job run */
    GANG_LOG_REBOUND = 9,
    /** Tasks were stopped for this job, but before op start or grow was called for it, a job that
     *  is entitled to more got the freed capacity. */
    GANG_LOG_PASSED_ON = 10
};

/** A log message for operators. Valid during the call. */
struct gang_log_entry {
    size_t size;         /**< sizeof(struct gang_log_entry) of the library */
    int32_t level;       /**< 0: error of the host; 1: information (as for op log) */
    int32_t code;        /**< GANG_LOG_* */
    gang_job_id job;     /**< GANG_ID_NONE: none */
    gang_queue_id queue; /**< queue of the job; GANG_ID_NONE: none, or no such job */
    uint64_t cookie;     /**< of the job; 0: none, or no such job */
    int64_t now_ns;      /**< of the run */
    const char *text;    /**< one English line, never NULL */
};

#define GANG_LOG_ENTRY_INIT                                   \
    {                                                         \
        sizeof(struct gang_log_entry), 0, 0, 0, 0, 0, 0, NULL \
    }

/**
 * What gang_event contains, op by op. `end` is GANG_END_NONE unless the table says otherwise.
 * Always set are `job`, `cookie`, `gang`, `now_ns` and `text`, and `alloc` if the gang has one.
 * The last column says what a result other than 0 means; 0 means that the host does what is asked.
 * @code
 * op       state              tasks              deadline_ns     result other than 0
 * start    RUNNING            -                  -               refused: tried again later
 * grow     RUNNING            the new ones       -               refused: they are released
 * resume   RUNNING            -                  -               refused: tried again later
 * shrink   RUNNING            those to stop      op kill follows they count as stopped (1)
 * preempt  STOPPING, end (2)  - (all visited)    op kill follows they count as stopped (1)
 * suspend  STOPPING           - (all visited)    op kill follows op preempt is called (1)
 * kill     STOPPING, end (2)  - (all visited)    -               they count as stopped (1)
 * kill     RUNNING (3)        those still there  -               they count as stopped (1)
 * lost     RUNNING, STOPPING  those out of reach the fence ends  they are fenced (4)
 * state    the new state (5)  -                  -               ignored
 * predict  PENDING            -                  -               the run time, in ns
 * overrun  RUNNING            -                  -               the time to run on, in ns
 *
 * (1) Except GANG_EBUSY: they have not stopped, the op is called again; and GANG_ENOENT: the host
 *     does not know them.
 * (2) `end` is how the job ends when all tasks have stopped; GANG_END_NONE: it waits again, or a
 *     suspended gang resumes.
 * (3) After op shrink: the gang runs on without these tasks.
 * (4) Except GANG_ENOENT: like 0, none of them runs.
 * (5) If it is ENDED, `end` is how the job ended.
 * - : NULL or 0. "All visited": all tasks that gang_alloc_each() visits.
 * All ops are called on the owner's thread, inside gang_sched_run(); `may`, `wake` on any thread.
 * @endcode
 *
 * States of a job, and of a task
 * @code
 *   submit --> PENDING --start--> RUNNING --all tasks ended--> ENDED
 *                 ^                |   ^
 *                 |      preempt,  |   +--resume-- SUSPENDED
 *                 |      suspend   v                   ^
 *                 +--requeued-- STOPPING --suspended---+
 *                                  +--cancelled, or the job is over--> ENDED
 *
 *   granted --start, grow--> runs --GANG_TASK_SUCCEEDED, _FAILED, _IDLE--> ended
 *                             +--shrink, preempt, suspend--> stops --_STOPPED, or kill--> ended
 *                             +--lost (out of reach)--> fenced --report, fence_ns--> ended
 * @endcode
 */

/** Why a reported place contradicts the scheduler's records (gang_report_places()). */
enum {
    /** the reported resources are allocated to another task or allocation */
    GANG_CONFLICT_TAKEN = 1,
    /** According to the records no such task runs: the job has ended, waits or is unknown, or the
     *  task has not started or has stopped. The host should stop it. (YARN: a container of a
     *  finished application) */
    GANG_CONFLICT_UNKNOWN = 2,
    GANG_CONFLICT_ELSEWHERE = 3, /**< the task is recorded on another node, or was reported twice */
    /** the node has no such devices or cores, or they are not those that the task's group requests,
     *  in number or model */
    GANG_CONFLICT_UNSUITABLE = 4
};

/** Argument of op conflict: a reported place that contradicts the scheduler's records. Valid during
 *  the call. */
struct gang_place_conflict {
    size_t size; /**< sizeof(struct gang_place_conflict) of the library */
    gang_node_id node;
    int32_t what; /**< GANG_CONFLICT_* */
    /* the reported place: */
    int32_t gang;
    gang_job_id job; /**< GANG_ID_NONE: the place is not used by a job of this scheduler */
    uint64_t cookie; /**< of the job; 0: none, or no such job */
    int64_t task;    /**< -1: the place is not used by a job of this scheduler */
    /* for GANG_CONFLICT_TAKEN, what the scheduler's records contain: */
    /** GANG_ID_NONE: no single device or core is in dispute, but millicores or memory */
    gang_alloc_id booked_alloc;
    gang_job_id booked_job;              /**< GANG_ID_NONE: the allocation is not one of a job */
    uint64_t booked_cookie;              /**< cookie of that job; 0: none */
    int64_t booked_task;                 /**< -1: none */
    uint64_t gpus;                       /**< devices in dispute; bit i: GPU i of the node */
    uint64_t cores[GANG_MAX_CORES / 64]; /**< cores in dispute; bit i: core i of the node */
    int64_t now_ns;                      /**< of the run */
    const char *text;                    /**< one English line, never NULL */
};

#define GANG_PLACE_CONFLICT_INIT                                                            \
    {                                                                                       \
        sizeof(struct gang_place_conflict), 0, 0, 0, 0, 0, -1, 0, 0, 0, -1, 0, {0}, 0, NULL \
    }

/**
 * The host's callbacks (*ops*). The library copies the table. Each op may be NULL; its comment
 * states what happens then. The library calls all ops except `may` and `wake` only inside
 * gang_sched_run(), on the thread of the run, without any lock of the library. An op may block, but
 * the run waits for it. It returns 0; if its comment says so, another value *refuses*. An op may
 * call functions that read, submit jobs, send commands and send reports. Functions that run the
 * scheduler or change queues return GANG_EBUSY; it must not free the scheduler.
 */
struct gang_host_ops {
    size_t size; /**< sizeof(struct gang_host_ops) */
    /** Launch a gang: all tasks of `alloc`. Refused: the library releases the whole allocation, and
     *  tries the job again after gang_sched_opts.refused_ns. NULL: accepted.
     *    - A run first decides, then calls ops start, resume and grow. If it gives capacity to a
     *      gang, and later in the same run takes it back for another gang that is entitled to it,
     *      no op is called and the first gang waits as before. If tasks were stopped for the first
     *      gang, op log says which job gets their capacity (GANG_LOG_PASSED_ON). Before the call of
     *      the op, public functions show neither the start nor the added tasks.
     *    - A gang whose op start was called is not preempted in the same run, and not moved before
     *      a later event (a message, a timer or a change of nodes). If a refusal, or a message that
     *      an op left, entitles another gang to its capacity, the next run preempts it.
     *    - A run that ends because of gang_run_opts.max_steps calls the ops for what it has decided
     *      so far. */
    int32_t (*start)(const struct gang_event *event, void *user);
    /** Launch more tasks of a running gang: `tasks`, all that it got in this run. The library calls
     *  it once for a gang, after all calls of op start. gang_alloc_task() reads a task.
     *  gang_event.reason is GANG_REASON_MOVE if all of them replace tasks that were moved. It is
     *  called a second time for a gang in one run only if tasks were added after the host refused
     *  an op, after an op left a message, or after gangs that had waited for others started; in
     *  time slicing also when its row ends. Refused: all tasks of the call are released, as with
     *  start. NULL: accepted. */
    int32_t (*grow)(const struct gang_event *event, void *user);
    /** Stop `tasks` of a running gang and report GANG_TASK_STOPPED for them (gang_report_tasks()),
     *  by deadline_ns at the latest. Refused, or NULL: they count as stopped at once. GANG_EBUSY
     *  and GANG_ENOENT: as for preempt. */
    int32_t (*shrink)(const struct gang_event *event, void *user);
    /** Stop the gang, after it has saved its state. Report GANG_TASK_STOPPED for all its tasks, by
     *  deadline_ns at the latest. Refused, or NULL: the gang counts as stopped at once. Two results
     *  are special:
     *    - GANG_EBUSY: the host cannot stop the tasks now (for example, it cannot reach their
     *      machine). They keep their resources. The library calls the op again after
     *      gang_sched_opts.stop_again_ns, and op kill after deadline_ns.
     *    - GANG_ENOENT: the host does not know the tasks. They count as stopped at once. If op
     *      preempt, suspend or kill for a whole gang returns it, the job ends (GANG_END_FAILED). */
    int32_t (*preempt)(const struct gang_event *event, void *user);
    /** Kill the tasks at once: their deadline has passed. GANG_EBUSY: they have not stopped; the
     *  library calls the op again after gang_sched_opts.stop_again_ns, without a bound: they keep
     *  their resources until the host gives another answer or reports their end. GANG_ENOENT: as
     *  for preempt. Any other value, or NULL: the tasks have stopped when the call returns, and the
     *  library gives their resources to other jobs. With gang_sched_opts.kill_wait_ns it waits for
     *  GANG_TASK_STOPPED first. */
    int32_t (*kill)(const struct gang_event *event, void *user);
    /** Suspend a gang, in a queue with GANG_PREEMPT_MODE_SUSPEND or at the end of a time slice
     *  (GANG_REASON_SLICE): its processes stop running, stay in memory, and continue after op
     *  resume. Report GANG_TASK_STOPPED for all tasks, by deadline_ns at the latest. After that, op
     *  kill is called. Refused: op preempt is called instead. GANG_EBUSY and GANG_ENOENT: as for
     *  preempt. NULL: the gang counts as stopped at once, and waits again like a preempted one. At
     *  the end of a time slice these rules differ: without a grace period the gang must have
     *  stopped when op suspend returns 0, and after GANG_EBUSY op suspend is called again, never
     *  op kill; after op kill the gang is resumed later all the same; with NULL the gang counts as
     *  suspended at once. Until a gang has suspended, its nodes stay in use: gangs of the next row
     *  that do not fit beside it wait, and the next time slice does not begin. */
    int32_t (*suspend)(const struct gang_event *event, void *user);
    /** Resume a suspended gang, each task on its former node, devices and cores. Refused: as for
     *  start; in time slicing the gang stays suspended until its next time slice. NULL:
     *  accepted. */
    int32_t (*resume)(const struct gang_event *event, void *user);
    /** The state of a job has changed. The result is ignored. NULL: nothing is called. */
    int32_t (*state)(const struct gang_event *event, void *user);
    /** A message for operators. `level` 0: an error of the host (a report about an unknown job, a
     *  refused op); 1: information. The result is ignored. NULL: messages are dropped. */
    int32_t (*log)(int32_t level, const char *text, void *user);
    /** Decide whether a user who is in these groups may perform `action` (GANG_MAY_*) in a queue.
     *  0: yes; any other value: no. gang_job_submit() and gang_sched_may() call it on the caller's
     *  thread, possibly on several threads at the same time. NULL: the access lists of the queues
     *  decide (gang_queue_spec.submit_acl). */
    int32_t (*may)(const char *queue, int32_t action, const char *user_name,
                   const char *const *groups, size_t group_count, void *user);
    /** Predict the run time of a job, in ns. The library calls it when a run accepts the job;
     *  gang_job_info.predicted_ns is the result. Planned starts and the orders SHORTEST use the
     *  smaller of the prediction and the time limit. When a job runs longer than predicted, its
     *  prediction is doubled, again and again up to the time limit (as in Tsafrir, Etsion and
     *  Feitelson, IEEE TPDS 18(6), 2007); planned starts that relied on the shorter time then move
     *  to a later time. <= 0, or NULL: no prediction. */
    int64_t (*predict)(const struct gang_event *event, void *user);
    /** A job has reached its time limit, in a queue with GANG_OVERRUN_ASK. The result is how long
     *  it may run on, in ns; the op is called again after that time. <= 0, or NULL: the job is
     *  stopped. */
    int64_t (*overrun)(const struct gang_event *event, void *user);
    /** Something happened to a reservation (plan.h): GANG_RESERVATION_NOTICE and the others. The
     *  result is ignored. NULL: nothing is called. */
    int32_t (*reservation)(const struct gang_reservation_event *event, void *user);
    /** Wake the owner's event loop (uv_async_send() in libuv; eventfd): a message waits for the
     *  next run, and none waited before. The library calls it on the thread that left the message
     *  (submission, command or report), at any time, also during a run, possibly on several threads
     *  at the same time. It must not call the library. One call may stand for several messages; the
     *  next run accepts all. NULL: nothing is called. */
    void (*wake)(void *user);
    /** Like log, with the code, job and queue of the message. If it is not NULL, log is not called.
     *  The result is ignored. */
    int32_t (*log_entry)(const struct gang_log_entry *entry, void *user);
    /** Tasks are out of reach and may still run: their heartbeats stopped, or their node went down
     *  (GANG_REASON_LOSS). `alloc` and `tasks` name them, also those that were asked to stop
     *  before. deadline_ns is the end of their fence (INT64_MAX: only a report ends it). The host
     *  stops them, or answers that they may still run. In both cases gang_job_spec.loss decides
     *  what happens to the job.
     *    - 0 or GANG_ENOENT: none of them runs. Their resources are released at once.
     *    - GANG_EBUSY, any other value, or NULL: they may still run, and are *fenced*. A fenced
     *      task keeps its resources until the host reports that it has ended (GANG_TASK_STOPPED,
     *      _FAILED or _SUCCEEDED, for this task or for all tasks of the gang), or until fence_ns
     *      (gang_queue_spec, gang_sched_opts) has passed since the loss or since a later heartbeat.
     *      No other task gets these resources, and the task is not started a second time:
     *      GANG_LOSS_REFILL places it again after the fence has ended. The other tasks of the gang
     *      run on. If the gang has to stop (GANG_LOSS_RESTART, _FAIL, preemption), the job is
     *      GANG_JOB_STOPPING until the fence has ended, and then ends or waits again. Fenced
     *      resources count for the limits of queues and users, but not for budgets and not as
     *      non-preemptible work.
     *  The library calls it once for each loss. Tasks that were asked to stop before are not
     *  fenced: unless the result is 0 or GANG_ENOENT, op kill follows at their deadline. Tasks on a
     *  removed node are released, whatever the result. */
    int32_t (*lost)(const struct gang_event *event, void *user);
    /** A place that was reported by gang_report_places() contradicts the scheduler's records. The
     *  result is ignored. Op log gets the same text. NULL: nothing is called. */
    int32_t (*conflict)(const struct gang_place_conflict *conflict, void *user);
};

#define GANG_HOST_OPS_INIT                                                                        \
    {                                                                                             \
        sizeof(struct gang_host_ops), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL, NULL, NULL, NULL, NULL                                              \
    }

/* ---- the scheduler ------------------------------------------------------------------------- */

/** Options; zero is the default. */
struct gang_sched_opts {
    size_t size;                /**< sizeof(struct gang_sched_opts) */
    const struct gang_mem *mem; /**< allocator, copied; NULL: malloc and free */
    /** queue of jobs that name no queue and match no rule; NULL: such jobs are refused */
    const char *default_queue;
    const struct gang_queue_rule *rules; /**< copied */
    size_t rule_count;
    size_t rule_size; /**< sizeof(struct gang_queue_rule) */
    /** kinds that are left out when dominant shares are computed */
    const char *const *excluded_kinds;
    size_t excluded_kind_count;
    /** > 0: past usage, which decays with this half-life, lowers the weight of a queue (fair
     *  shares) and of a user (GANG_ORDER_MULTIFACTOR); 0: past usage does not count */
    int64_t half_life_ns;
    /** how strongly past usage lowers weights, in millionths (KAI: k); 0: GANG_WHOLE */
    int64_t usage_weight;
    /** time after which a job whose start the host refused is tried again; 0: 10 s */
    int64_t refused_ns;
    int64_t max_preempted_tasks; /**< maximum number of tasks that one run preempts; 0: no bound */
    /** 1: no job is preempted; op log reports the preemptions that would happen
     *  (GANG_LOG_OBSERVED) */
    int32_t observe_only;
    /** 1: no job is preempted, reclaimed or moved for another */
    int32_t no_preemption;
    /** maximum number of gangs that are moved so that one gang can start; 0: 16; -1: none is
     *  moved */
    int64_t max_moves;
    /** For reclaim: after the preemption, the preemptor's queue must not use a larger part of its
     *  fair share than the victim's queue. The part of the preemptor's queue is multiplied by this
     *  factor before, in millionths (KAI: saturation multiplier); 0: GANG_WHOLE. */
    int64_t saturation;
    /** If the guarantees of siblings, given as amounts, exceed the capacity (for example because
     *  nodes are down): 0: all stay in force, and a queue that uses its guarantee keeps it (KAI).
     *  1: each is multiplied by capacity / sum of the guarantees (YARN). */
    int32_t scale_guarantees;
    int32_t reserved0; /**< 0 */
    /** Cooldown, which prevents that two queues preempt each other again and again. After a gang
     *  was preempted or moved for a job, for this time (or for gang_queue_spec.min_runtime_ns of
     *  the gang's queue, if that is longer) it is not preempted or moved for jobs of the same
     *  queue, and does not preempt that job. Jobs that are submitted, released or restarted after
     *  the preemption may preempt the gang all the same. A change of queues or nodes ends all
     *  cooldowns. 0: 10 min; -1: off. */
    int64_t preempt_cooldown_ns;
    /** time after which op preempt, suspend, shrink or kill is called again if it returned
     *  GANG_EBUSY; 0: 1 s */
    int64_t stop_again_ns;
    /** How long the library waits for GANG_TASK_STOPPED after op kill before it releases the
     *  resources of the tasks (Slurm: COMPLETING, UnkillableStepTimeout). 0: it releases them when
     *  op kill returns. -1: it waits without a bound; no start is then planned on this capacity. */
    int64_t kill_wait_ns;
    /** How long lost tasks that may still run (op lost) keep their resources if the host does not
     *  report that they have ended. 0: 5 min; -1: until the report. gang_queue_spec.fence_ns
     *  overrides it. (Kubernetes detaches the volumes of an unreachable node by force after 6
     *  min.) */
    int64_t fence_ns;
};

#define GANG_SCHED_OPTS_INIT                                                                       \
    {                                                                                              \
        sizeof(struct gang_sched_opts), NULL, NULL, NULL, 0, sizeof(struct gang_queue_rule), NULL, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                            \
    }

/**
 * Make a scheduler on a cluster. It has one queue, "default", without guarantees and limits, until
 * gang_sched_set_queues() is called.
 * @param cluster the host frees it after the scheduler
 * @param ops copied; NULL: all defaults
 * @param user passed to the ops
 * @return GANG_OK; GANG_EINVAL; GANG_ENOENT (an excluded kind); GANG_ELIMIT (no worker is free);
 *   GANG_ENOMEM.
 * Any thread. May allocate.
 */
GANG_API gang_result gang_sched_new(gang_cluster *cluster, const struct gang_sched_opts *opts,
                                    const struct gang_host_ops *ops, void *user, gang_sched **sched,
                                    struct gang_error *error) GANG_MUST_CHECK;

/** Free a scheduler. The allocations of its jobs are released; no op is called. NULL is allowed. No
 *  concurrent call on this scheduler. */
GANG_API void gang_sched_free(gang_sched *sched);

/** The cluster of a scheduler. Any thread; wait-free. */
GANG_API gang_cluster *gang_sched_cluster(const gang_sched *sched);

/**
 * Copy a scheduler and its cluster. Afterwards they are independent: changes of one have no effect
 * on the other. With the same calls and the same results of ops, both make the same decisions:
 * which job, when, on which nodes, devices and cores. To look ahead by expected run times,
 * forecasts (forecast.h) are simpler: they need no ops.
 *
 * What the copy contains
 *   - Nodes, kinds, domains, partitions, the task mix, queues, jobs, reservations and allocations.
 *     With them: plans, time slices, past usage, requests to stop and their deadlines. All ids are
 *     the same in both; ids that one of them gives later are unrelated to those of the other.
 *     Allocations made without the scheduler are copied, too; gang_alloc_free() with the same id
 *     releases them. Other schedulers on the cluster are not copied.
 *   - Messages that no run has accepted yet: messages left before this call are in both. Messages
 *     that other threads leave during the call are in the original, and possibly in both.
 *   - Changes of nodes that no run has seen yet: the next run of each sees them.
 *   - Heartbeats: both expect the heartbeats of the same tasks, at the same times. The host must
 *     report them to both.
 *   - Not the ops. Only one of the two schedulers can control the real tasks; the other is for
 *     questions.
 *   - Not workers: the host makes new workers on the copy's cluster (gang_worker_new()).
 *
 * Ownership: the caller owns both. It frees the copy with gang_sched_free() and then the copy's
 * cluster with gang_cluster_free(), before or after the original. The copies use the same
 * allocators, and the same callbacks and pointers in requests (gang_request_spec.score).
 * @param ops ops of the copy; the table is copied. NULL: all ops NULL. The original's ops are not
 *   used
 * @param user passed to these ops
 * @param cluster receives the copy of the cluster, the same as gang_sched_cluster() of the copy
 * @param copy receives the scheduler
 * @return GANG_OK; GANG_EINVAL; GANG_E2BIG; GANG_EBUSY (called from a callback; or another thread
 *   is changing an allocation: try again); GANG_ENOMEM. On an error both are NULL and the original
 *   is unchanged.
 * Owner. No thread may change the cluster during the call; submitting, commands and reports are
 * allowed. No op is called. May allocate, may block (like gang_node_add()). O(nodes + jobs +
 * running tasks + reserved nodes), in time and memory.
 *
 * @code
 *   gang_cluster *c;                                  // what if half of the nodes failed?
 *   gang_sched *s;
 *   gang_result r = gang_sched_copy(sched, &dry_ops, &dry, &c, &s, &error);
 *   if (r == GANG_OK) {
 *       for (size_t i = 0; i < count && r == GANG_OK; i++)
 *           r = gang_report_node_lost(s, node[i]);     // the same ids
 *       if (r == GANG_OK)
 *           r = gang_sched_run(s, now_ns, NULL, NULL); // calls dry_ops only
 *       gang_sched_free(s);
 *       gang_cluster_free(c);
 *   }
 * @endcode
 */
GANG_API gang_result gang_sched_copy(gang_sched *sched, const struct gang_host_ops *ops, void *user,
                                     gang_cluster **cluster, gang_sched **copy,
                                     struct gang_error *error) GANG_MUST_CHECK;

/** Bounds of one run; zero is the default. */
struct gang_run_opts {
    size_t size; /**< sizeof(struct gang_run_opts) */
    /** Maximum number of steps; 0: no bound. A step is a message accepted, a job tried or a victim
     *  considered. A run that has begun to choose victims for a job finishes this choice, so it may
     *  exceed the maximum by the number of victims. */
    int64_t max_steps;
};

#define GANG_RUN_OPTS_INIT              \
    {                                   \
        sizeof(struct gang_run_opts), 0 \
    }

/** What one run did. */
struct gang_run_info {
    size_t size;             /**< sizeof(struct gang_run_info) */
    int64_t messages;        /**< messages accepted */
    int64_t jobs_tried;      /**< jobs that were tried */
    int64_t started;         /**< gangs started or resumed */
    int64_t tasks_granted;   /**< tasks of these gangs, and tasks added to running gangs */
    int64_t tasks_preempted; /**< tasks that were asked to stop for other jobs */
    int64_t moved;           /**< gangs moved to other nodes */
    int64_t ended;           /**< jobs that ended */
    int64_t steps;           /**< steps, as counted by max_steps */
    /** 1: max_steps was reached; the next run continues where this one ended */
    int32_t more;
    int32_t reserved0;
};

#define GANG_RUN_INFO_INIT                                         \
    {                                                              \
        sizeof(struct gang_run_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/**
 * Run one scheduling cycle: accept messages, fire timers up to now_ns, start and grow gangs that
 * fit, then preempt or move gangs for jobs that are entitled to more. At the end, call ops start,
 * resume and grow. The work is proportional to what has changed since the last run, not to the
 * numbers of jobs and nodes.
 *
 * queue.h describes preemption, backfill and time slicing, with the options that switch them on.
 * @param now_ns current time in ns on the host's clock; not less than in the last run
 * @param opts NULL: no bound
 * @param info NULL: not wanted
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from a callback); GANG_ENOMEM: memory was short
 *   for some work. Nothing is lost or half done; the next run tries again.
 * Owner.
 */
GANG_API gang_result gang_sched_run(gang_sched *sched, int64_t now_ns,
                                    const struct gang_run_opts *opts, struct gang_run_info *info)
    GANG_MUST_CHECK;

/** Time at which the next run is due, on the clock of now_ns. INT64_MIN: now (messages wait, or the
 *  last run reached max_steps); INT64_MAX: no run is due until the host leaves a message or changes
 *  nodes. Changes of nodes with core.h do not make a run due; the host runs the scheduler after
 *  them. Owner. O(1). */
GANG_API int64_t gang_sched_next(gang_sched *sched);

/** How long the owner may sleep before the next run, in ns: gang_sched_next() - now_ns. 0: not at
 *  all; -1: without a bound. (uv_backend_timeout() and poll() use the same values in milliseconds:
 *  round up.) A message that another thread leaves meanwhile makes a run due at once: see
 *  gang_host_ops.wake. Owner. O(1). */
GANG_API int64_t gang_sched_timeout_ns(gang_sched *sched, int64_t now_ns);

/* ---- counters ------------------------------------------------------------------------------ */

/** Sizes of the arrays in struct gang_sched_stats, with room for later values. */
enum { GANG_STATS_ENDS = 16, GANG_STATS_REASONS = 32, GANG_STATS_BUCKETS = 64 };

/** Counters since gang_sched_new(), for all jobs or for the jobs in one queue and below it. No
 *  counter ever decreases. */
struct gang_sched_stats {
    size_t size;      /**< sizeof(struct gang_sched_stats) */
    int64_t runs;     /**< calls of gang_sched_run(); for a queue 0 */
    int64_t messages; /**< messages that runs accepted; for a queue 0 */
    int64_t jobs;     /**< jobs that runs accepted */
    int64_t starts;   /**< gangs that started or resumed; resumes for time slices do not count */
    int64_t resumes;  /**< gangs of these that resumed */
    int64_t tasks_granted; /**< tasks of these gangs, and tasks added to running gangs */
    int64_t refusals;      /**< calls of ops start, resume and grow that the host refused */
    /** Starts that were useless: whole gangs that were stopped for other jobs (GANG_REASON_PREEMPT,
     *  _RECLAIM, _MOVE) at the same now_ns at which they had started, or before min_runtime_ns of
     *  their queue had passed. */
    int64_t wasted_starts;
    /** Jobs that started for the first time. The members about waits describe these jobs; a wait
     *  lasts from gang_job_info.submitted_ns to the first start. */
    int64_t first_starts;
    int64_t wait_sum_ns;           /**< sum of all waits (at most INT64_MAX) */
    int64_t wait_max_ns;           /**< the longest wait */
    int64_t ends[GANG_STATS_ENDS]; /**< jobs that ended; index: GANG_END_* */
    /** whole gangs that were asked to stop, or to suspend for another job; index: GANG_REASON_* */
    int64_t gangs_stopped[GANG_STATS_REASONS];
    /** tasks that were asked to stop while their gang ran on; index: GANG_REASON_* */
    int64_t tasks_stopped[GANG_STATS_REASONS];
    /** Histogram of waits: waits[0] counts waits of 0 ns, waits[i] waits of at least 2^(i-1) ns and
     *  less than 2^i ns. (waits[30]: 0.54 s to 1.07 s; waits[42]: 37 to 73 min) */
    int64_t waits[GANG_STATS_BUCKETS];
};

#define GANG_SCHED_STATS_INIT                                                            \
    {                                                                                    \
        sizeof(struct gang_sched_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}, \
        {                                                                                \
            0                                                                            \
        }                                                                                \
    }

/**
 * Read the counters of all jobs. Each counter is exact, also during a run. The call reads them one
 * after the other, so during a run they may belong to different instants.
 * A copy of a scheduler begins with the counters of its original (gang_sched_copy()).
 * @return GANG_OK; GANG_EINVAL. Any thread; wait-free. O(1).
 */
GANG_API gang_result gang_sched_stats(gang_sched *sched, struct gang_sched_stats *stats)
    GANG_MUST_CHECK;

/** Read the counters of the jobs in one queue and below it. An event counts in the queues that were
 *  above the job at that time: a queue that moves keeps its counters, and those of its former
 *  parents do not change. The counters of a removed queue are lost. @return GANG_OK; GANG_EINVAL;
 *  GANG_ESTALE. Owner. O(log queues). */
GANG_API gang_result gang_queue_stats(gang_sched *sched, gang_queue_id id,
                                      struct gang_sched_stats *stats) GANG_MUST_CHECK;

/* ---- queues -------------------------------------------------------------------------------- */

/**
 * Replace the whole tree of queues. The call checks the new tree before it takes effect. A queue
 * whose name is in both trees keeps its jobs; other queues are added or removed.
 * @param queues in any order
 * @return GANG_OK; GANG_EINVAL (limit below guarantee, fractions of siblings above 1, jobs in a
 *   queue that would no longer be a leaf, ...); GANG_EEXIST; GANG_ENOENT (parent, kind, partition,
 *   level); GANG_ECYCLE; GANG_ERANGE; GANG_ELIMIT; GANG_EBUSY (a queue to be removed has jobs; or
 *   called from a callback); GANG_ENOMEM. `error` has the path: "queues[2].limit.gpu". On an error
 *   nothing changed.
 * Owner. May allocate.
 */
GANG_API gang_result gang_sched_set_queues(gang_sched *sched, const struct gang_queue_spec *queues,
                                           size_t count, struct gang_error *error) GANG_MUST_CHECK;

/** Add a queue; change the queue with the name `spec->name` (if its parent changes, it moves with
 *  all queues below it); remove a queue (GANG_EBUSY while it has jobs or children); set the state
 *  of a queue (GANG_QUEUE_*). Results as for gang_sched_set_queues(), with paths like "limit.gpu";
 *  GANG_ESTALE (no such queue). Owner. */
GANG_API gang_result gang_queue_add(gang_sched *sched, const struct gang_queue_spec *spec,
                                    gang_queue_id *id, struct gang_error *error) GANG_MUST_CHECK;
GANG_API gang_result gang_queue_change(gang_sched *sched, const struct gang_queue_spec *spec,
                                       struct gang_error *error) GANG_MUST_CHECK;
GANG_API gang_result gang_queue_remove(gang_sched *sched, gang_queue_id id,
                                       struct gang_error *error) GANG_MUST_CHECK;
GANG_API gang_result gang_queue_set_state(gang_sched *sched, gang_queue_id id, int32_t state)
    GANG_MUST_CHECK;

/** Id of a queue by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Any thread. */
GANG_API gang_result gang_queue_find(gang_sched *sched, const char *name, gang_queue_id *id)
    GANG_MUST_CHECK;

/** A copy of the specification of a queue, to be freed with gang_queue_spec_free(). @return
 *  GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM. Owner. */
GANG_API gang_result gang_queue_get_spec(gang_sched *sched, gang_queue_id id,
                                         struct gang_queue_spec **spec) GANG_MUST_CHECK;
GANG_API void gang_queue_spec_free(struct gang_queue_spec *spec);

/** The state of a queue, as gang_queue_get() reads it. Arrays are indexed by the number of the
 *  kind; amounts are in its unit. */
struct gang_queue_info {
    size_t size; /**< sizeof(struct gang_queue_info) */
    gang_queue_id id;
    gang_queue_id parent; /**< GANG_ID_NONE: top */
    int32_t state;        /**< GANG_QUEUE_* */
    int32_t is_leaf;
    int64_t running;                   /**< jobs, in it and below */
    int64_t pending;                   /**< jobs, in it and below */
    int64_t tasks;                     /**< running tasks, in it and below */
    int64_t guarantee[GANG_MAX_KINDS]; /**< in force; GANG_UNLIMITED: not managed */
    int64_t limit[GANG_MAX_KINDS];     /**< in force; GANG_UNLIMITED: none */
    /** fair share, as of the last run; GANG_UNLIMITED: not managed */
    int64_t share[GANG_MAX_KINDS];
    /** usage: by running gangs, and kept for gangs while victims stop for them (queue.h) */
    int64_t used[GANG_MAX_KINDS];
    int64_t used_nonpreemptible[GANG_MAX_KINDS]; /**< non-preemptible work in `used` */
    /** `used`, plus what waiting jobs that could run request; at most the limit */
    int64_t demand[GANG_MAX_KINDS];
    char name[GANG_MAX_NAME + 1];
    int32_t backfill; /**< GANG_BACKFILL_*, in force */
    int32_t reserved0;
    int64_t plan_depth; /**< in force; 0: all */
    /** number of jobs of a leaf (with group_after: of gangs) that have a planned start */
    int64_t planned;
    int64_t quantum_ns;   /**< in force; 0: no time slicing */
    int64_t quantum_rows; /**< maximum number of rows */
    int64_t rows;         /**< present number of rows of the matrix (queue.h) */
    int64_t active_row;   /**< number of the active row, from 1; 0: none */
    /** end of the present time slice; INT64_MAX: no end, or not all gangs of the row run yet */
    int64_t quantum_end_ns;
    /** held resources, to which limits apply (queue.h): `used`, and what tasks hold that were asked
     *  to stop and have not stopped */
    int64_t held[GANG_MAX_KINDS];
};

#define GANG_QUEUE_INFO_INIT                                                                       \
    {                                                                                              \
        sizeof(struct gang_queue_info), 0, 0, 0, 0, 0, 0, 0, {0}, {0}, {0}, {0}, {0}, {0}, {0}, 0, \
            0, 0, 0, 0, 0, 0, 0, 0,                                                                \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/** Read a queue. @return GANG_OK; GANG_EINVAL; GANG_ESTALE. Owner. O(kinds). */
GANG_API gang_result gang_queue_get(gang_sched *sched, gang_queue_id id,
                                    struct gang_queue_info *info) GANG_MUST_CHECK;

/** Iterate over the queues, parents before children: GANG_ID_NONE gives the first, the id of a
 *  queue the next one; the result after the last is GANG_ID_NONE. Owner. */
GANG_API gang_queue_id gang_queue_next(gang_sched *sched, gang_queue_id id);

/** Meaning of a record of past usage (gang_past_usage.what). */
enum {
    /** Mean usage of a kind by a queue, decayed (gang_sched_opts.half_life_ns). With `queue` NULL:
     *  mean capacity of the cluster, with which this usage is compared. */
    GANG_PAST_USAGE_QUEUE = 0,
    /** mean dominant share of a user in a leaf, decayed, in 10^-9 of the cluster
     *  (GANG_ORDER_MULTIFACTOR) */
    GANG_PAST_USAGE_USER = 1,
    /** use of a budget since its last renewal: an amount times ns */
    GANG_PAST_USAGE_BUDGET = 2
};

/** Past usage of a queue or user, for hosts that restore their state. */
struct gang_past_usage {
    size_t size;           /**< sizeof(struct gang_past_usage) */
    int32_t what;          /**< GANG_PAST_USAGE_* */
    int32_t per_user;      /**< for a budget: gang_budget.per_user */
    const char *queue;     /**< name of the queue; NULL: the cluster */
    const char *user;      /**< name of the user; NULL: all users */
    const char *kind;      /**< name of the kind; NULL: the value is a dominant share */
    const char *partition; /**< counts only usage on nodes of this partition; NULL: on any node */
    int64_t period_ns;     /**< for a budget: gang_budget.period_ns */
    int64_t at_ns; /**< time, on the clock of gang_sched_run(), up to which usage is counted */
    /** The value. For a mean: high + low * 2^-64 units. For a budget: high * 2^64 + low, in units
     *  of the kind times ns. */
    uint64_t high;
    uint64_t low;
};

#define GANG_PAST_USAGE_INIT                                                     \
    {                                                                            \
        sizeof(struct gang_past_usage), 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0 \
    }

typedef int32_t (*gang_past_usage_fn)(const struct gang_past_usage *usage, void *user);

/** Visit the past usage of queues and users, as of the last run. The host keeps these records and
 *  gives them to a new scheduler with gang_past_usage_restore(). Values of 0 are left out. @return
 *  GANG_OK; GANG_EINVAL; the visitor's result: a value other than 0 ends the visit. Owner. O(queues
 *  * kinds + users). */
GANG_API gang_result gang_past_usage_each(gang_sched *sched, gang_past_usage_fn visit, void *user)
    GANG_MUST_CHECK;

/**
 * Restore a record of past usage, after gang_sched_set_queues() and before the first run. In the
 * first run, jobs that are restored (gang_job_spec.past) count as if they had run since at_ns, so
 * the time without a scheduler counts, too. Records that no option uses any more (no half-life,
 * another order) are ignored. The use of a budget that is not configured is kept until it is.
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE (a negative time or value); GANG_ENOENT (queue, kind);
 *   GANG_EBUSY (a run has begun); GANG_ENOMEM. `error` has the path of the member. Owner. May
 *   allocate.
 */
GANG_API gang_result gang_past_usage_restore(gang_sched *sched, const struct gang_past_usage *usage,
                                             struct gang_error *error) GANG_MUST_CHECK;

/** Whether a user may perform an action (GANG_MAY_*) in a queue, by op may or the access lists.
 *  @return GANG_OK: yes; GANG_EPERM: no; GANG_ENOENT; GANG_EINVAL. Any thread. */
GANG_API gang_result gang_sched_may(gang_sched *sched, const char *queue, int32_t action,
                                    const char *user, const char *const *groups, size_t group_count)
    GANG_MUST_CHECK;

/* ---- jobs ---------------------------------------------------------------------------------- */

/**
 * Submit a job. The call itself checks the specification; whether the queue exists, is open and
 * allows the user; and whether the job could run if all nodes were up and empty, within the limits
 * of its queue and of all queues above.
 * @param id receives the id of the job; must not be NULL
 * @return GANG_OK: the next run accepts the job; the errors of gang_request_new(), path
 *   "request.groups[0]..."; GANG_ENOENT (queue); GANG_EINVAL; GANG_EPERM (access); GANG_ECLOSED
 *   (queue draining or closed); GANG_EEXIST (gang_job_spec.id is not above all ids given before);
 *   GANG_ELIMIT (max_pending; max_time_limit_ns); GANG_ENEVER with the reason; GANG_ENOMEM.
 * If the job already runs (gang_job_spec.running), the next run allocates its `places`; if it
 * cannot, the job ends with GANG_END_REFUSED.
 * Any thread. Lock-free; a request with labels or affinity rules may block (structure mutex,
 * core.h). May allocate. O(size of the specification) plus the cost of gang_request_fits_ever().
 */
GANG_API gang_result gang_job_submit(gang_sched *sched, const struct gang_job_spec *spec,
                                     gang_job_id *id, struct gang_error *error) GANG_MUST_CHECK;

/**
 * Submit an array: `count` jobs of one specification, all or none, with consecutive ids.
 * @param first receives the first id
 * Otherwise like gang_job_submit().
 */
GANG_API gang_result gang_job_submit_array(gang_sched *sched, const struct gang_job_spec *spec,
                                           int64_t count, gang_job_id *first,
                                           struct gang_error *error) GANG_MUST_CHECK;

/**
 * Commands. They take effect in the next run, those of one thread in their order. A command for a
 * job that has ended before does nothing.
 *   hold: the job does not start before release; a running job runs on
 *   release: ends the hold
 *   cancel: a waiting job ends at once; a running job is stopped (op preempt, grace period, op
 *   kill) and ends
 *   requeue: a running job is stopped (op preempt, grace period, op kill) and waits again, at its
 *   old age. Other jobs are not affected. With a hold before, it waits for release. A suspended
 *   gang of it does not resume: it starts from its beginning (op start), as after a loss
 *   set_priority: changes the priority of a waiting or running job
 *   set_target: maximum number of tasks, over all groups; -1: `count` again. Running tasks above it
 *   are stopped, but the minimum is kept: tasks of the last group first, in a group the highest
 *   numbers first
 *   set_time_limit: changes the time limit, which is measured from the start; 0: none
 * @return GANG_OK: the message waits for the next run; GANG_EINVAL; GANG_ERANGE; GANG_ESTALE (no
 *   job ever had this id); GANG_ENOMEM. Any thread; lock-free.
 */
GANG_API gang_result gang_job_hold(gang_sched *sched, gang_job_id id) GANG_MUST_CHECK;
GANG_API gang_result gang_job_release(gang_sched *sched, gang_job_id id) GANG_MUST_CHECK;
GANG_API gang_result gang_job_cancel(gang_sched *sched, gang_job_id id) GANG_MUST_CHECK;
GANG_API gang_result gang_job_requeue(gang_sched *sched, gang_job_id id) GANG_MUST_CHECK;
GANG_API gang_result gang_job_set_priority(gang_sched *sched, gang_job_id id, int64_t priority)
    GANG_MUST_CHECK;
GANG_API gang_result gang_job_set_target(gang_sched *sched, gang_job_id id, int64_t tasks)
    GANG_MUST_CHECK;
GANG_API gang_result gang_job_set_time_limit(gang_sched *sched, gang_job_id id, int64_t limit_ns)
    GANG_MUST_CHECK;

/**
 * Commands for announced jobs (gang_job_spec.announced). They take effect in the next run, those of
 * one thread in their order; they may follow gang_job_submit() at once.
 *   add_tasks: `count` > 0: this number of tasks of a group have come; `count` < 0: -count tasks
 *   that had come are gone
 *   complete: no further tasks will come. The job is complete with the tasks that have come; if
 *   they do not suffice, it ends (GANG_END_UNSTARTED)
 * A command does nothing, and op log gets a message, if the job was not announced or is complete
 * already; if it has no such group; or if the group would have more tasks than announced or fewer
 * than 0.
 * @param group index in gang_request_spec.groups of the job
 * @return as for the commands above; also GANG_EINVAL: group < 0; GANG_ERANGE: count is 0 or not in
 *   -2^24..2^24. Any thread; lock-free.
 */
GANG_API gang_result gang_job_add_tasks(gang_sched *sched, gang_job_id id, int32_t group,
                                        int64_t count) GANG_MUST_CHECK;
GANG_API gang_result gang_job_complete(gang_sched *sched, gang_job_id id) GANG_MUST_CHECK;

/** Read a job. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (the job has ended, or no run has accepted
 *  it yet). Owner. O(1). */
GANG_API gang_result gang_job_get(gang_sched *sched, gang_job_id id, struct gang_job_info *info)
    GANG_MUST_CHECK;

/** Read the former life of a job, for gang_job_spec.past. If several stops or fences are under way,
 *  `deadline_ns` is the earliest one's: see gang_job_stop_each(). @return GANG_OK;
 *  GANG_EINVAL; GANG_ESTALE. Owner. O(gangs and stops of the job). */
GANG_API gang_result gang_job_get_past(gang_sched *sched, gang_job_id id,
                                       struct gang_job_past *past) GANG_MUST_CHECK;

typedef int32_t (*gang_failed_node_fn)(gang_node_id node, void *user);

/** Visit the nodes where a job failed, which its restarts avoid, for gang_job_past.failed_nodes.
 *  @return GANG_OK; GANG_EINVAL; GANG_ESTALE; the visitor's result: a value other than 0 ends the
 *  visit. Owner. O(nodes). */
GANG_API gang_result gang_job_failed_node_each(gang_sched *sched, gang_job_id id,
                                               gang_failed_node_fn visit, void *user)
    GANG_MUST_CHECK;

typedef int32_t (*gang_place_fn)(const struct gang_placement *place, void *user);

/** Visit the places at which a job will resume, if it is suspended or being suspended, for
 *  gang_running_spec (GANG_PLACE_RESUMES). @return as for gang_job_promised_each(). Owner.
 *  O(places). */
GANG_API gang_result gang_job_suspended_each(gang_sched *sched, gang_job_id id, gang_place_fn visit,
                                             void *user) GANG_MUST_CHECK;

typedef int32_t (*gang_job_stop_fn)(const struct gang_job_stop *stop, void *user);

/** Visit the stops of a job that are under way (struct gang_job_stop), and its fences, the oldest
 *  first, for gang_job_spec.stops. Before them come the tasks that have stopped while what they
 *  held is kept for a preemptor (GANG_STOP_STOPPED, GANG_STOP_MOVED), after them the tasks that are
 *  to suspend at the end of a time slice (GANG_STOP_SLICE*). @return GANG_OK; GANG_EINVAL;
 *  GANG_ESTALE; GANG_ENOMEM; the visitor's result: a value other than 0 ends the visit. Owner.
 *  O(stops * (stops + jobs that wait for victims) + stopping tasks), and O(tasks) for each stop of
 *  which some tasks have stopped. */
GANG_API gang_result gang_job_stop_each(gang_sched *sched, gang_job_id id, gang_job_stop_fn visit,
                                        void *user) GANG_MUST_CHECK;

/** Visit the places that are kept for a job while its victims stop, or to which it moves, for
 *  gang_running_spec (GANG_PLACE_PROMISED). @return GANG_OK; GANG_EINVAL; GANG_ESTALE; the
 *  visitor's result: a value other than 0 ends the visit. Owner. O(places). */
GANG_API gang_result gang_job_promised_each(gang_sched *sched, gang_job_id id, gang_place_fn visit,
                                            void *user) GANG_MUST_CHECK;

/** The allocation of one gang of a job (gang_event.gang); GANG_ID_NONE: it has none, or there is no
 *  such gang. Owner. */
GANG_API gang_alloc_id gang_job_alloc(gang_sched *sched, gang_job_id id, int32_t gang);

/**
 * Read which groups of a job are in one of its gangs (gang_event.gang): their indexes in
 * gang_request_spec.groups of the job, ascending. gang_alloc_explain() counts only these groups,
 * its group i is the i-th of them; all other functions use the indexes in the job.
 * @param groups receives the indexes; may be NULL if group_size is 0
 * @param group_size number of entries in `groups`
 * @param needed receives the number of groups; may be NULL
 * @return GANG_OK; GANG_ELIMIT: `groups` has fewer than *needed entries, nothing is written;
 *   GANG_EINVAL; GANG_ESTALE (as for gang_job_get()); GANG_ENOENT: no such gang. *needed is 0 on
 *   any error but GANG_ELIMIT.
 * Owner. O(groups of the gang).
 */
GANG_API gang_result gang_job_gang_groups(gang_sched *sched, gang_job_id id, int32_t gang,
                                          int32_t *groups, size_t group_size, size_t *needed)
    GANG_MUST_CHECK;

/** Iterate over the jobs in the order of ids: GANG_ID_NONE gives the first, an id the next one; the
 *  result after the last is GANG_ID_NONE. Owner. O(log jobs). */
GANG_API gang_job_id gang_job_next(gang_sched *sched, gang_job_id id);

/** What happened to tasks (gang_report_tasks()). */
enum {
    /** it runs; from now on its heartbeats are expected (gang_job_spec.heartbeat_ns) */
    GANG_TASK_STARTED = 0,
    GANG_TASK_HEARTBEAT = 1, /**< heartbeat */
    GANG_TASK_SUCCEEDED = 2, /**< it ended successfully; its resources are released at once */
    /** it failed, or was lost and does not run; its resources are released at once */
    GANG_TASK_FAILED = 3,
    /** it stopped as ops shrink, preempt, suspend or kill asked; or it was fenced and does not
     *  run */
    GANG_TASK_STOPPED = 4,
    /** It is not needed: it is released at once, unless the gang would have fewer tasks than its
     *  minimum. Reported for all tasks (`tasks` is NULL), the gang also gets no more tasks, but for
     *  what it lacks of its minimum, until gang_job_set_target() is called. */
    GANG_TASK_IDLE = 5
};

/**
 * Report what happened to tasks. The run that accepts the report may give the released resources to
 * other jobs.
 * @param gang number of the gang in the job (gang_event.gang)
 * @param alloc allocation of the gang (gang_event.alloc); a report about an allocation that has
 *   ended is ignored. GANG_ID_NONE: the present allocation
 * @param tasks array of task numbers (gang_task.task), with `count` entries; NULL: all tasks. After
 *   op grow has reused a number, it means the new task; reports about the old one must come before
 * @param what GANG_TASK_*
 * @return as for the commands above. Any thread; lock-free.
 */
GANG_API gang_result gang_report_tasks(gang_sched *sched, gang_job_id job, int32_t gang,
                                       gang_alloc_id alloc, const int64_t *tasks, size_t count,
                                       int32_t what) GANG_MUST_CHECK;

/** Report that all tasks of a job have ended, with `success` 0 as GANG_TASK_FAILED, otherwise as
 *  GANG_TASK_SUCCEEDED. @return as for the commands above. Any thread; lock-free. */
GANG_API gang_result gang_report_end(gang_sched *sched, gang_job_id job, int32_t success)
    GANG_MUST_CHECK;

/**
 * Reports about nodes. They take effect in the next run, those of one thread in their order.
 * gang_node_set_state() takes effect at once: if the host calls it after the report and before that
 * run, the node keeps the state that it set, and the rest of the report takes effect as usual. If
 * there is no such node, op log gets a message.
 *   lost: the node is GANG_NODE_DOWN and its tasks are lost: op lost asks whether they may still
 *   run; gang_job_spec.loss and the roles of their groups decide what happens to their jobs.
 *   (Slurm: DOWN)
 *   up: the node is GANG_NODE_UP. A drain ends; tasks that were not asked to stop yet run on
 *   draining: the node is GANG_NODE_DRAINING: it accepts no more tasks, and must be empty at
 *   deadline_ns, on the clock of gang_sched_run(). Each gang that has tasks there is asked to stop
 *   (GANG_REASON_DRAIN) one grace period before the deadline, or at once if this time has passed,
 *   whether it is preemptible or not. If its minimum does not need the tasks on the node, only
 *   these stop (op shrink); otherwise the whole job stops and waits again, as after
 *   gang_job_requeue(). INT64_MAX: no deadline; tasks run to their end (Slurm's drain).
 *   gang_sched_next() includes these times. A later report about the node replaces the deadline.
 *   (YARN: graceful decommission with a time-out; Kubernetes: kubectl drain)
 *   To remove a node for good: gang_node_remove() (core.h).
 * Changes of nodes with core.h have the same effect: if a node was up or draining in one run, and
 * is down or removed in the next, the next run, after all its messages, treats the tasks there as
 * lost. If a node goes down and comes up again between two runs, no task is lost, unless the host
 * reports the node lost.
 * @return GANG_OK: the message waits for the next run; GANG_EINVAL; GANG_ENOMEM. Any thread;
 *   lock-free. The run takes O(running tasks) for each node that is lost or whose drain is due, and
 *   O(nodes) after nodes have changed.
 */
GANG_API gang_result gang_report_node_lost(gang_sched *sched, gang_node_id node) GANG_MUST_CHECK;
GANG_API gang_result gang_report_node_up(gang_sched *sched, gang_node_id node) GANG_MUST_CHECK;
GANG_API gang_result gang_report_node_draining(gang_sched *sched, gang_node_id node,
                                               int64_t deadline_ns) GANG_MUST_CHECK;

/** One place on a node where something runs, as found by the host or its agent
 *  (gang_report_places()). */
struct gang_reported_place {
    size_t size; /**< sizeof(struct gang_reported_place) */
    /** GANG_ID_NONE: the place is used by something that is not a job of this scheduler
     *  (*others*) */
    gang_job_id job;
    int64_t task;        /**< number of the task (gang_task.task); 0 without a job */
    int32_t gang;        /**< number of the gang in the job (gang_event.gang); 0 without a job */
    int32_t any_devices; /**< 1: it is not known which devices it uses; `gpus` is ignored */
    uint64_t gpus;       /**< bit i: GPU i, or MIG partition i */
    /** for others: milli-GPUs that they use of each device; 0: the whole device */
    int32_t gpu_share;
    int32_t any_cores; /**< 1: it has no named cores, or they are not known; `cores` is ignored */
    uint64_t cores[GANG_MAX_CORES / 64]; /**< bit i: core i of the node is used by it alone */
    int64_t cpu_milli;    /**< for others: millicores that they use in addition to `cores` */
    int64_t memory_bytes; /**< of others */
};

#define GANG_REPORTED_PLACE_INIT                                           \
    {                                                                      \
        sizeof(struct gang_reported_place), 0, 0, 0, 1, 0, 0, 1, {0}, 0, 0 \
    }

/** Flags of gang_report_places(). */
enum {
    /** The list is complete: tasks that the scheduler has on this node and that are not listed do
     *  not run. They count as reported GANG_TASK_FAILED, or GANG_TASK_STOPPED if they were asked to
     *  stop. The host must not set this flag while it is launching tasks there. */
    GANG_PLACES_COMPLETE = 1
};

/**
 * Report what really runs on a node: at the start of an agent or manager, from time to time, or
 * when an agent finds unknown processes. (Slurm: the registration of a slurmd with its
 * jobs. YARN: that of a NodeManager with its containers. Kubernetes: the checkpoint of devices.)
 * The scheduler's records then follow what runs. No resource is *booked* (recorded as used) twice:
 *   - A task that runs where it is booked: nothing changes. Being listed counts as a heartbeat.
 *   - A task of this node that runs on other devices or cores of it: if these are free, it has them
 *     from now on, and its old ones are free (GANG_LOG_REBOUND). Tasks may have exchanged places.
 *     gang_alloc_each() shows the new places. A task of an exclusive allocation may have any
 *     devices and cores of its node that no other task of it has. A task of a gang that shares
 *     nodes in time may have what no other gang of its row has and, if it runs now, no other
 *     running gang.
 *   - Otherwise the place is in *conflict*: it is booked for others, or by the records no such task
 *     runs there. Op conflict and op log (GANG_LOG_CONFLICT) name both. No job is stopped: the host
 *     decides which of the two must stop.
 *   - What others use, and what a task in conflict uses beyond what it holds, is *held*: an
 *     allocation of no job, which gang_node_each() shows. It takes what is free at once, and what
 *     is booked for another task as soon as that is released, before any job gets it. Only a thread
 *     that allocates on the cluster without the scheduler may get it earlier. No gang comes to a
 *     node that gangs share in time before the conflict is over; the gangs that are there continue
 *     to take turns as booked, and the next report names the conflict again.
 *   - Tasks that are booked on the node and are not listed stay, but see GANG_PLACES_COMPLETE.
 * A report replaces all that earlier reports about the node said of others: what it does not list
 * is free again. What a task holds in conflict is also released when that task ends, and all that
 * is held when the node is removed. A copy of the scheduler also holds it (gang_sched_copy()); a
 * new scheduler holds it after the next reports. The host submits the jobs that it restores before
 * it reports: until then their tasks are GANG_CONFLICT_UNKNOWN.
 * @param places the distance from one to the next is places->size; NULL if count is 0
 * @param flags GANG_PLACES_* or 0
 * @return GANG_OK: the message is left; GANG_EINVAL (no node, an unknown flag, a place that is not
 *   set up, values of others for a job); GANG_ERANGE (gpu_share not 0..1000, a negative number;
 *   more than 2^14 places); GANG_ENOMEM. An unknown node gets a line of op log. Any thread;
 *   lock-free. The run takes O(places^2), more if tasks conflict with each other, and
 *   O(jobs + running tasks) with GANG_PLACES_COMPLETE or a conflict.
 */
GANG_API gang_result gang_report_places(gang_sched *sched, gang_node_id node,
                                        const struct gang_reported_place *places, size_t count,
                                        uint32_t flags) GANG_MUST_CHECK;

/** The tasks of one allocation on a node. Valid during the call. */
struct gang_node_item {
    size_t size; /**< sizeof(struct gang_node_item) of the library */
    gang_node_id node;
    /** job of these tasks, or for which their places are kept; GANG_ID_NONE: the allocation was
     *  made without the scheduler */
    gang_job_id job;
    uint64_t cookie; /**< of the job */
    gang_alloc_id alloc;
    int32_t gang;  /**< number of the gang in the job (gang_event.gang) */
    int32_t state; /**< GANG_JOB_* of the job; GANG_JOB_ENDED if there is no job */
    /** 1: these tasks do not run yet: their places are kept until the victims have stopped; then
     *  the job starts or grows there */
    int32_t kept;
    int32_t reserved0;
    const int64_t *tasks; /**< numbers of the tasks (gang_task.task), ascending; at least one */
    size_t task_count;
};

#define GANG_NODE_ITEM_INIT                                            \
    {                                                                  \
        sizeof(struct gang_node_item), 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0 \
    }

typedef int32_t (*gang_node_fn)(const struct gang_node_item *item, void *user);

/**
 * Visit all allocations that have tasks on a node, in any state of the node: first those of jobs,
 * by id and gang; then places that are kept for jobs; then allocations made without the scheduler,
 * by id. (A suspended job holds nothing, except in time slicing.) Allocations that other threads
 * make or change meanwhile may be missed. The visitor may call functions that only read; it must
 * not change the scheduler or these allocations.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE (the node does not exist and nothing is allocated
 *   there); GANG_EBUSY (another thread is changing an allocation: try again); GANG_ENOMEM; the
 *   visitor's result, which ends the visit if it is not 0. Owner. O(jobs + running tasks).
 */
GANG_API gang_result gang_node_each(gang_sched *sched, gang_node_id node, gang_node_fn visit,
                                    void *user) GANG_MUST_CHECK;

/* ---- reservations -------------------------------------------------------------------------- */

/**
 * Add a reservation (plan.h). The call itself checks the specification, and accepts or refuses the
 * reservation. The reservation does not use capacity of running gangs before their expected ends,
 * as of the last run, nor capacity of other reservations (unless GANG_RESERVATION_IGNORE_JOBS or
 * _OVERLAP is set). Planned starts of jobs do not prevent it; the next run plans them again. Rules
 * for an accepted reservation:
 *   - a gang of any queue starts, resumes, grows or moves only if it leaves the reserved capacity
 *     free, assuming that it runs until its latest end (time limit and grace period). So a gang
 *     without a time limit never uses capacity that is reserved for later. No job gets reserved
 *     capacity by preemption, and gangs that run inside a reservation are not preempted;
 *   - members start inside the reservation: jobs that may be members (gang_reservation_spec.queue,
 *     users, job) and name it (gang_job_spec.reservation), or with GANG_RESERVATION_MAGNETIC need
 *     not name it. They run on its nodes and start only if their time limit and grace period end
 *     before it does. A member without a time limit is asked to stop one grace period before the
 *     end of the reservation (GANG_REASON_TIMEOUT). Queue order, limits and guarantees apply to
 *     members as usual. No job is preempted for a member;
 *   - capacity that no member uses stays free until the reservation ends, is cancelled, changed or
 *     purged, or until the job gang_reservation_spec.job has ended;
 *   - when some of its nodes are no longer up, the next run replaces them by other nodes at the
 *     same time, if there are enough. Otherwise, if the reservation has not begun, it moves to a
 *     later time in its window. Otherwise it is reduced. To find capacity, reservations that were
 *     accepted later are moved or reduced, the newest first. A reduced reservation gets more nodes,
 *     up to its former size, as soon as nodes are up again or become free, before planned starts of
 *     jobs. Op reservation reports each change. Reservations with GANG_RESERVATION_MAINTENANCE or
 *     of nodes by name keep their nodes and use them again when they are up;
 *   - a job that still runs on its nodes when the reservation begins (because the reservation
 *     ignores running jobs, or the job exceeded its time limit or got a longer one) is not
 *     preempted: op reservation names it (GANG_RESERVATION_BEGIN).
 * For a recurring reservation, the next 8 instances are planned at any time. It is refused if one
 * of the first 8 does not fit. A later instance that does not fit is skipped
 * (GANG_RESERVATION_SKIPPED); planned starts of jobs do not prevent it.
 * The plan counts amounts of cores, memory and GPUs on each node. Which GPUs a member gets is
 * decided when it starts.
 * @param id receives the id
 * @param when_ns accepted: start of the first instance. Refused with GANG_ENOFIT: the earliest
 *   start at or after arrival_ns, possibly after deadline_ns, at which it would be accepted as
 *   things are now; INT64_MAX: none was found. May be NULL
 * @return GANG_OK; GANG_ENOFIT: it does not fit in its window; GANG_ENEVER: it is larger than the
 *   cluster; GANG_ELIMIT: it exceeds the limit of its owner (gang_reservation_set_limit()), or has
 *   too many stages; GANG_EEXIST (name); GANG_EINVAL, GANG_ERANGE, GANG_ENOENT (queue, job, node,
 *   level, domain, label...); GANG_ENOTSUP (reservations do not support this member, see the path);
 *   GANG_EBUSY (called from a callback); GANG_ENOMEM. `error` has the path: "stages[0].nodes[3]: no
 *   such node". On an error nothing changed.
 * Owner. May allocate: less than 1 KiB for each piece and 16 bytes for each of its nodes; while
 * members start in it, about 150 bytes for each node of the cluster. Cost, with E plan items that
 * begin or end in the window and I instances: GANG_OBJECTIVE_EARLIEST searches the timeline I times
 * for each piece, and again each time that an instance or a limit moves the start; _LATEST tries up
 * to E * I starts, in O(nodes) each; _CHEAPEST takes O(E * I * log E), and tries a bounded number
 * of starts. A refusal takes about three times as long, and tries up to 64 starts.
 */
GANG_API gang_result gang_reservation_add(gang_sched *sched,
                                          const struct gang_reservation_spec *spec,
                                          gang_reservation_id *id, int64_t *when_ns,
                                          struct gang_error *error) GANG_MUST_CHECK;

/** Change a reservation. `spec` is the complete new specification, with its name. It is placed as
 *  if the old one did not exist; on a refusal the old one stays unchanged. A reservation that has
 *  begun keeps those of its nodes that the new specification needs, from now to its new end.
 *  Members on other nodes run on as jobs outside; until they end, all reservations on their nodes
 *  share what is free. Results as for gang_reservation_add(); also GANG_ESTALE. Owner. */
GANG_API gang_result gang_reservation_change(gang_sched *sched, gang_reservation_id id,
                                             const struct gang_reservation_spec *spec,
                                             int64_t *when_ns, struct gang_error *error)
    GANG_MUST_CHECK;

/** Cancel a reservation with all its instances. Running members run on as jobs outside; waiting
 *  members wait like other jobs. @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (called from
 *  a callback). Owner. */
GANG_API gang_result gang_reservation_cancel(gang_sched *sched, gang_reservation_id id)
    GANG_MUST_CHECK;

/** Read a reservation. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (ended, cancelled). Owner. */
GANG_API gang_result gang_reservation_get(gang_sched *sched, gang_reservation_id id,
                                          struct gang_reservation_info *info) GANG_MUST_CHECK;

/** Iterate over the reservations in the order of acceptance: GANG_ID_NONE gives the first, an id
 *  the next one; the result after the last is GANG_ID_NONE. Owner. */
GANG_API gang_reservation_id gang_reservation_next(gang_sched *sched, gang_reservation_id id);

/** Id of a reservation by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Owner. */
GANG_API gang_result gang_reservation_find(gang_sched *sched, const char *name,
                                           gang_reservation_id *id) GANG_MUST_CHECK;

typedef int32_t (*gang_plan_fn)(const struct gang_plan_item *item, void *user);

/** Visit the *pieces* of a reservation that have not ended, by start. A piece is a part of an
 *  instance with one time and one set of nodes: an instance has several if it has several stages,
 *  or if the gangs of a stage run at different times. @return GANG_OK; GANG_EINVAL; GANG_ESTALE;
 *  GANG_ENOMEM; the visitor's result: a value other than 0 ends the visit. Owner. */
GANG_API gang_result gang_reservation_pieces(gang_sched *sched, gang_reservation_id id,
                                             gang_plan_fn visit, void *user) GANG_MUST_CHECK;

/**
 * Limit how much a user may reserve from now on. Existing reservations stay.
 * @param owner the user (gang_reservation_spec.owner); NULL: each user for whom no limit is set
 * @param limit NULL: none
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE; GANG_ENOMEM; GANG_EBUSY (called from a callback).
 *   Owner.
 */
GANG_API gang_result gang_reservation_set_limit(gang_sched *sched, const char *owner,
                                                const struct gang_reservation_limit *limit,
                                                struct gang_error *error) GANG_MUST_CHECK;

/** Visit the plan as of the last run: first running gangs, by job; then planned starts, by job;
 *  then pieces of reservations. The visitor may call functions that only read. @return GANG_OK;
 *  GANG_EINVAL; GANG_ENOMEM; the visitor's result: a value other than 0 ends the visit. Owner.
 *  O(size of the plan). */
GANG_API gang_result gang_plan_each(gang_sched *sched, gang_plan_fn visit, void *user)
    GANG_MUST_CHECK;

/* ---- why it waits -------------------------------------------------------------------------- */

/** Categories of reasons (gang_wait.category). */
enum {
    GANG_WAIT_CATEGORY_NOT_NOW = 0, /**< it can start when other jobs end */
    GANG_WAIT_CATEGORY_NEVER = 1,   /**< it cannot start with the present configuration */
    GANG_WAIT_CATEGORY_HELD = 2,    /**< a hold or a dependency prevents its start */
    /** there is free capacity, but a rule keeps it for other jobs */
    GANG_WAIT_CATEGORY_POLICY = 3
};

/** Reasons. */
enum {
    GANG_WAIT_CAPACITY = 1,  /**< too little free capacity: see gang_request_explain() */
    GANG_WAIT_LIMIT = 2,     /**< the limit of `queue` */
    GANG_WAIT_GUARANTEE = 3, /**< it is not preemptible and would exceed the guarantee of `queue` */
    GANG_WAIT_USER_LIMIT = 4, /**< the user's limit in `queue` */
    /** the maximum number of running jobs in `queue`, or of its user there */
    GANG_WAIT_MAX_RUNNING = 5,
    GANG_WAIT_HOLD = 6,   /**< gang_job_hold() */
    GANG_WAIT_AFTER = 7,  /**< it depends on the job `blocker` */
    GANG_WAIT_QUEUE = 8,  /**< `queue` is closed */
    GANG_WAIT_BEHIND = 9, /**< strict order (GANG_BLOCK_STRICT): `blocker` comes first */
    /** it is not tried before until_ns: the host refused it, it was restarted, or start_within_ns
     *  passed */
    GANG_WAIT_BACK_OFF = 10,
    GANG_WAIT_VICTIMS = 11, /**< its victims have not stopped yet */
    GANG_WAIT_CELLS = 12,   /**< it would break cells that are guaranteed to `queue` */
    /** the free capacity belongs to `queue`, which does not lend it
     *  (gang_queue_spec.lending_limit) */
    GANG_WAIT_LENDING = 13,
    /** It has not been tried yet: the run reached max_steps, or the job came after the last run. */
    GANG_WAIT_NOT_TRIED = 14,
    /** until_ns > 0: it has a planned start at this time, on the nodes that `text` names. until_ns
     *  = 0: it would delay the planned start of `blocker`. */
    GANG_WAIT_PLANNED = 15,
    GANG_WAIT_BEGIN = 16, /**< gang_job_spec.begin_ns is in the future: until_ns */
    /** `blocker` is starved and may not be bypassed (gang_queue_spec.max_bypasses) */
    GANG_WAIT_STARVED = 17,
    GANG_WAIT_SLICE = 18, /**< it waits for its time slice, which is expected at until_ns */
    /** It names a reservation that begins at until_ns, or that has too little capacity or time left
     *  for it. Or it names none, and the capacity is reserved for other jobs from until_ns on.
     *  `text` says which. */
    GANG_WAIT_RESERVATION = 19,
    /** its preferred domains have no room; from until_ns on it accepts others
     *  (gang_job_spec.prefer_wait_ns) */
    GANG_WAIT_PREFER = 20,
    /** the maximum number of jobs of its array run (gang_job_spec.array_max_running) */
    GANG_WAIT_ARRAY = 21,
    /** `requested` - `used` of its announced tasks have not come yet (gang_job_spec.announced);
     *  `group` is the first group that lacks some. At until_ns (0: never) it becomes complete with
     *  the tasks that have come, or ends. */
    GANG_WAIT_ANNOUNCED = 22,
    /** A budget of `queue` does not suffice (gang_queue_spec.budgets). In units times seconds:
     *  `requested` is what the job needs for its time limit (GANG_BUDGET_SAFE), `used` is what is
     *  used or set aside for running jobs. until_ns: next renewal. */
    GANG_WAIT_BUDGET = 23
};

/** One reason why a job waits. Valid during the call. */
struct gang_wait {
    size_t size;         /**< sizeof(struct gang_wait) of the library */
    int32_t reason;      /**< GANG_WAIT_CAPACITY and the others */
    int32_t category;    /**< GANG_WAIT_CATEGORY_* */
    gang_queue_id queue; /**< or GANG_ID_NONE */
    int32_t kind;        /**< number of the kind, or -1 */
    int32_t group;       /**< group, or -1 */
    int64_t requested; /**< what the gang requests, in the unit of the kind, or a number of jobs */
    int64_t used;      /**< of limit */
    int64_t limit;
    gang_job_id blocker; /**< the job that is in the way, or GANG_ID_NONE */
    int64_t until_ns;    /**< or 0 */
    const char *text;    /**< one English line */
    /** the partition (gang_job_spec.partitions) in which this reason applies; NULL: it applies in
     *  each of them, or the job has none */
    const char *partition;
};

#define GANG_WAIT_INIT                                                     \
    {                                                                      \
        sizeof(struct gang_wait), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL \
    }

typedef int32_t (*gang_wait_fn)(const struct gang_wait *wait, void *user);

/**
 * Visit the reasons why a job waits, the decisive one first. A job that does not wait has none.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM; the visitor's result: a value other than
 *   0 ends the visit. Owner. O(nodes).
 */
GANG_API gang_result gang_job_explain(gang_sched *sched, gang_job_id id, gang_wait_fn visit,
                                      void *user) GANG_MUST_CHECK;

/**
 * The same as one JSON object without line feed:
 * @code
 * {"job":7,"name":"..","state":"pending","category":"not now","text":"..",
 *  "reasons":[{"reason":"limit","category":"not now","queue":"a","kind":"gpu",
 *              "requested":..,"used":..,"limit":..,"partition":"..","text":".."}],
 *  "preemption":{"outcome":"protected","text":"..","moves":"amounts","gangs":..,"takeable":..,
 *                "together":..,
 *                "rules":[{"rule":"share","queue":"b","gangs":..,"tasks":..,"jobs":[..],
 *                          "kind":"gpu","used":..,"bound":..,"requested":..,"text":".."}],
 *                "queues":[{"queue":"a","preemptor":true,"turn":1,"siblings":2,"running":..,
 *                           "amounts":[{"kind":"gpu","requested":..,"guarantee":..,"share":..,
 *                                       "used":..,"limit":..}]}]},
 *  "placement":{...}}
 * @endcode
 * Members that do not apply are left out. "placement" is the object of
 * gang_request_write_explanation(), present if the reason is capacity. "preemption" is the answer
 * of gang_job_explain_preemption(), present if the job waits and the call does not come from an op;
 * amounts of kinds that are not managed are null.
 * @return as for gang_job_explain(); GANG_EIO (`write` refused). Owner. O(nodes), plus the cost of
 *   gang_job_explain_preemption().
 */
GANG_API gang_result gang_job_write_explanation(gang_sched *sched, gang_job_id id,
                                                gang_write_fn write, void *user) GANG_MUST_CHECK;

/* ---- why it preempts no other job ---------------------------------------------------------- */

/** Outcome: what preemption does for a job as things are now. GANG_PREEMPTION_PROTECTED to
 *  _OBSERVED: preemption was tried and failed; of several attempts, the outcome is that of the one
 *  that came farthest. */
enum {
    GANG_PREEMPTION_NONE = 0, /**< the job does not wait */
    /** the next run preempts or moves gangs for it, unless something changes before */
    GANG_PREEMPTION_NEXT = 1,
    GANG_PREEMPTION_OFF = 2,       /**< gang_sched_opts.no_preemption */
    GANG_PREEMPTION_NEVER = 3,     /**< gang_job_spec.never_preempts */
    GANG_PREEMPTION_VICTIMS = 4,   /**< gangs are already stopping for it */
    GANG_PREEMPTION_NOT_TRIED = 5, /**< the job has not been tried yet */
    GANG_PREEMPTION_REASON = 6,    /**< it waits for something that preemption cannot give */
    GANG_PREEMPTION_SUSPENDED = 7, /**< it is suspended, and resumes only at its old places */
    GANG_PREEMPTION_SLICE = 8,     /**< it is in time slicing and waits for a row */
    /** it starts inside a reservation; no job is preempted for a member */
    GANG_PREEMPTION_RESERVATION = 9,
    /** gangs were stopped for it before, but it could not start; no gang is preempted for it before
     *  the next event */
    GANG_PREEMPTION_FAILED = 10,
    /** `blocker` is tried before it: both wait for the same thing, or the queue has strict order */
    GANG_PREEMPTION_BEHIND = 11,
    GANG_PREEMPTION_PROTECTED = 12, /**< each running gang is protected by a rule */
    /** even if all gangs that it may preempt together were stopped, it would not fit, or its queues
     *  would not allow it to start */
    GANG_PREEMPTION_CAPACITY = 13,
    /** even then a limit of its queues or of its user would prevent its start */
    GANG_PREEMPTION_LIMIT = 14,
    /** its queue would use a larger part of its fair share than the queue of the victims
     *  (gang_sched_opts.saturation) */
    GANG_PREEMPTION_FULLER = 15,
    /** a victim in its own part of the tree could start again beside it, and the job would then not
     *  be entitled to what it takes from other queues */
    GANG_PREEMPTION_PRETEXT = 16,
    /** the gangs that would have to stop may not all be preempted: a queue of victims would fall
     *  below its fair share or its guarantee */
    GANG_PREEMPTION_GUARANTEE = 17,
    GANG_PREEMPTION_MAX_TASKS = 18, /**< gang_sched_opts.max_preempted_tasks */
    GANG_PREEMPTION_OBSERVED = 19,  /**< gang_sched_opts.observe_only */
    /** it is not preemptible and exceeds a guarantee, so it starts only on free capacity
     *  (GANG_NONPREEMPTIBLE_LIMIT) */
    GANG_PREEMPTION_ABOVE_GUARANTEE = 20
};

/** Why no gang is moved for a job (gang_preemption.moves). */
enum {
    /** moves were tried; unless the outcome is GANG_PREEMPTION_NEXT, none helps */
    GANG_MOVES_TRIED = 0,
    GANG_MOVES_OFF = 1, /**< gang_sched_opts.max_moves is -1 */
    /** it has a planned start; or it is in time slicing and other jobs have planned starts */
    GANG_MOVES_PLANNED = 2,
    GANG_MOVES_AMOUNTS = 3, /**< the cluster has less free capacity than it requests */
    GANG_MOVES_LIMIT = 4    /**< a limit, a guarantee or a lending limit prevents its start */
};

/** Rules that protect running gangs from the *preemptor*, the job that is explained. "Its" refers
 *  to the running gang. */
enum {
    GANG_PROTECTED_NOT = 0, /**< none: the preemptor may preempt each of them */
    GANG_PROTECTED_JOB = 1, /**< it is not preemptible, or has no task above its minimum that is */
    GANG_PROTECTED_QUEUE = 2, /**< gang_queue_spec.no_preemption of its queue or of a queue above */
    /** it is stopping or moving; or gangs are stopping for it, or have stopped for its row and its
     *  first time slice has not begun */
    GANG_PROTECTED_STOPPING = 3,
    GANG_PROTECTED_MIN_RUNTIME = 4, /**< gang_queue_spec.min_runtime_ns; it ends at until_ns */
    GANG_PROTECTED_SAME_JOB = 5,
    GANG_PROTECTED_RESERVATION = 6,   /**< it runs inside a reservation */
    GANG_PROTECTED_WITHIN_NEVER = 7,  /**< gang_queue_spec.within of the preemptor's queue */
    GANG_PROTECTED_RECLAIM_NEVER = 8, /**< gang_queue_spec.reclaim of the preemptor's queue */
    /** Its priority is not below that of the preemptor; with GANG_PREEMPT_LOWER_OR_NEWER it is not
     *  newer either. */
    GANG_PROTECTED_PRIORITY = 9,
    GANG_PROTECTED_GUARANTEE = 10, /**< its queue uses no more than its guarantee */
    GANG_PROTECTED_SHARE = 11,     /**< its queue uses no more than its fair share */
    /** The preemptor's queue would exceed its fair share. */
    GANG_PROTECTED_PREEMPTOR_SHARE = 12,
    /** its queue uses more than its guarantee but no more than its fair share, and the preemptor's
     *  queue would exceed its guarantee */
    GANG_PROTECTED_PREEMPTOR_GUARANTEE = 13,
    /** it was preempted for the preemptor's queue before (gang_sched_opts.preempt_cooldown_ns) */
    GANG_PROTECTED_COOLDOWN = 14,
    /** the preemptor was preempted for its job before (gang_sched_opts.preempt_cooldown_ns) */
    GANG_PROTECTED_COOLDOWN_JOB = 15,
    /** GANG_PREEMPT_USER_LIMIT: its user is not above its user limit, or would fall below it. */
    GANG_PROTECTED_USER_LIMIT = 16,
    /** GANG_PREEMPT_USER_LIMIT: the user of the preemptor would exceed its user limit. */
    GANG_PROTECTED_PREEMPTOR_USER_LIMIT = 17,
    /** gang_queue_spec.across: its priority is not below that of the preemptor, or it is above
     *  across_max_priority; nor may the preemptor's queue reclaim from it. */
    GANG_PROTECTED_ACROSS = 18,
    /** it outranks the preemptor (gang_queue_spec.across, preempt_class), whose queue is entitled
     *  only by its fair share, not by its guarantee */
    GANG_PROTECTED_OUTRANKS = 19
};

enum { GANG_PREEMPTION_JOBS = 3 /**< maximum number of jobs in gang_preemption_rule.jobs */ };

/** Running gangs of one queue that are protected by one rule. */
struct gang_preemption_rule {
    int32_t rule; /**< GANG_PROTECTED_* */
    /** kind of `used`, `bound` and `requested`; -1: they are priorities or do not apply */
    int32_t kind;
    /** leaf of the gangs; GANG_ID_NONE: all queues that are not listed separately */
    gang_queue_id queue;
    gang_queue_id bound_queue; /**< queue whose amounts decide, or GANG_ID_NONE */
    int64_t gangs;
    int64_t tasks; /**< running tasks of these gangs */
    /** For rules about shares and guarantees: what bound_queue uses, its share or guarantee, and
     *  what the preemptor requests, in the unit of the kind. GANG_PROTECTED_PREEMPTOR_USER_LIMIT:
     *  the same for the preemptor's user. For rules about priorities: `bound` is the lowest
     *  priority of the gangs; they could be preempted if it were below `requested` (the preemptor's
     *  priority, or across_max_priority + 1). */
    int64_t used;
    int64_t bound;
    int64_t requested;
    /** time at which the first of them is no longer protected by this rule; 0: none */
    int64_t until_ns;
    int32_t job_count;
    int32_t reserved0;
    /** the first jobs of these gangs, in the order in which they would be preempted */
    gang_job_id jobs[GANG_PREEMPTION_JOBS];
    const char *text; /**< one English line */
};

/** Entitlement and usage of a queue, for one kind, in its unit. */
struct gang_preemption_amount {
    int32_t kind;
    int32_t reserved0;
    const char *partition; /**< amounts on nodes of this partition; NULL: on all nodes */
    int64_t requested;     /**< what the preemptor requests */
    int64_t guarantee;     /**< in force; GANG_UNLIMITED: not managed */
    int64_t share;         /**< fair share; GANG_UNLIMITED: not managed */
    int64_t used;
    int64_t limit; /**< in force; GANG_UNLIMITED: none */
};

/** A queue of the preemptor or of running gangs, or a queue above one of these. */
struct gang_preemption_queue {
    gang_queue_id queue;
    const char *name;
    int32_t preemptor; /**< 1: the queue of the preemptor, or a queue above it */
    /** turn: position of the queue, from 1, among the children of its parent, if each of them had a
     *  gang with the preemptor's request to start; siblings: number of these children */
    int32_t turn;
    int32_t siblings;
    int32_t reserved0;
    int64_t running;                              /**< jobs, in it and below */
    const struct gang_preemption_amount *amounts; /**< for each kind that the preemptor requests */
    size_t amount_count;
};

enum {
    GANG_PREEMPTION_QUEUES = 32, /**< maximum number of queues that are listed */
    GANG_PREEMPTION_RULES = 128  /**< maximum number of entries in `rules` */
};

/** Explanation of preemption for one job. */
struct gang_preemption {
    size_t size;     /**< sizeof(struct gang_preemption) of the library */
    int32_t outcome; /**< GANG_PREEMPTION_* */
    int32_t moves; /**< GANG_MOVES_*; valid if rule_count is not 0, that is if attempts were made */
    int32_t gang;  /**< number of the gang of the job that waits (gang_event.gang) */
    int32_t reserved0;   /**< 0 */
    gang_job_id blocker; /**< for GANG_PREEMPTION_BEHIND; otherwise GANG_ID_NONE */
    int64_t gangs;       /**< number of running gangs that were considered */
    int64_t takeable;    /**< number of these gangs that no rule protects, each considered alone */
    /** largest number of victims (gangs, or tasks above a minimum) that the rules allow one attempt
     *  to take together */
    int64_t together;
    const char *text;       /**< one English line about the outcome */
    const char *moves_text; /**< one English line about why no gang is moved; "": see `text` */
    /** Queues: first the queue of the preemptor and those above it; then the queues of running
     *  gangs, each with the queues above it that are not listed yet. Entry i is i * queue_size
     *  bytes after the first. */
    const struct gang_preemption_queue *queues;
    size_t queue_count;
    size_t queue_size;
    /** rules, by queue; entry i is i * rule_size bytes after the first */
    const struct gang_preemption_rule *rules;
    size_t rule_count;
    size_t rule_size;
};

#define GANG_PREEMPTION_INIT                                                                       \
    {                                                                                              \
        sizeof(struct gang_preemption), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, NULL, 0, 0 \
    }

/**
 * Explain why a waiting job preempts no other job: for all running gangs the rule that protects
 * them, and for the queues involved their shares, usage and order. For a job with several gangs,
 * the first one that waits is explained.
 *
 * The rules consider each running gang alone, with the present usage. The outcome comes from a dry
 * run of the attempts that the next run would make, which considers victims together. So
 * GANG_PREEMPTION_NEXT with `takeable` 0 means that gangs are only moved. If jobs have planned
 * starts, the next run first plans again, and may find that the job waits for another reason. The
 * size of the answer is bounded.
 * @param out receives the explanation; free it with gang_preemption_free()
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (called from a callback); GANG_ENOMEM. On
 *   an error *out is NULL.
 * Owner. Has no effect on later decisions. The time is that of the last run; shares are computed
 * again, as in gang_queue_get(). May allocate. Cost: O(running gangs + queues) plus one attempt to
 * preempt, as in gang_sched_run(); do not call it for each job after each run.
 */
GANG_API gang_result gang_job_explain_preemption(gang_sched *sched, gang_job_id id,
                                                 struct gang_preemption **out) GANG_MUST_CHECK;

/** Free an explanation. NULL is allowed. Any thread. */
GANG_API void gang_preemption_free(struct gang_preemption *preemption);

/** Audit, for tests of hosts: compares the scheduler's counters with the sums over its jobs, queues
 *  and allocations.
 *  @return GANG_OK; GANG_EINVAL with the first discrepancy in `error`; GANG_ENOMEM. Owner.
 *  O(size of the scheduler's state). */
GANG_API gang_result gang_sched_check(gang_sched *sched, struct gang_error *error) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
