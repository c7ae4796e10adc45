/* SPDX-License-Identifier: Apache-2.0 */
/* Any thread that holds a view reads it. */
#include <string.h>

#include "sched/view/view_in.h"

int64_t gang_view_now_ns(const gang_view *view)
{
    return view ? view->now_ns : INT64_MIN;
}

/* Index of the first job with this id or a later one. */
static size_t job_from(const gang_view *v, gang_job_id id)
{
    size_t low = 0, high = v->job_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (v->job[mid].id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

gang_result gang_view_job(const gang_view *view, gang_job_id id, struct gang_job_info *info)
{
    if (!view || !info)
        return GANG_EINVAL;
    size_t i = job_from(view, id);
    if (i == view->job_count || view->job[i].id != id)
        return GANG_ESTALE;
    return gang__struct_out(info, info->size, offsetof(struct gang_job_info, user), &view->job[i],
                            sizeof(view->job[i]));
}

gang_job_id gang_view_job_next(const gang_view *view, gang_job_id id)
{
    if (!view || id == UINT64_MAX)
        return GANG_ID_NONE;
    size_t i = job_from(view, id + 1);
    return i < view->job_count ? view->job[i].id : GANG_ID_NONE;
}

/* Where the queue is among parents before children; queue_count: the view has no such queue. */
static size_t queue_at(const gang_view *v, gang_queue_id id)
{
    size_t low = 0, high = v->queue_count;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct gang_queue_info *q = &v->queue[v->queue_by_id[mid]];
        if (q->id == id)
            return v->queue_by_id[mid];
        if (q->id < id)
            low = mid + 1;
        else
            high = mid;
    }
    return v->queue_count;
}

gang_result gang_view_queue(const gang_view *view, gang_queue_id id, struct gang_queue_info *info)
{
    if (!view || !info)
        return GANG_EINVAL;
    size_t i = queue_at(view, id);
    if (i == view->queue_count)
        return GANG_ESTALE;
    return gang__struct_out(info, info->size, offsetof(struct gang_queue_info, backfill),
                            &view->queue[i], sizeof(view->queue[i]));
}

gang_queue_id gang_view_queue_next(const gang_view *view, gang_queue_id id)
{
    if (!view)
        return GANG_ID_NONE;
    size_t i = id == GANG_ID_NONE ? 0 : queue_at(view, id) + 1;
    return i < view->queue_count ? view->queue[i].id : GANG_ID_NONE;
}

gang_result gang_view_queue_find(const gang_view *view, const char *name, gang_queue_id *id)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!view || !name || !id)
        return GANG_EINVAL;
    for (size_t i = 0; i < view->queue_count; i++)
        if (strcmp(view->queue[i].name, name) == 0) {
            *id = view->queue[i].id;
            return GANG_OK;
        }
    return GANG_ENOENT;
}
