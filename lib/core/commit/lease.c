/* SPDX-License-Identifier: Apache-2.0 */
/* Leases: a commit that takes all of a node writes one word of it instead of all.
 *
 * State
 *   GANG__HEAD_LEASED in the head word: nothing of the node is free, whatever its words say. They
 *   stand where they stood when the lease was granted, at the capacity of the node.
 *
 * Operations, each of the head word of a claimed cell
 *   LEASE    sets the flag, if the node is up and all words of the cell are those of the row in
 *            the descriptor. The words stand still under the claim, so all helpers judge alike; the
 *            row is checked by ss like each field of a descriptor. Only the head is agreed and
 *            written.
 *   UNLEASE  clears the flag, if it is set.
 *   BREAK    clears the flag, if it is set, and sets all words to nothing free. What is taken and
 *            what is free stay the same, so it may be done at any time, by any thread.
 *
 * Invariants
 *   L1  While a node is leased no word of its cell changes but by UNLEASE and BREAK, so all stand
 *       at the row: judge() bars every other operation on a leased cell, whichever word it is
 *       about. Health marks, changes of state and of capacity, and what gives back a part of the
 *       node are barred, too: their owner breaks the lease and commits again (gang__commit_run()).
 *   L2  A reader sees a leased node as full: gang__lease_mask() in gang__cell_read(),
 *       gang__cell_peek() and the walk of a snapshot, gang__buckets_of() for the index.
 *   L3  An operation on a leased cell is judged by what the node has free, nothing. If one does
 *       not fit, the refusal is true. If all fit, the refusal is not told: the lease is broken.
 *
 * Why a holder may give back by UNLEASE whatever happened meanwhile: what a leased node has was
 * taken by one commit, of one allocation. While the holder has it, the node is not wholly free, so
 * it is not leased again. So a flag that is set is the holder's, and what it gives back is all of
 * the node. If the lease was broken, UNLEASE is refused, and the holder gives back word by word.
 *
 * Breaking a lease is lock-free: it fails only if another thread ended the lease. A commit goes
 * round for leases only if each time another commit leased one of its nodes anew: progress. */
#include "core/commit/commit_in.h"

/* ---- judging: any thread --------------------------------------------------------------------- */

bool gang__lease_fits(const struct gang__target *t, const struct gang__words *words)
{
    const struct gang__lease_row *row = &t->w->lease;
    uint64_t count = gang__load(&row->words), differ = 0;
    for (unsigned i = 0; i < count && i < GANG__CELL_WORDS; i++)
        differ |= gang__payload(gang__load(&words->cell->word[i])) ^ gang__load(&row->payload[i]);
    return differ == 0;
}

uint32_t gang__lease_judge(const struct gang__list *l, uint32_t i, uint32_t slot,
                           const struct gang__words *words, uint64_t *word)
{
    uint32_t n = 0;
    bool fits = true;
    for (; fits && i + n < l->count && n < GANG__MAX_WORDS; n++) {
        struct gang__operation s = gang__operation_of(&l->ops[i + n]);
        if (s.slot != slot)
            break;
        uint64_t now = gang__load(gang__word_in(words, s.word));
        uint64_t free =
            s.word == GANG__WORD_HEAD ? gang__head(gang__head_state(gang__payload(now)), 0) : 0;
        word[n] = (now & ~GANG__PAYLOAD) | free;
        fits = gang__op_fits(s.code, s.arg, word[n]);
    }
    return n;
}

/* ---- the owner's side ------------------------------------------------------------------------ */

bool gang__commit_lease(struct gang__committer *w, uint32_t slot, const uint64_t *payload,
                        unsigned words)
{
    struct gang__lease_row *row = &w->lease;
    uint64_t count = gang__load_relaxed(&row->words), differ = 0;
    if (words > GANG__CELL_WORDS || (count && count != words))
        return false;
    for (unsigned i = 0; count && i < words; i++)
        differ |= payload[i] ^ gang__load_relaxed(&row->payload[i]);
    if (differ)
        return false;
    for (unsigned i = 0; !count && i < words; i++)
        gang__store(&row->payload[i], payload[i]);
    if (!count)
        gang__store(&row->words, words);
    gang__commit_lease_more(w, &(uint64_t){slot}, 1);
    return true;
}

bool gang__commit_unlease(struct gang__committer *w, uint32_t slot, const uint64_t *amount,
                          unsigned words)
{
    const struct gang__cell *cell = &gang__chunk_of(w->cells, slot)->cell[slot % GANG__CHUNK];
    uint64_t head = gang__load(&cell->word[GANG__WORD_HEAD]);
    if (!gang__head_is_leased(head) || words > GANG__CELL_WORDS)
        return false;
    uint64_t differ = gang__head_cpu(head) ^ amount[GANG__WORD_HEAD];
    for (unsigned i = 1; i < words; i++)
        differ |= gang__payload(gang__load(&cell->word[i])) ^ amount[i];
    if (differ)
        return false;
    gang__commit_add(w, slot, GANG__WORD_HEAD, GANG__OP_UNLEASE, 0);
    return true;
}

/* A commit of its own, described behind the list of the worker's last one. */
void gang__lease_break(struct gang__committer *w, uint32_t slot)
{
    struct gang__chunk *chunk = gang__chunk_of(w->cells, slot);
    uint64_t head = gang__load(&chunk->cell[slot % GANG__CHUNK].word[GANG__WORD_HEAD]);
    if (slot == GANG__POOL || !gang__head_is_leased(head))
        return;
    unsigned words = gang__word_count(gang__layout_at(chunk, slot));
    struct gang__op *list = gang__load_relaxed(&w->desc.ops);
    uint32_t count = w->op_count;
    int64_t commits = w->commits; /* the caller did none */
    gang__commit_begin(w);
    gang__store(&w->desc.ops, list + count);
    gang__commit_add(w, slot, GANG__WORD_HEAD, GANG__OP_BREAK, 0);
    for (unsigned i = 1; i < words; i++)
        gang__commit_add(w, slot, i, GANG__OP_SET, 0);
    gang__commit_run_once(w, false, NULL); /* refused: another thread was faster */
    gang__commit_begin(w);                 /* before the list is moved back */
    gang__store(&w->desc.ops, list);
    w->op_count = count;
    w->commits = commits;
}

void gang__leases_break(struct gang__committer *w)
{
    struct gang__op *list = gang__load_relaxed(&w->desc.ops);
    uint32_t count = w->op_count, moves = w->moves, before = GANG__POOL;
    uint64_t row = gang__load_relaxed(&w->lease.words);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t where = gang__load_relaxed(&list[i].where);
        if (gang__op_slot(where) != before && !gang__is_lease_code(gang__op_code(where)))
            gang__lease_break(w, gang__op_slot(where));
        before = gang__op_slot(where);
    }
    gang__commit_begin(w);
    w->op_count = count;
    gang__store(&w->lease.words, row);
    w->moves = moves == GANG__MOVES_OFF ? GANG__MOVES_OFF : GANG__MOVES_NOTED;
    w->move_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        gang__store(&list[i].agreed, w->unagreed);
        list[i].next = GANG__UNFORESEEN; /* the owner had noted the words that come next */
    }
}
