/* SPDX-License-Identifier: Apache-2.0 */
/* Between index.c, which has the words of the index, and index_update.c, which says what they are
 * to show. */
#ifndef GANG__CORE_INDEX_IN_H
#define GANG__CORE_INDEX_IN_H

#include "core/commit/index.h"

/* Sets bits of a leaf word, and marks what is not marked above it. Lock-free. */
void gang__index_set(const struct gang__index_words *at, unsigned row, uint32_t bits);

/* Clears bits of a leaf word. False if the word is not as it was seen. Lock-free. */
bool gang__index_clear(const struct gang__index_words *at, unsigned row, uint64_t seen,
                       uint32_t bits);

/* The buckets of a node as its cell says, at one instant. */
struct gang__buckets gang__index_buckets(struct gang__cells *c, uint32_t slot,
                                         struct gang__layout layout);

#endif
