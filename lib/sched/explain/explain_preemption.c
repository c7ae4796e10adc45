/* SPDX-License-Identifier: Apache-2.0 */
/* Why a job preempts no other: what an attempt would come to, the rule that protects each gang that
 * runs (sched/preempt/would_preempt.c), and the queues on both sides (preemption_queues.c). Gangs
 * are summed up by leaf and rule, so that the answer is bounded. */
#include "sched/explain/explain_preemption.h"

#include <string.h>

#include "sched/backfill/backfill.h"
#include "sched/cycle/cycle.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"

/* Entries for rules of queues that are not listed: there is one for each rule. */
enum { RULES_OF_OTHERS = GANG_PROTECTED_OUTRANKS + 1 };

/* ---- rules ----------------------------------------------------------------------------------- */

/* What a rule compares in a dimension: what is used, and the bound. False: it compares no
 * amounts. */
static bool compared(const struct gang__preemption_answer *a, const struct gang__protected *x,
                     uint32_t d, int64_t *used, int64_t *bound)
{
    switch (x->rule) {
    case GANG_PROTECTED_SHARE:
    case GANG_PROTECTED_PREEMPTOR_SHARE:
        *bound = x->queue->share[d];
        break;
    case GANG_PROTECTED_GUARANTEE:
    case GANG_PROTECTED_PREEMPTOR_GUARANTEE:
        *bound = x->queue->guarantee[d];
        break;
    case GANG_PROTECTED_PREEMPTOR_USER_LIMIT:
        *bound = gang__users_limit_of(a->s, x->queue, a->user, d);
        *used = a->user->used[d];
        return *bound != INT64_MAX;
    default:
        return false;
    }
    *used = x->queue->used[d];
    return x->queue->guarantee[d] != GANG__NO_BOUND;
}

bool gang__protected_by_priority(int32_t rule)
{
    return rule == GANG_PROTECTED_PRIORITY || rule == GANG_PROTECTED_ACROSS;
}

/* Is `i` the better kind to show than `than` (-1: none): does the gang request more of all there
 * is? */
static bool shows_more(const struct gang__preemption_answer *a, uint32_t i, int32_t than)
{
    if (than < 0)
        return true;
    const struct gang__take *x = &a->take[i], *y = &a->take[than];
    struct gang__ratio of_x = {x->amount, a->s->total[x->dim]};
    struct gang__ratio of_y = {y->amount, a->s->total[y->dim]};
    return gang__ratio_compare(of_x, of_y) > 0;
}

/* The kind to show, a number of `take`: of those that the queue manages, and in which the
 * preemptor's queue or user would exceed its bound, if that is the rule. -1: the rule compares no
 * amounts. */
static int32_t dim_of(const struct gang__preemption_answer *a, const struct gang__protected *x)
{
    bool exceeds = x->rule == GANG_PROTECTED_PREEMPTOR_SHARE ||
                   x->rule == GANG_PROTECTED_PREEMPTOR_GUARANTEE ||
                   x->rule == GANG_PROTECTED_PREEMPTOR_USER_LIMIT;
    int64_t used, bound;
    int32_t best = -1;
    for (uint32_t i = 0; i < a->take_count; i++)
        if (compared(a, x, a->take[i].dim, &used, &bound) &&
            (!exceeds || used + a->take[i].amount > bound) && shows_more(a, i, best))
            best = (int32_t)i;
    return best;
}

static struct gang_preemption_rule *find_entry(struct gang__preemption_answer *a,
                                               gang_queue_id queue, int32_t rule)
{
    for (size_t i = a->shown.rule_count; i-- > 0;)
        if (a->rule[i].shown.queue == queue && a->rule[i].shown.rule == rule)
            return &a->rule[i].shown;
    return NULL;
}

static void fill_entry(const struct gang__preemption_answer *a, const struct gang__protected *x,
                       struct gang_preemption_rule *to)
{
    int32_t i = dim_of(a, x);
    to->kind = -1;
    if (gang__protected_by_priority(x->rule))
        to->bound = x->g->job->priority;
    if (x->queue)
        to->bound_queue = x->queue->q->id;
    if (i < 0)
        return;
    uint32_t d = a->take[i].dim;
    to->kind = a->s->queues->dim[d].kind;
    (void)compared(a, x, d, &to->used, &to->bound);
    to->requested = a->take[i].amount;
}

