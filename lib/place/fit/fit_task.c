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

bool gang__plan_admits(struct gang__plan *p, uint32_t slot, struct gang__misfit *misfit)
{
    const struct gang__node *node = gang__plan_node(p, slot);
    misfit->kind = -1;
    misfit->why = GANG_CONSTRAINT_STATE;
    if (!node)
        return false;
    misfit->why = GANG_CONSTRAINT_AFFINITY;
    if (!gang__affinity_admits(p, node))
        return false;
    if (!p->q->exclusive)
        return true;
    misfit->why = GANG_CONSTRAINT_EXCLUSIVE;
    const struct gang__node_copy *v = gang__node_copy_at(p, slot);
    return v && gang__exclusive_admits(v, gang__words_was(p, v));
}

static bool counts_fit(const struct gang__group *g, const struct gang__node_copy *v,
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
        unsigned word = v->shape->kind_word[g->node_needs[i].kind];
        misfit->kind = g->node_needs[i].kind;
        if (!word || !gang__op_fits(GANG__OP_TAKE, (uint64_t)g->node_needs[i].amount, now[word]))
            return false;
    }
    return true;
}

/* The pool's view, and whether a task's cluster-wide kinds fit it. */
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

/* Take (or give back) what a pick says. */
void gang__task_plan_apply(struct gang__plan *p, const struct gang__task_plan *pick, bool give)
{
    const struct gang__group *g = &p->q->group[pick->group];
    struct gang__node_copy *v = &p->nodes.copy[pick->view];
    uint64_t *now = gang__words_now(p, v);
    v->used = give ? v->used - 1 : v->used + 1;
    now[GANG__WORD_HEAD] =
        gang__op_apply(GANG__OP_HEAD, g->cpu | (give ? GANG__HEAD_GIVE : 0), now[GANG__WORD_HEAD]);
    now[GANG__WORD_MEMORY] =
        give ? now[GANG__WORD_MEMORY] + g->pages : now[GANG__WORD_MEMORY] - g->pages;
    uint64_t *shares = now + GANG__WORD_SHARES;
    for (uint64_t left = pick->gpus; left; left >>= GANG__SHARES_PER_WORD, shares++) {
        uint64_t part = gang__shares_of((uint32_t)left & 15, pick->share);
        *shares = give ? *shares + part : *shares - part;
    }
    for (unsigned i = 0; pick->cores && i < v->layout.core_words; i++)
        now[gang__first_core(v->layout) + i] ^= p->word[pick->core_at + i];
    for (size_t i = 0; i < g->node_need_count; i++) {
        uint64_t *word = &now[v->shape->kind_word[g->node_needs[i].kind]];
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
    const struct gang__group *g = &p->q->group[group];
    struct gang__node_copy *v = gang__node_copy_at(p, slot);
    if (!v)
        return 0;
    const uint64_t *now = when_empty ? v->shape->capacity : gang__words_now(p, v);
    uint32_t kinds = 0, share;
    if (gang__head_cpu(now[GANG__WORD_HEAD]) < g->cpu)
        kinds |= 1u << GANG_KIND_CPU;
    if (now[GANG__WORD_MEMORY] < g->pages)
        kinds |= 1u << GANG_KIND_MEMORY;
    uint64_t allowed = when_empty ? UINT64_MAX : ~v->unhealthy;
    if (g->devices && !gang__choose_devices(p, g, v, now, 0, allowed, &share))
        kinds |= 1u << GANG_KIND_GPU;
    for (size_t i = 0; i < g->node_need_count; i++) {
        unsigned word = v->shape->kind_word[g->node_needs[i].kind];
        if (!word || now[word] < (uint64_t)g->node_needs[i].amount)
            kinds |= 1u << g->node_needs[i].kind;
    }
    return kinds;
}

/* Why no devices were found. */
struct gang__misfit gang__no_devices(struct gang__plan *p, const struct gang__group *g,
                                     const struct gang__node_copy *v)
{
    uint32_t share;
    if (v->unhealthy && gang__choose_devices(p, g, v, gang__words_now(p, v), 0, UINT64_MAX, &share))
        return (struct gang__misfit){GANG_CONSTRAINT_DEVICE, -1};
    if (g->profile)
        return (struct gang__misfit){GANG_CONSTRAINT_PROFILE, -1};
    return (struct gang__misfit){GANG_CONSTRAINT_KIND, GANG_KIND_GPU};
}

/* Devices that a task may have, free or not, of models as well liked as the ones it has. */
static uint64_t others_as_good(const struct gang__plan *p, const struct gang__group *g,
                               const struct gang__node_copy *v, uint64_t gpus)
{
    size_t models = gang__liked_models(g, v, gpus);
    uint64_t among = gang__devices_of_models(g, v->shape, models) & ~v->unhealthy;
    return p->subset.on ? among & p->subset.gpus : among;
}

/* The cores are not beside the GPUs: other GPUs, as good, may have cores beside them. */
static void move_together(struct gang__plan *p, const struct gang__group *g,
                          const struct gang__node_copy *v, struct gang__task_plan *pick,
                          uint64_t *cores)
{
    const uint64_t *now = gang__words_now(p, v), *free = now + gang__first_core(v->layout);
    uint64_t whole = takeable_devices(v, gang__whole_devices(v->layout, now));
    uint64_t among = whole & others_as_good(p, g, v, pick->gpus);
    uint64_t gpus = gang__choose_gpus_together(p, v->shape, g, whole, among, free, pick->cores);
    if (!gpus)
        return;
    pick->gpus = gpus;
    gang__choose_cores(v->shape, free, gpus, pick->cores, GANG_NUMA_PREFER, cores);
}

/* Does the distance of its cores from its GPUs matter to the task? Instances of a profile stay
 * where they cost least. */
static bool may_move(const struct gang__plan *p, const struct gang__group *g,
                     const struct gang__node_copy *v, uint64_t wanted)
{
    return g->share == 1000 && g->devices <= v->shape->max_numa_gpus && !v->shape->flat &&
           g->numa != GANG_NUMA_NONE && !g->profile && !wanted && !p->mode.empty;
}

/* What a task of the group would take of the view, without taking it. */
static bool task_fits(struct gang__plan *p, const struct gang__group *g,
                      const struct gang__node_copy *v, uint64_t wanted,
                      struct gang__task_plan *pick, uint64_t *cores, struct gang__misfit *misfit)
{
    const uint64_t *now = gang__words_now(p, v), *free = now + gang__first_core(v->layout);
    uint64_t inside[GANG__MAX_WORDS];
    if (!counts_fit(g, v, now, misfit))
        return false;
    pick->gpus = 0;
    pick->share = 0;
    pick->cores = v->layout.core_words ? g->cores : 0;
    if (binds_cores(p, g)) {
        misfit->why = GANG_CONSTRAINT_SAME; /* millicores belong to no part of the node */
        misfit->kind = -1;
        if (!pick->cores)
            return false;
        misfit->why = GANG_CONSTRAINT_KIND;
        for (unsigned i = 0; i < v->layout.core_words; i++)
            inside[i] = free[i] & p->subset.cores[i];
        free = inside;
    }
    if (g->numa == GANG_NUMA_STRICT && !p->mode.adopting)
        return gang__fits_in_numa(p, g, v, wanted, free, pick, cores, misfit) && !p->out.failed;
    if (g->devices) {
        pick->gpus = gang__choose_devices(p, g, v, now, wanted, ~v->unhealthy, &pick->share);
        if (!pick->gpus) {
            *misfit = gang__no_devices(p, g, v);
            return false;
        }
    }
    if (pick->cores) {
        misfit->kind = GANG_KIND_CPU;
        if (!gang__choose_cores(v->shape, free, pick->gpus, pick->cores, g->numa, cores))
            return false;
        if (may_move(p, g, v, wanted) && !gang__is_together(v->shape, pick->gpus, cores))
            move_together(p, g, v, pick, cores);
    }
    return !p->out.failed;
}

/* Note a task that fits, and take what it takes. */
static bool add_pick(struct gang__plan *p, struct gang__task_plan *pick, const uint64_t *cores)
{
    const struct gang_mem *mem = &p->c->mem;
    const struct gang__node_copy *v = &p->nodes.copy[pick->view];
    size_t core_words = pick->cores ? v->layout.core_words : 0;
    pick->core_at = gang__plan_words(p, core_words);
    if (!gang__grow(mem, (void **)&p->tasks.plan, &p->tasks.cap, p->tasks.count + 1,
                    sizeof(*p->tasks.plan)))
        p->out.failed = true;
    if (p->out.failed)
        return false;
    for (size_t i = 0; i < core_words; i++)
        p->word[pick->core_at + i] = cores[i];
    p->tasks.plan[p->tasks.count++] = *pick;
    p->tasks.in_group[pick->group]++;
    gang__task_plan_apply(p, pick, false);
    return true;
}

/* Where on a view one task would go; the pool is not asked. */
static bool find_on(struct gang__plan *p, const struct gang__group *g, struct gang__node_copy *v,
                    uint64_t gpus, struct gang__task_plan *pick, uint64_t *cores,
                    struct gang__misfit *misfit)
{
    for (;;) {
        uint32_t state = gang__head_state(gang__words_now(p, v)[GANG__WORD_HEAD]);
        misfit->why = GANG_CONSTRAINT_STATE;
        misfit->kind = -1;
        bool usable = p->mode.adopting ? state != GANG__STATE_GONE : state == GANG__STATE_UP;
        if (usable && task_fits(p, g, v, gpus, pick, cores, misfit))
            return true;
        if (!gang__node_copy_refresh(p, v))
            return false;
    }
}

bool gang__plan_probe(struct gang__plan *p, uint32_t group, uint32_t slot,
                      struct gang__scored_node *seat)
{
    uint64_t cores[GANG__MAX_WORDS];
    struct gang__task_plan pick;
    struct gang__misfit misfit;
    if (p->others.bars && !gang__plan_admits(p, slot, &misfit))
        return false;
    struct gang__node_copy *v = gang__node_copy_at(p, slot);
    if (!v || !find_on(p, &p->q->group[group], v, 0, &pick, cores, &misfit))
        return false;
    seat->slot = slot;
    seat->wanted = 0;
    seat->gpus = pick.gpus;
    seat->share = pick.share;
    return true;
}

/* One task; the pool, if it is asked for, has room. */
static bool plan_on(struct gang__plan *p, uint32_t group, struct gang__node_copy *v, uint64_t gpus,
                    struct gang__misfit *misfit)
{
    uint64_t cores[GANG__MAX_WORDS];
    struct gang__task_plan pick = {(uint32_t)(v - p->nodes.copy), group, 0, 0, 0, 0};
    if (p->mode.skip_claimed && v->claimed && !v->used) {
        p->out.met_claimed = p->out.skipped = true;
        return false;
    }
    return find_on(p, &p->q->group[group], v, gpus, &pick, cores, misfit) &&
           add_pick(p, &pick, cores);
}

int64_t gang__plan_tasks(struct gang__plan *p, uint32_t group, uint32_t slot, int64_t most,
                         uint64_t gpus, struct gang__misfit *misfit)
{
    const struct gang__group *g = &p->q->group[group];
    int64_t done = 0;
    if (p->others.bars && !gang__plan_admits(p, slot, misfit))
        return 0;
    /* The pool's view first: making it may move the others. */
    while (done < most && pool_fits(p, g, misfit)) {
        struct gang__node_copy *v = gang__node_copy_at(p, slot);
        misfit->why = GANG_CONSTRAINT_STATE;
        misfit->kind = -1;
        if (!v)
            break;
        do {
            if (!plan_on(p, group, v, gpus, misfit))
                return done;
            done++;
            /* A node that was filled is the usual end of it. */
            misfit->why = GANG_CONSTRAINT_KIND;
            misfit->kind = GANG_KIND_CPU;
            if (gang__head_cpu(gang__words_now(p, v)[GANG__WORD_HEAD]) < g->cpu)
                return done;
        } while (!g->pool_need_count && done < most);
    }
    return done;
}

bool gang__plan_task(struct gang__plan *p, uint32_t group, uint32_t slot, uint64_t gpus,
                     struct gang__misfit *misfit)
{
    return gang__plan_tasks(p, group, slot, 1, gpus, misfit) == 1;
}
