/* SPDX-License-Identifier: Apache-2.0 */
/* One task on one node: the only predicate of placement that says whether it fits. */
#include "place/fit/fit_task.h"

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/affinity.h"
#include "place/fit/choose_devices.h"
#include "place/fit/device.h"
#include "place/fit/exclusive.h"
#include "place/fit/filter.h"
#include "place/fit/fit_plan.h"
#include "place/fit/node_copy.h"

/* Do other jobs allow tasks of the request on the node of a slot: affinity rules and exclusive
 * nodes? May copy the node. Only asked if p->others.bars. */
static bool other_jobs_admit(struct gang__plan *p, uint32_t slot, struct gang__misfit *misfit)
{
    const struct gang__node *node = gang__plan_node(p, slot);
    misfit->kind = -1;
    misfit->why = GANG_CONSTRAINT_STATE;
    if (!node)
        return false;
    misfit->why = GANG_CONSTRAINT_AFFINITY;
    if (!gang__affinity_admits(p, node))
        return false;
    if (!p->request->exclusive)
        return true;
    misfit->why = GANG_CONSTRAINT_EXCLUSIVE;
    const struct gang__node_copy *copy = gang__node_copy_at(p, slot);
    return copy && gang__exclusive_admits(copy, gang__words_was(p, copy));
}

static bool counts_fit(const struct gang__group *g, const struct gang__node_copy *copy,
                       const uint64_t *now, struct gang__misfit *misfit)
{
    misfit->why = GANG_CONSTRAINT_KIND;
    misfit->kind = GANG_KIND_CPU;
    if (!gang__op_fits(GANG__OP_HEAD, g->cpu, now[GANG__WORD_HEAD]))
        return false;
    misfit->kind = GANG_KIND_MEMORY;
    if (!gang__op_fits(GANG__OP_TAKE, g->pages, now[GANG__WORD_MEMORY]))
        return false;
    for (size_t i = 0; i < g->node_need_count; i++) {
        unsigned word = copy->type->kind_word[g->node_needs[i].kind];
        misfit->kind = g->node_needs[i].kind;
        if (!word || !gang__op_fits(GANG__OP_TAKE, (uint64_t)g->node_needs[i].amount, now[word]))
            return false;
    }
    return true;
}

/* Do a task's cluster-wide kinds fit in the pool? */
static bool pool_fits(struct gang__plan *p, const struct gang__group *g,
                      struct gang__misfit *misfit)
{
    if (!g->pool_need_count)
        return true;
    struct gang__node_copy *pool = gang__node_copy_at(p, GANG__POOL);
    if (!pool)
        return false;
    bool again;
    do {
        const uint64_t *now = gang__words_now(p, pool);
        bool fits = true;
        for (size_t i = 0; i < g->pool_need_count && fits; i++) {
            misfit->why = GANG_CONSTRAINT_POOL;
            misfit->kind = g->pool_needs[i].kind;
            fits = gang__op_fits(GANG__OP_TAKE, (uint64_t)g->pool_needs[i].amount,
                                 now[gang__pool_word(g->pool_needs[i].kind)]);
        }
        if (fits)
            return true;
        again = gang__node_copy_refresh(p, pool);
    } while (again);
    return false;
}

/* Take (or give back) what a planned task has. */
void gang__task_plan_apply(struct gang__plan *p, const struct gang__task_plan *task, bool give)
{
    const struct gang__group *g = &p->request->group[task->group];
    struct gang__node_copy *copy = &p->nodes.copy[task->copy];
    uint64_t *now = gang__words_now(p, copy);
    copy->used = give ? copy->used - 1 : copy->used + 1;
    now[GANG__WORD_HEAD] =
        gang__op_apply(GANG__OP_HEAD, g->cpu | (give ? GANG__HEAD_GIVE : 0), now[GANG__WORD_HEAD]);
    now[GANG__WORD_MEMORY] =
        give ? now[GANG__WORD_MEMORY] + g->pages : now[GANG__WORD_MEMORY] - g->pages;
    uint64_t *shares = now + GANG__WORD_SHARES;
    for (uint64_t left = task->gpus; left; left >>= GANG__SHARES_PER_WORD, shares++) {
        uint64_t part = gang__shares_of((uint32_t)left & 15, task->share);
        *shares = give ? *shares + part : *shares - part;
    }
    for (unsigned i = 0; task->cores && i < copy->layout.core_words; i++)
        now[gang__first_core(copy->layout) + i] ^= p->word[task->core_at + i];
    for (size_t i = 0; i < g->node_need_count; i++) {
        uint64_t *word = &now[copy->type->kind_word[g->node_needs[i].kind]];
        uint64_t amount = (uint64_t)g->node_needs[i].amount;
        *word = give ? *word + amount : *word - amount;
    }
    if (!g->pool_need_count)
        return;
    uint64_t *pool = gang__words_now(p, &p->nodes.copy[p->nodes.pool]);
    for (size_t i = 0; i < g->pool_need_count; i++) {
        uint64_t *word = &pool[gang__pool_word(g->pool_needs[i].kind)];
        uint64_t amount = (uint64_t)g->pool_needs[i].amount;
        *word = give ? *word + amount : *word - amount;
    }
}

