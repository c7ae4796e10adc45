/* SPDX-License-Identifier: Apache-2.0 */
/* Between release.c, release_many.c and release_ops.c: the operations that give back. */
#ifndef GANG__PLACE_RELEASE_IN_H
#define GANG__PLACE_RELEASE_IN_H

#include "core/commit/commit.h"
#include "place/state/records.h"

/* The node of an allocation of one task that holds nothing else, and counts nowhere else;
 * GANG__POOL: it is not such a one. */
static inline uint32_t gang__alloc_only_node(const struct gang__alloc *a)
{
    const gang_request *request = a->request;
    bool plain = a->tasks == 1 && !request->exclusive && !request->uses_pool &&
                 !request->has_affinity && request->policy != GANG_POLICY_GPU_CLUSTERING &&
                 a->used == gang__task_words(a->data);
    return plain ? (uint32_t)a->data[0] : (uint32_t)GANG__POOL;
}

/* Adds what one task holds to the sums of the words of its cell, or of the pool's. Different tasks
 * never hold the same bit, so that a sum of bits is their union. */
void gang__release_sum(const uint64_t *task, bool pool, uint64_t *sum);
/* Adds to the commit what the sums (GANG__MAX_WORDS) release of the slot, and clears them. */
void gang__release_words(gang_worker *w, uint32_t slot, uint64_t *sum);

/* Describes the release of the tasks with keys {slot, offset in data} in placer->order, by nodes;
 * of the `kept` tasks after them, only of their share of the pool. `all`: the allocation ends. */
void gang__release_describe(gang_worker *w, const struct gang__alloc *a, size_t count, size_t kept,
                            bool all);

/* The same for an allocation that ends and has gang__alloc_only_node(). */
void gang__release_describe_only(gang_worker *w, uint32_t slot, const uint64_t *task);

#endif
