/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of reclaim and preemption: who may take from whom. */
#include "sched/preempt/preempt_in.h"
#include "sched/usage/usage.h"

/* The two children of the queue where the branches of two leaves part. */
static void part(struct gang__queue_state *a, struct gang__queue_state *b,
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

/* Does a queue manage some of what is asked for, and use no more of that than it was promised? */
static bool is_inside_guarantee(const struct gang__preemption *p, const struct gang__queue_state *q)
{
    bool managed = false;
    for (uint32_t i = 0; i < p->count; i++)
        managed = managed || q->guarantee[p->take[i].dim] != GANG__NO_BOUND;
    return managed && !gang__over(p->s, q, q->guarantee, p->take, p->count);
}

/* Below the queue that gives: who keeps to his guarantee does not pay for a sibling that does not;
 * and as long as there are others, nor who keeps to his share, for he would take it back from
 * them. */
static bool may_give(const struct gang__preemption *p, const struct gang__queue_state *leaf,
                     const struct gang__queue_state *giver)
{
    for (const struct gang__queue_state *q = leaf; q != giver; q = q->parent)
        if (is_inside_guarantee(p, q) ||
            (p->fair && !gang__over(p->s, q, q->share, p->take, p->count)))
            return false;
    return true;
}

/* Reclaim, with what was taken from the giver so far: who stays inside his fair share may take from
 * one above his; who stays inside his guarantee may take from one above his. A giver only gets
 * emptier: what he cannot give now he cannot give later. The taker's branch may, too. */
static enum gang__may may_reclaim(const struct gang__preemption *p, const struct gang__gang *victim)
{
    struct gang__queue_state *a, *b, *leaf = p->taker->job->leaf;
    if (leaf->q->reclaim == GANG_PREEMPT_NEVER ||
        (leaf->q->reclaim == GANG_PREEMPT_LOWER &&
         victim->job->priority >= p->taker->job->priority))
        return GANG__MAY_NONE;
    part(leaf, victim->job->leaf, &a, &b);
    if (!may_give(p, victim->job->leaf, b))
        return GANG__MAY_NONE;
    bool over_share = gang__over(p->s, b, b->share, p->take, p->count);
    bool over_guarantee = gang__over(p->s, b, b->guarantee, p->take, p->count);
    if (!over_share && (p->fair || !over_guarantee))
        return GANG__MAY_NONE;
    if (over_share && gang__stays(a, a->share, a->used, p->take, p->count))
        return GANG__MAY;
    return over_guarantee && gang__stays(a, a->guarantee, a->used, p->take, p->count)
               ? GANG__MAY
               : GANG__MAY_NOT;
}

bool gang__may_preempt(const struct gang__preemption *p, const struct gang__gang *victim)
{
    const struct gang__job *x = p->taker->job, *y = victim->job;
    switch (x->leaf->q->within) {
    case GANG_PREEMPT_NEVER:
        return false;
    case GANG_PREEMPT_LOWER_OR_NEWER:
        return y->priority < x->priority || (y->priority == x->priority && y->age > x->age);
    default:
        return y->priority < x->priority;
    }
}

enum gang__may gang__may_take(const struct gang__preemption *p, const struct gang__gang *victim)
{
    if (victim == p->taker || victim->job == p->taker->job || victim->victim.tentative ||
        victim->reserve.inside_of) /* what is reserved is not for others */
        return GANG__MAY_NOT;
    if (p->mode == GANG__PREEMPT_MOVE)
        return gang__may_fall_whole(victim) ? GANG__MAY : GANG__MAY_NOT;
    if (victim->job->leaf != p->taker->job->leaf)
        return may_reclaim(p, victim);
    return gang__may_preempt(p, victim) ? GANG__MAY : GANG__MAY_NONE;
}

/* Is the taker's branch, with him, inside its guarantee? */
static bool is_inside(const struct gang__queue_state *a, const struct gang__preemption *p)
{
    for (uint32_t i = 0; i < p->count; i++)
        if (a->used[p->take[i].dim] > a->guarantee[p->take[i].dim])
            return false;
    return true;
}

/* Would the taker end relatively fuller than a giver? Compared where their branches part, after it
 * all. */
bool gang__overshoots(const struct gang__preemption *p, const struct gang__gang *victim)
{
    struct gang__queue_state *a, *b;
    struct gang__ratio taker, giver;
    if (victim->job->leaf == p->taker->job->leaf)
        return false;
    part(p->taker->job->leaf, victim->job->leaf, &a, &b);
    if (is_inside(a, p))
        return false;
    taker = gang__fair_ratio(p->s, a, a->share, NULL, 0);
    giver = gang__fair_ratio(p->s, b, b->share, NULL, 0);
    if (taker.num <= taker.den)
        return false;
    taker.num = gang__mul_div(taker.num, p->s->opts.saturation_milli, 1000);
    return gang__ratio_compare(taker, giver) >= 0;
}

/* ---- does it suffice? ------------------------------------------------------------------------ */

bool gang__amounts_suffice(const struct gang__preemption *p)
{
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t d = p->take[i].dim;
        int32_t kind = p->s->queues->dim[d].kind;
        if (p->s->slice.matrices && (kind == GANG_KIND_CPU || kind == GANG_KIND_GPU))
            continue; /* they may be used more than once: the copy tells */
        if (p->s->usage.by_memory && kind == GANG_KIND_GPU)
            continue; /* the books have what they take at most */
        if (p->s->total[d] - p->s->root.used[d] < p->take[i].amount)
            return false;
    }
    return true;
}

