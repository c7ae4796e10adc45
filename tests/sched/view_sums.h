/* SPDX-License-Identifier: Apache-2.0 */
/* Do the jobs of a view add up to the figures of its queues? For jobs of one gang. */
#ifndef GANG_TESTS_SCHED_VIEW_SUMS_H
#define GANG_TESTS_SCHED_VIEW_SUMS_H

#include <gangsched/view.h>

#include "support.h"

struct view_sums {
    int64_t running, pending, tasks;
    uint64_t hash; /* of texts and figures: the same as long as the view is held */
};

static inline struct gang_queue_info view_queue(const gang_view *view, gang_queue_id id)
{
    struct gang_queue_info q = GANG_QUEUE_INFO_INIT;
    test_assert(gang_view_queue(view, id, &q) == GANG_OK && q.id == id);
    return q;
}

static inline bool view_is_below(const gang_view *view, gang_queue_id id, gang_queue_id top)
{
    while (id != GANG_ID_NONE && id != top)
        id = view_queue(view, id).parent;
    return id == top;
}

static inline void view_mix(uint64_t *hash, uint64_t value)
{
    *hash = (*hash ^ value) * UINT64_C(1099511628211);
}

/* Of the jobs in a queue and below. */
static inline struct view_sums view_sum(const gang_view *view, gang_queue_id top)
{
    struct view_sums sums = {0, 0, 0, 0};
    for (gang_job_id id = gang_view_job_next(view, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_view_job_next(view, id)) {
        struct gang_job_info job = GANG_JOB_INFO_INIT;
        test_assert(gang_view_job(view, id, &job) == GANG_OK && job.id == id);
        test_assert(job.state >= GANG_JOB_PENDING && job.state < GANG_JOB_ENDED);
        if (!view_is_below(view, job.queue, top))
            continue;
        /* A job that waits for a time slice is suspended and holds its allocation. */
        bool runs = job.state == GANG_JOB_RUNNING || job.state == GANG_JOB_STOPPING ||
                    (job.state == GANG_JOB_SUSPENDED && job.alloc != GANG_ID_NONE);
        sums.running += runs;
        sums.pending += !runs;
        sums.tasks += job.tasks;
        view_mix(&sums.hash, id);
        view_mix(&sums.hash, (uint64_t)job.state);
        view_mix(&sums.hash, (uint64_t)job.tasks);
        for (const char *c = job.user; c && *c; c++)
            view_mix(&sums.hash, (uint64_t)*c);
        for (const char *c = job.name; c && *c; c++)
            view_mix(&sums.hash, (uint64_t)*c);
    }
    return sums;
}

/* Checks all queues of a view. Returns a hash of all that was read. */
static inline uint64_t view_check(const gang_view *view)
{
    uint64_t hash = (uint64_t)gang_view_now_ns(view);
    for (gang_queue_id id = gang_view_queue_next(view, GANG_ID_NONE); id != GANG_ID_NONE;
         id = gang_view_queue_next(view, id)) {
        struct gang_queue_info q = view_queue(view, id);
        struct view_sums sums = view_sum(view, id);
        test_assert(q.running == sums.running);
        test_assert(q.pending == sums.pending);
        test_assert(q.tasks == sums.tasks);
        view_mix(&hash, sums.hash);
        view_mix(&hash, (uint64_t)q.used[GANG_KIND_GPU]);
    }
    return hash;
}

#endif
