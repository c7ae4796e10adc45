/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's short ways through a commit, in fewer steps than carry() and
 * gang__commit_finish_own() take for each operation: through leases and their ends, and through
 * cells that are alike, of which it takes the same. Each cell is claimed and agreed as in carry().
 * It is judged as a whole: all its words are those of a row. Where one is not, carry() goes on. */
#include "core/commit/commit_in.h"

/* The buckets of a claimed node after the end of its lease. The nodes of a gang are mostly like
 * `last`. Compares the memory, too, which decides nothing: that takes less time than to skip it. */
static inline struct gang__buckets buckets_unleased(const struct gang__cell *cell,
                                                    struct gang__layout layout,
                                                    struct gang__bucket_memo *last)
{
    unsigned end = GANG__WORD_SHARES + gang__share_words(layout);
    if (end == last->end && !gang__cell_differs(cell, last->payload, end))
        return last->buckets;
    uint64_t payload[GANG__BUCKET_WORDS];
    for (unsigned i = 0; i < end; i++)
        last->payload[i] = payload[i] = gang__payload(gang__load(&cell->word[i]));
    payload[GANG__WORD_HEAD] &= ~GANG__HEAD_LEASED;
    last->end = end;
    last->buckets = gang__buckets_of(layout, payload);
    return last->buckets;
}

/* Claims a cell for the owner's commit, also in place of a claim that is over. False: another
 * commit is in the way, or a helper was here before. */
static inline bool claim_own(struct gang__cells *c, const struct gang__target *t,
                             struct gang__cell *cell)
{
    uint64_t holder = gang__load(&cell->owner);
    struct gang__target other;
    if (holder && (holder == t->ref || gang__blocker_of(c, holder, &other)))
        return false;
    return gang__cas(&cell->owner, holder, t->ref);
}

/* Where gang__commit_carry_short() is. */
struct walk {
    struct gang__cells *c;
    const struct gang__target *t;
    struct gang__op *op, *end;      /* the next operation */
    struct gang__index_move *last;  /* the move noted last; NULL: none */
    struct gang__buckets full;      /* of a node of which all, or the same, was taken */
    uint32_t layout;                /* of all nodes that are alike */
    struct gang__bucket_memo ended; /* of the lease that ended last */
    uint64_t row[GANG__CELL_WORDS]; /* of the leases; it has */
    unsigned words;
};

/* Does not clear the whole: that takes long for one node. */
static inline void walk_begin(struct walk *at, struct gang__cells *c, const struct gang__target *t,
                              const struct gang__list *l)
{
    at->c = c;
    at->t = t;
    at->op = l->ops;
    at->end = l->ops + l->count;
    at->last = NULL;
}

static void leases_begin(struct walk *at)
{
    const struct gang__committer *w = at->t->w;
    at->full = (struct gang__buckets){0, gang__bucket_for_cpu(0)};
    at->words = (unsigned)gang__load_relaxed(&w->lease.words);
    gang__bucket_memo_init(&at->ended);
    for (unsigned i = 0; i < at->words; i++)
        at->row[i] = gang__load_relaxed(&w->lease.payload[i]);
}

/* Notes the move of a claimed node in the index. Most nodes make the move of the one before. */
static inline void note_move(struct walk *at, struct gang__chunk *chunk, uint32_t slot,
                             struct gang__buckets to, struct gang__layout layout)
{
    struct gang__committer *w = at->t->w;
    uint32_t hint = gang__load(&gang__slot_at(chunk, slot)->bucket_hint);
    uint64_t key = gang__index_move_key(hint, to, layout.class_id);
    if (at->last && at->last->key == key && slot - at->last->base < GANG__FAN)
        at->last->bits |= UINT32_C(1) << slot % GANG__FAN;
    else if (gang__index_move_add(w, chunk, slot, layout, to))
        at->last = &w->move[w->move_count - 1];
    else
        w->moves = GANG__MOVES_OFF;
}

/* Carries on through operations of this code. False: one of them is for carry(). `code` is a
 * constant, LEASE or UNLEASE. */
