/* SPDX-License-Identifier: Apache-2.0 */
/* Users of a leaf: the usage of each, of all capacity and for its weight; and the place of its
 * wait classes in a fair leaf. */
#include <string.h>

#include "queue/fairness/fairness.h"
#include "sched/order/order_in.h"
#include "sched/usage/usage.h"
#include "sched/wake/wake.h"

bool gang__queue_counts_users(const struct gang__queue *q)
{
    return q->order == GANG_ORDER_FAIR || q->user_limit || q->user_limit_factor ||
           q->max_running_per_user != GANG__NO_BOUND || q->within == GANG_PREEMPT_USER_LIMIT ||
           q->budget_users ||
           (q->order == GANG_ORDER_MULTIFACTOR && q->spec->priority_weight_fair_share > 0);
}

static int64_t weight_of(const struct gang__queue *q, const char *name)
{
    for (size_t i = 0; i < q->user_count; i++)
        if (strcmp(q->users[i].user, name) == 0)
            return q->users[i].weight;
    return GANG_WHOLE;
}

static struct gang__user *user_in(const struct gang__queue_state *leaf, const char *name,
                                  uint64_t hash)
{
    for (struct gang__hash_link *n = gang__hash_first(&leaf->users, hash); n; n = n->next) {
        struct gang__user *user = GANG__OF(struct gang__user, link, n);
        if (n->hash == hash && strcmp(user->name, name) == 0)
            return user;
    }
    return NULL;
}

struct gang__user *gang__user_of(gang_sched *s, struct gang__queue_state *leaf, const char *name)
{
    size_t length = strlen(name);
    uint64_t hash = gang__hash(GANG__HASH_SEED, name, length);
    struct gang__user *there = user_in(leaf, name, hash);
    if (there)
        return there;
    size_t amounts = GANG__DIMS * sizeof(int64_t);
    struct gang__user *user = gang__zalloc(&s->mem, 1, sizeof(*user) + amounts + length + 1);
    if (!user || gang__hash_reserve(&leaf->users, &s->mem) != GANG_OK) {
        gang__release(&s->mem, user);
        return NULL;
    }
    user->used = (int64_t *)(void *)(user + 1);
    user->name = (char *)user->used + amounts;
    memcpy(user->name, name, length + 1);
    user->weight = weight_of(leaf->q, name);
    user->key = (struct gang__ratio){0, 1};
    user->past.at_ns = s->now_ns;
    user->factor = GANG_WHOLE;
    gang__hash_insert(&leaf->users, &user->link, hash);
    return user;
}

bool gang__users_copy(gang_sched *s, const gang_sched *from)
{
    for (uint32_t i = 0; i < from->queues->count; i++) {
        const struct gang__queue_state *q = from->qs[i];
        struct gang__queue_state *to = gang__queue_state_of(s, q->q->id);
        if (q->q->order != GANG_ORDER_MULTIFACTOR)
            continue;
        for (size_t b = 0; b < q->users.cap; b++)
            for (struct gang__hash_link *n = q->users.bucket[b]; n; n = n->next)
                if (!gang__user_of(s, to, GANG__OF(struct gang__user, link, n)->name))
                    return false;
    }
    return true;
}

/* ---- users change ---------------------------------------------------------------------------- */

static void make_user_key(const gang_sched *s, struct gang__user *user)
{
    user->key = (struct gang__ratio){0, 1};
    for (uint32_t d = 0; d < s->dims; d++) {
        int64_t of = gang__mul_div(s->total[d], user->weight, GANG_WHOLE);
        struct gang__ratio r = {user->used[d], of};
        if (user->used[d] > 0 && !s->excluded[s->queues->dim[d].kind] &&
            gang__ratio_compare(r, user->key) > 0)
            user->key = r;
    }
}

/* Sorts all wait classes of the leaf again; `as`: by the keys that the users have in that leaf. */
static void order_users(gang_sched *s, struct gang__queue_state *leaf,
                        const struct gang__queue_state *as)
{
    struct gang__wait_class *all = NULL;
    struct gang__set_link *n;
    if (!leaf->q->leaf || !gang__queue_counts_users(leaf->q))
        return;
    while ((n = gang__set_first(&leaf->order.ready)) != NULL) {
        struct gang__wait_class *class = GANG__OF(struct gang__wait_class, ready_link, n);
        gang__set_remove(&leaf->order.ready, n);
        class->next_moved = all;
        all = class;
    }
    for (size_t b = 0; b < leaf->users.cap; b++)
        for (struct gang__hash_link *at = leaf->users.bucket[b]; at; at = at->next) {
            struct gang__user *user = GANG__OF(struct gang__user, link, at);
            user->weight = weight_of(leaf->q, user->name);
            const struct gang__user *other = as ? user_in(as, user->name, user->link.hash) : NULL;
            if (other) {
                user->key = other->key;
                user->past = other->past;
                user->restored = other->restored;
                user->factor = other->factor;
            } else {
                make_user_key(s, user);
            }
        }
    for (; all; all = all->next_moved) {
        gang__set_insert(&leaf->order.ready, &all->ready_link);
        gang__group_moved(s, all);
    }
    gang__wake_queue(s, leaf);
}

void gang__order_rekey_users(gang_sched *s, struct gang__queue_state *leaf)
{
    order_users(s, leaf, NULL);
}

void gang__order_copy_users(gang_sched *s, struct gang__queue_state *leaf,
                            const struct gang__queue_state *from)
{
    order_users(s, leaf, from);
}

/* The user limit depends on the usage of all users, and on how many of them have demand: unblocks
 * the wait classes that it blocked. */
static void limits_moved(gang_sched *s, struct gang__queue_state *leaf)
{
    if (!leaf->q->user_limit && !leaf->q->user_limit_factor)
        return;
    for (struct gang__wait_class *class = leaf->order.blocked, *next; class; class = next) {
        next = class->next;
        if (class->why == GANG_WAIT_USER_LIMIT)
            gang__order_unblock(s, class);
    }
}

/* The user's usage changed, or whether it has demand: sorts its wait classes of the leaf again. */
void gang__order_rekey_user(gang_sched *s, struct gang__queue_state *leaf, struct gang__user *user)
{
    limits_moved(s, leaf);
    if (leaf->q->order != GANG_ORDER_FAIR)
        return;
    struct gang__wait_class *class;
    for (class = user->ready; class; class = class->next_of_user)
        gang__set_remove(&leaf->order.ready, &class->ready_link);
    for (class = user->grouped; class; class = class->next_of_user)
        gang__set_remove(&class->grouped.group->waiting, &class->grouped.link);
    make_user_key(s, user);
    for (class = user->ready; class; class = class->next_of_user) {
        gang__set_insert(&leaf->order.ready, &class->ready_link);
        gang__group_moved(s, class);
    }
    for (class = user->grouped; class; class = class->next_of_user) {
        gang__set_insert(&class->grouped.group->waiting, &class->grouped.link);
        gang__group_moved(s, class);
    }
    gang__wake_queue(s, leaf);
}
