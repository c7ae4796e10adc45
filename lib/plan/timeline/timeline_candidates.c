/* SPDX-License-Identifier: Apache-2.0 */
/* Which nodes can take a part of the gang at the start that is tried: the candidates of a search,
 * and the ends of occupations at which nodes become candidates. */
#include "plan/timeline/timeline_search_in.h"

static bool fits_some(const struct gang__time_search *s, const struct gang__time_group *group,
                      const int64_t *unused)
{
    for (size_t i = 0; i < s->request->group_count; i++)
        if (gang__tasks_in(&group[i], unused) > 0)
            return true;
    return false;
}

/* ---- candidates ---------------------------------------------------------------------------- */

/* What is free of the further kinds on a candidate. */
static int64_t *more_of(const struct gang__timeline *t, uint32_t at)
{
    return t->more_of_candidate + (size_t)at * t->more_kinds;
}

static bool takes_some(const struct gang__time_search *s, const struct gang__candidate *c)
{
    const struct gang__time_group *group = gang__groups_on(s->request, c->node);
    if (!s->t->more_kinds)
        return fits_some(s, group, c->unused);
    for (size_t i = 0; i < s->request->group_count; i++)
        if (gang__tasks_in_more(s->t, &group[i], c->unused, s->t->more_during,
                                gang__more_capacity(s->t, c->node)) > 0)
            return true;
    return false;
}

static void count_tasks(struct gang__time_search *s, uint32_t at, int sign)
{
    const struct gang__timeline *t = s->t;
    const struct gang__candidate *c = &t->candidate[at];
    const struct gang__time_group *group = gang__groups_on(s->request, c->node);
    for (size_t i = 0; i < s->request->group_count; i++)
        t->tasks[i] += sign * gang__tasks_in_more(t, &group[i], c->unused,
                                                  t->more_kinds ? more_of(t, at) : NULL,
                                                  gang__more_capacity(t, c->node));
}

static void drop_candidate(struct gang__time_search *s, uint32_t at)
{
    struct gang__timeline *t = s->t;
    uint32_t node = t->candidate[at].node;
    count_tasks(s, at, -1);
    t->candidate[at] = t->candidate[--t->candidate_count];
    if (t->more_kinds)
        memcpy(more_of(t, at), more_of(t, t->candidate_count),
               t->more_kinds * sizeof(*t->more_of_candidate));
    t->candidate_of[t->candidate[at].node] = at;
    t->candidate_of[node] = GANG__NONE;
    t->is_candidate[node / 64] &= ~(UINT64_C(1) << node % 64);
}

static void all_is_free(struct gang__timeline *t, struct gang__candidate *c)
{
    memcpy(c->unused, t->capacity[c->node], sizeof(c->unused));
    if (t->more_kinds)
        memcpy(t->more_during, gang__more_capacity(t, c->node),
               t->more_kinds * sizeof(*t->more_during));
}

void gang__time_search_consider(struct gang__time_search *s, uint32_t node)
{
    struct gang__timeline *t = s->t;
    struct gang__candidate c = {.node = node};
    if (s->request->nodes && !(s->request->nodes[node / 64] >> node % 64 & 1))
        return;
    if (s->empty) {
        c.until_ns = GANG__NEVER;
        all_is_free(t, &c);
    } else if (s->request->whole) {
        c.until_ns = gang__node_after(t, node, s->start_ns, s->level).reach_ns[s->level];
        all_is_free(t, &c);
    } else {
        gang__node_during(t, node, s->start_ns, s->end_ns, c.unused, &c.until_ns);
    }
    uint32_t at = t->candidate_of[node];
    if (at != GANG__NONE)
        drop_candidate(s, at);
    if (c.until_ns < s->end_ns || !takes_some(s, &c))
        return;
    at = t->candidate_count++;
    t->candidate[at] = c;
    if (t->more_kinds)
        memcpy(more_of(t, at), t->more_during, t->more_kinds * sizeof(*t->more_during));
    t->candidate_of[node] = at;
    t->is_candidate[node / 64] |= UINT64_C(1) << node % 64;
    count_tasks(s, at, 1);
}

