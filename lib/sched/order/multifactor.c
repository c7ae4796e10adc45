/* SPDX-License-Identifier: Apache-2.0 */
/* Multifactor priority: which job of a leaf with GANG_ORDER_MULTIFACTOR comes first?
 *
 * The priority of a job is a weighted sum (gang_queue_spec.priority_weight_age), in job->score. Its
 * age and the fair-share factor of its user are those of the time when the leaf was scored last
 * (leaf->multifactor.scored_ns). So a priority is a function of what stands in the records, and two
 * jobs compare the same way until the leaf is scored again. Then most orders stay: only the jobs
 * that no longer fit between the others leave the order, and enter it again with their new key. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "sched/order/order_in.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

enum { BILLION = 1000000000 };

/* ---- factors --------------------------------------------------------------------------------- */

static int64_t age_factor(const struct gang__job *job)
{
    const struct gang__queue_state *leaf = job->leaf;
    int64_t since =
        job->submitted_ns > job->options->begin_ns ? job->submitted_ns : job->options->begin_ns;
    if (leaf->multifactor.scored_ns <= since)
        return 0;
    int64_t age = leaf->multifactor.scored_ns - since;
    return age >= leaf->q->max_age_ns ? GANG_WHOLE
                                      : gang__mul_div(age, GANG_WHOLE, leaf->q->max_age_ns);
}

/* The part of the cluster that all tasks of the job ask for, in the dominant kind. */
static int64_t size_factor(const gang_sched *s, const struct gang__job *job)
{
    int64_t asked[GANG__DIMS] = {0}, part = 0;
    for (uint32_t i = 0; i < job->gang_count; i++) {
        const struct gang__request_class *class = job->gang[i].request_class;
        for (uint32_t g = 0; g < class->request->group_count; g++)
            for (uint32_t t = 0; t < class->group[g].count; t++) {
                const struct gang__take *take = &class->take[class->group[g].from + t];
                asked[take->dim] =
                    gang__add_sat(asked[take->dim],
                                  gang__mul_div(take->amount, class->request->group[g].count, 1));
            }
    }
    for (uint32_t d = 0; d < s->dims; d++) {
        if (asked[d] == 0 || s->excluded[s->queues->dim[d].kind])
            continue;
        int64_t own =
            asked[d] < s->total[d] ? gang__mul_div(asked[d], GANG_WHOLE, s->total[d]) : GANG_WHOLE;
        part = own > part ? own : part;
    }
    return job->leaf->q->spec->priority_favor_small ? GANG_WHOLE - part : part;
}

static int64_t priority_of(const gang_sched *s, const struct gang__job *job)
{
    const struct gang_queue_spec *w = job->leaf->q->spec;
    gang__i128 sum = 0;
    if (w->priority_weight_age > 0)
        sum += (gang__i128)w->priority_weight_age * age_factor(job);
    if (job->leaf_user)
        sum += (gang__i128)w->priority_weight_fair_share * job->leaf_user->factor;
    if (w->priority_weight_size > 0)
        sum += (gang__i128)w->priority_weight_size * size_factor(s, job);
    sum += (gang__i128)w->priority_weight_queue * w->priority_factor;
    sum += (gang__i128)w->priority_weight_job * job->priority * GANG_WHOLE;
    return sum > INT64_MAX ? INT64_MAX : sum < INT64_MIN ? INT64_MIN : (int64_t)sum;
}

static bool is_in_order(const struct gang__job *job)
{
    for (uint32_t i = 0; i < job->gang_count; i++)
        if (job->gang[i].order.wait_class)
            return true;
    return false;
}

void gang__multifactor_enter(gang_sched *s, struct gang__job *job)
{
    if (!s->original && !is_in_order(job)) /* a copy has the priorities of its original */
        job->score = priority_of(s, job);
}

/* ---- users ----------------------------------------------------------------------------------- */

/* In 2^-16 of 10^-9: what is left after many half-lives still compares. */
static int64_t usage_of(const gang_sched *s, const struct gang__queue_state *leaf,
                        struct gang__user *user)
{
    if (!gang__leaf_remembers(s, leaf->q))
        return gang__user_share(s, user) << 16;
    gang__user_advance(s, leaf, user);
    return (int64_t)(user->past.mean >> 48);
}

/* 2^(-U / S): U and S in 10^-9. */
static int64_t fair_share(int64_t used, int64_t all_used, int64_t weight, int64_t weights)
{
    if (used == 0)
        return GANG_WHOLE;
    int64_t part = gang__mul_div(used, BILLION, all_used);
    int64_t share = gang__mul_div(weight, BILLION, weights);
    uint64_t factor = gang__decay_factor(part, share > 0 ? share : 1); /* in 2^-63 */
    return (int64_t)((gang__u128)factor * (uint64_t)GANG_WHOLE >> 63);
}

