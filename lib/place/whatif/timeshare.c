/* SPDX-License-Identifier: Apache-2.0 */
#include "place/whatif/timeshare.h"

#include "base/error.h"
#include "base/rcu.h"
#include "place/alloc/alloc.h"
#include "place/explain/explain.h"
#include "place/record/record.h"
#include "place/search/search.h"
#include "place/state/records.h"
#include "place/whatif/whatif.h"

gang_result gang__timeshare_alloc(gang_worker *w, gang_snapshot *s, gang_request *request,
                                  uint32_t parts, gang_alloc_id *id)
{
    *id = GANG_ID_NONE;
    gang_result r = gang__check_call(w, request, NULL);
    if (r != GANG_OK)
        return r;
    if (!gang__snapshot_is_usable(s, w) || request->exclusive)
        return GANG_EINVAL;
    struct gang__plan *p = gang__plan_of(w);
    gang__rcu_enter();
    p->snap = s;
    r = gang__whatif_plan(w, request, false);
    p->mode.timeshare = parts;
    struct gang__alloc *a = NULL;
    if (r == GANG_OK)
        r = gang__plan_commit_record(w, request, &a, NULL, NULL);
    if (r == GANG_OK)
        *id = gang__alloc_publish(a);
    p->mode.timeshare = 0;
    p->snap = NULL;
    gang__rcu_leave();
    return r;
}

gang_result gang__timeshare_adopt(gang_worker *w, gang_snapshot *s,
                                  const struct gang__timeshare_adoption *adoption,
                                  gang_alloc_id *id, struct gang_error *error)
{
    gang_request *request = adoption->request;
    *id = GANG_ID_NONE;
    gang_result r = gang__check_call(w, request, error);
    if (r != GANG_OK)
        return r;
    if (!gang__snapshot_is_usable(s, w) || request->exclusive)
        return gang__error(error, GANG_EINVAL, NULL, "its nodes are for it alone");
    struct gang__plan *p = gang__plan_of(w);
    struct gang__alloc *a = NULL;
    gang__rcu_enter();
    p->snap = s;
    r = gang__adopt_plan(w, request, adoption->places, adoption->count, error);
    p->mode.timeshare = adoption->parts;
    if (r == GANG_OK) {
        r = gang__plan_commit_record(w, request, &a, NULL, NULL);
        if (r != GANG_OK)
            gang__error(error, r, "places", "%s", gang_strerror(r));
    }
    if (r == GANG_OK)
        *id = gang__alloc_publish(a);
    p->mode.timeshare = 0;
    p->snap = NULL;
    gang__rcu_leave();
    return r;
}

static gang_result grow(gang_worker *w, struct gang__alloc *a, int32_t group, int64_t tasks,
                        int64_t *granted)
{
    struct gang__plan *p = gang__plan_of(w);
    gang_result r = gang__growth_check(a, group, NULL);
    if (r == GANG_OK)
        r = gang__growth_plan(w, a, group, tasks);
    if (r == GANG_OK)
        r = gang__plan_commit_record(w, a->request, &a, NULL, NULL);
    if (r == GANG_OK)
        *granted = (int64_t)p->tasks.count;
    return r;
}

gang_result gang__timeshare_grow(gang_worker *w, gang_snapshot *s,
                                 const struct gang__timeshare_growth *growth, int64_t *granted)
{
    struct gang__alloc *a;
    *granted = 0;
    if (!gang__snapshot_is_usable(s, w) || growth->tasks < 1)
        return GANG_EINVAL;
    if (!gang__placer_of(w))
        return GANG_ENOMEM;
    struct gang__plan *p = gang__plan_of(w);
    gang__rcu_enter();
    gang_result r = gang__alloc_lock(w, growth->id, &a);
    if (r == GANG_OK) {
        p->snap = s;
        p->mode.timeshare = growth->parts;
        p->others.running = a;
        r = grow(w, a, growth->group, growth->tasks, granted);
        p->others.running = NULL;
        p->mode.timeshare = 0;
        p->snap = NULL;
        gang__alloc_publish(a);
    }
    gang__rcu_leave();
    return r;
}

gang_result gang__timeshare_each(gang_cluster *c, gang_alloc_id id, gang__timeshare_fn visit,
                                 void *user)
{
    struct gang__alloc *a;
    gang_result r = gang__alloc_read(c, id, &a);
    if (r != GANG_OK)
        return r;
    for (const uint64_t *task = gang__entry_first(a); r == GANG_OK && task;
         task = gang__entry_next(a, task))
        for (unsigned i = 0; r == GANG_OK && i < gang__task_deltas(task); i++) {
            uint64_t delta = task[GANG__TASK_HEAD + i];
            if (delta & GANG__DELTA_SHARED)
                r = visit(task[0], gang__delta_word(delta), gang__payload(delta),
                          (int64_t)gang__task_number(task), user);
        }
    gang__alloc_read_end(a);
    return r;
}
