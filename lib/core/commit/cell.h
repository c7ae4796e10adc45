/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that commits read and write without a lock, and where to find it: cells, index words,
 * descriptors and the part of a worker that commits.
 *
 * Every word that threads share names the two sides that meet on it. "->" reads "is stored so that
 * this load sees it". Orders are in the names (base/atomic.h): gang__store releases, gang__load
 * acquires, gang__cas, gang__load_seq and gang__add_seq are sequentially consistent.
 *
 * Memory that is made once and freed with the cluster (chunk, leaf, gpu_class, worker, save_area)
 * is reached through pointers that go from NULL to their value: gang__store under the structure
 * mutex, or gang__publish, or, for a save area, gang__store of the thread that has the area ->
 * gang__load of any thread. */
#ifndef GANG__CORE_CELL_H
#define GANG__CORE_CELL_H

#include <gangsched/core.h>

#include "base/atomic.h"
#include "base/mem.h"
#include "core/commit/word.h"

struct gang__node;
struct gang__node_type;

enum {
    GANG__CHUNK = 1024,      /* nodes in a chunk */
    GANG__CHUNKS = 1024,     /* chunks in a cluster: 2^20 slots, slot 0 is the pool */
    GANG__CELL_WORDS = 7,    /* words beside the owner in the cell's own cache line */
    GANG__GPU_CLASSES = 256, /* class 0: nodes without GPUs */
    GANG__GPU_BUCKETS = 24,  /* see gang__buckets_of() in core/commit/index_bucket.c */
    GANG__CPU_BUCKETS = 16,
    GANG__INDEX_ROWS = GANG__GPU_BUCKETS + GANG__CPU_BUCKETS,
    GANG__FAN = 32,       /* children of an index word */
    GANG__WORKERS = 2048, /* the number that an owner word can name */
    GANG__SNAPSHOTS = 16, /* the number that can be taken at once */
    GANG__POOL = 0        /* its cell counts the cluster-wide kinds */
};

/* ---- cells ----------------------------------------------------------------------------------- */

/* What is free on one node. A claim (CAS on owner) -> every load_seq of owner: a thread that sees
 * the claim finishes that commit before it believes the words. A write (CAS on word) comes before
 * the release of the claim (CAS on owner) -> the load_seq of owner that finds 0. */
struct gang__cell {
    /* 0, or the commit that claims the cell: {seq:52 | worker:11 | 1}. If that is over the claim is
     * void (gang__claim_is_void()). */
    gang__a64 owner;
    gang__a64 word[GANG__CELL_WORDS];
};
_Static_assert(sizeof(struct gang__cell) == 64, "a cell is one cache line");

/* The lower index words of one class, for the nodes of one chunk. All index words: gang__cas of any
 * thread -> gang__load_seq of a search; see "Memory orders" in core/commit/index.c. */
struct gang__leaf {
    gang__a64 top[GANG__INDEX_ROWS]; /* bit set: that word of `bits` has a bit set */
    /* One bit for each node. The words of the same nodes lie together, those of whole GPUs (rows
     * 8-15) on one cache line, because a node mostly moves between neighbouring buckets. */
    gang__a64 bits[GANG__FAN][GANG__INDEX_ROWS];
};

/* What a planner needs of a node beside its cell, on half a cache line. All but bucket_hint are
 * stored under the structure mutex -> gang__load of a planner in a read section; `node` is stored
 * last. */
struct gang__slot {
    _Atomic(struct gang__node *) node;      /* RCU; NULL: no node */
    _Atomic(struct gang__node_type *) type; /* of that node; RCU */
    /* gang__layout_pack(); changes only while the slot is free */
    gang__a32 layout;
    /* Buckets at the last update, gpu | cpu << 8: a hint. gang__swap() in index_update.c,
     * gang__store() in index_move.c -> the gang__load of the next thread that updates. A thread
     * that finds another value than the one it started from repairs the rows of that value. If two
     * threads miss each other a stale bit is left, which the next search that meets it repairs. */
    gang__a32 bucket_hint;
    gang__a32 generation; /* upper half of the id of the node */
    gang__a32 domain;     /* the narrowest one of the node, which decides the wider ones */
};
_Static_assert(sizeof(struct gang__slot) == 32, "slots do not straddle cache lines");

