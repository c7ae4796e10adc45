/* SPDX-License-Identifier: Apache-2.0 */
/* How siblings divide what there is: dominant shares (DRF), the order of sibling queues and the
 * user limit (YARN), fair shares and decayed usage (KAI). Exact integers; no result depends on the
 * order in which the siblings are given, or on the machine. Pure functions: any thread, no
 * allocation. Vectors are by kind, GANG_MAX_KINDS of them; only the kinds whose bit is set in
 * `kinds` count. */
#ifndef GANG__QUEUE_FAIRNESS_FAIRNESS_H
#define GANG__QUEUE_FAIRNESS_FAIRNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gangsched/model.h>
#include <gangsched/queue.h>

#include "base/wide.h"

/* The greatest weight or factor, in millionths: a million. The product of a weight and an amount
 * fits in 128 bits, also summed over 2^20 siblings. */
#define GANG__MAX_MILLIONTHS (GANG_WHOLE * GANG_WHOLE)

/* ---- dominant shares (Ghodsi et al., "Dominant Resource Fairness", NSDI 2011) --------------- */

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

/* Negative, 0, positive: a is less than, equal to, more than b. Inline:
 * called several times for each grant. */
static inline int gang__ratio_compare(struct gang__ratio a, struct gang__ratio b)
{
    int ra = gang__ratio_rank(a), rb = gang__ratio_rank(b);
    if (ra != rb || ra != 1)
        return ra - rb;
    gang__u128 x = (gang__u128)(uint64_t)a.num * (uint64_t)b.den;
    gang__u128 y = (gang__u128)(uint64_t)b.num * (uint64_t)a.den;
    return (x > y) - (x < y);
}

/* The greatest used[k] / of[k], the first of equals; 0 / 0 for none. `of` is a share or a
 * guarantee: usage of a kind without any of it is infinitely above. `which` may be NULL; it
 * receives the kind, -1 for none. */
struct gang__ratio gang__dominant(const int64_t *used, const int64_t *of, uint32_t kinds,
                                  int *which);

/* Is used + more <= limit for all kinds with more > 0? A kind that is already above its limit does
 * not matter where `more` is 0. */
bool gang__keeps_limit(const int64_t *used, const int64_t *more, const int64_t *limit,
                       uint32_t kinds);

/* ---- the order of two siblings, as in YARN's capacity scheduler ---------------------------- */

/* The key of a queue in that order; all ratios are of the dominant kind. */
struct gang__sibling {
    struct gang__ratio used;     /* over the guarantee */
    struct gang__ratio absolute; /* used over all there is */
    struct gang__ratio capacity; /* guaranteed, of all there is; 0: none */
    int64_t priority;            /* higher first */
};

/* Negative: a is served first. 0: by age, which is the caller's. */

/* "utilization": the smaller part of its guarantee. */
int gang__order_utilization(const struct gang__sibling *a, const struct gang__sibling *b);

/* "priority-utilization": those with a capacity before those without, which go by what they use;
 * then the higher priority, except that a queue below its guarantee goes before one that is not;
 * among equal priorities the smaller part of its guarantee; then the larger capacity. */
int gang__order_priority_utilization(const struct gang__sibling *a, const struct gang__sibling *b);

/* ---- fair shares of one kind: classes as in KAI, exact division by weight ------------------ */

struct gang__sharer {
    int64_t guarantee; /* >= 0; INT64_MAX: unlimited */
    int64_t demand;    /* min(limit, used + pending), >= 0; INT64_MAX allowed */
    int64_t priority;  /* the class; higher first */
    int64_t weight;    /* 0...GANG__MAX_MILLIONTHS; only its relation to others matters */
    uint64_t age;      /* smaller: older */
    int64_t share;     /* out */
};

/* Scratch memory of gang__share_divide(): one element for each sharer. */
struct gang__share_slot {
    gang__u128 rest;       /* the remainder of the exact share, in 1 / sum of the weights */
    int64_t unmet, weight; /* demand not met yet */
    struct gang__sharer *of;
};

