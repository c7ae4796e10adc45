/* SPDX-License-Identifier: Apache-2.0 */
#include "place/fit/same_devices.h"

#include <stdlib.h>

#include "core/nodes/nodes.h"
#include "place/fit/choose_devices.h"
#include "place/fit/filter.h"
#include "place/fit/keys.h"

enum { MAX_TRIED = 1 << 16 }; /* maximum of sets that are examined */

/* The devices of a node that a task of the group could have part in. */
static uint64_t devices_free(const struct gang__plan *p, const struct gang__group *g,
                             const struct gang__node_copy *copy, const uint64_t *now)
{
    uint64_t among = gang__plan_devices(p, g, copy), free = 0;
    if (g->share == 1000)
        return among & gang__whole_devices(copy->layout, now);
    for (; among; among &= among - 1) {
        unsigned i = (unsigned)__builtin_ctzll(among);
        uint32_t need = share_on(g, &copy->type->spec->gpus[i]);
        if (need && share_free(now, i) >= need)
            free |= UINT64_C(1) << i;
    }
    return free;
}

/* Is the set good enough to be looked at, and how good is it? Of parts of devices several tasks may
 * share a node. */
static bool count_nodes(const struct gang__plan *p, uint64_t gpus, size_t first, int64_t need,
                        struct gang__device_set *set)
{
    *set = (struct gang__device_set){gpus, 0, 0};
    uint32_t best = 0;
    for (size_t i = first; i < p->keys.count; i += 2) {
        if (gpus & ~p->keys.key[i])
            continue;
        if (set->nodes++ == 0)
            best = (uint32_t)p->keys.key[i + 1];
    }
    const struct gang__node *node = set->nodes ? gang__plan_node(p, best) : NULL;
    if (node) {
        struct gang__gpu_question question = {
            node->type->serial,      node->type->weight,  gpus, gpus, 0,
            node->type->layout.gpus, gang__popcount(gpus)};
        set->links = gang__gpu_set_of(&question, gpus).links;
    }
    return set->nodes >= need;
}

/* Note the free devices and the slot of each node, as pairs of keys. */
static bool list_nodes(struct gang__plan *p, const struct gang__group *g)
{
    struct gang__misfit misfit;
    uint32_t end = gang__plan_end(p);
    for (uint32_t slot = GANG__POOL + 1; slot < end; slot++) {
        struct gang__node_copy *copy =
            gang__plan_node(p, slot) ? gang__node_copy_at(p, slot) : NULL;
        if (p->out.failed)
            return false;
        const uint64_t *now = copy ? gang__words_now(p, copy) : NULL;
        if (!copy || gang__head_state(now[GANG__WORD_HEAD]) != GANG__STATE_UP ||
            !gang__node_matches(p, g, copy->node, &misfit))
            continue;
        uint64_t free = devices_free(p, g, copy, now);
        size_t at;
        uint64_t *key = gang__popcount(free) < g->devices ? NULL : gang__keys_push(p, 2, &at);
        if (p->out.failed)
            return false;
        if (key) {
            key[0] = free;
            key[1] = slot;
        }
    }
    return true;
}

static bool add_set(struct gang__plan *p, const struct gang__device_set *set)
{
    struct gang__device_sets *all = &p->device_sets;
    if (!gang__grow(&p->c->mem, (void **)&all->set, &all->cap, all->count + 1, sizeof(*all->set))) {
        p->out.failed = true;
        return false;
    }
    all->set[all->count++] = *set;
    return true;
}

/* The next greater choice of as many of the bits of `all`; 0: there is none. */
static uint64_t next_choice(uint64_t chosen, uint64_t all)
{
    uint64_t above = 0, count = 0;
    /* Move up the lowest chosen bit that has room above it; what lies below goes to the bottom. */
    for (uint64_t left = chosen; left; left &= left - 1) {
        uint64_t bit = left & (~left + 1);
        uint64_t higher = all & ~(bit | (bit - 1));
        uint64_t next = higher & (~higher + 1);
        if (next && !(chosen & next)) {
            above = (chosen & ~(bit | (bit - 1))) | next;
            for (uint64_t low = all; count > 0; low &= low - 1, count--)
                above |= low & (~low + 1);
            return above;
        }
        count++;
    }
    return 0;
}

static uint64_t first_choice(uint64_t all, uint32_t count)
{
    uint64_t chosen = 0;
    for (; count > 0; count--, all &= all - 1)
        chosen |= all & (~all + 1);
    return chosen;
}

static int compare(const void *a, const void *b)
{
    const struct gang__device_set *x = a, *y = b;
    if (x->nodes != y->nodes)
        return x->nodes > y->nodes ? -1 : 1;
    if (x->links != y->links)
        return x->links > y->links ? -1 : 1;
    return x->gpus < y->gpus ? -1 : x->gpus > y->gpus;
}

bool gang__device_sets_add(struct gang__plan *p, uint32_t group)
{
    const struct gang__group *g = &p->request->group[group];
    size_t first = p->device_sets.count, keys = p->keys.count;
    int64_t need = g->share == 1000 && g->min > 0 ? g->min : 1;
    uint64_t some = 0;
    if (!list_nodes(p, g))
        return false;
    for (size_t i = keys; i < p->keys.count; i += 2)
        some |= p->keys.key[i];
    uint64_t gpus = gang__popcount(some) >= g->devices ? first_choice(some, g->devices) : 0;
    for (int tried = 0; gpus && tried < MAX_TRIED; tried++, gpus = next_choice(gpus, some)) {
        struct gang__device_set set;
        if (!count_nodes(p, gpus, keys, need, &set))
            continue;
        if (set.nodes > g->count)
            set.nodes = g->count;
        if (!add_set(p, &set))
            return false;
    }
    gang__keys_pop(p, keys);
    if (p->device_sets.count > first) /* `set` is NULL before the first */
        qsort(p->device_sets.set + first, p->device_sets.count - first, sizeof(*p->device_sets.set),
              compare);
    if (p->device_sets.count > first + GANG_MAX_DEVICE_SETS)
        p->device_sets.count = first + GANG_MAX_DEVICE_SETS;
    return true;
}
