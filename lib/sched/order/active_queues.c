/* SPDX-License-Identifier: Apache-2.0 */
/* Which queues may be tried, and which gang is the first of all?
 *
 * A queue is *active* while something below it may be tried. Its place among its siblings depends
 * on use, share and head; a part that changes one of them calls gang__wake_queue(). The noted
 * queues get new keys when the order is read. A queue without active siblings needs no key.
 * queue_order.c says how the keys compare. */
#include "sched/order/order_in.h"
#include "sched/record/state.h"

/* In strict order, or while a starved gang is blocked, a blocked class bars those behind it. There
 * may be several such classes: one that comes later may be blocked before the others. */
const struct gang__wait_class *gang__order_barred_by(const struct gang__queue_state *leaf,
                                                     const struct gang__wait_class *class)
{
    const struct gang__wait_class *first = NULL;
    if (!leaf->order.holds_classes)
        return NULL;
    for (const struct gang__wait_class *b = leaf->order.barring; b; b = b->next_barring)
        if (b != class && b->gangs.count > 0 &&
            (leaf->q->block == GANG_BLOCK_STRICT || gang__wait_class_head(b)->starved) &&
            gang__order_compare_classes(&b->ready_link,
                                        first ? &first->ready_link : &class->ready_link, leaf) < 0)
            first = b;
    return first;
}

static bool is_barred(const struct gang__queue_state *leaf)
{
    return leaf->order.holds_classes &&
           gang__order_barred_by(leaf, GANG__OF(struct gang__wait_class, ready_link,
                                                gang__set_first(&leaf->order.ready)));
}

static void leave_siblings(struct gang__queue_state *q)
{
    if (q->order.active)
        gang__set_remove(&q->parent->order.ready, &q->order.link);
    q->order.active = false;
}

static void ensure_key(gang_sched *s, struct gang__queue_state *q)
{
    if (!q->order.has_key)
        gang__order_make_key(s, q);
}

static void enter_siblings(gang_sched *s, struct gang__queue_state *q)
{
    struct gang__ordered_set *ready = &q->parent->order.ready;
    q->order.active = q->order.ready.count > 0 && !is_barred(q);
    if (!q->order.active)
        return;
    q->order.has_key = false;
    if (ready->count > 0) {
        ensure_key(s, q);
        ensure_key(s, GANG__OF(struct gang__queue_state, order.link, gang__set_first(ready)));
    }
    gang__set_insert_end(ready, &q->order.link, 1); /* a queue that was served mostly goes last */
}

/* All noted queues leave first: a key is made from the head below, which each queue then has. */
static void rekey_noted(gang_sched *s)
{
    for (struct gang__queue_state *q = s->wake.queues; q; q = q->wake.next)
        for (struct gang__queue_state *at = q; at->parent; at = at->parent)
            leave_siblings(at);
    while (s->wake.queues) {
        struct gang__queue_state *q = s->wake.queues;
        s->wake.queues = q->wake.next;
        q->wake.noted = false;
        for (; q->parent; q = q->parent) {
            leave_siblings(q);
            enter_siblings(s, q);
        }
    }
}

void gang__order_remove_queues(gang_sched *s)
{
    for (; s->wake.queues; s->wake.queues = s->wake.queues->wake.next)
        s->wake.queues->wake.noted = false;
    for (uint32_t i = s->queues ? s->queues->count : 0; i-- > 0;)
        leave_siblings(s->qs[i]);
}

/* From the leaves up: in s->qs parents lie before their children. */
void gang__order_rekey_all(gang_sched *s)
{
    gang__order_remove_queues(s);
    for (uint32_t i = s->queues->count; i-- > 0;)
        enter_siblings(s, s->qs[i]);
}

struct gang__gang *gang__order_next(gang_sched *s)
{
    if (s->order.due_groups)
        gang__groups_make_ready(s);
    if (s->wake.candidates)
        s->order.hooks->make_ready(s);
    if (s->wake.queues)
        rekey_noted(s);
    return s->root.order.ready.count > 0 ? gang__order_head_below(&s->root) : NULL;
}
