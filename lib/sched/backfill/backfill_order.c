/* SPDX-License-Identifier: Apache-2.0 */
/* In which order an EASY leaf tries the gangs behind its plans: as its own order has them, or the
 * shortest, the widest, or the smallest area first. */
#include "sched/backfill/backfill_in.h"
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"

/* The dominant share of the gang in the cluster, in millionths. */
static int64_t dominant_share(const gang_sched *s, const struct gang__gang *g)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < g->request_class->gang_take_count; i++) {
        const struct gang__take *t = &g->request_class->gang_take[i];
        int64_t of = s->total[t->dim];
        int64_t part = of > 0 ? gang__mul_div(t->amount, GANG_WHOLE, of) : 0;
        most = part > most ? part : most;
    }
    return most;
}

int64_t gang__backfill_longest_tied_ns(const gang_sched *s, const struct gang__gang *g,
                                       int64_t lasts_ns)
{
    int64_t part = dominant_share(s, g);
    int64_t key = gang__mul_div(part, lasts_ns, GANG_WHOLE);
    if (part == 0 || key == INT64_MAX)
        return GANG__NEVER;
    int64_t longer = gang__mul_div_up(key + 1, GANG_WHOLE, part); /* comes later */
    return longer == INT64_MAX ? GANG__NEVER : longer - 1;
}

bool gang__backfill_defer(gang_sched *s, struct gang__gang *g)
{
    const struct gang__queue_state *leaf = g->job->leaf;
    const struct gang__queue *q = leaf->q;
    int64_t key;
    if (q->backfill != GANG_BACKFILL_EASY || q->backfill_order == GANG_BACKFILL_ORDER_LEAF ||
        g->order.wait_class->deferred || g->order.wait_class->grower || g->calendar.plan ||
        g->starved || leaf->calendar.planned_count < q->plan_depth)
        return false;
    for (const struct gang__gang *w = leaf->calendar.planned; w; w = w->calendar.next_planned)
        if (gang__gang_before(g, w, q->order) < 0)
            return false; /* it is one of the first itself */
    switch (q->backfill_order) {
    case GANG_BACKFILL_ORDER_SHORTEST:
        key = gang__calendar_estimate(s, g);
        break;
    case GANG_BACKFILL_ORDER_WIDEST:
        key = -dominant_share(s, g);
        break;
    default:
        key = gang__mul_div(dominant_share(s, g), gang__calendar_estimate(s, g), GANG_WHOLE);
    }
    gang__order_defer(s, g->order.wait_class, key);
    return true;
}
