/* SPDX-License-Identifier: Apache-2.0 */
/* The multi-node commit: claim, agree, decide, finish. Any thread can carry any commit on.
 *
 * State
 *   cell        owner word and value words, one row for each node (core/commit/word.h)
 *   descriptor  one for each worker: ss = {seq, status}, and the operations, sorted by slot
 *   status      BUILDING (idle or being filled), UNDECIDED, SUCCESS, REFUSED; LABELLED is a SUCCESS
 *               while a snapshot was being taken; SETTLED a SUCCESS of which all words are written
 *
 * Protocol, by the worker itself or by any helper (`run`)
 *   claim    cell by cell in slot order: owner 0 -> ref of this operation. If another operation
 *            that is not over claims the cell, carry that one on first, then come back. If the
 *            operation of a claim is over (SETTLED, or its owner has begun another), a late helper
 *            left the claim, or the owner did: clear it, or claim in its place.
 *            A cell that is leased bars all operations but those about the lease (lease.c): then
 *            the operation is refused, and its owner breaks the lease and begins again.
 *   agree    while the operation is undecided its claimed cells cannot change, so every helper
 *            reads the same words; the first helper that notes them in the descriptor wins, the
 *            others would have noted the same.
 *   raise    if the operation gives back: raise the index for every node that gets a higher bucket,
 *            then the stamp.
 *   label    if all fits, and a snapshot is being taken: note which snapshots show this commit
 *            (core/commit/snapshot_save.c).
 *   decide   does every operation fit its agreed word? One compare-and-swap on ss, UNDECIDED ->
 *            SUCCESS, LABELLED or REFUSED. This is the linearization point of success and of
 *            refusal.
 *   finish   LABELLED: save the words of the cell for snapshots that need them
 *            (core/commit/snapshot_save.c). LABELLED, SUCCESS: each word agreed -> new, by
 *            compare-and-swap (versions make a late one fail). Then each owner ref -> 0. In this
 *            order, or another commit could slip in between. The owner may leave claims, and then
 *            stores SETTLED: it does so on nodes that it leased (commit_short.c).
 *
 * Why it is atomic: a reader that meets a claimed cell finishes that commit before it believes the
 * words (gang__cell_read). So no reader believes the old word of a decided commit, and none sees
 * the new word of an undecided one.
 *
 * Why it is lock-free: run() goes round only when a compare-and-swap failed because another
 * thread's succeeded on the same commit's claims, or when it met another commit, which it then
 * carries on. Slots are claimed in one order, so the chain of commits that block each other ends at
 * one whose claims are all free or held. Any thread that runs decides some commit in a bounded
 * number of steps. There is no stack: run() follows the blocker, and starts again from its own
 * commit.
 *
 * Why reading a foreign descriptor is safe: descriptors and outgrown operation arrays are freed
 * only with the cluster. The fields read may belong to a later operation; after reading them the
 * helper reads ss again, and does nothing unless ss still names this operation. The owner raises
 * seq (BUILDING) before it overwrites a field. Field stores are releases and field loads are
 * acquires, so a helper that sees a new field sees the new ss in the check that follows.
 *
 * Why "agreed" is tagged with seq: a late helper's compare-and-swap from UNAGREED|seq fails on any
 * later operation of the same descriptor. The owner itself, as long as it sees its operation
 * undecided, may store plainly: it stores what every helper stores.
 *
 * A refusal is true. On the level of commits, by the decision above. On the level of planners
 * (place/): a planner says "no node fits" only if the stamp did not move while it looked at all
 * candidates from the highest bucket down. A commit that gave back in between had raised its index
 * bits and its stamp before the first read of the stamp. So the planner met its node, found it
 * claimed, and carried the commit to its end before it judged the node. All other commits in
 * between only took. Hence at the second read of the stamp no node fits.
 *
 * Sources: Shavit and Touitou 1995 (static transactions agree on old values), Harris, Fraser and
 * Pratt 2002 (helping, two phases), Arbel-Raviv and Brown 2017 (reusable descriptors). Two
 * things differ: requests are deltas, not expected values, so an unrelated change of the same
 * node does not abort a gang; and the owner word is beside the values, so a planner reads one
 * line. */
