/* SPDX-License-Identifier: Apache-2.0 */
/* An allocation that another thread reads or changes is busy (GANG_EBUSY), for a short time. The
 * owner of the scheduler lets that thread run and tries again, a bounded number of times:
 *     do
 *         r = gang_alloc_free(worker, alloc);
 *     while (gang__busy_again(r, &tries)); */
#ifndef GANG__SCHED_PATIENCE_H
#define GANG__SCHED_PATIENCE_H

#include <gangsched/base.h>

#include <sched.h>
#include <stdbool.h>

enum { GANG__PATIENCE = 1000 };

/* `tries` is 0 before the first one. */
static inline bool gang__busy_again(gang_result r, int *tries)
{
    if (r != GANG_EBUSY || (*tries)++ == GANG__PATIENCE)
        return false;
    sched_yield();
    return true;
}

#endif
