/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaim takes victims in batches, because it may take thousands before the taker has a place, and
 * spares most of them at once.
 *
 * A batch is up to GANG__MOST_DRAWN *plain* victims that follow each other in the order of victims:
 * gangs of one task on one node, of other branches than the taker's. They leave the snapshot one by
 * one, but the usage of their queues in one step for each leaf and request class. Then the rules
 * are asked once for each leaf and class, about its last gang in the batch. What they allow for the
 * last gang, they allow for those before it:
 *   - taking only empties givers, and an emptier giver gives no more than a fuller one
 *     (gang__preempt_allows_before() excludes the one rule for which this is not so);
 *   - the usage of the taker's branch stays as it is.
 * A batch comes back to snapshot and usage if the rules refuse one of its gangs, or if a place must
 * be looked for in the middle of it. Its gangs are then taken one after the other.
 *
 * The gangs of a batch are *pending*: they are in no list of victims, and the gangs themselves are
 * not changed. When the taker has a place, the gangs on its nodes are put into the list, in order.
 * The others return to the usage in one step for each leaf and class. Without a place, all are put
 * into the list. So an attempt ends as if victims were taken one by one; tests/sched/test_batch.c
 * compares both. */
#include "place/alloc/alloc.h"
#include "place/request/request.h"
#include "sched/preempt/preempt_in.h"
#include "sched/slice/slice.h"
#include "sched/usage/usage.h"

enum {
    FIRST_PAUSE = 64,     /* victims that are taken one by one after a batch that came back, */
    LONGEST_PAUSE = 4096, /* and after many of them */
    MOST_SUMS = GANG__BATCH_SUMS / 2, /* that are used, so that the hash table is not full */
    AHEAD = 16                        /* number of gangs that are prefetched */
};

/* ---- sums ------------------------------------------------------------------------------------ */

/* The sum of the leaf and class; NULL: there are too many. */
static struct gang__batch_sum *sum_of(struct gang__batches *b, struct gang__queue_state *leaf,
                                      const struct gang__request_class *request_class)
{
    if (b->last && b->last->leaf == leaf && b->last->request_class == request_class)
        return b->last;
    size_t at = ((uintptr_t)leaf / 64 * 31 + (uintptr_t)request_class / 64) % GANG__BATCH_SUMS;
    while (b->sum[at].leaf &&
           (b->sum[at].leaf != leaf || b->sum[at].request_class != request_class))
        at = (at + 1) % GANG__BATCH_SUMS;
    struct gang__batch_sum *sum = &b->sum[at];
    if (!sum->leaf && b->used == MOST_SUMS)
        return NULL;
    if (!sum->leaf) {
        *sum = (struct gang__batch_sum){.leaf = leaf, .request_class = request_class};
        b->of_used[b->used++] = sum;
    }
    b->last = sum;
    return sum;
}

/* `gangs` gangs of the sum leave the usage of their queues (sign -1), or come back (1). */
static void shift(struct gang__preemption *p, const struct gang__batch_sum *sum, int64_t gangs,
                  int64_t sign)
{
    p->tasks -= sign * gangs;
    if (gangs > 0)
        gang__usage_shift_queues(p->s, sum->leaf, sum->request_class, 0, sign * gangs);
}

static void shift_drawn(struct gang__preemption *p, int64_t sign)
{
    const struct gang__batches *b = &p->s->preempt.victims->batches;
    for (uint32_t i = 0; i < b->used; i++)
        shift(p, b->of_used[i], b->of_used[i]->drawn, sign);
}

/* ---- which victims --------------------------------------------------------------------------- */

/* Usage of the taker's branch and limits of users must not depend on what is taken, and a victim
 * that comes back must not be refused for what others do not lend. */
bool gang__batch_may_begin(const struct gang__preemption *p)
{
    const gang_sched *s = p->s;
    return p->mode == GANG__PREEMPT_RECLAIM && s->preempt.victims->batches.most > 0 && !p->before &&
           !p->owns_nodes && p->grow_group < 0 && !s->queues->ranks && !s->queues->lends &&
           !s->slice.matrices && !gang__slice_concerns(p->taker);
}