#include "core/commit/commit_in.h"

/* ---- claim, agree, decide -------------------------------------------------------------------- */

enum carry_result { OVER, BLOCKED };

/* Labels the commit if a snapshot is being taken. All cells are claimed and agreed, and all fits.
 * Returns the status to decide with. The load_seq pairs with the CAS of gang__save_begin(). */
static unsigned label(struct gang__cells *c, const struct gang__target *t)
{
    gang__hook(GANG__STEP_LABEL);
    uint64_t snap = gang__load_seq(&c->snap);
    if (!gang__snap_mask(snap))
        return GANG__SUCCESS;
    uint64_t unset = GANG__UNAGREED | (t->seq & GANG__AGREED_SEQ_MASK);
    gang__cas(&t->w->desc.when, unset, gang__snap_number(snap));
    return GANG__LABELLED;
}

/* Is a claimed cell leased, and the operation from `i` on is not about the lease? */
static inline bool is_barred(const struct gang__list *l, uint32_t i,
                             const struct gang__words *words)
{
    return gang__head_is_leased(gang__load(&words->cell->word[GANG__WORD_HEAD])) &&
           !gang__is_lease_code(gang__op_code(gang__load(&l->ops[i].where)));
}

/* Reads the words of a claimed cell, from operation `i` on, and judges them. Stops at the first
 * word that does not fit. Returns the number of operations. */
static uint32_t judge(const struct gang__target *t, const struct gang__list *l, uint32_t i,
                      uint32_t slot, const struct gang__words *words, uint64_t *word, bool *fits)
{
    uint32_t n = 0;
    if (is_barred(l, i, words)) {
        *fits = false;
        return gang__lease_judge(l, i, slot, words, word);
    }
    for (; *fits && i + n < l->count && n < GANG__MAX_WORDS; n++) {
        struct gang__operation s = gang__operation_of(&l->ops[i + n]);
        if (s.slot != slot)
            break;
        word[n] = gang__load(gang__word_in(words, s.word));
        if (s.code == GANG__OP_LEASE && !gang__lease_fits(t, words))
            word[n] &= ~GANG__PAYLOAD; /* noted as a word that does not fit */
        *fits = gang__op_fits(s.code, s.arg, word[n]);
    }
    return n;
}

/* The same by the owner, which also notes the words that come next. What it takes it mostly finds
 * as it planned on it: then that fits, and taking is subtracting for each code. What it only gives
 * back always fits. */
static uint32_t judge_own(const struct gang__target *t, const struct gang__list *l, uint32_t i,
                          uint32_t slot, const struct gang__words *words, uint64_t *word,
                          bool *fits)
{
    if (is_barred(l, i, words)) {
        *fits = false;
        return gang__lease_judge(l, i, slot, words, word);
    }
    const uint64_t version_one = UINT64_C(1) << GANG__PAYLOAD_BITS;
    struct gang__op *op = &l->ops[i];
    const struct gang__op *end = l->ops + l->count;
    uint32_t n = 0;
    for (; *fits && op < end; op++) {
        uint64_t where = gang__load_relaxed(&op->where), arg = gang__load_relaxed(&op->arg);
        if (gang__op_slot(where) != slot)
            break;
        uint64_t now = gang__load(gang__word_in(words, gang__op_word(where)));
        if (gang__payload(now) == op->next) {
            op->next = (now - gang__payload(arg) + version_one) & ~GANG__UNAGREED;
        } else if (op->next == GANG__GIVES_BACK) {
            op->next = (now + gang__payload(arg) + version_one) & ~GANG__UNAGREED;
        } else {
            enum gang__code code = gang__op_code(where);
            if (code == GANG__OP_LEASE && !gang__lease_fits(t, words))
                now &= ~GANG__PAYLOAD;
            *fits = gang__op_fits(code, arg, now);
            op->next = gang__op_next(code, arg, now);
        }
        word[n++] = now;
    }
    return n;
}

