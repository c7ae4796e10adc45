/* SPDX-License-Identifier: Apache-2.0 */
/* The user limit as preemption inside a leaf uses it (GANG_PREEMPT_USER_LIMIT): every user with
 * jobs that run or could run counts as active. A user keeps that much, and takes no more.
 *
 * It is computed for all users of a leaf before attempts are made, and stays as it is while an
 * attempt takes victims. What is preempted goes to a user below its limit, so that what users have
 * above their limits only becomes less by preemption: users do not take from each other in turn. */
#include <string.h>

#include "sched/record/state.h"
#include "sched/usage/usage_in.h"

static bool is_counted(const gang_sched *s, const struct gang__user *user)
{
    bool uses = user->waiting > 0;
    for (uint32_t d = 0; d < s->dims && !uses; d++)
        uses = user->used[d] > 0;
    return uses;
}

static bool make_memory(gang_sched *s, struct gang__queue_state *leaf, struct gang__user *user)
{
    if (!leaf->users_limit)
        leaf->users_limit = gang__zalloc(&s->mem, 1, sizeof(*leaf->users_limit));
    if (leaf->users_limit && !user->tentative)
        user->tentative = gang__zalloc(&s->mem, GANG_MAX_KINDS, sizeof(*user->tentative));
    return leaf->users_limit && user->tentative;
}

static void compute(gang_sched *s, struct gang__queue_state *leaf)
{
    static const int64_t nothing[GANG_MAX_KINDS] = {0};
    int64_t dominant[GANG_MAX_KINDS] = {0};
    struct gang__user_limit in = {.kinds = gang__user_limit_kinds(s, leaf),
                                  .total = s->total,
                                  .required = nothing,
                                  .dominant_used = dominant,
                                  .weight = GANG_WHOLE};
    bool ok = true;
    for (size_t b = 0; b < leaf->users.cap && ok; b++)
        for (struct gang__hash_link *n = leaf->users.bucket[b]; n && ok; n = n->next) {
            struct gang__user *user = GANG__OF(struct gang__user, link, n);
            if (!is_counted(s, user))
                continue;
            ok = make_memory(s, leaf, user);
            gang__user_limit_add(dominant, user->used, s->total, in.kinds);
            in.active_weight += user->weight;
        }
    s->no_memory = s->no_memory || !ok;
    if (!leaf->users_limit)
        return;
    leaf->users_limit->kinds = ok ? in.kinds : 0;
    leaf->users_limit->above = 0;
    gang__user_limit_settings(leaf, &in);
    gang__user_limit(&in, leaf->users_limit->limit);
}

static void find_above(gang_sched *s, struct gang__queue_state *leaf)
{
    struct gang__users_limit *limit = leaf->users_limit;
    for (size_t b = 0; b < leaf->users.cap; b++)
        for (struct gang__hash_link *n = leaf->users.bucket[b]; n; n = n->next) {
            const struct gang__user *user = GANG__OF(struct gang__user, link, n);
            for (uint32_t k = 0; k < GANG_MAX_KINDS; k++)
                if (limit->kinds >> k & 1 && user->used[k] > gang__users_limit_of(s, leaf, user, k))
                    limit->above |= UINT32_C(1) << k;
        }
}

void gang__users_limit_refresh(gang_sched *s)
{
    for (uint32_t i = 0; s->queues->by_users && i < s->queues->count; i++) {
        struct gang__queue_state *leaf = s->qs[i];
        if (!leaf->q->leaf || leaf->q->within != GANG_PREEMPT_USER_LIMIT)
            continue;
        compute(s, leaf);
        if (leaf->users_limit && leaf->users_limit->kinds)
            find_above(s, leaf);
    }
}

int64_t gang__users_limit_of(const gang_sched *s, const struct gang__queue_state *leaf,
                             const struct gang__user *user, uint32_t dim)
{
    const struct gang__users_limit *limit = leaf->users_limit;
    if (!limit || dim >= GANG_MAX_KINDS || s->queues->dim[dim].partition ||
        !(limit->kinds >> dim & 1))
        return INT64_MAX;
    return gang__mul_div(limit->limit[dim], user->weight, GANG_WHOLE);
}
