/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file forecast.h
 * @brief Forecasts: expected starts of waiting jobs, on a private copy of the scheduler that is run
 * ahead.
 *
 * A *forecast* is a private copy of a scheduler and its cluster. gang_forecast_run() runs it ahead
 * on a clock of its own, with the code that also makes the real decisions: running jobs end when
 * they are expected to end, jobs that start run as long as expected, and so each waiting job gets
 * an expected start. To ask "what if", the caller first changes the copy by the ordinary calls: add
 * or drain nodes (core.h), change limits, submit or cancel jobs (sched.h). In time slicing
 * (gang_queue_spec.quantum_ns) the start of a gang is the begin of its first time slice.
 *
 * Assumptions
 *   - A job runs, from each start, for the time that gang_forecast_opts.run_time returns; without
 *     that, for the time that op predict has returned; without that, for its time limit; in any
 *     case at most for its time limit. A resumed job runs for the rest of this time. In time
 *     slicing only time slices count. A job without any of these times never ends, and jobs that
 *     need its capacity have no start.
 *   - A job that has already run longer than predicted ends at its time limit or deadline; if it
 *     has neither, at once.
 *   - All jobs succeed. No node fails, no new job is submitted, and no heartbeat is missing.
 *   - A gang that is asked to stop stops at once. A gang that was asked before the forecast began
 *     stops at the end of its grace period.
 *   - No op is called: all starts are accepted, and access lists decide who may submit.
 *     gang_request_spec.score (GANG_POLICY_HOST) is called, on the caller's thread.
 *   - Allocations made without the scheduler never end.
 *   - Reservations (plan.h) begin, recur, are purged and end as in reality.
 * A forecast contains what runs have accepted, but not messages that wait for the next run.
 * gang_sched_copy() (sched.h) makes a copy that includes messages and has ops.
 *
 * Ids of nodes, queues, jobs, allocations and reservations are the same in the copy. Ids that one
 * of the two gives later are unrelated to those of the other.
 *
 * The same input gives the same output: random numbers come from a generator with the seed
 * gang_forecast_opts.seed.
 *
 * @code
 *   gang_forecast *f;                                  // what if there were 8 nodes more?
 *   if (gang_forecast_new(sched, NULL, &f, &error) == GANG_OK) {
 *       gang_worker_new(gang_forecast_cluster(f), &worker);
 *       gang_nodes_add(worker, more, 8, NULL, &error);
 *       gang_worker_free(worker);
 *       if (gang_forecast_run(f, &error) == GANG_OK)
 *           gang_forecast_each(f, print_start, NULL);
 *       gang_forecast_free(f);
 *   }
 * @endcode
 */
#ifndef GANGSCHED_FORECAST_H
#define GANGSCHED_FORECAST_H

#include <gangsched/base.h>
#include <gangsched/core.h>
#include <gangsched/job.h>
#include <gangsched/sched.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A private copy of a scheduler and its cluster, to be run ahead. */
typedef struct gang_forecast gang_forecast;

/**
 * Callback that returns how long a job runs, in ns from its start, without pauses between time
 * slices; 0 or less: not known.
 * @param cookie of the job
 * @param sample number of the sample, counted from 0
 * @param draw a uniform random number in 0..2^64-1, the same for the same seed, sample and job. Use
 *   it to draw from a distribution. For a job that is already running, the library calls the
 *   callback again with other numbers, at most 16 times, until the result is longer than the time
 *   that the job has run
 * The library calls it inside gang_forecast_run(), on the caller's thread, once for each start. It
 * must not change the forecast or its scheduler.
 */
typedef int64_t (*gang_run_time_fn)(gang_job_id job, uint64_t cookie, int32_t sample, uint64_t draw,
                                    void *user);

/** Options; zero is the default. */
struct gang_forecast_opts {
    size_t size; /**< sizeof(struct gang_forecast_opts) */
    /** time at which the forecast begins; at least now_ns of the scheduler's last run, otherwise
     *  that is used */
    int64_t now_ns;
    int64_t horizon_ns; /**< how far it looks ahead, in ns; 0: no bound */
    int64_t max_events; /**< maximum number of scheduling cycles in one sample; 0: 1,000,000 */
    int32_t samples; /**< number of samples (runs with different random numbers), 1..10,000; 0: 1 */
    /** quantile for gang_expected.low_ns, in millionths, above 0 and below GANG_WHOLE; 0: a
     *  tenth */
    int32_t low;
    int32_t high;              /**< the same for gang_expected.high_ns; 0: nine tenths */
    int32_t reserved0;         /**< 0 */
    uint64_t seed;             /**< seed of the random numbers */
    gang_run_time_fn run_time; /**< NULL: predictions of op predict, or time limits */
    void *user;                /**< passed to run_time and go_on */
    /** Called before each scheduling cycle, on the caller's thread. A result other than 0 ends
     *  gang_forecast_run(), which returns it (use a negative GANG_E* code); there are then no
     *  results. NULL: never ends. */
    int32_t (*go_on)(void *user);
};

#define GANG_FORECAST_OPTS_INIT                                                     \
    {                                                                               \
        sizeof(struct gang_forecast_opts), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL \
    }

