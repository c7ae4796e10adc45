/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file view.h
 * @brief Views: jobs and queues at one instant, to be read on any thread.
 *
 * A *view* contains what gang_job_get() and gang_queue_get() return for every job and every queue
 * between two runs. It never changes. A thread that answers requests (REST, metrics, a terminal)
 * reads a view while the owner runs the scheduler; neither waits for the other.
 *
 * How to use
 *   - The owner *publishes* a view with gang_sched_publish_view(), after each run or at intervals.
 *     The library does not take views by itself.
 *   - Any thread gets the view that was published last with gang_sched_latest_view(), reads it as
 *     long as it needs, and releases it with gang_view_unref().
 *   - The owner can also take a view without publishing it, with gang_sched_view(), and pass it to
 *     a thread.
 *
 * Ownership
 *   - Views are reference-counted: each call that returns a view gives a reference to the caller,
 *     and the last gang_view_unref() frees the memory. A view stays valid while a reference exists,
 *     also after later views were published and after gang_sched_free() and gang_cluster_free().
 *     The allocator of the scheduler (gang_sched_opts.mem) must work until then.
 *   - Texts (gang_job_info.name, .user) belong to the view and are valid as long as it.
 *
 * What is in it
 *   - All values are of the same instant, between two runs, so they agree: for example,
 *     gang_queue_info.running is the number of running and stopping jobs of the view in that queue
 *     and below it.
 *   - It contains the jobs that runs have accepted and that have not ended. Submissions and
 *     commands that wait for the next run are not in it. Op state reports ended jobs.
 *   - Ids are those of the scheduler. A job in a view may have ended meanwhile; commands for it
 *     then do nothing.
 *   - Nodes are not in it: any thread can read them directly (core.h, snapshot.h).
 *
 * Memory: one block, with about 250 bytes and the texts for each job and 2 KB for each queue.
 *
 * @code
 *   // owner
 *   gang_sched_run(sched, now_ns, NULL, NULL);
 *   gang_sched_publish_view(sched, NULL);             // on GANG_ENOMEM the former one stays
 *
 *   // any other thread
 *   gang_view *view = gang_sched_latest_view(sched);  // NULL: none was published yet
 *   for (gang_job_id id = gang_view_job_next(view, GANG_ID_NONE); id != GANG_ID_NONE;
 *        id = gang_view_job_next(view, id)) {
 *       struct gang_job_info job = GANG_JOB_INFO_INIT;
 *       if (gang_view_job(view, id, &job) == GANG_OK)
 *           print_job(&job);
 *   }
 *   gang_view_unref(view);
 * @endcode
 */
#ifndef GANGSCHED_VIEW_H
#define GANGSCHED_VIEW_H

#include <gangsched/base.h>
#include <gangsched/sched.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Jobs and queues at one instant. Never changes. */
typedef struct gang_view gang_view;

/* ---- the owner ----------------------------------------------------------------------------- */

/**
 * Take a view. It is not published.
 * @param view receives the view with a reference, which the caller releases with gang_view_unref();
 *   NULL on an error
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from a callback, that is during a run);
 *   GANG_ENOMEM.
 * Owner. May allocate. O(jobs + queues * kinds).
 */
GANG_API gang_result gang_sched_view(gang_sched *sched, gang_view **view, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Take a view and publish it: from now on gang_sched_latest_view() returns it. The scheduler keeps
 * a reference to it until another one is published or gang_sched_free() is called.
 * @return as for gang_sched_view(). On an error the former published view stays.
 * Owner. Never waits for readers. May allocate. O(jobs + queues * kinds). If a thread is inside
 * gang_sched_latest_view() at this moment, older published views stay in memory until the next call
 * frees them.
 */
GANG_API gang_result gang_sched_publish_view(gang_sched *sched, struct gang_error *error)
    GANG_MUST_CHECK;

/* ---- any thread ---------------------------------------------------------------------------- */

/**
 * The view that was published last, with a reference for the caller; NULL: none was published. A
 * copy of a scheduler (gang_sched_copy()) has no published view at first.
 * Any thread, also during a run; no concurrent gang_sched_free(). Wait-free; O(1).
 */
GANG_API gang_view *gang_sched_latest_view(gang_sched *sched) GANG_MUST_CHECK;

/** Add a reference to a view to which the caller has one. NULL is allowed. @return the view. Any
 *  thread; wait-free. */
GANG_API gang_view *gang_view_ref(gang_view *view);

/** Release a reference; the last one frees the view. NULL is allowed. Any thread; wait-free except
 *  for the allocator. */
GANG_API void gang_view_unref(gang_view *view);

/* Any thread that holds a reference; wait-free. */

/** now_ns of the last run before the view was taken; INT64_MIN: no run yet, or no view. */
GANG_API int64_t gang_view_now_ns(const gang_view *view);

/** A job, as gang_job_get() returned it. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (the view has no
 *  such job). O(log jobs). */
GANG_API gang_result gang_view_job(const gang_view *view, gang_job_id id,
                                   struct gang_job_info *info) GANG_MUST_CHECK;

/** Iterate over the jobs in the order of ids: GANG_ID_NONE gives the first, an id the next one; the
 *  result after the last is GANG_ID_NONE. `id` need not be in the view. O(log jobs). */
GANG_API gang_job_id gang_view_job_next(const gang_view *view, gang_job_id id);

/** A queue, as gang_queue_get() returned it. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (the view
 *  has no such queue). O(log queues). */
GANG_API gang_result gang_view_queue(const gang_view *view, gang_queue_id id,
                                     struct gang_queue_info *info) GANG_MUST_CHECK;

/** Iterate over the queues, parents before children: GANG_ID_NONE gives the first, an id the next
 *  one; the result after the last, and for an id that is not in the view, is GANG_ID_NONE. O(log
 *  queues). */
GANG_API gang_queue_id gang_view_queue_next(const gang_view *view, gang_queue_id id);

/** Id of a queue by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. O(queues). */
GANG_API gang_result gang_view_queue_find(const gang_view *view, const char *name,
                                          gang_queue_id *id) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