static bool is_of_other_branch(struct gang__preemption *p, const struct gang__gang *g)
{
    struct gang__batches *b = &p->s->preempt.victims->batches;
    if (g->job->leaf != b->leaf) {
        b->leaf = g->job->leaf;
        b->leaf_is_other = !gang__preempt_same_branch(p, g);
    }
    return b->leaf_is_other;
}

static bool is_plain(struct gang__preemption *p, const struct gang__victim *x)
{
    const struct gang__gang *g = x->g;
    const struct gang__request_class *request_class = g->request_class;
    if (!x->whole || g->tasks != 1 || g->victim.elastic || g->victim.tentative ||
        g->victim.tentative_count > 0 || g->stop.unreleased > 0 || g->reserve.inside_of ||
        request_class->request->group_count != 1 || request_class->request->exclusive ||
        !is_of_other_branch(p, g))
        return false;
    if (p->taker->job->leaf->q->reclaim == GANG_PREEMPT_LOWER &&
        g->job->priority >= p->taker->job->priority)
        return false;
    bool ever = g->preempt.cooldowns || p->taker->preempt.cooldowns;
    if (ever && gang__cooldown_rule(p->s, x, p->taker, NULL) != GANG_PROTECTED_NOT)
        return false;
    return !gang__stays_in_run(p->s, g);
}

/* The victim leaves the snapshot, and x->node is its node. False: it holds something else, too, or
 * cannot leave; then the snapshot is as before. */
static bool leave_snapshot(struct gang__preemption *p, struct gang__victim *x)
{
    return gang__snapshot_release_kept(p->s->scratch, p->s->worker, x->g->alloc, &x->node);
}

static void return_to_snapshot(struct gang__preemption *p, struct gang__gang *g)
{
    struct gang__victim x = {.g = g, .whole = true};
    if (gang__victim_release(p, &x, true) != GANG_OK)
        p->s->preempt.victims->failed = true;
}

/* ---- one batch ------------------------------------------------------------------------------- */

/* Draw plain victims. The first one that is not plain is kept for gang__batch_next(). */
static size_t draw(struct gang__preemption *p, size_t most)
{
    struct gang__batches *b = &p->s->preempt.victims->batches;
    struct gang__victim x;
    b->count = b->next = 0;
    while (b->count < most && gang__victims_next(p->s, &x)) {
        struct gang__batch_sum *sum =
            is_plain(p, &x) ? sum_of(b, x.g->job->leaf, x.g->request_class) : NULL;
        if (!sum || !leave_snapshot(p, &x)) {
            b->after = x;
            b->has_after = true;
            break;
        }
        sum->drawn++;
        sum->at_last = x.g;
        b->drawn[b->count++] = (struct gang__pending){.g = x.g, .node = x.node, .sum = sum};
    }
    return b->count;
}

/* All that were drawn are taken: do the rules allow it? */
static bool rules_allow_drawn(struct gang__preemption *p)
{
    const struct gang__batches *b = &p->s->preempt.victims->batches;
    bool allow = true;
    for (uint32_t i = 0; allow && i < b->used; i++) {
        const struct gang__batch_sum *sum = b->of_used[i];
        if (sum->drawn == 0)
            continue;
        const struct gang__victim last = {.g = sum->at_last, .whole = true};
        shift(p, sum, 1, 1);
        allow =
            gang__preempt_may_take(p, &last) == GANG__MAY && gang__preempt_allows_before(p, &last);
        shift(p, sum, 1, -1);
    }
    return allow;
}

static bool make_pending(struct gang__preemption *p, const struct gang__pending *x, size_t count)
{
    struct gang__victims *v = p->s->preempt.victims;
    struct gang__batches *b = &v->batches;
    if (!gang__grow(&p->s->mem, (void **)&b->pending, &b->pending_cap, b->pendings + count,
                    sizeof(*b->pending))) {
        v->failed = true;
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        b->pending[b->pendings] = x[i];
        b->pending[b->pendings++].listed = v->count;
        x[i].sum->gangs++;
    }
    return true;
}

