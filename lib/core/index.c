/* SPDX-License-Identifier: Apache-2.0 */
/* The free-capacity index.
 *
 * For each class of nodes (same GPU model) and each level of free capacity there is one bit set
 * over all slots, as a tree of words with 32 children each: root -> mid -> leaf top -> leaf bits.
 * A node stands at one GPU level (if it has GPUs) and one CPU level, see struct gang__levels.
 *
 * State of an index word:   bits 0-31 children | bits 32-33 CLOSED, OPENING, OPEN | version
 *
 * Invariant (I1): a node whose capacity, as decided, stands at level v > 0 has its bit set in at
 * least one bucket of level >= v of that axis. So a search from the top level down to v meets it.
 * The reverse does not hold: stale bits are met, found wrong by reading the cell, and mended.
 *
 * Who keeps I1.
 *  - An operation that gives back holds its claims when it raises the index to the new level, and
 *    decides only afterwards (core/commit.c). Until the decision the old bit serves.
 *  - A bit is cleared only like this: (1) read the index word; (2) read the cell, owner = 0, and
 *    compute the levels; (3) set the bits of those levels; (4) clear the bit in the word by a
 *    compare-and-swap against (1). Every set adds one to the word's version, also if the bit was
 *    set already, so (4) fails if anybody raised a node of this word since (1).
 *    Say (4) succeeds, and v is the level at that time. If it is the one of step (2), the bit of
 *    (3) serves: whoever cleared that one since must have read the cell later and seen another
 *    level. If it was raised since (2), the raiser claimed the cell after (2) and set bit v after
 *    (1): v is not the bit cleared here, else (4) had failed. If it was lowered since, the bit
 *    that served the level before still serves, unless it is the one cleared here; then (3) set
 *    one for the level read in (2), which is not lower than v but through a raise, which see.
 *
 * Invariant (I2): a word that is OPEN or has a bit set is marked in its parent, or the thread that
 * set the bit is still before its decision. CLOSED -> OPENING by who sets a first bit, then the
 * parent is marked (a set like any other, with its version), then OPENING -> OPEN. Who finds
 * OPENING marks the parent himself: nobody relies on another's unfinished work. A parent's mark is
 * cleared only for a child that is CLOSED, after reading the parent, and fails if anybody marked
 * since. So OPEN means: marked, and no clearing of the mark can succeed without closing first.
 *
 * Every loop here retries a compare-and-swap that failed because another one succeeded on the same
 * word: lock-free. Nothing is reclaimed before the cluster ends.
 */
#include "core/index.h"

#include "core/commit.h"

#define STATE_SHIFT 32
#define STATE(word) ((unsigned)((word) >> STATE_SHIFT) & 3u)
#define BITS(word) ((uint32_t)(word))
#define VERSION_ONE (UINT64_C(1) << 34)
#define STATE_MASK (UINT64_C(3) << STATE_SHIFT)

enum { CLOSED = 0, OPENING = 1, OPEN = 2 };
enum { TREE_LEVELS = 4 };

/* The same word at another state, with the next version. */
static uint64_t with_state(uint64_t word, unsigned state)
{
    return ((word & ~STATE_MASK) | (uint64_t)state << STATE_SHIFT) + VERSION_ONE;
}

/* ---- the tree of one bucket ---------------------------------------------------------------- */

/* The word on tree level 0 (leaf bits) .. 3 (root) that covers a slot; NULL if the class has no
 * node in this chunk. *bit: the slot's child in it. */
static gang__a64 *word_of(gang_cluster *c, uint32_t class_id, unsigned bucket, uint32_t slot,
                          unsigned level, unsigned *bit)
{
    if (level >= 2) {
        struct gang__class *class = gang__load(&c->class[class_id]);
        uint32_t chunk = slot / GANG__CHUNK;
        *bit = level == 2 ? chunk % GANG__FAN : chunk / GANG__FAN;
        return level == 2 ? &class->mid[bucket][chunk / GANG__FAN] : &class->root[bucket];
    }
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    struct gang__leaf *leaf = chunk ? gang__load(&chunk->leaf[class_id]) : NULL;
    uint32_t i = slot % GANG__CHUNK;
    *bit = level == 0 ? i % GANG__FAN : i / GANG__FAN;
    if (!leaf)
        return NULL;
    return level == 0 ? &leaf->bits[bucket][i / GANG__FAN] : &leaf->top[bucket];
}

