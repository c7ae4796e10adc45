/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sched.h
 * @brief What now: jobs in queues, the scheduling cycle, preemption, and the host's callbacks.
 *
 * A *scheduler* owns jobs and queues on one cluster. The host submits jobs, reports what happens to
 * tasks, and calls gang_sched_run() at the times that gang_sched_next() gives. The scheduler
 * decides only inside gang_sched_run(), and calls the host back there: start this gang, stop that
 * one.
 *
 * Caveats first
 *   - Two thread rules. *Any thread*: submit jobs, send commands, send reports. Such a call leaves
 *     a message, never waits, and takes effect in the next run. *Owner*: everything else. One
 *     thread at a time acts as the owner; during a run no other thread does. Other threads read
 *     jobs and queues in views, which the owner publishes (view.h).
 *   - Time is what the host passes as `now_ns` of a run. It must never go backwards.
 *   - The host may allocate on the same cluster without the scheduler (place.h). The scheduler then
 *     sees less free capacity. Nodes are changed with core.h, before the run that is to see the
 *     change.
 *   - The library keeps no thread and no clock. gang_run_opts.max_steps bounds a run.
 *
 * Life of a job
 *   submit -> PENDING (held, or waiting for other jobs, if so specified) -> op start -> RUNNING ->
 *   ENDED (succeeded, failed, cancelled, preempted, timed out). Preemption: op preempt asks the job
 *   to stop -> STOPPING. The host reports that the tasks have stopped, or the grace period passes
 *   and op kill follows -> PENDING again (or SUSPENDED, or ENDED). The scheduler forgets an ended
 *   job at the end of the run that ended it; op state reports the end.
 *
 * Order of callbacks, for one job
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
    GANG_JOB_PENDING = 0, /**< waits for capacity, or for what it depends on */
    GANG_JOB_RUNNING = 1, /**< has an allocation */
    /** It was asked to stop and still holds its allocation; or lost tasks of it may still run
     *  (gang_host_ops.lost). Or it has stopped and starts again on other nodes as soon as all
     *  gangs of the same plan have stopped (GANG_REASON_MOVE). */
    GANG_JOB_STOPPING = 2,
    /** Preempted: holds nothing and resumes on its old nodes and devices. Time slicing: waits
     *  for its first or next time slice, and holds the resources that are not shared in time
     *  (gang_job_info.slice_row is not 0). */
    GANG_JOB_SUSPENDED = 3,
    GANG_JOB_ENDED = 4
};

/** How a job ended. */
enum {
    GANG_END_NONE = 0, /**< it has not ended */
    GANG_END_SUCCESS = 1,
    GANG_END_FAILED = 2,    /**< tasks failed or were lost */
    GANG_END_CANCELLED = 3, /**< gang_job_cancel(); or a job that it depends on did not succeed */
    GANG_END_PREEMPTED = 4, /**< preempted, in a queue with GANG_PREEMPT_MODE_CANCEL */
    GANG_END_TIMEOUT = 5,   /**< ran for its time limit */
    /** not started within start_within_ns; or announced, and too few of its tasks came */
    GANG_END_UNSTARTED = 6,
    /** the scheduler could not accept it after all; the text of op state says why */
    GANG_END_REFUSED = 7,
    GANG_END_DEADLINE = 8 /**< it could no longer end by its deadline */
};

/** A job now. */
struct gang_job_info {
    size_t size; /**< sizeof(struct gang_job_info) */
    gang_job_id id;
    gang_queue_id queue;
    uint64_t cookie;
    /** of its first gang; GANG_ID_NONE: it holds nothing. See gang_job_alloc() */
    gang_alloc_id alloc;
    int32_t state; /**< GANG_JOB_* */
    int32_t end;   /**< GANG_END_* */
    int32_t held;  /**< 1: waits for gang_job_release() */
    int32_t preemptible;
    int64_t priority;
    int64_t tasks;        /**< tasks that it has now */
    int64_t min;          /**< tasks that must run */
    int64_t count;        /**< tasks that it can use; gang_job_set_target() lowers it */
    int64_t submitted_ns; /**< now_ns of the run that accepted it */
    int64_t started_ns;   /**< now_ns of the last start; 0: it never started */
    int64_t restarts;     /**< restarts after lost tasks */
    int64_t preemptions;  /**< times that the whole gang was preempted */
    const char *name;     /**< valid until the next run or command of the owner */
    const char *user;     /**< valid until the next run or command of the owner */
    /** Latest planned start as things are now; 0: it has no planned start
     *  (gang_queue_spec.backfill). */
    int64_t planned_ns;
    /** Latest time at which it is stopped, by its time limit (with extensions) and its deadline;
     *  0: no bound, or it does not run. */
    int64_t ends_ns;
    int64_t predicted_ns; /**< run time that op predict returned; 0: none */
    int64_t bypassed;     /**< jobs that bypassed it (gang_queue_spec.max_bypasses) */
    int32_t starved;      /**< 1: no other job may bypass it any more */
    int32_t reserved0;
    /** Row of its first gang in a matrix of time slices, from 1; 0: it is in none
     *  (gang_queue_spec.quantum_ns). Rows run in this order, round and round; they are
     *  renumbered when a row comes or goes. */
    int32_t slice_row;
    int32_t reserved1;
    /** Time since its start that it waited for its time slices; time limits do not count it. */
    int64_t suspended_ns;
    /** tasks that have not come yet (gang_job_spec.announced); 0: the job is complete */
    int64_t missing;
    /** With GANG_ORDER_MULTIFACTOR: the sum by which it was ordered last, in millionths; else 0. */
    int64_t multifactor_priority;
};

