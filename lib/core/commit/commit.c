/* SPDX-License-Identifier: Apache-2.0 */
/* The multi-node commit: claim, agree, decide, finish. Any thread can carry any commit on.
 *
 * State
 *   cell        owner word and value words, one row for each node (core/commit/word.h)
 *   descriptor  one for each worker: ss = {seq, status}, and the operations, sorted by slot
 *   status      BUILDING (idle or being filled), UNDECIDED, SUCCESS, REFUSED; LABELLED is a SUCCESS
 *               while a snapshot was being taken
 *
 * Protocol, by the worker itself or by any helper (`run`)
 *   claim    cell by cell in slot order: owner 0 -> ref of this operation. If another operation
 *            that is not over claims the cell, carry that one on first, then come back. If the
 *            operation of a claim is over, a late helper left the claim: clear it.
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
 *            order, or another commit could slip in between.
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
#include "core/commit/commit.h"

#include "core/commit/index.h"
#include "core/commit/snapshot_save.h"

enum { BUILDING = 0, UNDECIDED = 1, SUCCESS = 2, REFUSED = 3, LABELLED = 4 };

#define STATUS_BITS 3
#define SEQ_BITS 52
#define SEQ_MASK ((UINT64_C(1) << SEQ_BITS) - 1)
#define WORKER_MASK UINT64_C(0x7ff)
#define AGREED_SEQ_MASK (~GANG__UNAGREED)

static uint64_t ss_of(uint64_t seq, unsigned status)
{
    return seq << STATUS_BITS | status;
}

static uint64_t seq_of(uint64_t ss)
{
    return ss >> STATUS_BITS;
}

static unsigned status_of(uint64_t ss)
{
    return (unsigned)(ss & ((1u << STATUS_BITS) - 1));
}

static bool took_effect(uint64_t ss)
{
    return status_of(ss) == SUCCESS || status_of(ss) == LABELLED;
}

static uint64_t ref_of(uint32_t worker, uint64_t seq)
{
    return (seq & SEQ_MASK) << 12 | (uint64_t)worker << 1 | 1;
}

/* The commit being carried on: a descriptor and the sequence number that it must still have. */
struct target {
    struct gang__committer *w;
    uint64_t seq;
    uint64_t ref;
};

static bool is_current(const struct target *t, uint64_t ss)
{
    return seq_of(ss) == t->seq && status_of(ss) != BUILDING;
}

static struct target target_of(struct gang__committer *w, uint64_t seq)
{
    struct target t = {w, seq, ref_of(w->index, seq)};
    return t;
}

/* Finds the commit that claims a cell. False if that commit is over. Both loads acquire: the
 * descriptor was filled before the claim. */
static bool blocker_of(struct gang__cells *c, uint64_t owner, struct target *t)
{
    struct gang__committer *w = gang__load(&c->worker[owner >> 1 & WORKER_MASK]);
    uint64_t ss = gang__load(&w->desc.ss);
    *t = target_of(w, seq_of(ss));
    return t->ref == owner && status_of(ss) != BUILDING;
}

/* ---- operations ------------------------------------------------------------------------------ */

struct operation {
    uint32_t slot;
    unsigned word;
    enum gang__code code;
    uint64_t arg;
};

static struct operation operation_of(struct gang__op *op)
{
    uint64_t where = gang__load(&op->where);
    struct operation s = {gang__op_slot(where), gang__op_word(where), gang__op_code(where),
                          gang__load(&op->arg)};
    return s;
}

/* The operation array of a target. The memory is always valid; the content is, if ss is checked
 * afterwards. */
struct list {
    struct gang__op *ops;
    uint32_t count;
    bool raises;
};

static struct list list_of(const struct target *t)
{
    struct list l = {gang__load(&t->w->desc.ops), gang__load(&t->w->desc.count),
                     gang__load(&t->w->desc.raises) != 0};
    return l;
}

/* ---- finish ---------------------------------------------------------------------------------- */

/* Collects the changes of one cell, from operation `i` on. Returns the number of operations. */
struct change {
    unsigned word;
    uint64_t from, to;
};

static uint32_t changes_of(const struct list *l, uint32_t i, uint32_t slot, struct change *change)
{
    uint32_t n = 0;
    for (; i + n < l->count && n < GANG__MAX_WORDS; n++) {
        struct operation s = operation_of(&l->ops[i + n]);
        if (s.slot != slot)
            break;
        change[n].word = s.word;
        change[n].from = gang__load(&l->ops[i + n].agreed);
        change[n].to = gang__op_next(s.code, s.arg, change[n].from);
    }
    return n;
}

