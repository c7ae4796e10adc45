/* SPDX-License-Identifier: Apache-2.0 */
/* The free-capacity index.
 *
 * For each class of nodes (same GPU model) and each bucket of free capacity there is a row: one bit
 * for each slot, as a tree of words with 32 children each: root -> mid -> leaf top -> leaf bits. A
 * node stands in one GPU bucket (if it has GPUs) and in one CPU bucket, see struct gang__buckets. A
 * row is the number of a bucket of either axis among the words of the index.
 *
 * State of an index word:   bits 0-31 children | bits 32-33 CLOSED, OPENING, OPEN | version
 *
 * Invariant (I1): a node whose capacity, as decided, belongs to bucket v > 0 has its bit set in at
 * least one bucket >= v of that axis. So a search from the top bucket down to v meets it. The
 * reverse does not hold: a search also meets stale bits, finds them wrong by reading the cell, and
 * repairs them.
 *
 * How I1 is kept.
 *  - An operation that gives back holds its claims when it raises the index to the new bucket, and
 *    decides only afterwards (core/commit/commit.c). Until the decision the old bit serves.
 *  - A bit is cleared only like this: (1) read the index word; (2) learn the buckets at an instant
 *    after (1); (3) set the bits of those buckets; (4) clear the bit in the word by a
 *    compare-and-swap against (1). Every set adds one to the word's version, also if the bit was
 *    set already, so (4) fails if any thread raised a node of this word since (1).
 *    There are two ways to do (2). index_update.c reads the cell, owner = 0. index_move.c reads no
 *    cell: a commit of the thread itself was decided, and all words that decide the buckets were
 *    read while it held the claim; the instant is the decision. A commit that gives back has done
 *    (3) when it raised the index.
 *    Say (4) succeeds, and v is the bucket at that time.
 *      v is the bucket of step (2): the bit of (3) serves. A thread that cleared that bit since
 *      did its own (2) later and learned another bucket. v was raised since (2): the raiser
 *      claimed the cell after (2) and set bit v after (1). So v is not the bit cleared here, or (4)
 *      had failed. v was lowered since (2): the bit that served the bucket before still serves,
 *      unless it is the one cleared here. Then (3) set a bit for the bucket read in (2). That
 *      bucket is lower than v only if a raise came between, which is the case above.
 *
 * Invariant (I2): a word that is OPEN or has a bit set is marked in its parent, or the thread that
 * set the bit is still before its decision. A thread that sets the first bit makes the word
 * OPENING, marks the parent (a set like any other, with its version), then makes the word OPEN. A
 * thread that finds OPENING marks the parent itself, so no thread relies on the unfinished work of
 * another. A parent's mark is cleared only for a child that is CLOSED, after reading the parent,
 * and the clearing fails if a thread marked since. So OPEN means: marked, and no clearing of the
 * mark can succeed unless the word is closed first. An emptied word need not be closed: the mark
 * above it is a stale hint, which the next search that meets it clears. A commit that moves several
 * nodes leaves words so: where few nodes are free it empties a word for each, and mostly the next
 * gang that ends fills them again. A worker that met others leaves them so in each commit
 * (gang__committer.apart), since all workers share the upper words.
 *
 * Every loop here retries a compare-and-swap that failed because another one succeeded on the same
 * word: lock-free. Index words are freed with the cluster.
 *
 * Memory orders: a set (gang__cas) before a decision (gang__cas on desc.ss) -> the
 * gang__load_seq of a search that started after the decision. All other loads of index words
 * acquire, and only feed a compare-and-swap that judges them again. */
#include "core/commit/index.h"

#include "core/commit/commit.h"
#include "core/commit/index_in.h"

#define STATE_SHIFT 32
#define STATE(word) ((unsigned)((word) >> STATE_SHIFT) & 3u)
#define BITS(word) ((uint32_t)(word))
#define VERSION_ONE (UINT64_C(1) << 34)
#define STATE_MASK (UINT64_C(3) << STATE_SHIFT)

enum { CLOSED = 0, OPENING = 1, OPEN = 2 };
enum { TREE_DEPTH = 4 };

/* The word in another state, with the next version. */
static uint64_t with_state(uint64_t word, unsigned state)
{
    return ((word & ~STATE_MASK) | (uint64_t)state << STATE_SHIFT) + VERSION_ONE;
}

