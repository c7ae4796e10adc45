/* SPDX-License-Identifier: Apache-2.0 */
/* Is a gang spared because of earlier preemptions?
 *
 * The rules of preemption may run in a circle: A preempts B, B preempts C, C preempts A, each step
 * within the rules. So each gang remembers for which jobs it was preempted or moved, and when.
 *   1. A taker spares a gang that was stopped for its queue before.
 *   2. A gang that was preempted spares the job for which it was.
 * Both hold
 *   - during the cooldown: gang_sched_opts.preempt_cooldown_ns, or the minimum run time of the
 *     stopped gang's queue, if that is longer;
 *   - and after it, until the next event from outside,
 * unless what queues may have changed with the nodes or the configuration. 1 does not hold if what
 * the taker demands, or a gang of its wait class behind it, came up after that stop.
 *
 * No circle: let no job be submitted, released or lost, and no queue or node be changed. By 1 each
 * gang is then stopped at most once for each queue within a cooldown, because the demand of all
 * takers of the queue is older than that stop. There are finitely many gangs and queues, so the
 * stops end. If no event comes at all, they end for good. The tasks of a gang above its minimum are
 * stopped for a queue one after the other, but those that it got since its first such stop are
 * spared, so that each of them is stopped at most once. By 2 no two gangs preempt each other.
 * Preemption by rank alone ends without a cooldown: rank.c has the proof.
 *
 * For what the host has not heard of (record/untold.h) both hold only until the next event; with
 * preempt_cooldown_ns -1, which switches the rules off, for the rest of the run: else two gangs
 * that cost no work could take turns in it for ever.
 *
 * A gang remembers few stops. If there are more, the last entry stands for all queues. */
#include "sched/preempt/preempt_in.h"

enum { REMEMBERED = 6 };

struct gang__cooldown {
    gang_queue_id queue; /* the taker's leaf; GANG_ID_NONE: any */
    gang_job_id taker;
    bool whole;             /* the gang was stopped, not only tasks above its minimum */
    bool moved;             /* it lost nothing */
    uint64_t stop;          /* number of the stop, of sched.preempt.stops */
    uint64_t event, bounds; /* sched.external_events and usage.bounds_count then */
    uint64_t run;           /* it holds in this one of sched.runs alone; 0: as said above */
    int64_t until_ns;
};

struct gang__cooldowns {
    uint32_t count;
    struct gang__cooldown of[REMEMBERED]; /* the latest for each taker */
};

bool gang__cooldowns_copy(gang_sched *s, struct gang__gang *to, const struct gang__gang *from)
{
    if (!from->preempt.cooldowns)
        return true;
    to->preempt.cooldowns = gang__alloc(&s->mem, sizeof(*to->preempt.cooldowns));
    if (to->preempt.cooldowns)
        *to->preempt.cooldowns = *from->preempt.cooldowns;
    return to->preempt.cooldowns != NULL;
}

/* Is the gang to remember that it is stopped? */
static bool remembers(const gang_sched *s, const struct gang__gang *g)
{
    return s->opts.preempt_cooldown_ns >= 0 || g->untold.at;
}

/* Has the host not heard of the victim? */
static bool is_untold(const struct gang__victim *v)
{
    const struct gang__gang_untold *u = &v->g->untold;
    size_t i = 0;
    while (!v->whole && i < u->count && u->tasks[i] != v->task)
        i++;
    return u->start || (!v->whole && i < u->count);
}

bool gang__cooldown_prepare(gang_sched *s, struct gang__gang *g)
{
    if (remembers(s, g) && !g->preempt.cooldowns)
        g->preempt.cooldowns = gang__zalloc(&s->mem, 1, sizeof(*g->preempt.cooldowns));
    return !remembers(s, g) || g->preempt.cooldowns;
}

/* Is the entry in force? */
static bool holds(const gang_sched *s, const struct gang__cooldown *c)
{
    return c->bounds == s->usage.bounds_count && (c->run == 0 || c->run == s->runs) &&
           (s->now_ns < c->until_ns || c->event == s->external_events);
}

