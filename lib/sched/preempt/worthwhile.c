/* SPDX-License-Identifier: Apache-2.0 */
/* Is an attempt to preempt for a blocked gang worth while? What forbids it, and quick questions
 * that spare attempts which cannot succeed. */
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/preempt/preempt_in.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"

/* Is the taker entitled to more, and does a queue beside its path have more than that, or may one
 * have guests on its partition? */
static bool may_reclaim(const gang_sched *s, const struct gang__preemption *p)
{
    const struct gang__queue_state *leaf = p->taker->job->leaf, *only = s->preempt.only_above;
    bool above = s->preempt.above_share && !(only && gang__queue_is_on_path(only, leaf));
    return leaf->q->reclaim != GANG_PREEMPT_NEVER && (above || p->owns_nodes) &&
           gang__preempt_is_entitled(p);
}

static bool is_above_guarantee(gang_sched *s, struct gang__gang *g)
{
    struct gang__preemption p;
    if (!s->queues->nonpreemptible_to_limit)
        return false;
    gang__preempt_set_up(&p, s, g);
    return gang__preempt_is_above_guarantee(&p);
}

/* Will the gang keep to all limits when all that is asked to stop has stopped? Then it waits for
 * that, and no other gang stops for it. */
static bool stops_make_up_for(gang_sched *s, struct gang__gang *g, int32_t why)
{
    struct gang__preemption p;
    bool stopping = false;
    if (why != GANG_WAIT_LIMIT || gang__partition_count(g) > 0)
        return false;
    gang__preempt_set_up(&p, s, g);
    for (const struct gang__queue_state *q = g->job->leaf; q->parent; q = q->parent)
        for (uint32_t i = 0; i < p.count; i++) {
            if (gang__usage_is_above_limit(q, &p.take[i], true))
                return false;
            stopping = stopping || gang__usage_is_above_limit(q, &p.take[i], false);
        }
    return stopping;
}

/* A gang that shares nodes in time preempts to get into a row, but not to grow there, and not with
 * a choice of its tasks. */
bool gang__preempt_waits_for_row(const struct gang__gang *g)
{
    return gang__slice_concerns(g) && (g->alloc != GANG_ID_NONE || gang__gang_chooses(g));
}

int32_t gang__preempt_bar(gang_sched *s, struct gang__gang *g, int32_t why)
{
    if (s->opts.no_preemption)
        return GANG_PREEMPTION_OFF;
    if (g->job->never_preempts)
        return GANG_PREEMPTION_NEVER;
    if (gang__gang_insists(g))
        return GANG_PREEMPTION_REASON;
    if (g->places)
        return GANG_PREEMPTION_SUSPENDED;
    if (gang__preempt_waits_for_row(g))
        return GANG_PREEMPTION_SLICE;
    if (gang__reserve_confines(g))
        return GANG_PREEMPTION_RESERVATION;
    if (g->preempt.handover_failed_at == s->external_events + 1) {
        s->preempt.until_event = true;
        return GANG_PREEMPTION_FAILED;
    }
    if (!gang__preempt_helps(why) && !(why == GANG_WAIT_PLANNED && g->calendar.plan))
        return GANG_PREEMPTION_REASON;
    if (stops_make_up_for(s, g, why))
        return GANG_PREEMPTION_REASON;
    return is_above_guarantee(s, g) ? GANG_PREEMPTION_ABOVE_GUARANTEE : GANG_PREEMPTION_NEXT;
}

/* The first gang in the order of victims of a leaf; NULL: none runs. */
static struct gang__gang *first_victim(const struct gang__queue_state *leaf)
{
    struct gang__set_link *link = gang__set_first(&leaf->victims);
    return link ? GANG__OF(struct gang__gang, victim.link, link) : NULL;
}

/* May the taker find a victim in its leaf? By user limit a victim of lower priority may be of its
 * own user. */
static bool may_preempt_within(const struct gang__preemption *p)
{
    struct gang__victim first = {.g = first_victim(p->taker->job->leaf), .whole = true};
    if (!first.g)
        return false;
    if (gang__preempt_by_user_limit(p))
        return first.g->job->priority < p->taker->job->priority ||
               (gang__preempt_users_are_above(p) && gang__preempt_keeps_user_limit(p));
    return gang__preempt_rule_in_leaf(p, &first) == GANG_PROTECTED_NOT;
}

