/* SPDX-License-Identifier: Apache-2.0 */
/* One look over nodes for one group: how far they go, and what stops the rest. For messages. */
#ifndef GANG__PLACE_NODE_CENSUS_H
#define GANG__PLACE_NODE_CENSUS_H

#include "place/fit/fit.h"

enum { GANG__WHY_COUNT = GANG_CONSTRAINT_SAME_DEVICES + 1 };

/* Nodes that are short of a kind. */
struct gang__shortage {
    int64_t nodes; /* that take no task */
    int64_t could; /* of these, would take one if they were empty */
    int64_t full;  /* that take a task, but not all that are left */
    /* The largest amount free on one node, in units of the kind; of a pool: what is free. */
    int64_t most;
};

struct gang__node_census {
    int64_t nodes;                           /* looked at */
    int64_t fit_nodes;                       /* that take a task, if it were the only one */
    int64_t fit;                             /* tasks that go somewhere, of those wanted */
    int64_t refused[GANG__WHY_COUNT];        /* nodes that take no task, by what stops it */
    int64_t refused_anyway[GANG__WHY_COUNT]; /* of these, that would not without it, either */
    int64_t stopped[GANG__WHY_COUNT];        /* nodes that take some, by what stops the next */
    struct gang__shortage kind[GANG_MAX_KINDS];
};

/* Look at the nodes of a scope, beside what is planned; nothing of it stays planned. Rules on where
 * the tasks lie beside each other (domains, subgroups, spreading, bounds) are left out, but for
 * nodes that they rule out for every task. Unless `whole`, no more than that they fit is found out
 * if they do. O(nodes + tasks); with bounds times the tasks that run. p->out.failed: out of
 * memory. */
void gang__node_census_take(struct gang__plan *p, uint32_t group, int64_t want,
                            const struct gang__scope *scope, bool whole,
                            struct gang__node_census *s);

/* What stops nodes that the group could use otherwise: other jobs before a kind before a state
 * before a constraint; a kind that the nodes never have enough of after all. GANG_CONSTRAINT_STATE
 * if there is no node. */
struct gang__misfit gang__node_census_reason(const gang_cluster *c,
                                             const struct gang__node_census *s);

/* What one task asks of a kind, in its unit; 0: nothing, or (GPUs by memory) it depends. And the
 * kinds it asks for at all, as bits. */
int64_t gang__amount_asked(const struct gang__group *g, int32_t kind);
uint32_t gang__kinds_asked(const struct gang__group *g);

#endif
