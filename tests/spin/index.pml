/* SPDX-License-Identifier: Apache-2.0 */
/* The free-capacity index of lib/core/commit/index.c, and with it the promise that a refusal is
 * true, as a Promela model. Every load, store and compare-and-swap of an index word is a step of
 * its own.
 *
 * Commits are one step here; commit.pml shows that they are. But a commit that gives back is first
 * visible as a claim, then it raises index and stamp, then it is decided, and a thread that meets
 * its claim does all that for it. Two nodes under one leaf word, two rows, trees of TREE words.
 *
 * Promises
 *   A search from the highest row down that meets no node that fits, and sees the stamp unchanged,
 *   ends at an instant when no node fits.
 *   At rest each node is found in a row at or above its bucket (I1), through words that are marked
 *   in their parents (I2).
 *
 * Index word  version * 16 + state * 4 + bits.
 *
 * Parameters (-D)
 *   BUCKET0, BUCKET1  bucket of each node at the start; node n stands in row bucket - 1
 *   GIVERS, TAKERS, SEARCHERS  threads of each sort: one bucket up, one bucket down, one search.
 *   The
 *                   first of a sort is about node 0; ON_BOTH: the second is about node 1
 *   TREE            words from the leaf to the root; 4 in the code
 *   WANT            bucket that is searched for
 *   UNREAD          a commit takes its node out of a row against the word that it read while it
 *                   held its claim, and does not read the node again (index_move.c); without
 *                   it, as gang__index_update() does
 *   BUG_...         mutants; each must be caught */
#ifndef BUCKET0
#define BUCKET0 1
#endif
#ifndef BUCKET1
#define BUCKET1 0
#endif
#ifndef GIVERS
#define GIVERS 1
#endif
#ifndef TAKERS
#define TAKERS 1
#endif
#ifndef SEARCHERS
#define SEARCHERS 1
#endif
#ifndef WANT
#define WANT 1
#endif
#define THREADS (GIVERS + TAKERS + SEARCHERS)
#define NODES 2
#define ROWS 2
#ifndef TREE
#define TREE 2
#endif

#define CLOSED 0
#define OPENING 1
#define OPEN 2
#define BITS(w) ((w) & 3)
#define STATE(w) (((w) >> 2) & 3)
#define VERSION_ONE 16
/* The word with these bits and this state, at the next version. */
#define WORD(w, bits, state) (((w) & ~15) + VERSION_ONE + (state) * 4 + (bits))
#define BIT_OF(depth, n) ((depth) == 0 -> 1 << (n) : 1)

typedef tree_t {
    short word[TREE];
};
tree_t tree[ROWS];
byte stamp;
byte bucket[NODES];  /* as decided */
byte claim[NODES];  /* the giver that claims it: 1 + its number */
byte over;

#define CAS(loc, from, to, won)                                                                    \
    atomic {                                                                                       \
        if                                                                                         \
        :: loc == from -> loc = to; won = true                                                     \
        :: else -> won = false                                                                     \
        fi                                                                                         \
    }

inline set_bit(b, n)
{
    at = 0;
    do
    :: at < TREE ->
        old = tree[b].word[at];
        wrote[at] = WORD(old, BITS(old) | BIT_OF(at, n), (STATE(old) == OPEN -> OPEN : OPENING));
#ifdef BUG_SET_WITHOUT_VERSION
        if
        :: BITS(old) & BIT_OF(at, n) -> wrote[at] = old
        :: else
        fi;
#endif
        CAS(tree[b].word[at], old, wrote[at], won);
        if
#ifdef BUG_RELIES_ON_OTHERS
        :: won && STATE(old) != CLOSED -> break
        :: won && STATE(old) == CLOSED -> at++
#else
        :: won && STATE(old) == OPEN -> break
        :: won && STATE(old) != OPEN -> at++
#endif
        :: else
        fi
    :: else -> break
    od;
    do
    :: at > 0 ->
        at--;
        if
        :: at + 1 < TREE -> old = tree[b].word[at + 1]
        :: else
        fi;
        if
        :: at + 1 == TREE || (STATE(old) == OPEN && (BITS(old) & 1)) ->
            CAS(tree[b].word[at], wrote[at], WORD(wrote[at], BITS(wrote[at]), OPEN), won)
        :: else
        fi
    :: else -> break
    od;
    atomic { old = 0; won = false; wrote[0] = 0; wrote[1] = 0; wrote[TREE - 1] = 0; at = 0 }
}

