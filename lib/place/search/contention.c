/* SPDX-License-Identifier: Apache-2.0 */
/* Two workers that pack single tasks come to the same fullest node again and again. Each then takes
 * the cache lines of the node and of its index words from the other, or has to plan again. So a
 * worker that met another one does three things for its next tasks:
 *  - it fills a node of its own, then the next one of the bucket where it found that node,
 *  - it avoids the index words of the nodes where it met others last,
 *  - it leaves emptied index words marked (gang__committer.apart), because the marks above them are
 *    shared by all workers. Its searches pass over some of these words; those of others repair the
 *    marks.
 * Only searches that may skip claimed nodes depart so from the order of packing, and they come back
 * to what they skipped before they refuse.
 *
 * Gangs meet where few nodes are free and all of them lie together: each worker begins at its share
 * of all slots, but from there on both come to the same first free node. After a meeting they begin
 * at their shares of the nodes in the bucket.
 *
 * The state belongs to the worker: no thread reads that of another. */
#include "place/search/contention.h"

#include "core/commit/commit.h"
#include "place/fit/fit.h"
#include "place/search/search.h"

enum {
    TASKS_APART = 1024, /* after the last meeting */
    NODES_A_BUCKET = 64 /* then the order of packing says from which bucket the next one comes */
};

static void meet(gang_worker *w, struct gang__contention *x, uint32_t slot)
{
    if (!w->commit.apart)
        *x = (struct gang__contention){.on = x->on, .met = x->met, .in_bucket = x->in_bucket};
    w->commit.apart = TASKS_APART;
    for (unsigned i = 0; i < GANG__AVOIDED_NODES; i++)
        if (x->avoided[i] == slot)
            return;
    x->avoided[x->next++ % GANG__AVOIDED_NODES] = slot;
}

/* From now on the worker fills the node of the copy. */
static void choose_own(struct gang__plan *p, const struct gang__node_copy *copy)
{
    struct gang__contention *x = &p->contention;
    struct gang__buckets stood = gang__buckets_of(copy->layout, gang__words_was(p, copy));
    bool gpu = p->request->group[0].gpu_level != 0;
    x->request = p->request;
    x->class_id = copy->layout.class_id;
    x->row = gpu ? gang__gpu_row(stood.gpu) : gang__cpu_row(stood.cpu);
    x->own = (gpu ? stood.gpu : stood.cpu) ? copy->slot : (uint32_t)GANG__POOL;
}

void gang__contention_note(gang_worker *w, struct gang__plan *p, bool lost, bool placed)
{
    struct gang__contention *x = &p->contention;
    if (w->from_first || !p->request->plain || p->request->min != 1)
        return;
    const struct gang__node_copy *copy = &p->nodes.copy[p->tasks.plan[0].copy];
    if (x->met != GANG__POOL)
        meet(w, x, x->met);
    if (lost)
        meet(w, x, copy->slot);
    if (!placed || !w->commit.apart)
        return;
    w->commit.apart--;
    if (gang__contention_avoids(p, copy->slot))
        x->own = GANG__POOL;
    else if (x->own != copy->slot || x->request != p->request)
        choose_own(p, copy);
}

/* Looks the place up: reads an index word that another worker may be changing. */
static struct gang__bucket_start look_up(struct gang__plan *p, uint32_t class_id, unsigned row)
{
    enum { USES = 64 };
    uint32_t more, first = gang__contention_next(p, class_id, row, 0, &more);
    uint32_t end = gang__index_row_end(&p->c->commit, class_id, row), slots = gang__plan_end(p);
    end = end < slots ? end : slots;
    uint64_t length = first < end ? end - first : 0;
    uint32_t slot = length ? first + (uint32_t)(p->start.share * length >> 32) : p->start.slot;
    return (struct gang__bucket_start){class_id, row, slot, USES};
}

uint32_t gang__contention_start_in(struct gang__plan *p, uint32_t class_id, unsigned row)
{
    struct gang__bucket_start *in = &p->contention.in_bucket;
    if (!in->uses || in->class_id != class_id || in->row != row)
        *in = look_up(p, class_id, row);
    in->uses--;
    return in->slot;
}

/* Plans the task on one node. */
static bool plan_on(struct gang__plan *p, uint32_t slot)
{
    struct gang__scope node = gang__scope_node(slot);
    bool planned = gang__search(p, 0, 1, &node, GANG_POLICY_PACK) == 1;
    p->out.met_claimed = false;
    return planned;
}

/* The nodes after `own` in the bucket where it stood. */
static bool search_bucket(struct gang__plan *p, uint32_t own)
{
    enum { TRIES = 4 };
    const struct gang__contention *x = &p->contention;
    uint32_t slot = own, more;
    for (int i = 0; i < TRIES; i++) {
        slot = gang__contention_next(p, x->class_id, x->row, slot + 1, &more);
        if (slot == GANG__NO_SLOT)
            return false;
        if (gang__contention_avoids(p, slot))
            slot |= GANG__FAN - 1; /* the end of the word */
        else if (plan_on(p, slot))
            return true;
    }
    return false;
}

bool gang__contention_search(struct gang__plan *p)
{
    struct gang__contention *x = &p->contention;
    uint32_t own = x->own;
    x->avoids = true;
    if (own == GANG__POOL || x->request != p->request ||
        gang__tier_count(gang__tiers_of(p, &p->request->group[0])) != 1)
        return false;
    if (plan_on(p, own))
        return true;
    x->own = GANG__POOL;
    if (++x->nodes < NODES_A_BUCKET && search_bucket(p, own))
        return true;
    x->nodes = 0;
    return false;
}
