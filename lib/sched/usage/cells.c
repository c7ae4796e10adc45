/* SPDX-License-Identifier: Apache-2.0 */
/* Cells: guarantees of whole domains. Before a gang that may not be preempted is placed, this file
 * picks the domains that are guaranteed to other queues and unused, and closes them to the gang.
 * It picks intact domains: they hold no gang that may not be preempted. Among intact domains it
 * prefers those with the most broken neighbours, so that larger domains stay whole. This is the
 * buddy rule of Zhao et al., "HiveD", OSDI 2020. */
#include "sched/usage/usage.h"

#include <string.h>

#include "place/request/request.h"
#include "sched/record/state.h"

struct mark {
    gang_sched *s;
    const struct gang__queue_state *leaf;
    uint8_t
        *by_slot; /* holds a gang that may not be preempted: 1: of another queue, 2: of the queue */
    uint32_t end;
    uint8_t value;
};

static int32_t mark_task(const struct gang_task *task, void *user)
{
    struct mark *m = user;
    uint32_t slot = (uint32_t)task->node;
    if (slot < m->end)
        m->by_slot[slot] |= m->value;
    return 0;
}

/* Marks the nodes that hold gangs that may not be preempted: of the queue, of others. */
static void mark_nodes(struct mark *m)
{
    gang_sched *s = m->s;
    memset(m->by_slot, 0, m->end);
    gang__victims_sort(s);
    for (uint32_t i = 0; i < s->queues->count; i++) {
        struct gang__set_link *n = gang__set_first(&s->qs[i]->victims);
        for (; n; n = gang__set_next(n)) {
            struct gang__gang *g = GANG__OF(struct gang__gang, victim.link, n);
            if (g->job->preemptible == GANG_PREEMPTIBLE)
                continue;
            m->value = gang__queue_is_below(s->qs[i], m->leaf) ? 2 : 1;
            (void)!gang__alloc_each(s->cluster, g->alloc, mark_task, m);
        }
    }
}

struct domain_state {
    bool intact;    /* it holds no marked gang of others, and all its nodes are up */
    bool own;       /* it holds a marked gang of the queue */
    int32_t broken; /* broken nodes around it: prefer domains with many */
};

/* Nodes of a domain; at level node: the slot itself. */
struct members {
    const uint32_t *slot;
    uint32_t count;
    uint32_t one;
};

static struct members members_of(gang_snapshot *snapshot, const gang_sched *s, int32_t level,
                                 uint32_t at)
{
    struct members m = {NULL, 0, at};
    if (level == GANG__LEVEL_NODE) {
        m.count = 1;
    } else {
        struct gang__domain *d = gang__domain_at(s->cluster, (uint32_t)level, at);
        m.slot = gang__snapshot_members(snapshot, d, &m.count);
    }
    return m;
}

static uint32_t slot_at(const struct members *m, uint32_t i)
{
    return m->slot ? m->slot[i] : m->one;
}

static struct domain_state read_domain(gang_snapshot *snapshot, const struct members *m,
                                       const struct mark *mark)
{
    struct domain_state d = {m->count > 0, false, 0};
    for (uint32_t i = 0; i < m->count; i++) {
        uint32_t slot = slot_at(m, i);
        const struct gang__node *node = gang__snapshot_node(snapshot, slot);
        if (!node || slot >= mark->end) {
            d.intact = false;
            continue;
        }
        uint64_t head = gang__snapshot_words(snapshot, slot)[GANG__WORD_HEAD];
        d.intact =
            d.intact && gang__head_state(head) == GANG__STATE_UP && !(mark->by_slot[slot] & 1);
        d.own = d.own || (mark->by_slot[slot] & 2);
    }
    return d;
}

/* Counts the nodes of the next wider domain that are broken already. */
static int32_t broken_around(gang_snapshot *snapshot, const gang_sched *s, const struct members *m,
                             const struct mark *mark, int32_t level)
{
    const struct gang__node *node = gang__snapshot_node(snapshot, slot_at(m, 0));
    int32_t wider = gang__level_wider(s->cluster, level), broken = 0;
    if (!node || wider < 0 || node->domain[wider] == GANG__NO_DOMAIN)
        return 0;
    uint32_t count = 0;
    const uint32_t *slot = gang__snapshot_members(
        snapshot, gang__domain_by_index(s->cluster, node->domain[wider]), &count);
    for (uint32_t i = 0; slot && i < count; i++)
        broken += slot[i] < mark->end && mark->by_slot[slot[i]];
    return broken;
}

static uint32_t domains_of(const gang_sched *s, const gang_snapshot *snapshot, int32_t level)
{
    if (level == GANG__LEVEL_NODE)
        return snapshot->end;
    return gang__domain_count(s->cluster, (uint32_t)level);
}

static void close_domain(gang_snapshot *snapshot, const struct members *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        const struct gang__node *node = gang__snapshot_node(snapshot, slot_at(m, i));
        if (node)
            (void)!gang_snapshot_set_state(snapshot, node->id, GANG_NODE_DRAINING);
    }
}

/* Close `count` more domains of a level for a queue, less those that it has. */
static gang_result keep_some(gang_sched *s, gang_snapshot *snapshot, const struct mark *mark,
                             int32_t level, int64_t count)
{
    uint32_t end = domains_of(s, snapshot, level);
    for (uint32_t at = 0; at < end && count > 0; at++) {
        struct members m = members_of(snapshot, s, level, at);
        count -= m.count > 0 && read_domain(snapshot, &m, mark).own;
    }
    for (; count > 0; count--) {
        uint32_t best = UINT32_MAX;
        int32_t most = -1;
        for (uint32_t at = 0; at < end; at++) {
            struct members m = members_of(snapshot, s, level, at);
            struct domain_state d = read_domain(snapshot, &m, mark);
            int32_t broken = d.intact && !d.own ? broken_around(snapshot, s, &m, mark, level) : -1;
            if (broken > most) {
                most = broken;
                best = at;
            }
        }
        if (best == UINT32_MAX)
            return GANG_OK; /* the guarantee is broken already: no domain is left to keep */
        struct members m = members_of(snapshot, s, level, best);
        close_domain(snapshot, &m);
    }
    return GANG_OK;
}

gang_result gang__cells_close_nodes(gang_sched *s, const struct gang__gang *g,
                                    gang_snapshot *snapshot)
{
    struct mark m = {s, NULL, NULL, snapshot->end, 0};
    m.by_slot = gang__zalloc(&s->mem, snapshot->end + 1, 1);
    if (!m.by_slot)
        return GANG_ENOMEM;
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue_state *q = s->qs[i];
        if (q->q->cell_count == 0 || gang__queue_is_below(g->job->leaf, q))
            continue;
        m.leaf = q;
        mark_nodes(&m);
        for (size_t k = 0; k < q->q->cell_count; k++)
            keep_some(s, snapshot, &m, q->q->cells[k].level, q->q->cells[k].count);
    }
    gang__release(&s->mem, m.by_slot);
    return GANG_OK;
}