/* With the request of the gang as it stands. */
static bool may_succeed(gang_sched *s, struct gang__gang *g, int32_t why)
{
    struct gang__preemption p;
    gang__preempt_set_up(&p, s, g);
    if (s->opts.max_moves > 0 && why == GANG_WAIT_CAPACITY && gang__preempt_amounts_suffice(&p))
        return true;
    return may_preempt_within(&p) || may_reclaim(s, &p) ||
           gang__preempt_rank_is_worthwhile(s, g->job->leaf, g->job->priority) !=
               GANG__WORTHWHILE_NOT;
}

bool gang__preempt_may_succeed(gang_sched *s, struct gang__gang *g, int32_t why)
{
    uint32_t count = gang__partition_count(g);
    bool may = count == 0 && may_succeed(s, g, why);
    for (uint32_t i = 0; i < count && !may; i++) {
        gang__partition_try(g, i);
        may = may_succeed(s, g, why);
        gang__partition_try_end(g);
    }
    return may;
}

bool gang__preempt_is_worthwhile(gang_sched *s, struct gang__wait_class *wait_class, int32_t why)
{
    struct gang__gang *g = gang__wait_class_head(wait_class);
    return wait_class->tried != s->wake.changes + 1 &&
           gang__preempt_bar(s, g, why) == GANG_PREEMPTION_NEXT &&
           gang__preempt_may_succeed(s, g, why);
}

enum gang__worthwhile gang__preempt_is_worthwhile_in(gang_sched *s,
                                                     const struct gang__class_group *group)
{
    const struct gang__wait_class *root =
        GANG__OF(struct gang__wait_class, grouped.link, group->waiting.root);
    const struct gang__gang *first = first_victim(group->leaf);
    struct gang__preemption p;
    if (s->opts.no_preemption || group->never_preempts)
        return GANG__WORTHWHILE_NOT;
    gang__preempt_set_up(&p, s, gang__wait_class_head(root));
    if (gang__preempt_is_above_guarantee(&p))
        return GANG__WORTHWHILE_NOT;
    if ((s->opts.max_moves > 0 && gang__preempt_amounts_suffice(&p)) || may_reclaim(s, &p))
        return GANG__WORTHWHILE_FOR_ALL;
    enum gang__worthwhile by_rank =
        gang__preempt_rank_is_worthwhile(s, group->leaf, root->grouped.highest);
    if (by_rank != GANG__WORTHWHILE_NOT)
        return by_rank;
    int32_t within = group->leaf->q->within;
    if (first && within != GANG_PREEMPT_NEVER &&
        (root->grouped.highest > first->job->priority ||
         (within == GANG_PREEMPT_LOWER_OR_NEWER && root->grouped.highest == first->job->priority) ||
         (within == GANG_PREEMPT_USER_LIMIT && gang__preempt_users_are_above(&p))))
        return GANG__WORTHWHILE_FOR_SOME;
    return GANG__WORTHWHILE_NOT;
}

static bool is_above_share(const gang_sched *s, const struct gang__queue_state *q)
{
    for (uint32_t d = 0; d < s->dims; d++)
        if (q->guarantee[d] != GANG__NO_BOUND &&
            (q->used[d] > q->share[d] || q->used[d] > q->guarantee[d]))
            return true;
    return false;
}

/* Which queues could give to others? Ends when some lie in two branches: then each queue has one
 * that is not on its own path. Parents stand before their children. */
static void find_above_share(gang_sched *s)
{
    const struct gang__queue_state *only = NULL;
    s->preempt.above_share = false;
    for (uint32_t i = 0; i < s->queues->count; i++) {
        const struct gang__queue_state *q = s->qs[i];
        if (!is_above_share(s, q))
            continue;
        s->preempt.above_share = true;
        if (only && !gang__queue_is_on_path(only, q)) {
            only = NULL;
            break;
        }
        only = q;
    }
    s->preempt.only_above = only;
}

void gang__preempt_look(gang_sched *s)
{
    find_above_share(s);
    gang__users_limit_refresh(s);
    gang__victims_sort(s);
    gang__preempt_look_at_ranks(s);
}
