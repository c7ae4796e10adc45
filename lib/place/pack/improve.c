/* SPDX-License-Identifier: Apache-2.0 */
/* Is there a plan on fewer domains (of the narrowest level of the site) or nodes than the one
 * found? Backtracks for one of lower cost until there is none. */
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/pack/backtrack.h"
#include "place/pack/pack.h"
#include "place/search/search.h"

enum { MAX_STEPS = 5000 }; /* for a better plan than there is */

static bool costs_more(struct gang__cost a, struct gang__cost b)
{
    return a.domains != b.domains ? a.domains > b.domains : a.nodes > b.nodes;
}

static struct gang__cost plan_cost(const struct gang__plan *p)
{
    struct gang__cost cost = {0, 0};
    uint32_t seen[GANG__MAX_NODES_TRIED];
    int32_t level = (int32_t)p->c->nodes.level_count - 1;
    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct gang__node_copy *copy = &p->nodes.copy[i];
        if (!copy->node || !copy->used)
            continue;
        cost.nodes++;
        uint32_t domain = level < 0 ? 0 : copy->node->domain[level];
        int64_t k = 0;
        while (k < cost.domains && seen[k] != domain)
            k++;
        if (k == cost.domains && k < GANG__MAX_NODES_TRIED)
            seen[cost.domains++] = domain;
    }
    return cost;
}

bool gang__costs_too_much(const struct gang__backtracking *x)
{
    return x->max_cost.nodes < INT64_MAX && costs_more(plan_cost(x->p), x->max_cost);
}

bool gang__is_small_cluster(struct gang__plan *p)
{
    struct gang__scope all = gang__scope_all();
    return gang__scope_nodes(p, &all) <= GANG__MAX_NODES_TRIED;
}

bool gang__improve(struct gang__pack *k)
{
    struct gang__cost best = plan_cost(k->p), least = {best.domains, best.nodes};
    bool improved = false, found = true;
    if (!gang__is_small_cluster(k->p) || (best.domains == 1 && best.nodes == 1))
        return true;
    while (found && !k->p->out.failed && (least.domains > 1 || least.nodes > 1)) {
        /* One node less in as many domains; or, on as many nodes, in one domain less. */
        struct gang__cost next = {least.domains, least.nodes - 1};
        gang__undo(k->p, 0, 0);
        found = gang__backtrack_all(k, GANG__NO_SET, next, MAX_STEPS);
        if (found) {
            least = plan_cost(k->p);
            improved = true;
        }
    }
    if (found)
        return true;
    return improved ? gang__backtrack_all(k, GANG__NO_SET, least, GANG__MAX_STEPS) : false;
}