static struct gang_preemption_rule *entry_for(struct gang__preemption_answer *a,
                                              const struct gang__protected *x)
{
    gang_queue_id queue = x->g->job->leaf->q->id;
    if (!gang__preemption_lists(a, queue))
        queue = GANG_ID_NONE;
    struct gang_preemption_rule *to = find_entry(a, queue, x->rule);
    if (!to && a->shown.rule_count >= GANG_PREEMPTION_RULES - RULES_OF_OTHERS) {
        queue = GANG_ID_NONE;
        to = find_entry(a, queue, x->rule);
    }
    if (to)
        return to;
    to = &a->rule[a->shown.rule_count++].shown;
    to->rule = x->rule;
    to->queue = queue;
    fill_entry(a, x, to);
    return to;
}

static void add_example(struct gang_preemption_rule *to, gang_job_id id)
{
    bool known = to->job_count > 0 && to->jobs[to->job_count - 1] == id;
    if (!known && to->job_count < GANG_PREEMPTION_JOBS)
        to->jobs[to->job_count++] = id;
}

/* The answer that is being made, and the priority of the job that waits. */
struct adding {
    struct gang__preemption_answer *a;
    int64_t priority;
};

static void add_gang(const struct gang__protected *x, void *user)
{
    struct adding *adding = user;
    struct gang__preemption_answer *a = adding->a;
    struct gang_preemption_rule *to = entry_for(a, x);
    a->shown.gangs++;
    a->shown.takeable += x->rule == GANG_PROTECTED_NOT;
    to->gangs++;
    to->tasks += x->g->tasks;
    if (gang__protected_by_priority(x->rule)) {
        to->bound = gang__min(to->bound, x->g->job->priority);
        to->requested = adding->priority;
    }
    if (x->rule == GANG_PROTECTED_ACROSS) /* its leaf is bound_queue */
        to->requested = gang__min(to->requested, gang__add_sat(x->queue->q->across_max, 1));
    if (x->until_ns > 0 && (to->until_ns == 0 || x->until_ns < to->until_ns))
        to->until_ns = x->until_ns;
    add_example(to, x->g->job->id);
}

/* ---- the outcome ----------------------------------------------------------------------------- */

static struct gang__gang *first_that_waits(struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (gang__explain_waits(&job->gang[i]))
            return &job->gang[i];
    return NULL;
}

/* Does a limit stop the gang now for which preemption is no help, whatever blocked it when it was
 * tried last? */
static bool is_stopped_by_limit(gang_sched *s, struct gang__gang *g,
                                const struct gang__preemption_answer *a)
{
    struct gang__refusal refusal;
    return !gang__gang_chooses(g) &&
           gang__limits_refuse(s, g, a->take, a->take_count, g->order.wait_class->fixed,
                               &refusal) &&
           !gang__preempt_helps(refusal.why);
}

/* Why is no attempt made (GANG_PREEMPTION_*)? GANG_PREEMPTION_NEXT: one is. */
static int32_t bar_of(gang_sched *s, struct gang__gang *g, const struct gang__preemption_answer *a)
{
    const struct gang__wait_class *class = g->order.wait_class;
    if (g->stop.handover || g->stop.moving)
        return GANG_PREEMPTION_VICTIMS;
    if (!class)
        return gang__slice_is_suspended(g) ? GANG_PREEMPTION_SLICE : GANG_PREEMPTION_REASON;
    if (s->opts.no_preemption)
        return GANG_PREEMPTION_OFF;
    if (class->state != GANG__CLASS_BLOCKED || class->why == GANG_WAIT_NOT_TRIED)
        return GANG_PREEMPTION_NOT_TRIED;
    int32_t bar = gang__preempt_bar(s, g, class->why);
    bool grows = g->alloc != GANG_ID_NONE;
    if (bar == GANG_PREEMPTION_NEXT &&
        (!gang__preempt_may_help(s, class, g) || (grows && !gang__backfill_may_grow(s, g)) ||
         is_stopped_by_limit(s, g, a)))
        return GANG_PREEMPTION_REASON;
    return bar;
}

/* The gang that is tried before this one, and without which this one is not tried: the head of its
 * wait class, or that of a class which bars it. NULL: it is tried itself. */
static const struct gang__gang *tried_before(const struct gang__gang *g)
{
    const struct gang__wait_class *class = g->order.wait_class;
    const struct gang__wait_class *bars = gang__order_barred_by(class->leaf, class);
    const struct gang__gang *first = gang__wait_class_head(bars ? bars : class);
    return first == g ? NULL : first;
}

