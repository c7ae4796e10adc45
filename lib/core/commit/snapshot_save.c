/* SPDX-License-Identifier: Apache-2.0 */
/* What commits save for snapshots: a snapshot shows all cells at one instant, while commits go on.
 *
 * State
 *   c->snap      {number | a bit for each snapshot that is being taken}
 *   label        of a commit: the number read from c->snap when all its cells were claimed and
 *                agreed, by the first thread whose compare-and-swap on desc.when succeeded. If no
 *                snapshot is being taken at that moment the commit needs no label: the thread that
 *                decides it says so by the status (SUCCESS rather than LABELLED), so that all agree
 *   area k       for the snapshot that has bit k: its number (save_area.number), and memory to save
 *                the words of each cell
 *
 * Protocol
 *   take    raise c->snap from {n, bits} to {n + 1, bits + k} in one step. This is snapshot n: it
 *           shows exactly the commits with a label of n or less. Then walk over all cells
 *           (core/snapshot_take.c): carry on the commit that claims a cell, copy its words, and if
 *           the cell was saved for this snapshot, use the saved words instead. Clear bit k.
 *   save    a commit that was decided LABELLED loads c->snap before it writes. For each snapshot k
 *           in it with a number lower than the label: before the first word of a cell is written,
 *           save all its words in area k, mark the cell, mark the chunk.
 *
 * Why it is one instant
 *  - Label <= n: the label was read from c->snap before c->snap was raised, and all cells were
 *    claimed before that. The walk begins after it. So the walk meets each claim, and helps, or
 *    finds the cell released and written.
 *  - Label > n: each thread that finishes this commit loads c->snap after the label was read, hence
 *    after bit k was set. Either it sees the bit, and saves before it writes; or the walk is over.
 *    If the walk copied a word that such a commit wrote, it finds the cell marked after it. If it
 *    copied none, the copied words are those of snapshot n: all commits of label <= n on the cell
 *    were finished when the walk found the cell without their claim, and saved words, if any, are
 *    the same. So the walk need not look at the words a second time.
 *  - No label: c->snap was read, without bits, when all cells were claimed. Each snapshot that is
 *    being taken from then on got its bit after that, and shows the commit as above. So the label
 *    counts as 0.
 *  - Order among all: a commit can be thought to happen when c->snap is read for its label. From
 *    then until its decision it holds all its claims, and a thread that looks at one of its cells
 *    carries it on, so that no thread can tell the difference. Its stamp was raised before
 *    (core/commit/commit.c).
 *
 * Late helpers
 *  - A saved word is {tag:24 = low bits of the snapshot's number | payload:40}. It is stored by
 *    compare-and-swap, only over a word of another tag, and only if save_area.number is still n
 *    after that word was read. So a late helper of n overwrites nothing of a later snapshot. A
 *    second helper of n, which may read words of the cell that were written meanwhile, finds them
 *    all saved, or its compare-and-swap fails: nothing is written before all is saved.
 *  - A stale tag in an area does no harm: a thread that looks for n sees that it is another one.
 *    When numbers come round to the same tags (every 2^24 snapshots) the taker first overwrites all
 *    words of its area with a value that was never there. A helper does harm only if it sleeps
 *    across exactly 2^24 snapshots, or a multiple.
 *  - A taker may store a number in save_area.number and then lose it to a faster taker. In this
 *    area the number then belongs to no snapshot: no thread reads what is saved for it.
 *
 * Progress: no thread waits. The walk repeats nothing; it begins again only if the cluster grew by
 * a chunk, or by words, after memory was allocated. A thread that stops inside a take keeps its bit
 * and its area; commits then save each cell once for it, and from then on find it saved.
 *
 * Memory: the first snapshot that needs an area makes it; it is kept until the cluster ends.
 *
 * Nodes: labels also say which node, with which description, a slot had at n: node_then() in
 * core/snapshot_take.c. A node is taken out of the table only when no snapshot that is being taken
 * can need it (gang__snapshot_under_way()), and freed only when no snapshot that exists has it
 * (core/nodes/reclaim.c).
 *
 * Memory orders: c->snap changes by CAS and is read by load_seq, so that reading a label,
 * setting a bit and slot_end stand in one order. save_area.number is stored before the CAS that
 * sets the bit -> the gang__load of a commit that saw the bit. saved.mark and saved.last are
 * CASed after the words of the cell are saved and before one is written -> the gang__load of the
 * walk after it copied the words. */
