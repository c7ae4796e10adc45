/* SPDX-License-Identifier: Apache-2.0 */
/* What would preemption do for a blocked gang, and which rule protects each gang that runs?
 *
 * Each gang that runs is judged by the functions of the rules themselves (victims.c,
 * preempt_rules.c, cooldown.c), by the usage as it is: as the first victim of an attempt. Then all
 * attempts are made dry: the trial is dropped instead of committed. What attempts note besides
 * their trial is put back, so that no later decision depends on the question. */
#include <string.h>

#include "sched/preempt/preempt_in.h"
#include "sched/usage/usage.h"

/* What attempts note outside of their trial. */
struct kept {
    int64_t steps, preempted_tasks, min_runtime_due_ns;
    bool retry, spared;
};

static struct kept keep(const gang_sched *s, const struct gang__gang *g)
{
    return (struct kept){s->steps, s->preempt.preempted_tasks, s->preempt.min_runtime_due_ns,
                         s->wake.retry, g->order.wait_class->spared};
}

static void restore(gang_sched *s, struct gang__gang *g, const struct kept *k)
{
    s->steps = k->steps;
    s->preempt.preempted_tasks = k->preempted_tasks;
    s->preempt.min_runtime_due_ns = k->min_runtime_due_ns;
    s->wake.retry = k->retry;
    g->order.wait_class->spared = k->spared;
}

uint32_t gang__preempt_request(gang_sched *s, struct gang__gang *g,
                               struct gang__take take[GANG__DIMS])
{
    struct gang__preemption p;
    if (g->alloc != GANG_ID_NONE && gang__gang_lacks_all(g) == 0)
        return 0; /* it has its places, and waits for its turn on them */
    bool partitions = gang__partition_count(g) > 0;
    if (partitions)
        gang__partition_try(g, 0);
    gang__preempt_set_up(&p, s, g);
    memcpy(take, p.take, p.count * sizeof(*take));
    if (partitions)
        gang__partition_try_end(g);
    return p.count;
}

/* ---- the rule for each gang ------------------------------------------------------------------ */

/* The taker, with what is the same for all victims. */
struct look {
    struct gang__preemption p;
    bool entitled; /* to reclaim from other queues at all */
};

static void set_up(struct look *l, gang_sched *s, struct gang__gang *g)
{
    gang__preempt_set_up(&l->p, s, g);
    l->p.mode = GANG__PREEMPT_RECLAIM;
    l->entitled = gang__preempt_is_entitled(&l->p);
}

/* By user limit it matters how much would stop: the whole gang, or else one task of some group. */
static struct gang__preempt_rule rule_for_part(const struct look *l, struct gang__gang *victim)
{
    struct gang__victim v = {.g = victim, .whole = gang__may_preempt_whole(victim)};
    struct gang__preempt_rule rule = gang__preempt_rule_of(&l->p, &v);
    uint32_t groups = victim->victim.elastic ? gang__gang_request(victim)->group_count : 0;
    v.whole = false;
    for (; rule.rule == GANG_PROTECTED_USER_LIMIT && v.group < groups; v.group++)
        if (gang__preempt_rule_of(&l->p, &v).rule != GANG_PROTECTED_USER_LIMIT)
            rule = gang__preempt_rule_of(&l->p, &v);
    return rule;
}

static struct gang__preempt_rule rule_by_usage(const struct look *l, struct gang__gang *victim)
{
    const struct gang__queue_state *leaf = l->p.taker->job->leaf;
    struct gang__preempt_rule rule = rule_for_part(l, victim);
    if (rule.rule == GANG_PROTECTED_NOT && victim->job->leaf != leaf && !l->entitled)
        rule = (struct gang__preempt_rule){GANG_PROTECTED_PREEMPTOR_SHARE, leaf};
    return victim->job->leaf != leaf ? gang__preempt_rule_beside_rank(&l->p, victim, rule) : rule;
}

/* A taker with a choice of tasks may take the gang if it may with one of the choices. */
static struct gang__preempt_rule rule_by_choices(struct look *l, struct gang__gang *victim)
{
    gang_sched *s = l->p.s;
    struct gang__gang *taker = l->p.taker;
    struct gang__preempt_rule rule = {GANG_PROTECTED_NOT, NULL};
    if (!gang__gang_chooses(taker))
        return rule_by_usage(l, victim);
    for (bool some = gang__choice_first(s, taker); some; some = gang__choice_next(s, taker)) {
        set_up(l, s, taker);
        rule = rule_by_usage(l, victim);
        if (rule.rule == GANG_PROTECTED_NOT)
            break;
    }
    taker->choice = NULL;
    return rule;
}

static struct gang__protected judge(struct look *l, struct gang__gang *g)
{
    gang_sched *s = l->p.s;
    struct gang__protected x = {g, gang__victim_rule(s, g), NULL, 0};
    struct gang__victim v = {.g = g, .whole = gang__may_preempt_whole(g)};
    if (x.rule == GANG_PROTECTED_MIN_RUNTIME)
        x.until_ns = gang__victim_min_runtime_end(g);
    if (x.rule == GANG_PROTECTED_NOT) {
        struct gang__preempt_rule rule = rule_by_choices(l, g);
        x.rule = rule.rule;
        x.queue = rule.queue;
    }
    if (x.rule == GANG_PROTECTED_NOT)
        x.rule = gang__cooldown_rule(s, &v, l->p.taker, &x.until_ns);
    if (x.until_ns <= s->now_ns)
        x.until_ns = 0;
    return x;
}

static void judge_leaf(struct look *l, const struct gang__queue_state *leaf,
                       gang__protected_fn *visit, void *user)
{
    for (struct gang__set_link *n = gang__set_first(&leaf->victims); n; n = gang__set_next(n)) {
        struct gang__gang *g = GANG__OF(struct gang__gang, victim.link, n);
        struct gang__protected x = judge(l, g);
        if (g != l->p.taker)
            visit(&x, user);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

gang_result gang__would_preempt(gang_sched *s, struct gang__gang *g, int32_t why,
                                gang__protected_fn *visit, void *user, struct gang__would *out)
{
    struct look l;
    struct kept k = keep(s, g);
    bool partitions = gang__partition_count(g) > 0;
    if (!gang__preempt_ready(s))
        return GANG_ENOMEM;
    if (partitions) /* gangs that run are judged for the first one; the attempts try each */
        gang__partition_try(g, 0);
    set_up(&l, s, g);
    for (uint32_t i = 0; i < s->queues->count; i++)
        if (s->qs[i]->q->leaf)
            judge_leaf(&l, s->qs[i], visit, user);
    s->preempt.preempted_tasks = 0; /* as in the run that would preempt */
    set_up(&l, s, g);
    out->moves = gang__preempt_moves_bar(&l.p);
    if (partitions)
        gang__partition_try_end(g);
    bool would = gang__preempt_may_succeed(s, g, why) && gang__preempt_try(&l.p, s, g, true);
    out->outcome = would                                     ? GANG_PREEMPTION_NEXT
                   : l.p.outcome > GANG_PREEMPTION_PROTECTED ? l.p.outcome
                                                             : GANG_PREEMPTION_PROTECTED;
    out->together = l.p.together;
    restore(s, g, &k);
    return s->preempt.victims->failed ? GANG_ENOMEM : GANG_OK;
}
