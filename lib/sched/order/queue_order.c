/* SPDX-License-Identifier: Apache-2.0 */
/* In which order do queues, wait classes and gangs go?
 *
 * gang__order_next() (active_queues.c) walks from the root to the first active child, down to a
 * leaf, takes the first READY wait class of the leaf, and of this class the first gang. Three
 * orders decide:
 *   siblings   by the child order of their parent (table child_orders)
 *   classes    starved ones first, deferred ones last, then by user (fair leaves), then by gang
 *   gangs      by the order of their leaf (table gang_orders)
 * Each order is total: the last criterion is an id.
 *
 * A new order: its number in gangsched/queue.h, its name in queue/queues.h, its line in a table. */
#include "place/request/request.h"
#include "sched/order/order_in.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"

static int by_number(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* ---- gangs of a leaf ------------------------------------------------------------------------- */

static int shortest_first(const struct gang__job *x, const struct gang__job *y)
{
    return by_number(gang__time_limit_run(x), gang__time_limit_run(y));
}

/* A deadline of 0 is none, and comes last: as an unsigned number, 0 - 1 is the largest. */
static int deadline_first(const struct gang__job *x, const struct gang__job *y)
{
    uint64_t left = (uint64_t)x->options->deadline_ns - 1,
             right = (uint64_t)y->options->deadline_ns - 1;
    return left < right ? -1 : left > right;
}

/* Service in ranges that double, so that jobs of similar service keep their order. */
static int service_range(const struct gang__job *job)
{
    int range = 0;
    for (int64_t left = job->attained; left > 0; left >>= 1)
        range++;
    return range;
}

static int least_served_first(const struct gang__job *x, const struct gang__job *y)
{
    return service_range(x) - service_range(y);
}

static int highest_score_first(const struct gang__job *x, const struct gang__job *y)
{
    return by_number(y->score, x->score);
}

/* The first criterion of an order, if it has one of its own; then priority, unless `by_age`. */
static const struct {
    int (*first)(const struct gang__job *x, const struct gang__job *y);
    bool by_age;
} gang_orders[] = {
    [GANG_ORDER_PRIORITY] = {NULL, false},
    [GANG_ORDER_FIFO] = {NULL, true},
    [GANG_ORDER_FAIR] = {NULL, false}, /* users come first: order_classes() */
    [GANG_ORDER_SHORTEST] = {shortest_first, false},
    [GANG_ORDER_LEAST_SERVED] = {least_served_first, false},
    [GANG_ORDER_DEADLINE] = {deadline_first, false},
    [GANG_ORDER_MULTIFACTOR] = {highest_score_first, false},
};

static bool lacks_minimum(const struct gang__gang *g)
{
    return g->tasks + g->ended < gang__gang_request(g)->min;
}

/* Starved gangs come first: before the rest of the order, or, where max_blocked_ns alone says so
 * and the order is that of priorities, after these. */
static int compare_starved(const struct gang__gang *a, const struct gang__gang *b, int32_t order)
{
    if (a->starved == b->starved) /* as a rule neither is */
        return 0;
    int c = (b->starved == GANG__STARVED_BOUND) - (a->starved == GANG__STARVED_BOUND);
    bool later = order == GANG_ORDER_PRIORITY || order == GANG_ORDER_MULTIFACTOR;
    return c || later ? c : b->starved - a->starved;
}

int gang__gang_before(const struct gang__gang *a, const struct gang__gang *b, int32_t order)
{
    const struct gang__job *x = a->job, *y = b->job;
    int c = compare_starved(a, b, order);
    if (c == 0 && gang_orders[order].first)
        c = gang_orders[order].first(x, y);
    if (c == 0 && !gang_orders[order].by_age)
        c = by_number(y->priority, x->priority);
    c = c ? c : b->starved - a->starved;
    if (c == 0 && !gang_orders[order].by_age)
        c = lacks_minimum(b) - lacks_minimum(a);
    c = c ? c : by_number(x->age, y->age);
    c = c ? c : by_number((int64_t)x->id, (int64_t)y->id);
    return c ? c : by_number(a->index, b->index);
}

int gang__order_compare_gangs(const struct gang__set_link *a, const struct gang__set_link *b,
                              const void *ctx)
{
    const struct gang__queue_state *leaf = ctx;
    return gang__gang_before(GANG__OF(struct gang__gang, order.link, a),
                             GANG__OF(struct gang__gang, order.link, b), leaf->q->order);
}

/* ---- wait classes of a leaf ------------------------------------------------------------------ */

/* The user that uses least for its weight, of all capacity, is the first. */
static int compare_users(const struct gang__user *a, const struct gang__user *b)
{
    return !a || !b || a == b ? 0 : gang__ratio_compare(a->key, b->key);
}

static int order_classes(const struct gang__wait_class *x, const struct gang__wait_class *y,
                         const struct gang__queue_state *leaf)
{
    const struct gang__gang *first = gang__wait_class_head(x), *other = gang__wait_class_head(y);
    int c = compare_starved(first, other, leaf->q->order);
    if (c != 0)
        return c;
    c = x->deferred - y->deferred;
    if (c == 0 && x->deferred)
        c = by_number(x->deferred_key, y->deferred_key);
    if (c == 0 && leaf->q->order == GANG_ORDER_FAIR)
        c = compare_users(x->user, y->user);
    return c ? c : gang__gang_before(first, other, leaf->q->order);
}

int gang__order_compare_classes(const struct gang__set_link *a, const struct gang__set_link *b,
                                const void *ctx)
{
    return order_classes(GANG__OF(struct gang__wait_class, ready_link, a),
                         GANG__OF(struct gang__wait_class, ready_link, b), ctx);
}

int gang__order_compare_grouped(const struct gang__set_link *a, const struct gang__set_link *b,
                                const void *ctx)
{
    return order_classes(GANG__OF(struct gang__wait_class, grouped.link, a),
                         GANG__OF(struct gang__wait_class, grouped.link, b), ctx);
}

/* ---- siblings -------------------------------------------------------------------------------- */

struct gang__gang *gang__order_head_below(const struct gang__queue_state *q)
{
    while (!q->order.holds_classes)
        q = GANG__OF(struct gang__queue_state, order.link, gang__set_first(&q->order.ready));
    return gang__wait_class_head(
        GANG__OF(struct gang__wait_class, ready_link, gang__set_first(&q->order.ready)));
}

/* Where jobs preempt across the children by priority (gang_queue_spec.across), a job goes before
 * those that it would preempt. Without a head, all have the same priority. */
static void key_rank(const struct gang__queue_state *q, const struct gang__gang *head,
                     struct gang__child_key *k)
{
    const struct gang__queue *above = q->parent->q;
    k->ranked = head && above && above->across != GANG_ACROSS_NEVER;
    k->head_priority = k->ranked ? head->job->priority : 0;
}

static void key_fair(gang_sched *s, const struct gang__queue_state *q,
                     const struct gang__take *take, uint32_t count, struct gang__child_key *k)
{
    k->over_share = gang__usage_exceeds(s, q, q->share, q->used, take, count);
    k->over_guarantee = !gang__usage_stays_within(q, q->guarantee, take, count);
    k->priority = q->q->priority;
    k->with = gang__fair_share_ratio(s, q, q->used, take, count);
    k->used = gang__fair_share_ratio(s, q, q->used, NULL, 0);
    k->whole = gang__fair_ratio(s, s->total, q->used, take, count);
}

static int compare_fair(const struct gang__child_key *x, const struct gang__child_key *y)
{
    int c = x->ranked && y->ranked ? x->over_guarantee - y->over_guarantee : 0;
    c = c ? c : by_number(y->head_priority, x->head_priority);
    c = c ? c : x->over_share - y->over_share;
    c = c ? c : x->over_guarantee - y->over_guarantee;
    c = c ? c : by_number(y->priority, x->priority);
    c = c ? c : gang__ratio_compare(x->with, y->with);
    c = c ? c : gang__ratio_compare(x->used, y->used);
    return c ? c : gang__ratio_compare(x->whole, y->whole);
}

static void key_yarn(gang_sched *s, const struct gang__queue_state *q,
                     const struct gang__take *take, uint32_t count, struct gang__child_key *key)
{
    (void)take, (void)count;
    struct gang__sibling *k = &key->yarn;
    k->used = gang__fair_ratio(s, q->guarantee, q->used, NULL, 0);
    k->absolute = gang__fair_ratio(s, s->total, q->used, NULL, 0);
    k->capacity = gang__fair_capacity(s, q);
    k->priority = q->q->priority;
}

static int compare_utilization(const struct gang__child_key *x, const struct gang__child_key *y)
{
    return gang__order_utilization(&x->yarn, &y->yarn);
}

static int compare_priority_utilization(const struct gang__child_key *x,
                                        const struct gang__child_key *y)
{
    return gang__order_priority_utilization(&x->yarn, &y->yarn);
}

/* The priority of the gang at the head; of a queue in no order, where none can be tried: 0. */
static void key_multifactor(gang_sched *s, const struct gang__queue_state *q,
                            const struct gang__take *take, uint32_t count,
                            struct gang__child_key *k)
{
    (void)s, (void)take, (void)count;
    k->score = 0;
    if (q->order.ready.count == 0)
        return;
    const struct gang__job *job = gang__order_head_below(q)->job;
    gang__i128 own = (gang__i128)job->priority * GANG_WHOLE;
    own = own > INT64_MAX ? INT64_MAX : own < INT64_MIN ? INT64_MIN : own;
    k->score = job->leaf->q->order == GANG_ORDER_MULTIFACTOR ? job->score : (int64_t)own;
}

static int compare_multifactor(const struct gang__child_key *x, const struct gang__child_key *y)
{
    return by_number(y->score, x->score);
}

/* How the children of a queue are ordered: the key that is made, for a head that asks for `take`,
 * and how two keys compare. */
static const struct child_order {
    void (*make_key)(gang_sched *s, const struct gang__queue_state *q,
                     const struct gang__take *take, uint32_t count, struct gang__child_key *key);
    int (*compare)(const struct gang__child_key *x, const struct gang__child_key *y);
} child_orders[] = {
    [GANG_CHILD_ORDER_FAIR] = {key_fair, compare_fair},
    [GANG_CHILD_ORDER_UTILIZATION] = {key_yarn, compare_utilization},
    [GANG_CHILD_ORDER_PRIORITY_UTILIZATION] = {key_yarn, compare_priority_utilization},
    [GANG_CHILD_ORDER_MULTIFACTOR] = {key_multifactor, compare_multifactor},
};

/* The root has no specification: its children are ordered by fair shares. */
static const struct child_order *order_below(const struct gang__queue_state *parent)
{
    return &child_orders[parent->q ? parent->q->child_order : (int32_t)GANG_CHILD_ORDER_FAIR];
}

static int compare_queues(const struct gang__set_link *a, const struct gang__set_link *b,
                          const void *parent)
{
    const struct gang__queue_state *p = GANG__OF(struct gang__queue_state, order.link, a),
                                   *q = GANG__OF(struct gang__queue_state, order.link, b);
    int c = order_below(parent)->compare(&p->order.key, &q->order.key);
    return c ? c : by_number((int64_t)p->q->id, (int64_t)q->q->id);
}

void gang__order_init(struct gang__queue_state *q)
{
    q->order.holds_classes = q->q && q->q->leaf;
    gang__set_init(&q->order.ready,
                   q->order.holds_classes ? gang__order_compare_classes : compare_queues, q);
    gang__victims_init(q);
}

/* The key of a queue among its siblings, for the gang that is first below it. */
void gang__order_make_key(gang_sched *s, struct gang__queue_state *q)
{
    uint32_t count;
    const struct gang__gang *head = gang__order_head_below(q);
    const struct gang__take *take = gang__gang_next_demand(head, &count);
    order_below(q->parent)->make_key(s, q, take, count, &q->order.key);
    key_rank(q, head, &q->order.key);
    q->order.has_key = true;
}

bool gang__order_queue_precedes(gang_sched *s, const struct gang__queue_state *a,
                                const struct gang__queue_state *b, const struct gang__take *take,
                                uint32_t count)
{
    const struct child_order *order = order_below(a->parent);
    struct gang__child_key x = {0}, y = {0};
    order->make_key(s, a, take, count, &x);
    order->make_key(s, b, take, count, &y);
    int c = order->compare(&x, &y);
    return c ? c < 0 : a->q->id < b->q->id;
}
