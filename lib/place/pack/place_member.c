/* SPDX-License-Identifier: Apache-2.0 */
/* Places a member of a request in a scope, and all that is inside it.
 *
 * A request is a tree: sets of sets and groups. Each may require (`same`) or prefer (`prefer`) a
 * common domain. Domains nest, so the choice goes from the outside in: for a member with a
 * requirement, try the domains of that level inside the enclosing one, the best first
 * (choose_domain.c, try_domains.c), and place everything inside. A preference tries its level, then
 * wider ones, then goes without.
 *
 * For an elastic member, which may have more tasks than it needs, the domain that is required or
 * preferred matters to all the tasks that come later. So it is chosen first, by the number of tasks
 * that it holds, and a narrower preference inside it. */
#include "place/pack/pack.h"

#include "core/nodes/nodes.h"
#include "place/fit/fit.h"
#include "place/request/request.h"
#include "place/search/search.h"

/* ---- which scope a member is bound to -------------------------------------------------------- */

bool gang__bind(struct gang__plan *p, struct gang__member m, const struct gang__scope *s)
{
    struct gang__scope *where = m.group >= 0 ? &p->bound.group[m.group]
                                : m.set >= 0 ? &p->bound.set[m.set]
                                             : &p->bound.request;
    struct gang__bind before = {where, *where};
    if (m.subgroup)
        return true;
    if (!gang__grow(&p->c->mem, (void **)&p->bound.undo, &p->bound.undo_cap, p->bound.undos + 1,
                    sizeof(*p->bound.undo))) {
        p->out.failed = true;
        return false;
    }
    p->bound.undo[p->bound.undos++] = before;
    *where = *s;
    return true;
}

void gang__undo(struct gang__plan *p, size_t tasks, size_t binds)
{
    gang__plan_rollback(p, tasks);
    while (p->bound.undos > binds) {
        const struct gang__bind *b = &p->bound.undo[--p->bound.undos];
        *b->where = b->was;
    }
}

bool gang__place_bound(struct gang__pack *k, struct gang__member m, const struct gang__scope *s)
{
    size_t tasks = k->p->tasks.count, binds = k->p->bound.undos;
    if (gang__bind(k->p, m, s) && gang__place_inside(k, m, s))
        return true;
    gang__undo(k->p, tasks, binds);
    return false;
}

/* Does a set or group inside a set, or inside the request, require or prefer a domain? */
static bool is_bound_inside(const gang_request *request, struct gang__member m)
{
    bool bound = false;
    for (uint32_t i = 0; m.group < 0 && i < request->group_count && !bound; i++)
        bound = gang__set_is_inside(request, request->group[i].set, m.set) &&
                (request->group[i].same >= 0 || request->group[i].prefer >= 0);
    for (int32_t i = 0; m.group < 0 && i < (int32_t)request->group_set_count && !bound; i++)
        bound = i != m.set && gang__set_is_inside(request, i, m.set) &&
                (request->set[i].same >= 0 || request->set[i].prefer >= 0);
    return bound;
}

/* The level that a member prefers. Of an elastic one the stated level, also of what is inside it,
 * comes before the implied one. */
static int32_t first_preferred(const struct gang__pack *k, struct gang__member *m, int32_t inside)
{
    int32_t stated = gang__member_stated_prefer(k, *m);
    if (!gang__member_is_elastic(k->p, *m))
        return gang__member_prefer(k, *m, &m->implied);
    if (stated > inside)
        return stated;
    return is_bound_inside(k->request, *m) ? GANG__NO_LEVEL
                                           : gang__member_prefer(k, *m, &m->implied);
}

/* In a domain of a level that it prefers, narrower than `widest`. If the preference binds, not in a
 * wider one than stated. */
static bool place_preferred(struct gang__pack *k, struct gang__member m, int32_t widest,
                            const struct gang__scope *scope)
{
    int32_t stated = gang__member_stated_prefer(k, m);
    if (k->insists && stated - 1 > widest)
        widest = stated - 1;
    for (int32_t level = first_preferred(k, &m, widest); level > widest;
         level = gang__level_wider(k->p->c, level))
        if (gang__choose_in_level(k, m, level, scope))
            return true;
    return false;
}

/* Must it lie in a domain that it prefers, narrower than a level? */
static bool binds_inside(const struct gang__pack *k, struct gang__member m, int32_t level)
{
    return k->insists && gang__member_stated_prefer(k, m) > level;
}

bool gang__place_chosen(struct gang__pack *k, struct gang__member m, const struct gang__scope *s)
{
    bool narrower = m.more_group < 0 && gang__member_is_elastic(k->p, m);
    if (narrower && place_preferred(k, m, s->level, s))
        return true;
    return !(narrower && binds_inside(k, m, s->level)) && gang__place_bound(k, m, s);
}

