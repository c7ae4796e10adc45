/* SPDX-License-Identifier: Apache-2.0 */
/* The earliest start of a gang.
 *
 * A node can take something from t to t + d if it could from the present on, or has been able to
 * since an end of an occupation, and can until t + d. So:
 *   1. t goes on to where the sums leave room for the whole duration;
 *   2. nodes that cannot take it until t + d any more are candidates no longer; those join that
 *   came free
 *      since the last t (at first: by now) and can;
 *   3. enough candidates: done. Otherwise t goes on to the next end that may help, and so on.
 * Nodes that are free at t but came free before the last t were candidates then: they need not be
 * looked for. */
#include <assert.h>

#include "plan/timeline/timeline_in.h"

struct search {
    struct gang__timeline *t;
    const struct gang__time_ask *ask;
    int64_t need[GANG__FREE_DIMS]; /* in all */
    int64_t start_ns, end_ns;      /* that is tried */
    int64_t since_ns;              /* ends up to then have been looked at */
    int level;                     /* that a node must have to take any task; GANG__LEVEL_NONE */
    bool empty;                    /* as if nothing were taken */
    bool own;                      /* event_may() of the one edge whose own start is tried */
};

/* ---- what is asked for --------------------------------------------------------------------- */

/* How many tasks of the group go into so much, as far as matters. */
static int64_t tasks_in(const struct gang__time_group *g, const int64_t *unused)
{
    int64_t tasks = g->most > 0 && g->most < g->count ? g->most : g->count;
    for (int k = 0; k < GANG__FREE_KINDS; k++) {
        if (unused[k] < g->need[k])
            return 0;
        if (g->need[k] > 0 && tasks > 1 && unused[k] / g->need[k] < tasks)
            tasks = unused[k] / g->need[k];
    }
    return tasks;
}

/* What tasks need there. */
static const struct gang__time_group *groups_on(const struct gang__time_ask *ask, uint32_t node)
{
    return ask->variant ? ask->variant + ask->kind[node] * ask->group_count : ask->group;
}

static bool takes_some(const struct search *s, const struct gang__time_group *group,
                       const int64_t *unused)
{
    for (size_t i = 0; i < s->ask->group_count; i++)
        if (tasks_in(&group[i], unused) > 0)
            return true;
    return false;
}

static bool is_sane(const struct gang__time_group *g)
{
    bool sane = g->count >= 1 && g->count <= INT32_MAX && g->most >= 0;
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        sane = sane && g->need[k] >= 0 && g->need[k] <= GANG__AMOUNT_MAX;
    return sane;
}

/* What the whole gang needs at least, by sums. GANG_ENEVER: no node takes a task. */
static gang_result sum_up(struct search *s)
{
    const struct gang__timeline *t = s->t;
    /* on one node the sums are all that is asked */
    const struct gang__time_group *group =
        t->flat && t->first < t->nodes ? groups_on(s->ask, t->first) : s->ask->group;
    for (size_t i = 0; i < s->ask->group_count; i++) {
        const struct gang__time_group *g = &group[i];
        if (!is_sane(g))
            return GANG_ERANGE;
        int64_t on_one = tasks_in(g, t->most);
        if (on_one == 0)
            return GANG_ENEVER;
        int64_t nodes = (g->count + on_one - 1) / on_one;
        if (t->flat && nodes > 1)
            return GANG_ENEVER;
        if (s->ask->whole && nodes > s->need[GANG__FREE_NODES])
            s->need[GANG__FREE_NODES] = nodes;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            s->need[k] = gang__add_sat(s->need[k], gang__mul_div(g->count, g->need[k], 1));
    }
    return GANG_OK;
}

/* The highest level that every task asks for. */
static int level_of(const struct search *s)
{
    int level = GANG__LEVELS - 1;
    if (s->ask->whole)
        return GANG__LEVEL_WHOLE;
    for (size_t i = 0; i < s->ask->group_count; i++)
        while (level > GANG__LEVEL_WHOLE &&
               s->t->level[level] > s->ask->group[i].need[s->t->main_kind])
            level--;
    return level > GANG__LEVEL_WHOLE ? level : GANG__LEVEL_NONE;
}

