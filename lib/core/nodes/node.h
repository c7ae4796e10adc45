/* SPDX-License-Identifier: Apache-2.0 */
/* The node table: nodes by slot, id and name, adding them and describing them. A reader stays
 * inside a read section (base/rcu.h) as long as it uses a node. */
#ifndef GANG__CORE_NODE_H
#define GANG__CORE_NODE_H

#include "core/nodes/cluster_state.h"
#include "core/nodes/topology.h"

/* What the site says about one node, except name and topology; in one block. */
struct gang__tags {
    const struct gang_label *labels;
    size_t label_count;
    struct gang__partition *const *partitions; /* core/nodes/partition.h */
    size_t partition_count;
    const char *const *uuids; /* of the GPUs, or NULL */
    uint64_t unhealthy;       /* devices that the description calls unhealthy */
};

/* A node. Does not change while it is published, except for the atomic members. Freed after a grace
 * period. */
struct gang__node {
    gang_node_id id;
    struct gang__node_type *type;
    struct gang__tags *tags; /* NULL: none */
    const char *name;
    struct gang__hash_link name_link; /* under the structure mutex */
    struct gang__node *next_retired;
    uint32_t slot;
    int32_t state; /* GANG_NODE_* of its description */
    /* For snapshots that are being taken: the label of the commit that brought this description,
     * or GANG__PENDING before it; the commit with which `newer` takes effect, as in an owner word,
     * or 0. Stored under the structure mutex (release) -> gang__load of the taker, node_then() in
     * core/snapshot_take.c. */
    gang__a64 label;
    gang__a64 newer_ref;
    _Atomic(struct gang__node *) newer;
    struct gang__node *older; /* valid as long as a read section can reach it */
    /* snapshots with this number and later ones do not show it; under the structure mutex */
    uint64_t gone_at;
    uint32_t domain[]; /* index of its domain on each level of the cluster, or GANG__NO_DOMAIN */
};

/* The uuid of a GPU, or NULL. */
static inline const char *gang__node_uuid(const struct gang__node *node, size_t gpu)
{
    return node->tags && node->tags->uuids ? node->tags->uuids[gpu] : NULL;
}

/* The node of a slot, or NULL. Inside a read section. */
struct gang__node *gang__node_at(gang_cluster *c, uint32_t slot);

/* The id of a node that was met in a slot, in this read section: without its description, which
 * lies on a cache line of its own. */
static inline gang_node_id gang__node_id_met(const gang_cluster *c, uint32_t slot)
{
    const struct gang__slot *s = gang__slot_at(gang__chunk_of(&c->commit, slot), slot);
    return (uint64_t)gang__load(&s->generation) << 32 | slot;
}

/* The narrowest domain of a node, which decides its wider ones; GANG__NO_DOMAIN: none. */
static inline uint32_t gang__node_domain(const gang_cluster *c, const struct gang__node *node)
{
    uint32_t level = c->nodes.level_count;
    while (level && node->domain[level - 1] == GANG__NO_DOMAIN)
        level--;
    return level ? node->domain[level - 1] : GANG__NO_DOMAIN;
}

/* The same of a node that was met in a slot, in this read section. */
static inline uint32_t gang__node_domain_met(const gang_cluster *c, uint32_t slot)
{
    return gang__load(&gang__slot_at(gang__chunk_of(&c->commit, slot), slot)->domain);
}

/* Compares the paths of domains of two nodes, from the widest level down: below 0, 0, above 0. */
static inline int gang__node_compare_domains(const gang_cluster *c, const struct gang__node *a,
                                             const struct gang__node *b)
{
    for (uint32_t level = 0; level < c->nodes.level_count; level++)
        if (a->domain[level] != b->domain[level])
            return a->domain[level] < b->domain[level] ? -1 : 1;
    return 0;
}

/* The id of the node in a slot. GANG_ID_NONE: none, or one that was removed, which may stay there
 * for a while. Lock-free. */
gang_node_id gang__node_id_at(gang_cluster *c, uint32_t slot);

/* The node of an id, or NULL if it is stale. Inside a read section. */
struct gang__node *gang__node_of(gang_cluster *c, gang_node_id id);

/* The node of an id and its words (GANG__MAX_WORDS of space), both at one instant. NULL: stale.
 * Lock-free; inside a read section. */