bool gang__place(struct gang__pack *k, struct gang__member m, const struct gang__scope *scope)
{
    int32_t same = gang__member_same(k->request, m), inside = scope->level;
    int32_t widest = same > inside ? same : inside;
    if (same > inside && gang__member_is_elastic(k->p, m))
        return gang__choose_in_level(k, m, same, scope);
    if (place_preferred(k, m, widest, scope))
        return true;
    if (binds_inside(k, m, widest))
        return false;
    if (same < 0)
        return gang__place_inside(k, m, scope);
    if (same > inside)
        return gang__choose_in_level(k, m, same, scope);
    /* A wider domain than the enclosing one was chosen from: there must be one. */
    struct gang__scope around;
    return gang__scope_at(k->p, scope, same, &around) && gang__place_bound(k, m, scope);
}

/* ---- inside a domain ------------------------------------------------------------------------- */

struct gang__scope gang__scope_around(const struct gang__pack *k, int32_t set)
{
    for (; set >= 0; set = k->request->set[set].parent)
        if (gang__scope_is_bound(&k->p->bound.set[set]))
            return k->p->bound.set[set];
    return gang__scope_is_bound(&k->p->bound.request) ? k->p->bound.request : gang__scope_all();
}

struct gang__scope gang__scope_outside(const struct gang__pack *k, struct gang__member m)
{
    return gang__scope_around(k, m.group >= 0 ? k->request->group[m.group].set
                                 : m.set >= 0 ? k->request->set[m.set].parent
                                              : GANG__NO_SET);
}

bool gang__next_demand(const struct gang__pack *k, uint32_t group, struct gang__member *m)
{
    const gang_request *request = k->request;
    const struct gang__group *g = &request->group[group];
    bool found = g->same >= 0 && !gang__scope_is_bound(&k->p->bound.group[group]);
    *m = gang__member_group(group, 0);
    for (int32_t s = g->set; s >= 0; s = request->set[s].parent) {
        if (request->set[s].same >= 0 && !gang__scope_is_bound(&k->p->bound.set[s])) {
            *m = gang__member_set(s);
            found = true;
        }
    }
    if (request->same >= 0 && !gang__scope_is_bound(&k->p->bound.request)) {
        *m = gang__member_all();
        found = true;
    }
    return found;
}

/* Choose a domain for a member that demands one, by the tasks of a group that are to go there: for
 * all of them if it can be, else for half, and so on. Adds them. */
static int64_t add_in_required(struct gang__pack *k, struct gang__member m, uint32_t group,
                               int64_t want)
{
    struct gang__scope scope = gang__scope_outside(k, m), around;
    int32_t same = gang__member_same(k->request, m);
    m.more_group = (int32_t)group;
    for (m.want = want; m.want > 0 && !k->p->out.failed; m.want /= 2) {
        bool done = scope.level >= same ? gang__scope_at(k->p, &scope, same, &around) &&
                                              gang__place_bound(k, m, &scope)
                                        : gang__choose_in_level(k, m, same, &scope);
        if (done)
            return m.want + (m.want < want ? gang__add_tasks(k, group, want - m.want) : 0);
    }
    return 0;
}

/* Places all in a domain that the group prefers, inside the one that binds it. */
static bool add_in_preferred(struct gang__pack *k, uint32_t group, int64_t want,
                             const struct gang__scope *s)
{
    struct gang__member m = gang__member_group(group, want);
    if (k->p->tasks.in_group[group] > 0)
        return false;
    for (int32_t level = gang__member_prefer(k, m, &m.implied); level > s->level;
         level = gang__level_wider(k->p->c, level))
        if (gang__choose_in_level(k, m, level, s))
            return true;
    return false;
}

/* The next wider scope there is around one. */
static struct gang__scope wider(const struct gang__plan *p, const struct gang__scope *s)
{
    struct gang__scope around = gang__scope_all();
    for (int32_t level = gang__level_wider(p->c, s->level); level > GANG__NO_LEVEL;
         level = gang__level_wider(p->c, level))
        if (gang__scope_at(p, s, level, &around))
            return around;
    return gang__scope_all();
}

