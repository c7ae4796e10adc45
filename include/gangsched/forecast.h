/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file forecast.h
 * @brief When will it start: the scheduler as it is, run ahead on a clock of its own; and what if.
 *
 * A *forecast* is a private copy of a scheduler and its cluster. It is run forward by the very code that
 * decides in earnest: jobs that run end when they are expected to, those that start then run as long as
 * is expected of them, and whoever waits gets an expected start. Before it is run the copy may be changed
 * by the ordinary calls: nodes added or drained (core.h), limits changed, jobs submitted or cancelled
 * (sched.h). Of a gang that waits for its turn (gang_queue_spec.quantum_ns) that turn is told as its start.
 *
 * What is assumed
 *   - A job runs as long as gang_forecast_opts.run_time says, or else op predict has, from each start anew, or
 *     from where it was suspended; at most for its time limit. A gang that takes turns uses up that time in its
 *     turns alone. One of which nothing is predicted runs for its
 *     time limit; one without that never ends, and who waits for its room has no start.
 *   - One that has run longer than is predicted ends at its time limit or deadline; without one, at once.
 *   - All end well. No node fails, nobody submits anything; heartbeats come.
 *   - Who is asked to stop is gone at once (one that was asked before has the rest of its grace).
 *   - No op of the host is called: its starts are accepted. Access is judged by the lists of the queues.
 *     Its function that scores nodes (GANG_POLICY_HOST) is called, on the caller's thread.
 *   - What others have allocated on the cluster by themselves stays.
 *   - What is reserved (plan.h) begins, is repeated, purged and over as it would be: members start inside it, others
 *     leave it free. Who runs inside without a limit is stopped at its end.
 * A forecast knows what runs have taken in: messages that wait for the next run are not part of it. For a copy with a host
 * of its own, messages included, there is gang_sched_copy() (sched.h).
 *
 * Ids of nodes, queues, jobs, allocations and reservations are the same in the copy. Those that are given afterwards, here
 * and there, have nothing to do with each other.
 *
 * Same input, same output: forecasts draw from a generator of their own, begun by `seed`.
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
 * How long a job runs, in ns from a start, without pauses between its turns; 0 or less: not known.
 * @param cookie  of the job
 * @param sample  number of the sample, from 0
 * @param draw    a number from all of 0..2^64-1, each as likely; the same for the same seed, sample and job:
 *   what a distribution is to be drawn by. For a job that ran before the forecast began it is called with
 *   other draws until the answer is beyond the time that has passed, 16 times at most
 * Called inside gang_forecast_run(), on its thread; once for each start. It may call nothing that changes
 * the forecast or its scheduler.
 */
typedef int64_t (*gang_run_time_fn)(gang_job_id job, uint64_t cookie, int32_t sample, uint64_t draw,
                                    void *user);

/** Options; zero means the default. */
struct gang_forecast_opts {
    size_t size;        /**< sizeof(struct gang_forecast_opts) */
    int64_t now_ns;     /**< begins then; before the last run of the scheduler: at that */
    int64_t horizon_ns; /**< looks so far ahead; 0: no bound */
    int64_t max_events; /**< runs of the cycle in one sample, at most; 0: 1,000,000 */
    int32_t samples;    /**< 1..10,000; 0: 1 */
    int32_t low_milli;  /**< quantile that gang_expected.low_ns tells, 1..999 thousandths; 0: 100 */
    int32_t high_milli; /**< likewise high_ns; 0: 900 */
    int32_t reserved0;  /**< 0 */
    uint64_t seed;      /**< of the draws */
    gang_run_time_fn run_time; /**< NULL: what op predict said counts, else time limits */
    void *user;                /**< passed to it */
};

#define GANG_FORECAST_OPTS_INIT                                               \
    {                                                                         \
        sizeof(struct gang_forecast_opts), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL \
    }

/** What is expected of a job. */
enum {
    GANG_EXPECTED_START = 0, /**< it starts */
    GANG_EXPECTED_LATER = 1, /**< not before the horizon, or max_events */
    /** nothing is to happen any more that would let it start, but perhaps turns that go round; see `wait`. Where
     *  reservations are repeated without end: nothing else is, and all times of them that were planned by then passed
     *  without anybody's starting */
    GANG_EXPECTED_NEVER = 2,
    GANG_EXPECTED_END = 3 /**< it ends without having started: cancelled, or not started in time */
};

