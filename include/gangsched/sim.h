/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sim.h
 * @brief What if: the scheduler itself on a virtual clock, with a workload trace for its users.
 *
 * A *simulation* is a host. It owns a scheduler (sched.h) on the caller's cluster, submits the jobs of a
 * trace (trace.h) when their time has come, lets those that were started run as long as they run, reports
 * their ends, and calls the cycle; nothing but the clock and the processes are made up. It jumps from event
 * to event, and may be stopped anywhere, looked at, changed by the ordinary calls, and gone on with.
 *
 * How a job runs
 *   - It has *work*: its run time with all its tasks (`count`). With fewer it is slower, by
 *     (tasks / count) ^ elastic_milli / 1000.
 *   - It ends when its work is done, well, or as the trace says (gang_sim_opts.recorded_ends).
 *   - Asked to stop it saves its work and is gone at once, or after `stop_ns`; one that is killed because its grace was
 *     shorter, or that loses tasks, goes back to its last checkpoint (checkpoint_ns). When it starts again
 *     it needs restart_ns first, and what it still needed of an earlier restart. One that is suspended loses nothing.
 *   - A job whose groups start after one another (gang_job_spec.group_after: data, training, serving) has work for each of
 *     its gangs (gang_sim_submit_groups()). Each runs, ends, saves, and goes back on its own; what is counted of the job is said
 *     where it is counted.
 *   - It may fail by itself (task_mtbf_ns), and so may nodes (node_mtbf_ns, node_repair_ns); what becomes of the
 *     job is its own policy (gang_job_spec.loss; gang_sim_opts.loss for those of a trace).
 *
 * Same input, same output, byte for byte, on any machine: all draws come from `seed`, each from its own stream.
 *
 * @code
 *   struct gang_sim_opts opts = GANG_SIM_OPTS_INIT;      // one queue that takes all
 *   if (gang_sim_new(cluster, &opts, NULL, NULL, &sim, &error) == GANG_OK &&
 *       gang_sim_add_trace(sim, trace, 0, &error) == GANG_OK &&
 *       gang_sim_run(sim, NULL, NULL, &error) == GANG_OK)
 *       result = gang_sim_write_summary(sim, NULL, 2, write_to_stdout, NULL);
 *   gang_sim_free(sim);
 * @endcode
 * `examples/two_futures.c` is a whole program.
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

/** A scheduler, a clock, and who runs on it. */
typedef struct gang_sim gang_sim;

/* ---- options ------------------------------------------------------------------------------- */

/** What the scheduler is told of run times. */
enum {
    GANG_SIM_KNOW_LIMIT = 0, /**< what the users said: the time limits of the trace */
    GANG_SIM_KNOW_RUN = 1,   /**< the truth (clairvoyant): the time limit is the run time */
    /** the truth as a prediction (op predict), beside the time limits of the trace */
    GANG_SIM_KNOW_PREDICTED = 2
};

/** What happens in the same instant. */
enum {
    /** ends, then failures and repairs, then submissions, all in the order of the jobs; then one run */
    GANG_SIM_TOGETHER = 0,
    /** each submission with a run of its own, then each end with one, in the order in which they started: as
     *  the simulators of the backfilling logs (pyss) */
    GANG_SIM_ONE_BY_ONE = 1
};

/** How a policy (gang_sim_ops.score) is used. */
enum {
    GANG_SIM_SCORE_ORDER =
        0, /**< it orders those that wait: the score becomes the priority, lowest score first */
    /** It also says who runs: before a run all are walked by score, those that wait before those that run of equal
     *  ones, each taking its GPUs from a budget of all the queue may use; who gets none and runs is displaced, who gets
     *  none and waits is held (Tiresias, SRTF). Work that is displaced so is moved by nobody else. */
    GANG_SIM_SCORE_SELECT = 1
};

/** Policies that are built in; they are given by gang_sim_opts.policy, beside those of the queues. */
enum {
    GANG_SIM_POLICY_QUEUES =
        0, /**< what the queues say (gang_queue_spec.order...), or gang_sim_ops.score */
    GANG_SIM_POLICY_FIFO = 1, /**< by submission */
    GANG_SIM_POLICY_SJF = 2,  /**< shortest run time first; it does not displace */
    GANG_SIM_POLICY_SRTF = 3, /**< shortest remaining time first; displaces (SCORE_SELECT) */
    /** two queues of attained service (GPUs times time): those that had more than `las_split_ns` come after the others;
     *  displaces (Gu et al., Tiresias, NSDI 2019: discretised least attained service). Both are in the order of submission */
    GANG_SIM_POLICY_LAS = 4,
    /** the same, but in each of the two those that run come first, by their start: who has had less displaces, and nobody
     *  else (the simulator of Tiresias itself) */
    GANG_SIM_POLICY_LAS_STARTED = 5
};

