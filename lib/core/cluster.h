/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a cluster: cells, descriptors, index, node table. Shared by the files of core/;
 * place/ uses it through core/commit/commit.h, core/commit/index.h and core/nodes/node.h. */
#ifndef GANG__CORE_CLUSTER_H
#define GANG__CORE_CLUSTER_H

#include <gangsched/core.h>

#include <pthread.h>

#include "base/atomic.h"
#include "base/fork.h"
#include "base/hash_table.h"
#include "base/mem.h"
#include "core/commit/word.h"

enum {
    GANG__CHUNK = 1024,    /* nodes a chunk */
    GANG__CHUNKS = 1024,   /* chunks a cluster: 2^20 slots, slot 0 is the pool */
    GANG__CELL_WORDS = 7,  /* words beside the owner in a cell's own cache line */
    GANG__CLASSES = 256,   /* class 0: nodes without GPUs */
    GANG__GPU_LEVELS = 24, /* see gang__levels_of() in core/commit/index.c */
    GANG__CPU_LEVELS = 16,
    GANG__BUCKETS = GANG__GPU_LEVELS + GANG__CPU_LEVELS,
    GANG__FAN = 32,       /* children of an index word */
    GANG__WORKERS = 2048, /* as many as an owner word can name */
    GANG__SNAPSHOTS = 16, /* as many can be taken at once */
    GANG__BATCHES = 4,    /* threads that wait for a grace period to reclaim */
    GANG__PARTITION_BUCKETS = 64,
    GANG__POOL = 0 /* slot whose cell holds the cluster-wide kinds */
};

/* ---- cells ----------------------------------------------------------------------------- */

/* What is free on one node; protocol in core/commit/commit.c. */
struct gang__cell {
    gang__a64 owner; /* 0, or who claims it: {seq:52 | worker:11 | 1} */
    gang__a64 word[GANG__CELL_WORDS];
};
_Static_assert(sizeof(struct gang__cell) == 64, "a cell is one cache line");

/* Index words of one class for the nodes of one chunk; see core/commit/index.c. */
struct gang__leaf {
    gang__a64 top[GANG__BUCKETS]; /* which words of `bits` hold something */
    /* One bit a node. The words of the same nodes lie together, whole GPUs (buckets 8-15) on one
     * cache line: a node moves between neighbours. */
    gang__a64 bits[GANG__FAN][GANG__BUCKETS];
};

/* Who is in a slot. All that a planner needs beside the cell, on half a cache line. */
struct gang__slot {
    _Atomic(struct gang__node *) node;   /* RCU; NULL: slot is free */
    _Atomic(struct gang__shape *) shape; /* of the node */
    gang__a32 layout;                    /* gang__layout_pack(); changes while nobody looks */
    gang__a32 placed;                    /* hint: buckets last tidied, gpu | cpu << 8 */
    gang__a32 generation;                /* upper half of the node's id */
    uint32_t more_words;                 /* room in chunk->more; under the structure mutex */
};
_Static_assert(sizeof(struct gang__slot) == 32, "slots do not straddle cache lines");

/* 1024 consecutive slots. Never freed before the cluster. */
struct gang__chunk {
    struct gang__cell cell[GANG__CHUNK];
    struct gang__slot slot[GANG__CHUNK];
    _Atomic(gang__a64 *) more[GANG__CHUNK]; /* words past GANG__CELL_WORDS */
    _Atomic(struct gang__leaf *) leaf[GANG__CLASSES];
    gang__a64
        described; /* label of the last change of a slot's node, or GANG__PENDING during one */
    gang__a32 most_words; /* of a node that was ever here; only grows */
};

enum { GANG__HOLDS_DEVICES = 1, GANG__HOLDS_SLICES = 2 }; /* of their own, of parents */

/* Upper index words of one class. */
struct gang__class {
    gang__a64 root[GANG__BUCKETS];
    gang__a64 mid[GANG__BUCKETS][GANG__FAN];
    gang__a64 whole; /* buckets in which nodes stand that are wholly free; only grows */
    char model[GANG_MAX_NAME + 1]; /* GPU model; "" for class 0 and for unknown models */
    uint8_t holds;                 /* GANG__HOLDS_*: what its nodes have */
};

/* ---- descriptors and workers ------------------------------------------------------------ */

/* One operation on one word. Operations of a commit are sorted by slot. */
struct gang__op {
    gang__a64 where; /* gang__where() */
    gang__a64 arg;
    gang__a64 agreed; /* GANG__UNAGREED | seq, or the word all helpers agree on */
    /* The owner's own: first the payload that it expects to find, or GANG__UNFORESEEN; then the word
     * after the operation. */
    uint64_t next;
};

