/* SPDX-License-Identifier: Apache-2.0 */
/* What does a member of a request (a group, a set, the request) need, require and prefer? */
#include "place/pack/pack.h"

#include "core/nodes/nodes.h"
#include "place/request/request.h"

int64_t gang__member_need(const gang_request *q, struct gang__member m, uint32_t group)
{
    if (m.group >= 0 || m.more_group >= 0)
        return (int32_t)group == (m.more_group >= 0 ? m.more_group : m.group) ? m.want : 0;
    return gang__set_is_inside(q, q->group[group].set, m.set) ? q->group[group].min : 0;
}

int64_t gang__member_most(const struct gang__plan *p, struct gang__member m, uint32_t group)
{
    const gang_request *q = p->q;
    bool inside = m.group >= 0 ? (int32_t)group == m.group
                               : gang__set_is_inside(q, q->group[group].set, m.set);
    if (!inside || m.subgroup)
        return gang__member_need(q, m, group);
    int64_t ended = p->tasks.ended ? p->tasks.ended[group] : 0;
    int64_t most = q->group[group].count - p->tasks.in_group[group] - ended;
    return most > 0 ? most : 0;
}

bool gang__member_is_elastic(const struct gang__plan *p, struct gang__member m)
{
    const gang_request *q = p->q;
    bool one_group = m.group >= 0 || m.more_group >= 0;
    int64_t needed = one_group ? m.want : m.set >= 0 ? q->set[m.set].min : q->min, most = 0;
    if (m.subgroup || m.implied || p->mode.empty)
        return false;
    for (uint32_t i = 0; i < q->group_count; i++)
        most += gang__member_most(p, m, i);
    return most > needed;
}

uint32_t gang__member_lead(const gang_request *q, struct gang__member m)
{
    for (uint32_t i = 0; i < q->group_count; i++)
        if (gang__member_need(q, m, q->by_size[i]) > 0)
            return q->by_size[i];
    return q->by_size[0];
}

int32_t gang__member_same(const gang_request *q, struct gang__member m)
{
    if (m.subgroup)
        return q->group[m.group].subgroup_same;
    return m.group >= 0 ? q->group[m.group].same : m.set >= 0 ? q->set[m.set].same : q->same;
}

/* Does a set, one around it or the request require or prefer a domain? */
static bool is_bound(const gang_request *q, int32_t set)
{
    bool bound = q->same >= 0 || q->prefer >= 0;
    for (; set >= 0 && !bound; set = q->set[set].parent)
        bound = q->set[set].same >= 0 || q->set[set].prefer >= 0;
    return bound;
}

bool gang__member_wants_few(const struct gang__pack *k, struct gang__member m)
{
    const gang_request *q = k->q;
    if (k->policy != GANG_POLICY_DEFAULT)
        return k->policy == GANG_POLICY_TOPOLOGY;
    if (m.group < 0)
        return is_bound(q, m.set);
    const struct gang__group *g = &q->group[m.group];
    return g->same >= 0 || g->prefer >= 0 || is_bound(q, g->set);
}

/* The widest level over which a group of a member is to spread; INT32_MAX: none is. */
static int32_t spread_in(const gang_request *q, struct gang__member m)
{
    int32_t widest = INT32_MAX;
    for (uint32_t i = 0; i < q->group_count; i++) {
        const struct gang__group *g = &q->group[i];
        bool inside = m.group >= 0 ? (int32_t)i == m.group && !m.subgroup
                                   : gang__set_is_inside(q, g->set, m.set);
        if (inside && g->spread >= 0 && g->spread < widest)
            widest = g->spread;
    }
    return widest;
}

/* The level that a member prefers, as the request says. */
static int32_t prefer_of(const gang_request *q, struct gang__member m)
{
    return m.subgroup     ? q->group[m.group].subgroup_prefer
           : m.group >= 0 ? q->group[m.group].prefer
           : m.set >= 0   ? q->set[m.set].prefer
                          : q->prefer;
}

int32_t gang__member_stated_prefer(const struct gang__pack *k, struct gang__member m)
{
    int32_t stated = prefer_of(k->q, m), spread = spread_in(k->q, m);
    while (stated >= 0 && stated >= spread)
        stated = gang__level_wider(k->p->c, stated);
    return stated;
}

int32_t gang__member_prefer(const struct gang__pack *k, struct gang__member m, bool *implied)
{
    const gang_request *q = k->q;
    int32_t stated = prefer_of(q, m), spread = spread_in(q, m);
    *implied = stated < GANG__LEVEL_NODE && spread == INT32_MAX && gang__member_wants_few(k, m);
    if (*implied)
        return m.group >= 0 && q->group[m.group].devices ? GANG__LEVEL_ISLAND : GANG__LEVEL_NODE;
    return gang__member_stated_prefer(k, m);
}

int32_t gang__preferred_level(const gang_request *q, const struct gang__group *g)
{
    int32_t level = g->prefer > q->prefer ? g->prefer : q->prefer;
    for (int32_t k = g->set; k >= 0; k = q->set[k].parent)
        level = q->set[k].prefer > level ? q->set[k].prefer : level;
    return level;
}

int32_t gang__demanded_around(const gang_request *q, int32_t set)
{
    int32_t level = q->same;
    for (; set >= 0; set = q->set[set].parent)
        if (q->set[set].same > level)
            level = q->set[set].same;
    return level;
}

int32_t gang__demanded_level(const gang_request *q, int32_t group)
{
    int32_t around = gang__demanded_around(q, q->group[group].set);
    return around > q->group[group].same ? around : q->group[group].same;
}