/* ---- the tree of one bucket ------------------------------------------------------------------ */

/* The word at depth 0 (leaf bits) to 3 (root) that covers a slot; NULL if the class has no node in
 * this chunk. *bit: the slot's child in it. */
static gang__a64 *word_of(struct gang__cells *c, uint32_t class_id, unsigned row, uint32_t slot,
                          unsigned depth, unsigned *bit)
{
    if (depth >= 2) {
        struct gang__gpu_class *class = gang__load(&c->gpu_class[class_id]);
        uint32_t chunk = slot / GANG__CHUNK;
        *bit = depth == 2 ? chunk % GANG__FAN : chunk / GANG__FAN;
        return depth == 2 ? &class->mid[row][chunk / GANG__FAN] : &class->root[row];
    }
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    struct gang__leaf *leaf = chunk ? gang__load(&chunk->leaf[class_id]) : NULL;
    uint32_t i = slot % GANG__CHUNK;
    *bit = depth == 0 ? i % GANG__FAN : i / GANG__FAN;
    if (!leaf)
        return NULL;
    return depth == 0 ? &leaf->bits[i / GANG__FAN][row] : &leaf->top[row];
}

/* A leaf word that was not open got bits: `opening` is the word with them. Marks it in its parents
 * and opens it. */
static void mark_parents(const struct gang__index_words *at, unsigned row, uint64_t opening)
{
    gang__a64 *word[TREE_DEPTH];
    unsigned bit[TREE_DEPTH];
    uint64_t wrote[TREE_DEPTH];
    unsigned depth = 1;
    word[0] = &at->row[row];
    wrote[0] = opening;
    for (; depth < TREE_DEPTH; depth++) {
        gang__hook(GANG__STEP_MARK);
        word[depth] = word_of(at->c, at->class_id, row, at->base, depth, &bit[depth]);
        uint64_t old, mark = UINT64_C(1) << bit[depth];
        do {
            old = gang__load(word[depth]);
            wrote[depth] = with_state(old | mark, STATE(old) == OPEN ? OPEN : OPENING);
        } while (!gang__cas(word[depth], old, wrote[depth]));
        if (STATE(old) == OPEN)
            break;
    }
    /* The words below `depth` are marked in their parents now: open them, from the top. A word may
     * only be opened if it is the very word that was written before its parent was marked. If it
     * was emptied and opened again meanwhile, another thread may be about to clear the mark; then
     * the thread that changed the word opens it. */
    while (depth-- > 0) {
        uint64_t mark = depth + 1 < TREE_DEPTH ? gang__load(word[depth + 1]) : 0;
        if (depth + 1 == TREE_DEPTH || (STATE(mark) == OPEN && (mark >> bit[depth + 1] & 1)))
            gang__cas(word[depth], wrote[depth], with_state(wrote[depth], OPEN));
    }
}

void gang__index_set(const struct gang__index_words *at, unsigned row, uint32_t bits)
{
    gang__a64 *word = &at->row[row];
    uint64_t old, next;
    do {
        old = gang__load(word);
        next = with_state(old | bits, STATE(old) == OPEN ? OPEN : OPENING);
    } while (!gang__cas(word, old, next));
    if (STATE(old) != OPEN) /* else the parents have their marks */
        mark_parents(at, row, next);
}

/* A word lost its last bit: close it and clear its mark in the parent, and so on upwards. */
static void close_empty(struct gang__cells *c, uint32_t class_id, unsigned row, uint32_t slot,
                        unsigned depth)
{
    for (; depth + 1 < TREE_DEPTH; depth++) {
        unsigned bit, up;
        gang__a64 *word = word_of(c, class_id, row, slot, depth, &bit);
        gang__a64 *parent = word_of(c, class_id, row, slot, depth + 1, &up);
        uint64_t old = gang__load(word);
        if (BITS(old))
            return;
        if (STATE(old) != CLOSED) {
            uint64_t closed = with_state(old, CLOSED);
            if (!gang__cas(word, old, closed))
                return;
            old = closed;
        }
        uint64_t mark = gang__load(parent);
        if (gang__load(word) != old || !(mark >> up & 1))
            return;
        if (!gang__cas(parent, mark, (mark & ~(UINT64_C(1) << up)) + VERSION_ONE))
            return;
    }
}

