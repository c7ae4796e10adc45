/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot, for the folders that plan on it. */
#ifndef GANG__CORE_SNAPSHOT_H
#define GANG__CORE_SNAPSHOT_H

#include <gangsched/snapshot.h>

#include "core/commit/commit.h"
#include "core/nodes/nodes.h"

/* A copy of all cells at one instant, with their nodes. Only its owner uses it, except for
 * `hold`. */
struct gang_snapshot {
    gang_cluster *c;
    struct gang__holder hold; /* keeps its nodes; has its number */
    uint32_t end;             /* it shows the slots below */
    int64_t count;            /* nodes that are not removed */
    struct gang__node **node; /* of each slot; NULL: no node */
    size_t node_cap;
    uint64_t *word; /* payloads, chunk after chunk, `stride` for each slot */
    size_t word_cap;
    struct gang__snapshot_chunk {
        size_t at; /* in `word` */
        uint32_t stride;
    } * chunk;
    size_t chunk_cap;
    uint32_t kinds;
    uint64_t pool[GANG_MAX_KINDS]; /* capacity of the cluster-wide kinds */
    /* The slots of each domain's nodes, listed at the first question. */
    uint32_t *member;
    size_t *member_from; /* domains + 1 of them */
    size_t member_cap, from_cap, domains;
    bool listed;
};

/* Fills a snapshot. GANG_EBUSY, GANG_ENOMEM: it keeps its content. Inside a read section.
 * Lock-free. */
gang_result gang__snapshot_fill(gang_cluster *c, gang_snapshot *s);

/* Makes `to` equal to `from`, which stays as it is. gang_snapshot_new() made both for the same
 * cluster; `to` may be one that was never taken. To put a changed snapshot back, copy the unchanged
 * one over it: if both come from the same take, only words are copied. @return GANG_OK; GANG_EINVAL
 * (other clusters; `from` was never taken); GANG_ENOMEM: `to` is as
 *   before.
 * No concurrent call on either. Outside of read sections. O(nodes), some 64 bytes a node.
 * Allocates when `to` never had as many nodes; blocks (structure mutex, for one store) when its
 * number falls. */
gang_result gang__snapshot_copy(gang_snapshot *to, const gang_snapshot *from);

/* Puts back the nodes of `to`, a changed copy of `from`, except those that are kept. Also keeps the
 * pools.
 *   kept  for each slot below to->end
 * O(nodes). */
void gang__snapshot_restore(gang_snapshot *to, const gang_snapshot *from, const bool *kept);

/* The node of a slot in a snapshot, or NULL; and its payloads, or those of the pool. */
static inline struct gang__node *gang__snapshot_node(const gang_snapshot *s, uint32_t slot)
{
    return slot < s->end ? s->node[slot] : NULL;
}
static inline uint64_t *gang__snapshot_words(const gang_snapshot *s, uint32_t slot)
{
    const struct gang__snapshot_chunk *part = &s->chunk[slot / GANG__CHUNK];
    return s->word + part->at + (size_t)(slot % GANG__CHUNK) * part->stride;
}

/* Reads and sets the state of a node in a snapshot, GANG__STATE_*. The slot has a node. */
static inline uint32_t gang__snapshot_state(const gang_snapshot *s, uint32_t slot)
{
    return gang__head_state(gang__snapshot_words(s, slot)[GANG__WORD_HEAD]);
}
static inline void gang__snapshot_set_state(gang_snapshot *s, uint32_t slot, uint32_t state)
{
    uint64_t *head = &gang__snapshot_words(s, slot)[GANG__WORD_HEAD];
    *head = gang__head(state, gang__head_cpu(*head));
}

/* The slots of the nodes of a domain, and their number. NULL: out of memory. */
const uint32_t *gang__snapshot_members(gang_snapshot *s, const struct gang__domain *d,
                                       uint32_t *count);

/* The node of an id in a snapshot, or NULL. */
struct gang__node *gang__snapshot_node_of(const gang_snapshot *s, gang_node_id id);

#endif
