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
static int64_t device_room(const struct gang__plan *p, const struct gang__group *g,
                           const struct gang__node_copy *v, const uint64_t *now, uint64_t domain)
{
    uint64_t among = gang__devices_of_models(g, v->shape, p->tier.models) & ~v->unhealthy & domain;
    if (p->subset.on)
        among &= p->subset.gpus;
    if (g->share == 1000) {
        among &= gang__whole_devices(v->layout, now);
        uint32_t count =
            g->profile ? gang__max_instances(g, v->shape, among) : gang__popcount(among);
        return count / g->devices;
    }
    int64_t parts = 0;
    for (; among; among &= among - 1) {
        unsigned i = (unsigned)__builtin_ctzll(among);
        uint32_t need = share_on(g, &v->shape->spec->gpus[i]);
        parts += need ? share_free(now, i) / need : 0;
    }
    return parts / g->devices;
}

static int64_t core_room(const struct gang__plan *p, const struct gang__group *g,
                         const struct gang__node_copy *v, const uint64_t *now)
{
    const uint64_t *free = now + gang__first_core(v->layout);
    bool bound = binds_cores(p, g);
    if (!v->layout.core_words || g->cpu % 1000)
        return bound ? 0 : INT64_MAX;
    int64_t cores = 0;
    for (unsigned i = 0; i < v->layout.core_words; i++)
        cores += gang__popcount(bound ? free[i] & p->subset.cores[i] : free[i]);
    return cores / (int64_t)(g->cpu / 1000);
}

/* Tasks that lie in one NUMA domain each, over all domains. */
static int64_t corner_room(const struct gang__plan *p, const struct gang__group *g,
                           const struct gang__node_copy *v, const uint64_t *now)
{
    const uint64_t *free = now + gang__first_core(v->layout);
    uint32_t cores = v->layout.core_words ? g->cores : 0;
    int64_t room = 0;
    if (!g->devices && !cores)
        return INT64_MAX;
    for (uint32_t d = 0; d < v->shape->numas; d++) {
        int64_t here = cores ? gang__cores_in(v->shape, d, free) / cores : INT64_MAX;
        if (here && g->devices)
            here = least(here, device_room(p, g, v, now, v->shape->numa_gpus[d]));
        room += gang__numa_holds(g, v, d) ? here : 0;
    }
    return room;
}

static bool admits_view(struct gang__plan *p, const struct gang__node_copy *v, const uint64_t *was)
{
    return gang__affinity_admits(p, v->node) &&
           (!p->q->exclusive || gang__exclusive_admits(v, was));
}

int64_t gang__plan_capacity(struct gang__plan *p, uint32_t group, uint32_t slot)
{
    const struct gang__group *g = &p->q->group[group];
    uint64_t words[GANG__MAX_WORDS];
    struct gang__misfit misfit;
    struct gang__node_copy seen;
    const uint64_t *now = words;
    const struct gang__node_copy *v = gang__node_copy_find(p, slot);
    if (v) {
        now = gang__words_now(p, v);
    } else {
        seen.slot = slot;
        seen.node = gang__plan_node(p, slot);
        if (!seen.node)
            return 0;
        seen.shape = seen.node->type;
        seen.layout = seen.shape->layout;
        seen.words = gang__word_count(seen.layout);
        seen.used = 0;
        seen.own = false;
        gang__node_words_read(p, &seen, words, false);
        seen.unhealthy = p->mode.check_health ? gang__node_unhealthy(p, &seen, false) : 0;
        v = &seen;
    }
    if (gang__head_state(now[GANG__WORD_HEAD]) != GANG__STATE_UP ||
        !gang__node_matches(p, g, v->node, &misfit) || !gang__node_within_limit(p, g, v->node) ||
        (p->others.bars && !admits_view(p, v, v == &seen ? words : gang__words_was(p, v))))
        return 0;
    int64_t room = g->bounded ? gang__plan_allowance(p, group, v->node) : INT64_MAX;
    if (g->cpu && room)
        room = least(room, least((int64_t)(gang__head_cpu(now[GANG__WORD_HEAD]) / g->cpu),
                                 core_room(p, g, v, now)));
    if (g->pages)
        room = least(room, (int64_t)(now[GANG__WORD_MEMORY] / g->pages));
    for (size_t i = 0; i < g->node_need_count; i++) {
        unsigned word = v->shape->kind_word[g->node_needs[i].kind];
        room = least(room, word ? (int64_t)now[word] / g->node_needs[i].amount : 0);
    }
    if (g->numa == GANG_NUMA_STRICT)
        room = least(room, corner_room(p, g, v, now));
    return g->devices ? least(room, device_room(p, g, v, now, UINT64_MAX)) : room;
}
