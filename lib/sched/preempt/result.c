/* SPDX-License-Identifier: Apache-2.0 */
/* Do the rules allow the state that results from an attempt? Victims were taken one after the
 * other, and some were spared since: what was allowed then need not be allowed now.
 *
 *   1. Victims that were taken on credit, by the usage before the attempt: the rules are asked of
 *      those that are left, one after the other.
 *   2. A gang of the taker's branch that is given up, and that would start again at once beside the
 *      taker, if only with its minimum: with it, the taker is still entitled to what others gave.
 *      Otherwise giving it up was a pretext, unless the taker is inside its guarantee without it.
 *   3. A victim that would lie inside the guarantee of its queue, were it back, is only taken by a
 *      taker inside its own guarantee. Otherwise the queue would take its guarantee back at once.
 *
 * The first victim that 1 or 3 refuses is barred from the next try. */
#include "sched/preempt/preempt_in.h"
#include "sched/usage/usage.h"

void gang__victim_put_back(struct gang__preemption *p, const struct gang__victim *v)
{
    gang__victim_count(v, -1);
    gang__victim_shift(p, v, 1);
}

static void take_again(struct gang__preemption *p, const struct gang__victim *v)
{
    gang__victim_shift(p, v, -1);
    gang__victim_count(v, 1);
}

/* Victims that move are not lost, and are in the usage already. */
static bool is_lost(const struct gang__victim *v)
{
    return !v->moves;
}

static bool refuse(struct gang__preemption *p, struct gang__gang *victim)
{
    p->barred[p->barred_count++] = victim;
    return false;
}

/* 1. */
static bool rules_allow(struct gang__preemption *p)
{
    const struct gang__victims *v = p->s->preempt.victims;
    bool ok = true;
    if (!p->before)
        return true;
    p->before = NULL;
    p->fair = false;
    for (size_t i = v->count; i-- > 0;) {
        gang__victim_prefetch(v, i - GANG__VICTIMS_AHEAD); /* before the first: beyond the list */
        if (is_lost(&v->list[i]))
            gang__victim_put_back(p, &v->list[i]);
    }
    for (size_t i = 0; i < v->count; i++) {
        gang__victim_prefetch(v, i + GANG__VICTIMS_AHEAD);
        if (is_lost(&v->list[i])) {
            if (ok && gang__preempt_may_take(p, &v->list[i]) != GANG__MAY)
                ok = refuse(p, v->list[i].g);
            take_again(p, &v->list[i]);
        }
    }
    return ok;
}

/* With the amounts that the gang starts with at least, does the taker stay entitled? */
static bool is_entitled_beside_start(struct gang__preemption *p, const struct gang__gang *g)
{
    struct gang__trial trial;
    uint32_t count;
    const struct gang__take *take = gang__request_class_takes(g->request_class, -1, &count);
    gang__trial_begin(&trial, p->s, NULL);
    bool ok = gang__trial_charge(&trial, g->job->leaf, take, count, 1);
    p->s->preempt.victims->failed = p->s->preempt.victims->failed || !ok;
    bool entitled = ok && gang__preempt_still_entitled(p);
    gang__trial_drop(&trial);
    return entitled;
}

/* Does it start again at once? */
static bool starts_again(struct gang__preemption *p, struct gang__gang *g)
{
    struct gang__refusal refusal;
    uint32_t count;
    const struct gang__take *take = gang__request_class_takes(g->request_class, -1, &count);
    struct gang__where w = {.s = p->s, .g = g, .on = p->s->scratch, .parts = true, .moves = true};
    return g->job->leaf->q->preempt == GANG_PREEMPT_MODE_REQUEUE &&
           !gang__usage_refuse(p->s, g->job->leaf, take, count, gang__gang_is_fixed(g, false),
                               &refusal) &&
           gang__where_fits(&w) == GANG_OK;
}

/* 2. */
bool gang__preempt_is_pretext(struct gang__preemption *p)
{
    const struct gang__victims *v = p->s->preempt.victims;
    bool pretext = p->pretext, inside = gang__preempt_keeps_guarantees(p);
    for (size_t i = 0; i < v->count && !inside && !pretext; i++) {
        struct gang__gang *g = v->list[i].g;
        pretext = is_lost(&v->list[i]) && v->list[i].whole && !g->sliced &&
                  gang__preempt_same_branch(p, g) && !is_entitled_beside_start(p, g) &&
                  starts_again(p, g);
    }
    return pretext;
}

/* 3. */
static bool guarantees_hold(struct gang__preemption *p)
{
    const struct gang__victims *v = p->s->preempt.victims;
    bool ok = true;
    if (p->mode != GANG__PREEMPT_ACROSS && gang__preempt_is_guaranteed(p))
        return true; /* mostly, and there may be many victims */
    for (size_t i = v->count; ok && i-- > 0;) {
        const struct gang__victim *x = &v->list[i];
        if (!is_lost(x) || x->g->job->leaf == p->taker->job->leaf ||
            (!x->whole && x->g->victim.tentative)) /* its gang is lost, too: it is not back alone */
            continue;
        gang__victim_put_back(p, x);
        if (gang__preempt_breaks_guarantee(p, x->g))
            ok = refuse(p, x->g);
        take_again(p, x);
    }
    return ok;
}

bool gang__preempt_result_is_allowed(struct gang__preemption *p)
{
    return rules_allow(p) && guarantees_hold(p);
}