#define GANG_JOB_INFO_INIT                                                                        \
    {                                                                                             \
        sizeof(struct gang_job_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                       \
    }

/* ---- callbacks ----------------------------------------------------------------------------- */

/** What a callback is about. Valid during the call. */
struct gang_event {
    size_t size; /**< sizeof(struct gang_event) of the library */
    gang_job_id job;
    uint64_t cookie; /**< of the job */
    /** The allocation concerned (gang_alloc_each() shows its tasks); GANG_ID_NONE: none. */
    gang_alloc_id alloc;
    int32_t gang;  /**< which gang of the job: 0, or more with gang_job_spec.group_after */
    int32_t state; /**< GANG_JOB_*, after the event */
    /** GANG_END_*. Ops preempt, suspend, shrink and kill: how the job ends when all its tasks have
     *  stopped; GANG_END_NONE: it goes on, or waits again. */
    int32_t end;
    int32_t reason; /**< GANG_REASON_* */
    /** Numbers of tasks (gang_task.task), ascending. Op grow: the new tasks. Op lost: the tasks
     *  that are out of reach. Op shrink, and op kill after it: of the tasks that are to stop those
     *  that have not stopped yet. Other ops: NULL. Ops preempt, suspend and kill then mean each
     *  task that gang_alloc_each() shows. */
    const int64_t *tasks;
    size_t task_count;
    /** ops preempt, shrink, suspend: when op kill follows; op lost: when the fence ends; otherwise
     *  0 */
    int64_t deadline_ns;
    /** Ops preempt, suspend, shrink and kill: the job for which this one is preempted;
     *  GANG_ID_NONE: none */
    gang_job_id preemptor;
    int64_t now_ns;   /**< of the run */
    const char *text; /**< one English line, never NULL */
};

#define GANG_EVENT_INIT                                                        \
    {                                                                          \
        sizeof(struct gang_event), 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0, 0, NULL \
    }

/** Why a gang or tasks are asked to stop. */
enum {
    GANG_REASON_NONE = 0,
    /** for another job of its queue (gang_queue_spec.within), or for one that outranks it */
    GANG_REASON_PREEMPT = 1,
    GANG_REASON_RECLAIM = 2, /**< for a queue that is entitled to the capacity */
    /** The gang starts again on other nodes, or tasks above its minimum do. A placeholder keeps
     *  its new capacity until all gangs that the same plan asked to stop have stopped. Until then
     *  it stays STOPPING, and its queues count it as running. */
    GANG_REASON_MOVE = 3,
    GANG_REASON_STALE = 4,    /**< its gang was below its minimum for longer than stale_ns */
    GANG_REASON_TIMEOUT = 5,  /**< it reached its time limit */
    GANG_REASON_CANCEL = 6,   /**< gang_job_cancel() */
    GANG_REASON_LOSS = 7,     /**< some of its tasks were lost */
    GANG_REASON_TARGET = 8,   /**< gang_job_set_target() */
    GANG_REASON_END = 9,      /**< the job is over (its chief ended, a critical task failed) */
    GANG_REASON_SLICE = 10,   /**< its time slice has ended; the next row runs */
    GANG_REASON_REQUEUE = 11, /**< gang_job_requeue() */
    /** its node is to be empty by a deadline: gang_report_node_draining() */
    GANG_REASON_DRAIN = 12
};

/** What a message for operators is about (gang_log_entry.code). More codes may come. */
enum {
    GANG_LOG_OTHER = 0,
    GANG_LOG_REFUSED = 1, /**< the host refused a start, more tasks, a resume or a suspend */
    GANG_LOG_UNKNOWN = 2, /**< the host does not know what it is asked to stop (GANG_ENOENT) */
    /** a report or command is ignored: it names no job, task, allocation or node that it could
     *  concern, or comes too late */
    GANG_LOG_IGNORED = 3,
    GANG_LOG_PLACES_LOST = 4, /**< a job cannot run where it was to start or resume */
    GANG_LOG_STARVED = 5,     /**< no job bypasses this one from now on */
    GANG_LOG_OBSERVED = 6,    /**< observe_only: tasks would be preempted for this job */
    /** tasks that stop no more are reported stopped: the kill came first, say */
    GANG_LOG_LATE = 7,
    GANG_LOG_CONFLICT = 8, /**< gang_report_places(): a node runs what the books do not have */
    GANG_LOG_REBOUND = 9,  /**< gang_report_places(): the books followed tasks of a job */
    /** Others were stopped for this job, and a job that is entitled to more gets what they free,
     *  before the host has heard that this one starts or grows. */
    GANG_LOG_PASSED_ON = 10
};

/** A message for operators. Valid during the call. */
struct gang_log_entry {
    size_t size;         /**< sizeof(struct gang_log_entry) of the library */
    int32_t level;       /**< as of op log */
    int32_t code;        /**< GANG_LOG_* */
    gang_job_id job;     /**< GANG_ID_NONE: none */
    gang_queue_id queue; /**< of the job; GANG_ID_NONE: none, or no such job */
    uint64_t cookie;     /**< of the job; 0: none, or no such job */
    int64_t now_ns;      /**< of the run */
    const char *text;    /**< one English line, never NULL */
};

#define GANG_LOG_ENTRY_INIT                                   \
    {                                                         \
        sizeof(struct gang_log_entry), 0, 0, 0, 0, 0, 0, NULL \
    }

/**
 * What an event holds, op by op. `end` is GANG_END_NONE but where the table says so. `job`,
 * `cookie`, `gang`, `now_ns` and `text` are always set, `alloc` unless the gang holds nothing.
 * @code
 * op       state               tasks             deadline_ns     an answer other than 0
 * start    RUNNING             -                 -               refused: tried again later
 * grow     RUNNING             the new ones      -               refused: undone
 * resume   RUNNING             -                 -               refused: tried again later
 * shrink   RUNNING             those to stop     op kill follows they have stopped (1)
 * preempt  STOPPING, end (2)   - (all shown)     op kill follows they have stopped (1)
 * suspend  STOPPING            - (all shown)     op kill follows op preempt instead (1)
 * kill     STOPPING, end (2)   - (all shown)     -               they have stopped (1)
 * kill     RUNNING (3)         of shrink: rest   -               they have stopped (1)
 * lost     RUNNING, STOPPING   those out of      fence ends      fenced; 0, GANG_ENOENT: over
 *                              reach
 * state    the new one; ENDED: -                 -               ignored
 *          end says how
 * predict  PENDING             -                 -               the run time, in ns
 * overrun  RUNNING             -                 -               more time, in ns
 *
 * (1) GANG_EBUSY: not stopped, asked again; GANG_ENOENT: the host does not know them.
 * (2) How the job ends when all has stopped; GANG_END_NONE: it waits again, or goes on.
 * (3) After shrink: the gang runs on.
 * All ops run on the owner's thread, inside gang_sched_run(); `may` and `wake` on any thread.
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
 *   granted --start, grow--> runs --GANG_TASK_SUCCEEDED, _FAILED, _IDLE--> over
 *                             +--shrink, preempt, suspend--> stops --_STOPPED, or kill--> over
 *                             +--lost (out of reach)--> fenced --report, fence_ns--> over
 * @endcode
 */

/** Why a place that was reported is not as in the books (gang_report_places()). */
enum {
    GANG_CONFLICT_TAKEN = 1, /**< what it uses belongs to another task or allocation */
    /** No such task runs: its job has ended, waits, or is not known; or the task was not granted,
     *  or has stopped. (YARN: a container of an application that is over. Stop it.) */
    GANG_CONFLICT_UNKNOWN = 2,
    GANG_CONFLICT_ELSEWHERE = 3, /**< the task is booked on another node, or is reported twice */
    /** the node has no such devices or cores, or a task runs on more, fewer or others than its
     *  group requests */
    GANG_CONFLICT_UNSUITABLE = 4
};

/** A difference between a node and the books. Valid during the call. */
struct gang_place_conflict {
    size_t size; /**< sizeof(struct gang_place_conflict) of the library */
    gang_node_id node;
    int32_t what; /**< GANG_CONFLICT_* */
    /* what was reported: */
    int32_t gang;
    gang_job_id job; /**< GANG_ID_NONE: others use the place */
    uint64_t cookie; /**< of the job; 0: none, or no such job */
    int64_t task;    /**< -1: others use the place */
    /* GANG_CONFLICT_TAKEN, what the books say: */
    gang_alloc_id booked_alloc; /**< GANG_ID_NONE: no device or core, but millicores or memory */
    gang_job_id booked_job;     /**< GANG_ID_NONE: the allocation is that of no job */
    uint64_t booked_cookie;     /**< of that job */
    int64_t booked_task;        /**< -1: none */
    uint64_t gpus;              /**< in dispute; bit i: GPU i of the node */
    uint64_t cores[GANG_MAX_CORES / 64]; /**< in dispute; bit i: core i of the node */
    int64_t now_ns;                      /**< of the run */
    const char *text;                    /**< one English line, never NULL */
};

#define GANG_PLACE_CONFLICT_INIT                                                            \
    {                                                                                       \
        sizeof(struct gang_place_conflict), 0, 0, 0, 0, 0, -1, 0, 0, 0, -1, 0, {0}, 0, NULL \
    }

/**
 * The host's side. The library copies the table. Each op may be NULL and then has the default that
 * its comment states. All ops but `may` and `wake` are called only inside gang_sched_run(), on its
 * thread, without any lock of the library. An op returns 0; where its comment says so, any other
 * value refuses. An op may query, submit, send commands and send reports. It must not run or free
 * the scheduler or change queues (GANG_EBUSY). Only the run itself waits for an op.
 */
struct gang_host_ops {
    size_t size; /**< sizeof(struct gang_host_ops) */
    /** Launch: the whole gang is granted. Refused: the grant is undone completely, and the job
     *  waits for gang_sched_opts.refused_ns before the next attempt. NULL: accepted.
     *   - A run first decides, then calls start, resume and grow. What it grants to a gang and then
     *     to another one that is entitled to it, the host does not hear of: no op is called, and
     *     the gang waits as before. If others were stopped for it, op log says which job gets what
     *     they freed (GANG_LOG_PASSED_ON). Until the call, public reads show neither the start nor
     *     tasks that were added.
     *   - What was told is not preempted in the same run, nor moved before something happens. If
     *     a refusal, or a message that an op leaves, entitles another gang to it, the next run sees
     *     to it.
     *   - A run that is cut by gang_run_opts.max_steps tells what it has decided so far. */
    int32_t (*start)(const struct gang_event *event, void *user);
    /** A running gang was granted more tasks: all that it got in this run, in one call after all
     *  starts. gang_alloc_task() reads each. gang_event.reason is GANG_REASON_MOVE if all of
     *  them replace tasks that were moved. Tasks that the same run grants and takes back are not
     *  reported. A gang gets a second call in a run only if the host refused something in that
     *  run, a callback left a message, or others waited for a start, and tasks were granted after
     *  that; in time slicing also when its row ends. Refused: all tasks of the call are undone, as
     *  with start. NULL: accepted. */
    int32_t (*grow)(const struct gang_event *event, void *user);
    /** Stop these tasks of a running job and report GANG_TASK_STOPPED (gang_report_tasks()), at
     *  the latest by deadline_ns. Refused, or NULL: they count as stopped at once. GANG_EBUSY and
     *  GANG_ENOENT: as with preempt. */
    int32_t (*shrink)(const struct gang_event *event, void *user);
    /** Save what should be saved, and stop. Report GANG_TASK_STOPPED for all tasks, at the
     *  latest by deadline_ns. Refused, or NULL: the gang counts as stopped at once. Two answers
     *  have a meaning of their own:
     *   - GANG_EBUSY: the host cannot stop the tasks now (the manager below is not reachable, or
     *     the job is in between two states). They keep their places, and the library asks again
     *     after gang_sched_opts.stop_again_ns; after deadline_ns it calls kill instead.
     *   - GANG_ENOENT: the host does not know the tasks: they count as stopped at once. With ops
     *     preempt, suspend and kill of a whole gang the job ends (GANG_END_FAILED). */
    int32_t (*preempt)(const struct gang_event *event, void *user);
    /** The deadline has passed: stop the tasks at once. 0, NULL, or any other value than these
     *  two: the tasks have stopped when this call returns, and the library gives their resources
     *  to other jobs; with gang_sched_opts.kill_wait_ns it first waits for GANG_TASK_STOPPED.
     *  GANG_EBUSY: not stopped; called again after gang_sched_opts.stop_again_ns. GANG_ENOENT: as
     *  with preempt. */
    int32_t (*kill)(const struct gang_event *event, void *user);
    /** Like preempt, in a queue with GANG_PREEMPT_MODE_SUSPEND. Also at the end of a time slice
     *  (GANG_REASON_SLICE): stop running, stay in memory, report GANG_TASK_STOPPED for all
     *  tasks. In that case the deadline follows the queue's grace period, and op kill comes
     *  after it: whatever still runs must not run when op kill returns, and it is resumed all
     *  the same. Without a grace period the gang has stopped when this call returns. Refused:
     *  the gang is preempted instead. NULL: it counts as stopped at once. */
    int32_t (*suspend)(const struct gang_event *event, void *user);
    /** Continue: each task on its node, devices and cores. Refused: as with start; in time slicing
     *  the gang stays suspended until its next time slice. NULL: accepted. */
    int32_t (*resume)(const struct gang_event *event, void *user);
    /** The state of a job changed. The result is ignored. NULL: nothing. */
    int32_t (*state)(const struct gang_event *event, void *user);
    /** A message for operators. `level` 0: an error of the host (a report about an unknown job,
     *  a refused callback); 1: information. The result is ignored. NULL: nothing. */
    int32_t (*log)(int32_t level, const char *text, void *user);
    /** May this user, with these groups, perform `action` (GANG_MAY_*) in this queue? 0: yes.
     *  NULL: the access lists of the queues decide. gang_job_submit() and gang_sched_may() call it,
     *  on their own threads. */
    int32_t (*may)(const char *queue, int32_t action, const char *user_name,
                   const char *const *groups, size_t group_count, void *user);
    /** How long will the job run, in ns? Called when a run accepts the job; gang_job_get()
     *  returns the answer. Planned starts and the orders SHORTEST then use it instead of the
     *  time limit (or the time limit, if that is shorter). A job that runs longer than predicted
     *  is expected to run twice as long, and so on up to its limit (Tsafrir, Etsion and
     *  Feitelson, IEEE TPDS 18(6), 2007, correct predictions in the same way); plans that relied
     *  on the shorter time then start later. <= 0, or NULL: no prediction. */
    int64_t (*predict)(const struct gang_event *event, void *user);
    /** The job reached its time limit, in a queue with GANG_OVERRUN_ASK. How many more ns may it
     *  run? Called again when those have passed. <= 0, or NULL: it is stopped. */
    int64_t (*overrun)(const struct gang_event *event, void *user);
    /** A reservation (plan.h) begins soon, begins, ended, lost nodes, and so on. The result is
     *  ignored. NULL: nothing. */
    int32_t (*reservation)(const struct gang_reservation_event *event, void *user);
    /** A message waits for the next run, and none waited before: wake the owner's loop (libuv:
     *  uv_async_send(); eventfd). Called by the thread that leaves the message (submission,
     *  command, report), at any time, also during a run, and by several threads at once. It must
     *  not call the library. One call may stand for many messages; gang_sched_run() accepts them
     *  all. NULL: nothing. */
    void (*wake)(void *user);
    /** Like log, with what the message is about. It is called instead of log. NULL: log is. The
     *  result is ignored. */
    int32_t (*log_entry)(const struct gang_log_entry *entry, void *user);
    /** Tasks are out of reach, and may still run: their heartbeats stopped, or their node went down
     *  (GANG_REASON_LOSS). `alloc` and `tasks` name them, those that were asked to stop included;
     *  `deadline_ns` is when their fence ends (INT64_MAX: not by itself). Make sure that they do
     *  not run, or say that they may. gang_job_spec.loss decides what becomes of the job in both
     *  cases.
     *   - 0, GANG_ENOENT: none of them runs. Their places are released at once.
     *   - GANG_EBUSY, any other value, or NULL: they may still run, and are *fenced*: each keeps
     *     its place until the host reports that it is over (GANG_TASK_STOPPED, _FAILED,
     *     _SUCCEEDED; a report about all tasks of the gang covers them, too), or until `fence_ns`
     *     has passed (gang_queue_spec, gang_sched_opts) since the loss, or since its last
     *     heartbeat after that. Nothing else is placed there, and no task runs twice:
     *     GANG_LOSS_REFILL places it again when its fence has ended. The other tasks of the gang
     *     run on. If the gang stops (GANG_LOSS_RESTART, _FAIL, preemption), the job is
     *     GANG_JOB_STOPPING until the fence has ended, and then ends or waits again. Limits of
     *     queues and users count the places as used; bounds of fixed work and budgets do not.
     *  Called once for each loss. For a task that was asked to stop, an answer other than 0 and
     *  GANG_ENOENT changes nothing: op kill follows at its deadline. Tasks of a node that was
     *  removed are released whatever the answer: their places went with it. */
    int32_t (*lost)(const struct gang_event *event, void *user);
    /** A node runs what the books do not have, or others have in the books
     *  (gang_report_places()). The result is ignored. NULL: nothing; op log gets the same text. */
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
    /** queue of jobs that name none and match no rule; NULL: such jobs are refused */
    const char *default_queue;
    const struct gang_queue_rule *rules; /**< copied */
    size_t rule_count;
    size_t rule_size;                  /**< sizeof(struct gang_queue_rule) */
    const char *const *excluded_kinds; /**< kinds that dominant shares do not count */
    size_t excluded_kind_count;
    /** > 0: past usage, decaying with this half-life, lowers the weight of a queue; 0: off */
    int64_t half_life_ns;
    /** how strongly past usage counts: KAI's k, of GANG_WHOLE; 0: GANG_WHOLE */
    int64_t usage_weight;
    /** how long a job waits after the host refused its start; 0: 10 s */
    int64_t refused_ns;
    int64_t max_preempted_tasks; /**< maximum of tasks preempted in one run; 0: no bound */
    /** 1: preemptions are planned and reported to op log, but not carried out */
    int32_t observe_only;
    /** 1: no job preempts another: no preemption, no reclaim, no consolidation */
    int32_t no_preemption;
    int64_t max_moves; /**< maximum of gangs moved so that one gang can start; 0: 16; -1: none */
    /** Reclaim: the preemptor's queue must not end relatively fuller than the victim's queue.
     *  The ratio of the preemptor's queue is first multiplied by this, of GANG_WHOLE; 0:
     *  GANG_WHOLE. */
    int64_t saturation;
    /** What if absolute guarantees of siblings exceed the capacity (a cluster that shrank)? 0:
     *  all stay in force, and a queue that uses its guarantee keeps it (KAI). 1: each is scaled
     *  down by capacity over their sum (YARN). */
    int32_t scale_guarantees;
    int32_t reserved0; /**< 0 */
    /** The rules of preemption could take the same capacity from one queue for another again and
     *  again. So a gang that was preempted or moved for a job is not preempted or moved again for
     *  the queue of that job, and does not preempt that job, for this time, or for the
     *  min_runtime_ns of the gang's queue, if that is longer. A job that is submitted, released or
     *  restarted after the gang was stopped may preempt it all the same. A change of queues or
     *  nodes ends all cooldowns. 0: 10 min; -1: off. */
    int64_t preempt_cooldown_ns;
    /** how long after GANG_EBUSY of op preempt, suspend, shrink or kill the host is asked again;
     *  0: 1 s */
    int64_t stop_again_ns;
    /** How long the resources of killed tasks stay taken unless the host reports
     *  GANG_TASK_STOPPED (Slurm: COMPLETING, UnkillableStepTimeout). 0: they are released when op
     *  kill returns; -1: until the report. No start is planned on capacity that waits for a
     *  report without a bound. */
    int64_t kill_wait_ns;
    /** How long lost tasks that may still run keep their places (op lost) unless the host reports
     *  that they are over. 0: 5 min; -1: until the report. gang_queue_spec.fence_ns replaces it.
     *  (Kubernetes: the volumes of an unreachable node are detached by force after 6 min.) */
    int64_t fence_ns;
};

#define GANG_SCHED_OPTS_INIT                                                                       \
    {                                                                                              \
        sizeof(struct gang_sched_opts), NULL, NULL, NULL, 0, sizeof(struct gang_queue_rule), NULL, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                            \
    }

/**
 * Make a scheduler on a cluster. Without queues it has one, "default", without guarantee and limit.
 * @param cluster must outlive the scheduler
 * @param ops copied; NULL: all defaults
 * @param user passed to the ops
 * @return GANG_OK; GANG_EINVAL; GANG_ENOENT (an excluded kind); GANG_ELIMIT (no worker is free);
 *   GANG_ENOMEM.
 * Any thread. May allocate.
 */
GANG_API gang_result gang_sched_new(gang_cluster *cluster, const struct gang_sched_opts *opts,
                                    const struct gang_host_ops *ops, void *user, gang_sched **sched,
                                    struct gang_error *error) GANG_MUST_CHECK;

/** End a scheduler. What its jobs hold is released; no op is called. NULL is allowed. No
 *  concurrent call. */
GANG_API void gang_sched_free(gang_sched *sched);

/** The cluster of a scheduler. Any thread; wait-free. */
GANG_API gang_cluster *gang_sched_cluster(const gang_sched *sched);

/**
 * Copy a scheduler and its cluster. Afterwards neither sees what is done to the other. Given the
 * same calls and the same answers of the host, both decide the same: which job, when, on which
 * nodes, devices and cores. For looking ahead by expected run times there are forecasts
 * (forecast.h), which need no host.
 *
 * What the copy contains
 *   - Nodes, kinds, domains, partitions, the task mix, queues, jobs, reservations and allocations.
 *     With them: plans, time slices, past usage, requests to stop and their deadlines. All ids are
 *     the same; ids given later in one of the two have nothing to do with ids of the other.
 *     Allocations made without the scheduler stay taken too; gang_alloc_free() with the same id
 *     releases them. Other schedulers of the cluster are not copied.
 *   - Messages that no run has accepted: those left before this call are in both. Those that other
 *     threads leave during the call are in the original only, or in both.
 *   - Changes of nodes that no run has seen: the first run of each sees them.
 *   - Heartbeats: a watched task is watched in both, and counts as lost at the same time unless the
 *     host reports it to both.
 *   - Not the host's side. Each real task exists once; the host must know which of the two
 *     schedulers is the real one.
 *   - Not workers: the host makes new ones on the copy's cluster (gang_worker_new()).
 *
 * Ownership: the caller owns both. It ends the copy with gang_sched_free() and then the copy's
 * cluster with gang_cluster_free(), before or after the original. The copies use the same
 * allocators, and the same functions and pointers in requests (gang_request_spec.score).
 * @param ops of the copy, copied; the original's ops are not used. NULL: all defaults
 * @param user passed to them
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
    /** Messages accepted, jobs tried, victims considered; 0: no bound. Once a run begins to
     *  choose victims for a job, it finishes that. So a run may take as many steps more as there
     *  are victims. */
    int64_t max_steps;
};