/* ---- candidates ---------------------------------------------------------------------------- */

static void count_tasks(struct search *s, const struct gang__candidate *c, int sign)
{
    const struct gang__time_group *group = groups_on(s->ask, c->node);
    for (size_t i = 0; i < s->ask->group_count; i++)
        s->t->tasks[i] += sign * tasks_in(&group[i], c->unused);
}

static bool has_enough(const struct search *s)
{
    for (size_t i = 0; i < s->ask->group_count; i++)
        if (s->t->tasks[i] < s->ask->group[i].count)
            return false;
    return true;
}

static void drop(struct search *s, uint32_t at)
{
    struct gang__timeline *t = s->t;
    uint32_t node = t->candidate[at].node;
    count_tasks(s, &t->candidate[at], -1);
    t->candidate[at] = t->candidate[--t->candidate_count];
    t->candidate_of[t->candidate[at].node] = at;
    t->candidate_of[node] = GANG__NONE;
    t->is_candidate[node / 64] &= ~(UINT64_C(1) << node % 64);
}

/* A node may have become able to take something, or may be so no longer. */
static void look_at(struct search *s, uint32_t node)
{
    struct gang__timeline *t = s->t;
    struct gang__candidate c = {.node = node};
    if (s->ask->nodes && !(s->ask->nodes[node / 64] >> node % 64 & 1))
        return;
    if (s->empty) {
        c.until_ns = GANG__NEVER;
        memcpy(c.unused, t->capacity[node], sizeof(c.unused));
    } else if (s->ask->whole) {
        c.until_ns = gang__node_after(t, node, s->start_ns, s->level).reach_ns[s->level];
        memcpy(c.unused, t->capacity[node], sizeof(c.unused));
    } else {
        gang__node_during(t, node, s->start_ns, s->end_ns, c.unused, &c.until_ns);
    }
    uint32_t at = t->candidate_of[node];
    if (at != GANG__NONE)
        drop(s, at);
    if (c.until_ns < s->end_ns || !takes_some(s, groups_on(s->ask, node), c.unused))
        return;
    at = t->candidate_count++;
    t->candidate[at] = c;
    t->candidate_of[node] = at;
    t->is_candidate[node / 64] |= UINT64_C(1) << node % 64;
    count_tasks(s, &c, 1);
}

/* Drops candidates that had enough until the last end that was tried, but not until this one. */
static void look_again(struct search *s)
{
    struct gang__timeline *t = s->t;
    for (uint32_t i = t->candidate_count; i-- > 0;)
        if (t->candidate[i].until_ns < s->end_ns)
            look_at(s, t->candidate[i].node);
}

static void forget(struct search *s)
{
    struct gang__timeline *t = s->t;
    for (uint32_t i = 0; i < t->candidate_count; i++) {
        uint32_t node = t->candidate[i].node;
        t->candidate_of[node] = GANG__NONE;
        t->is_candidate[node / 64] &= ~(UINT64_C(1) << node % 64);
    }
    t->candidate_count = 0;
}

/* ---- what comes free ----------------------------------------------------------------------- */

/* Can this be of use to what is tried? */
static bool after_may(const struct gang__after_end *after, const void *ctx)
{
    const struct search *s = ctx;
    if (s->level >= 0 && after->reach_ns[s->level] < s->end_ns)
        return false;
    return takes_some(s, s->ask->group, after->best);
}

/* The first end in (since, to] that can help, or whose own start is a possible one. Recursive, as
 * deep as the tree is high. */
