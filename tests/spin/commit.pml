/* SPDX-License-Identifier: Apache-2.0 */
/* The multi-node commit of lib/core/commit/commit.c as a Promela model, step for step.
 *
 * Every load, store and compare-and-swap of a shared word is a step of its own. Local work is
 * joined to the step before it. These steps are joined beyond that, without loss:
 *   - `where` and `arg` of an operation are one load: both are followed by the same check of ss,
 *     and the owner changes ss before it overwrites either.
 *   - An operation and its agreed word are one load in finish(), for the same reason, and filling a
 *     descriptor is one step, see there. With FINE both are taken apart. Agreeing does not load
 *     again the operation for which the cell was claimed: it is checked as before.
 *   - `raises` is left out: index and stamp are in index.pml. To the commit they are only a
 *     delay between agreeing and deciding.
 *   - The order is that of the interleavings (sequential consistency). The model does not see what
 *     weaker machines may reorder; acquire, release and seq_cst in base/atomic.h are for that, and
 *     ThreadSanitizer and the stress tests check it.
 *
 * Words       ver * 8 + payload; payload: bit 2 = the node is gone, bits 0-1 the free amount. With
 *             LEASES ver * 16 + payload; bit 3 of the first word of a cell = the node is leased.
 * Owner       0, or REF(worker, seq).
 * ss          seq * 4 + status. With LEASES seq * 8 + status.
 * Ghosts      abs_*: what the words would be were every commit one instant; they change at its
 *             decision.
 *
 * Parameters (-D)
 *   WORKERS, OPS  threads that commit, and commits of each
 *   READERS       threads that read all cells, one after the other, once
 *   CELLS, WPC    cells, words per cell
 *   CAP           free at the start in each word
 *   SCRIPT        which worker commits what, see CODE
 *   ONE_EACH      the first reader reads cell 0 only, the second cell 1
 *   HOLDING       worker 1 holds the gang {0, 1} at the start
 *   STOP          any one worker may stop for ever at any step
 *   FINE          finer steps, see above
 *   RESERVE       before its second commit a worker takes a larger array (gang__commit_reserve)
 *   REMOVE        worker 0 removes the node of cell 0 and uses the slot for another one; see there
 *   BARE          with REMOVE: readers look at cells, and help, without a read section. The code
 *                 has no such readers. It shows that grace periods are for descriptions, and that
 *                 versions keep a slow helper off the next node of a slot
 *   GUIDE         with REMOVE, ONE_EACH, HOLDING, two readers: only schedules in which the removal
 *                 begins when worker 1 has given back, and the second reader while the grace period
 *                 waits for the first. Four threads are too many for all schedules
 *   SNAPSHOT      the only reader takes a snapshot of all cells; WPC is 1. `number` and whether a
 *                 snapshot is under way are one word. A commit notes the number once all its cells
 *                 are claimed, as its label, and all helpers agree on it. A thread that finishes a
 *                 commit of a later label saves a cell for the snapshot before it writes to it
 *   LEASES        scripts 6 to 8: worker 0 takes whole cells by their first words alone
 *                 (core/commit/lease.c): LEASE, UNLEASE. A commit that a lease bars breaks it, by a
 *                 commit of its own, and is described again. The owner leaves the claims of leases
 *                 (SETTLED), and claims in place of a claim that is over
 *   BUG_...       mutants; each must be caught */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef READERS
#define READERS 0
#endif
#ifndef OPS
#define OPS 2
#endif
#ifndef CELLS
#define CELLS 2
#endif
#ifndef WPC
#define WPC 1
#endif
#ifndef CAP
#define CAP 1
#endif
#ifndef SCRIPT
#define SCRIPT 0
#endif
#define THREADS (WORKERS + READERS)
#define WORDS (CELLS * WPC)

#define BUILDING 0
#define UNDECIDED 1
#define SUCCESS 2
#define REFUSED 3
#ifdef LEASES
#define SETTLED 4 /* SUCCESS, all is written, and the claims that are left are void */
#define STATUSES 8
#define IS_OVER(ss) (STATUS(ss) == BUILDING || STATUS(ss) == SETTLED)
#else
#define STATUSES 4
#define IS_OVER(ss) (STATUS(ss) == BUILDING)
#endif
#define SS(q, st) ((q) * STATUSES + (st))
#define SEQ(ss) ((ss) / STATUSES)
#define STATUS(ss) ((ss) % STATUSES)

#define REF(t, q) (1 + (t) + WORKERS * (q))
#define REF_WORKER(r) (((r) - 1) % WORKERS)
#define REF_SEQ(r) (((r) - 1) / WORKERS)

#ifdef LEASES
#define BASE 16
#else
#define BASE 8
#endif
#define PAYLOAD(w) ((w) % BASE)
#define VERSION(w) ((w) / BASE)
#define LEASED 8
#define IS_LEASED(w) (PAYLOAD(w) >= LEASED)
#define GONE 4
#define IS_GONE(w) ((w) & GONE)
#define COUNT(w) ((w) % 4)

#ifdef BUG_NO_TAG
#define UNAGREED(q) 128
#else
#define UNAGREED(q) (128 + (q))
#endif

