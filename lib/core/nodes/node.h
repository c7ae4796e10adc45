/* SPDX-License-Identifier: Apache-2.0 */
/* The node table: finding a node by slot or id, and the topology above it. Readers are inside a
 * read section (base/rcu.h) as long as they use what they got. */
#ifndef GANG__CORE_NODE_H
#define GANG__CORE_NODE_H

#include "core/nodes/state.h"

/* What the site says of one node beside its name and place; all in one block. */
struct gang__tags {
    const struct gang_label *labels;
    size_t label_count;
    struct gang__partition *const *partitions; /* core/nodes/partition.h */
    size_t partition_count;
    const char *const *uuids; /* of the GPUs, or NULL */
    uint64_t unhealthy;       /* devices that it was described with as such */
};

/* A node. Does not change while it is published. Freed after a grace period. */
struct gang__node {
    gang_node_id id;
    struct gang__node_type *type;
    struct gang__tags *tags; /* NULL: none */
    const char *name;
    struct gang__hash_link name_link; /* under the structure mutex */
    struct gang__node *next_retired;
    uint32_t slot;
    int32_t state; /* GANG_NODE_* it was described with */
    /* For snapshots that are being taken, see core/commit/snapshot_save.c. */
    gang__a64 label;     /* of the commit since which this is said; GANG__PENDING before */
    gang__a64 newer_ref; /* commit that `newer` takes effect with, as in an owner word; or 0 */
    _Atomic(struct gang__node *) newer;
    struct gang__node *older; /* good as long as somebody can need it */
    uint64_t gone_at;  /* at this instant and after it nobody sees it; under the structure mutex */
    uint32_t domain[]; /* index of its domain on each level of the cluster; GANG__NO_DOMAIN */
};

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

#endif
