/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of wait classes: the classes of a leaf that differ in the user alone.
 *
 * If one class of a group finds no capacity, none does. So the group is blocked and unblocked as a
 * whole: blocked classes wait in the group, in the order of the leaf. When capacity comes free, the
 * group is *open*: its first class alone becomes READY, and the next one when that class has
 * started, is blocked for another reason, or changes its place in order. So gangs are tried in the
 * same order as if all classes were READY, and a start among the jobs of n users costs O(log n).
 *
 * A class that waits in its group is BLOCKED for want of capacity and in no other list. When its
 * user's key changes, only the classes of this user move (user_order.c). Classes that other rules
 * look at one by one wait by themselves: in leaves that backfill, are strict or bound bypasses, of
 * growing and starved gangs, of arrays, and while reservations separate gangs. */
#include "sched/order/order_in.h"
#include "sched/wake/wake.h"

/* ---- lists of a user ------------------------------------------------------------------------- */

void gang__order_enter_user(struct gang__wait_class **list, struct gang__wait_class *class)
{
    class->next_of_user = *list;
    class->at_of_user = list;
    if (*list)
        (*list)->at_of_user = &class->next_of_user;
    *list = class;
}

void gang__order_leave_user(struct gang__wait_class *class)
{
    *class->at_of_user = class->next_of_user;
    if (class->next_of_user)
        class->next_of_user->at_of_user = class->at_of_user;
    class->at_of_user = NULL;
}

/* ---- the group of a class -------------------------------------------------------------------- */

static struct gang__wait_class *class_at(const struct gang__set_link *n)
{
    return GANG__OF(struct gang__wait_class, grouped.link, n);
}

static bool refresh_highest(struct gang__set_link *n)
{
    struct gang__wait_class *class = class_at(n);
    int64_t highest = gang__wait_class_head(class)->job->priority;
    for (int side = 0; side < 2; side++)
        if (n->child[side])
            highest = gang__max(highest, class_at(n->child[side])->grouped.highest);
    bool changed = highest != class->grouped.highest;
    class->grouped.highest = highest;
    return changed;
}

static bool is_of(const struct gang__class_group *group, const struct gang__wait_class *class)
{
    return group->request_class == class->request_class && group->fixed == class->fixed &&
           group->never_preempts == class->never_preempts;
}

static struct gang__class_group *new_group(gang_sched *s, const struct gang__wait_class *class,
                                           uint64_t hash)
{
    struct gang__queue_state *leaf = class->leaf;
    if (gang__hash_reserve(&leaf->order.groups, &s->mem) != GANG_OK)
        return NULL;
    struct gang__class_group *group = gang__zalloc(&s->mem, 1, sizeof(*group));
    if (!group)
        return NULL;
    group->leaf = leaf;
    group->request_class = class->request_class;
    group->fixed = class->fixed;
    group->never_preempts = class->never_preempts;
    gang__set_init(&group->waiting, gang__order_compare_grouped, leaf);
    group->waiting.refresh = refresh_highest;
    gang__hash_insert(&leaf->order.groups, &group->link, hash);
    return group;
}

/* The group of the class, which refers to it from now on. NULL: out of memory. */
static struct gang__class_group *group_of(gang_sched *s, struct gang__wait_class *class)
{
    if (class->grouped.group)
        return class->grouped.group;
    uint64_t hash = gang__hash_number(class->fixed + 2U * class->never_preempts,
                                      (uintptr_t) class->request_class);
    struct gang__hash_link *n = gang__hash_first(&class->leaf->order.groups, hash);
    while (n && !is_of(GANG__OF(struct gang__class_group, link, n), class))
        n = n->next;
    class->grouped.group =
        n ? GANG__OF(struct gang__class_group, link, n) : new_group(s, class, hash);
    if (class->grouped.group)
        class->grouped.group->refs++;
    return class->grouped.group;
}

static void mark_due(gang_sched *s, struct gang__class_group *group)
{
    if (group->due || !group->open)
        return;
    group->due = true;
    group->next_due = s->order.due_groups;
    s->order.due_groups = group;
}

static void unmark_due(gang_sched *s, struct gang__class_group *group)
{
    struct gang__class_group **at = &s->order.due_groups;
    if (!group->due)
        return;
    while (*at != group)
        at = &(*at)->next_due;
    *at = group->next_due;
    group->due = false;
}

