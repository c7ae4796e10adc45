/* SPDX-License-Identifier: Apache-2.0 */
/* Frees many allocations. A scheduler that preempts stops thousands of small ones, several on each
 * node: those of a node are released in one commit, and the index is updated once. */
#include <string.h>

#include "base/rcu.h"
#include "core/commit/commit.h"
#include "place/alloc/alloc.h"
#include "place/alloc/release_in.h"
#include "place/fit/fit.h"
#include "place/record/record.h"
#include "place/state/records.h"

enum { MOST = 16 }; /* allocations of one commit, whose records are locked at once */

/* The key of an entry of the list: its slot, its index. */
static bool key_of(gang_cluster *c, const struct gang__to_free *list, size_t i, uint64_t *key)
{
    struct gang__alloc *a;
    if (gang__alloc_read(c, list[i].id, &a) != GANG_OK)
        return false;
    uint32_t slot = gang__alloc_only_node(a);
    gang__alloc_read_end(a);
    *key = (uint64_t)slot << 32 | i;
    return slot != GANG__POOL;
}

/* Frees allocations of one node, up to MOST. Those that are not what they were, or are busy, keep
 * GANG_EBUSY. */
static void free_on_node(gang_worker *w, struct gang__to_free *list, const uint64_t *key,
                         size_t count)
{
    struct gang__alloc *locked[MOST];
    uint64_t sum[GANG__MAX_WORDS] = {0}, left[GANG__MAX_WORDS];
    uint32_t slot = (uint32_t)(key[0] >> 32);
    size_t locks = 0;
    gang__rcu_enter();
    for (size_t i = 0; i < count; i++) {
        struct gang__to_free *x = &list[(uint32_t)key[i]];
        if (gang__alloc_lock(w, x->id, &locked[locks]) != GANG_OK)
            continue;
        if (gang__alloc_only_node(locked[locks]) != slot) {
            gang__alloc_publish(locked[locks]);
            continue;
        }
        gang__release_sum(locked[locks++]->data, false, sum);
        x->r = GANG_OK;
    }
    if (locks > 0)
        do {
            gang__commit_begin(&w->commit);
            memcpy(left, sum, sizeof(sum));
            gang__release_words(w, slot, left);
            /* Only the end of a lease that was broken meanwhile is refused. */
        } while (gang__commit_run_indexed(&w->commit, true) != GANG_OK);
    for (size_t i = 0; i < locks; i++)
        gang__alloc_drop(w, locked[i]);
    gang__rcu_leave();
}

void gang__allocs_free(gang_worker *w, struct gang__to_free *list, size_t count)
{
    size_t keys = 0;
    for (size_t i = 0; i < count; i++)
        list[i].r = GANG_EBUSY;
    if (count > UINT32_MAX || !gang__placer_of(w) || !gang__order_reserve(w, count) ||
        gang__commit_reserve(&w->commit, GANG__MAX_WORDS) != GANG_OK)
        return;
    const struct gang__placer *placer = w->place;
    uint64_t *key = placer->order;
    for (size_t i = 0; i < count; i++)
        keys += key_of(w->cluster, list, i, &key[keys]);
    gang__sort_keys(key, keys);
    for (size_t i = 0, next; i < keys; i = next) {
        next = i + 1;
        while (next < keys && next - i < MOST && key[next] >> 32 == key[i] >> 32)
            next++;
        free_on_node(w, list, key + i, next - i);
    }
}