static gang_result look(gang_sched *s, struct gang__gang *g, struct gang__preemption_answer *a)
{
    struct gang__would would;
    const struct gang__gang *first = tried_before(g);
    struct adding adding = {a, g->job->priority};
    gang_result r = gang__would_preempt(s, g, g->order.wait_class->why, add_gang, &adding, &would);
    if (r != GANG_OK)
        return r;
    a->shown.outcome = would.outcome;
    a->shown.moves = would.moves;
    a->shown.together = (int64_t)would.together;
    if (would.outcome == GANG_PREEMPTION_PROTECTED && a->shown.takeable > 0)
        a->shown.outcome = GANG_PREEMPTION_CAPACITY;
    if (would.outcome == GANG_PREEMPTION_NEXT && first) {
        a->shown.outcome = GANG_PREEMPTION_BEHIND;
        a->shown.blocker = first->job->id;
    }
    return GANG_OK;
}

static bool make_amounts(gang_sched *s, struct gang__gang *g, struct gang__preemption_answer *a)
{
    a->take_count = gang__preempt_request(s, g, a->take);
    if (a->take_count == 0)
        return true;
    a->amount =
        gang__zalloc(&a->mem, (size_t)a->take_count * GANG_PREEMPTION_QUEUES, sizeof(*a->amount));
    a->partition = gang__zalloc(&a->mem, a->take_count, sizeof(*a->partition));
    if (!a->amount || !a->partition)
        return false;
    for (uint32_t i = 0; i < a->take_count; i++) {
        const struct gang__partition *p = s->queues->dim[a->take[i].dim].partition;
        strncpy(a->partition[i], p ? p->name : "", GANG_MAX_NAME);
    }
    return true;
}

static gang_result fill(gang_sched *s, struct gang__job *job, struct gang__preemption_answer *a)
{
    struct gang__gang *g = first_that_waits(job);
    gang_result r = GANG_OK;
    if (!g)
        return GANG_OK;
    if (!gang__request_class_refresh(s, g->request_class))
        return GANG_ENOMEM;
    gang__order_refresh(s);
    bool no_memory = s->no_memory;
    s->no_memory = false;
    gang__preempt_look(s);
    bool ok = !s->no_memory && make_amounts(s, g, a);
    s->no_memory = no_memory;
    if (!ok)
        return GANG_ENOMEM;
    a->user = job->leaf_user;
    gang__preemption_list_queues(s, a, job->leaf);
    a->shown.gang = (int32_t)g->index;
    a->shown.outcome = bar_of(s, g, a);
    if (a->shown.outcome == GANG_PREEMPTION_NEXT)
        r = look(s, g, a);
    return r;
}

gang_result gang__explain_preemption(gang_sched *s, struct gang__job *job,
                                     struct gang__preemption_answer **out)
{
    struct gang__preemption_answer *a = gang__zalloc(&s->mem, 1, sizeof(*a));
    *out = NULL;
    if (!a)
        return GANG_ENOMEM;
    a->s = s;
    a->mem = s->mem;
    a->shown.size = sizeof(a->shown);
    a->shown.blocker = GANG_ID_NONE;
    a->shown.text = a->text;
    a->shown.moves_text = a->moves_text;
    a->shown.queues = &a->queue[0].shown;
    a->shown.queue_size = sizeof(a->queue[0]);
    a->shown.rules = &a->rule[0].shown;
    a->shown.rule_size = sizeof(a->rule[0]);
    /* A question changes nothing: neither what the worker learns of requests, nor when rules that
     * protect a gang now are to be looked at again. */
    bool until_event = s->preempt.until_event, look_again = s->preempt.look_again;
    gang__placer_keep_mix(s->worker, true);
    gang_result r = fill(s, job, a);
    gang__placer_keep_mix(s->worker, false);
    s->preempt.until_event = until_event;
    s->preempt.look_again = look_again;
    if (r != GANG_OK) {
        gang_preemption_free(&a->shown);
        return r;
    }
    gang__preemption_write_texts(a);
    *out = a;
    return GANG_OK;
}

gang_result gang_job_explain_preemption(gang_sched *sched, gang_job_id id,
                                        struct gang_preemption **out)
{
    struct gang__preemption_answer *a;
    if (!out)
        return GANG_EINVAL;
    *out = NULL;
    if (!sched)
        return GANG_EINVAL;
    if (sched->running)
        return GANG_EBUSY;
    struct gang__job *job = gang__job_of(sched, id);
    if (!job)
        return GANG_ESTALE;
    gang_result r = gang__explain_preemption(sched, job, &a);
    if (r == GANG_OK)
        *out = &a->shown;
    return r;
}

void gang_preemption_free(struct gang_preemption *preemption)
{
    if (!preemption)
        return;
    struct gang__preemption_answer *a = GANG__OF(struct gang__preemption_answer, shown, preemption);
    struct gang_mem mem = a->mem;
    gang__release(&mem, a->amount);
    gang__release(&mem, a->partition);
    gang__release(&mem, a);
}
