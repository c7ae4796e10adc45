/* SPDX-License-Identifier: Apache-2.0 */
/* All live records of another cluster, for a copy of it. */
#include <string.h>

#include "place/fit/fit.h"
#include "place/record/placer.h"
#include "place/request/request.h"
#include "place/state/records.h"

/* Counts a record: the label counts of its labels, and the classes of its tasks by node. */
static bool count_in(gang_cluster *c, const struct gang__alloc *a)
{
    if (a->request->has_affinity && !gang__affinity_count(c, a))
        return false;
    if (a->request->policy != GANG_POLICY_GPU_CLUSTERING)
        return true;
    for (const uint64_t *task = gang__task_first(a); task; task = gang__task_next(a, task)) {
        if (!gang__task_count_reserve(c, (uint32_t)task[0]))
            return false;
        gang__task_count_add(c, (uint32_t)task[0], &a->request->group[gang__task_group(task)],
                             false);
    }
    return true;
}

/* One that lives, in a record that is free. */
static gang_result copy_record(gang_worker *w, const struct gang__alloc *from,
                               struct gang__alloc *to, gang__request_map *map, void *ctx)
{
    gang_request *request = NULL;
    gang_result r = map(from->request, ctx, &request);
    if (r != GANG_OK)
        return r;
    if (!gang__alloc_reserve(w, to, from->used))
        return GANG_ENOMEM;
    gang__request_ref(request, 1);
    to->request = request;
    memcpy(to->data, from->data, from->used * sizeof(*to->data));
    to->used = from->used;
    to->tasks = from->tasks;
    to->next_number = from->next_number;
    gang__alloc_copy_end(to, from);
    return count_in(w->cluster, to) ? GANG_OK : GANG_ENOMEM;
}

gang_result gang__allocs_copy(gang_worker *w, const gang_worker *from_worker,
                              gang__request_map *map, void *ctx)
{
    gang_cluster *c = w->cluster, *from = from_worker->cluster;
    gang_result r = gang__placer_of(w) ? GANG_OK : GANG_ENOMEM;
    const struct gang__alloc *a;
    for (uint32_t i = 0; r == GANG_OK && (a = gang__alloc_at(from, i)) != NULL; i++) {
        struct gang__alloc *to;
        bool live;
        r = gang__alloc_copy(c, i, a, &to, &live);
        if (r == GANG_OK && gang__load(&a->owner) == gang__owner_of(from_worker))
            gang__store(&to->owner, gang__owner_of(w));
        if (r == GANG_OK && live)
            r = copy_record(w, a, to, map, ctx);
    }
    return r;
}