/* Notes the words that were read from a claimed cell. The commit was undecided after the reads:
 * these are the only values since the claim. */
static void note(struct gang__op *op, const uint64_t *word, uint32_t n, uint64_t unagreed)
{
    for (const uint64_t *end = word + n; word < end; word++, op++) {
        gang__hook(GANG__STEP_NOTE);
        gang__cas(&op->agreed, unagreed, *word);
    }
}

/* The same by the owner. */
static void note_own(struct gang__op *op, const uint64_t *word, uint32_t n)
{
    for (const uint64_t *end = word + n; word < end; word++, op++) {
        gang__hook(GANG__STEP_NOTE);
        gang__store(&op->agreed, *word);
    }
}

/* The buckets of a claimed node after the owner's operations on it. All other words of the cell
 * stand still, too. `last` NULL: the commit has no other cell. */
static struct gang__buckets buckets_after(struct gang__layout layout,
                                          const struct gang__words *words,
                                          const struct gang__op *op, uint32_t n,
                                          struct gang__bucket_memo *last)
{
    uint64_t payload[GANG__BUCKET_WORDS];
    if (gang__op_code(gang__load_relaxed(&op->where)) == GANG__OP_LEASE)
        return (struct gang__buckets){0, gang__bucket_for_cpu(0)}; /* nothing is free */
    unsigned end = GANG__WORD_SHARES + gang__share_words(layout);
    payload[GANG__WORD_HEAD] = gang__payload(gang__load(&words->cell->word[GANG__WORD_HEAD]));
    for (unsigned k = GANG__WORD_SHARES; k < end; k++)
        payload[k] = gang__payload(gang__load(gang__word_in(words, k)));
    for (const struct gang__op *stop = op + n; op < stop; op++) {
        unsigned word = gang__op_word(gang__load_relaxed(&op->where));
        if (word < end)
            payload[word] = gang__payload(op->next);
    }
    payload[GANG__WORD_MEMORY] = 0; /* decides no bucket */
    return last ? gang__buckets_of_like(layout, payload, last) : gang__buckets_of(layout, payload);
}

/* Notes to which buckets the owner's commit moves a claimed node. */
static void note_move(struct gang__cells *c, struct gang__committer *w,
                      const struct gang__words *words, const struct gang__op *op, uint32_t n,
                      struct gang__bucket_memo *last)
{
    uint32_t slot = gang__op_slot(gang__load_relaxed(&op->where));
    if (slot == GANG__POOL)
        return;
    struct gang__chunk *chunk = gang__chunk_of(c, slot);
    struct gang__layout layout = gang__layout_at(chunk, slot);
    struct gang__buckets to = buckets_after(layout, words, op, n, last);
    if (!gang__index_move_add(w, chunk, slot, layout, to))
        w->moves = GANG__MOVES_OFF;
}

uint64_t gang__commit_decide(struct gang__cells *c, const struct gang__target *t,
                             const struct gang__list *l, bool own, bool fits)
{
    if (own && fits && t->w->moves == GANG__MOVES_NOTED)
        t->w->moves = GANG__MOVES_WHOLE;
    if (!fits || !l->raises || gang__commit_raise(c, t, l, own)) {
        unsigned status = fits ? label(c, t) : GANG__REFUSED;
        gang__hook(GANG__STEP_DECIDE);
        gang__cas(&t->w->desc.ss, gang__ss_of(t->seq, GANG__UNDECIDED),
                  gang__ss_of(t->seq, status));
    }
    return gang__load(&t->w->desc.ss);
}

/* The owner's commit took effect, and the owner agreed to all words itself; `by_short`: to some by
 * gang__commit_carry_short(). If claims are left, SETTLED says that they are void. */
static void finish_own(struct gang__cells *c, const struct gang__target *t,
                       const struct gang__list *l, uint64_t ss, bool by_short)
{
    uint32_t i = 0;
    bool claims_left =
        by_short && gang__ss_status(ss) == GANG__SUCCESS && gang__commit_finish_short(c, t, l, &i);
    if (i < l->count)
        gang__commit_finish_own(c, t, l, ss, i);
    if (claims_left)
        gang__store(&t->w->desc.ss, gang__ss_of(t->seq, GANG__SETTLED));
}

