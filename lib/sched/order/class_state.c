/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a wait class is READY or BLOCKED, and the lists in which it lies then.
 *
 * A class that may be tried is READY and lies in the order of its leaf. If its first gang cannot
 * start, the class is BLOCKED and hangs in the list of what blocks it: a request class without
 * capacity, a queue at its limit, the root (lending). When that changes, the class is READY again.
 * So a run tries no gang for which nothing changed. */
#include <string.h>

#include "place/alloc/alloc.h"
#include "place/request/request.h"
#include "sched/order/order_in.h"
#include "sched/record/state.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

static void insert(struct gang__wait_class **list, struct gang__wait_class *class)
{
    class->next = *list;
    class->at = list;
    if (*list)
        (*list)->at = &class->next;
    *list = class;
}

static void remove_from_list(struct gang__wait_class *class)
{
    *class->at = class->next;
    if (class->next)
        class->next->at = class->at;
    class->at = NULL;
}

/* The class becomes READY: the lists of its request class and of its user have it. */
void gang__class_enter_ready(struct gang__wait_class *class)
{
    class->state = GANG__CLASS_READY;
    insert(&class->request_class->ready, class);
    if (class->user)
        gang__order_enter_user(&class->user->ready, class);
}

void gang__class_leave_ready(gang_sched *s, struct gang__wait_class *class)
{
    class->state = GANG__CLASS_EMPTY;
    remove_from_list(class);
    if (class->user)
        gang__order_leave_user(class);
    gang__group_left_ready(s, class);
}

static void enter_blocked(gang_sched *s, struct gang__wait_class *class)
{
    class->next_blocked = s->order.blocked;
    class->at_blocked = &s->order.blocked;
    if (s->order.blocked)
        s->order.blocked->at_blocked = &class->next_blocked;
    s->order.blocked = class;
}

static void leave_blocked(struct gang__wait_class *class)
{
    *class->at_blocked = class->next_blocked;
    if (class->next_blocked)
        class->next_blocked->at_blocked = class->at_blocked;
}

void gang__order_note_request(gang_sched *s, struct gang__request_class *request_class)
{
    if (request_class->blocked_at)
        return;
    request_class->next_blocked = s->order.blocked_requests;
    request_class->blocked_at = &s->order.blocked_requests;
    if (s->order.blocked_requests)
        s->order.blocked_requests->blocked_at = &request_class->next_blocked;
    s->order.blocked_requests = request_class;
}

void gang__order_forget_request(struct gang__request_class *request_class)
{
    if (!request_class->blocked_at || request_class->blocked || request_class->groups)
        return;
    *request_class->blocked_at = request_class->next_blocked;
    if (request_class->next_blocked)
        request_class->next_blocked->blocked_at = request_class->blocked_at;
    request_class->blocked_at = NULL;
}

void gang__order_set_bar(struct gang__wait_class *class, bool bars)
{
    struct gang__wait_class **list = &class->leaf->order.barring;
    if (bars == (class->at_barring != NULL))
        return;
    if (bars) {
        class->next_barring = *list;
        class->at_barring = list;
        if (*list)
            (*list)->at_barring = &class->next_barring;
        *list = class;
        return;
    }
    *class->at_barring = class->next_barring;
    if (class->next_barring)
        class->next_barring->at_barring = class->at_barring;
    class->at_barring = NULL;
}

void gang__class_left_ready(gang_sched *s, struct gang__wait_class *class)
{
    if (class->backfill.candidates)
        s->order.hooks->left_ready(class);
}

void gang__class_take_out(gang_sched *s, struct gang__wait_class *class)
{
    if (class->state == GANG__CLASS_READY) {
        gang__set_remove(&class->leaf->order.ready, &class->ready_link);
        gang__class_leave_ready(s, class);
    }
    if (class->grouped.waits) {
        gang__group_remove(class);
    } else if (class->backfill.kept != GANG__KEPT_NOT) {
        s->order.hooks->unkeep(class);
    } else if (class->state == GANG__CLASS_BLOCKED) {
        remove_from_list(class);
        leave_blocked(class);
        gang__order_forget_request(class->request_class);
    }
    gang__class_left_ready(s, class);
    gang__order_set_bar(class, false);
    class->state = GANG__CLASS_EMPTY;
    class->deferred = false;
}

static void make_ready(gang_sched *s, struct gang__wait_class *class)
{
    gang__class_take_out(s, class);
    if (class->gangs.count > 0) {
        gang__set_insert(&class->leaf->order.ready, &class->ready_link);
        gang__class_enter_ready(class);
    }
}

enum { KEPT_IN_GROUP = 255 }; /* beside GANG__KEPT_* */

/* Enters the class into the list of what blocks it. */
static void insert_blocked(gang_sched *s, struct gang__wait_class *class)
{
    bool partitions = class->request_class->partition_count > 0; /* each has its own reason */
    bool capacity = class->why == GANG_WAIT_CAPACITY || class->why == GANG_WAIT_CELLS;
    if (partitions ? class->some_capacity : capacity) {
        insert(&class->request_class->blocked, class);
        gang__order_note_request(s, class->request_class);
    } else if (class->why == GANG_WAIT_LENDING || partitions) {
        /* any queue that gives back leaves more to lend */
        insert(&s->root.order.blocked, class);
    } else {
        insert(&(class->blocked_by ? class->blocked_by : class->leaf)->order.blocked, class);
    }
    enter_blocked(s, class);
}

