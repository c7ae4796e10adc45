/* SPDX-License-Identifier: Apache-2.0 */
/* How much queues used, and the users of a leaf (the dominant share of the cluster), decayed by the
 * half-life. The integral is exact: it is brought up to date before the use changes, and when it is
 * read. */
#include "sched/usage/budget_in.h"
#include "sched/wake/wake.h"

enum { BILLION = 1000000000 };

bool gang__leaf_remembers(const gang_sched *s, const struct gang__queue *q)
{
    return q->order == GANG_ORDER_MULTIFACTOR && q->spec->priority_weight_fair_share > 0 &&
           s->opts.half_life_ns > 0;
}

int64_t gang__user_share(const gang_sched *s, const struct gang__user *user)
{
    int64_t share = 0;
    for (uint32_t d = 0; d < s->dims; d++) {
        if (user->used[d] <= 0 || s->excluded[s->queues->dim[d].kind])
            continue;
        int64_t part =
            s->total[d] > 0 ? gang__mul_div(user->used[d], BILLION, s->total[d]) : BILLION;
        share = part > share ? part : share;
    }
    return share < BILLION ? share : BILLION;
}

struct gang__decay gang__user_past(const gang_sched *s, const struct gang__queue_state *leaf,
                                   const struct gang__user *user)
{
    struct gang__decay past = user->past;
    if (!user->restored && gang__leaf_remembers(s, leaf->q) && past.at_ns < s->now_ns)
        gang__decay_advance(&past, s->now_ns, gang__user_share(s, user), s->opts.half_life_ns);
    return past;
}

void gang__user_advance(const gang_sched *s, const struct gang__queue_state *leaf,
                        struct gang__user *user)
{
    user->past = gang__user_past(s, leaf, user);
}

void gang__users_advance(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (size_t b = 0; b < s->qs[i]->users.cap; b++)
            for (struct gang__hash_link *n = s->qs[i]->users.bucket[b]; n; n = n->next) {
                struct gang__user *user = GANG__OF(struct gang__user, link, n);
                gang__user_advance(s, s->qs[i], user);
                if (!user->restored)
                    user->past.at_ns = s->now_ns; /* the leaf may begin to remember use now */
            }
}

/* ---- queues ---------------------------------------------------------------------------------- */

static void advance_queue(gang_sched *s, struct gang__queue_state *q)
{
    for (uint32_t d = 0; d < s->dims && !q->past_restored; d++)
        gang__decay_advance(&q->past_use[d], s->now_ns, q == &s->root ? s->total[d] : q->used[d],
                            s->opts.half_life_ns);
}

void gang__past_use_advance(gang_sched *s)
{
    if (s->opts.half_life_ns <= 0)
        return;
    for (uint32_t i = 0; i < s->queues->count; i++)
        advance_queue(s, s->qs[i]);
    advance_queue(s, &s->root);
    gang__wake_all_shares(s);
}

/* ---- restoring ------------------------------------------------------------------------------- */

static void go_on(gang_sched *s, struct gang__queue_state *q)
{
    if (q->past_restored) {
        q->past_restored = false;
        advance_queue(s, q);
    }
    gang__budgets_go_on(s, q);
    for (size_t b = 0; b < q->users.cap; b++)
        for (struct gang__hash_link *n = q->users.bucket[b]; n; n = n->next) {
            struct gang__user *user = GANG__OF(struct gang__user, link, n);
            bool restored = user->restored;
            user->restored = false;
            if (restored)
                gang__user_advance(s, q, user);
        }
}

void gang__past_use_go_on(gang_sched *s)
{
    s->usage.restored = false;
    for (uint32_t i = 0; i < s->queues->count; i++)
        go_on(s, s->qs[i]);
    go_on(s, &s->root);
    gang__wake_all_shares(s);
}