#define GANG__UNFORESEEN UINT64_MAX

/* Slot, word and code of an operation, packed into one number so that they are read together. */
static inline uint64_t gang__where(uint32_t slot, unsigned word, enum gang__code code)
{
    return (uint64_t)slot | (uint64_t)word << 32 | (uint64_t)code << 40;
}
static inline uint32_t gang__where_slot(uint64_t where)
{
    return (uint32_t)where;
}
static inline unsigned gang__where_word(uint64_t where)
{
    return (unsigned)(where >> 32 & 0xff);
}
static inline enum gang__code gang__where_code(uint64_t where)
{
    return (enum gang__code)(where >> 40 & 0xff);
}

/* A commit that others can carry on. Never freed before the cluster; reused by sequence number. */
struct gang__desc {
    gang__a64 ss;                   /* {seq:61 | status:3} */
    _Atomic(struct gang__op *) ops; /* replaced by larger ones; old ones are kept */
    gang__a32 count;
    gang__a32 raises; /* 1: some operation gives something back */
    gang__a64
        when; /* label: GANG__UNAGREED | seq, or an instant; see core/commit/snapshot_save.c */
    char pad[64 - 32];
};
_Static_assert(sizeof(struct gang__desc) == 64, "descriptors do not share cache lines");

struct gang_worker {
    struct gang__desc desc;
    gang__a64 stamp; /* raised before each decision that gives back; see core/commit/index.h */
    gang__a32 in_use;
    uint32_t index; /* number of this worker, 0.. */
    /* Its searches begin with the first node, not apart from those of other workers. */
    bool from_first;
    gang_cluster *cluster;
    uint64_t seq;      /* of the last operation */
    uint64_t unagreed; /* what its words are before they are agreed */
    uint32_t op_count; /* while it is being described */
    size_t op_room;
    struct gang__op *old_ops[40]; /* outgrown arrays: helpers may still read them */
    uint32_t old_count;
    struct gang_worker_stats stats;
    void *place; /* scratch of the place room, owned by it */
};

/* ---- nodes, topology, kinds --------------------------------------------------------------- */

/* The domains of one level inside a machine (packages, NUMA domains, PCIe switches, islands). */
enum { GANG__INNER_LEVELS = 4 };
struct gang__parts {
    uint32_t count;
    uint32_t most_gpus;    /* of one part */
    const uint64_t *gpus;  /* devices of each */
    const uint64_t *cores; /* core words, at [i * core_words]; NULL: a matter of GPUs alone */
};

/* What machines of one make have in common; see core/nodes/node_type.h. Immutable; freed after a grace period
 * when no node refers to it any more. */
struct gang__shape {
    struct gang_node_spec *spec; /* without what the site says of one node, and GPU uuids */
    struct gang__layout layout;
    bool has_class;  /* layout.class_id is set */
    bool gpus_alike; /* all pairs of GPUs are joined alike, and all lie in one NUMA domain */
    bool flat;       /* so do the cores, with the GPUs: no core is nearer than another */
    /* NUMA domains: those of the specification, or one for a node that describes none. GPUs and cores
     * of unknown domain are in none of them. */
    uint16_t numas;
    uint8_t numa_most_gpus;            /* of one domain */
    uint8_t kind_word[GANG_MAX_KINDS]; /* word that counts a kind of the site; 0: none */
    uint64_t serial;                   /* of the shapes of the cluster, from 1; never used again */
    uint64_t gpus;                     /* one bit a device of its own */
    uint64_t slices;                   /* one bit a slice of a parent, see core/nodes/parent.h */
    uint64_t nic_gpus;                 /* those with a network card in their NUMA domain */
    struct gang__parents *parents;     /* NULL: no slices */
    const uint8_t *near;               /* GANG_LOCALITY_* of GPUs i, j at [i * gpus + j] */
    const uint64_t *weight;     /* how well they are joined, likewise; see core/nodes/node_type.h */
    const uint64_t *numa_gpus;  /* of each domain */
    const uint64_t *numa_cores; /* core words of domain d at [d * core_words], ... */
    const uint8_t *numa_run; /* ... of which only those from [2 * d] to before [2 * d + 1] count */
    uint64_t *part_words;    /* a block of its own */
    struct gang__parts parts[GANG__INNER_LEVELS]; /* in the order of GANG_LEVEL_PACKAGE and on */
    struct gang__hash_link link;                  /* under the structure mutex, as all below */
    size_t refs;
    uint64_t capacity[]; /* payload of each word when nothing is taken; of the head: millicores */
};

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
    struct gang__shape *shape;
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
    uint64_t over_at;  /* at this instant and after it nobody sees it; under the structure mutex */
    uint32_t domain[]; /* index of its domain on each level of the cluster; GANG__NO_DOMAIN */
};

