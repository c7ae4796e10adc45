/* SPDX-License-Identifier: Apache-2.0 */
/* Backfill candidates: gangs of an EASY leaf without a plan of their own, which may start between
 * the plans.
 *
 * They are tried again whenever a gang leaves, since they may fit before the plans now. If each has
 * a time limit of its own, each is a wait class of its own, and few of them fit. So blocked classes
 * that wait because of plans are kept by *candidates*: those of the leaf with the same request
 * class, user and guarantee. From each, one class at a time is made READY: the first that is not
 * ruled out by
 *   - free totals: over all nodes, enough is free for the gang from now on up to an instant, which
 *     is the same for all of them. A gang that runs beyond it does not fit
 *     (gang__calendar_free_ns()).
 *   - a shorter candidate's failure: if a gang could not start, no gang that runs as long or longer
 *     can.
 * Both bounds are forgotten when a plan goes or changes, since more capacity may be free then.
 * "First" means first in the backfill order of the leaf, if it has one, else in its wait order. So
 * gangs start as if each had been tried. A round costs its tries, and a look at each entry.
 *
 * A kept class is BLOCKED and in no other list. It is KEPT_TRIED until something happens that may
 * help it (the leaf is noted: gang__wake_candidates()), and KEPT_WAITING from then on: in a tree in
 * the order of the leaf. Each node of the tree has the shortest run time below it. Some classes are
 * not kept, because more decides about them: a class with a planned, deadline-bound or starved
 * head, or with a head that has places to return to; classes of strict leaves and of leaves that
 * bound bypasses; and all classes while something is reserved.
 */
#include "sched/backfill/candidates_in.h"
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/wake/wake.h"

/* ---- the tree of waiting classes ------------------------------------------------------------- */

static int by_order(const struct gang__set_link *a, const struct gang__set_link *b, const void *ctx)
{
    const struct gang__queue_state *leaf = ctx;
    return gang__gang_before(gang__wait_class_head(gang__candidate_at(a)),
                             gang__wait_class_head(gang__candidate_at(b)), leaf->q->order);
}

static bool refresh(struct gang__set_link *n)
{
    struct gang__wait_class *class = gang__candidate_at(n);
    int64_t least = class->backfill.run_ns;
    for (int side = 0; side < 2; side++)
        if (n->child[side])
            least = gang__min(least, gang__candidate_at(n->child[side])->backfill.shortest_ns);
    bool changed = least != class->backfill.shortest_ns;
    class->backfill.shortest_ns = least;
    return changed;
}

struct gang__wait_class *gang__candidates_first_within(const struct gang__candidates *candidates,
                                                       int64_t most_ns)
{
    struct gang__set_link *n = candidates->waiting.root;
    if (!n || gang__candidate_at(n)->backfill.shortest_ns > most_ns)
        return NULL;
    for (;;) {
        if (n->child[0] && gang__candidate_at(n->child[0])->backfill.shortest_ns <= most_ns)
            n = n->child[0];
        else if (gang__candidate_at(n)->backfill.run_ns <= most_ns)
            return gang__candidate_at(n);
        else
            n = n->child[1];
    }
}

/* ---- making and finding candidates ----------------------------------------------------------- */

static bool is_of(const struct gang__candidates *candidates, const struct gang__wait_class *class)
{
    return candidates->request_class == class->request_class && candidates->user == class->user &&
           candidates->fixed == class->fixed;
}

static struct gang__candidates *new_candidates(gang_sched *s, const struct gang__wait_class *class,
                                               uint64_t hash)
{
    struct gang__queue_state *leaf = class->leaf;
    if (gang__hash_reserve(&leaf->backfill.by_key, &s->mem) != GANG_OK)
        return NULL;
    struct gang__candidates *candidates = gang__zalloc(&s->mem, 1, sizeof(*candidates));
    if (!candidates)
        return NULL;
    candidates->leaf = leaf;
    candidates->request_class = class->request_class;
    candidates->user = class->user;
    candidates->fixed = class->fixed;
    candidates->most_ns = GANG__NEVER;
    gang__set_init(&candidates->waiting, by_order, leaf);
    candidates->waiting.refresh = refresh;
    gang__hash_insert(&leaf->backfill.by_key, &candidates->link, hash);
    candidates->next = leaf->backfill.all;
    candidates->at = &leaf->backfill.all;
    if (leaf->backfill.all)
        leaf->backfill.all->at = &candidates->next;
    leaf->backfill.all = candidates;
    return candidates;
}

