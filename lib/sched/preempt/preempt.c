/* SPDX-License-Identifier: Apache-2.0 */
/* Preemption: which gangs are preempted so that a blocked gang, the *taker*, starts.
 *
 * Attempts follow each other until one is committed: others only move (consolidation); the taker
 * reclaims from other queues; it preempts in its own leaf; it does both. Each is a dry run on a
 * snapshot of the cluster and on the usage of the queues, in a trial that is dropped if it fails:
 *
 *   1. Take victims in their order, as far as the rules let the taker take them, until it keeps to
 *      the limits of its queues and has a place. The place is looked for when the amounts suffice,
 *      and then each time the number of victims has doubled (take_victims.c).
 *   2. From the last victim to the first: spare it if it can stay; move it if it fits elsewhere.
 *   3. Check the state that results: the taker does not end relatively fuller than a giver, it may
 *      start, and the rules allow to take the victims that are left (result.c).
 *   4. Commit: ask the victims to stop, and hand their places over to the taker (sched/stop).
 *
 * A gang is preempted only if the taker then starts. */
#include <string.h>

#include "place/record/record.h"
#include "sched/order/order.h"
#include "sched/preempt/preempt_in.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

/* ---- 2. and 3. sparing, moving, checking ----------------------------------------------------- */

bool gang__preempt_settle(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    struct gang__trial charge;
    const struct gang__queue_state *asked = NULL; /* many victims come from few leaves */
    gang__trial_begin(&charge, s, NULL);
    bool ok = gang__trial_charge(&charge, p->taker->job->leaf, p->take, p->count, 1);
    s->preempt.victims->failed = s->preempt.victims->failed || !ok;
    p->charged = ok;
    if (ok)
        gang__preempt_spare(p);
    if (ok && gang__preempt_move(p))
        ok = p->mode != GANG__PREEMPT_MOVE;
    ok = ok && (p->mode == GANG__PREEMPT_MOVE || !gang__preempt_is_pretext(p));
    for (size_t i = 0; ok && p->mode != GANG__PREEMPT_MOVE && i < s->preempt.victims->count; i++) {
        const struct gang__victim *x = &s->preempt.victims->list[i];
        if (x->moves || x->g->job->leaf == asked)
            continue;
        asked = x->g->job->leaf;
        ok = !gang__preempt_overshoots(p, x->g);
    }
    gang__trial_drop(&charge);
    p->charged = false;
    return ok && gang__preempt_may_start(p) && gang__preempt_result_is_allowed(p);
}

/* ---- 4. one attempt -------------------------------------------------------------------------- */

/* Undoes what the tentative victims of the attempt changed; victims that move are back already. */
static void undo_victims(gang_sched *s, const struct gang__trial_record *r)
{
    struct gang__victims *v = s->preempt.victims;
    for (size_t i = v->count; i-- > 0;) {
        struct gang__victim *x = &v->list[i];
        if (x->moves)
            gang__victim_count(x, -1);
        else
            gang__victim_put_back(r->what, x);
    }
}

bool gang__preempt_begin(struct gang__preemption *p, enum gang__preempt_mode mode)
{
    gang_sched *s = p->s;
    p->mode = mode;
    p->tasks = 0;
    p->fair = p->again = false;
    p->before = NULL;
    s->preempt.victims->count = 0;
    if (!p->looked && gang_snapshot_take(s->worker, s->preempt.base) != GANG_OK)
        s->preempt.victims->failed = true;
    p->looked = true;
    if (!s->preempt.victims->failed && gang__snapshot_copy(s->scratch, s->preempt.base) != GANG_OK)
        s->preempt.victims->failed = true;
    gang__slice_dry_run_begin(s);
    gang__trial_begin(&p->trial, s, NULL);
    if (!gang__trial_reserve(&p->trial, 1))
        s->preempt.victims->failed = true;
    if (s->preempt.victims->failed) {
        gang__trial_drop(&p->trial);
        return false;
    }
    gang__trial_note(&p->trial, undo_victims, p, NULL, 0, 0);
    return true;
}

