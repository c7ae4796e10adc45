/* SPDX-License-Identifier: Apache-2.0 */
/* The lock-free multi-node commit, and reading one cell. */
#ifndef GANG__CORE_COMMIT_H
#define GANG__CORE_COMMIT_H

#include "core/commit/cell.h"
#include "core/commit/index.h"

/* Make room for `ops` operations. May allocate; call it before gang__commit_begin(). */
gang_result gang__commit_reserve(struct gang__committer *w, size_t ops);

/* Begin to describe a commit; ends with gang__commit_run(). */
void gang__commit_begin(struct gang__committer *w);

/* Add an operation. Slots in ascending order, each word of a slot at most once. */
static inline struct gang__op *gang__commit_add(struct gang__committer *w, uint32_t slot,
                                                unsigned word, enum gang__code code, uint64_t arg)
{
    struct gang__op *op = gang__load_relaxed(&w->desc.ops) + w->op_count++;
    gang__store(&op->where, gang__op_where(slot, word, code));
    gang__store(&op->arg, arg);
    gang__store(&op->agreed, w->unagreed);
    op->next = GANG__UNFORESEEN;
    return op;
}

/* Add an operation that takes, planned on a payload that it fits: if that is what will be found, it need
 * not be judged again. */
static inline void gang__commit_take(struct gang__committer *w, uint32_t slot, unsigned word,
                                     enum gang__code code, uint64_t arg, uint64_t was)
{
    gang__commit_add(w, slot, word, code, arg)->next = was;
}

/* All operations take effect in one step, or none does.
 *   raises   some operation gives back (or brings a node up)
 *   refused  on a refusal receives the number of the first operation that does not fit, NULL allowed
 * GANG_OK or GANG_ENOFIT; a refusal is true at the instant it is decided. Lock-free. */
gang_result gang__commit_run(struct gang__committer *w, bool raises, uint32_t *refused);

/* Label of the last commit, which took effect: 0 if it needed none; see core/commit/snapshot_save.c. */
uint64_t gang__commit_label(const struct gang__committer *w);

/* The name of the next commit of a worker, as it will stand in owner words. */
uint64_t gang__commit_next_ref(const struct gang__committer *w);

/* What became of a commit. GANG__OUTCOME_OVER: its owner has moved on, so that whatever the owner did
 * after it can be seen. */
enum gang__outcome {
    GANG__OUTCOME_OVER,
    GANG__OUTCOME_OPEN,
    GANG__OUTCOME_REFUSED,
    GANG__OUTCOME_DONE
};
enum gang__outcome gang__commit_outcome(struct gang__cells *c, uint64_t ref, uint64_t *label);

/* Slot, word and agreed payload of an operation of the last commit (after a refusal: payload only
 * up to the refused one). For messages. */
void gang__commit_op(const struct gang__committer *w, uint32_t i, uint32_t *slot, unsigned *word,
                     uint64_t *payload);

/* The payloads of the first `words` words of a cell at one instant. Helps a commit that claims the
 * cell to its end. Lock-free. Inside a read section, or for a slot that cannot go away. */
void gang__cell_read(struct gang__cells *c, uint32_t slot, uint64_t *payload, unsigned words);

/* The same of `words` words from one on. */
void gang__cell_read_from(struct gang__cells *c, uint32_t slot, unsigned first, uint64_t *payload,
                          unsigned words);

/* Carry the commit that claims a cell, if any, to its end. Lock-free. */
void gang__cell_settle(struct gang__cells *c, uint32_t slot);

/* The same without helping and without the promise of one instant: each word is one that was there
 * during the call, or (a commit is being written) will be replaced. Returns true if the cell was
 * claimed: read again with gang__cell_read() before saying that something does not fit. */
static inline bool gang__cell_peek(struct gang__cells *c, uint32_t slot, uint64_t *payload,
                                   unsigned words)
{
    struct gang__words at = gang__words_of(c, slot);
    unsigned own = words < GANG__CELL_WORDS ? words : GANG__CELL_WORDS;
    bool claimed = gang__load_seq(&at.cell->owner) != 0;
    for (unsigned i = 0; i < own; i++) {
        gang__hook(GANG__STEP_READ);
        payload[i] = gang__payload(gang__load(&at.cell->word[i]));
    }
    for (unsigned i = own; i < words; i++)
        payload[i] = gang__payload(gang__load(gang__word_in(&at, i)));
    return claimed;
}

#endif