/* 1024 consecutive slots. Freed with the cluster, never before. */
struct gang__chunk {
    struct gang__cell cell[GANG__CHUNK];
    struct gang__slot slot[GANG__CHUNK];
    /* The words past GANG__CELL_WORDS (gang__overflow_new()). Stored before the layout of the slot
     * -> gang__word_in() of a thread that loaded the layout. */
    _Atomic(gang__a64 *) overflow[GANG__CHUNK];
    _Atomic(struct gang__leaf *) leaf[GANG__GPU_CLASSES]; /* see the head of this file */
    gang__a64
        /* gang_cluster.nodes.states when the host set the state of a node here last. gang__store
         * of gang_node_set_state() -> gang__load of gang__node_report_state(), and of a copy. */
        set_at[GANG__CHUNK];
    gang__a64
        /* Label of the last change of a description in this chunk, or GANG__PENDING during one.
         * Stored before and after slot.node -> the two loads of a snapshot around its own. */
        described;
    /* largest number of words that a node here ever had; add_seq -> load_seq of a snapshot */
    gang__a32 max_words;
};

/* Which devices the nodes of a class have: whole GPUs, slices of parents, or both. */
enum { GANG__HOLDS_DEVICES = 1, GANG__HOLDS_SLICES = 2 };

/* The upper index words of one GPU class; see struct gang__leaf for what they pair with. */
struct gang__gpu_class {
    gang__a64 root[GANG__INDEX_ROWS];
    gang__a64 mid[GANG__INDEX_ROWS][GANG__FAN];
    /* Rows in which wholly free nodes of the class stand; bits are only added, before the first
     * such node is published (release) -> gang__load of a search. */
    gang__a64 free_node_rows;
    char model[GANG_MAX_NAME + 1]; /* GPU model; "" for class 0 and for unknown models */
    uint8_t holds;                 /* GANG__HOLDS_* */
};

/* Where a node stands in the index. Bucket 0: it is not in the index. */
struct gang__buckets {
    uint8_t gpu; /* 1-8: largest free share of a device, in eighths; 8+k: k whole devices free */
    uint8_t cpu; /* 1: none free; 2: less than 250 millicores; then doubling */
};

/* The words of the two rows in which a node stands. */
struct gang__index_seen {
    uint64_t gpu, cpu;
};

/* Nodes of one leaf word that a commit moves from the same buckets to the same buckets. */
struct gang__index_move {
    gang__a64 *row;            /* the words of these nodes in all rows */
    uint32_t base;             /* first slot of the leaf word */
    uint32_t bits;             /* the nodes */
    struct gang__buckets from; /* by their hints, before the decision */
    struct gang__buckets to;   /* as the commit leaves them */
    uint32_t class_id;
    uint64_t key;                 /* class_id, from and to in one number, to compare moves by */
    struct gang__index_seen seen; /* rows `from`, read before the decision */
};

/* ---- descriptors and the workers that own them ----------------------------------------------- */

/* One operation on one word; a commit sorts them by slot. The owner stores `where` and `arg`
 * (release) before desc.ss = UNDECIDED -> helpers, which load desc.ss again afterwards. `agreed`:
 * CAS by helpers, store by the owner -> gang__load of a thread that finishes. */
struct gang__op {
    gang__a64 where; /* gang__op_where() */
    gang__a64 arg;
    gang__a64 agreed; /* GANG__UNAGREED | seq, or the word on which all helpers agree */
    /* Only the owner uses it. First the payload that the planner saw, GANG__UNFORESEEN or
     * GANG__GIVES_BACK; then the word after the operation. */
    uint64_t next;
};

#define GANG__UNFORESEEN UINT64_MAX
#define GANG__GIVES_BACK (UINT64_MAX - 1) /* adds `arg` and does nothing else: it always fits */

/* Packs slot, word and code of an operation into one number, so that they are loaded together. */
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

/* A commit that every thread can carry on. Reused by sequence number; freed with the cluster. `ss`
 * is the only word that decides: BUILDING and UNDECIDED are stores of the owner, the decision is a
 * CAS of any thread -> gang__load of all that carry it on. The owner stores ss = SETTLED after it
 * has written all words -> the gang__load of a thread that meets a claim. It stores ss = BUILDING
 * before it changes another field; a helper loads the field first and ss after it, so that a new
 * field implies a new ss. */
