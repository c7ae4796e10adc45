/* SPDX-License-Identifier: Apache-2.0 */
/* Incremental allocation: more tasks for an allocation that runs. */
#include <string.h>

#include "base/error.h"
#include "base/rcu.h"
#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/alloc/equal_nodes.h"
#include "place/explain/explain.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/record/record.h"
#include "place/search/search.h"
#include "place/state/records.h"

/* What an allocation is to grow by: tasks of a group, or (group -1) of any. */
struct growth {
    int32_t group;
    int64_t tasks;
    bool whole; /* all of them or none, of one group; else as many as fit */
};

/* One search for more tasks. Returns how many were planned. */
static int64_t plan_more_once(gang_worker *w, const struct gang__alloc *a,
                              const struct growth *growth, bool proof)
{
    int64_t tasks = growth->tasks;
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
        if ((growth->group >= 0 && (int32_t)g != growth->group) || missing <= 0)
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
        done += gang__pack_more(p, g, growth->whole ? step : below_min, step, proof);
    }
    return done;
}

static int64_t plan_more(gang_worker *w, const struct gang__alloc *a, const struct growth *growth,
                         bool proof)
{
    const struct gang__plan *p = gang__plan_of(w);
    int64_t done;
    int tries = 0;
    do
        done = plan_more_once(w, a, growth, proof);
    while (p->out.replan && ++tries < GANG__SEARCHES);
    return done;
}

static gang_result plan(gang_worker *w, const struct gang__alloc *a, const struct growth *growth)
{
    struct gang__plan *p = gang__plan_of(w);
    bool some = false;
    uint32_t soft_count = a->request->soft_count;
    do { /* the last soft affinity rule gives way first */
        p->others.soft_count = soft_count;
        some = plan_more(w, a, growth, false) > 0;
    } while (!some && !p->out.failed && soft_count-- > 0);
    p->others.soft_count = 0;
    some = some || (!p->out.failed && plan_more(w, a, growth, true) > 0);
    return gang__plan_result(p, some);
}

gang_result gang__growth_plan(gang_worker *w, const struct gang__alloc *a, int32_t group,
                              int64_t tasks)
{
    return plan(w, a, &(struct growth){group, tasks, false});
}

static gang_result plan_growth(gang_worker *w, const struct gang__alloc *a,
                               const struct growth *growth)
{
    const struct gang__plan *p = gang__plan_of(w);
    for (int i = 0; i < GANG__SEARCHES; i++) {
        uint64_t stamp = gang__stamp_read(&w->cluster->commit);
        gang_result r = plan(w, a, growth);
        if (r != GANG_ENOFIT || p->out.failed)
            return r;
        if (gang__stamp_read(&w->cluster->commit) == stamp)
            break;
    }
    return GANG_ENOFIT;
}

/* Could so many more tasks of a group ever fit on an otherwise empty cluster? */
static gang_result more_fit(gang_worker *w, const struct gang__alloc *a, uint32_t group,
                            int64_t tasks)
{
    struct gang__plan *p = gang__plan_of(w);
    if (gang__plan_begin(p, w->cluster, a->request, true) != GANG_OK)
        return GANG_ENOMEM;
    gang__plan_running(p, a);
    gang__plan_take_running(p, a);
    int64_t fits = p->out.failed ? 0 : gang__pack_more(p, group, tasks, tasks, false);
    if (p->out.failed)
        return GANG_ENOMEM;
    return fits ? GANG_OK : GANG_ENEVER;
}

/* Could one more task, or subgroup, of a group ever fit there? */
static gang_result one_more_fits(gang_worker *w, const struct gang__alloc *a, uint32_t group)
{
    int64_t subgroup = a->request->group[group].subgroup_size;
    return more_fit(w, a, group, subgroup ? subgroup : 1);
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
    gang_result r = plan_growth(w, a, &(struct growth){(int32_t)group, 1, false});
    if (r != GANG_ENOFIT || gang__plan_of(w)->out.host)
        return r;
    r = one_more_fits(w, a, group);
    return r == GANG_OK ? GANG_ENOFIT : r;
}

/* No more tasks fit now: chooses the group to report, and asks whether one (whole: all of them)
 * could ever fit. */
