/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's commit of operations on one cell, as most single tasks are: the same steps in the
 * same order as carry() takes (commit.c), without what many cells and helpers need. Where a step
 * does not go as usual it ends, and carry() goes on from what is claimed and agreed by then; so
 * carry() is its oracle (tests/place/test_single.c). */
#include "core/commit/commit_in.h"

#ifdef GANG_TEST_HOOKS
_Atomic(bool) gang__commit_one_off;
#endif

/* The words of the cell before and after the commit, by operation and by place. */
struct one {
    struct gang__cell *cell;
    uint64_t was[GANG__CELL_WORDS], next[GANG__CELL_WORDS];
    uint64_t payload[GANG__CELL_WORDS]; /* of all words afterwards */
};

/* Has the commit operations of one cell only, and none about a lease? */
static inline bool is_one(const struct gang__committer *w)
{
#ifdef GANG_TEST_HOOKS
    if (gang__load_relaxed(&gang__commit_one_off))
        return false;
#endif
    const struct gang__op *op = gang__load_relaxed(&w->desc.ops);
    if (w->op_count == 0 || w->op_count > GANG__CELL_WORDS)
        return false;
    uint64_t first = gang__load_relaxed(&op->where);
    uint32_t last = gang__op_slot(gang__load_relaxed(&op[w->op_count - 1].where));
    return !gang__is_lease_code(gang__op_code(first)) && gang__op_slot(first) == last &&
           last != GANG__POOL;
}

/* Judges the operations as judge_own() does: what the owner takes it finds as it planned on it, or
 * it gives back. False: it is otherwise. */
static inline bool judge(const struct gang__list *l, struct one *x)
{
    const uint64_t version_one = UINT64_C(1) << GANG__PAYLOAD_BITS;
    for (uint32_t i = 0; i < l->count; i++) {
        const struct gang__op *op = &l->ops[i];
        unsigned word = gang__op_word(gang__load_relaxed(&op->where));
        if (word >= GANG__CELL_WORDS)
            return false;
        uint64_t now = gang__load(&x->cell->word[word]);
        uint64_t arg = gang__payload(gang__load_relaxed(&op->arg));
        bool gives = op->next == GANG__GIVES_BACK;
        if (!gives && gang__payload(now) != op->next)
            return false;
        x->was[i] = now;
        x->next[i] = ((gives ? now + arg : now - arg) + version_one) & ~GANG__UNAGREED;
        x->payload[word] = gang__payload(x->next[i]);
    }
    return true;
}

/* Notes the words in the descriptor, for helpers and for carry(). */
static inline void note(const struct gang__list *l, const struct one *x)
{
    for (uint32_t i = 0; i < l->count; i++) {
        l->ops[i].next = x->next[i];
        gang__hook(GANG__STEP_NOTE);
        gang__store(&l->ops[i].agreed, x->was[i]);
    }
}

/* Writes what was decided, and gives up the claim. No snapshot needs the words of before. */
static inline void finish(const struct gang__target *t, const struct gang__list *l, struct one *x)
{
    for (uint32_t i = 0; i < l->count; i++) {
        unsigned word = gang__op_word(gang__load_relaxed(&l->ops[i].where));
        gang__hook(GANG__STEP_WRITE);
        if (gang__payload(x->was[i] ^ x->next[i]))
            gang__cas(&x->cell->word[word], x->was[i], x->next[i]);
    }
    gang__hook(GANG__STEP_RELEASE);
    gang__cas(&x->cell->owner, t->ref, 0);
}

bool gang__commit_carry_one(struct gang__cells *c, const struct gang__target *t)
{
    struct gang__committer *w = t->w;
    if (!is_one(w))
        return false;
    struct gang__list l = gang__list_of(t);
    uint32_t slot = gang__op_slot(gang__load_relaxed(&l.ops[0].where));
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    struct one x;
    x.cell = &chunk->cell[slot % GANG__CHUNK];
    gang__hook(GANG__STEP_CLAIM);
    if (gang__load(&x.cell->owner) != 0 || !gang__cas(&x.cell->owner, 0, t->ref))
        return false;
    gang__hook(GANG__STEP_AGREE);
    for (unsigned i = 0; i < GANG__CELL_WORDS; i++)
        x.payload[i] = gang__payload(gang__load(&x.cell->word[i]));
    if (gang__head_is_leased(x.payload[GANG__WORD_HEAD]) || !judge(&l, &x))
        return false;
    struct gang__layout layout = gang__layout_at(chunk, slot);
    if (GANG__WORD_SHARES + gang__share_words(layout) > GANG__CELL_WORDS)
        return false;
    if (w->moves != GANG__MOVES_OFF &&
        !gang__index_move_add(w, chunk, slot, layout, gang__buckets_of(layout, x.payload)))
        w->moves = GANG__MOVES_OFF;
    if (gang__load(&w->desc.ss) != gang__ss_of(t->seq, GANG__UNDECIDED))
        return false;
    note(&l, &x);
    uint64_t ss = gang__commit_decide(c, t, &l, true, true);
    if (gang__ss_status(ss) == GANG__SUCCESS)
        finish(t, &l, &x);
    else
        gang__commit_finish(c, t, ss);
    return true;
}
