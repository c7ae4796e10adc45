/* SPDX-License-Identifier: Apache-2.0 */
/* When: how much is free from when to when, by node and in all.
 *
 * A timeline holds *occupations*: what running jobs take until their expected ends, reservations,
 * maintenance, and gangs that are planned. Each takes amounts of some nodes, or whole nodes, from
 * its start to its end (not included). Free is what is left of a node's capacity; where
 * occupations take more than there is (maintenance beside a job that runs on), nothing is free,
 * and not less. A timeline knows amounts, not devices: which GPUs a task gets is seen when it
 * starts.
 *
 * Nodes are numbers from 0, in the order of the topology, so that neighbours are near each other.
 * They neither come nor go: one that is down is occupied as a whole for ever; when there are
 * others, or others' capacities, a new timeline is made. Beside the nodes there is a *pool*: plain
 * units without a place, such as the processors of a flat machine.
 *
 * Times are ns on the host's clock, GANG__NEVER is after all of them. Amounts are what the
 * scheduler's are: millicores, bytes, milli-GPUs.
 *
 * Threads: one owner at a time (the scheduler, in its run); no locks, no atomics.
 * Memory: all from the allocator given. An occupation takes less than 1 KiB and 16 bytes a node
 * (24 more for each different amount of a node in it). Only _new(), _add(), and the growth of
 * buffers in _earliest() allocate; removing, moving and letting time pass cannot fail.
 * Below, P is the number of occupations, n that of a call's nodes, and p that of the occupations
 * of one node that have not been removed. */
#ifndef GANG__PLAN_TIMELINE_H
#define GANG__PLAN_TIMELINE_H

#include <gangsched/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GANG__NEVER INT64_MAX

/* Dimensions: of each node and in all; the last two only in all. */
enum {
    GANG__FREE_CPU,
    GANG__FREE_MEMORY,
    GANG__FREE_GPU,
    GANG__FREE_KINDS,
    GANG__FREE_NODES = GANG__FREE_KINDS, /* nodes that are wholly free */
    GANG__FREE_POOL,
    GANG__FREE_DIMS
};

/* Further kinds that a timeline counts by node (gang__timeline_count_more()), at most. */
enum { GANG__MORE_MAX = 16 };

struct gang__timeline;

/* Tasks of one shape. */
struct gang__time_group {
    int64_t count;                  /* 1...INT32_MAX */
    int64_t need[GANG__FREE_KINDS]; /* of one task, >= 0 */
    int64_t max_per_node;           /* 0: no bound */
    int64_t more[GANG__MORE_MAX];   /* of one task, of each further kind, >= 0 */
};

/* The greatest amount of a node; sums over all that a node has at a time stay below INT64_MAX. */
#define GANG__AMOUNT_MAX (INT64_C(1) << 47)

static inline bool gang__time_group_is_valid(const struct gang__time_group *g)
{
    bool valid = g->count >= 1 && g->count <= INT32_MAX && g->max_per_node >= 0;
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        valid = valid && g->need[k] >= 0 && g->need[k] <= GANG__AMOUNT_MAX;
    for (int k = 0; k < GANG__MORE_MAX; k++)
        valid = valid && g->more[k] >= 0 && g->more[k] <= GANG__AMOUNT_MAX;
    return valid;
}

/* Tasks of a group that a node has. */
struct gang__time_place {
    uint32_t node;
    uint32_t group; /* ignored where whole nodes are taken */
    int64_t tasks;  /* ignored where whole nodes are taken */
};

struct gang__occupation {
    int64_t start_ns, end_ns;             /* start < end; GANG__NEVER: has no end */
    const struct gang__time_group *group; /* `need` alone is read */
    size_t group_count;
    const struct gang__time_place *place; /* nodes ascending; a node again for another group */
    size_t place_count;
    int64_t pool; /* units of the pool, >= 0 */
    bool whole;   /* takes the nodes whole, whatever the groups say */
};

/* A gang that is to be planned. */
struct gang__time_request {
    const struct gang__time_group *group;
    size_t group_count;    /* >= 1 */
    int64_t duration_ns;   /* > 0; GANG__NEVER: without end */
    const uint64_t *nodes; /* bit i % 64 of word i / 64: node i may be used; NULL: all may */
    bool whole;            /* on wholly free nodes, which the gang then has alone */
    /* Where a task needs more on one node than on another. Node i is of kind[i], and there a task
     * of group g needs what variant[kind[i] * group_count + g] says: no less than group[g].need,
     * with the same count and bound. NULL: all nodes are alike. */
    const struct gang__time_group *variant;
    const uint32_t *kind;
};

/* Where a gang goes, and when. A buffer that is used again; begin with all zero. */
struct gang__time_fit {
    int64_t start_ns;
    struct gang__time_place *place; /* by node, then group */
    size_t count;                   /* 0 after any error */
    size_t cap;
};

