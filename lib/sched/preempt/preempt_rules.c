/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of reclaim and preemption: what a taker may take from which victim. All of them read
 * the usage as it is now, with what was taken so far. */
#include "sched/preempt/preempt_in.h"
#include "sched/usage/usage.h"

/* No rule protects it. */
static const struct gang__preempt_rule takeable = {GANG_PROTECTED_NOT, NULL};

void gang__preempt_branches(struct gang__queue_state *a, struct gang__queue_state *b,
                            struct gang__queue_state **taker, struct gang__queue_state **giver)
{
    while (a->q->depth > b->q->depth)
        a = a->parent;
    while (b->q->depth > a->q->depth)
        b = b->parent;
    while (a->parent != b->parent) {
        a = a->parent;
        b = b->parent;
    }
    *taker = a;
    *giver = b;
}

bool gang__preempt_same_branch(const struct gang__preemption *p, const struct gang__gang *victim)
{
    const struct gang__queue_state *a = p->taker->job->leaf, *b = victim->job->leaf;
    while (a->parent->parent)
        a = a->parent;
    while (b->parent->parent)
        b = b->parent;
    return a == b;
}

const int64_t *gang__preempt_usage_of(const struct gang__preemption *p,
                                      const struct gang__queue_state *q)
{
    return p->before ? p->before + q->q->index * p->s->dims : q->used;
}

/* Is a queue that gives above the bound in what the taker asks for? */
static bool is_above(const struct gang__preemption *p, const struct gang__queue_state *q,
                     const int64_t *bound)
{
    return gang__usage_exceeds(p->s, q, bound, gang__preempt_usage_of(p, q), p->take, p->count);
}

bool gang__preempt_inside_guarantee(const struct gang__preemption *p,
                                    const struct gang__queue_state *q)
{
    bool managed = false;
    for (uint32_t i = 0; i < p->count; i++)
        managed = managed || q->guarantee[p->take[i].dim] != GANG__NO_BOUND;
    return managed && !is_above(p, q, q->guarantee);
}

/* A queue below the giver that keeps to its guarantee does not pay for a sibling above its own. In
 * the fair round, neither does a queue that keeps to its share: it would take the capacity back. */
static struct gang__preempt_rule rule_below_giver(const struct gang__preemption *p,
                                                  const struct gang__queue_state *leaf,
                                                  const struct gang__queue_state *giver)
{
    for (const struct gang__queue_state *q = leaf; q != giver; q = q->parent) {
        if (gang__preempt_inside_guarantee(p, q))
            return (struct gang__preempt_rule){GANG_PROTECTED_GUARANTEE, q};
        if (p->fair && !is_above(p, q, q->share))
            return (struct gang__preempt_rule){GANG_PROTECTED_SHARE, q};
    }
    return takeable;
}

/* Is the queue, with what the taker asks for, above its share of this kind? */
static bool exceeds_share(const struct gang__preemption *p, const struct gang__queue_state *a,
                          const struct gang__take *take)
{
    int64_t with = a->used[take->dim] + (p->charged ? 0 : take->amount);
    return with > a->share[take->dim];
}

/* Of some kinds, and not of others? Kinds can only differ then, whatever the giver has. */
static bool exceeds_in_part(const struct gang__preemption *p, const struct gang__queue_state *a)
{
    bool some = false, others = false;
    for (uint32_t i = 0; i < p->count; i++) {
        if (a->guarantee[p->take[i].dim] == GANG__NO_BOUND)
            continue;
        bool exceeds = exceeds_share(p, a, &p->take[i]);
        some = some || exceeds;
        others = others || !exceeds;
    }
    return some && others;
}

bool gang__preempt_kinds_differ(const struct gang__preemption *p, const struct gang__queue_state *a,
                                const struct gang__queue_state *b)
{
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t d = p->take[i].dim;
        if (a->guarantee[d] != GANG__NO_BOUND && exceeds_share(p, a, &p->take[i]) &&
            gang__preempt_usage_of(p, b)[d] > b->share[d])
            return false;
    }
    return exceeds_in_part(p, a);
}

/* Dominant resource fairness, where kinds differ: a taker below its share may take from a giver
 * above its own if the order of queues would put the taker's gang before the victim: its dominant
 * ratio with the gang is smaller. That lowers the larger ratio of the two, so there is no cycle. */
static bool may_take_dominant(const struct gang__preemption *p, const struct gang__queue_state *a,
                              const struct gang__queue_state *b)
{
    if (!gang__preempt_kinds_differ(p, a, b) || !is_above(p, b, b->share) ||
        gang__usage_exceeds(p->s, a, a->share, a->used, p->take, p->count))
        return false;
    struct gang__ratio taker = gang__fair_share_ratio(p->s, a, a->used, p->take, p->count);
    struct gang__ratio giver =
        gang__fair_share_ratio(p->s, b, gang__preempt_usage_of(p, b), NULL, 0);
    return gang__ratio_compare(taker, giver) < 0;
}

