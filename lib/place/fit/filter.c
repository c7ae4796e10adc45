/* SPDX-License-Identifier: Apache-2.0 */
#include "place/fit/filter.h"

#include <string.h>

#include "base/rcu.h"
#include "core/nodes/nodes.h"
#include "place/fit/mig.h"

/* ---- models ---------------------------------------------------------------------------------- */

/* The rank of a device's model among the group's; their count: it is not among them. */
static size_t rank_of(const struct gang__group *g, const struct gang_gpu_spec *gpu)
{
    size_t rank = 0;
    while (rank < g->model_count && (!gpu->model || strcmp(gpu->model, g->models[rank]) != 0))
        rank++;
    return rank;
}

uint64_t gang__devices_of_models(const struct gang__group *g, const struct gang__node_type *type,
                                 size_t models)
{
    uint64_t mask = 0, left = g->profile ? type->slices : type->gpus;
    if (g->model_count == 0)
        return left;
    for (; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        size_t rank = rank_of(g, &type->spec->gpus[i]);
        if (rank < g->model_count && rank < models)
            mask |= UINT64_C(1) << i;
    }
    return mask;
}

/* The first of the group's models that a node has, from `rank` on. */
static size_t first_model(const struct gang__group *g, const struct gang__node *node, size_t rank)
{
    const struct gang__node_type *type = node->type;
    size_t first = g->model_count;
    uint64_t left = g->profile ? type->slices : type->gpus;
    for (; left && first > rank; left &= left - 1) {
        size_t here = rank_of(g, &type->spec->gpus[__builtin_ctzll(left)]);
        if (here >= rank && here < first)
            first = here;
    }
    return first;
}

/* ---- partitions ------------------------------------------------------------------------------ */

/* What the partitions of a node allow a group. */
struct access {
    bool named; /* it is in the one that the group names */
    bool barred, lent;
};

static struct access access_to(const struct gang__modes *modes, const struct gang__group *g,
                               const struct gang__node *node)
{
    const struct gang__tags *tags = node->tags;
    struct access a = {false, false, false};
    bool key = false, owner = false; /* of an exclusive one, of a lending one */
    for (size_t i = 0; tags && i < tags->partition_count; i++) {
        const struct gang__partition *x = tags->partitions[i];
        int32_t mode = modes ? gang__mode_of(modes, x) : (int32_t)GANG_PARTITION_SHARED;
        bool own = x == g->partition;
        a.named = a.named || own;
        a.barred = a.barred || mode == GANG_PARTITION_EXCLUSIVE;
        a.lent = a.lent || mode == GANG_PARTITION_LENDING;
        key = key || (own && mode == GANG_PARTITION_EXCLUSIVE);
        owner = owner || (own && mode == GANG_PARTITION_LENDING);
    }
    a.barred = a.barred && !key;
    a.lent = a.lent && !owner;
    return a;
}

static bool owns(const struct gang__modes *modes, const struct gang__group *g)
{
    return g->partition && gang__mode_of(modes, g->partition) != GANG_PARTITION_SHARED;
}

bool gang__request_owns(gang_cluster *c, const gang_request *request)
{
    bool some = false;
    for (uint32_t g = 0; g < request->group_count; g++) /* mostly none names a partition */
        some = some || request->group[g].partition;
    if (!some)
        return false;
    gang__rcu_enter();
    const struct gang__modes *modes = gang__modes_now(c);
    some = false;
    for (uint32_t g = 0; modes && g < request->group_count; g++)
        some = some || owns(modes, &request->group[g]);
    gang__rcu_leave();
    return some;
}

