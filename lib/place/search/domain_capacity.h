/* SPDX-License-Identifier: Apache-2.0 */
/* The capacity of a domain for a group before anything is planned there: it decides which domains
 * are tried, in which order. By the index, 32 nodes a word, or node by node where that is cheap or
 * the index does not count (a snapshot, an imagined empty cluster). */
#ifndef GANG__PLACE_DOMAIN_CAPACITY_H
#define GANG__PLACE_DOMAIN_CAPACITY_H

#include "place/fit/fit.h"

enum { GANG__FEW_NODES = 128 };    /* are looked at one by one */
enum { GANG__CAPACITY_MAX = 128 }; /* larger capacities of a node count as one class */

/* Nodes by the tasks of a group each can take: never fewer than it can. */
struct gang__capacity {
    int64_t tasks;                          /* in all, of what is counted */
    int64_t most;                           /* the greatest n */
    uint32_t nodes[GANG__CAPACITY_MAX + 1]; /* nodes[n]: with capacity for n; the last: and more */
};

/* What to look at in the index for a group: made once, used for many domains. */
struct gang__capacity_query {
    struct gang__plan *p;
    uint32_t group;
    bool by_index;  /* else node by node */
    uint32_t pairs; /* buckets with nodes in them that may have capacity */
    struct {
        uint8_t class_id, bucket;
    } pair[GANG__GPU_CLASSES];
    uint32_t each[GANG__INDEX_ROWS]; /* tasks that a node in a bucket can take at most */
};

/* `nodes`: of all domains together; few are looked at one by one. */
void gang__capacity_query_init(struct gang__capacity_query *e, struct gang__plan *p, uint32_t group,
                               int64_t nodes);

/* The first of the domains [from, end) of a level that may have capacity for `want` and is not
 * surely outside a scope; `end`: none. Where the index tells, a few loads a domain. */
uint32_t gang__domain_capacity_next(struct gang__capacity_query *e, const struct gang__scope *scope,
                                    uint32_t level, uint32_t from, uint32_t end, int64_t want);

/* The capacity of the i-th domain of a level. */
void gang__domain_capacity(struct gang__capacity_query *e, uint32_t level, uint32_t i,
                           struct gang__capacity *capacity);

/* Add one node's. */
static inline void gang__capacity_add(struct gang__capacity *capacity, int64_t tasks,
                                      uint32_t nodes)
{
    if (tasks <= 0)
        return;
    enum { MOST_TASKS = 1 << 24 }; /* of any request */
    int64_t n = tasks < GANG__CAPACITY_MAX ? tasks : (int64_t)GANG__CAPACITY_MAX;
    capacity->nodes[n] += nodes;
    capacity->most = n > capacity->most ? n : capacity->most;
    capacity->tasks += (tasks < MOST_TASKS ? tasks : MOST_TASKS) * nodes;
}

/* The same of a scope: the cluster, a domain or a node. */
void gang__scope_capacity(struct gang__capacity_query *e, const struct gang__scope *scope,
                          struct gang__capacity *capacity);

/* Nodes in a scope, those counted that are not up. */
int64_t gang__scope_nodes(struct gang__plan *p, const struct gang__scope *scope);

/* On how few nodes `want` tasks go; INT64_MAX: they do not. */
int64_t gang__capacity_nodes(const struct gang__capacity *capacity, int64_t want);

#endif
