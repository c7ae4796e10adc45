/* SPDX-License-Identifier: Apache-2.0 */
/* Adopts exact places, for a host that restores its state or chooses places itself. */
#include <stddef.h>

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

/* Takes a task cores of its own, of that number, on the node? */
static bool cores_suit(const struct gang__group *g, const struct gang__node *node,
                       const uint64_t *cores)
{
    uint32_t count = 0;
    for (size_t i = 0; i < GANG_MAX_CORES / 64; i++)
        count += gang__popcount(cores[i]);
    return count == (node->type->layout.core_words ? g->cores : 0);
}

/* The words of a node that stand for these cores. */
static void core_words_of(const struct gang__node *node, const uint64_t *cores, uint64_t *words)
{
    for (unsigned i = 0; i < node->type->layout.core_words; i++) {
        unsigned first = i * GANG__CORES_PER_WORD, at = first / 64, shift = first % 64;
        uint64_t bits = at < GANG_MAX_CORES / 64 ? cores[at] >> shift : 0;
        if (shift > 64 - GANG__CORES_PER_WORD && at + 1 < GANG_MAX_CORES / 64)
            bits |= cores[at + 1] << (64 - shift);
        words[i] = bits & ((UINT64_C(1) << GANG__CORES_PER_WORD) - 1);
    }
}

/* The caller's struct, which may be that of an older version. */
static gang_result read_place(const struct gang_placement *from, struct gang_placement *in)
{
    enum { OLDER = offsetof(struct gang_placement, task) };
    bool older = from->size == OLDER;
    gang_result r =
        gang__struct_in(in, sizeof(*in), older ? (size_t)OLDER : sizeof(*in), from, from->size);
    if (older) {
        in->task = -1;
        in->any_cores = 1;
    }
    return r;
}

/* Is the number one of the group, and are those before named like it? */
static gang_result check_number(const struct gang__plan *p, const struct gang_placement *in)
{
    const struct gang__group *g = &p->request->group[in->group];
    bool named = p->tasks.count > 0 && p->tasks.plan[0].number != GANG__ANY_NUMBER;
    if (in->task < -1 || (p->tasks.count > 0 && named != (in->task >= 0)))
        return GANG_EINVAL;
    return in->task < 0 || (in->task >= g->first && in->task < g->first + g->count) ? GANG_OK
                                                                                    : GANG_ERANGE;
}

