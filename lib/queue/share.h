/* SPDX-License-Identifier: Apache-2.0 */
/* The fair shares of several siblings of one kind. Exact, without floating point; the same whatever
 * the order of the siblings. Pure: any thread, no allocation. */
#ifndef GANG__QUEUE_SHARE_H
#define GANG__QUEUE_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/wide.h"

#define GANG__MILLION INT64_C(1000000)
/* The greatest weight: so that products with an amount have room in 128 bits, for 2^20 siblings. */
#define GANG__WEIGHT_MAX (GANG__MILLION * GANG__MILLION)

struct gang__sharer {
    int64_t guarantee; /* >= 0; INT64_MAX: unlimited */
    int64_t demand;    /* min(limit, used + pending), >= 0; INT64_MAX allowed */
    int64_t priority;  /* the class; higher first */
    int64_t weight; /* in millionths, 0...GANG__WEIGHT_MAX; only its relation to others matters */
    uint64_t age;   /* smaller: older */
    int64_t share;  /* out */
};

/* Room for the division of as many sharers. */
struct gang__share_slot {
    gang__u128 rest; /* what rounding down took, in parts of unit * sum of weights */
    int64_t want, weight;
    struct gang__sharer *of;
};

/* Divide `total` >= 0 among n sharers, in whole units of `unit` > 0.
 *
 * 1. Each gets the smaller of its guarantee and its demand. Where these do not fit, for more was promised
 *    than there is, all stand (KAI): who has what he was promised loses nothing of it.
 * 2. What is left goes to the highest priority class first: all that it still wants before the
 *    next one gets anything.
 * 3. In a class by weight, in rounds: each that still wants gets left * weight / sum of their weights,
 *    rounded down to whole units, at most what it wants. After a round in which nobody got all it wants, the
 *    units that are left go one each to those that lost most by rounding in it, the oldest first (KAI). Only the last piece
 *    of a demand, and the last piece of the total, may be part of a unit.
 * 4. A weight of 0 has no part in 3.
 *
 * The sum of the shares is min(total, sum of demands), exactly, unless step 1 gave more or
 * somebody's weight is 0; what is not divided is returned.
 * O(n) a round, mostly a few; each but the last ones gives somebody all it wants. `slot` has room for n, n at
 * most 2^20. */
int64_t gang__share_divide(struct gang__sharer *sharer, size_t n, int64_t total, int64_t unit,
                           struct gang__share_slot *slot);

#endif
