/* SPDX-License-Identifier: Apache-2.0 */
/* What does a member of a request (a group, a set, the request) need, require and prefer? */
#include "place/pack/pack.h"

#include "core/nodes/nodes.h"
#include "place/request/request.h"

int64_t gang__member_need(const gang_request *request, struct gang__member m, uint32_t group)
{
    if (m.group >= 0 || m.more_group >= 0)
        return (int32_t)group == (m.more_group >= 0 ? m.more_group : m.group) ? m.want : 0;
    return gang__set_is_inside(request, request->group[group].set, m.set)
               ? request->group[group].min
               : 0;
}

int64_t gang__member_most(const struct gang__plan *p, struct gang__member m, uint32_t group)
{
    const gang_request *request = p->request;
    bool inside = m.group >= 0 ? (int32_t)group == m.group
                               : gang__set_is_inside(request, request->group[group].set, m.set);
    if (!inside || m.subgroup)
        return gang__member_need(request, m, group);
    int64_t ended = p->tasks.ended ? p->tasks.ended[group] : 0;
    int64_t most = request->group[group].count - p->tasks.in_group[group] - ended;
    return most > 0 ? most : 0;
}

bool gang__member_is_elastic(const struct gang__plan *p, struct gang__member m)
{
    const gang_request *request = p->request;
    bool one_group = m.group >= 0 || m.more_group >= 0;
    int64_t needed = one_group    ? m.want
                     : m.set >= 0 ? request->set[m.set].min
                                  : request->min,
            most = 0;
    if (m.subgroup || m.implied || p->mode.empty)
        return false;
    for (uint32_t i = 0; i < request->group_count; i++)
        most += gang__member_most(p, m, i);
    return most > needed;
}

uint32_t gang__member_lead(const gang_request *request, struct gang__member m)
{
    for (uint32_t i = 0; i < request->group_count; i++)
        if (gang__member_need(request, m, request->by_size[i]) > 0)
            return request->by_size[i];
    return request->by_size[0];
}

int32_t gang__member_same(const gang_request *request, struct gang__member m)
{
    if (m.subgroup)
        return request->group[m.group].subgroup_same;
    return m.group >= 0 ? request->group[m.group].same
           : m.set >= 0 ? request->set[m.set].same
                        : request->same;
}

/* Does a set, one around it or the request require or prefer a domain? */
static bool is_bound(const gang_request *request, int32_t set)
{
    bool bound = request->same >= 0 || request->prefer >= 0;
    for (; set >= 0 && !bound; set = request->set[set].parent)
        bound = request->set[set].same >= 0 || request->set[set].prefer >= 0;
    return bound;
}

bool gang__member_wants_few(const struct gang__pack *k, struct gang__member m)
{
    const gang_request *request = k->request;
    if (k->policy != GANG_POLICY_DEFAULT)
        return k->policy == GANG_POLICY_TOPOLOGY;
    if (m.group < 0)
        return is_bound(request, m.set);
    const struct gang__group *g = &request->group[m.group];
    return g->same >= 0 || g->prefer >= 0 || is_bound(request, g->set);
}

/* The widest level over which a group of a member is to spread; INT32_MAX: none is. */
static int32_t spread_in(const gang_request *request, struct gang__member m)
{
    int32_t widest = INT32_MAX;
    for (uint32_t i = 0; i < request->group_count; i++) {
        const struct gang__group *g = &request->group[i];
        bool inside = m.group >= 0 ? (int32_t)i == m.group && !m.subgroup
                                   : gang__set_is_inside(request, g->set, m.set);
        if (inside && g->spread >= 0 && g->spread < widest)
            widest = g->spread;
    }
    return widest;
}

/* The level that a member prefers, as the request says. */
static int32_t prefer_of(const gang_request *request, struct gang__member m)
{
    return m.subgroup     ? request->group[m.group].subgroup_prefer
           : m.group >= 0 ? request->group[m.group].prefer
           : m.set >= 0   ? request->set[m.set].prefer
                          : request->prefer;
}

int32_t gang__member_stated_prefer(const struct gang__pack *k, struct gang__member m)
{
    int32_t stated = prefer_of(k->request, m), spread = spread_in(k->request, m);
    while (stated >= 0 && stated >= spread)
        stated = gang__level_wider(k->p->c, stated);
    return stated;
}

int32_t gang__member_prefer(const struct gang__pack *k, struct gang__member m, bool *implied)
{
    const gang_request *request = k->request;
    int32_t stated = prefer_of(request, m), spread = spread_in(request, m);
    *implied = stated < GANG__LEVEL_NODE && spread == INT32_MAX && gang__member_wants_few(k, m);
    if (*implied)
        return m.group >= 0 && request->group[m.group].devices ? GANG__LEVEL_ISLAND
                                                               : GANG__LEVEL_NODE;
    return gang__member_stated_prefer(k, m);
}

int32_t gang__preferred_level(const gang_request *request, const struct gang__group *g)
{
    int32_t level = g->prefer > request->prefer ? g->prefer : request->prefer;
    for (int32_t k = g->set; k >= 0; k = request->set[k].parent)
        level = request->set[k].prefer > level ? request->set[k].prefer : level;
    return level;
}

int32_t gang__demanded_around(const gang_request *request, int32_t set)
{
    int32_t level = request->same;
    for (; set >= 0; set = request->set[set].parent)
        if (request->set[set].same > level)
            level = request->set[set].same;
    return level;
}

int32_t gang__demanded_level(const gang_request *request, int32_t group)
{
    int32_t around = gang__demanded_around(request, request->group[group].set);
    return around > request->group[group].same ? around : request->group[group].same;
}