static inline bool carry_leases(struct walk *at, enum gang__code code)
{
    const struct gang__target t = *at->t;
    const uint64_t undecided = gang__ss_of(t.seq, GANG__UNDECIDED);
    struct gang__chunk_memo last = {UINT32_MAX, NULL};
    const uint64_t flag = GANG__HEAD_LEASED, version_one = UINT64_C(1) << GANG__PAYLOAD_BITS;
    const bool takes = code == GANG__OP_LEASE;
    struct gang__op *op = at->op;
    const struct gang__op *end = at->end;
    bool alike = true;
    for (; op < end; op++) {
        uint64_t where = gang__load_relaxed(&op->where);
        uint32_t slot = gang__op_slot(where);
        alike = gang__op_code(where) == code;
        if (!alike)
            break;
        struct gang__chunk *chunk = gang__chunk_like(at->c, slot, &last);
        struct gang__cell *cell = &chunk->cell[slot % GANG__CHUNK];
        gang__hook(GANG__STEP_CLAIM);
        if (!claim_own(at->c, &t, cell))
            break;
        gang__hook(GANG__STEP_AGREE);
        uint64_t head = gang__load(&cell->word[GANG__WORD_HEAD]);
        if (takes ? gang__cell_differs(cell, at->row, at->words) : !gang__head_is_leased(head))
            break;
        if (t.w->moves != GANG__MOVES_OFF) {
            struct gang__layout layout = gang__layout_at(chunk, slot);
            struct gang__buckets to = takes ? at->full : buckets_unleased(cell, layout, &at->ended);
            note_move(at, chunk, slot, to, layout);
        }
        if (gang__load(&t.w->desc.ss) != undecided)
            break;
        op->next = (head + (takes ? flag : -flag) + version_one) & ~GANG__UNAGREED;
        gang__hook(GANG__STEP_NOTE);
        gang__store(&op->agreed, head);
    }
    at->op = op;
    return !alike;
}

/* Carries on through cells that are alike, to the first that is for carry(). */
static void carry_alike(struct walk *at)
{
    const struct gang__target t = *at->t;
    const struct gang__alike *what = &t.w->alike;
    const uint64_t undecided = gang__ss_of(t.seq, GANG__UNDECIDED);
    const uint64_t version_one = UINT64_C(1) << GANG__PAYLOAD_BITS;
    const uint64_t *row = what->row;
    const uint32_t n = what->count;
    const unsigned words = what->words;
    uint64_t change[GANG__CELL_WORDS];
    unsigned word[GANG__CELL_WORDS];
    for (uint32_t k = 0; k < n; k++) {
        change[k] = version_one - gang__payload(what->op[k].arg);
        word[k] = what->op[k].word;
    }
    struct gang__chunk_memo last = {UINT32_MAX, NULL};
    struct gang__op *op = at->op;
    for (; op < at->end; op += n) {
        uint32_t slot = gang__op_slot(gang__load_relaxed(&op->where));
        struct gang__chunk *chunk = gang__chunk_like(at->c, slot, &last);
        struct gang__cell *cell = &chunk->cell[slot % GANG__CHUNK];
        gang__hook(GANG__STEP_CLAIM);
        if (!claim_own(at->c, &t, cell))
            break;
        gang__hook(GANG__STEP_AGREE);
        struct gang__layout layout = gang__layout_at(chunk, slot);
        if (gang__cell_differs(cell, row, words) || gang__layout_pack(layout) != at->layout)
            break;
        if (t.w->moves != GANG__MOVES_OFF)
            note_move(at, chunk, slot, at->full, layout);
        uint64_t now[GANG__CELL_WORDS];
        for (uint32_t k = 0; k < n; k++)
            now[k] = gang__load(&cell->word[word[k]]);
        if (gang__load(&t.w->desc.ss) != undecided)
            break;
        for (uint32_t k = 0; k < n; k++) {
            op[k].next = (now[k] + change[k]) & ~GANG__UNAGREED;
            gang__hook(GANG__STEP_NOTE);
            gang__store(&op[k].agreed, now[k]);
        }
    }
    at->op = op;
}

