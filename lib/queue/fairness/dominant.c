/* SPDX-License-Identifier: Apache-2.0 */
/* Dominant shares: the kind of which a user or queue holds the greatest part; limits by kind. */
#include "queue/fairness/fairness.h"

struct gang__ratio gang__dominant(const int64_t *used, const int64_t *of, uint32_t kinds,
                                  int *which)
{
    struct gang__ratio most = {0, 0};
    int kind = -1;
    for (int k = 0; k < GANG_MAX_KINDS; k++) {
        if (!(kinds >> k & 1))
            continue;
        struct gang__ratio r = {used[k], of[k]};
        if (kind < 0 || gang__ratio_compare(r, most) > 0) {
            most = r;
            kind = k;
        }
    }
    if (which)
        *which = kind;
    return most;
}

bool gang__keeps_limit(const int64_t *used, const int64_t *more, const int64_t *limit,
                       uint32_t kinds)
{
    for (int k = 0; k < GANG_MAX_KINDS; k++)
        if ((kinds >> k & 1) && more[k] > 0 && (used[k] > limit[k] || more[k] > limit[k] - used[k]))
            return false;
    return true;
}