/* May it take from any of its siblings? */
static bool is_owed_by_sibling(const struct gang__preemption *p, const struct gang__queue_state *a)
{
    const gang_sched *s = p->s;
    for (uint32_t c = a->parent->q ? a->parent->q->first_child : 0; c != GANG__NO_QUEUE;
         c = s->qs[c]->q->next_sibling)
        if (s->qs[c] != a && may_take_dominant(p, a, s->qs[c]))
            return true;
    return false;
}

/* Is any queue such a giver? Most takers need not ask them one by one. */
static bool is_owed_dominant(const struct gang__preemption *p)
{
    for (const struct gang__queue_state *a = p->taker->job->leaf; a->parent; a = a->parent)
        if (exceeds_in_part(p, a) && is_owed_by_sibling(p, a))
            return true;
    return false;
}

/* Is the queue guaranteed nothing of some kind that the taker asks for? Then it is never inside its
 * guarantee with what the taker asks for. */
static bool has_no_guarantee(const struct gang__preemption *p, const struct gang__queue_state *a)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (a->guarantee[p->take[i].dim] == 0 && p->take[i].amount > 0)
            return true;
    return false;
}

/* Does the taker stay inside the guarantee of its branch, and is the victim a guest? If the victim
 * outranks the taker, that guarantee must protect the taker then. */
static bool takes_back(const struct gang__preemption *p, const struct gang__queue_state *a,
                       const struct gang__victim *v)
{
    return gang__usage_stays_within(a, a->guarantee, p->take, p->count) &&
           gang__preempt_is_guest(p, v) &&
           (!gang__preempt_outranks(p->s, v->g->job, p->taker->job) ||
            gang__preempt_may_keep_by_guarantee(p, v->g));
}

/* Reclaim: a taker inside its guarantee may take guests on its partition. A taker
 * inside its fair share may take from a giver above its share; a taker inside its guarantee may
 * take from a giver above its guarantee. Taking only empties the giver and, in the same branch, the
 * taker: GANG__MAY_NONE stays true while victims are taken. */
static struct gang__preempt_rule rule_of_reclaim(const struct gang__preemption *p,
                                                 const struct gang__victim *v)
{
    const struct gang__gang *victim = v->g;
    struct gang__queue_state *a, *b, *leaf = p->taker->job->leaf;
    if (leaf->q->reclaim == GANG_PREEMPT_NEVER)
        return (struct gang__preempt_rule){GANG_PROTECTED_RECLAIM_NEVER, leaf};
    if (leaf->q->reclaim == GANG_PREEMPT_LOWER && victim->job->priority >= p->taker->job->priority)
        return (struct gang__preempt_rule){GANG_PROTECTED_PRIORITY, leaf};
    gang__preempt_branches(leaf, victim->job->leaf, &a, &b);
    if (p->owns_nodes && takes_back(p, a, v))
        return takeable;
    struct gang__preempt_rule rule = rule_below_giver(p, victim->job->leaf, b);
    if (rule.rule != GANG_PROTECTED_NOT)
        return rule;
    bool over_share = is_above(p, b, b->share);
    bool over_guarantee = is_above(p, b, b->guarantee);
    if (!over_share && (p->fair || !over_guarantee || has_no_guarantee(p, a)))
        return (struct gang__preempt_rule){GANG_PROTECTED_SHARE, b};
    bool by_share = over_share && (gang__usage_stays_within(a, a->share, p->take, p->count) ||
                                   may_take_dominant(p, a, b));
    bool outranked = gang__preempt_outranks(p->s, victim->job, p->taker->job);
    if (by_share && !outranked)
        return takeable;
    if (over_guarantee && (!outranked || gang__preempt_may_keep_by_guarantee(p, victim)) &&
        gang__usage_stays_within(a, a->guarantee, p->take, p->count))
        return takeable;
    if (outranked)
        return (struct gang__preempt_rule){GANG_PROTECTED_OUTRANKS, a};
    return (struct gang__preempt_rule){
        over_share ? GANG_PROTECTED_PREEMPTOR_SHARE : GANG_PROTECTED_PREEMPTOR_GUARANTEE, a};
}

/* Dominant ratios are left out: where kinds differ depends on the giver, too. */
bool gang__preempt_allows_before(const struct gang__preemption *p, const struct gang__victim *v)
{
    struct gang__queue_state *a, *b;
    gang__preempt_branches(p->taker->job->leaf, v->g->job->leaf, &a, &b);
    return gang__usage_stays_within(a, a->share, p->take, p->count) ||
           (is_above(p, b, b->guarantee) &&
            gang__usage_stays_within(a, a->guarantee, p->take, p->count));
}