/* An operation: word * 8 + code. */
#define TAKE 0   /* one, if the node is there and has it */
#define GIVE 1   /* one */
#define LEAVE 2  /* the node goes, if it is there */
#define ENTER 3  /* payload = CAP; only on a cell that is gone and wholly free */
#define LEASE 4   /* of the first word: sets the flag, if all words of the cell are CAP */
#define UNLEASE 5 /* clears it, if it is set */
#define BREAK 6   /* the same, and the count is 0 */
#define CLEAR 7   /* the count of another word is 0; after BREAK */
#define OP(word, code) ((word) * 8 + (code))
#define OP_WORD(op) ((op) / 8)
#define OP_CODE(op) ((op) % 8)
#define OP_CELL(op) (OP_WORD(op) / WPC)

#if defined(BUG_UNLEASE_BROKEN)
#define HAS_LEASE(code, w) ((code) == UNLEASE || IS_LEASED(w))
#elif defined(BUG_BREAK_BLIND)
#define HAS_LEASE(code, w) ((code) == BREAK || IS_LEASED(w))
#else
#define HAS_LEASE(code, w) IS_LEASED(w)
#endif
#define FITS(code, w)                                                                              \
    ((code) == GIVE || (code) == ENTER || (code) == CLEAR || ((code) == LEAVE && !IS_GONE(w)) ||   \
     ((code) == TAKE && !IS_GONE(w) && COUNT(w) > 0) || ((code) == LEASE && PAYLOAD(w) == CAP) ||  \
     ((code) == UNLEASE && HAS_LEASE(code, w)) || ((code) == BREAK && HAS_LEASE(code, w)))
#define APPLY_LEASE(code, w)                                                                       \
    ((code) == LEASE -> LEASED + CAP : ((code) == UNLEASE -> CAP : 0))
#define APPLY(code, w)                                                                             \
    ((code) == TAKE                                                                                \
         -> PAYLOAD(w) - 1                                                                         \
         : ((code) == GIVE                                                                         \
                -> PAYLOAD(w) + 1                                                                  \
                : ((code) == LEAVE -> COUNT(w) + GONE                                              \
                                   : ((code) == ENTER -> CAP : APPLY_LEASE(code, w)))))
#ifdef BUG_NO_VERSION
#define NEXT(code, w) (VERSION(w) * BASE + APPLY(code, w))
#else
#define NEXT(code, w) ((VERSION(w) + 1) * BASE + APPLY(code, w))
#endif

byte word[WORDS];
byte owner[CELLS];

#ifdef RESERVE
#define ARRAYS 2
#else
#define ARRAYS 1
#endif
typedef array_t {
    byte op[WORDS];
    byte agreed[WORDS];
};
typedef desc_t {
    byte ss;
    byte count;
    byte ops; /* which array */
#ifdef SNAPSHOT
    byte label; /* UNAGREED, or a number */
#endif
    array_t array[ARRAYS];
};
desc_t desc[WORKERS];

/* ---- ghosts ---------------------------------------------------------------------------------- */

byte abs_payload[WORDS];
byte abs_changes[WORDS];       /* decided changes of the word */
byte given_out[WORDS];         /* taken and not given back, of the node now in the cell */
byte over;                     /* threads that ended */
#if READERS || defined(REMOVE)
#define READS
/* Values of one cell, as decided, since the read of it began: bit = value. */
typedef seen_t {
    bool on;
    byte cell;
    int values;
};
seen_t seen[THREADS];
#endif
/* Filling a descriptor, between the store of BUILDING and that of UNDECIDED. Other threads discard
 * what they read meanwhile at their next look at ss, so it is one step. FINE: several, as mutants
 * need that break just this. */
#if WPC == 2
#define ABS_CELL(c) (COUNT(abs_payload[2 * (c)]) * 4 + COUNT(abs_payload[2 * (c) + 1]))
#else
#define ABS_CELL(c) (abs_payload[c])
#endif

#ifdef LEASES
#define ABS_AFTER(code, a)                                                                         \
    ((code) == LEASE -> 0                                                                          \
                     : ((code) == UNLEASE -> CAP                                                   \
                                          : ((code) >= BREAK -> (a) : APPLY(code, a))))
#endif

#ifdef SNAPSHOT
byte number;          /* one word with under_way: read and changed together */
bool under_way;
byte saved[CELLS];     /* 0, or 1 + the word saved for the snapshot */
byte taken;            /* ghost: the number of the snapshot + 1 */
bool snapped;          /* ghost: it is over */
byte cut[WORDS];       /* ghost: the effects of all commits with a label up to its number */
#endif

#ifdef STOP
byte stopped; /* which process; 0: none */
bool ended[THREADS];
bool last_look; /* all others are over or stopped: readers may begin */
#define ALIVE provided (stopped != _pid)
#else
#define ALIVE
#endif

#ifdef REMOVE
/* Read sections, and what a grace period waits for. A description is freed when its node was
 * unlinked and the grace period is over; only then the slot is reused. */
bool in_section[THREADS];
bool awaited[THREADS];
byte generation = 1;           /* of the node linked in cell 0; 0: none */
byte born = 1;                 /* generations so far */
bool freed[4];                 /* the description of a generation */
byte planned[THREADS];         /* generation that the thread read, and means */
#define ENTER_SECTION                                                                              \
    in_section[me] = true;                                                                         \
    atomic { planned[me] = generation; assert(planned[me] == 0 || !freed[planned[me]]) }
#define LEAVE_SECTION                                                                              \
    assert(planned[me] == 0 || !freed[planned[me]]); /* the description may still be read */ \
    atomic { in_section[me] = false; awaited[me] = false; planned[me] = 0 }
#endif

