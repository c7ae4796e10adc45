/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, descriptors and index words: the memory that commits read and write without a lock, and where
 * to find it. */
#ifndef GANG__CORE_CELL_H
#define GANG__CORE_CELL_H

#include <gangsched/core.h>

#include "base/atomic.h"
#include "base/mem.h"
#include "core/commit/word.h"

struct gang__node;
struct gang__node_type;

enum {
    GANG__CHUNK = 1024,      /* nodes a chunk */
    GANG__CHUNKS = 1024,     /* chunks a cluster: 2^20 slots, slot 0 is the pool */
    GANG__CELL_WORDS = 7,    /* words beside the owner in a cell's own cache line */
    GANG__GPU_CLASSES = 256, /* class 0: nodes without GPUs */
    GANG__GPU_BUCKETS = 24,  /* see gang__buckets_of() in core/commit/index.c */
    GANG__CPU_BUCKETS = 16,
    GANG__INDEX_ROWS = GANG__GPU_BUCKETS + GANG__CPU_BUCKETS,
    GANG__FAN = 32,       /* children of an index word */
    GANG__WORKERS = 2048, /* as many as an owner word can name */
    GANG__SNAPSHOTS = 16, /* as many can be taken at once */
    GANG__POOL = 0        /* slot whose cell holds the cluster-wide kinds */
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
    gang__a64 top[GANG__INDEX_ROWS]; /* which words of `bits` hold something */
    /* One bit a node. The words of the same nodes lie together, whole GPUs (buckets 8-15) on one
     * cache line: a node moves between neighbours. */
    gang__a64 bits[GANG__FAN][GANG__INDEX_ROWS];
};

/* Who is in a slot. All that a planner needs beside the cell, on half a cache line. */
struct gang__slot {
    _Atomic(struct gang__node *) node;      /* RCU; NULL: slot is free */
    _Atomic(struct gang__node_type *) type; /* of the node */
    gang__a32 layout;                       /* gang__layout_pack(); changes while nobody looks */
    gang__a32 bucket_hint;                  /* hint: buckets last tidied, gpu | cpu << 8 */
    gang__a32 generation;                   /* upper half of the node's id */
    uint32_t more_words;                    /* room in chunk->more; under the structure mutex */
};
_Static_assert(sizeof(struct gang__slot) == 32, "slots do not straddle cache lines");

/* 1024 consecutive slots. Never freed before the cluster. */
struct gang__chunk {
    struct gang__cell cell[GANG__CHUNK];
    struct gang__slot slot[GANG__CHUNK];
    _Atomic(gang__a64 *) more[GANG__CHUNK]; /* words past GANG__CELL_WORDS */
    _Atomic(struct gang__leaf *) leaf[GANG__GPU_CLASSES];
    gang__a64
        described; /* label of the last change of a slot's node, or GANG__PENDING during one */
    gang__a32 max_words; /* of a node that was ever here; only grows */
};

enum { GANG__HOLDS_DEVICES = 1, GANG__HOLDS_SLICES = 2 }; /* of their own, of parents */

/* Upper index words of one class. */
struct gang__gpu_class {
    gang__a64 root[GANG__INDEX_ROWS];
    gang__a64 mid[GANG__INDEX_ROWS][GANG__FAN];
    gang__a64 whole; /* buckets in which nodes stand that are wholly free; only grows */
    char model[GANG_MAX_NAME + 1]; /* GPU model; "" for class 0 and for unknown models */
    uint8_t holds;                 /* GANG__HOLDS_*: what its nodes have */
};

/* ---- descriptors and the workers that own them ------------------------------------------- */

/* One operation on one word. Operations of a commit are sorted by slot. */
struct gang__op {
    gang__a64 where; /* gang__op_where() */
    gang__a64 arg;
    gang__a64 agreed; /* GANG__UNAGREED | seq, or the word all helpers agree on */
    /* The owner's own: first the payload that it expects to find, or GANG__UNFORESEEN; then the word
     * after the operation. */
    uint64_t next;
};

#define GANG__UNFORESEEN UINT64_MAX

/* Slot, word and code of an operation, packed into one number so that they are read together. */
static inline uint64_t gang__op_where(uint32_t slot, unsigned word, enum gang__code code)
{
    return (uint64_t)slot | (uint64_t)word << 32 | (uint64_t)code << 40;
}
static inline uint32_t gang__op_slot(uint64_t where)
{
    return (uint32_t)where;
}
static inline unsigned gang__op_word(uint64_t where)
{
    return (unsigned)(where >> 32 & 0xff);
}
static inline enum gang__code gang__op_code(uint64_t where)
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

/* The part of a worker that commits: its descriptor, and what only the owner of the worker uses. */
struct gang__committer {
    struct gang__desc desc;
    gang__a64 stamp; /* raised before each decision that gives back; see core/commit/index.h */
    struct gang__cells *cells;
    uint32_t index;    /* number of this worker, 0.. */
    uint32_t op_count; /* of the commit that is being described */
    uint64_t seq;      /* of the last commit */
    uint64_t unagreed; /* value of its words before they are agreed */
    size_t op_cap;
    struct gang__op *old_ops[40]; /* outgrown arrays: helpers may still read them */
    uint32_t old_count;
    int64_t commits; /* that took effect */
    int64_t helps;   /* commits of other workers carried forward */
};

/* Rules that decide, beside the cells, which nodes a planner may use. The folder above replaces them as a
 * whole (RCU). Their version is part of the stamp, so that new rules and the new stamp are one store. */
struct gang__node_rules {
    uint64_t version; /* one more at each change */
};

#define GANG__PENDING UINT64_MAX

/* The state of this folder in a cluster. */
struct gang__cells {
    const struct gang_mem *mem;
    _Atomic(struct gang__chunk *) chunk[GANG__CHUNKS];
    _Atomic(struct gang__gpu_class *) gpu_class[GANG__GPU_CLASSES];
    gang__a32 gpu_class_count;
    gang__a32 slot_end; /* slots below were used at least once */

    _Atomic(struct gang__committer *) worker[GANG__WORKERS];
    gang__a32 worker_end;
    _Atomic(struct gang__node_rules *) rules; /* NULL: never set */

    /* {number:48 | snapshots being taken:16}, see core/commit/snapshot_save.c; on a line of its own. */
    _Alignas(64) gang__a64 snap;
    _Alignas(64) gang__a64 snap_slots; /* save areas in use */
    _Atomic(struct gang__save_area *) save_area[GANG__SNAPSHOTS];
};

/* ---- where things are ------------------------------------------------------------------- */

/* The chunk of a slot that was used at least once. */
static inline struct gang__chunk *gang__chunk_of(const struct gang__cells *c, uint32_t slot)
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

static inline struct gang__words gang__words_of(const struct gang__cells *c, uint32_t slot)
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
