/* SPDX-License-Identifier: Apache-2.0 */
/* Rank: which jobs of other leaves may a job preempt whatever fair shares are
 * (gang_queue_spec.across, preempt_class)?
 *
 * X outranks Y, of another leaf, if the class of X lists that of Y; or if both are of the same
 * class or of none, `across` allows it where their branches part, and Y has the lower priority. X
 * may then take Y, unless a guarantee protects Y. Fair shares give way to ranks: from X, and from
 * jobs whose class is above that of Y by way of others, Y reclaims only what a bounded guarantee of
 * its branch covers (preempt_rules.c).
 *
 * Ranks alone end. Classes can be sorted, because none outranks itself (queue/preempt_classes.c).
 * Let c(X) be the place of the class of X in that order, p(X) its priority, and a(X) be greater the
 * older it is. Each stop by rank, and each stop in a leaf by priority, is for a job with a greater
 * (c, p, a). Count the running gangs by (c, p, a), from the greatest down: such an attempt raises
 * one count and lowers only counts behind it, so that the list of counts grows in lexicographic
 * order. There are finitely many gangs, so such attempts end, and no cooldown is needed for it.
 *
 * No two gangs preempt each other in turn. Let X preempt Y by rank. Then Y does not outrank X, and
 * does not take it for a fair share. To take it by the guarantee of its branch, that branch would
 * have to manage a kind that both X and Y take, and to keep to its guarantee with Y in all kinds
 * that Y takes. But with Y back, the state that results from the attempt has a branch of Y that
 * manages none of these kinds, or is above its guarantee in one of them (result.c). So Y cannot
 * answer.
 *
 * What the proofs leave open is a circle of three or more
 *   - by way of guarantees, if a gang is larger than what its queue uses above its guarantee: the
 *     queue falls below it and takes it back for another job;
 *   - by way of user limits (GANG_PREEMPT_USER_LIMIT), by which a job of lower priority preempts
 *     one that outranks jobs of other leaves.
 * The cooldown stops such circles (cooldown.c). */
#include "sched/preempt/preempt_in.h"
#include "sched/usage/usage.h"

/* How job `x` ranks against job `y`. */
enum rank { UNRELATED, ABOVE, NOT_ABOVE };

static enum rank rank_of(const gang_sched *s, const struct gang__job *x, const struct gang__job *y)
{
    const struct gang__queue *a = x->leaf->q, *b = y->leaf->q;
    struct gang__queue_state *of_x, *of_y;
    if (!s->queues->ranks || x->leaf == y->leaf)
        return UNRELATED;
    if (b->preempt_class >= 0 && (a->preempts >> b->preempt_class & 1))
        return ABOVE;
    if (a->across == GANG_ACROSS_NEVER || a->preempt_class != b->preempt_class)
        return UNRELATED;
    gang__preempt_branches(x->leaf, y->leaf, &of_x, &of_y);
    const struct gang__queue *above = of_x->parent->q; /* NULL: they part at the top */
    if (!above || above->across == GANG_ACROSS_NEVER)
        return UNRELATED;
    return y->priority < x->priority && y->priority <= a->across_max ? ABOVE : NOT_ABOVE;
}

bool gang__preempt_outranks(const gang_sched *s, const struct gang__job *x,
                            const struct gang__job *y)
{
    const struct gang__queue *a = x->leaf->q, *b = y->leaf->q;
    return rank_of(s, x, y) == ABOVE ||
           (b->preempt_class >= 0 && (a->ranked_below >> b->preempt_class & 1));
}

/* Does the queue manage a kind that both take, and keep to its guarantee in all such kinds? A gang
 * without such a kind is of no use to the taker: `managed` counts the kinds. */
static bool keeps_to_guarantee(const struct gang__preemption *p, const struct gang__queue_state *q,
                               const struct gang__gang *victim)
{
    uint32_t count, managed = 0;
    const struct gang__take *take = gang__request_class_takes(victim->request_class, -1, &count);
    for (uint32_t i = 0, k = 0; i < p->count; i++) {
        uint32_t d = p->take[i].dim;
        while (k < count && take[k].dim < d)
            k++;
        if (k == count || take[k].dim != d || q->guarantee[d] == GANG__NO_BOUND)
            continue;
        if (gang__usage_exceeds(p->s, q, q->guarantee, gang__preempt_usage_of(p, q), &p->take[i],
                                1))
            return false;
        managed++;
    }
    return managed > 0;
}

