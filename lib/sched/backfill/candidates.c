/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/backfill/candidates.h"
#include "sched/backfill/backfill.h"
#include "sched/backfill/backfill_in.h"

#include "sched/calendar/calendar.h"
#include "sched/order/wait_order.h"
#include "sched/wake/wake.h"

/* ---- the tree of waiting classes ------------------------------------------------------------- */

static struct gang__wait_class *bin_at(const struct gang__set_link *n)
{
    return (struct gang__wait_class *)((char *)(uintptr_t)n -
                                       offsetof(struct gang__wait_class, backfill.link));
}

static int by_turn(const struct gang__set_link *a, const struct gang__set_link *b, const void *ctx)
{
    const struct gang__queue_state *leaf = ctx;
    return gang__gang_before(gang__wait_class_head(bin_at(a)), gang__wait_class_head(bin_at(b)),
                             leaf->q->order);
}

static bool refresh(struct gang__set_link *n)
{
    struct gang__wait_class *bin = bin_at(n);
    int64_t least = bin->backfill.run_ns;
    for (int side = 0; side < 2; side++)
        if (n->child[side])
            least = gang__min(least, bin_at(n->child[side])->backfill.shortest_ns);
    bool changed = least != bin->backfill.shortest_ns;
    bin->backfill.shortest_ns = least;
    return changed;
}

/* The first in the order of the leaf that runs no longer; NULL: none. */
static struct gang__wait_class *first_within(const struct gang__candidates *kin, int64_t most_ns)
{
    struct gang__set_link *n = kin->waiting.root;
    if (!n || bin_at(n)->backfill.shortest_ns > most_ns)
        return NULL;
    for (;;) {
        if (n->child[0] && bin_at(n->child[0])->backfill.shortest_ns <= most_ns)
            n = n->child[0];
        else if (bin_at(n)->backfill.run_ns <= most_ns)
            return bin_at(n);
        else
            n = n->child[1];
    }
}

/* ---- making and finding candidates ----------------------------------------------------------- */

static bool is_of(const struct gang__candidates *kin, const struct gang__wait_class *bin)
{
    return kin->ask == bin->request_class && kin->user == bin->user && kin->fixed == bin->fixed;
}

static struct gang__candidates *new_kin(gang_sched *s, const struct gang__wait_class *bin,
                                        uint64_t hash)
{
    struct gang__queue_state *leaf = bin->leaf;
    if (gang__hash_reserve(&leaf->backfill.by_key, &s->mem) != GANG_OK)
        return NULL;
    struct gang__candidates *kin = gang__zalloc(&s->mem, 1, sizeof(*kin));
    if (!kin)
        return NULL;
    kin->leaf = leaf;
    kin->ask = bin->request_class;
    kin->user = bin->user;
    kin->fixed = bin->fixed;
    kin->most_ns = GANG__NEVER;
    gang__set_init(&kin->waiting, by_turn, leaf);
    kin->waiting.refresh = refresh;
    gang__hash_insert(&leaf->backfill.by_key, &kin->link, hash);
    kin->next = leaf->backfill.all;
    kin->at = &leaf->backfill.all;
    if (leaf->backfill.all)
        leaf->backfill.all->at = &kin->next;
    leaf->backfill.all = kin;
    return kin;
}

/* The candidates of a class, which refers to them from now on. NULL: out of memory. */
static struct gang__candidates *kin_of(gang_sched *s, struct gang__wait_class *bin)
{
    if (bin->backfill.candidates)
        return bin->backfill.candidates;
    uint64_t hash = gang__hash_number(gang__hash_number(bin->fixed, (uintptr_t)bin->request_class),
                                      (uintptr_t)bin->user);
    struct gang__hash_link *n = gang__hash_first(&bin->leaf->backfill.by_key, hash);
    while (n && !is_of(GANG__OF(struct gang__candidates, link, n), bin))
        n = n->next;
    bin->backfill.candidates =
        n ? GANG__OF(struct gang__candidates, link, n) : new_kin(s, bin, hash);
    if (bin->backfill.candidates)
        bin->backfill.candidates->bins++;
    return bin->backfill.candidates;
}

