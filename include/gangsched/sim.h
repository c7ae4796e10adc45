/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sim.h
 * @brief What if: the scheduler itself on a virtual clock; a workload trace takes the place of its
 * users.
 *
 * A *simulation* is a host with a virtual clock. It has a scheduler (sched.h) on the caller's
 * cluster. It submits the jobs of a trace (trace.h) at their times, lets started jobs run for their
 * run times, reports their ends, and calls gang_sched_run(). Only the clock and the processes are
 * simulated. The clock jumps from event to event. The caller may stop a simulation at any time,
 * inspect it, change it by the ordinary calls, and continue.
 *
 * How a job runs
 *   - A job has an amount of *work*: its run time with all its tasks (`count`). With fewer tasks it
 *     runs at the speed (tasks / count) ^ elastic (gang_sim_opts.elastic).
 *   - It ends when its work is done: successfully, or as recorded in the trace
 *     (gang_sim_opts.recorded_ends).
 *   - A job that is asked to stop saves its work, which takes gang_sim_opts.stop_ns, and stops. A
 *     job that is killed because its grace period is shorter than stop_ns, or that loses tasks,
 *     loses the work since its last checkpoint (checkpoint_ns). After each preemption or loss it
 *     needs restart_ns before it makes progress again. Time slicing suspends jobs without loss. In
 *     queues with GANG_PREEMPT_MODE_SUSPEND a preempted job stops and saves its work like others.
 *   - A job whose groups start one after another (gang_job_spec.group_after: data, training,
 *     serving) has work for each of its gangs (gang_sim_submit_groups()). Each gang runs, ends,
 *     saves its work and loses work separately.
 *   - Tasks may fail (task_mtbf_ns), and nodes may fail (node_mtbf_ns, node_repair_ns).
 *     gang_job_spec.loss decides what follows; for jobs of a trace it is gang_sim_opts.loss, by
 *     default a restart. Allocations on nodes that are down, and those of lost tasks, do not count
 *     as usage.
 *
 * The same input gives the same output, byte for byte, on every machine: all random numbers come
 * from gang_sim_opts.seed.
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

/** A simulation: a scheduler, a virtual clock, and jobs. */
typedef struct gang_sim gang_sim;

/* ---- options ------------------------------------------------------------------------------- */

/** What the scheduler knows about run times (gang_sim_opts.know). */
enum {
    GANG_SIM_KNOW_LIMIT = 0, /**< the time limits of the trace, which users stated */
    GANG_SIM_KNOW_RUN = 1,   /**< the real run times, as time limits (clairvoyant) */
    /** the time limits of the trace, and the real run times as predictions (op predict) */
    GANG_SIM_KNOW_PREDICTED = 2
};

/** Order of events of the same instant (gang_sim_opts.same_instant). */
enum {
    /** ends, then failures and repairs, then submissions, each in the order of jobs; then one
     *  scheduling cycle */
    GANG_SIM_TOGETHER = 0,
    /** first each submission, then each end (in the order of starts), each followed by a scheduling
     *  cycle: like the pyss simulators for backfilling */
    GANG_SIM_ONE_BY_ONE = 1
};

/** How scores are used (gang_sim_ops.score_mode). */
enum {
    GANG_SIM_SCORE_ORDER =
        0, /**< scores order the waiting jobs: the lowest score has the highest priority */
    /** Scores also select the jobs that run (Tiresias, SRTF). Before each cycle, all waiting and
     *  running jobs are considered, lowest score first; on equal scores waiting jobs come first.
     *  Each job takes its GPUs from the number of GPUs that its queue may use. A running job for
     *  which too few are left is preempted; a waiting job is held. The scheduler does not move the
     *  jobs that are preempted in this way. */
    GANG_SIM_SCORE_SELECT = 1
};

/** Built-in policies (gang_sim_opts.policy). To behave as published, they have no bound for
 *  waiting: with a policy or gang_sim_ops.score, the default of gang_queue_spec.max_blocked_ns is
 *  -1. */
enum {
    /** the options of the queues (gang_queue_spec.order and others), or gang_sim_ops.score */
    GANG_SIM_POLICY_QUEUES = 0,
    /** in the order of submission; in each leaf a job that does not fit blocks all later jobs */
    GANG_SIM_POLICY_FIFO = 1,
    GANG_SIM_POLICY_SJF = 2, /**< shortest run time first, without preemption */
    /** shortest remaining time first; it preempts by score (GANG_SIM_SCORE_SELECT), also with
     *  gang_sched_opts.no_preemption */
    GANG_SIM_POLICY_SRTF = 3,
    /** discretised least attained service (Gu et al., Tiresias, NSDI 2019): jobs whose attained
     *  service (GPUs times time) exceeds gang_sim_opts.las_split_ns come after the others; both
     *  classes are in the order of submission; it preempts by score */
    GANG_SIM_POLICY_LAS = 4,
    /** like LAS, but in each class running jobs come first, by start; so a job is preempted only
     *  for jobs of the other class (as in Tiresias' own simulator) */
    GANG_SIM_POLICY_LAS_STARTED = 5,
    /** in the order of submission; a job that does not fit blocks no other, unless
     *  gang_queue_spec.block says so */
    GANG_SIM_POLICY_FIRST_FIT = 6
};

