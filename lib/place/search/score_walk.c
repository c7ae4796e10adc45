/* SPDX-License-Identifier: Apache-2.0 */
/* Which node takes each task where a policy scores the nodes? All nodes that can take a task become
 * candidates of the plan (score.h); then each task goes to the candidate with the best score. */
#include <string.h>

#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/search/score.h"
#include "place/search/search_in.h"
#include "place/search/visit.h"

static void mark(struct gang__node_search *s, uint32_t slot)
{
    s->p->score.slot_set[slot / 64] |= UINT64_C(1) << slot % 64;
}

/* The nodes that the allocation has for itself already: the index shows them as full. */
static void mark_own_nodes(struct gang__node_search *s, uint32_t end)
{
    const struct gang__affinity_state *o = &s->p->others;
    for (size_t i = 0; s->whole_nodes && i < o->owns; i++)
        if ((uint32_t)s->p->word[o->own + i] < end)
            mark(s, (uint32_t)s->p->word[o->own + i]);
}

/* Marks the nodes of the scope that may have capacity. */
static void mark_scope(struct gang__node_search *s, uint32_t end)
{
    struct gang__plan *p = s->p;
    bool by_index = gang__search_by_index(s);
    size_t bytes = (end / 64 + 1) * sizeof(*p->score.slot_set);
    memset(p->score.slot_set, 0, bytes);
    if (s->scope->level >= GANG__LEVEL_NODE) {
        if (s->scope->slot < end)
            mark(s, s->scope->slot);
    } else if (s->scope->domain && !(by_index && gang__index_covers_domain(s))) {
        struct gang__node_list m = gang__plan_members(p, s->scope->domain);
        for (uint32_t i = 0; i < m.count && !p->out.failed; i++)
            if (gang__node_list_slot(&m, i) < end)
                mark(s, gang__node_list_slot(&m, i));
    } else if (by_index) {
        uint32_t scope_end = s->end < end ? s->end : end;
        gang__index_mark(s, scope_end, p->score.slot_set);
        mark_own_nodes(s, scope_end);
    } else {
        memset(p->score.slot_set, 0xff, bytes);
    }
}

/* Makes the marked nodes that can take a task the candidates of the plan. */
static void add_candidates(struct gang__node_search *s, uint32_t end)
{
    struct gang__plan *p = s->p;
    gang__scored_nodes_begin(p);
    for (uint32_t i = 0; i < end / 64 + 1; i++) {
        for (uint64_t bits = p->score.slot_set[i]; bits && !p->out.failed; bits &= bits - 1) {
            uint32_t slot = i * 64 + (uint32_t)__builtin_ctzll(bits);
            const struct gang__node *node = slot < end ? gang__plan_node(p, slot) : NULL;
            if (!node || (s->check_match && !gang__search_matches(s, node)) ||
                !gang__search_admits(s, slot) ||
                (s->g->bounded && gang__plan_allowance(p, s->group, node) == 0))
                continue;
            gang__scored_node_add(p, s->group, slot);
        }
    }
}

int64_t gang__score_walk(struct gang__node_search *s)
{
    struct gang__plan *p = s->p;
    const struct gang__policy *policy = gang__policy_of(s->options->policy);
    uint32_t end = gang__plan_end(p);
    struct gang__scored_node *best;
    int64_t done = 0, each = s->per_visit;
    if (!gang__grow(&p->c->mem, (void **)&p->score.slot_set, &p->score.slot_set_cap, end / 64 + 1,
                    sizeof(*p->score.slot_set))) {
        p->out.failed = true;
        return 0;
    }
    mark_scope(s, end);
    add_candidates(s, end);
    s->per_visit = 1;
    while (s->want && (best = gang__scored_node_best(p, s->group, policy)) != NULL) {
        int64_t here = gang__search_visit_on(s, best->slot, best->wanted);
        done += here;
        if (s->want)
            gang__scored_node_update(p, s->group, policy, best, here > 0);
    }
    s->per_visit = each;
    return done;
}