#define GANG__NO_DOMAIN UINT32_MAX
#define GANG__PENDING UINT64_MAX

/* Slots of the nodes of a domain. Appended to in place; replaced (RCU) to grow or to remove. */
struct gang__members {
    gang__a32 count;
    uint32_t room;
    struct gang__members *next_retired;
    gang__a32 slot[];
};

/* A place in the topology: path of values down to its level. Lives as long as the cluster. */
struct gang__domain {
    uint32_t index;
    uint32_t level;
    struct gang__hash_link name_link; /* under the structure mutex */
    uint32_t parent;                  /* nearest wider domain on the path, or GANG__NO_DOMAIN */
    uint32_t rank;                    /* its place in the table of its level */
    uint32_t first, last;             /* slots, if it has any; under the structure mutex */
    _Atomic(struct gang__members *) members;
    char value[GANG_MAX_NAME + 1];
};

/* A growing array of pointers that readers walk; replaced (RCU) to grow. Beside each entry of a level's
 * table stands the span of the domain, so that a search over all of them reads numbers in a row. */
struct gang__table {
    gang__a32 count;
    uint32_t room;
    struct gang__table *next_retired;
    gang__a64 *span; /* gang__span() of each; in the same block */
    _Atomic(void *) entry[];
};

/* Where the members of a domain lie among the slots. */
enum { GANG__SPAN_BITS = 20 };
static inline uint64_t gang__span(uint32_t first, uint32_t last, uint32_t count)
{
    return first | (uint64_t)last << GANG__SPAN_BITS | (uint64_t)count << 2 * GANG__SPAN_BITS;
}
static inline uint32_t gang__span_first(uint64_t span)
{
    return (uint32_t)span & ((1u << GANG__SPAN_BITS) - 1);
}
static inline uint32_t gang__span_last(uint64_t span)
{
    return (uint32_t)(span >> GANG__SPAN_BITS) & ((1u << GANG__SPAN_BITS) - 1);
}
static inline uint32_t gang__span_count(uint64_t span)
{
    return (uint32_t)(span >> 2 * GANG__SPAN_BITS);
}
/* Is every slot between them a member? */
static inline bool gang__span_is_dense(uint64_t span)
{
    return gang__span_count(span) == gang__span_last(span) - gang__span_first(span) + 1;
}

struct gang__kind {
    char name[GANG_MAX_NAME + 1];
    char unit[GANG_MAX_NAME + 1];
    int32_t scope;
    gang__a64 capacity; /* cluster-wide kinds */
};

struct gang__place_ops {
    void (*free_table)(gang_cluster *cluster);
    void (*free_worker)(gang_worker *worker);
    /* Is free plus granted equal to the capacity on every node? */
    gang_result (*check)(gang_cluster *cluster, struct gang_error *error);
};

/* A block of memory of another room that readers may still look at; its first member. */
struct gang__spent {
    struct gang__spent *next;
};

/* Unpublished, waiting for a grace period. */
struct gang__retired {
    struct gang__node *nodes;        /* and their slots */
    struct gang__node *descriptions; /* the node lives on with a newer one */
    struct gang__members *members;
    struct gang__table *tables;
    struct gang__modes *modes;
    struct gang__spent *spent;
    size_t count;
};

/* What a thread waits for a grace period for, and gang__fork_count() of the process in which it does:
 * in a child of that process the thread is no more. */
struct gang__batch {
    struct gang__retired retired;
    uint64_t fork;
};

struct gang_cluster {
    struct gang_mem mem;
    uint32_t max_slots; /* slots 1 .. max_slots may be used */
    uint32_t max_workers;
    bool manual_recycle;
    int32_t policy; /* of requests that name none */

    _Atomic(struct gang__chunk *) chunk[GANG__CHUNKS];
    _Atomic(struct gang__class *) class[GANG__CLASSES];
    gang__a32 class_count;
    gang__a32 slot_end; /* slots below were used at least once */
    gang__a32 node_count;
    gang__a32 unhealthy; /* devices, or more; 0: planners need not look */
    /* One more at each change of nodes, kinds or capacities, and before a node is given back: who saw it
     * stand still since he last entered a read section may use what he found before. */
    gang__a64 epoch;
    gang__a64 states;                /* one more at each change of a node's state */
    gang__a64 changes[GANG__CHUNKS]; /* see gang__chunk_changed() */

    _Atomic(gang_worker *) worker[GANG__WORKERS];
    gang__a32 worker_end;

