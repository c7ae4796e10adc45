/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of one group over the nodes of a scope, in every distribution: first as usual, then,
 * where few nodes can take part, all that differ. Tasks of a group are alike, and so are nodes with
 * the same words and devices with as much free. Part of backtracking (backtrack.c). */
#include <string.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/pack/backtrack.h"
#include "place/pack/pack.h"
#include "place/search/search.h"

enum {
    MAX_PARTS = 256, /* tasks that are tried by themselves: each is a frame or two of the stack */
    MAX_LISTED = 64, /* nodes looked at, */
    MAX_SLOTS = 128  /* among this many slots; most of them are empty */
};

struct distribution {
    uint32_t group;
    const struct gang__scope *scope;
    const struct gang__continuation *next;
    size_t at, count; /* slots, in plan.keys.key */
};

/* Lists the nodes of the scope that can take a task. False: too many to try every distribution. */
static bool list_nodes(struct gang__backtracking *x, struct distribution *d)
{
    struct gang__plan *p = x->p;
    uint32_t end = gang__plan_end(p);
    struct gang__node_list m = {end - 1, NULL, NULL};
    bool all = d->scope->level == GANG__NO_LEVEL;
    d->at = p->keys.count;
    d->count = 0;
    if (d->scope->level >= GANG__LEVEL_NODE)
        m.count = 1;
    else if (!all)
        m = gang__plan_members(p, d->scope->domain);
    if (m.count > (all ? MAX_SLOTS : MAX_LISTED) ||
        (all && gang__scope_nodes(p, d->scope) > MAX_LISTED))
        return false;
    uint64_t *key = gang__keys_push(p, GANG__MAX_NODES_TRIED, &d->at);
    for (uint32_t i = 0; key && i < m.count; i++) {
        uint32_t slot = d->scope->level >= GANG__LEVEL_NODE ? d->scope->slot
                        : all                               ? i + 1
                                                            : gang__node_list_slot(&m, i);
        const struct gang__node *node = gang__plan_node(p, slot);
        if (!node || !gang__scope_has(d->scope, node) || !gang__plan_capacity(p, d->group, slot))
            continue;
        if (d->count == GANG__MAX_NODES_TRIED)
            return false;
        key[d->count++] = slot;
    }
    return key != NULL && d->count > 0;
}

/* Is it all the same which of two nodes a task takes? */
static bool are_alike(struct gang__plan *p, uint32_t a, uint32_t b)
{
    struct gang__node_copy *copy = gang__node_copy_at(p, a);
    size_t at = copy ? (size_t)(copy - p->nodes.copy) : 0;
    struct gang__node_copy *w = gang__node_copy_at(p, b);
    if (!copy || !w || p->out.failed)
        return false;
    copy = &p->nodes.copy[at];
    return copy->type == w->type && copy->unhealthy == w->unhealthy && !copy->node->tags &&
           !w->node->tags &&
           memcmp(copy->node->domain, w->node->domain,
                  p->c->nodes.level_count * sizeof(uint32_t)) == 0 &&
           memcmp(gang__words_now(p, copy), gang__words_now(p, w),
                  copy->words * sizeof(uint64_t)) == 0;
}

/* `left` tasks on the nodes from the i-th on; at most `most` on the i-th, since the node before it
 * is alike and got as many. */
static bool distribute_tasks(struct gang__backtracking *x, const struct distribution *d, size_t i,
                             int64_t left, int64_t most)
{
    struct gang__plan *p = x->p;
    if (left == 0)
        return d->next->go(x, d->next);
    if (i == d->count || gang__backtrack_spent(x))
        return false;
    uint32_t slot = (uint32_t)p->keys.key[d->at + i];
    bool alike_next = i + 1 < d->count && are_alike(p, slot, (uint32_t)p->keys.key[d->at + i + 1]);
    struct gang__scope node = gang__scope_node(slot);
    const struct gang__scope *where = d->scope->level > GANG__LEVEL_NODE ? d->scope : &node;
    size_t tasks = p->tasks.count, binds = p->bound.undos;
    int64_t here = left < most ? left : most;
    here = here ? gang__search(p, d->group, here, where, GANG__ORDER_PROOF) : 0;
    for (;; here--) {
        if (!gang__costs_too_much(x) &&
            distribute_tasks(x, d, i + 1, left - here, alike_next ? here : INT64_MAX))
            return true;
        if (here == 0)
            break;
        gang__undo(p, tasks + (size_t)here - 1, binds);
    }
    gang__undo(p, tasks, binds);
    return false;
}

