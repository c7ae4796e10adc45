/* SPDX-License-Identifier: Apache-2.0 */
/* The one place where shared words are touched: C11 atomics with the order in the name, and the
 * hook with which a test stops or delays a thread at each step of a commit or of a snapshot.
 *
 *   gang__load           acquire: pairs with each operation below that releases
 *   gang__store          release
 *   gang__swap           acquire and release
 *   gang__sub_release    release: for a counter that is read to know that something is over
 *   gang__publish        acquire and release if it succeeds, acquire if it fails
 *   gang__try_lock       acquire: pairs with the gang__store of 0 by the thread that had the lock
 *   gang__cas            seq_cst if it succeeds, acquire if it fails
 *   gang__load_seq, gang__add_seq: seq_cst; where all threads must see two words change in one
 *                        order
 *   gang__load_relaxed, gang__store_relaxed, gang__add_relaxed: pair with none; for words that one
 *                        thread writes, words that are not published yet, and statistics
 *
 * Where another order is needed, <stdatomic.h> is called with an explicit one. The comment at each
 * shared member, or at the operation, names the two sides that meet there: "a -> b" reads "b sees
 * what the thread did before a". There are no fences: ThreadSanitizer does not model them. Where
 * a reader must not see an old status after a new field, the field is stored with release and
 * loaded with acquire. */
#ifndef GANG__BASE_ATOMIC_H
#define GANG__BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic(uint64_t) gang__a64;
typedef _Atomic(uint32_t) gang__a32;
typedef _Atomic(uint16_t) gang__a16;

#define gang__load(p) atomic_load_explicit((p), memory_order_acquire)
#define gang__load_relaxed(p) atomic_load_explicit((p), memory_order_relaxed)
#define gang__store(p, v) atomic_store_explicit((p), (v), memory_order_release)
#define gang__store_relaxed(p, v) atomic_store_explicit((p), (v), memory_order_relaxed)

/* Sequentially consistent: the proofs in core/commit/commit.c and core/commit/index.c order
 * operations on different words (a set bit before a decision, a stamp before a decision). */
static inline bool gang__cas(gang__a64 *p, uint64_t old, uint64_t value)
{
    return atomic_compare_exchange_strong_explicit(p, &old, value, memory_order_seq_cst,
                                                   memory_order_acquire);
}
#define gang__load_seq(p) atomic_load_explicit((p), memory_order_seq_cst)
#define gang__add_seq(p, v) atomic_fetch_add_explicit((p), (v), memory_order_seq_cst)
#define gang__swap(p, v) atomic_exchange_explicit((p), (v), memory_order_acq_rel)
#define gang__sub_release(p, v) atomic_fetch_sub_explicit((p), (v), memory_order_release)
#define gang__add_relaxed(p, v) atomic_fetch_add_explicit((p), (v), memory_order_relaxed)

/* Replaces *old by `value`. Of several threads that made the same thing, one succeeds; the others
 * find in *old what that one published. */
#define gang__publish(p, old, value)                                                   \
    atomic_compare_exchange_strong_explicit((p), (old), (value), memory_order_acq_rel, \
                                            memory_order_acquire)

/* Never waits: false if another thread has the lock. A gang__store of 0 unlocks. */
static inline bool gang__try_lock(gang__a32 *lock)
{
    uint32_t is_free = 0;
    return atomic_compare_exchange_strong_explicit(lock, &is_free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* Steps at which a test may stop a thread for good, delay it, or let another one run. */
enum gang__step {
    GANG__STEP_BUILD,   /* descriptor is being filled */
    GANG__STEP_CLAIM,   /* before a claim */
    GANG__STEP_AGREE,   /* cell is claimed, before its words are agreed */
    GANG__STEP_NOTE,    /* before the word of a claimed cell is noted as agreed */
    GANG__STEP_RAISE,   /* all is agreed, before the index is raised */
    GANG__STEP_STAMP,   /* index is raised, before the stamp */
    GANG__STEP_LABEL,   /* all is claimed and agreed, before the label */
    GANG__STEP_DECIDE,  /* before the decision */
    GANG__STEP_SAVE,    /* decided, before a word is saved for a snapshot */
    GANG__STEP_WRITE,   /* decided, before a word is written */
    GANG__STEP_RELEASE, /* before a claim is given up */
    GANG__STEP_UPDATE,  /* over, before the index is updated */
    GANG__STEP_FIND,    /* planner, before it reads a node */
    GANG__STEP_READ,    /* before a word of a cell is read */
    GANG__STEP_SUM,     /* before a worker's stamp is read */
    GANG__STEP_MARK,    /* a word of the index got a bit, before its parent is marked */
    GANG__STEP_REPAIR,  /* a bit of the index was read that may be cleared */
    GANG__STEP_HOLD,    /* the record of an allocation is held */
    GANG__STEP_PUBLISH, /* before a record is released, for others to see */
    GANG__STEP_DROP,    /* before a record is given up */
    GANG__STEP_ENTER,   /* tasks of a labelled job are seen as pending, before the last look */
    GANG__STEP_SETTLE,  /* they are committed or not, before that is seen */
    GANG__STEP_TAKE,    /* snapshot, before it gets its number */
    GANG__STEP_SCAN,    /* snapshot, before a cell is looked at, and before it ends */
    GANG__STEP_COPY,    /* snapshot, the cell has no earlier claim, before its words are copied */
    GANG__STEP_COUNT,
    /* and one of neither: the latest view is loaded, before a reference to it is added */
    GANG__STEP_VIEW
};

#ifdef GANG_TEST_HOOKS
typedef void (*gang__hook_fn)(enum gang__step step);
/* acquire; pairs with the atomic_store of a test, which sets up what its function uses before it */
extern _Atomic(gang__hook_fn) gang__hook_now;
static inline void gang__hook(enum gang__step step)
{
    gang__hook_fn hook = gang__load(&gang__hook_now);
    if (hook)
        hook(step);
}
#else
static inline void gang__hook(enum gang__step step)
{
    (void)step;
}
#endif

#endif
