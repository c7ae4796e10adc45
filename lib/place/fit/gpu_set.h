/* SPDX-License-Identifier: Apache-2.0 */
/* The best set of GPUs of one node. It is a choice among numbers: nodes and requests are unknown
 * here. */
#ifndef GANG__PLACE_GPU_SET_H
#define GANG__PLACE_GPU_SET_H

#include "base/mem.h"
#include "core/nodes/nodes.h"

/* The question: `count` of the devices in `among`, 1 <= count <= their number. */
struct gang__gpu_question {
    uint64_t type;          /* serial number of their node type */
    const uint64_t *weight; /* of devices i, j at [i * gpus + j], symmetric, 0 if i == j */
    uint64_t among;
    uint64_t free; /* the rest of these is left to others; `among` and possibly more */
    uint64_t near; /* devices that are preferred among equally good ones; 0: none */
    uint32_t gpus;
    uint32_t count;
};

/* A set, and how good it is: in this order, the greatest `links`, the greatest `near_count`, the
 * least `broken`, the lowest numbers. */
struct gang__gpu_set {
    uint64_t gpus;
    uint64_t links; /* sum of the weights of its pairs */
    /* Sum over its devices of their weights to all free ones. Of equal links the least leaves the
     * greatest sum over the pairs that stay free. */
    uint64_t broken;
    uint64_t near_count; /* how many of it are in `near` */
};

/* Is a better than b, but for the numbers? */
static inline bool gang__gpu_set_wins(const struct gang__gpu_set *a, const struct gang__gpu_set *b)
{
    if (a->links != b->links)
        return a->links > b->links;
    return a->near_count != b->near_count ? a->near_count > b->near_count : a->broken < b->broken;
}

/* How good the set is. O(count * free). */
struct gang__gpu_set gang__gpu_set_of(const struct gang__gpu_question *question, uint64_t gpus);

/* Cached answers by question; a colliding question replaces the older one. */
enum { GANG__GPU_CACHE = 128 };
struct gang__gpu_cached {
    uint64_t type, among, free, near; /* type 0: empty */
    struct gang__gpu_set set;
};
_Static_assert(sizeof(struct gang__gpu_cached) == 64, "one cache line each");

/* Scratch of one worker. */
struct gang__gpu_solver {
    uint64_t *heaviest;
    size_t heaviest_cap;
    struct gang__gpu_cached cached[GANG__GPU_CACHE];
};

static inline struct gang__gpu_cached *
gang__gpu_cached_at(struct gang__gpu_solver *h, const struct gang__gpu_question *question)
{
    uint64_t key =
        question->among * UINT64_C(0x9e3779b97f4a7c15) + question->count + question->type * 11;
    return &h->cached[(key ^ key >> 32 ^ key >> 52) % GANG__GPU_CACHE];
}

/* The best set, valid until the next call. Exact for up to 16 devices to choose from, and for
 * more if the search ends within GANG__GPU_STEPS_MORE steps; devices that can stand for each
 * other hardly lengthen it. After that number of steps, the best set met so far: at least as
 * good as what greedy choice from every device finds, and no exchange of one device for another
 * makes it better (unless GANG__GPU_ROUNDS exchanges were made). NULL: out of memory. */
enum {
    GANG__GPU_EXACT = 16,
    GANG__GPU_STEPS = 1 << GANG__GPU_EXACT,
    GANG__GPU_STEPS_MORE = 1 << 13,
    GANG__GPU_ROUNDS = 1 << 10
};
const struct gang__gpu_set *gang__gpu_set_solve(struct gang__gpu_solver *h,
                                                const struct gang_mem *mem,
                                                const struct gang__gpu_question *question);

/* The same, from the cache if it was asked before. */
static inline const struct gang__gpu_set *
gang__gpu_set_best(struct gang__gpu_solver *h, const struct gang_mem *mem,
                   const struct gang__gpu_question *question)
{
    const struct gang__gpu_cached *m = gang__gpu_cached_at(h, question);
    if (m->type == question->type && m->among == question->among && m->free == question->free &&
        m->near == question->near && gang__popcount(m->set.gpus) == question->count)
        return &m->set;
    return gang__gpu_set_solve(h, mem, question);
}

void gang__gpu_solver_free(struct gang__gpu_solver *h, const struct gang_mem *mem);

#endif