struct gang__desc {
    gang__a64 ss;                   /* {seq:61 | status:3} */
    _Atomic(struct gang__op *) ops; /* replaced by larger arrays; the old ones are kept */
    gang__a32 count;
    gang__a32 raises; /* 1: an operation gives something back */
    gang__a64
        /* The label: GANG__UNAGREED | seq, or a snapshot number. CAS once by any thread before
         * the decision -> gang__load of those that finish. */
        when;
    char pad[64 - 32];
};
_Static_assert(sizeof(struct gang__desc) == 64, "descriptors do not share cache lines");

/* What a node must have free for its lease, of all leases of a commit: payloads, the head first.
 * The owner stores it (release) before desc.ss = UNDECIDED -> helpers, which load desc.ss again
 * afterwards. */
struct gang__lease_row {
    gang__a64 words; /* 0: the commit has no lease */
    gang__a64 payload[GANG__CELL_WORDS];
};

/* Does the owner note what its commit does to the index? WHOLE: it has noted all nodes. */
enum { GANG__MOVES_OFF, GANG__MOVES_NOTED, GANG__MOVES_WHOLE };

/* An operation on a word of each cell of a commit. */
struct gang__pattern_op {
    unsigned word;
    enum gang__code code;
    uint64_t arg;
};

/* What a commit takes of each of its cells, which are alike. Borrowed until the commit is over. */
struct gang__alike {
    unsigned words;      /* of a cell; 0: the cells are not alike */
    const uint64_t *row; /* payloads of a cell */
    uint32_t count;      /* operations on a cell */
    const struct gang__pattern_op *op;
};

/* The part of a worker that commits: its descriptor, and what only its owner uses. */
struct gang__committer {
    struct gang__desc desc;
    struct gang__lease_row lease;
    gang__a64 stamp; /* add_seq before each decision that gives back -> gang__stamp_read() */
    struct gang__cells *cells;
    uint32_t index; /* number of this worker, from 0 */
    uint32_t apart; /* > 0: it met another worker lately, and leaves emptied index words marked */
    uint32_t op_count; /* of the commit that is being described */
    uint64_t seq;      /* of the last commit */
    uint64_t unagreed; /* value of its `agreed` words before they are agreed */
    size_t op_cap;
    /* What the commit does to the index. `moves`: GANG__MOVES_*. */
    struct gang__index_move *move;
    size_t move_cap;
    uint32_t move_count;
    uint32_t moves;
    uint32_t class_id; /* of the node that the worker moved last: a guess at the next one's */
    struct gang__alike alike;
    struct gang__op *old_ops[40]; /* outgrown arrays, which helpers may still read */
    uint32_t old_count;
    int64_t commits; /* commits that took effect */
    int64_t helps;   /* commits of other workers that this one carried forward */
};

/* The rules that decide, beside the cells, which nodes a planner may use. core/nodes replaces them
 * as a whole (seq_cst exchange -> load_seq in gang__stamp_read()). Their version is part of the
 * stamp, so that new rules and the new stamp are one store. */
struct gang__node_rules {
    uint64_t version; /* one more at each change */
};

#define GANG__PENDING UINT64_MAX

/* The state of this folder in a cluster. */
struct gang__cells {
    const struct gang_mem *mem;
    /* Both: see the head of this file. */
    _Atomic(struct gang__chunk *) chunk[GANG__CHUNKS];
    _Atomic(struct gang__gpu_class *) gpu_class[GANG__GPU_CLASSES];
    gang__a32 gpu_class_count; /* stored after the class -> gang__load of a search */
    gang__a32 slot_end; /* slots below were used at least once; add_seq -> load_seq of a snapshot */

    _Atomic(struct gang__committer *) worker[GANG__WORKERS]; /* see the head of this file */
    gang__a32 worker_end; /* workers below were made; CAS -> load_seq in gang__stamp_read() */
    _Atomic(struct gang__node_rules *) rules; /* see there; NULL: none were ever set */