bool gang__index_clear(const struct gang__index_words *at, unsigned row, uint64_t seen,
                       uint32_t bits)
{
    uint64_t cleared = (seen & ~(uint64_t)bits) + VERSION_ONE;
    bool closes = !BITS(cleared) && !at->keeps_marks;
    if (closes) /* the word is emptied and closed in one step */
        cleared &= ~STATE_MASK;
    if (!gang__cas(&at->row[row], seen, cleared))
        return false;
    if (closes)
        close_empty(at->c, at->class_id, row, at->base, 0);
    return true;
}

/* An empty child was met under a mark. A thread that stopped can leave one; it is repaired. One
 * that is open was emptied by a worker that keeps marks, and the search may pass over it. */
static inline bool is_passed(const gang__a64 *child, unsigned depth, unsigned *passes)
{
    return *passes && depth == 0 && STATE(gang__load(child)) == OPEN && (*passes)-- > 0;
}

/* As gang__index_next(). `passes`: number of emptied words that may stay marked. */
static inline uint32_t next(struct gang__cells *c, uint32_t class_id, unsigned row, uint32_t from,
                            unsigned passes, uint32_t *more)
{
    *more = 0;
    if (from >= GANG__CHUNK * GANG__CHUNKS || gang__index_empty(c, class_id, row))
        return GANG__NO_SLOT;
    /* Climb while the rest of a word is empty, then go down to its first bit. */
    uint64_t at = from; /* in units of the children at this depth */
    unsigned depth = 0;
    for (;;) {
        uint32_t slot = (uint32_t)(at << (5 * depth));
        unsigned bit;
        gang__a64 *word = word_of(c, class_id, row, slot, depth, &bit);
        uint32_t rest = word ? BITS(gang__load_seq(word)) & (UINT32_MAX << bit) : 0;
        if (rest) {
            at = (at & ~(uint64_t)(GANG__FAN - 1)) + (uint64_t)__builtin_ctz(rest);
            if (depth == 0) {
                *more = rest >> (at % GANG__FAN) >> 1;
                return (uint32_t)at;
            }
            depth--;
            at <<= 5;
            unsigned child_bit;
            gang__a64 *child =
                word_of(c, class_id, row, (uint32_t)(at << (5 * depth)), depth, &child_bit);
            if (child && !BITS(gang__load(child)) && !is_passed(child, depth, &passes))
                close_empty(c, class_id, row, (uint32_t)(at << (5 * depth)), depth);
            continue;
        }
        if (depth == TREE_DEPTH - 1)
            return GANG__NO_SLOT;
        at = (at >> 5) + 1;
        depth++;
        while (depth < TREE_DEPTH && at % GANG__FAN == 0) { /* past the end of this word */
            if (depth == TREE_DEPTH - 1)
                return GANG__NO_SLOT;
            at >>= 5;
            depth++;
        }
    }
}

uint32_t gang__index_next(struct gang__cells *c, uint32_t class_id, unsigned row, uint32_t from,
                          uint32_t *more)
{
    return next(c, class_id, row, from, 0, more);
}

uint32_t gang__index_next_apart(struct gang__cells *c, uint32_t class_id, unsigned row,
                                uint32_t from, uint32_t *more)
{
    enum { PASSES = 24 };
    return next(c, class_id, row, from, PASSES, more);
}

uint32_t gang__index_word(struct gang__cells *c, uint32_t class_id, unsigned row, uint32_t base)
{
    const struct gang__chunk *chunk = gang__chunk_of(c, base);
    struct gang__leaf *leaf = chunk ? gang__load(&chunk->leaf[class_id]) : NULL;
    return leaf ? BITS(gang__load_seq(&leaf->bits[base % GANG__CHUNK / GANG__FAN][row])) : 0;
}

