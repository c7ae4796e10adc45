/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sched.h
 * @brief What now: jobs in queues, the scheduling cycle, preemption, and the host's callbacks.
 *
 * A *scheduler* owns jobs and queues on one cluster. The host submits jobs, reports what happens to
 * tasks, and calls gang_sched_run() whenever gang_sched_next() says so; there, and only there, the
 * scheduler decides and calls the host back: start this gang, stop that one.
 *
 * Caveats first
 *   - Two thread rules. *Any thread*: submitting, commands on jobs, reports: they leave a message
 *     and never wait; it takes effect in the next run. *Owner*: everything else; one thread at a
 *     time uses the scheduler so, and during a run nobody else.
 *   - Time is what the host says: `now_ns` of a run; never backwards.
 *   - Others may allocate on the same cluster by themselves (place.h); the scheduler then sees less
 *     room. Changes of nodes are made by core.h, before the run that is to see them.
 *   - The library keeps no thread and no clock. A run is bounded by gang_run_opts.max_steps.
 *
 * Life of a job
 *   submit -> PENDING (perhaps held, or waiting for others) -> op start -> RUNNING -> ENDED:
 *   succeeded, failed, cancelled, preempted, timed out. Preemption: op preempt asks to stop ->
 *   STOPPING; the host reports that the tasks are gone, or the grace passes and op kill follows ->
 *   PENDING again (or SUSPENDED, or ENDED). Ended jobs are forgotten at the end of the run that
 *   ended them; op state tells of the end.
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
 *       gang_sched_run(s, now_ns, NULL, NULL);       // calls my_start(), if it fits
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
    GANG_JOB_PENDING = 0, /**< waits to be granted */
    GANG_JOB_RUNNING = 1, /**< has an allocation */
    /** was asked to stop and still holds its allocation; or has stopped, and starts again elsewhere
     *  as soon as the others of the same plan have (GANG_REASON_MOVE) */
    GANG_JOB_STOPPING = 2,
    /** Displaced: holds nothing; resumes on its old places. Time slicing: waits for its turn, the first or the
     *  next, and holds what is not shared in time (gang_job_info.slice_row is not 0) */
    GANG_JOB_SUSPENDED = 3,
    GANG_JOB_ENDED = 4
};

/** How a job ended, or why it is in its state. */
enum {
    GANG_END_NONE = 0, /**< it has not ended */
    GANG_END_SUCCESS = 1,
    GANG_END_FAILED = 2,    /**< tasks failed or were lost */
    GANG_END_CANCELLED = 3, /**< gang_job_cancel(), or one it waited for did not succeed */
    GANG_END_PREEMPTED = 4, /**< displaced, in a queue that cancels */
    GANG_END_TIMEOUT = 5,   /**< ran for its time limit */
    GANG_END_UNSTARTED = 6, /**< not granted within start_within_ns */
    /** the scheduler could not take it after all: see the text of op state */
    GANG_END_REFUSED = 7,
    GANG_END_DEADLINE = 8 /**< it could not end by its deadline any more */
};

/** A job as it is. */
struct gang_job_info {
    size_t size; /**< sizeof(struct gang_job_info) */
    gang_job_id id;
    gang_queue_id queue;
    uint64_t cookie;
    /** of its first gang; GANG_ID_NONE: holds nothing. See gang_job_alloc() */
    gang_alloc_id alloc;
    int32_t state; /**< GANG_JOB_* */
    int32_t end;   /**< GANG_END_* */
    int32_t held;  /**< 1: waits for gang_job_release() */
    int32_t preemptible;
    int64_t priority;
    int64_t tasks;        /**< that it has now */
    int64_t min;          /**< that must run */
    int64_t count;        /**< that it can use; lowered by gang_job_set_target() */
    int64_t submitted_ns; /**< now_ns of the run that took it in */
    int64_t started_ns;   /**< of the last start; 0: never */
    int64_t restarts;     /**< after losses */
    int64_t preemptions;  /**< times it was displaced whole */
    const char *name;     /**< valid until the next run or command of the owner */
    const char *user;     /**< likewise */
    /** when it is planned to start, at the latest as things are now; 0: it has no planned start
     *  (gang_queue_spec.backfill) */
    int64_t planned_ns;
    /** when it is stopped at the latest, by its time limit (with what it was given more) and its
     *  deadline; 0: no bound, or it does not run */
    int64_t ends_ns;
    int64_t predicted_ns; /**< run time, as op predict said; 0: it did not */
    int64_t bypassed;     /**< jobs that passed it (gang_queue_spec.max_bypasses) */
    int32_t starved;      /**< 1: nothing passes it any more */
    int32_t reserved0;
    /** the row of its first gang that takes turns, from 1; 0: none does (gang_queue_spec.quantum_ns). Rows have
     *  their turns in this order, round and round; they are numbered anew when one comes or goes */
    int32_t slice_row;
    int32_t reserved1;
    int64_t
        suspended_ns; /**< since it started it waited so long for its turns; time limits do not count it */
};

/* ---- callbacks ----------------------------------------------------------------------------- */

