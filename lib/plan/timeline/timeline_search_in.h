/* SPDX-License-Identifier: Apache-2.0 */
/* A search of the timeline under way: timeline_fit.c goes from start to start,
 * timeline_candidates.c knows which nodes can take something at the start that is tried. */
#ifndef GANG__PLAN_TIMELINE_SEARCH_IN_H
#define GANG__PLAN_TIMELINE_SEARCH_IN_H

#include "plan/timeline/timeline_in.h"

struct gang__time_search {
    struct gang__timeline *t;
    const struct gang__time_request *request;
    int64_t need[GANG__FREE_DIMS]; /* of the whole gang */
    int64_t start_ns, end_ns;      /* the start that is tried, and the end */
    int64_t since_ns;              /* ends up to then have been looked at */
    int level;                     /* that a node needs to take any task; GANG__LEVEL_NONE */
    bool empty;                    /* search as if there were no occupations */
    bool own;                      /* an end counts only if the gang could start at that very end */
};

/* How many tasks of the group fit into a free amount; at most as many as may be on one node. */
static inline int64_t gang__tasks_in(const struct gang__time_group *g, const int64_t *unused)
{
    int64_t tasks = g->max_per_node > 0 && g->max_per_node < g->count ? g->max_per_node : g->count;
    for (int k = 0; k < GANG__FREE_KINDS; k++) {
        if (unused[k] < g->need[k])
            return 0;
        if (g->need[k] > 0 && tasks > 1 && unused[k] / g->need[k] < tasks)
            tasks = unused[k] / g->need[k];
    }
    return tasks;
}

/* The same, and of the further kinds, of which the node has `has`. */
static inline int64_t gang__tasks_in_more(const struct gang__timeline *t,
                                          const struct gang__time_group *g, const int64_t *unused,
                                          const int64_t *more, const int64_t *has)
{
    int64_t tasks = gang__tasks_in(g, unused);
    for (uint32_t k = 0; k < t->more_kinds && tasks > 0; k++) {
        int64_t left = more[k] > 0 ? more[k] : 0;
        if (g->more[k] > 0 && left / g->more[k] < tasks &&
            gang__more_binds(t, g->more, more, has, k))
            tasks = left / g->more[k];
    }
    return tasks;
}

/* What the tasks of each group need on a node. */
static inline const struct gang__time_group *
gang__groups_on(const struct gang__time_request *request, uint32_t node)
{
    return request->variant ? request->variant + request->kind[node] * request->group_count
                            : request->group;
}

static inline bool gang__time_search_has_enough(const struct gang__time_search *s)
{
    for (size_t i = 0; i < s->request->group_count; i++)
        if (s->t->tasks[i] < s->request->group[i].count)
            return false;
    return true;
}

static inline bool gang__time_search_is_done(const struct gang__time_search *s)
{
    return s->request->group_count == 1 && gang__time_search_has_enough(s);
}

/* Makes a node a candidate if it can take something from start_ns to end_ns, else drops it. */
void gang__time_search_consider(struct gang__time_search *s, uint32_t node);
/* Considers all nodes that are free at the present. */
void gang__time_search_consider_now(struct gang__time_search *s);
/* Considers the nodes that came free since the start that was tried before. */
void gang__time_search_consider_ends(struct gang__time_search *s);
/* Drops candidates that had enough until the last end that was tried, but not until this one. */
void gang__time_search_drop_expired(struct gang__time_search *s);
/* Counts again how many tasks the candidates can take: placing overwrites the counts. */
void gang__time_search_recount(struct gang__time_search *s);
/* The search is over: no node is a candidate. */
void gang__time_search_clear(struct gang__time_search *s);
/* The first end in (since_ns, to] that can help, or whose own start is a possible one. Recursive,
 * as deep as the tree is high. */
struct gang__edge *gang__time_search_next_end(struct gang__set_link *n,
                                              const struct gang__time_search *s, int64_t to);

#endif