uint32_t gang__plan_short(struct gang__plan *p, uint32_t group, uint32_t slot, bool when_empty)
{
    const struct gang__group *g = &p->request->group[group];
    struct gang__node_copy *copy = gang__node_copy_at(p, slot);
    if (!copy)
        return 0;
    const uint64_t *now = when_empty ? copy->type->capacity : gang__words_now(p, copy);
    uint32_t kinds = 0, share;
    if (gang__head_cpu(now[GANG__WORD_HEAD]) < g->cpu)
        kinds |= 1u << GANG_KIND_CPU;
    if (now[GANG__WORD_MEMORY] < g->pages)
        kinds |= 1u << GANG_KIND_MEMORY;
    uint64_t allowed = when_empty ? UINT64_MAX : ~copy->unhealthy;
    struct gang__fit_ctx f = {p, g, copy, now, 0};
    if (g->devices && !gang__choose_devices(&f, allowed, &share))
        kinds |= 1u << GANG_KIND_GPU;
    for (size_t i = 0; i < g->node_need_count; i++) {
        unsigned word = copy->type->kind_word[g->node_needs[i].kind];
        if (!word || now[word] < (uint64_t)g->node_needs[i].amount)
            kinds |= 1u << g->node_needs[i].kind;
    }
    return kinds;
}

/* Why no devices were found. */
struct gang__misfit gang__no_devices(const struct gang__fit_ctx *f)
{
    struct gang__fit_ctx any = *f;
    uint32_t share;
    any.wanted = 0;
    if (f->copy->unhealthy && gang__choose_devices(&any, UINT64_MAX, &share))
        return (struct gang__misfit){GANG_CONSTRAINT_DEVICE, -1};
    if (f->g->profile)
        return (struct gang__misfit){GANG_CONSTRAINT_PROFILE, -1};
    if (f->g->same_devices) { /* would others do? */
        uint64_t *bound = &f->p->bound.devices[f->g->index], was = *bound;
        *bound = UINT64_MAX;
        bool others = gang__choose_devices(&any, ~f->copy->unhealthy, &share) != 0;
        *bound = was;
        if (others)
            return (struct gang__misfit){GANG_CONSTRAINT_SAME_DEVICES, -1};
    }
    return (struct gang__misfit){GANG_CONSTRAINT_KIND, GANG_KIND_GPU};
}

/* Devices that a task may have, free or not, of models that rank as high as the ones it has. */
static uint64_t equally_ranked(const struct gang__fit_ctx *f, uint64_t gpus)
{
    const struct gang__node_copy *copy = f->copy;
    size_t models = gang__models_needed(f->g, copy, gpus);
    uint64_t among = gang__devices_of_models(f->g, copy->type, models) & ~copy->unhealthy;
    among &= gang__devices_bound(f->p, f->g);
    return f->p->subset.on ? among & f->p->subset.gpus : among;
}

/* The cores are not beside the GPUs: moves the task to GPUs as good with cores beside them, if
 * there are some. */
static void move_together(const struct gang__fit_ctx *f, struct gang__task_plan *task,
                          uint64_t *cores)
{
    const struct gang__node_copy *copy = f->copy;
    const uint64_t *free = f->now + gang__first_core(copy->layout);
    uint64_t whole = takeable_devices(copy, gang__whole_devices(copy->layout, f->now));
    uint64_t among = whole & equally_ranked(f, task->gpus);
    uint64_t gpus = gang__choose_gpus_together(f, whole, among, free, task->cores);
    if (!gpus)
        return;
    task->gpus = gpus;
    gang__choose_cores(copy->type, free, gpus, task->cores, GANG_NUMA_PREFER, cores);
}

