/* SPDX-License-Identifier: Apache-2.0 */
/* How much the users of a leaf used: the dominant share of the cluster, decayed by the half-life.
 * The integral is exact: it is brought up to date before the use of a user changes, and when it is
 * read. */
#include "sched/usage/usage.h"

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

void gang__user_advance(const gang_sched *s, const struct gang__queue_state *leaf,
                        struct gang__user *user)
{
    if (gang__leaf_remembers(s, leaf->q) && user->past.at_ns < s->now_ns)
        gang__decay_advance(&user->past, s->now_ns, gang__user_share(s, user),
                            s->opts.half_life_ns);
}

void gang__users_advance(gang_sched *s)
{
    for (uint32_t i = 0; i < s->queues->count; i++)
        for (size_t b = 0; b < s->qs[i]->users.cap; b++)
            for (struct gang__hash_link *n = s->qs[i]->users.bucket[b]; n; n = n->next) {
                struct gang__user *user = GANG__OF(struct gang__user, link, n);
                gang__user_advance(s, s->qs[i], user);
                user->past.at_ns = s->now_ns; /* the leaf may begin to remember use now */
            }
}