#include "core/commit/snapshot_save.h"

#include "base/fork.h"
#include "core/commit/commit.h"

enum { TAG_BITS = 64 - GANG__PAYLOAD_BITS };
#define TAG_MASK ((UINT64_C(1) << TAG_BITS) - 1)

static uint64_t tag_of(uint64_t word)
{
    return word >> GANG__PAYLOAD_BITS;
}

void gang__snapshot_save_init(struct gang__cells *c)
{
    gang__store(&c->snap, UINT64_C(1) << GANG__SNAPSHOTS);
}

void gang__snapshot_save_free(struct gang__cells *c)
{
    for (unsigned k = 0; k < GANG__SNAPSHOTS; k++) {
        struct gang__save_area *area = gang__load(&c->save_area[k]);
        for (unsigned i = 0; area && i < GANG__CHUNKS; i++) {
            struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
            while (saved) {
                struct gang__saved_chunk *outgrown = saved->outgrown;
                gang__release_line(c->mem, saved);
                saved = outgrown;
            }
        }
        gang__release_line(c->mem, area);
    }
}

bool gang__snapshot_under_way(struct gang__cells *c, uint64_t number)
{
    for (uint32_t left = gang__snap_mask(gang__load_seq(&c->snap)); left; left &= left - 1) {
        const struct gang__save_area *area = gang__load(&c->save_area[__builtin_ctz(left)]);
        /* In the child of a fork the takers of the parent no longer run. */
        if (gang__load(&area->fork) == gang__fork_count() && gang__load(&area->number) < number)
            return true;
    }
    return false;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* Sets a mark to n. False: snapshot n is over. */
static bool mark(const struct gang__save_area *area, uint64_t n, gang__a64 *where)
{
    for (;;) {
        uint64_t old = gang__load(where);
        if (old == n)
            return true;
        if (gang__load(&area->number) != n)
            return false;
        gang__cas(where, old, n);
    }
}

static bool save_word(const struct gang__save_area *area, uint64_t n, gang__a64 *where,
                      gang__a64 *word)
{
    for (;;) {
        uint64_t old = gang__load(where);
        if (tag_of(old) == (n & TAG_MASK))
            return true;
        if (gang__load(&area->number) != n)
            return false;
        /* After `old`: if `old` is still there below, no thread has written the word yet. */
        uint64_t payload = gang__payload(gang__load(word));
        gang__hook(GANG__STEP_SAVE);
        gang__cas(where, old, (n & TAG_MASK) << GANG__PAYLOAD_BITS | payload);
    }
}

static void save_cell(const struct gang__save_area *area, uint64_t n, struct gang__chunk *chunk,
                      uint32_t slot)
{
    uint32_t i = slot % GANG__CHUNK;
    /* None, or too few words: the chunk, or the node, is younger than the snapshot. */
    struct gang__saved_chunk *saved = gang__load(&area->saved[slot / GANG__CHUNK]);
    if (!saved)
        return;
    unsigned words = gang__load(&saved->mark[i]) == n ? 0 : gang__cell_words(chunk, slot);
    struct gang__words at = gang__words_in(chunk, slot);
    for (unsigned k = 0; k < words && k < saved->stride; k++)
        if (!save_word(area, n, &saved->word[(size_t)i * saved->stride + k], gang__word_in(&at, k)))
            return;
    /* Both, also if another helper marked the cell: it may have stopped before it marked the
     * chunk, and this thread is about to write the cell. */
    if (!mark(area, n, &saved->mark[i]))
        return;
    gang__hook(GANG__STEP_SAVE);
    mark(area, n, &saved->last);
}

void gang__snapshot_save(struct gang__cells *c, uint64_t snap, uint64_t label, uint32_t slot)
{
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    for (uint32_t left = gang__snap_mask(snap); left; left &= left - 1) {
        const struct gang__save_area *area = gang__load(&c->save_area[__builtin_ctz(left)]);
        uint64_t n = gang__load(&area->number);
        if (n < label)
            save_cell(area, n, chunk, slot);
    }
}

/* ---- areas ----------------------------------------------------------------------------------- */

bool gang__save_slot_acquire(struct gang__cells *c, unsigned *k)
{
    for (;;) {
        uint64_t taken = gang__load(&c->snap_slots);
        if (taken == (1u << GANG__SNAPSHOTS) - 1)
            return false;
        *k = (unsigned)__builtin_ctzll(~taken);
        if (gang__cas(&c->snap_slots, taken, taken | UINT64_C(1) << *k))
            return true;
    }
}

void gang__save_slot_release(struct gang__cells *c, unsigned k)
{
    uint64_t taken;
    do
        taken = gang__load(&c->snap_slots);
    while (!gang__cas(&c->snap_slots, taken, taken & ~(UINT64_C(1) << k)));
}

struct gang__save_area *gang__save_area_make(struct gang__cells *c, unsigned k)
{
    struct gang__save_area *area = gang__load(&c->save_area[k]);
    if (!area) {
        area = gang__zalloc_line(c->mem, 1, sizeof(*area));
        gang__store(&c->save_area[k], area);
    }
    return area;
}

bool gang__save_area_covers(struct gang__cells *c, struct gang__save_area *area, uint32_t end)
{
    for (uint32_t i = 0; (uint64_t)i * GANG__CHUNK < end; i++) {
        struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
        uint32_t max = gang__load_seq(&gang__load(&c->chunk[i])->max_words);
        if (!saved || saved->stride < max)
            return false;
    }
    return true;
}

bool gang__save_area_cover(struct gang__cells *c, struct gang__save_area *area, uint32_t end)
{
    for (uint32_t i = 0; (uint64_t)i * GANG__CHUNK < end; i++) {
        struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
        uint32_t max = gang__load_seq(&gang__load(&c->chunk[i])->max_words);
        if (saved && saved->stride >= max)
            continue;
        size_t bytes = sizeof(*saved) + (size_t)GANG__CHUNK * max * sizeof(saved->word[0]);
        struct gang__saved_chunk *larger = gang__zalloc_line(c->mem, 1, bytes);
        if (!larger)
            return false;
        larger->stride = max;
        larger->outgrown = saved; /* late helpers may still read it */
        gang__store(&area->saved[i], larger);
    }
    return true;
}

/* Overwrites all words, because tags come round. Late helpers expect no such value. */
static void clear(struct gang__save_area *area, uint64_t round)
{
    for (uint32_t i = 0; i < GANG__CHUNKS; i++) {
        struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
        for (size_t k = 0; saved && k < (size_t)GANG__CHUNK * saved->stride; k++)
            gang__store(&saved->word[k], round); /* tag 0 belongs to no snapshot */
    }
    area->round = round;
}

/* ---- begin and end of a take ----------------------------------------------------------------- */

uint64_t gang__save_begin(struct gang__cells *c, struct gang__save_area *area, unsigned k)
{
    for (;;) {
        uint64_t snap = gang__load_seq(&c->snap), n = gang__snap_number(snap);
        uint64_t next = snap + (UINT64_C(1) << GANG__SNAPSHOTS);
        if ((n & TAG_MASK) == 0) {
            gang__cas(&c->snap, snap, next);
            continue;
        }
        /* Before the words: a helper that read a word before it was cleared then finds itself
         * late. */
        gang__store(&area->fork, gang__fork_count());
        gang__store(&area->number, n);
        if (area->round != n >> TAG_BITS)
            clear(area, n >> TAG_BITS);
        gang__hook(GANG__STEP_TAKE);
        if (gang__cas(&c->snap, snap, next | UINT64_C(1) << k))
            return n;
    }
}

void gang__save_end(struct gang__cells *c, unsigned k)
{
    uint64_t snap;
    gang__hook(GANG__STEP_SCAN);
    do
        snap = gang__load(&c->snap);
    while (!gang__cas(&c->snap, snap, snap & ~(UINT64_C(1) << k)));
}
