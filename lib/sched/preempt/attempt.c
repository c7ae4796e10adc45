/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt to preempt: it begins with a snapshot and a trial, settles which victims are needed
 * once the taker has a place, and ends with the commit or without effect. preempt.c and
 * consolidate.c make attempts. */
#include "sched/preempt/preempt_in.h"
#include "sched/slice/slice.h"

bool gang__preempt_fails(struct gang__preemption *p, int32_t outcome)
{
    p->outcome = outcome > p->outcome ? outcome : p->outcome;
    return false;
}

/* Undoes what the tentative victims of the attempt changed; victims that move are back already. */
static void undo_victims(gang_sched *s, const struct gang__trial_record *r)
{
    struct gang__victims *v = s->preempt.victims;
    gang__batch_undo(r->what);
    for (size_t i = v->count; i-- > 0;) {
        struct gang__victim *x = &v->list[i];
        gang__victim_prefetch(v, i - GANG__VICTIMS_AHEAD); /* before the first: beyond the list */
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
    s->preempt.victims->owner = mode == GANG__PREEMPT_GUESTS ? gang__gang_request(p->taker) : NULL;
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
    if (ok && p->mode != GANG__PREEMPT_MOVE && p->mode != GANG__PREEMPT_ACROSS &&
        gang__preempt_is_pretext(p))
        ok = gang__preempt_fails(p, GANG_PREEMPTION_PRETEXT);
    for (size_t i = 0; ok && p->mode != GANG__PREEMPT_MOVE && i < s->preempt.victims->count; i++) {
        const struct gang__victim *x = &s->preempt.victims->list[i];
        if (x->moves || x->g->job->leaf == asked)
            continue;
        asked = x->g->job->leaf;
        ok = !gang__preempt_overshoots(p, x->g) || gang__preempt_fails(p, GANG_PREEMPTION_FULLER);
    }
    gang__trial_drop(&charge);
    p->charged = false;
    if (ok && !gang__preempt_may_start(p))
        ok = gang__preempt_fails(p, GANG_PREEMPTION_LIMIT);
    if (ok && !gang__preempt_result_is_allowed(p))
        ok = gang__preempt_fails(p, GANG_PREEMPTION_GUARANTEE);
    return ok;
}

static bool count_allows(struct gang__preemption *p)
{
    const gang_sched *s = p->s;
    if (s->opts.max_preempted_tasks > 0 &&
        s->preempt.preempted_tasks + p->tasks > s->opts.max_preempted_tasks) {
        p->s->wake.retry =
            p->s->wake.retry || s->preempt.preempted_tasks > 0; /* alone it may be few enough */
        return gang__preempt_fails(p, GANG_PREEMPTION_MAX_TASKS);
    }
    if (s->opts.observe_only) {
        if (!p->dry)
            gang__log_job(p->s, GANG_LOG_OBSERVED, p->taker->job,
                          "observe only: %lld tasks would be preempted for job %llu",
                          (long long)p->tasks, (unsigned long long)p->taker->job->id);
        return gang__preempt_fails(p, GANG_PREEMPTION_OBSERVED);
    }
    return true;
}

bool gang__preempt_end(struct gang__preemption *p, bool ok)
{
    gang_sched *s = p->s;
    ok = ok && !s->preempt.victims->failed && count_allows(p);
    bool done = ok && (p->dry || gang__preempt_commit(p));
    if (!done || p->dry)
        gang__trial_drop(&p->trial);
    for (size_t i = 0; i < s->preempt.victims->count; i++)
        gang__places_free(&s->preempt.victims->list[i].to, &s->cluster->mem);
    s->preempt.victims->count = 0;
    return done;
}