static void due(struct gang__candidates *kin)
{
    if (kin->due)
        return;
    kin->due = true;
    kin->next_due = kin->leaf->backfill.due;
    kin->leaf->backfill.due = kin;
}

static void not_due(struct gang__candidates *kin)
{
    struct gang__candidates **at = &kin->leaf->backfill.due;
    if (!kin->due)
        return;
    while (*at != kin)
        at = &(*at)->next_due;
    *at = kin->next_due;
    kin->due = false;
}

void gang__candidates_forget(gang_sched *s, struct gang__wait_class *bin)
{
    struct gang__candidates *kin = bin->backfill.candidates;
    bin->backfill.candidates = NULL;
    if (!kin || --kin->bins > 0)
        return;
    not_due(kin);
    *kin->at = kin->next;
    if (kin->next)
        kin->next->at = kin->at;
    gang__hash_remove(&kin->leaf->backfill.by_key, &kin->link);
    gang__release(&s->mem, kin);
}

/* ---- keeping --------------------------------------------------------------------------------- */

/* Do the bounds of its candidates decide alone whether the class starts? */
static bool may_keep(const gang_sched *s, const struct gang__wait_class *bin)
{
    const struct gang__queue *q = bin->leaf->q;
    const struct gang__gang *head = gang__wait_class_head(bin);
    const struct gang__job *job = head->job;
    return bin->why == GANG_WAIT_PLANNED && q->backfill == GANG_BACKFILL_EASY &&
           q->block != GANG_BLOCK_STRICT && q->max_bypasses == 0 && !bin->grower &&
           s->reserve.count == 0 && !s->backfill.try_all && !head->calendar.plan &&
           !head->bypass.starved && !head->places && job->deadline_ns <= 0 &&
           job->state != GANG_JOB_RUNNING;
}

static void put(struct gang__wait_class *bin, uint8_t where)
{
    struct gang__candidates *kin = bin->backfill.candidates;
    bin->backfill.kept = where;
    if (where == GANG__KEPT_WAITING) {
        gang__set_insert(&kin->waiting, &bin->backfill.link);
        return;
    }
    bin->next = kin->tried;
    bin->at = &kin->tried;
    if (kin->tried)
        kin->tried->at = &bin->next;
    kin->tried = bin;
}

bool gang__candidates_keep_again(gang_sched *s, struct gang__wait_class *bin, uint8_t kept)
{
    if (!may_keep(s, bin) || !kin_of(s, bin))
        return false;
    bin->backfill.run_ns = gang__calendar_estimate(s, gang__wait_class_head(bin));
    put(bin, kept);
    return true;
}

bool gang__candidates_keep(gang_sched *s, struct gang__wait_class *bin)
{
    if (!gang__candidates_keep_again(s, bin, GANG__KEPT_TRIED))
        return false;
    bin->backfill.candidates->most_ns =
        gang__min(bin->backfill.candidates->most_ns, bin->backfill.run_ns - 1);
    return true;
}

void gang__candidates_let_go(struct gang__wait_class *bin)
{
    if (bin->backfill.kept == GANG__KEPT_WAITING) {
        gang__set_remove(&bin->backfill.candidates->waiting, &bin->backfill.link);
    } else {
        *bin->at = bin->next;
        if (bin->next)
            bin->next->at = bin->at;
        bin->at = NULL;
    }
    bin->backfill.kept = GANG__KEPT_NOT;
}

void gang__candidates_done(struct gang__wait_class *bin)
{
    struct gang__candidates *kin = bin->backfill.candidates;
    if (!kin || kin->ready != bin)
        return;
    kin->ready = NULL;
    due(kin);
}

