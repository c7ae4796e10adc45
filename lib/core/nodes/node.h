/* SPDX-License-Identifier: Apache-2.0 */
/* The node table: finding a node by slot or id, and the topology above it. Readers are inside a
 * read section (base/rcu.h) as long as they use what they got. */
#ifndef GANG__CORE_NODE_H
#define GANG__CORE_NODE_H

#include "core/cluster.h"

/* The node of a slot, or NULL. Inside a read section. */
struct gang__node *gang__node_at(gang_cluster *c, uint32_t slot);

/* The id of the node there; GANG_ID_NONE: none, or one that was removed, which may lie there for a while. Lock-free. */
gang_node_id gang__node_id_at(gang_cluster *c, uint32_t slot);

/* The node of an id, or NULL if it is stale. Inside a read section. */
struct gang__node *gang__node_of(gang_cluster *c, gang_node_id id);

/* The node of an id and its words (room for GANG__MAX_WORDS), both of one instant. NULL: stale.
 * Lock-free; inside a read section. */
struct gang__node *gang__node_read(gang_cluster *c, gang_node_id id, uint64_t *payload);

/* Make a node of a specification; its id and slot are still to be set. Under the structure mutex. */
gang_result gang__node_new(gang_cluster *c, const struct gang_node_spec *spec,
                           struct gang__node **made, struct gang_error *error);

/* What a node was last described with, put together again: checked, in the library's struct sizes; its texts are the
 * node's and the cluster's. Places in the topology come in the order of the levels. Inside a read section. */
struct gang__described {
    struct gang_node_spec spec;
    struct gang_gpu_spec gpu[GANG_MAX_GPUS];
    struct gang_label place[GANG_MAX_LEVELS];
    const char *partition[GANG_MAX_ITEMS];
};
void gang__node_describe(gang_cluster *c, const struct gang__node *node, struct gang__described *d);

/* The node of a name, or NULL. Under the structure mutex. */
struct gang__node *gang__node_by_name(gang_cluster *c, const char *name);

/* Specifications beside each other, `stride` bytes apart, or (list) anywhere. */
struct gang__specs {
    const struct gang_node_spec *first;
    size_t stride;
    const struct gang_node_spec *const *list;
    size_t count;
};
static inline const struct gang_node_spec *gang__spec_at(struct gang__specs specs, size_t i)
{
    return specs.list ? specs.list[i]
                      : (const void *)((const char *)(const void *)specs.first + i * specs.stride);
}

/* Add all nodes, or none: then *at tells which one was refused. `ids` may be NULL. */
enum { GANG__NODES_AT_ONCE = 32 }; /* in one commit */
gang_result gang__nodes_add(gang_worker *w, struct gang__specs specs, gang_node_id *ids,
                            struct gang_error *error, size_t *at);

/* Add a node with the id and the words (gang__all_words() of them) that it has in another cluster: in
 * ascending slots, to a cluster that has none beyond. One that is gone has no name. Then: slots below
 * `end` were used, and these are free (copied). Under the structure mutex. */
gang_result gang__node_insert_as(gang_worker *w, const struct gang_node_spec *spec, gang_node_id id,
                           const uint64_t *payload, struct gang_error *error);
gang_result gang__slots_copy(gang_cluster *c, uint32_t end, const uint32_t *unused, size_t count);

/* Room in all domains of a node. Under the structure mutex. */
gang_result gang__domains_reserve(gang_cluster *c, const struct gang__node *node);

/* A state of the public face as the head word has it. */
static inline uint32_t gang__state_word(int32_t state)
{
    return state == GANG_NODE_UP         ? GANG__STATE_UP
           : state == GANG_NODE_DRAINING ? GANG__STATE_DRAINING
           : state == GANG_NODE_DOWN     ? GANG__STATE_DOWN
                                         : GANG__STATE_GONE;
}

/* Free a node that nobody sees any more, and give up its shape. Under the structure mutex. */
void gang__node_free(gang_cluster *c, struct gang__node *node);

/* Do these payloads (gang__word_count() of them) say that nothing is taken of the node? */
bool gang__node_is_free(const struct gang__node *node, const uint64_t *payload);

/* Removed, and nobody holds anything of it: its id is stale, reaped or not. */
bool gang__node_is_drained(const struct gang__node *node, const uint64_t *payload);

/* All of *info but its size, which must be zero before; of all words, those of health too. */
void gang__node_info(const struct gang__node *node, const uint64_t *payload,
                     struct gang_node_info *info);

/* Number of a topology level by name, or -1. */
int32_t gang__level_find(const gang_cluster *c, const char *name);

/* Domains of a level: how many, and the i-th. Inside a read section. */
uint32_t gang__domain_count(gang_cluster *c, uint32_t level);
struct gang__domain *gang__domain_at(gang_cluster *c, uint32_t level, uint32_t i);
/* That of an index, as nodes keep it. */
struct gang__domain *gang__domain_with(gang_cluster *c, uint32_t index);

/* Their spans beside each other, and how many there are. */
struct gang__spans {
    const gang__a64 *span;
    uint32_t count;
};
struct gang__spans gang__domain_spans(gang_cluster *c, uint32_t level);

/* Domains of all levels: their indexes are below it. */
static inline uint32_t gang__domains_end(const gang_cluster *c)
{
    struct gang__domain_table *all = gang__load(&c->domains);
    return all ? gang__load(&all->count) : 0;
}

/* What a domain is called on its level. Valid while the cluster lives. */
const char *gang__domain_value(gang_cluster *c, uint32_t index);

/* Slots of the nodes of a domain; a slot may hold no node any more. Inside a read section. */
struct gang__members *gang__domain_members(struct gang__domain *d);

/* ---- topology.c: under the structure mutex ------------------------------------------------ */

/* The domain {level, value} below `parent` (GANG__NO_DOMAIN: top), made if it is not there. */
gang_result gang__domain_intern(gang_cluster *c, uint32_t level, uint32_t parent, const char *value,
                             uint32_t *index);
/* Make room so that the following add cannot fail. */
gang_result gang__domain_reserve(gang_cluster *c, uint32_t index);
void gang__domain_add(gang_cluster *c, uint32_t index, uint32_t slot);
/* Undo the last add, of a slot that never had a node since. */
void gang__domain_drop_last(gang_cluster *c, uint32_t index);
/* The members in another order: that of a list of as many, with the same slots. */
void gang__domain_order(gang_cluster *c, uint32_t index, const struct gang__members *as);
/* Take a slot out: publishes a new list. Out of memory the old one stays, which is allowed: readers
 * check that a slot's node belongs to the domain, and bear one that is listed twice. */
void gang__domain_remove(gang_cluster *c, uint32_t index, uint32_t slot);
void gang__topology_free(gang_cluster *c);

/* ---- reclaim.c: under the structure mutex ------------------------------------------------- */

/* Take removed nodes that hold nothing any more out of the node table. */
void gang__drain_removed(gang_cluster *c);
/* Free everything that was retired, and recycle the slots, after a grace period, for which the mutex
 * is let go: call it where nothing is half done. */
void gang__reclaim(gang_cluster *c);
/* Free what only snapshots held, as far as they do not any more. */
void gang__reclaim_held(gang_cluster *c);
/* Free a block after a grace period: it is unpublished. Under the structure mutex. */
void gang__retire(gang_cluster *c, struct gang__rcu_block *block);
/* Called by add, change and remove: reclaim now and then, unless the host wants to do it. */
void gang__reclaim_some(gang_cluster *c);

#endif
