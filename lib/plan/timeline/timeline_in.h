/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of a timeline.
 *
 *   timeline.c             makes it; adds, moves and removes occupations
 *   timeline_occupant.c    an occupant from the specification of an occupation
 *   timeline_change.c      enters an occupant into lists and sums, and removes it from them
 *   timeline_copy.c        copies it
 *   timeline_edge.c        the instants at which something begins or ends: a tree with sums and
 *   bounds
 *   timeline_node.c        one node: its occupations in order; what is free of all nodes now
 *   timeline_candidates.c  the nodes that can take something at a start (timeline_search_in.h)
 *   timeline_fit.c         searches for a start
 *   timeline_flat.c        a machine of one node, or of none but a pool: sums are enough
 *
 * Two structures answer all questions. Neither holds anything for each node of each occupation but
 * a link of 16 bytes, and neither divides time into slots.
 *   1. Instants, in an AVL tree. Each holds the change of the free amounts at that instant; a
 *      subtree holds the sum of its changes and the least and greatest prefix of it. So one descent
 *      finds the first instant at which enough is free, or is not any more (a tree augmented with
 *      sums of prefixes: Cormen, Leiserson, Rivest, Stein, "Introduction to Algorithms", chapter on
 *      augmenting data structures; Fluxion's planner has a tree of scheduled points and one of
 *      minimum times for each vertex).
 *   2. Each node's occupations in a list by start.
 * A gang's start is where enough nodes have come free, each by the end of an occupation, so the
 * search goes from end to end. Most ends are of no use: others follow at once, or too little came
 * free. So an occupation holds bounds of what is free after its end and for how long that lasts,
 * and a subtree the greatest of these; a search skips subtrees whose ends cannot help (McCreight,
 * "Priority search trees", 1985: a tree by one coordinate with the greatest of another). The
 * bounds are never too low. A search makes a bound exact when it meets it; a removal raises it. */
#ifndef GANG__PLAN_TIMELINE_IN_H
#define GANG__PLAN_TIMELINE_IN_H

#include <string.h>

#include "base/mem.h"
#include "base/ordered_set.h"
#include "base/wide.h"
#include "plan/timeline/timeline.h"

#define GANG__NONE UINT32_MAX
#define GANG__AS_WHOLE UINT32_MAX /* in place of an amount */

enum { GANG__STAYS_MAX = 1 << 16 };

/* Levels for which a bound says how long they last: the whole node is free; at least an eighth, a
 * quarter, a half, all of the main kind (GPUs, where there are any) of the largest node. */
enum { GANG__LEVEL_WHOLE, GANG__LEVELS = 5, GANG__LEVEL_NONE = -1, GANG__LEVEL_ALL = -2 };

/* Upper bounds of what is free of each kind, and of how long each level lasts. */
struct gang__after_end {
    int64_t best[GANG__FREE_KINDS];
    int64_t reach_ns[GANG__LEVELS];
};

enum { GANG__STARTS, GANG__ENDS };

/* An instant at which something begins or ends. */
struct gang__edge {
    struct gang__set_link link;
    int64_t at_ns;
    struct gang__occupant *first[2]; /* that start here, that end here */
    int64_t change[GANG__FREE_DIMS]; /* of what is free */
    union {
        struct gang__after_end after; /* the greatest of those that end here */
        const struct gang__timeline
            *flat; /* on a flat machine, which has no bounds: its timeline */
    };
    int64_t sum[GANG__FREE_DIMS];       /* of the changes below, this one included */
    int64_t low[GANG__FREE_DIMS];       /* the least sum of the first one or more of these */
    int64_t high[GANG__FREE_DIMS];      /* the greatest */
    struct gang__after_end after_below; /* the greatest below */
};

/* One node of an occupation. */
struct gang__stay {
    uint32_t next_of,
        next_at; /* the next on the node by start: occupation and index; GANG__NONE: none */
    uint32_t node;
    uint32_t amount; /* index in the occupation's; GANG__AS_WHOLE */
};

