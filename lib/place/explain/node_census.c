/* SPDX-License-Identifier: Apache-2.0 */
#include "place/explain/node_census.h"

#include <string.h>

#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/search/search.h"

/* ---- amounts --------------------------------------------------------------------------------- */

int64_t gang__amount_asked(const struct gang__group *g, int32_t kind)
{
    if (kind == GANG_KIND_CPU)
        return (int64_t)g->cpu;
    if (kind == GANG_KIND_MEMORY)
        return (int64_t)g->pages * GANG_PAGE_BYTES;
    if (kind == GANG_KIND_GPU)
        return (int64_t)g->devices * g->share;
    for (size_t i = 0; i < g->node_need_count; i++)
        if (g->node_needs[i].kind == kind)
            return g->node_needs[i].amount;
    for (size_t i = 0; i < g->pool_need_count; i++)
        if (g->pool_needs[i].kind == kind)
            return g->pool_needs[i].amount;
    return 0;
}

uint32_t gang__kinds_asked(const struct gang__group *g)
{
    uint32_t kinds = (g->cpu ? 1u << GANG_KIND_CPU : 0) | (g->pages ? 1u << GANG_KIND_MEMORY : 0) |
                     (g->devices ? 1u << GANG_KIND_GPU : 0);
    for (size_t i = 0; i < g->node_need_count; i++)
        kinds |= 1u << g->node_needs[i].kind;
    for (size_t i = 0; i < g->pool_need_count; i++)
        kinds |= 1u << g->pool_needs[i].kind;
    return kinds;
}

