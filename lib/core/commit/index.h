/* SPDX-License-Identifier: Apache-2.0 */
/* The free-capacity index: finds nodes that may have enough free capacity, in O(log32 n). A hint
 * that hides no node: the commit decides. */
#ifndef GANG__CORE_INDEX_H
#define GANG__CORE_INDEX_H

#include "core/commit/cell.h"

enum { GANG__GPU_WHOLE = 8 }; /* the bucket of k whole devices is GANG__GPU_WHOLE + k, at most 24 */

#define GANG__NO_SLOT UINT32_MAX

/* The lowest bucket in which a node can take a task of this size; 0: the task needs no GPU. */
uint8_t gang__bucket_for_share(uint32_t milli);
uint8_t gang__bucket_for_gpus(uint64_t devices);
uint8_t gang__bucket_for_cpu(uint64_t milli);

/* The buckets in a slot's bucket_hint. */
static inline uint32_t gang__bucket_hint_of(struct gang__buckets buckets)
{
    return (uint32_t)buckets.gpu | (uint32_t)buckets.cpu << 8;
}
static inline struct gang__buckets gang__buckets_in(uint32_t hint)
{
    struct gang__buckets buckets = {(uint8_t)hint, (uint8_t)(hint >> 8)};
    return buckets;
}

/* The row of a bucket (> 0) among the words of the index. */
static inline unsigned gang__gpu_row(uint8_t bucket)
{
    return bucket - 1u;
}
static inline unsigned gang__cpu_row(uint8_t bucket)
{
    return GANG__GPU_BUCKETS + bucket - 1u;
}

/* The buckets of a node with these payloads (head first, up to the last share word). */
struct gang__buckets gang__buckets_of(struct gang__layout layout, const uint64_t *payload);

/* The number of payloads that decide the buckets. */
enum { GANG__BUCKET_WORDS = GANG__WORD_SHARES + GANG_MAX_GPUS / GANG__SHARES_PER_WORD };

/* Remembers the last answer of gang__buckets_of(): the nodes of a gang are mostly alike. */
struct gang__bucket_memo {
    unsigned end; /* words of payload that count */
    struct gang__buckets buckets;
    uint64_t payload[GANG__BUCKET_WORDS];
};
static inline void gang__bucket_memo_init(struct gang__bucket_memo *last)
{
    last->end = last->buckets.gpu = last->buckets.cpu = 0;
}
struct gang__buckets gang__buckets_of_like(struct gang__layout layout, const uint64_t *payload,
                                           struct gang__bucket_memo *last);

/* The words of the index that cover 32 nodes of a class, found once for all rows. */
struct gang__index_words {
    struct gang__cells *c;
    uint32_t class_id;
    uint32_t base;    /* first slot */
    gang__a64 *row;   /* the word of each row; NULL: the class has no node in this chunk */
    bool keeps_marks; /* an emptied word stays marked above, until a search meets it */
};
static inline struct gang__index_words gang__index_words_of(struct gang__cells *c,
                                                            uint32_t class_id, uint32_t slot)
{
    const struct gang__chunk *chunk = gang__chunk_of(c, slot);
    struct gang__leaf *leaf = chunk ? gang__load(&chunk->leaf[class_id]) : NULL;
    struct gang__index_words at = {c, class_id, slot - slot % GANG__FAN,
                                   leaf ? leaf->bits[slot % GANG__CHUNK / GANG__FAN] : NULL, false};
    return at;
}

/* Begins to load the words of the rows in which a node stood at the last update, and beside which
 * it will stand. A full node will have a few whole devices. */
static inline void gang__index_prefetch(struct gang__cells *c, uint32_t slot,
                                        struct gang__layout layout)
{
    struct gang__index_words at = gang__index_words_of(c, layout.class_id, slot);
    uint32_t hint = gang__load(&gang__slot_at(gang__chunk_of(c, slot), slot)->bucket_hint);
    unsigned gpu = hint & 0xff ? hint & 0xff : (unsigned)GANG__GPU_WHOLE + 1;
    if (at.row && (hint >> 8)) {
        __builtin_prefetch(&at.row[gang__gpu_row((uint8_t)gpu)], 1);
        __builtin_prefetch(&at.row[gang__cpu_row((uint8_t)(hint >> 8))], 1);
    }
}

