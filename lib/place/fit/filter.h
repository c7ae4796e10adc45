/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes that a group may use, and the tiers in which they are tried.
 *
 * A *tier* is a number for a group and a node. Nodes of a higher tier are tried when no node of a
 * lower one is left. Three things make tiers, in this order: partitions that are lent, and then,
 * for work without GPUs, nodes with some, or, where the models are ranked, those of later models.
 * Most requests have one tier and pay nothing. */
#ifndef GANG__PLACE_FILTER_H
#define GANG__PLACE_FILTER_H

#include "core/nodes/nodes.h"
#include "place/fit/fit_plan.h"

/* Does the node satisfy what the group demands of any node of its kind, free or not? */
bool gang__node_matches(const struct gang__plan *p, const struct gang__group *g,
                        const struct gang__node *node, struct gang__misfit *misfit);

/* Sets the bits of the nodes (slots below `end`) that a group of the request may use; other bits
 * stay. */
void gang__filter_mask(gang_cluster *c, const gang_request *request, uint32_t end, uint64_t *mask);

/* Does the request own nodes: does it name an exclusive or lending partition? */
bool gang__request_owns(gang_cluster *c, const gang_request *request);
/* Is the node in such a partition, and would tasks of the group `by` of another request be guests
 * there, or not be allowed there any more? */
bool gang__is_guest_on(gang_cluster *c, const gang_request *request, const struct gang__group *by,
                       gang_node_id id);

/* Does gang__node_matches() depend on the node? */
static inline bool gang__group_filters(const struct gang__plan *p, const struct gang__group *g)
{
    return g->filters || p->tier.modes;
}

/* The tiers there can be for a group. */
struct gang__tiers {
    uint32_t inner; /* by the devices alone, 1 or more */
    bool lends;     /* as many again, of nodes that are lent */
};
static inline struct gang__tiers gang__tiers_of(const struct gang__plan *p,
                                                const struct gang__group *g)
{
    struct gang__tiers t = {1, p->tier.modes && p->tier.modes->lending};
    if (g->models_ranked)
        t.inner = (uint32_t)g->model_count;
    else if (g->gpu_nodes == GANG_GPU_NODES_AVOID && gang__load(&p->c->commit.gpu_class_count) > 1)
        t.inner = 2;
    return t;
}
static inline uint32_t gang__tier_count(struct gang__tiers t)
{
    return t.lends ? 2 * t.inner : t.inner;
}

/* Is a node that matches to be tried in a tier? A node with several ranked models is tried in that
 * of each; if only the `best` counts, in the first of them alone. */
bool gang__node_in_tier(const struct gang__plan *p, const struct gang__group *g,
                        const struct gang__node *node, struct gang__tiers t, uint32_t tier,
                        bool best);

/* Can nodes of this class hold the group's devices; and in a tier? Nodes that may be
 * lent, or with GPUs of several models, still need the test above. */
bool gang__class_has_model(gang_cluster *c, const struct gang__group *g, uint32_t class_id);
static inline bool gang__class_matches(gang_cluster *c, const struct gang__group *g,
                                       uint32_t class_id)
{
    if (g->devices == 0)
        return class_id == 0 || g->gpu_nodes != GANG_GPU_NODES_EXCLUDE;
    return (gang__load(&c->commit.gpu_class[class_id])->holds &
            g->takes) && /* class 0 holds nothing */
           (g->model_count == 0 || gang__class_has_model(c, g, class_id));
}
bool gang__class_in_tier(gang_cluster *c, const struct gang__group *g, uint32_t class_id,
                         struct gang__tiers t, uint32_t tier);

/* The same two for all tiers that p->tier.limit allows. */
bool gang__node_within_limit(const struct gang__plan *p, const struct gang__group *g,
                             const struct gang__node *node);
bool gang__class_within_limit(const struct gang__plan *p, const struct gang__group *g,
                              uint32_t class_id);

/* Devices of the sort that the group takes, and of the first `models` of its models. */
uint64_t gang__devices_of_models(const struct gang__group *g, const struct gang__node_type *type,
                                 size_t models);

/* How many of the group's models count in a tier, and before it. */
static inline size_t gang__models_in_tier(const struct gang__group *g, struct gang__tiers t,
                                          uint32_t tier)
{
    return g->models_ranked ? tier % t.inner + 1 : g->model_count;
}

#endif
