/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sim.h
 * @brief What if: the scheduler itself on a virtual clock; a workload trace takes the place of its
 * users.
 *
 * A *simulation* is a host. It owns a scheduler (sched.h) on the caller's cluster. It submits the
 * jobs of a trace (trace.h) at their times, lets started jobs run for their run time, reports their
 * ends, and calls the cycle. Only the clock and the processes are simulated. It jumps from event to
 * event. The caller may stop it at any time, inspect it, change it by the ordinary calls, and
 * continue.
 *
 * How a job runs
 *   - It has *work*: its run time with all its tasks (`count`). With fewer tasks its speed is
 *     (tasks / count) ^ elastic.
 *   - It ends when its work is done, successfully or as the trace records
 *     (gang_sim_opts.recorded_ends).
 *   - A job that is asked to stop saves its work and stops at once, or after `stop_ns`. A job that
 *     is killed because its grace period was shorter, or that loses tasks, goes back to its last
 *     checkpoint (checkpoint_ns). At the next start it first needs restart_ns, plus what it still
 *     needed of an earlier restart. A suspended job loses nothing: it waits for its next time
 *     slice. A job that is preempted in a queue that suspends (GANG_PREEMPT_MODE_SUSPEND) stops and
 *     saves its work like others.
 *   - A job with groups that start after one another (gang_job_spec.group_after: data, training,
 *     serving) has work for each of its gangs (gang_sim_submit_groups()). Each gang runs, ends,
 *     saves, waits for its time slices, and goes back by itself. The statistics state how they
 *     count such a job.
 *   - It may fail by itself (task_mtbf_ns), and so may nodes (node_mtbf_ns, node_repair_ns). The
 *     job's own policy decides what follows (gang_job_spec.loss; gang_sim_opts.loss for jobs of a
 *     trace: by default they restart). What lies on a node that is down, or was lost, is not used:
 *     usage never exceeds what is up.
 *
 * Same input, same output, byte for byte, on any machine: all random numbers derive from `seed`,
 * each from its own stream.
 *
 * @code
 *   struct gang_sim_opts opts = GANG_SIM_OPTS_INIT;      // one queue for all jobs
 *   if (gang_sim_new(cluster, &opts, NULL, NULL, &sim, &error) == GANG_OK &&
 *       gang_sim_add_trace(sim, trace, 0, &error) == GANG_OK &&
 *       gang_sim_run(sim, NULL, NULL, &error) == GANG_OK)
 *       result = gang_sim_write_summary(sim, NULL, 2, write_to_stdout, NULL);
 *   gang_sim_free(sim);
 * @endcode
 */
#ifndef GANGSCHED_SIM_H
#define GANGSCHED_SIM_H

#include <gangsched/base.h>
#include <gangsched/core.h>
#include <gangsched/job.h>
#include <gangsched/plan.h>
#include <gangsched/queue.h>
#include <gangsched/sched.h>
#include <gangsched/trace.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A scheduler, a clock, and the jobs that run on it. */
typedef struct gang_sim gang_sim;

/* ---- options ------------------------------------------------------------------------------- */

/** What the scheduler knows of run times. */
enum {
    GANG_SIM_KNOW_LIMIT = 0, /**< what the users stated: the time limits of the trace */
    GANG_SIM_KNOW_RUN = 1,   /**< the real run time (clairvoyant), as the time limit */
    /** the real run time as a prediction (op predict), beside the time limits of the trace */
    GANG_SIM_KNOW_PREDICTED = 2
};

/** What happens in the same instant. */
enum {
    /** Ends, then failures and repairs, then submissions, all in job order; then one run. */
    GANG_SIM_TOGETHER = 0,
    /** Each submission with a run of its own, then each end with one, in the order of the
     *  starts: like the simulators of the backfilling logs (pyss). */
    GANG_SIM_ONE_BY_ONE = 1
};

/** How a policy (gang_sim_ops.score) is used. */
enum {
    GANG_SIM_SCORE_ORDER =
        0, /**< it orders the waiting jobs: the score becomes the priority, lowest score first */
    /** It also selects the jobs that run. Before a run all jobs are visited by score; at equal
     *  scores waiting jobs come before running jobs. Each takes its GPUs from a budget of all
     *  GPUs that the queue may use. A running job that gets none is preempted; a waiting job
     *  that gets none is held (Tiresias, SRTF). The scheduler itself does not move jobs that are
     *  preempted in this way. */
    GANG_SIM_SCORE_SELECT = 1
};

/** Built-in policies (gang_sim_opts.policy), beside those of the queues. As published, they bound
 * no wait: with a policy or a score, gang_queue_spec.max_blocked_ns is off unless a queue sets
 * it. */
enum {
    GANG_SIM_POLICY_QUEUES =
        0, /**< the queues decide (gang_queue_spec.order...), or gang_sim_ops.score */
    /** By submission: in each leaf, a job that does not fit holds back all that came later. */
    GANG_SIM_POLICY_FIFO = 1,
    GANG_SIM_POLICY_SJF = 2, /**< shortest run time first; does not preempt */
    /** Shortest remaining time first. It stops jobs by their scores (GANG_SIM_SCORE_SELECT),
     *  whatever gang_sched_opts.no_preemption says: that is about the rules of queues. */
    GANG_SIM_POLICY_SRTF = 3,
    /** Two classes of attained service (GPUs times time): jobs with more than `las_split_ns`
     *  come after the others; preempts (Gu et al., Tiresias, NSDI 2019: discretised least
     *  attained service). Both classes are in the order of submission. */
    GANG_SIM_POLICY_LAS = 4,
    /** The same, but in each class running jobs come first, by their start. So only a job with
     *  less service preempts (the simulator of Tiresias itself). */
    GANG_SIM_POLICY_LAS_STARTED = 5,
    /** By submission, and a job that does not fit holds back none, unless its leaf says so
     *  (gang_queue_spec.block). */
    GANG_SIM_POLICY_FIRST_FIT = 6
};