bool gang__quota_suffices(const struct gang__preemption *p)
{
    uint32_t dim;
    int32_t why;
    return gang__usage_refuse(p->s, p->taker->job->leaf, p->take, p->count,
                              p->taker->order.wait_class->fixed, &dim, &why) == NULL;
}

/* Does its leaf stay inside its share with him, or inside its guarantee? */
bool gang__is_entitled(const struct gang__preemption *p)
{
    const struct gang__queue_state *leaf = p->taker->job->leaf;
    return gang__stays(leaf, leaf->share, leaf->used, p->take, p->count) ||
           gang__stays(leaf, leaf->guarantee, leaf->used, p->take, p->count);
}

/* ---- may one stay after all? ----------------------------------------------------------------- */

/* With the taker in the books: may this much come back to its queue? */
bool gang__may_stay(const struct gang__preemption *p, const struct gang__victim *v)
{
    for (const struct gang__queue_state *q = v->u->job->leaf; q->parent; q = q->parent)
        for (uint32_t d = 0; d < p->s->dims; d++)
            if (q->used[d] > q->limit[d])
                return false;
    return true;
}

/* With the taker in the books: is a queue of his above what it may take from others for? */
static bool is_beyond(const struct gang__preemption *p, const struct gang__queue_state *q)
{
    for (uint32_t k = 0; k < p->count; k++) {
        uint32_t d = p->take[k].dim;
        if (q->used[d] > q->share[d] && q->used[d] > q->guarantee[d])
            return true;
    }
    return false;
}

/* With the taker in the books, and one of his own queue back: is he still entitled to what others
 * gave? */
bool gang__still_entitled(const struct gang__preemption *p)
{
    const struct gang__victims *v = p->s->preempt.victims;
    struct gang__queue_state *a, *b, *leaf = p->taker->job->leaf;
    bool some = false; /* mostly none is, and there may be many victims */
    for (const struct gang__queue_state *q = leaf; q->parent; q = q->parent)
        some = some || is_beyond(p, q);
    for (size_t i = 0; some && i < v->count; i++) {
        if (v->list[i].stays || v->list[i].u->job->leaf == leaf)
            continue;
        part(leaf, v->list[i].u->job->leaf, &a, &b);
        if (is_beyond(p, a) || is_beyond(p, leaf))
            return false;
    }
    return true;
}

/* ---- branches ---------------------------------------------------------------------------------- */

bool gang__preempt_same_branch(const struct gang__preemption *p, const struct gang__gang *victim)
{
    const struct gang__queue_state *a = p->taker->job->leaf, *b = victim->job->leaf;
    while (a->parent->parent)
        a = a->parent;
    while (b->parent->parent)
        b = b->parent;
    return a == b;
}