/* close_empty() from the leaf. */
inline close_empty(b)
{
    at = 0;
    do
    :: at + 1 < TREE ->
        old = tree[b].word[at];
        if
        :: BITS(old) -> break
        :: else
        fi;
#ifndef BUG_NO_STATES
        if
        :: STATE(old) != CLOSED ->
            CAS(tree[b].word[at], old, WORD(old, BITS(old), CLOSED), won);
            if
            :: won -> old = WORD(old, BITS(old), CLOSED); won = false
            :: else -> break
            fi
        :: else
        fi;
#endif
        wrote[0] = tree[b].word[at + 1];
#ifdef BUG_NO_STATES
        won = wrote[0] & 1;
#else
        won = tree[b].word[at] == old && (wrote[0] & 1);
#endif
        if
        :: won
        :: else -> break
        fi;
        CAS(tree[b].word[at + 1], wrote[0], WORD(wrote[0], BITS(wrote[0]) & 2, STATE(wrote[0])), won);
        if
        :: won -> won = false
        :: else -> break
        fi;
        at++
    :: else -> break
    od;
    atomic { old = 0; won = false; wrote[0] = 0; at = 0 }
}

/* Carry on the giver that claims node n: raise the index, then the stamp, then decide. */
inline settle(n)
{
    do
    :: claim[n] != 0 ->
        atomic {
            holder = claim[n];
            now = bucket[n] + 1
        }
        if
        :: holder -> carry(n, holder)
        :: else
        fi;
        atomic { now = 0; holder = 0 }
    :: atomic { claim[n] == 0 -> now = bucket[n]; break }
    od
}

inline carry(n, who)
{
#if !defined(BUG_RAISE_LATE)
    set_bit(now - 1, n);
#endif
#ifndef BUG_STAMP_LATE
    stamp++;
#endif
    atomic {
        if
        :: claim[n] == who ->
            bucket[n] = now;
            claim[n] = 0
        :: else
        fi
    }
#ifdef BUG_RAISE_LATE
    set_bit(now - 1, n);
#endif
#ifdef BUG_STAMP_LATE
    stamp++;
#endif
}

/* gang__index_repair(): take node n out of row b, unless it belongs there. */
inline repair(b, n)
{
    seen = tree[b].word[0];
    if
    :: BITS(seen) & (1 << n) ->
        settle(n);
        if
        :: now == b + 1
        :: else ->
#ifndef BUG_CLEAR_BEFORE_SET
            if
            :: now > 0 -> bucket_set = now; set_bit(bucket_set - 1, n)
            :: else
            fi;
#endif
            CAS(tree[b].word[0], seen, WORD(seen, BITS(seen) & ~(1 << n), STATE(seen)), won);
            if
            :: won && BITS(seen) == 1 << n -> won = false; close_empty(b)
            :: else -> won = false
            fi
#ifdef BUG_CLEAR_BEFORE_SET
            ;
            if
            :: now > 0 -> bucket_set = now; set_bit(bucket_set - 1, n)
            :: else
            fi
#endif
        fi
    :: else
    fi;
    atomic { seen = 0; now = 0; bucket_set = 0 }
}

/* gang__index_moves_update(): node n stood in row b before this thread's commit, which left
 * it in bucket `now`. `seen`: the word of row b, read before that commit was decided. */
inline leave(b, n)
{
#ifdef BUG_SEEN_LATE
    seen = tree[b].word[0];
#endif
#ifndef BUG_LEAVE_BEFORE_SET
    if
    :: now > 0 -> bucket_set = now; set_bit(bucket_set - 1, n)
    :: else
    fi;
#endif
    if
    :: BITS(seen) & (1 << n) ->
        CAS(tree[b].word[0], seen, WORD(seen, BITS(seen) & ~(1 << n), STATE(seen)), won);
        if
        :: won && BITS(seen) == 1 << n -> won = false; close_empty(b)
        :: won && BITS(seen) != 1 << n -> won = false
        :: else -> now = 0; bucket_set = 0; repair(b, n)
        fi
    :: else
    fi;
#ifdef BUG_LEAVE_BEFORE_SET
    if
    :: now > 0 -> bucket_set = now; set_bit(bucket_set - 1, n)
    :: else
    fi;
#endif
    atomic { seen = 0; now = 0; bucket_set = 0 }
}

#ifdef ON_BOTH
#define NODE_OF(k) (k)
#else
#define NODE_OF(k) 0
#endif

proctype giver(byte k)
{
    short old, seen, wrote[TREE];
    byte at, now, holder, bucket_set, was;
    bool won;
    /* claim */
    do
    :: settle(NODE_OF(k));
        atomic {
            now = 0;
            if
            :: claim[NODE_OF(k)] == 0 -> claim[NODE_OF(k)] = 1 + k; was = bucket[NODE_OF(k)]; break
            :: else
            fi
        }
    od;
#ifdef UNREAD
    if
    :: was > 0 -> seen = tree[was - 1].word[0]
    :: else
    fi;
#endif
    now = was + 1;
    carry(NODE_OF(k), 1 + k);
    now = 0;
    /* gang__index_update(); now = 0: the row of the new bucket was set before the decision */
    if
#ifdef UNREAD
    :: was > 0 -> leave(was - 1, NODE_OF(k))
#else
    :: was > 0 -> repair(was - 1, NODE_OF(k))
#endif
    :: else
    fi;
    over++
}

