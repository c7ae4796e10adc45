/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file view.h
 * @brief Jobs and queues at one instant, to be read on any thread.
 *
 * A *view* holds what gang_job_get() and gang_queue_get() return of every job and every queue
 * between two runs. It never changes. A thread that answers requests (REST, metrics, a terminal)
 * reads it while the owner runs the scheduler, and neither waits for the other.
 *
 * How to use
 *   - The owner *publishes* a view, after each run or at intervals, as often as its readers need:
 *     gang_sched_publish_view(). The library takes no view by itself.
 *   - Any thread gets the latest one that was published, gang_sched_latest_view(), reads it for as
 *     long as it likes, and gives it up with gang_view_unref().
 *   - The owner can also take a view that is not published, gang_sched_view(), and hand it over.
 *
 * Ownership
 *   - Views are counted: each call that returns a view gives a reference to the caller. The last
 *     gang_view_unref() frees the memory. A view that is held stays as it is when later ones are
 *     published, and after gang_sched_free() and gang_cluster_free(). It only needs the allocator
 *     of the scheduler (gang_sched_opts.mem) until it is given up.
 *   - Texts (gang_job_info.name, .user) belong to the view: they are valid while it is held.
 *
 * What is in it
 *   - All figures are of the same instant, between two runs: gang_queue_info.running is the number
 *     of jobs of the view in that queue and below that run or stop; and so on.
 *   - Jobs that runs have accepted and that have not ended. Submissions and commands that wait for
 *     the next run are not in it; ended jobs are reported by op state.
 *   - Ids are those of the scheduler. What a view names may have ended meanwhile: commands for it
 *     then do nothing.
 *   - Nodes are not in it: those can be read on any thread in any case (core.h, snapshot.h).
 *
 * Memory: about 250 bytes and its texts for a job, 2 KB for a queue, in one block.
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
 * @param view receives a reference, which the caller gives up with gang_view_unref(); NULL on an
 *   error
 * @return GANG_OK; GANG_EINVAL; GANG_EBUSY (called from a callback: figures change during a run);
 *   GANG_ENOMEM.
 * Owner. May allocate. O(jobs + queues * kinds).
 */
GANG_API gang_result gang_sched_view(gang_sched *sched, gang_view **view, struct gang_error *error)
    GANG_MUST_CHECK;

/**
 * Take a view and publish it: from now on gang_sched_latest_view() returns it. The scheduler holds
 * a reference to it until another one is published or gang_sched_free().
 * @return as gang_sched_view(). On an error the view that was published before stays.
 * Owner; never waits for readers. May allocate. O(jobs + queues * kinds). While a thread is inside
 * gang_sched_latest_view(), older published views stay in memory; the next call frees them.
 */
GANG_API gang_result gang_sched_publish_view(gang_sched *sched, struct gang_error *error)
    GANG_MUST_CHECK;

/* ---- any thread ---------------------------------------------------------------------------- */

/**
 * The view that was published last, with a reference for the caller; NULL: none was published. A
 * copy of a scheduler has none at first (gang_sched_copy()).
 * Any thread, also during a run; no concurrent gang_sched_free(). Wait-free; O(1).
 */
GANG_API gang_view *gang_sched_latest_view(gang_sched *sched) GANG_MUST_CHECK;

/** One more reference to a view that the caller holds. NULL is allowed. @return the view. Any
 *  thread; wait-free. */
GANG_API gang_view *gang_view_ref(gang_view *view);

/** Give up a reference; the view is freed with the last one. NULL is allowed. Any thread;
 *  wait-free, but for the allocator. */
GANG_API void gang_view_unref(gang_view *view);

/* Any thread that holds a reference; wait-free. */

/** now_ns of the last run before the view was taken; INT64_MIN: no run yet, or no view. */
GANG_API int64_t gang_view_now_ns(const gang_view *view);

/** A job, as gang_job_get() described it. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (the view has
 *  no such job). O(log jobs). */
GANG_API gang_result gang_view_job(const gang_view *view, gang_job_id id,
                                   struct gang_job_info *info) GANG_MUST_CHECK;

/** The next job after `id`, in the order of ids; GANG_ID_NONE first and after the last. `id` need
 *  not be in the view. O(log jobs). */
GANG_API gang_job_id gang_view_job_next(const gang_view *view, gang_job_id id);

/** A queue, as gang_queue_get() described it. @return GANG_OK; GANG_EINVAL; GANG_ESTALE (the view
 *  has no such queue). O(log queues). */
GANG_API gang_result gang_view_queue(const gang_view *view, gang_queue_id id,
                                     struct gang_queue_info *info) GANG_MUST_CHECK;

/** The next queue, parents before children; GANG_ID_NONE first and after the last, and for an id
 *  that is not in the view. O(log queues). */
GANG_API gang_queue_id gang_view_queue_next(const gang_view *view, gang_queue_id id);

/** Id of a queue by name. @return GANG_OK; GANG_EINVAL; GANG_ENOENT. O(queues). */
GANG_API gang_result gang_view_queue_find(const gang_view *view, const char *name,
                                          gang_queue_id *id) GANG_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
