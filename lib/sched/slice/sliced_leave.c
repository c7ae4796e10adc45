/* SPDX-License-Identifier: Apache-2.0 */
/* How a gang leaves its matrix: it is detached when its job lets it go, its tasks stop, and what
 * they held is released. */
#include <stdlib.h>

#include "sched/record/state.h"
#include "sched/slice/slice_in.h"
#include "sched/stop/stop.h"
#include "sched/wake/wake.h"

void gang__slice_detached(gang_sched *s, struct gang__gang *g)
{
    struct gang__sliced *x = g->sliced;
    if (!x)
        return;
    g->sliced = NULL;
    x->gang = NULL;
    x->left = 0;
    x->deadline_ns = s->now_ns;
    for (const struct gang__stop *stop = g->stop.first; stop; stop = stop->next)
        x->deadline_ns = gang__max(x->deadline_ns, stop->deadline_ns);
    x->matrix->columns_changed = true;
    for (size_t i = 0; i < x->uses; i++)
        x->use[i].column->detached_uses++;
    x->matrix->viewed_in = 0; /* no gang may come to its columns */
    gang__wake_slices(s);
}

void gang__slice_stopped(gang_sched *s, gang_alloc_id alloc)
{
    struct gang__sliced *x = s->slice.matrices ? gang__sliced_of(s, alloc) : NULL;
    if (x && !x->gang)
        x->stopped = true;
    if (x)
        gang__wake_slices(s);
}

static bool is_among(const int64_t *tasks, size_t count, int64_t task)
{
    return bsearch(&task, tasks, count, sizeof(task), gang__by_number) != NULL;
}

void gang__slice_released(gang_sched *s, gang_alloc_id alloc, const int64_t *tasks, size_t count)
{
    struct gang__sliced *x = s->slice.matrices ? gang__sliced_of(s, alloc) : NULL;
    if (!x)
        return;
    size_t kept = 0;
    for (size_t i = 0; tasks && i < x->uses; i++)
        if (is_among(tasks, count, x->use[i].task))
            gang__use_forget(s, x, i);
        else
            x->use[kept++] = x->use[i];
    if (tasks) {
        x->uses = kept;
        gang__slice_tasks_gone(s, x, tasks, count);
    }
    if (!tasks || (!x->gang && x->uses == 0))
        gang__sliced_leave(s, x);
    gang__wake_slices(s);
    gang__wake_capacity_any(s);
}
