/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file forecast.h
 * @brief When will it start: the scheduler as it is now, run ahead on a clock of its own; and what
 * if.
 *
 * A *forecast* is a private copy of a scheduler and its cluster. The same code that decides in
 * reality runs it forward: running jobs end when they are expected to, newly started jobs run as
 * long as expected, and each waiting job gets an expected start. Before the run the caller may
 * change the copy by the ordinary calls: add or drain nodes (core.h), change limits, submit or
 * cancel jobs (sched.h). The start of a gang in time slicing (gang_queue_spec.quantum_ns) is its
 * first time slice.
 *
 * Assumptions
 *   - A job runs as long as gang_forecast_opts.run_time returns, or else op predict has returned,
 *     after each start, or from where it was suspended; at most for its time limit. A sliced gang
 *     uses up that time in its time slices only. A job without a prediction runs for its time
 *     limit. A job without either never ends, and a job that waits for its capacity has no start.
 *   - A job that has run longer than predicted ends at its time limit or deadline; without one, at
 *     once.
 *   - All jobs succeed. No node fails, no new job is submitted, and all heartbeats come.
 *   - A gang that is asked to stop stops at once (one that was asked earlier has the rest of its
 *     grace period).
 *   - No op of the host is called: all starts are accepted. The access lists of the queues decide
 *     on access. The host's function that scores nodes (GANG_POLICY_HOST) is called, on the
 *     caller's thread.
 *   - Allocations made without the scheduler stay.
 *   - Reservations (plan.h) begin, recur, are purged and end as in reality: members start inside
 *     them, other jobs leave them free. A member without a limit is stopped at the end.
 * A forecast knows what runs have accepted; messages that wait for the next run are not part of it.
 * For a copy with a host of its own, including messages, there is gang_sched_copy() (sched.h).
 *
 * Ids of nodes, queues, jobs, allocations and reservations are the same in the copy. Ids given
 * later in one of the two have nothing to do with ids of the other.
 *
 * Same input, same output: forecasts draw from a random generator of their own, seeded with `seed`.
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

/** A private copy of a scheduler, to be run ahead. */
typedef struct gang_forecast gang_forecast;

/**
 * How long a job runs, in ns from a start, without pauses between its time slices; 0 or less: not
 * known.
 * @param cookie of the job
 * @param sample number of the sample, from 0
 * @param draw a uniform random number of 0..2^64-1; the same for the same seed, sample and job. Use
 *   it to draw from a distribution. For a job that ran before the forecast began the function is
 *   called with other draws until its answer is beyond the time that has passed, at most 16 times
 * Called inside gang_forecast_run(), on its thread, once for each start. It must not change the
 * forecast or its scheduler.
 */
typedef int64_t (*gang_run_time_fn)(gang_job_id job, uint64_t cookie, int32_t sample, uint64_t draw,
                                    void *user);

/** Options; zero is the default. */
struct gang_forecast_opts {
    size_t size; /**< sizeof(struct gang_forecast_opts) */
    /** the forecast begins then; a time before the scheduler's last run counts as that */
    int64_t now_ns;
    int64_t horizon_ns; /**< how far it looks ahead; 0: no bound */
    int64_t max_events; /**< maximum of runs of the cycle in one sample; 0: 1,000,000 */
    int32_t samples;    /**< 1..10,000; 0: 1 */
    /** quantile of gang_expected.low_ns, above 0 and below GANG_WHOLE; 0: a tenth of it */
    int32_t low;
    int32_t high;      /**< quantile of gang_expected.high_ns; 0: nine tenths of GANG_WHOLE */
    int32_t reserved0; /**< 0 */
    uint64_t seed;     /**< of the draws */
    gang_run_time_fn run_time; /**< NULL: predictions of op predict, else time limits */
    void *user;                /**< passed to it, and to go_on */
    /** Called before each run of the cycle, on the caller's thread: a result other than 0 ends
     *  gang_forecast_run(), which returns it (use a negative GANG_E* code) and has no results.
     *  NULL: goes on. */
    int32_t (*go_on)(void *user);
};

#define GANG_FORECAST_OPTS_INIT                                                     \
    {                                                                               \
        sizeof(struct gang_forecast_opts), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL \
    }