#define GANG_RUN_OPTS_INIT              \
    {                                   \
        sizeof(struct gang_run_opts), 0 \
    }

/** What a run did. */
struct gang_run_info {
    size_t size;             /**< sizeof(struct gang_run_info) */
    int64_t messages;        /**< messages accepted */
    int64_t jobs_tried;      /**< jobs that were tried */
    int64_t started;         /**< gangs granted */
    int64_t tasks_granted;   /**< tasks in these gangs, and tasks added to running gangs */
    int64_t tasks_preempted; /**< tasks asked to stop for other jobs */
    int64_t moved;           /**< gangs moved to other nodes */
    int64_t ended;           /**< jobs that ended */
    int64_t steps;           /**< steps, as max_steps counts them */
    /** 1: max_steps was reached; the next run goes on where this one stopped */
    int32_t more;
    int32_t reserved0;
};

#define GANG_RUN_INFO_INIT                                         \
    {                                                              \
        sizeof(struct gang_run_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/**
 * Run the cycle: accept messages, advance the time, start what can start, grow what can grow. Then
 * free capacity for entitled jobs: consolidation, reclaim, preemption, and preemption of stale
 * gangs. The work is proportional to what changed since the last run, not to what exists.
 *
 * What the rules of preemption by rank, backfill and time slicing mean for a run stands in queue.h,
 * with the options of queues that switch them on. Their due times are among those that
 * gang_sched_next() returns.
 * @param now_ns not before that of the last run
 * @param opts NULL: no bound
 * @param info NULL: not wanted
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from a callback); GANG_ENOMEM: some work needs
 *   more memory than there is. Nothing is lost or half done; the next run tries again.
 * Owner.
 */
GANG_API gang_result gang_sched_run(gang_sched *sched, int64_t now_ns,
                                    const struct gang_run_opts *opts, struct gang_run_info *info)
    GANG_MUST_CHECK;

/** When the next run is due. INT64_MIN: now (messages wait, or a run stopped early); INT64_MAX:
 *  only when something happens. Does not see changes of nodes made with core.h. Owner. O(1). */
GANG_API int64_t gang_sched_next(gang_sched *sched);

/** How long the owner's loop may wait for the next run: gang_sched_next() - now_ns, without
 *  overflow. 0: now; -1: until something happens, with no bound (like uv_backend_timeout() and
 *  poll(); those count milliseconds: round up). A message that another thread leaves during the
 *  wait makes a run due at once: see gang_host_ops.wake. Owner. O(1). */
GANG_API int64_t gang_sched_timeout_ns(gang_sched *sched, int64_t now_ns);

/* ---- counters ------------------------------------------------------------------------------ */

/** Sizes of the arrays in struct gang_sched_stats: more than there are values. */
enum { GANG_STATS_ENDS = 16, GANG_STATS_REASONS = 32, GANG_STATS_BUCKETS = 64 };

/** What happened since gang_sched_new(), of all jobs, or of those in one queue and below it. No
 *  counter ever falls. */
struct gang_sched_stats {
    size_t size;           /**< sizeof(struct gang_sched_stats) */
    int64_t runs;          /**< calls of gang_sched_run(); 0 of a queue */
    int64_t messages;      /**< messages that runs accepted; 0 of a queue */
    int64_t jobs;          /**< jobs that runs accepted */
    int64_t starts;        /**< gangs that started or resumed, but not for a time slice */
    int64_t resumes;       /**< of these, gangs that resumed */
    int64_t tasks_granted; /**< tasks of these gangs, and tasks added to running gangs */
    int64_t refusals;      /**< starts, resumes and calls of op grow that the host refused */
    /** Gangs that were stopped for other jobs as a whole (GANG_REASON_PREEMPT, _RECLAIM, _MOVE) at
     *  the time at which they had started, or before the min_runtime_ns of their queue had
     *  passed: work for nothing. */
    int64_t wasted_starts;
    /** Jobs that started for the first time: the waits that the following members describe. A wait
     *  lasts from gang_job_info.submitted_ns to the start. */
    int64_t first_starts;
    int64_t wait_sum_ns;           /**< sum of all waits, at most INT64_MAX */
    int64_t wait_max_ns;           /**< the longest wait */
    int64_t ends[GANG_STATS_ENDS]; /**< jobs that ended, by GANG_END_* */
    /** gangs that were asked to stop as a whole, by GANG_REASON_*, or to suspend for another job */
    int64_t gangs_stopped[GANG_STATS_REASONS];
    /** tasks that were asked to stop while their gang went on, by GANG_REASON_* */
    int64_t tasks_stopped[GANG_STATS_REASONS];
    /** Waits by length: waits[0] counts waits of 0 ns, waits[i] those of at least 2^(i-1) ns and
     *  less than 2^i ns. (waits[30]: from 0.54 s to 1.07 s; waits[42]: from 37 to 73 min.) */
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
 * Read the counters of all jobs. Each counter is exact, also during a run, but they are read one
 * after the other: during a run they may be of different instants.
 * A copy of a scheduler begins with the counters of its original (gang_sched_copy()).
 * @return GANG_OK; GANG_EINVAL. Any thread; wait-free. O(1).
 */
GANG_API gang_result gang_sched_stats(gang_sched *sched, struct gang_sched_stats *stats)
    GANG_MUST_CHECK;

/** The same of the jobs in one queue and below it, counted where they were at the time: a queue
 *  that moves takes its own counters along, those above it keep theirs. A queue that is removed
 *  takes its counters with it. @return GANG_OK; GANG_EINVAL; GANG_ESTALE. Owner. O(log queues). */
GANG_API gang_result gang_queue_stats(gang_sched *sched, gang_queue_id id,
                                      struct gang_sched_stats *stats) GANG_MUST_CHECK;

/* ---- queues -------------------------------------------------------------------------------- */

/**
 * Set the whole tree. It is validated as a whole, then replaces the old tree at once. Queues that
 * keep their name keep their jobs; other queues are added or removed.
 * @param queues parents may come after children
 * @return GANG_OK; GANG_EINVAL (limit below guarantee, fractions of siblings above 1, jobs in a
 *   queue that would no longer be a leaf, ...); GANG_EEXIST; GANG_ENOENT (parent, kind, partition,
 *   level); GANG_ECYCLE; GANG_ERANGE; GANG_ELIMIT; GANG_EBUSY (a queue to be removed has jobs; or
 *   called from a callback); GANG_ENOMEM. `error` has the path: "queues[2].limit.gpu". On an error
 *   nothing changed.
 * Owner. May allocate.
 */
GANG_API gang_result gang_sched_set_queues(gang_sched *sched, const struct gang_queue_spec *queues,
                                           size_t count, struct gang_error *error) GANG_MUST_CHECK;

/** Add a queue; change the queue named by `spec->name` (with a new parent it moves with all
 *  queues below); remove a queue (GANG_EBUSY while it has jobs or children); set its state.
 *  Results as of gang_sched_set_queues(), path "limit.gpu". Owner. */
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

/** A copy of the specification in force, freed with gang_queue_spec_free(). @return GANG_OK;
 *  GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM. Owner. */
GANG_API gang_result gang_queue_get_spec(gang_sched *sched, gang_queue_id id,
                                         struct gang_queue_spec **spec) GANG_MUST_CHECK;
GANG_API void gang_queue_spec_free(struct gang_queue_spec *spec);

/** A queue now. Amounts are indexed by the number of the kind, in its unit. */
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
    /** by running gangs, and held for gangs that are about to start */
    int64_t used[GANG_MAX_KINDS];
    int64_t used_nonpreemptible[GANG_MAX_KINDS]; /**< of that, by work that is not preemptible */
    /** used, plus what jobs that could run request; at most the limit */
    int64_t demand[GANG_MAX_KINDS];
    char name[GANG_MAX_NAME + 1];
    int32_t backfill; /**< GANG_BACKFILL_*, in force */
    int32_t reserved0;
    int64_t plan_depth;   /**< in force; 0: all */
    int64_t planned;      /**< jobs of a leaf (gangs, with group_after) that have a planned start */
    int64_t quantum_ns;   /**< in force; 0: its gangs are not sliced */
    int64_t quantum_rows; /**< maximum of rows */
    int64_t rows;         /**< rows now, over all leaves that share their nodes with it */
    int64_t active_row;   /**< the row that runs, from 1; 0: none */
    /** when its time slice ends; INT64_MAX: no end, or not all gangs of the row run yet */
    int64_t quantum_end_ns;
    /** what counts for the limit (queue.h): used, and what tasks hold that were asked to stop and
     *  have not stopped */
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

/** The next queue, parents before children; GANG_ID_NONE first and after the last. Owner. */
GANG_API gang_queue_id gang_queue_next(gang_sched *sched, gang_queue_id id);

/** What a record of past usage counts (gang_past_usage.what). */
enum {
    /** The mean use of a kind by a queue, decayed (gang_sched_opts.half_life_ns). Without `queue`:
     *  the mean capacity of the cluster, with which it is compared. */
    GANG_PAST_USAGE_QUEUE = 0,
    /** the mean dominant share of a user of a leaf, decayed, in 10^-9 of the cluster
     *  (GANG_ORDER_MULTIFACTOR) */
    GANG_PAST_USAGE_USER = 1,
    /** what is used of a budget since its last renewal: an amount times ns */
    GANG_PAST_USAGE_BUDGET = 2
};

/** What a queue or a user used. A host that restores its state keeps it. */
struct gang_past_usage {
    size_t size;           /**< sizeof(struct gang_past_usage) */
    int32_t what;          /**< GANG_PAST_USAGE_* */
    int32_t per_user;      /**< of a budget: gang_budget.per_user */
    const char *queue;     /**< its name; NULL: of the cluster */
    const char *user;      /**< NULL: of all users */
    const char *kind;      /**< its name; NULL: a dominant share */
    const char *partition; /**< of what is on its nodes; NULL: on any node */
    int64_t period_ns;     /**< of a budget: gang_budget.period_ns */
    int64_t at_ns;         /**< up to this time of the host's clock */
    /** The value: of a mean `high` units and `low` * 2^-64; of a budget high * 2^64 + low, in the
     *  unit of the kind times ns. */
    uint64_t high;
    uint64_t low;
};

#define GANG_PAST_USAGE_INIT                                                     \
    {                                                                            \
        sizeof(struct gang_past_usage), 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0 \
    }

typedef int32_t (*gang_past_usage_fn)(const struct gang_past_usage *usage, void *user);

/** Visit what queues and users used, as of the last run: what gang_past_usage_restore() gives to a
 *  new scheduler. What was never used is left out. @return GANG_OK; GANG_EINVAL; the
 *  visitor's result, which ends the visit if it is not 0. Owner. O(queues * kinds + users). */
GANG_API gang_result gang_past_usage_each(gang_sched *sched, gang_past_usage_fn visit, void *user)
    GANG_MUST_CHECK;

/**
 * Give a record back, after the queues are set and before the first run. In the first run, when the
 * restored jobs (gang_job_spec.past) have been accepted, they count as if they had run since at_ns:
 * so the time in which there was no scheduler is counted, too. What nothing counts any more (no
 * half-life, another order) is ignored; a budget that is not configured is kept until it is.
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE (a negative time or value); GANG_ENOENT (queue, kind);
 *   GANG_EBUSY (a run has begun); GANG_ENOMEM. `error` has the member. Owner. May allocate.
 */
GANG_API gang_result gang_past_usage_restore(gang_sched *sched, const struct gang_past_usage *usage,
                                             struct gang_error *error) GANG_MUST_CHECK;

/** May a user perform an action in a queue, by its access lists or op may? @return GANG_OK;
 *  GANG_EPERM; GANG_ENOENT; GANG_EINVAL. Any thread. */
GANG_API gang_result gang_sched_may(gang_sched *sched, const char *queue, int32_t action,
                                    const char *user, const char *const *groups, size_t group_count)
    GANG_MUST_CHECK;

/* ---- jobs ---------------------------------------------------------------------------------- */

/**
 * Submit a job. The call checks at once: the specification; whether the queue exists, is open and
 * allows the user; whether the gang could ever run, on all nodes up and empty and inside the limits
 * of its queue and of all queues above.
 * @param id receives the id; must not be NULL
 * @return GANG_OK: the next run accepts the job; the errors of gang_request_new(), path
 *   "request.groups[0]..."; GANG_ENOENT (queue); GANG_EINVAL; GANG_EPERM (access); GANG_ECLOSED
 *   (queue draining or closed); GANG_EEXIST (an id that is not above all that were given);
 *   GANG_ELIMIT (max_pending; max_time_limit_ns); GANG_ENEVER with the reason; GANG_ENOMEM.
 * The run allocates the `places` of a running job; if it cannot, the job ends with
 * GANG_END_REFUSED.
 * Any thread; lock-free. May allocate. O(size of the specification) plus gang_request_fits_ever().
 */
GANG_API gang_result gang_job_submit(gang_sched *sched, const struct gang_job_spec *spec,
                                     gang_job_id *id, struct gang_error *error) GANG_MUST_CHECK;

/**
 * Submit an array: `count` jobs of one specification, all or none, with consecutive ids.
 * @param first receives the first id
 * Otherwise like gang_job_submit(). Any thread; lock-free.
 */
GANG_API gang_result gang_job_submit_array(gang_sched *sched, const struct gang_job_spec *spec,
                                           int64_t count, gang_job_id *first,
                                           struct gang_error *error) GANG_MUST_CHECK;

/**
 * Commands. They take effect in the next run. A command for a job that has ended by then does
 * nothing.
 *   hold, release: a waiting job does not start; a running job is affected when it waits again
 *   cancel: the job ends: at once if it waits, otherwise after op preempt
 *   requeue: a running job stops (op preempt, grace period, op kill) and waits again, at its old
 *   age; if it was held before, until it is released. A job that waits, stops, or holds nothing is
 *   not affected
 *   set_priority: also of running jobs
 *   set_target: maximum of tasks, over all groups (-1: `count` again). Tasks above it are released,
 *   not below the minimum: the last group first, in a group the highest number first
 *   set_time_limit: measured from the start; 0: none
 * @return GANG_OK: the message is left; GANG_EINVAL; GANG_ERANGE; GANG_ESTALE (an id that was never
 *   given); GANG_ENOMEM. Any thread; lock-free.
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
 * The tasks of an announced job (gang_job_spec.announced), as they come. Commands like those above:
 * they take effect in the next run, those of one thread in their order, also if that run accepts
 * the job.
 *   add_tasks: `count` more tasks of a group have come; -count: this many that had come have gone
 *   complete: no more will come. The job is complete with those that have come. If they do not
 *   suffice, it ends (GANG_END_UNSTARTED)
 * A command does nothing, and op log gets a line, if the job was not announced, or is complete
 * already: whether it waits, runs, or waits again. The same, for the whole command, if the job has
 * no such group, or if more tasks of the group came than announced, or more left than had come.
 * @param group index in gang_request_spec.groups of the job
 * @return as the commands above; GANG_EINVAL also: group below 0; GANG_ERANGE: count is 0 or not
 *   from -2^24 to 2^24. Any thread; lock-free.
 */
GANG_API gang_result gang_job_add_tasks(gang_sched *sched, gang_job_id id, int32_t group,
                                        int64_t count) GANG_MUST_CHECK;
GANG_API gang_result gang_job_complete(gang_sched *sched, gang_job_id id) GANG_MUST_CHECK;

/** Read a job. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (also: no run has accepted it yet).
 *  Owner. O(1). */
GANG_API gang_result gang_job_get(gang_sched *sched, gang_job_id id, struct gang_job_info *info)
    GANG_MUST_CHECK;

/** What a job has been through, for gang_job_spec.past. Of tasks that stop in several steps, or are
 *  fenced, it says the earliest deadline: see gang_job_stop_each(). @return GANG_OK;
 *  GANG_EINVAL; GANG_ESTALE. Owner. O(gangs and stops of the job). */
GANG_API gang_result gang_job_get_past(gang_sched *sched, gang_job_id id,
                                       struct gang_job_past *past) GANG_MUST_CHECK;

typedef int32_t (*gang_failed_node_fn)(gang_node_id node, void *user);

/** Visit the nodes where a job failed, and which its restarts avoid, for
 *  gang_job_past.failed_nodes. @return GANG_OK; GANG_EINVAL; GANG_ESTALE; the visitor's result,
 *  which ends the visit if it is not 0. Owner. O(nodes). */
GANG_API gang_result gang_job_failed_node_each(gang_sched *sched, gang_job_id id,
                                               gang_failed_node_fn visit, void *user)
    GANG_MUST_CHECK;

typedef int32_t (*gang_place_fn)(const struct gang_placement *place, void *user);

/** Visit the places on which a job resumes that is suspended, or about to be, for
 *  gang_running_spec (GANG_PLACE_RESUMES); none if it is not. @return as gang_job_promised_each().
 *  Owner. O(places). */
GANG_API gang_result gang_job_suspended_each(gang_sched *sched, gang_job_id id, gang_place_fn visit,
                                             void *user) GANG_MUST_CHECK;

typedef int32_t (*gang_job_stop_fn)(const struct gang_job_stop *stop, void *user);

/** Visit the steps in which tasks of a job stop, and its fences, the oldest first, for
 *  gang_job_spec.stops; before them those that have stopped, while what they held is kept for a
 *  preemptor (GANG_STOP_STOPPED, GANG_STOP_MOVED), last the tasks that are to suspend at the end of
 *  a quantum (GANG_STOP_SLICE). @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM; the
 *  visitor's result, which ends the visit if it is not 0. Owner. O(stops^2 + tasks that stop +
 *  stops * handovers), and O(tasks) for each stop of which some tasks have stopped. */
GANG_API gang_result gang_job_stop_each(gang_sched *sched, gang_job_id id, gang_job_stop_fn visit,
                                        void *user) GANG_MUST_CHECK;

/** Visit the places that are kept for a job while its victims stop, or to which it moves, for
 *  gang_running_spec (GANG_PLACE_PROMISED); none if there are none. @return GANG_OK; GANG_EINVAL;
 *  GANG_ESTALE; the visitor's result, which ends the visit if it is not 0. Owner. O(places). */
GANG_API gang_result gang_job_promised_each(gang_sched *sched, gang_job_id id, gang_place_fn visit,
                                            void *user) GANG_MUST_CHECK;

/** The allocation of one gang of a job (gang_event.gang); GANG_ID_NONE: it holds nothing, or
 *  there is no such gang. Owner. */
GANG_API gang_alloc_id gang_job_alloc(gang_sched *sched, gang_job_id id, int32_t gang);

/**
 * The groups of a job that are in one of its gangs (gang_event.gang), as their indexes in
 * gang_request_spec.groups, ascending. Group i of an allocation of that gang is the i-th of them.
 * @param groups receives the indexes; may be NULL if group_size is 0
 * @param group_size how many fit into `groups`
 * @param needed receives how many there are; may be NULL
 * @return GANG_OK; GANG_ELIMIT: `groups` is too small, *needed suffice, nothing is written;
 *   GANG_EINVAL; GANG_ESTALE (as gang_job_get()); GANG_ENOENT: no such gang. *needed is 0 on any
 *   error but GANG_ELIMIT.
 * Owner. O(groups of the gang).
 */
GANG_API gang_result gang_job_gang_groups(gang_sched *sched, gang_job_id id, int32_t gang,
                                          int32_t *groups, size_t group_size, size_t *needed)
    GANG_MUST_CHECK;

/** The next job after `id`, in the order of ids; GANG_ID_NONE first and after the last. Owner.
 *  O(log jobs). */
GANG_API gang_job_id gang_job_next(gang_sched *sched, gang_job_id id);

/** What happened to tasks (gang_report_tasks()). */
enum {
    GANG_TASK_STARTED = 0,   /**< it runs; its heartbeats are due from now on */
    GANG_TASK_HEARTBEAT = 1, /**< heartbeat */
    GANG_TASK_SUCCEEDED = 2, /**< it ended well; its resources are released at once */
    GANG_TASK_FAILED = 3,    /**< it ended badly, or was lost: it does not run */
    /** it stopped, as ops shrink, preempt or suspend asked; or it was lost, and does not run */
    GANG_TASK_STOPPED = 4,
    /** An elastic task that is not needed: released at once, if above the minimum. For all tasks
     *  (NULL): the gang also gets no more tasks, until its target is set again. */
    GANG_TASK_IDLE = 5
};

/**
 * Report what happened to tasks. The same run reuses what is released.
 * @param gang which gang of the job (gang_event.gang)
 * @param alloc its allocation; a report about an allocation that has ended is dropped.
 *   GANG_ID_NONE: the present one
 * @param tasks numbers (gang_task.task); NULL: all tasks. A number that was lost or released and
 *   came again (op grow) names the new task: report first about the old one
 * @param what GANG_TASK_*
 * @return as the commands above. Any thread; lock-free.
 */
GANG_API gang_result gang_report_tasks(gang_sched *sched, gang_job_id job, int32_t gang,
                                       gang_alloc_id alloc, const int64_t *tasks, size_t count,
                                       int32_t what) GANG_MUST_CHECK;

/** Report that a whole job ended, well or badly: the same as reporting all its tasks. Any
 *  thread; lock-free. */
GANG_API gang_result gang_report_end(gang_sched *sched, gang_job_id job, int32_t success)
    GANG_MUST_CHECK;

/**
 * Nodes: one function for each intention. They are reports: they take effect in the next run, those
 * of one thread in their order. gang_node_set_state() takes effect at once: if the host calls it
 * after a report and before that run, the node stays in the state that it set; the rest of the
 * report takes effect all the same. An unknown node gets a line of op log.
 *   lost: the node is down (GANG_NODE_DOWN), and its tasks are lost: op lost asks whether they may
 *   still run, and gang_job_spec.loss and the roles of their groups say what becomes of the job.
 *   (Slurm: DOWN)
 *   up: it takes tasks (GANG_NODE_UP); a drain ends, what was not asked to stop yet runs on
 *   draining: it takes no more tasks (GANG_NODE_DRAINING), and is empty by deadline_ns, on the
 *   clock of gang_sched_run(). Each gang that still has tasks there when its grace period just fits
 *   before the deadline, or at once if the deadline is nearer, is asked to stop
 *   (GANG_REASON_DRAIN), preemptible or not: only the tasks there, by op shrink, if its minimum
 *   does not need them; otherwise the whole job, which waits again as after gang_job_requeue().
 *   INT64_MAX: no deadline, its tasks run to their end (Slurm's drain). The deadline is due work:
 *   gang_sched_next() returns it. Another report about the node replaces the deadline. (YARN:
 *   graceful decommission with a time-out; Kubernetes: kubectl drain)
 *   removed for good: gang_node_remove() (core.h).
 * Changes by core.h have the same effect: in each run the tasks on nodes that were up or draining
 * in the run before, and are down or removed now, are lost, after all messages of that run. A node
 * that goes down and comes back between two runs loses nothing, unless the host reports it lost.
 * @return GANG_OK: the message is left; GANG_EINVAL; GANG_ENOMEM. Any thread; lock-free. The run
 *   takes O(running tasks) for each lost or due node, O(nodes) after nodes changed.
 */
GANG_API gang_result gang_report_node_lost(gang_sched *sched, gang_node_id node) GANG_MUST_CHECK;
GANG_API gang_result gang_report_node_up(gang_sched *sched, gang_node_id node) GANG_MUST_CHECK;
GANG_API gang_result gang_report_node_draining(gang_sched *sched, gang_node_id node,
                                               int64_t deadline_ns) GANG_MUST_CHECK;

/** What really runs in one place of a node, as the host, or its agent there, found it. */
struct gang_reported_place {
    size_t size;         /**< sizeof(struct gang_reported_place) */
    gang_job_id job;     /**< GANG_ID_NONE: not a job of this scheduler; others chose the place */
    int64_t task;        /**< number of the task (gang_task.task); 0 without a job */
    int32_t gang;        /**< which gang of the job (gang_event.gang); 0 without a job */
    int32_t any_devices; /**< 1: `gpus` is ignored, which devices it uses is not known */
    uint64_t gpus;       /**< bit i: GPU i, or MIG partition i */
    int32_t gpu_share;   /**< of others: milli-GPUs of each of these devices; 0: all of it */
    int32_t any_cores;   /**< 1: `cores` is ignored: it runs in shared cores, or in unknown ones */
    uint64_t cores[GANG_MAX_CORES / 64]; /**< bit i: core i of the node, used by it alone */
    int64_t cpu_milli;                   /**< of others: millicores beside those of `cores` */
    int64_t memory_bytes;                /**< of others */
};

#define GANG_REPORTED_PLACE_INIT                                           \
    {                                                                      \
        sizeof(struct gang_reported_place), 0, 0, 0, 1, 0, 0, 1, {0}, 0, 0 \
    }

/** Flags of gang_report_places(). */
enum {
    /** The list has each task that runs on the node. Tasks that are booked there and are not listed
     *  do not run: they are over, as if reported GANG_TASK_FAILED (GANG_TASK_STOPPED, if they were
     *  asked to stop). The host must not use it while it launches tasks there. */
    GANG_PLACES_COMPLETE = 1
};

/**
 * Report what really runs on a node: at the start of an agent or manager, from time to time, or
 * when an agent finds unknown processes. (Slurm: the registration of a slurmd with its
 * jobs. YARN: that of a NodeManager with its containers. Kubernetes: the checkpoint of devices.)
 * The books then follow what runs, and nothing is booked twice:
 *   - A task that runs where it is booked: nothing changes. Being listed counts as a heartbeat.
 *   - A task of this node that runs on other devices or cores of it: if these are free, it has them
 *     from now on, and its old ones are free (GANG_LOG_REBOUND). Tasks may have changed places
 *     with each other. gang_alloc_each() shows the new places. A task of an exclusive allocation
 *     may have any devices and cores of its node that no other task of it has. A task of a gang
 *     that shares nodes in time may have what no other gang of its row has and, if it runs now, no
 *     other gang that runs.
 *   - Otherwise the place is in *conflict*: others have it in the books, or no such task runs
 *     there. Op conflict and op log (GANG_LOG_CONFLICT) name both. No job is stopped: the host
 *     decides which of the two is to go.
 *   - What others use, and what a task in conflict uses beyond what it holds, is *held*: an
 *     allocation of no job, which gang_node_each() shows. It takes what is free at once, and what
 *     is booked for another task as soon as that is released, before any job gets it. Only
 *     a thread that allocates on the cluster without the scheduler may be faster. On a node that
 *     gangs share in time no other gang comes before the conflict is over; those that are there go
 *     on to take turns as booked, and the next report tells of it again.
 *   - Tasks that are booked on the node and are not listed stay, but see GANG_PLACES_COMPLETE.
 * A report replaces all that earlier reports about the node said of others: what it does not list
 * is free again. What a task holds in conflict is also released when that task ends, and everything
 * when the node is removed. A copy of the scheduler has it, too (gang_sched_copy()); a new
 * scheduler gets it from the next reports. The host submits the jobs that it restores before it
 * reports: until then their tasks are GANG_CONFLICT_UNKNOWN.
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

/** What one allocation has on a node. Valid during the call. */
struct gang_node_item {
    size_t size; /**< sizeof(struct gang_node_item) of the library */
    gang_node_id node;
    /** the job whose tasks these are, or for which the places are kept; GANG_ID_NONE: the
     *  allocation was made without the scheduler */
    gang_job_id job;
    uint64_t cookie; /**< of the job */
    gang_alloc_id alloc;
    int32_t gang;  /**< which gang of the job */
    int32_t state; /**< GANG_JOB_* of the job; GANG_JOB_ENDED: there is none */
    /** 1: no task of the job runs there; capacity is kept until its victims have stopped, and the
     *  job then starts or grows there */
    int32_t kept;
    int32_t reserved0;
    const int64_t *tasks; /**< their numbers (gang_task.task), ascending; never empty */
    size_t task_count;
};

#define GANG_NODE_ITEM_INIT                                            \
    {                                                                  \
        sizeof(struct gang_node_item), 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0 \
    }

typedef int32_t (*gang_node_fn)(const struct gang_node_item *item, void *user);

/**
 * Visit what has tasks on a node, in any state of the node: first jobs, by id and gang; then
 * capacity that is kept for jobs; then allocations made without the scheduler, by id. A suspended
 * job holds nothing, except in time slicing. Allocations that other threads make or change
 * meanwhile may be missed. The visitor may query; it must not change the scheduler or these
 * allocations.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE (no such node, and nothing runs there); GANG_EBUSY
 *   (another thread is changing an allocation: try again); GANG_ENOMEM; the visitor's result, which
 *   ends the visit if it is not 0. Owner. O(jobs + running tasks).
 */
GANG_API gang_result gang_node_each(gang_sched *sched, gang_node_id node, gang_node_fn visit,
                                    void *user) GANG_MUST_CHECK;

/* ---- reservations -------------------------------------------------------------------------- */

/**
 * Reserve capacity (plan.h). The call checks the specification and either places the reservation in
 * the plan or refuses it, at once. It is placed beside running gangs, until their expected ends as
 * of the last run, and beside the other reservations (but see GANG_RESERVATION_OVERLAP,
 * _IGNORE_JOBS). Planned starts of jobs make way; the next run plans them again. From then on
 *   - a gang of any queue starts, resumes, grows or moves only if the reserved capacity is free
 *     again by its latest end (time limit and grace period). A gang without a time limit never uses
 *     capacity that is reserved later. No preemption frees reserved capacity, and gangs that run
 *     inside a reservation are not preempted;
 *   - the reservation's members start inside it: jobs that it is for and that name it
 *     (gang_job_spec.reservation), or that match it (_MAGNETIC). They run on its nodes, in its
 *     time, which ends after their limit and grace period. A member without a time limit is asked
 *     to stop so that its grace period ends with the reservation (GANG_REASON_TIMEOUT). Queue
 *     order, limits and guarantees hold as usual: a reservation is capacity, not entitlement. No
 *     job is preempted for a member;
 *   - capacity that no member uses stays free until the reservation ends, is cancelled, changed or
 *     purged, or until the job that it was made for has ended;
 *   - when nodes of it are lost (no longer up), the next run replaces them by other nodes at the
 *     same time, if there are any. Otherwise, if it has not begun, all of it moves to a later time
 *     in its window. Otherwise it continues with less. If capacity is short, reservations accepted
 *     later make way, the newest first. A reduced reservation gets back what it lost, or as much as
 *     fits, as soon as nodes are up again or become free; planned starts make way. Op reservation
 *     reports each change. Maintenance and nodes by name are not moved; they are whole again when
 *     the nodes are up;
 *   - a job that is in its way nevertheless (older than the reservation, overrun, or with a raised
 *     limit) is not preempted: op reservation reports it when the reservation begins.
 * A recurring reservation has its next 8 instances planned at any time. It is refused if one of the
 * first 8 does not fit. A later instance that does not fit is skipped (GANG_RESERVATION_SKIPPED);
 * planned starts of jobs make way for it.
 * Cores, memory and GPUs are counted by amount; which GPUs are free together is decided when a
 * member starts.
 * @param id receives the id
 * @param when_ns accepted: its start. Refused with GANG_ENOFIT: the earliest start, not before
 *   arrival_ns, at which it would be accepted as things are (also beyond its deadline); INT64_MAX:
 *   none is known. NULL: not wanted
 * @return GANG_OK; GANG_ENOFIT: not in this window; GANG_ENEVER: larger than the cluster;
 *   GANG_ELIMIT: beyond the limit of its owner (gang_reservation_set_limit()), or too many stages;
 *   GANG_EEXIST (name); GANG_EINVAL, GANG_ERANGE, GANG_ENOENT (queue, job, node, level, domain,
 *   label...); GANG_ENOTSUP (the timeline does not count this, see the path); GANG_EBUSY (called
 *   from a callback); GANG_ENOMEM. `error` has the path: "stages[0].nodes[3]: no such node". On an
 *   error nothing changed.
 * Owner. May allocate: for each piece less than 1 KiB, 16 bytes a node, and 16 bytes for each run
 * of neighbouring nodes; while members start in it, about 150 bytes a node of the cluster. O(nodes)
 * for each placing that is tried. With E the occupations that begin or end in the window and I the
 * instances, a piece takes I searches of the timeline at the earliest time, again each time that
 * an instance or a limit moves the start; at the latest time up to E * I placings. A refusal takes
 * some three times as long, and up to 64 placings.
 */
GANG_API gang_result gang_reservation_add(gang_sched *sched,
                                          const struct gang_reservation_spec *spec,
                                          gang_reservation_id *id, int64_t *when_ns,
                                          struct gang_error *error) GANG_MUST_CHECK;

/** Change a reservation. `spec` is the complete new one, with its name. It is placed as if the
 *  old one did not exist; on a refusal the old one stays as it was. A reservation that has begun
 *  keeps its capacity as far as the new one requests it, from now to its new end. Members whose
 *  capacity it no longer has continue as jobs outside; until they end, all reservations on their
 *  nodes share what is free. Results as of gang_reservation_add(); also GANG_ESTALE. Owner. */
GANG_API gang_result gang_reservation_change(gang_sched *sched, gang_reservation_id id,
                                             const struct gang_reservation_spec *spec,
                                             int64_t *when_ns, struct gang_error *error)
    GANG_MUST_CHECK;

/** Cancel a reservation, all its instances. Running members continue as jobs outside; waiting
 *  members wait like other jobs. @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (called
 *  from a callback). Owner. */
GANG_API gang_result gang_reservation_cancel(gang_sched *sched, gang_reservation_id id)
    GANG_MUST_CHECK;

/** Read a reservation. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (ended, cancelled). Owner. */
GANG_API gang_result gang_reservation_get(gang_sched *sched, gang_reservation_id id,
                                          struct gang_reservation_info *info) GANG_MUST_CHECK;

/** The next reservation after `id`, in the order of acceptance; GANG_ID_NONE first and after the
 *  last. Owner. */
GANG_API gang_reservation_id gang_reservation_next(gang_sched *sched, gang_reservation_id id);

/** Id of a reservation by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Owner. */
GANG_API gang_result gang_reservation_find(gang_sched *sched, const char *name,
                                           gang_reservation_id *id) GANG_MUST_CHECK;

typedef int32_t (*gang_plan_fn)(const struct gang_plan_item *item, void *user);

/** Visit the pieces of a reservation that have not ended, by start. An instance is one piece, or
 *  several if it has stages or if gangs of a stage run at different times. @return GANG_OK;
 *  GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM; the visitor's result, which ends the visit if it is
 *  not 0. Owner. */
GANG_API gang_result gang_reservation_pieces(gang_sched *sched, gang_reservation_id id,
                                             gang_plan_fn visit, void *user) GANG_MUST_CHECK;

/**
 * Limit what a user may reserve from now on; existing reservations stay.
 * @param owner gang_reservation_spec.owner; NULL: each user without a limit of their own
 * @param limit NULL: none
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE; GANG_ENOMEM; GANG_EBUSY (called from a callback).
 *   Owner.
 */
GANG_API gang_result gang_reservation_set_limit(gang_sched *sched, const char *owner,
                                                const struct gang_reservation_limit *limit,
                                                struct gang_error *error) GANG_MUST_CHECK;

/** Visit the plan as of the last run: first gangs that hold nodes, by job; then planned starts,
 *  by job; then pieces of reservations. The visitor may read, not change. @return GANG_OK;
 *  GANG_EINVAL; GANG_ENOMEM; the visitor's result, which ends the visit if it is not 0. Owner.
 *  O(size of the plan). */
GANG_API gang_result gang_plan_each(gang_sched *sched, gang_plan_fn visit, void *user)
    GANG_MUST_CHECK;

/* ---- why it waits -------------------------------------------------------------------------- */

/** Categories of reasons. */
enum {
    GANG_WAIT_CATEGORY_NOT_NOW = 0, /**< it will start when other jobs end */
    GANG_WAIT_CATEGORY_NEVER = 1,   /**< it cannot start as things are configured */
    GANG_WAIT_CATEGORY_HELD = 2,    /**< a hold or a dependency keeps it */
    /** there is free capacity, but policy gives it to other jobs */
    GANG_WAIT_CATEGORY_POLICY = 3
};

/** Reasons. */
enum {
    GANG_WAIT_CAPACITY = 1,    /**< free capacity is short: see gang_request_explain() */
    GANG_WAIT_LIMIT = 2,       /**< the limit of `queue` */
    GANG_WAIT_GUARANTEE = 3,   /**< not preemptible, and above the guarantee of `queue` */
    GANG_WAIT_USER_LIMIT = 4,  /**< the user's limit in `queue` */
    GANG_WAIT_MAX_RUNNING = 5, /**< maximum of running jobs in `queue`, or of the user there */
    GANG_WAIT_HOLD = 6,        /**< gang_job_hold() */
    GANG_WAIT_AFTER = 7,       /**< it depends on `blocker` */
    GANG_WAIT_QUEUE = 8,       /**< `queue` is closed */
    GANG_WAIT_BEHIND = 9,      /**< strict order: `blocker` comes first */
    /** It is in back-off until until_ns: the host refused it, it was restarted, or it timed out. */
    GANG_WAIT_BACK_OFF = 10,
    GANG_WAIT_VICTIMS = 11, /**< its victims have not stopped yet */
    GANG_WAIT_CELLS = 12,   /**< it would break the cells guaranteed to `queue` */
    GANG_WAIT_LENDING = 13, /**< `queue` does not lend its idle capacity */
    /** Not tried yet: the run was cut short, or the job came after the last run. */
    GANG_WAIT_NOT_TRIED = 14,
    /** It has a planned start at until_ns, on nodes that the text names. Or (until_ns is 0) it
     *  would delay the planned start of `blocker`. */
    GANG_WAIT_PLANNED = 15,
    GANG_WAIT_BEGIN = 16, /**< begin_ns lies in the future: until_ns */
    /** `blocker` is starved, and no other job may bypass it (gang_queue_spec.max_bypasses). */
    GANG_WAIT_STARVED = 17,
    GANG_WAIT_SLICE = 18, /**< it has its nodes; its time slice is expected at until_ns */
    /** The reservation that it names begins at until_ns, or has no capacity for it now, or not
     *  for long enough. Or (it names none) the capacity is reserved for other jobs from until_ns
     *  on. The text says which. */
    GANG_WAIT_RESERVATION = 19,
    /** its preferred domains have no place; it takes any from until_ns on (prefer_wait_ns) */
    GANG_WAIT_PREFER = 20,
    /** As many jobs of its array run as it allows (gang_job_spec.array_max_running). */
    GANG_WAIT_ARRAY = 21,
    /** `requested` - `used` of its announced tasks have not come yet (gang_job_spec.announced),
     *  first of `group`. At until_ns it goes on with those that have come, or fails; 0: never. */
    GANG_WAIT_ANNOUNCED = 22,
    /** A budget of `queue` (gang_queue_spec.budgets). In units times seconds `requested` is the
     *  amount times the time limit (SAFE), `used` what is used and promised; until_ns: renewal. */
    GANG_WAIT_BUDGET = 23
};

/** One reason. Valid during the call. */
struct gang_wait {
    size_t size;         /**< sizeof(struct gang_wait) of the library */
    int32_t reason;      /**< GANG_WAIT_CAPACITY and the others */
    int32_t category;    /**< GANG_WAIT_CATEGORY_* */
    gang_queue_id queue; /**< or GANG_ID_NONE */
    int32_t kind;        /**< number of the kind, or -1 */
    int32_t group;       /**< group, or -1 */
    int64_t requested;   /**< by the gang, in the unit of the kind, or jobs */
    int64_t used;        /**< of limit */
    int64_t limit;
    gang_job_id blocker; /**< the job that is in the way, or GANG_ID_NONE */
    int64_t until_ns;    /**< or 0 */
    const char *text;    /**< one English line */
    /** of gang_job_spec.partitions: the one in which this keeps the job from starting; NULL: in
     *  each of them, or the job names none */
    const char *partition;
};

#define GANG_WAIT_INIT                                                     \
    {                                                                      \
        sizeof(struct gang_wait), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL \
    }

typedef int32_t (*gang_wait_fn)(const struct gang_wait *wait, void *user);

/**
 * Visit all reasons why a job waits, the decisive one first; none if it does not wait.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM; the visitor's result. Owner. O(nodes).
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
 * gang_request_write_explanation(), if the reason is capacity. "preemption" is what
 * gang_job_explain_preemption() answers, if the job waits; amounts that are not managed are null.
 * Calls from callbacks leave it out.
 * @return also GANG_EIO. Owner. O(nodes), plus what gang_job_explain_preemption() costs.
 */
GANG_API gang_result gang_job_write_explanation(gang_sched *sched, gang_job_id id,
                                                gang_write_fn write, void *user) GANG_MUST_CHECK;

/* ---- why it preempts no other job ---------------------------------------------------------- */

/** What preemption does for a job, as things are: the outcome. From GANG_PREEMPTION_PROTECTED to
 *  GANG_PREEMPTION_OBSERVED it was tried without effect, and of several attempts the one that came
 *  farthest counts. */
enum {
    GANG_PREEMPTION_NONE = 0, /**< the job does not wait */
    /** The next run preempts or moves gangs for it, unless something changes before. */
    GANG_PREEMPTION_NEXT = 1,
    GANG_PREEMPTION_OFF = 2,       /**< gang_sched_opts.no_preemption */
    GANG_PREEMPTION_NEVER = 3,     /**< gang_job_spec.never_preempts */
    GANG_PREEMPTION_VICTIMS = 4,   /**< gangs are stopping for it already */
    GANG_PREEMPTION_NOT_TRIED = 5, /**< the job has not been tried yet in its order */
    GANG_PREEMPTION_REASON = 6,    /**< what it waits for is nothing that preemption frees */
    GANG_PREEMPTION_SUSPENDED = 7, /**< it is suspended, and resumes on its old places alone */
    GANG_PREEMPTION_SLICE = 8,     /**< it shares its nodes in time, and waits for a row */
    /** It runs inside a reservation, and no job is preempted for a member. */
    GANG_PREEMPTION_RESERVATION = 9,
    /** Gangs stopped for it before, and it could not start after all: until another event no gang
     *  is preempted for it. */
    GANG_PREEMPTION_FAILED = 10,
    /** `blocker` is tried before it: it waits for the same, or the queue keeps to its order */
    GANG_PREEMPTION_BEHIND = 11,
    GANG_PREEMPTION_PROTECTED = 12, /**< a rule protects each gang that runs */
    /** Without all gangs that it may take together it still has no place, or its queues do not
     *  allow it to start. */
    GANG_PREEMPTION_CAPACITY = 13,
    GANG_PREEMPTION_LIMIT = 14, /**< without them a limit of its queues or its user stops it */
    /** Its queue would end relatively fuller than the queue that gives. */
    GANG_PREEMPTION_FULLER = 15,
    /** A gang of its own branch that would have to go could start again beside it, and the job
     *  would then not be entitled to what other queues give. */
    GANG_PREEMPTION_PRETEXT = 16,
    /** The rules forbid to take those gangs that would have to go together: a queue that gives
     *  would fall below its share, or below its guarantee and take it back. */
    GANG_PREEMPTION_GUARANTEE = 17,
    GANG_PREEMPTION_MAX_TASKS = 18, /**< gang_sched_opts.max_preempted_tasks */
    GANG_PREEMPTION_OBSERVED = 19,  /**< gang_sched_opts.observe_only */
    /** It is not preemptible, and above a guarantee (GANG_NONPREEMPTIBLE_LIMIT): it starts on free
     *  capacity alone. */
    GANG_PREEMPTION_ABOVE_GUARANTEE = 20
};

/** Why no gang is moved for a job (gang_sched_opts.max_moves). */
enum {
    GANG_MOVES_TRIED = 0, /**< moves were tried; without GANG_PREEMPTION_NEXT none helps */
    GANG_MOVES_OFF = 1,   /**< max_moves is -1 */
    /** it has a planned start, or it shares nodes in time and other jobs have planned starts */
    GANG_MOVES_PLANNED = 2,
    GANG_MOVES_AMOUNTS = 3, /**< less is free in all than it requests */
    GANG_MOVES_LIMIT = 4    /**< a limit or guarantee of its queues, or lending, stops it */
};

/** The rule that protects running gangs from the preemptor, the job that is explained. */
enum {
    GANG_PROTECTED_NOT = 0,   /**< none: it may take any of them, by itself */
    GANG_PROTECTED_JOB = 1,   /**< not preemptible, and no task above the minimum */
    GANG_PROTECTED_QUEUE = 2, /**< gang_queue_spec.no_preemption, its own or inherited */
    /** it stops or moves already, or others stop for it, or have stopped for its row and its first
     *  time slice has not begun */
    GANG_PROTECTED_STOPPING = 3,
    GANG_PROTECTED_MIN_RUNTIME = 4, /**< gang_queue_spec.min_runtime_ns, until until_ns */
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
    /** Its queue keeps to its fair share, above its guarantee, and the preemptor's queue would
     *  exceed its guarantee. */
    GANG_PROTECTED_PREEMPTOR_GUARANTEE = 13,
    /** It was stopped for the preemptor's queue before (gang_sched_opts.preempt_cooldown_ns). */
    GANG_PROTECTED_COOLDOWN = 14,
    /** The preemptor was stopped for its job before (same). */
    GANG_PROTECTED_COOLDOWN_JOB = 15,
    /** GANG_PREEMPT_USER_LIMIT: its user is not above its user limit, or would fall below it. */
    GANG_PROTECTED_USER_LIMIT = 16,
    /** GANG_PREEMPT_USER_LIMIT: the user of the preemptor would exceed its user limit. */
    GANG_PROTECTED_PREEMPTOR_USER_LIMIT = 17,
    /** gang_queue_spec.across: its priority is not below that of the preemptor, or it is above
     *  across_max_priority; nor may the preemptor's queue reclaim from it. */
    GANG_PROTECTED_ACROSS = 18,
    /** It outranks the preemptor (gang_queue_spec.across, preempt_class), whose queue is entitled
     *  to it by its fair share alone, not by its guarantee. */
    GANG_PROTECTED_OUTRANKS = 19
};

enum { GANG_PREEMPTION_JOBS = 3 /**< most jobs that an entry names */ };

/** Running gangs of one queue that one rule protects. */
struct gang_preemption_rule {
    int32_t rule; /**< GANG_PROTECTED_* */
    int32_t kind; /**< of `used`, `bound`, `requested`; -1: they are priorities, or do not apply */
    /** leaf of the gangs; GANG_ID_NONE: all queues beyond those that are listed */
    gang_queue_id queue;
    gang_queue_id bound_queue; /**< whose amounts decide, or GANG_ID_NONE */
    int64_t gangs;
    int64_t tasks; /**< running tasks of these gangs */
    /** Shares and guarantees: what bound_queue uses, its bound, and what the preemptor requests, in
     *  the unit of the kind. GANG_PROTECTED_PREEMPTOR_USER_LIMIT: the same of the preemptor's user.
     *  Priorities: `bound` is the lowest one of the gangs, `requested` the one that it would have
     *  to be below: that of the preemptor, or across_max_priority + 1. */
    int64_t used;
    int64_t bound;
    int64_t requested;
    int64_t until_ns; /**< the first of them is no longer protected by this rule then; 0: no time */
    int32_t job_count;
    int32_t reserved0;
    /** the first jobs among them, in the order in which they would be preempted */
    gang_job_id jobs[GANG_PREEMPTION_JOBS];
    const char *text; /**< one English line */
};

/** What a queue is entitled to and uses, of one kind, in its unit. */
struct gang_preemption_amount {
    int32_t kind;
    int32_t reserved0;
    const char *partition; /**< of this partition; NULL: wherever it lies */
    int64_t requested;     /**< by the preemptor */
    int64_t guarantee;     /**< in force; GANG_UNLIMITED: not managed */
    int64_t share;         /**< fair share; GANG_UNLIMITED: not managed */
    int64_t used;
    int64_t limit; /**< in force; GANG_UNLIMITED: none */
};

/** A queue on one of the two sides. */
struct gang_preemption_queue {
    gang_queue_id queue;
    const char *name;
    int32_t preemptor; /**< 1: the queue of the preemptor, or above it */
    /** Its place in the order of the queues below the same parent, from 1, if each of them had a
     *  gang to start that requests what the preemptor requests; and how many these are. */
    int32_t turn;
    int32_t siblings;
    int32_t reserved0;
    int64_t running;                              /**< jobs, in it and below */
    const struct gang_preemption_amount *amounts; /**< of the kinds that the preemptor requests */
    size_t amount_count;
};

enum {
    GANG_PREEMPTION_QUEUES = 32, /**< most queues that are listed */
    GANG_PREEMPTION_RULES = 128  /**< most entries of queue and rule */
};

/** Why a job preempts no other, or which it would. */
struct gang_preemption {
    size_t size;         /**< sizeof(struct gang_preemption) of the library */
    int32_t outcome;     /**< GANG_PREEMPTION_* */
    int32_t moves;       /**< GANG_MOVES_*, if attempts were looked at: rule_count is not 0 */
    int32_t gang;        /**< which gang of the job waits (gang_event.gang) */
    int32_t reserved0;   /**< 0 */
    gang_job_id blocker; /**< GANG_PREEMPTION_BEHIND; otherwise GANG_ID_NONE */
    int64_t gangs;       /**< gangs that run and were considered */
    int64_t takeable;    /**< gangs of them that no rule protects, each by itself */
    /** Most victims, gangs or tasks above a minimum, that the rules let one attempt take. */
    int64_t together;
    const char *text;       /**< the outcome, one English line */
    const char *moves_text; /**< why no gang is moved, one English line; "": see `text` */
    /** Queues: the preemptor's with those above it, then those that hold gangs that run, each with
     *  those above it that have not been listed. Entry i lies i * queue_size bytes after the first
     *  one. */
    const struct gang_preemption_queue *queues;
    size_t queue_count;
    size_t queue_size;
    const struct gang_preemption_rule *rules; /**< by queue; entry i: i * rule_size bytes on */
    size_t rule_count;
    size_t rule_size;
};

#define GANG_PREEMPTION_INIT                                                                       \
    {                                                                                              \
        sizeof(struct gang_preemption), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, 0, NULL, 0, 0 \
    }

/**
 * Explain why a job that waits preempts no other job, with all gangs that run, the rule that
 * protects each of them, and the shares, the use and the turn of the queues on both sides. Of a job
 * with several gangs: the first that waits.
 *
 * Each gang is judged by itself, by the usage as it is. The attempts that the next run would make
 * are then made without effect, by the code of the run itself, which judges victims together. So
 * GANG_PREEMPTION_NEXT with `takeable` 0 means that gangs are only moved. Where jobs have planned
 * starts, that run first plans again and may find that a job waits for another reason. The size of
 * the answer is bounded, whatever runs.
 * @param out receives the answer; free it with gang_preemption_free()
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (called from a callback); GANG_ENOMEM. On
 *   an error *out is NULL.
 * Owner. Changes nothing that a later decision depends on: not the mix that GANG_POLICY_FGD and
 * _HEADROOM learn either. Time is that of the last run, and shares are divided again, as in
 * gang_queue_get(). May allocate. O(gangs that run + queues), plus what one attempt to preempt
 * costs (gang_sched_run()): not for each job in each run.
 */
GANG_API gang_result gang_job_explain_preemption(gang_sched *sched, gang_job_id id,
                                                 struct gang_preemption **out) GANG_MUST_CHECK;

/** Free an answer. NULL is allowed. Any thread. */
GANG_API void gang_preemption_free(struct gang_preemption *preemption);

/** Audit: compares the scheduler's counters with the sum over its jobs, queues and allocations.
 *  @return GANG_OK; GANG_EINVAL with the first discrepancy in `error`; GANG_ENOMEM. Owner.
 *  O(size of the scheduler's state). */
GANG_API gang_result gang_sched_check(gang_sched *sched, struct gang_error *error) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