/* Make a timeline without occupations.
 *   mem       copied
 *   capacity  GANG__FREE_KINDS of each node, 0...2^47; copied
 *   pool      units in the pool, >= 0
 *   now_ns    see gang__timeline_advance()
 * Returns GANG_OK; GANG_ERANGE: a number out of range, 2^31 nodes or more, or a sum over the nodes
 * beyond INT64_MAX; GANG_ENOMEM. On error *timeline is NULL. O(nodes), some 150 bytes each. */
gang_result gang__timeline_new(const struct gang_mem *mem, const int64_t *capacity,
                               size_t node_count, int64_t pool, int64_t now_ns,
                               struct gang__timeline **timeline) GANG_MUST_CHECK;
/* Excludes the nodes below `first`, which have no capacity, from a timeline just made. With at most
 * one node left sums answer all questions, and everything is faster. */
void gang__timeline_skip(struct gang__timeline *t, uint32_t first);
/* Counts further kinds by node, beside the three. Sums over all nodes do not count them, nor do
 * those that read an instant. Before the first occupation is added, and before _skip().
 *   kinds     1...GANG__MORE_MAX; a group says in `more` what a task needs of each
 *   capacity  `kinds` of each node, 0...2^47; copied
 *   guard     `kinds` of them; NULL: none has one. A kind with a guard (the number of another kind;
 *             -1: none) may be exceeded on a node by groups that need nothing of the guard, while
 *             nothing of the guard is taken there. So tasks that are only in the way of others are
 *             no obstacle to each other. A group that needs some of a guard needs some of its kind.
 * GANG_OK; GANG_ERANGE; GANG_ENOMEM: nothing changed. O(nodes * kinds). */
gang_result gang__timeline_count_more(struct gang__timeline *t, const int64_t *capacity,
                                      const int *guard, uint32_t kinds) GANG_MUST_CHECK;
/* What a timeline was made with. The arrays are the timeline's. */
struct gang__time_machine {
    const struct gang_mem *mem;
    const int64_t (*capacity)[GANG__FREE_KINDS]; /* of each node */
    uint32_t nodes;
    const int64_t *total; /* GANG__FREE_DIMS: of all nodes, and the pool */
    int64_t now_ns;
};
struct gang__time_machine gang__timeline_machine(const struct gang__timeline *t);
/* Copies a timeline: same ids, same answers. GANG_OK; GANG_ENOMEM: *copy is NULL. Costs as adding
 * each occupation. */
gang_result gang__timeline_copy(const struct gang_mem *mem, const struct gang__timeline *from,
                                struct gang__timeline **copy) GANG_MUST_CHECK;
/* NULL is allowed. */
void gang__timeline_free(struct gang__timeline *t);
void gang__time_fit_free(struct gang__time_fit *fit, const struct gang_mem *mem);

/* Add an occupation.
 *   id  by which it is moved and removed; those of removed ones are given again
 * Returns GANG_OK; GANG_EINVAL: start not before end, places out of order, no such node or group;
 * GANG_ERANGE: an amount of a node that is not in 0...2^47, a negative number; GANG_ELIMIT: a node
 * has 65,536 already; GANG_ENOMEM. On error nothing changed.
 * O(n (p + log nodes) + log P); on a machine of one node O(log P). */
gang_result gang__timeline_add(struct gang__timeline *t, const struct gang__occupation *o,
                               uint32_t *id) GANG_MUST_CHECK;
/* O(n (p + log nodes) + log P). The id is of one that is there; so for _move(). */
void gang__timeline_remove(struct gang__timeline *t, uint32_t id);
/* Moves an occupation in time: a job that ends later than expected, a plan that shifts. start <
 * end. */
void gang__timeline_move(struct gang__timeline *t, uint32_t id, int64_t start_ns, int64_t end_ns);
/* Withdraw an occupation: it takes nothing, and its times are kept for gang__timeline_restore().
 * Neither call can fail. Withdrawing what is withdrawn, and restoring what is not, does nothing;
 * _restore() returns the mark of its withdrawal, 0 if it was not withdrawn. A withdrawn occupation
 * is restored before it is moved; it may be removed. As _move(). */
void gang__timeline_withdraw(struct gang__timeline *t, uint32_t id);
uint64_t gang__timeline_restore(struct gang__timeline *t, uint32_t id);
/* Undo a _restore() that returned this mark. O(withdrawn after the mark). */
void gang__timeline_withdraw_as(struct gang__timeline *t, uint32_t id, uint64_t mark);
/* Restore what was withdrawn after the mark was read, the last one first. */
uint64_t gang__timeline_mark(const struct gang__timeline *t);
void gang__timeline_restore_to(struct gang__timeline *t, uint64_t mark);

