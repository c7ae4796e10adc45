/* SPDX-License-Identifier: Apache-2.0 */
/* Between index.c, which has the words of the index, and the files that say what they are to show:
 * index_update.c by reading a node, index_move.c by what a commit makes of it. */
#ifndef GANG__CORE_INDEX_IN_H
#define GANG__CORE_INDEX_IN_H

#include "core/commit/index.h"

/* Sets bits of a leaf word, and marks what is not marked above it. Lock-free. */
void gang__index_set(const struct gang__index_words *at, unsigned row, uint32_t bits);

/* Clears bits of a leaf word. False if the word is not as it was seen. Lock-free. */
bool gang__index_clear(const struct gang__index_words *at, unsigned row, uint64_t seen,
                       uint32_t bits);

/* Of the buckets of a node, those of an axis on which it moved. */
static inline struct gang__buckets gang__buckets_moved(struct gang__buckets from,
                                                       struct gang__buckets to)
{
    to.gpu = to.gpu == from.gpu ? 0 : to.gpu;
    to.cpu = to.cpu == from.cpu ? 0 : to.cpu;
    return to;
}

/* Step 1: the words of the rows in which nodes stand by the last update. */
static inline struct gang__index_seen gang__index_see(const struct gang__index_words *at,
                                                      struct gang__buckets from)
{
    struct gang__index_seen seen = {0, 0};
    if (from.gpu)
        seen.gpu = gang__load_seq(&at->row[gang__gpu_row(from.gpu)]);
    if (from.cpu)
        seen.cpu = gang__load_seq(&at->row[gang__cpu_row(from.cpu)]);
    return seen;
}

/* Step 4 for one axis: the nodes in `bits` left the row. If the word has changed, repairs each node
 * alone. */
void gang__index_leave(const struct gang__index_words *at, unsigned row, uint64_t seen,
                       uint32_t bits);

/* Another thread updated the node meanwhile: it stood in other buckets than those seen. */
void gang__index_repair_both(const struct gang__index_words *at, uint32_t slot,
                             struct gang__buckets stood);

/* The buckets of a node as its cell says, at one instant. */
struct gang__buckets gang__index_buckets(struct gang__cells *c, uint32_t slot,
                                         struct gang__layout layout);

#endif