/** Where jobs of traces are placed. */
enum {
    GANG_SIM_PLACE_CLUSTER = 0, /**< the cluster's policy decides (gang_cluster_opts.policy) */
    /** Each task on the node with the fewest free GPUs that holds it; tasks of groups after the
     *  first on the node with the most. For a trace cut into whole nodes and a rest
     *  (gang_trace_opts.gpus_per_task): whole free nodes, and the rest where most is free beside
     *  them (Hu et al., Helios, SC 2021). */
    GANG_SIM_PLACE_CONSOLIDATED = 1
};

/** What is recorded beside the jobs. */
enum {
    /** which job was on which node, when: gang_sim_get_allocation() */
    GANG_SIM_RECORD_ALLOCATIONS = 1,
    GANG_SIM_RECORD_TIMELINE = 2 /**< usage over time: gang_sim_get_sample() */
};

/** gang_sim_opts.loss: GANG_LOSS_COUNT, for jobs of traces. */
enum { GANG_SIM_LOSS_COUNT = -1 };

/** Options; zero is the default. */
struct gang_sim_opts {
    size_t size; /**< sizeof(struct gang_sim_opts) */
    /** Its allocator is used for the simulation, too. NULL: all defaults, but without moving
     *  gangs (max_moves -1): a move would be free of cost here unless restart_ns states one. */
    const struct gang_sched_opts *sched;
    /** The tree; none: one queue "default" for all jobs, in the order of submission. */
    const struct gang_queue_spec *queues;
    size_t queue_count;
    /** Queue of trace jobs without a queue or with an unknown one. NULL: such jobs are refused,
     *  except that a single queue takes all jobs. */
    const char *default_queue;
    uint64_t seed;
    /** The clock begins at this time, or with the first job if that is earlier: the first job
     *  known at the first run, or the first submission. */
    int64_t start_ns;
    int32_t know;         /**< GANG_SIM_KNOW_* */
    int32_t same_instant; /**< GANG_SIM_TOGETHER or GANG_SIM_ONE_BY_ONE */
    /** > 0: submissions and ends wait for the next multiple; 0: they count when they happen */
    int64_t tick_ns;
    /** > 0: the cycle runs at multiples of it only; 0: whenever something happened */
    int64_t pass_ns;
    int32_t policy;       /**< GANG_SIM_POLICY_* */
    int32_t record;       /**< GANG_SIM_RECORD_*, or'ed */
    int64_t las_split_ns; /**< GPU-time; 0: 18,000 GPU-seconds */
    int64_t restart_ns;   /**< added to the remaining work of a job at each preemption */
    /** Time from the request to stop until the job has saved its work and stopped. If the grace
     *  period is shorter, the job is killed, unsaved. */
    int64_t stop_ns;
    /** Work is saved whenever so much of it is done; 0: continuously (nothing is lost); -1:
     *  never. */
    int64_t checkpoint_ns;
    /** exponent of the speed, see above, of GANG_WHOLE; 0: GANG_WHOLE; -1: exponent 0, full speed
     *  with the minimum of tasks */
    int64_t elastic;
    /** mean time between failures of a node, exponential; 0: nodes do not fail */
    int64_t node_mtbf_ns;
    int64_t node_repair_ns; /**< mean time to repair, exponential; 0: an hour */
    /** mean running time of a task until it fails, exponential; 0: tasks do not fail */
    int64_t task_mtbf_ns;
    /** What jobs of traces do about lost tasks: GANG_LOSS_FAIL, _RESTART, _REFILL, _SHRINK;
     *  GANG_SIM_LOSS_COUNT: the other tasks go on, at the speed of the remaining tasks; 0:
     *  GANG_LOSS_RESTART */
    int32_t loss;
    int32_t
        recorded_ends;    /**< 1: a job that failed in the trace fails at the end of its run time */
    int64_t max_restarts; /**< of GANG_LOSS_RESTART; 0: no bound */
    int64_t sample_ns;    /**< minimum time between two samples of the timeline; 0: each change */
    /** 1: jobs of traces are preemptible; -1: they are not; 0: the trace decides */
    int32_t preemptible;
    int32_t no_limits; /**< 1: no job is stopped at its time limit; plans still use it */
    /** A job holds its resources for this time after its work is done (simulators with ticks see
     *  an end one tick later). */
    int64_t linger_ns;
    int32_t place; /**< GANG_SIM_PLACE_* */
    int32_t reserved0;
};

#define GANG_SIM_OPTS_INIT                                                                        \
    {                                                                                             \
        sizeof(struct gang_sim_opts), NULL, NULL, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                    \
    }

/* ---- the host of the simulation ------------------------------------------------------------ */