/* The same before the slot of the node is there: guesses its class. Whole GPUs have one cache line,
 * cores two. */
static inline void gang__index_prefetch_guess(struct gang__cells *c, uint32_t slot,
                                              uint32_t class_id)
{
    enum { LINE = 64 / sizeof(gang__a64) };
    struct gang__index_words at = gang__index_words_of(c, class_id, slot);
    if (!at.row)
        return;
    __builtin_prefetch(&at.row[GANG__GPU_WHOLE], 1);
    for (unsigned row = GANG__GPU_BUCKETS; row < GANG__INDEX_ROWS; row += LINE)
        __builtin_prefetch(&at.row[row], 1);
}

/* Makes nodes findable in buckets. A commit calls it before the decision that raises the nodes to
 * them, while their cells are claimed. Gathers the bits of one index word and sets them at once;
 * all are set when gang__index_batch_end() returns. Lock-free. */
struct gang__index_batch {
    struct gang__index_words at;
    uint64_t rows; /* rows in which bits are to be set */
    uint32_t bits[GANG__INDEX_ROWS];
};
void gang__index_batch_begin(struct gang__index_batch *l, struct gang__cells *c);
void gang__index_batch_add(struct gang__index_batch *l, uint32_t slot, struct gang__layout layout,
                           struct gang__buckets buckets);
void gang__index_batch_end(struct gang__index_batch *l);

/* The same for one node, at once. */
void gang__index_raise(struct gang__cells *c, uint32_t slot, struct gang__layout layout,
                       struct gang__buckets buckets);

/* Brings the index up to date after nodes changed: each is found in its buckets, and no longer in
 * its former ones. Cheap if nothing changed. Lock-free.
 *   keys  slots in the upper halves, ascending; a slot may come several times */
void gang__index_update_slot(struct gang__cells *c, uint32_t slot);
void gang__index_update_many(struct gang__cells *c, const uint64_t *keys, size_t count);
static inline void gang__index_update(struct gang__cells *c, const uint64_t *keys, size_t count)
{
    if (count == 1)
        gang__index_update_slot(c, (uint32_t)(keys[0] >> 32));
    else
        gang__index_update_many(c, keys, count);
}

/* What a commit does to the index, without reading its nodes again: the owner notes each node
 * between claim and decision. Lock-free. See index_move.c.
 *   gang__index_moves_reserve()  may allocate
 *   gang__index_move_add()       a claimed node; its buckets after the commit. False: no memory is
 *                                left for it
 *   gang__index_moves_raise()    before the decision of a commit that gives back: nodes are found
 *                                in their new buckets
 *   gang__index_moves_update()   after the commit took effect: nodes are found in their new
 *                                buckets (`raised`: they were already), and no longer in the former
 *                                ones */
gang_result gang__index_moves_reserve(struct gang__committer *w, size_t moves);
bool gang__index_move_new(struct gang__committer *w, uint32_t slot, uint32_t class_id,
                          struct gang__buckets from, struct gang__buckets to, uint64_t key);
static inline uint64_t gang__index_move_key(uint32_t hint, struct gang__buckets to,
                                            uint32_t class_id)
{
    return (uint64_t)hint << 32 | (uint64_t)gang__bucket_hint_of(to) << 8 | class_id;
}
static inline bool gang__index_move_add(struct gang__committer *w, struct gang__chunk *chunk,
                                        uint32_t slot, struct gang__layout layout,
                                        struct gang__buckets to)
{
    uint32_t hint = gang__load(&gang__slot_at(chunk, slot)->bucket_hint);
    uint32_t base = slot - slot % GANG__FAN, bit = UINT32_C(1) << slot % GANG__FAN;
    uint64_t key = gang__index_move_key(hint, to, layout.class_id);
    struct gang__index_move *last = w->move_count ? &w->move[w->move_count - 1] : NULL;
    if (last && last->base == base && last->key == key) {
        last->bits |= bit;
        return true;
    }
    return gang__index_move_new(w, slot, layout.class_id, gang__buckets_in(hint), to, key);
}
void gang__index_moves_raise(const struct gang__committer *w);
void gang__index_moves_update(const struct gang__committer *w, bool raised);

