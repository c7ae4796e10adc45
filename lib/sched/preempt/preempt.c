/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption: which gangs are preempted so that a blocked gang, the *taker*, starts.
 *
 * Attempts follow each other until one is committed: others only move (consolidation); the taker
 * takes guests on its partition; it reclaims from other queues; it preempts by rank, also in other
 * leaves (rank.c); it preempts in its own leaf; it reclaims and preempts there. Each is a dry run
 * on a snapshot of the cluster and on the usage of the queues, in a trial that is dropped if it
 * fails (attempt.c):
 *
 *   1. Take victims in their order (lowest priority first, tasks above a minimum before gangs, the
 *      newest first; victims.c), as far as the rules let the taker take them (preempt_rules.c),
 *      until it keeps to the limits of its queues and has a place. The place is looked for when the
 *      amounts suffice, and then each time the number of victims has doubled (take_victims.c).
 *   2. From the last victim to the first: spare it if it can stay; move it if it fits elsewhere.
 *   3. Check the state that results: the taker does not end relatively fuller than a giver, it may
 *      start, and the rules allow to take the victims that are left (result.c).
 *   4. Commit: ask the victims to stop, and hand their places over to the taker (sched/stop).
 *
 * A gang is preempted only if the taker then starts. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "sched/preempt/preempt_in.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"

/* ---- one attempt: on usage as it is, or on credit -------------------------------------------- */

static bool try_once(struct gang__preemption *p, enum gang__preempt_mode mode, bool on_credit)
{
    if (!gang__preempt_begin(p, mode))
        return false;
    if (on_credit)
        gang__preempt_note_usage(p);
    bool own =
        mode == GANG__PREEMPT_WITHIN || mode == GANG__PREEMPT_BOTH || mode == GANG__PREEMPT_ACROSS;
    bool others = mode == GANG__PREEMPT_RECLAIM || mode == GANG__PREEMPT_GUESTS ||
                  mode == GANG__PREEMPT_ACROSS;
    bool found = gang__preempt_take_until_placed(p, own, others);
    if (!found && mode == GANG__PREEMPT_BOTH && gang__preempt_is_entitled(p))
        found = gang__preempt_take_until_placed(p, false, true);
    size_t count = gang__victims_taken(p->s->preempt.victims);
    p->lacks_place = !found && count > 0;
    p->together = !on_credit && count > p->together ? count : p->together;
    if (!found)
        gang__preempt_fails(p, count > 0 ? GANG_PREEMPTION_CAPACITY : GANG_PREEMPTION_PROTECTED);
    return gang__preempt_end(p, found && gang__preempt_settle(p));
}

/* After a try on credit that failed: if it barred no victim, bar one of those that were noted.
 * False: there is none. */
static bool bar_another(struct gang__preemption *p, uint32_t barred)
{
    struct gang__bars *bars = &p->bars;
    if (bars->count > barred)
        return true;
    if (bars->others == 0)
        return false;
    bars->others--;
    bars->count = bars->other[bars->others].count;
    bars->of[bars->count++] = bars->other[bars->others].g;
    return true;
}

/* Tries on credit: a few, or more while they look at few gangs. */
enum { FEW_TRIES = 8, MOST_TRIES = 64, FEW_STEPS = 1024 };

static bool try_on_credit(struct gang__preemption *p, enum gang__preempt_mode mode)
{
    int64_t begun = p->s->steps;
    bool more = true;
    for (int tries = 0; more && tries < MOST_TRIES; tries++) {
        uint32_t barred = p->bars.count;
        if (try_once(p, mode, true))
            return true;
        more = (tries + 1 < FEW_TRIES || p->s->steps - begun < FEW_STEPS) &&
               !p->s->preempt.victims->failed && bar_another(p, barred);
    }
    return false;
}

/* Victims in order, until the rules forbid more, may all lie on nodes where they are of no use. (By
 * priority the rules forbid the same gangs whatever was taken.) A second try takes them on credit,
 * by the usage before the attempt, and asks the rules of those that are left when all others were
 * spared. Those that they refuse are left out of the next try, one after the other, until the rules
 * allow the rest. */
static bool attempt(struct gang__preemption *p, enum gang__preempt_mode mode)
{
    p->bars.count = p->bars.others = 0;
    if (try_once(p, mode, false))
        return true;
    bool fixed = mode == GANG__PREEMPT_WITHIN && !gang__preempt_by_user_limit(p);
    return (p->lacks_place || p->bars.count > 0) && !fixed && try_on_credit(p, mode);
}

/* ---- which taker, which attempts ------------------------------------------------------------- */

void gang__preempt_set_up(struct gang__preemption *p, gang_sched *s, struct gang__gang *g)
{
    memset(p, 0, offsetof(struct gang__preemption, bars));
    p->bars.count = p->bars.others = 0;
    p->s = s;
    p->taker = g;
    p->take = gang__gang_next_demand(g, &p->count);
    p->owns_nodes = gang__preempt_owns_nodes(p);
    p->grow_group = -1;
    if (g->alloc != GANG_ID_NONE) {
        p->grow_group = 0;
        while (gang__gang_lacks(g, (uint32_t)p->grow_group) == 0)
            p->grow_group++;
        p->step = gang__gang_step(g, (uint32_t)p->grow_group);
        p->count =
            gang__request_class_takes_times(g->request_class, p->grow_group, p->step, p->of_step);
        p->take = p->of_step;
    }
}

