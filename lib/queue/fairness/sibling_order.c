/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two sibling queues is served first, as YARN's capacity scheduler orders them. */
#include "queue/fairness/fairness.h"

int gang__order_utilization(const struct gang__sibling *a, const struct gang__sibling *b)
{
    return gang__ratio_compare(a->used, b->used);
}

/* The larger first. */
static int larger(int64_t a, int64_t b)
{
    return (a < b) - (a > b);
}

static bool is_below(const struct gang__sibling *q)
{
    return gang__ratio_compare(q->used, (struct gang__ratio){1, 1}) < 0;
}

int gang__order_priority_utilization(const struct gang__sibling *a, const struct gang__sibling *b)
{
    bool any = a->capacity.num > 0;
    int order;
    if (any != (b->capacity.num > 0))
        return any ? -1 : 1;
    if (!any)
        return gang__ratio_compare(a->absolute, b->absolute);
    if (a->priority == b->priority)
        order = gang__ratio_compare(a->used, b->used);
    else if (is_below(a) == is_below(b))
        order = larger(a->priority, b->priority);
    else
        order = is_below(a) ? -1 : 1;
    return order ? order : gang__ratio_compare(b->capacity, a->capacity);
}
