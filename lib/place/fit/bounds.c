/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds on the tasks of a group in one node and in one domain. */
#include "place/fit/bounds.h"

#include "core/nodes/nodes.h"
#include "place/fit/fit_plan.h"

/* Does a node lie in the same domain of a level (or is it the same) as another? */
static bool is_beside(const struct gang__node *a, const struct gang__node *b, int32_t level)
{
    if (level >= GANG__LEVEL_NODE)
        return a == b || a->slot == b->slot;
    return a->domain[level] != GANG__NO_DOMAIN && a->domain[level] == b->domain[level];
}

int64_t gang__plan_beside(const struct gang__plan *p, uint32_t group, const struct gang__node *node,
                          int32_t level)
{
    int64_t tasks = 0;
    for (size_t i = 0; i < p->tasks.count; i++)
        tasks += p->tasks.plan[i].group == group &&
                 is_beside(p->nodes.copy[p->tasks.plan[i].copy].node, node, level);
    for (size_t i = 0; i < p->tasks.held_count; i++) {
        const struct gang__node *held = gang__plan_node(p, p->tasks.held[i].slot);
        tasks += p->tasks.held[i].group == group && held && is_beside(held, node, level);
    }
    return tasks;
}

int64_t gang__plan_allowance(const struct gang__plan *p, uint32_t group,
                             const struct gang__node *node)
{
    const struct gang__group *g = &p->request->group[group];
    int64_t left = INT64_MAX;
    if (g->max_per_node < INT64_MAX)
        left = g->max_per_node - gang__plan_beside(p, group, node, GANG__LEVEL_NODE);
    if (g->domain_level >= 0 && left > 0) {
        bool outside =
            g->domain_level < GANG__LEVEL_NODE && node->domain[g->domain_level] == GANG__NO_DOMAIN;
        int64_t there = outside ? 0 : gang__plan_beside(p, group, node, g->domain_level);
        if (!outside && g->max_per_domain - there < left)
            left = g->max_per_domain - there;
    }
    return left > 0 ? left : 0;
}