/* The candidates of a class, which refers to them from now on. NULL: out of memory. */
static struct gang__candidates *candidates_of(gang_sched *s, struct gang__wait_class *class)
{
    if (class->backfill.candidates)
        return class->backfill.candidates;
    uint64_t hash = gang__hash_number(
        gang__hash_number(class->fixed, (uintptr_t) class->request_class), (uintptr_t) class->user);
    struct gang__hash_link *n = gang__hash_first(&class->leaf->backfill.by_key, hash);
    while (n && !is_of(GANG__OF(struct gang__candidates, link, n), class))
        n = n->next;
    class->backfill.candidates =
        n ? GANG__OF(struct gang__candidates, link, n) : new_candidates(s, class, hash);
    if (class->backfill.candidates)
        class->backfill.candidates->refs++;
    return class->backfill.candidates;
}

void gang__candidates_mark_due(struct gang__candidates *candidates)
{
    if (candidates->due)
        return;
    candidates->due = true;
    candidates->next_due = candidates->leaf->backfill.due;
    candidates->leaf->backfill.due = candidates;
}

static void unmark_due(struct gang__candidates *candidates)
{
    struct gang__candidates **at = &candidates->leaf->backfill.due;
    if (!candidates->due)
        return;
    while (*at != candidates)
        at = &(*at)->next_due;
    *at = candidates->next_due;
    candidates->due = false;
}

