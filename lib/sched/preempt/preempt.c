/* SPDX-License-Identifier: Apache-2.0 */
/* Making room: who is displaced so that a unit, which found none, starts.
 *
 * Everything is planned on a copy of the cluster and on the books, which are put back when the plan
 * fails:
 *   1. Victims are taken in order (lowest priority, tasks above a minimum before whole gangs,
 *      newest first), as far as the rules let the taker take them, until he fits his queue's limits
 *      and a place is found. The place is looked for when the amounts suffice, and then each time
 *      as many more victims were taken as there are.
 *   2. From the last victim to the first: who can stay where he is does; whoever fits elsewhere is
 *      moved.
 *   3. The rest is asked to go, for this taker and this place (leave.c).
 * Nobody goes unless the taker then starts. Consolidation is the same with everybody as a
 * candidate, and fails if anybody is lost. */
#include <stdlib.h>
#include <string.h>

#include "sched/order/wait_order.h"
#include "sched/preempt/consolidate.h"
#include "sched/preempt/dry_run.h"
#include "sched/preempt/preempt.h"
#include "sched/preempt/preempt_commit.h"
#include "sched/preempt/preempt_in.h"
#include "sched/preempt/preempt_rules.h"
#include "sched/preempt/victims.h"
#include "sched/record/record.h"
#include "sched/reserve/reserve.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"

/* ---- one attempt ----------------------------------------------------------------------------- */

static bool count_allows(struct gang__preemption *p)
{
    const gang_sched *s = p->s;
    if (s->opts.max_evictions > 0 && s->preempt.evicted_tasks + p->tasks > s->opts.max_evictions) {
        p->s->wake.retry = p->s->wake.retry || s->preempt.evicted_tasks > 0; /* alone it may be few enough */
        return false;
    }
    if (s->opts.observe_only) {
        gang__log(p->s, 1, "observe only: %lld tasks would be evicted for job %llu",
                  (long long)p->tasks, (unsigned long long)p->taker->job->id);
        return false;
    }
    return true;
}

static void charge_taker(struct gang__preemption *p, int64_t sign)
{
    for (struct gang__queue_state *q = p->taker->job->leaf; q; q = q->parent)
        for (uint32_t i = 0; i < p->count; i++)
            q->used[p->take[i].dim] += sign * p->take[i].amount;
}

bool gang__preempt_begin(struct gang__preemption *p, enum gang__preempt_mode mode)
{
    gang_sched *s = p->s;
    p->mode = mode;
    p->tasks = 0;
    p->fair = p->again = false;
    s->preempt.victims->count = 0;
    if (!p->looked && gang_snapshot_take(s->worker, s->preempt.base) != GANG_OK)
        s->preempt.victims->failed = true;
    p->looked = true;
    if (!s->preempt.victims->failed && gang__snapshot_copy(s->scratch, s->preempt.base) != GANG_OK)
        s->preempt.victims->failed = true;
    gang__slice_copy_begin(s);
    return !s->preempt.victims->failed; /* then nothing that is planned is what it should be */
}

/* The taker has a place: who need not go stays, who can move does. False: the rules forbid it after
 * all. */
bool gang__preempt_settle(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    charge_taker(p, 1);
    p->charged = true;
    gang__preempt_spare(p);
    bool lost = gang__preempt_move(p), ok = !(p->mode == GANG__EVICT_MOVE && lost);
    const struct gang__queue_state *asked = NULL; /* many victims come from few leaves */
    for (size_t i = 0; ok && p->mode != GANG__EVICT_MOVE && i < s->preempt.victims->count; i++) {
        const struct gang__victim *x = &s->preempt.victims->list[i];
        if (x->to.count > 0 || x->u->job->leaf == asked)
            continue;
        asked = x->u->job->leaf;
        ok = !gang__overshoots(p, x->u);
    }
    charge_taker(p, -1);
    p->charged = false;
    return ok;
}

bool gang__preempt_end(struct gang__preemption *p, bool ok)
{
    gang_sched *s = p->s;
    ok = ok && !s->preempt.victims->failed && count_allows(p) && gang__preempt_commit(p);
    if (!ok)
        gang__preempt_put_back(p);
    for (size_t i = 0; i < s->preempt.victims->count; i++)
        gang__places_free(&s->preempt.victims->list[i].to, &s->cluster->mem);
    s->preempt.victims->count = 0;
    return ok;
}

static bool try_mode(struct gang__preemption *p, enum gang__preempt_mode mode)
{
    if (!gang__preempt_begin(p, mode))
        return false;
    bool found = gang__preempt_take_until(
        p, mode == GANG__EVICT_PREEMPT || mode == GANG__EVICT_BOTH, mode == GANG__EVICT_RECLAIM);
    if (!found && mode == GANG__EVICT_BOTH && !p->deferred && gang__is_entitled(p))
        found = gang__preempt_take_until(p, false, true);
    return gang__preempt_end(p, found && gang__preempt_settle(p));
}

