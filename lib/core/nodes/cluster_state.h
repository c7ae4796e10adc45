/* SPDX-License-Identifier: Apache-2.0 */
/* The state of this folder, and the cluster and the worker that embed it. */
#ifndef GANG__CORE_NODES_STATE_H
#define GANG__CORE_NODES_STATE_H

#include <gangsched/core.h>

#include <pthread.h>
#include <stddef.h>

#include "base/atomic.h"
#include "base/fork.h"
#include "base/hash_table.h"
#include "base/mem.h"
#include "core/commit/commit.h"

enum {
    GANG__GRACE_BATCHES = 4, /* threads that wait for a grace period to reclaim */
    GANG__PARTITION_BUCKETS = 64
};

struct gang__kind {
    char name[GANG_MAX_NAME + 1];
    char unit[GANG_MAX_NAME + 1];
    int32_t scope;
    gang__a64 capacity; /* of cluster-wide kinds; gang__store -> gang__load of any thread */
};

/* Memory of a higher folder that readers may still use; the first member of its block. */
struct gang__rcu_block {
    struct gang__rcu_block *next;
};

/* What was unpublished and waits for a grace period. */
struct gang__retired {
    struct gang__node *nodes;        /* and their slots */
    struct gang__node *descriptions; /* the node itself stays, with a newer description */
    struct gang__members *members;
    struct gang__domain_table *tables;
    struct gang__modes *modes;
    struct gang__rcu_block *blocks;
    size_t count;
};

/* What one thread frees after its grace period, and gang__fork_count() of its process. A child of
 * that process does not have the thread. */
struct gang__grace_batch {
    struct gang__retired retired;
    uint64_t fork;
};

/* A snapshot that keeps the nodes it shows. */
struct gang__holder {
    /* Of the snapshot; GANG__PENDING: it was never taken. gang__store of the taker -> gang__load of
     * the thread that frees nodes; see gang__holder_set(). */
    gang__a64 number;
    struct gang__holder *next; /* under the structure mutex */
};

struct gang__nodes {
    uint32_t max_slots; /* slots 1 .. max_slots may be used */
    bool manual_recycle;
    /* Raised relaxed; lowered with release -> gang__load of gang_node_count(): a thread that counts
     * one node less finds it removed. A search only chooses how to look, and loads it relaxed. */
    gang__a32 node_count;
    /* At least the number of unhealthy devices; 0: planners skip the health words. add_seq of
     * gang__health_expect(), gang__sub_release of gang__health_unexpect() -> gang__load of
     * gang__plan_begin(). */
    gang__a32 unhealthy;
    /* add_seq at each change of nodes, kinds or capacities, and before a node is freed ->
     * gang__load of planners. A thread that finds it unchanged since its last read section may use
     * what it found before. */
    gang__a64 epoch;
    /* add_seq at each change of a node's state -> gang__load of the scheduler */
    gang__a64 states;
    /* Versions of what planners remember of each chunk. add_seq of gang__chunk_changed() and of
     * step_changes() in partition.c -> load_seq of place/search/match_cache.c. */
    gang__a64 changes[GANG__CHUNKS];

    struct gang__kind kind[GANG_MAX_KINDS];
    gang__a32 kind_count; /* stored after the kind itself -> gang__load of any thread */

    uint32_t level_count;
    char *level_name[GANG_MAX_LEVELS];
    /* Stored under the structure mutex -> gang__load in read sections; see core/nodes/topology.h */
    _Atomic(struct gang__domain_table *) domains;                        /* all, by index */
    _Atomic(struct gang__domain_table *) level_domains[GANG_MAX_LEVELS]; /* those of each level */

    /* lists that only grow: gang__publish at the head -> gang__load */
    _Atomic(struct gang__partition *) partition[GANG__PARTITION_BUCKETS];

    /* The structure mutex, and what it guards. No commit takes it. */
    pthread_mutex_t structure;
    struct gang__hash_table node_names;
    struct gang__hash_table domain_names;
    struct gang__hash_table types;
    /* Of profiles, see core/nodes/parent.h. A list that only grows: stored at the head ->
     * gang__load of threads without the mutex. */
    _Atomic(struct gang__width *) widths;
    struct gang__node_type *last_type; /* of the node described last; NULL: none */
    uint64_t types_made;
    uint32_t *free_slots; /* recycled slots */
    size_t free_slot_count, free_slot_cap;
    struct gang__node *removed; /* removed, may still hold allocations */
    struct gang__retired retired;
    struct gang__holder *holders; /* snapshots that exist */
    struct gang__node *held;      /* unpublished, but a snapshot shows them */
    struct gang__grace_batch grace_batch[GANG__GRACE_BATCHES];
    gang__a64 **old_overflow; /* outgrown words, which a late reader may still read */
    size_t old_overflow_count, old_overflow_cap;
};

struct gang__place_ops;

struct gang_cluster {
    struct gang__cells commit;
    struct gang__nodes nodes;
    struct gang_mem mem;
    uint32_t max_workers;
    int32_t policy;        /* of requests that name none */
    _Atomic(void *) place; /* the state of place/; gang__publish once -> gang__load */
    /* The functions with which core/ ends it; NULL: nothing was ever placed. gang__publish, then
     * gang__store of other functions -> gang__load of core/. */
    _Atomic(const struct gang__place_ops *) place_ops;
};

struct gang_worker {
    struct gang__committer commit;
    /* 1: a host has it. gang__store of gang_worker_free() -> gang__try_lock of gang_worker_new():
     * the next owner sees all that the last one did. */
    gang__a32 in_use;
    bool from_first;      /* its searches begin with the first node, not at a place of their own */
    bool keeps_allocs;    /* no other worker may change the allocations that it makes from now on */
    uint32_t gangs_apart; /* searches that still begin as after a meeting (place/search) */
    gang_cluster *cluster;
    struct gang_worker_stats stats; /* without commits and helps, which `commit` counts */
    void *place;                    /* scratch of place/ */
};

/* The worker of a committer; NULL: none. */
static inline gang_worker *gang__worker_of(struct gang__committer *commit)
{
    return (gang_worker *)commit;
}
_Static_assert(offsetof(gang_worker, commit) == 0, "see gang__worker_of()");

/* A fork in another thread waits until the mutex is unlocked, so that the child finds nothing
 * half-changed. */
static inline void gang__structure_lock(gang_cluster *c)
{
    gang__fork_hold_off();
    pthread_mutex_lock(&c->nodes.structure);
}

static inline void gang__structure_unlock(gang_cluster *c)
{
    pthread_mutex_unlock(&c->nodes.structure);
    gang__fork_allow();
}

/* Moves the version of what planners remember of a chunk: the descriptions of its nodes, and what
 * follows from them and the modes of partitions. Call it after a slot got a node or another
 * description, and before the stamp (core/commit/index.h) moves. The version is odd while the modes
 * change. add_seq -> load_seq of place/search/match_cache.c. Under the structure mutex. */
static inline void gang__chunk_changed(gang_cluster *c, uint32_t slot)
{
    gang__add_seq(&c->nodes.changes[slot / GANG__CHUNK], 2);
}

#endif