/* An occupation. `end` is NULL if it has none. */
struct gang__occupant {
    int64_t start_ns, end_ns;
    struct gang__edge *edge[2];
    union {
        struct { /* its neighbours at its edges */
            struct gang__occupant *next[2], *prev[2];
        };
        struct { /* withdrawn: it has no edges; its place in timeline.withdrawn */
            struct gang__occupant *withdrawn_next, **withdrawn_at;
        };
    };
    struct gang__after_end after;
    int64_t pool;
    uint64_t withdrawn; /* number of its withdrawal; 0: it is not withdrawn */
    uint64_t serial;    /* a later occupation has a larger one */
    uint32_t id, stay_count;
    int64_t (*amount)[GANG__FREE_KINDS];
    int64_t *more; /* beside each amount, timeline.more_kinds of them */
    struct gang__stay stay[];
};

/* A node that can take something, in a search. */
struct gang__candidate {
    uint32_t node;
    int64_t until_ns; /* `unused` is free until this time */
    int64_t unused[GANG__FREE_KINDS];
};

struct gang__edge_chunk {
    struct gang__edge_chunk *next;
    struct gang__edge edge[];
};

struct gang__timeline {
    struct gang_mem mem;
    int64_t now_ns;
    uint32_t nodes, leaves; /* leaves: the next power of 2 */
    uint32_t first;         /* nodes below are none */
    int64_t (*capacity)[GANG__FREE_KINDS];
    int64_t max_amount[GANG__FREE_KINDS]; /* of any node */
    uint32_t more_kinds;                  /* further kinds, which are counted by node only: */
    int64_t *more_capacity;               /* more_kinds of each node */
    int64_t *more_of_candidate;           /* the same, of each candidate: what is free of it */
    int64_t max_more[GANG__MORE_MAX];     /* of any node */
    int guard[GANG__MORE_MAX];            /* -1: none */
    int64_t more_used[GANG__MORE_MAX];    /* of the walk under way */
    int64_t more_during[GANG__MORE_MAX];  /* what gang__node_during() found free last */
    int main_kind;
    int64_t level[GANG__LEVELS];     /* how much of the main kind it takes */
    int64_t total[GANG__FREE_DIMS];  /* without any occupation */
    int64_t before[GANG__FREE_DIMS]; /* what is free before the first edge */
    int dim[GANG__FREE_DIMS];        /* flat: dimensions that changed once, */
    int dim_count;                   /* how many, */
    unsigned counted;                /* and as bits */
    bool flat;                       /* at most one node: timeline_flat.c */
    struct gang__stay_head {
        uint32_t of, at, count;
    } * node;
    struct gang__after_end *now; /* at now_ns: a heap of 2 * leaves, node i at leaves + i */
    uint32_t *stale;             /* nodes whose `now` must be computed again, */
    uint64_t *is_stale;          /* as bits, */
    size_t stale_count;          /* and how many */
    struct gang__ordered_set edges;
    struct gang__edge *spare; /* by link.child[0]; with those in use twice the occupations */
    struct gang__edge_chunk *chunks;
    size_t edge_count;
    struct gang__occupant **occupant; /* by id; NULL: none */
    size_t occupant_cap, occupant_end, occupant_count;
    struct gang__occupant *vacant; /* small ones that are kept for others, by next[0] */
    uint32_t vacant_count;
    struct gang__occupant *withdrawn; /* the last one first */
    uint64_t withdrawals;
    uint64_t serials;
    uint32_t *free_id;
    size_t free_id_cap, free_id_count;
    struct gang__active {
        int64_t end_ns;
        const int64_t *amount, *more;
        struct gang__edge *end;
    } * active; /* of the walk under way */
    size_t active_cap;
    /* Of a search: */
    struct gang__candidate *candidate; /* nodes of them */
    uint32_t candidate_count;
    uint32_t *candidate_of; /* of each node; GANG__NONE */
    uint64_t *is_candidate; /* a bit a node */
    int64_t *tasks;         /* of each group that the candidates can take */
    size_t tasks_cap;
};

static inline struct gang__edge *gang__edge_of(const struct gang__set_link *link)
{
    return (struct gang__edge *)((char *)(uintptr_t)link - offsetof(struct gang__edge, link));
}

/* ---- timeline_occupant.c ---- */

/* Sums the places of one node from `at` on. Returns how many they are; 0: *r is an error. */
size_t gang__occupation_sum(const struct gang__occupation *o, size_t at,
                            int64_t amount[GANG__FREE_KINDS], gang_result *r);