/* Moves the present to `now_ns`, which is not before the last one: no search looks before it.
 * Occupations whose end has passed take nothing, but stay until they are removed. O(log P), and O(p
 * + log nodes) a node of those that began or ended since. */
void gang__timeline_advance(struct gang__timeline *t, int64_t now_ns);

/* The earliest start at which a gang fits for its whole duration, and where.
 *
 * With one group it is the earliest there is. With several, tasks are placed first fit, group
 * after group as given, over the nodes in order, at `from_ns` and at each instant at which
 * something comes free; so it may be later than the very best packing's, and large tasks should
 * come first.
 *   from_ns  not before; what lies before the present counts as the present
 *   fit      filled; see gang__occupation for making it an occupation
 * Returns GANG_OK; GANG_ENEVER: not even when all that ends has ended; GANG_EINVAL, GANG_ERANGE: a
 * wrong request; GANG_ENOMEM.
 * O((v + k) (p + log P + log nodes)), k nodes that it gets, v those that come free before and are
 * seen to be of no use (free for long enough, but too few at a time; or free for too short a time,
 * where a task takes less than an eighth of the GPUs of a node, or less than its level of it:
 * timeline_in.h). Bounds of what an occupation leaves behind are made exact when a search meets
 * it, so that the first search after many changes takes longer. */
gang_result gang__timeline_earliest(struct gang__timeline *t,
                                    const struct gang__time_request *request, int64_t from_ns,
                                    struct gang__time_fit *fit) GANG_MUST_CHECK;

/* Does the gang fit from start_ns on, and where? GANG_OK; GANG_ENOFIT: no, or start_ns is before
 * the present; errors as above, but GANG_ENEVER. Several groups are placed first fit. O(nodes (p
 * + log nodes)). */
gang_result gang__timeline_at(struct gang__timeline *t, const struct gang__time_request *request,
                              int64_t start_ns, struct gang__time_fit *fit) GANG_MUST_CHECK;

/* The latest start in from_ns...to_ns, not before the present. With one group it is the latest
 * there is; with several it is tried at to_ns and where the end is an instant at which something
 * begins. The duration has an end. GANG_OK; GANG_ENOFIT: there is none; errors as with _at(). O(E
 * (log P + nodes (p + log nodes))) with E beginnings in between; the second factor only where the
 * sums are enough. */
gang_result gang__timeline_latest(struct gang__timeline *t,
                                  const struct gang__time_request *request, int64_t from_ns,
                                  int64_t to_ns, struct gang__time_fit *fit) GANG_MUST_CHECK;

/* Would the gang fit if there were no occupations? GANG_OK, GANG_ENEVER, errors as above. O(nodes
 * log nodes). */
gang_result gang__timeline_fits_empty(struct gang__timeline *t,
                                      const struct gang__time_request *request,
                                      struct gang__time_fit *fit) GANG_MUST_CHECK;

/* How many tasks of one group of the request would fit then, each node having no more than its
 * bound? O(nodes). */
int64_t gang__timeline_capacity(const struct gang__timeline *t,
                                const struct gang__time_request *request, size_t group);

/* Does an occupation fit, all the time from its start to its end? Its arrays are as
 * gang__timeline_add() wants them. O(n p + log P). */
bool gang__timeline_fits(struct gang__timeline *t, const struct gang__occupation *o);

/* The same by sums alone: on a flat machine, or as a bound.
 *   need  <= 0: does not matter
 * _earliest_sum() returns the earliest start >= from_ns, _latest_sum() the latest in
 * from_ns...to_ns; GANG__NEVER: there is none. O(log P) for each time that what is free falls
 * below the need and comes back. */
int64_t gang__timeline_earliest_sum(const struct gang__timeline *t,
                                    const int64_t need[GANG__FREE_DIMS], int64_t from_ns,
                                    int64_t duration_ns);
int64_t gang__timeline_latest_sum(struct gang__timeline *t, const int64_t need[GANG__FREE_DIMS],
                                  int64_t from_ns, int64_t to_ns, int64_t duration_ns);
bool gang__timeline_fits_sum(const struct gang__timeline *t, const int64_t need[GANG__FREE_DIMS],
                             int64_t start_ns, int64_t end_ns);
/* Until when the sums suffice without a break from an instant on that has not passed. That instant:
 * they do not; GANG__NEVER: for good. O(log P). */
int64_t gang__timeline_until_sum(const struct gang__timeline *t,
                                 const int64_t need[GANG__FREE_DIMS], int64_t start_ns);

/* The free amounts at an instant; returns until when they stay so (GANG__NEVER: for good). From one
 * to the next, these are the steps of free capacity over time: O(log P) each. On a machine of one
 * node an instant that has passed costs O(P). */
int64_t gang__timeline_sum_at(const struct gang__timeline *t, int64_t at_ns,
                              int64_t unused[GANG__FREE_DIMS]);

#endif
