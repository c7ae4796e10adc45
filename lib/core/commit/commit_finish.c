/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a commit: writes its words, if it took effect, and gives up its claims. See "finish"
 * at the head of commit.c. */
#include "core/commit/commit_in.h"

/* Collects the changes of one cell, from operation `i` on. Returns the number of operations. */
struct change {
    unsigned word;
    uint64_t from, to;
};

static uint32_t changes_of(const struct gang__list *l, uint32_t i, uint32_t slot,
                           struct change *change)
{
    uint32_t n = 0;
    for (; i + n < l->count && n < GANG__MAX_WORDS; n++) {
        struct gang__operation s = gang__operation_of(&l->ops[i + n]);
        if (s.slot != slot)
            break;
        change[n].word = s.word;
        change[n].from = gang__load(&l->ops[i + n].agreed);
        change[n].to = gang__op_next(s.code, s.arg, change[n].from);
    }
    return n;
}

void gang__commit_finish(struct gang__cells *c, const struct gang__target *t, uint64_t ss)
{
    struct gang__list l = gang__list_of(t);
    struct change change[GANG__MAX_WORDS];
    uint64_t snap = gang__ss_status(ss) == GANG__LABELLED ? gang__load_seq(&c->snap) : 0;
    for (uint32_t i = 0, n; i < l.count; i += n) {
        uint32_t slot = gang__operation_of(&l.ops[i]).slot;
        uint64_t label = gang__load(&t->w->desc.when);
        n = changes_of(&l, i, slot, change);
        if (gang__load(&t->w->desc.ss) != ss || n == 0)
            return;
        if (gang__snap_mask(snap))
            gang__snapshot_save(c, snap, label, slot);
        struct gang__words words = gang__words_of(c, slot);
        for (uint32_t k = 0; gang__ss_took_effect(ss) && k < n; k++) {
            gang__hook(GANG__STEP_WRITE);
            if (gang__payload(change[k].to) != gang__payload(change[k].from))
                gang__cas(gang__word_in(&words, change[k].word), change[k].from, change[k].to);
        }
        gang__hook(GANG__STEP_RELEASE);
        gang__cas(&words.cell->owner, t->ref, 0);
    }
}

void gang__commit_finish_own(struct gang__cells *c, const struct gang__target *t,
                             const struct gang__list *l, uint64_t ss, uint32_t i)
{
    uint64_t snap = gang__ss_status(ss) == GANG__LABELLED ? gang__load_seq(&c->snap) : 0;
    const struct gang__op *op = l->ops + i, *end = l->ops + l->count;
    while (op < end) {
        uint64_t where = gang__load_relaxed(&op->where);
        uint32_t slot = gang__op_slot(where);
        struct gang__words words = gang__words_of(c, slot);
        if (gang__snap_mask(snap))
            gang__snapshot_save(c, snap, gang__load(&t->w->desc.when), slot);
        do {
            uint64_t agreed = gang__load_relaxed(&op->agreed);
            gang__hook(GANG__STEP_WRITE);
            if (gang__payload(op->next ^ agreed))
                gang__cas(gang__word_in(&words, gang__op_word(where)), agreed, op->next);
            if (++op < end)
                where = gang__load_relaxed(&op->where);
        } while (op < end && gang__op_slot(where) == slot);
        gang__hook(GANG__STEP_RELEASE);
        gang__cas(&words.cell->owner, t->ref, 0);
    }
}
