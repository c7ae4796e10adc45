/* SPDX-License-Identifier: Apache-2.0 */
#include "place/alloc/equal_wide.h"

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/search/search.h"

struct finding {
    struct gang__plan *p;
    const struct gang__node_pattern *pattern;
    uint64_t *slot;
    size_t count, want;
};

/* A node that the search offers. True ends the search: there are enough nodes, or only a plan can
 * judge this one. The index is repaired for nodes that take no task, as in a plan. */
static bool take_node(void *user, uint32_t slot)
{
    struct finding *f = user;
    struct gang__plan *p = f->p;
    const struct gang__node_pattern *m = f->pattern;
    struct gang__chunk *chunk = gang__chunk_of(&p->c->commit, slot);
    const struct gang__cell *cell = &chunk->cell[slot % GANG__CHUNK];
    bool same_type = gang__node_type_at(chunk, slot) == m->type;
    gang__hook(GANG__STEP_READ);
    uint64_t owner = gang__load_seq(&cell->owner);
    if (owner && !gang__claim_is_void(&p->c->commit, owner))
        return true;
    if (same_type && !gang__cell_differs(cell, m->row, m->words)) {
        f->slot[f->count++] = slot;
        p->out.met_claimed = true; /* no repair */
        return f->count == f->want;
    }
    return !(same_type && m->whole_nodes) && gang__plan_capacity(p, 0, slot) > 0;
}

bool gang__equal_wide_find(struct gang__plan *p, const struct gang__node_pattern *pattern,
                           const struct gang__scope *domain, uint64_t *slot, size_t want)
{
    struct finding f = {p, pattern, slot, 0, want};
    int64_t each, nodes = gang__few_nodes_share(p, 0, p->request->min, domain, &each);
    if (nodes != (int64_t)want) /* else `each` is what a node of the pattern has */
        return false;
    struct gang__search_options options = {GANG_POLICY_PACK, INT64_MAX, INT64_MAX, each,
                                           take_node,        &f};
    gang__search_with(p, 0, nodes, domain, &options);
    p->out.met_claimed = false;
    if (f.count < want)
        return false;
    gang__sort_keys(slot, want);
    for (size_t i = 1; i < want; i++)
        if (slot[i] == slot[i - 1]) /* a stale bit of the index showed it twice */
            return false;
    return true;
}