/* ---- who may ask ----------------------------------------------------------------------------- */

static bool begin(gang_sched *s)
{
    if (!s->preempt.victims)
        s->preempt.victims = gang__zalloc(&s->mem, 1, sizeof(*s->preempt.victims));
    return s->preempt.victims != NULL;
}

static void make_plan(struct gang__preemption *p, gang_sched *s, struct gang__gang *u)
{
    memset(p, 0, sizeof(*p));
    p->s = s;
    p->taker = u;
    p->take = gang__gang_asks(u, &p->count);
    p->grow_group = -1;
    if (u->alloc != GANG_ID_NONE) {
        p->grow_group = 0;
        while (gang__gang_lacks(u, (uint32_t)p->grow_group) == 0)
            p->grow_group++;
        p->step = gang__gang_step(u, (uint32_t)p->grow_group);
        p->count = gang__class_takes_times(u->request_class, p->grow_group, p->step, p->of_step);
        p->take = p->of_step;
    }
}

bool gang__preempt_may(gang_sched *s, struct gang__wait_class *bin)
{
    struct gang__gang *u = gang__wait_class_head(bin);
    struct gang__preemption p;
    if (s->opts.no_preemption || u->job->never_preempts || bin->tried == s->wake.changes + 1 ||
        u->places || gang__slice_concerns(u) || gang__reserve_confines(u) ||
        u->preempt.handover_failed_at == s->external_events + 1 ||
        !(gang__preempt_helps(bin->why) || (bin->why == GANG_WAIT_PLANNED && u->calendar.plan)))
        return false;
    make_plan(&p, s, u);
    if (s->opts.max_moves > 0 && bin->why == GANG_WAIT_ROOM && gang__amounts_suffice(&p))
        return true;
    struct gang__set_link *first = gang__set_first(&bin->leaf->victims);
    if (first && gang__may_preempt(&p, GANG__OF(struct gang__gang, victim.link, first)))
        return true;
    return bin->leaf->q->reclaim != GANG_DISPLACE_NEVER && s->preempt.some_over && gang__is_entitled(&p);
}

static bool make_room(struct gang__preemption *p)
{
    const gang_sched *s = p->s;
    const struct gang__queue *q = p->taker->job->leaf->q;
    bool reclaims = q->reclaim != GANG_DISPLACE_NEVER, preempts = q->within != GANG_DISPLACE_NEVER;
    bool planned = p->taker->calendar.plan != 0; /* it has its time, and the others have theirs */
    if (s->opts.max_moves > 0 && !planned && gang__amounts_suffice(p) && gang__quota_suffices(p) &&
        gang__preempt_consolidate(p))
        return true;
    if (reclaims && gang__is_entitled(p) && try_mode(p, GANG__EVICT_RECLAIM))
        return true;
    if (preempts && !p->deferred && try_mode(p, GANG__EVICT_PREEMPT))
        return true;
    return reclaims && preempts && !p->deferred && try_mode(p, GANG__EVICT_BOTH);
}

/* No two take turns without end: who was displaced displaces nobody in this run. And where guarantees
 * exceed what there is, three may by the rules: who was displaced so often displaces nobody before
 * something came from outside, or a job has ended. */
enum { MOST_FALLS = 3 };

bool gang__preempt_for(gang_sched *s, struct gang__gang *u)
{
    struct gang__preemption p;
    if (u->places ||
        u->reserve
            .inside_of) /* who was suspended resumes on his places, who has reserved waits for them */
        return false;
    if (gang__slice_concerns(u)) /* who takes turns waits for a row */
        return false;
    if (u->job->never_preempts)
        return false;
    if (u->preempt.preempted_event == s->external_events && u->preempt.preempted_times >= MOST_FALLS)
        return false;
    if (u->preempt.preempted_run == s->runs) {
        s->preempt.min_runtime_due_ns = s->now_ns; /* the next run may look again */
        return false;
    }
    if (!begin(s)) {
        s->no_memory = true;
        return false;
    }
    s->preempt.victims->failed = false;
    make_plan(&p, s, u);
    bool made = make_room(&p);
    if (p.deferred)
        s->preempt.min_runtime_due_ns = s->now_ns;
    s->no_memory = s->no_memory || s->preempt.victims->failed;
    return made;
}

void gang__preempt_free(gang_sched *s)
{
    struct gang__victims *v = s->preempt.victims;
    if (!v)
        return;
    gang__victims_close(s);
    gang__release(&s->mem, v->list);
    gang__release(&s->mem, v->tasks);
    gang__release(&s->mem, v->kept);
    gang__release(&s->mem, v->theirs);
    gang__release(&s->mem, v->cursor);
    gang__release(&s->mem, v);
}