/* Divides `total` >= 0 among n sharers, in whole units of `unit` > 0.
 *
 * 1. Each sharer gets the smaller of its guarantee and its demand. If these exceed the total, they
 *    are not reduced (KAI): a guarantee is a promise.
 * 2. The rest goes to the highest priority class first: its whole demand before the next class gets
 *    anything.
 * 3. Within a class by weight (max-min fairness, Demers et al. 1989, with weights). Of what is
 *    left, R, each sharer gets
 *        x = min(unmet, level * weight),    the level such that all x add up to min(R, all unmet),
 *    where unmet = demand - step 1. Sharers with x = unmet get just that. The others are rounded
 *    once (largest remainder, Hamilton): each gets the whole units of x; the units that remain go
 *    one each to the largest remainders of x, the oldest first. Only the last piece of a demand,
 *    and of the total, may be part of a unit.
 * 4. A sharer with a weight of 0 gets nothing in step 3.
 *
 * The division is exact: the level is a ratio of integers, and no product needs more than 123 bits.
 * The sum of the shares is exactly min(total, sum of demands), unless step 1 gave more or a weight
 * is 0. Returns what is left over.
 * O(n) a pass, mostly a few; each pass but the last one satisfies a sharer. `slot` has n elements,
 * n at most 2^20. */
int64_t gang__share_divide(struct gang__sharer *sharer, size_t n, int64_t total, int64_t unit,
                           struct gang__share_slot *slot);

/* ---- usage that decays: after each half-life half of it counts ----------------------------- */

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
 * capacity, and k = k_millionths / 10^6, 0...1000. At most GANG__MAX_MILLIONTHS, for
 * gang__share_divide(): only its relation to that of the siblings matters. */
int64_t gang__decay_weight(int64_t weight, int64_t weights, struct gang__ratio used,
                           int64_t k_millionths);

/* ---- YARN's user limit: how much of a queue one user may hold ------------------------------ */

struct gang__user_limit {
    uint32_t kinds;
    const int64_t *guarantee; /* of the queue */
    const int64_t *limit;     /* of the queue; the bound where there is no factor or no guarantee */
    const int64_t *total;     /* that there is */
    const int64_t *required;  /* the gang at hand; in YARN, the smallest allocation */
    const int64_t *dominant_used; /* of all users: see gang__user_limit_add() */
    /* By active users: those that want more than they have. NULL: every user counts as active, and
     * all that they use is `current`. */
    const int64_t *active_used;
    int64_t active_weight; /* sum of the weights of the active users; 0: of none, counts as 1 */
    int64_t minimum;       /* what each user may have at least; millionths of the queue */
    int64_t factor;        /* of the guarantee, in millionths; negative: no such bound */
    int64_t weight;        /* of this user, in millionths: GANG_WHOLE is 1 */
};

/* Adds what a user has of its dominant kind to `dominant_used`. Call it for every user of the
 * queue. */
void gang__user_limit_add(int64_t *dominant_used, const int64_t *used, const int64_t *total,
                          uint32_t kinds);

/* The limit of a user, in `result`:
 *   queue    = max(guarantee, required)
 *   consumed = total * sum over users of their dominant part, rounded up
 *   current  = consumed < queue ? queue : consumed + required
 *   limit    = max(ceil(active_used / active_weight) + required / weight, ceil(current * minimum))
 *   result   = min(limit, queue * factor) * weight, rounded down
 * So a user with no more than the others, for its weight, may have one gang more. (YARN divides
 * `required` among all users, and compares what a user has, not what it would have. With both rules
 * users that have equally much would keep each other from more, however much is idle.)
 * With the minimum at 25 %: one user has all, two half each, three a third, four or more a
 * quarter. Where users have different dominant kinds, `consumed` is exact to 2^-58 of a unit
 * before rounding.
 * A user may start the gang if everything it then has is within `result`.
 *
 * For preemption inside a queue every user counts as active, and nothing is required: so the limits
 * of all users together come to `current`, unless the minimum is more (YARN,
 * UsersManager.getComputedResourceLimitForAllUsers()). */
void gang__user_limit(const struct gang__user_limit *u, int64_t *result);

#endif