/* The queue of the victim's branch that keeps to its guarantee; NULL: none. */
static const struct gang__queue_state *protector(const struct gang__preemption *p,
                                                 const struct gang__gang *victim)
{
    struct gang__queue_state *a, *b;
    gang__preempt_branches(p->taker->job->leaf, victim->job->leaf, &a, &b);
    for (const struct gang__queue_state *q = victim->job->leaf; q != b->parent; q = q->parent)
        if (keeps_to_guarantee(p, q, victim))
            return q;
    return NULL;
}

bool gang__preempt_may_keep_by_guarantee(const struct gang__preemption *p,
                                         const struct gang__gang *victim)
{
    struct gang__queue_state *a, *b;
    uint32_t count;
    const struct gang__take *take = gang__request_class_takes(victim->request_class, -1, &count);
    gang__preempt_branches(p->taker->job->leaf, victim->job->leaf, &a, &b);
    for (uint32_t i = 0, k = 0; i < p->count; i++) {
        while (k < count && take[k].dim < p->take[i].dim)
            k++;
        if (k < count && take[k].dim == p->take[i].dim &&
            a->guarantee[p->take[i].dim] != GANG__NO_BOUND)
            return true;
    }
    return false;
}

struct gang__preempt_rule gang__preempt_rule_of_rank(const struct gang__preemption *p,
                                                     const struct gang__gang *victim)
{
    enum rank rank = rank_of(p->s, p->taker->job, victim->job);
    const struct gang__queue_state *q = rank == ABOVE ? protector(p, victim) : NULL;
    if (rank != ABOVE)
        return (struct gang__preempt_rule){GANG_PROTECTED_ACROSS, p->taker->job->leaf};
    return (struct gang__preempt_rule){q ? GANG_PROTECTED_GUARANTEE : GANG_PROTECTED_NOT, q};
}

struct gang__preempt_rule gang__preempt_rule_beside_rank(const struct gang__preemption *p,
                                                         const struct gang__gang *victim,
                                                         struct gang__preempt_rule rule)
{
    switch (rule.rule) {
    case GANG_PROTECTED_RECLAIM_NEVER:
    case GANG_PROTECTED_PRIORITY:
    case GANG_PROTECTED_GUARANTEE:
    case GANG_PROTECTED_SHARE:
    case GANG_PROTECTED_PREEMPTOR_SHARE:
    case GANG_PROTECTED_PREEMPTOR_GUARANTEE:
    case GANG_PROTECTED_OUTRANKS:
        break;
    default:
        return rule;
    }
    enum rank rank = rank_of(p->s, p->taker->job, victim->job);
    if (rank == ABOVE)
        return gang__preempt_rule_of_rank(p, victim);
    if (rank == NOT_ABOVE && rule.rule != GANG_PROTECTED_GUARANTEE &&
        rule.rule != GANG_PROTECTED_OUTRANKS)
        return gang__preempt_rule_of_rank(p, victim);
    return rule;
}

bool gang__preempt_ranks(const gang_sched *s, const struct gang__queue_state *leaf)
{
    return s->queues->ranks && (leaf->q->preempts || leaf->q->across != GANG_ACROSS_NEVER);
}

enum gang__worthwhile gang__preempt_rank_is_worthwhile(const gang_sched *s,
                                                       const struct gang__queue_state *leaf,
                                                       int64_t priority)
{
    const struct gang__queue *q = leaf->q;
    if (!gang__preempt_ranks(s, leaf))
        return GANG__WORTHWHILE_NOT;
    if (q->preempts & s->preempt.victim_classes)
        return GANG__WORTHWHILE_FOR_ALL;
    return q->across != GANG_ACROSS_NEVER && s->preempt.lowest_victim < priority &&
                   s->preempt.lowest_victim <= q->across_max
               ? GANG__WORTHWHILE_FOR_SOME
               : GANG__WORTHWHILE_NOT;
}

void gang__preempt_look_at_ranks(gang_sched *s)
{
    s->preempt.lowest_victim = INT64_MAX;
    s->preempt.victim_classes = 0;
    for (uint32_t i = 0; s->queues->ranks && i < s->queues->count; i++) {
        const struct gang__queue_state *leaf = s->qs[i];
        struct gang__set_link *first = leaf->q->leaf ? gang__set_first(&leaf->victims) : NULL;
        if (!first)
            continue;
        const struct gang__job *job = GANG__OF(struct gang__gang, victim.link, first)->job;
        s->preempt.lowest_victim = gang__min(s->preempt.lowest_victim, job->priority);
        if (leaf->q->preempt_class >= 0)
            s->preempt.victim_classes |= UINT64_C(1) << leaf->q->preempt_class;
    }
}
