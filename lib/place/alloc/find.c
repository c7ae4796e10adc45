/* SPDX-License-Identifier: Apache-2.0 */
/* Which of named tasks does an allocation hold, and where? */
#include "place/alloc/alloc.h"
#include "place/record/record.h"
#include "place/state/records.h"

static bool found_add(struct gang__found *out, const struct gang_mem *mem, const uint64_t *task)
{
    if (!gang__grow(mem, (void **)&out->task, &out->cap, out->count + 1, sizeof(*out->task)))
        return false;
    out->task[out->count++] = (struct gang__found_task){(int64_t)gang__task_number(task), task[0],
                                                        gang__task_group(task)};
    return true;
}

gang_result gang__alloc_find(gang_cluster *c, gang_alloc_id id, const int64_t *tasks, size_t count,
                             struct gang__found *out)
{
    struct gang__alloc *a;
    out->count = 0;
    gang_result r = gang__alloc_read(c, id, &a);
    if (r != GANG_OK)
        return r;
    size_t next = 0;
    for (const uint64_t *task = gang__task_first(a); task && r == GANG_OK;
         task = gang__task_next(a, task)) {
        while (tasks && next < count && tasks[next] < (int64_t)gang__task_number(task))
            next++;
        if (tasks && next == count)
            break;
        if ((!tasks || tasks[next] == (int64_t)gang__task_number(task)) &&
            !found_add(out, &c->mem, task))
            r = GANG_ENOMEM;
    }
    gang__alloc_read_end(a);
    if (r != GANG_OK)
        out->count = 0;
    return r;
}

void gang__found_free(struct gang__found *found, const struct gang_mem *mem)
{
    gang__release(mem, found->task);
    *found = (struct gang__found){NULL, 0, 0};
}