/* The one instant of a commit: all ghosts change here. `t` is the worker, `st` the new status. */
inline decide_ghost(t, st)
{
    d_step {
        g = 0;
        found = false;
        do
        :: g < desc[t].count ->
            e = desc[t].array[desc[t].ops].op[g];
            a = desc[t].array[desc[t].ops].agreed[g];
            if
            :: st == SUCCESS ->
                /* All is claimed and agreed, and the agreed words are the truth of this instant. */
                assert(owner[OP_CELL(e)] == REF(t, SEQ(desc[t].ss)));
                assert(a < 128);
#ifdef LEASES
                assert(FITS(OP_CODE(e), a));
                if
                :: OP_CODE(e) >= UNLEASE -> assert(COUNT(abs_payload[OP_WORD(e)]) == 0)
                :: else -> assert(PAYLOAD(a) == abs_payload[OP_WORD(e)])
                fi;
#else
                assert(PAYLOAD(a) == abs_payload[OP_WORD(e)]);
                assert(FITS(OP_CODE(e), abs_payload[OP_WORD(e)]));
#endif
#ifdef REMOVE
                if
                :: OP_CODE(e) == TAKE && OP_CELL(e) == 0 -> assert(planned[t] == generation)
                :: OP_CODE(e) == ENTER ->
                    assert(abs_payload[OP_WORD(e)] == GONE + CAP && given_out[OP_WORD(e)] == 0)
                :: else
                fi;
#endif
#ifdef SNAPSHOT
                if
#ifdef BUG_LABEL_EACH_ITS_OWN
                :: taken && mark < taken ->
#else
                :: taken && desc[t].label < taken ->
#endif
                    /* In the cut, whose order is that of the commits on each cell. */
                    assert(!snapped);
                    assert(cut[OP_WORD(e)] == abs_payload[OP_WORD(e)]);
#ifdef LEASES
                    cut[OP_WORD(e)] = ABS_AFTER(OP_CODE(e), abs_payload[OP_WORD(e)])
#else
                    cut[OP_WORD(e)] = APPLY(OP_CODE(e), abs_payload[OP_WORD(e)])
#endif
                :: else
                fi;
#endif
#ifdef LEASES
                abs_changes[OP_WORD(e)]++;
                /* A lease is about all words of its cell; to break one changes nothing. */
                if
                :: OP_CODE(e) == LEASE || OP_CODE(e) == UNLEASE ->
                    a = OP_WORD(e);
                    do
                    :: a < OP_WORD(e) + WPC ->
                        assert(COUNT(abs_payload[a]) == (OP_CODE(e) == LEASE -> CAP : 0));
                        abs_payload[a] = ABS_AFTER(OP_CODE(e), abs_payload[a]);
                        given_out[a] = (OP_CODE(e) == LEASE -> CAP : 0);
                        a++
                    :: else -> break
                    od
                :: OP_CODE(e) == BREAK || OP_CODE(e) == CLEAR
                :: else -> abs_payload[OP_WORD(e)] = APPLY(OP_CODE(e), abs_payload[OP_WORD(e)])
                fi;
#else
                abs_payload[OP_WORD(e)] = APPLY(OP_CODE(e), abs_payload[OP_WORD(e)]);
                abs_changes[OP_WORD(e)]++;
#endif
                if
                :: OP_CODE(e) == TAKE -> given_out[OP_WORD(e)]++;
                :: OP_CODE(e) == GIVE -> given_out[OP_WORD(e)]--;
                :: else
                fi;
                /* Never over-committed. */
                assert(COUNT(abs_payload[OP_WORD(e)]) + given_out[OP_WORD(e)] == CAP);
            :: else ->
                if
#ifdef LEASES
                /* Not told to any caller: this commit cannot be as it is, or a lease bars it. */
                :: OP_CODE(e) >= LEASE || IS_LEASED(word[OP_CELL(e) * WPC]) -> found = true
#endif
                :: !FITS(OP_CODE(e), abs_payload[OP_WORD(e)]) -> found = true
                :: else
                fi
            fi;
            g++
        :: else -> break
        od;
        assert(st == SUCCESS || found); /* a refusal is true */
#ifdef READS
        g = 0;
        do
        :: g < THREADS ->
            if
            :: seen[g].on -> seen[g].values = seen[g].values | (1 << ABS_CELL(seen[g].cell))
            :: else
            fi;
            g++
        :: else -> break
        od;
#endif
        g = 0; e = 0; a = 0; found = false
    }
}

/* ---- which worker commits what --------------------------------------------------------------- */

/* `cells`: mask of the cells that the next commit touches; `code`: what it does there.
 *   0  worker 0 takes the gang {0, 1} and gives it back, the others take cell 0 and give it back:
 *      the same payload comes again and again
 *   1  all take the gang and give it back
 *   2  worker 0 the gang {0, 1}, worker 1 {1}, worker 2 {0}
 *   3  worker 0 {0, 1}, worker 1 {1, 2}, worker 2 {2, 0}: a ring
 *   4  all take, and of other cells the second time than the first
 *   5  with REMOVE: worker 0 removes the node of cell 0, brings up another one in its slot and
 *      takes of that; the others take the gang and give it back
 *   6  with LEASES: worker 0 leases cell 0 and ends the lease, the others take of its last word and
 *      give that back
 *   7  with LEASES: worker 0 as before, worker 1 removes the node: it has to break the lease
 *   8  with LEASES: worker 0 leases the gang {0, 1} and ends the leases, the others take cell 0 */