/* Begins with the first cell: the buckets of all after the commit. */
static void alike_begin(struct walk *at)
{
    const struct gang__alike *what = &at->t->w->alike;
    uint32_t slot = gang__op_slot(gang__load_relaxed(&at->op->where));
    struct gang__layout layout = gang__layout_at(gang__chunk_of(at->c, slot), slot);
    uint64_t payload[GANG__BUCKET_WORDS] = {0};
    for (unsigned i = 0; i < what->words; i++)
        payload[i] = what->row[i];
    for (uint32_t k = 0; k < what->count; k++)
        payload[what->op[k].word] -= gang__payload(what->op[k].arg);
    at->layout = gang__layout_pack(layout);
    at->full = gang__buckets_of(layout, payload);
}

uint32_t gang__commit_carry_short(struct gang__cells *c, const struct gang__target *t,
                                  const struct gang__list *l)
{
    struct walk at;
    const struct gang__op *op;
    walk_begin(&at, c, t, l);
    if (t->w->alike.words) {
        alike_begin(&at);
        carry_alike(&at);
        return (uint32_t)(at.op - l->ops);
    }
    leases_begin(&at);
    /* Else every cell that is at the row fits. */
    if (at.words && !gang__op_fits(GANG__OP_LEASE, 0, at.row[GANG__WORD_HEAD]))
        return 0;
    do
        op = at.op;
    while (carry_leases(&at, GANG__OP_LEASE) && carry_leases(&at, GANG__OP_UNLEASE) && at.op != op);
    return (uint32_t)(at.op - l->ops);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void finish_alike(struct gang__cells *c, const struct gang__target *t,
                         const struct gang__list *l)
{
    const uint32_t n = t->w->alike.count;
    struct gang__chunk_memo last = {UINT32_MAX, NULL};
    const struct gang__op *op = l->ops, *end = l->ops + l->count;
    while (op < end) {
        uint32_t slot = gang__op_slot(gang__load_relaxed(&op->where));
        struct gang__cell *cell = &gang__chunk_like(c, slot, &last)->cell[slot % GANG__CHUNK];
        for (const struct gang__op *next = op + n; op < next; op++) {
            uint64_t agreed = gang__load_relaxed(&op->agreed);
            unsigned word = gang__op_word(gang__load_relaxed(&op->where));
            gang__hook(GANG__STEP_WRITE);
            if (gang__payload(op->next ^ agreed))
                gang__cas(&cell->word[word], agreed, op->next);
        }
        gang__hook(GANG__STEP_RELEASE);
        gang__cas(&cell->owner, t->ref, 0);
    }
}

/* Why a claim may stay on a leased node: when ss says SETTLED all words are written, so the claim
 * is one of a commit that is over, like that of a late helper. Whoever needs the cell clears or
 * replaces it. Mostly that is the end of the lease, which has to claim the cell anyhow; searches
 * do not meet the node meanwhile. A node that is free again is left without a claim. */
static uint32_t finish_leases(struct gang__cells *c, const struct gang__target *t,
                              const struct gang__list *l)
{
    struct gang__chunk_memo last = {UINT32_MAX, NULL};
    const struct gang__op *op = l->ops, *end = l->ops + l->count;
    for (; op < end; op++) {
        uint64_t where = gang__load_relaxed(&op->where);
        enum gang__code code = gang__op_code(where);
        uint32_t slot = gang__op_slot(where);
        if (code != GANG__OP_LEASE && code != GANG__OP_UNLEASE)
            break;
        struct gang__cell *cell = &gang__chunk_like(c, slot, &last)->cell[slot % GANG__CHUNK];
        gang__hook(GANG__STEP_WRITE);
        gang__cas(&cell->word[GANG__WORD_HEAD], gang__load_relaxed(&op->agreed), op->next);
        if (code == GANG__OP_LEASE)
            continue;
        gang__hook(GANG__STEP_RELEASE);
        gang__cas(&cell->owner, t->ref, 0);
    }
    return (uint32_t)(op - l->ops);
}

bool gang__commit_finish_short(struct gang__cells *c, const struct gang__target *t,
                               const struct gang__list *l, uint32_t *done)
{
    if (t->w->alike.words) {
        finish_alike(c, t, l);
        *done = l->count;
        return false;
    }
    *done = finish_leases(c, t, l);
    return true;
}