/** What a callback is about. Valid during the call. */
struct gang_event {
    size_t size; /**< sizeof(struct gang_event) of the library */
    gang_job_id job;
    uint64_t cookie; /**< of the job */
    /** the allocation concerned (gang_alloc_each() tells where); GANG_ID_NONE: none */
    gang_alloc_id alloc;
    int32_t gang;   /**< which gang of the job: 0, or more with gang_job_spec.group_after */
    int32_t state;  /**< GANG_JOB_*, after the event */
    int32_t end;    /**< GANG_END_* */
    int32_t reason; /**< GANG_REASON_* */
    /** op grow and shrink: numbers of the tasks (gang_task.task); else NULL */
    const int64_t *tasks;
    size_t task_count;
    int64_t deadline_ns;   /**< op preempt, shrink, suspend: when op kill follows; 0 otherwise */
    gang_job_id preemptor; /**< the job for which it is displaced; GANG_ID_NONE: none */
    int64_t now_ns;        /**< of the run */
    const char *text;      /**< one English line, never NULL */
};

/** Why something is stopped. */
enum {
    GANG_REASON_NONE = 0,
    GANG_REASON_PREEMPT = 1, /**< for a job of higher priority in its queue */
    GANG_REASON_RECLAIM = 2, /**< for a queue that is owed it */
    /** it starts again elsewhere, where room is kept for it until all have stopped whom the same
     *  plan asked to; it runs all the while as far as its queues count, and stays STOPPING */
    GANG_REASON_MOVE = 3,
    GANG_REASON_STALE = 4,   /**< its gang was below the minimum past the grace */
    GANG_REASON_TIMEOUT = 5, /**< its time limit */
    GANG_REASON_CANCEL = 6,  /**< gang_job_cancel() */
    GANG_REASON_LOSS = 7,    /**< tasks of it were lost */
    GANG_REASON_TARGET = 8,  /**< gang_job_set_target() */
    GANG_REASON_END = 9,     /**< the job is over (its chief ended, a critical task failed) */
    GANG_REASON_SLICE = 10,  /**< its slice is over: others have their turn */
    GANG_REASON_REQUEUE = 11 /**< gang_job_requeue() */
};

/**
 * The host's side. The table is copied; each op may be NULL, with the default stated. All are
 * called inside gang_sched_run() alone, on its thread, holding nothing of the library, and return
 * 0, or anything else to refuse where that is said. They may query, submit, command and report; not
 * run, not free, and not change queues (GANG_EBUSY). How long they take is the host's affair:
 * nothing else waits for them but the run.
 */
struct gang_host_ops {
    size_t size; /**< sizeof(struct gang_host_ops) */
    /** Launch: the whole gang is granted. Refused: the grant is undone whole, and the job waits for
     *  gang_sched_opts.refused_ns before it is tried again. NULL: accepted. */
    int32_t (*start)(const struct gang_event *event, void *user);
    /** More tasks were granted to a running job. Refused: they are undone, as with start. NULL:
     *  accepted. */
    int32_t (*grow)(const struct gang_event *event, void *user);
    /** Stop these tasks of a running job and report them gone (gang_report_tasks(),
     *  GANG_TASK_STOPPED), at the latest by deadline_ns. Refused, or NULL: they are gone at once. */
    int32_t (*shrink)(const struct gang_event *event, void *user);
    /** Save what is worth it and stop; report GANG_TASK_STOPPED of all tasks, at the latest by
     *  deadline_ns. Refused, or NULL: it is gone at once. */
    int32_t (*preempt)(const struct gang_event *event, void *user);
    /** The deadline has passed: from the return of this call on what the tasks held is given to
     *  others. Its result does not matter. NULL: nothing. */
    int32_t (*kill)(const struct gang_event *event, void *user);
    /** As preempt, of a queue that suspends; and (GANG_REASON_SLICE) at the end of a slice: stop running, stay
     *  in memory, report GANG_TASK_STOPPED of all tasks. The deadline is then that of the queue's grace, with op
     *  kill after it (what still runs must not from its return on; it resumes all the same); without grace
     *  the gang has stopped when this returns. Refused: it is preempted instead. NULL: gone at once. */
    int32_t (*suspend)(const struct gang_event *event, void *user);
    /** Go on, on the same places. Refused: as start; of time slicing: it stays suspended until its next
     *  turn. NULL: accepted. */
    int32_t (*resume)(const struct gang_event *event, void *user);
    /** The state of a job changed. Its result does not matter. NULL: nothing. */
    int32_t (*state)(const struct gang_event *event, void *user);
    /** Something a person may want to know: `level` 0 an error of the host (a report about an
     *  unknown job, a refused callback), 1 information. Its result does not matter. NULL:
     *  nothing. */
    int32_t (*log)(int32_t level, const char *text, void *user);
    /** May this user, with these groups, do this in this queue? `action` is GANG_MAY_*. 0: yes.
     *  NULL: the access lists of the queues decide. This one alone is called by
     *  gang_job_submit() and gang_sched_may(), on their threads. */
    int32_t (*may)(const char *queue, int32_t action, const char *user_name,
                   const char *const *groups, size_t group_count, void *user);
    /** How long will it run, ns? Asked when a job is taken in, and told by gang_job_get(). Planned
     *  starts and the orders SHORTEST then go by it in place of the time limit (where that is
     *  less, by that). One that runs longer is expected to run for twice as long, and so on up to
     *  its limit (Tsafrir, Etsion and Feitelson, IEEE TPDS 18(6), 2007, correct predictions
     *  likewise); plans that counted on it then start later. <= 0, or NULL: no prediction. */
    int64_t (*predict)(const struct gang_event *event, void *user);
    /** It has run for its time limit, in a queue with GANG_OVERRUN_ASK: how many ns more may it?
     *  Asked again when those have passed. <= 0, or NULL: it is stopped. */
    int64_t (*overrun)(const struct gang_event *event, void *user);
    /** Something happened to a reservation (plan.h): it begins soon, begins, is over, lost nodes. Its
     *  result does not matter. NULL: nothing. */
    int32_t (*reservation)(const struct gang_reservation_event *event, void *user);
};