static struct gang__edge *next_end(struct gang__set_link *n, const struct search *s, int64_t to)
{
    while (n) {
        struct gang__edge *e = gang__edge_of(n), *found;
        if (!after_may(&e->after_below, s))
            return NULL;
        if (e->at_ns > s->since_ns) {
            if ((found = next_end(n->child[0], s, to)) != NULL)
                return found;
            if (e->at_ns > to)
                return NULL;
            bool lasts =
                !s->own || s->level < 0 ||
                e->after.reach_ns[s->level] >= gang__add_sat(e->at_ns, s->ask->duration_ns);
            if (e->first[GANG__ENDS] && lasts && after_may(&e->after, s))
                return e;
        }
        n = n->child[1];
    }
    return NULL;
}

/* An occupation has ended. Look at its nodes, and note what it truly leaves behind. */
static void look_behind(struct search *s, struct gang__occupant *o)
{
    struct gang__after_end all = GANG__AFTER_NOTHING;
    for (uint32_t i = 0; i < o->stay_count; i++) {
        struct gang__after_end after = gang__node_after(s->t, o->stay[i].node, o->end_ns, s->level);
        gang__after_lift(&all, &after);
        if (after_may(&after, s))
            look_at(s, o->stay[i].node);
    }
    for (int i = 0; i < GANG__LEVELS; i++)
        if (i != s->level)
            all.reach_ns[i] = o->after.reach_ns[i];
    gang__edge_bound(s->t, o, &all);
}

static bool is_done(const struct search *s)
{
    return s->ask->group_count == 1 && has_enough(s);
}

static void look_at_now(struct search *s)
{
    struct gang__timeline *t = s->t;
    gang__nodes_settle(t);
    uint32_t node = gang__node_next(t, t->first, after_may, s);
    for (; node < t->nodes && !is_done(s); node = gang__node_next(t, node + 1, after_may, s))
        look_at(s, node);
}

/* All that came free since the last try. */
static void look_at_ends(struct search *s)
{
    struct gang__edge *e;
    while (!is_done(s) && (e = next_end(s->t->edges.root, s, s->start_ns)) != NULL) {
        for (struct gang__occupant *o = e->first[GANG__ENDS]; o; o = o->next[GANG__ENDS])
            look_behind(s, o);
        s->since_ns = e->at_ns;
    }
    s->since_ns = s->start_ns;
}

/* ---- laying out ---------------------------------------------------------------------------- */

static gang_result put(struct search *s, struct gang__time_fit *fit, uint32_t node, uint32_t group,
                       int64_t tasks)
{
    if (!gang__grow(&s->t->mem, (void **)&fit->place, &fit->room, fit->count + 1,
                    sizeof(fit->place[0])))
        return GANG_ENOMEM;
    fit->place[fit->count++] = (struct gang__time_place){node, group, tasks};
    return GANG_OK;
}

/* First fit: as many tasks of a group as go on the node. */
static gang_result fill_node(struct search *s, struct gang__time_fit *fit, int64_t *left,
                             const struct gang__candidate *c)
{
    int64_t unused[GANG__FREE_KINDS];
    const struct gang__time_group *group = groups_on(s->ask, c->node);
    memcpy(unused, c->unused, sizeof(unused));
    for (uint32_t i = 0; i < s->ask->group_count; i++) {
        const struct gang__time_group *g = &group[i];
        int64_t tasks = tasks_in(g, unused);
        tasks = tasks < left[i] ? tasks : left[i];
        if (tasks == 0)
            continue;
        left[i] -= tasks;
        for (int k = 0; k < GANG__FREE_KINDS; k++)
            unused[k] -= tasks * g->need[k];
        gang_result r = put(s, fit, c->node, i, tasks);
        if (r != GANG_OK)
            return r;
    }
    return GANG_OK;
}

/* GANG_OK; GANG_ENOFIT: not this way; GANG_ENOMEM. Afterwards `tasks` is what is left of each
 * group. */
