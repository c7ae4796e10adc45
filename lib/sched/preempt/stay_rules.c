/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the state that results: may a victim stay after all, does the taker end fuller than
 * a giver, does it keep what it was entitled to? All of them read the usage as it is now; the
 * comments of preempt_in.h say whether the taker is charged. */
#include "sched/preempt/preempt_in.h"
#include "sched/usage/usage.h"

/* Does the taker's branch, which is charged, keep to its guarantee? */
static bool is_inside(const struct gang__queue_state *a, const struct gang__preemption *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (a->used[p->take[i].dim] > a->guarantee[p->take[i].dim])
            return false;
    return true;
}

/* Compared where the branches of taker and giver part, when all victims are taken. */
bool gang__preempt_overshoots(const struct gang__preemption *p, const struct gang__gang *victim)
{
    struct gang__queue_state *a, *b;
    struct gang__ratio taker, giver;
    if (p->mode == GANG__PREEMPT_ACROSS || victim->job->leaf == p->taker->job->leaf)
        return false;
    gang__preempt_branches(p->taker->job->leaf, victim->job->leaf, &a, &b);
    if (is_inside(a, p) ||
        gang__preempt_kinds_differ(p, a, b)) /* the latter was asked for each victim */
        return false;
    taker = gang__fair_share_ratio(p->s, a, a->used, NULL, 0);
    giver = gang__fair_share_ratio(p->s, b, b->used, NULL, 0);
    if (taker.num <= taker.den)
        return false;
    taker.num = gang__mul_div(taker.num, p->s->opts.saturation, GANG_WHOLE);
    return gang__ratio_compare(taker, giver) >= 0;
}

/* With the gang charged: may a leaf use what it uses, in these dimensions, and does it leave free
 * what others do not lend? */
static bool is_lent(gang_sched *s, struct gang__queue_state *leaf, const struct gang__take *take,
                    uint32_t count)
{
    struct gang__take no_more[GANG__DIMS];
    struct gang__refusal refusal;
    if (!s->queues->lends)
        return true;
    for (uint32_t i = 0; i < count; i++)
        no_more[i] = (struct gang__take){take[i].dim, 0};
    return gang__usage_refuse(s, leaf, no_more, count, false, &refusal) == NULL;
}

bool gang__preempt_keeps_limits(const struct gang__preemption *p,
                                const struct gang__queue_state *leaf)
{
    for (const struct gang__queue_state *q = leaf; q->parent; q = q->parent)
        for (uint32_t d = 0; d < p->s->dims; d++)
            if (q->used[d] + q->stopping[d] > q->limit[d])
                return false;
    return true;
}

bool gang__preempt_may_stay(const struct gang__preemption *p, const struct gang__victim *v)
{
    if (!p->s->usage.limits && !p->s->queues->lends)
        return true;
    return gang__preempt_keeps_limits(p, v->g->job->leaf) &&
           is_lent(p->s, p->taker->job->leaf, p->take, p->count);
}

bool gang__preempt_may_restart(const struct gang__preemption *p, const struct gang__victim *v)
{
    uint32_t count;
    const struct gang__take *take = gang__request_class_takes(v->g->request_class, -1, &count);
    return is_lent(p->s, v->g->job->leaf, take, count);
}

bool gang__preempt_keeps_guarantees(const struct gang__preemption *p)
{
    for (const struct gang__queue_state *q = p->taker->job->leaf; q->parent; q = q->parent)
        if (!is_inside(q, p))
            return false;
    return true;
}

bool gang__preempt_is_guaranteed(const struct gang__preemption *p)
{
    return gang__usage_path_stays_within(p->taker->job->leaf, false, p->take, p->count);
}

bool gang__preempt_breaks_guarantee(const struct gang__preemption *p,
                                    const struct gang__gang *victim)
{
    struct gang__queue_state *a, *b;
    if (p->mode == GANG__PREEMPT_ACROSS)
        return gang__preempt_rule_of_rank(p, victim).rule == GANG_PROTECTED_GUARANTEE;
    gang__preempt_branches(p->taker->job->leaf, victim->job->leaf, &a, &b);
    if (gang__usage_stays_within(a, a->guarantee, p->take, p->count))
        return false;
    for (const struct gang__queue_state *q = victim->job->leaf; q != b->parent; q = q->parent)
        if (gang__preempt_inside_guarantee(p, q))
            return true;
    return false;
}

static void undo_wait(gang_sched *s, const struct gang__trial_record *r)
{
    struct gang__gang *g = r->what;
    (void)s;
    g->demands = false;
    g->job->leaf_user->waiting--;
}

/* Victims of the taker's leaf wait when they have stopped: their users are then active, and the
 * limit of the taker's user depends on that. False: out of memory. */
static bool let_victims_wait(const struct gang__preemption *p, struct gang__trial *t)
{
    const struct gang__queue_state *leaf = p->taker->job->leaf;
    const struct gang__victims *v = p->s->preempt.victims;
    if (leaf->q->preempt == GANG_PREEMPT_MODE_CANCEL || !p->taker->job->leaf_user)
        return true;
    if (!gang__trial_reserve(t, v->count))
        return false;
    for (size_t i = 0; i < v->count; i++) {
        struct gang__gang *g = v->list[i].g;
        if (g->job->leaf != leaf || g->demands || v->list[i].moves)
            continue;
        g->demands = true;
        g->job->leaf_user->waiting++;
        gang__trial_note(t, undo_wait, g, NULL, 0, 0);
    }
    return true;
}

bool gang__preempt_may_start(const struct gang__preemption *p)
{
    struct gang__refusal refusal;
    struct gang__trial t;
    gang__trial_begin(&t, p->s, NULL);
    bool ok = let_victims_wait(p, &t);
    p->s->preempt.victims->failed = p->s->preempt.victims->failed || !ok;
    ok = ok && !gang__limits_refuse(p->s, p->taker, p->take, p->count,
                                    p->taker->order.wait_class->fixed, &refusal);
    gang__trial_drop(&t);
    return ok;
}

/* The taker is charged: does the queue use more than it may reclaim for? */
static bool is_beyond(const struct gang__preemption *p, const struct gang__queue_state *q)
{
    for (uint32_t k = 0; k < p->count; k++) {
        uint32_t d = p->take[k].dim;
        if (q->used[d] > q->share[d] && q->used[d] > q->guarantee[d])
            return true;
    }
    return false;
}

/* The same for a victim that the queue takes: from one that outranks the taker, for the guarantee
 * alone. */
static bool is_beyond_for(const struct gang__preemption *p, const struct gang__queue_state *a,
                          const struct gang__gang *victim)
{
    return is_beyond(p, a) ||
           (gang__preempt_outranks(p->s, victim->job, p->taker->job) && !is_inside(a, p));
}

bool gang__preempt_still_entitled(const struct gang__preemption *p)
{
    const struct gang__victims *v = p->s->preempt.victims;
    struct gang__queue_state *a, *b, *leaf = p->taker->job->leaf;
    bool some = p->s->queues->ranks; /* mostly no queue is, and there may be many victims */
    for (const struct gang__queue_state *q = leaf; q->parent; q = q->parent)
        some = some || is_beyond(p, q);
    for (size_t i = 0; some && i < v->count; i++) {
        if (v->list[i].spared || v->list[i].moves || v->list[i].g->job->leaf == leaf)
            continue;
        gang__preempt_branches(leaf, v->list[i].g->job->leaf, &a, &b);
        if (is_beyond_for(p, a, v->list[i].g) || is_beyond(p, leaf))
            return false;
    }
    return true;
}