uint32_t gang__index_row_end(struct gang__cells *c, uint32_t class_id, unsigned row)
{
    const struct gang__gpu_class *class = gang__load(&c->gpu_class[class_id]);
    uint32_t marks = BITS(gang__load(&class->root[row]));
    for (; marks; marks ^= UINT32_C(1) << (31 - __builtin_clz(marks))) {
        uint32_t at = 31 - (uint32_t)__builtin_clz(marks);
        uint32_t mid = BITS(gang__load(&class->mid[row][at]));
        if (mid)
            return (at * GANG__FAN + 32 - (uint32_t)__builtin_clz(mid)) * GANG__CHUNK;
    }
    return 0;
}

gang_result gang__index_make(struct gang__cells *c, uint32_t class_id, struct gang__chunk *chunk)
{
    if (!gang__load(&c->gpu_class[class_id])) {
        struct gang__gpu_class *class = gang__zalloc_line(c->mem, 1, sizeof(*class));
        if (!class)
            return GANG_ENOMEM;
        gang__store(&c->gpu_class[class_id], class);
    }
    if (chunk && !gang__load(&chunk->leaf[class_id])) {
        struct gang__leaf *leaf = gang__zalloc_line(c->mem, 1, sizeof(*leaf));
        if (!leaf)
            return GANG_ENOMEM;
        gang__store(&chunk->leaf[class_id], leaf);
    }
    return GANG_OK;
}

/* ---- raising --------------------------------------------------------------------------------- */

void gang__index_batch_begin(struct gang__index_batch *b, struct gang__cells *c)
{
    b->at.c = c;
    b->rows = 0;
}

void gang__index_batch_end(struct gang__index_batch *b)
{
    for (; b->rows; b->rows &= b->rows - 1) {
        unsigned row = (unsigned)__builtin_ctzll(b->rows);
        gang__index_set(&b->at, row, b->bits[row]);
    }
}

static void batch_bit(struct gang__index_batch *b, unsigned row, uint32_t slot)
{
    if (!(b->rows >> row & 1)) {
        b->rows |= UINT64_C(1) << row;
        b->bits[row] = 0;
    }
    b->bits[row] |= UINT32_C(1) << (slot % GANG__FAN);
}

void gang__index_batch_add(struct gang__index_batch *b, uint32_t slot, struct gang__layout layout,
                           struct gang__buckets buckets)
{
    uint32_t base = slot - slot % GANG__FAN;
    if (b->rows && (base != b->at.base || layout.class_id != b->at.class_id))
        gang__index_batch_end(b);
    if (!b->rows)
        b->at = gang__index_words_of(b->at.c, layout.class_id, slot);
    if (buckets.gpu)
        batch_bit(b, gang__gpu_row(buckets.gpu), slot);
    if (buckets.cpu)
        batch_bit(b, gang__cpu_row(buckets.cpu), slot);
}

/* ---- checks and stamps ----------------------------------------------------------------------- */

/* Does a search from the root meet the node in one of the rows? */
static bool covers(struct gang__cells *c, uint32_t class_id, uint32_t slot, unsigned first,
                   unsigned end)
{
    for (unsigned row = first; row < end; row++) {
        unsigned depth = 0, bit;
        gang__a64 *word;
        while (depth < TREE_DEPTH &&
               (word = word_of(c, class_id, row, slot, depth, &bit)) != NULL &&
               (gang__load(word) >> bit & 1))
            depth++;
        if (depth == TREE_DEPTH)
            return true;
    }
    return false;
}

bool gang__index_covers(struct gang__cells *c, uint32_t slot)
{
    struct gang__layout layout = gang__layout_at(gang__chunk_of(c, slot), slot);
    struct gang__buckets now = gang__index_buckets(c, slot, layout);
    return (!now.gpu ||
            covers(c, layout.class_id, slot, gang__gpu_row(now.gpu), GANG__GPU_BUCKETS)) &&
           (!now.cpu || covers(c, layout.class_id, slot, gang__cpu_row(now.cpu), GANG__INDEX_ROWS));
}

uint64_t gang__stamp_read(struct gang__cells *c)
{
    const struct gang__node_rules *rules = gang__load_seq(&c->rules);
    uint64_t sum = rules ? rules->version : 0;
    uint32_t end = gang__load_seq(&c->worker_end);
    for (uint32_t i = 0; i < end; i++) {
        struct gang__committer *w = gang__load(&c->worker[i]);
        gang__hook(GANG__STEP_SUM);
        if (w)
            sum += gang__load_seq(&w->stamp);
    }
    return sum;
}
