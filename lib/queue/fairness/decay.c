/* SPDX-License-Identifier: Apache-2.0 */
/* Past usage in fixed point, and the weight that follows from it. */
#include "queue/fairness/fairness.h"

#define ONE (UINT64_C(1) << 63)
#define LN_2 UINT64_C(0x58b90bfbe8e7bcd5) /* in 2^-63 */

/* 2^(-2^-k) for k = 1...32, in 2^-63, rounded down. */
static const uint64_t root[32] = {
    UINT64_C(0x5a827999fcef3242), UINT64_C(0x6ba27e656b4eb57a), UINT64_C(0x75606373ee921c97),
    UINT64_C(0x7a92be8a92436616), UINT64_C(0x7d41d96db915019d), UINT64_C(0x7e9f06067a4360ba),
    UINT64_C(0x7f4f08ae3dc7c425), UINT64_C(0x7fa765aca88f6452), UINT64_C(0x7fd3ab290e46d768),
    UINT64_C(0x7fe9d3a8e07bf085), UINT64_C(0x7ff4e9597bed93aa), UINT64_C(0x7ffa748dff8dc61e),
    UINT64_C(0x7ffd3a3f50020332), UINT64_C(0x7ffe9d1dbc0a75a9), UINT64_C(0x7fff4e8e6306ed58),
    UINT64_C(0x7fffa74712c3cdfd), UINT64_C(0x7fffd3a381b1fa28), UINT64_C(0x7fffe9d1beed0189),
    UINT64_C(0x7ffff4e8defb81d7), UINT64_C(0x7ffffa746f5f012f), UINT64_C(0x7ffffd3a37a7d0a8),
    UINT64_C(0x7ffffe9d1bd1fc58), UINT64_C(0x7fffff4e8de8832d), UINT64_C(0x7fffffa746f422d6),
    UINT64_C(0x7fffffd3a37a09bb), UINT64_C(0x7fffffe9d1bd02f1), UINT64_C(0x7ffffff4e8de80fd),
    UINT64_C(0x7ffffffa746f4060), UINT64_C(0x7ffffffd3a37a028), UINT64_C(0x7ffffffe9d1bd012),
    UINT64_C(0x7fffffff4e8de808), UINT64_C(0x7fffffffa746f404),
};

static uint64_t times(uint64_t a, uint64_t b)
{
    return (uint64_t)((gang__u128)a * b >> 63);
}

/* The product of a root for each bit of the exponent's upper half; the lower half is below
 * 2^-32, where 2^-y is 1 - y ln 2 but for 2^-66. Each of at most 33 products, and each root, is
 * rounded down by less than 2^-63. */
uint64_t gang__decay_factor(int64_t elapsed_ns, int64_t half_life_ns)
{
    if (half_life_ns <= 0)
        return 0;
    if (elapsed_ns <= 0)
        return ONE;
    int64_t halves = elapsed_ns / half_life_ns;
    if (halves >= 64)
        return 0;
    uint64_t exponent =
        (uint64_t)((gang__wide(elapsed_ns % half_life_ns) << 64) / gang__wide(half_life_ns));
    uint64_t low = exponent & UINT32_MAX;
    uint64_t factor = ONE - (uint64_t)((gang__u128)low * LN_2 >> 64);
    for (int k = 0; k < 32; k++)
        if (exponent >> (63 - k) & 1)
            factor = times(factor, root[k]);
    return factor >> halves;
}

/* a * factor, where a < 2^127. */
static gang__u128 decayed(gang__u128 a, uint64_t factor)
{
    gang__u128 high = (a >> 64) * factor, low = (gang__u128)(uint64_t)a * factor;
    return (high << 1) + (low >> 63);
}

void gang__decay_advance(struct gang__decay *d, int64_t now_ns, int64_t used, int64_t half_life_ns)
{
    if (now_ns <= d->at_ns)
        return;
    int64_t elapsed;
    if (__builtin_sub_overflow(now_ns, d->at_ns, &elapsed))
        elapsed = INT64_MAX;
    uint64_t factor = gang__decay_factor(elapsed, half_life_ns);
    gang__u128 aim = gang__wide(used) << 64;
    d->mean =
        d->mean > aim ? aim + decayed(d->mean - aim, factor) : aim - decayed(aim - d->mean, factor);
    d->at_ns = now_ns;
}

int64_t gang__decay_mean(const struct gang__decay *d)
{
    return (int64_t)(d->mean >> 64);
}

int64_t gang__decay_weight(int64_t weight, int64_t weights, struct gang__ratio used,
                           int64_t k_millionths)
{
    const int64_t billion = 1000 * GANG_WHOLE;
    int64_t n = weights > 0 ? gang__mul_div(weight, billion, weights) : 0, u = 0;
    if (used.num > 0)
        u = used.den > 0 ? gang__mul_div(used.num, billion, used.den) : INT64_MAX;
    gang__i128 w = ((gang__i128)n * GANG_WHOLE + (gang__i128)k_millionths * (n - u)) / GANG_WHOLE;
    if (w < 0)
        return 0;
    return w > GANG__MAX_MILLIONTHS ? GANG__MAX_MILLIONTHS : (int64_t)w;
}
