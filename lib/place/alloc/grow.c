/* SPDX-License-Identifier: Apache-2.0 */
/* Incremental allocation: more tasks for an allocation that runs. */
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/explain/explain.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/record/record.h"
#include "place/search/search.h"
#include "place/state/records.h"

/* One search for more tasks of a group. Returns how many were planned. */
static int64_t plan_more_once(gang_worker *w, const struct gang__alloc *a, int32_t group,
                              int64_t tasks, bool proof)
{
    struct gang__plan *p = gang__plan_of(w);
    const gang_request *request = a->request;
    if (gang__plan_begin(p, w->cluster, request, false) != GANG_OK) {
        p->out.failed = true;
        return 0;
    }
    gang__plan_start(p, w);
    gang__plan_running(p, a);
    int64_t done = 0;
    for (uint32_t g = 0; g < request->group_count && done < tasks && !p->out.failed; g++) {
        int64_t held = p->tasks.in_group[g] + (p->tasks.ended ? p->tasks.ended[g] : 0);
        int64_t missing = request->group[g].count - held, below_min = request->group[g].min - held;
        if ((group >= 0 && (int32_t)g != group) || missing <= 0)
            continue;
        /* A group below its minimum gets all that it lacks, or nothing. */
        int64_t step = tasks - done < missing ? tasks - done : missing;
        if (step < below_min)
            step = below_min;
        if (request->group[g]
                .subgroup_size) /* it divides the count, the minimum and the held tasks */
            step = (step + request->group[g].subgroup_size - 1) / request->group[g].subgroup_size *
                   request->group[g].subgroup_size;
        if (step > missing)
            continue;
        done += gang__pack_more(p, g, below_min, step, proof);
    }
    return done;
}

static int64_t plan_more(gang_worker *w, const struct gang__alloc *a, int32_t group, int64_t tasks,
                         bool proof)
{
    const struct gang__plan *p = gang__plan_of(w);
    int64_t done;
    int tries = 0;
    do
        done = plan_more_once(w, a, group, tasks, proof);
    while (p->out.replan && ++tries < GANG__SEARCHES);
    return done;
}

gang_result gang__growth_plan(gang_worker *w, const struct gang__alloc *a, int32_t group,
                              int64_t tasks)
{
    struct gang__plan *p = gang__plan_of(w);
    bool some = false;
    uint32_t soft_count = a->request->soft_count;
    do { /* the last soft affinity rule gives way first */
        p->others.soft_count = soft_count;
        some = plan_more(w, a, group, tasks, false) > 0;
    } while (!some && !p->out.failed && soft_count-- > 0);
    p->others.soft_count = 0;
    some = some || (!p->out.failed && plan_more(w, a, group, tasks, true) > 0);
    return gang__plan_result(p, some);
}

static gang_result plan_growth(gang_worker *w, const struct gang__alloc *a, int32_t group,
                               int64_t tasks)
{
    const struct gang__plan *p = gang__plan_of(w);
    for (int i = 0; i < GANG__SEARCHES; i++) {
        uint64_t stamp = gang__stamp_read(&w->cluster->commit);
        gang_result r = gang__growth_plan(w, a, group, tasks);
        if (r != GANG_ENOFIT || p->out.failed)
            return r;
        if (gang__stamp_read(&w->cluster->commit) == stamp)
            break;
    }
    return GANG_ENOFIT;
}

/* Could one more task of a group ever fit on an otherwise empty cluster? */
static gang_result one_more_fits(gang_worker *w, const struct gang__alloc *a, uint32_t group)
{
    struct gang__plan *p = gang__plan_of(w);
    if (gang__plan_begin(p, w->cluster, a->request, true) != GANG_OK)
        return GANG_ENOMEM;
    gang__plan_running(p, a);
    gang__plan_take_running(p, a);
    int64_t least =
        a->request->group[group].subgroup_size ? a->request->group[group].subgroup_size : 1;
    int64_t fits = p->out.failed ? 0 : gang__pack_more(p, group, least, least, false);
    if (p->out.failed)
        return GANG_ENOMEM;
    return fits ? GANG_OK : GANG_ENEVER;
}

/* The same, remembered until nodes or its tasks change. */
static gang_result one_more_fits_ever(gang_worker *w, struct gang__alloc *a, uint32_t group)
{
    uint64_t epoch = gang__load(&w->cluster->nodes.epoch) + 1;
    if (a->fits_epoch == epoch && a->fits_tasks == a->tasks && a->fits_group == group)
        return GANG_OK;
    gang_result r = one_more_fits(w, a, group);
    if (r != GANG_OK)
        return r;
    a->fits_epoch = epoch;
    a->fits_tasks = a->tasks;
    a->fits_group = group;
    return GANG_OK;
}

