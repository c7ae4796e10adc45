/* SPDX-License-Identifier: Apache-2.0 */
/* Do the rules allow the state that results from an attempt? Victims were taken one after the
 * other, and some were spared since: what was allowed then need not be allowed now.
 *
 *   1. Victims that were taken on credit, by the usage before the attempt: the rules are asked of
 *      those that are left, one after the other, in the order of victims or in another one.
 *   2. A gang of the taker's branch that is given up, and that would start again at once beside the
 *      taker, if only with its minimum: with it, the taker is still entitled to what others gave.
 *      Otherwise giving it up was a pretext, unless the taker is inside its guarantee without it.
 *   3. A victim that would lie inside the guarantee of its queue, were it back, is only taken by a
 *      taker inside its own guarantee. Otherwise the queue would take its guarantee back at once.
 *
 * The first victim that 1 or 3 refuses is barred from the next try. 1 refuses several at once: each
 * of the others may be barred in its place (struct gang__bars). */
#include "sched/preempt/preempt_in.h"
#include "sched/usage/usage.h"

enum { MOST_SWEEPS = 16 }; /* through the victims, for an order that the rules allow */

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
    if (p->bars.count < GANG__MOST_BARRED)
        p->bars.of[p->bars.count++] = victim;
    return false;
}

/* The lost victims are tentative again; those that were not put back are still so. */
static void take_all_again(struct gang__preemption *p)
{
    const struct gang__victims *v = p->s->preempt.victims;
    for (size_t i = 0; i < v->count; i++) {
        gang__victim_prefetch(v, i + GANG__VICTIMS_AHEAD);
        if (v->list[i].is_back)
            take_again(p, &v->list[i]);
        v->list[i].is_back = false;
    }
}

/* Do the rules allow to take the victims one after the other, in the order of victims? If not,
 * *refused is the first one that they refuse. */
static bool order_is_allowed(struct gang__preemption *p, struct gang__gang **refused)
{
    const struct gang__victims *v = p->s->preempt.victims;
    *refused = NULL;
    for (size_t i = v->count; i-- > 0;) {
        gang__victim_prefetch(v, i - GANG__VICTIMS_AHEAD); /* before the first: beyond the list */
        if (is_lost(&v->list[i]))
            gang__victim_put_back(p, &v->list[i]);
    }
    for (size_t i = 0; i < v->count; i++) {
        gang__victim_prefetch(v, i + GANG__VICTIMS_AHEAD);
        if (is_lost(&v->list[i])) {
            if (!*refused && gang__preempt_may_take(p, &v->list[i]) != GANG__MAY)
                *refused = v->list[i].g;
            take_again(p, &v->list[i]);
        }
    }
    return !*refused;
}

/* Put back each victim that the rules allow to take as the last of those that are not back yet.
 * Returns how many are not back after that. */
static size_t put_back_allowed(struct gang__preemption *p)
{
    const struct gang__victims *v = p->s->preempt.victims;
    size_t left = 0;
    for (size_t i = v->count; i-- > 0;) {
        struct gang__victim *x = &v->list[i];
        if (!is_lost(x) || x->is_back)
            continue;
        left++;
        if (!x->whole && x->g->victim.tentative) /* its gang comes back before it */
            continue;
        gang__victim_put_back(p, x);
        x->is_back = gang__preempt_may_take(p, x) == GANG__MAY;
        left -= x->is_back;
        if (!x->is_back)
            take_again(p, x);
    }
    return left;
}

static bool is_noted(const struct gang__bars *bars, const struct gang__gang *g)
{
    for (uint32_t i = bars->others; i-- > 0 && bars->other[i].count == bars->count;)
        if (bars->other[i].g == g)
            return true;
    return false;
}

/* No order of the victims that are not back is allowed, so one of them must be left out. */
static void note_others(struct gang__preemption *p, const struct gang__gang *refused)
{
    const struct gang__victims *v = p->s->preempt.victims;
    struct gang__bars *bars = &p->bars;
    for (size_t i = 0; i < v->count && bars->others < GANG__MOST_OTHERS; i++) {
        const struct gang__victim *x = &v->list[i];
        if (!is_lost(x) || x->is_back || x->g == refused || is_noted(bars, x->g))
            continue;
        bars->other[bars->others].g = x->g;
        bars->other[bars->others++].count = bars->count;
    }
}

/* Do the rules allow to take the victims in any order? A giver must be above its guarantee before
 * each of its gangs is taken: a small one may come before a large one, but not after it. The order
 * is made from its end: a victim that the rules allow to take when the others are gone may be the
 * last, and with it back they allow no less of the others, unless it is of the taker's branch. */
static bool some_order_is_allowed(struct gang__preemption *p, const struct gang__gang *refused)
{
    size_t before = SIZE_MAX, left = put_back_allowed(p);
    for (uint32_t i = 1; left > 0 && left < before && i < MOST_SWEEPS; i++) {
        before = left;
        left = put_back_allowed(p);
    }
    if (left > 0 && p->bars.count < GANG__MOST_BARRED)
        note_others(p, refused);
    take_all_again(p);
    return left == 0;
}

/* 1. */
static bool rules_allow(struct gang__preemption *p)
{
    struct gang__gang *refused;
    if (!p->before)
        return true;
    p->before = NULL;
    p->fair = false;
    return order_is_allowed(p, &refused) || some_order_is_allowed(p, refused) || refuse(p, refused);
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