#define GANG_HOST_OPS_INIT                                                                        \
    {                                                                                             \
        sizeof(struct gang_host_ops), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL                                                                      \
    }

/* ---- the scheduler ------------------------------------------------------------------------- */

/** Options; zero means the default. */
struct gang_sched_opts {
    size_t size;                /**< sizeof(struct gang_sched_opts) */
    const struct gang_mem *mem; /**< allocator, copied; NULL: malloc and free */
    /** of jobs that name none and for which no rule does; NULL: they are refused */
    const char *default_queue;
    const struct gang_queue_rule *rules; /**< copied */
    size_t rule_count;
    size_t rule_size;                  /**< sizeof(struct gang_queue_rule) */
    const char *const *excluded_kinds; /**< kinds that do not count in dominant shares */
    size_t excluded_kind_count;
    /** > 0: usage that decays with this half-life lowers weights; 0: off */
    int64_t half_life_ns;
    int64_t usage_weight_milli;  /**< how much: KAI's k, in thousandths; 0: 1000 */
    int64_t refused_ns;          /**< how long a job waits whose start the host refused; 0: 10 s */
    int64_t max_preempted_tasks; /**< tasks evicted in one run at most; 0: no bound */
    /** 1: evictions are planned and told to op log, but not carried out */
    int32_t observe_only;
    /** 1: nothing is evicted for others: no preemption, reclaim, consolidation */
    int32_t no_preemption;
    int64_t max_moves; /**< gangs moved to make room for one; 0: 16; -1: none */
    /** Reclaim: the taker must not end relatively fuller than the giver; his ratio is multiplied
     *  by this many thousandths first; 0: 1000. */
    int64_t saturation_milli;
    /** Absolute guarantees of siblings that exceed what there is (a cluster that shrank): 0: all
     *  stand, and whoever has what he was promised keeps it (KAI); 1: each is scaled down by
     *  what there is over their sum (YARN). */
    int32_t scale_guarantees;
    int32_t reserved0; /**< 0 */
};

#define GANG_SCHED_OPTS_INIT                                                                       \
    {                                                                                              \
        sizeof(struct gang_sched_opts), NULL, NULL, NULL, 0, sizeof(struct gang_queue_rule), NULL, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                        \
    }

/**
 * Make a scheduler on a cluster. Without queues it has one, "default", without guarantee and limit.
 * @param cluster  must outlive it
 * @param ops      copied; NULL: all defaults
 * @param user     passed to the ops
 * @return GANG_OK; GANG_EINVAL; GANG_ENOENT (an excluded kind); GANG_ELIMIT (no worker is free);
 * GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_sched_new(gang_cluster *cluster, const struct gang_sched_opts *opts,
                                    const struct gang_host_ops *ops, void *user, gang_sched **sched,
                                    struct gang_error *error) GANG_MUST_CHECK;

/** End a scheduler: what its jobs hold is given back, no op is called. NULL is allowed. No
 *  concurrent call. */
GANG_API void gang_sched_free(gang_sched *sched);

/** The cluster it is on. Any thread; wait-free. */
GANG_API gang_cluster *gang_sched_cluster(const gang_sched *sched);

/**
 * A scheduler and its cluster once more, so that what is done to one of them, and decided by one, does not touch the other.
 * Given the same calls and the same answers of the host both decide the same: who, when, where, on which devices and cores.
 * To look ahead by expected run times there are forecasts (forecast.h), which need no host.
 *
 * What is in it
 *   - Nodes, kinds, domains, partitions, the mix, queues, jobs, reservations, allocations, and with them plans, turns, use of
 *     late, who is asked to stop and until when. All ids are the same; those that are given afterwards, here and there, have
 *     nothing to do with each other. What others than the scheduler have allocated stays taken, too, and is given back by
 *     gang_alloc_free() with its id; other schedulers of the cluster are not in it.
 *   - Messages that no run has taken in: what was left before this call is left in both. What other threads leave meanwhile is
 *     in the original alone, or in both.
 *   - Changes of nodes that no run has seen: the first run of each sees them.
 *   - Heartbeats: tasks that are watched are, here and there, and are late at the same time unless they are reported alive to
 *     both.
 *   - Not the host's side: what is running exists once. Which of the two is the truth its host must know.
 *   - Not workers: the host makes new ones on the copy's cluster (gang_worker_new()).
 *
 * Whose it is: both are the caller's. He ends the copy with gang_sched_free() and then its cluster with
 * gang_cluster_free(), before the original or after it. The allocators of both are used by their copies, too, as are
 * functions and pointers in requests (gang_request_spec.score).
 * @param ops      of the copy, copied; the original's are not taken over. NULL: all defaults
 * @param user     passed to them
 * @param cluster  receives the copy of the cluster; gang_sched_cluster() of the copy tells it, too
 * @param copy     receives the scheduler
 * @return GANG_OK; GANG_EINVAL; GANG_E2BIG; GANG_EBUSY (called from a callback; or another thread is changing an
 *   allocation: try again); GANG_ENOMEM. On an error both are NULL, and the original is as it was.
 * Owner. Nobody may change the cluster meanwhile (submitting, commands and reports do not). No op is called. May allocate,
 * may block (as gang_node_add()). O(nodes + jobs + tasks that run + nodes of what is reserved), in time and memory.
 *
 * @code
 *   gang_cluster *c;                                  // what if the host restarted half of its nodes?
 *   gang_sched *s;
 *   gang_result r = gang_sched_copy(sched, &dry_ops, &dry, &c, &s, &error);
 *   if (r == GANG_OK) {
 *       for (size_t i = 0; i < count && r == GANG_OK; i++)
 *           r = gang_report_node_lost(s, node[i]);     // the same ids
 *       if (r == GANG_OK)
 *           r = gang_sched_run(s, now_ns, NULL, NULL); // calls dry_ops alone
 *       gang_sched_free(s);
 *       gang_cluster_free(c);
 *   }
 * @endcode
 */