static bool count_allows(struct gang__preemption *p)
{
    const gang_sched *s = p->s;
    if (s->opts.max_preempted_tasks > 0 &&
        s->preempt.preempted_tasks + p->tasks > s->opts.max_preempted_tasks) {
        p->s->wake.retry =
            p->s->wake.retry || s->preempt.preempted_tasks > 0; /* alone it may be few enough */
        return false;
    }
    if (s->opts.observe_only) {
        gang__log(p->s, 1, "observe only: %lld tasks would be preempted for job %llu",
                  (long long)p->tasks, (unsigned long long)p->taker->job->id);
        return false;
    }
    return true;
}

bool gang__preempt_end(struct gang__preemption *p, bool ok)
{
    gang_sched *s = p->s;
    ok = ok && !s->preempt.victims->failed && count_allows(p);
    bool done = ok && gang__preempt_commit(p);
    if (!done)
        gang__trial_drop(&p->trial);
    for (size_t i = 0; i < s->preempt.victims->count; i++)
        gang__places_free(&s->preempt.victims->list[i].to, &s->cluster->mem);
    s->preempt.victims->count = 0;
    return done;
}

static bool try_once(struct gang__preemption *p, enum gang__preempt_mode mode, bool on_credit)
{
    if (!gang__preempt_begin(p, mode))
        return false;
    if (on_credit)
        gang__preempt_note_usage(p);
    bool own = mode == GANG__PREEMPT_WITHIN || mode == GANG__PREEMPT_BOTH;
    bool found = gang__preempt_take_until_placed(p, own, mode == GANG__PREEMPT_RECLAIM);
    if (!found && mode == GANG__PREEMPT_BOTH && gang__preempt_is_entitled(p))
        found = gang__preempt_take_until_placed(p, false, true);
    p->lacks_place = !found && p->s->preempt.victims->count > 0;
    return gang__preempt_end(p, found && gang__preempt_settle(p));
}

/* Victims in order, until the rules forbid more, may all lie on nodes where they are of no use. A
 * second try takes them on credit, by the usage before the attempt, and asks the rules of those
 * that are left when all others were spared. One that they refuse is left out of the next try. */
static bool attempt(struct gang__preemption *p, enum gang__preempt_mode mode)
{
    p->barred_count = 0;
    if (try_once(p, mode, false))
        return true;
    if ((!p->lacks_place && p->barred_count == 0) || mode == GANG__PREEMPT_WITHIN)
        return false;
    for (uint32_t tries = 0; tries <= p->barred_count && tries < GANG__MOST_BARRED; tries++)
        if (try_once(p, mode, true))
            return true;
    return false;
}

/* ---- which taker, which attempts ------------------------------------------------------------- */