gang_result gang__growth_verdict(gang_worker *w, const struct gang__alloc *a, uint32_t group)
{
    gang_result r = plan_growth(w, a, (int32_t)group, 1);
    if (r != GANG_ENOFIT || gang__plan_of(w)->out.host)
        return r;
    r = one_more_fits(w, a, group);
    return r == GANG_OK ? GANG_ENOFIT : r;
}

/* No more tasks fit now: chooses the group to report, and asks whether one could ever fit. */
static gang_result refuse_growth(gang_worker *w, struct gang__alloc *a, int32_t group,
                                 struct gang_error *error)
{
    gang_result ever = GANG_ENEVER;
    int32_t about = -1;
    for (uint32_t g = 0; g < a->request->group_count && ever == GANG_ENEVER; g++) {
        if ((group >= 0 && (int32_t)g != group) ||
            gang__tasks_held(a, (int32_t)g) >= a->request->group[g].count)
            continue;
        ever = one_more_fits_ever(w, a, g);
        if (about < 0 || ever == GANG_OK)
            about = (int32_t)g;
    }
    w->stats.refusals++;
    if (ever == GANG_ENOMEM)
        return gang__error(error, ever, NULL, "out of memory");
    struct gang__plan *p = gang__plan_of(w);
    gang_result code = ever == GANG_OK ? GANG_ENOFIT : GANG_ENEVER;
    return error ? gang__explain_growth(p, a, (uint32_t)about, code, error) : code;
}

gang_result gang__growth_check(const struct gang__alloc *a, int32_t group, struct gang_error *error)
{
    const gang_request *request = a->request;
    if (group < -1 || group >= (int32_t)request->group_count)
        return gang__error(error, GANG_EINVAL, "group", "no such group");
    if (gang__tasks_held(a, group) >= (group < 0 ? request->count : request->group[group].count))
        return gang__error(error, GANG_ERANGE, "tasks", "it has all the tasks it asked for");
    return GANG_OK;
}

gang_result gang__growth_ended(gang_worker *w, const int64_t *ended)
{
    struct gang__placer *placer = gang__placer_of(w);
    if (!placer)
        return GANG_ENOMEM;
    placer->plan.tasks.ended = ended;
    return GANG_OK;
}

gang_result gang__growth_leaving(gang_worker *w, const int64_t *leaving, size_t count)
{
    struct gang__placer *placer = gang__placer_of(w);
    if (!placer)
        return GANG_ENOMEM;
    placer->plan.tasks.leaving = leaving;
    placer->plan.tasks.leaving_count = leaving ? count : 0;
    return GANG_OK;
}

static gang_result grow(gang_worker *w, struct gang__alloc *a, int32_t group, int64_t tasks,
                        int64_t *granted, struct gang_error *error)
{
    struct gang__placer *placer = w->place;
    gang_result r = gang__growth_check(a, group, error);
    if (r != GANG_OK)
        return r;
    placer->plan.others.clashes = 0;
    do {
        r = plan_growth(w, a, group, tasks);
        if (r != GANG_OK)
            break;
        r = gang__plan_commit_record(w, a->request, &a, NULL, NULL);
    } while (r == GANG_ENOFIT && !placer->plan.out.host &&
             placer->plan.others.clashes < GANG__SEARCHES);
    if (r == GANG_OK) {
        *granted = (int64_t)placer->plan.tasks.count;
        return GANG_OK;
    }
    if (r == GANG_ENOFIT && !placer->plan.out.host)
        return refuse_growth(w, a, group, error);
    return gang__fail(&placer->plan, r, error);
}

gang_result gang_alloc_grow(gang_worker *worker, gang_alloc_id id, int32_t group, int64_t tasks,
                            int64_t *granted, struct gang_error *error)
{
    int64_t added = 0;
    if (granted)
        *granted = 0;
    if (!worker)
        return gang__error(error, GANG_EINVAL, NULL, "no worker");
    if (tasks < 1)
        return gang__error(error, GANG_ERANGE, "tasks", "below 1");
    if (!gang__placer_of(worker))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang__rcu_enter();
    struct gang__alloc *a;
    gang_result r = gang__alloc_lock(worker, id, &a);
    if (r == GANG_OK) {
        struct gang__plan *p = gang__plan_of(worker);
        p->others.running = a;
        r = grow(worker, a, group, tasks, &added, error);
        p->others.running = NULL;
        gang__alloc_publish(a);
    } else {
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    }
    gang__rcu_leave();
    if (granted)
        *granted = added;
    return r;
}