void gang__group_forget(gang_sched *s, struct gang__wait_class *class)
{
    struct gang__class_group *group = class->grouped.group;
    class->grouped.group = NULL;
    if (!group || --group->refs > 0)
        return;
    unmark_due(s, group);
    gang__hash_remove(&group->leaf->order.groups, &group->link);
    gang__release(&s->mem, group);
}

/* ---- waiting in the group -------------------------------------------------------------------- */

void gang__group_insert(gang_sched *s, struct gang__wait_class *class)
{
    struct gang__class_group *group = class->grouped.group, **list = &class->request_class->groups;
    gang__set_insert(&group->waiting, &class->grouped.link);
    class->grouped.waits = true;
    gang__order_enter_user(&class->user->grouped, class);
    if (group->waiting.count == 1) {
        group->next = *list;
        group->at = list;
        if (*list)
            (*list)->at = &group->next;
        *list = group;
        gang__order_note_request(s, class->request_class);
    }
    mark_due(s, group);
}

void gang__group_remove(struct gang__wait_class *class)
{
    struct gang__class_group *group = class->grouped.group;
    gang__set_remove(&group->waiting, &class->grouped.link);
    class->grouped.waits = false;
    gang__order_leave_user(class);
    if (group->waiting.count > 0)
        return;
    *group->at = group->next;
    if (group->next)
        group->next->at = group->at;
    gang__order_forget_request(class->request_class);
}

static bool may_wait_in_group(const struct gang__wait_class *class)
{
    const struct gang__queue *q = class->leaf->q;
    const struct gang__gang *head = gang__wait_class_head(class);
    return class->user && !class->array && !class->grower && class->class_salt == 0 &&
           q->backfill == GANG_BACKFILL_NONE && q->block != GANG_BLOCK_STRICT &&
           q->max_bypasses == 0 && !head->starved && !head->places;
}

void gang__order_block_beside(gang_sched *s, struct gang__wait_class *class)
{
    bool grouped = may_wait_in_group(class) && group_of(s, class);
    gang__order_block(s, class, GANG_WAIT_CAPACITY, NULL, 0);
    if (grouped)
        gang__order_move_to_group(s, class);
}

/* ---- which class is tried -------------------------------------------------------------------- */

void gang__group_open(gang_sched *s, struct gang__class_group *group)
{
    group->open = true;
    mark_due(s, group);
}

void gang__groups_open(gang_sched *s, struct gang__request_class *request_class)
{
    for (struct gang__class_group *group = request_class->groups; group; group = group->next)
        gang__group_open(s, group);
}

void gang__group_close(struct gang__class_group *group)
{
    group->open = false;
}

bool gang__group_is_open(const struct gang__wait_class *class)
{
    return class->grouped.waits && class->grouped.group->open;
}

void gang__group_moved(gang_sched *s, struct gang__wait_class *class)
{
    if (class->grouped.group)
        mark_due(s, class->grouped.group);
}

void gang__group_left_ready(gang_sched *s, struct gang__wait_class *class)
{
    struct gang__class_group *group = class->grouped.group;
    if (!group || group->ready != class)
        return;
    group->ready = NULL;
    mark_due(s, group);
}

static bool goes_before(const struct gang__wait_class *a, const struct gang__wait_class *b)
{
    return gang__order_compare_grouped(&a->grouped.link, &b->grouped.link, a->leaf) < 0;
}

void gang__groups_make_ready(gang_sched *s)
{
    struct gang__class_group *group;
    while ((group = s->order.due_groups) != NULL) {
        s->order.due_groups = group->next_due;
        group->due = false;
        if (!group->open || group->waiting.count == 0)
            continue;
        struct gang__wait_class *first = class_at(gang__set_first(&group->waiting));
        if (group->ready && goes_before(group->ready, first))
            continue;
        gang__order_unblock(s, first);
        group->ready = first;
    }
}

void gang__groups_unblock(gang_sched *s)
{
    struct gang__request_class *request_class;
    while ((request_class = s->order.blocked_requests) != NULL) {
        struct gang__set_link *n = gang__set_first(&request_class->groups->waiting);
        gang__order_unblock(s, class_at(n));
    }
}