void gang__time_search_drop_expired(struct gang__time_search *s)
{
    struct gang__timeline *t = s->t;
    for (uint32_t i = t->candidate_count; i-- > 0;)
        if (t->candidate[i].until_ns < s->end_ns)
            gang__time_search_consider(s, t->candidate[i].node);
}

void gang__time_search_clear(struct gang__time_search *s)
{
    struct gang__timeline *t = s->t;
    for (uint32_t i = 0; i < t->candidate_count; i++) {
        uint32_t node = t->candidate[i].node;
        t->candidate_of[node] = GANG__NONE;
        t->is_candidate[node / 64] &= ~(UINT64_C(1) << node % 64);
    }
    t->candidate_count = 0;
}

void gang__time_search_recount(struct gang__time_search *s)
{
    memset(s->t->tasks, 0, s->request->group_count * sizeof(s->t->tasks[0]));
    for (uint32_t i = 0; i < s->t->candidate_count; i++)
        count_tasks(s, i, 1);
}

/* ---- what comes free ----------------------------------------------------------------------- */

/* Can capacity that is free like this be of use at the start that is tried? */
static bool after_may(const struct gang__after_end *after, const void *ctx)
{
    const struct gang__time_search *s = ctx;
    if (s->level >= 0 && after->reach_ns[s->level] < s->end_ns)
        return false;
    return fits_some(s, s->request->group, after->best);
}

struct gang__edge *gang__time_search_next_end(struct gang__set_link *n,
                                              const struct gang__time_search *s, int64_t to)
{
    while (n) {
        struct gang__edge *e = gang__edge_of(n), *found;
        if (!after_may(&e->after_below, s))
            return NULL;
        if (e->at_ns > s->since_ns) {
            if ((found = gang__time_search_next_end(n->child[0], s, to)) != NULL)
                return found;
            if (e->at_ns > to)
                return NULL;
            bool lasts =
                !s->own || s->level < 0 ||
                e->after.reach_ns[s->level] >= gang__add_sat(e->at_ns, s->request->duration_ns);
            if (e->first[GANG__ENDS] && lasts && after_may(&e->after, s))
                return e;
        }
        n = n->child[1];
    }
    return NULL;
}

/* Considers the nodes of an occupation that has ended, and makes the bound of what it leaves behind
 * exact. */
static void consider_ended(struct gang__time_search *s, struct gang__occupant *o)
{
    struct gang__after_end all = GANG__AFTER_NOTHING;
    for (uint32_t i = 0; i < o->stay_count; i++) {
        struct gang__after_end after = gang__node_after(s->t, o->stay[i].node, o->end_ns, s->level);
        gang__after_max(&all, &after);
        if (after_may(&after, s))
            gang__time_search_consider(s, o->stay[i].node);
    }
    for (int i = 0; i < GANG__LEVELS; i++)
        if (i != s->level)
            all.reach_ns[i] = o->after.reach_ns[i];
    gang__edge_bound(s->t, o, &all);
}

void gang__time_search_consider_now(struct gang__time_search *s)
{
    struct gang__timeline *t = s->t;
    gang__nodes_update(t);
    uint32_t node = gang__node_next(t, t->first, after_may, s);
    for (; node < t->nodes && !gang__time_search_is_done(s);
         node = gang__node_next(t, node + 1, after_may, s))
        gang__time_search_consider(s, node);
}

void gang__time_search_consider_ends(struct gang__time_search *s)
{
    struct gang__edge *e;
    while (!gang__time_search_is_done(s) &&
           (e = gang__time_search_next_end(s->t->edges.root, s, s->start_ns)) != NULL) {
        for (struct gang__occupant *o = e->first[GANG__ENDS]; o; o = o->next[GANG__ENDS])
            consider_ended(s, o);
        s->since_ns = e->at_ns;
    }
    s->since_ns = s->start_ns;
}