struct gang__node *gang__node_read(gang_cluster *c, gang_node_id id, uint64_t *payload);

/* Adds the cores of a core word to a set of GANG_MAX_CORES bits; `first`: the first of the word. */
static inline void gang__cores_put_word(uint64_t *cores, unsigned first, uint64_t bits)
{
    unsigned at = first % 64;
    uint64_t rest = at ? bits >> (64 - at) : 0; /* belongs to the next 64 cores */
    cores[first / 64] |= bits << at;
    if (rest)
        cores[first / 64 + 1] |= rest;
}

/* What is free of a node. False: there is no such node. Any thread; enters a read section. */
struct gang__node_free {
    int64_t cpu_milli, pages, gpu_milli;
};
bool gang__node_free_get(gang_cluster *c, gang_node_id id, struct gang__node_free *out);

/* Makes a node of a specification; the caller sets its id and slot. Under the structure mutex. */
gang_result gang__node_new(gang_cluster *c, const struct gang_node_spec *spec,
                           struct gang__node **made, struct gang_error *error);

/* Puts the description of a node together again: checked, in the library's struct sizes, with texts
 * that the node and the cluster own. Topology comes in the order of the levels. Inside a read
 * section. */
struct gang__node_description {
    struct gang_node_spec spec;
    struct gang_gpu_spec gpu[GANG_MAX_GPUS];
    struct gang_label place[GANG_MAX_LEVELS];
    const char *partition[GANG_MAX_ITEMS];
};
void gang__node_describe(gang_cluster *c, const struct gang__node *node,
                         struct gang__node_description *d);

/* A report about a node takes effect: like gang_node_set_state(), unless the host has called that
 * since gang_cluster.nodes.states was `stamp`. */
gang_result gang__node_report_state(gang_worker *worker, gang_node_id id, int32_t state,
                                    uint64_t stamp);

/* The node of a name, or NULL. Under the structure mutex. */
struct gang__node *gang__node_by_name(gang_cluster *c, const char *name);

/* Specifications in one array, `stride` bytes apart, or (list) anywhere. */
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

/* Adds all nodes, or none: then *at is the number of the refused one. `ids` may be NULL. */
enum { GANG__NODES_AT_ONCE = 32 }; /* in one commit */
gang_result gang__nodes_add(gang_worker *w, struct gang__specs specs, gang_node_id *ids,
                            struct gang_error *error, size_t *at);

/* Inserts a node with the id and the words (gang__all_words() of them) that it has in another
 * cluster. Slots ascend, and the cluster has none beyond. A node that is gone has no name.
 * gang__slots_copy() ends the copy: slots below `end` were used, and `unused` are free. Under the
 * structure mutex. */
gang_result gang__node_insert_as(gang_worker *w, const struct gang_node_spec *spec, gang_node_id id,
                                 const uint64_t *payload, struct gang_error *error);
gang_result gang__slots_copy(gang_cluster *c, uint32_t end, const uint32_t *unused, size_t count);

/* Makes space for one more member in all domains of a node. Under the structure mutex. */
gang_result gang__domains_reserve(gang_cluster *c, const struct gang__node *node);

/* A public node state, as the head word has it. */
static inline uint32_t gang__state_word(int32_t state)
{
    return state == GANG_NODE_UP         ? GANG__STATE_UP
           : state == GANG_NODE_DRAINING ? GANG__STATE_DRAINING
           : state == GANG_NODE_DOWN     ? GANG__STATE_DOWN
                                         : GANG__STATE_GONE;
}

/* Frees a node that no reader can reach, and gives up its reference to the type. Under the
 * structure mutex. */
void gang__node_free(gang_cluster *c, struct gang__node *node);

/* Do these payloads (gang__word_count() of them) say that all of the node is free? */
bool gang__node_is_free(const struct gang__node *node, const uint64_t *payload);

/* Is the node removed and wholly free? Then its id is stale, even while it is still in its slot. */
bool gang__node_is_drained(const struct gang__node *node, const uint64_t *payload);

/* Fills all of *info but its size; the caller zeroed it. `payload` has all words, those of health
 * too. */
void gang__node_info(const struct gang__node *node, const uint64_t *payload,
                     struct gang_node_info *info);

#endif
