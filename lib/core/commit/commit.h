/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of this folder: the lock-free multi-node commit, reading one cell, and
 * (core/commit/index.h) finding nodes by free capacity. */
#ifndef GANG__CORE_COMMIT_H
#define GANG__CORE_COMMIT_H

#include "core/commit/cell.h"
#include "core/commit/index.h"
#include "core/commit/snapshot_save.h"

gang_result gang__commit_allocate(struct gang__committer *w, size_t ops);
/* Makes space for `ops` operations. May allocate; call it before gang__commit_begin(). */
static inline gang_result gang__commit_reserve(struct gang__committer *w, size_t ops)
{
    return ops <= w->op_cap ? GANG_OK : gang__commit_allocate(w, ops);
}

/* Begins to describe a commit, which gang__commit_run() ends. */
void gang__commit_begin(struct gang__committer *w);

/* Describes the operations on one cell. Slots ascend; each word of a slot comes at most once. */
struct gang__cell_ops {
    struct gang__committer *w;
    struct gang__op *next;
    uint64_t unagreed;
    uint32_t slot;
};
static inline struct gang__cell_ops gang__cell_ops_begin(struct gang__committer *w, uint32_t slot)
{
    struct gang__op *next = gang__load_relaxed(&w->desc.ops) + w->op_count;
    return (struct gang__cell_ops){w, next, w->unagreed, slot};
}
static inline void gang__cell_ops_end(const struct gang__cell_ops *o)
{
    o->w->op_count = (uint32_t)(o->next - gang__load_relaxed(&o->w->desc.ops));
}

/* Adds an operation; `foreseen`: see gang__op.next. All stores release: a helper that sees one of
 * them sees the BUILDING stored before. */
static inline void gang__cell_ops_add(struct gang__cell_ops *o, unsigned word, enum gang__code code,
                                      uint64_t arg, uint64_t foreseen)
{
    struct gang__op *op = o->next++;
    gang__store(&op->where, gang__op_where(o->slot, word, code));
    gang__store(&op->arg, arg);
    gang__store(&op->agreed, o->unagreed);
    op->next = foreseen;
}

/* One that gives back what was taken, and changes nothing else. */
static inline void gang__cell_ops_give(struct gang__cell_ops *o, unsigned word,
                                       enum gang__code code, uint64_t payload)
{
    uint64_t arg = code == GANG__OP_HEAD ? payload | GANG__HEAD_GIVE : payload;
    gang__cell_ops_add(o, word, code, arg, GANG__GIVES_BACK);
}

/* One alone. */
static inline void gang__commit_add(struct gang__committer *w, uint32_t slot, unsigned word,
                                    enum gang__code code, uint64_t arg)
{
    struct gang__cell_ops o = gang__cell_ops_begin(w, slot);
    gang__cell_ops_add(&o, word, code, arg, GANG__UNFORESEEN);
    gang__cell_ops_end(&o);
}

/* Describes the lease of a node: the operation takes all that a node has, if it has exactly these
 * payloads (head first). All leases of a commit are of the same payloads. False: this one is not,
 * or it has too many words; nothing is added. See lease.c. */
bool gang__commit_lease(struct gang__committer *w, uint32_t slot, const uint64_t *payload,
                        unsigned words);

/* Describes the leases of more nodes, with the payloads of the lease described before. Of each
 * `slot` the lower half counts. */
static inline void gang__commit_lease_more(struct gang__committer *w, const uint64_t *slot,
                                           size_t count)
{
    struct gang__op *op = gang__load_relaxed(&w->desc.ops) + w->op_count;
    for (size_t i = 0; i < count; i++, op++) {
        gang__store(&op->where, gang__op_where((uint32_t)slot[i], GANG__WORD_HEAD, GANG__OP_LEASE));
        gang__store(&op->arg, 0);
        gang__store(&op->agreed, w->unagreed);
        op->next = GANG__UNFORESEEN;
    }
    w->op_count += (uint32_t)count;
}

/* Describes a whole commit that takes the same of each of these cells, which have this row. Each
 * operation takes, and fits the row. Of each `slot` the lower half counts; they ascend. */
static inline void gang__commit_alike(struct gang__committer *w, const struct gang__alike *what,
                                      const uint64_t *slot, size_t count)
{
    struct gang__op *op = gang__load_relaxed(&w->desc.ops);
    uint64_t where[GANG__CELL_WORDS], arg[GANG__CELL_WORDS], foreseen[GANG__CELL_WORDS];
    const uint64_t unagreed = w->unagreed;
    const uint32_t ops = what->count;
    for (uint32_t k = 0; k < ops; k++) {
        where[k] = gang__op_where(0, what->op[k].word, what->op[k].code);
        arg[k] = what->op[k].arg;
        foreseen[k] = what->row[what->op[k].word];
    }
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = (uint32_t)slot[i];
        for (uint32_t k = 0; k < ops; k++, op++) {
            gang__store(&op->where, where[k] | at);
            gang__store(&op->arg, arg[k]);
            gang__store(&op->agreed, unagreed);
            op->next = foreseen[k];
        }
    }
    w->op_count = (uint32_t)(op - gang__load_relaxed(&w->desc.ops));
    w->alike = *what;
}

/* Describes the end of a lease, if these amounts (head first: millicores) are all that the leased
 * node has; else adds nothing. If the lease is broken meanwhile the commit is refused, and all is
 * to be described again. */