/* Does the distance of its cores from its GPUs matter to the task? Instances of a profile stay
 * where they cost least. */
static bool may_move(const struct gang__fit_ctx *f)
{
    const struct gang__group *g = f->g;
    const struct gang__node_type *type = f->copy->type;
    return g->share == 1000 && g->devices <= type->max_numa_gpus && !type->single_numa &&
           g->numa != GANG_NUMA_NONE && !g->profile && !f->wanted && !f->p->mode.empty;
}

/* The cores of the task, which are those that the plan names. False: they are not free. */
static bool exact_cores(const struct gang__fit_ctx *f, const uint64_t *free, uint64_t *cores)
{
    const uint64_t *exact = f->p->mode.cores;
    for (unsigned i = 0; i < f->copy->layout.core_words; i++) {
        cores[i] = exact[i];
        if (exact[i] & ~free[i])
            return false;
    }
    return true;
}

/* The cores of the task: those that the plan names, or the best of the free ones; and with them
 * better GPUs, if there are some. False: too few are free. */
static inline bool find_cores(const struct gang__fit_ctx *f, const uint64_t *free,
                              struct gang__task_plan *task, uint64_t *cores)
{
    const struct gang__node_type *type = f->copy->type;
    if (f->p->mode.cores)
        return exact_cores(f, free, cores);
    if (f->g->numa != GANG_NUMA_NONE &&
        gang__choose_cores_beside(type, free, task->gpus, task->cores, cores))
        return true;
    if (!gang__choose_cores(type, free, task->gpus, task->cores, f->g->numa, cores))
        return false;
    if (may_move(f) && !gang__is_together(type, task->gpus, cores))
        move_together(f, task, cores);
    return true;
}

/* What a task of the group would take of the node, without taking it. */
static bool task_fits(const struct gang__fit_ctx *f, struct gang__task_plan *task, uint64_t *cores,
                      struct gang__misfit *misfit)
{
    const struct gang__plan *p = f->p;
    const struct gang__group *g = f->g;
    const struct gang__node_copy *copy = f->copy;
    const uint64_t *free = f->now + gang__first_core(copy->layout);
    uint64_t inside[GANG__MAX_WORDS];
    if (!counts_fit(g, copy, f->now, misfit))
        return false;
    task->gpus = 0;
    task->share = 0;
    task->cores = copy->layout.core_words ? g->cores : 0;
    if (binds_cores(p, g)) {
        misfit->why = GANG_CONSTRAINT_SAME; /* millicores belong to no part of the node */
        misfit->kind = -1;
        if (!task->cores)
            return false;
        misfit->why = GANG_CONSTRAINT_KIND;
        for (unsigned i = 0; i < copy->layout.core_words; i++)
            inside[i] = free[i] & p->subset.cores[i];
        free = inside;
    }
    if (g->numa == GANG_NUMA_STRICT && !p->mode.adopting)
        return gang__fits_in_numa(f, free, task, cores, misfit) && !p->out.failed;
    if (g->devices) {
        task->gpus = gang__choose_devices(f, ~copy->unhealthy, &task->share);
        if (!task->gpus) {
            *misfit = gang__no_devices(f);
            return false;
        }
    }
    if (task->cores) {
        misfit->kind = GANG_KIND_CPU;
        if (!find_cores(f, free, task, cores))
            return false;
    }
    return !p->out.failed;
}

/* Note a task that fits, and take what it takes. */
static bool add_task(struct gang__plan *p, struct gang__task_plan *task, const uint64_t *cores)
{
    const struct gang_mem *mem = &p->c->mem;
    const struct gang__node_copy *copy = &p->nodes.copy[task->copy];
    size_t core_words = task->cores ? copy->layout.core_words : 0;
    task->core_at = gang__plan_words(p, core_words);
    if (!gang__grow(mem, (void **)&p->tasks.plan, &p->tasks.cap, p->tasks.count + 1,
                    sizeof(*p->tasks.plan)))
        p->out.failed = true;
    if (p->out.failed)
        return false;
    for (size_t i = 0; i < core_words; i++)
        p->word[task->core_at + i] = cores[i];
    p->tasks.plan[p->tasks.count++] = *task;
    p->tasks.in_group[task->group]++;
    gang__task_plan_apply(p, task, false);
    return true;
}

