/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the index up to date: nodes that changed are found in their buckets, and no longer in
 * their former ones. Steps 1 to 4 of the proof of I1 at the head of index.c. */
#include "core/commit/commit.h"
#include "core/commit/index_in.h"

/* Like gang__cell_read() of words in the cell's own line, but gives up if any commit is under way
 * there. Memory, which decides no bucket, reads as 0. */
static inline bool read_unclaimed(const struct gang__cell *cell, uint64_t *word, unsigned words)
{
    uint64_t changed = gang__load_seq(&cell->owner);
    word[GANG__WORD_HEAD] = gang__load(&cell->word[GANG__WORD_HEAD]);
    word[GANG__WORD_MEMORY] = 0;
    for (unsigned i = GANG__WORD_SHARES; i < words; i++)
        word[i] = gang__load(&cell->word[i]);
    changed |= gang__load_seq(&cell->owner);
    changed |= word[GANG__WORD_HEAD] ^ gang__load(&cell->word[GANG__WORD_HEAD]);
    word[GANG__WORD_HEAD] = gang__payload(word[GANG__WORD_HEAD]);
    for (unsigned i = GANG__WORD_SHARES; i < words; i++) {
        changed |= word[i] ^ gang__load(&cell->word[i]);
        word[i] = gang__payload(word[i]);
    }
    return changed == 0;
}

/* Reads the words that decide the buckets of a slot. */
static void read_for_buckets(struct gang__cells *c, uint32_t slot, struct gang__layout layout,
                             uint64_t *payload)
{
    unsigned words = GANG__WORD_SHARES + gang__share_words(layout);
    const struct gang__cell *cell = &gang__chunk_of(c, slot)->cell[slot % GANG__CHUNK];
    if (words > GANG__CELL_WORDS || !read_unclaimed(cell, payload, words))
        gang__cell_read(c, slot, payload, words);
}

/* The same as reading and judging the words, in one pass. False: the cell is claimed, the node is
 * not up, has words past the cell, or has only parts of devices free. */
static inline bool buckets_unclaimed(const struct gang__cell *cell, struct gang__layout layout,
                                     struct gang__buckets *buckets)
{
    uint64_t word[GANG__CELL_WORDS];
    unsigned end = GANG__WORD_SHARES + gang__share_words(layout);
    if (end > GANG__CELL_WORDS)
        return false;
    uint64_t changed = gang__load_seq(&cell->owner), whole = 0, any = 0;
    uint64_t head = gang__load(&cell->word[GANG__WORD_HEAD]);
    for (unsigned i = GANG__WORD_SHARES; i < end; i++) {
        word[i] = gang__load(&cell->word[i]);
        any |= gang__payload(word[i]);
        whole += gang__whole_fields(gang__payload(word[i]));
    }
    changed |= gang__load_seq(&cell->owner);
    changed |= head ^ gang__load(&cell->word[GANG__WORD_HEAD]);
    for (unsigned i = GANG__WORD_SHARES; i < end; i++)
        changed |= word[i] ^ gang__load(&cell->word[i]);
    if (changed || gang__head_state(head) != GANG__STATE_UP || (any && !whole))
        return false;
    bool leased = gang__head_is_leased(head); /* nothing is free */
    buckets->cpu = gang__bucket_for_cpu(leased ? 0 : gang__head_cpu(head));
    buckets->gpu = gang__bucket_for_gpus(leased ? 0 : gang__fields_sum(whole));
    return true;
}

struct gang__buckets gang__index_buckets(struct gang__cells *c, uint32_t slot,
                                         struct gang__layout layout)
{
    struct gang__buckets buckets;
    if (buckets_unclaimed(&gang__chunk_of(c, slot)->cell[slot % GANG__CHUNK], layout, &buckets))
        return buckets;
    uint64_t payload[GANG__BUCKET_WORDS];
    read_for_buckets(c, slot, layout, payload);
    return gang__buckets_of(layout, payload);
}