bool gang__commit_unlease(struct gang__committer *w, uint32_t slot, const uint64_t *amount,
                          unsigned words);

/* A hint. */
static inline bool gang__cell_is_leased(const struct gang__cells *c, uint32_t slot)
{
    const struct gang__cell *cell = &gang__chunk_of(c, slot)->cell[slot % GANG__CHUNK];
    return gang__head_is_leased(gang__load(&cell->word[GANG__WORD_HEAD]));
}

/* Breaks the lease of a cell, if it has one, so that all its words say what is taken. Between two
 * commits of the worker. Lock-free. */
void gang__lease_break(struct gang__committer *w, uint32_t slot);

#ifdef GANG_TEST_HOOKS
/* For tests; relaxed, pairs with none: a test sets it while no commit runs. All commits are carried
 * on in the general way, not by commit_one.c. */
extern _Atomic(bool) gang__commit_one_off;
#endif

/* All operations take effect in one step, or none does.
 *   raises   some operation gives back (or brings a node up)
 *   refused  on a refusal receives the number of the first operation that does not fit, NULL
 *            allowed
 * GANG_OK or GANG_ENOFIT; a refusal is true at the instant it is decided. A lease that stands in
 * the way is broken: then it takes several commits. Lock-free. */
gang_result gang__commit_run(struct gang__committer *w, bool raises, uint32_t *refused);

/* The same in one commit, whose name is known (gang__commit_next_ref()). GANG_EBUSY: a lease stands
 * in the way; all is to be described again. */
gang_result gang__commit_run_once(struct gang__committer *w, bool raises, uint32_t *refused);

/* The same, and brings the index up to date. The caller is in a read section, or has the structure
 * mutex, so that the slots get no other nodes. */
gang_result gang__commit_run_indexed(struct gang__committer *w, bool raises);

/* Label of the last commit, which took effect; 0 if it needed none. See
 * core/commit/snapshot_save.c. */
uint64_t gang__commit_label(const struct gang__committer *w);

/* The name of the next commit of a worker, as owner words will have it. */
uint64_t gang__commit_next_ref(const struct gang__committer *w);

/* What became of a commit. GANG__OUTCOME_OVER: its owner has moved on, so that everything that the
 * owner did after it is visible. */
enum gang__outcome {
    GANG__OUTCOME_OVER,
    GANG__OUTCOME_OPEN,
    GANG__OUTCOME_REFUSED,
    GANG__OUTCOME_DONE
};
enum gang__outcome gang__commit_outcome(struct gang__cells *c, uint64_t ref, uint64_t *label);

/* Slot, word and agreed payload of an operation of the last commit, for messages. After a refusal
 * payloads are valid only up to the refused operation. */
void gang__commit_op(const struct gang__committer *w, uint32_t i, uint32_t *slot, unsigned *word,
                     uint64_t *payload);

/* A leased node, as every reader sees it: nothing is free. `words`: all but those of health. */
static inline void gang__lease_mask(uint64_t *payload, unsigned words)
{
    if (words == 0 || !gang__head_is_leased(payload[GANG__WORD_HEAD]))
        return;
    payload[GANG__WORD_HEAD] = gang__head(gang__head_state(payload[GANG__WORD_HEAD]), 0);
    for (unsigned i = 1; i < words; i++)
        payload[i] = 0;
}

/* Does one of the first words of a cell (1 to GANG__CELL_WORDS) have another payload than in the
 * row? Unrolled: a loop takes twice as long. */
static inline bool gang__cell_differs(const struct gang__cell *cell, const uint64_t *row,
                                      unsigned words)
{
    uint64_t differ = 0;
    switch (words) {
    case 7:
        differ |= gang__load(&cell->word[6]) ^ row[6]; /* fallthrough */
    case 6:
        differ |= gang__load(&cell->word[5]) ^ row[5]; /* fallthrough */
    case 5:
        differ |= gang__load(&cell->word[4]) ^ row[4]; /* fallthrough */
    case 4:
        differ |= gang__load(&cell->word[3]) ^ row[3]; /* fallthrough */
    case 3:
        differ |= gang__load(&cell->word[2]) ^ row[2]; /* fallthrough */
    case 2:
        differ |= gang__load(&cell->word[1]) ^ row[1]; /* fallthrough */
    default:
        differ |= gang__load(&cell->word[0]) ^ row[0];
    }
    return gang__payload(differ) != 0;
}

/* Reads the payloads of the first `words` words of a cell at one instant. Carries a commit that
 * claims the cell to its end. Lock-free. Call it inside a read section, or for a slot that cannot
 * go away. */
void gang__cell_read(struct gang__cells *c, uint32_t slot, uint64_t *payload, unsigned words);

/* The same for `words` words of health, from `first` on. */
void gang__cell_read_from(struct gang__cells *c, uint32_t slot, unsigned first, uint64_t *payload,
                          unsigned words);

/* Is the commit that an owner word names over? Then its claim is void, and the words of the cell
 * alone say what is free. */
bool gang__claim_is_void(struct gang__cells *c, uint64_t owner);

/* Carries the commit that claims a cell, if any, to its end. Lock-free. */
void gang__cell_help(struct gang__cells *c, uint32_t slot);

/* The same without helping and without the promise of one instant: each word is one that was there
 * during the call, or that a commit under way will replace. Returns true if the cell was claimed:
 * call gang__cell_read() before saying that something does not fit. Not for words of health. */
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
    gang__lease_mask(payload, words);
    return claimed;
}

#endif
