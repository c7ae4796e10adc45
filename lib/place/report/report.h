/* SPDX-License-Identifier: Apache-2.0 */
/* Allocations as the host reads them. */
#ifndef GANG__PLACE_REPORT_H
#define GANG__PLACE_REPORT_H

#include "core/cluster.h"
#include "place/request/request.h"
#include "place/state/records.h"
#include <gangsched/place.h>

/* What a task holds, as the public struct says it. */
void gang__task_decode(gang_cluster *c, const uint64_t *task, struct gang_task *out);

/* The group of a task in its job. */
static inline int32_t gang__task_group_in_job(const struct gang__alloc *a, const uint64_t *task)
{
    return a->request->group[gang__task_group(task)].in_job;
}

/* Do public calls show this task, if they list this group of the job (-1: all)? */
static inline bool gang__task_is_listed(const struct gang__alloc *a, const uint64_t *task,
                                        int32_t group)
{
    return !gang__task_has_stopped(task) &&
           (group < 0 || gang__task_group_in_job(a, task) == group);
}

/* Does the request have this group of its job? -1, for all groups, counts as one. */
bool gang__request_has_group(const gang_request *request, int32_t in_job);

/* Like gang_alloc_each(). Also shows tasks that have stopped, as long as their places are held.
 * gang_task.group is an index in the request, also of one gang of a job with several. */
gang_result gang__alloc_each(gang_cluster *cluster, gang_alloc_id id, gang_task_fn visit,
                             void *user);

#endif
