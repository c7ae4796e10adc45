/* SPDX-License-Identifier: Apache-2.0 */
/* May a queue use more? Its limits and those of the queues above, its guarantee for what is fixed,
 * and what the other queues do not lend. */
#include "sched/record/state.h"
#include "sched/usage/usage_in.h"

/* The amount of a dimension that a queue and the queues below it keep for themselves: the part of
 * their idle guarantees that they do not lend. The asking leaf is not below this queue. */
static int64_t kept_for(const gang_sched *s, const struct gang__queue_state *q, uint32_t dim)
{
    const struct gang__quota *lends = &q->q->lending[dim];
    int64_t own = 0, below = 0;
    if (lends->form == GANG__QUOTA_AMOUNT && lends->amount != GANG__NO_BOUND &&
        q->guarantee[dim] != GANG__NO_BOUND) {
        own = q->guarantee[dim] - lends->amount - q->used[dim];
        own = own > 0 ? own : 0;
    }
    for (uint32_t c = q->q->first_child; c != GANG__NO_QUEUE; c = s->qs[c]->q->next_sibling)
        below += kept_for(s, s->qs[c], dim);
    return own > below ? own : below;
}

/* Does the amount leave free, at each level, what the other queues do not lend? */
static bool lends(const gang_sched *s, const struct gang__queue_state *leaf, uint32_t dim,
                  int64_t amount, struct gang__queue_state **by)
{
    int64_t kept = 0;
    for (const struct gang__queue_state *q = leaf; q->parent; q = q->parent) {
        uint32_t c = q->parent->q ? q->parent->q->first_child : 0;
        for (; c != GANG__NO_QUEUE && c < s->queues->count; c = s->qs[c]->q->next_sibling)
            if (s->qs[c] != q && s->qs[c]->q->parent == q->q->parent) {
                int64_t more = kept_for(s, s->qs[c], dim);
                kept += more;
                *by = more ? s->qs[c] : *by;
            }
    }
    return kept == 0 || s->root.used[dim] + amount + kept <= s->total[dim];
}

bool gang__usage_exceeds_guarantees(const struct gang__queue_state *leaf,
                                    const struct gang__take *take, uint32_t count)
{
    for (const struct gang__queue_state *q = leaf; q->parent; q = q->parent)
        for (uint32_t i = 0; i < count; i++)
            if (gang__usage_is_above_guarantee(q, &take[i]))
                return true;
    return false;
}

struct gang__queue_state *gang__usage_refuse(gang_sched *s, struct gang__queue_state *leaf,
                                             const struct gang__take *take, uint32_t count, int how,
                                             struct gang__refusal *refusal)
{
    bool fixed = how & GANG__REFUSE_FIXED, used_only = how & GANG__REFUSE_PROMISED;
    for (struct gang__queue_state *q = leaf; q->parent; q = q->parent)
        for (uint32_t i = 0; i < count; i++) {
            refusal->dim = take[i].dim;
            refusal->why = GANG_WAIT_LIMIT;
            if (gang__usage_is_above_limit(q, &take[i], used_only))
                return q;
            refusal->why = GANG_WAIT_GUARANTEE;
            if (fixed && !q->q->nonpreemptible_to_limit &&
                gang__usage_is_above_guarantee(q, &take[i]))
                return q;
        }
    refusal->why = GANG_WAIT_LENDING;
    for (uint32_t i = 0; s->queues->lends && i < count; i++) {
        struct gang__queue_state *by = NULL;
        refusal->dim = take[i].dim;
        if (!lends(s, leaf, refusal->dim, take[i].amount, &by))
            return by;
    }
    return NULL;
}
