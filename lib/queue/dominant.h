/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing uses of several kinds by the dominant one (Ghodsi et al., "Dominant Resource
 * Fairness", NSDI 2011), exactly: ratios of integers, never a quotient. Pure functions: any
 * thread, no allocation. */
#ifndef GANG__QUEUE_DOMINANT_H
#define GANG__QUEUE_DOMINANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wide.h"

/* num / den, both >= 0. 0 / 0 is 0; x / 0 is infinite, and all infinite ones are equal. */
struct gang__ratio {
    int64_t num, den;
};

/* 0: nothing, 1: a number, 2: infinite. */
static inline int gang__ratio_rank(struct gang__ratio r)
{
    if (r.num <= 0)
        return 0;
    return r.den > 0 ? 1 : 2;
}

/* Negative, 0, positive: a is less than, equal to, more than b. Asked several times for each
 * grant. */
static inline int gang__ratio_compare(struct gang__ratio a, struct gang__ratio b)
{
    int ra = gang__ratio_rank(a), rb = gang__ratio_rank(b);
    if (ra != rb || ra != 1)
        return ra - rb;
    gang__u128 x = (gang__u128)(uint64_t)a.num * (uint64_t)b.den;
    gang__u128 y = (gang__u128)(uint64_t)b.num * (uint64_t)a.den;
    return (x > y) - (x < y);
}

/* The greatest used[k] / of[k] among the kinds whose bit is set in `kinds`, the first of equals; 0
 * / 0 for none. Vectors by kind, up to GANG_MAX_KINDS. `of` is a share or a guarantee: usage of a
 * kind without any of it is infinitely above. `which` may be NULL; it receives the kind, -1 for
 * none. */
struct gang__ratio gang__dominant(const int64_t *used, const int64_t *of, uint32_t kinds,
                                  int *which);

/* Is used + more <= limit for all `kinds` with more > 0? A kind that is above its limit already
 * does not matter where more is 0. */
bool gang__keeps_limit(const int64_t *used, const int64_t *more, const int64_t *limit,
                       uint32_t kinds);

#endif