static gang_result refuse_growth(gang_worker *w, struct gang__alloc *a, const struct growth *growth,
                                 struct gang_error *error)
{
    int32_t group = growth->group;
    gang_result ever = GANG_ENEVER;
    int32_t about = -1;
    for (uint32_t g = 0; g < a->request->group_count && ever == GANG_ENEVER; g++) {
        if ((group >= 0 && (int32_t)g != group) ||
            gang__tasks_held(a, (int32_t)g) >= a->request->group[g].count)
            continue;
        ever = growth->whole ? more_fit(w, a, g, growth->tasks) : one_more_fits_ever(w, a, g);
        if (about < 0 || ever == GANG_OK)
            about = (int32_t)g;
    }
    w->stats.refusals++;
    if (ever == GANG_ENOMEM)
        return gang__error(error, ever, NULL, "out of memory");
    struct gang__plan *p = gang__plan_of(w);
    gang_result code = ever == GANG_OK ? GANG_ENOFIT : GANG_ENEVER;
    if (!error)
        return code;
    int64_t tasks = growth->whole ? growth->tasks : gang__growth_step(a, (uint32_t)about);
    return gang__explain_growth(p, a, (uint32_t)about, tasks, code, error);
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

void gang__growth_numbers(const gang_worker *w, int64_t *tasks, size_t count)
{
    const struct gang__placer *placer = w->place;
    for (size_t i = 0; i < count; i++)
        tasks[i] = placer->plan.tasks.plan[i].number;
}

gang_result gang__growth_ended(gang_worker *w, const int64_t *ended, const uint64_t *tasks)
{
    struct gang__placer *placer = gang__placer_of(w);
    if (!placer)
        return GANG_ENOMEM;
    placer->plan.tasks.ended = ended;
    placer->plan.tasks.ended_tasks = tasks;
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

/* Can exactly so many tasks of the group be added? */
static gang_result check_whole(const struct gang__alloc *a, const struct growth *growth,
                               struct gang_error *error)
{
    const struct gang__group *g = &a->request->group[growth->group];
    int64_t held = gang__tasks_held(a, growth->group), after = held + growth->tasks;
    if (growth->tasks > g->count - held)
        return gang__error(error, GANG_ERANGE, "tasks", "the group lacks only %lld of its count",
                           (long long)(g->count - held));
    if (after < g->min)
        return gang__error(error, GANG_ERANGE, "tasks", "the group lacks %lld to its minimum",
                           (long long)(g->min - held));
    if (g->subgroup_size && after % g->subgroup_size != 0)
        return gang__error(error, GANG_ERANGE, "tasks", "not whole subgroups of %lld tasks",
                           (long long)g->subgroup_size);
    return GANG_OK;
}

/* All tasks without a plan, if they take the same of equal nodes. Returns how many were added. */
static int64_t grow_alike(gang_worker *w, struct gang__alloc *a, const struct growth *growth)
{
    int64_t missing = a->request->count - a->tasks;
    int64_t tasks = growth->tasks < missing ? growth->tasks : missing;
    gang_result r;
    bool grown = gang__equal_nodes_suit(w, a->request) &&
                 gang__equal_nodes_take(w, a->request, tasks, NULL, &a, &r);
    return grown ? tasks : 0;
}

static gang_result grow(gang_worker *w, struct gang__alloc *a, const struct growth *growth,
                        int64_t *granted, struct gang_error *error)
{
    struct gang__placer *placer = w->place;
    gang_result r = gang__growth_check(a, growth->group, error);
    if (r == GANG_OK && growth->whole)
        r = check_whole(a, growth, error);
    if (r != GANG_OK)
        return r;
    *granted = grow_alike(w, a, growth);
    if (*granted)
        return GANG_OK;
    placer->plan.others.clashes = 0;
    do {
        r = plan_growth(w, a, growth);
        if (r != GANG_OK)
            break;
        r = gang__plan_commit_record(w, a->request, &a, NULL, NULL);
    } while (r == GANG_ENOFIT && !placer->plan.out.host &&
             placer->plan.others.clashes < GANG__SEARCHES);
    if (r == GANG_OK) {
        *granted = (int64_t)placer->plan.tasks.count;
        gang__equal_nodes_learn(w, a->request);
        return GANG_OK;
    }
    if (r == GANG_ENOFIT && !placer->plan.out.host)
        return refuse_growth(w, a, growth, error);
    return gang__fail(&placer->plan, r, error);
}

static gang_result grow_alloc(gang_worker *worker, gang_alloc_id id, const struct growth *growth,
                              int64_t *granted, struct gang_error *error)
{
    if (!worker)
        return gang__error(error, GANG_EINVAL, NULL, "no worker");
    if (growth->tasks < 1)
        return gang__error(error, GANG_ERANGE, "tasks", "below 1");
    if (!gang__placer_of(worker))
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    gang__rcu_enter();
    struct gang__alloc *a;
    gang_result r = gang__alloc_lock(worker, id, &a);
    if (r == GANG_OK) {
        struct gang__plan *p = gang__plan_of(worker);
        p->others.running = a;
        r = grow(worker, a, growth, granted, error);
        p->others.running = NULL;
        gang__alloc_publish(a);
    } else {
        gang__error(error, r, NULL, "%s", gang_strerror(r));
    }
    gang__rcu_leave();
    return r;
}

gang_result gang_alloc_grow(gang_worker *worker, gang_alloc_id id, int32_t group, int64_t tasks,
                            int64_t *granted, struct gang_error *error)
{
    int64_t added = 0;
    gang_result r = grow_alloc(worker, id, &(struct growth){group, tasks, false}, &added, error);
    if (granted)
        *granted = added;
    return r;
}

gang_result gang_alloc_grow_whole(gang_worker *worker, gang_alloc_id id, int32_t group,
                                  int64_t tasks, struct gang_error *error)
{
    int64_t added;
    if (group < 0)
        return gang__error(error, GANG_EINVAL, "group", "no such group");
    return grow_alloc(worker, id, &(struct growth){group, tasks, true}, &added, error);
}
