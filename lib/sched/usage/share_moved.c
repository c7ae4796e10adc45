/* SPDX-License-Identifier: Apache-2.0 */
/* Shares after a few leaves changed. Where each child of a queue gets what it demands, the share of
 * one follows from its own demand alone, as long as the sum of all still fits. So this file looks
 * at the leaves that were noted (wake.share_queues) and the queues above them, and not at their
 * siblings: O(noted leaves * depth). fair.c divides all other cases, and keeps `counted`,
 * `counted_below` and `by_demand` of each queue. */
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"
#include "sched/wake/wake.h"

typedef uint64_t path_fn(gang_sched *s, struct gang__queue_state *q, uint32_t d);

/* Visits the noted leaves and the queues above, without the root, in the dimensions noted and in
 * the mask. Returns the dimensions in which some call returned 1. */
static uint64_t each_on_paths(gang_sched *s, uint64_t dims, path_fn *visit)
{
    uint64_t some = 0;
    for (struct gang__queue_state *leaf = s->wake.share_queues; leaf; leaf = leaf->wake.next_share)
        for (uint64_t left = leaf->wake.share_dims & dims; left; left &= left - 1) {
            uint32_t d = (uint32_t)__builtin_ctzll(left);
            for (struct gang__queue_state *q = leaf; q->parent; q = q->parent)
                some |= visit(s, q, d) << d;
        }
    return some;
}

static uint64_t count(gang_sched *s, struct gang__queue_state *q, uint32_t d)
{
    int64_t demand = gang__share_demand(q, d);
    (void)s;
    q->parent->counted_below[d] += demand - q->counted[d];
    q->counted[d] = demand;
    return 0;
}

/* Is the share not the demand? */
static uint64_t is_divided(gang_sched *s, struct gang__queue_state *q, uint32_t d)
{
    const struct gang__queue_state *parent = q->parent;
    int64_t total = parent->parent ? parent->counted[d] : s->total[d];
    return !(parent->by_demand >> d & 1) || parent->counted_below[d] > total || q->counted[d] < 0 ||
           !gang__share_may_be_demand(q, d);
}

static uint64_t set(gang_sched *s, struct gang__queue_state *q, uint32_t d)
{
    return gang__share_set(s, q, d, q->counted[d]) & 0;
}

uint64_t gang__share_moved(gang_sched *s, uint64_t dims)
{
    (void)each_on_paths(s, dims, count);
    uint64_t divided = each_on_paths(s, dims, is_divided);
    (void)each_on_paths(s, dims & ~divided, set);
    return divided;
}
