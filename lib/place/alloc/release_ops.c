/* SPDX-License-Identifier: Apache-2.0 */
/* What does a release give back? The operations of its commit, node by node. */
#include <string.h>

#include "core/commit/commit.h"
#include "place/alloc/release_in.h"
#include "place/fit/fit.h"
#include "place/record/record.h"
#include "place/state/records.h"

void gang__release_sum(const uint64_t *task, bool pool, uint64_t *sum)
{
    for (unsigned i = 0; i < gang__task_deltas(task); i++) {
        uint64_t delta = task[GANG__TASK_HEAD + i];
        if (((delta & GANG__DELTA_POOL) != 0) == pool && !(delta & GANG__DELTA_SHARED))
            sum[gang__delta_word(delta)] += gang__payload(delta);
    }
}

/* Does the task have all of a leased node? Then releases it so. */
static inline bool release_lease(gang_worker *w, uint32_t slot, struct gang__layout layout,
                                 const uint64_t *task)
{
    uint64_t sum[GANG__CELL_WORDS] = {0};
    unsigned words = gang__word_count(layout);
    if (words > GANG__CELL_WORDS || !gang__cell_is_leased(&w->cluster->commit, slot))
        return false;
    gang__release_sum(task, false, sum);
    return gang__commit_unlease(&w->commit, slot, sum, words);
}

/* The only released task of a node: no sums are needed. `many`: tasks of other nodes are released,
 * too; then the words of the index are not on their way yet. */
static inline void release_task(gang_worker *w, uint32_t slot, const uint64_t *task, bool many)
{
    struct gang__layout layout = gang__layout_at(gang__chunk_of(&w->cluster->commit, slot), slot);
    if (w->commit.class_id != layout.class_id || many)
        gang__index_prefetch(&w->cluster->commit, slot, layout);
    if (release_lease(w, slot, layout, task))
        return;
    struct gang__cell_ops ops = gang__cell_ops_begin(&w->commit, slot);
    const uint64_t *end = task + gang__task_words(task);
    for (const uint64_t *delta = task + GANG__TASK_HEAD; delta < end; delta++) {
        uint64_t held = *delta;
        unsigned word = gang__delta_word(held);
        if (!(held & (GANG__DELTA_POOL | GANG__DELTA_SHARED)))
            gang__cell_ops_give(&ops, word, gang__code_of(layout, word, true), gang__payload(held));
    }
    gang__cell_ops_end(&ops);
}

void gang__release_words(gang_worker *w, uint32_t slot, uint64_t *sum)
{
    struct gang__layout layout = gang__layout_at(gang__chunk_of(&w->cluster->commit, slot), slot);
    bool pool = slot == GANG__POOL;
    unsigned words = pool ? (unsigned)GANG__MAX_WORDS : gang__word_count(layout);
    if (!pool && gang__commit_unlease(&w->commit, slot, sum, words)) {
        memset(sum, 0, words * sizeof(*sum));
        return;
    }
    struct gang__cell_ops ops = gang__cell_ops_begin(&w->commit, slot);
    for (unsigned i = 0; i < words; i++) {
        if (!sum[i])
            continue;
        gang__cell_ops_give(&ops, i, pool ? GANG__OP_GIVE : gang__code_of(layout, i, true), sum[i]);
        sum[i] = 0;
    }
    gang__cell_ops_end(&ops);
}

/* Does a task have something of its node that no other task has? */
static bool has_own(const uint64_t *task)
{
    for (unsigned i = 0; i < gang__task_deltas(task); i++)
        if (!(task[GANG__TASK_HEAD + i] & (GANG__DELTA_POOL | GANG__DELTA_SHARED)))
            return true;
    return false;
}

/* Of an allocation that ends: describes the end of the lease of the node that the tasks from order
 * number `i` on are on. A lease is of one allocation (core/commit/lease.c), which releases all its
 * tasks there. Returns the number of the tasks; 0: it has no lease there. */
static inline size_t end_lease(gang_worker *w, const struct gang__alloc *a, size_t i, size_t count)
{
    const struct gang__placer *placer = w->place;
    const uint64_t *key = placer->order + i, *end = placer->order + count, *next = key;
    uint32_t slot = (uint32_t)(*key >> 32);
    bool own = false;
    if (!gang__cell_is_leased(&w->cluster->commit, slot))
        return 0;
    do
        own = own || has_own(a->data + (uint32_t)*next);
    while (++next < end && (uint32_t)(*next >> 32) == slot);
    if (!own)
        return 0;
    gang__commit_add(&w->commit, slot, GANG__WORD_HEAD, GANG__OP_UNLEASE, 0);
    return (size_t)(next - key);
}

void gang__release_describe_only(gang_worker *w, uint32_t slot, const uint64_t *task)
{
    if (gang__cell_is_leased(&w->cluster->commit, slot) && has_own(task))
        gang__commit_add(&w->commit, slot, GANG__WORD_HEAD, GANG__OP_UNLEASE, 0);
    else
        release_task(w, slot, task, false);
}

void gang__release_describe(gang_worker *w, const struct gang__alloc *a, size_t count, size_t kept,
                            bool all)
{
    const struct gang__placer *placer = w->place;
    uint64_t sum[GANG__MAX_WORDS] = {0};
    if (count == 1 && !a->request->uses_pool) {
        if (!all || !end_lease(w, a, 0, 1))
            release_task(w, (uint32_t)(placer->order[0] >> 32),
                         a->data + (uint32_t)placer->order[0], true);
        return;
    }
    if (a->request->uses_pool) { /* the pool is slot 0: first */
        for (size_t i = 0; i < count + kept; i++)
            gang__release_sum(a->data + (uint32_t)placer->order[i], true, sum);
        gang__release_words(w, GANG__POOL, sum);
    }
    uint32_t before = GANG__POOL;
    for (size_t i = 0, leased; i < count; i++) {
        uint32_t slot = (uint32_t)(placer->order[i] >> 32);
        if (all && slot != before && (leased = end_lease(w, a, i, count)) > 0) {
            i += leased - 1;
            before = slot;
            continue;
        }
        const uint64_t *task = a->data + (uint32_t)placer->order[i];
        bool last = i + 1 == count || (uint32_t)(placer->order[i + 1] >> 32) != slot;
        if (last && before != slot) {
            release_task(w, slot, task, true);
        } else {
            gang__release_sum(task, false, sum);
            if (last)
                gang__release_words(w, slot, sum);
        }
        before = slot;
    }
}
