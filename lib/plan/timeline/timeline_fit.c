/* SPDX-License-Identifier: Apache-2.0 */
/* The earliest start of a gang, the latest one, and its places there.
 *
 * A node can take a task from t to t + d if it can until t + d, and has been able to since the
 * present or since the end of an occupation. So:
 *   1. t goes on to where the sums are enough for the whole duration;
 *   2. nodes that cannot take a task until t + d are dropped from the candidates; nodes that came
 *      free since the last t (at first: all that are free at the present) and can are added;
 *   3. enough candidates: done. Otherwise t goes on to the next end that may help, and so on.
 * A node that is free at t but came free before the last t was a candidate then. So no search
 * considers a node twice without a reason. */
#include "plan/timeline/timeline_search_in.h"

/* Sums up what the whole gang needs at least. GANG_ENEVER: no node takes a task. */
static gang_result sum_up(struct gang__time_search *s)
{
    const struct gang__timeline *t = s->t;
    /* on one node the sums are all that is checked */
    const struct gang__time_group *group =
        t->flat && t->first < t->nodes ? gang__groups_on(s->request, t->first) : s->request->group;
    for (size_t i = 0; i < s->request->group_count; i++) {
        const struct gang__time_group *g = &group[i];
        if (!gang__time_group_is_valid(g))
            return GANG_ERANGE;
        int64_t on_one = gang__tasks_in_more(t, g, t->max_amount, t->max_more, t->max_more);
        if (on_one == 0)
            return GANG_ENEVER;
        int64_t nodes = (g->count + on_one - 1) / on_one;
        if (t->flat && nodes > 1)
            return GANG_ENEVER;
        if (s->request->whole && nodes > s->need[GANG__FREE_NODES])
            s->need[GANG__FREE_NODES] = nodes;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            s->need[k] = gang__add_sat(s->need[k], gang__mul_div(g->count, g->need[k], 1));
    }
    return GANG_OK;
}

/* The highest level that every task needs. */
static int level_of(const struct gang__time_search *s)
{
    int level = GANG__LEVELS - 1;
    if (s->request->whole)
        return GANG__LEVEL_WHOLE;
    for (size_t i = 0; i < s->request->group_count; i++)
        while (level > GANG__LEVEL_WHOLE &&
               s->t->level[level] > s->request->group[i].need[s->t->main_kind])
            level--;
    return level > GANG__LEVEL_WHOLE ? level : GANG__LEVEL_NONE;
}

/* ---- placing ------------------------------------------------------------------------------- */

static gang_result add_place(struct gang__time_search *s, struct gang__time_fit *fit, uint32_t node,
                             uint32_t group, int64_t tasks)
{
    if (!gang__grow(&s->t->mem, (void **)&fit->place, &fit->cap, fit->count + 1,
                    sizeof(fit->place[0])))
        return GANG_ENOMEM;
    fit->place[fit->count++] = (struct gang__time_place){node, group, tasks};
    return GANG_OK;
}