bool gang__is_guest_on(gang_cluster *c, const gang_request *request, const struct gang__group *by,
                       gang_node_id id)
{
    bool some = false;
    gang__rcu_enter();
    const struct gang__modes *modes = gang__modes_now(c);
    const struct gang__node *node = gang__node_of(c, id);
    for (uint32_t g = 0; modes && node && g < request->group_count; g++)
        some = some || (owns(modes, &request->group[g]) &&
                        access_to(modes, &request->group[g], node).named);
    if (some) {
        struct access a = access_to(modes, by, node);
        some = a.barred || a.lent;
    }
    gang__rcu_leave();
    return some;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

bool gang__node_matches(const struct gang__plan *p, const struct gang__group *g,
                        const struct gang__node *node, struct gang__misfit *misfit)
{
    if (!gang__group_filters(p, g))
        return true;
    misfit->kind = -1;
    misfit->why = GANG_CONSTRAINT_PARTITION;
    if (g->partition || p->tier.modes) {
        struct access a = access_to(p->tier.modes, g, node);
        if (a.barred || (g->partition && !a.named))
            return false;
    }
    misfit->why = GANG_CONSTRAINT_LABEL;
    const struct gang__tags *tags = node->tags;
    struct gang__labels on = {node->name, tags ? tags->labels : NULL, tags ? tags->label_count : 0};
    for (size_t i = 0; i < g->rule_count; i++)
        if (!gang__rule_holds(&g->rules[i], &on))
            return false;
    if (g->where.step_count && !gang__label_expr_holds(&g->where, &on))
        return false;
    misfit->why = GANG_CONSTRAINT_PROFILE;
    if (g->profile && !gang__profile_is_here(g, node->type))
        return false;
    misfit->why = GANG_CONSTRAINT_GPU_MODEL;
    if (g->devices && g->model_count && first_model(g, node, 0) == g->model_count)
        return false;
    misfit->why = GANG_CONSTRAINT_GPU_NODES;
    return g->gpu_nodes != GANG_GPU_NODES_EXCLUDE || !node->type->layout.gpus;
}

/* ---- tiers ----------------------------------------------------------------------------------- */

bool gang__node_in_tier(const struct gang__plan *p, const struct gang__group *g,
                        const struct gang__node *node, struct gang__tiers t, uint32_t tier,
                        bool best)
{
    uint32_t inner = tier % t.inner;
    if (t.lends && access_to(p->tier.modes, g, node).lent != (tier >= t.inner))
        return false;
    if (t.inner == 1)
        return true;
    if (!g->models_ranked)
        return (node->type->layout.gpus != 0) == (inner != 0);
    return first_model(g, node, best ? 0 : inner) == inner;
}

bool gang__class_has_model(gang_cluster *c, const struct gang__group *g, uint32_t class_id)
{
    const char *model = gang__load(&c->commit.gpu_class[class_id])->model;
    bool has = !model[0];
    for (size_t i = 0; i < g->model_count && !has; i++)
        has = strcmp(g->models[i], model) == 0;
    return has;
}

bool gang__class_in_tier(gang_cluster *c, const struct gang__group *g, uint32_t class_id,
                         struct gang__tiers t, uint32_t tier)
{
    if (!gang__class_matches(c, g, class_id))
        return false;
    if (t.inner == 1)
        return true;
    uint32_t inner = tier % t.inner;
    if (!g->models_ranked)
        return (class_id != 0) == (inner != 0);
    const char *model = gang__load(&c->commit.gpu_class[class_id])->model;
    return !model[0] || strcmp(model, g->models[inner]) == 0;
}

bool gang__node_within_limit(const struct gang__plan *p, const struct gang__group *g,
                             const struct gang__node *node)
{
    if (p->tier.limit == UINT32_MAX)
        return true;
    struct gang__tiers t = gang__tiers_of(p, g);
    uint32_t tier = t.lends && access_to(p->tier.modes, g, node).lent ? t.inner : 0;
    if (g->models_ranked)
        tier += (uint32_t)first_model(g, node, 0);
    else if (t.inner > 1)
        tier += node->type->layout.gpus != 0;
    return tier <= p->tier.limit;
}

bool gang__class_within_limit(const struct gang__plan *p, const struct gang__group *g,
                              uint32_t class_id)
{
    if (p->tier.limit == UINT32_MAX)
        return gang__class_matches(p->c, g, class_id);
    struct gang__tiers t = gang__tiers_of(p, g);
    bool within = false;
    for (uint32_t tier = 0; tier < t.inner && tier <= p->tier.limit && !within; tier++)
        within = gang__class_in_tier(p->c, g, class_id, t, tier);
    return within;
}

void gang__filter_mask(gang_cluster *c, const gang_request *request, uint32_t end, uint64_t *mask)
{
    struct gang__plan plan;
    memset(&plan, 0, sizeof(plan));
    gang__rcu_enter();
    plan.c = c;
    plan.request = request;
    plan.tier.modes = gang__modes_now(c);
    for (uint32_t slot = 0; slot < end; slot++) {
        const struct gang__node *node = gang__node_at(c, slot);
        struct gang__misfit misfit;
        bool may = false;
        for (uint32_t g = 0; node && g < request->group_count && !may; g++)
            may = gang__node_matches(&plan, &request->group[g], node, &misfit);
        if (may)
            mask[slot / 64] |= UINT64_C(1) << (slot % 64);
    }
    gang__rcu_leave();
}