int32_t gang__preempt_rule_in_leaf(const struct gang__preemption *p, const struct gang__victim *v)
{
    const struct gang__job *x = p->taker->job, *y = v->g->job;
    int32_t within = x->leaf->q->within;
    if (within == GANG_PREEMPT_NEVER)
        return GANG_PROTECTED_WITHIN_NEVER;
    if (within == GANG_PREEMPT_USER_LIMIT && x->leaf_user != y->leaf_user)
        return gang__preempt_rule_of_user(p, v);
    if (y->priority < x->priority ||
        (within == GANG_PREEMPT_LOWER_OR_NEWER && y->priority == x->priority && y->age > x->age))
        return GANG_PROTECTED_NOT;
    return GANG_PROTECTED_PRIORITY;
}

struct gang__preempt_rule gang__preempt_rule_of(const struct gang__preemption *p,
                                                const struct gang__victim *v)
{
    const struct gang__gang *victim = v->g;
    if (victim == p->taker || victim->job == p->taker->job)
        return (struct gang__preempt_rule){GANG_PROTECTED_SAME_JOB, NULL};
    if (victim->victim.tentative)
        return (struct gang__preempt_rule){GANG_PROTECTED_STOPPING, NULL};
    if (victim->reserve.inside_of) /* a reservation is kept for its members */
        return (struct gang__preempt_rule){GANG_PROTECTED_RESERVATION, NULL};
    if (p->mode == GANG__PREEMPT_MOVE)
        return takeable;
    if (victim->job->leaf != p->taker->job->leaf)
        return p->mode == GANG__PREEMPT_ACROSS ? gang__preempt_rule_of_rank(p, victim)
                                               : rule_of_reclaim(p, v);
    return (struct gang__preempt_rule){gang__preempt_rule_in_leaf(p, v), p->taker->job->leaf};
}

/* Does the rule hold for all gangs of the leaf that follow this one in the order of victims? By
 * rank, a guarantee protects each gang by the kinds that it takes. */
static bool holds_for_leaf(const struct gang__preemption *p, int32_t rule)
{
    return rule == GANG_PROTECTED_WITHIN_NEVER || rule == GANG_PROTECTED_RECLAIM_NEVER ||
           rule == GANG_PROTECTED_PRIORITY || rule == GANG_PROTECTED_ACROSS ||
           (rule == GANG_PROTECTED_GUARANTEE && p->mode != GANG__PREEMPT_ACROSS) ||
           rule == GANG_PROTECTED_SHARE;
}

enum gang__may gang__preempt_may_take(const struct gang__preemption *p,
                                      const struct gang__victim *v)
{
    if (p->mode == GANG__PREEMPT_GUESTS && !gang__preempt_is_guest(p, v))
        return GANG__MAY_NEVER;
    int32_t rule = gang__preempt_rule_of(p, v).rule;
    if (rule == GANG_PROTECTED_NOT)
        return GANG__MAY;
    if (v->g->job->leaf == p->taker->job->leaf && gang__preempt_by_user_limit(p) &&
        (rule == GANG_PROTECTED_USER_LIMIT || rule == GANG_PROTECTED_PRIORITY))
        return GANG__MAY_NEVER;
    if (holds_for_leaf(p, rule)) /* but a guest may follow */
        return p->owns_nodes ? GANG__MAY_NEVER : GANG__MAY_NONE;
    return GANG__MAY_NOT;
}

/* ---- does it suffice? ------------------------------------------------------------------------ */

bool gang__preempt_amounts_suffice(const struct gang__preemption *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t d = p->take[i].dim;
        int32_t kind = p->s->queues->dim[d].kind;
        if (p->s->slice.matrices && (kind == GANG_KIND_CPU || kind == GANG_KIND_GPU))
            continue; /* time slices use them more than once: the snapshot decides */
        if (p->s->usage.by_memory && kind == GANG_KIND_GPU)
            continue; /* usage counts an upper bound of them */
        if (p->s->total[d] - p->s->root.used[d] < p->take[i].amount)
            return false;
    }
    return true;
}

bool gang__preempt_quota_suffices(const struct gang__preemption *p)
{
    struct gang__refusal refusal;
    return gang__usage_refuse(p->s, p->taker->job->leaf, p->take, p->count,
                              p->taker->order.wait_class->fixed, &refusal) == NULL;
}

bool gang__preempt_is_above_guarantee(const struct gang__preemption *p)
{
    const struct gang__gang *g = p->taker;
    return p->s->queues->nonpreemptible_to_limit &&
           gang__partition_count(g) == 0 && /* asked again in each of its partitions */
           gang__gang_is_fixed(g, g->alloc != GANG_ID_NONE) &&
           gang__usage_exceeds_guarantees(g->job->leaf, p->take, p->count);
}

bool gang__preempt_is_entitled(const struct gang__preemption *p)
{
    const struct gang__queue_state *leaf = p->taker->job->leaf;
    return gang__usage_stays_within(leaf, leaf->share, p->take, p->count) ||
           gang__usage_stays_within(leaf, leaf->guarantee, p->take, p->count) ||
           is_owed_dominant(p);
}
