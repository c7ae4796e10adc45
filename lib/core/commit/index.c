/* SPDX-License-Identifier: Apache-2.0 */
/* The free-capacity index.
 *
 * For each class of nodes (same GPU model) and each level of free capacity there is one bit set
 * over all slots, as a tree of words with 32 children each: root -> mid -> leaf top -> leaf bits.
 * A node stands at one GPU level (if it has GPUs) and one CPU level, see struct gang__buckets.
 *
 * State of an index word:   bits 0-31 children | bits 32-33 CLOSED, OPENING, OPEN | version
 *
 * Invariant (I1): a node whose capacity, as decided, stands at level v > 0 has its bit set in at
 * least one bucket of level >= v of that axis. So a search from the top level down to v meets it.
 * The reverse does not hold: stale bits are met, found wrong by reading the cell, and mended.
 *
 * Who keeps I1.
 *  - An operation that gives back holds its claims when it raises the index to the new level, and
 *    decides only afterwards (core/commit/commit.c). Until the decision the old bit serves.
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
#include "core/commit/index.h"

#include "core/commit/commit.h"

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
static gang__a64 *word_of(struct gang__cells *c, uint32_t class_id, unsigned bucket, uint32_t slot,
                          unsigned level, unsigned *bit)
{
    if (level >= 2) {
        struct gang__gpu_class *class = gang__load(&c->gpu_class[class_id]);
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
    return level == 0 ? &leaf->bits[i / GANG__FAN][bucket] : &leaf->top[bucket];
}

/* Set bits of the leaf word that covers a slot. */
static void set_bits(struct gang__cells *c, uint32_t class_id, unsigned bucket, uint32_t slot,
                     uint32_t bits)
{
    gang__a64 *word[TREE_LEVELS];
    unsigned bit[TREE_LEVELS];
    uint64_t wrote[TREE_LEVELS];
    unsigned level = 0;
    for (; level < TREE_LEVELS; level++) {
        if (level)
            gang__hook(GANG__STEP_MARK);
        word[level] = word_of(c, class_id, bucket, slot, level, &bit[level]);
        uint64_t old, mark = level ? UINT64_C(1) << bit[level] : bits;
        do {
            old = gang__load(word[level]);
            wrote[level] = with_state(old | mark, STATE(old) == OPEN ? OPEN : OPENING);
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
static void close_empty(struct gang__cells *c, uint32_t class_id, unsigned bucket, uint32_t slot,
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

/* Clear bits of the leaf word that covers a slot, if it is as it was seen. */
static bool clear_bits(struct gang__cells *c, uint32_t class_id, unsigned bucket, uint32_t slot,
                       uint64_t seen, uint32_t bits)
{
    unsigned bit;
    gang__a64 *word = word_of(c, class_id, bucket, slot, 0, &bit);
    uint64_t cleared = (seen & ~(uint64_t)bits) + VERSION_ONE;
    if (!gang__cas(word, seen, cleared))
        return false;
    if (!BITS(cleared))
        close_empty(c, class_id, bucket, slot, 0);
    return true;
}

uint32_t gang__index_next(struct gang__cells *c, uint32_t class_id, unsigned bucket, uint32_t from,
                          uint32_t *more)
{
    *more = 0;
    if (from >= GANG__CHUNK * GANG__CHUNKS || gang__index_empty(c, class_id, bucket))
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
            if (level == 0) {
                *more = rest >> (at % GANG__FAN) >> 1;
                return (uint32_t)at;
            }
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

uint32_t gang__index_word(struct gang__cells *c, uint32_t class_id, unsigned bucket, uint32_t base)
{
    const struct gang__chunk *chunk = gang__chunk_of(c, base);
    struct gang__leaf *leaf = chunk ? gang__load(&chunk->leaf[class_id]) : NULL;
    return leaf ? BITS(gang__load_seq(&leaf->bits[base % GANG__CHUNK / GANG__FAN][bucket])) : 0;
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

/* ---- levels --------------------------------------------------------------------------------- */

uint8_t gang__bucket_for_share(uint32_t milli)
{
    return (uint8_t)(1 + milli * 8 / 1000);
}

uint8_t gang__bucket_for_gpus(uint64_t devices)
{
    uint64_t most = GANG__GPU_BUCKETS - GANG__GPU_WHOLE;
    return devices ? (uint8_t)(GANG__GPU_WHOLE + (devices < most ? devices : most)) : 0;
}

uint8_t gang__bucket_for_cpu(uint64_t milli)
{
    if (milli == 0)
        return 1;
    if (milli < 250)
        return 2;
    unsigned log = 63u - (unsigned)__builtin_clzll(milli / 250);
    return (uint8_t)(3 + log < GANG__CPU_BUCKETS ? 3 + log : GANG__CPU_BUCKETS);
}

/* The largest part of a device that is not whole. */
static uint32_t largest_part(struct gang__layout layout, const uint64_t *payload)
{
    uint32_t part = 0;
    for (unsigned i = 0; i < layout.gpus; i++) {
        uint32_t share = gang__share(payload[GANG__WORD_SHARES + i / GANG__SHARES_PER_WORD],
                                     i % GANG__SHARES_PER_WORD);
        if (share > part)
            part = share;
    }
    return part;
}

struct gang__buckets gang__buckets_of(struct gang__layout layout, const uint64_t *payload)
{
    struct gang__buckets levels = {0, 0};
    if (gang__head_state(payload[GANG__WORD_HEAD]) != GANG__STATE_UP)
        return levels;
    levels.cpu = gang__bucket_for_cpu(gang__head_cpu(payload[GANG__WORD_HEAD]));
    /* Bits set in each number below 16, four bits each. */
    const uint64_t ones_of = UINT64_C(0x4332322132212110);
    uint32_t whole = 0;
    uint64_t any = 0;
    unsigned end = GANG__WORD_SHARES + gang__share_words(layout);
    for (unsigned i = GANG__WORD_SHARES; i < end; i++) {
        any |= payload[i];
        whole += (uint32_t)(ones_of >> 4 * gang__whole(payload[i])) & 15;
    }
    if (whole)
        levels.gpu = gang__bucket_for_gpus(whole);
    else if (any)
        levels.gpu = gang__bucket_for_share(largest_part(layout, payload));
    return levels;
}

/* As gang__cell_read() of words in the cell's own line, but gives up if anything goes on there. */
static inline bool read_quiet(struct gang__cells *c, uint32_t slot, uint64_t *word, unsigned words)
{
    const struct gang__cell *cell = &gang__chunk_of(c, slot)->cell[slot % GANG__CHUNK];
    uint64_t changed = gang__load_seq(&cell->owner);
    for (unsigned i = 0; i < words; i++)
        word[i] = gang__load(&cell->word[i]);
    changed |= gang__load_seq(&cell->owner);
    for (unsigned i = 0; i < words; i++) {
        changed |= word[i] ^ gang__load(&cell->word[i]);
        word[i] = gang__payload(word[i]);
    }
    return changed == 0;
}

struct gang__buckets gang__buckets_of_like(struct gang__layout layout, const uint64_t *payload,
                                           struct gang__bucket_memo *last)
{
    unsigned end = GANG__WORD_SHARES + gang__share_words(layout);
    uint64_t differ = last->end != end;
    for (unsigned i = 0; !differ && i < end; i++)
        differ = last->payload[i] ^ payload[i];
    if (differ) {
        last->end = end;
        for (unsigned i = 0; i < end; i++)
            last->payload[i] = payload[i];
        last->levels = gang__buckets_of(layout, payload);
    }
    return last->levels;
}

/* The words of a slot that tell its levels. */
static void read_for_levels(struct gang__cells *c, uint32_t slot, struct gang__layout layout,
                            uint64_t *payload)
{
    unsigned words = GANG__WORD_SHARES + gang__share_words(layout);
    if (words > GANG__CELL_WORDS || !read_quiet(c, slot, payload, words))
        gang__cell_read(c, slot, payload, words);
}

static struct gang__buckets levels_now(struct gang__cells *c, uint32_t slot,
                                       struct gang__layout layout)
{
    uint64_t payload[GANG__BUCKET_WORDS];
    read_for_levels(c, slot, layout, payload);
    return gang__buckets_of(layout, payload);
}

/* ---- raising ----------------------------------------------------------------------------------- */

void gang__index_batch_begin(struct gang__index_batch *l, struct gang__cells *c)
{
    l->c = c;
    l->buckets = 0;
}

void gang__index_batch_end(struct gang__index_batch *l)
{
    for (; l->buckets; l->buckets &= l->buckets - 1) {
        unsigned bucket = (unsigned)__builtin_ctzll(l->buckets);
        set_bits(l->c, l->class_id, bucket, l->base, l->bits[bucket]);
    }
}

static void lift_bit(struct gang__index_batch *l, unsigned bucket, uint32_t slot)
{
    if (!(l->buckets >> bucket & 1)) {
        l->buckets |= UINT64_C(1) << bucket;
        l->bits[bucket] = 0;
    }
    l->bits[bucket] |= UINT32_C(1) << (slot % GANG__FAN);
}

void gang__index_batch_add(struct gang__index_batch *l, uint32_t slot, struct gang__layout layout,
                           struct gang__buckets levels)
{
    uint32_t base = slot - slot % GANG__FAN;
    if (l->buckets && (base != l->base || layout.class_id != l->class_id))
        gang__index_batch_end(l);
    l->base = base;
    l->class_id = layout.class_id;
    if (levels.gpu)
        lift_bit(l, gang__gpu_row(levels.gpu), slot);
    if (levels.cpu)
        lift_bit(l, gang__cpu_row(levels.cpu), slot);
}

/* ---- mending ----------------------------------------------------------------------------------- */

/* Steps 1 to 4 of the proof above. */
void gang__index_repair(struct gang__cells *c, uint32_t class_id, uint32_t slot, unsigned bucket)
{
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    unsigned bit;
    gang__a64 *word = word_of(c, class_id, bucket, slot, 0, &bit);
    if (!word)
        return;
    uint64_t seen = gang__load_seq(word);
    if (!(seen >> bit & 1))
        return;
    gang__hook(GANG__STEP_REPAIR);
    /* After `seen`: a slot that gets a new node now is raised anew, which (4) would notice. */
    struct gang__layout layout = gang__layout_at(chunk, slot);
    if (layout.class_id == class_id) { /* else left over by another node of this slot */
        struct gang__buckets now = levels_now(c, slot, layout);
        if ((now.gpu && gang__gpu_row(now.gpu) == bucket) ||
            (now.cpu && gang__cpu_row(now.cpu) == bucket))
            return;
        if (bucket < GANG__GPU_BUCKETS) /* only the axis of the cleared bit needs its other bit */
            now.cpu = 0;
        else
            now.gpu = 0;
        struct gang__index_batch lift;
        gang__index_batch_begin(&lift, c);
        gang__index_batch_add(&lift, slot, layout, now);
        gang__index_batch_end(&lift);
    }
    gang__hook(GANG__STEP_REPAIR);
    clear_bits(c, class_id, bucket, slot, seen, UINT32_C(1) << bit);
}

/* Nodes of one leaf word that stood in the same buckets when they were last tidied. */
struct flock {
    uint32_t base; /* first slot of the word */
    struct gang__layout layout;
    uint32_t placed; /* gpu level | cpu level << 8 */
    uint32_t bits;
};

static uint32_t placed_of(struct gang__buckets levels)
{
    return (uint32_t)levels.gpu | (uint32_t)levels.cpu << 8;
}

static void mend_all(struct gang__cells *c, const struct flock *f, unsigned bucket, uint32_t bits)
{
    for (; bits; bits &= bits - 1)
        gang__index_repair(c, f->layout.class_id, f->base + (uint32_t)__builtin_ctz(bits), bucket);
}

/* Step 4 for one axis: `bits` left the bucket. If the word has changed, each on its own. */
static void leave_bucket(struct gang__cells *c, const struct flock *f, unsigned bucket,
                         uint64_t seen, uint32_t bits)
{
    bits &= BITS(seen);
    gang__hook(GANG__STEP_REPAIR);
    if (bits && !clear_bits(c, f->layout.class_id, bucket, f->base, seen, bits))
        mend_all(c, f, bucket, bits);
}

/* Steps 1 to 4 of the proof above, for all nodes of a flock at once. Their layouts were read before
 * step 1: the caller is in a read section, or has the structure mutex, so no slot gets another node. */
static void tidy_flock(struct gang__cells *c, const struct flock *f)
{
    uint32_t class_id = f->layout.class_id;
    uint8_t gpu = (uint8_t)f->placed, cpu = (uint8_t)(f->placed >> 8);
    unsigned bit;
    uint64_t seen_gpu = 0, seen_cpu = 0;
    if (gpu)
        seen_gpu = gang__load_seq(word_of(c, class_id, gang__gpu_row(gpu), f->base, 0, &bit));
    if (cpu)
        seen_cpu = gang__load_seq(word_of(c, class_id, gang__cpu_row(cpu), f->base, 0, &bit));
    uint32_t gpu_left = 0, cpu_left = 0;
    struct gang__index_batch lift;
    struct gang__bucket_memo last;
    gang__bucket_memo_init(&last);
    gang__index_batch_begin(&lift, c);
    for (uint32_t bits = f->bits; bits; bits &= bits - 1) {
        uint32_t slot = f->base + (uint32_t)__builtin_ctz(bits), mine = bits & (~bits + 1);
        uint64_t payload[GANG__BUCKET_WORDS];
        read_for_levels(c, slot, f->layout, payload);
        struct gang__buckets now = gang__buckets_of_like(f->layout, payload, &last), to = {0, 0};
        if (placed_of(now) == f->placed)
            continue;
        if (now.gpu != gpu) {
            gpu_left |= mine;
            to.gpu = now.gpu;
        }
        if (now.cpu != cpu) {
            cpu_left |= mine;
            to.cpu = now.cpu;
        }
        uint32_t before =
            gang__swap(&gang__slot_at(gang__chunk_of(c, slot), slot)->bucket_hint, placed_of(now));
        gang__index_batch_add(&lift, slot, f->layout, to);
        if (before != f->placed) { /* somebody tidied it meanwhile: not where we were told */
            gang__index_batch_end(&lift);
            if (before & 0xff)
                gang__index_repair(c, class_id, slot, gang__gpu_row((uint8_t)before));
            if (before >> 8)
                gang__index_repair(c, class_id, slot, gang__cpu_row((uint8_t)(before >> 8)));
        }
    }
    gang__index_batch_end(&lift);
    if (gpu)
        leave_bucket(c, f, gang__gpu_row(gpu), seen_gpu, gpu_left);
    if (cpu)
        leave_bucket(c, f, gang__cpu_row(cpu), seen_cpu, cpu_left);
}

void gang__index_update(struct gang__cells *c, const uint64_t *keys, size_t count)
{
    struct flock f = {0, {0, 0, 0, 0}, 0, 0};
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)(keys[i] >> 32);
        if (slot == GANG__POOL || (i && slot == (uint32_t)(keys[i - 1] >> 32)))
            continue;
        struct gang__slot *s = gang__slot_at(gang__chunk_of(c, slot), slot);
        struct flock its = {slot - slot % GANG__FAN, gang__layout_unpack(gang__load(&s->layout)),
                            gang__load(&s->bucket_hint), UINT32_C(1) << (slot % GANG__FAN)};
        bool same = f.bits && its.base == f.base && its.placed == f.placed &&
                    gang__layout_pack(its.layout) == gang__layout_pack(f.layout);
        if (same) {
            f.bits |= its.bits;
            continue;
        }
        if (f.bits)
            tidy_flock(c, &f);
        gang__hook(GANG__STEP_UPDATE);
        f = its;
    }
    if (f.bits)
        tidy_flock(c, &f);
}

void gang__index_update_slot(struct gang__cells *c, uint32_t slot)
{
    uint64_t key = (uint64_t)slot << 32;
    gang__index_update(c, &key, 1);
}

/* Does a search from the root meet the node in one of the buckets? */
static bool covers(struct gang__cells *c, uint32_t class_id, uint32_t slot, unsigned first,
                   unsigned end)
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

bool gang__index_covers(struct gang__cells *c, uint32_t slot)
{
    struct gang__layout layout = gang__layout_at(gang__chunk_of(c, slot), slot);
    struct gang__buckets now = levels_now(c, slot, layout);
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