#define CODE (held -> GIVE : TAKE)
#if SCRIPT == 0
#define CELLS_OF (me == 0 -> 3 : 1)
#elif SCRIPT == 1
#define CELLS_OF 3
#elif SCRIPT == 2
#define CELLS_OF (me == 0 -> 3 : (me == 1 -> 2 : 1))
#elif SCRIPT == 3
#define CELLS_OF (me == 0 -> 3 : (me == 1 -> 6 : 5))
#elif SCRIPT == 4
#define CELLS_OF (me == 0 -> (round == 1 -> 3 : 1) : (round == 1 -> 2 : 3))
#undef CODE
#define CODE TAKE
#elif SCRIPT == 5
#define CELLS_OF (me == 0 -> 1 : 3)
#undef CODE
#define CODE (me == 0 -> (round == 1 -> LEAVE : (round == 2 -> ENTER : TAKE)) : (held -> GIVE : TAKE))
#elif SCRIPT >= 6
#define CELLS_OF (SCRIPT == 8 && me == 0 -> 3 : 1)
#undef CODE
#define CODE                                                                                       \
    (me == 0 -> (held -> (broken -> GIVE : UNLEASE) : LEASE)                                       \
             : (SCRIPT == 7 -> LEAVE : (held -> GIVE : TAKE)))
#endif
#ifdef LEASES
/* Which words of a cell the commit is about. */
#define ABOUT(i)                                                                                   \
    (code >= LEASE && code != BREAK || code == LEAVE                                               \
         -> (i) % WPC == 0                                                                         \
         : (SCRIPT != 6 || me == 0 || code == BREAK || (i) % WPC == WPC - 1))
#define CODE_OF(i) (code == BREAK && (i) % WPC > 0 -> CLEAR : code)
#else
#define ABOUT(i) true
#define CODE_OF(i) code
#endif

/* ---- a thread -------------------------------------------------------------------------------- */

/* Is the thread the owner of the commit that it carries on now? */
#define IS_OWNERS (own && t == mine_t && q == mine_q)
#ifdef LEASES
#define KEEPS_CLAIM (IS_OWNERS && STATUS(ss) == SUCCESS && OP_CODE(op) == LEASE)
#endif
#define MY_OPS desc[me].array[desc[me].ops]
#define OPS_OF(t) desc[t].array[ops]
#ifdef REMOVE
#define OPS_OF_WORKER (me == 0 -> 3 : OPS)
#else
#define OPS_OF_WORKER OPS
#endif

