/* SPDX-License-Identifier: Apache-2.0 */
/* How many tasks of a group fit on a node at most, without planning any. */
#include "core/nodes/nodes.h"
#include "place/fit/affinity.h"
#include "place/fit/bounds.h"
#include "place/fit/choose_devices.h"
#include "place/fit/device.h"
#include "place/fit/exclusive.h"
#include "place/fit/filter.h"
#include "place/fit/fit_plan.h"
#include "place/fit/fit_task.h"
#include "place/fit/mig.h"
#include "place/fit/node_copy.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Tasks that find their devices, counting each device for itself. */
static int64_t device_capacity(const struct gang__plan *p, const struct gang__group *g,
                               const struct gang__node_copy *copy, const uint64_t *now,
                               uint64_t domain)
{
    uint64_t among =
        gang__devices_of_models(g, copy->type, p->tier.models) & ~copy->unhealthy & domain;
    among &= gang__devices_bound(p, g);
    if (p->subset.on)
        among &= p->subset.gpus;
    if (g->share == 1000) {
        among &= gang__whole_devices(copy->layout, now);
        uint32_t count =
            g->profile ? gang__max_instances(g, copy->type, among) : gang__popcount(among);
        return count / g->devices;
    }
    int64_t parts = 0;
    for (; among; among &= among - 1) {
        unsigned i = (unsigned)__builtin_ctzll(among);
        uint32_t need = share_on(g, &copy->type->spec->gpus[i]);
        parts += need ? share_free(now, i) / need : 0;
    }
    return parts / g->devices;
}

static int64_t core_capacity(const struct gang__plan *p, const struct gang__group *g,
                             const struct gang__node_copy *copy, const uint64_t *now)
{
    const uint64_t *free = now + gang__first_core(copy->layout);
    bool bound = binds_cores(p, g);
    if (!copy->layout.core_words || g->cpu % 1000)
        return bound ? 0 : INT64_MAX;
    int64_t cores = 0;
    for (unsigned i = 0; i < copy->layout.core_words; i++)
        cores += gang__popcount(bound ? free[i] & p->subset.cores[i] : free[i]);
    return cores / (int64_t)(g->cpu / 1000);
}

/* Tasks that lie in one NUMA domain each, over all domains. */
static int64_t numa_capacity(const struct gang__plan *p, const struct gang__group *g,
                             const struct gang__node_copy *copy, const uint64_t *now)
{
    const uint64_t *free = now + gang__first_core(copy->layout);
    uint32_t cores = copy->layout.core_words ? g->cores : 0;
    int64_t capacity = 0;
    if (!g->devices && !cores)
        return INT64_MAX;
    for (uint32_t d = 0; d < copy->type->numas; d++) {
        int64_t here = cores ? gang__cores_in(copy->type, d, free) / cores : INT64_MAX;
        if (here && g->devices)
            here = least(here, device_capacity(p, g, copy, now, copy->type->numa_gpus[d]));
        capacity += gang__numa_holds(g, copy, d) ? here : 0;
    }
    return capacity;
}

static bool admits_copy(struct gang__plan *p, const struct gang__node_copy *copy,
                        const uint64_t *was)
{
    return gang__affinity_admits(p, copy->node) &&
           (!p->request->exclusive || gang__exclusive_admits(copy, was));
}

int64_t gang__plan_capacity(struct gang__plan *p, uint32_t group, uint32_t slot)
{
    const struct gang__group *g = &p->request->group[group];
    uint64_t words[GANG__MAX_WORDS];
    struct gang__misfit misfit;
    struct gang__node_copy read;
    const uint64_t *now = words;
    const struct gang__node_copy *copy = gang__node_copy_find(p, slot);
    if (copy) {
        now = gang__words_now(p, copy);
    } else {
        read.slot = slot;
        read.node = gang__plan_node(p, slot);
        if (!read.node)
            return 0;
        read.type = read.node->type;
        read.layout = read.type->layout;
        read.words = gang__word_count(read.layout);
        read.used = 0;
        read.own = false;
        gang__node_words_read(p, &read, words, false);
        read.unhealthy = p->mode.check_health ? gang__node_unhealthy(p, &read, false) : 0;
        copy = &read;
    }
    if (gang__head_state(now[GANG__WORD_HEAD]) != GANG__STATE_UP ||
        !gang__node_matches(p, g, copy->node, &misfit) ||
        !gang__node_within_limit(p, g, copy->node) ||
        (p->others.bars && !admits_copy(p, copy, copy == &read ? words : gang__words_was(p, copy))))
        return 0;
    int64_t capacity = g->bounded ? gang__plan_allowance(p, group, copy->node) : INT64_MAX;
    if (g->cpu && capacity)
        capacity = least(capacity, least((int64_t)(gang__head_cpu(now[GANG__WORD_HEAD]) / g->cpu),
                                         core_capacity(p, g, copy, now)));
    if (g->pages)
        capacity = least(capacity, (int64_t)(now[GANG__WORD_MEMORY] / g->pages));
    for (size_t i = 0; i < g->node_need_count; i++) {
        unsigned word = copy->type->kind_word[g->node_needs[i].kind];
        capacity = least(capacity, word ? (int64_t)now[word] / g->node_needs[i].amount : 0);
    }
    if (g->numa == GANG_NUMA_STRICT)
        capacity = least(capacity, numa_capacity(p, g, copy, now));
    return g->devices ? least(capacity, device_capacity(p, g, copy, now, UINT64_MAX)) : capacity;
}