/* First fit: as many tasks of each group as fit on the node. */
static gang_result fill_node(struct gang__time_search *s, struct gang__time_fit *fit, int64_t *left,
                             const struct gang__candidate *c)
{
    int64_t unused[GANG__FREE_KINDS], more[GANG__MORE_MAX];
    const struct gang__timeline *t = s->t;
    const struct gang__time_group *group = gang__groups_on(s->request, c->node);
    memcpy(unused, c->unused, sizeof(unused));
    if (t->more_kinds)
        memcpy(more, t->more_of_candidate + (size_t)(c - t->candidate) * t->more_kinds,
               t->more_kinds * sizeof(*more));
    for (uint32_t i = 0; i < s->request->group_count; i++) {
        const struct gang__time_group *g = &group[i];
        int64_t tasks = gang__tasks_in_more(t, g, unused, more, gang__more_capacity(t, c->node));
        tasks = tasks < left[i] ? tasks : left[i];
        if (tasks == 0)
            continue;
        left[i] -= tasks;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            unused[k] -= tasks * g->need[k];
        for (uint32_t k = 0; k < t->more_kinds; k++)
            more[k] -= tasks * g->more[k];
        gang_result r = add_place(s, fit, c->node, i, tasks);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

/* Places all tasks on the candidates. GANG_OK; GANG_ENOFIT: not first fit; GANG_ENOMEM. Afterwards
 * `tasks` is what is left of each group. */
static gang_result place_tasks(struct gang__time_search *s, struct gang__time_fit *fit)
{
    struct gang__timeline *t = s->t;
    int64_t *left = t->tasks;
    fit->count = 0;
    for (size_t i = 0; i < s->request->group_count; i++)
        left[i] = s->request->group[i].count;
    for (size_t i = 0; i <= t->nodes / 64; i++)
        for (uint64_t w = t->is_candidate[i]; w; w &= w - 1) {
            uint32_t node = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(w);
            gang_result r = fill_node(s, fit, left, &t->candidate[t->candidate_of[node]]);
            if (r != GANG_OK)
                return r;
        }
    for (size_t i = 0; i < s->request->group_count; i++)
        if (left[i] > 0)
            return GANG_ENOFIT;
    return GANG_OK;
}

/* Places all tasks on the one node of a flat machine. GANG_OK, GANG_ENOMEM. */
static gang_result place_flat(struct gang__time_search *s, struct gang__time_fit *fit)
{
    gang_result r = GANG_OK;
    fit->count = 0;
    for (uint32_t i = 0; i < s->request->group_count && r == GANG_OK; i++)
        r = add_place(s, fit, s->t->first, i, s->request->group[i].count);
    return r;
}

/* ---- searching ----------------------------------------------------------------------------- */

/* Tries the first instant >= start_ns at which the sums are enough. GANG_OK; GANG_ENOFIT: not
 * there; GANG_ENEVER; GANG_ENOMEM. */
static gang_result try_from(struct gang__time_search *s, bool first, struct gang__time_fit *fit)
{
    s->start_ns = gang__timeline_earliest_sum(s->t, s->need, s->start_ns, s->request->duration_ns);
    if (s->start_ns == GANG__NEVER)
        return GANG_ENEVER;
    if (s->t->flat)
        return place_flat(s, fit);
    s->end_ns = gang__add_sat(s->start_ns, s->request->duration_ns);
    s->own = false;
    if (first)
        gang__time_search_consider_now(s);
    else
        gang__time_search_drop_expired(s);
    gang__time_search_consider_ends(s);
    if (!gang__time_search_has_enough(s))
        return GANG_ENOFIT;
    gang_result r = place_tasks(s, fit);
    if (r == GANG_ENOFIT)
        gang__time_search_recount(s);
    return r;
}

static gang_result search(struct gang__time_search *s, struct gang__time_fit *fit)
{
    gang_result r = try_from(s, true, fit);
    while (r == GANG_ENOFIT) {
        s->own = true;
        const struct gang__edge *e = gang__time_search_next_end(s->t->edges.root, s, GANG__NEVER);
        if (!e)
            return GANG_ENEVER;
        s->start_ns = e->at_ns;
        r = try_from(s, false, fit);
    }
    return r;
}

/* On a flat machine a gang for which the sums are enough fits, if the request allows the node. */
static bool may_lie_flat(const struct gang__time_search *s)
{
    uint32_t node = s->t->first;
    if (node == s->t->nodes ||
        (s->request->nodes && !(s->request->nodes[node / 64] >> node % 64 & 1)))
        return false;
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        if (s->need[k] > s->t->total[k])
            return false;
    return true;
}

/* What every search begins with. */
static gang_result prepare(struct gang__time_search *s, struct gang__time_fit *fit)
{
    struct gang__timeline *t = s->t;
    fit->count = 0;
    if (s->request->group_count < 1 || s->request->duration_ns <= 0)
        return GANG_EINVAL;
    gang_result r = sum_up(s);
    if (r != GANG_OK)
        return r;
    if (t->flat)
        return may_lie_flat(s) ? GANG_OK : GANG_ENEVER;
    if (!gang__grow(&t->mem, (void **)&t->tasks, &t->tasks_cap, s->request->group_count,
                    sizeof(t->tasks[0])))
        return GANG_ENOMEM;
    memset(t->tasks, 0, s->request->group_count * sizeof(t->tasks[0]));
    s->level = level_of(s);
    return GANG_OK;
}

gang_result gang__timeline_earliest(struct gang__timeline *t,
                                    const struct gang__time_request *request, int64_t from_ns,
                                    struct gang__time_fit *fit)
{
    struct gang__time_search s = {.t = t, .request = request, .since_ns = t->now_ns};
    gang_result r = prepare(&s, fit);
    if (r != GANG_OK)
        return r;
    s.start_ns = from_ns > t->now_ns ? from_ns : t->now_ns;
    r = search(&s, fit);
    gang__time_search_clear(&s);
    fit->start_ns = s.start_ns;
    if (r != GANG_OK)
        fit->count = 0;
    return r;
}

/* ---- at one time, at the latest ------------------------------------------------------------ */

/* Tries one start, at which the sums are enough. GANG_OK, GANG_ENOFIT, GANG_ENOMEM. */
static gang_result try_at(struct gang__time_search *s, int64_t start_ns, struct gang__time_fit *fit)
{
    fit->start_ns = start_ns;
    if (s->t->flat)
        return place_flat(s, fit);
    s->start_ns = start_ns;
    s->end_ns = gang__add_sat(start_ns, s->request->duration_ns);
    memset(s->t->tasks, 0, s->request->group_count * sizeof(s->t->tasks[0]));
    for (uint32_t node = s->t->first; node < s->t->nodes && !gang__time_search_is_done(s); node++)
        gang__time_search_consider(s, node);
    gang_result r = gang__time_search_has_enough(s) ? place_tasks(s, fit) : GANG_ENOFIT;
    gang__time_search_clear(s);
    if (r != GANG_OK)
        fit->count = 0;
    return r;
}

gang_result gang__timeline_at(struct gang__timeline *t, const struct gang__time_request *request,
                              int64_t start_ns, struct gang__time_fit *fit)
{
    struct gang__time_search s = {.t = t, .request = request};
    gang_result r = prepare(&s, fit);
    if (r != GANG_OK)
        return r == GANG_ENEVER ? GANG_ENOFIT : r;
    if (start_ns < t->now_ns ||
        !gang__timeline_fits_sum(t, s.need, start_ns,
                                 gang__add_sat(start_ns, request->duration_ns)))
        return GANG_ENOFIT;
    return try_at(&s, start_ns, fit);
}

/* The last instant before at_ns at which something begins. */
static const struct gang__edge *beginning_before(struct gang__timeline *t, int64_t at_ns)
{
    const struct gang__edge *e = gang__edge_before(t, at_ns);
    while (e && !e->first[GANG__STARTS])
        e = gang__edge_before(t, e->at_ns);
    return e;
}

gang_result gang__timeline_latest(struct gang__timeline *t,
                                  const struct gang__time_request *request, int64_t from_ns,
                                  int64_t to_ns, struct gang__time_fit *fit)
{
    struct gang__time_search s = {.t = t, .request = request};
    gang_result r = prepare(&s, fit);
    if (r == GANG_OK && request->duration_ns == GANG__NEVER)
        r = GANG_EINVAL;
    if (r != GANG_OK)
        return r == GANG_ENEVER ? GANG_ENOFIT : r;
    for (;;) {
        to_ns = gang__timeline_latest_sum(t, s.need, from_ns, to_ns, request->duration_ns);
        if (to_ns == GANG__NEVER)
            return GANG_ENOFIT;
        r = try_at(&s, to_ns, fit);
        if (r != GANG_ENOFIT)
            return r;
        const struct gang__edge *e = beginning_before(t, to_ns + request->duration_ns);
        if (!e || e->at_ns <= from_ns)
            return GANG_ENOFIT;
        to_ns = e->at_ns - request->duration_ns;
    }
}

gang_result gang__timeline_fits_empty(struct gang__timeline *t,
                                      const struct gang__time_request *request,
                                      struct gang__time_fit *fit)
{
    struct gang__time_search s = {.t = t, .request = request, .empty = true};
    gang_result r = prepare(&s, fit);
    if (r != GANG_OK)
        return r;
    r = try_at(&s, t->now_ns, fit);
    return r == GANG_ENOFIT ? GANG_ENEVER : r;
}

int64_t gang__timeline_capacity(const struct gang__timeline *t,
                                const struct gang__time_request *request, size_t group)
{
    int64_t tasks = 0;
    for (uint32_t node = t->first; node < t->nodes; node++)
        if (!request->nodes || request->nodes[node / 64] >> node % 64 & 1)
            tasks +=
                gang__tasks_in_more(t, &gang__groups_on(request, node)[group], t->capacity[node],
                                    gang__more_capacity(t, node), gang__more_capacity(t, node));
    return tasks;
}
