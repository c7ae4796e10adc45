/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a gang's tasks: neighbours in number are neighbours in the network. */
#ifndef GANG__PLACE_TASK_ORDER_H
#define GANG__PLACE_TASK_ORDER_H

#include "place/fit/fit.h"

/* Put the planned tasks in the order of their groups, in each by the path of domains from the
 * widest level down, then by slot; tasks of one node as they were planned. Tasks in exact places
 * keep the host's order. False: out of memory, nothing changed. O(tasks + nodes * log nodes),
 * O(tasks) if they are in order. */
bool gang__rank_many(struct gang__plan *p);
static inline bool gang__rank_tasks(struct gang__plan *p)
{
    return p->tasks.count < 2 || gang__rank_many(p);
}

/* Give each planned task its number, unless it has one: in each group the lowest numbers that no
 * task of the record (NULL: a new one) holds and none had that ended (plan.tasks.ended_tasks). Then
 * put the planned tasks in the order of their numbers. False: out of memory. O(tasks), and
 * O(tasks * log tasks) if they are not in order. */
bool gang__number_many(struct gang__plan *p, const struct gang__alloc *a);
static inline bool gang__number_tasks(struct gang__plan *p, const struct gang__alloc *a)
{
    struct gang__task_plan *first = p->tasks.plan;
    if (a || p->tasks.count != 1 || p->mode.adopting || p->tasks.ended_tasks)
        return gang__number_many(p, a);
    first->number = (uint32_t)p->request->group[first->group].first;
    return true;
}

#endif
