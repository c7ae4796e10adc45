/* SPDX-License-Identifier: Apache-2.0 */
/* Gangs that take the same of equal nodes, of which nothing is taken: whole nodes, or 8 GPUs and
 * half of the cores of each. The first gang of a request is planned like any other. The worker
 * notes what one of its nodes looks like (the pattern). It places later gangs of the request
 * without a plan: it takes nodes in the order in which the search offers them, if their cells are
 * as in the pattern. A node that is taken wholly is leased (core/commit/lease.c). Entries of tasks
 * are copied from the pattern.
 *
 * Why the places are those of a plan: a plan visits nodes in the order in which the search offers
 * them. On a node with the words of the pattern it puts the same tasks with the same devices and
 * cores, since these depend on the words, the node type and the request alone. It passes over nodes
 * that another commit claims, and, where one task takes all of a node, over nodes of the same type
 * that have less; so does this way. An exclusive gang takes all of its nodes: its plan passes over
 * those of the type that are not wholly free, and over no others. What its tasks leave of a node is
 * the same on all (equal_holders.h). At any other node this way ends, and the gang is planned. The
 * same holds where scores, health, partitions, tiers or an order of ranks other than that of the
 * slots matter. Nodes in one domain are found in another order (equal_domain.h).
 *
 * Where leases are wanted, the search first goes by the index alone (equal_find.h). If the commit
 * is then refused, the search reads the cells, and so do those of the next gangs.
 *
 * The same holds for several groups whose tasks ask for the same (equal_find.h), and for more tasks
 * of a running gang of one group. */
#ifndef GANG__PLACE_EQUAL_NODES_H
#define GANG__PLACE_EQUAL_NODES_H

#include "place/alloc/alloc.h"
#include "place/record/record.h"

/* Where the worker keeps the pattern of a request, or of another one with which it shares the place
 * (gang__node_pattern.request). */
static inline struct gang__node_pattern *gang__node_pattern_of(gang_worker *w,
                                                               const gang_request *request)
{
    struct gang__placer *placer = w->place;
    return &placer->pattern[request->number % GANG__NODE_PATTERNS];
}

/* May the next gang of the request go this way? Not after a refusal: another one is likely, and
 * plan_gang() is faster at that. */
static inline bool gang__equal_nodes_suit(gang_worker *w, const gang_request *request)
{
    return !gang__load(&request->refused_at) &&
           gang__node_pattern_of(w, request)->request == request->number;
}

/* Does the plan look at nothing but the words and types of nodes? */
static inline bool gang__plan_suits_patterns(const struct gang__plan *p)
{
    return !p->snap && !p->mode.check_health && !p->tier.modes && !p->mode.timeshare &&
           !p->tasks.ended_tasks;
}

/* Notes the pattern of a gang that was just committed, if it has one. The plan still stands. */
void gang__equal_nodes_learn(gang_worker *w, const gang_request *request);

/* Asked before a commit, with the places of the tasks in *out. An answer other than GANG_OK aborts
 * it. */
struct gang__equal_veto {
    struct gang__places *out;
    gang__alloc_may *may;
    void *user;
};

/* Takes the nodes for all `tasks` of a request that suits, and notes the tasks in a record: a new
 * one (*a NULL; then *a is BUSY), or one that the caller has BUSY, which grows. The only group of
 * that one may have so many. True: *r is GANG_OK, or what the veto answered (a new *a is NULL).
 * False: nothing was taken, and the tasks are to be planned. Inside a read section. O(nodes of the
 * tasks). */
bool gang__equal_nodes_take(gang_worker *w, gang_request *request, int64_t tasks,
                            const struct gang__equal_veto *veto, struct gang__alloc **a,
                            gang_result *r);

#ifdef GANG_TEST_HOOKS
/* For tests that compare both ways: no gang takes this one; how many gangs and growths did, and
 * of them by the index alone. */
extern bool gang__equal_nodes_off;
extern int64_t gang__equal_nodes_taken, gang__equal_nodes_by_index;
#endif

#endif
