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
        gang__victims_skip_leaf(p->s);
    if (may == GANG__MAY_NOT && !v->g->victim.tentative)
        return REFUSED;
    bool is_victim = p->again && !v->whole && v->g->victim.tentative_tasks[v->group] &&
                     gang__preempt_has_task(p->s, v->g, v->task);
    return may != GANG__MAY || is_victim || is_barred(p, v->g) ||
                   gang__cooldown_rule(p->s, v, p->taker, NULL) != GANG_PROTECTED_NOT
               ? SKIP
               : TAKE;
}

/* Take victims until the taker has a place. A dry run is not cut short: the next run could only
 * begin it again. */
static bool take_some(struct gang__preemption *p, bool own, bool others)
{
    gang_sched *s = p->s;
    struct gang__victim v;
    size_t next = s->preempt.victims->count + 1, tested = 0;
    bool found = false, refused = false;
    open_victims(p, own, others);
    while (!found && gang__victims_next(s, &v)) {
        enum choice choice = choose(p, &v);
        s->steps++;
        refused = refused || choice == REFUSED;
        if (choice != TAKE || !gang__preempt_take(p, &v))
            continue;
        if (refused && p->mode != GANG__PREEMPT_ACROSS &&
            gang__preempt_same_branch(p, v.g)) { /* from the first again */
            gang__victims_close(s);
            open_victims(p, own, others);
            p->again = true;
            refused = false;
        }
        if (s->preempt.victims->count < next || !gang__preempt_amounts_suffice(p) ||
            !gang__preempt_quota_suffices(p))
            continue;
        found = gang__preempt_place(p);
        tested = s->preempt.victims->count;
        next = tested * 2;
    }
    gang__victims_close(s);
    return found || (s->preempt.victims->count > tested && gang__preempt_place(p));
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
