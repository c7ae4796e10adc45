/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a queue one user may hold: YARN's user limit, over all kinds, each by itself. Pure
 * functions: any thread, no allocation. Vectors are by kind, GANG_MAX_KINDS of them; only those
 * in `kinds` count. */
#ifndef GANG__QUEUE_USER_LIMIT_H
#define GANG__QUEUE_USER_LIMIT_H

#include <stdint.h>

struct gang__user_limit {
    uint32_t kinds;
    const int64_t *guarantee; /* of the queue */
    const int64_t *limit;     /* of the queue; the bound where there is no factor or no guarantee */
    const int64_t *total;     /* that there is */
    const int64_t *required;  /* the gang at hand; in YARN, the smallest allocation */
    const int64_t *dominant_used; /* of all users: see gang__user_limit_add() */
    const int64_t *active_used;   /* by active users: those that want more than they have */
    int64_t active_weight; /* sum of the weights of the active users; 0: of none, counts as 1 */
    int64_t minimum;       /* what each user may have at least; millionths of the queue */
    int64_t factor;        /* of the guarantee, in millionths; negative: no such bound */
    int64_t weight;        /* of this user, in millionths: 10^6 is the plain one */
};

/* Count a user's use in `dominant_used`: what it has of its dominant kind. All users of the
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
 * A user may start the gang if everything it then has is within `result`. */
void gang__user_limit(const struct gang__user_limit *u, int64_t *result);

#endif