void gang__candidates_forget(gang_sched *s, struct gang__wait_class *class)
{
    struct gang__candidates *candidates = class->backfill.candidates;
    class->backfill.candidates = NULL;
    if (!candidates || --candidates->refs > 0)
        return;
    unmark_due(candidates);
    *candidates->at = candidates->next;
    if (candidates->next)
        candidates->next->at = candidates->at;
    gang__hash_remove(&candidates->leaf->backfill.by_key, &candidates->link);
    gang__release(&s->mem, candidates);
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* Do the bounds of its candidates decide alone whether the class starts? */
static bool may_keep(const gang_sched *s, const struct gang__wait_class *class)
{
    const struct gang__queue *q = class->leaf->q;
    const struct gang__gang *head = gang__wait_class_head(class);
    const struct gang__job *job = head->job;
    return class->why == GANG_WAIT_PLANNED && q->backfill == GANG_BACKFILL_EASY &&
           q->block != GANG_BLOCK_STRICT && q->max_bypasses == 0 && !class->grower &&
           s->reserve.count == 0 && !s->backfill.try_all && !head->calendar.plan &&
           !head->starved && !head->places && job->options->deadline_ns <= 0 &&
           job->state != GANG_JOB_RUNNING;
}

void gang__candidates_keep_in(struct gang__wait_class *class, uint8_t where)
{
    struct gang__candidates *candidates = class->backfill.candidates;
    class->backfill.kept = where;
    if (where == GANG__KEPT_WAITING) {
        gang__set_insert(&candidates->waiting, &class->backfill.link);
        return;
    }
    class->next = candidates->tried;
    class->at = &candidates->tried;
    if (candidates->tried)
        candidates->tried->at = &class->next;
    candidates->tried = class;
}

bool gang__candidates_keep_again(gang_sched *s, struct gang__wait_class *class, uint8_t kept)
{
    if (!may_keep(s, class) || !candidates_of(s, class))
        return false;
    class->backfill.run_ns = gang__calendar_estimate(s, gang__wait_class_head(class));
    gang__candidates_keep_in(class, kept);
    return true;
}

bool gang__candidates_keep(gang_sched *s, struct gang__wait_class *class)
{
    if (!gang__candidates_keep_again(s, class, GANG__KEPT_TRIED))
        return false;
    class->backfill.candidates->most_ns =
        gang__min(class->backfill.candidates->most_ns, class->backfill.run_ns - 1);
    return true;
}

void gang__candidates_unkeep(struct gang__wait_class *class)
{
    if (class->backfill.kept == GANG__KEPT_WAITING) {
        gang__set_remove(&class->backfill.candidates->waiting, &class->backfill.link);
    } else {
        *class->at = class->next;
        if (class->next)
            class->next->at = class->at;
        class->at = NULL;
    }
    class->backfill.kept = GANG__KEPT_NOT;
}

void gang__candidates_left_ready(struct gang__wait_class *class)
{
    struct gang__candidates *candidates = class->backfill.candidates;
    if (!candidates || candidates->ready != class)
        return;
    candidates->ready = NULL;
    gang__candidates_mark_due(candidates);
}

void gang__candidates_deferred(struct gang__wait_class *class)
{
    struct gang__candidates *candidates = class->backfill.candidates;
    if (candidates && candidates->ready == class && candidates->waiting.root &&
        candidates->leaf->q->backfill_order != GANG_BACKFILL_ORDER_WIDEST &&
        gang__candidate_at(candidates->waiting.root)->backfill.shortest_ns < class->backfill.run_ns)
        gang__candidates_left_ready(class);
}

/* ---- in a copy ------------------------------------------------------------------------------- */

void gang__candidates_copy(gang_sched *s, struct gang__wait_class *to,
                           const struct gang__wait_class *from)
{
    if (!from->backfill.candidates || !candidates_of(s, to))
        return;
    to->backfill.candidates->most_ns = from->backfill.candidates->most_ns;
    if (from->backfill.candidates->ready == from)
        to->backfill.candidates->ready = to;
    if (from->backfill.candidates->due)
        gang__candidates_mark_due(to->backfill.candidates);
    if (from->backfill.kept == GANG__KEPT_WAITING && to->backfill.kept == GANG__KEPT_TRIED) {
        gang__candidates_unkeep(to);
        gang__candidates_keep_in(to, GANG__KEPT_WAITING);
    }
}

void gang__candidates_copy_leaf(gang_sched *s, struct gang__queue_state *to,
                                const struct gang__queue_state *from)
{
    if (from->wake.candidates)
        gang__wake_candidates(s, to);
    to->wake.retry_candidates = from->wake.retry_candidates;
}

/* ---- audit ----------------------------------------------------------------------------------- */

static bool is_right(const gang_sched *s, const struct gang__wait_class *class, uint8_t kept)
{
    return class->state == GANG__CLASS_BLOCKED && class->backfill.kept == kept &&
           class->gangs.count > 0 && may_keep(s, class) &&
           class->backfill.run_ns == gang__calendar_estimate(s, gang__wait_class_head(class));
}

static bool check_candidates(const gang_sched *s, const struct gang__candidates *candidates)
{
    const struct gang__wait_class *before = NULL;
    bool right = true;
    for (const struct gang__wait_class *class = candidates->tried; class && right;
         class = class->next)
        right = is_right(s, class, GANG__KEPT_TRIED) && class->backfill.candidates == candidates;
    for (struct gang__set_link *n = gang__set_first(&candidates->waiting); n && right;
         n = gang__set_next(n)) {
        const struct gang__wait_class *class = gang__candidate_at(n);
        right = is_right(s, class, GANG__KEPT_WAITING) &&
                class->backfill.candidates == candidates &&
                (!before ||
                 by_order(&before->backfill.link, &class->backfill.link, candidates->leaf) < 0);
        before = class;
    }
    return right && (!candidates->ready || candidates->ready->state == GANG__CLASS_READY);
}

gang_result gang__candidates_check(gang_sched *s, struct gang_error *error)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (const struct gang__candidates *candidates = s->qs[i]->backfill.all; candidates;
             candidates = candidates->next)
            if (!check_candidates(s, candidates))
                return gang__error(
                    error, GANG_EINVAL, s->qs[i]->q->name,
                    "a kept wait class is not in the state that its candidates need");
    return GANG_OK;
}