#ifdef UNREAD
/* A claim that only takes is not seen by others before its decision, which is one step here. What it
 * reads before that is the bucket hint and the word of its row. */
proctype taker(byte k)
{
    short old, seen, wrote[TREE];
    byte at, now, holder, bucket_set, was;
    bool won;
    was = bucket[NODE_OF(k)];
    if
    :: was > 0 -> seen = tree[was - 1].word[0]
    :: else
    fi;
    do
    :: settle(NODE_OF(k));
        atomic {
            now = 0;
            if
            :: claim[NODE_OF(k)] == 0 && bucket[NODE_OF(k)] > 0 ->
                now = bucket[NODE_OF(k)] - 1;
                bucket[NODE_OF(k)] = now;
                break
            :: claim[NODE_OF(k)] == 0 && bucket[NODE_OF(k)] == 0 -> was = 0; break /* refused */
            :: else
            fi
        }
    od;
    if
    :: was > 0 && now != was -> leave(was - 1, NODE_OF(k))
    :: else -> atomic { seen = 0; now = 0 }
    fi;
    over++
}
#else
proctype taker(byte k)
{
    short old, seen, wrote[TREE];
    byte at, now, holder, bucket_set, was;
    bool won;
    do
    :: settle(NODE_OF(k));
        atomic {
            now = 0;
            if
            :: claim[NODE_OF(k)] == 0 && bucket[NODE_OF(k)] > 0 ->
                was = bucket[NODE_OF(k)];
                bucket[NODE_OF(k)] = was - 1;
                break
            :: claim[NODE_OF(k)] == 0 && bucket[NODE_OF(k)] == 0 -> break /* refused */
            :: else
            fi
        }
    od;
    if
    :: was > 0 ->
        /* gang__index_update(): set the rows of now, then take the node out of where it stood */
        settle(NODE_OF(k));
        if
        :: now != was -> now = 0; repair(was - 1, NODE_OF(k))
        :: else
        fi
    :: else
    fi;
    over++
}
#endif

proctype searcher(byte k)
{
    short old, seen, wrote[TREE];
    byte at, now, holder, bucket_set, stamp_was, row, n;
    bool won;
AGAIN:
    stamp_was = stamp;
#ifdef BUG_SEARCH_UP
    row = WANT - 1;
#else
    row = ROWS - 1;
#endif
ROW:
    n = 0;
NODE: /* gang__index_next() from n, from the root down; a word without the bit ends it */
    if
    :: n < NODES && (tree[row].word[TREE - 1] & 1)
    :: else -> goto NEXT
    fi;
#if TREE == 3
    if
    :: tree[row].word[1] & 1
    :: else -> goto NEXT
    fi;
#endif
    old = tree[row].word[0];
    if
    :: n == 0 && (old & 1)
    :: n == 0 && !(old & 1) && (old & 2) -> n = 1
    :: n == 1 && (old & 2)
    :: else -> old = 0; goto NEXT
    fi;
    old = 0;
    settle(n);
    if
    :: now >= WANT -> goto FOUND
    :: else
    fi;
    now = 0;
    repair(row, n);
    n++;
    goto NODE;
NEXT:
    n = 0;
#ifdef BUG_SEARCH_UP
    row++;
    if
    :: row < ROWS -> goto ROW
    :: else
    fi;
#else
    if
    :: row > WANT - 1 -> row--; goto ROW
    :: else
    fi;
#endif
    row = 0;
    atomic {
        if
        :: stamp != stamp_was -> skip
        :: else ->
            assert(bucket[0] < WANT && bucket[1] < WANT); /* the refusal is true */
            goto FOUND
        fi
    }
    goto AGAIN;
FOUND:
    over++
}

#define FOUND_IN(b, n)                                                                             \
    ((tree[b].word[0] & (1 << (n))) && (tree[b].word[1] & 1) && (tree[b].word[TREE - 1] & 1))

init
{
    byte g;
    short old, wrote[TREE];
    byte at;
    bool won;
    atomic {
        bucket[0] = BUCKET0;
        bucket[1] = BUCKET1;
        for (g : 0 .. (NODES - 1)) {
            if
            :: bucket[g] > 0 -> set_bit(bucket[g] - 1, g)
            :: else
            fi
        }
#if GIVERS
        for (g : 1 .. GIVERS) {
            run giver(g - 1)
        }
#endif
#if TAKERS
        for (g : 1 .. TAKERS) {
            run taker(g - 1)
        }
#endif
#if SEARCHERS
        for (g : 1 .. SEARCHERS) {
            run searcher(g - 1)
        }
#endif
        g = 0
    }
    atomic {
        (over == THREADS);
        for (g : 0 .. (NODES - 1)) {
            assert(bucket[g] == 0 || FOUND_IN(1, g) || (bucket[g] == 1 && FOUND_IN(0, g)))
        }
    }
}
