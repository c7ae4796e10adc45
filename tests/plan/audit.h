/* SPDX-License-Identifier: Apache-2.0 */
/* For audits: the amounts of bookings, and what is free of one node, at an instant. The library
 * asks only for intervals, so these read its state. */
#ifndef GANG_TESTS_PLAN_AUDIT_H
#define GANG_TESTS_PLAN_AUDIT_H

#include <string.h>

#include "plan/bookings/bookings_in.h"
#include "plan/timeline/timeline_in.h"

/* The amount booked at an instant. Returns until when it stays so (GANG__NEVER: for good). */
static inline int64_t bookings_at(struct gang__bookings *u, int64_t at_ns,
                                  int64_t amount[GANG__FREE_DIMS])
{
    gang__bookings_refresh(u);
    size_t n = gang__bookings_steps_until(u->step[0], u->step_count, at_ns);
    for (int k = 0; k < GANG__FREE_DIMS; k++) {
        gang__i128 a = n ? u->step[0][n - 1].amount[k] : 0;
        amount[k] = a > INT64_MAX ? INT64_MAX : (int64_t)a;
    }
    return n < u->step_count ? u->step[0][n].at_ns : GANG__NEVER;
}

/* What is free of a node at an instant. Returns until when it stays so (GANG__NEVER: for good). */
static inline int64_t timeline_node_at(struct gang__timeline *t, uint32_t node, int64_t at_ns,
                                       int64_t unused[GANG__FREE_KINDS])
{
    struct gang__walk w;
    if (t->flat) {
        int64_t all[GANG__FREE_DIMS], until_ns = gang__timeline_sum_at(t, at_ns, all);
        memcpy(unused, all, GANG__FREE_KINDS * sizeof(*unused));
        return until_ns;
    }
    gang__walk_begin(&w, t, node, at_ns);
    for (int k = 0; k < GANG__FREE_KINDS; k++)
        unused[k] = gang__walk_unused(&w, k);
    return w.to_ns;
}

#endif