static void set_up(struct gang__preemption *p, gang_sched *s, struct gang__gang *g)
{
    memset(p, 0, sizeof(*p));
    p->s = s;
    p->taker = g;
    p->take = gang__gang_next_demand(g, &p->count);
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

/* Is the taker entitled to more, and does a queue beside its path have more than that? */
static bool may_reclaim(const gang_sched *s, const struct gang__preemption *p)
{
    const struct gang__queue_state *leaf = p->taker->job->leaf, *only = s->preempt.only_above;
    return leaf->q->reclaim != GANG_PREEMPT_NEVER && s->preempt.above_share &&
           !(only && gang__queue_is_on_path(only, leaf)) && gang__preempt_is_entitled(p);
}

bool gang__preempt_is_worthwhile(gang_sched *s, struct gang__wait_class *wait_class, int32_t why)
{
    struct gang__gang *g = gang__wait_class_head(wait_class);
    struct gang__preemption p;
    if (s->opts.no_preemption || g->job->never_preempts ||
        wait_class->tried == s->wake.changes + 1 || g->places || gang__gang_insists(g) ||
        gang__slice_concerns(g) || gang__reserve_confines(g) ||
        g->preempt.handover_failed_at == s->external_events + 1 ||
        !(gang__preempt_helps(why) || (why == GANG_WAIT_PLANNED && g->calendar.plan)))
        return false;
    set_up(&p, s, g);
    if (s->opts.max_moves > 0 && why == GANG_WAIT_CAPACITY && gang__preempt_amounts_suffice(&p))
        return true;
    struct gang__set_link *first = gang__set_first(&wait_class->leaf->victims);
    if (first &&
        gang__preempt_may_take_in_leaf(&p, GANG__OF(struct gang__gang, victim.link, first)))
        return true;
    return may_reclaim(s, &p);
}

enum gang__worthwhile gang__preempt_is_worthwhile_in(gang_sched *s,
                                                     const struct gang__class_group *group)
{
    const struct gang__wait_class *root =
        GANG__OF(struct gang__wait_class, grouped.link, group->waiting.root);
    struct gang__set_link *link = gang__set_first(&group->leaf->victims);
    struct gang__preemption p;
    if (s->opts.no_preemption || group->never_preempts)
        return GANG__WORTHWHILE_NOT;
    set_up(&p, s, gang__wait_class_head(root));
    if ((s->opts.max_moves > 0 && gang__preempt_amounts_suffice(&p)) || may_reclaim(s, &p))
        return GANG__WORTHWHILE_FOR_ALL;
    int32_t within = group->leaf->q->within;
    const struct gang__job *victim =
        link ? GANG__OF(struct gang__gang, victim.link, link)->job : NULL;
    if (victim && within != GANG_PREEMPT_NEVER &&
        (root->grouped.highest > victim->priority ||
         (within == GANG_PREEMPT_LOWER_OR_NEWER && root->grouped.highest == victim->priority)))
        return GANG__WORTHWHILE_FOR_SOME;
    return GANG__WORTHWHILE_NOT;
}

static bool try_attempts(struct gang__preemption *p)
{
    const gang_sched *s = p->s;
    const struct gang__queue *q = p->taker->job->leaf->q;
    bool reclaims = q->reclaim != GANG_PREEMPT_NEVER, preempts = q->within != GANG_PREEMPT_NEVER;
    bool planned = p->taker->calendar.plan != 0; /* it has its time, and the others have theirs */
    if (s->opts.max_moves > 0 && !planned && gang__preempt_amounts_suffice(p) &&
        gang__preempt_quota_suffices(p) && gang__preempt_consolidate(p))
        return true;
    if (reclaims && gang__preempt_is_entitled(p) && attempt(p, GANG__PREEMPT_RECLAIM))
        return true;
    if (preempts && attempt(p, GANG__PREEMPT_WITHIN))
        return true;
    return reclaims && preempts && attempt(p, GANG__PREEMPT_BOTH);
}

static bool may_preempt(const struct gang__gang *g)
{
    return !g->places && !g->reserve.inside_of && !gang__slice_concerns(g) &&
           !g->job->never_preempts && !gang__gang_insists(g);
}

/* A gang of unlike groups is tried with one choice of its tasks after the other, so that the rules
 * judge what is then placed. True: it was committed. */
static bool try_choices(struct gang__preemption *p, gang_sched *s, struct gang__gang *g)
{
    bool done = false;
    if (!gang__gang_chooses(g)) {
        set_up(p, s, g);
        return try_attempts(p);
    }
    memset(p, 0, sizeof(*p));
    for (bool some = gang__choice_first(s, g); some && !done; some = gang__choice_next(s, g)) {
        set_up(p, s, g);
        done = try_attempts(p);
        if (done || s->preempt.victims->failed)
            break;
    }
    g->choice = NULL;
    return done;
}

bool gang__preempt_for(gang_sched *s, struct gang__gang *g)
{
    struct gang__preemption p;
    if (!may_preempt(g))
        return false;
    if (!s->preempt.victims &&
        !(s->preempt.victims = gang__zalloc(&s->mem, 1, sizeof(*s->preempt.victims)))) {
        s->no_memory = true;
        return false;
    }
    s->preempt.victims->failed = false;
    bool done = try_choices(&p, s, g);
    s->no_memory = s->no_memory || s->preempt.victims->failed;
    return done;
}