static gang_result lay_out(struct search *s, struct gang__time_fit *fit)
{
    struct gang__timeline *t = s->t;
    int64_t *left = t->tasks;
    fit->count = 0;
    for (size_t i = 0; i < s->ask->group_count; i++)
        left[i] = s->ask->group[i].count;
    for (size_t i = 0; i <= t->nodes / 64; i++)
        for (uint64_t w = t->is_candidate[i]; w; w &= w - 1) {
            uint32_t node = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(w);
            gang_result r = fill_node(s, fit, left, &t->candidate[t->candidate_of[node]]);
            if (r != GANG_OK)
                return r;
        }
    for (size_t i = 0; i < s->ask->group_count; i++)
        if (left[i] > 0)
            return GANG_ENOFIT;
    return GANG_OK;
}

/* What lay_out() wrote over. */
static void count_again(struct search *s)
{
    memset(s->t->tasks, 0, s->ask->group_count * sizeof(s->t->tasks[0]));
    for (uint32_t i = 0; i < s->t->candidate_count; i++)
        count_tasks(s, &s->t->candidate[i], 1);
}

/* On a flat machine: all of it on the node. GANG_OK, GANG_ENOMEM. */
static gang_result lay_out_flat(struct search *s, struct gang__time_fit *fit)
{
    gang_result r = GANG_OK;
    fit->count = 0;
    for (uint32_t i = 0; i < s->ask->group_count && r == GANG_OK; i++)
        r = put(s, fit, s->t->first, i, s->ask->group[i].count);
    return r;
}

/* ---- searching ----------------------------------------------------------------------------- */

/* Try the first instant >= start_ns at which the sums leave room. GANG_OK; GANG_ENOFIT: not there;
 * GANG_ENEVER; GANG_ENOMEM. */
static gang_result try_from(struct search *s, bool first, struct gang__time_fit *fit)
{
    s->start_ns = gang__timeline_earliest_sum(s->t, s->need, s->start_ns, s->ask->duration_ns);
    if (s->start_ns == GANG__NEVER)
        return GANG_ENEVER;
    if (s->t->flat)
        return lay_out_flat(s, fit);
    s->end_ns = gang__add_sat(s->start_ns, s->ask->duration_ns);
    s->own = false;
    if (first)
        look_at_now(s);
    else
        look_again(s);
    look_at_ends(s);
    if (!has_enough(s))
        return GANG_ENOFIT;
    gang_result r = lay_out(s, fit);
    if (r == GANG_ENOFIT)
        count_again(s);
    return r;
}

static gang_result search(struct search *s, struct gang__time_fit *fit)
{
    gang_result r = try_from(s, true, fit);
    while (r == GANG_ENOFIT) {
        s->own = true;
        const struct gang__edge *e = next_end(s->t->edges.root, s, GANG__NEVER);
        if (!e)
            return GANG_ENEVER;
        s->start_ns = e->at_ns;
        r = try_from(s, false, fit);
    }
    return r;
}

/* On a flat machine what the sums leave room for lies on the node, if it may. */
static bool may_lie_flat(const struct search *s)
{
    uint32_t node = s->t->first;
    if (node == s->t->nodes || (s->ask->nodes && !(s->ask->nodes[node / 64] >> node % 64 & 1)))
        return false;
    for (int k = 0; k < GANG__FREE_DIMS; k++)
        if (s->need[k] > s->t->total[k])
            return false;
    return true;
}

/* What every search begins with. */
static gang_result prepare(struct search *s, struct gang__time_fit *fit)
{
    struct gang__timeline *t = s->t;
    fit->count = 0;
    if (s->ask->group_count < 1 || s->ask->duration_ns <= 0)
        return GANG_EINVAL;
    gang_result r = sum_up(s);
    if (r != GANG_OK)
        return r;
    if (t->flat)
        return may_lie_flat(s) ? GANG_OK : GANG_ENEVER;
    if (!gang__grow(&t->mem, (void **)&t->tasks, &t->tasks_room, s->ask->group_count,
                    sizeof(t->tasks[0])))
        return GANG_ENOMEM;
    memset(t->tasks, 0, s->ask->group_count * sizeof(t->tasks[0]));
    s->level = level_of(s);
    return GANG_OK;
}