GANG_API gang_result gang_sched_copy(gang_sched *sched, const struct gang_host_ops *ops, void *user,
                                     gang_cluster **cluster, gang_sched **copy,
                                     struct gang_error *error) GANG_MUST_CHECK;

/** Bounds of one run; zero means the default. */
struct gang_run_opts {
    size_t size; /**< sizeof(struct gang_run_opts) */
    /** Messages taken, jobs looked at, victims considered; 0: no bound. Who is to go for a job
     *  is thought through to its end once it was begun, so that a run may take as many steps
     *  more as there are victims. */
    int64_t max_steps;
};

#define GANG_RUN_OPTS_INIT              \
    {                                   \
        sizeof(struct gang_run_opts), 0 \
    }

/** What a run did. */
struct gang_run_info {
    size_t size;             /**< sizeof(struct gang_run_info) */
    int64_t messages;        /**< taken in */
    int64_t jobs_tried;      /**< jobs that were tried */
    int64_t started;         /**< gangs granted */
    int64_t tasks_granted;   /**< tasks in them, and by growth */
    int64_t tasks_preempted; /**< asked to stop, for others */
    int64_t moved;           /**< gangs moved elsewhere */
    int64_t ended;           /**< jobs */
    int64_t steps;           /**< of max_steps */
    /** 1: max_steps was reached; the next run goes on where this one stopped */
    int32_t more;
    int32_t reserved0;
};

