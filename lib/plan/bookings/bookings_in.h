/* SPDX-License-Identifier: Apache-2.0 */
/* A user's bookings inside.
 *
 *   bookings.c      bookings come, move and go; their sum, step by step
 *   bookings_fit.c  what limits say of more of them */
#ifndef GANG__PLAN_BOOKINGS_IN_H
#define GANG__PLAN_BOOKINGS_IN_H

#include "base/mem.h"
#include "base/wide.h"
#include "plan/bookings/bookings.h"

struct gang__booking {
    bool in, aside;
    int64_t start_ns, end_ns;
    int64_t amount[GANG__FREE_DIMS];
};

/* From here to the next one so much is booked; up to here its integral is this. */
struct gang__bookings_step {
    int64_t at_ns;
    gang__i128 amount[GANG__FREE_DIMS];
    gang__i128 integral[GANG__FREE_DIMS];
};

struct gang__bookings {
    struct gang_mem mem;
    struct gang__bookings_limit limit;
    struct gang__booking *booking; /* by id */
    size_t cap, end, count;
    uint32_t *free_id;
    size_t free_id_cap, free_id_count;
    gang__i128 sum[GANG__FREE_DIMS];     /* of all integrals */
    struct gang__bookings_step *step[2]; /* [1]: with time reversed */
    size_t step_cap[2], step_count;
    bool stale; /* the steps are not those of the bookings */
};

/* Bring the steps up to date. */
void gang__bookings_refresh(struct gang__bookings *u);

/* How many steps are not after an instant. */
static inline size_t gang__bookings_steps_until(const struct gang__bookings_step *step,
                                                size_t count, int64_t at_ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (step[middle].at_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