/** Placement of jobs of traces (gang_sim_opts.place). */
enum {
    GANG_SIM_PLACE_CLUSTER = 0, /**< by the cluster's policy (gang_cluster_opts.policy) */
    /** each task of the first group on the node with the fewest free GPUs on which it fits; tasks
     *  of other groups on the node with the most free GPUs. With gang_trace_opts.gpus_per_task this
     *  means: whole nodes, and the group "rest" on the emptiest other node (Hu et al., Helios, SC
     *  2021) */
    GANG_SIM_PLACE_CONSOLIDATED = 1
};

/** What is recorded in addition to jobs (gang_sim_opts.record). */
enum {
    /** which job used which node at which time: gang_sim_get_allocation() */
    GANG_SIM_RECORD_ALLOCATIONS = 1,
    GANG_SIM_RECORD_TIMELINE = 2 /**< usage over time: gang_sim_get_sample() */
};

/** Value of gang_sim_opts.loss that means GANG_LOSS_COUNT (0 is the default). */
enum { GANG_SIM_LOSS_COUNT = -1 };

/** Options; zero is the default. */
struct gang_sim_opts {
    size_t size; /**< sizeof(struct gang_sim_opts) */
    /** Options of the scheduler; the simulation uses its allocator, too. NULL: all defaults, except
     *  that gangs are not moved (max_moves is -1), because moves cost nothing here unless
     *  restart_ns is set. */
    const struct gang_sched_opts *sched;
    /** The tree of queues; none: one queue "default" for all jobs, in the order of submission. */
    const struct gang_queue_spec *queues;
    size_t queue_count;
    /** Queue of trace jobs that have no queue or an unknown one. NULL: such jobs are refused; but
     *  if there is only one queue, it takes all jobs. */
    const char *default_queue;
    uint64_t seed;
    /** Time at which the clock begins. If the first job that is known at the first run is submitted
     *  earlier, the clock begins then. */
    int64_t start_ns;
    int32_t know;         /**< GANG_SIM_KNOW_* */
    int32_t same_instant; /**< GANG_SIM_TOGETHER or GANG_SIM_ONE_BY_ONE */
    /** > 0: submissions and ends take effect at the next multiple of this time; 0: when they
     *  happen */
    int64_t tick_ns;
    /** > 0: scheduling cycles run only at multiples of this time; 0: after each event */
    int64_t pass_ns;
    int32_t policy;       /**< GANG_SIM_POLICY_* */
    int32_t record;       /**< GANG_SIM_RECORD_* values, combined with | */
    int64_t las_split_ns; /**< for GANG_SIM_POLICY_LAS: GPUs times ns; 0: 18,000 GPU-seconds */
    int64_t restart_ns;   /**< work that is added to a job at each preemption and loss */
    /** Time that a job needs, after it is asked to stop, to save its work and stop. If the grace
     *  period is shorter, the job is killed and its work is not saved. */
    int64_t stop_ns;
    /** Work between two checkpoints; 0: work is saved continuously, nothing is lost; -1: no
     *  checkpoints. */
    int64_t checkpoint_ns;
    /** exponent of the speed (see above), in millionths; 0: GANG_WHOLE; -1: exponent 0, that is
     *  full speed with any number of tasks */
    int64_t elastic;
    /** mean time between failures of a node, exponentially distributed; 0: nodes do not fail */
    int64_t node_mtbf_ns;
    int64_t node_repair_ns; /**< mean time to repair, exponentially distributed; 0: an hour */
    /** mean running time of a task before it fails, exponentially distributed; 0: tasks do not
     *  fail */
    int64_t task_mtbf_ns;
    /** gang_job_spec.loss of jobs of traces: GANG_LOSS_FAIL, _RESTART, _REFILL, _SHRINK, or
     *  GANG_SIM_LOSS_COUNT; 0: GANG_LOSS_RESTART */
    int32_t loss;
    /** 1: a job that failed according to the trace fails at the end of its run time */
    int32_t recorded_ends;
    /** for GANG_LOSS_RESTART: gang_job_spec.max_restarts of jobs of traces; 0: no bound */
    int64_t max_restarts;
    /** minimum time between two samples of the timeline; 0: a sample for each change */
    int64_t sample_ns;
    /** 1: jobs of traces are preemptible; -1: they are not; 0: as in the trace */
    int32_t preemptible;
    /** 1: no job is stopped at its time limit; planned starts still use time limits */
    int32_t no_limits;
    /** Time for which a job holds its resources after its work is done (as in simulators with
     *  ticks, which see an end one tick later). */
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

/** What happened (gang_sim_event.what). */
enum {
    GANG_SIM_SUBMITTED = 0,
    GANG_SIM_REFUSED = 1, /**< the scheduler refused the job; `text` says why */
    GANG_SIM_STARTED = 2, /**< a job started, for the first time or again */
    GANG_SIM_GREW = 3,
    GANG_SIM_SHRANK = 4,
    GANG_SIM_STOPPED = 5, /**< a job was preempted, or lost tasks, and waits again */
    GANG_SIM_SUSPENDED = 6,
    GANG_SIM_RESUMED = 7,
    GANG_SIM_ENDED = 8,
    GANG_SIM_NODE_DOWN = 9, /**< the node `node` failed or was set down */
    GANG_SIM_NODE_UP = 10,
    /** a gang (`gang`) of a job with group_after has done its work; for such jobs STARTED and
     *  STOPPED are reported for each gang, too */
    GANG_SIM_GANG_ENDED = 11,
    /** something happened to a reservation, as op reservation reports it: `reservation`. Changes
     *  that the caller makes are not reported */
    GANG_SIM_RESERVATION = 12
};

/** One event of the simulation. Valid during the call. */
struct gang_sim_event {
    size_t size;  /**< sizeof(struct gang_sim_event) of the library */
    int32_t what; /**< GANG_SIM_SUBMITTED and the others */
    int32_t end;  /**< GANG_END_* */
    int64_t now_ns;
    size_t index; /**< index of the job in the simulation; SIZE_MAX: none */
    gang_job_id job;
    gang_alloc_id alloc; /**< or GANG_ID_NONE */
    gang_node_id node;   /**< or GANG_ID_NONE */
    int64_t tasks;       /**< tasks that it has now */
    int32_t reason;      /**< GANG_REASON_* */
    int32_t reserved0;
    const char *text; /**< one English line, never NULL */
    int32_t gang; /**< number of the gang in the job (gang_event.gang); `alloc` is its allocation */
    int32_t reserved1;
    /** For GANG_SIM_RESERVATION: the event of op reservation; otherwise NULL. Its `jobs` are ids,
     *  see gang_sim_find_job(). */
    const struct gang_reservation_event *reservation;
};

#define GANG_SIM_EVENT_INIT                                                           \
    {                                                                                 \
        sizeof(struct gang_sim_event), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, 0, NULL \
    }

/** Waiting and running jobs, as gang_sim_ops.score gets them: arrays with `count` entries, ordered
 *  by index. Valid during the call. */
struct gang_sim_view {
    size_t size; /**< sizeof(struct gang_sim_view) of the library */
    size_t count;
    int64_t now_ns;
    const int64_t *index; /**< index of the job in the simulation, ascending */
    const int64_t *submit_ns;
    const int64_t *run_ns;    /**< real run time (clairvoyant; other policies use limit_ns) */
    const int64_t *limit_ns;  /**< 0: none */
    const int64_t *left_ns;   /**< real remaining work */
    const int64_t *served_ns; /**< time for which it has run, over all starts (attained service) */
    /** GPUs of all its tasks; with group_after: of the tasks that run or may start now */
    const int64_t *gpu_milli;
    const int64_t *cpu_milli; /**< millicores of the same tasks */
    const int64_t *tasks;     /**< all its tasks */
    const int64_t *queue;     /**< number of its queue, see gang_sim_queue_name() */
    const int64_t *running;   /**< 1: it runs */
    const int64_t *user;      /**< number of its user, see gang_sim_user_name() */
};

#define GANG_SIM_VIEW_INIT                                                                        \
    {                                                                                             \
        sizeof(struct gang_sim_view), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
            NULL, NULL, NULL                                                                      \
    }

/** Callbacks (*ops*) of a simulation. Each may be NULL. The table is copied. They are called inside
 *  gang_sim_run(), on the caller's thread; `event` and `place` also inside gang_sim_submit() and
 *  gang_sim_submit_groups(), where the result of `event` is ignored. They may call what ops of a
 *  host may call (gang_host_ops), and the functions of this header that only read. A result other
 *  than 0 of `event`, `go_on`, `score` or `place` ends gang_sim_run() after the present step;
 *  gang_sim_run() returns it, and the simulation can continue. */
struct gang_sim_ops {
    size_t size; /**< sizeof(struct gang_sim_ops) */
    /** An event happened. */
    int32_t (*event)(const struct gang_sim_event *event, void *user);
    /** Called after each gang_sim_bounds.every events, so that the caller can show progress, check
     *  its clock, or end the run. */
    int32_t (*go_on)(int64_t now_ns, int64_t events, void *user);
    /** Score all waiting and running jobs: write score[i] for job i of the view. The lowest score
     *  comes first, NaN last. Called before each scheduling cycle. */
    int32_t (*score)(const struct gang_sim_view *view, double *score, void *user);
    /** Return the speed of a job with `tasks` tasks as a fraction of its full speed, in millionths;
     *  <= 0: no progress. Replaces gang_sim_opts.elastic. */
    int64_t (*speed)(size_t index, int64_t tasks, int64_t count, void *user);
    /** Return the work, in ns, that is added to a preempted job. Replaces
     *  gang_sim_opts.restart_ns. */
    int64_t (*restart_ns)(size_t index, int64_t gpu_milli, void *user);
    int32_t score_mode; /**< GANG_SIM_SCORE_* */
    int32_t reserved0;
    /** Choose the placement of a job. Called before a job of a trace or of gang_sim_submit() is
     *  submitted. It may change job->request.policy, .score and .score_user, and nothing else;
     *  before, they are set according to gang_sim_opts.place or by the caller. `score` and what
     *  score_user points to must stay valid as long as the simulation, its forks and their
     *  forecasts. If the result is not 0, gang_sim_submit() returns it and does not submit the job;
     *  a job of a trace is submitted without the changes. */
    int32_t (*place)(size_t index, int64_t run_ns, struct gang_job_spec *job, void *user);
};

#define GANG_SIM_OPS_INIT                                                     \
    {                                                                         \
        sizeof(struct gang_sim_ops), NULL, NULL, NULL, NULL, NULL, 0, 0, NULL \
    }

/* ---- the simulation ------------------------------------------------------------------------ */

/**
 * Make a simulation on a cluster, without jobs.
 * @param cluster used until gang_sim_free(); the host frees it afterwards. Only one simulation or
 *   scheduler may use it at a time. Nodes that are down when the simulation is freed stay down
 * @param opts NULL: all defaults; not used after this call
 * @param ops copied; NULL: none
 * @param user passed to the ops
 * @return GANG_OK; GANG_EINVAL; GANG_E2BIG; GANG_ERANGE (an option; `error` has its path); the
 *   errors of gang_sched_new() and gang_sched_set_queues() (path "queues[2].limit.gpu");
 *   GANG_ENOMEM.
 * Any thread. May allocate.
 */
GANG_API gang_result gang_sim_new(gang_cluster *cluster, const struct gang_sim_opts *opts,
                                  const struct gang_sim_ops *ops, void *user, gang_sim **sim,
                                  struct gang_error *error) GANG_MUST_CHECK;

/** Free a simulation and its scheduler; the allocations of its jobs are released. NULL is allowed.
 *  No concurrent call on this simulation. */
GANG_API void gang_sim_free(gang_sim *sim);

/**
 * Copy a simulation at its present instant, on a copy of its cluster: with the same past (jobs,
 * allocations, samples, statistics) and the same future (events to come, random numbers).
 * Afterwards the two are independent, with their schedulers and clusters. Without changes and with
 * the same callbacks, both produce the same results, byte for byte, as a simulation that was not
 * forked. Changes that were made before the call (commands, submissions, nodes, reservations) are
 * in both. Jobs keep their indexes, and all ids are the same; ids that one of the two gives later
 * are unrelated to those of the other. A table that is being streamed (gang_sim_stream()) is
 * streamed only by the original; the fork keeps its rows from now on. Rows that were already
 * written are GANG_ESTALE in both.
 *
 * Ownership: the caller owns the fork and its cluster. It frees the fork with gang_sim_free() and
 * then its cluster with gang_cluster_free(), before or after the original. Both use the same traces
 * and allocators, which must stay valid as long as one of them.
 * @param ops ops of the fork, copied; the original's ops are not used. NULL: none. If the original
 *   has `score`, the fork must have one too, with the same score_mode; it may be another function
 * @param user passed to these ops
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
 * Add the jobs of a trace. Each is submitted `shift_ns` after its time in the trace, or now if that
 * time has passed. The simulation uses the trace until gang_sim_free(); it must not change. Several
 * traces may be added, at any time.
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE; GANG_ENOENT (a queue, path "jobs[7].queue");
 *   GANG_EBUSY (called from a callback); GANG_ENOMEM. On an error nothing changed. Owner. O(jobs
 *   log jobs).
 */
GANG_API gang_result gang_sim_add_trace(gang_sim *sim, gang_trace *trace, int64_t shift_ns,
                                        struct gang_error *error) GANG_MUST_CHECK;

/**
 * Submit one job now. gang_job_spec.running and announced must be 0. (A job that already runs would
 * have waited and run before the simulation's clock began; submit it with the rest of its run time
 * instead.) The simulation sets `cookie` itself.
 * @param run_ns run time with all its tasks, >= 0. With group_after each gang runs for this time;
 *   see gang_sim_submit_groups()
 * @param index receives the index of the job; may be NULL
 * @return as for gang_job_submit(); GANG_ERANGE (run_ns); GANG_ENOTSUP (path "running",
 *   "announced"); GANG_EBUSY (called from a callback). Owner.
 */
GANG_API gang_result gang_sim_submit(gang_sim *sim, const struct gang_job_spec *spec,
                                     int64_t run_ns, size_t *index, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Like gang_sim_submit(), with a run time for each group. Groups that wait for the same groups form
 * one gang (job.h); it runs as long as its longest group. The results of a job with several gangs:
 *   - run_ns: the time from its start to its end on an idle cluster: the longest chain of gangs up
 *     to those whose end ends the job (chiefs; without chiefs members; otherwise all);
 *   - start_ns: start of the first gang. wait_ns includes times between two gangs in which none
 *     runs. starts: starts of all gangs. ran_ns: time in which at least one gang runs. lost_ns: sum
 *     over its gangs;
 *   - tasks, cpu_milli, memory_bytes, gpu_milli: sums over all its tasks, even if they never run at
 *     the same time. Usage and losses are counted for each gang; finish-time fairness uses the
 *     largest gang;
 *   - when a gang is preempted or loses tasks, only this gang loses work; gangs that have ended are
 *     not repeated. A gang with fewer tasks than `count` is slower; when its work is done, it does
 *     not start the missing tasks (GANG_TASK_IDLE).
 * @code
 *   const struct gang_group_after after[] = {{1, 0, GANG_AFTER_SUCCESS, 0}}; // train after data
 *   const int64_t run_ns[] = {600 * SECOND, 36000 * SECOND};
 *   job.group_after = after;
 *   job.group_after_count = 1;
 *   result = gang_sim_submit_groups(sim, &job, run_ns, 2, &index, &error);
 * @endcode
 * @param run_ns run time of each group, >= 0
 * @param count gang_job_spec.request.group_count
 * @return as for gang_sim_submit(); GANG_EINVAL (path "run_ns": `count` is not the number of
 *   groups), GANG_ERANGE (path "run_ns[1]").
 * Owner. This call, and each event of such a job, costs O(groups and their dependencies).
 */
GANG_API gang_result gang_sim_submit_groups(gang_sim *sim, const struct gang_job_spec *spec,
                                            const int64_t *run_ns, size_t count, size_t *index,
                                            struct gang_error *error) GANG_MUST_CHECK;

/** Set the state of a node (GANG_NODE_*, model.h) at time at_ns, or now if that time has passed.
 *  Tasks on a node that goes down are lost.
 *  @return GANG_OK; GANG_EINVAL; GANG_ESTALE (no such node); GANG_EBUSY; GANG_ENOMEM. Owner. */
GANG_API gang_result gang_sim_set_node_state(gang_sim *sim, int64_t at_ns, gang_node_id node,
                                             int32_t state) GANG_MUST_CHECK;

/** Bounds of one gang_sim_run(); zero: no bound. */
struct gang_sim_bounds {
    size_t size;       /**< sizeof(struct gang_sim_bounds) */
    int32_t has_until; /**< 1: until_ns is a bound */
    int32_t reserved0;
    /** The run includes all events up to and including this time, and then sets the clock to it. It
     *  does not end earlier when all jobs have ended: nodes still fail and are repaired, and
     *  reservations begin and end. */
    int64_t until_ns;
    /** maximum number of events: submissions, ends, failures, repairs, and scheduling cycles that
     *  are due without another event; 0: no bound */
    int64_t max_events;
    int64_t every; /**< number of events between two calls of op go_on; 0: 1024 */
};

#define GANG_SIM_BOUNDS_INIT                          \
    {                                                 \
        sizeof(struct gang_sim_bounds), 0, 0, 0, 0, 0 \
    }

/** Why gang_sim_run() returned (gang_sim_info.stop_reason). */
enum {
    /** no event is left: all jobs have ended, or the waiting jobs never start */
    GANG_SIM_DONE = 0,
    GANG_SIM_AT_UNTIL = 1,
    GANG_SIM_AT_EVENTS = 2,
    GANG_SIM_INTERRUPTED = 3 /**< a callback returned a value other than 0 */
};

/** The present state of a simulation. */
struct gang_sim_info {
    size_t size;         /**< sizeof(struct gang_sim_info) */
    int32_t stop_reason; /**< GANG_SIM_DONE and the others, for the last gang_sim_run() */
    int32_t reserved0;
    int64_t now_ns;
    int64_t events; /**< since the beginning */
    int64_t runs;   /**< scheduling cycles since the beginning */
    int64_t jobs;   /**< all jobs: submitted jobs and jobs of traces, also those to come */
    int64_t to_come;
    int64_t pending;
    int64_t running; /**< running and stopping jobs */
    int64_t suspended;
    int64_t ended; /**< ended jobs, successful or not, and refused jobs */
};

#define GANG_SIM_INFO_INIT                                            \
    {                                                                 \
        sizeof(struct gang_sim_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/**
 * Run until a bound is reached or no event is left.
 * @param bounds NULL: none
 * @param info NULL: not wanted
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from a callback); GANG_ENOMEM (the simulation
 *   can continue); the result of a callback, if not 0.
 * Owner. May allocate. Cost: that of gang_sched_run() for each cycle, and O(log jobs) for each
 * event.
 */
GANG_API gang_result gang_sim_run(gang_sim *sim, const struct gang_sim_bounds *bounds,
                                  struct gang_sim_info *info, struct gang_error *error)
    GANG_MUST_CHECK;

/** Read the present state. @return GANG_OK; GANG_EINVAL. Owner. O(1). */
GANG_API gang_result gang_sim_get_info(const gang_sim *sim, struct gang_sim_info *info)
    GANG_MUST_CHECK;

/** The scheduler and the cluster of a simulation. The caller may read and change them between runs,
 *  and from callbacks as host ops may. Commands take effect in the next gang_sim_run(). Do not call
 *  gang_sched_run(), gang_sched_free() or gang_cluster_free() on them before gang_sim_free().
 *  Owner. */
GANG_API gang_sched *gang_sim_sched(const gang_sim *sim);
GANG_API gang_cluster *gang_sim_cluster(const gang_sim *sim);

/* ---- results ----------------------------------------------------------------------------- */

/** A job of a simulation. Times that are not known yet are GANG_TRACE_UNKNOWN. */
struct gang_sim_job {
    size_t size; /**< sizeof(struct gang_sim_job) */
    size_t index;
    /** Valid as long as the trace; for a job of gang_sim_submit() until gang_sim_free(). "":
     *  none. */
    const char *name;
    const char *user;  /**< as `name` */
    const char *queue; /**< as `name` */
    gang_job_id id;    /**< GANG_ID_NONE: not submitted yet, or refused */
    int32_t state;     /**< GANG_JOB_*; GANG_JOB_PENDING before the submission */
    int32_t end;       /**< GANG_END_*; GANG_END_REFUSED: the scheduler refused the job */
    int64_t submit_ns;
    int64_t start_ns; /**< the first start */
    int64_t end_ns;
    int64_t run_ns;    /**< its work */
    int64_t limit_ns;  /**< 0: none */
    int64_t tasks;     /**< number of tasks that it requests (count) */
    int64_t cpu_milli; /**< of all its tasks */
    int64_t memory_bytes;
    int64_t gpu_milli;
    int64_t ran_ns; /**< time for which it has run, over all starts, until now */
    /** time for which it has waited (neither running nor suspended) since its submission, until
     *  now; includes waits between two starts */
    int64_t wait_ns;
    int64_t suspended_ns;
    int64_t lost_ns; /**< time for work that was lost and done again, and for restarts */
    int64_t starts;
    int64_t preemptions; /**< how many times a whole gang was preempted */
    int64_t failures;    /**< how many times it lost tasks */
};

#define GANG_SIM_JOB_INIT                                                                        \
    {                                                                                            \
        sizeof(struct gang_sim_job), 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
            0, 0, 0, 0, 0, 0                                                                     \
    }

/** Read one job by its index. Jobs of a trace have successive indexes in the order of the trace,
 *  after all jobs that were added before.
 *  @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end); GANG_ESTALE (the job
 *  was streamed, gang_sim_stream()). Owner. O(1). */
GANG_API gang_result gang_sim_get_job(const gang_sim *sim, size_t index, struct gang_sim_job *job)
    GANG_MUST_CHECK;

/** Index of a job by id. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (also: the job was streamed,
 *  gang_sim_stream()). Owner. O(1); O(jobs) for a job that has ended. */
GANG_API gang_result gang_sim_find_job(gang_sim *sim, gang_job_id id, size_t *index)
    GANG_MUST_CHECK;

/** Columns for gang_sim_job_column(): the members of gang_sim_job with these names. */
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
    GANG_SIM_JOB_QUEUE = 19, /**< number of the queue, see gang_sim_queue_name(); -1: none */
    GANG_SIM_JOB_USER = 20   /**< number of the user, see gang_sim_user_name() */
};

/** Copy one column of `count` jobs: value[i] belongs to job first + i. @return GANG_OK;
 *  GANG_EINVAL; GANG_ENOENT (past the end); GANG_ESTALE (a job was streamed, gang_sim_stream();
 *  `value` is filled up to that job). Owner. O(count). */
GANG_API gang_result gang_sim_job_column(const gang_sim *sim, int32_t column, size_t first,
                                         size_t count, int64_t *value) GANG_MUST_CHECK;

/** Names of the queues and users of jobs, by number, from 0; NULL: no such number. Valid until
 *  gang_sim_free(). Owner. */
GANG_API const char *gang_sim_queue_name(const gang_sim *sim, size_t number);
GANG_API const char *gang_sim_user_name(const gang_sim *sim, size_t number);

/** Tasks of a job on one node during a time (GANG_SIM_RECORD_ALLOCATIONS). */
struct gang_sim_allocation {
    size_t size;  /**< sizeof(struct gang_sim_allocation) */
    size_t index; /**< of the job */
    gang_node_id node;
    int64_t begin_ns;
    int64_t end_ns; /**< GANG_TRACE_UNKNOWN: they still run */
    int64_t tasks;
    int64_t cpu_milli; /**< millicores of these tasks */
    int64_t memory_bytes;
    int64_t gpu_milli;
    uint64_t gpus; /**< bit i: device i of the node */
    int64_t gang;  /**< number of the gang in the job; 0 without group_after */
};

#define GANG_SIM_ALLOCATION_INIT                                         \
    {                                                                    \
        sizeof(struct gang_sim_allocation), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/** Number of rows so far, ordered by begin, and one row. gang_sim_drop() removes rows that have
 *  ended; with gang_sim_stream() such rows are GANG_ESTALE. Owner. O(1). */
GANG_API size_t gang_sim_allocation_count(const gang_sim *sim);
GANG_API gang_result gang_sim_get_allocation(const gang_sim *sim, size_t row,
                                             struct gang_sim_allocation *allocation)
    GANG_MUST_CHECK;

/** Usage from `at_ns` until the next sample (GANG_SIM_RECORD_TIMELINE). */
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

/** Remove rows of allocations that have ended, and samples, from memory. A caller that saves them
 *  itself (in op event, or between runs) thus keeps memory constant. Row numbers begin at 0 again.
 *  Owner. */
GANG_API void gang_sim_drop(gang_sim *sim);

/* ---- statistics ---------------------------------------------------------------------------- */

/** Which jobs the statistics count; zero: all. */
struct gang_sim_stats_opts {
    size_t size; /**< sizeof(struct gang_sim_stats_opts) */
    /** Jobs that are submitted less than this time after the first submission do not count, nor
     *  does usage in this time. */
    int64_t warm_up_ns;
    /** Jobs that are submitted less than this time before the last submission do not count. */
    int64_t cool_down_ns;
    int64_t tau_ns;    /**< tau of the bounded slowdown; 0: 10 s */
    const char *queue; /**< NULL: all */
    const char *user;  /**< NULL: all */
};

#define GANG_SIM_STATS_OPTS_INIT                                \
    {                                                           \
        sizeof(struct gang_sim_stats_opts), 0, 0, 0, NULL, NULL \
    }

/** A distribution over jobs. Percentiles are interpolated linearly between the two nearest values,
 *  like numpy.percentile() by default. */
struct gang_sim_distribution {
    double mean;
    double p50, p90, p95, p99;
    double max;
};

/** Statistics over the jobs that succeeded or timed out, unless stated otherwise. Times are in
 *  seconds. */
struct gang_sim_stats {
    size_t size;    /**< sizeof(struct gang_sim_stats) */
    int64_t jobs;   /**< number of jobs that succeeded or timed out */
    int64_t failed; /**< number of jobs that ended in another way */
    int64_t refused;
    int64_t unfinished;
    struct gang_sim_distribution wait_s;  /**< from submission to the first start */
    struct gang_sim_distribution queue_s; /**< all waiting, including waits between two starts */
    struct gang_sim_distribution jct_s;   /**< job completion time: from submission to the end */
    struct gang_sim_distribution
        slowdown; /**< jct divided by run time; jobs with run time 0 are left out */
    /** max(1, jct / max(run time, tau)) (Feitelson et al. 1997) */
    struct gang_sim_distribution bounded_slowdown;
    double makespan_s; /**< from the first submission to the last end */
    /** Usage divided by the capacity that is up, integrated from the first submission that counts
     *  to the last end, or with cool_down_ns to the last submission that counts. */
    double cpu_utilisation, memory_utilisation, gpu_utilisation;
    /** fraction of the used GPU-time (if there are no GPUs: core-time) that was useful work, that
     *  is neither lost nor for restarts; NaN if none was used */
    double goodput;
    int64_t preemptions; /**< over all jobs */
    int64_t failures;
    double lost_gpu_s; /**< GPU-time of lost work */
    /** Jain's fairness index (Jain, Chiu, Hawe 1984) of the users' mean bounded slowdowns: from 1 /
     *  number of users (worst) to 1 (equal); NaN if no job counts. */
    double jain;
    /** Finish-time fairness (Mahajan et al., Themis, NSDI 2020): mean and maximum of jct divided by
     *  the jct with 1/N of the cluster, where N is the number of users that are active at the
     *  submission. */
    double finish_fairness_mean, finish_fairness_max;
    /** mean over time of: free GPUs on partly used nodes, divided by all free GPUs */
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

/** Compute the statistics. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (queue, user); GANG_ENOMEM.
 *  Owner. O(jobs log jobs). */
GANG_API gang_result gang_sim_get_stats(const gang_sim *sim, const struct gang_sim_stats_opts *opts,
                                        struct gang_sim_stats *stats) GANG_MUST_CHECK;

/** Write the statistics as one JSON object, with "queues" and "gpu_models" by name; these two count
 *  from the beginning until now, a queue with all queues below it. NaN is written as null. @param
 *  indent spaces for each level; 0: one line. @return as for gang_sim_get_stats(); GANG_EIO
 *  (`write` refused). Owner. */
GANG_API gang_result gang_sim_write_summary(const gang_sim *sim,
                                            const struct gang_sim_stats_opts *opts, int32_t indent,
                                            gang_write_fn write, void *user) GANG_MUST_CHECK;

/** Tables for gang_sim_write() and gang_sim_stream(). */
enum {
    /** jobs with all columns: times in seconds; `cpus` (cores), `mem_mib` (MiB, exact to the byte)
     *  and `gpus` of all tasks; `queue_s` is wait_ns; `index` is the index of the job */
    GANG_SIM_JOBS_CSV = 0,
    /** allocations, in the same units; `devices`: numbers of GPUs, "0 1" */
    GANG_SIM_ALLOCATIONS_CSV = 1,
    GANG_SIM_TIMELINE_CSV = 2, /**< in the same units */
    /** Batsim's jobs table, as evalys reads it: job_id, workload_name, profile, submission_time,
     *  requested_number_of_resources, requested_time, success, final_state, starting_time,
     *  execution_time, finish_time, waiting_time, turnaround_time, stretch, allocated_resources. */
    GANG_SIM_BATSIM_CSV = 3
};

/** Write a table (GANG_SIM_JOBS_CSV and the others). @return GANG_OK; GANG_EINVAL; GANG_ESTALE
 *  (rows of it were streamed, gang_sim_stream()); GANG_EIO (`write` refused); GANG_ENOMEM. Owner.
 *  O(rows). */
GANG_API gang_result gang_sim_write(const gang_sim *sim, int32_t table, gang_write_fn write,
                                    void *user) GANG_MUST_CHECK;

/**
 * Stream a table: write it while the simulation runs, so that finished rows need no memory. The
 * call writes the header and the rows that are complete already. Further rows are written when they
 * are complete: a job or an allocation when it has ended, a sample when a later one exists. Each
 * row has the same bytes as in gang_sim_write(). Rows come in the order of completion, which
 * depends only on the input, not on the bounds of runs. Sorted by `index`, the rows of jobs are the
 * table of gang_sim_write(). Batsim's table has no such column.
 *   - The row of a job is removed after it was written to one of the two tables of jobs; from then
 *     on gang_sim_get_job(), gang_sim_job_column() and gang_sim_write() return GANG_ESTALE for it.
 *     The simulation keeps about 170 bytes for each job, so that all statistics are bit for bit the
 *     same as without streaming. Call gang_sim_stream() before gang_sim_add_trace(), which
 *     otherwise allocates the rows of all its jobs at once (about 400 bytes each).
 *   - Allocations and samples that were written are removed completely.
 * gang_sim_run() calls `write` with blocks of bytes, and with the rest before it returns. If
 * `write` refuses or memory is short, the run ends after the present instant with GANG_EIO or
 * GANG_ENOMEM. Nothing is lost: the next run writes the refused bytes first.
 * @code
 *   if (gang_sim_stream(sim, GANG_SIM_JOBS_CSV, write_to_file, jobs) == GANG_OK &&
 *       gang_sim_add_trace(sim, trace, 0, &error) == GANG_OK &&
 *       gang_sim_run(sim, NULL, NULL, &error) == GANG_OK &&   // then the jobs that have not ended:
 *       gang_sim_stream(sim, GANG_SIM_JOBS_CSV, NULL, NULL) == GANG_OK)
 *       result = gang_sim_write_summary(sim, NULL, 1, write_to_stdout, NULL);
 * @endcode
 * @param write called inside gang_sim_run() and inside the call that ends the stream; it may call
 *   what ops may call (gang_sim_ops). NULL: end the stream: incomplete rows are written as they are
 *   now (jobs by index, with jobs to come) and kept, and from now on rows are kept again. Without a
 *   stream NULL does nothing. gang_sim_free() ends a stream without calling `write`
 * @return GANG_OK; GANG_EINVAL; GANG_EEXIST (the table is being streamed already); GANG_ESTALE
 *   (rows of jobs were removed by an earlier stream); GANG_EIO (at the end of a stream: call again,
 *   which writes the incomplete rows from the first one); GANG_EBUSY (called from a callback);
 *   GANG_ENOMEM. On an error nothing changed.
 * Owner. O(1) for each row, O(jobs) at the begin and at the end of a stream.
 */
GANG_API gang_result gang_sim_stream(gang_sim *sim, int32_t table, gang_write_fn write, void *user)
    GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