void gang__candidates_late(struct gang__wait_class *bin)
{
    struct gang__candidates *kin = bin->backfill.candidates;
    if (kin && kin->ready == bin && kin->waiting.root &&
        kin->leaf->q->backfill_order != GANG_BACKFILL_ORDER_WIDEST &&
        bin_at(kin->waiting.root)->backfill.shortest_ns < bin->backfill.run_ns)
        gang__candidates_done(bin);
}

/* ---- which class is tried next --------------------------------------------------------------- */

/* More capacity may be free. The READY class stays READY, and one before it may become READY,
 * too. */
static void think_again(struct gang__candidates *kin)
{
    kin->most_ns = GANG__NEVER;
    kin->ready = NULL;
    due(kin);
}

/* Something happened that may help: all classes that were tried wait again. */
static void begin_again(struct gang__candidates *kin)
{
    while (kin->tried) {
        struct gang__wait_class *bin = kin->tried;
        gang__candidates_let_go(bin);
        put(bin, GANG__KEPT_WAITING);
    }
    think_again(kin);
}

/* In a backfill order by run time: the longest run time that comes as early as the shortest one
 * that waits. */
static int64_t first_in_order(const gang_sched *s, const struct gang__candidates *kin)
{
    int64_t least = bin_at(kin->waiting.root)->backfill.shortest_ns;
    const struct gang__gang *g = gang__wait_class_head(bin_at(kin->waiting.root));
    switch (kin->leaf->q->backfill_order) {
    case GANG_BACKFILL_ORDER_SHORTEST:
        return least;
    case GANG_BACKFILL_ORDER_SMALLEST:
        return gang__backfill_alike_ns(s, g, least);
    default: /* the order of the leaf decides */
        return GANG__NEVER;
    }
}

