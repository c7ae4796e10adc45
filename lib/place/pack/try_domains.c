/* SPDX-License-Identifier: Apache-2.0 */
/* Places a member in the best domain of a level. choose_domain.c offers the domains, the best first
 * by what is known of their capacity. A member of one group that has no more tasks than it needs
 * takes the first one that holds it. Other members are placed in several, to compare what comes of
 * it:
 *
 *   1. an elastic member: in which domain most of its tasks fit, up to its count;
 *   2. of these: in which one it keeps to the narrower domain that it prefers;
 *   3. a member of several groups: in which one it needs the fewest nodes. */
#include "place/fit/fit.h"
#include "place/pack/pack.h"
#include "place/search/search.h"

enum { TRIALS = 8 }; /* domains that hold the member, to be compared */

/* What a domain gives a member. */
struct outcome {
    int64_t tasks;  /* that fit; of a member that is not elastic: 0 */
    int32_t prefer; /* the level that it keeps to, no narrower than stated */
    int64_t nodes;  /* that it needs; of a member of one group: 0 */
};

struct placing {
    struct gang__pack *k;
    struct gang__member m;
    int32_t level, stated; /* of the domains; the narrower one that is preferred, else `level` */
    bool elastic, compares_nodes;
    uint32_t trials; /* left; 0: the first domain is taken */
    bool placed;     /* in the best domain; else it was undone */
    struct outcome best;
    struct gang__scope best_scope;
};

static int64_t nodes_used(const struct gang__plan *p)
{
    int64_t nodes = 0;
    for (size_t i = 0; i < p->nodes.count; i++)
        nodes += p->nodes.copy[i].node && p->nodes.copy[i].used;
    return nodes;
}

/* The level of the domain that a member was bound to. */
static int32_t bound_level(const struct gang__plan *p, struct gang__member m)
{
    return m.group >= 0 ? p->bound.group[m.group].level
           : m.set >= 0 ? p->bound.set[m.set].level
                        : p->bound.request.level;
}

/* The member was placed in a domain, from the `tasks`-th task on: what does it give? The plan stays
 * as it is. */
static struct outcome outcome_of(struct placing *x, const struct gang__scope *s, size_t tasks)
{
    struct gang__plan *p = x->k->p;
    struct outcome o = {0, x->level, x->compares_nodes ? nodes_used(p) : 0};
    size_t placed = p->tasks.count, binds = p->bound.undos;
    if (!x->elastic)
        return o;
    int32_t level = bound_level(p, x->m);
    o.prefer = level < x->stated ? level : x->stated;
    gang__place_rest(x->k, x->m, s);
    o.tasks = (int64_t)(p->tasks.count - tasks);
    gang__undo(p, placed, binds);
    return o;
}

static bool is_better(struct outcome a, struct outcome b)
{
    if (a.tasks != b.tasks)
        return a.tasks > b.tasks;
    return a.prefer != b.prefer ? a.prefer > b.prefer : a.nodes < b.nodes;
}

static bool place_here(void *user, const struct gang__scope *s, int64_t most)
{
    struct placing *x = user;
    struct gang__plan *p = x->k->p;
    size_t tasks = p->tasks.count, binds = p->bound.undos;
    bool known = x->elastic && gang__scope_is_bound(&x->best_scope) && x->best.tasks >= most;
    if (known && x->best.prefer == x->stated && !x->compares_nodes)
        return true;
    if (!gang__place_chosen(x->k, x->m, s))
        return false;
    if (x->trials == 0) {
        x->placed = true;
        return true;
    }
    struct outcome o = outcome_of(x, s, tasks);
    bool better = !gang__scope_is_bound(&x->best_scope) || is_better(o, x->best);
    if (better) {
        x->best = o;
        x->best_scope = *s;
    }
    bool last = x->elastic && !x->compares_nodes && o.tasks >= most && o.prefer == x->stated;
    x->placed = better && last;
    if (!x->placed)
        gang__undo(p, tasks, binds);
    return x->placed || --x->trials == 0;
}

static bool has_many_groups(const struct gang__pack *k, struct gang__member m)
{
    uint32_t groups = 0;
    for (uint32_t i = 0; i < k->request->group_count && groups < 2; i++)
        groups += gang__member_need(k->request, m, i) > 0;
    return groups > 1;
}

bool gang__choose_in_level(struct gang__pack *k, struct gang__member m, int32_t level,
                           const struct gang__scope *scope)
{
    bool few = k->policy == GANG_POLICY_DEFAULT || k->policy == GANG_POLICY_TOPOLOGY;
    struct placing x = {.k = k, .m = m, .level = level, .best_scope = gang__scope_unbound()};
    int32_t stated = gang__member_stated_prefer(k, m);
    x.stated = stated > level && m.more_group < 0 ? stated : level;
    x.elastic = gang__member_is_elastic(k->p, m);
    x.compares_nodes =
        few && level < GANG__LEVEL_NODE && !k->p->mode.empty && has_many_groups(k, m);
    x.trials = x.elastic || x.compares_nodes ? TRIALS : 0;
    gang__choose_each(k, m, level, scope, place_here, &x);
    if (x.placed || k->p->out.failed || !gang__scope_is_bound(&x.best_scope))
        return x.placed && !k->p->out.failed;
    return gang__place_chosen(k, m, &x.best_scope);
}