#define GANG_RUN_INFO_INIT                                         \
    {                                                              \
        sizeof(struct gang_run_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/**
 * The cycle: takes in messages, lets time pass, starts what can start, grows what can grow, then
 * makes room for who is entitled to it: consolidation, reclaim, preemption, eviction of stale
 * gangs. Work is proportional to what changed since the last run, not to what is there.
 *
 * Where a leaf backfills (gang_queue_spec.backfill), the first of its jobs that cannot start get a
 * planned start: the earliest time at which the whole gang fits for as long as it may run, given
 * when those that run end at the latest (time limit and grace; without a limit: never), the other
 * plans, labels, partitions, and the domain that it is to lie in. Then
 *   - nobody of any queue starts, resumes or grows who would not leave room for all plans until he
 *     ends at the latest (or is predicted to: op predict). One without a time limit and a deadline
 *     passes only where no plan needs his place;
 *   - a plan never moves later by what starts after it was made. When somebody ends early, leaves, or
 *     gives up, plans are made again in turn order, each no later than it was. With EASY they are
 *     those of the first jobs in turn: one that comes before them takes their place;
 *   - plans count cores, memory and GPUs. Where they say "now" and placement refuses (links of GPUs,
 *     parts of devices, kinds of the site, rules on other jobs), it is planned again;
 *   - a job that a limit or a guarantee keeps from starting has no plan, and does not count towards
 *     plan_depth; neither has one for which no time is found;
 *   - room that is made for who is entitled to it (reclaim, preemption, consolidation) is his: plans
 *     are made again after it, and after nodes came, went or changed;
 *   - what others allocate on the cluster by themselves is not known to the plan.
 * A planned start is due work: gang_sched_next() tells it. In such leaves a run tries each job that
 * waits when something ended (in leaves without plans: one of each kind). Memory: the timeline, some
 * 150 bytes a node, and 1 KiB and 16 bytes a node for each job that runs or has a plan.
 *
 * Where a queue slices (gang_queue_spec.quantum_ns), the gangs of the leaves below it, as far as these do not state
 * quantum_ns themselves, share their nodes in time. They lie in a matrix of rows, which take turns, and nodes
 * (Ousterhout 1982):
 *   - Its nodes are theirs alone, whole: a gang comes to a node that they have already, or to one of which
 *     nobody holds any cores (with quantum_gpus: nor GPUs). A node that the last of them left is for all again.
 *   - A gang is put into the first row that has room for it, in the order of their turns; if none has, into a new one,
 *     up to quantum_rows. Cores (with quantum_gpus: GPUs) need be free in that row only. Memory, GPUs without
 *     quantum_gpus and all other kinds are not shared in time: what all rows hold of them fits at the same
 *     time, and nobody else gets it.
 *   - The gangs of the row whose turn it is run; and those of others that fit beside them (alternates), in the order of
 *     their turns. Nobody runs beside somebody who would not fit, nor in parts: a gang is suspended and
 *     resumed as a whole. Those of the next row start when those in their way have reported that all tasks
 *     stopped, or the grace has passed. A slice is counted from when all of its row run.
 *   - So each gang has at least a whole slice in each round of (quantum_ns and grace) times rows. When gangs end,
 *     gangs move to rows that have their turn no later, and empty rows go. With one row nobody is suspended.
 *     The end of a slice is due work: gang_sched_next() tells it.
 *   - Books: a gang counts in its queues with all that it has, whoever has the turn, as in Slurm: a limit
 *     bounds all rows together, and a sliced queue may use more cores than there are.
 *   - Time limits, suspended_ns and least attained service count the time that it runs. Heartbeats are not expected of a
 *     suspended gang; tasks of it may end, fail or be lost like others.
 *   - Op start comes with the first turn. If a node goes or is drained before it, the gang waits again.
 *   - Where other leaves backfill, it comes to no node that a planned start counts on; and plans count on none of its
 *     nodes as long as they are in the matrix, for nobody knows until when. It has no planned start itself.
 *   - It displaces nobody, since it may wait for a row; it is displaced like others, suspended or not.
 *   - It grows in its own row's turns. Jobs that want their nodes alone (gang_request_spec.exclusive) and those that run
 *     already when submitted take no turns and have their nodes to themselves.
 * @param now_ns  not before that of the last run
 * @param opts    NULL: no bound
 * @param info    NULL: not wanted
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from a callback); GANG_ENOMEM: something could
 *   not be done for want of memory; nothing is lost or half done, and the next run tries again.
 *   Owner.
 */
GANG_API gang_result gang_sched_run(gang_sched *sched, int64_t now_ns,
                                    const struct gang_run_opts *opts, struct gang_run_info *info)
    GANG_MUST_CHECK;

/** When the next run is due: INT64_MIN: now (messages wait, or a run stopped early); INT64_MAX:
 *  when something happens. Changes of nodes by core.h are not seen by it. Owner. O(1). */
GANG_API int64_t gang_sched_next(gang_sched *sched);

/* ---- queues -------------------------------------------------------------------------------- */

/**
 * Set the whole tree: validated as a whole, then swapped in at once. Queues of the same name go on
 * as the same, with their jobs; others are new or go.
 * @param queues  parents may come after children
 * @return GANG_OK; GANG_EINVAL (limit below guarantee, parts of siblings above the whole, jobs in a
 *   queue that would no longer be a leaf, ...); GANG_EEXIST; GANG_ENOENT (parent, kind, partition,
 *   level); GANG_ECYCLE; GANG_ERANGE; GANG_ELIMIT; GANG_EBUSY (a queue that would go has jobs; or
 *   called from a callback); GANG_ENOMEM. `error` has the path: "queues[2].limit.gpu". Nothing
 *   changed on an error. Owner. May allocate.
 */
GANG_API gang_result gang_sched_set_queues(gang_sched *sched, const struct gang_queue_spec *queues,
                                           size_t count, struct gang_error *error) GANG_MUST_CHECK;

/** Add one, change one (`spec->name` says which; its parent may change: it moves with all
 *  below), remove one (GANG_EBUSY while it has jobs or children), set the state. As
 *  gang_sched_set_queues(), path "limit.gpu". Owner. */
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

/** A copy of the specification in force; free it with gang_queue_spec_free(). @return GANG_OK;
 *  GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM. Owner. */
GANG_API gang_result gang_queue_get_spec(gang_sched *sched, gang_queue_id id,
                                         struct gang_queue_spec **spec) GANG_MUST_CHECK;
GANG_API void gang_queue_spec_free(struct gang_queue_spec *spec);

/** A queue as it is. Amounts are per kind, in its unit, by number of the kind. */
struct gang_queue_info {
    size_t size; /**< sizeof(struct gang_queue_info) */
    gang_queue_id id;
    gang_queue_id parent; /**< GANG_ID_NONE: top */
    int32_t state;        /**< GANG_QUEUE_* */
    int32_t is_leaf;
    int64_t running;                   /**< jobs, in it and below */
    int64_t pending;                   /**< jobs, in it and below */
    int64_t tasks;                     /**< that run, in it and below */
    int64_t guarantee[GANG_MAX_KINDS]; /**< in force; GANG_UNLIMITED: not managed */
    int64_t limit[GANG_MAX_KINDS];     /**< in force; GANG_UNLIMITED: none */
    /** fair share, as of the last run; GANG_UNLIMITED: not managed */
    int64_t share[GANG_MAX_KINDS];
    int64_t used[GANG_MAX_KINDS]; /**< by what runs, and is held for who is about to start */
    int64_t used_nonpreemptible[GANG_MAX_KINDS]; /**< of that, by work that is not preemptible */
    /** used, and wanted by jobs that could run; the limit at most */
    int64_t demand[GANG_MAX_KINDS];
    char name[GANG_MAX_NAME + 1];
    int32_t backfill; /**< GANG_BACKFILL_*, in force */
    int32_t reserved0;
    int64_t plan_depth; /**< in force; 0: all */
    int64_t planned;    /**< jobs of a leaf (gangs, where groups wait) that have a planned start */
    int64_t quantum_ns;   /**< in force; 0: its gangs take no turns */
    int64_t quantum_rows; /**< of these there may be so many, */
    int64_t rows;       /**< and are so many now, over all leaves that share their nodes with it */
    int64_t active_row; /**< whose turn it is, from 1; 0: there is none */
    int64_t
        quantum_end_ns; /**< when its turn ends; INT64_MAX: it does not, or not all of it run yet */
};

/** Read a queue. @return GANG_OK; GANG_EINVAL; GANG_ESTALE. Owner. O(kinds). */
GANG_API gang_result gang_queue_get(gang_sched *sched, gang_queue_id id,
                                    struct gang_queue_info *info) GANG_MUST_CHECK;

/** The next queue, parents before children; GANG_ID_NONE first and after the last. Owner. */
GANG_API gang_queue_id gang_queue_next(gang_sched *sched, gang_queue_id id);

/** May a user do something in a queue, by its access lists or op may? @return GANG_OK;
 *  GANG_EPERM; GANG_ENOENT; GANG_EINVAL. Any thread. */
GANG_API gang_result gang_sched_may(gang_sched *sched, const char *queue, int32_t action,
                                    const char *user, const char *const *groups, size_t group_count)
    GANG_MUST_CHECK;

/* ---- jobs ---------------------------------------------------------------------------------- */

/**
 * Submit a job. It is checked at once: what it is made of, whether its queue is there, open and
 * allowed, whether its gang could ever run: on the nodes there are, all up and empty, and inside
 * the limits of its queue and of all above.
 * @param id  receives the id; may not be NULL
 * @return GANG_OK: it is taken in by the next run; the errors of gang_request_new(), path
 *   "request.groups[0]..."; GANG_ENOENT (queue); GANG_EINVAL; GANG_EPERM (access); GANG_ECLOSED
 *   (queue draining or closed); GANG_ELIMIT (max_pending; max_time_limit_ns); GANG_ENEVER with the
 *   reason; GANG_ENOMEM. `places` of a running job are taken by the run; if they cannot be, the job
 *   ends GANG_END_REFUSED. Any thread; lock-free. May allocate. O(size of the specification), and
 *   that of gang_request_fits_ever().
 */
GANG_API gang_result gang_job_submit(gang_sched *sched, const struct gang_job_spec *spec,
                                     gang_job_id *id, struct gang_error *error) GANG_MUST_CHECK;

/**
 * Submit an array: `count` jobs of one specification, all or none, with consecutive ids.
 * @param ids  receives `count` ids; NULL: only *first is wanted
 * As gang_job_submit(). Any thread; lock-free.
 */
GANG_API gang_result gang_job_submit_array(gang_sched *sched, const struct gang_job_spec *spec,
                                           int64_t count, gang_job_id *first,
                                           struct gang_error *error) GANG_MUST_CHECK;

/**
 * Commands: they take effect in the next run; one about a job that has ended by then does nothing.
 *   hold, release   a job that waits does not start; one that runs is not affected until it waits
 *                   again
 *   cancel          it ends: at once if it waits, else after op preempt
 *   requeue         one that runs stops (op preempt, grace, op kill) and waits again, at its old age; with a
 *                   hold before it, until it is released. One that waits, stops, or holds nothing is not affected
 *   set_priority    also of running jobs
 *   set_target      tasks it is to have at most, over all groups (-1: its count again): more than
 *                   that are given back, not below the minimum; the last groups first, in a group
 *                   the newest first
 *   set_time_limit  from its start; 0: none
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

/** A job as it is. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (also: not yet taken in by a run).
 *  Owner. O(1). */
GANG_API gang_result gang_job_get(gang_sched *sched, gang_job_id id, struct gang_job_info *info)
    GANG_MUST_CHECK;

/** The allocation of a part of a job (gang_event.part); GANG_ID_NONE: holds nothing, or no such
 *  part. Owner. */
GANG_API gang_alloc_id gang_job_alloc(gang_sched *sched, gang_job_id id, int32_t part);

/** The next job after `id`, in the order of ids; GANG_ID_NONE first and after the last. Owner.
 *  O(log jobs). */
GANG_API gang_job_id gang_job_next(gang_sched *sched, gang_job_id id);

/** What happened to tasks (gang_report_tasks()). */
enum {
    GANG_TASK_STARTED = 0,   /**< runs; its heartbeats are due from now on */
    GANG_TASK_HEARTBEAT = 1, /**< heartbeat */
    GANG_TASK_SUCCEEDED = 2, /**< ended well: what it held is given back at once */
    GANG_TASK_FAILED = 3,    /**< ended badly, or was lost */
    GANG_TASK_STOPPED = 4,   /**< stopped, as asked by shrink, preempt, suspend */
    /** an elastic task that is not needed: given back at once, if above the minimum. Of all tasks (NULL): nor does the gang
     *  get those that it lacks, as long as its target is not set anew */
    GANG_TASK_IDLE = 5
};

/**
 * Report what happened to tasks. What is freed is placed again in the same run.
 * @param part   which gang of the job (gang_event.part)
 * @param alloc  its allocation: a report about one that has ended since is dropped. GANG_ID_NONE:
 *   whatever it has
 * @param tasks  numbers (gang_task.task); NULL: all that it has
 * @param what   GANG_TASK_*
 * @return as the commands above. Any thread; lock-free.
 */
GANG_API gang_result gang_report_tasks(gang_sched *sched, gang_job_id job, int32_t part,
                                       gang_alloc_id alloc, const int64_t *tasks, size_t count,
                                       int32_t what) GANG_MUST_CHECK;

/** Report that a whole job ended, well or badly: as if all its tasks had. Any thread; lock-free. */
GANG_API gang_result gang_report_end(gang_sched *sched, gang_job_id job, int32_t success)
    GANG_MUST_CHECK;

/** Report that a node is lost: its state becomes GANG_NODE_DOWN, and its tasks GANG_TASK_FAILED.
 *  Any thread; lock-free. */
GANG_API gang_result gang_report_node_lost(gang_sched *sched, gang_node_id node) GANG_MUST_CHECK;

/* ---- reservations -------------------------------------------------------------------------- */

/**
 * Reserve (plan.h). It is checked, and placed in the plan, or refused, at once: beside what runs, until its expected
 * ends as of the last run, and beside the other reservations (but see GANG_RESERVATION_OVERLAP, _IGNORE_JOBS); planned
 * starts of jobs make way, and are planned again in the next run. From then on
 *   - nobody starts, resumes, grows or is moved, from whatever queue, who would not leave room for it until he ends at
 *     the latest (time limit and grace). One without a time limit never lies on what is reserved later. No room is
 *     made on what is reserved, and who runs inside is not displaced;
 *   - jobs that it is for and that name it (gang_job_spec.reservation), or that are drawn in (_MAGNETIC), start inside:
 *     on its nodes, in its time, which ends after their limit and grace. One without a time limit is asked to
 *     stop so that its grace ends with the reservation (GANG_REASON_TIMEOUT). Turn order, limits and guarantees of
 *     their queues hold as ever: a reservation is room, not right. No room is made for them by displacing others;
 *   - the part that no member uses stays free until it ends, is cancelled, changed or purged, or the job that it was
 *     made for has ended;
 *   - when nodes of it are lost (not up any more), the next run moves what lay there to others at the same time, if
 *     there are some; else, if it has not begun, all of it to a later time in its window; else it goes on with
 *     less. Where that is short, reservations accepted later make way, the newest first. One that goes on with less
 *     gets again what it lost, or as much of it as fits, as soon as nodes are up again or come free beside those who
 *     have them; planned starts make way. The host is told of each. Maintenance and nodes by name are not moved, and are whole again when the nodes are up;
 *   - whoever is in its way in spite of all that (a job of before, one that overran, one whose limit was raised) is
 *     not displaced: op reservation tells of him when it begins.
 * One that is repeated has its next 8 times planned at any time, the first of them when it is accepted: if one of
 * these does not fit it is refused. One that does not fit later is left out (GANG_RESERVATION_SKIPPED); planned starts
 * of jobs make way for it.
 * Cores, memory and GPUs are counted, by amounts: which GPUs are free together is seen when a member starts.
 * @param id       receives the id
 * @param when_ns  accepted: its start; refused with GANG_ENOFIT: the earliest start, not before arrival_ns, at
 *                 which it would be accepted as things are (also beyond its deadline); INT64_MAX: none is
 *                 known. NULL: not wanted
 * @return GANG_OK; GANG_ENOFIT: not in this window; GANG_ENEVER: larger than what there is; GANG_ELIMIT: beyond
 *   the limit of its owner (gang_reservation_limit()), or too many stages; GANG_EEXIST (name); GANG_EINVAL, GANG_ERANGE,
 *   GANG_ENOENT (queue, job, node, level, domain, label...); GANG_ENOTSUP (what the timeline does not count, by its
 *   path; or a queue slices, gang_queue_spec.quantum_ns, and nor may one begin to while something is reserved); GANG_EBUSY (called from a callback);
 *   GANG_ENOMEM. `error` has the path: "stages[0].nodes[3]: no such node". On an error nothing changed.
 * Owner. May allocate: less than 1 KiB, 16 bytes a node, and 16 for each run of neighbouring nodes, a piece; while
 * members start in it, some 150 bytes a node of the cluster. O(nodes) and what plan/admit.h says.
 */
GANG_API gang_result gang_reservation_add(gang_sched *sched,
                                          const struct gang_reservation_spec *spec,
                                          gang_reservation_id *id, int64_t *when_ns,
                                          struct gang_error *error) GANG_MUST_CHECK;

/** Change one: `spec` is all that it is to be, its name too. It is placed anew as if it were not there; if that is
 *  refused, it stays as it was. One that has begun goes on where it is as far as the new one asks for it: from now to
 *  its new end; members whose place it has no more run on as jobs outside, and until they end all that is reserved on
 *  their nodes shares what is free. As gang_reservation_add(); also GANG_ESTALE. Owner. */
GANG_API gang_result gang_reservation_change(gang_sched *sched, gang_reservation_id id,
                                             const struct gang_reservation_spec *spec,
                                             int64_t *when_ns, struct gang_error *error)
    GANG_MUST_CHECK;

/** Give one up, all its times. Members that run go on as jobs outside; those that wait do so as any other.
 *  @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_EBUSY (called from a callback). Owner. */
GANG_API gang_result gang_reservation_cancel(gang_sched *sched, gang_reservation_id id)
    GANG_MUST_CHECK;

/** A reservation as it is. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (over, cancelled). Owner. */
GANG_API gang_result gang_reservation_get(gang_sched *sched, gang_reservation_id id,
                                          struct gang_reservation_info *info) GANG_MUST_CHECK;

/** The next after `id`, in the order in which they were accepted; GANG_ID_NONE first and after the last. Owner. */
GANG_API gang_reservation_id gang_reservation_next(gang_sched *sched, gang_reservation_id id);

/** Its id by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. Owner. */
GANG_API gang_result gang_reservation_find(gang_sched *sched, const char *name,
                                           gang_reservation_id *id) GANG_MUST_CHECK;

typedef int32_t (*gang_plan_fn)(const struct gang_plan_item *item, void *user);

/** Its pieces that are not over, by start: a time of it is one piece, or several where it has stages or where
 *  gangs of a stage are at different times. @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM; the visitor's
 *  result, which ends it if it is not 0. Owner. */
GANG_API gang_result gang_reservation_pieces(gang_sched *sched, gang_reservation_id id,
                                             gang_plan_fn visit, void *user) GANG_MUST_CHECK;

/**
 * What a user may have reserved, from now on; what he has stays.
 * @param owner  gang_reservation_spec.owner; NULL: each of those that have no limit of their own
 * @param limit  NULL: none
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE; GANG_ENOMEM; GANG_EBUSY (called from a callback). Owner.
 */
GANG_API gang_result gang_reservation_set_limit(gang_sched *sched, const char *owner,
                                                const struct gang_reservation_limit *limit,
                                                struct gang_error *error) GANG_MUST_CHECK;

/** All that is in the plan as of the last run: gangs that hold nodes, in the order of jobs; then planned
 *  starts, likewise; then pieces of reservations. It may read, not change. @return GANG_OK; GANG_EINVAL; GANG_ENOMEM;
 *  the visitor's result, which ends it if it is not 0. Owner. O(everything). */
GANG_API gang_result gang_plan_each(gang_sched *sched, gang_plan_fn visit, void *user)
    GANG_MUST_CHECK;

/* ---- why it waits -------------------------------------------------------------------------- */

/** Classes of reasons. */
enum {
    GANG_WAIT_CATEGORY_NOT_NOW = 0, /**< it will start when others end */
    GANG_WAIT_CATEGORY_NEVER = 1,   /**< it cannot start as things are configured */
    GANG_WAIT_CATEGORY_HELD = 2,    /**< somebody or something it depends on holds it */
    GANG_WAIT_CATEGORY_POLICY = 3   /**< there is room, but policy gives it to others */
};

/** Reasons. */
enum {
    GANG_WAIT_CAPACITY = 1,    /**< the nodes have no room: see gang_request_explain() */
    GANG_WAIT_LIMIT = 2,       /**< limit of `queue` */
    GANG_WAIT_GUARANTEE = 3,   /**< not preemptible, and above the guarantee of `queue` */
    GANG_WAIT_USER_LIMIT = 4,  /**< of its user in `queue` */
    GANG_WAIT_MAX_RUNNING = 5, /**< jobs that run in `queue`, or of its user there */
    GANG_WAIT_HOLD = 6,        /**< gang_job_hold() */
    GANG_WAIT_AFTER = 7,       /**< waits for `blocker` */
    GANG_WAIT_QUEUE = 8,       /**< `queue` is closed */
    GANG_WAIT_BEHIND = 9,      /**< strict order: `blocker` is before it */
    /** steps aside until until_ns: the host refused, it was restarted, or timed out */
    GANG_WAIT_BACK_OFF = 10,
    GANG_WAIT_VICTIMS = 11, /**< those displaced for it have not stopped yet */
    GANG_WAIT_CELLS = 12,   /**< its place would break the cells guaranteed to `queue` */
    GANG_WAIT_LENDING = 13, /**< what is idle is not lent by `queue` */
    /** not tried yet: the run was cut short, or it came after the last run */
    GANG_WAIT_NOT_TRIED = 14,
    /** it starts at until_ns, unless something comes between, on nodes that the text names; or
     *  (until_ns is 0) it would delay `blocker`, which has such a planned start */
    GANG_WAIT_PLANNED = 15,
    GANG_WAIT_BEGIN = 16, /**< its begin_ns has not come: until_ns */
    /** `blocker` is starved, and nothing passes it (gang_queue_spec.max_bypasses) */
    GANG_WAIT_STARVED = 17,
    GANG_WAIT_SLICE = 18, /**< it has its places, and its turn at until_ns, if nothing changes */
    /** it names a reservation that begins at until_ns, or that has no room for it now, or not for so
     *  long; or (it names none) its place is reserved for others from until_ns on. The text says which */
    GANG_WAIT_RESERVATION = 19
};

/** One reason. Valid during the call. */
struct gang_wait {
    size_t size;         /**< sizeof(struct gang_wait) of the library */
    int32_t reason;      /**< GANG_WAIT_CAPACITY and its like */
    int32_t category;    /**< GANG_WAIT_CATEGORY_NOT_NOW and its like */
    gang_queue_id queue; /**< or GANG_ID_NONE */
    int32_t kind;        /**< number of the kind, or -1 */
    int32_t group;       /**< group, or -1 */
    int64_t requested;   /**< by the gang, in the unit of the kind, or jobs */
    int64_t used;        /**< of limit */
    int64_t limit;
    gang_job_id blocker; /**< who is in the way, or GANG_ID_NONE */
    int64_t until_ns;    /**< or 0 */
    const char *text;    /**< one English line */
};

typedef int32_t (*gang_wait_fn)(const struct gang_wait *wait, void *user);

/**
 * Tell all reasons why a job waits, the decisive one first; none for one that does not wait.
 * @return GANG_OK; GANG_EINVAL; GANG_ESTALE; GANG_ENOMEM; the visitor's result. Owner. O(nodes).
 */
GANG_API gang_result gang_job_explain(gang_sched *sched, gang_job_id id, gang_wait_fn visit,
                                      void *user) GANG_MUST_CHECK;

/** The same as one JSON object without line feed:
 *  {"job":7,"name":"..","state":"pending","class":"not now",
 *  "text":"..","reasons":[{"reason":"limit","class":"not
 *  now","queue":"a","kind":"gpu","requested":..,"used":..,
 *  "limit":..,"text":".."}],"placement":{...}}: members that do not apply are left out;
 *  "placement" is what gang_request_write_explanation() says, if the reason is room. @return also
 *  GANG_EIO. Owner. */
GANG_API gang_result gang_job_write_explanation(gang_sched *sched, gang_job_id id,
                                                gang_write_fn write, void *user) GANG_MUST_CHECK;

/** Audit: the scheduler's books against the sum of its jobs, its queues and their allocations.
 *  @return GANG_OK; GANG_EINVAL with the first discrepancy in `error`; GANG_ENOMEM. Owner.
 *    O(everything). */
GANG_API gang_result gang_sched_check(gang_sched *sched, struct gang_error *error) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
