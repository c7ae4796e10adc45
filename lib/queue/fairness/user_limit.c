/* SPDX-License-Identifier: Apache-2.0 */
/* How much of a queue one user may hold, as YARN computes it. */
#include "queue/fairness/fairness.h"

void gang__user_limit_add(int64_t *dominant_used, const int64_t *used, const int64_t *total,
                          uint32_t kinds)
{
    uint32_t present = 0;
    int kind;
    for (int k = 0; k < GANG_MAX_KINDS; k++)
        if ((kinds >> k & 1) && total[k] > 0)
            present |= UINT32_C(1) << k;
    gang__dominant(used, total, present, &kind);
    if (kind >= 0)
        dominant_used[kind] = gang__add_sat(dominant_used[kind], used[kind]);
}

/* total of kind j * sum of dominant_used / total, rounded up; INT64_MAX if it is more. */
static int64_t consumed_of(const struct gang__user_limit *u, int j)
{
    gang__u128 whole = 0, part = 0; /* part in 2^-64 */
    for (int k = 0; k < GANG_MAX_KINDS; k++) {
        if (!(u->kinds >> k & 1) || u->total[k] <= 0)
            continue;
        gang__u128 of = gang__wide(u->total[k]);
        gang__u128 product = gang__wide(u->total[j]) * gang__wide(u->dominant_used[k]);
        whole += product / of;
        part += ((product % of) << 64) / of;
    }
    whole += (part >> 64) + ((uint64_t)part != 0);
    return whole > INT64_MAX ? INT64_MAX : (int64_t)whole;
}

static int64_t limit_of(const struct gang__user_limit *u, int k)
{
    int64_t required = u->required[k], queue = gang__max(u->guarantee[k], required);
    int64_t consumed = consumed_of(u, k);
    int64_t current = consumed < queue ? queue : gang__add_sat(consumed, required);
    int64_t weight = u->active_weight > 0 ? u->active_weight : GANG_WHOLE;
    int64_t active = u->active_used ? u->active_used[k] : current;
    int64_t by_active =
        gang__add_sat(gang__mul_div_up(active, GANG_WHOLE, weight),
                      u->weight > 0 ? gang__mul_div_up(required, GANG_WHOLE, u->weight) : 0);
    int64_t by_minimum = gang__mul_div_up(current, u->minimum, GANG_WHOLE);
    int64_t bound = u->limit[k];
    if (u->factor >= 0 && u->guarantee[k] > 0)
        bound = gang__mul_div(queue, u->factor, GANG_WHOLE);
    return gang__mul_div(gang__min(gang__max(by_active, by_minimum), bound), u->weight, GANG_WHOLE);
}

void gang__user_limit(const struct gang__user_limit *u, int64_t *result)
{
    for (int k = 0; k < GANG_MAX_KINDS; k++)
        result[k] = u->kinds >> k & 1 ? limit_of(u, k) : INT64_MAX;
}
