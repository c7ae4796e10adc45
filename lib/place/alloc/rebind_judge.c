/* SPDX-License-Identifier: Apache-2.0 */
/* One task of a report: is it where it is booked, and may it have what it runs on? */
#include <string.h>

#include "core/nodes/nodes.h"
#include "place/alloc/rebind_in.h"
#include "place/fit/fit.h"

static uint32_t share_of_words(const struct gang__rebind *b, const uint64_t *words)
{
    for (unsigned i = GANG__WORD_SHARES; i < gang__first_core(b->layout); i++)
        for (unsigned k = 0; k < GANG__SHARES_PER_WORD; k++)
            if (gang__share(words[i], k))
                return gang__share(words[i], k);
    return 0;
}

/* May the task, which has `had`, have these devices? */
static bool devices_suit(const struct gang__rebind *b, const struct gang__group *g,
                         const struct gang__real_task *t, uint64_t had)
{
    const struct gang__node_type *type = b->node->type;
    if (b->layout.gpus < 64 && t->gpus >> b->layout.gpus)
        return false;
    if (g->profile)
        return gang__are_instances(g, type, t->gpus);
    if (gang__popcount(t->gpus) != gang__popcount(had) || (t->gpus & type->slices))
        return false;
    for (uint64_t left = t->gpus; left; left &= left - 1)
        if (gang__share_asked(g->share, g->gpu_memory, &type->spec->gpus[__builtin_ctzll(left)]) !=
            t->share)
            return false;
    return true;
}

static bool has_cores(const struct gang__rebind *b, const uint64_t *words)
{
    for (unsigned i = gang__first_core(b->layout); i < gang__rebind_end(b); i++)
        if (words[i])
            return true;
    return false;
}

/* The words that the task is to have; false: it cannot have these devices or cores. */
static bool make_words(const struct gang__rebind *b, const struct gang__group *g,
                       struct gang__real_task *t)
{
    uint64_t had = gang__devices_in(b->layout, t->was), cores[GANG__CORE_MASKS];
    memcpy(t->now, t->was, sizeof(t->now));
    t->share = share_of_words(b, t->was);
    if (!t->any_devices && t->gpus != had) {
        if (!devices_suit(b, g, t, had))
            return false;
        gang__device_words(b->layout, t->gpus, t->share, t->now);
    }
    if (t->any_cores || !has_cores(b, t->was))
        return true;
    gang__core_words(b->layout, t->cores, t->now);
    gang__cores_in_words(b->layout, t->now, cores);
    bool there = memcmp(cores, t->cores, sizeof(cores)) == 0;
    for (unsigned i = gang__first_core(b->layout); i < gang__rebind_end(b); i++)
        there = there && !(t->now[i] & ~b->node->type->capacity[i]);
    gang__cores_in_words(b->layout, t->was, cores);
    return there && gang__count_cores(cores) == gang__count_cores(t->cores);
}

/* The devices that the holder of an exclusive allocation has: no other allocation has them. */
static uint64_t own_devices(const struct gang__rebind *b, uint32_t share)
{
    uint64_t gpus = 0;
    for (unsigned i = 0; b->sole && i < b->layout.gpus; i++)
        if (gang__share(b->held[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                        i % GANG__SHARES_PER_WORD) >= share)
            gpus |= UINT64_C(1) << i;
    return gpus;
}

void gang__rebind_note_more(const struct gang__rebind *b, struct gang__real_task *t)
{
    uint64_t has[GANG__CORE_MASKS];
    gang__cores_in_words(b->layout, t->was, has);
    t->more_gpus = t->any_devices ? 0 : t->gpus & ~gang__devices_in(b->layout, t->was);
    for (size_t i = 0; !t->any_cores && has_cores(b, t->was) && i < GANG__CORE_MASKS; i++)
        t->more_cores[i] = t->cores[i] & ~has[i];
    if (!t->share)
        t->share = 1000;
    if (!b->sole)
        return;
    t->more_gpus &= ~own_devices(b, t->share);
    gang__cores_in_words(b->layout, b->held, has);
    for (size_t i = 0; i < GANG__CORE_MASKS; i++)
        t->more_cores[i] &= ~has[i];
}

/* All words of a sort are shared, or none: the task may come to words of which it has none. */
static uint64_t whole_sorts(const struct gang__rebind *b, uint64_t shared)
{
    unsigned cores = gang__first_core(b->layout), end = gang__rebind_end(b);
    uint64_t of_gpus = (UINT64_C(1) << cores) - (UINT64_C(1) << GANG__WORD_SHARES);
    uint64_t of_cores = (UINT64_C(1) << end) - (UINT64_C(1) << cores);
    bool cpu = (shared & (of_cores | UINT64_C(1) << GANG__WORD_HEAD)) != 0;
    return shared | (shared & of_gpus ? of_gpus : 0) | (cpu ? of_cores : 0);
}

void gang__rebind_judge(struct gang__rebind *b, struct gang__real_task *t)
{
    const uint64_t *task = t->record && t->task >= 0 && t->task < (int64_t)GANG__NO_NUMBER
                               ? gang__task_find(t->record, (uint32_t)t->task)
                               : NULL;
    bool here = task && task[0] == b->node->id;
    t->outcome = GANG__REBOUND_UNKNOWN;
    if (here)
        t->shared = whole_sorts(b, gang__entry_words(task, t->was));
    if (!task || gang__task_has_stopped(task))
        return;
    t->outcome = GANG__REBOUND_ELSEWHERE;
    if (!here)
        return;
    t->outcome = GANG__REBOUND_SAME;
    if (t->record->request->exclusive)
        b->sole = t->record;
    if (t->shared && (!b->rooms || t->room[0] < 0))
        return;
    if (!make_words(b, &t->record->request->group[gang__task_group(task)], t))
        t->outcome = GANG__REBOUND_ODD;
    else if (memcmp(t->was, t->now, sizeof(t->was)) != 0)
        t->outcome = GANG__REBOUND_MOVED;
}