static void score_users(const gang_sched *s, struct gang__queue_state *leaf)
{
    int64_t weights = 0, used = 0;
    for (size_t b = 0; b < leaf->users.cap; b++)
        for (struct gang__hash_link *n = leaf->users.bucket[b]; n; n = n->next) {
            struct gang__user *user = GANG__OF(struct gang__user, link, n);
            weights = gang__add_sat(weights, user->weight);
            used = gang__add_sat(used, usage_of(s, leaf, user));
        }
    for (size_t b = 0; b < leaf->users.cap; b++)
        for (struct gang__hash_link *n = leaf->users.bucket[b]; n; n = n->next) {
            struct gang__user *user = GANG__OF(struct gang__user, link, n);
            user->factor = fair_share(usage_of(s, leaf, user), used, user->weight, weights);
        }
}

/* ---- when ------------------------------------------------------------------------------------ */

static int compare_due(const struct gang__set_link *a, const struct gang__set_link *b,
                       const void *ctx)
{
    const struct gang__queue_state *x = GANG__OF(struct gang__queue_state, multifactor.link, a),
                                   *y = GANG__OF(struct gang__queue_state, multifactor.link, b);
    (void)ctx;
    if (x->multifactor.due_ns != y->multifactor.due_ns)
        return x->multifactor.due_ns < y->multifactor.due_ns ? -1 : 1;
    return x->q->id < y->q->id ? -1 : x->q->id > y->q->id;
}

void gang__multifactor_init(gang_sched *s)
{
    gang__set_init(&s->order.multifactor, compare_due, NULL);
}

static void unlist(gang_sched *s, struct gang__queue_state *leaf)
{
    if (leaf->multifactor.listed)
        gang__set_remove(&s->order.multifactor, &leaf->multifactor.link);
    leaf->multifactor.listed = false;
}

/* A leaf without waiting jobs needs no priorities: no run is due for it. */
void gang__multifactor_watch(gang_sched *s, struct gang__queue_state *leaf)
{
    bool due = leaf->pending > 0 && leaf->multifactor.due_ns != INT64_MAX;
    if (due == leaf->multifactor.listed)
        return;
    unlist(s, leaf);
    if (due)
        gang__set_insert(&s->order.multifactor, &leaf->multifactor.link);
    leaf->multifactor.listed = due;
}

static void set_due(gang_sched *s, struct gang__queue_state *leaf, int64_t due_ns)
{
    unlist(s, leaf);
    leaf->multifactor.due_ns = due_ns;
    gang__multifactor_watch(s, leaf);
}

void gang__multifactor_reset(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        unlist(s, s->qs[i]);
}

void gang__multifactor_rescore_all(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        if (s->qs[i]->q->order == GANG_ORDER_MULTIFACTOR && s->qs[i]->q->leaf)
            set_due(s, s->qs[i], INT64_MIN);
}

int64_t gang__multifactor_next(const gang_sched *s)
{
    struct gang__set_link *n = gang__set_first(&s->order.multifactor);
    return n ? GANG__OF(struct gang__queue_state, multifactor.link, n)->multifactor.due_ns
             : INT64_MAX;
}

void gang__multifactor_copy(gang_sched *s, struct gang__queue_state *leaf,
                            const struct gang__queue_state *from)
{
    leaf->multifactor.scored = from->multifactor.scored;
    leaf->multifactor.scored_ns = from->multifactor.scored_ns;
    if (from->q->order == GANG_ORDER_MULTIFACTOR && from->q->leaf)
        set_due(s, leaf, from->multifactor.due_ns);
}

/* ---- scoring a leaf -------------------------------------------------------------------------- */

struct scored {
    struct gang__job *job;
    int64_t score; /* the new one */
    bool moves;
};

struct scoring {
    struct gang__queue_state *leaf;
    struct scored *job; /* NULL: they are counted */
    size_t count;
};

static void note_class(struct scoring *o, const struct gang__wait_class *class)
{
    const struct gang__set_link *n = o->job ? gang__set_first(&class->gangs) : NULL;
    if (!o->job)
        o->count += class->gangs.count;
    for (; n; n = gang__set_next(n))
        o->job[o->count++].job = GANG__OF(struct gang__gang, order.link, n)->job;
}

/* All gangs that wait in the leaf: those that start, by their classes; those that grow or resume,
 * each in a class of its own, which is READY or BLOCKED. */
static void note_waiting(struct scoring *o, const gang_sched *s)
{
    const struct gang__queue_state *leaf = o->leaf;
    o->count = 0;
    for (size_t b = 0; b < leaf->order.classes.cap; b++)
        for (struct gang__hash_link *n = leaf->order.classes.bucket[b]; n; n = n->next)
            note_class(o, GANG__OF(struct gang__wait_class, link, n));
    for (struct gang__set_link *n = gang__set_first(&leaf->order.ready); n; n = gang__set_next(n))
        if (GANG__OF(struct gang__wait_class, ready_link, n)->grower)
            note_class(o, GANG__OF(struct gang__wait_class, ready_link, n));
    for (const struct gang__wait_class *class = s->order.blocked; class;
         class = class->next_blocked)
        if (class->leaf == leaf && class->grower)
            note_class(o, class);
}