static gang_result plan_place(gang_worker *w, gang_request *request,
                              const struct gang_placement *from, int64_t i,
                              struct gang_error *error)
{
    struct gang__plan *p = gang__plan_of(w);
    struct gang_placement in;
    struct gang__node *node = NULL;
    uint64_t cores[GANG__MAX_WORDS];
    gang_result r = read_place(from, &in);
    const char *what = "struct gang_placement is not set up";
    if (r == GANG_OK && (in.group < 0 || in.group >= (int32_t)request->group_count)) {
        r = GANG_EINVAL;
        what = "no such group";
    } else if (r == GANG_OK && p->tasks.in_group[in.group] >= request->group[in.group].count) {
        r = GANG_ERANGE;
        what = "more tasks than the group's count";
    } else if (r == GANG_OK && (in.any_devices < 0 || in.any_devices > 1 || in.any_cores < 0 ||
                                in.any_cores > 1 || in.reserved0)) {
        r = GANG_EINVAL;
        what = "any_devices or any_cores is neither 0 nor 1, or reserved0 not 0";
    } else if (r == GANG_OK && (r = check_number(p, &in)) != GANG_OK) {
        what = "not a task of the group, or not all places name their tasks";
    } else if (r == GANG_OK && !(node = gang__node_of(w->cluster, in.node))) {
        r = GANG_ESTALE;
        what = "no such node";
    } else if (r == GANG_OK && !in.any_devices &&
               !devices_suit(&request->group[in.group], node, in.gpus)) {
        r = GANG_EINVAL;
        what = "not the devices, in number or sort, that the group asks for";
    } else if (r == GANG_OK && !in.any_cores &&
               !cores_suit(&request->group[in.group], node, in.cores)) {
        r = GANG_EINVAL;
        what = "not as many cores as the group asks for";
    }
    if (r != GANG_OK) {
        gang__error(error, r, NULL, "%s", what);
        return gang__error_at(error, r, "places[%lld]", (long long)i);
    }
    struct gang__misfit misfit = {0, -1};
    if (!in.any_cores) {
        core_words_of(node, in.cores, cores);
        p->mode.cores = cores;
    }
    bool fits = gang__plan_task(p, (uint32_t)in.group, (uint32_t)in.node,
                                in.any_devices ? 0 : in.gpus, &misfit);
    p->mode.cores = NULL;
    if (fits) {
        if (in.task >= 0)
            p->tasks.plan[p->tasks.count - 1].number = (uint32_t)in.task;
        return GANG_OK;
    }
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

/* Is each named number free, and named once? */
static gang_result check_numbers(struct gang__plan *p, struct gang_error *error)
{
    size_t count = p->tasks.count, at = 0;
    if (count == 0 || p->tasks.plan[0].number == GANG__ANY_NUMBER)
        return GANG_OK;
    size_t key_at = gang__plan_words(p, count);
    if (p->out.failed)
        return gang__error(error, GANG_ENOMEM, NULL, "out of memory");
    uint64_t *key = p->word + key_at;
    for (size_t i = 0; i < count; i++)
        key[i] = (uint64_t)p->tasks.plan[i].number << 32 | i;
    gang__sort_keys(key, count);
    const struct gang__alloc *a = p->others.running;
    const uint64_t *task = a ? gang__task_first(a) : NULL;
    bool twice = false;
    for (size_t i = 0; i < count && !twice; i++) {
        uint64_t number = key[at = i] >> 32;
        while (task && gang__task_number(task) < number)
            task = gang__task_next(a, task);
        twice =
            (i > 0 && key[i - 1] >> 32 == number) || (task && gang__task_number(task) == number);
    }
    if (!twice)
        return GANG_OK;
    gang__error(error, GANG_EEXIST, NULL, "the number of another task");
    return gang__error_at(error, GANG_EEXIST, "places[%u]", (unsigned)(uint32_t)key[at]);
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
    size_t step = count > 0 ? places->size : 0;
    for (int64_t i = 0; i < count && r == GANG_OK; i++) {
        const void *at = (const char *)places + (size_t)i * step;
        r = plan_place(w, request, at, i, error);
    }
    return r == GANG_OK ? check_numbers(p, error) : r;
}

gang_result gang__adopt_plan(gang_worker *w, gang_request *request,
                             const struct gang_placement *places, int64_t count,
                             struct gang_error *error)
{
    const struct gang__plan *p = gang__plan_of(w);
    gang_result r = plan_places(w, request, places, count, true, error);
    if (r == GANG_ENOFIT && p->mode.check_health)
        r = plan_places(w, request, places, count, false, error);
    return r;
}

gang_result gang__alloc_adopt(gang_worker *worker, gang_request *request,
                              const struct gang_placement *places, int64_t place_count,
                              gang_alloc_id *id, struct gang_error *error)
{
    *id = GANG_ID_NONE;
    gang_result r = gang__check_call(worker, request, error);
    if (r != GANG_OK)
        return r;
    gang__rcu_enter();
    for (;;) {
        struct gang__alloc *a = NULL;
        r = gang__adopt_plan(worker, request, places, place_count, error);
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

gang_result gang_alloc_adopt(gang_worker *worker, gang_request *request,
                             const struct gang_placement *places, int64_t place_count,
                             gang_alloc_id *id, struct gang_error *error)
{
    if (id)
        *id = GANG_ID_NONE;
    if (!id || !places || place_count < 1)
        return gang__error(error, GANG_EINVAL, "places", "none, or no place for the id");
    return gang__alloc_adopt(worker, request, places, place_count, id, error);
}

static gang_result adopt_more(gang_worker *w, struct gang__alloc *a,
                              const struct gang_placement *places, int64_t count)
{
    gang_result r;
    do {
        r = gang__adopt_plan(w, a->request, places, count, NULL);
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