/* The same of the further kinds, saturated; the places were found right. */
void gang__occupation_sum_more(const struct gang__timeline *t, const struct gang__occupation *o,
                               size_t at, int64_t more[GANG__MORE_MAX]);
/* How many nodes, and how many different amounts in a row. */
gang_result gang__occupation_measure(const struct gang__timeline *t,
                                     const struct gang__occupation *o, size_t *stays,
                                     size_t *amounts);
/* NULL: out of memory. */
struct gang__occupant *gang__occupant_new(struct gang__timeline *t,
                                          const struct gang__occupation *spec, size_t stays,
                                          size_t amounts);
void gang__occupant_free(struct gang__timeline *t, struct gang__occupant *o);
/* Allocates for `count` more occupations; no node has more than `max_on_node`. */
bool gang__timeline_reserve(struct gang__timeline *t, size_t count, size_t max_on_node);

/* ---- timeline_change.c ---- */

void gang__occupant_enter(struct gang__timeline *t, struct gang__occupant *o);
void gang__occupant_leave(struct gang__timeline *t, struct gang__occupant *o);

/* ---- timeline_edge.c ---- */

void gang__edges_init(struct gang__timeline *t);
/* Reserves two edges for each of `occupations` occupations. False: out of memory. */
bool gang__edges_reserve(struct gang__timeline *t, size_t occupations);
/* Adds an occupation to its edges, which are made if need be, and its changes to them; and the
 * reverse. */
void gang__edges_enter(struct gang__timeline *t, struct gang__occupant *o,
                       int64_t change[2][GANG__FREE_DIMS]);
void gang__edges_leave(struct gang__timeline *t, struct gang__occupant *o,
                       int64_t change[2][GANG__FREE_DIMS]);
/* The changes of an edge changed. */
static inline void gang__edge_refresh(struct gang__timeline *t, struct gang__edge *e)
{
    gang__set_refresh_node(&t->edges, &e->link);
}
/* Sets the bound of what is free after the end of an occupation. */
void gang__edge_bound(struct gang__timeline *t, struct gang__occupant *o,
                      const struct gang__after_end *after);
/* The first edge after an instant; NULL: none. */
struct gang__edge *gang__edge_after(struct gang__timeline *t, int64_t at_ns);
/* The last before it. */
struct gang__edge *gang__edge_before(struct gang__timeline *t, int64_t at_ns);

/* The first of all goes, with what it changes: it has passed. */
void gang__edge_pass(struct gang__timeline *t, struct gang__edge *e);

/* ---- timeline_flat.c ---- */

/* By how much an occupation changes what is free, where it begins and where it ends. */
void gang__flat_change(const struct gang__timeline *t, const struct gang__occupant *o,
                       int64_t change[2][GANG__FREE_DIMS]);
/* Its dimensions are counted from now on. */
void gang__flat_count(struct gang__timeline *t, const int64_t change[GANG__FREE_DIMS]);
/* Removes edges that have passed; their changes are final. */
void gang__flat_advance(struct gang__timeline *t);
/* The free amounts at an instant that has passed; returns until when. Looks at each occupation. */
int64_t gang__flat_past(const struct gang__timeline *t, int64_t at_ns,
                        int64_t unused[GANG__FREE_DIMS]);
/* Is `need` free all the time from an instant in the past until end_ns, or the present? */
bool gang__flat_was_free(const struct gang__timeline *t, const int64_t need[GANG__FREE_DIMS],
                         int64_t start_ns, int64_t end_ns);

/* ---- timeline_node.c ---- */

/* A node's occupations, from instant to instant. One walk at a time. */
struct gang__walk {
    struct gang__timeline *t;
    const int64_t *capacity;
    uint32_t next_of, next_at;
    size_t active;
    int64_t used[GANG__FREE_KINDS];
    int64_t from_ns, to_ns;  /* it is so from then to then */
    struct gang__edge *edge; /* at to_ns; NULL: GANG__NEVER */
};
void gang__walk_begin(struct gang__walk *w, struct gang__timeline *t, uint32_t node, int64_t at_ns);
void gang__walk_on(struct gang__walk *w); /* to to_ns, which is not GANG__NEVER */
static inline int64_t gang__walk_unused(const struct gang__walk *w, int kind)
{
    return w->used[kind] < w->capacity[kind] ? w->capacity[kind] - w->used[kind] : 0;
}
static inline bool gang__walk_is_whole(const struct gang__walk *w)
{
    return w->active == 0;
}