gang_result gang__timeline_earliest(struct gang__timeline *t, const struct gang__time_ask *ask,
                                    int64_t from_ns, struct gang__time_fit *fit)
{
    struct search s = {.t = t, .ask = ask, .since_ns = t->now_ns};
    gang_result r = prepare(&s, fit);
    if (r != GANG_OK)
        return r;
    s.start_ns = from_ns > t->now_ns ? from_ns : t->now_ns;
    r = search(&s, fit);
    forget(&s);
    fit->start_ns = s.start_ns;
    if (r != GANG_OK)
        fit->count = 0;
    return r;
}

/* ---- at one time, at the latest ------------------------------------------------------------ */

/* Try one start, at which the sums leave room. GANG_OK, GANG_ENOFIT, GANG_ENOMEM. */
static gang_result try_at(struct search *s, int64_t start_ns, struct gang__time_fit *fit)
{
    fit->start_ns = start_ns;
    if (s->t->flat)
        return lay_out_flat(s, fit);
    s->start_ns = start_ns;
    s->end_ns = gang__add_sat(start_ns, s->ask->duration_ns);
    memset(s->t->tasks, 0, s->ask->group_count * sizeof(s->t->tasks[0]));
    for (uint32_t node = s->t->first; node < s->t->nodes && !is_done(s); node++)
        look_at(s, node);
    gang_result r = has_enough(s) ? lay_out(s, fit) : GANG_ENOFIT;
    forget(s);
    if (r != GANG_OK)
        fit->count = 0;
    return r;
}

gang_result gang__timeline_at(struct gang__timeline *t, const struct gang__time_ask *ask,
                              int64_t start_ns, struct gang__time_fit *fit)
{
    struct search s = {.t = t, .ask = ask};
    gang_result r = prepare(&s, fit);
    if (r != GANG_OK)
        return r == GANG_ENEVER ? GANG_ENOFIT : r;
    if (start_ns < t->now_ns ||
        !gang__timeline_fits_sum(t, s.need, start_ns, gang__add_sat(start_ns, ask->duration_ns)))
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

gang_result gang__timeline_latest(struct gang__timeline *t, const struct gang__time_ask *ask,
                                  int64_t from_ns, int64_t to_ns, struct gang__time_fit *fit)
{
    struct search s = {.t = t, .ask = ask};
    gang_result r = prepare(&s, fit);
    if (r == GANG_OK && ask->duration_ns == GANG__NEVER)
        r = GANG_EINVAL;
    if (r != GANG_OK)
        return r == GANG_ENEVER ? GANG_ENOFIT : r;
    for (;;) {
        to_ns = gang__timeline_latest_sum(t, s.need, from_ns, to_ns, ask->duration_ns);
        if (to_ns == GANG__NEVER)
            return GANG_ENOFIT;
        r = try_at(&s, to_ns, fit);
        if (r != GANG_ENOFIT)
            return r;
        const struct gang__edge *e = beginning_before(t, to_ns + ask->duration_ns);
        if (!e || e->at_ns <= from_ns)
            return GANG_ENOFIT;
        to_ns = e->at_ns - ask->duration_ns;
    }
}

gang_result gang__timeline_holds(struct gang__timeline *t, const struct gang__time_ask *ask,
                                 struct gang__time_fit *fit)
{
    struct search s = {.t = t, .ask = ask, .empty = true};
    gang_result r = prepare(&s, fit);
    if (r != GANG_OK)
        return r;
    r = try_at(&s, t->now_ns, fit);
    return r == GANG_ENOFIT ? GANG_ENEVER : r;
}

int64_t gang__timeline_room(const struct gang__timeline *t, const struct gang__time_ask *ask,
                            size_t group)
{
    int64_t tasks = 0;
    for (uint32_t node = t->first; node < t->nodes; node++)
        if (!ask->nodes || ask->nodes[node / 64] >> node % 64 & 1)
            tasks += tasks_in(&groups_on(ask, node)[group], t->capacity[node]);
    return tasks;
}