int32_t gang__preempt_moves_bar(const struct gang__preemption *p)
{
    if (p->s->opts.max_moves <= 0)
        return GANG_MOVES_OFF;
    if (p->taker->calendar.plan != 0 || /* it has its time, and the others have theirs */
        (gang__slice_concerns(p->taker) && gang__calendar_has_plans(p->s)))
        return GANG_MOVES_PLANNED;
    if (!gang__preempt_amounts_suffice(p))
        return GANG_MOVES_AMOUNTS;
    return gang__preempt_quota_suffices(p) ? GANG_MOVES_TRIED : GANG_MOVES_LIMIT;
}

static bool try_attempts(struct gang__preemption *p)
{
    const struct gang__queue *q = p->taker->job->leaf->q;
    bool reclaims = q->reclaim != GANG_PREEMPT_NEVER, preempts = q->within != GANG_PREEMPT_NEVER;
    if (gang__preempt_is_above_guarantee(p)) /* of unlike groups, with this choice of tasks */
        return false;
    if (gang__preempt_moves_bar(p) == GANG_MOVES_TRIED && gang__preempt_consolidate(p))
        return true;
    bool entitled = reclaims && gang__preempt_is_entitled(p);
    if (entitled && p->owns_nodes && attempt(p, GANG__PREEMPT_GUESTS))
        return true;
    if (entitled && attempt(p, GANG__PREEMPT_RECLAIM))
        return true;
    if (gang__preempt_ranks(p->s, p->taker->job->leaf) && attempt(p, GANG__PREEMPT_ACROSS))
        return true;
    if (preempts && attempt(p, GANG__PREEMPT_WITHIN))
        return true;
    return reclaims && preempts && attempt(p, GANG__PREEMPT_BOTH);
}

/* Set up and try once more. The outcome of earlier attempts stays noted. */
static bool try_choice(struct gang__preemption *p, gang_sched *s, struct gang__gang *g, bool dry)
{
    int32_t outcome = p->outcome;
    size_t together = p->together;
    gang__preempt_set_up(p, s, g);
    p->dry = dry;
    p->outcome = outcome;
    p->together = together;
    return try_attempts(p);
}

/* A gang of unlike groups is tried with one choice of its tasks after the other, so that the rules
 * judge what is then placed. */
static bool try_choices(struct gang__preemption *p, gang_sched *s, struct gang__gang *g, bool dry)
{
    bool done = false;
    if (!gang__gang_chooses(g))
        return try_choice(p, s, g, dry);
    for (bool some = gang__choice_first(s, g); some && !done; some = gang__choice_next(s, g)) {
        done = try_choice(p, s, g, dry);
        if (done || s->preempt.victims->failed)
            break;
    }
    g->choice = NULL;
    return done;
}

/* A gang with several partitions is tried in one after the other. After the commit it keeps the
 * partition (preempt_commit.c). */
static bool try_partitions(struct gang__preemption *p, gang_sched *s, struct gang__gang *g,
                           bool dry)
{
    uint32_t count = gang__partition_count(g);
    bool done = false;
    p->outcome = GANG_PREEMPTION_NONE;
    p->together = 0;
    if (count == 0)
        return try_choices(p, s, g, dry);
    for (uint32_t i = 0; i < count && !done && !s->preempt.victims->failed; i++) {
        gang__partition_try(g, i);
        done = try_choices(p, s, g, dry);
        if (!done || dry)
            gang__partition_try_end(g);
    }
    return done;
}

bool gang__preempt_ready(gang_sched *s)
{
    if (!s->preempt.victims) {
        s->preempt.victims = gang__zalloc(&s->mem, 1, sizeof(*s->preempt.victims));
        if (s->preempt.victims)
            s->preempt.victims->batches.most = GANG__MOST_DRAWN;
    }
    if (s->preempt.victims) {
        s->preempt.victims->failed = false;
        s->preempt.victims->owner = NULL;
    }
    return s->preempt.victims != NULL;
}

bool gang__preempt_try(struct gang__preemption *p, gang_sched *s, struct gang__gang *g, bool dry)
{
    return gang__preempt_ready(s) && try_partitions(p, s, g, dry);
}

bool gang__preempt_for(gang_sched *s, struct gang__gang *g)
{
    struct gang__preemption p;
    assert(!g->job->never_preempts && !gang__gang_insists(g) && !g->places &&
           !gang__preempt_waits_for_row(g) && !g->reserve.inside_of);
    bool done = gang__preempt_try(&p, s, g, false);
    s->no_memory = s->no_memory || !s->preempt.victims || s->preempt.victims->failed;
    return done;
}
