/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/dominant.h"

#include <gangsched/model.h>

#include "base/wide.h"

static int compare_wide(gang__u128 a, gang__u128 b)
{
    return (a > b) - (a < b);
}

/* 0: nothing, 1: a number, 2: infinite. */
static int rank_of(struct gang__ratio r)
{
    if (r.num <= 0)
        return 0;
    return r.den > 0 ? 1 : 2;
}

int gang__ratio_compare(struct gang__ratio a, struct gang__ratio b)
{
    int ra = rank_of(a), rb = rank_of(b);
    if (ra != rb || ra != 1)
        return ra - rb;
    return compare_wide((gang__u128)a.num * (gang__u128)b.den,
                        (gang__u128)b.num * (gang__u128)a.den);
}

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

bool gang__within(const int64_t *used, const int64_t *more, const int64_t *limit, uint32_t kinds)
{
    for (int k = 0; k < GANG_MAX_KINDS; k++)
        if ((kinds >> k & 1) && more[k] > 0 && (used[k] > limit[k] || more[k] > limit[k] - used[k]))
            return false;
    return true;
}