/** Where jobs of traces are placed. */
enum {
    GANG_SIM_PLACE_CLUSTER = 0, /**< as the cluster's policy says (gang_cluster_opts.policy) */
    /** Each task on the node with the least free GPUs that holds it; those of groups after the first on the node with the
     *  most. Of a trace cut into whole nodes and a rest (gang_trace_opts.gpus_per_task) that is whole free nodes, and the
     *  rest where most is free beside them (Hu et al., Helios, SC 2021) */
    GANG_SIM_PLACE_CONSOLIDATED = 1
};

/** What is recorded beside the jobs. */
enum {
    GANG_SIM_RECORD_ALLOCATIONS = 1, /**< who was where, when: gang_sim_allocation() */
    GANG_SIM_RECORD_TIMELINE = 2     /**< what was used, when: gang_sim_sample() */
};

/** Options; zero means the default. */
struct gang_sim_opts {
    size_t size; /**< sizeof(struct gang_sim_opts) */
    /** Its allocator is used for the simulation, too. NULL: all defaults, but gangs are not moved to make room for others
     *  (max_moves -1): that would cost nothing here unless restart_ns says what it costs */
    const struct gang_sched_opts *sched;
    /** The tree; none: one queue "default" that takes all, in the order of submission */
    const struct gang_queue_spec *queues;
    size_t queue_count;
    /** queue of jobs of a trace whose own is empty or not in the tree; NULL: those are refused, but for one queue alone,
     *  which takes all */
    const char *default_queue;
    uint64_t seed;
    /** the clock begins then, or with the first job if that is earlier: of those that are known when it first runs, or when the
     *  first job is submitted */
    int64_t start_ns;
    int32_t know;         /**< GANG_SIM_KNOW_* */
    int32_t same_instant; /**< GANG_SIM_TOGETHER and its like */
    int64_t
        tick_ns; /**< > 0: submissions and ends wait for the next multiple; 0: they count when they happen */
    int64_t pass_ns; /**< > 0: runs are at multiples of it alone; 0: whenever something happened */
    int32_t policy;  /**< GANG_SIM_POLICY_* */
    int32_t record;  /**< GANG_SIM_RECORD_*, or'ed */
    int64_t las_split_ns; /**< GPU-time; 0: 18,000 GPU-seconds */
    int64_t
        restart_ns; /**< added to what is left of a job that was displaced, each time, when it is */
    /** from being asked to stop to being gone, with its work saved; if the grace is shorter it is killed, unsaved */
    int64_t stop_ns;
    /** work is saved each time so much of it is done; 0: all the time (nothing is lost); -1: never */
    int64_t checkpoint_ns;
    int64_t elastic_milli; /**< see above; 0: 1000; -1: 0, a job is as fast with its minimum */
    int64_t
        node_mtbf_ns; /**< mean time between failures of a node, exponential; 0: they do not fail */
    int64_t node_repair_ns; /**< mean time until it is up again, exponential; 0: an hour */
    int64_t
        task_mtbf_ns; /**< mean running time of a task until it fails, exponential; 0: they do not */
    int32_t loss;     /**< GANG_LOSS_* of jobs of traces */
    int32_t
        recorded_ends;    /**< 1: a job that failed in the trace fails at the end of its run time */
    int64_t max_restarts; /**< of GANG_LOSS_RESTART; 0: no bound */
    int64_t sample_ns;    /**< least time between two samples of the timeline; 0: each change */
    int32_t
        preemptible; /**< 1: jobs of traces are preemptible whatever the trace says; -1: are not; 0: it decides */
    int32_t no_limits; /**< 1: nobody is stopped at a time limit; plans still go by it */
    /** a job holds what it has so much longer than it works (simulators that tick see an end a tick later) */
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

/** What happened: to a job, a node, a reservation. */
enum {
    GANG_SIM_SUBMITTED = 0,
    GANG_SIM_REFUSED = 1, /**< the scheduler did not take it: `text` */
    GANG_SIM_STARTED = 2, /**< also after it was displaced or restarted */
    GANG_SIM_GREW = 3,
    GANG_SIM_SHRANK = 4,
    GANG_SIM_STOPPED = 5, /**< it was displaced, or lost tasks, and waits again */
    GANG_SIM_SUSPENDED = 6,
    GANG_SIM_RESUMED = 7,
    GANG_SIM_ENDED = 8,
    GANG_SIM_NODE_DOWN = 9, /**< `node` failed */
    GANG_SIM_NODE_UP = 10,
    /** a gang (`part`) of a job whose groups wait for each other has done its work; STARTED and STOPPED are then told of
     *  each gang, too */
    GANG_SIM_GANG_ENDED = 11,
    /** what the scheduler tells of a reservation (op reservation, plan.h): `reservation`. It begins soon, begins, is over,
     *  lost nodes, has others for them; not what the caller himself did to it */
    GANG_SIM_RESERVATION = 12
};

/** One event. Valid during the call. */
struct gang_sim_event {
    size_t size;  /**< sizeof(struct gang_sim_event) of the library */
    int32_t what; /**< GANG_SIM_SUBMITTED and its like */
    int32_t end;  /**< GANG_END_* */
    int64_t now_ns;
    size_t index; /**< of the job in the simulation; SIZE_MAX: none */
    gang_job_id job;
    gang_alloc_id alloc; /**< or GANG_ID_NONE */
    gang_node_id node;   /**< or GANG_ID_NONE */
    int64_t tasks;       /**< that it has now */
    int32_t reason;      /**< GANG_REASON_* */
    int32_t reserved0;
    const char *text; /**< one English line, never NULL */
    int32_t gang;     /**< which gang of the job, as gang_event.part; `alloc` is its own */
    int32_t reserved1;
    /** of GANG_SIM_RESERVATION: which one (id, name), what happened to it (GANG_RESERVATION_BEGIN and its like), when and where;
     *  else NULL. Its jobs are ids: gang_sim_find_job() */
    const struct gang_reservation_event *reservation;
};

/** The jobs that a policy scores: those that wait or run, by index. Arrays of `count`, valid during the call. */
struct gang_sim_view {
    size_t size; /**< sizeof(struct gang_sim_view) of the library */
    size_t count;
    int64_t now_ns;
    const int64_t *index; /**< of the job in the simulation, ascending */
    const int64_t *submit_ns;
    const int64_t *run_ns;   /**< in truth; a policy that is not clairvoyant looks at limit_ns */
    const int64_t *limit_ns; /**< 0: none */
    const int64_t *left_ns;  /**< of its work, in truth */
    const int64_t *served_ns;   /**< that it has run, all starts together */
    const int64_t *
        gpu_milli; /**< of all its tasks; where groups wait for each other, of those that run or may start now */
    const int64_t *cpu_milli; /**< likewise */
    const int64_t *tasks;     /**< all */
    const int64_t *queue;     /**< number of its queue, from 0, as in gang_sim_queue_name() */
    const int64_t *running;   /**< 1: it runs */
    const int64_t *user;      /**< number of its user, from 0, as in gang_sim_user_name() */
};

/** Callbacks; each may be NULL. The table is copied. They are called inside gang_sim_run() on its thread; `event` also
 *  inside gang_sim_submit() and gang_sim_submit_groups(), where its result does not matter. What they may
 *  call is what a host op may (gang_host_ops), and the queries of this header. A result other than 0 ends the run
 *  after what is under way, and is returned by it; it can be gone on with. */
struct gang_sim_ops {
    size_t size; /**< sizeof(struct gang_sim_ops) */
    /** Something happened. */
    int32_t (*event)(const struct gang_sim_event *event, void *user);
    /** Shall it go on? Asked each gang_sim_bounds.every events, so that a caller can draw a bar, look at its clock, or be
     *  interrupted. */
    int32_t (*go_on)(int64_t now_ns, int64_t events, void *user);
    /** Score all jobs that wait or run, before each run of the cycle (with pass_ns: at each multiple of it): score[i] of the
     *  i-th, lowest first; not a number counts as last. */
    int32_t (*score)(const struct gang_sim_view *view, double *score, void *user);
    /** How many thousandths of its full speed does a job have with so many tasks? Instead of elastic_milli. <= 0: it
     *  stands still. */
    int64_t (*speed_milli)(size_t index, int64_t tasks, int64_t count, void *user);
    /** How much is added to what is left of a job that was displaced, in ns? Instead of restart_ns. */
    int64_t (*restart_ns)(size_t index, int64_t gpu_milli, void *user);
    int32_t score_mode; /**< GANG_SIM_SCORE_* */
    int32_t reserved0;
};

#define GANG_SIM_OPS_INIT                                               \
    {                                                                   \
        sizeof(struct gang_sim_ops), NULL, NULL, NULL, NULL, NULL, 0, 0 \
    }

/* ---- the simulation ------------------------------------------------------------------------ */

/**
 * Make a simulation on a cluster; it has no jobs yet.
 * @param cluster  borrowed, and must outlive it. One simulation or scheduler at a time; nodes that failed in it stay
 *   down when it ends
 * @param opts     NULL: all defaults; nothing in it is needed afterwards
 * @param ops      copied; NULL: none
 * @param user     passed to the ops
 * @return GANG_OK; GANG_EINVAL; GANG_E2BIG; GANG_ERANGE (an option, by its path); the errors of gang_sched_new() and
 *   gang_sched_set_queues() (path "queues[2].limit.gpu"); GANG_ENOMEM. Any thread. May allocate.
 */
GANG_API gang_result gang_sim_new(gang_cluster *cluster, const struct gang_sim_opts *opts,
                                  const struct gang_sim_ops *ops, void *user, gang_sim **sim,
                                  struct gang_error *error) GANG_MUST_CHECK;

/** End it, with its scheduler: what its jobs hold is given back. NULL is allowed. No concurrent call. */
GANG_API void gang_sim_free(gang_sim *sim);

/**
 * The simulation once more, at the same instant, on a copy of its cluster: with the same past (jobs, allocations, samples,
 * statistics) and the same future (what is to come, and what will be drawn). Both go on by themselves: what is done to
 * one, its scheduler (gang_sim_sched()) or its cluster is not seen by the other. Left to themselves, with the same functions,
 * both come to the same results, byte for byte, and to those of a simulation that was never forked. What was done
 * between runs (commands, submissions, changes of nodes, reservations) is in both. Jobs keep their indexes, and all ids are
 * the same (gang_sched_copy()); those that are given afterwards, here and there, have nothing to do with each other.
 * Tables that are written as they come (gang_sim_stream()) are the original's: the fork keeps its rows from now on. Rows
 * that were written away are GANG_ESTALE in both.
 *
 * Whose it is: the caller's, the cluster, too. He ends it with gang_sim_free() and then gang_cluster_free() of its cluster, before
 * the original or after it. Traces are borrowed by both, and must outlive both. Allocators are shared.
 * @param ops      those of the fork, copied; the original's are not taken over. NULL: none. A function that scores must be
 *   there where the original has one, and used in the same mode, since queues and jobs were made for it; it may be
 *   another one
 * @param user     passed to them
 * @param cluster  receives the copy of the cluster, as gang_sim_cluster() of the fork tells it
 * @param fork     receives it
 * @return GANG_OK; GANG_EINVAL (path "score", "score_mode": as said); GANG_E2BIG; GANG_EBUSY (called from a
 *   callback; another thread is changing an allocation); GANG_ENOMEM. On an error both are NULL, and the original is as it was.
 * Owner. Nobody may change the cluster meanwhile. No op is called. May allocate, may block (as gang_node_add()).
 * O(nodes + jobs + rows), in time and memory.
 *
 * @code
 *   gang_sim *other = NULL;
 *   gang_cluster *c = NULL;
 *   result = gang_sim_run(sim, &until_noon, NULL, &error);
 *   if (result == GANG_OK)
 *       result = gang_sim_fork(sim, NULL, NULL, &c, &other, &error);
 *   if (result == GANG_OK)
 *       result = gang_sim_set_node_state(other, noon_ns, node, GANG_NODE_DOWN);   // what if it failed then?
 *   if (result == GANG_OK)
 *       result = gang_sim_run(other, NULL, NULL, &error);
 *   if (result == GANG_OK)
 *       result = gang_sim_write_summary(other, NULL, 2, write_to_stdout, NULL);
 *   gang_sim_free(other);
 *   gang_cluster_free(c);
 *   if (result == GANG_OK)
 *       result = gang_sim_run(sim, NULL, NULL, &error);                    // as if nothing had been
 * @endcode
 */
GANG_API gang_result gang_sim_fork(gang_sim *sim, const struct gang_sim_ops *ops, void *user,
                                   gang_cluster **cluster, gang_sim **fork,
                                   struct gang_error *error) GANG_MUST_CHECK;

/**
 * Let the jobs of a trace come, `shift_ns` later than it says; those whose time has passed come now. The trace is
 * borrowed, must not change, and must outlive the simulation. Several may be added, at any time.
 * @return GANG_OK; GANG_EINVAL; GANG_ERANGE; GANG_ENOENT (a queue, by its path "jobs[7].queue"); GANG_EBUSY (called from a
 *   callback); GANG_ENOMEM. On an error nothing changed. Owner. O(jobs log jobs).
 */
GANG_API gang_result gang_sim_add_trace(gang_sim *sim, gang_trace *trace, int64_t shift_ns,
                                        struct gang_error *error) GANG_MUST_CHECK;

/**
 * Submit one job now, with all that gang_job_spec can say but that it runs already (`running`): its wait, what it has done
 * and what it used would lie before the simulation's clock, and no statistic would be right. Submit it with what is left of
 * its run time instead. Its `cookie` is the simulation's.
 * @param run_ns  how long it runs with all its tasks, >= 0; of groups that wait for each other: each gang of them, so that three
 *   in a row take three times as long. See gang_sim_submit_groups()
 * @param index   receives its index; NULL: not wanted
 * @return as gang_job_submit(); GANG_ERANGE (run_ns); GANG_ENOTSUP (path "running"; "group_after": in a queue that
 *   slices); GANG_EBUSY (called from a callback). Owner.
 */
GANG_API gang_result gang_sim_submit(gang_sim *sim, const struct gang_job_spec *spec,
                                     int64_t run_ns, size_t *index, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * The same, with a run time for each group. Groups that wait for the same groups are one gang (job.h), which runs as long
 * as the longest of them; so it is with all of a job without group_after. What is counted of a job of several gangs:
 *   - run_ns: from its start to its end on an idle cluster: the longest way through its gangs, to those with which it is over
 *     (its chiefs; else its members; else all);
 *   - start_ns: of the first gang. wait_ns: also between two gangs, as long as none runs. starts: of all gangs. ran_ns: as long
 *     as some gang runs. lost_ns: of all gangs together;
 *   - tasks, cpu_milli, memory_bytes, gpu_milli: of all its tasks, though these need not run at the same time. What was used and
 *     lost is counted gang by gang, finish-time fairness by the largest gang;
 *   - a gang that is displaced, or loses tasks, goes back by itself; those that have ended stay so. A gang with less than
 *     all its tasks is slower, and gives up those that it lacks when it ends (GANG_TASK_IDLE).
 * @code
 *   const struct gang_group_after after[] = {{1, 0, GANG_AFTER_SUCCESS, 0}}; // "train" after "data"
 *   const int64_t run_ns[] = {600 * SECOND, 36000 * SECOND};
 *   job.group_after = after;
 *   job.group_after_count = 1;
 *   result = gang_sim_submit_groups(sim, &job, run_ns, 2, &index, &error);
 * @endcode
 * @param run_ns  of each group, >= 0
 * @param count   gang_job_spec.request.group_count
 * @return as gang_sim_submit(); GANG_EINVAL (path "run_ns": as many as groups), GANG_ERANGE ("run_ns[1]"). Owner. It, and each event of
 *   such a job, O(groups and what they wait for).
 */
GANG_API gang_result gang_sim_submit_groups(gang_sim *sim, const struct gang_job_spec *spec,
                                            const int64_t *run_ns, size_t count, size_t *index,
                                            struct gang_error *error) GANG_MUST_CHECK;

/** At a time to come (or now, if it has passed) a node gets a state, GANG_NODE_* (model.h): a failure, a drain, an end of
 *  either. What runs on one that goes down is lost. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (no such node);
 *  GANG_EBUSY; GANG_ENOMEM. Owner. */
GANG_API gang_result gang_sim_set_node_state(gang_sim *sim, int64_t at_ns, gang_node_id node,
                                             int32_t state) GANG_MUST_CHECK;

/** How far a run may go; zero means no bound. */
struct gang_sim_bounds {
    size_t size;       /**< sizeof(struct gang_sim_bounds) */
    int32_t has_until; /**< 1: */
    int32_t reserved0;
    /** up to and with this time; the clock is then there. Also when all jobs are over: until then nodes fail and are
     *  repaired, and reservations begin and end */
    int64_t until_ns;
    int64_t
        max_events; /**< arrivals, ends, failures, repairs, and runs that were due by themselves */
    int64_t every;  /**< events between two calls of op go_on; 0: 1024 */
};

#define GANG_SIM_BOUNDS_INIT                          \
    {                                                 \
        sizeof(struct gang_sim_bounds), 0, 0, 0, 0, 0 \
    }

/** Why a run returned. */
enum {
    GANG_SIM_DONE = 0, /**< nothing more happens: all ended, or those that wait never start */
    GANG_SIM_AT_UNTIL = 1,
    GANG_SIM_AT_EVENTS = 2,
    GANG_SIM_INTERRUPTED = 3 /**< a callback said so */
};

/** What a run did, and how things are. */
struct gang_sim_info {
    size_t size;         /**< sizeof(struct gang_sim_info) */
    int32_t stop_reason; /**< GANG_SIM_DONE and its like, of the last run */
    int32_t reserved0;
    int64_t now_ns;
    int64_t events; /**< since the beginning */
    int64_t runs;   /**< of the cycle, likewise */
    int64_t jobs;   /**< known: of traces, also those to come, and submitted */
    int64_t to_come;
    int64_t pending;
    int64_t running; /**< those that stop, too */
    int64_t suspended;
    int64_t ended; /**< well or not, refused ones included */
};

#define GANG_SIM_INFO_INIT                                            \
    {                                                                 \
        sizeof(struct gang_sim_info), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

/**
 * Run until a bound is reached or nothing more happens.
 * @param bounds  NULL: none
 * @param info    NULL: not wanted
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from a callback); GANG_ENOMEM (it may be gone on with); what a callback
 *   returned, if not 0. Owner. May allocate. What the cycle costs, and O(log jobs) an event.
 */
GANG_API gang_result gang_sim_run(gang_sim *sim, const struct gang_sim_bounds *bounds,
                                  struct gang_sim_info *info, struct gang_error *error)
    GANG_MUST_CHECK;

/** How things are. @return GANG_OK; GANG_EINVAL. Owner. O(1). */
GANG_API gang_result gang_sim_get_info(const gang_sim *sim, struct gang_sim_info *info)
    GANG_MUST_CHECK;

/** Its scheduler and cluster, to be looked at and changed between runs, or from callbacks as host ops may. Commands to
 *  jobs take effect in the next run. gang_sched_run() and gang_sched_free() are not for it. Owner. */
GANG_API gang_sched *gang_sim_sched(const gang_sim *sim);
GANG_API gang_cluster *gang_sim_cluster(const gang_sim *sim);

/* ---- what came of it ----------------------------------------------------------------------- */

/** A job of a simulation. Times that have not come are GANG_TRACE_UNKNOWN. */
struct gang_sim_job {
    size_t size; /**< sizeof(struct gang_sim_job) */
    size_t index;
    /** borrowed from the trace; of a submitted one until gang_sim_free(). "": it has none */
    const char *name;
    const char *user;  /**< likewise */
    const char *queue; /**< likewise */
    gang_job_id id;    /**< GANG_ID_NONE: it has not come, or was refused */
    int32_t state;     /**< GANG_JOB_*; of one to come GANG_JOB_PENDING */
    int32_t end;       /**< GANG_END_*; GANG_END_REFUSED: not taken */
    int64_t submit_ns;
    int64_t start_ns; /**< the first one */
    int64_t end_ns;
    int64_t run_ns;    /**< its work */
    int64_t limit_ns;  /**< 0: none */
    int64_t tasks;     /**< that it asks for (count) */
    int64_t cpu_milli; /**< of all its tasks */
    int64_t memory_bytes;
    int64_t gpu_milli;
    int64_t ran_ns; /**< all starts together, until now */
    int64_t
        wait_ns; /**< submitted and neither running nor suspended, until now: also between two starts */
    int64_t suspended_ns;
    int64_t lost_ns; /**< work done twice, and restarts */
    int64_t starts;
    int64_t preemptions; /**< times it was displaced whole */
    int64_t failures;    /**< times it lost tasks */
};

/** One job, by index: those of a trace in its order, each behind what was there. @return GANG_OK; GANG_EINVAL; GANG_ENOENT
 *  (past the end); GANG_ESTALE (written away: gang_sim_stream()). Owner. O(1). */
GANG_API gang_result gang_sim_get_job(const gang_sim *sim, size_t index, struct gang_sim_job *job)
    GANG_MUST_CHECK;

/** Its index by id. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (also: written away,
 *  gang_sim_stream()). Owner. O(1); of one that has ended O(jobs). */
GANG_API gang_result gang_sim_find_job(gang_sim *sim, gang_job_id id, size_t *index)
    GANG_MUST_CHECK;

/** Columns of all jobs at once; the members of gang_sim_job of that name. */
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

/** value[i] of job first + i. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (past the end); GANG_ESTALE (one was written away:
 *  gang_sim_stream(); `value` is as far as that one). Owner. O(count). */
GANG_API gang_result gang_sim_job_column(const gang_sim *sim, int32_t column, size_t first,
                                         size_t count, int64_t *value) GANG_MUST_CHECK;

/** Names of queues and users of jobs, by number; NULL past the end. Borrowed until gang_sim_free(). Owner. */
GANG_API const char *gang_sim_queue_name(const gang_sim *sim, size_t number);
GANG_API const char *gang_sim_user_name(const gang_sim *sim, size_t number);

/** Who was where (GANG_SIM_RECORD_ALLOCATIONS): tasks of a job on a node, for a time. */
struct gang_sim_allocation {
    size_t size;  /**< sizeof(struct gang_sim_allocation) */
    size_t index; /**< of the job */
    gang_node_id node;
    int64_t begin_ns;
    int64_t end_ns; /**< GANG_TRACE_UNKNOWN: it is still there */
    int64_t tasks;
    int64_t cpu_milli; /**< of these tasks */
    int64_t memory_bytes;
    int64_t gpu_milli;
    uint64_t gpus; /**< bit i: device i of the node; devices from 63 on share bit 63 */
    int64_t gang;  /**< which gang of the job; 0, unless groups of it wait for each other */
};

/** Rows so far, by begin. Those that have ended may be taken away (gang_sim_drop(), gang_sim_stream(): then the rows of those that
 *  have ended are GANG_ESTALE, and are used again). Owner. O(1). */
GANG_API size_t gang_sim_allocation_count(const gang_sim *sim);
GANG_API gang_result gang_sim_get_allocation(const gang_sim *sim, size_t row,
                                             struct gang_sim_allocation *allocation)
    GANG_MUST_CHECK;

/** What was used (GANG_SIM_RECORD_TIMELINE): from `at_ns` until the next sample. */
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

GANG_API size_t gang_sim_sample_count(const gang_sim *sim);
GANG_API gang_result gang_sim_get_sample(const gang_sim *sim, size_t row,
                                         struct gang_sim_sample *sample) GANG_MUST_CHECK;

/** Forget rows of allocations and samples that are complete: whoever writes them away as they come (op event, or
 *  between runs) keeps memory flat. Numbers of rows begin at 0 again. Owner. */
GANG_API void gang_sim_drop(gang_sim *sim);

/* ---- statistics ---------------------------------------------------------------------------- */

/** Of which jobs; zero means all. */
struct gang_sim_stats_opts {
    size_t size; /**< sizeof(struct gang_sim_stats_opts) */
    int64_t
        warm_up_ns; /**< jobs submitted before (from the first submission) do not count; nor does that time */
    int64_t
        cool_down_ns;  /**< likewise those submitted so long before the last submission, or later */
    int64_t tau_ns;    /**< of the bounded slowdown; 0: 10 s */
    const char *queue; /**< NULL: all */
    const char *user;  /**< NULL: all */
};

#define GANG_SIM_STATS_OPTS_INIT                                \
    {                                                           \
        sizeof(struct gang_sim_stats_opts), 0, 0, 0, NULL, NULL \
    }

/** A distribution over jobs. Percentiles are those of the nearest rank. */
struct gang_sim_distribution {
    double mean;
    double p50, p90, p95, p99;
    double max;
};

/** Over the jobs that ended well, or timed out; where said, others. In seconds. */
struct gang_sim_stats {
    size_t size;    /**< sizeof(struct gang_sim_stats) */
    int64_t jobs;   /**< that ended well or timed out */
    int64_t failed; /**< ended otherwise */
    int64_t refused;
    int64_t unfinished;
    struct gang_sim_distribution wait_s; /**< from submission to the first start */
    struct gang_sim_distribution
        queue_s; /**< neither running nor suspended: with waits between two starts */
    struct gang_sim_distribution jct_s; /**< job completion time: from submission to the end */
    struct gang_sim_distribution
        slowdown; /**< jct over run time; jobs of no run time are left out */
    /** max(1, jct over max(run time, tau)) (Feitelson et al. 1997) */
    struct gang_sim_distribution bounded_slowdown;
    double makespan_s; /**< from the first submission to the last end */
    /** Used over what was up, integrated from the first submission that counts to the last end; with cool_down_ns: to the
     *  last submission that counts */
    double cpu_utilisation, memory_utilisation, gpu_utilisation;
    double
        goodput; /**< of what was used, GPU-time (without GPUs: core-time), so much was work that counted: not lost, not a restart */
    int64_t preemptions; /**< over all jobs */
    int64_t failures;
    double lost_gpu_s; /**< GPU-time of lost work */
    /** Jain's index (Jain, Chiu, Hawe 1984) of users' mean bounded slowdowns: 1 is equal, 1/users the worst */
    double jain;
    /** finish-time fairness (Mahajan et al., Themis, NSDI 2020): the mean and the worst of jct over what it would be with 1/N of the
     *  cluster, N the users at work at its submission */
    double finish_fairness_mean, finish_fairness_max;
    /** mean over time of GPUs that are free on nodes where some are taken, over all that are free */
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

/** @return GANG_OK; GANG_EINVAL; GANG_ENOENT (queue, user); GANG_ENOMEM. Owner. O(jobs log jobs). */
GANG_API gang_result gang_sim_get_stats(const gang_sim *sim, const struct gang_sim_stats_opts *opts,
                                        struct gang_sim_stats *stats) GANG_MUST_CHECK;

/** The same as one JSON object, with "queues" and "gpu_models" by name beside, which count from the beginning to now. @param indent spaces a level, 0: one line.
 *  @return also GANG_EIO. Owner. */
GANG_API gang_result gang_sim_write_summary(const gang_sim *sim,
                                            const struct gang_sim_stats_opts *opts, int32_t indent,
                                            gang_write_fn write, void *user) GANG_MUST_CHECK;

/** Tables that can be written. */
enum {
    /** all columns of jobs, by name; `queue_s` is wait_ns, as in the statistics; `index` tells which it is */
    GANG_SIM_JOBS_CSV = 0,
    GANG_SIM_ALLOCATIONS_CSV = 1,
    GANG_SIM_TIMELINE_CSV = 2,
    /** Batsim's jobs table, as evalys reads it: job_id, workload_name, profile, submission_time,
     *  requested_number_of_resources, requested_time, success, final_state, starting_time, execution_time,
     *  finish_time, waiting_time, turnaround_time, stretch, allocated_resources */
    GANG_SIM_BATSIM_CSV = 3
};

/** Write one. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (rows of it were written away: gang_sim_stream()); GANG_EIO;
 *  GANG_ENOMEM. Owner. O(rows). */
GANG_API gang_result gang_sim_write(const gang_sim *sim, int32_t table, gang_write_fn write,
                                    void *user) GANG_MUST_CHECK;

/**
 * Write a table as it comes, so that memory does not grow with what is over: its header now, and each row when it is complete,
 * a job when it has ended, an allocation when it has, a sample when there is a later one. What is complete already is written
 * first. Rows are the bytes of gang_sim_write(), in the order in which they were completed, which is the same for the same
 * input wherever runs were cut; sorted by `index` (jobs) they are that table, but for Batsim's, which has no such column.
 *   - A job that is written is gone, also if it is only in one of both tables of jobs: of it are kept its times of submission,
 *     start and end, its run time, waiting time, what it used, lost and asks for, its counts, its end, user and queue, and what was
 *     used until it came; some 170 bytes, from which all statistics (gang_sim_get_stats(), with any window, queue, user and
 *     tau) are the same bits as without. Its row is GANG_ESTALE from then on (gang_sim_get_job(), gang_sim_job_column(),
 *     gang_sim_write()). A job that is to come takes as much: call this before gang_sim_add_trace(), which else makes room
 *     for the rows of all its jobs (some 400 bytes each).
 *   - Allocations and samples that are written are forgotten whole.
 * Bytes are handed on in blocks, inside gang_sim_run(), and all of them when it returns. If `write` refuses, or memory is short, the
 * run returns GANG_EIO or GANG_ENOMEM at the end of an instant; nothing is lost, what was refused is written again first in the
 * next run.
 * @code
 *   if (gang_sim_stream(sim, GANG_SIM_JOBS_CSV, write_to_file, jobs) == GANG_OK &&
 *       gang_sim_add_trace(sim, trace, 0, &error) == GANG_OK &&
 *       gang_sim_run(sim, NULL, NULL, &error) == GANG_OK &&
 *       gang_sim_stream(sim, GANG_SIM_JOBS_CSV, NULL, NULL) == GANG_OK) // those that have not ended, too
 *       result = gang_sim_write_summary(sim, NULL, 1, write_to_stdout, NULL);
 * @endcode
 * @param write  called on the thread of the run, and inside the call that ends it; what it may call is what an op may (gang_sim_ops). NULL: end it: what is not
 *   complete is written as it is now (jobs by index, among them those to come) and stays; then the table is kept again. Ended
 *   by gang_sim_free(), it is not told so. None was begun: nothing
 * @return GANG_OK; GANG_EINVAL; GANG_EEXIST (that table is being written); GANG_ESTALE (of jobs, some are gone); GANG_EIO (at the
 *   end; it may be ended again, and writes what is not complete from its first row on); GANG_EBUSY (called from a callback);
 *   GANG_ENOMEM. On an error nothing changed. Owner. O(1) a row, O(jobs) at begin and end.
 */
GANG_API gang_result gang_sim_stream(gang_sim *sim, int32_t table, gang_write_fn write, void *user)
    GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