/* The entry to be written: that of this taker and kind, one that holds no more, a new one, or the
 * last one, which then stands for all queues. */
static struct gang__cooldown *entry_for(const gang_sched *s, struct gang__cooldowns *all,
                                        struct gang__cooldown *with)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (all->of[i].taker == with->taker && all->of[i].whole == with->whole &&
            all->of[i].moved == with->moved) {
            with->until_ns = gang__max(with->until_ns, all->of[i].until_ns);
            return &all->of[i];
        }
    for (uint32_t i = 0; i < all->count; i++)
        if (!holds(s, &all->of[i]))
            return &all->of[i];
    if (all->count < REMEMBERED)
        return &all->of[all->count++];
    struct gang__cooldown *last = &all->of[REMEMBERED - 1];
    with->queue = GANG_ID_NONE;
    with->whole = with->whole || last->whole;
    with->until_ns = gang__max(with->until_ns, last->until_ns);
    return last;
}

void gang__cooldown_note(gang_sched *s, const struct gang__victim *v,
                         const struct gang__gang *taker)
{
    struct gang__cooldown c = {.queue = taker->job->leaf->q->id,
                               .taker = taker->job->id,
                               .whole = v->whole,
                               .moved = v->moves,
                               .stop = ++s->preempt.stops,
                               .event = s->external_events,
                               .bounds = s->usage.bounds_count};
    if (!remembers(s, v->g))
        return;
    c.run = s->opts.preempt_cooldown_ns < 0 ? s->runs : 0;
    c.until_ns = is_untold(v)
                     ? s->now_ns
                     : gang__add_sat(s->now_ns, gang__max(s->opts.preempt_cooldown_ns,
                                                          v->g->job->leaf->q->min_runtime_ns));
    struct gang__cooldown *to = entry_for(s, v->g->preempt.cooldowns, &c);
    *to = c;
}

/* An entry in force spares a gang: the first run after the cooldown, or after the event that ends
 * it later, looks again. */
static bool in_force(gang_sched *s, const struct gang__cooldown *c)
{
    if (!holds(s, c))
        return false;
    if (c->run > 0)
        s->preempt.look_again = true;
    else if (s->now_ns < c->until_ns)
        s->preempt.min_runtime_due_ns = gang__min(s->preempt.min_runtime_due_ns, c->until_ns);
    else
        s->preempt.until_event = true;
    return true;
}

/* 1. Is the victim, a gang or a task above its minimum, spared by this entry? */
static bool was_stopped_for(const struct gang__cooldown *c, const struct gang__victim *v,
                            const struct gang__gang *taker)
{
    return (c->queue == taker->job->leaf->q->id || c->queue == GANG_ID_NONE) &&
           taker->order.wait_class->demand_at < c->stop &&
           (c->whole || (!v->whole && v->g->preempt.grown_at >= c->stop));
}

static int32_t spared(const struct gang__cooldown *c, int32_t rule, int64_t *until_ns)
{
    if (until_ns)
        *until_ns = c->until_ns;
    return rule;
}

int32_t gang__cooldown_rule(gang_sched *s, const struct gang__victim *v,
                            const struct gang__gang *taker, int64_t *until_ns)
{
    const struct gang__cooldowns *its = v->g->preempt.cooldowns, *own = taker->preempt.cooldowns;
    for (uint32_t i = 0; its && i < its->count; i++)
        if (was_stopped_for(&its->of[i], v, taker) && in_force(s, &its->of[i])) {
            taker->order.wait_class->spared = true;
            return spared(&its->of[i], GANG_PROTECTED_COOLDOWN, until_ns);
        }
    for (uint32_t i = 0; own && i < own->count; i++) /* 2. */
        if (own->of[i].taker == v->g->job->id && !own->of[i].moved && in_force(s, &own->of[i]))
            return spared(&own->of[i], GANG_PROTECTED_COOLDOWN_JOB, until_ns);
    return GANG_PROTECTED_NOT;
}