/* The free amount of a kind on one node, as far as the group can use it. */
static int64_t amount_free(const struct gang__group *g, const struct gang__node_copy *copy,
                           const uint64_t *now, int32_t kind)
{
    if (kind == GANG_KIND_CPU)
        return (int64_t)gang__head_cpu(now[GANG__WORD_HEAD]);
    if (kind == GANG_KIND_MEMORY)
        return (int64_t)now[GANG__WORD_MEMORY] * GANG_PAGE_BYTES;
    if (kind != GANG_KIND_GPU)
        return copy->type->kind_word[kind] ? (int64_t)now[copy->type->kind_word[kind]] : 0;
    int64_t sum = 0;
    uint64_t usable = gang__usable_devices(g, copy);
    for (unsigned i = 0; i < copy->layout.gpus; i++) {
        if (!(usable >> i & 1))
            continue;
        uint32_t share = gang__share(now[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                                     i % GANG__SHARES_PER_WORD);
        sum += g->share == 1000 && share < 1000 ? 0 : share;
    }
    return sum;
}

/* ---- one node -------------------------------------------------------------------------------- */

struct census {
    struct gang__plan *p;
    uint32_t group;
    const struct gang__group *g;
    const struct gang__scope *scope;
    struct gang__node_census *s;
    uint32_t kinds;    /* asked for */
    uint32_t demanded; /* levels of the site at which a node must lie in a domain, as bits */
    size_t fits;       /* in plan.word: slots that take a task, one bit each */
};

/* Levels of the site with a required domain. */
static uint32_t levels_demanded(const gang_request *request, const struct gang__group *g)
{
    uint32_t levels = 0;
    int32_t own[] = {g->same, g->subgroup_same, request->same};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (own[i] >= 0 && own[i] < GANG__LEVEL_NODE)
            levels |= 1u << own[i];
    for (int32_t k = g->set; k >= 0; k = request->set[k].parent)
        if (request->set[k].same >= 0 && request->set[k].same < GANG__LEVEL_NODE)
            levels |= 1u << request->set[k].same;
    return levels;
}

/* Does the node lie in the domains that the group requires, within its bounds? */
static bool lies_in_domains(const struct census *l, const struct gang__node *node,
                            struct gang__misfit *misfit)
{
    const struct gang__group *g = l->g;
    misfit->kind = -1;
    misfit->why = GANG_CONSTRAINT_SAME;
    for (uint32_t left = l->demanded; left; left &= left - 1)
        if (node->domain[__builtin_ctz(left)] == GANG__NO_DOMAIN)
            return false;
    misfit->why = GANG_CONSTRAINT_SPREAD;
    if (g->spread >= 0 && g->spread < GANG__LEVEL_NODE &&
        node->domain[g->spread] == GANG__NO_DOMAIN)
        return false;
    return !g->bounded || gang__plan_allowance(l->p, l->group, node) > 0;
}

/* Other jobs are the reason only if the node would take a task without them: as it is now, or,
 * where it has to be exclusive, when it is empty. */
static void correct_misfit(const struct census *l, uint32_t slot, uint32_t state,
                           struct gang__misfit *misfit)
{
    bool exclusive = misfit->why == GANG_CONSTRAINT_EXCLUSIVE;
    if (!exclusive && misfit->why != GANG_CONSTRAINT_AFFINITY)
        return;
    if (state != GANG__STATE_UP)
        misfit->why = GANG_CONSTRAINT_STATE;
    else if (gang__plan_short(l->p, l->group, slot, exclusive))
        misfit->why = GANG_CONSTRAINT_KIND;
}

/* Would a node that one constraint keeps from taking tasks not take any without it, either? */
static bool is_refused_anyway(const struct census *l, const struct gang__node *node, uint32_t state,
                              int32_t why)
{
    struct gang__group loose = *l->g;
    struct gang__misfit other;
    uint32_t kinds = gang__plan_short(l->p, l->group, node->slot, true);
    if (why == GANG_CONSTRAINT_GPU_MODEL ||
        why == GANG_CONSTRAINT_PROFILE) /* then none of its devices count */
        kinds &= ~(1u << GANG_KIND_GPU);
    if (kinds)
        return true;
    const struct gang__modes *modes = l->p->tier.modes;
    if (why == GANG_CONSTRAINT_PARTITION) {
        loose.partition = NULL;
        l->p->tier.modes = NULL;
    } else if (why == GANG_CONSTRAINT_LABEL) {
        loose.rule_count = 0;
        loose.where.step_count = 0;
    } else if (why == GANG_CONSTRAINT_PROFILE) {
        loose.profile = NULL;
    } else if (why == GANG_CONSTRAINT_GPU_MODEL) {
        loose.model_count = 0;
    } else if (why == GANG_CONSTRAINT_GPU_NODES) {
        loose.gpu_nodes = GANG_GPU_NODES_ALLOW;
    } else {
        return why != GANG_CONSTRAINT_STATE && state != GANG__STATE_UP;
    }
    bool matches =
        gang__node_matches(l->p, &loose, node, &other) && lies_in_domains(l, node, &other);
    l->p->tier.modes = modes;
    return !matches || state != GANG__STATE_UP;
}

/* The kinds a node is short of, and whether it would do if it were empty. */
static uint32_t kinds_short(const struct census *l, uint32_t slot, struct gang__misfit misfit,
                            bool *could)
{
    uint32_t kinds = gang__plan_short(l->p, l->group, slot, false);
    *could = gang__plan_short(l->p, l->group, slot, true) == 0;
    if (!kinds && misfit.kind >= 0) /* enough of all, but not in one piece */
        kinds = 1u << misfit.kind;
    return kinds;
}

static void note_refusal(const struct census *l, const struct gang__node *node, uint32_t state,
                         struct gang__misfit misfit)
{
    struct gang__node_census *s = l->s;
    s->refused[misfit.why]++;
    if (misfit.why != GANG_CONSTRAINT_KIND && misfit.why != GANG_CONSTRAINT_POOL)
        s->refused_anyway[misfit.why] += is_refused_anyway(l, node, state, misfit.why);
    if (misfit.why == GANG_CONSTRAINT_POOL) {
        s->kind[misfit.kind].nodes++;
        s->kind[misfit.kind].could++;
    }
    if (misfit.why != GANG_CONSTRAINT_KIND)
        return;
    bool could;
    for (uint32_t kinds = kinds_short(l, node->slot, misfit, &could); kinds; kinds &= kinds - 1) {
        s->kind[__builtin_ctz(kinds)].nodes++;
        s->kind[__builtin_ctz(kinds)].could += could;
    }
}

static void note_stop(const struct census *l, uint32_t slot, struct gang__misfit misfit)
{
    struct gang__node_census *s = l->s;
    s->stopped[misfit.why]++;
    if (misfit.why == GANG_CONSTRAINT_POOL)
        s->kind[misfit.kind].full++;
    if (misfit.why != GANG_CONSTRAINT_KIND)
        return;
    bool could;
    for (uint32_t kinds = kinds_short(l, slot, misfit, &could); kinds; kinds &= kinds - 1)
        s->kind[__builtin_ctz(kinds)].full++;
}

/* Counts a node. Does it take a task? */
static bool count_node(const struct census *l, uint32_t slot)
{
    struct gang__plan *p = l->p;
    const struct gang__node *node = gang__plan_node(p, slot);
    if (!node || !gang__scope_has(l->scope, node))
        return false;
    struct gang__misfit misfit = {GANG_CONSTRAINT_NONE, -1};
    struct gang__node_copy *copy = gang__node_copy_at(p, slot);
    if (!copy)
        return false;
    const uint64_t *now = gang__words_now(p, copy);
    uint32_t state = gang__head_state(now[GANG__WORD_HEAD]);
    if (state == GANG__STATE_GONE) /* removed, but still held */
        return false;
    l->s->nodes++;
    if (!gang__node_matches(p, l->g, node, &misfit) || !lies_in_domains(l, node, &misfit)) {
        note_refusal(l, node, state, misfit);
        return false;
    }
    for (uint32_t kinds = state == GANG__STATE_UP ? l->kinds : 0; kinds; kinds &= kinds - 1) {
        int32_t kind = __builtin_ctz(kinds);
        int64_t free = amount_free(l->g, copy, now, kind);
        if (p->c->nodes.kind[kind].scope == GANG_SCOPE_NODE && free > l->s->kind[kind].most)
            l->s->kind[kind].most = free;
    }
    size_t tasks = p->tasks.count;
    if (gang__plan_task(p, l->group, slot, 0, &misfit)) {
        gang__plan_rollback(p, tasks);
        l->s->fit_nodes++;
        return true;
    }
    correct_misfit(l, slot, state, &misfit);
    note_refusal(l, node, state, misfit);
    return false;
}

/* ---- all nodes ------------------------------------------------------------------------------- */

/* Plans as many tasks as go on a node that takes some. */
static void fill(const struct census *l, uint32_t slot, int64_t want)
{
    struct gang__misfit misfit = {GANG_CONSTRAINT_NONE, -1};
    int64_t here = gang__plan_tasks(l->p, l->group, slot, want, 0, &misfit);
    l->s->fit += here;
    if (here == want || l->p->out.failed)
        return;
    struct gang__node_copy *copy = gang__node_copy_at(l->p, slot);
    if (copy)
        correct_misfit(l, slot, gang__head_state(gang__words_now(l->p, copy)[GANG__WORD_HEAD]),
                       &misfit);
    note_stop(l, slot, misfit);
}

static void count_nodes(struct census *l, int64_t want)
{
    enum { BITS = 64 };
    struct gang__plan *p = l->p;
    uint32_t first = l->scope->level >= GANG__LEVEL_NODE ? l->scope->slot : 1;
    uint32_t end = l->scope->level >= GANG__LEVEL_NODE ? first + 1 : gang__plan_end(p);
    uint32_t base = first / BITS;
    l->fits = gang__plan_words(p, end / BITS - base + 1);
    if (p->out.failed)
        return;
    memset(p->word + l->fits, 0, (end / BITS - base + 1) * sizeof(*p->word));
    for (uint32_t slot = first; slot < end && !p->out.failed; slot++)
        if (count_node(l, slot))
            p->word[l->fits + slot / BITS - base] |= UINT64_C(1) << slot % BITS;
    /* Tasks may share a pool: none is planned before every node is counted. */
    for (uint32_t slot = first; slot < end && l->s->fit < want && !p->out.failed; slot++)
        if (p->word[l->fits + slot / BITS - base] >> slot % BITS & 1)
            fill(l, slot, want - l->s->fit);
}

/* Do all tasks fit? Does not read more nodes than they need. */
static bool all_fit(const struct census *l, int64_t want)
{
    struct gang__plan *p = l->p;
    struct gang__misfit misfit;
    uint32_t end = gang__plan_end(p);
    int64_t fit = 0;
    for (uint32_t slot = 1; slot < end && fit < want && !p->out.failed; slot++) {
        const struct gang__node *node = gang__plan_node(p, slot);
        if (node && gang__scope_has(l->scope, node) && gang__node_matches(p, l->g, node, &misfit) &&
            lies_in_domains(l, node, &misfit))
            fit += gang__plan_tasks(p, l->group, slot, want - fit, 0, &misfit);
    }
    if (fit < want)
        return false;
    l->s->fit = fit;
    l->s->nodes = gang__scope_nodes(p, l->scope);
    return true;
}

/* Plans only in the part of a node that the scope is. */
static void keep_inside(struct gang__plan *p, const struct gang__scope *scope)
{
    const struct gang__node *node = gang__plan_node(p, scope->slot);
    if (!node)
        return;
    const struct gang__inner_domains *parts =
        gang__inner_domains_of(node->type, scope->level - GANG__LEVEL_PACKAGE);
    p->subset = gang__subset_of(node->type, parts, scope->part);
}

void gang__node_census_take(struct gang__plan *p, uint32_t group, int64_t want,
                            const struct gang__scope *scope, bool whole,
                            struct gang__node_census *s)
{
    const struct gang__group *g = &p->request->group[group];
    size_t tasks = p->tasks.count;
    memset(s, 0, sizeof(*s));
    struct census l = {p, group, g, scope, s, gang__kinds_asked(g), levels_demanded(p->request, g),
                       0};
    struct gang__node_copy *pool = g->pool_need_count ? gang__node_copy_at(p, GANG__POOL) : NULL;
    for (size_t i = 0; pool && i < g->pool_need_count; i++) {
        int32_t kind = g->pool_needs[i].kind;
        s->kind[kind].most = (int64_t)gang__words_now(p, pool)[gang__pool_word(kind)];
    }
    if (scope->level > GANG__LEVEL_NODE)
        keep_inside(p, scope);
    if (whole || !all_fit(&l, want)) {
        gang__plan_rollback(p, tasks);
        count_nodes(&l, want);
    }
    p->subset.on = false;
    gang__plan_rollback(p, tasks);
}

/* ---- the reason ------------------------------------------------------------------------------ */

/* The kind of a scope that stops most nodes, GPUs before others; of the nodes that could take a
 * task when empty, if there are any. */
static int32_t kind_of(const gang_cluster *c, const struct gang__node_census *s, int32_t scope)
{
    for (int look = 0; look < 2; look++) {
        int32_t best = -1;
        int64_t most = 0;
        for (int32_t kind = 0; kind < GANG_MAX_KINDS; kind++) {
            const struct gang__shortage *k = &s->kind[kind];
            int64_t count = k->full + (look == 0 ? k->could : k->nodes);
            int64_t weight = 2 * count + (kind == GANG_KIND_GPU);
            if (!count || c->nodes.kind[kind].scope != scope || weight <= most)
                continue;
            best = kind;
            most = weight;
        }
        if (best >= 0)
            return best;
    }
    return -1;
}

/* Nodes that something keeps from taking tasks, which they would take otherwise. */
static int64_t stopped_by(const struct gang__node_census *s, int32_t why)
{
    return s->refused[why] - s->refused_anyway[why] + s->stopped[why];
}

/* Do the nodes that are short of a kind never have enough? */
static bool are_too_small(const struct gang__node_census *s)
{
    for (int32_t kind = 0; kind < GANG_MAX_KINDS; kind++)
        if (s->kind[kind].could || s->kind[kind].full)
            return false;
    return true;
}

struct gang__misfit gang__node_census_reason(const gang_cluster *c,
                                             const struct gang__node_census *s)
{
    static const int32_t order[] = {
        GANG_CONSTRAINT_POOL,         GANG_CONSTRAINT_AFFINITY,  GANG_CONSTRAINT_EXCLUSIVE,
        GANG_CONSTRAINT_SAME_DEVICES, GANG_CONSTRAINT_KIND,      GANG_CONSTRAINT_NUMA,
        GANG_CONSTRAINT_DEVICE,       GANG_CONSTRAINT_STATE,     GANG_CONSTRAINT_SPREAD,
        GANG_CONSTRAINT_SAME,         GANG_CONSTRAINT_GPU_NODES, GANG_CONSTRAINT_LABEL,
        GANG_CONSTRAINT_GPU_MODEL,    GANG_CONSTRAINT_PROFILE,   GANG_CONSTRAINT_PARTITION};
    enum { COUNT = sizeof(order) / sizeof(order[0]) };
    struct gang__misfit m = {GANG_CONSTRAINT_STATE, -1}; /* no node at all */
    bool late = are_too_small(s);
    /* First what would help, then what there is. */
    for (size_t i = 0; i < 2 * COUNT; i++) {
        int32_t why = order[i % COUNT];
        bool helps = stopped_by(s, why) > 0 && !(late && why == GANG_CONSTRAINT_KIND);
        if (i < COUNT ? helps : s->refused[why] > 0) {
            m.why = why;
            break;
        }
    }
    if (m.why == GANG_CONSTRAINT_KIND || m.why == GANG_CONSTRAINT_POOL)
        m.kind =
            kind_of(c, s, m.why == GANG_CONSTRAINT_POOL ? GANG_SCOPE_CLUSTER : GANG_SCOPE_NODE);
    return m;
}