proctype thread(byte me) ALIVE
{
    byte seq;              /* of the last operation */
    byte round;            /* commits done */
    bool held;             /* takes and gives back in turn */
    byte code, cells;
    byte mine_t, mine_q;   /* run(): the commit that is driven, */
    byte my_place;
    byte t, q, i;          /* and the one that is carried on now */
    bool own;              /* the thread is the owner of mine */
    byte count, ops;       /* list_of() */
    byte op;               /* operation_of() */
    byte w, ss, holder;
#ifdef SNAPSHOT
    byte mark; /* number that was read, label */
#endif
    bool fits;
#ifdef LEASES
    bool broken;           /* the lease that is held was broken */
    bool breaks;           /* this commit is to break leases; the other one comes after it */
    bool barred;           /* the claimed cell is leased, and the commit is not about that */
#endif
    byte g, e, a;          /* ghosts' scratch */
    bool found;
#ifdef READS
    byte cell;
    byte look[WPC];
#ifdef SNAPSHOT
    byte got[CELLS];
#endif
#if SCRIPT == 1 && OPS == 1 && CELLS == 2
    byte before;
#endif
#endif

    atomic {
#ifdef ONE_EACH
        cell = (me >= WORKERS -> me - WORKERS : 0);
#endif
#ifdef HOLDING
        held = me > 0;
#endif
        if
        :: me >= WORKERS -> goto READ
        :: else
        fi
    }
#ifdef GUIDE
    if
    :: me == 0 -> (desc[1].ss == SS(1, SUCCESS) && owner[0] == 0)
    :: else
    fi;
#endif

    /* ---- the owner's side: gang__commit_reserve, _begin, _add, _run ---- */
NEXT_OP:
    atomic {
        if
        :: round == OPS_OF_WORKER -> goto END
        :: else
        fi;
        round++;
        code = CODE;
        cells = CELLS_OF;
    }
#ifdef REMOVE
    if
    :: me == 0 && round == 2 -> goto DRAIN
    :: me == 0 && round == 3 -> planned[me] = generation /* it holds the structure mutex */
    :: me > 0 ->
        ENTER_SECTION;
        if
        :: planned[me] == 0 && !held -> /* no node there: nothing to plan with */
            LEAVE_SECTION;
            goto NEXT_OP
        :: else
        fi
    :: else
    fi;
#endif
BUILD:
#ifdef LEASES
    atomic {
        code = (breaks -> BREAK : CODE);
        cells = (breaks -> 0 : CELLS_OF);
        i = 0;
        do
        :: i < CELLS ->
            if
            :: breaks && ((CELLS_OF >> i) & 1) && IS_LEASED(word[i * WPC]) -> cells = cells | (1 << i)
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0;
        if
        :: breaks && cells == 0 -> breaks = false; goto BUILD
        :: else
        fi
    }
#endif
#ifdef RESERVE
    if
    :: round == 2 ->
#ifndef BUG_RESERVE_KEEPS_SEQ
        atomic { seq++; desc[me].ss = SS(seq, BUILDING) };
#endif
        desc[me].count = 0;
        desc[me].ops = 1
    :: else
    fi;
#endif
#ifndef BUG_LATE_SEQ
    atomic { seq++; desc[me].ss = SS(seq, BUILDING) }
#else
    seq++;
#endif
#ifndef FINE
    atomic
#endif
    {
        desc[me].count = 0;
#ifdef SNAPSHOT
        desc[me].label = UNAGREED(seq);
#endif
        i = 0;
        do
        :: i < WORDS && ((cells >> (i / WPC)) & 1) && ABOUT(i) ->
            w = desc[me].count;
            MY_OPS.op[w] = OP(i, CODE_OF(i));
            MY_OPS.agreed[w] = UNAGREED(seq);
            desc[me].count = w + 1;
            w = 0;
            i++
        :: i < WORDS && !(((cells >> (i / WPC)) & 1) && ABOUT(i)) -> i++
        :: i == WORDS -> break
        od;
        i = 0
    }
    atomic {
        code = 0;
        cells = 0;
        own = true;
        mine_t = me;
        mine_q = seq;
        desc[me].ss = SS(seq, UNDECIDED)
    }

    /* ---- run(): drive `mine` to its end; whatever stands in the way first ---- */
RUN:
    t = mine_t; q = mine_q;

    /* ---- carry() ---- */
CARRY:
#ifdef RESERVE
    ops = desc[t].ops;
#endif
    atomic { count = desc[t].count; fits = true };
    ss = desc[t].ss;
#if defined(SNAPSHOT) && defined(BUG_LABEL_BEFORE_CLAIMS)
    if
    :: ss == SS(q, UNDECIDED) ->
        mark = number;
        atomic {
            if
            :: desc[t].label == UNAGREED(q) -> desc[t].label = mark
            :: else
            fi;
#ifndef BUG_LABEL_EACH_ITS_OWN
            mark = 0
#endif
        }
    :: else
    fi;
#endif
CLAIM:
    if
    :: ss == SS(q, UNDECIDED) && fits && i < count
    :: else -> goto CARRIED
    fi;
    op = OPS_OF(t).op[i];
    atomic {
        ss = desc[t].ss;
        if
        :: ss != SS(q, UNDECIDED) -> goto CARRIED
        :: else
        fi
    }
    atomic {
        holder = owner[OP_CELL(op)];
        if
        :: holder == REF(t, q) -> goto AGREE
#ifdef BUG_REPLACES_CLAIMS
        :: holder != 0 && holder != REF(t, q) && IS_OWNERS ->
            owner[OP_CELL(op)] = REF(t, q);
            goto AGREE
        :: holder != 0 && holder != REF(t, q) && !IS_OWNERS -> goto BLOCKED
#else
        :: holder != 0 && holder != REF(t, q) -> goto BLOCKED
#endif
        :: holder == 0
        fi
    }
    atomic {
        if
        :: owner[OP_CELL(op)] == 0 -> owner[OP_CELL(op)] = REF(t, q); goto AGREE
#ifdef BUG_NO_CLAIM_CHECK
        :: else -> goto AGREE
#else
        :: else -> goto CLAIM
#endif
        fi
    }
BLOCKED: /* blocker_of() */
    atomic {
        w = desc[REF_WORKER(holder)].ss;
        if
        :: SEQ(w) == REF_SEQ(holder) && !IS_OVER(w) ->
            /* Follow the blocker; come back to one's own from its place. No stack. */
            w = 0;
#ifdef BUG_WAIT
            holder = 0;
            goto CLAIM;
#else
            if
            :: t == mine_t && q == mine_q -> my_place = i
            :: else
            fi;
            t = REF_WORKER(holder);
            q = REF_SEQ(holder);
            i = 0;
            holder = 0;
            goto CARRY
#endif
        :: else -> w = 0
        fi
    }
    atomic { /* left by a commit that is over */
        if
#ifdef LEASES
        :: owner[OP_CELL(op)] == holder && IS_OWNERS &&
            (OP_CODE(op) == LEASE || OP_CODE(op) == UNLEASE) ->
            owner[OP_CELL(op)] = REF(t, q);
            goto AGREE
        :: owner[OP_CELL(op)] == holder && !(IS_OWNERS &&
            (OP_CODE(op) == LEASE || OP_CODE(op) == UNLEASE)) ->
            owner[OP_CELL(op)] = 0
#else
        :: owner[OP_CELL(op)] == holder -> owner[OP_CELL(op)] = 0
#endif
        :: else
        fi;
        holder = 0;
        goto CLAIM
    }
AGREE:
    holder = 0;
#ifdef LEASES
#ifdef BUG_TAKE_WITHOUT_HEAD
    barred = IS_LEASED(word[OP_CELL(op) * WPC]) && OP_CODE(op) < LEASE && OP_WORD(op) % WPC == 0;
#else
    barred = IS_LEASED(word[OP_CELL(op) * WPC]) && OP_CODE(op) < LEASE;
#endif
#endif
AGREE_WORD:
    w = word[OP_WORD(op)];
#ifdef LEASES
    if
    :: barred -> w = VERSION(w) * BASE
#if WPC == 2 && !defined(BUG_LEASE_HEAD_ONLY)
    :: !barred && OP_CODE(op) == LEASE && PAYLOAD(word[OP_WORD(op) + 1]) != CAP ->
        w = VERSION(w) * BASE
#endif
    :: else
    fi;
#endif
#ifdef BUG_OWNER_BLIND
    if
    :: own && t == mine_t && q == mine_q -> goto NOTE
    :: else
    fi;
#endif
    atomic {
        ss = desc[t].ss;
        if
        :: ss != SS(q, UNDECIDED) -> w = 0; goto CARRIED
        :: else
        fi
    }
NOTE:
    atomic {
        if
#ifdef BUG_HELPERS_STORE
        :: true -> OPS_OF(t).agreed[i] = w
#else
        :: own && t == mine_t && q == mine_q -> OPS_OF(t).agreed[i] = w
        :: else ->
            if
            :: OPS_OF(t).agreed[i] == UNAGREED(q) -> OPS_OF(t).agreed[i] = w
            :: else
            fi
#endif
        fi;
        if
        :: !FITS(OP_CODE(op), w) -> fits = false; w = 0; goto CARRIED
        :: else -> i++; w = 0
        fi
    }
#ifdef LEASES
#define TO_CLAIM atomic { fits = !barred; barred = false; goto CLAIM }
#else
#define TO_CLAIM goto CLAIM
#endif
#if WPC == 1 && !defined(FINE)
    TO_CLAIM;
#else
    if
    :: i < count
    :: else -> TO_CLAIM
    fi;
    atomic {
        e = OPS_OF(t).op[i];
        if
        :: OP_CELL(e) == OP_CELL(op) -> op = e; e = 0; goto AGREE_WORD
        :: else -> e = 0; TO_CLAIM
        fi
    }
#endif
CARRIED:
#ifdef LEASES
    barred = false;
#endif
    if
    :: ss == SS(q, UNDECIDED) ->
#if defined(SNAPSHOT) && !defined(BUG_LABEL_BEFORE_CLAIMS)
        mark = number;
        atomic {
            if
            :: desc[t].label == UNAGREED(q) -> desc[t].label = mark
            :: else
            fi;
#ifndef BUG_LABEL_EACH_ITS_OWN
            mark = 0
#endif
        }
#endif
        atomic {
            if
            :: desc[t].ss == SS(q, UNDECIDED) ->
                decide_ghost(t, (fits -> SUCCESS : REFUSED));
                desc[t].ss = SS(q, (fits -> SUCCESS : REFUSED));
                found = true
            :: else
            fi
        }
        if
        :: found ->
progress_decided:
            found = false
        :: else
        fi;
        ss = desc[t].ss
    :: else
    fi;
    if
    :: SEQ(ss) == q && (STATUS(ss) == SUCCESS || STATUS(ss) == REFUSED) -> skip
    :: else -> goto CARRY_OVER
    fi;

    /* ---- finish() ---- */
#ifdef RESERVE
    ops = desc[t].ops;
#endif
    count = desc[t].count;
    atomic {
        i = 0;
        if
        :: desc[t].ss != ss -> goto CARRY_OVER
        :: else
        fi
    }
#ifdef SNAPSHOT
#ifdef BUG_LABEL_EACH_ITS_OWN
    mark = (mark -> mark : number);
#else
    mark = desc[t].label;
#endif
    atomic {
        if
        :: desc[t].ss != ss -> mark = 0; goto CARRY_OVER
        :: else
        fi
    }
    atomic { mark = (STATUS(ss) == SUCCESS && under_way && number - 1 < mark) }
#endif
#ifdef BUG_SETTLED_EARLY
    op = OPS_OF(t).op[0];
    atomic {
        if
        :: KEEPS_CLAIM -> desc[t].ss = SS(q, SETTLED)
        :: else
        fi
    }
#endif
FINISH:
    if
    :: i < count
#ifdef LEASES
    :: i >= count && KEEPS_CLAIM -> desc[t].ss = SS(q, SETTLED); goto CARRY_OVER
    :: i >= count && !KEEPS_CLAIM -> goto CARRY_OVER
#else
    :: else -> goto CARRY_OVER
#endif
    fi;
#ifdef FINE
    op = OPS_OF(t).op[i];
FINISH_WORD:
    w = OPS_OF(t).agreed[i];
#else
    atomic { op = OPS_OF(t).op[i]; w = OPS_OF(t).agreed[i] }
#if WPC == 2
FINISH_WORD:
#endif
#endif
#ifndef BUG_FINISH_BLIND
    atomic {
        if
#ifdef BUG_SETTLED_EARLY
        :: desc[t].ss != ss && !IS_OWNERS -> goto CARRY_OVER
#else
        :: desc[t].ss != ss -> goto CARRY_OVER
#endif
        :: else
        fi
    }
#endif
#ifdef BUG_RELEASE_FIRST
    atomic {
        if
        :: owner[OP_CELL(op)] == REF(t, q) -> owner[OP_CELL(op)] = 0
        :: else
        fi
    }
#endif
#if defined(SNAPSHOT) && !defined(BUG_SAVE_LATE)
    if
    :: mark ->
        atomic {
            if
            :: saved[OP_CELL(op)] == 0 -> saved[OP_CELL(op)] = 1 + w
            :: else
            fi
        }
    :: else
    fi;
#endif
    atomic {
        if
        :: STATUS(ss) == SUCCESS && word[OP_WORD(op)] == w ->
            word[OP_WORD(op)] = NEXT(OP_CODE(op), w);
            /* Each decided change is written once, and it is the last one decided. */
            assert(PAYLOAD(word[OP_WORD(op)]) == abs_payload[OP_WORD(op)] ||
                   (IS_LEASED(word[OP_WORD(op)]) && abs_payload[OP_WORD(op)] == 0));
#ifndef BUG_NO_VERSION
            assert(VERSION(word[OP_WORD(op)]) == abs_changes[OP_WORD(op)])
#endif
        :: else
        fi;
#if !defined(SNAPSHOT) || !defined(BUG_SAVE_LATE)
        w = 0;
#endif
        i++
    }
#if WPC == 2 || defined(FINE)
    if
    :: i < count ->
        atomic {
            e = OPS_OF(t).op[i];
            if
            :: OP_CELL(e) == OP_CELL(op) ->
                op = e;
                e = 0;
#ifndef FINE
                w = OPS_OF(t).agreed[i];
#endif
                goto FINISH_WORD
            :: else -> e = 0
            fi
        }
    :: else
    fi;
#endif
#ifndef BUG_RELEASE_FIRST
    atomic {
        if
#ifdef LEASES
        :: owner[OP_CELL(op)] == REF(t, q) && !KEEPS_CLAIM -> owner[OP_CELL(op)] = 0
#else
        :: owner[OP_CELL(op)] == REF(t, q) -> owner[OP_CELL(op)] = 0
#endif
        :: else
        fi
    }
#endif
#if defined(SNAPSHOT) && defined(BUG_SAVE_LATE)
    if
    :: mark ->
        atomic {
            if
            :: saved[OP_CELL(op)] == 0 -> saved[OP_CELL(op)] = 1 + w
            :: else
            fi
        }
    :: else
    fi;
    w = 0;
#endif
    goto FINISH;

CARRY_OVER:
    atomic {
#ifdef SNAPSHOT
        mark = 0;
#endif
        op = 0; w = 0; count = 0; ops = 0; fits = false; ss = 0; holder = 0;
        if
        :: t == mine_t && q == mine_q ->
            i = 0; my_place = 0; t = 0; q = 0; mine_t = 0; mine_q = 0;
            if
#ifdef READS
            :: !own -> goto SETTLE
#endif
            :: own -> own = false
            fi
        :: else -> t = mine_t; q = mine_q; i = my_place; goto CARRY
        fi
    }

    /* ---- the commit is over; what did it say? ---- */
    atomic {
        assert(SEQ(desc[me].ss) == seq);
#ifdef LEASES
        if
        :: breaks -> breaks = false; goto BUILD
        :: !breaks && desc[me].ss == SS(seq, REFUSED) ->
            /* Does an agreed word refuse, or leases alone? */
            i = 0;
            do
            :: i < desc[me].count ->
                if
                :: MY_OPS.agreed[i] < 128 && !FITS(OP_CODE(MY_OPS.op[i]), MY_OPS.agreed[i]) ->
                    break
                :: else -> i++
                fi
            :: else -> break
            od;
            if
            :: i == desc[me].count -> i = 0; breaks = true; goto BUILD
            :: i < desc[me].count && OP_CODE(MY_OPS.op[i]) == UNLEASE ->
                i = 0;
                broken = true;
                goto BUILD
            :: else -> i = 0
            fi
        :: else -> broken = false
        fi;
#endif
        if
        :: desc[me].ss == SS(seq, SUCCESS) -> held = !held
#ifdef LEASES
        :: desc[me].ss == SS(seq, SETTLED) -> held = !held
#endif
        :: desc[me].ss == SS(seq, REFUSED)
        :: else -> assert(false)
        fi
    }
#ifdef REMOVE
    if
    :: me > 0 -> LEAVE_SECTION
    :: else
    fi;
#endif
    goto NEXT_OP;

#ifdef REMOVE
    /* ---- gang__drain_removed(), gang__reclaim(), enter(): under the structure mutex ---- */
DRAIN:
    goto READ;
DRAINED:
    if
    :: look[0] % 8 != GONE + CAP -> goto END /* still held: it stays for a later reclaim */
    :: else
    fi;
    look[0] = 0;
    generation = 0;
#ifndef BUG_NO_GRACE
    atomic {
        for (g : 0 .. (THREADS - 1)) {
            awaited[g] = in_section[g]
        }
        g = 0
    }
    i = 0;
    do
    :: i < THREADS -> !awaited[i]; i++
    :: else -> break
    od;
    i = 0;
#endif
    freed[born] = true;
#ifdef BUG_VERSION_RESET
    atomic { word[0] = PAYLOAD(word[0]); abs_changes[0] = 0 }
#endif
    atomic { born++; generation = born }
    goto BUILD;
#endif

    /* ---- gang__cell_read() of each cell in turn ---- */
READ:
#ifdef READS
#ifdef SNAPSHOT
    if
    :: cell == 0 ->
        atomic {
            taken = number + 1;
            number++;
            under_way = true;
            for (g : 0 .. (WORDS - 1)) {
                cut[g] = abs_payload[g]
            }
            g = 0
        }
    :: else
    fi;
#endif
    if
#ifdef SNAPSHOT
    :: cell == CELLS ->
        under_way = false;
        goto END
#else
    :: cell == CELLS -> goto END
#endif
#ifdef ONE_EACH
    :: me >= WORKERS && cell > me - WORKERS -> goto END
    :: else
#else
    :: else
#endif
    fi;
#ifdef STOP
    last_look;
#endif
#ifdef GUIDE
    if
    :: me == 3 -> (awaited[2] && owner[1] != 0)
    :: else
    fi;
#endif
#if defined(REMOVE) && !defined(BARE)
    if
    :: me >= WORKERS -> ENTER_SECTION
    :: else
    fi;
#endif
    atomic { /* the read begins with its first look */
        seen[me].on = true;
        seen[me].cell = cell;
        seen[me].values = 1 << ABS_CELL(cell);
        holder = owner[cell];
        if
#ifdef BUG_NO_SETTLE
        :: true -> holder = 0; goto LOOK
#else
        :: holder == 0 -> goto LOOK
        :: else -> goto HELD
#endif
        fi
    }
SETTLE:
    atomic {
        holder = owner[cell];
        if
        :: holder == 0 -> goto LOOK
        :: else
        fi
    }
HELD:
    atomic { /* blocker_of() */
        w = desc[REF_WORKER(holder)].ss;
        if
        :: SEQ(w) == REF_SEQ(holder) && !IS_OVER(w) ->
            own = false;
            mine_t = REF_WORKER(holder);
            mine_q = REF_SEQ(holder);
            holder = 0;
            w = 0;
            goto RUN
        :: else -> w = 0
        fi
    }
    atomic {
        if
        :: owner[cell] == holder -> owner[cell] = 0
        :: else
        fi;
        holder = 0;
        goto SETTLE
    }
LOOK:
    look[0] = word[cell * WPC];
#if WPC == 2
    look[1] = word[cell * WPC + 1];
#endif
#if !defined(BUG_ONE_LOOK) && !defined(BUG_NO_SETTLE)
    atomic {
        if
        :: owner[cell] != 0 -> goto SETTLE
        :: else
        fi
    }
#ifndef BUG_ONE_COLLECT
    atomic {
        if
        :: word[cell * WPC] != look[0] -> goto SETTLE
        :: else
        fi
    }
#if WPC == 2
    atomic {
        if
        :: word[cell * WPC + 1] != look[1] -> goto SETTLE
        :: else
        fi
    }
#endif
#endif
#endif
#if defined(LEASES) && !defined(BUG_READER_RAW)
    d_step {
        if
        :: IS_LEASED(look[0]) ->
            look[0] = 0;
#if WPC == 2
            look[1] = 0
#endif
        :: else
        fi
    }
#endif
    d_step {
#if SCRIPT == 1 && OPS == 1 && CELLS == 2
        /* All take the gang {0, 1} and nothing else happens: half a gang was seen if fewer are
         * taken of cell 1, read later, than of cell 0. */
        if
        :: cell == 0 -> before = COUNT(look[0])
        :: else -> assert(COUNT(look[0]) <= before)
        fi;
#endif
        /* What was read was true at one instant of the read. */
#if WPC == 2
        assert((seen[me].values >> (COUNT(look[0]) * 4 + COUNT(look[1]))) & 1);
#else
        assert((seen[me].values >> PAYLOAD(look[0])) & 1);
#endif
#if WPC == 2
        look[1] = 0;
#endif
        seen[me].on = false;
        seen[me].cell = 0;
        seen[me].values = 0;
        cell++
    }
#ifdef SNAPSHOT
    atomic { /* what was saved of it is older than what was read */
        got[cell - 1] = (saved[cell - 1] -> saved[cell - 1] - 1 : look[0]);
        got[cell - 1] = PAYLOAD(got[cell - 1]);
#if defined(LEASES) && !defined(BUG_READER_RAW)
        got[cell - 1] = (IS_LEASED(got[cell - 1]) -> 0 : got[cell - 1]);
#endif
        if
        :: cell == CELLS ->
            for (g : 0 .. (CELLS - 1)) {
                assert(got[g] == cut[g]);
                got[g] = 0
            }
            g = 0;
            snapped = true
        :: else
        fi
    }
#endif
#ifdef REMOVE
    if
    :: me == 0 -> goto DRAINED
    :: else
    fi;
#ifndef BARE
    LEAVE_SECTION;
#endif
#endif
    look[0] = 0;
    goto READ;
#endif

END:
    atomic {
#ifdef STOP
        ended[me] = true;
#endif
        over++
    }
}

