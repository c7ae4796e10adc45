/* SPDX-License-Identifier: Apache-2.0 */
/* A view. It lies in one block with its arrays and texts, and only `refs` and `older` change. */
#ifndef GANG__SCHED_VIEW_IN_H
#define GANG__SCHED_VIEW_IN_H

#include "base/atomic.h"
#include "sched/record/state.h"
#include "sched/view/views.h"

struct gang_view {
    /* References. relaxed to add one, which a holder does; acq_rel to give one up: all that holders
     * read -> the one that frees */
    gang__a64 refs;
    struct gang_mem mem;     /* of the scheduler, which may be gone */
    struct gang_view *older; /* the owner's, once another view is published: the one before */
    int64_t now_ns;
    size_t job_count, queue_count;
    struct gang_job_info *job;     /* by id */
    struct gang_queue_info *queue; /* parents before children */
    uint32_t *queue_by_id;         /* indexes in `queue`, by id */
};

#endif