/* Sets the bits of a node in its buckets. */
static void set_buckets(const struct gang__index_words *at, uint32_t slot,
                        struct gang__buckets buckets)
{
    uint32_t bit = UINT32_C(1) << (slot % GANG__FAN);
    if (buckets.gpu)
        gang__index_set(at, gang__gpu_row(buckets.gpu), bit);
    if (buckets.cpu)
        gang__index_set(at, gang__cpu_row(buckets.cpu), bit);
}

void gang__index_raise(struct gang__cells *c, uint32_t slot, struct gang__layout layout,
                       struct gang__buckets buckets)
{
    struct gang__index_words at = gang__index_words_of(c, layout.class_id, slot);
    set_buckets(&at, slot, buckets);
}

void gang__index_repair(struct gang__cells *c, uint32_t class_id, uint32_t slot, unsigned row)
{
    struct gang__index_words at = gang__index_words_of(c, class_id, slot);
    uint32_t bit = UINT32_C(1) << (slot % GANG__FAN);
    if (!at.row)
        return;
    uint64_t seen = gang__load_seq(&at.row[row]);
    if (!(seen & bit))
        return;
    gang__hook(GANG__STEP_REPAIR);
    /* After `seen`: if the slot gets a new node now, that node is raised again, which makes (4)
     * fail. */
    struct gang__layout layout = gang__layout_at(gang__chunk_of(c, slot), slot);
    if (layout.class_id == class_id) { /* otherwise an earlier node of this slot left the bit */
        struct gang__buckets now = gang__index_buckets(c, slot, layout);
        if ((now.gpu && gang__gpu_row(now.gpu) == row) ||
            (now.cpu && gang__cpu_row(now.cpu) == row))
            return;
        if (row < GANG__GPU_BUCKETS) /* only the axis of the cleared bit needs its other bit */
            now.cpu = 0;
        else
            now.gpu = 0;
        set_buckets(&at, slot, now);
    }
    gang__hook(GANG__STEP_REPAIR);
    gang__index_clear(&at, row, seen, bit);
}

void gang__index_leave(const struct gang__index_words *at, unsigned row, uint64_t seen,
                       uint32_t bits)
{
    bits &= (uint32_t)seen;
    gang__hook(GANG__STEP_REPAIR);
    if (!bits || gang__index_clear(at, row, seen, bits))
        return;
    for (; bits; bits &= bits - 1)
        gang__index_repair(at->c, at->class_id, at->base + (uint32_t)__builtin_ctz(bits), row);
}

void gang__index_repair_both(const struct gang__index_words *at, uint32_t slot,
                             struct gang__buckets stood)
{
    if (stood.gpu)
        gang__index_repair(at->c, at->class_id, slot, gang__gpu_row(stood.gpu));
    if (stood.cpu)
        gang__index_repair(at->c, at->class_id, slot, gang__cpu_row(stood.cpu));
}

/* Steps 1 to 4 for one node. The caller is in a read section, or has the structure mutex, so the
 * slot gets no other node. */
static void update_one(struct gang__cells *c, uint32_t slot)
{
    struct gang__slot *s = gang__slot_at(gang__chunk_of(c, slot), slot);
    struct gang__layout layout = gang__layout_unpack(gang__load(&s->layout));
    uint32_t hint = gang__load(&s->bucket_hint), bit = UINT32_C(1) << (slot % GANG__FAN);
    struct gang__index_words at = gang__index_words_of(c, layout.class_id, slot);
    struct gang__buckets from = gang__buckets_in(hint);
    struct gang__index_seen seen = gang__index_see(&at, from);
    struct gang__buckets now = gang__index_buckets(c, slot, layout);
    if (gang__bucket_hint_of(now) == hint)
        return;
    uint32_t before = gang__swap(&s->bucket_hint, gang__bucket_hint_of(now));
    set_buckets(&at, slot, gang__buckets_moved(from, now));
    if (before != hint)
        gang__index_repair_both(&at, slot, gang__buckets_in(before));
    if (from.gpu && from.gpu != now.gpu)
        gang__index_leave(&at, gang__gpu_row(from.gpu), seen.gpu, bit);
    if (from.cpu && from.cpu != now.cpu)
        gang__index_leave(&at, gang__cpu_row(from.cpu), seen.cpu, bit);
}