static void forget_drawn(struct gang__batches *b)
{
    for (uint32_t i = 0; i < b->used; i++)
        b->of_used[i]->drawn = 0;
}

/* How many victims may be taken before a place is to be looked for? While the amounts do not
 * suffice, that is not known. */
static size_t batch_size(const struct gang__preemption *p, size_t next)
{
    size_t count = gang__victims_taken(p->s->preempt.victims);
    size_t most = p->s->preempt.victims->batches.most;
    if (!gang__preempt_amounts_suffice(p))
        return most;
    return count + 1 >= next ? 0 : next - count - 1 < most ? next - count - 1 : most;
}

/* False: nothing was taken, or the victims end, or the next one is not plain. */
static bool take_batch(struct gang__preemption *p, size_t next)
{
    struct gang__victims *v = p->s->preempt.victims;
    struct gang__batches *b = &v->batches;
    size_t most = batch_size(p, next), count = most > 0 ? draw(p, most) : 0;
    if (count == 0)
        return false;
    shift_drawn(p, -1);
    bool ok = (gang__victims_taken(v) + count < next || !gang__preempt_amounts_suffice(p)) &&
              rules_allow_drawn(p) && make_pending(p, b->drawn, count);
    if (ok) {
        p->s->steps += (int64_t)count;
        b->taken += count;
        b->count = 0;
        b->pause = 0;
    } else {
        shift_drawn(p, 1);
        for (size_t i = 0; i < count; i++)
            return_to_snapshot(p, b->drawn[i].g);
        b->pause = b->pause == 0               ? FIRST_PAUSE
                   : b->pause >= LONGEST_PAUSE ? LONGEST_PAUSE
                                               : 2 * b->pause;
        b->left = b->pause;
    }
    forget_drawn(b);
    return ok && count == most;
}

void gang__batch_take(struct gang__preemption *p, size_t next)
{
    struct gang__batches *b = &p->s->preempt.victims->batches;
    if (b->left > 0)
        b->left--;
    else if (b->next == b->count && !b->has_after)
        while (take_batch(p, next))
            ;
}

/* ---- one by one ------------------------------------------------------------------------------ */

bool gang__batch_next(struct gang__preemption *p, struct gang__victim *out)
{
    struct gang__batches *b = &p->s->preempt.victims->batches;
    if (b->next < b->count) {
        *out = (struct gang__victim){.g = b->drawn[b->next++].g, .whole = true};
        return true;
    }
    if (!b->has_after)
        return gang__victims_next(p->s, out);
    *out = b->after;
    b->has_after = false;
    return true;
}

void gang__batch_skip_leaf(struct gang__preemption *p, const struct gang__victim *of)
{
    struct gang__batches *b = &p->s->preempt.victims->batches;
    const struct gang__queue_state *leaf = of->g->job->leaf;
    size_t count = b->next;
    if (b->next == b->count && !b->has_after) {
        gang__victims_skip_leaf(p->s);
        return;
    }
    for (size_t i = b->next; i < b->count; i++) /* gangs of `of`, a gang itself */
        if (b->drawn[i].g->job->leaf != leaf)
            b->drawn[count++] = b->drawn[i];
    b->count = count;
    b->has_after = b->has_after && !(b->after.whole && b->after.g->job->leaf == leaf);
    gang__victims_drop_leaf(p->s, leaf);
}

bool gang__batch_take_one(struct gang__preemption *p, const struct gang__victim *of)
{
    struct gang__batches *b = &p->s->preempt.victims->batches;
    struct gang__victim x = *of;
    struct gang__batch_sum *sum =
        is_plain(p, &x) ? sum_of(b, x.g->job->leaf, x.g->request_class) : NULL;
    if (!sum || !leave_snapshot(p, &x))
        return false;
    struct gang__pending pending = {.g = x.g, .node = x.node, .sum = sum};
    if (!make_pending(p, &pending, 1)) {
        return_to_snapshot(p, x.g);
        return false;
    }
    shift(p, sum, 1, -1);
    return true;
}