    /* {instant:48 | snapshots being taken:16}, see core/commit/snapshot_save.c; on a line of its own. */
    _Alignas(64) gang__a64 snap;
    _Alignas(64) gang__a64 snap_slots; /* save areas in use */
    _Atomic(struct gang__area *) area[GANG__SNAPSHOTS];

    struct gang__kind kind[GANG_MAX_KINDS];
    gang__a32 kind_count;

    uint32_t level_count;
    char *level_name[GANG_MAX_LEVELS];
    _Atomic(struct gang__table *) domains;                        /* all, by index */
    _Atomic(struct gang__table *) level_domains[GANG_MAX_LEVELS]; /* those of one level */

    _Atomic(struct gang__partition *) partition[GANG__PARTITION_BUCKETS]; /* lists that only grow */
    _Atomic(struct gang__modes *) modes; /* of partitions; NULL: none was ever set */

    /* The structure mutex and what it guards. No commit takes it. */
    pthread_mutex_t structure;
    struct gang__hash_table node_names;
    struct gang__hash_table domain_names;
    struct gang__hash_table shapes;
    _Atomic(struct gang__width *)
        widths; /* of profiles, see core/nodes/parent.h; read without the mutex */
    struct gang__shape *last_shape; /* of the node described last; NULL: none */
    uint64_t shapes_made;
    uint32_t *free_slots; /* recycled slots */
    size_t free_slot_count, free_slot_room;
    struct gang__node *leaving; /* removed, perhaps still holding allocations */
    struct gang__retired retired;
    struct gang_snapshot *snapshots; /* all that exist */
    struct gang__node *held;         /* unpublished long ago, but in a snapshot */
    struct gang__batch batch[GANG__BATCHES];
    gang__a64 **old_more; /* outgrown words: a late reader may still look at them */
    size_t old_more_count, old_more_room;

    /* What the place room keeps here, and how core hands control up to it at the end. */
    _Atomic(void *) place;
    _Atomic(const struct gang__place_ops *) place_ops; /* NULL: nothing was ever placed */
};

/* A fork in another thread waits for the end of it, so that a child finds nothing half-changed. */
static inline void gang__structure_lock(gang_cluster *c)
{
    gang__fork_hold_off();
    pthread_mutex_lock(&c->structure);
}

static inline void gang__structure_unlock(gang_cluster *c)
{
    pthread_mutex_unlock(&c->structure);
    gang__fork_allow();
}

/* What is remembered of the descriptions of a chunk's nodes, or derived from them and the modes of
 * partitions, goes by a number that rises with each change of them: after a slot got a node or another
 * description, and before the stamp (core/commit/index.h) tells of it. It is odd while the modes change. Under
 * the structure mutex. */
static inline void gang__chunk_changed(gang_cluster *c, uint32_t slot)
{
    gang__add_seq(&c->changes[slot / GANG__CHUNK], 2);
}

/* The chunk of a slot that was used at least once. */
static inline struct gang__chunk *gang__chunk_of(const gang_cluster *c, uint32_t slot)
{
    return gang__load(&c->chunk[slot / GANG__CHUNK]);
}

/* Where the words of a slot are. */
struct gang__words {
    struct gang__cell *cell;
    gang__a64 *more;
};

static inline struct gang__words gang__words_in(struct gang__chunk *chunk, uint32_t slot)
{
    struct gang__words w = {&chunk->cell[slot % GANG__CHUNK],
                            gang__load(&chunk->more[slot % GANG__CHUNK])};
    return w;
}

static inline struct gang__words gang__words_of(const gang_cluster *c, uint32_t slot)
{
    return gang__words_in(gang__chunk_of(c, slot), slot);
}

static inline gang__a64 *gang__word_in(const struct gang__words *w, unsigned i)
{
    return i < GANG__CELL_WORDS ? &w->cell->word[i] : &w->more[i - GANG__CELL_WORDS];
}

static inline struct gang__slot *gang__slot_at(struct gang__chunk *chunk, uint32_t slot)
{
    return &chunk->slot[slot % GANG__CHUNK];
}

static inline struct gang__layout gang__layout_at(struct gang__chunk *chunk, uint32_t slot)
{
    return gang__layout_unpack(gang__load(&gang__slot_at(chunk, slot)->layout));
}

/* Words of the pool's cell: the kinds, one a word after the first two. */
enum { GANG__POOL_WORDS = GANG__WORD_SHARES + GANG_MAX_KINDS - GANG_KIND_SITE };

/* How many words of a cell count. */
static inline unsigned gang__cell_words(struct gang__chunk *chunk, uint32_t slot)
{
    return slot == GANG__POOL ? (unsigned)GANG__POOL_WORDS
                              : gang__all_words(gang__layout_at(chunk, slot));
}

#endif