/* What of a node one task would take. Does not ask the pool. */
static inline bool find_on(const struct gang__fit_ctx *f, struct gang__task_plan *task,
                           uint64_t *cores, struct gang__misfit *misfit)
{
    for (;;) {
        uint32_t state = gang__head_state(f->now[GANG__WORD_HEAD]);
        misfit->why = GANG_CONSTRAINT_STATE;
        misfit->kind = -1;
        bool usable = f->p->mode.adopting ? state != GANG__STATE_GONE : state == GANG__STATE_UP;
        if (usable && task_fits(f, task, cores, misfit))
            return true;
        if (!gang__node_copy_refresh(f->p, f->copy))
            return false;
    }
}

bool gang__plan_probe(struct gang__plan *p, uint32_t group, uint32_t slot,
                      struct gang__scored_node *candidate)
{
    uint64_t cores[GANG__MAX_WORDS];
    struct gang__task_plan task;
    struct gang__misfit misfit;
    if (p->others.bars && !other_jobs_admit(p, slot, &misfit))
        return false;
    struct gang__node_copy *copy = gang__node_copy_at(p, slot);
    if (!copy)
        return false;
    struct gang__fit_ctx f = {p, &p->request->group[group], copy, gang__words_now(p, copy), 0};
    if (!find_on(&f, &task, cores, &misfit))
        return false;
    candidate->slot = slot;
    candidate->wanted = 0;
    candidate->gpus = task.gpus;
    candidate->share = task.share;
    return true;
}

/* Plans one task. The pool, if the group uses it, has enough. */
static bool plan_on(struct gang__plan *p, uint32_t group, struct gang__node_copy *copy,
                    uint64_t gpus, struct gang__misfit *misfit)
{
    uint64_t cores[GANG__MAX_WORDS];
    struct gang__task_plan task = {
        (uint32_t)(copy - p->nodes.copy), group, 0, 0, 0, 0, GANG__ANY_NUMBER};
    if (p->mode.skip_claimed && copy->claimed && !copy->used) {
        p->out.met_claimed = p->out.skipped = true;
        p->contention.met = copy->slot;
        return false;
    }
    struct gang__fit_ctx f = {p, &p->request->group[group], copy, gang__words_now(p, copy), gpus};
    return find_on(&f, &task, cores, misfit) && add_task(p, &task, cores);
}

int64_t gang__plan_tasks(struct gang__plan *p, uint32_t group, uint32_t slot, int64_t most,
                         uint64_t gpus, struct gang__misfit *misfit)
{
    const struct gang__group *g = &p->request->group[group];
    int64_t done = 0;
    if (p->others.bars && !other_jobs_admit(p, slot, misfit))
        return 0;
    /* The copy of the pool first: making it may move the others. */
    while (done < most && pool_fits(p, g, misfit)) {
        struct gang__node_copy *copy = gang__node_copy_at(p, slot);
        misfit->why = GANG_CONSTRAINT_STATE;
        misfit->kind = -1;
        if (!copy)
            break;
        do {
            if (!plan_on(p, group, copy, gpus, misfit))
                return done;
            done++;
            /* A node that was filled is the usual end of it. */
            misfit->why = GANG_CONSTRAINT_KIND;
            misfit->kind = GANG_KIND_CPU;
            if (gang__head_cpu(gang__words_now(p, copy)[GANG__WORD_HEAD]) < g->cpu)
                return done;
        } while (!g->pool_need_count && done < most);
    }
    return done;
}

bool gang__plan_single(struct gang__plan *p, uint32_t slot)
{
    struct gang__misfit misfit;
    struct gang__node_copy *copy = gang__node_copy_alone(p, slot);
    return copy && plan_on(p, 0, copy, 0, &misfit);
}

bool gang__plan_task(struct gang__plan *p, uint32_t group, uint32_t slot, uint64_t gpus,
                     struct gang__misfit *misfit)
{
    return gang__plan_tasks(p, group, slot, 1, gpus, misfit) == 1;
}
