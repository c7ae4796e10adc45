/* SPDX-License-Identifier: Apache-2.0 */
#include "place/alloc/equal_domain.h"

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/alloc/equal_wide.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/search/search.h"

/* ---- which requests -------------------------------------------------------------------------- */

/* Is the domain chosen for the request, not for its group? It is the outer one of the two. */
static bool is_for_request(const gang_request *request)
{
    return request->same >= 0 || request->prefer >= 0 || request->policy == GANG_POLICY_TOPOLOGY;
}

static int32_t narrowest_level(const gang_request *request)
{
    return (int32_t)request->cluster->nodes.level_count - 1;
}

/* Levels of the site, or none: other levels lie inside a node. */
static bool is_wide(int32_t same, int32_t prefer)
{
    return same < GANG__LEVEL_NODE && prefer < GANG__LEVEL_NODE;
}

bool gang__equal_domain_suits(const gang_request *request)
{
    const struct gang__group *g = &request->group[0];
    bool elastic = request->count != request->min;
    bool bound = is_for_request(request) || g->same >= 0 || g->prefer >= 0;
    bool nested = is_for_request(request) && g->same >= 0 && g->same != narrowest_level(request);
    bool packs = request->policy == GANG_POLICY_DEFAULT || request->policy == GANG_POLICY_TOPOLOGY;
    bool needs = request->group_count > 1 || request->min == g->min;
    return packs && bound && !nested && request->group_set_count == 0 && !elastic && needs &&
           !g->subgroup_size && g->spread < 0 && !g->bounded &&
           is_wide(request->same, request->prefer) && is_wide(g->same, g->prefer);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

struct finding {
    struct gang__plan *p;
    const struct gang__node_pattern *pattern;
    uint64_t *slot; /* the lowest `want` nodes that are as in the pattern, ascending */
    size_t count, want;
    bool off;     /* something that only a plan can judge */
    bool partial; /* other nodes can take some tasks */
};

/* Adds a node. Members of a domain are mostly listed in the order of their slots. */
static void add_node(struct finding *f, uint32_t slot)
{
    size_t at = f->count;
    if (at == f->want && f->slot[at - 1] < slot)
        return;
    if (at == f->want)
        at--;
    else
        f->count++;
    for (; at && f->slot[at - 1] > slot; at--)
        f->slot[at] = f->slot[at - 1];
    f->slot[at] = slot;
}

/* A node that is not as in the pattern: it must hold fewer tasks than one that is. */
static void look_at_other(struct finding *f, uint32_t slot, bool same_type)
{
    const struct gang__node_pattern *m = f->pattern;
    if (same_type && m->whole_nodes)
        return;
    int64_t tasks = gang__plan_capacity(f->p, 0, slot);
    f->off = f->off || tasks >= m->per_node;
    f->partial = f->partial || tasks > 0;
}

static void look_at_node(struct finding *f, uint32_t slot, const struct gang__node *node)
{
    struct gang__plan *p = f->p;
    const struct gang__node_pattern *m = f->pattern;
    struct gang__chunk *chunk = gang__chunk_of(&p->c->commit, slot);
    const struct gang__cell *cell = &chunk->cell[slot % GANG__CHUNK];
    bool same_type = gang__node_type_at(chunk, slot) == m->type;
    struct gang__misfit misfit;
    gang__hook(GANG__STEP_READ);
    uint64_t owner = gang__load_seq(&cell->owner);
    if (owner && !gang__claim_is_void(&p->c->commit, owner)) {
        f->off = true;
        return;
    }
    unsigned i = 0;
    while (same_type && i < m->words && gang__payload(gang__load(&cell->word[i])) == m->row[i])
        i++;
    if (i < m->words)
        look_at_other(f, slot, same_type);
    else if (gang__node_matches(p, &p->request->group[0], node, &misfit))
        add_node(f, slot);
}

/* A domain that may hold the gang. True ends the choice. */
static bool take_domain(void *user, const struct gang__scope *s, int64_t most)
{
    struct finding *f = user;
    struct gang__node_list list = gang__plan_members(f->p, s->domain);
    (void)most;
    f->count = 0;
    f->partial = false;
    f->off = false;
    if (list.count > GANG__FEW_NODES) {
        f->count = f->want;
        f->off = f->p->request->group_count > 1 ||
                 !gang__equal_wide_find(f->p, f->pattern, s, f->slot, f->want);
        return true;
    }
    for (uint32_t i = 0; i < list.count && !f->off; i++) {
        uint32_t slot = gang__node_list_slot(&list, i);
        const struct gang__node *node = gang__plan_node(f->p, slot);
        if (node && gang__scope_has(s, node))
            look_at_node(f, slot, node);
    }
    if (f->count < f->want && f->partial)
        f->off = true;
    return f->off || f->count == f->want;
}

static bool meet_node(void *user, uint32_t slot)
{
    (void)slot;
    *(bool *)user = true;
    return true;
}

/* May one node hold this number of tasks? */
static bool fits_on_a_node(struct gang__plan *p, int32_t policy, int64_t tasks)
{
    bool met = false;
    struct gang__scope all = gang__scope_all();
    struct gang__search_options options = {policy, INT64_MAX, INT64_MAX, tasks, meet_node, &met};
    gang__search_with(p, 0, 1, &all, &options);
    return met;
}

bool gang__equal_domain_find(struct gang__plan *p, const struct gang__node_pattern *pattern,
                             uint64_t *slot, size_t want)
{
    const gang_request *request = p->request;
    const int32_t policy = gang__policy_order(p, false), level = narrowest_level(request);
    int64_t many = request->group_count > 1 ? pattern->per_node + 1 : request->min;
    if (want < 2 || level < 0 || fits_on_a_node(p, policy, many))
        return false;
    struct gang__pack k = {p, request, request->by_size, policy, GANG__NO_LEVEL, request->insists};
    struct gang__member m =
        is_for_request(request) ? gang__member_all() : gang__member_group(0, request->min);
    struct gang__scope all = gang__scope_all();
    struct finding f = {.p = p, .pattern = pattern, .slot = slot, .want = want};
    return gang__choose_each(&k, m, level, &all, take_domain, &f) && !f.off && !p->out.failed;
}
