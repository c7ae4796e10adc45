/* SPDX-License-Identifier: Apache-2.0 */
/* Spreads the tasks of a group over the domains of a level.
 *
 * Task by task, each goes to the domain with the fewest, the first of several. No domain gets more
 * than the skew above the fewest of any domain, full ones included, as in Kubernetes' topology
 * spread constraints. Since the domains fill evenly, no distribution within the skew is missed. */

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/search/search.h"

struct spreading {
    struct gang__pack *k;
    uint32_t group;
    int32_t level;
    const struct gang__scope *scope;
    size_t at,
        count; /* keys in the plan: tasks << NUMBER_BITS | FULL | rank of the domain, or slot */
};
enum { NUMBER_BITS = 24 };
#define FULL (UINT64_C(1) << (NUMBER_BITS - 1))

static struct gang__scope scope_of(const struct spreading *x, uint32_t number)
{
    if (x->level >= GANG__LEVEL_NODE)
        return gang__scope_node(number);
    return gang__scope_domain(gang__domain_at(x->k->p->c, (uint32_t)x->level, number));
}

/* A node that the group may use, up or not: the domain counts. NULL: there is none. */
static const struct gang__node *some_node(struct spreading *x, const struct gang__scope *s)
{
    struct gang__plan *p = x->k->p;
    const struct gang__group *g = &x->k->request->group[x->group];
    struct gang__misfit misfit;
    if (s->level >= GANG__LEVEL_NODE) {
        const struct gang__node *node = gang__plan_node(p, s->slot);
        return node && gang__scope_has(x->scope, node) && gang__node_matches(p, g, node, &misfit)
                   ? node
                   : NULL;
    }
    struct gang__node_list m = gang__plan_members(p, s->domain);
    for (uint32_t i = 0; i < m.count; i++) {
        const struct gang__node *node = gang__plan_node(p, gang__node_list_slot(&m, i));
        if (node && gang__scope_has(s, node) && gang__scope_has(x->scope, node) &&
            gang__node_matches(p, g, node, &misfit))
            return node;
    }
    return NULL;
}

static bool list(struct spreading *x)
{
    struct gang__plan *p = x->k->p;
    bool nodes = x->level >= GANG__LEVEL_NODE;
    uint32_t end = nodes ? gang__plan_end(p) : gang__domain_count(p->c, (uint32_t)x->level);
    if (!gang__keys_push(p, end, &x->at))
        return false;
    x->count = 0;
    for (uint32_t i = nodes; i < end && !p->out.failed; i++) {
        struct gang__scope s = scope_of(x, i);
        const struct gang__node *node = some_node(x, &s);
        if (!node)
            continue;
        uint64_t tasks = (uint64_t)gang__plan_beside(p, x->group, node, x->level);
        p->keys.key[x->at + x->count++] = tasks << NUMBER_BITS | i;
    }
    return x->count > 0 && !p->out.failed;
}

/* Places one task in the domain with the fewest that can take one. Returns which; SIZE_MAX: none
 * within the skew. */
static size_t place_one(struct spreading *x, int64_t skew)
{
    struct gang__plan *p = x->k->p;
    uint64_t *key = p->keys.key + x->at;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < x->count; i++)
        if (key[i] >> NUMBER_BITS < least)
            least = key[i] >> NUMBER_BITS;
    for (;;) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < x->count; i++)
            if (!(key[i] & FULL) && (best == SIZE_MAX || key[i] < key[best]))
                best = i;
        if (best == SIZE_MAX || (int64_t)((key[best] >> NUMBER_BITS) + 1 - least) > skew)
            return SIZE_MAX;
        struct gang__scope s =
            scope_of(x, (uint32_t)(key[best] & ((UINT64_C(1) << NUMBER_BITS) - 1)));
        /* A scope that is narrower than the domain: there, and nowhere else in the domain. */
        const struct gang__scope *where = gang__scope_is_inside(p, x->scope, &s) ? x->scope : &s;
        if (gang__search(p, x->group, 1, where, x->k->policy) == 1)
            return best;
        key = p->keys.key + x->at;
        key[best] |= FULL;
        if (p->out.failed)
            return SIZE_MAX;
    }
}

int64_t gang__spread(struct gang__pack *k, uint32_t group, int64_t want,
                     const struct gang__scope *scope)
{
    const struct gang__group *g = &k->request->group[group];
    struct spreading x = {k, group, g->spread, scope, 0, 0};
    struct gang__scope around;
    if (scope->level >= g->spread) /* all in one domain: there is nothing to spread over */
        return gang__scope_at(k->p, scope, g->spread, &around)
                   ? gang__search(k->p, group, want, scope, k->policy)
                   : 0;
    int64_t done = 0;
    if (list(&x)) {
        size_t i;
        for (; done < want && (i = place_one(&x, g->max_skew)) != SIZE_MAX; done++)
            k->p->keys.key[x.at + i] += UINT64_C(1) << NUMBER_BITS;
        if (g->spread_soft)
            for (; done < want && (i = place_one(&x, INT64_MAX)) != SIZE_MAX; done++)
                k->p->keys.key[x.at + i] += UINT64_C(1) << NUMBER_BITS;
    }
    gang__keys_pop(k->p, x.at);
    return done;
}