/* Takes a node out of a row in which a search met it and where it does not belong. Lock-free. */
void gang__index_repair(struct gang__cells *c, uint32_t class_id, uint32_t slot, unsigned row);

/* Is a row of a class empty? */
static inline bool gang__index_empty(struct gang__cells *c, uint32_t class_id, unsigned row)
{
    return (uint32_t)gang__load_seq(&gang__load(&c->gpu_class[class_id])->root[row]) == 0;
}

/* The first slot >= from in a row of a class, or GANG__NO_SLOT. *more: those right after it, bit 0
 * for the next slot, as far as the same word holds them. */
uint32_t gang__index_next(struct gang__cells *c, uint32_t class_id, unsigned row, uint32_t from,
                          uint32_t *more);

/* The same for a worker that keeps apart from others (gang__committer.apart). Such workers leave
 * the words that they empty marked, and fill them again. It passes over some of these, since each
 * repair, and each mark that is set again, takes a cache line from the other worker. */
uint32_t gang__index_next_apart(struct gang__cells *c, uint32_t class_id, unsigned row,
                                uint32_t from, uint32_t *more);

/* The nodes among the 32 slots from `base` (a multiple of 32) in a row of a class, as bits. */
uint32_t gang__index_word(struct gang__cells *c, uint32_t class_id, unsigned row, uint32_t base);

/* The same for a chunk: the words that have a bit set; and the first chunk >= from with such a
 * word, or GANG__CHUNKS. */
static inline uint32_t gang__index_top(struct gang__cells *c, uint32_t class_id, unsigned row,
                                       uint32_t chunk)
{
    const struct gang__chunk *at = gang__load(&c->chunk[chunk]);
    struct gang__leaf *leaf = at ? gang__load(&at->leaf[class_id]) : NULL;
    return leaf ? (uint32_t)gang__load_seq(&leaf->top[row]) : 0;
}
static inline uint32_t gang__index_chunk(struct gang__cells *c, uint32_t class_id, unsigned row,
                                         uint32_t from)
{
    struct gang__gpu_class *class = gang__load(&c->gpu_class[class_id]);
    uint32_t at = from / GANG__FAN, least = from % GANG__FAN;
    for (; at < GANG__CHUNKS / GANG__FAN; at++, least = 0) {
        uint32_t rest = (uint32_t)gang__load_seq(&class->mid[row][at]) & UINT32_MAX << least;
        if (rest)
            return at * GANG__FAN + (uint32_t)__builtin_ctz(rest);
    }
    return GANG__CHUNKS;
}

/* The first slot after all chunks that have nodes in a row. A hint. */
uint32_t gang__index_row_end(struct gang__cells *c, uint32_t class_id, unsigned row);

/* Makes the index words for a class and for a chunk, before the first node of the class appears
 * there. Under the structure mutex. */
gang_result gang__index_make(struct gang__cells *c, uint32_t class_id, struct gang__chunk *chunk);

/* Does a row at or above each bucket of the node have its bit? For gang_cluster_check(). */
bool gang__index_covers(struct gang__cells *c, uint32_t slot);

/* The stamp: a sum that grows between two reads if, meanwhile, an operation that gives something
 * back came to its decision and had not raised the stamp before the first read; or if the modes of
 * partitions changed. See "A refusal is true" in core/commit/commit.c. Call it inside a read
 * section. All loads are load_seq; they pair with gang__add_seq() of committer.stamp. */
uint64_t gang__stamp_read(struct gang__cells *c);

#endif
