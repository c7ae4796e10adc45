/* SPDX-License-Identifier: Apache-2.0 */
/* What does a walk do with a node? Checks that the group may use the node now, then plans tasks on
 * it or offers it. Inline: every walk does this for each node. */
#ifndef GANG__PLACE_VISIT_H
#define GANG__PLACE_VISIT_H

#include "place/fit/fit.h"
#include "place/search/search_in.h"

/* May the group use the node, free or not, in this tier? */
bool gang__search_matches(struct gang__node_search *s, const struct gang__node *node);

/* May tasks of the group go to a node, now, if it has capacity? */
static inline bool gang__search_admits(struct gang__node_search *s, uint32_t slot)
{
    if (s->scope->level != GANG__NO_LEVEL || s->check_match) {
        struct gang__node *node = gang__plan_node(s->p, slot);
        if (!node || !gang__scope_has(s->scope, node) ||
            (s->check_match && !gang__search_matches(s, node)))
            return false;
    }
    return s->at_least <= 1 || gang__plan_capacity(s->p, s->group, slot) >= s->at_least;
}

/* Plan tasks on one node, or offer the node. Returns how many were planned; 1: the offer ended the
 * search.
 *   gpus  plan on these devices; 0: any */
static inline int64_t gang__search_visit_on(struct gang__node_search *s, uint32_t slot,
                                            uint64_t gpus)
{
    struct gang__misfit misfit;
    if (!gang__search_admits(s, slot))
        return 0;
    if (s->options->offer) {
        if (s->options->offer(s->options->user, slot))
            s->want = 0;
        return s->want == 0;
    }
    int64_t tasks = s->want < s->per_visit ? s->want : s->per_visit;
    if (s->g->bounded) {
        const struct gang__node *node = gang__plan_node(s->p, slot);
        int64_t allowed = node ? gang__plan_allowance(s->p, s->group, node) : 0; /* removed */
        tasks = tasks < allowed ? tasks : allowed;
    }
    int64_t done = gang__plan_tasks(s->p, s->group, slot, tasks, gpus, &misfit);
    s->want -= done;
    if (done && --s->nodes_left == 0)
        s->want = 0;
    return done;
}

static inline int64_t gang__search_visit(struct gang__node_search *s, uint32_t slot)
{
    return gang__search_visit_on(s, slot, 0);
}

#endif