    /* {number:48 | snapshots being taken:16}, on a cache line of its own. CAS by takers -> load_seq
     * of each commit that is about to be decided; see core/commit/snapshot_save.c. */
    _Alignas(64) gang__a64 snap;
    /* Save areas in use, one bit each. CAS of gang__save_slot_release() -> gang__load before the
     * CAS of gang__save_slot_acquire(): the next taker sees all that the last one did. */
    _Alignas(64) gang__a64 snap_slots;
    _Atomic(struct gang__save_area *) save_area[GANG__SNAPSHOTS]; /* see the head of this file */
};

/* ---- where things are ------------------------------------------------------------------------ */

/* Zeroed words past GANG__CELL_WORDS. The word before them says how many there are. NULL: out of
 * memory. */
static inline gang__a64 *gang__overflow_new(const struct gang_mem *mem, unsigned words)
{
    gang__a64 *block = gang__zalloc_line(mem, words + 1, sizeof(*block));
    if (!block)
        return NULL;
    gang__store_relaxed(block, words);
    return block + 1;
}
static inline unsigned gang__overflow_words(const gang__a64 *overflow)
{
    return overflow ? (unsigned)gang__load_relaxed(overflow - 1) : 0;
}
static inline void gang__overflow_free(const struct gang_mem *mem, gang__a64 *overflow)
{
    gang__release_line(mem, overflow ? overflow - 1 : NULL);
}

/* The chunk of a slot below slot_end. */
static inline struct gang__chunk *gang__chunk_of(const struct gang__cells *c, uint32_t slot)
{
    return gang__load(&c->chunk[slot / GANG__CHUNK]);
}

/* The same for slots that mostly lie in the chunk of the one before. */
struct gang__chunk_memo {
    uint32_t number; /* UINT32_MAX: none yet */
    struct gang__chunk *chunk;
};
static inline struct gang__chunk *gang__chunk_like(const struct gang__cells *c, uint32_t slot,
                                                   struct gang__chunk_memo *last)
{
    if (slot / GANG__CHUNK != last->number)
        last->chunk = gang__chunk_of(c, slot);
    last->number = slot / GANG__CHUNK;
    return last->chunk;
}

/* Where the words of a slot are. The pointer to those past the cell lies on a cache line of its
 * own: a reader that needs none of them does not load it. */
struct gang__words {
    struct gang__cell *cell;
    _Atomic(gang__a64 *) *overflow;
};

static inline struct gang__words gang__words_in(struct gang__chunk *chunk, uint32_t slot)
{
    struct gang__words w = {&chunk->cell[slot % GANG__CHUNK], &chunk->overflow[slot % GANG__CHUNK]};
    return w;
}

static inline struct gang__words gang__words_of(const struct gang__cells *c, uint32_t slot)
{
    return gang__words_in(gang__chunk_of(c, slot), slot);
}

static inline gang__a64 *gang__word_in(const struct gang__words *w, unsigned i)
{
    return i < GANG__CELL_WORDS ? &w->cell->word[i]
                                : &gang__load(w->overflow)[i - GANG__CELL_WORDS];
}

static inline struct gang__slot *gang__slot_at(struct gang__chunk *chunk, uint32_t slot)
{
    return &chunk->slot[slot % GANG__CHUNK];
}

static inline struct gang__layout gang__layout_at(struct gang__chunk *chunk, uint32_t slot)
{
    return gang__layout_unpack(gang__load(&gang__slot_at(chunk, slot)->layout));
}

/* Cell and slot of a node lie far from those of others: begins to load them. */
static inline void gang__node_prefetch(const struct gang__cells *c, uint32_t slot)
{
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    __builtin_prefetch(&chunk->cell[slot % GANG__CHUNK], 1);
    __builtin_prefetch(gang__slot_at(chunk, slot), 1);
}

/* The words of the pool's cell: one for each kind, after the first two. */
enum { GANG__POOL_WORDS = GANG__WORD_SHARES + GANG_MAX_KINDS - GANG_KIND_SITE };

/* The number of words of a cell that are in use. */
static inline unsigned gang__cell_words(struct gang__chunk *chunk, uint32_t slot)
{
    return slot == GANG__POOL ? (unsigned)GANG__POOL_WORDS
                              : gang__all_words(gang__layout_at(chunk, slot));
}

#endif