/* The head of the class is about to change. Returns how backfill or its group kept the class, for
 * gang__class_keep_again(). */
uint8_t gang__class_unkeep(gang_sched *s, struct gang__wait_class *class)
{
    uint8_t kept = class->backfill.kept;
    if (class->grouped.waits) {
        gang__group_remove(class);
        return KEPT_IN_GROUP;
    }
    if (kept != GANG__KEPT_NOT)
        s->order.hooks->unkeep(class);
    return kept;
}

void gang__class_keep_again(gang_sched *s, struct gang__wait_class *class, uint8_t kept)
{
    if (kept == GANG__KEPT_NOT)
        return;
    if (class->gangs.count == 0)
        class->state = GANG__CLASS_EMPTY;
    else if (kept == KEPT_IN_GROUP)
        gang__group_insert(s, class);
    else if (!s->order.hooks->keep_again(s, class, kept))
        insert_blocked(s, class);
}

/* Does a class that is blocked for this reason bar those behind it in strict order? Not if a queue
 * has as many running jobs as it may: then no other job starts before, either. But gangs of the
 * running jobs must be able to, and to grow: the jobs may not end else. */
static bool bars_in_order(const struct gang__wait_class *class)
{
    const struct gang__queue_state *by = class->blocked_by;
    bool full = class->why == GANG_WAIT_MAX_RUNNING && by && gang__queue_runs_most(by);
    return class->leaf->q->block == GANG_BLOCK_STRICT && !full;
}

void gang__order_block(gang_sched *s, struct gang__wait_class *class, int32_t why,
                       struct gang__queue_state *by, uint32_t dim)
{
    struct gang__queue_state *leaf = class->leaf;
    gang__class_take_out(s, class);
    if (class->gangs.count == 0) {
        gang__wake_queue(s, leaf);
        return;
    }
    class->state = GANG__CLASS_BLOCKED;
    class->why = why;
    class->blocked_by = by;
    class->dim = dim;
    if (why == GANG_WAIT_PLANNED && class->request_class->partition_count == 0 &&
        s->order.hooks->keep(s, class)) {
        gang__wake_queue(s, leaf);
        return;
    }
    insert_blocked(s, class);
    bool starved = gang__wait_class_head(class)->starved;
    bool bars = starved ? gang__waits_for_capacity(why) : bars_in_order(class);
    if (starved && !bars)
        gang__bypass_unblock(s);
    gang__order_set_bar(class, bars && !class->grower);
    gang__wake_queue(s, leaf);
}

void gang__order_move_to_group(gang_sched *s, struct gang__wait_class *class)
{
    gang__class_take_out(s, class);
    class->state = GANG__CLASS_BLOCKED;
    gang__group_insert(s, class);
}

void gang__order_unblock(gang_sched *s, struct gang__wait_class *class)
{
    if (class->state != GANG__CLASS_BLOCKED)
        return;
    make_ready(s, class);
    gang__wake_queue(s, class->leaf);
}

void gang__order_defer(gang_sched *s, struct gang__wait_class *class, int64_t key)
{
    gang__set_remove(&class->leaf->order.ready, &class->ready_link);
    class->deferred = true;
    class->deferred_key = key;
    gang__set_insert(&class->leaf->order.ready, &class->ready_link);
    gang__group_moved(s, class);
    s->order.hooks->deferred(class);
    gang__wake_queue(s, class->leaf);
}

void gang__order_unblock_all(gang_sched *s, struct gang__wait_class **list)
{
    while (*list)
        gang__order_unblock(s, *list);
}

static bool may_help(const gang_sched *s, const struct gang__request_class *request_class)
{
    return request_class->min_cpu <= s->wake.capacity_cpu &&
           request_class->min_pages <= s->wake.capacity_pages &&
           request_class->min_gpu <= s->wake.capacity_gpu;
}

/* The scheduler knows how much capacity it freed itself, and unblocks the classes that this may
 * help. If others freed capacity, or nodes came, all classes blocked for capacity may be tried. */
void gang__order_unblock_for_capacity(gang_sched *s)
{
    uint64_t stamp = gang__capacity_stamp(s->cluster), own = gang__worker_stamp(s->worker);
    bool others = stamp - s->order.capacity_stamp != own - s->order.own_stamp;
    s->order.capacity_stamp = stamp;
    s->order.own_stamp = own;
    if (!others && !s->wake.capacity)
        return;
    if (others)
        gang__wake_event(s);
    for (struct gang__request_class *request_class = s->order.blocked_requests, *next;
         request_class; request_class = next) {
        next = request_class->next_blocked;
        if (!others && !may_help(s, request_class))
            continue;
        gang__groups_open(s, request_class);
        gang__order_unblock_all(s, &request_class->blocked);
    }
    if (s->bypass.starved) /* the starved gangs may leave this capacity to others */
        gang__bypass_unblock(s);
    s->wake.capacity = false;
    s->wake.capacity_cpu = s->wake.capacity_pages = s->wake.capacity_gpu = 0;
    gang__wake_preemption(s);
}
