/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a snapshot: a walk over all cells, while commits go on. core/commit/snapshot_save.c says
 * which commits it shows, and why. */
#include "core/snapshot_take.h"
#include "base/fork.h"
#include "core/commit/commit.h"

/* ---- memory of the snapshot ------------------------------------------------------------------ */

static size_t words_below(gang_cluster *c, uint32_t end_slot)
{
    size_t words = 0;
    for (uint32_t i = 0; (uint64_t)i * GANG__CHUNK < end_slot; i++)
        words += (size_t)GANG__CHUNK * gang__load_seq(&gang__load(&c->commit.chunk[i])->max_words);
    return words;
}

static bool has_space(const gang_snapshot *s, gang_cluster *c, uint32_t end_slot)
{
    return s->node_cap >= end_slot && s->chunk_cap > end_slot / GANG__CHUNK &&
           s->word_cap >= words_below(c, end_slot);
}

static bool make_space(gang_snapshot *s, gang_cluster *c, uint32_t end_slot)
{
    return gang__grow(&c->mem, (void **)&s->node, &s->node_cap, end_slot,
                      sizeof(struct gang__node *)) &&
           gang__grow(&c->mem, (void **)&s->chunk, &s->chunk_cap, end_slot / GANG__CHUNK + 1,
                      sizeof(*s->chunk)) &&
           gang__grow(&c->mem, (void **)&s->word, &s->word_cap, words_below(c, end_slot),
                      sizeof(*s->word));
}

/* ---- the walk -------------------------------------------------------------------------------- */

/* The node, with the description, that a slot had at snapshot n. `head`: its head word then. */
static struct gang__node *node_then(gang_cluster *c, struct gang__chunk *chunk, uint32_t slot,
                                    uint64_t n, uint64_t head)
{
    bool gone = gang__head_state(head) == GANG__STATE_GONE;
    for (;;) {
        struct gang__node *node = gang__load(&gang__slot_at(chunk, slot)->node);
        if (!node)
            return NULL;
        uint64_t label = gang__load(&node->label);
        /* The node was not removed: its label is not even set. So a state of gone means that it is
         * not there yet. */
        if (label == GANG__PENDING)
            return gone ? NULL : node;
        if (label > n) {
            /* A description that was replaced after n was retired after the read section began. */
            while (node && gang__load(&node->label) > n)
                node = node->older;
            return node;
        }
        uint64_t ref = gang__load(&node->newer_ref);
        if (!ref)
            return node;
        /* The description is being replaced: the commit of the change says whether n shows it. */
        struct gang__node *newer = gang__load(&node->newer);
        enum gang__outcome outcome = gang__commit_outcome(&c->commit, ref, &label);
        if (outcome != GANG__OUTCOME_OVER)
            return outcome == GANG__OUTCOME_DONE && label <= n ? newer : node;
    }
}

/* Copies the words of a cell at snapshot n. Their order does not matter; see
 * core/commit/snapshot_save.c. */
static void copy_cell(struct gang__chunk *chunk, uint32_t slot,
                      const struct gang__saved_chunk *saved, uint64_t n, uint64_t *to,
                      uint32_t stride)
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

/* The chunk that a walk is in. */
struct walk {
    gang_cluster *c;
    gang_snapshot *s;
    uint64_t n; /* number of the snapshot */
    struct gang__chunk *chunk;
    const struct gang__saved_chunk *saved;
    uint32_t stride;
};

/* Copies one slot, its words to `to`. Returns whether it has a node that is not removed. */
static bool walk_slot(const struct walk *w, uint32_t slot, uint64_t *to)
{
    struct gang__chunk *chunk = w->chunk;
    uint32_t i = slot % GANG__CHUNK;
    gang__hook(GANG__STEP_SCAN);
    if (gang__load_seq(&chunk->cell[i].owner))
        gang__cell_help(&w->c->commit, slot);
    gang__hook(GANG__STEP_COPY);
    uint64_t described = gang__load(&chunk->described);
    struct gang__node *node = gang__load(&chunk->slot[i].node);
    if (node || slot == GANG__POOL)
        copy_cell(chunk, slot, w->saved, w->n, to, w->stride);
    if (described > w->n || gang__load(&chunk->described) != described)
        node = node ? node_then(w->c, chunk, slot, w->n, to[GANG__WORD_HEAD]) : NULL;
    if (node && gang__head_is_leased(to[GANG__WORD_HEAD])) {
        unsigned free = gang__word_count(node->type->layout); /* a leased node is full */
        gang__lease_mask(to, free < w->stride ? free : w->stride);
    }
    bool there = node && gang__head_state(to[GANG__WORD_HEAD]) != GANG__STATE_GONE;
    if (node && !there && gang__node_is_drained(node, to))
        node = NULL;
    w->s->node[slot] = node;
    return there;
}

static void walk(gang_cluster *c, struct gang__save_area *area, uint64_t n, gang_snapshot *s,
                 uint32_t end_slot)
{
    size_t at = 0;
    int64_t count = 0;
    for (uint32_t i = 0; (uint64_t)i * GANG__CHUNK < end_slot; i++) {
        const struct gang__saved_chunk *saved = gang__load(&area->saved[i]);
        /* Not max_words: nodes that are younger than n may have raised it. */
        uint32_t stride = saved->stride;
        struct walk w = {c, s, n, gang__load(&c->commit.chunk[i]), saved, stride};
        uint32_t first = i * GANG__CHUNK, left = end_slot - first;
        s->chunk[i].at = at;
        s->chunk[i].stride = stride;
        for (uint32_t k = 0; k < left && k < GANG__CHUNK; k++)
            count += walk_slot(&w, first + k, s->word + at + (size_t)k * stride);
        at += (size_t)GANG__CHUNK * stride;
    }
    s->end = end_slot;
    s->count = count;
    s->kinds = gang__load(&c->nodes.kind_count);
    for (uint32_t k = 0; k < s->kinds; k++)
        s->pool[k] = gang__load(&c->nodes.kind[k].capacity);
    s->listed = false;
}

gang_result gang__snapshot_fill(gang_cluster *c, gang_snapshot *s)
{
    unsigned k;
    if (!gang__save_slot_acquire(&c->commit, &k))
        return GANG_EBUSY;
    gang_result r = GANG_OK;
    struct gang__save_area *area = gang__save_area_make(&c->commit, k);
    uint32_t end_slot = gang__load_seq(&c->commit.slot_end);
    for (;;) {
        if (!area || !gang__save_area_cover(&c->commit, area, end_slot) ||
            !make_space(s, c, end_slot)) {
            r = GANG_ENOMEM;
            break;
        }
        uint64_t n = gang__save_begin(&c->commit, area, k);
        /* Everything that was there at n is visible now: slot_end and max_words changed, like snap,
         * in the one order of all sequentially consistent operations. */
        end_slot = gang__load_seq(&c->commit.slot_end);
        bool fits = gang__save_area_covers(&c->commit, area, end_slot) && has_space(s, c, end_slot);
        if (fits) {
            walk(c, area, n, s, end_slot);
            gang__store(&s->hold.number, n);
        }
        gang__save_end(&c->commit, k);
        if (fits)
            break;
    }
    gang__save_slot_release(&c->commit, k);
    return r;
}
