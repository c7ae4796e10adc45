/* SPDX-License-Identifier: Apache-2.0 */
/* Adopts exact places, for a host that restores its state or chooses places itself. */
#include "base/error.h"
#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/alloc/alloc.h"
#include "place/fit/fit.h"
#include "place/record/record.h"
#include "place/state/records.h"

static gang_result adopt_refused(gang_worker *w, const struct gang_placement *place, int64_t i,
                                 struct gang__misfit m, struct gang_error *error)
{
    gang__error(error, GANG_ENOFIT, NULL, "%s is taken already",
                m.kind < 0 ? "what the profile asks for" : w->cluster->nodes.kind[m.kind].name);
    gang__error_at(error, GANG_ENOFIT, "places[%lld]", (long long)i);
    if (error && error->size >= sizeof(*error)) {
        error->constraint = m.why;
        error->kind = m.kind;
        error->group = place->group;
        error->id = place->node;
    }
    return GANG_ENOFIT;
}

/* Does a task of the group take devices of this sort and number on the node? */
static bool devices_suit(const struct gang__group *g, const struct gang__node *node, uint64_t gpus)
{
    if (g->profile)
        return gang__are_instances(g, node->type, gpus);
    return gang__popcount(gpus) == g->devices && !(gpus & node->type->slices);
}

static gang_result plan_place(gang_worker *w, gang_request *request,
                              const struct gang_placement *from, int64_t i,
                              struct gang_error *error)
{
    struct gang__plan *p = gang__plan_of(w);
    struct gang_placement in;
    struct gang__node *node = NULL;
    gang_result r = gang__struct_in(&in, sizeof(in), sizeof(in), from, from->size);
    const char *what = "struct gang_placement is not set up";
    if (r == GANG_OK && (in.group < 0 || in.group >= (int32_t)request->group_count)) {
        r = GANG_EINVAL;
        what = "no such group";
    } else if (r == GANG_OK && p->tasks.in_group[in.group] >= request->group[in.group].count) {
        r = GANG_ERANGE;
        what = "more tasks than the group's count";
    } else if (r == GANG_OK && (in.any_devices < 0 || in.any_devices > 1)) {
        r = GANG_EINVAL;
        what = "any_devices is neither 0 nor 1";
    } else if (r == GANG_OK && !(node = gang__node_of(w->cluster, in.node))) {
        r = GANG_ESTALE;
        what = "no such node";
    } else if (r == GANG_OK && !in.any_devices &&
               !devices_suit(&request->group[in.group], node, in.gpus)) {
        r = GANG_EINVAL;
        what = "not the devices, in number or sort, that the group asks for";
    }
    if (r != GANG_OK) {
        gang__error(error, r, NULL, "%s", what);
        return gang__error_at(error, r, "places[%lld]", (long long)i);
    }
    struct gang__misfit misfit = {0, -1};
    if (gang__plan_task(p, (uint32_t)in.group, (uint32_t)in.node, in.any_devices ? 0 : in.gpus,
                        &misfit))
        return GANG_OK;
    if (p->out.failed)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    if (misfit.why == GANG_CONSTRAINT_STATE) { /* removed: any other state would do */
        gang__error(error, GANG_ESTALE, NULL, "no such node");
        return gang__error_at(error, GANG_ESTALE, "places[%lld]", (long long)i);
    }
    return adopt_refused(w, &in, i, misfit, error);
}

/* Count the tasks that the allocation has already. */
static void count_running(struct gang__plan *p)
{
    const struct gang__alloc *a = p->others.running;
    for (const uint64_t *task = a ? gang__task_first(a) : NULL; task;
         task = gang__task_next(a, task))
        p->tasks.in_group[gang__task_group(task)]++;
}

/* `healthy`: the library chooses healthy devices only. */
static gang_result plan_places(gang_worker *w, gang_request *request,
                               const struct gang_placement *places, int64_t count, bool healthy,
                               struct gang_error *error)
{
    struct gang__plan *p = gang__plan_of(w);
    if (gang__plan_begin(p, w->cluster, request, false) != GANG_OK)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    p->mode.adopting = p->mode.exact_reads = p->mode.worst_fit = true;
    p->mode.check_health = p->mode.check_health && healthy;
    p->others.bars = false;
    count_running(p);
    gang_result r = GANG_OK;
    size_t step = places->size;
    for (int64_t i = 0; i < count && r == GANG_OK; i++) {
        const void *at = (const char *)places + (size_t)i * step;
        r = plan_place(w, request, at, i, error);
    }
    return r;
}

static gang_result find_places(gang_worker *w, gang_request *request,
                               const struct gang_placement *places, int64_t count,
                               struct gang_error *error)
{
    const struct gang__plan *p = gang__plan_of(w);
    gang_result r = plan_places(w, request, places, count, true, error);
    if (r == GANG_ENOFIT && p->mode.check_health)
        r = plan_places(w, request, places, count, false, error);
    return r;
}

gang_result gang_alloc_adopt(gang_worker *worker, gang_request *request,
                             const struct gang_placement *places, int64_t place_count,
                             gang_alloc_id *id, struct gang_error *error)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!id || !places || place_count < 1)
        return gang__error(error, GANG_EINVAL, "places", "none, or no place for the id");
    gang_result r = gang__check_call(worker, request, error);
    if (r != GANG_OK)
        return r;
    gang__rcu_enter();
    for (;;) {
        struct gang__alloc *a = NULL;
        r = find_places(worker, request, places, place_count, error);
        if (r != GANG_OK)
            break;
        r = gang__plan_commit_record(worker, request, &a, NULL, NULL);
        if (r == GANG_OK) {
            *id = gang__alloc_publish(a);
            break;
        }
        if (r != GANG_ENOFIT) {
            gang__error(error, r, NULL, "%s", gang_strerror(r));
            break;
        }
    }
    gang__rcu_leave();
    return r;
}

static gang_result adopt_more(gang_worker *w, struct gang__alloc *a,
                              const struct gang_placement *places, int64_t count)
{
    gang_result r;
    do {
        r = find_places(w, a->request, places, count, NULL);
        if (r != GANG_OK)
            return r;
        r = gang__plan_commit_record(w, a->request, &a, NULL, NULL);
    } while (r == GANG_ENOFIT);
    return r;
}

gang_result gang__alloc_adopt_more(gang_worker *w, gang_alloc_id id,
                                   const struct gang_placement *places, int64_t count)
{
    if (!w || !places || count < 1)
        return GANG_EINVAL;
    struct gang__placer *placer = gang__placer_of(w);
    if (!placer)
        return GANG_ENOMEM;
    gang__rcu_enter();
    struct gang__alloc *a;
    gang_result r = gang__alloc_lock(w, id, &a);
    if (r == GANG_OK) {
        placer->plan.others.running = a;
        r = adopt_more(w, a, places, count);
        placer->plan.others.running = NULL;
        gang__alloc_publish(a);
    }
    gang__rcu_leave();
    return r;
}