static void set_bit(gang_cluster *c, uint32_t class_id, unsigned bucket, uint32_t slot)
{
    gang__a64 *word[TREE_LEVELS];
    unsigned bit[TREE_LEVELS];
    uint64_t wrote[TREE_LEVELS];
    unsigned level = 0;
    for (; level < TREE_LEVELS; level++) {
        if (level)
            gang__hook(GANG__STEP_MARK);
        word[level] = word_of(c, class_id, bucket, slot, level, &bit[level]);
        uint64_t old;
        do {
            old = gang__load(word[level]);
            wrote[level] =
                with_state(old | UINT64_C(1) << bit[level], STATE(old) == OPEN ? OPEN : OPENING);
        } while (!gang__cas(word[level], old, wrote[level]));
        if (STATE(old) == OPEN)
            break;
    }
    /* The words below `level` are marked in their parents now: say so, from the top. Only of the very
     * word that was written before its parent was marked: of one that was emptied and opened anew
     * meanwhile, the mark may be about to be cleared. Who changed it will see to it. */
    while (level-- > 0) {
        uint64_t mark = level + 1 < TREE_LEVELS ? gang__load(word[level + 1]) : 0;
        if (level + 1 == TREE_LEVELS || (STATE(mark) == OPEN && (mark >> bit[level + 1] & 1)))
            gang__cas(word[level], wrote[level], with_state(wrote[level], OPEN));
    }
}

