/* SPDX-License-Identifier: Apache-2.0 */
/* Past usage that decays: after each half-life half of it counts. In fixed point, the same on every
 * machine. Pure functions: no concurrent call on one object. */
#ifndef GANG__QUEUE_DECAY_H
#define GANG__QUEUE_DECAY_H

#include <stdint.h>

#include "base/wide.h"
#include "queue/dominant.h"

/* The mean use, each moment weighted by 2^(-age / half-life). What was before the start counts
 * as no use, so compare with the mean of the capacity since the same start. */
struct gang__decay {
    gang__u128 mean; /* in 2^-64 units */
    int64_t at_ns;   /* up to when */
};

/* 2^(-elapsed / half_life) in 2^-63, so that 1 is 2^63; the error is below 2^-56. `elapsed_ns`
 * <= 0: 1. `half_life_ns` <= 0: 0, nothing is remembered. */
uint64_t gang__decay_factor(int64_t elapsed_ns, int64_t half_life_ns);

/* `used` >= 0 units were in use since at_ns. The integral over that time is exact: the number of
 * calls does not matter, but for rounding. A time that is not after at_ns changes nothing. */
void gang__decay_advance(struct gang__decay *d, int64_t now_ns, int64_t used, int64_t half_life_ns);

/* The mean in units, rounded down. */
int64_t gang__decay_mean(const struct gang__decay *d);

/* A weight that follows past use (KAI's time-based fair share): max(0, n + k * (n - u)) in
 * 10^-9, where n = weight / weights, the sum over all siblings (0: n is 0), u = used, of the
 * capacity, and k = k_millionths / 10^6, 0...1000. At most GANG__WEIGHT_MAX, for
 * gang__share_divide(): only its relation to that of the siblings matters. */
int64_t gang__decay_weight(int64_t weight, int64_t weights, struct gang__ratio used,
                           int64_t k_millionths);

#endif