static void finish(struct gang__cells *c, const struct target *t, uint64_t ss)
{
    struct list l = list_of(t);
    struct change change[GANG__MAX_WORDS];
    uint64_t snap = status_of(ss) == LABELLED ? gang__load_seq(&c->snap) : 0;
    for (uint32_t i = 0, n; i < l.count; i += n) {
        uint32_t slot = operation_of(&l.ops[i]).slot;
        uint64_t label = gang__load(&t->w->desc.when);
        n = changes_of(&l, i, slot, change);
        if (gang__load(&t->w->desc.ss) != ss || n == 0)
            return;
        if (gang__snap_mask(snap))
            gang__snapshot_save(c, snap, label, slot);
        struct gang__words words = gang__words_of(c, slot);
        for (uint32_t k = 0; took_effect(ss) && k < n; k++) {
            gang__hook(GANG__STEP_WRITE);
            if (gang__payload(change[k].to) != gang__payload(change[k].from))
                gang__cas(gang__word_in(&words, change[k].word), change[k].from, change[k].to);
        }
        gang__hook(GANG__STEP_RELEASE);
        gang__cas(&words.cell->owner, t->ref, 0);
    }
}

/* The same by the owner, which agreed to all words itself and has noted the words that come
 * next. */
static void finish_own(struct gang__cells *c, const struct target *t, const struct list *l,
                       uint64_t ss)
{
    uint64_t snap = status_of(ss) == LABELLED ? gang__load_seq(&c->snap) : 0;
    const struct gang__op *op = l->ops, *end = l->ops + l->count;
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

/* ---- raise ----------------------------------------------------------------------------------- */

/* The payloads that decide the buckets of a cell, after the operations from `op` on. Returns the
 * operation after them. `own`: the owner has noted the words that come next. */
static struct gang__op *payloads_after(struct gang__op *op, const struct gang__op *end,
                                       const struct gang__words *at, bool own, unsigned words,
                                       uint64_t *payload)
{
    struct operation s = operation_of(op);
    uint32_t slot = s.slot;
    for (unsigned k = 0; k < words; k++)
        payload[k] = gang__payload(gang__load(gang__word_in(at, k)));
    do {
        if (s.word < words)
            payload[s.word] =
                own ? gang__payload(op->next) : gang__op_apply(s.code, s.arg, payload[s.word]);
        if (++op < end)
            s = operation_of(op);
    } while (op < end && s.slot == slot);
    return op;
}

/* Raises the index to where the nodes will stand. All cells are claimed and their words stand
 * still; or the target is over, and what is set here is a stale hint. False if the target is
 * over. */
static bool raise_index(struct gang__cells *c, const struct target *t, const struct list *l,
                        bool own)
{
    uint64_t undecided = ss_of(t->seq, UNDECIDED);
    struct gang__index_batch batch;
    struct gang__bucket_memo last;
    gang__bucket_memo_init(&last);
    gang__index_batch_begin(&batch, c);
    gang__hook(GANG__STEP_RAISE);
    struct gang__op *op = l->ops;
    const struct gang__op *end = l->ops + l->count;
    while (op < end) {
        uint64_t payload[GANG__MAX_WORDS];
        uint32_t slot = operation_of(op).slot;
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
    gang__hook(GANG__STEP_STAMP);
    gang__add_seq(&t->w->stamp, 1);
    return true;
}

/* ---- claim, agree, decide -------------------------------------------------------------------- */

enum carry_result { OVER, BLOCKED };

/* Labels the commit if a snapshot is being taken. All cells are claimed and agreed, and all fits.
 * Returns the status to decide with. The load_seq pairs with the CAS of gang__save_begin(). */
static unsigned label(struct gang__cells *c, const struct target *t)
{
    gang__hook(GANG__STEP_LABEL);
    uint64_t snap = gang__load_seq(&c->snap);
    if (!gang__snap_mask(snap))
        return SUCCESS;
    uint64_t unset = GANG__UNAGREED | (t->seq & AGREED_SEQ_MASK);
    gang__cas(&t->w->desc.when, unset, gang__snap_number(snap));
    return LABELLED;
}

/* Reads the words of a claimed cell, from operation `i` on, and judges them. Stops at the first
 * word that does not fit. Returns the number of operations. */
static uint32_t judge(const struct list *l, uint32_t i, uint32_t slot,
                      const struct gang__words *words, uint64_t *word, bool *fits)
{
    uint32_t n = 0;
    for (; *fits && i + n < l->count && n < GANG__MAX_WORDS; n++) {
        struct operation s = operation_of(&l->ops[i + n]);
        if (s.slot != slot)
            break;
        word[n] = gang__load(gang__word_in(words, s.word));
        *fits = gang__op_fits(s.code, s.arg, word[n]);
    }
    return n;
}

/* The same by the owner, which also notes the words that come next. What it takes it mostly finds
 * as it planned on it: then that fits, and taking is subtracting for each code. What it only gives
 * back always fits. */
static uint32_t judge_own(const struct list *l, uint32_t i, uint32_t slot,
                          const struct gang__words *words, uint64_t *word, bool *fits)
{
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

/* Carries one commit on from operation *at. Ends when it is over (decided and finished), or blocked
 * by another commit, which goes into *blocker; *at then says where to go on. `own`: the caller owns
 * the descriptor. */
static enum carry_result carry(struct gang__cells *c, const struct target *t, bool own,
                               uint32_t *at, struct target *blocker)
{
    struct list l = list_of(t);
    uint64_t undecided = ss_of(t->seq, UNDECIDED);
    uint64_t ss = gang__load(&t->w->desc.ss);
    bool fits = true;
    uint32_t i = *at;
    while (ss == undecided && fits && i < l.count) {
        uint32_t slot = operation_of(&l.ops[i]).slot;
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
            if (blocker_of(c, holder, blocker)) {
                *at = i;
                return BLOCKED;
            }
            gang__cas(owner, holder, 0);
            continue;
        }
        gang__hook(GANG__STEP_AGREE);
        uint64_t agreed[GANG__MAX_WORDS];
        uint32_t n = own ? judge_own(&l, i, slot, &words, agreed, &fits)
                         : judge(&l, i, slot, &words, agreed, &fits);
        ss = gang__load(&t->w->desc.ss);
        if (ss != undecided)
            break;
        if (own)
            note_own(&l.ops[i], agreed, n);
        else
            note(&l.ops[i], agreed, n, GANG__UNAGREED | (t->seq & AGREED_SEQ_MASK));
        i += n;
    }
    if (ss == undecided) {
        if (!fits || !l.raises || raise_index(c, t, &l, own)) {
            unsigned status = fits ? label(c, t) : REFUSED;
            gang__hook(GANG__STEP_DECIDE);
            gang__cas(&t->w->desc.ss, undecided, ss_of(t->seq, status));
        }
        ss = gang__load(&t->w->desc.ss);
    }
    if (own && fits && i == l.count && took_effect(ss))
        finish_own(c, t, &l, ss);
    else if (is_current(t, ss) && ss != undecided)
        finish(c, t, ss);
    return OVER;
}

/* The same after its first blocker was met at operation `my_place`. */
static int64_t run_blocked(struct gang__cells *c, const struct target *mine, bool own,
                           uint32_t my_place, struct target now)
{
    int64_t helped = 0;
    uint32_t place = 0;
    for (;;) {
        bool is_mine = now.ref == mine->ref; /* its claims stay while the commit is undecided */
        struct target blocker;
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

/* Carries a commit, and whatever blocks it, to its end. Returns the number of others helped. */
static int64_t run(struct gang__cells *c, const struct target *mine, bool own)
{
    uint32_t place = 0;
    struct target blocker;
    return carry(c, mine, own, &place, &blocker) == OVER
               ? 0
               : run_blocked(c, mine, own, place, blocker);
}

/* ---- the owner's side ------------------------------------------------------------------------ */

gang_result gang__commit_allocate(struct gang__committer *w, size_t ops)
{
    size_t cap = w->op_cap ? w->op_cap : 64;
    while (cap < ops)
        cap *= 2;
    struct gang__op *bigger = gang__zalloc_line(w->cells->mem, cap, sizeof(*bigger));
    if (!bigger)
        return GANG_ENOMEM;
    struct gang__op *old = gang__load(&w->desc.ops);
    /* End the last operation: a late helper that still claims for it must find it over and clear
     * the claim, not finish it over new, empty operations. */
    w->seq++;
    gang__store(&w->desc.ss, ss_of(w->seq, BUILDING));
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
    gang__store(&w->desc.ss, ss_of(w->seq, BUILDING));
    w->op_count = 0;
    w->unagreed = GANG__UNAGREED | (w->seq & AGREED_SEQ_MASK);
    gang__store(&w->desc.when, w->unagreed);
    gang__hook(GANG__STEP_BUILD);
}

gang_result gang__commit_run(struct gang__committer *w, bool raises, uint32_t *refused)
{
    gang__store(&w->desc.count, w->op_count);
    gang__store(&w->desc.raises, raises ? 1u : 0u);
    gang__store(&w->desc.ss, ss_of(w->seq, UNDECIDED));
    struct target mine = target_of(w, w->seq);
    w->helps += run(w->cells, &mine, true);
    if (took_effect(gang__load(&w->desc.ss))) {
        w->commits++;
        return GANG_OK;
    }
    if (refused) {
        struct gang__op *ops = gang__load_relaxed(&w->desc.ops);
        uint32_t count = gang__load_relaxed(&w->desc.count);
        *refused = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct operation s = operation_of(&ops[i]);
            uint64_t agreed = gang__load(&ops[i].agreed);
            if (!(agreed & GANG__UNAGREED) && !gang__op_fits(s.code, s.arg, agreed)) {
                *refused = i;
                break;
            }
        }
    }
    return GANG_ENOFIT;
}

void gang__commit_op(const struct gang__committer *w, uint32_t i, uint32_t *slot, unsigned *word,
                     uint64_t *payload)
{
    struct gang__op *op = gang__load_relaxed(&w->desc.ops) + i;
    struct operation s = operation_of(op);
    *slot = s.slot;
    *word = s.word;
    *payload = gang__payload(gang__load(&op->agreed));
}

/* ---- for snapshots --------------------------------------------------------------------------- */

uint64_t gang__commit_label(const struct gang__committer *w)
{
    uint64_t ss = gang__load(&w->desc.ss);
    return status_of(ss) == LABELLED ? gang__load(&w->desc.when) : 0;
}

uint64_t gang__commit_next_ref(const struct gang__committer *w)
{
    return ref_of(w->index, w->seq + 1);
}

enum gang__outcome gang__commit_outcome(struct gang__cells *c, uint64_t ref, uint64_t *label)
{
    struct gang__committer *w = gang__load(&c->worker[ref >> 1 & WORKER_MASK]);
    uint64_t seq = ref >> 12;
    uint64_t ss = gang__load(&w->desc.ss);
    *label = status_of(ss) == LABELLED ? gang__load(&w->desc.when) : 0;
    if ((seq_of(ss) & SEQ_MASK) != seq)
        return (seq_of(ss) & SEQ_MASK) < seq ? GANG__OUTCOME_OPEN : GANG__OUTCOME_OVER;
    if (took_effect(ss))
        return gang__load(&w->desc.ss) == ss ? GANG__OUTCOME_DONE : GANG__OUTCOME_OVER;
    return status_of(ss) == REFUSED ? GANG__OUTCOME_REFUSED : GANG__OUTCOME_OPEN;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Waits for no thread: carries on each commit that claims the cell, until none does. The load_seq
 * pairs with the CAS that claims: a decided commit that is not written still claims the cell. */
static void help(struct gang__cells *c, gang__a64 *owner)
{
    for (;;) {
        uint64_t holder = gang__load_seq(owner);
        if (holder == 0)
            return;
        struct target t;
        if (blocker_of(c, holder, &t))
            run(c, &t, false);
        else
            gang__cas(owner, holder, 0);
    }
}

void gang__cell_help(struct gang__cells *c, uint32_t slot)
{
    help(c, &gang__chunk_of(c, slot)->cell[slot % GANG__CHUNK].owner);
}

void gang__cell_read_from(struct gang__cells *c, uint32_t slot, unsigned first, uint64_t *payload,
                          unsigned words)
{
    struct gang__words at = gang__words_of(c, slot);
    uint64_t changed;
    do {
        help(c, &at.cell->owner);
        for (unsigned i = 0; i < words; i++) {
            gang__hook(GANG__STEP_READ);
            payload[i] = gang__load(gang__word_in(&at, first + i));
        }
        gang__hook(GANG__STEP_READ);
        changed = gang__load_seq(&at.cell->owner); /* see gang__cell_read() */
        for (unsigned i = 0; i < words; i++)
            changed |= payload[i] ^ gang__load(gang__word_in(&at, first + i));
    } while (changed);
    for (unsigned i = 0; i < words; i++)
        payload[i] = gang__payload(payload[i]);
}

void gang__cell_read(struct gang__cells *c, uint32_t slot, uint64_t *payload, unsigned words)
{
    struct gang__words at = gang__words_of(c, slot);
    unsigned own = words < GANG__CELL_WORDS ? words : GANG__CELL_WORDS;
    for (;;) {
        help(c, &at.cell->owner);
        for (unsigned i = 0; i < own; i++) {
            gang__hook(GANG__STEP_READ);
            payload[i] = gang__load(&at.cell->word[i]);
        }
        for (unsigned i = own; i < words; i++)
            payload[i] = gang__load(gang__word_in(&at, i));
        gang__hook(GANG__STEP_READ);
        /* The cell was unclaimed between the two looks, so every commit decided before was written
         * before. Words carry versions: those that are the same twice were all there at that
         * moment. */
        uint64_t changed = gang__load_seq(&at.cell->owner);
        for (unsigned i = 0; i < own; i++)
            changed |= payload[i] ^ gang__load(&at.cell->word[i]);
        for (unsigned i = own; i < words; i++)
            changed |= payload[i] ^ gang__load(gang__word_in(&at, i));
        if (!changed)
            break;
    }
    for (unsigned i = 0; i < words; i++)
        payload[i] = gang__payload(payload[i]);
}
