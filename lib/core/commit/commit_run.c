/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's side of a commit: its memory, its description, its answer. */
#include "core/commit/commit_in.h"

gang_result gang__commit_allocate(struct gang__committer *w, size_t ops)
{
    size_t cap = w->op_cap ? w->op_cap : 64;
    while (cap < ops)
        cap *= 2;
    if (gang__index_moves_reserve(w, cap / 2) != GANG_OK) /* a cell has two words at least */
        return GANG_ENOMEM;
    /* Behind the list there is space to break a lease. */
    struct gang__op *bigger =
        gang__zalloc_line(w->cells->mem, cap + GANG__MAX_WORDS, sizeof(*bigger));
    if (!bigger)
        return GANG_ENOMEM;
    struct gang__op *old = gang__load(&w->desc.ops);
    /* End the last operation: a late helper that still claims for it must find it over and clear
     * the claim, not finish it over new, empty operations. */
    w->seq++;
    gang__store(&w->desc.ss, gang__ss_of(w->seq, GANG__BUILDING));
    gang__store(&w->desc.count, 0);
    gang__store(&w->desc.ops, bigger);
    w->op_cap = cap;
    if (old)
        w->old_ops[w->old_count++] = old;
    return GANG_OK;
}

void gang__commit_begin(struct gang__committer *w)
{
    w->seq++;
    gang__store(&w->desc.ss, gang__ss_of(w->seq, GANG__BUILDING));
    w->op_count = 0;
    if (gang__load_relaxed(&w->lease.words))
        gang__store(&w->lease.words, 0);
    w->alike.words = 0;
    w->moves = GANG__MOVES_OFF;
    w->unagreed = GANG__UNAGREED | (w->seq & GANG__AGREED_SEQ_MASK);
    gang__store(&w->desc.when, w->unagreed);
    gang__hook(GANG__STEP_BUILD);
}

/* The first operation that does not fit its agreed word, or op_count: only leases did not. */
static uint32_t first_refused(const struct gang__committer *w)
{
    struct gang__op *ops = gang__load_relaxed(&w->desc.ops);
    uint32_t i = 0;
    for (; i < w->op_count; i++) {
        struct gang__operation s = gang__operation_of(&ops[i]);
        uint64_t agreed = gang__load(&ops[i].agreed);
        if (!(agreed & GANG__UNAGREED) && !gang__op_fits(s.code, s.arg, agreed))
            break;
    }
    return i;
}

gang_result gang__commit_run_once(struct gang__committer *w, bool raises, uint32_t *refused)
{
    gang__store(&w->desc.count, w->op_count);
    gang__store(&w->desc.raises, raises ? 1u : 0u);
    gang__store(&w->desc.ss, gang__ss_of(w->seq, GANG__UNDECIDED));
    struct gang__target mine = gang__target_of(w, w->seq);
    w->helps += gang__commit_carry_on(w->cells, &mine, true);
    if (gang__ss_took_effect(gang__load(&w->desc.ss))) {
        w->commits++;
        return GANG_OK;
    }
    uint32_t first = first_refused(w);
    if (refused)
        *refused = first;
    return first < w->op_count ? GANG_ENOFIT : GANG_EBUSY;
}

gang_result gang__commit_run(struct gang__committer *w, bool raises, uint32_t *refused)
{
    gang_result r;
    while ((r = gang__commit_run_once(w, raises, refused)) == GANG_EBUSY)
        gang__leases_break(w);
    return r;
}

/* Nodes of the last commit, by reading each again. */
static void update_index(struct gang__committer *w)
{
    struct gang__op *ops = gang__load_relaxed(&w->desc.ops);
    uint32_t before = GANG__POOL;
    for (uint32_t i = 0; i < w->op_count; i++) {
        uint32_t slot = gang__op_slot(gang__load_relaxed(&ops[i].where));
        if (slot != before)
            gang__index_update_slot(w->cells, slot);
        before = slot;
    }
}

gang_result gang__commit_run_indexed(struct gang__committer *w, bool raises)
{
    w->moves = GANG__MOVES_NOTED;
    w->move_count = 0;
    gang_result r = gang__commit_run(w, raises, NULL);
    if (r == GANG_OK && w->moves == GANG__MOVES_WHOLE)
        gang__index_moves_update(w, raises);
    else if (r == GANG_OK)
        update_index(w);
    return r;
}

void gang__commit_op(const struct gang__committer *w, uint32_t i, uint32_t *slot, unsigned *word,
                     uint64_t *payload)
{
    struct gang__op *op = gang__load_relaxed(&w->desc.ops) + i;
    struct gang__operation s = gang__operation_of(op);
    *slot = s.slot;
    *word = s.word;
    *payload = gang__payload(gang__load(&op->agreed));
}

/* ---- for snapshots --------------------------------------------------------------------------- */

uint64_t gang__commit_label(const struct gang__committer *w)
{
    uint64_t ss = gang__load(&w->desc.ss);
    return gang__ss_status(ss) == GANG__LABELLED ? gang__load(&w->desc.when) : 0;
}

uint64_t gang__commit_next_ref(const struct gang__committer *w)
{
    return gang__ref_of(w->index, w->seq + 1);
}

enum gang__outcome gang__commit_outcome(struct gang__cells *c, uint64_t ref, uint64_t *label)
{
    struct gang__committer *w = gang__load(&c->worker[ref >> 1 & GANG__WORKER_MASK]);
    uint64_t seq = ref >> 12;
    uint64_t ss = gang__load(&w->desc.ss);
    *label = gang__ss_status(ss) == GANG__LABELLED ? gang__load(&w->desc.when) : 0;
    if ((gang__ss_seq(ss) & GANG__SEQ_MASK) != seq)
        return (gang__ss_seq(ss) & GANG__SEQ_MASK) < seq ? GANG__OUTCOME_OPEN : GANG__OUTCOME_OVER;
    if (gang__ss_took_effect(ss))
        return gang__load(&w->desc.ss) == ss ? GANG__OUTCOME_DONE : GANG__OUTCOME_OVER;
    return gang__ss_status(ss) == GANG__REFUSED ? GANG__OUTCOME_REFUSED : GANG__OUTCOME_OPEN;
}