int64_t gang__add_tasks(struct gang__pack *k, uint32_t group, int64_t want)
{
    struct gang__plan *p = k->p;
    struct gang__member m;
    if (gang__next_demand(k, group, &m))
        return add_in_required(k, m, group, want);
    struct gang__scope s = p->bound.group[group];
    if (!gang__scope_is_bound(&s))
        s = gang__scope_around(k, k->request->group[group].set);
    if (add_in_preferred(k, group, want, &s))
        return want;
    if (p->tasks.in_group[group] == 0 && binds_inside(k, gang__member_group(group, want), s.level))
        return 0;
    int32_t demanded = gang__demanded_level(k->request, (int32_t)group);
    int32_t preferred =
        k->insists ? gang__preferred_level(k->request, &k->request->group[group]) : -1;
    demanded = preferred > demanded ? preferred : demanded;
    for (int64_t done = 0;;) {
        done += gang__place_group(k, group, want - done, &s);
        if (done == want || s.level <= demanded || s.level <= k->widest || p->out.failed)
            return done;
        s = wider(p, &s);
    }
}

void gang__place_rest(struct gang__pack *k, struct gang__member m, const struct gang__scope *s)
{
    struct gang__pack inside = *k;
    inside.widest = s->level;
    for (uint32_t i = 0; i < k->request->group_count && !k->p->out.failed; i++) {
        m.want = 0;
        int64_t want = gang__member_most(k->p, m, i);
        if (want > 0)
            gang__add_tasks(&inside, i, want);
    }
}

static int64_t tasks_inside(const struct gang__pack *k, int32_t set)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < k->request->group_count; i++)
        if (gang__set_is_inside(k->request, k->request->group[i].set, set))
            sum += k->p->tasks.in_group[i];
    return sum;
}

/* A set or the request: its sets, its groups' minima, then more tasks up to its own minimum. */
static bool place_members(struct gang__pack *k, int32_t set, const struct gang__scope *s)
{
    const gang_request *request = k->request;
    for (uint32_t i = 0; i < request->group_set_count; i++) {
        if (request->set[i].parent == set && request->set[i].min > 0 &&
            !gang__place(k, gang__member_set((int32_t)i), s))
            return false;
    }
    for (uint32_t i = 0; i < request->group_count; i++) {
        uint32_t g = k->order ? k->order[i] : i;
        if (request->group[g].set == set && request->group[g].min > 0 &&
            !gang__place(k, gang__member_group(g, request->group[g].min), s))
            return false;
    }
    int64_t min = set < 0 ? request->min : request->set[set].min;
    for (uint32_t i = 0; i < request->group_count; i++) {
        uint32_t g = k->order ? k->order[i] : i;
        int64_t missing = min - tasks_inside(k, set);
        int64_t most = request->group[g].count - k->p->tasks.in_group[g];
        if (missing <= 0)
            return true;
        if (most > 0 && gang__set_is_inside(request, request->group[g].set, set))
            gang__add_tasks(k, g, missing < most ? missing : most);
    }
    return tasks_inside(k, set) >= min;
}

bool gang__place_inside(struct gang__pack *k, struct gang__member m, const struct gang__scope *s)
{
    if (m.more_group >= 0)
        return gang__add_tasks(k, (uint32_t)m.more_group, m.want) == m.want;
    if (m.group < 0)
        return place_members(k, m.set, s);
    if (m.subgroup)
        return gang__fill_few_nodes(k, (uint32_t)m.group, m.want, s) == m.want;
    return gang__place_group(k, (uint32_t)m.group, m.want, s) == m.want;
}

/* ---- the tasks of one group ------------------------------------------------------------------ */

/* Subgroup by subgroup, each in a domain of its own level. */
static int64_t place_subgroups(struct gang__pack *k, uint32_t group, int64_t want,
                               const struct gang__scope *s)
{
    const struct gang__group *g = &k->request->group[group];
    struct gang__member m = gang__member_group(group, g->subgroup_size);
    m.subgroup = true;
    int64_t done = 0;
    size_t tasks = k->p->tasks.count, binds = k->p->bound.undos;
    for (; done + g->subgroup_size <= want && gang__place(k, m, s); done += g->subgroup_size) {
        tasks = k->p->tasks.count;
        binds = k->p->bound.undos;
    }
    if (done + g->subgroup_size <= want) /* a part of the subgroup that failed */
        gang__undo(k->p, tasks, binds);
    return done;
}

int64_t gang__place_group(struct gang__pack *k, uint32_t group, int64_t want,
                          const struct gang__scope *scope)
{
    const struct gang__group *g = &k->request->group[group];
    if (g->subgroup_size)
        return place_subgroups(k, group, want, scope);
    if (g->spread >= 0)
        return gang__spread(k, group, want, scope);
    if (!gang__member_wants_few(k, gang__member_group(group, want)))
        return gang__search(k->p, group, want, scope, k->policy);
    return gang__fill_few_nodes(k, group, want, scope);
}