/* A word lost its last bit: close it and clear its mark in the parent, and so on upwards. */
static void close_empty(gang_cluster *c, uint32_t class_id, unsigned bucket, uint32_t slot,
                        unsigned level)
{
    for (; level + 1 < TREE_LEVELS; level++) {
        unsigned bit, up;
        gang__a64 *word = word_of(c, class_id, bucket, slot, level, &bit);
        gang__a64 *parent = word_of(c, class_id, bucket, slot, level + 1, &up);
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

static void clear_bit(gang_cluster *c, uint32_t class_id, unsigned bucket, uint32_t slot,
                      uint64_t seen)
{
    unsigned bit;
    gang__a64 *word = word_of(c, class_id, bucket, slot, 0, &bit);
    uint64_t cleared = (seen & ~(UINT64_C(1) << bit)) + VERSION_ONE;
    if (gang__cas(word, seen, cleared) && !BITS(cleared))
        close_empty(c, class_id, bucket, slot, 0);
}

uint32_t gang__index_next(gang_cluster *c, uint32_t class_id, unsigned bucket, uint32_t from)
{
    struct gang__class *class = gang__load(&c->class[class_id]);
    if (from >= GANG__CHUNK * GANG__CHUNKS || !class || !BITS(gang__load_seq(&class->root[bucket])))
        return GANG__NO_SLOT;
    /* Climb while the rest of a word is empty, then go down to its first bit. */
    uint64_t at = from; /* in units of the level's children */
    unsigned level = 0;
    for (;;) {
        uint32_t slot = (uint32_t)(at << (5 * level));
        unsigned bit;
        gang__a64 *word = word_of(c, class_id, bucket, slot, level, &bit);
        uint32_t rest = word ? BITS(gang__load_seq(word)) & (UINT32_MAX << bit) : 0;
        if (rest) {
            at = (at & ~(uint64_t)(GANG__FAN - 1)) + (uint64_t)__builtin_ctz(rest);
            if (level == 0)
                return (uint32_t)at;
            level--;
            at <<= 5;
            /* An empty child under a mark is left over by a thread that stopped: mend it. */
            unsigned child_bit;
            gang__a64 *child =
                word_of(c, class_id, bucket, (uint32_t)(at << (5 * level)), level, &child_bit);
            if (child && !BITS(gang__load(child)))
                close_empty(c, class_id, bucket, (uint32_t)(at << (5 * level)), level);
            continue;
        }
        if (level == TREE_LEVELS - 1)
            return GANG__NO_SLOT;
        at = (at >> 5) + 1;
        level++;
        while (level < TREE_LEVELS && at % GANG__FAN == 0) { /* past the end of this word */
            if (level == TREE_LEVELS - 1)
                return GANG__NO_SLOT;
            at >>= 5;
            level++;
        }
    }
}

gang_result gang__index_make(gang_cluster *c, uint32_t class_id, struct gang__chunk *chunk)
{
    if (!gang__load(&c->class[class_id])) {
        struct gang__class *class = gang__zalloc_line(&c->mem, 1, sizeof(*class));
        if (!class)
            return GANG_ENOMEM;
        gang__store(&c->class[class_id], class);
    }
    if (chunk && !gang__load(&chunk->leaf[class_id])) {
        struct gang__leaf *leaf = gang__zalloc_line(&c->mem, 1, sizeof(*leaf));
        if (!leaf)
            return GANG_ENOMEM;
        gang__store(&chunk->leaf[class_id], leaf);
    }
    return GANG_OK;
}

/* ---- levels --------------------------------------------------------------------------------- */

uint8_t gang__level_for_share(uint32_t milli)
{
    return (uint8_t)(1 + milli * 8 / 1000);
}

uint8_t gang__level_for_gpus(uint64_t devices)
{
    uint64_t most = GANG__GPU_LEVELS - GANG__GPU_WHOLE;
    return devices ? (uint8_t)(GANG__GPU_WHOLE + (devices < most ? devices : most)) : 0;
}

uint8_t gang__level_for_cpu(uint64_t milli)
{
    if (milli == 0)
        return 1;
    if (milli < 250)
        return 2;
    unsigned log = 63u - (unsigned)__builtin_clzll(milli / 250);
    return (uint8_t)(3 + log < GANG__CPU_LEVELS ? 3 + log : GANG__CPU_LEVELS);
}

struct gang__levels gang__levels_of(struct gang__layout layout, const uint64_t *payload)
{
    struct gang__levels levels = {0, 0};
    if (gang__head_state(payload[GANG__WORD_HEAD]) != GANG__STATE_UP)
        return levels;
    levels.cpu = gang__level_for_cpu(gang__head_cpu(payload[GANG__WORD_HEAD]));
    uint32_t whole = 0, part = 0;
    for (unsigned i = 0; i < layout.gpus; i++) {
        uint32_t share = gang__share(payload[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                                     i % GANG__SHARES_PER_WORD);
        if (share == 1000)
            whole++;
        else if (share > part)
            part = share;
    }
    levels.gpu = whole ? gang__level_for_gpus(whole) : part ? gang__level_for_share(part) : 0;
    return levels;
}

/* ---- a node and its bits ---------------------------------------------------------------------- */

void gang__index_raise(gang_cluster *c, uint32_t slot, struct gang__layout layout,
                       struct gang__levels levels)
{
    if (levels.gpu)
        set_bit(c, layout.class_id, gang__gpu_bucket(levels.gpu), slot);
    if (levels.cpu)
        set_bit(c, layout.class_id, gang__cpu_bucket(levels.cpu), slot);
}

/* Steps 1 to 4 of the proof above. */
void gang__index_mend(gang_cluster *c, uint32_t class_id, uint32_t slot, unsigned bucket)
{
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    unsigned bit;
    gang__a64 *word = word_of(c, class_id, bucket, slot, 0, &bit);
    if (!word)
        return;
    uint64_t seen = gang__load_seq(word);
    if (!(seen >> bit & 1))
        return;
    gang__hook(GANG__STEP_MEND);
    /* After `seen`: a slot that gets a new node now is raised anew, which (4) would notice. */
    struct gang__layout layout = gang__layout_at(chunk, slot);
    if (layout.class_id != class_id) { /* left over by another node of this slot */
        clear_bit(c, class_id, bucket, slot, seen);
        return;
    }
    uint64_t payload[GANG__WORD_SHARES + GANG_MAX_GPUS / GANG__SHARES_PER_WORD];
    gang__cell_read(c, slot, payload, GANG__WORD_SHARES + gang__share_words(layout));
    struct gang__levels now = gang__levels_of(layout, payload);
    if ((now.gpu && gang__gpu_bucket(now.gpu) == bucket) ||
        (now.cpu && gang__cpu_bucket(now.cpu) == bucket))
        return;
    if (bucket < GANG__GPU_LEVELS) /* only the axis of the cleared bit needs its other bit */
        now.cpu = 0;
    else
        now.gpu = 0;
    gang__index_raise(c, slot, layout, now);
    gang__hook(GANG__STEP_MEND);
    clear_bit(c, layout.class_id, bucket, slot, seen);
}

void gang__index_tidy(gang_cluster *c, uint32_t slot)
{
    gang__hook(GANG__STEP_TIDY);
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    struct gang__layout layout = gang__layout_at(chunk, slot);
    uint64_t payload[GANG__WORD_SHARES + GANG_MAX_GPUS / GANG__SHARES_PER_WORD];
    gang__cell_read(c, slot, payload, GANG__WORD_SHARES + gang__share_words(layout));
    struct gang__levels now = gang__levels_of(layout, payload);
    uint32_t placed = (uint32_t)now.gpu | (uint32_t)now.cpu << 8;
    uint32_t before = gang__load(&chunk->placed[slot % GANG__CHUNK]);
    if (before == placed)
        return;
    before = gang__swap(&chunk->placed[slot % GANG__CHUNK], placed);
    uint8_t gpu = (uint8_t)before, cpu = (uint8_t)(before >> 8);
    if (gpu && gpu != now.gpu)
        gang__index_mend(c, layout.class_id, slot, gang__gpu_bucket(gpu));
    if (cpu && cpu != now.cpu)
        gang__index_mend(c, layout.class_id, slot, gang__cpu_bucket(cpu));
}

/* Does a search from the root meet the node in one of the buckets? */
static bool covers(gang_cluster *c, uint32_t class_id, uint32_t slot, unsigned first, unsigned end)
{
    for (unsigned bucket = first; bucket < end; bucket++) {
        unsigned level = 0, bit;
        gang__a64 *word;
        while (level < TREE_LEVELS &&
               (word = word_of(c, class_id, bucket, slot, level, &bit)) != NULL &&
               (gang__load(word) >> bit & 1))
            level++;
        if (level == TREE_LEVELS)
            return true;
    }
    return false;
}

bool gang__index_covers(gang_cluster *c, uint32_t slot)
{
    struct gang__layout layout = gang__layout_at(gang__chunk_of(c, slot), slot);
    uint64_t payload[GANG__WORD_SHARES + GANG_MAX_GPUS / GANG__SHARES_PER_WORD];
    gang__cell_read(c, slot, payload, GANG__WORD_SHARES + gang__share_words(layout));
    struct gang__levels now = gang__levels_of(layout, payload);
    return (!now.gpu ||
            covers(c, layout.class_id, slot, gang__gpu_bucket(now.gpu), GANG__GPU_LEVELS)) &&
           (!now.cpu || covers(c, layout.class_id, slot, gang__cpu_bucket(now.cpu), GANG__BUCKETS));
}

uint64_t gang__stamp_read(gang_cluster *c)
{
    uint64_t sum = 0;
    uint32_t end = gang__load_seq(&c->worker_end);
    for (uint32_t i = 0; i < end; i++) {
        gang_worker *w = gang__load(&c->worker[i]);
        gang__hook(GANG__STEP_SUM);
        if (w)
            sum += gang__load_seq(&w->stamp);
    }
    return sum;
}
