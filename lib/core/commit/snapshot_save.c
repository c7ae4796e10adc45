/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot of all cells at one instant, while commits go on.
 *
 * State
 *   c->snap      {instant | a bit for each snapshot that is being taken}
 *   label        of a commit: the instant read from c->snap when all its cells were claimed and
 *                agreed, by the first thread whose compare-and-swap on desc.when succeeded. If no
 *                snapshot is being taken at that moment it needs none: whoever decides it says so
 *                by the status (SUCCESS rather than LABELLED), so that all agree
 *   area k       for the snapshot that has bit k: its number (area.instant), and room to save the
 *                words of each cell
 *
 * Protocol
 *   take    raise c->snap from {n, bits} to {n + 1, bits + k} in one step. The snapshot is that of
 *           instant n: it holds exactly the commits whose label is n or less. Then walk over all
 *           cells: carry on the commit that claims one, copy its words, and if the cell was saved
 *           for this snapshot, take the saved words instead. Clear bit k.
 *   save    a commit that was decided LABELLED loads c->snap before it writes. Has it bits, then
 *           for each snapshot k whose number is lower than the label: before the first word of a
 *           cell is written, save all its words in area k, mark the cell, mark the chunk.
 *
 * Why it is one instant
 *  - Label <= n: the label was read from c->snap before it was raised, and all cells were claimed
 *    before that. The walk begins after it. So it meets each claim, and helps, or finds the cell
 *    released and written.
 *  - Label > n: whoever finishes this commit loads c->snap after the label was read, hence after
 *    bit k was set. Either it sees the bit, and saves before it writes; or the walk is over. If the
 *    walk copied any word that such a commit wrote, it finds the cell marked after it. If it did
 *    not, the copied words are those of instant n: all commits of label <= n on the cell were
 *    finished when the walk found the cell without their claim, and what was saved, if anything, is
 *    the same. So no second look at the words is needed.
 *  - No label: c->snap was read, without bits, when all cells were claimed. Each snapshot that is
 *    being taken from then on got its bit after that, and holds the commit as above. So it is 0
 *    where a label is asked for.
 *  - Order among all: a commit can be thought to happen when c->snap is read for its label. From
 *    then until its decision it holds all its claims, and whoever looks at one of its cells carries
 *    it on, so that nobody can tell the difference. Its stamp was raised before (core/commit/commit.c).
 *
 * Late helpers
 *  - A saved word is {tag:24 = low bits of the snapshot's number | payload:40}. It is stored by
 *    compare-and-swap, only over a word of another tag, and only if area.instant is still n after
 *    that word was read. So a late helper of n overwrites nothing of a later snapshot. And a second
 *    helper of n, who perhaps reads words of the cell that were written meanwhile, finds them all
 *    saved, or his compare-and-swap fails: nothing is written before all is saved.
 *  - A stale tag in an area harms nobody: who looks for n sees that it is another one. When numbers
 *    come round to the same tags (every 2^24 snapshots) the taker first overwrites all words of
 *    its area with a value that was never there. A helper does harm only if it sleeps across
 *    exactly 2^24 snapshots, or a multiple.
 *  - A number that a taker puts into area.instant and then cannot get, since another one was
 *    faster, is nobody's number in this area: what is saved for it is never read.
 *
 * Progress: nobody waits. The walk repeats nothing; it begins again only if the cluster grew by a
 * chunk, or by words, after room was made. A thread that stops inside a take keeps its bit and its
 * area; commits then save each cell once for it, and find it saved ever after.
 *
 * Memory: an area is made by the first snapshot that needs it, and kept until the cluster ends.
 *
 * Nodes: which node, described how, a slot had at n is told by labels, too: node_then() below. A
 * node is taken out of the table only when no snapshot that is being taken can need it
 * (gang__snapshot_under_way()), and freed only when no snapshot that exists has it
 * (gang__snapshot_holds()). */
#include "core/commit/snapshot_save.h"

#include "base/fork.h"
#include "core/commit/commit.h"
#include "core/nodes/node.h"

enum { TAG_BITS = 64 - GANG__PAYLOAD_BITS };
#define TAG_MASK ((UINT64_C(1) << TAG_BITS) - 1)

/* Saved words of the cells of a chunk. */
struct gang__saved_chunk {
    gang__a64 last; /* number of the snapshot for which a cell of this chunk was last saved */
    uint32_t stride;
    struct gang__saved_chunk *outgrown;
    gang__a64 mark[GANG__CHUNK]; /* number of the snapshot for which the cell was last saved */
    gang__a64 word[];
};

struct gang__save_area {
    gang__a64 instant;
    gang__a64 fork; /* process, by gang__fork_count(), whose thread takes the snapshot */
    uint64_t round; /* instant >> TAG_BITS when it was last cleared; its taker's */
    _Atomic(struct gang__saved_chunk *) saved[GANG__CHUNKS];
};

static uint64_t tag_of(uint64_t word)
{
    return word >> GANG__PAYLOAD_BITS;
}

void gang__snapshot_save_init(gang_cluster *c)
{
    gang__store(&c->snap, UINT64_C(1) << GANG__SNAPSHOTS);
}

void gang__snapshot_save_free(gang_cluster *c)
{
    for (unsigned k = 0; k < GANG__SNAPSHOTS; k++) {
        struct gang__save_area *area = gang__load(&c->area[k]);
        for (unsigned i = 0; area && i < GANG__CHUNKS; i++) {
            struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
            while (saved) {
                struct gang__saved_chunk *outgrown = saved->outgrown;
                gang__release_line(&c->mem, saved);
                saved = outgrown;
            }
        }
        gang__release_line(&c->mem, area);
    }
}

bool gang__snapshot_under_way(gang_cluster *c, uint64_t instant)
{
    for (uint32_t left = gang__snap_mask(gang__load_seq(&c->snap)); left; left &= left - 1) {
        const struct gang__save_area *area = gang__load(&c->area[__builtin_ctz(left)]);
        /* To the child of a fork the takers of before are no more. */
        if (gang__load(&area->fork) == gang__fork_count() && gang__load(&area->instant) < instant)
            return true;
    }
    return false;
}

/* ---- saving ---------------------------------------------------------------------------------- */

/* Let a mark say n. False: the snapshot n is over. */
static bool mark(const struct gang__save_area *area, uint64_t n, gang__a64 *where)
{
    for (;;) {
        uint64_t old = gang__load(where);
        if (old == n)
            return true;
        if (gang__load(&area->instant) != n)
            return false;
        gang__cas(where, old, n);
    }
}

static bool save_word(const struct gang__save_area *area, uint64_t n, gang__a64 *where, gang__a64 *word)
{
    for (;;) {
        uint64_t old = gang__load(where);
        if (tag_of(old) == (n & TAG_MASK))
            return true;
        if (gang__load(&area->instant) != n)
            return false;
        /* After `old`: if that is still there below, nobody has written the word yet. */
        uint64_t payload = gang__payload(gang__load(word));
        gang__hook(GANG__STEP_SAVE);
        gang__cas(where, old, (n & TAG_MASK) << GANG__PAYLOAD_BITS | payload);
    }
}

static void save_cell(const struct gang__save_area *area, uint64_t n, struct gang__chunk *chunk,
                      uint32_t slot)
{
    uint32_t i = slot % GANG__CHUNK;
    /* None: the chunk, or the node, is younger than the snapshot. The same for too many words. */
    struct gang__saved_chunk *saved = gang__load(&area->saved[slot / GANG__CHUNK]);
    if (!saved || gang__load(&saved->mark[i]) == n)
        return;
    unsigned words = gang__cell_words(chunk, slot);
    struct gang__words at = gang__words_in(chunk, slot);
    for (unsigned k = 0; k < words && k < saved->stride; k++)
        if (!save_word(area, n, &saved->word[(size_t)i * saved->stride + k], gang__word_in(&at, k)))
            return;
    if (mark(area, n, &saved->mark[i]))
        mark(area, n, &saved->last);
}

void gang__snapshot_save(gang_cluster *c, uint64_t snap, uint64_t label, uint32_t slot)
{
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    for (uint32_t left = gang__snap_mask(snap); left; left &= left - 1) {
        const struct gang__save_area *area = gang__load(&c->area[__builtin_ctz(left)]);
        uint64_t n = gang__load(&area->instant);
        if (n < label)
            save_cell(area, n, chunk, slot);
    }
}

/* ---- areas ----------------------------------------------------------------------------------- */

/* An area for a taker alone. */
static bool slot_take(gang_cluster *c, unsigned *k)
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

static void slot_give(gang_cluster *c, unsigned k)
{
    uint64_t taken;
    do
        taken = gang__load(&c->snap_slots);
    while (!gang__cas(&c->snap_slots, taken, taken & ~(UINT64_C(1) << k)));
}

static struct gang__save_area *area_make(gang_cluster *c, unsigned k)
{
    struct gang__save_area *area = gang__load(&c->area[k]);
    if (!area) {
        area = gang__zalloc_line(&c->mem, 1, sizeof(*area));
        gang__store(&c->area[k], area);
    }
    return area;
}

/* Is there room to save all cells below `end`? */
static bool is_covered(gang_cluster *c, struct gang__save_area *area, uint32_t end)
{
    for (uint32_t i = 0; (uint64_t)i * GANG__CHUNK < end; i++) {
        struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
        uint32_t most = gang__load_seq(&gang__load(&c->chunk[i])->most_words);
        if (!saved || saved->stride < most)
            return false;
    }
    return true;
}

static bool cover(gang_cluster *c, struct gang__save_area *area, uint32_t end)
{
    for (uint32_t i = 0; (uint64_t)i * GANG__CHUNK < end; i++) {
        struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
        uint32_t most = gang__load_seq(&gang__load(&c->chunk[i])->most_words);
        if (saved && saved->stride >= most)
            continue;
        size_t bytes = sizeof(*saved) + (size_t)GANG__CHUNK * most * sizeof(saved->word[0]);
        struct gang__saved_chunk *larger = gang__zalloc_line(&c->mem, 1, bytes);
        if (!larger)
            return false;
        larger->stride = most;
        larger->outgrown = saved; /* late helpers may still look at it */
        gang__store(&area->saved[i], larger);
    }
    return true;
}

/* Tags come round: leave none of the last round. Late helpers expect no such value. */
static void clear(struct gang__save_area *area, uint64_t round)
{
    for (uint32_t i = 0; i < GANG__CHUNKS; i++) {
        struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
        for (size_t k = 0; saved && k < (size_t)GANG__CHUNK * saved->stride; k++)
            gang__store(&saved->word[k], round); /* tag 0 is nobody's */
    }
    area->round = round;
}

/* ---- begin and end of a take ----------------------------------------------------------------- */

static uint64_t begin(gang_cluster *c, struct gang__save_area *area, unsigned k)
{
    for (;;) {
        uint64_t snap = gang__load_seq(&c->snap), n = gang__snap_number(snap);
        uint64_t next = snap + (UINT64_C(1) << GANG__SNAPSHOTS);
        if ((n & TAG_MASK) == 0) {
            gang__cas(&c->snap, snap, next);
            continue;
        }
        /* Before the words: who read one before it was cleared then finds that he is late. */
        gang__store(&area->fork, gang__fork_count());
        gang__store(&area->instant, n);
        if (area->round != n >> TAG_BITS)
            clear(area, n >> TAG_BITS);
        gang__hook(GANG__STEP_TAKE);
        if (gang__cas(&c->snap, snap, next | UINT64_C(1) << k))
            return n;
    }
}

static void end(gang_cluster *c, unsigned k)
{
    uint64_t snap;
    gang__hook(GANG__STEP_SCAN);
    do
        snap = gang__load(&c->snap);
    while (!gang__cas(&c->snap, snap, snap & ~(UINT64_C(1) << k)));
}

/* ---- room in the snapshot -------------------------------------------------------------------- */

static size_t words_below(gang_cluster *c, uint32_t end_slot)
{
    size_t words = 0;
    for (uint32_t i = 0; (uint64_t)i * GANG__CHUNK < end_slot; i++)
        words += (size_t)GANG__CHUNK * gang__load_seq(&gang__load(&c->chunk[i])->most_words);
    return words;
}

static bool has_room(const gang_snapshot *s, gang_cluster *c, uint32_t end_slot)
{
    return s->node_room >= end_slot && s->part_room > end_slot / GANG__CHUNK &&
           s->word_room >= words_below(c, end_slot);
}

static bool make_room(gang_snapshot *s, gang_cluster *c, uint32_t end_slot)
{
    return gang__grow(&c->mem, (void **)&s->node, &s->node_room, end_slot,
                      sizeof(struct gang__node *)) &&
           gang__grow(&c->mem, (void **)&s->part, &s->part_room, end_slot / GANG__CHUNK + 1,
                      sizeof(*s->part)) &&
           gang__grow(&c->mem, (void **)&s->word, &s->word_room, words_below(c, end_slot),
                      sizeof(*s->word));
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* Which node, described how, a slot had at instant n. `head`: its head word then. */
static struct gang__node *node_then(gang_cluster *c, struct gang__chunk *chunk, uint32_t slot,
                                    uint64_t n, uint64_t head)
{
    bool gone = gang__head_state(head) == GANG__STATE_GONE;
    for (;;) {
        struct gang__node *node = gang__load(&gang__slot_at(chunk, slot)->node);
        if (!node)
            return NULL;
        uint64_t label = gang__load(&node->label);
        /* It was never removed since its label is not even set: gone means, not there yet. */
        if (label == GANG__PENDING)
            return gone ? NULL : node;
        if (label > n) {
            /* What was replaced after n was retired after the read section began. */
            while (node && gang__load(&node->label) > n)
                node = node->older;
            return node;
        }
        uint64_t ref = gang__load(&node->newer_ref);
        if (!ref)
            return node;
        /* Being described anew: the commit of it tells whether that is so at n. */
        struct gang__node *newer = gang__load(&node->newer);
        enum gang__outcome fate = gang__commit_outcome(c, ref, &label);
        if (fate != GANG__OUTCOME_OVER)
            return fate == GANG__OUTCOME_DONE && label <= n ? newer : node;
    }
}

/* The words of a cell at instant n, in whatever order they are read (see above). */
static void copy_cell(struct gang__chunk *chunk, uint32_t slot, const struct gang__saved_chunk *saved,
                      uint64_t n, uint64_t *to, uint32_t stride)
{
    uint32_t i = slot % GANG__CHUNK;
    const struct gang__cell *cell = &chunk->cell[i];
    if (stride <= GANG__CELL_WORDS) {
        for (unsigned k = 0; k < stride; k++)
            to[k] = gang__payload(gang__load(&cell->word[k]));
    } else {
        unsigned words = gang__cell_words(chunk, slot);
        struct gang__words at = gang__words_in(chunk, slot);
        for (unsigned k = 0; k < words && k < stride; k++)
            to[k] = gang__payload(gang__load(gang__word_in(&at, k)));
    }
    if (gang__load(&saved->last) != n || gang__load(&saved->mark[i]) != n)
        return;
    for (unsigned k = 0; k < stride && k < saved->stride; k++)
        to[k] = gang__payload(gang__load(&saved->word[(size_t)i * saved->stride + k]));
}

/* One slot. Returns whether it has a node that is not removed. */
static bool walk_slot(gang_cluster *c, struct gang__chunk *chunk, const struct gang__saved_chunk *saved,
                      uint64_t n, gang_snapshot *s, uint32_t slot, uint64_t *to, uint32_t stride)
{
    uint32_t i = slot % GANG__CHUNK;
    gang__hook(GANG__STEP_SCAN);
    if (gang__load_seq(&chunk->cell[i].owner))
        gang__cell_settle(c, slot);
    gang__hook(GANG__STEP_COPY);
    uint64_t described = gang__load(&chunk->described);
    struct gang__node *node = gang__load(&chunk->slot[i].node);
    if (node || slot == GANG__POOL)
        copy_cell(chunk, slot, saved, n, to, stride);
    if (described > n || gang__load(&chunk->described) != described)
        node = node ? node_then(c, chunk, slot, n, to[GANG__WORD_HEAD]) : NULL;
    bool there = node && gang__head_state(to[GANG__WORD_HEAD]) != GANG__STATE_GONE;
    if (node && !there && gang__node_is_drained(node, to))
        node = NULL;
    s->node[slot] = node;
    return there;
}

static void walk(gang_cluster *c, struct gang__save_area *area, uint64_t n, gang_snapshot *s,
                 uint32_t end_slot)
{
    size_t at = 0;
    int64_t count = 0;
    for (uint32_t i = 0; (uint64_t)i * GANG__CHUNK < end_slot; i++) {
        struct gang__chunk *chunk = gang__load(&c->chunk[i]);
        const struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
        uint32_t first = i * GANG__CHUNK, left = end_slot - first;
        /* Not most_words, which may have grown: by nodes that are younger than n. */
        uint32_t stride = saved->stride;
        s->part[i].at = at;
        s->part[i].stride = stride;
        for (uint32_t k = 0; k < left && k < GANG__CHUNK; k++)
            count += walk_slot(c, chunk, saved, n, s, first + k, s->word + at + (size_t)k * stride,
                               stride);
        at += (size_t)GANG__CHUNK * stride;
    }
    s->end = end_slot;
    s->count = count;
    s->kinds = gang__load(&c->kind_count);
    for (uint32_t k = 0; k < s->kinds; k++)
        s->pool[k] = gang__load(&c->kind[k].capacity);
    s->listed = false;
}

gang_result gang__snapshot_fill(gang_cluster *c, gang_snapshot *s)
{
    unsigned k;
    if (!slot_take(c, &k))
        return GANG_EBUSY;
    gang_result r = GANG_OK;
    struct gang__save_area *area = area_make(c, k);
    uint32_t end_slot = gang__load_seq(&c->slot_end);
    for (;;) {
        if (!area || !cover(c, area, end_slot) || !make_room(s, c, end_slot)) {
            r = GANG_ENOMEM;
            break;
        }
        uint64_t n = begin(c, area, k);
        /* All that is there at n can be seen to be there now: c->slot_end and most_words were
         * changed, like c->snap, in the one order of all sequentially consistent operations. */
        end_slot = gang__load_seq(&c->slot_end);
        bool fits = is_covered(c, area, end_slot) && has_room(s, c, end_slot);
        if (fits) {
            walk(c, area, n, s, end_slot);
            gang__store(&s->holds, n);
        }
        end(c, k);
        if (fits)
            break;
    }
    slot_give(c, k);
    return r;
}