/** What happened to a job, a node, or a reservation. */
enum {
    GANG_SIM_SUBMITTED = 0,
    GANG_SIM_REFUSED = 1, /**< the scheduler refused it: see `text` */
    GANG_SIM_STARTED = 2, /**< also after a preemption or a restart */
    GANG_SIM_GREW = 3,
    GANG_SIM_SHRANK = 4,
    GANG_SIM_STOPPED = 5, /**< it was preempted, or lost tasks, and waits again */
    GANG_SIM_SUSPENDED = 6,
    GANG_SIM_RESUMED = 7,
    GANG_SIM_ENDED = 8,
    GANG_SIM_NODE_DOWN = 9, /**< `node` failed */
    GANG_SIM_NODE_UP = 10,
    /** A gang (`gang`) of a job with group_after has done its work. For such jobs STARTED and
     *  STOPPED are reported for each gang, too. */
    GANG_SIM_GANG_ENDED = 11,
    /** An event of a reservation (op reservation, plan.h): `reservation`. It begins soon,
     *  begins, ended, lost nodes, or got others for them. Changes that the caller made are not
     *  reported. */
    GANG_SIM_RESERVATION = 12
};

/** One event. Valid during the call. */
struct gang_sim_event {
    size_t size;  /**< sizeof(struct gang_sim_event) of the library */
    int32_t what; /**< GANG_SIM_SUBMITTED and the others */
    int32_t end;  /**< GANG_END_* */
    int64_t now_ns;
    size_t index; /**< of the job in the simulation; SIZE_MAX: none */
    gang_job_id job;
    gang_alloc_id alloc; /**< or GANG_ID_NONE */
    gang_node_id node;   /**< or GANG_ID_NONE */
    int64_t tasks;       /**< tasks that it has now */
    int32_t reason;      /**< GANG_REASON_* */
    int32_t reserved0;
    const char *text; /**< one English line, never NULL */
    int32_t gang;     /**< which gang of the job, as gang_event.gang; `alloc` is the gang's */
    int32_t reserved1;
    /** Of GANG_SIM_RESERVATION: which one (id, name), what happened to it
     *  (GANG_RESERVATION_BEGIN and the others), when and where; otherwise NULL. Its jobs are
     *  ids: gang_sim_find_job(). */
    const struct gang_reservation_event *reservation;
};

#define GANG_SIM_EVENT_INIT                                                           \
    {                                                                                 \
        sizeof(struct gang_sim_event), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, NULL \
    }

/** The jobs that a policy scores: waiting and running jobs, by index. Arrays of `count`, valid
 *  during the call. */
struct gang_sim_view {
    size_t size; /**< sizeof(struct gang_sim_view) of the library */
    size_t count;
    int64_t now_ns;
    const int64_t *index; /**< of the job in the simulation, ascending */
    const int64_t *submit_ns;
    const int64_t *run_ns;    /**< real run time; a policy that is not clairvoyant uses limit_ns */
    const int64_t *limit_ns;  /**< 0: none */
    const int64_t *left_ns;   /**< remaining work, real */
    const int64_t *served_ns; /**< time that it has run, over all starts (attained service) */
    /** of all its tasks; with group_after, of the tasks that run or may start now */
    const int64_t *gpu_milli;
    const int64_t *cpu_milli; /**< of the same tasks */
    const int64_t *tasks;     /**< all its tasks */
    const int64_t *queue;     /**< number of its queue, from 0, as in gang_sim_queue_name() */
    const int64_t *running;   /**< 1: it runs */
    const int64_t *user;      /**< number of its user, from 0, as in gang_sim_user_name() */
};

#define GANG_SIM_VIEW_INIT                                                                        \
    {                                                                                             \
        sizeof(struct gang_sim_view), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL                                                                      \
    }

/** Callbacks; each may be NULL. The table is copied. They are called inside gang_sim_run(), on
 *  its thread. `event` and `place` are also called inside gang_sim_submit() and
 *  gang_sim_submit_groups(), where the result of `event` is ignored. They may call what a host op
 *  may (gang_host_ops), and the queries of this header. A result other than 0 ends the run after
 *  the present step and is returned by it; the simulation can continue. */
struct gang_sim_ops {
    size_t size; /**< sizeof(struct gang_sim_ops) */
    /** Something happened. */
    int32_t (*event)(const struct gang_sim_event *event, void *user);
    /** Continue? Called every gang_sim_bounds.every events, so that a caller can show progress,
     *  check its clock, or be interrupted. */
    int32_t (*go_on)(int64_t now_ns, int64_t events, void *user);
    /** Score all waiting and running jobs, before each run of the cycle (with pass_ns: at each
     *  multiple of it): score[i] of the i-th job, lowest first; NaN counts as last. */
    int32_t (*score)(const struct gang_sim_view *view, double *score, void *user);
    /** How fast is a job with `tasks` tasks, as a fraction of its full speed, of GANG_WHOLE?
     *  Replaces elastic. <= 0: no progress. */
    int64_t (*speed)(size_t index, int64_t tasks, int64_t count, void *user);
    /** How many ns are added to the remaining work of a preempted job? Replaces restart_ns. */
    int64_t (*restart_ns)(size_t index, int64_t gpu_milli, void *user);
    int32_t score_mode; /**< GANG_SIM_SCORE_* */
    int32_t reserved0;
    /** How is the job placed? Called before a job of a trace, or of gang_sim_submit(), is
     *  submitted. It may set job->request.policy, .score and .score_user, and nothing else; they
     *  are as gang_sim_opts.place and the caller say. What score_user points to must stay valid as
     *  long as the simulation, its forks and their forecasts. A result other than 0 also ends
     *  gang_sim_submit(), without the job; a job of a trace is then placed as without this op. */
    int32_t (*place)(size_t index, int64_t run_ns, struct gang_job_spec *job, void *user);
};

