/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that carry a commit on:
 *
 *   commit.c         claim, agree, decide
 *   commit_one.c     the owner's commit of operations on one cell, in fewer steps
 *   commit_run.c     the owner's side
 *   commit_raise.c   raises the index before the decision
 *   lease.c          whole nodes, taken by one word
 *   commit_short.c   the owner's short ways through leases and through cells that are alike
 *   commit_finish.c  writes what was decided, gives up the claims
 *   cell_read.c      readers, which carry on the commits that they meet */
#ifndef GANG__CORE_COMMIT_IN_H
#define GANG__CORE_COMMIT_IN_H

#include "core/commit/commit.h"

/* The status in desc.ss; see commit.c. */
enum {
    GANG__BUILDING = 0,
    GANG__UNDECIDED = 1,
    GANG__SUCCESS = 2,
    GANG__REFUSED = 3,
    GANG__LABELLED = 4,
    GANG__SETTLED = 5
};

#define GANG__STATUS_BITS 3
#define GANG__SEQ_BITS 52
#define GANG__SEQ_MASK ((UINT64_C(1) << GANG__SEQ_BITS) - 1)
#define GANG__WORKER_MASK UINT64_C(0x7ff)
#define GANG__AGREED_SEQ_MASK (~GANG__UNAGREED)

static inline uint64_t gang__ss_of(uint64_t seq, unsigned status)
{
    return seq << GANG__STATUS_BITS | status;
}

static inline uint64_t gang__ss_seq(uint64_t ss)
{
    return ss >> GANG__STATUS_BITS;
}

static inline unsigned gang__ss_status(uint64_t ss)
{
    return (unsigned)(ss & ((1u << GANG__STATUS_BITS) - 1));
}

static inline bool gang__ss_took_effect(uint64_t ss)
{
    return gang__ss_status(ss) == GANG__SUCCESS || gang__ss_status(ss) == GANG__LABELLED ||
           gang__ss_status(ss) == GANG__SETTLED;
}

static inline uint64_t gang__ref_of(uint32_t worker, uint64_t seq)
{
    return (seq & GANG__SEQ_MASK) << 12 | (uint64_t)worker << 1 | 1;
}

/* The commit being carried on: a descriptor and the sequence number that it must still have. */
struct gang__target {
    struct gang__committer *w;
    uint64_t seq;
    uint64_t ref;
};

/* A commit that is over has nothing left to write: its claims say nothing, and any thread may
 * replace them. */
static inline bool gang__ss_is_over(uint64_t ss)
{
    return gang__ss_status(ss) == GANG__BUILDING || gang__ss_status(ss) == GANG__SETTLED;
}

static inline bool gang__is_current(const struct gang__target *t, uint64_t ss)
{
    return gang__ss_seq(ss) == t->seq && !gang__ss_is_over(ss);
}

static inline struct gang__target gang__target_of(struct gang__committer *w, uint64_t seq)
{
    struct gang__target t = {w, seq, gang__ref_of(w->index, seq)};
    return t;
}

/* Finds the commit that claims a cell. False if that commit is over. Both loads acquire: the
 * descriptor was filled before the claim. */
static inline bool gang__blocker_of(struct gang__cells *c, uint64_t owner, struct gang__target *t)
{
    struct gang__committer *w = gang__load(&c->worker[owner >> 1 & GANG__WORKER_MASK]);
    uint64_t ss = gang__load(&w->desc.ss);
    *t = gang__target_of(w, gang__ss_seq(ss));
    return t->ref == owner && !gang__ss_is_over(ss);
}

/* ---- operations ------------------------------------------------------------------------------ */

struct gang__operation {
    uint32_t slot;
    unsigned word;
    enum gang__code code;
    uint64_t arg;
};

static inline struct gang__operation gang__operation_of(struct gang__op *op)
{
    uint64_t where = gang__load(&op->where);
    struct gang__operation s = {gang__op_slot(where), gang__op_word(where), gang__op_code(where),
                                gang__load(&op->arg)};
    return s;
}

/* The operation array of a target. The memory is always valid; the content is, if ss is checked
 * afterwards. */
struct gang__list {
    struct gang__op *ops;
    uint32_t count;
    bool raises;
};

static inline struct gang__list gang__list_of(const struct gang__target *t)
{
    struct gang__list l = {gang__load(&t->w->desc.ops), gang__load(&t->w->desc.count),
                           gang__load(&t->w->desc.raises) != 0};
    return l;
}

/* Carries a commit, and whatever blocks it, to its end. Returns the number of others helped. */
int64_t gang__commit_carry_on(struct gang__cells *c, const struct gang__target *t, bool own);

/* The same by the owner, if all operations are of one cell and nothing is in the way. False: carry
 * it on in the general way, from its first operation. */
bool gang__commit_carry_one(struct gang__cells *c, const struct gang__target *t);

/* All cells are claimed and agreed, or a word does not fit. Returns the status word after the
 * decision, by this thread or by another. */
uint64_t gang__commit_decide(struct gang__cells *c, const struct gang__target *t,
                             const struct gang__list *l, bool own, bool fits);

/* Raises the index to where the nodes will stand. All cells are claimed and their words stand
 * still; or the target is over, and what is set here is a stale hint. False if the target is
 * over. `own`: the caller owns the descriptor. */
bool gang__commit_raise(struct gang__cells *c, const struct gang__target *t,
                        const struct gang__list *l, bool own);

/* Does a claimed cell have what the leases of the commit demand? Its words stand still; or the
 * target is over. */
bool gang__lease_fits(const struct gang__target *t, const struct gang__words *words);

/* A general operation may not touch a leased cell. */
static inline bool gang__is_lease_code(enum gang__code code)
{
    return code == GANG__OP_LEASE || code == GANG__OP_UNLEASE || code == GANG__OP_BREAK;
}

/* Judges the operations on a leased cell from `i` on, none of which is about the lease, by what the
 * node has free: nothing. Receives the words as judged. Returns the number of operations; all may
 * fit, but the commit has to be refused. */
uint32_t gang__lease_judge(const struct gang__list *l, uint32_t i, uint32_t slot,
                           const struct gang__words *words, uint64_t *word);

/* The owner's short ways (commit_short.c). They carry its commit on through the leases and ends of
 * leases that it begins with, or through cells that are alike: claim them, agree, and note what
 * moves in the index. They end at the first operation that does not fit or that another commit is
 * in the way of, or that is of another kind. Returns its number; carry() goes on there. */
uint32_t gang__commit_carry_short(struct gang__cells *c, const struct gang__target *t,
                                  const struct gang__list *l);

/* Writes the words of these operations, if the commit was decided without a label and the owner
 * agreed to all words itself. Returns whether claims of leased nodes are left; *done: operations
 * that are over. */
bool gang__commit_finish_short(struct gang__cells *c, const struct gang__target *t,
                               const struct gang__list *l, uint32_t *done);

/* After a refusal by leases alone: breaks those of the cells of the last commit, and describes it
 * again. */
void gang__leases_break(struct gang__committer *w);

/* Writes the words of a commit that was decided, and gives up its claims. */
void gang__commit_finish(struct gang__cells *c, const struct gang__target *t, uint64_t ss);

/* The same by the owner, from operation `i` on, which agreed to all words itself and has noted the
 * words that come next. */
void gang__commit_finish_own(struct gang__cells *c, const struct gang__target *t,
                             const struct gang__list *l, uint64_t ss, uint32_t i);

#endif
