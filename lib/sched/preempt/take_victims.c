/* SPDX-License-Identifier: Apache-2.0 */
/* Taking victims, in their order, as far as the rules let the taker take them, until it has a
 * place. */
#include <string.h>

#include "sched/preempt/preempt_in.h"

static void open_victims(struct gang__preemption *p, bool own, bool others)
{
    if (!gang__victims_open(p->s, p->taker->job->leaf, own, others))
        p->s->preempt.victims->failed = true;
}

/* What becomes of the next victim in order. */
enum choice { TAKE, SKIP, REFUSED };

static bool is_barred(const struct gang__preemption *p, const struct gang__gang *g)
{
    for (uint32_t i = 0; p->before && i < p->bars.count; i++)
        if (p->bars.of[i] == g)
            return true;
    return false;
}

static enum choice choose(struct gang__preemption *p, const struct gang__victim *v)
{
    enum gang__may may = gang__preempt_may_take(p, v);
    if (may == GANG__MAY_NONE)
        gang__batch_skip_leaf(p, v);
    if (may == GANG__MAY_NOT && !v->g->victim.tentative)
        return REFUSED;
    bool is_victim = p->again && !v->whole && v->g->victim.tentative_tasks[v->group] &&
                     gang__preempt_has_task(p->s, v->g, v->task);
    return may != GANG__MAY || is_victim || is_barred(p, v->g) ||
                   gang__cooldown_rule(p->s, v, p->taker, NULL) != GANG_PROTECTED_NOT ||
                   gang__stays_in_run(p->s, v->g)
               ? SKIP
               : TAKE;
}

static bool take(struct gang__preemption *p, struct gang__victim *v, bool in_batches)
{
    return (in_batches && gang__batch_take_one(p, v)) || gang__preempt_take(p, v);
}

/* From the first victim again, because the taker's branch got emptier. */
static void begin_again(struct gang__preemption *p, bool own, bool others)
{
    gang__batch_end_walk(p->s->preempt.victims);
    gang__victims_close(p->s);
    open_victims(p, own, others);
    p->again = true;
}

/* Take victims until the taker has a place. A dry run is not cut short: the next run could only
 * begin it again. */
static bool take_some(struct gang__preemption *p, bool own, bool others)
{
    gang_sched *s = p->s;
    struct gang__victims *vs = s->preempt.victims;
    struct gang__victim v;
    size_t next = vs->count + 1, tested = 0;
    bool found = false, refused = false, in_batches = gang__batch_may_begin(p);
    open_victims(p, own, others);
    while (!found) {
        if (in_batches)
            gang__batch_take(p, next);
        if (!gang__batch_next(p, &v))
            break;
        enum choice choice = choose(p, &v);
        s->steps++;
        refused = refused || choice == REFUSED;
        if (choice != TAKE || !take(p, &v, in_batches))
            continue;
        if ((in_batches || refused) && p->mode != GANG__PREEMPT_ACROSS &&
            gang__preempt_same_branch(p, v.g)) {
            gang__batch_list_all(p); /* batches rely on the usage of the taker's branch */
            in_batches = false;
            if (refused)
                begin_again(p, own, others);
            refused = false;
        }
        if (gang__victims_taken(vs) < next || !gang__preempt_amounts_suffice(p) ||
            !gang__preempt_quota_suffices(p))
            continue;
        found = gang__preempt_place(p);
        tested = gang__victims_taken(vs);
        next = tested * 2;
    }
    gang__batch_end_walk(vs);
    gang__victims_close(s);
    found = found || (gang__victims_taken(vs) > tested && gang__preempt_place(p));
    if (!found)
        gang__batch_list_all(p);
    return found;
}

/* By rank: at once, since fair shares do not matter.
 * From other queues: first what lies above their fair shares. A queue that keeps to its share would
 * take it back from those above theirs, and more gangs would be preempted than need be. */
bool gang__preempt_take_until_placed(struct gang__preemption *p, bool own, bool others)
{
    if (p->mode == GANG__PREEMPT_ACROSS)
        return take_some(p, own, others);
    p->fair = others;
    bool found = take_some(p, own, others);
    if (found || !others)
        return found;
    p->fair = false;
    p->again = true;
    found = take_some(p, own, others);
    p->again = false;
    return found;
}

void gang__preempt_note_usage(struct gang__preemption *p)
{
    gang_sched *s = p->s;
    struct gang__victims *v = s->preempt.victims;
    size_t dims = s->dims, count = s->queues->count;
    if (!gang__grow(&s->mem, (void **)&v->before, &v->before_cap, count * dims,
                    sizeof(*v->before))) {
        v->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(v->before + s->qs[i]->q->index * dims, s->qs[i]->used, dims * sizeof(*v->before));
    p->before = v->before;
}