/** The expected start of a job that waits. Valid during the call. */
struct gang_expected {
    size_t size; /**< sizeof(struct gang_expected) of the library */
    gang_job_id job;
    uint64_t cookie; /**< of the job */
    int32_t
        what; /**< GANG_EXPECTED_* of the median; of an even number of samples the earlier one */
    int32_t wait; /**< GANG_WAIT_*, decisive when the run ended; 0: it starts, or it is not known */
    int64_t start_ns; /**< median of the samples; INT64_MAX: it does not start */
    int64_t
        low_ns; /**< in so many of the samples (low_milli) it starts until then; INT64_MAX: in fewer */
    int64_t high_ns; /**< likewise */
    int32_t samples; /**< in so many it starts */
    int32_t reserved0;
};

#define GANG_EXPECTED_INIT                                      \
    {                                                           \
        sizeof(struct gang_expected), 0, 0, 0, 0, 0, 0, 0, 0, 0 \
    }

typedef int32_t (*gang_expected_fn)(const struct gang_expected *expected, void *user);

/**
 * Copy a scheduler and its cluster. Both may go on and even end while the forecast is used; what
 * happens to them is not seen by it, nor the reverse. The allocators of both are used.
 * @param opts      NULL: all defaults
 * @param forecast  receives it; end it with gang_forecast_free()
 * @return GANG_OK; GANG_EINVAL; GANG_E2BIG; GANG_ERANGE (an option); GANG_EBUSY (called from a callback, or
 *   another thread is changing an allocation); GANG_ENOMEM.
 * Owner of the scheduler. Nobody may change the cluster meanwhile (submitting does not). May allocate, may
 * block (as gang_node_add()). O(nodes + jobs + tasks that run + nodes of what is reserved), in time and memory.
 */
GANG_API gang_result gang_forecast_new(gang_sched *sched, const struct gang_forecast_opts *opts,
                                       gang_forecast **forecast, struct gang_error *error)
    GANG_MUST_CHECK;

/** End it. NULL is allowed. Workers that were made on its cluster end with it. No concurrent call. */
GANG_API void gang_forecast_free(gang_forecast *forecast);

/** The private cluster and scheduler, to be changed; they end with the forecast. What is submitted or
 *  commanded takes effect when the forecast is run. gang_sched_free() and gang_cluster_free() are not for
 *  them, and there is no need for gang_sched_run(). Owner. */
GANG_API gang_cluster *gang_forecast_cluster(const gang_forecast *forecast);
GANG_API gang_sched *gang_forecast_sched(const gang_forecast *forecast);

/**
 * Run ahead from the state that the private scheduler is in, once for each sample, until all who wait have
 * started or nothing more happens. That state stays, so that it may be changed and run again; messages that
 * were left there are taken in.
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from its run_time()); GANG_ENOMEM: there are no results.
 * Owner of the forecast; no concurrent call on its cluster and scheduler. May allocate, may block (as
 * gang_cluster_free()). O(samples * (nodes + jobs) and what the runs cost); memory for one more copy and 8
 * bytes for each job that waits and sample.
 */
GANG_API gang_result gang_forecast_run(gang_forecast *forecast, struct gang_error *error)
    GANG_MUST_CHECK;

/** What the last run expects of each job that waited when it began, by id. A result other than 0 stops and is
 *  returned. Nothing before the first run. @return GANG_OK; GANG_EINVAL; the visitor's result. Owner. */
GANG_API gang_result gang_forecast_each(const gang_forecast *forecast, gang_expected_fn visit,
                                        void *user) GANG_MUST_CHECK;

/** The same of one job. @return GANG_OK; GANG_EINVAL; GANG_ENOENT (it did not wait, or there was no run).
 *  Owner. O(log jobs). */
GANG_API gang_result gang_forecast_get(const gang_forecast *forecast, gang_job_id job,
                                       struct gang_expected *expected) GANG_MUST_CHECK;

/** All at once: gang_forecast_new(), _run(), _each() and _free(), with a copy less. As these. */
GANG_API gang_result gang_forecast_all(gang_sched *sched, const struct gang_forecast_opts *opts,
                                       gang_expected_fn visit, void *user, struct gang_error *error)
    GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