/* Is the i-th node like one before it, from the `from`-th on? */
static bool is_like_earlier(struct gang__plan *p, const struct distribution *d, size_t from,
                            size_t i)
{
    for (size_t k = from; k < i; k++)
        if (are_alike(p, (uint32_t)p->keys.key[d->at + k], (uint32_t)p->keys.key[d->at + i]))
            return true;
    return false;
}

/* Is as much free of a device as of one before it, from number `from` on? Or can the group not use
 * it at all? */
static bool is_device_like_earlier(struct gang__plan *p, const struct gang__group *g, uint32_t slot,
                                   unsigned from, unsigned device)
{
    const struct gang__node_copy *copy = gang__node_copy_at(p, slot);
    const uint64_t *now = copy ? gang__words_now(p, copy) + GANG__WORD_SHARES : NULL;
    uint64_t usable = copy ? gang__usable_devices(g, copy) : 0;
    uint32_t free[2] = {0, 0};
    if (!(usable >> device & 1))
        return true;
    for (unsigned d = from; now && d < device; d++) {
        if (!(usable >> d & 1))
            continue;
        free[0] = gang__share(now[d / GANG__SHARES_PER_WORD], d % GANG__SHARES_PER_WORD);
        free[1] = gang__share(now[device / GANG__SHARES_PER_WORD], device % GANG__SHARES_PER_WORD);
        if (free[0] == free[1])
            return true;
    }
    return false;
}

/* Parts of single devices: each task on each device that makes a difference, in rising order. */
static bool distribute_shares(struct gang__backtracking *x, const struct distribution *d,
                              size_t from, unsigned device, int64_t left)
{
    struct gang__plan *p = x->p;
    const struct gang__group *g = &x->k->request->group[d->group];
    bool alike = g->share && !g->model_count; /* devices that have as much free */
    if (left == 0)
        return d->next->go(x, d->next);
    for (size_t i = from; i < d->count; i++, device = 0) {
        uint32_t slot = (uint32_t)p->keys.key[d->at + i];
        const struct gang__node *node = gang__plan_node(p, slot);
        if (!node || is_like_earlier(p, d, from, i) ||
            (g->bounded && gang__plan_allowance(p, d->group, node) == 0))
            continue;
        for (unsigned gpu = device; gpu < node->type->layout.gpus; gpu++) {
            struct gang__misfit misfit;
            size_t tasks = p->tasks.count, binds = p->bound.undos;
            if (alike && is_device_like_earlier(p, g, slot, device, gpu))
                continue;
            if (gang__backtrack_spent(x))
                return false;
            if (g->bounded && gang__plan_allowance(p, d->group, node) == 0)
                break;
            if (!gang__plan_task(p, d->group, slot, UINT64_C(1) << gpu, &misfit))
                continue;
            if (!gang__costs_too_much(x) && distribute_shares(x, d, i, gpu, left - 1))
                return true;
            gang__undo(p, tasks, binds);
        }
    }
    return false;
}

bool gang__distribute(struct gang__backtracking *x, struct gang__member m,
                      const struct gang__scope *scope, const struct gang__continuation *next)
{
    struct gang__plan *p = x->p;
    const uint32_t group = (uint32_t)m.group;
    const struct gang__group *g = &x->k->request->group[group];
    size_t tasks = p->tasks.count, binds = p->bound.undos;
    if (gang__backtrack_spent(x))
        return false;
    int64_t done = m.subgroup ? gang__fill_few_nodes(x->k, group, m.want, scope)
                              : gang__place_group(x->k, group, m.want, scope);
    if (done == m.want && !gang__costs_too_much(x) && next->go(x, next))
        return true;
    gang__undo(p, tasks, binds);
    struct distribution d = {group, scope, next, 0, 0};
    bool parts = g->devices == 1 && g->share != 1000 && scope->level <= GANG__LEVEL_NODE &&
                 m.want <= MAX_PARTS;
    if (g->spread >= 0 || (g->subgroup_size && !m.subgroup) || x->steps <= 0)
        return false;
    bool found = false;
    if (list_nodes(x, &d))
        found = parts ? distribute_shares(x, &d, 0, 0, m.want)
                      : distribute_tasks(x, &d, 0, m.want, INT64_MAX);
    gang__keys_pop(p, d.at);
    return found;
}