/** What is expected of a job. */
enum {
    GANG_EXPECTED_START = 0, /**< it starts */
    GANG_EXPECTED_LATER = 1, /**< it starts after the horizon, or after max_events */
    /** No expected event lets it start, except time slices that may rotate; see `wait`. With
     *  endless recurring reservations: no other event is left but time slices, and all instances
     *  planned by then, and a round of the time slices, passed without its start. */
    GANG_EXPECTED_NEVER = 2,
    GANG_EXPECTED_END = 3 /**< it ends without a start: cancelled, or not started in time */
};

/** The expected start of a waiting job. Valid during the call. */
struct gang_expected {
    size_t size; /**< sizeof(struct gang_expected) of the library */
    gang_job_id job;
    uint64_t cookie; /**< of the job */
    /** GANG_EXPECTED_START: the median is a start; else GANG_EXPECTED_* of a sample without one */
    int32_t what;
    /** GANG_WAIT_*, decisive at the end of the run; 0: it starts, or the reason is not known */
    int32_t wait;
    /** Quantiles of the starts in the samples, linear between the two nearest samples;
     *  INT64_MAX: it does not start in one of these two. */
    int64_t start_ns; /**< the median */
    int64_t low_ns;   /**< of the fraction `low` */
    int64_t high_ns;  /**< of the fraction `high` */
    int32_t samples;  /**< number of samples in which it starts */
    int32_t reserved0;
};

#define GANG_EXPECTED_INIT                                      \
    {                                                           \
        sizeof(struct gang_expected), 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

typedef int32_t (*gang_expected_fn)(const struct gang_expected *expected, void *user);

/**
 * Copy a scheduler and its cluster. Both may continue, and even end, while the forecast is used;
 * neither sees changes of the other. The forecast uses the allocators of both.
 * @param opts NULL: all defaults
 * @param forecast receives it; end it with gang_forecast_free()
 * @return GANG_OK; GANG_EINVAL; GANG_E2BIG; GANG_ERANGE (an option); GANG_EBUSY (called from a
 *   callback, or another thread is changing an allocation); GANG_ENOMEM.
 * Owner of the scheduler. No thread may change the cluster during the call; submitting is allowed.
 * May allocate, may block (like gang_node_add()). O(nodes + jobs + running tasks + reserved nodes),
 * in time and memory.
 */
GANG_API gang_result gang_forecast_new(gang_sched *sched, const struct gang_forecast_opts *opts,
                                       gang_forecast **forecast, struct gang_error *error)
    GANG_MUST_CHECK;

/** End a forecast, with the workers made on its cluster. NULL is allowed. No concurrent call. */
GANG_API void gang_forecast_free(gang_forecast *forecast);

/** The private cluster and scheduler, for changes; they end with the forecast. Submissions and
 *  commands take effect when the forecast runs. Do not call gang_sched_free() or
 *  gang_cluster_free() on them; gang_sched_run() is not needed. Owner. */
GANG_API gang_cluster *gang_forecast_cluster(const gang_forecast *forecast);
GANG_API gang_sched *gang_forecast_sched(const gang_forecast *forecast);

/**
 * Run ahead from the present state of the private scheduler, once for each sample, until all
 * waiting jobs have started or nothing more happens. That state stays, so the caller may change it
 * and run again; messages left there are accepted.
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from its run_time()); GANG_ENOMEM; what go_on
 *   returned. On an error there are no results.
 * Owner of the forecast; no concurrent call on its cluster and scheduler. May allocate, may block
 * (like gang_cluster_free()). O(samples * (nodes + jobs)) plus the cost of the runs; memory for one
 * more copy, and 8 bytes for each waiting job and sample.
 */
GANG_API gang_result gang_forecast_run(gang_forecast *forecast, struct gang_error *error)
    GANG_MUST_CHECK;

/** What the last run expects of each job that waited at its begin, by id; nothing before the
 *  first run. A result other than 0 stops the visit and is returned. @return GANG_OK;
 *  GANG_EINVAL; the visitor's result. Owner. */
GANG_API gang_result gang_forecast_each(const gang_forecast *forecast, gang_expected_fn visit,
                                        void *user) GANG_MUST_CHECK;

/** The expectation of one job. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (it did not wait, or
 *  there was no run). Owner. O(log jobs). */
GANG_API gang_result gang_forecast_get(const gang_forecast *forecast, gang_job_id job,
                                       struct gang_expected *expected) GANG_MUST_CHECK;

/** gang_forecast_new(), _run(), _each() and _free() in one call, with one copy less. Results and
 *  rules as there. */
GANG_API gang_result gang_forecast_all(gang_sched *sched, const struct gang_forecast_opts *opts,
                                       gang_expected_fn visit, void *user, struct gang_error *error)
    GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