#ifdef STOP
/* Stops one worker for ever, whenever it likes, or none. */
proctype stopper()
{
    byte g;
    if
    :: atomic { select (g : 1 .. WORKERS); stopped = g } /* their process numbers */
    :: skip
    fi
}
#endif

init
{
    byte g;
    atomic {
        for (g : 0 .. (WORDS - 1)) {
#ifdef HOLDING
            word[g] = 2 * 8 + CAP - 1; /* entered, then taken */
            abs_payload[g] = CAP - 1;
            abs_changes[g] = 2;
            given_out[g] = 1
#else
            word[g] = CAP;
            abs_payload[g] = CAP
#endif
        }
        for (g : 0 .. (THREADS - 1)) {
            run thread(g)
        }
#ifdef STOP
        run stopper();
#endif
        g = 0
    }
#ifdef STOP
    /* `timeout`: no thread can take a step any more. Every thread that was not stopped has ended;
     * then the readers end, and nothing but what they settle is left. */
    atomic { timeout -> last_look = true };
    atomic {
        timeout -> assert(over + (stopped && !ended[stopped - 1] -> 1 : 0) == THREADS)
    }
#else
    (over == THREADS);
#endif
    /* No grant is lost, and nothing decided is left unwritten. (A claim may be left over.) */
    atomic {
        for (g : 0 .. (WORDS - 1)) {
            if
            :: IS_LEASED(word[g - g % WPC]) -> assert(abs_payload[g] == 0 && given_out[g] == CAP)
            :: else ->
                assert(PAYLOAD(word[g]) == abs_payload[g]);
                assert(COUNT(word[g]) + given_out[g] == CAP)
            fi
        }
    }
}
