/* SPDX-License-Identifier: Apache-2.0 */
/* Which backfill candidate is tried next: of each list of candidates the first that is not ruled
 * out by free totals or by the failure of a shorter one. candidates.c has the whole. */
#include "sched/backfill/backfill_in.h"
#include "sched/backfill/candidates_in.h"
#include "sched/calendar/calendar.h"
#include "sched/order/order.h"
#include "sched/wake/wake.h"

/* More capacity may be free. The READY class stays READY, and one before it may become READY,
 * too. */
static void reset_bounds(struct gang__candidates *candidates)
{
    candidates->most_ns = GANG__NEVER;
    candidates->ready = NULL;
    gang__candidates_mark_due(candidates);
}

/* Something happened that may help: all classes that were tried wait again. */
static void retry_all(struct gang__candidates *candidates)
{
    while (candidates->tried) {
        struct gang__wait_class *class = candidates->tried;
        gang__candidates_unkeep(class);
        gang__candidates_keep_in(class, GANG__KEPT_WAITING);
    }
    reset_bounds(candidates);
}

/* In a backfill order by run time: the longest run time that comes as early as the shortest one
 * that waits. */
static int64_t first_in_order(const gang_sched *s, const struct gang__candidates *candidates)
{
    int64_t least = gang__candidate_at(candidates->waiting.root)->backfill.shortest_ns;
    const struct gang__gang *g =
        gang__wait_class_head(gang__candidate_at(candidates->waiting.root));
    switch (candidates->leaf->q->backfill_order) {
    case GANG_BACKFILL_ORDER_SHORTEST:
        return least;
    case GANG_BACKFILL_ORDER_SMALLEST:
        return gang__backfill_longest_tied_ns(s, g, least);
    default: /* the order of the leaf decides */
        return GANG__NEVER;
    }
}

/* The class to be tried next; NULL: none can start. */
static struct gang__wait_class *next_candidate(gang_sched *s,
                                               const struct gang__candidates *candidates)
{
    const struct gang__calendar *cal = s->calendar;
    struct gang__set_link *n = gang__set_first(&candidates->waiting);
    if (!n)
        return NULL;
    struct gang__wait_class *first = gang__candidate_at(n);
    if (!cal || !cal->timeline || cal->failed_in == s->runs || !gang__calendar_sync(s) ||
        gang__calendar_may_plan(gang__wait_class_head(first)))
        return first;
    int64_t most =
        gang__min(candidates->most_ns, gang__calendar_free_ns(s, gang__wait_class_head(first)));
    if (gang__candidate_at(candidates->waiting.root)->backfill.shortest_ns > most)
        return NULL;
    return gang__candidates_first_within(candidates,
                                         gang__min(most, first_in_order(s, candidates)));
}

/* Has the next gang of the leaf a plan? Candidates behind all plans are chosen after it, when it is
 * known what it leaves. */
static bool is_planned_next(const struct gang__queue_state *leaf)
{
    struct gang__set_link *n = gang__set_first(&leaf->order.ready);
    return n &&
           gang__wait_class_head(GANG__OF(struct gang__wait_class, ready_link, n))->calendar.plan !=
               0;
}

/* Are all candidates behind the plans? */
static bool are_behind_plans(const struct gang__candidates *candidates)
{
    struct gang__set_link *n = gang__set_first(&candidates->waiting);
    return n && !gang__calendar_may_plan(gang__wait_class_head(gang__candidate_at(n)));
}

static void make_ready_in(gang_sched *s, struct gang__queue_state *leaf)
{
    bool planned = is_planned_next(leaf);
    struct gang__candidates *candidates, *later = NULL;
    while ((candidates = leaf->backfill.due) != NULL) {
        leaf->backfill.due = candidates->next_due;
        if (planned && are_behind_plans(candidates)) {
            candidates->next_due = later;
            later = candidates;
            continue;
        }
        candidates->due = false;
        struct gang__wait_class *class = candidates->ready ? NULL : next_candidate(s, candidates);
        if (!class)
            continue;
        gang__order_unblock(s, class);
        candidates->ready = class;
    }
    leaf->backfill.due = later;
}

void gang__candidates_make_ready(gang_sched *s)
{
    uint64_t moves = s->calendar ? s->calendar->changes : 0;
    for (struct gang__queue_state **at = &s->wake.candidates, *leaf; (leaf = *at) != NULL;) {
        for (struct gang__candidates *candidates = leaf->backfill.all; candidates;
             candidates = candidates->next) {
            if (leaf->wake.retry_candidates)
                retry_all(candidates);
            else if (moves != s->backfill.changes_seen)
                reset_bounds(candidates);
            else
                break;
        }
        leaf->wake.retry_candidates = false;
        make_ready_in(s, leaf);
        leaf->wake.candidates = leaf->order.ready.count > 0;
        if (leaf->wake.candidates)
            at = &leaf->wake.next_candidates;
        else
            *at = leaf->wake.next_candidates;
    }
    s->backfill.changes_seen = moves;
}

void gang__candidates_unkeep_all(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (struct gang__candidates *candidates = s->qs[i]->backfill.all; candidates;
             candidates = candidates->next) {
            retry_all(candidates);
            while (candidates->waiting.count > 0)
                gang__order_unblock(s, gang__candidate_at(gang__set_first(&candidates->waiting)));
        }
    for (; s->wake.candidates; s->wake.candidates = s->wake.candidates->wake.next_candidates)
        s->wake.candidates->wake.candidates = s->wake.candidates->wake.retry_candidates = false;
}

bool gang__candidates_any_kept(const gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (const struct gang__candidates *candidates = s->qs[i]->backfill.all; candidates;
             candidates = candidates->next)
            if (candidates->tried || candidates->waiting.count > 0)
                return true;
    return false;
}