/** What is expected for a job (gang_expected.what). */
enum {
    GANG_EXPECTED_START = 0, /**< it starts */
    GANG_EXPECTED_LATER = 1, /**< it does not start before the horizon, or within max_events */
    /** it never starts: no further event is expected, except changes of time slices and new
     *  instances of recurring reservations, after the instances planned so far and one round of the
     *  time slices have passed; gang_expected.wait says why */
    GANG_EXPECTED_NEVER = 2,
    /** it ends without a start, for example because of start_within_ns or its deadline */
    GANG_EXPECTED_END = 3
};

/** The expected start of a waiting job. Valid during the call. */
struct gang_expected {
    size_t size; /**< sizeof(struct gang_expected) of the library */
    gang_job_id job;
    uint64_t cookie; /**< of the job */
    /** GANG_EXPECTED_*. GANG_EXPECTED_START: the median of the samples is a start; another value:
     *  that of a sample without a start */
    int32_t what;
    /** GANG_WAIT_*, the decisive reason at the end of the forecast; 0: it starts, or the reason is
     *  not known */
    int32_t wait;
    /** Quantiles of the starts over the samples, interpolated linearly between the two nearest
     *  samples; INT64_MAX: in one of these two the job does not start. */
    int64_t start_ns; /**< the median */
    int64_t low_ns;   /**< quantile gang_forecast_opts.low */
    int64_t high_ns;  /**< quantile gang_forecast_opts.high */
    int32_t samples;  /**< number of samples in which it starts */
    int32_t reserved0;
};

#define GANG_EXPECTED_INIT                                      \
    {                                                           \
        sizeof(struct gang_expected), 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

typedef int32_t (*gang_expected_fn)(const struct gang_expected *expected, void *user);

/**
 * Make a forecast: copy a scheduler and its cluster. The originals may be used, changed and freed
 * while the forecast exists; changes of one have no effect on the other. The forecast uses the
 * allocators of both.
 * @param opts NULL: all defaults
 * @param forecast receives the forecast; free it with gang_forecast_free()
 * @return GANG_OK; GANG_EINVAL; GANG_E2BIG; GANG_ERANGE (an option); GANG_EBUSY (called from a
 *   callback, or another thread is changing an allocation); GANG_ENOMEM.
 * Owner of the scheduler. No thread may change the cluster during the call; submitting is allowed.
 * May allocate, may block (like gang_node_add()). O(nodes + jobs + running tasks + reserved nodes),
 * in time and memory.
 */
GANG_API gang_result gang_forecast_new(gang_sched *sched, const struct gang_forecast_opts *opts,
                                       gang_forecast **forecast, struct gang_error *error)
    GANG_MUST_CHECK;

/** Free a forecast, with its cluster and scheduler and the workers made on its cluster. NULL is
 *  allowed. No concurrent call on this forecast. */
GANG_API void gang_forecast_free(gang_forecast *forecast);

/** The private cluster and scheduler, for changes. gang_forecast_free() frees them: do not call
 *  gang_sched_free() or gang_cluster_free() on them. Submissions and commands take effect in
 *  gang_forecast_run(); gang_sched_run() is not needed. Owner. */
GANG_API gang_cluster *gang_forecast_cluster(const gang_forecast *forecast);
GANG_API gang_sched *gang_forecast_sched(const gang_forecast *forecast);

/**
 * Run ahead from the present state of the private scheduler, once for each sample, until all
 * waiting jobs have started or no further event is expected. The private scheduler itself only
 * accepts its messages and otherwise keeps its state, so the caller may change it and run again.
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from its run_time()); GANG_ENOMEM; the result of
 *   go_on. On an error there are no results.
 * Owner of the forecast; no concurrent call on its cluster and scheduler. May allocate, may block
 * (like gang_cluster_free()). O(samples * (nodes + jobs)) plus the cost of the runs; memory for one
 * more copy, and 8 bytes for each waiting job and sample.
 */
GANG_API gang_result gang_forecast_run(gang_forecast *forecast, struct gang_error *error)
    GANG_MUST_CHECK;

/** Visit the results of the last gang_forecast_run(), for each job that waited at its begin, by id.
 *  Before the first run there are none. @return GANG_OK; GANG_EINVAL; the visitor's result: a value
 *  other than 0 ends the visit. Owner. */
GANG_API gang_result gang_forecast_each(const gang_forecast *forecast, gang_expected_fn visit,
                                        void *user) GANG_MUST_CHECK;

/** The result for one job. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (the job did not wait, or
 *  there was no run). Owner. O(log jobs). */
GANG_API gang_result gang_forecast_get(const gang_forecast *forecast, gang_job_id job,
                                       struct gang_expected *expected) GANG_MUST_CHECK;

/** gang_forecast_new(), _run(), _each() and _free() in one call, which makes one copy less. Results
 *  and rules as for these functions. */
GANG_API gang_result gang_forecast_all(gang_sched *sched, const struct gang_forecast_opts *opts,
                                       gang_expected_fn visit, void *user, struct gang_error *error)
    GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
