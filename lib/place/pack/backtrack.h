/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of backtracking: backtrack.c (the choices, depth first), distribute.c (the
 * tasks of one choice over nodes), improve.c (for a plan on fewer nodes). */
#ifndef GANG__PLACE_BACKTRACK_H
#define GANG__PLACE_BACKTRACK_H

#include "place/pack/pack.h"

enum {
    GANG__MAX_CHOICES = 64,
    GANG__MAX_NODES_TRIED = 24, /* in a scope, for every distribution to be tried */
    GANG__MAX_STEPS = 5000      /* placements tried, where distributions are */
};

/* The domains and nodes that a plan uses: fewer domains come before fewer nodes. */
struct gang__cost {
    int64_t domains, nodes;
};

/* What is chosen in one step: a domain for a member; nodes for the tasks of a group or subgroup;
 * the groups and nodes of the tasks that a minimum of a set or the request is short of. */
enum gang__choice_kind { GANG__CHOOSE_DOMAIN, GANG__PLACE_TASKS, GANG__REACH_MINIMUM };

struct gang__choice {
    enum gang__choice_kind kind;
    struct gang__member m;
    uint32_t outer; /* number of the scope around it */
    uint32_t scope; /* number of the scope that is chosen, or that the tasks go to */
};

struct gang__backtracking {
    struct gang__pack *k;
    struct gang__plan *p;
    int64_t steps; /* that are left */
    uint32_t count, scopes;
    struct gang__choice choice[GANG__MAX_CHOICES];
    struct gang__scope scope[GANG__MAX_CHOICES + 1];
    bool too_many; /* choices */
    struct gang__cost max_cost;
};

/* What remains to be done after a choice. Lives on the stack. */
struct gang__continuation {
    bool (*go)(struct gang__backtracking *x, const struct gang__continuation *n);
    uint32_t at;     /* of choice */
    uint32_t group;  /* GANG__REACH_MINIMUM: the next group to ask */
    int64_t missing; /* and how many tasks are missing */
};

/* Takes a step. True: none is left, or the plan failed. */
static inline bool gang__backtrack_spent(struct gang__backtracking *x)
{
    return x->steps-- <= 0 || x->p->out.failed;
}

/* ---- backtrack.c ---- */

/* Goes through all choices for a set (-1: the request) in the empty plan, until one holds that
 * costs at most `max_cost`. Without such a plan it is empty again. */
bool gang__backtrack_all(struct gang__pack *k, int32_t set, struct gang__cost max_cost,
                         int64_t steps);

/* ---- distribute.c ---- */

/* `m.want` tasks of a group, or of one subgroup of it, in a scope: as usual, then, where few nodes
 * can take part, in every distribution. True: with one of them `next` holds, too. */
bool gang__distribute(struct gang__backtracking *x, struct gang__member m,
                      const struct gang__scope *scope, const struct gang__continuation *next);

/* ---- improve.c ---- */

/* Does the plan so far cost more than it may? It only gets more expensive. */
bool gang__costs_too_much(const struct gang__backtracking *x);

/* Are there few enough nodes for every distribution to be tried? */
bool gang__is_small_cluster(struct gang__plan *p);

#endif
