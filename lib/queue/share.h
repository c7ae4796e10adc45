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

/* Divides `total` >= 0 among n sharers, in whole units of `unit` > 0.
 *
 * 1. Each sharer gets the smaller of its guarantee and its demand. If these exceed the total, all
 * of
 *    them stand (KAI): a promise is not reduced.
 * 2. The rest goes to the highest priority class first: its whole demand before the next class gets
 *    anything.
 * 3. Within a class by weight, in rounds: each sharer with demand left gets left * weight / sum of
 *    their weights, rounded down to whole units, at most its demand. After a round that satisfies
 *    no sharer, the units that are left go one each to the sharers that lost most by rounding, the
 *    oldest first (KAI). Only the last piece of a demand, and of the total, may be part of a unit.
 * 4. A weight of 0 takes no part in 3.
 *
 * The sum of the shares is exactly min(total, sum of demands), unless step 1 gave more or a weight
 * is 0. Returns what is left over.
 * O(n) a round, mostly a few; each round but the last ones satisfies a sharer. `slot` has n
 * elements, n at most 2^20. */
int64_t gang__share_divide(struct gang__sharer *sharer, size_t n, int64_t total, int64_t unit,
                           struct gang__share_slot *slot);

#endif
