/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that meet on a node go apart for a while. Gangs then begin their searches at a place of
 * their worker's own among equally full nodes. Searches for single tasks that pack depart from the
 * order of packing a little. A worker that meets no other one never does. */
#ifndef GANG__PLACE_CONTENTION_H
#define GANG__PLACE_CONTENTION_H

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"
#include "place/fit/fit.h"

/* Before a search: may it depart from the order? */
static inline void gang__contention_begin(struct gang__plan *p, const gang_worker *w)
{
    p->contention.on = w->commit.apart && !p->snap && !w->from_first;
    p->contention.avoids = false; /* until gang__contention_search() */
    p->contention.met = GANG__POOL;
}

/* A gang lost a node to another worker, had to help it, or passed over its nodes. */
static inline void gang__contention_met(gang_worker *w)
{
    enum { GANGS_APART = 1024 };
    w->gangs_apart = GANGS_APART;
}

/* Where the walk over a bucket begins: at the worker's share of all slots; after a meeting of gangs
 * at its share of the way from the first node in the bucket to the last one, however few they
 * are. */
uint32_t gang__contention_start_in(struct gang__plan *p, uint32_t class_id, unsigned row);
static inline uint32_t gang__contention_start(struct gang__plan *p, uint32_t class_id, unsigned row)
{
    return p->start.in_bucket ? gang__contention_start_in(p, class_id, row) : p->start.slot;
}

/* After a plan was committed, or could not be. Does nothing unless it is of a single task.
 *   lost    another worker changed a node first, or had to be helped
 *   placed  the plan took effect */
void gang__contention_note(gang_worker *w, struct gang__plan *p, bool lost, bool placed);

/* Plans one task of group 0 on the node that the worker fills by itself, or on the next one in the
 * bucket where that node stood. From now on this search avoids nodes where the worker met others.
 * Returns whether the task was planned. Only while p->contention.on. */
bool gang__contention_search(struct gang__plan *p);

/* The next node in a row of the index: as gang__index_next(), or, while the worker keeps apart, as
 * gang__index_next_apart(). */
static inline uint32_t gang__contention_next(struct gang__plan *p, uint32_t class_id, unsigned row,
                                             uint32_t from, uint32_t *more)
{
    struct gang__cells *c = &p->c->commit;
    return p->contention.on ? gang__index_next_apart(c, class_id, row, from, more)
                            : gang__index_next(c, class_id, row, from, more);
}

/* Does the search avoid the index word of the node? */
static inline bool gang__contention_avoids(const struct gang__plan *p, uint32_t slot)
{
    const struct gang__contention *x = &p->contention;
    bool avoids = false;
    for (unsigned i = 0; i < GANG__AVOIDED_NODES; i++)
        avoids |= x->avoided[i] && x->avoided[i] / GANG__FAN == slot / GANG__FAN;
    return avoids;
}

/* The same for a walk, which then skips the nodes of the word. */
static inline bool gang__contention_skips(struct gang__plan *p, uint32_t base)
{
    if (!p->contention.avoids || !gang__contention_avoids(p, base))
        return false;
    p->out.skipped = true;
    return true;
}

#endif