/* The class to be tried next; NULL: none can start. */
static struct gang__wait_class *next_of(gang_sched *s, const struct gang__candidates *kin)
{
    const struct gang__calendar *cal = s->calendar;
    struct gang__set_link *n = gang__set_first(&kin->waiting);
    if (!n)
        return NULL;
    struct gang__wait_class *first = bin_at(n);
    if (!cal || !cal->when || cal->failed_in == s->runs || !gang__calendar_sync(s) ||
        gang__calendar_may_plan(gang__wait_class_head(first)))
        return first;
    int64_t most = gang__min(kin->most_ns, gang__calendar_free_ns(s, gang__wait_class_head(first)));
    if (bin_at(kin->waiting.root)->backfill.shortest_ns > most)
        return NULL;
    return first_within(kin, gang__min(most, first_in_order(s, kin)));
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
static bool comes_later(const struct gang__candidates *kin)
{
    struct gang__set_link *n = gang__set_first(&kin->waiting);
    return n && !gang__calendar_may_plan(gang__wait_class_head(bin_at(n)));
}

static void look_at(gang_sched *s, struct gang__queue_state *leaf)
{
    bool planned = is_planned_next(leaf);
    struct gang__candidates *kin, *later = NULL;
    while ((kin = leaf->backfill.due) != NULL) {
        leaf->backfill.due = kin->next_due;
        if (planned && comes_later(kin)) {
            kin->next_due = later;
            later = kin;
            continue;
        }
        kin->due = false;
        struct gang__wait_class *bin = kin->ready ? NULL : next_of(s, kin);
        if (!bin)
            continue;
        gang__order_unblock(s, bin);
        kin->ready = bin;
    }
    leaf->backfill.due = later;
}

void gang__candidates_look(gang_sched *s)
{
    uint64_t moves = s->calendar ? s->calendar->moves : 0;
    for (struct gang__queue_state **at = &s->wake.candidates, *leaf; (leaf = *at) != NULL;) {
        for (struct gang__candidates *kin = leaf->backfill.all; kin; kin = kin->next) {
            if (leaf->wake.stirred)
                begin_again(kin);
            else if (moves != s->backfill.moves_seen)
                think_again(kin);
            else
                break;
        }
        leaf->wake.stirred = false;
        look_at(s, leaf);
        leaf->wake.candidates = leaf->order.ready.count > 0;
        if (leaf->wake.candidates)
            at = &leaf->wake.next_candidates;
        else
            *at = leaf->wake.next_candidates;
    }
    s->backfill.moves_seen = moves;
}

void gang__candidates_dissolve(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (struct gang__candidates *kin = s->qs[i]->backfill.all; kin; kin = kin->next) {
            begin_again(kin);
            while (kin->waiting.count > 0)
                gang__order_unblock(s, bin_at(gang__set_first(&kin->waiting)));
        }
    for (; s->wake.candidates; s->wake.candidates = s->wake.candidates->wake.next_candidates)
        s->wake.candidates->wake.candidates = s->wake.candidates->wake.stirred = false;
}

bool gang__candidates_some(const gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (const struct gang__candidates *kin = s->qs[i]->backfill.all; kin; kin = kin->next)
            if (kin->tried || kin->waiting.count > 0)
                return true;
    return false;
}

/* ---- in a copy ------------------------------------------------------------------------------- */

void gang__candidates_copy(gang_sched *s, struct gang__wait_class *to,
                           const struct gang__wait_class *from)
{
    if (!from->backfill.candidates || !kin_of(s, to))
        return;
    to->backfill.candidates->most_ns = from->backfill.candidates->most_ns;
    if (from->backfill.candidates->ready == from)
        to->backfill.candidates->ready = to;
    if (from->backfill.candidates->due)
        due(to->backfill.candidates);
    if (from->backfill.kept == GANG__KEPT_WAITING && to->backfill.kept == GANG__KEPT_TRIED) {
        gang__candidates_let_go(to);
        put(to, GANG__KEPT_WAITING);
    }
}

void gang__candidates_copy_leaf(gang_sched *s, struct gang__queue_state *to,
                                const struct gang__queue_state *from)
{
    if (from->wake.candidates)
        gang__wake_candidates(s, to);
    to->wake.stirred = from->wake.stirred;
}

/* ---- audit ----------------------------------------------------------------------------------- */

static bool is_right(const gang_sched *s, const struct gang__wait_class *bin, uint8_t kept)
{
    return bin->state == GANG__CLASS_BLOCKED && bin->backfill.kept == kept &&
           bin->gangs.count > 0 && may_keep(s, bin) &&
           bin->backfill.run_ns == gang__calendar_estimate(s, gang__wait_class_head(bin));
}

static bool check_kin(const gang_sched *s, const struct gang__candidates *kin)
{
    const struct gang__wait_class *before = NULL;
    bool right = true;
    for (const struct gang__wait_class *bin = kin->tried; bin && right; bin = bin->next)
        right = is_right(s, bin, GANG__KEPT_TRIED) && bin->backfill.candidates == kin;
    for (struct gang__set_link *n = gang__set_first(&kin->waiting); n && right;
         n = gang__set_next(n)) {
        const struct gang__wait_class *bin = bin_at(n);
        right = is_right(s, bin, GANG__KEPT_WAITING) && bin->backfill.candidates == kin &&
                (!before || by_turn(&before->backfill.link, &bin->backfill.link, kin->leaf) < 0);
        before = bin;
    }
    return right && (!kin->ready || kin->ready->state == GANG__CLASS_READY);
}

gang_result gang__candidates_check(gang_sched *s, struct gang_error *error)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (const struct gang__candidates *kin = s->qs[i]->backfill.all; kin; kin = kin->next)
            if (!check_kin(s, kin))
                return gang__error(
                    error, GANG_EINVAL, s->qs[i]->q->name,
                    "a backfill candidate is not in the state that its leaf has noted");
    return GANG_OK;
}
