/* SPDX-License-Identifier: Apache-2.0 */
/* Trials: a journal of undo records, played back when a trial is dropped (trial.h). */
#include "sched/calendar/trial.h"

#include <assert.h>

#include "sched/calendar/calendar.h"
#include "sched/usage/usage.h"

/* ---- the journal ----------------------------------------------------------------------------- */

void gang__trial_begin(struct gang__trial *t, gang_sched *s, struct gang__timeline *timeline)
{
    *t = (struct gang__trial){s, timeline, timeline ? gang__timeline_mark(timeline) : 0,
                              s->journal.count};
}

void gang__trial_drop(struct gang__trial *t)
{
    struct gang__trial_journal *j = &t->s->journal;
    if (t->timeline)
        gang__timeline_restore_to(t->timeline, t->mark);
    while (j->count > t->first) {
        const struct gang__trial_record *r = &j->record[--j->count];
        r->undo(t->s, r);
    }
}

bool gang__trial_reserve(struct gang__trial *t, size_t records)
{
    struct gang__trial_journal *j = &t->s->journal;
    return gang__grow(&t->s->mem, (void **)&j->record, &j->cap, j->count + records,
                      sizeof(*j->record));
}

void gang__trial_note(struct gang__trial *t, gang__trial_undo *undo, void *what, const void *with,
                      int64_t a, int64_t b)
{
    struct gang__trial_journal *j = &t->s->journal;
    assert(j->count < j->cap);
    j->record[j->count++] = (struct gang__trial_record){undo, what, with, a, b};
}

void gang__trial_free(gang_sched *s)
{
    gang__release(&s->mem, s->journal.record);
    s->journal = (struct gang__trial_journal){NULL, 0, 0};
}

/* ---- the calendar ---------------------------------------------------------------------------- */

void gang__trial_withdraw(struct gang__trial *t, uint32_t id)
{
    gang__timeline_withdraw(t->timeline, id);
}

static void undo_restore(gang_sched *s, const struct gang__trial_record *r)
{
    (void)s;
    gang__timeline_withdraw_as(r->what, (uint32_t)r->a, (uint64_t)r->b);
}

bool gang__trial_restore(struct gang__trial *t, uint32_t id)
{
    if (!gang__trial_reserve(t, 1))
        return false;
    uint64_t mark = gang__timeline_restore(t->timeline, id);
    if (mark > 0 && mark <= t->mark) /* an outer trial withdrew it */
        gang__trial_note(t, undo_restore, t->timeline, NULL, id, (int64_t)mark);
    return true;
}

void gang__trial_withdraw_plans(struct gang__trial *t, const struct gang__reserve *in)
{
    gang_sched *s = t->s;
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (const struct gang__gang *g = s->qs[i]->calendar.planned; g;
             g = g->calendar.next_planned)
            if (g->reserve.inside_of == in)
                gang__timeline_withdraw(t->timeline, g->calendar.plan - 1);
}

static void undo_put(gang_sched *s, const struct gang__trial_record *r)
{
    (void)s;
    gang__timeline_remove(r->what, (uint32_t)r->a);
}

gang_result gang__trial_put(struct gang__trial *t, const struct gang__occupation *o, uint32_t *id)
{
    uint32_t put;
    if (!gang__trial_reserve(t, 1))
        return GANG_ENOMEM;
    gang_result r = gang__timeline_add(t->timeline, o, &put);
    if (r == GANG_OK)
        gang__trial_note(t, undo_put, t->timeline, NULL, put, 0);
    if (r == GANG_OK && id)
        *id = put;
    return r;
}

/* ---- the usage of queues --------------------------------------------------------------------- */

static void charge(struct gang__queue_state *leaf, const struct gang__take *take, int64_t count,
                   int64_t sign)
{
    for (struct gang__queue_state *q = leaf; q; q = q->parent)
        for (int64_t i = 0; i < count; i++)
            q->used[take[i].dim] += sign * take[i].amount;
}

static void undo_charge(gang_sched *s, const struct gang__trial_record *r)
{
    (void)s;
    charge(r->what, r->with, r->a, -r->b);
}

bool gang__trial_charge(struct gang__trial *t, struct gang__queue_state *leaf,
                        const struct gang__take *take, uint32_t count, int64_t sign)
{
    if (!gang__trial_reserve(t, 1))
        return false;
    charge(leaf, take, count, sign);
    gang__trial_note(t, undo_charge, leaf, take, count, sign);
    return true;
}