/* Nodes of one leaf word that stood in the same buckets at the last update. */
struct run {
    uint32_t base; /* first slot of the word */
    struct gang__layout layout;
    uint32_t hint; /* gpu bucket | cpu bucket << 8 */
    uint32_t bits;
};

/* The same for all nodes of a run at once. The caller loaded their layouts before step 1. */
static void update_run(struct gang__cells *c, const struct run *r)
{
    struct gang__index_words at = gang__index_words_of(c, r->layout.class_id, r->base);
    struct gang__buckets from = gang__buckets_in(r->hint);
    struct gang__index_seen seen = gang__index_see(&at, from);
    uint32_t gpu_left = 0, cpu_left = 0;
    struct gang__index_batch batch;
    struct gang__bucket_memo last;
    gang__bucket_memo_init(&last);
    gang__index_batch_begin(&batch, c);
    for (uint32_t bits = r->bits; bits; bits &= bits - 1) {
        uint32_t slot = r->base + (uint32_t)__builtin_ctz(bits), own_bit = bits & (~bits + 1);
        uint64_t payload[GANG__BUCKET_WORDS];
        read_for_buckets(c, slot, r->layout, payload);
        struct gang__buckets now = gang__buckets_of_like(r->layout, payload, &last);
        if (gang__bucket_hint_of(now) == r->hint)
            continue;
        gpu_left |= now.gpu == from.gpu ? 0 : own_bit;
        cpu_left |= now.cpu == from.cpu ? 0 : own_bit;
        uint32_t before = gang__swap(&gang__slot_at(gang__chunk_of(c, slot), slot)->bucket_hint,
                                     gang__bucket_hint_of(now));
        gang__index_batch_add(&batch, slot, r->layout, gang__buckets_moved(from, now));
        if (before != r->hint) {
            gang__index_batch_end(&batch);
            gang__index_repair_both(&at, slot, gang__buckets_in(before));
        }
    }
    gang__index_batch_end(&batch);
    if (from.gpu)
        gang__index_leave(&at, gang__gpu_row(from.gpu), seen.gpu, gpu_left);
    if (from.cpu)
        gang__index_leave(&at, gang__cpu_row(from.cpu), seen.cpu, cpu_left);
}

void gang__index_update_many(struct gang__cells *c, const uint64_t *keys, size_t count)
{
    struct run r = {0, {0, 0, 0, 0}, 0, 0};
    for (size_t i = 0; i < count; i++) {
        uint32_t slot = (uint32_t)(keys[i] >> 32);
        if (slot == GANG__POOL || (i && slot == (uint32_t)(keys[i - 1] >> 32)))
            continue;
        struct gang__slot *s = gang__slot_at(gang__chunk_of(c, slot), slot);
        struct run one = {slot - slot % GANG__FAN, gang__layout_unpack(gang__load(&s->layout)),
                          gang__load(&s->bucket_hint), UINT32_C(1) << (slot % GANG__FAN)};
        bool same = r.bits && one.base == r.base && one.hint == r.hint &&
                    gang__layout_pack(one.layout) == gang__layout_pack(r.layout);
        if (same) {
            r.bits |= one.bits;
            continue;
        }
        if (r.bits)
            update_run(c, &r);
        gang__hook(GANG__STEP_UPDATE);
        r = one;
    }
    if (r.bits)
        update_run(c, &r);
}

void gang__index_update_slot(struct gang__cells *c, uint32_t slot)
{
    if (slot == GANG__POOL)
        return;
    gang__hook(GANG__STEP_UPDATE);
    update_one(c, slot);
}