/* Carries one commit on from operation *at. Ends when it is over (decided and finished), or blocked
 * by another commit, which goes into *blocker; *at then says where to go on. `own`: the caller owns
 * the descriptor. */
static enum carry_result carry(struct gang__cells *c, const struct gang__target *t, bool own,
                               uint32_t *at, struct gang__target *blocker)
{
    struct gang__list l = gang__list_of(t);
    uint64_t undecided = gang__ss_of(t->seq, GANG__UNDECIDED);
    bool fits = true;
    uint32_t i = *at, by_short = 0;
    if (own && i == 0 && l.count &&
        (t->w->alike.words ||
         gang__is_lease_code(gang__op_code(gang__load_relaxed(&l.ops[0].where)))))
        i = by_short = gang__commit_carry_short(c, t, &l);
    uint64_t ss = gang__load(&t->w->desc.ss);
    struct gang__bucket_memo last;
    gang__bucket_memo_init(&last);
    while (ss == undecided && fits && i < l.count) {
        uint32_t slot = gang__operation_of(&l.ops[i]).slot;
        ss = gang__load(&t->w->desc.ss);
        if (ss != undecided)
            break;
        struct gang__words words = gang__words_of(c, slot);
        gang__a64 *owner = &words.cell->owner;
        gang__hook(GANG__STEP_CLAIM);
        uint64_t holder = gang__load(owner);
        if (holder == 0) {
            if (!gang__cas(owner, 0, t->ref))
                continue;
            holder = t->ref;
        }
        if (holder != t->ref) {
            if (gang__blocker_of(c, holder, blocker)) {
                *at = i;
                return BLOCKED;
            }
            gang__cas(owner, holder, 0);
            continue;
        }
        gang__hook(GANG__STEP_AGREE);
        uint64_t agreed[GANG__MAX_WORDS];
        uint32_t n = own ? judge_own(t, &l, i, slot, &words, agreed, &fits)
                         : judge(t, &l, i, slot, &words, agreed, &fits);
        if (own && fits && t->w->moves != GANG__MOVES_OFF)
            note_move(c, t->w, &words, &l.ops[i], n, n == l.count ? NULL : &last);
        ss = gang__load(&t->w->desc.ss);
        if (ss != undecided)
            break;
        if (own)
            note_own(&l.ops[i], agreed, n);
        else
            note(&l.ops[i], agreed, n, GANG__UNAGREED | (t->seq & GANG__AGREED_SEQ_MASK));
        i += n;
    }
    if (ss == undecided)
        ss = gang__commit_decide(c, t, &l, own, fits);
    if (own && fits && i == l.count && gang__ss_took_effect(ss))
        finish_own(c, t, &l, ss, by_short > 0);
    else if (gang__is_current(t, ss) && ss != undecided)
        gang__commit_finish(c, t, ss);
    return OVER;
}

/* The same after its first blocker was met at operation `my_place`. */
static int64_t run_blocked(struct gang__cells *c, const struct gang__target *mine, bool own,
                           uint32_t my_place, struct gang__target now)
{
    int64_t helped = 0;
    uint32_t place = 0;
    for (;;) {
        bool is_mine = now.ref == mine->ref; /* its claims stay while the commit is undecided */
        struct gang__target blocker;
        uint32_t *at = is_mine ? &my_place : &place;
        if (carry(c, &now, own && is_mine, at, &blocker) == BLOCKED) {
            now = blocker;
            place = 0;
        } else if (is_mine) {
            return helped;
        } else {
            helped++;
            now = *mine;
        }
    }
}

int64_t gang__commit_carry_on(struct gang__cells *c, const struct gang__target *mine, bool own)
{
    uint32_t place = 0;
    struct gang__target blocker;
    if (own && gang__commit_carry_one(c, mine))
        return 0;
    return carry(c, mine, own, &place, &blocker) == OVER
               ? 0
               : run_blocked(c, mine, own, place, blocker);
}