/* ---- what becomes of them -------------------------------------------------------------------- */

void gang__batch_end_walk(struct gang__victims *v)
{
    v->batches.count = v->batches.next = v->batches.left = v->batches.pause = 0;
    v->batches.has_after = false;
    v->batches.leaf = NULL;
}

static void forget(struct gang__batches *b)
{
    for (uint32_t i = 0; i < b->used; i++)
        *b->of_used[i] = (struct gang__batch_sum){0};
    b->used = 0;
    b->last = NULL;
    b->pendings = 0;
}

void gang__batch_undo(struct gang__preemption *p)
{
    struct gang__batches *b = &p->s->preempt.victims->batches;
    for (uint32_t i = 0; i < b->used; i++)
        shift(p, b->of_used[i], b->of_used[i]->gangs, 1);
    forget(b);
}

/* The pending victim is in the list; its queues do without it already. */
static void list_one(struct gang__preemption *p, struct gang__victim *to,
                     const struct gang__pending *x)
{
    *to = (struct gang__victim){.g = x->g, .whole = true, .node = x->node};
    x->sum->gangs--;
    gang__usage_shift_user(p->s, x->g, 0, -1);
    gang__victim_count(to, 1);
}

/* Put the pending victims into the list, each after those that were taken before it. */
static void list_pending(struct gang__preemption *p, size_t count)
{
    struct gang__victims *v = p->s->preempt.victims;
    const struct gang__pending *pending = v->batches.pending;
    if (!gang__grow(&p->s->mem, (void **)&v->list, &v->cap, v->count + count, sizeof(*v->list))) {
        v->failed = true;
        return;
    }
    size_t listed = v->count, to = v->count + count;
    v->count = to;
    for (size_t i = count; i-- > 0;) {
        while (listed > pending[i].listed)
            v->list[--to] = v->list[--listed];
        if (i >= AHEAD) {
            __builtin_prefetch(pending[i - AHEAD].g, 1);
            __builtin_prefetch(&pending[i - AHEAD].g->victim.tentative, 1);
        }
        list_one(p, &v->list[--to], &pending[i]);
    }
}

void gang__batch_list_all(struct gang__preemption *p)
{
    struct gang__batches *b = &p->s->preempt.victims->batches;
    if (b->pendings > 0)
        list_pending(p, b->pendings);
    gang__batch_undo(p);
}

/* All pending victims come back: do their queues keep to their limits? What is in the list already
 * would have to come back with them. */
static bool limits_allow_all(struct gang__preemption *p)
{
    const struct gang__victims *v = p->s->preempt.victims;
    const struct gang__batches *b = &v->batches;
    bool allow = true;
    if (!p->s->usage.limits)
        return true;
    for (uint32_t i = 0; i < b->used; i++)
        shift(p, b->of_used[i], b->of_used[i]->gangs, 1);
    for (uint32_t i = 0; allow && v->count == 0 && i < b->used; i++)
        allow = gang__preempt_keeps_limits(p, b->of_used[i]->leaf);
    for (uint32_t i = 0; i < b->used; i++)
        shift(p, b->of_used[i], b->of_used[i]->gangs, -1);
    return allow && v->count == 0;
}

void gang__batch_spare(struct gang__preemption *p)
{
    struct gang__victims *v = p->s->preempt.victims;
    struct gang__batches *b = &v->batches;
    size_t kept = 0;
    if (!limits_allow_all(p)) {
        gang__batch_list_all(p);
        return;
    }
    for (size_t i = 0; i < b->pendings; i++)
        if (v->kept[(uint32_t)b->pending[i].node])
            b->pending[kept++] = b->pending[i];
    list_pending(p, kept);
    gang__batch_undo(p); /* the others */
}
