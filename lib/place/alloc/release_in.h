/* SPDX-License-Identifier: Apache-2.0 */
/* Between release.c, release_many.c and release_ops.c: the operations that give back. */
#ifndef GANG__PLACE_RELEASE_IN_H
#define GANG__PLACE_RELEASE_IN_H

#include "core/commit/commit.h"

struct gang__alloc;

/* Adds what one task holds to the sums of the words of its cell, or of the pool's. Different tasks
 * never hold the same bit, so that a sum of bits is their union. */
void gang__release_sum(const uint64_t *task, bool pool, uint64_t *sum);
/* Adds to the commit what the sums (GANG__MAX_WORDS) release of the slot, and clears them. */
void gang__release_words(gang_worker *w, uint32_t slot, uint64_t *sum);

/* Describes the release of the tasks with keys {slot, offset in data} in placer->order, by nodes;
 * of the `kept` tasks after them, only of their share of the pool. `all`: the allocation ends. */
void gang__release_describe(gang_worker *w, const struct gang__alloc *a, size_t count, size_t kept,
                            bool all);

#endif