#define GANG_SIM_OPS_INIT                                                     \
    {                                                                         \
        sizeof(struct gang_sim_ops), NULL, NULL, NULL, NULL, NULL, 0, 0, NULL \
    }

/* ---- the simulation ------------------------------------------------------------------------ */

/**
 * Make a simulation on a cluster; it has no jobs yet.
 * @param cluster borrowed, and must outlive the simulation. One simulation or scheduler at a time;
 *   nodes that failed in the simulation stay down after it ends
 * @param opts NULL: all defaults; needed during this call only
 * @param ops copied; NULL: none
 * @param user passed to the ops
 * @return GANG_OK; GANG_EINVAL; GANG_E2BIG; GANG_ERANGE (an option, by its path); the errors of
 *   gang_sched_new() and gang_sched_set_queues() (path "queues[2].limit.gpu"); GANG_ENOMEM.
 * Any thread. May allocate.
 */
GANG_API gang_result gang_sim_new(gang_cluster *cluster, const struct gang_sim_opts *opts,
                                  const struct gang_sim_ops *ops, void *user, gang_sim **sim,
                                  struct gang_error *error) GANG_MUST_CHECK;

/** End a simulation and its scheduler: what its jobs hold is released. NULL is allowed. No
 *  concurrent call. */
GANG_API void gang_sim_free(gang_sim *sim);

/**
 * Copy a simulation at its present instant, on a copy of its cluster: with the same past (jobs,
 * allocations, samples, statistics) and the same future (what is to come, and the random numbers).
 * Afterwards neither sees what is done to the other, its scheduler (gang_sim_sched()) or its
 * cluster. With the same functions and no changes, both produce the same results, byte for byte,
 * and those of a simulation that was never forked. Changes made between runs (commands,
 * submissions, nodes, reservations) are in both. Jobs keep their indexes, and all ids are the same
 * (gang_sched_copy()); ids given later in one of the two have nothing to do with ids of the other.
 * Streamed tables (gang_sim_stream()) belong to the original: the fork keeps its rows from now on.
 * Rows already written are GANG_ESTALE in both.
 *
 * Ownership: the caller owns the fork and its cluster. It ends the fork with gang_sim_free() and
 * then its cluster with gang_cluster_free(), before or after the original. Both borrow the traces,
 * which must outlive both. Allocators are shared.
 * @param ops of the fork, copied; the original's ops are not used. NULL: none. Where the original
 *   has a `score` function the fork needs one too, possibly another one, with the same score_mode:
 *   queues and jobs were made for it
 * @param user passed to them
 * @param cluster receives the copy of the cluster, the same as gang_sim_cluster() of the fork
 * @param fork receives the fork
 * @return GANG_OK; GANG_EINVAL (path "score", "score_mode": see `ops`); GANG_E2BIG; GANG_EBUSY
 *   (called from a callback; another thread is changing an allocation); GANG_ENOMEM. On an error
 *   both are NULL and the original is unchanged.
 * Owner. No thread may change the cluster during the call. No op is called. May allocate, may block
 * (like gang_node_add()). O(nodes + jobs + rows), in time and memory.
 *
 * @code
 *   gang_sim *other = NULL;
 *   gang_cluster *c = NULL;
 *   result = gang_sim_run(sim, &until_noon, NULL, &error);
 *   if (result == GANG_OK)
 *       result = gang_sim_fork(sim, NULL, NULL, &c, &other, &error);
 *   if (result == GANG_OK)           // what if this node failed then?
 *       result = gang_sim_set_node_state(other, noon_ns, node, GANG_NODE_DOWN);
 *   if (result == GANG_OK)
 *       result = gang_sim_run(other, NULL, NULL, &error);
 *   if (result == GANG_OK)
 *       result = gang_sim_write_summary(other, NULL, 2, write_to_stdout, NULL);
 *   gang_sim_free(other);
 *   gang_cluster_free(c);
 *   if (result == GANG_OK)           // the original has not changed
 *       result = gang_sim_run(sim, NULL, NULL, &error);
 * @endcode
 */
GANG_API gang_result gang_sim_fork(gang_sim *sim, const struct gang_sim_ops *ops, void *user,
                                   gang_cluster **cluster, gang_sim **fork,
                                   struct gang_error *error) GANG_MUST_CHECK;

/**
 * Add the jobs of a trace, each submitted `shift_ns` after its time in the trace; if that time has
 * passed, now. The trace is borrowed, must not change, and must outlive the simulation. Several
 * traces may be added, at any time.
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE; GANG_ENOENT (a queue, path "jobs[7].queue");
 *   GANG_EBUSY (called from a callback); GANG_ENOMEM. On an error nothing changed. Owner. O(jobs
 *   log jobs).
 */
GANG_API gang_result gang_sim_add_trace(gang_sim *sim, gang_trace *trace, int64_t shift_ns,
                                        struct gang_error *error) GANG_MUST_CHECK;

