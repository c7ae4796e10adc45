/* SPDX-License-Identifier: Apache-2.0 */
/* The state of one queue: making it, counting from zero, freeing it. */
#include <string.h>

#include "sched/backfill/backfill.h"
#include "sched/intake/queues_live_in.h"
#include "sched/order/order.h"
#include "sched/usage/usage.h"

enum { AMOUNTS = 10 }; /* arrays of a queue */

/* The arrays lie close together, as each start reads most of them. */
static void lay_amounts(struct gang__queue_state *q, uint32_t dims)
{
    int64_t **const arrays[AMOUNTS] = {&q->used,      &q->demand,       &q->fixed,    &q->share,
                                       &q->guarantee, &q->limit,        &q->stopping, &q->withheld,
                                       &q->counted,   &q->counted_below};
    for (size_t i = 0; i < AMOUNTS; i++)
        *arrays[i] = q->block + i * dims;
}

/* Memory for as many as there can ever be: a new dimension needs no more. */
bool gang__queue_make_amounts(gang_sched *s, struct gang__queue_state *q, uint32_t dims)
{
    q->block = gang__zalloc(&s->mem, AMOUNTS * (size_t)GANG__DIMS, sizeof(*q->block));
    if (s->opts.half_life_ns > 0)
        q->past_use = gang__zalloc(&s->mem, GANG__DIMS, sizeof(*q->past_use));
    if (!q->block || (s->opts.half_life_ns > 0 && !q->past_use))
        return false;
    lay_amounts(q, dims);
    return true;
}

bool gang__queues_make_root(gang_sched *s)
{
    gang__order_init(&s->root);
    return gang__queue_make_amounts(s, &s->root, GANG__DIMS);
}

static void free_users(gang_sched *s, struct gang__queue_state *q)
{
    for (size_t b = 0; b < q->users.cap; b++)
        while (q->users.bucket[b]) {
            struct gang__user *user = GANG__OF(struct gang__user, link, q->users.bucket[b]);
            gang__hash_remove(&q->users, &user->link);
            gang__release(&s->mem, user->tentative);
            gang__release(&s->mem, user);
        }
    gang__hash_free(&q->users, &s->mem);
    memset(&q->users, 0, sizeof(q->users));
}

void gang__queue_free(gang_sched *s, struct gang__queue_state *q)
{
    if (!q)
        return;
    for (size_t b = 0; b < q->order.classes.cap; b++)
        while (q->order.classes.bucket[b]) {
            struct gang__wait_class *wait_class =
                GANG__OF(struct gang__wait_class, link, q->order.classes.bucket[b]);
            gang__hash_remove(&q->order.classes, &wait_class->link);
            gang__group_forget(s, wait_class);
            gang__candidates_forget(s, wait_class);
            gang__release(&s->mem, wait_class);
        }
    gang__hash_free(&q->order.classes, &s->mem);
    gang__hash_free(&q->order.groups, &s->mem);
    gang__hash_free(&q->backfill.by_key, &s->mem);
    free_users(s, q);
    gang__release(&s->mem, q->users_limit);
    gang__budgets_free(s, q);
    gang__release(&s->mem, q->block);
    gang__release(&s->mem, q->past_use);
    if (q != &s->root)
        gang__release(&s->mem, q);
}

/* Count from zero again, in the dimensions in force. */
void gang__queue_reset(struct gang__queue_state *q, uint32_t dims)
{
    lay_amounts(q, dims);
    memset(q->block, 0, AMOUNTS * (size_t)GANG__DIMS * sizeof(*q->block));
    q->tasks = q->running = q->pending = q->jobs = q->promised = 0;
    gang__store(&q->waiting, 0);
    q->by_demand = 0;
    q->order.blocked = NULL;
    q->order.barring = NULL;
    q->order.active = false;
    gang__order_init(q);
    for (size_t b = 0; b < q->users.cap; b++)
        for (struct gang__hash_link *n = q->users.bucket[b]; n; n = n->next) {
            struct gang__user *user = GANG__OF(struct gang__user, link, n);
            memset(user->used, 0, GANG__DIMS * sizeof(*user->used));
            user->running = user->waiting = user->promised = 0;
        }
}

void gang__queues_free_all(gang_sched *s)
{
    struct gang__submit_view *submit_view = gang__load_relaxed(&s->intake.submit_view);
    for (uint32_t i = 0; s->queues && i < s->queues->count; i++)
        gang__queue_free(s, s->qs[i]);
    gang__queue_free(s, &s->root);
    gang__submit_view_free_retired(s);
    if (submit_view)
        gang__submit_view_free(s, submit_view);
    void *const rest[] = {s->qs, s->usage.sharer, s->usage.share_slot, s->usage.resolved};
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
        gang__release(&s->mem, rest[i]);
}
