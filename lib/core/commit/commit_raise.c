/* SPDX-License-Identifier: Apache-2.0 */
/* What a commit does for searches before it gives something back: raises the index, then the stamp.
 * See "raise" at the head of commit.c. */
#include "core/commit/commit_in.h"

/* The payloads that decide the buckets of a cell, after the operations from `op` on. Returns the
 * operation after them. `own`: the owner has noted the words that come next. */
static struct gang__op *payloads_after(struct gang__op *op, const struct gang__op *end,
                                       const struct gang__words *at, bool own, unsigned words,
                                       uint64_t *payload)
{
    struct gang__operation s = gang__operation_of(op);
    uint32_t slot = s.slot;
    for (unsigned k = 0; k < words; k++)
        payload[k] = gang__payload(gang__load(gang__word_in(at, k)));
    do {
        if (s.word < words)
            payload[s.word] =
                own ? gang__payload(op->next) : gang__op_apply(s.code, s.arg, payload[s.word]);
        if (++op < end)
            s = gang__operation_of(op);
    } while (op < end && s.slot == slot);
    return op;
}

static bool raise_stamp(const struct gang__target *t)
{
    gang__hook(GANG__STEP_STAMP);
    gang__add_seq(&t->w->stamp, 1);
    return true;
}

bool gang__commit_raise(struct gang__cells *c, const struct gang__target *t,
                        const struct gang__list *l, bool own)
{
    if (own && t->w->moves == GANG__MOVES_WHOLE) {
        gang__hook(GANG__STEP_RAISE);
        gang__index_moves_raise(t->w);
        return raise_stamp(t);
    }
    uint64_t undecided = gang__ss_of(t->seq, GANG__UNDECIDED);
    struct gang__index_batch batch;
    struct gang__bucket_memo last;
    gang__bucket_memo_init(&last);
    gang__index_batch_begin(&batch, c);
    gang__hook(GANG__STEP_RAISE);
    struct gang__op *op = l->ops;
    const struct gang__op *end = l->ops + l->count;
    while (op < end) {
        uint64_t payload[GANG__MAX_WORDS];
        uint32_t slot = gang__operation_of(op).slot;
        if (gang__load(&t->w->desc.ss) != undecided)
            return false;
        /* In this order: the words of a layout are published before it. */
        struct gang__chunk *chunk = gang__chunk_of(c, slot);
        struct gang__layout layout = gang__layout_at(chunk, slot);
        struct gang__words at = gang__words_in(chunk, slot);
        unsigned words = GANG__WORD_SHARES + gang__share_words(layout);
        bool first = op == l->ops;
        op = payloads_after(op, end, &at, own, words, payload);
        if (gang__load(&t->w->desc.ss) != undecided)
            return false;
        if (slot == GANG__POOL)
            continue;
        if (first && op == end) /* the only cell */
            gang__index_raise(c, slot, layout, gang__buckets_of(layout, payload));
        else
            gang__index_batch_add(&batch, slot, layout,
                                  gang__buckets_of_like(layout, payload, &last));
    }
    gang__index_batch_end(&batch);
    return raise_stamp(t);
}