/* The free amounts of a node at an instant, and until when `level` (or each level) lasts; the other
 * levels are reported as lasting for ever. */
struct gang__after_end gang__node_after(struct gang__timeline *t, uint32_t node, int64_t at_ns,
                                        int level);
/* The amounts that a node has free all the time from start to end, and until when they stay
 * free. Further kinds: timeline.more_during. */
void gang__node_during(struct gang__timeline *t, uint32_t node, int64_t start_ns, int64_t end_ns,
                       int64_t unused[GANG__FREE_KINDS], int64_t *until_ns);
/* Is nothing of it taken from start to end? */
bool gang__node_whole(struct gang__timeline *t, uint32_t node, int64_t start_ns, int64_t end_ns);
/* gang__node_stale() marks a node whose present state may have changed. gang__nodes_update()
 * computes all marked nodes before gang__node_next() is called: several changes of a node between
 * two searches cost one computation. */
void gang__node_stale(struct gang__timeline *t, uint32_t node);
void gang__nodes_update(struct gang__timeline *t);
/* The first node >= `from` for which `may` is true; `nodes`: none. `may` is asked of bounds of
 * many, too. */
typedef bool gang__after_may(const struct gang__after_end *after, const void *ctx);
uint32_t gang__node_next(const struct gang__timeline *t, uint32_t from, gang__after_may *may,
                         const void *ctx);

/* Bytes of an amount of an occupation, with those of the further kinds. */
static inline size_t gang__amount_bytes(const struct gang__timeline *t)
{
    return (GANG__FREE_KINDS + (size_t)t->more_kinds) * sizeof(int64_t);
}

static inline const int64_t *gang__stay_amount(const struct gang__timeline *t,
                                               const struct gang__occupant *o,
                                               const struct gang__stay *s)
{
    return s->amount == GANG__AS_WHOLE ? t->capacity[s->node] : o->amount[s->amount];
}

/* The capacity of a node of the further kinds; NULL: none is counted. */
static inline const int64_t *gang__more_capacity(const struct gang__timeline *t, uint32_t node)
{
    return t->more_kinds ? t->more_capacity + (size_t)node * t->more_kinds : NULL;
}

/* Does what is free of a further kind bind what needs `need` of each? `has`: the capacity. */
static inline bool gang__more_binds(const struct gang__timeline *t, const int64_t *need,
                                    const int64_t *unused, const int64_t *has, uint32_t k)
{
    int guard = t->guard[k];
    return guard < 0 || need[guard] > 0 || unused[guard] < has[guard];
}

/* Its amounts of the further kinds. */
static inline const int64_t *gang__stay_more(const struct gang__timeline *t,
                                             const struct gang__occupant *o,
                                             const struct gang__stay *s)
{
    return s->amount == GANG__AS_WHOLE ? t->more_capacity + (size_t)s->node * t->more_kinds
                                       : o->more + (size_t)s->amount * t->more_kinds;
}

static inline int64_t gang__walk_unused_more(const struct gang__walk *w, uint32_t node, uint32_t k)
{
    const struct gang__timeline *t = w->t;
    int64_t has = t->more_capacity[(size_t)node * t->more_kinds + k];
    return t->more_used[k] < has ? has - t->more_used[k] : 0;
}

static inline void gang__after_max(struct gang__after_end *to, const struct gang__after_end *by)
{
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        to->best[k] = by->best[k] > to->best[k] ? by->best[k] : to->best[k];
    for (int i = 0; i < GANG__LEVELS; i++)
        to->reach_ns[i] = by->reach_ns[i] > to->reach_ns[i] ? by->reach_ns[i] : to->reach_ns[i];
}

#define GANG__AFTER_NOTHING                                       \
    {                                                             \
        {-1, -1, -1},                                             \
        {                                                         \
            INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN \
        }                                                         \
    }

#endif