/* By the order that they have, but for those of equal priority. */
static int compare_scored(const void *a, const void *b)
{
    const struct gang__job *x = ((const struct scored *)a)->job,
                           *y = ((const struct scored *)b)->job;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* A job stays where it is if its new priority is below that of the last one that stays, as the old
 * one was; or equal, as the old ones were. */
static bool find_moves(struct scoring *o)
{
    const struct scored *last = NULL;
    bool moves = false;
    for (size_t i = 0; i < o->count; i++) {
        struct scored *at = &o->job[i];
        at->moves = last && (at->job->score == last->job->score ? at->score != last->score
                                                                : at->score >= last->score);
        last = at->moves ? last : at;
        moves = moves || at->moves;
    }
    return moves;
}

/* A planned start binds all gangs that are tried later. In another order the plans are made again.
 */
static void move_planned(struct scoring *o)
{
    for (size_t i = 0; i < o->count; i++)
        for (uint32_t g = 0; g < o->job[i].job->gang_count; g++)
            if (o->job[i].job->gang[g].calendar.plan)
                o->job[i].moves = true;
}

static void carry_out(gang_sched *s, struct scoring *o)
{
    bool moves = false;
    for (size_t i = 0; i < o->count; i++)
        for (uint32_t g = 0; o->job[i].moves && g < o->job[i].job->gang_count; g++)
            gang__order_leave(s, &o->job[i].job->gang[g]);
    for (size_t i = 0; i < o->count; i++) {
        o->job[i].job->score = o->job[i].score;
        if (o->job[i].moves)
            gang__wake_job(s, o->job[i].job, GANG__WAKE_SETTLE);
        moves = moves || o->job[i].moves;
    }
    if (moves) /* another gang may have the first plan, or preempt */
        gang__order_unblock_queues(s, o->leaf);
}

/* When ages and the use of users change the priorities; INT64_MAX: never. */
static int64_t period_end(const struct gang__queue_state *leaf)
{
    const struct gang_queue_spec *spec = leaf->q->spec;
    if (spec->priority_weight_age == 0 && spec->priority_weight_fair_share == 0)
        return INT64_MAX;
    return gang__add_sat(leaf->multifactor.scored_ns, leaf->q->priority_period_ns);
}

/* False: out of memory; the old priorities stay in force. */
static bool score_leaf(gang_sched *s, struct gang__queue_state *leaf)
{
    struct scoring all = {leaf, NULL, 0};
    note_waiting(&all, s);
    all.job = gang__zalloc(&s->mem, all.count + 1, sizeof(*all.job));
    if (!all.job)
        return false;
    note_waiting(&all, s);
    if (!leaf->multifactor.scored || s->now_ns >= period_end(leaf)) {
        leaf->multifactor.scored = true;
        leaf->multifactor.scored_ns = s->now_ns;
        if (leaf->q->spec->priority_weight_fair_share > 0)
            score_users(s, leaf);
    }
    for (size_t i = 0; i < all.count; i++)
        all.job[i].score = priority_of(s, all.job[i].job);
    qsort(all.job, all.count, sizeof(*all.job), compare_scored);
    if (find_moves(&all))
        move_planned(&all);
    carry_out(s, &all);
    gang__release(&s->mem, all.job);
    gang__wake_queue(s, leaf); /* its place among its siblings may depend on the priorities */
    return true;
}

bool gang__multifactor_step(gang_sched *s)
{
    if (gang__multifactor_next(s) > s->now_ns || !gang__run_step(s))
        return false;
    struct gang__queue_state *leaf = GANG__OF(struct gang__queue_state, multifactor.link,
                                              gang__set_first(&s->order.multifactor));
    if (!score_leaf(s, leaf)) {
        s->no_memory = true; /* the next run is due at once */
        return false;
    }
    set_due(s, leaf, period_end(leaf));
    return true;
}

gang_result gang__multifactor_check(const gang_sched *s, struct gang_error *error)
{
    for (struct gang__set_link *n = gang__set_first(&s->by_id); n; n = gang__set_next(n)) {
        const struct gang__job *job = GANG__OF(struct gang__job, by_id, n);
        const struct gang__queue_state *leaf = job->leaf;
        if (leaf->q->order != GANG_ORDER_MULTIFACTOR)
            continue;
        if (leaf->multifactor.listed !=
            (leaf->pending > 0 && leaf->multifactor.due_ns != INT64_MAX))
            return gang__error(error, GANG_EINVAL, leaf->q->name,
                               "its priorities are listed as due, and are not; or the reverse");
        if (leaf->multifactor.due_ns > s->now_ns && is_in_order(job) &&
            job->score != priority_of(s, job))
            return gang__error(error, GANG_EINVAL, "jobs",
                               "the priority of job %" PRIu64 " is not the sum of its factors",
                               job->id);
    }
    return GANG_OK;
}