/**
 * Submit one job now. The specification may use all members of gang_job_spec but `running`: the
 * waiting time, work and usage of a running job would lie before the simulation's clock and make
 * statistics wrong. Submit such a job with the rest of its run time instead. The simulation uses
 * `cookie` itself.
 * @param run_ns run time with all its tasks, >= 0; with group_after: of each gang, so that three
 *   gangs in a row take three times as long. See gang_sim_submit_groups()
 * @param index receives its index; NULL: not wanted
 * @return as gang_job_submit(); GANG_ERANGE (run_ns); GANG_ENOTSUP (path "running",
 *   "announced"); GANG_EBUSY (called from a callback). Owner.
 */
GANG_API gang_result gang_sim_submit(gang_sim *sim, const struct gang_job_spec *spec,
                                     int64_t run_ns, size_t *index, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Like gang_sim_submit(), with a run time for each group. Groups that wait for the same groups are
 * one gang (job.h). It runs as long as the longest of its groups; so does a job without
 * group_after. How a job of several gangs is counted:
 *   - run_ns: from its start to its end on an idle cluster: the longest path through its gangs to
 *     those that end the job (its chiefs; else its members; else all);
 *   - start_ns: of the first gang. wait_ns: also between two gangs, while none runs. starts: of all
 *     gangs. ran_ns: while any gang runs. lost_ns: sum over its gangs;
 *   - tasks, cpu_milli, memory_bytes, gpu_milli: of all its tasks, although they need not run at
 *     the same time. Usage and losses are counted gang by gang, finish-time fairness by the largest
 *     gang;
 *   - a gang that is preempted or loses tasks goes back by itself; gangs that have ended stay so. A
 *     gang with less than all its tasks is slower, and gives up the tasks it lacks when it ends
 *     (GANG_TASK_IDLE).
 * @code
 *   const struct gang_group_after after[] = {{1, 0, GANG_AFTER_SUCCESS, 0}}; // train after data
 *   const int64_t run_ns[] = {600 * SECOND, 36000 * SECOND};
 *   job.group_after = after;
 *   job.group_after_count = 1;
 *   result = gang_sim_submit_groups(sim, &job, run_ns, 2, &index, &error);
 * @endcode
 * @param run_ns of each group, >= 0
 * @param count gang_job_spec.request.group_count
 * @return as gang_sim_submit(); GANG_EINVAL (path "run_ns": not one for each group), GANG_ERANGE
 *   ("run_ns[1]").
 * Owner. This call, and each event of such a job, costs O(groups and their dependencies).
 */
GANG_API gang_result gang_sim_submit_groups(gang_sim *sim, const struct gang_job_spec *spec,
                                            const int64_t *run_ns, size_t count, size_t *index,
                                            struct gang_error *error) GANG_MUST_CHECK;

/** Set the state of a node (GANG_NODE_*, model.h) at a future time, or now if that time has
 *  passed: a failure, a drain, the end of either. Tasks on a node that goes down are lost.
 *  @return GANG_OK; GANG_EINVAL; GANG_ESTALE (no such node); GANG_EBUSY; GANG_ENOMEM. Owner. */
GANG_API gang_result gang_sim_set_node_state(gang_sim *sim, int64_t at_ns, gang_node_id node,
                                             int32_t state) GANG_MUST_CHECK;

/** How far a run may go; zero: no bound. */
struct gang_sim_bounds {
    size_t size;       /**< sizeof(struct gang_sim_bounds) */
    int32_t has_until; /**< 1: until_ns bounds the run */
    int32_t reserved0;
    /** Up to and including this time; the clock then shows it. Also when all jobs have ended:
     *  until then nodes fail and are repaired, and reservations begin and end. */
    int64_t until_ns;
    /** submissions, ends, failures, repairs, and runs that were due by themselves */
    int64_t max_events;
    int64_t every; /**< events between two calls of op go_on; 0: 1024 */
};

#define GANG_SIM_BOUNDS_INIT                          \
    {                                                 \
        sizeof(struct gang_sim_bounds), 0, 0, 0, 0, 0 \
    }

/** Why a run returned. */
enum {
    GANG_SIM_DONE = 0, /**< nothing more happens: all jobs ended, or waiting jobs never start */
    GANG_SIM_AT_UNTIL = 1,
    GANG_SIM_AT_EVENTS = 2,
    GANG_SIM_INTERRUPTED = 3 /**< a callback returned a value other than 0 */
};

/** What a run did, and the present state. */
struct gang_sim_info {
    size_t size;         /**< sizeof(struct gang_sim_info) */
    int32_t stop_reason; /**< GANG_SIM_DONE and the others, of the last run */
    int32_t reserved0;
    int64_t now_ns;
    int64_t events; /**< since the beginning */
    int64_t runs;   /**< runs of the cycle since the beginning */
    int64_t jobs;   /**< submitted jobs and jobs of traces, also future ones */
    int64_t to_come;
    int64_t pending;
    int64_t running; /**< jobs that stop, too */
    int64_t suspended;
    int64_t ended; /**< successful or not, refused jobs included */
};

#define GANG_SIM_INFO_INIT                                            \
    {                                                                 \
        sizeof(struct gang_sim_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/**
 * Run until a bound is reached or nothing more happens.
 * @param bounds NULL: none
 * @param info NULL: not wanted
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from a callback); GANG_ENOMEM (the simulation
 *   can continue); the result of a callback, if not 0.
 * Owner. May allocate. Costs the runs of the cycle, and O(log jobs) an event.
 */
GANG_API gang_result gang_sim_run(gang_sim *sim, const struct gang_sim_bounds *bounds,
                                  struct gang_sim_info *info, struct gang_error *error)
    GANG_MUST_CHECK;

/** The present state. @return GANG_OK; GANG_EINVAL. Owner. O(1). */
GANG_API gang_result gang_sim_get_info(const gang_sim *sim, struct gang_sim_info *info)
    GANG_MUST_CHECK;

/** Its scheduler and cluster, to be read and changed between runs, or from callbacks as host ops
 *  may. Commands take effect in the next run. Do not call gang_sched_run() or gang_sched_free()
 *  on them. Owner. */
GANG_API gang_sched *gang_sim_sched(const gang_sim *sim);
GANG_API gang_cluster *gang_sim_cluster(const gang_sim *sim);

/* ---- results ----------------------------------------------------------------------------- */

/** A job of a simulation. Times that lie in the future are GANG_TRACE_UNKNOWN. */
struct gang_sim_job {
    size_t size; /**< sizeof(struct gang_sim_job) */
    size_t index;
    /** Borrowed from the trace; of a submitted job valid until gang_sim_free(). "": none. */
    const char *name;
    const char *user;  /**< as `name` */
    const char *queue; /**< as `name` */
    gang_job_id id;    /**< GANG_ID_NONE: not submitted yet, or refused */
    int32_t state;     /**< GANG_JOB_*; before submission GANG_JOB_PENDING */
    int32_t end;       /**< GANG_END_*; GANG_END_REFUSED: the scheduler refused it */
    int64_t submit_ns;
    int64_t start_ns; /**< the first start */
    int64_t end_ns;
    int64_t run_ns;    /**< its work */
    int64_t limit_ns;  /**< 0: none */
    int64_t tasks;     /**< tasks that it requests (count) */
    int64_t cpu_milli; /**< of all its tasks */
    int64_t memory_bytes;
    int64_t gpu_milli;
    int64_t ran_ns; /**< over all starts, until now */
    /** submitted and neither running nor suspended, until now; also between two starts */
    int64_t wait_ns;
    int64_t suspended_ns;
    int64_t lost_ns; /**< work done again, and restarts */
    int64_t starts;
    int64_t preemptions; /**< times that the whole gang was preempted */
    int64_t failures;    /**< times that it lost tasks */
};

#define GANG_SIM_JOB_INIT                                                                        \
    {                                                                                            \
        sizeof(struct gang_sim_job), 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0                                                                     \
    }

/** One job, by index. Jobs of a trace are in its order, behind jobs that were added before.
 *  @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end); GANG_ESTALE (streamed:
 *  gang_sim_stream()). Owner. O(1). */
GANG_API gang_result gang_sim_get_job(const gang_sim *sim, size_t index, struct gang_sim_job *job)
    GANG_MUST_CHECK;

/** Index of a job by id. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (also: streamed,
 *  gang_sim_stream()). Owner. O(1); of a job that has ended O(jobs). */
GANG_API gang_result gang_sim_find_job(gang_sim *sim, gang_job_id id, size_t *index)
    GANG_MUST_CHECK;

/** Columns of all jobs at once: the members of gang_sim_job with these names. */
enum {
    GANG_SIM_JOB_SUBMIT_NS = 0,
    GANG_SIM_JOB_START_NS = 1,
    GANG_SIM_JOB_END_NS = 2,
    GANG_SIM_JOB_RUN_NS = 3,
    GANG_SIM_JOB_LIMIT_NS = 4,
    GANG_SIM_JOB_TASKS = 5,
    GANG_SIM_JOB_CPU_MILLI = 6,
    GANG_SIM_JOB_MEMORY_BYTES = 7,
    GANG_SIM_JOB_GPU_MILLI = 8,
    GANG_SIM_JOB_RAN_NS = 9,
    GANG_SIM_JOB_WAIT_NS = 10,
    GANG_SIM_JOB_SUSPENDED_NS = 11,
    GANG_SIM_JOB_LOST_NS = 12,
    GANG_SIM_JOB_STARTS = 13,
    GANG_SIM_JOB_PREEMPTIONS = 14,
    GANG_SIM_JOB_FAILURES = 15,
    GANG_SIM_JOB_STATE = 16,
    GANG_SIM_JOB_END = 17,
    GANG_SIM_JOB_ID = 18,
    GANG_SIM_JOB_QUEUE =
        19,                /**< number of the queue, from 0; see gang_sim_queue_name(); -1: none */
    GANG_SIM_JOB_USER = 20 /**< number of the user, from 0; see gang_sim_user_name() */
};

/** value[i] belongs to job first + i. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end);
 *  GANG_ESTALE (a job was streamed, gang_sim_stream(); `value` is filled up to that job). Owner.
 *  O(count). */
GANG_API gang_result gang_sim_job_column(const gang_sim *sim, int32_t column, size_t first,
                                         size_t count, int64_t *value) GANG_MUST_CHECK;

/** Names of queues and users of jobs, by number; NULL past the end. Valid until gang_sim_free().
 *  Owner. */
GANG_API const char *gang_sim_queue_name(const gang_sim *sim, size_t number);
GANG_API const char *gang_sim_user_name(const gang_sim *sim, size_t number);

/** Tasks of a job on a node, for a time (GANG_SIM_RECORD_ALLOCATIONS). */
struct gang_sim_allocation {
    size_t size;  /**< sizeof(struct gang_sim_allocation) */
    size_t index; /**< of the job */
    gang_node_id node;
    int64_t begin_ns;
    int64_t end_ns; /**< GANG_TRACE_UNKNOWN: it still runs */
    int64_t tasks;
    int64_t cpu_milli; /**< of these tasks */
    int64_t memory_bytes;
    int64_t gpu_milli;
    uint64_t gpus; /**< bit i: device i of the node; devices from 63 on share bit 63 */
    int64_t gang;  /**< which gang of the job; 0 without group_after */
};

#define GANG_SIM_ALLOCATION_INIT                                         \
    {                                                                    \
        sizeof(struct gang_sim_allocation), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/** Rows so far, by begin. Rows that have ended may be removed (gang_sim_drop(); with
 *  gang_sim_stream() ended rows are GANG_ESTALE and are reused). Owner. O(1). */
GANG_API size_t gang_sim_allocation_count(const gang_sim *sim);
GANG_API gang_result gang_sim_get_allocation(const gang_sim *sim, size_t row,
                                             struct gang_sim_allocation *allocation)
    GANG_MUST_CHECK;

/** Usage (GANG_SIM_RECORD_TIMELINE): from `at_ns` until the next sample. */
struct gang_sim_sample {
    size_t size; /**< sizeof(struct gang_sim_sample) */
    int64_t at_ns;
    int64_t running; /**< jobs */
    int64_t pending;
    int64_t cpu_milli; /**< used */
    int64_t memory_bytes;
    int64_t gpu_milli;
    int64_t nodes_up;
};

#define GANG_SIM_SAMPLE_INIT                                \
    {                                                       \
        sizeof(struct gang_sim_sample), 0, 0, 0, 0, 0, 0, 0 \
    }

GANG_API size_t gang_sim_sample_count(const gang_sim *sim);
GANG_API gang_result gang_sim_get_sample(const gang_sim *sim, size_t row,
                                         struct gang_sim_sample *sample) GANG_MUST_CHECK;

/** Forget complete rows of allocations and samples. A caller that writes them itself (in op
 *  event, or between runs) so keeps memory constant. Row numbers begin at 0 again. Owner. */
GANG_API void gang_sim_drop(gang_sim *sim);

/* ---- statistics ---------------------------------------------------------------------------- */

/** Which jobs count; zero: all. */
struct gang_sim_stats_opts {
    size_t size; /**< sizeof(struct gang_sim_stats_opts) */
    /** Jobs submitted earlier than this time after the first submission do not count, nor does
     *  that time. */
    int64_t warm_up_ns;
    int64_t
        cool_down_ns; /**< Nor do jobs submitted later than this time before the last submission. */
    int64_t tau_ns;   /**< of the bounded slowdown; 0: 10 s */
    const char *queue; /**< NULL: all */
    const char *user;  /**< NULL: all */
};

#define GANG_SIM_STATS_OPTS_INIT                                \
    {                                                           \
        sizeof(struct gang_sim_stats_opts), 0, 0, 0, NULL, NULL \
    }

/** A distribution over jobs. Percentiles are linear between the two nearest values, which is the
 *  default of numpy.percentile(). */
struct gang_sim_distribution {
    double mean;
    double p50, p90, p95, p99;
    double max;
};

/** Over the jobs that succeeded or timed out; where stated, over others. In seconds. */
struct gang_sim_stats {
    size_t size;    /**< sizeof(struct gang_sim_stats) */
    int64_t jobs;   /**< jobs that succeeded or timed out */
    int64_t failed; /**< jobs that ended otherwise */
    int64_t refused;
    int64_t unfinished;
    struct gang_sim_distribution wait_s; /**< from submission to the first start */
    struct gang_sim_distribution
        queue_s; /**< neither running nor suspended, including waits between two starts */
    struct gang_sim_distribution jct_s; /**< job completion time: from submission to the end */
    struct gang_sim_distribution
        slowdown; /**< jct over run time; jobs without run time are left out */
    /** max(1, jct over max(run time, tau)) (Feitelson et al. 1997) */
    struct gang_sim_distribution bounded_slowdown;
    double makespan_s; /**< from the first submission to the last end */
    /** Used over up, integrated from the first submission that counts to the last end; with
     *  cool_down_ns: to the last submission that counts. */
    double cpu_utilisation, memory_utilisation, gpu_utilisation;
    /** fraction of the used GPU-time (without GPUs: core-time) that was useful work: not lost,
     *  not a restart; NaN if none was used */
    double goodput;
    int64_t preemptions; /**< over all jobs */
    int64_t failures;
    double lost_gpu_s; /**< GPU-time of lost work */
    /** Jain's index (Jain, Chiu, Hawe 1984) of the users' mean bounded slowdowns: 1 is equal,
     *  1/users the worst; NaN if no user has a job that counts. */
    double jain;
    /** Finish-time fairness (Mahajan et al., Themis, NSDI 2020): mean and maximum of jct over
     *  the jct with 1/N of the cluster, N being the users active at submission. */
    double finish_fairness_mean, finish_fairness_max;
    /** Mean over time: GPUs that are free on partly used nodes, over all free GPUs. */
    double fragmentation;
};

#define GANG_SIM_DISTRIBUTION_INIT \
    {                              \
        0, 0, 0, 0, 0, 0           \
    }
#define GANG_SIM_STATS_INIT                                                                     \
    {                                                                                           \
        sizeof(struct gang_sim_stats), 0, 0, 0, 0, GANG_SIM_DISTRIBUTION_INIT,                  \
            GANG_SIM_DISTRIBUTION_INIT, GANG_SIM_DISTRIBUTION_INIT, GANG_SIM_DISTRIBUTION_INIT, \
            GANG_SIM_DISTRIBUTION_INIT, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                      \
    }

/** @return GANG_OK; GANG_EINVAL; GANG_ENOENT (queue, user); GANG_ENOMEM. Owner. O(jobs log
 * jobs). */
GANG_API gang_result gang_sim_get_stats(const gang_sim *sim, const struct gang_sim_stats_opts *opts,
                                        struct gang_sim_stats *stats) GANG_MUST_CHECK;

/** The same as one JSON object, with "queues" and "gpu_models" by name; these count from the
 *  beginning until now, a queue with all queues below it. NaN is null. @param indent spaces a
 *  level, 0: one line. @return also GANG_EIO. Owner. */
GANG_API gang_result gang_sim_write_summary(const gang_sim *sim,
                                            const struct gang_sim_stats_opts *opts, int32_t indent,
                                            gang_write_fn write, void *user) GANG_MUST_CHECK;

/** Tables that can be written. */
enum {
    /** All columns of jobs: times in seconds, `cpus` (cores), `mem_mib` (MiB, to the byte) and
     *  `gpus` of all tasks; `queue_s` is wait_ns, as in the statistics; `index` is the index of the
     *  job. */
    GANG_SIM_JOBS_CSV = 0,
    GANG_SIM_ALLOCATIONS_CSV = 1, /**< in the same units; `devices`: indices, "0 1" */
    GANG_SIM_TIMELINE_CSV = 2,    /**< in the same units */
    /** Batsim's jobs table, as evalys reads it: job_id, workload_name, profile, submission_time,
     *  requested_number_of_resources, requested_time, success, final_state, starting_time,
     *  execution_time, finish_time, waiting_time, turnaround_time, stretch, allocated_resources. */
    GANG_SIM_BATSIM_CSV = 3
};

/** Write a table. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (rows of it were streamed:
 *  gang_sim_stream()); GANG_EIO; GANG_ENOMEM. Owner. O(rows). */
GANG_API gang_result gang_sim_write(const gang_sim *sim, int32_t table, gang_write_fn write,
                                    void *user) GANG_MUST_CHECK;

/**
 * Stream a table: write it while the simulation runs, so that memory does not grow with finished
 * rows. The header is written now, and each row when it is complete: a job or an allocation when it
 * has ended, a sample when a later one exists. Rows that are complete already are written first.
 * The bytes of a row are those of gang_sim_write(). Rows come in the order of completion, which is
 * the same for the same input however runs are cut. Sorted by `index` (jobs) they are that table;
 * Batsim's table has no such column.
 *   - A job that was written is forgotten, even if it is in only one of the two tables of jobs. The
 *     simulation keeps about 170 bytes of it: times of submission, start and end, run time, waiting
 *     time, usage, losses and request, its counts, its end, user and queue, and the usage until its
 *     submission. All statistics (gang_sim_get_stats(), with any window, queue, user and tau) are
 *     bit for bit the same as without streaming. Its row is GANG_ESTALE from then on
 *     (gang_sim_get_job(), gang_sim_job_column(), gang_sim_write()). A future job takes as much
 *     memory: call this before gang_sim_add_trace(), which otherwise allocates the rows of all its
 *     jobs (about 400 bytes each).
 *   - Allocations and samples that were written are forgotten completely.
 * Bytes are passed on in blocks inside gang_sim_run(), and the rest when it returns. If `write`
 * refuses, or memory is short, the run returns GANG_EIO or GANG_ENOMEM at the end of an instant.
 * Nothing is lost: the next run writes the refused bytes first.
 * @code
 *   if (gang_sim_stream(sim, GANG_SIM_JOBS_CSV, write_to_file, jobs) == GANG_OK &&
 *       gang_sim_add_trace(sim, trace, 0, &error) == GANG_OK &&
 *       gang_sim_run(sim, NULL, NULL, &error) == GANG_OK &&   // then the jobs that have not ended:
 *       gang_sim_stream(sim, GANG_SIM_JOBS_CSV, NULL, NULL) == GANG_OK)
 *       result = gang_sim_write_summary(sim, NULL, 1, write_to_stdout, NULL);
 * @endcode
 * @param write called on the thread of the run, and inside the call that ends the stream; it may
 *   call what an op may (gang_sim_ops). NULL: end the stream. Incomplete rows are written as they
 *   are now (jobs by index, future jobs among them) and stay; from then on the table is kept again.
 *   gang_sim_free() ends a stream without a call of `write`. NULL without a stream: nothing
 * @return GANG_OK; GANG_EINVAL; GANG_EEXIST (that table is being streamed); GANG_ESTALE (of jobs,
 *   some are forgotten); GANG_EIO (at the end of the stream; it may be ended again, and then writes
 *   the incomplete rows from the first one); GANG_EBUSY (called from a callback); GANG_ENOMEM. On
 *   an error nothing changed.
 * Owner. O(1) a row, O(jobs) at begin and end.
 */
GANG_API gang_result gang_sim_stream(gang_sim *sim, int32_t table, gang_write_fn write, void *user)
    GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
